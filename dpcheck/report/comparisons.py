"""What the report shows beside single statements: phase diagrams, upper against lower bounds, findings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dpcheck.derivations import Finding
from dpcheck.errors import DpcheckError
from dpcheck.panels import Contest, Panel, Size, summary
from dpcheck.report import phases, tables

if TYPE_CHECKING:
    from dpcheck.asymptotics import PhaseDiagram
    from dpcheck.engine.catalogue import Catalogue
    from dpcheck.engine.comparison import ComparisonRow
    from dpcheck.engine.records import Record


@dataclass(frozen=True)
class PanelView:
    """A phase diagram: what is compared, what it shows, the table of its regions, the figure."""

    panel: Panel
    diagram: PhaseDiagram

    @property
    def figure(self) -> str:
        return f"figures/comparisons/{self.panel.key}.svg"

    @property
    def summary(self) -> str:
        return summary(self.diagram, self.panel.versus)

    @cached_property
    def svg(self) -> str:
        return self.drawn(self.panel.axes)

    def drawn(self, axes: Mapping[Any, Any]) -> str:
        """The figure in these axes; its head says what is to be seen."""
        said = f"{self.panel.title}. {self.summary.partition(';')[0].removesuffix('.')}"
        return phases.svg(self.diagram, said, phases.axis_labels(list(axes.items())))


@dataclass(frozen=True)
class ContestView:
    """Best upper against best lower bound of a setting.

    Attributes:
        depends: what the ratio grows with, and how; empty when the bounds meet up to constants.
        measured: whether the risk on the hard instance lies between them, from the stored verdicts.
    """

    contest: Contest
    depends: tuple[str, ...]
    measured: str


@dataclass(frozen=True)
class SizeView:
    """Algorithms at real sizes: rows of texts, and what to use."""

    size: Size
    rows: tuple[tuple[str, ...], ...]
    advice: str


@dataclass(frozen=True)
class FindingView:
    """What the bounds imply and the papers do not say: the sentence, whether its derivation is complete, its checks."""

    finding: Finding
    derived: bool
    outcomes: str
    href: str


def panels(catalogue: Catalogue) -> tuple[tuple[PanelView, ...], list[str]]:
    """The phase diagrams, and why one could not be drawn."""
    panel_views, broken = [], []
    for key, panel in sorted(catalogue.panels.items()):
        try:
            panel_views.append(PanelView(panel, panel.diagram(catalogue.claims)))
        except DpcheckError as error:
            broken.append(f"the phase diagram {key}: {error}")
    return tuple(panel_views), broken


def contests(catalogue: Catalogue, by_check: Mapping[str, Record]) -> tuple[tuple[ContestView, ...], list[str]]:
    """The settings with a bound on both sides, and why one could not be compared."""
    contest_views, broken = [], []
    for key, contest in sorted(catalogue.contests.items()):
        try:
            grows = tuple(f"{', '.join(names)}: {how}" for names, how in contest.depends(catalogue.claims))
        except DpcheckError as error:
            broken.append(f"upper against lower bound, {key}: {error}")
        else:
            contest_views.append(ContestView(contest, grows, _between(contest, by_check)))
    return tuple(contest_views), broken


def sizes(catalogue: Catalogue) -> tuple[SizeView, ...]:
    """Real sizes, each with its algorithms: proved risk, privacy, gradients, or why not."""
    from dpcheck.engine import comparison, fetching
    from dpcheck.engine.algorithms import algorithms
    from dpcheck.engine.setting import Setting

    size_views = []
    for _, size in sorted(catalogue.sizes.items()):
        setting = Setting(**size.values)
        papers = {label.partition("/")[0] for label in size.only or algorithms()}
        claims = fetching.with_packaged(catalogue.claims.values(), papers)
        rows = comparison.compare(setting, claims, only=size.only)
        size_views.append(SizeView(size, tuple(map(_row, rows)), comparison.advice(rows, setting)))
    return tuple(size_views)


def _row(row: ComparisonRow) -> tuple[str, ...]:
    """Label, proved risk, guarantee, epsilon of the accountant, gradients, remark."""
    bound = "none" if row.bound is None else f"{row.bound:.3g}{', vacuous' if row.vacuous else ''}"
    useful = f"useful from n = {row.useful_n:,}" if row.useful_n is not None else ""
    smallest = f"smallest n: {row.smallest_n:,}" if row.smallest_n is not None else ""
    epsilon = "" if row.epsilon is None else "∞" if math.isinf(row.epsilon) else f"{row.epsilon:.3g}"
    gradients = "" if row.gradients is None else f"{row.gradients:,}"
    remark = "; ".join(filter(None, (useful, smallest, row.why)))
    words = {"infeasible": "infeasible", "other": "not for this setting"}
    guarantee = row.guarantee if row.status == "feasible" else ""
    return (row.label, words.get(row.status, bound), guarantee, epsilon, gradients, remark)


def findings(catalogue: Catalogue, by_check: Mapping[str, Record]) -> tuple[FindingView, ...]:
    """What the bounds imply beyond the papers, by label."""
    return tuple(_finding(catalogue, one, by_check) for _, one in sorted(catalogue.findings.items()))


def _between(contest: Contest, by_check: Mapping[str, Record]) -> str:
    """Upper and lower side, each from the checks that measure it."""
    sides = []
    for side, ids in (("below the upper bound", contest.upper_checks), ("above the lower bound", contest.lower_checks)):
        outcomes = [by_check[id].verdict.outcome.value if id in by_check else "not run" for id in ids]
        sides.append(f"{side}: {tables.summary(outcomes) or 'no check'}")
    return "; ".join(sides)


def _finding(catalogue: Catalogue, finding: Finding, by_check: Mapping[str, Record]) -> FindingView:
    steps = catalogue.card(finding.label)
    checks = [check.id for check in catalogue.checks.values() if check.label == finding.label]
    outcomes = [by_check[id].verdict.outcome.value if id in by_check else "not run" for id in checks]
    paper, _, item = finding.label.partition("/")
    href = f"{paper}.md#{item.replace('@', '-')}"
    return FindingView(finding, steps is not None and steps.complete, tables.summary(outcomes) or "no check", href)
