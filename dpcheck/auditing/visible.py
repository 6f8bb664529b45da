"""What an audit could have seen: its resolution, stated with every result."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import scipy

from dpcheck.statistics.binomial import epsilon_lower_conditional


@dataclass(frozen=True)
class Visible:
    """The reach of one run.

    Attributes:
        failure_probability: of all that the audit says together; looks: times at which it could have stopped.
        directions: of the promise that were tested together.
        smallest_probability: events rarer than this were out of sight (3 over the runs of one input).
        detectable_half, detectable: true epsilons that this event, at these counts, would have refuted with
            probability 1/2 and 0.95; inf when no epsilon would.
        ceiling: largest epsilon that these many guesses could ever certify.
    """

    failure_probability: float
    looks: int
    directions: int
    smallest_probability: float
    detectable_half: float
    detectable: float
    ceiling: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def what_was_visible(
    guesses: int,
    samples: int,
    epsilon: float,
    delta: float,
    level: float,
    failure_probability: float,
    *,
    directions: int = 2,
    looks: int = 1,
) -> Visible:
    """The reach of a test of (epsilon, delta) that made `guesses` guesses in `samples` coin-flipped trials.

    Args:
        level: of the test at its last look, below the failure probability of the whole audit; 0: there was no look.
    """
    if level <= 0:
        guesses, level = 0, failure_probability
    half, sure = (detectable_epsilon(guesses, samples, epsilon, delta, level, power) for power in (0.5, 0.95))
    return Visible(
        failure_probability=failure_probability,
        looks=looks,
        directions=directions,
        smallest_probability=min(1.0, 6 / max(1, samples)),
        detectable_half=half,
        detectable=sure,
        ceiling=float(epsilon_lower_conditional(guesses, 0, level)),
    )


def detectable_epsilon(
    guesses: int, samples: int, epsilon: float, delta: float, failure_probability: float, power: float
) -> float:
    """Smallest true epsilon that the same number of guesses would have refuted (epsilon, delta) with at `power`.

    The law is taken on the boundary of (true epsilon, delta) with the observed chance of a guess, every guess as often
    right as that allows: the power of the exact binomial test (Clopper and Pearson 1934), inverted in the alternative.
    A mechanism of that epsilon whose leak is not in this event, or only in a part of it, is refuted less often.
    """
    if guesses == 0 or samples == 0:
        return math.inf
    leak = delta * samples / guesses
    odds = math.exp(-epsilon)
    null = min(1.0, (1 + odds * leak) / (1 + odds))
    critical = float(scipy.stats.binom.isf(failure_probability, guesses, null)) + 1
    if critical > guesses:
        return math.inf
    share = float(scipy.special.betaincinv(critical, guesses - critical + 1, power))
    return math.log((share - leak) / (1 - share)) if share - leak > 0 and share < 1 else math.inf
