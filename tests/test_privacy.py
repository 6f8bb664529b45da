"""Guarantees as curves: closed forms against mpmath, duality, edge cases, and which pairs are neighbours."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from dpcheck.errors import InvalidInput
from dpcheck.privacy import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    TradeOff,
    changed_records,
    gaussian_delta,
    pure_delta,
    pure_to_zcdp,
)

GUARANTEES: list[Guarantee] = [
    PureDP(1.0),
    ApproxDP(0.5, 1e-5),
    ApproxDP(2.0, 0.3),
    ZCDP(0.1),
    RenyiDP(8.0, 0.7),
    GaussianDP(0.6),
]


def gaussian_reference(mu: float, epsilon: float) -> float:
    with mpmath.workdps(120):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


@pytest.mark.parametrize("mu", [1e-30, 1e-14, 1e-6, 1e-3, 0.099, 0.101, 0.2, 1.0, 7.0, 40.0])
@pytest.mark.parametrize("epsilon", [-2.0, 0.0, 1e-29, 8e-14, 3e-13, 1e-3, 0.5, 4.0, 25.0])
def test_gaussian_delta_in_fifty_digits(mu: float, epsilon: float) -> None:
    expected = gaussian_reference(mu, epsilon)
    if expected > 1e-300:
        assert gaussian_delta(mu, epsilon) == pytest.approx(expected, rel=1e-9)
    else:
        assert gaussian_delta(mu, epsilon) <= 1e-290


@pytest.mark.parametrize("mu", [1e-30, 1e-14, 1e-9, 1e-4, 0.05])
def test_the_epsilon_of_gaussians_that_are_hard_to_tell_apart(mu: float) -> None:
    delta = 1e-5 * mu
    epsilon = GaussianDP(mu).epsilon_at(delta)
    assert 1e-3 * mu < epsilon < 10 * mu
    assert gaussian_reference(mu, epsilon) == pytest.approx(delta, rel=1e-9)


def test_gaussian_delta_at_the_ends() -> None:
    assert gaussian_delta(0.0, 0.5) == 0.0
    assert gaussian_delta(0.0, -0.5) == pytest.approx(-math.expm1(-0.5))
    assert gaussian_delta(math.inf, 3.0) == 1.0
    assert gaussian_delta(1e300, 3.0) == 1.0
    assert gaussian_delta(1e-300, 3.0) == 0.0
    assert gaussian_delta(1.0, 1e300) == 0.0
    assert gaussian_delta(1.0, math.inf) == 0.0


def randomised_response(pure: float, epsilon: float) -> float:
    with mpmath.workdps(60):
        p = mpmath.exp(pure) / (1 + mpmath.exp(pure))
        q = 1 - p
        order = mpmath.exp(mpmath.mpf(epsilon))
        return float(max(0, p - order * q) + max(0, q - order * p))


@pytest.mark.parametrize("pure", [1e-6, 0.3, 2.0, 50.0])
@pytest.mark.parametrize("share", [-3.0, -1.0, -0.4, 0.0, 0.5, 0.999, 1.0, 4.0])
def test_pure_delta_is_that_of_randomised_response(pure: float, share: float) -> None:
    expected = randomised_response(pure, share * pure)
    assert pure_delta(pure, share * pure) == pytest.approx(expected, rel=1e-9, abs=1e-15 * pure)


def test_pure_to_zcdp_is_the_supremum_over_orders() -> None:
    for pure in (0.05, 1.0, 4.0, 12.0):
        with mpmath.workdps(40):
            p = mpmath.exp(pure) / (1 + mpmath.exp(pure))
            ratios = [
                float(mpmath.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1) / a)
                for a in (mpmath.mpf("1.000001"), mpmath.mpf("1.1"), 2, 5, 30, 500)
            ]
        assert max(ratios) <= pure_to_zcdp(pure) <= max(ratios) * (1 + 1e-4)
        assert ratios == sorted(ratios, reverse=True)
        assert pure_to_zcdp(pure) <= pure**2 / 2
    assert pure_to_zcdp(math.inf) == math.inf
    assert pure_to_zcdp(0.0) == 0.0


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_profiles_fall_and_invert(guarantee: Guarantee) -> None:
    epsilons = np.linspace(0, 6, 61)
    deltas = [guarantee.delta_at(float(e)) for e in epsilons]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(deltas))
    assert all(0 <= d <= 1 for d in deltas)
    for delta in (0.9, 0.35, 1e-3, 1e-9):
        epsilon = guarantee.epsilon_at(delta)
        if math.isinf(epsilon):
            assert guarantee.delta_at(1e4) > delta
            continue
        assert guarantee.delta_at(epsilon) <= delta * (1 + 1e-9)
        if epsilon > 0:
            assert guarantee.delta_at(epsilon * (1 - 1e-6)) > delta * (1 - 1e-4)


def test_approx_dp_at_its_own_point() -> None:
    claim = ApproxDP(0.5, 1e-5)
    assert claim.delta_at(0.5) == 1e-5
    assert claim.delta_at(10.0) == 1e-5
    assert claim.epsilon_at(1e-5) == 0.5
    assert claim.epsilon_at(1e-6) == math.inf
    assert claim.epsilon_at(0.0) == math.inf
    assert PureDP(0.5).epsilon_at(0.0) == 0.5
    assert ApproxDP(1.0, 0.2).delta_at(1e6) == 0.2
    assert ApproxDP(1.0, 0.2).delta_at(-1e6) == pytest.approx(1.0)


def test_pure_dp_is_approx_dp_with_no_delta() -> None:
    assert PureDP(1.0).delta == 0.0
    assert isinstance(PureDP(1.0), ApproxDP)
    assert str(PureDP(1.0)) == "1-DP"
    assert str(ApproxDP(1.0, 1e-6)) == "(1, 1e-06)-DP"


@pytest.mark.parametrize("rho", [1e-8, 1e-3, 0.5, 20.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.1])
def test_zcdp_conversion_lies_between_the_gaussian_and_the_simple_form(rho: float, delta: float) -> None:
    epsilon = ZCDP(rho).epsilon_at(delta)
    assert epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) * (1 + 1e-9)
    # N(0, 1) against N(sqrt(2 rho), 1) is rho-zCDP, so no valid conversion can promise less than its exact curve.
    assert epsilon >= GaussianDP(math.sqrt(2 * rho)).epsilon_at(delta) * (1 - 1e-9)


def test_renyi_conversion_is_the_infimum_behind_zcdp() -> None:
    rho, epsilon = 0.3, 2.0
    best = min(RenyiDP(float(a), rho * float(a)).delta_at(epsilon) for a in np.linspace(1.5, 12, 4000))
    assert ZCDP(rho).delta_at(epsilon) == pytest.approx(best, rel=1e-5)


def test_tradeoffs_agree_with_profiles() -> None:
    fpr = np.array([0.0, 0.01, 0.2, 0.5, 0.9, 1.0])
    exact = GaussianDP(1.0).tradeoff(fpr)
    generic = Guarantee.tradeoff(GaussianDP(1.0), fpr)
    assert (generic <= exact + 1e-9).all()
    np.testing.assert_allclose(generic, exact, atol=2e-3)
    pure = PureDP(1.0).tradeoff(fpr)
    lines = np.maximum(0, np.maximum(1 - math.e * fpr, math.exp(-1) * (1 - fpr)))
    assert (pure <= lines + 1e-12).all()
    np.testing.assert_allclose(pure, lines, atol=0.02)


@given(st.floats(0.01, 5.0), st.floats(0.0, 0.99), st.floats(-8.0, 8.0), st.floats(-8.0, 8.0))
@settings(max_examples=200, deadline=None)
def test_approx_profile_is_convex_in_the_order(epsilon: float, delta: float, a: float, b: float) -> None:
    claim = ApproxDP(epsilon, delta)
    middle = math.log((math.exp(a) + math.exp(b)) / 2)
    assert claim.delta_at(middle) <= (claim.delta_at(a) + claim.delta_at(b)) / 2 + 1e-12
    # P(S) - e^eps Q(S) at S = everything.
    assert claim.delta_at(a) >= -math.expm1(a) - 1e-12


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PureDP(0.0), "epsilon must be a finite number > 0, got 0.0"),
        (lambda: PureDP(-1.0), "-1.0"),
        (lambda: PureDP(math.nan), "nan"),
        (lambda: ApproxDP(1.0, 1.0), r"delta must lie in \[0, 1\), got 1.0"),
        (lambda: ApproxDP(1.0, -1e-9), "-1e-09"),
        (lambda: ZCDP(math.inf), "inf"),
        (lambda: RenyiDP(1.0, 1.0), "alpha must be a finite number > 1, got 1.0"),
        (lambda: GaussianDP(0.0), "mu must be"),
        (lambda: PureDP(1.0).epsilon_at(1.0), "got 1.0"),
        (lambda: GaussianDP(1.0).epsilon_at(-0.1), "got -0.1"),
    ],
)
def test_bad_guarantees_name_the_value(make, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_replace_one_neighbours() -> None:
    data = np.arange(12.0).reshape(6, 2)
    other = data.copy()
    assert changed_records(data, other, "replace-one") == ()
    other[4, 1] = 99
    assert changed_records(data, other, "replace-one") == (4,)
    assert changed_records(data, other, "user-level") == (4,)
    other[0] = 0.5
    with pytest.raises(InvalidInput, match="differ in 2 records"):
        changed_records(data, other, "replace-one")
    with pytest.raises(InvalidInput, match="equally many records, got 6 and 5"):
        changed_records(data, data[:5], "replace-one")


@pytest.mark.parametrize("place", [0, 2, 5])
def test_add_remove_neighbours(place: int) -> None:
    longer = np.arange(12.0).reshape(6, 2)
    shorter = np.delete(longer, place, axis=0)
    assert changed_records(longer, shorter, "add-remove") == (place,)
    assert changed_records(shorter, longer, "add-remove") == (place,)
    with pytest.raises(InvalidInput, match="one record more"):
        changed_records(longer, longer, "add-remove")
    with pytest.raises(InvalidInput, match="one added record apart"):
        changed_records(longer, shorter[::-1], "add-remove")


def test_add_remove_down_to_nothing_and_repeated_records() -> None:
    one = np.ones((1, 3))
    assert changed_records(one, np.ones((0, 3)), "add-remove") == (0,)
    assert len(changed_records(np.ones((5, 1)), np.ones((4, 1)), "add-remove")) == 1


def test_bad_data_is_refused() -> None:
    data = np.ones((3, 2))
    broken = data.copy()
    broken[2, 1] = math.nan
    with pytest.raises(InvalidInput, match=r"neighbour holds nan at index \(2, 1\)"):
        changed_records(data, broken, "replace-one")
    with pytest.raises(InvalidInput, match="empty"):
        changed_records(np.ones((0, 2)), np.ones((0, 2)), "replace-one")
    with pytest.raises(InvalidInput, match="differ in shape"):
        changed_records(data, np.ones((3, 4)), "replace-one")
    with pytest.raises(InvalidInput, match="unknown adjacency 'edit'"):
        changed_records(data, data, "edit")
    with pytest.raises(InvalidInput, match="empty"):
        changed_records(np.float64(3.0), data, "replace-one")  # type: ignore[arg-type]
    text = np.array(["a", "b"])
    assert changed_records(text, np.array(["a", "c"]), "replace-one") == (1,)


def test_a_trade_off_curve_is_a_claim() -> None:
    """Gaussian and randomised-response curves as functions give the profiles of their closed forms."""
    gaussian = TradeOff(lambda x: special.ndtr(-special.ndtri(x) - 1.0), name="G1")
    pure = TradeOff(lambda x: np.maximum(0.0, np.maximum(1 - np.e * x, (1 - x) / np.e)))
    for epsilon in (0.0, 0.3, 0.5, 0.99, 2.0, 4.4):
        assert gaussian.delta_at(epsilon) == pytest.approx(GaussianDP(1.0).delta_at(epsilon), abs=1e-9)
        assert pure.delta_at(epsilon) == pytest.approx(PureDP(1.0).delta_at(epsilon), abs=1e-10)
    assert gaussian.epsilon_at(1e-5) == pytest.approx(GaussianDP(1.0).epsilon_at(1e-5), rel=1e-6)
    assert pure.epsilon_at(0.0) == pytest.approx(1.0)
    assert str(gaussian) == "G1-DP"
    assert float(gaussian.tradeoff(np.array([0.5]))[0]) == pytest.approx(special.ndtr(-1.0))


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (3, "is a function of the type-I error"),
        (lambda x: 1 - x**2, "to type-II errors in"),
        (lambda x: 0.5, "to type-II errors in"),
        (lambda x, y: 1 - x, "raised TypeError on an array of type-I errors"),
        (lambda x: np.minimum(1 - x, 0.4), "must fall and be convex"),
        (lambda x: np.minimum(1 - x, 0.2 + 0 * x) * x, "must fall and be convex"),
    ],
)
def test_what_is_no_trade_off_curve(f: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        TradeOff(f)
