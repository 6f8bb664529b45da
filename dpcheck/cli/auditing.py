"""`dpcheck audit` and `mutants`: a mechanism of one's own, and the auditor put to the test."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcheck.cli.common import (
    Exit,
    WholeNumber,
    also_option,
    catalogue_of,
    complain,
    count,
    echo_json,
    finish,
    json_option,
    kept_witness,
    leave,
    root_option,
    shown,
    table,
    witness_path,
)
from dpcheck.cli.mechanisms import claim_of, claim_options, function_of, in_options, pair_options, refuse_bad, worded
from dpcheck.cli.recorded import (
    check_script,
    one_run,
    pair_of,
    recorded_options,
    run_and_kept,
    samples_of,
    script_of_mechanism,
    script_of_outputs,
)
from dpcheck.cli.slow import running, workers_option
from dpcheck.cli.watching import watched
from dpcheck.errors import InvalidInput

if TYPE_CHECKING:
    from dpcheck.auditing.audit import AuditResult
    from dpcheck.engine.mutation import SeededTrial
    from dpcheck.mutants import Mutant
    from dpcheck.recorded.shrinking import Shrunk

SCORES = ("auto", "identity", "projection", "cells", "classifier")
STORE = Path(".dpcheck") / "store.db"
SLOW_CHUNK = 1024
"""Runs of a slow mechanism after which an anytime audit looks whether it should stop, and may keep where it is."""
MORE_ROWS = "record more runs than these; `dpcheck plan-audit` says how many"


@click.command("audit")
@click.argument("mechanism", nargs=-1, metavar="FILE:MECHANISM")
@functools.partial(pair_options, required=False)
@claim_options
@recorded_options
@click.option(
    "--mode",
    type=click.Choice(["fixed", "anytime"]),
    default="fixed",
    show_default=True,
    help="fixed: one look at --trials, the tightest bound. anytime: stop whenever (Ctrl-C), --resume tomorrow.",
)
@click.option(
    "--trials", type=WholeNumber(), default=100_000, show_default=True, help="Runs on each of the two inputs."
)
@click.option("--until", type=click.Choice(["refuted"]), help="Stop an anytime audit as soon as the claim is refuted.")
@click.option(
    "--max-samples",
    type=WholeNumber(),
    help="Runs of an anytime audit, both inputs together.  [default: twice --trials]",
)
@click.option("--resume", is_flag=True, help="Go on with the stored anytime audit of the same mechanism and pair.")
@click.option("--store", metavar="FILE", help=f"Where anytime audits are kept.  [default: {STORE}]")
@click.option(
    "--failure-probability", type=float, default=0.05, show_default=True, help="Chance of a wrong refutation."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--must-detect",
    "--require-power",
    "must_detect",
    type=float,
    metavar="ε",
    help="Exit 4 unless a true ε would be refuted, 95 % power; `dpcheck plan-audit` says with how many --trials.",
)
@click.option("--score", default="auto", show_default=True, help=f"One of {', '.join(SCORES)}, or FILE:FUNCTION.")
@workers_option
@json_option
def audit_command(
    mechanism: tuple[str, ...],
    data: str | None,
    neighbour: str | None,
    epsilon: float | None,
    delta: float | None,
    alpha: float | None,
    rho: float | None,
    mu: float | None,
    curve: str | None,
    mode: str,
    trials: int,
    until: str | None,
    max_samples: int | None,
    resume: bool,
    store: str | None,
    failure_probability: float,
    seed: int,
    adjacency: str,
    score: str,
    halts: bool,
    per_call: bool,
    must_detect: float | None,
    workers: int | None,
    as_json: bool,
    outputs: str | None,
    keep: str | None,
    among: int,
    unordered: bool,
    canaries: bool,
    guesses: int | None,
    script: str | None,
    shrunk: bool,
    fixed_size: bool,
) -> None:
    """Audits MECHANISM(data, rng, trials) of a Python file on one pair of inputs, or outputs that were recorded.

    \b
    dpcheck audit mine.py:noisy_mean --data a.npy --neighbour b.npy --epsilon 1
    dpcheck audit --outputs on_a.npy on_b.npy --epsilon 1     of .npy, .npz, .jsonl, .parquet: one file, or one each

    Exit 1 when the claim is refuted; 4 when it is undecided, because trials are not independent or nothing could have
    been refuted, or when what --must-detect asks for is out of reach. Of one run (--one-run) a claim is refuted or
    undecided.
    """
    if mode == "fixed" and (until or max_samples is not None or resume or store):
        raise click.UsageError("--until, --max-samples, --resume and --store go with --mode anytime")
    claim = claim_of(epsilon, delta, alpha, rho, mu, curve)
    if must_detect is not None:
        from dpcheck.auditing.inputs import check_must_detect

        with in_options():
            check_must_detect(must_detect, claim)
    if fixed_size and not shrunk:
        raise click.UsageError("--fixed-size needs --shrink, which it keeps from leaving records out")
    if script is not None:
        check_script(script)
    options: dict[str, Any] = {
        "failure_probability": failure_probability,
        "score": _score(score),
        "seed": seed,
    }
    kept = Path(store) if store else STORE
    result: AuditResult
    if outputs is not None and canaries:
        one_run(outputs, mechanism, claim, failure_probability, seed, guesses, as_json)
    if outputs is not None:
        with in_options():
            result = samples_of(outputs, mechanism, claim, halts=halts, among=among, ordered=not unordered, **options)
        recorded = functools.partial(script_of_outputs, files=(outputs, *mechanism), ordered=not unordered)
        _finish(result, kept, must_detect, as_json, script, recorded, more=MORE_ROWS)
        return
    reference, pair = pair_of(mechanism, data, neighbour)
    known = None if adjacency == "none" else adjacency
    refuse_bad(pair, known)
    if keep is None and among > 1:
        raise click.UsageError("--among needs --outputs or --keep: a new run shares nothing with another one")
    function = function_of(reference)
    from dpcheck.auditing.audit import audit
    from dpcheck.auditing.mechanisms import vectorize
    from dpcheck.seeds import CHUNK

    run = vectorize(function) if per_call else function
    rest: dict[str, Any] = {"trials": trials, "adjacency": known, "halts": halts}
    asked = (max_samples or 2 * trials) // 2 if mode == "anytime" else trials
    limits: dict[str, Any] = {
        "trials": asked,
        "kept": 2 * trials if keep else CHUNK if mode == "anytime" else 0.2 * trials + CHUNK,
        "failure_probability": failure_probability / among,
        "seed": seed,
        "halts": halts,
        "bounded": mode == "fixed",
    }
    if keep is not None:
        with in_options(), running(run, pair, claim, workers, **limits) as inside:
            result = run_and_kept(keep, inside, pair, claim, among=among, **options, **rest)
    elif mode == "fixed":
        with in_options(), running(run, pair, claim, workers, **limits) as inside:
            result = audit(inside, pair[0], pair[1], claim, **options, **rest)
    else:
        name = f"{Path(reference.rpartition(':')[0]).name}:{reference.rpartition(':')[2]}"
        with in_options(), watched(kept, name, until) as watch, running(run, pair, claim, workers, **limits) as inside:
            state = watch.stored(inside, pair, claim, **options) if resume else None
            rest |= {"mode": mode, "until": watch, "max_samples": max_samples, "resume": state}
            rest["chunk"] = CHUNK if workers is None else SLOW_CHUNK
            result = audit(inside, pair[0], pair[1], claim, **options, **rest)
            watch.finish(result)
    smallest = None
    if shrunk and result.outcome.value != "refuted":
        complain("not shrunk: nothing was refuted")
    elif shrunk:
        asks = {"halts": halts, "adjacency": rest["adjacency"], "fixed_size": fixed_size, "seed": seed}
        smallest = _shrunk(run, result, workers, trials=trials, **asks)
    told: Callable[[str, AuditResult], None] = functools.partial(
        script_of_mechanism,
        reference=reference,
        pair=(str(data), str(neighbour)),
        run=run,
        trials=trials,
        per_call=per_call,
        workers=workers,
        shrunk=smallest,
    )
    if keep is not None and Path(keep).suffix == ".npz" and smallest is None:
        told = functools.partial(script_of_outputs, files=(keep,), ordered=True)
    _finish(result, kept, must_detect, as_json, script, told, smallest)


def _shrunk(run: Any, result: AuditResult, workers: int | None, **options: Any) -> Shrunk | None:
    """The smallest refutation; None, and why, where there is no smaller one to see."""
    from dpcheck.auditing.workers import spread
    from dpcheck.recorded.shrinking import shrink

    try:
        with in_options(), spread(run, workers) as inside:
            return shrink(inside, result, **options)
    except InvalidInput as error:
        complain(f"not shrunk: {error}")
        return None


def _finish(
    result: AuditResult,
    store: Path,
    must_detect: float | None,
    as_json: bool,
    script: str | None,
    write: Callable[[str, AuditResult], None],
    shrunk: Shrunk | None = None,
    more: str = "",
) -> None:
    """Shows the result, writes the script where one is wanted, and ends with the exit code of the result."""
    _show(result, store, as_json, shrunk)
    if script is not None:
        if result.outcome.value == "refuted":
            write(script, result)
        else:  # a file of this name may be there, of an audit before
            complain(f"no script: nothing was refuted that {script} could show")
    if result.outcome.value == "refuted":
        leave(Exit.UNEXPECTED)
    if lacks := result.lacks(must_detect):
        said = f"this audit could not have refuted a true ε of {must_detect:g}"
        advice = more if more and lacks.startswith("take more") else worded(lacks)
        complain(said if result.dependence else f"{said}; {advice}")
        leave(Exit.UNDECIDED)
    if result.outcome.value == "undecided":
        leave(Exit.UNDECIDED)


def _show(result: AuditResult, store: Path, as_json: bool, shrunk: Shrunk | None) -> None:
    """The result, with its witness saved beside the store."""
    witness = result.witness
    path = None if witness is None else kept_witness(witness, witness_path(store, witness))
    if as_json:
        kept = None if result.mode == "fixed" else str(store)
        told = {**result.to_dict(), "witness": None if path is None else str(path), "store": kept}
        echo_json(told if shrunk is None else {**told, "shrunk": shrunk.to_dict()})
        return
    click.echo(worded(str(result)))
    if result.mode == "anytime":
        more = "the same command with --resume; beyond the runs that it asked for, with a larger --max-samples, too"
        click.echo(f"  {'go on':<12} {more}; kept in {shown(store)}")
    if path is not None:
        click.echo(f"  {'reproduce':<12} dpcheck verify {path}")
    if shrunk is not None:
        click.echo(str(shrunk))


def _score(name: str) -> Any:
    if ":" in name:
        return function_of(name)
    if name not in SCORES:
        raise click.BadParameter(f"unknown score {name!r}; choose one of {', '.join(SCORES)}", param_hint="--score")
    if name == "auto":
        return name
    from dpcheck.auditing import scores

    return getattr(scores, name.capitalize())()


# -- mutants ---------------------------------------------------------------------------------------------------------


@click.command("mutants")
@click.argument("names", nargs=-1, metavar="[NAME|PATTERN|PAPER]…")
@click.option("--size", type=click.Choice(("smoke", "standard", "full")), default="standard", show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Runs of each, with the seeds from --seed on.",
)
@click.option("--held-out", is_flag=True, help="Those written after the auditor was fixed, in place of the others.")
@click.option(
    "--export",
    "exported",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Run nothing: write all whose laws are known, held out or not, as a package of plain NumPy with its table.",
)
@root_option
@also_option
@json_option
def mutants_command(
    names: tuple[str, ...],
    size: Any,
    seed: int,
    workers: int,
    repeat: int,
    held_out: bool,
    exported: Path | None,
    root: str | None,
    also: tuple[str, ...],
    as_json: bool,
) -> None:
    """Runs broken mechanisms against the auditor. Exit 1 if one survives or a correct look-alike is flagged.

    A NAME is that of a mechanism, or a pattern for names. Bugs seeded in the algorithms of papers are found by their
    registered checks: `dpcheck mutate PAPER --family seeded`.

    Mechanisms that are held out, whose names begin with "held-", are a test set: whoever changes the auditor by what
    is found on them needs others. They run when they are named, or by --held-out.

    Of --repeat runs a bug must be found in 95 %, and a look-alike flagged in none.
    """
    from dpcheck.engine import mutation

    catalogue = catalogue_of(root, also, with_mutants=True)
    known = list(catalogue.mutants.values())

    def named(mutant: Mutant, name: str) -> bool:
        return fnmatch.fnmatchcase(mutant.name, name) or mutant.about.partition("/")[0] == name

    for name in names:
        if not any(named(mutant, name) for mutant in known):
            if any(bug.label.partition("/")[0] == name for bug in catalogue.seeded.values()):
                raise InvalidInput(f"checks find the seeded bugs of {name}: `dpcheck mutate {name} --family seeded`")
            raise InvalidInput(f"no mutant {name!r}; there are {', '.join(catalogue.mutants) or 'none'}")
    guests = [m for m in known if m.about.partition("/")[0] in catalogue.guests]
    held = mutation.held_out(catalogue)
    unasked = {m.name for m in guests} | {m.name for m in known if not exported and (m.name in held) != held_out}
    chosen = [m for m in known if any(named(m, name) for name in names) or (not names and m.name not in unasked)]
    if not chosen:
        complain(f"no mutant in {', '.join(map(str, catalogue.layout.mutants)) or catalogue.root}")
        finish(catalogue, Exit.NOTHING)
    if exported:
        from dpcheck import exporting

        written = exporting.export(chosen, held, exported)
        left = len(chosen) - written
        click.echo(f"{count(written, 'mechanism')} in {exported}; {left} have no known pair of laws and stay here")
        finish(catalogue, Exit.EXPECTED)
        return
    trials = {}
    for trial in mutation.run(catalogue, chosen, size=size, seed=seed, workers=workers, repeat=repeat):
        trials[trial.mutant] = trial
        fault = trial.fault(catalogue.mutants[trial.mutant])
        click.echo(f"[{len(trials)}/{len(chosen)}] {trial.mutant}  {fault or 'as it should be'}", err=True)
    ordered = [(mutant, trials[mutant.name]) for mutant in chosen]
    faults = [trial.fault(mutant) for mutant, trial in ordered]
    if as_json:
        echo_json([_mutant_row(mutant, trial) for mutant, trial in ordered])
    else:
        _mutants_table(ordered)
    code = Exit.UNEXPECTED if any(faults) else Exit.EXPECTED
    finish(catalogue, Exit.INTERNAL if "error" in faults else code)


def _mutants_table(ordered: list[tuple[Mutant, SeededTrial]]) -> None:
    rows = []
    for mutant, trial in ordered:
        kill, fault = trial.kill, trial.fault(mutant)
        said = fault or ("not flagged" if mutant.lookalike else "killed")
        if trial.times > 1:
            said += f" {trial.killed} of {trial.times}"
        if kill is None:
            rows.append((said, mutant.name, "", "", "", "", trial.message))
            continue
        exact = "" if kill.exact_epsilon is None else f"{kill.exact_epsilon:.4g}".replace("inf", "∞")
        runs = f"{kill.samples:,}" if kill.samples else "–"
        fewest = f"{kill.minimum:,}" if kill.minimum else ""
        rows.append((said, mutant.name, kill.by, runs, fewest, exact, kill.claim))
    table(rows, ("", "mutant", "by", "samples", "fewest", "exact ε", "claim"), right=(3, 4, 5))
    for mutant, trial in ordered:
        if trial.fault(mutant):
            click.echo(f"  {mutant.name}: {mutant.bug}")
    bugs = [(m, t) for m, t in ordered if not m.lookalike]
    alike = [(m, t) for m, t in ordered if m.lookalike]
    killed = sum(not t.fault(m) for m, t in bugs)
    used = sum(t.kill.samples * t.times for _, t in ordered if t.kill is not None)
    quiet = (
        f" · {sum(not t.fault(m) for m, t in alike)} of {count(len(alike), 'look-alike')} not flagged" if alike else ""
    )
    click.echo(f"killed {killed} of {count(len(bugs), 'mutant')}{quiet} · {used:,} samples")


def _mutant_row(mutant: Mutant, trial: SeededTrial) -> dict[str, Any]:
    kill = trial.kill
    row: dict[str, Any] = {
        "name": mutant.name,
        "about": mutant.about,
        "bug": mutant.bug,
        "lookalike": mutant.lookalike,
        "fault": trial.fault(mutant),
    }
    if kill is None:
        return row | {"error": trial.message}
    return row | {
        "killed": trial.killed == trial.times,
        "kills": trial.killed,
        "times": trial.times,
        "by": kill.by,
        "samples": kill.samples,
        "minimum": kill.minimum,
        "exact_epsilon": kill.exact_epsilon,
        "claim": kill.claim,
    }


COMMANDS = (audit_command, mutants_command)
