"""Section 3: definitions, and the generalised Gaussian mechanism."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck.algorithms.lp_spaces.regular import generalised_gaussian, mirror_map
from dpcheck.checks import Context, by_size, check, together
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import explicit_of, stated, unassumed
from dpcheck.geometry import L1Ball
from dpcheck.geometry.norms import dual_norm, norm, regularity
from dpcheck.harness import accuracy, domain
from dpcheck.harness.outside import must_exclude
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.relations import judged
from dpcheck.harness.symbolic import agree, proved, where_proved
from dpcheck.laws import GeneralizedGaussian
from dpcheck.privacy import gaussian_delta
from dpcheck.statistics.means import refute_mean
from dpcheck.symbols import BY_NAME, L, delta, epsilon
from dpcheck.verdicts import Outcome, Verdict, combine, consistent, differs, refuted, undecided
from dpcheck.workloads import CoordinateHuber

from .cases import body, largest, log_over

d_, p_ = BY_NAME["d"], BY_NAME["p"]


ROOT_TAU = sp.Rational(250662, 100_000)
"""Just below sqrt(2 pi)."""


@check("lp_spaces/def-1", kind="privacy", grid={"atoms": by_size([5], [5, 10])})
def best_event_is_the_positive_part(context: Context, *, atoms: int) -> Verdict:
    """Over all events, P - e^epsilon Q is largest where P > e^epsilon Q: delta is the hockey-stick divergence."""
    p, q = context.rng().dirichlet(np.ones(atoms), size=2)
    events = np.array(list(itertools.product((0.0, 1.0), repeat=atoms)))
    values = [float((events @ (p - math.exp(e) * q)).max()) for e in (0.0, 0.3, 1.0, 2.0)]
    wanted = [float(np.maximum(0.0, p - math.exp(e) * q).sum()) for e in (0.0, 0.3, 1.0, 2.0)]
    return agree(np.add(values, 1), np.add(wanted, 1), f"one plus the best of all {len(events):,} events")


@check("lp_spaces/lem-1", kind="symbolic")
def advanced_composition_meets_epsilon(context: Context) -> Verdict:
    """1/2 + epsilon e^(epsilon')/(8 l), l = log(2/delta), which bounds the composed epsilon over epsilon, is <= 1."""
    e, ell = sp.symbols("e l", positive=True)
    left = sp.Rational(1, 2) + e / (8 * ell) * sp.exp(e / (2 * sp.sqrt(2 * ell))) - 1
    box = {"e": (0, largest(context.label, epsilon, 1000)), "l": (log_over(context.label, "2"), 700)}
    return domain.never_positive(left, box, statement="composed epsilon <= epsilon")


@check("lp_spaces/lem-2@corrected", kind="privacy")
def classic_gaussian_noise(context: Context) -> Verdict:
    """For every epsilon <= 1 and delta <= 1/2: delta(epsilon) <= P(Z > x) <= exp(-x^2/2)/(sqrt(2 pi) x), x = epsilon/mu
    - mu/2 at mu = epsilon/sqrt(2 l), l = log(1.25/delta), is at most delta, by interval arithmetic; at 9 it is not.
    """
    e, ell = sp.symbols("e l", positive=True)
    variance = explicit_of(context.label).subs({L: 1, epsilon: e, delta: sp.Rational(5, 4) * sp.exp(-ell)})
    mu = 1 / sp.sqrt(sp.simplify(sp.expand_log(variance, force=True)))
    x = e / mu - mu / 2
    # exp(-x^2/2) over delta = 1.25 exp(-l).
    left = sp.exp(sp.expand(ell - x**2 / 2)) - sp.Rational(5, 4) * ROOT_TAU * x
    box = {"e": (0, largest(context.label, epsilon, 1000)), "l": (log_over(context.label, "5/4"), 1000)}
    inside = domain.never_positive(left, box, statement="delta(epsilon) <= delta")
    spent, at = _spent(context.label, JUST_ABOVE), {"epsilon": JUST_ABOVE, "delta": "1/100000"}
    outside = must_exclude([claim(context.label)], at, f"delta(epsilon) is {spent:.4g}", shown=spent > 1e-5)
    return combine([inside, outside])


JUST_ABOVE = 9
"""An epsilon from which on the noise of Lemma 2 is too small at delta = 1e-5; at 8 it is not."""


@check("lp_spaces/lem-2@literal", kind="privacy", expect="refuted", also=("lp_spaces/lem-2",))
def classic_noise_at_large_epsilon(context: Context) -> Verdict:
    """The exact delta of the printed variance at each epsilon, none of which the lemma excludes."""
    return _each_refuted(
        refuted_by(context.label, "lem_2", measured=_spent(label, e), epsilon=e, delta="1/100000")
        for e, label in itertools.product((JUST_ABOVE, 10, 100), ("lp_spaces/lem-2", context.label))
    )


def _each_refuted(verdicts: Iterable[Verdict]) -> Verdict:
    """The first that is no refutation, which the others do not hide."""
    each = list(verdicts)
    return next((verdict for verdict in each if verdict.outcome is not Outcome.REFUTED), combine(each))


def _spent(label: str, epsilon: float, kappa: float = 1) -> float:
    """delta(epsilon) of Gaussian noise of the variance that a lemma states for sensitivity 3 and delta = 1e-5."""
    return _exact_delta(unassumed(label, L=3, kappa=kappa, epsilon=epsilon, delta=1e-5), epsilon)


CALIBRATIONS = ("lp_spaces/lem-2@literal", "lp_spaces/lem-2@corrected", "lp_spaces/lem-3@large-epsilon",
                "lp_spaces/lem-3@corrected")  # fmt: skip
"""And Lemma 3 in the Euclidean case, where its noise is Gaussian."""


@check("lp_spaces/lem-2", kind="privacy", also=CALIBRATIONS)
def classic_noise_is_least_in_the_limit(context: Context) -> Verdict:
    """At sensitivity 3 and epsilon < 1, where all readings stand: the exact delta of the stated variance is at most
    delta; that of a twentieth less exceeds it at delta = 1e-190, for as delta falls the statement becomes tight.
    """
    enough, wanted, least, missed = [], [], [], []
    for label, e in itertools.product((context.label, *CALIBRATIONS), (0.25, 0.9)):
        for small in (1e-190, 1e-6, 0.5):
            variance = unassumed(label, L=3, kappa=1, epsilon=e, delta=small)
            enough.append(_exact_delta(variance, e))
            wanted.append(small)
        variance = unassumed(label, L=3, kappa=1, epsilon=e, delta=1e-190)
        least.append(1e-190)
        missed.append(_exact_delta(0.95 * variance, e))
    said = "exact delta of the stated variance <= delta", "delta <= that of a twentieth less"
    sides = ((enough, wanted), (least, missed))
    return combine(
        accuracy.never_violated(*each, statement=words, drawn=False) for each, words in zip(sides, said, strict=True)
    )


def _exact_delta(variance: float, epsilon: float) -> float:
    """Of Gaussian noise at sensitivity 3; without noise all is told."""
    return gaussian_delta(3 / math.sqrt(variance), epsilon) if variance > 0 else 1.0


@check("lp_spaces/lem-3@large-epsilon", kind="privacy", expect="refuted")
def calibration_at_large_epsilon(context: Context) -> Verdict:
    """The same for the noise of Lemma 3 in the Euclidean case, where it is Gaussian; what is 1-regular is 2-regular."""
    return _each_refuted(
        refuted_by(
            context.label, "lem_3_large_epsilon", measured=_spent(context.label, e, kappa),
            epsilon=e, delta="1/100000", kappa=kappa,
        )
        for e, kappa in ((10, 1), (100, 1), (40, 2))
    )  # fmt: skip


@check("lp_spaces/def-3", kind="accuracy", also=("lp_spaces/def-3@corrected",))
def regularity_with_the_factor_e(context: Context) -> Verdict:
    """(r-1) d^(2/r-2/q), the least constant for the norm |.|_r, is at most kappa; kappa itself where q <= 2 log d + 1,
    and in the limit of large d and q, where the corrected form is reached as well.
    """
    d, q = np.meshgrid(np.geomspace(2, 1e300, 60), 1 + np.geomspace(1, 1e12, 60))
    least, parts = np.vectorize(lambda *at: regularity(*at).kappa)(q, d), []
    # With x = 2 log d, q = x + 1 + v it is x exp(x/(x + 1) - x/q), at most e x; at v = 0 q - 1, which grows faster.
    x, v = sp.symbols("x v", nonnegative=True)
    large = x + 1 + v
    slower = sp.expand(large**2 - x * (large - 1))
    rest = proved({}, {"exponent below 1": 1 / (x + 1) + x / large, "slope of log(q - 1) less that": slower})
    covers = where_proved(rest, "a grid, and by monotonicity in q every other q and d")
    for label in (context.label, "lp_spaces/def-3@corrected"):
        kappa = claim(label).evaluate(q=q, d=d)
        said = "least constant <= kappa"
        parts.append(accuracy.never_violated(least, kappa, statement=said, covers=covers, drawn=False))
        parts.append(agree([least[-1, -1]], [kappa[-1, -1]], "in the limit, least constant and kappa", 1e-3))
    short = q <= 2 * np.log(d) + 1
    parts.append(agree(least[short], claim(context.label).evaluate(q=q[short], d=d[short]), "before the logarithm"))
    both = claim(context.label), claim("lp_spaces/def-3@corrected")
    no_norm = "kappa is below 1, and no squared norm is so smooth"
    for inside, outside in (({"q": 2}, {"d": 1}), ({"d": 2}, {"q": sp.Rational(5, 4)})):
        parts.append(must_exclude(both, {**inside, **outside}, no_norm))
    return combine(parts)


@check("lp_spaces/def-3@corrected", kind="accuracy", expect="consistent")
def smallest_constant_of_definition_3(context: Context) -> Verdict:
    """|x|_r^2 is (r-1)-smooth and within kappa/kappa_+ of |x|_q^2, over drawn pairs; the bound on the constant is met,
    and loose by a factor e at most, for the constant is at least r - 1.
    """
    rng, left, right = context.rng(), [], []
    for d, p in ((3, 1.3), (20, 1.1), (100, 1.01), (1000, 1.2)):
        law = generalised_gaussian(1.0, p, d)
        x, y = rng.standard_normal((2, context.scale(300, 3000), d)) * rng.exponential(size=(2, 1, 1))
        slope = mirror_map(p, d).inverse(x) * 2 * mirror_map(p, d).scale
        left.append(norm(x + y, law.r) ** 2)
        right.append(norm(x, law.r) ** 2 + (slope * y).sum(axis=1) + (law.r - 1) * norm(y, law.r) ** 2)
        left.append(norm(x, law.r) ** 2)
        right.append(law.regularity / (law.r - 1) * dual_norm(x, p) ** 2)
        stated_here = float(claim(context.label).evaluate(q=p / (p - 1), d=d))
        left.append(np.array([law.regularity, stated_here]))
        right.append(np.array([stated_here, math.e * law.regularity]))
    return accuracy.never_violated(np.concatenate(left), np.concatenate(right), statement="Definition 3")


@check("lp_spaces/def-3@literal", kind="accuracy", expect="refuted")
def regularity_without_the_factor_e(context: Context) -> Verdict:
    """At the ones in d = 1000, p = 1.01, the ratio of the squared norms exceeds kappa/kappa_+ = 1."""
    return refuted_by(context.label, "def_3", d=1000, p="101/100")


@check("lp_spaces/def-4", kind="accuracy", grid={"r": (2.0, 3.0, 5.0)})
def density_integrates_to_one(context: Context, *, r: float) -> Verdict:
    """With d Vol(B) the density of the generalised Gaussian integrates to 1 in the plane."""
    law = GeneralizedGaussian(0.7, r)

    def density(y: float, x: float) -> float:
        return float(np.exp(law.log_density(np.array([x, y]))))

    total = 4 * scipy.integrate.dblquad(density, 0, 6, 0, 6, epsabs=1e-9)[0]
    return agree([total], [1.0], f"mass of the density for r = {r:g}", tolerance=1e-6)


@check("lp_spaces/def-4@literal", kind="accuracy", grid={"r": (3, 4)}, expect="refuted")
def surface_measure(context: Context, *, r: int) -> Verdict:
    """The length of the unit circle of l_r differs from twice the area of its ball."""
    return refuted_by(context.label, "def_4", r=r)


def true_delta(
    context: Context, d: int, epsilon: float, delta: float, safe: bool, samples: int
) -> tuple[np.ndarray, float]:
    """Importance weights whose mean is the delta of the generalised Gaussian mechanism at p -> 1, shift (1, ..., 1).

    Outputs are drawn around a multiple of the shift, which a pilot run chooses; the weights are unbiased for any.
    """
    p = 1e6 / (1e6 - 1)
    law = generalised_gaussian(1.0, p, d)
    regular = law.regularity if safe else law.r - 1
    sigma = math.sqrt(unassumed("lp_spaces/lem-3", kappa=regular, L=1, epsilon=epsilon, delta=delta))
    law = generalised_gaussian(sigma, p, d)
    shift = np.full(d, d ** (-1e-6))

    def weights(tilt: float, size: int, rng: np.random.Generator) -> np.ndarray:
        parts = []
        for _ in range(max(1, size // 1000)):
            core = np.tile(tilt * shift, (min(size, 1000), 1))
            z = law.sample(core, rng)
            near = law.log_ratio(z, np.broadcast_to(shift, z.shape), core)
            far = law.log_ratio(z, np.zeros_like(z), core)
            parts.append(np.exp(near) * np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon + far - near))))
        return np.concatenate(parts)

    tilts = (3.0, 6.0, 10.0, 16.0, 24.0, 32.0)
    pilot = [weights(t, 1000, context.rng("pilot", t)) for t in tilts]
    scores = [float(w.mean() / max(w.std(), 1e-300)) for w in pilot]
    best = tilts[int(np.argmax(scores))]
    return weights(best, samples, context.rng("main")), best


