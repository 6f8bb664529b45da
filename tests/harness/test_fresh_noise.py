"""Noise that is missing or shared is found, whatever the scale; fresh noise never is."""

import numpy as np
import pytest
from harness_toys import (
    Bare,
    Halting,
    Mean,
    Nested,
    NoiseOfOneCoordinate,
    NoiseOfOneTrial,
    NoiseReused,
    NoisyDescent,
    NoisyMean,
    Selection,
    UserMean,
    problem,
)

from dpcheck.harness import noise
from dpcheck.harness.replay import Case
from dpcheck.running import Run
from dpcheck.verdicts import Outcome


def judged(algorithm, run=Run, d=1, trials=5, n=8, seed=0, users=False, offset=0.3):
    data = np.full((1, n, 3, d) if users else (1, n, d), offset)
    case = Case(algorithm, Mean(d=d), problem(d=d), run=run, seed=seed)
    return noise.verdict(case.planned(n), case.replay(data, data, trials).history)


@pytest.mark.parametrize("algorithm", [NoisyMean(), NoisyDescent(), Nested(), Selection(), Halting()])
def test_fresh_noise_is_never_flagged(algorithm):
    for seed in range(40):
        answer = judged(algorithm, seed=seed, n=9 if isinstance(algorithm, Halting) else 8)
        assert answer.outcome is Outcome.CONSISTENT, answer.reason


def test_users_and_large_cores_are_not_flagged():
    assert judged(UserMean(), d=3, users=True).outcome is Outcome.CONSISTENT
    # Rounding of a core of 1e6 next to noise of 0.1 leaves few digits: still no false alarm.
    assert judged(NoisyDescent(steps=8), offset=1e6, trials=50).outcome is Outcome.CONSISTENT


@pytest.mark.parametrize(
    ("algorithm", "run", "d", "words"),
    [
        (NoisyDescent(steps=3), NoiseReused, 1, "use 2 of 'gradient' has the noise of use 1 of 'gradient'"),
        (Nested(), NoiseReused, 1, "use 1 of 'phase 2/mean' has the noise of use 1 of 'phase 1/mean'"),
        (NoisyMean(), NoiseOfOneTrial, 1, "same noise in every trial"),
        (NoisyMean(), NoiseOfOneCoordinate, 4, "same noise in every coordinate"),
        (NoisyDescent(steps=3), Bare, 2, "use 3 of 'gradient' is released without noise"),
    ],
)
def test_mutants_are_refuted(algorithm, run, d, words):
    answer = judged(algorithm, run, d=d)
    assert answer.outcome is Outcome.REFUTED
    assert words in answer.reason


def test_reuse_across_different_scales_is_found():
    case = Case(Nested(), Mean(), problem(), run=NoiseReused)
    wider = case.planned(8).edit("phase 2/mean", law=lambda law: type(law)(scale=7 * law.scale))
    data = np.full((1, 8, 1), 0.3)
    seen = Case(Nested(), Mean(), problem(), schedule=wider, run=NoiseReused).replay(data, data, 4)
    assert "phase 2/mean" in noise.reused(wider, seen.history)[0]
