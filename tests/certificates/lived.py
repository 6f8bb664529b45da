"""A run that really takes place: every unknown of a problem gets the value that it has with actual functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.certificates import checker


class Actual(checker.Function):
    """A maximum of affine functions, or Huber's function of one direction where the class is smooth."""

    def at(self, x: Any, g: Any = None) -> Any:
        known = len(self.known)
        new = super().at(x, g)
        if len(self.known) > known and g is None:
            self.run.know(new[1], self.gradient(self.run.point(x)))
        if len(self.known) > known:
            ((_, index),) = new[2]
            self.run.values[index] = np.array([self.height(self.run.point(x))])
        return new

    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        if not hasattr(self, "drawn"):
            length = 1.0 if self.L is None else float(self.L)
            slopes = self.run.rng.normal(size=(4, self.run.d))
            slopes *= length / np.linalg.norm(slopes, axis=1, keepdims=True) * self.run.rng.uniform(0.3, 1, size=(4, 1))
            if self.run.centred:  # the origin is a minimiser
                slopes = np.concatenate([slopes, -slopes])
            self.drawn = (
                slopes,
                np.zeros(len(slopes)) if self.run.centred else self.run.rng.normal(size=len(slopes)) * 0.1,
            )
        return self.drawn

    def gradient(self, x: np.ndarray) -> np.ndarray:
        slopes, heights = self.parts()
        if self.s == 0:
            at_zero = self.run.centred and not x.any()
            return np.zeros(self.run.d) if at_zero else slopes[np.argmax(slopes @ x + heights)]
        a, reach = self.along()
        return a * np.clip(a @ x, -reach, reach) / float(self.s)

    def height(self, x: np.ndarray) -> float:
        slopes, heights = self.parts()
        if self.s == 0:
            return float(np.max(slopes @ x + heights))
        a, reach = self.along()
        t = abs(a @ x)
        return float((t * t / 2 if t <= reach else reach * (t - reach / 2)) / float(self.s))

    def along(self) -> tuple[np.ndarray, float]:
        a = self.parts()[0][0]
        return a / np.linalg.norm(a), (1e9 if self.L is None else float(self.L * self.s))


class Lived(checker.ExactRun):
    """The unknowns of a problem with actual functions, the projection onto a ball, and vectors of the length that is
    assumed of them, in `d` dimensions."""

    def __init__(self, lines: Any, parameters: Any, rng: np.random.Generator, *, d: int, length: float, centred: bool):
        self.rng, self.d, self.length, self.centred = rng, d, length, centred
        self.values: dict[int, np.ndarray] = {}
        original = checker.Function
        checker.Function = Actual  # type: ignore[misc]
        try:
            super().__init__(lines, parameters)
        finally:
            checker.Function = original  # type: ignore[misc]

    def vector(self, free: bool = False) -> Any:
        found = super().vector(free)
        (index,) = found
        draw = self.rng.normal(size=1 if free else self.d)
        self.values[index] = draw if free else draw * self.length / np.linalg.norm(draw)
        return found

    def know(self, vector: Any, value: np.ndarray) -> None:
        (index,) = vector
        self.values[index] = value

    def point(self, form: Any) -> np.ndarray:
        return sum((float(c) * self.values[i] for i, c in form.items()), np.zeros(self.d))

    def inside(self, region: Any, x: Any, normal: Any = None) -> Any:
        if normal:  # of a projection onto the unit ball
            there = self.point(x + normal)
            self.know(normal, there - there * min(1.0, 1.0 / max(np.linalg.norm(there), 1e-12)))
        return super().inside(region, x, normal or checker.Form())

    def sizes(self) -> tuple[float, list[float]]:
        """The quantity, and the left sides of all inequalities r <= 0."""
        given = {i: row.tolist() for i, row in self.values.items()}

        def size(form: Any) -> float:
            return float(checker.Form({key: float(c) for key, c in form.items()}).at(given))

        return size(self.quantity), [size(row) for row in self.rows]