LOST = together("d epsilon delta", (1000, 0.5, 1e-9), (3000, 0.5, 1e-9), (1000, 0.9, 1e-9))


@check(
    "lp_spaces/lem-3@literal",
    kind="privacy",
    grid={"case": by_size(LOST[:1], LOST)},
    expect="refuted",
)
def delta_where_kappa_loses_its_e(context: Context, *, case: tuple[int, float, float]) -> Verdict:
    """True delta of the mechanism at kappa = 2 log d, by importance sampling; a bet refutes the claimed one."""
    d, epsilon, delta = case
    values, tilt = true_delta(context, int(d), epsilon, delta, False, context.scale(6000, 20_000))
    mean, se = float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
    claimed = stated(context.label, epsilon=epsilon, delta=delta)
    if not math.isclose(claimed, delta):
        return differs(f"the noise is made for delta = {delta:g}, and {claimed:g} is claimed of it")
    numbers: dict[str, float | int | str | bool] = {"delta": mean, "se": se, "claimed": claimed, "tilt": tilt}
    fields = {"failure_probability": context.failure_probability, "numbers": numbers}
    against = refute_mean(values / claimed, 1.0, context.failure_probability)
    said = f"d = {d}, epsilon = {epsilon:g}: delta is {mean:.3g} +- {se:.1g}, claimed {claimed:g}"
    make = refuted if against.crossed is not None else undecided
    return make(said, "sampled", **fields)


