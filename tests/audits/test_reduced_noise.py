"""Every experiment that turns the noise of an algorithm down, or calibrates it, says what is certified of its runs."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpcheck.engine import catalogue as catalogues
from dpcheck.engine import judge
from dpcheck.engine.algorithms import algorithms
from dpcheck.harness.budget import CERTIFIED, TOLD

ROOT = Path(__file__).parents[2]
TELLERS = {"budget", "with_budget", "certified", "judge_account"}
"""Functions of `dpcheck.harness.budget` that a check has to reach."""
SAYS_NOTHING = {
    "promises_are_those_of_the_theorems": "compares the promises of plans, runs nothing",
    "steps_of_the_general_phases_at_the_edge": "replays lines, shows no risk",
    "bootstrap_risk_is_empirical": "resamples records, releases nothing",
    "algorithms_on_packings": "its control has no noise at all, and is called 'without privacy'",
    "algorithms_on_two_points": "its control has no noise at all, and is called 'without privacy'",
    "algorithms_on_a_line": "its control has no noise at all, and is called 'without privacy'",
    "worst_allowed_solver_keeps_the_bound": "a stand-in without noise for every solver of some accuracy",
    "planned_gradients_over_n": "counts the gradients of a plan, runs nothing",
    "planned_gradients_over_m": "counts the gradients of a plan, runs nothing",
    "capped_minibatches_fit_and_pass": "compares sizes of a plan, runs nothing",
    "multipliers_between_which_the_least_one_lies": "asks an account for what it certifies, runs nothing",
    "approximate_minimisers_move_as_claimed": "replays neighbours, shows no risk",
    "hit_and_run_reaches_the_gibbs_law": "compares a sampler with the law that it is given",
    "walk_down_a_steep_slope": "compares one step of a sampler with where it has to go",
    "law_of_the_averages": "compares a closed form with runs, shows no risk",
    "phases_in_closed_form": "compares a closed form with drawn users, shows no risk",
    "average_in_few_steps": "compares steps that stand for many with drawn ones, shows no risk",
    "phases_by_their_moments": "compares moments with drawn users, shows no risk",
    "smoothed_phases_by_their_moments": "compares moments with drawn users, shows no risk",
    "sampled_phases_by_their_moments": "compares moments with drawn users, shows no risk",
    "coordinates_of_the_phases": "compares walks of coordinates with drawn runs, shows no risk",
    "smoothing_on_the_line": "compares a smoothed loss with quadrature, releases nothing",
    "smoothness_on_the_line_is_exact": "compares a smoothed loss with its closed form, releases nothing",
    "bias_of_the_smoothing": "compares a smoothed loss with quadrature, releases nothing",
    "constants_of_the_solvers": "compares what plans say of solvers, runs nothing",
    **dict.fromkeys(
        (
            "fields_and_domains_of_the_tree",
            "movement_that_algorithm_2_claims",
            "noise_up_to_the_diameter_is_planned",
            "planned_inside_of_its_conditions",
            "plans_and_promises",
            "plans_and_promises_of_algorithm_1",
            "plans_and_promises_of_algorithms_2_and_3",
            "plans_and_promises_of_the_baseline",
            "plans_and_promises_of_the_restarts",
            "promises_and_sizes_of_batches",
            "promises_and_sizes_of_calls",
            "promises_where_steps_contract",
            "radii_of_the_smoothing",
            "sizes_and_movement_of_algorithm_1",
            "sizes_and_promises_of_the_general_phases",
            "sizes_and_promises_of_the_restarts",
            "values_are_taken_up_to_their_edges",
            "what_the_bound_is_told_of_a_plan",
        ),
        "asks what is planned, refused and promised, shows no risk",
    ),
    **dict.fromkeys(
        (
            *(f"lines_of_algorithm_{i}" for i in (1, 2, 3, 4)),
            "lines_of_the_general_phases",
            "lines_of_the_phases",
            "lines_of_the_restarts",
            "lines_of_sampled_phases",
            "lines_of_the_smoothed_algorithm",
            "lines_at_printed_constants",
        ),
        "replays printed lines from given coins and releases, shows no risk",
    ),
}
"""Checks that need no certificate, and why."""
Place = tuple[str, str]
"""Module and name."""


def dials() -> set[str]:
    """Fields of algorithms that turn noise down: the numbers that the readings called "dialled" set."""
    found = set()
    for kind in algorithms().values():
        for name, value in getattr(kind, "readings", {}).get("dialled", {}).items():
            if isinstance(value, float):
                found.add(name)
    return found


@dataclasses.dataclass
class Source:
    """Top-level definitions of `audits/`, what each of them uses, and which of them are checks."""

    definitions: dict[Place, ast.stmt] = dataclasses.field(default_factory=dict)
    imported: dict[str, dict[str, Place]] = dataclasses.field(default_factory=dict)
    checks: list[Place] = dataclasses.field(default_factory=list)

    def add(self, module: str, text: str) -> None:
        tree, package = ast.parse(text), module.rpartition(".")[0]
        names = self.imported.setdefault(module, {})
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                home = f"{package}.{node.module}" if node.level else node.module or ""
                names.update({a.asname or a.name: (home, a.name) for a in node.names})
        for statement in tree.body:
            for name in _named(statement):
                self.definitions[module, name] = statement
            if isinstance(statement, ast.FunctionDef) and any(_is_check(d) for d in statement.decorator_list):
                self.checks.append((module, statement.name))

    def reached(self, place: Place) -> Iterator[tuple[str, ast.AST]]:
        """Every node of a definition and of all that it uses, with its module."""
        seen, open_ = set(), [place]
        while open_:
            here = open_.pop()
            if here in seen or here not in self.definitions:
                continue
            seen.add(here)
            module = here[0]
            for node in ast.walk(self.definitions[here]):
                yield module, node
                if isinstance(node, ast.Name):
                    open_.append(self.imported[module].get(node.id, (module, node.id)))

    def turns_noise(self, place: Place, names: set[str]) -> bool:
        return any(_turns_noise(node, names) for _, node in self.reached(place))

    def tells(self, place: Place) -> bool:
        return any(
            isinstance(node, ast.Name)
            and self.imported[module].get(node.id, ("", ""))[0] == "dpcheck.harness.budget"
            and node.id in TELLERS
            for module, node in self.reached(place)
        )


def _named(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    if isinstance(statement, ast.Assign):
        return [node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    return []


def _is_check(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check"


def _turns_noise(node: ast.AST, names: set[str]) -> bool:
    """A noise constant by keyword or by name, the reading "dialled", or a plan of one's own that promises nothing."""
    if isinstance(node, ast.keyword):
        nothing = isinstance(node.value, ast.Constant) and node.value.value is None
        return node.arg in names or (node.arg == "claimed" and nothing)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in {*names, "dialled"}


