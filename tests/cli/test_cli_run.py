"""`dpcheck run`, `merge`, `compare`, `report`: exit codes, summaries, resumption from the shell."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from dpcheck.cli.common import Exit
from dpcheck.engine.store import Store

Cli = Callable[..., object]
HEAD = """
from dpcheck.checks import check
from dpcheck.verdicts import differs, holds, refuted, undecided
"""


def audits(root: Path, text: str) -> None:
    (root / "audits" / "toy.py").write_text(HEAD + text)


def test_run(root: Path, cli: Cli) -> None:
    result = cli("run", "toy", "--size", "standard")
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["outcome", "check", "reason"]
    assert lines[1].startswith("undecided  toy/lem-2::sampled")
    assert lines[-3] == "  holds 1 · refuted 0 · consistent 0 · undecided 1 · skipped 0"
    assert lines[-2] == "  failure probability of the whole run 5e-07, seed 0"
    assert lines[-1] == "  every verdict as expected · store .dpcheck/store.db · next: dpcheck report"
    said = result.stderr.splitlines()
    assert said[0] == "toy: 2 checks, 5 cells to compute"
    assert said[1].startswith("[1/2] holds")
    assert "5 in the store already" in cli("run", "toy", "--size", "standard").stderr


def test_a_label_loads_its_own_files_alone(root: Path, cli: Cli) -> None:
    """From the choice of checks to the last line, which names the papers of one's own."""
    for key in ("first", "second"):
        paper = f"from dpcheck.claims import Paper\nPAPER = Paper(key='{key}', title='t', authors='a', reference='r')\n"
        paper += f"one = PAPER.claim('{key}/lem-1', 'Lemma 1', 'It is so.', kind='lemma')\n"
        audit = f"@check('{key}/lem-1', kind='symbolic')\ndef fine(context):\n    return holds('fine', 'exact')\n"
        (root / "bounds" / f"{key}.py").write_text(paper)
        (root / "audits" / f"{key}.py").write_text(HEAD + audit)
    code = (
        "import sys; from dpcheck.cli import main; main(sys.argv[1:], standalone_mode=False); "
        "print(*{m.rpartition('.')[2] for m in sys.modules if m.startswith('dpcheck_content')})"
    )
    run = [sys.executable, "-c", code, "run", "first/lem-1", "--workers", "0"]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()[-1].split()
    assert "first" in loaded
    assert "second" not in loaded


def test_run_json(root: Path, cli: Cli) -> None:
    result = json.loads(cli("run", "toy/lem-2", "--json", "--seed", "3").stdout)
    assert result["summary"] == {"undecided": 1}
    assert (result["computed"], result["stored"], result["seed"], result["exit_code"]) == (2, 0, 3, 0)
    assert result["records"][0]["check"] == "toy/lem-2::sampled"


def test_two_workers_agree_with_one(root: Path, cli: Cli) -> None:
    tables = [
        cli("run", "--workers", str(workers), "--store", f"{workers}.db").stdout.splitlines()[:-1] for workers in (1, 2)
    ]
    assert tables[0] == tables[1]
    assert "0 changed outcomes · 2 the same" in cli("compare", "1.db", "2.db").stdout


@pytest.mark.parametrize(
    ("body", "options", "code", "says"),
    [
        ("return undecided('too few trials', 'exact')", (), 1, "1 verdict not as expected"),
        ("return holds('', 'exact')", (), 0, "every verdict as expected"),
        ("raise RuntimeError('oh')", (), 3, "1 error: a check raised or broke a rule"),
        ("return holds('', 'sampled', failure_probability=0.1)", (), 3, "1 error"),
        ("return refuted('', 'exact')", (), 1, "1 verdict not as expected"),
        ("return differs('our line is not the printed one')", (), 1, "differs 1"),
    ],
)
def test_exit_codes(root: Path, cli: Cli, body: str, options: tuple[str, ...], code: int, says: str) -> None:
    audits(root, f"@check('toy/lem-2', kind='privacy')\ndef one(context):\n    {body}\n")
    result = cli("run", *options, code=code)
    assert says in result.stdout


