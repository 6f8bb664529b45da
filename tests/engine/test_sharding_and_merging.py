"""Parts of a run: dealt the same everywhere, brought together in any grouping, and refused where they are of others."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpcheck.engine import catalogue, merging
from dpcheck.engine.run import CheckRunner
from dpcheck.engine.sharding import deal
from dpcheck.engine.store import Failure, Store, belong_together, committed
from dpcheck.engine.stored import CellKey
from dpcheck.errors import StoreError

Make = Callable[..., Path]
KEY = CellKey("toy/lem-2::sampled", "0", "smoke", 0, "abc")
SOME = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))

keys = st.lists(st.integers(0, 60), unique=True, max_size=40).map(lambda ns: [replace(KEY, cell=str(n)) for n in ns])
seconds = st.dictionaries(st.integers(0, 60), st.floats(0.001, 1e5), max_size=40).map(
    lambda known: {(KEY.check, str(n)): took for n, took in known.items()}
)


@given(keys, st.integers(1, 7), seconds, st.randoms(use_true_random=False))
def test_parts_hold_every_cell_once_whatever_the_order(
    cells: list[CellKey], parts: int, known: dict[tuple[str, str], float], order: Any
) -> None:
    dealt = deal(cells, parts, known)
    assert len(dealt) == parts
    assert sorted(key.cell for part in dealt for key in part) == sorted(key.cell for key in cells)
    order.shuffle(cells)
    assert deal(cells, parts, known) == dealt


@given(keys, st.integers(1, 7), seconds)
def test_no_part_has_more_to_do_than_another_by_more_than_a_cell(
    cells: list[CellKey], parts: int, known: dict[tuple[str, str], float]
) -> None:
    average = sum(known.values()) / len(known) if known else 1.0
    loads = [[known.get((key.check, key.cell), average) for key in part] or [0.0] for part in deal(cells, parts, known)]
    longest = max(took for load in loads for took in load)
    assert max(map(sum, loads)) - min(map(sum, loads)) <= longest * (1 + 1e-9)


def test_what_is_computed_later_does_not_change_a_part(project: Make, tmp_path: Path) -> None:
    """A machine that is started anew, and an edit of the sources, meet the parts that were dealt at first."""
    found = catalogue.load(project())
    path = tmp_path / "s.db"

    def part(place: int, store: Path) -> set[str]:
        with Store(store) as opened:
            runner = CheckRunner(found, found.select(()), opened, shard=(place, 2))
            return {f"{task.check} {task.key.cell}" for task in runner._plan()}

    first, second = part(1, path), part(2, path)
    assert first.isdisjoint(second)
    assert len(first | second) == 5
    with Store(path) as store:
        for check, cell in (name.split(" ", 1) for name in first):
            store.add_cell(CellKey(check, cell, "smoke", 0, "older sources"), {}, 1000.0)
    assert (part(1, path), part(2, path)) == (first, second)
    assert part(1, tmp_path / "empty.db") == first


# -- merging -----------------------------------------------------------------------------------------------------------

whole = st.tuples(st.integers(0, 4), st.integers(0, 2), st.booleans())
contents = st.fixed_dictionaries(
    {
        "cells": st.lists(whole, max_size=4),
        "failures": st.lists(st.integers(0, 2), max_size=2, unique=True),  # a clash else
        "audits": st.lists(st.tuples(st.integers(0, 1), st.integers(1, 2), st.integers(0, 3)), max_size=3),
    }
)
Contents = dict[str, Any]


def written(path: Path, what: Contents) -> Path:
    """A store; a cell may be damaged."""
    with Store(path) as store:
        for cell, value, sound in what["cells"]:
            store.add_cell(replace(KEY, cell=str(cell)), {"hits": value}, versions={"numpy": "1"})
            if not sound:
                store._db.execute("UPDATE cells SET measured = measured || ' ' WHERE cell = ?", (str(cell),))
        for n in what["failures"]:
            store.add_failure(Failure(KEY, f"failed {n}", ""))
        store._db.execute("UPDATE failures SET created = message")
        for identity, version, tested in what["audits"]:
            store.keep_audit("m", {"audit": identity, "version": version, "tested": tested})
        store._db.execute("UPDATE cells SET created = ''")
        store.audits("m")  # makes the table
        store._db.execute("UPDATE audits SET created = ''")
    return path


def held(path: Path) -> dict[str, list[Any]]:
    """Everything in a store that counts, in no order: a damaged cell does not."""
    with Store(path) as store:
        names = {
            "failures": "check_id, cell, message, created",
            "audits": "mechanism, identity, state",
            "records": "record, created",
        }
        found = {t: sorted(store._db.execute(f"SELECT {columns} FROM {t}")) for t, columns in names.items()}
        found["cells"] = sorted(map(repr, store.cells(KEY.check, KEY.size, KEY.seed, KEY.sources).items()))
    return found


def merged(path: Path, parts: Sequence[Path]) -> Path:
    with Store(path) as store:
        store.audits("m")  # makes the table
        for part in parts:
            store.merge(part)
    return path


@SOME
@given(contents, contents, contents)
@example(  # an audit in the older form came back, by the grouping
    *({"cells": [], "failures": [], "audits": [row]} for row in ((0, 2, 1), (0, 1, 3), (0, 2, 2)))
)
def test_merging_is_associative_and_idempotent(
    tmp_path_factory: pytest.TempPathFactory, one: Contents, two: Contents, three: Contents
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    a, b, c = (written(folder / f"{name}.db", what) for name, what in zip("abc", (one, two, three), strict=True))
    left = held(merged(folder / "left.db", [merged(folder / "ab.db", [a, b]), c]))
    right = held(merged(folder / "right.db", [a, merged(folder / "bc.db", [b, c])]))
    assert left == right
    assert held(merged(folder / "left.db", [a, b, c, folder / "left.db"])) == left
    again = folder / "again.db"
    assert held(merged(again, [a])) == held(merged(again, [a]))


def run(root: Path, path: Path, **options: Any) -> None:
    found = catalogue.load(root)
    with Store(path) as store:
        CheckRunner(found, found.select(()), store, **options).run()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seed": 1}, "no parts of one run: seed 0 in the one, 1 in the other; --mixed joins"),
        ({"size": "full"}, "no parts of one run: size smoke in the one, full in the other; --mixed joins"),
    ],
)
def test_stores_of_other_runs_are_refused(project: Make, tmp_path: Path, options: dict[str, Any], says: str) -> None:
    root = project()
    run(root, tmp_path / "a.db", shard=(1, 2))
    run(root, tmp_path / "b.db", shard=(2, 2), **options)
    run(root, tmp_path / "c.db", shard=(2, 2))
    with pytest.raises(StoreError, match=says):
        belong_together([tmp_path / "a.db", tmp_path / "b.db"], tmp_path / "new.db")
    belong_together([tmp_path / "a.db", tmp_path / "c.db"], tmp_path / "b.db")
    Store(tmp_path / "empty.db").close()
    belong_together([tmp_path / "a.db", tmp_path / "empty.db"], tmp_path / "new.db")


def test_stores_of_other_sources_and_versions_are_refused(project: Make, tmp_path: Path) -> None:
    root = project()
    first, second = tmp_path / "a.db", tmp_path / "b.db"
    run(root, first)
    run(root, second)
    belong_together([first, second], tmp_path / "new.db")
    with contextlib.closing(sqlite3.connect(second)) as db, db:
        db.execute("""UPDATE cells SET versions = replace(versions, '"numpy": "', '"numpy": "0.')""")
    with pytest.raises(StoreError, match=r"was computed by numpy \S+ and 0\.\S+; --mixed joins"):
        belong_together([first, second], tmp_path / "new.db")
    with pytest.raises(StoreError, match=r"was computed by numpy"):
        belong_together([second], first)
    with contextlib.closing(sqlite3.connect(second)) as db, db:
        db.execute("UPDATE cells SET sources = 'edited'")
    with pytest.raises(StoreError, match="was computed from other sources"):
        belong_together([first, second], tmp_path / "new.db")


def test_shards_that_were_dealt_otherwise_are_refused(project: Make, tmp_path: Path) -> None:
    root = project()
    run(root, tmp_path / "a.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as db, db:
        db.execute("UPDATE cells SET sources = 'yesterday'")
    for i in (1, 2):
        run(root, tmp_path / f"{i}.db", shard=(i, 2))
    run(root, tmp_path / "a.db", shard=(2, 2))
    belong_together([tmp_path / "1.db", tmp_path / "2.db"], tmp_path / "new.db")
    with pytest.raises(StoreError, match="dealt by other known seconds"):
        belong_together([tmp_path / "1.db", tmp_path / "a.db"], tmp_path / "new.db")


def test_the_same_bytes_from_three_machines(project: Make, tmp_path: Path) -> None:
    root = project()
    run(root, tmp_path / "whole.db")
    for i in (1, 2, 3):
        run(root, tmp_path / f"{i}.db", shard=(i, 3))
    merged(tmp_path / "new.db", [tmp_path / f"{i}.db" for i in (3, 1, 2)])
    run(root, tmp_path / "new.db")
    with Store(tmp_path / "new.db") as new, Store(tmp_path / "whole.db") as old:
        assert list(map(committed, new.records())) == list(map(committed, old.records()))


class Damaged:
    """Four rows, of which the scan of all shows one; the third cannot be read at all."""

    def execute(self, sql: str, rowid: tuple[int, ...] = ()) -> Any:
        if not rowid:
            return self._scanned()
        if rowid == (3,):
            raise sqlite3.DatabaseError("database disk image is malformed")
        row = (f"row {rowid[0]}",) if rowid[0] in (1, 2, 4) else None
        return SimpleNamespace(fetchone=lambda: row)

    def _scanned(self) -> Any:
        yield (1, "row 1")
        raise sqlite3.DatabaseError("database disk image is malformed")


def test_rows_of_a_damaged_table_are_read_one_by_one() -> None:
    lost: list[str] = []
    found = list(merging._rows(Damaged(), "cells", "check_id", lost))  # type: ignore[arg-type]
    assert found == [("row 1",), ("row 2",), ("row 4",)]
    assert lost[0] == "cells:3"
    assert len(lost) == 2  # and whatever came after the last that can be read
