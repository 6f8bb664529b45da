"""OpenDP: a measurement as a mechanism, and what its own map claims. Needs `dpcheck[subjects]`.

OpenDP draws from the operating system: its outputs are not those of a seed, and no audit of it repeats exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.auditing.mechanisms import Mechanism, gathered
from dpcheck.errors import InvalidInput
from dpcheck.privacy import ZCDP, ApproxDP, Guarantee, PureDP


def mechanism(measurement: Any, *, name: str = "", extract: Callable[[Any], Any] = lambda output: output) -> Mechanism:
    """A measurement, or a chain that ends in one, as `mechanism(data, rng, trials)`.

    Args:
        measurement: takes a list of the entries of `data`; of an array without an axis, its number.
        extract: what of an output is looked at; a dict's keys may be a part of it, say `lambda d: sorted(d.items())`.
    """
    if not callable(measurement):
        raise InvalidInput(f"a measurement of OpenDP can be called, got {type(measurement).__name__}")

    def run(data: Any, rng: np.random.Generator, trials: int) -> Any:
        given = data.tolist() if isinstance(data, np.ndarray) else data
        return gathered([extract(measurement(given)) for _ in range(trials)])

    run.__name__ = name or "the measurement"
    return run


def claim(measurement: Any, d_in: Any, *, delta: float = 0.0) -> Guarantee:
    """What the measurement's map says at a distance of its inputs: `PureDP`, `ZCDP`, or (epsilon, delta)-DP at `delta`.

    Raises:
        InvalidInput: another measure.
    """
    said, measure = measurement.map(d_in), str(measurement.output_measure)
    if measure.startswith("MaxDivergence"):
        return PureDP(float(said))
    if measure.startswith("ZeroConcentratedDivergence"):
        return ZCDP(float(said))
    if measure.startswith(("SmoothedMaxDivergence", "Approximate(SmoothedMax")):
        return ApproxDP(float(said.epsilon(delta)), delta)
    if measure.startswith(("FixedSmoothedMaxDivergence", "Approximate(MaxDivergence", "ApproximateDivergence")):
        epsilon, at = said
        return ApproxDP(float(epsilon), float(at))
    raise InvalidInput(f"the measurement is private by {measure}; give the claim yourself")
