"""A terminal that cannot show Unicode: what it cannot show is a question mark, and nothing fails or is kept for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SUMS = """
import sympy as sp
from dpcheck.claims import Paper
from dpcheck.symbols import D, L, n

TOY = Paper(key="toy", title="A toy paper", authors="A. Author", reference="Proc. 2024")
i = sp.Symbol("i", integer=True)
risk = TOY.claim(
    "toy/thm-1", "Theorem 1", "The excess risk is at most LD/√n.", kind="theorem", quantity="excess risk",
    relation="<=", order=L * D / sp.sqrt(n) + sp.Sum(1 / i, (i, 1, n)), about=("toy/alg-1",),
)
private = TOY.claim("toy/lem-2", "Lemma 2", "The output is ε-DP.", kind="lemma")
"""


def said(root: Path, encoding: str, *arguments: str) -> bytes:
    """What a command prints where stdout has an encoding."""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": encoding, "DPCHECK_CACHE_DIR": str(root / "cache")}
    command = [sys.executable, "-m", "dpcheck", *arguments]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    assert b"internal error" not in done.stderr
    return done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_cannot_be_shown_is_replaced(project, encoding: str) -> None:
    root = project({"bounds/toy.py": SUMS})
    told = said(root, encoding, "show", "toy/thm-1").decode(encoding)
    assert "LD/?n" in told
    assert "excess risk ? (up to a constant)" in told
    assert said(root, encoding, "list").decode(encoding).startswith("label")
    assert "The output is ?-DP" in said(root, encoding, "show", "toy/lem-2").decode(encoding)


def test_json_says_all_the_same(project) -> None:
    root = project({"bounds/toy.py": SUMS})
    told = said(root, "ascii", "show", "toy/thm-1", "--json")
    assert told.isascii()
    assert json.loads(told) == json.loads(said(root, "utf-8", "show", "toy/thm-1", "--json"))
    assert json.loads(told)["statement"] == "The excess risk is at most LD/√n."


def test_what_is_kept_was_drawn_in_unicode(project) -> None:
    """Whoever asked first."""
    root = project({"bounds/toy.py": SUMS})
    said(root, "ascii", "show", "toy/thm-1")
    assert "╱" in said(root, "utf-8", "show", "toy/thm-1").decode()
