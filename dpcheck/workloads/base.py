"""What every workload shares, and what a workload may offer to a solver beyond the loss and its gradient."""

from __future__ import annotations

import abc
from typing import Protocol, runtime_checkable

import numpy as np

from dpcheck.geometry import Domain
from dpcheck.interfaces import Array, Constants, Rng, Sample


@runtime_checkable
class Bounded(Protocol):
    """Knows A(z) = sup over the domain of the norm of the gradient that the oracle returns."""

    def amplitude(self, z: Array) -> Array:
        """(..., *record) -> (...)."""
        ...


@runtime_checkable
class Extended(Protocol):
    """Knows its C-Lipschitz extension f_C(w) = inf over y in the domain of f(y) + C |w - y|."""

    def extension(self, w: Array, z: Array, cap: float) -> Array:
        """f_C, elementwise: (..., d), (..., *record) -> (...)."""
        ...

    def extension_gradient(self, w: Array, z: Array, cap: float) -> Array:
        """A subgradient of f_C of norm <= C, elementwise: (..., d)."""
        ...


@runtime_checkable
class Minimised(Protocol):
    """Knows the minimiser of its regularised empirical risk in closed form, at least for some samples."""

    def minimiser(self, sample: Sample, cap: float | None, weight: Array, centre: Array) -> Array | None:
        """argmin over the domain of mean f_cap + weight/2 |w - centre|^2, up to rounding.

        Args:
            cap: C of the Lipschitz extension, or None for the loss itself.
            weight: (trials or 1, 1), positive.
            centre: (trials or 1, d); it may lie outside the domain.

        Returns:
            (trials, d), or None when this sample has no closed form.
        """
        ...


@runtime_checkable
class Placed(Protocol):
    """Knows the set that it lives on."""

    @property
    def domain(self) -> Domain: ...


@runtime_checkable
class OfUsers(Protocol):
    """Has records of several samples each, which `each` is a workload of."""

    @property
    def each(self) -> BaseWorkload: ...


class BaseWorkload(abc.ABC):
    """A workload of `dpcheck.interfaces` over a set of `dpcheck.geometry`: subclasses are frozen dataclasses.

    Attributes:
        record_shape: shape of one record; (1,) for a number, never ().
    """

    record_shape: tuple[int, ...] = (1,)

    @property
    @abc.abstractmethod
    def domain(self) -> Domain: ...

    @property
    @abc.abstractmethod
    def constants(self) -> Constants: ...

    @abc.abstractmethod
    def loss(self, w: Array, z: Array) -> Array: ...

    @abc.abstractmethod
    def gradient(self, w: Array, z: Array) -> Array: ...

    @abc.abstractmethod
    def excess_risk(self, w: Array) -> Array: ...

    @abc.abstractmethod
    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        """n raw records a trial: (trials, n, *record)."""

    def project(self, w: Array) -> Array:
        return self.domain.project(w)

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        return Sample(self.rows(rng, trials, n), np.ones((1, n)))
