"""The committed scaling table against what was written down of it: words, levels, controls that are told apart.

An exponent does not see constants, the level does; what the accountant certifies sees noise that is dialled down, from
which the risk only gains. After a change that is meant, write what the failing test prints into levels.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checkout import ROOT, collected

from dpcheck.engine import history
from dpcheck.harness.budget import CERTIFIED
from dpcheck.report import scaling

LEVELS = Path(__file__).parent / "levels.json"
FACTOR = 1.25
"""By which R/bound at the largest size may move: neighbouring members of a family ripple by a few per cent."""
NUMBERS = {"level": "R/bound at the end", "certified": CERTIFIED}
"""What is written down -> the column of the table."""


def measured() -> dict[str, dict[str, Any]]:
    """ "check, series" -> word, level, certified ε and what is not told apart, of the records of a standard run."""
    chosen = history.choose(history.read_jsonl(ROOT / "reports" / "records.jsonl"), collected().fingerprints())
    return {
        f"{id}, {row['series']}".removesuffix(", "): {
            "word": row["word"],
            **{name: float(f"{row[column]:.4g}") for name, column in NUMBERS.items()},
            "not told apart": row["not told apart"],
        }
        for id, one in sorted(chosen.items())
        for row in scaling.rows_of(one.record.verdict)
    }


def departures(found: Mapping[str, Mapping[str, Any]], known: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Rows that are gone, new, say another word, tell other controls apart, or have left their level."""
    said = [f"{key}: {'new' if key in found else 'gone'}" for key in sorted(found.keys() ^ known.keys())]
    for key in sorted(found.keys() & known.keys()):
        now, then = found[key], known[key]
        for name in ("word", "not told apart"):
            if now[name] != then[name]:
                said.append(f"{key}: {name} was {then[name]!r} and is {now[name]!r}")
        for name, column in NUMBERS.items():
            if not then[name] / FACTOR <= now[name] <= then[name] * FACTOR:
                said.append(f"{key}: {column} was {then[name]:g} and is {now[name]:g}")
    return said


def test_rows_are_as_written_down() -> None:
    found = measured()
    known = json.loads(LEVELS.read_text(encoding="utf-8"))
    assert not departures(found, known), f"levels.json should hold {json.dumps(found, indent=1, ensure_ascii=False)}"


def test_every_departure_is_noticed() -> None:
    row = {"word": "met", "level": 2.0, "certified": 1.0, "not told apart": ""}
    assert departures({"a": row}, {"a": row}) == []
    assert departures({"a": row}, {}) == ["a: new"]
    assert departures({}, {"a": row}) == ["a: gone"]
    for name, other in (
        ("word", "blind"), ("level", 2.6), ("level", 1.5), ("certified", 2.0), ("not told apart", "the start"),
    ):  # fmt: skip
        assert len(departures({"a": row | {name: other}}, {"a": row})) == 1


def test_every_exponent_has_a_row_or_a_reason() -> None:
    pairs = scaling.pairs_of(collected())
    assert len(pairs) > 200
    assert [(p.statement, p.variable) for p in pairs if not p.checks and not p.reason] == []


def test_every_paper_has_a_row_at_the_constants_of_its_bound() -> None:
    """R over the explicit bound, which a true bound keeps at most 1, beside the rows over an order."""
    chosen = history.choose(history.read_jsonl(ROOT / "reports" / "records.jsonl"), collected().fingerprints())
    at_most: dict[str, float] = {}
    for id, one in chosen.items():
        for row in scaling.rows_of(one.record.verdict):
            if row.get("against") == "explicit" and row["word"] == "met":
                paper = id.partition("/")[0]
                at_most[paper] = max(at_most.get(paper, 0.0), row["R/bound at the end"])
    assert at_most.keys() >= {"l1_geometry", "lp_spaces", "pure_heavy_tails", "tsybakov", "user_level"}
    assert all(0 < most <= 1 for most in at_most.values()), at_most
