"""Affine forms of exponents, and an exact decision of mixed strict and weak linear inequalities (Motzkin's theorem)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import sympy as sp

from dpcheck.errors import InvalidInput

Number: TypeAlias = Fraction | sp.Expr
"""An exact coefficient: a Fraction, or a rational function of a parameter."""
ZERO, ONE = Fraction(0), Fraction(1)


def number(value: object) -> Number:
    """A Fraction for a rational, the expression itself for a rational function of parameters.

    Raises:
        InvalidInput: a float or an irrational number, neither of which can be decided exactly.
    """
    if isinstance(value, Fraction | int):
        return Fraction(value)
    expression = sp.sympify(value)
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    symbols = expression.free_symbols
    if expression.has(sp.Float):
        raise InvalidInput(f"exponents are exact, got the float {expression}; write Rational(1, 2), not 0.5")
    if not symbols or not expression.is_rational_function(*symbols):
        raise InvalidInput(f"exponents are rational, or rational functions of a parameter, got {expression}")
    return expression


@dataclass(frozen=True)
class Affine:
    """`sum(coefficients * names) + constant`: an exponent as a function of the exponents of a regime."""

    names: tuple[str, ...]
    coefficients: tuple[Number, ...]
    constant: Number = ZERO

    def __add__(self, other: Affine) -> Affine:
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return Affine(self.names, tuple(x + y for x, y in pairs), self.constant + other.constant)

    def __sub__(self, other: Affine) -> Affine:
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return Affine(self.names, tuple(x - y for x, y in pairs), self.constant - other.constant)

    def scaled(self, factor: Number) -> Affine:
        """The form times a number."""
        return Affine(self.names, tuple(factor * c for c in self.coefficients), factor * self.constant)

    def __call__(self, point: Sequence[Fraction] | Mapping[str, Fraction]) -> Number:
        """The value at a point, given in the order of `names` or by name."""
        values = [point[name] for name in self.names] if isinstance(point, Mapping) else point
        total = self.constant
        for coefficient, value in zip(self.coefficients, values, strict=True):
            if coefficient:
                total = total + coefficient * value
        return total

    def primitive(self) -> Affine:
        """The positive multiple with coprime integer coefficients; numbers only."""
        entries = [Fraction(c) for c in (*self.coefficients, self.constant)]
        scale = Fraction(math.lcm(*(c.denominator for c in entries)))
        common = math.gcd(*(int(c * scale) for c in entries)) or 1
        return self.scaled(scale / common)

    @property
    def is_constant(self) -> bool:
        return not any(self.coefficients)

    def __str__(self) -> str:
        parts = [(c, name) for c, name in zip(self.coefficients, self.names, strict=True) if c]
        text = " + ".join(name if c == 1 else f"-{name}" if c == -1 else f"{_shown(c)}*{name}" for c, name in parts)
        if self.constant or not parts:
            text += f"{' + ' if parts else ''}{_shown(self.constant)}"
        return text.replace("+ -", "- ")


def _shown(value: Number) -> str:
    return str(value) if isinstance(value, Fraction) else f"({value})"


def constant(names: tuple[str, ...], value: Number = ZERO) -> Affine:
    """The constant form."""
    return Affine(names, (ZERO,) * len(names), value)


def coordinate(names: tuple[str, ...], name: str) -> Affine:
    """The form that reads one exponent."""
    return Affine(names, tuple(ONE if other == name else ZERO for other in names))


@dataclass(frozen=True)
class Inequality:
    """`form >= 0`, or `form > 0`, and why it is there."""

    form: Affine
    strict: bool = False
    reason: str = ""

    def holds(self, point: Sequence[Fraction]) -> bool:
        """Whether the inequality holds at a point."""
        value = self.form(point)
        return bool(value > 0 if self.strict else value >= 0)

    def __str__(self) -> str:
        return f"{self.form} {'>' if self.strict else '>='} 0"


@dataclass(frozen=True)
class Contradiction:
    """Multipliers y >= 0 with sum(y * form) = 0 identically and some strict row, or 1 > 0, taking part.

    Attributes:
        multipliers: (index of the row, y); the index `len(rows)` is the row `1 > 0`. Only non-zero ones.
    """

    multipliers: tuple[tuple[int, Number], ...]


def separate(rows: Sequence[Inequality], dimension: int) -> tuple[Fraction, ...] | Contradiction:
    """A point that satisfies every row, or multipliers that show that there is none; exact, no floats.

    Phase one of the simplex method (Bland's rule) looks for y >= 0 with sum y (a, c) = 0 and sum over strict rows
    y = 1, the row 1 > 0 included. If there is no such y, the prices of the last basis are a solution of the rows.
    """
    columns = [(*r.form.coefficients, r.form.constant, ONE if r.strict else ZERO) for r in rows]
    columns.append((*[ZERO] * dimension, ONE, ONE))
    basis, values, prices = _phase_one(columns, dimension + 2)
    if prices is not None:
        scale = -prices[dimension]
        return tuple(-w / scale for w in prices[:dimension])
    chosen = sorted((column, y) for column, y in zip(basis, values, strict=True) if y and column < len(columns))
    return Contradiction(tuple(chosen))


def _phase_one(
    columns: Sequence[Sequence[Number]], height: int
) -> tuple[list[int], list[Fraction], list[Fraction] | None]:
    """Minimises the sum of artificials for `A y = (0, …, 0, 1)`, y >= 0.

    Returns:
        The basis, its values, and prices w with w'A <= 0 < w'b when the system has no solution (else None).
    """
    width = len(columns)
    tableau = [
        [
            *(Fraction(c[i]) for c in columns),
            *(ONE if i == j else ZERO for j in range(height)),
            ONE if i == height - 1 else ZERO,
        ]
        for i in range(height)
    ]
    cost = [-sum((row[j] for row in tableau), ZERO) for j in range(width)] + [ZERO] * height + [-ONE]
    basis = list(range(width, width + height))
    while (entering := next((j for j in range(width) if cost[j] < 0), None)) is not None:
        ratios = [(row[-1] / row[entering], basis[i], i) for i, row in enumerate(tableau) if row[entering] > 0]
        leaving = min(ratios)[2]  # never empty: the sum of artificials is bounded below
        _pivot(tableau, cost, leaving, entering)
        basis[leaving] = entering
    values = [row[-1] for row in tableau]
    if cost[-1] == 0:
        return basis, values, None
    return basis, values, [ONE - cost[width + i] for i in range(height)]


def _pivot(tableau: list[list[Fraction]], cost: list[Fraction], i: int, j: int) -> None:
    pivot = tableau[i][j]
    tableau[i] = [x / pivot if x else x for x in tableau[i]]
    for row in [*(r for index, r in enumerate(tableau) if index != i), cost]:
        if factor := row[j]:
            row[:] = [x - factor * y if y else x for x, y in zip(row, tableau[i], strict=True)]
