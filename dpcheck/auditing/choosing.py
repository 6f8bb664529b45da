"""Which scores an audit tries: what the user names, or those that outputs of this kind may need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.cells import each_a_cell
from dpcheck.auditing.families import MOST_PAIRED, Additive, Flexible, Pairs, Quadratic, Shifts
from dpcheck.auditing.mechanisms import Outputs
from dpcheck.auditing.scores import (
    FEW,
    Cells,
    Classifier,
    Identity,
    Outcomes,
    OutputFunction,
    Projection,
    Returning,
    Score,
    distinct_rows,
)
from dpcheck.errors import InvalidInput

SEEN_OFTEN = 16
"""Times that the values of one column have been seen, on average, from when on only their order is tried.

Each value has a cell of its own there, which every stage teaches; `Cells` are taught once, by half of what is held out.
Which of the two promises more is chance, and chance does not fade as runs grow. Refuted of 100 audits, by order alone
and by what promises more: randomised response among ten values (1.5, claimed 1), seen 16 times, 87 and 74; geometric
noise (1.5, claimed 1) seen 22 times 99 and 95, seen 12 times 70 and 79.
"""
FEW_COLUMNS = 3
"""Most columns of which each is tried as a score by itself: nothing must be learned for that."""


def is_known(score: Any) -> bool:
    """Whether the user gave the log-ratio of the two laws."""
    return isinstance(score, Score) and score.known


def learns(score: Any) -> bool:
    """Whether outputs may teach a score."""
    if isinstance(score, str) or not isinstance(score, Sequence):
        return (isinstance(score, str) and score == "auto") or (isinstance(score, Score) and score.learned)
    return any(learns(one) for one in score)


def choose(score: Any, sample: Outputs, distinct: int, categorical: bool) -> list[Score]:
    """The candidate scores of an audit.

    Args:
        score: "auto", a `Score`, a callable on raw outputs, or a list of these.
        sample: held-out outputs; distinct: number of distinct rows among them.
        categorical: whether any column holds codes, whose order means nothing.
    """
    if isinstance(score, Score):
        return [score]
    if isinstance(score, str):
        if score != "auto":
            raise InvalidInput(f"unknown score {score!r}; use 'auto', a callable on outputs, or one of dp.scores")
        return _automatic(sample, distinct, categorical)
    if isinstance(score, Sequence) and score:
        return [s for item in score for s in choose(item, sample, distinct, categorical)]
    if callable(score):
        return [OutputFunction(score)]
    raise InvalidInput(f"score must be 'auto', a callable, one of dp.scores, or a list of these, got {score!r}")


def _automatic(sample: Outputs, distinct: int, categorical: bool) -> list[Score]:
    rows, width = sample.matrix.shape
    discrete = distinct <= max(16, min(4096, rows // 4))
    if distinct <= min(FEW, rows // 20) and width > 1:
        return [Outcomes()]
    if categorical and width == 1:
        return [Cells()]
    candidates: list[Score] = [Cells()] if discrete else []
    if width == 1:
        often = distinct > 1 and 2 * rows >= SEEN_OFTEN * distinct
        return [Identity(), *([] if often else candidates)]
    if not categorical:
        candidates += [Projection(), Classifier("logistic"), *_beyond_lines(width, rows)]
    if width <= FEW_COLUMNS:
        candidates += [Projection(column) for column in np.eye(width)]
    return [*candidates, Classifier("boosting")]


def returning(score: Any, rows: NDArray[np.float64], held: int) -> list[Returning]:
    """Those that go by how often a value came before, for outputs of which some came back.

    Args:
        rows: (n, columns) outputs on both inputs; held: so many cut the cells of other scores, which tell values apart
            that come often.
    """
    if not isinstance(score, str):
        return []
    width = rows.shape[1]
    places: list[int | None] = [None, *range(width)] if 1 < width <= FEW_COLUMNS else [None]
    distinct = {place: distinct_rows(rows if place is None else rows[:, [place]]) for place in places}
    return [
        Returning(column=place)
        for place, values in distinct.items()
        if values < len(rows) and not each_a_cell(values, held)
    ]


def _beyond_lines(width: int, rows: int) -> list[Score]:
    """Families that there are outputs enough to teach."""
    families: list[Score] = [Quadratic(), Additive(), Shifts()]
    if width <= MOST_PAIRED:
        families.append(Pairs())
    if rows >= OUTPUTS_A_COMPONENT * width:
        families += [Additive(components=True), Shifts(components=True)]
    return [*families, Flexible("kernel")] if rows >= ROWS_OF_ANY_SHAPE else families


OUTPUTS_A_COMPONENT, ROWS_OF_ANY_SHAPE = 50, 1_000
"""Outputs on each input, for each column, without which independent components are noise; and those that a model of no
particular shape needs."""
