"""The hard instance of Theorem 5: private mean estimation over a symmetric body, reconstructed from its constants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball, Box, Domain, Ellipsoid, L1Ball
from dpcheck.interfaces import Array, Rng, procedure

Body = Literal["ball", "cross-polytope", "cube", "ellipsoid"]


@dataclass(frozen=True, eq=False)
class HardInstance:
    """A body of diameter 1 and a data set in it; the loss is |theta - x|^2/2.

    Attributes:
        records: (n, d), all in the body.
        probabilities: (d,) chance of a plus sign in every coordinate; NaN where none is drawn.
        inradius: C_min, the distance of 0 to the boundary.
    """

    domain: Domain
    records: Array
    probabilities: Array
    inradius: float


@procedure("lp_spaces/proc-lower-instance")
def lower_instance(body: Body, d: int, n: int, rng: Rng) -> HardInstance:
    """Records on the boundary with hidden signs: fingerprinting data, arcsine-distributed probabilities.

    ball, cube: signs in all coordinates at 1/(2 sqrt d); cross-polytope: +-e_j/2 over the first ceil(log d)
    coordinates; ellipsoid (half-axes 1/(2 sqrt j)): signs on its ceil(d/4) longest axes.
    """
    if d < 2 or n < 1:
        raise InvalidInput(f"the hard instance needs d >= 2 and n >= 1, got d = {d}, n = {n}")
    chances = rng.beta(0.5, 0.5, size=d)
    signs = np.where(rng.random((n, d)) < chances, 1.0, -1.0)
    if body == "ball":
        return HardInstance(Ball(d, 0.5), signs / (2 * math.sqrt(d)), chances, 0.5)
    if body == "cube":
        side = 1 / (2 * math.sqrt(d))
        return HardInstance(Box(-side, side, d), signs * side, chances, side)
    if body == "cross-polytope":
        k = math.ceil(math.log(d))
        place = rng.integers(k, size=n)
        records = np.zeros((n, d))
        records[np.arange(n), place] = signs[np.arange(n), place] / 2
        return HardInstance(L1Ball(d, 0.5), records, _only(chances, k), 1 / (2 * math.sqrt(d)))
    if body == "ellipsoid":
        axes, k = 0.5 / np.sqrt(np.arange(1, d + 1)), math.ceil(d / 4)
        records = np.where(np.arange(d) < k, signs * axes / math.sqrt(k), 0.0)
        return HardInstance(Ellipsoid(axes), records, _only(chances, k), float(axes.min()))
    raise InvalidInput(f"no hard instance for {body!r}; choose ball, cross-polytope, cube or ellipsoid")


def _only(chances: Array, k: int) -> Array:
    return np.where(np.arange(len(chances)) < k, chances, np.nan)
