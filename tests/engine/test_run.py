"""Runs: every cell once, the same answers for any number of workers, errors kept apart, rules enforced."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import mpmath
import pytest
from edits import edit

from dpcheck.engine import catalogue, judge
from dpcheck.engine.history import committed
from dpcheck.engine.run import CheckRunner, Listener, RunResult
from dpcheck.engine.store import Store
from dpcheck.errors import InvalidInput
from dpcheck.witnesses import Violation

Make = Callable[..., Path]

HEAD = """
from dpcheck.checks import by_size, check
from dpcheck.errors import MissingExtra
from dpcheck.verdicts import Witness, holds, undecided, refuted
"""


def run(root: Path, *wanted: str, store: Path | None = None, **options: Any) -> RunResult:
    found = catalogue.load(root)
    assert found.errors == []
    with Store(store or root / ".dpcheck" / "store.db") as opened:
        return CheckRunner(found, found.select(wanted), opened, **options).run()


def outcomes(result: RunResult) -> dict[str, str]:
    return {record.check: record.verdict.outcome.value for record in result.records}


def test_a_run_and_its_second_time(project: Make) -> None:
    root = project()
    first = run(root)
    assert outcomes(first) == {"toy/thm-1::within_the_bound": "holds", "toy/lem-2::sampled": "undecided"}
    assert (first.computed, first.stored, first.failures, first.waiting) == (5, 0, [], [])
    assert all(record.expected for record in first.records)
    again = run(root)
    assert (again.computed, again.stored) == (0, 5)
    assert [committed(r) for r in again.records] == [committed(r) for r in first.records]
    with Store(root / ".dpcheck" / "store.db") as store:
        assert len(store.records()) == 2  # an unchanged verdict is not written twice


def test_workers_do_not_change_results(project: Make, tmp_path: Path) -> None:
    root = project()
    one = run(root, store=tmp_path / "one.db", workers=1, seed=7)
    two = run(root, store=tmp_path / "two.db", workers=2, seed=7)
    other = run(root, store=tmp_path / "one.db", workers=1, seed=8)
    assert [committed(r) for r in one.records] == [committed(r) for r in two.records]
    assert one.records[1].verdict.numbers != other.records[1].verdict.numbers


def test_an_edit_invalidates_its_own_checks_only(project: Make) -> None:
    root = project(
        {"audits/more.py": HEAD + "@check('toy/lem-2', kind='symbolic')\ndef more(c): return holds('', 'exact')"}
    )
    run(root)
    edit(root / "audits" / "more.py", "holds('',", "holds('changed',")
    again = run(root)
    assert (again.computed, again.stored) == (1, 5)


def test_what_raises_is_kept_apart(project: Make) -> None:
    text = """
        @check("toy/lem-2", kind="symbolic", grid={"n": [1, 0, 2]})
        def divides(context, n):
            return holds(str(1 / n), "exact")

        @check("toy/lem-2", kind="symbolic")
        def exits(context):
            raise SystemExit(0)

        @check("toy/lem-2", kind="symbolic")
        def says_nothing(context):
            pass

        def unfair(rows, failure_probability):
            return rows[5]

        @check("toy/lem-2", kind="symbolic", conclude=unfair)
        def concludes_badly(context):
            return {"x": 1}

        @check("toy/lem-2", kind="symbolic")
        def needs_more(context):
            raise MissingExtra("an LP", "solvers")

        @check("toy/lem-2", kind="symbolic", needs=["no-such-package"])
        def cannot_start(context):
            raise AssertionError
    """
    root = project({"audits/toy.py": HEAD + "\n".join(line[8:] for line in text.splitlines())})
    for workers in (1, 2):
        result = run(root, workers=workers)
        assert outcomes(result) == {"toy/lem-2::needs_more": "skipped", "toy/lem-2::cannot_start": "skipped"}
        reasons = [record.verdict.reason for record in result.records]
        assert "pip install 'dpcheck[solvers]'" in reasons[0]
        assert reasons[1] == "needs no-such-package, which is not installed"
        messages = {failure.key.check.partition("::")[2]: failure.message for failure in result.failures}
        assert messages["divides"].startswith("ZeroDivisionError: ")
        assert "toy.py" in messages["divides"]
        assert messages["exits"].startswith("SystemExit")
        assert "a check returned None" in messages["says_nothing"]
        assert messages["concludes_badly"].startswith("IndexError")
        assert len(result.failures) == 4
    with Store(root / ".dpcheck" / "store.db") as store:
        assert len(store.failures()) == 8
        assert "ZeroDivisionError" in store.failures()[0].trace
        divides = catalogue.load(root)
        sources = divides.fingerprint(divides.checks["toy/lem-2::divides"])
        assert len(store.cells("toy/lem-2::divides", "smoke", 0, sources)) == 2


def verifier(claimed: int, found: int) -> Violation:
    return Violation(mpmath.mpf(claimed), mpmath.mpf(found), "found <= claimed", found > claimed, "toy/thm-1")


@pytest.fixture
def toy_witnesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """`dpcheck.witnesses.toy.wrong`, for the time of a test."""
    spec = importlib.machinery.ModuleSpec("dpcheck.witnesses.toy", None)
    module: ModuleType = importlib.util.module_from_spec(spec)
    module.wrong = verifier  # type: ignore[attr-defined]
    module.__all__ = ["wrong"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dpcheck.witnesses.toy", module)


@pytest.mark.parametrize(
    ("label", "kind", "verdict", "says"),
    [
        ("toy/lem-2", "privacy", "holds('', 'sampled', failure_probability=5e-7)", "never proves a privacy claim"),
        ("toy/lem-2", "rate", "holds('', 'sampled', failure_probability=5e-7)", "never proves a rate"),
        ("toy/lem-2", "privacy", "holds('', 'exact')", ""),
        ("toy/lem-2", "risk", "holds('', 'sampled', failure_probability=5e-7)", ""),
        ("toy/thm-1@corrected", "risk", "refuted('', 'exact')", ""),
        ("toy/thm-1", "risk", "refuted('', 'exact', witness=w('toy/thm-1', 1, 2))", ""),
        ("toy/thm-1", "risk", "refuted('', 'exact', witness=w('toy/thm-1', 2, 1))", "does not verify: no violation"),
        ("toy/thm-1", "risk", "refuted('', 'exact', witness=w('toy/lem-2', 1, 2))", "against toy/lem-2"),
        ("toy/lem-2", "risk", "refuted('', 'exact', witness=w('toy/lem-2', 1, 2))", "speaks of toy/thm-1"),
        ("toy/thm-1", "risk", "refuted('', 'exact', witness=w('toy/thm-1', 1, 2, 3))", "found is given as 3"),
        ("toy/thm-1", "risk", "refuted('', 'exact', witness=w('toy/thm-1', 1, 2, kind='toy.x'))", "no verifier"),
    ],
)
@pytest.mark.usefixtures("toy_witnesses")
def test_rules(project: Make, label: str, kind: str, verdict: str, says: str) -> None:
    """Each verdict is either kept or an error of the check that names the rule."""
    helper = (
        "def w(label, claimed, found, told=None, kind='toy.wrong'):\n"
        "    return Witness(label=label, kind=kind, parameters={'claimed': claimed, 'found': found},\n"
        "                   claimed=str(claimed), found=str(told or found))\n"
    )
    check = f"@check({label!r}, kind={kind!r}, expect='refuted')\ndef judged(context):\n    return {verdict}\n"
    result = run(project({"audits/toy.py": HEAD + helper + check}))
    if says:
        assert result.records == []
        assert says in result.failures[0].message
    else:
        assert result.failures == []
        (record,) = result.records
        assert record.expected == (record.verdict.outcome == "refuted")


def test_without_a_witness_the_code_differs_from_what_is_printed(project: Make) -> None:
    """No accusation of a printed statement, no internal error: an unexpected verdict of its own."""
    check = (
        "@check('toy/thm-1', kind='risk', expect='refuted')\n"
        "def judged(context):\n    return refuted('2 > 1', 'exact')\n"
    )
    (record,) = run(project({"audits/toy.py": HEAD + check})).records
    assert record.verdict.outcome == "differs"
    assert record.verdict.reason.endswith("the code, formula or check differs from what is printed: 2 > 1")
    assert "ours" not in record.verdict.reason, "it may be the code of a paper of one's own"
    assert not record.expected


def test_a_check_of_several_labels_runs_once_and_is_found_under_each(project: Make) -> None:
    check = (
        "@check('toy/thm-1', kind='risk', also=('toy/lem-2',))\ndef judged(context):\n    return holds('', 'exact')\n"
    )
    root = project({"audits/toy.py": HEAD + check})
    found = catalogue.load(root)
    assert [c.id for c in found.checks_of("toy/lem-2")] == ["toy/thm-1::judged"]
    assert [c.id for c in found.select(["toy/lem-2"])] == ["toy/thm-1::judged"]
    assert len(run(root).records) == 1


def test_a_check_without_cells_at_a_size_is_skipped_there(project: Make) -> None:
    text = """
        @check("toy/thm-1", kind="risk", grid={"n": by_size([], [4, 16])})
        def dear(context, n):
            assert context.size == "standard"
            return holds("small", "exact")
    """
    root = project({"audits/toy.py": HEAD + "\n".join(line[8:] for line in text.splitlines())})
    (small,) = run(root).records
    assert small.expected
    assert (small.verdict.outcome.value, small.cells, small.verdict.failure_probability) == ("skipped", 0, 0.0)
    assert "measured from size standard on" in small.verdict.reason
    larger = run(root, size="standard")
    assert outcomes(larger) == {"toy/thm-1::dear": "holds"}
    assert larger.computed == 2


def test_a_statement_of_our_own_needs_no_witness(project: Make) -> None:
    """Nobody printed it, so refuting it accuses nobody."""
    claim = """from .toy import TOY\n
