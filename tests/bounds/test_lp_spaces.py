"""The claims of `lp_spaces`: labels, derivations, grades, and that every bound evaluates where it should."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import sympy as sp
from checkout import claims_of

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = claims_of("lp_spaces")
POINT = {
    "n": 1e6, "d": 4, "epsilon": 0.5, "delta": 1e-5, "L": 1.0, "D": 1.0, "R": 0.5, "H": 1.0, "omega": 2.0, "mu": 0.1,
    "kappa": 2.0, "r": 2, "alpha": 1e-6, "T": 10, "b": 2, "q": 3.0, "p": 3.0, "sigma": 1.0, "m": 2.0, "A": 2.0,
    "theta": 1.0, "Delta": 0.1, "lambda_2": 0.0, "C": 1.0, "c": 1.0, "C_min": 0.1, "lambda": 0.01, "beta": 0.1,
    "L_ell": 1.0, "H_ell": 1.0, "mu_ell": 0.1, "sigma_ell": 1.0,
}  # fmt: skip
BETWEEN = {"p": 1.5}  # of statements on 1 < p < 2
FEW = {"n": 5, "delta": 0.1}  # inside Theorem 5's range of n
ELSEWHERE = {
    "def-3@literal": BETWEEN, "proc-mirror-map@literal": BETWEEN,
    "thm-5": FEW, "thm-5@literal": FEW, "thm-5@quantifiers": FEW,
    "thm-10@literal": {"epsilon": 1e-3}, "thm-9": {},
}  # fmt: skip


def test_every_graded_or_explicit_claim_has_its_section_and_every_section_a_claim() -> None:
    text = (ROOT / "bounds" / "lp_spaces.md").read_text()
    headings = set(re.findall(r"^## ([a-z0-9-]+)$", text, flags=re.M))
    statements = {label.partition("@")[0].partition("/")[2] for label in CLAIMS}
    assert headings <= statements
    needed = {
        c.statement_label.partition("/")[2]
        for c in CLAIMS.values()
        if c.explicit is not None or c.grade or c.reading in ("corrected", "derived")
    }
    assert needed <= headings


def test_nothing_is_refuted_under_every_reading_and_grades_come_with_remarks() -> None:
    """Theorem 3 is true at the normalisation |C|_2 = 1 that Theorem 5 uses: a slip, with its regime in the remark."""
    assert not [label for label, c in CLAIMS.items() if c.grade == "refuted"]
    assert "= 1" in CLAIMS["lp_spaces/thm-3"].remark
    for c in CLAIMS.values():
        assert c.remark or not c.grade, c.label
        assert c.grade or c.reading != "literal", c.label
        assert not (c.grade and c.reading in ("corrected", "derived")), c.label


@pytest.mark.parametrize("label", sorted(label for label, c in CLAIMS.items() if c.bound is not None))
def test_every_bound_evaluates(label: str) -> None:
    claim = CLAIMS[label]
    assert claim.bound is not None
    at = POINT | ELSEWHERE.get(label.partition("/")[2], {})
    at |= {"i": 1, "l": 2, "eta[i]": [0.5, 0.1], "n[i]": [50, 25], "scale": 1.0, "rank": 2}
    at |= {"epsilon_0": 0.7, "delta_0": 1e-9, "curvature": 0.4, "sigma_1": 90.0}
    value = float(claim.evaluate(**{name: at[name] for name in claim.needs}))
    assert math.isfinite(value)
    assert value >= 0


def test_derived_bounds_have_the_printed_order() -> None:
    n = sp.Symbol("n", positive=True)
    bound = CLAIMS["lp_spaces/thm-2@corrected"].explicit
    assert bound is not None
    fixed = {s: POINT[s.name] for s in bound.free_symbols if s.name != "n"}
    assert sp.limit(bound.subs(fixed) * sp.sqrt(n), n, sp.oo).is_finite
