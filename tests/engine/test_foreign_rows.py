"""Records, cells and stores that somebody else wrote, or that a disk did not keep: named, left out, computed again."""

from __future__ import annotations

import functools
import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner, Result
from fuzzing import often
from hypothesis import given
from hypothesis import strategies as st

from dpcheck.cli import main
from dpcheck.engine import catalogue, judge
from dpcheck.engine.admission import admitted
from dpcheck.engine.history import choose, grade_of, read_jsonl, write_jsonl
from dpcheck.engine.records import Record, Refused, told
from dpcheck.engine.run import CheckRunner
from dpcheck.engine.store import Store, glance, read_records
from dpcheck.engine.stored import CellKey, checksum
from dpcheck.errors import DpcheckError, StoreError
from dpcheck.harness import risk
from dpcheck.harness.accuracy import probability
from dpcheck.harness.lower_bound import must_exceed, must_exceed_on_average
from dpcheck.verdicts import Outcome, Verdict, Witness, holds, refuted
from dpcheck.witnesses import sampled

Make = Callable[..., Path]
FUZZ = often(200)
KEY = CellKey("toy/lem-2::sampled", '{"n": 4}', "smoke", 0, "abc")
COUNTS = {
    "right": 300, "wrong": 30, "samples": 600, "epsilon": "1.0", "delta": "0", "failure_probability": "1e-7",
}  # fmt: skip


@functools.cache
def counted(label: str) -> Witness:
    parameters = {**COUNTS, "label": label}
    found = mpmath.nstr(sampled.event_counts(**parameters).found, 15)  # type: ignore[arg-type]
    return Witness(label=label, kind="sampled.event_counts", parameters=parameters, claimed="1.0", found=found)


def record(**changes: Any) -> Record:
    values: dict[str, Any] = {
        "check": "toy/thm-1::within_the_bound", "label": "toy/thm-1", "kind": "risk", "size": "full", "seed": 0,
        "verdict": holds("so it is", "exact"), "expected": True, "cells": 3, "sources": "abc",
    }  # fmt: skip
    return Record(**{**values, **changes})


def of_lemma(verdict: Verdict, **changes: Any) -> Record:
    return record(check="toy/lem-2::sampled", label="toy/lem-2", kind="privacy", verdict=verdict, **changes)


def accused(label: str, kind: str = "sampled.event_counts", **changes: Any) -> Verdict:
    return refuted("false!", "exact", witness=replace(counted(label), kind=kind, **changes))


@pytest.mark.parametrize(
    ("forged", "says"),
    [
        (record(verdict=refuted("false!", "exact")), "without a witness"),
        (record(verdict=accused("toy/thm-1")), "no statement of privacy"),
        (record(verdict=accused("toy/lem-2")), "its label must be toy/thm-1"),
        (record(verdict=accused("toy/thm-1", kind="toy.says")), "no verifier"),
        (record(verdict=replace(accused("toy/thm-1"), outcome=Outcome.HOLDS)), "a witness is for a refutation"),
        (record(kind="symbolic", sources="now"), "says that"),
        (record(verdict=holds("", "sampled", failure_probability=0.5), sources="now"), "declares 5e-07"),
        (of_lemma(holds("", "sampled", failure_probability=1e-7)), "never proves a privacy claim"),
        (of_lemma(holds("", "symbolic", failure_probability=1e-7)), "never proves a privacy claim"),
        (of_lemma(accused("toy/lem-2", found="1.9")), "found is given as"),
        (of_lemma(accused("toy/lem-2", found="nan")), "no finite number"),
    ],
)
def test_a_forged_record_accuses_nobody(project: Make, forged: Record, says: str) -> None:
    """It graded a theorem and stood in the report."""
    found = catalogue.load(project({"bounds/toy.py": None}))
    if forged.sources == "now":
        forged = replace(forged, sources=found.fingerprint(found.checks[forged.check]))
    honest = replace(forged, verdict=holds("honest", "exact"), kind=found.checks[forged.check].kind, size="smoke")
    refused: list[Refused] = []
    chosen = admitted([honest, forged], found, refused)
    assert says in refused[0].reason
    assert len(refused) == 1
    assert chosen[forged.check].record.verdict.reason == "honest"


