"""From the cells of a check to its verdict, and the rules that every verdict must keep."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import math
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, get_args

from dpcheck.checks import NEVER_SAMPLED, Check, Measurement, Size
from dpcheck.errors import DpcheckError, WitnessRejected
from dpcheck.foreign import shortened
from dpcheck.labels import Stated, standing
from dpcheck.verdicts import Outcome, Verdict, Witness

if TYPE_CHECKING:
    from dpcheck.claims import Claim
    from dpcheck.witnesses import Violation

PACKAGES = ("dpcheck", "numpy", "scipy", "sympy", "mpmath", "statsmodels", "scikit-learn")
"""Packages whose version a record names."""


DIFFERS = "without a witness nothing is said against the paper; the code, formula or check differs from what is printed"


class RuleBroken(DpcheckError):
    """A check concluded what its evidence cannot carry: an error of the check, not a verdict."""


def conclude(
    check: Check, measured: Sequence[tuple[Mapping[str, Any], Measurement]], claim: Claim | None = None
) -> Verdict:
    """The verdict of all cells, once it keeps the rules of `enforce`.

    A printed statement is accused by a witness or not at all: a refutation without one says that what is run, or was
    written down, and what is printed are two things, whoever wrote it, until a witness shows otherwise.
    """
    verdict = check.verdict(measured)
    if not isinstance(verdict, Verdict):
        raise RuleBroken(f"{check.id}: `conclude` returned {shortened(verdict)}; return a Verdict")
    from dpcheck.harness import budget  # brings the accountants along, and who only reads verdicts needs none

    verdict = budget.tabulated(verdict, measured)
    if verdict.outcome is Outcome.REFUTED and verdict.witness is None and _printed(check, claim):
        verdict = replace(
            verdict,
            outcome=Outcome.DIFFERS,
            reason=f"{DIFFERS}: {verdict.reason}",
        )
    enforce(check, verdict, claim)
    return verdict


def _printed(check: Judged, claim: Assuming | None) -> bool:
    """Whether a check speaks of a statement as the paper prints it."""
    return standing(check.label, claim) == "printed"


class Judged(Protocol):
    """What the rules ask of a check."""

    @property
    def id(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def failure_probability(self) -> float: ...
    @property
    def expect(self) -> frozenset[Outcome]: ...


class Assuming(Stated, Protocol):
    """What they ask of its claim."""

    @property
    def assumptions(self) -> tuple[Any, ...]: ...


def enforce(
    check: Judged, verdict: Verdict, claim: Assuming | None = None, *, verify: Verify | None = None, fresh: bool = True
) -> None:
    """Who may say HOLDS, what it takes to say REFUTED, and how much a check may spend.

    The same rules hold for a verdict that a check has just reached and for one that was read from a file.

    Args:
        claim: that of the check; one of our own was never printed.
        verify: recomputes the witness, default `dpcheck.witnesses.verify`; of a foreign one, `Isolated.verify`.
        fresh: whether the check is as it was when it said this; else it may have been allowed to spend more.

    Raises:
        RuleBroken: sampling says HOLDS of a privacy claim or of an O-form, or speaks in a check that never samples;
            the verdict is wrong with a larger probability than the check declares; a printed statement is refuted
            without a witness, or a witness speaks of another statement, does not verify, breaks a hypothesis of the
            claim, or rests on counted guesses against a claim that is not one of privacy.
    """
    if verdict.evidence == "sampled" and check.kind in NEVER_SAMPLED:
        raise RuleBroken(f"{check.id} samples, which a {check.kind} check never does; give it another kind")
    if fresh and verdict.failure_probability > check.failure_probability * (1 + 1e-9):
        raise RuleBroken(
            f"{check.id} is wrong with probability {verdict.failure_probability:.2g}, and declares "
            f"{check.failure_probability:.2g}; share it among its verdicts (`context.failure_probability` is of a cell)"
        )
    by_chance = verdict.evidence == "sampled" or verdict.failure_probability > 0
    if verdict.outcome is Outcome.HOLDS and by_chance and check.kind in ("privacy", "rate"):
        what = "a privacy claim" if check.kind == "privacy" else "a rate"
        raise RuleBroken(f"{check.id} says HOLDS by sampling, which never proves {what}; return consistent instead")
    if verdict.witness is not None:
        _enforce_witness(check, verdict, verdict.witness, claim, verify)
    elif verdict.outcome is Outcome.REFUTED and _printed(check, claim):
        raise RuleBroken(
            f"{check.id} refutes a printed statement without a witness; give the verdict a Witness that "
            "`dpcheck verify` accepts"
        )


def _enforce_witness(
    check: Judged, verdict: Verdict, witness: Witness, claim: Assuming | None, verify: Verify | None
) -> None:
    if verdict.outcome is not Outcome.REFUTED:
        raise RuleBroken(f"{check.id} has a witness and says {verdict.outcome.value}; a witness is for a refutation")
    if witness.label != check.label:
        cure = "; audit by `context.audit`, which names it" if witness.label.startswith("audit/") else ""
        raise RuleBroken(
            f"{check.id} refutes by a witness against {witness.label}; its label must be {check.label}{cure}"
        )
    assumptions = () if claim is None else claim.assumptions
    if verify is None:
        from dpcheck import witnesses

        verify = witnesses.verify
    try:
        verify(witness, assumptions=assumptions, private=check.kind == "privacy")
    except WitnessRejected as error:
        raise RuleBroken(f"{check.id} refutes by a witness that does not verify: {error}") from error


def enforce_told(verdict: Verdict) -> None:
    """What a record says that carries no checksum: that sampling refutes, it believes of a witness or of its numbers.

    A line of a committed file is what anyone may have typed; an exact refutation without a witness is computed again
    by its check and comes out the same, one by sampling need not.

    Raises:
        RuleBroken: there is no witness, and none of the numbers lies beyond what is claimed.
    """
    if verdict.outcome is not Outcome.REFUTED or verdict.evidence != "sampled" or verdict.witness is not None:
        return
    if not _shown(verdict):
        raise RuleBroken(
            "it says refuted, by sampling, without a witness, and no number of it lies beyond what is claimed; "
            "`dpcheck run` measures it anew (a check shows it by a witness, a confidence limit beside `claimed`, or "
            "a `severity` above 1)"
        )


def _shown(verdict: Verdict) -> bool:
    """Whether the numbers of a sampled refutation say so too, in the names that `dpcheck.harness` gives them."""
    numbers = {
        name: float(value)
        for name, value in verdict.numbers.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if "measured exponent" in numbers:
        return False  # a row of exponents says met, or not: it never refutes
    if {"slope", "half-width"} <= numbers.keys():  # the severity is the slope, upwards where that is what is forbidden
        rise = abs(numbers["slope"]) if verdict.severity is None else verdict.severity
        return rise > numbers["half-width"]
    chances = [v for name, v in numbers.items() if name.startswith(("p-value of", "p of as"))]
    if chances:  # those of a level may lie on either side
        return min(chances) <= verdict.failure_probability
    if verdict.severity is not None and not verdict.severity > 1:
        return False
    if "log e-value" in numbers:
        return numbers["log e-value"] >= -math.log(verdict.failure_probability)
    if "violations" in numbers:
        return numbers["violations"] > 0
    return _beyond(verdict, numbers)


def _beyond(verdict: Verdict, numbers: Mapping[str, float]) -> bool:
    """Whether a confidence limit, or an estimate by four of its errors, lies beyond what is claimed."""
    least, most = _first(numbers, ("lower",)), _first(numbers, ("upper", "largest upper bound"))
    if "beta" in numbers:  # so often may the bound be exceeded
        return least is not None and least > numbers["beta"]
    claimed, found = (_first(numbers, names) for names in (("claimed", "needed", "bound"), ("mean", "delta")))
    if claimed is not None and (least is not None or most is not None):
        return (least is not None and least > claimed) or (most is not None and most < claimed)
    if claimed is not None and found is not None and "worst instance" in verdict.numbers:  # all have to exceed it
        return found < claimed
    if claimed is not None and found is not None and "se" in numbers:
        return found - 4 * numbers["se"] > claimed
    return verdict.severity is not None  # above 1, as was seen


def _first(numbers: Mapping[str, float], names: Iterable[str]) -> float | None:
    return next((numbers[name] for name in names if name in numbers), None)


class Verify(Protocol):
    """`dpcheck.witnesses.verify`, or one in a process of its own."""

    def __call__(self, witness: Witness, /, *, assumptions: Sequence[Any], private: bool) -> Violation: ...


def missing(check: Check) -> list[str]:
    """Optional packages that a check needs and that are not installed, or not in the version that it names."""
    return [name for name in check.needs if not _installed(name)]


def _installed(name: str) -> bool:
    """Of a module ("dp-accounting"), or of a distribution in a version ("opendp==0.15.1")."""
    package, _, version = name.partition("==")
    if not version:
        return importlib.util.find_spec(package.replace("-", "_")) is not None
    try:
        return importlib.metadata.version(package) == version
    except importlib.metadata.PackageNotFoundError:
        return False


def hindered(check: Check, size: Size) -> str:
    """Why a check says nothing at a size, in a few words; "" where it can be run."""
    if lacks := missing(check):
        return f"needs {' and '.join(lacks)}, which is not installed"
    if check.cells(size):
        return ""
    first = next(each for each in get_args(Size) if check.cells(each))
    return f"too long for size {size}: measured from size {first} on, by `dpcheck run {check.id} --size {first}`"


def skipped(reason: str) -> Verdict:
    return Verdict(outcome=Outcome.SKIPPED, reason=reason, evidence="exact")


def of_cells(by_names: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The versions that computed some cells: "1.2 and 1.3" of a package where these differ."""
    seen: dict[str, set[str]] = {}
    for each in by_names:
        for name, version in each.items():
            seen.setdefault(name, set()).add(version)
    order = ["python", *PACKAGES]
    names = sorted(seen, key=lambda name: (order.index(name) if name in order else len(order), name))
    return {name: " and ".join(sorted(seen[name])) for name in names}


@functools.cache
def versions() -> Mapping[str, str]:
    """Versions of Python and of the packages that results depend on."""
    by_name = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            by_name[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return by_name


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