@check("lp_spaces/lem-3@corrected", kind="privacy")
def calibration_with_the_true_constant(context: Context) -> Verdict:
    """rho of the stated variance in a truly regular space: for every epsilon < 1 and delta <= 1/2 the conversion at
    a = (epsilon + rho)/(2 rho) is at most delta = exp(-l), by interval arithmetic.
    """
    e, ell = sp.symbols("e l", positive=True)
    variance = explicit_of(context.label).subs({epsilon: e, delta: sp.exp(-ell)})
    rho = sp.simplify(explicit_of("lp_spaces/lem-3@derived").subs(BY_NAME["sigma"], sp.sqrt(variance)))
    if beside := rho.free_symbols - {e, ell}:
        return differs(f"the noise costs {rho}: it is not made for every {' and '.join(map(str, beside))}")
    a = (e + rho) / (2 * rho)
    # e^((a-1)(a rho - eps)), and (1 - 1/a)^a <= 1/e_.
    left = e * sp.exp(sp.expand(sp.simplify((a - 1) * (a * rho - e))) + ell - 1) - sp.expand(sp.simplify(e * (a - 1)))
    box = {"e": (0, largest(context.label, epsilon, 1000)), "l": (log_over(context.label, "1"), 1000)}
    return domain.never_positive(left, box, statement="delta(epsilon) <= delta")


