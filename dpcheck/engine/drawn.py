"""Formulas in Unicode, whatever the terminal can show: SymPy looks at that when it is imported, and goes by it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from sympy.printing.pretty.pretty_symbology import pretty_use_unicode

from dpcheck import printing


def pretty(expression: Any) -> list[str]:
    """The lines of an expression."""
    with _in_unicode():
        return printing.pretty(expression)


def inline(expression: Any) -> str:
    """An expression on one line."""
    with _in_unicode():
        return printing.inline(expression)


@contextlib.contextmanager
def _in_unicode() -> Iterator[None]:
    before = pretty_use_unicode(True)
    try:
        yield
    finally:
        pretty_use_unicode(before)
