"""`dpcheck audit --outputs`, `--keep` and `--one-run`: outputs recorded elsewhere; `dpcheck plan-audit`: how many."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from dpcheck.cli.common import Exit, WholeNumber, complain, echo_json, json_option, leave
from dpcheck.cli.mechanisms import array_of, claim_of, claim_options, function_of, in_options, pair_options
from dpcheck.errors import InvalidInput
from dpcheck.foreign import shown

if TYPE_CHECKING:
    from dpcheck.auditing.audit import AuditResult
    from dpcheck.privacy import Guarantee
    from dpcheck.recorded.samples import SamplesResult
    from dpcheck.recorded.shrinking import Shrunk

F = TypeVar("F", bound=Callable[..., Any])
OF_RUNS = (
    "data",
    "neighbour",
    "adjacency",
    "per_call",
    "mode",
    "trials",
    "until",
    "max_samples",
    "resume",
    "keep",
    "workers",
    "shrunk",
    "fixed_size",
)
"""Options that say how a mechanism is run: recorded outputs have been."""
OF_SCORES = ("halts", "score", "among", "unordered", "must_detect", "script")
"""Options that a one-run audit has no use for."""
OF_PILOTS = ("adjacency", "halts", "per_call", "seed")
"""Options of a plan that say how its mechanism is run."""
OF_ROWS = ("unordered", "canaries", "guesses")
"""Options of recorded outputs only."""


def recorded_options(command: F) -> F:
    """--outputs, --keep, --among, --unordered, --one-run, --script, --shrink, --fixed-size and --guesses."""
    options = (
        click.option(
            "--outputs",
            metavar="FILE [FILE]",
            help="Instead of MECHANISM: outputs on both inputs, in one file or in two. Nothing is run.",
        ),
        click.option(
            "--keep", metavar="FILE", help="Store the outputs (.npz or .jsonl), and judge those; see --outputs."
        ),
        click.option(
            "--among",
            type=click.IntRange(1),
            default=1,
            show_default=True,
            help="Audits of these outputs, fixed beforehand; they share --failure-probability evenly.",
        ),
        click.option("--unordered", is_flag=True, help="Rows of --outputs are not in the order of the runs."),
        click.option(
            "--one-run",
            "canaries",
            is_flag=True,
            help="--outputs are the scores of canaries of one training run: those in the data, those left out.",
        ),
        click.option(
            "--script", metavar="FILE.py", help="Where the claim is refuted: ten lines of NumPy that show it by counts."
        ),
        click.option(
            "--shrink",
            "shrunk",
            is_flag=True,
            help="Where the claim is refuted: the fewest records and the plainest values and event that show it.",
        ),
        click.option("--fixed-size", is_flag=True, help="--shrink leaves no record out: the claim is for this size."),
        click.option("--guesses", type=WholeNumber(), help="Canaries that --one-run guesses.  [default: all]"),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _refuse(names: tuple[str, ...], reason: str) -> None:
    """Raises a usage error when one of these options was given."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if option.name in names and given:
            raise click.UsageError(f"{option.opts[0]} {reason}")


def _refuse_mechanisms(files: tuple[str, ...]) -> None:
    """Raises a usage error where a mechanism is named beside --outputs: the one is run, the others were."""
    for each in files:
        if ":" in each and not Path(each).exists():
            raise click.UsageError(
                f"got {each} and --outputs; give one of the two: a mechanism, which is run on --data and --neighbour, "
                "or --outputs FILE [FILE] of runs that were made, of which nothing is run"
            )
    if len(files) > 1:
        raise click.UsageError(f"--outputs takes one file of both samples or a file of each, got {len(files) + 1}")


def samples_of(first: str, second: tuple[str, ...], claim: Guarantee, **options: Any) -> SamplesResult:
    """The audit of the outputs in one file, or in two."""
    _refuse((*OF_RUNS, "guesses"), "does not go with --outputs")
    _refuse_mechanisms(second)
    from dpcheck.recorded.files import read_outputs
    from dpcheck.recorded.samples import audit_samples

    x, y = read_outputs(first, *second, of_runs=True)
    return audit_samples(x, y, claim, **options)


