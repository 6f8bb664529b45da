"""`dp.plan_audit`: the trials that an audit needs, before it is run, so that it must detect a true epsilon.

For a mechanism whose true epsilon is the one to detect, three laws are worked out, each with the event that needs the
fewest trials: leaky randomised response, of which every mechanism of that privacy is a post-processing (Kairouz, Oh and
Viswanath 2015), and Laplace noise for a claim without delta, Gaussian noise for one with. For that event the number is
exact. An audit does not know it, and learning it costs more the less there is to be seen. A pilot says how often this
very mechanism is guessed, and what a run costs.

What learning costs was measured (failure probability 0.05). Of few outcomes the event is soon found, and what is lost
is what is held out and what the stages lose (`OUTCOMES`). The log-ratio of Gaussian laws is a line, the first thing
that an audit fits (`LINE`). Others have flat parts, which few outputs do not tell from the ends of a line. Beside a
multiple this takes a number of runs that goes with the gap between truth and claim to the power -3/2, and with the
share of outputs that is guessed to the power -1/2 (`KINKS`; more of integers, `GRID`). The multiple follows level and
power as a known event does, the number of runs the power. The constants were set by 100 audits at four numbers of runs
of each law below, and then judged by 200 with other seeds: per cent refuted (claim, truth: as planned; from half the
runs).

    randomised response   0.2, 0.3: 99; 82     1, 1.5: 94; 80     3, 4: 95; 70     (a multiple of 1.45; since then 1.5)
    Gaussian noise        delta 1e-3: 0.5, 1.2: 98; 88    1, 1.5: 96.5; 83.5
    geometric noise       0.5, 0.75: 97.5; 91.5    1, 1.5: 99.5; 98.5    2, 3: 100; 100
    Laplace noise         0.2, 0.3: 96; 70     0.5, 0.75: 97.5; 84.5    1, 1.3: 99.5; 88.5    1, 1.5: 97; 83.5
                          2, 3: 99; 94.5       3, 4: 98.5; 87.5         1, 2: 100; 97.5       0.5, 1.5: 99.5; 98
    the same, but of half the slope on one side, so that a fifth of the outputs is guessed    1, 1.5: 98.5; 74.5

tests/recorded/test_plan_audit.py repeats a part.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy

from dpcheck.auditing import plans, spending
from dpcheck.auditing.anytime import CURVE_DELTA
from dpcheck.auditing.audit import audit
from dpcheck.auditing.inputs import FEWEST_TRIALS, MOST_TRIALS, check_failure_probability, is_number
from dpcheck.auditing.limits import fewest_of_any
from dpcheck.auditing.mechanisms import Encoder, Mechanism, mechanism_name
from dpcheck.auditing.runner import Runner
from dpcheck.auditing.scores import distinct_rows
from dpcheck.auditing.visible import detectable_epsilon
from dpcheck.errors import InvalidInput
from dpcheck.foreign import shortened
from dpcheck.privacy import ApproxDP, GaussianDP, Guarantee

CUTS = 60
"""Events of one law that are tried."""
PILOT = 2_000
"""Runs of a pilot on each input."""
OUTCOMES = 1.5
"""Times as many runs as with a known event an audit takes that has few outcomes to learn it from."""
LINE = (2.0, 300.0)
"""The same where the log-ratio is a line, and runs over the square of the true epsilon."""
KINKS, GRID = (1.6, 225.0), (1.3, 340.0)
"""The same where it has kinks, and runs at a gap of 1 were every output guessed: of real numbers, and of integers."""
LARGEST = 700.0
"""Epsilons from which on exp leaves the floating-point numbers; no audit that can be run tells them apart."""
MEASURED = 2 * 1.6449
"""Sum of the normal scores of level and power at which this was measured, of each a half."""


@dataclass(frozen=True)
class Requirement:
    """What one law takes.

    Attributes:
        event: that needs the fewest trials, in words; guessed: share of the trials in which it guesses the input.
        alone: runs on each input, were the event known; trials: with those that teach it.
    """

    law: str
    event: str
    guessed: float
    alone: int
    trials: int


@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """How many trials an audit needs.

    Attributes:
        trials: on each input, for the dearest of the laws, and for what the pilot saw; what `dp.audit(trials=…)` takes.
        needed: law by law; the pilot is the last one. fewest: no test of any kind does with less.
        seconds: of all trials, by the pilot; 0 without one.
    """

    claim: ApproxDP
    must_detect: float
    power: float
    failure_probability: float
    trials: int
    fewest: int
    needed: tuple[Requirement, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "claim": str(self.claim), "needed": [asdict(one) for one in self.needed]}

    def __str__(self) -> str:
        lines = [
            f"{self.trials:,} runs on each input refute {self.claim} where a true ε is {self.must_detect:g} "
            f"({100 * self.power:g} % power, failure probability {self.failure_probability:g})"
        ]
        for one in self.needed:
            alone = "" if one.alone == one.trials else f", {one.alone:,} were the event known"
            guessed = f"{100 * one.guessed:.3g} % of the trials guessed"
            lines.append(f"  {one.law:<28} {one.trials:,} runs{alone}: {one.event}, {guessed}")
        lines.append(f"  {'any test of any mechanism':<28} at least {self.fewest:,} runs on each input")
        if self.seconds:
            lines.append(f"  {'time':<28} about {duration(self.seconds)}, by the pilot")
        return "\n".join(lines)


def plan_audit(
    claim: ApproxDP,
    must_detect: float,
    *,
    failure_probability: float = 0.05,
    power: float = 0.95,
    pilot: tuple[Mechanism, Any, Any] | None = None,
    adjacency: str | None = "replace-one",
    halts: bool = False,
    seed: int = 0,
) -> AuditPlan:
    """The trials with which `dp.audit` refutes the claim, were the true epsilon `must_detect` at the claim's delta.

    Args:
        claim: `PureDP` or `ApproxDP`. Of a curve one point: `dp.ApproxDP(claim.epsilon_at(delta), delta)`.
        must_detect: true epsilon that is to be refuted: `must_detect` of a profile, `--must-detect` of the command.
        power: chance that it is.
        pilot: (mechanism, data, neighbour): it is run and audited a few thousand times, which are counted nowhere else.
        adjacency, halts: of the pilot, as in `dp.audit`.

    Raises:
        InvalidInput: a true epsilon that is no violation, a claimed curve, or more trials than anyone can run.
    """
    if not isinstance(claim, ApproxDP):
        raise InvalidInput(
            f"a plan is for one point of the claim, got {claim!r}; take dp.ApproxDP(claim.epsilon_at(delta), delta)"
        )
    check_failure_probability(failure_probability)
    if not (is_number(must_detect) and claim.epsilon < must_detect <= sys.float_info.max):
        raise InvalidInput(
            f"must_detect must be a true epsilon above the claimed {claim.epsilon:g}, got {must_detect!r}"
        )
    if not (is_number(power) and failure_probability < power < 1):
        raise InvalidInput(f"power must lie between the failure probability and 1, got {power!r}")
    level = failure_probability * spending.split(claim, "fixed")["bound"]
    needed = [
        _cheapest(law, tests, claim, level, power, must_detect)
        for law, tests in _laws(must_detect, claim.delta).items()
    ]
    seconds = 0.0
    if pilot is not None:
        if not (isinstance(pilot, Sequence) and len(pilot) == 3 and not isinstance(pilot, str | bytes)):
            raise InvalidInput(f"pilot must be (mechanism, data, neighbour), got {shortened(pilot)}")
        requirement, each = _piloted(
            pilot, claim, must_detect, level, power, adjacency=adjacency, halts=halts, seed=seed
        )
        needed.append(requirement)
        seconds = each
    fewest = fewest_of_any(must_detect, claim.epsilon, claim.delta, failure_probability, power)
    most = max(one.trials for one in needed)
    if fewest is None or most > MOST_TRIALS:
        raise InvalidInput(
            f"a true epsilon of {must_detect:g} is too near to {claim} to be refuted in {MOST_TRIALS:,} runs on each "
            "input; ask for a larger one"
        )
    return AuditPlan(
        claim=claim,
        must_detect=float(must_detect),
        power=power,
        failure_probability=failure_probability,
        trials=most,
        fewest=math.ceil(fewest / 2),
        needed=tuple(needed),
        seconds=2 * most * seconds,
    )


Test = tuple[str, float, float]
"""An event in words, and the chances that it guesses the input right and wrong."""


def _laws(epsilon: float, delta: float) -> Mapping[str, Sequence[Test]]:
    """Law of exact privacy (epsilon, delta) -> events that guess its input."""
    told = delta + (1 - delta) / (1 + math.exp(-epsilon))
    leaky = {"leaky randomised response": [("every output guessed", told, 1 - told)]}
    if delta == 0:
        return leaky | {"Laplace noise": [_laplace(epsilon, cut) for cut in np.linspace(0.5, 1.0, CUTS)]}
    mu = _gaussian_mu(epsilon, delta)
    top = epsilon / mu + 3.0
    return leaky | {"Gaussian noise": [_gaussian(mu, cut) for cut in np.linspace(0.0, top, 4 * CUTS)]}


def _laplace(epsilon: float, cut: float) -> Test:
    """Scale 1/epsilon, inputs 0 and 1: outputs beyond `cut` on either side are guessed, cut in [1/2, 1]."""
    right, wrong = 1 - math.exp(-epsilon * (1 - cut)) / 2, math.exp(-epsilon * cut) / 2
    return f"outputs ≥ {cut:.2f} and < {1 - cut:.2f} of inputs 1 and 0", right, wrong


def _gaussian(mu: float, cut: float) -> Test:
    """Unit variance, inputs mu apart: outputs at least `cut` from the middle are guessed."""
    right, wrong = (float(scipy.special.ndtr(lean - cut)) for lean in (mu / 2, -mu / 2))
    return f"outputs at least {cut:.2f} σ from the middle, inputs {mu:.3g} σ apart", right, wrong


def _gaussian_mu(epsilon: float, delta: float) -> float:
    """Of Gaussian noise that is exactly (epsilon, delta)-DP."""
    root = scipy.optimize.brentq(lambda mu: GaussianDP(mu).delta_at(epsilon) - delta, 1e-6, 10 + 2 * epsilon)
    return float(root)


def _cheapest(
    law: str, tests: Sequence[Test], claim: ApproxDP, level: float, power: float, must_detect: float
) -> Requirement:
    """The event that needs the fewest trials."""
    rows = [(_samples(right, wrong, claim, level, power), event, right + wrong) for event, right, wrong in tests]
    samples, event, guessed = min(rows)
    if not math.isfinite(samples):
        raise InvalidInput(
            f"no number of runs up to {MOST_TRIALS:,} on each input refutes {claim} by {law}; "
            "ask for a larger true epsilon"
        )
    kind = "outcomes" if len(tests) == 1 else "line" if claim.delta > 0 else "kinks"
    trials = _taught(samples / 2, guessed, kind, claim, must_detect, power)
    return Requirement(law, event, guessed, math.ceil(samples / 2), trials)


def _samples(right: float, wrong: float, claim: ApproxDP, level: float, power: float) -> float:
    """Coin-flipped trials with which the exact binomial test of the guesses has its power, at their mean number."""
    guessed = right + wrong
    if guessed <= 0 or right <= math.exp(min(claim.epsilon, LARGEST)) * wrong + claim.delta:
        return math.inf
    odds, share = math.exp(-claim.epsilon), right / guessed

    def enough(samples: float) -> bool:
        guesses = math.floor(samples * guessed)
        null = min(1.0, (1 + odds * claim.delta / guessed) / (1 + odds))
        critical = float(scipy.stats.binom.isf(level, guesses, null)) + 1
        return critical <= guesses and float(scipy.stats.binom.sf(critical - 1, guesses, share)) >= power

    return _first(enough)


def _first(enough: Callable[[float], bool]) -> float:
    """The least number from which on it is enough, to one part in a thousand; inf beyond what can be run."""
    high = 16.0
    while not enough(high):
        high *= 2
        if high > 4 * MOST_TRIALS:
            return math.inf
    low = high / 2
    while high > low * 1.001 + 1:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.ceil(high)


def _taught(alone: float, guessed: float, kind: str, claim: ApproxDP, must_detect: float, power: float) -> int:
    """Trials on each input of an audit that learns its event, where so many would do were it known.

    Args:
        guessed: share of the trials in which the event guesses the input.
        kind: of outputs: "outcomes", of which there are few, "integers", "line" (real, with a log-ratio that is one),
            or "kinks".
    """
    asked = (0.5 + float(scipy.special.ndtri(power)) / MEASURED) ** 2
    if kind == "outcomes":
        trials = OUTCOMES * alone
    elif kind == "line":
        trials = LINE[0] * alone + asked * LINE[1] / min(must_detect, LARGEST) ** 2
    else:
        times, runs = GRID if kind == "integers" else KINKS
        gap = min(must_detect - claim.epsilon, LARGEST)
        trials = times * alone + asked * runs / math.sqrt(guessed * gap**3)
    return max(FEWEST_TRIALS, math.ceil(trials))


FEW_OUTCOMES, SHOWN = 8, 1_000
"""Most different outputs that count as few, and outputs on each input of which they are counted."""


def _kind(mechanism: Mechanism, pair: tuple[Any, Any], claim: ApproxDP, seed: int, halts: bool) -> str:
    """The kind of outputs of a mechanism, as `_taught` takes it."""
    runner = Runner(mechanism, pair, seed, Encoder(mechanism_name(mechanism), halts=halts), SHOWN)
    distinct = distinct_rows(np.concatenate([runner.outputs(side, SHOWN, "planned").matrix for side in (0, 1)]))
    if distinct <= FEW_OUTCOMES:
        return "outcomes"
    if 4 * distinct < 2 * SHOWN:
        return "integers"
    return "line" if claim.delta > 0 else "kinks"


def _piloted(
    pilot: tuple[Mechanism, Any, Any],
    claim: ApproxDP,
    must_detect: float,
    level: float,
    power: float,
    *,
    adjacency: str | None,
    halts: bool,
    seed: int,
) -> tuple[Requirement, float]:
    """What is needed at the share of guesses that a short audit of the mechanism makes, and the seconds of one run."""
    mechanism, data, neighbour = pilot
    start = time.perf_counter()
    options: dict[str, Any] = {"adjacency": adjacency, "halts": halts, "seed": seed}
    result = audit(mechanism, data, neighbour, claim, trials=PILOT, failure_probability=level, **options)
    each = (time.perf_counter() - start) / (2 * PILOT)
    counts = result.counts
    guessed = (counts["right"] + counts["wrong"]) / max(1, counts["samples"])

    def enough(samples: float) -> bool:
        value = detectable_epsilon(
            math.floor(samples * guessed), math.floor(samples), claim.epsilon, claim.delta, level, power
        )
        return value <= must_detect

    samples = _first(enough) if guessed else math.inf
    if not math.isfinite(samples):
        raise InvalidInput(
            f"the pilot's event ({result.event}) could not refute a true epsilon of {must_detect:g} in "
            f"{MOST_TRIALS:,} runs on each input; ask for a larger one, or for another score"
        )
    kind = _kind(mechanism, (data, neighbour), claim, seed, halts)
    trials = _taught(samples / 2, guessed, kind, claim, must_detect, power)
    law = f"pilot of {result.mechanism}"
    return Requirement(law, result.event, guessed, math.ceil(samples / 2), trials), each


def detectable_at_best(claim: Guarantee, trials: int, failure_probability: float) -> float:
    """The least true epsilon that so many trials on each input can refute with 95 % power, were every output guessed.

    Of a curve at delta = 1e-5, where an anytime audit bounds epsilon.
    """
    delta = claim.delta if isinstance(claim, ApproxDP) else CURVE_DELTA
    level = failure_probability * spending.split(claim, "fixed")["bound"]
    share, most = plans.FEW_LEARNED
    counted = 2 * round(min(0.9 * trials, max((1 - share) * trials, trials - most)))
    return detectable_epsilon(counted, counted, claim.epsilon_at(delta), delta, level, 0.95)


def duration(seconds: float) -> str:
    """In words, in the unit that suits it."""
    for size, unit in ((365.25 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.2g} seconds"
