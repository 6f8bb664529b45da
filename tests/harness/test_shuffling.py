"""What is stated of shuffling is decided in cells: too little is not proved, and what fails at a point is refuted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.accounting.amplification import shuffle_delta
from dpcheck.harness.shuffling import everywhere, response_delta

SIZES = [500, 1000, 2000]


def lemma(local: float, n: int, delta: float) -> float:
    grown = math.exp(local)
    return math.log1p(math.tanh(local / 2) * 8 * (math.sqrt(grown * math.log(4 / delta) / n) + grown / n))


@pytest.mark.parametrize(("share", "outcome"), [(1.0, "holds"), (0.6, "consistent"), (0.1, "refuted")])
def test_what_is_proved_of_all_what_no_point_refutes_and_what_one_does(share, outcome):
    assert everywhere(lambda *at: share * lemma(*at), SIZES).outcome == outcome


def test_coarse_cells_prove_nothing_and_refute_nothing():
    found = everywhere(lemma, SIZES, epsilons=(0.01, 1.0))
    assert found.outcome == "consistent"


@pytest.mark.parametrize("n", [1, 7, 60])
def test_clones_dominate_randomised_response_and_both_are_monotone(n):
    """In n and epsilon_0, as the corners of a cell need it; one response alone is (epsilon_0, 0)-private."""
    locals_ = np.linspace(0.2, 2, 7)
    for epsilon in (0.01, 0.1, 0.5):
        response = [response_delta(epsilon, local, n) for local in locals_]
        clones = [shuffle_delta(epsilon, local, n) for local in locals_]
        for curve in (response, clones):
            assert (np.diff(curve) >= -1e-12).all()
        assert (np.array(response) <= np.array(clones) + 1e-12).all()
        for delta_of, curve in ((response_delta, response), (shuffle_delta, clones)):
            more = [delta_of(epsilon, local, n + 1) for local in locals_]
            assert (np.array(more) <= np.array(curve) + 1e-12).all()
    assert response_delta(1.0, 1.0, 1) == pytest.approx(0, abs=1e-15)
