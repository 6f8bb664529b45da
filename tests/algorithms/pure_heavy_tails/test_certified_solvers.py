"""Certified minimisers agree with each other, their gaps are true, and the adversarial one uses all that it may."""

import math

import numpy as np
import pytest

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Solution
from dpcheck.solvers import (
    Pushed,
    Task,
    accelerated,
    bisected,
    certified,
    closed_form,
    multiplier_search,
    solve,
    strong_gap,
    subgradient,
    value,
)
from dpcheck.solvers.conic import run_solver
from dpcheck.workloads import (
    HeavyHinge,
    HeavyMean,
    RadialHeavyTail,
    RareSpikes,
    SparseDirection,
    WeightedMedian,
    diabetes,
)


def task(work, sample, weight=0.5, centre=None, **more):
    centre = np.zeros((1, work.constants.d)) if centre is None else centre
    return Task(workload=work, sample=sample, weight=weight, centre=centre, **more)


@pytest.mark.parametrize("within", [None, (np.array([[0.3]]), 0.2)])
@pytest.mark.parametrize("cap", [None, 0.5, 2.0])
@pytest.mark.parametrize(
    "work", [RareSpikes(D=2.0, p=0.3), RadialHeavyTail(b=(0.4,)), WeightedMedian(D=2.0), HeavyMean()]
)
def test_on_a_line_all_methods_agree(work, cap, within):
    sample = work.draw(np.random.default_rng(0), 20, 11)
    objective = task(work, sample, cap=cap, centre=np.array([[-0.1]]), within=within)
    found = bisected(objective)
    assert found.gap < 1e-13
    best = certified(objective)
    assert np.allclose(best.point, found.point, atol=1e-13)
    low, high = (-1.0, 1.0) if within is None else (0.1, 0.5)
    for w in np.linspace(low, high, 41):
        assert np.all(value(objective, found.point) <= value(objective, np.full((20, 1), w)) + 1e-12)


@pytest.mark.parametrize("within", [None, (np.array([[0.3, 0.2]]), 0.1)])
@pytest.mark.parametrize("cap", [0.5, 1.0, 3.0])
def test_in_the_plane_closed_form_and_conic_program_agree(cap, within):
    pytest.importorskip("cvxpy")
    from dpcheck.solvers.conic import conic

    work = SparseDirection(nu=(0.6, 0.8), D=2.0, p=0.3)
    sample = work.draw(np.random.default_rng(1), 2, 20)
    needed = cap**2 / (72 * 0.3 * 20**2)
    objective = task(work, sample, 0.3, np.array([[0.1, -0.4]]), cap=cap, within=within, gap=needed)
    exact, program = closed_form(objective), conic(objective)
    assert exact is not None
    assert exact.gap <= 1e-14
    assert program.gap <= needed / 1000
    assert np.linalg.norm(exact.point - program.point, axis=1).max() <= 2 * math.sqrt(2 * program.gap / 0.3) + 1e-12


@pytest.mark.parametrize("weight", [0.05, 5.0, 1e4])
@pytest.mark.parametrize("cap", [None, 0.8, 2.0])
def test_conic_gap_is_true_for_a_hinge_with_steep_records(weight, cap):
    pytest.importorskip("cvxpy")
    from dpcheck.solvers.conic import conic

    work = HeavyHinge()
    sample = work.draw(np.random.default_rng(2), 1, 25)
    objective = task(work, sample, weight, np.array([[0.2, 0.1]]), cap=cap, gap=1e-11)
    found = conic(objective)
    assert found.gap <= max(1e-11, 1e-12 / weight)
    around = found.point + np.geomspace(1e-6, 1, 300)[:, None] / weight * np.random.default_rng(3).normal(size=(300, 2))
    best = value(objective, found.point)[0]
    assert all(value(objective, w[None])[0] >= best - found.gap - 1e-12 for w in work.project(around))


def test_accelerated_gradients_agree_with_the_conic_program():
    pytest.importorskip("cvxpy")
    from dpcheck.solvers.conic import conic

    work = diabetes("huber")
    sample = work.draw(np.random.default_rng(4), 1, 200)
    for within in (None, (np.full((1, 11), 0.1), 0.2)):
        objective = task(work, sample, 0.05, gap=1e-10, within=within)
        fast, program = accelerated(objective), conic(objective)
        assert fast.gap <= 1e-10
        assert program.gap <= 1e-9
        assert np.linalg.norm(fast.point - program.point) <= 2 * math.sqrt(2 * 1e-9 / 0.05)


