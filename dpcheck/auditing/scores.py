"""Scores: one number an output, the larger the more it looks like `data` rather than `neighbour`.

A score only decides where to look. It is fitted on the held-out part of the sample, so a poor one costs power, never
validity.
"""

from __future__ import annotations

import abc
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.auditing.inputs import is_number, number_array
from dpcheck.auditing.mechanisms import Outputs
from dpcheck.errors import InvalidInput, MechanismError

Array = NDArray[np.float64]
Scorer = Callable[[Outputs], Array]
"""Outputs -> (trials,); NaN where there is no output to score (a halt)."""
LEARN_ROWS = 40_000
"""Most outputs, of both inputs together, that a classifier is trained on."""


class Score(abc.ABC):
    """A way to score outputs.

    Attributes:
        learned: fitting looks at outputs, so that they may not be reused as fresh.
        known: the score is the log-ratio of the two laws, so that little is left to learn.
        ordered: neighbouring scores mean similar things.
        linear: a learned one has a parameter a column only, so that its extremes are no accident.
        smooth: learned from other outputs it is nearly the same, so that averages of it make sense.
        grows: it knows single values, and more of them the more outputs teach it.
        slow: scoring an output takes more than ten microseconds.
        raw: it looks at outputs as the mechanism returned them, not at their matrix alone.
    """

    learned = False
    known = False
    ordered = True
    linear = False
    smooth = False
    grows = False
    slow = False
    raw = True
    name = "score"

    @property
    def renewed(self) -> bool:
        """Whether the outputs of a stage teach it anew for the next one."""
        return self.learned and (self.smooth or self.grows)

    @abc.abstractmethod
    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        """The scorer, from held-out outputs on both inputs."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Identity(Score):
    """A scalar output is its own score; unions of intervals of it become the event."""

    raw = False
    name = "output"

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        if data.matrix.shape[1] != 1:
            raise InvalidInput(
                f"scores.Identity needs scalar outputs, got {data.matrix.shape[1]} columns; "
                "use scores.Projection or scores.Classifier"
            )
        return lambda outputs: outputs.matrix[:, 0]


@dataclass(frozen=True)
class Projection(Score):
    """Inner product with a direction: a given one, or Fisher's linear discriminant of the held-out outputs."""

    direction: tuple[float, ...] | None = None
    linear = True
    smooth = True
    raw = False

    def __init__(self, direction: ArrayLike | None = None) -> None:
        fixed = (
            None
            if direction is None
            else tuple(number_array("direction", [direction] if is_number(direction) else direction).ravel().tolist())
        )
        object.__setattr__(self, "direction", fixed)

    @property
    def learned(self) -> bool:  # type: ignore[override]
        return self.direction is None

    @property
    def name(self) -> str:  # type: ignore[override]
        along = self.direction or ()
        one = sorted(along) == [*[0.0] * (len(along) - 1), 1.0]
        return f"output[{along.index(1.0)}]" if one else "projection"

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        if self.direction is not None:
            along = np.array(self.direction)
            if len(along) != data.matrix.shape[1]:
                raise InvalidInput(
                    f"the direction has {len(along)} entries, the outputs have {data.matrix.shape[1]} columns"
                )
            single = np.count_nonzero(along) == 1
            tame = 1.0 if single else _tame(data.matrix, neighbour.matrix)
            return lambda outputs: (_filled(outputs.matrix) * tame) @ along
        tame = _tame(data.matrix, neighbour.matrix)
        p, q = _filled(data.matrix) * tame, _filled(neighbour.matrix) * tame
        within = np.cov(p, rowvar=False).reshape(p.shape[1], -1) + np.cov(q, rowvar=False).reshape(p.shape[1], -1)
        ridge = 1e-6 * (np.trace(within) / len(within) + 1e-12)
        apart, middle = p.mean(axis=0) - q.mean(axis=0), (p.mean(axis=0) + q.mean(axis=0)) / 2
        learned = np.linalg.lstsq(within + ridge * np.eye(len(within)), apart, rcond=None)[0]
        # The means score 1/2 and -1/2, so that projections learned from different outputs agree in scale.
        scale = float(apart @ learned) or 1.0
        return lambda outputs: (_filled(outputs.matrix) * tame - middle) @ learned / scale


