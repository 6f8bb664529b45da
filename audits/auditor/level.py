"""False alarms of `dp.audit` on mechanisms that meet their claim with equality."""

from __future__ import annotations

from typing import Any

import dpcheck as dp
from dpcheck.auditing.scores import Cells, Classifier
from dpcheck.checks import Context, by_size, check
from dpcheck.harness import accuracy
from dpcheck.verdicts import Outcome, Verdict

from ._cases import Null, nulls, with_limits

ALPHA = 0.05
NULLS = nulls()
AUDITS = by_size(8, 100, 2000)
"""2,000 audits put the upper 99 % limit of a rate of 3.5 % below 5 %."""
MAY_BE_SHORT = (Outcome.HOLDS, Outcome.INCONCLUSIVE)
"""The verdict is at the failure probability of a check, so that a level that is nearly spent stays undecided; the
figure to read is the 99 % limit in its reason."""


def alarms(context: Context, null: Null, audits: int, trials: int, **options: Any) -> int:
    """How many of these audits, each with a seed of its own, refute the claim (identical laws: certify anything)."""
    first = context.seed * 1_000_003
    found = 0
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
        found += result.epsilon_lower > 0 if null.identical else result.outcome is Outcome.REFUTED
    return found


def rare(context: Context, found: int, audits: int) -> Verdict:
    alarm = accuracy.probability(
        found, audits, ALPHA, context.failure_probability, relation="<=", event="a false alarm"
    )
    return with_limits(alarm, found, audits)


@check(
    "auditor/prop-level",
    kind="accuracy",
    grid={"null": tuple(NULLS)},
    expect=MAY_BE_SHORT,
)
def false_alarms_of_fixed_audits(context: Context, null: str) -> Verdict:
    """Fixed audits of tight claims refute them at most as often as they may."""
    audits = AUDITS.at(context.size)
    return rare(context, alarms(context, NULLS[null], audits, trials=600), audits)


@check("auditor/prop-level", kind="accuracy", expect=MAY_BE_SHORT)
def the_level_is_spent(context: Context) -> Verdict:
    """At a tight claim fixed audits do use their failure probability: at least 1.5 % of 5 %."""
    audits = AUDITS.at(context.size)
    found = alarms(context, NULLS["randomised response"], audits, trials=600)
    alarm = accuracy.probability(found, audits, 0.015, context.failure_probability, event="a false alarm")
    return with_limits(alarm, found, audits)


@check(
    "auditor/prop-level-learned",
    kind="accuracy",
    grid={"null": tuple(NULLS)},
    expect=MAY_BE_SHORT,
)
def false_alarms_with_learned_scores(context: Context, null: str) -> Verdict:
    """Fixed audits with a classifier, or with learned cells for categories, keep their level."""
    audits = AUDITS.at(context.size)
    score = Cells() if null == "categories with ties" else Classifier("logistic")
    return rare(context, alarms(context, NULLS[null], audits, trials=600, score=score), audits)


@check(
    "auditor/prop-level-anytime",
    kind="accuracy",
    grid={"null": tuple(NULLS)},
    expect=MAY_BE_SHORT,
)
def false_alarms_under_optional_stopping(context: Context, null: str) -> Verdict:
    """Anytime audits stopped at the first of 100 looks that refutes keep their level."""
    audits = AUDITS.at(context.size)
    samples = 5000
    options = {"mode": "anytime", "until": "refuted", "max_samples": samples, "chunk": samples // 100}
    return rare(context, alarms(context, NULLS[null], audits, trials=samples // 2, **options), audits)
