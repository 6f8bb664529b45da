"""Power of `dp.audit`: how often a seeded bug falls at a multiple of the runs that the best test of all needs.

REFUTED, HOLDS: exact binomial limits show a power below 95 %, or at least that. Between, CONSISTENT when as many audits
refuted as a power of 95 % lets expect, with the power that would have been refuted; else UNDECIDED.
"""

from __future__ import annotations

from dataclasses import replace

import scipy

from dpcheck.checks import FAILURE_PROBABILITY, Context, by_size, check
from dpcheck.engine.statements import stated
from dpcheck.harness import accuracy
from dpcheck.statistics.binomial import clopper_pearson
from dpcheck.testing import AuditKill
from dpcheck.verdicts import Outcome, Verdict

from ._bugs import audited_bugs, known_densities
from ._cases import with_limits

BUGS, KNOWN = audited_bugs(), known_densities()
AUDITS = by_size(4, 20, 200)
NOT_SHORT = (Outcome.HOLDS, Outcome.CONSISTENT, Outcome.UNDECIDED)
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
    trials, power = runs_of(bug, times), stated("auditor/prop-power")
    count = caught(context, bug, audits, trials)
    said = f"a refutation from {2 * trials:,} runs, {times} times the fewest,"
    verdict = with_limits(
        accuracy.probability(count, audits, power, context.failure_probability, event=said), count, audits
    )
    verdict = replace(verdict, severity=power * audits / max(count, 0.5))
    if verdict.outcome is not Outcome.UNDECIDED or count < power * audits:
        return verdict
    seen = would_have_shown(audits, power, context.failure_probability)
    if seen <= 0:
        return verdict
    notices = f"a power of {100 * seen:.3g} % and less (95 % sure)"
    return replace(verdict, outcome=Outcome.CONSISTENT, notices=notices)


def would_have_shown(audits: int, power: float, failure_probability: float) -> float:
    """The largest power that these audits refute with probability 0.95; 0: none."""
    most = int(scipy.stats.binom.ppf(failure_probability, audits, power)) - 1
    return float(clopper_pearson(most, audits, 0.05, "lower")[0]) if most >= 0 else 0.0


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
