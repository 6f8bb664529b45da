"""Witnesses of sampled audits: the certified epsilon, again from the counts, in 50 digits and by another route."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import mpmath

from dpcheck import foreign
from dpcheck.witnesses import Violation

__all__ = ["event_counts", "fitted_counts", "pair_counts", "stopped_counts"]

_DIGITS = 50
_MOST = 10**11
"""Trials that an audit could have run: ten times as many as the longest that anyone plans, and summed in seconds."""
_NEAR = mpmath.mpf("1e-25")
"""Last step of a root, relative."""
_NUISANCE = 50
"""One part in 50 of the failure probability confines the chance of a guess, or the leaks, when delta > 0."""


Certify: TypeAlias = Callable[[int, int, int, Fraction, Fraction], mpmath.mpf]
"""(right, wrong, samples, delta, failure probability) -> a lower bound on epsilon, 0 when there is no evidence."""


def _witness_of(certify: Certify, about: str, *, of_pairs: bool = False) -> Callable[..., Violation]:
    """The kind of witness that says: counts like these would hardly come about, were the mechanism as private as said.

    What it takes, all by name: right, wrong, samples: counts, at least 0, right + wrong <= samples; epsilon, delta: the
    claim, as decimals or rationals; failure_probability: of the certificate; label: the statement refuted; directions:
    1 when guesses name one of the inputs only, so that delta counts in half of the trials; what else it carries (event,
    pair, values of both inputs, seed) is for readers.
    """

    def recompute(
        *,
        right: int,
        wrong: int,
        samples: int,
        epsilon: str,
        delta: str,
        failure_probability: str,
        label: str,
        directions: int = 2,
        **description: Any,
    ) -> Violation:
        claimed, leak, alpha = (foreign.fraction(value) for value in (epsilon, delta, failure_probability))
        right, wrong, samples = (foreign.integer(value) for value in (right, wrong, samples))
        if isinstance(directions, bool) or directions not in (1, 2):
            raise ValueError("guesses name one input or both: directions must be 1 or 2")
        if min(right, wrong) < 0 or not 0 < right + wrong <= samples <= _MOST or not 0 <= leak < 1:
            raise ValueError(
                "counts or delta outside their ranges: 0 <= delta < 1, and at least one guess in at most "
                f"{_MOST:,} trials"
            )
        if claimed < 0 or not 0 < alpha <= Fraction(1, 2):
            raise ValueError(
                "a claim has epsilon >= 0, and a certificate a failure probability in (0, 1/2], its ranges"
            )
        if of_pairs and leak != 0:
            raise ValueError(f"pairs of outputs say nothing where delta is above 0, got {delta}")
        if of_pairs and 2 * (right + wrong) > samples:
            raise ValueError(f"{right} and {wrong} pairs are of more outputs than the {samples} trials have")
        with mpmath.workdps(_DIGITS):
            by_name = certify(right, wrong, samples, leak * directions / 2, alpha)
            allowed = _real(claimed)
            counted, told = ("pairs of equal outputs", "of one input") if of_pairs else ("guesses", "right")
            return Violation(
                claimed=allowed,
                found=by_name,
                statement=f"the mechanism is ({epsilon}, {delta})-DP on this pair (certified epsilon <= {epsilon})",
                violated=bool(by_name > allowed),
                label=label,
                testimony=(
                    f"that {right:,} of {right + wrong:,} {counted} in {samples:,} trials were {told} is the word of "
                    "whoever wrote the witness; recomputed was the arithmetic: where the statement holds, counts like "
                    f"these come about with probability at most {failure_probability}"
                ),
            )

    recompute.__doc__ = about
    return recompute


def certified_epsilon(right: int, wrong: int, samples: int, delta: Fraction, alpha: Fraction) -> mpmath.mpf:
    """Lower bound on epsilon at `delta` from right and wrong guesses of the input in coin-flipped trials.

    Given the number of guesses, `right` is at most binomial with probability (e^epsilon + delta/s) / (1 + e^epsilon),
    s the chance of a guess; s is replaced by its Clopper-Pearson lower bound at 1/50 of the failure probability, which
    is spent only when delta > 0.
    """
    if right == 0:
        return mpmath.mpf(0)
    guesses, level = right + wrong, _real(alpha)
    spent = level / _NUISANCE if delta else mpmath.mpf(0)
    share = _least_chance(right, guesses, level - spent)
    # share = (e^eps + delta/s) / (1 + e^eps), solved for e^eps.
    leaked = _real(delta) / _least_chance(guesses, samples, spent) if delta else mpmath.mpf(0)
    odds = (share - leaked) / (1 - share)
    return mpmath.log(odds) if odds > 1 else mpmath.mpf(0)


event_counts = _witness_of(
    certified_epsilon, "Of guesses of the input by a rule that was fixed beforehand; see `certified_epsilon`."
)


def pair_epsilon(right: int, wrong: int, samples: int, delta: Fraction, alpha: Fraction) -> mpmath.mpf:
    """Lower bound on epsilon from pairs of outputs of one value, `right` of which came from one input.

    No two pairs share an output, and which make one was drawn without their inputs. Where epsilon holds, each is of one
    input with chance at most (1 + e^(2 epsilon)) / (1 + e^epsilon)^2, whatever the others are: odds of cosh epsilon.
    """
    return mpmath.acosh(mpmath.exp(certified_epsilon(right, wrong, samples, Fraction(0), alpha)))


pair_counts = _witness_of(
    pair_epsilon, "Of pairs of outputs of one value, where delta is 0; see `pair_epsilon`.", of_pairs=True
)


def fitted_epsilon(right: int, wrong: int, samples: int, delta: Fraction, alpha: Fraction) -> mpmath.mpf:
    """Lower bound on epsilon at `delta`: leaks up to a quantile count as right guesses that say nothing.

    For a rule that saw where its outputs fell, not which inputs they came from: given where they fell and which trials
    leaked, Bin(samples, delta) of them, those that did not are right with probability at most
    e^epsilon / (1 + e^epsilon). The quantile is exceeded with 1/50 of the failure probability at most.
    """
    level = _real(alpha)
    spent = level / _NUISANCE if delta else mpmath.mpf(0)
    leaks = _most_leaks(samples, _real(delta), spent) if delta else 0
    if right <= leaks:
        return mpmath.mpf(0)
    share = _least_chance(right - leaks, right + wrong - leaks, level - spent)
    return max(mpmath.mpf(0), mpmath.log(share / (1 - share)))


fitted_counts = _witness_of(
    fitted_epsilon, "Of guesses by a rule that saw where its outputs fell; see `fitted_epsilon`."
)


_BETS = 256
"""Stakes of the mixture below."""


def stopped_epsilon(right: int, wrong: int, samples: int, delta: Fraction, alpha: Fraction) -> mpmath.mpf:
    """Lower bound on epsilon at `delta`, valid whenever the counting stopped; 0 when there is no evidence.

    Under (epsilon, delta)-DP a trial is a right guess at most e^epsilon times as often as a wrong one, plus delta.
    So 1 + u ([right] - e^epsilon [wrong] - delta) / (e^epsilon + delta), 0 <= u < 1, has mean at most 1 whatever came
    before, and the average over u of its product over trials reaches 1/alpha with probability at most alpha (Ville
    1939; Robbins 1970).
    """
    leak, needed = _real(delta), -mpmath.log(_real(alpha))
    stakes = [(mpmath.mpf(k) + mpmath.mpf(1) / 2) / _BETS for k in range(_BETS)]

    def wealth(epsilon: mpmath.mpf) -> mpmath.mpf:
        most = mpmath.exp(epsilon) + leak
        logs = [
            right * mpmath.log1p(u * (1 - leak) / most)
            + wrong * mpmath.log1p(-u)
            + (samples - right - wrong) * mpmath.log1p(-u * leak / most)
            for u in stakes
        ]
        top = max(logs)
        return top + mpmath.log(mpmath.fsum(mpmath.exp(x - top) for x in logs) / _BETS)

    low, high = mpmath.mpf(0), mpmath.mpf(1)
    if wealth(low) < needed:
        return low
    while wealth(high) >= needed:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if wealth(middle) >= needed else (low, middle)
    return low


stopped_counts = _witness_of(
    stopped_epsilon, "Of guesses whose counting was stopped at a time chosen by looking at them; see `stopped_epsilon`."
)


def _real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _least_chance(at_least: int, trials: int, level: mpmath.mpf) -> mpmath.mpf:
    """Largest p with P(Bin(trials, p) >= at_least) <= level, from below; at_least must be above 0, level below 1.

    The logarithm of the tail is concave in log p, since that of its derivative is. So a step of Newton's method never
    goes beyond the root, and every one from the first on stays on its safe side.
    """
    with mpmath.workdps(_DIGITS):
        log_p, step = mpmath.log(mpmath.mpf(at_least) / (trials + 1)), mpmath.mpf(1)
        while abs(step) > _NEAR:
            p = mpmath.exp(log_p)
            tail = _tail(at_least, trials, p)
            # The tail grows by at_least P(Bin(trials, p) = at_least) where log p does by 1.
            step = mpmath.log(tail / level) * tail / (at_least * _mass(at_least, trials, p))
            log_p -= step
        return mpmath.exp(log_p)


def _most_leaks(trials: int, delta: mpmath.mpf, chance: mpmath.mpf) -> int:
    """The fewest leaks that more than are had with at most this chance; delta must be above 0."""

    def enough(leaks: int) -> bool:
        return bool(_tail(leaks + 1, trials, delta) <= chance)

    low, reach = int(trials * delta) - 1, 1
    while low >= 0 and enough(low):
        low, reach = max(-1, low - reach), 2 * reach
    high, reach = low + 1, 1
    while not enough(high):
        low, high, reach = high, min(trials, high + reach), 2 * reach
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _tail(at_least: int, trials: int, p: mpmath.mpf) -> mpmath.mpf:
    """P(Bin(trials, p) >= at_least), summed from the nearer end; terms shrink geometrically."""
    if at_least <= 0:
        return mpmath.mpf(1)
    if at_least <= trials * p:
        return 1 - _sum(at_least - 1, trials, p, -1)
    return _sum(at_least, trials, p, 1)


def _mass(k: int, trials: int, p: mpmath.mpf) -> mpmath.mpf:
    """P(Bin(trials, p) = k)."""
    log_ways = mpmath.loggamma(trials + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(trials - k + 1)
    return mpmath.exp(log_ways + k * mpmath.log(p) + (trials - k) * mpmath.log1p(-p))


def _sum(start: int, trials: int, p: mpmath.mpf, step: int) -> mpmath.mpf:
    """P(Bin(trials, p) <= start), or >= start, by the sign of the step; each term in parts of 10^-50 of the first."""
    if start > trials:
        return mpmath.mpf(0)
    one = 10**_DIGITS
    odds = int(p / (1 - p) * one) if step > 0 else int((1 - p) / p * one)
    term, total, k = one, 0, start
    while term > total // 10**30:
        total += term
        ways, by = (trials - k, k + 1) if step > 0 else (k, trials - k + 1)
        term, k = term * ways * odds // (by * one), k + step
    return _mass(start, trials, p) * total / one
