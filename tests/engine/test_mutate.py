"""Mutants by machine: what is changed, that the change is made, and what counts as noticed."""

import ast
import importlib
import sys
import time

import click
import pytest
import sympy as sp

from dpcheck.cli.mutating import Duration
from dpcheck.engine.mutate import claims, code
from dpcheck.engine.mutate.forks import forked
from dpcheck.symbols import L, d, delta, epsilon, n

BOUND = 2 * L * sp.sqrt(d) * sp.log(1 / delta) / (n * epsilon) + L / sp.sqrt(n)


def test_no_two_wrong_formulas_are_one_and_none_is_the_right_one():
    found = list(claims.changes(BOUND, constants=True))
    values = [float(f.subs({L: 1.3, d: 7, delta: 1e-3, n: 50, epsilon: 0.4})) for _, _, f in (("", "", BOUND), *found)]
    assert len({f"{value:.9g}" for value in values}) == len(values)
    operators = {operator for operator, _, _ in found}
    assert operators == {
        "factor up", "factor down", "term dropped", "term doubled", "logarithm dropped", "exponent", "constant",
    }  # fmt: skip


def test_an_order_has_no_constants_to_be_wrong():
    operators = {operator for operator, _, _ in claims.changes(BOUND, constants=False)}
    assert operators == {"term dropped", "logarithm dropped", "exponent"}


def test_sequences_are_changed_as_symbols_are():
    i, sigma = sp.Symbol("i", integer=True, positive=True), sp.IndexedBase("sigma")
    found = [said for _, said, _ in claims.changes(sp.Sum(sigma[i] ** 2, (i, 1, n)), constants=True)]
    assert "(sigma[i]**2) ^ +1/2" in found


SOURCE = """
import functools, math

class Plan:
    @functools.cache
    def size(self, n):
        if n < 1:
            raise ValueError(f"n is {n + 1}")
        return math.sqrt(n) * 3 + min(n, 20 - n)

    @property
    def steps(self):
        total = 0
        for i in range(4):
            total += 1
        return total

def outer(x):
    def inner(y):
        return y - x
    return inner(7)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "plan_of_a_test.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("plan_of_a_test")
    del sys.modules["plan_of_a_test"]


def test_every_change_of_code_is_one_of_behaviour(module):
    found = list(code.of_module("plan_of_a_test"))
    said = {m.said.partition(" ")[2] for m in found}
    assert {"3 → 6", "without sqrt in math.sqrt(n)", "min(n, 20 - n): min → max", "4 → 2", "without total += 1"} <= said
    assert not any("n + 1" in text for text in said), "messages are left alone"
    assert len({m.key for m in found}) == len(found), "what becomes of each is remembered under its key"

    def answers(mutation=None):
        if mutation is not None:
            mutation.apply()
        plan = module.Plan()
        return [*map(plan.size, (1, 9, 15)), plan.steps, module.outer(2)]

    (right,) = (each.value for each in forked([(answers, 20.0)]))
    ended = list(forked([(lambda m=m: answers(m), 20.0) for m in found], workers=2))
    same = [found[each.number].said for each in ended if each.value == right]
    assert same == [], "each of these changes something, or raises"
    assert answers() == right, "nothing is changed here"


def test_keys_outlive_lines_that_are_added_above(module, tmp_path):
    before = {m.key for m in code.of_module("plan_of_a_test")}
    path = tmp_path / "plan_of_a_test.py"
    path.write_text('"""It has a docstring now."""\n' + path.read_text())
    assert {m.key for m in code.of_module("plan_of_a_test")} == before


def test_a_line_that_argues_is_not_tried(tmp_path, monkeypatch):
    (tmp_path / "argued_plan.py").write_text("def f(x):\n    return x * 2  # the same: x is 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = list(code.of_module("argued_plan"))
    del sys.modules["argued_plan"]
    assert found
    assert {m.argued for m in found} == {"x is 0"}


def test_jobs_end_in_a_value_a_failure_or_a_limit():
    def endless():
        while True:
            time.process_time()

    def fails():
        raise ValueError("no")

    ended = {each.number: each for each in forked([(lambda: [1, "a"], 5), (endless, 1), (fails, 5)], workers=3)}
    assert ended[0].value == [1, "a"]
    assert ended[1].failure == "timeout"
    assert "ValueError: no" in ended[2].failure


def test_sites_know_their_function_and_leave_annotations_alone():
    tree = ast.parse("class A:\n    def f(self, x: int = 3) -> int:\n        y: 'list[4]' = x + 5\n        return y\n")
    found = list(code.sites(tree))
    assert {site.function for site in found} == {"A.f"}
    assert {site.said for site in found} == {"x + 5: + → −", "5 → 10"}


@pytest.mark.parametrize(
    ("text", "seconds"), [("25", 25.0), ("25s", 25.0), ("1.5m", 90.0), ("1h", 3600.0), ("1e-9", 1e-9)]
)
def test_a_budget_is_a_duration(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "s", "5 minutes", "0", "-3s", "nan", "inf", "3ms"])
def test_what_is_no_duration_says_how_to_write_one(text: str) -> None:
    with pytest.raises(click.BadParameter, match="as 90, 90s, 5m or 1h"):
        Duration().convert(text, None, None)
