"""What a figure says at its head, and the point it marks: computed from what is drawn, so that it cannot be false."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from dpcheck.report.tables import label, lined, natural
from dpcheck.verdicts import Point

Side = Literal["at most", "at least", ""]
ROUNDING = 1e-12
"""Relative difference from which one number counts as larger than another."""
LEVEL = 1.1
"""Largest over least up to which a quotient is called level."""


@dataclass(frozen=True)
class Words:
    """What a legend calls the marks and the dashes: a formula is not measured, an order is no bound.

    Attributes:
        ratio: whether the values are quotients, which are flat where a rate is met; their axis starts at 0.
        side: where the values may be, as seen from the dashes; "" where the dashes forbid nothing.
        refuted: whether the verdict is that the statement is false.
    """

    value: str = "measured"
    bound: str = "bound"
    ratio: bool = False
    side: Side = ""
    refuted: bool = False


@dataclass(frozen=True)
class Headline:
    """A sentence without its full stop; the point that it singles out, if it does, and what the legend calls that."""

    text: str
    worst: Point | None = None
    legend: str = ""


def of(points: Sequence[Point], axes: tuple[str, str], words: Words) -> Headline:
    """Of finite points, at least one."""
    points = sorted(points, key=lambda p: (natural(p.series), p.x, p.value))
    bounded = [p for p in points if p.bound is not None and math.isfinite(p.bound)]
    if words.ratio:
        return _trend(points, axes, words)
    if not bounded:
        low, high = (label(end(p.value for p in points)) for end in (min, max))
        text = f"{_values(words)} lie between {low} and {high}" if low != high else f"{_values(words)} are {low}"
        worst = max(points, key=lambda p: p.value)
        return Headline(text, worst, f"refuted: largest {at(worst, axes)}") if words.refuted else Headline(text)
    # A sign leaves no quotient, and a bound of zero neither.
    quotients = all(p.value >= 0 and _bound(p) > 0 for p in bounded)
    if not words.side:
        return _beside(bounded, axes, words, quotients and all(p.value > 0 for p in bounded))
    return _against(bounded, axes, words, quotients)


def _against(points: list[Point], axes: tuple[str, str], words: Words, quotients: bool) -> Headline:
    """Values that may not pass their bound."""
    sign = 1 if words.side == "at most" else -1
    excess = [sign * (_logarithm(p) if quotients else p.value - _bound(p)) for p in points]
    worst = points[excess.index(max(excess))]
    beyond = [p for p in points if sign * (p.value - _bound(p)) > ROUNDING * max(abs(p.value), abs(_bound(p)))]
    factor = _down(math.exp(abs(_logarithm(worst)))) if quotients and worst.value > 0 else 1.0
    where = at(worst, axes)
    if beyond:
        text = f"{_values(words)} {'exceed' if sign > 0 else 'fall below'} {_named(words)} {where}"
        text += f", by a factor {label(factor)}" if factor > 1 else ""
        text += f", and at {len(beyond) - 1} more of {len(points)} points" if len(beyond) > 1 else ""
        text += ", which the bars allow" if all(_allowed(p, sign) for p in beyond) else ""
        name = "refuted" if words.refuted else "farthest beyond"
        return Headline(text, worst, f"{name}, {where}")
    side = "below" if sign > 0 else "above"
    legend = f"nearest to {_named(words)}, {where}"
    if factor > 1:
        return Headline(
            f"{_values(words)} stay {side} {_named(words)}, by a factor {label(factor)} at least", worst, legend
        )
    strictly = all(sign * (_bound(p) - p.value) > ROUNDING * max(abs(p.value), abs(_bound(p))) for p in points)
    there = f"{side} {_named(words)}" if strictly else f"at {_named(words)} or {side}"
    return Headline(f"{_values(words)} stay {there}, nearest {where}", worst, legend)


def _beside(points: list[Point], axes: tuple[str, str], words: Words, quotients: bool) -> Headline:
    """Values beside what forbids nothing: how far they are from it."""
    name, sign = _named(words), "refuted: " if words.refuted else ""
    if not quotients:
        worst = max(points, key=lambda p: abs(p.value - _bound(p)))
        far = abs(worst.value - _bound(worst))
        if far == 0:
            return Headline(f"{_values(words)} equal {name}")
        text = f"{_values(words)} are within {label(_up(far))} of {name}"
        return Headline(text, worst, f"{sign}farthest from {name}, {at(worst, axes)}")
    logarithms = [_logarithm(p) for p in points]
    if max(map(abs, logarithms)) <= ROUNDING:
        return Headline(f"{_values(words)} equal {name}, up to rounding")
    low, high = label(_down(math.exp(min(logarithms)))), label(_up(math.exp(max(logarithms))))
    text = f"{_values(words)} are {low} to {high} times {name}"
    if name.startswith("the order"):  # its constant is not stated, and no point is far from it or near
        worst = max(points, key=_logarithm)
        return Headline(text, worst, f"{sign}largest over {name}, {at(worst, axes)}")
    worst = max(points, key=lambda p: abs(_logarithm(p)))
    return Headline(text, worst, f"{sign}farthest from {name}, {at(worst, axes)}")


def _trend(points: list[Point], axes: tuple[str, str], words: Words) -> Headline:
    """Quotients, which a rate keeps level: where each series ends against where it starts."""
    named: dict[str, list[Point]] = {}
    for point in points:
        named.setdefault(point.series, []).append(point)
    ends = [(rows[0], rows[-1]) for rows in named.values() if rows[0].x < rows[-1].x]
    lowest = words.side == "at least"
    worst = (min if lowest else max)(points, key=lambda p: p.value)
    legend = f"{'least' if lowest else 'largest'} quotient, {at(worst, axes)}"
    what = f"{_values(words)} over {_named(words)}"
    low, high = min(p.value for p in points), max(p.value for p in points)
    if not ends or low <= 0:
        return Headline(f"{what} lie between {label(low)} and {label(high)}", worst, legend)
    changes = [last.value / first.value for first, last in ends]
    spread = max(max(p.value for p in rows) / min(p.value for p in rows) for rows in named.values())
    if spread <= LEVEL:
        return Headline(f"{what} are level, within a factor {label(_up(spread))}", worst, legend)
    spans = {(label(first.x), label(last.x)) for first, last in ends}
    start, end = next(iter(spans))
    span = f" from {axes[0] or 'x'} = {start} to {end}" if len(spans) == 1 else " over the window"
    if min(changes) >= 1 or max(changes) <= 1:
        word, factors = ("rise", changes) if min(changes) >= 1 else ("fall", [1 / change for change in changes])
        return Headline(f"{what} {word}{span}, by {_factors(factors)}", worst, legend)
    return Headline(f"{what} change{span}, by {_factors(changes)}", worst, legend)


def _factors(factors: Sequence[float]) -> str:
    low, high = label(_down(min(factors))), label(_up(max(factors)))
    return f"a factor {label(float(f'{factors[0]:.3g}'))}" if len(factors) == 1 else f"factors of {low} to {high}"


def at(point: Point, axes: tuple[str, str]) -> str:
    """Where a point is: "at n = 400, k = 3"."""
    return "at " + ", ".join(filter(None, (f"{axes[0] or 'x'} = {label(point.x)}", lined(point.series))))


def _values(words: Words) -> str:
    return f"{words.value.capitalize()} values"


def _named(words: Words) -> str:
    """The dashes in a sentence: "the order", "the claimed value"; what is no noun is quoted."""
    name = words.bound.partition(",")[0]
    if name in ("claimed", "stated"):
        return f"the {name} value"
    known = name in ("bound", "order", "lower bound") or name.startswith(("the ", "claimed "))
    return f"the {name.removeprefix('the ')}" if known else f"“{name}”"


def _bound(point: Point) -> float:
    assert point.bound is not None
    return point.bound


def _logarithm(point: Point) -> float:
    """Of value over bound, which is positive."""
    return math.log(point.value) - math.log(_bound(point)) if point.value else -math.inf


def _allowed(point: Point, sign: int) -> bool:
    """Whether its bar reaches back to the bound."""
    end = point.lower if sign > 0 else point.upper
    return end is not None and sign * (end - _bound(point)) <= 0


def _down(value: float) -> float:
    """Three digits, never more than the value."""
    return _rounded(value, math.floor)


def _up(value: float) -> float:
    """Three digits, never less than the value, up to rounding error."""
    return _rounded(value, math.ceil)


def _rounded(value: float, towards: Callable[[float], int]) -> float:
    if value <= 0:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{towards(value / unit * (1 + (1 if towards is math.floor else -1) * ROUNDING)) * unit:.3g}")
