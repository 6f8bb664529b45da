"""Verifiers stand alone, beside the checks of their paper, and every committed witness has one."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest
from checkout import ROOT, verifiers_of

from dpcheck import carried
from dpcheck.witnesses import verifier

FILES = [path for paths in carried.verifiers_in(ROOT / "audits").values() for path in paths]
KINDS = {json.loads(path.read_text())["kind"] for path in (ROOT / "reports" / "witnesses").rglob("*.json")}


def others(text: str) -> list[str]:
    """The modules that a file imports which are neither of the standard library, nor mpmath, nor the kernel."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append("." * node.level + (node.module or ""))
    allowed = (*sys.stdlib_module_names, "mpmath")
    return [name for name in found if name.partition(".")[0] not in allowed and not is_kernel(name)]


def is_kernel(name: str) -> bool:
    return name == "dpcheck.witnesses" or name.startswith("dpcheck.witnesses.")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_verifier_stands_alone(path: Path) -> None:
    assert not others(path.read_text(encoding="utf-8")), "recompute it from the parameters: no algorithm, no neighbour"


@pytest.mark.parametrize(
    "line",
    [
        "import numpy",
        "from .cases import problem",
        "from . import cases",
        "from dpcheck.algorithms.tsybakov import clipped",
        "import dpcheck as dp",
        "from dpcheck import claims",
        "def thm_1():\n    from scipy import special",
    ],
)
def test_what_it_must_not_import_is_found(line: str) -> None:
    assert len(others(f"import math\nfrom mpmath import mp\nfrom dpcheck.witnesses import Violation\n{line}\n")) == 1


def test_there_are_verifiers_of_five_papers() -> None:
    assert {path.parent.name for path in FILES} == {
        "l1_geometry", "lp_spaces", "pure_heavy_tails", "tsybakov", "user_level",
    }  # fmt: skip


@pytest.mark.parametrize("paper", sorted({path.parent.name for path in FILES}))
def test_two_files_of_a_paper_have_no_name_in_common(paper: str) -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in FILES if path.parent.name == paper]
    functions = [
        node.name
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    assert sorted(functions) == sorted(vars(verifiers_of(paper)))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_kind_of_a_committed_witness_has_a_verifier(kind: str) -> None:
    assert callable(verifier(kind))
