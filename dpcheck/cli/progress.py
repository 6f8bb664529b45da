"""What a run shows while it is under way, on stderr: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

import click

from dpcheck.cli.common import coloured, count
from dpcheck.cli.silence import at
from dpcheck.engine.records import Record
from dpcheck.engine.run import Listener
from dpcheck.engine.store import Failure

SHARED = "another run is at work on this store: this one begins at the other end, and takes what that one finishes"


class Counting(Listener):
    """Counts what is done, and says it when the command says nothing: `3 of 12 cells done, at lp/thm-1 for 4 s`."""

    unit = "cell"

    def __init__(self) -> None:
        self._cells = self._done = 0
        self._busy = ""

    def started(self, cells: int, stored: int) -> None:
        self._cells = cells
        at(lambda: f"{self._done:,} of {count(self._cells, self.unit)} done{self._busy}")

    def waiting(self, busy: list[tuple[str, float]]) -> None:
        check, seconds = max(busy, key=lambda each: each[1], default=("", 0.0))
        self._busy = f", at {check} for {seconds:.0f} s" if check else ""

    def computed(self, check: str) -> None:
        self._done += 1
        self._busy = ""


class ProgressLines(Counting):
    """One line for every check that has its verdict, and one a minute for long checks."""

    def __init__(self, title: str, checks: int) -> None:
        super().__init__()
        self._title, self._checks = title, checks
        self._finished = 0
        self._spoken = time.monotonic()

    def started(self, cells: int, stored: int) -> None:
        super().started(cells, stored)
        held = f", {stored:,} in the store already" if stored else ""
        click.echo(f"{self._title}: {count(self._checks, 'check')}, {count(cells, 'cell')} to compute{held}", err=True)

    def shared(self) -> None:
        click.echo(SHARED, err=True)

    def waiting(self, busy: list[tuple[str, float]]) -> None:
        super().waiting(busy)
        if busy and time.monotonic() - self._spoken > 60:
            check, seconds = max(busy, key=lambda each: each[1])
            self._say(f"[{self._done}/{self._cells} cells] {check} for {seconds:.0f} s; --timeout would stop it")

    def computed(self, check: str) -> None:
        super().computed(check)
        if time.monotonic() - self._spoken > 60:
            self._say(f"[{self._done}/{self._cells} cells] {check}")

    def concluded(self, record: Record) -> None:
        unexpected = "" if record.expected else "  unexpected"
        self._line(record.verdict.outcome.value, record.check, record.verdict.reason + unexpected)

    def failed(self, failure: Failure) -> None:
        self._line("error", failure.key.check, failure.message)

    def _line(self, outcome: str, check: str, text: str) -> None:
        self._finished += 1
        wide = len(str(self._checks))
        self._say(f"[{self._finished:>{wide}}/{self._checks}] {coloured(f'{outcome:<12}', outcome)}  {check}  {text}")

    def _say(self, text: str) -> None:
        self._spoken = time.monotonic()
        click.echo(text, err=True)

    def __enter__(self) -> ProgressLines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        pass


class Remaining(ProgressLines):
    """A line for every size that is measured, with an estimate of the time that the others take."""

    unit = "size"

    def __init__(self, title: str, checks: int) -> None:
        super().__init__(title, checks)
        self._begun = time.monotonic()

    def computed(self, check: str) -> None:
        super().computed(check)
        left = (time.monotonic() - self._begun) / self._done * (self._cells - self._done)
        click.echo(f"[{self._done}/{self._cells} sizes, about {left:.0f} s left] {check}", err=True)


class Bar(Counting):
    """`tsybakov  ━━━━━━━━━━  58/58  0:01:12`."""

    def __init__(self, title: str) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns: tuple[Any, ...] = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[now]}"),
        )
        self._progress = Progress(*columns, console=Console(stderr=True))
        self._task = self._progress.add_task(title, total=None, now="")

    def started(self, cells: int, stored: int) -> None:
        super().started(cells, stored)
        self._progress.update(self._task, total=cells + stored, completed=stored)

    def shared(self) -> None:
        self._progress.console.print(SHARED, markup=False, highlight=False)

    def waiting(self, busy: list[tuple[str, float]]) -> None:
        super().waiting(busy)
        if busy:
            check, seconds = max(busy, key=lambda each: each[1])
            self._progress.update(self._task, now=f"{check} for {seconds:.0f} s")

    def computed(self, check: str) -> None:
        super().computed(check)
        self._progress.update(self._task, advance=1, now=check)

    def failed(self, failure: Failure) -> None:
        self._progress.console.print(f"error  {failure.key.check}  {failure.message}", markup=False, highlight=False)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._progress.update(self._task, now="")
        self._progress.stop()


def progress(title: str, checks: int) -> ProgressLines | Bar:
    """The bar on a terminal, lines elsewhere."""
    return Bar(title) if sys.stderr.isatty() else ProgressLines(title, checks)