def audits() -> Source:
    found = Source()
    for path in sorted((ROOT / "audits").glob("*/*.py")):
        found.add(".".join(path.relative_to(ROOT).with_suffix("").parts), path.read_text())
    return found


def silent(source: Source) -> set[str]:
    names = dials()
    return {place[1] for place in source.checks if source.turns_noise(place, names) and not source.tells(place)}


def test_every_noise_constant_is_known() -> None:
    assert {"c_sigma", "c_noise", "c_score", "noise_dial"} <= dials()


def test_every_check_that_turns_noise_down_says_what_is_certified() -> None:
    assert silent(audits()) == set(SAYS_NOTHING)


LINES = """
from dpcheck.harness.budget import with_budget
from ._runs import QUIET
@check("toy/alg-1", kind="risk")
def one(context):
    return {}
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("    run(Descent(c_sigma=3.0))", {"one"}),
        ("    run(QUIET)", {"one"}),
        ("    run(Descent(**Descent.readings['dialled']))", {"one"}),
        ("    run(Schedule(claimed=None))", {"one"}),
        ("    run(calibrated(Descent(), 'c_sigma', told, n))", {"one"}),
        ("    run(Descent(batch=3))", set()),
        ("    return with_budget(found, QUIET, told, n)", set()),
    ],
)
def test_a_check_that_is_silent_about_its_noise_is_found(lines: str, expected: set[str]) -> None:
    source = Source()
    source.add("audits.toy._runs", "QUIET = Descent(c_noise=1e-3)")
    source.add("audits.toy.all", LINES.replace("    return {}", lines))
    assert silent(source) == expected


CATALOGUE = catalogues.load(ROOT)
CHEAP = (
    "l1_geometry/thm-5::risk_of_general_localised_descent",
    "lp_spaces/alg-4::lines_of_algorithm_4",
    "tsybakov/alg-7@literal::printed_weights_start_below_one",
    "user_level/alg-1::counted_gradients_of_phased_sgd",
)


@pytest.mark.parametrize("name", CHEAP)
def test_it_is_in_every_row_in_the_sentence_and_beside_the_figure(name: str) -> None:
    from dpcheck.harness.budget import caption

    check = CATALOGUE.checks[name]
    cells = check.cells("smoke")
    with catalogues.in_force(CATALOGUE):
        measured: list[Any] = [(cell, check.measure(cell, "smoke", 0)) for cell in cells]
        found = judge.conclude(check, measured, CATALOGUE.claims.get(check.label))
    rows = found.rows if len(cells) > 1 else (found.numbers,)
    assert len(rows) == len(cells)
    for row in rows:
        assert set(TOLD[:4]) <= set(row), row
        assert "no certificate" in row or row[CERTIFIED] < float("inf")
    assert "certified" in found.reason or "no certificate" in found.reason
    assert "of these runs: ε = " in caption(found)
