"""Instances that several checks of this paper share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcheck.geometry import L1Ball
from dpcheck.interfaces import Array, Constants, Problem, Rng
from dpcheck.privacy import ApproxDP, Guarantee, PureDP
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.crosspolytope import L1Location, SignLasso, SignLinear

APPROX = ApproxDP(1.0, 1e-5)
LASSO = SignLasso(x_star=(0.6, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
DIALLED = 3.0
"""Constant of the noise of Algorithms 1 and 2 in accuracy experiments: about the smallest that is private."""


def problem(workload: Any, privacy: Guarantee = APPROX) -> Problem:
    return Problem(constants=workload.constants, privacy=privacy)


def linear(d: int, gamma: float = 0.5, **fields: Any) -> SignLinear:
    """W-LIN: one coordinate with a mean."""
    return SignLinear(mu=(gamma, *[0.0] * (d - 1)), **fields)


def location(d: int, gamma: float = 0.5) -> L1Location:
    """W-LAD."""
    return L1Location(gamma=(gamma,) * d)


@dataclass(frozen=True)
class LinearSquare(BaseWorkload):
    """f(x;(a,s)) = <a, x> + <s, x>^2/2 on the unit l1 ball of the plane, 1-Lipschitz and 1-smooth in l1: W-RNM.

    Records are given; the law that `rows` draws from only serves the interface.
    """

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (4,)

    @property
    def domain(self) -> L1Ball:
        return L1Ball(2, 1.0)

    @property
    def constants(self) -> Constants:
        return Constants(
            d=2,
            diameter=self.domain.diameter,
            lipschitz=lambda p: 1.0,
            smoothness=lambda p: 1.0,
            moment=lambda k, m: 1.0,
        )

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray((w * z[..., :2]).sum(axis=-1) + (w * z[..., 2:]).sum(axis=-1) ** 2 / 2)

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(z[..., :2] + (w * z[..., 2:]).sum(axis=-1)[..., None] * z[..., 2:])

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        side = np.where(rng.random((trials, n, 1)) < 0.5, 1.0, -1.0)
        return np.concatenate([np.zeros((trials, n, 2)), np.ones((trials, n, 1)), side], axis=-1)

    def excess_risk(self, w: Array) -> Array:
        return np.asarray((w**2).sum(axis=-1) / 2)


def right_child_pair(b: int, tilt: float = 0.1) -> tuple[Array, Array, Array]:
    """The pair of Lemma 4.1 in data order: b root records, then b/4 linear ones, b/4 - 1 squares, and the record.

    Returns:
        data and neighbour, (1, 1.5 b, 4), and the start (1, 2).
    """
    root = np.tile([-1.0, tilt, 0.0, 0.0], (b, 1))
    plus, minus = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, -1.0])
    squares = np.concatenate([np.tile(plus, (b // 8, 1)), np.tile(minus, (b // 8 - 1, 1))])
    shared = np.concatenate([root, np.tile([-1.0, tilt, 0.0, 0.0], (b // 4, 1)), squares])
    data, neighbour = (np.concatenate([shared, one[None]])[None] for one in (minus, plus))
    return data, neighbour, np.array([[-1.0, 0.0]])


@dataclass
class Seen:
    """A workload that remembers every point where gradients were asked for: the iterates, (trials, d) each."""

    work: Any
    points: list[Array] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.work, name)

    def __dir__(self) -> list[str]:
        return dir(self.work)

    def gradient(self, w: Array, z: Array) -> Array:
        self.points.append(w[:, 0])
        return np.asarray(self.work.gradient(w, z))


PURE = PureDP(1.0)


def witness_number(value: Any) -> str:
    return repr(float(value))
