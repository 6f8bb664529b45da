"""What mutants taught stands beside the verdicts, in a table of its own, and is silent of claims that were edited."""

from __future__ import annotations

import math
import pathlib

import pytest
import report_example as example

from dpcheck import report
from dpcheck.claims import Paper
from dpcheck.engine.mutate.mutation import Trial
from dpcheck.engine.mutate.resolution import Resolution
from dpcheck.engine.mutate.states import States, short
from dpcheck.engine.mutate.table import SampleOfMutants, Table, Watched, rates, rows, share, unlikely
from dpcheck.errors import StoreError
from dpcheck.report.mutants import is_setting
from dpcheck.symbols import L


def trial(family: str, target: str, said: str, fate: str, **fields: object) -> Trial:
    row = {"key": f"{family} {target} changed: {said}", "family": family, "paper": "example", "target": target}
    return Trial.read({**row, "operator": "changed", "said": said, "fate": fate, **fields})


def table() -> Table:
    found = Table()
    found.add(
        [
            trial("claim", "example/thm-2", "× 2", "measured", by="example/thm-2::risk_grows"),
            trial("claim", "example/thm-2", "without the logarithm", "survived"),
            trial("null", "example/alg-1", "returns the start", "measured", blind=["example/thm-2::risk_grows"]),
            trial(
                "code", "dpcheck.algorithms.example:f", "f.py:3:1: 2 → 4", "argued", reason="a tolerance | of a guard"
            ),
        ]
    )
    found.resolutions = {
        "example/thm-2": Resolution("example/thm-2", "<=", 1.02, math.inf, "example/thm-2::risk_grows")
    }
    found.resolutions["example/lem-3"] = Resolution("example/lem-3", "<=", math.inf, math.inf)
    found.watched = {"example/thm-2::risk_grows": Watched(("example/thm-2",))}
    return found


def test_where_everything_is_argued_nothing_is_noticed() -> None:
    """No share, rather than all of none."""
    head, lines = rows(table().all())
    noticed = {line[1]: line[head.index("noticed")] for line in lines}
    assert noticed == {"claim": "50 %", "null": "100 %", "code": "–"}


def test_a_table_is_read_as_it_was_written(tmp_path: pathlib.Path) -> None:
    found = table()
    found.states["claim", "example/thm-2"] = "now"
    found.states["code", "dpcheck.algorithms.example:never_tried"] = "then"
    found.watched["example/thm-2::too_dear"] = Watched((), "now", 3.0, dear=True)
    found.samples["example", "claim"] = SampleOfMutants("example", "claim", 2, 70, 1, "smoke")
    path = tmp_path / "mutants.jsonl"
    path.write_text(found.text(), encoding="utf-8")
    again = Table.read(path)
    assert again.text() == found.text()
    assert (again.resolutions, again.watched, again.samples) == (found.resolutions, found.watched, found.samples)
    assert again.reads == {"example/thm-2::risk_grows": ("example/thm-2",)}, "what was stopped may read more"
    assert {key: state for key, state in again.states.items() if state} == found.states
    assert {each.key: each for each in again.all()} == {each.key: each for each in found.all()}
    path.write_text('{"mutants": 3}\n')
    with pytest.raises(StoreError, match=r"mutants.jsonl:1 is no line"):
        Table.read(path)


def test_no_digest_is_taken_for_a_number(tmp_path: pathlib.Path) -> None:
    """Of so many, some have decimal digits and one e, a power of ten that no file may hold."""
    digests = {("claim", f"example/thm-{number}"): short(str(number)) for number in range(2_000)}
    assert any(digest[1:].replace("e", "", 1).isdecimal() for digest in digests.values())
    path = tmp_path / "mutants.jsonl"
    path.write_text(Table(states=digests).text(), encoding="utf-8")
    assert Table.read(path).states == digests


MINE = Paper(key="mine", title="My paper", authors="M. E.", reference="2026")


class Now(States):
    """Of a catalogue whose targets and checks are as these say."""

    def __init__(self, targets: dict[tuple[str, str], str], checks: dict[str, str]) -> None:
        self.targets, self.checks = targets, checks

    def of(self, family: str, target: str) -> str:
        return self.targets.get((family, target), "")

    def of_check(self, id: str) -> str:
        return self.checks.get(id, "")


CHECK, CLAIM, NULL = "example/thm-2::risk_grows", ("claim", "example/thm-2"), ("null", "example/alg-1")