own = TOY.claim("toy/prop-1", "Ours", "So it is.", kind="lemma", origin="ours")\n"""
    check = "@check('toy/prop-1', kind='risk')\ndef judged(context):\n    return refuted('', 'exact')\n"
    (record,) = run(project({"bounds/own.py": claim, "audits/toy.py": HEAD + check})).records
    assert record.verdict.outcome == "refuted"
    assert not record.expected


def test_shards_and_merge(project: Make, tmp_path: Path) -> None:
    root = project()
    whole = run(root, store=tmp_path / "whole.db")
    parts = [run(root, store=tmp_path / f"{i}.db", shard=(i, 2)) for i in (1, 2)]
    assert [part.computed for part in parts] == [3, 2]
    assert all(len(part.waiting) == 2 and not part.records for part in parts)
    found = catalogue.load(root)
    with Store(tmp_path / "merged.db") as store:
        assert [store.merge(tmp_path / f"{i}.db").cells for i in (1, 2)] == [3, 2]
        merged = CheckRunner(found, list(found.checks.values()), store).run(compute=False)
    assert [committed(r) for r in merged.records] == [committed(r) for r in whole.records]
    assert merged.computed == 0


def test_longest_cells_come_first(project: Make) -> None:
    root = project()
    found = catalogue.load(root)
    with Store(root / "store.db") as store:
        runner = CheckRunner(found, list(found.checks.values()), store)
        tasks = runner._plan()
        store.add_cell(tasks[3].key, {}, 2.0)
        store.add_cell(tasks[1].key, {}, 1.0)
        path = root / "audits" / "toy.py"
        path.write_text(path.read_text() + "\nEDITED = True\n")
        found = catalogue.load(root)
        later = CheckRunner(found, list(found.checks.values()), store)._plan()
    assert [task.key.cell for task in later[:2]] == [tasks[3].key.cell, tasks[1].key.cell]
    assert len(later) == 5


def test_sources_that_change_under_way(project: Make) -> None:
    """A worker that loads other sources than were planned says so instead of filing the result wrongly."""
    root = project()
    found = catalogue.load(root)

    class Edits(Listener):
        def started(self, cells: int, stored: int) -> None:
            path = root / "audits" / "toy.py"
            path.write_text(path.read_text() + "\nEDITED = True\n")

    with Store(root / "store.db") as store:
        result = CheckRunner(found, list(found.checks.values()), store, workers=2, listener=Edits()).run()
    assert len(result.failures) == 2  # one a check; the store has those of all five cells
    assert all("changed while it ran" in failure.message for failure in result.failures)


@pytest.mark.parametrize(
    ("options", "says"),
    [({"size": "huge"}, "size"), ({"seed": -1}, "seed"), ({"workers": -1}, "workers"), ({"shard": (3, 2)}, "3/2")],
)
def test_bad_options(project: Make, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        run(project(), **options)


SLOW = (
    HEAD
    + """
