"""Bound against measured values, as SVG whose bytes depend on the points alone."""

from __future__ import annotations

import html
import io
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from dpcheck.interfaces import Array
from dpcheck.report import headlines
from dpcheck.report.headlines import Headline, Words
from dpcheck.report.tables import label, lined, natural, scripts
from dpcheck.verdicts import Point

# Okabe and Ito's palette: told apart under every common colour blindness; markers differ as well.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6A3D9A")
MARKERS = "osD^vPX"
WORST = "#B00020"
"""Of the ring around the point that a headline singles out."""
INK, FAINT = "#222222", "#BBBBBB"
FONTS = "DejaVu Sans, Verdana, sans-serif"
STYLE: dict[str, Any] = {
    "svg.hashsalt": "dpcheck",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.titlesize": 9.5,
    "axes.labelsize": 10,
    "axes.edgecolor": "#666666",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.markersize": 5,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
}
TOGETHER, PANELS, ROWS = 6, 12, 40
"""Most series that share one pair of axes, that get a panel each, and that get a row each."""

SPREAD = 1e-9
"""Relative spread up to which values differ by rounding error alone."""
_LARGEST = 1e140
"""Beyond this, ratios of two numbers leave the range of float64, and axes with them."""


_BARS = ("value", "lower", "upper")


@dataclass(frozen=True)
class LegendSeries:
    """One legend entry: columns sorted by x, NaN where a point says nothing."""

    name: str
    x: Array
    value: Array
    lower: Array
    upper: Array
    bound: Array


def hidden(points: Sequence[Point]) -> int:
    """How many points a figure cannot show, because x or the value is infinite, not a number, or beyond 10¹⁴⁰."""
    return sum(math.isnan(_finite(p.x)) or math.isnan(_finite(p.value)) for p in points)


def draw(points: Sequence[Point], axes: tuple[str, str], words: Words | None = None) -> Figure | None:
    """The figure, or None when no point is finite. One pair of axes, small multiples, or rows: whatever reads best."""
    shown = [
        replace(p, value=_finite(p.value), bound=None if p.bound is None else _finite(p.bound))
        for p in points
        if not hidden([p])
    ]
    if not shown:
        return None
    words = words or Words()
    head = headlines.of(shown, axes, words)
    with matplotlib.style.context(["default", STYLE]):
        figure = _draw(_series(shown), axes, words, head)
        title(figure, head.text + (", of what can be drawn" if len(shown) < len(points) else ""))
    return figure


def title(figure: Figure, text: str) -> None:
    """At the head, at the left, in lines that fit."""
    together = lined(text[:1].upper() + text[1:]).replace(" = ", "\u00a0=\u00a0")
    lines = textwrap.wrap(together, int(12 * figure.get_figwidth()))
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10.5, color=INK)


def mark(figure: Figure) -> str:
    """What a bound looks like: dashed lines, or upright ticks in rows."""
    upright = any(line.get_marker() == "|" for line in figure.axes[0].lines)
    return "Upright ticks" if upright else "Dashed"


def scales(figure: Figure) -> str:
    """A sentence on the axes that are not linear; "" when all are."""
    ax = figure.axes[0]
    x, y = (_kind(axis) for axis in (ax.xaxis, ax.yaxis))
    if x == y:
        return f"Both axes are {x}." if x else ""
    return " ".join(f"The {name} axis is {kind}." for name, kind in (("horizontal", x), ("vertical", y)) if kind)


def _kind(axis: Any) -> str:
    if axis.get_scale() == "symlog":
        return f"logarithmic, and linear within ±{label(axis.get_transform().linthresh)}"
    return "logarithmic" if axis.get_scale() == "log" else ""


def against_order(points: Sequence[Point]) -> tuple[Point, ...]:
    """Values and bars over the bound at the same point: what an order, whose constant is not stated, can be held to."""
    return tuple(
        replace(p, bound=None, **{name: v / p.bound for name in _BARS if (v := getattr(p, name)) is not None})
        for p in points
        if p.bound is not None and p.bound > 0
    )


def svg(figure: Figure) -> str:
    """The figure as SVG text: no date, no version, ids numbered in order of appearance."""
    text = io.StringIO()
    with matplotlib.style.context(["default", STYLE]):
        metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(text, format="svg", metadata=metadata)
    return _compact(text.getvalue())


