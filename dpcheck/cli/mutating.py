"""`dpcheck mutate`: which wrong formulas and algorithms some check notices."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcheck.cli.common import (
    Exit,
    also_option,
    catalogue_of,
    complain,
    count,
    echo_json,
    json_option,
    leave,
    root_option,
    table,
)
from dpcheck.errors import InvalidInput, UnknownLabel

if TYPE_CHECKING:
    from dpcheck.claims import Claim
    from dpcheck.engine.mutate.mutation import Trial
    from dpcheck.engine.mutate.trials import Trials

SHOWN = 60
"""Most survivors in print; --json has all."""


@click.command("mutate")
@click.argument("what", nargs=-1, metavar="[LABEL|PAPER]…")
@click.option("--family", "families", multiple=True, metavar="NAME", help="claim, code, null, seeded; repeatable.")
@click.option("--sample", type=click.IntRange(1), help="So many, drawn; null algorithms always.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Of the draw.")
@click.option("--size", type=click.Choice(("smoke", "standard")), default="smoke", show_default=True)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option(
    "--limit", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True,
    help="CPU seconds that the checks of one mutant may take; the dearest are left out beyond it.",
)  # fmt: skip
@click.option("--budget", type=click.FloatRange(0, min_open=True), help="Seconds after which no new mutant is begun.")
@click.option("--resolution", is_flag=True, help="By how much each bound may be wrong before a check notices.")
@click.option("--require", type=click.FloatRange(0, 1), help="Exit 1 when a smaller share is noticed.")
@root_option
@also_option
@json_option
def mutate_command(
    what: tuple[str, ...],
    families: tuple[str, ...],
    sample: int | None,
    seed: int,
    size: Any,
    workers: int,
    limit: float,
    budget: float | None,
    resolution: bool,
    require: float | None,
    root: str | None,
    also: tuple[str, ...],
    as_json: bool,
) -> None:
    """Makes wrong formulas and wrong algorithms by machine, and runs the checks that read them until one notices.

    \b
    claim  every constant doubled and halved, every exponent half more and half less, every term, logarithm and
           assumption dropped
    code   every number, operator, comparison, minimum, root, guard and statement of the algorithms changed
    null   algorithms that return their start, a constant, a random point or the wrong end
    seeded the bugs and the correct look-alikes that somebody wrote down, with `@seeded`

    \b
    measured     a run, an exact law or a certificate contradicts it
    derived      an executed proof no longer closes
    transcribed  a second typing disagrees
    crashed, refused, timeout   a check could not be carried out: no evidence
    survived     every check that reads it ends as before; unread: no check reads it

    What was found is kept in .dpcheck/mutants.jsonl: an interrupted run goes on, and only what depends on edited
    sources is tried again.
    """
    from dpcheck.engine.mutate import choice
    from dpcheck.engine.mutate.trials import Trials

    until = None if budget is None else time.monotonic() + budget
    catalogue = catalogue_of(root, also, with_mutants=not families or "seeded" in families)
    try:
        kinds = choice.checked_families(("claim",) if resolution else families)
        found = choice.sample(choice.mutations(catalogue, what, kinds), sample, seed)
    except (InvalidInput, UnknownLabel) as error:
        complain(str(error))
        leave(Exit.USAGE)
    checks = choice.checks_for(catalogue, what)
    kept = Path(catalogue.root) / ".dpcheck" / "mutants.jsonl"
    trials = Trials(
        catalogue, checks, size=size, workers=workers, folders=choice.folders(catalogue), kept=kept, limit=limit
    )
    trials.narrow(found)
    click.echo(f"{count(len(found), 'mutant')}, {count(len(trials.checks), 'check')} that may notice them", err=True)
    trials.trace(_telling("what checks read", len(trials.checks)), until=until)
    if resolution:
        _resolve(trials, [claim for claim in catalogue.claims.values() if choice.named(claim.label, what)], as_json)
        return
    told = _telling("mutants", len(found))
    results = []
    for trial in trials.run(found, until=until):
        results.append(trial)
        told(trial.key)
    if len(results) < len(found):
        click.echo(f"the budget is spent: {len(results):,} of {len(found):,} tried; the same command goes on", err=True)
    order = {mutation.key: place for place, mutation in enumerate(found)}
    results.sort(key=lambda trial: order[trial.key])
    if as_json:
        echo_json({"schema": 1, "size": size, "trials": [trial.plain() for trial in results]})
    else:
        _print(results)
    share = noticed_share(results)
    if require is not None and share < require:
        complain(f"{100 * share:.1f} % are noticed, and {100 * require:g} % are required")
        leave(Exit.UNEXPECTED)


def _resolve(trials: Trials, claims: list[Claim], as_json: bool) -> None:
    from dpcheck.engine.mutate.resolution import resolutions

    found = resolutions(trials, claims, _telling("factors tried", 8 * len(claims)))
    if as_json:
        echo_json({"schema": 1, "size": trials.size, "resolutions": [each.plain() for each in found]})
        return
    rows = [[each.label, each.relation, str(each), each.up_by or each.down_by] for each in found]
    table(rows, ["bound", "relation", "resolution", "by"])


def noticed_share(trials: Iterable[Trial]) -> float:
    """Of all that are not correct, the share that some check noticed; 1 of none."""
    from dpcheck.engine.mutate.mutation import CORRECT, NOTICED

    judged = [trial for trial in trials if trial.fate not in CORRECT]
    return sum(trial.fate in NOTICED for trial in judged) / len(judged) if judged else 1.0


def _telling(title: str, total: int) -> Any:
    done, spoken = 0, time.monotonic()

    def tell(name: str) -> None:
        nonlocal done, spoken
        done += 1
        if time.monotonic() - spoken > 10:
            spoken = time.monotonic()
            click.echo(f"{title}: {done:,} of {total:,}", err=True)

    return tell


def _print(trials: list[Trial]) -> None:
    from dpcheck.engine.mutate.mutation import FATES, MISSED
    from dpcheck.engine.mutate.trials import counted

    rows: list[list[str]] = []
    numbers: Mapping[tuple[str, str], Mapping[str, int]] = counted(trials)
    used = [fate for fate in FATES if any(fate in row for row in numbers.values())]
    for (paper, family), row in sorted(numbers.items()):
        of = [trial for trial in trials if (trial.paper, trial.family) == (paper, family)]
        rows.append(
            [paper or "shared", family, f"{sum(row.values()):,}", f"{100 * noticed_share(of):.0f} %"]
            + [f"{row.get(fate, 0):,}" for fate in used]
        )
    table(rows, ["paper", "family", "tried", "noticed", *used], right=range(2, 4 + len(used)))
    left = [trial for trial in trials if trial.fate in MISSED]
    for trial in left[:SHOWN]:
        click.echo(f"{trial.fate:<9} {trial.target}  {trial.operator}: {trial.said}")
    if len(left) > SHOWN:
        click.echo(f"and {len(left) - SHOWN:,} more; --json has all of them")


COMMANDS = (mutate_command,)
