"""One-run audits: many canaries, each in or out of the data by a fair coin, and a single run of the mechanism.

For mechanisms whose single run is dear. Every record is its own experiment; privacy limits how many coins can be
guessed from one output. Under adjacency by adding or removing one record.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpcheck import seeds
from dpcheck.auditing.handing import handed
from dpcheck.auditing.inputs import check_claim, check_failure_probability, check_seed, number_array
from dpcheck.auditing.mechanisms import mechanism_name
from dpcheck.auditing.result import percent
from dpcheck.auditing.runner import failed
from dpcheck.errors import InvalidInput, MechanismError
from dpcheck.privacy import ApproxDP, GaussianDP, Guarantee
from dpcheck.statistics.binomial import invert_upwards
from dpcheck.verdicts import Outcome, Verdict

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class OneRunResult:
    """What one run said of a claim: REFUTED or UNDECIDED, for what it could have refuted depends on the caller's score.

    Attributes:
        p_value: of the claim; epsilon_lower: certified at the claim's delta (0 for a claimed curve, which has none).
        right: correct guesses among `guesses`, of `canaries` coins.
    """

    outcome: Outcome
    claim: Guarantee
    p_value: float
    epsilon_lower: float
    right: int
    guesses: int
    canaries: int
    mechanism: str
    failure_probability: float
    seed: int

    def reason(self) -> str:
        counts = f"{self.right} of {self.guesses} guesses right, {self.canaries} canaries, one run"
        sure = percent(self.failure_probability)
        if self.outcome is Outcome.REFUTED:
            return f"{self.mechanism} is not {self.claim} ({sure}): {counts}"
        bound = f"certified ε ≥ {self.epsilon_lower:.2f} ({sure})"
        return f"{self.mechanism} is not refuted to be {self.claim}: {bound}, {counts}"

    def verdict(self) -> Verdict:
        return Verdict(
            outcome=self.outcome,
            reason=self.reason(),
            evidence="sampled",
            failure_probability=self.failure_probability,
            numbers={
                "p_value": self.p_value,
                "epsilon_lower": self.epsilon_lower,
                "right": self.right,
                "guesses": self.guesses,
                "canaries": self.canaries,
            },
        )

    def __str__(self) -> str:
        return f"{self.outcome.value.upper()}  {self.reason()}"


def audit_one_run(
    mechanism: Callable[[Any, np.random.Generator], Any],
    canaries: ArrayLike,
    claim: Guarantee,
    score: Callable[[Any, Array], ArrayLike],
    *,
    base: ArrayLike | None = None,
    guesses: int | None = None,
    failure_probability: float = 0.05,
    seed: int = 0,
) -> OneRunResult:
    """Audits a mechanism from one run.

    Args:
        mechanism: `mechanism(records, rng)` -> any output.
        canaries: (m, ...) records, each included by a fair coin.
        claim: under add-remove adjacency. For a curve the test of `curve_is_refuted`; for an (epsilon, delta) claim the
            sharper of it and of that of Steinke, Nasr and Jagielski 2023 (Theorem 5.2).
        score: `score(output, canaries)` -> (m,): larger means more likely included.
        base: further records, always included.
        guesses: how many coins to guess, the most and the least likely half each, fixed beforehand; None: all.

    Raises:
        InvalidInput, MechanismError: bad arguments; the mechanism or the score failed.
    """
    check_failure_probability(failure_probability)
    check_claim(claim)
    seed = check_seed(seed)
    records = number_array("canaries", canaries)
    m = len(records)
    if m < 2 or not np.isfinite(records).all():
        raise InvalidInput(f"canaries must hold at least 2 finite records on axis 0, got shape {records.shape}")
    told = m if guesses is None else guesses
    if isinstance(told, bool) or not isinstance(told, int) or not 2 <= told <= m:
        raise InvalidInput(f"guesses must lie between 2 and the {m} canaries, got {guesses!r}")
    included = seeds.stream(seed, "one-run", "coins").random(m) < 0.5
    always = records[:0] if base is None else number_array("base", base)
    if always.shape[1:] != records.shape[1:]:
        raise InvalidInput(
            f"base must hold records of shape {records.shape[1:]} on axis 0, as canaries does, got shape {always.shape}"
        )
    data = np.concatenate([always, records[included]])
    name = mechanism_name(mechanism)
    try:
        output = mechanism(handed(data), seeds.stream(seed, "one-run", "noise"))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise failed(mechanism, name, f"{len(data)} records", error) from error
    values = _scores(score, output, handed(records))
    if values.shape != (m,) or np.isnan(values).any():
        raise MechanismError(f"the score must return ({m},) numbers, got shape {values.shape}")
    # Ties are broken by a coin of their own, never by the order of the canaries.
    order = np.lexsort((seeds.stream(seed, "one-run", "ties").random(m), values))
    low, high = order[: told // 2], order[m - (told - told // 2) :]
    right = int((~included[low]).sum() + included[high].sum())
    return _conclude(claim, right, told, m, failure_probability, name, seed)


def _scores(score: Callable[[Any, Array], ArrayLike], output: Any, records: Array) -> Array:
    """Raises `MechanismError` when the score fails, or returns no numbers."""
    try:
        return np.asarray(score(output, records)).astype(float)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise MechanismError(
            f"the score raised or returned no numbers ({type(error).__name__}: {error}); it must map "
            "(output, canaries) to one number for each canary"
        ) from error


def _conclude(
    claim: Guarantee, right: int, guesses: int, canaries: int, alpha: float, name: str, seed: int
) -> OneRunResult:
    lower, p = 0.0, curve_p_value(right, guesses, canaries, claim)
    if isinstance(claim, ApproxDP):

        def on_curve(epsilon: float) -> float:
            least = _least_at_a_point(epsilon, claim.delta)
            return float(2 * right <= guesses or not _contradicts(right, guesses, canaries, least, alpha))

        # Both bound the same chance, whatever was seen: the smaller one does, too.
        p = min(p, one_run_p_value(right, guesses, canaries, claim.epsilon, claim.delta))
        printed = invert_upwards(lambda e: one_run_p_value(right, guesses, canaries, e, claim.delta), alpha)
        lower = max(printed, invert_upwards(on_curve, alpha))
    return OneRunResult(
        outcome=Outcome.REFUTED if p <= alpha else Outcome.UNDECIDED,
        claim=claim,
        p_value=p,
        epsilon_lower=lower,
        right=right,
        guesses=guesses,
        canaries=canaries,
        mechanism=name,
        failure_probability=alpha,
        seed=seed,
    )


def one_run_p_value(right: int, guesses: int, canaries: int, epsilon: float, delta: float = 0.0) -> float:
    """P(at least `right` of `guesses` coins guessed | (epsilon, delta)-DP), Steinke, Nasr, Jagielski 2023, Theorem 5.2.

    With B ~ Bin(guesses, e^epsilon / (1 + e^epsilon)) it is at most
    P(B >= right) + 2 canaries delta max_i P(right - i <= B < right) / i.
    """
    if not 0 <= right <= guesses <= canaries:
        raise InvalidInput(f"need 0 <= right <= guesses <= canaries, got {right}, {guesses}, {canaries}")
    share = 1 / (1 + math.exp(-epsilon))
    tail = float(scipy.stats.binom.sf(right - 1, guesses, share))
    if delta == 0 or right == 0:
        return min(1.0, tail)
    below = np.cumsum(scipy.stats.binom.pmf(np.arange(right - 1, -1, -1), guesses, share))
    return min(1.0, tail + 2 * canaries * delta * float(np.max(below / np.arange(1, right + 1))))


def curve_is_refuted(
    right: int, canaries: int, claim: Guarantee, failure_probability: float, guesses: int | None = None
) -> bool:
    """Whether `right` right ones of a fixed number of guesses contradict a trade-off curve f.

    Mahloujifar, Melis and Chaudhuri 2024, Algorithm 3, for k guesses of m coins. Of a random canary let r_j be the
    chance that it is guessed, rightly, and at least j guesses are right; h_j the same of a wrong guess; and p_j that
    of j right ones, so that r_j = r_{j+1} + p_j j / m and h_j = h_{j+1} + p_j (k - j) / m. Given the other coins,
    "guessed to be in, and at least j others rightly" is an event, with the coin right in r_{j+1} and wrong in h_j: so
    h_j >= f(1 - r_{j+1}), by convexity of f for the average over canaries and guesses. With T_j = P(at least j right),
    r_{j+1} = (j T_{j+1} + sum_{l > j} T_l) / m: every T_j is least where those above it are. From T_right =
    failure_probability, and nothing above, T_0 > 1 is a contradiction. Abstentions enter nowhere else.
    """
    told = canaries if guesses is None else guesses
    return right > told / 2 and _contradicts(right, told, canaries, _inverse_blow_up(claim), failure_probability)


def _contradicts(right: int, guesses: int, canaries: int, least: Callable[[float], float], level: float) -> bool:
    r, h = level * right / canaries, level * (guesses - right) / canaries
    for j in range(right - 1, -1, -1):
        forced = max(h, least(r))
        r += j / (guesses - j) * (forced - h)
        h = forced
        if (r + h) * canaries > guesses:
            return True
    return False


HALVINGS = 24
"""Of the logarithm of a p-value between 1 and `SMALLEST`: to a factor 1 + 1e-6."""
SMALLEST = 1e-9


def curve_p_value(right: int, guesses: int, canaries: int, claim: Guarantee) -> float:
    """The largest chance that a curve leaves to at least `right` of `guesses` right guesses, from above."""
    if right <= guesses / 2:
        return 1.0
    least = _inverse_blow_up(claim)
    low, high = math.log(SMALLEST), 0.0
    if _contradicts(right, guesses, canaries, least, SMALLEST):
        return SMALLEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _contradicts(right, guesses, canaries, least, math.exp(middle)) else (middle, high)
    return math.exp(high)


def _inverse_blow_up(claim: Guarantee) -> Callable[[float], float]:
    """y -> f(1 - y): the least mass that an event of mass y may have on the other input."""
    if isinstance(claim, GaussianDP):
        mu = claim.mu
        return lambda y: float(scipy.special.ndtr(scipy.special.ndtri(y) - mu))
    if isinstance(claim, ApproxDP):
        return _least_at_a_point(claim.epsilon, claim.delta)
    eps = np.concatenate([[0.0], np.geomspace(1e-3, 40.0, 400)])
    slack = np.array([1 - claim.delta_at(float(e)) for e in eps])
    scale = np.exp(eps)

    def least(y: float) -> float:
        x = 1 - y
        return max(0.0, float(np.max(slack - scale * x)), float(np.max((slack - x) / scale)))

    return least


def _least_at_a_point(epsilon: float, delta: float) -> Callable[[float], float]:
    ratio = math.exp(min(epsilon, 700.0))
    return lambda y: max(0.0, 1 - delta - ratio * (1 - y), (y - delta) / ratio)
