"""Phase diagrams: the exact polygons of a plane of exponents in which each of several bounds is the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from dpcheck.asymptotics import polygons
from dpcheck.asymptotics.comparisons import read
from dpcheck.asymptotics.envelope import Best, Envelope, Piece, line, pieces_of, with_bound
from dpcheck.asymptotics.linear import Affine, number
from dpcheck.asymptotics.polygons import Polygon
from dpcheck.asymptotics.regimes import Regime, condition_rows
from dpcheck.asymptotics.spaces import Growth, Space
from dpcheck.errors import InvalidInput


@dataclass(frozen=True)
class Bound:
    """A named rate, and the conditions under which it is proved.

    Attributes:
        where: inequalities as in `Regime.where`; outside of them the bound says nothing.
    """

    name: str
    rate: Any
    where: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Tie:
    """Another bound with the same exponent.

    Attributes:
        log_gap: exponents of log N and log log N by which it is larger than the best one; (0, 0): a complete tie.
    """

    name: str
    log_gap: tuple[Fraction, Fraction]


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A convex polygon of a region on which the ties and the gap are the same form throughout.

    Attributes:
        polygon: vertices, anticlockwise.
        ties: the bounds with the same exponent as the best one, which has the fewest logs.
        gap: exponent of the best bound less that of the lower bound, as a function of the two axes.
        log_gap: the same for the exponents of log N and log log N.
    """

    polygon: Polygon
    ties: tuple[Tie, ...] = ()
    gap: Affine | None = None
    log_gap: tuple[Fraction, Fraction] | None = None

    @property
    def gap_range(self) -> tuple[Fraction, Fraction] | None:
        """Least and largest gap on the polygon."""
        if self.gap is None:
            return None
        at = [Fraction(self.gap(vertex)) for vertex in self.polygon]
        return min(at), max(at)


@dataclass(frozen=True, kw_only=True)
class PhaseRegion:
    """A connected polygon of the exponent plane on which one bound is the best, with one affine exponent.

    Attributes:
        name: of the best bound.
        vacuous: that is the trivial one.
        growth: of the best bound: `growth.form` is its exponent of N as a function of the two axes.
        polygon: vertices (first axis, second axis), anticlockwise; not always convex.
        holes: rings cut out of it, clockwise.
        parts: the region in convex parts, with ties and gaps.
    """

    name: str
    vacuous: bool
    growth: Growth
    polygon: Polygon
    holes: tuple[Polygon, ...]
    parts: tuple[Tile, ...]

    @property
    def exponent(self) -> Affine:
        """The exponent of N of the best bound."""
        return self.growth.form

    @property
    def ties(self) -> tuple[Tie, ...]:
        """Everything that ties with the best bound in some part."""
        return tuple(dict.fromkeys(tie for part in self.parts for tie in part.ties))

    @property
    def gap_range(self) -> tuple[Fraction, Fraction] | None:
        """Least and largest gap to the lower bound."""
        ranges = [part.gap_range for part in self.parts if part.gap_range is not None]
        return (min(low for low, _ in ranges), max(high for _, high in ranges)) if ranges else None

    @property
    def inequalities(self) -> tuple[Affine, ...]:
        """A convex region as forms that are >= 0, with coprime integer coefficients; () when it is not convex."""
        if self.holes or polygons.hull(self.polygon) != self.polygon:
            return ()
        names = self.growth.form.names
        return tuple(Affine(names, (p, q), r).primitive() for p, q, r in polygons.edges(self.polygon))


