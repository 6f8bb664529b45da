"""`dpcheck audit`, `verify` and `mutants`: a mechanism of one's own, a witness, and the auditor put to the test."""

from __future__ import annotations

import fnmatch
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcheck.cli.common import (
    Exit,
    catalogue_of,
    complain,
    count,
    echo_json,
    finish,
    json_option,
    leave,
    root_option,
    table,
    witness_path,
)
from dpcheck.errors import InvalidInput

if TYPE_CHECKING:
    from dpcheck.engine.mutation import Trial
    from dpcheck.mutants import Mutant
    from dpcheck.privacy import Guarantee

SCORES = ("auto", "identity", "projection", "cells", "classifier")


@click.command("audit")
@click.argument("mechanism", metavar="FILE:MECHANISM")
@click.option("--data", required=True, metavar="FILE.npy", help="Axis 0 counts records.")
@click.option("--neighbour", required=True, metavar="FILE.npy", help="The same data, one record changed.")
@click.option("--epsilon", type=float, help="Claim: ε-DP, or (ε, δ)-DP with --delta, or Rényi DP with --alpha.")
@click.option("--delta", type=float, help="δ of the claim.  [default: 0]")
@click.option("--alpha", type=float, help="Order of a Rényi claim.")
@click.option("--rho", type=float, help="Claim: ρ-zCDP.")
@click.option("--mu", type=float, help="Claim: μ-Gaussian DP.")
@click.option("--trials", type=int, default=100_000, show_default=True, help="Runs on each of the two inputs.")
@click.option(
    "--failure-probability", type=float, default=0.05, show_default=True, help="Chance of a wrong refutation."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--adjacency",
    type=click.Choice(["replace-one", "add-remove", "user-level", "none"]),
    default="replace-one",
    show_default=True,
    help="What neighbours are; none takes any pair.",
)
@click.option("--score", default="auto", show_default=True, help=f"One of {', '.join(SCORES)}, or FILE:FUNCTION.")
@click.option("--halts", is_flag=True, help="NaN outputs mean: stopped without an output.")
@click.option(
    "--per-call", is_flag=True, help="MECHANISM is (data, rng) -> one output, not (data, rng, trials) -> all."
)
@json_option
def audit_command(
    mechanism: str,
    data: str,
    neighbour: str,
    epsilon: float | None,
    delta: float | None,
    alpha: float | None,
    rho: float | None,
    mu: float | None,
    trials: int,
    failure_probability: float,
    seed: int,
    adjacency: str,
    score: str,
    halts: bool,
    per_call: bool,
    as_json: bool,
) -> None:
    """Audits MECHANISM(data, rng, trials) of a Python file on one pair of inputs. Exit 1 when the claim is refuted."""
    claim = _claim(epsilon, delta, alpha, rho, mu)
    pair = _array("--data", data), _array("--neighbour", neighbour)
    function = function_of(mechanism)
    from dpcheck.auditing.audit import audit
    from dpcheck.auditing.mechanisms import vectorize

    result = audit(
        vectorize(function) if per_call else function,
        *pair,
        claim,
        trials=trials,
        failure_probability=failure_probability,
        score=_score(score),
        seed=seed,
        adjacency=None if adjacency == "none" else adjacency,
        halts=halts,
    )
    saved = None
    if result.witness is not None:
        saved = result.witness.save(witness_path(Path(".dpcheck") / "store.db", result.witness))
    if as_json:
        echo_json({**result.to_dict(), "witness": None if saved is None else str(saved)})
    else:
        click.echo(str(result))
        if saved is not None:
            click.echo(f"  {'reproduce':<12} dpcheck verify {saved}")
    if result.outcome.value == "refuted":
        leave(Exit.UNEXPECTED)


def _claim(
    epsilon: float | None, delta: float | None, alpha: float | None, rho: float | None, mu: float | None
) -> Guarantee:
    from dpcheck import privacy

    if sum(value is not None for value in (epsilon, rho, mu)) != 1:
        raise click.UsageError("name the claim by one of --epsilon, --rho and --mu")
    if epsilon is None and (delta is not None or alpha is not None):
        raise click.UsageError("--delta and --alpha go with --epsilon")
    if delta is not None and alpha is not None:
        raise click.UsageError("--delta makes an (ε, δ) claim, --alpha a Rényi claim; give one of them")
    if rho is not None:
        return privacy.ZCDP(rho)
    if mu is not None:
        return privacy.GaussianDP(mu)
    assert epsilon is not None
    if alpha is not None:
        return privacy.RenyiDP(alpha, epsilon)
    return privacy.ApproxDP(epsilon, delta) if delta else privacy.PureDP(epsilon)


def _array(option: str, path: str) -> Any:
    import numpy as np

    try:
        values = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InvalidInput(f"cannot read {option} {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InvalidInput(
            f"{option} {path} is not an array in NumPy's .npy format; write it with numpy.save"
        ) from error
    if not isinstance(values, np.ndarray):
        raise InvalidInput(f"{option} {path} holds several arrays (.npz); write one with numpy.save")
    return values


