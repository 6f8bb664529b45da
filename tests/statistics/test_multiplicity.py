"""Holm, merged e-values, e-BH."""

import math

import numpy as np
import pytest

from dpcheck.errors import InvalidInput
from dpcheck.statistics.multiplicity import e_benjamini_hochberg, holm, merge_log_e_values, p_value_of


def test_holm_steps_down():
    rejected, adjusted = holm([0.01, 0.04, 0.03, 0.5], 0.05)
    assert list(rejected) == [True, False, False, False]
    assert adjusted == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert len(holm([], 0.05)[0]) == 0
    with pytest.raises(InvalidInput, match=r"\[0, 1\]"):
        holm([1.2])


def test_holm_keeps_the_level_and_finds_a_signal():
    rng = np.random.default_rng(13)
    wrong = found = 0
    for _ in range(20):
        p = rng.random(20)
        wrong += holm(p)[0].any()
        p[0] = 1e-4
        found += holm(p)[0][0]
    # Familywise at most 5 %: more than 5 of 20 has probability 3e-4.
    assert wrong <= 5
    assert found == 20


def test_e_values_merge():
    logs = np.log([2.0, 8.0])
    assert merge_log_e_values(logs) == pytest.approx(math.log(5.0))
    assert merge_log_e_values(logs, independent=True) == pytest.approx(math.log(16.0))
    assert p_value_of(math.log(40.0)) == pytest.approx(0.025)
    assert list(e_benjamini_hochberg(np.log([100.0, 1.0, 30.0, 0.5]))) == [True, False, False, False]
    assert list(e_benjamini_hochberg(np.log([100.0, 1.0, 50.0, 0.5]))) == [True, False, True, False]