@dataclass(frozen=True, kw_only=True)
class PhaseDiagram:
    """Which bound is best where.

    Attributes:
        axes: names of the two exponents.
        regime: in words.
        domain: the polygon of all exponents.
        regions: by bound in the given order; they do not overlap and fill the domain but for `uncovered`.
        never_best: bounds that are best in no region (a complete tie goes to the trivial bound, then to the first).
        uncovered: convex polygons where no bound applies.
    """

    axes: tuple[str, str]
    regime: str
    domain: Polygon
    regions: tuple[PhaseRegion, ...]
    never_best: tuple[str, ...]
    uncovered: tuple[Polygon, ...]

    def at(self, x: Any, y: Any) -> tuple[PhaseRegion, ...]:
        """The regions that hold a point of the plane; several on a border."""
        point = (Fraction(number(x)), Fraction(number(y)))
        return tuple(r for r in self.regions if any(polygons.contains(part.polygon, point) for part in r.parts))

    def gap(self, x: Any, y: Any) -> Fraction | None:
        """The exponent between the best bound and the lower bound at a point; None without a lower bound there."""
        point = (Fraction(number(x)), Fraction(number(y)))
        parts = (part for r in self.regions for part in r.parts if polygons.contains(part.polygon, point))
        return next((Fraction(part.gap(point)) for part in parts if part.gap is not None), None)

    @property
    def contradictions(self) -> tuple[PhaseRegion, ...]:
        """Regions where the best bound is polynomially below the lower bound somewhere: one of the two is wrong."""
        return tuple(r for r in self.regions if r.gap_range is not None and r.gap_range[0] < 0)

    def table(self) -> list[dict[str, str]]:
        """One row of texts for each region."""
        rows = []
        for r in self.regions:
            row = {
                "best": f"{r.name} (vacuous)" if r.vacuous else r.name,
                "where": ", ".join(f"{form} >= 0" for form in r.inequalities) or "the polygon of these vertices",
                "vertices": " ".join(f"({x}, {y})" for x, y in r.polygon),
                "exponent": str(r.growth.form),
                "logs": _logs_shown(r.growth.logs),
                "ties": ", ".join(f"{t.name} {_logs_shown(t.log_gap, 'exactly')}" for t in r.ties),
            }
            if r.gap_range is not None:
                row["gap"] = " to ".join(map(str, dict.fromkeys(r.gap_range)))
            rows.append(row)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; fractions are strings such as "2/3"."""
        return {
            "axes": list(self.axes),
            "regime": self.regime,
            "domain": _plain(self.domain),
            "regions": [_region_dict(r) for r in self.regions],
            "never_best": list(self.never_best),
            "uncovered": [_plain(p) for p in self.uncovered],
        }

    def __str__(self) -> str:
        rows = self.table()
        columns = list(rows[0]) if rows else []
        widths = {c: max(len(c), *(len(row[c]) for row in rows)) for c in columns}
        lines = [self.regime, "  ".join(c.ljust(widths[c]) for c in columns).rstrip()]
        lines += ["  ".join(row[c].ljust(widths[c]) for c in columns).rstrip() for row in rows]
        lines += [f"never best: {', '.join(self.never_best)}"] if self.never_best else []
        return "\n".join(lines)


def _logs_shown(logs: Sequence[Any], none: str = "") -> str:
    shown = [f"{name}^{x}" if x != 1 else name for name, x in zip(("log", "loglog"), logs, strict=True) if x]
    return " ".join(shown) or none


def _plain(polygon: Polygon) -> list[list[str]]:
    return [[str(x), str(y)] for x, y in polygon]


def _form(x: Affine | None) -> dict[str, str] | None:
    return None if x is None else {**dict(zip(x.names, map(str, x.coefficients), strict=True)), "1": str(x.constant)}


def _region_dict(r: PhaseRegion) -> dict[str, Any]:
    return {
        "name": r.name,
        "vacuous": r.vacuous,
        "exponent": _form(r.exponent),
        "logs": [str(x) for x in r.growth.logs],
        "polygon": _plain(r.polygon),
        "holes": [_plain(ring) for ring in r.holes],
        "parts": [
            {
                "polygon": _plain(part.polygon),
                "ties": [{"name": t.name, "log_gap": [str(x) for x in t.log_gap]} for t in part.ties],
                "gap": _form(part.gap),
                "log_gap": None if part.log_gap is None else [str(x) for x in part.log_gap],
            }
            for part in r.parts
        ],
    }


def phase_diagram(
    bounds: Mapping[str, Any] | Sequence[Bound],
    regime: Regime,
    axes: Sequence[tuple[sp.Symbol | str, Any, Any]],
    *,
    trivial: str | None = None,
    lower: Any = None,
) -> PhaseDiagram:
    """Which of several upper bounds is the best where, in the plane of two exponents; exact.

    Args:
        bounds: name -> rate, or `Bound`s. Include a trivial bound (say "D L") to see where the others are vacuous, or
            cap nothing.
        regime: ties every variable to the two exponents (`{d: n**a, epsilon: n**-b, delta: 1/n}`); its parameters have
            values. Its strict inequalities count as weak ones.
        axes: (exponent, least, largest) for the two, rational.
        trivial: name of the trivial bound; it wins complete ties.
        lower: a lower bound on what the bounds bound, cap included; gaps are measured against it.

    Raises:
        InvalidInput: other than two free exponents, empty or degenerate ranges, a parameter without a value, unknown
            names, rates that cannot be read.

    >>> from dpcheck.symbols import d, epsilon, n
    >>> a, b = sp.symbols("a b")
    >>> rates = {"trivial": 1, "vector": sp.sqrt(d) / (epsilon * n) + 1 / sp.sqrt(n)}
    >>> plane = Regime(ties={d: n**a, epsilon: n**-b})
    >>> diagram = phase_diagram(rates, plane, [(a, 0, 3), (b, 0, 1)], trivial="trivial")
    >>> [str(region.exponent) for region in diagram.at(1, "1/4")]
    ['1/2*a + b - 1']
    """
    listed = _listed(bounds, trivial)
    orders = [read(bound.rate, regime) for bound in listed]
    floor = None if lower is None else read(lower, regime)
    symbols = frozenset().union(*(x.symbols for x in (*orders, *([] if floor is None else [floor]))))
    opened = regime.open_parameters.union(*(x.parameters for x in (*orders, *([] if floor is None else [floor]))))
    if opened:
        raise InvalidInput(f"a phase diagram needs a value for {', '.join(sorted(s.name for s in opened))}")
    space = _plane(regime.space(symbols), axes)
    domain = _domain(space, axes)
    envelope: Envelope = []
    uncovered = [domain]
    for index, (bound, order) in enumerate(zip(listed, orders, strict=True)):
        valid = _valid(bound, regime, space, domain)
        pieces = pieces_of(order, valid, space) if valid else []
        envelope = with_bound(envelope, uncovered, index, valid, pieces)
        uncovered = [part for polygon in uncovered for part in polygons.subtract(polygon, valid)]
    regions = _regions(envelope, listed, trivial, None if floor is None else pieces_of(floor, domain, space))
    best = {r.name for r in regions}
    given = [b.name for b in _listed(bounds, None)]
    return PhaseDiagram(
        axes=(space.names[0], space.names[1]),
        regime=str(regime),
        domain=domain,
        regions=tuple(sorted(regions, key=lambda r: (given.index(r.name), r.polygon))),
        never_best=tuple(name for name in given if name not in best),
        uncovered=tuple(p for p, _ in polygons.merged((p, None) for p in uncovered)),
    )


def _listed(bounds: Mapping[str, Any] | Sequence[Bound], trivial: str | None) -> list[Bound]:
    """The bounds, the trivial one first."""
    listed = [Bound(name, rate) for name, rate in bounds.items()] if isinstance(bounds, Mapping) else list(bounds)
    names = [bound.name for bound in listed]
    if not listed:
        raise InvalidInput("a phase diagram needs at least one bound, got none")
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidInput(f"two bounds are called {twice[0]!r}; names must differ")
    if trivial is not None and trivial not in names:
        raise InvalidInput(f"the trivial bound {trivial!r} is not among {', '.join(names)}")
    return sorted(listed, key=lambda bound: bound.name != trivial)


def _plane(space: Space, axes: Sequence[tuple[sp.Symbol | str, Any, Any]]) -> Space:
    """The space with the axes in the given order."""
    names = tuple(str(axis[0]) for axis in axes)
    if len(names) != 2 or sorted(names) != sorted(space.names):
        raise InvalidInput(
            f"a phase diagram has two axes and no other free exponent; axes {', '.join(names) or 'none'}, "
            f"free exponents {', '.join(space.names) or 'none'}"
        )
    return space.reordered(names)


def _domain(space: Space, axes: Sequence[tuple[sp.Symbol | str, Any, Any]]) -> Polygon:
    ends = [(Fraction(number(low)), Fraction(number(high))) for _, low, high in axes]
    for name, (low, high) in zip(space.names, ends, strict=True):
        if low >= high:
            raise InvalidInput(f"the range of {name} must have a length, got [{low}, {high}]; tie it instead")
    domain = polygons.clipped(
        polygons.hull((x, y) for x in ends[0] for y in ends[1]), (line(row.form) for row in space.rows)
    )
    if not domain:
        raise InvalidInput("the regime leaves no area within the axes' ranges; widen them or loosen the inequalities")
    return domain


def _valid(bound: Bound, regime: Regime, space: Space, domain: Polygon) -> Polygon:
    """Where a bound's conditions hold, up to a border."""
    return polygons.clipped(domain, (line(row.form) for row in condition_rows(bound.where, regime, space)))


