"""Appendix A.2: random vectors with light tails."""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy
import sympy as sp

from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import explicit_of, stated
from dpcheck.harness import accuracy
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.relations import judged
from dpcheck.harness.symbolic import agree, norm_tail_proved, proved, where_proved
from dpcheck.interfaces import Array, Rng
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Verdict, combine, differs

from .cases import stated_each
from .lemmas import spread


@check("user_level/def-a10", kind="accuracy", grid={"d": (1, 3, 30)})
def gaussian_vectors_are_norm_subgaussian(context: Context, *, d: int) -> Verdict:
    """A standard Gaussian vector is nSG(1) in one dimension and nSG(2 sqrt d) in d: its chi tail against the claim, on
    a grid and by Chernoff's bound, P(g >= t) <= exp(-t^2/2) in one dimension.
    """
    t = np.linspace(0, 30 + math.sqrt(d), context.scale(2000, 20_000))
    zeta = 1.0 if d == 1 else 2 * math.sqrt(d)
    right = stated_each("user_level/def-a10", t=t[1:], zeta=zeta)
    bound, u, length = explicit_of("user_level/def-a10"), sp.Symbol("u", positive=True), BY_NAME["t"]
    in_one = proved({"2 exp(-t^2/2)": bound.subs(BY_NAME["zeta"], 1) - 2 * sp.exp(-(length**2) / 2)})
    in_many = norm_tail_proved(bound.subs({length: sp.sqrt(d * u), BY_NAME["zeta"]: 2 * sp.sqrt(d)}), u)
    return accuracy.never_violated(
        scipy.stats.chi.sf(t[1:], d),
        right,
        statement="P(|X| >= t) <= 2 exp(-t^2/(2 zeta^2))",
        drawn=False,
        covers=where_proved(in_one if d == 1 else in_many, "a grid; Chernoff's bound proves it for every t"),
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
    # unbound: the moments, coefficient by coefficient, where the claim is the scale of a tail
    k = np.arange(1, 200)
    left = -scipy.special.gammaln(2 * k + 1.0)
    right = -k * math.log(2) - scipy.special.gammaln(k + 1.0)
    return accuracy.never_violated(
        left - right,
        np.zeros(len(k)),
        statement="log of the k-th coefficients of cosh(v) and exp(v^2/2)",
        covers="k up to 199; the ratio 2^k k!/(2k)! falls with k",
        tolerance=1e-9,
    )


def _lengths_of_sums(rng: Rng, trials: int, n: int, d: int) -> Array:
    """|S_n|, (trials,): the next direction is uniform, so that of where it lies only its cosine with S matters."""
    squared = np.zeros(trials)
    for _ in range(n):
        along = rng.standard_normal(trials)
        across = rng.chisquare(d - 1, trials) if d > 1 else 0.0
        squared += 2 * np.sqrt(squared) * along / np.sqrt(along**2 + across) + 1
        squared = np.maximum(squared, 0.0)
    return np.asarray(np.sqrt(squared))


@check("user_level/thm-a11", kind="accuracy", grid={"d": by_size((1, 10), (1, 10, 300)), "n": (100,)})
def sums_of_vectors_on_the_sphere(context: Context, *, d: int, n: int) -> Verdict:
    """P(|S_n| >= 2 zeta sqrt(n log(2d/gamma))) <= gamma = 1/20, uniform directions, zeta = 1/sqrt(2 log 2): c = 2."""
    trials, gamma, over = context.scale(2000, 20_000), 0.05, 0
    zeta = stated("user_level/def-a10@derived", b=1.0)
    bound = 2 * stated("user_level/thm-a11", zeta=zeta, n=n, d=d, gamma=gamma)
    for rng, many in context.chunks(trials, 2 * n):
        over += int((_lengths_of_sums(rng, many, n, d) >= bound).sum())
    return accuracy.probability(
        over, trials, gamma, context.failure_probability, relation="<=", event=f"|S_n| >= {bound:.3g}, d = {d}"
    )


@check("user_level/thm-a11@literal", kind="accuracy", grid={"gamma": ("99/100", "999/1000")}, expect="refuted")
def fair_sign_with_the_printed_logarithm(context: Context, *, gamma: str) -> Verdict:
    """One fair sign, d = 1, c = 10: P(|X| >= 10 zeta sqrt(log(1/gamma))) is 1, zeta = 1/sqrt(2 log 2)."""
    top, bottom = (int(part) for part in gamma.split("/"))
    allowed, zeta = top / bottom, stated("user_level/def-a10@derived", b=1.0)
    value = float(10 * zeta * math.sqrt(-math.log(allowed)) <= 1.0)
    allowed = stated("user_level/thm-a11@literal", gamma=allowed)
    return accuracy.never_violated(
        value,
        allowed,
        statement="P(|X| >= 10 zeta sqrt(log(1/gamma))) <= gamma",
        witness=lambda _: witnessed("user_level/thm-a11@literal", "thm_a11", allowed, value, c=10, gamma=gamma),
    )


@check("user_level/thm-a11@corrected", kind="accuracy", grid={"n": (1, 10, 100, 10_000)})
def sums_of_fair_signs(context: Context, *, n: int) -> Verdict:
    """Exact binomial tails of |S_n| at sqrt(2n log(2/gamma)) against gamma, for gamma from 0.99 to 1e-12."""
    gammas = np.concatenate([[0.99, 0.9, 0.5], 10.0 ** -np.arange(1, 13)])
    left = []
    for gamma in gammas:
        least = math.ceil((n + stated("user_level/thm-a11@corrected", b=1.0, n=n, gamma=float(gamma))) / 2 - 1e-9)
        left.append(2 * float(scipy.stats.binom.sf(least - 1, n, 0.5)))
    covers = "S_n = 2 Bin(n, 1/2) - n, both tails; for these n and gamma"
    return accuracy.never_violated(left, gammas, statement="P(|S_n| >= sqrt(2n log(2/gamma))) <= gamma", covers=covers)


@check("user_level/lem-a12", kind="accuracy")
def projections_are_no_longer(context: Context) -> Verdict:
    """|v|^2 |y|^2 - <v, y>^2 is a sum of squares (three coordinates), so every tail of <v, Y> is below that of |Y|."""
    v, y = sp.symbols("v1:4", real=True), sp.symbols("y1:4", real=True)
    inner = sum(a * b for a, b in zip(v, y, strict=True))
    gap = sum(a**2 for a in v) * sum(b**2 for b in y) - inner**2
    squares = sum((v[i] * y[j] - v[j] * y[i]) ** 2 for i, j in ((0, 1), (0, 2), (1, 2)))
    # Two opposite vectors of length 2 along v: no smaller parameter does for their projections than for themselves.
    least = scipy.optimize.brentq(lambda zeta: stated("user_level/def-a10", t=2.0, zeta=zeta) - 1, 0.1, 9.0, xtol=1e-14)
    claimed = stated("user_level/lem-a12", zeta=stated("user_level/def-a10@derived", b=2.0))
    attained = agree([least], [claimed], "least parameter of a projection")
    return combine([proved({"Lagrange's identity": sp.expand(gap - squares)}), attained])


def _quantile(n: int, gamma: float) -> int:
    """The largest s with P(|S_n| >= s) > gamma, n fair signs: the binomial tail by bisection."""
    low, high = n // 2, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if 2 * scipy.stats.binom.sf(middle - 1, n, 0.5) > gamma else (low, middle)
    return 2 * low - n


@check("user_level/thm-a11", kind="accuracy")
def quantiles_of_fair_signs_grow_as_the_order(context: Context) -> Verdict:
    """Exact quantiles of |S_n|, n fair signs of size b, d = 1: a constant times the order, within a factor of 2, for n
    up to 10^8, gamma from 1/10 to 10^-200 and b from 10^-3 to 10^3.
    """
    ratios = []
    for n, gamma, b in itertools.product((10**4, 10**8), (0.1, 1e-4, 1e-200), (1e-3, 1.0, 1e3)):
        zeta = stated("user_level/def-a10@derived", b=b)
        ratios.append(b * _quantile(n, gamma) / stated("user_level/thm-a11", zeta=zeta, n=n, d=1, gamma=gamma))
    said = f"quantiles of sums of fair signs are {min(ratios):.4g} to {max(ratios):.4g} of the order"
    return judged(spread(ratios), "<=", 2.0, said, "exact", otherwise=differs)
