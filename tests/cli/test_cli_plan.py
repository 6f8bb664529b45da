"""`dpcheck plan`: the table, its JSON, and what is said when a size will not do."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dpcheck.cli.common import Exit
from dpcheck.engine import algorithms, planning
from dpcheck.engine.setting import Setting
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Problem, Read, Release, Sampling, Schedule
from dpcheck.laws import Exponential, Gaussian, Laplace
from dpcheck.privacy import ApproxDP, PureDP

Cli = Callable[..., object]


@dataclass(frozen=True)
class Phase:
    number: int
    records: int
    noise: float
    unused: float = 0.0


@dataclass(frozen=True)
class Blocks(Algorithm[Phase]):
    """Laplace noise on the mean of each of `blocks` disjoint blocks, once in each of two phases."""

    k: float = 2.0
    blocks: int = 4
    factor: float = 1.0
    label = "toy/alg-1"
    readings: ClassVar = {"dialled": {"factor": 0.5}}

    def schedule(self, problem: Problem, n: int) -> Schedule[Phase]:
        if n < 100:
            raise Infeasible(self.label, "100 records", f"{n}", 100)
        assert isinstance(problem.privacy, ApproxDP)
        rows, releases = [], []
        for phase in (1, 2):
            size = n // 2 // self.blocks
            sensitivity = problem.constants.moment(self.k, 1) * problem.constants.diameter(2.0) / size
            noise = self.factor * sensitivity / problem.privacy.epsilon / phase
            rows.append(Phase(phase, size, noise))
            for j in range(self.blocks):
                start = (phase - 1) * (n // 2) + j * size
                read = Read(start=start, stop=start + size, sensitivity=sensitivity / phase)
                releases.append(Release(name=f"phase {phase}/block {j}/mean", law=Laplace(noise), reads=(read,)))
        claimed = PureDP(problem.privacy.epsilon) if self.factor == 1 else None
        return Schedule(phases=tuple(rows), releases=tuple(releases), gradients=n, floats_per_trial=1, claimed=claimed)

    def execute(self, run: Any, workload: Any, data: Any, start: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Steps(Algorithm[dict[str, float]]):
    """Gaussian noise in T sampled steps, then a selection."""

    inner: Blocks = Blocks()
    T: int = 10
    label = "toy/alg-2"

    def schedule(self, problem: Problem, n: int) -> Schedule[dict[str, float]]:
        sampling = Sampling("with-replacement", 5)
        steps = Read(start=0, stop=n, sensitivity=1 / n, sampling=sampling)
        choice = Read(start=0, stop=n, sensitivity=0.01)
        releases = (
            Release(name="steps", law=Gaussian(1.0), reads=(steps,), count=self.T),
            Release(name="choice", law=Exponential(5.0), reads=(choice,), norm="range"),
        )
        claimed = ApproxDP(1.0, 1e-6)
        return Schedule(phases=(), releases=releases, gradients=5 * self.T, floats_per_trial=1, claimed=claimed)

    def execute(self, run: Any, workload: Any, data: Any, start: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Doubtful(Algorithm[dict[str, float]]):
    """Laplace noise for a sensitivity that follows from a lemma alone; "safe" doubles it, which is proved."""

    sensitivity: str = "printed"
    promise: bool = True
    label = "toy/alg-5"
    readings: ClassVar = {"safe": {"sensitivity": "safe"}, "repaired": {"promise": False}}
    wants: ClassVar = {"reach": "how far it goes"}

    def schedule(self, problem: Problem, n: int) -> Schedule[dict[str, float]]:
        assert isinstance(problem.privacy, ApproxDP)
        safe = self.sensitivity == "safe"
        read = Read(start=0, stop=n, sensitivity=(2 if safe else 1) / n)
        release = Release(
            name="mean",
            law=Laplace((2 if safe else 1) / n / problem.privacy.epsilon),
            reads=(read,),
            rests_on=() if safe else ("toy/lem-9",),
        )
        return Schedule(
            phases=(),
            releases=(release,),
            gradients=n,
            floats_per_trial=1,
            claimed=problem.privacy if self.promise else None,
            claimed_by=("toy/thm-9",),
        )

    def execute(self, run: Any, workload: Any, data: Any, start: Any) -> Any:
        raise NotImplementedError


LEMMA = """
import sympy as sp
from dpcheck.symbols import D, L, n

from .toy import TOY

