"""Records that draw their places: bugs of the algorithm and of its noise are noticed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from checkout import collected

from dpcheck.algorithms.tsybakov import accelerated
from dpcheck.algorithms.tsybakov.accelerated import PermutedAccelerated, placed_batches
from dpcheck.checks import Context
from dpcheck.errors import Infeasible
from dpcheck.interfaces import Problem
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Verdict
from dpcheck.workloads.tilted_power import SparseTilt

LABEL = "tsybakov/alg-6@placed"
PLANE = SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=2.0, reach=2.0)


def judged(name: str, **cell: object) -> Verdict:
    check = collected().checks[f"{LABEL}::{name}"]
    return check.function(Context(LABEL, name, cell, failure_probability=1e-6), **cell)  # type: ignore[no-any-return]


def planned(epsilon: float, delta: float = 1e-5, n: int = 4000, **fields: object) -> PermutedAccelerated:
    algorithm = PermutedAccelerated(calibration="placed", **fields)  # type: ignore[arg-type]
    algorithm.schedule(Problem.of(PLANE, ApproxDP(epsilon, delta)), n)
    return algorithm


def with_variance(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    honest = PermutedAccelerated.sigma_of_places
    monkeypatch.setattr(
        PermutedAccelerated, "sigma_of_places", lambda self, *given: math.sqrt(factor) * honest(self, *given)
    )


def test_honest_noise_holds():
    found = judged("drawn_places_are_private", epsilon=0.25, delta=1e-12)
    assert found.outcome == "holds"
    assert found.numbers["bound over delta"] < 0.1


@pytest.mark.parametrize(("factor", "outcome"), [(1 / 4, "refuted"), (3 / 8, "undecided")])
def test_less_noise_is_noticed(monkeypatch, factor, outcome):
    """A quarter of the variance is refuted by one odd record; with three eighths nobody can tell."""
    with_variance(monkeypatch, factor)
    assert judged("drawn_places_are_private", epsilon=0.25, delta=1e-12).outcome == outcome


def test_wrong_places_are_noticed(monkeypatch):
    """All in the first batch; or means where sums over n/(2T) belong."""
    assert judged("lines_of_placed_batches", loss="plane").outcome == "holds"

    def first(run, workload, data, plan):
        run.coins, coins = (lambda draw: np.roll(coins(draw), 1, axis=2)), run.coins
        return placed_batches(run, workload, data, plan)

    monkeypatch.setattr(accelerated, "placed_batches", first)
    assert judged("lines_of_placed_batches", loss="plane").outcome == "differs"


@pytest.mark.parametrize(
    ("epsilon", "delta", "batches"), [(0.3, 1e-5, 1), (0.25, 1e-5, 47), (0.1, 1e-200, 201), (0.1, 0.5, 1)]
)
def test_outside_of_what_is_proved_it_plans_nothing(epsilon, delta, batches):
    with pytest.raises(Infeasible, match="T epsilon"):
        planned(epsilon, delta, batches=batches)


def test_places_are_drawn_evenly_and_batches_are_unbiased():
    """Each record is in one batch at most, in each with chance 1/(2T); the mean over runs is the clipped mean."""
    algorithm, n, trials = planned(0.1, batches=3, level=1.0), 20, 20_000
    plan = algorithm.schedule(Problem.of(PLANE, ApproxDP(0.1, 1e-5)), n)
    rows = np.random.default_rng(0).standard_normal((1, n, 2)) * 3
    run = Run(plan, trials, np.random.default_rng(1))
    clipped = placed_batches(run, PLANE, Fixed(rows), plan.phases[0])
    w = np.array([[0.3, -0.2]])
    g = PLANE.gradient(w[:, None], rows)[0]
    wanted = (g * np.minimum(1, 1 / np.linalg.norm(g, axis=1, keepdims=True))).mean(axis=0)
    (places,) = run.transcript.coins
    assert (places.sum(axis=2) == 1).all()
    shares = places.mean(axis=0)
    assert np.abs(shares[:, :3] - 1 / 6).max() < 5 * math.sqrt(1 / 6 / trials)
    for t in (1, 2, 3):
        seen = clipped(t, np.repeat(w, trials, axis=0))
        assert np.abs(seen.mean(axis=0) - wanted).max() < 5 * math.sqrt(6 / n / trials)
