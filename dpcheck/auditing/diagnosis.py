"""Candidates for the cause of a violation, from the ratio of the observed epsilon, or noise, to the claimed one."""

from __future__ import annotations

import math

import scipy

from dpcheck.privacy import gaussian_delta

_NOISE = {
    2.0: ("noise for a sensitivity of 1/n where 2/n is right",),
    math.sqrt(2.0): ("noise of one direction or one of two releases forgotten",),
    math.sqrt(10.0): ("noise of one of ten steps, not composed",),
    4.0: ("sensitivity and scale both off by two",),
}
"""Factor -> candidates that make sense of numbers only."""
_BUDGET = {
    2.0: ("a budget used twice", "ε where ε/2 is meant"),
    3.0: ("three releases charged as one",),
    4.0: ("four releases charged as one",),
    10.0: ("ten releases charged as one",),
}
_FACTORS = sorted({*_NOISE, *_BUDGET})


def likely_cause(estimate: float, lower: float, claimed: float, delta: float, *, numbers: bool = True) -> str:
    """All that fit, with the ratio and half the width of its interval; "" when no common factor fits or it is unclear.

    Args:
        numbers: outputs are numbers, to which noise may have been added.
        estimate, lower: observed epsilon and its certified lower bound, at `delta`; claimed: the claim there.
    """
    if not (lower > claimed > 0 and math.isfinite(estimate) and estimate > lower):
        return ""
    scale = _multiple if delta == 0 else _noise_multiple
    ratio, least = scale(estimate, claimed, delta), scale(lower, claimed, delta)
    half = ratio - least
    if not half < 0.25 * ratio:
        return ""
    known = {factor: (*(_NOISE.get(factor, ()) if numbers else ()), *_BUDGET.get(factor, ())) for factor in _FACTORS}
    factor = min((f for f in known if known[f]), key=lambda f: abs(f - ratio))
    if abs(factor - ratio) > max(half, 0.02 * ratio):
        return ""
    return f"a factor {factor:.3g} (ratio {ratio:.1f} ± {max(half, 0.05):.1f}): {', or '.join(known[factor])}"


def _multiple(epsilon: float, claimed: float, delta: float) -> float:
    return epsilon / claimed


def _noise_multiple(epsilon: float, claimed: float, delta: float) -> float:
    """Ratio of the Gaussian shifts that give the two epsilons at this delta."""

    def shift(e: float) -> float:
        return float(scipy.optimize.brentq(lambda mu: gaussian_delta(mu, e) - delta, 1e-6, 200.0))

    return shift(epsilon) / shift(claimed)
