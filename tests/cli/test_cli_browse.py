"""`dpcheck list` and `dpcheck show`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import checkout
import pytest
from click.shell_completion import ShellComplete

from dpcheck.cli import main

Cli = Callable[..., object]


def test_list_before_and_after_a_run(root: Path, cli: Cli) -> None:
    lines = cli("list").stdout.splitlines()
    assert lines[1].split() == ["toy/thm-1", "theorem", "not", "run", "Theorem", "1"]
    assert lines[-1] == "3 claims · checks: not run 2"
    cli("run")
    assert cli("list").stdout.splitlines()[-1] == "3 claims · checks: undecided 1 · holds 1"


def test_list_filters(root: Path, cli: Cli) -> None:
    cli("run")

    def labels(*options: str) -> list[str]:
        return [row["label"] for row in json.loads(cli("list", "--json", *options).stdout)]

    assert labels() == labels("--paper", "toy") == ["toy/thm-1", "toy/thm-1@corrected", "toy/lem-2"]
    assert labels("--kind", "lemma") == labels("--kind", "privacy") == ["toy/lem-2"]
    assert labels("--outcome", "holds") == ["toy/thm-1"]
    assert labels("--outcome", "refuted") == []
    assert "did you mean toy" in cli("list", "--paper", "toyy", code=2).stderr


def test_list_says_what_is_stale(root: Path, cli: Cli) -> None:
    cli("run")
    path = root / "audits" / "toy.py"
    path.write_text(path.read_text() + "\nEDITED = True\n")
    assert "holds*" in cli("list").stdout
    assert "is stale" in cli("list").stdout
    row = json.loads(cli("list", "--json").stdout)[0]
    assert row["checks"][0]["stale"] is True
    assert "stale: its sources have changed" in " ".join(cli("show", "toy/thm-1").stdout.split())


def test_committed_records_speak_where_there_is_no_store(root: Path, cli: Cli) -> None:
    cli("run")
    cli("report")
    (root / ".dpcheck" / "store.db").unlink()
    assert "undecided 1 · holds 1" in cli("list").stdout


def test_show(root: Path, cli: Cli) -> None:
    cli("run")
    text = cli("show", "toy/thm-1").stdout
    assert text.splitlines()[0].startswith("Theorem 1 · A toy paper · own result")
    assert text.splitlines()[0].endswith("bounds/toy.py:8")
    for part in (
        "The excess risk is at most LD/√n.",
        "excess risk ≲ (up to a constant)",
        "D⋅L",
        "constants  D, L, n",
        "HOLDS  mean 0.4812",
        "exact; size smoke, seed 0",
        "files      bounds/toy.py:8",
        "           audits/toy.py:5",
        "prose      bounds/toy.md:7",
        "corrected  no check       toy/thm-1@corrected",
        "rerun      dpcheck run toy/thm-1 --size standard",
    ):
        assert part in text
    assert "excess risk ≤\n" in cli("show", "toy/thm-1@corrected").stdout


def test_show_begins_with_what_became_of_it_the_worst_first(root: Path, cli: Cli) -> None:
    audits = root / "audits" / "toy.py"
    more = """
@check("toy/lem-2", kind="risk")
def below(context):
    return holds("it is below", "exact")
"""
    audits.write_text(audits.read_text().replace("@check", more + "@check", 1))
    cli("run")
    lines = cli("show", "toy/lem-2").stdout.splitlines()
    assert lines[1] == "  UNDECIDED 1 · HOLDS 1"
    places = [next(i for i, line in enumerate(lines) if f"  {word}  " in line) for word in ("UNDECIDED", "HOLDS")]
    assert places == sorted(places)


def test_show_json(root: Path, cli: Cli) -> None:
    cli("run")
    shown = json.loads(cli("show", "toy/lem-2::sampled", "--json").stdout)
    assert shown["outcome"] == "undecided"
    assert shown["checks"][0]["verdict"]["numbers"]["hits"] == 9956
    assert shown["homes"][-1] == {"kind": "audit", "path": "audits/toy.py", "line": 15}


def test_show_names_the_committed_witness(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout.ROOT)
    said = cli("show", "pure_heavy_tails/prop-c-3").stdout
    command = re.search(r"^  verify +dpcheck (verify \S+\.json)$", said, re.M)
    assert command is not None
    assert "pure_heavy_tails/prop-c-3 is violated" in cli(*command[1].split()).stdout


def test_show_grade_remark_unchecked(project: Callable[..., Path], cli: Cli) -> None:
    more = """
        from .toy import TOY
        import sympy as sp
        from dpcheck.checks import unchecked
        from dpcheck.symbols import epsilon, n, p
        claim = TOY.claim(
            "toy/lem-9", "Lemma 9", "All is well.", kind="lemma", grade="slip", remark="It is not.", section="3",
            quantity="risk", relation="=", order=n, assumptions=(sp.Le(epsilon, 1 / n**2),), probability=1 - 1 / p,
        )
        no_time = unchecked("toy/lem-9", "cited; no constant is stated")
    """
    root = project({"bounds/zz.py": more, "bounds/toy.md": "## lem-9\n## thm-1\n"})
    text = cli("show", "toy/lem-9", "--root", str(root)).stdout
    for part in ("slip: It is not.", "Section 3", "cited; no con", "assumes     ε ≤ n^(-2)", "with prob.  1 - 1/p"):
        assert part in text


@pytest.mark.parametrize("label", ["toy/thm-3", "toy/thm-1@derived", "nosuch"])
def test_unknown_labels(root: Path, cli: Cli, label: str) -> None:
    result = cli("show", label, code=2)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"dpcheck: unknown label '{label}'; ")


def test_broken_content_is_named_and_the_rest_shown(root: Path, cli: Cli) -> None:
    (root / "audits" / "broken.py").write_text("import nowhere_to_be_found\n")
    result = cli("list", code=2)
    assert "toy/thm-1" in result.stdout
    assert "broken.py:1: does not import: ModuleNotFoundError" in result.stderr


def test_no_claims(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "bounds").mkdir()
    cli("list", "--root", str(tmp_path), code=5)


def test_listing_imports_nothing_heavy(root: Path) -> None:
    code = (
        "import sys; from dpcheck.cli import main; main(['list'], standalone_mode=False); print(sorted(m for m in "
        "('scipy.stats', 'matplotlib', 'cvxpy', 'joblib', 'sklearn', 'statsmodels', 'rich') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_closed_pipe(root: Path) -> None:
    command = f"{sys.executable} -m dpcheck list --json | head -c 10"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("command", "begun", "proposed"),
    [
        ("show", "", ["toy"]),
        ("show", "toy/lem", ["toy/lem-2"]),
        ("run", "toy/lem-2::", None),
        ("plan", "toy/thm", []),
        ("list --paper", "t", ["toy"]),
        ("report --only", "", ["toy"]),
        ("report --only", "u", []),
    ],
)
def test_shells_complete_labels(root: Path, command: str, begun: str, proposed: list[str] | None) -> None:
    """A paper, its labels, a statement's checks; a theorem is no algorithm."""
    complete = ShellComplete(main, {}, "dpcheck", "_X")
    found = [item.value for item in complete.get_completions(command.split(), begun)]
    if proposed is None:
        assert found
        assert all(item.startswith(begun) for item in found)
    else:
        assert found == proposed
