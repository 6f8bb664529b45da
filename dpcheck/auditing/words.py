"""The rule of an audit in words, where outputs are words themselves: "output = 'yes'", not the score of 'yes'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.cells import Partition
from dpcheck.auditing.mechanisms import Outputs
from dpcheck.auditing.rules import Rule
from dpcheck.auditing.scores import Scorer, row_keys

MOST = 200
"""Outputs that are remembered by name: the most frequent ones."""
SHOWN = 3
LONGEST = 40

Example = tuple[str, float]
"""An output in words, and its score."""


def examples(outputs: Sequence[Outputs], scorer: Scorer) -> tuple[Example, ...]:
    """The most frequent outputs of some batches."""
    keys = row_keys(np.concatenate([batch.matrix for batch in outputs]) + 0.0)
    values = np.concatenate([scorer(batch) for batch in outputs])
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    starts = np.cumsum([0, *(len(batch) for batch in outputs)])
    pairs = []
    for place in first[np.argsort(-counts, kind="stable")][:MOST]:
        batch = int(np.searchsorted(starts, place, side="right")) - 1
        pairs.append((_text(outputs[batch].raw, int(place - starts[batch])), float(values[place])))
    return tuple(pairs)


def describe(known: Sequence[Example], cells: Partition, rule: Rule, sign: int) -> str:
    """The outputs on which the rule guesses `data` (sign 1) or `neighbour` (-1): "output = 'a' or 'b'"; or "never"."""
    place = cells.index(np.array([score for _, score in known]))
    level = np.where(np.isnan([score for _, score in known]), 0, rule.level[place])
    guessed: NDArray[np.intp] = np.flatnonzero(np.sign(level) == sign)
    if len(guessed) == 0:
        return "never"
    if len(guessed) == len(known) > 1:
        return "any output"
    order = guessed[np.argsort(-np.abs(level[guessed].astype(int)), kind="stable")]
    texts = [known[i][0] for i in order]
    more = len(texts) - SHOWN
    return "output = " + " or ".join(texts if more <= 1 else [*texts[:SHOWN], f"{more} other outputs"])


def _text(raw: Any, row: int) -> str:
    """One output as its repr, without NumPy's types."""
    value = tuple(_plain(part[row]) for part in raw) if isinstance(raw, tuple) else _plain(raw[row])
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