@check("lp_spaces/lem-3@derived", kind="privacy", grid={"r": (2.0, 3.0, 5.0)})
def calibration_as_concentrated_privacy(context: Context, *, r: float) -> Verdict:
    """In the plane, by quadrature: Renyi divergences of order a, for shifts of length s in every eighth of a turn, are
    at most a times the stated rho; and just that for r = 2.
    """
    law, values, claimed = GeneralizedGaussian(0.7, r), [], []
    axis = np.linspace(-6, 6, context.scale(300, 600))
    z, cell = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1), (axis[1] - axis[0]) ** 2
    log_q = law.log_density(z)
    for s, angle in itertools.product((0.2, 0.7), np.linspace(0, math.pi, 8, endpoint=False)):
        turn = np.array([math.cos(angle), math.sin(angle)])
        log_p = law.log_density(z - s * turn / norm(turn, r))
        for order in (1.5, 4.0):
            values.append(math.log(float(np.exp(order * log_p - (order - 1) * log_q).sum() * cell)) / (order - 1))
            claimed.append(order * stated(context.label, kappa=r - 1, L=s, sigma=0.7))
    if r == 2.0:
        return agree(values, claimed, "divergence and a rho of a Gaussian", tolerance=1e-5)
    return accuracy.never_violated(
        values, claimed, statement="exact divergence <= a rho", tolerance=1e-5, evidence="certificate",
        covers="by quadrature; a squared norm that is (r-1)-smooth bounds every other shift",
    )  # fmt: skip


