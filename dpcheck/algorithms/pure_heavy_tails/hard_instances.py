"""Lower bounds: the hard classes of Appendix G with their reductions, and the extension that no oracle gives away."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Rng, procedure
from dpcheck.workloads.linear import SparseDirection, TwoPoint


def check_zeta(zeta: float) -> None:
    """Raises `InvalidInput` unless the failure probability ζ lies in (0, 1/4]."""
    if not 0 < zeta <= 0.25:
        raise InvalidInput(f"the lower bounds need zeta in (0, 1/4], got {zeta}")


@procedure("pure_heavy_tails/proc-hard-bdd")
def bounded_pair(n: int, zeta: float, G_2: float = 1.0, D: float = 1.0, d: int = 1) -> tuple[TwoPoint, TwoPoint]:
    """P_+ and P_- on ±G_2 e_1 with bias ±ρ, ρ = c_0 min(sqrt(log(1/ζ)/n), 1): no test tells n samples apart below ζ.

    c_0² = log(4/3)/(4 log 4) makes n KL <= 4 n ρ² <= log(1/(4ζ(1 - ζ))) for every ζ <= 1/4.
    """
    check_zeta(zeta)
    if n < 1:
        raise InvalidInput(f"n must be >= 1, got {n}")
    c_0 = math.sqrt(math.log(4 / 3) / (4 * math.log(4)))
    rho = c_0 * min(math.sqrt(math.log(1 / zeta) / n), 1.0)
    return TwoPoint(D=D, G=G_2, rho=rho, dimension=d), TwoPoint(D=D, G=G_2, rho=-rho, dimension=d)


def packing(d: int, rng: Rng, size: int | None = None) -> Array:
    """Unit vectors at mutual distance >= 1/2, up to `size` (2^d by default) of them, by greedy rejection: (size, d).

    On the sphere, because Lemma G.1 needs means of one length. In one dimension there are only ±1.

    Raises:
        InvalidInput: the greedy search does not find that many.
    """
    if d < 1:
        raise InvalidInput(f"a dimension must be >= 1, got {d}")
    wanted = 2**d if size is None else size
    if d == 1:
        if wanted > 2:
            raise InvalidInput(f"the sphere in one dimension has 2 points, {wanted} were asked for")
        return np.array([[1.0], [-1.0]])[:wanted]
    found: Array = np.empty((0, d))
    for _ in range(200):
        batch = rng.normal(size=(64 * wanted, d))
        for v in batch / np.linalg.norm(batch, axis=1, keepdims=True):
            if len(found) == 0 or np.linalg.norm(found - v, axis=1).min() >= 0.5:
                found = np.vstack([found, v])
                if len(found) == wanted:
                    return found
    raise InvalidInput(f"found only {len(found)} of {wanted} unit vectors at mutual distance 1/2 in d = {d}")


def separation(V: Array) -> float:
    """Least distance between two points of V, (K, d)."""
    gaps = np.linalg.norm(V[:, None] - V[None], axis=2)
    return float(gaps[~np.eye(len(V), dtype=bool)].min())


def spike_probability(size: int, n: int, epsilon: float, zeta: float) -> float:
    """p = min(1, log((|V| - 1)/(4eζ))/(nε)). Raises `InvalidInput` unless ε <= 1 and |V| - 1 > 4eζ."""
    check_zeta(zeta)
    if not 0 < epsilon <= 1:
        raise InvalidInput(f"the lower bounds need epsilon in (0, 1], got {epsilon}")
    if not size - 1 > 4 * math.e * zeta:
        raise InvalidInput(
            f"the packing needs |V| - 1 > 4 e zeta = {4 * math.e * zeta:.3g}, got |V| = {size}; lower zeta, or take a "
            "larger packing"
        )
    return min(1.0, math.log((size - 1) / (4 * math.e * zeta)) / (n * epsilon))


@procedure("pure_heavy_tails/proc-hard-pack")
def packed_laws(
    V: Array, n: int, epsilon: float, zeta: float, *, k: float = 2.0, G_k: float = 1.0, D: float = 1.0
) -> tuple[SparseDirection, ...]:
    """P_ν = (1 - p) δ_0 + p δ_{aν} for every ν of a packing V of the unit sphere, a = G_k p^(-1/k).

    Raises:
        InvalidInput: V is not on the sphere, or closer than 1/2, or too small for ζ; ε > 1; ζ outside (0, 1/4].
    """
    norms = np.linalg.norm(V, axis=1)
    if np.abs(norms - 1).max() > 1e-9:
        raise InvalidInput(
            f"the packing must lie on the unit sphere, got norms in [{norms.min():.3g}, {norms.max():.3g}]"
        )
    if len(V) > 1 and separation(V) < 0.5:
        raise InvalidInput(f"the packing must be 1/2-separated, got {separation(V):.3g}")
    p = spike_probability(len(V), n, epsilon, zeta)
    return tuple(SparseDirection(nu=tuple(float(x) for x in nu), D=D, k=k, G=G_k, p=p) for nu in V)


def decoding_error(size: int, n: int, epsilon: float, p: float) -> float:
    """Least average error q/(2(1 + q)) of any ε-DP decoder of a packing, q = (|V| - 1) exp(-ε ceil(np)) [BD14]."""
    q = (size - 1) * math.exp(-epsilon * math.ceil(n * p * (1 - 1e-12)))
    return q / (2 * (1 + q))


@procedure("pure_heavy_tails/proc-mean-reduction")
def mean_from_point(w: Array, m: float) -> Array:
    """μ̂_A = -m w/|w|, or m e_1 at w = 0: the mean that a point of linear SCO betrays, (trials, d) -> (trials, d)."""
    length = np.linalg.norm(w, axis=1, keepdims=True)
    first = np.broadcast_to(np.eye(w.shape[1])[0], w.shape)
    return np.asarray(m * np.where(length > 0, -w / np.where(length > 0, length, 1.0), first))


@procedure("pure_heavy_tails/proc-nn-decoder")
def nearest(estimate: Array, means: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """Index of the nearest of the means (K, d) to each estimate (trials, d); ties go to the smallest: (trials,)."""
    return np.asarray(np.linalg.norm(estimate[:, None] - means[None], axis=2).argmin(axis=1))


# Theorem B.1: f_C cannot be computed exactly from finitely many answers of a local oracle


@dataclass(frozen=True)
class FlatPair:
    """The paper's pair g_i(t) = -a t + β_i φ(t), φ'' = exp(-1/t²) for t > 0: equal to all orders for t <= 0.

    f_i(y) = g_i(<v, y>) on the unit ball have different extensions at 0 and the same answers wherever <v, y> <= 0.
    """

    a: float = 0.75
    beta: tuple[float, float] = (1.0, 2.5)

    def value(self, i: int, t: float) -> float:
        return -self.a * t + self.beta[i] * flat(t)

    def slope(self, i: int, t: float) -> float:
        return -self.a + self.beta[i] * flat_slope(t)

    def extension_at_zero(self, i: int, cap: float) -> float:
        """(f_i)_C(0) = min over [0, 1] of g_i(t) + C t."""
        if not 0 < cap < self.a:
            raise InvalidInput(f"the construction needs 0 < C < a = {self.a}, got {cap}")
        low, high = 0.0, 1.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (low, middle) if self.slope(i, middle) + cap > 0 else (middle, high)
        return self.value(i, high) + cap * high


def flat_slope(t: float) -> float:
    """φ'(t) = ∫_0^t exp(-1/s²) ds = t exp(-1/t²) - sqrt(π) erfc(1/t)."""
    return t * math.exp(-1 / t**2) - math.sqrt(math.pi) * float(special.erfc(1 / t)) if t > 0.03 else 0.0


