"""What is mutated, and what notices, as it is now: where that is another thing, what was found speaks of the past."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from dpcheck.engine import sources
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.mutate.slices import Slices

LENGTH = 12
"""Digits of a state: enough to tell one edit from another, and a table that can be read."""


class States:
    """Digests of targets and checks of a catalogue; "" of those that there are no more."""

    def __init__(self, catalogue: Catalogue, slices: Slices | None = None) -> None:
        self._catalogue, self._slices = catalogue, slices or Slices(catalogue)
        self._known: dict[tuple[str, str], str] = {}

    def of(self, family: str, target: str) -> str:
        """Of a claim its formula; of a line its function, or class; of a null algorithm its module; of a bug, both."""
        if (family, target) not in self._known:
            parts = sorted(getattr(self, f"_{family}")(target))
            self._known[family, target] = short("\n".join(parts)) if parts else ""
        return self._known[family, target]

    def of_check(self, id: str) -> str:
        """All that it may ever touch."""
        check = self._catalogue.checks.get(id)
        return "" if check is None else short(self._slices.of(check).digest)

    def _claim(self, label: str) -> Iterator[str]:
        if label in self._catalogue.claims:
            yield sources.digest(self._catalogue.claims[label])

    def _code(self, target: str) -> Iterator[str]:
        name, _, function = target.partition(":")
        try:
            file = Path(inspect.getfile(import_module(name))).resolve()
        except ImportError:
            return
        yield from self._slices.digests(file, [function.partition(".")[0]])

    def _null(self, label: str) -> Iterator[str]:
        if label in self._catalogue.algorithms:
            code = self._catalogue.algorithms[label].execute.__code__
            yield from self._slices.digests(Path(code.co_filename).resolve())

    def _seeded(self, label: str) -> Iterator[str]:
        for bug in self._catalogue.seeded.values():
            if bug.label == label:
                functions: list[Any] = [bug.function, *(patch.original for patch in bug.patches)]
                for function in functions:
                    code = inspect.unwrap(function).__code__
                    name = code.co_qualname.partition(".")[0]
                    yield from self._slices.digests(Path(code.co_filename).resolve(), [name])


def short(text: str) -> str:
    """A digest that nobody takes for a number, as 12e345678901 is one."""
    return "#" + hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
