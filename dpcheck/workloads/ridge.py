"""Ridge losses f(w, z) = phi(<a(z), w> - t(z)): regression, classification and linear losses in one piece."""

from __future__ import annotations

import abc

import numpy as np

from dpcheck.interfaces import Array
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.links import Link


class RidgeWorkload(BaseWorkload):
    """A workload whose loss sees the parameter through one margin a record."""

    @property
    @abc.abstractmethod
    def link(self) -> Link: ...

    @abc.abstractmethod
    def features(self, z: Array) -> tuple[Array, Array]:
        """(a, t) of each record: (..., *record) -> (..., d), (...)."""

    def margin(self, w: Array, z: Array) -> Array:
        """<a, w> - t, elementwise: (...)."""
        a, t = self.features(z)
        return np.asarray((a * w).sum(axis=-1) - t)

    def loss(self, w: Array, z: Array) -> Array:
        return self.link.value(self.margin(w, z))

    def gradient(self, w: Array, z: Array) -> Array:
        a, t = self.features(z)
        return self.link.slope((a * w).sum(axis=-1) - t)[..., None] * a

    def amplitude(self, z: Array) -> Array:
        """A(z), exactly: phi' is monotone, so it is largest in size at an end of the range of margins."""
        a, t = self.features(z)
        high, low = self.domain.support(a) - t, -self.domain.support(-a) - t
        steepest = np.maximum(np.abs(self.link.slope(high)), np.abs(self.link.slope(low)))
        return np.asarray(steepest * np.linalg.norm(a, axis=-1))
