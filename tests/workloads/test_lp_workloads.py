"""Signs, coordinate designs and heavy coordinates: gradients, minimisers, constants and draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball, L1Ball
from dpcheck.geometry.norms import dual_norm, norm
from dpcheck.workloads import CoordinateHuber, EqualRecords, HeavyCoordinates, LinearMean, QuadraticMean, signs_on

DOMAIN = Ball(3, 0.5)
WORKLOADS: list[Any] = [
    QuadraticMean(*signs_on(DOMAIN, 0.4, 0.5), DOMAIN, 0.5, 0.25),
    LinearMean(*signs_on(DOMAIN, 1.0, 0.5), DOMAIN, 0.5),
    CoordinateHuber(np.array([0.3, -0.2, 0.1])),
    HeavyCoordinates(np.full(3, 0.2)),
    EqualRecords((0.2, 0.0, -0.1), curvature=0.5),
    EqualRecords((0.2, 0.0, -0.1)),
]


@pytest.mark.parametrize("work", WORKLOADS, ids=lambda w: type(w).__name__)
def test_gradients_are_derivatives(work: Any) -> None:
    rng, h = np.random.default_rng(0), 1e-6
    z = work.rows(rng, 1, 20)[0]
    w = 0.3 * rng.standard_normal((20, 3))
    slope = work.gradient(w, z)
    for j in range(3):
        e = h * np.eye(3)[j]
        central = (work.loss(w + e, z) - work.loss(w - e, z)) / (2 * h)
        assert central == pytest.approx(np.broadcast_to(slope, w.shape)[:, j], abs=1e-6)


@pytest.mark.parametrize("work", WORKLOADS, ids=lambda w: type(w).__name__)
def test_excess_risk_is_the_population_risk_over_its_minimum(work: Any) -> None:
    # 200,000 draws of a difference of losses: its mean is within 6 standard errors of the truth except with 1e-8.
    rng = np.random.default_rng(1)
    z = work.rows(rng, 1, 200_000)[0]
    a, b = work.project(0.3 * rng.standard_normal((2, 1, 3)))
    differences = work.loss(a, z) - work.loss(b, z)
    expected = float(work.excess_risk(a)[0] - work.excess_risk(b)[0])
    assert differences.mean() == pytest.approx(expected, abs=6 * differences.std() / np.sqrt(len(z)) + 1e-9)


def test_declared_lipschitz_and_smoothness_constants_cover_drawn_points() -> None:
    rng = np.random.default_rng(2)
    for work in WORKLOADS[:3]:
        z = work.rows(rng, 1, 500)[0]
        w, v = work.project(rng.standard_normal((2, 500, 3)))
        for p in (1.5, 2.0, 3.0):
            slopes = np.broadcast_to(work.gradient(w, z), w.shape)
            assert dual_norm(slopes, p).max() <= work.constants.lipschitz(p) * (1 + 1e-9)
            moved = dual_norm(slopes - np.broadcast_to(work.gradient(v, z), w.shape), p)
            assert (moved <= work.constants.smoothness(p) * norm(w - v, p) + 1e-9).all()


def test_counts_of_atoms_have_the_law_of_the_rows() -> None:
    work = WORKLOADS[2]
    sample = work.draw(np.random.default_rng(3), 2, 60_000)
    assert sample.size == 60_000
    # Every share is within 6 deviations of 1/6 except with 1e-8.
    assert sample.weights / 60_000 == pytest.approx(np.full((2, 6), 1 / 6), abs=0.0092)


def test_nonsense_is_refused() -> None:
    with pytest.raises(InvalidInput, match="shape"):
        LinearMean(np.ones(2), np.zeros(3), DOMAIN, 0.5)
    with pytest.raises(InvalidInput, match="mean"):
        QuadraticMean(np.ones(3), np.full(3, 0.9), L1Ball(3, 0.5), 0.5)
    with pytest.raises(InvalidInput, match="nu > 2"):
        HeavyCoordinates(np.zeros(3), nu=2.0)
    with pytest.raises(InvalidInput, match="centre"):
        HeavyCoordinates(np.ones(3))
    with pytest.raises(InvalidInput, match="target"):
        CoordinateHuber(np.zeros((2, 2)))


def test_equal_records_are_least_where_they_say_and_stay_within_their_class() -> None:
    bowl, slope = WORKLOADS[4], WORKLOADS[5]
    points = L1Ball(3, 1.0).project(np.random.default_rng(7).standard_normal((500, 3)))
    for work, best in ((bowl, [0.4, 0.0, -0.2]), (slope, [1.0, 0.0, 0.0])):
        assert work.excess_risk(np.array([best]))[0] == pytest.approx(0.0, abs=1e-15)
        assert (work.excess_risk(points) >= 0).all()
        slopes = np.broadcast_to(work.gradient(points, np.asarray(work.z)), points.shape)
        assert np.abs(slopes).max() <= work.constants.lipschitz(1.0)
    sample = bowl.draw(np.random.default_rng(0), 5, 10**9)
    assert sample.size == 10**9
    assert bowl.constants.rows(10**9) == 1


@pytest.mark.parametrize(
    ("z", "curvature", "said"),
    [
        ((0.7, 0.0), 0.5, "<= L"),
        ((), 0.0, "EqualRecords needs"),
        ((0.3, 0.3), 0.5, "minimiser"),
        ((0.1,), -1.0, "0 <= curvature"),
    ],
)
def test_equal_records_outside_their_class_are_refused(z: tuple[float, ...], curvature: float, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        EqualRecords(z, curvature)
