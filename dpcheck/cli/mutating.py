"""`dpcheck mutate`: which wrong formulas and algorithms some check notices."""

from __future__ import annotations

import math
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from dpcheck import foreign
from dpcheck.cli import completion
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
    from dpcheck.engine.catalogue import Catalogue
    from dpcheck.engine.mutate.mutation import Mutation, Trial
    from dpcheck.engine.mutate.table import Table
    from dpcheck.engine.mutate.trials import Trials

SHOWN = 60
"""Most survivors in print; --json has all."""
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType):  # type: ignore[type-arg]
    """Seconds above 0, also written 90s, 5m or 1h."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value)
        number, unit = text.rstrip("smh"), text[len(text.rstrip("smh")) :]
        try:
            seconds = float(number) * UNITS[unit]
        except (ValueError, KeyError):
            seconds = math.nan
        if not 0 < seconds < math.inf:
            self.fail(f"got {text!r}; write seconds above 0, as 90, 90s, 5m or 1h", param, ctx)
        return seconds


@click.command("mutate")
@click.argument("what", nargs=-1, metavar="[LABEL|PAPER]…", shell_complete=completion.labels)
@click.option("--family", "families", multiple=True, metavar="NAME", help="claim, code, null, seeded; repeatable.")
@click.option("--sample", type=click.IntRange(1), help="So many, drawn; null algorithms always.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Of the draw.")
@click.option("--size", type=click.Choice(("smoke", "standard")), default="smoke", show_default=True)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option(
    "--limit", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True,
    help="CPU seconds that the checks of one mutant may take; the dearest are left out beyond it.",
)  # fmt: skip
@click.option("--budget", type=Duration(), help="Time after which no new mutant is begun: 90, 90s, 5m or 1h.")
@click.option("--resolution", is_flag=True, help="By how much each bound may be wrong before a check notices.")
@click.option("--save", is_flag=True, help="Keep what was found in reports/mutants.jsonl, for `dpcheck report`.")
@click.option("--quick", is_flag=True, help="Try what is kept there on the check that noticed it, and nothing else.")
@click.option("--rates", metavar="FILE", help="Exit 1 when less is noticed than the rates of this file make likely.")
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
    save: bool,
    quick: bool,
    rates: str | None,
    root: str | None,
    also: tuple[str, ...],
    as_json: bool,
) -> None:
    """Makes wrong formulas and wrong algorithms by machine, and runs the checks that read them until one notices.

    \b
    claim  every constant doubled and halved, every exponent half more and half less, every term, logarithm and
           assumption dropped
    code   every number, operator, comparison, minimum, root, guard and statement of the algorithms changed
    null   algorithms that return their start, a constant, a random point, the wrong end, the last iterate for the
           average, or what they make of zeros for data
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
    from dpcheck.engine.mutate.table import NAME, Table
    from dpcheck.engine.mutate.trials import Trials

    until = None if budget is None else time.monotonic() + budget
    catalogue = catalogue_of(root, also, with_mutants=not families or "seeded" in families)
    committed = catalogue.layout.committed.parent / NAME
    try:
        kinds = choice.checked_families(("claim",) if resolution else families)
        wanted = _rates(rates)
        found = choice.sample(choice.mutations(catalogue, what, kinds), sample, seed)
    except (InvalidInput, UnknownLabel) as error:
        complain(str(error))
        leave(Exit.USAGE)
    trials = Trials(
        catalogue,
        choice.checks_for(catalogue, what),
        size=size,
        workers=workers,
        folders=choice.folders(catalogue),
        kept=catalogue.layout.store.parent / NAME,
        limit=limit,
    )
    kept = Table.read(committed)
    if quick and not kept.trials:
        complain(f"nothing is kept in {committed} yet; `make mutate` fills it")
        leave(Exit.UNEXPECTED if wanted else Exit.EXPECTED)
    results = list(trials.again(found, kept.all(), until=until)) if quick else []
    known = {trial.key for trial in results}
    rest = [mutation for mutation in found if mutation.key not in known]
    trials.narrow(rest)
    click.echo(f"{count(len(found), 'mutant')}, {count(len(trials.checks), 'check')} that may notice them", err=True)
    trials.trace(_telling("what checks read", len(trials.checks)), until=until)
    if resolution:
        results = []
        _resolve(kept, trials, [c for c in catalogue.claims.values() if choice.named(c.label, what)], as_json)
    else:
        results += _tried(trials, rest, until)
        if len(results) < len(found):
            done = f"{len(results):,} of {len(found):,}"
            click.echo(f"the budget is spent: {done} tried; the same command goes on", err=True)
        order = {mutation.key: place for place, mutation in enumerate(found)}
        results.sort(key=lambda trial: order[trial.key])
        if as_json:
            echo_json({"schema": 1, "size": size, "trials": [trial.plain() for trial in results]})
        else:
            _print(results)
    if save:
        _save(committed, kept, catalogue, trials, _whole(results, found), sampled=sample is not None)
    if wanted and (said := _below(wanted, results)):
        complain(said)
        leave(Exit.UNEXPECTED)


