"""Exact properties, for which Hypothesis looks for the pair that moves most."""

from my_mechanisms import clipped_mean

import dpcheck as dp


def test_one_record_moves_the_clipped_mean_by_at_most_a_fifth():
    pairs = dp.testing.neighbouring_pairs(min_records=5, low=-3.0, high=3.0)
    dp.testing.assert_sensitivity(lambda data: clipped_mean(data, 0.0, 1.0), bound=1 / 5, pairs=pairs)
