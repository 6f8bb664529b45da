"""Section 3: privacy notions, the Gaussian mechanism, the noise condition, and moments."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import scipy
import sympy as sp

from dpcheck.accounting.calibration import classical_noise
from dpcheck.algorithms.tsybakov.localised import averaged_moment
from dpcheck.algorithms.tsybakov.mechanisms import local_law, printed_gaussian
from dpcheck.checks import Context, check, unchecked
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import stated
from dpcheck.harness import accuracy, domain
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import agree, proved, where_proved
from dpcheck.interfaces import Constants
from dpcheck.laws import Gaussian
from dpcheck.privacy import changed_records, pure_delta
from dpcheck.symbols import lambda_
from dpcheck.verdicts import Verdict, combine, differs, holds, refuted
from dpcheck.workloads.tilted_power import ProductTilt, SparseTilt, TiltedPower

from .cases import transcribed
from .lemmas import throughout
from .lines import refuses


@check("tsybakov/def-1", kind="privacy")
def events_and_hockey_sticks(context: Context) -> Verdict:
    """Random finite laws: the largest P(S) - e^epsilon Q(S) over all 2^8 events is the sum of positive parts."""
    rng, events = context.rng(), np.array(list(itertools.product([0.0, 1.0], repeat=8)))
    values, wanted = [], []
    for _ in range(context.scale(100, 2000)):
        P, Q = rng.dirichlet(np.ones(8), 2)
        grown = math.exp(rng.uniform(0, 2))
        values.append(float((events @ (P - grown * Q)).max()))
        wanted.append(float(np.maximum(0.0, P - grown * Q).sum()))
    e, flip = 1.3, 1 / (1 + math.exp(1.3))
    values.append(float(np.maximum(0.0, np.array([1 - flip, flip]) - math.e * np.array([flip, 1 - flip])).sum()))
    wanted.append(pure_delta(e, 1.0))
    return agree(values, wanted, "delta over all events, and the hockey-stick divergence", tolerance=1e-12)


@check("tsybakov/def-1", kind="accuracy")
def neighbours_differ_in_one_record(context: Context) -> Verdict:
    """What counts as replace-one neighbours: one record replaced; two replaced, or one added, do not."""
    data = context.rng().standard_normal((6, 2))
    one, two = data.copy(), data.copy()
    one[3], two[:2] = 0.0, 0.0
    refused = 0
    for other in (two, data[:5]):
        try:
            changed_records(data, other, "replace-one")
        except ValueError:
            refused += 1
    right = changed_records(data, one, "replace-one") == (3,) and changed_records(data, data, "replace-one") == ()
    said = "one replaced record is found; two replaced, or one missing, are refused"
    return (holds if right and refused == 2 else refuted)(said, "exact", numbers={"refused": refused})


@check("tsybakov/def-2", kind="privacy", grid={"alpha": (1.01, 2.0, 16.0)})
def renyi_divergence_of_gaussian_noise(context: Context, *, alpha: float) -> Verdict:
    """The integral of p^alpha q^(1 - alpha) by quadrature, against exp((alpha - 1) alpha Delta^2/(2 sigma^2))."""
    values, wanted = [], []
    for sigma, far in ((1.0, 0.3), (2.0, 1.0), (0.5, 0.7)):
        centre = alpha * far

        def integrand(x: float, sigma: float = sigma, far: float = far) -> float:
            return math.exp(
                alpha * float(scipy.stats.norm.logpdf(x, far, sigma))
                + (1 - alpha) * float(scipy.stats.norm.logpdf(x, 0.0, sigma))
            )

        value = scipy.integrate.quad(integrand, centre - 40 * sigma, centre + 40 * sigma, points=[centre], limit=200)[0]
        values.append(math.log(value) / (alpha - 1) / alpha)
        wanted.append(Gaussian(sigma).zcdp(far))
    return agree(values, wanted, "Renyi divergence over alpha, and rho of the Gaussian law", tolerance=1e-6)


@check("tsybakov/def-3", kind="transcription")
def printed_noise_of_the_gaussian_mechanism(context: Context) -> Verdict:
    """mu = Delta/sigma of the implementation against epsilon/(4 sqrt(log(1/delta))), and rho against mu^2/2."""
    ours, wanted = [], []
    for e, d in itertools.product((0.1, 0.5, 1.0), (1e-9, 1e-5, 0.3)):
        law = printed_gaussian(1.7, e, d)
        ours += [1.7 / law.sigma, law.zcdp(1.7)]
        wanted += [
            stated("tsybakov/def-3", epsilon=e, delta=d),
            stated("tsybakov/def-3@corrected", epsilon=e, delta=d),
        ]
    return transcribed(ours, wanted, "mu and rho of our mechanism, and of the claim")


@check("tsybakov/def-3@corrected", kind="privacy")
def gaussian_mechanism_below_delta_099(context: Context) -> Verdict:
    """All epsilon in (0, 1] and delta in (0, 0.99]: monotonicity and cells of log(1/delta), no grid to trust."""
    return throughout(classical_noise(4.0, 1.0, 0.99), "epsilon <= 1, delta <= 0.99")


@check("tsybakov/def-3@corrected", kind="privacy", also=("tsybakov/def-3", "tsybakov/proc-ldp-gauss"))
def noise_outside_of_its_range(context: Context) -> Verdict:
    """At epsilon = 40, and at delta = 0.9999, neither noise is private; the claims do not speak of it."""
    laws = {
        "tsybakov/def-3@corrected": printed_gaussian,
        "tsybakov/proc-ldp-gauss": lambda s, e, d: local_law(s / 2, e, d),
    }
    for (label, law), (e, d) in itertools.product(laws.items(), ((40.0, 0.5), (0.5, 0.9999))):
        value = law(1.0, e, d).delta(e, 1.0)
        if value <= d or not refuses(
            lambda e=e, d=d, label=label: stated(label, epsilon=e, epsilon_0=e, delta=d, C=0.5)
        ):
            return differs(f"{label} speaks of epsilon = {e:g}, delta = {d:g}, where its noise spends {value:.4g}")
    if not refuses(lambda: stated("tsybakov/def-3", epsilon=40.0, delta=0.5)):
        return differs("tsybakov/def-3 speaks of epsilon = 40, where its noise is not private")
    return holds("outside of their ranges both noises spend more than delta, and no claim speaks of them", "exact")


@check("tsybakov/def-3@literal", kind="privacy", expect="refuted")
def gaussian_mechanism_near_delta_one(context: Context) -> Verdict:
    """The exact curve at epsilon = 1, delta = 0.999."""
    exact_delta = printed_gaussian(1.0, 1.0, 0.999).delta(1.0, 1.0)
    return accuracy.never_violated(
        exact_delta,
        0.999,
        statement="exact delta <= delta",
        witness=lambda _: witnessed("tsybakov/def-3@literal", "def_3", 0.999, exact_delta, epsilon=1, delta="999/1000"),
    )


@check("tsybakov/proc-gaussian", kind="privacy")
def gaussian_mechanism_as_implemented(context: Context) -> Verdict:
    """The exact curve of the implemented noise on a grid, against delta; the proof for all others is Definition 3's."""
    count = context.scale(40, 200)
    pairs = [(e, d) for e in np.linspace(0.02, 1, count) for d in np.geomspace(1e-15, 0.99, count)]
    deltas = [printed_gaussian(1.0, float(e), float(d)).delta(float(e), 1.0) for e, d in pairs]
    worst, tail, _ = classical_noise(4.0, 1.0, 0.99)
    return accuracy.never_violated(
        deltas, [stated("tsybakov/proc-gaussian", delta=d) for _, d in pairs], statement="exact delta <= delta",
        evidence="certificate",
        covers="the curve is monotone in epsilon, and in delta cell by cell" if max(worst, tail) <= 1 else "",
    )  # fmt: skip


