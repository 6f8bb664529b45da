"""`dpcheck run`, `merge`, `compare` and `report`: results made, brought together, held against others, and shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from dpcheck.cli import completion
from dpcheck.cli.common import (
    Amount,
    Exit,
    also_option,
    catalogue_of,
    collect_as_ever,
    complain,
    complain_of,
    count,
    echo_json,
    finish,
    json_option,
    kinds_of_refutation,
    lazily,
    leave,
    no_such_paper,
    results_of,
    root_option,
    shown,
    store_option,
    table,
    witness_path,
)
from dpcheck.cli.silence import doing
from dpcheck.engine.costs import read as read_costs
from dpcheck.errors import InvalidInput

if TYPE_CHECKING:
    from dpcheck.checks import Check, Size
    from dpcheck.engine.catalogue import Catalogue
    from dpcheck.engine.merging import Merged
    from dpcheck.engine.records import Record
    from dpcheck.engine.run import Backend, RunResult

SIZES = ("smoke", "standard", "full")
PARTS = 1_000_000
"""Most shards of a run: each is dealt in memory."""
ROWS = 40
"""Most lines of the final table."""
_RANK = ("error", "differs", "refuted", "undecided", "consistent", "holds", "skipped")


@click.command("run")
@click.argument("what", nargs=-1, metavar="[LABEL|PATH]…", shell_complete=completion.labels)
@click.option("--size", type=click.Choice(SIZES), default="smoke", show_default=True, help="How much to sample.")
@click.option(
    "--workers",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Processes; results are the same. 0: in the command's own, for a debugger.",
)
@click.option("--timeout", type=Amount("seconds"), metavar="SECONDS", help="Most time of one cell.")
@click.option("--memory", type=Amount("GiB"), metavar="GIB", help="Most memory of a process; default: all.")
@click.option("--backend", type=click.Choice(["local", "dask"]), default="local", show_default=True)
@click.option("--scheduler", metavar="ADDRESS", help="Of the Dask cluster: tcp://host:8786.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Root of all randomness.")
@click.option("--shard", metavar="I/K", help="Only the i-th of k parts of the work; `dpcheck merge` joins the stores.")
@click.option(
    "--limit", type=Amount("seconds"), metavar="SECONDS",
    help="Leave out the checks that are on record to take longer at this size.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Exit 4 when a verdict is undecided, even if that was expected.")
@root_option
@also_option
@store_option
@json_option
def run_command(
    what: tuple[str, ...],
    size: Any,
    workers: int,
    timeout: float | None,
    memory: float | None,
    backend: str,
    scheduler: str | None,
    seed: int,
    shard: str | None,
    limit: float | None,
    strict: bool,
    root: str | None,
    also: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Runs checks: of a paper, of a label with all its readings, of a file or folder (your own as well), or all.

    Finished cells are kept in the store: an interrupted run goes on where it stopped, and only what depends on edited
    sources is computed again.
    """
    from dpcheck.cli.progress import progress
    from dpcheck.engine.fetching import refuse_unnamed
    from dpcheck.engine.run import CheckRunner
    from dpcheck.engine.store import Store

    part = _part(shard)
    computing = _backend(workers, timeout, memory, backend, scheduler)
    for argument in what:
        if Path(argument).suffix[1:].isalpha() and not Path(argument).exists() and "::" not in argument:
            raise InvalidInput(
                f"there is no file {argument!r}; `dpcheck run` takes Python files and folders of checks, labels such "
                "as l1_geometry/thm-4, and papers: `dpcheck list` shows them"
            )
    given = (*also, *(argument for argument in what if Path(argument).exists()))
    named = list({Path(path).resolve(): path for path in given}.values())
    catalogue = lazily(root, named) if what else catalogue_of(root, named)
    for argument in what if not named else ():
        refuse_unnamed(catalogue, argument)
    checks = catalogue.select(what)
    if what:
        catalogue.conform(checks)
        complain_of(catalogue)
    if limit is not None:
        checks = _within(limit, checks, catalogue, size)
    if not checks:
        complain(f"nothing to run: no check in {' '.join(what) or catalogue.root}; `dpcheck list` shows what has one")
        finish(catalogue, Exit.NOTHING)
    path = Path(store) if store else catalogue.layout.store
    title = " ".join(dict.fromkeys(check.label.partition("/")[0] for check in checks))
    with Store(path) as opened, progress(title, len(checks)) as listener:
        runner = CheckRunner(
            catalogue, checks, opened, size=size, seed=seed, backend=computing, shard=part, listener=listener
        )
        collect_as_ever()
        try:
            result = runner.run()
        except KeyboardInterrupt:
            complain("stopped; finished cells are kept, and the same command goes on from here")
            leave(Exit.INTERRUPTED)
    _witnesses(result, path)
    _remarks(result)
    code = exit_code(result, strict=strict)
    if as_json:
        echo_json(_as_dict(result, size, seed, code))
    else:
        _table(result)
        _summary(result, seed, path, catalogue)
    finish(catalogue, code)


