"""Verifiers for Section 6 of `l1_geometry` and the sample complexities behind it: lower bounds above what can be lost.

Parameters are integers or strings of rationals ("1/3"); everything is recomputed with 50 digits.
"""

from __future__ import annotations

from fractions import Fraction

from mpmath import mp, mpf, workdps

from dpcheck.witnesses import Violation
from dpcheck.witnesses.numbers import DIGITS, Rational, count, exact, real

__all__ = ["lem_6_1_range", "prop_1_samples", "thm_10_range", "thm_11_range"]


def _rate(n: int, d: int, epsilon: Rational, constant: Rational) -> mpf:
    budget = real(exact("epsilon", epsilon, most=1))
    return real(exact("constant", constant)) * mp.sqrt(d) / (n * budget * mp.log(d))


def lem_6_1_range(n: int, d: int, epsilon: Rational, constant: Rational, D: Rational = 1) -> Violation:
    """l1_geometry/lem-6-1@literal: random signs err by (1/2) sum |mean of z_j| <= D/2 on every data set."""
    radius = exact("D", D)
    with workdps(DIGITS):
        claimed = real(radius) * _rate(count("n", n), count("d", d, 2), epsilon, constant)
        reached = real(radius) / 2
        return Violation(
            claimed=claimed,
            found=reached,
            statement="every algorithm errs by at least constant D sqrt(d)/(n epsilon log d) on some data set",
            violated=bool(claimed > reached),
            label="l1_geometry/lem-6-1@literal",
            at={"n": n, "d": d, "epsilon": Fraction(epsilon), "D": radius},
        )


def thm_10_range(n: int, d: int, epsilon: Rational, constant: Rational, L: Rational = 1, D: Rational = 1) -> Violation:
    """l1_geometry/thm-10@literal: x = 0 has excess L sum |mean of z_j| <= L D on every data set."""
    slope, radius = exact("L", L), exact("D", D)
    with workdps(DIGITS):
        most = real(slope * radius)
        claimed = most * _rate(count("n", n), count("d", d, 2), epsilon, constant)
        return Violation(
            claimed=claimed,
            found=most,
            statement="every algorithm has excess at least constant L D sqrt(d)/(n epsilon log d) on some data set",
            violated=bool(claimed > most),
            label="l1_geometry/thm-10@literal",
            at={"n": n, "d": d, "epsilon": Fraction(epsilon), "L": slope, "D": radius},
        )


def thm_11_range(n: int, d: int, epsilon: Rational, constant: Rational, L: Rational = 1, D: Rational = 1) -> Violation:
    """l1_geometry/thm-11@literal: no excess exceeds L times the diameter 2 D, whatever beta <= L/D."""
    slope, radius = exact("L", L), exact("D", D)
    size, dimension, budget = count("n", n), count("d", d), exact("epsilon", epsilon, most=1)
    factor = exact("constant", constant)
    with workdps(DIGITS):
        product = size * real(budget)
        scale = real(slope * radius)
        claimed = real(factor) * scale * min(product ** (-mpf(2) / 3), mp.sqrt(dimension) / product)
        return Violation(
            claimed=claimed,
            found=2 * scale,
            statement="some excess is at least constant L D min((n epsilon)^(-2/3), sqrt(d)/(n epsilon))",
            violated=bool(claimed > 2 * scale),
            label="l1_geometry/thm-11@literal",
            at={"n": size, "d": dimension, "epsilon": budget, "L": slope, "D": radius, "H": slope / radius},
        )


def prop_1_samples(d: int, alpha: Rational, epsilon: Rational, constant: Rational) -> Violation:
    """l1_geometry/prop-1@literal: from alpha = 1/2 on one record is enough, by random signs (0-DP, error <= 1/2)."""
    dimension, accuracy = count("d", d, 2), exact("alpha", alpha, most=1)
    budget, factor = exact("epsilon", epsilon, most=1), exact("constant", constant)
    if accuracy < Fraction(1, 2):
        raise ValueError(f"random signs reach errors from 1/2 on, got alpha = {alpha}")
    with workdps(DIGITS):
        claimed = real(factor) * mp.sqrt(dimension) / (real(accuracy * budget) * mp.log(dimension))
        return Violation(
            claimed=claimed,
            found=mpf(1),
            statement="the sample complexity is at least constant sqrt(d)/(alpha epsilon log d)",
            violated=bool(claimed > 1),
            label="l1_geometry/prop-1@literal",
            at={"d": dimension, "alpha": accuracy, "epsilon": budget},
        )
