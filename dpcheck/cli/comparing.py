"""`dpcheck phase-diagram` and `dpcheck compare-bounds`: which bound is best, in the limit and at real sizes."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcheck.cli.common import (
    WholeNumber,
    also_option,
    candidates,
    catalogue_of,
    echo_json,
    finish,
    json_option,
    no_such_algorithm,
    root_option,
    table,
)
from dpcheck.cli.planning import claims_of, figure, opened, setting_of, setting_options
from dpcheck.errors import InvalidInput

if TYPE_CHECKING:
    import sympy as sp

    from dpcheck.asymptotics import PhaseDiagram
    from dpcheck.asymptotics.linear import Affine
    from dpcheck.engine.comparison import ComparisonRow
    from dpcheck.engine.setting import Setting
    from dpcheck.panels import Panel

EXACT = re.compile(r"(?!.*(\*\*|[a-z)]\s*[.(]))[0-9a-z+\-*/(). ]+")
"""Sums, products and quotients of numbers and names: SymPy would evaluate a call or a tower of powers."""


@click.command("phase-diagram")
@click.argument("panels", nargs=-1)
@click.option("--axes", metavar="X=n^a,Y=n^-b", help="The two variables drawn, as powers of n.")
@click.option("--tie", "ties", multiple=True, metavar="NAME=n^x", help="How another variable grows: n^x, 1 or log(n).")
@click.option("--range", "spans", multiple=True, metavar="a=0,2", help="The range of an exponent.")
@click.option("--k", "k", metavar="K", help="Order of the moment bound, a fraction.")
@click.option("--theta", "theta", metavar="THETA", help="Exponent of the Tsybakov noise condition.")
@click.option("--p", "p", metavar="P", help="Exponent of the norm.")
@click.option("--svg", type=click.Path(path_type=Path), help="A folder for the figures, or a file .svg for one panel.")
@root_option
@also_option
@json_option
def phase_diagram_command(
    panels: tuple[str, ...],
    axes: str | None,
    ties: tuple[str, ...],
    spans: tuple[str, ...],
    svg: Path | None,
    root: str | None,
    also: tuple[str, ...],
    as_json: bool,
    **parameters: str | None,
) -> None:
    """Which upper bound of the catalogue is best where in a plane of exponents: exact polygons, panel by panel.

    PANELS are keys such as `pure-approximate`; all of them when none is named.
    """
    options: dict[str, Any] = {  # what is wrong here is told before anything is collected
        "axes": None if axes is None else dict(_power("--axes", part) for part in axes.split(",")),
        "ties": dict(_power("--tie", tie) for tie in ties),
        "ranges": dict(_span(span) for span in spans),
        "parameters": {_symbol(name): _exact(f"--{name}", value) for name, value in parameters.items() if value},
    }
    catalogue = catalogue_of(root, also)
    if unknown := [key for key in panels if key not in catalogue.panels]:
        raise InvalidInput(f"no panel is called {unknown[0]!r}; {candidates(unknown[0], catalogue.panels)}")
    chosen = [catalogue.panels[key] for key in panels or catalogue.panels]
    if svg is not None and svg.suffix == ".svg" and len(chosen) != 1:
        raise click.UsageError(f"{svg} is one file and there are {len(chosen)} panels; name one, or give a folder")
    rows = []
    for panel in chosen:
        diagram = panel.diagram(catalogue.claims, **options)
        rows.append(_as_dict(panel, diagram))
        if not as_json:
            _screen(panel, diagram)
        if svg is not None:
            _draw(panel, diagram, options["axes"], svg)
    if as_json:
        echo_json({"schema_version": 1, "panels": rows})
    finish(catalogue)


def _symbol(name: str) -> sp.Symbol:
    from dpcheck.asymptotics.orders import symbol

    return symbol(name.strip())


def _exact(option: str, text: str) -> Any:
    """An exact number or a form in exponents: `3/2`, `2a-1` is not one, `2*a-1` is."""
    import sympy as sp

    try:
        if not EXACT.fullmatch(text):
            raise ValueError(text)
        value = sp.nsimplify(sp.sympify(text, rational=True))
        if value.has(sp.nan, sp.zoo):
            raise ValueError(text)
    except (ValueError, SyntaxError, TypeError, AttributeError, sp.SympifyError) as error:
        raise click.BadParameter(f"{text!r} is no exponent such as 3/2 or 2*a", param_hint=option) from error
    return value


def _power(option: str, text: str) -> tuple[sp.Symbol, Any]:
    """`epsilon=n^-b` -> (epsilon, n**(-b)); also `=1` and `=log(n)`."""
    import sympy as sp

    from dpcheck.symbols import n

    name, equals, value = (part.strip() for part in text.partition("="))
    if not (equals and name):
        raise click.BadParameter(f"got {text!r}; write d=n^a", param_hint=option)
    if value in ("1", "log(n)"):
        return _symbol(name), sp.Integer(1) if value == "1" else sp.log(n)
    if not value.startswith("n^"):
        raise click.BadParameter(f"{name} must be a power of n such as n^a, got {value!r}", param_hint=option)
    return _symbol(name), n ** _exact(option, value[2:])


def _span(text: str) -> tuple[str, tuple[Any, Any]]:
    name, _, ends = text.partition("=")
    parts = ends.split(",")
    if len(parts) != 2:
        raise click.BadParameter(f"got {text!r}; write a=0,2", param_hint="--range")
    return name.strip(), (_exact("--range", parts[0]), _exact("--range", parts[1]))


def _screen(panel: Panel, diagram: PhaseDiagram) -> None:
    from dpcheck.panels import summary

    click.echo(f"{panel.title}  [{panel.key}]")
    click.echo(f"  {_typeset(diagram.regime)}")
    rows = [
        {
            **row,
            "where": ", ".join(f"{_form(each)} ≥ 0" for each in region.inequalities) or row["where"],
            "exponent": _form(region.exponent),
        }
        for region, row in zip(diagram.regions, diagram.table(), strict=True)
    ]
    names = [name for name in ("best", "where", "exponent", "logs", "ties", "gap") if any(r.get(name) for r in rows)]
    table([[row.get(name, "") for name in names] for row in rows], names)
    click.echo(f"  {summary(diagram, panel.versus)}")
    click.echo(f"  {panel.shows}\n")


def _typeset(regime: str) -> str:
    """`d = n**a, epsilon = n**(-b)` as d = n^a, ε = n^(−b)."""
    import sympy as sp

    from dpcheck.engine.drawn import inline

    text = re.sub(r"\b[a-z]\w*(?= = )", lambda name: inline(sp.Symbol(name[0])), regime)
    return re.sub(r"\*\*(\([^()]*\)|\w+)", lambda power: "^" + power[1].replace("-", "−"), text).replace("*", "·")


def _form(form: Affine) -> str:
    """An affine form of the exponents, what is added first: 1 − a − 2b, 3a/4 − 3/4."""
    terms = [
        (coefficient, name)
        for coefficient, name in zip((*form.coefficients, form.constant), (*form.names, ""), strict=True)
        if coefficient
    ]
    if not all(isinstance(coefficient, Fraction) for coefficient, _ in terms):
        return str(form)
    text = ""
    for coefficient, name in sorted(terms, key=lambda term: term[0] < 0):
        sign = "−" if coefficient < 0 else "+"
        text += f" {sign} " if text else sign.strip("+")
        size = abs(Fraction(coefficient))
        text += str(size) if not name else f"{'' if size.numerator == 1 else size.numerator}{name}"
        text += f"/{size.denominator}" * bool(name and size.denominator > 1)
    return text or "0"


def _as_dict(panel: Panel, diagram: PhaseDiagram) -> dict[str, Any]:
    from dpcheck.panels import summary

    return {
        "key": panel.key,
        "title": panel.title,
        "versus": panel.versus,
        "shows": panel.shows,
        "summary": summary(diagram, panel.versus),
        "claims": {entry.name: entry.label for entry in (*panel.upper, *panel.against)},
        **diagram.to_dict(),
    }


def _draw(panel: Panel, diagram: PhaseDiagram, axes: dict[Any, Any] | None, place: Path) -> None:
    from dpcheck.report.comparisons import PanelView

    text = PanelView(panel, diagram).drawn(axes or panel.axes)
    file = place if place.suffix == ".svg" else place / f"{panel.key}.svg"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InvalidInput(f"cannot write {file}: {error.strerror}") from error
    click.echo(f"wrote {file}", err=True)


# -- at real sizes -----------------------------------------------------------------------------------------------------


@click.command("compare-bounds")
@setting_options
@click.option("--measure", metavar="WORKLOAD", help="Measure the excess risk on a workload; its constants then count.")
@click.option("--trials", type=WholeNumber(), default=100, show_default=True, help="Trials of a measurement.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Of the measurement.")
@click.option("--only", multiple=True, metavar="LABEL", help="An algorithm to consider; may be repeated; default all.")
@root_option
@also_option
@json_option
def compare_bounds_command(
    measure: str | None,
    trials: int,
    seed: int,
    only: tuple[str, ...],
    root: str | None,
    also: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Every algorithm at one size: proved risk, privacy, cost, the smallest n; what to use, and what it costs.

    Workloads: mean (d = 1), quadratic, l1-signs, two-point, hard-heavy-tails.
    """
    from dpcheck.engine import comparison
    from dpcheck.engine.algorithms import algorithms

    if trials < 2:
        raise click.BadParameter(f"must be >= 2, got {trials}", param_hint="--trials")
    setting = setting_of(**options)
    workload = None if measure is None else comparison.workload(measure, setting)
    catalogue = opened(root, also)
    if unknown := [label for label in only if label not in algorithms()]:
        raise no_such_algorithm(unknown[0])
    claims = claims_of(catalogue, dict.fromkeys(label.partition("/")[0] for label in only or algorithms()))
    if workload is not None:
        setting = setting.on(workload)
    rows = comparison.compare(setting, claims, workload=workload, trials=trials, seed=seed, only=only or None)
    if as_json:
        said = comparison.advice(rows, setting)
        listed = [dataclasses.asdict(row) for row in rows]
        echo_json({"schema_version": 1, "trivial": setting.trivial, "advice": said, "algorithms": listed})
    else:
        _compared(rows, setting, measured=workload is not None)


