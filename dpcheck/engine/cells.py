"""One cell computed, in whatever process: what it is told to do, and what became of it."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from dpcheck import foreign
from dpcheck.carried import PACKAGE
from dpcheck.checks import Size
from dpcheck.engine import catalogue as catalogues
from dpcheck.engine import judge
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.fetching import lazily
from dpcheck.engine.layout import Layout
from dpcheck.engine.measurements import decode, encode
from dpcheck.engine.stored import CellKey
from dpcheck.errors import DpcheckError, MissingExtra
from dpcheck.excerpts import excerpt


@dataclass(frozen=True)
class CellTask:
    """One cell, by names only: how a worker is told what to do."""

    layout: Layout
    paths: tuple[Path, ...]
    check: str
    index: int
    key: CellKey


@dataclass(frozen=True)
class Done:
    """What became of one cell: its measurement as text, or why there is none."""

    task: CellTask
    measured: str | None
    seconds: float
    message: str = ""
    trace: str = ""
    skipped: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


def compute_cell(task: CellTask, catalogue: Catalogue | None = None) -> Done:
    """Measures one cell; an exception becomes part of the answer. BLAS runs on one thread everywhere, so that the
    number of workers cannot change the last bit of a sum."""
    import threadpoolctl  # type: ignore[import-untyped]

    begun = time.perf_counter()
    try:
        here = catalogue or catalogue_for(task)
        with catalogues.in_force(here), threadpoolctl.threadpool_limits(limits=1), quiet():
            size, check = cast(Size, task.key.size), here.checks[task.check]
            measured = encode(check.measure(check.cells(size)[task.index], size, task.key.seed))
            decode(measured)  # what cannot be read again is an error of the check
            here.executions.keep(task.check, task.key.sources)
    except MissingExtra as error:
        return Done(task, None, time.perf_counter() - begun, skipped=str(error))
    except KeyboardInterrupt:  # the user's
        raise
    except BaseException as error:
        return Done(task, None, time.perf_counter() - begun, said(error), trace())
    return Done(task, measured, time.perf_counter() - begun, versions=judge.versions())


def quiet() -> contextlib.AbstractContextManager[Any]:
    """What a check prints goes to stderr: standard output is the command's own."""
    return contextlib.redirect_stdout(sys.stderr)


def catalogue_for(task: CellTask) -> Catalogue:
    """This worker's catalogue, loaded once, and again when the task was planned from newer sources.

    Raises:
        DpcheckError: even so the sources are not those of the plan: they were edited while the run was under way.
    """
    for _ in range(2):
        catalogue, verified = _loaded(task.layout, task.paths)
        check = catalogue.checks.get(task.check)
        if check is not None and task.check not in verified and catalogue.fingerprint(check) == task.key.sources:
            verified[task.check] = task.key.sources
        if verified.get(task.check) == task.key.sources:
            return catalogue
        _loaded.cache_clear()
    raise DpcheckError(f"the sources of {task.check} changed while it ran; run the same command again")


@functools.lru_cache(maxsize=1)
def _loaded(layout: Layout, paths: tuple[Path, ...]) -> tuple[Catalogue, dict[str, str]]:
    """A catalogue, and the fingerprints of its checks as far as they were compared with the plan's."""
    return lazily(layout, paths), {}


def said(error: BaseException) -> str:
    """An exception in one line, with the place where it was raised, unless that line names one already."""
    try:
        text = foreign.plain(excerpt(" ".join(str(error).split())))
    except BaseException:
        text = "an exception that cannot be shown"
    if isinstance(error, MemoryError) and not text:
        text = "there is no more memory; give more by --memory, or find out what fills it"
    if isinstance(error, judge.RuleBroken):
        return text
    where = "" if PLACE.search(text) else _place(error)
    return f"{type(error).__name__}: {text}{where}"


PLACE = re.compile(r"\w\.py:\d")
"""A file and its line."""


def _place(error: BaseException) -> str:
    """Where it was raised; of what dpcheck refuses, the last line of whoever asked for it."""
    frames: list[traceback.FrameSummary] = list(traceback.extract_tb(error.__traceback__))
    if isinstance(error, DpcheckError):
        frames = [frame for frame in frames if not _of_dpcheck(Path(frame.filename))] or frames
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""


def _of_dpcheck(path: Path) -> bool:
    """Whether a file is of the package itself, and no content that it carries."""
    return path.is_relative_to(PACKAGE) and not path.is_relative_to(PACKAGE / "_content")


def trace() -> str:
    """The traceback of the exception at hand, as text that can be stored."""
    try:
        return foreign.encodable(traceback.format_exc())
    except BaseException:
        return ""
