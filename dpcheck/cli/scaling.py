"""`dpcheck scaling`: the exponents of a statement, measured now, beside those that it states."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcheck.cli import completion
from dpcheck.cli.common import (
    Exit,
    also_option,
    catalogue_of,
    complain,
    complain_of,
    count,
    echo_json,
    finish,
    json_option,
    lazily,
    leave,
    results_of,
    root_option,
    store_option,
    table,
)
from dpcheck.cli.running import SIZES, exit_code

if TYPE_CHECKING:
    from dpcheck.checks import Check
    from dpcheck.engine.catalogue import Catalogue
    from dpcheck.engine.run import RunResult


@click.command("scaling")
@click.argument("what", nargs=-1, metavar="[LABEL|PATH]…", shell_complete=completion.labels)
@click.option("--variable", help="Only exponents in this variable: n, d, epsilon, m, …")
@click.option(
    "--pairs",
    "as_pairs",
    is_flag=True,
    help="Measure nothing: list what measures each variable of each order.",
)
@click.option("--size", type=click.Choice(SIZES), default="smoke", show_default=True, help="How many sizes and trials.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Root of all randomness.")
@root_option
@also_option
@store_option
@json_option
def scaling_command(
    what: tuple[str, ...],
    variable: str | None,
    as_pairs: bool,
    size: Any,
    seed: int,
    root: str | None,
    also: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Measures the exponents of a statement: of the worst risk over a class, with its controls.

    Finished sizes are kept in the store, so that the same command goes on from where it stopped. A row that an output
    without data passes, or a wrong schedule, is blind and decides nothing.
    """
    if as_pairs:
        _show_pairs(catalogue_of(root, also), what, variable, store, as_json)
        return
    from dpcheck.cli.progress import Remaining
    from dpcheck.engine.fetching import refuse_unnamed
    from dpcheck.engine.run import run
    from dpcheck.engine.store import Store

    named = [*also, *(argument for argument in what if Path(argument).exists())]
    catalogue = lazily(root, named) if what else catalogue_of(root, named)
    for argument in what if not named else ():
        refuse_unnamed(catalogue, argument)
    checks = _rates(catalogue.select(what), variable)
    if what:
        catalogue.conform(checks)
        complain_of(catalogue)
    if not checks:
        asked = f" in {variable}" if variable else ""
        complain(
            f"no exponent{asked} is measured of {' '.join(what) or 'anything'}: no check of it is a row of `@scaling`; "
            "CONTRIBUTING.md, section 'Add an audit', says how to write one, and --pairs lists what is measured"
        )
        finish(catalogue, Exit.NOTHING)
    with Store(Path(store) if store else catalogue.layout.store) as opened:
        listener = Remaining("scaling", len(checks))
        try:
            result = run(catalogue, checks, opened, size=size, seed=seed, listener=listener)
        except KeyboardInterrupt:
            complain("stopped; finished sizes are kept, and the same command goes on from here")
            leave(Exit.INTERRUPTED)
    _show(result, as_json)
    finish(catalogue, exit_code(result))


def _rates(checks: Sequence[Check], variable: str | None) -> list[Check]:
    from dpcheck.harness.scaling import Row

    rows = [(check, check.conclude) for check in checks if isinstance(check.conclude, Row)]
    return [check for check, row in rows if variable in (None, row.variable)]


def _show_pairs(
    catalogue: Catalogue, what: Sequence[str], variable: str | None, store: str | None, as_json: bool
) -> None:
    """Of the statements of which `what` names a label or the paper; of all where it names nothing."""
    from dpcheck.report import scaling

    pairs = [
        pair
        for pair in scaling.pairs_of(catalogue)
        if variable in (None, pair.variable)
        and (not what or {pair.statement, pair.statement.partition("/")[0]} & {*what})
    ]
    if as_json:
        echo_json({"schema_version": 1, "pairs": [dataclasses.asdict(pair) for pair in pairs]})
        return
    table([(pair.statement, pair.variable, scaling.measured_by(pair)) for pair in pairs], scaling.PAIRS)
    results = results_of(catalogue, store, only={id for pair in pairs for id in pair.checks})
    verdicts = {id: chosen.record.verdict for id, chosen in results.items() if not chosen.stale}
    click.echo(f"  {scaling.account_of(pairs, verdicts)}")


def _show(result: RunResult, as_json: bool) -> None:
    from dpcheck.report import scaling

    pairs = [(record, row) for record in result.records for row in scaling.rows_of(record.verdict)]
    skipped = [record.check for record in result.records if record.verdict.outcome == "skipped"]
    if as_json:
        rows = [{"check": record.check, **row} for record, row in pairs]
        echo_json({"schema_version": 1, "rows": rows, "skipped": skipped})
        return
    head = ("Statement", *scaling.HEAD)
    table([(record.label, *scaling.cells(row)) for record, row in pairs], head)
    for failure in result.failures:
        complain(f"{failure.key.check}: {failure.message}")
    decided = sum(row["word"] in scaling.DECIDED for _, row in pairs)
    click.echo(f"  {decided} of {count(len(pairs), 'row')} decided, over their windows; a slope proves no O")
    if skipped:
        click.echo(f"  {count(len(skipped), 'check')} skipped; `--size standard` measures what takes too long here")


COMMANDS = (scaling_command,)
