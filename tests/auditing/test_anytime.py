"""Anytime audits: false alarms under optional stopping, power, resuming, constant memory."""

import json

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.errors import InvalidInput

ZERO, ONE = np.array([0.0]), np.array([1.0])


def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)


def gaussian(data, rng, trials):
    return data.sum() + rng.normal(size=trials)


@pytest.mark.parametrize(("mechanism", "claim"), [(laplace, dp.PureDP(1.0)), (gaussian, dp.ApproxDP(4.3772, 1e-5))])
def test_stopping_whenever_it_looks_good_keeps_the_level(mechanism, claim):
    alarms = sum(
        dp.audit(mechanism, ZERO, ONE, claim, trials=1000, mode="anytime", until="refuted", seed=s).outcome == "refuted"
        for s in range(16)
    )
    # At most binomial(16, 0.05): more than 4 has probability 9e-4.
    assert alarms <= 4


def test_bound_is_close_and_below():
    result = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=50_000, mode="anytime")
    assert 0.9 < result.epsilon_lower <= 1.0
    assert result.visible.looks == 11
    assert result.mode == "anytime"


def test_a_leak_stops_early():
    result = dp.audit(laplace, ZERO, ONE, dp.PureDP(0.4), trials=50_000, mode="anytime", until="refuted")
    assert result.outcome == dp.Outcome.REFUTED
    assert result.counts["samples"] < 5000
    assert result.epsilon_lower >= 0.4


def test_a_claimed_curve_falls_within_12000_samples():
    def less_noise(data, rng, trials):
        return data.sum() + 0.9 * rng.normal(size=trials)

    taken = []
    for seed in range(5):
        result = dp.audit(
            less_noise, ZERO, ONE, dp.GaussianDP(1.0), trials=30_000, mode="anytime", until="refuted", seed=seed
        )
        assert result.outcome == dp.Outcome.REFUTED
        taken.append(result.counts["samples"])
    assert np.median(taken) < 12_000


def test_resuming_is_the_same_as_never_stopping():
    whole = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=20_000)
    start = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=6000)
    kept = json.loads(json.dumps(start.state))
    resumed = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=20_000, resume=kept)
    assert resumed.counts["tested"] == whole.counts["tested"]
    # Same trials, looked at at other times: those of the first session's horizon.
    assert abs(resumed.epsilon_lower - whole.epsilon_lower) < 0.2
    with pytest.raises(InvalidInput, match="another audit"):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(2.0), mode="anytime", max_samples=20_000, resume=kept)
    with pytest.raises(InvalidInput, match="not the state"):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=20_000, resume={})


def test_state_does_not_grow():
    sizes = [
        len(json.dumps(dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=m).state))
        for m in (5000, 40_000)
    ]
    assert sizes[1] < 1.5 * sizes[0]


def test_options_belong_to_their_mode():
    with pytest.raises(InvalidInput, match="anytime"):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), until="refuted")
    with pytest.raises(InvalidInput, match="max_samples"):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=100)
    with pytest.raises(InvalidInput, match="until"):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", until="tired")