def function_of(reference: str) -> Callable[..., Any]:
    """The function behind FILE:NAME; the file may import its neighbours, as a script does.

    Raises:
        InvalidInput: no such file or name, or the file does not import.
    """
    path, colon, name = reference.rpartition(":")
    if not colon or not name.isidentifier():
        raise InvalidInput(f"got {reference!r}; name a function of a Python file as mymechanisms.py:noisy_mean")
    file = Path(path).resolve()
    if not file.is_file():
        raise InvalidInput(f"there is no file {path}; FILE:MECHANISM names a Python file")
    spec = importlib.util.spec_from_file_location(f"dpcheck_user_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"{path} does not import: {type(error).__name__}: {error}") from error
    found = getattr(module, name, None)
    if not callable(found):
        known = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise InvalidInput(f"{path} has no function {name!r}; it has {', '.join(known[:8]) or 'none'}")
    function: Callable[..., Any] = found
    return function


def _score(name: str) -> Any:
    if ":" in name:
        return function_of(name)
    if name not in SCORES:
        raise click.BadParameter(f"unknown score {name!r}; choose one of {', '.join(SCORES)}", param_hint="--score")
    if name == "auto":
        return name
    from dpcheck.auditing import scores

    return getattr(scores, name.capitalize())()


# -- verify ----------------------------------------------------------------------------------------------------------


@click.command("verify")
@click.argument("witnesses", nargs=-1, required=True, metavar="WITNESS.json…")
@json_option
def verify_command(witnesses: tuple[str, ...], as_json: bool) -> None:
    """Recomputes witnesses from their parameters alone, in higher precision. Exit 1 when one is rejected."""
    import mpmath

    from dpcheck.errors import WitnessRejected
    from dpcheck.verdicts import Witness
    from dpcheck.witnesses import verify

    rows, rejected = [], False
    for path in witnesses:
        row: dict[str, Any] = {"witness": path}
        try:
            witness = Witness.load(path)
            violation = verify(witness)
        except WitnessRejected as error:
            rejected = True
            rows.append({**row, "verified": False, "reason": str(error)})
            if not as_json:
                complain(f"{path}: rejected: {error}")
            continue
        claimed, found = (mpmath.nstr(value, 12) for value in (violation.claimed, violation.found))
        rows.append(
            {**row, "verified": True, "label": violation.label, "statement": violation.statement}
            | {"claimed": claimed, "found": found, "kind": witness.kind, "note": witness.note}
        )
        if not as_json:
            click.echo(f"{path}: verified: {violation.label} is violated")
            for name, text in (
                ("statement", violation.statement),
                ("allowed", claimed),
                ("found", found),
                ("note", witness.note),
            ):
                if text:
                    click.echo(f"  {name:<10} {text}")
    if as_json:
        echo_json(rows)
    if rejected:
        leave(Exit.UNEXPECTED)


# -- mutants ---------------------------------------------------------------------------------------------------------


@click.command("mutants")
@click.argument("names", nargs=-1, metavar="[NAME|PATTERN]…")
@click.option("--size", type=click.Choice(("smoke", "standard", "full")), default="standard", show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True)
@root_option
@json_option
def mutants_command(
    names: tuple[str, ...], size: Any, seed: int, workers: int, root: str | None, as_json: bool
) -> None:
    """Runs seeded bugs against the checks that must find them. Exit 1 if one survives or a look-alike is flagged."""
    from dpcheck.engine import mutation

    catalogue = catalogue_of(root, with_mutants=True)
    for name in names:
        if not fnmatch.filter(catalogue.mutants, name):
            raise InvalidInput(f"no mutant {name!r}; there are {', '.join(catalogue.mutants) or 'none'}")
    known = catalogue.mutants.values()
    chosen = [m for m in known if not names or any(fnmatch.fnmatchcase(m.name, name) for name in names)]
    if not chosen:
        complain(f"no mutant in {', '.join(map(str, catalogue.layout.mutants)) or catalogue.root}")
        finish(catalogue, Exit.NOTHING)
    trials = {}
    for trial in mutation.run(catalogue, chosen, size=size, seed=seed, workers=workers):
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


def _mutants_table(ordered: list[tuple[Mutant, Trial]]) -> None:
    rows = []
    for mutant, trial in ordered:
        kill, fault = trial.kill, trial.fault(mutant)
        said = fault or ("not flagged" if mutant.lookalike else "killed")
        if kill is None:
            rows.append((said, mutant.name, "", "", "", trial.message))
            continue
        exact = "" if kill.exact_epsilon is None else f"{kill.exact_epsilon:.4g}".replace("inf", "∞")
        rows.append((said, mutant.name, kill.by, f"{kill.samples:,}" if kill.samples else "–", exact, kill.claim))
    table(rows, ("", "mutant", "by", "samples", "exact ε", "claim"), right=(3, 4))
    for mutant, trial in ordered:
        if trial.fault(mutant):
            click.echo(f"  {mutant.name}: {mutant.bug}")
    bugs = [(m, t) for m, t in ordered if not m.lookalike]
    alike = [(m, t) for m, t in ordered if m.lookalike]
    killed = sum(not t.fault(m) for m, t in bugs)
    used = sum(t.kill.samples for _, t in ordered if t.kill is not None)
    quiet = (
        f" · {sum(not t.fault(m) for m, t in alike)} of {count(len(alike), 'look-alike')} not flagged" if alike else ""
    )
    click.echo(f"killed {killed} of {count(len(bugs), 'mutant')}{quiet} · {used:,} samples")


def _mutant_row(mutant: Mutant, trial: Trial) -> dict[str, Any]:
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
        "killed": kill.killed,
        "by": kill.by,
        "samples": kill.samples,
        "minimum": kill.minimum,
        "exact_epsilon": kill.exact_epsilon,
        "claim": kill.claim,
    }


COMMANDS = (audit_command, verify_command, mutants_command)