def test_strict(root: Path, cli: Cli) -> None:
    """An expected undecided verdict is exit 0, under --strict 4."""
    cli("run")
    cli("run", "--strict", code=4)
    cli("run", "toy/thm-1", "--strict")


def test_an_error_leaves_the_others(root: Path, cli: Cli) -> None:
    one = "@check('toy/lem-2', kind='symbolic')\ndef {}(context):\n    {}\n"
    audits(root, one.format("bad", "return 1 / 0") + one.format("good", "return holds('fine', 'exact')"))
    result = cli("run", code=3)
    assert "error    toy/lem-2::bad" in result.stdout
    assert "ZeroDivisionError: division by zero (toy.py:6)" in result.stdout
    assert "holds    toy/lem-2::good" in result.stdout
    assert "next: dpcheck show toy/lem-2" in result.stdout
    assert (
        "ERROR  ZeroDivisionError: division by zero (toy.py:6) (size smoke, seed 0)" in cli("show", "toy/lem-2").stdout
    )
    audits(root, one.format("bad", "return holds('at last', 'exact')"))
    cli("run")
    assert "ERROR" not in cli("show", "toy/lem-2").stdout


def test_broken_content(root: Path, cli: Cli) -> None:
    """The others run, the broken file is named with its line, and the exit code is 2."""
    (root / "audits" / "broken.py").write_text("x = 1\nraise ValueError('not today')\n")
    result = cli("run", code=2)
    assert "audits/broken.py:2: does not import: ValueError: not today" in result.stderr
    assert "every verdict as expected" in result.stdout


def test_nothing_to_run(root: Path, cli: Cli) -> None:
    result = cli("run", "toy/thm-1@corrected", code=5)
    assert result.stderr.startswith("dpcheck: nothing to run")
    assert not (root / ".dpcheck").exists()


def test_unknown_arguments(root: Path, cli: Cli) -> None:
    assert "did you mean toy/lem-2" in cli("run", "toy/lem2", code=2).stderr
    assert "'nofolder/' is no file, folder or label" in cli("run", "nofolder/", code=2).stderr
    assert "toy/lem-2 has no check 'nosuch'; it has " in cli("run", "toy/lem-2::nosuch", code=2).stderr
    (root / "notes.txt").write_text("hello")
    assert "notes.txt is no Python file" in cli("run", str(root / "notes.txt"), code=2).stderr
    assert "got 'nosuch'; there are " in cli("list", "--kind", "nosuch", code=2).stderr
    assert "got nothing for an argument" in cli("show", "", code=2).stderr
    assert "2/8" in cli("run", "--shard", "3/2", code=2).stderr
    cli("run", "--size", "tiny", code=2)


