"""Appendices A.2, C and D: concentration, sampling without replacement, stability of privacy, and smoothing."""

from __future__ import annotations

import itertools
import math

import numpy as np
import sympy as sp
from scipy import integrate, optimize, special, stats

from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import explicit_of, stated
from dpcheck.harness import accuracy
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array
from dpcheck.verdicts import Verdict

from ._statements import stated_each

# Concentration --------------------------------------------------------------------------------------------------------


@check("user_level/def-a10", kind="accuracy", grid={"d": (1, 3, 30)}, expect="consistent")
def gaussian_vectors_are_norm_subgaussian(context: Context, *, d: int) -> Verdict:
    """A standard Gaussian vector is nSG(1) in one dimension and nSG(2 sqrt d) in d: its chi tail against the claim."""
    t = np.linspace(0, 30 + math.sqrt(d), context.scale(2000, 20_000))
    zeta = 1.0 if d == 1 else 2 * math.sqrt(d)
    right = stated_each("user_level/def-a10", t=t[1:], zeta=zeta)
    return accuracy.never_violated(
        stats.chi.sf(t[1:], d),
        right,
        statement="P(|X| >= t) <= 2 exp(-t^2/(2 zeta^2))",
        drawn=False,
    )


@check("user_level/def-a10@derived", kind="accuracy", grid={"b": (0.5, 1.0, 3.0)})
def bounded_vectors_are_norm_subgaussian(context: Context, *, b: float) -> Verdict:
    """2 exp(-b^2/(2 zeta^2)) = 1 at zeta = b/sqrt(2 log 2): no smaller zeta does, for a vector of length b."""
    return agree(
        [stated("user_level/def-a10", t=b, zeta=stated("user_level/def-a10@derived", b=b))],
        [1.0],
        "right side at t = b",
    )


@check("user_level/def-a10@derived", kind="accuracy")
def bounded_scalars_are_subgaussian(context: Context) -> Verdict:
    """cosh(v) <= exp(v^2/2) term by term: v^(2k)/(2k)! against (v^2/2)^k/k!, for the fair sign, the worst of all."""
    k = np.arange(1, 200)
    left = -special.gammaln(2 * k + 1.0)
    right = -k * math.log(2) - special.gammaln(k + 1.0)
    return accuracy.never_violated(
        left - right,
        np.zeros(len(k)),
        statement="log of the k-th coefficients of cosh(v) and exp(v^2/2)",
        covers="k up to 199; the ratio 2^k k!/(2k)! falls with k",
        tolerance=1e-9,
    )


@check("user_level/thm-a11@literal", kind="accuracy", grid={"gamma": ("99/100", "999/1000")}, expect="refuted")
def fair_sign_with_the_printed_logarithm(context: Context, *, gamma: str) -> Verdict:
    """One fair sign, d = 1, c = 10: P(|X| >= 10 zeta sqrt(log(1/gamma))) is 1, zeta = 1/sqrt(2 log 2)."""
    top, bottom = (int(part) for part in gamma.split("/"))
    allowed, zeta = top / bottom, stated("user_level/def-a10@derived", b=1.0)
    found = float(10 * zeta * math.sqrt(-math.log(allowed)) <= 1.0)
    return accuracy.never_violated(
        found,
        stated("user_level/thm-a11@literal", gamma=allowed),
        statement="P(|X| >= 10 zeta sqrt(log(1/gamma))) <= gamma",
        witness=lambda _: witnessed("user_level/thm-a11@literal", "thm_a11", allowed, found, c=10, gamma=gamma),
    )


@check("user_level/thm-a11@corrected", kind="accuracy", grid={"n": (1, 10, 100, 10_000)})
def sums_of_fair_signs(context: Context, *, n: int) -> Verdict:
    """Exact binomial tails of |S_n| at sqrt(2n log(2/gamma)) against gamma, for gamma from 0.99 to 1e-12."""
    gammas = np.concatenate([[0.99, 0.9, 0.5], 10.0 ** -np.arange(1, 13)])
    left = []
    for gamma in gammas:
        least = math.ceil((n + stated("user_level/thm-a11@corrected", b=1.0, n=n, gamma=float(gamma))) / 2 - 1e-9)
        left.append(2 * float(stats.binom.sf(least - 1, n, 0.5)))
    covers = "S_n = 2 Bin(n, 1/2) - n, both tails; for these n and gamma"
    return accuracy.never_violated(left, gammas, statement="P(|S_n| >= sqrt(2n log(2/gamma))) <= gamma", covers=covers)


