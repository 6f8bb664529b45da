"""A witness satisfies every hypothesis of the claim that it refutes."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
import sympy as sp

from dpcheck.errors import WitnessRejected
from dpcheck.symbols import L, R, delta, n
from dpcheck.witnesses import Violation, require


def violation(**at: object) -> Violation:
    one = mpmath.mpf(1)
    return Violation(claimed=one, found=2 * one, statement="x <= 1", violated=True, label="toy/thm-1", at=at)  # type: ignore[arg-type]


def test_a_hypothesis_that_holds_is_silent() -> None:
    require((sp.Le(L, R * sp.sqrt(n)), sp.Gt(n, 1)), violation(L=2, R="1/2", n=16))
    require((sp.And(sp.Ge(n, 2), sp.Lt(delta, 1 / n)),), violation(n=16, delta=Fraction(1, 17)))


@pytest.mark.parametrize(
    ("assumption", "at"),
    [
        (sp.Le(L, R), {"L": 154_625, "R": "715/1000"}),
        (sp.Lt(delta, 1 / n), {"delta": "1/16", "n": 16}),  # strict, and met with equality
        (sp.Gt(n, sp.exp(L)), {"n": 10**30, "L": 100}),
        (sp.And(sp.Ge(n, 2), sp.Le(n, 3)), {"n": 4}),
        (sp.Eq(L, 1), {"L": "1000000000001/1000000000000"}),
    ],
)
def test_a_hypothesis_that_fails_is_named_with_its_values(assumption: sp.Basic, at: dict[str, object]) -> None:
    with pytest.raises(WitnessRejected, match="which fails at this witness"):
        require((assumption,), violation(**at))


def test_silence_on_a_symbol_is_refused() -> None:
    with pytest.raises(WitnessRejected, match=r"does not say what R is at this witness"):
        require((sp.Le(L, R),), violation(L=1))


def test_what_float64_cannot_tell_apart_is_told_apart() -> None:
    close = {"L": Fraction(10**40 + 1, 10**40), "R": 1}
    with pytest.raises(WitnessRejected):
        require((sp.Le(L, R),), violation(**close))
