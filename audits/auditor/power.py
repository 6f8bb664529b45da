"""Power of `dp.audit`: how often a seeded bug falls at a multiple of the runs that the best test of all needs."""

from __future__ import annotations

import dpcheck as dp
from dpcheck.checks import FAILURE_PROBABILITY, Context, by_size, check
from dpcheck.harness import accuracy
from dpcheck.verdicts import Outcome, Verdict

from ._cases import Bug, bugs, with_limits

POWER = 0.95
BUGS = bugs()
KNOWN = tuple(name for name, bug in BUGS.items() if bug.known is not None)
AUDITS = by_size(4, 40, 200)
ANY = (Outcome.HOLDS, Outcome.INCONCLUSIVE, Outcome.REFUTED)
"""A goal that is measured: where it is missed the verdict says so, and that is not news."""


def found(context: Context, bug: Bug, audits: int, times: int, known: bool) -> Verdict:
    """The share of audits at `times` the fewest runs that refute, at the failure probability of a check."""
    fewest = bug.fewest(FAILURE_PROBABILITY, POWER)
    assert fewest is not None
    trials = max(50, times * fewest // 2)
    caught = sum(
        dp.audit(
            bug.mechanism,
            *bug.pair,
            bug.claim,
            trials=trials,
            failure_probability=FAILURE_PROBABILITY,
            score=bug.known if known else "auto",
            seed=context.seed * 1_000_003 + number,
            adjacency=bug.adjacency,
        ).outcome
        is Outcome.REFUTED
        for number in range(audits)
    )
    said = f"a refutation from {2 * trials:,} runs, {times} times the fewest,"
    return with_limits(
        accuracy.probability(caught, audits, POWER, context.failure_probability, event=said), caught, audits
    )


@check(
    "auditor/prop-power",
    kind="accuracy",
    grid={"bug": tuple(BUGS)},
    expect=ANY,
)
def bugs_fall_at_four_times_the_fewest(context: Context, bug: str) -> Verdict:
    """Nothing is known of the mechanism: four times the fewest runs refute its claim."""
    return found(context, BUGS[bug], AUDITS.at(context.size), 4, known=False)


@check(
    "auditor/prop-power",
    kind="accuracy",
    grid={"bug": KNOWN},
    expect=ANY,
)
def known_densities_fall_at_three_times_the_fewest(context: Context, bug: str) -> Verdict:
    """Both densities are known: three times the fewest runs refute the claim."""
    return found(context, BUGS[bug], AUDITS.at(context.size), 3, known=True)
