"""`--workers` of commands that run a mechanism: a pilot first, processes, and how far they are."""

from __future__ import annotations

import contextlib
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dpcheck.cli.silence import at

if TYPE_CHECKING:
    from dpcheck.privacy import Guarantee

F = TypeVar("F", bound=Callable[..., Any])
MANY = 10**8
"""Runs before which there is a pilot without --workers, too."""
EVERY = 30.0
"""Seconds between two lines where there is no terminal."""

workers_option = click.option(
    "--workers",
    type=click.IntRange(1),
    help="Processes that run MECHANISM: for slow ones. Outputs are the same for any number of them.",
)


class Runs:
    """How far the runs of a mechanism are: a bar on a terminal, a line now and then elsewhere.

    Args:
        total: runs that there will be; 0: unknown.
        then: what they will have been good for, in words.
    """

    def __init__(self, name: str, total: int, then: str) -> None:
        self._name, self._total, self._then = name, total, then
        self._before: tuple[int, float] | None = None
        self._last = (0, 0.0)
        self._spoken = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, runs: int, seconds: float) -> None:
        self._last = (runs, seconds)
        at(lambda: f"{runs:,} runs of {self._name}")
        if self._before is None:  # of the pilot
            return
        done, took = runs - self._before[0], max(seconds - self._before[1], 1e-9)
        text = self._said(done, done / took)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=text)
        elif time.monotonic() - self._spoken > EVERY:
            self._spoken = time.monotonic()
            click.echo(text, err=True)

    def _said(self, done: int, pace: float) -> str:
        from dpcheck.recorded.planning import duration

        total = f" of {self._total:,}" if self._total else ""
        left = f", about {duration((self._total - done) / pace)} left" if self._total > done and pace else ""
        return f"{self._name}: {done:,}{total} runs, {pace:,.3g} a second{left}{self._then}"

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """What is told from here on is shown."""
        self._before = self._last
        if not sys.stderr.isatty():
            yield
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = TextColumn("{task.description}", markup=False), BarColumn()
        with Progress(*columns, console=Console(stderr=True), transient=True) as self._bar:
            self._task = self._bar.add_task("", total=self._total or None)
            yield
        self._bar = None


def counted(mechanism: Any, total: int) -> Any:
    """The mechanism, whose runs are counted, for whoever waits for `total` of them to read."""
    from dpcheck.auditing.mechanisms import mechanism_name

    if not callable(mechanism):  # to be refused by whoever runs it
        return mechanism
    done = 0

    def run(data: Any, rng: Any, trials: int) -> Any:
        nonlocal done
        outputs = mechanism(data, rng, trials)
        done += trials
        return outputs

    def run_once(data: Any, rng: Any) -> Any:
        nonlocal done
        output = mechanism.runs_once(data, rng)
        done += 1
        return output

    run.__name__ = mechanism_name(mechanism)
    for name in ("__wrapped__", "runs_once"):
        if hasattr(mechanism, name):
            setattr(run, name, run_once if name == "runs_once" else mechanism.__wrapped__)
    with contextlib.suppress(TypeError, ValueError):
        run.__signature__ = inspect.signature(mechanism)  # type: ignore[attr-defined]
    at(lambda: f"{done:,} of {total:,} runs of {run.__name__}")
    return run


@contextlib.contextmanager
def running(
    mechanism: Any,
    pair: tuple[Any, Any],
    claim: Guarantee,
    workers: int | None,
    *,
    trials: int,
    failure_probability: float,
    kept: float,
    audited: bool = True,
    bounded: bool = True,
    **options: Any,
) -> Iterator[Any]:
    """The mechanism to run, once a pilot has said that so many runs can be.

    Args:
        trials: on each input; kept: outputs that are held in memory.
        audited: all of them count towards one audit of the claim.
        bounded: whoever runs it refuses more than `MOST_TRIALS` itself.
        options: of the pilot.

    Raises:
        InvalidInput: they would take a month, or more memory than there is.
    """
    from dpcheck.auditing.inputs import MOST_TRIALS
    from dpcheck.auditing.mechanisms import mechanism_name
    from dpcheck.auditing.workers import spread
    from dpcheck.recorded.pilot import pilot
    from dpcheck.recorded.planning import detectable_at_best, duration

    runs = 2 * trials
    if workers is None and (runs < MANY or (bounded and trials > MOST_TRIALS)):
        # What an anytime audit is resumed by is the mechanism itself; its looks say how far it is.
        yield counted(mechanism, runs) if bounded else mechanism
        return
    least = detectable_at_best(claim, trials, failure_probability) if audited else 0.0
    then = f"; at the end a true ε of {least:.3f} at best would be refuted" if least else ""
    told = Runs(mechanism_name(mechanism), runs if audited else 0, then)
    with spread(mechanism, workers, told) as inside:
        cost = pilot(inside, *pair, runs=runs, workers=workers or 1, **options)
        cost.check(runs, kept)
        took = f"{runs:,} runs take about {duration(runs * cost.seconds)}" if audited else ""
        click.echo(f"{cost.name}: {cost}" + (f"; {took}{then}" if took else ""), err=True)
        with told.shown():
            yield inside
