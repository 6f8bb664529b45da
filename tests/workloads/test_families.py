"""What a workload says of the family of its losses is so: privacy of clipped descent rests on it."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.geometry import Ball
from dpcheck.geometry.norms import clip_norm
from dpcheck.interfaces import Array, Workload
from dpcheck.workloads import HeavyHinge, HeavyMean, PowerWell, QuadraticMean, TwoPoint
from dpcheck.workloads.coordinates import CoordinateHuber
from dpcheck.workloads.crosspolytope import EqualRecords, SignLasso, SignLinear
from dpcheck.workloads.heavy_coordinates import HeavyCoordinates
from dpcheck.workloads.population import FinitePopulation
from dpcheck.workloads.signs import LinearMean
from dpcheck.workloads.users import Users

BALL = Ball(radius=1.0, d=3)
SIZE = np.array([0.5, 0.3, 0.2])
FEATURES = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -1.0]])
LINEAR = [TwoPoint(D=2.0, dimension=3), SignLinear(mu=(0.3, 0.0)), LinearMean(SIZE, 0.3 * SIZE, BALL, 1.0)]
QUADRATIC = [
    QuadraticMean(SIZE, 0.3 * SIZE, BALL, 1.0),
    EqualRecords((0.2, 0.0, -0.1), curvature=0.5),
    HeavyCoordinates(np.full(3, 0.2)),
    HeavyMean(),
]
GENERALISED = [
    HeavyHinge(),
    FinitePopulation(FEATURES, np.array([0.1, 0.2, -0.4]), 3.0),
    CoordinateHuber(np.array([0.3, -0.2, 0.1])),
    SignLasso(x_star=(0.2, -0.1)),
]
TRIALS = 200


def sampled(work: Workload) -> tuple[Array, Array, Array, Array]:
    """Two points and the gradients of one record there, (trials, d) each."""
    rng = np.random.default_rng(0)
    records = work.draw(rng, 1, TRIALS).values[0]
    records = records[rng.integers(len(records), size=TRIALS)]
    d = work.constants.d
    w, v = (work.project(rng.normal(size=(TRIALS, d))) for _ in range(2))
    return w, v, np.asarray(work.gradient(w, records)), np.asarray(work.gradient(v, records))


@pytest.mark.parametrize("work", LINEAR, ids=lambda work: type(work).__name__)
def test_linear_losses_have_one_gradient(work: Workload) -> None:
    assert work.constants.family == "linear"
    _, _, g, h = sampled(work)
    np.testing.assert_array_equal(g, h)


@pytest.mark.parametrize("work", QUADRATIC, ids=lambda work: type(work).__name__)
def test_isotropic_quadratics_have_one_curvature(work: Workload) -> None:
    assert work.constants.family == "isotropic quadratic"
    w, v, g, h = sampled(work)
    curvature = float(((g - h) * (w - v)).sum() / ((w - v) ** 2).sum())
    assert 0 < curvature <= work.constants.smoothness(2.0) * (1 + 1e-9)
    np.testing.assert_allclose(g - h, curvature * (w - v), atol=1e-8 * np.abs(g).max())


@pytest.mark.parametrize("work", GENERALISED, ids=lambda work: type(work).__name__)
def test_generalised_linear_losses_have_one_direction_a_record(work: Workload) -> None:
    assert work.constants.family == "generalised linear"
    _, _, g, h = sampled(work)
    sizes = np.linalg.norm(g, axis=1) * np.linalg.norm(h, axis=1)
    np.testing.assert_allclose(np.abs((g * h).sum(axis=1)), sizes, atol=1e-9 * max(1.0, sizes.max()))


@pytest.mark.parametrize("work", [*LINEAR, *QUADRATIC, *GENERALISED], ids=lambda work: type(work).__name__)
def test_their_clipped_gradients_are_monotone(work: Workload) -> None:
    assert work.constants.clips_monotonically
    w, v, g, h = sampled(work)
    for level in np.quantile(np.linalg.norm(g, axis=1), [0.1, 0.5, 0.9]) + 1e-3:
        apart = clip_norm(g, float(level)) - clip_norm(h, float(level))
        assert ((apart * (w - v)).sum(axis=1) >= -1e-9).all()


def test_others_say_nothing_of_themselves() -> None:
    assert PowerWell(np.array([0.5, 0.0]), np.array([1.0, 0.0]), theta=3.0).constants.family == ""


def test_a_user_of_many_generalised_linear_samples_is_none() -> None:
    """The mean of two generalised linear losses has a Hessian of rank two, and clips as it likes."""
    hinge, signs = HeavyHinge(), QuadraticMean(SIZE, 0.3 * SIZE, BALL, 1.0)
    assert Users(hinge, 1).constants.family == "generalised linear"
    assert Users(hinge, 3).constants.family == ""
    assert Users(hinge, 3).constants.hessian_rank == 2
    assert Users(signs, 3).constants.family == "isotropic quadratic"
