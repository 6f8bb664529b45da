"""From the cells of a check to its verdict, and the rules that every verdict must keep."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpcheck import witnesses
from dpcheck.checks import Check, Measurement
from dpcheck.claims import Claim, standing
from dpcheck.errors import DpcheckError, WitnessRejected
from dpcheck.verdicts import Outcome, Verdict

PACKAGES = ("dpcheck", "numpy", "scipy", "sympy", "mpmath", "statsmodels", "scikit-learn")
"""Packages whose version a record names."""


class RuleBroken(DpcheckError):
    """A check concluded what its evidence cannot carry: an error of the check, not a verdict."""


def conclude(
    check: Check, measured: Sequence[tuple[Mapping[str, Any], Measurement]], claim: Claim | None = None
) -> Verdict:
    """The verdict of all cells, once it keeps the rules of `enforce`.

    A printed statement is accused by a witness or not at all: a refutation without one says that what dpcheck runs, or
    wrote down, and what is printed are two things, which is a defect of ours until a witness shows otherwise.
    """
    verdict = check.verdict(measured)
    if not isinstance(verdict, Verdict):
        raise RuleBroken(f"{check.id}: `conclude` returned {verdict!r}; return a Verdict")
    if verdict.outcome is Outcome.REFUTED and verdict.witness is None and _printed(check, claim):
        verdict = replace(
            verdict,
            outcome=Outcome.DIFFERS,
            reason=f"no witness against the paper, so the fault is ours (code, formula or check): {verdict.reason}",
        )
    enforce(check, verdict, claim)
    return verdict


def _printed(check: Check, claim: Claim | None) -> bool:
    """Whether a check speaks of a statement as the paper prints it."""
    return standing(check.label, claim) == "printed"


def enforce(check: Check, verdict: Verdict, claim: Claim | None = None) -> None:
    """Who may say HOLDS, and what it takes to say REFUTED.

    Args:
        claim: that of the check; one of our own was never printed.

    Raises:
        RuleBroken: sampling says HOLDS of a privacy claim or of an O-form; a printed statement is refuted without a
            witness, or a witness speaks of another statement, does not verify or breaks a hypothesis of the claim.
    """
    if verdict.outcome is Outcome.HOLDS and verdict.evidence == "sampled" and check.kind in ("privacy", "rate"):
        what = "a privacy claim" if check.kind == "privacy" else "a rate"
        raise RuleBroken(f"{check.id} says HOLDS by sampling, which never proves {what}; return consistent instead")
    if verdict.outcome is not Outcome.REFUTED:
        return
    if verdict.witness is None:
        if _printed(check, claim):
            raise RuleBroken(
                f"{check.id} refutes a printed statement without a witness; give the verdict a Witness that "
                "`dpcheck verify` accepts"
            )
        return
    if verdict.witness.label != check.label:
        raise RuleBroken(
            f"{check.id} refutes by a witness against {verdict.witness.label}; its label must be {check.label}"
        )
    try:
        witnesses.verify(verdict.witness, assumptions=() if claim is None else claim.assumptions)
    except WitnessRejected as error:
        raise RuleBroken(f"{check.id} refutes by a witness that does not verify: {error}") from error


def missing(check: Check) -> list[str]:
    """Optional packages that a check needs and that are not installed."""
    return [name for name in check.needs if importlib.util.find_spec(name.replace("-", "_")) is None]


def skipped(reason: str) -> Verdict:
    return Verdict(outcome=Outcome.SKIPPED, reason=reason, evidence="exact")


@functools.cache
def versions() -> Mapping[str, str]:
    """Versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit(root: Path) -> str:
    """The commit of the root's git checkout, with "+" when files were changed since; "" outside of git."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    head = git("rev-parse", "HEAD")
    if not head:
        return ""
    return head + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
