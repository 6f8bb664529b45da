"""Moments, tails, and what is false as printed of the clipped mean and of the instance of Theorem 4."""

from __future__ import annotations

import math

import numpy as np
import sympy as sp
from scipy import stats

from dpcheck.algorithms.tsybakov.hard_instances import private_instance
from dpcheck.checks import Context, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import stated
from dpcheck.harness import accuracy
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import proved
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Verdict


@check("tsybakov/lem-2", kind="accuracy", grid={"k": (2, 4)})
def moments_decrease_with_the_batch(context: Context, *, k: int) -> Verdict:
    """f = (w - x)^2/2 on [-1, 1], x a fair sign: e_m = 2^k E max(B, m - B)/m exactly, for every m up to 256."""
    sizes = np.arange(1, context.scale(65, 257))
    e = []
    for m in sizes:
        ups = np.arange(m + 1)
        e.append(float(2.0**k * stats.binom.pmf(ups, m, 0.5) @ np.maximum(ups, m - ups) / m))
    return accuracy.never_violated(
        e[1:], e[:-1], statement="e_{m+1} <= e_m", evidence="certificate", tolerance=1e-9,
        covers="a mean over m + 1 records is the average of its leave-one-out means, for every loss",
    )  # fmt: skip


@check("tsybakov/lem-7@literal", kind="accuracy", expect="refuted")
def clipped_mean_is_near_the_mean_in_expectation(context: Context) -> Verdict:
    """E|mean of ten fair signs|, nothing being clipped at C = 100, against r^(2)/C."""
    ups = np.arange(11)
    found = float(stats.binom.pmf(ups, 10, 0.5) @ np.abs(2 * ups / 10 - 1))
    return accuracy.never_violated(
        found,
        0.01,
        statement="E|clipped mean - mean| <= r^(k)/((k-1) C^(k-1))",
        witness=lambda _: witnessed("tsybakov/lem-7@literal", "lem_7", 0.01, found, s=10, C=100, k=2),
    )


@check("tsybakov/thm-4@literal", kind="lower-bound", grid={"k": (2, 4)}, expect="refuted")
def printed_instance_has_its_moment(context: Context, *, k: int) -> Verdict:
    """E sup |gradient|^k over r_k^k of the printed instance at atoms of probability 1/100."""
    work = private_instance(np.ones(40), 0.01, k=float(k), r_k=2.0, ball="printed")
    found = (work.constants.moment(float(k), 1) / 2.0) ** k
    return accuracy.never_violated(
        found,
        1.0,
        statement="E sup |gradient|^k <= r_k^k",
        witness=lambda _: witnessed("tsybakov/thm-4@literal", "thm_4_moment", 1.0, found, k=k, p="1/100"),
    )


@check("tsybakov/fact-gauss-tail", kind="accuracy", grid={"d": (1, 2, 10, 100)}, expect="consistent")
def gaussian_noise_is_rarely_long(context: Context, *, d: int) -> Verdict:
    """The chi-square tail against 2 exp(-t^2/(16 sigma^2)) on a grid of t."""
    u = np.linspace(1e-3, 200, context.scale(2000, 20_000))
    return accuracy.never_violated(
        stats.chi2.sf(d * u, d),
        [stated("tsybakov/fact-gauss-tail", t=math.sqrt(x), sigma=1.0) for x in u],
        statement="P(|xi| >= t sqrt d) <= 2 exp(-t^2/(16 sigma^2))",
        drawn=False,
    )


@check("tsybakov/fact-gauss-tail", kind="symbolic")
def chi_square_bound_implies_the_tail(context: Context) -> Verdict:
    """u = t^2/sigma^2 >= 16 log 2: (u - 1 - log u)/2 - u/16 is positive and increases; below, the bound is >= 1."""
    v, d = sp.Symbol("v", nonnegative=True), sp.Symbol("d", positive=True)
    tail, scale = claim("tsybakov/fact-gauss-tail").bound, BY_NAME["sigma"]
    least = 16 * sp.log(2)
    gap = (least - 1 - sp.log(least)) / 2 - least / 16
    slope = sp.diff((d - 1 - sp.log(d)) / 2 - d / 16, d)
    level = sp.Symbol("x", positive=True)
    return proved(
        {
            "the bound is 1 at u = 16 log 2": tail.subs(BY_NAME["t"], scale * sp.sqrt(least)) - 1,
            "the bound is 2 exp(-u/16)": sp.log(tail.subs(BY_NAME["t"], scale * sp.sqrt(d))) - sp.log(2) + d / 16,
            "slope of the exponent's gap": slope - (7 * d - 8) / (16 * d),
            "t = 4 sigma log(4/beta) gives 2 exp(-log^2(4/beta))": (4 * level) ** 2 / 16 - level**2,
        },
        {
            "gap at 16 log 2": sp.nsimplify(sp.floor(gap * 100)) / 100,
            "slope beyond": sp.floor(7 * least - 8) + 7 * v,
        },
    )