@check("lp_spaces/lem-4", kind="accuracy")
def moments_of_the_radius(context: Context) -> Verdict:
    """The radial density rho^(d-1) exp(-rho^2/(2 sigma^2)) has the stated moments; E|z|_+^2 = d sigma^2."""
    sigma, m = BY_NAME["sigma"], BY_NAME["m"]
    x = sp.Symbol("x", positive=True)

    def radial(power: sp.Expr) -> sp.Expr:
        return sp.integrate(x**power * sp.exp(-(x**2) / (2 * sigma**2)), (x, 0, sp.oo))

    stated = explicit_of("lp_spaces/lem-4")
    cases = {
        f"m = {k}, d = {j}": radial(j - 1 + k) / radial(j - 1) - stated.subs({m: k, d_: j}) for k, j in ((1, 2), (3, 4))
    }
    second = sp.gammasimp(stated.subs(m, 2)) - d_ * sigma**2
    return proved({**cases, "m = 2": second})


def _pairs(context: Context, d: int = 4) -> tuple[CoordinateHuber, np.ndarray, np.ndarray, np.ndarray]:
    work = CoordinateHuber(np.linspace(-1, 1, d))
    rng, size = context.rng(), context.scale(1000, 10_000)
    w, v = 3 * rng.standard_normal((2, size, d))
    return work, w, v, work.atoms[rng.integers(2 * d, size=size)]


