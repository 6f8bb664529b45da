"""Algorithms 6 and 7 of tsybakov, its noise calibrations, packings, hard instances and the plug-in estimator."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpcheck.accounting import account
from dpcheck.accounting.calibration import gaussian_sigma
from dpcheck.algorithms.tsybakov.accelerated import IteratedAccelerated, PermutedAccelerated, local_shuffled
from dpcheck.algorithms.tsybakov.baseline import PoissonSGD
from dpcheck.algorithms.tsybakov.hard_instances import plug_in, private_instance, sign_packing, statistical_instance
from dpcheck.algorithms.tsybakov.mechanisms import local_law, local_randomiser, printed_gaussian
from dpcheck.engine.statements import bound_of
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Problem
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Fresh, Run
from dpcheck.workloads.tilted_power import SparseTilt

WORK = SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=2.0, reach=2.0)


def problem(epsilon: float, delta: float = 1e-5) -> Problem:
    return Problem.of(WORK, ApproxDP(epsilon, delta))


def test_plan_of_algorithm_6() -> None:
    n, epsilon = 4096, 0.5
    plan = PermutedAccelerated(calibration="plain").plan(problem(epsilon), n)
    r, ratio = WORK.constants.moment(2.0, 1), epsilon * n / math.sqrt(2 * math.log(1e5))
    assert plan.level == pytest.approx(r * math.sqrt(ratio))
    assert math.ceil(math.sqrt(2 * 1.0 / r) * min(ratio**0.25, n**0.25)) == plan.T
    assert plan.sigma == pytest.approx(gaussian_sigma(2 * plan.level / plan.b, epsilon, 1e-5))
    assert plan.gamma >= 2
    schedule = PermutedAccelerated(calibration="plain").schedule(problem(epsilon), n)
    assert schedule.gradients == plan.T * plan.b <= n
    assert account(schedule).epsilon(1e-5) <= epsilon * (1 + 1e-9)


def test_calibrations_at_practical_sizes() -> None:
    """Noise per record wins over noise per batch only for many more batches than n^(1/4) (S19)."""
    n, delta = 10**4, 1e-6
    epsilon = math.sqrt(math.log(n / delta) / n) * 2

    def sigma(calibration: str, T: int) -> float:
        fixed = PermutedAccelerated(calibration=calibration, batches=T)  # type: ignore[arg-type]
        return fixed.plan(problem(epsilon, delta), n).sigma

    assert sigma("plain", 20) < sigma("shuffle", 20)
    assert sigma("plain", 5000) > sigma("shuffle", 5000)
    assert sigma("best", 20) == sigma("plain", 20)
    literal = PermutedAccelerated(calibration="literal", batches=20)
    plan = literal.plan(problem(epsilon, delta), n)
    assert plan.sigma**2 == pytest.approx(64 * plan.level**2 * 20 * math.log(1 / delta) / (n * epsilon) ** 2)
    assert literal.schedule(problem(epsilon, delta), n).claimed is None


def test_local_budget_satisfies_the_lemma() -> None:
    local, local_delta = local_shuffled(0.05, 1e-6, 10**5, "tsybakov/alg-6")
    spread = 8 * math.sqrt(math.exp(local) * math.log(8e6) / 1e5) + 8 * math.exp(local) / 1e5
    assert math.log1p(math.tanh(local / 2) * spread) <= 0.05 * (1 + 1e-9)
    assert (math.exp(0.05) + 1) * (1 + math.exp(-local) / 2) * 1e5 * local_delta == pytest.approx(5e-7)
    with pytest.raises(Infeasible, match="epsilon_0") as caught:
        local_shuffled(0.05, 1e-6, 100, "tsybakov/alg-6")
    assert caught.value.smallest_n is not None


def test_batches_follow_a_permutation_that_differs_between_trials() -> None:
    rng = np.random.default_rng(0)
    data = Fixed(rng.normal(size=(1, 12, 2)))
    method = PermutedAccelerated(batches=3, noise_dial=1e-12)
    schedule = method.schedule(problem(1.0), 12)
    run = Run(schedule, 4, rng)
    method.execute(run, WORK, data, np.zeros((1, 2)))
    first = [entry.core for entry in run.transcript.entries]
    assert len(first) == 3
    assert np.ptp(first[0][:, 0]) > 0  # different trials see different first batches


def test_risk_of_algorithm_6_is_below_its_bound() -> None:
    """Mean of 200 trials; the bound is several standard errors above it, so the failure probability is negligible."""
    method, n = PermutedAccelerated(), 4096
    w = method.fit(WORK, Fresh(WORK, 200, n, 3), problem(1.0), rng=np.random.default_rng(1), trials=200)
    risk = WORK.excess_risk(w)
    assert risk.mean() + 6 * risk.std() / math.sqrt(200) < bound_of("tsybakov/thm-6@derived", method, problem(1.0), n)


def test_printed_weights_keep_the_start() -> None:
    """At T = 1 both weights a of a step enter once: the output moves by a² g/(2γ), a = 1 against 2/3."""
    far = np.array([[0.6, 0.8]])
    moved = {}
    for weights in ("corrected", "printed"):
        method = PermutedAccelerated(batches=1, noise_dial=1e-9, weights=weights)  # type: ignore[arg-type]
        schedule = method.schedule(problem(1.0), 64)
        end = method.execute(Run(schedule, 1, np.random.default_rng(0)), WORK, Fresh(WORK, 1, 64, 5), far)
        moved[weights] = float(np.linalg.norm(end - far))
    assert moved["printed"] == pytest.approx(4 / 9 * moved["corrected"], rel=1e-6)


def test_algorithm_7_runs_on_doubling_parts() -> None:
    for reading in ("corrected", "shrinking", "dialled"):
        method = IteratedAccelerated(**IteratedAccelerated.readings[reading])
        schedule = method.schedule(problem(1.0), 1024)
        sizes = [e.records for e in schedule.phases]
        assert all(b in (2 * a, 2 * a + 1) for a, b in itertools.pairwise(sizes))
        assert 512 <= sum(sizes) <= 1024
        w = method.fit(WORK, Fresh(WORK, 8, 1024, 2), problem(1.0), rng=np.random.default_rng(2), trials=8)
        assert np.linalg.norm(w, axis=1).max() <= 1 + 1e-8


def test_packing_is_apart() -> None:
    V = sign_packing(60, np.random.default_rng(0))
    assert len(V) == 8
    differ = (V[:, None] != V[None]).sum(axis=2)
    assert differ[~np.eye(8, dtype=bool)].min() >= 8
    with pytest.raises(InvalidInput, match="found only"):
        sign_packing(1, np.random.default_rng(0), 3)
    with pytest.raises(InvalidInput, match="too many to look for at d = 100000; give size="):
        sign_packing(100_000, np.random.default_rng(0))


def test_instances_have_the_stated_moments() -> None:
    v = np.ones(64)
    for k, chance in ((2.0, 0.01), (4.0, 0.1)):
        literal = private_instance(v, chance, k=k, theta=2.0, r_k=2.0, ball="printed")
        repaired = private_instance(v, chance, k=k, theta=2.0, r_k=2.0, ball="corrected")
        assert repaired.constants.moment(k, 1) <= 2.0
        # E sup |gradient|^k: the power is as steep on the printed ball as the atom is long.
        excess = literal.constants.moment(k, 1) ** k / 2.0**k
        assert excess == pytest.approx(1 + (1 / chance - 1) * 2.0**-k)
        assert np.linalg.norm(repaired.mean) == pytest.approx(chance ** ((k - 1) / k))
    product = statistical_instance(v, 0.1, theta=2.0, r_k=2.0)
    assert product.lengths[0][0] == pytest.approx(1.0)
    assert np.linalg.norm(product.mean) == pytest.approx(0.1)
    means = product.draw(np.random.default_rng(1), 400, 100, means_only=True).values[:, 0]
    rows = product.draw(np.random.default_rng(2), 400, 100).values.mean(axis=1)
    # Six standard errors of 400 x 64 coordinates: failure probability below 1e-8.
    tolerance = 6 * product.size / math.sqrt(400 * 64 * 100)
    assert means.mean() == pytest.approx(product.mean[0], abs=tolerance)
    assert rows.mean() == pytest.approx(product.mean[0], abs=tolerance)


def test_plug_in_finds_the_minimiser_without_noise() -> None:
    work = private_instance(np.array([1.0, -1.0, 1.0]), 0.5, k=2.0, theta=4.0, r_k=2.0, ball="corrected")
    found = plug_in(work, work.mean[None], 10, 5.0, 1e12, np.random.default_rng(0))
    assert found[0] == pytest.approx(work.best, abs=1e-4)


def test_mechanisms_have_the_printed_noise() -> None:
    assert printed_gaussian(2.0, 0.5, 0.1).sigma == pytest.approx(16 * math.sqrt(math.log(10)))
    law = local_law(3.0, 0.5, 1e-5)
    assert law.sigma**2 == pytest.approx(8 * 9 * math.log(1e5) / 0.25)
    assert law.delta(0.5, 6.0) <= 1e-5
    z = local_randomiser(np.full((4, 2), 1e9), 1.0, 0.5, 0.5, np.random.default_rng(0))
    assert np.abs(z).max() < 1e3
    with pytest.raises(InvalidInput, match="epsilon > 0"):
        printed_gaussian(1.0, 0.0, 0.1)


def test_dp_sgd_is_calibrated_by_the_accountant() -> None:
    method = PoissonSGD(T=20, b=16, level=1.0, eta=0.1)
    schedule = method.schedule(problem(1.0), 256)
    spent = account(schedule).epsilon(1e-5)
    assert 0.9 < spent <= 1.0 + 1e-6
    assert schedule.gradients == 320
    w = method.fit(
        WORK, Fixed(WORK.rows(np.random.default_rng(0), 1, 256)), problem(1.0), rng=np.random.default_rng(1), trials=6
    )
    assert w.shape == (6, 2)
    assert np.linalg.norm(w, axis=1).max() <= 1 + 1e-9
    with pytest.raises(Infeasible, match="batch"):
        method.schedule(problem(1.0), 8)
