"""`dpcheck audit`, `verify`, `mutants`: the everyday test of a mechanism from the shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Cli = Callable[..., object]

MECHANISMS = """
import scale_of
def mean(data, rng, trials):
    return data.mean() + rng.laplace(scale=scale_of.fair(data), size=trials)
def leaky(data, rng, trials):
    return data.mean() + rng.laplace(scale=scale_of.fair(data) / 3, size=trials)
def leaky_once(data, rng):
    return data.mean() + rng.laplace(scale=scale_of.fair(data) / 3)
def first(outputs):
    return outputs
def raises(data, rng, trials):
    raise ZeroDivisionError("no records")
number = 3
"""
SCALE = "def fair(data):\n    return 1 / len(data)\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with mechanisms, a helper that they import, and a pair of inputs."""
    (tmp_path / "mech.py").write_text(MECHANISMS)
    (tmp_path / "scale_of.py").write_text(SCALE)
    data = np.zeros(10)
    np.save(tmp_path / "a.npy", data)
    data[3] = 1.0
    np.save(tmp_path / "b.npy", data)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


PAIR = ("--data", "a.npy", "--neighbour", "b.npy", "--epsilon", "1")


def test_a_private_mechanism(here: Path, cli: Cli) -> None:
    """True epsilon 1: refuted with probability at most 1e-9, which is the test's own failure probability."""
    result = cli("audit", "mech.py:mean", *PAIR, "--trials", "5000", "--failure-probability", "1e-9")
    assert result.stdout.startswith("INCONCLUSIVE  mean is consistent with 1-DP")
    assert not (here / ".dpcheck").exists()


@pytest.mark.parametrize("extra", [(), ("--score", "identity"), ("--score", "mech.py:first")])
def test_a_leak_its_witness_and_its_verification(here: Path, cli: Cli, extra: tuple[str, ...]) -> None:
    """True epsilon 3 on 5,000 runs a side: the bound misses 1 with probability below 1e-9."""
    result = cli("audit", "mech.py:leaky", *PAIR, "--trials", "5000", *extra, code=1)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("REFUTED  leaky is not 1-DP: certified ε ≥ 2.")
    (witness,) = (here / ".dpcheck").glob("witness-*.json")
    assert lines[-1].split() == ["reproduce", "dpcheck", "verify", f".dpcheck/{witness.name}"]
    verified = cli("verify", str(witness))
    assert "verified: audit/leaky is violated" in verified.stdout

    tampered = json.loads(witness.read_text())
    tampered["parameters"]["right"] += 1
    witness.write_text(json.dumps(tampered))
    assert "rejected: the fingerprint" in cli("verify", str(witness), code=1).stderr
    assert json.loads(cli("verify", str(witness), "--json", code=1).stdout)[0]["verified"] is False


def test_per_call_and_json(here: Path, cli: Cli) -> None:
    arguments = ("audit", "mech.py:leaky_once", *PAIR, "--per-call", "--trials", "2000", "--json")
    found = json.loads(cli(*arguments, code=1).stdout)
    assert found["outcome"] == "refuted"
    assert found["epsilon_lower"] > 1
    assert Path(found["witness"]).is_file()


