"""Parts of the user-level algorithms: scores, removal, SGD, AC-SA, thresholds, smoothing, minimisers, one workload."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpcheck.algorithms.user_level import concentration, sampled
from dpcheck.algorithms.user_level.accelerated import ac_sa, multistage_ac_sa, stage, stages
from dpcheck.algorithms.user_level.concentration import (
    certified_movement,
    concentration_score,
    inclusion,
    neighbour_counts,
    outlier_removal,
    weighted_mean,
    weighted_movement,
)
from dpcheck.algorithms.user_level.descent import movement, sgd
from dpcheck.algorithms.user_level.erm import regularised_erm
from dpcheck.algorithms.user_level.sizes import best_q, phase_size, smallest_users
from dpcheck.algorithms.user_level.smoothing import smoothed_gradients, uniform_ball
from dpcheck.algorithms.user_level.subsample import subsampled
from dpcheck.algorithms.user_level.threshold import RedrawnThreshold, ThresholdTest
from dpcheck.engine.statements import stated
from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.harness.runtime import CountingWorkload
from dpcheck.interfaces import Constants, Problem, Sample
from dpcheck.laws import AboveThreshold
from dpcheck.privacy import PureDP
from dpcheck.running import Fixed, Run
from dpcheck.workloads import LinearMean, QuadraticMean, SignHuber, TwoPoint, Users, signs_on

RNG = np.random.default_rng(7)


# Scores and removal ---------------------------------------------------------------------------------------------------


def test_counts_are_those_of_brute_force_with_and_without_the_short_cut() -> None:
    points = RNG.normal(size=(3, 17, 2))
    points[1] *= 1e-3  # all within every radius: no distance is computed
    far = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
    for found, radius in zip(neighbour_counts(points, (0.7, 1.4)), (0.7, 1.4), strict=True):
        assert np.array_equal(found, (far <= radius).sum(axis=2))
    assert concentration_score(points, 0.7) == pytest.approx((far <= 0.7).sum(axis=(1, 2)) / 17)
    with pytest.raises(InvalidInput, match="radii"):
        neighbour_counts(points[0], (1.0,))


def test_score_moves_by_at_most_its_sensitivity_on_every_small_configuration() -> None:
    """All placements of five points on three far sites, one of them moved: 2(C - 1)/C is attained."""
    sites = np.array([0.0, 10.0, 20.0])
    placed = np.array(list(itertools.product(range(3), repeat=5)))
    points = sites[placed][..., None]
    scores = concentration_score(points, 1.0)
    worst = 0.0
    for to in range(3):
        moved = points.copy()
        moved[:, 0] = sites[to]
        worst = max(worst, float(np.abs(concentration_score(moved, 1.0) - scores).max()))
    assert worst == pytest.approx(2 * 4 / 5)


def test_inclusions_and_the_mean_of_nothing() -> None:
    assert inclusion(np.array([[3.0, 3.5, 4.0, 6.0, 1.0, 2.0]])) == pytest.approx(
        np.array([[0.0, 0.5, 1.0, 1.0, 0.0, 0.0]])
    )
    points = np.arange(6.0).reshape(1, 6, 1)
    counts = np.array([[6.0, 6.0, 1.0, 1.0, 4.0, 3.5]])
    uniforms = np.array([[0.99, 0.0, 0.0, 0.0, 0.5, 0.4]])
    assert outlier_removal(points, counts, uniforms, np.zeros((1, 1)))[0, 0] == pytest.approx((0 + 1 + 4 + 5) / 4)
    assert outlier_removal(points, np.ones((1, 6)), uniforms, np.full((1, 1), -7.0))[0, 0] == -7.0


@pytest.mark.parametrize("doubled", [True, False])
def test_certified_movement_covers_clouds_with_one_point_moved(doubled: bool) -> None:
    """Random clouds with a core, every failure of the bound counted against its own chance (here 0.02 each)."""
    C, trials, rng = 60, 400, np.random.default_rng(11)
    bound = certified_movement(C, diameter=4.0, reach=100.0, shortfall=0.1, passing=0.0, chance=0.02, doubled=doubled)
    assert bound.failure == pytest.approx(0.04)
    core = rng.integers(int(0.75 * C), C, size=trials)
    points = np.where(np.arange(C) < core[:, None], rng.random((trials, C)), rng.uniform(1.0, 4.0, (trials, C)))[
        ..., None
    ]
    other = points.copy()
    other[:, 0] = rng.uniform(-2.0, 4.0, (trials, 1))
    u = rng.random((trials, C))
    radius = 2.0 if doubled else 1.0
    means = []
    for cloud in (points, other):
        (counts,) = neighbour_counts(cloud, (radius,))
        means.append(outlier_removal(cloud, counts, u, np.zeros((1, 1))))
    scores = [concentration_score(cloud, 1.0) for cloud in (points, other)]
    high = np.maximum(*scores) >= 0.7 * C
    assert high.sum() > 50
    # P(more than 4 % fail) is itself below 1e-6 for these trials if the bound is right: binomial with mean 16.
    assert (np.linalg.norm(means[0] - means[1], axis=1)[high] > bound.sensitivity).sum() <= 36


def test_movement_without_a_sure_core_is_the_reach() -> None:
    found = certified_movement(8, diameter=4.0, reach=3.0, shortfall=0.29, passing=0.5, chance=1e-6, doubled=True)
    assert (found.sensitivity, found.failure) == (3.0, 0.0)


# SGD ------------------------------------------------------------------------------------------------------------------


def test_sgd_on_linear_losses_is_a_weighted_sum() -> None:
    size, mean = signs_on(Ball(3, 100.0), 1.0, 0.2)
    work = CountingWorkload(LinearMean(size, mean, Ball(3, 100.0), radius=100.0))
    z = RNG.normal(size=(1, 2, 9, 3))
    start = RNG.normal(size=(1, 3))
    weights = (8 - np.arange(9)) / 9
    expected = start[:, None] + 0.1 * np.einsum("t,gctd->gcd", weights, z)
    assert sgd(work, z, 0.1, start) == pytest.approx(expected)
    assert work.gradients == 2 * 9
    with pytest.raises(InvalidInput, match="eta"):
        sgd(work, z, 0.0, start)


def test_two_sequences_part_by_at_most_their_movement_and_reach_it() -> None:
    work = TwoPoint(D=100.0, G=1.0, dimension=1)
    z = np.stack([np.ones((1, 12, 1)), -np.ones((1, 12, 1))], axis=1)
    ends = sgd(work, z, 0.3, np.zeros((1, 1)))
    assert abs(float(ends[0, 0, 0] - ends[0, 1, 0])) == pytest.approx(movement(0.3, 1.0, 12))


def test_the_bound_of_one_phase_is_the_sharp_regret_bound() -> None:
    def bound(**values: Any) -> float:
        return stated("user_level/thm-b1@on-the-event", **values)

    one = {"eta[i]": [0.1], "T[i]": [40], "sigma[i]": [0.02], "l": 1}
    assert bound(**one, L=2.0, D=3.0, R=3.0, d=4) == pytest.approx(9 / (2 * 0.1 * 40) + 0.1 * 4 / 2 + 2 * 2 * 0.02)
    # The noise of a phase counts for the next one, and never for more than the diameter where iterates are projected.
    two = {"eta[i]": [0.1, 0.05], "T[i]": [40, 20], "sigma[i]": [50.0, 0.0], "l": 2}
    near, far = (bound(**two, L=1.0, D=1.0, R=wide, d=1) for wide in (1.0, math.inf))
    assert near == pytest.approx(1 / 8 + 0.05 + 1 / 2 + 0.025)
    assert far == pytest.approx(near + (2500 - 1) / 2)


# AC-SA ----------------------------------------------------------------------------------------------------------------


def test_one_stage_is_the_printed_recursion() -> None:
    mu, upsilon, steps = 0.7, 3.0, 15
    hessian = np.array([0.7, 1.0, 2.5])
    start = np.array([[1.0, -2.0, 0.5]])
    inside = Ball(3, 1.2).project
    w = x = start
    for r in range(1, steps + 1):
        a, e = 2 / (r + 1), 4 * upsilon / (r * (r + 1))
        den = e + (1 - a**2) * mu
        md = ((1 - a) * (mu + e) * x + a * ((1 - a) * mu + e) * w) / den
        w = inside((a * mu * md + ((1 - a) * mu + e) * w - a * hessian * md) / (mu + e))
        x = a * w + (1 - a) * x
    found = ac_sa(lambda p: hessian * p, start, mu=mu, steps=steps, upsilon=upsilon, project=inside)
    assert found == pytest.approx(x, abs=1e-12)
    huge = ac_sa(lambda p: 1e40 * p, start, mu=1e40, steps=8, upsilon=2e40, project=inside)
    assert np.isfinite(huge).all()


def test_stages_halve_the_error_on_an_ill_conditioned_quadratic() -> None:
    """The expected error is at most gap 2^-k; measured it is far below (0.5 % of it), so that 40 runs decide."""
    rng, hessian, noise = np.random.default_rng(3), np.geomspace(1e-3, 1.0, 20), 1e-4
    start = np.ones((40, 20))
    gap = float(hessian.sum() / 2)

    def oracle(p):  # type: ignore[no-untyped-def]
        return hessian * p + math.sqrt(noise / 20) * rng.standard_normal(p.shape)

    plan, proved = stages(4000, gap=gap, variance=noise, mu=1e-3, smooth=1.0)
    assert sum(s.steps for s in plan) == 4000
    assert proved >= 6
    end = multistage_ac_sa(oracle, start, mu=1e-3, stages=plan, project=lambda p: p)
    assert float((hessian * end**2).sum(axis=1).mean() / 2) < gap * 2.0**-proved
    budget = proved * (1 + 4 * math.sqrt(2 / 1e-3)) + 171 * noise * 2.0**proved / (1e-3 * gap)
    assert sum(stage(k, gap=gap, variance=noise, mu=1e-3, smooth=1.0).steps for k in range(1, proved + 1)) <= budget


def test_a_budget_too_small_for_a_stage_proves_nothing() -> None:
    plan, proved = stages(5, gap=1.0, variance=10.0, mu=0.1, smooth=1.0)
    assert (len(plan), plan[0].steps, proved) == (1, 5, 0)
    with pytest.raises(InvalidInput, match="budget"):
        stages(0, gap=1.0, variance=1.0, mu=0.1, smooth=1.0)


# Thresholds -----------------------------------------------------------------------------------------------------------

NOTHING = Constants(
    d=1, diameter=lambda p: 1.0, lipschitz=lambda p: 1.0, smoothness=lambda p: 0.0, moment=lambda k, m: 1.0
)


def test_algorithm_4_follows_its_exact_halting_law() -> None:
    """Chi-square of 40,000 halting times; the test fails with probability 1e-6 on correct code."""
    algorithm, problem = ThresholdTest(level=2.5, count=4), Problem(constants=NOTHING, privacy=PureDP(1.0))
    data = np.array([[[1.0, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]])
    schedule, trials = algorithm.schedule(problem, 4), 40_000
    run = Run(schedule, trials, np.random.default_rng(5))
    bits = algorithm.execute(run, SignHuber(), Fixed(data), np.zeros((1, 1)))
    answered = np.isfinite(bits).sum(axis=1)
    halted = np.nansum(bits, axis=1) > 0
    times = np.where(halted, answered - 1, 4)
    law = schedule.releases[0].law
    assert isinstance(law, AboveThreshold)
    expected = law.halting(np.array([[1.0, 2, 3, 4]]) - 2.5)[0] * trials
    assert stats.chisquare(np.bincount(times, minlength=5), expected).pvalue > 1e-6
    assert schedule.claimed == PureDP(1.0)
    assert law.pure(1.0, 4) == pytest.approx(1.0)


def test_a_redrawn_threshold_charges_every_query() -> None:
    law = RedrawnThreshold(threshold=8.0, query=16.0)
    assert law.pure(2.0, 10) == pytest.approx(10 * 2 / 16)
    assert law.zcdp(2.0, 10) == pytest.approx(10 * law.zcdp(2.0))
    once = AboveThreshold(threshold=8.0, query=16.0)
    assert once.pure(2.0, 10) == pytest.approx(0.5)
    # One query: the exact curve of both is the same, and within the pure epsilon of the sum of two Laplace variables.
    assert law.delta(law.pure(2.0), 2.0) < 1e-9


# Smoothing, minimisers, subsamples ------------------------------------------------------------------------------------


def test_uniform_ball_has_the_radius_of_its_law() -> None:
    """Mean length r d/(d + 1); 20,000 points, standard error below 0.2 %, margin of six of them."""
    points = uniform_ball(np.random.default_rng(2), (20_000, 3), 2.0)
    length = np.linalg.norm(points, axis=1)
    assert length.max() <= 2.0
    assert abs(length.mean() - 1.5) < 6 * length.std() / math.sqrt(20_000)
    assert np.abs(points.mean(axis=0)).max() < 6 * points.std() / math.sqrt(20_000)


def test_smoothed_absolute_value() -> None:
    """f = |x - z| in d = 1: f_r'(x) = (x - z)/r within r of the kink; 6 standard errors of 20,000 shifts."""
    work, shifts = SignHuber(kappa=0.0), uniform_ball(np.random.default_rng(4), (20_000, 1), 0.5)
    found = smoothed_gradients(work, np.array([0.8]), np.array([1.0]), shifts)
    assert abs(float(found.mean()) - (0.8 - 1.0) / 0.5) < 6 / math.sqrt(20_000)
    with pytest.raises(InvalidInput, match="coordinates"):
        smoothed_gradients(work, np.zeros(1), np.zeros(1), np.zeros((3, 2)))


