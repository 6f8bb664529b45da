"""Null algorithms: the releases of the real one, and an answer that owes nothing to the data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpcheck.engine.mutate.mutation import Mutation, lines_of
from dpcheck.interfaces import Algorithm, Array, Workload

Answer = Callable[[Workload, Array, Array], Array]
"""(workload, start, the real answer) -> the null answer, (trials, d)."""


def _start(workload: Workload, start: Array, answer: Array) -> Array:
    return np.broadcast_to(np.asarray(start, dtype=float), answer.shape).copy()


def _constant(workload: Workload, start: Array, answer: Array) -> Array:
    corner = np.full((1, answer.shape[-1]), 0.3 * workload.constants.diameter(2.0))
    return np.broadcast_to(workload.project(corner), answer.shape).copy()


def _random(workload: Workload, start: Array, answer: Array) -> Array:
    rng = np.random.default_rng(0)
    reach = workload.constants.diameter(2.0)
    reach = reach if np.isfinite(reach) else 1.0
    return np.asarray(workload.project(start + reach * rng.uniform(-1, 1, answer.shape)))


def _wrong_end(workload: Workload, start: Array, answer: Array) -> Array:
    return np.asarray(workload.project(2 * start - answer))


ANSWERS: dict[str, Answer] = {
    "the start": _start,
    "a constant": _constant,
    "a random point": _random,
    "the wrong end": _wrong_end,
}


def of_algorithm(kind: type[Algorithm[Any]]) -> Iterator[Mutation]:
    """Every null of an algorithm: its answer replaced, and its data blotted out."""
    lines = (lines_of(kind.execute.__code__),)
    for name, answer in ANSWERS.items():
        yield Mutation(
            "null", kind.label, name, f"returns {name}", functools.partial(_answers, kind, answer), lines=lines
        )


def _answers(kind: type[Algorithm[Any]], answer: Answer) -> None:
    real = kind.execute

    def execute(self: Any, run: Any, workload: Workload, data: Any, start: Array) -> Array:
        return answer(workload, np.asarray(start, dtype=float), np.asarray(real(self, run, workload, data, start)))

    kind.execute = execute  # type: ignore[method-assign]