import time
from pathlib import Path

@check("toy/lem-2", kind="risk", grid={"n": list(range(24))})
def slow(context, n):
    time.sleep(0.05)
    value = float(context.rng().random())
    with open(Path(__file__).parent.parent / "log", "a") as file:
        file.write(f"{n}\\n")
    return holds(f"{value}", "exact", numbers={"value": value})
"""
)
DRIVER = (
    "import sys; from dpcheck.engine import catalogue; from dpcheck.engine.run import CheckRunner; "
    "from dpcheck.engine.store import Store; found = catalogue.load(sys.argv[1]); "
    "CheckRunner(found, found.select(['toy/lem-2::slow']), Store(sys.argv[2]), workers=int(sys.argv[3])).run()"
)


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_and_resumed(project: Make, tmp_path: Path, workers: int) -> None:
    """SIGKILL in the middle: no finished cell is computed twice, none is lost, the answer is an unbroken run's."""
    root, path = project({"audits/slow.py": SLOW}), tmp_path / "store.db"
    found = catalogue.load(root)
    check = found.checks["toy/lem-2::slow"]

    def stored() -> dict[str, Any]:
        with Store(path) as store:
            return store.cells(check.id, "smoke", 0, found.fingerprint(check))

    command = [sys.executable, "-c", DRIVER, str(root), str(path), str(workers)]
    process = subprocess.Popen(command, start_new_session=True)
    deadline = time.monotonic() + 60
    while not (root / "log").exists() or len((root / "log").read_text().split()) < 6:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()

    before = stored()
    logged = (root / "log").read_text().split()
    assert 4 <= len(before) < 24
    assert len(logged) - len(before) <= 2 * workers  # computed, but not finished: the kill came before the store
    resumed = run(root, "toy/lem-2::slow", store=path, workers=workers)
    times = Counter((root / "log").read_text().split())
    assert resumed.computed == 24 - len(before)
    assert set(times) == {str(n) for n in range(24)}
    assert all(times[str(json.loads(cell)["n"])] == 1 for cell in before)
    assert {cell: stored()[cell] for cell in before} == before
    unbroken = run(root, "toy/lem-2::slow", store=tmp_path / "unbroken.db")
    assert [committed(r) for r in resumed.records] == [committed(r) for r in unbroken.records]


def test_a_record_names_its_commit_and_whether_files_were_changed_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    here = tmp_path / "here"
    here.mkdir()
    (here / "a.py").write_text("a = 1\n")
    assert judge.commit(here) == ""
    git = ["git", "-C", str(here), "-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "a.py"], ["commit", "-qm", "A file"]):
        subprocess.run([*git, *command], check=True)
    head = judge.commit(here)
    assert re.fullmatch("[0-9a-f]{40}", head)
    (here / "new.py").write_text("")  # what git was not told of is not of the commit, nor of its files
    assert judge.commit(here) == head
    (here / "a.py").write_text("a = 2\n")
    assert judge.commit(here) == f"{head}+"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert judge.commit(here) == ""


def test_a_package_is_missing_in_another_version_than_is_named() -> None:
    here = importlib.metadata.version("numpy")
    needs = ("numpy", "numpy==0.1", f"numpy=={here}", "no-such-package", "no-such-package==1.0")
    assert judge.missing(SimpleNamespace(needs=needs)) == ["numpy==0.1", "no-such-package", "no-such-package==1.0"]