lemma = TOY.claim(
    "toy/lem-9", "Lemma 9", "A record moves the mean by 1/n.", kind="lemma", about=("toy/alg-5",), grade="{grade}",
    remark="False.",
)
theorem = TOY.claim("toy/thm-9", "Theorem 9", "The output is ε-DP.", kind="theorem", about=("toy/alg-5",))
empirical = TOY.claim(
    "toy/thm-8", "Theorem 8", "The empirical risk is small.", kind="theorem", about=("toy/alg-1", "toy/alg-5"),
    quantity="suboptimality of the empirical risk", measures="empirical suboptimality", relation="<=",
    explicit=L * D / n,
)
word = TOY.claim(
    "toy/lem-8", "Lemma 8", "Less the regulariser.", kind="lemma", about=("toy/alg-5",),
    quantity="excess risk, less the regulariser", relation="<=", explicit=L * D / n**2,
)
slip = TOY.claim(
    "toy/thm-7@literal", "Theorem 7", "Literally.", kind="theorem", about=("toy/alg-5",), grade="slip",
    remark="Not so.", quantity="excess risk", measures="excess risk", relation="<=", explicit=L * D / n**3,
)
reached = TOY.claim(
    "toy/thm-6", "Theorem 6", "By its reach.", kind="theorem", about=("toy/alg-5",), quantity="excess risk",
    measures="excess risk", relation="<=", explicit=sp.Symbol("reach") / n,
)
thm_7 = TOY.claim("toy/thm-7", "Theorem 7", "Evidently.", kind="theorem", about=("toy/alg-5",))
"""


@pytest.fixture
def doubtful(project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A root in which Lemma 9 has this grade."""

    def make(grade: str) -> None:
        headings = "".join(
            f"## {name}\n\nAlgebra.\n\n" for name in ("thm-1", "lem-9", "thm-6", "thm-7", "thm-8", "lem-8")
        )
        files = {"bounds/lemma.py": LEMMA.replace("{grade}", grade), "bounds/toy.md": headings}
        monkeypatch.chdir(project(files, name=f"grade-{grade.replace(' ', '-')}"))

    return make


@pytest.fixture(autouse=True)
def toy_algorithms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithms, "modules", lambda: ["dpcheck.algorithms.toy"])
    monkeypatch.setattr(algorithms, "classes", lambda module: {kind.label: kind for kind in (Blocks, Steps, Doubtful)})


def test_the_table(root: Path, cli: Cli) -> None:
    text = cli("plan", "toy/alg-1", "--n", "8000", "--d", "3", "--epsilon", "2", "--D", "4").stdout
    lines = text.splitlines()
    assert lines[0] == "toy/alg-1 · n = 8,000, d = 3, 2-DP, D = 4, L = 1, H = 1"
    assert lines[1].split() == ["phase", "number", "records", "noise"]
    assert lines[2].split() == ["1", "1", "1,000", "0.002"]
    assert lines[6].split() == [
        "phase",
        "1/block",
        "*/mean",
        "×",
        "4",
        *["Laplace", "1,000", "0.004", "0.002", "0.0005", "2", "1.135"],
    ]
    assert "claimed       2-DP\ncertified     2-DP by the accountant\n" in text
    assert "gradients     8,000" in text
    # The claim toy/thm-1@corrected: 2 L D / sqrt(n).
    assert "risk          ≤ 0.08944  toy/thm-1@corrected: excess risk" in text


def test_json(root: Path, cli: Cli) -> None:
    arguments = (
        "plan",
        "toy/alg-1@dialled",
        "--n",
        "8000",
        "--epsilon",
        "2",
        "--set",
        "blocks=2",
        "--k",
        "3",
        "--G_k",
        "7",
    )
    plan = json.loads(cli(*arguments, "--moment", "8=9", "--json").stdout)
    assert (plan["reading"], plan["fields"], plan["schema_version"]) == ("dialled", {"blocks": 2}, 2)
    privacy = plan["privacy"]
    assert (privacy["claimed"], privacy["certified"], privacy["certified_delta"]) == (None, "4-DP", 0.0)
    assert privacy["certified_epsilon"] == pytest.approx(4.0)
    assert (privacy["rests_on"], privacy["refuted"], privacy["stands"]) == ([], [], True)
    assert plan["setting"]["L"] == "inf"
    assert plan["setting"]["moments"] == {"3": 7.0, "8": 9.0}
    assert plan["releases"][0]["sensitivity"] == pytest.approx(7 / 2000)
    assert plan["releases"][1]["name"] == "phase 2/block *"[:-1] + "*/mean"
    assert plan["bounds"][-1]["note"] == "needs a value for L"


