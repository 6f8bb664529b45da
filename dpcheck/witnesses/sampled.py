"""Witnesses of sampled audits: the certified epsilon, again from the counts, in 50 digits and by another route."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath

from dpcheck import foreign
from dpcheck.witnesses import Violation

__all__ = ["event_counts", "fitted_counts", "pair_counts", "stopped_counts"]

_DIGITS = 50
_MOST = 10**12
"""Trials that an audit could have run."""
_NUISANCE = 50
"""One part in 50 of the failure probability confines the chance of a guess, or the leaks, when delta > 0."""


def event_counts(
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
    """Certified lower bound on epsilon from right and wrong guesses of the input in coin-flipped trials.

    Given the number of guesses, `right` is at most binomial with probability (e^epsilon + delta/s) / (1 + e^epsilon),
    s the chance of a guess; s is replaced by its Clopper-Pearson lower bound at 1/50 of the failure probability, which
    is spent only when delta > 0.

    Args:
        right, wrong, samples: counts; at least 0, right + wrong <= samples.
        epsilon, delta: the claim, as decimals or rationals; failure_probability: of the certificate.
        label: the statement refuted.
        directions: 1 when guesses name one of the inputs only, so that delta counts in half of the trials.
        description: event, pair, values of both inputs, seed and so on, for readers.
    """
    return _recomputed(certified_epsilon, right, wrong, samples, epsilon, delta, failure_probability, label, directions)


def fitted_counts(
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
    """As `event_counts`, for a rule that saw where its outputs fell, not which inputs they came from.

    Given where they fell and which trials leaked (Bin(samples, delta) of them), those that did not leak are right with
    probability at most e^epsilon / (1 + e^epsilon); see `fitted_epsilon`.
    """
    return _recomputed(fitted_epsilon, right, wrong, samples, epsilon, delta, failure_probability, label, directions)


def stopped_counts(
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
    """As `event_counts`, for counts that were stopped at a time chosen by looking at them; see `stopped_epsilon`."""
    return _recomputed(stopped_epsilon, right, wrong, samples, epsilon, delta, failure_probability, label, directions)


def pair_counts(
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
    """As `event_counts`, for pairs of outputs of one value, `right` of which came from one input; delta must be 0.

    No two pairs share an output, and which make one was drawn without their inputs. Where epsilon holds, each is of one
    input with chance at most (1 + e^(2 epsilon)) / (1 + e^epsilon)^2, whatever the others are; see `pair_epsilon`.
    """
    if foreign.fraction(delta) != 0:
        raise ValueError(f"pairs of outputs say nothing where delta is above 0, got {delta}")
    if 2 * (foreign.integer(right) + foreign.integer(wrong)) > foreign.integer(samples):
        told = [foreign.shortened(number) for number in (right, wrong, samples)]
        raise ValueError(f"{told[0]} and {told[1]} pairs are of more outputs than the {told[2]} trials have")
    return _recomputed(
        pair_epsilon,
        right,
        wrong,
        samples,
        epsilon,
        delta,
        failure_probability,
        label,
        directions,
        "pairs of equal outputs",
    )


def _recomputed(
    certify: Callable[[int, int, int, Fraction, Fraction], mpmath.mpf],
    right: int,
    wrong: int,
    samples: int,
    epsilon: str,
    delta: str,
    failure_probability: str,
    label: str,
    directions: int,
    counted: str = "guesses",
) -> Violation:
    claimed, leak, alpha = (foreign.fraction(value) for value in (epsilon, delta, failure_probability))
    right, wrong, samples = (foreign.integer(value) for value in (right, wrong, samples))
    if isinstance(directions, bool) or directions not in (1, 2):
        raise ValueError("guesses name one input or both: directions must be 1 or 2")
    if min(right, wrong) < 0 or not 0 < right + wrong <= samples <= _MOST or not 0 <= leak < 1:
        raise ValueError(
            f"counts or delta outside their ranges: 0 <= delta < 1, and at least one guess in at most {_MOST:,} trials"
        )
    if claimed < 0 or not 0 < alpha <= Fraction(1, 2):
        raise ValueError("a claim has epsilon >= 0, and a certificate a failure probability in (0, 1/2], its ranges")
    with mpmath.workdps(_DIGITS):
        by_name = certify(right, wrong, samples, leak * directions / 2, alpha)
        allowed = mpmath.mpf(claimed.numerator) / claimed.denominator
        return Violation(
            claimed=allowed,
            found=by_name,
            statement=f"the mechanism is ({epsilon}, {delta})-DP on this pair (certified epsilon <= {epsilon})",
            violated=bool(by_name > allowed),
            label=label,
            testimony=(
                f"that {right:,} of {right + wrong:,} {counted} in {samples:,} trials were "
                f"{'right' if counted == 'guesses' else 'of one input'} is the word of whoever "
                "wrote the witness; recomputed was the arithmetic: where the statement holds, counts like these come "
                f"about with probability at most {failure_probability}"
            ),
        )


def certified_epsilon(right: int, wrong: int, samples: int, delta: Fraction, alpha: Fraction) -> mpmath.mpf:
    """Lower bound on epsilon at `delta`; 0 when there is no evidence."""
    guesses = right + wrong
    level = _real(alpha)
    if guesses == 0:
        return mpmath.mpf(0)
    if delta == 0:
        share = _bisect(lambda t: _tail(right, guesses, t), level) if right else mpmath.mpf(0)
        return max(mpmath.mpf(0), mpmath.log(share / (1 - share))) if 0 < share < 1 else mpmath.mpf(0)
    spent = level / _NUISANCE
    chance = _bisect(lambda s: _tail(guesses, samples, s), spent)
    share = _bisect(lambda t: _tail(right, guesses, t), level - spent) if right else mpmath.mpf(0)
    # share = (e^eps + delta/s) / (1 + e^eps), solved for e^eps.
    odds = (share - _real(delta) / chance) / (1 - share)
    return mpmath.log(odds) if odds > 1 else mpmath.mpf(0)


def pair_epsilon(right: int, wrong: int, samples: int, delta: Fraction, alpha: Fraction) -> mpmath.mpf:
    """Lower bound on epsilon: a pair is of one input with odds of at most cosh epsilon."""
    return mpmath.acosh(mpmath.exp(certified_epsilon(right, wrong, samples, Fraction(0), alpha)))


def fitted_epsilon(right: int, wrong: int, samples: int, delta: Fraction, alpha: Fraction) -> mpmath.mpf:
    """Lower bound on epsilon at `delta`: leaks up to a quantile count as right guesses that say nothing.

    The quantile is exceeded with 1/50 of the failure probability at most.
    """
    level = _real(alpha)
    spent = level / _NUISANCE if delta else mpmath.mpf(0)
    low, leaks = -1, samples if delta else 0
    while leaks - low > 1:
        middle = (low + leaks) // 2
        low, leaks = (low, middle) if _tail(middle + 1, samples, _real(delta)) <= spent else (middle, leaks)
    if right <= leaks:
        return mpmath.mpf(0)
    share = _bisect(lambda t: _tail(right - leaks, right + wrong - leaks, t), level - spent)
    return max(mpmath.mpf(0), mpmath.log(share / (1 - share))) if 0 < share < 1 else mpmath.mpf(0)


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


def _real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _tail(at_least: int, trials: int, p: mpmath.mpf) -> mpmath.mpf:
    """P(Bin(trials, p) >= at_least), summed from the nearer end; terms shrink geometrically."""
    if at_least <= 0:
        return mpmath.mpf(1)
    if p <= 0:
        return mpmath.mpf(0)
    if p >= 1:
        return mpmath.mpf(1)
    if at_least <= trials * p:
        return 1 - _sum(at_least - 1, trials, p, -1)
    return _sum(at_least, trials, p, 1)


def _sum(start: int, trials: int, p: mpmath.mpf, step: int) -> mpmath.mpf:
    log_term = mpmath.loggamma(trials + 1) - mpmath.loggamma(start + 1) - mpmath.loggamma(trials - start + 1)
    term = mpmath.exp(log_term + start * mpmath.log(p) + (trials - start) * mpmath.log1p(-p))
    odds, total, k = p / (1 - p), mpmath.mpf(0), start
    while 0 <= k <= trials and term > total * mpmath.mpf(10) ** -30:
        total += term
        term = term * (trials - k) / (k + 1) * odds if step > 0 else term * k / ((trials - k + 1) * odds)
        k += step
    return total


def _bisect(tail: Callable[[mpmath.mpf], mpmath.mpf], level: mpmath.mpf) -> mpmath.mpf:
    """Largest p with tail(p) <= level, tail growing from 0 to 1."""
    low, high = mpmath.mpf(0), mpmath.mpf(1)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) <= level else (low, middle)
    return low
