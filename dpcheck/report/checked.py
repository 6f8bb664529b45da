"""One check of a reading and what its record says, as the report shows it: figure, caption, numbers, witness."""

from __future__ import annotations

import inspect
import json
import pathlib
import shlex
import textwrap
from dataclasses import dataclass
from functools import cached_property

from matplotlib.figure import Figure

from dpcheck.checks import Check
from dpcheck.claims import Claim
from dpcheck.engine import sources
from dpcheck.engine.records import Record
from dpcheck.harness import budget
from dpcheck.labels import standing
from dpcheck.report import figures, headlines, instances, scaling, tables
from dpcheck.verdicts import Witness

SURE = {"certified": "certified: a proof in exact rationals, checked anew"}
"""Kinds of evidence that need more than their own word."""


@dataclass(frozen=True)
class SourceLink:
    """A file of the tree; `href` is relative to the report and empty where the file lies outside of it."""

    kind: str
    text: str
    href: str


@dataclass(frozen=True)
class CheckedReading:
    """One check of a reading, and its record if there is one."""

    check: Check
    record: Record | None
    stale: bool
    link: SourceLink
    claim: Claim | None = None
    earlier: Record | None = None
    """A stale record of a larger size, beside the fresh one."""
    reached: str = ""
    """What the command that runs it again needs besides its label: " --also <folder>" for a paper of one's own."""

    @property
    def standing(self) -> str:
        """Whether it speaks of a printed statement, a reading, one of our own, or one of the user's."""
        return "yours" if self.reached else standing(self.check.label, self.claim)

    @property
    def source(self) -> str:
        """The function of the check as it is written; "" where a statement, a derivation or a certificate makes it."""
        function = inspect.unwrap(self.check.function)
        if self.link.kind != "audit" or sources.is_code(pathlib.Path(function.__code__.co_filename).resolve()):
            return ""
        return textwrap.dedent(inspect.getsource(function))

    @property
    def outcome(self) -> str:
        return "not run" if self.record is None else self.record.verdict.outcome.value

    @property
    def unexpected(self) -> bool:
        return self.record is not None and not self.record.expected

    @property
    def stem(self) -> str:
        """Name of its files: `thm-4-corrected-risk_at_scale`."""
        return f"{self.check.label.partition('/')[2].replace('@', '-')}-{self.check.name}"

    @property
    def paper(self) -> str:
        return self.check.label.partition("/")[0]

    @property
    def drawable(self) -> bool:
        """Whether there are points to draw; it may be that none of them is finite."""
        return self.record is not None and bool(self.record.verdict.points)

    @cached_property
    def drawing(self) -> Figure | None:
        """The figure, or None when there is nothing to draw."""
        if not self.drawable:
            return None
        assert self.record is not None
        verdict = self.record.verdict
        if self.exponents:
            return scaling.draw(verdict)
        points, axes = verdict.points, verdict.axes
        if self.over_order:
            flat = "" if self._forbids else ": flat where the rate is met"
            points, axes = figures.against_order(points), (axes[0], f"{axes[1]} / {self._divisor}{flat}")
        words = headlines.Words(self._value.lower(), self._bound, self.over_order, self._side, self._broken)
        return figures.draw(points, axes, words)

    @property
    def headline(self) -> str:
        """What the figure says at its head, on one line."""
        return "" if self.drawing is None else " ".join(self.drawing.get_suptitle().split())

    @cached_property
    def svg(self) -> str:
        """The figure as text, or "" when there is nothing to draw."""
        return "" if self.drawing is None else figures.svg(self.drawing)

    @property
    def exponents(self) -> list[tuple[str, ...]]:
        """Its rows of the scaling table, where it is one of measured exponents."""
        return [] if self.record is None else [scaling.cells(row) for row in scaling.rows_of(self.record.verdict)]

    @property
    def is_transcription(self) -> bool:
        """Whether it compares what dpcheck wrote down with the printed line, and nothing else."""
        return self.check.kind == "transcription"

    @property
    def over_order(self) -> bool:
        """An order has no constant, so the figure of a rate shows the measurement over it, wherever all have one."""
        assert self.record is not None
        return self._is_rate and all(point.bound for point in self.record.verdict.points)

    @property
    def _is_rate(self) -> bool:
        """Whether a slope was fitted, or was to be."""
        assert self.record is not None
        return self.check.kind == "rate" or "slope" in self.record.verdict.numbers

    @property
    def _value(self) -> str:
        """What the marks are: runs are measured, oracle calls counted, formulas and quadratures computed."""
        assert self.record is not None
        verdict = self.record.verdict
        if verdict.evidence == "counted":
            return "Counted"
        bars = [(point.value, point.upper) for point in verdict.points if point.upper is not None]
        exact = self._is_rate and all(up - value <= 1e-8 * abs(value) for value, up in bars)
        drawn = verdict.failure_probability > 0 or "standard error" in verdict.bars
        return "Measured" if drawn and not (bars and exact) else "Computed"

    @property
    def _bound(self) -> str:
        """What the dashes are: the check says it, or they are the bound of the claim that it looks at."""
        assert self.record is not None
        equal = self.claim is not None and self.claim.relation == "="
        other = "stated" if equal else "bound"
        usual = {"privacy": "claimed", "lower-bound": "lower bound"}.get(self.check.kind, other)
        return self.record.verdict.dashed or ("order, its constant set to 1" if self._is_rate else usual)

    @property
    def _forbids(self) -> bool:
        """Whether the statement is a lower bound."""
        return self.claim is not None and self.claim.relation == ">="

    @property
    def _side(self) -> headlines.Side:
        """Where the values may be, as seen from the dashes; "" where these are no bound, or an order's."""
        assert self.record is not None
        if self._bound.endswith(", at least"):
            return "at least"
        claimed = self.check.kind == "privacy" and self._bound.startswith("claimed")
        if self._is_rate or (self.record.verdict.dashed and not claimed):
            return "at least" if self.over_order and self._forbids else ""
        if self._forbids or self._bound == "lower bound":
            return "at least"
        return "" if self._bound == "stated" else "at most"

    @property
    def _broken(self) -> bool:
        return self.outcome == "refuted"

    @property
    def _divisor(self) -> str:
        """The bound of a quotient; whatever its constant is, the height tells it."""
        return "order" if "order" in self._bound else self._bound

    @property
    def figure(self) -> str:
        return f"figures/{self.paper}/{self.stem}.svg" if self.drawing is not None else ""

    @property
    def caption(self) -> str:
        assert self.record is not None
        assert self.drawing is not None
        if self.exponents:
            return scaling.caption(self.record.verdict)
        points = self.record.verdict.points
        over = f" over the {self._divisor} at each point" if self.over_order else ""
        parts = [f"{self._value} values{over}{self._bars}."]
        if self.over_order:
            parts.append(self._reading)
        elif any(point.bound is not None for point in points):
            parts.append(f"{figures.mark(self.drawing)}: {self._bound}.")
        parts.append(figures.scales(self.drawing))
        if missing := figures.hidden(points):
            parts.append(f"Not shown: {missing} points that are infinite, not a number, or too large to draw.")
        if certified := budget.caption(self.record.verdict):
            parts.append(certified)
        parts.append(instances.of(self.check, self.record))
        return " ".join(part for part in parts if part)

    @property
    def _bars(self) -> str:
        """What the bars are, where there are any that can be seen."""
        assert self.record is not None
        ends = [(p.value, end) for p in self.record.verdict.points for end in (p.lower, p.upper) if end is not None]
        if not any(abs(end - value) > 1e-6 * abs(value) for value, end in ends):
            return ""
        if (said := self.record.verdict.bars) or self._is_rate:
            return f", with bars {said or 'of one standard error'}"
        if self._value == "Counted":
            return ", the most of all runs, with bars down to the fewest"
        return ", with bars up to their upper confidence bounds"

    @property
    def _reading(self) -> str:
        """How to read a quotient."""
        if self._forbids:
            return "Flat where both grow alike; a lower bound forbids that it falls."
        height = " The height is the constant that the order hides." if "order" in self._bound else ""
        return f"Flat where the rate is met, falling where it is better, rising where it is missed.{height}"

    @property
    def witness(self) -> Witness | None:
        return None if self.record is None else self.record.verdict.witness

    @property
    def excess(self) -> float:
        """How far a refutation with a witness goes beyond what is claimed, as a quotient."""
        return 0.0 if self.record is None else tables.excess(self.record.verdict)

    @property
    def attested(self) -> bool:
        """The witness rests on counts of runs, which nobody can recompute: arithmetic is verified, counts are told."""
        return self.witness is not None and self.witness.kind.startswith("sampled.")

    @property
    def witness_file(self) -> str:
        return f"witnesses/{self.paper}/{self.stem}.json" if self.witness is not None else ""

    @property
    def witness_anchor(self) -> str:
        """Where the one file of the report quotes it."""
        return f"witness-{self.paper}-{self.stem}"

    @property
    def witness_text(self) -> str:
        """The witness as `Witness.save` writes it."""
        assert self.witness is not None
        return json.dumps(self.witness.to_dict(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    @property
    def numbers(self) -> list[tuple[str, str]]:
        if self.record is None or self.exponents:
            return []
        known = self.record.verdict.numbers
        return [(tables.named(name, known), tables.number(value, self._digits)) for name, value in known.items()]

    @property
    def _digits(self) -> int:
        """A measurement has fewer digits than a computation."""
        assert self.record is not None
        return 4 if self.record.verdict.evidence == "sampled" else 5

    @property
    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Of a refutation, or of runs with a budget, over several cells: the table's head, and a row a cell."""
        if self.exponents:
            return list(scaling.HEAD), [list(cells) for cells in self.exponents]
        rows = [] if self.record is None else self.record.verdict.rows
        head = list(dict.fromkeys(name for row in rows for name in row))
        cells = [[tables.number(row[name], self._digits) if name in row else "" for name in head] for row in rows]
        return [tables.named(name, head) for name in head], cells

    @property
    def sureness(self) -> str:
        """What kind of evidence, and how sure."""
        assert self.record is not None
        verdict = self.record.verdict
        if verdict.failure_probability > 0:
            return f"{verdict.evidence}, failure probability {tables.probability(verdict.failure_probability)}"
        return SURE.get(verdict.evidence, verdict.evidence)

    @property
    def command(self) -> str:
        size = "standard" if self.record is None else self.record.size
        seed = 0 if self.record is None else self.record.seed
        at = f" --seed {seed}" if seed else ""
        return f"dpcheck run {shlex.quote(self.check.id)}{self.reached} --size {size}{at}"
