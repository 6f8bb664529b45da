"""What deciding found, in the order in which it was asked: what was executed once can be shown without that."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar, cast

from dpcheck import algebra

P = ParamSpec("P")
T = TypeVar("T")
Answer = list[str] | str | None
"""Words, which JSON can say; None: nothing was found, for the question was an error, and is asked again."""


@dataclass
class _Noted:
    known: Sequence[Answer]
    found: list[Answer] = field(default_factory=list)


_NOTED: ContextVar[_Noted | None] = ContextVar("decisions that are noted", default=None)


@contextlib.contextmanager
def noted(known: Sequence[Answer] = ()) -> Iterator[list[Answer]]:
    """Notes every answer of the functions that are `decided` below.

    Args:
        known: what was noted when the same sources were executed before; it is believed, as far as it goes.
    """
    here = _Noted(known)
    token = _NOTED.set(here)
    try:
        yield here.found
    finally:
        _NOTED.reset(token)


def decided(function: Callable[P, T]) -> Callable[P, T]:
    """A function that answers with a word, or with a tuple of words, and depends on nothing but its arguments."""

    @functools.wraps(function)
    def decide(*args: P.args, **options: P.kwargs) -> T:
        here = _NOTED.get()
        if here is None:
            return function(*args, **options)
        place = len(here.found)
        known = here.known[place] if place < len(here.known) else None
        here.found.append(known)
        if known is not None:
            return cast(T, known if isinstance(known, str) else tuple(known))
        answer = function(*args, **options)
        here.found[place] = _plain(answer)
        return answer

    return decide


def _plain(answer: Any) -> Answer:
    return list(answer) if isinstance(answer, tuple) else str(answer)


def readable(kept: Any) -> list[Answer]:
    """What was kept, where it is a list of answers; else nothing."""
    sound = isinstance(kept, list) and all(
        each is None or isinstance(each, str) or (isinstance(each, list) and all(isinstance(x, str) for x in each))
        for each in kept
    )
    return kept if sound else []


equality, inequality, resolution = decided(algebra.equality), decided(algebra.inequality), decided(algebra.resolution)