def _backend(
    workers: int, timeout: float | None, memory: float | None, backend: str, scheduler: str | None
) -> Backend | None:
    """What computes the cells; None computes them in this process."""
    if (backend == "dask") != (scheduler is not None):
        raise click.UsageError("--backend dask and --scheduler ADDRESS go together: give both, or neither")
    if scheduler is not None:
        from dpcheck.engine.cluster import Cluster

        if timeout or memory:
            raise click.UsageError("--timeout and --memory limit processes of this machine, not of a cluster")
        return Cluster(scheduler)
    if not workers:
        if timeout or memory:
            raise click.UsageError("--timeout and --memory need processes to limit: give --workers 1 or more")
        return None
    from dpcheck.engine.workers import Workers

    return Workers(workers, seconds=timeout, memory=int(memory * 2**30) if memory else None)


def _within(limit: float, checks: list[Check], catalogue: Catalogue, size: str) -> list[Check]:
    """The checks that take at most so many seconds by what is on record, and a line on the others."""
    costs = read_costs(catalogue.layout.committed, size)
    quick = [check for check in checks if costs.get(check.id, 0.0) <= limit]
    if dear := len(checks) - len(quick):
        complain(f"{count(dear, 'check')} left out that took more than {limit:g} s each; without --limit they run too")
    return quick


def _part(shard: str | None) -> tuple[int, int]:
    if shard is None:
        return 1, 1
    first, _, second = shard.partition("/")
    if not (first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second) <= PARTS):
        cure = f"write --shard 2/8 for the second of eight parts, of at most {PARTS:,} parts"
        raise click.BadParameter(f"got {shard!r}; {cure}", param_hint="--shard")
    return int(first), int(second)


def exit_code(result: RunResult, *, strict: bool = False) -> Exit:
    """3 before 7 before 1 before 4 before 0."""
    if result.failures:
        return Exit.INTERNAL
    if result.unkept:
        return Exit.UNKEPT
    if result.unexpected:
        return Exit.UNEXPECTED
    undecided = any(record.verdict.outcome.value == "undecided" for record in result.records)
    return Exit.UNDECIDED if strict and undecided else Exit.EXPECTED


def _witnesses(result: RunResult, store: Path) -> None:
    for record in result.records:
        if record.verdict.witness is not None:
            record.verdict.witness.save(witness_path(store, record.verdict.witness))


def _remarks(result: RunResult) -> None:
    """What was found amiss in the store, and whether the run keeps its promise."""
    from dpcheck.engine.records import told

    for line in told(result.refused):
        complain(line)
    if result.damaged:
        complain(
            f"{count(len(result.damaged), 'cell')} of the store did not fit its checksum and is computed again: "
            f"{result.damaged[0]}" + (", …" if len(result.damaged) > 1 else "")
        )
    if result.unkept:
        complain(result.unkept)


