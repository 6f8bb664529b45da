"""A regime in coordinates: every symbol's growth as an affine form of the free exponents, and their inequalities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sympy as sp

from dpcheck.asymptotics.linear import ZERO, Affine, Inequality, Number, constant, number


@dataclass(frozen=True)
class Growth:
    """N^form (log N)^log (log log N)^loglog, N the large quantity of a regime."""

    form: Affine
    log: Number = ZERO
    loglog: Number = ZERO

    def __add__(self, other: Growth) -> Growth:
        """Of the product."""
        return Growth(self.form + other.form, self.log + other.log, self.loglog + other.loglog)

    def scaled(self, factor: Number) -> Growth:
        """Of the power."""
        return Growth(self.form.scaled(factor), factor * self.log, factor * self.loglog)

    def with_logs(self, log: Number, loglog: Number) -> Growth:
        """With further log factors."""
        return Growth(self.form, self.log + log, self.loglog + loglog)

    @property
    def logs(self) -> tuple[Number, Number]:
        """The exponents of log N and log log N."""
        return self.log, self.loglog

    def __str__(self) -> str:
        parts = [] if str(self.form) == "0" else [f"N^({self.form})"]
        parts += [
            name if exponent == 1 else f"({name})^({exponent})"
            for name, exponent in (("log N", self.log), ("log log N", self.loglog))
            if exponent
        ]
        return " ".join(parts) or "1"


@dataclass(frozen=True, eq=False)
class Space:
    """Free exponents, the growth of every symbol in them, and the inequalities that they obey."""

    names: tuple[str, ...]
    growths: Mapping[sp.Symbol, Growth]
    rows: tuple[Inequality, ...]

    @property
    def dimension(self) -> int:
        return len(self.names)

    def reordered(self, names: tuple[str, ...]) -> Space:
        """The same space with its coordinates in another order."""
        places = [self.names.index(name) for name in names]

        def move(form: Affine) -> Affine:
            return Affine(names, tuple(form.coefficients[i] for i in places), form.constant)

        growths = {s: Growth(move(g.form), g.log, g.loglog) for s, g in self.growths.items()}
        return Space(names, growths, tuple(Inequality(move(r.form), r.strict, r.reason) for r in self.rows))

    def power_product(self, powers: Iterable[tuple[sp.Symbol, sp.Expr]]) -> Growth:
        """Growth of a monomial without logs."""
        total = Growth(constant(self.names))
        for s, exponent in powers:
            total = total + self.growths[s].scaled(number(exponent))
        return total
