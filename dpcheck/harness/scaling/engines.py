"""Engines: the risk of one run on one instance, by drawn records or by whatever reaches further.

An engine that draws nothing is admitted for a plan once it agrees with drawn records on that plan, at sizes that both
reach (`admitted`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import scipy

from dpcheck.checks import Context
from dpcheck.harness import risk
from dpcheck.interfaces import Algorithm, Array, Problem
from dpcheck.verdicts import Verdict, consistent, undecided

ANY = 1e300
"""Oracle calls of a drawn run: what costs too much is refused by its number of trials and atoms, not here."""
ROUNDS = 3
"""Halvings of the grid around the worst member: it moves through the class with the size, and would ripple else."""


@dataclass(frozen=True)
class Instance:
    """An algorithm on one member of a class at one size; `at` are the values of the bound's symbols, by name."""

    algorithm: Algorithm[Any]
    work: Any
    problem: Problem
    n: int
    at: Mapping[str, float]

    def running(self, algorithm: Algorithm[Any]) -> Instance:
        """The same instance under another algorithm: a mutant."""
        return replace(self, algorithm=algorithm)


@dataclass(frozen=True)
class Risk:
    """A mean, or a quantile, of the excess risk; error and degrees of freedom are 0 where nothing was drawn."""

    value: float
    error: float = 0.0
    degrees: int = 0


class Engine(Protocol):
    """Gives the risk of an instance."""

    @property
    def quantile(self) -> float | None:
        """Which quantile of the excess risk; None for its mean."""
        ...

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        """The risk, from the stream of that seed and key; a pilot may be cheaper."""
        ...


@runtime_checkable
class SharedNoise(Engine, Protocol):
    """Runs several members at once under the same noise, so that none of them is lucky."""

    @property
    def rounds(self) -> int:
        """Halvings of the grid around the worst member; one where it is an end of its class at every size."""
        ...

    def together(self, instances: Sequence[Instance], seed: int, *key: Any, pilot: bool = False) -> list[Risk]:
        """The risks of instances of one problem, in their order."""
        ...


@dataclass(frozen=True)
class Drawn:
    """Runs of the algorithm itself on drawn records, or on counts of atoms where the workload draws those.

    Attributes:
        trials: of the worst member, fresh after a pilot of `pilots` trials a member.
        quantile: of the excess risk; None for the mean.
    """

    trials: int
    pilots: int = 40
    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        trials = self.pilots if pilot else self.trials
        values = risk.excess_risks(
            instance.algorithm, instance.work, instance.problem, instance.n, trials, seed, *key,
            "pilot" if pilot else "fresh", gradients=ANY,
        )  # fmt: skip
        return statistic(values, self.quantile)


def statistic(values: Array, quantile: float | None) -> Risk:
    """The mean of drawn risks, or a quantile, with its error."""
    trials = len(values)
    if quantile is None:
        return Risk(float(values.mean()), float(values.std(ddof=1) / math.sqrt(trials)), trials - 1)
    by_name = risk.quantile_summary(values, quantile, 1.0)
    return Risk(by_name["mean"], by_name["se"], trials - 1)


def admitted(engine: Engine, instance: Instance, trials: int, context: Context) -> Verdict:
    """Whether an engine that draws nothing agrees with drawn records, as far as so many trials can tell."""
    exact = engine(instance, context.seed)
    drawn = Drawn(trials, quantile=engine.quantile)(instance, context.seed, context.label, context.name, context.cell)
    allowed = float(scipy.stats.t.isf(context.failure_probability / 2, trials - 1)) * drawn.error
    apart = abs(exact.value - drawn.value)
    said = (
        f"{exact.value:.6g} where {trials:,} drawn runs give {drawn.value:.6g}: {apart / drawn.error:.2g} standard "
        "errors apart"
    )
    fields: dict[str, Any] = {
        "numbers": {"engine": exact.value, "drawn": drawn.value, "standard error": drawn.error},
        "failure_probability": context.failure_probability,
        "severity": apart / allowed,
    }
    if apart > allowed:
        return undecided(f"{said}; the engine is not admitted for this plan", "sampled", **fields)
    seen = f"a difference of {allowed / drawn.value:.2g} of the risk"
    return consistent(said, "sampled", notices=seen, **fields)
