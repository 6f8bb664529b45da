"""Rates measured over n and d: Gaussian width on three sets, heavy tails in n, quantiles, and a coupled run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.accounting import shuffle_epsilon
from dpcheck.algorithms.lp_spaces import (
    BatchedMirrorDescent,
    ExactObjectivePerturbation,
    NoisyMirrorDescent,
    ShuffledMirrorDescent,
)
from dpcheck.algorithms.lp_spaces.regular import kappa, mirror_map
from dpcheck.checks import Context, by_size, check
from dpcheck.claims import evaluate, local_exponent
from dpcheck.engine.statements import order_of
from dpcheck.geometry import Domain, Simplex
from dpcheck.geometry.norms import norm
from dpcheck.harness import rate, risk
from dpcheck.interfaces import Array, Sample
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Verdict, inconclusive
from dpcheck.workloads import HeavyCoordinates, LinearMean, signs_on

from ._instances import DELTA, body, huber, problem

# Theorem 2: the Gaussian width --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _EqualMean:
    """Data whose mean is given exactly: nothing but the noise moves."""

    mean: Array
    n: int

    def part(self, start: int, stop: int) -> _EqualMean:
        return replace(self, n=stop - start)

    def read(self, *, means_only: bool = False) -> Sample:
        return Sample(self.mean[None, None, :], np.full((1, 1), float(self.n)))


def of_diameter_one(name: str, d: int) -> Domain:
    """The simplex, or one of the bodies of `_instances`."""
    return Simplex(d, 1 / math.sqrt(2)) if name == "simplex" else body(name, d)


@check(
    "lp_spaces/thm-2", kind="rate",
    grid={"name": ("l1 ball", "simplex", "l2 ball"),
          "d": by_size([10, 40, 160, 640, 2560], [10, 40, 160, 640, 2560, 10_240])},
    conclude=rate.conclude("d"), expect="inconclusive",
)  # fmt: skip
def gaussian_width_advantage(context: Context, *, name: str, d: int) -> dict[str, float]:
    """Exact objective perturbation on sets of diameter 1 in growing d: the privacy part goes like the Gaussian width.

    Measured exponents in d: near 0 (a logarithm) on the l1 ball and the simplex, 1/2 on the l2 ball. The mean is along
    e_1, as long as the noise in the set's dual norm, where the excess is largest; its data are exact.
    """
    domain, size = of_diameter_one(name, d), 10**8
    radius = 1 / math.sqrt(2) if name == "simplex" else 0.5
    base = LinearMean(*signs_on(domain, 1.0, 0.5), domain, radius)
    algorithm, setting = ExactObjectivePerturbation(lambda_=1e-12), problem(base, 0.9)
    plan = algorithm.schedule(setting, size)
    noise = plan.phases[0].sigma_1 * domain.gaussian_width() / size
    mean = np.zeros(d)
    mean[0] = noise / radius  # the support function of the set at e_1 is its radius
    work = replace(base, mean=mean)
    trials = context.scale(60, 200)
    data = _EqualMean(mean, size)
    point = algorithm.execute(Run(plan, trials, context.rng()), work, data, np.zeros((1, d)))
    wide, narrow = (of_diameter_one(name, d * k).gaussian_width() for k in (2, 1))
    return {**risk.summary(work.excess_risk(point), noise), "exponent": math.log(wide / narrow) / math.log(2)}


# Theorem 10: heavy tails --------------------------------------------------------------------------------------------


def steep(d: int, p: float = 1.5) -> HeavyCoordinates:
    """Student t gradients around a minimiser at 0.9 of the radius: the start 0 is far from it."""
    return HeavyCoordinates(np.full(d, 0.9 * d ** (-1 / p)), radius=1.0, s=p, smoothness=0.5)


def _against(label: str, values: Array, work: Any, told: ApproxDP, n: int, p: float) -> dict[str, float]:
    stated = order_of(label)
    at = {
        "n": float(n), "d": float(work.constants.d), "epsilon": told.epsilon, "delta": told.delta,
        "D": work.constants.diameter(p), "kappa": kappa(p, work.constants.d, "safe"), "beta": 0.5,
    }  # fmt: skip
    found = risk.summary(values, float(evaluate(stated, at)))
    return {**found, "exponent": local_exponent(stated, "n", at)}


@check(
    "lp_spaces/thm-10", kind="rate",
    grid={"n": by_size([2**k for k in range(10, 15)], [2**k for k in range(10, 18)])},
    conclude=rate.conclude("n"), expect="inconclusive",
)  # fmt: skip
def shuffled_descent_in_n(context: Context, *, n: int) -> dict[str, float]:
    """Algorithm 4 with a thousandth of its noise, T and lambda as printed, epsilon = 0.9 FMT(1, n, delta/2), d = 3.

    With its own noise the output stays at the start for every feasible n (`risk_of_the_full_noise`).
    """
    told, later = (ApproxDP(largest_epsilon(size), DELTA) for size in (n, 2 * n))
    work = steep(3)
    algorithm = ShuffledMirrorDescent(exponent="corrected", kappa_rule="safe", noise_dial=1e-3)
    values = risk.excess_risks(
        algorithm, work, problem(work, told.epsilon), n, context.scale(6, 20), context.seed, context.name, n
    )
    found = _against("lp_spaces/thm-10", values, work, told, n, 1.5)
    # epsilon falls with n: the exponent along this path.
    return {**found, "exponent": -(1 + math.log2(later.epsilon / told.epsilon)) / 2}


def largest_epsilon(n: int) -> float:
    """Nine tenths of what shuffling n records turns a local budget of 1 into."""
    return min(0.9, 0.9 * shuffle_epsilon(1.0, n, DELTA / 2))


@check("lp_spaces/alg-4", kind="risk", grid={"n": by_size([2048], [2048, 16_384])}, expect="inconclusive")
def risk_of_the_full_noise(context: Context, *, n: int) -> Verdict:
    """With the whole noise, at the largest epsilon of its range, the output does not leave the start."""
    work, algorithm = steep(3), ShuffledMirrorDescent(exponent="corrected", kappa_rule="safe")
    told = problem(work, largest_epsilon(n))
    values = risk.excess_risks(algorithm, work, told, n, context.scale(8, 20), context.seed, context.name, n)
    row = algorithm.schedule(told, n).phases[0]
    start, stated = float(work.excess_risk(np.zeros((1, 3)))[0]), order_of("lp_spaces/thm-10")
    at = {
        "n": n,
        "d": 3,
        "epsilon": told.privacy.epsilon_at(DELTA),
        "delta": DELTA,
        "D": 2.0,
        "kappa": 2.0,
        "beta": 0.5,
    }
    bound = float(evaluate(stated, at))
    numbers = {"mean": float(values.mean()), "start": start, "rate without its constant": bound, "noise": row.sigma}
    said = f"mean excess {values.mean():.4g}, {start:.4g} at the start; the rate without its constant is {bound:.3g}"
    return inconclusive(said, "sampled", failure_probability=context.failure_probability, numbers=numbers)


@check(
    "lp_spaces/thm-10", kind="risk", grid={"inverse": (2, 4, 8, 16, 32)},
    conclude=rate.conclude("inverse", axis="quantile of the noise-averaged excess"), expect="inconclusive",
)  # fmt: skip
def quantiles_over_the_data(context: Context, *, inverse: int) -> dict[str, float]:
    """The (1 - delta')-quantile over data sets of the noise-averaged excess grows no faster than log(1/delta').

    Batched form, n = 1000, d = 3, delta' = 1/`inverse`: each data set is run five times with fresh noise.
    """
    level = 1 - 1 / inverse
    sets, times, n = context.scale(400, 1200), 5, 1000
    work, algorithm = steep(3), BatchedMirrorDescent()
    plan = algorithm.schedule(problem(work, 0.9), n)
    rows = work.rows(context.rng("data", "shared"), sets, n)
    values = []
    for part in range(0, sets, 40):
        repeated = np.repeat(rows[part : part + 40], times, axis=0)
        run: Run[Any] = Run(plan, len(repeated), context.rng("noise", part))
        point = algorithm.execute(run, work, Fixed(repeated), np.zeros((1, 3)))
        values.append(work.excess_risk(point).reshape(-1, times).mean(axis=1))
    stated = order_of("lp_spaces/claim-app10-general-eps")
    at = {"n": float(n), "d": 3.0, "epsilon": 0.9, "delta": DELTA, "kappa": kappa(1.5, 3, "safe")}
    bound = float(evaluate(stated, at)) * math.log(inverse)
    return risk.quantile_summary(np.concatenate(values), level, bound)


@check(
    "lp_spaces/claim-app10-general-eps", kind="rate",
    grid={"n": by_size([1000 * 2**k for k in range(6)], [1000 * 2**k for k in range(9)])},
    conclude=rate.conclude("n"), expect="inconclusive",
)  # fmt: skip
def batched_descent_in_n(context: Context, *, n: int) -> dict[str, float]:
    """Batched truncated mirror descent with its own noise, epsilon = 0.9, d = 3, p = 3/2: n^(-1/3)."""
    work = steep(3)
    values = risk.excess_risks(
        BatchedMirrorDescent(), work, problem(work, 0.9), n, context.scale(20, 60), context.seed, context.name, n
    )
    return _against("lp_spaces/claim-app10-general-eps", values, work, ApproxDP(0.9, DELTA), n, 1.5)


# Theorem 7: a coupled run -------------------------------------------------------------------------------------------


@check("lp_spaces/thm-7@derived", kind="stability", grid={"p": by_size([1.5], [1.3, 1.5, 1.8])})
def coupled_runs_on_neighbours(context: Context, *, p: float) -> Verdict:
    """Algorithm 3 on two data sets that differ in one record, with the same noise: E|w - w'|_p against the bound.

    2 E|w - w_alpha| + 2 L/(alpha n), the first term as derived for the minimisers of these data sets.
    """
    dimension, size, trials = 5, 400, context.scale(2200, 4000)
    work, algorithm = huber(dimension), NoisyMirrorDescent(p=p, exponent="corrected", kappa_rule="safe")
    plan = algorithm.schedule(problem(work, 0.9), size)
    (row,) = plan.phases
    rows = work.rows(context.rng("data"), 1, size)
    other = rows.copy()
    other[0, 0, :-1], other[0, 0, -1] = np.eye(dimension)[0], 1e6
    rows[0, 0, :-1], rows[0, 0, -1] = np.eye(dimension)[0], -1e6
    ends = [
        algorithm.execute(Run(plan, trials, context.rng("noise")), work, Fixed(data), np.zeros((1, dimension)))
        for data in (rows, other)
    ]
    apart = norm(ends[0] - ends[1], p)
    mirror = mirror_map(p, dimension)
    # Phi(w_alpha) <= Phi of the unregularised minimiser, which lies within |theta*| + 1 in every coordinate.
    phi = float(mirror.value(np.full((1, dimension), 1.3))[0])
    noise = 2 * dimension * row.sigma**2 / (row.alpha * (row.alpha + 1))
    away = math.sqrt(phi / (row.growth**row.steps - 1) + noise)
    bound = 2 * away + 2 / (row.alpha * size)
    return risk.expectation(
        apart, bound, context.failure_probability, quantity="distance of coupled outputs", x=p, variable="p"
    )
