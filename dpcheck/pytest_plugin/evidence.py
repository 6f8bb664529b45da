"""What all versions of a mechanism that was audited by the same test say together: an e-value, whenever one looks.

Of every stage of an anytime audit the rule was fixed before its coins were seen, so each guess can be bet on: a right
one of level l of L pays 1 + s, a wrong one 1 - e^epsilon s, with s = stake l / L / e^epsilon. Of an (epsilon, delta)-DP
pair all but a share delta of the trials come from an epsilon-DP one, where the mean of a payment is at most 1 given the
output; the others pay at most 1 + s, and dividing by 1 + delta s for every trial makes up for them, whatever the rule
took from where the outputs fell. So the wealth of a stake, multiplied over stages and over versions that were run on
seeds of their own, has a mean of at most 1 at any time at which one may look (Ville 1939: it ever reaches 20 with
probability at most 1/20), and so has the mean over the stakes. `dpcheck.statistics.evalues` pays for single trials.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlog1py

from dpcheck.auditing.anytime import StagedTest
from dpcheck.auditing.spending import Looks
from dpcheck.auditing.stages import Stage
from dpcheck.errors import InvalidInput
from dpcheck.privacy import ApproxDP, Guarantee

STAKES = 2.0 ** -np.arange(12)
"""Parts of the most that may be bet: what a tiny excess of right guesses deserves, and what a sure one does."""
MOST = 1e300
"""Larger e-values are told as this one."""


def together(states: Iterable[Mapping[str, Any]], claim: Guarantee) -> float:
    """The e-value of the kept states of anytime audits, on different seeds, against "all of them kept the claim"."""
    wealth = np.sum([np.zeros(len(STAKES)), *(log_wealth(state, claim) for state in states)], axis=0)
    return math.exp(min(float(logsumexp(wealth)) - math.log(len(STAKES)), math.log(MOST)))


def log_wealth(state: Mapping[str, Any], claim: Guarantee) -> NDArray[np.float64]:
    """Of each stake on one state. Nothing is bet on what is no such state, nor on trials that depend on each other."""
    try:
        if state["premise"]["broken"]:
            return np.zeros(len(STAKES))
        test = StagedTest(claim, 1.0, Looks(int(state["horizon"]), int(state["halvings"])), seed=0)
        # Of an (epsilon, delta) claim the first test is the only one; of a curve the second one tests it.
        test.recall(state["stages"][0 if isinstance(claim, ApproxDP) else 1])
    except (InvalidInput, LookupError, TypeError, ValueError, OverflowError):
        return np.zeros(len(STAKES))
    stages = [paid(stage, claim.epsilon_at(stage.rule.delta)) for stage in test.stages]
    return np.asarray(np.sum([np.zeros(len(STAKES)), *stages], axis=0))


def paid(stage: Stage, epsilon: float) -> NDArray[np.float64]:
    """(stakes,) logarithms of what the guesses of a stage pay against epsilon at the delta of its rule."""
    levels = np.arange(1, len(stage.right) + 1) / len(stage.right)
    part = STAKES[:, None] * levels
    won = xlog1py(stage.right, part * math.exp(-epsilon)).sum(axis=1)
    lost = xlog1py(stage.wrong, -part).sum(axis=1)
    # A rule that only ever guesses one input meets half of the leak.
    leak = stage.rule.delta if stage.rule.directions == 2 else stage.rule.delta / 2
    return np.asarray(won + lost - stage.samples * np.log1p(leak * STAKES * math.exp(-epsilon)))