def inline(text: str, prefix: str) -> str:
    """The same SVG as an HTML element: no prologue, and ids that no other figure of the page has."""
    body = text[text.index("<svg") :].strip()
    body = re.sub(r'\bid="', f'id="{prefix}-', body)
    return re.sub(r'(url\(|href=")#', rf"\g<1>#{prefix}-", body)


def _folded(text: str, width: int) -> str:
    """In lines that fit beside a panel."""
    return "\n".join(textwrap.wrap(lined(text), width)) or text


def _series(points: Sequence[Point]) -> list[LegendSeries]:
    named: dict[str, list[Point]] = {}
    for point in points:
        if not hidden([point]):
            named.setdefault(point.series, []).append(point)
    series = []
    for name in sorted(named, key=natural):
        rows = sorted(named[name], key=lambda p: (p.x, p.value))
        columns = np.array(
            [[_finite(v) for v in (p.x, p.value, p.lower, p.upper, p.bound)] for p in rows], dtype=float
        ).T
        series.append(LegendSeries(lined(name), *columns))
    return series


def _finite(value: float | None) -> float:
    """NaN for what cannot be drawn; what is too small to tell from zero is zero."""
    if value is None or not abs(value) <= _LARGEST:
        return math.nan
    return 0.0 if abs(value) < 1 / _LARGEST else value


