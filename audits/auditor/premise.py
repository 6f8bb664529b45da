"""Mechanisms that keep something and never look at their data are not accused; independent trials are believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import NDArray

import dpcheck as dp
from dpcheck.auditing.cells import learn_partition
from dpcheck.auditing.premise import Premise, events
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import stated
from dpcheck.harness import accuracy
from dpcheck.statistics.binomial import binomial_tail
from dpcheck.verdicts import Outcome, Verdict, consistent, refuted, undecided

from ._cases import ONE, ZERO, with_limits
from ._stateful import STATEFUL

Array = NDArray[np.float64]
ALPHA = 0.05
AUDITS = by_size(4, 40, 200)
CLAIM = dp.PureDP(0.2)
MODES = {
    "fixed": {"trials": 600},
    "anytime": {"trials": 2500, "mode": "anytime", "until": "refuted"},
}
FEW = ("alternating", "batch sharing", "wandering")


@check(
    "auditor/prop-premise",
    kind="accuracy",
    grid={"mechanism": by_size(FEW, tuple(STATEFUL), tuple(STATEFUL)), "mode": tuple(MODES)},
    expect=(Outcome.CONSISTENT, Outcome.UNDECIDED),
)
def state_does_not_pass_for_a_leak(context: Context, mechanism: str, mode: str) -> Verdict:
    """Audits of a mechanism that never looks at its data, but keeps something, refute no oftener than they may."""
    audits, first = AUDITS.at(context.size), context.seed * 1_000_003
    count = told = 0
    for seed in range(first, first + audits):
        result = dp.audit(STATEFUL[mechanism](), ZERO, ONE, CLAIM, failure_probability=ALPHA, seed=seed, **MODES[mode])
        count += result.outcome is Outcome.REFUTED
        told += bool(result.dependence)
    return at_most(context, count, audits, f"the claim is refuted; trials are called dependent in {told}")


def at_most(context: Context, count: int, audits: int, event: str) -> Verdict:
    """Judges a rate of at most what is stated; nothing proves it from so few, but a much larger one would show."""
    alpha, level = context.failure_probability, stated(context.label)
    chance = float(binomial_tail(count, audits, level))
    reason = f"in {count} of {audits} audits at α = {ALPHA} {event}: chance of so many {chance:.2g}"
    numbers = {"found": count, "audits": audits}
    if chance <= alpha:
        return refuted(reason, "sampled", failure_probability=alpha, numbers=numbers)
    critical = next((k for k in range(audits + 1) if binomial_tail(k, audits, level) <= alpha), None)
    if critical is None:
        return undecided(reason, "sampled", failure_probability=alpha, numbers=numbers)
    visible = float(scipy.special.betaincinv(critical, audits - critical + 1, 0.95))
    return consistent(
        reason,
        "sampled",
        notices=f"a rate of {100 * visible:.2g} % (95 % power)",
        failure_probability=alpha,
        numbers={**numbers, "visible rate": visible},
        severity=count / audits / level,
    )


LAWS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "one bit": lambda rng, n: (rng.random(n) < 0.3).astype(float),
    "rare bit": lambda rng, n: (rng.random(n) < 0.004).astype(float),
    "constant": lambda rng, n: np.zeros(n),
    "counts": lambda rng, n: rng.poisson(2.0, n).astype(float),
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 2),
    "halts": lambda rng, n: np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
}
LEVEL = 0.2
"""Of the check in this check: large, so that few streams show it."""
STREAMS = by_size(20, 600, 4000)


def fires(law: Callable[[np.random.Generator, int], Array], rng: np.random.Generator, seed: int) -> bool:
    """Whether independent outputs of 64 calls on either input, half a unit apart, are called dependent."""
    held = law(rng, 200), law(rng, 200) + 0.5
    cells = learn_partition(*held)
    premise = Premise(events(cells, np.stack([cells.count(side) for side in held], axis=1)), seed, LEVEL)
    for side in (0, 1):
        sizes = rng.binomial(12, 0.5, 64)
        values = law(rng, int(sizes.sum())) + 0.5 * side
        premise.observe(side, cells.index(values), values[:, None], sizes.tolist(), (rng.random(64) < 0.5).tolist())
    return bool(premise.check())


@check(
    "auditor/prop-premise",
    kind="accuracy",
    grid={"law": by_size(("normal", "one bit"), tuple(LAWS), tuple(LAWS))},
    expect=(Outcome.HOLDS, Outcome.UNDECIDED),
)
def independent_trials_are_believed(context: Context, law: str) -> Verdict:
    """The check of the premise fires on independent outputs of any law with at most its failure probability."""
    streams, rng = STREAMS.at(context.size), context.rng()
    total = sum(fires(LAWS[law], rng, number) for number in range(streams))
    verdict = accuracy.probability(
        total, streams, LEVEL, context.failure_probability, relation="<=", event="a false call of dependence"
    )
    return replace(with_limits(verdict, total, streams), severity=total / streams / LEVEL)