@check("lp_spaces/def-5", kind="accuracy", grid={"p": (1.2, 1.5, 3.0)}, expect="consistent")
def lipschitz_in_the_norm(context: Context, *, p: float) -> Verdict:
    """|l(w) - l(v)| <= L |w - v|_p on the coordinate workload, L = 1."""
    work, w, v, z = _pairs(context)
    return accuracy.never_violated(np.abs(work.loss(w, z) - work.loss(v, z)), norm(w - v, p), statement="Lipschitz")


@check("lp_spaces/def-6", kind="accuracy", grid={"p": (1.2, 1.5, 3.0)}, expect="consistent")
def smooth_in_the_norm(context: Context, *, p: float) -> Verdict:
    """|grad l(w) - grad l(v)|_q <= beta |w - v|_p on the coordinate workload, beta = 1."""
    work, w, v, z = _pairs(context)
    moved = dual_norm(work.gradient(w, z) - work.gradient(v, z), p)
    return accuracy.never_violated(moved, norm(w - v, p), statement="smooth")


@check("lp_spaces/def-7", kind="accuracy", expect="consistent")
def strongly_convex_in_the_norm_of_the_set(context: Context) -> Verdict:
    """|theta - x|^2/2 is C_min^2-strongly convex in the norm of the cross-polytope, ball and cube of diameter 1."""
    rng, left, right = context.rng(), [], []
    for d in (2, 7):
        u = rng.standard_normal((context.scale(500, 5000), d))
        gauges = {1 / (2 * math.sqrt(d)): 2 * norm(u, 1.0), 0.5: 2 * norm(u)}
        for inradius, gauge in gauges.items():
            left.append(inradius**2 * gauge**2)
            right.append((u**2).sum(axis=1))
        left.append(0.25 / d * (2 * math.sqrt(d) * norm(u, math.inf)) ** 2)
        right.append((u**2).sum(axis=1))
    return accuracy.never_violated(np.concatenate(left), np.concatenate(right), statement="strong convexity")


@check("lp_spaces/def-8", kind="accuracy")
def three_points(context: Context) -> Verdict:
    """D(x, y) + D(y, z) - D(x, z) = <grad(z) - grad(y), x - y> for the mirror map of Section 5."""
    mirror = mirror_map(1.5, 4)
    x, y, z = context.rng().standard_normal((3, 200, 4))
    left = mirror.bregman(x, y) + mirror.bregman(y, z)
    right = mirror.bregman(x, z) + ((mirror.gradient(z) - mirror.gradient(y)) * (x - y)).sum(axis=1)
    return agree(left, right, "three-point identity", tolerance=1e-8)


@check("lp_spaces/def-9", kind="accuracy", expect="consistent")
def relatively_strongly_convex(context: Context) -> Verdict:
    """The regularised risk L + alpha Phi is alpha-strongly convex relative to Phi."""
    work, w, v, z = _pairs(context)
    mirror, alpha = mirror_map(1.5, 4), 0.3
    lower = work.loss(v, z) + ((work.gradient(v, z)) * (w - v)).sum(axis=1)
    lower = (
        lower + alpha * (mirror.value(v) + (mirror.gradient(v) * (w - v)).sum(axis=1)) + alpha * mirror.bregman(w, v)
    )
    return accuracy.never_violated(lower, work.loss(w, z) + alpha * mirror.value(w), statement="Definition 9")


