"""diffprivlib: its mechanisms and models as mechanisms. Needs `dpcheck[subjects]`, scikit-learn < 1.7 among it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.auditing.mechanisms import Mechanism, gathered
from dpcheck.errors import InvalidInput


def mechanism(make: Callable[[Any], Any], *, name: str = "") -> Mechanism:
    """A mechanism of diffprivlib; the input of an audit is an array of one value, the one that it randomises.

    Args:
        make: random_state -> a mechanism, such as `lambda r: Laplace(epsilon=1, sensitivity=1, random_state=r)`.
    """
    _check(make)

    def run(data: Any, rng: np.random.Generator, trials: int) -> Any:
        (value,) = np.asarray(data).ravel().tolist()
        made = make(_state(rng))
        return gathered([made.randomise(value) for _ in range(trials)])

    run.__name__ = name or type(make(np.random.RandomState(0))).__name__
    return run


def model(make: Callable[[Any], Any], released: Callable[[Any], Any], *, name: str = "") -> Mechanism:
    """A model of diffprivlib: each run fits one to the data, whose last column is the target.

    Args:
        make: random_state -> an estimator, its bounds and norms given, or it reads them from the data and warns.
        released: a fitted estimator -> what is released of it, such as `lambda m: m.coef_.ravel()`.
    """
    _check(make)

    def once(data: Any, rng: np.random.Generator) -> Any:
        return released(make(_state(rng)).fit(data[:, :-1].copy(), data[:, -1].copy()))

    def run(data: Any, rng: np.random.Generator, trials: int) -> Any:
        return gathered([once(data, rng) for _ in range(trials)])

    run.__name__ = name or type(make(np.random.RandomState(0))).__name__
    return run


def _state(rng: np.random.Generator) -> Any:
    return np.random.RandomState(rng.integers(2**32, size=8, dtype=np.uint32))


def _check(make: Any) -> None:
    if not callable(make):
        raise InvalidInput(f"give a function of a random state that makes one, got {type(make).__name__}")