def flat(t: float) -> float:
    """φ(t) = t φ'(t) - ∫_0^t s exp(-1/s²) ds = t φ'(t) - (t²/2) E_2(1/t²)."""
    return t * flat_slope(t) - t**2 / 2 * float(special.expn(2, 1 / t**2)) if t > 0.03 else 0.0


LocalOracle = Callable[[Array], tuple[float, Array]]
"""A point of the unit ball -> value and gradient of a convex function there."""


def distinguish(oracle: LocalOracle, d: int) -> float:
    """Two adaptive queries that tell f_0 from f_1 whatever v and d are: 0, then half-way against the gradient there.

    The first answer, -a v, betrays the direction that the proof calls orthogonal to all queries.
    """
    _, slope = oracle(np.zeros(d))
    return oracle(-slope / (2 * float(np.linalg.norm(slope))))[0]


@dataclass
class ResistingOracle:
    """The repair: answers queries on [0, 1] by germs of lines, and stays consistent with two functions for ever.

    The function is the maximum of `lines`, (value at 0, slope) with rising slopes, except near their crossings, where
    nothing has been said. The crossing at which the slope passes -C decides f_C(0). A query right at a crossing is
    answered by a new line just above it, which moves the decisive crossing away if it was there.
    """

    cap: float
    lines: list[tuple[float, float]] = field(default_factory=list)
    answered: dict[float, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.cap > 0:
            raise InvalidInput(f"the cap C must be > 0, got {self.cap}")
        if not self.lines:
            # Slope -3C/2 up to the middle, -C/2 from there on.
            self.lines = [(0.0, -1.5 * self.cap), (-0.5 * self.cap, -0.5 * self.cap)]

    @property
    def crossings(self) -> list[float]:
        """Where neighbouring lines meet, in order."""
        return [(b[0] - a[0]) / (a[1] - b[1]) for a, b in itertools.pairwise(self.lines)]

    @property
    def decisive(self) -> float:
        """The crossing at which the slope passes -C."""
        return self.crossings[sum(slope < -self.cap for _, slope in self.lines) - 1]

    def query(self, t: float) -> tuple[float, float]:
        """Value and slope at t in [0, 1]; all higher derivatives are 0 there."""
        if not 0 <= t <= 1:
            raise InvalidInput(f"queries lie in [0, 1], got {t}")
        if t not in self.answered:
            if t in self.crossings:
                self._insert(self.crossings.index(t))
            value, slope = max(self.lines, key=lambda line: line[0] + line[1] * t)
            self.answered[t] = (value + slope * t, slope)
        return self.answered[t]

    def _insert(self, place: int) -> None:
        """A line just above a crossing, its slope between those of its neighbours and not -C."""
        x, before, after = self.crossings[place], self.lines[place], self.lines[place + 1]
        decisive = before[1] < -self.cap < after[1]
        slope = (before[1] - self.cap) / 2 if decisive else (before[1] + after[1]) / 2
        above = self.room(x) / 4 * min(slope - before[1], after[1] - slope)
        self.lines.insert(place + 1, (before[0] + before[1] * x + above - slope * x, slope))

    def room(self, x: float) -> float:
        """Distance from x to the nearest other crossing, answered query or end."""
        return min(abs(x - other) for other in [0.0, 1.0, *self.crossings, *self.answered] if other != x)

    def completions(self) -> tuple[Callable[[float], float], Callable[[float], float]]:
        """Two convex smooth functions with all the answers given, and different minima of g(t) + C t.

        Each is the maximum of the lines with a bump's width of smoothing at every crossing; they differ in the width
        at the decisive one, and both leave every answered query alone.
        """
        widths = {x: self.room(x) / 2 for x in self.crossings}
        narrow = {**widths, self.decisive: widths[self.decisive] / 2}
        return (lambda t: self._smooth(t, widths), lambda t: self._smooth(t, narrow))

    def _smooth(self, t: float, widths: Mapping[float, float]) -> float:
        value = self.lines[0][0] + self.lines[0][1] * t
        for x, (before, after) in zip(self.crossings, itertools.pairwise(self.lines), strict=True):
            value += (after[1] - before[1]) * _mollified_ramp(t - x, widths[x])
        return value

    def minimum(self, g: Callable[[float], float]) -> float:
        """min over [0, 1] of g(t) + C t for a completion g: golden sections around the decisive crossing."""
        x = self.decisive
        low, high = x - self.room(x), x + self.room(x)
        ratio = (math.sqrt(5) - 1) / 2
        for _ in range(120):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            if g(left) + self.cap * left < g(right) + self.cap * right:
                high = right
            else:
                low = left
        return g((low + high) / 2) + self.cap * (low + high) / 2


@functools.cache
def _bump() -> tuple[Array, Array]:
    """Gauss-Legendre nodes on [-1, 1] with the normalised weights of the bump exp(-1/(1 - u²))."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    mass = weights * np.exp(-1 / (1 - nodes**2))
    return nodes, mass / mass.sum()


def _mollified_ramp(t: float, width: float) -> float:
    """E max(0, t - width U), U of the bump density: smooth, and equal to max(0, t) for |t| >= width."""
    if abs(t) >= width:
        return max(0.0, t)
    nodes, mass = _bump()
    return float(mass @ np.maximum(0.0, t - width * nodes))
