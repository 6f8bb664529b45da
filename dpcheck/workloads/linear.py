"""Linear losses <z, w> on a ball, with finitely many records: rare spikes, packings, two-point laws.

Samples are counts of atoms, so a data set of 10^7 records costs as much as one of ten.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.numerics import edges
from dpcheck.workloads.links import Linear
from dpcheck.workloads.ridge import BallRidge


class LinearWorkload(BallRidge):
    """f(w, z) = <z, w> on the ball of diameter D around 0, z one of finitely many atoms."""

    link = Linear()
    D: float

    @property
    @abc.abstractmethod
    def atoms(self) -> Array:
        """(K, d)."""

    @property
    @abc.abstractmethod
    def probabilities(self) -> Array:
        """(K,), summing to 1."""

    @property
    def d(self) -> int:
        return int(self.atoms.shape[1])

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.d,)

    @functools.cached_property
    def domain(self) -> Ball:
        return Ball(radius=self.D / 2, d=self.d)

    @functools.cached_property
    def mean(self) -> Array:
        """E z: (d,)."""
        return np.asarray(self.probabilities @ self.atoms)

    @functools.cached_property
    def constants(self) -> Constants:
        norms = np.linalg.norm(self.atoms, axis=1)
        mean = float(np.linalg.norm(self.mean))

        def moment(k: float, m: int) -> float:
            single = float((self.probabilities @ norms**k) ** (1 / k))
            if k == 2:
                return float(np.sqrt((single**2 - mean**2) / m + mean**2))
            return single  # for m > 1 an upper bound, by the triangle inequality

        return Constants(
            d=self.d,
            diameter=self.domain.diameter,
            lipschitz=lambda p: float(np.linalg.norm(self.atoms, ord=_dual(p), axis=1).max()),
            smoothness=lambda p: 0.0,
            moment=moment,
            hessian_rank=0,
            atoms=len(self.atoms),
            family="linear",
        )

    def features(self, z: Array) -> tuple[Array, Array]:
        return z, np.zeros(z.shape[:-1])

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(w @ self.mean + self.D / 2 * np.linalg.norm(self.mean))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return np.asarray(self.atoms[rng.choice(len(self.atoms), size=(trials, n), p=self.probabilities)])

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        counts = rng.multinomial(n, self.probabilities, size=trials).astype(float)
        if means_only:
            return Sample((counts @ self.atoms / n)[:, None], np.full((1, 1), float(n)))
        return Sample(self.atoms[None], counts)

    def extension(self, w: Array, z: Array, cap: float) -> Array:
        if self.d > 1:
            return super().extension(w, z, cap)
        size = np.abs(z[..., 0])
        steep = cap * np.sign(z[..., 0]) * w[..., 0] - (size - cap) * self.D / 2
        return np.asarray(np.where(size <= cap, (z * w)[..., 0], steep))

    def extension_gradient(self, w: Array, z: Array, cap: float) -> Array:
        if self.d > 1:
            return super().extension_gradient(w, z, cap)
        return np.broadcast_to(np.clip(z, -cap, cap), np.broadcast_shapes(z.shape, w.shape))

    def minimiser(self, sample: Sample, cap: float | None, weight: Array, centre: Array) -> Array | None:
        """Closed form unless, in d >= 2, two different atoms are steeper than the cap."""
        z = sample.values
        steep = np.zeros(z.shape[:2], dtype=bool) if cap is None else np.linalg.norm(z, axis=-1) > cap
        if self.d == 1:
            slope = sample.mean(z if cap is None else np.clip(z, -cap, cap))
            return self.project(centre - slope / weight)
        present = steep & (np.broadcast_to(sample.weights, (len(sample.weights), z.shape[1])) > 0)
        if not present.any():
            return self.project(centre - sample.mean(z) / weight)
        if len(z) > 1 or cap is None or steep.sum() > 1:
            return None
        share = sample.weights[:, steep[0]] / sample.weights.sum(axis=1, keepdims=True)
        rest = sample.mean(np.where(steep[..., None], 0.0, z))
        return self._one_steep(z[0, steep[0]], cap, share, weight, centre - rest / weight)

    def _one_steep(self, z: Array, cap: float, share: Array, weight: Array, centre: Array) -> Array:
        """argmin of share f_cap(., z) + weight/2 |. - centre|^2 for one atom z (1, d), by its dual over an angle."""
        trials = max(len(share), len(weight), len(centre))
        centre = np.broadcast_to(centre, (trials, self.d))
        share, weight = (np.broadcast_to(v, (trials, 1))[:, 0] for v in (share, weight))
        along, across, size, axis, other = _plane(z, centre)
        radius = self.D / 2

        def point(angle: Array) -> tuple[Array, Array]:
            x = along - share * cap * np.cos(angle) / weight
            y = across - share * cap * np.sin(angle) / weight
            shrink = np.minimum(1.0, radius / np.maximum(np.hypot(x, y), 1e-300))
            return x * shrink, y * shrink

        def dual(angle: Array) -> Array:
            x, y = point(angle)
            far = np.sqrt(np.maximum(cap**2 + size**2 - 2 * cap * size * np.cos(angle), 0.0))
            linear = cap * (x * np.cos(angle) + y * np.sin(angle)) - radius * far
            return np.asarray(share * linear + weight / 2 * ((x - along) ** 2 + (y - across) ** 2))

        def slope(angle: Array) -> Array:
            # The inner minimum over the point contributes nothing to first order.
            x, y = point(angle)
            far = np.sqrt(np.maximum(cap**2 + size**2 - 2 * cap * size * np.cos(angle), 1e-300))
            return np.asarray(y * np.cos(angle) - x * np.sin(angle) - radius * size * np.sin(angle) / far)

        x, y = point(_argmax_angle(dual, slope, (trials,)))
        return np.asarray(x[:, None] * axis + y[:, None] * other)


@dataclass(frozen=True)
class RareSpikes(LinearWorkload):
    """One dimension: z = +-a with probability p (1 +- theta)/2, else 0, and a = G p^(-1/k), so that G_k = G exactly.

    >>> work = RareSpikes(D=2.0, k=2.0, G=1.0, p=0.01, theta=1.0)
    >>> round(work.constants.moment(2.0, 1), 12), round(work.constants.moment(1.0, 1), 12)
    (1.0, 0.1)
    """

    D: float = 1.0
    k: float = 2.0
    G: float = 1.0
    p: float = 0.01
    theta: float = 0.3

    def __post_init__(self) -> None:
        if not (self.D > 0 and self.G > 0 and 0 < self.p <= 1 and abs(self.theta) <= 1 and self.k >= 1):
            raise InvalidInput(f"RareSpikes needs D, G > 0, p in (0, 1], |theta| <= 1 and k >= 1, got {self}")

    @classmethod
    def rescaled(
        cls,
        n: int,
        epsilon: float,
        blocks: int = 1,
        *,
        D: float = 1.0,
        k: float = 2.0,
        G: float = 1.0,
        theta: float = 0.3,
    ) -> RareSpikes:
        """A member with about one spike for each epsilon's worth of a block's records: p = blocks/(n epsilon).

        No member is hardest at every n. On this one every point of the domain has an excess risk of at most
        D theta G p^(1-1/k), which is the private rate in n and epsilon by construction: risks measured here say nothing
        of an algorithm's rate.
        """
        return cls(D=D, k=k, G=G, p=min(1.0, blocks / (n * epsilon)), theta=theta)

    @property
    def size(self) -> float:
        """a, the size of a spike."""
        return float(self.G * self.p ** (-1 / self.k))

    @functools.cached_property
    def atoms(self) -> Array:
        return np.array([[self.size], [-self.size], [0.0]])

    @functools.cached_property
    def probabilities(self) -> Array:
        up, down = self.p * (1 + self.theta) / 2, self.p * (1 - self.theta) / 2
        return np.array([up, down, max(0.0, 1 - up - down)])  # at p = 1 the difference may round below 0


@dataclass(frozen=True)
class SparseDirection(LinearWorkload):
    """z = a nu with probability p, else 0, |nu| = 1 and a = G p^(-1/k): one member of a packing family."""

    nu: tuple[float, ...]
    D: float = 1.0
    k: float = 2.0
    G: float = 1.0
    p: float = 0.01

    def __post_init__(self) -> None:
        if not abs(float(np.linalg.norm(self.nu)) - 1) <= 1e-9:
            raise InvalidInput(f"nu must be a unit vector, got norm {np.linalg.norm(self.nu)}")
        if not (self.D > 0 and self.G > 0 and 0 < self.p <= 1 and self.k >= 1):
            raise InvalidInput(f"SparseDirection needs D, G > 0, p in (0, 1] and k >= 1, got {self}")

    @property
    def atoms(self) -> Array:
        return np.array([self.G * self.p ** (-1 / self.k) * np.asarray(self.nu), np.zeros(len(self.nu))])

    @property
    def probabilities(self) -> Array:
        return np.array([self.p, 1 - self.p])


@dataclass(frozen=True)
class TwoPoint(LinearWorkload):
    """z = +-G e_1 with probability (1 +- rho)/2."""

    D: float = 1.0
    G: float = 1.0
    rho: float = 0.1
    dimension: int = 1

    def __post_init__(self) -> None:
        if not (self.D > 0 and self.G > 0 and abs(self.rho) <= 1 and self.dimension >= 1):
            raise InvalidInput(f"TwoPoint needs D, G > 0, |rho| <= 1 and dimension >= 1, got {self}")

    @property
    def atoms(self) -> Array:
        e_1 = np.eye(self.dimension)[0]
        return np.array([self.G * e_1, -self.G * e_1])

    @property
    def probabilities(self) -> Array:
        return np.array([(1 + self.rho) / 2, (1 - self.rho) / 2])


def _dual(p: float) -> float:
    """The exponent conjugate to p."""
    return float(np.inf) if p == 1 else 1.0 if np.isinf(p) else p / (p - 1)


def _plane(z: Array, w: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Coordinates of w along and across z, |z|, and the two unit vectors of the plane that holds both."""
    size = np.linalg.norm(z, axis=-1)
    axis = z / np.maximum(size, 1e-300)[..., None]
    along = (axis * w).sum(axis=-1)
    rest = w - along[..., None] * axis
    across = np.linalg.norm(rest, axis=-1)
    return along, across, size, axis, rest / np.maximum(across, 1e-300)[..., None]


def _argmax_angle(value: Callable[[Array], Array], slope: Callable[[Array], Array], shape: tuple[int, ...]) -> Array:
    """The angle in [0, pi] that maximises `value` for each entry: a grid, then bisection of the slope."""
    grid = np.linspace(0.0, np.pi, 129)
    values = np.stack([np.broadcast_to(value(angle), shape) for angle in grid])
    best = grid[values.argmax(axis=0)]
    low, high = np.maximum(best - grid[1], 0.0), np.minimum(best + grid[1], np.pi)
    low, high = edges(lambda angle: slope(angle) <= 0, low, high, halvings=50)
    return np.asarray((low + high) / 2)
