"""Accuracy of lemmas: inequalities that hold for all instances, and events that hold with a probability.

What may be said.

* `never_violated` compares both sides of an inequality on many instances. One violation REFUTES it. No violation says
  HOLDS only when the instances are all there are (an enumeration), or when a proof reduces all others to them; the
  caller then says in words why, and the words enter the verdict. On drawn instances the answer is INCONCLUSIVE:
  "never violated on so many instances", with the largest left/right ratio and the frequency of violations that would
  have shown. Drawing more instances never proves a statement about all of them.
* `probability` judges P(event) >= p by an exact binomial bound: HOLDS, REFUTED, or not enough trials. It speaks of the
  instance that was run.
* `dpcheck.harness.domain.never_positive` proves a scalar inequality on a whole box by interval arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dpcheck import checks, witnesses
from dpcheck.errors import InvalidInput, WitnessRejected
from dpcheck.statistics.binomial import check_probability, clopper_pearson
from dpcheck.verdicts import Evidence, Verdict, Witness, consistent, differs, holds, refuted, undecided

ROUNDING = 1e-6
"""Relative excess of the left over the right side that counts as rounding."""
RARE = 0.5
"""Instances that would show only violations more frequent than this decide nothing."""


def never_violated(
    left: ArrayLike,
    right: ArrayLike,
    *,
    statement: str = "left <= right",
    covers: str = "",
    evidence: Evidence = "exact",
    witness: Callable[[int], Witness] | None = None,
    tolerance: float = ROUNDING,
    failure_probability: float | None = None,
    drawn: bool = True,
) -> Verdict:
    """Judges "left <= right for every instance" from its two sides on some instances.

    Args:
        left, right: broadcast together; one entry an instance. inf on the right always holds.
        statement: the inequality in words, for the reason.
        covers: why these instances decide all others ("all 2^6 sign patterns", "the extreme points; the left side is
            convex"). Empty: HOLDS is out of reach.
        evidence: of HOLDS: "exact" for an enumeration, "certificate" where a proof reduces the rest.
        witness: makes the witness of the instance with that flat index; it is verified before anything is refuted.
        tolerance: relative to the larger side, what float64 may be off by; choose it from the computation, not from
            the result.
        failure_probability: of the stated visible frequency, when the instances were drawn independently; that of
            the cell under way, unless given.
        drawn: whether they were; a fixed grid is no sample, says nothing of frequencies and spends no probability.
    """
    failure_probability = checks.share() if failure_probability is None else failure_probability
    check_probability(failure_probability)
    lhs, rhs = (np.asarray(side, dtype=float) for side in np.broadcast_arrays(left, right))
    if lhs.size == 0 or np.isnan(lhs).any() or np.isnan(rhs).any():
        raise InvalidInput(f"{statement}: both sides need at least one instance and no NaN, got shape {lhs.shape}")
    lhs, rhs = lhs.ravel(), rhs.ravel()
    size = np.maximum(np.abs(lhs), np.where(np.isfinite(rhs), np.abs(rhs), 0.0))
    with np.errstate(invalid="ignore"):
        relative = (lhs - rhs) / np.where(size > 0, size, 1.0)
        relative = np.where(np.isinf(lhs), lhs, relative)  # an infinite side is no rounding
        excess = np.where(lhs == rhs, 0.0, relative)
    worst = int(np.argmax(excess))
    numbers: dict[str, float | int | str | bool] = {
        "instances": lhs.size,
        "left": float(lhs[worst]),
        "right": float(rhs[worst]),
        "violations": int((excess > tolerance).sum()),
    }
    ratio = None
    if (rhs > 0).all() and lhs.max() >= 0 and np.isfinite(lhs / rhs).all():
        numbers["largest left/right"] = ratio = float((lhs / rhs).max())
    if excess[worst] > tolerance:
        return replace(_violated(statement, worst, numbers, witness), severity=ratio)
    every = f"all {lhs.size:,} instances" if lhs.size > 1 else "the one instance"
    closest = f"closest {numbers['left']:.6g} against {numbers['right']:.6g}"
    if covers:
        return holds(
            f"{statement} on {every} ({covers}); {closest}",
            evidence,
            numbers=numbers,
            severity=ratio,
        )
    if not drawn:
        points = f"every one of {lhs.size:,} points" if lhs.size > 1 else "the one point"
        reason = f"{statement} at {points} of a fixed grid, {closest}; a grid proves nothing between"
        seen = f"a violation at one of these {lhs.size:,} points" if lhs.size > 1 else "a violation at this point"
        return consistent(reason, "exact", numbers=numbers, notices=seen, severity=ratio)
    visible = -math.expm1(math.log(failure_probability) / lhs.size)
    numbers["visible frequency"] = visible
    reason = (
        f"{statement} never violated on {lhs.size:,} instances, {closest}; violations of frequency {visible:.2g} would "
        "have shown, but drawn instances prove nothing of the others"
    )
    seen = f"a violation of frequency {visible:.2g} among instances drawn like these"
    fields: dict[str, Any] = {"failure_probability": failure_probability, "numbers": numbers, "severity": ratio}
    if visible > RARE:
        return undecided(reason, "sampled", **fields)
    return consistent(reason, "sampled", notices=seen, **fields)


def _violated(
    statement: str, worst: int, numbers: dict[str, Any], make_witness: Callable[[int], Witness] | None
) -> Verdict:
    many = numbers["instances"] > 1
    where = f" in {numbers['violations']:,} of {numbers['instances']:,} instances, by most in" if many else ":"
    seen = f"{statement} fails{where} {numbers['left']:.6g} against {numbers['right']:.6g}"
    if make_witness is None:
        return refuted(seen, "exact", numbers=numbers)
    witness = make_witness(worst)
    try:
        witnesses.verify(witness)
    except WitnessRejected as error:
        return differs(f"{seen} in float64, but its witness fails: {error}", numbers=numbers)
    return refuted(f"{seen}; the witness verifies", "exact", numbers=numbers, witness=witness)


def probability(
    successes: int,
    trials: int,
    claimed: float,
    failure_probability: float,
    *,
    relation: Literal[">=", "<="] = ">=",
    event: str = "the event",
) -> Verdict:
    """Judges P(event) >= claimed (or <=) from independent trials of one instance, by Clopper-Pearson bounds.

    Both answers spend the whole failure probability: only one of them can be wrong.
    """
    if not 0 <= claimed <= 1:
        raise InvalidInput(f"the claimed probability must lie in [0, 1], got {claimed!r}")
    if trials < 1:
        raise InvalidInput(f"a frequency needs at least one trial, got {trials}")
    lower = float(clopper_pearson(successes, trials, failure_probability, "lower")[0])
    upper = float(clopper_pearson(successes, trials, failure_probability, "upper")[1])
    numbers: dict[str, float | int | str | bool] = {
        "successes": successes,
        "trials": trials,
        "frequency": successes / trials,
        "claimed": claimed,
        "lower": lower,
        "upper": upper,
    }
    fields: dict[str, Any] = {"failure_probability": failure_probability, "numbers": numbers}
    most, least = (claimed, successes / trials) if relation == ">=" else (successes / trials, claimed)
    fields["severity"] = most / least if least else math.inf
    said = f"{event} in {successes:,} of {trials:,} trials, claimed {relation} {claimed:.4g}"
    limits = f"a probability between {lower:.4g} and {upper:.4g}, with confidence"
    above, below = (lower >= claimed, upper < claimed) if relation == ">=" else (upper <= claimed, lower > claimed)
    if above:
        return holds(f"{said}: {limits}", "sampled", **fields)
    if below:
        return refuted(f"{said}: {limits}", "sampled", **fields)
    return undecided(f"{said}: {limits}", "sampled", **fields)
