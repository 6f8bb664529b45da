"""Outputs on one input held against their own median, which no cells that were fixed before need to contain.

Of a record that does not grow with the trials: some numbers of outputs at equal distances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.auditing.orders import Test, order_tests

Array = NDArray[np.float64]
THIN, COLUMNS = 1024, 8
"""Most outputs on each input that are held against their median, at equal distances, and numbers of each of them."""


def blank() -> Array:
    """The record of no outputs."""
    return np.zeros((0, COLUMNS))


def thinned(thin: Array, stride: int, seen: int, matrix: Array) -> tuple[Array, int]:
    """The record, and its stride, after the outputs that follow on those `seen`."""
    thin = np.vstack([thin, _numbers(matrix[-seen % stride :: stride])])
    while len(thin) > THIN:
        thin, stride = thin[::2], 2 * stride
    return thin, stride


def sound(thin: Array, stride: int, seen: int) -> bool:
    """Whether a record that was stored may be one of so many outputs."""
    fits = len(thin) <= THIN and stride >= 1 and len(thin) == -(-seen // stride)
    return fits and bool(np.isfinite(thin).all())


def about_the_median(thin: Array) -> list[Test]:
    """Which outputs lie above the median of all, number by number: in any order, were they independent."""
    above = thin > np.median(thin, axis=0) if len(thin) else thin > 0
    above = above[:, above.any(axis=0)]
    if not above.size:
        return []
    begun = above & ~np.vstack([np.zeros_like(above[:1]), above[:-1]])
    half = len(above) // 2
    return order_tests(begun.sum(axis=0), above[:half].sum(axis=0), half, above.sum(axis=0), len(above))


def _numbers(matrix: Array) -> Array:
    """(outputs, COLUMNS) finite numbers: the columns; where there are more, some, and sums with signs of all."""
    finite = np.nan_to_num(matrix)
    if finite.shape[1] > COLUMNS:
        half = COLUMNS // 2
        signs = seeds.stream(0, "signs of columns").choice([-1.0, 1.0], (finite.shape[1], COLUMNS - half))
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.nan_to_num(np.hstack([finite[:, :half], finite @ signs]))
    return np.pad(finite, ((0, 0), (0, COLUMNS - finite.shape[1])))
