"""Whatever a check does, the others of its run get their verdicts, and the store stays readable."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpcheck.engine import catalogue, cells
from dpcheck.engine.run import CheckRunner, RunResult
from dpcheck.engine.store import Store, read_failures, read_records

Make = Callable[..., Path]

ROGUES = """
from dpcheck.checks import check
from dpcheck.verdicts import Verdict, holds, undecided

class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no words")

class Deep(BaseException):
    pass

@check("toy/lem-2", kind="symbolic")
def says_a_number(c):
    return holds(3.14, "exact")

@check("toy/lem-2", kind="symbolic")
def says_another_evidence(c):
    return holds("so it is", "Sampled")

@check("toy/lem-2", kind="symbolic")
def raises_what_cannot_be_shown(c):
    raise Silent

@check("toy/lem-2", kind="symbolic")
def raises_a_surrogate(c):
    raise ValueError("\\udc80 \\x1b[2J")

@check("toy/lem-2", kind="symbolic")
def raises_from_the_base(c):
    raise Deep("down")

def concluded_badly(rows, failure_probability):
    raise Deep("at the end")

@check("toy/lem-2", kind="symbolic", conclude=concluded_badly)
def concludes_from_the_base(c):
    return {"x": 1}

def in_words(rows, failure_probability):
    return "so it is"

@check("toy/lem-2", kind="symbolic", conclude=in_words)
def concludes_in_words(c):
    return {"x": 1}

def with_an_object(rows, failure_probability):
    return holds("so it is", "exact", numbers={"what": object()})

@check("toy/lem-2", kind="symbolic", conclude=with_an_object)
def concludes_with_an_object(c):
    return {"x": 1}

@check("toy/lem-2", kind="symbolic")
def has_too_long_a_number(c):
    return {"x": 10**5000}

@check("toy/lem-2", kind="risk")
def spends_too_much(c):
    return undecided("", "sampled", failure_probability=1e-3)

@check("toy/lem-2", kind="symbolic")
def samples_where_nobody_does(c):
    return holds("", "sampled", failure_probability=1e-9)

@check("toy/lem-2", kind="symbolic")
def prints(c):
    print("{noise}")
    return holds("printed", "exact")

@check("toy/lem-2", kind="symbolic")
def says_a_surrogate(c):
    return holds("\\udc80\\x1b]0;x\\x07\\nforged", "exact", numbers={"\\udc81": "\\udc82"})

@check("toy/lem-2", kind="symbolic")
def behaves(c):
    return holds("well", "exact")
"""
PLACES = """
import numpy as np
import dpcheck as dp
from dpcheck.checks import check

def short(data, rng, trials):
    return data[len(data)]

@check("toy/lem-2", kind="symbolic")
def of_a_mechanism(c):
    return c.audit(short, np.zeros(9), np.eye(9)[0], dp.PureDP(1.0))

@check("toy/lem-2", kind="symbolic")
def of_a_value(c):
    return dp.PureDP(-1)

@check("toy/lem-2", kind="symbolic")
def of_its_own(c):
    return 1 / 0
"""
FINE = ["behaves", "prints", "says_a_surrogate"]


def run(root: Path, **options: int) -> RunResult:
    found = catalogue.load(root)
    assert found.errors == []
    with Store(root / ".dpcheck" / "store.db") as store:
        return CheckRunner(found, found.select(()), store, **options).run()


@pytest.mark.parametrize("workers", [1, 2])
def test_the_others_get_their_verdicts(project: Make, workers: int) -> None:
    root = project({"audits/toy.py": ROGUES})
    result = run(root, workers=workers)
    assert sorted(record.check.partition("::")[2] for record in result.records) == FINE
    said = {failure.key.check.partition("::")[2]: failure.message for failure in result.failures}
    assert len(said) == 11
    assert "a verdict's reason is a sentence, got 3.14" in said["says_a_number"]
    assert "unknown evidence 'Sampled'" in said["says_another_evidence"]
    assert said["raises_what_cannot_be_shown"].startswith("Silent: an exception that cannot be shown")
    assert r"\udc80 \x1b[2J" in said["raises_a_surrogate"]
    assert said["raises_from_the_base"].startswith("Deep: down")
    assert said["concludes_from_the_base"].startswith("Deep: at the end")
    assert "`conclude` returned 'so it is'; return a Verdict" in said["concludes_in_words"]
    assert "declares 5e-07" in said["spends_too_much"]
    assert "a symbolic check never does" in said["samples_where_nobody_does"]
    # What is stored can be read again, and the next run says the same.
    store = root / ".dpcheck" / "store.db"
    assert len(read_records(store)) == 3
    assert len(read_failures(store)) == 11
    again = run(root)
    assert [r.verdict for r in again.records] == [r.verdict for r in result.records]
    (odd,) = (r.verdict for r in again.records if r.check.endswith("says_a_surrogate"))
    assert odd.reason == r"\udc80\x1b]0;x\x07\nforged"
    assert dict(odd.numbers) == {r"\udc81": r"\udc82"}


def test_an_error_names_one_place_and_that_is_the_checks_own(project: Make) -> None:
    """No line of dpcheck stands behind what a mechanism raised, or where dpcheck refused a value."""
    failures = run(project({"audits/toy.py": PLACES})).failures
    said = {failure.key.check.partition("::")[2]: failure.message for failure in failures}
    places = {name: re.findall(r"\(([a-z]+\.py:\d+)\)", text) for name, text in said.items()}
    assert places == {"of_a_mechanism": ["toy.py:7"], "of_a_value": ["toy.py:15"], "of_its_own": ["toy.py:19"]}


def test_a_long_exception_is_told_by_its_head_and_tail() -> None:
    told = cells.said(ValueError(f"begun {5000 * 'x'} end"))
    assert "begun xxx" in told
    assert "xxx end" in told
    assert "[…3,610 characters left out…]" in told
    assert "left out" not in cells.said(ValueError(1400 * "x"))


def test_what_a_check_prints_is_not_in_the_json(project: Make) -> None:
    root = project({"audits/toy.py": ROGUES})
    done = subprocess.run(
        [sys.executable, "-m", "dpcheck", "run", "--root", str(root), "--store", str(root / "s.db"), "--json"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert {error["check"].partition("::")[0] for error in json.loads(done.stdout)["errors"]} == {"toy/lem-2"}
    assert "{noise}" in done.stderr
