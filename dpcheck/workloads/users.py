"""Users with several samples each: a record of shape (m, *record) whose loss is the mean over its m samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Domain
from dpcheck.interfaces import Array, Constants, Rng
from dpcheck.workloads.base import BaseWorkload


@dataclass(frozen=True)
class Users(BaseWorkload):
    """Replacing one record replaces one user: all of its `samples` samples of the workload `each`."""

    each: BaseWorkload
    samples: int

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise InvalidInput(f"a user needs at least one sample, got {self.samples}")

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.samples, *self.each.record_shape)

    @property
    def domain(self) -> Domain:
        return self.each.domain

    @property
    def constants(self) -> Constants:
        """Those of one sample, except that a mean over m records is one over m users' samples.

        A sum of generalised linear losses is none, and its Hessian has up to `samples` times the rank.
        """
        single = self.each.constants
        return replace(
            single,
            moment=lambda k, m: single.moment(k, m * self.samples),
            hessian_rank=None if single.hessian_rank is None else min(single.d, self.samples * single.hessian_rank),
            family=single.family if single.shifts_constantly or self.samples == 1 else "",
        )

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(self.each.loss(w[..., None, :], z).mean(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(self.each.gradient(w[..., None, :], z).mean(axis=-2))

    def excess_risk(self, w: Array) -> Array:
        return self.each.excess_risk(w)

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        flat = self.each.rows(rng, trials, n * self.samples)
        return flat.reshape(trials, n, *self.record_shape)
