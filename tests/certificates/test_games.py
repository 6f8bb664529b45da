"""Games that every private decoder loses: their programmes are those of all decoders on all data sets."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from checkout import collected
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
    lines = games.packing(3, 2, spent=(("E", "delta"),))
    assert optimum(lines, p="1/2", E="2", delta="1/20") == pytest.approx(every, abs=1e-7)
    assert every < least_error(3, 2, 0.5, 2.0) - 1e-3
    assert optimum(games.chain(3, 2, delta="delta"), p="1/2", E="2", delta="1/20") <= every + 1e-8


def test_two_curves_at_once_are_at_least_each():
    """A decoder that keeps two promises is one of those that keep either."""
    both = optimum(
        games.packing(3, 2, spent=(("E1", "delta1"), ("E2", "delta2"))), p="1/2", E1="5/4", delta1="1/10", E2="2",
        delta2="1/50",
    )  # fmt: skip
    for E, delta in ((1.25, 0.1), (2.0, 0.02)):
        assert both >= least_error(3, 2, 0.5, E, delta) - 1e-7


@pytest.mark.parametrize("share", games.ZCDP)
def test_concentrated_privacy_implies_the_deltas_of_its_game(share):
    """By the least of exp((a − 1)(a rho − eps))(1 − 1/a)^a/(a − 1) over the orders a, in a grid of them."""
    rho, orders = np.log(2) / share, np.linspace(1.01, 60, 20_000)
    for E, delta in games.ZCDP[share].items():
        logs = (orders - 1) * (orders * rho - np.log(float(Fraction(E)))) + orders * np.log1p(-1 / orders)
        least = float(np.exp(np.min(logs - np.log(orders - 1))))
        assert least <= float(Fraction(delta)) < 1.1 * least + 1e-4


@pytest.mark.parametrize("label", games.GAMES)
def test_what_is_reached_lies_above_what_is_proved(label):
    for game in games.GAMES[label]:
        if not game.attained:
            error = optimum(list(game.problem), **{k: str(v) for k, v in game.parameters.items()})
            assert error <= float(games.reached(game)) < 1


def test_claims_on_approximate_decoders_are_below_every_decoder():
    """Without symmetry or chains: on all ordered data sets."""
    claim = collected().claims["pure_heavy_tails/fact-bd14@approximate"]
    for N, n, p, E, delta in ((2, 2, 0.5, 2.0, 0.05), (3, 2, 0.4, 1.5, 0.01)):
        bound = claim.evaluate(V=N, n=n, p=p, epsilon=float(np.log(E)), delta=delta)
        assert 0.2 < bound <= least_error(N, n, p, E, delta)


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
    assert run.quantity.at(given) == Fraction(-1, 4)
    assert max(row.at(given) for row in run.rows) > 0
