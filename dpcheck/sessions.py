"""What a test session tells the audits that run inside of it, and what it hears of them.

The pytest plugin knows what is collected, the failure probability, the profile and last night's failures, and it lies
above `dpcheck.testing`; so it enters its session here, and `assert_private` asks whatever session there is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from dpcheck.auditing.audit import AuditResult

Identity = Mapping[str, str]
"""What was audited: fingerprints of the mechanism's source, the pair, the claim and the score."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How one audit is to be run.

    Attributes:
        number: of the audit within its test, from 1.
        replayed: "" for a new one; "again": what failed last, on the same sources, with the same seed; "anew": with as
            many runs as failed last, and a fresh seed, for the sources were changed.
        more: further arguments of `dp.audit`.
    """

    trials: int = 12_000
    failure_probability: float = 1e-4
    seed: int = 0
    must_detect: float | None = None
    require_power: bool = False
    number: int = 1
    replayed: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


class Session(Protocol):
    """Whoever runs tests."""

    def settle(
        self, given: Mapping[str, Any], identity: Callable[[float, int], Identity], *, own_mode: bool
    ) -> Settings:
        """The settings of the next audit.

        Args:
            given: what the test itself says; goes before anything else.
            identity: (failure probability, seed) -> what is audited.
            own_mode: the test says how it is to be run, fixed or anytime.
        """

    def hear(self, settings: Settings, result: AuditResult, message: str, witness: str, identity: Identity) -> None:
        """One audit is over; it failed its test where there is a message."""


class _Alone:
    """No session: a script, a notebook, another test runner."""

    def settle(
        self, given: Mapping[str, Any], identity: Callable[[float, int], Identity], *, own_mode: bool
    ) -> Settings:
        return Settings(**given)

    def hear(self, settings: Settings, result: AuditResult, message: str, witness: str, identity: Identity) -> None:
        pass


# Not a context variable: audits in threads of a test belong to its session too.
_current: Session = _Alone()


def current() -> Session:
    return _current


@contextlib.contextmanager
def within(session: Session) -> Iterator[None]:
    """Makes a session the current one."""
    global _current
    before, _current = _current, session
    try:
        yield
    finally:
        _current = before
