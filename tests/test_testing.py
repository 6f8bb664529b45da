"""`assert_private` and what goes with it."""

import numpy as np
import pytest
from hypothesis import given, settings

import dpcheck as dp
from dpcheck.errors import InvalidInput
from dpcheck.privacy import changed_records


def private_mean(records, epsilon, rng):
    return float(np.mean(records) + rng.laplace(scale=1 / (len(records) * epsilon)))


def leaky_mean(records, epsilon, rng):
    return float(np.mean(records) + rng.laplace(scale=0.5 / (len(records) * epsilon)))


def test_a_private_mean_says_what_it_could_have_found(tmp_path):
    result = dp.testing.assert_private(
        dp.vectorize(lambda data, rng: private_mean(data, epsilon=1.0, rng=rng)),
        *dp.testing.worst_pairs(n=20),
        dp.PureDP(1.0),
        trials=3000,
        witnesses=tmp_path,
    )
    assert "private_mean is consistent with 1-DP" in str(result)
    assert not list(tmp_path.iterdir())


def test_a_leak_fails_with_its_witness(tmp_path):
    with pytest.raises(AssertionError) as caught:
        dp.testing.assert_private(
            dp.vectorize(lambda data, rng: leaky_mean(data, epsilon=1.0, rng=rng)),
            *dp.testing.worst_pairs(n=20),
            claim=dp.PureDP(1.0),
            trials=6000,
            witnesses=tmp_path,
        )
    message = str(caught.value)
    assert message.startswith("leaky_mean is not 1-DP: certified ε ≥ 1.")
    for line in ("event", "seen", "20 records in [0, 1], record 10 changed from 0 to 1", "likely", "reproduce"):
        assert line in message
    (saved,) = tmp_path.iterdir()
    assert dp.verify(dp.Witness.load(saved)).violated


def test_worst_pairs():
    data, neighbour = dp.testing.worst_pairs(5, -1.0, 2.0, d=3)
    assert data.shape == (5, 3)
    assert changed_records(data, neighbour, "replace-one") == (2,)
    with pytest.raises(InvalidInput, match="low < high"):
        dp.testing.worst_pairs(5, 1.0, 0.0)
    with pytest.raises(InvalidInput, match="n must be"):
        dp.testing.worst_pairs(0)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(dp.testing.guarantees())
def test_guarantees_fall_in_epsilon(claim):
    assert 1 >= claim.delta_at(0.1) >= claim.delta_at(1.0) >= 0
