"""What the audits of printed lines share: bounds by label, witnesses, and orders of growth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.asymptotics import Comparison, Regime, compare, verify
from dpcheck.engine.catalogue import claim
from dpcheck.interfaces import Array
from dpcheck.verdicts import Verdict, holds, refuted, undecided


def stated_each(label: str, **values: Any) -> Array:
    """The bound at arrays of values, which broadcast."""
    return np.asarray(claim(label).evaluate(**values), dtype=float)


def at_most(smaller: Any, larger: Any, regime: Regime) -> Comparison:
    """The verified comparison of two rates."""
    found = compare(smaller, larger, regime)
    verify(found)
    return found


def no_larger(rates: Mapping[str, tuple[Any, Any, Regime]]) -> Verdict:
    """HOLDS when each left rate is O(right rate) in its regime; REFUTED where one is of larger order at a point."""
    said = []
    for name, (left, right, regime) in rates.items():
        found = at_most(left, right, regime)
        if found.relation in ("larger", "incomparable"):
            return refuted(f"{name}: {found.relation} at {found.certificate.at_most}", "symbolic")
        if found.relation == "undecided":
            return undecided(f"{name}: {found.reason}", "symbolic")
        said.append(f"{name} ({found.relation})")
    return holds(f"of the stated order: {'; '.join(said)}", "symbolic", numbers={"comparisons": len(rates)})


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