def test_a_folder_of_ones_own(root: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    text = HEAD + "@check('toy/lem-2', kind='symbolic')\ndef mine(context):\n    return holds('fine', 'exact')\n"
    (tmp_path / "mine" / "own.py").write_text(text)
    result = cli("run", str(tmp_path / "mine"), "--workers", "2")
    assert "toy/lem-2::mine" in result.stdout
    assert "toy/lem-2::sampled" not in result.stdout
    assert result.stdout.endswith(f"next: dpcheck report --also {tmp_path / 'mine'}\n")
    paper = "from dpcheck.claims import Paper\nPAPER = Paper(key='alone', title='t', authors='a', reference='r')\n"
    paper += "fine = PAPER.claim('alone/lem-2', 'Lemma 2', 'It is fine.', kind='lemma')\n"
    (tmp_path / "alone.py").write_text(paper + text.replace("toy/", "alone/"))
    said = cli("run", str(tmp_path / "alone.py")).stdout
    assert said.endswith(f"next: dpcheck report --only alone --also {tmp_path / 'alone.py'}\n")
    said = cli("run", "toy/thm-1", "--store", "other.db").stdout
    assert said.endswith("next: dpcheck report --store other.db\n")
    assert "holds 1 · not run 1" not in cli("list").stdout
    assert "holds 1 · not run 1" in cli("list", "--also", str(tmp_path / "mine")).stdout


def test_a_paper_is_meant_even_beside_a_folder_of_its_name(root: Path, cli: Cli) -> None:
    (root / "toy").mkdir()
    (root / "toy" / "broken.py").write_text("raise ValueError")
    assert "toy/lem-2::sampled" in cli("run", "toy").stdout


def test_an_unusable_store(root: Path, cli: Cli) -> None:
    (root / "file").write_text("")
    result = cli("run", "--store", "file/store.db", code=2)
    (line,) = result.stderr.splitlines()
    assert line.startswith("dpcheck: cannot open the store file/store.db")
    assert "--store" in line


def test_shards_and_merge(root: Path, cli: Cli) -> None:
    first = cli("run", "--shard", "1/2", "--store", "1.db")
    assert "2 checks with cells in other shards" in first.stdout
    assert first.stdout.endswith("next: run the other parts, then dpcheck merge 1.db THEIR_STORES --store WHOLE.db\n")
    cli("run", "--shard", "2/2", "--store", "2.db")
    merged = cli("merge", "1.db", "2.db")
    assert "1.db: 3 new cells" in merged.stderr
    assert "holds 1 · refuted 0 · consistent 0 · undecided 1" in merged.stdout
    whole = cli("run", "--store", "whole.db")
    assert merged.stdout.splitlines()[1:3] == whole.stdout.splitlines()[:2]
    cli("compare", ".dpcheck/store.db", "whole.db")
    assert "no store at 3.db" in cli("merge", "3.db", code=2).stderr
    with Store(Path("none.db")):  # of a run that was stopped before its first cell
        pass
    empty = cli("merge", "none.db", "--store", "other.db", code=Exit.NOTHING)
    assert "nothing to conclude: no cell of a check that is here in none.db" in empty.stderr


def test_compare(root: Path, cli: Cli) -> None:
    audits(root, "@check('toy/lem-2', kind='risk')\ndef one(context):\n    return holds('', 'exact')\n")
    cli("run", "--store", "a.db")
    text = (
        "@check('toy/lem-2', kind='risk')\ndef one(context):\n    return undecided('why', 'exact')\n"
        "@check('toy/lem-2', kind='risk')\ndef two(context):\n    return holds('', 'exact')\n"
    )
    audits(root, text)
    cli("run", "--store", "b.db", code=1)
    result = cli("compare", "a.db", "b.db", code=1)
    assert "holds  →  undecided  toy/lem-2::one  why" in result.stdout
    assert "1 changed outcome · 0 the same, 0 of them with other numbers · 1 only in B · 0 only in A" in result.stdout
    as_json = json.loads(cli("compare", "a.db", "b.db", "--json", code=1).stdout)
    assert as_json["changed"] == [{"check": "toy/lem-2::one", "before": "holds", "after": "undecided"}]
    assert as_json["added"] == ["toy/lem-2::two"]
    cli("compare", "a.db", "a.db")


def test_compare_tells_the_same_outcome_from_the_same_numbers(root: Path, cli: Cli) -> None:
    """Sums of 94.75 and of 1070.1 were 'the same'."""
    for name, found in (("a.db", 94.75), ("b.db", 1070.1)):
        content = f"    return holds('so', 'exact', numbers={{'sum': {found}, 'rest': math.nan}})\n"
        audits(root, f"import math\n@check('toy/lem-2', kind='risk')\ndef one(context):\n{content}")
        cli("run", "--store", name)
    assert "1 the same, 1 of them with other numbers" in cli("compare", "a.db", "b.db").stdout
    assert json.loads(cli("compare", "a.db", "b.db", "--json").stdout)["other_numbers"] == ["toy/lem-2::one"]
    assert "1 the same, 0 of them with other numbers" in cli("compare", "a.db", "a.db").stdout


def test_report_is_the_same_bytes_again(root: Path, cli: Cli) -> None:
    cli("run")
    result = cli("report")
    assert result.stdout.startswith("results of 2 of 2 checks")
    first = {path: path.read_bytes() for path in (root / "reports").rglob("*") if path.is_file()}
    assert root / "reports" / "records.jsonl" in first
    cli("run", "--store", "again.db")
    cli("report", "--store", "again.db")
    assert first == {path: path.read_bytes() for path in (root / "reports").rglob("*") if path.is_file()}


def test_report_keeps_the_larger_run(root: Path, cli: Cli) -> None:
    cli("run", "--size", "full")
    cli("report", "--out", "elsewhere")
    shutil.rmtree(root / ".dpcheck")
    cli("run", "--size", "smoke")
    cli("report", "--out", "elsewhere")
    sizes = [json.loads(line)["size"] for line in (root / "elsewhere" / "records.jsonl").read_text().splitlines()]
    assert sizes == ["full", "full"]


def test_a_bug_of_dpcheck_says_so(root: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpcheck.engine import catalogue

    monkeypatch.setenv("DPCHECK_CACHE_DIR", "")  # else the index of another test's project of the same content answers
    monkeypatch.setattr(catalogue, "load_from", lambda *a, **k: 1 / 0)
    result = cli("list", code=3)
    assert "dpcheck: internal error: ZeroDivisionError" in result.stderr


SLOW = """
import time
from pathlib import Path

@check("toy/lem-2", kind="risk", grid={"n": list(range(16))})
def slow(context, n):
    time.sleep(0.08)
    with open(Path(__file__).parent.parent / "log", "a") as file:
        file.write(f"{n}\\n")
    return holds(str(n), "exact")
"""


def _start(root: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dpcheck", "run", "toy/lem-2"]
    # A suite that runs in the background has SIGINT ignored, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 60
    while not (root / "log").exists() or len((root / "log").read_text().split()) < 4:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


def test_killed_from_outside_and_run_again(root: Path, cli: Cli) -> None:
    audits(root, SLOW)
    process = _start(root)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    again = json.loads(cli("run", "toy/lem-2", "--json").stdout)
    assert again["stored"] >= 3
    assert again["stored"] + again["computed"] == 16
    times = Counter((root / "log").read_text().split())
    assert len(times) == 16
    assert sum(times.values()) <= 17  # at most the cell that was under way


def test_interrupted_from_the_keyboard(root: Path) -> None:
    audits(root, SLOW)
    process = _start(root)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.splitlines()[-1] == "dpcheck: stopped; finished cells are kept, and the same command goes on from here"
    assert "Traceback" not in err


def test_on_a_terminal(root: Path) -> None:
    """A bar on stderr, and a table cut at the edge of the screen."""
    audits(root, "@check('toy/lem-2', kind='risk')\ndef one(context):\n    return holds('word ' * 60, 'exact')\n")
    screen, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 90, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-m", "dpcheck", "run"]
    process = subprocess.Popen(command, stdout=terminal, stderr=terminal, stdin=terminal, env=environment)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a pseudo-terminal
        while part := os.read(screen, 4096):
            shown += part
    os.close(screen)
    assert process.wait() == 0
    text = shown.decode()
    assert "1/1" in text
    assert "[1/1]" not in text
    row = next(line for line in text.splitlines() if line.startswith("holds    toy/lem-2::one"))
    assert len(row) == 90
    assert row.endswith("…")


def test_a_limit_leaves_out_what_is_on_record_to_be_dear(root: Path, cli: Cli) -> None:
    (root / "reports").mkdir(exist_ok=True)
    costs = root / "reports" / "seconds.json"
    costs.write_text('{"smoke": {"toy/lem-2::sampled": 3.5}}')
    quick = cli("run", "--limit", "3")
    assert "1 check left out that took more than 3 s each; without --limit they run too" in quick.stderr
    assert "toy/lem-2::sampled" not in quick.stdout
    assert "toy/lem-2::sampled" in cli("run", "--limit", "4").stdout
    assert (
        "says nothing of size standard; run without --limit"
        in cli("run", "--size", "standard", "--limit", "3", code=2).stderr
    )
    costs.write_text('{"smoke": {"toy/lem-2::sampled": "dear"}}')
    assert "names no seconds for size smoke" in cli("run", "--limit", "3", code=2).stderr
    costs.unlink()
    assert "does not exist, so no cost is known; run without --limit" in cli("run", "--limit", "3", code=2).stderr
