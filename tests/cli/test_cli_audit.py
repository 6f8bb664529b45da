"""`dpcheck audit`, `verify`, `mutants`: the everyday test of a mechanism from the shell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pairs import PAIR

Cli = Callable[..., object]

MECHANISMS = """
import numpy as np
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
def quits(data, rng, trials):
    raise SystemExit(7)
def centres(data, rng, trials):
    data -= data.mean()
    return rng.laplace(size=trials)
def undefined(data, rng, trials):
    return np.full(trials, np.nan)
calls = []
def alternates(data, rng, trials):
    calls.append(trials)
    return rng.laplace(size=trials) + 3 * (len(calls) % 2)
number = 3
"""
SCALE = "def fair(data):\n    return 1 / len(data)\n"


@pytest.fixture
def here(beside_pair: Path) -> Path:
    """A folder with mechanisms, a helper that they import, and a pair of inputs."""
    (beside_pair / "mech.py").write_text(MECHANISMS)
    (beside_pair / "scale_of.py").write_text(SCALE)
    return beside_pair


def test_a_private_mechanism(here: Path, cli: Cli) -> None:
    """True epsilon 1: refuted with probability at most 1e-9, which is the test's own failure probability."""
    result = cli("audit", "mech.py:mean", *PAIR, "--trials", "5000", "--failure-probability", "1e-9")
    assert result.stdout.startswith("CONSISTENT  mean is consistent with 1-DP")
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
    assert cli("verify", ".dpcheck").stdout == verified.stdout.replace(str(witness), f".dpcheck/{witness.name}")
    assert "attested, not verified: the claim that 'leaky' is 1-DP is violated if the counts" in verified.stdout

    tampered = json.loads(witness.read_text())
    tampered["parameters"]["right"] += 1
    witness.write_text(json.dumps(tampered))
    assert "rejected: the fingerprint" in cli("verify", str(witness), code=1).stderr
    assert json.loads(cli("verify", str(witness), "--json", code=1).stdout)["witnesses"][0]["verified"] is False


