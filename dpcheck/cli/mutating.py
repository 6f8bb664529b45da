"""`dpcheck mutate`: which wrong formulas and algorithms some check notices."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from dpcheck import foreign
from dpcheck.cli import completion
from dpcheck.cli.common import (
    Amount,
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
from dpcheck.cli.silence import doing
from dpcheck.errors import InvalidInput, UnknownLabel

if TYPE_CHECKING:
    from dpcheck.claims import Claim
    from dpcheck.engine.mutate.mutation import Mutation, Trial
    from dpcheck.engine.mutate.table import Rates, SampleOfMutants, Table
    from dpcheck.engine.mutate.trials import Trials

AT_A_TIME = 4
"""Mutants that are tried together, for each process, where not all are wanted."""
CHEAP = (0.1, 1.0, math.inf)
"""CPU seconds of the checks that are asked together: the dear ones only of what the cheap ones did not notice."""
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
    "--limit", type=Amount("seconds"), metavar="SECONDS", default=60.0, show_default=True,
    help="CPU seconds that the checks of one mutant may take; the dearest are left out beyond it.",
)  # fmt: skip
@click.option("--budget", type=Duration(), help="Time after which no new mutant is begun: 90, 90s, 5m or 1h.")
@click.option("--resolution", is_flag=True, help="By how much each bound may be wrong before a check notices.")
@click.option("--save", is_flag=True, help="Keep what was found in reports/mutants.jsonl, for `dpcheck report`.")
@click.option(
    "--changed", is_flag=True,
    help="Try what differs from the table kept there, and so many (--sample) that it says are noticed; exit 1 if not.",
)  # fmt: skip
@click.option("--rates", metavar="FILE", help="The shares that are noticed: --save writes them, --changed compares.")
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
    changed: bool,
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
    from dpcheck.engine.mutate import choice, gate
    from dpcheck.engine.mutate.arguments import Arguments
    from dpcheck.engine.mutate.mutation import FAMILIES
    from dpcheck.engine.mutate.table import NAME, Table
    from dpcheck.engine.mutate.trials import Trials

    if rates is not None and not (save or changed):
        raise InvalidInput("--rates goes with --save, which writes them, or --changed, which compares")
    kinds = choice.checked_families(("claim",) if resolution else families)
    known = _rates(rates) if changed or (rates and Path(rates).exists()) else {}
    until = None if budget is None else time.monotonic() + budget
    doing("mutate, collecting statements and checks")
    _refuse_unknown(what, root, also)
    catalogue = catalogue_of(root, also, with_mutants=save or not families or "seeded" in families)
    committed = catalogue.layout.committed.parent / NAME
    table = Table.read(committed)
    trials = Trials(
        catalogue,
        choice.checks_for(catalogue, what),
        size=size,
        workers=workers,
        folders=choice.folders(catalogue),
        kept=catalogue.layout.store.parent / NAME,
        limit=limit,
    )
    doing("mutate, making what is wrong")
    try:
        needed = None
        if changed and sample:
            needed = gate.claims(table, trials.states, catalogue.claims, size=sample, seed=seed)
        every = choice.mutations(catalogue, what, kinds, claims=needed, made=_making())
        for fault in Arguments(catalogue).stale() if "claim" in kinds else ():
            complain(fault)
    except (InvalidInput, UnknownLabel) as error:
        complain(str(error))
        leave(Exit.USAGE)
    if changed and not table.trials:
        complain(f"nothing is kept in {committed}; `make mutate-table`, or `dpcheck mutate --save`, fills it")
        leave(Exit.UNEXPECTED)
    if changed:
        _gate(trials, table, every, sample or len(every), seed, until, known, as_json)
        return
    drawn = choice.sample(every, sample, seed)
    trials.narrow(drawn)
    click.echo(f"{count(len(drawn), 'mutant')}, {count(len(trials.checks), 'check')} that may notice them", err=True)
    costs = {id: seen.seconds for id, seen in table.watched.items()}
    results: list[Trial] = []
    if resolution or (save and until is None):
        doing("mutate, running checks to see what they read")
        trials.trace(_telling("what checks read", len(trials.checks)), costs=costs)
    doing("mutate, trying what is wrong")
    if resolution:
        _resolve(table, trials, [c for c in catalogue.claims.values() if choice.named(c.label, what)], as_json)
    else:
        order = {mutation.key: place for place, mutation in enumerate(drawn)}
        quick = until is not None or sample is not None
        try:
            for trial in _tried(trials, table, choice.shuffled(drawn, seed), until, costs, save=save, quick=quick):
                results.append(trial)
        finally:  # of an interrupted one, what it found so far
            results.sort(key=lambda trial: order[trial.key])
            if len(results) < len(drawn):
                first = "" if save else ", those first that are likely noticed, so that their share is none of all"
                done = f"{len(results):,} of {len(drawn):,} tried{first}"
                click.echo(f"{done}; the same command goes on", err=True)
            if as_json:
                echo_json({"schema": 1, "size": size, "trials": [trial.plain() for trial in results]})
            elif results:
                _print(results)
    if save:
        whole = [paper for paper in catalogue.papers if not what or paper in what]
        tried = _whole(results, drawn)
        samples = choice.samples(every, tried, whole, None if sample is None else seed, size)
        others = [family for family in FAMILIES if family not in kinds]
        stood = [*every, *choice.mutations(catalogue, whole, others)] if whole else []
        _save(committed, table, trials, tried, stood, samples)
        if rates is not None and (fallen := _write_rates(Path(rates), table, known)):
            complain(f"{fallen}; {rates} is left as it is")
            leave(Exit.UNEXPECTED)
    if not results and not resolution:
        complain("no mutant was tried; give it a larger budget, or name what has mutants")
        leave(Exit.UNEXPECTED)


def _refuse_unknown(what: tuple[str, ...], root: str | None, also: tuple[str, ...]) -> None:
    """Ends where something was named that is nowhere, before all is imported; not beside papers of one's own."""
    from dpcheck.engine import index, layout
    from dpcheck.engine.fetching import beside, refuse_unnamed

    here = layout.find(root)
    if also or here.papers or here.installed:
        return
    known = index.algorithms() if what else []
    catalogue = beside(here, ())
    try:
        for name in what:
            refuse_unnamed(catalogue, name, known)
    except UnknownLabel as error:
        complain(str(error))
        leave(Exit.USAGE)


