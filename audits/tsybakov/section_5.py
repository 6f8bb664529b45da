"""Section 5: the hard instances of Theorems 4 and 5 as repaired, and the plug-in estimator against them."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from dpcheck.algorithms.tsybakov.hard_instances import plug_in, private_instance, sign_packing, statistical_instance
from dpcheck.checks import Context, by_size, check, together, unchecked
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import stated
from dpcheck.harness import accuracy, lower_bound, symbolic
from dpcheck.harness.hard_instances import DIGITS, RationalLaw, closest_pair
from dpcheck.harness.lower_bound import Fact
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.scaling import Instance, powers, scaling
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Array
from dpcheck.laws import Gaussian
from dpcheck.privacy import ZCDP
from dpcheck.symbols import BY_NAME, d, delta, epsilon, k, n, rho, theta
from dpcheck.verdicts import Point, Verdict, differs, undecided
from dpcheck.workloads.tilted_power import ProductTilt, SparseTilt

from .cases import BY_CALLS, CALLS_IN_DIMENSIONS, FAR_BELOW, STEEPER, approximation, grown
from .lemmas import R_K, packing_size
from .section_4_theorem_2 import WRONG_CALLS, even_calls

C = 0.1
"""p_a over sqrt(d)/(n sqrt(rho)): small enough for Fano's inequality to say something."""


def _claim(label: str) -> Any:
    return claim(label)


fano_is_vacuous = unchecked(
    "tsybakov/thm-4",
    "an Ω-form over all algorithms; with the printed p_a Fano's factor is below -0.44 whatever the packing, so that "
    "its proof gives no bound; its instance and its repaired form are checked as other readings",
)


@check("tsybakov/thm-4@literal", kind="lower-bound", grid={"k": (2, 4)}, expect="refuted")
def printed_instance_has_its_moment(context: Context, *, k: int) -> Verdict:
    """E sup |gradient|^k over r_k^k of the printed instance at atoms of probability 1/100."""
    work = private_instance(np.ones(40), 0.01, k=float(k), theta=2.0, r_k=2.0, ball="printed")
    value, allowed = (work.constants.moment(float(k), 1) / 2.0) ** k, stated("tsybakov/thm-4@literal", k=k, p=0.01)
    return accuracy.never_violated(
        value,
        allowed,
        statement="E sup |gradient|^k <= r_k^k",
        witness=lambda _: witnessed("tsybakov/thm-4@literal", "thm_4_moment", allowed, value, k=k, p="1/100"),
    )


def atom_chance(n: int, dim: int, rho: float) -> float:
    """p_a = c sqrt(d)/(n sqrt(rho))."""
    return C * math.sqrt(dim) / (n * math.sqrt(rho))


def repaired(v: Array, n: int, dim: int, rho: float, k: float, theta: float) -> SparseTilt:
    """Theorem 4's law on the ball of the minimisers' radius."""
    return private_instance(v, atom_chance(n, dim, rho), k=k, theta=theta, r_k=R_K, ball="corrected")


def bound_4(n: int, dim: int, rho: float, k: float, theta: float) -> float:
    """`thm-4@corrected` with its constants."""
    return float(_claim("tsybakov/thm-4@corrected").evaluate(n=n, d=dim, rho=rho, k=k, theta=theta, c=C, r_k=R_K))


def plug_in_risks(context: Context, n: int, dim: int, rho: float, k: float, theta: float, trials: int) -> Array:
    """Exact excess risk of the plug-in, (trials,); by symmetry under flips of signs the same on every instance."""
    risks = []
    for rng, size in context.chunks(trials, 4 * dim):
        work = repaired(np.where(rng.random(dim) < 0.5, 1.0, -1.0), n, dim, rho, k, theta)
        means = work.draw(rng, size, n, means_only=True).values[:, 0]
        risks.append(work.excess_risk(plug_in(work, means, n, work.size, rho, rng)))
    return np.concatenate(risks)


MOST_TRIALS = 200_000
"""What the bound as it stands takes at any size, and a half more."""


