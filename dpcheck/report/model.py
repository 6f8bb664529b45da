"""What the report shows; `gathering` fills it once, pages and HTML only lay it out."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from dpcheck.checks import RUN_FAILURE_PROBABILITY, Check
from dpcheck.claims import Claim, Grade, Standing, split_label, standing
from dpcheck.derivations import Transcript
from dpcheck.engine.records import Record
from dpcheck.report import figures, tables
from dpcheck.report.comparisons import ContestView, FindingView, PanelView, SizeView
from dpcheck.verdicts import Witness

READINGS = ("as-printed", "literal", "corrected", "derived")
GRADES: tuple[Grade, ...] = ("refuted", "slip", "proof gap")
HOMES = ("algorithm", "bound", "derivation", "audit", "mutant")


@dataclass(frozen=True)
class Link:
    """A file of the tree; `href` is relative to the report and empty where the file lies outside of it."""

    kind: str
    text: str
    href: str


@dataclass(frozen=True)
class Result:
    """One check of a reading, and its record if there is one."""

    check: Check
    record: Record | None
    stale: bool
    link: Link
    claim: Claim | None = None
    earlier: Record | None = None
    """A stale record of a larger size, beside the fresh one."""

    @property
    def standing(self) -> Standing:
        """Whether it speaks of a printed statement, of a reading of one, or of one of our own."""
        return standing(self.check.label, self.claim)

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

    @cached_property
    def svg(self) -> str:
        """The figure, or "" when there is nothing to draw."""
        if self.record is None or not self.record.verdict.points:
            return ""
        verdict = self.record.verdict
        points, axes = verdict.points, verdict.axes
        if self.is_rate:
            points, axes = figures.against_order(points), (axes[0], f"{axes[1]} / order: flat where the rate is met")
        figure = figures.draw(points, axes, figures.Words(self._value, self._bound))
        return "" if figure is None else figures.svg(figure)

    @property
    def is_transcription(self) -> bool:
        """Whether it compares what dpcheck wrote down with the printed line, and nothing else."""
        return self.check.kind == "transcription"

    @property
    def is_rate(self) -> bool:
        """An order has no constant, so a figure shows the measurement over it."""
        return self.check.kind == "rate"

    @property
    def _value(self) -> str:
        assert self.record is not None
        return "measured" if self.record.verdict.evidence in ("sampled", "counted") else "computed"

    @property
    def _bound(self) -> str:
        explicit = self.claim is None or self.claim.explicit is not None or self.claim.order is None
        return "bound" if explicit else "order, its constant set to 1"

    @property
    def figure(self) -> str:
        return f"figures/{self.paper}/{self.stem}.svg" if self.svg else ""

    @property
    def caption(self) -> str:
        assert self.record is not None
        if self.is_rate:
            parts = [
                f"{self._value.capitalize()} values over the stated order at each point, with bars of one standard "
                "error: flat where the rate is met, falling where it is better, rising where it is missed. The height "
                "is the constant that the order hides."
            ]
        else:
            parts = [f"{self._value.capitalize()} values, with confidence bars where there are any."]
            if any(point.bound is not None for point in self.record.verdict.points):
                parts.append(f"Dashed: {self._bound}.")
        if missing := figures.hidden(self.record.verdict.points):
            parts.append(f"Not shown: {missing} points that are infinite, not a number, or too large to draw.")
        return " ".join(parts)

    @property
    def witness(self) -> Witness | None:
        return None if self.record is None else self.record.verdict.witness

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
        if self.record is None:
            return []
        return [(name, tables.number(value)) for name, value in self.record.verdict.numbers.items()]

    @property
    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Of a refutation over several cells: the table's head, and a row a cell."""
        rows = [] if self.record is None else self.record.verdict.rows
        head = list(dict.fromkeys(name for row in rows for name in row))
        return head, [[tables.number(row[name]) if name in row else "" for name in head] for row in rows]

    @property
    def sureness(self) -> str:
        """What kind of evidence, and how sure."""
        assert self.record is not None
        verdict = self.record.verdict
        if verdict.failure_probability > 0:
            return f"{verdict.evidence}, failure probability {tables.probability(verdict.failure_probability)}"
        return verdict.evidence

    @property
    def command(self) -> str:
        size = "standard" if self.record is None else self.record.size
        seed = 0 if self.record is None else self.record.seed
        return f"dpcheck run {shlex.quote(self.check.id)} --size {size}" + (f" --seed {seed}" if seed else "")


@dataclass(frozen=True)
class Reading:
    """One reading of a statement: its claim, its checks, or why it has none."""

    label: str
    claim: Claim | None
    results: tuple[Result, ...]
    unchecked: str
    siblings: bool
    """Whether other readings of the statement have checks."""

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
class Statement:
    """Everything under one label, all readings beside each other."""

    label: str
    title: str
    readings: tuple[Reading, ...]
    links: tuple[Link, ...]
    derivations: tuple[Transcript, ...] = ()
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
    def results(self) -> list[Result]:
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
    def witnesses(self) -> list[Result]:
        return [result for result in self.results if result.witness is not None]

    @property
    def outcomes(self) -> list[str]:
        return sorted({result.outcome for result in self.results} or {"no check"})


def _once(statements: Iterable[Statement]) -> list[Result]:
    """The results of statements, each check once, though several labels may show it."""
    return list({result.check.id: result for statement in statements for result in statement.results}.values())


def _counts(results: Iterable[Result]) -> dict[str, int]:
    """Outcomes of the checks that look at a statement; what only compares our transcription is counted apart."""
    return tables.counted(result.outcome for result in results if not result.is_transcription)


@dataclass(frozen=True)
class PaperView:
    """A paper and its statements in the natural order of their items."""

    key: str
    title: str
    authors: str
    reference: str
    statements: tuple[Statement, ...]

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

    @property
    def statements(self) -> list[Statement]:
        return [statement for paper in self.papers for statement in paper.statements]

    @property
    def results(self) -> list[Result]:
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
    def unexpected(self) -> list[Result]:
        return [result for result in self.results if result.unexpected]

    @property
    def stale(self) -> list[Result]:
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

    def graded(self, grade: str) -> list[Statement]:
        return [statement for statement in self.statements if statement.grade == grade]

    @property
    def ungraded(self) -> list[Result]:
        """Refuted, although no claim of the statement has a grade: a finding that nobody has judged yet.

        A statement of our own accuses nobody and has no grade.
        """
        found = [r for s in self.statements if not s.grade for r in s.results if r.outcome == "refuted"]
        return [result for result in found if result.standing != "ours"]
