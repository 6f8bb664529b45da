"""Null algorithms: the releases of the real one, and an answer that owes nothing to the data, or is another one."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpcheck.engine.mutate import code
from dpcheck.engine.mutate.mutation import Mutation, lines_of
from dpcheck.interfaces import Algorithm, Array, Data, Sample, Workload
from dpcheck.running import Run, Transcript

Answer = Callable[[Workload, Array, Array], Array]
"""(workload, start, the real answer) -> the null answer, (trials, d)."""
ITERATES = "the other iterate"
"""Operator of the mutants that return the last iterate for the average, or the average for the last."""


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


def of_algorithms(kinds: Iterable[type[Algorithm[Any]]]) -> list[Mutation]:
    """The nulls of each; what several of them share is changed once."""
    by_name: dict[str, Mutation] = {}
    for kind in kinds:
        for mutation in of_algorithm(kind):
            by_name.setdefault(mutation.where or mutation.key, mutation)
    return list(by_name.values())


def of_algorithm(kind: type[Algorithm[Any]]) -> Iterator[Mutation]:
    """Every null of an algorithm: its answer replaced, its data blotted out, another iterate returned."""
    lines = (lines_of(kind.execute.__code__),)
    for name, answer in ANSWERS.items():
        change = functools.partial(_answers, kind, answer)
        yield Mutation("null", kind.label, name, f"returns {name}", change, lines=lines)
    blank = functools.partial(_without_data, kind)
    yield Mutation("null", kind.label, "no data", "returns what it makes of zeros for data", blank, lines=lines)
    yield from _other_iterates(kind)


def _answers(kind: type[Algorithm[Any]], answer: Answer) -> None:
    real = kind.execute

    def execute(self: Any, run: Any, workload: Workload, data: Any, start: Array) -> Array:
        return answer(workload, np.asarray(start, dtype=float), np.asarray(real(self, run, workload, data, start)))

    kind.execute = execute  # type: ignore[method-assign]


# -- zeros for data ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Blank:
    """As many records, all of them zero."""

    data: Data

    @property
    def n(self) -> int:
        return self.data.n

    def part(self, start: int, stop: int) -> Blank:
        return Blank(self.data.part(start, stop))

    def read(self, *, means_only: bool = False) -> Sample:
        sample = self.data.read(means_only=means_only)
        return Sample(np.zeros_like(sample.values), sample.weights)


def _without_data(kind: type[Algorithm[Any]]) -> None:
    real = kind.execute

    def execute(self: Any, run: Any, workload: Workload, data: Any, start: Array) -> Array:
        real(self, run, workload, data, start)  # what it releases is as it was
        return real(self, _apart(run), workload, Blank(data), start)

    kind.execute = execute  # type: ignore[method-assign]


def _apart(run: Run[Any]) -> Run[Any]:
    """A run of the same schedule whose releases nobody sees."""
    outer = copy.copy(run._outer)
    outer.transcript, outer._history, outer._outer = Transcript(), None, outer
    outer._rng, outer.active = np.random.default_rng(0), np.ones(outer.trials, dtype=bool)
    return outer if run._outer is run else outer.inside(run._prefix, run.schedule)


# -- the average for the last iterate, and the other way round ---------------------------------------------------------


def _other_iterates(kind: type[Algorithm[Any]]) -> Iterator[Mutation]:
    """Of every function of its module that returns, or releases, the last iterate or an average of all of them."""
    path, module = Path(inspect.getfile(kind.execute)), inspect.getmodule(kind.execute)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    numbers = {id(node): place for place, node in enumerate(ast.walk(tree))}
    for function, node in code.functions(tree.body, ""):
        other = {name: pair[1 - place] for pair in _averages(node) for place, name in enumerate(pair)}
        for part in _answered(node):
            if part.id not in other:
                continue
            line, change = part.lineno, functools.partial(_named, other[part.id])
            said, column = f"{other[part.id]} for {part.id} in {function}", part.col_offset
            site = code.Site(function, numbers[id(part)], ITERATES, said, change, line, line, column, node.lineno)
            apply = functools.partial(code.apply, getattr(module, "__name__", ""), path, site)
            where, lines = f"{path.name}:{line}", ((str(path), line, line),)
            yield Mutation("null", kind.label, ITERATES, said, apply, lines=lines, where=where)


def _answered(function: ast.FunctionDef) -> Iterator[ast.Name]:
    """The names that a function returns or releases."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
            yield node.value
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "release":
            yield from (each for each in node.args if isinstance(each, ast.Name))


def _averages(function: ast.FunctionDef) -> set[tuple[str, str]]:
    """(average, iterate) of `average = average + (w - average) / t` and of `average = a * w + (1 - a) * average`."""
    averages = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            average = node.targets[0].id
            products = [each for each in ast.walk(node.value) if isinstance(each, ast.BinOp)]
            for each in products:
                match each:
                    case ast.BinOp(ast.Name(iterate), ast.Sub(), ast.Name(name)) if name == average:
                        averages.add((average, iterate))
                    case ast.BinOp(
                        ast.BinOp(_, ast.Mult(), ast.Name(iterate)),
                        ast.Add(),
                        ast.BinOp(ast.BinOp(ast.Constant(1), ast.Sub(), _), ast.Mult(), ast.Name(name)),
                    ) if name == average:
                        averages.add((average, iterate))
    return averages


def _named(name: str, old: ast.Name) -> ast.Name:
    return ast.Name(name, ast.Load())