def _draw(series: list[LegendSeries], axes: tuple[str, str], words: Words, head: Headline) -> Figure:
    xs = np.unique(np.concatenate([s.x for s in series]))
    if len(xs) == 1 and len(series) <= ROWS:
        return _rows(series, axes, float(xs[0]), words, head)
    if TOGETHER < len(series) <= PANELS:
        return _panels(series, axes, words, head)
    figure = Figure(figsize=(6.6, 4.2), layout="constrained")
    ax = figure.add_subplot()
    _scales(ax, series, xs)
    handles = _overlay(ax, series, words) if len(series) <= TOGETHER else _highlight(ax, series, words)
    _from_zero(ax, words)
    handles += [*ring(ax, head), *_clipped(ax.yaxis, series)]
    ax.set(xlabel=lined(axes[0]), ylabel=_folded(axes[1], 44))
    widest = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, min(len(handles), 90 // (widest + 6)))
    figure.set_figheight(4.2 + 0.2 * max(0, -(-len(handles) // columns) - 3))  # a long legend leaves the axes theirs
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    return figure


def _overlay(ax: Axes, series: list[LegendSeries], words: Words) -> list[Line2D]:
    """Each series in its colour, measured with bars and bound dashed; one black bound when they share it."""
    shared = _shared_bound(series)
    handles = []
    several = len(series) > 1 and shared is None
    for one, colour, marker in zip(series, PALETTE, MARKERS, strict=False):
        _measured(ax, one, colour, marker)
        handles.append(Line2D([], [], color=colour, marker=marker, label=one.name or words.value))
        if shared is None:
            _bound(ax, one, colour if several else INK)
    if shared is not None:
        _bound(ax, shared, INK)
    if any(np.isfinite(one.bound).any() for one in series):
        label = f"{words.bound}, in the colour of its series" if several else words.bound
        handles.append(Line2D([], [], color=INK, ls="--", label=label))
    return handles


def _highlight(ax: Axes, series: list[LegendSeries], words: Words) -> list[Line2D]:
    """Too many series to tell apart: those nearest their bound in colour, the rest in grey."""
    nearest = sorted(series, key=lambda s: (-_closeness(s), natural(s.name)))[:TOGETHER]
    for one in series:
        if one not in nearest:
            ax.plot(one.x, one.value, "." if len(one.x) == 1 else "-", color=FAINT, lw=0.8, zorder=1)
    handles = _overlay(ax, sorted(nearest, key=lambda s: natural(s.name)), words)
    label = f"the other {len(series) - len(nearest)} series"
    return [*handles, Line2D([], [], color=FAINT, label=label)]


def _closeness(series: LegendSeries) -> float:
    """Largest value relative to its bound; the largest value itself where no bound is given."""
    if np.isfinite(series.bound).any():
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = series.value / series.bound
        return float(np.max(ratio[np.isfinite(ratio)], initial=-math.inf))
    return float(series.value.max())


def _panels(series: list[LegendSeries], axes: tuple[str, str], words: Words, head: Headline) -> Figure:
    """Small multiples with common axes."""
    columns = 3
    height = -(-len(series) // columns)
    figure = Figure(figsize=(7.4, 2.1 * height + 0.9), layout="constrained")
    grid = figure.subplots(height, columns, sharex=True, sharey=True, squeeze=False).ravel()
    xs = np.unique(np.concatenate([s.x for s in series]))
    _scales(grid[0], series, xs, ticks=3)
    for ax, one in zip(grid, series, strict=False):
        _measured(ax, one, PALETTE[0], MARKERS[0])
        _bound(ax, one, INK)
        ax.set_title(_folded(one.name, 26), loc="left")
    _from_zero(grid[0], words)
    for ax in grid[len(series) :]:
        ax.set_axis_off()
    for ax in grid[max(0, len(series) - columns) : len(series)]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel(lined(axes[0]))  # one for all would lie below the legend
    figure.supylabel(_folded(axes[1], 30 * height), fontsize=10)
    handles = [Line2D([], [], color=PALETTE[0], marker=MARKERS[0], label=words.value)]
    if any(np.isfinite(one.bound).any() for one in series):
        handles.append(Line2D([], [], color=INK, ls="--", label=lined(words.bound)))
    for ax, one in zip(grid, series, strict=False):
        if head.worst is not None and one.name == lined(head.worst.series):
            handles += ring(ax, head)
    handles += _clipped(grid[0].yaxis, series)
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def _rows(series: list[LegendSeries], axes: tuple[str, str], x: float, words: Words, head: Headline) -> Figure:
    """One x for all: a row a series, its value and bar against its bound."""
    figure = Figure(figsize=(6.6, 0.3 * len(series) + 1.5), layout="constrained")
    ax = figure.add_subplot()
    _scale(ax.set_xscale, np.concatenate([np.concatenate([s.value, s.bound]) for s in series]))
    bounded = False
    for row, one in enumerate(series):
        place = np.full(len(one.x), -row)
        ax.hlines(place, one.lower, one.upper, color=PALETTE[0], lw=1.4)
        ax.plot(one.value, place, MARKERS[0], color=PALETTE[0])
        ax.plot(one.bound, place, "|", color=PALETTE[1], ms=13, mew=2.2)
        bounded = bounded or bool(np.isfinite(one.bound).any())
    ax.set_yticks([-row for row in range(len(series))], [one.name or words.value for one in series])
    ax.set_ylim(-len(series) + 0.4, 0.6)
    at = f"{axes[1].rstrip(',')}, at {axes[0]} = {label(x)}" if axes[0] else axes[1]
    ax.set_xlabel(_folded(at, 72))
    _axis(ax.xaxis, 6)
    handles = [Line2D([], [], color=PALETTE[0], marker=MARKERS[0], label=words.value)]
    if bounded:
        handles.append(Line2D([], [], color=PALETTE[1], ls="", marker="|", ms=11, mew=2.2, label=lined(words.bound)))
    if head.worst is not None:
        row = [one.name for one in series].index(lined(head.worst.series))
        handles += ring(ax, replace(head, worst=replace(head.worst, x=head.worst.value, value=-row)))
    handles += _clipped(ax.xaxis, series)
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def ring(ax: Axes, head: Headline, *, whole: bool = False) -> list[Line2D]:
    """Marks the point that the headline singles out; its entry of the legend, or none.

    Args:
        whole: draws the ring beyond the axes as well.
    """
    if head.worst is None:
        return []
    where: dict[str, Any] = {"s": 110, "linewidths": 1.6, "zorder": 4, "clip_on": not whole}
    ax.scatter([head.worst.x], [head.worst.value], facecolors="none", edgecolors=WORST, **where)
    style: dict[str, Any] = {"marker": "o", "ms": 9, "mfc": "none", "mec": WORST, "mew": 1.6}
    return [Line2D([], [], ls="", label=_folded(head.legend, 60), **style)]


def _clipped(axis: Any, series: list[LegendSeries]) -> list[Line2D]:
    """Ends an axis where only rounding error is left: a legend entry that says so, or none.

    On a logarithmic axis that is beyond what float64 resolves beside the least bound; on a linear one, a spread that
    is rounding error of the values fills no more than a tenth of it.
    """
    values, bounds = (np.concatenate(columns) for columns in ([s.value for s in series], [s.bound for s in series]))
    bounds = bounds[np.isfinite(bounds)]
    low, high = axis.get_view_interval()
    if axis.get_scale() == "linear":
        size = np.abs([*values, *bounds]).max()
        if 0 < np.ptp([*values, *bounds]) <= SPREAD * size:
            axis.axes.set(**{f"{axis.axis_name}lim": (low - size / 20, high + size / 20)})
        return []
    if axis.get_scale() == "symlog" or not len(bounds):
        return []
    foot = np.finfo(float).eps * bounds.min()
    if values.min() >= foot:
        return []
    axis.axes.set(**{f"{axis.axis_name}lim": (foot, high)})
    below = int((values < foot).sum())
    return [Line2D([], [], ls="", label=f"below the axis: {below}, less than rounding error of the bound")]


def _from_zero(ax: Axes, words: Words) -> None:
    """A quotient that is nearly flat looks nearly flat."""
    if words.ratio and ax.get_yscale() == "linear":
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))


def _measured(ax: Axes, series: LegendSeries, colour: str, marker: str) -> None:
    """Values with their bars; a bar end that is missing is no bar, one below a log axis stops at its foot."""
    low = np.where(np.isfinite(series.lower), np.minimum(series.lower, series.value), series.value)
    high = np.where(np.isfinite(series.upper), np.maximum(series.upper, series.value), series.value)
    if ax.get_yscale() == "log":
        low = np.where(low > 0, low, series.value / 10)
    if (high > low).any():  # one broken line: a tenth of the bytes of as many bars
        gap = np.full(len(low), np.nan)
        ax.plot(np.repeat(series.x, 3), np.column_stack([low, high, gap]).ravel(), color=colour, lw=1.2, zorder=3)
    drawn = marker if len(series.x) <= 60 or not _is_curve(series) else ""
    line = "-" if _is_curve(series) else ""
    ax.plot(series.x, series.value, color=colour, ls=line, marker=drawn, lw=1.2, zorder=3)


def _bound(ax: Axes, series: LegendSeries, colour: str) -> None:
    """The dashed bound, where it is finite; dashes by themselves where it is no curve, or a lone point."""
    shown = np.isfinite(series.bound)
    alone = shown.sum() == 1 or not _is_curve(series)
    x, y = series.x[shown], series.bound[shown]
    ax.plot(x, y, ls="" if alone else "--", color=colour, lw=1.5, marker="_" if alone else "", ms=14)


def _is_curve(series: LegendSeries) -> bool:
    """One value at each x; a line through several would draw what nobody measured."""
    return len(np.unique(series.x)) == len(series.x)


def _shared_bound(series: list[LegendSeries]) -> LegendSeries | None:
    """A series whose bound is that of all, when there are several and it is one function of x; else None."""
    if len(series) < 2 or any(s.x.shape != series[0].x.shape or not np.allclose(s.x, series[0].x) for s in series):
        return None
    first = series[0].bound
    if not np.isfinite(first).any() or any(not np.allclose(s.bound, first, rtol=1e-9, equal_nan=True) for s in series):
        return None
    return series[0]


def _scales(ax: Axes, series: list[LegendSeries], xs: Array, ticks: int = 7) -> None:
    _scale(ax.set_xscale, xs)
    _scale(ax.set_yscale, np.concatenate([np.concatenate([s.value, s.bound]) for s in series]))
    plain_axes(ax, ticks)
    if len(xs) > 3 * ticks:
        return
    shown = xs[:: -(-len(xs) // ticks)]
    position = np.log(shown) if ax.get_xscale() == "log" else shown
    if len(shown) == 1 or np.diff(position).min() >= (position[-1] - position[0]) / (2 * ticks):
        ax.xaxis.set_major_locator(FixedLocator(list(shown)))
        ax.xaxis.set_minor_locator(NullLocator())


def _scale(setter: Callable[..., None], values: Array) -> None:
    """Logarithmic when all is positive and spans a factor 3; symmetric log when few values dwarf signed others."""
    values = values[np.isfinite(values)]
    size = np.abs(values[values != 0])
    if not len(size) or size.max() / size.min() < 3:
        return
    if (values > 0).all():
        setter("log")
    elif size.max() > 100 * np.median(size):
        decade = 10.0 ** np.ceil(np.log10(max(size.min(), size.max() / 1e8)))
        setter("symlog", linthresh=float(decade))


def plain_axes(ax: Axes, ticks: int) -> None:
    """Few, plain tick labels on both axes."""
    _axis(ax.xaxis, ticks)
    _axis(ax.yaxis, ticks)


def _axis(axis: Any, ticks: int) -> None:
    """Few, plain tick labels."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    if axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(ticks - 1, steps=[1, 2, 2.5, 5, 10]))
    elif axis.get_scale() == "log":
        axis.set_major_locator(_LogTicks(ticks))
        axis.set_minor_locator(NullLocator())


class _LogTicks(LogLocator):
    """Decades; 1, 2 and 5 of each where the axis spans fewer than two."""

    def __init__(self, ticks: int) -> None:
        super().__init__(base=10, numticks=ticks)

    def tick_values(self, vmin: float, vmax: float) -> Any:
        short = vmin > 0 and vmax / vmin < 100
        self.set_params(subs=(1.0, 2.0, 5.0) if short else (1.0,))
        return super().tick_values(vmin, vmax)


def _compact(text: str) -> str:
    """A tenth of a point is enough; ids count up, since hashes of floats may differ between machines."""
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"-?\d+\.\d{3,}", _round(2), tag[0]), text)
    text = re.sub(r' (?:d|x|y)="[^"]*"', lambda place: re.sub(r"-?\d+\.\d{2,}", _round(1), place[0]), text)
    text = re.sub(r'; font-family: [^;"]*', "", text).replace("<svg ", f"<svg font-family={FONTS!r} ", 1)
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    used = dict.fromkeys(re.findall(r'(?:url\(|href=")#([^)"]+)', text))
    numbers = {name: f"i{number}" for number, name in enumerate(used)}
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{numbers[m[1]]}"' if m[1] in numbers else "", text)
    text = re.sub(r'(url\(|href=")#([^)"]+)', lambda m: f"{m[1]}#{numbers[m[2]]}", text)
    text = re.sub(r"(?<=>)[^<>\n]*[_^][^<>\n]*(?=</text>)", _scripts, text)
    text = re.sub(r"\s*\n\s*", "\n", _without_bare_groups(text))
    text = re.sub(r'(?<= d=")[^"]*', lambda m: m[0].replace("\n", " ").strip(), text)
    return _styled_once(re.sub(r'(?<= style=")[^"]*', lambda m: m[0].replace(": ", ":").replace("; ", ";"), text))


def _scripts(line: re.Match[str]) -> str:
    """A line of text with its exponents above and its indices below: dy is in the size of the letters themselves."""
    done, back = "", ""
    for level, part in scripts(html.unescape(line[0])):
        words = html.escape(part, quote=False)
        if level:
            up = -0.5 if level == "^" else 0.3
            done += f'<tspan dy="{up}em" font-size="70%">{words}</tspan>'
            back = f"{-0.7 * up:.3g}em"
        elif words:
            done, back = done + (f'<tspan dy="{back}">{words}</tspan>' if back else words), ""
    return done


def _styled_once(text: str) -> str:
    """The style of a marker where it is defined, if it looks the same wherever it is used."""
    for name in dict.fromkeys(re.findall(r'<use xlink:href="#(i\d+)"', text)):
        use = rf'(<use xlink:href="#{name}"[^>]*?) style="([^"]*)"'
        styles = {groups[1] for groups in re.findall(use, text)}
        mark = re.search(rf'<path id="{name}" d="[^"]*"( style="([^"]*)")?/>', text)
        if len(styles) == 1 and mark is not None:
            both = ";".join(dict.fromkeys(filter(None, [*styles.pop().split(";"), *(mark[2] or "").split(";")])))
            bare = mark[0].removesuffix("/>").replace(mark[1] or "\0", "")
            text = re.sub(use, r"\1", text).replace(mark[0], f'{bare} style="{both}"/>')
    return text


def _without_bare_groups(text: str) -> str:
    """Drops every <g> that has lost its id and says nothing else, with its end tag."""
    bare: list[bool] = []

    def keep(match: re.Match[str]) -> str:
        if match[0].endswith("/>"):
            return ""
        if match[0] != "</g>":
            bare.append(match[0] == "<g>")
            return "" if bare[-1] else match[0]
        return "" if bare.pop() else match[0]

    return re.sub(r"<g\b[^>]*>|</g>", keep, text)


def _round(digits: int) -> Callable[[re.Match[str]], str]:
    def short(match: re.Match[str]) -> str:
        text = f"{float(match[0]):.{digits}f}".rstrip("0").rstrip(".")
        return "0" if text in ("-0", "") else text

    return short
