"""Exponents that were measured: the table that opens the report, and the figure of a statement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dpcheck.harness.budget import CERTIFIED
from dpcheck.harness.scaling.pairs import RatePair, pairs
from dpcheck.harness.scaling.slopes import spelled
from dpcheck.report import figures, headlines, tables
from dpcheck.report.headlines import Headline
from dpcheck.verdicts import Point, Verdict

if TYPE_CHECKING:
    from dpcheck.engine.catalogue import Catalogue

PAIRS = ("Statement", "Variable", "Measured by, or why not")
HEAD = (
    "Term", "Variable", "Stated", "Measured", "Word", "R/bound at the end", "Certified ε", "Told apart from",
    "Not told apart from",
)  # fmt: skip
DECIDED = ("met", "steeper", "at most", "shallower")
"""Words that say how the risk falls against the bound."""
PRECISE = 0.05
"""The largest half-width of an exponent that counts as known."""
DRAWN = ("the start", "the best constant")
"""Outputs without data that a figure shows: the others run beside them."""

Row = Mapping[str, Any]


def rows_of(verdict: Verdict) -> list[Row]:
    """The rows of the scaling table that a verdict holds; none of a check that measures no exponent by rows."""
    return [row for row in verdict.rows if {"measured exponent", "word"} <= row.keys()]


def cells(row: Row) -> tuple[str, ...]:
    """A row in the words of the table."""
    part = "" if row["part"] == "all" else row["part"]
    series = row["series"].removeprefix(part).removeprefix(", ")
    apart = ", ".join(filter(None, (row["told apart by exponent"], _level(row["told apart by level"]))))
    window = " to ".join(map(tables.label, sorted(at(row, row[end]) for end in ("from", "to"))))
    return (
        ", ".join(filter(None, (part, series, f"over {_divisor(row)}" if row.get("against") == "explicit" else ""))),
        f"{tables.worded(row['variable'])} {window}",
        _exponent(row["stated exponent"]),
        f"{_exponent(row['measured exponent'])} ± {row['half-width']:.4f}",
        row["word"],
        f"{row['R/bound at the end']:.3g}",
        certified(row),
        apart,
        row["not told apart"],
    )


def at(row: Row, x: float) -> float:
    """Where a size stands on the axis of what its exponent is of, which for a failure probability is a logarithm."""
    return -math.log(x) if row["variable"].startswith("log(1/") else x


def certified(row: Row) -> str:
    """What the accountant certifies of the run."""
    value = row[CERTIFIED]
    return f"{value:.3g}" if value < float("inf") else "none"


def pairs_of(catalogue: Catalogue) -> list[RatePair]:
    """Every statement and variable of the catalogue, with the rows that measure it or the reason why none does."""
    return pairs(catalogue.claims.values(), catalogue.checks.values(), catalogue.unmeasured.values())


def measured_by(pair: RatePair) -> str:
    """What measures a pair, or why nothing does."""
    return ", ".join(pair.checks) or pair.reason or "not measured, and nobody has said why"


def account_of(pairs: Sequence[RatePair], verdicts: Mapping[str, Verdict]) -> str:
    """How many pairs there are, of how many nothing is known, and how many the stored verdicts decide, by check."""
    rows, reasons = (sum(bool(getattr(pair, kind)) for pair in pairs) for kind in ("checks", "reason"))
    known = sum(decided(pair, verdicts) for pair in pairs)
    return (
        f"{len(pairs)} pairs of a statement about risk and a variable of its order: {rows} have a row, {reasons} a "
        f"reason why nothing measures them, {len(pairs) - rows - reasons} neither; the stored rows decide {known} to "
        f"±{PRECISE:g} or better, {known / max(1, len(pairs)):.1%}"
    )


def decided(pair: RatePair, verdicts: Mapping[str, Verdict]) -> bool:
    """Whether some row, or all series of what only series vary in, say how the risk falls, and precisely."""
    for id in (id for id in pair.checks if id in verdicts):
        rows = rows_of(verdicts[id])
        precise = [row["word"] in DECIDED and row["half-width"] <= PRECISE for row in rows]
        own = [known for known, row in zip(precise, rows, strict=True) if row["variable"] == spelled(pair.variable)]
        if any(own) or (precise and not own and all(precise)):
            return True
    return False


def _level(names: str) -> str:
    return f"{names} (by level)" if names else ""


def _exponent(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".").replace("-", "−") if abs(value) >= 5e-5 else "0"


def caption(verdict: Verdict) -> str:
    """What is drawn, where, and on which instance."""
    rows = rows_of(verdict)
    word = "Measured" if verdict.failure_probability else "Computed"
    members = "; ".join(dict.fromkeys(row["worst member at the end"] for row in rows))
    spent = sorted({certified(row) for row in rows})
    divisor = " or ".join(dict.fromkeys(_divisor(row) for row in rows))
    dotted = "Dotted: wrong schedules. " if _mutants(rows) else ""
    where = "; ".join(dict.fromkeys(filter(None, map(_where, rows))))
    return (
        f"{word} R on the worst member of the class over {divisor} at each size, both axes logarithmic: flat where "
        f"the rate is met. Dashed: the start, which reads no data. {dotted}At the end the worst member "
        f"has {members}{f', at {where}' if where else ''}. Certified ε = {', '.join(spent)}."
    )


def _where(row: Row) -> str:
    """The fixed numbers of a row, and the trials of each size where any were drawn."""
    trials = f"{row['trials']:,} trials a size" if row.get("trials") else ""
    return ", ".join(filter(None, (row.get("where", ""), trials)))


def _divisor(row: Row) -> str:
    return "the explicit bound" if row.get("against") == "explicit" else "the order"


def draw(verdict: Verdict) -> Figure:
    """A panel a row: R/bound against the variable, controls dashed, wrong schedules dotted, the slope written in."""
    rows, named = rows_of(verdict), _by_series(verdict.points)
    with matplotlib.style.context(["default", figures.STYLE]):
        columns = min(2, len(rows))
        height = -(-len(rows) // columns)
        figure = Figure(figsize=(3.9 * columns + 1.2, 3.0 * height + 1.0), layout="constrained")
        grid = figure.subplots(height, columns, squeeze=False).ravel()
        wrong = _mutants(rows)
        for ax, row in zip(grid, rows, strict=False):
            _panel(ax, row, named, wrong, alone=len(rows) == 1)
        for ax in grid[len(rows) :]:
            ax.set_axis_off()
        figure.supylabel("R/bound", fontsize=10)
        handles = [*_legend(wrong), *_largest(list(zip(grid, rows, strict=False)), named)]
        figure.legend(handles=handles, loc="outside lower center", ncols=2)
        figures.title(figure, headline(rows))
    return figure


def headline(rows: Sequence[Row]) -> str:
    """Which exponents are met, or, of a single one, what was measured."""
    if len(rows) == 1:
        (row,) = rows
        stated, measured = _exponent(row["stated exponent"]), _exponent(row["measured exponent"])
        return (
            f"The exponent of {row['variable']} is {measured} ± {row['half-width']:.4f}, stated {stated}: {row['word']}"
        )
    words = Counter(row["word"] for row in rows)
    far = max(abs(row["measured exponent"] - row["stated exponent"]) for row in rows)
    counts = ", ".join(
        f"{word} {count}" for word, count in sorted(words.items(), key=lambda pair: (pair[0] == "met", pair))
    )
    return (
        f"Of {len(rows)} exponents: {counts}; none is farther than {math.ceil(far * 1e4) / 1e4:.4f} from what is stated"
    )


def _largest(panels: Sequence[tuple[Axes, Row]], named: Mapping[str, Sequence[Point]]) -> list[Line2D]:
    """A ring around the largest R/bound of the algorithm, and its entry of the legend."""
    own = [(ax, row, point) for ax, row in panels for point in named.get(row["series"] or "the algorithm", ())]
    if not own:
        return []
    ax, row, point = max(own, key=lambda each: each[2].value)
    axes, place = (row["variable"], "R/bound"), at(row, point.x)
    point = replace(point, x=place, series=row["series"])
    return figures.ring(ax, Headline("", point, f"largest: {tables.label(point.value)}, {headlines.at(point, axes)}"))


def _by_series(points: Sequence[Point]) -> dict[str, list[Point]]:
    by_series: dict[str, list[Point]] = {}
    for point in sorted(points, key=lambda p: p.x):
        by_series.setdefault(point.series, []).append(point)
    return by_series


def _mutants(rows: Sequence[Row]) -> list[str]:
    """Names of the wrong schedules of all rows, each once: every panel draws them in the colours of one legend."""
    kinds = ("told apart by exponent", "told apart by level", "not told apart")
    said = ", ".join(row[kind] for row in rows for kind in kinds)
    controls = (*DRAWN, "a random point", "the wrong end")
    return [name for name in dict.fromkeys(said.split(", ")) if name and name not in controls]


def _panel(ax: Axes, row: Row, named: Mapping[str, Sequence[Point]], wrong: Sequence[str], *, alone: bool) -> None:
    series = row["series"]

    def points(name: str) -> Sequence[Point]:
        return named.get(f"{name}, {series}" if series else name, ())

    own = named.get(series or "the algorithm", ())
    for place, name in enumerate(("the start", *wrong)):
        style = {"ls": "--", "color": figures.INK} if not place else {"ls": ":", "color": figures.PALETTE[place]}
        ax.plot([at(row, p.x) for p in points(name)], [p.value for p in points(name)], lw=1.3, **style)  # type: ignore[arg-type]
    x, y = np.array([at(row, p.x) for p in own]), np.array([p.value for p in own])
    low, high = (np.array([getattr(p, end) or p.value for p in own]) for end in ("lower", "upper"))
    ax.errorbar(x, y, yerr=[y - low, high - y], color=figures.PALETTE[0], marker=figures.MARKERS[0], lw=1.3)
    ax.set(xscale="log", yscale="log")
    lowest, highest = ax.get_ylim()
    ax.set_ylim(lowest / 2, highest * 4)
    figures.plain_axes(ax, 4)
    ax.set_xlabel(tables.lined(row["variable"]))
    exponent = (
        f"{_exponent(row['measured exponent'])} ± {row['half-width']:.4f}, stated {_exponent(row['stated exponent'])}"
    )
    said = "" if alone else f"{row['word']}: {exponent}"  # the figure's own title says it
    ax.set_title("\n".join(filter(None, (tables.lined(series), said))), loc="left")


def _legend(wrong: Sequence[str]) -> list[Line2D]:
    handles = [
        Line2D([], [], color=figures.PALETTE[0], marker=figures.MARKERS[0], label="the algorithm"),
        Line2D([], [], color=figures.INK, ls="--", label="the start"),
    ]
    for place, name in enumerate(wrong, 1):
        handles.append(Line2D([], [], color=figures.PALETTE[place], ls=":", label=tables.lined(name)))
    return handles
