"""The least order over a choice of parameters, against linear programs solved in floating point."""

from __future__ import annotations

import random

import pytest
import sympy as sp
from scipy import optimize

from dpcheck.asymptotics.optima import least_order
from dpcheck.errors import InvalidInput

T, A, u, v = sp.symbols("T A u v", positive=True)


def drawn(seed: int) -> tuple[list[list[sp.Rational]], list[list[sp.Rational]]]:
    """Exponents of T, A, u, v in a few terms, and in none or one limit."""
    draw = random.Random(seed)

    def monomial() -> list[sp.Rational]:
        return [sp.Rational(draw.randint(-4, 4), draw.choice((1, 2, 3))) for _ in range(4)]

    return [monomial() for _ in range(draw.randint(2, 5))], [monomial() for _ in range(draw.randint(0, 1))]


def product(exponents: list[sp.Rational]) -> sp.Expr:
    return sp.Mul(*(s**e for s, e in zip((T, A, u, v), exponents, strict=True)))


@pytest.mark.parametrize("seed", range(40))
def test_agrees_with_linear_programs(seed: int) -> None:
    """min over (log T, log A) of the largest term, at random values of u and v; unbounded exactly when refused."""
    terms, limits = drawn(seed)
    at = random.Random(seed + 1000)
    values = {"u": at.uniform(-3, 3), "v": at.uniform(-3, 3)}
    rows = [[float(a), float(b), -1.0] for a, b, _, _ in terms] + [[float(a), float(b), 0.0] for a, b, _, _ in limits]
    right = [-(float(c) * values["u"] + float(d) * values["v"]) for _, _, c, d in (*terms, *limits)]
    program = optimize.linprog([0, 0, 1], A_ub=rows, b_ub=right, bounds=[(None, None)] * 3)
    rate, bounds = sp.Add(*map(product, terms)), [product(x) for x in limits]
    if program.status == 3:
        with pytest.raises(InvalidInput, match="tends to 0"):
            least_order(rate, [T, A], limits=bounds)
        return
    if program.status == 2:
        pytest.skip("this limit cannot be met at these values")
    found = least_order(rate, [T, A], limits=bounds)
    best = max(float(sum(e * values[s.name] for s, e in m.powers)) for m in found.terms)
    assert best == pytest.approx(program.fun, abs=1e-6)
