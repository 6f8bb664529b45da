"""Files from elsewhere, all of them: whatever stands in one, a sentence at most, never a crash."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import ROOT, collected
from click.testing import CliRunner
from fuzzing import FAILED, MARKUP, TABLE, edited, junk, noisy, often
from hypothesis import given
from hypothesis import strategies as st

from dpcheck import certificates, report
from dpcheck.cli import main
from dpcheck.engine import catalogue, history
from dpcheck.engine.merging import Contents
from dpcheck.engine.mutate.table import Table
from dpcheck.engine.records import Record, Refused
from dpcheck.engine.run import CheckRunner
from dpcheck.engine.store import Failure, Store, belong_together, read_failures, read_records
from dpcheck.engine.stored import CellKey
from dpcheck.errors import DpcheckError, InvalidInput, StoreError
from dpcheck.pytest_plugin.failures import Failures
from dpcheck.verdicts import holds

Make = Callable[..., Path]
KEY = CellKey("toy/lem-2::sampled", '{"n": 4}', "smoke", 0, "abc")
RECORD = Record(
    check="toy/lem-2::sampled", label="toy/lem-2", kind="privacy", size="smoke", seed=0,
    verdict=holds("so it is", "exact", numbers={"ratio": 0.5}), expected=True, cells=3, sources="abc",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("foreign")


@often(200)
@given(st.data())
def test_bytes_of_committed_records(folder: Path, data: st.DataObject) -> None:
    path = folder / "records.jsonl"
    path.write_bytes(noisy(data.draw, history.jsonl([RECORD] * 3).encode()))
    refused: list[Refused] = []
    found = history.read(path, refused)
    assert len(found) + len(refused) >= 0
    assert all(history.jsonl([record]) for record in found)
    assert all("\n" not in row.reason for row in refused)


def test_a_table_comes_back(folder: Path) -> None:
    path = folder / "whole.jsonl"
    path.write_text(TABLE.text())
    assert Table.read(path).text() == TABLE.text()


@pytest.mark.parametrize("name", ["operator", "said"])
def test_a_mutant_without_a_name_is_refused(tmp_path: Path, name: str) -> None:
    """Found by `make fuzz`: an empty text is not written, and what has none could not be sorted."""
    lines = [json.loads(line) for line in TABLE.text().splitlines()]
    for line in lines:
        for mutant in line.get("mutants", []):
            mutant[name] = ""
    (tmp_path / "mutants.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(StoreError, match="one without an operator or words"):
        Table.read(tmp_path / "mutants.jsonl")


@often(300)
@given(st.data())
def test_a_table_of_mutants(folder: Path, data: st.DataObject) -> None:
    """Refused with its line, or as good as one that was written here: it is shown, and written again."""
    path = folder / "mutants.jsonl"
    lines = [json.loads(line) for line in TABLE.text().splitlines()]
    if data.draw(st.booleans()):
        path.write_bytes(noisy(data.draw, TABLE.text().encode()))
    else:
        path.write_text("".join(json.dumps(edited(data.draw, line)) + "\n" for line in lines), "utf-8", "surrogatepass")
    try:
        table = Table.read(path)
    except StoreError as error:
        message = str(error)
    else:
        message = ""
        table.text()
        for label in [*table.resolutions, *(target for _, target in table.trials)]:
            assert isinstance(table.said(label), str)
    assert not message or "mutants.jsonl:" in message


@often(300)
@given(st.data())
def test_the_failure_database(folder: Path, data: st.DataObject) -> None:
    """What is used of a row is in range; another file is left alone, with a remark."""
    path = folder / "failures" / "one.json"
    path.parent.mkdir(exist_ok=True)
    if data.draw(st.booleans()):
        path.write_bytes(noisy(data.draw, json.dumps(FAILED).encode()))
    else:
        path.write_text(json.dumps(edited(data.draw, FAILED)))
    found = Failures(path.parent)
    found.read()
    assert len(found.remarks) + len(found.tests) == 1
    assert all("\n" not in remark and "\x1b" not in remark for remark in found.remarks)
    for test in found.tests:
        row = next(row for n in [*range(10)] if (row := found.get(test, n)) is not None) if len(test) else {"runs": 0}
        assert 0 <= row["runs"] <= 10**9


DOCUMENT = certificates.path_of("user_level/proc-sgd", ROOT / "reports")


@often(40)
@given(st.data())
def test_documents_of_certificates(folder: Path, data: st.DataObject) -> None:
    path, claim = folder / "certificate.json", collected().claims["user_level/proc-sgd"]
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    if data.draw(st.booleans()):
        path.write_bytes(noisy(data.draw, json.dumps(document).encode()))
    else:
        path.write_text(json.dumps(edited(data.draw, document)))
    with contextlib.suppress(DpcheckError):
        list(certificates.verify(certificates.load(path), claim))


COLUMNS = {
    "cells": ("check_id", "cell", "size", "seed", "sources", "measured", "seconds", "created", "versions", "checksum"),
    "records": ("check_id", "record", "created", "checksum"),
    "failures": ("check_id", "cell", "size", "seed", "sources", "message", "trace", "created"),
    "audits": ("mechanism", "identity", "state", "created"),
    "splits": ("size", "parts", "seconds"),
    "meta": ("name", "value"),
}


@pytest.fixture(scope="module")
def whole(folder: Path) -> bytes:
    """A store with something in every table."""
    path = folder / "whole.db"
    with Store(path) as store:
        store.add_cell(KEY, {"hits": 3}, 1.5, {"numpy": "1"})
        store.add_record(RECORD)
        store.add_failure(Failure(KEY, "ValueError: no", "Traceback"))
        store.keep_audit("m", {"audit": {}, "version": 1, "tested": 5})
        store.seconds_of_split("smoke", 2, {(KEY.check, KEY.cell): 1.5})
    return path.read_bytes()


@often(60)
@given(st.data())
def test_any_value_in_any_column(folder: Path, whole: bytes, data: st.DataObject) -> None:
    """A row from elsewhere is refused or harmless; nothing that reads a store gives way."""
    path, other = folder / "s.db", folder / "other.db"
    path.write_bytes(whole)
    other.write_bytes(whole)
    table = data.draw(st.sampled_from(sorted(COLUMNS)))
    column = data.draw(st.sampled_from(COLUMNS[table]))
    value = data.draw(junk.filter(lambda v: not isinstance(v, list | dict)))
    with contextlib.closing(sqlite3.connect(path)) as db, contextlib.suppress(sqlite3.Error, OverflowError, ValueError):
        db.execute(f"UPDATE {table} SET {column} = ?", (value,))
        db.commit()
    with contextlib.suppress(StoreError):
        read_records(path, [])
    with contextlib.suppress(StoreError):
        read_failures(path)
    with contextlib.suppress(StoreError):
        belong_together([path, other], other)
    with contextlib.suppress(StoreError), Store(path) as store:
        assert store.cell(KEY) in (None, {"hits": 3})
        store.runs()
        store.durations("smoke")
        store.audits("m")
        store.seconds_of_split("smoke", 2, {})
        store.conclude(RECORD, [])
        store.add_failure(Failure(KEY, "again", ""))
        assert Contents.of(store._db).runs is not None
    with contextlib.suppress(StoreError), Store(other) as store:
        store.merge(path)


NO_RATES = ["[", "[]", '{"a": 1}', '{"a": {"claim": "x"}}', '{"a": {"claim": NaN}}', "\xff"]


@pytest.mark.parametrize("how", ["--save", "--changed"])
@pytest.mark.parametrize("text", NO_RATES)
def test_rates_that_are_none(project: Make, monkeypatch: pytest.MonkeyPatch, text: str, how: str) -> None:
    root = project()
    monkeypatch.chdir(root)
    (root / "rates.json").write_bytes(text.encode("latin-1"))
    done = CliRunner().invoke(main, ["mutate", "toy", how, "--rates", "rates.json"], prog_name="dpcheck")
    assert done.exit_code == 2
    assert "rates.json" in done.stderr
    assert "Traceback" not in done.output


MARKED = f"""
from dpcheck.checks import check
from dpcheck.verdicts import Witness, holds, undecided

