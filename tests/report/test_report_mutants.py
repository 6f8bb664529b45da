"""What mutants taught stands beside the verdicts, in a table of its own, and is silent of claims that were edited."""

from __future__ import annotations

import math
import pathlib

import pytest
import report_example as example

from dpcheck import report
from dpcheck.engine.mutate.mutation import Trial
from dpcheck.engine.mutate.resolution import Resolution
from dpcheck.engine.mutate.table import Table, share, unlikely
from dpcheck.errors import StoreError


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
    found.reads = {"example/thm-2::risk_grows": ("example/thm-2",)}
    return found


def test_a_table_is_read_as_it_was_written(tmp_path: pathlib.Path) -> None:
    found = table()
    found.states["example/thm-2"] = "now"
    path = tmp_path / "mutants.jsonl"
    path.write_text(found.text(), encoding="utf-8")
    again = Table.read(path)
    assert again.text() == found.text()
    assert (again.resolutions, again.reads, again.states) == (found.resolutions, found.reads, found.states)
    assert {each.key: each for each in again.all()} == {each.key: each for each in found.all()}
    path.write_text('{"mutants": 3}\n')
    with pytest.raises(StoreError, match=r"mutants.jsonl:1 is no line"):
        Table.read(path)


def test_an_edited_claim_is_not_spoken_of() -> None:
    found = table()
    found.states["example/thm-2"] = "before"
    rest = found.standing({"example/thm-2": "now"})
    assert rest.said("example/thm-2") == ""
    assert rest.said("example/alg-1") == "1 of 1 null algorithms noticed (1 measured)"


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
