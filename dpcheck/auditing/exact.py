"""Exact privacy of a pair of laws that can be written down: no sample, no failure probability."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpcheck.auditing.inputs import check_flag, is_number
from dpcheck.errors import InvalidInput
from dpcheck.foreign import shortened

Array = NDArray[np.float64]
LogDensity = Callable[[float], float]


def hockey_stick(first: ArrayLike, second: ArrayLike, epsilon: float) -> float:
    """sum over outputs of max(0, first - e^epsilon second): exact delta of one direction, for finite laws.

    The hockey-stick divergence of order e^epsilon (Barthe and Olmedo 2013).
    """
    p, q = _law("first", first), _law("second", second)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.where(q > 0, np.exp(np.minimum(epsilon + np.log(np.where(q > 0, q, 1.0)), 709.0)), 0.0)
    return math.fsum(np.maximum(0.0, p - scaled))


def exact_epsilon(
    first: ArrayLike | LogDensity,
    second: ArrayLike | LogDensity,
    delta: float = 0.0,
    *,
    support: tuple[float, float] = (-math.inf, math.inf),
    breakpoints: Sequence[float] = (),
    both_directions: bool = True,
) -> float:
    """Smallest epsilon for which two known laws are (epsilon, delta)-indistinguishable; inf when there is none.

    The root in epsilon of the hockey-stick divergence at delta (Balle, Barthe and Gaboardi 2018).

    Args:
        first, second: probability vectors over the same outputs, or log-densities on the real line (callables, or
            frozen SciPy laws).
        delta: in [0, 1); 0 is pure DP.
        support: interval outside which both densities vanish.
        breakpoints: points where a density is not smooth (the centres of Laplace noise, ends of pieces).
        both_directions: the larger of the two directions; False: only first against second.

    Raises:
        InvalidInput: delta outside [0, 1), vectors that are not laws, or densities that do not integrate to 1.

    >>> round(exact_epsilon([0.75, 0.25], [0.25, 0.75]), 6)
    1.098612
    """
    if not (is_number(delta) and 0 <= delta < 1):
        raise InvalidInput(f"delta must lie in [0, 1), got {delta!r}; 0 is pure DP")
    check_flag("both_directions", both_directions)
    one, two = _density(first), _density(second)
    if (one is None) != (two is None):
        raise InvalidInput("give two probability vectors or two log-densities, not one of each")
    if one is None or two is None:
        p, q = _law("first", first), _law("second", second)
        if p.shape != q.shape:
            raise InvalidInput(f"both laws need the same outputs, got {len(p)} and {len(q)}")
        forward = _finite_epsilon(p, q, delta)
        return max(forward, _finite_epsilon(q, p, delta)) if both_directions else forward
    pair = _Densities(one, two, support, breakpoints)
    forward = pair.epsilon(delta)
    if not both_directions:
        return forward
    return max(forward, _Densities(two, one, support, breakpoints).epsilon(delta))


def _law(name: str, values: Any) -> Array:
    try:
        p = np.asarray(values, dtype=float).ravel()
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{name} must be a probability vector, or a log-density (a function, or a frozen SciPy law), "
            f"got {shortened(values)}"
        ) from error
    if p.size == 0 or not np.isfinite(p).all() or (p < 0).any() or abs(math.fsum(p) - 1) > 1e-9:
        raise InvalidInput(
            f"{name} must be a probability vector (>= 0, sum 1), got sum {math.fsum(p) if p.size else 0.0!r}"
        )
    return p


@runtime_checkable
class _Continuous(Protocol):
    """A law as SciPy has it."""

    def logpdf(self, x: float) -> Any: ...


def _density(law: Any) -> LogDensity | None:
    if isinstance(law, _Continuous):
        return lambda x: float(law.logpdf(x))
    return law if callable(law) else None


def _finite_epsilon(p: Array, q: Array, delta: float) -> float:
    """One direction. The hockey-stick is piecewise linear in e^epsilon: its root is found in closed form."""
    only = math.fsum(p[q == 0])
    some = q > 0
    with np.errstate(divide="ignore"):
        log_ratio = np.log(p[some]) - np.log(q[some])
    if delta == 0:
        return math.inf if only > 0 else max(0.0, float(log_ratio.max(initial=-math.inf)))
    if only > delta:
        return math.inf
    order = np.argsort(-log_ratio, kind="stable")
    mass_p = np.cumsum(p[some][order]) + only
    mass_q = np.cumsum(q[some][order])
    # With the j most telling outputs in the event, P - e^eps Q = delta gives eps; the largest over j is the answer.
    excess = mass_p - delta
    usable = excess > 0
    if not usable.any():
        return 0.0
    return max(0.0, float(np.max(np.log(excess[usable]) - np.log(mass_q[usable]))))


def _interval(support: Any) -> tuple[float, float]:
    """The ends of a support. Raises `InvalidInput`."""
    pair = isinstance(support, Sequence | np.ndarray) and len(support) == 2 and all(map(is_number, support))
    if not (pair and support[0] < support[1]):
        raise InvalidInput(f"support must be an interval (low, high), got {support!r}")
    return float(support[0]), float(support[1])


def _breakpoints(values: Any) -> list[float]:
    """Raises `InvalidInput`."""
    points: list[Any] = list(values) if isinstance(values, Iterable) else [None]
    if not all(map(is_number, points)):
        raise InvalidInput(f"breakpoints must be a list of numbers, got {shortened(values)}")
    return points


class _Densities:
    """One direction of a pair of densities on an interval."""

    def __init__(
        self, first: LogDensity, second: LogDensity, support: tuple[float, float], breaks: Sequence[float]
    ) -> None:
        low, high = _interval(support)
        self.first, self.second = first, second
        self.nodes = self._partition(low, high, sorted(b for b in _breakpoints(breaks) if low < b < high))
        mass = math.fsum(self._integral(lambda x: math.exp(self.first(x)), *ends) for ends in self.pieces())
        if abs(mass - 1) > 1e-8:
            raise InvalidInput(f"the first density integrates to {mass:.10g}, not 1; name its kinks in breakpoints")

    def _partition(self, low: float, high: float, breaks: list[float]) -> list[float]:
        """Finite ends where both densities have fallen below e^-750, kinks, and a few points between."""
        centre = (
            breaks[len(breaks) // 2] if breaks else (0.0 if low < 0 < high else low if math.isfinite(low) else high)
        )
        ends = []
        for end, sign in ((low, -1.0), (high, 1.0)):
            if math.isfinite(end):
                ends.append(end)
                continue
            start = (breaks[-1] if sign > 0 else breaks[0]) if breaks else centre
            step = 1.0
            while max(self.first(start + sign * step), self.second(start + sign * step)) > -60 and step < 1e12:
                step *= 1.5
            ends.append(start + sign * step)
        inner = [ends[0], *breaks, ends[1]]
        points = {x for left, right in itertools.pairwise(inner) for x in np.linspace(left, right, 33)}
        return sorted(points)

    def pieces(self) -> list[tuple[float, float]]:
        return list(itertools.pairwise(self.nodes))

    @staticmethod
    def _integral(f: Callable[[float], float], low: float, high: float) -> float:
        return float(scipy.integrate.quad(f, low, high, epsabs=1e-16, epsrel=1e-12, limit=200)[0])

    def log_ratio(self, x: float) -> float:
        return self.first(x) - self.second(x)

    def delta(self, epsilon: float) -> float:
        """Hockey-stick: the integrand is cut where the log-ratio crosses epsilon."""
        total = []
        for low, high in self.pieces():
            cuts = [low, *self._crossings(epsilon, low, high), high]
            for left, right in itertools.pairwise(cuts):
                if self.log_ratio((left + right) / 2) > epsilon:
                    total.append(self._integral(self._excess(epsilon), left, right))
        return math.fsum(total)

    def _excess(self, epsilon: float) -> Callable[[float], float]:
        def excess(x: float) -> float:
            gap = min(0.0, epsilon - self.log_ratio(x))
            return -math.exp(self.first(x)) * math.expm1(gap)

        return excess

    def _crossings(self, epsilon: float, low: float, high: float) -> list[float]:
        grid = np.linspace(low, high, 9)
        values = [self.log_ratio(float(x)) - epsilon for x in grid]
        crossings = []
        for left, right, a, b in zip(grid, grid[1:], values, values[1:], strict=False):
            if a * b < 0:
                crossings.append(
                    float(scipy.optimize.brentq(lambda x: self.log_ratio(x) - epsilon, left, right, xtol=1e-14))
                )
        return crossings

    def epsilon(self, delta: float) -> float:
        if delta == 0:
            return self._supremum()
        if self.delta(0.0) <= delta:
            return 0.0
        high = 1.0
        while self.delta(high) > delta:
            high *= 2
            if high > 1e4:
                return math.inf
        return float(scipy.optimize.brentq(lambda e: self.delta(e) - delta, 0.0, high, xtol=1e-12, rtol=1e-13))

    def _supremum(self) -> float:
        grid = np.unique(np.concatenate([np.linspace(a, b, 17) for a, b in self.pieces()]))
        values = np.array([self.log_ratio(float(x)) for x in grid])
        best = int(np.argmax(values))
        if best in (0, len(grid) - 1):
            # Still growing at a far end: unbounded, unless flat there.
            neighbour = 1 if best == 0 else len(grid) - 2
            return math.inf if values[best] - values[neighbour] > 1e-9 else max(0.0, float(values[best]))
        optimum = scipy.optimize.minimize_scalar(
            lambda x: -self.log_ratio(x),
            bounds=(grid[best - 1], grid[best + 1]),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return max(0.0, float(values[best]), -float(optimum.fun))