def one_run(
    first: str,
    second: tuple[str, ...],
    claim: Guarantee,
    failure_probability: float,
    seed: int,
    guesses: int | None,
    as_json: bool,
) -> NoReturn:
    """The audit of one training run by the scores of its canaries; ends the command."""
    _refuse((*OF_RUNS, *OF_SCORES), "does not go with --one-run")
    _refuse_mechanisms(second)
    from dpcheck.recorded.canaries import audit_canary_scores
    from dpcheck.recorded.files import read_outputs

    inside, outside = read_outputs(first, *second)
    with in_options():
        result = audit_canary_scores(
            inside, outside, claim, guesses=guesses, failure_probability=failure_probability, seed=seed
        )
    if as_json:
        echo_json(result.to_dict())
    else:
        click.echo(str(result))
    leave(Exit.UNEXPECTED if result.outcome.value == "refuted" else Exit.UNDECIDED)


def pair_of(mechanism: tuple[str, ...], data: str | None, neighbour: str | None) -> tuple[str, tuple[Any, Any]]:
    """The one mechanism that was named, and the two inputs."""
    _refuse(OF_ROWS, "needs --outputs")
    if len(mechanism) != 1:
        known = {option.name for option in click.get_current_context().command.params}
        instead = ", or files by --outputs" if "outputs" in known else ""
        raise click.UsageError(f"name one mechanism as FILE:MECHANISM{instead}; got {len(mechanism)}")
    for option, path in (("--data", data), ("--neighbour", neighbour)):
        if path is None:
            raise click.UsageError(f"Missing option '{option}'.")
    return mechanism[0], (array_of("--data", str(data)), array_of("--neighbour", str(neighbour)))


def run_and_kept(
    path: str,
    mechanism: Any,
    pair: tuple[Any, Any],
    claim: Guarantee,
    *,
    trials: int,
    adjacency: str | None,
    halts: bool,
    **options: Any,
) -> SamplesResult:
    """Runs a mechanism, keeps its outputs, and audits them: what `--outputs` of the file says again."""
    _refuse(("mode",), "does not go with --keep")
    from dpcheck.auditing.inputs import describe_pair
    from dpcheck.auditing.mechanisms import mechanism_name
    from dpcheck.recorded.files import check_kept, keep_outputs, record_outputs
    from dpcheck.recorded.samples import audit_samples

    check_kept(path)
    if Path(path).exists():
        cure = f"`dpcheck audit --outputs {shown(path)}` judges what it holds; move it, or keep these in another file"
        raise InvalidInput(f"--keep {shown(path)}: there is such a file, and it would be lost; {cure}")
    x, y = record_outputs(mechanism, *pair, trials=trials, seed=options["seed"], adjacency=adjacency, halts=halts)
    try:
        keep_outputs(path, x, y)
    except InvalidInput as error:  # what was run is judged all the same
        complain(f"not kept: {error}")
    result = audit_samples(x, y, claim, halts=halts, name=mechanism_name(mechanism), **options)
    # Here the inputs are known: that they are neighbours is nobody's word.
    return replace(result, inputs=replace(result.inputs, text=describe_pair(*pair, adjacency).text))


# -- scripts ---------------------------------------------------------------------------------------------------------


def check_script(path: str) -> None:
    """Raises `InvalidInput` where a script could not be written, or would take the place of what no audit wrote."""
    from dpcheck.recorded import script

    file, cure = Path(path), ""
    if file.is_dir():
        cure = "it is a folder; name a file, such as show.py"
    elif not file.parent.is_dir():
        cure = f"there is no folder {shown(file.parent)}; make it, or name a file elsewhere"
    elif file.exists() and not script.is_script(file):
        cure = "there is such a file, which no audit wrote, and it would be lost; name another one, such as show.py"
    if cure:
        raise InvalidInput(f"--script {shown(path)}: {cure}")


def script_of_outputs(path: str, result: AuditResult, files: tuple[str, ...], ordered: bool) -> None:
    """Writes a script that counts an event in the later half of either sample."""
    from dpcheck.recorded import script
    from dpcheck.recorded.files import read_outputs
    from dpcheck.recorded.rows import both_rows

    try:
        lines = script.loaded(*files, ordered=ordered)
        samples = both_rows(*read_outputs(*files), halts=True)
        if not ordered:
            samples = script.shuffled(*samples)
        _written(path, script.of(result, samples, lines))
    except InvalidInput as error:
        complain(f"no script: {error}")


