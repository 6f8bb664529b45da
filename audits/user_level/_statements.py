"""What the audits of printed lines share: bounds by label, witnesses, and orders of growth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.engine.catalogue import claim
from dpcheck.interfaces import Array


def stated_each(label: str, **values: Any) -> Array:
    """The bound at arrays of values, which broadcast."""
    return np.asarray(claim(label).evaluate(**values), dtype=float)


def rational(value: float | str) -> float:
    """A witness's rational as a float: "1/3" or a number."""
    if not isinstance(value, str):
        return float(value)
    top, _, bottom = value.partition("/")
    return int(top) / int(bottom or 1)


def log_ratio(product: float, epsilon: float, delta: float) -> float:
    """log(product e^epsilon/delta)."""
    return math.log(product) + epsilon - math.log(delta)


def difference_of_laplace(t: float, wide: float, narrow: float) -> float:
    """P(Lap(wide) - Lap(narrow) > t), t >= 0."""
    top = wide**2 * math.exp(-t / wide) - narrow**2 * math.exp(-t / narrow)
    return top / (2 * (wide**2 - narrow**2))


def unit(expression: Any, symbols: Sequence[sp.Symbol]) -> Any:
    """The expression with these symbols set to 1."""
    return sp.sympify(expression).subs(dict.fromkeys(symbols, 1))