@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_a_leak_is_told_where_no_witness_can_be_kept(here: Path, cli: Cli, extra: tuple[str, ...]) -> None:
    (here / ".dpcheck").write_text("in the way")
    result = cli("audit", "mech.py:leaky", *PAIR, "--trials", "2e3", *extra, code=1)
    assert "no witness is kept: cannot write .dpcheck/witness-" in result.stderr
    if extra:
        told = json.loads(result.stdout)
        assert (told["outcome"], told["witness"]) == ("refuted", None)
    else:
        assert result.stdout.startswith("REFUTED")
        assert "reproduce" not in result.stdout


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
        (("mech.py:raises", *PAIR), "raises raised ZeroDivisionError on"),
        (("broken.py:f", *PAIR), "broken.py does not import: NameError"),
        (("mech.py:mean", *PAIR, "--rho", "1"), "got 2 claims, --epsilon 1.0 and --rho 1.0; give one of them"),
        (("mech.py:mean", *PAIR[:4]), "no claim; name it by one of --epsilon, --rho, --mu and --curve"),
        (("mech.py:mean", *PAIR[:4], "--alpha", "2"), "--alpha 2.0 needs --epsilon"),
        (("mech.py:mean", *PAIR, "--trials", "99999999999999"), "--trials must be at most 1,000,000,000"),
        (("mech.py:quits", *PAIR), "quits raised SystemExit"),
        (("mech.py:centres", *PAIR), "it writes into its input; one that works on a copy would not"),
        (("mech.py:undefined", *PAIR), "pass --halts if NaN means a halt"),
        (
            ("mech.py:mean", *PAIR[2:], "--data", "objects.npy"),
            "--data objects.npy holds Python objects; save numbers or strings",
        ),
        (("mech.py:mean", *PAIR[2:], "--data", "scalar.npy"), "--data scalar.npy holds a single number, 3.0; axis 0"),
        (("mech.py:mean", *PAIR[2:], "--data", "short.npy"), "use --adjacency add-remove for pairs"),
        (("mech.py:mean", *PAIR[:4], "--rho", "1", "--delta", "1e-6"), "--delta 1e-06 needs --epsilon, got --rho 1.0"),
        (("mech.py:mean", *PAIR, "--score", "guess"), "unknown score 'guess'"),
        (("mech.py:mean", *PAIR[2:], "--data", "none.npy"), "cannot read --data none.npy"),
        (("mech.py:mean", *PAIR[2:], "--data", "mech.py"), "not an array in NumPy's .npy format"),
        (("mech.py:mean", *PAIR[2:], "--data", "far.npy"), "use --adjacency none to audit an arbitrary pair"),
        (("mech.py:mean", *PAIR, "--trials", "-5"), "trials"),
    ],
)
def test_bad_arguments(here: Path, cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    (here / "broken.py").write_text("unknown_name\n")
    far = np.zeros(10)
    far[:2] = 0.5
    far[3] = 1.0
    np.save(here / "far.npy", far)
    np.save(here / "objects.npy", np.array([{}, 1], dtype=object))
    np.save(here / "scalar.npy", np.array(3.0))
    np.save(here / "short.npy", far[:9])
    result = cli("audit", *arguments, code=2)
    assert says in " ".join(result.stderr.split())
    assert not (here / ".dpcheck").exists()


def test_any_pair(here: Path, cli: Cli) -> None:
    np.save(here / "c.npy", np.ones(10))
    cli("audit", "mech.py:mean", "--data", "a.npy", "--neighbour", "c.npy", "--epsilon", "1", code=2)
    pair = ("--data", "a.npy", "--neighbour", "c.npy", "--epsilon", "1", "--adjacency", "none")
    cli("audit", "mech.py:mean", *pair, "--trials", "2000", code=1)


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
def test_trials_that_are_not_independent(here: Path, cli: Cli, mode: str) -> None:
    """A mechanism that alternates with its calls: nothing is concluded, exit code 4, and `attack` names the state."""
    result = cli("audit", "mech.py:alternates", *PAIR, "--trials", "3000", "--mode", mode, code=4)
    assert result.stdout.startswith("UNDECIDED  alternates: trials are not independent: ")
    assert "`dpcheck attack --only state`" in result.stdout
    found = cli("attack", "mech.py:alternates", *PAIR, "--only", "state", "--fail-on", "theoretical", code=1)
    assert "trials are not independent" in found.stdout


def test_power_on_demand(here: Path, cli: Cli) -> None:
    run = ("audit", "mech.py:mean", *PAIR, "--trials", "3000", "--must-detect")
    assert "could not have refuted a true ε of 1.01" in cli(*run, "1.01", code=4).stderr
    cli(*run, "1.5")


ANYTIME = ("--mode", "anytime", "--seed", "1")


def test_an_anytime_audit_goes_on_tomorrow(here: Path, cli: Cli) -> None:
    """True epsilon 1, failure probability 1e-6: what is certified grows, and nothing is refuted."""
    run = ("audit", "mech.py:mean", *PAIR, *ANYTIME, "--failure-probability", "1e-6")
    assert "nothing decided" not in cli(*run, "--max-samples", "5000").stdout
    assert (here / ".dpcheck" / "store.db").is_file()
    first = json.loads(cli(*run, "--max-samples", "5000", "--json").stdout)
    more = json.loads(cli(*run, "--max-samples", "20000", "--resume", "--json").stdout)
    assert first["counts"]["tested"] < 5000 < more["counts"]["tested"]
    assert more["epsilon_lower"] >= first["epsilon_lower"]
    assert more["mode"] == "anytime"
    # The same again has nothing left to run.
    again = json.loads(cli(*run, "--max-samples", "20000", "--resume", "--json").stdout)
    assert again["counts"]["tested"] == more["counts"]["tested"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("--epsilon", "2"), "belongs to another audit: the claim was 1-DP, now it is 2-DP; start anew"),
        (("--seed", "2"), "the seed was 1, now it is 2"),
        (("--neighbour", "c.npy"), "the pair has other values"),
        (("--score", "identity"), "the score was auto, now it is output"),
        ((), "the source of mech.py:mean was changed"),
    ],
)
def test_another_audit_is_not_resumed(here: Path, cli: Cli, change: tuple[str, ...], says: str) -> None:
    changed = np.zeros(10)
    changed[3] = 0.5
    np.save(here / "c.npy", changed)
    cli("audit", "mech.py:mean", *PAIR, *ANYTIME, "--max-samples", "4000")
    if not change:
        (here / "scale_of.py").write_text(SCALE.replace("1 /", "0.9 /"))
        sys.modules.pop("scale_of", None)
    result = cli("audit", "mech.py:mean", *PAIR, *ANYTIME, "--max-samples", "5000", "--resume", *change, code=2)
    assert says in " ".join(result.stderr.split())


