"""Power wells: gradients, growth with equality, moments, and the law of counted draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.errors import InvalidInput
from dpcheck.workloads.power_well import PowerWell, rare_spikes

WELLS = [
    PowerWell(c=np.array([0.5]), v=np.ones(1), theta=2.0, size=2.0, chance=0.25),
    PowerWell(c=np.array([0.3, -0.2]), v=np.array([0.6, 0.8]), theta=4.0, size=1.5, chance=0.5, weight=2.0),
    PowerWell(c=np.array([0.0, 0.0, 0.4]), v=np.eye(3)[1], theta=3.0, size=0.5, chance=1.0, radius=0.7),
]


@pytest.mark.parametrize("work", WELLS, ids=lambda w: f"theta = {w.theta:g}")
def test_gradients_are_derivatives_within_the_declared_constants(work: PowerWell) -> None:
    rng, h, d = np.random.default_rng(0), 1e-6, len(work.c)
    z, w = work.rows(rng, 1, 40)[0], work.project(rng.standard_normal((40, d)))
    slope = work.gradient(w, z)
    for j in range(d):
        e = h * np.eye(d)[j]
        central = (work.loss(w + e, z) - work.loss(w - e, z)) / (2 * h)
        assert central == pytest.approx(slope[:, j], abs=1e-6)
    lengths = np.linalg.norm(slope, axis=1)
    assert lengths.max() <= work.constants.lipschitz(2.0) * (1 + 1e-12)
    v = work.project(rng.standard_normal((40, d)))
    bent = np.linalg.norm(work.gradient(w, z) - work.gradient(v, z), axis=1)
    assert (bent <= work.constants.smoothness(2.0) * np.linalg.norm(w - v, axis=1) * (1 + 1e-9)).all()


@pytest.mark.parametrize("work", WELLS, ids=lambda w: f"theta = {w.theta:g}")
def test_growth_holds_with_equality(work: PowerWell) -> None:
    rng = np.random.default_rng(1)
    w = work.project(rng.standard_normal((100, len(work.c))))
    assert work.constants.growth is not None
    theta, growth = work.constants.growth
    assert work.excess_risk(w) == pytest.approx(growth * np.linalg.norm(w - work.c, axis=1) ** theta)
    assert work.excess_risk(w).max() <= work.worst * (1 + 1e-12)


@pytest.mark.parametrize("work", WELLS, ids=lambda w: f"theta = {w.theta:g}")
def test_counts_have_the_law_of_the_rows(work: PowerWell) -> None:
    """Shares within 6 standard errors: failure probability below 1e-7 over fresh seeds."""
    n, trials = 400, 500
    sample = work.draw(np.random.default_rng(2), trials, n)
    assert (sample.weights.sum(axis=1) == n).all()
    rows = work.rows(np.random.default_rng(3), trials, n)
    error = 6 * work.size / math.sqrt(n * trials)
    assert sample.mean(sample.values).mean(axis=0) == pytest.approx(np.zeros(len(work.c)), abs=error)
    assert rows.mean(axis=(0, 1)) == pytest.approx(np.zeros(len(work.c)), abs=error)
    spiked = (np.linalg.norm(rows, axis=-1) > 0).mean()
    assert spiked == pytest.approx(work.chance, abs=6 * 0.5 / math.sqrt(n * trials) + 1e-12)
    assert sample.weights[:, :2].sum() / (n * trials) == pytest.approx(work.chance, abs=6 * 0.5 / math.sqrt(n * trials))
    means = work.draw(np.random.default_rng(2), trials, n, means_only=True)
    assert means.values[:, 0] == pytest.approx(sample.mean(sample.values))


def test_rare_spikes_keep_their_moment_and_raise_the_lipschitz_constant() -> None:
    found = []
    for chance in (0.5, 1e-3, 1e-6):
        size = rare_spikes(chance, 4.0, 1.0)
        assert chance * size**4 == pytest.approx(1.0)
        work = PowerWell(c=np.array([0.5]), v=np.ones(1), size=size, chance=chance)
        found.append((work.constants.moment(4.0, 1), work.constants.lipschitz(2.0)))
        exact = chance * (size + work.pull) ** 4 + (1 - chance) * work.pull**4
        assert found[-1][0] == pytest.approx(exact**0.25)
    assert max(m for m, _ in found) < 2.5
    assert found[-1][1] > 10 * found[0][1]


def test_nonsense_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unit vector"):
        PowerWell(c=np.zeros(2), v=np.ones(2))
    with pytest.raises(InvalidInput, match="outside the ball"):
        PowerWell(c=np.array([2.0]), v=np.ones(1))
    with pytest.raises(InvalidInput, match="theta >= 2"):
        PowerWell(c=np.zeros(1), v=np.ones(1), theta=1.5)
    with pytest.raises(InvalidInput, match="l_2 only"):
        WELLS[0].constants.lipschitz(1.0)
    with pytest.raises(InvalidInput, match="chance"):
        rare_spikes(0.0, 4.0, 1.0)
