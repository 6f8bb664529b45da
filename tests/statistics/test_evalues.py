"""Nearest-null payments: closed form, convex optimum, validity for every null."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from dpcheck.errors import InvalidInput
from dpcheck.statistics.evalues import nearest_null


def laplace_cells(shift=1.0):
    x = np.linspace(-12, 13, 2001)
    p = np.diff(np.r_[0, stats.laplace.cdf(x), 1])
    q = np.diff(np.r_[0, stats.laplace.cdf(x - shift), 1])
    return p, q


def test_randomised_response_in_closed_form():
    # One bit, ratio 3: the nearest 0.5-DP pair keeps the mass and moves the ratio to e^0.5.
    p, q = np.array([0.75, 0.25]), np.array([0.25, 0.75])
    null = nearest_null(p, q, 0.5)
    theta = 1 / (1 + math.exp(-0.5))
    assert p / null.pay_p == pytest.approx([theta, 1 - theta], abs=1e-9)
    assert float(null.growth) == pytest.approx(
        2 * (0.75 * math.log(0.75 / theta) + 0.25 * math.log(0.25 / (1 - theta)))
    )


def test_inside_the_null_nothing_is_paid():
    p, q = laplace_cells()
    null = nearest_null(p, q, 1.0)
    assert null.pay_p == pytest.approx(np.ones(len(p)), abs=1e-6)
    assert float(null.growth) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.0), (0.2, 0.05), (0.5, 0.01)])
def test_growth_is_the_convex_optimum(epsilon, delta):
    p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.1, 0.3, 0.4, 0.2])
    e = math.exp(epsilon)

    def objective(v):
        return float((p * np.log(p / v[:4])).sum() + (q * np.log(q / v[4:])).sum())

    signs = np.array([[int(b) for b in f"{i:04b}"] for i in range(1, 16)])
    constraints = [{"type": "eq", "fun": lambda v: v[:4].sum() - 1}, {"type": "eq", "fun": lambda v: v[4:].sum() - 1}]
    constraints += [{"type": "ineq", "fun": lambda v, s=s: delta - s @ (v[:4] - e * v[4:])} for s in signs]
    constraints += [{"type": "ineq", "fun": lambda v, s=s: delta - s @ (v[4:] - e * v[:4])} for s in signs]
    start = np.full(8, 0.25)
    found = optimize.minimize(
        objective, start, constraints=constraints, bounds=[(1e-6, 1)] * 8, method="SLSQP", tol=1e-12
    )
    assert found.success
    null = nearest_null(p, q, epsilon, delta, rounds=60)
    assert float(null.growth) == pytest.approx(found.fun, abs=2e-5)


@pytest.mark.parametrize("delta", [0.0, 0.003, 0.2])
def test_payments_are_e_values_for_every_null_pair(delta):
    # Whatever was learned: random laws teach the payments, random null pairs are charged.
    rng = np.random.default_rng(4)
    for _ in range(40):
        p, q = rng.dirichlet(np.full(6, 0.4)) + 1e-6, rng.dirichlet(np.full(6, 0.4)) + 1e-6
        epsilon = float(rng.uniform(0, 2))
        pay = nearest_null(p / p.sum(), q / q.sum(), epsilon, delta, rounds=2)
        for _ in range(20):
            # Post-process leaky randomised response, which dominates every (epsilon, delta)-DP pair.
            leak, theta = rng.dirichlet(np.full(6, 0.3), size=4), 1 / (1 + math.exp(-epsilon))
            p0 = delta * leak[0] + (1 - delta) * (theta * leak[2] + (1 - theta) * leak[3])
            q0 = delta * leak[1] + (1 - delta) * ((1 - theta) * leak[2] + theta * leak[3])
            assert (p0 @ pay.pay_p + q0 @ pay.pay_q) / 2 <= 1 + 1e-9


def test_limit_of_theory_for_laplace():
    # Certified epsilon that the best test of any kind reaches with 10^4, 10^5, 10^6 runs a side, at 95 %.
    p, q = laplace_cells()
    for runs, limit in [(1e4, 0.968), (1e5, 0.990), (1e6, 0.997)]:
        needed = stats.norm.isf(0.05) ** 2 / 2 / runs
        found = optimize.brentq(lambda e, need=needed: float(nearest_null(p, q, e).growth) - need, 0.5, 0.9999)
        assert found == pytest.approx(limit, abs=5e-4)


def test_many_nulls_at_once_and_bad_laws():
    p, q = laplace_cells()
    grid = nearest_null(p, q, np.array([0.2, 0.5, 0.8]), 0.0)
    assert grid.pay_p.shape == (3, len(p))
    assert np.all(np.diff(grid.growth) < 0)
    with pytest.raises(InvalidInput, match="negative"):
        nearest_null([-0.1, 1.1], [0.5, 0.5], 1.0)
    with pytest.raises(InvalidInput, match="delta"):
        nearest_null([0.5, 0.5], [0.5, 0.5], 1.0, 1.0)


def test_cells_that_one_law_hardly_has():
    growth = float(nearest_null([0.632, 0.368], [1e-11, 1 - 1e-11], 0.5).growth)
    for tiny in (0.0, 1e-300, 1e-30, 1e-15):
        null = nearest_null([0.632, 0.368], [tiny, 1 - tiny], 0.5)
        assert float(null.growth) == pytest.approx(growth, rel=1e-5)
        assert np.isfinite(null.pay_p).all()
        assert np.isfinite(null.pay_q).all()