def _compared(rows: Sequence[ComparisonRow], setting: Setting, *, measured: bool) -> None:
    from dpcheck.engine import comparison

    shown = [row for row in rows if row.status == "feasible" and (row.bound is not None or row.measured is not None)]
    head = ["algorithm", "risk, proved", "ε certified", "guarantee", "gradients", *(["risk, measured"] * measured), ""]
    table([_line(row, measured=measured) for row in shown], head, right=(1, 2, 4))
    for status, title in (("infeasible", "Infeasible here"), ("other", "Not for this setting")):
        chosen_rows = [row for row in rows if row.status == status]
        if chosen_rows:
            click.echo(f"\n{title}:")
        for row in chosen_rows:
            smallest = f"; smallest n: {row.smallest_n:,}" if row.smallest_n is not None else ""
            click.echo(f"  {row.label}: {row.why}{smallest}")
    silent = [row.label for row in rows if row.status == "feasible" and row not in shown]
    if silent:
        click.echo(f"\n{comparison.NO_BOUND[0].upper()}{comparison.NO_BOUND[1:]}: {', '.join(silent)}")
    click.echo(
        f"\nA constant output has excess risk at most D G_1 = {figure(setting.trivial)}; a bound above is vacuous."
    )
    click.echo(comparison.advice(rows, setting))


def _line(row: ComparisonRow, *, measured: bool) -> list[str]:
    from dpcheck.engine import comparison

    bound = "–" if row.bound is None else f"≤ {figure(row.bound)}" + (" vacuous" if row.vacuous else "")
    useful = f"useful from n = {row.useful_n:,}" if row.useful_n is not None else ""
    why = row.why if row.why != comparison.NO_BOUND else ""
    note = textwrap.shorten("; ".join(filter(None, (useful, why))), 100, placeholder=" …")
    cells = [row.label, bound, figure(row.epsilon), row.guarantee, figure(row.gradients)]
    if measured:
        cells.append("–" if row.measured is None else f"{row.measured.mean:.3g} ± {2 * row.measured.error:.1g}")
    return [*cells, note]


COMMANDS: tuple[click.Command, ...] = (phase_diagram_command, compare_bounds_command)