OWN = """
from .toy import TOY

own = TOY.claim("toy/prop-1", "Ours", "At most 1.", kind="lemma", origin="ours")
"""
OF_OWN = """
from dpcheck.checks import check
from dpcheck.harness.risk import expectation

@check("toy/prop-1", kind="risk")
def sampled_mean(context):
    return expectation(context.rng().random(2000), 1.0, context.failure_probability, limit=2.0)
"""
DRAWS = np.random.default_rng(0).random(2000)
SAMPLED = {
    "a mean": (lambda bound: risk.expectation(DRAWS, bound, 1e-7, limit=2.0), 0.8, 0.4),
    "a quantile": (lambda bound: risk.high_probability(DRAWS, bound, 0.5, 1e-7), 0.8, 0.3),
    "a frequency": (lambda most: probability(1000, 2000, most, 1e-7, relation="<="), 0.8, 0.4),
    "a frequency, at least": (lambda least: probability(1000, 2000, least, 1e-7), 0.4, 0.8),
    "a lower bound": (lambda needed: must_exceed({"a": (1000, 2000)}, needed, 1e-7), 0.4, 0.8),
    "a mean below": (lambda bound: must_exceed_on_average({"a": DRAWS}, bound, 1e-7, limit=1.0), 0.4, 0.8),
}
"""What the harness says by sampling: (verdict of a bound, a bound that stands, one that falls)."""


@pytest.mark.parametrize("kind", SAMPLED)
def test_a_sampled_refutation_without_a_witness_says_so_in_its_numbers(project: Make, kind: str) -> None:
    """A word changed by hand in the committed records refuted a statement of ours in the report."""
    found = catalogue.load(project({"bounds/own.py": OWN, "audits/toy.py": OF_OWN}))
    judged, stands, falls = SAMPLED[kind]
    honest, other = judged(falls), judged(stands)
    assert honest.outcome is Outcome.REFUTED
    assert other.outcome is not Outcome.REFUTED
    flipped = replace(other, outcome=Outcome.REFUTED)
    bare = replace(honest, numbers={}, severity=None)
    for verdict, why in ((honest, ""), (flipped, "beyond what is claimed"), (bare, "beyond what is claimed")):
        said = record(check="toy/prop-1::sampled_mean", label="toy/prop-1", verdict=verdict)
        refused: list[Refused] = []
        chosen = admitted([said], found, refused)
        assert bool(chosen) is not bool(why)
        assert (why in refused[0].reason) if why else not refused


def test_a_committed_line_that_was_changed_by_hand_is_refused_by_every_command(project: Make) -> None:
    """Neither a date, which only rows of a store have, nor another word makes it believed."""
    root = project({"bounds/own.py": OWN, "audits/toy.py": OF_OWN})
    said = CliRunner().invoke(main, ["run", "--size", "smoke", "--workers", "0", "--root", str(root)])
    assert said.exit_code == 0, said.output
    CliRunner().invoke(main, ["report", "--root", str(root)])
    shutil.rmtree(root / ".dpcheck")
    lines = root / "reports" / "records.jsonl"
    values = json.loads(lines.read_text())
    assert values["verdict"]["outcome"] == "holds"
    values["verdict"]["outcome"] = "refuted"
    lines.write_text(json.dumps({**values, "created": "2026-01-01"}) + "\n")
    shown = CliRunner().invoke(main, ["list", "--root", str(root)])
    assert "beyond what is claimed" in shown.output


def test_a_verified_refutation_grades_and_an_unverified_one_does_not(project: Make) -> None:
    found = catalogue.load(project())
    claim = replace(found.claims["toy/lem-2"], grade="refuted")
    found.claims["toy/lem-2"] = claim
    for verdict, grade in ((accused("toy/lem-2"), "refuted"), (accused("toy/lem-2", found="1.9"), "suspected")):
        assert grade_of(claim, admitted([of_lemma(verdict)], found, [])) == grade


def test_what_is_expected_is_not_taken_from_the_record(project: Make) -> None:
    found = catalogue.load(project())
    chosen = admitted([record(verdict=Verdict(outcome=Outcome.UNDECIDED, reason="", evidence="exact"))], found, [])
    assert not chosen["toy/thm-1::within_the_bound"].record.expected


# -- committed records ------------------------------------------------------------------------------------------------

