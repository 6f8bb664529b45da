"""What a check reads: bounds of which claims, and which lines of which algorithms."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Any

from dpcheck.carried import PACKAGE
from dpcheck.checks import Check, Size
from dpcheck.claims import Claim
from dpcheck.engine import catalogue as catalogues
from dpcheck.engine import judge
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.measurements import decode, encode
from dpcheck.verdicts import Verdict

FIELDS = frozenset({"explicit", "order", "assumptions"})
"""Of a claim: who asks for one of them reads its formula."""
EVERYTHING = str(PACKAGE) + os.sep
ALGORITHMS = str(PACKAGE / "algorithms") + os.sep
"""Where every line is watched; elsewhere in the package, which functions are called."""


@dataclass(frozen=True)
class Trace:
    """One undisturbed run of a check in a fresh process.

    Attributes:
        outcome, text: its verdict, and a digest of all that this says; "" and the exception where it raised.
        expected: whether that is no news.
        seconds: CPU time, observed.
        reads: labels of the claims of which it asked for a bound or the assumptions.
        lines: file -> lines of it that ran, of an algorithm; else the first lines of the functions that were called.
        watched: whether lines were looked at, which takes longer; mutants of claims need none.
        dear: it was stopped, for it takes longer than all checks of a mutant may: `reads` is what it had read by then.
    """

    check: str
    outcome: str
    text: str
    expected: bool
    seconds: float
    reads: tuple[str, ...]
    lines: Mapping[str, tuple[int, ...]]
    watched: bool = True
    dear: bool = False

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Trace:
        lines = {name: tuple(numbers) for name, numbers in plain["lines"].items()}
        return cls(**{**plain, "reads": tuple(plain["reads"]), "lines": lines})

    def runs(self, path: str, first: int, last: int) -> bool:
        return any(first <= line <= last for line in self.lines.get(path, ()))


def verdict_of(catalogue: Catalogue, check: Check, size: Size, seed: int) -> Verdict:
    """The check's verdict from all its cells, computed here and now; raises what the check, or a rule, raises."""
    if hindered := judge.hindered(check, size):
        return judge.skipped(hindered)
    with catalogues.in_force(catalogue):
        measured = [(cell, decode(encode(check.measure(cell, size, seed)))) for cell in check.cells(size)]
        return judge.conclude(check, measured, catalogue.claims.get(check.label))


def said(verdict: Verdict) -> str:
    """A digest of a verdict: another one has other words, numbers or points."""
    return hashlib.sha256(encode(verdict).encode()).hexdigest()


class Stopped(BaseException):
    """The process has no CPU time left: no check may take it for an error of its own."""


def traced(
    catalogue: Catalogue, check: Check, size: Size, seed: int, folders: tuple[str, ...] = (), *, watched: bool = True
) -> Trace:
    """Runs a check and watches it. To be called in a process in which nothing ran before: caches hide reads."""
    reads: set[str] = set()
    lines: dict[str, set[int]] = {}
    begun, dear = time.process_time(), False
    with _reading(reads), _running(lines, (ALGORITHMS, *folders)) if watched else contextlib.nullcontext():
        try:
            signal.signal(signal.SIGXCPU, _stop)
            verdict = verdict_of(catalogue, check, size, seed)
            outcome, text, expected = str(verdict.outcome.value), said(verdict), verdict.outcome in check.expect
        except Exception as error:
            outcome, text, expected = "", f"{type(error).__name__}: {error}", False
        except Stopped:
            outcome, text, expected, dear = "", "", False, True
    seconds = time.process_time() - begun
    ran = {name: tuple(sorted(numbers)) for name, numbers in lines.items()}
    return Trace(check.id, outcome, text, expected, seconds, tuple(sorted(reads)), ran, watched, dear)


def _stop(signum: int, frame: FrameType | None) -> None:
    raise Stopped


@contextlib.contextmanager
def _reading(words: set[str]) -> Iterator[None]:
    plain = Claim.__getattribute__

    def watched(self: Claim, name: str) -> Any:
        if name in FIELDS:
            words.add(plain(self, "label"))
        return plain(self, name)

    Claim.__getattribute__ = watched  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        del Claim.__getattribute__


@contextlib.contextmanager
def _running(by_name: dict[str, set[int]], folders: tuple[str, ...]) -> Iterator[None]:
    # What traces is not traced itself, so that no coverage of it is measured.
    def inside(frame: FrameType, event: str, argument: Any) -> Any:  # pragma: no cover
        if event == "line":
            by_name[frame.f_code.co_filename].add(frame.f_lineno)
        return inside

    def called(frame: FrameType, event: str, argument: Any) -> Any:  # pragma: no cover
        name = frame.f_code.co_filename
        if not name.startswith(folders):
            if name.startswith(EVERYTHING):
                by_name.setdefault(name, set()).add(frame.f_lineno)
            return None
        by_name.setdefault(name, set()).add(frame.f_lineno)
        return inside

    before = sys.gettrace()
    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(before)
