"""Ridge-penalised logistic regression by Newton's method: an audit fits dozens of them to some hundred outputs each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]
FEW_FEATURES = 32
"""Most features for which the Hessian is cheaper than the steps that do without it."""


def log_odds(features: Array, side: NDArray[np.int64], strength: float, most: int) -> Callable[[Array], Array]:
    """The log-odds of side 1 as a line through standardised features, an intercept apart from the penalty.

    Args:
        features: (rows, k); side: (rows,), of 0 and 1, both of which occur.
        strength: inverse of the ridge's, `C` of scikit-learn; most: steps.

    Returns:
        (n, k) -> (n,).
    """
    middle, spread = features.mean(axis=0), features.std(axis=0)
    # A column that does not vary but for rounding counts for nothing.
    spread = np.where(spread > 10 * np.finfo(float).eps * np.abs(middle), spread, 1.0)
    values = (features - middle) / spread
    weights = _newton(values, side, strength, most) if values.shape[1] <= FEW_FEATURES else None
    if weights is None:
        weights = _many(values, side, strength, most)
    along = weights[1:] / spread
    constant = float(weights[0] - middle @ along)
    return lambda matrix: np.asarray(matrix @ along + constant)


def _newton(values: Array, side: NDArray[np.int64], strength: float, most: int) -> Array | None:
    """(1 + k,) weights, the intercept first; None where the steps do not settle."""
    design = np.concatenate([np.ones((len(values), 1)), values], axis=1)
    ridge = np.full(design.shape[1], 1 / strength)
    ridge[0] = 0.0
    weights = np.zeros(design.shape[1])
    odds = np.zeros(len(design))
    sign = np.where(side == 1, 1.0, -1.0)

    def loss(odds: Array, weights: Array) -> float:
        return float(np.logaddexp(0.0, -sign * odds).sum() + ridge @ weights**2 / 2)

    value = loss(odds, weights)
    for _ in range(most):
        mean = scipy.special.expit(odds)
        gradient = design.T @ (mean - side) + ridge * weights
        hessian = (design * (mean * (1 - mean))[:, None]).T @ design
        hessian[np.diag_indices_from(hessian)] += ridge + 1e-12 * len(design)
        try:
            step = np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(step).all():
            return None
        gain, turn = float(gradient @ step), design @ step
        if gain <= 1e-12 * (1 + abs(value)):
            return weights
        share = 1.0
        while (tried := loss(odds - share * turn, weights - share * step)) > value - share * gain / 4:
            share /= 2
            if share < 1e-6:
                return weights
        weights, odds, value = weights - share * step, odds - share * turn, tried
    return weights


def _many(values: Array, side: NDArray[np.int64], strength: float, most: int) -> Array:
    from sklearn.linear_model import LogisticRegression

    model: Any = LogisticRegression(C=strength, max_iter=most)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(values, side)
    return np.concatenate([model.intercept_, model.coef_[0]])
