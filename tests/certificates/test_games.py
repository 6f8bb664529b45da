"""Games that every private decoder loses: their programmes are those of all decoders on all data sets."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from dpcheck.certificates import checker, games
from dpcheck.certificates.solving import Dual

SIZES = [(2, 2, "1/2", "2"), (3, 2, "2/5", "3/2"), (4, 2, "1/2", "2"), (2, 4, "1/3", "5/4")]


def least_error(N: int, n: int, p: float, E: float, delta: float | None = None) -> float:
    """Without any symmetry: the answers on all ordered data sets, one inequality for each pair of neighbours."""
    sets = list(product(range(N + 1), repeat=n))
    place = {data: i * N for i, data in enumerate(sets)}
    pairs = [
        (place[data], place[(*data[:k], new, *data[k + 1 :])])
        for data in sets
        for k in range(n)
        for new in range(N + 1)
        if new != data[k]
    ]
    answers = len(sets) * N
    size = answers + (len(pairs) * N if delta is not None else 0)
    goal = np.zeros(size)
    for data, at in place.items():
        for law in range(N):
            if set(data) <= {0, law + 1}:
                named = sum(record > 0 for record in data)
                goal[at + law] -= p**named * (1 - p) ** (n - named) / N
    rows, right = [], []
    for i, (here, there) in enumerate(pairs):
        spent = answers + i * N
        for law in range(N):
            row = np.zeros(size)
            row[here + law], row[there + law] = 1.0, -E
            if delta is not None:
                row[spent + law] = -1.0
            rows.append(row)
            right.append(0.0)
        if delta is not None:
            rows.append(np.where((np.arange(size) >= spent) & (np.arange(size) < spent + N), 1.0, 0.0))
            right.append(delta)
    total = np.zeros((len(sets), size))
    for i in range(len(sets)):
        total[i, i * N : (i + 1) * N] = 1.0
    solved = linprog(goal, np.array(rows), right, total, np.ones(len(sets)), bounds=(0, 1))
    return float(1 + solved.fun)


def optimum(lines: list[str], **numbers: str) -> float:
    pytest.importorskip("clarabel", reason="clarabel comes with the extra 'certificates'")
    return -Dual.of(lines, {name: Fraction(text) for name, text in numbers.items()}).solved()[0]


@pytest.mark.parametrize(("N", "n", "p", "E"), SIZES)
def test_counts_up_to_renaming_are_all_decoders(N, n, p, E):
    every = least_error(N, n, float(Fraction(p)), float(Fraction(E)))
    assert optimum(games.packing(N, n), p=p, E=E) == pytest.approx(every, abs=1e-8)
    assert optimum(games.chain(N, n), p=p, E=E) <= every + 1e-8


def test_approximate_privacy_is_that_of_all_sets_of_answers():
    every = least_error(3, 2, 0.5, 2.0, delta=0.05)
    assert optimum(games.packing(3, 2, approximate=True), p="1/2", E="2", delta="1/20") == pytest.approx(
        every, abs=1e-7
    )
    assert every < least_error(3, 2, 0.5, 2.0) - 1e-3


def test_counts_up_to_renaming():
    assert list(games.all_counts(2, 2)) == [(0, 0), (1, 0), (1, 1), (2, 0)]
    assert len(list(games.all_counts(4, 4))) == 12


@pytest.mark.parametrize(("N", "n"), [(2, 3), (5, 6)])
def test_the_exponential_decoder_loses_the_game_as_well(N, n):
    error = games.exponential_error(N, n, Fraction(1, 3), Fraction(2))
    assert error > optimum(games.chain(N, n), p="1/3", E="4") - 1e-8


def test_a_decoder_that_tells_too_much_breaks_an_inequality():
    """Naming the only law of which there is a record attains more, and is not private."""
    lines = games.packing(2, 1)
    run = checker.ExactRun(lines, {"p": Fraction(1, 2), "E": Fraction(2)})
    given = {i: [Fraction(1)] for i in range(1, run.size)}
    assert checker.size_of(run.quantity, given) == Fraction(-1, 4)
    assert max(checker.size_of(row, given) for row in run.rows) > 0
