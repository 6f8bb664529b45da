"""Three users' bad inputs, one after the other: a sentence with the value and the next step, in the words they used."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkout
import numpy as np
import pytest
from click.testing import Result
from pairs import FILES, PAIR

import dpcheck as dp
from dpcheck.errors import InvalidInput

Cli = Callable[..., Result]

MECHANISMS = """
def mean(data, rng, trials):
    return data.mean() + rng.laplace(scale=1 / len(data), size=trials)
def quits(data, rng, trials):
    raise SystemExit(7)
def undefined(data, rng, trials):
    return mean(data, rng, trials) * float("nan")
def off_by_one(data, rng, trials):
    return helper(data)
def helper(data):
    return data[len(data)]
"""
SCORES = {"in": np.arange(100.0), "out": np.arange(100.0) - 5}
UNREADABLE = (
    ("null", '"bound": "1/10000"', '"bound": null'),
    ("names", '"multipliers": {', '"multipliers": {"w2": "1",'),
)
NO_NUMBERS = ("nan", "1/0", "9**9**9**9", "print(1)", "k.is_real")
AUDIT = ("audit", "mech.py:mean")
PLAN = ("plan", "lp_spaces/alg-1", "--n", "9", "--epsilon", "1")


@pytest.fixture
def here(beside_pair: Path) -> Path:
    """A folder with mechanisms, a good pair, and what a user may take for one."""
    (beside_pair / "mech.py").write_text(MECHANISMS)
    np.save(beside_pair / "far.npy", np.ones(10))
    np.save(beside_pair / "short.npy", np.zeros(9))
    np.save(beside_pair / "undefined.npy", np.full(10, np.nan))
    np.save(beside_pair / "objects.npy", np.array([None, {}], dtype=object), allow_pickle=True)
    np.save(beside_pair / "scalar.npy", np.float64(3))
    np.savez(beside_pair / "scores.npz", **SCORES)
    rows = [f'{{"input": "{side}", "output": {score}}}\n' for side, row in SCORES.items() for score in row]
    (beside_pair / "scores.jsonl").write_text("".join(rows))
    certificate = (checkout.ROOT / "reports" / "certificates" / "tsybakov" / "fact-sens.json").read_text()
    for name, old, new in UNREADABLE:
        assert old in certificate
        (beside_pair / f"{name}.json").write_text(certificate.replace(old, new))
    with contextlib.closing(sqlite3.connect(beside_pair / "other.db")) as other:
        other.execute("CREATE TABLE meta (key TEXT, value TEXT)")
    with contextlib.closing(sqlite3.connect(beside_pair / "newer.db")) as newer:
        newer.execute("CREATE TABLE meta (name TEXT, value TEXT)")
        newer.execute("INSERT INTO meta VALUES ('schema_version', '99')")
        newer.commit()
    np.savez(beside_pair / "empty.npz")
    (beside_pair / "empty").mkdir()
    for name in ("x.txt", "foreign.db", "broken.json", "records.jsonl"):
        (beside_pair / name).write_text("hello")
    return beside_pair


OWN = [
    (("audit", "mech.py:quits", *PAIR), "quits raised SystemExit"),
    ((*AUDIT, *PAIR, "--trials", "99999999999999"), "--trials must be at most 1,000,000,000"),
    ((*AUDIT, "--data", "objects.npy", *PAIR[2:]), "objects.npy holds Python objects; save numbers or strings"),
    ((*AUDIT, "--data", "scalar.npy", *PAIR[2:]), "scalar.npy holds a single number, 3.0; axis 0"),
    ((*AUDIT, "--data", "far.npy", *PAIR[2:]), "use --adjacency none"),
    ((*AUDIT, "--data", "short.npy", *PAIR[2:]), "use --adjacency add-remove"),
    (("audit", "mech.py:undefined", *PAIR), "pass --halts"),
    ((*AUDIT, *FILES, "--epsilon", "1e400"), "epsilon must be a finite number > 0, got inf"),
    ((*AUDIT, "--data", ".", *PAIR[2:]), "cannot read --data .: Is a directory"),
    (("audit", "--outputs", "empty.npz", "--epsilon", "1"), "empty.npz holds nothing; two samples are called data"),
    ((*AUDIT, *PAIR, "--trials", "200", "--keep", "/proc/fits.npz"), "cannot use '/proc/fits.npz': No such file or"),
    ((*AUDIT, *PAIR, "--trials", "200", "--keep", f"{'x' * 300}.npz"), "File name too long; give another name"),
    (
        (*AUDIT, *PAIR, "--trials", "200", "--keep", "scores.npz"),
        "it would be lost; `dpcheck audit --outputs scores.npz`",
    ),
    (("verify", "empty"), "there is no .json file in empty"),
    (("merge", "mech.py"), "it is none of dpcheck, or has lost a part: name one that `dpcheck run` made"),
    (("audit", "mech.py:mélange", *PAIR), "mech.py has no function 'mélange'; it has mean, quits"),
    (("merge", "nowhere.db"), "there is no store at nowhere.db; `dpcheck run` makes one"),
    (("merge", "other.db"), "it is none of dpcheck, or has lost a part: name one that `dpcheck run` made"),
    (("merge", "newer.db"), "schema 99, this dpcheck knows 2"),
    ((*AUDIT, *PAIR, "--rho", "1"), "got 2 claims, --epsilon 1.0 and --rho 1.0; give one of them"),
    ((*AUDIT, *FILES, "--delta", "1e-6"), "--delta 1e-06 needs --epsilon"),
    ((*AUDIT, *FILES, "--alpha", "2"), "--alpha 2.0 needs --epsilon"),
    (("verify", "broken.json"), "broken.json: unreadable"),
    (("audit", "mech.py:off_by_one", *PAIR), "(mech.py:11); nothing was concluded"),
    (("audit", "mech.py:off_by_one", *PAIR, "--workers", "1"), "(mech.py:11); nothing was concluded"),
    ((*AUDIT, *PAIR, "--must-detect", "0.5"), "--must-detect must be a true epsilon above the claimed 1, got 0.5"),
    ((*AUDIT, *PAIR, "--must-detect", "nan"), "above the claimed 1, got nan"),
    (
        (*AUDIT, "--outputs", "far.npy", "short.npy", "--epsilon", "1"),
        "got mech.py:mean and --outputs; give one of",
    ),
    (("audit", "--outputs", "scores.npz", "--epsilon", "1"), "of one training run: --one-run judges them"),
    (("audit", "--outputs", "scores.jsonl", "--epsilon", "1"), "of one training run: --one-run judges them"),
    (("plan-audit", *FILES, "--epsilon", "1", "--must-detect", "2"), "name one mechanism as FILE:MECHANISM; got 0"),
    (("plan-audit", "--mu", "0.5", "--must-detect", "3"), "0.5-GDP allows --epsilon 1.993 at --delta 1e-5"),
    (("plan", "my/alg-1", "--n", "9", "--epsilon", "1", "--also", "nosuch"), "there is no file or folder 'nosuch'"),
    (
        ("compare-bounds", "--n", "9", "--d", "1", "--epsilon", "1", "--also", "x.txt"),
        "x.txt is no Python file",
    ),
    (("run", "x.md"), "there is no file 'x.md'; `dpcheck run` takes Python files"),
    ((*AUDIT, *PAIR, "--script", "mech.py"), "--script mech.py: there is such a file, which no audit wrote"),
    ((*AUDIT, *PAIR, "--script", "empty"), "--script empty: it is a folder; name a file, such as show.py"),
    ((*AUDIT, *PAIR, "--script", "gone/show.py"), "--script gone/show.py: there is no folder gone"),
    (("audit", "--outputs", "empty.npz", "--epsilon", "1", "--script", "x.txt"), "which no audit wrote"),
    ((*AUDIT, *PAIR, "--fixed-size"), "--fixed-size needs --shrink"),
    ((*AUDIT, *PAIR, "--store", "", "--mode", "anytime"), "got nothing after --store"),
    ((*AUDIT, *PAIR, "--store=", "--mode", "anytime"), "got nothing after --store"),
    ((*AUDIT, *FILES, "--rho", "1", "--must-detect", "nan"), "--must-detect must be a true epsilon, a finite"),
    ((*AUDIT, *FILES, "--mu", "1", "--must-detect", "-1"), "a true epsilon, a finite number > 0, got -1.0"),
    ((*AUDIT, *FILES, "--epsilon", "-1"), "--epsilon must be a finite number > 0, got -1.0"),
    ((*AUDIT, *PAIR, "--delta", "1"), "--delta must lie in [0, 1), got 1.0"),
    ((*AUDIT, *PAIR, "--alpha", "0"), "--alpha must be a finite number > 1, got 0.0"),
    ((*AUDIT, *PAIR, "--mode", "anytime", "--max-samples", "0"), "--max-samples must be an integer >= 1"),
    ((*AUDIT, *PAIR, "--trials", "500", "--workers", "5000"), "--workers must be a number of processes, 1 to 1024"),
    ((*AUDIT, "--data", "undefined.npy", *PAIR[2:], "--workers", "1"), "data holds nan at index (0,); records must"),
    (("attack", *AUDIT[1:], "--data", "undefined.npy", *PAIR[2:]), "data holds nan at index (0,); records must"),
    (
        ("audit", "--outputs", "scores.npz", "--one-run", "--epsilon", "1", "--guesses", "2e2.5"),
        "'2e2.5' is not a whole number",
    ),
    (("plan-audit", "--epsilon", "1e300", "--must-detect", "1e301"), "no number of runs up to 1,000,000,000 on each"),
    (("plan-audit", "--epsilon", "1", "--must-detect", "2", "--halts"), "--halts needs a FILE:MECHANISM"),
    (("plan-audit", "--rho", "1e300", "--must-detect", "2"), "1e+300-zCDP allows any --epsilon at --delta 1e-5"),
    (("compare", "records.jsonl", "records.jsonl"), "records.jsonl holds no record of dpcheck"),
    (("mutate", "--seed", "x"), "'--seed': 'x' is not a whole number."),
    (("audit", *AUDIT[1:], *PAIR, "--epsilon", "x"), "'--epsilon': 'x' is not a number."),
    (("new", "class"), "'class' is a word of Python"),
    (("new", "numpy"), "'numpy' is a module that is installed here"),
    (("new", "json"), "'json' is a module of Python"),
    (("new", "audits"), "'audits' is what a paper's own folders are called"),
]
CONTENT = [
    (("phase-diagram", "pure-approximate", "--k", "1"), "k must be >= 2"),
    *((("phase-diagram", "--k", text), f"{text!r} is no exponent such as 3/2 or 2*a") for text in NO_NUMBERS),
    (("phase-diagram", "--tie", "d=n^1/0"), "'1/0' is no exponent such as 3/2 or 2*a"),
    (("phase-diagram", "nosuch"), "no panel is called 'nosuch'; there are "),
    (("run", "{here}/x.txt"), "x.txt is no Python file"),
    (("run", "nosuchfolder/"), "'nosuchfolder/' is no file, folder or label"),
    (("run", "lp_spaces/thm-3::nosuch"), "lp_spaces/thm-3 has no check 'nosuch'; it has "),
    (("show", "lp_spaces/thm-3::nosuch"), "lp_spaces/thm-3 has no check 'nosuch'; it has "),
    (("show", ""), "got nothing for an argument, ''; an unset variable of the shell"),
    (("run", ""), "got nothing for an argument"),
    (("list", "--also", ""), "got nothing after --also"),
    (("list", "--root", ""), "got nothing after --root"),
    (("run", "lp_spaces/thm-3", "--memory", "nan"), "nan is not a number of GiB above 0 and at most 1e+09"),
    (("run", "lp_spaces/thm-3", "--memory", "inf"), "inf is not a number of GiB above 0"),
    (("run", "lp_spaces/thm-3", "--timeout", "inf"), "inf is not a number of seconds above 0 and at most 1e+09"),
    (("run", "lp_spaces/thm-3", "--timeout", "0"), "0 is not a number of seconds above 0"),
    (("run", "lp_spaces/thm-3", "--limit", "nan"), "nan is not a number of seconds above 0"),
    (("mutate", "lp_spaces/thm-3", "--limit", "nan"), "nan is not a number of seconds above 0"),
    (("run", "lp_spaces/thm-3", "--shard", "\N{SUPERSCRIPT ONE}/2"), "write --shard 2/8 for the second of eight parts"),
    (("run", "lp_spaces/thm-3", "--shard", "1/1000000000"), "at most 1,000,000 parts"),
    (("show", "tsybakov"), "tsybakov is a paper: `dpcheck list --paper tsybakov` shows its statements"),
    (("certify", "tsybakov/thm-1"), "no run of tsybakov/thm-1 is written down to be certified; tsybakov/thm-1@glm"),
    (("certify", "tsybakov/thm-10"), "no run of tsybakov/thm-10 is written down to be certified; `dpcheck run`"),
    (("compare", "{here}/x.txt", "{here}/foreign.db"), "x.txt"),
    (("compare-bounds", "--n", "1e5", "--d", "50", "--epsilon", "-1"), "-1"),
    (("compare-bounds", *PLAN[2:], "--measure", "quadratic", "--seed", "-1"), "-1 is not in the range"),
    (("compare-bounds", *PLAN[2:], "--trials", "1.5"), "Invalid value for '--trials': '1.5' is not a whole number"),
    (("list", "--kind", "nosuch"), "got 'nosuch'; there are "),
    (("plan", "tsybakov", "--n", "10"), "no algorithm has the label 'tsybakov'; did you mean tsybakov/alg-"),
    (("plan", "lp_spaces/alg-11"), "no algorithm has the label 'lp_spaces/alg-11'; did you mean lp_spaces/alg-1, "),
    (("plan", "lp_spaces/alg-1"), "Missing option '--n'"),
    ((*PLAN, "--constant", "x=nan"), "Invalid value for --constant: x must be a finite number, got nan"),
    (
        ("plan", "l1_geometry/alg-1", "--n", "4000", "--d", "9", *PLAN[4:], "--delta", "1e-6", "--constant", "wdith=1"),
        "nothing in the plan of l1_geometry/alg-1 reads --constant wdith=1; it reads ",
    ),
    ((*PLAN, "--constant", "=1"), "Invalid value for --constant: got '=1'; write NAME=VALUE"),
    ((*PLAN, "--moment", "2=1", "--moment", "2=3"), "Invalid value for --moment: 2 is given twice, as 1 and 3"),
    (
        (*PLAN, "--k", "2", "--G_k", "1", "--moment", "2=3"),
        "--moment 2=3 and --G_k 1 at --k 2 bound one moment; give one of them",
    ),
    ((*PLAN, "--theta", "2", "--lambda", "nan"), "--lambda must be a finite number > 0, got nan"),
    ((*PLAN, "--theta", "0", "--lambda", "1"), "--theta must be a finite number > 0, got 0.0"),
    (("plan", "tsybakov/alg-3", *PLAN[2:], "--set", "p=x"), "tsybakov/alg-3 cannot be made with p='x': '>=' not"),
    ((*PLAN, "--set", "k=2", "--set", "k=3"), "Invalid value for --set: k is given twice, as 2 and 3"),
    ((*PLAN, "--hessian-rank", "-1"), "--hessian-rank must lie between 0 and d = 1, got -1"),
    ((*PLAN, "--hessian-rank", "2"), "--hessian-rank must lie between 0 and d = 1, got 2"),
    (("plan", "lp_spaces/alg-1", "--n", "9"), "name the budget by --epsilon (and --delta), or by --rho"),
    (("plan", "lp_spaces/alg-1", "--n", "0", "--epsilon", "1"), "--n must be >= 1, got 0"),
    (("report", "--only", "nosuch"), "no paper has the key 'nosuch'; there are auditor, l1_geometry, "),
    (
        ("compare-bounds", "--n", "9", "--d", "1", "--epsilon", "1", "--only", "tsybakov/alg-33"),
        "no algorithm has the label 'tsybakov/alg-33'; did you mean tsybakov/alg-3, ",
    ),
    (
        ("plan", "tsybakov/thm-7", "--n", "10"),
        "is a statement, which cannot be planned; it speaks of what can be: `dpcheck",
    ),
    (("list", "--paper", "nosuch"), "no paper has the key 'nosuch'; there are auditor, l1_geometry, "),
    (("verify", "{here}/null.json"), "null.json: unreadable: certificate 1: `bound` should be a rational"),
    (("verify", "{here}/names.json"), "names.json: unreadable: certificate 1: `multipliers` should be"),
]


@pytest.mark.parametrize(("arguments", "says"), OWN, ids=lambda row: " ".join(row) if isinstance(row, tuple) else "")
def test_of_mechanisms_and_files(here: Path, cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    told_in_a_sentence(cli(*arguments, code=2), says)


@pytest.mark.parametrize(
    ("arguments", "says"), CONTENT, ids=lambda row: " ".join(row) if isinstance(row, tuple) else ""
)
def test_of_labels_and_sizes(
    here: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(checkout.ROOT)
    told_in_a_sentence(cli(*(word.format(here=here) for word in arguments), code=2), says)


def told_in_a_sentence(result: Result, says: str) -> None:
    (line,) = [line for line in result.stderr.splitlines() if says in line]
    assert len(line) <= 400, line
    assert "Traceback" not in result.output
    assert "internal error" not in result.output
    assert result.stdout == ""


def leaky(data: Any, rng: Any, trials: int) -> Any:
    return data.mean() + rng.laplace(scale=0.1 / len(data), size=trials)


door: Any = dp  # as those call it who check no types
WORST, ZEROS = dp.testing.worst_pairs(n=10), np.zeros(99)


def audited(**bad: Any) -> Callable[[], Any]:
    return lambda: dp.audit(leaky, *WORST, dp.PureDP(1.0), **{"trials": 100, **bad})


def total(data: Any) -> Any:
    return data.sum()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dp.PureDP("1"), "'1'"),  # type: ignore[arg-type]
        (lambda: dp.ApproxDP(1, "a"), "'a'"),  # type: ignore[arg-type]
        (lambda: dp.audit(leaky, *WORST, dp.PureDP(1.0), trials=100, seed=-1), "seed must be an integer >= 0, "),
        (lambda: dp.audit(leaky, *WORST, dp.PureDP(1.0), trials=100, seed="x"), "got 'x'"),  # type: ignore[arg-type]
        (lambda: dp.audit_samples(ZEROS, ZEROS + 1, dp.PureDP(1.0), seed=None), "got None"),  # type: ignore[arg-type]
        (lambda: dp.testing.assert_private(leaky, *WORST, dp.PureDP(1.0), must_detect=1), "the claimed 1, got 1: "),
        (lambda: dp.testing.worst_pairs(n=2.5), "2.5"),  # type: ignore[arg-type]
        (lambda: door.check(3, "privacy"), "a label is text such as 'l1_geometry/thm-4', got 3; `dpcheck list` shows"),
        (lambda: door.check("a/thm-1", ZEROS[:2]), "a/thm-1: unknown kind array([0., 0.]); choose one of "),
        (lambda: door.check("a/thm-1", "privacy", also=3), "a/thm-1: also is a list of labels, got 3"),
        (lambda: door.check("a/thm-1", "privacy", also="a/thm-2"), "also is a list of labels, got 'a/thm-2'"),
        (lambda: door.check("a/thm-1", "privacy", failure_probability="x"), "lies in (0, 1), got 'x'"),
        (lambda: door.unchecked(3, "why"), "a label is text such as 'l1_geometry/thm-4', got 3; `dpcheck list` shows"),
        (lambda: door.RenyiDP("x", 1.0), "the order alpha must be a number, got 'x'"),
        (lambda: door.PureDP(ZEROS[:2]), "epsilon must be a number, got array([0., 0.])"),
        (lambda: dp.PureDP(1.0).epsilon_at(door.Claim), "delta must be a number, got "),
        (lambda: dp.PureDP(1.0).delta_at("x"), "epsilon must be a number, got 'x'"),
        (audited(failure_probability="x"), "failure_probability must be a number in (0, 1), such as 0.05, got 'x'"),
        (audited(failure_probability=ZEROS), "failure_probability must be a number in (0, 1), such as 0.05, got "),
        (audited(held_out="x"), "held_out is the share of trials that chooses the event, in [0.005, 0.8], got 'x'"),
        (audited(chunk=0), "chunk must be an integer >= 1, the most trials of one call, got 0"),
        (audited(chunk=-1), "chunk must be an integer >= 1, the most trials of one call, got -1"),
        (audited(mode=ZEROS[:2]), "unknown mode array([0., 0.]); choose one of fixed, anytime"),
        (audited(score=ZEROS[:2]), "score must be"),
        (audited(adjacency=ZEROS[:2]), "unknown adjacency '[0. 0.]'; choose one of replace-one, "),
        (audited(mode="anytime", max_samples="x"), "max_samples must be an integer >= 1, runs on both inputs"),
        (audited(mode="anytime", max_samples=float("nan")), "max_samples must be an integer >= 1, runs on both"),
        (audited(mode="anytime", max_samples=0), "max_samples must be an integer >= 1, runs on both inputs together"),
        (audited(mode="anytime", resume="x"), "resume takes `result.state` of an earlier anytime audit, got 'x'"),
        (audited(mode="anytime", until=ZEROS), "until must be 'refuted', a function of a Look, or None, got "),
        (lambda: door.audit_samples(ZEROS, ZEROS, dp.PureDP(1.0), failure_probability="x"), "such as 0.05, got 'x'"),
        (lambda: door.plan_audit(dp.PureDP(1.0), 2.0, power="x"), "power must lie between the failure probability and"),
        (
            lambda: door.plan_audit(dp.PureDP(1.0), 2.0, pilot="x"),
            "pilot must be (mechanism, data, neighbour), got 'x'",
        ),
        (lambda: door.read_outputs(3), "a file of outputs must be a path, as text or a pathlib.Path, got 3"),
        (
            lambda: door.read_outputs(b"x.npz"),
            "a file of outputs must be a path, as text or a pathlib.Path, got b'x.npz'",
        ),
        (lambda: door.keep_outputs(3, ZEROS, ZEROS), "the file to keep outputs in must be a path, as text or a"),
        (lambda: door.keep_outputs("x.jsonl", 3, ZEROS), "x must be an array or a list of outputs, one a run, got 3"),
        (
            lambda: door.exact_epsilon("x", "y"),
            "first must be a probability vector, or a log-density (a function, or a",
        ),
        (lambda: door.exact_epsilon([1.0], [1.0], "x"), "delta must lie in [0, 1), got 'x'; 0 is pure DP"),
        (lambda: door.exact_epsilon(total, total, support=3), "support must be an interval (low, high), got 3"),
        (lambda: door.exact_epsilon(total, total, breakpoints="x"), "breakpoints must be a list of numbers, got 'x'"),
        (lambda: door.shrink(leaky, 3), "shrink takes the result of dp.audit that refuted a claim, got 3"),
        (lambda: door.testing.assert_sensitivity(3, 1), "what is checked must be a function of the data, got 3"),
        (lambda: door.testing.assert_stability(3, 1), "what is checked must be a function of the data, got 3"),
        (lambda: door.testing.assert_moves_at_most(total, 3, 1), "a pair is two arrays, data and neighbour, such as"),
        (lambda: door.testing.assert_sensitivity(total, 1, norm=ZEROS), "norm must be 1, 2 or inf, got "),
        (
            lambda: door.testing.assert_private(leaky, *WORST, dp.PureDP(1.0), witnesses=3),
            "folder of witnesses must be",
        ),
        (lambda: door.testing.worst_pairs(n=None), "n must be an integer >= 1, got None"),
        (lambda: door.testing.worst_pairs(n=10**30), "n must be at most 100,000,000, got 1,000,"),
        (lambda: door.testing.worst_pairs(3, low="x"), "low and high must be finite with low < high, got 'x' and 1.0"),
        (lambda: door.testing.get_profile([]), "no profile [] is registered; there are dev, ci, "),
        (lambda: door.testing.explain(3, Path()), "what is explained is the result of dp.audit, got 3"),
        (lambda: dp.verify({}), "the field 'label' is missing"),
        (lambda: dp.verify("nowhere.json"), "nowhere.json"),
        (lambda: dp.claim("l1_geometry/thm-4").evaluate(foo=1), "foo"),
    ],
)
def test_of_values(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(dp.DpcheckError) as found:
        call()
    assert says in str(found.value)
    assert "\n" not in str(found.value)


def test_a_file_and_a_number_are_taken_as_they_are_meant(tmp_path: Path) -> None:
    """A path in place of a witness, and 1e3 in place of 1000."""
    pair = dp.testing.worst_pairs(n=10, low=0.0, high=1.0)
    found = dp.audit(leaky, *pair, dp.PureDP(1.0), trials=1e3)  # type: ignore[arg-type]
    assert found.witness is not None
    found.witness.save(tmp_path / "witness.json")
    assert dp.verify(tmp_path / "witness.json")
    with pytest.raises(InvalidInput, match=r"1000\.5"):
        dp.audit(leaky, *pair, dp.PureDP(1.0), trials=1000.5)  # type: ignore[arg-type]


def test_findings_are_told_where_no_witness_can_be_kept(here: Path, cli: Cli) -> None:
    (here / ".dpcheck").write_text("in the way")
    found = cli("attack", *AUDIT[1:], *PAIR, "--only", "granularity", "--fail-on", "theoretical", code=1)
    assert "theoretical" in found.stdout
    assert "no witness is kept: cannot write .dpcheck/witness-" in found.stderr


def test_a_long_text_of_a_mechanism_is_told_by_its_head_and_tail(cli: Any, beside_pair: Path) -> None:
    (beside_pair / "long.py").write_text(
        "def f(data, rng, trials):\n    raise ValueError('begun ' + 5000 * 'x' + ' end')\n"
    )
    told = cli("audit", "long.py:f", *PAIR, "--epsilon", "1", code=2).stderr
    assert ": begun xxx" in told
    assert "characters left out…]" in told
    assert "end (long.py:2); nothing was concluded" in told
    assert len(told) < 1600
