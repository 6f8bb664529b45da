"""Panels: which claims a phase diagram compares, in whose common variables, and against what lower bound.

A panel states what the papers leave to the reader: which upper bounds answer the same question, and which letter of one
is which letter of another. The diagram itself is exact, by `dpcheck.asymptotics.phase_diagram`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy as sp

from dpcheck.asymptotics import Bound, Order, PhaseDiagram, Ray, Regime, at_most, phase_diagram
from dpcheck.asymptotics.intervals import DEFAULT_RANGES
from dpcheck.asymptotics.orders import symbol
from dpcheck.asymptotics.polygons import twice_area
from dpcheck.asymptotics.regimes import SIZES, SMALL
from dpcheck.claims import Claim
from dpcheck.errors import InvalidInput, UnknownLabel
from dpcheck.symbols import n

TRIVIAL = "constant output"


@dataclass(frozen=True)
class PanelClaim:
    """A claim in a panel.

    Attributes:
        name: what the diagram calls it.
        put: symbol (or part) of the claim -> an expression in the panel's variables.
        where: conditions under which it is proved, in the panel's variables; outside it says nothing.
    """

    label: str
    name: str
    put: Mapping[sp.Basic, Any] = field(default_factory=dict)
    where: tuple[Any, ...] = ()

    def order(self, claims: Mapping[str, Claim]) -> Order:
        """The claim's rate in the panel's variables. Raises `UnknownLabel`, `InvalidInput`."""
        if self.label not in claims:
            raise UnknownLabel(self.label, claims)
        bound = claims[self.label].order if claims[self.label].order is not None else claims[self.label].explicit
        if bound is None:
            raise InvalidInput(f"{self.label} has no symbolic bound to draw; see `dpcheck show {self.label}`")
        return Order.of(sp.sympify(bound).subs(dict(self.put), simultaneous=True), ignore_rounding=True)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One comparison.

    Attributes:
        key: its name on the command line.
        upper: the bounds that compete; a constant output, of order 1, is always among them.
        against: what the best one is measured against: the largest of these, capped at 1.
        versus: what that is, in words ("the lower bound", "item-level privacy").
        axes: variable -> power of n with one free exponent, the first is drawn along the x-axis.
        ties: every other variable that grows.
        ranges: exponent -> (least, largest).
        parameters: values of symbols in exponents.
        shows: what one should see, in a sentence.
    """

    key: str
    title: str
    upper: tuple[PanelClaim, ...]
    against: tuple[PanelClaim, ...] = ()
    versus: str = "the lower bound"
    axes: Mapping[sp.Symbol, Any]
    ties: Mapping[sp.Symbol, Any] = field(default_factory=dict)
    ranges: Mapping[str, tuple[Any, Any]]
    parameters: Mapping[sp.Symbol, Any] = field(default_factory=dict)
    shows: str

    def diagram(
        self,
        claims: Mapping[str, Claim],
        *,
        axes: Mapping[sp.Symbol, Any] | None = None,
        ties: Mapping[sp.Symbol, Any] | None = None,
        ranges: Mapping[str, tuple[Any, Any]] | None = None,
        parameters: Mapping[sp.Symbol, Any] | None = None,
    ) -> PhaseDiagram:
        """The exact diagram; whatever is not tied is constant.

        Raises:
            UnknownLabel, InvalidInput: a label that is not there, axes that are no powers with a free exponent each.
        """
        own_axes = dict(axes or self.axes)
        tied = {**self.axes, **self.ties, **(ties or {}), **own_axes}
        names = _exponents(own_axes)
        # An axis of the panel that the caller has not kept is tied by the middle of its range.
        for variable, power in tied.items():
            loose = {str(s) for s in sp.sympify(power).free_symbols} - {n.name} - set(names)
            middle = {sp.Symbol(s): _middle(self.ranges.get(s, (0, 1))) for s in loose}
            tied[variable] = sp.sympify(power).subs(middle)
        bounds = [Bound(TRIVIAL, sp.Integer(1))]
        bounds += [Bound(entry.name, entry.order(claims), entry.where) for entry in self.upper]
        floor = [entry.order(claims).expression for entry in self.against]
        symbols = frozenset().union(
            *(Order.of(b.rate).symbols for b in bounds), *(sp.sympify(f).free_symbols for f in floor)
        )
        values = {**self.parameters, **(parameters or {})}
        _check_parameters(parameters or {})
        known = {symbol(s) for s in (*tied, *values)} | {n}
        regime = Regime(
            ties={s: v for s, v in tied.items() if symbol(s) in symbols or s in own_axes},
            constants=[s for s in symbols if s not in known and s.name not in ("k", "theta", "p")],
            parameters=values,
        )
        spans = {**self.ranges, **(ranges or {})}
        drawn = [(name, *spans.get(name, (0, 1))) for name in names]
        return phase_diagram(bounds, regime, drawn, trivial=TRIVIAL, lower=sp.Min(1, sp.Max(*floor)) if floor else None)


