"""Searches by halving find the edge to the accuracy that they promise, in as many steps as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.numerics import Array, edge, edges, least_integer, least_value, next_feasible, smallest_n


def test_an_edge_is_found_to_neighbouring_floats() -> None:
    low, high = edge(lambda x: x * x >= 2, 0.0, 2.0)
    assert low * low < 2 <= high * high
    assert high == math.nextafter(low, 2.0)


def test_an_edge_may_be_found_roughly() -> None:
    asked: list[float] = []

    def holds(x: float) -> bool:
        asked.append(x)
        return x >= 0.3

    low, high = edge(holds, 0.0, 1.0, halvings=5)
    assert (len(asked), high - low) == (5, 2**-5)
    low, high = edge(holds, 0.0, 1.0, tolerance=1e-3)
    assert low < 0.3 <= high
    assert high - low <= 1e-3 * high


def test_many_edges_agree_with_one_at_a_time() -> None:
    wanted, calls = np.array([[0.1, 0.7], [0.5, 0.99]]), 0

    def hold(x: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        nonlocal calls
        calls += 1
        return np.asarray(x >= wanted)

    low, high = edges(hold, np.zeros((2, 2)), np.ones((2, 2)), halvings=30)
    assert calls == 30
    alone = [edge(lambda x, at=at: x >= at, 0.0, 1.0, halvings=30) for at in wanted.ravel()]  # type: ignore[misc]
    assert np.array_equal(np.stack([low.ravel(), high.ravel()], axis=1), np.array(alone))
    edges(hold, low, high, halvings=30, tolerance=1.0)
    assert calls == 30


@pytest.mark.parametrize("first", [1, 2, 3, 64, 65, 1000])
def test_integers(first: int) -> None:
    assert least_integer(lambda n: n >= first, 0, 4096) == first
    assert smallest_n(lambda n: n >= first) == first
    assert next_feasible(lambda n: n >= first and n % 2 == 0, 10, scan=2000) == max(12, first + first % 2)
    assert smallest_n(lambda n: False, limit=1000) is None
    assert next_feasible(lambda n: False, 1, limit=10_000) is None


@pytest.mark.parametrize("minimum", [-2.0, 0.3, 5.0])
def test_a_minimum_is_met_as_near_as_the_square_of_the_width(minimum: float) -> None:
    asked: list[float] = []

    def value(x: float) -> float:
        asked.append(x)
        return 1 + (x - minimum) ** 2

    assert 0 <= least_value(value, -3.0, 6.0) - 1 <= 1e-12
    assert len(asked) <= 2 + math.log(9e6) / math.log((1 + math.sqrt(5)) / 2) + 1


def test_a_minimum_at_an_end_is_met_within_the_width() -> None:
    assert least_value(lambda x: x, 1.0, 2.0) == pytest.approx(1.0, abs=1e-6)
    assert least_value(lambda x: -x, 1.0, 2.0) == pytest.approx(-2.0, abs=1e-6)
