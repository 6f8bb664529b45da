"""Bounds of statements by label: what audits hold their measurements against."""

from __future__ import annotations

from typing import Any

import sympy as sp

from dpcheck.claims import evaluate
from dpcheck.engine.catalogue import claim
from dpcheck.engine.setting import known
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Algorithm, Problem


def stated(label: str, **values: Any) -> float:
    """The bound of a claim at these values; its assumptions are enforced. See `Claim.evaluate` for the errors."""
    return float(claim(label).at(values))


def unassumed(label: str, **values: Any) -> float:
    """The same without the assumptions: for parameters at which nothing is certified."""
    bound = claim(label).bound
    if bound is None:
        raise InvalidInput(f"{label} has no symbolic bound; see `dpcheck show {label}`")
    return float(evaluate(bound, values, label=label))


def bound_of(label: str, chosen: Algorithm[Any], problem: Problem, n: int, **values: Any) -> float:
    """The bound of a claim about an algorithm, at what the problem and the schedule fix; `values` go before these.

    Raises:
        InvalidInput: it does not speak of this problem, or of these fields of the algorithm; the message says what has
            no value.
    """
    return stated(label, **{**known(chosen, problem, n), **values})


def order_of(label: str) -> sp.Expr:
    """The O-form of a claim. Raises `InvalidInput` where it has none."""
    order = claim(label).order
    if order is None:
        raise InvalidInput(f"{label} has no O-form to measure; give its claim `order=`, or see `dpcheck show {label}`")
    return order


def explicit_of(label: str) -> sp.Expr:
    """The bound of a claim with its constants. Raises `InvalidInput` where it has none."""
    explicit = claim(label).explicit
    if explicit is None:
        raise InvalidInput(f"{label} has no bound with constants; see `dpcheck show {label}`")
    return explicit