def test_sampled_steps_and_selections(root: Path, cli: Cli) -> None:
    lines = cli("plan", "toy/alg-2", "--n", "400", "--epsilon", "1", "--delta", "1e-6").stdout.splitlines()
    steps, choice = (line.split() for line in lines[3:5])
    assert steps[:7] == ["steps", "10", "uses", "Gaussian", "5", "of", "400"]
    assert choice[:3] == ["choice", "Exponential", "400"]
    assert choice[5] == "–"
    assert "ε (δ = 1e-06)" in lines[2]


def test_infeasible(root: Path, cli: Cli) -> None:
    result = cli("plan", "toy/alg-1", "--n", "50", "--epsilon", "1", code=1)
    assert result.stdout.splitlines() == [
        "Infeasible: toy/alg-1 needs 100 records, got 50; smallest n: 100",
        "  consider  toy/alg-2 (feasible), toy/alg-5 (feasible)",
    ]
    as_json = json.loads(cli("plan", "toy/alg-1", "--n", "50", "--epsilon", "1", "--json", code=1).stdout)
    assert (as_json["feasible"], as_json["smallest_n"]) == (False, 100)
    as_json = json.loads(cli("plan", "toy/alg-1", "--n", "100", "--epsilon", "1", "--json").stdout)
    assert as_json["feasible"] is True


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("toy/alg-3", "--n", "100", "--epsilon", "1"), "did you mean toy/alg-5, toy/alg-2, toy/alg-1?"),
        (("toy/alg-1@odd", "--n", "100", "--epsilon", "1"), "no reading 'odd'; it has as-printed, dialled"),
        (("toy/alg-1", "--n", "100", "--epsilon", "1", "--set", "size=3"), "no field 'size'; its fields are k, blocks"),
        (("toy/alg-2", "--n", "100", "--epsilon", "1", "--set", "inner.x=3"), "toy/alg-1 has no field 'x'"),
        (("toy/alg-1", "--n", "100", "--epsilon", "1", "--set", "blocks"), "name=value"),
        (("toy/alg-1", "--n", "100", "--epsilon", "-1"), "epsilon must be"),
        (("toy/alg-1", "--n", "0", "--epsilon", "1"), "n must be >= 1, got 0"),
        (("toy/alg-1", "--n", "100"), "--epsilon (and --delta), or by --rho"),
        (("toy/alg-1", "--n", "100", "--epsilon", "1", "--D", "0"), "D must be > 0"),
        (("toy/alg-1", "--n", "100", "--epsilon", "1", "--G_k", "3"), "--G_k needs its order --k"),
        (("toy/alg-1", "--n", "100", "--epsilon", "1", "--theta", "3"), "--theta and --lambda go together"),
        (("toy/alg-1", "--n", "100", "--epsilon", "1", "--moment", "two=3"), "'two' is not a number"),
    ],
)
def test_bad_arguments(root: Path, cli: Cli, arguments: tuple[str, ...], says: str) -> None:
    result = cli("plan", *arguments, code=2)
    assert says in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_settings() -> None:
    chosen = planning.build("toy/alg-2", {"inner": "toy/alg-1", "inner.blocks": 7, "T": 3}, k=4.0)
    assert chosen == Steps(inner=Blocks(k=4.0, blocks=7), T=3)
    assert planning.build("toy/alg-1", {"k": 3.0}, k=4.0) == Blocks(k=3.0)
    assert [planning.parse(text) for text in ("a=1", "a.b=x", "a=None", "a='1'")] == [
        ("a", 1),
        ("a.b", "x"),
        ("a", None),
        ("a", "1"),
    ]


def test_moments_are_never_too_small() -> None:
    """Lyapunov: the bound of the next higher order stands in; a Lipschitz constant bounds them all."""
    setting = Setting(n=10, d=1, epsilon=1.0, L=math.inf, moments={2: 1.0, 4: 3.0})
    assert [setting.moment(k) for k in (1, 2, 3, 4, 5)] == [1.0, 1.0, 3.0, 3.0, math.inf]
    assert Setting(n=10, d=1, epsilon=1.0, L=2.0, moments={2: 1.0, 4: 3.0}).moment(4) == 2.0
    with pytest.raises(InvalidInput, match="order"):
        Setting(n=10, d=1, epsilon=1.0, moments={0: 1.0})


# -- what a guarantee rests on ----------------------------------------------------------------------------------------

DOUBT = ("plan", "toy/alg-5", "--n", "100", "--epsilon", "1")


