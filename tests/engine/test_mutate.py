"""Mutants by machine: what is changed, that the change is made, and what counts as noticed."""

import ast
import importlib
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pytest
import sympy as sp

from dpcheck.claims import Paper
from dpcheck.cli.mutating import Duration
from dpcheck.engine import memo
from dpcheck.engine.mutate import choice, claims, code, listed, mutation, nulls
from dpcheck.engine.mutate.forks import forked
from dpcheck.engine.mutate.mutation import Trial
from dpcheck.engine.mutate.slices import plain
from dpcheck.engine.mutate.table import SampleOfMutants, Table, rows
from dpcheck.errors import InvalidInput, StoreError
from dpcheck.interfaces import Read, Release, Sample, Schedule
from dpcheck.laws import Laplace
from dpcheck.running import Run
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


def test_what_is_no_number_any_more_is_no_wrong_formula():
    """2 ÷ 2 under a logarithm that is divided by."""
    found = [wrong for _, _, wrong in claims.changes(d / sp.log(2, evaluate=False) + L, constants=True)]
    assert found
    assert not [wrong for wrong in found if wrong.has(sp.zoo, sp.oo, sp.nan)]


def test_a_bound_of_nothing_may_be_something():
    (wrong,) = claims.changes(sp.Integer(0), constants=True)
    assert wrong == ("constant", "0 + 1", 1)


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

def signed(x):
    return [y if keep else -y for keep, y in ((True, x), (False, x + 1))]
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
    assert {"not True", "not False", "y if keep else -y: the other branch", "-y: without the sign"} <= said
    assert not any("n + 1" in text for text in said), "messages are left alone"
    assert len({m.key for m in found}) == len(found), "what becomes of each is remembered under its key"

    def answers(mutation=None):
        if mutation is not None:
            mutation.apply()
        plan = module.Plan()
        return [*map(plan.size, (1, 9, 15)), plan.steps, module.outer(2), *module.signed(3)]

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


def test_a_job_that_ends_its_process_died_and_those_that_nobody_waits_for_are_ended(tmp_path):
    (ended,) = forked([(lambda: os._exit(3), 5)])
    assert ended.failure == "died"

    def late():
        (tmp_path / "late").write_text(str(os.getpid()))
        time.sleep(600)

    def once_it_runs():
        while not (tmp_path / "late").is_file() or not (tmp_path / "late").read_text():
            time.sleep(0.01)
        return 1

    running = forked([(once_it_runs, 600), (late, 600)], workers=2)
    assert next(running).value == 1
    running.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "late").read_text()), 0)


