"""Orders of growth, exactly: which rate is of the order of which, in which regime, and which is best where.

>>> import sympy as sp
>>> from dpcheck.asymptotics import Regime, compare, verify
>>> from dpcheck.symbols import d, epsilon, n
>>> a = sp.Symbol("a", nonnegative=True)
>>> vector = sp.sqrt(d) / (epsilon * n)
>>> tree = (sp.log(d) / (epsilon * n)) ** sp.Rational(2, 3)
>>> comparison = compare(tree, vector, Regime(ties={d: n**a, epsilon: 1}, where=[a > sp.Rational(2, 3)]))
>>> comparison.relation, comparison.everywhere
('smaller', True)
>>> verify(comparison)
"""

from __future__ import annotations

from dpcheck.asymptotics.comparisons import (
    Comparison,
    ComparisonProof,
    DominantTerm,
    at_most,
    compare,
    dominant_terms,
    local_exponents,
)
from dpcheck.asymptotics.decision import Dominance, ParametricDominance, Ray, Undecided
from dpcheck.asymptotics.linear import Affine
from dpcheck.asymptotics.orders import Order
from dpcheck.asymptotics.phases import Bound, PhaseDiagram, PhaseRegion, Tie, phase_diagram
from dpcheck.asymptotics.regimes import Regime
from dpcheck.asymptotics.spaces import Growth
from dpcheck.asymptotics.verification import verify

__all__ = [
    "Affine",
    "Bound",
    "Comparison",
    "ComparisonProof",
    "Dominance",
    "DominantTerm",
    "Growth",
    "Order",
    "ParametricDominance",
    "PhaseDiagram",
    "PhaseRegion",
    "Ray",
    "Regime",
    "Tie",
    "Undecided",
    "at_most",
    "compare",
    "dominant_terms",
    "local_exponents",
    "phase_diagram",
    "verify",
]
