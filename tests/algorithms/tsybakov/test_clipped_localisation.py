"""Algorithms 1 to 5 of tsybakov and their parts: what they promise deterministically, and small runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.accounting import account
from dpcheck.algorithms.tsybakov.clipped import (
    Restricted,
    clipped_descent,
    clipped_mean,
    dykstra,
    regularised_minimiser,
)
from dpcheck.algorithms.tsybakov.epochs import IteratedLocalised, StochasticApproximation, doubling_parts, part_exponent
from dpcheck.algorithms.tsybakov.localised import LocalisedClipped, averaged_moment, corrected
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry import Ball, Box
from dpcheck.interfaces import Problem, Sample
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Fresh, Run
from dpcheck.workloads.tilted_power import ProductTilt, SparseTilt, growth_constant

V = np.array([1.0, 0.0])
WORK = SparseTilt(v=V, size=2.0, chance=0.25, theta=2.0, reach=2.0)
PROBLEM = Problem.of(WORK, ApproxDP(3.0, 1e-5))


def test_clipped_mean_of_two_records() -> None:
    sample = Sample(np.array([[[3.0, 4.0], [0.0, 0.5]]]), np.ones((1, 2)))
    assert clipped_mean(sample, sample.values, 1.0) == pytest.approx(np.array([[0.3, 0.65]]))
    with pytest.raises(InvalidInput, match="clip level"):
        clipped_mean(sample, sample.values, 0.0)


def test_descent_stays_within_its_reach_and_moves_by_what_is_claimed_in_one_dimension() -> None:
    rng = np.random.default_rng(1)
    work = SparseTilt(v=np.ones(1), size=5.0, chance=0.5, theta=4.0, reach=3.0)
    alpha = work.constants.smoothness(2.0)
    records = 5.0 * rng.normal(size=(40, 8, 1))
    other = records.copy()
    other[:, 0] = 5.0 * rng.normal(size=(40, 1))
    weight, level, steps = 0.3, 1.0, 60
    eta = 2 / (alpha + 2 * weight)
    ends = [
        clipped_descent(
            work, Sample(x, np.ones((1, 8))), np.zeros((1, 1)), steps=steps, eta=eta, level=level, weight=weight
        )
        for x in (records, other)
    ]
    reach = (1 - (1 - eta * weight) ** steps) * level / weight
    assert np.abs(ends[0]).max() <= reach * (1 + 1e-12)
    assert np.abs(ends[0] - ends[1]).max() <= 2 * reach / 8 * (1 + 1e-12)


def test_exact_minimiser_of_a_quadratic() -> None:
    sample = Sample(np.array([[[1.0, 0.0], [0.0, 0.0]]]), np.ones((1, 2)))
    found = regularised_minimiser(WORK, sample, np.array([[0.2, 0.4]]), 3.0, gap=1e-12)
    assert found == pytest.approx(np.array([[(0.5 + 0.6) / 4, 0.3]]), abs=1e-10)
    with pytest.raises(InvalidInput, match="weight"):
        regularised_minimiser(WORK, sample, np.zeros((1, 2)), 0.0, gap=1e-12)


def test_dykstra_finds_the_projection_where_alternation_does_not() -> None:
    box, ball = Box([0.0, 0.0], [1.0, 1.0]), Ball(2, 1.0, [0.0, 0.0])
    rng = np.random.default_rng(2)
    points = rng.normal(size=(30, 2)) * 3
    found = dykstra(box.project, ball.project, points)
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, 1, 401)), axis=-1).reshape(-1, 2)
    grid = grid[np.linalg.norm(grid, axis=1) <= 1]
    best = np.array([np.linalg.norm(grid - p, axis=1).min() for p in points])
    assert np.all(np.linalg.norm(found, axis=1) <= 1 + 1e-8)
    assert np.abs(np.linalg.norm(found - points, axis=1) - best).max() < 5e-3
    once = ball.project(box.project(points))
    assert np.abs(once - found).max() > 1e-3
    with pytest.raises(InvalidInput, match="meet"):
        dykstra(Ball(1, 1.0).project, Ball(1, 1.0, [5.0]).project, np.ones((1, 1)), limit=50)


def test_restricted_workload_projects_into_both() -> None:
    work = Restricted(WORK, np.array([[0.9, 0.0], [0.0, 0.0]]), 0.3)
    w = work.project(np.array([[3.0, 3.0], [0.1, 0.1]]))
    assert np.linalg.norm(w[0]) <= 1 + 1e-8
    assert np.linalg.norm(w[0] - [0.9, 0]) <= 0.3 + 1e-8
    assert w[1] == pytest.approx([0.1, 0.1])


@pytest.mark.parametrize(("n", "ratio"), [(256, 4.8), (4096, 15.7), (65536, 54.4)])
def test_printed_algorithm_shows_its_degeneracy(n: int, ratio: float) -> None:
    """The second cap binds for small L and equal moments: a workload whose records all have one length."""
    work = ProductTilt(v=np.ones(5), size=1 / (2 * math.sqrt(5)), bias=1.0, theta=2.0)
    problem = Problem.of(work, ApproxDP(1.0, 1e-5), failure_probability=1 / n)
    with pytest.raises(Infeasible, match="sigma_1/D") as caught:
        LocalisedClipped().schedule(problem, n)
    # R_{2k,n} carries the factor sqrt(1 - 1/n).
    assert f"{ratio:.3g}"[:2] in caught.value.got
    assert caught.value.smallest_n is None


def test_corrected_schedule_is_consistent() -> None:
    schedule = corrected().schedule(PROBLEM, 256)
    assert [ph.records for ph in schedule.phases] == [128, 64, 32, 16, 8, 4, 2, 1]
    assert schedule.gradients == sum(ph.records * ph.steps for ph in schedule.phases)
    for ph in schedule.phases:
        assert ph.eta * ph.weight == pytest.approx(1 / ph.records)
        assert ph.eta * WORK.constants.smoothness(2.0) <= 1 + 1e-12
        assert ph.sigma == pytest.approx(
            4 * 2 * ph.level / (ph.records * ph.weight) * math.sqrt(math.log(1e5)) / 3, rel=1e-12
        )
    # What the printed noise would do if clipped steps contracted, which in two dimensions nobody has proved.
    assert account(schedule, assuming=("tsybakov/rem-2",)).epsilon(1e-5) < 3.0
    assert account(schedule).unproved == ("tsybakov/rem-2",)


def test_noise_per_step_costs_the_same_privacy() -> None:
    output = account(corrected().schedule(PROBLEM, 64), assuming="all").epsilon(1e-5)
    steps = account(corrected(noise="steps").schedule(PROBLEM, 64)).epsilon(1e-5)
    assert steps == pytest.approx(output, rel=1e-6)


def test_refusals() -> None:
    with pytest.raises(Infeasible, match="power of two"):
        corrected().schedule(PROBLEM, 100)
    with pytest.raises(Infeasible, match="sqrt"):
        corrected().schedule(Problem.of(WORK, ApproxDP(4.0, 1e-5)), 64)
    with pytest.raises(InvalidInput, match="p >= 1"):
        LocalisedClipped(p=0.5)
    with pytest.raises(Infeasible, match="calls"):
        StochasticApproximation(**StochasticApproximation.readings["corrected"]).schedule(PROBLEM, 43)


def test_moments_average_with_weights_below_one() -> None:
    assert averaged_moment(WORK.constants, 4, 256) == pytest.approx(
        math.sqrt(1 - 1 / 256) * WORK.constants.moment(4, 1), rel=1e-12
    )


@pytest.mark.parametrize("noise", ["output", "steps"])
def test_a_run_ends_in_the_domain_and_beats_its_start_without_noise(noise: str) -> None:
    quiet = LocalisedClipped(**{**LocalisedClipped.readings["dialled"], "noise": noise, "noise_dial": 1e-3})
    data = Fresh(WORK, 40, 256, 7)
    w = quiet.fit(WORK, data, PROBLEM, rng=np.random.default_rng(3), trials=40)
    assert np.linalg.norm(w, axis=1).max() <= 1 + 1e-9
    # The start has excess |w*|^2/2 = 0.125; the mean of 40 trials is 0.0242 with standard error 0.0012: 0.03 is 5 of
    # them away, a failure probability below 1e-5 over fresh seeds.
    assert WORK.excess_risk(w).mean() < 0.03


def test_replay_of_a_neighbour_moves_each_phase_by_its_claim() -> None:
    """θ = 2 is an isotropic quadratic: the claimed sensitivity holds in every dimension."""
    rng = np.random.default_rng(5)
    data = rng.normal(size=(1, 32, 2)) * 3
    other = data.copy()
    other[0, 3] = [-9.0, 4.0]
    schedule = corrected().schedule(PROBLEM, 32)
    first = Run(schedule, 6, rng)
    start = np.zeros((1, 2))
    corrected().execute(first, WORK, Fixed(data), start)
    second = Run(schedule, 6, None, first.transcript)
    corrected().execute(second, WORK, Fixed(other), start)
    moves = [
        np.linalg.norm(a.core - b.core, axis=-1).max()
        for a, b in zip(first.transcript.entries, second.transcript.entries, strict=True)
    ]
    assert moves[0] <= schedule.releases[0].reads[0].sensitivity * (1 + 1e-9)
    assert moves[0] > 0.01 * schedule.releases[0].reads[0].sensitivity
    assert max(moves[1:]) == 0


def test_part_sizes() -> None:
    assert sum(doubling_parts(2**16, 4.0, part_exponent(4.0, "printed"))) == 1.5 * 2**16
    for base in (1.5, 2.0, 4.0):
        for n in (2**10, 2**16, 2**30):
            found = doubling_parts(n, base, part_exponent(base, "proof"))
            assert sum(found) <= n
    with pytest.raises(Infeasible, match="together"):
        IteratedLocalised(theta_bar=4.0, **printed_sizes()).schedule(PROBLEM, 2**16)
    assert StochasticApproximation.epochs(43) == 0
    assert StochasticApproximation.epochs(44) == 1
    assert StochasticApproximation.epochs(256) == 2


def printed_sizes() -> dict[str, object]:
    return {**IteratedLocalised.readings["corrected"], "sizes": "printed"}


def test_epochs_nest_and_account_in_parallel() -> None:
    approx = StochasticApproximation(**StochasticApproximation.readings["corrected"])
    schedule = approx.schedule(PROBLEM, 256)
    assert [e.records for e in schedule.phases] == [128, 128]
    assert schedule.releases[7].name == "epoch 2/phase 1"
    assert schedule.releases[7].reads[0].start == 128
    assert account(schedule, assuming="all").epsilon(1e-5) < 3.0
    w = approx.fit(WORK, Fresh(WORK, 5, 256, 1), PROBLEM, rng=np.random.default_rng(0), trials=5)
    assert w.shape == (5, 2)
    assert np.linalg.norm(w, axis=1).max() <= 1 + 1e-9
    iterated = IteratedLocalised(**IteratedLocalised.readings["corrected"])
    w = iterated.fit(WORK, Fresh(WORK, 5, 64, 1), PROBLEM, rng=np.random.default_rng(0), trials=5)
    assert np.isfinite(w).all()


def test_growth_constant_by_brute_force() -> None:
    rng = np.random.default_rng(4)
    for theta, reach in ((2.0, 1.0), (3.0, 2.0), (4.0, 2.0), (4.0, 5.0)):
        work = SparseTilt(v=V, size=1.0, chance=1.0, theta=theta, reach=reach)
        w = rng.normal(size=(4000, 2))
        w *= (reach * rng.random(4000) / np.linalg.norm(w, axis=1))[:, None]
        ratio = work.excess_risk(w) / np.linalg.norm(w - work.best, axis=1) ** theta
        assert ratio.min() >= growth_constant(theta, reach) * (1 - 1e-9)