def test_powers_signs_and_branches_are_changed(tmp_path, monkeypatch):
    text = "def f(x, y):\n    if x > y:\n        x = y\n    return -x ** y\n"
    (tmp_path / "powers_of_a_test.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    found = {m.said.partition(" ")[2]: m for m in code.of_module("powers_of_a_test")}
    module = importlib.import_module("powers_of_a_test")

    def under(said):
        return next(forked([(lambda: (found[said].apply(), module.f(4, 2), module.f(2, 3))[1:], 5)])).value

    answers = {said: under(said) for said in found}
    del sys.modules["powers_of_a_test"]
    assert answers["x ** y: exponent + 1/2"] == pytest.approx([-(2**2.5), -(2**3.5)])
    assert answers["-x ** y: without the sign"] == [4, 8]
    assert answers["never x > y"] == [-16, -8]


def test_a_method_that_calls_super_no_more_is_a_mutant_like_others(tmp_path, monkeypatch):
    """Without the call its code names no cell, and a function that has one would not take it."""
    text = "class A:\n    def f(self):\n        self.x = 1\n\n"
    text += "class B(A):\n    def f(self):\n        super().f()\n        self.y = 2\n"
    (tmp_path / "heirs_of_a_test.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    kind = importlib.import_module("heirs_of_a_test").B
    kind().f()
    (dropped,) = (m for m in code.of_module("heirs_of_a_test") if m.said.endswith("without super().f()"))
    dropped.apply()
    made = kind()
    made.f()
    assert vars(made) == {"y": 2}


def test_a_claim_without_a_bound_has_only_its_assumptions_to_lose():
    paper = Paper(key="toy", title="", authors="", reference="")
    words = paper.claim("toy/lem-1", "Lemma 1", "…", kind="lemma", assumptions=(sp.Ge(n, 4), sp.Le(d, n)))
    assert [m.said for m in claims.of_claim(words)] == ["without n >= 4", "without d <= n"]


class Averaged:
    """Two ways of averaging, of which one is returned and one released."""

    label = "toy/alg-1"

    def execute(self, points, run):
        mean = w = 0.0
        for t, point in enumerate(points, 1):
            w = point
            mean = mean + (w - mean) / t
        other = 0.0
        for point in points:
            v = point
            other = 0.5 * v + (1 - 0.5) * other
        run.release(other)
        return mean


def test_the_last_iterate_takes_the_place_of_the_average():
    found = {m.said: m for m in nulls._other_iterates(Averaged)}
    assert set(found) == {"w for mean in Averaged.execute", "v for other in Averaged.execute"}
    last = found["w for mean in Averaged.execute"]

    def answers():
        last.apply()
        return Averaged().execute([1.0, 2.0, 6.0], SimpleNamespace(release=lambda value: None))

    assert next(forked([(answers, 5)])).value == 6.0


VALUES = np.array([[[0.5, -0.25], [0.25, 0.75], [9.0, 9.0]]])
PLAN = Schedule(
    phases=(), gradients=2, floats_per_trial=4, claimed=None,
    releases=(Release(name="mean", law=Laplace(1.0), reads=(Read(start=0, stop=2, sensitivity=1.0),)),),
)  # fmt: skip


class Stored:
    """Three records, of which an algorithm may take a part."""

    def __init__(self, stop=3):
        self.n = stop

    def part(self, start, stop):
        return Stored(stop)

    def read(self, *, means_only=False):
        return Sample(VALUES[:, : self.n], np.full((1, self.n), 1 / self.n))


def answered(operator):
    """(answer, what was released) of a null of an algorithm that releases the mean of two records, and returns it."""

    class Told:
        label = "toy/alg-1"

        def execute(self, run, workload, data, start):
            assert data.n == 3
            mean = data.part(0, 2).read().values.mean(axis=1)
            run.release("mean", mean)
            return start + mean

    every = nulls.of_algorithms([Told, Told])
    assert len(every) == len(list(nulls.of_algorithm(Told)))
    if operator:
        {mutation.operator: mutation for mutation in every}[operator].apply()
    square = SimpleNamespace(
        project=lambda point: np.clip(point, -1.0, 1.0), constants=SimpleNamespace(diameter=lambda p: 4.0)
    )
    run = Run(PLAN, 1, np.random.default_rng(5))
    answer = Told().execute(run, square, Stored(), np.array([[0.125, 0.0]]))
    return answer.tolist(), [entry.core.tolist() for entry in run.transcript.entries]


def test_a_null_algorithm_releases_what_the_real_one_does_and_answers_otherwise():
    real, released = answered("")
    assert real == [[0.5, 0.25]]
    for operator, answer in {
        "the start": [[0.125, 0.0]],
        "a constant": [[1.0, 1.0]],
        "the wrong end": [[-0.25, -0.25]],
        "no data": [[0.125, 0.0]],
    }.items():
        assert answered(operator) == (answer, released), operator
    drawn, seen = answered("a random point")
    assert seen == released
    assert drawn == answered("a random point")[0] != real
    assert np.abs(drawn).max() <= 1


def test_a_table_tells_what_became_of_which_mutants():
    def trial(family, target, fate, paper="toy"):
        return Trial(f"{target} {fate}", family, paper, target, "", "", fate)

    table = Table()
    tried = [trial("claim", "toy/thm-1", "measured"), trial("claim", "toy/thm-2", "survived")]
    table.add([*tried, trial("code", "x", "measured", paper="")])
    head, lines = rows(table.all())
    assert head == ["paper", "family", "tried", "noticed", "measured", "survived"]
    assert lines == [["shared", "code", "1", "100 %", "1", "0"], ["toy", "claim", "2", "50 %", "1", "1"]]
    table.forget(claims={"toy/thm-1"}, checks=set())
    assert rows(table.all())[1][1] == ["toy", "claim", "1", "100 %", "1"]
    drawn = SampleOfMutants("toy", "code", 40, 1200, 1, "smoke")
    assert str(drawn) == "40 of 1,200 code mutants, drawn with seed 1, at smoke size"
    assert str(replace(drawn, seed=None)) == "all 1,200 code mutants, at smoke size"


def test_a_family_that_there_is_not():
    assert choice.checked_families([]) == mutation.FAMILIES
    with pytest.raises(InvalidInput, match="unknown family 'cosmic'; there are claim"):
        choice.checked_families(["cosmic"])


def test_a_sample_keeps_all_nulls_and_is_drawn_in_any_order(module):
    found = list(code.of_module("plan_of_a_test"))
    null = next(iter(nulls._other_iterates(Averaged)))
    drawn = choice.sample([null, *found], 4, seed=1)
    assert drawn[0] is null
    assert len(drawn) == 5
    assert {m.key for m in choice.sample([*reversed(found), null], 4, seed=1)} == {m.key for m in drawn}
    assert choice.sample(found, 10**6, seed=1) == found


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"bound": {"up": 0.5, "down": 2.0}}, "factors of 0.5 and 2, which are at least 1"),
        ({"family": "cosmic", "target": "toy/thm-1"}, "a family 'cosmic', which there is not"),
        (
            {"family": "claim", "target": "toy/thm-1", "paper": "toy", "mutants": []},
            "no mutants, ",
        ),
    ],
)
def test_a_line_that_no_command_wrote_is_named(tmp_path, row, says):
    if "bound" in row:
        row = {"bound": {"label": "toy/thm-1", "relation": "<=", "up_by": "", "down_by": "", **row["bound"]}}
    path = tmp_path / "mutants.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(StoreError, match=f"mutants.jsonl:1 is no line of `dpcheck mutate --save`: {says}"):
        Table.read(path)


