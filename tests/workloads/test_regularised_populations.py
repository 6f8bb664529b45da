"""Ridge logistic and fourth-power regression on tables, and the tables themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import clip_norm
from dpcheck.interfaces import Sample
from dpcheck.workloads.regularised import RegularisedPopulation
from dpcheck.workloads.sparse_designs import census_like, doctor_visits, marriages, one_hot, web_like

LOSSES = ("logistic", "l4")


def small(loss: str, ridge: float = 0.1, radius: float = 1.0) -> RegularisedPopulation:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 3))
    y = (x[:, 0] + 0.5 * rng.standard_normal(60) > 0).astype(float)
    return RegularisedPopulation(x, y, loss, ridge, radius)  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_derivatives_within_the_declared_constants(loss: str) -> None:
    work, rng, h = small(loss), np.random.default_rng(1), 1e-6
    z, w = work.rows(rng, 1, 50)[0], work.project(rng.standard_normal((50, 3)))
    slope = work.gradient(w, z)
    for j in range(3):
        e = h * np.eye(3)[j]
        central = (work.loss(w + e, z) - work.loss(w - e, z)) / (2 * h)
        assert central == pytest.approx(slope[:, j], rel=1e-5, abs=1e-5)
    assert (np.linalg.norm(slope, axis=1) <= work.amplitude(z) * (1 + 1e-12)).all()
    v = work.project(rng.standard_normal((50, 3)))
    bent = np.linalg.norm(work.gradient(w, z) - work.gradient(v, z), axis=1)
    assert (bent <= work.constants.smoothness(2.0) * np.linalg.norm(w - v, axis=1) * (1 + 1e-9)).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("level", [0.3, 2.0, 1e9])
def test_clipped_sums_are_sums_of_clipped_gradients(loss: str, level: float) -> None:
    work, rng = small(loss), np.random.default_rng(2)
    values, weights = work.rows(rng, 4, 9), rng.integers(0, 3, size=(4, 9)).astype(float)
    w = work.project(rng.standard_normal((4, 3)))
    one_by_one = clip_norm(work.gradient(w[:, None], values), level) * weights[..., None]
    assert work.clipped_sum(w, Sample(values, weights), level) == pytest.approx(one_by_one.sum(axis=1))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("ridge", "radius"), [(0.1, 1.0), (0.1, 20.0), (0.0, 0.3)])
def test_minimiser_against_a_general_solver(loss: str, ridge: float, radius: float) -> None:
    work = small(loss, ridge, radius)
    inside = {"type": "ineq", "fun": lambda w: radius**2 - w @ w}
    found = optimize.minimize(
        lambda w: float(work.risk(w[None])[0]), np.zeros(3), constraints=[inside], method="SLSQP", tol=1e-14
    )
    assert work.population_minimiser == pytest.approx(found.x, abs=2e-4 * max(1.0, radius))
    assert work.gap(work.population_minimiser) <= work.constants.extra["risk_tolerance"]
    rng = np.random.default_rng(3)
    w = work.project(radius * rng.standard_normal((200, 3)))
    excess = work.excess_risk(w)
    assert (excess >= 0).all()
    # What is certified is a bound on the excess of any point.
    assert all(work.gap(v) >= e - 1e-12 for v, e in zip(w[:20], excess[:20], strict=True))


def test_risk_is_the_mean_loss_and_errors_are_counted() -> None:
    work = small("logistic")
    w = np.array([[0.2, -0.1, 0.4], [-1.0, 0.0, 0.0]])
    by_rows = [work.loss(np.broadcast_to(v, (60, 3)), work.table).mean() for v in w]
    assert work.risk(w) == pytest.approx(np.array(by_rows))
    assert work.misclassified(np.array([[1.0, 0.0, 0.0]]))[0] < 0.3
    assert work.misclassified(w)[1] > 0.7


def test_one_hot_codes_values_or_quantile_bins() -> None:
    few, many = np.array([0.0, 1.0, 1.0, 2.0]), np.arange(4.0)
    assert one_hot([few]).tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert one_hot([few, many], bins=1).sum(axis=1).tolist() == [2, 2, 2, 2]
    wide = one_hot([np.arange(100.0)], bins=5)
    assert wide.shape == (100, 5)
    assert wide.sum(axis=0).tolist() == [20] * 5
    with pytest.raises(InvalidInput, match="nothing"):
        one_hot([])


def test_tables_have_their_shape() -> None:
    visits, answers = doctor_visits(), marriages()
    assert visits.features.shape[0] == 20_190
    assert answers.features.shape[0] == 6_366
    assert visits.target.mean() == pytest.approx(0.200, abs=1e-3)
    assert answers.target.mean() == pytest.approx(0.322, abs=1e-3)
    census, web = census_like(N=2000), web_like(N=2000)
    assert census.features.shape == (2000, 123)
    assert (census.features.sum(axis=1) == 14).all()
    assert web.features.shape == (2000, 300)
    assert web.features.mean() == pytest.approx(0.04, abs=0.002)
    assert census.target.mean() == pytest.approx(0.24, abs=1e-3)
    assert web.target.mean() == pytest.approx(0.03, abs=1e-3)
    assert set(np.unique(web.features)) == {0.0, 1.0}


def test_nonsense_is_refused() -> None:
    x = np.ones((4, 2))
    with pytest.raises(InvalidInput, match="labels 0 and 1"):
        RegularisedPopulation(x, np.array([0.0, 1.0, 2.0, 1.0]))
    with pytest.raises(InvalidInput, match="features"):
        RegularisedPopulation(x, np.ones(3))
    with pytest.raises(InvalidInput, match="radius > 0"):
        RegularisedPopulation(x, np.ones(4), radius=0.0)
    with pytest.raises(InvalidInput, match="finite"):
        RegularisedPopulation(x * np.nan, np.ones(4))
    with pytest.raises(InvalidInput, match="choose logistic or l4"):
        RegularisedPopulation(x, np.ones(4), "hinge")  # type: ignore[arg-type]
