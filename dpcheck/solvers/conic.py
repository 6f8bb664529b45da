"""Ridge losses by conic programming (cvxpy with Clarabel), certified by a duality gap that is recomputed here.

What the solver says about its own accuracy is not used: its primal point is projected, its multipliers are clipped to
dual feasibility, and the gap between the two values, in plain arithmetic, is the certificate.
"""

from __future__ import annotations

import importlib
import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.errors import InvalidInput, MissingExtra
from dpcheck.geometry import Box, Ellipsoid, LpBall, Simplex
from dpcheck.interfaces import Array, Objective, Solution
from dpcheck.numerics import edge
from dpcheck.solvers.extension import extension_gradient
from dpcheck.solvers.minimisers import Mask, Task, multiplier_search, trials_of
from dpcheck.workloads.ridge import BallRidge, RidgeWorkload

SETTINGS = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13, "max_iter": 400}


def require_cvxpy() -> Any:
    """The module `cvxpy`. Raises `MissingExtra`."""
    try:
        cvxpy = importlib.import_module("cvxpy")
        importlib.import_module("clarabel")
    except ImportError as error:
        raise MissingExtra("a conic solver", "solvers") from error
    return cvxpy


def run_solver(problem: Any) -> None:
    """Solves with Clarabel; only a missing point is an error, inaccuracy is for the certificate to judge.

    On some machines it finds no point where on others it does: then with its own, wider tolerances.
    """
    failed = require_cvxpy().error.SolverError
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver="CLARABEL", **SETTINGS)
        except failed:
            try:
                problem.solve(solver="CLARABEL")
            except failed as error:
                raise InvalidInput(f"the conic solver failed: {error}") from error
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise InvalidInput(f"the conic solver stopped with status {problem.status!r}; rescale the problem")


def domain_constraints(domain: Any, y: Any, scale: float = 1.0, shift: Array | float = 0.0) -> list[Any]:
    """cvxpy constraints that say shift + scale y lies in a set of `dpcheck.geometry`, row by row for a matrix y."""
    cp = require_cvxpy()
    rows = y if y.ndim == 2 else cp.reshape(y, (1, y.shape[0]), order="C")
    if isinstance(domain, Box):
        low, high = (domain.low - shift) / scale, (domain.high - shift) / scale
        return [rows >= np.tile(low, (rows.shape[0], 1)), rows <= np.tile(high, (rows.shape[0], 1))]
    if isinstance(domain, LpBall):
        away = rows + np.tile((shift - domain.centre) / scale, (rows.shape[0], 1))
        return [cp.norm(away, domain.p, axis=1) <= domain.radius / scale]
    if isinstance(domain, Ellipsoid):
        away = rows + np.tile((shift - domain.centre) / scale, (rows.shape[0], 1))
        return [cp.norm(cp.multiply(away, np.tile(1 / domain.axes, (rows.shape[0], 1))), 2, axis=1) <= 1 / scale]
    if isinstance(domain, Simplex):
        moved = scale * rows + np.tile(np.broadcast_to(shift, (domain.d,)), (rows.shape[0], 1))
        return [moved >= 0, cp.sum(moved, axis=1) == domain.scale]
    raise InvalidInput(f"no conic form of {domain!r} is known; use a ball, box, ellipsoid or simplex")


def conic(objective: Objective) -> Solution:
    """The minimiser for a `RidgeWorkload`, one program a trial, with the recomputed duality gap of the worst trial.

    Records steeper than the cap get a copy y of the parameter each (the joint reformulation); the others need none.
    """
    work = objective.workload
    if not isinstance(work, RidgeWorkload):
        raise InvalidInput(f"the conic solver needs a RidgeWorkload, got {type(work).__name__}")
    values, weights = objective.sample.values, objective.sample.weights
    trials = trials_of(objective)
    points, gaps = [], []
    for trial in range(trials):
        counts, centre = _row(weights, trial), _row(objective.centre, trial)
        kept = counts > 0
        linear = np.broadcast_to(objective.linear, (trials, work.constants.d))[trial]
        ball = None
        if objective.within is not None:
            radius = np.broadcast_to(np.asarray(objective.within[1], dtype=float), (trials,))[trial]
            ball = (_row(objective.within[0], trial), float(radius))
        program = _Program(
            work=work,
            records=_row(values, trial)[kept],
            shares=counts[kept] / counts.sum(),
            weight=objective.weight,
            centre=centre - linear / objective.weight,
            cap=objective.cap,
            ball=ball,
        )
        target = objective.gap / 2 if isinstance(objective, Task) else 0.0
        point, gap = program.solve(target)
        points.append(point)
        gaps.append(gap)
    return Solution(np.stack(points), max(gaps))


