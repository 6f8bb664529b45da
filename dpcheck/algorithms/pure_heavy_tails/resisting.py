"""Theorem B.1: an oracle that answers finitely many local queries without giving the Lipschitz extension away."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpcheck.errors import InvalidInput

LIFTS = tuple(
    Fraction(1, 2**k)
    for k in range(4, 200)  # the same: the first that fits is taken, and one of those between fits
)
"""How far a new line may be above a kink: the first that fits, and a small one does."""


@dataclass
class ResistingOracle:
    """Answers queries of a convex function on [-1, 1] and hides the minimiser of it + C t, in exact rationals.

    The function is the maximum of `lines`, (slope, point, value) each, except near their crossings, of which nothing
    has been said. A query right at a crossing is answered by a new line a little above it.
    """

    C: ClassVar[Fraction] = Fraction(1, 2)
    lines: list[tuple[Fraction, Fraction, Fraction]] = field(
        default_factory=lambda: [
            (Fraction(-3, 4), Fraction(1, 2), Fraction(0)),
            (
                Fraction(0),
                Fraction(1, 2),  # the same: a level line is one, whichever of its points is named
                Fraction(0),
            ),
        ]
    )
    answers: dict[Fraction, tuple[Fraction, Fraction]] = field(default_factory=dict)

    def value(self, t: Fraction) -> Fraction:
        return max(height + slope * (t - at) for slope, at, height in self.lines)

    def slopes(self, t: Fraction) -> list[Fraction]:
        """Slopes of the lines that are active at t, in order."""
        top = self.value(t)
        return sorted({slope for slope, at, height in self.lines if height + slope * (t - at) == top})

    def kink(self) -> Fraction:
        """The minimiser of the function + C t."""
        crossings = [
            (n[2] - n[0] * n[1] - m[2] + m[0] * m[1]) / (m[0] - n[0])
            for m, n in itertools.combinations(self.lines, 2)
            if m[0] != n[0]
        ]
        return min(crossings, key=lambda x: self.value(x) + self.C * x)

    def ask(self, t: Fraction) -> tuple[Fraction, Fraction]:
        """Value and slope at t; the same point always has the same answer."""
        if t not in self.answers:
            around = self.slopes(t)
            if len(around) > 1:
                self._bend(t, around[0], around[-1])
            self.answers[t] = self.value(t), self.slopes(t)[0]
        return self.answers[t]

    def _bend(self, t: Fraction, low: Fraction, high: Fraction) -> None:
        """Adds a line through a kink, a little above it, without touching the answers given so far."""
        slope = (low + high) / 2
        if slope == -self.C:
            slope = (slope + high) / 2
        height, lines = self.value(t), self.lines
        for lift in LIFTS:
            self.lines = [*lines, (slope, t, height + lift)]
            kept = all(
                self.value(u) == answer[0] and self.slopes(u) == [answer[1]] for u, answer in self.answers.items()
            )
            if kept and 0 < self.kink() < 1:
                return
        raise InvalidInput(f"no new line at {t} leaves the {len(self.answers)} answers as they are")

    def clearance(self, t: Fraction) -> Fraction:
        """How far the piece of an answered query reaches on its shorter side."""
        (slope,) = self.slopes(t)
        height = self.value(t)
        gaps = [(height - (h + s * (t - at))) / abs(s - slope) for s, at, h in self.lines if s != slope]
        return min(gaps)


def bump_constant(low: float, high: float) -> float:
    """min over s of E max(low (s - U), high (s - U)) for U of density ∝ exp(-1/(1-u^2)) on (-1, 1), by quadrature."""
    u, weight = np.polynomial.legendre.leggauss(400)  # the same: with more points than digits
    weight = weight * np.exp(-1 / (1 - u**2))
    s = np.linspace(-1, 1, 2001)[:, None]
    return float((np.maximum(low * (s - u), high * (s - u)) @ (weight / weight.sum())).min())
