"""The algorithms by label: `dpcheck.algorithms.<paper>.ALGORITHMS`, and those of papers of one's own."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from dpcheck.engine import own
from dpcheck.engine.shipped import classes, modules, ours
from dpcheck.errors import InvalidInput, UnknownLabel
from dpcheck.labels import named

if TYPE_CHECKING:
    from dpcheck.interfaces import Algorithm


def algorithms() -> dict[str, type[Algorithm[Any]]]:
    """Label -> class of every algorithm.

    Raises:
        CollectionError: a paper's algorithms do not import.
    """
    return {label: kind for name in modules() for label, kind in classes(name).items()} | own.current().algorithms


def algorithm(label: str, **fields: Any) -> Algorithm[Any]:
    """An algorithm of a paper; `label@reading` sets the fields of that reading, `fields` override them.

    Raises:
        UnknownLabel: no algorithm of that label. InvalidInput: no such reading, or no such field.
    """
    statement, _, reading = named(label).partition("@")
    known = ours(statement.partition("/")[0])
    if statement not in known:
        known = algorithms()
    if statement not in known:
        raise UnknownLabel(statement, known)
    kind = known[statement]
    if reading and reading != "as-printed" and reading not in kind.readings:
        raise InvalidInput(
            f"{statement} has no reading {reading!r}; it has {', '.join(['as-printed', *kind.readings])}"
        )
    settings = {**kind.readings.get(reading, {}), **fields}
    names = fields_of(kind)
    unknown = [name for name in settings if name not in names]
    if unknown:
        raise InvalidInput(f"{statement} has no field {unknown[0]!r}; its fields are {', '.join(names) or 'none'}")
    return kind(**settings)


def fields_of(kind: type[Algorithm[Any]]) -> list[str]:
    """Names of an algorithm's fields: hyper-parameters, readings and dials."""
    return [f.name for f in dataclasses.fields(kind) if f.init] if dataclasses.is_dataclass(kind) else []
