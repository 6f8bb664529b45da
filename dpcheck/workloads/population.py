"""Finite populations of real records, drawn with replacement: risk, minimiser and moments are exact finite sums."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.workloads.links import LINKS, Absolute, Huber, Link
from dpcheck.workloads.ridge import BallRidge

ABSOLUTE = Absolute()
TOLERANCE = 1e-7
"""Largest certified gap of the population minimiser, relative to the risk at 0."""


@dataclass(frozen=True, eq=False)
class FinitePopulation(BallRidge):
    """Regression f(w, (x, y)) = phi(<x, w> - y) on a ball, the law being uniform over the rows of a table.

    Attributes:
        features_table: x of every row, (N, d), an intercept included where one is wanted.
        target: y of every row, (N,).
        link: phi, by default |.|; `link_name` of `randhie` and `diabetes` picks one by name.
        radius: of the domain, a ball around 0.
    """

    features_table: Array
    target: Array
    radius: float
    link: Link = ABSOLUTE

    def __post_init__(self) -> None:
        x, y = np.asarray(self.features_table, dtype=float), np.asarray(self.target, dtype=float)
        if x.ndim != 2 or y.shape != x.shape[:1] or not len(y):
            raise InvalidInput(f"a population needs features (N, d) and a target (N,), got {x.shape} and {y.shape}")
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise InvalidInput("a population must be finite; drop or fill the rows with NaN or inf")
        if not self.radius > 0:
            raise InvalidInput(f"the radius must be > 0, got {self.radius}")

    @functools.cached_property
    def table(self) -> Array:
        """Every record (x, y): (N, d + 1)."""
        return np.column_stack([self.features_table, self.target]).astype(float)

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.table.shape[1],)

    @property
    def d(self) -> int:
        return int(self.table.shape[1]) - 1

    @functools.cached_property
    def domain(self) -> Ball:
        return Ball(d=self.d, radius=self.radius)

    @functools.cached_property
    def constants(self) -> Constants:
        """Moments of A(z) over the table; for means of m > 1 gradients they are upper bounds."""
        norms = self.amplitude(self.table)
        rows = np.linalg.norm(self.features_table, axis=1)

        def lipschitz(p: float) -> float:
            q = math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)
            steepest = norms / np.where(rows > 0, rows, 1.0)
            return float((steepest * np.linalg.norm(self.features_table, ord=q, axis=1)).max())

        def smoothness(p: float) -> float:
            q = math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)
            return float(self.link.curvature * (np.linalg.norm(self.features_table, ord=q, axis=1) ** 2).max())

        return Constants(
            d=self.d,
            diameter=self.domain.diameter,
            lipschitz=lipschitz,
            smoothness=smoothness,
            moment=lambda k, m: float(np.mean(norms**k) ** (1 / k)),
            hessian_rank=1,
            family="generalised linear",
            extra={"risk_tolerance": TOLERANCE * float(self.risk(np.zeros(self.d)))},
        )

    def features(self, z: Array) -> tuple[Array, Array]:
        return z[..., :-1], z[..., -1]

    def risk(self, w: Array) -> Array:
        """F(w), exactly: (..., d) -> (...)."""
        flat = np.asarray(w, dtype=float).reshape(-1, self.d)
        values = [float(self.link.value(self.features_table @ v - self.target).mean()) for v in flat]
        return np.asarray(values).reshape(np.shape(w)[:-1])

    def excess_risk(self, w: Array) -> Array:
        """F(w) less the certified best risk: exact up to `constants.extra["risk_tolerance"]`."""
        return self.risk(w) - float(self.risk(self.population_minimiser))

    @functools.cached_property
    def population_minimiser(self) -> Array:
        """(d,): a linear program for a polyhedral loss, else (or where the ball binds) Newton's method on ever sharper
        smoothings; either is accepted on a duality gap below `TOLERANCE`.
        """
        scale = float(self.risk(np.zeros(self.d)))
        vertex = self._vertex() if self.link.pieces is not None else None
        if vertex is not None:
            return vertex
        best, gap = np.zeros(self.d), math.inf
        sharpness = [scale * 10.0**-j for j in range(11)] if math.isinf(self.link.curvature) else [0.0]
        for width in sharpness:
            best = self._smoothed_minimiser(best, width)
            gap = self.gap(best, width)
            if gap <= TOLERANCE * scale / 10:
                break
        if not gap <= TOLERANCE * scale:
            raise InvalidInput(f"the population minimiser is certified only to {gap:.1e} of {scale:.1e}")
        return best

    def _vertex(self) -> Array | None:
        """A minimiser over all of R^d by the dual linear program; None if it leaves the ball or is not certified.

        max over theta in the range of phi' of -mean(phi*(theta) + theta y) with mean theta x = 0, where the multipliers
        of the equations are the minimiser. Equal rows share a variable, which makes tables of counts small.
        """
        rows, row_of, times = np.unique(self.table, axis=0, return_inverse=True, return_counts=True)
        low, high = self.link.slopes
        if not low < high:
            return None
        ends = self.link.conjugate(np.array([low, high]))  # phi* is affine between them: all links here have one kink
        cost = (ends[1] - ends[0]) / (high - low) + rows[:, -1]
        weighted = rows[:, :-1] * times[:, None]
        optimum = scipy.optimize.linprog(cost * times, A_eq=weighted.T, b_eq=np.zeros(self.d), bounds=(low, high))
        if not optimum.success:
            return None
        w = np.asarray(optimum.eqlin.marginals)
        certified = self._gap(w, np.asarray(optimum.x)[row_of]) <= TOLERANCE * float(self.risk(np.zeros(self.d)))
        return w if certified and np.linalg.norm(w) <= self.radius else None

    def gap(self, w: Array, width: float = 0.0) -> float:
        """A sure bound on F(w) - F*: weak duality at the slopes of the loss smoothed over `width`."""
        return self._gap(w, self._slopes(w, width)[0])

    def _gap(self, w: Array, slope: Array) -> float:
        """Weak duality at any slopes in the range of phi', one a row."""
        lower = -np.mean(self.link.conjugate(slope) + slope * self.target)
        lower -= float(self.domain.support(-(slope @ self.features_table) / len(self.target)))
        return float(self.risk(w) - lower)

    def _slopes(self, w: Array, width: float) -> tuple[Array, Array]:
        """phi' and phi'' at every row, of phi smoothed so that its kinks are `width` wide."""
        margin = self.features_table @ w - self.target
        if width == 0:
            step = 1e-6 * (1 + np.abs(margin))
            bent = (self.link.slope(margin + step) - self.link.slope(margin - step)) / (2 * step)
            return self.link.slope(margin), bent
        low, high = self.link.slopes
        kink = 1.0 if self.link == LINKS["hinge"] else 0.0
        slope = np.clip((low + high) / 2 + (margin - kink) / width * (high - low) / 2, low, high)
        return slope, np.where(np.abs(margin - kink) < width, (high - low) / (2 * width), 0.0)

    def _smoothed_minimiser(self, start: Array, width: float) -> Array:
        """The minimiser on the ball; the multiplier of the constraint is found by bisection."""
        free = self._newton(start, width, 0.0)
        if np.linalg.norm(free) <= self.radius:
            return free
        low, high = 0.0, 1.0
        while np.linalg.norm(self._newton(start, width, high)) > self.radius:
            low, high = high, 4 * high
        w = free
        for _ in range(60):
            middle = (low + high) / 2
            w = self._newton(w, width, middle)
            low, high = (middle, high) if np.linalg.norm(w) > self.radius else (low, middle)
        return np.asarray(self.domain.project(self._newton(w, width, high)))

    def _newton(self, w: Array, width: float, ridge: float) -> Array:
        """Damped Newton steps on the smoothed mean loss + ridge/2 |w|^2."""
        x, n = self.features_table, len(self.target)

        def gradient(v: Array) -> tuple[Array, Array]:
            slope, bent = self._slopes(v, width)
            return np.asarray(slope @ x / n + ridge * v), bent

        slope, bent = gradient(w)
        for _ in range(200):
            size = float(np.linalg.norm(slope))
            if size <= 1e-14:
                break
            hessian = (x.T * bent) @ x / n + (ridge + 1e-10 * (1 + bent.mean())) * np.eye(self.d)
            step = np.linalg.solve(hessian, slope)
            length = 1.0
            ahead, bent = gradient(w - step)
            # A convex function decreases up to where its slope along the step changes sign: overshoot only a little.
            while ahead @ step < -0.5 * (slope @ step) and length > 1e-8:
                length /= 2
                ahead, bent = gradient(w - length * step)
            w, slope = w - length * step, ahead
            if np.linalg.norm(length * step) <= 1e-15 * (1 + np.linalg.norm(w)):
                break
        return np.asarray(w)

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return self.table[rng.integers(len(self.table), size=(trials, n))]

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        if n <= len(self.table):
            return super().draw(rng, trials, n)
        shares = np.full(len(self.table), 1 / len(self.table))
        return Sample(self.table[None], rng.multinomial(n, shares, size=trials).astype(float))


