"""`settings`: a schedule against the claims that state it, on an algorithm of which each number is changed once."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from dpcheck.engine import catalogue
from dpcheck.engine.settings import FOLLOWING, NUMBERED
from dpcheck.verdicts import Outcome, Verdict

Make = Callable[..., Path]
ALGORITHM = """
    import math
    from dataclasses import dataclass

    from dpcheck.errors import Infeasible
    from dpcheck.interfaces import Algorithm, Schedule

    @dataclass(frozen=True)
    class Phase:
        start: int
        records: int
        eta: float
        width: float
        sigma: float
        k: float

    @dataclass(frozen=True)
    class Halving(Algorithm):
        label = "mine/alg-1"
        readings = {"corrected": {"noise": 2.0}}
        noise: float = 1.0
        k: float = 2.0

        def schedule(self, problem, n):
            if n < 64:
                raise Infeasible("mine/alg-1", "64 records", n)
            D, L = problem.constants.diameter(2.0), problem.constants.lipschitz(2.0)
            phases, start, before = [], 0, D
            for i in (1, 2, 3):
                records = n // 2**i
                eta = D / (L * math.sqrt(records))
                width = before / 2
                sigma = self.noise * L * eta / (records * problem.privacy.epsilon)
                phases.append(Phase(start, records, eta, width, sigma, self.k))
                start, before = start + records, eta
            return Schedule(
                phases=tuple(phases), releases=(), gradients=start, floats_per_trial=1, claimed=problem.privacy
            )

        def execute(self, run, workload, data, start):
            return start
"""
BOUNDS = """
    import sympy as sp

    from dpcheck.claims import Paper
    from dpcheck.symbols import D, L, epsilon, index, last, n, sequences

    MINE = Paper(key="mine", title="My paper", authors="M. E.", reference="2026")
    etas, ms = sequences("eta m")
    alg_1 = MINE.claim("mine/alg-1", "Algorithm 1", "Halves the records.", kind="definition", about=("mine/alg-1",))

    def setting(name, explicit):
        return alg_1.as_read(
            "mine/alg-1@" + name, "a setting", "It is so.", quantity=name, relation="=", explicit=explicit
        )

    records = setting("records", sp.floor(n / 2**index))
    eta = setting("eta", D / (L * sp.sqrt(ms[index])))
    width = setting("width", sp.Piecewise((D / 2, sp.Eq(index, 1)), (etas[index - 1] / 2, True)))
    sigma = setting("sigma", L * etas[index] / (ms[index] * epsilon))
    corrected = setting("corrected-sigma", 2 * sigma.explicit)
    variance = setting("variance", sigma.explicit**2)
    gradients = setting("gradients", sp.Sum(ms[index], (index, 1, last)))
    silent = alg_1.as_read("mine/alg-1@silent", "a setting", "It is something.")
"""
NAMES = ("records", "eta", "width", "sigma", "gradients")
BESIDE = {"start": "where its records begin"}


class Paper:
    """A paper of one's own in a folder, whose algorithm and settings a test may change."""

    def __init__(self, project: Make, folder: Path) -> None:
        self._root, self._folder = project(), folder

    def verdicts(
        self,
        old: str = "",
        new: str = "",
        *,
        changes: dict[str, str | None] | None = None,
        beside: dict[str, str] = BESIDE,
        options: str = "",
    ) -> dict[str, Verdict]:
        """Reading -> verdict of `mine/alg-1::settings`.

        Args:
            old, new: texts of the algorithm's source.
            changes: setting -> reading of the claim that states it; None: nobody does.
            options: further arguments of `settings`, as source.
        """
        assert ALGORITHM.count(old) == 1 or not old
        named = {**{name: name for name in NAMES}, **(changes or {})}
        printed = {name: f"mine/alg-1@{claim}" for name, claim in named.items() if claim}
        corrected = {**printed, "sigma": "mine/alg-1@corrected-sigma"}
        audits = f"""
            from dpcheck.engine.settings import drawn, settings

            made = settings(
                "mine/alg-1",
                {{"as printed": {printed}, "corrected": {corrected}}},
                symbols={{"records": "m"}},
                beside={beside},
                fields={{"k": (2.0, 3.0)}},
                {options}
            )
        """
        files = {"algorithms/a.py": ALGORITHM.replace(old, new) if old else ALGORITHM, "bounds/mine.py": BOUNDS}
        for name, text in {**files, "audits/mine.py": audits, "bounds/mine.md": "## alg-1\n"}.items():
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        found = catalogue.load(self._root, paths=[self._folder])
        assert [str(error) for error in found.errors] == []
        check = found.checks["mine/alg-1::settings"]
        with catalogue.in_force(found):
            measured = {cell["reading"]: check.measure(cell, "smoke", 0) for cell in check.cells("smoke")}
        assert all(isinstance(each, Verdict) for each in measured.values())
        return measured  # type: ignore[return-value]


@pytest.fixture
def paper(project: Make, tmp_path: Path) -> Paper:
    return Paper(project, tmp_path / "own" / "mine")