@check(
    "tsybakov/thm-4@corrected",
    kind="lower-bound",
    grid={"theta": (2.0, 4.0), "k": (2.0, 4.0), "d": by_size((100,), (100, 400)), "rho": by_size((0.1,), (0.1, 1.0))},
)
def repaired_instance_carries_its_bound(context: Context, *, theta: float, k: float, d: int, rho: float) -> Verdict:
    """Moments, noise condition, separation, total variation and Fano's factor, exactly; the plug-in and 0 beside it."""
    n_ = 10**4
    p = atom_chance(n_, d, rho)
    with mpmath.workdps(DIGITS):
        p_, k_, th = mpmath.mpf(p), mpmath.mpf(k), mpmath.mpf(theta)
        mu = p_ ** ((k_ - 1) / k_) * R_K / 2
        h, radius = p_ ** (-1 / k_) * R_K / 2, mu ** (1 / (th - 1))
        moment = p_ * (h + mu) ** k_ + (1 - p_) * mu**k_
        fano = 1 - (rho * ((n_ * p_) ** 2 + n_ * p_ * (1 - p_)) + mpmath.log(2)) / (mpmath.mpf(d) / 20 * mpmath.log(2))
    packing = sign_packing(d, context.rng(), min(packing_size(d), 64))
    near, _, _ = closest_pair(packing, "hamming")
    one, other = (tuple(Fraction(int(x)) for x in v) for v in packing[:2])
    zero = tuple(Fraction(0) for _ in one)
    work = repaired(packing[0], n_, d, rho, k, theta)
    opposite = float(work.excess_risk(-work.best[None])[0]) / (2 * work.minimiser_norm) ** theta
    chance = Fraction(p)
    laws = [RationalLaw((zero, v), (1 - chance, chance)) for v in (one, other)]
    facts = [
        Fact("E sup |gradient|^k over r_k^k", moment / mpmath.mpf(R_K) ** k_, "<=", 1),
        Fact("excess over |w - w*|^theta at -w*", opposite, "=", 2 ** (1 - theta), tolerance=1e-9),
        Fact("total variation of two instances over p_a", laws[0].total_variation(laws[1]) / chance, "=", 1),
        Fact("least Hamming distance", near, ">=", Fraction(d, 8)),
        Fact(
            "distance of two minimisers over their norm",
            2 * mpmath.sqrt(mpmath.mpf(near.numerator) / d),
            ">=",
            1 / mpmath.sqrt(2),
        ),
        Fact("Fano's factor", fano, ">", 0),
    ]
    bound = bound_4(n_, d, rho, k, theta)
    if bound <= 0:
        return lower_bound.verdict(facts)
    zero = float(work.excess_risk(np.zeros((1, d)))[0])
    facts.append(Fact("risk of the constant 0 over the bound", zero / bound, ">=", 1))
    limit = 2 * float(mu * radius) * (1 + 1e-9)
    # Betting on what is left below the limit takes about twice log(1/failure probability) times limit/bound trials.
    trials = math.ceil(30 * limit / bound)
    if trials > MOST_TRIALS:
        return undecided(f"the bound {bound:.3g} is too far below the largest risk {limit:.3g} for any run", "exact")
    risks = plug_in_risks(context, n_, d, rho, k, theta, trials)
    tried = [
        lower_bound.must_exceed_on_average(
            {"any": risks}, bound, context.failure_probability, limit=limit, who="the plug-in"
        )
    ]
    verdict = lower_bound.verdict(facts, tried)
    more = {"bound": bound, "plug-in over bound": float(risks.mean()) / bound}
    return replace(verdict, numbers={**verdict.numbers, **more})


@check("tsybakov/thm-4@corrected", kind="symbolic")
def repaired_bound_has_the_stated_order(context: Context) -> Verdict:
    """Without Fano's factor the explicit bound, also rescaled to (theta, 1)-TNC, is a constant times the order."""
    claim = _claim("tsybakov/thm-4@corrected")
    r_k, c, mu = BY_NAME["r_k"], next(s for s in claim.explicit.free_symbols if s.name == "c"), BY_NAME["mu"]
    atom = c * sp.sqrt(d) / (n * sp.sqrt(rho))
    power = theta / (theta - 1)
    plain = 2 ** (1 - theta) * (mu ** (1 / (theta - 1)) / (2 * sp.sqrt(2))) ** theta
    # f = -<w, x> + (A/theta)|w|^theta: lengths shrink by A^(-1/(theta-1)), the constant grows by A = 2^(theta-1).
    scaled = (plain * 2 ** (theta - 1)).subs(mu, mu / 2 ** (theta - 1))
    lengths = mu.subs(mu, atom ** ((k - 1) / k) * r_k / 2)
    order = claim.order
    constant = 2 ** (1 - theta) * (2 * sp.sqrt(2)) ** -theta * (c ** ((k - 1) / k) / 2) ** power
    return symbolic.proved(
        {
            "explicit over order": sp.log(plain.subs(mu, lengths)) - sp.log(order) - sp.log(constant),
            "rescaled over plain": sp.log(scaled) - sp.log(plain) - (theta - 1 - theta) * sp.log(2),
        }
    )


