"""Hard instances in exact arithmetic: packings, and laws with finitely many atoms."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import mpmath
import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array

Number = Any
"""int, float, Fraction or mpmath.mpf: rationals stay rationals, the rest is carried with `DIGITS` digits."""
Distance = Literal["l1", "squared l2", "max", "hamming"]
DIGITS = 50


def as_mpf(value: Number) -> Any:
    """Any `Number` as an mpmath number, at the precision in force."""
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mpmath.mpf(value)


def exactly(points: Any) -> tuple[tuple[Fraction, ...], ...]:
    """Points (size, d) of integers, floats, fractions or strings like "1/3" as exact rationals."""
    return tuple(tuple(Fraction(x.item() if hasattr(x, "item") else x) for x in point) for point in points)


def closest_pair(points: Any, distance: Distance = "squared l2") -> tuple[Fraction, int, int]:
    """Exact least distance between two points, and which two; squared for l2, a count for Hamming.

    Args:
        points: (size >= 2, d), as `exactly` takes them; about a thousand points in a second.
    """
    exact = exactly(points)
    if len(exact) < 2:
        raise InvalidInput(f"a packing needs at least 2 points, got {len(exact)}")
    rough = np.array([[float(x) for x in point] for point in exact])
    pairs = np.array(list(itertools.combinations(range(len(exact)), 2)))
    gaps = np.concatenate([_rough(rough[i] - rough[j], distance) for i, j in _blocks(pairs)])
    # Floats are off by far less than 1e-9 of the diameter: the closest pair is among those that look closest.
    near = gaps <= gaps.min() + 1e-9 * max(1.0, float(gaps.max()))
    return min((_distance(exact[i], exact[j], distance), int(i), int(j)) for i, j in pairs[near])


def _blocks(pairs: np.ndarray[Any, Any]) -> list[tuple[Any, Any]]:
    return [(block[:, 0], block[:, 1]) for block in np.array_split(pairs, max(1, len(pairs) // 100_000))]


def _rough(gap: Array, distance: Distance) -> Array:
    if distance == "hamming":
        return np.asarray((gap != 0).sum(axis=1), dtype=float)
    size = np.abs(gap)
    if distance == "max":
        return np.asarray(size.max(axis=1))
    return np.asarray((size if distance == "l1" else size**2).sum(axis=1))


def _distance(a: Sequence[Fraction], b: Sequence[Fraction], distance: Distance) -> Fraction:
    gaps = [abs(x - y) for x, y in zip(a, b, strict=True)]
    if distance == "hamming":
        return Fraction(sum(gap != 0 for gap in gaps))
    if distance == "max":
        return max(gaps)
    return sum((gap if distance == "l1" else gap * gap for gap in gaps), Fraction(0))


@dataclass(frozen=True)
class RationalLaw:
    """A law with finitely many atoms, in exact arithmetic.

    Attributes:
        atoms: (size, d) numbers; masses: (size,). Rationals stay exact; mpmath numbers carry 50 digits.
    """

    atoms: tuple[tuple[Number, ...], ...]
    masses: tuple[Number, ...]

    def __post_init__(self) -> None:
        if len(self.atoms) != len(self.masses) or any(as_mpf(mass) < 0 for mass in self.masses):
            raise InvalidInput(f"a law needs as many masses >= 0 as atoms, got {len(self.masses)}, {len(self.atoms)}")
        total = self.expect(lambda _: 1)
        if abs(as_mpf(total) - 1) > 1e-30:
            raise InvalidInput(f"the masses of a law add up to 1, got {mpmath.nstr(as_mpf(total), 15)}")

    def expect(self, function: Callable[[tuple[Number, ...]], Number]) -> Number:
        """E function(z): exact when function and masses are rational."""
        with mpmath.workdps(DIGITS):
            total: Number = 0
            for atom, mass in zip(self.atoms, self.masses, strict=True):
                total = _plus(total, _times(mass, function(atom)))
            return total

    def mean(self) -> tuple[Number, ...]:
        """E z, (d,)."""
        return tuple(self.expect(lambda atom, i=i: atom[i]) for i in range(len(self.atoms[0])))  # type: ignore[misc]

    def moment(self, k: Number, size: Callable[[tuple[Number, ...]], Number] | None = None) -> Any:
        """E size(z)^k with 50 digits; size is the l2 norm unless given (sup over w of a gradient's norm, say)."""
        with mpmath.workdps(DIGITS):
            norm = size or (lambda atom: mpmath.sqrt(mpmath.fsum(as_mpf(x) ** 2 for x in atom)))
            return as_mpf(self.expect(lambda atom: as_mpf(norm(atom)) ** as_mpf(k)))

    def total_variation(self, other: RationalLaw) -> Number:
        """sup_S |P(S) - Q(S)|; atoms are matched by equality."""
        with mpmath.workdps(DIGITS):
            gap: Number = 0
            for mass, its in self._matched(other):
                if as_mpf(mass) > as_mpf(its):
                    gap = _plus(gap, _plus(mass, _times(-1, its)))
            return gap

    def kl(self, other: RationalLaw) -> Any:
        """Kullback-Leibler divergence of this law from `other`, with 50 digits; inf where it is not dominated."""
        with mpmath.workdps(DIGITS):
            parts = [(as_mpf(mass), as_mpf(its)) for mass, its in self._matched(other)]
            if any(its == 0 < mass for mass, its in parts):
                return mpmath.inf
            return mpmath.fsum(mass * mpmath.log(mass / its) for mass, its in parts if mass > 0)

    def _matched(self, other: RationalLaw) -> list[tuple[Number, Number]]:
        table: dict[tuple[Number, ...], list[Number]] = {}
        for law, side in ((self, 0), (other, 1)):
            for atom, mass in zip(law.atoms, law.masses, strict=True):
                row = table.setdefault(atom, [0, 0])
                row[side] = _plus(row[side], mass)
        return [(row[0], row[1]) for row in table.values()]


def _plus(a: Number, b: Number) -> Number:
    if isinstance(a, int | Fraction) and isinstance(b, int | Fraction):
        return a + b
    return as_mpf(a) + as_mpf(b)


def _times(a: Number, b: Number) -> Number:
    if isinstance(a, int | Fraction) and isinstance(b, int | Fraction):
        return a * b
    return as_mpf(a) * as_mpf(b)
