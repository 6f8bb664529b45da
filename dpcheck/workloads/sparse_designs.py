"""Classification tables of the shape of common benchmarks: one-hot groups and sparse words.

Two are made up, two come with statsmodels. As in the benchmarks, rows are not normalised: one-hot rows have the length
of the root of the number of their groups.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal

import numpy as np

from dpcheck import seeds
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array
from dpcheck.workloads.regularised import RegularisedPopulation

Loss = Literal["logistic", "l4"]
GROUPS = (5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 2, 2, 5, 41)
"""Levels of the 14 groups of a one-hot census table: 123 columns, 14 of them active in a row."""
WORDS = 300


def one_hot(columns: Sequence[Array], bins: int = 5) -> Array:
    """Each column as indicators, of its values where they are at most 2 bins, else of its quantile bins.

    Shape (N, total levels); each row has as many ones as there are columns.
    """
    if not columns:
        raise InvalidInput("nothing to encode; pass at least one column")
    parts = []
    for column in columns:
        values, code = np.unique(column, return_inverse=True)
        if len(values) > 2 * bins:
            edges = np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)[1:-1]))
            code = np.searchsorted(edges, column, side="right")
        levels = np.unique(code)
        parts.append((code[:, None] == levels).astype(float))
    return np.concatenate(parts, axis=1)


def _planted(x: Array, share: float, name: str) -> Array:
    """Labels of a logistic model with normal coefficients, its intercept such that `share` of them are 1."""
    rng = seeds.stream(0, name, "labels")
    scores = x @ rng.standard_normal(x.shape[1])
    noisy = scores + rng.logistic(size=len(x))
    return np.asarray(noisy > np.quantile(noisy, 1 - share), dtype=float)


@functools.lru_cache(maxsize=8)
def census_like(loss: Loss = "logistic", *, N: int = 32_561, ridge: float = 0.01) -> RegularisedPopulation:
    """A made-up table of 123 one-hot columns in 14 groups with skewed levels, 24 % labels 1."""
    rng = seeds.stream(0, "census-like")
    columns = [rng.choice(g, size=N, p=(p := 1.0 / np.arange(1, g + 1)) / p.sum()).astype(float) for g in GROUPS]
    x = np.concatenate([(c[:, None] == np.arange(g)).astype(float) for c, g in zip(columns, GROUPS, strict=True)], 1)
    return RegularisedPopulation(x, _planted(x, 0.24, "census-like"), loss, ridge)


@functools.lru_cache(maxsize=8)
def web_like(loss: Loss = "logistic", *, N: int = 24_692, ridge: float = 0.01) -> RegularisedPopulation:
    """A made-up table of 300 sparse binary columns, 4 % of the entries 1, and 3 % of the labels."""
    rng = seeds.stream(0, "web-like")
    often = np.minimum(1.0, 0.04 * WORDS * (p := 1.0 / np.sqrt(np.arange(1, WORDS + 1))) / p.sum())
    x = (rng.random((N, WORDS)) < often).astype(float)
    return RegularisedPopulation(x, _planted(x, 0.03, "web-like"), loss, ridge)


@functools.lru_cache(maxsize=8)
def doctor_visits(loss: Loss = "logistic", *, ridge: float = 0.01) -> RegularisedPopulation:
    """20,190 person-years of the RAND health insurance experiment (statsmodels): more than four visits a year, 20 %."""
    from statsmodels.datasets import randhie

    data = randhie.load_pandas()
    x = one_hot(list(data.exog.to_numpy(dtype=float).T))
    return RegularisedPopulation(x, (data.endog.to_numpy() > 4).astype(float), loss, ridge)


@functools.lru_cache(maxsize=8)
def marriages(loss: Loss = "logistic", *, ridge: float = 0.01) -> RegularisedPopulation:
    """6,366 answers to a survey of 1974 on extramarital affairs (statsmodels): whether there was one, 32 %."""
    from statsmodels.datasets import fair

    data = fair.load_pandas()
    x = one_hot(list(data.exog.to_numpy(dtype=float).T))
    return RegularisedPopulation(x, (data.endog.to_numpy() > 0).astype(float), loss, ridge)
