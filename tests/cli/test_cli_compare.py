"""`dpcheck phase-diagram`, `dpcheck compare-bounds`, and the derivation in `dpcheck show`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from checkout import collected

from dpcheck.asymptotics.linear import Affine
from dpcheck.cli import comparing, planning
from dpcheck.engine import comparison
from dpcheck.engine.patience import within
from dpcheck.engine.setting import Setting
from dpcheck.errors import InvalidInput

Cli = Callable[..., Any]

PLANE = """
import sympy as sp
from dpcheck.derivations import derivation, underived
from dpcheck.panels import Contest, Panel, PanelClaim
from dpcheck.symbols import D, L, d, epsilon, n

from .toy import TOY

a, b = sp.symbols("a b")
private = TOY.claim(
    "toy/thm-3", "Theorem 3", "Privately.", kind="theorem", quantity="excess risk", relation="<=",
    order=sp.sqrt(d) / (epsilon * n) + 1 / sp.sqrt(n),
)
plane = Panel(
    key="plane", title="Private against not", upper=(PanelClaim("toy/thm-3", "private"),),
    against=(PanelClaim("toy/thm-1", "free"),), versus="no privacy",
    axes={d: n**a, epsilon: n**-b}, ranges={"a": (0, 2), "b": (0, 1)}, shows="Privacy is free for small d.",
)
why_not = underived("toy/lem-2", "nothing to choose")

@derivation("toy/thm-1@corrected")
def halves(proof):
    \"\"\"Two halves.\"\"\"
    half = proof.argues("each half", "risk", "<=", L * D / sp.sqrt(n))
    proof.gap("three halves are enough for two", 3, 2, {n: 1}, "two are")
    proof.concludes("toy/thm-1@corrected", proof.equal("add up", half + half, 2 * half))