def _row(values: Array, trial: int) -> Array:
    """One trial of an array with one row a trial, or one row for all."""
    return np.asarray(values[trial if len(values) > 1 else 0])


@dataclass(frozen=True, kw_only=True)
class _Program:
    """One trial: sum of shares_i f_cap(w, record_i) + weight/2 |w - centre|^2 over the domain and the ball."""

    work: RidgeWorkload
    records: Array
    shares: Array
    weight: float
    centre: Array
    cap: float | None
    ball: tuple[Array, float] | None

    def solve(self, target: float) -> tuple[Array, float]:
        """The minimiser and a sure gap, refined until the gap is below `target` or stops falling."""
        start = self._feasible(self.work.project(self.centre[None])[0])
        steepest = self.cap if self.cap is not None else max(float(self.work.amplitude(self.records).max()), 1e-300)
        point, gap = self._round(start, min(steepest / self.weight, self.work.constants.diameter(2.0)))
        # Strong convexity puts the minimiser within this distance: a smaller problem with fewer bends.
        reach = math.sqrt(2 * gap / self.weight)
        for _ in range(10):
            if gap <= target:
                break
            try:
                finer = self._round(point, reach)
            except InvalidInput:
                finer = point, math.inf
            if finer[1] < gap:
                point, gap = finer
                reach = math.sqrt(2 * gap / self.weight)
            else:
                reach *= 16  # too fine for the conic solver: what was certified stands, and a wider scale is tried
        return point, gap

    def _round(self, start: Array, reach: float) -> tuple[Array, float]:
        """Solves with the records that do not bend within `reach` of `start` replaced by their linearisations.

        What is left has one scale, which a conic solver needs; a few repetitions settle the slopes.
        """
        straight = self._straight(start, reach)
        records, shares = self.records[straight], self.shares[straight]
        bent = replace(self, records=self.records[~straight], shares=self.shares[~straight])
        point, slope = start, self._slope(start, records, shares)
        gap, error = math.inf, math.inf
        for _ in range(50):
            linearised = replace(bent, centre=self.centre - slope / self.weight)
            if len(bent.shares):
                moved, gap = linearised._solve_conic(start, reach)
            else:
                moved, gap = self._feasible(linearised.centre), 0.0
            turned = self._slope(moved, records, shares)
            # Convexity: the linearisation is below those records' loss by at most this at the new point.
            error, step = max(0.0, float((turned - slope) @ (moved - point))), float(np.linalg.norm(moved - point))
            point, slope = moved, turned
            if error <= gap / 100 or step <= 1e-15 * self.work.constants.diameter(2.0):
                break
        return point, gap + error

    def _straight(self, at: Array, reach: float) -> Mask:
        """Records whose f_C has all but one slope within `reach`: no kink there, or explained by a point far away."""
        a, t = self.work.features(self.records)
        norms, margin = np.linalg.norm(a, axis=1), a @ at - t
        turn = self.work.link.slope(margin + 2 * norms * reach) - self.work.link.slope(margin - 2 * norms * reach)
        straight = np.asarray(norms * turn <= 0.02 * self.weight * reach)
        if self.cap is None:
            return straight
        steep = self.work.amplitude(self.records) > self.cap
        if not steep.any():
            return straight
        if not isinstance(self.work, BallRidge):
            return straight & ~steep
        points = np.broadcast_to(at, (len(steep), len(at)))
        # f_C turns by at most C/distance there: little against `weight`, so that the repetitions contract.
        far = 50 * max(reach, self.cap / self.weight)
        return np.where(steep, self.work.copy_distance(points, self.records, self.cap) > far, straight)

    def _slope(self, w: Array, records: Array, shares: Array) -> Array:
        """Sum of shares times subgradients of f_cap at w: (d,)."""
        if not len(shares):
            return np.zeros(len(w))
        if self.cap is None:
            return np.asarray(shares @ self.work.gradient(w[None], records))
        return np.asarray(shares @ extension_gradient(self.work, w[None], records, self.cap))

    def _solve_conic(self, origin: Array, unit: float) -> tuple[Array, float]:
        """The program itself, in lengths of `unit` around `origin`, with its recomputed duality gap."""
        cp = require_cvxpy()
        work, d = self.work, len(self.centre)
        a, t = work.features(self.records)
        norms = work.amplitude(self.records)
        steep = np.zeros(len(norms), dtype=bool) if self.cap is None else norms > self.cap
        level = self.cap if self.cap is not None else max(float(norms.max()), 1e-300)
        w, s = cp.Variable(d), cp.Variable(len(a))
        copies, away = cp.Variable((max(1, int(steep.sum())), d)), cp.Variable((max(1, int(steep.sum())), d))
        fixed = (a @ origin - t) / unit
        margins = [s[~steep] == fixed[~steep] + a[~steep] @ w] if (~steep).any() else []
        cost = cp.sum(cp.multiply(self.shares, work.link.conic(unit * s))) / (level * unit)
        cost += self.weight / level * (unit / 2 * cp.sum_squares(w) + (origin - self.centre) @ w)
        constraints = domain_constraints(work.domain, w, unit, origin)
        links: list[Any] = []
        if steep.any():
            margins.append(s[steep] == fixed[steep] + cp.sum(cp.multiply(a[steep], copies), axis=1))
            links = [away == cp.vstack([w] * int(steep.sum())) - copies]
            cost += cp.sum(cp.multiply(self.shares[steep], cp.norm(away, 2, axis=1)))
            constraints += domain_constraints(work.domain, copies, unit, origin)
        if self.ball is not None:
            constraints += [cp.norm(w + (origin - self.ball[0]) / unit) <= self.ball[1] / unit]
        run_solver(cp.Problem(cp.Minimize(cost), constraints + margins + links))
        point = self._feasible(origin + unit * w.value)
        y = work.project(origin + unit * copies.value) if steep.any() else np.zeros((0, d))
        upper = self._primal(point, y, steep, a, t)
        theta, p = np.zeros(len(a)), np.zeros((int(steep.sum()), d))
        for constraint, rows in zip(margins, [r for r in (~steep, steep) if r.any()], strict=True):
            theta[rows] = constraint.dual_value * level / self.shares[rows]
        if links:
            p = links[0].dual_value * level / self.shares[steep][:, None]
        # Solvers differ in the sign of an equality's multiplier; either sign gives a valid bound.
        lower = max(self._dual(sign * theta, sign * p, steep, a, t) for sign in (-1.0, 1.0))
        return point, max(0.0, upper - lower)

    def _feasible(self, w: Array) -> Array:
        project = self.work.project
        if self.ball is None:
            return np.asarray(project(w[None])[0])
        ball, radius = self.ball[0][None], np.array([self.ball[1]])

        def at(mu: Array) -> Array:
            return project((w + mu[:, None] * ball) / (1 + mu[:, None]))

        return np.asarray(multiplier_search(at, project(w[None]), ball, radius, 1.0)[0][0])

    def _primal(self, w: Array, y: Array, steep: Mask, a: Array, t: Array) -> float:
        """The joint objective at a feasible point: an upper bound on the minimum."""
        at = np.broadcast_to(w, (len(a), len(w))).copy()
        at[steep] = y
        losses = self.work.link.value((a * at).sum(axis=1) - t)
        losses[steep] += (self.cap or 0.0) * np.linalg.norm(w - y, axis=1)
        return float(self.shares @ losses + self.weight / 2 * ((w - self.centre) ** 2).sum())

    def _dual(self, theta: Array, p: Array, steep: Mask, a: Array, t: Array) -> float:
        """A lower bound on the minimum from any multipliers theta of the margins and p of the copies."""
        link, domain = self.work.link, self.work.domain
        theta = np.clip(theta, *link.slopes)
        slope = theta[:, None] * a
        constant = -(link.conjugate(theta) + theta * t)
        if steep.any():
            length = np.linalg.norm(p, axis=1, keepdims=True)
            p = p * np.minimum(1.0, (self.cap or 0.0) / np.where(length > 0, length, 1.0))
            # f_C(w) >= <p, w> - f*(p) for |p| <= C, and f*(p) <= support(p - theta a) + phi*(theta) + theta t.
            constant[steep] -= domain.support(p - slope[steep])
            slope[steep] = p
        mean = self.shares @ slope

        def lagrangian(multiplier: float) -> tuple[float, Array]:
            total, target = self.weight, self.centre - mean / self.weight
            if self.ball is not None:
                total += multiplier
                target = (self.weight * self.centre - mean + multiplier * self.ball[0]) / total
            w = self.work.project(target[None])[0]
            value = mean @ w + self.weight / 2 * ((w - self.centre) ** 2).sum()
            if self.ball is not None:
                value += multiplier / 2 * (((w - self.ball[0]) ** 2).sum() - self.ball[1] ** 2)
            return float(value), w

        def within(multiplier: float) -> bool:
            return self.ball is None or bool(np.linalg.norm(lagrangian(multiplier)[1] - self.ball[0]) <= self.ball[1])

        multiplier = 0.0
        if not within(0.0):
            low, high = 0.0, self.weight
            while not within(high):
                low, high = high, 4 * high
            multiplier = edge(within, low, high, halvings=90)[1]
        return float(self.shares @ constant) + lagrangian(multiplier)[0]