def test_regularised_minimiser_is_the_closed_form() -> None:
    ball = Ball(2, 1.0)
    size, mean = signs_on(ball, 0.5, 0.5)
    users = Users(QuadraticMean(size, mean, ball, radius=1.0), 3)
    values = users.rows(np.random.default_rng(6), 2, 5)
    centre = np.array([[0.3, -0.2], [0.9, 0.1]])
    found = regularised_erm(users, Sample(values, np.ones((1, 5))), centre, 0.7, accuracy=1e-10)
    expected = ball.project((values.mean(axis=(1, 2)) + 0.7 * centre) / 1.7)
    assert np.abs(found - expected).max() < 1e-5  # a gap of 1e-10 L R is a distance of 1e-5


def test_subsample_takes_distinct_records() -> None:
    data = np.arange(10.0)[:, None]
    seen: list[np.ndarray] = []

    def mechanism(rows, rng, trials):  # type: ignore[no-untyped-def]
        seen.append(rows[..., 0])
        return rows.sum(axis=1)

    subsampled(mechanism, 4)(data, np.random.default_rng(1), 300)
    assert all(len(set(row)) == 4 for row in seen[0])
    subsampled(mechanism, 4, replacement=True)(data, np.random.default_rng(1), 300)
    assert any(len(set(row)) < 4 for row in seen[1])  # misses with probability (1 - 0.496)^300
    with pytest.raises(InvalidInput, match="at least as many"):
        subsampled(mechanism, 11)(data, np.random.default_rng(1), 1)