def _gate(
    trials: Trials,
    kept: Table,
    every: list[Mutation],
    size: int,
    seed: int,
    until: float | None,
    known: Rates,
    as_json: bool,
) -> None:
    """Exits 1 where something that was noticed is not any more, was not tried, or what is new falls below the rates."""
    from dpcheck.engine.mutate import gate

    click.echo(f"{count(len(every), 'mutant')} to draw from, {count(len(trials.checks), 'check')}", err=True)
    doing("mutate, trying what was noticed before, and what was edited")
    result = gate.passed(trials, kept, every, size=size, seed=seed, until=until)
    if as_json:
        echo_json({"schema": 1, "size": trials.size, "trials": [trial.plain() for trial in result.trials.values()]})
    else:
        _print(list(result.trials.values()))
    click.echo(result.said(), err=as_json)
    faults = result.faults(known)
    for fault in faults:
        complain(fault)
    if faults:
        leave(Exit.UNEXPECTED)


def _whole(results: list[Trial], drawn: list[Mutation]) -> list[Trial]:
    """The trials of targets of which all mutants were tried."""
    tried, wanted = (Counter((each.family, each.target) for each in things) for things in (results, drawn))
    return [trial for trial in results if tried[trial.family, trial.target] == wanted[trial.family, trial.target]]


def _tried(
    trials: Trials,
    kept: Table,
    mutations: list[Mutation],
    until: float | None,
    costs: Mapping[str, float],
    *,
    save: bool,
    quick: bool,
) -> Iterator[Trial]:
    """What becomes of them, as they end.

    What is kept is found out with all checks. Else each is tried first on the check that likely notices it; but of a
    null algorithm, unless it shall be `quick`, all are asked that judge an answer, for one says nothing of what others
    are blind to.
    """
    from dpcheck.engine.mutate import gate

    told = _telling("mutants", len(mutations))
    done = set[str]()
    asked = [] if save else [m for m in mutations if quick or m.family != "null"]
    left = (m for m in mutations if m.key not in done)
    few, rounds = until is not None or (quick and not save), CHEAP if quick and not save else (math.inf,)
    for trial in itertools.chain(
        _likely(trials, kept, asked, until, costs),
        _left(trials, left, until, costs, gate.noticing(kept), few=few, rounds=rounds),
    ):
        done.add(trial.key)
        yield trial
        told(trial.key)


def _likely(
    trials: Trials, kept: Table, mutations: list[Mutation], until: float | None, costs: Mapping[str, float]
) -> Iterator[Trial]:
    """Those that are noticed by the check which the table names for them, or for most others of their target: the
    cheapest first, a few at a time.
    """
    from dpcheck.engine.mutate import gate

    named = gate.likely(kept, mutations)
    able = sorted((m for m in mutations if m.key in named), key=lambda m: costs.get(named[m.key].by, math.inf))
    for some in _batches(able, AT_A_TIME * trials.workers):
        yield from trials.again(some, named, until=until)


def _left(
    trials: Trials,
    mutations: Iterable[Mutation],
    until: float | None,
    costs: Mapping[str, float],
    noticing: Mapping[str, str],
    *,
    few: bool,
    rounds: Sequence[float],
) -> Iterator[Trial]:
    """The others, on all checks. A few at a time those first of which no lines have to be watched: what their checks
    read is found out for these alone, or all the time would go into that. In each of the rounds they are tried on the
    checks of so many seconds, until one notices.
    """
    ordered = sorted(mutations, key=lambda mutation: few and bool(mutation.lines))
    for some in _batches(ordered, AT_A_TIME * trials.workers if few else max(1, len(ordered))):
        waiting = {mutation.key: mutation for mutation in some}
        for most in rounds:
            trials.narrow(waiting.values())
            trials.trace(until=until, costs=costs, most=most)
            for trial in trials.run(list(waiting.values()), until=until, earlier=noticing):
                del waiting[trial.key]
                yield trial


