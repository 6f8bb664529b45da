"""Privacy guarantees as promises about every neighbouring pair, and what 'neighbouring' means."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, SupportsFloat, get_args

import numpy as np
import scipy  # `scipy.special` takes a quarter of a second: loaded on first use
from numpy.typing import NDArray

from dpcheck.errors import InvalidInput
from dpcheck.foreign import shortened

Adjacency = Literal["replace-one", "add-remove", "user-level"]
ADJACENCIES: tuple[str, ...] = get_args(Adjacency)


def _check_number(name: str, value: Any) -> None:
    array = isinstance(value, np.ndarray) and value.ndim > 0
    if array or isinstance(value, bool | str) or not isinstance(value, SupportsFloat):
        raise InvalidInput(f"{name} must be a number, got {shortened(value)}")


def _positive(name: str, value: float, *, zero: bool = False) -> None:
    _check_number(name, value)
    if not (math.isfinite(value) and (value > 0 or (zero and value == 0))):
        raise InvalidInput(f"{name} must be a finite number {'>=' if zero else '>'} 0, got {value!r}")


class Guarantee(abc.ABC):
    """A promise about all neighbouring pairs (P, Q) of output laws, in either order.

    The three faces of the same promise: `delta_at(epsilon)` (privacy profile), `epsilon_at(delta)`, `tradeoff(fpr)`.
    """

    @abc.abstractmethod
    def delta_at(self, epsilon: float) -> float:
        """Largest hockey-stick divergence sup_S P(S) - e^epsilon Q(S) that the promise still allows."""

    def epsilon_at(self, delta: float) -> float:
        """Smallest epsilon >= 0 with `self.delta_at(epsilon) <= delta`; inf when there is none."""
        _check_number("delta", delta)
        if not 0 <= delta < 1:
            raise InvalidInput(f"delta must lie in [0, 1), got {delta!r}; 0 is pure DP")
        if self.delta_at(0.0) <= delta:
            return 0.0
        high = 1.0
        while self.delta_at(high) > delta:
            high *= 2
            if high > 1e5:
                return math.inf
        low = 0.0
        for _ in range(200):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (middle, high) if self.delta_at(middle) > delta else (low, middle)
        return high

    def tradeoff(self, fpr: NDArray[np.float64]) -> NDArray[np.float64]:
        """Lowest type-II error that the promise still forces on a test of type-I error `fpr`."""
        x = np.asarray(fpr, dtype=float)
        best = np.zeros_like(x)
        for eps in np.concatenate(([0.0], np.geomspace(1e-3, 60.0, 400))):
            slack = 1 - self.delta_at(float(eps))
            best = np.maximum(best, np.maximum(slack - np.exp(eps) * x, np.exp(-eps) * (slack - x)))
        return best


@dataclass(frozen=True)
class ApproxDP(Guarantee):
    """(epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float

    def __init__(self, epsilon: float, delta: float) -> None:
        _positive("epsilon", epsilon)
        _positive("delta", delta, zero=True)
        if not 0 <= delta < 1:
            raise InvalidInput(f"delta must lie in [0, 1), got {delta!r}; 0 is pure DP")
        object.__setattr__(self, "epsilon", float(epsilon))
        object.__setattr__(self, "delta", float(delta))

    def delta_at(self, epsilon: float) -> float:
        _check_number("epsilon", epsilon)
        # Below the claimed epsilon the dominating pair is leaky randomised response (Kairouz, Oh, Viswanath 2015).
        return self.delta + (1 - self.delta) * pure_delta(self.epsilon, epsilon)

    def epsilon_at(self, delta: float) -> float:
        return self.epsilon if np.ndim(delta) == 0 and delta == self.delta else super().epsilon_at(delta)

    def __str__(self) -> str:
        return f"({self.epsilon:g}, {self.delta:g})-DP"


@dataclass(frozen=True)
class PureDP(ApproxDP):
    """epsilon-differential privacy: `ApproxDP` with delta = 0."""

    def __init__(self, epsilon: float) -> None:
        super().__init__(epsilon, 0.0)

    def __repr__(self) -> str:
        return f"PureDP(epsilon={self.epsilon!r})"

    def __str__(self) -> str:
        return f"{self.epsilon:g}-DP"


def _renyi_delta(alpha: float, gap: float) -> float:
    """Canonne, Kamath, Steinke 2020, Prop. 12: delta from D_alpha - epsilon = gap at order alpha."""
    log_delta = (alpha - 1) * gap - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)
    return min(1.0, math.exp(min(log_delta, 0.0)))


