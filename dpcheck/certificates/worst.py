"""Worst functions in rationals, from the other side of the programme that finds a proof."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpcheck.certificates import checker
from dpcheck.certificates.solving import Dual, Parameters
from dpcheck.errors import InvalidInput

Vectors = dict[int, list[Fraction]]
GRAIN = 10**7
"""Entries are multiples of one over this."""


def worst(problem: Sequence[str], parameters: Parameters, least: Fraction | None = None) -> tuple[Fraction, Vectors]:
    """Vectors and values that satisfy all inequalities of a run exactly, and how large its quantity is at them.

    The programme is solved with every inequality tightened by a margin, so that rounding its solution breaks none; the
    smallest margin that does wins.

    Args:
        least: a size that must be exceeded.

    Raises:
        InvalidInput: no margin is large enough, or none is left.
    """
    for margin in (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2):
        dual = Dual.of(problem, parameters, longest=Fraction(100))
        for row in dual.run.rows:
            row[0, 0] = row.get((0, 0), Fraction(0)) + Fraction(margin)
        try:
            vectors = _vectors(dual)
        except InvalidInput:
            continue
        run = checker.ExactRun(problem, parameters)
        size, *rows = (form.at(vectors) for form in (run.quantity, *run.rows))
        if max(rows) <= 0 and (least is None or size > least):
            return size, vectors
    raise InvalidInput("no rational function near the worst case was found; leave it out, or choose a smaller problem")


def _vectors(dual: Dual) -> Vectors:
    """The rounded factor of the Gram matrix, and the values."""
    solution = dual.solved()[2]
    size, corner = len(dual.inner), len(dual.keys)
    start = corner + len(dual.run.rows) + 1
    gram = np.zeros((size, size))
    for j in range(size):
        for i in range(j + 1):
            entry = solution[start + j * (j + 1) // 2 + i] / (1.0 if i == j else np.sqrt(2.0))
            gram[i, j] = gram[j, i] = entry
    values, vectors = np.linalg.eigh(gram[1:, 1:] / gram[0, 0])
    kept = values > 1e-9 * values.max(initial=0.0)
    factor = vectors[:, kept] * np.sqrt(values[kept])
    given: Vectors = {i: [Fraction(0)] for i in range(1, dual.run.size)}
    for name, row in zip(dual.inner[1:], factor, strict=True):
        given[name] = [Fraction(round(v * GRAIN), GRAIN) for v in row]
    products = {key: -value / gram[0, 0] for key, value in zip(dual.keys, solution, strict=False)}
    for i in sorted({i for key in dual.keys for i in key} - set(dual.inner)):
        given[i] = [Fraction(round(products.get((0, i), 0.0) * GRAIN), GRAIN)]
    return given