def script_of_mechanism(
    path: str,
    result: AuditResult,
    reference: str,
    pair: tuple[str, str],
    run: Any,
    *,
    trials: int,
    per_call: bool,
    workers: int | None,
    shrunk: Shrunk | None = None,
) -> None:
    """Writes a script that runs a mechanism anew and counts an event, which other runs have chosen.

    On the pair of `shrunk` where there is one, which is then a part of the script.
    """
    from dpcheck.recorded import script
    from dpcheck.recorded.files import record_outputs
    from dpcheck.recorded.rows import both_rows

    seed = result.seed + 1
    try:
        inputs = (array_of("", file) for file in pair) if shrunk is None else (shrunk.data, shrunk.neighbour)
        data, neighbour = inputs
        named = pair if shrunk is None else (script.written(data), script.written(neighbour))
        lines = script.run_anew(
            reference, named, trials=trials, seed=seed, per_call=per_call, written=shrunk is not None
        )
        samples = record_outputs(
            run, data, neighbour, trials=trials, seed=seed, adjacency=None, halts=True, workers=workers
        )
        _written(path, script.of(result, both_rows(*samples, halts=True), lines, plain=shrunk is not None))
    except InvalidInput as error:
        complain(f"no script: {error}")


def _written(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {shown(path)}: {error.strerror}") from error
    click.echo(f"dpcheck: python {shown(path)} shows it without dpcheck", err=True)


@click.command("plan-audit")
@click.argument("mechanism", nargs=-1, metavar="[FILE:MECHANISM]")
@functools.partial(pair_options, required=False)
@claim_options
@click.option(
    "--must-detect",
    "--require-power",
    "must_detect",
    type=float,
    required=True,
    metavar="ε",
    help="True ε that the audit has to refute.",
)
@click.option("--power", type=float, default=0.95, show_default=True, help="Chance that it does.")
@click.option(
    "--failure-probability", type=float, default=0.05, show_default=True, help="Chance of a wrong refutation."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@json_option
def plan_audit_command(
    mechanism: tuple[str, ...],
    data: str | None,
    neighbour: str | None,
    adjacency: str,
    halts: bool,
    per_call: bool,
    epsilon: float | None,
    delta: float | None,
    alpha: float | None,
    rho: float | None,
    mu: float | None,
    curve: str | None,
    must_detect: float,
    power: float,
    failure_probability: float,
    seed: int,
    as_json: bool,
) -> None:
    """Says how many --trials an audit needs to refute a claim where the true ε is --must-detect.

    From theory, for leaky randomised response and for Laplace or Gaussian noise; with a MECHANISM and its --data and
    --neighbour from a pilot of a few thousand runs as well, which also says how long it takes.
    """
    claim: Any = claim_of(epsilon, delta, alpha, rho, mu, curve)
    from dpcheck.auditing.mechanisms import vectorize
    from dpcheck.privacy import ApproxDP
    from dpcheck.recorded.planning import plan_audit

    if not isinstance(claim, ApproxDP):
        allowed = claim.epsilon_at(1e-5)
        point = f"{f'--epsilon {allowed:.4g}' if allowed < math.inf else 'any --epsilon'} at --delta 1e-5"
        raise click.UsageError(f"a plan is for one point of the claim: {claim} allows {point}")
    pilot = None
    if not (mechanism or data or neighbour):
        _refuse(OF_PILOTS, "needs a FILE:MECHANISM, of which a pilot is run")
    else:
        reference, pair = pair_of(mechanism, data, neighbour)
        function = function_of(reference)
        pilot = (vectorize(function) if per_call else function, *pair)
    with in_options():
        plan = plan_audit(
            claim,
            must_detect,
            failure_probability=failure_probability,
            power=power,
            pilot=pilot,
            adjacency=None if adjacency == "none" else adjacency,
            halts=halts,
            seed=seed,
        )
    if as_json:
        echo_json(plan.to_dict())
    else:
        click.echo(str(plan))


COMMANDS = (plan_audit_command,)
