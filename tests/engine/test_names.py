"""Which files a definition reaches by the names in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcheck.engine.names import Reader

CHECKS = """
from . import whole
from .cases import double, half as part, unused
from .witnesses import broken

LEVEL = double(1)

try:
    from .scaling import slope as steep
finally:
    DONE = True
if TYPE_CHECKING:
    from .unread import nothing


def first():
    return LEVEL


@marked(by=part)
def second():
    return broken()


def third():
    return whole.anything


def fourth(work):
    return work.double + len("double")


first()
"""
CASES = """
import math

from .scaling import slope
from ..elsewhere import far

def double(x): return 2 * x
def half(x): return slope + far
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "paper"
    inside.mkdir()
    (tmp_path / "elsewhere.py").write_text("far = 1\n")
    for name, text in {
        "checks": CHECKS,
        "cases": CASES,
        "scaling": "slope = 1\n",
        "whole": "def anything(): pass\n",
    }.items():
        (inside / f"{name}.py").write_text(text)
    (inside / "witnesses.py").write_text("def broken(): pass\n")
    return inside


@pytest.mark.parametrize(
    ("word", "files"),
    [
        ("def first", {"checks", "cases"}),
        ("@marked", {"checks", "cases", "scaling", "witnesses"}),
        ("def second", {"checks", "cases", "scaling", "witnesses"}),
        ("def third", {"checks", "whole"}),
        ("def fourth", {"checks"}),
        ("LEVEL =", {"checks", "cases"}),
    ],
)
def test_a_definition_reaches_what_it_names(folder: Path, word: str, files: set[str]) -> None:
    line = 1 + next(row for row, text in enumerate(CHECKS.splitlines()) if text.startswith(word))
    assert {file.stem for file in Reader().reached(folder / "checks.py", line)} == files


def test_a_line_of_no_definition_stands_for_its_file(folder: Path) -> None:
    assert {file.stem for file in Reader().reached(folder / "checks.py", 1)} == {
        "checks", "cases", "scaling", "whole", "witnesses"
    }  # fmt: skip