BAD = [
    {"size": "huge"}, {"size": 3}, {"kind": "gossip"}, {"seed": -1}, {"seed": "0"}, {"seed": 2**70}, {"cells": 1.5},
    {"expected": "yes"}, {"label": "toy/lem-2"}, {"sources": None}, {"seconds": -1}, {"seconds": "nan"},
    {"versions": {"numpy": 2}}, {"schema_version": 2}, {"schema_version": 0}, {"schema_version": "1"},
    {"check": "toy/thm-1::\x1b[2J"}, {"verdict": None}, {"verdict": []},
]  # fmt: skip
BAD_VERDICTS = [
    {"outcome": "proved"}, {"outcome": ["holds"]}, {"evidence": "Sampled"}, {"evidence": None}, {"reason": 3.14},
    {"failure_probability": -1}, {"failure_probability": 1}, {"failure_probability": "0"},
    {"failure_probability": {"float": "nan"}}, {"numbers": []}, {"numbers": {"x": [1]}}, {"numbers": {"x": None}},
    {"numbers": {"x": {"float": "1e5"}}}, {"points": [{}]}, {"points": [{"x": "1", "value": 1}]}, {"axes": ["x"]},
    {"axes": [1, 2]}, {"witness": {}}, {"witness": "w"}, {"severity": "large"}, {"rows": [1]}, {"notices": 1},
    {"outcome": "consistent"}, {"evidence": "sampled"},
]  # fmt: skip


def test_bad_lines_are_named_and_the_others_count(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    good = write_jsonl(path, [record()]).read_text()
    values = json.loads(good)
    lines = [json.dumps({**values, **change}) for change in BAD]
    lines += [json.dumps({**values, "verdict": {**values["verdict"], **change}}) for change in BAD_VERDICTS]
    lines += ["{", "[]", "3", "null", "[" * 5000, good.replace('"seed": 0', '"seed": 1e999').strip()]
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe\n" + good.encode())
    refused: list[Refused] = []
    assert read_jsonl(path, refused) == [replace(record(), versions={})]
    assert [row.where for row in refused] == [f"{path}:{i}" for i in range(1, len(lines) + 2)]
    assert len(told(refused)) == 6
    assert told(refused)[-1] == f"{len(lines) - 4} more rows are refused; the others count"
    with pytest.raises(StoreError, match=r"records\.jsonl:1 is not a record of dpcheck"):
        read_jsonl(path)


def test_records_in_the_words_of_an_older_dpcheck_have_to_be_run_again(root: Path, cli: Callable[..., Result]) -> None:
    cli("run")
    cli("report", "--out", "old")
    path = root / "old" / "records.jsonl"
    text = path.read_text().replace('"outcome": "undecided"', '"outcome": "inconclusive"')
    path.write_text(text)
    refused: list[Refused] = []
    assert [r.verdict.outcome for r in read_jsonl(path, refused)] == ["holds"]
    assert refused[0].outdated
    assert "1 of its results are of an older dpcheck" in told(refused)[0]
    (root / "reports").mkdir()
    (root / "reports" / "records.jsonl").write_text(text)
    (root / ".dpcheck" / "store.db").rename(root / "away.db")
    listed = cli("list")
    assert "they count as not run, and `dpcheck run` computes them again" in listed.stderr
    assert "not run 1" in listed.stdout


@FUZZ
@given(st.data())
def test_no_line_does_more_than_be_refused(data: st.DataObject) -> None:
    values = json.loads(json.dumps(of_lemma(accused("toy/lem-2")).to_dict()))
    place = data.draw(st.sampled_from([values, values["verdict"], values["verdict"]["witness"]]))
    name = data.draw(st.sampled_from(sorted(place)))
    place[name] = data.draw(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
        | st.lists(st.integers(), max_size=3) | st.dictionaries(st.text(max_size=3), st.floats(), max_size=2)
    )  # fmt: skip
    try:
        found = Record.from_dict(values)
    except DpcheckError:
        return
    assert choose([found])
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))


# -- stores ------------------------------------------------------------------------------------------------------------