# Sizes and the workload -----------------------------------------------------------------------------------------------


def test_best_q_and_the_sizes_of_phases() -> None:
    n = 2**14
    q = best_q(n)
    last = [phase_size(n, x, 14) for x in (0.9 * q, q, 1.1 * q)]
    assert last[1] == max(last)
    assert last[1] == pytest.approx(n / 15 * (1 + 1 / 14) ** -14)
    assert sum(phase_size(n, q, i) for i in range(1, 15)) < n


def test_smallest_users_looks_into_every_octave() -> None:
    # Feasible from 100 to 127 and from 150 on: at a power of two a phase is added.
    assert smallest_users(lambda n: 100 <= n < 128 or n >= 150, 1) == 100
    assert smallest_users(lambda n: 100 <= n < 128 or n >= 150, 130) == 150
    assert smallest_users(lambda n: False, 1) is None


@pytest.mark.parametrize(("a", "kappa"), [(0.5, 1.0), (0.2, 0.3), (0.7, 0.0)])
def test_sign_huber_truth(a: float, kappa: float) -> None:
    work = SignHuber(a=a, kappa=kappa, dimension=3)
    grid = np.linspace(-1, 1, 4001)[:, None] * np.ones(3)
    risks = work.excess_risk(grid)
    best = grid[np.argmin(risks), 0]
    assert abs(best - work.best_coordinate) < 1e-3
    assert -1e-12 <= risks.min() < 1e-6
    least = math.sqrt(3) * (1 - a) * (1 - kappa / (2 * (1 + a)))
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    chance = np.prod((1 + a * signs) / 2, axis=1)
    assert float(chance @ work.loss(np.full(3, work.best_coordinate), signs)) == pytest.approx(least)
    w, z, h = np.array([0.31, -0.4, 0.9]), np.array([1.0, -1.0, 1.0]), 1e-6
    slope = [(work.loss(w + h * e, z) - work.loss(w - h * e, z)) / (2 * h) for e in np.eye(3)]
    assert work.gradient(w, z) == pytest.approx(np.array(slope), abs=1e-5)
    assert work.constants.lipschitz(2.0) == pytest.approx(1.0)
    assert work.constants.diameter(2.0) == pytest.approx(2 * math.sqrt(3))


