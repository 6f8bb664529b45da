"""Verifiers for `tsybakov`: each rebuilds a statement, or a step of a proof, and its violation from parameters.

Parameters are integers or strings of rationals ("1/100"); floats are refused. The algebra behind each verifier stands
in `bounds/tsybakov.md` under the same item.
"""

from __future__ import annotations

from fractions import Fraction

from mpmath import mp, mpf, workdps

from dpcheck.witnesses import Violation
from dpcheck.witnesses.numbers import DIGITS, Rational, count, exact, gaussian_delta, real

__all__ = [
    "alg_5_sizes",
    "alg_6_shuffled",
    "def_3",
    "fact_power_tnc",
    "fact_tnc_monotone",
    "lem_5",
    "lem_7",
    "thm_4_moment",
]


def alg_6_shuffled(T: int, constant: Rational, epsilon: Rational, delta: Rational, threshold: Rational) -> Violation:
    """tsybakov/alg-6@literal: all gradients 0 but one ±C, T shuffled batches, noise variance constant C² T log/(nε)².

    In deviations of the noise the batch of the odd record has the mean ±h, h = epsilon sqrt(T/(constant log(1/delta))),
    and the event is that the largest batch mean exceeds the threshold.
    """
    batches, factor = count("T", T), exact("constant", constant)
    budget, failure = exact("epsilon", epsilon), exact("delta", delta, most="99/100")
    with workdps(DIGITS):
        h = real(budget) * mp.sqrt(batches / (real(factor) * mp.log(1 / real(failure))))
        cut = real(exact("threshold", threshold))
        others = mp.ncdf(cut) ** (batches - 1)
        value = (1 - mp.ncdf(cut - h) * others) - mp.exp(real(budget)) * (1 - mp.ncdf(cut + h) * others)
        claimed = real(failure)
    return Violation(
        claimed=claimed,
        found=value,
        statement="shuffled batches with that noise are (epsilon, delta)-DP",
        violated=bool(value > claimed),
        label="tsybakov/alg-6@literal",
        at={"T": batches, "epsilon": budget, "delta": failure},
    )


def lem_5(size: int, theta: int) -> Violation:
    """tsybakov/lem-5: Φ(t) = t^theta, vertices of a unit simplex, equal laws, and the centroid as the answer."""
    vertices, power = count("size", size, 3), count("theta", theta, 1)
    with workdps(DIGITS):
        order = mp.power(mpf(vertices - 1) / (2 * vertices), mpf(power) / 2)
        claimed = (1 - mp.log(2) / mp.log(vertices)) / 2
    return Violation(
        claimed=claimed,
        found=order,
        statement="the average risk is at least half of Φ at the least distance, times Fano's factor",
        violated=bool(order < claimed),
        label="tsybakov/lem-5",
        at={"N": vertices, "theta": power},
    )


def thm_4_moment(k: int, p: Rational) -> Violation:
    """tsybakov/thm-4@literal: E sup |gradient|^k over r_k^k on the printed ball, atoms of probability p."""
    order, chance = count("k", k, 2), exact("p", p, most=1)
    # At an atom the supremum is 2|x|, at 0 it is the steepness of the power, |x|.
    ratio = chance * (1 / chance) + (1 - chance) * (1 / chance) / 2**order
    value, claimed = real(ratio), mpf(1)
    return Violation(
        claimed=claimed,
        found=value,
        statement="the instance satisfies the moment bound of Assumption 1",
        violated=bool(ratio > 1),
        label="tsybakov/thm-4@literal",
        at={"k": order, "p": chance},
    )


def fact_power_tnc(theta: int, t: Rational) -> Violation:
    """tsybakov/fact-power-tnc@literal: excess over distance^theta at w = -t w*, |w*| = 1."""
    power, place = count("theta", theta, 2), exact("t", t)
    ratio = ((place**power - 1) / power + place + 1) / (place + 1) ** power
    return Violation(
        claimed=mpf(1),
        found=real(ratio),
        statement="the excess of the tilted power is at least the distance to the power theta",
        violated=ratio < 1,
        label="tsybakov/fact-power-tnc@literal",
        at={"theta": power},
    )


def fact_tnc_monotone(w: Rational, theta: int) -> Violation:
    """tsybakov/fact-tnc-monotone@literal: F = w^2, a (2, 1) condition, against |w|^theta."""
    place, power = exact("w", w), count("theta", theta, 3)
    return Violation(
        claimed=real(place**power),
        found=real(place**2),
        statement="the (2, 1) condition implies the (theta, 1) condition",
        violated=place**2 < place**power,
        label="tsybakov/fact-tnc-monotone@literal",
        at={"theta": power, "D": 4},
    )


def lem_7(s: int, C: Rational, k: int, r: Rational = 1) -> Violation:
    """tsybakov/lem-7@literal: E|clipped mean - mean| of s fair signs of size r, clipped at C, against
    r^k/((k-1) C^(k-1)).
    """
    size, level, order, length = count("s", s), exact("C", C), count("k", k, 2), exact("r", r)
    total, term = Fraction(0), Fraction(1, 2**size)
    for ups in range(size + 1):
        total += term * abs(Fraction(2 * ups, size) - 1)
        term = term * (size - ups) / (ups + 1)
    value, claimed = total * min(level, length), length**order / ((order - 1) * level ** (order - 1))
    return Violation(
        claimed=real(claimed),
        found=real(value),
        statement="E|clipped mean - mean| is at most r^(k)/((k-1) C^(k-1))",
        violated=value > claimed,
        label="tsybakov/lem-7@literal",
        at={"k": order, "r_k": length, "C": level, "n": size},
    )


def alg_5_sizes(log_n: int, theta_bar: int) -> Violation:
    """tsybakov/alg-5@literal: records asked for at n = 2^log_n, as a share of n; base-2 logarithms."""
    logs, base = count("log_n", log_n, 2), count("theta_bar", theta_bar, 2)
    with workdps(DIGITS):
        exponent = mp.log(2) / mp.log(base)
        parts = int(mp.floor(exponent * mp.log(logs) / mp.log(2) + mpf(10) ** (-40)))
        value = (mpf(2) ** parts - 1) / mpf(logs) ** (exponent**2)
    return Violation(
        claimed=mpf(1),
        found=value,
        statement="the parts have at most n records together",
        violated=bool(value > 1),
        label="tsybakov/alg-5@literal",
        at={"n": 2**logs, "theta_bar": base},
    )


def def_3(epsilon: Rational, delta: Rational) -> Violation:
    """tsybakov/def-3@literal: the exact curve of the Gaussian mechanism at the printed noise."""
    budget, failure = exact("epsilon", epsilon, most=1), exact("delta", delta)
    if failure >= 1:
        raise ValueError(f"delta must be below 1, got {delta}")
    with workdps(DIGITS):
        mu = real(budget) / (4 * mp.sqrt(mp.log(1 / real(failure))))
        value, claimed = gaussian_delta(real(budget), mu), real(failure)
    return Violation(
        claimed=claimed,
        found=value,
        statement="Gaussian noise of deviation 4Δ sqrt(log(1/delta))/epsilon is (epsilon, delta)-DP",
        violated=bool(value > claimed),
        label="tsybakov/def-3@literal",
        at={"epsilon": budget, "delta": failure},
    )
