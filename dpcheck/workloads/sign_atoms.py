"""Sign records by their atoms: a block is its counts, however long it is, and so is a batch drawn with replacement."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, replace

import numpy as np

from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.crosspolytope import SignLasso, SignLinear


def corners(d: int) -> Array:
    """Of the cube, (2^d, d)."""
    return np.array(list(itertools.product((1.0, -1.0), repeat=d)))


def at_corners(mean: Array) -> Array:
    """Chances of the corners under independent signs of these means: (..., d) -> (..., 2^d)."""
    return np.asarray(((1 + corners(mean.shape[-1]) * mean[..., None, :]) / 2).prod(axis=-1))


def counts(rng: Rng, trials: int, n: int, atoms: Array, chances: Array) -> Sample:
    """n draws of atoms (r, *record), under chances (r,), or (trials, r) where every trial has its own law."""
    each = np.broadcast_to(chances, (trials, chances.shape[-1]))
    return Sample(atoms[None], rng.multinomial(n, each).astype(float))


class OfAtoms(BaseWorkload):
    """Mixed into a workload of finitely many atoms."""

    @property
    def atoms(self) -> tuple[Array, Array]:
        """(r, *record) and their chances, (r,)."""
        raise NotImplementedError

    @functools.cached_property
    def constants(self) -> Constants:
        return replace(super().constants, atoms=len(self.atoms[0]))  # type: ignore[safe-super]  # the workload's own

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        return counts(rng, trials, n, *self.atoms)


@dataclass(frozen=True)
class CountedLinear(OfAtoms, SignLinear):
    """`SignLinear` in few dimensions."""

    @functools.cached_property
    def atoms(self) -> tuple[Array, Array]:
        mean = np.asarray(self.mu)
        return self.L * corners(len(mean)), at_corners(mean)


@dataclass(frozen=True)
class CountedLasso(OfAtoms, SignLasso):
    """`SignLasso` in few dimensions."""

    @functools.cached_property
    def atoms(self) -> tuple[Array, Array]:
        signs = corners(len(self.x_star) + 1)
        a, noise = signs[:, :-1], self.s * signs[:, -1]
        records = np.concatenate([a, (a @ np.asarray(self.x_star) + noise)[:, None]], axis=1)
        return records, np.full(len(records), 1 / len(records))