def _table(result: RunResult) -> None:
    """Verdicts, the most telling first; what holds as expected is left out when the table would be long."""
    rows = [("error", failure.key.check, "", failure.message) for failure in result.failures]
    records = sorted(result.records, key=lambda r: (r.expected, _RANK.index(r.verdict.outcome.value)))
    for record in records:
        unexpected = "" if record.expected else "unexpected"
        rows.append((record.verdict.outcome.value, record.check, unexpected, record.verdict.reason))
    table(rows[:ROWS], ("outcome", "check", "", "reason"))
    if len(rows) > ROWS:
        click.echo(f"… and {count(len(rows) - ROWS, 'more verdict')}; `dpcheck list` shows all")


def _summary(result: RunResult, seed: int, store: Path, catalogue: Catalogue) -> None:
    from dpcheck.engine.layout import typed

    counts = Counter(record.verdict.outcome.value for record in result.records)
    refuted = [record for record in result.records if record.verdict.outcome.value == "refuted"]
    kinds = kinds_of_refutation(catalogue, (record.label for record in refuted))
    spent = result.failure_probability
    said = [
        f"holds {counts['holds']}",
        f"refuted {counts['refuted']}",
        f"consistent {counts['consistent']}",
        f"undecided {counts['undecided']}",
        *([f"differs {counts['differs']}"] if counts["differs"] else []),
        f"skipped {counts['skipped']}",
        *([f"errors {len(result.failures)}"] if result.failures else []),
    ]
    risk = f"failure probability of the whole run {spent:.2g}" if spent else "nothing was sampled"
    click.echo(f"  {' · '.join(said)}{kinds}")
    click.echo(f"  {risk}, seed {seed}")
    if result.failures:
        verdict = f"{count(len(result.failures), 'error')}: a check raised or broke a rule"
    elif result.unexpected:
        verdict = f"{count(len(result.unexpected), 'verdict')} not as expected"
    else:
        verdict = "every verdict as expected" if result.records else "no verdict yet"
    also = "".join(f" --also {typed(path)}" for path in catalogue.besides)
    keys = dict.fromkeys(record.label.partition("/")[0] for record in result.records)
    mine = set() if catalogue.layout.papers else _own_papers(catalogue, [record.label for record in result.records])
    only = "".join(f" --only {key}" for key in keys) if keys and keys.keys() <= mine else ""
    follow = f"dpcheck report{only}{catalogue.layout.reached}{also}"
    if result.waiting:
        verdict += f" · {count(len(result.waiting), 'check')} with cells in other shards"
        follow = f"run the other parts, then dpcheck merge {typed(store)} THEIR_STORES --store WHOLE.db"
        follow += f"{catalogue.layout.reached}{also}"
    elif result.failures or result.unexpected:
        first = result.failures[0].key.check if result.failures else result.unexpected[0].check
        label = first.partition("::")[0]
        follow = f"dpcheck show {label}{catalogue.reached(label)}"
    if store.resolve() != catalogue.layout.store.resolve() and not result.waiting:
        follow += f" --store {typed(store)}"
    click.echo(f"  {verdict} · store {shown(store.resolve())} · next: {follow}")


def _own_papers(catalogue: Catalogue, labels: Iterable[str]) -> set[str]:
    """The keys of papers of one's own: those in folders of theirs, and of these statements if --also names their file.

    No other statement is looked at: to find where it stands, its file would have to be imported.
    """
    keys: set[str] = set().union(*catalogue.own.folders.values())
    for label in labels if catalogue.besides else ():
        if label in catalogue.claims:
            place = catalogue.root / catalogue.home(label).path
            keys |= {label.partition("/")[0] for path in catalogue.besides if place.is_relative_to(path)}
    return keys


def _as_dict(result: RunResult, size: str, seed: int, code: Exit) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "size": size,
        "seed": seed,
        "exit_code": int(code),
        "summary": dict(Counter(record.verdict.outcome.value for record in result.records)),
        "failure_probability": result.failure_probability,
        "most_failure_probability": result.declared,
        "computed": result.computed,
        "stored": result.stored,
        "seconds": result.seconds,
        "records": [record.to_dict() for record in result.records],
        "errors": [{"check": f.key.check, "cell": f.key.cell, "message": f.message} for f in result.failures],
        "waiting": result.waiting,
    }


# -- merge -----------------------------------------------------------------------------------------------------------


