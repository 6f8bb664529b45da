"""Moments, tails, the clipped mean's bias, and the distance of clipped descent to the exact minimiser."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from dpcheck.algorithms.tsybakov.clipped import clipped_descent, regularised_minimiser
from dpcheck.algorithms.tsybakov.hard_instances import private_instance
from dpcheck.checks import Context, check
from dpcheck.harness import accuracy
from dpcheck.interfaces import Sample
from dpcheck.verdicts import Verdict
from dpcheck.workloads.tilted_power import SparseTilt

from ._instances import witnessed


@check("tsybakov/lem-2", kind="accuracy", grid={"k": (2, 4)}, expect="inconclusive")
def moments_decrease_with_the_batch(context: Context, *, k: int) -> Verdict:
    """f = (w - x)^2/2 on [-1, 1], x a fair sign: e_m = 2^k E max(B, m - B)/m exactly, for every m up to 256."""
    sizes = np.arange(1, context.scale(65, 257))
    e = []
    for m in sizes:
        ups = np.arange(m + 1)
        e.append(float(2.0**k * stats.binom.pmf(ups, m, 0.5) @ np.maximum(ups, m - ups) / m))
    return accuracy.never_violated(
        e[1:], e[:-1], statement="e_{m+1} <= e_m", failure_probability=context.failure_probability
    )


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


@check("tsybakov/fact-gauss-tail", kind="accuracy", grid={"d": (1, 2, 10, 100)}, expect="inconclusive")
def gaussian_noise_is_rarely_long(context: Context, *, d: int) -> Verdict:
    """The chi-square tail against 2 exp(-t^2/(16 sigma^2)) on a grid of t."""
    u = np.linspace(1e-3, 200, context.scale(2000, 20_000))
    return accuracy.never_violated(
        stats.chi2.sf(d * u, d),
        2 * np.exp(-u / 16),
        statement="P(|xi| >= t sqrt d) <= 2 exp(-t^2/(16 sigma^2))",
        failure_probability=context.failure_probability,
    )


@check("tsybakov/thm-8", kind="accuracy", expect="inconclusive")
def clipped_descent_ends_near_the_exact_minimiser(context: Context) -> Verdict:
    """Heavy-tailed quadratics: |w_T - w^|^2 against the printed bound with the realised moments and largest bias."""
    work, rng = SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=2.0, reach=2.0), context.rng()
    left, right, D = [], [], work.constants.diameter(2.0)
    for _ in range(context.scale(30, 200)):
        x = 2 * rng.standard_t(3, size=(1, 20, 2))
        weight = math.exp(rng.uniform(math.log(0.05), math.log(3)))
        eta, steps, level = rng.uniform(0.05, min(1.0, 2 / weight)), int(rng.integers(5, 80)), rng.uniform(0.5, 6)
        sample, start = Sample(x, np.ones((1, 20))), work.project(rng.normal(size=(1, 2)))
        end = clipped_descent(work, sample, start, steps=steps, eta=eta, level=level, weight=weight)
        exact = regularised_minimiser(work, sample, start, weight, gap=1e-9)
        # sup over the ball of |w - x| is |x| + radius; k = 2 bounds the bias by the second moment over the level.
        second = float(((np.linalg.norm(x, axis=-1) + D / 2) ** 2).mean())
        bias = second / level
        left.append(float(((end - exact) ** 2).sum()))
        right.append(
            math.exp(-weight * eta * steps / 2) * float(((start - exact) ** 2).sum())
            + 8 * eta * (second / weight + weight * D**2)
            + 20 * bias**2 / weight**2
        )
    return accuracy.never_violated(
        left,
        right,
        statement="|w_T - w^|^2 <= the printed bound",
        failure_probability=context.failure_probability,
    )