def test_nothing_to_resume_and_options_of_the_other_mode(here: Path, cli: Cli) -> None:
    run = ("audit", "mech.py:mean", *PAIR)
    result = cli(*run, *ANYTIME, "--resume", code=2)
    assert "there is no anytime audit of mech.py:mean in .dpcheck/store.db" in " ".join(result.stderr.split())
    for option in (("--until", "refuted"), ("--max-samples", "9"), ("--resume",), ("--store", "s.db")):
        assert "go with --mode anytime" in cli(*run, *option, code=2).stderr
    assert "--max-samples >" in cli(*run, *ANYTIME, "--max-samples", "9", code=2).stderr


def test_until_refuted(here: Path, cli: Cli) -> None:
    """True epsilon 3 against 1: hundreds of runs do, missed with probability below 1e-9 in 40,000."""
    run = ("audit", "mech.py:leaky", *PAIR, *ANYTIME, "--until", "refuted", "--max-samples", "40000")
    found = json.loads(cli(*run, "--store", "mine/s.db", "--json", code=1).stdout)
    assert found["outcome"] == "refuted"
    assert found["counts"]["tested"] < 20_000
    assert (here / "mine" / "s.db").is_file()
    assert not (here / ".dpcheck").exists()


def test_ctrl_c_ends_an_anytime_audit_in_good_order(here: Path) -> None:
    """The first signal stops it after the look at hand: the result is printed and kept."""
    slow = "import time\ndef slow(data, rng, trials):\n    time.sleep(0.2)\n    return rng.laplace(size=trials)\n"
    (here / "slow.py").write_text(slow)
    command = [sys.executable, "-m", "dpcheck", "audit", "slow.py:slow", *PAIR, *ANYTIME, "--max-samples", "10000000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    store = here / ".dpcheck" / "store.db"
    for _ in range(300):
        if store.is_file():
            break
        time.sleep(0.1)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    # So early the event that is best at the horizon has hardly been seen.
    told = {0: "CONSISTENT  slow is consistent with 1-DP", 4: "UNDECIDED  slow against 1-DP, nothing decided"}
    assert process.returncode in told, err
    assert out.startswith(told[process.returncode])
    assert "stopped after" in err


ATTACK = ("attack", "mech.py:mean", *PAIR)


def test_attack_grades_what_it_finds(here: Path, cli: Cli) -> None:
    """Granularity misses with probability below 1e-6; the order of a naive sum and NaN records are certain."""
    result = cli(*ATTACK, "--sensitivity", "0.1", code=1)
    lines = result.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[1:6]] == [
        "theoretical", "nothing found", "nothing found", "theoretical", "critical",
    ]  # fmt: skip
    assert "1 critical, 2 theoretical, " in lines[-1]
    witness = next(line for line in lines if "dpcheck verify" in line).split()[-1]
    assert "is violated" in cli("verify", witness).stdout