@check("toy/lem-2", kind="risk", expect="undecided")
def marked(context):
    \"\"\"{MARKUP} in its docstring.\"\"\"
    return undecided("{MARKUP} [a](javascript:alert(1))", "exact", numbers={{"{MARKUP}": "{MARKUP}"}})
"""


def test_markup_is_text_in_every_file_of_a_report(project: Make) -> None:
    claims = f'''
from dpcheck.claims import Paper

TOY = Paper(key="toy", title="A {MARKUP} paper", authors="A. {MARKUP}", reference="{MARKUP}")
private = TOY.claim("toy/lem-2", "Lemma 2 {MARKUP}", "It {MARKUP} holds.", kind="lemma", remark="{MARKUP}")
'''
    root = project({"audits/toy.py": MARKED, "bounds/toy.py": claims, "bounds/toy.md": None})
    found = catalogue.load(root)
    with Store(root / "s.db") as store:
        result = CheckRunner(found, found.select(()), store).run()
    assert result.failures == []
    written = report.write(found, result.records, root / "out")
    shown = [path.read_text(encoding="utf-8") for path in map(Path, written) if path.suffix in (".html", ".md", ".svg")]
    assert any("&lt;script&gt;" in text for text in shown)
    assert not any(MARKUP in text for text in shown)
    pages = [path.read_text(encoding="utf-8") for path in map(Path, written) if path.suffix == ".md"]
    assert any("javascript:" in text for text in pages)
    assert not any(re.search(r"(?<!\\)\]\(javascript:", text) for text in pages)


def test_an_invalid_document_names_its_file(folder: Path) -> None:
    path = folder / "broken.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match=r"broken\.json"):
        certificates.load(path)
