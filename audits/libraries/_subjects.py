"""How a library's mechanism is put under audit.

A mechanism is made and run by the library alone; the pair is two values (or vectors of scores, or tables of counts) at
exactly the distance for which the guarantee was asked. diffprivlib takes a seeded generator, so its audits repeat;
OpenDP draws from the operating system, so its counts differ from run to run and only their confidence is fixed.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.auditing import attacks
from dpcheck.auditing.audit import audit
from dpcheck.checks import Context
from dpcheck.errors import MissingExtra
from dpcheck.privacy import Guarantee
from dpcheck.verdicts import Verdict, consistent, refuted, undecided

Mechanism = Callable[[Any, np.random.Generator, int], Any]
ZERO, ONE = np.array([0.0]), np.array([1.0])


def opendp() -> Any:
    """OpenDP's prelude, with what the audits need enabled. Raises `MissingExtra`."""
    try:
        import opendp.prelude as prelude
    except ImportError as error:
        raise MissingExtra("an audit of OpenDP", "subjects") from error
    prelude.enable_features("contrib", "honest-but-curious")
    return prelude


def diffprivlib() -> Any:
    """diffprivlib's mechanisms; it does not import beside scikit-learn 1.7 or later. Raises `MissingExtra`."""
    try:
        from diffprivlib import mechanisms
    except ImportError as error:
        raise MissingExtra("an audit of diffprivlib (beside scikit-learn < 1.7)", "subjects") from error
    return mechanisms


def named(package: str, name: str, mechanism: Mechanism) -> Mechanism:
    """The mechanism under the name that messages and witnesses show, with the version of its library."""
    mechanism.__name__ = f"{package} {importlib.metadata.version(package)} {name}"
    return mechanism


def one_by_one(make: Callable[[Any], Callable[[], Any]]) -> Mechanism:
    """A mechanism that gives one output a call: `make(data)` returns the call."""

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> Any:
        call = make(data)
        return np.array([call() for _ in range(trials)])

    return mechanism


NOT_REFUTED = ("consistent", "undecided")
"""What an audit of a library is expected to say: few runs of a slow mechanism may have seen nothing at all."""


def judged(
    context: Context,
    mechanism: Mechanism,
    data: Any,
    neighbour: Any,
    claim: Guarantee,
    *,
    trials: tuple[int, int, int] = (1_000, 20_000, 200_000),
    **options: Any,
) -> Verdict:
    """An audit at the size of the run (runs a side at smoke, standard and full)."""
    result = audit(
        mechanism,
        data,
        neighbour,
        claim,
        trials=int(context.scale(*trials)),
        failure_probability=context.failure_probability,
        seed=context.seed,
        adjacency=None,
        label=context.label,
        **options,
    )
    verdict = result.verdict()
    if verdict.outcome == "refuted" and verdict.witness is None:
        return undecided(
            f"{verdict.reason}; too narrowly for a witness", "sampled", failure_probability=verdict.failure_probability
        )
    return verdict


def last_bits(context: Context, mechanism: Mechanism, claim: Guarantee, *, trials: tuple[int, int]) -> Verdict:
    """The precision attack on the values 0 and 1."""
    finding = attacks.granularity(
        mechanism,
        ZERO,
        ONE,
        claim,
        trials=int(context.scale(*trials)),
        failure_probability=context.failure_probability,
        seed=context.seed,
        adjacency=None,
        label=context.label,
    )
    numbers = {"epsilon_lower": finding.epsilon_lower, "runs": finding.samples}
    said: dict[str, Any] = {"failure_probability": context.failure_probability, "numbers": numbers}
    if finding.found and finding.witness is not None:
        return refuted(f"{finding.detail} ({finding.grade})", "sampled", witness=finding.witness, **said)
    notices = f"last bits that tell 0 from 1 in {finding.samples:,} runs"
    return consistent(f"the values 0 and 1: {finding.detail}", "sampled", notices=notices, **said)