def _parts(best: Best, listed: list[Bound], polygon: Polygon, low: Growth | None) -> Tile:
    growth = best.growth
    ties = tuple(Tie(listed[i].name, (logs[0] - growth.log, logs[1] - growth.loglog)) for i, logs in best.ties)
    if low is None:
        return Tile(polygon=polygon, ties=ties)
    log_gap = (Fraction(growth.log - low.log), Fraction(growth.loglog - low.loglog))
    return Tile(polygon=polygon, ties=ties, gap=growth.form - low.form, log_gap=log_gap)


def _regions(
    envelope: Envelope, listed: list[Bound], trivial: str | None, floor: list[Piece] | None
) -> list[PhaseRegion]:
    cells: list[tuple[Polygon, tuple[Best, Growth | None]]] = [(polygon, (best, None)) for polygon, best in envelope]
    if floor is not None:
        cells = [
            (common, (best, low))
            for polygon, (best, _) in cells
            for piece, low in floor
            if (common := polygons.intersect(polygon, piece))
        ]
    groups: dict[tuple[int, Growth], list[Tile]] = {}
    for polygon, (best, low) in polygons.merged(cells):
        groups.setdefault((best.index, best.growth), []).append(_parts(best, listed, polygon, low))
    regions = []
    for (index, growth), parts in groups.items():
        by_polygon = {part.polygon: part for part in parts}
        for component in polygons.components(list(by_polygon)):
            outer, holes = polygons.outline(component)
            regions.append(
                PhaseRegion(
                    name=listed[index].name,
                    vacuous=listed[index].name == trivial,
                    growth=growth,
                    polygon=outer,
                    holes=holes,
                    parts=tuple(by_polygon[polygon] for polygon in component),
                )
            )
    return regions
