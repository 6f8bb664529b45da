"""What was run, in words, for the caption of a figure: the instance, its sizes, and how often."""

from __future__ import annotations

from typing import Any

from dpcheck.checks import Check
from dpcheck.engine.records import Record
from dpcheck.report.tables import number

_MOST = 6
"""Values of an axis that are listed; of more the first and the last."""


def of(check: Check, record: Record) -> str:
    """ "What was run: the last iterate on medians; n = 64 and 256, d = 5; 400 trials at each; at standard size" """
    size: Any = record.size
    cells = check.cells(size)
    axes = {name: _distinct(cell[name] for cell in cells) for name in cells[0]}
    where = ", ".join(text for name, values in axes.items() if (text := _axis(name, values)))
    trials = record.verdict.numbers.get("trials")
    often = f"{number(trials)} trials{' at each' if len(cells) > 1 else ''}" if trials and trials != 1 else ""
    parts = [check.doc.rstrip("."), where, often, f"at {record.size} size"]
    return f"What was run: {'; '.join(part for part in parts if part)}."


def _distinct(values: Any) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if value not in kept:
            kept.append(value)
    return kept


def _axis(name: str, values: list[Any]) -> str:
    """ "n = 64 and 256"; nothing of objects that have no words."""
    if not all(isinstance(value, str | int | float) for value in values):
        return ""
    told = [value if isinstance(value, str) else number(value) for value in values]
    if all(" = " in text for text in told):
        return " or ".join(told)
    if len(told) > _MOST:
        return f"{name} = {told[0]} to {told[-1]} ({len(told)} values)"
    return f"{name} = {' and '.join([', '.join(told[:-1]), told[-1]] if told[:-1] else told)}"