@click.command("merge")
@click.argument("stores", nargs=-1, required=True, metavar="STORE…")
@click.option("--mixed", is_flag=True, help="Join stores of other seeds, sizes, sources or versions as well.")
@root_option
@also_option
@store_option
def merge_command(
    stores: tuple[str, ...], mixed: bool, root: str | None, also: tuple[str, ...], store: str | None
) -> None:
    """Joins the stores of shards (into --store) and concludes every check whose cells are now all there.

    Stores that are no parts of one run are refused. Exit 6 when cells are missing.
    """
    from dpcheck.engine import layout
    from dpcheck.engine.run import CheckRunner
    from dpcheck.engine.store import Store, belong_together

    path = Path(store) if store else layout.find(root).store
    if not mixed:
        belong_together([Path(other) for other in stores], path)
    catalogue = catalogue_of(root, also)
    code = Exit.NOTHING
    with Store(path) as opened:
        for other in stores:
            if Path(other).resolve() != path.resolve():
                merged = opened.merge(other)
                _merged(other, merged)
                code = Exit.EXPECTED if merged.audits else code
        for size, seed, ids in opened.runs():
            checks = [check for check in catalogue.checks.values() if check.id in ids]
            if strange := sorted(set(ids) - {check.id for check in checks}):
                complain(
                    f"{count(len(strange), 'check')} of these stores, such as {strange[0]}, are of no paper here and "
                    "not concluded; --also FOLDER names a paper of your own"
                )
            result = CheckRunner(catalogue, checks, opened, size=cast("Size", size), seed=seed).run(compute=False)
            if result.records or result.failures or result.waiting:
                click.echo(f"{size}, seed {seed}")
                _table(result)
                _witnesses(result, path)
                _remarks(result)
                _summary(result, seed, path, catalogue)
                each = exit_code(result)
                each = Exit.WAITING if result.waiting and each is Exit.EXPECTED else each
                code = max(code, each, key=_WORSE.index)
    if code is Exit.NOTHING:
        complain(f"nothing to conclude: no cell of a check that is here in {' '.join(stores)}; `dpcheck run` makes it")
    finish(catalogue, code)


_WORSE = (Exit.NOTHING, Exit.EXPECTED, Exit.WAITING, Exit.UNEXPECTED, Exit.UNKEPT, Exit.INTERNAL)


def _merged(other: str, merged: Merged) -> None:
    """What one store brought, and where two machines did not compute the same."""
    taken = f", {count(merged.audits, 'audit')} under way" if merged.audits else ""
    click.echo(f"{other}: {count(merged.cells, 'new cell')}{taken}", err=True)
    if merged.lost:
        complain(
            f"{other} is damaged: {count(merged.lost, 'row')} or more cannot be read; "
            "what was in them is computed again"
        )
    if merged.differing:
        first = merged.differing[0]
        complain(
            f"{other}: {count(len(merged.differing), 'cell')} with another result than the store has, which is kept: "
            f"{first.check} {first.cell}; the same sources and seed should give the same numbers everywhere"
        )


# -- compare ---------------------------------------------------------------------------------------------------------


