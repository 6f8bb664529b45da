"""Randomness that does not come from the generator that is handed over: noticed, and told from what only looks so."""

from __future__ import annotations

import random

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.errors import MechanismError

ZERO, ONE = np.zeros(1), np.ones(1)


@pytest.fixture(autouse=True)
def _seeded():
    """What comes from elsewhere is the same in every session: by chance it may look like outputs that have an order."""
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)


def of_numpy(data, rng, trials):
    return data.sum() + np.random.laplace(size=trials)  # noqa: NPY002 - what is to be noticed


def of_python(data, rng):
    return data.sum() + random.gauss(0, 1) if rng.random() < 0.5 else random.random()


def seeded(data, rng, trials):
    """As libraries have to be called that know no generator: all of it comes from the one that is handed over."""
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    return data.sum() + np.random.laplace(size=trials)  # noqa: NPY002


def idle(data, rng, trials):
    """The global generator moves, and no output depends on it."""
    np.random.random()  # noqa: NPY002
    return data.sum() + rng.laplace(size=trials)


@pytest.mark.parametrize("how", [{}, {"mode": "anytime"}, {"workers": 1}])
@pytest.mark.parametrize("mechanism", [of_numpy, dp.vectorize(of_python)])
def test_a_global_generator_is_noticed(mechanism, how):
    found = dp.audit(mechanism, ZERO, ONE, dp.PureDP(3.0), trials=1500, **how)
    assert found.outcome == "undecided"
    assert found.epsilon_lower == 0
    assert "draw from the `rng` argument" in found.reason()
    assert found.premise.endswith("it does not")


@pytest.mark.parametrize("mechanism", [seeded, idle])
def test_one_that_decides_nothing_is_none(mechanism):
    found = dp.audit(mechanism, ZERO, ONE, dp.PureDP(3.0), trials=1500)
    assert found.outcome == "consistent", found


def test_the_global_state_is_left_as_it_was_found():
    random.seed(5)
    dp.audit(dp.vectorize(lambda data, rng: rng.laplace() + 0 * data.sum()), ZERO, ONE, dp.PureDP(3.0), trials=200)
    after = random.random()
    random.seed(5)
    assert random.random() == after


def test_the_attack_finds_it_and_nothing_is_recorded():
    finding = dp.attacks.state(of_numpy, ZERO, ONE)
    assert finding.found
    assert "np.random" in finding.detail
    with pytest.raises(MechanismError, match="draw from the `rng` argument"):
        dp.record_outputs(of_numpy, ZERO, ONE, trials=200)
    assert not dp.attacks.state(seeded, ZERO, ONE).found