@check("user_level/thm-a11", kind="accuracy", grid={"d": by_size((1, 10), (1, 10, 300)), "n": (100,)})
def sums_of_vectors_on_the_sphere(context: Context, *, d: int, n: int) -> Verdict:
    """P(|S_n| >= 2 zeta sqrt(n log(2d/gamma))) <= gamma = 1/20, uniform directions, zeta = 1/sqrt(2 log 2): c = 2."""
    trials, gamma, over = context.scale(2000, 20_000), 0.05, 0
    bound = 2 * stated("user_level/def-a10@derived", b=1.0) * math.sqrt(n * math.log(2 * d / gamma))
    for rng, many in context.chunks(trials, n * d):
        x = rng.standard_normal((many, n, d))
        total = (x / np.linalg.norm(x, axis=-1, keepdims=True)).sum(axis=1)
        over += int((np.linalg.norm(total, axis=-1) >= bound).sum())
    return accuracy.probability(
        over, trials, gamma, context.failure_probability, relation="<=", event=f"|S_n| >= {bound:.3g}, d = {d}"
    )


@check("user_level/lem-a12", kind="accuracy")
def projections_are_no_longer(context: Context) -> Verdict:
    """|v|^2 |y|^2 - <v, y>^2 is a sum of squares (three coordinates), so every tail of <v, Y> is below that of |Y|."""
    v, y = sp.symbols("v1:4", real=True), sp.symbols("y1:4", real=True)
    inner = sum(a * b for a, b in zip(v, y, strict=True))
    gap = sum(a**2 for a in v) * sum(b**2 for b in y) - inner**2
    squares = sum((v[i] * y[j] - v[j] * y[i]) ** 2 for i, j in ((0, 1), (0, 2), (1, 2)))
    return proved({"Lagrange's identity": sp.expand(gap - squares)})


# Appendix C -----------------------------------------------------------------------------------------------------------


def subset_variance(population: Array, K: int) -> float:
    """Variance of the mean of K of the values, over all subsets, over their mean square deviation."""
    means = np.array([np.mean(some) for some in itertools.combinations(population, K)])
    return float(((means - population.mean()) ** 2).mean() / population.var())


@check("user_level/fact-eq-12@derived", kind="accuracy", grid={"N": (2, 5, 9)})
def variance_without_replacement(context: Context, *, N: int) -> Verdict:
    """All subsets of a drawn population, for every K: the exact finite-population factor."""
    population = context.rng().standard_normal(N)
    found = [subset_variance(population, K) for K in range(1, N)]
    wanted = [stated("user_level/fact-eq-12@derived", K=K, N=N) for K in range(1, N)]
    return agree(np.array(found) + 1, np.array(wanted) + 1, "one plus the variance factor")


@check("user_level/fact-eq-12", kind="accuracy")
def finite_population_factor_is_below_one_over_K(context: Context) -> Verdict:
    """1/K - (N - K)/((N - 1)K) = (K - 1)/((N - 1)K) >= 0 for 1 <= K <= N, with equality at K = 1."""
    k, more = sp.symbols("k more", nonnegative=True)  # K = 1 + k, N = K + 1 + more
    K, N = 1 + k, 2 + k + more
    named = {s.name: s for s in explicit_of("user_level/fact-eq-12@derived").free_symbols}
    factor = explicit_of("user_level/fact-eq-12@derived").subs({named["K"]: K, named["N"]: N})
    return proved({}, {"1/K minus the factor": sp.factor(sp.together(1 / K - factor))})


@check("user_level/fact-eq-12@literal", kind="accuracy", expect="refuted")
def printed_indicator_claims_zero_variance(context: Context) -> Verdict:
    """Two of the four values 1, -1, 1, -1: all subsets."""
    found = subset_variance(np.array([1.0, -1.0, 1.0, -1.0]), 2)
    return accuracy.never_violated(
        found,
        stated("user_level/fact-eq-12@literal"),
        statement="the variance is at most 1(K = n)/K times the spread",
        witness=lambda _: witnessed("user_level/fact-eq-12@literal", "eq_12", 0.0, found, values=[1, -1, 1, -1], K=2),
    )


def worst_private_point(choices: int, epsilon: float, delta: float) -> float:
    """Largest P(x = Z) over all (epsilon, delta)-private maps from `choices` values to points, Z uniform: an LP.

    Variables: P(x | z), and for each ordered pair the positive parts of P(x | z) - e^epsilon P(x | z').
    """
    c, pairs = choices, list(itertools.permutations(range(choices), 2))
    size = c * c + len(pairs) * c
    cost = np.zeros(size)
    cost[[z * c + z for z in range(c)]] = -1 / c
    equal = np.zeros((c, size))
    rows, limits = [], []
    for z in range(c):
        equal[z, z * c : (z + 1) * c] = 1
    for number, (z, other) in enumerate(pairs):
        start = c * c + number * c
        for x in range(c):
            row = np.zeros(size)
            row[z * c + x], row[other * c + x], row[start + x] = 1, -math.exp(epsilon), -1
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(size)
        row[start : start + c] = 1
        rows.append(row)
        limits.append(delta)
    found = optimize.linprog(cost, np.array(rows), np.array(limits), equal, np.ones(c), bounds=(0, None))
    return -float(found.fun)


PRIVATE = [(c, e, dl) for c in (2, 3, 5) for e in (0.0, 0.3, 1.0, 3.0) for dl in (0.0, 0.01, 0.2)]


