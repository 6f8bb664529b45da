"""Localised noisy mirror descent: Algorithms 2 (l1) and 6 (l_p)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpcheck.algorithms.l1_geometry.descent import (
    BUDGETS,
    Descent,
    base_two,
    check_noise,
    descend,
    gaussian_max,
)
from dpcheck.claims import evaluate
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry.norms import dual_exponent
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Schedule, Workload
from dpcheck.numerics import next_feasible
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run


@dataclass(frozen=True, kw_only=True)
class DescentPhase(Descent):
    """Phase i: a descent on its own block; eta_i weighs the regulariser, lambda_i = `weight` relative to h_i."""

    i: int
    eta_i: float


@dataclass(frozen=True)
class LocalizedMirrorDescent(Algorithm[DescentPhase]):
    """Algorithm 2 in l1, on disjoint blocks.

    Attributes:
        c_sigma: constant of the noise, 100 in print; a smaller one makes no promise.
        batch_rule: "printed" max(sqrt(n_i/log d), sqrt(d/eps_i)); "gradients" with sqrt(d)/eps_i, which gives the
            stated gradient count; "balanced" with sqrt((p - 1) n_i).
        rounding: "executable" rounds sizes and stops at the first phase of one step; "printed" refuses what is not
            legal as printed.
        distance: D; None for the diameter of the domain.
        noise: "gradient" calibrates to L; "objective" to the 5L of the regularised objective, as "apply Algorithm 1 to
            F_i" would have it.
        shrink: exponent a of eta_i = 2^(-a i) eta, 4 in print.
    """

    c_sigma: float = 100.0
    batch_rule: Literal["printed", "gradients", "balanced"] = "printed"
    rounding: Literal["executable", "printed"] = "executable"
    distance: float | None = None
    noise: Literal["gradient", "objective"] = "gradient"
    shrink: float = 4.0

    label = "l1_geometry/alg-2"
    budgets = BUDGETS
    claimed_by: ClassVar[tuple[str, ...]] = ("l1_geometry/thm-4",)
    readings: ClassVar = {
        "literal": {"rounding": "printed"},
        "corrected": {"batch_rule": "gradients"},
        "dialled": {"c_sigma": 4.0},
    }

    def __post_init__(self) -> None:
        check_noise(self.c_sigma)
        choices = {
            "batch_rule": ("printed", "gradients", "balanced"),
            "rounding": ("executable", "printed"),
            "noise": ("gradient", "objective"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InvalidInput(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")

    # Geometry: overridden by Algorithm 6.

    def exponent(self, problem: Problem) -> float:
        """p."""
        return 1 + 1 / base_two(problem.constants.d)

    def norm(self, problem: Problem) -> float:
        """Exponent of the norm of D and L."""
        return 1.0

    def scale(self, p: float) -> float:
        """h_i = scale/2 |.|_p^2."""
        return 2 / (p - 1)

    def conversion(self) -> float:
        """c with |.| <= c |.|_p, for the norm of L."""
        return 2.0

    def logs(self, problem: Problem) -> float:
        """The logarithm under the private term of eta."""
        return max(1.0, math.log(problem.constants.d))

    def statistical(self, problem: Problem, n: int) -> float:
        """The other term of eta."""
        return math.sqrt(max(1.0, math.log(problem.constants.d)) / n)

    # Plan

    def eta(self, problem: Problem, n: int) -> float:
        """eta = (D/L) min of the two terms."""
        epsilon, delta = self.privacy_budget(problem)
        c, p = problem.constants, self.norm(problem)
        D = c.diameter(p) if self.distance is None else self.distance
        private = epsilon / math.sqrt(c.d * math.log(1 / delta) * self.logs(problem))
        return D / c.lipschitz(p) * min(self.statistical(problem, n), private)

    def batch(self, problem: Problem, n_i: float, epsilon_i: float) -> float:
        """b_i before rounding."""
        d = problem.constants.d
        records = n_i / base_two(d)
        if self.batch_rule == "balanced":
            records = (self.exponent(problem) - 1) * n_i
        private = math.sqrt(d) / epsilon_i if self.batch_rule == "gradients" else math.sqrt(d / epsilon_i)
        return max(math.sqrt(records), private)

    def phases(self, problem: Problem, n: int) -> Iterator[DescentPhase]:
        """Every phase that makes at least two steps; under "printed" rounding all ceil(log2 n)."""
        epsilon, delta = self.privacy_budget(problem)
        c, p, eta = problem.constants, self.exponent(problem), self.eta(problem, n)
        L, q = c.lipschitz(self.norm(problem)), dual_exponent(self.norm(problem))
        wide = math.sqrt(c.d) ** (1 - 2 / q) * L
        first = 0
        for i in range(1, math.ceil(math.log2(n)) + 1):
            n_i, epsilon_i, eta_i = n / 2**i, epsilon / 2**i, eta * 2 ** (-self.shrink * i)
            wanted = self.batch(problem, n_i, epsilon_i)
            if self.rounding == "printed":
                self._check_literal(i, n, n_i, wanted)
            records = int(n_i)
            b = min(records, max(1, math.ceil(wanted)))
            T = max(1, records * records // (b * b))
            if T == 1 and self.rounding == "executable":
                return
            weight = 2 / (self.scale(p) * (p - 1)) / (eta_i * records)
            factor = 5.0 if self.noise == "objective" else 1.0
            yield DescentPhase(
                i=i,
                T=T,
                b=b,
                sigma=self.c_sigma * factor * wide * math.sqrt(math.log(1 / delta)) / (b * epsilon_i),
                sensitivity=2 * wide / b,
                eta=2 / weight,
                eta_i=eta_i,
                weight=weight,
                p=p,
                scale=self.scale(p),
                first=first,
                records=records,
                epsilon=epsilon_i,
                radius=2 * L * eta_i * records * (p - 1),
            )
            first += records

    def _check_literal(self, i: int, n: int, n_i: float, b_i: float) -> None:
        if n_i != int(n_i):
            raise Infeasible(self.label, f"a whole number of records in phase {i}", f"n_i = {n_i:g} at n = {n}")
        if n_i**2 < b_i**2:
            got = f"T_i = {n_i**2 / b_i**2:.3g} with n_i = {n_i:g}, b_i = {b_i:.4g}"
            raise Infeasible(self.label, f"at least one step in each phase, also in phase {i}", got)

    def schedule(self, problem: Problem, n: int) -> Schedule[DescentPhase]:
        if problem.constants.d < 2:
            raise Infeasible(self.label, "d >= 2", f"d = {problem.constants.d}")
        rows = tuple(self.phases(problem, n)) if n >= 2 else ()
        if not rows:
            needed = next_feasible(lambda size: any(True for _ in self.phases(problem, size)), n)
            raise Infeasible(self.label, "a first phase of at least two steps, T_1 >= 2", f"n = {n}", needed)
        claim, c = problem.privacy, problem.constants
        return Schedule(
            phases=rows,
            releases=tuple(row.release(f"phase {row.i}/") for row in rows),
            gradients=sum(row.T * row.b for row in rows),
            floats_per_trial=sum(row.T * (c.rows(row.b) + 3 * c.d) for row in rows) + c.rows(n) * c.d,
            claimed=claim if self.c_sigma >= 100 and isinstance(claim, ApproxDP) else None,
            claimed_by=self.claimed_by,
        )

    def execute(self, run: Run[DescentPhase], workload: Workload, data: Data, start: Array) -> Array:
        x = np.asarray(start, dtype=float)
        for row in run.schedule.phases:
            block = data.part(row.first, row.first + row.records)
            x = descend(run.inside(f"phase {row.i}/", run.schedule), row, workload, block, x)
        return x

    # Bounds

    def movement(self, problem: Problem, n: int) -> float:
        """Sure bound on |x_k - x_0|_p: the sum of the radii."""
        return sum(row.radius for row in self.phases(problem, n))

    def _squared_noise(self, d: int, sigma: float) -> float:
        return gaussian_max(d) * sigma**2

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `l1_geometry/thm-4@summed`; noise by the right Lemma 3.2, D_1 the distance that eta is set by."""
        c, rows, norm = problem.constants, list(self.phases(problem, n)), self.norm(problem)
        return {
            "L": c.lipschitz(norm),
            "D": c.diameter(norm),
            "q": dual_exponent(norm),
            "D_1": c.diameter(norm) if self.distance is None else self.distance,
            "p": self.exponent(problem),
            "kappa": self.conversion(),
            "eta[i]": [row.eta_i for row in rows],
            "n[i]": [row.records for row in rows],
            "T[i]": [row.T for row in rows],
            "lambda[i]": [row.weight for row in rows],
            "V[i]": [self._squared_noise(c.d, row.sigma) for row in rows],
            "R[i]": [row.radius for row in rows],
            "h[i]": [row.scale for row in rows],
            "l": len(rows) or math.nan,
        }

    def proved(self, problem: Problem, n: int) -> float:
        """The bound `l1_geometry/thm-4@summed` on the excess risk, which restarts plan with."""
        from dpcheck.algorithms.l1_geometry.regret import PHASES

        return float(evaluate(PHASES, self.terms(problem, n)))


