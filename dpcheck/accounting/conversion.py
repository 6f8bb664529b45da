"""Between pure, approximate, zero-concentrated, Rényi and Gaussian differential privacy; group privacy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy  # `scipy.optimize` takes a quarter of a second: loaded on first use
from numpy.typing import NDArray

from dpcheck import numerics
from dpcheck.errors import InvalidInput
from dpcheck.privacy import pure_to_zcdp

Array = NDArray[np.float64]
RenyiCurve = Callable[[float], float]
"""alpha > 1 -> Rényi divergence of that order."""

ORDERS: Array = 1 + np.geomspace(1e-3, 1e7, 401)
"""Orders at which a Rényi curve is tried first; larger ones follow while the largest is the best."""
LARGEST = 1e100


def check_delta(delta: float) -> None:
    """Raises `InvalidInput` unless 0 <= delta < 1."""
    if not 0 <= delta < 1:
        raise InvalidInput(f"delta must lie in [0, 1), got {delta!r}; 0 is pure DP")


def check_nonnegative(name: str, value: float) -> None:
    """Raises `InvalidInput` unless value >= 0."""
    if not value >= 0:
        raise InvalidInput(f"{name} must be >= 0, got {value!r}")


def renyi_to_epsilon(alpha: float, divergence: float, delta: float) -> float:
    """(epsilon, delta) from one order: D + (log(1 / delta) - log(alpha - 1) + alpha log(1 - 1/alpha)) / (alpha - 1).

    Canonne, Kamath and Steinke 2020, Proposition 12.
    """
    check_delta(delta)
    if delta == 0:
        return math.inf
    gap = (-math.log(delta) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)) / (alpha - 1)
    return max(0.0, divergence + gap)


def renyi_to_delta(alpha: float, divergence: float, epsilon: float) -> float:
    """delta at epsilon from one order; the inverse of `renyi_to_epsilon`."""
    exponent = (alpha - 1) * (divergence - epsilon) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)
    return math.exp(min(exponent, 0.0))


def _best_order(objective: Callable[[float], float], orders: Array) -> float:
    """Smallest value of `objective` over all orders > 1: the best of `orders`, then polished between its neighbours."""
    values = np.array([objective(float(a)) for a in orders])
    best = int(np.argmin(values))
    while best == len(orders) - 1 and orders[-1] < LARGEST:  # an epsilon of 1e-9 takes an order of 1e11
        orders = orders[-1] * np.geomspace(1e-1, 1e4, 51)
        values = np.array([objective(float(a)) for a in orders])
        best = int(np.argmin(values))
    if not np.isfinite(values[best]):
        return float(values[best])
    low, high = (math.log(float(orders[i]) - 1) for i in (max(0, best - 1), min(len(orders) - 1, best + 1)))
    if low == high:
        return float(values[best])
    return min(float(values[best]), numerics.least_value(lambda u: objective(1 + math.exp(u)), low, high))


def curve_to_epsilon(curve: RenyiCurve, delta: float, orders: Array | None = None) -> float:
    """Smallest epsilon at `delta` over all orders of a Rényi curve; only `orders` when they are given."""
    check_delta(delta)
    if delta == 0:
        return math.inf
    if orders is not None:
        return min(renyi_to_epsilon(float(a), curve(float(a)), delta) for a in orders)
    return _best_order(lambda a: renyi_to_epsilon(a, curve(a), delta), ORDERS)


def curve_to_delta(curve: RenyiCurve, epsilon: float, orders: Array | None = None) -> float:
    """Smallest delta at `epsilon` over all orders of a Rényi curve; only `orders` when they are given."""
    if orders is not None:
        return min(renyi_to_delta(float(a), curve(float(a)), epsilon) for a in orders)
    return _best_order(lambda a: renyi_to_delta(a, curve(a), epsilon), ORDERS)


def zcdp_to_epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon that rho-zCDP implies at `delta` over all orders.

    >>> round(zcdp_to_epsilon(rho=0.5, delta=1e-5), 4)
    4.7284
    """
    check_nonnegative("rho", rho)
    if rho == 0:
        return 0.0
    return curve_to_epsilon(lambda a: a * rho, delta) if math.isfinite(rho) else math.inf


