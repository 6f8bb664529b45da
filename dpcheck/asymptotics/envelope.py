"""Rates over a polygon of exponents as pieces, and the lower envelope of several of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpcheck.asymptotics import polygons
from dpcheck.asymptotics.decision import lexicographic
from dpcheck.asymptotics.linear import Affine, number
from dpcheck.asymptotics.orders import Order
from dpcheck.asymptotics.polygons import Line, Polygon
from dpcheck.asymptotics.spaces import Growth, Space
from dpcheck.errors import InvalidInput

Piece = tuple[Polygon, Growth]


def line(form: Affine) -> Line:
    """The half-plane where a form of two exponents is >= 0."""
    p, q = form.coefficients
    return Fraction(p), Fraction(q), Fraction(form.constant)


def pieces_of(order: Order, domain: Polygon, space: Space) -> list[Piece]:
    """A rate on a polygon: convex pieces on each of which its growth is one affine form with fixed logs."""
    if order.kind == "monomial":
        return _monomial_pieces(order, domain, space)
    pieces = pieces_of(order.parts[0], domain, space)
    for part in order.parts[1:]:
        other = pieces_of(part, domain, space)
        pieces = polygons.merged(_larger_or_smaller(pieces, other, largest=order.kind == "max"))
    return pieces


def _monomial_pieces(order: Order, domain: Polygon, space: Space) -> list[Piece]:
    base = space.power_product(order.powers)
    pieces: list[Piece] = [(domain, base)]
    for argument, exponent in order.logs:
        power = number(exponent)
        refined = []
        for polygon, growth in pieces:
            for part, inner in pieces_of(argument, polygon, space):
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
            above, below = polygons.split(common, line(difference))
            yield above, growth if largest else rival
            yield below, rival if largest else growth


@dataclass(frozen=True)
class Best:
    """The best bound on a polygon.

    Attributes:
        ties: (index, logs) of the bounds with the same exponent, by index.
    """

    index: int
    growth: Growth
    ties: tuple[tuple[int, tuple[Any, Any]], ...] = ()

    def against(self, index: int, rival: Growth) -> Best:
        """The better of the two when the exponents are equal; the earlier one when the logs are too."""
        if lexicographic(rival.logs, self.growth.logs) < 0:
            return Best(index, rival, tuple(sorted((*self.ties, (self.index, self.growth.logs)))))
        return Best(self.index, self.growth, (*self.ties, (index, rival.logs)))


Envelope = list[tuple[Polygon, Best]]


def with_bound(
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
        result += [(c, Best(index, rival)) for piece, rival in pieces if (c := polygons.intersect(empty, piece))]
    return polygons.merged(result)


def _compete(common: Polygon, best: Best, index: int, rival: Growth) -> Envelope:
    difference = rival.form - best.growth.form
    if difference.is_constant and not difference.constant:
        return [(common, best.against(index, rival))]
    worse, better = polygons.split(common, line(difference))
    return [(worse, best), (better, Best(index, rival))]
