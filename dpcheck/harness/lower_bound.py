"""Lower bounds: the hard instance of the proof, its packing and moments, and algorithms run against it.

What may be said. HOLDS when every property of the construction comes out exactly and no algorithm with a true
guarantee beats the bound. REFUTED when a property fails, or such an algorithm beats it. The properties are computed
with rationals, or with 50 digits where roots and logarithms enter (`dpcheck.harness.hard_instances`); errors of optimal
tests are exact sums or linear programmes (`dpcheck.harness.optimal_tests`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import mpmath
import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.harness.hard_instances import DIGITS, Number, as_mpf
from dpcheck.interfaces import Array
from dpcheck.statistics.binomial import clopper_pearson
from dpcheck.statistics.means import refute_mean
from dpcheck.verdicts import Outcome, Verdict, consistent, holds, refuted, undecided


@dataclass(frozen=True)
class Fact:
    """One property of a construction: what was found, and what the proof needs.

    Attributes:
        tolerance: relative; 0 for rationals, a rounding unit where the construction itself is in floats.
    """

    what: str
    found: Number
    relation: Literal["<=", ">=", "=", "<", ">"]
    claimed: Number
    tolerance: float = 0.0

    @property
    def holds(self) -> bool:
        with mpmath.workdps(DIGITS):
            value, claimed = as_mpf(self.found), as_mpf(self.claimed)
            room = abs(claimed) * self.tolerance
            return bool(
                {
                    "<=": value <= claimed + room,
                    ">=": value >= claimed - room,
                    "=": abs(value - claimed) <= room,
                    "<": value < claimed,
                    ">": value > claimed,
                }[self.relation]
            )

    def __str__(self) -> str:
        words, claimed = (mpmath.nstr(as_mpf(value), 9) for value in (self.found, self.claimed))
        return f"{self.what} is {words}, needed {self.relation} {claimed}"


def must_exceed(
    exceeded: Mapping[str, tuple[int, int]],
    probability: float,
    failure_probability: float,
    *,
    who: str = "the algorithm",
) -> Verdict:
    """Judges "some instance has P(error >= bound) >= probability" for one algorithm with a true guarantee.

    REFUTED when the probability is certainly smaller on *every* instance of the construction. Each is tested at the
    whole failure probability: a false refutation must miss the one instance that the bound speaks of. Else
    CONSISTENT: an algorithm that respects the bound says nothing of the others.

    Args:
        exceeded: instance -> (trials with error >= bound, trials).
    """
    if not exceeded:
        raise InvalidInput("no instance was run; pass the counts of at least one")
    hits = np.array([count for count, _ in exceeded.values()])
    trials = np.array([total for _, total in exceeded.values()])
    upper = clopper_pearson(hits, trials, failure_probability, "upper")[1]
    lower = clopper_pearson(hits, trials, failure_probability / len(hits), "lower")[0]
    worst = int(np.argmax(hits / trials))
    name = list(exceeded)[worst]
    numbers: dict[str, float | int | str | bool] = {
        "instances": len(hits),
        "worst instance": name,
        "frequency": float(hits[worst] / trials[worst]),
        "needed": probability,
        "largest upper bound": float(upper.max()),
    }
    fields: dict[str, Any] = {"failure_probability": failure_probability, "numbers": numbers}
    said = f"{who} exceeds the bound in {hits[worst]:,} of {trials[worst]:,} trials on {name}, {probability:g} needed"
    if (upper < probability).all():
        return refuted(f"{said}, and less elsewhere: it beats the bound", "sampled", **fields)
    if (lower >= probability).any():
        notices = f"an algorithm of these that exceeds the bound in fewer than {probability:g} of the trials everywhere"
        return consistent(f"{said}: it respects the bound", "sampled", notices=notices, **fields)
    return undecided(f"{said}: not enough trials to say whether it beats the bound", "sampled", **fields)


def must_exceed_on_average(
    risks: Mapping[str, Array],
    bound: float,
    failure_probability: float,
    *,
    limit: float,
    who: str = "the algorithm",
) -> Verdict:
    """Judges "some instance has E[risk] >= bound" for one algorithm with a true guarantee, as `must_exceed`.

    Args:
        risks: instance -> (trials,) exact risks in [0, limit].
    """
    if not risks or bound >= limit:
        raise InvalidInput(f"needs at least one instance and bound < limit, got {len(risks)}, {bound!r}, {limit!r}")
    means = {name: float(np.mean(values)) for name, values in risks.items()}
    name = max(means, key=lambda key: means[key])
    below = [
        refute_mean(np.maximum(0.0, limit - values), limit - bound, failure_probability).crossed is not None
        for values in risks.values()
    ]
    numbers: dict[str, float | int | str | bool] = {
        "instances": len(risks),
        "worst instance": name,
        "mean": means[name],
        "bound": bound,
    }
    fields: dict[str, Any] = {"failure_probability": failure_probability, "numbers": numbers}
    said = f"{who} has mean risk {means[name]:.4g} on {name}, {means[name] / bound:.3g} of the bound"
    if all(below):
        return refuted(f"{said}, certainly below it there and elsewhere: it beats the bound", "sampled", **fields)
    seen = "an algorithm of these whose mean risk lies certainly below the bound on every instance"
    return consistent(f"{said}: it does not beat it", "sampled", notices=seen, **fields)


def verdict(facts: Sequence[Fact], algorithms: Sequence[Verdict] = ()) -> Verdict:
    """One answer from the construction's facts and the algorithms that were run against the bound.

    Args:
        facts: every property that the proof uses, exactly.
        algorithms: verdicts of `must_exceed`, for algorithms whose guarantee is true.
    """
    if not facts:
        raise InvalidInput("nothing was verified of the construction; pass its facts")
    spent = math.fsum(v.failure_probability for v in algorithms)
    beaten = [v for v in algorithms if v.outcome is Outcome.REFUTED]
    failed = [fact for fact in facts if not fact.holds]
    numbers: dict[str, float | int | str | bool] = {"facts": len(facts), "algorithms": len(algorithms)}
    numbers.update({fact.what: float(as_mpf(fact.found)) for fact in facts})
    points = tuple(point for v in algorithms for point in v.points)
    if failed:
        return refuted(f"the construction fails: {failed[0]}", "exact", numbers=numbers, points=points)
    if beaten:
        return refuted(beaten[0].reason, "sampled", failure_probability=spent, numbers=numbers, points=points)
    tried = f", and none of {len(algorithms)} algorithms beats the bound" if algorithms else ""
    reason = f"all {len(facts)} properties of the construction come out exactly{tried}"
    return holds(reason, "exact", failure_probability=spent, numbers=numbers, points=points)
