"""Comparing rates: known answers, and agreement with arithmetic at enormous sizes."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import mpmath
import pytest
import sympy as sp
from exact_growth import growth, log_value
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from two_rates import R, a, e, heavy, light, plane

from dpcheck.asymptotics import (
    Dominance,
    ParametricDominance,
    Ray,
    Regime,
    Undecided,
    at_most,
    compare,
    dominant_terms,
    local_exponents,
    verify,
)
from dpcheck.errors import InvalidInput
from dpcheck.symbols import G_1, G_2, D, G_k, L, beta, d, delta, epsilon, k, m, n, r_k, theta


def relation(rate, other, regime):
    comparison = compare(rate, other, regime)
    verify(comparison)
    mirrored = compare(other, rate, regime)
    opposite = {"smaller": "larger", "larger": "smaller"}
    assert mirrored.relation == opposite.get(comparison.relation, comparison.relation)
    assert mirrored.everywhere == comparison.everywhere
    return comparison.relation, comparison.everywhere


# known answers


@pytest.mark.parametrize("order", [2, 3, 4, 10])
def test_heavy_tails_cross_over_at_d_over_epsilon(order):
    """G_k D (d/(n eps))^(1-1/k) = G_2 D/sqrt(n) at d/eps = n^((k-2)/(2(k-1)))."""
    border = R(order - 2, 2 * (order - 1))
    for where, expected in (
        ([a + e < border], ("smaller", True)),
        ([a + e <= border], ("smaller", False)),
        ([sp.Eq(a + e, border)], ("same order", None)),
        ([a + e > border], ("larger", True)),
        ([a + e >= border - R(1, 1000)], ("incomparable", None)),
    ):
        regime = Regime(ties=plane, where=where, constants="D G_2 G_k", parameters={k: order})
        assert relation(heavy, light, regime) == expected


@pytest.mark.parametrize(
    ("sign", "expected"), [(sp.Lt, ("smaller", True)), (sp.Eq, ("same order", None)), (sp.Gt, ("larger", True))]
)
def test_the_same_border_for_every_k(sign, expected):
    regime = Regime(ties=plane, where=[sign(a + e, (k - 2) / (2 * (k - 1)))], constants="D G_2 G_k")
    assert relation(heavy, light, regime) == expected


def test_for_all_k_a_border_that_is_off_somewhere_is_found():
    regime = Regime(ties=plane, where=[a + e <= R(1, 4)], constants="D G_2 G_k")
    comparison = compare(heavy, light, regime)
    assert comparison.relation == "incomparable"
    ray = comparison.certificate.at_most
    assert isinstance(ray, Ray)
    assert 2 <= ray.parameters["k"] < 3  # 1/4 is the border of k = 3
    above = Regime(ties=plane, where=[a + e <= R(1, 4)], constants="D G_2 G_k", parameters={k: sp.Interval(3, sp.oo)})
    assert relation(heavy, light, above) == ("smaller", False)


@pytest.mark.parametrize("border", ["below", "on", "above"])
def test_selection_against_vector_noise(border):
    """(log d/(eps n))^(2/3) and sqrt(d)/(eps n) meet at d = (eps n)^(2/3), where the log decides."""
    shared = sp.sqrt(sp.log(d) / n)
    vector, selection = shared + sp.sqrt(d) / (epsilon * n), shared + (sp.log(d) / (epsilon * n)) ** R(2, 3)
    small_epsilon = [e > R(1, 4), e < 1, a > 0]  # sqrt(log d/n) does not dominate
    where = {
        "below": [a < R(2, 3) * (1 - e)],
        "on": [sp.Eq(a, R(2, 3) * (1 - e))],
        "above": [a > R(2, 3) * (1 - e)],
    }[border]
    regime = Regime(ties=plane, where=[*small_epsilon, *where])
    expected = {"below": ("smaller", True), "on": ("smaller", True), "above": ("larger", True)}[border]
    assert relation(vector, selection, regime) == expected


def test_upper_against_lower_bound_for_every_k_with_ordered_moments():
    risk = D * (G_k * (d * sp.log(1 / beta) / (n * epsilon)) ** (1 - 1 / k) + G_2 * sp.sqrt(sp.log(1 / beta) / n))
    lower = sp.Min(
        G_1 * D,
        D * (G_k * ((d + sp.log(1 / beta)) / (n * epsilon)) ** (1 - 1 / k) + G_2 * sp.sqrt(sp.log(1 / beta) / n)),
    )
    regime = Regime(
        ties={d: n**a, beta: 1 / n},
        where=[a >= 0, epsilon <= 1, G_1 <= G_2, G_k >= G_2, n * epsilon >= d],
        others="free",
    )
    assert relation(lower, risk, regime) == ("smaller", False)


def test_two_parameters_at_once():
    tau = n ** R(-1, 2) + (sp.sqrt(d) / (n * epsilon)) ** ((k - 1) / k)
    regime = Regime(where=[d >= 1, epsilon <= 1], constants=[r_k])
    power = theta / (theta - 1)
    assert relation((r_k * n ** R(-1, 2)) ** power, (r_k * tau) ** power, regime) == ("smaller", False)
    comparison = compare(tau**power, n ** (-power / 2), regime)
    assert comparison.relation == "larger"
    assert set(comparison.certificate.at_most.parameters) == {"k", "theta"}


def test_undecided_says_why():
    comparison = compare(sp.log(n**a) * n, n, Regime(parameters={a: sp.Interval(0, 1)}))
    assert comparison.relation == "undecided"
    assert "argument of a log depends on a" in comparison.reason
    assert isinstance(comparison.certificate.at_least, Undecided)
    verify(comparison)
    square = Regime(parameters={a: sp.Interval(1, 2), e: sp.Interval(1, 2)})
    vague = compare(n ** (a * e), n ** (a + e), square)  # true: (a - 1)(e - 1) <= 1, but no simple proof
    assert vague.relation == "undecided"
    assert "a and e" in vague.reason
    verify(vague)


def test_an_irrational_border_is_decided_exactly():
    # n^(k^2) against n^(2k + 1): equal at k = 1 + sqrt(2) only.
    rate, other = n ** (k**2), n ** (2 * k + 1)
    assert relation(rate, other, Regime()) == ("incomparable", None)
    beyond = Regime(parameters={k: sp.Interval(R(24143, 10000), sp.oo)})
    assert relation(rate, other, beyond) == ("larger", True)
    # n^((k^2 - 2k - 1)^2) >= 1 with equality at the irrational point only.
    touching = compare(sp.Integer(1), n ** ((k**2 - 2 * k - 1) ** 2), Regime())
    verify(touching)
    assert touching.relation == "smaller"
    assert any(cell.is_point and not cell.low.is_Rational for cell, _ in touching.certificate.at_most.pieces)
    assert touching.everywhere is None  # false at the irrational value only, where no ray is looked for


def test_the_term_that_dominates_may_change_with_k():
    """n <= n^(k/3) + n^(5 - k): by the first term for k >= 3, by the second for k <= 4."""
    rate, other = n, n ** (k / 3) + n ** (5 - k)
    assert relation(rate, other, Regime()) == ("smaller", True)
    proof = compare(rate, other, Regime()).certificate.at_most
    used = {index for _, x in proof.pieces for tree in x.cases for index, y in tree.multipliers if index < 2}
    assert used == {0, 1}
    assert relation(n ** R(5, 4), other, Regime()) == ("smaller", False)  # equal at k = 15/4
    assert relation(n ** R(13, 10), other, Regime())[0] == "incomparable"
    turning = n * sp.log(n) ** (2 * k - 6) + n  # the logs favour one term or the other
    assert relation(n * sp.log(n) ** (k - 3), turning, Regime()) == ("smaller", False)
    by_logs = n ** (1 / k) * sp.log(n) ** (k - 3)
    assert relation(by_logs, n ** (1 / k), Regime(parameters={k: sp.Interval(2, 3)})) == ("smaller", False)
    assert relation(by_logs, n ** (1 / k), Regime(parameters={k: sp.Interval.open(3, sp.oo)})) == ("larger", True)


def test_logs_settle_ties():
    regime = Regime(ties={d: n**a}, where=[a >= 0])
    assert relation(sp.sqrt(sp.log(d) / n), sp.sqrt(sp.log(n) / n), regime) == ("smaller", False)
    assert relation(sp.log(d), sp.log(n), Regime(ties={d: n**a}, where=[a > 0])) == ("same order", None)
    assert relation(sp.log(n) ** 3, n ** R(1, 100), Regime()) == ("smaller", True)
    assert relation(sp.log(n * d / delta), sp.log(n), Regime(ties={d: n**2, delta: 1 / n})) == ("same order", None)
    assert relation(sp.log(1 + n * epsilon / d), 1, Regime(where=[n * epsilon <= d])) == ("same order", None)
    assert relation(sp.log(1 + n * epsilon / d), 1, Regime(where=[n * epsilon > d])) == ("larger", True)


def test_log_log_settles_ties_of_logs():
    assert relation(sp.log(n) * sp.log(sp.log(n)) ** 2, sp.log(n) ** R(3, 2), Regime()) == ("smaller", True)
    assert relation(sp.log(n) * sp.log(sp.log(n)), sp.log(n), Regime()) == ("larger", True)
    assert relation(sp.log(d), sp.log(sp.log(n)), Regime(ties={d: sp.log(n) ** 4})) == ("same order", None)
    with pytest.raises(InvalidInput, match="triple logarithm"):
        compare(sp.log(sp.log(sp.log(n))), 1, Regime())


def test_a_log_tie_lies_between_constant_and_power():
    slow = Regime(ties={d: sp.log(n)})
    assert relation(d**5 / n, n ** R(-9, 10), slow) == ("smaller", True)
    assert relation(d**2, d * sp.log(n), slow) == ("same order", None)
    assert relation(sp.log(d), 1, slow) == ("larger", True)


def test_dominance_may_need_a_mean_of_two_terms():
    """sqrt(d)/n^(3/4) <= 1/sqrt(n) + d/n by the inequality of means: neither term alone suffices."""
    rate, first, second = sp.sqrt(d) / n ** R(3, 4), 1 / sp.sqrt(n), d / n
    regime = Regime(where=[d >= 1])
    assert relation(rate, first + second, regime) == ("smaller", False)
    assert relation(rate, first, regime)[0] == "incomparable"
    (tree,) = compare(rate, first + second, regime).certificate.at_most.cases
    weights = dict(tree.multipliers)
    pairs = [y for index, y in sorted(weights.items()) if index >= 1]
    assert pairs == [Fraction(1, 2), Fraction(1, 2)]  # the geometric mean, nothing of the regime


def test_a_cone_without_a_base():
    regime = Regime(base=None, where=[n >= 1, m >= 1, epsilon <= 1, n >= d, d >= 1])
    assert relation(d / (n * epsilon), 1 / epsilon, regime) == ("smaller", False)
    assert relation(1 / (n * m), 1 / n + 1 / m, regime) == ("smaller", False)


def test_minima_on_both_sides():
    regime = Regime(where=[d >= 1, epsilon <= 1])
    assert relation(sp.Min(L, d / n), sp.Min(L, d) + d / n, Regime(where=[d >= 1], constants=[L]))[0] == "smaller"
    assert relation(sp.Min(1, d / n, 1 / epsilon), sp.Min(1, d / n), regime) == ("same order", None)
    assert relation(sp.Min(n, d * n) + sp.Min(n, d), n + sp.Min(n, d), regime) == ("same order", None)


def test_a_strict_regime_touching_a_tie():
    assert relation(d, n, Regime(where=[d < n, d >= 1])) == ("smaller", True)
    assert relation(d, n, Regime(where=[d <= n, d >= 1])) == ("smaller", False)


def test_unknown_variables_are_named():
    with pytest.raises(InvalidInput, match="says nothing about D, G_2"):
        compare(light, 1, Regime())


def test_the_comparison_prints_and_serialises():
    comparison = compare(heavy, light, Regime(ties=plane, constants="D G_2 G_k", parameters={k: 4}))
    text = str(comparison)
    assert "incomparable" in text
    assert "larger at a = " in text
    assert "smaller at a = " in text
    plain = json.loads(json.dumps(comparison.to_dict()))
    assert plain["evidence"]["at_most"]["kind"] == "ray"
    assert plain["dominant"][0]["everywhere"] is True


# dominant terms


def test_dominant_terms_and_their_polyhedra():
    rate = sp.sqrt(sp.log(d) / n) + sp.sqrt(d) / (n * epsilon) + sp.sqrt(d) * sp.log(n) / (n * epsilon) + 1 / n**5
    terms = {str(t.term): t for t in dominant_terms(rate, Regime(ties=plane, where=[a >= 0, e >= 0]))}
    assert terms["sqrt(d)/(epsilon*n)"].exponents is None
    assert terms["n**(-5)"].where == ()
    statistical, private = terms["sqrt(log(d))/sqrt(n)"], terms["sqrt(d)*log(n)/(epsilon*n)"]
    assert [str(f) for f in statistical.where[0]] == ["-a - 2*e + 1"]
    assert [str(f) for f in private.where[0]] == ["a + 2*e - 1"]
    assert not statistical.everywhere
    assert "where a + 2*e - 1 >= 0" in str(private)


def test_dominant_terms_under_minima():
    terms = dominant_terms(sp.Min(1, d / n) + 1 / n, Regime(where=[d >= 1]))
    shown = {str(t.term): [[str(f) for f in forms] for forms in t.where] for t in terms}
    assert shown == {"d/n": [["-d + 1"]], "1": [["d - 1"]], "1/n": [["-d"]]}
    (only,) = dominant_terms(d / n, Regime(where=[d >= 1]))
    assert only.everywhere


def test_dominant_terms_need_values():
    with pytest.raises(InvalidInput, match="depends on k"):
        dominant_terms(heavy, Regime(ties=plane, constants="D G_k"))


def test_local_exponents():
    regime = Regime(ties=plane, constants="D G_2 G_k", parameters={k: 4})
    rate = heavy + light
    exponents = local_exponents(rate, regime, at={a: 1, e: 0})
    assert exponents["n"] == (Fraction(-3, 4), Fraction(-3, 4))
    assert exponents["epsilon"] == (Fraction(-3, 4), Fraction(-3, 4))
    tie = local_exponents(rate, regime, at={"a": R(1, 3), "e": 0})
    assert tie["n"] == (Fraction(-3, 4), Fraction(-1, 2))
    assert tie["d"] == (0, Fraction(3, 4))
    with pytest.raises(InvalidInput, match="must give a, e"):
        local_exponents(rate, regime, at={a: 1})
    with pytest.raises(InvalidInput, match="a >= 0 fails"):
        local_exponents(d / n, Regime(ties={d: n**a}, where=[a >= 0]), at={a: -1})
    assert local_exponents(d / n, Regime(ties={d: n**2}))["d"] == (1, 1)
    assert local_exponents(n + sp.Min(n * L, 1), Regime(constants=[L]))["L"] == (0, 0)


# agreement with arithmetic

halves = st.integers(-4, 4).map(lambda i: R(i, 2))
plain_logs = [sp.log(n), sp.log(d), sp.log(2 * n / d), sp.log(1 + d * epsilon), sp.log(epsilon)]


def combine(inner):
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda xy: xy[0] + xy[1]),
        pairs.map(lambda xy: sp.Min(*xy)),
        pairs.map(lambda xy: sp.Max(*xy)),
        inner.map(sp.sqrt),
    )


def trees(logs):
    powers_of_logs = st.sampled_from([R(0), R(0), R(1, 2), R(1), R(-1), R(2)])
    monomials = st.builds(
        lambda x, y, z, log, power: 3 * n**x * d**y * epsilon**z * log**power,
        halves, halves, halves, st.sampled_from(logs), powers_of_logs,
    )  # fmt: skip
    return st.recursive(monomials, combine, max_leaves=4)


rates = trees([*plain_logs, sp.log(sp.log(n) + d)])
boxes = [
    Regime(ties=plane, where=[a >= 0, a <= 2, e >= 0, e <= 1]),
    Regime(ties=plane, where=[a > 0, a <= 1, sp.Eq(2 * e, a)]),
    Regime(ties=plane, where=[a >= -1, a <= 1, e >= 0, e <= 1, a + e >= R(1, 2)]),
]


def grid(regime):
    space = regime.space({d, epsilon})
    points = itertools.product([Fraction(i, 4) for i in range(-4, 9)], [Fraction(i, 8) for i in range(9)])
    return [p for p in points if all(row.holds(p) for row in space.rows)]


def at(point):
    return {n: Fraction(1), d: point[0], epsilon: -point[1]}


@settings(max_examples=40, deadline=None, derandomize=True, phases=[Phase.generate])
@given(rates, rates, st.sampled_from(boxes))
def test_comparisons_agree_with_brute_force_over_a_grid(rate, other, regime):
    comparison = compare(rate, other, regime)
    verify(comparison)
    here = [(growth(rate, at(p)), growth(other, at(p))) for p in grid(regime)]
    certificate = comparison.certificate
    if isinstance(certificate.at_most, Dominance):
        assert all(x <= y for x, y in here)
    else:
        point = tuple(certificate.at_most.exponents.values())
        assert growth(rate, at(point)) > growth(other, at(point))
    if comparison.relation == "smaller":
        assert comparison.everywhere is False or all(x < y for x, y in here)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(trees(plain_logs), trees(plain_logs), st.integers(-4, 4), st.integers(0, 4))
def test_comparisons_agree_with_numbers_along_rays(rate, other, first, second):
    """log(rate/other) between log N = 2^60 and 2^1000 moves by the difference of exponents, else by that of logs."""
    powers = {d: Fraction(first, 2), epsilon: Fraction(-second, 4)}
    comparison = compare(rate, other, Regime(ties={s: n ** R(v.numerator, v.denominator) for s, v in powers.items()}))
    verify(comparison)
    exponents = {n: Fraction(1), **powers}
    with mpmath.workdps(340):  # enough to tell exp(2^1000) from its neighbours
        near, far = mpmath.mpf(2) ** 60, mpmath.mpf(2) ** 1000
        moves = [log_value(rate, exponents, size) - log_value(other, exponents, size) for size in (near, far)]
        moved = moves[1] - moves[0]
    # Equal orders leave log(rate/other) bounded, and nearly still once log N > 2^60; a log factor to the power 1/64
    # moves it by 940 log(2)/64 = 10. Iterated logs would move it too little to see: the grid has those.
    expected = "same order" if abs(moved) < 4 else "larger" if moved > 0 else "smaller"
    assert comparison.relation == expected


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=2, max_size=2), st.integers(1, 3))
def test_for_all_k_agrees_with_single_values(shape, scale):
    (x, y), (z, w) = shape
    rate = (d**x * n**y) ** (1 - 1 / k) + 1 / n
    other = (d**z * n**w) ** (R(scale, 2)) + d ** (2 / k) / n
    regime = Regime(ties={d: n**a}, where=[a >= 0, a <= 2])
    whole = compare(rate, other, regime)
    verify(whole)
    assert whole.relation != "undecided"
    single = [
        compare(rate, other, regime.with_parameters(k=value)) for value in (2, R(5, 2), 3, 4, R(13, 2), 50, 10**6)
    ]
    rays = [isinstance(c.certificate.at_most, Ray) for c in single]
    if isinstance(whole.certificate.at_most, ParametricDominance):
        assert not any(rays)
    else:
        value = whole.certificate.at_most.parameters["k"]
        there = compare(rate, other, regime.with_parameters(k=R(value.numerator, value.denominator)))
        assert isinstance(there.certificate.at_most, Ray)


def test_one_question_agrees_with_the_comparison():
    first, second = 1 / sp.sqrt(n) + sp.sqrt(d) / (n * epsilon), 1 / sp.sqrt(n)
    regime = Regime.usual({n, d, epsilon})
    comparison = compare(first, second, regime)
    assert comparison.relation == "larger"
    assert at_most(first, second, regime) == comparison.certificate.at_most
    assert isinstance(at_most(first, second, regime), Ray)
    assert not isinstance(at_most(second, first, regime), Ray | Undecided)


def test_the_usual_regime_knows_sizes_and_budgets():
    regime = Regime.usual({n, d, epsilon, delta, D, G_k})
    assert str(regime) == "N grows, d >= 1, n >= 1, delta <= 1, epsilon <= 1"
    assert regime.constant_symbols == {D, G_k}


def test_exponentials_are_refused_with_the_reason():
    with pytest.raises(InvalidInput, match=r"exp\(epsilon\) grows faster than every power of its argument"):
        compare(sp.exp(epsilon) / n, 1 / n, Regime.usual({n, epsilon}))