def _check_parameters(parameters: Mapping[sp.Symbol, Any]) -> None:
    """Raises `InvalidInput` for a number at which no statement about that parameter holds."""
    for name, given in parameters.items():
        value, allowed = sp.sympify(given), DEFAULT_RANGES.get(name)
        if allowed is not None and value.is_number and not allowed.holds(value):
            raise InvalidInput(f"{name} must be {allowed.least}, got {value}")


def _exponents(axes: Mapping[sp.Symbol, Any]) -> list[str]:
    """The free exponent of each of two axes."""
    if len(axes) != 2:
        raise InvalidInput(f"a phase diagram has two axes, got {len(axes)}: {', '.join(map(str, axes)) or 'none'}")
    words = []
    for variable, power in axes.items():
        base, exponent = sp.sympify(power).as_base_exp()
        free = sorted(exponent.free_symbols, key=str)
        if base != n or len(free) != 1:
            raise InvalidInput(f"the axis {variable} must be a power of n with one free exponent, got {power}")
        words.append(str(free[0]))
    return words


def _middle(span: Sequence[Any]) -> sp.Expr:
    low, high = (sp.nsimplify(x) for x in span)
    return (low + high) / 2


@dataclass(frozen=True, kw_only=True)
class Contest:
    """The best upper bound of a setting against the best lower bounds, both capped at 1, the risk of a constant output.

    Attributes:
        upper_checks, lower_checks: ids of checks that measure the algorithm on the hard instance against either.
    """

    key: str
    title: str
    upper: PanelClaim
    lower: tuple[PanelClaim, ...]
    parameters: Mapping[sp.Symbol, Any] = field(default_factory=dict)
    upper_checks: tuple[str, ...] = ()
    lower_checks: tuple[str, ...] = ()

    def rates(self, claims: Mapping[str, Claim]) -> tuple[Order, Order]:
        """Both sides, capped."""
        upper = sp.Min(1, self.upper.order(claims).expression)
        lower = sp.Min(1, sp.Max(*(entry.order(claims).expression for entry in self.lower)))
        return Order.of(upper), Order.of(lower)

    def depends(self, claims: Mapping[str, Claim]) -> list[tuple[tuple[str, ...], str]]:
        """The smallest sets of variables in which the ratio grows, and how; empty: the bounds meet.

        Sizes are at least 1, budgets and failure probabilities at most 1; everything else is constant.
        """
        upper, lower = self.rates(claims)
        symbols = upper.symbols | lower.symbols
        moving = sorted((s for s in symbols if s in SIZES | SMALL), key=lambda s: s.name)
        pairs: list[tuple[tuple[str, ...], str]] = []
        for size in range(1, 4):
            for few in itertools.combinations(moving, size):
                names = tuple(s.name for s in few)
                if any(set(smaller) <= set(names) for smaller, _ in pairs):
                    continue
                evidence = at_most(upper, lower, self._regime(symbols, few))
                if isinstance(evidence, Ray):
                    pairs.append((names, f"{evidence.rate} against {evidence.other}"))
        return pairs

    def _regime(self, symbols: frozenset[sp.Symbol], moving: Sequence[sp.Symbol]) -> Regime:
        where = [s >= 1 if s in SIZES else s <= 1 for s in moving]
        still = [s for s in symbols if s not in moving]
        return Regime(base=None, where=where, constants=still, parameters=self.parameters)


@dataclass(frozen=True, kw_only=True)
class Size:
    """Real sizes at which algorithms are compared in the report, as `dpcheck compare-bounds` does.

    Attributes:
        values: fields of `dpcheck.engine.Setting`.
        only: labels of the algorithms.
    """

    key: str
    title: str
    values: Mapping[str, Any]
    only: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command that shows all algorithms at these sizes."""
        options = " ".join(f"--{name} {value:g}" for name, value in self.values.items())
        return f"dpcheck compare-bounds {options}"


def summary(diagram: PhaseDiagram, versus: str) -> str:
    """Which bound is best on how much of the plane, what is never best, and the gap, in a sentence; computed."""
    shares: dict[str, Fraction] = {}
    for region in diagram.regions:
        area = twice_area(region.polygon) + sum((twice_area(hole) for hole in region.holes), Fraction(0))
        name = f"nothing better than a {region.name}" if region.vacuous else region.name
        shares[name] = shares.get(name, Fraction(0)) + area
    total = twice_area(diagram.domain)
    said = [f"{name} on {_percent(area / total)}" for name, area in sorted(shares.items(), key=lambda x: -x[1])]
    text = f"Best: {', '.join(said)} of the plane"
    if diagram.never_best:
        text += f"; never best: {', '.join(name for name in diagram.never_best)}"
    gaps = [region.gap_range for region in diagram.regions if region.gap_range is not None]
    if gaps:
        low, high = min(g[0] for g in gaps), max(g[1] for g in gaps)
        if low < 0:
            text += f"; BELOW {versus} by up to n^({-low}): one of the two is wrong"
        elif high == 0:
            text += f"; of the order of {versus} everywhere, up to logs"
        else:
            text += f"; above {versus} by up to n^({high})"
    return text + "."


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.3g} %"