"""


@pytest.fixture
def root(project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    found = project({"bounds/plane.py": PLANE})
    monkeypatch.chdir(found)
    return found


# -- show ------------------------------------------------------------------------------------------------------------


def test_show_has_the_derivation_step_by_step(root: Path, cli: Cli) -> None:
    text = cli("show", "toy/thm-1").output
    assert "Derivation. Two halves." in text
    assert "·  1  each half" in text
    assert "≠  2  three halves are enough for two [3.000 > 2.000 at n = 1; two are]" in text
    assert "✓  4  which is Theorem 1 (toy/thm-1@corrected) [equal]" in text
    assert "3 of 4 steps executed, the other in words: ✓ executed, · in words, ≠ does not follow" in text
    assert "bounds/plane.py:" in text, "the derivation's place"
    assert "no derivation: nothing to choose" in cli("show", "toy/lem-2").output


def test_show_has_the_derivation_in_json(root: Path, cli: Cli) -> None:
    steps = json.loads(cli("show", "toy/thm-1", "--json").output)["derivation"]
    assert [step["standing"] for step in steps] == ["argued", "gap", "follows", "follows"]
    assert json.loads(cli("show", "toy/lem-2", "--json").output)["derivation"] is None


def test_a_derivation_of_nothing_is_an_error(project: Callable[..., Path], cli: Cli, monkeypatch: Any) -> None:
    monkeypatch.chdir(
        project({"bounds/plane.py": PLANE.replace('derivation("toy/thm-1@corrected")', 'derivation("toy/thm-9")')})
    )
    assert "unknown label 'toy/thm-9'" in cli("list", code=2).stderr


# -- phase-diagram -----------------------------------------------------------------------------------------------------


def test_phase_diagram_table_and_summary(root: Path, cli: Cli) -> None:
    text = cli("phase-diagram").output
    assert "Private against not  [plane]" in text
    assert "constant output (vacuous)" in text
    assert "Best: nothing better than a constant output on 50 %, private on 50 % of the plane" in text
    assert "above no privacy by up to n^(1/2)" in text
    assert "Privacy is free for small d." in text


def test_phase_diagram_is_written_as_mathematics(root: Path, cli: Cli) -> None:
    text = cli("phase-diagram", "plane", "--axes", "epsilon=n^-b,d=n^(2*a)").output
    (grows,) = (line for line in text.splitlines() if "n grows" in line)
    assert sorted(grows.strip().split(", ")) == ["d = n^(2·a)", "n grows", "ε = n^(−b)"]
    assert "≥ 0" in text
    assert not {"**", "*", ">="} & set(text.replace(",", " ").split())
    assert "**" not in text


@pytest.mark.parametrize(
    ("coefficients", "constant", "written"),
    [((-1, -2), 1, "1 − a − 2b"), (("3/4", "-1/4"), "-3/4", "3a/4 − b/4 − 3/4"), ((-1, 0), 0, "−a"), ((0, 0), 0, "0")],
)
def test_forms_begin_with_what_is_added(coefficients: tuple[Any, Any], constant: Any, written: str) -> None:
    form = Affine(("a", "b"), tuple(map(Fraction, coefficients)), Fraction(constant))
    assert comparing._form(form) == written


def test_phase_diagram_json_is_exact(root: Path, cli: Cli) -> None:
    (found,) = json.loads(cli("phase-diagram", "plane", "--json").output)["panels"]
    assert found["axes"] == ["a", "b"]
    assert found["claims"] == {"private": "toy/thm-3", "free": "toy/thm-1"}
    exponents = {region["name"]: region["exponent"] for region in found["regions"] if not region["vacuous"]}
    assert exponents["private"]["a"] in ("0", "1/2")


def test_phase_diagram_with_other_axes_and_ranges(root: Path, cli: Cli) -> None:
    (found,) = json.loads(
        cli("phase-diagram", "plane", "--axes", "epsilon=n^-u,d=n^(2*v)", "--range", "v=0,1/2", "--json").output
    )["panels"]
    assert found["axes"] == ["u", "v"]
    assert found["domain"] == [["0", "0"], ["1", "0"], ["1", "1/2"], ["0", "1/2"]]


def test_phase_diagram_writes_svg(root: Path, cli: Cli) -> None:
    cli("phase-diagram", "plane", "--svg", "figures")
    cli("phase-diagram", "plane", "--svg", "one.svg")
    first, second = (root / "figures/plane.svg").read_text(), (root / "one.svg").read_text()
    assert first == second
    assert first.startswith("<?xml")
    assert "Private against not" in first


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plain",), "did you mean plane?"),
        (("nosuch",), "no panel is called 'nosuch'; there are plane"),
        (("--k", "1"), "k must be >= 2, got 1"),
        (("--theta", "1"), "theta must be > 1, got 1"),
        (("--p", "1/2"), "p must be > 1, got 1/2"),
        (("--axes", "d=n^a"), "two axes"),
        (("--axes", "d=2^a,epsilon=n^-b"), "must be a power of n"),
        (("--axes", "d=n^__import__,epsilon=n^-b"), "is no exponent"),
        (("--axes", "d=n^2,epsilon=n^-b"), "one free exponent"),
        (("--range", "a=0"), "write a=0,2"),
        (("--range", "a=1,1"), "must have a length"),
    ],
)
def test_phase_diagram_says_what_is_wrong(root: Path, cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    result = cli("phase-diagram", *arguments, code=2)
    assert said in result.stderr


# -- compare-bounds ----------------------------------------------------------------------------------------------------

ONLY = ("--only", "tsybakov/alg-6", "--only", "pure_heavy_tails/fact-trivial", "--only", "pure_heavy_tails/alg-5")
SIZE = ("--n", "1e5", "--d", "50", "--epsilon", "1", "--delta", "1e-6", "--k", "4")


def test_compare_bounds_says_what_to_use(root: Path, cli: Cli) -> None:
    text = cli("compare-bounds", *SIZE, *ONLY).output
    assert "tsybakov/alg-6" in text
    assert "vacuous" in text
    assert "Infeasible here:\n  pure_heavy_tails/alg-5: needs a net of at most" in text
    assert "Proved: tsybakov/alg-6, excess risk at most 0.0" in text


def test_compare_bounds_json(root: Path, cli: Cli) -> None:
    found = json.loads(cli("compare-bounds", *SIZE, *ONLY, "--json").output)
    assert found["trivial"] == 1.0
    rows = {row["label"]: row for row in found["algorithms"]}
    best = rows["tsybakov/alg-6"]
    assert best["status"] == "feasible"
    assert best["gradients"] <= 100_000
    assert best["epsilon"] == pytest.approx(1.0, rel=1e-6)
    assert 0 < best["bound"] < 1
    assert not best["vacuous"]
    assert rows["pure_heavy_tails/fact-trivial"]["vacuous"]
    assert rows["pure_heavy_tails/alg-5"]["status"] == "infeasible"


def test_compare_bounds_measures_on_a_named_workload(root: Path, cli: Cli) -> None:
    size = ("--n", "4096", "--d", "2", "--D", "2", "--epsilon", "1", "--delta", "1e-6")
    found = json.loads(
        cli(
            "compare-bounds", *size, "--only", "tsybakov/alg-6", "--measure", "quadratic", "--trials", "20", "--json"
        ).output
    )
    assert {row["label"] for row in found["algorithms"]} == {"tsybakov/alg-6", "tsybakov/alg-6@corrected"}
    for row in found["algorithms"]:
        assert row["measured"]["trials"] == 20
        assert 0 < row["measured"]["mean"] < row["bound"]
    assert "Measured: tsybakov/alg-6" in found["advice"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--only", "tsybakov/alg-66"), "did you mean tsybakov/alg-6"),
        (("--measure", "nothing"), "no workload is called 'nothing'"),
        (("--measure", "mean"), "has d = 1, the setting d = 50"),
        (("--trials", "1"), "must be >= 2"),
        (("--n", "12.5"), "is not a whole number"),
        (("--n", "1e300"), "1e300 is beyond 1e+100"),
        (("--epsilon", "-1"), "epsilon must be"),
        (("--rho", "1"), "--epsilon (and --delta), or by --rho"),
    ],
)
def test_compare_bounds_says_what_is_wrong(root: Path, cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    assert said in cli("compare-bounds", *SIZE, *arguments, code=2).stderr


def test_sums_of_too_many_terms_are_left_out(root: Path, cli: Cli) -> None:
    """At 1e9 dimensions private Frank-Wolfe takes more steps than can be added up."""
    said = cli("plan", "l1_geometry/alg-3", "--n", "1e5", "--d", "1e9", "--epsilon", "1").stdout
    assert "terms, too many to add up here" in said


def test_a_vacuous_bound_names_the_n_at_which_it_is_not() -> None:
    known = list(collected().claims.values())
    setting = Setting(n=10_000, d=10, epsilon=1.0, delta=1e-6)
    rows = {row.label: row for row in comparison.compare(setting, known, only=["l1_geometry/alg-3"])}
    assert not rows["l1_geometry/alg-3@corrected"].vacuous
    row = rows["l1_geometry/alg-3"]
    assert row.vacuous
    assert row.useful_n is not None
    later = Setting(n=row.useful_n, d=10, epsilon=1.0, delta=1e-6)
    assert not any(row.vacuous for row in comparison.compare(later, known, only=["l1_geometry/alg-3"]))
    assert f"{row.useful_n:,}" in comparison.advice([dataclasses.replace(row, private=True)], setting)


TREE = Setting(n=600, d=2, D=2.0, H=1e-3, epsilon=1.0)
"""So flat that the tree has depth one, and no record is left unread."""


def test_nothing_is_advised_that_is_not_certified() -> None:
    """Fails at f95bebe, which lists the printed reading as (1, 1e-06)-DP at ε = 1 and may advise it."""
    setting = Setting(n=10_000, d=10, epsilon=1.0, delta=1e-6)
    known = list(collected().claims.values())
    rows = comparison.compare(setting, known, only=["l1_geometry/alg-3"])
    found = {row.label: row for row in rows}
    printed, safe = found["l1_geometry/alg-3"], found["l1_geometry/alg-3@corrected"]
    assert (printed.private, printed.certified, printed.rests_on) == (False, "", ("l1_geometry/thm-6@corrected",))
    assert (safe.private, safe.certified) == (True, "(0.999999, 1e-06)-DP")
    assert printed.guarantee == "(1, 1e-06)-DP claimed, not certified (l1_geometry/thm-6@corrected)"
    assert safe.guarantee == "(1, 1e-06)-DP"
    (fixed, *_) = (r for r in comparison.compare(TREE, known, only=["l1_geometry/alg-3"]) if "@" not in r.label)
    assert fixed.guarantee == "1-DP, refuted (l1_geometry/lem-4-1)"
    assert "l1_geometry/alg-3@corrected" in comparison.advice(rows, setting)
    best = dataclasses.replace(printed, bound=1e-9, vacuous=False)
    assert printed.label + "," not in comparison.advice([best, safe], setting)


def test_readings_that_repair_privacy_are_compared() -> None:
    """Fails at f95bebe, where `@corrected` in five dimensions is "(1, 1e-05)-DP" and `@private` is not looked at."""
    setting = Setting(n=16_384, d=5, epsilon=1.0, delta=1e-5)
    rows = {row.label: row for row in comparison.compare(setting, (), only=["tsybakov/alg-3"])}
    assert (rows["tsybakov/alg-3@corrected"].claimed, rows["tsybakov/alg-3@corrected"].private) == ("", False)
    assert rows["tsybakov/alg-3@private"].private


def test_budgets_of_one_are_run_just_below_where_an_algorithm_wants_that() -> None:
    setting = Setting(n=100_000, d=5, epsilon=1.0, delta=1e-6)
    (row,) = comparison.compare(setting, (), only=["lp_spaces/proc-phased-sgd"])
    assert row.status == "feasible"
    assert "run just below ε = 1" in row.why


def test_larger_budgets_are_run_at_the_largest_that_an_algorithm_is_calibrated_for() -> None:
    setting = Setting(n=100_000, d=5, epsilon=3.0, delta=1e-6)
    (row,) = comparison.compare(setting, (), only=["l1_geometry/alg-1"])
    (at_one,) = comparison.compare(dataclasses.replace(setting, epsilon=1.0), (), only=["l1_geometry/alg-1"])
    assert (row.status, row.claimed) == ("feasible", "(1, 1e-06)-DP")
    assert row.why.startswith("run at ε = 1;")
    assert row.gradients == at_one.gradients


def test_a_budget_of_another_kind_is_not_for_this_setting() -> None:
    (row,) = comparison.compare(Setting(n=100_000, d=5, rho=0.5), (), only=["user_level/alg-1"])
    assert row.status == "other"
    assert row.why == "needs (epsilon, delta)-DP with epsilon <= 10 and 0 < delta < 1, got 0.5-zCDP"


def test_constants_of_a_workload_replace_those_given() -> None:
    setting = Setting(n=100, d=3, D=4.0, epsilon=1.0)
    work = comparison.workload("l1-signs", setting)
    on = setting.on(work)
    assert work.constants.diameter(2.0) == on.D
    assert on.problem.constants is work.constants
    with pytest.raises(InvalidInput, match="no workload"):
        comparison.workload("gone", setting)


@pytest.mark.parametrize("n", ["1e18", "1e100"])
def test_what_has_too_many_steps_to_list_is_told_and_the_others_are_answered(
    cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch, n: str
) -> None:
    """Algorithm 3 has a release for each of a billion leaves, and more."""
    monkeypatch.setattr(comparison, "PATIENCE", 0.2)
    asked = ("--n", n, "--epsilon", "1", "--only", "l1_geometry/alg-3", "--only", "l1_geometry/alg-1")
    begun = time.process_time()
    said = cli("compare-bounds", *asked).stdout
    assert time.process_time() - begun < 20.0
    steps = f"has more steps at n = {float(n):.4g} than can be listed in 0.2 s of computing; take a smaller n"
    assert f"  l1_geometry/alg-3: {steps}" in said
    assert "alg-1" in said.replace(steps, "")


def test_a_plan_of_too_many_steps_is_refused_in_a_sentence(
    cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "PATIENCE", 0.2)
    told = cli("plan", "l1_geometry/alg-3", "--n", "1e18", "--epsilon", "1", code=2).stderr
    assert told.splitlines()[-1].startswith("dpcheck: l1_geometry/alg-3 has more steps at n = 1e+18 than can be listed")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_python_passes_over_is_said_again() -> None:
    """A worker of the tests ran out of memory in this way: an exception in a callback of the collector is no more."""
    freed = list[float]()

    class Deaf:
        def __del__(self) -> None:
            freed.append(begun := time.process_time())
            while time.process_time() < begun + 0.4:
                pass

    def endless() -> None:
        with within(0.1, "endless", 7):
            deaf = Deaf()
            del deaf
            end = time.monotonic() + 60
            while time.monotonic() < end:
                pass

    with pytest.raises(InvalidInput, match="endless has more steps at n = 7 than"):
        endless()
    assert len(freed) == 1
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_the_end_to_patience_leaves_no_timer_behind() -> None:
    before = signal.getsignal(signal.SIGVTALRM)

    def endless() -> None:
        with within(0.05, "endless", 7):
            while True:
                with contextlib.suppress(Exception):  # code that passes over what it is told
                    sum(range(1000))

    with pytest.raises(InvalidInput, match="endless has more steps at n = 7 than"):
        endless()
    with within(0.05, "short", 7):
        pass
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) == before