def _on_the_line(theta: int, growth: float, reach: float) -> Verdict:
    """Whether growth |w - w*|^theta <= (|w|^theta - 1)/theta - <w - w*, w*> for all |w| <= reach; |w*| = 1 by scaling.

    On a sphere the right side is affine in the angle's cosine and the left one convex: w = s w* and w = -s w* decide.
    On the side of w* both have a factor (s - 1)^2; 1e-9 of the constant is its rounding.
    """
    s, constant = sp.Symbol("s", nonnegative=True), sp.Rational(growth) * (1 - sp.Rational(1, 10**9))
    opposite = constant * (1 + s) ** theta - ((s**theta - 1) / theta + 1 + s)
    near = constant * sp.Abs(s - 1) ** (theta - 2) - sp.cancel(((s**theta - 1) / theta + 1 - s) / (s - 1) ** 2)
    box = {"s": (0, sp.Rational(reach))}
    return combine([domain.never_positive(side, box) for side in (opposite, near)])


@check("tsybakov/def-8", kind="accuracy", grid={"theta": (2.0, 3.0, 4.0), "reach": (1.0, 2.0)})
def declared_noise_conditions(context: Context, *, theta: float, reach: float) -> Verdict:
    """lambda |w - w*|^theta against the excess risk on a disc, for the constant that tilted powers declare; on all of
    the ball, in any dimension, by intervals.
    """
    work = SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=theta, reach=reach)
    declared = work.constants.growth
    assert declared is not None
    radius = reach * work.minimiser_norm
    r, turn = np.meshgrid(np.linspace(0, radius, context.scale(60, 300)), np.linspace(0, 2 * np.pi, 181))
    w = (r * np.cos(turn)).ravel()[:, None] * work.v + (r * np.sin(turn)).ravel()[:, None] * np.array([-0.8, 0.6])
    left = declared[1] * np.linalg.norm(w - work.best, axis=1) ** declared[0]
    every = _on_the_line(int(theta), declared[1] / work.weight, reach)
    return accuracy.never_violated(
        left, work.excess_risk(w) + 1e-12, statement="lambda |w - w*|^theta <= F(w) - F*",
        drawn=False, evidence="certificate",
        covers=where_proved(every, "a grid; intervals prove it on the line of w*, which decides each sphere"),
    )  # fmt: skip


