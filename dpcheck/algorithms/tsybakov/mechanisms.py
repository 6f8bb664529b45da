"""The Gaussian mechanism with the paper's constant, and the local randomiser of the proof of Theorem 6."""

from __future__ import annotations

import math

from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import clip_norm
from dpcheck.interfaces import Array, Rng, procedure
from dpcheck.laws import Gaussian


def check_budget(epsilon: float, delta: float) -> None:
    """Raises `InvalidInput` unless epsilon > 0 and 0 < delta < 1."""
    if not (epsilon > 0 and 0 < delta < 1):
        raise InvalidInput(f"needs epsilon > 0 and 0 < delta < 1, got {epsilon!r}, {delta!r}")


@procedure("tsybakov/proc-gaussian")
def printed_gaussian(sensitivity: float, epsilon: float, delta: float) -> Gaussian:
    """Definition 3: deviation 4 sensitivity sqrt(log(1/delta))/epsilon."""
    check_budget(epsilon, delta)
    return Gaussian(4 * sensitivity * math.sqrt(math.log(1 / delta)) / epsilon)


@procedure("tsybakov/proc-ldp-gauss")
def local_randomiser(z: Array, level: float, epsilon: float, delta: float, rng: Rng) -> Array:
    """Each row of z (trials, ..., d) clipped at `level`, plus noise of variance 8 level² log(1/delta)/epsilon²."""
    return local_law(level, epsilon, delta).sample(clip_norm(z, level), rng)


def local_law(level: float, epsilon: float, delta: float) -> Gaussian:
    """The noise of `local_randomiser`."""
    check_budget(epsilon, delta)
    return Gaussian(level * math.sqrt(8 * math.log(1 / delta)) / epsilon)
