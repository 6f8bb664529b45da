"""Immutable families of instances: a grid that knows neither the size nor the algorithm, and the worst of its members.

The worst member moves through the class as the sizes grow. A grid that ends where the worst member sits says nothing of
the members beyond, unless the class itself ends there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dpcheck.errors import InvalidInput
from dpcheck.verdicts import plain

Member = Mapping[str, float]


@dataclass(frozen=True)
class Axis:
    """Values of one parameter of a class, in order.

    Attributes:
        values: from one end to the other.
        closed: whether the class itself ends at the first, and at the last of them.
    """

    values: tuple[float, ...]
    closed: tuple[bool, bool] = (False, False)

    def around(self, value: float) -> tuple[float, ...]:
        """The value, and the ones beside it."""
        place = self.values.index(value)
        return self.values[max(0, place - 1) : place + 2]

    def finer(self) -> Axis:
        """The same axis with a geometric mean between every two values."""
        means = [math.sqrt(a * b) for a, b in itertools.pairwise(self.values)]
        return Axis((*itertools.chain(*zip(self.values, means, strict=False)), self.values[-1]), self.closed)

    def open_end(self, value: float) -> bool:
        """Whether the grid ends there and the class does not."""
        first, last = self.closed
        return (value == self.values[0] and not first) or (value == self.values[-1] and not last)


def geometric(first: float, ratio: float, count: int, *, closed: bool = True) -> Axis:
    """first, first ratio, first ratio², …: `count` values, from the end of the class (`closed`) inwards."""
    if not (first > 0 and ratio > 0 and ratio != 1 and count >= 3):
        raise InvalidInput(
            f"a geometric axis needs first, ratio > 0, ratio != 1, count >= 3, got {first, ratio, count}"
        )
    return Axis(tuple(first * ratio**i for i in range(count)), (closed, False))


@dataclass(frozen=True)
class Family:
    """All combinations of the values of some axes: `Family.of(p=geometric(1, 1/4, 24), theta=geometric(1, 1/4, 11))`.

    Attributes:
        mirrored: whether the class holds the mirror image w -> -w of every member. It is not run, for an algorithm that
            prefers no side has the same risk there; but a constant that does well on all members does not do so.
    """

    axes: tuple[tuple[str, Axis], ...]
    mirrored: bool = False

    @classmethod
    def of(cls, *, mirrored: bool = False, **axes: Axis) -> Family:
        return cls(tuple(axes.items()), mirrored)

    def __iter__(self) -> Iterator[Member]:
        names = [name for name, _ in self.axes]
        for values in itertools.product(*(axis.values for _, axis in self.axes)):
            yield dict(zip(names, values, strict=True))

    def finer(self) -> Family:
        """The same family with geometric means between the values of every axis."""
        return Family(tuple((name, axis.finer()) for name, axis in self.axes), self.mirrored)

    def around(self, member: Member) -> Iterator[Member]:
        """A member, and those beside it along any of the axes."""
        names = [name for name, _ in self.axes]
        for values in itertools.product(*(axis.around(member[name]) for name, axis in self.axes)):
            yield dict(zip(names, values, strict=True))

    def ends(self, member: Member) -> tuple[str, ...]:
        """Names of the axes on which this member lies at an end of the grid that is none of the class."""
        return tuple(name for name, axis in self.axes if axis.open_end(member[name]))


def named(member: Mapping[str, object]) -> str:
    """ "p = 0.25, theta = 1"; a word speaks for itself."""
    return ", ".join(
        value
        if isinstance(value, str)
        else f"{name} = {plain(float(f'{value:.4g}') if isinstance(value, float) else value)}"
        for name, value in member.items()
    )


def powers(base: int, exponents: Sequence[int]) -> tuple[float, ...]:
    """base^j for each of the exponents, whole where it can be: `powers(2, range(40, 73, 8))`."""
    return tuple(base**j for j in exponents)