@check("tsybakov/fact-sc-tnc", kind="symbolic")
def strong_convexity_at_the_minimiser(context: Context) -> Verdict:
    """F(w) - F* = (lambda/2)|w - w*|^2 for the quadratic: the constant lambda/2, and no more."""
    x, centre = sp.symbols("x c", real=True)
    F = lambda_ * (x - centre) ** 2 / 2
    gap = F - F.subs(x, centre) - claim("tsybakov/fact-sc-tnc").bound * (x - centre) ** 2
    slope = sp.diff(F, x).subs(x, centre)
    return proved({"excess of the quadratic": gap, "the linear term vanishes at the minimiser": slope})


@check("tsybakov/fact-sc-tnc", kind="accuracy", expect="consistent")
def strongly_convex_losses_satisfy_it(context: Context) -> Verdict:
    """Random strongly convex functions on intervals whose minimum may lie at an end: (lambda/2)|w - w*|^2 below."""
    rng, left, right = context.rng(), [], []
    grid = np.linspace(-1, 1, 401)
    for _ in range(context.scale(100, 2000)):
        weight, slope, steep = rng.uniform(0.05, 2), rng.normal() * 3, rng.uniform(0, 4, 3)
        kinks = rng.uniform(-1, 1, 3)
        F = weight * grid**2 / 2 + slope * grid + (steep * np.abs(grid[:, None] - kinks)).sum(axis=1)
        best = int(F.argmin())
        left.append(stated("tsybakov/fact-sc-tnc", lambda_=weight) * (grid - grid[best]) ** 2)
        # Off the grid the true minimum is lower by a step's worth of curvature and slope at most.
        right.append(F - F[best] + 0.005 * (weight + abs(slope) + steep.sum()) * np.abs(grid - grid[best]) + 1e-12)
    return accuracy.never_violated(
        np.array(left), np.array(right), statement="(lambda/2)|w - w*|^2 <= F(w) - F*",
        failure_probability=context.failure_probability,
    )  # fmt: skip