@dataclass(frozen=True)
class LikelihoodRatio(Score):
    """log p(output | data) - log p(output | neighbour), from log-densities of raw outputs: outputs -> (trials,)."""

    data: Callable[[Any], ArrayLike]
    neighbour: Callable[[Any], ArrayLike]
    known = True
    name = "log-likelihood ratio"

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        def score(outputs: Outputs) -> Array:
            with np.errstate(invalid="ignore"):
                ratio = _called(self.data, outputs, self.name) - _called(self.neighbour, outputs, self.name)
            # Rounding errors of the two densities carry the granularity of the outputs: a leak for `attacks`, not here.
            return _checked(np.round(ratio, 9), outputs, self.name)

        return score


@dataclass(frozen=True)
class OutputFunction(Score):
    """Any function of the raw outputs: outputs -> (trials,)."""

    function: Callable[[Any], ArrayLike]

    @property
    def name(self) -> str:  # type: ignore[override]
        return getattr(self.function, "__name__", "score")

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        return lambda outputs: _checked(_called(self.function, outputs, self.name), outputs, self.name)


@dataclass(frozen=True)
class Cells(Score):
    """Every distinct output is a cell; its score is the smoothed log-ratio of its held-out counts.

    For categories, integers and short transcripts. Outputs never seen on the held-out part score 0.

    Attributes:
        smoothing: pseudo-counts that pull a rare cell's ratio towards 1.
    """

    smoothing: float = 1.0
    learned = True
    raw = False
    name = "cell"

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        both = np.ascontiguousarray(np.concatenate([data.matrix, neighbour.matrix])) + 0.0
        keys, inverse = np.unique(row_keys(both), return_inverse=True)
        split = len(data.matrix)
        x = np.bincount(inverse[:split], minlength=len(keys)) / split
        y = np.bincount(inverse[split:], minlength=len(keys)) / (len(both) - split)
        floor = self.smoothing / len(both)
        ratio = np.log(x + floor) - np.log(y + floor)

        def score(outputs: Outputs) -> Array:
            array = row_keys(outputs.matrix + 0.0)
            place = np.minimum(np.searchsorted(keys, array), len(keys) - 1)
            return np.where(keys[place] == array, ratio[place], 0.0)

        return score


@dataclass(frozen=True)
class Returning(Cells):
    """The same for values that are too many to have been seen often: noise of few bits, or from few seeds, has such.

    Attributes:
        column: whose values are looked at; None: whole outputs.
    """

    column: int | None = None
    grows = True

    @property
    def where(self) -> str:
        return "output" if self.column is None else f"output[{self.column}]"

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"log-ratio of how often {self.where} came before"

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        scorer = super().fit(self._of(data), self._of(neighbour), rng)
        return lambda outputs: scorer(self._of(outputs))

    def _of(self, outputs: Outputs) -> Outputs:
        (matrix,) = self.of(outputs)
        return Outputs(matrix, matrix)

    def of(self, *outputs: Outputs) -> list[Array]:
        """The values that are looked at."""
        return [each.matrix if self.column is None else each.matrix[:, [self.column]] for each in outputs]


FEW = 64
"""Most distinct outputs of which each one is its own cell, with laws learned from all held-out outputs."""


@dataclass(frozen=True)
class Outcomes(Score):
    """For a handful of distinct outputs: the number of the output, NaN for one that the held-out part never saw."""

    ordered = False
    raw = False
    name = "outcome"

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        keys = np.unique(row_keys(np.concatenate([data.matrix, neighbour.matrix]) + 0.0))

        def score(outputs: Outputs) -> Array:
            array = row_keys(outputs.matrix + 0.0)
            place = np.minimum(np.searchsorted(keys, array), len(keys) - 1)
            return np.where(keys[place] == array, place, np.nan)

        return score


