"""Losses on the plane, or the line, on which clipped steps of descent contract, with the records of their class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcheck.harness.search import BallRecords, BoxRecords, Records
from dpcheck.interfaces import Array, Constants
from dpcheck.workloads.sheared import Sheared


@dataclass(frozen=True)
class LossFamily:
    """Losses on the plane, or the line: gradient (..., d), (..., record) -> (..., d); curvature at most 1."""

    d: int
    gradient: Callable[[Array, Array], Array]
    records: Records

    def project(self, w: Array) -> Array:
        return w

    @property
    def constants(self) -> Constants:
        return Sheared(1.0, 1.0).constants


def _logistic(w: Array, z: Array) -> Array:
    """-t x h(-t <x, w>), x in the unit ball."""
    margin = z[..., 2] * (w * z[..., :2]).sum(axis=-1)
    return np.asarray(-(z[..., 2] / (1 + np.exp(margin)))[..., None] * z[..., :2])


def _flat_middle(w: Array, z: Array) -> Array:
    """Derivative of a convex function of w - x that is flat on [-1, 1] and affine beyond 2; its slope is at most 1."""
    u = np.clip(w - z, -2.0, 2.0)
    return np.asarray(u * np.maximum(u**2 - 1, 0) / 12)


def _least_squares(w: Array, z: Array) -> Array:
    """(<x, w> - y) x with x in the unit ball."""
    return np.asarray(((w * z[..., :2]).sum(axis=-1) - z[..., 2])[..., None] * z[..., :2])


FAMILIES: dict[str, LossFamily] = {
    "d = 1": LossFamily(1, _flat_middle, BoxRecords([-8.0], [8.0])),
    "linear": LossFamily(2, lambda w, z: np.broadcast_arrays(z, w)[0], BallRecords(20.0, 2)),
    "isotropic": LossFamily(2, lambda w, z: w - z, BallRecords(20.0, 2)),
    "least squares": LossFamily(2, _least_squares, BoxRecords([-0.7, -0.7, -30.0], [0.7, 0.7, 30.0])),
    "logistic": LossFamily(2, _logistic, BoxRecords([-0.7, -0.7, -1.0], [0.7, 0.7, 1.0])),
}
