"""Outputs of one value two by two: the share that is of one input, its level, and leaks that nothing else finds."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy
from curtailed import at_least, at_most

import dpcheck as dp
from dpcheck.auditing import alike
from dpcheck.auditing.stages import epsilon_lower
from dpcheck.witnesses import sampled

ZERO, ONE = np.zeros(1), np.ones(1)


def ticket(data, rng, trials):
    """Three of four tickets are of one input only."""
    known = np.r_[np.random.default_rng(5).random(50), np.random.default_rng([6, int(data.sum())]).random(150)]
    return np.c_[data.sum() + rng.laplace(scale=4.0, size=trials), rng.choice(known, size=trials)]


def leaning(values, epsilon):
    """Half of the values come e^epsilon times as often from one input, half from the other."""
    order = np.random.default_rng(values).permutation(values).reshape(2, -1)
    share = 1 / (1 + math.exp(epsilon))

    def run(data, rng, trials):
        half = rng.random(trials) < (share if data.sum() else 1 - share)
        return order[half.astype(int), rng.integers(values // 2, size=trials)]

    return run


def refuted(mechanism, claim, trials):
    def found(seed):
        return dp.audit(mechanism, ZERO, ONE, claim, trials=trials, seed=seed).outcome is dp.Outcome.REFUTED

    return found


def test_three_outputs_of_one_value_are_one_pair():
    ours, theirs = np.array([[1.0], [1.0], [2.0], [3.0]]), np.array([[2.0], [4.0], [-0.0], [0.0]])
    assert alike.pairs((ours, theirs), np.random.default_rng(0)) == (2, 1)
    assert sum(alike.pairs((ours[[0, 0, 0]], theirs), np.random.default_rng(0))) == 2
    assert alike.pairs((ours[:0], theirs[:0]), np.random.default_rng(0)) == (0, 0)


def test_which_outputs_make_a_pair_is_drawn():
    """Two of either input: one pair in three ways is of one input in all."""
    rows = np.zeros((2, 1))
    same = [alike.pairs((rows, rows), np.random.default_rng(seed))[0] for seed in range(300)]
    assert set(same) == {0, 2}
    assert 70 <= sum(s == 2 for s in same) <= 130


def test_no_pair_is_of_one_block():
    rows, blocks = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    assert sum(alike.pairs((rows, rows[:0]), np.random.default_rng(0), (blocks, blocks[:0]))) == 2
    assert sum(alike.pairs((rows, rows[:0]), np.random.default_rng(0), (0 * blocks, blocks[:0]))) == 0
    # Which one of a block is drawn: of either input as often, so that half of the pairs are of one.
    found = [alike.pairs((rows, rows), np.random.default_rng(seed), (blocks, blocks)) for seed in range(200)]
    assert all(sum(pair) == 4 for pair in found)
    assert 1.7 < np.mean([same for same, _ in found]) < 2.3


def pool(data, rng, trials):
    """Alone an output is normal noise whatever the input is; those of one call share a pool of it."""
    return rng.choice(rng.normal(size=1000), size=trials)


def test_outputs_that_share_what_their_call_drew_are_no_leak():
    """With pairs within calls every one of these audits refuted, and no dependence was seen."""
    assert at_most(1, 6, refuted(pool, dp.PureDP(1.0), 600))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0, 200.0])
def test_the_log_odds_of_a_pair(epsilon):
    stage = alike.stage((ZERO[:, None], ONE[:, None]), 1.0, np.random.default_rng(0))
    odds = (1 + math.exp(-2 * epsilon)) / (2 * math.exp(-epsilon))
    assert stage.log_odds(epsilon) == pytest.approx(math.log(odds), rel=1e-9, abs=1e-12)
    assert stage.epsilon_of(stage.log_odds(epsilon)) == pytest.approx(epsilon, rel=1e-6)
    assert stage.log_odds(1e4) == pytest.approx(1e4 - math.log(2))
    if epsilon < 10:
        assert alike.epsilon_of_share(odds / (1 + odds)) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("values", [20, 300])
def test_level_of_pairs(values):
    """Of 1,000 at most 50 are expected at 0.05; more than 72 has probability 1e-3."""
    mechanism, wrong = leaning(values, 1.0), 0
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        ours = rng.binomial(250, 0.5)
        sides = [mechanism(data, rng, k)[:, None].astype(float) for data, k in ((ZERO, ours), (ONE, 250 - ours))]
        wrong += alike.stage(sides, rng.random(), rng).p_value(1.0, 0.0, 0.05) <= 0.05
    assert wrong <= 72


def test_a_bound_of_pairs():
    rng = np.random.default_rng(1)
    sides = [leaning(300, 2.0)(data, rng, 2000)[:, None].astype(float) for data in (ZERO, ONE)]
    assert 1.7 < epsilon_lower([alike.stage(sides, 0.5, rng)], 0.0, 0.05) < 2.0


def test_a_ticket_beside_an_answer_is_found():
    assert at_least(2, 4, refuted(ticket, dp.PureDP(1.0), 192))


def test_values_that_lean_are_found():
    assert at_least(16, 20, refuted(leaning(256, 1.5), dp.PureDP(1.0), 1200))


def test_private_values_that_come_back_refute_nothing():
    # At most binomial(12, 0.05): more than 3 has probability 2e-3.
    assert at_most(3, 12, refuted(leaning(300, 1.0), dp.PureDP(1.0), 400))


def test_what_is_said_of_pairs():
    result = dp.audit(leaning(256, 3.0), ZERO, ONE, dp.PureDP(1.0), trials=1200, seed=1)
    assert (result.score, result.event) == ("pairs of equal output", "pairs of equal output are of one input")
    assert 2.0 < result.epsilon_lower < 3.0 < result.epsilon_estimate + 0.5 < 4.0
    assert 1.0 < result.detectable_epsilon < 2.0
    assert result.witness is not None
    assert dp.verify(result.witness) is not None


def test_a_slight_leak_has_a_witness_too():
    """A guess that is right five times of eight shows ε = 0.51 at most, and a pair so often of one input 1.1."""
    result = dp.audit(leaning(160, math.log(3)), ZERO, ONE, dp.PureDP(0.5), trials=3000, seed=1)
    witness = result.witness
    assert witness is not None
    assert witness.kind == "sampled.pair_counts"
    assert float(witness.found) > 0.5
    assert "pairs of equal outputs in" in dp.verify(witness).testimony
    right, wrong, samples = (witness.parameters[name] for name in ("right", "wrong", "samples"))
    assert float(sampled.certified_epsilon(right, wrong, samples, Fraction(0), Fraction(1, 20))) < 0.5


def test_counts_that_no_pairs_have():
    known = {"samples": 100, "epsilon": "0.5", "failure_probability": "0.05", "label": "audit/x"}
    with pytest.raises(ValueError, match="say nothing where delta is above 0"):
        sampled.pair_counts(right=30, wrong=5, delta="0.1", **known)
    with pytest.raises(ValueError, match="more outputs than the 100 trials have"):
        sampled.pair_counts(right=40, wrong=11, delta="0", **known)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_the_bound_of_a_witness_is_that_of_the_share(epsilon):
    """At 95 % no more than one in twenty has so many pairs of one input as the bound says."""
    share = (1 + math.exp(2 * epsilon)) / (1 + math.exp(epsilon)) ** 2
    right = int(scipy.stats.binom.isf(0.05, 400, share)) + 1
    found = [float(sampled.pair_epsilon(k, 400 - k, 1000, Fraction(0), Fraction(1, 20))) for k in (right - 1, right)]
    assert found[0] <= epsilon < found[1]
    # A claim with delta grants leaks, of which pairs know nothing.
    assert "pairs" not in dp.audit(leaning(256, 3.0), ZERO, ONE, dp.ApproxDP(1.0, 1e-3), trials=600, seed=1).score
