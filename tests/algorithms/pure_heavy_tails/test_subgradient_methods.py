"""Algorithm 3, Lemma D.5, inexact projections, the joint reformulation and the conic oracle."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.accounting import account
from dpcheck.algorithms.pure_heavy_tails.baseline import NoisyClippedSubgradient
from dpcheck.algorithms.pure_heavy_tails.projection import halvings, inexact_projection
from dpcheck.algorithms.pure_heavy_tails.reformulation import (
    DirectSubgradient,
    JointReformulation,
    JointSubgradient,
    ridge_subgradient,
    socp_subgradient,
)
from dpcheck.algorithms.pure_heavy_tails.subgradient import (
    adaptive_inexact_subgradient,
    biased_subgradient,
    constant_step,
    exact,
    iteration_bound,
)
from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball, Box, Simplex
from dpcheck.interfaces import Problem, Sample
from dpcheck.privacy import PureDP
from dpcheck.solvers import Task, certified, value
from dpcheck.solvers.extension import extension_gradient, lipschitz_extension
from dpcheck.workloads import HeavyHinge, RareSpikes, WeightedMedian


@pytest.mark.parametrize(("alpha", "steps"), [(0.2, 4500), (0.1, 18000), (0.05, 72000)])
def test_alg_3_takes_exactly_its_bound_when_subgradients_have_one_norm(alpha, steps):
    # Weighted l1 norm with weights (1, 2) on the unit disc: every subgradient has norm sqrt 5, away from the axes.
    disc, L = Ball(d=2, radius=1.0), math.sqrt(5)
    weights = np.array([1.0, 2.0])
    start = np.array([[0.6, 0.5]])
    found = adaptive_inexact_subgradient(
        lambda x: np.where(x >= 0, weights, -weights), exact(disc.project), start, alpha, 2.0
    )
    assert found.steps[0] == steps == iteration_bound(2.0, L, alpha)
    assert np.abs(found.point) @ weights <= found.gap == 0.75 * alpha


def test_alg_3_with_the_worst_inexact_projections():
    box = Box(-1.0, 1.0, d=3)
    slopes = np.random.default_rng(0).normal(size=(8, 3))
    offsets = np.random.default_rng(1).normal(size=8)
    rng = np.random.default_rng(2)

    def subgradient(x):
        return slopes[(x @ slopes.T + offsets).argmax(axis=1)]

    def sloppy(x, xi):
        y = box.project(x)
        away = rng.normal(size=y.shape)
        return box.project(y + xi[:, None] * away / np.linalg.norm(away, axis=1, keepdims=True))

    D, L = 2 * math.sqrt(3), np.linalg.norm(slopes, axis=1).max()
    found = adaptive_inexact_subgradient(subgradient, sloppy, np.zeros((3, 3)), 0.2, D)
    from scipy import optimize

    program = optimize.linprog(
        [0, 0, 0, 1], A_ub=np.column_stack([slopes, -np.ones(8)]), b_ub=-offsets, bounds=[(-1, 1)] * 3 + [(None, None)]
    )
    reached = (found.point @ slopes.T + offsets).max(axis=1)
    assert np.all(reached - program.fun <= found.gap)
    assert np.all(found.steps <= iteration_bound(D, L, 0.2))


def test_alg_3_returns_at_a_zero_subgradient_and_refuses_nonsense():
    disc = Ball(d=2, radius=1.0)
    still = adaptive_inexact_subgradient(lambda x: 0 * x, exact(disc.project), np.zeros((2, 2)), 0.1, 2.0)
    assert still.steps.tolist() == [1, 1]
    ones = exact(disc.project)
    with pytest.raises(InvalidInput, match="must lie in K"):
        adaptive_inexact_subgradient(lambda x: x, ones, np.full((1, 2), 3.0), 0.1, 2.0)
    with pytest.raises(InvalidInput, match="alpha"):
        adaptive_inexact_subgradient(lambda x: x, ones, np.zeros((1, 2)), 0.0, 2.0)
    with pytest.raises(InvalidInput, match="not halted"):
        adaptive_inexact_subgradient(lambda x: np.ones_like(x), ones, np.zeros((1, 2)), 1e-3, 2.0, limit=10)


def test_trials_do_not_depend_on_each_other():
    disc = Ball(d=2, radius=1.0)
    pulls = np.array([[1.0, 0.2], [0.1, -3.0], [2.0, 2.0]])

    def run(rows):
        target = pulls[rows] / 4
        return adaptive_inexact_subgradient(
            lambda x: np.sign(x - target) + 0.1 * (x - target), exact(disc.project), np.zeros((len(rows), 2)), 0.3, 2.0
        )

    together = run([0, 1, 2])
    for i in range(3):
        alone = run([i])
        assert np.array_equal(alone.point[0], together.point[i])
        assert alone.steps[0] == together.steps[i]


def test_lemma_d_5_with_a_biased_oracle():
    box, D, L, alpha = Box(-1.0, 1.0, d=2), 2 * math.sqrt(2), 2.0, 0.4
    T, eta, xi = constant_step(D, L, alpha)
    rng = np.random.default_rng(3)

    def biased(x):
        # |x|_1 with an error e such that <e, u - x> <= alpha/4 on the box, whose l1 diameter is 4.
        return np.sign(x) + rng.uniform(-alpha / 16, alpha / 16, size=x.shape)

    found = biased_subgradient(biased, exact(box.project), np.array([[0.9, -0.7]]), alpha, D, L, bias=alpha / 4)
    assert found.steps[0] == T
    assert np.abs(found.point).sum() <= found.gap <= alpha
    bound = D**2 / (2 * eta * T) + eta * L**2 / 2 + alpha / 4 + D * xi / eta + xi**2 / (2 * eta)
    assert found.gap == pytest.approx(bound)
    with pytest.raises(InvalidInput, match="bias"):
        biased_subgradient(biased, exact(box.project), np.zeros((1, 2)), alpha, D, L, bias=alpha)
    with pytest.raises(InvalidInput, match="norm"):
        biased_subgradient(lambda x: 9 * np.ones_like(x), exact(box.project), np.zeros((1, 2)), alpha, D, L, bias=0.0)


# Inexact projections


def two_balls(y, R, c, r):
    """Exact projection onto B(0, R) with B(c, r), by cases: one ball alone, or the circle where they meet."""
    inside = y * min(1.0, R / max(np.linalg.norm(y), 1e-300))
    if np.linalg.norm(inside - c) <= r:
        return inside
    other = c + (y - c) * min(1.0, r / np.linalg.norm(y - c))
    if np.linalg.norm(other) <= R:
        return other
    gap = np.linalg.norm(c)
    axis = c / gap
    along = (R**2 - r**2 + gap**2) / (2 * gap)
    across = y - (y @ axis) * axis
    return along * axis + math.sqrt(max(R**2 - along**2, 0.0)) * across / np.linalg.norm(across)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), far=st.floats(-3, 6), accuracy=st.floats(-12, -1), radius=st.floats(-3, 0.5))
def test_inexact_projection_against_two_balls(seed, far, accuracy, radius):
    rng = np.random.default_rng(seed)
    W = Ball(d=3, radius=1.0)
    y, c, r, xi = 10**far * rng.normal(size=(4, 3)), W.project(rng.normal(size=(4, 3))), 10**radius, 10**accuracy
    found = inexact_projection(y, c, r, W.project, xi)
    assert np.all(np.linalg.norm(found, axis=1) <= 1 + 1e-12)
    assert np.all(np.linalg.norm(found - c, axis=1) <= r * (1 + 1e-12))
    exact_points = np.array([two_balls(a, 1.0, b, r) for a, b in zip(y, c, strict=True)])
    assert np.all(np.linalg.norm(found - exact_points, axis=1) <= xi + 1e-9 * (1 + 10**far))


@pytest.mark.parametrize("W", [Box(-1.0, 1.0, d=3), Simplex(d=3)])
def test_inexact_projection_onto_other_sets(W):
    rng = np.random.default_rng(4)
    c = W.project(rng.normal(size=(50, 3)))
    y, r = rng.normal(size=(50, 3)) * 5, 0.3
    found = inexact_projection(y, c, r, W.project, 1e-10)
    # Variational inequality of the projection, on points of the set.
    for _ in range(40):
        u = W.project(rng.normal(size=(50, 3)) * 3)
        length = np.linalg.norm(u - c, axis=1, keepdims=True)
        u = c + (u - c) * np.minimum(1, r / np.maximum(length, 1e-12))
        assert np.all(((y - found) * (u - found)).sum(axis=1) <= 1e-8)


def test_inexact_projection_counts_and_refuses():
    calls = []
    W = Ball(d=2, radius=1.0)

    def counted(x):
        calls.append(1)
        return W.project(x)

    y, c, r, xi = np.array([[5.0, 5.0]]), np.array([[0.9, 0.0]]), 0.05, 1e-6
    inexact_projection(y, c, r, counted, xi)
    R = np.linalg.norm(y - c, axis=1)
    N = halvings(R, np.array([r]), np.array([xi]))[0]
    assert math.ceil(math.log2(1 + R[0] ** 2 / (r * xi))) == N
    assert len(calls) == N + 3  # the centre's check, the first and the last projection
    for centre, radius, accuracy in ((c, 0.0, xi), (c, r, 0.0), (np.array([[3.0, 0.0]]), r, xi)):
        with pytest.raises(InvalidInput):
            inexact_projection(y, centre, radius, W.project, accuracy)


# The joint reformulation


def joint_of(work, z, within=None, gap=math.inf):
    sample = Sample(z, np.ones((1, z.shape[1])))
    d = work.constants.d
    return Task(workload=work, sample=sample, weight=0.7, centre=np.zeros((1, d)), cap=1.0, within=within, gap=gap)


@pytest.mark.parametrize("work", [HeavyHinge(), WeightedMedian(D=2.0), RareSpikes(D=2.0, p=0.5)])
def test_joint_reformulation(work):
    rng = np.random.default_rng(5)
    objective = joint_of(work, work.rows(rng, 1, 4))
    joint = JointReformulation(objective)
    d = work.constants.d
    u, v = (joint.project(rng.normal(size=(30, 5 * d)), np.ones(30)) for _ in range(2))
    middle = joint.value((u + v) / 2)
    assert np.all(middle <= (joint.value(u) + joint.value(v)) / 2 + 1e-12)
    slope = joint.subgradient(u)
    assert np.all(joint.value(v) - joint.value(u) >= ((v - u) * slope).sum(axis=1) - 1e-10)
    assert np.linalg.norm(slope, axis=1).max() <= joint.lipschitz() + 1e-12
    A = work.amplitude(objective.sample.values).max()
    assert joint.lipschitz() <= A + 2 + 0.7 * work.constants.diameter(2.0)
    assert np.linalg.norm(u - v, axis=1).max() <= joint.diameter() + 1e-12
    # Lemma 2.7: minimising the copies out gives the regularised extension.
    w, _ = joint.split(u)
    assert np.all(joint.value(u) >= value(objective, w) - 1e-9)
    assert np.array_equal(joint.joined(*joint.split(u)), u)


def test_alg_3_on_the_joint_reformulation_solves_a_toy():
    work = RareSpikes(D=0.4, p=0.5)
    z = np.array([[[3.0], [-0.5]]])
    for within in (None, (np.array([[0.1]]), 0.05)):
        objective = joint_of(work, z, within, gap=0.1)
        best = value(objective, certified(objective).point)
        for solver in (JointSubgradient(), DirectSubgradient()):
            found = solver(objective)
            assert found.gap <= 0.1
            assert value(objective, found.point)[0] - best[0] <= found.gap
            if within is not None:
                assert abs(found.point[0, 0] - 0.1) <= 0.05 * (1 + 1e-12)


def test_oracle_calls_follow_the_printed_bounds():
    # m = 10, D = C = λ = 1, A_Z = 1: L_Z = 4 and about 6.3e7 steps already in stage 1.
    calls = JointSubgradient().oracle_calls(10, 1 / 200, 1.0, 1.0, 1.0, 1.0, 1.0)
    assert calls == 10 * math.ceil((3 * math.sqrt(11) * 4 * 200) ** 2)
    assert 6.3e7 < calls / 10 < 6.4e7
    direct = [DirectSubgradient().oracle_calls(10, 1 / 200, 1.0, 1.0, A, 1.0, 1.0) for A in (1.0, 1e9)]
    assert direct[0] == direct[1] == 10 * math.ceil((4 * 3 * 200) ** 2)


# The conic oracle


@pytest.mark.parametrize("domain", [Ball(d=2, radius=1.0), Box(-1.0, 1.0, d=2)])
def test_conic_subgradient(domain):
    pytest.importorskip("cvxpy")
    rng = np.random.default_rng(6)
    for trial in range(4):
        slopes, intercepts = 3 * rng.normal(size=(3, 2)), rng.normal(size=3)
        w = domain.project(rng.normal(size=(1, 2)))[0]
        found = socp_subgradient(w, slopes, intercepts, domain, 1.0)
        assert found.bias <= 1e-9, trial
        assert np.linalg.norm(found.vector) <= 1 + 1e-9
        # f_C(u) >= f_C(w) + <g, u - w> - bias, with f_C(u) from a fine grid of y (an upper bound).
        y = domain.project(rng.uniform(-1, 1, size=(20_000, 2)))
        losses = (y @ slopes.T + intercepts).max(axis=1)
        for u in domain.project(rng.normal(size=(20, 2))):
            above = (losses + np.linalg.norm(y - u, axis=1)).min()
            assert above >= found.value + found.vector @ (u - w) - found.bias - 1e-9


def test_conic_subgradient_is_the_derivative_of_the_extension():
    pytest.importorskip("cvxpy")
    work = HeavyHinge()
    rng = np.random.default_rng(7)
    w = 0.7 * work.project(rng.normal(size=(6, 2)))
    z = 2 * work.rows(rng, 1, 6)[0]
    values, slopes = lipschitz_extension(work, w, z, 1.0), extension_gradient(work, w, z, 1.0)
    step = 1e-6
    for i in range(6):
        found = ridge_subgradient(work, w[i], z[i], 1.0, bias=1e-8)
        assert found.value == pytest.approx(values[i], abs=1e-9)
        # The sign of a solver's multiplier is fixed here, against differences.
        numeric = [
            (
                lipschitz_extension(work, w[i] + step * e, z[i], 1.0)
                - lipschitz_extension(work, w[i] - step * e, z[i], 1.0)
            )
            / (2 * step)
            for e in np.eye(2)
        ]
        assert np.allclose(found.vector, numeric, atol=1e-5)
        assert np.allclose(found.vector, slopes[i], atol=1e-5)


def test_on_a_line_the_extension_is_the_clipped_derivative():
    work = WeightedMedian(D=2.0)
    rng = np.random.default_rng(8)
    z = work.rows(rng, 1, 30)[0] * np.array([3.0, 1.0])
    w = rng.uniform(-1, 1, size=(30, 1))
    bare = _without_closed_forms(work)
    assert np.allclose(lipschitz_extension(bare, w, z, 2.0), work.extension(w, z, 2.0), atol=1e-12)
    assert np.array_equal(extension_gradient(bare, w, z, 2.0), np.clip(work.gradient(w, z), -2, 2))


def _without_closed_forms(work):
    """The bare `Workload` of the interfaces, as a user's own may be."""

    class Bare:
        constants = work.constants

        def __getattr__(self, name):
            if name in ("loss", "gradient", "project", "draw", "excess_risk"):
                return getattr(work, name)
            raise AttributeError(name)

    return Bare()


def test_noisy_clipped_subgradient_spends_its_budget_once():
    """T steps of epsilon/T each: the accountant's answer is epsilon; with dialled noise nothing is claimed."""
    work = RareSpikes(D=2.0, p=0.5)
    setting = Problem.of(work, PureDP(0.7), failure_probability=0.1)
    plan = NoisyClippedSubgradient(k=2.0).schedule(setting, 50)
    assert plan.phases[0].T == 35
    assert plan.gradients == 35 * 50
    assert account(plan).guarantee.epsilon == pytest.approx(0.7)
    assert NoisyClippedSubgradient(noise_dial=0.1).schedule(setting, 50).claimed is None
    with pytest.raises(InvalidInput, match="T must be"):
        NoisyClippedSubgradient(T=-1)
