"""Phase diagrams: the exact polygons of a plane of exponents in which each of several bounds is the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from dpcheck.asymptotics import polygons
from dpcheck.asymptotics.comparisons import read
from dpcheck.asymptotics.decision import lexicographic
from dpcheck.asymptotics.linear import Affine, Row, number
from dpcheck.asymptotics.orders import Order
from dpcheck.asymptotics.polygons import Line, Polygon
from dpcheck.asymptotics.regimes import Regime
from dpcheck.asymptotics.spaces import Growth, Space, condition_rows
from dpcheck.errors import InvalidInput

Piece = tuple[Polygon, Growth]


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
class Region:
    """A convex polygon of the exponent plane in which one bound is best and everything is affine.

    Attributes:
        name: of the best bound.
        vacuous: that is the trivial one.
        polygon: vertices (first axis, second axis), anticlockwise.
        growth: of the best bound: `growth.form` is its exponent of N as a function of the two axes.
        ties: the bounds with the same exponent here; the best one has the fewest logs.
        lower: growth of the lower bound here.
    """

    name: str
    vacuous: bool
    polygon: Polygon
    growth: Growth
    ties: tuple[Tie, ...] = ()
    lower: Growth | None = None

    @property
    def exponent(self) -> Affine:
        return self.growth.form

    @property
    def gap(self) -> Affine | None:
        """Exponent of the best bound less that of the lower bound."""
        return None if self.lower is None else self.growth.form - self.lower.form

    @property
    def log_gap(self) -> tuple[Fraction, Fraction] | None:
        """The same for the exponents of log N and log log N."""
        if self.lower is None:
            return None
        return self.growth.log - self.lower.log, self.growth.loglog - self.lower.loglog

    @property
    def gap_range(self) -> tuple[Fraction, Fraction] | None:
        """Least and largest gap on the polygon."""
        if self.gap is None:
            return None
        at = [Fraction(self.gap(vertex)) for vertex in self.polygon]
        return min(at), max(at)

    @property
    def inequalities(self) -> tuple[Affine, ...]:
        """The polygon as forms that are >= 0, with coprime integer coefficients."""
        names = self.growth.form.names
        return tuple(Affine(names, (p, q), r).primitive() for p, q, r in polygons.edges(self.polygon))


@dataclass(frozen=True, kw_only=True)
class PhaseDiagram:
    """Which bound is best where.

    Attributes:
        axes: names of the two exponents.
        regime: in words.
        domain: the polygon of all exponents.
        regions: by bound in the given order; convex pieces that do not overlap and fill the domain but for `uncovered`.
        never_best: bounds that are best in no polygon (a tie in which they are listed does not count).
        uncovered: where no bound applies.
    """

    axes: tuple[str, str]
    regime: str
    domain: Polygon
    regions: tuple[Region, ...]
    never_best: tuple[str, ...]
    uncovered: tuple[Polygon, ...]

    def at(self, x: Any, y: Any) -> tuple[Region, ...]:
        """The regions that hold a point of the plane; several on a border."""
        point = (Fraction(number(x)), Fraction(number(y)))
        return tuple(r for r in self.regions if polygons.contains(r.polygon, point))

    @property
    def contradictions(self) -> tuple[Region, ...]:
        """Regions where the best bound is polynomially below the lower bound somewhere: one of the two is wrong."""
        return tuple(r for r in self.regions if r.gap_range is not None and r.gap_range[0] < 0)

    @property
    def tight(self) -> tuple[Region, ...]:
        """Regions where the exponents of the best bound and of the lower bound agree."""
        return tuple(r for r in self.regions if r.gap_range == (0, 0))

    def table(self) -> list[dict[str, str]]:
        """One row of texts for each region."""
        rows = []
        for r in self.regions:
            row = {
                "best": f"{r.name} (vacuous)" if r.vacuous else r.name,
                "where": ", ".join(f"{form} >= 0" for form in r.inequalities),
                "exponent": str(r.growth.form),
                "logs": _logs_shown(r.growth.logs),
                "ties": ", ".join(f"{t.name} {_logs_shown(t.log_gap, 'exactly')}" for t in r.ties),
            }
            if r.gap is not None and r.gap_range is not None:
                row |= {"gap": str(r.gap), "gap range": " to ".join(map(str, dict.fromkeys(r.gap_range)))}
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


def _region_dict(r: Region) -> dict[str, Any]:
    def form(x: Affine | None) -> dict[str, str] | None:
        return (
            None if x is None else {**dict(zip(x.names, map(str, x.coefficients), strict=True)), "1": str(x.constant)}
        )

    return {
        "name": r.name,
        "vacuous": r.vacuous,
        "polygon": _plain(r.polygon),
        "exponent": form(r.exponent),
        "logs": [str(x) for x in r.growth.logs],
        "ties": [{"name": t.name, "log_gap": [str(x) for x in t.log_gap]} for t in r.ties],
        "lower": form(r.lower.form if r.lower else None),
        "gap": form(r.gap),
        "log_gap": None if r.log_gap is None else [str(x) for x in r.log_gap],
    }


# --- pieces of one rate ----------------------------------------------------------------------------------------------


def _line(form: Affine) -> Line:
    p, q = form.coefficients
    return Fraction(p), Fraction(q), Fraction(form.constant)


def _pieces(order: Order, domain: Polygon, space: Space) -> list[Piece]:
    """A rate on a polygon: convex pieces on each of which its growth is one affine form with fixed logs."""
    if order.kind == "monomial":
        return _monomial_pieces(order, domain, space)
    pieces = _pieces(order.parts[0], domain, space)
    for part in order.parts[1:]:
        other = _pieces(part, domain, space)
        pieces = polygons.merged(_larger_or_smaller(pieces, other, largest=order.kind == "max"))
    return pieces


def _monomial_pieces(order: Order, domain: Polygon, space: Space) -> list[Piece]:
    base = space.power_product(order.powers)
    pieces: list[Piece] = [(domain, base)]
    for argument, exponent in order.logs:
        power = number(exponent)
        refined = []
        for polygon, growth in pieces:
            for part, inner in _pieces(argument, polygon, space):
                level = _log_level(inner, argument)
                logs = ((Fraction(0), Fraction(0)), (power, Fraction(0)), (Fraction(0), power))[level]
                refined.append((part, growth.with_logs(*logs)))
        pieces = polygons.merged(refined)
    return pieces


def _log_level(inner: Growth, argument: Order) -> int:
    """As in a comparison, but for the interior of a polygon: a form that is not zero throughout is zero on a line."""
    if not inner.form.is_constant or inner.form.constant:
        return 1
    if not inner.log and inner.loglog:
        raise InvalidInput(f"log({argument}) is a triple logarithm in this regime, which is not compared")
    return 2 if inner.log else 0


def _larger_or_smaller(first: list[Piece], second: list[Piece], *, largest: bool) -> Iterator[Piece]:
    for polygon, growth in first:
        for other, rival in second:
            common = polygons.intersect(polygon, other)
            if not common:
                continue
            difference = growth.form - rival.form
            if difference.is_constant and not difference.constant:
                keep = (lexicographic(growth.logs, rival.logs) > 0) == largest
                yield common, growth if keep else rival
                continue
            above, below = polygons.split(common, _line(difference))
            yield above, growth if largest else rival
            yield below, rival if largest else growth


# --- the lower envelope of all ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Best:
    index: int
    growth: Growth
    ties: tuple[tuple[int, tuple[Any, Any]], ...] = ()
    """(index of the bound, its logs)."""

    def against(self, index: int, rival: Growth) -> _Best:
        """The better of the two when the exponents are equal; the earlier one when the logs are too."""
        if lexicographic(rival.logs, self.growth.logs) < 0:
            return _Best(index, rival, tuple(sorted((*self.ties, (self.index, self.growth.logs)))))
        return _Best(self.index, self.growth, (*self.ties, (index, rival.logs)))


Envelope = list[tuple[Polygon, _Best]]


def _with_bound(
    envelope: Envelope, uncovered: list[Polygon], index: int, valid: Polygon, pieces: list[Piece]
) -> Envelope:
    """The envelope after one more bound has come in, whose pieces fill the polygon `valid`."""
    result: Envelope = []
    for polygon, best in envelope:
        result += [(part, best) for part in polygons.subtract(polygon, valid)]
        for piece, rival in pieces:
            if common := polygons.intersect(polygon, piece):
                result += _compete(common, best, index, rival)
    for empty in uncovered:
        result += [(c, _Best(index, rival)) for piece, rival in pieces if (c := polygons.intersect(empty, piece))]
    return polygons.merged(result)


def _compete(common: Polygon, best: _Best, index: int, rival: Growth) -> Envelope:
    difference = rival.form - best.growth.form
    if difference.is_constant and not difference.constant:
        return [(common, best.against(index, rival))]
    worse, better = polygons.split(common, _line(difference))
    return [(worse, best), (better, _Best(index, rival))]


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
        pieces = _pieces(order, valid, space) if valid else []
        envelope = _with_bound(envelope, uncovered, index, valid, pieces)
        uncovered = [part for polygon in uncovered for part in polygons.subtract(polygon, valid)]
    regions = list(_regions(envelope, listed, trivial, _pieces(floor, domain, space) if floor is not None else None))
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
    domain = polygons.clipped(polygons.hull((x, y) for x in ends[0] for y in ends[1]), map(_row_line, space.rows))
    if not domain:
        raise InvalidInput("the regime leaves no area within the axes' ranges; widen them or loosen the inequalities")
    return domain


def _row_line(row: Row) -> Line:
    return _line(row.form)


def _valid(bound: Bound, regime: Regime, space: Space, domain: Polygon) -> Polygon:
    """Where a bound's conditions hold, up to a border."""
    return polygons.clipped(domain, map(_row_line, condition_rows(bound.where, regime, space)))


def _regions(
    envelope: Envelope, listed: list[Bound], trivial: str | None, floor: list[Piece] | None
) -> Iterator[Region]:
    cells: list[tuple[Polygon, tuple[_Best, Growth | None]]] = [(polygon, (best, None)) for polygon, best in envelope]
    if floor is not None:
        cells = [
            (common, (best, low))
            for polygon, (best, _) in cells
            for piece, low in floor
            if (common := polygons.intersect(polygon, piece))
        ]
    for polygon, (best, low) in polygons.merged(cells):
        ties = (
            Tie(listed[i].name, (Fraction(logs[0] - best.growth.log), Fraction(logs[1] - best.growth.loglog)))
            for i, logs in best.ties
        )
        yield Region(
            name=listed[best.index].name,
            vacuous=listed[best.index].name == trivial,
            polygon=polygon,
            growth=best.growth,
            ties=tuple(ties),
            lower=low,
        )
