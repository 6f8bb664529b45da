"""What the report shows; `gathering` fills it once, pages and HTML only lay it out."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from matplotlib.figure import Figure

from dpcheck.checks import RUN_FAILURE_PROBABILITY, Check
from dpcheck.claims import Claim, Grade
from dpcheck.engine.cards import TranscriptCard
from dpcheck.engine.records import Record
from dpcheck.harness import budget
from dpcheck.harness.scaling import RatePair
from dpcheck.labels import split_label, standing
from dpcheck.report import figures, instances, scaling, tables
from dpcheck.report.comparisons import ContestView, FindingView, PanelView, SizeView
from dpcheck.report.mutants import NO_MUTANTS, Mutants
from dpcheck.report.prose import NO_PROSE, Prose
from dpcheck.verdicts import Witness

READINGS = ("as-printed", "literal", "corrected", "derived")
GRADES: tuple[Grade, ...] = ("refuted", "slip", "proof gap")
SURE = {"certified": "certified: a proof in exact rationals, checked anew"}
"""Kinds of evidence that need more than their own word."""
HOMES = ("algorithm", "bound", "derivation", "certificate", "audit", "mutant")


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
        words = figures.Words(self._value.lower(), self._bound, ratio=self.over_order)
        return figures.draw(points, axes, words)

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


@dataclass(frozen=True)
class Reading:
    """One reading of a statement: its claim, its checks, or why it has none."""

    label: str
    claim: Claim | None
    results: tuple[CheckedReading, ...]
    unchecked: str
    siblings: bool  # whether other readings of the statement have checks
    noticed: str = ""
    """By how much its bound may be wrong before a check notices, and which of its mutants are noticed."""

    @property
    def name(self) -> str:
        return split_label(self.label)[2] or "as-printed"

    @property
    def anchor(self) -> str:
        return self.label.partition("/")[2].replace("@", "-")

    @property
    def status(self) -> str:
        return tables.summary(result.outcome for result in self.results) or "no check"


@dataclass(frozen=True)
class StatementPage:
    """Everything under one label, all readings beside each other."""

    label: str
    title: str
    readings: tuple[Reading, ...]
    links: tuple[SourceLink, ...]
    derivations: tuple[TranscriptCard, ...] = ()
    underived: str = ""
    """Why there is no derivation, where that is said."""

    @property
    def paper(self) -> str:
        return self.label.partition("/")[0]

    @property
    def item(self) -> str:
        return self.label.partition("/")[2]

    @property
    def claims(self) -> list[Claim]:
        return [reading.claim for reading in self.readings if reading.claim is not None]

    @property
    def results(self) -> list[CheckedReading]:
        return [result for reading in self.readings for result in reading.results]

    @property
    def grade(self) -> str:
        """The worst grade of its readings; "suspected" in place of "refuted" until a stored verdict has its witness."""
        worst: str = next((grade for grade in GRADES if grade in {claim.grade for claim in self.claims}), "")
        proved = any(result.outcome == "refuted" for result in self.witnesses)
        return "suspected" if worst == "refuted" and not proved else worst

    @property
    def remark(self) -> str:
        """The remark that goes with the grade, else the first one."""
        worst = "refuted" if self.grade == "suspected" else self.grade
        graded = [claim.remark for claim in self.claims if claim.remark and claim.grade == worst]
        return next(iter(graded), next((claim.remark for claim in self.claims if claim.remark), ""))

    @property
    def witnesses(self) -> list[CheckedReading]:
        return [result for result in self.results if result.witness is not None]

    @property
    def excess(self) -> float:
        """How far the worst refutation goes beyond what is claimed, as a quotient; 0 where none has a witness."""
        return max((result.excess for result in self.witnesses), default=0.0)

    @property
    def outcomes(self) -> list[str]:
        return sorted({result.outcome for result in self.results} or {"no check"})


def _once(statements: Iterable[StatementPage]) -> list[CheckedReading]:
    """The results of statements, each check once, though several labels may show it."""
    return list({result.check.id: result for statement in statements for result in statement.results}.values())


def _counts(results: Iterable[CheckedReading]) -> dict[str, int]:
    """Outcomes of the checks that look at a statement; what only compares our transcription is counted apart."""
    return tables.counted(result.outcome for result in results if not result.is_transcription)


@dataclass(frozen=True)
class PaperView:
    """A paper and its statements in the natural order of their items."""

    key: str
    title: str
    authors: str
    reference: str
    statements: tuple[StatementPage, ...]
    mutants: Mutants = NO_MUTANTS
    prose: Prose = NO_PROSE

    @property
    def counts(self) -> dict[str, int]:
        return _counts(_once(self.statements))

    @property
    def transcriptions(self) -> int:
        return sum(result.is_transcription for result in _once(self.statements))

    @property
    def refutations(self) -> str:
        """What was refuted, by kind."""
        return tables.refutations(r.standing for r in _once(self.statements) if r.outcome == "refuted")

    @property
    def bare(self) -> int:
        """Statements without any check."""
        return sum(not statement.results for statement in self.statements)


@dataclass(frozen=True)
class Report:
    """All papers, and what is true of the run as a whole."""

    papers: tuple[PaperView, ...]
    errors: tuple[str, ...]
    orphans: int
    """Records of checks that no longer exist."""
    folder: str
    """The report's own folder, as a command run in the root names it."""
    panels: tuple[PanelView, ...] = ()
    contests: tuple[ContestView, ...] = ()
    sizes: tuple[SizeView, ...] = ()
    findings: tuple[FindingView, ...] = ()
    pairs: tuple[RatePair, ...] = ()

    @property
    def unmeasured(self) -> list[tuple[str, str, str]]:
        """Statement, variables and reason of the exponents that no row measures, one reason a line."""
        by_pair: dict[tuple[str, str], list[str]] = {}
        for pair in self.pairs:
            if not pair.checks:
                by_pair.setdefault((pair.statement, scaling.measured_by(pair)), []).append(pair.variable)
        return [(statement, ", ".join(names), reason) for (statement, reason), names in by_pair.items()]

    @property
    def account_of_pairs(self) -> str:
        results = [result for result in self.results if result.record is not None]
        return scaling.account_of(self.pairs, {r.check.id: r.record.verdict for r in results if r.record is not None})

    @property
    def statements(self) -> list[StatementPage]:
        return [statement for paper in self.papers for statement in paper.statements]

    @property
    def results(self) -> list[CheckedReading]:
        """Every check once, though it may be shown under several statements."""
        return _once(self.statements)

    @property
    def refutations(self) -> str:
        """What was refuted, by kind."""
        return tables.refutations(r.standing for r in self.results if r.outcome == "refuted")

    @property
    def counts(self) -> dict[str, int]:
        return _counts(self.results)

    @property
    def transcriptions(self) -> int:
        return sum(result.is_transcription for result in self.results)

    @property
    def exponents(self) -> list[tuple[CheckedReading, tuple[str, ...]]]:
        """The scaling table: every exponent that was measured, and its check; what is not met first."""
        rows = [(result, cells) for result in self.results for cells in result.exponents]
        return sorted(rows, key=lambda row: row[1][scaling.HEAD.index("Word")] == "met")

    @property
    def decided(self) -> int:
        """Exponents of which something can be said."""
        return sum(cells[scaling.HEAD.index("Word")] in scaling.DECIDED for _, cells in self.exponents)

    @property
    def sampled(self) -> int:
        return sum(r.record is not None and r.record.verdict.failure_probability > 0 for r in self.results)

    @property
    def failure_probability(self) -> str:
        """Union bound over every verdict shown."""
        return tables.probability(
            math.fsum(r.record.verdict.failure_probability for r in self.results if r.record is not None)
        )

    @property
    def unkept(self) -> bool:
        """Whether that is more than one run promises."""
        spent = math.fsum(r.record.verdict.failure_probability for r in self.results if r.record is not None)
        return spent > RUN_FAILURE_PROBABILITY * (1 + 1e-9)

    @property
    def unexpected(self) -> list[CheckedReading]:
        return [result for result in self.results if result.unexpected]

    @property
    def stale(self) -> list[CheckedReading]:
        return [result for result in self.results if result.stale]

    @property
    def runs(self) -> list[tuple[str, str, str, int]]:
        """(size, seed, versions, verdicts) of every batch of records that were made alike."""
        made: dict[tuple[str, int, str], int] = {}
        for result in self.results:
            if (record := result.record) is not None:
                versions = ", ".join(f"{name} {version}" for name, version in sorted(record.versions.items()))
                key = (record.size, record.seed, versions)
                made[key] = made.get(key, 0) + 1
        return [(size, str(seed), versions, count) for (size, seed, versions), count in sorted(made.items())]

    def graded(self, grade: str) -> list[StatementPage]:
        """Those of a grade, first what is refuted by most."""
        return sorted((s for s in self.statements if s.grade == grade), key=lambda s: -s.excess)

    @property
    def ungraded(self) -> list[CheckedReading]:
        """Refuted, although no claim of the statement has a grade: a finding that nobody has judged yet.

        A statement of our own accuses nobody and has no grade.
        """
        chosen_statements = [r for s in self.statements if not s.grade for r in s.results if r.outcome == "refuted"]
        return [result for result in chosen_statements if result.standing != "ours"]
