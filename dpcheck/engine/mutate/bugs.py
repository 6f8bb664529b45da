"""Seeded bugs as mutants: their patches are made in a process of its own, and registered checks must notice."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from pathlib import Path

from dpcheck.engine.mutate.mutation import Mutation, lines_of
from dpcheck.engine.sources import Snapshot
from dpcheck.mutants import Seeded


def of_bugs(bugs: Iterator[Seeded]) -> Iterator[Mutation]:
    """Each as a mutant, which is another one after an edit of its file, or of what that imports."""
    snapshot = Snapshot()
    for bug in bugs:
        file = Path(inspect.getfile(bug.function)).resolve()
        closure = sorted(snapshot.facts(each).digest for each in snapshot.closure(file))
        yield Mutation(
            "seeded",
            bug.label,
            bug.name,
            bug.bug,
            bug.apply,
            lines=tuple(lines_of(patch.original.__code__) for patch in bug.patches),
            lookalike=bug.lookalike,
            state=hashlib.sha256(" ".join(closure).encode()).hexdigest(),
        )