@check("tsybakov/fact-sc-tnc@literal", kind="accuracy", expect="refuted")
def constant_of_section_7(context: Context) -> Verdict:
    """lambda w^2/2 at w = 1 against the constant lambda of Section 7, which is twice the growth, flat or steep."""
    claimed, growth = [stated("tsybakov/fact-sc-tnc@literal", lambda_=w) for w in (0.01, 4.0)], np.array([0.005, 2.0])
    if not np.allclose(claimed, 2 * growth, rtol=1e-12):
        return differs(f"the claim has the constants {claimed} where {2 * growth} are twice what holds")
    return accuracy.never_violated(claimed, growth, statement="lambda |w|^2 <= lambda |w|^2/2")


not_everywhere = unchecked(
    "tsybakov/fact-tnc-monotone",
    "true for distances up to 1 and false beyond; its literal and its corrected reading are checked",
)


@check("tsybakov/fact-tnc-monotone@literal", kind="accuracy", expect="refuted")
def larger_exponents_on_every_domain(context: Context) -> Verdict:
    """F = w^2 on [-2, 2]: |w|^3 <= w^2 at its end."""
    return accuracy.never_violated(
        8.0,
        4.0,
        statement="|w|^3 <= w^2 at w = 2",
        witness=lambda _: witnessed("tsybakov/fact-tnc-monotone@literal", "fact_tnc_monotone", 8.0, 4.0, w=2, theta=3),
    )


@check("tsybakov/fact-tnc-monotone@corrected", kind="accuracy")
def larger_exponents_with_the_diameter(context: Context) -> Verdict:
    """lambda D^-s |u|^(theta + s) against lambda |u|^theta for |u| <= D."""
    rng, count = context.rng(), context.scale(2000, 50_000)
    D, s, power = rng.uniform(0.1, 10, count), rng.uniform(0, 4, count), rng.uniform(1.01, 6, count)
    u = D * rng.uniform(0, 1, count)
    u[0] = D[0]
    return accuracy.never_violated(
        D**-s * u ** (power + s), u**power, statement="D^-s |u|^(theta + s) <= |u|^theta", evidence="certificate",
        covers="|u|^s <= D^s",
    )  # fmt: skip


@check("tsybakov/lem-1", kind="accuracy", grid={"theta": (2.0, 4.0), "reach": (1.0, 3.0)})
def distance_and_excess_of_workloads(context: Context, *, theta: float, reach: float) -> Verdict:
    """Farthest point and largest excess of tilted powers, and of a vertex, against the lemma's two bounds."""
    work = SparseTilt(v=np.array([1.0]), size=2.0, chance=0.25, theta=theta, reach=reach)
    c = work.constants
    power, weight = c.growth  # type: ignore[misc]
    # The Lipschitz constant of the risk, which the lemma speaks of: |grad F| <= |w|^(theta - 1) + |mean|.
    steep = (reach * work.minimiser_norm) ** (theta - 1) + float(np.linalg.norm(work.mean))
    w = np.linspace(-1, 1, 2001)[:, None] * reach * work.minimiser_norm
    far, excess = np.abs(w[:, 0] - work.best[0]).max(), work.excess_risk(w).max()
    # The vertex F = mu w on [0, D]: (theta, mu D^(1 - theta)), and equality at w = D.
    mu, D = 0.3, 1.7
    vertex = mu * D ** (1 - theta)
    left = [far, excess, D, mu * D]
    right = [
        (steep / weight) ** (1 / (power - 1)),
        stated("tsybakov/lem-1", L=steep, lambda_=weight, theta=power),
        (mu / vertex) ** (1 / (theta - 1)),
        stated("tsybakov/lem-1", L=mu, lambda_=vertex, theta=theta),
    ]
    return accuracy.never_violated(
        left, right, statement="distance and excess within the bounds", evidence="certificate", tolerance=1e-9,
        covers="lambda r^theta <= F - F* <= L r; the last two are equalities",
    )  # fmt: skip


def workloads() -> dict[str, TiltedPower]:
    """Two laws with a known supremum of the gradient."""
    return {
        "atoms": SparseTilt(v=np.array([0.6, 0.8]), size=3.0, chance=0.1, theta=3.0, reach=1.5),
        "products": ProductTilt(v=np.ones(3), size=0.5, bias=0.4, theta=2.0, reach=2.0),
    }


