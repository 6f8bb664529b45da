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
from dpcheck.algorithms.lp_spaces.regular import dual_regularity, mirror_map
from dpcheck.algorithms.lp_spaces.regular import kappa as regularity
from dpcheck.checks import Context, by_size, check
from dpcheck.claims import evaluate, local_exponent
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import order_of
from dpcheck.geometry import Domain, Simplex
from dpcheck.geometry.norms import norm
from dpcheck.harness import rate, risk
from dpcheck.harness.budget import budget
from dpcheck.interfaces import Array, Sample
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.statistics.means import refute_mean
from dpcheck.verdicts import Point, Verdict, consistent, differs, holds, undecided
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
    """The simplex, or one of the bodies of `body`."""
    return Simplex(d, 1 / math.sqrt(2)) if name == "simplex" else body(name, d)


@check(
    "lp_spaces/proc-exact-objpert", kind="rate",
    grid={"name": ("l1 ball", "simplex", "l2 ball"),
          "d": by_size([10, 40, 160, 640, 2560], [10, 40, 160, 640, 2560, 10_240])},
    conclude=rate.conclude("d"), expect=("consistent", "undecided"),
)  # fmt: skip
def gaussian_width_advantage(context: Context, *, name: str, d: int) -> dict[str, float]:
    """Exact objective perturbation on sets of diameter 1 in growing d: the privacy part goes like the Gaussian width.

    lambda = 1e-12, not that of Theorem 2: the noise alone is measured. Measured exponents in d: near 0 (a logarithm) on
    the l1 ball and the simplex, 1/2 on the l2 ball. The mean is along e_1, as long as the noise in the set's dual norm,
    where the excess is largest; its data are exact.
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


def against_the_rate(label: str, values: Array, work: Any, told: ApproxDP, n: int, p: float) -> dict[str, float]:
    stated = order_of(label)
    at = {
        "n": float(n), "d": float(work.constants.d), "epsilon": told.epsilon, "delta": told.delta,
        "D": work.constants.diameter(p), "kappa": regularity(p, work.constants.d, "safe"), "beta": 0.5,
    }  # fmt: skip
    found = risk.summary(values, float(evaluate(stated, at)))
    return {**found, "exponent": local_exponent(stated, "n", at)}


@check(
    "lp_spaces/thm-10@quiet", kind="rate",
    grid={"n": by_size([2**k for k in range(10, 15)], [2**k for k in range(10, 18)])},
    conclude=rate.conclude("n"), expect=("consistent", "undecided"),
)  # fmt: skip
def shuffled_descent_in_n(context: Context, *, n: int) -> dict[str, float]:
    """Algorithm 4 with a thousandth of its noise, T and lambda as printed, epsilon = 0.9 FMT(1, n, delta/2), d = 3: the
    distance and the truncation, not the privacy; every row has what the accountant certifies of the run.
    """
    told, later = (ApproxDP(largest_epsilon(size), DELTA) for size in (n, 2 * n))
    work = steep(3)
    algorithm = ShuffledMirrorDescent(exponent="corrected", kappa_rule="safe", noise_dial=1e-3)
    setting = problem(work, told.epsilon)
    values = risk.excess_risks(algorithm, work, setting, n, context.scale(6, 20), context.seed, context.name, n)
    found = against_the_rate("lp_spaces/thm-10", values, work, told, n, 1.5)
    # epsilon falls with n: the exponent along this path.
    slope = -(1 + math.log2(later.epsilon / told.epsilon)) / 2
    return {**found, "exponent": slope, **budget(algorithm, setting, n)}


def largest_epsilon(n: int) -> float:
    """Nine tenths of what shuffling n records turns a local budget of 1 into."""
    return min(0.9, 0.9 * shuffle_epsilon(1.0, n, DELTA / 2))


@check("lp_spaces/alg-4@own-noise", kind="risk", grid={"n": by_size([2048], [2048, 16_384])})
def output_stays_at_the_start(context: Context, *, n: int) -> Verdict:
    """With its own noise, at the largest epsilon of its range: the mean excess is at least half of that at the start,
    by a bet against less.
    """
    work, algorithm = steep(3), ShuffledMirrorDescent(exponent="corrected", kappa_rule="safe")
    told = problem(work, largest_epsilon(n))
    values = risk.excess_risks(algorithm, work, told, n, context.scale(60, 120), context.seed, context.name, n)
    row, start = algorithm.schedule(told, n).phases[0], float(work.excess_risk(np.zeros((1, 3)))[0])
    # |w - c|_2 <= |w|_s + |c|_2 for s <= 2: the excess never exceeds the limit.
    limit = work.smoothness / 2 * (work.radius + float(np.linalg.norm(work.centre))) ** 2
    against = refute_mean(values, start / 2, context.failure_probability).crossed is not None
    numbers = {"mean": float(values.mean()), "start": start, "largest": limit, "noise": row.sigma}
    said = f"mean excess {values.mean():.4g} over {len(values)} trials, {start:.4g} at the start"
    fields: dict[str, Any] = {"failure_probability": context.failure_probability, "numbers": numbers}
    return (holds if against else undecided)(said, "sampled", **fields)


@check("lp_spaces/alg-4@own-noise", kind="accuracy")
def size_from_which_it_would_leave(context: Context) -> Verdict:
    """The derived bound with the algorithm's own noise, at the largest epsilon of each n: below the excess at the start
    at n = 10^25, not at 10^24; the printed rate with constant 1 is below it at n = 10^5.
    """
    work = steep(3)
    start = float(work.excess_risk(np.zeros((1, 3)))[0])
    sizes = [10**j for j in range(5, 26)]
    bounds = np.array([own_noise_bound(work, n) for n in sizes])
    first = sizes[int(np.argmax(bounds < start))] if (bounds < start).any() else math.inf
    stated = order_of("lp_spaces/thm-10")
    at = {"d": 3.0, "epsilon": largest_epsilon(sizes[0]), "delta": DELTA, "D": 2.0, "kappa": 2.0, "beta": math.exp(-1)}
    rate_there = float(evaluate(stated, {**at, "n": float(sizes[0])}))
    said = (
        f"the derived bound is {bounds[0]:.4g} at n = 1e5 and {bounds[-2]:.5g} at 1e24, and first below {start:.4g}, "
        f"the excess at the start, at n = {first:.0e}; the printed rate, constant 1, is {rate_there:.3g} at 1e5"
    )
    numbers = {"start": start, "first n": float(first), "bound over the rate at 1e5": float(bounds[0]) / rate_there}
    points = [
        Point(x=float(n), value=float(b), series="derived bound", bound=start)
        for n, b in zip(sizes, bounds, strict=True)
    ]
    ok = first == 10**25 and rate_there < start
    make, axes = holds if ok else differs, ("n", "excess risk")
    return make(said, "exact", numbers=numbers, points=points, axes=axes, dashed="excess at the start")


def own_noise_bound(work: HeavyCoordinates, n: int) -> float:
    """`lp_spaces/thm-10@derived` at the schedule of Algorithm 4, E|mean Z|^2 <= kappa_+ d sigma_1^2/b (type 2)."""
    told, algorithm = problem(work, largest_epsilon(n)), ShuffledMirrorDescent(exponent="corrected", kappa_rule="safe")
    row, space, constants = algorithm.schedule(told, n).phases[0], dual_regularity(1.5, work.d), work.constants
    H, M = constants.smoothness(1.5), constants.diameter(1.5)
    noise = space.kappa_plus * work.d * row.sigma**2 / row.batch
    values = {
        "kappa": space.kappa, "theta": constants.extra["minimiser_norm"], "T": float(row.steps), "D": M, "H": H,
        "sigma": constants.extra["deviation"], "A": row.level - H * M, "b": float(row.batch), "C": noise,
    }  # fmt: skip
    return float(claim("lp_spaces/thm-10@derived").evaluate(**values))


@check(
    "lp_spaces/claim-app10-general-eps", kind="risk", grid={"inverse": (2, 4, 8, 16, 32)},
    conclude=rate.conclude("inverse", axis="quantile of the noise-averaged excess", called="(1/delta')"),
    expect=("consistent", "undecided"),
)  # fmt: skip
def quantiles_over_the_data(context: Context, *, inverse: int) -> dict[str, float]:
    """The (1 - delta')-quantile over data sets of the noise-averaged excess grows no faster than log(1/delta').

    Of the batched form, not of Algorithm 4; n = 1000, d = 3, delta' = 1/`inverse`; each data set is run five times with
    fresh noise.
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
    at = {"n": float(n), "d": 3.0, "epsilon": 0.9, "delta": DELTA, "kappa": regularity(1.5, 3, "safe")}
    bound = float(evaluate(stated, at)) * math.log(inverse)
    return risk.quantile_summary(np.concatenate(values), level, bound)


