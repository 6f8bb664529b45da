"""No command is silent for long: whoever waits reads on stderr that it is at work, for how long, and at what."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

QUIET = 2.0
"""Seconds without a word after which a terminal shows the line, which the next word wipes out."""
FIRST = 1.5
"""Seconds without a word after which a line is written where there is no terminal: with the start, two seconds."""
EVERY = 30.0
"""There every line waits twice as long as the one before, up to so many seconds: a log is not filled."""
LOOK = 0.25
"""Seconds between two looks."""
WIPE = "\r\x1b[2K"


class Silence:
    """Looks, in a thread of its own, how long nothing was said.

    Attributes:
        now: what the command does, in words; set by `doing`.
        far: how far it is with that, in words, asked for when it is told; set by `at`.
    """

    def __init__(self, stream: TextIO) -> None:
        self.now = ""
        self.far: Callable[[], str] | None = None
        self._stream = stream
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._begun = self._last = time.monotonic()
        self._patience = FIRST
        self._whole = True
        self._shown = False
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="dpcheck-silence", daemon=True)

    def heard(self, stream: TextIO, text: str) -> int:
        """Writes what the command says, in place of the line."""
        with self._lock:
            self._wipe()
            self._last = time.monotonic()
            if text:
                self._whole = text.endswith("\n")
            return stream.write(text)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        with self._lock:
            self._wipe()

    def forked(self) -> None:
        """In a child there is no thread, and whoever held the lock is gone."""
        self._lock, self._shown = threading.Lock(), False

    def _watch(self) -> None:
        while not self._ended.wait(LOOK):
            with self._lock:
                silent = time.monotonic() - self._last
                if self._terminal and silent > QUIET and self._whole:
                    self._put(f"{WIPE}{self._said()}")
                    self._shown = True
                elif not self._terminal and silent > self._patience:
                    self._put(f"{self._said()}\n")
                    self._last = time.monotonic()
                    self._patience = min(2 * self._patience, EVERY)

    def _said(self) -> str:
        now = self.now if self.far is None else f"{self.now}, {self.far()}"
        return f"dpcheck {now}: at work for {time.monotonic() - self._begun:.0f} s; Ctrl-C stops it"

    def _wipe(self) -> None:
        if self._shown:
            self._put(WIPE)
            self._shown = False

    def _put(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone, or the stream closed: nobody reads it
            self._stream.write(text)
            self._stream.flush()


class _Heard:
    """A text stream whose every word ends the silence."""

    def __init__(self, stream: TextIO, silence: Silence) -> None:
        self._stream, self._silence = stream, silence

    def write(self, text: str) -> int:
        return self._silence.heard(self._stream, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Plain(_Heard):
    """The same of a terminal that cannot show all of Unicode, with question marks for the rest."""

    buffer = None
    """click would send UTF-8 to a terminal that shows ASCII alone, if it found what takes bytes."""


def _heard(stream: TextIO, silence: Silence) -> Any:
    if isinstance(stream, io.TextIOWrapper) and not shows_unicode(stream):
        stream.reconfigure(errors="replace")
        return _Plain(stream, silence)
    return _Heard(stream, silence)


def shows_unicode(stream: Any) -> bool:
    return codecs.lookup(stream.encoding or "utf-8").name.startswith("utf")


_watching: list[Silence] = []


def doing(text: str) -> None:
    """What the line says from here on."""
    for silence in _watching:
        silence.now, silence.far = text, None


def at(far: Callable[[], str]) -> None:
    """How far it is, which the line says too; called in another thread, and only when the line is told."""
    for silence in _watching:
        silence.far = far


@contextlib.contextmanager
def never_silent() -> Iterator[None]:
    """Until it ends, a silence is told on stderr."""
    out, err = sys.stdout, sys.stderr
    silence = Silence(err)
    heard = _heard(out, silence), _heard(err, silence)
    sys.stdout, sys.stderr = heard
    _watching.append(silence)
    silence.start()
    try:
        yield
    finally:
        silence.end()
        _watching.remove(silence)
        # Whoever put another stream in their place takes it away itself.
        if sys.stdout is heard[0]:
            sys.stdout = out
        if sys.stderr is heard[1]:
            sys.stderr = err


def _forked() -> None:
    for silence in _watching:
        silence.forked()


os.register_at_fork(after_in_child=_forked)