@check("lp_spaces/def-10", kind="accuracy", expect="consistent")
def relatively_smooth(context: Context) -> Verdict:
    """A loss that is beta-smooth in l_p is beta-smooth relative to the corrected Phi, which is 1-strongly convex."""
    work, w, v, z = _pairs(context)
    upper = work.loss(v, z) + (work.gradient(v, z) * (w - v)).sum(axis=1) + mirror_map(1.5, 4).bregman(w, v)
    return accuracy.never_violated(work.loss(w, z), upper, statement="Definition 10")


@check("lp_spaces/def-11", kind="accuracy", grid={"name": ("l1 ball", "l2 ball", "cube")}, expect="consistent")
def hoelder_for_the_set(context: Context, *, name: str) -> Verdict:
    """<x, y> is at most the support function at y times the gauge of x."""
    domain_, rng = body(name, 5), context.rng()
    x, y = rng.standard_normal((2, context.scale(500, 5000), 5))
    gauge = {"l1 ball": 2 * norm(x, 1.0), "l2 ball": 2 * norm(x), "cube": 2 * math.sqrt(5) * norm(x, math.inf)}[name]
    return accuracy.never_violated(np.abs((x * y).sum(axis=1)), gauge * domain_.support(y), statement="Hoelder")


@check("lp_spaces/def-12", kind="accuracy")
def width_of_the_l1_ball(context: Context) -> Verdict:
    """The width of the unit l1 ball, by quadrature, is at most sqrt(2 log 2d) from d = 1 to 10^6; and for every d by
    Jensen's inequality, exp(t E max |g_j|) <= 2d E exp(t g), at the t at which that is least.
    """
    sizes = np.unique(np.geomspace(1, 10**6, context.scale(25, 100)).astype(int))
    widths = [L1Ball(1, 1.0).gaussian_width() if k == 1 else _l1_width(int(k)) for k in sizes]
    bounds = claim(context.label).evaluate(d=sizes)
    t, g = sp.symbols("t g", positive=True)
    line = sp.Symbol("y", real=True)
    moment = sp.integrate(sp.exp(t * line - line**2 / 2) / sp.sqrt(2 * sp.pi), (line, -sp.oo, sp.oo))
    bound = (g + sp.log(sp.simplify(moment))) / t  # g = log 2d
    best = sp.sqrt(2 * g)
    stated_ = explicit_of(context.label).subs(d_, sp.exp(g) / 2)
    every = proved({"Jensen": bound.subs(t, best) - stated_, "least": sp.diff(bound, t).subs(t, best)})
    return accuracy.never_violated(
        widths, bounds, statement="width <= sqrt(2 log 2d)", drawn=False, evidence="certificate",
        covers=where_proved(every, "by quadrature; Jensen's inequality proves it for every d"),
    )  # fmt: skip


def _l1_width(d: int) -> float:
    from dpcheck.geometry.widths import expected_maximum_size

    return expected_maximum_size(d)


@check("lp_spaces/def-12", kind="symbolic")
def l1_width_exponent(context: Context) -> Verdict:
    """sqrt(2 log 2d)/sqrt(log d) tends to sqrt 2: the O(sqrt(log d)) of the definition."""
    limit = sp.limit(explicit_of("lp_spaces/def-12") / sp.sqrt(sp.log(d_)), d_, sp.oo)
    return proved({"limit": limit - sp.sqrt(2)})