def test_a_guarantee_that_rests_on_a_refuted_claim_never_stands(doubtful: Callable[[str], None], cli: Cli) -> None:
    """Fails at f95bebe, which prints '1-DP claimed, 1-DP by the accountant' and exits 0."""
    doubtful("refuted")
    lines = cli(*DOUBT, code=Exit.NO_GUARANTEE).stdout.splitlines()
    assert lines[0] == "No guarantee stands: 1-DP is claimed, and toy/lem-9 is refuted."
    assert lines[1].startswith("toy/alg-5 · n = 100")
    assert "claimed       1-DP, by toy/thm-9" in lines
    assert "refuted       toy/lem-9" in lines
    assert "certified     nothing: the sensitivities rest on toy/lem-9, not proved for this instance" in lines
    assert "consider      toy/alg-5@safe: 1-DP certified" in lines
    assert not any("by the accountant" in line for line in lines)
    assert any(line.split()[:5] == ["mean", "Laplace", "100", "0.01", "?"] for line in lines)


def test_the_same_in_json(doubtful: Callable[[str], None], cli: Cli) -> None:
    doubtful("refuted")
    plan = json.loads(cli(*DOUBT, "--json", code=Exit.NO_GUARANTEE).stdout)
    assert plan["privacy"] == {
        "claimed": "1-DP",
        "claimed_by": ["toy/thm-9"],
        "certified": None,
        "certified_epsilon": "inf",
        "certified_delta": 0.0,
        "certifies_the_claim": False,
        "rests_on": ["toy/lem-9"],
        "refuted": ["toy/lem-9"],
        "stands": False,
    }
    assert plan["private_readings"] == [{"label": "toy/alg-5@safe", "certified": "1-DP"}]
    assert plan["releases"][0]["rests_on"] == ["toy/lem-9"]


def test_an_open_claim_is_no_certificate_and_no_refutation(doubtful: Callable[[str], None], cli: Cli) -> None:
    doubtful("proof gap")
    text = cli(*DOUBT).stdout
    assert text.startswith("toy/alg-5 · ")
    assert "certified     nothing: the sensitivities rest on toy/lem-9" in text
    assert "refuted" not in text


def test_a_reading_that_promises_nothing_and_has_no_certificate_does_not_stand(
    doubtful: Callable[[str], None], cli: Cli
) -> None:
    doubtful("proof gap")
    text = cli("plan", "toy/alg-5@repaired", *DOUBT[2:], code=Exit.NO_GUARANTEE).stdout
    assert text.startswith("No guarantee stands: nothing is promised, and nothing is certified")
    assert "claimed       nothing" in text
    assert "consider      toy/alg-5@safe: 1-DP certified" in text


def test_a_reading_with_proved_sensitivities_is_certified(doubtful: Callable[[str], None], cli: Cli) -> None:
    doubtful("refuted")
    text = cli("plan", "toy/alg-5@safe", *DOUBT[2:]).stdout
    assert text.startswith("toy/alg-5, safe · ")
    assert "certified     1-DP by the accountant" in text
    assert "refuted" not in text


def test_bounds_go_by_what_a_claim_measures(doubtful: Callable[[str], None], cli: Cli) -> None:
    """Fails at f95bebe, where the word 'risk' in a quantity made a bound on the excess risk of it."""
    doubtful("refuted")
    plan = json.loads(cli(*DOUBT, "--json", code=Exit.NO_GUARANTEE).stdout)
    bounds = {(row["source"], row["what"]): row["value"] for row in plan["bounds"]}
    assert bounds == {("toy/thm-8", "suboptimality"): 0.01, ("toy/thm-6", "risk"): None}
    (asked,) = (row["note"] for row in plan["bounds"] if row["what"] == "risk")
    assert asked == "needs --constant reach=…: how far it goes"
    plan = json.loads(cli(*DOUBT, "--constant", "reach=3", "--json", code=Exit.NO_GUARANTEE).stdout)
    bounds = {(row["source"], row["what"]): row["value"] for row in plan["bounds"]}
    assert bounds == {("toy/thm-8", "suboptimality"): 0.01, ("toy/thm-6", "risk"): 0.03}


def test_an_unknown_algorithm_is_told_before_the_budget(root: Path, cli: Cli) -> None:
    told = cli("plan", "nosuch", "--n", "10", code=2).stderr
    assert "no algorithm has the label 'nosuch'; there are toy/alg-1, alg-2, alg-5; --also FOLDER names" in told
    assert cli("plan", "nosuch", code=2).stderr == told
