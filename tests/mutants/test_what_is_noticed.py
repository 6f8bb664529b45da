"""The committed table of mutants: what it must not fall below, and which checks of a bound read none."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import ROOT, collected

from dpcheck.engine import judge
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.mutate import rules
from dpcheck.engine.mutate.mutation import CORRECT, NOTICED
from dpcheck.engine.mutate.slices import Slices
from dpcheck.engine.mutate.table import NAME, Table, rates

HERE = Path(__file__).parent
COMMITTED = ROOT / "reports" / NAME
UNBOUND = f"checks of a bound that read none; bind them, or say `{rules.DECLARED} why` in them"
pytestmark = pytest.mark.skipif(not COMMITTED.is_file(), reason="no table is committed; `make mutate-table` writes it")


def listed(name: str) -> set[str]:
    """The exceptions of a file, one a line, each with its reason after a space."""
    return {line.split()[0] for line in (HERE / name).read_text(encoding="utf-8").splitlines() if line}


@functools.cache
def told() -> tuple[rules.Reads, rules.Reads]:
    """What checks read, and what those may read, by all that they name, that were stopped, or that no mutant needed."""
    table, found = Table.read(COMMITTED), collected()
    slices = Slices(found)
    untold = [check for id, check in found.checks.items() if id not in table.reads or judge.hindered(check, "smoke")]
    return table.reads, {check.id: tuple(filter(slices.of(check).reads, found.claims)) for check in untold}


def test_the_rates_are_those_of_the_table() -> None:
    """`dpcheck mutate --save --rates` writes both, and does not write rates that fell."""
    table = Table.read(COMMITTED)
    assert json.loads((HERE / "rates.json").read_text(encoding="utf-8")) == rates(table)
    assert {paper for paper, _ in table.samples} == set(rates(table)), "of each it is known what it is a share of"


@pytest.mark.parametrize(
    ("name", "rule", "cure"),
    [
        ("unread.txt", rules.unread, "explicit bounds that no check reads"),
        ("unbound.txt", rules.unbound, UNBOUND),
    ],
)
def test_exceptions_only_shrink(name: str, rule: Callable[[Catalogue, rules.Reads], list[str]], cure: str) -> None:
    reads, untold = told()
    found, allowed = set(rule(collected(), {**reads, **untold})), listed(name)
    assert not found - allowed, f"{cure}: {' '.join(sorted(found - allowed))}"
    past = allowed - found - set(untold)
    assert not past, f"strike from {name}: {' '.join(sorted(past))}"


def test_every_seeded_bug_is_noticed_and_no_look_alike_is_flagged() -> None:
    fates = {trial.key: trial.fate for trial in Table.read(COMMITTED).all() if trial.family == "seeded"}
    assert not {key: fate for key, fate in fates.items() if fate not in (*NOTICED, *CORRECT)}
