"""What `dp.audit` must leave alone: correct mechanisms that look like bugs, and leaks that no sample can see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import dpcheck as dp
from dpcheck.checks import FAILURE_PROBABILITY, Context, by_size, check
from dpcheck.engine.catalogue import seeded_bugs
from dpcheck.engine.statements import stated
from dpcheck.statistics.binomial import binomial_tail
from dpcheck.verdicts import Outcome, Verdict, consistent, differs, holds, refuted, undecided

from ._cases import ONE, ZERO

Array = NDArray[np.float64]
LOOKALIKES = {name: bug for name, bug in seeded_bugs().items() if bug.lookalike}
AUDITS = by_size(2, 24, 200)
"""Of 24 audits none flagged shows a rate of `RARE` with up to a hundred cells that share the level."""
LEAK = 1e-9
RARE = 0.55
"""Audits that would show only more frequent flags than this decide nothing."""
UNFLAGGED = (Outcome.HOLDS, Outcome.CONSISTENT, Outcome.UNDECIDED)


def never(context: Context, flagged: int, audits: int) -> Verdict:
    """CONSISTENT when no more are flagged than is stated, none; one flag is undecided, REFUTED more than by chance."""
    alpha = context.failure_probability
    said = f"flagged in {flagged} of {audits} audits, each with failure probability {FAILURE_PROBABILITY:.0e}"
    numbers: dict[str, float | int | str | bool] = {"flagged": flagged, "audits": audits}
    if flagged < (wanted := stated(context.label)):
        return differs(f"{said}, and {wanted:g} are stated", "counted", numbers=numbers)
    if flagged == wanted:
        visible = 1 - alpha ** (1 / audits)
        reason = f"{said}; a rate of {100 * visible:.2g} % would have shown"
        numbers["visible rate"] = visible
        if visible > RARE:
            return undecided(reason, "sampled", failure_probability=alpha, numbers=numbers)
        notices = f"false alarms at a rate of {100 * visible:.2g} %"
        return consistent(reason, "sampled", failure_probability=alpha, numbers=numbers, notices=notices)
    chance = float(binomial_tail(flagged, audits, FAILURE_PROBABILITY))
    verdict = refuted if chance <= alpha else undecided
    reason = f"{said}: chance {chance:.2g} of a sound one"
    return verdict(reason, "sampled", failure_probability=alpha, numbers=numbers)


@check(
    "auditor/prop-lookalikes",
    kind="accuracy",
    grid={"lookalike": by_size(("tight-laplace", "geometric-with-ties"), tuple(LOOKALIKES), tuple(LOOKALIKES))},
    expect=UNFLAGGED,
)
def lookalikes_are_left_alone(context: Context, lookalike: str) -> Verdict:
    """A correct mechanism that looks like a bug is not flagged, seed after seed."""
    first = context.seed * 1_000_003
    flagged = 0
    for audits in range(1, AUDITS.at(context.size) + 1):
        own = replace(context, seed=first + audits - 1, failure_probability=FAILURE_PROBABILITY)
        kill = LOOKALIKES[lookalike].kill(own)
        flagged += kill.killed
        if not kill.samples:
            # Arithmetic: another seed says the same.
            wanted = stated(context.label)
            word = refuted if flagged > wanted else holds if flagged == wanted else differs
            return word(f"{'flagged' if flagged else 'not flagged'}, by arithmetic alone", "exact")
    return never(context, flagged, audits)


def curator(data: Array, rng: np.random.Generator, trials: int) -> Array:
    """Prints its data with probability `LEAK`, else answers with private noise."""
    noisy = data.sum() + rng.laplace(size=trials)
    return np.where(rng.random(trials) < LEAK, 1e6 + data.sum(), noisy)


@check("auditor/prop-visible", kind="accuracy", grid={"mode": ("fixed", "anytime")}, expect=UNFLAGGED)
def a_leak_of_one_in_a_billion(context: Context, mode: str) -> Verdict:
    """It is not refuted, and every result says that events of probability below 3/N were out of sight."""
    audits, flagged = AUDITS.at(context.size), 0
    for seed in range(context.seed * 1_000_003, context.seed * 1_000_003 + audits):
        result = dp.audit(
            curator,
            ZERO,
            ONE,
            dp.PureDP(1.0),
            trials=5000,
            mode=mode,
            seed=seed,
            failure_probability=FAILURE_PROBABILITY,
        )
        flagged += result.outcome is Outcome.REFUTED
        smallest = 6 / result.counts["tested"]
        if abs(result.visible.smallest_probability / smallest - 1) > 1e-12 or "out of sight" not in str(result):
            return refuted(
                f"seed {seed}: the result of {result.counts['tested']:,} runs does not say that events below "
                f"{smallest:.2g} were out of sight",
                "counted",
            )
    return never(context, flagged, audits)
