"""The content of this checkout for the tests of it: one catalogue a process, which imports what is asked for."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dpcheck import carried
from dpcheck.checks import Check
from dpcheck.claims import Claim
from dpcheck.engine import catalogue, collect, fetching, layout
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.collect import ContentFile
from dpcheck.mutants import Seeded
from dpcheck.verdicts import Verdict, combine

ROOT = Path(__file__).resolve().parents[1]


@functools.cache
def collected() -> Catalogue:
    """The catalogue; to look at all of a table, or at `errors` after that, is to load and validate everything."""
    return fetching.lazily(layout.find(ROOT))


def claims_of(paper: str) -> dict[str, Claim]:
    """The claims of a paper, from its own files."""
    return {c.label: c for c in collected().naming([paper]) if c.label.startswith(f"{paper}/")}


def seeded_bugs(paper: str) -> list[Seeded]:
    """The seeded bugs and look-alikes of a paper."""
    files = (file for file in collect.bugs(ROOT / "audits") if file.path.parent.name == paper)
    return [bug for file in files for bug in collect.content_of(file, (Seeded,))]


def verifiers_of(paper: str) -> SimpleNamespace:
    """The verifiers of a paper's witnesses, by name."""
    audits = ROOT / "audits"
    modules = [collect.imported(ContentFile(audits, path)) for path in carried.verifiers_in(audits)[paper]]
    return SimpleNamespace(**{name: getattr(module, name) for module in modules for name in module.__all__})


def errors() -> list[str]:
    """What is amiss in the whole content."""
    found = collected()
    len(found.claims)  # everything
    return [str(error) for error in found.errors]


@dataclass(frozen=True)
class ChecksOf:
    """The checks of a paper, for tests that break what they rest on; an item is a label without the paper."""

    paper: str

    def check(self, item: str, name: str) -> Check:
        return collected().checks[f"{self.paper}/{item}::{name}"]

    def names_of(self, item: str, name: str, helper: str = "") -> dict[str, Any]:
        """The names that a check's function looks up, or those of a helper that it shares: what a test breaks."""
        found: dict[str, Any] = inspect.unwrap(self.check(item, name).function).__globals__
        return found[helper].__globals__ if helper else found

    def run(self, item: str, name: str, **cell: Any) -> Verdict:
        """One cell at the smallest size, or all of them."""
        found = self.check(item, name)
        with catalogue.in_force(collected()):
            measured = [found.measure(one, "smoke", 0) for one in ([cell] if cell else found.cells("smoke"))]
        return combine([each for each in measured if isinstance(each, Verdict)])