@dataclass(frozen=True)
class Classifier(Score):
    """Log-odds of a classifier trained to tell the two inputs apart: "logistic" or "boosting" (handles NaN columns)."""

    kind: Literal["logistic", "boosting"] = "boosting"
    learned = True
    smooth = True
    raw = False

    @property
    def linear(self) -> bool:  # type: ignore[override]
        return self.kind == "logistic"

    @property
    def slow(self) -> bool:  # type: ignore[override]
        return self.kind == "boosting"

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"{self.kind} classifier"

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        half = LEARN_ROWS // 2
        rows = np.concatenate([data.matrix[:half], neighbour.matrix[:half]])
        side = np.repeat([1, 0], [min(half, len(data)), min(half, len(neighbour))])
        prepare = prepared(rows, gaps=self.kind == "boosting")
        features = prepare(rows)
        if features.shape[1] == 0:
            return lambda outputs: np.zeros(len(outputs))
        model = self._boosting(rng) if self.kind == "boosting" else self._logistic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(features, side)
        return lambda outputs: np.asarray(model.decision_function(prepare(outputs.matrix)), dtype=float)

    @staticmethod
    def _boosting(rng: np.random.Generator) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            max_iter=80,
            learning_rate=0.1,
            max_leaf_nodes=16,
            min_samples_leaf=40,
            random_state=int(rng.integers(2**31)),
        )

    @staticmethod
    def _logistic() -> Any:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=500))


def distinct_rows(matrix: Array) -> int:
    """How many different outputs there are; NaN equals NaN."""
    return len(np.unique(row_keys(matrix + 0.0)))


def row_keys(matrix: Array) -> NDArray[Any]:
    """One comparable key a row: the value itself (infinity, which no output is, for NaN), or the bytes of the row."""
    if matrix.shape[1] == 1:
        return np.where(np.isnan(matrix[:, 0]), np.inf, matrix[:, 0])
    fixed = np.ascontiguousarray(np.where(np.isnan(matrix), np.nan, matrix))
    return np.asarray(fixed.view(np.dtype((np.void, fixed.dtype.itemsize * fixed.shape[1]))).ravel())


def prepared(rows: Array, *, gaps: bool) -> Callable[[Array], Array]:
    """The columns that vary, and for each that has NaN (a halt, an ended transcript) a column that says where.

    Args:
        gaps: NaN may stay in the columns that vary; else it becomes 0.
    """
    missing = np.isnan(rows)
    some = missing.any(axis=0) & ~missing.all(axis=0)
    low, high = np.where(missing, np.inf, rows).min(axis=0), np.where(missing, -np.inf, rows).max(axis=0)
    varies, tame = low < high, _tame(rows)

    def features(matrix: Array) -> Array:
        values = matrix[:, varies] if gaps else _filled(matrix[:, varies])
        values *= tame
        return np.concatenate([values, np.isnan(matrix[:, some])], axis=1) if some.any() else values

    return features


HUGE = 2.0**400
"""Beyond, squares and sums of outputs may exceed what a float holds."""


def _tame(*matrices: Array) -> float:
    """A power of two, 1 for ordinary outputs, that brings huge ones to where squares and sums are finite."""
    most = max((float(np.nanmax(np.abs(m), initial=0.0)) for m in matrices), default=0.0)
    return 1.0 if most < HUGE else 2.0 ** -math.frexp(most)[1]


def _filled(matrix: Array) -> Array:
    """NaN (a halt, an ended transcript) as 0."""
    missing = np.isnan(matrix)
    if not missing.any():
        return matrix
    return np.where(missing, 0.0, matrix)


def _called(function: Callable[[Any], ArrayLike], outputs: Outputs, name: str) -> Array:
    """What a user's function makes of outputs, as numbers. Raises `MechanismError` that names the score."""
    try:
        values = np.asarray(function(outputs.raw))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise MechanismError(
            f"the score {name!r} raised {type(error).__name__} on {len(outputs)} outputs: {error}; it must take all "
            "outputs of a call at once and return one number for each"
        ) from error
    if values.dtype.kind not in "biuf":
        raise MechanismError(f"the score {name!r} must return numbers, got {values.ravel()[:1].tolist()}")
    return values.astype(float)


def _checked(values: Array, outputs: Outputs, name: str) -> Array:
    if values.shape != (len(outputs),):
        raise InvalidInput(f"the score {name!r} must return shape ({len(outputs)},), got {values.shape}")
    halted = np.isnan(outputs.matrix).any(axis=1)
    if np.isnan(values[~halted]).any():
        raise MechanismError(f"the score {name!r} is NaN in trial {int(np.flatnonzero(np.isnan(values) & ~halted)[0])}")
    # A ratio of densities may be infinite: an output that one input cannot produce.
    return np.clip(values, -math.ldexp(1.0, 1000), math.ldexp(1.0, 1000))