def test_weights_stand_where_coins_did() -> None:
    points = np.array([[[0.0], [1.0], [2.0], [9.0]]])
    counts = np.array([[3.0, 2.5, 2.0, 1.0]])  # weights 1, 3/4, 0, 0
    assert weighted_mean(points, counts, np.array([[7.0]])) == pytest.approx(0.75 / 1.75)
    assert weighted_mean(points, np.ones((1, 4)), np.array([[7.0]])) == pytest.approx(7.0)
    assert weighted_movement(40, diameter=4.0, reach=9.0, shortfall=0.1) == pytest.approx(32 / 16)
    assert weighted_movement(4, diameter=4.0, reach=9.0, shortfall=0.1) == 9.0
    assert weighted_movement(40, diameter=4.0, reach=9.0, shortfall=0.3) == 9.0
    with pytest.raises(InvalidInput, match="an even number"):
        weighted_movement(5, diameter=4.0, reach=9.0, shortfall=0.1)


def test_a_tested_mean_has_the_law_of_its_two_parts() -> None:
    law = sampled.TestedMean(RedrawnThreshold(3.0, 6.0), sigma=0.5, unit=0.25)
    core, other = np.tile([[0.25 * 2.0, 1.0, -1.0]], (40_000, 1)), np.array([[0.0, 1.5, -1.0]])
    out = law.sample(core, np.random.default_rng(1))
    passed = out[:, 0] == 1
    assert passed.mean() == pytest.approx(1 - math.exp(-2 / 6) / 2, abs=0.01)
    assert np.isnan(out[~passed, 1:]).all()
    assert out[passed, 1:].mean(axis=0) == pytest.approx([1.0, -1.0], abs=0.02)
    # E e^(-loss) is 1: the log-ratio is that of densities.
    loss = law.log_ratio(out, core, np.broadcast_to(other, core.shape))
    assert np.exp(-loss).mean() == pytest.approx(1.0, abs=0.03)
    assert law.pair(0.1) == ((sampled.SCORE / 6.0,), pytest.approx(0.2))
    assert law.renyi(2.0, 0.1) == pytest.approx(0.04 + math.log(math.exp(2 / 3) - math.exp(1 / 3) + 1) - 1 / 3, abs=0.1)
    assert law.delta(0.0, 0.1) >= law.delta(0.5, 0.1) > 0
    assert law.pure(0.1) == math.inf
    assert law.pure(0.0) == 0.0
    assert law.zcdp(0.1) > 0.02


@pytest.mark.parametrize("count", [10**6, 10**10, 10**13])
def test_changed_points_and_kept_ones_are_counted_at_every_size(count: int) -> None:
    """Of many points those that change their answer are Poisson of mean 6, nearly; of those kept, few are missing."""
    most = concentration._most_changed(count, 1e-12)
    assert most == stats.poisson.isf(1e-12, 6)
    kept, members = concentration._fewest_in_core(count, 0.6, 1e-12), 0.6 * count
    mean = members * (6 * 0.6 - 3)
    assert mean - 8 * members**0.5 < kept < mean
