"""Lower bounds: the hard classes of Appendix G with their reductions."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Rng, procedure
from dpcheck.workloads.linear import SparseDirection, TwoPoint

TRIES = 1280  # the same: of patience alone
"""Directions that a packing is looked for in, for each vector that is wanted."""
BELOW = 0.999999999999
"""Keeps a product that is a whole number from being rounded above it."""


def check_zeta(zeta: float) -> None:
    """Raises `InvalidInput` unless the failure probability ζ lies in (0, 1/4]."""
    if not 0 < zeta <= 0.25:
        raise InvalidInput(f"the lower bounds need zeta in (0, 1/4], got {zeta}")


@procedure("pure_heavy_tails/proc-hard-bdd")
def bounded_pair(
    n: int, zeta: float, G_2: float = TwoPoint.G, D: float = TwoPoint.D, d: int = TwoPoint.dimension
) -> tuple[TwoPoint, TwoPoint]:
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
    found = np.empty((0, d))
    for _ in range(TRIES * wanted):
        v = rng.normal(size=d)
        v /= np.linalg.norm(v)
        if (np.linalg.norm(found - v, axis=1) >= 0.5).all():
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
    V: Array,
    n: int,
    epsilon: float,
    zeta: float,
    *,
    k: float = SparseDirection.k,
    G_k: float = SparseDirection.G,
    D: float = SparseDirection.D,
) -> tuple[SparseDirection, ...]:
    """P_ν = (1 - p) δ_0 + p δ_{aν} for every ν of a packing V of the unit sphere, a = G_k p^(-1/k).

    Raises:
        InvalidInput: V is not on the sphere, or closer than 1/2, or too small for ζ; ε > 1; ζ outside (0, 1/4].
    """
    if len(V) > 1 and separation(V) < 0.5:
        raise InvalidInput(f"the packing must be 1/2-separated, got {separation(V):.3g}")
    p = spike_probability(len(V), n, epsilon, zeta)
    return tuple(SparseDirection(nu=tuple(float(x) for x in nu), D=D, k=k, G=G_k, p=p) for nu in V)


def decoding_error(size: int, n: int, epsilon: float, p: float) -> float:
    """Least average error q/(2(1 + q)) of any ε-DP decoder of a packing, q = (|V| - 1) exp(-ε ceil(np)) [BD14]."""
    q = (size - 1) * math.exp(-epsilon * math.ceil(n * p * BELOW))
    return q / (2 * (1 + q))


@procedure("pure_heavy_tails/proc-mean-reduction")
def mean_from_point(w: Array, m: float) -> Array:
    """μ̂_A = -m w/|w|, or m e_1 at w = 0: the mean that a point of linear SCO betrays, (trials, d) -> (trials, d)."""
    length = np.linalg.norm(w, axis=1, keepdims=True)
    first = np.broadcast_to(np.eye(w.shape[1])[0], w.shape)
    return np.asarray(m * np.where(length > 0, -w / np.where(length > 0, length, math.inf), first))


@procedure("pure_heavy_tails/proc-nn-decoder")
def nearest(estimate: Array, means: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """Index of the nearest of the means (K, d) to each estimate (trials, d); ties go to the smallest: (trials,)."""
    return np.asarray(np.linalg.norm(estimate[:, None] - means[None], axis=2).argmin(axis=1))
