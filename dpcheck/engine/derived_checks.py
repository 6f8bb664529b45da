"""Derivations as checks: the engine makes `<label>::derivation` of each, symbolic and the same at every size."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from dpcheck.checks import Check, Context
from dpcheck.derivations import Derivation, ExecutedDerivation
from dpcheck.errors import UnknownLabel
from dpcheck.verdicts import Verdict

NAME = "derivation"
Transcripts = Callable[[str], ExecutedDerivation]
"""Label -> the executed derivation of its statement; raises `UnknownLabel` where there is none."""


def check_of(derivation: Derivation, transcripts: Transcripts) -> Check:
    """The check that executes a derivation; shown under every claim that it concludes, and run once."""

    @functools.wraps(derivation.function)  # its place and its docstring are those of the derivation
    def execute(context: Context) -> Verdict:
        steps = transcripts(context.label)
        return steps.verdict(tuple(_in_words(steps, transcripts)))

    execute.__name__ = NAME
    return Check(derivation.label, "symbolic", execute, expect=derivation.expect, also=derivation.also)


def _in_words(transcript: ExecutedDerivation, transcripts: Transcripts) -> Iterator[str]:
    """The claims that a derivation goes out from, directly or not, whose own derivations are in words, in part."""
    seen, queue = {transcript.label}, list(transcript.used)
    while queue:
        label = queue.pop(0)
        try:
            behind = transcripts(label)
        except UnknownLabel:  # nothing to derive: a premise, which the verdict names
            continue
        if label in seen or label not in behind.reached:
            continue
        seen.add(label)
        queue += behind.used
        if behind.in_words:
            yield label