def _whole(results: list[Trial], found: list[Mutation]) -> list[Trial]:
    """The trials of targets of which all mutants were tried."""
    tried, wanted = (Counter((each.family, each.target) for each in things) for things in (results, found))
    return [trial for trial in results if tried[trial.family, trial.target] == wanted[trial.family, trial.target]]


def _tried(trials: Trials, mutations: list[Mutation], until: float | None) -> list[Trial]:
    told, results = _telling("mutants", len(mutations)), []
    for trial in trials.run(mutations, until=until):
        results.append(trial)
        told(trial.key)
    return results


def _resolve(kept: Table, trials: Trials, claims: list[Claim], as_json: bool) -> None:
    """Finds out by how much each bound may be wrong, puts it into the table, and prints it."""
    from dpcheck.engine.mutate import rules
    from dpcheck.engine.mutate.resolution import resolutions

    found = resolutions(trials, claims, _telling("factors tried", 8 * len(claims)))
    idle = rules.idle(trials, claims)
    kept.resolutions |= {each.label: each for each in found}
    kept.states |= {each.label: trials.catalogue.digest(each.label) for each in found}
    kept.idle = {id: labels for id, labels in kept.idle.items() if id not in trials.traces} | idle
    if as_json:
        plain = [each.plain() for each in found]
        echo_json({"schema": 1, "size": trials.size, "resolutions": plain, "idle": idle})
        return
    rows = [[each.label, each.relation, str(each), each.up_by or each.down_by] for each in found]
    table(rows, ["bound", "relation", "resolution", "by"])
    for check, labels in idle.items():
        click.echo(f"{check} reads {', '.join(labels)}, and says the same whatever that is")


def _save(
    path: Path, kept: Table, catalogue: Catalogue, trials: Trials, results: list[Trial], *, sampled: bool
) -> None:
    """Adds what was found to the table, and forgets what it speaks of and is no more."""
    if sampled:
        gone = {(trial.family, trial.paper) for trial in results}
        kept.trials = {k: v for k, v in kept.trials.items() if (v[0].family, v[0].paper) not in gone}
    kept.add(results)
    kept.reads |= {id: trace.reads for id, trace in trials.traces.items()}
    kept.states |= {trial.target: catalogue.digest(trial.target) for trial in results if trial.family == "claim"}
    kept.forget(catalogue.claims, catalogue.checks)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(kept.text(), encoding="utf-8")
    click.echo(f"{count(sum(map(len, kept.trials.values())), 'mutant')} in {path}", err=True)


def _rates(path: str | None) -> dict[str, dict[str, float]]:
    """paper -> family -> the share that is noticed. Raises `InvalidInput`."""
    try:
        found = {} if path is None else foreign.document(path)
    except InvalidInput as error:
        raise InvalidInput(f"no rates in {path}: {error}; write {{paper: {{family: share}}}}") from error
    rows = [row for paper in found.values() for row in paper.values()] if _of_objects(found) else [None]
    if not all(isinstance(share, int | float) and 0 <= share <= 1 for share in rows):
        raise InvalidInput(f"no rates in {path}; write {{paper: {{family: share}}}}, shares from 0 to 1")
    return cast("dict[str, dict[str, float]]", found)


def _of_objects(found: Any) -> bool:
    return isinstance(found, dict) and all(isinstance(each, dict) for each in found.values())


def _below(rates: dict[str, dict[str, float]], results: list[Trial]) -> str:
    """Where less is noticed than is likely under the rates; "" where all is well."""
    from dpcheck.engine.mutate.table import counted, unlikely

    if not results:
        return "no mutant was tried within the budget; give it a larger one"
    low = [
        f"{paper} {family}: {said}"
        for (paper, family), row in counted(results).items()
        if (said := unlikely(row, rates.get(paper, {}).get(family, 0.0)))
    ]
    return "; ".join(low)


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
    from dpcheck.engine.mutate.mutation import MISSED
    from dpcheck.engine.mutate.table import rows

    head, lines = rows(trials)
    table(lines, head, right=range(2, len(head)))
    left = [trial for trial in trials if trial.fate in MISSED]
    for trial in left[:SHOWN]:
        place = " ".join(filter(None, (trial.where, trial.target)))
        click.echo(f"{trial.fate:<9} {place}  {trial.operator}: {trial.said}")
    if len(left) > SHOWN:
        click.echo(f"and {len(left) - SHOWN:,} more; --json has all of them")
    blind = [(check, trial) for trial in trials for check in trial.blind]
    for check, trial in blind[:SHOWN]:
        click.echo(f"blind     {check}  to {trial.target}: {trial.said}")


COMMANDS = (mutate_command,)
