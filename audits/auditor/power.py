"""Power of `dp.audit`: how often a seeded bug falls at a multiple of the runs that the best test of all needs.

So few audits show no power of 95 %: HOLDS is out of reach, and REFUTED is news, but for the bugs of `MISSED`, which
must go on missing the goal until they are struck from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpcheck.checks import FAILURE_PROBABILITY, Context, by_size, check
from dpcheck.harness import accuracy
from dpcheck.testing import POWER, AuditKill
from dpcheck.verdicts import Outcome, Verdict, inconclusive, refuted

from ._bugs import audited_bugs, known_densities
from ._cases import with_limits

BUGS, KNOWN = audited_bugs(), known_densities()
MISSED = {
    "descent-intercept-outside-the-clip": "a direction in ten dimensions is learned from 36 outputs on each input",
    "noisy-max-value-released": "an index and a number, and the index tells nothing",
    "sparse-vector-answer-released": "the same, and a classifier must learn what each index means",
    "uniform-noise": "two intervals of one input only, beside a flat middle",
}
"""Bugs that 200 audits prove to take more than four times the fewest runs, and why."""
CLEAREST = tuple(MISSED)[:2]
FOUND = tuple(name for name in BUGS if name not in MISSED)
AUDITS = by_size(4, 10, 200)
NOT_SHORT = (Outcome.HOLDS, Outcome.INCONCLUSIVE)
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


def still_missed(rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], failure_probability: float) -> Verdict:
    """REFUTED while every one of them misses the goal; an improvement is news."""
    told = [f"{cell['bug']} {seen['caught']} of {seen['audits']}" for cell, seen in rows]
    powers = [
        accuracy.probability(seen["caught"], seen["audits"], POWER, failure_probability / len(rows)) for _, seen in rows
    ]
    numbers = {cell["bug"]: seen["caught"] / seen["audits"] for cell, seen in rows}
    better = [text for text, power in zip(told, powers, strict=True) if power.outcome is not Outcome.REFUTED]
    facts: dict[str, Any] = {"failure_probability": failure_probability, "numbers": numbers}
    if better:
        return inconclusive(f"not certainly below 95 % any more: {', '.join(better)}", "sampled", **facts)
    return refuted(f"certainly below 95 % at four times the fewest runs: {', '.join(told)}", "sampled", **facts)


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
    grid={"bug": by_size(("laplace-half-sensitivity", "gaussian-half-the-deviation"), FOUND, FOUND)},
    expect=NOT_SHORT,
)
def bugs_fall_at_four_times_the_fewest(context: Context, bug: str) -> Verdict:
    """Nothing is known of the mechanism: four times the fewest runs refute its claim."""
    return found(context, BUGS[bug], AUDITS.at(context.size), 4)


@check(
    "auditor/prop-power",
    kind="accuracy",
    grid={"bug": by_size(CLEAREST[:1], CLEAREST, tuple(MISSED))},
    conclude=still_missed,
    expect=Outcome.REFUTED,
)
def bugs_that_take_more_runs(context: Context, bug: str) -> dict[str, int]:
    """Nothing is known of the mechanism, and four times the fewest runs are not enough."""
    audits = context.scale(60, 100, 200)
    return {"caught": caught(context, BUGS[bug], audits, runs_of(BUGS[bug], 4)), "audits": audits}


@check(
    "auditor/prop-power",
    kind="accuracy",
    grid={"bug": by_size(("laplace-half-sensitivity",), tuple(KNOWN), tuple(KNOWN))},
    expect=NOT_SHORT,
)
def known_densities_fall_at_three_times_the_fewest(context: Context, bug: str) -> Verdict:
    """Both densities are known: three times the fewest runs refute the claim."""
    return found(context, KNOWN[bug], AUDITS.at(context.size), 3)
