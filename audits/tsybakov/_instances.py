"""What the audits of this paper share: witnesses, and the losses on which clipped descent is not stable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.interfaces import Array, Sample
from dpcheck.verdicts import Witness


def witnessed(label: str, verifier: str, claimed: float, found: float, **parameters: Any) -> Witness:
    """A witness of this paper; `claimed` and `found` come from the check's own arithmetic."""
    return Witness(
        label=label,
        kind=f"tsybakov.{verifier}",
        parameters=parameters,
        claimed=repr(float(claimed)),
        found=repr(float(found)),
    )


@dataclass(frozen=True)
class Sheared:
    """Records (s, t, g): gradient s A w + t K u + g with A = diag(1, a); u is where clipping shears most."""

    a: float
    K: float

    @property
    def u(self) -> Array:
        across = math.sqrt(self.a / (1 + self.a))
        return np.array([math.sqrt(1 - across**2), across])

    def gradient(self, w: Array, z: Array) -> Array:
        """(..., 2), (..., 4) -> (..., 2)."""
        return np.asarray(z[..., :1] * w * np.array([1.0, self.a]) + z[..., 1:2] * self.K * self.u + z[..., 2:])

    def project(self, w: Array) -> Array:
        """All of the plane: the descents of these audits do not reach the domain's boundary."""
        return w

    def worst(self, n: int, weight: float) -> Array:
        """e: the top right singular vector of (weight I + J)^-1, J the Jacobian of the clipped mean at 0."""
        J = (1 - 2 / n) / self.K * (np.eye(2) - np.outer(self.u, self.u)) @ np.diag([1.0, self.a])
        return np.asarray(np.linalg.svd(np.linalg.inv(weight * np.eye(2) + J))[2][0])

    def batch(self, n: int, weight: float, sign: float) -> Sample:
        """(n-2)/2 records on either side, one zero loss, and one linear loss `sign` e: n records as four atoms."""
        linear = [0.0, 0.0, *(sign * self.worst(n, weight))]
        atoms = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0], [0.0] * 4, linear])
        return Sample(atoms[None], np.array([[(n - 2) / 2, (n - 2) / 2, 1.0, 1.0]]))
