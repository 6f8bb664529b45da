"""Scorers that outputs teach, and scores of outputs that did not teach them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing import scores
from dpcheck.auditing.mechanisms import Outputs

Array = NDArray[np.float64]
FOLDS, CROSSED = 4, 1_000
"""Parts of which all but one teach a score that the one meets; two where there are more outputs on each input."""


def fit(score: scores.Score, p: Outputs, q: Outputs, rng: np.random.Generator) -> tuple[scores.Scorer, Array, Array]:
    """The scorer, and scores on both inputs: of a learned one, of outputs that it was not taught by."""
    if not score.learned:
        scorer = score.fit(p, q, rng)
        return scorer, scorer(p), scorer(q)
    if score.grows:
        return _fit_in_turn(score, p, q, rng)
    if not score.smooth:
        half = len(p) // 2
        (p1, q1), (p2, q2) = ((part(p, rows), part(q, rows)) for rows in (slice(0, half), slice(half, None)))
        first = score.fit(p1, q1, rng)
        return first, first(p2), first(q2)
    # The average of the scorers is used, of which each met outputs that had not taught it.
    folds = FOLDS if len(p) <= CROSSED else 2
    scorers, scored = [], (np.empty(len(p)), np.empty(len(q)))
    for fold in range(folds):
        out = [np.arange(len(side)) % folds == fold for side in (p, q)]
        scorer = score.fit(part(p, ~out[0]), part(q, ~out[1]), rng)
        for values, side, met in zip(scored, (p, q), out, strict=True):
            values[met] = scorer(part(side, met))
        scorers.append(scorer)
    return lambda outputs: np.mean([scorer(outputs) for scorer in scorers], axis=0), *scored


TURNS = 8


def _fit_in_turn(
    score: scores.Score, p: Outputs, q: Outputs, rng: np.random.Generator
) -> tuple[scores.Scorer, Array, Array]:
    """The scorer that all outputs teach, and scores of all but the first part, each by what the parts before it taught.

    So two outputs of one value are compared once. Were each scored by the other, chance would tell both halves of the
    scores the same, and what one teaches would seem to be borne out by the other.
    """
    turn = [np.arange(len(side)) % TURNS for side in (p, q)]
    scored: tuple[list[Array], list[Array]] = ([], [])
    for now in range(1, TURNS):
        one, two = (part(side, at < now) for side, at in zip((p, q), turn, strict=True))
        scorer = score.fit(one, two, rng)
        for values, side, at in zip(scored, (p, q), turn, strict=True):
            values.append(scorer(part(side, at == now)))
    return score.fit(p, q, rng), np.concatenate(scored[0]), np.concatenate(scored[1])


def part(outputs: Outputs, rows: slice | NDArray[np.bool_]) -> Outputs:
    """Some of the outputs."""
    raw = outputs.raw
    cut = tuple(_cut(part, rows) for part in raw) if isinstance(raw, tuple) else _cut(raw, rows)
    return Outputs(cut, outputs.matrix[rows])


def _cut(values: Any, rows: slice | NDArray[np.bool_]) -> Any:
    if isinstance(values, np.ndarray) or isinstance(rows, slice):
        return values[rows]
    return [value for value, kept in zip(values, rows, strict=True) if kept]
