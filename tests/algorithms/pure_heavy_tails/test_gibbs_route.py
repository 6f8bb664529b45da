"""Appendix F: the potential and its evaluator, cells of the localised domain, Gibbs laws, Algorithm 7."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from dpcheck.accounting import account
from dpcheck.algorithms.pure_heavy_tails import LocalizedApproxEM
from dpcheck.algorithms.pure_heavy_tails.sampling import (
    ApproxLocalPotential,
    LocalPotential,
    cells,
    chord,
    gibbs_linear,
    hit_and_run,
)
from dpcheck.engine.statements import bound_of
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.harness.replay import replay
from dpcheck.interfaces import Problem, Schedule
from dpcheck.privacy import PureDP
from dpcheck.running import Fresh, Run
from dpcheck.solvers import Task, certified, value
from dpcheck.workloads import HeavyHinge, RadialHeavyTail, RareSpikes, SparseDirection, WeightedMedian


def problem(work, epsilon=1.0):
    return Problem.of(work, PureDP(epsilon))


def potential(work, sample, kind=LocalPotential, **more):
    d = work.constants.d
    return kind(work, sample, np.full((1, d), 0.1), np.full((1, d), -0.1), 1.0, 0.5, **more)


@pytest.mark.parametrize("work", [WeightedMedian(D=2.0), HeavyHinge(), RareSpikes(D=2.0, p=0.4)])
def test_potential_is_the_objective_less_its_anchor(work):
    sample = work.draw(np.random.default_rng(0), 3, 8)
    d = work.constants.d
    points = work.project(np.random.default_rng(1).normal(size=(3, 5, d)))
    task = Task(workload=work, sample=sample, weight=0.5, centre=np.full((1, d), 0.1), cap=1.0)
    base = value(task, np.full((3, d), -0.1))
    found = potential(work, sample)(points)
    for j in range(5):
        assert np.allclose(found[:, j], value(task, points[:, j]) - base, atol=1e-12)


@pytest.mark.parametrize("work", [WeightedMedian(D=1.0), HeavyHinge(radius=0.5)])
def test_evaluator_errs_by_at_most_what_it_says(work):
    sample = work.draw(np.random.default_rng(2), 1, 4)
    alpha = 0.4
    points = work.project(0.3 * np.random.default_rng(3).normal(size=(1, 6, work.constants.d)))
    exact = potential(work, sample)(points)
    approximate = potential(work, sample, ApproxLocalPotential, alpha_in=alpha)
    found = approximate(points)
    assert np.abs(found - exact).max() <= alpha / 4 + 1e-12  # Lemma F.2 allows alpha_in
    above = approximate.empirical(points) - potential(work, sample).empirical(points)
    assert above.min() >= -1e-12
    with pytest.raises(InvalidInput):
        potential(work, sample, ApproxLocalPotential, alpha_in=0.0)


def test_cells_on_a_line_and_in_the_plane():
    line = WeightedMedian(D=2.0)
    points, sizes = cells(line, (np.array([[0.95], [0.0]]), 0.2), 100)
    assert points.shape == (2, 100, 1)
    assert points[0].max() <= 1.0
    assert points[0].min() >= 0.75
    assert np.ptp(np.diff(points[1, :, 0])) <= 1e-12
    assert np.all(sizes == 0)
    # In the plane: the cell sizes integrate functions over the ball and over its part in the domain.
    work = HeavyHinge()
    for centre, area in ((np.array([[0.1, 0.2]]), math.pi * 0.3**2), (np.array([[1.0, 0.0]]), None)):
        points, sizes = cells(work, (centre, 0.3), 8000)
        assert np.linalg.norm(points, axis=2).max() <= 1 + 1e-9
        assert np.linalg.norm(points - centre[:, None], axis=2).max() <= 0.3 + 1e-9
        weights = np.exp(sizes[0]) / np.exp(sizes[0]).sum()
        mean = weights @ points[0]
        x, y = np.meshgrid(np.linspace(-1, 1.4, 1201), np.linspace(-1, 1, 1001))
        inside = (x**2 + y**2 <= 1) & ((x - centre[0, 0]) ** 2 + (y - centre[0, 1]) ** 2 <= 0.09)
        assert np.allclose(mean, [x[inside].mean(), y[inside].mean()], atol=3e-3)
        if area is not None:
            assert inside.mean() * 2.4 * 2 == pytest.approx(area, rel=0.01)
    with pytest.raises(InvalidInput):
        cells(RadialHeavyTail(b=(0.0,) * 3), (np.zeros((1, 3)), 0.1), 10)


def test_chords_end_at_the_boundary():
    work = HeavyHinge()
    start = np.array([[[0.2, 0.1]]])
    for direction in ([1.0, 0.0], [0.6, -0.8]):
        reach = chord(work, start, np.array([[direction]]), (np.zeros((1, 2)), 3.0))[0, 0]
        assert np.linalg.norm(start[0, 0] + reach * np.array(direction)) == pytest.approx(1.0, abs=1e-9)


def test_gibbs_law_of_a_linear_loss():
    slope, weight, centre, coefficient, low, high = 0.7, 2.0, 0.3, 5.0, -0.4, 0.9
    law = gibbs_linear(slope, weight, centre, coefficient, low, high)

    def density(w):
        return math.exp(-coefficient * (slope * w + weight / 2 * (w - centre) ** 2))

    total, _ = integrate.quad(density, low, high)
    for w in (-0.39, 0.0, 0.5):
        assert law.pdf(w) == pytest.approx(density(w) / total, rel=1e-9)
    # [DKL18]: E F - min F <= d/κ.
    objective = lambda w: slope * w + weight / 2 * (w - centre) ** 2  # noqa: E731
    mean, _ = integrate.quad(lambda w: objective(w) * law.pdf(w), low, high)
    assert mean - objective(np.clip(centre - slope / weight, low, high)) <= 1 / coefficient
    with pytest.raises(InvalidInput):
        gibbs_linear(1.0, 0.0, 0.0, 1.0, 0.0, 1.0)


def test_the_exact_loss_of_stage_2_comes_close_to_its_budget_on_the_full_diameter():
    """Finding S2: an interval of length 1200Cd/(λεm), twice the printed D_0, spends nearly all of ε_EM and no more."""
    m, epsilon, C, weight = 10_000, 1.0, 1.0, 1.0
    D_0 = 600 * C / (weight * epsilon * m)
    Delta_0 = 2 * C * D_0 / m
    coefficient = epsilon / 4 / (2 * Delta_0)
    worst = {}
    for length in (2 * D_0, D_0):
        # A tilt far from the quadratic's centre: both laws lean on one end, where the ratio is largest.
        tilt = 0.9 * C
        laws = [gibbs_linear(tilt + s * C / m, weight, 0.0, coefficient, 0.0, length) for s in (-1.0, 1.0)]
        ends = np.array([0.0, length])
        worst[length] = np.abs(laws[0].logpdf(ends) - laws[1].logpdf(ends)).max()
    assert 0.9 * epsilon / 4 < worst[2 * D_0] <= epsilon / 4
    assert worst[D_0] <= epsilon / 8


@pytest.mark.parametrize("evaluator", ["exact", "alg-6"])
def test_privacy_of_algorithm_7(evaluator):
    work, n = RareSpikes(D=1.0, p=0.1), 12
    # λ so small that W_0 is the whole interval, which keeps the printed evaluator's steps few.
    algorithm = LocalizedApproxEM(C=2.0, lambda_=1e-2, count=16, evaluator=evaluator)
    rng = np.random.default_rng(4)
    data = work.rows(rng, 1, n)
    other = data.copy()
    data[0, 0], other[0, 0] = 5.0, -5.0
    schedule = algorithm.schedule(problem(work), n)
    assert schedule.claimed == PureDP(1.0)
    assert 0.75 <= account(schedule).epsilon(0.0) <= 13 / 16
    found = replay(algorithm, work, problem(work), data, other, 40, 5)
    assert max(ratio.max() for ratio in found.ratios().values()) <= 1 + 1e-12
    assert found.leak.max() == 0
    assert np.abs(found.loss()).max() <= 0.75 + 1e-9


def test_algorithm_7_samples_the_gibbs_law():
    work = WeightedMedian(D=1.0)
    algorithm = LocalizedApproxEM(lambda_=400.0, count=4096, C=4.0)
    given, trials = problem(work), 3000
    data = np.tile(work.rows(np.random.default_rng(6), 1, 60), (1, 1, 1))
    schedule = algorithm.schedule(given, 60)
    # One W_0 for all trials: replay the localisation of the first.
    from dpcheck.algorithms.pure_heavy_tails.sampling import cells as cover
    from dpcheck.running import Fixed

    run = Run(schedule, 1, np.random.default_rng(7))
    algorithm.execute(run, work, Fixed(data), np.zeros((1, 1)))
    w_loc = work.project(run.transcript.entries[0].output)
    points, _ = cover(work, (w_loc, schedule.phases[0].radius), 4096)
    law = schedule.releases[1].law
    scores = run.transcript.entries[1].core
    drawn = points[0, law.sample(np.repeat(scores, trials, axis=0), np.random.default_rng(8))[:, 0].astype(int), 0]
    task = Task(workload=work, sample=Fixed(data).read(), weight=400.0, centre=np.zeros((1, 1)), cap=4.0)
    fine = np.linspace(points.min(), points.max(), 20_001)
    level = np.concatenate([value(task, np.array([[w]])) for w in fine]) / schedule.phases[1].noise
    mass = np.exp(special.logsumexp(-level) * 0 - level + level.min())
    cumulative = mass.cumsum() / mass.sum()
    # Kolmogorov-Smirnov at level 1e-6.
    assert stats.kstest(drawn, lambda w: np.interp(w, fine, cumulative)).pvalue > 1e-6


def test_distance_bound_of_algorithm_7():
    work = RadialHeavyTail(b=(0.2,), D=4.0)
    algorithm, given, m, trials = LocalizedApproxEM(lambda_=3000.0), problem(work), 300, 200
    data = Fresh(work, trials, m, 9)
    start = np.array([[-0.3]])
    out = algorithm.execute(Run(algorithm.schedule(given, m), trials, np.random.default_rng(10)), work, data, start)
    exact = certified(Task(workload=work, sample=data.read(), weight=3000.0, centre=start)).point
    assert np.mean(np.abs(out - exact) <= bound_of("pure_heavy_tails/thm-2-1@solver", algorithm, given, m)) >= 0.65
    assert 400 < algorithm.c_erm(given, m) < 640


def test_plane_and_hit_and_run():
    work = SparseDirection(nu=(0.6, 0.8), D=1.0, p=0.05)
    data = Fresh(work, 20, 200, 11)
    out = LocalizedApproxEM(lambda_=30.0, count=256).fit(
        work, data, problem(work), rng=np.random.default_rng(12), trials=20
    )
    assert np.linalg.norm(out, axis=1).max() <= 0.5 + 1e-9
    higher = RadialHeavyTail(b=(0.1, 0.0, 0.0))
    with pytest.raises(Infeasible, match="d <= 2"):
        LocalizedApproxEM().schedule(problem(higher), 100)
    anyway = LocalizedApproxEM(**{**LocalizedApproxEM.readings["any-dimension"], "count": 5})
    schedule = anyway.schedule(problem(higher), 100)
    assert schedule.claimed is None
    # What nobody has bounded is in the schedule, and nothing is certified of it.
    assert [release.rests_on for release in schedule.releases] == [(), ("pure_heavy_tails/prop-f-5",)]
    out = anyway.fit(higher, Fresh(higher, 3, 100, 13), problem(higher), rng=np.random.default_rng(14), trials=3)
    assert out.shape == (3, 3)


def test_hit_and_run_converges_to_its_law():
    work, trials = HeavyHinge(), 1500
    plan: Schedule[None] = Schedule(phases=(), releases=(), gradients=0, floats_per_trial=1, claimed=None)
    run = Run(plan, trials, np.random.default_rng(15))
    out = hit_and_run(run, lambda w: 3 * w[..., 0], work, (np.zeros((trials, 2)), 2.0), 40)
    # Density proportional to exp(-3x) on the disc: its marginal by quadrature; Kolmogorov-Smirnov at level 1e-6.
    x = np.linspace(-1, 1, 4001)
    mass = np.exp(-3 * x) * np.sqrt(1 - x**2)
    assert stats.kstest(out[:, 0], lambda t: np.interp(t, x, mass.cumsum() / mass.sum())).pvalue > 1e-6


@pytest.mark.parametrize(
    "fields", [{"delta": 0.2}, {"evaluator": "guess"}, {"sampler": "none"}, {"count": 0}, {"k": 1.0}]
)
def test_illegal_inputs(fields):
    with pytest.raises(InvalidInput):
        LocalizedApproxEM(**fields).schedule(problem(RareSpikes()), 100)
