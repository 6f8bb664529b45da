"""Noisy steps in closed form: a phase against its own steps, and the phases that no normal law describes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpcheck.algorithms.tsybakov.localised import Phase
from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling import Instance
from dpcheck.harness.scaling.turned_back import noisy_phases
from dpcheck.interfaces import Problem
from dpcheck.privacy import ApproxDP
from dpcheck.workloads.linear import TwoPoint
from dpcheck.workloads.power_well import KnownWell

PHASE = Phase(
    name="phase 1", start=0, records=2**20, eta=0.01, weight=0.5, steps=4000, level=9.0, sigma=0.4, sensitivity=1.0,
    radius=1.0, per_step=True,
)  # fmt: skip


@dataclass(frozen=True)
class Told:
    """An algorithm that has these phases, or calls of them."""

    phases: tuple[Any, ...]

    def schedule(self, problem: Problem, n: int) -> Any:
        return SimpleNamespace(phases=self.phases)


@dataclass(frozen=True)
class Call:
    """A call of that radius."""

    inner: Told
    radius: float


def bowl(d: int, curvature: float = 1.0, theta: float = 2.0) -> KnownWell:
    e_1 = np.eye(d)[0]
    return KnownWell(c=0.25 * e_1, v=e_1, theta=theta, weight=curvature, chance=0.25, size=1.0, moment=3.0, L=9.0)


def ends(work: Any, *phases: Any, trials: int = 4000) -> Any:
    problem = Problem.of(work, ApproxDP(1.0, 1e-6))
    one = Instance(Told(phases), work, problem, 2**20, {})  # type: ignore[arg-type]
    return noisy_phases([one], np.random.default_rng(0), trials)[0]


def steps(work: KnownWell, phase: Phase, trials: int) -> Any:
    """The same step by step, from 0, on a mean of records that is drawn once a run."""
    rng = np.random.default_rng(1)
    w = np.zeros((trials, len(work.c)))
    shift = work.size * np.sqrt(work.chance / phase.records) * rng.standard_normal((trials, 1)) * work.v
    for _ in range(phase.steps):
        gradient = work.weight * (w - work.c) - shift + phase.weight * w
        w = work.project(w - phase.eta * (gradient + phase.sigma * rng.standard_normal(w.shape)))
    return w


def test_a_phase_on_a_bowl_ends_as_its_steps_do() -> None:
    phase, trials = replace(PHASE, steps=400, records=64), 1000
    near, far = ends(bowl(2), phase, trials=trials), steps(bowl(2), phase, trials)
    deviation = np.sqrt(phase.sigma**2 * phase.eta / (2 * 1.5) + 0.25 / 64 / 1.5**2)
    assert near.mean(axis=0) == pytest.approx(far.mean(axis=0), abs=5 * deviation * np.sqrt(2 / trials))
    assert near.std(axis=0) == pytest.approx(far.std(axis=0), rel=5 / np.sqrt(trials))
    half = ends(bowl(2), replace(phase, sigma=0.2), trials=trials)
    assert half[:, 1].std() < 0.6 * near[:, 1].std()


def test_the_interval_turns_back_what_would_leave_it() -> None:
    work = TwoPoint(D=2.0, G=1.0, rho=0.9)
    found = ends(work, replace(PHASE, sigma=9.0))
    assert np.abs(found).max() <= 1
    assert found.mean() < -0.1
    assert ends(work, replace(PHASE, weight=1e12, sigma=1e-3)).std() == 0


def test_phases_of_a_call_are_left_out_by_its_own_radius() -> None:
    still = replace(PHASE, weight=1e7, eta=1e-9, sigma=1e-3)

    def call(radius: float) -> Any:
        return Call(Told((still,)), radius)

    assert not ends(bowl(2), call(10.0)).any()
    assert ends(bowl(2), call(1e-3)).any()


def test_what_has_no_normal_law_is_refused() -> None:
    with pytest.raises(InvalidInput, match="clips the records"):
        ends(bowl(2), replace(PHASE, level=1.0))
    with pytest.raises(InvalidInput, match="edge of its ball"):
        ends(bowl(2), replace(PHASE, sigma=9.0))
    with pytest.raises(InvalidInput, match="exponent 4"):
        ends(bowl(1, theta=4.0), PHASE)