def test_an_algorithm_that_is_planned_as_stated(paper: Paper) -> None:
    found = paper.verdicts()
    assert {verdict.outcome for verdict in found.values()} == {Outcome.HOLDS}
    assert list(found) == ["as printed", "corrected"]
    for verdict in found.values():
        assert verdict.evidence == "exact"
        assert "records, eta, width, sigma, gradients are as stated" in verdict.reason


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("n // 2**i", "-(-n // 2**i)", "records"),  # ceil for floor
        ("n // 2**i", "n // 2 ** (i + 1)", "records"),
        ("n // 2**i", "n // 2**i + 1", "records"),
        ("D / (L * math.sqrt(records))", "1.1 * D / (L * math.sqrt(records))", "eta"),
        ("math.sqrt(records)", "records", "eta"),  # an exponent + 1/2
        ("D / (L * math.sqrt(records))", "D * L / math.sqrt(records)", "eta"),
        ("D / (L * math.sqrt(records))", "D / (L * math.sqrt(n))", "eta"),
        ("before / 2", "before", "width"),
        ("before / 2", "max(before, D / 3) / 2", "width"),  # differs from the second phase on
        ("[], 0, D", "[], 0, 1.1 * D", "width"),  # differs in the first phase alone
        ("start + records, eta", "start + records, eta if i > 1 else D", "width"),
        ("self.noise * L", "1.1 * self.noise * L", "sigma"),
        ("(records * problem.privacy.epsilon)", "(n * problem.privacy.epsilon)", "sigma"),
        ("problem.privacy.epsilon", "math.sqrt(problem.privacy.epsilon)", "sigma"),
        ("gradients=start", "gradients=start + 1", "gradients"),
        ("gradients=start", "gradients=n", "gradients"),
        ("sigma, self.k)", "sigma, 1.1 * self.k)", "k"),  # no claim, but it was handed over
        ("(1, 2, 3)", "(1, 2, 4)", "records"),
    ],
)
def test_each_number_that_is_changed_is_found(paper: Paper, old: str, new: str, named: str) -> None:
    for verdict in paper.verdicts(old, new).values():
        assert verdict.outcome is Outcome.DIFFERS
        assert verdict.reason.startswith((f"{named} is ", f"{named} of phase "))


@pytest.mark.parametrize(("old", "wrong"), [("noise: float = 1.0", "as printed"), ('"noise": 2.0', "corrected")])
def test_a_reading_is_held_against_its_own_claims(paper: Paper, old: str, wrong: str) -> None:
    found = paper.verdicts(old, old[:-3] + "1.5")
    assert [reading for reading, verdict in found.items() if verdict.outcome is Outcome.DIFFERS] == [wrong]
    assert f"mine/alg-1@{'corrected-' * (wrong == 'corrected')}sigma says" in found[wrong].reason


def test_a_message_names_the_phase_both_values_and_the_problem(paper: Paper) -> None:
    reason = paper.verdicts("before / 2", "max(before, D / 3) / 2")["as printed"].reason
    assert reason.startswith("width of phase 2 is ")
    assert ", and mine/alg-1@width says " in reason
    assert ", at n = " in reason
    assert "-DP" in reason


def test_a_field_that_nobody_states(paper: Paper) -> None:
    found = paper.verdicts(changes={"eta": None})
    assert {verdict.outcome for verdict in found.values()} == {Outcome.DIFFERS}
    assert found["as printed"].reason == "the schedule fixes eta, which no claim states"


def test_a_field_beside_needs_its_reason(paper: Paper) -> None:
    assert paper.verdicts(beside={})["as printed"].reason == "the schedule fixes start, which no claim states"
    both = {**BESIDE, "width": "as the one before"}
    assert paper.verdicts(changes={"width": None}, beside=both)["as printed"].outcome is Outcome.HOLDS


def test_a_field_beside_is_held_to_its_place(paper: Paper) -> None:
    placed = {"start": FOLLOWING}
    assert paper.verdicts(beside=placed)["as printed"].outcome is Outcome.HOLDS
    for old, new, said in (
        ("start + records, eta", "start, eta", "start of phase 2 is 0, not where the records end"),
        ("phases, start, before = [], 0, D", "phases, start, before = [], 1, D", "start of phase 1 is 1, not where"),
    ):
        found = paper.verdicts(old, new, beside=placed, changes={"gradients": None})
        assert {verdict.outcome for verdict in found.values()} == {Outcome.DIFFERS}
        assert found["as printed"].reason.startswith(said)
    reason = paper.verdicts(beside={"start": NUMBERED})["as printed"].reason
    assert "not the number of the phase, from 1 on, at n = " in reason


def test_a_claim_of_what_no_schedule_fixes(paper: Paper) -> None:
    reason = paper.verdicts(changes={"momentum": "eta"})["as printed"].reason
    assert reason == "the schedule fixes no momentum, which mine/alg-1@eta states"


def test_a_claim_without_a_formula(paper: Paper) -> None:
    assert paper.verdicts(changes={"eta": "silent"})["as printed"].reason.startswith("mine/alg-1@silent has no formula")


def test_the_claim_of_another_setting(paper: Paper) -> None:
    assert paper.verdicts(changes={"eta": "width"})["as printed"].outcome is Outcome.DIFFERS


def test_a_power_of_a_setting_may_be_stated(paper: Paper) -> None:
    squared = paper.verdicts(changes={"sigma": "variance"}, options='powers={"sigma": 2},')
    assert squared["as printed"].outcome is Outcome.HOLDS
    assert squared["corrected"].reason.startswith("sigma^2 of phase 1 is ")
    assert paper.verdicts(changes={"sigma": "variance"})["as printed"].outcome is Outcome.DIFFERS


def test_too_few_problems_that_can_be_planned(paper: Paper) -> None:
    """Of numbers of records drawn from 4 to 70 hardly one in thirty is 64 or more."""
    found = paper.verdicts(options="problems=drawn(n=(4, 70)),")["as printed"]
    assert found.outcome is Outcome.UNDECIDED
    assert "drawn problems that can be planned" in found.reason


def test_what_differs_is_said_of_few_problems_too(paper: Paper) -> None:
    found = paper.verdicts("before / 2", "before", options="problems=drawn(n=(32, 70)),")["as printed"]
    assert found.outcome is Outcome.DIFFERS
