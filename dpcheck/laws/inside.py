"""Outputs that carry their noise already: drawn inside of the mechanism, before its last step."""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Rng
from dpcheck.laws._common import check_scale, check_sensitivity
from dpcheck.privacy import pure_delta, pure_to_zcdp


@dataclass(frozen=True)
class Inside:
    """The law of a core that is private as it comes: `epsilon`-DP by its own proof, however far it moves.

    Attributes:
        epsilon: what a record that moves the core costs.
        noise: the scale that tables show.
    """

    epsilon: float
    noise: float

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise InvalidInput(f"epsilon must be >= 0, got {self.epsilon!r}")
        check_scale("noise", self.noise)

    def sample(self, core: Array, rng: Rng) -> Array:
        """The core itself."""
        return core

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """Not available. Raises `InvalidInput`."""
        raise InvalidInput(
            "the noise of this output was drawn inside of the mechanism, and its core does not tell its density; "
            "audit the outputs, or integrate the density of a given pair"
        )

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """count * epsilon, or 0 where nothing moves."""
        check_sensitivity(sensitivity, count)
        return count * self.epsilon if sensitivity > 0 else 0.0

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """Of randomised response, which dominates: count * epsilon tanh(epsilon / 2)."""
        check_sensitivity(sensitivity, count)
        return count * pure_to_zcdp(self.pure(sensitivity))

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Of randomised response."""
        return pure_delta(self.pure(sensitivity), epsilon)