def zcdp_to_delta(rho: float, epsilon: float) -> float:
    """Smallest delta that rho-zCDP implies at `epsilon` over all orders."""
    check_nonnegative("rho", rho)
    if rho == 0:
        return max(0.0, -math.expm1(min(epsilon, 0.0)))
    return curve_to_delta(lambda a: a * rho, epsilon) if math.isfinite(rho) else 1.0


def zcdp_to_epsilon_simple(rho: float, delta: float) -> float:
    """rho + 2 sqrt(rho log(1 / delta)), the form that papers quote (Bun and Steinke 2016, Proposition 1.3)."""
    check_nonnegative("rho", rho)
    check_delta(delta)
    return rho + 2 * math.sqrt(rho * -math.log(delta)) if delta > 0 else (0.0 if rho == 0 else math.inf)


def zcdp_for(epsilon: float, delta: float) -> float:
    """Largest rho such that rho-zCDP implies (epsilon, delta)-DP.

    >>> rho = zcdp_for(1.0, 1e-6); round(zcdp_to_epsilon(rho, 1e-6), 9)
    1.0
    """
    check_nonnegative("epsilon", epsilon)
    check_delta(delta)
    if delta == 0 or epsilon == 0:
        return 0.0
    low, high = 0.0, 1.0
    while zcdp_to_epsilon(high, delta) < epsilon:
        low, high = high, 2 * high
    root = scipy.optimize.brentq(lambda r: zcdp_to_epsilon(r, delta) - epsilon, low, high, xtol=1e-300, rtol=1e-12)
    return float(root) * (1 - 1e-12)


def pure_renyi(alpha: float, epsilon: float) -> float:
    """Rényi divergence of order alpha of randomised response, the largest of any epsilon-DP mechanism."""
    if math.isinf(epsilon):
        return math.inf
    if (alpha - 1) * epsilon > 30:
        # log((e^(alpha eps) + e^((1 - alpha) eps)) / (e^eps + 1)), its smaller term and its rounding negligible or kept
        top = _log_of_sum(alpha * epsilon, (1 - alpha) * epsilon) - _log_of_sum(epsilon, 0.0)
        return min(epsilon, top / (alpha - 1))
    p = 1 / (1 + math.exp(-epsilon))
    # First-order terms cancel: sum p e^((alpha - 1) loss) - 1, with losses +-epsilon.
    excess = p * math.expm1((alpha - 1) * epsilon) + (1 - p) * math.expm1(-(alpha - 1) * epsilon)
    return min(epsilon, max(0.0, math.log1p(excess) / (alpha - 1)))


def _log_of_sum(larger: float, smaller: float) -> float:
    """log(e^larger + e^smaller): as `np.logaddexp`, which takes five times as long for two numbers."""
    return larger + math.log1p(math.exp(smaller - larger))


def group(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """(epsilon, delta)-DP for one record gives this pair for `size` records.

    size epsilon, and delta (e^(size epsilon) - 1) / (e^epsilon - 1), the sum of delta e^(j epsilon) over j < size.
    """
    check_nonnegative("epsilon", epsilon)
    check_delta(delta)
    if size < 1:
        raise InvalidInput(f"a group has at least 1 record, got {size!r}")
    if delta == 0:
        return size * epsilon, 0.0
    if epsilon == 0:
        return 0.0, min(1.0, size * delta)
    # log of (e^(size eps) - 1) / (e^eps - 1), without overflow
    log_sum = (size - 1) * epsilon + math.log(-math.expm1(-size * epsilon)) - math.log(-math.expm1(-epsilon))
    return size * epsilon, math.exp(min(0.0, math.log(delta) + log_sum))


__all__ = [
    "ORDERS",
    "curve_to_delta",
    "curve_to_epsilon",
    "group",
    "pure_renyi",
    "pure_to_zcdp",
    "renyi_to_delta",
    "renyi_to_epsilon",
    "zcdp_for",
    "zcdp_to_delta",
    "zcdp_to_epsilon",
    "zcdp_to_epsilon_simple",
]
