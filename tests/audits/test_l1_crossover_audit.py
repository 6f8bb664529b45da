"""The crossover of Algorithms 2 and 3: bands that cover, verdicts that can come out wrong, an economy that is none."""

from __future__ import annotations

import math
import pathlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checkout import collected

from dpcheck.algorithms.l1_geometry import LocalizedMirrorDescent
from dpcheck.algorithms.l1_geometry.regret import ESTIMATE
from dpcheck.claims import evaluate
from dpcheck.engine.statements import bound_of
from dpcheck.harness import risk
from dpcheck.interfaces import Problem
from dpcheck.privacy import ApproxDP

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = collected()
CHECK = CATALOGUE.checks["l1_geometry/thm-2::private_terms_cross_in_d"]
NAMES: dict[str, Any] = CHECK.function.__globals__
SIZES = 32 * 2.0 ** np.arange(8)


def cells(d: int = 4, at: float = 700.0, se: float = 0.01, flip: bool = False) -> list[tuple[dict, dict]]:
    """A descent that goes as 1/x and a tree as x^(-2/3), equal at n eps = `at`."""
    rows = []
    for x in SIZES:
        descent, tree = at / x, (at / x) ** (2 / 3)
        descent, tree = (tree, descent) if flip else (descent, tree)
        found = {"x": float(x), "descent": descent, "tree": tree, "best": tree, "trials": 200}
        rows.append(({"d": d, "k": 0}, found | {f"{k} se": se * found[k] for k in ("descent", "tree", "best")}))
    return rows


def test_crossing_of_two_powers_is_found_with_its_bracket() -> None:
    found = NAMES["crossing"]([m for _, m in cells()], "best", 1e-3)
    assert found.x == pytest.approx(700.0)
    assert found.low < 700 < found.high
    assert found.before < 700 < found.after
    assert not found.reversed


def test_band_widens_with_the_error_and_opens_where_nothing_is_certain() -> None:
    wide = NAMES["crossing"]([m for _, m in cells(se=0.05)], "best", 1e-3)
    narrow = NAMES["crossing"]([m for _, m in cells(se=0.01)], "best", 1e-3)
    assert wide.low < narrow.low
    assert narrow.high < wide.high
    blind = NAMES["crossing"]([m for _, m in cells(se=1.0)], "best", 1e-3)
    assert (blind.low, blind.high, blind.before, blind.after) == (0.0, math.inf, 0.0, math.inf)


def test_bands_cover_the_true_crossing() -> None:
    rng, missed = np.random.default_rng(0), 0
    for _ in range(300):
        rows = []
        for _, m in cells(se=0.04):
            noisy = {k: m[k] * math.exp(0.04 * rng.normal()) for k in ("descent", "best")}
            rows.append(m | noisy)
        found = NAMES["crossing"](rows, "best", 0.05)
        missed += not found.low <= 700 <= found.high
    assert missed <= 0.05 * 300


@pytest.mark.parametrize("rows", [cells(flip=True), cells(at=10.0), cells(at=1e5)])
def test_wrong_order_at_an_end_is_refuted(rows: list[tuple[dict, dict]]) -> None:
    found = NAMES["located"]("d")(rows, 1e-3)
    assert found.outcome == "refuted"
    assert "not the tree first" in found.reason


def test_power_of_d_is_bracketed_and_stands_beside_those_of_orders_and_bounds() -> None:
    found = NAMES["located"]("d")(cells(4, 200.0) + cells(16, 1600.0), 1e-3)
    assert found.outcome == "consistent"
    assert "certainly ahead" in found.notices
    assert found.numbers["least power"] < 1.5 < found.numbers["largest power"]
    assert found.numbers["power"] == pytest.approx(1.5)
    assert found.numbers["crossing, best depth, d = 16"] == pytest.approx(1600.0)


def test_orders_cross_where_their_terms_are_equal() -> None:
    d, epsilon, delta = 16, 0.01, NAMES["DELTA"]
    x = NAMES["orders_cross"](d, epsilon)
    vector = math.sqrt(d * math.log(d) ** 3 * math.log(1 / delta)) / x
    tree = (math.log(x / epsilon / delta) * math.log(2 * d) / x) ** (2 / 3)
    assert vector == pytest.approx(tree)


def test_bounds_cross_where_the_algorithms_own_bounds_do() -> None:
    # Below it the bound of the tree, taken from the algorithm without its statistical term, is the smaller one.
    d, tree, bowl = 4, NAMES["TREE"], NAMES["bowl"](4)
    x = NAMES["bounds_cross"](d, 0.01)
    for factor, ahead in ((0.1, True), (3.0, False)):
        n = round(factor * x / 0.01)
        told = Problem.of(bowl, ApproxDP(0.01, 1e-10))
        far = Problem.of(bowl, ApproxDP(1e-12, 1e-10))
        vector = bound_of("l1_geometry/thm-4@summed", NAMES["DESCENT"], far, round(factor * x / 1e-12))
        bounds = []
        for T in range(1, 12):
            algorithm = replace(tree, T=T)
            values = {"d": d, **algorithm.terms(told, n)}
            statistical = evaluate(ESTIMATE, {name: values[name] for name in "dDLHb"})
            bounds.append(bound_of("l1_geometry/thm-6@summed", algorithm, told, n) - statistical)
        assert (min(bounds) < vector) == ahead


def test_fewer_and_larger_batches_leave_the_excess_where_it_is() -> None:
    n, epsilon = 40_000, 0.01
    work = NAMES["EqualRecords"](z=(0.9, 0.0, 0.0, 0.0))
    told = Problem.of(work, ApproxDP(epsilon, NAMES["DELTA"]))
    whole, coarse = LocalizedMirrorDescent(3.0, "gradients"), NAMES["CoarseDescent"](3.0, "gradients")
    assert whole.schedule(told, n).phases[0].T > 10 * coarse.schedule(told, n).phases[0].T
    found = [
        risk.excess_risks(algorithm, work, told, n, 100, 0, name, gradients=math.inf)
        for name, algorithm in (("whole", whole), ("coarse", coarse))
    ]
    error = math.hypot(*(values.std(ddof=1) / 10 for values in found))
    assert abs(found[0].mean() - found[1].mean()) < 4 * error
    assert error < 0.1 * found[0].mean()