def edited(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def test_a_changed_digit_is_noticed_and_the_cell_is_computed_again(root: Path, cli: Callable[..., Result]) -> None:
    before = cli("run").stdout
    path = root / ".dpcheck" / "store.db"
    edited(
        path,
        "UPDATE cells SET measured = replace(measured, '\"hits\": 5', '\"hits\": 6') WHERE check_id LIKE '%sampled'",
        "DELETE FROM records",
    )
    again = cli("run")
    assert "did not fit its checksum and is computed again" in again.stderr
    assert again.stdout == before
    assert "checksum" not in cli("run").stderr


def test_a_bad_row_blocks_nothing(root: Path, cli: Callable[..., Result]) -> None:
    """It ended run, list, show, report and compare with an internal error."""
    cli("run")
    path = root / ".dpcheck" / "store.db"
    row = "INSERT INTO records (check_id, record, created) VALUES ('x', {}, '2026')"
    edited(path, row.format("'{'"), row.format("CAST(X'FF00FE' AS TEXT)"), row.format("'[]'"))
    edited(path, "UPDATE records SET record = replace(record, 'mean', 'meen') WHERE record LIKE '%mean%'")
    for command in (("list",), ("show", "toy/thm-1"), ("report",), ("compare", str(path), str(path))):
        said = cli(*command).stderr
        assert "store.db:3 is refused" in said
        assert "its checksum does not fit" in said
    assert "store.db:1 is refused" in cli("run").stderr  # a run reads the rows of its own checks
    with pytest.raises(StoreError, match=r"store\.db:1 is not a record"):
        read_records(path)
    refused: list[Refused] = []
    assert len(read_records(path, refused)) == 2  # the sampled one, and the one that the run wrote anew
    assert len(refused) == 4


@pytest.mark.parametrize("version", ["'abc'", "'0'", "'-1'", "''", "'99999999999'"])
def test_a_schema_that_is_none(root: Path, cli: Callable[..., Result], version: str) -> None:
    cli("run")
    edited(root / ".dpcheck" / "store.db", f"UPDATE meta SET value = {version} WHERE name = 'schema_version'")
    for command in ("run", "list", "report"):
        assert "schema" in cli(command, code=2).stderr


def test_a_store_of_schema_1_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Store(path) as store:
        store.add_cell(KEY, {"hits": 3})
        store.add_record(record())
    edited(
        path, "ALTER TABLE cells DROP COLUMN checksum", "ALTER TABLE cells DROP COLUMN versions",
        "ALTER TABLE records DROP COLUMN checksum", "UPDATE meta SET value = '1'",
    )  # fmt: skip
    assert read_records(path) == [record()]
    with Store(tmp_path / "other.db") as other:
        assert other.merge(path).cells == 0
        assert other.records() == [record()]
    with Store(path) as store:
        assert store.records() == [record()]
        assert store.cell(KEY) is None  # nothing vouches for it
        store.add_cell(KEY, {"hits": 4})
        assert store.cell(KEY) == {"hits": 4}


def test_cells_name_the_versions_that_computed_them(project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record was signed with the versions of the day on which the last cell was added, or none."""
    root = project()
    found = catalogue.load(root)

    def run(numpy: str) -> Record:
        with monkeypatch.context() as patch:
            patch.setattr(judge, "versions", lambda: {"python": "3.11", "numpy": numpy})
            with Store(root / "store.db") as store:
                checks = found.select(["toy/thm-1"])
                return CheckRunner(found, checks, store).run().records[0]

    assert run("1.0").versions == {"python": "3.11", "numpy": "1.0"}
    assert run("9.9").versions == {"python": "3.11", "numpy": "1.0"}
    edited(root / "store.db", "DELETE FROM cells WHERE rowid = 1")
    assert run("9.9").versions == {"python": "3.11", "numpy": "1.0 and 9.9"}


def test_a_merge_names_cells_that_two_machines_computed_differently(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as a, Store(tmp_path / "b.db") as b:
        a.add_cell(KEY, {"hits": 3})
        b.add_cell(KEY, {"hits": 4})
        assert a.merge(tmp_path / "b.db").differing == [KEY]
        assert a.cell(KEY) == {"hits": 3}


def test_a_smaller_audit_never_replaces_a_larger_one(tmp_path: Path) -> None:
    def state(tested: int) -> dict[str, Any]:
        return {"tested": tested, "audit": {"claim": "1-DP"}}

    with Store(tmp_path / "a.db") as a, Store(tmp_path / "b.db") as b:
        assert a.keep_audit("m", state(400_000))
        assert not a.keep_audit("m", state(2_100))
        assert [s["tested"] for s in a.audits("m")] == [400_000]
        assert b.merge(tmp_path / "a.db").audits == 1
        assert b.merge(tmp_path / "a.db").audits == 0
        assert b.audits("m") == [state(400_000)]
    edited(tmp_path / "b.db", "INSERT INTO audits VALUES ('m', 'x', '[1', '2030')")
    with Store(tmp_path / "b.db") as b:
        assert b.audits("m") == [state(400_000)]


@FUZZ
@given(st.integers(0, 10**9), st.binary(min_size=1, max_size=4))
def test_flipped_bytes_of_a_store(tmp_path_factory: Any, place: int, noise: bytes) -> None:
    """Every cell and record that is read is one that was written, or it is refused, or the store is."""
    folder = tmp_path_factory.mktemp("flipped")
    path = folder / "store.db"
    with Store(path) as store:
        for n in range(5):
            store.add_cell(replace(KEY, cell=str(n)), {"hits": 100_000 + n})
        store.add_record(record())
    edited(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    at = place % (len(content) - len(noise))
    content[at : at + len(noise)] = noise
    path.write_bytes(bytes(content))
    try:
        refused: list[Refused] = []
        assert [replace(r, created="") for r in read_records(path, refused)] in ([], [record()])
        with Store(path) as store:
            cells = store.cells(KEY.check, KEY.size, KEY.seed, KEY.sources, [])
    except StoreError:
        return
    for name, cell in cells.items():
        assert cell.measured == {"hits": 100_000 + int(name)}


@pytest.fixture
def root(project: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = project()
    monkeypatch.chdir(found)
    return found


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(main, list(arguments), prog_name="dpcheck")
        assert result.exit_code == code, result.output
        return result

    return call


def stored_rows(found: catalogue.Catalogue, path: Path, *texts: str) -> tuple[dict[str, Any], list[Refused]]:
    """What speaks among rows that a store holds, each signed as dpcheck signs."""
    with Store(path) as store:
        for number, text in enumerate(texts):
            row = ("toy/thm-1::within_the_bound", text, f"2026-01-0{number + 1}", checksum(text))
            store._db.execute("INSERT INTO records (check_id, record, created, checksum) VALUES (?, ?, ?, ?)", row)
    refused: list[Refused] = []
    return admitted(glance(path, refused), found, refused), refused


def test_a_row_speaks_only_once_it_was_read(project: Make, tmp_path: Path) -> None:
    """The newest row looks like a record and is none; it is named, and the one before it speaks."""
    found = catalogue.load(project())
    values = [record(created=f"2026-01-0{day}", cells=day).to_dict() for day in (1, 2, 3)]
    bad = {**values[2], "cells": -1}
    chosen, refused = stored_rows(found, tmp_path / "store.db", *map(json.dumps, [*values[:2], bad]))
    assert chosen["toy/thm-1::within_the_bound"].record.cells == 2
    assert ["cells is -1" in each.reason for each in refused] == [True]


def test_an_unread_row_is_held_against_the_rules(project: Make, tmp_path: Path) -> None:
    found = catalogue.load(project())
    honest = of_lemma(holds("honest", "exact"), size="smoke")
    forged = replace(honest, kind="risk", sources=found.fingerprint(found.checks[honest.check]))
    texts = (json.dumps(each.to_dict()) for each in (honest, forged))
    chosen, refused = stored_rows(found, tmp_path / "store.db", *texts)
    assert chosen[honest.check].record.kind == "privacy"
    assert len(refused) == 1


def test_rows_that_do_not_even_look_like_records_are_named(project: Make, tmp_path: Path) -> None:
    texts = ["{", "[]", "[" * 100_000, "1" * 5_000, json.dumps({**record().to_dict(), "size": "huge"})]
    chosen, refused = stored_rows(catalogue.load(project()), tmp_path / "store.db", *texts)
    assert not chosen
    assert len(refused) == len(texts)


def test_rows_that_cannot_speak_are_not_read(project: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    parse = Record.from_dict
    monkeypatch.setattr(Record, "from_dict", lambda values: read.append(values) or parse(values))
    texts = (json.dumps(record(created=f"2026-01-0{day}", seed=day).to_dict()) for day in range(1, 10))
    chosen, _ = stored_rows(catalogue.load(project()), tmp_path / "store.db", *texts)
    assert [each.record.seed for each in chosen.values()] == [9]
    assert [values["seed"] for values in read] == [9]