@dataclass(frozen=True)
class RenyiDP(Guarantee):
    """Renyi divergence of order `alpha` at most `epsilon`, in both directions."""

    alpha: float
    epsilon: float

    def __init__(self, alpha: float, epsilon: float) -> None:
        _check_number("the order alpha", alpha)
        if not (math.isfinite(alpha) and alpha > 1):
            raise InvalidInput(f"the order alpha must be a finite number > 1, got {alpha!r}")
        _positive("epsilon", epsilon)
        object.__setattr__(self, "alpha", float(alpha))
        object.__setattr__(self, "epsilon", float(epsilon))

    def delta_at(self, epsilon: float) -> float:
        _check_number("epsilon", epsilon)
        return _renyi_delta(self.alpha, self.epsilon - epsilon)

    def __str__(self) -> str:
        return f"({self.alpha:g}, {self.epsilon:g})-RDP"


@dataclass(frozen=True)
class ZCDP(Guarantee):
    """rho-zero-concentrated DP: Renyi divergence of every order alpha at most rho alpha."""

    rho: float

    def __post_init__(self) -> None:
        _positive("rho", self.rho)

    def delta_at(self, epsilon: float) -> float:
        _check_number("epsilon", epsilon)

        # alpha = 1 + e^u, over which the exponent is unimodal.
        def exponent(u: float) -> float:
            alpha = 1 + math.exp(u)
            return (alpha - 1) * (alpha * self.rho - epsilon) - u + alpha * math.log1p(-1 / alpha)

        optimum = scipy.optimize.minimize_scalar(exponent, bounds=(-30.0, 40.0), method="bounded")
        return math.exp(min(float(optimum.fun), 0.0))

    def __str__(self) -> str:
        return f"{self.rho:g}-zCDP"