@check("tsybakov/asm-1", kind="accuracy", grid={"work": ("atoms", "products"), "k": (2.0, 4.0, 8.0)})
def declared_moments_hold(context: Context, *, work: str, k: float) -> Verdict:
    """E sup_w |grad f|^k of every atom by maximising over the ball numerically, against what the workload declares."""
    problem = workloads()[work]
    radius = problem.reach * problem.minimiser_norm
    if work == "atoms":
        records = np.stack([problem.size * problem.v, np.zeros(2)])  # type: ignore[attr-defined]
        chances = np.array([0.1, 0.9])
    else:
        signs = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
        records, chances = 0.5 * signs, np.prod(np.where(signs > 0, 0.7, 0.3), axis=1)
    best = []
    for z in records:
        starts = [-z, np.ones(len(z)), *context.rng().standard_normal((6, len(z)))]
        best.append(max(_largest_gradient(problem, z, start, radius) for start in starts))
    value = float((chances @ np.array(best) ** k) ** (1 / k))
    return agree([value], [problem.constants.moment(k, 1)], "(E sup |grad f|^k)^(1/k)", tolerance=1e-6)


def _largest_gradient(work: TiltedPower, z: np.ndarray, start: np.ndarray, radius: float) -> float:
    """Local maximum of |grad f(., z)| on the sphere, on which the supremum over the ball lies."""

    def minus(v: np.ndarray) -> float:
        w = radius * v / max(float(np.linalg.norm(v)), 1e-12)
        return -float(np.linalg.norm(work.gradient(w, z)))

    return -float(scipy.optimize.minimize(minus, start, method="BFGS").fun)


def two_points() -> Constants:
    """f = (w - x)^2/2 on [-1, 1], x a fair sign: e_m = 2^k E max(B, m - B)/m, B ~ Bin(m, 1/2)."""

    def moment(k: float, m: int) -> float:
        ups = np.arange(m + 1)
        share = np.maximum(ups, m - ups) / m
        return float(2 * (scipy.stats.binom.pmf(ups, m, 0.5) @ share) ** (1 / k))

    return Constants(
        d=1, diameter=lambda p: 2.0, lipschitz=lambda p: 2.0, smoothness=lambda p: 1.0, moment=moment, growth=(2.0, 0.5)
    )


@check("tsybakov/def-moments", kind="accuracy", grid={"m": (1, 2, 3, 8)})
def empirical_moment_of_fair_signs(context: Context, *, m: int) -> Verdict:
    """e_m by enumerating all 2^m samples and maximising over a grid of w, against the binomial form."""
    w = np.linspace(-1, 1, 201)
    values, wanted = [], []
    for k in (2.0, 4.0):
        samples = np.array(list(itertools.product([-1.0, 1.0], repeat=m)))
        sup = (np.abs(w[:, None, None] - samples) ** k).mean(axis=2).max(axis=0)
        values.append(float(sup.mean()))
        wanted.append(two_points().moment(k, m) ** k)
    return agree(values, wanted, f"E of the largest mean of {m} powers", tolerance=1e-9)