def _batches(mutations: list[Mutation], size: int) -> Iterator[list[Mutation]]:
    for first in range(0, len(mutations), size):
        yield mutations[first : first + size]


def _resolve(kept: Table, trials: Trials, claims: list[Claim], as_json: bool) -> None:
    """Finds out by how much each bound may be wrong, puts it into the table, and prints it."""
    from dpcheck.engine.mutate import rules
    from dpcheck.engine.mutate.resolution import resolutions

    told = _telling("factors tried", 8 * len(claims))
    figures = resolutions(trials, claims, told, earlier=kept.resolutions)
    idle = rules.idle(trials, claims)
    kept.resolutions |= {each.label: each for each in figures}
    kept.states |= {("claim", each.label): trials.states.of("claim", each.label) for each in figures}
    kept.idle = {id: labels for id, labels in kept.idle.items() if id not in trials.traces} | idle
    if as_json:
        plain = [each.plain() for each in figures]
        echo_json({"schema": 1, "size": trials.size, "resolutions": plain, "idle": idle})
        return
    rows = [[each.label, each.relation, str(each), each.up_by or each.down_by] for each in figures]
    table(rows, ["bound", "relation", "resolution", "by"])
    for check, labels in idle.items():
        click.echo(f"{check} reads {', '.join(labels)}, and says the same whatever that is")


def _save(
    path: Path, kept: Table, trials: Trials, results: list[Trial], stood: list[Mutation], samples: list[SampleOfMutants]
) -> None:
    """Adds what was found to the table, and forgets what it speaks of and is no more.

    Args:
        stood: mutants of whole papers, tried or not: only what changes from here on is new to `--changed`.
    """
    from dpcheck.engine.mutate.table import Watched

    drawn = {(each.paper, each.family): each for each in samples}
    kept.trials = {k: v for k, v in kept.trials.items() if (v[0].paper, v[0].family) not in drawn}
    kept.samples |= drawn
    kept.add(results)
    for id, seen in trials.traces.items():
        seconds = float(f"{seen.seconds:.1g}")
        kept.watched[id] = Watched(seen.reads, trials.states.of_check(id), seconds, seen.dear)
    targets = {(m.family, m.target) for m in stood} | {(trial.family, trial.target) for trial in results}
    kept.states |= {target: trials.states.of(*target) for target in targets}
    kept.forget(trials.catalogue.claims, trials.catalogue.checks)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(kept.text(), encoding="utf-8")
    click.echo(f"{count(sum(map(len, kept.trials.values())), 'mutant')} in {path}", err=True)


def _rates(path: str | None) -> Rates:
    """What --save wrote. Raises `InvalidInput`."""
    try:
        shares = {} if path is None else foreign.document(path)
    except InvalidInput as error:
        raise InvalidInput(
            f"no rates in {path}: {error}; `dpcheck mutate --save --rates {path}` writes them"
        ) from error
    families = [row for paper in shares.values() for row in paper.values()] if _of_objects(shares) else [None]
    if not all(isinstance(row, dict) and _is_share(row.get("noticed")) for row in families):
        raise InvalidInput(
            f"no rates in {path}, shares from 0 to 1; `dpcheck mutate --save --rates {path}` writes them"
        )
    return cast("Rates", shares)


def _of_objects(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, dict) for each in value.values())


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _write_rates(path: Path, measured: Table, known: Rates) -> str:
    """Writes the rates of a table, unless they fell below those that stood there: then it says where."""
    from dpcheck.engine.mutate.table import below, rates

    fallen = "; ".join(below(measured.all(), known))
    if not fallen:
        path.write_text(json.dumps(rates(measured), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return fallen


def _making() -> Any:
    """Tells at most every two seconds how many mutants there are so far."""
    spoken = time.monotonic()

    def tell(number: int) -> None:
        nonlocal spoken
        if time.monotonic() - spoken >= 2:
            spoken = time.monotonic()
            click.echo(f"{count(number, 'mutant')} made so far", err=True)

    return tell


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
        place = " ".join(filter(None, (trial.where, _plain_name(trial.target))))
        click.echo(f"{trial.fate:<9} {place}  {trial.operator}: {trial.said}")
        if trial.fate == "crashed":
            click.echo(f"{'':<9} {trial.by}: {trial.reason}")
    if len(left) > SHOWN:
        click.echo(f"and {len(left) - SHOWN:,} more; --json has all of them")
    blind = [(check, trial) for trial in trials for check in trial.blind]
    for check, trial in blind[:SHOWN]:
        click.echo(f"blind     {check}  to {_plain_name(trial.target)}: {trial.said}")


def _plain_name(target: str) -> str:
    """What is mutated, as its author calls it: a label, or the function of a module without where it was imported."""
    module, colon, function = target.partition(":")
    return function if colon and not module.startswith("dpcheck.") else target


COMMANDS = (mutate_command,)
