"""Algorithms of l1_geometry: schedules, refusals, exact identities, and what replay sees."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpcheck.accounting import account
from dpcheck.algorithms.l1_geometry import (
    ALGORITHMS,
    GeneralLocalizedMirrorDescent,
    GeneralNoisyMirrorDescent,
    LocalizedMirrorDescent,
    MultiPassMirrorDescent,
    NoisyMirrorDescent,
    StronglyConvexReduction,
    TreeFrankWolfe,
)
from dpcheck.algorithms.l1_geometry.frank_wolfe import preorder, record_count, shuffled_allocation, weights
from dpcheck.algorithms.l1_geometry.reductions import pad_and_copy, padding
from dpcheck.engine.algorithms import algorithm
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.harness import risk
from dpcheck.interfaces import Problem
from dpcheck.privacy import ApproxDP, Guarantee, PureDP
from dpcheck.running import Fixed, Run
from dpcheck.workloads import diabetes
from dpcheck.workloads.crosspolytope import L1Location, LassoPopulation, SignLasso, SignLinear

LINEAR = SignLinear(mu=(0.5, 0.0, 0.0, 0.0))
LASSO = SignLasso(x_star=(0.6, -0.2, 0.0, 0.0))
APPROX = ApproxDP(1.0, 1e-5)


def problem(work: Any, privacy: Guarantee = APPROX) -> Problem:
    return Problem.of(work, privacy)


def test_every_class_is_found_by_its_label() -> None:
    for kind in ALGORITHMS:
        assert isinstance(algorithm(kind.label), kind)
        for reading in kind.readings:
            assert isinstance(algorithm(f"{kind.label}@{reading}"), kind)


# Workloads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("work", [LINEAR, LASSO, L1Location(gamma=(0.5, -0.2)), LassoPopulation.of(diabetes())])
def test_gradients_agree_with_differences_and_excess_is_nonnegative(work: Any) -> None:
    rng = np.random.default_rng(0)
    d = work.constants.d
    x, z = work.project(rng.standard_normal((50, d)) * 0.3), work.rows(rng, 1, 50)[0]
    step, move = 1e-6, rng.standard_normal((50, d))
    slope = (work.loss(x + step * move, z) - work.loss(x - step * move, z)) / (2 * step)
    assert np.allclose((work.gradient(x, z) * move).sum(axis=1), slope, atol=1e-5)
    assert (work.excess_risk(x) >= -1e-12).all()
    assert np.abs(work.gradient(x, z)).max() <= work.constants.lipschitz(1.0) * (1 + 1e-12)


def test_lasso_minimiser_of_real_records_is_optimal() -> None:
    work = LassoPopulation.of(diabetes())
    rng = np.random.default_rng(1)
    points = work.project(work.population_minimiser + 0.05 * rng.standard_normal((200, work.constants.d)))
    assert float(work.risk(points).min()) >= float(work.risk(work.population_minimiser)) - 1e-9


# Algorithms 1, 2, 5, 6 ------------------------------------------------------------------------------------------------


def test_noise_and_steps_are_those_printed() -> None:
    row = NoisyMirrorDescent(batch=5).schedule(problem(LINEAR), 50).phases[0]
    assert (row.T, row.b) == (100, 5)
    assert row.sigma == pytest.approx(100 * math.sqrt(4 * math.log(1e5)) / 5)
    assert row.sensitivity == pytest.approx(2 * 2 / 5)
    general = GeneralNoisyMirrorDescent(batch=5, p=1.5).schedule(problem(LINEAR), 50).phases[0]
    lipschitz = LINEAR.constants.lipschitz(1.5)
    assert general.sigma == pytest.approx(100 * lipschitz * math.sqrt(4 ** (1 - 2 / 3) * math.log(1e5)) / 5)
    # The steps, at D = 3: at f95bebe none was looked at.
    algorithm_ = NoisyMirrorDescent(batch=5, distance=3.0)
    row = algorithm_.schedule(problem(LINEAR), 50).phases[0]
    assert row.step(1) == row.step(7) == pytest.approx(3 / 10 / math.sqrt(1 + 2 * row.sigma**2 * math.log(4)))
    weighted = replace(algorithm_, weight=2.0).schedule(problem(LINEAR), 50).phases[0]
    assert [weighted.step(k) for k in (1, 4)] == pytest.approx([1 / 2, 1 / 5])
    general = GeneralNoisyMirrorDescent(batch=5, p=1.5, distance=3.0).schedule(problem(LINEAR), 50).phases[0]
    noise = 4 * 4 ** (2 / 3) * general.sigma**2 * math.log(4)
    assert general.step(1) == pytest.approx(3 / 10 / math.sqrt(lipschitz**2 + noise))


def test_phases_follow_the_printed_table_before_rounding() -> None:
    work = SignLinear(mu=(0.0,) * 16)
    steps = [row.T for row in LocalizedMirrorDescent().phases(problem(work), 1024)]
    batches = [row.b for row in LocalizedMirrorDescent().phases(problem(work), 1024)]
    assert steps[0] == 512**2 // 12**2
    assert batches[0] == math.ceil(math.sqrt(512 / 4))
    assert all(T > 1 for T in steps)


def test_readings_refuse_what_is_not_legal() -> None:
    with pytest.raises(Infeasible, match="at least one step in each phase"):
        LocalizedMirrorDescent(rounding="printed").schedule(problem(SignLinear(mu=(0.0,) * 16)), 1024)
    with pytest.raises(Infeasible, match="smallest n"):
        LocalizedMirrorDescent().schedule(problem(LINEAR), 3)
    with pytest.raises(Infeasible, match="batch"):
        NoisyMirrorDescent(batch=20).schedule(problem(LINEAR), 10)
    with pytest.raises(Infeasible, match="delta"):
        NoisyMirrorDescent().schedule(problem(LINEAR, PureDP(1.0)), 10)
    with pytest.raises(InvalidInput, match="1 < p <= 2"):
        GeneralLocalizedMirrorDescent(p=1.0)
    with pytest.raises(InvalidInput, match="c_sigma"):
        NoisyMirrorDescent(c_sigma=0.0)
    with pytest.raises(InvalidInput, match="Simplex"):
        NoisyMirrorDescent(mirror="entropy").fit(
            LINEAR, Fixed(np.ones((1, 9, 4))), problem(LINEAR), rng=np.random.default_rng(0), trials=2
        )


def test_a_dialled_constant_promises_nothing() -> None:
    assert NoisyMirrorDescent(c_sigma=3.0).schedule(problem(LINEAR), 25).claimed is None
    assert NoisyMirrorDescent().schedule(problem(LINEAR), 25).claimed == APPROX


def test_noiseless_localised_descent_learns_a_linear_loss() -> None:
    # Seed fixed: 0.238 over these 6 trials; the start has risk 0.5, which a step of the wrong sign would only raise.
    algorithm_ = LocalizedMirrorDescent(c_sigma=1e-6, distance=20.0)
    values = risk.excess_risks(algorithm_, LINEAR, problem(LINEAR), 64, 6, 0, "noiseless")
    assert values.mean() < 0.35


# Algorithm 3 ----------------------------------------------------------------------------------------------------------


def test_sets_are_disjoint_and_add_up() -> None:
    for T, b in ((1, 4), (3, 16), (4, 32)):
        rows = TreeFrankWolfe(T=T, batch=b).schedule(problem(LASSO, PureDP(1.0)), record_count(b, T)).phases
        spans = sorted(span for row in rows for span in row.sets().values())
        assert spans[0][0] == 0
        assert spans[-1][1] == record_count(b, T)
        assert all(left[1] == right[0] for left, right in itertools.pairwise(spans))
        assert len(list(preorder(T))) == 2 ** (T + 1) - 2


def test_parameters_of_theorem_6_at_its_integer_instance() -> None:
    constants = problem(SignLasso(x_star=(0.0, 0.0), s=0.0)).constants
    unit = Problem(constants=constants, privacy=PureDP(1.0))
    assert constants.lipschitz(1.0) == constants.smoothness(1.0) == 1.0
    rows = TreeFrankWolfe().schedule(unit, 65536).phases
    assert [row.b for row in rows] == [256] * 4
    assert [row.scale for row in rows] == [2**t / 64 for t in range(1, 5)]


@pytest.mark.parametrize("steps", ["printed", "consecutive"])
def test_output_is_the_weighted_sum_of_selected_vertices(steps: Any) -> None:
    algorithm_ = TreeFrankWolfe(T=3, batch=8, steps=steps)
    n = record_count(8, 3)
    plan = algorithm_.schedule(problem(LASSO, PureDP(1.0)), n)
    run: Run[Any] = Run(plan, 5, np.random.default_rng(0))
    out = algorithm_.execute(run, LASSO, Fixed(LASSO.rows(np.random.default_rng(1), 5, n)), np.full((1, 4), 0.1))
    chosen = np.stack([entry.output[:, 0].astype(int) for entry in run.transcript.entries])
    shares = np.array([weight for weight, _, _ in weights(plan.phases)])
    assert shares.sum() == pytest.approx(1)
    assert np.allclose(out, np.einsum("l,ltd->td", shares, LASSO.domain.vertices[chosen]))


def test_account_of_the_safe_reading_is_epsilon_and_of_the_printed_one_with_true_claims_twice_that() -> None:
    told, n = problem(LASSO, PureDP(0.5)), record_count(64, 3)
    safe = TreeFrankWolfe(T=3, batch=64, sensitivity="safe").schedule(told, n)
    assert account(safe).epsilon(0.0) == pytest.approx(0.5)
    printed = safe.edit("phase *", law=lambda law: type(law)(law.scale / 2))
    assert account(printed).epsilon(0.0) == pytest.approx(1.0)


def test_a_tree_holds_one_read_a_set() -> None:
    releases = TreeFrankWolfe(T=5, batch=64).schedule(problem(LASSO, PureDP(1.0)), record_count(64, 5)).releases
    reads = {id(read): read for release in releases for read in release.reads}
    assert len(reads) == len(set(reads.values())) == len(releases)  # a root and 2^t - 1 right children a phase


def test_tree_refuses_what_does_not_fit() -> None:
    with pytest.raises(Infeasible, match="2\\^T <= b"):
        TreeFrankWolfe(T=3, batch=64).schedule(problem(LASSO, PureDP(1.0)), 100)
    with pytest.raises(Infeasible, match="smooth"):
        TreeFrankWolfe().schedule(problem(L1Location(gamma=(0.5, 0.5)), PureDP(1.0)), 1000)
    with pytest.raises(Infeasible, match="delta"):
        TreeFrankWolfe(noise="approximate").schedule(problem(LASSO, PureDP(1.0)), 1000)


def test_theorem_7_promises_nothing_below_its_window() -> None:
    """Its branch of one phase is that of Theorem 6 alone: such plans came with a promise of Theorem 7."""
    budget = problem(LASSO, ApproxDP(1.0, 1e-6))
    below, inside = (TreeFrankWolfe(noise="approximate").schedule(budget, n) for n in (1000, 10**6))
    assert len(below.phases) == 1
    assert below.claimed is None
    assert len(inside.phases) > 1
    assert inside.claimed == ApproxDP(1.0, 1e-6)
    assert TreeFrankWolfe().schedule(problem(LASSO, PureDP(1e-3)), 1000).claimed == PureDP(1e-3)


def test_noiseless_tree_converges_to_the_minimiser() -> None:
    algorithm_ = TreeFrankWolfe(T=4, batch=512, noise_dial=1e-9)
    values = risk.excess_risks(algorithm_, LASSO, problem(LASSO, PureDP(1.0)), record_count(512, 4), 20, 0, "tree")
    assert values.mean() < 0.02


# Algorithm 4, reductions, procedures ---------------------------------------------------------------------------------


def test_average_of_the_passes() -> None:
    work = SignLinear(mu=(0.0, 0.0), shape="simplex")
    data = np.tile([[[1.0, -1.0]]], (1, 2, 1))
    found = MultiPassMirrorDescent(eta=0.5).fit(
        work, Fixed(data), problem(work), rng=np.random.default_rng(0), trials=1
    )
    first, second = (1 / (1 + np.exp(2 * 0.5 * k)) for k in (1, 2))
    assert found[0, 0] == pytest.approx((first + second) / 2)


def test_restarts_read_disjoint_records_and_never_widen() -> None:
    reduction = StronglyConvexReduction(inner=TreeFrankWolfe(T=1, budget="economical"), bound_dial=0.05)
    plan = reduction.schedule(problem(LASSO, PureDP(1.0)), 4096)
    assert len(plan.phases) == 4
    assert sum(row.records for row in plan.phases) < 4096
    assert all(a.first + a.records == b.first for a, b in itertools.pairwise(plan.phases))
    assert all(a.distance >= b.distance for a, b in itertools.pairwise(plan.phases))
    values = risk.excess_risks(reduction, LASSO, problem(LASSO, PureDP(1.0)), 4096, 5, 0, "restarts")
    assert np.isfinite(values).all()
    with pytest.raises(InvalidInput, match="strong_convexity"):
        reduction.schedule(problem(LINEAR, PureDP(1.0)), 4096)


def test_padding_and_allocation() -> None:
    plan = padding(10, 0.1, 0.02, 0.4, 0.1)
    big = pad_and_copy(np.ones((1, plan.small, 1)), plan, np.zeros((1, 1)))
    assert big.shape == (1, 10, 1)
    assert big.sum() == plan.copies * plan.small
    with pytest.raises(InvalidInput, match="records"):
        pad_and_copy(np.ones((1, plan.small + 1, 1)), plan, np.zeros((1, 1)))
    found = shuffled_allocation(np.random.default_rng(0), 200, 12, 4, 3)
    assert all(len(set(one.ravel())) == 12 for one in found)
    # Where the last record goes is uniform over 4 sets: 200 trials, each count within 5 deviations (failure < 1e-5).
    counts = np.bincount(np.argwhere(found == 11)[:, 1], minlength=4)
    assert counts.sum() == 200
    assert np.abs(counts - 50).max() < 5 * math.sqrt(200 * 3 / 16)


def test_smoothness_stands_in_for_shuffling() -> None:
    tree = TreeFrankWolfe(**TreeFrankWolfe.readings["concentrated"], T=5, batch=64)
    told, n = problem(LASSO, ApproxDP(1.0, 1e-6)), record_count(64, 5)
    plan = tree.schedule(told, n)
    assert plan.claimed == told.privacy
    assert account(plan, n).within(told.privacy)
    assert not account(plan.edit("*", law=lambda law: replace(law, scale=law.scale / 4)), n).within(told.privacy)
    # The way to a right child of depth j is at most 2^(1 - j) diameters, and some are that long but for rounding.
    row = plan.phases[-1]
    for node in (node for node in row.sets() if node):
        assert row.way(node) <= 2.0 ** (1 - len(node))
    assert row.way("00001") == pytest.approx(2 / 32)


def test_the_theorem_without_shuffling_promises_what_it_proves() -> None:
    reading = TreeFrankWolfe.readings["concentrated"]
    for more, budget in (
        ({"steps": "printed"}, APPROX),
        ({"sensitivity": "safe"}, APPROX),
        ({"noise_dial": 2.0}, APPROX),
    ):
        tree = TreeFrankWolfe(**{**reading, "T": 2, "batch": 16, **more})
        assert tree.schedule(problem(LASSO, budget), 200).claimed is None
    with pytest.raises(Infeasible, match="delta > 0"):
        TreeFrankWolfe(**reading).schedule(problem(LASSO, PureDP(1.0)), 10**6)
