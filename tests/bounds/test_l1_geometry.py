"""The claims of l1_geometry: complete, consistent with their derivations, and the constants that these give."""

from __future__ import annotations

import math
import pathlib
import re

import pytest
import sympy as sp
from checkout import claims_of, collected, errors

from dpcheck.symbols import BY_NAME

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "l1_geometry/"
CATALOGUE = collected()
CLAIMS = claims_of(PREFIX.rstrip("/"))


def test_the_folder_is_collected_without_errors() -> None:
    assert [error for error in errors() if "l1_geometry" in error] == []
    assert len({c.statement_label for c in CLAIMS.values()}) == 64


def test_readings_grades_and_derivations_fit_together() -> None:
    headings = re.findall(r"^## (\S+)$", (ROOT / "bounds" / "l1_geometry.md").read_text(), re.M)
    assert len(headings) == len(set(headings))
    assert {PREFIX + h for h in headings} <= set(CLAIMS)
    for claim in CLAIMS.values():
        assert claim.statement_label in CLAIMS
        assert set(claim.about) <= set(CLAIMS), claim.label
        ours = claim.reading.partition("-")[0] in ("corrected", "derived", "summed")
        assert claim.origin == "ours" or not ours, claim.label
        assert bool(claim.remark) or not claim.grade, claim.label
        assert claim.grade or claim.reading != "literal", claim.label
        assert not (claim.grade and claim.reading in ("corrected", "derived")), claim.label
    refuted = sorted(c.label for c in CLAIMS.values() if c.grade == "refuted")
    assert refuted == [PREFIX + item for item in ("lem-3-2", "lem-4-1")]


ELSEWHERE = {
    "thm-6@literal": {"n": 65536.0, "b": 256.0, "T": 4.0, "m": 4.0, "d": 2.0, "epsilon": 1.0, "D": 2.0},
    "thm-6@derived": {"m": 4.0, "H": 1e-6},
    "thm-9@literal": {"n": 1e16, "m": 4.0, "d": 2.0, "epsilon": 0.01, "delta": 1e-16, "H": 2.5e-9, "H_f": 2.5e-9},
    "lem-d2": {"alpha_0": 0.25, "epsilon_0": 0.1},
    "lem-d5": {"alpha_0": 0.25, "epsilon_0": 0.1},
}
"""Points inside of windows that the common one is outside of."""


def test_bounds_evaluate_at_a_legal_point() -> None:
    point = {"n": 1e6, "d": 8.0, "epsilon": 0.04, "delta": 1e-7, "b": 64.0, "p": 1.5, "q": 3.0, "alpha": 0.1, "T": 2.0}
    point["m"] = 16.0
    for claim in CLAIMS.values():
        if claim.bound is None:
            continue
        own = point | ELSEWHERE.get(claim.label.removeprefix(PREFIX), {})
        values = {name: own.get(name, [1.0, 0.5] if "[" in name else 1.0) for name in claim.needs}
        values |= {"delta_0": 1e-6} | ({"m": 4, "l": 2} if "l" in values else {}) | {"i": 1}
        assert math.isfinite(float(claim.at(values))), claim.label


def test_theorem_3_is_the_printed_step_and_noise() -> None:
    at = {"n": 1e4, "b": 50.0, "d": 9.0, "epsilon": 0.5, "delta": 1e-5, "L": 2.0, "D": 3.0}
    sigma = float(CLAIMS[PREFIX + "alg-1"].evaluate(**{k: v for k, v in at.items() if k not in ("n", "D")}))
    exact = 2 * 3 * math.sqrt((4 + 2 * sigma**2 * math.log(9)) / (1e4 / 50) ** 2)
    stated = float(CLAIMS[PREFIX + "thm-3"].evaluate(**at))
    assert exact <= stated <= math.sqrt(2) * exact


@pytest.mark.parametrize("item", ["lem-3-2", "lem-3-2@corrected"])
def test_corrected_constant_is_twice_the_printed_one(item: str) -> None:
    ratio = CLAIMS[PREFIX + item].explicit / CLAIMS[PREFIX + "lem-3-2"].explicit
    assert sp.simplify(ratio - (2 if "@" in item else 1)) == 0


def test_theorem_13_prints_theorem_5() -> None:
    assert sp.simplify(CLAIMS[PREFIX + "thm-13"].order - CLAIMS[PREFIX + "thm-5"].order) == 0
    assert BY_NAME["p"] in CLAIMS[PREFIX + "thm-5"].order.free_symbols
