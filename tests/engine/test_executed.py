"""`run_as_stated` and `as_stated`: a run against the claims of its settings, on an algorithm of two phases."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats

from dpcheck.engine import catalogue, executed
from dpcheck.engine.algorithms import algorithm
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Problem
from dpcheck.laws import Gaussian, GeneralizedGaussian, IsotropicLaplace, Laplace, PerRecord
from dpcheck.laws.selection import NoisyMin
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Outcome, Verdict
from dpcheck.workloads import HeavyMean

Make = Callable[..., Path]
ALGORITHM = """
    from dataclasses import dataclass

    from dpcheck.interfaces import Algorithm, Read, Release, Schedule
    from dpcheck.laws import Gaussian

    @dataclass(frozen=True)
    class Phase:
        start: int
        records: int
        sigma: float

    @dataclass(frozen=True)
    class Means(Algorithm):
        label = "mine/alg-1"
        noise: float = 1.0

        def schedule(self, problem, n):
            phases = [Phase(0, n // 2, self.noise), Phase(n // 2, n // 4, 2 * self.noise)]
            reads = (Read(start=0, stop=n, sensitivity=1.0),)
            releases = tuple(
                Release(name=f"phase {i}", law=Gaussian(row.sigma), reads=reads) for i, row in enumerate(phases, 1)
            )
            gradients = sum(row.records for row in phases)
            return Schedule(
                phases=tuple(phases), releases=releases, gradients=gradients, floats_per_trial=1, claimed=None
            )

        def execute(self, run, workload, data, start):
            w = start
            for i, row in enumerate(run.schedule.phases, 1):
                sample = data.part(row.start, row.start + row.records).read()
                w = run.release(f"phase {i}", workload.gradient(w[:, None], sample.values).mean(axis=1))
            return w
"""
BOUNDS = """
    import sympy as sp

    from dpcheck.claims import Paper
    from dpcheck.symbols import index, last, n, sequences

    MINE = Paper(key="mine", title="My paper", authors="M. E.", reference="2026")
    (ms,) = sequences("m")
    alg_1 = MINE.claim("mine/alg-1", "Algorithm 1", "Means.", kind="definition", about=("mine/alg-1",))

    def setting(name, explicit):
        return alg_1.as_read(
            "mine/alg-1@" + name, "a setting", "It is so.", quantity=name, relation="=", explicit=explicit
        )

    records = setting("records", sp.floor(n / 2**index))
    sigma = setting("sigma", 2 ** (index - 1))
    gradients = setting("gradients", sp.Sum(ms[index], (index, 1, last)))
    phases = setting("phases", sp.Integer(2))
"""
STATED = {name: f"mine/alg-1@{name}" for name in ("records", "sigma", "gradients", "phases")}
AUDITS = f"""
    from dpcheck.engine.executed import run_as_stated
    from dpcheck.interfaces import Problem
    from dpcheck.privacy import ApproxDP
    from dpcheck.workloads import HeavyMean

    WORK = HeavyMean(D=2.0, theta=0.1)
    made = run_as_stated(
        "mine/alg-1", {STATED}, WORK, Problem.of(WORK, ApproxDP(1.0, 1e-5)), 16,
        noises={{"sigma": "phase *"}}, symbols={{"records": "m"}},
    )
"""


class Paper:
    """A paper of one's own, of which a formula or a line of the algorithm may be another."""

    def __init__(self, project: Make, folder: Path) -> None:
        self._root, self._folder = project(), folder

    def load(self, file: str = "", old: str = "", new: str = "") -> catalogue.Catalogue:
        files = {"algorithms/a.py": ALGORITHM, "bounds/mine.py": BOUNDS, "audits/mine.py": AUDITS}
        assert not file or files[file].count(old) == 1
        files |= {file: files[file].replace(old, new)} if file else {}
        for name, text in {**files, "bounds/mine.md": "## alg-1\n"}.items():
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        found = catalogue.load(self._root, paths=[self._folder])
        assert [str(error) for error in found.errors] == []
        return found

    def verdict(self, *edit: str) -> Verdict:
        found = self.load(*edit)
        check = found.checks["mine/alg-1::run_as_stated"]
        with catalogue.in_force(found):
            (cell,) = check.cells("smoke")
            measured = check.measure(cell, "smoke", 0)
        assert isinstance(measured, Verdict)
        return measured


@pytest.fixture
def paper(project: Make, tmp_path: Path) -> Paper:
    return Paper(project, tmp_path / "own" / "mine")


def test_a_run_that_does_what_is_stated(paper: Paper) -> None:
    verdict = paper.verdict()
    assert verdict.outcome is Outcome.CONSISTENT
    assert verdict.reason.startswith("12 gradients counted, as mine/alg-1@gradients says; the noise of 2 phases is as")
    assert 0 < verdict.failure_probability < 1e-5


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("bounds/mine.py", "sp.Sum(ms[index], (index, 1, last))", "n", "counted, mine/alg-1@gradients says 16"),
        ("bounds/mine.py", "2 ** (index - 1)", "2 ** index", "the noise of phase 1 has 0.2"),
        ("bounds/mine.py", "2 ** (index - 1)", "2 ** (index - 1) * sp.Rational(4, 3)", "the noise of phase 1 has 0.5"),
        ("bounds/mine.py", "2 ** (index - 1)", "sp.sqrt(index)", "the noise of phase 2 has 1.7"),
        ("bounds/mine.py", "2 ** (index - 1)", "index - 1", "mine/alg-1@sigma says that the scale of phase 1 is 0.0"),
        ("bounds/mine.py", "sp.Integer(2)", "sp.Integer(3)", "12 gradients counted, mine/alg-1@gradients says 14"),
        ("bounds/mine.py", "sp.floor(n / 2**index)", "sp.floor(n / 4**index)", "mine/alg-1@gradients says 5"),
        ("algorithms/a.py", "row.start + row.records)", "row.start + 2)", "4 gradients counted"),
        ("algorithms/a.py", "Gaussian(row.sigma)", "Gaussian(1.0)", "the noise of phase 2 has 0.2"),
    ],
)  # fmt: skip
def test_what_is_not_as_stated(paper: Paper, file: str, old: str, new: str, said: str) -> None:
    verdict = paper.verdict(file, old, new)
    assert verdict.outcome is Outcome.DIFFERS
    assert said in verdict.reason


