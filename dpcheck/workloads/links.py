"""Scalar convex functions phi of a margin: ridge losses f(w, z) = phi(<a, w> - t), with all that a certificate needs.

Each link knows its conjugate phi*(theta) = sup_s theta s - phi(s), from which any theta gives a lower bound on the
loss, and, where it is piecewise affine, its pieces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dpcheck.errors import InvalidInput, MissingExtra
from dpcheck.interfaces import Array


class Link(Protocol):
    """phi, convex on the line."""

    @property
    def slopes(self) -> tuple[float, float]:
        """Infimum and supremum of phi': outside of them phi* is infinite."""
        ...

    @property
    def curvature(self) -> float:
        """Lipschitz constant of phi', or inf."""
        ...

    @property
    def pieces(self) -> tuple[tuple[float, float], ...] | None:
        """phi = max of slope * s + intercept over these (slope, intercept), or None."""
        ...

    def value(self, s: Array) -> Array: ...

    def slope(self, s: Array) -> Array:
        """A subgradient: phi' where it exists."""
        ...

    def conjugate(self, theta: Array) -> Array:
        """phi*(theta) for theta within `slopes`."""
        ...

    def conic(self, s: Any) -> Any:
        """phi of a cvxpy expression. Raises `MissingExtra` without the extra 'solvers'."""
        ...


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError as error:
        raise MissingExtra("a conic solver", "solvers") from error
    return cvxpy


@dataclass(frozen=True)
class Linear:
    """phi(s) = s."""

    slopes = (1.0, 1.0)
    curvature = 0.0
    pieces = ((1.0, 0.0),)

    def value(self, s: Array) -> Array:
        return np.asarray(s, dtype=float)

    def slope(self, s: Array) -> Array:
        return np.ones_like(s)

    def conjugate(self, theta: Array) -> Array:
        return np.zeros_like(theta)

    def conic(self, s: Any) -> Any:
        return s


@dataclass(frozen=True)
class Absolute:
    """phi(s) = |s|; the subgradient at 0 is 0."""

    slopes = (-1.0, 1.0)
    curvature = math.inf
    pieces = ((1.0, 0.0), (-1.0, 0.0))

    def value(self, s: Array) -> Array:
        return np.abs(s)

    def slope(self, s: Array) -> Array:
        return np.sign(s)

    def conjugate(self, theta: Array) -> Array:
        return np.zeros_like(theta)

    def conic(self, s: Any) -> Any:
        return _cvxpy().abs(s)


@dataclass(frozen=True)
class Hinge:
    """phi(s) = max(0, 1 - s); the subgradient at the kink is 0."""

    slopes = (-1.0, 0.0)
    curvature = math.inf
    pieces = ((0.0, 0.0), (-1.0, 1.0))

    def value(self, s: Array) -> Array:
        return np.maximum(0.0, 1 - s)

    def slope(self, s: Array) -> Array:
        return np.where(s < 1, -1.0, 0.0)

    def conjugate(self, theta: Array) -> Array:
        return np.asarray(theta, dtype=float)

    def conic(self, s: Any) -> Any:
        return _cvxpy().pos(1 - s)


@dataclass(frozen=True)
class Huber:
    """phi(s) = s^2/2 for |s| <= kappa, else kappa |s| - kappa^2/2."""

    kappa: float = 1.0
    curvature = 1.0
    pieces = None

    def __post_init__(self) -> None:
        if not self.kappa > 0:
            raise InvalidInput(f"the Huber threshold kappa must be > 0, got {self.kappa}")

    @property
    def slopes(self) -> tuple[float, float]:
        return (-self.kappa, self.kappa)

    def value(self, s: Array) -> Array:
        size = np.abs(s)
        return np.where(size <= self.kappa, size**2 / 2, self.kappa * (size - self.kappa / 2))

    def slope(self, s: Array) -> Array:
        return np.clip(s, -self.kappa, self.kappa)

    def conjugate(self, theta: Array) -> Array:
        return np.asarray(theta**2 / 2)

    def conic(self, s: Any) -> Any:
        return _cvxpy().huber(s, self.kappa) / 2


@dataclass(frozen=True)
class Squared:
    """phi(s) = s^2/2."""

    slopes = (-math.inf, math.inf)
    curvature = 1.0
    pieces = None

    def value(self, s: Array) -> Array:
        return np.asarray(s**2 / 2)

    def slope(self, s: Array) -> Array:
        return np.asarray(s, dtype=float)

    def conjugate(self, theta: Array) -> Array:
        return np.asarray(theta**2 / 2)

    def conic(self, s: Any) -> Any:
        return _cvxpy().square(s) / 2


LINKS: dict[str, Link] = {
    "linear": Linear(),
    "absolute": Absolute(),
    "hinge": Hinge(),
    "huber": Huber(),
    "squared": Squared(),
}