@check("user_level/fact-dp-stability@derived", kind="stability")
def best_private_point_of_its_own_user(context: Context) -> Verdict:
    """Linear programmes over all private maps: the largest P(x = Z) against e^epsilon/c + delta, gamma = 1/c."""
    left = [worst_private_point(*point) for point in PRIVATE]
    right = [stated("user_level/fact-dp-stability@derived", epsilon=e, gamma=1 / c, delta=dl) for c, e, dl in PRIVATE]
    covers = "each programme ranges over all (epsilon, delta)-private maps of that many values"
    return accuracy.never_violated(
        left, np.minimum(right, 1.0), statement="P(bad for its own user) <= e^epsilon gamma + delta", covers=covers
    )


@check("user_level/fact-dp-stability", kind="accuracy")
def printed_stability_is_looser(context: Context) -> Verdict:
    """The printed e^(2 epsilon) gamma + delta is above the same optima, and above the derived bound."""
    left = [worst_private_point(*point) for point in PRIVATE]
    right = [stated("user_level/fact-dp-stability", epsilon=e, gamma=1 / c, delta=dl) for c, e, dl in PRIVATE]
    covers = "each programme ranges over all (epsilon, delta)-private maps of that many values"
    return accuracy.never_violated(
        left, np.minimum(right, 1.0), statement="P(bad for its own user) <= e^(2 epsilon) gamma + delta", covers=covers
    )


# Appendix D -----------------------------------------------------------------------------------------------------------


@check("user_level/lem-d1@literal", kind="accuracy", expect="refuted")
def smoothing_does_not_lower_a_convex_function(context: Context) -> Verdict:
    """f = |x|, r = 1 at 0: the mean of |y| over [-1, 1] by quadrature, against f(0) = 0."""
    found = integrate.quad(abs, -1, 1, points=[0])[0] / 2
    return accuracy.never_violated(
        found,
        stated("user_level/lem-d1@literal"),
        statement="f_r(0) <= f(0)",
        witness=lambda _: witnessed("user_level/lem-d1@literal", "lem_d1", 0.0, found, r=1),
    )


@check("user_level/lem-d1@corrected", kind="symbolic")
def smoothing_on_the_line(context: Context) -> Verdict:
    """f = |x|: f_r - f = (r - |x|)^2/(2r) for |x| < r, between 0 and r/2; convex functions are mixtures of these."""
    x, rest = sp.Symbol("x", nonnegative=True), sp.Symbol("rest", positive=True)  # r = x + rest
    r = x + rest
    smoothed = (x**2 + r**2) / (2 * r)
    return proved(
        {"f_r - f": sp.simplify(smoothed - x - rest**2 / (2 * r))},
        {"f_r - f >= 0": rest**2 / (2 * r), "r/2 - (f_r - f)": sp.factor(r / 2 - rest**2 / (2 * r))},
    )


@check("user_level/lem-d1@corrected", kind="accuracy", grid={"d": (1, 2, 10, 50)})
def mean_length_of_the_shift(context: Context, *, d: int) -> Verdict:
    """f = |x| at 0 attains the bound: E|y| = r d/(d + 1), by the density d rho^(d - 1) of the radius."""
    mean = integrate.quad(lambda rho: d * rho**d, 0, 1)[0]
    return agree([mean], [stated("user_level/lem-d1@corrected", L=1.0, r=1.0, d=d)], "E|y|, r = 1")


@check("user_level/lem-d1", kind="accuracy", expect="consistent")
def curvature_of_smoothed_kinks(context: Context) -> Verdict:
    """Second derivative at 0 of the smoothed |<u, x>|, r = 1: 2 V_(d-1)/V_d of ball volumes, against sqrt d."""
    dims = np.arange(1, context.scale(200, 2000))
    log_ball = special.gammaln(dims / 2 + 1) - special.gammaln((dims + 1) / 2) - math.log(math.pi) / 2
    found = 2 * np.exp(log_ball)
    bound = stated_each("user_level/lem-d1", L=1.0, d=dims.astype(float), r=1.0)
    return accuracy.never_violated(found, bound, statement="curvature of |<u, x>| <= L sqrt(d)/r", drawn=False)


@check("user_level/lem-d1", kind="symbolic")
def smoothness_on_the_line_is_exact(context: Context) -> Verdict:
    """f = |x|: f_r'' = 1/r inside, L sqrt(d)/r at d = 1; and its gradient x/r is the mean of sign(x + y)."""
    x, r = sp.symbols("x r", positive=True)
    y = sp.Symbol("y", real=True)
    smoothed = (x**2 + r**2) / (2 * r)
    mean_sign = sp.integrate(1, (y, -x, r)) / (2 * r) - sp.integrate(1, (y, -r, -x)) / (2 * r)
    return proved({"curvature": sp.diff(smoothed, x, 2) - 1 / r, "gradient": sp.diff(smoothed, x) - mean_sign})
