"""Power of `dp.audit`: how often a seeded bug falls at a multiple of the runs that the best test of all needs.

So few audits show no power of 95 %: HOLDS is out of reach, and REFUTED is news.
"""

from __future__ import annotations

from dpcheck.checks import FAILURE_PROBABILITY, Context, by_size, check
from dpcheck.harness import accuracy
from dpcheck.testing import POWER, AuditKill
from dpcheck.verdicts import Outcome, Verdict

from ._bugs import audited_bugs, known_densities
from ._cases import with_limits

BUGS, KNOWN = audited_bugs(), known_densities()
AUDITS = by_size(4, 20, 200)
NOT_SHORT = (Outcome.HOLDS, Outcome.UNDECIDED)
"""A power of at least 95 % is not refuted."""


def runs_of(bug: AuditKill, times: int) -> int:
    """Runs on each input: `times` the fewest of both together."""
    fewest = bug.fewest(FAILURE_PROBABILITY)
    assert fewest is not None
    return max(50, times * fewest // 2)


def caught(context: Context, bug: AuditKill, audits: int, trials: int) -> int:
    """How many audits, at the failure probability of a check, refute the claim."""
    seeds = range(context.seed * 1_000_003, context.seed * 1_000_003 + audits)
    return sum(bug.audit(trials, FAILURE_PROBABILITY, seed).outcome is Outcome.REFUTED for seed in seeds)


def found(context: Context, bug: AuditKill, audits: int, times: int) -> Verdict:
    """The share of audits at `times` the fewest runs that refute."""
    trials = runs_of(bug, times)
    count = caught(context, bug, audits, trials)
    said = f"a refutation from {2 * trials:,} runs, {times} times the fewest,"
    return with_limits(
        accuracy.probability(count, audits, POWER, context.failure_probability, event=said), count, audits
    )


@check(
    "auditor/prop-power",
    kind="accuracy",
    grid={"bug": by_size(("laplace-half-sensitivity", "gaussian-half-the-deviation"), tuple(BUGS), tuple(BUGS))},
    expect=NOT_SHORT,
)
def bugs_fall_at_four_times_the_fewest(context: Context, bug: str) -> Verdict:
    """Nothing is known of the mechanism: four times the fewest runs refute its claim."""
    return found(context, BUGS[bug], AUDITS.at(context.size), 4)


@check(
    "auditor/prop-power",
    kind="accuracy",
    grid={"bug": by_size(("laplace-half-sensitivity",), tuple(KNOWN), tuple(KNOWN))},
    expect=NOT_SHORT,
)
def known_densities_fall_at_three_times_the_fewest(context: Context, bug: str) -> Verdict:
    """Both densities are known: three times the fewest runs refute the claim."""
    return found(context, KNOWN[bug], AUDITS.at(context.size), 3)