def test_strong_gap_is_never_below_the_true_gap():
    work = WeightedMedian(D=2.0)
    sample = work.draw(np.random.default_rng(5), 50, 15)
    objective = task(work, sample, 0.7)
    best = value(objective, certified(objective).point)
    for w in np.linspace(-1, 1, 21):
        at = np.full((50, 1), w)
        gap = strong_gap(0.7, subgradient(objective, at), at, work.project)
        assert np.all(value(objective, at) - best <= gap + 1e-12)


def test_linear_terms_are_part_of_the_quadratic():
    work = HeavyMean()
    sample = work.draw(np.random.default_rng(6), 4, 30)
    linear = np.array([[0.3], [-0.2], [0.0], [1.0]])
    for cap in (None, 1.0):
        objective = task(work, sample, 0.4, linear=linear, cap=cap)
        found = certified(objective)
        assert found.point.shape == (4, 1)
        for step in (-1e-4, 1e-4):
            assert np.all(value(objective, found.point) <= value(objective, found.point + step) + 1e-15)


@pytest.mark.parametrize(("excess", "steps"), [(1.0, 1.0), (4.0, 2.0), (9.0, 3.0)])
def test_pushed_moves_by_the_square_root_of_the_gap(excess, steps):
    work = RareSpikes(D=100.0, p=0.01)
    m, C, weight = 50, 1.0, 2.0
    z = np.zeros((1, m, 1))
    z[0, 0] = 1e6
    from dpcheck.interfaces import Sample

    objective = task(work, Sample(z, np.ones((1, m))), weight, cap=C, gap=C**2 / (2 * weight * m**2))
    exact, pushed = certified(objective), Pushed(excess)(objective)
    assert pushed.point[0, 0] - exact.point[0, 0] == pytest.approx(-steps * C / (weight * m), rel=1e-9)
    assert pushed.gap == objective.gap
    rise = value(objective, pushed.point) - value(objective, exact.point)
    assert rise[0] == pytest.approx(excess * objective.gap, rel=1e-6)


def test_pushed_stays_legal_where_the_loss_bends():
    work = WeightedMedian(D=2.0)
    sample = work.draw(np.random.default_rng(7), 30, 9)
    objective = task(work, sample, 0.5, cap=2.0, gap=0.01)
    pushed = Pushed()(objective)
    rise = value(objective, pushed.point) - value(objective, certified(objective).point)
    assert np.all(rise <= 0.01 * (1 + 1e-6))
    assert np.median(rise) > 0.005


def test_a_gap_that_is_too_large_is_refused():
    work = RareSpikes(D=2.0, p=0.3)
    sample = work.draw(np.random.default_rng(8), 1, 5)
    objective = task(work, sample, cap=1.0, gap=1e-6)
    with pytest.raises(InvalidInput, match="privacy proof rests on the gap"):
        solve(lambda o: Solution(np.zeros((1, 1)), 1e-5), objective, "pure_heavy_tails/alg-2")
    with pytest.raises(InvalidInput, match="gap"):
        solve(lambda o: Solution(np.zeros((1, 1)), math.nan), objective, "pure_heavy_tails/alg-2")
    with pytest.raises(InvalidInput, match="strongly convex"):
        certified(task(work, sample, 0.0))


def test_the_search_for_a_multiplier_ends_where_floats_do() -> None:
    """Nothing binds: one look; otherwise until no number lies between the ends, and the point is within the ball."""
    calls = []

    def at(multiplier: np.ndarray) -> np.ndarray:
        calls.append(multiplier)
        return 3.0 / (1 + multiplier[:, None])

    ball, radius = np.zeros((2, 1)), np.ones(2)
    point, multiplier = multiplier_search(at, np.full((2, 1), 0.5), ball, radius, 1.0)
    assert len(calls) == 1
    assert (point == 0.5).all()
    assert (multiplier == 0).all()
    calls.clear()
    point, multiplier = multiplier_search(at, np.full((2, 1), 3.0), ball, radius, 1.0)
    assert len(calls) < 65
    assert (np.abs(point) <= 1).all()
    np.testing.assert_allclose(multiplier, 2.0, rtol=1e-15)


class OnlyAt:
    """A program of which the solver finds a point at some tolerances only: at its own, or at none."""

    status = "optimal"

    def __init__(self, fails):
        self.fails, self.asked = fails, []

    def solve(self, **options):
        self.asked.append(options)
        if self.fails(options):
            raise pytest.importorskip("cvxpy").error.SolverError("Solver 'CLARABEL' failed.")


def test_a_program_that_is_too_fine_for_the_solver_is_solved_within_its_own_tolerances():
    pytest.importorskip("clarabel")
    coarse = OnlyAt(lambda options: "tol_feas" in options)
    run_solver(coarse)
    assert [len(options) > 1 for options in coarse.asked] == [True, False]
    with pytest.raises(InvalidInput, match="the conic solver failed"):
        run_solver(OnlyAt(lambda options: True))
