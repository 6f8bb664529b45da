"""Whoever waits for a command reads within seconds that it is at work, and nothing of that stays in what it says."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.auditing.mechanisms import mechanism_name
from dpcheck.cli import silence, slow
from dpcheck.cli.progress import ProgressLines

SLOW = """
import time
import click
from dpcheck.cli import silence
from dpcheck.cli.common import Dpcheck

@click.group(cls=Dpcheck)
def main():
    pass

def labels(context, parameter, incomplete):
    time.sleep(5)
    return ["tsybakov/thm-1"]

@main.command("slow")
@click.argument("label", required=False, shell_complete=labels)
def slow(label):
    time.sleep(5)
    click.echo("done")

main(prog_name="dpcheck")
"""


class Terminal(io.StringIO):
    terminal = True

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal on which a silence of a tenth of a second is told."""
    monkeypatch.setattr(silence, "LOOK", 0.02)
    monkeypatch.setattr(silence, "QUIET", 0.1)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


@contextlib.contextmanager
def watched(terminal: Terminal) -> Iterator[None]:
    """It is both streams, and watched. (pytest puts streams of its own there between a fixture and its test.)"""
    with contextlib.redirect_stdout(terminal), contextlib.redirect_stderr(terminal):
        with silence.never_silent():
            yield
        assert sys.stdout is terminal
        assert sys.stderr is terminal


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def in_a_terminal(*arguments: str, **environment: str) -> list[tuple[float, bytes]]:
    """What a slow command says in a real terminal, and when."""
    ours, theirs = pty.openpty()
    heard: list[tuple[float, bytes]] = []
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, *arguments],
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", **environment},
    ) as process:
        os.close(theirs)
        while True:
            try:
                text = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not text:
                break
            heard.append((time.monotonic(), text))
    os.close(ours)
    assert process.returncode == 0
    return heard


def test_a_command_that_says_nothing_for_two_seconds_is_told_to_be_at_work():
    """At no moment of its five seconds were there more than three without a word."""
    heard = in_a_terminal("slow")
    everything = b"".join(text for _, text in heard)
    assert b"dpcheck slow: at work for 2 s; Ctrl-C stops it" in everything
    gaps = [b - a for (a, _), (b, _) in itertools.pairwise(heard)]
    assert len(gaps) >= 3
    assert max(gaps) < 3.0
    assert everything.endswith(b"\x1b[2Kdone\r\n")


def test_nothing_is_said_over_the_line_that_a_shell_completes():
    asked = {"_DPCHECK_COMPLETE": "bash_complete", "COMP_WORDS": "dpcheck slow tsy", "COMP_CWORD": "2"}
    assert b"".join(text for _, text in in_a_terminal(**asked)) == b"plain,tsybakov/thm-1\r\n"


def test_the_line_is_wiped_out_by_what_comes_and_names_what_is_done(said):
    with watched(said):
        silence.doing("report, drawing")
        print("begun")
        until(lambda: "at work" in said.getvalue())
        print("rest")
        after = said.getvalue().rpartition("begun\n")[2]
    assert after.startswith(f"{silence.WIPE}dpcheck report, drawing: at work for 0 s; Ctrl-C stops it")
    assert after.endswith(f"{silence.WIPE}rest\n")


def test_half_a_line_is_left_alone(said):
    with watched(said):
        sys.stdout.write("sure? ")
        time.sleep(0.5)
    assert said.getvalue() == "sure? "


def test_a_log_has_a_line_within_two_seconds_and_what_is_printed_stays_as_it_is():
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, "slow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        out, log = process.communicate(timeout=60)
    assert out == "done\n"
    assert log.splitlines()[0] == "dpcheck slow: at work for 2 s; Ctrl-C stops it"
    assert len(log.splitlines()) == 2
    assert silence.WIPE not in log


def test_where_there_is_no_terminal_every_line_waits_longer_than_the_one_before(said, monkeypatch):
    monkeypatch.setattr(said, "terminal", False)
    with watched(said):
        time.sleep(0.5)
    assert said.getvalue() == ""
    monkeypatch.setattr(silence, "FIRST", 0.05)
    monkeypatch.setattr(silence, "EVERY", 0.4)
    with watched(said):
        watching = silence._watching[-1]
        silence.doing("verify")
        until(lambda: said.getvalue().count("\n") > 1)
        print("a word")
        until(lambda: said.getvalue().count("\n") > 5)
        assert watching._patience == 0.4, "a word does not shorten it: the log would have a line for every word"
    assert silence.WIPE not in said.getvalue()
    assert said.getvalue().startswith("dpcheck verify: at work for 0 s; Ctrl-C stops it\n")


def test_the_line_says_how_far_it_is_when_it_is_told(said):
    with watched(said):
        cells = ProgressLines("lp", 1)
        silence.doing("run")
        cells.started(1200, 0)
        until(lambda: "dpcheck run, 0 of 1,200 cells done: at work" in said.getvalue())
        cells.computed("lp/thm-1")
        cells.waiting([("lp/thm-2", 1.0), ("lp/thm-3", 4.0)])
        until(lambda: "dpcheck run, 1 of 1,200 cells done, at lp/thm-3 for 4 s: at work" in said.getvalue())
        silence.doing("report")
        until(lambda: "dpcheck report: at work" in said.getvalue())


@pytest.mark.parametrize("per_call", [False, True])
def test_runs_of_a_mechanism_are_counted_and_nothing_else_changes(said, per_call):
    def noisy(data, rng, trials=None):
        return data.sum() + rng.laplace(size=trials)

    def shifted(data, rng):
        return noisy(data, rng)

    mechanism = dp.vectorize(shifted) if per_call else noisy
    pair = np.zeros(2), np.array([0.0, 1.0])
    with watched(said):
        counting = slow.counted(mechanism, 800)
        assert mechanism_name(counting) == mechanism_name(mechanism)
        with_count, without = (
            dp.audit(each, *pair, dp.PureDP(epsilon=1.0), trials=400).to_dict() for each in (counting, mechanism)
        )
        assert silence._watching[-1].far() == f"800 of 800 runs of {mechanism_name(mechanism)}"
    for timed in (with_count, without):
        del timed["mechanism_seconds"], timed["seconds"]
    assert with_count == without


def test_a_forked_child_speaks_though_the_lock_was_held(said):
    with watched(said):
        watching = silence._watching[-1]
        with watching._lock:
            child = os.fork()
            if not child:
                print("from the child")  # would wait for ever
                os._exit(0)
        until(lambda: os.waitpid(child, os.WNOHANG) != (0, 0))
