"""Mutants of what stands outside of function bodies: values of names, fields and defaults."""

import importlib
import sys

import pytest

from dpcheck.engine.mutate import constants
from dpcheck.engine.mutate.forks import forked

SOURCE = """
from dataclasses import dataclass, field, replace
from typing import ClassVar

SHARE = 3
BELOW, ABOVE = 0.5, 8.0
TWICE = SHARE * 2
PRINTED = {"c": 100.0, "d": 4.0}


@dataclass(frozen=True, kw_only=True)
class Plan:
    readings: ClassVar = {"literal": {"c": 7.0}, "dialled": {"c": 0.01}}
    c: float = PRINTED["c"]
    zeta: ClassVar[float] = 5.0
    few: float = field(default=11.0)

    def size(self, n, more=20, *, most=400):
        return min(n * self.c + more, most * TWICE), self.zeta, self.few, ABOVE - BELOW, PRINTED["d"]

    def read(self, name):
        return replace(self, **self.readings[name])


@dataclass(frozen=True)
class Heir(Plan):
    own: float = 9.0

    def size(self, n, more=30):
        return self.c + n, self.own * more


@dataclass(frozen=True)
class Bare(Plan):
    c: float = 13.0
"""
BESIDE = """
def shared():
    from constants_of_a_test import SHARE
    return SHARE
"""
NUMBERS = {"3", "0.5", "8.0", "2", "100.0", "4.0", "7.0", "5.0", "11.0", "20", "400", "9.0", "30", "13.0"}


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "constants_of_a_test.py").write_text(SOURCE)
    (tmp_path / "beside_it.py").write_text(BESIDE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("constants_of_a_test")
    for name in ("constants_of_a_test", "beside_it"):
        sys.modules.pop(name, None)


def answers(module, mutation=None):
    beside = importlib.import_module("beside_it")
    if mutation is not None:
        mutation.apply()
    plans = module.Plan(), module.Plan().read("literal"), module.Heir(), module.Heir(c=1.0), module.Bare()
    return [*(each for plan in plans for n in (1, 1000) for each in plan.size(n)), beside.shared()]


def test_every_number_outside_of_function_bodies_is_changed_and_matters(module):
    found = list(constants.of_module("constants_of_a_test"))
    said = [m.said.partition(": ")[2] for m in found]
    assert {text.partition(" →")[0] for text in said if "→" in text and ":" not in text} == NUMBERS
    assert len({m.key for m in found}) == len(found), "what becomes of each is remembered under its key"
    (right,) = (each.value for each in forked([(lambda: answers(module), 20.0)]))
    ended = list(forked([(lambda m=m: answers(module, m), 20.0) for m in found], workers=2))
    assert [found[each.number].key for each in ended if each.value == right] == []
    assert answers(module) == right, "nothing is changed here"


def test_only_what_reads_a_constant_may_notice_it(module):
    lines = SOURCE.splitlines()

    def read(mutation):
        return [lines[first - 1] if "constants" in path else "beside" for path, first, _ in mutation.lines]

    at = {m.target.partition(":")[2]: read(m) for m in constants.of_module("constants_of_a_test")}
    assert at["SHARE"] == ["beside", "class Plan:"]
    assert at["TWICE"] == at["ABOVE"] == at["PRINTED"] == at["Plan"] == at["Plan.size"] == ["class Plan:"]
    assert at["Heir"] == ["class Heir(Plan):"]
    assert at["Bare"] == ["class Bare(Plan):", "class Plan:"], "all of its code is inherited"


def test_formulas_are_mutated_where_they_are_claimed(tmp_path, monkeypatch):
    (tmp_path / "formulas.py").write_text(
        "import sympy as sp\nx = sp.Symbol('x', positive=True)\nF = 2 * x\nA = 2\nB = 3\ndel B\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = {m.target for m in constants.of_module("formulas")}
    del sys.modules["formulas"]
    assert found == {"formulas:A"}


def test_a_constant_can_be_argued(tmp_path, monkeypatch):
    (tmp_path / "argued_constant.py").write_text("MOST = 100  # the same: no more are ever asked for\nA = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = {m.target.partition(":")[2]: m.argued for m in constants.of_module("argued_constant")}
    del sys.modules["argued_constant"]
    assert found == {"MOST": "no more are ever asked for", "A": ""}