@dataclass(frozen=True)
class GeneralLocalizedMirrorDescent(LocalizedMirrorDescent):
    """Algorithm 6: the same in l_p, 1 < p <= 2, with h_i = |x - x_{i-1}|_p^2/(2 (p - 1)).

    Attributes:
        p: of the norm; `batch_rule` "balanced" has sqrt((p - 1) n_i) in place of sqrt(n_i/log d).
    """

    p: float = 2.0

    label = "l1_geometry/alg-6"
    claimed_by: ClassVar[tuple[str, ...]] = ("l1_geometry/thm-13",)
    readings: ClassVar = {
        "literal": {"rounding": "printed"},
        "corrected": {"batch_rule": "balanced"},
        "dialled": {"c_sigma": 4.0},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 < self.p <= 2:
            raise InvalidInput(f"Algorithm 6 needs 1 < p <= 2, got p = {self.p!r}")

    def exponent(self, problem: Problem) -> float:
        return self.p

    def norm(self, problem: Problem) -> float:
        return self.p

    def scale(self, p: float) -> float:
        return 1 / (p - 1)

    def conversion(self) -> float:
        return 1.0

    def logs(self, problem: Problem) -> float:
        return 1.0 if self.p == 2 else 1 + math.log(problem.constants.d)

    def statistical(self, problem: Problem, n: int) -> float:
        return 1 / math.sqrt((self.p - 1) * n)

    def _squared_noise(self, d: int, sigma: float) -> float:
        return d * sigma**2 if self.p == 2 else d ** (2 / dual_exponent(self.p)) * gaussian_max(d) * sigma**2