@check("lp_spaces/def-12@derived", kind="accuracy", grid={"s": (1, 5, 20)})
def width_of_sparse_vectors(context: Context, *, s: int) -> Verdict:
    """The mean norm of the s largest of d = 200 normals; a supremum of 1-Lipschitz functions concentrates."""
    d, size = 200, context.scale(2000, 20_000)
    top = np.sort(np.abs(context.rng().standard_normal((size, d))), axis=1)[:, -s:]
    mean, share = float(norm(top).mean()), context.failure_probability
    room = math.sqrt(2 * math.log(1 / share) / size)
    bound = stated(context.label, b=s, d=d)
    said = f"width of {s}-sparse unit vectors in d = {d} is {mean:.4g} +- {room:.2g}, bound {bound:.4g}"
    numbers = {"mean": mean, "room": room, "bound": bound}
    otherwise = refuted if mean - room > bound else undecided
    return judged(
        mean + room, "<=", bound, said, "sampled", otherwise=otherwise, failure_probability=share, numbers=numbers
    )


@check("lp_spaces/proc-gg", kind="accuracy", grid={"p": (1.2, 1.6)}, expect="consistent")
def sampler_follows_its_law(context: Context, *, p: float) -> Verdict:
    """The squared norm over sigma^2 against chi-square, and one coordinate's share against a Beta law (Kolmogorov)."""
    d, size = 6, context.scale(4000, 40_000)
    law = generalised_gaussian(1.7, p, d)
    z = law.sample(np.zeros((size, d)), context.rng())
    share = np.abs(z[:, 0]) ** law.r / (np.abs(z) ** law.r).sum(axis=1)
    pvalues = [
        float(scipy.stats.kstest(norm(z, law.r) ** 2 / 1.7**2, scipy.stats.chi2(d).cdf).pvalue),
        float(scipy.stats.kstest(share, scipy.stats.beta(1 / law.r, (d - 1) / law.r).cdf).pvalue),
    ]
    said = f"Kolmogorov p-values {pvalues[0]:.3g} (radius) and {pvalues[1]:.3g} (direction) from {size:,} draws"
    fields: dict[str, Any] = {"failure_probability": context.failure_probability, "numbers": {"trials": size}}
    if min(pvalues) < context.failure_probability / 2:
        return differs(f"our sampler is off its law: {said}", "sampled", **fields)
    # Massart: an empirical distribution is off by more than this with a chance of half the failure probability.
    seen = 2 * math.sqrt(math.log(4 / context.failure_probability) / (2 * size))
    return consistent(said, "sampled", notices=f"a distribution function off by {seen:.2g} somewhere", **fields)


@check("lp_spaces/proc-gg", kind="privacy", grid={"r": (2.386, 3.0, 5.0)})
def exact_privacy_of_the_noise(context: Context, *, r: float) -> Verdict:
    """In the plane, by quadrature: delta(eps) and the Renyi divergences of the law that is sampled, for shifts of every
    eighth of a turn, against what the accountant charges.
    """
    law, size = GeneralizedGaussian(1.0, r), context.scale(300, 600)
    axis = np.linspace(-9, 9, size)
    z = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    cell, log_q = (axis[1] - axis[0]) ** 2, law.log_density(z)
    left, right = [float(np.exp(log_q).sum() * cell)], [1.0]
    for s, angle in itertools.product((0.3, 1.0), np.linspace(0, math.pi, 8, endpoint=False)):
        turn = np.array([math.cos(angle), math.sin(angle)])
        log_p = law.log_density(z - s * turn / norm(turn, r))
        for order in (1.5, 4.0):
            left.append(math.log(float(np.exp(order * log_p - (order - 1) * log_q).sum() * cell)) / (order - 1))
            right.append(order * law.zcdp(s))
        for e in (0.0, s, 2 * s):
            left.append(float(np.maximum(0.0, np.exp(log_p) - math.exp(e) * np.exp(log_q)).sum() * cell))
            right.append(law.delta(e, s))
    return accuracy.never_violated(
        left, right, statement="exact divergence <= charge", tolerance=1e-5, evidence="certificate",
        covers="by quadrature; a squared norm that is (r-1)-smooth bounds every other shift",
    )  # fmt: skip
