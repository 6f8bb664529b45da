"""Algorithm 1: plan, privacy, aggregation, explicit risk bound, and the slopes of the pilot."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.accounting import account
from dpcheck.algorithms.pure_heavy_tails import (
    EMPGM,
    Constant,
    DoubleOutputPert,
    LocalizedApproxEM,
    LocalizedOutputPert,
    PopLocalize,
    SingleOutputPert,
)
from dpcheck.algorithms.pure_heavy_tails.erm import PrivateErm, SolverStage
from dpcheck.algorithms.pure_heavy_tails.localize import geometric_aggregation
from dpcheck.engine.statements import bound_of
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.harness.replay import replay
from dpcheck.interfaces import Problem, Schedule
from dpcheck.privacy import PureDP
from dpcheck.running import Fresh
from dpcheck.solvers import Task, certified
from dpcheck.workloads import HeavyMean, RadialHeavyTail, RareSpikes, WeightedMedian, diabetes


def problem(work, epsilon=0.5, delta=0.05):
    return Problem.of(work, PureDP(epsilon), failure_probability=delta)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), J=st.integers(1, 12), d=st.integers(1, 4), far=st.floats(0, 6))
def test_aggregation_is_within_three_times_a_majority(seed, J, d, far):
    rng = np.random.default_rng(seed)
    points = 10**far * rng.normal(size=(5, J, d))
    v = rng.normal(size=(5, 1, d))
    good = J // 2 + 1
    away = rng.normal(size=(5, good, d))
    points[:, :good] = v + away / np.linalg.norm(away, axis=2, keepdims=True) * rng.random((5, good, 1))
    points = np.take_along_axis(points, rng.permuted(np.tile(np.arange(J), (5, 1)), axis=1)[:, :, None], axis=1)
    found = geometric_aggregation(points)
    assert np.all(np.linalg.norm(found - v[:, 0], axis=1) <= 3 + 1e-9)
    assert all(any(np.array_equal(f, p) for p in row) for f, row in zip(found, points, strict=True))


def test_aggregation_breaks_ties_by_index():
    points = np.array([[[0.0], [1.0], [2.0], [3.0]]])  # radii 2, 1, 1, 2: three points are a majority of four
    assert geometric_aggregation(points)[0, 0] == 1.0


@pytest.mark.parametrize(("n", "J"), [(1000, 9), (4096, 1), (777, 5), (100_000, None)])
def test_plan(n, J):
    work = WeightedMedian()
    schedule = PopLocalize(blocks=J).schedule(problem(work), n)
    J = schedule.phases[0].blocks
    rows = [row for row in schedule.phases if row.stage == "point"]
    for t, row in enumerate(rows, start=1):
        assert row.t == t
        assert row.records == n // 2**t // J
        assert row.lambda_ == pytest.approx(32 ** (t - 1) * rows[0].lambda_)
    spans = sorted({(read.start, read.stop) for release in schedule.releases for read in release.reads})
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    assert spans[-1][1] <= n
    assert len(spans) == J * len(rows)
    assert schedule.claimed == PureDP(0.5)
    # Disjoint blocks: parallel composition, each record is seen by one block's two releases.
    assert account(schedule).epsilon(0.0) == pytest.approx(0.5, rel=1e-12)


def test_repetitions_are_those_of_the_spectrum_of_success():
    given_problem = problem(WeightedMedian())
    T = math.ceil(math.log2(50_000))
    double = PopLocalize().repetitions(given_problem, 50_000)
    single = PopLocalize(erm=SingleOutputPert()).repetitions(given_problem, 50_000)
    assert double == math.ceil(math.log(T / 0.05) / (2 * 0.15**2)) <= math.ceil(22.3 * math.log(T / 0.05))
    assert single == math.ceil(8 * math.log(T / 0.05)) < double / 2


def test_too_few_records_and_the_printed_phase_count():
    given_problem = problem(WeightedMedian())
    with pytest.raises(Infeasible) as caught:
        PopLocalize(blocks=9).schedule(given_problem, 17)
    assert caught.value.smallest_n == 18
    PopLocalize(blocks=9).schedule(given_problem, 18)
    with pytest.raises(Infeasible) as caught:
        PopLocalize().schedule(given_problem, 100)
    PopLocalize().schedule(given_problem, caught.value.smallest_n)
    with pytest.raises(Infeasible, match="all ceil"):
        PopLocalize(blocks=9, phase_count="printed").schedule(given_problem, 1000)
    # Only one block and a power of two escape (finding S5).
    assert len(PopLocalize(blocks=1, phase_count="printed").schedule(given_problem, 64).phases) == 2 * 6


@pytest.mark.parametrize(
    "bad",
    [
        lambda: PopLocalize(blocks=0),
        lambda: PopLocalize(blocks=2.5),
        lambda: PopLocalize(lambda_1=-1.0),
        lambda: PopLocalize(c_erm=math.inf),
        lambda: PopLocalize(phase_count="all"),
        lambda: PopLocalize().schedule(problem(WeightedMedian(), delta=0.5), 10_000),
        lambda: LocalizedOutputPert(solver="triple").schedule(problem(WeightedMedian()), 10_000),
    ],
)
def test_illegal_inputs(bad):
    with pytest.raises(InvalidInput):
        bad()


@pytest.mark.parametrize("changed", [0, 300, 410, 511])
def test_a_record_moves_its_own_block_only(changed):
    work = RareSpikes(D=2.0, p=0.05)
    algorithm = LocalizedOutputPert(blocks=3, c_erm=1.0)
    data = work.rows(np.random.default_rng(0), 1, 512)
    other = data.copy()
    other[0, changed] = -1e5
    found = replay(algorithm, work, problem(work), data, other, 20, 1)
    moved = [name for name, ratio in found.ratios().items() if ratio.max() > 0]
    assert len(moved) <= 2
    assert max(ratio.max() for ratio in found.ratios().values()) <= 1 / 3 + 1e-9
    assert found.leak.max() == 0


@pytest.mark.parametrize("work", [RareSpikes(p=0.05), RadialHeavyTail(b=(0.2, 0.1)), WeightedMedian(), HeavyMean()])
@pytest.mark.parametrize("solver", ["single", "double"])
def test_runs_on_every_kind_of_workload(work, solver):
    algorithm = LocalizedOutputPert(solver=solver, blocks=5, c_erm=1.0)
    out = algorithm.fit(work, Fresh(work, 20, 600, 2), problem(work), rng=np.random.default_rng(3), trials=20)
    assert out.shape == (20, work.constants.d)
    assert np.allclose(work.project(out), out)
    again = algorithm.fit(work, Fresh(work, 20, 600, 2), problem(work), rng=np.random.default_rng(3), trials=20)
    assert np.array_equal(out, again)


@pytest.mark.parametrize("erm", [EMPGM(k=2.0), LocalizedApproxEM(count=64)])
def test_other_solvers_fit_inside(erm):
    work = HeavyMean()
    algorithm = PopLocalize(erm=erm, blocks=3, c_erm=1.0, resolution=1e-2)
    schedule = algorithm.schedule(problem(work, 1.0), 200)
    assert account(schedule).epsilon(0.0) <= 1.0 + 1e-12
    out = algorithm.fit(work, Fresh(work, 10, 200, 4), problem(work, 1.0), rng=np.random.default_rng(5), trials=10)
    assert np.all(np.abs(out) <= work.D / 2)


@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_real_data(loss):
    pytest.importorskip("cvxpy")
    work = diabetes(loss)
    algorithm = LocalizedOutputPert(solver="single", blocks=3, c_erm=1.0)
    out = algorithm.fit(work, Fresh(work, 1, 100_000, 6), problem(work, 2.0), rng=np.random.default_rng(7), trials=1)
    start = work.excess_risk(np.zeros((1, work.d)))
    assert work.excess_risk(out)[0] < start[0] / 2


# Risk


def test_explicit_bound_and_its_refusals():
    work = RareSpikes.rescaled(10**6, 0.5, 50)
    algorithm, n = LocalizedOutputPert(), 10**6
    given_problem = problem(work)
    outer = algorithm.outer()
    rows = list(outer.phases(given_problem, n))
    bound = bound_of("pure_heavy_tails/thm-2-1@summed", algorithm, given_problem, n)
    D, G_1 = 1.0, work.constants.moment(1.0, 1)
    coarse = 20.1 * D * rows[0][4] + 3 * G_1 * rows[-1][4] / rows[-1][3]
    assert 0.8 * coarse <= bound <= coarse
    assert rows[0][3] == pytest.approx(20 * rows[0][4] / D)
    assert bound_of("pure_heavy_tails/thm-2-1@summed", LocalizedOutputPert(solver="single"), given_problem, n) < bound
    assert "Delta[i]" not in LocalizedOutputPert(blocks=9).terms(given_problem, n)
    assert "Delta[i]" not in LocalizedOutputPert(noise_dial=0.1).terms(given_problem, n)
    assert bound_of("pure_heavy_tails/thm-2-1@summed", LocalizedOutputPert(c_erm=1.0), given_problem, n) > bound
    assert bound_of("pure_heavy_tails/fact-trivial", Constant(), given_problem, n) == pytest.approx(G_1)


@dataclass(frozen=True)
class WorstAllowed(PrivateErm):
    """A synthetic A_ERM: the regularised minimiser moved as far as (6) allows with probability 0.6, else garbage."""

    label = "pure_heavy_tails/alg-1"
    success = 0.6

    def schedule(self, problem, n):
        distance = bound_of("pure_heavy_tails/thm-2-1@solver", self, problem, n)
        row = SolverStage(stage="none", records=n, lambda_=self.lambda_, C=1.0, epsilon=1.0, noise=0.0, radius=distance)
        return Schedule(phases=(row,), releases=(), gradients=n, floats_per_trial=n, claimed=None)

    def c_erm(self, problem, m):
        return 1.0

    def certified(self, problem):
        return True

    def execute(self, run, workload, data, start):
        (row,) = run.schedule.phases
        w = certified(Task(workload=workload, sample=data.read(), weight=row.lambda_, centre=start)).point
        far = workload.project(np.full_like(w, 1e9))
        good = run.coins(lambda rng: rng.random((run.trials, 1))) < 0.6
        return np.where(good, workload.project(w + row.radius), far)


@pytest.mark.parametrize("theta", [0.1, 1.0])
def test_theorem_2_1_with_the_worst_solver_that_it_allows(theta):
    n, delta = 4000, 0.2
    work = RareSpikes(p=0.01, theta=theta)
    algorithm, given_problem = PopLocalize(erm=WorstAllowed()), problem(work, 1.0, delta)
    assert algorithm.repetitions(given_problem, n) == math.ceil(200 * math.log(math.ceil(math.log2(n)) / delta))
    out = algorithm.fit(work, Fresh(work, 25, n, 8), given_problem, rng=np.random.default_rng(9), trials=25)
    bound = bound_of("pure_heavy_tails/thm-2-1@summed", algorithm, given_problem, n)
    # The bound holds with probability 0.8 by Hoeffding's inequality, in truth nearly surely: fewer than 20 of 25 would
    # have probability below 1e-8 at a true 0.99.
    assert np.mean(work.excess_risk(out) <= bound) >= 0.8


@pytest.mark.parametrize(("k", "solver"), [(2.0, "single"), (4.0, "single"), (4.0, "double")])
def test_pilot_slope_in_n(k, solver):
    sizes, quantiles = [2**10, 2**14, 2**18], []
    for n in sizes:
        work = RareSpikes.rescaled(n, 0.05, 9, k=k, theta=0.6)
        algorithm = LocalizedOutputPert(k=k, solver=solver, blocks=9, c_erm=1.0)
        out = algorithm.fit(
            work, Fresh(work, 1000, n, 10), problem(work, 0.05), rng=np.random.default_rng(11), trials=1000
        )
        quantiles.append(np.quantile(work.excess_risk(out), 0.9))
    slope = np.polyfit(np.log(sizes), np.log(quantiles), 1)[0]
    # Expected -(1 - 1/k). The quantile of 1,000 trials moves by about 5 %, the slope by 0.012: 0.06 is five of these.
    assert slope == pytest.approx(-(1 - 1 / k), abs=0.06)


def test_the_trivial_algorithm():
    work = RareSpikes()
    out = Constant().fit(work, Fresh(work, 5, 10, 12), problem(work), rng=np.random.default_rng(13), trials=5)
    assert np.array_equal(out, np.zeros((5, 1)))
    assert work.excess_risk(out).max() <= bound_of("pure_heavy_tails/fact-trivial", Constant(), problem(work), 10)


def test_default_solver_is_algorithm_4():
    assert isinstance(PopLocalize().erm, DoubleOutputPert)
    assert isinstance(LocalizedOutputPert().outer().erm, DoubleOutputPert)
