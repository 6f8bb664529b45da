"""Sampled audits: each says what it would have found, or fails with the event, the counts and a witness."""

import numpy as np
from my_mechanisms import private_answers, private_mean

import dpcheck as dp

PAIR = dp.testing.worst_pairs(n=20, low=0.0, high=1.0)


def test_private_mean_is_private():
    mechanism = dp.vectorize(lambda data, rng: private_mean(data, epsilon=1.0, rng=rng))
    dp.testing.assert_private(mechanism, *PAIR, claim=dp.PureDP(1.0))


def test_private_answers_are_private(dp_audit):
    def mechanism(data, rng, trials):
        return private_answers(data, epsilon=0.5, rng=rng, trials=trials)

    # Two people say too little to be told from 20: the test demands that a true ε of 0.7 would be found.
    dp_audit(mechanism, np.array([0, 1]), np.array([1, 1]), claim=dp.PureDP(0.5), must_detect=0.7)
