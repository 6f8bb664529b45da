"""Anytime audits from the command line: where they are, what is kept of them, and how they are stopped."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from dpcheck.cli.common import complain
from dpcheck.cli.silence import at
from dpcheck.errors import InvalidInput

if TYPE_CHECKING:
    from dpcheck.auditing.audit import AuditResult, Look
    from dpcheck.engine.store import Store


class Watch:
    """Called at every look of an anytime audit: says where it is, keeps its state, and stops it on Ctrl-C."""

    def __init__(self, store: Store, name: str, until: str | None) -> None:
        self._store, self._name, self._until = store, name, until
        self._spoken = self._kept = time.monotonic()
        self._interrupted = self._smaller = False
        self._last: Look | None = None

    def stored(self, mechanism: Any, pair: tuple[Any, Any], claim: Any, **options: Any) -> dict[str, Any]:
        """The state to go on with. Raises `InvalidInput` when there is none, or only of another audit."""
        from dpcheck.auditing.identity import check_same, identity

        states = self._store.audits(self._name)
        if not states:
            raise InvalidInput(
                f"there is no anytime audit of {self._name} in {self._store.path}; leave out --resume to begin one"
            )
        now = identity(mechanism, pair, claim, **options)
        same = [state for state in states if state.get("audit") == now]
        if not same:
            check_same(states[0].get("audit"), now, self._name)
        return same[0]

    def __call__(self, look: Look) -> bool:
        now, self._last = time.monotonic(), look
        at(lambda: f"{look.samples:,} runs of {self._name}")
        if now - self._spoken > 5:
            self._spoken = now
            click.echo(f"{look.samples:,} runs  certified ε ≥ {look.epsilon_lower:.3f}", err=True)
        if now - self._kept > 20:
            self._kept = now
            self._keep(look.state())
        return self._interrupted or (look.refuted and self._until == "refuted")

    def finish(self, result: AuditResult) -> None:
        assert result.state is not None
        self._keep(result.state)
        if self._interrupted:
            complain(f"stopped after {result.counts['samples']:,} runs; what they say is valid")

    def rescue(self) -> None:
        """Keeps what there is of an audit that ends by an error."""
        if self._last is not None:
            self._keep(self._last.state())
            complain(f"{self._last.samples:,} runs of {self._name} are kept; --resume goes on")

    def _keep(self, state: Mapping[str, Any]) -> None:
        """A larger audit that is kept already stays; this is said once."""
        if not self._store.keep_audit(self._name, state) and not self._smaller:
            self._smaller = True
            complain(
                f"a larger audit of {self._name} is kept in {self._store.path} and stays there; --resume goes on from "
                "it, and this one is not kept until it has seen more"
            )

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True


@contextlib.contextmanager
def watched(path: Path, name: str, until: str | None) -> Iterator[Watch]:
    """A watch with its store; the first Ctrl-C ends the audit in good order, the second one at once."""
    from dpcheck.engine.store import Store

    with Store(path) as store:
        watch = Watch(store, name, until)
        before = signal.signal(signal.SIGINT, watch.interrupt)
        try:
            yield watch
        except BaseException:
            watch.rescue()
            raise
        finally:
            signal.signal(signal.SIGINT, before)