@check("tsybakov/thm-5@literal", kind="lower-bound", grid={"bias": (0.5, 0.1, 0.01)}, expect="refuted")
def divergence_of_two_product_laws(context: Context, *, bias: float) -> Verdict:
    """KL of two one-coordinate laws of opposite bias, over bias^2: at least 2, and once more for each coordinate."""
    up = (1 + Fraction(bias)) / 2
    one, other = (RationalLaw(((Fraction(1),), (Fraction(-1),)), masses) for masses in ((up, 1 - up), (1 - up, up)))
    value, most = float(one.kl(other)) / bias**2, stated("tsybakov/thm-5@literal")
    if not 2 <= value / most <= 2 + bias**2:
        return differs(f"the divergence is {value:.6g} bias^2, which is not the {2 * most:.6g} of a twofold slip")
    return accuracy.never_violated(value, most, statement="KL(Q_v, Q_v') <= delta^2 where v, v' differ in one place")


def _bias(n: int, dim: int) -> float:
    """The largest c/sqrt(n) that the corrected theorem allows, a little less for rounding."""
    room = dim / 40 * math.log(2) - math.log(2)
    return math.sqrt(room / (2 * dim + room / n)) * (1 - 1e-9) / math.sqrt(n)


@check("tsybakov/thm-5@corrected", kind="symbolic")
def divergence_and_order_at_the_repaired_bias(context: Context) -> Verdict:
    """b log((1+b)/(1-b)) <= 2b^2/(1-b^2), by its derivative; n records in d coordinates at b = c/sqrt n stay within the
    condition; the bound goes like (r_k/sqrt n)^(theta/(theta-1)) in n and in r_k.
    """
    b = 1 / (1 + sp.Symbol("y", positive=True))
    t, repaired = sp.Symbol("t", positive=True), claim("tsybakov/thm-5@corrected")
    gap = 2 * t / (1 - t**2) - sp.log((1 + t) / (1 - t))
    slope = sp.simplify(sp.diff(gap, t))
    bound, order = repaired.explicit, claim("tsybakov/thm-5").order
    names = {s.name: s for s in bound.free_symbols}
    condition = next(c for c in repaired.assumptions if c.has(names["c"]))
    spent = n * d * 2 * t**2 / (1 - t**2) + sp.log(2)

    def exponent(expression: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
        return symbol * sp.diff(sp.log(expression), symbol)

    return symbolic.proved(
        {
            "gap at b = 0": gap.subs(t, 0),
            "Fano's condition": spent.subs(t, names["c"] / sp.sqrt(n)) - condition.lhs,
            "exponent of n": exponent(bound, n) - exponent(order, n),
            "exponent of r_k": exponent(bound, names["r_k"]) - exponent(order, names["r_k"]),
        },
        {"slope of the gap": sp.factor(slope.subs(t, b))},
    )


def plug_in_means(context: Context, n: int, dim: int, theta: float, trials: int) -> tuple[ProductTilt, Array]:
    """Exact excess risk of the minimiser suggested by the mean, without privacy."""
    risks = []
    for rng, size in context.chunks(trials, 4 * dim):
        signs = np.where(rng.random(dim) < 0.5, 1.0, -1.0)
        work = statistical_instance(signs, _bias(n, dim), theta=theta, r_k=R_K)
        means = work.draw(rng, size, n, means_only=True).values[:, 0]
        risks.append(work.excess_risk(plug_in(work, means, n, R_K, 1e30, rng)))
    return work, np.concatenate(risks)


@check(
    "tsybakov/thm-5@corrected",
    kind="lower-bound",
    grid={"theta": (2.0, 4.0), "d": by_size((100,), (100, 400)), "n": by_size((10**3,), (10**3, 10**5))},
)
def statistical_instance_carries_its_bound(context: Context, *, theta: float, d: int, n: int) -> Verdict:
    """Moments, divergence and Fano's factor at bias c/sqrt(n); the mean plug-in without privacy, and 0, beside it."""
    bias = _bias(n, d)
    c = bias * math.sqrt(n)
    up = (1 + Fraction(bias)) / 2
    one, other = (RationalLaw(((Fraction(1),), (Fraction(-1),)), masses) for masses in ((up, 1 - up), (1 - up, up)))
    kl = d * one.kl(other)
    with mpmath.workdps(DIGITS):
        fano = 1 - (n * kl + mpmath.log(2)) / (mpmath.mpf(d) / 20 * mpmath.log(2))
        mu, th = mpmath.mpf(bias) * R_K / 2, mpmath.mpf(theta)
    packing = sign_packing(d, context.rng(), 32)
    facts = [
        Fact("largest gradient over r_k", R_K / 2 * (1 + bias) / R_K, "<=", 1),
        Fact("KL of the farthest pair over 2 d bias^2/(1 - bias^2)", kl / (2 * d * bias**2 / (1 - bias**2)), "<=", 1),
        Fact("Fano's factor", fano, ">=", 0.5),
        Fact("least Hamming distance", closest_pair(packing, "hamming")[0], ">=", Fraction(d, 8)),
    ]
    bound = float(_claim("tsybakov/thm-5@corrected").evaluate(n=n, d=d, theta=theta, c=c, r_k=R_K))
    limit = 2 * float(mu ** (th / (th - 1))) * (1 + 1e-9)
    work, risks = plug_in_means(context, n, d, theta, math.ceil(30 * limit / bound))
    zero = float(work.excess_risk(np.zeros((1, d)))[0])
    facts.append(Fact("risk of the constant 0 over the bound", zero / bound, ">=", 1))
    tried = [
        lower_bound.must_exceed_on_average(
            {"any": risks}, bound, context.failure_probability, limit=limit, who="the mean plug-in"
        )
    ]
    verdict = lower_bound.verdict(facts, tried)
    return replace(
        verdict, numbers={**verdict.numbers, "bound": bound, "plug-in over bound": float(risks.mean()) / bound}
    )


@check("tsybakov/rem-5", kind="symbolic")
def upper_and_lower_orders_meet(context: Context) -> Verdict:
    """With 1/sqrt(rho) for sqrt(log(1/delta))/epsilon, lambda = 1 and r_2k = r_k the upper order is both lower ones.

    The two lower orders a, b and the upper one u satisfy u^((theta-1)/theta) = a^(...) + b^(...) identically.
    """
    upper, private, statistical = (_claim(f"tsybakov/{x}").order for x in ("thm-7", "rem-5", "thm-5"))
    upper = upper.subs(BY_NAME["lambda"], 1).subs(epsilon, sp.sqrt(rho) * sp.sqrt(sp.log(1 / delta)))
    values = {theta: sp.Symbol("theta_", positive=True) + 1}
    root = (theta - 1) / theta
    rest = [sp.powdenest((e**root).subs(values), force=True) for e in (upper, private, statistical)]
    gap = sp.simplify(sp.expand(sp.powsimp(sp.simplify(rest[0] - rest[1] - rest[2]), force=True)))
    same = sp.log(private) - sp.log(_claim("tsybakov/thm-4").order)
    return symbolic.proved(
        {"upper = private + statistical, at the power (theta-1)/theta": gap, "private as in Theorem 4": same}
    )


PROBABILITIES = (Fraction(1, 4), Fraction(1, 10**4), Fraction(1, 10**8))
"""Of an atom."""


@check("tsybakov/rem-5@derived", kind="lower-bound", grid={"k": (2, 3, 4)})
def moments_of_the_atoms_part(context: Context, *, k: int) -> Verdict:
    """(E|x|^2k)^(1/2k) over (E|x|^k)^(1/k) of Theorem 4's atoms, exactly."""
    facts = []
    for p in PROBABILITIES:
        law = RationalLaw(((Fraction(3),), (Fraction(0),)), (p, 1 - p))
        with mpmath.workdps(DIGITS):
            ratio = law.moment(2 * k) ** (mpmath.mpf(1) / (2 * k)) / law.moment(k) ** (mpmath.mpf(1) / k)
        wanted = stated("tsybakov/rem-5@derived", p=float(p), k=k)
        facts.append(Fact(f"r_2k/r_k at p_a = {p}", ratio, "=", wanted, tolerance=1e-12))
    verdict = lower_bound.verdict(facts)
    points = [
        Point(x=1 / float(p), value=float(fact.found), bound=float(fact.claimed), series=f"k = {k}")
        for p, fact in zip(PROBABILITIES, facts, strict=True)
    ]
    return replace(verdict, points=points, axes=("1/p_a", "r_2k/r_k"), dashed="p_a^(-1/(2k))")


@check("tsybakov/proc-zcdp-plugin", kind="privacy", grid={"rho": (0.1, 1.0)})
def plug_in_is_zcdp(context: Context, *, rho: float) -> Verdict:
    """Its noise on the mean of clipped records, read off the outputs of a fixed generator, costs rho exactly."""
    v = np.where(np.arange(30) % 2, 1.0, -1.0)
    work, n, level = private_instance(v, 1.0, k=2.0, theta=2.0, r_k=2.0, ball="corrected"), 40, 1.7
    work = replace(work, reach=1e6)
    means = np.broadcast_to(work.mean, (50, 30))
    seed = int(context.rng().integers(2**31))
    noisy = plug_in(work, means, n, level, rho, np.random.default_rng(seed))
    noise = np.random.default_rng(seed).standard_normal((50, 30))
    # theta = 2: the plug-in of a noisy mean is that mean, on a ball that large.
    sigma = float(((noisy - means) * noise).sum() / (noise**2).sum())
    spent = Gaussian(sigma).zcdp(2 * level / n)
    rest = float(np.abs(noisy - means - sigma * noise).max())
    if rest > 1e-9:
        return differs(f"the outputs are not the means plus scaled noise; {rest:.3g} is left")
    variance = stated("tsybakov/proc-zcdp-plugin", C=level, n=n, rho=rho)
    both = [spent, sigma**2], [ZCDP(rho).rho, variance]
    return agree(*both, "zCDP and variance of the plug-in's noise, and its promise", tolerance=1e-9)


@check("tsybakov/proc-zcdp-plugin", kind="accuracy", grid={"theta": (2.0, 3.0, 4.0), "length": (0.05, 0.8)})
def plug_in_of_a_mean_is_its_minimiser(context: Context, *, theta: float, length: float) -> Verdict:
    """Without noise: the mean suggests the minimiser of the losses that have it, 0 suggests 0, and longer means end on
    the ball; every mean is cut at its level first.
    """
    # unbound: which point a mean suggests, whatever its noise is
    v, weight = np.array([0.6, 0.8]), 1.7
    work = SparseTilt(v=v, size=2 * length, chance=0.5, theta=theta, reach=2.0, weight=weight)
    radius = work.constants.diameter(2.0) / 2
    means = np.array([work.mean, np.zeros(2), -work.mean, 50 * work.mean])
    found = plug_in(work, means, 10, 25 * length, 1e300, context.rng())
    wanted = np.array([work.best, np.zeros(2), -work.best, radius * v])
    cut = plug_in(work, 50 * work.mean[None], 10, length, 1e300, context.rng())
    return agree(
        np.concatenate([found, cut]) + radius, np.concatenate([wanted, work.best[None]]) + radius,
        "the points that means suggest, and minimisers", tolerance=1e-9,
    )  # fmt: skip


MEETING = functools.partial(scaling, "tsybakov/rem-5", family=STEEPER, engine=BY_CALLS, mutants=WRONG_CALLS)
CLASS = {"growth": 1.0, "R": 2.0**7}
"""lambda = 1, as the lower bound has it, and spikes whose moments of order k and 2k are alike."""
RHOS = ((2.0, 2.0**-86), (4.0, 2.0**-94))


def translated(rho: float) -> float:
    """The epsilon of that rho: rho = epsilon^2/log(1/delta)."""
    return math.sqrt(rho * math.log(1 / FAR_BELOW))


@MEETING(
    variable="n",
    series={"case": by_size(*(together("k rho", *cases) for cases in (RHOS[:1], RHOS)))},
    sizes=by_size(*([even_calls(j) for j in js] for js in (range(70, 111, 20), range(70, 111, 10)))),
)  # fmt: skip
def upper_bound_over_the_lower_one(*, n: int, steepness: float, k: float, rho: float) -> Instance:
    """The risk of the corrected Algorithm 4 at theta = 2 over the private lower bound: -1 and -3/2."""
    return grown(approximation(k), n, steepness, k=k, epsilon=translated(rho), **CLASS)


@MEETING(variable="rho", sizes=by_size(powers(2, range(-80, -39, 20)), powers(2, range(-80, -39, 10))))
def upper_bound_in_rho(*, rho: float, steepness: float) -> Instance:
    """The same at k = 2 in rho: -1/2."""
    return grown(approximation(2.0), even_calls(90), steepness, epsilon=translated(rho), **CLASS)


@MEETING(variable="d", sizes=(8, 16, 32, 64, 128), engine=CALLS_IN_DIMENSIONS, since="standard")
def upper_bound_in_the_dimension(*, d: int, steepness: float) -> Instance:
    """The same in d dimensions: 1/2."""
    return grown(approximation(2.0), even_calls(40), steepness, d=d, epsilon=2.0**-12, **CLASS)
