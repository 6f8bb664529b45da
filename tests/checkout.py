"""The content of this checkout for the tests of it: one catalogue a process, which imports what is asked for."""

from __future__ import annotations

import functools
from pathlib import Path
from types import SimpleNamespace

from dpcheck import carried
from dpcheck.claims import Claim
from dpcheck.engine import collect, fetching, layout
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.collect import ContentFile
from dpcheck.mutants import Mutant, Seeded

ROOT = Path(__file__).resolve().parents[1]


@functools.cache
def collected() -> Catalogue:
    """The catalogue; to look at all of a table, or at `errors` after that, is to load and validate everything."""
    return fetching.lazily(layout.find(ROOT))


def claims_of(paper: str) -> dict[str, Claim]:
    """The claims of a paper, from its own files."""
    return {c.label: c for c in collected().naming([paper]) if c.label.startswith(f"{paper}/")}


def seeded_bugs(paper: str) -> list[Mutant]:
    """The seeded bugs and look-alikes of a paper that bring their own kill."""
    return [bug for file in _bugs_of(paper) for bug in collect.content_of(file, (Mutant,))]


def patches_of(paper: str) -> list[Seeded]:
    """The seeded bugs and look-alikes of a paper that registered checks must notice."""
    return [bug for file in _bugs_of(paper) for bug in collect.content_of(file, (Seeded,))]


def _bugs_of(paper: str) -> list[ContentFile]:
    return [file for file in collect.bugs(ROOT / "audits") if file.path.parent.name == paper]


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