def problem() -> tuple[HeavyMean, Problem]:
    work = HeavyMean(D=2.0, theta=0.1)
    return work, Problem.of(work, ApproxDP(1.0, 1e-5))


def test_phases_with_what_claims_state_in_their_place(paper: Paper) -> None:
    """Whole numbers stay whole, what no claim states stays as planned, and formulas speak of what is stated."""
    found = paper.load("bounds/mine.py", "sp.floor(n / 2**index)", "n / 5**index")
    _, told = problem()
    with catalogue.in_force(found):
        plan = executed.as_stated(algorithm("mine/alg-1"), told, 16, STATED, symbols={"records": "m"})
        planned = algorithm("mine/alg-1").schedule(told, 16)
    assert [(row.start, row.records, row.sigma) for row in plan.phases] == [(0, 3, 1.0), (8, 1, 2.0)]
    assert plan.gradients == 4, "of the stated records"
    assert plan.releases == planned.releases


@pytest.mark.parametrize(("count", "last"), [(1, 1.0), (2, 2.0), (4, 8.0)])
def test_as_many_phases_as_are_stated(paper: Paper, count: int, last: float) -> None:
    found = paper.load("bounds/mine.py", "sp.Integer(2)", f"sp.Integer({count})")
    with catalogue.in_force(found):
        plan = executed.as_stated(algorithm("mine/alg-1"), problem()[1], 16, STATED, symbols={"records": "m"})
    assert (len(plan.phases), plan.phases[-1].sigma) == (count, last)


@pytest.mark.parametrize("count", [0, 10**5])
def test_phases_that_nobody_could_list_contradict_a_plan_all_the_same(paper: Paper, count: int) -> None:
    found = paper.load("bounds/mine.py", "sp.Integer(2)", f"sp.Integer({count})")
    with catalogue.in_force(found):
        plan = executed.as_stated(algorithm("mine/alg-1"), problem()[1], 16, STATED, symbols={"records": "m"})
    assert len(plan.phases) in (1, 8)


LAWS: list[Any] = [
    Gaussian(0.7),
    Laplace(0.7),
    IsotropicLaplace(0.7),
    GeneralizedGaussian(0.7, 4.0),
    PerRecord(GeneralizedGaussian(0.7, 3.0)),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_sums_of_residuals_follow_their_law(law: Any) -> None:
    """Level and power: 400 sums are uniform under the χ² law at the right scale, and none is at one of 4/5."""
    rng, core = np.random.default_rng(1), np.zeros((50, 2, 3))
    sums, other = [], []
    for _ in range(400):
        residual = law.sample(core, rng)
        total, freedom = executed._chi_square(law, residual, 0.7)
        sums.append(scipy.stats.chi2(freedom).cdf(total))
        other.append(scipy.stats.chi2(freedom).sf(executed._chi_square(law, residual, 0.56)[0]))
    assert scipy.stats.kstest(sums, "uniform").pvalue > 1e-4  # on a fixed seed
    assert np.median(other) < 1e-3
    assert math.isclose(freedom, 300 if "Laplace" not in type(law).__name__ else 600)


def test_a_law_without_a_known_scale() -> None:
    with pytest.raises(InvalidInput, match=r"NoisyMin noise of 3 coordinates has no scale"):
        executed._chi_square(NoisyMin(scale=1.0), np.zeros((2, 3)), 1.0)


def test_nothing_to_compare_is_no_agreement() -> None:
    with pytest.raises(InvalidInput, match="neither gradients nor a scale of noise"):
        executed.run_as_stated("mine/alg-1", {"records": "mine/alg-1@records"}, SimpleNamespace(), problem()[1], 16)
