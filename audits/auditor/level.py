"""Does 95 % mean 95 %? False alarms of `dp.audit` on mechanisms that meet their claim with equality.

Judged by the exact binomial law of the false alarms of each null and mode: CONSISTENT when they are no evidence (at
0.001) of a rate above the failure probability, nor, where the null is tight for every rule, of one below four fifths
of it; REFUTED when they are evidence at the failure probability of the check; UNDECIDED between.
"""

from __future__ import annotations

from typing import Any

import scipy

import dpcheck as dp
from dpcheck.auditing.scores import Cells, Classifier
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import stated
from dpcheck.statistics.binomial import binomial_tail, clopper_pearson
from dpcheck.verdicts import Outcome, Verdict, consistent, refuted, undecided

from ._cases import Null, nulls

ALPHA = 0.05
"""At which audits are run; what their rate may be, the claims state."""
EVIDENCE = 1e-3
"""Exact binomial p-value up to which a count is some evidence that the rate is above, or below, what it may be."""
SPENT = 0.8
"""Part of the level that is used up where the null is tight."""
NULLS = nulls()
AUDITS = by_size(8, 100, 4000)
SHOWN = 0.08
"""A rate of false alarms that must stand out, or nothing was decided: 60 % more than is allowed."""


def alarms(context: Context, null: Null, audits: int, trials: int, **options: Any) -> int:
    """How many of these audits, each with a seed of its own, refute the claim (identical laws: certify anything)."""
    first = context.seed * 1_000_003
    count = 0
    for number in range(audits):
        result = dp.audit(
            null.mechanism,
            *null.pair,
            null.claim,
            trials=trials,
            failure_probability=ALPHA,
            seed=first + number,
            **{**dict(null.options), **options},
        )
        count += result.epsilon_lower > 0 if null.identical else result.outcome is Outcome.REFUTED
    return count


def judged(context: Context, count: int, audits: int, tight: bool) -> Verdict:
    """A count of false alarms against the level, and against four fifths of it where the null is tight."""
    level = stated(context.label)
    above = float(binomial_tail(count, audits, level))
    below = float(scipy.stats.binom.cdf(count, audits, SPENT * level)) if tight else 1.0
    low, high = (float(v) for v in clopper_pearson(count, audits, 0.01))
    said = (
        f"{count} false alarms in {audits:,} audits, {100 * count / audits:.2f} % (99 % interval {100 * low:.2f} % to "
        f"{100 * high:.2f} %): as many have p = {above:.2g} at {100 * level:g} %"
    )
    said += f", as few {below:.2g} at {100 * SPENT * level:g} %" if tight else ""
    numbers: dict[str, float | int | str | bool] = {
        "false alarms": count,
        "audits": audits,
        "rate": count / audits,
        "lower_99": low,
        "upper_99": high,
        "p of as many": above,
        "p of as few": below,
    }
    fields: dict[str, Any] = {
        "failure_probability": context.failure_probability,
        "numbers": numbers,
        "severity": count / audits / level,
    }
    # Either answer errs with half of the failure probability.
    if min(above, below) <= context.failure_probability / 2:
        word = "more than the level" if above < below else "the level is not spent"
        return refuted(f"{said}: {word}", "sampled", **fields)
    if min(above, below) <= EVIDENCE:
        return undecided(f"{said}: some evidence against the level", "sampled", **fields)
    critical = int(scipy.stats.binom.isf(EVIDENCE, audits, level)) + 1
    shown = float(clopper_pearson(min(critical, audits), audits, 0.05, "upper")[1])
    if shown > SHOWN:
        return undecided(f"{said}; so few audits show rates from {100 * shown:.2g} % on only", "sampled", **fields)
    seen = f"a rate of {100 * shown:.2f} % and more (95 % power)"
    if tight:
        fewest = int(scipy.stats.binom.ppf(EVIDENCE, audits, SPENT * level)) - 1
        seen += f", or of {100 * float(clopper_pearson(fewest, audits, 0.05, 'lower')[0]):.2f} % and less"
    return consistent(said, "sampled", notices=seen, **fields)


MAY = (Outcome.CONSISTENT, Outcome.UNDECIDED)
"""Audits never prove a rate; fewer than at size full decide nothing."""


@check("auditor/prop-level", kind="accuracy", grid={"null": tuple(NULLS)}, expect=MAY)
def false_alarms_of_fixed_audits(context: Context, null: str) -> Verdict:
    """Fixed audits of tight claims refute them as often as they may, and no more."""
    audits = AUDITS.at(context.size)
    return judged(context, alarms(context, NULLS[null], audits, trials=600), audits, NULLS[null].tight)


@check("auditor/prop-level-learned", kind="accuracy", grid={"null": tuple(NULLS)}, expect=MAY)
def false_alarms_with_learned_scores(context: Context, null: str) -> Verdict:
    """Fixed audits with a classifier, or with learned cells for categories, keep their level."""
    audits = AUDITS.at(context.size)
    score = Cells() if null == "categories with ties" else Classifier("logistic")
    count = alarms(context, NULLS[null], audits, trials=600, score=score)
    return judged(context, count, audits, NULLS[null].tight)


SAMPLES, GONE_ON = 2600, 4400
"""Runs of an anytime audit, both inputs together, and when it has gone on: 800 teach, and the looks are at 112, 225,
450, 900, 1,800 and, beyond the horizon, 3,600 runs. What it says may change at no other time: whoever stops it stops it
at one of these, however often he looks."""


@check("auditor/prop-level-anytime", kind="accuracy", grid={"null": tuple(NULLS)}, expect=MAY)
def false_alarms_under_optional_stopping(context: Context, null: str) -> Verdict:
    """Anytime audits, watched at each of their looks and resumed, keep their level."""
    audits = AUDITS.at(context.size)
    options = {"mode": "anytime", "until": "refuted"}
    count = 0
    first = context.seed * 1_000_003
    case = NULLS[null]
    for number in range(audits):
        state = None
        for samples in (SAMPLES, GONE_ON):
            result = dp.audit(
                case.mechanism,
                *case.pair,
                case.claim,
                failure_probability=ALPHA,
                seed=first + number,
                max_samples=samples,
                resume=state,
                **{**dict(case.options), **options},
            )
            alarm = result.epsilon_lower > 0 if case.identical else result.outcome is Outcome.REFUTED
            if alarm:
                break
            state = result.state
        count += alarm
    return judged(context, count, audits, case.tight)