@check(
    "lp_spaces/claim-app10-general-eps", kind="rate",
    grid={"n": by_size([1000 * 2**k for k in range(6)], [1000 * 2**k for k in range(9)])},
    conclude=rate.conclude("n"), expect=("consistent", "undecided"),
)  # fmt: skip
def batched_descent_in_n(context: Context, *, n: int) -> dict[str, float]:
    """Batched truncated mirror descent with its own noise, epsilon = 0.9, d = 3, p = 3/2: n^(-1/3)."""
    work = steep(3)
    values = risk.excess_risks(
        BatchedMirrorDescent(), work, problem(work, 0.9), n, context.scale(20, 60), context.seed, context.name, n
    )
    return against_the_rate("lp_spaces/claim-app10-general-eps", values, work, ApproxDP(0.9, DELTA), n, 1.5)


# Theorem 7 ----------------------------------------------------------------------------------------------------------


@check("lp_spaces/thm-7@horizon", kind="risk", grid={"n": by_size([10**8], [10**8, 10**9])}, expect="consistent")
def excess_at_both_horizons(context: Context, *, n: int) -> Verdict:
    """Algorithm 3 with the dual exponent and its own noise, p = 3/2, d = 3: every run at the other T beats every run at
    the printed one.
    """
    work, setting, trials = huber(3), problem(huber(3), 0.9), 16
    printed, other = (
        risk.excess_risks(
            NoisyMirrorDescent(horizon=rule, exponent="corrected", kappa_rule="safe"), work, setting, n, trials,
            context.seed, context.name, rule, n, gradients=1e18,
        )
        for rule in ("paper", "best")
    )  # fmt: skip
    numbers = {"printed T": float(printed.mean()), "other T": float(other.mean()), "trials": trials}
    said = f"mean excess {other.mean():.3g} at the other T, {printed.mean():.3g} at the printed one, n = {n:.0e}"
    chance = 1 / math.comb(2 * trials, trials)  # of this order, if both had one law
    if other.max() < printed.min():
        seen = "one law of the excess at both horizons"
        return consistent(said, "sampled", notices=seen, failure_probability=chance, numbers=numbers)
    return undecided(said, "sampled", failure_probability=chance, numbers=numbers)


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
