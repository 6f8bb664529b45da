"""A rate row: one exponent of one statement, measured over a window and held against outputs that must not pass.

    @scaling(
        "tsybakov/thm-1@phases", variable="n", part="private", sizes=powers(2, range(40, 73, 8)),
        family=Family.of(tilt=geometric(1.0, 1 / 2, 48)), engine=Line(phases),
        mutants={"no localisation": one_phase},
    )
    def private_risk_on_the_line(*, n: int, tilt: float) -> Instance:
        \"\"\"The corrected Algorithm 3 on linear losses of every tilt.\"\"\"
        work = TwoPoint(D=2.0, G=1.0, rho=tilt)
        return Instance(localised(2.0), work, problem(work, 1e-9), n, {"n": n, "D": 2.0, …})

makes a check of kind "rate" with a cell a size. Nothing that the claim has is typed: which term leads, and with which
exponent, is computed from the order. At every size the worst member is searched for, anew for each mutant, and the
outputs that read no data are measured on the same family. The word that comes out is one of `slopes.MEANING`; a row
that a control passes is blind, whatever its slope.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import sympy as sp

from dpcheck.accounting import account
from dpcheck.checks import SIZES, BySize, Check, Context, Size, by_size, check
from dpcheck.claims import evaluate
from dpcheck.errors import InvalidInput
from dpcheck.harness.budget import CERTIFIED
from dpcheck.harness.scaling.controls import NAMES, controls, largest
from dpcheck.harness.scaling.engines import ROUNDS, Engine, Instance, Risk, SharedNoise
from dpcheck.harness.scaling.families import Family, Member, named
from dpcheck.harness.scaling.slopes import KEPT, MARGIN, MEANING, Rate, Series, Word, rate, spelled
from dpcheck.harness.scaling.terms import Part, leading
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Point, Verdict, combine, consistent, undecided, unfolded

Make = Callable[..., Instance]
"""(the variable, a member's parameters and the values of a series, by keyword) -> what is run there."""
Mutant = Callable[[Instance], Instance]
Against = Literal["order", "explicit"]
Cell = Mapping[str, Any]
WHOLE = 1e-3
"""Relative rounding of a number of the schedule up to which a size counts as whole."""
ALGORITHM = "the algorithm"


BATCH = 8
"""Members that run at once where they share the noise, before it is asked whether a milder one could be as bad."""

FAILURE_PROBABILITY = 2e-6
"""Of a row: a hundred of them leave most of what one run promises to everything else."""

SAID = ("n", "m", "d", "k", "theta", "epsilon", "delta")
"""Symbols whose values go into the caption of a figure, where they do not vary."""

FINALISTS = 4
"""Members that are run again at full length before one of them is measured, where risks are drawn."""


@dataclass(frozen=True)
class PilotedMember:
    """A member and the risk that a pilot gave it; whether that was drawn, and may have been lucky."""

    risk: float
    drawn: bool
    lucky: bool
    member: Member
    instance: Instance


@dataclass(frozen=True)
class Worst:
    """The worst member at one size."""

    risk: Risk
    instance: Instance
    member: Member
    ends: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """What is measured, and how it is judged: the `conclude` of a rate check that `scaling` makes.

    Attributes:
        order: without its hidden constant, or the label of the claim that has it.
        variable: which grows, or falls.
        part: of the bound, which leads over the window; a series that names its own "part" has another.
        against: "order", or the claim's "explicit" bound, whose logarithms an order Õ leaves out: R is divided by it.
        family: members, the same at every size.
        engine: gives the risk of an instance; `BySize` where a run of another size draws more.
        mutants: name -> the instance under a wrong schedule, which the row must tell apart.
        whole: (the variable, the values of a series) -> numbers that the schedule rounds, before it does.
    """

    make: Make
    order: str | sp.Expr
    variable: str
    part: Part
    family: Family
    engine: Engine | BySize
    mutants: Mapping[str, Mutant] = field(default_factory=dict)
    whole: Callable[..., Sequence[float]] | None = None
    against: Against = "order"

    def _bound(self, form: Against) -> sp.Expr:
        """Of the claim; its module is named, not imported, for a harness serves every catalogue."""
        if isinstance(self.order, sp.Expr):
            return self.order
        expression: sp.Expr = getattr(importlib.import_module("dpcheck.engine.statements"), f"{form}_of")(self.order)
        return expression

    def _stating(self) -> Against:
        """What the exponent is read from: the order; in δ, whose powers of log(1/δ) it hides, what R is divided by."""
        named = {symbol.name for symbol in self._bound(self.against).free_symbols}
        return self.against if self.variable == "delta" and "delta" in named else "order"

    def _explicit(self, one: Instance) -> float:
        """Its value: of numbers as floats, for NumPy has no logarithm of an integer beyond 64 bits."""
        return float(evaluate(self._bound("explicit"), {name: float(value) for name, value in one.at.items()}))

    # Measuring one size

    def measure(self, context: Context, cell: Cell) -> dict[str, Any]:
        """One size: the worst risk of the algorithm, of its mutants and of outputs that read no data."""
        part = unfolded(cell).get("part", self.part)
        cell = {name: value for name, value in unfolded(cell).items() if name != "part"}
        self._refuse_rounding(cell)
        engine: Engine = self.engine.at(context.size) if isinstance(self.engine, BySize) else self.engine
        worst = self._worst(context, engine, cell, lambda one: one)
        one = worst.instance
        term = leading(self._bound(self._stating()), part, self.variable, one.at)
        # A mutant has to show itself on one member, though it was lucky in its pilot: what is drawn is run afresh.
        wrong = {name: self._worst(context, engine, cell, mutant, 1).risk for name, mutant in self.mutants.items()}
        works = [self.make(**cell, **member).work for member in self.family]
        return {
            "risk": worst.risk.value,
            "error": worst.risk.error,
            "degrees": worst.risk.degrees,
            "bound": term.bound if self.against == "order" else self._explicit(one),
            "part": part,
            "term": str(term.expression),
            "exponent": term.exponent,
            "member": named(worst.member),
            "where": named({name: float(one.at[name]) for name in SAID if _stands(name, one.at, cell)}),
            "ends": ", ".join(worst.ends),
            "controls": controls(works, engine.quantile, mirrored=self.family.mirrored),
            "mutants": {name: [each.value, each.error, each.degrees] for name, each in wrong.items()},
            **_spent(one),
        }

    def _refuse_rounding(self, cell: Cell) -> None:
        for value in () if self.whole is None else self.whole(**cell):
            if abs(value - round(value)) > WHOLE * abs(value):
                raise InvalidInput(
                    f"the schedule rounds {value:.6g} at {named(cell)}, so a slope would measure the rounding; choose "
                    "sizes at which it is whole"
                )

    def _worst(self, context: Context, engine: Engine, cell: Cell, change: Mutant, finalists: int = FINALISTS) -> Worst:
        """The member of the largest risk by a pilot, on the grid and then between its values, and its risk afresh."""
        key, tried = (context.label, context.name, named(cell)), list[PilotedMember]()

        def pilot(members: Iterable[Member]) -> PilotedMember:
            """From the largest possible risk downwards, until no point of the domain could be as bad."""
            known = [each.member for each in tried]
            made = [(each, change(self.make(**cell, **each))) for each in members if each not in known]
            made.sort(key=lambda one: -largest(one[1].work))
            at_once = BATCH if isinstance(engine, SharedNoise) else 1
            for some in (made[i : i + at_once] for i in range(0, len(made), at_once)):
                if tried and largest(some[0][1].work) < max(each.risk for each in tried):
                    break
                instances = [instance for _, instance in some]
                if isinstance(engine, SharedNoise):
                    risks = engine.together(instances, context.seed, *key, pilot=True)
                else:
                    risks = [engine(instances[0], context.seed, *key, named(some[0][0]), pilot=True)]
                drawn = risks[0].degrees > 0
                # Where no member is lucky, none has to be run again.
                how = drawn, drawn and not isinstance(engine, SharedNoise)
                tried.extend(PilotedMember(risk.value, *how, *one) for one, risk in zip(some, risks, strict=True))
            return max(tried, key=lambda each: each.risk)

        def afresh(one: PilotedMember, purpose: str) -> Risk:
            return engine(one.instance, context.seed, *key, named(one.member), purpose)

        family, worst = self.family, pilot(self.family)
        ends = family.ends(worst.member)
        for _ in range(engine.rounds if isinstance(engine, SharedNoise) else ROUNDS):
            family = family.finer()
            worst = pilot(family.around(worst.member))
        if worst.lucky and finalists > 1:  # the best of many pilots was
            last = sorted(tried, key=lambda each: each.risk)[-finalists:]
            worst = max(last, key=lambda each: afresh(each, "final").value)
        risk = Risk(worst.risk) if finalists == 1 and not worst.drawn else afresh(worst, "measured")
        return Worst(risk, worst.instance, worst.member, ends)

    # Judging all sizes

    def __call__(self, rows: Sequence[tuple[Cell, Mapping[str, Any]]], failure_probability: float) -> Verdict:
        series: dict[str, list[tuple[Cell, Mapping[str, Any]]]] = {}
        for cell, measured in rows:
            name = named({key: value for key, value in unfolded(cell).items() if key != self.variable})
            series.setdefault(name, []).append((cell, measured))
        share = failure_probability / len(series)
        judged = [self.judge(name, members, share) for name, members in series.items()]
        worst = combine(judged, [{"series": name} if name else {} for name in series])
        return replace(worst, rows=tuple(row for verdict in judged for row in verdict.rows))

    def judge(self, name: str, rows: Sequence[tuple[Cell, Mapping[str, Any]]], failure_probability: float) -> Verdict:
        """One series: its word, and the row of the table."""
        rows = sorted(rows, key=lambda row: float(row[0][self.variable]))
        chosen_rows = [each for _, each in rows]
        at = [float(cell[self.variable]) for cell, _ in rows]

        def fitted(risks: Sequence[Sequence[float]]) -> Rate:
            values, errors, degrees = np.asarray(risks, dtype=float).T
            bounds = np.array([each["bound"] for each in chosen_rows], dtype=float)
            return rate(Series(self.variable, np.array(at), values, errors, degrees, bounds), failure_probability)

        algorithm = fitted([(each["risk"], each["error"], each["degrees"]) for each in chosen_rows])
        others = {control: fitted([(each["controls"][control], 0.0, 0) for each in chosen_rows]) for control in NAMES}
        others |= {mutant: fitted([each["mutants"][mutant] for each in chosen_rows]) for mutant in self.mutants}
        told = {other: _told(algorithm, its, other in self.mutants) for other, its in others.items()}
        edges = [f"{each['member']} at {x:.4g}" for x, each in zip(at, chosen_rows, strict=True) if each["ends"]]
        word: Word = "void" if edges else "blind" if not all(told.values()) else algorithm.word
        table = _table(self, name, at, chosen_rows, algorithm, word, told)
        points = [
            *_points(at, algorithm, name or ALGORITHM, [each["error"] / each["bound"] for each in chosen_rows]),
            *(point for other, its in others.items() for point in _points(at, its, _joined(other, name))),
        ]
        said = _sentence(self.variable, table, edges, told)
        fields: dict[str, Any] = {
            "failure_probability": failure_probability if algorithm.drawn else 0.0,
            "numbers": {**table, **{f"slope of {other}": its.sign * its.slope for other, its in others.items()}},
            "rows": (table,),
            "points": points,
            "axes": (self.variable, "R/bound"),
            "severity": algorithm.slope,
        }
        evidence = "sampled" if algorithm.drawn else "exact"
        if word in KEPT:
            least = min(others, key=lambda other: abs(others[other].slope - algorithm.slope))
            seen = f"R/bound rising faster than {self.variable}^{MARGIN:g}, and {least}"
            return consistent(said, evidence, notices=seen, **fields)  # type: ignore[arg-type]
        return undecided(said, evidence, **fields)  # type: ignore[arg-type]


def _stands(name: str, at: Mapping[str, float], cell: Cell) -> bool:
    """Whether a symbol has a value that the cell does not name already."""
    return name not in cell and not math.isnan(at.get(name, math.nan))


def _spent(one: Instance) -> dict[str, float]:
    """What the accountant certifies of the run on the worst member, and what it was asked for."""
    spent = account(one.algorithm.schedule(one.problem, one.n), one.n)
    if spent.stretches and all(math.isfinite(each.mu) and not each.failure for each in spent.stretches):
        # Of Gaussian releases the one with the largest mu decides; there may be one a phase, each slow to convert.
        spent = replace(spent, stretches=(max(spent.stretches, key=lambda each: each.mu),))
    asked = one.problem.privacy
    delta = asked.delta if isinstance(asked, ApproxDP) else spent.reference_delta
    promised = asked.epsilon if isinstance(asked, ApproxDP) else math.nan
    return {CERTIFIED: float(spent.epsilon(delta)), "at delta": delta, "promised epsilon": promised}


def _told(algorithm: Rate, other: Rate, mutant: bool) -> str:
    """By what an output is told from the algorithm: "exponent", of a mutant "level" too; "" where it is not.

    An output that reads no data has to fail the row: a level of its own is no evidence of a rate.
    """
    if algorithm.apart_by_exponent(other) and not other.passes(algorithm.word):
        return "exponent"
    return "level" if mutant and algorithm.apart_by_level(other) else ""


def _table(
    row: Row, name: str, at: Sequence[float], by_names: Sequence[Mapping[str, Any]], rate: Rate, word: Word,
    told: Mapping[str, str],
) -> dict[str, float | int | str | bool]:  # fmt: skip
    """The row of the scaling table; the exponent is the stated one plus the slope of R/bound."""
    last, spent = by_names[-1], max(by_names, key=lambda each: each[CERTIFIED])
    stated = sum(each["exponent"] for each in by_names) / len(by_names)
    apart = {kind: ", ".join(other for other, by in told.items() if by == kind) for kind in ("exponent", "level", "")}
    return {
        "series": name,
        "variable": spelled(row.variable),
        "from": at[0],
        "to": at[-1],
        "part": last["part"],
        "term": last["term"],
        "against": row.against,
        "stated exponent": stated,
        "measured exponent": stated + rate.sign * rate.slope,
        "half-width": rate.half,
        "word": word,
        "R/bound at the end": rate.ratios[-1],
        "worst member at the end": last["member"],
        "where": last["where"],
        "trials": last["degrees"] + 1 if last["degrees"] else 0,
        CERTIFIED: spent[CERTIFIED],
        "promised epsilon": spent["promised epsilon"],
        "at delta": spent["at delta"],
        "told apart by exponent": apart["exponent"],
        "told apart by level": apart["level"],
        "not told apart": apart[""],
    }


def _points(at: Sequence[float], rate: Rate, series: str, errors: Sequence[float] | None = None) -> list[Point]:
    """R/bound, with bars of one standard error."""
    return [
        Point(x=x, value=ratio, series=series)
        if errors is None or not errors[i]
        else Point(x=x, value=ratio, series=series, lower=max(0.0, ratio - errors[i]), upper=ratio + errors[i])
        for i, (x, ratio) in enumerate(zip(at, rate.ratios, strict=True))
    ]


def _joined(*names: str) -> str:
    return ", ".join(filter(None, names))


def _sentence(variable: str, table: Mapping[str, Any], edges: Sequence[str], told: Mapping[str, str]) -> str:
    word: Word = table["word"]
    where = f" ({table['series']})" if table["series"] else ""
    over = f"{variable} = " if table["variable"] != variable else ""
    said = (
        f"{word}{where}: R goes as {table['variable']}^({table['measured exponent']:.4f} ± {table['half-width']:.4f}) "
        f"from {over}{table['from']:.4g} to {table['to']:.4g}, where {table['stated exponent']:.4g} is stated; "
        f"{MEANING[word]}; R/bound is {table['R/bound at the end']:.3g} at the end"
    )
    if word == "void":
        return f"{said}: {edges[0]}; let the family reach further"
    if missed := [other for other, by in told.items() if not by]:
        return f"{said}: {', '.join(missed)}"
    return f"{said}; told apart from {', '.join(told)}"


def scaling(
    label: str,
    *,
    variable: str,
    part: Part = "all",
    sizes: Sequence[float] | BySize,
    family: Family,
    engine: Engine | BySize,
    mutants: Mapping[str, Mutant] | None = None,
    series: Mapping[str, Sequence[Any] | BySize] | None = None,
    whole: Callable[..., Sequence[float]] | None = None,
    also: Sequence[str] = (),
    against: Against = "order",
    since: Size = "smoke",
) -> Callable[[Make], Check]:
    """Makes a function of a size and a member the rate check of a statement; see the page of this module.

    Args:
        since: the smallest size of a run that measures the row; smaller ones skip it. "standard" where it takes more
            than five seconds.
        series: further axes, each combination of which is a row of its own.
        against: what R is divided by; "explicit" where the order hides logarithms that the bound with constants has.
        also: as for `check`.
    """

    def decorate(make: Make) -> Check:
        row = Row(make, label, variable, part, family, engine, mutants or {}, whole, against)

        @functools.wraps(make)
        def measured(context: Context, **cell: Any) -> dict[str, Any]:
            return row.measure(context, cell)

        skipped = SIZES[: SIZES.index(since)]
        each = sizes if isinstance(sizes, BySize) else by_size(sizes, sizes)
        grid = {**(series or {}), variable: replace(each, **dict.fromkeys(skipped, ())) if skipped else sizes}
        # A rate that is not decided is no surprise: the table says so.
        return check(
            label, "rate", grid=grid, conclude=row, expect=("consistent", "undecided"), also=also,
            failure_probability=FAILURE_PROBABILITY,
        )(measured)  # fmt: skip

    return decorate