@check("tsybakov/def-moments", kind="accuracy")
def weights_of_the_average(context: Context) -> Verdict:
    """The implementation of R_{k,n} against its definition, and against sqrt(1 - 1/n) times a constant moment."""
    values, wanted = [], []
    for n in (2, 16, 256):
        c = two_points()
        values.append(averaged_moment(c, 4.0, n) ** 2)
        wanted.append(sum(2.0**-i * c.moment(4.0, n // 2**i) ** 2 for i in range(1, int(math.log2(n)) + 1)))
        values.append(averaged_moment(replace(c, moment=lambda k, m: 3.0), 4.0, n))
        wanted.append(3 * math.sqrt(1 - 1 / n))
    return agree(values, wanted, "R_{k,n}", tolerance=1e-12)


@check("tsybakov/def-moments", kind="symbolic")
def weights_sum_to_one_less_a_share(context: Context) -> Verdict:
    """sum of 2^-i for i <= log2 n is 1 - 1/n."""
    i, halvings = sp.symbols("i l", positive=True, integer=True)
    total = sp.summation(2**-i, (i, 1, halvings))
    return proved({"sum of the weights": sp.simplify(total - (1 - 2**-halvings))})


@check("tsybakov/fact-moment-lipschitz", kind="accuracy", grid={"work": ("atoms", "products")})
def moments_below_the_lipschitz_constant(context: Context, *, work: str) -> Verdict:
    """r_k for k = 1 to 64 against r_{k+1} and L_f."""
    c = workloads()[work].constants
    r = np.array([c.moment(float(k), 1) for k in range(1, 65)])
    most = stated("tsybakov/fact-moment-lipschitz", L=c.lipschitz(2.0))
    verdict = accuracy.never_violated(
        r, np.append(r[1:], most), statement="r_k <= r_{k+1} <= L_f", evidence="certificate",
        tolerance=1e-9, covers="power means increase with their order, up to the largest value",
    )  # fmt: skip
    if work == "products" and verdict.outcome == "holds":
        return agree(r, np.full(64, most), "moments of records of one length, and L_f, which they attain")
    return verdict


@check("tsybakov/lem-2", kind="accuracy", grid={"k": (2, 4)})
def moments_decrease_with_the_batch(context: Context, *, k: int) -> Verdict:
    """f = (w - x)^2/2 on [-1, 1], x a fair sign: e_m = 2^k E max(B, m - B)/m exactly, for every m up to 256."""
    sizes = np.arange(1, context.scale(65, 257))
    e = []
    for m in sizes:
        ups = np.arange(m + 1)
        e.append(float(2.0**k * scipy.stats.binom.pmf(ups, m, 0.5) @ np.maximum(ups, m - ups) / m))
    r_k = e[0] ** (1 / k)
    averages = [sum(2.0**-i * e[2 ** (j - i) - 1] ** (2 / k) for i in range(1, j + 1)) ** 0.5 for j in range(1, 7)]
    return accuracy.never_violated(
        [*e[1:], *averages], [*e[:-1], *[stated("tsybakov/lem-2", r_k=r_k)] * len(averages)],
        statement="e_{m+1} <= e_m, and R_{k,n} <= r_k", evidence="certificate", tolerance=1e-9,
        covers="a mean over m + 1 records is the average of its leave-one-out means, for every loss",
    )  # fmt: skip


@check("tsybakov/lem-2@derived", kind="accuracy", grid={"k": (2.0, 4.0)})
def average_is_below_the_moment_of_one(context: Context, *, k: float) -> Verdict:
    """R_{k,n} against sqrt(1 - 1/n) r_k, n up to 4096, and e_{m+1} against e_m for every m up to 400."""
    c = two_points()
    n = [2**i for i in range(1, 13)]
    e = np.array([c.moment(k, m) for m in range(1, 401)])
    left = [*(averaged_moment(c, k, size) for size in n), *e[1:]]
    right = [*(math.sqrt(1 - 1 / size) * c.moment(k, 1) for size in n), *e[:-1] + stated("tsybakov/lem-2@derived")]
    return accuracy.never_violated(
        left, right, statement="R_{k,n} <= sqrt(1 - 1/n) r_k and e_{m+1} <= e_m", evidence="certificate",
        covers="a mean over m + 1 is the average of its leave-one-out means; the weights 2^-i sum to 1 - 1/n",
        tolerance=1e-9,
    )  # fmt: skip


@check("tsybakov/lem-2@derived", kind="symbolic")
def leave_one_out_means(context: Context) -> Verdict:
    """The mean over m + 1 records is the average of the m + 1 means without one of them, shown for m up to 5."""
    # unbound: an identity inside of the proof, whatever the moments are
    zero = {}
    for m in range(1, 6):
        g = sp.symbols(f"g0:{m + 1}")
        means = [(sum(g) - left) / m for left in g]
        zero[f"m = {m}"] = sp.expand(sum(means) / (m + 1) - sum(g) / (m + 1))
    return proved(zero)
