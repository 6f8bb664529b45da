"""Mirror descent, phased SGD and the truncated forms: printed numbers, steps, privacy, refusals, risks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpcheck.accounting import account
from dpcheck.algorithms.lp_spaces import (
    BatchedMirrorDescent,
    EuclideanHeavyTails,
    FullBatchMirrorDescent,
    HalvingPhasedSGD,
    ShuffledMirrorDescent,
)
from dpcheck.algorithms.lp_spaces.hard_instances import lower_instance
from dpcheck.algorithms.lp_spaces.phased import rows_in_order
from dpcheck.algorithms.lp_spaces.rates import constrained_rate
from dpcheck.algorithms.lp_spaces.regular import (
    dual_regularity,
    generalised_gaussian,
    kappa,
    local_budget,
    mirror_map,
    printed_exponent,
)
from dpcheck.engine.statements import bound_of
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.harness import risk
from dpcheck.harness.replay import Case
from dpcheck.interfaces import Problem, Sample
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run
from dpcheck.workloads import CoordinateHuber, HeavyCoordinates

PRIVACY = ApproxDP(0.9, 1e-5)


def huber(d: int = 3, size: float = 0.3) -> CoordinateHuber:
    return CoordinateHuber(np.full(d, size))


def heavy(d: int = 4) -> HeavyCoordinates:
    return HeavyCoordinates(np.full(d, 0.2), radius=1.0, s=1.5)


def problem(work: CoordinateHuber | HeavyCoordinates, privacy: ApproxDP = PRIVACY) -> Problem:
    return Problem.of(work, privacy)


def test_regularity_loses_a_factor_of_at_most_e() -> None:
    for d in (2, 10, 1000):
        for p in (1.01, 1.2, 1.9):
            assert kappa(p, d, "paper") <= kappa(p, d, "safe") <= math.e * kappa(p, d, "paper") + 1e-9
    assert kappa(1.01, 1000, "paper") == pytest.approx(2 * math.log(1000))
    assert dual_regularity(1.5, 10).r == pytest.approx(3.0)


def test_the_corrected_map_has_exponent_p_and_the_printed_one_runs_above_three_halves() -> None:
    assert mirror_map(1.5, 10).p == pytest.approx(1.5)
    assert printed_exponent(1.75, 10) == pytest.approx(4.0)
    assert printed_exponent(1.5, 10) == pytest.approx(2.0)
    printed = mirror_map(1.75, 10, "paper")
    y = np.linspace(-1, 2, 10)
    assert printed.p == pytest.approx(4.0)
    assert printed.strong_convexity == 0
    np.testing.assert_allclose(printed.gradient(printed.inverse(y)), y, rtol=1e-9, atol=1e-12)
    with pytest.raises(InvalidInput, match="closed form"):
        printed.minimiser_in_l1(y, 1.0)


def test_noise_length_is_chi_squared() -> None:
    # 4,000 draws: the mean of chi^2_5/5 is off by more than 0.1 with probability below 1e-13.
    law = generalised_gaussian(2.0, 1.4, 5)
    z = law.sample(np.zeros((4000, 5)), np.random.default_rng(0))
    squared = (np.abs(z) ** law.r).sum(axis=1) ** (2 / law.r) / 4
    assert squared.mean() == pytest.approx(5, rel=0.1)


def test_one_noiseless_step_is_the_closed_form_minimiser() -> None:
    work, algorithm = huber(), FullBatchMirrorDescent(steps=1, exponent="corrected", noise_dial=1e-12)
    data = work.draw(np.random.default_rng(0), 1, 40)
    from dpcheck.running import Fixed

    rows = np.repeat(data.values[0], data.weights[0].astype(int), axis=0)[None]
    plan = algorithm.schedule(problem(work), 40)
    (row,) = plan.phases
    found = algorithm.execute(Run(plan, 1, np.random.default_rng(1)), work, Fixed(rows), np.zeros((1, 3)))
    mirror = mirror_map(1.5, 3)
    slope = work.gradient(np.zeros((1, 1, 3)), rows).mean(axis=1)

    def objective(w: np.ndarray) -> np.ndarray:
        return (slope * w).sum(axis=-1) + (row.distance + row.alpha) * mirror.value(w)

    assert (objective(found) <= objective(found + 0.01 * np.random.default_rng(2).normal(size=(50, 3))) + 1e-12).all()


@pytest.mark.parametrize("reading", ["corrected", "two-beta"])
def test_algorithm_3_is_certified_and_moves_as_claimed(reading: str) -> None:
    work, algorithm = huber(), FullBatchMirrorDescent(**FullBatchMirrorDescent.readings[reading])
    plan = algorithm.schedule(problem(work), 500)
    assert account(plan).within(PRIVACY)
    data = work.atoms[np.random.default_rng(0).integers(6, size=500)][None]
    neighbour = data.copy()
    neighbour[0, 0] = [1.0, 0.0, 0.0, -1e6 if data[0, 0, -1] > 0 else 1e6]
    ratios = Case(algorithm, work, problem(work)).replay(data, neighbour, 8).ratios()
    assert float(ratios["gradients"].max()) <= 1 + 1e-9


def test_algorithm_3_refuses_what_it_cannot_do() -> None:
    with pytest.raises(InvalidInput, match="1 < p < 2"):
        FullBatchMirrorDescent(p=2.0).schedule(problem(huber()), 100)
    with pytest.raises(Infeasible):
        FullBatchMirrorDescent(steps=60, exponent="corrected").schedule(problem(huber()), 100)


def test_phases_are_disjoint_certified_and_cost_less_than_one_pass() -> None:
    plan = HalvingPhasedSGD().schedule(problem(huber()), 100)
    assert plan.gradients < 100
    assert account(plan, 100).within(PRIVACY)
    starts = [(p.start, p.start + p.records) for p in plan.phases]
    assert all(a[1] == b[0] for a, b in itertools.pairwise(starts))


def test_counts_are_written_out_in_a_uniform_order() -> None:
    sample = Sample(np.array([[[1.0], [2.0]]]), np.array([[30.0, 10.0]]))
    run = Run(HalvingPhasedSGD().schedule(problem(huber()), 40), 200, np.random.default_rng(0))
    rows = rows_in_order(run, sample)
    assert rows.shape == (200, 40, 1)
    assert (rows.sum(axis=1) == 50).all()
    # The first row is the second atom with chance 1/4; 200 trials stay within 6 deviations.
    assert abs((rows[:, 0] == 2.0).mean() - 0.25) < 0.19


def test_phased_risk_is_below_its_bound() -> None:
    work = huber()
    algorithm = HalvingPhasedSGD(scale=1.0)
    bound = bound_of("lp_spaces/thm-8@corrected", algorithm, problem(work), 256)
    found = risk.excess_risks(algorithm, work, problem(work), 256, 200, 0, "phased")
    assert 0 < found.mean() < bound


def test_shuffled_form_has_one_noise_vector_a_record_and_is_certified() -> None:
    work, n, privacy = heavy(), 4096, ApproxDP(0.05, 1e-3)
    algorithm = ShuffledMirrorDescent(exponent="corrected", kappa_rule="safe", steps=16, threshold=3.0)
    plan = algorithm.schedule(problem(work, privacy), n)
    (release,) = plan.releases
    assert release.count == 16
    assert account(plan, n).epsilon(1e-3) <= 0.05
    local = local_budget(0.05, 1e-3, n)
    assert local is not None
    assert 0.05 < local.epsilon <= 1
    with pytest.raises(Infeasible, match="proc-batched-md"):
        algorithm.schedule(problem(work, PRIVACY), n)


def test_truncation_zeroes_and_does_not_clip() -> None:
    work, algorithm = heavy(), BatchedMirrorDescent(threshold=1.0)
    w, rows = np.zeros((1, 4)), np.zeros((1, 2, 4))
    rows[0, 0, 0], rows[0, 1, 0] = 100.0, 0.5
    kept = algorithm.truncated(work, w, rows, 1.5)
    assert (kept[0, 0] == 0).all()
    assert kept[0, 1, 0] == pytest.approx(0.5 - 0.1 * 0.2)


def test_batched_form_is_certified_and_moves_as_claimed() -> None:
    work, algorithm = heavy(), BatchedMirrorDescent()
    plan = algorithm.schedule(problem(work), 600)
    assert account(plan, 600).within(PRIVACY)
    level = plan.phases[0].level
    data = np.zeros((1, 600, 4))
    neighbour = data.copy()
    data[0, 5, 0], neighbour[0, 5, 0] = level * 0.9, -level * 0.9
    ratios = Case(algorithm, work, problem(work)).replay(data, neighbour, 4).ratios()
    assert 0.8 < max(float(r.max()) for r in ratios.values()) <= 1 + 1e-9


def test_the_domain_must_be_the_ball_of_the_mirror_map() -> None:
    work = HeavyCoordinates(np.full(4, 0.2), radius=1.0, s=1.8)
    algorithm = BatchedMirrorDescent(p=1.5)
    with pytest.raises(InvalidInput, match="closed-form step"):
        risk.excess_risks(algorithm, work, problem(work), 600, 2, 0, "domain")


def test_euclidean_reduction_runs_with_p_2() -> None:
    work = HeavyCoordinates(np.full(4, 0.2), radius=1.0, s=2.0)
    found = risk.excess_risks(EuclideanHeavyTails(), work, problem(work), 600, 50, 0, "euclid")
    assert np.isfinite(found).all()


def test_constrained_rate_is_continuous_in_scale_and_refuses_nonsense() -> None:
    assert constrained_rate(10**4, 10, 1.5, 1.0, 0.5, 1e-5) > constrained_rate(10**6, 10, 1.5, 1.0, 0.5, 1e-5)
    assert constrained_rate(10**4, 10, 2.0, 2.0, 0.5, 1e-5) == pytest.approx(
        2 * constrained_rate(10**4, 10, 2.0, 1.0, 0.5, 1e-5)
    )
    with pytest.raises(InvalidInput):
        constrained_rate(10, 2, 1.5, -1.0, 0.5, 1e-5)


@pytest.mark.parametrize("body", ["ball", "cube", "cross-polytope", "ellipsoid"])
def test_hard_instances_lie_on_the_boundary(body: str) -> None:
    found = lower_instance(body, 16, 40, np.random.default_rng(0))  # type: ignore[arg-type]
    assert found.domain.contains(found.records).all()
    assert not found.domain.contains(1.001 * found.records, 1e-12).any()
    assert found.domain.diameter() == pytest.approx(1.0)
