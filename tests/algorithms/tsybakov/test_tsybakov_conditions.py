"""What the schedules of tsybakov refuse and claim: the Lipschitz condition, output noise, left-over records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpcheck.accounting import account
from dpcheck.algorithms.tsybakov import (
    IteratedLocalised,
    LocalisedClipped,
    PermutedAccelerated,
    StochasticApproximation,
)
from dpcheck.algorithms.tsybakov.localised import averaged_moment, corrected
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.harness.replay import Case
from dpcheck.interfaces import Problem
from dpcheck.privacy import ApproxDP
from dpcheck.workloads.tilted_power import SparseTilt

PRIVACY = ApproxDP(1.0, 1e-5)
TAME = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=2.0, reach=2.0)
RARE = SparseTilt(v=np.ones(1), size=2000.0, chance=1e-7, theta=2.0, reach=2.0)
CORRECTED: dict[str, Any] = dict(LocalisedClipped.readings["corrected"])


def told(work: SparseTilt) -> Problem:
    return Problem.of(work, PRIVACY)


def test_lipschitz_condition_is_that_of_theorem_1() -> None:
    n, problem = 256, told(RARE)
    tau = math.sqrt(math.sqrt(math.log(1e5) * math.log(n)) / n) + n**-0.5
    most = math.sqrt(n) * averaged_moment(RARE.constants, 4.0, n) * tau
    assert RARE.constants.lipschitz(2.0) > most
    with pytest.raises(Infeasible, match="L_f") as caught:
        corrected().schedule(problem, n)
    assert f"{most:.4g}" in str(caught.value)
    enough = float(str(caught.value).rsplit("p >= ", 1)[1].split()[0])
    assert LocalisedClipped(**CORRECTED, p=enough + 0.01).largest_lipschitz(problem, n) > RARE.constants.lipschitz(2.0)
    assert LocalisedClipped(**CORRECTED, lipschitz="ignored").schedule(problem, n).gradients > 0
    assert corrected().schedule(told(TAME), n).gradients > 0


@pytest.mark.parametrize("kind", [StochasticApproximation, IteratedLocalised])
def test_calls_check_the_condition_at_all_records(kind: type[Any]) -> None:
    with pytest.raises(Infeasible, match="at n = 1,024"):
        kind(**CORRECTED).schedule(told(RARE), 1024)
    assert kind(**CORRECTED, lipschitz="ignored").schedule(told(RARE), 1024).gradients > 0
    with pytest.raises(InvalidInput, match="lipschitz"):
        LocalisedClipped(lipschitz="maybe")  # type: ignore[arg-type]


def test_each_noise_claims_what_it_hides() -> None:
    plans = {kind: corrected(noise=kind).schedule(told(TAME), 64) for kind in ("output", "steps", "trivial")}  # type: ignore[arg-type]
    for output, steps, trivial in zip(*(plan.phases for plan in plans.values()), strict=True):
        moved = 2 * output.level / output.records
        assert steps.sensitivity == pytest.approx(moved)
        assert output.sensitivity == pytest.approx(moved / output.weight)
        assert trivial.sensitivity == pytest.approx(2 * output.level / output.weight)
    spent = {kind: account(plan).epsilon(1e-5) for kind, plan in plans.items()}
    assert spent["output"] == pytest.approx(spent["trivial"], rel=1e-9) == pytest.approx(spent["steps"], rel=1e-6)


def test_records_that_fill_no_batch_are_not_read() -> None:
    case = Case(PermutedAccelerated(calibration="plain", batches=3), TAME, told(TAME))
    data, other = np.zeros((1, 16, 1)), np.zeros((1, 16, 1))
    data[0, 15], other[0, 15] = 50.0, -50.0
    assert max(float(r.max()) for r in case.replay(data, other, 16).ratios().values()) == 0
    data, other = np.roll(data, 1, axis=1), np.roll(other, 1, axis=1)
    assert max(float(r.max()) for r in case.replay(data, other, 16).ratios().values()) == pytest.approx(1.0)
