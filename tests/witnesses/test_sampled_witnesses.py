"""Witnesses of audits: certificates from counts, at a fixed number of trials and at a time chosen by looking."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpcheck as dp
from dpcheck.auditing.inputs import pack, unpack
from dpcheck.errors import InvalidInput, WitnessRejected
from dpcheck.statistics.binomial import epsilon_lower_conditional
from dpcheck.statistics.weighted import most_leaks
from dpcheck.witnesses import sampled

ALPHA = Fraction(1, 20)


def wealth(right: int, wrong: int, samples: int, epsilon: float, delta: float) -> float:
    """The naive twin: the average over stakes of the product of payments, trial by trial."""
    most = math.exp(epsilon) + delta
    stakes = (np.arange(256) + 0.5) / 256
    logs = right * np.log1p(stakes * (1 - delta) / most) + wrong * np.log1p(-stakes)
    logs += (samples - right - wrong) * np.log1p(-stakes * delta / most)
    return float(np.mean(np.exp(logs)))


@pytest.mark.parametrize(("right", "wrong", "samples", "delta"), [(80, 8, 400, 0.0), (300, 10, 1000, 0.01)])
def test_stopped_epsilon_is_where_the_wealth_is_twenty(right: int, wrong: int, samples: int, delta: float) -> None:
    found = float(sampled.stopped_epsilon(right, wrong, samples, Fraction(str(delta)), ALPHA))
    assert wealth(right, wrong, samples, found, delta) == pytest.approx(20, rel=1e-9)
    assert found < float(epsilon_lower_conditional(right, wrong, 0.05))  # looking whenever one likes has its price


def test_fixed_certificate_of_a_pure_claim_is_clopper_pearson() -> None:
    found = float(sampled.certified_epsilon(80, 8, 400, Fraction(0), ALPHA))
    assert found == pytest.approx(float(epsilon_lower_conditional(80, 8, 0.05)), rel=1e-9)


@pytest.mark.parametrize("samples", [10**3, 10**6, 10**9])
def test_certificates_of_any_number_of_trials(samples: int) -> None:
    """Forged counts of 10^9 trials, summed term by term, kept a verifier busy for longer than anyone waits."""
    right, wrong = samples * 6 // 10, samples // 5
    for certify in (sampled.certified_epsilon, sampled.fitted_epsilon):
        found = float(certify(right, wrong, samples, Fraction(0), ALPHA))
        assert found == pytest.approx(float(epsilon_lower_conditional(right, wrong, 0.05)), rel=1e-9)
    told = {"epsilon": "1", "delta": "0", "failure_probability": "0.05", "label": "audit/this"}
    with pytest.raises(ValueError, match="at most 100,000,000,000 trials"):
        sampled.event_counts(right=samples, wrong=0, samples=10**12, **told)


@given(st.integers(1, 400), st.integers(0, 400), st.sampled_from([1e-9, 1e-3, 0.05, 0.5]))
def test_the_least_chance_is_a_root(right: int, wrong: int, level: float) -> None:
    share = sampled._least_chance(right, right + wrong, mpmath.mpf(level))
    assert stats.binom.sf(right - 1, right + wrong, float(share)) == pytest.approx(level, rel=1e-9)


@given(st.integers(1, 3000), st.floats(1e-6, 0.9), st.sampled_from([1e-9, 1e-3, 0.01]))
def test_the_most_leaks_are_a_quantile(samples: int, delta: float, chance: float) -> None:
    leaks = sampled._most_leaks(samples, mpmath.mpf(delta), mpmath.mpf(chance))
    assert leaks == most_leaks(samples, delta, chance)[0]


def test_payments_are_fair_on_the_boundary_of_the_null() -> None:
    """Mean payment of one trial at P(right) = e^epsilon P(wrong) + delta, for every stake: exactly 1."""
    for epsilon, delta, wrong in ((1.0, 0.0, 0.2), (0.5, 0.05, 0.1), (2.0, 1e-5, 0.01)):
        most, right = math.exp(epsilon) + delta, math.exp(epsilon) * wrong + delta
        for stake in (0.01, 0.5, 0.99):
            bet = stake / most
            mean = right * (1 + bet * (1 - delta)) + wrong * (1 - stake) + (1 - right - wrong) * (1 - bet * delta)
            assert mean == pytest.approx(1, abs=1e-12)


def test_coverage_when_stopping_at_the_best_look() -> None:
    """2,000 runs at the boundary of 1-DP, stopped where they look worst: binomial(2000, 0.05), above 130 with 2e-3."""
    rng = np.random.default_rng(0)
    share = math.e / (1 + math.e)
    looks = np.unique(np.geomspace(4, 400, 40).astype(int))
    right = np.cumsum(rng.random((2000, 400)) < share, axis=1)[:, looks - 1]
    alarms = sum(
        any(wealth(int(r), int(n - r), int(n), 1.0, 0.0) >= 20 for r, n in zip(row, looks, strict=True))
        for row in right
    )
    assert alarms <= 130
    # The fixed certificate at the same looks would not keep its level.
    naive = (stats.binom.sf(right - 1, looks, share) <= 0.05).any(axis=1).mean()
    assert naive > 0.12


def test_power_of_the_stopped_certificate() -> None:
    """A law of epsilon 1.5 against 1: 1,200 guesses refute it in all but few of 200 runs (fewer than 180: 1e-6)."""
    rng = np.random.default_rng(1)
    right = rng.binomial(1200, 1 / (1 + math.exp(-1.5)), size=200)
    assert sum(wealth(int(r), 1200 - int(r), 1200, 1.0, 0.0) >= 20 for r in right) >= 180


@pytest.mark.parametrize("delta", [0.0, 2e-3])
def test_the_fitted_certificate_keeps_its_level_whatever_leaks_where(delta: float) -> None:
    """Tight at epsilon 1: leaks are right, others with probability e/(1+e), and the rule may know how many leaked."""
    rng = np.random.default_rng(0)
    samples, alarms = 2000, 0
    # The same counts have the same bound.
    fitted = functools.cache(sampled.fitted_epsilon)
    for _ in range(400):
        leaks = int(rng.binomial(samples, delta))
        # Guesses are few, and fewer still where much leaked: the chance of a guess says nothing here.
        guesses = 60 + (100 if leaks == 0 else 0)
        right = leaks + int(rng.binomial(guesses, math.e / (1 + math.e)))
        bound = fitted(right, guesses + leaks - right, samples, Fraction(str(delta)), Fraction(1, 20))
        alarms += bool(bound > 1)
    # At most binomial(400, 0.05): more than 35 has probability 1e-3.
    assert alarms <= 35


def test_the_fitted_certificate_against_the_leaks_of_the_audit() -> None:
    for right, wrong, delta in ((300, 30, 1e-3), (50, 2, 1e-3), (900, 100, 1e-5), (40, 0, 0.0)):
        leaks, _ = most_leaks(2000, delta, 0.05 / 50)
        share = 0.05 * (1 - 1 / 50) if delta else 0.05
        expected = float(epsilon_lower_conditional(right - leaks, wrong, share))
        found = sampled.fitted_epsilon(right, wrong, 2000, Fraction(str(delta)), Fraction(1, 20))
        assert float(found) == pytest.approx(expected, abs=1e-9)
    assert sampled.fitted_epsilon(2, 0, 2000, Fraction(1, 100), Fraction(1, 20)) == 0


def test_verify_takes_all_kinds_and_refuses_nonsense() -> None:
    parameters = {
        "right": 300, "wrong": 30, "samples": 600, "epsilon": "1.0", "delta": "0", "failure_probability": "0.05",
        "label": "audit/m",
    }  # fmt: skip
    fixed, stopped = sampled.event_counts(**parameters), sampled.stopped_counts(**parameters)
    assert fixed.violated
    assert stopped.violated
    assert stopped.found < fixed.found
    assert sampled.fitted_counts(**parameters).found == fixed.found
    one = sampled.event_counts(**{**parameters, "delta": "0.02", "directions": 1})
    assert one.found == sampled.event_counts(**{**parameters, "delta": "0.01"}).found
    for change in ({"directions": 3}, {"right": -1}, {"samples": 10}, {"failure_probability": "2"}):
        with pytest.raises(ValueError, match=r"directions|ranges"):
            sampled.event_counts(**{**parameters, **change})


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.1, np.pi, -1e300]),
        np.arange(6).reshape(2, 3),
        np.array(["a", "bc"]),
        np.zeros((3000, 2)),
        {"count": 3, "names": ["x"]},
        [1, 2.5],
        None,
    ],
)
def test_inputs_survive_packing(values: object) -> None:
    found = unpack(pack(values))
    if isinstance(values, np.ndarray):
        assert found.dtype == values.dtype
        np.testing.assert_array_equal(found, values)
    else:
        assert found == values


def test_what_cannot_be_packed_is_described() -> None:
    assert pack(object)["type"] == "type"
    noise = pack(np.random.default_rng(0).random(400_000))
    assert set(noise) == {"dtype", "shape", "sha256"}
    objects = pack(np.array([{"a": 1}, None], dtype=object))
    assert objects["type"] == "array of objects"
    for described in (noise, objects):
        with pytest.raises(InvalidInput, match="does not hold the values"):
            unpack(described)


def test_a_witness_of_any_pair_holds_the_data() -> None:
    def laplace(data: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
        return np.asarray(data.sum() + rng.laplace(size=trials))

    data, far = np.zeros(2), np.array([1.5, 1.5])
    witness = dp.audit(laplace, data, far, dp.PureDP(1.0), trials=4000, adjacency=None).witness
    assert witness is not None
    again = dp.Witness.from_dict(witness.to_dict())
    assert dp.verify(again).violated
    np.testing.assert_array_equal(unpack(again.parameters["data"]), data)
    np.testing.assert_array_equal(unpack(again.parameters["neighbour"]), far)
    assert again.parameters["pair"] == "[0.0, 0.0] against [1.5, 1.5] (adjacency not checked)"


def test_an_anytime_witness_is_of_its_own_kind() -> None:
    def leaky(data: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
        return np.asarray(data.sum() + rng.laplace(size=trials) / 3)

    result = dp.audit(leaky, np.zeros(1), np.ones(1), dp.PureDP(1.0), trials=20_000, mode="anytime")
    witness = result.witness
    assert witness is not None
    assert witness.kind == "sampled.stopped_counts"
    assert 1.0 < float(witness.found) <= 3.0
    assert dp.verify(witness).violated
    passed_off = dp.Witness(
        label=witness.label, kind="sampled.event_counts", parameters=witness.parameters, claimed=witness.claimed,
        found=witness.found,
    )  # fmt: skip
    with pytest.raises(WitnessRejected, match="found is given as"):
        dp.verify(passed_off)