def test_attack_exit_code_and_json(here: Path, cli: Cli) -> None:
    found = json.loads(cli(*ATTACK, "--only", "granularity", "--only", "summation-order", "--json").stdout)
    assert [row["attack"] for row in found] == ["granularity", "summation order"]
    assert found[0]["grade"] == "theoretical"
    assert found[0]["samples"] == 2000
    assert found[1]["skipped"] == "needs the sensitivity of the value before noise"
    cli(*ATTACK, "--only", "granularity", "--fail-on", "theoretical", code=1)
    assert json.loads(cli("attack", "mech.py:leaky_once", *PAIR, "--per-call", "--only", "timing", "--json").stdout)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--only", "bits"), "unknown attack 'bits'; choose from granularity, support"),
        (("--sensitivity", "-1"), "sensitivity must be a finite number > 0, got -1.0"),
        (("--rho", "1"), "got 2 claims, --epsilon 1.0 and --rho 1.0"),
        (("--failure-probability", "2"), "--failure-probability must lie in (0, 1), got 2.0"),
    ],
)
def test_attack_refuses(here: Path, cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    assert says in " ".join(cli(*ATTACK, *arguments, code=2).stderr.split())


def test_a_curve_from_a_file(here: Path, cli: Cli) -> None:
    """Epsilon 3 against the curve of 1-DP; and against a function that is no curve."""
    (here / "curves.py").write_text(
        "import numpy as np\n"
        "def one(x): return np.maximum(0, np.maximum(1 - np.e * x, (1 - x) / np.e))\n"
        "def bent(x): return 1 - x ** 2\n"
    )
    pair = PAIR[:4]
    assert "is not one-DP" in cli("audit", "mech.py:leaky", *pair, "--curve", "curves.py:one", code=1).stdout
    assert "bent-DP must map" in cli("audit", "mech.py:leaky", *pair, "--curve", "curves.py:bent", code=2).stderr


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
        again = json.loads(cli("mutants", "--repeat", "3", "--json").stdout)
        assert [(row["kills"], row["times"]) for row in again] == [(3, 3), (0, 3)]
        assert "no mutant 'half'; there are half-sensitivity, alike" in cli("mutants", "half", code=2).stderr


def test_mutants_that_are_held_out(root: Path, cli: Cli, tmp_path: Path) -> None:
    folder = root / "tests" / "mutants"
    for name, half in (("catalogue", "half"), ("held_out", "held-half")):
        (folder / name).mkdir(parents=True)
        text = MUTANTS.partition("alike =")[0].replace("{half}", "True").replace("half-sensitivity", half)
        (folder / name / "seeded.py").write_text(text)

    def run(*options: str) -> list[str]:
        return [row["name"] for row in json.loads(cli("mutants", "--json", *options).stdout)]

    assert run() == ["half"]
    assert run("--held-out") == ["held-half"]
    assert run("held-*") == ["held-half"]
    exported = cli("mutants", "--export", str(tmp_path / "plain"))
    assert exported.stderr == "", "none of them is run"
    told = exported.stdout
    assert "0 mechanisms in" in told
    assert "2 have no known pair of laws" in told
    assert "is there already" in cli("mutants", "--export", str(tmp_path / "plain"), code=2).stderr


def test_no_mutants(root: Path, cli: Cli) -> None:
    assert "no mutant in" in cli("mutants", code=5).stderr


def test_from_the_shell(here: Path) -> None:
    """The whole way through a real process: exit code, witness, verification."""
    command = [sys.executable, "-m", "dpcheck", "audit", "mech.py:leaky", *PAIR, "--trials", "2000"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if ": at work for " not in line] == []
    (witness,) = (here / ".dpcheck").glob("witness-*.json")
    verify = [sys.executable, "-m", "dpcheck", "verify", str(witness)]
    assert subprocess.run(verify, capture_output=True, check=False).returncode == 0


def test_the_witness_of_an_audit_is_told_to_who_has_the_file_alone(beside_pair: Path, cli: Cli) -> None:
    (beside_pair / "own.py").write_text(
        "def half(data, rng, trials):\n    return data.mean() + rng.laplace(scale=0.5 / len(data), size=trials)\n"
    )
    cli("audit", "own.py:half", *PAIR, "--trials", "3000", code=1)
    (witness,) = (beside_pair / ".dpcheck").glob("witness-*.json")
    said = cli("verify", str(witness)).stdout
    assert (
        "attested, not verified: the claim that 'half' is 1-DP is violated if the counts in the file are true" in said
    )
    assert "event      output < " in said
    assert "pair       10 records in [0, 1], record" in said
    assert "trials=3000 and seed=0" in said
    assert "hypotheses none to check: the claim is what somebody says of this mechanism" in said
