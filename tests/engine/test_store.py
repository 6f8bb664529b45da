"""The store adds and never changes; what cannot be written is said in one sentence and leaves everything whole."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcheck.engine.history import Chosen, choose, committed, read, read_jsonl, write_jsonl
from dpcheck.engine.measurements import decode, encode
from dpcheck.engine.records import Record
from dpcheck.engine.store import Failure, Merged, Store, read_records
from dpcheck.engine.stored import CellKey
from dpcheck.errors import InvalidInput, StoreError
from dpcheck.verdicts import Outcome, Point, Verdict, Witness, holds, refuted

KEY = CellKey("toy/lem-2::sampled", '{"n": 4}', "smoke", 0, "abc")


def record(**changes: Any) -> Record:
    values: dict[str, Any] = {
        "check": "toy/lem-2::sampled",
        "label": "toy/lem-2",
        "kind": "privacy",
        "size": "smoke",
        "seed": 0,
        "verdict": holds("so it is", "exact", numbers={"ratio": 0.5, "worst": math.inf}),
        "expected": True,
        "cells": 3,
        "sources": "abc",
        "versions": {"python": "3.11"},
        "commit": "f00+",
        "created": "2026-01-01T00:00:00.000+00:00",
        "seconds": 1.5,
    }
    return Record(**{**values, **changes})


class TestMeasurements:
    def test_numbers_come_back(self) -> None:
        measured = {
            "count": np.int64(3),
            "mean": np.float64(0.1),
            "worst": math.inf,
            "none": np.nan,
            "array": np.array([[1.0, -np.inf]]),
            "pair": (1, "two"),
            "flag": np.True_,
            "nested": {"float": 1.0, "other": None},
        }
        back = decode(encode(measured))
        assert isinstance(back, dict)
        assert math.isnan(back.pop("none"))
        assert back == {
            "count": 3,
            "mean": 0.1,
            "worst": math.inf,
            "array": [[1.0, -math.inf]],
            "pair": [1, "two"],
            "flag": True,
            "nested": {"float": 1.0, "other": None},
        }

    def test_verdicts_come_back(self) -> None:
        witness = Witness(label="toy/thm-1", kind="toy.wrong", parameters={"x": ["1/3", 2]}, claimed="1", found="2")
        verdict = refuted(
            "too large",
            "sampled",
            failure_probability=np.float64(1e-6),
            numbers={"ratio": np.float64(2.0), "trials": np.int64(7)},
            points=(Point(x=1.0, value=math.inf, bound=2.0),),
            axes=("n", "risk"),
            witness=witness,
        )
        assert decode(encode(verdict)) == replace(verdict, numbers={"ratio": 2.0, "trials": 7})

    @pytest.mark.parametrize("measured", [None, 3.0, {"x": Fraction(1, 3)}, {"x": {1: 2}}, {"x": object()}])
    def test_anything_else_is_refused(self, measured: Any) -> None:
        with pytest.raises(InvalidInput, match=r"number|name results by strings"):
            encode(measured)


class TestStore:
    def test_cells(self, tmp_path: Path) -> None:
        with Store(tmp_path / "deep" / "store.db") as store:
            assert store.cell(KEY) is None
            store.add_cell(KEY, {"hits": 3}, 0.5)
            store.add_cell(KEY, {"hits": 4}, 9.0)
            assert store.cell(KEY) == {"hits": 3}
            assert store.cell(replace(KEY, sources="xyz")) is None
            assert store.durations("smoke") == {(KEY.check, KEY.cell): 0.5}
        with Store(tmp_path / "deep" / "store.db") as store:
            assert store.cell(KEY) == {"hits": 3}

    def test_records_are_appended(self, tmp_path: Path) -> None:
        with Store(tmp_path / "store.db") as store:
            store.add_record(record())
            store.add_record(record(seed=1))
            assert store.records() == [record(), record(seed=1)]
        assert read_records(tmp_path / "store.db") == [record(), record(seed=1)]

    def test_failures(self, tmp_path: Path) -> None:
        with Store(tmp_path / "store.db") as store:
            store.add_failure(Failure(KEY, "ValueError: no", "Traceback"))
            (failure,) = store.failures()
            assert (failure.key, failure.message) == (KEY, "ValueError: no")
            assert store.cell(KEY) is None

    def test_merge(self, tmp_path: Path) -> None:
        other = replace(KEY, cell='{"n": 16}')
        with Store(tmp_path / "a.db") as a, Store(tmp_path / "b.db") as b:
            a.add_cell(KEY, {"hits": 3})
            b.add_cell(KEY, {"hits": 3})
            b.add_cell(other, {"hits": 5})
            b.add_record(record())
            assert a.merge(tmp_path / "b.db").cells == 1
            assert a.merge(tmp_path / "b.db") == Merged(cells=0, differing=[], audits=0)
            assert a.cell(other) == {"hits": 5}
            assert a.records() == [record()]
            with pytest.raises(StoreError, match="no store at"):
                a.merge(tmp_path / "c.db")

    def test_two_writers(self, tmp_path: Path) -> None:
        """Two runs on one store: every cell of both arrives."""

        def write(name: str) -> None:
            with Store(tmp_path / "store.db") as store:
                for i in range(50):
                    store.add_cell(replace(KEY, check=name, cell=str(i)), {"i": i})

        threads = [threading.Thread(target=write, args=(name,)) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with Store(tmp_path / "store.db") as store:
            assert all(len(store.cells(name, "smoke", 0, "abc")) == 50 for name in ("one", "two"))

    def test_runs_that_begin_at_once(self, tmp_path: Path) -> None:
        """Of a hundred new stores that four runs open together, none is locked to one of them (7 were)."""

        def open_it(path: Path, together: threading.Barrier, raised: list[str]) -> None:
            together.wait()
            try:
                Store(path).close()
            except StoreError as error:
                raised.append(str(error))

        raised: list[str] = []
        for i in range(100):
            together = threading.Barrier(4)
            arguments = (tmp_path / f"{i}.db", together, raised)
            threads = [threading.Thread(target=open_it, args=arguments) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert not raised

    def test_a_newer_schema_is_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "store.db"
        Store(path).close()
        db = sqlite3.connect(path)
        db.execute("UPDATE meta SET value = '3' WHERE name = 'schema_version'")
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        before = path.read_bytes()
        with pytest.raises(StoreError, match="schema 3, this dpcheck knows 2; upgrade"):
            Store(path)
        with pytest.raises(StoreError, match="schema 3"):
            read_records(path)
        assert path.read_bytes() == before

    def test_a_foreign_file_is_left_alone(self, tmp_path: Path) -> None:
        text = tmp_path / "notes.txt"
        text.write_text("these are my notes, and no database\n" * 10)
        foreign = tmp_path / "other.db"
        with sqlite3.connect(foreign) as db:
            db.execute("CREATE TABLE customers (name TEXT)")
        db.close()
        for path in (text, foreign):
            with pytest.raises(StoreError, match=r"cannot open the store|not a store of dpcheck"):
                Store(path)
        assert text.read_text().startswith("these are my notes")
        with sqlite3.connect(foreign) as db:
            assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("customers",)]
        db.close()

    def test_unwritable_places(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(StoreError, match="cannot open the store"):
            Store(tmp_path / "file" / "store.db")
        with pytest.raises(StoreError, match="cannot open the store"):
            Store(tmp_path)

    def test_a_read_only_store_says_so_at_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Root ignores file modes, so SQLite itself opens the file read-only."""
        path = tmp_path / "store.db"
        Store(path).close()
        connect = sqlite3.connect
        monkeypatch.setattr(sqlite3, "connect", lambda p, **options: connect(f"file:{p}?mode=ro", uri=True, **options))
        with pytest.raises(StoreError, match="readonly database; give a file in a writable folder"):
            Store(path)

    def test_a_full_disk_loses_only_the_cell_at_hand(self, tmp_path: Path) -> None:
        with Store(tmp_path / "store.db") as store:
            store.add_cell(KEY, {"hits": 3})
            pages = store._db.execute("PRAGMA page_count").fetchone()[0]
            store._db.execute(f"PRAGMA max_page_count = {pages}")
            with pytest.raises(StoreError, match="full"):
                store.add_cell(replace(KEY, cell="big"), {"text": "x" * 100_000})
            assert store.cell(KEY) == {"hits": 3}
            assert store.cell(replace(KEY, cell="big")) is None