@click.command("compare")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@json_option
def compare_command(before: str, after: str, as_json: bool) -> None:
    """Which outcomes changed from A to B, two stores or records.jsonl files. Exit 1 when some did.

    Checks of the same outcome whose numbers differ are counted apart.
    """
    from dpcheck.engine import history
    from dpcheck.engine.records import Refused, told

    refused: list[Refused] = []
    old, new = (history.choose(history.read(Path(path), refused)) for path in (before, after))
    for line in told(refused):
        complain(line)
    for path, found in ((before, old), (after, new)):  # a lost file would look as if nothing had changed
        if not found and path.endswith(".jsonl"):
            raise InvalidInput(f"{path} holds no record of dpcheck; name a store, or what `dpcheck report` wrote")
    both = [check for check in old if check in new]

    def outcome(of: dict[str, Any], check: str) -> str:
        return str(of[check].record.verdict.outcome.value)

    def numbers(of: dict[str, Any], check: str) -> str:
        return repr(of[check].record.verdict.numbers)  # where NaN is the same as NaN

    changed = [check for check in both if outcome(old, check) != outcome(new, check)]
    added, gone = [c for c in new if c not in old], [c for c in old if c not in new]
    moved = [c for c in both if c not in changed and numbers(old, c) != numbers(new, c)]
    if as_json:
        rows = [{"check": c, "before": outcome(old, c), "after": outcome(new, c)} for c in changed]
        echo_json(
            {
                "schema_version": 1,
                "changed": rows,
                "added": added,
                "gone": gone,
                "same": len(both) - len(changed),
                "other_numbers": moved,
            }
        )
    else:
        rows_of = [(outcome(old, c), "→", outcome(new, c), c, new[c].record.verdict.reason) for c in changed]
        rows_of += [("", "+", outcome(new, c), c, "only in B") for c in added]
        rows_of += [(outcome(old, c), "−", "", c, "only in A") for c in gone]
        table(rows_of)
        click.echo(
            f"{count(len(changed), 'changed outcome')} · {len(both) - len(changed):,} the same, "
            f"{len(moved):,} of them with other numbers · "
            f"{len(added):,} only in B · {len(gone):,} only in A"
        )
    if changed:
        leave(Exit.UNEXPECTED)


# -- report ----------------------------------------------------------------------------------------------------------


@click.command("report")
@click.option("--out", metavar="DIR", help="Default: reports/ under the root; .dpcheck/reports/<paper>/ with --only.")
@click.option("--only", multiple=True, metavar="PAPER", shell_complete=completion.papers, help="Papers; repeatable.")
@root_option
@also_option
@store_option
def report_command(
    out: str | None, only: tuple[str, ...], root: str | None, also: tuple[str, ...], store: str | None
) -> None:
    """Writes the report and its committed records.jsonl: the same results give the same bytes.

    Every check is shown by its strongest record of today's sources, from the store, the committed records and those of
    the folder; a larger one whose sources have changed stays beside it, marked. Installed papers of one's own are left
    out unless --only names them.
    """
    from dpcheck import report
    from dpcheck.engine.history import jsonl
    from dpcheck.engine.mutate.table import NAME, Table
    from dpcheck.engine.narrowing import narrowed

    doing("report, collecting statements and checks")
    catalogue = catalogue_of(root, also)
    if unknown := [key for key in only if key not in catalogue.papers]:
        raise no_such_paper(unknown[0], catalogue.papers)
    catalogue = narrowed(catalogue, set(only) or catalogue.papers.keys() - catalogue.guests)
    if not catalogue.claims:
        complain(f"nothing to report: no claim in {catalogue.root}")
        finish(catalogue, Exit.NOTHING)
    usual = catalogue.layout.store.parent / "reports" / "-".join(only) if only else catalogue.layout.committed.parent
    folder = Path(out) if out else usual
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file; --out takes a folder")
    doing("report, verifying the witnesses of records")
    results = results_of(catalogue, store, folder / "records.jsonl", *catalogue.layout.records, anew=True)
    chosen = {check: result for check, result in results.items() if check in catalogue.checks}
    records = [result.record for result in chosen.values()]
    stale = {check for check, result in chosen.items() if result.stale}
    earlier = {check: result.earlier for check, result in chosen.items() if result.earlier is not None}
    kept = {"records.jsonl": jsonl([*records, *earlier.values()])}
    mutants = Table.read(catalogue.layout.committed.parent / NAME)
    doing(f"report, drawing what {count(len(records), 'verdict')} rest on")
    written = report.write(catalogue, records, folder, stale=stale, earlier=earlier, last=kept, mutants=mutants)
    click.echo(f"{_of(records, len(catalogue.checks))} · {count(len(written), 'file')} in {shown(folder.resolve())}")
    if stale:
        click.echo(f"{count(len(stale), 'result')} stale: sources have changed since; `dpcheck run` renews them")
    finish(catalogue)


def _of(records: Sequence[Record], checks: int) -> str:
    return f"results of {len(records):,} of {count(checks, 'check')}"


COMMANDS = (run_command, report_command, merge_command, compare_command)
