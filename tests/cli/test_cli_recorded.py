"""`dpcheck audit --outputs`, `--keep` and `--one-run`, and `dpcheck plan-audit`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pairs import PAIR

from dpcheck.recorded import script

Cli = Callable[..., object]

MECHANISMS = """
import numpy as np
def leaky(data, rng, trials):
    return data.mean() + rng.laplace(scale=1 / len(data) / 3, size=trials)
def once(data, rng):
    return ["up" if rng.random() < data.mean() else "down"] * int(rng.integers(1, 4))
"""


@pytest.fixture
def here(beside_pair: Path) -> Path:
    """A folder with mechanisms, a pair of inputs, and outputs on it: true epsilon 2."""
    (beside_pair / "mech.py").write_text(MECHANISMS)
    rng = np.random.default_rng(0)
    x, y = rng.laplace(size=3000), 2 + rng.laplace(size=3200)
    np.save(beside_pair / "x.npy", x)
    np.save(beside_pair / "y.npy", y)
    np.savez(beside_pair / "both.npz", data=x, neighbour=y)
    np.savez(beside_pair / "scores.npz", **{"in": rng.normal(size=510) + 2, "out": rng.normal(size=490)})
    return beside_pair


def test_outputs_in_two_files_or_in_one(here: Path, cli: Cli) -> None:
    two = cli("audit", "--outputs", "x.npy", "y.npy", "--epsilon", "1", code=1).stdout
    one = cli("audit", "--outputs", "both.npz", "--epsilon", "1", code=1).stdout
    assert two.startswith("REFUTED  the recorded mechanism is not 1-DP: certified ε ≥ 1.")
    assert [line for line in one.splitlines() if " s analysis" not in line] == [
        line for line in two.splitlines() if " s analysis" not in line
    ]
    assert "the only audit of these outputs" in two
    (witness,) = (here / ".dpcheck").glob("witness-*.json")
    told = cli("verify", str(witness)).stdout
    assert "attested, not verified: the claim that 'the recorded mechanism' is 1-DP is violated if" in told
    cli("audit", "--outputs", "both.npz", "--epsilon", "3", "--must-detect", "4")
    cli("audit", "--outputs", "both.npz", "--epsilon", "3", "--require-power", "3.01", code=4)
    cli("audit", "--outputs", "both.npz", "--rho", "1", "--unordered", "--among", "3", code=4)


def _pair(said: str) -> str:
    return next(line for line in said.splitlines() if line.startswith("  pair"))


def test_a_run_is_kept_and_judged_again(here: Path, cli: Cli) -> None:
    run = ("audit", "mech.py:leaky", *PAIR, "--trials", "2000", "--keep", "kept.npz", "--json")
    first = json.loads(cli(*run, code=1).stdout)
    again = json.loads(cli("audit", "--outputs", "kept.npz", "--epsilon", "1", "--json", code=1).stdout)
    assert first["mechanism"] == "leaky"
    assert first["epsilon_lower"] == again["epsilon_lower"] > 1
    said = cli("audit", "--outputs", "kept.npz", "--epsilon", "1", code=1).stdout
    assert "word of whoever recorded them" in _pair(said)
    assert "--keep kept.npz: there is such a file" in cli(*run, code=2).stderr
    unkept = cli(*run[:-3], code=1).stdout
    assert _pair(cli(*run[:-2], "again.npz", code=1).stdout) == _pair(unkept) != _pair(said)
    assert again["among"] == 1
    assert again["rows"] == {"x": 2000, "y": 2000}
    split = cli("audit", "--outputs", "kept.npz", "--epsilon", "4", "--among", "4", "--json").stdout
    assert json.loads(split)["failure_probability"] == 0.05 / 4


def test_what_rows_lack_are_more_rows(here: Path, cli: Cli) -> None:
    told = cli("audit", "--outputs", "both.npz", "--epsilon", "3", "--must-detect", "3.01", code=4).stderr
    assert "record more runs than these; `dpcheck plan-audit` says how many" in told
    assert "--trials" not in told


def test_words_are_kept_as_lines(here: Path, cli: Cli) -> None:
    run = ("audit", "mech.py:once", *PAIR, "--per-call", "--trials", "300", "--keep")
    assert "not kept: kept.npz holds arrays of numbers or words only" in cli(*run, "kept.npz", code=0).stderr
    cli(*run, "kept.jsonl", code=0)
    assert len((here / "kept.jsonl").read_text().splitlines()) == 600
    cli("audit", "--outputs", "kept.jsonl", "--epsilon", "1", code=0)


def test_dependent_rows_are_undecided(here: Path, cli: Cli) -> None:
    np.save("sorted.npy", np.sort(np.load("x.npy")))
    told = cli("audit", "--outputs", "sorted.npy", "y.npy", "--epsilon", "1", code=4).stdout
    assert told.startswith("UNDECIDED  the recorded mechanism: rows are not independent")
    cli("audit", "--outputs", "sorted.npy", "y.npy", "--epsilon", "1", "--unordered", code=1)


def test_scores_of_canaries(here: Path, cli: Cli) -> None:
    run = ("audit", "--outputs", "scores.npz", "--one-run", "--epsilon", "0.5", "--delta", "1e-5")
    told = cli(*run, "--guesses", "100", code=1).stdout
    assert told.startswith("REFUTED  the recorded run is not (0.5, 1e-05)-DP (95 %)")
    assert "assumes      each canary was in the data with probability 1/2" in told
    found = json.loads(cli(*run, "--json", code=1).stdout)
    assert (found["canaries"], found["guesses"], len(found["assumptions"])) == (1000, 1000, 4)
    cli("audit", "--outputs", "scores.npz", "--one-run", "--epsilon", "9", code=4)
    assert "--one-run judges them" in cli("audit", "--outputs", "scores.npz", "--epsilon", "0.5", code=2).stderr


def test_a_plan(here: Path, cli: Cli) -> None:
    told = cli("plan-audit", "--epsilon", "1", "--must-detect", "1.5").stdout
    assert "runs on each input refute 1-DP where a true ε is 1.5 (95 % power" in told
    assert "Laplace noise" in told
    run = ("plan-audit", "mech.py:leaky", *PAIR, "--require-power", "1.5", "--json")
    found = json.loads(cli(*run).stdout)
    assert found["needed"][-1]["law"] == "pilot of leaky"
    assert found["trials"] == max(one["trials"] for one in found["needed"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--outputs", "both.npz"), "no claim"),
        (("--outputs", "both.npz", *PAIR), "--data does not go with --outputs"),
        (("--outputs", "both.npz", "--epsilon", "1", "--trials", "100"), "--trials does not go with --outputs"),
        (("--outputs", "both.npz", "--epsilon", "1", "--keep", "k.npz"), "--keep does not go with --outputs"),
        (("--outputs", "both.npz", "--epsilon", "1", "--shrink"), "--shrink does not go with --outputs"),
        (("--outputs", "both.npz", "--epsilon", "1", "--guesses", "9"), "--guesses does not go with --outputs"),
        (("--outputs", "x.npy", "--epsilon", "1"), "x.npy holds one array; give two .npy files"),
        (("--outputs", "x.npy", "x.npy", "--epsilon", "1"), "x and y hold the same outputs row for row"),
        (("--outputs", "x.npy", "y.npy", "x.npy", "--epsilon", "1"), "both samples or a file of each, got 3"),
        (("--outputs", "none.npz", "--epsilon", "1"), "cannot read none.npz"),
        (("--outputs", "scores.npz", "--one-run", "--mu", "1", "--halts"), "--halts does not go with --one-run"),
        (("--epsilon", "1"), "name one mechanism as FILE:MECHANISM, or files by --outputs; got 0"),
        (("mech.py:leaky", "--epsilon", "1"), "Missing option '--data'"),
        (("mech.py:leaky", *PAIR, "--one-run"), "--one-run needs --outputs"),
        (("mech.py:leaky", *PAIR, "--unordered"), "--unordered needs --outputs"),
        (("mech.py:leaky", *PAIR, "--among", "3"), "--among needs --outputs or --keep"),
        (("mech.py:leaky", *PAIR, "--keep", "k.csv"), "outputs are kept in a file that ends in .npz or .jsonl"),
        (("mech.py:leaky", *PAIR, "--keep", "k.npz", "--trials", "9"), "--trials must lie between 70"),
        (("mech.py:leaky", *PAIR, "--keep", "k.npz", "--mode", "anytime"), "--mode does not go with --keep"),
    ],
)  # fmt: skip
def test_bad_arguments(here: Path, cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    result = cli("audit", *arguments, code=2)
    assert says in " ".join(result.stderr.split())
    assert not (here / ".dpcheck").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--outputs", "both.npz", "--epsilon", "0.5"),
        ("--outputs", "x.npy", "y.npy", "--epsilon", "0.5", "--unordered"),
        ("mech.py:leaky", *PAIR, "--trials", "2000"),
    ],
)
def test_a_script_shows_it_without_dpcheck(here: Path, cli: Cli, arguments: tuple[str, ...]) -> None:
    assert "python show.py shows it" in cli("audit", *arguments, "--script", "show.py", code=1).stderr
    done = subprocess.run([sys.executable, "show.py"], capture_output=True, text=True, check=True)
    found, claimed = (float(word.split(",")[0]) for word in done.stdout.replace("claimed", ">=").split(">= ")[1:])
    assert found > claimed


def test_no_script(here: Path, cli: Cli) -> None:
    said = cli("audit", "--outputs", "both.npz", "--epsilon", "5", "--script", "show.py").stderr
    assert "no script: nothing was refuted that show.py could show" in said
    assert not (here / "show.py").exists()
    run = ("audit", "--outputs", "both.npz", "--epsilon", "0.5", "--script")
    assert "--script none/show.py: there is no folder none" in cli(*run, "none/show.py", code=2).stderr
    (here / "show.py").write_text("# mine\n")
    assert "which no audit wrote" in cli(*run, "show.py", code=2).stderr
    assert (here / "show.py").read_text() == "# mine\n"
    for _ in range(2):  # what an audit wrote, an audit writes anew
        cli(*run, "shown.py", code=1)
        assert script.is_script(here / "shown.py")