class TestHistory:
    def test_the_committed_form_is_the_same_bytes(self, tmp_path: Path) -> None:
        records = [record(seed=1), record(), record(check="toy/a::b", label="toy/a", size="full")]
        later = [replace(r, seconds=9.0, created="2027", commit="bar") for r in reversed(records)]
        first = write_jsonl(tmp_path / "one" / "records.jsonl", records).read_bytes()
        assert first == write_jsonl(tmp_path / "two" / "records.jsonl", later).read_bytes()
        assert not any(word in first for word in (b"seconds", b"created", b"commit"))
        assert read(tmp_path / "one" / "records.jsonl") == [committed(records[i]) for i in (2, 1, 0)]

    def test_bad_lines_are_named(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "records.jsonl", [record()])
        good = path.read_text()
        path.write_text(good + '{"check": "x"}\n')
        with pytest.raises(StoreError, match=r"records\.jsonl:2 is not a record"):
            read_jsonl(path)
        path.write_text(json.dumps({**json.loads(good), "schema_version": 2, "new": 1}))
        with pytest.raises(StoreError, match="newer dpcheck"):
            read_jsonl(path)
        with pytest.raises(StoreError, match="cannot read"):
            read_jsonl(tmp_path / "nowhere.jsonl")

    def test_which_record_speaks(self) -> None:
        skipped = Verdict(outcome=Outcome.SKIPPED, reason="needs cvxpy", evidence="exact")
        small = record(created="2026-01-01")
        large = record(size="full", created="2025-01-01")
        newer = record(size="full", created="2025-06-01", seed=3)
        stale = record(size="full", sources="old", created="2026-05-01")
        skip = record(size="full", verdict=skipped, created="2026-06-01")
        now = {"toy/lem-2::sampled": "abc"}
        order = [skip, stale, small, large, newer]
        for count in range(1, 6):
            for records in (order[:count], order[:count][::-1]):
                chosen = choose(records, now)["toy/lem-2::sampled"]
                assert chosen == Chosen(order[count - 1], count == 2, stale if count == 3 else None)
        assert choose([stale], {})["toy/lem-2::sampled"].stale
        assert not choose([stale])["toy/lem-2::sampled"].stale


def test_audits_under_way_are_kept_by_mechanism_and_identity(tmp_path):
    def state(samples, claim="1-DP"):
        return {"tested": samples, "audit": {"claim": claim, "seed": "0"}}

    with Store(tmp_path / "store.db") as store:
        assert store.audits("m.py:f") == []
        store.keep_audit("m.py:f", state(10))
        store.keep_audit("m.py:f", state(20))
        store.keep_audit("m.py:f", state(5, "2-DP"))
        store.keep_audit("m.py:g", state(7))
    with Store(tmp_path / "store.db") as store:
        assert [s["tested"] for s in store.audits("m.py:f")] == [5, 20]
        assert store.audits("m.py:g") == [state(7)]


@pytest.mark.parametrize("text", ["[]", "{}", '{"verdict": 3}', '{"a": {}, "b": {}}'])
def test_what_no_cell_wrote_is_no_measurement(text: str) -> None:
    with pytest.raises(InvalidInput, match="is no measurement"):
        decode(text)
