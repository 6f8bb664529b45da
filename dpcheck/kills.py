"""How seeded bugs are killed: by an audit, by arithmetic, by an attack. `dpcheck mutants` runs them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from dpcheck.auditing.audit import AuditResult, audit
from dpcheck.auditing.limits import fewest_of_any, fewest_samples
from dpcheck.checks import Context
from dpcheck.errors import InvalidInput
from dpcheck.mutants import Kill
from dpcheck.privacy import ApproxDP, Guarantee
from dpcheck.verdicts import Outcome

__all__ = ["POWER", "AuditKill", "kill_by_attack", "kill_by_audit", "kill_by_number"]

POWER = 0.95
"""With which seeded bugs are to be found."""
Laws = tuple[ArrayLike, ArrayLike]
Fewest = Callable[[float, float], int | None]


@dataclass(frozen=True, kw_only=True)
class AuditKill:
    """A kill by `dp.audit` in fixed mode; `kill_by_audit` makes it, and says what the attributes are."""

    mechanism: Callable[..., Any]
    data: Any
    neighbour: Any
    claim: Guarantee
    exact_epsilon: float | None = None
    laws: Callable[[], Laws] | None = None
    minimum: Fewest | None = None
    smoke: int = 5_000
    standard: int = 30_000
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.laws is not None and not isinstance(self.claim, ApproxDP):
            raise InvalidInput(f"laws say what an (epsilon, delta) claim takes; give the minimum of {self.claim}")

    @property
    def computable(self) -> bool:
        """Whether `fewest` knows what the best test of this very pair needs."""
        return self.laws is not None or self.minimum is not None

    def fewest(self, failure_probability: float, power: float = POWER) -> int | None:
        """Runs, both inputs together, of the best test of all with this power; None: not computable, or no bug."""
        if self.laws is None:
            return None if self.minimum is None else self.minimum(failure_probability, power)
        assert isinstance(self.claim, ApproxDP)
        p, q = self.laws()
        return fewest_samples(p, q, self.claim.epsilon, self.claim.delta, failure_probability, power)

    def audit(self, trials: int, failure_probability: float, seed: int) -> AuditResult:
        """The audit, with any number of runs on each input."""
        return audit(
            self.mechanism,
            self.data,
            self.neighbour,
            self.claim,
            trials=trials,
            failure_probability=failure_probability,
            seed=seed,
            **self.options,
        )

    def __call__(self, context: Context) -> Kill:
        alpha = context.failure_probability
        least = self.fewest(alpha)
        trials = max(int(context.scale(self.smoke, self.standard)), 2 * (least or 0))
        if not self.computable and self.exact_epsilon is not None and isinstance(self.claim, ApproxDP):
            least = fewest_of_any(self.exact_epsilon, self.claim.epsilon, self.claim.delta, alpha, POWER)
        return Kill(
            killed=self.audit(trials, alpha, context.seed).outcome is Outcome.REFUTED,
            by="audit",
            samples=2 * trials,
            minimum=least,
            exact_epsilon=self.exact_epsilon,
            claim=str(self.claim),
        )


def kill_by_audit(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    claim: Guarantee,
    *,
    exact_epsilon: float | None = None,
    laws: Callable[[], Laws] | None = None,
    minimum: Fewest | None = None,
    smoke: int = 5_000,
    standard: int = 30_000,
    **options: Any,
) -> AuditKill:
    """A kill by `dp.audit` in fixed mode.

    Args:
        exact_epsilon: privacy of the mechanism on this pair, at the delta of an (epsilon, delta) claim.
        laws: () -> both laws of the output on cells fine enough, for an (epsilon, delta) claim: what the fewest samples
            of any test of this pair follow from.
        minimum: the same of another claim: (failure probability, power) -> fewest samples. Without either, what is
            known from `exact_epsilon` alone, if that is given for an (epsilon, delta) claim.
        smoke, standard: runs on each input at those sizes; more when four times the minimum for power 0.95 is.
        options: further arguments of `dp.audit`.
    """
    return AuditKill(
        mechanism=mechanism,
        data=data,
        neighbour=neighbour,
        claim=claim,
        exact_epsilon=exact_epsilon,
        laws=laws,
        minimum=minimum,
        smoke=smoke,
        standard=standard,
        options=options,
    )


def kill_by_number(
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


def kill_by_attack(run: Callable[[Context], Any], claim: str) -> Callable[[Context], Kill]:
    """A kill by one of `dpcheck.auditing.attacks`: `run(context)` returns its `Finding`."""

    def kill(context: Context) -> Kill:
        finding = run(context)
        return Kill(
            killed=bool(finding.found),
            by=f"{finding.attack} attack",
            samples=int(finding.samples),
            exact_epsilon=math.inf if finding.found else None,
            claim=claim,
        )

    return kill
