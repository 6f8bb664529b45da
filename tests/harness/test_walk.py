"""Averages along clipped walks: against simulation, and the law of rest against the grid."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling import Instance, Steps, Walk
from dpcheck.seeds import stream


class Slope:
    """Excess 1/2 - w on [-1/2, 1/2]."""

    def project(self, w: np.ndarray) -> np.ndarray:
        return np.clip(w, -0.5, 0.5)

    def excess_risk(self, w: np.ndarray) -> np.ndarray:
        return 0.5 - w[..., 0]


def risk(drift: float, spread: float, count: float, *, pilot: bool = False) -> float:
    instance = Instance(None, Slope(), None, 1, {})  # type: ignore[arg-type]
    return Walk(lambda one: Steps(drift, spread, count))(instance, 0, pilot=pilot).value


@pytest.mark.parametrize(
    ("drift", "spread", "count"), [(0.01, 0.1, 60), (0.2, 0.05, 7), (0.0, 0.5, 13), (-0.3, 0.2, 20)]
)
def test_the_average_against_simulation(drift: float, spread: float, count: int) -> None:
    rng, w, values = stream(0, "walk"), np.zeros(40_000), np.zeros(40_000)
    for _ in range(count):
        w = np.clip(w + drift + spread * rng.standard_normal(len(w)), -0.5, 0.5)
        values += (0.5 - w) / count
    assert risk(drift, spread, count) == pytest.approx(values.mean(), abs=5 * values.std() / 200 + 3e-3 * values.mean())


@pytest.mark.parametrize("drift", [0.0, 5e-5, 2e-4])
def test_the_law_of_rest_is_where_the_grid_leads(drift: float) -> None:
    """The same drift over variance, steps twice as long: the error of a grid is that of its steps."""
    rest = risk(drift / 100, 0.001, 1e12)
    errors = [abs(risk(drift * k**2, 0.01 * k, 1e12, pilot=True) / rest - 1) for k in (1, 2)]
    assert errors[0] <= 0.6 * errors[1] + 1e-4
    assert errors[0] < 0.03


def test_a_walk_of_tiny_steps_that_is_under_way_is_refused() -> None:
    with pytest.raises(InvalidInput, match="come to rest"):
        risk(0.0, 0.001, 1e6)