@dataclass(frozen=True)
class GaussianDP(Guarantee):
    """mu-Gaussian DP: no easier to tell apart than N(0, 1) and N(mu, 1)."""

    mu: float

    def __post_init__(self) -> None:
        _positive("mu", self.mu)

    def delta_at(self, epsilon: float) -> float:
        _check_number("epsilon", epsilon)
        return gaussian_delta(self.mu, epsilon)

    def tradeoff(self, fpr: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(scipy.special.ndtr(-scipy.special.ndtri(np.asarray(fpr, dtype=float)) - self.mu))

    def __str__(self) -> str:
        return f"{self.mu:g}-GDP"


@functools.cache
def _tests() -> NDArray[np.float64]:
    """Type-I errors at which a trade-off curve is looked at first: dense at both ends."""
    return np.unique(scipy.special.ndtr(np.linspace(-38.0, 8.0, 1841)))


@dataclass(frozen=True)
class TradeOff(Guarantee):
    """f-DP (Dong, Roth, Su 2022): a test of type-I error x between neighbours has type-II error at least `f(x)`.

    Attributes:
        f: (points,) in [0, 1] -> (points,); convex, falling, f(x) <= 1 - x, and its own inverse. Of a curve that is not
            its own inverse only the promise for one order of the pair is used, which is weaker and never wrong.
        name: for messages.
    """

    f: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise InvalidInput(f"a trade-off curve is a function of the type-I error, got {self.f!r}")
        x = np.concatenate([[0.0], _tests()[400::8], [1.0]])
        try:
            y = self.tradeoff(x)
        except Exception as error:
            raise InvalidInput(f"{self} raised {type(error).__name__} on an array of type-I errors: {error}") from error
        if y.shape != x.shape or not np.isfinite(y).all() or y.min() < -1e-9 or (y > 1 - x + 1e-9).any():
            raise InvalidInput(f"{self} must map type-I errors in [0, 1] to type-II errors in [0, 1 - x], as arrays")
        chord = y[:-2] + (y[2:] - y[:-2]) * (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
        if (np.diff(y) > 1e-9).any() or (y[1:-1] > chord + 1e-9).any():
            raise InvalidInput(f"{self} must fall and be convex: no pair of output laws has another trade-off curve")

    def delta_at(self, epsilon: float) -> float:
        _check_number("epsilon", epsilon)

        def missed(x: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(self.tradeoff(x) + math.exp(epsilon) * x)

        # Convex in x: the least value lies beside the least of any grid.
        x, least = np.concatenate([[0.0], _tests()]), math.inf
        for _ in range(6):
            values = missed(x)
            best = int(np.argmin(values))
            least = min(least, float(values[best]))
            x = np.linspace(x[max(best - 1, 0)], x[min(best + 1, len(x) - 1)], 65)
        return min(1.0, max(0.0, 1 - least))

    def tradeoff(self, fpr: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.f(np.asarray(fpr, dtype=float)), dtype=float)

    def __str__(self) -> str:
        return f"{self.name or getattr(self.f, '__name__', 'f')}-DP"


def pure_delta(pure: float, epsilon: float) -> float:
    """Largest delta(epsilon), for any real `epsilon`, of a `pure`-DP mechanism: that of randomised response."""
    if epsilon >= pure:
        return 0.0
    if epsilon <= -pure:
        return -math.expm1(epsilon)
    return -math.expm1(epsilon - pure) / (1 + math.exp(-pure))


def pure_to_zcdp(epsilon: float) -> float:
    """Smallest rho such that `epsilon`-DP implies rho-zCDP: epsilon tanh(epsilon / 2), below epsilon^2 / 2.

    Randomised response dominates every `epsilon`-DP mechanism; its D_alpha / alpha falls in alpha, so the supremum is
    the Kullback-Leibler divergence, at alpha -> 1.
    """
    return epsilon * math.tanh(epsilon / 2) if math.isfinite(epsilon) else math.inf


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Exact delta(epsilon) of N(0, 1) against N(mu, 1); see `gaussian_profile`."""
    return float(gaussian_profile(mu, np.asarray(float(epsilon))))


def gaussian_profile(mu: float, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """Balle and Wang 2018, Theorem 8: exact delta(epsilon) of N(0, 1) against N(mu, 1), to a relative 1e-10.

    Args:
        mu: at least 0, where it is a mechanism that looks at no data; epsilon: any real numbers.
    """
    floor = np.maximum(0.0, -np.expm1(np.minimum(epsilon, 0.0)))
    if mu == 0:
        return floor
    if mu < _CLOSE:
        # By the symmetry of the pair, delta(epsilon) = 1 - e^epsilon + e^epsilon delta(-epsilon).
        size = np.abs(epsilon)
        return np.asarray(floor + np.exp(np.minimum(epsilon, 0.0)) * _close_gaussians(mu, size))
    upper = scipy.special.log_ndtr(mu / 2 - epsilon / mu)
    # e^upper (1 - e^(lower - upper)): the plain difference cancels in the far tail; nothing is left where both are 0.
    with np.errstate(invalid="ignore"):
        lower = scipy.special.log_ndtr(-mu / 2 - epsilon / mu) + epsilon
        return np.asarray(np.exp(upper) * -np.expm1(np.fmin(0.0, lower - upper)))


_CLOSE = 0.1
"""The mu below which both terms of Balle and Wang are too much alike to be subtracted."""
_FAR = 30.0
"""From here on 1 - x M(x) is its asymptotic series, to all digits."""


@functools.lru_cache(maxsize=1)
def _legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(8)
    return np.asarray(nodes), np.asarray(weights)


def _close_gaussians(mu: float, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
    """`gaussian_profile` at epsilon >= 0 and small mu, without a difference.

    With a = epsilon/mu - mu/2 both terms are phi(a) times Mills' ratio M, at a and at a + mu, so that
    delta = phi(a) times the integral over [a, a + mu] of -M'(x) = 1 - x M(x).
    """
    start = np.minimum(epsilon / mu - mu / 2, 1e100)
    nodes, weights = _legendre()
    x = start[..., None] + mu * (nodes + 1) / 2
    near, far = np.minimum(x, _FAR), np.maximum(x, _FAR) ** -2.0
    falls = np.where(
        x < _FAR,
        1 - near * math.sqrt(math.pi / 2) * scipy.special.erfcx(near / math.sqrt(2)),
        far * (1 - far * (3 - far * (15 - far * (105 - 945 * far)))),
    )
    density = np.exp(-(start**2) / 2) / math.sqrt(2 * math.pi)
    return np.asarray(density * (mu / 2) * (falls @ weights))


def changed_records(data: NDArray[Any], neighbour: NDArray[Any], adjacency: str) -> tuple[int, ...]:
    """Checks that two data sets are neighbours and returns the index of the record (axis 0) that differs.

    Args:
        data, neighbour: arrays whose axis 0 counts records (users under "user-level").
        adjacency: "replace-one", "add-remove" or "user-level".

    Returns:
        The changed indices: empty for identical data, one index otherwise (of the longer array under add-remove).

    Raises:
        InvalidInput: not finite, empty, of different length, or more than one record apart.
    """
    if adjacency not in ADJACENCIES:
        raise InvalidInput(f"unknown adjacency {adjacency!r}; choose one of {', '.join(ADJACENCIES)}, or None")
    for name, values in (("data", data), ("neighbour", neighbour)):
        if values.ndim == 0 or (values.shape[0] == 0 and adjacency != "add-remove"):
            raise InvalidInput(f"{name} is empty (shape {values.shape}); axis 0 must count records")
        if np.issubdtype(values.dtype, np.inexact) and not np.isfinite(values).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise InvalidInput(f"{name} holds {values[place]} at index {place}; records must be finite")
    if data.shape[1:] != neighbour.shape[1:]:
        raise InvalidInput(f"records differ in shape: {data.shape[1:]} in data, {neighbour.shape[1:]} in neighbour")
    if adjacency == "add-remove":
        return _added_record(data, neighbour)
    if len(data) != len(neighbour):
        raise InvalidInput(
            f"under {adjacency} both data sets need equally many records, got {len(data)} and {len(neighbour)}; "
            'use adjacency="add-remove" for pairs that differ in length'
        )
    differs = (data != neighbour).reshape(len(data), -1).any(axis=1)
    changed = tuple(int(i) for i in np.flatnonzero(differs))
    if len(changed) > 1:
        raise InvalidInput(
            f"data and neighbour differ in {len(changed)} records (the first are {changed[0]} and {changed[1]}); "
            f"{adjacency} neighbours differ in one; use adjacency=None to audit an arbitrary pair"
        )
    return changed


def _added_record(data: NDArray[Any], neighbour: NDArray[Any]) -> tuple[int, ...]:
    longer, shorter = (data, neighbour) if len(data) > len(neighbour) else (neighbour, data)
    if len(longer) - len(shorter) != 1:
        raise InvalidInput(
            f"under add-remove one data set has exactly one record more, got {len(data)} and {len(neighbour)} records"
        )
    same = (longer[:-1] == shorter).reshape(len(shorter), -1).all(axis=1) if len(shorter) else np.zeros(0, dtype=bool)
    at = int(np.argmin(same)) if not same.all() else len(shorter)
    if not np.array_equal(longer[at + 1 :], shorter[at:]):
        raise InvalidInput("data and neighbour are not one added record apart (the order of the others must be kept)")
    return (at,)
