"""Learned scores for leaks that no line through the outputs sees: features of the outputs, and a linear model of them.

Every one fits in seconds whatever the number of outputs: models are taught by at most `ROWS` of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.mechanisms import Outputs
from dpcheck.auditing.scores import Score, Scorer, prepared

Array = NDArray[np.float64]
Features = Callable[[Array], Array]
ROWS, ROWS_FLEXIBLE = 100_000, 10_000
"""Most outputs, of both inputs together, that a model is taught by; the latter one of no particular shape."""
FAR = 6.0
"""Standard deviations at which columns are cut off: beyond, one output would outweigh all others."""
FLOOR = 1e-3
"""Variance, beside that of a standardised column, that every direction has: one input may leave a column constant."""
KNOTS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
"""Quantiles at which an additive spline may turn."""
PENALTY = 0.05
"""Inverse strength of the ridge of models with many features (`C` of scikit-learn), per standardised feature."""
MOST_PAIRED = 12
"""Most columns of which every pair is looked at."""


@dataclass(frozen=True)
class Quadratic(Score):
    """Log-ratio of two Gaussian laws: for leaks in scales and correlations.

    Covariances are shrunk as Ledoit and Wolf (2004) say: the common one towards the identity, both towards it.
    """

    learned = True
    smooth = True
    raw = False
    name = "quadratic discriminant"

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        from sklearn.covariance import ledoit_wolf

        rows, side = _rows(data, neighbour)
        scaled = _standard(rows)
        values = scaled(rows)
        if values.shape[1] == 0:
            return _silent
        one, two = values[side == 1], values[side == 0]
        centred = np.concatenate([one - one.mean(axis=0), two - two.mean(axis=0)])
        # Where both laws have the common covariance, either one becomes the identity.
        floor = FLOOR * np.eye(values.shape[1])
        whiten = np.linalg.inv(np.linalg.cholesky(ledoit_wolf(centred)[0] + floor)).T
        laws = [((p @ whiten).mean(axis=0), ledoit_wolf(p @ whiten)[0] + floor) for p in (one, two)]

        def score(outputs: Outputs) -> Array:
            at = scaled(outputs.matrix) @ whiten
            first, second = (_log_density(at, middle, spread) for middle, spread in laws)
            return first - second

        return score


def _log_density(at: Array, middle: Array, spread: Array) -> Array:
    root = np.linalg.cholesky(spread)
    away = np.linalg.solve(root, (at - middle).T)
    return np.asarray(-np.log(np.diag(root)).sum() - (away**2).sum(axis=0) / 2)


@dataclass(frozen=True)
class Additive(Score):
    """A sum of linear splines, one of each column or independent component: many weak leaks that are not linear.

    Attributes:
        components: of what FastICA (Hyvärinen 1999) finds, instead of the columns.
    """

    components: bool = False
    learned = True
    smooth = True
    raw = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"splines of {'components' if self.components else 'columns'}"

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        rows, side = _rows(data, neighbour)
        scaled = _standard(rows)
        if scaled(rows[:1]).shape[1] == 0:
            return _silent
        turned = _independent(scaled(rows), rng) if self.components else None

        def columns(matrix: Array) -> Array:
            values = scaled(matrix)
            return values if turned is None else values @ turned

        knots = np.quantile(columns(rows), KNOTS, axis=0)

        def features(matrix: Array) -> Array:
            values = columns(matrix)
            return np.concatenate([values, *(np.maximum(values - knot, 0.0) for knot in knots)], axis=1)

        return _linear(features, rows, side)


@dataclass(frozen=True)
class Pairs(Score):
    """Products, signs and orders of pairs of columns, of which few are taken to tell anything.

    Those enter whose means differ by more than the largest of as many that tell nothing (Fan and Lv 2008, screening).
    """

    learned = True
    smooth = True
    raw = False
    name = "pairs of columns"

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        rows, side = _rows(data, neighbour)
        scaled, plain = _standard(rows), prepared(rows, gaps=False)
        width = scaled(rows[:1]).shape[1]
        if width < 2:
            return _silent
        left, right = np.triu_indices(width, 1)

        def features(matrix: Array) -> Array:
            values, raw = scaled(matrix), plain(matrix)
            signs = np.sign(values)
            two = [values[:, left] * values[:, right], signs[:, left] * signs[:, right]]
            return np.concatenate([values, np.abs(values), *two, np.sign(raw[:, left] - raw[:, right])], axis=1)

        apart = np.abs(_standard_score(features(rows), side))
        told = apart >= min(float(apart.max()), (2 * np.log(len(apart))) ** 0.5)
        return _linear(lambda matrix: features(matrix)[:, told], rows, side)


@dataclass(frozen=True)
class Flexible(Score):
    """Models of no particular shape, which take many outputs: of a kernel, nearest neighbours, a small network."""

    kind: Literal["kernel", "neighbours", "network"] = "kernel"
    learned = True
    smooth = True
    raw = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return {"kernel": "kernel machine", "neighbours": "nearest neighbours", "network": "small network"}[self.kind]

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        rows, side = _rows(data, neighbour, ROWS_FLEXIBLE)
        scaled = _standard(rows)
        if scaled(rows[:1]).shape[1] == 0:
            return _silent
        seed = int(rng.integers(2**31))
        model = {"kernel": _kernel, "neighbours": _neighbours, "network": _network}[self.kind](len(rows), seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(scaled(rows), side)

        def score(outputs: Outputs) -> Array:
            chance = np.clip(model.predict_proba(scaled(outputs.matrix))[:, 1], 1e-6, 1 - 1e-6)
            return np.asarray(np.log(chance) - np.log1p(-chance))

        return score


def _kernel(rows: int, seed: int) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    kernel = Nystroem(n_components=min(100, rows // 2), random_state=seed)
    return make_pipeline(kernel, LogisticRegression(max_iter=300))


def _neighbours(rows: int, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(max(5, int(rows**0.5)))


def _network(rows: int, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((32,), alpha=1e-2, early_stopping=rows >= 200, max_iter=100, random_state=seed)


def _silent(outputs: Outputs) -> Array:
    return np.zeros(len(outputs))


def _rows(data: Outputs, neighbour: Outputs, most: int = ROWS) -> tuple[Array, NDArray[np.int64]]:
    half = most // 2
    rows = np.concatenate([data.matrix[:half], neighbour.matrix[:half]])
    return rows, np.repeat([1, 0], [min(half, len(data)), min(half, len(neighbour))])


def _standard(rows: Array) -> Features:
    """The columns that vary, standardised and cut off, and where each is missing."""
    features = prepared(rows, gaps=False)
    values = features(rows)
    # Squares of a column of very small or large numbers are none.
    size = np.abs(values).max(axis=0, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    middle, spread = (values / size).mean(axis=0), (values / size).std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return lambda matrix: np.clip((features(matrix) / size - middle) / spread, -FAR, FAR)


def _independent(values: Array, rng: np.random.Generator) -> Array:
    """(columns, components): where independent components lie, were there any."""
    from sklearn.decomposition import FastICA

    # Columns that are sums of others have no component of their own.
    rank = int(np.linalg.matrix_rank(np.cov(values, rowvar=False)))
    seed = int(rng.integers(2**31))
    model = FastICA(max(1, rank), whiten="unit-variance", random_state=seed, max_iter=200, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(values)
    return np.asarray(model.components_.T)


def _standard_score(values: Array, side: NDArray[np.int64]) -> Array:
    """Of the difference of the two means, column by column."""
    one, two = values[side == 1], values[side == 0]
    spread = np.sqrt(one.var(axis=0) / len(one) + two.var(axis=0) / len(two))
    return np.asarray((one.mean(axis=0) - two.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _linear(features: Features, rows: Array, side: NDArray[np.int64]) -> Scorer:
    """Ridge-penalised logistic regression on features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=PENALTY, max_iter=300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(features(rows), side)
    return lambda outputs: np.asarray(model.decision_function(features(outputs.matrix)), dtype=float)
