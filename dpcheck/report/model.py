"""What the report shows; `gathering` fills it once, pages and HTML only lay it out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from dpcheck.checks import RUN_FAILURE_PROBABILITY
from dpcheck.claims import Claim, Grade
from dpcheck.engine.cards import TranscriptCard
from dpcheck.harness.scaling import RatePair
from dpcheck.labels import split_label
from dpcheck.report import scaling, tables
from dpcheck.report.checked import CheckedReading, SourceLink
from dpcheck.report.comparisons import ContestView, FindingView, PanelView, SizeView
from dpcheck.report.mutants import NO_MUTANTS, Mutants
from dpcheck.report.prose import NO_PROSE, Prose

READINGS = ("as-printed", "literal", "corrected", "derived")
GRADES: tuple[Grade, ...] = ("refuted", "slip", "proof gap")
HOMES = ("algorithm", "bound", "derivation", "certificate", "audit", "mutant")


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
