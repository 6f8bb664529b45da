"""`dpcheck attack`: is the implementation of a mechanism as private as its mathematics?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpcheck.cli.common import Exit, count, echo_json, json_option, kept_witness, leave, table, witness_path
from dpcheck.cli.mechanisms import array_of, claim_of, claim_options, function_of, in_options, pair_options, refuse_bad
from dpcheck.cli.slow import running, workers_option

GRADES = ("critical", "theoretical", "negligible")
AUDITS = ("granularity", "support")
"""Attacks that audit, which --workers runs."""
MOST_RUNS = 3000
"""Of these, on each input."""


@click.command("attack")
@click.argument("mechanism", metavar="FILE:MECHANISM")
@pair_options
@claim_options
@click.option(
    "--sensitivity", type=float, help="Of the value before additive noise, in l2; the summation order needs it."
)
@click.option("--only", multiple=True, metavar="NAME", help="Run this attack only; may be repeated.")
@click.option(
    "--fail-on",
    type=click.Choice(GRADES),
    default="critical",
    show_default=True,
    help="The least grave finding that makes the exit code 1. Ordinary floating-point noise is theoretical.",
)
@click.option("--failure-probability", type=float, default=0.05, show_default=True, help="Chance of any false finding.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@workers_option
@json_option
def attack_command(
    mechanism: str,
    data: str,
    neighbour: str,
    epsilon: float | None,
    delta: float | None,
    alpha: float | None,
    rho: float | None,
    mu: float | None,
    curve: str | None,
    sensitivity: float | None,
    only: tuple[str, ...],
    fail_on: str,
    failure_probability: float,
    seed: int,
    adjacency: str,
    halts: bool,
    per_call: bool,
    workers: int | None,
    as_json: bool,
) -> None:
    """Attacks MECHANISM(data, rng, trials) of a Python file: last bits, support and atoms, replayed noise, summation
    order, special records, timing, state kept from call to call.

    \b
    critical     privacy is gone for whoever sees an output
    theoretical  a true violation that needs the last bits or extreme inputs
    negligible   a side channel that says little
    """
    claim = claim_of(epsilon, delta, alpha, rho, mu, curve)
    pair = array_of("--data", data), array_of("--neighbour", neighbour)
    known = None if adjacency == "none" else adjacency
    refuse_bad(pair, known)
    function = function_of(mechanism)
    from dpcheck.auditing import attacks
    from dpcheck.auditing.mechanisms import vectorize

    run = vectorize(function) if per_call else function
    named = tuple(name.replace("-", " ").replace("_", " ") for name in only) or attacks.NAMES
    options: dict[str, Any] = {
        "failure_probability": failure_probability,
        "seed": seed,
        "sensitivity": sensitivity,
        "halts": halts,
        "adjacency": known,
    }
    audited = [] if workers is None else [name for name in AUDITS if name in named]
    findings = []
    with in_options():
        if audited:
            limits: dict[str, Any] = {
                "trials": 4000,
                "kept": 0,
                "failure_probability": failure_probability,
                "audited": False,
            }
            with running(run, pair, claim, workers, **limits, seed=seed, halts=halts) as inside:
                findings += attacks.attack(inside, *pair, claim, only=audited, **options)
        # The others look at what one process does.
        findings += attacks.attack(run, *pair, claim, only=[n for n in named if n not in audited], **options)
    findings.sort(key=lambda finding: attacks.NAMES.index(finding.attack))
    folder = Path(".dpcheck") / "store.db"
    tried = {f.attack: kept_witness(f.witness, witness_path(folder, f.witness)) for f in findings if f.witness}
    saved = {name: path for name, path in tried.items() if path is not None}
    chosen_findings = [f for f in findings if f.found]
    if as_json:
        echo_json([{**f.to_dict(), "witness": str(saved[f.attack]) if f.attack in saved else None} for f in findings])
    else:
        rows = [(f.said, f.attack, f"{f.samples:,}" if f.samples else "–", f.skipped or f.detail) for f in findings]
        table(rows, ("", "attack", "runs", ""), right=(2,))
        for name, path in saved.items():
            click.echo(f"  {name}: dpcheck verify {path}")
        skipped = sum(bool(f.skipped) for f in findings)
        graded = ", ".join(f"{sum(f.grade == g for f in chosen_findings)} {g}" for g in GRADES)
        click.echo(
            f"{count(len(findings) - skipped, 'attack')} on {claim}: {graded}"
            + (f" · not run {skipped}" if skipped else "")
            + f" · {sum(f.samples for f in findings):,} runs"
        )
    if any(GRADES.index(f.grade) <= GRADES.index(fail_on) for f in chosen_findings):
        leave(Exit.UNEXPECTED)


COMMANDS = (attack_command,)