def _standardised(x: Array) -> Array:
    """Columns of mean 0 and deviation 1 with an intercept, divided so that the mean squared row norm is 1."""
    columns = np.column_stack([np.ones(len(x)), (x - x.mean(axis=0)) / x.std(axis=0)])
    return np.asarray(columns / math.sqrt(columns.shape[1]))


def _link(name: str, kappa: float) -> Link:
    if name not in LINKS:
        raise InvalidInput(f"unknown loss {name!r}; choose one of {', '.join(LINKS)}")
    return Huber(kappa) if name == "huber" else LINKS[name]


def randhie(loss: str = "absolute", *, radius: float = 20.0, kappa: float = 1.0) -> FinitePopulation:
    """Doctor visits of 20,190 person-years of the RAND health insurance experiment (statsmodels): counts up to 77.

    Nine standardised covariates and an intercept. Under the squared loss the gradients inherit the tail of the counts.
    """
    from statsmodels.datasets import randhie as source

    table = source.load_pandas()
    return FinitePopulation(
        _standardised(table.exog.to_numpy(dtype=float)), table.endog.to_numpy(dtype=float), radius, _link(loss, kappa)
    )


def fair(loss: str = "absolute", *, radius: float = 20.0, kappa: float = 1.0) -> FinitePopulation:
    """Affairs of 6,366 women (Fair's survey, statsmodels): a skewed nonnegative target; eight covariates, intercept."""
    from statsmodels.datasets import fair as source

    table = source.load_pandas()
    return FinitePopulation(
        _standardised(table.exog.to_numpy(dtype=float)), table.endog.to_numpy(dtype=float), radius, _link(loss, kappa)
    )


def diabetes(loss: str = "absolute", *, radius: float = 10.0, kappa: float = 1.0) -> FinitePopulation:
    """Disease progression of 442 patients (scikit-learn), in standard deviations: ten covariates and an intercept."""
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    return FinitePopulation(_standardised(x), (y - y.mean()) / y.std(), radius, _link(loss, kappa))