def test_wrong_forms_that_were_kept_are_those_that_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is worked out for them a second time, and each changes the claim as what was found would."""
    monkeypatch.setenv(memo.FOLDER, str(tmp_path))
    found = list(claims.changes(BOUND, constants=True))
    toy = Paper(key="toy", title="T", authors="A", reference="R")
    claim = toy.claim("toy/thm-1", "T", "S", kind="theorem", explicit=BOUND, assumptions=[n >= 4, d <= n])
    first = listed.WrongForms()
    told = [each.key for each in first.of_claim(claim)]
    first.keep()
    monkeypatch.setattr(claims, "listed", lambda claim: pytest.fail("worked out again"))
    kept = list(listed.WrongForms().of_claim(claim))
    assert [each.key for each in kept] == told
    for (operator, said, wrong), change in zip(found, kept, strict=False):
        change.apply()
        assert (change.operator, change.said, claim.explicit) == (operator, said, wrong)
    kept[-2].apply()
    assert claim.assumptions == (d <= n,)


def test_a_digest_is_that_of_another_python() -> None:
    """Which may know of more fields that are empty: functions have had parameters of types since 3.12."""
    (node,) = ast.parse("def f(x=None): return [x, 1.5, {'a': ()}]").body
    before = plain(node)
    node._fields, node.type_params = (*node._fields, "type_params"), []  # type: ignore[attr-defined, misc]
    assert plain(node) == before
    assert plain(ast.parse("def f(x=0): return [x, 1.5, {'a': ()}]").body[0]) != before


def test_formulas_that_are_no_numbers_are_left_out() -> None:
    found = list(claims.changes(sp.Max(1 - 1 / sp.sqrt(n), L / n), constants=True))
    assert all(formula.subs({L: 2.0, n: 9.0}).is_real for _, _, formula in found)