@pytest.mark.parametrize(
    ("targets", "checks", "bound", "null"),
    [
        ({CLAIM: "now", NULL: "now"}, {CHECK: "now"}, True, True),
        ({CLAIM: "edited", NULL: "now"}, {CHECK: "now"}, False, True),
        ({CLAIM: "now", NULL: "edited"}, {CHECK: "now"}, True, False),
        ({CLAIM: "now", NULL: "now"}, {CHECK: "edited"}, False, False),
    ],
)
def test_what_was_edited_is_not_spoken_of(
    targets: dict[tuple[str, str], str], checks: dict[str, str], bound: bool, null: bool
) -> None:
    found = table()
    found.states = {CLAIM: "now", NULL: "now"}
    found.watched[CHECK] = Watched(("example/thm-2",), "now")
    rest = found.standing(Now(targets, checks))
    assert bool(rest.said("example/thm-2")) == bound
    assert bool(rest.said("example/alg-1")) == null


def test_the_rates_name_what_they_are_of() -> None:
    found = table()
    found.samples["example", "claim"] = SampleOfMutants("example", "claim", 2, 70, 1, "smoke")
    assert rates(found)["example"]["claim"] == {"noticed": 0.5, "tried": 2, "of": 70, "seed": 1, "size": "smoke"}


def test_a_page_says_how_many_were_drawn_and_how_many_are_of_the_past(tmp_path: pathlib.Path) -> None:
    found = table()
    found.samples["example", "claim"] = SampleOfMutants("example", "claim", 2, 70, 1, "smoke")
    found.states[CLAIM] = "another formula"
    report.write(example.lay_out(tmp_path), example.RECORDS, tmp_path / "reports", mutants=found)
    page = (tmp_path / "reports" / "example.md").read_text(encoding="utf-8")
    assert "Tried: 2 of 70 claim mutants, drawn with seed 1, at smoke size." in page
    assert "4 of 4 were tried before an edit" in page
    assert "wrong formulas noticed" not in page


def test_beside_the_verdicts(tmp_path: pathlib.Path) -> None:
    report.write(example.lay_out(tmp_path), example.RECORDS, tmp_path / "reports", mutants=table())
    page = (tmp_path / "reports" / "example.md").read_text(encoding="utf-8")
    assert "*Notices × 1.02; 1 of 2 wrong formulas noticed (1 measured).*" in page
    assert "*No check reads this bound.*" in page
    assert "| example | claim | 2 | 50 % | 1 | 1 | 0 |" in page
    assert "`example/thm-2::risk_grows` is passed as well where example/alg-1 returns the start" in page
    assert "1 change of `dpcheck.algorithms.example:f` that nothing can notice" in page
    assert "Notices × 1.02" in (tmp_path / "reports" / "dpcheck.html").read_text(encoding="utf-8")


def test_rates() -> None:
    counts = {"measured": 6, "derived": 2, "survived": 2, "crashed": 2, "argued": 5, "unflagged": 1}
    assert share(counts) == 8 / 12, "a crash is no evidence, and what is correct need not be noticed"
    assert share({"argued": 2}) == 1.0
    assert unlikely(counts, 0.7) == ""
    assert "8 of 12" in unlikely(counts, 0.99)
    assert unlikely({"measured": 2500, "survived": 40}, 0.98) == "", "of a whole table, beyond what a float can count"


def test_bounds_and_settings_are_told_apart(tmp_path: pathlib.Path) -> None:
    """By the best evidence that notices each, whichever direction it notices."""
    found = table()
    bound, other = "example/thm-2", "example/lem-3"
    found.resolutions = {
        bound: Resolution(bound, "<=", 1.02, 3.0, CHECK, CHECK, "transcribed", "measured"),
        other: Resolution(other, "<=", math.inf, math.inf),
    }
    report.write(example.lay_out(tmp_path), example.RECORDS, tmp_path / "reports", mutants=found)
    page = (tmp_path / "reports" / "example.md").read_text(encoding="utf-8")
    assert "| :--- | :--- | :--- | :--- | :--- | :--- | :--- |\n| bounds | 2 | 1 | 0 | 0 | 1 | 50 % |\n" in page
    assert "settings of algorithms" not in page
    printed = MINE.claim("mine/alg-1", "Algorithm 1", "…", kind="algorithm", relation="=", explicit=L)
    most = MINE.claim("mine/alg-1@most", "Algorithm 1", "…", kind="algorithm", relation="<=", explicit=L)
    assert [is_setting(each) for each in (printed, most)] == [True, False]
