"""Parameters of witnesses as exact numbers, and what several verifiers compute from them.

A parameter is an integer or a string of a rational ("1/3"); floats are refused, for they are seldom what was meant.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from mpmath import mp, mpf

__all__ = ["DIGITS", "Rational", "count", "exact", "gaussian_delta", "real"]

Rational: TypeAlias = int | str
DIGITS = 50
"""Precision of the verifiers."""


def exact(
    name: str,
    value: Rational,
    *,
    above: Rational | None = 0,
    below: Rational | None = None,
    most: Rational | None = None,
) -> Fraction:
    """The parameter as a fraction above `above`, and below `below` or at most `most`; None: however small, or large."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(f"{name} must be an integer or a string such as '1/3', got {value!r}")
    number = Fraction(value)
    too_small = above is not None and number <= Fraction(above)
    too_large = (below is not None and number >= Fraction(below)) or (most is not None and number > Fraction(most))
    if too_small or too_large:
        least = "-inf" if above is None else above
        end = f"{most}]" if most is not None else f"{'inf' if below is None else below})"
        raise ValueError(f"{name} must lie in ({least}, {end}, got {value}")
    return number


def count(name: str, value: int, least: int = 1) -> int:
    """The parameter as an integer that is not below `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
    return value


def real(value: Fraction | int) -> mpf:
    """A fraction in the working precision."""
    return mpf(value.numerator) / value.denominator


def gaussian_delta(epsilon: mpf, mu: mpf) -> mpf:
    """Exact privacy curve of Gaussian noise at sensitivity over deviation `mu`."""
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
