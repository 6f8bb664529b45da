"""Orders without constants: whether what they bound grows as they do, over a wide range of every letter."""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy

from dpcheck.algorithms.user_level.accelerated import multistage_ac_sa, stages
from dpcheck.checks import Context, check
from dpcheck.engine.statements import stated
from dpcheck.harness.relations import judged
from dpcheck.interfaces import Array
from dpcheck.verdicts import Verdict, consistent, differs


def spread(ratios: Array | list[float]) -> float:
    """The largest of these over the smallest; inf where one is no positive number."""
    values = np.asarray(ratios, dtype=float)
    if not (np.isfinite(values).all() and (values > 0).all()):
        return math.inf
    return float(values.max() / values.min())


def _excess(
    context: Context, curvatures: Array, size: float, T: int, V: float, smooth: float
) -> tuple[float, float, float]:
    """Mean excess of T steps from `size` in every direction, its standard error, and the excess of the start; 400 runs
    where there is noise.
    """
    mu, d, rng = float(curvatures.min()), len(curvatures), context.rng(T, V, size, smooth)

    def oracle(x: Array) -> Array:
        return np.asarray(curvatures * x + V / math.sqrt(d) * rng.standard_normal(x.shape))

    gap = float(curvatures.sum()) * size**2 / 2
    plan, _ = stages(T, gap=gap, variance=V**2, mu=mu, smooth=smooth)
    start = np.full((400 if V else 1, d), size)
    end = multistage_ac_sa(oracle, start, mu=mu, stages=plan, project=lambda x: x)
    values = (curvatures * end**2).sum(axis=1) / 2
    return float(values.mean()), float(values.std()) / math.sqrt(len(values)), gap


def _order(gap: float, size: float, **at: float) -> float:
    """That of Lemma C.4, where the start is at the distance `size` and has that excess."""
    return stated("user_level/lem-c4", L=gap / size, D=size, **at)


@check("user_level/lem-c4", kind="risk")
def one_step_hardly_moves_the_start(context: Context) -> Verdict:
    """After one step on a bowl far flatter than its class the excess is that of the start, which the order has as LD:
    of near and far starts, in small and large units of the loss.
    """
    ratios = []
    for size, unit in itertools.product((1e-3, 1.0, 1e3), repeat=2):
        excess, _, gap = _excess(context, np.full(3, 1e-5 * unit), size, 1, 0.0, unit)
        order = _order(gap, size, T=1, H=unit, V=0.0, lambda_=1e-5 * unit)
        ratios.append(excess / order if order else math.inf)
    said = f"the excess after one step is {min(ratios):.4g} to {max(ratios):.4g} of the order"
    return judged(spread(ratios), "<=", 2.0, said, "exact", otherwise=differs)


@check("user_level/lem-c4", kind="risk")
def excess_decays_as_the_order(context: Context) -> Verdict:
    """Without noise the logarithm of excess over start is a constant times that of order over start, within a factor
    of 2: condition numbers 10 and 10^3, from four stages to 70, at two units of the loss.
    """
    ratios = []
    for mu, T, unit in ((0.1, 80, 1.0), (0.1, 1280, 1.0), (0.1, 80, 100.0), (1e-3, 1280, 1.0), (1e-3, 12_800, 1.0)):
        excess, _, gap = _excess(context, unit * np.geomspace(mu, 1.0, 5), 1.0, T, 0.0, unit)
        order = _order(gap, 1.0, T=T, H=unit, V=0.0, lambda_=mu * unit)
        ratios.append(math.log(excess / gap) / math.log(order / gap) if order else math.inf)
    said = f"the excess decays with {min(ratios):.4g} to {max(ratios):.4g} of the exponent of the order"
    return judged(spread(ratios), "<=", 2.0, said, "exact", otherwise=differs)


@check("user_level/lem-c4", kind="risk", expect="consistent")
def noise_floor_falls_as_the_order(context: Context) -> Verdict:
    """Where noise leads, the mean excess of 400 runs, give or take six standard errors, is a constant times the order,
    within a factor of 2, over steps, convexity, noise and smoothness.
    """
    ratios = []
    for mu, T, V, unit in (
        (0.1, 200, 10.0, 1.0),
        (0.1, 3200, 10.0, 1.0),
        (1e-3, 3200, 100.0, 1.0),
        (1.0, 200, 1e3, 10.0),
    ):
        excess, error, gap = _excess(context, np.geomspace(mu, unit, 5), 1.0, T, V, unit)
        order = _order(gap, 1.0, T=T, H=unit, V=V, lambda_=mu)
        ratios += [(excess - 6 * error) / order, (excess + 6 * error) / order]
    said = f"a mean excess of {min(ratios):.4g} to {max(ratios):.4g} of the order"
    if spread(ratios) > 2:
        return differs(said, "sampled", failure_probability=context.failure_probability)
    notices = "a mean excess that moves by more than 2 against the order"
    return consistent(said, "sampled", failure_probability=context.failure_probability, notices=notices)


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
