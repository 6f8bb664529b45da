"""A root of its own: a claim that is measured and typed again, one that is read and ignored, and one alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpcheck.engine import catalogue
from dpcheck.engine.mutate import claims
from dpcheck.engine.mutate.mutation import Trial
from dpcheck.engine.mutate.trials import Trials

Make = Callable[..., Path]
BOUNDS = """
import sympy as sp
from dpcheck.claims import Paper
from dpcheck.symbols import L, n

TOY = Paper(key="toy", title="A toy paper", authors="A. Author", reference="Proc. 2024")
tight = TOY.claim("toy/lem-1", "Lemma 1", "At most 2L/√n.", kind="lemma", relation="<=", explicit=2 * L / sp.sqrt(n))
told = TOY.claim("toy/lem-2", "Lemma 2", "At most 3L.", kind="lemma", relation="<=", explicit=3 * L)
alone = TOY.claim("toy/lem-3", "Lemma 3", "At most 5L.", kind="lemma", relation="<=", explicit=5 * L)
"""
SECTIONS = "# Toy\n\n" + "".join(f"## lem-{i}\n\nSo.\n\n" for i in (1, 2, 3))
AUDITS = """
import dpcheck as dp
from dpcheck.checks import check
from dpcheck.verdicts import Outcome, Verdict, holds
from dpcheck.algorithms.toy_of_a_test import value
from .cases import SIZE

def judged(left, right):
    outcome = Outcome("holds" if left <= right else "differs")
    return Verdict(outcome=outcome, reason=f"{left} and {right}", evidence="exact", numbers={"left": left})

@check("toy/lem-1", "accuracy")
def measured(context):
    return judged(value(SIZE) * 1.9, dp.claim("toy/lem-1").evaluate(L=1.0, n=SIZE))

@check("toy/lem-1", "transcription")
def typed_again(context):
    return judged(abs(2 / SIZE ** 0.5 - dp.claim("toy/lem-1").evaluate(L=1.0, n=SIZE)), 1e-9)

@check("toy/lem-2", "risk")
def reads_and_ignores(context):
    dp.claim("toy/lem-2").evaluate(L=1.0)
    return holds("it is small", "exact")

@check("toy/lem-3", "risk")
def never_asks(context):
    return judged(1.0, 5.0)

@check("toy/lem-3", "risk")
def says_why(context):
    # unbound: it speaks of the sign alone
    return judged(0.0, 5.0)

@check("toy/lem-3", "risk")
def wrong_from_the_start(context):
    return judged(7.0, dp.claim("toy/lem-3").evaluate(L=1.0))

@check("toy/lem-1", "privacy", expect="holds")
def within_reach(context):
    return judged(value(SIZE), 0.1 * dp.claim("toy/lem-2").evaluate(L=1.0))

@check("toy/lem-3", "runtime")
def breaks(context):
    if dp.claim("toy/lem-" + str(2)).evaluate(L=1.0) != 3:
        raise KeyError("a crash of ours")
    return holds("it runs", "exact")
"""
CODE = """
def value(size):
    return size ** -0.5

def unused(size):
    return size + 1
"""


def laid_out(project: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A root whose checks use a module that stands for one of the package's algorithms."""
    import dpcheck.algorithms

    folder = tmp_path / "algorithms"
    folder.mkdir()
    (folder / "toy_of_a_test.py").write_text(CODE)
    monkeypatch.setattr(dpcheck.algorithms, "__path__", [*dpcheck.algorithms.__path__, str(folder)])
    files = {
        "bounds/toy.py": BOUNDS,
        "bounds/toy.md": SECTIONS,
        "audits/toy.py": AUDITS,
        "audits/cases.py": "SIZE = 25\n",
    }
    yield project(files)
    sys.modules.pop("dpcheck.algorithms.toy_of_a_test", None)


def watched(root: Path) -> Trials:
    """All checks, watched; what was found before is in the root."""
    found = catalogue.load(root)
    assert not found.errors
    folder = root.parent / "algorithms"
    trials = Trials(found, list(found.checks.values()), kept=root / "kept.jsonl", folders=[folder])
    trials.trace()
    return trials


def of(trials: Trials, label: str) -> dict[str, Trial]:
    found = list(claims.of_claim(trials.catalogue.claims[label]))
    return {trial.said: trial for trial in trials.run(found)}