def test_other_claims(here: Path, cli: Cli) -> None:
    """One certain refutation for each form of a claim; the mechanism has epsilon 3."""
    for claim in (("--rho", "0.01"), ("--mu", "0.1"), ("--epsilon", "0.1", "--delta", "1e-6")):
        cli("audit", "mech.py:leaky", *PAIR[:4], *claim, "--trials", "1000", code=1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("mech.py", *PAIR), "mymechanisms.py:noisy_mean"),
        (("nowhere.py:mean", *PAIR), "no file nowhere.py"),
        (("mech.py:median", *PAIR), "has no function 'median'; it has mean, leaky"),
        (("mech.py:number", *PAIR), "has no function 'number'"),
        (("mech.py:raises", *PAIR), "raises raised ZeroDivisionError on data"),
        (("broken.py:f", *PAIR), "broken.py does not import: NameError"),
        (("mech.py:mean", *PAIR, "--rho", "1"), "one of --epsilon, --rho, --mu and --curve"),
        (("mech.py:mean", *PAIR[:4], "--rho", "1", "--delta", "1e-6"), "--delta and --alpha go with --epsilon"),
        (("mech.py:mean", *PAIR, "--score", "guess"), "unknown score 'guess'"),
        (("mech.py:mean", *PAIR[2:], "--data", "none.npy"), "cannot read --data none.npy"),
        (("mech.py:mean", *PAIR[2:], "--data", "mech.py"), "not an array in NumPy's .npy format"),
        (("mech.py:mean", *PAIR[2:], "--data", "far.npy"), "differ in 2 records"),
        (("mech.py:mean", *PAIR, "--trials", "-5"), "trials"),
    ],
)
def test_bad_arguments(here: Path, cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    (here / "broken.py").write_text("unknown_name\n")
    far = np.zeros(10)
    far[:2] = 0.5
    far[3] = 1.0
    np.save(here / "far.npy", far)
    result = cli("audit", *arguments, code=2)
    assert says in " ".join(result.stderr.split())
    assert not (here / ".dpcheck").exists()


def test_any_pair(here: Path, cli: Cli) -> None:
    np.save(here / "c.npy", np.ones(10))
    cli("audit", "mech.py:mean", "--data", "a.npy", "--neighbour", "c.npy", "--epsilon", "1", code=2)
    pair = ("--data", "a.npy", "--neighbour", "c.npy", "--epsilon", "1", "--adjacency", "none")
    cli("audit", "mech.py:mean", *pair, "--trials", "2000", code=1)


def test_verify_refuses_what_is_no_witness(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "w.json").write_text("{}")
    assert "not a witness" in cli("verify", str(tmp_path / "w.json"), code=1).stderr
    assert "cannot read the witness" in cli("verify", str(tmp_path / "gone.json"), code=2).stderr


MUTANTS = """
from dpcheck.errors import InvalidInput
from dpcheck.mutants import Kill, Mutant

def kill(found):
    def run(context):
        if found is None:
            raise InvalidInput("the check is broken")
        heads = int(context.rng().binomial(1000, 0.5))
        return Kill(killed=found, by="audit", samples=heads, claim="1-DP", exact_epsilon=2.0)
    return run

half = Mutant(name="half-sensitivity", bug="Sensitivity halved.", kill=kill({half}), about="toy/alg-1")
alike = Mutant(name="alike", bug="The noise is drawn in another order.", kill=kill({alike}), lookalike=True)
"""


@pytest.mark.parametrize(
    ("half", "alike", "code", "says"),
    [
        (True, False, 0, "killed 1 of 1 mutant · 1 of 1 look-alike not flagged"),
        (False, False, 1, "half-sensitivity: Sensitivity halved."),
        (True, True, 1, "0 of 1 look-alike not flagged"),
        (None, False, 3, "InvalidInput: the check is broken"),
    ],
)
def test_mutants(root: Path, cli: Cli, half: object, alike: object, code: int, says: str) -> None:
    (root / "tests" / "mutants").mkdir(parents=True)
    (root / "tests" / "mutants" / "seeded.py").write_text(
        MUTANTS.replace("{half}", f"{half}").replace("{alike}", f"{alike}")
    )
    result = cli("mutants", code=code)
    assert says in result.stdout
    two = cli("mutants", "--workers", "2", "--json", code=code)
    assert json.loads(two.stdout) == json.loads(cli("mutants", "--json", code=code).stdout)
    if half is True and not alike:
        assert json.loads(cli("mutants", "half-*", "--json").stdout)[0]["killed"] is True
        assert "no mutant 'half'; there are half-sensitivity, alike" in cli("mutants", "half", code=2).stderr


def test_no_mutants(root: Path, cli: Cli) -> None:
    assert "no mutant in" in cli("mutants", code=5).stderr


def test_from_the_shell(here: Path) -> None:
    """The whole way through a real process: exit code, witness, verification."""
    command = [sys.executable, "-m", "dpcheck", "audit", "mech.py:leaky", *PAIR, "--trials", "2000"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    (witness,) = (here / ".dpcheck").glob("witness-*.json")
    verify = [sys.executable, "-m", "dpcheck", "verify", str(witness)]
    assert subprocess.run(verify, capture_output=True, check=False).returncode == 0
