"""The committed table of mutants: what it must not fall below, and which checks of a bound read none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import ROOT, collected

from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.mutate import rules
from dpcheck.engine.mutate.mutation import CORRECT, NOTICED
from dpcheck.engine.mutate.table import NAME, Table, counted, share

HERE = Path(__file__).parent
COMMITTED = ROOT / "reports" / NAME
SLACK = 0.02
"""By how much a rate may be better than the file says before it has to be raised."""
UNBOUND = f"checks of a bound that read none; bind them, or say `{rules.DECLARED} why` in them"

pytestmark = pytest.mark.skipif(not COMMITTED.is_file(), reason="no table is committed yet; `make mutate` writes it")


def listed(name: str) -> set[str]:
    """The exceptions of a file, one a line; none where there is no such file."""
    path = HERE / name
    return set(path.read_text(encoding="utf-8").split()) if path.is_file() else set()


def test_no_rate_falls_and_a_better_one_is_written_down() -> None:
    known = json.loads((HERE / "rates.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, float]] = {}
    for (paper, family), row in sorted(counted(Table.read(COMMITTED).all()).items()):
        found.setdefault(paper, {})[family] = round(share(row), 3)
    rates = {(paper, family): rate for paper, of in known.items() for family, rate in of.items()}
    here = {(paper, family): rate for paper, of in found.items() for family, rate in of.items()}
    assert here.keys() == rates.keys(), f"rates.json should hold {json.dumps(found)}"
    low = {key: (here[key], rates[key]) for key in here if here[key] < rates[key]}
    assert not low, "less is noticed than before"
    high = {key: here[key] for key in here if here[key] > rates[key] + SLACK}
    assert not high, "more is noticed than rates.json says; raise it"


@pytest.mark.parametrize(
    ("name", "rule", "cure"),
    [
        ("unread.txt", rules.unread, "explicit bounds that no check reads"),
        ("unbound.txt", rules.unbound, UNBOUND),
    ],
)
def test_exceptions_only_shrink(name: str, rule: Callable[[Catalogue, rules.Reads], list[str]], cure: str) -> None:
    found, allowed = set(rule(collected(), Table.read(COMMITTED).reads)), listed(name)
    assert not found - allowed, f"{cure}: {' '.join(sorted(found - allowed))}"
    assert not allowed - found, f"strike from {name}: {' '.join(sorted(allowed - found))}"


def test_every_seeded_bug_is_noticed_and_no_look_alike_is_flagged() -> None:
    fates = {trial.key: trial.fate for trial in Table.read(COMMITTED).all() if trial.family == "seeded"}
    assert not {key: fate for key, fate in fates.items() if fate not in (*NOTICED, *CORRECT)}
