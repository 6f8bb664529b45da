"""What a verdict may say, and how the cells of a check become one."""

from __future__ import annotations

import pickle

import pytest

from dpcheck.checks import check, together
from dpcheck.errors import InvalidInput
from dpcheck.verdicts import Outcome, Point, Verdict, combine, consistent, differs, holds, refuted, undecided


def test_consistent_says_what_it_would_have_noticed() -> None:
    with pytest.raises(InvalidInput, match="violation that it would have seen"):
        consistent("nothing found", "exact", notices=" ")
    assert consistent("nothing found", "exact", notices="a ratio above 1.2").notices == "a ratio above 1.2"


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ((holds("", "exact"), consistent("", "exact", notices="x")), "consistent"),
        ((consistent("", "exact", notices="x"), undecided("", "exact")), "undecided"),
        ((undecided("", "exact"), differs("")), "differs"),
        ((differs(""), refuted("", "exact"), holds("", "exact")), "refuted"),
        ((undecided("", "exact", vacuous=True), holds("", "exact")), "holds"),
    ],
)
def test_the_gravest_cell_decides(verdicts: tuple[Verdict, ...], outcome: str) -> None:
    assert combine(verdicts).outcome == outcome


def test_the_worst_cell_is_told_and_a_refutation_has_a_row_a_cell() -> None:
    cells = [{"T": 1}, {"T": 2}, {"T": 3}]
    deltas = (1e-4, 0.2, 3e-3)
    found = combine([refuted(f"delta {d:g}", "exact", numbers={"delta": d}, severity=d / 1e-5) for d in deltas], cells)
    assert found.reason == "delta 0.2 (so 3 of 3 cells, the worst of them at T = 2)"
    assert found.numbers["delta"] == 0.2
    assert [(row["T"], row["delta"], row["outcome"]) for row in found.rows] == [
        (1, 1e-4, "refuted"),
        (2, 0.2, "refuted"),
        (3, 3e-3, "refuted"),
    ]
    assert Verdict.from_dict(found.to_dict()) == found


def test_perfect_rates_and_unrefuted_audits_are_expected() -> None:
    rate = check("toy/thm-1", "rate")(lambda context: undecided("", "exact"))
    assert rate.expect == {Outcome.HOLDS, Outcome.CONSISTENT}
    assert check("toy/thm-1", "risk")(lambda context: undecided("", "exact")).expect == {Outcome.HOLDS}


def test_what_dashes_and_bars_are_is_kept():
    found = holds("so", "exact", dashed="equal risk", bars="of two standard errors")
    assert Verdict.from_dict(found.to_dict()) == found
    assert not {"dashed", "bars"} & set(holds("so", "exact").to_dict())


def test_cells_share_a_curve_once_and_count_once():
    curve = [Point(x=1.0, value=2.0), Point(x=2.0, value=3.0)]
    inner = combine([holds("so", "exact", points=curve, severity=s) for s in (0.1, 0.2)])
    found = combine([inner, inner], [{"T": 1.0}, {"T": 2.0}])
    assert found.reason == "so (so 2 of 2 cells, the worst of them at T = 1)"
    assert list(found.points) == curve


def test_values_that_go_together_are_named():
    first, second = together("p n", (0.5, 10), (1.5, 20))
    assert pickle.loads(pickle.dumps(second)).names == ("p", "n")
    assert (first, str(first)) == ((0.5, 10), "(0.5, 10)")
    cells = [{"case": first}, {"case": second}, {"case": "M = N = 10"}]
    found = combine([refuted("no", "exact", severity=s) for s in (1.0, 2.0, 0.5)], cells)
    assert found.reason.endswith("the worst of them at p = 1.5, n = 20)")
    assert dict(found.rows[1]) == {"p": 1.5, "n": 20, "outcome": "refuted"}
    with pytest.raises(InvalidInput, match="2 names"):
        together("p n", (1, 2, 3))
