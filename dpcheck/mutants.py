"""Seeded bugs: broken mechanisms that some check must refute, and correct look-alikes that none may.

`mutants.py` beside the checks of a paper exposes `Mutant` instances at module level, as do the files under
`tests/mutants/`, for mechanisms of no paper; `dpcheck mutants` collects and runs them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpcheck.checks import Context
from dpcheck.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class Kill:
    """What one check made of one mutant.

    Attributes:
        killed: whether the bug was found.
        by: the check or tool that ran ("audit", "accountant", "exact law", "replayed-noise attack", …).
        samples: mechanism runs (both inputs together) that it took; 0 when nothing was sampled.
        minimum: fewest samples that any valid test could do with (the limit of theory), or None when not computable.
        exact_epsilon: privacy of the mutant, when it can be computed: inf when it is not private at all.
        claim: the promise that the mutant makes, in words.
    """

    killed: bool
    by: str
    samples: int
    claim: str
    minimum: int | None = None
    exact_epsilon: float | None = None


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One seeded bug, or one look-alike that is correct.

    Attributes:
        name: unique over the catalogue ("laplace-half-sensitivity").
        about: label of the algorithm that it mutates; "" for a mechanism of no paper.
        bug: one sentence: what was changed, or why the look-alike is correct after all.
        kill: runs the check that must find the bug, at the size and the failure probability of the context.
        lookalike: correct: being flagged is a false alarm.
    """

    name: str
    bug: str
    kill: Callable[[Context], Kill]
    about: str = ""
    lookalike: bool = False

    def __post_init__(self) -> None:
        if not self.name or not self.bug:
            raise InvalidInput(f"a mutant needs a name and one sentence on its bug, got {self.name!r}, {self.bug!r}")
