"""A guess at the cause of a violation, from the ratio of the observed noise to the claimed one."""

from __future__ import annotations

import math

from scipy import optimize

from dpcheck.privacy import gaussian_delta

_CAUSES = (
    (2.0, "sensitivity 1/n where the noise expects 2/n, or the reverse"),
    (math.sqrt(2.0), "noise of one direction or one of two releases forgotten (√2)"),
    (math.sqrt(10.0), "noise of one of ten steps, not composed (√10)"),
    (10.0, "ten releases charged as one"),
    (3.0, "three releases charged as one"),
    (4.0, "sensitivity and scale both off by two"),
)


def likely_cause(estimate: float, lower: float, claimed: float, delta: float) -> str:
    """In words, with the ratio and half the width of its interval; "" when no common factor fits or it is unclear.

    Args:
        estimate, lower: observed epsilon and its certified lower bound, at `delta`; claimed: the claim there.
    """
    if not (lower > claimed > 0 and math.isfinite(estimate) and estimate > lower):
        return ""
    scale = _multiple if delta == 0 else _noise_multiple
    ratio, least = scale(estimate, claimed, delta), scale(lower, claimed, delta)
    half = ratio - least
    if not half < 0.25 * ratio:
        return ""
    factor, cause = min(_CAUSES, key=lambda c: abs(c[0] - ratio))
    if abs(factor - ratio) > max(half, 0.02 * ratio):
        return ""
    return f"{cause} (ratio {ratio:.1f} ± {max(half, 0.05):.1f})"


def _multiple(epsilon: float, claimed: float, delta: float) -> float:
    return epsilon / claimed


def _noise_multiple(epsilon: float, claimed: float, delta: float) -> float:
    """Ratio of the Gaussian shifts that give the two epsilons at this delta."""

    def shift(e: float) -> float:
        return float(optimize.brentq(lambda mu: gaussian_delta(mu, e) - delta, 1e-6, 200.0))

    return shift(epsilon) / shift(claimed)
