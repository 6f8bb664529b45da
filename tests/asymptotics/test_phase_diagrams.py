"""Phase diagrams: exact polygons, ties, gaps, and agreement with brute force at random points."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import pytest
import sympy as sp
from exact_growth import growth
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.asymptotics import Affine, Bound, Regime, phase_diagram, polygons
from dpcheck.errors import InvalidInput
from dpcheck.symbols import G_2, D, G_k, L, d, delta, epsilon, k, m, n

R = sp.Rational
a, e = sp.symbols("a e")
PLANE = Regime(ties={d: n**a, epsilon: n**-e, delta: 1 / n}, constants="D L G_2 G_k", parameters={k: 4})
AXES = [(a, 0, 2), (e, 0, 1)]


def ring(*vertices: tuple[object, object]) -> tuple[tuple[Fraction, Fraction], ...]:
    return tuple((Fraction(str(x)), Fraction(str(y))) for x, y in vertices)


def shapes(diagram, name):
    return {(r.polygon, str(r.exponent)) for r in diagram.regions if r.name == name}


def area(diagram):
    return sum(polygons.twice_area(part.polygon) for r in diagram.regions for part in r.parts)


def test_heavy_tails_against_the_trivial_bound():
    """Three phases: statistics, privacy, nothing, with borders a + e = 1/3 and a + e = 1 (k = 4)."""
    rates = {"trivial": D * L, "localised": G_k * D * (d / (n * epsilon)) ** (1 - 1 / k) + G_2 * D / sp.sqrt(n)}
    diagram = phase_diagram(rates, PLANE, AXES, trivial="trivial")
    assert shapes(diagram, "localised") == {
        (ring((0, 0), ("1/3", 0), (0, "1/3")), "-1/2"),
        (ring((0, "1/3"), ("1/3", 0), (1, 0), (0, 1)), "3/4*a + 3/4*e - 3/4"),
    }
    assert shapes(diagram, "trivial") == {(ring((0, 1), (1, 0), (2, 0), (2, 1)), "0")}
    assert [r.vacuous for r in diagram.regions] == [True, False, False]
    assert area(diagram) == 4
    assert diagram.never_best == ()


def l1_diagram(**options):
    rates = {
        "trivial": D * L,
        "vector": sp.sqrt(sp.log(d) / n) + sp.sqrt(d * sp.log(d) ** 3 * sp.log(1 / delta)) / (n * epsilon),
        "selection": sp.sqrt(sp.log(d) / n) + (sp.log(d) / (n * epsilon)) ** R(2, 3),
    }
    return phase_diagram(rates, PLANE, AXES, trivial="trivial", **options)


def test_vector_noise_against_selection():
    """They cross where d = (eps n)^(2/3); below the statistical rate they tie, logs and all."""
    diagram = l1_diagram()
    assert len(diagram.at("1/2", "1/4")) == 4  # d = sqrt(n), eps = n^(-1/4): all phases meet
    assert shapes(diagram, "vector") == {
        (ring((0, 0), (1, 0), (0, "1/2")), "-1/2"),
        (ring((0, "1/2"), ("1/2", "1/4"), (0, 1)), "1/2*a + e - 1"),
    }
    assert shapes(diagram, "selection") == {
        (ring(("1/2", "1/4"), (1, 0), (2, 0), (2, "1/4")), "-1/2"),
        (ring((0, 1), ("1/2", "1/4"), (2, "1/4"), (2, 1)), "2/3*e - 2/3"),
    }
    statistical = next(r for r in diagram.at("1/10", "1/10"))
    ties = {(part.polygon, tie.name, tie.log_gap) for part in statistical.parts for tie in part.ties}
    assert ties == {(ring((0, 0), (1, 0), ("1/2", "1/4"), (0, "1/4")), "selection", (0, 0))}
    assert statistical.growth.logs == (Fraction(1, 2), 0)
    assert diagram.never_best == ("trivial",)


def test_the_gap_to_a_lower_bound_is_piecewise_linear():
    lower = sp.Min(1, 1 / sp.sqrt(n) + sp.Min((n * epsilon) ** R(-2, 3), sp.sqrt(d) / (n * epsilon)))
    assert all(r.gap_range == (0, 0) for r in l1_diagram(lower=lower).regions)
    weak = l1_diagram(lower=1 / sp.sqrt(n))
    gaps = {str(part.gap) for r in weak.regions for part in r.parts}
    assert gaps == {"0", "1/2*a + e - 1/2", "2/3*e - 1/6"}
    assert weak.gap(0, 1) == Fraction(1, 2)
    assert weak.gap(2, 1) == Fraction(1, 2)
    assert weak.gap(0, "3/4") == Fraction(1, 4)
    assert weak.contradictions == ()
    wrong = l1_diagram(lower=d / n)
    assert {r.name for r in wrong.contradictions} >= {"selection"}
    assert l1_diagram().gap(0, 0) is None
    (part, *_) = (p for r in weak.regions for p in r.parts if str(p.gap) == "2/3*e - 1/6")
    assert part.log_gap == (Fraction(2, 3), 0)


def test_equal_exponents_are_settled_by_logs_and_complete_ties_by_order():
    rates = {
        "slow": sp.log(n) ** 2 / n,
        "first": sp.log(n) / n,
        "second": sp.log(1 / delta) / n,
        "loglog": sp.log(n) * sp.log(sp.log(n)) / n,
    }
    (region,) = phase_diagram(rates, PLANE, AXES).regions
    assert region.name == "first"
    assert region.growth.logs == (1, 0)
    assert {t.name: t.log_gap for t in region.ties} == {"slow": (1, 0), "second": (0, 0), "loglog": (0, 1)}
    (region,) = phase_diagram(rates, PLANE, AXES, trivial="second").regions
    assert region.name == "second"
    assert region.vacuous


def test_a_log_may_be_constant_in_part_of_the_plane():
    rates = {"one": sp.log(1 + n * epsilon / d) / n, "two": sp.sqrt(sp.log(n)) / n}
    diagram = phase_diagram(rates, PLANE, AXES)
    assert shapes(diagram, "two") == {(ring((0, 0), (1, 0), (0, 1)), "-1")}
    assert shapes(diagram, "one") == {(ring((0, 1), (1, 0), (2, 0), (2, 1)), "-1")}


def test_bounds_with_conditions_leave_holes_to_others():
    inside = (d >= n ** R(1, 2), d <= n, epsilon <= n ** R(-1, 4), epsilon >= n ** R(-3, 4))
    diagram = phase_diagram([Bound("plain", 1), Bound("inside", 1 / n, inside)], PLANE, AXES)
    (plain,) = (r for r in diagram.regions if r.name == "plain")
    assert plain.polygon == ring((0, 0), (2, 0), (2, 1), (0, 1))
    assert plain.holes == (ring(("1/2", "1/4"), ("1/2", "3/4"), (1, "3/4"), (1, "1/4")),)
    assert plain.inequalities == ()
    assert area(diagram) == 4
    alone = phase_diagram([Bound("inside", 1 / n, inside)], PLANE, AXES)
    assert sum(map(polygons.twice_area, alone.uncovered)) == 4 - Fraction(1, 2)
    assert alone.at(0, 0) == ()


def test_a_bound_valid_on_a_line_only_is_never_best():
    diagram = phase_diagram([Bound("plain", 1), Bound("thin", 1 / n, (sp.Eq(a, 1),))], PLANE, AXES)
    assert diagram.never_best == ("thin",)
    assert len(diagram.regions) == 1


def test_axes_come_in_the_given_order():
    swapped = phase_diagram({"x": d / n, "trivial": 1}, PLANE, [(e, 0, 1), (a, 0, 2)])
    assert swapped.axes == ("e", "a")
    assert shapes(swapped, "x") == {(ring((0, 0), (1, 0), (1, 1), (0, 1)), "a - 1")}


def test_the_regime_may_cut_the_domain():
    triangle = Regime(ties={d: n**a, epsilon: n**-e}, where=[a + e <= 1])
    diagram = phase_diagram({"x": d / n}, triangle, AXES)
    assert diagram.domain == ring((0, 0), (1, 0), (0, 1))
    assert diagram.regions[0].polygon == diagram.domain


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({}, PLANE, AXES), "at least one bound"),
        (({"x": 1}, PLANE, [(a, 0, 0), (e, 0, 1)]), "range of a must have a length"),
        (({"x": 1}, PLANE, [(a, 2, 1), (e, 0, 1)]), "range of a must have a length"),
        (({"x": 1}, PLANE, [(a, 0, 1)]), "two axes"),
        (({"x": 1}, PLANE, [(a, 0, 1), ("z", 0, 1)]), "two axes"),
        (({"x": m}, PLANE, AXES), "says nothing about m"),
        (({"x": n**-k}, PLANE.with_parameters(k=sp.Interval(2, 3)), AXES), "needs a value for k"),
        (([Bound("x", 1), Bound("x", n)], PLANE, AXES), "two bounds are called 'x'"),
        (({"x": 1}, Regime(ties={d: n**a, epsilon: n**-e}, where=[sp.Eq(a, e)]), AXES), "no area"),
        (({"x": 1}, Regime(ties={d: n**a, epsilon: n**-e}, where=[a >= 5]), AXES), "no area"),
        (({"x": 1}, PLANE, [(a, 0, 0.5), (e, 0, 1)]), "float"),
    ],
)
def test_senseless_diagrams_are_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        phase_diagram(*arguments)


def test_an_unknown_trivial_bound_is_refused():
    with pytest.raises(InvalidInput, match="'none' is not among x"):
        phase_diagram({"x": 1}, PLANE, AXES, trivial="none")


def test_tables_and_json_are_exact():
    diagram = l1_diagram(lower=1 / sp.sqrt(n))
    table = diagram.table()
    assert table[0]["best"] == "vector"
    assert table[0]["where"] == "e >= 0, -a - 2*e + 1 >= 0, a >= 0"
    assert table[0]["vertices"] == "(0, 0) (1, 0) (0, 1/2)"
    assert table[0]["ties"] == "selection exactly"
    assert table[0]["gap"] == "0"
    assert "never best: trivial" in str(diagram)
    plain = json.loads(json.dumps(diagram.to_dict()))
    assert plain["regions"][0]["polygon"] == [["0", "0"], ["1", "0"], ["0", "1/2"]]
    assert plain["regions"][1]["exponent"] == {"a": "1/2", "e": "1", "1": "-1"}
    assert plain["regions"][1]["parts"][0]["gap"] == {"a": "1/2", "e": "1", "1": "-1/2"}


# Against brute force.

quarters = st.integers(0, 4).map(lambda i: R(i, 4))
monomials = st.builds(
    lambda x, y, z, w: d**x * n**-y * epsilon**-z * sp.log(d) ** w, quarters, quarters, quarters, st.integers(0, 1)
)
rates = st.one_of(
    monomials,
    st.tuples(monomials, monomials).map(sum),
    st.tuples(monomials, monomials).map(lambda xy: sp.Min(1, xy[0]) + xy[1]),
    st.tuples(monomials, monomials, monomials).map(lambda xyz: sp.Min(1, sum(xyz))),
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(rates, min_size=2, max_size=6), rates)
def test_the_best_bound_is_best_at_random_points(given_rates, lower):
    named = {f"r{i}": rate for i, rate in enumerate(given_rates)}
    diagram = phase_diagram(named, PLANE, AXES, lower=lower)
    assert area(diagram) == 4
    for r in diagram.regions:  # rings bound exactly what the parts fill
        inside = sum(polygons.twice_area(part.polygon) for part in r.parts)
        assert polygons.twice_area(r.polygon) + sum(map(polygons.twice_area, r.holes)) == inside
    # Coordinates of large prime denominators avoid the borders, where several answers are right.
    columns, rows = [Fraction(i, 77) for i in (1, 39, 77, 115, 153)], [Fraction(i, 101) for i in (3, 31, 57, 99)]
    for x, y in itertools.product(columns, rows):
        at = {n: 1, d: x, epsilon: -y}
        sizes = {name: growth(rate, at) for name, rate in named.items()}
        least = min(sizes.values())
        regions = diagram.at(x, y)
        assert regions
        for r in regions:
            assert r.exponent((x, y)) == least[0]
            assert sizes[r.name] == least or len(regions) > 1
            part = next(p for p in r.parts if polygons.contains(p.polygon, (x, y)))
            if len(regions) == 1:
                assert {t.name for t in part.ties} == {s for s, v in sizes.items() if v[0] == least[0] and s != r.name}
        assert diagram.gap(x, y) == least[0] - growth(lower, at)[0]


# Polygons.

coordinates = st.integers(-6, 6).map(lambda i: Fraction(i, 2))
hulls = st.lists(st.tuples(coordinates, coordinates), min_size=3, max_size=7).map(polygons.hull).filter(bool)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(hulls, hulls, st.tuples(coordinates, coordinates, coordinates))
def test_areas_add_up(first, second, line):
    whole = polygons.twice_area(first)
    assert whole > 0
    above, below = polygons.split(first, line) if any(line[:2]) else (first, ())
    assert polygons.twice_area(above) + polygons.twice_area(below) == whole
    common, rest = polygons.intersect(first, second), polygons.subtract(first, second)
    assert polygons.twice_area(common) + sum(map(polygons.twice_area, rest)) == whole
    assert common == polygons.intersect(second, first)
    for component in polygons.components(rest):
        outer, holes = polygons.outline(component)
        total = polygons.twice_area(outer) + sum(map(polygons.twice_area, holes))
        assert total == sum(map(polygons.twice_area, component))


def test_merging_needs_a_convex_union():
    square = ring((0, 0), (1, 0), (1, 1), (0, 1))
    right, above, far = (tuple((x + p, y + q) for x, y in square) for p, q in ((1, 0), (0, 1), (5, 5)))
    (joined, key) = polygons.merged([(square, "x"), (right, "x")])[0]
    assert (joined, key) == (ring((0, 0), (2, 0), (2, 1), (0, 1)), "x")
    assert len(polygons.merged([(square, "x"), (right, "y")])) == 2
    corner = [p for p, _ in polygons.merged([(square, "x"), (right, "x"), (above, "x")])]
    assert len(corner) == 2
    ((outer, holes),) = [polygons.outline(c) for c in polygons.components(corner)]
    assert outer == ring((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2))
    assert holes == ()
    assert len(polygons.components([square, far])) == 2


def test_outlines_have_holes_and_survive_pinches():
    cells = [ring((x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1)) for x in range(3) for y in range(3)]
    frame = [c for c in cells if c[0] != (1, 1)]
    outer, holes = polygons.outline(frame)
    assert outer == ring((0, 0), (3, 0), (3, 3), (0, 3))
    assert holes == (ring((1, 1), (1, 2), (2, 2), (2, 1)),)
    pinched = [c for c in cells if c[0] not in {(1, 1), (2, 2)}]  # the hole touches the outside at (2, 2)
    corner = ring((0, 0), (3, 0), (3, 2), (2, 2), (2, 3), (0, 3))
    assert [polygons.outline(c) for c in polygons.components(pinched)] == [(corner, holes)]
    turned = [tuple(sorted((3 - x, y) for x, y in c)) for c in pinched]
    ((outer, inner),) = [polygons.outline(c) for c in polygons.components([polygons.hull(c) for c in turned])]
    assert outer == ring((0, 0), (3, 0), (3, 3), (1, 3), (1, 2), (0, 2))
    assert inner == holes
    bay = [
        [(-2, 0), (0, 0), (0, 2), (-2, 2)],
        [(0, 0), (2, 0), (2, 2), (0, 2)],
        [(0, 0), (2, -2), (2, 0)],
        [(0, 0), (-2, -2), (0, -2)],
        [(-2, -3), (2, -3), (2, -2), (-2, -2)],
        [(2, -3), (3, -3), (3, 0), (2, 0)],
    ]
    ((_, inner),) = [polygons.outline(c) for c in polygons.components([polygons.hull(ring(*c)) for c in bay])]
    assert inner == (ring((0, -2), (0, 0), (2, -2)),)  # a triangle that touches the outside at the origin
    diagonal = [cells[0], cells[4]]
    assert len(polygons.components(diagonal)) == 2


def test_degenerate_polygons_are_empty():
    assert polygons.hull(ring((0, 0), (1, 1), (2, 2))) == ()
    square = ring((0, 0), (1, 0), (1, 1), (0, 1))
    assert polygons.clip(square, (Fraction(1), Fraction(0), Fraction(-1))) == ()
    assert polygons.intersect(square, ring((1, 0), (2, 0), (2, 1), (1, 1))) == ()
    assert polygons.subtract(square, square) == []
    assert Affine(("x",), (Fraction(2, 3),), Fraction(-4, 3)).primitive() == Affine(("x",), (1,), -2)
