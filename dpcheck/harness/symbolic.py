"""Identities and signs by SymPy, and lists of numbers that must agree: what symbolic checks conclude from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.asymptotics import Comparison, Regime, compare, verify
from dpcheck.errors import InvalidInput
from dpcheck.harness.relations import judged
from dpcheck.interfaces import Array
from dpcheck.verdicts import Outcome, Verdict, differs, holds, refuted, undecided


def proved(zero: Mapping[str, sp.Expr], signs: Mapping[str, sp.Expr] | None = None) -> Verdict:
    """Judges identities (expressions that must vanish) and inequalities (expressions that must be >= 0).

    An identity that SymPy does not reduce to 0 is refuted when it is certainly not 0 at a point, and left open
    otherwise; an inequality is proved when the assumptions of its symbols decide its sign.
    """
    signs = signs or {}
    if not zero and not signs:
        raise InvalidInput("nothing to prove; pass at least one identity or inequality")
    numbers: dict[str, float | int | str | bool] = {"identities": len(zero), "inequalities": len(signs)}
    for name, expression in zero.items():
        rest = sp.simplify(sp.powsimp(sp.expand_log(sp.sympify(expression), force=True), force=True))
        if rest == 0:
            continue
        value = _at_a_point(rest)
        if abs(value) > 1e-9:
            said = f"{name}: the difference is {sp.sstr(rest)}, {value:.6g} at a point"
            return refuted(said, "exact", numbers=numbers)
        return undecided(f"{name}: SymPy leaves {sp.sstr(rest)}", "symbolic", numbers=numbers)
    for name, expression in signs.items():
        known = _sign(sp.sympify(expression))
        if known is False:
            return refuted(f"{name} fails: {sp.sstr(expression)} < 0", "symbolic", numbers=numbers)
        if known is None:
            said = f"{name}: the sign of {sp.sstr(expression)} is not decided"
            return undecided(said, "symbolic", numbers=numbers)
    return holds(f"proved: {'; '.join([*zero, *signs])}", "symbolic", numbers=numbers)


def advanced_composition_proved(stated: sp.Expr, count: sp.Symbol, epsilon: sp.Symbol, slack: sp.Symbol) -> Verdict:
    """Judges what advanced composition states as the epsilon of `count` (epsilon, delta)-DP mechanisms, slack delta'.

    Losses in [-eps, eps], the range of randomised response, which dominates every eps-DP mechanism, have means of at
    most eps(e^eps - 1), and Azuma bounds their sum; delta' + count delta is a union bound, one mechanism at a time.
    """
    u, v, y = sp.symbols("u v y", positive=True)  # y = e^eps - 1
    most = epsilon * (sp.exp(epsilon) - 1)
    chance = sp.exp(epsilon) / (1 + sp.exp(epsilon))  # of the answer that is more likely on this side
    mean = most / (sp.exp(epsilon) + 1)
    above = stated - count * most
    union = u + v - (1 - (1 - u) * (1 - v))
    return proved(
        {
            "mean of a loss": epsilon * (chance - (1 - chance)) - mean,
            "chance of the sum, exp(-t^2/(2 k eps^2))": above**2 / (2 * count * epsilon**2) - sp.log(1 / slack),
        },
        {
            "mean <= eps(e^eps - 1)": sp.factor((most - mean).subs(sp.exp(epsilon), 1 + y)),
            "1 - (1 - u)(1 - v) <= u + v": sp.expand(union),
        },
    )


def norm_tail_proved(stated: sp.Expr, u: sp.Symbol) -> Verdict:
    """Whether P(|Z|^2 >= d u) <= stated = 2 exp(-rate u), Z standard normal in R^d, for every d >= 1 and u > 0.

    It is 1 at u = log(2)/rate. Beyond, Chernoff's (u e^(1-u))^(d/2), largest at d = 1, is below e^(-rate u) there, and
    stays so, because the difference of the exponents has a positive slope.  UNDECIDED where that is not so.
    """
    v = sp.Symbol("v", nonnegative=True)
    rate = -sp.diff(sp.expand_log(sp.log(stated), force=True), u)
    least = sp.log(2) / rate
    gap = (u - 1 - sp.log(u)) / 2 - rate * u
    slope = sp.expand(sp.diff(gap, u) * u)
    verdict = proved(
        {"2 exp(-rate u)": sp.log(stated) - sp.log(2) + rate * u},
        {
            "u where the bound is 1, past the mode": least - 1,
            "the exponents' gap there": sp.floor(100 * gap.subs(u, least)) / sp.Integer(100),
            "its slope beyond": sp.floor(100 * slope.subs(u, least)) / sp.Integer(100) + sp.diff(slope, u) * v,
        },
    )
    if verdict.outcome is Outcome.HOLDS:
        return verdict
    return undecided(f"Chernoff's bound does not reach it: {verdict.reason}", "symbolic", numbers=verdict.numbers)


def where_proved(proof: Verdict, words: str) -> str:
    """What `accuracy.never_violated` takes as `covers`: why all other instances are decided, if a proof says so."""
    return words if proof.outcome is Outcome.HOLDS else ""


def agree(
    values: Sequence[float] | Array, wanted: Sequence[float] | Array, what: str, tolerance: float = 1e-9
) -> Verdict:
    """Judges that two lists of exactly computed numbers are equal up to a relative rounding, entry by entry.

    A value that is not finite differs from every number that is wanted.
    """
    a, b = np.asarray(values, dtype=float), np.asarray(wanted, dtype=float)
    if a.shape == b.shape and a.size and np.isfinite(b).all() and not np.isfinite(a).all():
        return differs(f"{what}: {int((~np.isfinite(a)).sum())} of {a.size} values are not finite")
    if a.shape != b.shape or a.size == 0 or not np.isfinite(b).all():
        raise InvalidInput(f"{what}: needs two lists of one shape, not empty and finite, got {a.shape} and {b.shape}")
    off = np.abs(a - b) / np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300)
    worst = int(off.argmax())
    numbers: dict[str, float | int | str | bool] = {"compared": a.size, "largest relative difference": float(off.max())}
    said = f"{what}: {float(a.flat[worst]):.9g} against {float(b.flat[worst]):.9g} where they differ most, of {a.size}"
    return judged(float(off.max()), "<=", tolerance, said, "exact", numbers=numbers, severity=float(off.max()))


def _sign(expression: sp.Expr) -> bool | None:
    """Whether the expression is nonnegative, if its assumptions decide that."""
    for form in (expression, sp.expand(expression), sp.factor(expression), sp.simplify(expression)):
        if form.is_nonnegative is not None:
            return bool(form.is_nonnegative)
    return None


def _at_a_point(expression: sp.Expr) -> float:
    """The value where the symbols are distinct integers from 2 on; nan where that leaves the real numbers."""
    values = {s: sp.Integer(2 + i) for i, s in enumerate(sorted(expression.free_symbols, key=str))}
    number = complex(sp.N(expression.subs(values)))
    return number.real if number.imag == 0 else math.nan


def at_most(smaller: Any, larger: Any, regime: Regime) -> Comparison:
    """The verified comparison of two rates."""
    comparison = compare(smaller, larger, regime)
    verify(comparison)
    return comparison


def no_larger(rates: Mapping[str, tuple[Any, Any, Regime]]) -> Verdict:
    """HOLDS when each left rate is O(right rate) in its regime; REFUTED where one is of larger order at a point."""
    said = []
    for name, (left, right, regime) in rates.items():
        verdict = at_most(left, right, regime)
        if verdict.relation in ("larger", "incomparable"):
            return refuted(f"{name}: {verdict.relation} at {verdict.certificate.at_most}", "symbolic")
        if verdict.relation == "undecided":
            return undecided(f"{name}: {verdict.reason}", "symbolic")
        said.append(f"{name} ({verdict.relation})")
    return holds(f"of the stated order: {'; '.join(said)}", "symbolic", numbers={"comparisons": len(rates)})
