"""Phase diagrams as SVG: the exact polygons of a plane of exponents, one colour a bound, vacuous regions hatched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import matplotlib.style
import numpy as np
import sympy as sp
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from dpcheck import symbols
from dpcheck.asymptotics import PhaseDiagram, PhaseRegion
from dpcheck.asymptotics.polygons import Polygon, twice_area
from dpcheck.report import figures
from dpcheck.report.headlines import Headline
from dpcheck.verdicts import Point

VACUOUS = "#F2F2F2"


def draw(diagram: PhaseDiagram, title: str, labels: tuple[str, str]) -> Figure:
    """The figure.

    Args:
        labels: what the axes are, "a in d = n^a".
    """
    with matplotlib.style.context(["default", figures.STYLE]):
        figure = Figure(figsize=(6.4, 4.6), layout="constrained")
        axes = figure.add_subplot()
        names = list(dict.fromkeys(region.name for region in diagram.regions if not region.vacuous))
        colours = {name: figures.PALETTE[i % len(figures.PALETTE)] for i, name in enumerate(names)}
        for region in diagram.regions:
            style = (
                {"facecolor": VACUOUS, "hatch": "///", "edgecolor": figures.FAINT}
                if region.vacuous
                else {"facecolor": colours[region.name], "edgecolor": "white", "alpha": 0.75}
            )
            axes.add_patch(PathPatch(_path(region), linewidth=0.8, **style))
        low, high = np.array(diagram.domain, dtype=float).min(0), np.array(diagram.domain, dtype=float).max(0)
        for region in diagram.regions:
            _label(axes, region, high[0] - low[0])
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=labels[0], ylabel=labels[1])
        figures.title(figure, title)
        axes.grid(False)
        keys = [Patch(facecolor=colours[name], alpha=0.75, label=name) for name in names]
        if any(region.vacuous for region in diagram.regions):
            keys.append(
                Patch(
                    facecolor=VACUOUS,
                    edgecolor=figures.FAINT,
                    hatch="///",
                    label="constant output (what is compared is vacuous)",
                )
            )
        figure.legend(handles=[*keys, *_widest(axes, diagram)], loc="outside lower center", ncols=2)
        return figure


def _widest(axes: Axes, diagram: PhaseDiagram) -> list[Line2D]:
    """A ring around the corner where the best bound is farthest from what it is held against, and its legend."""
    gaps = [(part.gap, corner) for region in diagram.regions for part in region.parts for corner in part.polygon]
    wide = [(Fraction(gap(corner)), corner) for gap, corner in gaps if gap is not None]
    if not wide or (largest := max(gap for gap, _ in wide)) <= 0:
        return []
    x, y = map(float, min(corner for gap, corner in wide if gap == largest))
    place = Point(x=x, value=y)
    return figures.ring(axes, Headline("", place, f"widest gap: n^({largest})"), whole=True)


def svg(diagram: PhaseDiagram, title: str, labels: tuple[str, str]) -> str:
    """The figure as SVG text whose bytes depend on the arguments alone."""
    return figures.svg(draw(diagram, title, labels))


def _path(region: PhaseRegion) -> Path:
    vertices: list[tuple[float, float]] = []
    codes: list[Any] = []
    for ring in (region.polygon, *region.holes):
        points = [(float(x), float(y)) for x, y in ring]
        vertices += [*points, points[0]]
        codes += [Path.MOVETO, *[Path.LINETO] * (len(points) - 1), Path.CLOSEPOLY]
    return Path(np.array(vertices), codes)


def _label(axes: Axes, region: PhaseRegion, plane: float) -> None:
    """The exponent of n inside the largest convex part, where it fits.

    Args:
        plane: width of the whole figure in the units of the first axis.
    """
    part = max((part.polygon for part in region.parts), key=twice_area)
    x, y = (float(sum(v[i] for v in part) / len(part)) for i in (0, 1))
    text = f"n^({_affine(region.exponent)})"
    if not region.vacuous and _chord(part, y) > 0.02 * plane * len(text):
        axes.text(x, y, text, ha="center", va="center", fontsize=10, color=figures.INK)


def _affine(exponent: object) -> str:
    """`3/4*a - 1/2*b` -> 3a/4 - b/2, which nobody reads as 3/(4a)."""
    text = re.sub(r"(\d+)/(\d+)\*?([a-z])", r"\1\3/\2", str(exponent)).replace("*", "")
    return re.sub(r"(?<![\d/])1(?=[a-z])", "", text)


def _chord(polygon: Polygon, height: float) -> float:
    """The width of a convex polygon at a height."""
    values = []
    for (x, y), (z, w) in zip(polygon, (*polygon[1:], polygon[0]), strict=True):
        if min(y, w) <= height <= max(y, w) and y != w:
            values.append(float(x) + (height - float(y)) / float(w - y) * float(z - x))
    return max(values) - min(values) if values else 0.0


def axis_labels(axes: Sequence[tuple[object, object]]) -> tuple[str, str]:
    """`[(d, n**a), (epsilon, n**-b)]` -> ("a in d = n^a", "b in ε = n^-b"): the axes are exponents."""
    from dpcheck.engine.drawn import inline

    first, second = (f"{_exponent(value)} in {inline(name)} = {inline(value)}" for name, value in axes)
    return first, second


def _exponent(power: object) -> str:
    """The free exponent of n in a power of n."""
    free = sp.sympify(power).free_symbols - {symbols.n}
    return ", ".join(sorted(symbol.name for symbol in free))
