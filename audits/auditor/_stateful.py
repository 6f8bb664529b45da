"""Mechanisms that keep something from run to run and never look at their data: no audit may accuse them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mechanism = Callable[[Any, np.random.Generator, int], Array]
Body = Callable[[np.random.Generator, int], Array]


def _blind(body: Body) -> Mechanism:
    return lambda data, rng, trials: body(rng, trials)


def alternating() -> Mechanism:
    """Every second call is shifted."""
    calls = count()
    return _blind(lambda rng, n: rng.laplace(size=n) + 3.0 * (next(calls) % 2))


def four_in_turn() -> Mechanism:
    """Two calls at one level, two at another."""
    calls = count()
    return _blind(lambda rng, n: rng.laplace(size=n) + 2.0 * (next(calls) // 2 % 2))


def warming_up() -> Mechanism:
    """The first calls are far off."""
    calls = count()
    return _blind(lambda rng, n: rng.laplace(size=n) + 6 * 0.8 ** next(calls))


def drifting() -> Mechanism:
    """The level grows with the runs so far."""
    done = [0]

    def body(rng: np.random.Generator, n: int) -> Array:
        at = done[0] + np.arange(n)
        done[0] += n
        return rng.laplace(size=n) + at / 400

    return _blind(body)


def autocorrelated() -> Mechanism:
    """An autoregression of 0.999 within a batch."""

    def body(rng: np.random.Generator, n: int) -> Array:
        steps = rng.normal(size=n) * np.sqrt(1 - 0.999**2)
        steps[0] = rng.normal()
        return _carried(steps, 0.999)

    return _blind(body)


def wandering() -> Mechanism:
    """A random walk that goes on from call to call."""
    level = [0.0]

    def body(rng: np.random.Generator, n: int) -> Array:
        path = level[0] + 0.3 * np.cumsum(rng.normal(size=n))
        level[0] = float(path[-1])
        return path

    return _blind(body)


def batch_sharing() -> Mechanism:
    """All outputs of a call share one noise."""
    return _blind(lambda rng, n: np.full(n, rng.laplace()))


def nearly_sharing() -> Mechanism:
    """Outputs of a call share half of their noise."""
    return _blind(lambda rng, n: rng.normal() + rng.normal(size=n))


def of_changing_scale() -> Mechanism:
    """Every call has a scale of its own."""
    return _blind(lambda rng, n: np.exp(rng.normal()) * rng.laplace(size=n))


def cached() -> Mechanism:
    """The noise of the first calls is kept, and returned by place."""
    pool: list[float] = []

    def body(rng: np.random.Generator, n: int) -> Array:
        pool.extend(rng.laplace(size=max(0, n - len(pool))).tolist())
        return np.array(pool[:n])

    return _blind(body)


def reseeded() -> Mechanism:
    """A generator of its own with one of three seeds, in turn."""
    calls = count()
    return _blind(lambda rng, n: np.random.default_rng(next(calls) % 3).laplace(size=n))


def twice_used() -> Mechanism:
    """Every noise serves two trials of its call."""
    return _blind(lambda rng, n: np.tile(rng.laplace(size=(n + 1) // 2), 2)[:n])


def running_dry() -> Mechanism:
    """Answers at random until a budget is spent, and nothing afterwards."""
    left = [700]

    def body(rng: np.random.Generator, n: int) -> Array:
        answers = np.where(np.arange(n) < left[0], rng.integers(0, 2, n).astype(float), -1.0)
        left[0] = max(0, left[0] - n)
        return answers

    return _blind(body)


def _carried(steps: Array, share: float) -> Array:
    def path() -> Iterator[float]:
        value = 0.0
        for step in steps.tolist():
            value = share * value + step
            yield value

    return np.fromiter(path(), dtype=float, count=len(steps))


STATEFUL: dict[str, Callable[[], Mechanism]] = {
    make.__name__.replace("_", " "): make
    for make in (
        alternating, four_in_turn, warming_up, drifting, autocorrelated, wandering, batch_sharing, nearly_sharing,
        of_changing_scale, cached, reseeded, twice_used, running_dry,
    )
}  # fmt: skip
"""Name -> a fresh mechanism, with nothing kept yet."""
