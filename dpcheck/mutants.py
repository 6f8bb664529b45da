"""Seeded bugs: broken mechanisms that some check must refute, and correct look-alikes that none may.

A module under `tests/mutants/` exposes `Mutant` instances at module level; `dpcheck mutants` collects and runs them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpcheck.checks import Context
from dpcheck.errors import InvalidInput
from dpcheck.privacy import Guarantee
from dpcheck.verdicts import Outcome


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


def by_audit(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    claim: Guarantee,
    *,
    exact_epsilon: float | None = None,
    minimum: Callable[[float], int | None] | None = None,
    smoke: int = 5_000,
    standard: int = 30_000,
    **options: Any,
) -> Callable[[Context], Kill]:
    """A kill by `dp.audit` in fixed mode.

    Args:
        minimum: failure probability -> fewest samples of any test; None: unknown.
        smoke, standard: runs on each input at those sizes.
        options: further arguments of `dp.audit`.
    """

    def kill(context: Context) -> Kill:
        from dpcheck.auditing.audit import audit

        trials = int(context.scale(smoke, standard))
        result = audit(
            mechanism,
            data,
            neighbour,
            claim,
            trials=trials,
            failure_probability=context.failure_probability,
            seed=context.seed,
            **options,
        )
        return Kill(
            killed=result.outcome is Outcome.REFUTED,
            by="audit",
            samples=2 * trials,
            minimum=None if minimum is None else minimum(context.failure_probability),
            exact_epsilon=exact_epsilon,
            claim=str(claim),
        )

    return kill


def by_number(
    by: str, claim: str, found: Callable[[], float], allowed: float, *, exact_epsilon: float | None = None
) -> Callable[[Context], Kill]:
    """A kill by arithmetic, without a sample: `found()` exceeds what is allowed (beyond rounding)."""

    def kill(_: Context) -> Kill:
        value = found()
        return Kill(
            killed=value > allowed * (1 + 1e-9) + 1e-12,
            by=by,
            samples=0,
            minimum=0,
            exact_epsilon=value if exact_epsilon is None and by == "exact law" else exact_epsilon,
            claim=claim,
        )

    return kill


def by_attack(run: Callable[[Context], Any], claim: str) -> Callable[[Context], Kill]:
    """A kill by one of `dpcheck.auditing.attacks`: `run(context)` returns its `Finding`."""

    def kill(context: Context) -> Kill:
        finding = run(context)
        return Kill(
            killed=bool(finding.found),
            by=f"{finding.attack} attack",
            samples=int(finding.samples),
            exact_epsilon=math.inf,
            claim=claim,
        )

    return kill
