"""What is to be solved: records, loss and domain, with their constants, and the budget it may cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import Infeasible
from dpcheck.privacy import ApproxDP, Guarantee

Array = NDArray[np.float64]
Rng = np.random.Generator
Family = Literal["", "linear", "generalised linear", "isotropic quadratic"]


@dataclass(frozen=True)
class Sample:
    """Weighted records: raw rows, atoms with counts, or one mean with weight n.

    Attributes:
        values: (trials or 1, r, *record).
        weights: (trials or 1, r); they sum to the number of records.
    """

    values: Array
    weights: Array

    @property
    def size(self) -> int:
        """Number of records that it stands for."""
        return round(float(self.weights[0].sum()))

    def mean(self, per_record: Array) -> Array:
        """Weighted mean over records: (trials, r, k) -> (trials, k)."""
        total = np.einsum("tr,tr...->t...", *_paired(self.weights, per_record))
        return np.asarray(total / self.weights.sum(axis=1).reshape(-1, *[1] * (total.ndim - 1)))


def _paired(weights: Array, values: Array) -> tuple[Array, Array]:
    trials = max(len(weights), len(values))
    return np.broadcast_to(weights, (trials, *weights.shape[1:])), np.broadcast_to(values, (trials, *values.shape[1:]))


class Data(Protocol):
    """Records of every trial: `Fixed` (given) or `Fresh` (each block drawn from a workload when it is read)."""

    @property
    def n(self) -> int: ...

    def part(self, start: int, stop: int) -> Data:
        """A block, still unread."""
        ...

    def read(self, *, means_only: bool = False) -> Sample:
        """Its records, the same at every reading; `means_only` permits one mean in their place."""
        ...


@dataclass(frozen=True, kw_only=True)
class Constants:
    """What a workload declares in closed form.

    Attributes:
        d: dimension of the parameter.
        diameter: p -> diameter of the domain in the l_p norm.
        lipschitz: p -> sup over records and points of the dual norm of the gradient (inf when unbounded).
        smoothness: p -> Lipschitz constant of the gradient, or inf.
        moment: (k, m) -> (E sup_w |mean of m gradients|^k)^(1/k); m = 1 gives the papers' G_k, r_k.
        growth: (theta, lambda) of the Tsybakov noise condition, if it holds.
        atoms: number of different records, when samples come as counts of them: a block takes so many rows of memory.
        extra: further named constants that a paper's schedule asks for.
        family: what the loss of every record is as a function of w: <a, w> + b, or phi(<a, w>) with phi convex, or
            c|w|^2/2 + <a, w> + b with one c for all records; "" for anything else. Some sensitivities rest on it.
    """

    d: int
    diameter: Callable[[float], float]
    lipschitz: Callable[[float], float]
    smoothness: Callable[[float], float]
    moment: Callable[[float, int], float]
    growth: tuple[float, float] | None = None
    hessian_rank: int | None = None
    atoms: int | None = None
    extra: Mapping[str, float] = field(default_factory=dict, hash=False)
    family: Family = ""

    @property
    def clips_monotonically(self) -> bool:
        """Whether gradients cut to a norm are gradients of convex functions again."""
        return self.d == 1 or self.family != "" or self.hessian_rank == 0

    @property
    def shifts_constantly(self) -> bool:
        """Whether the gradients of two records differ by a vector that does not depend on w."""
        return self.family in ("linear", "isotropic quadratic") or self.hessian_rank == 0

    def rows(self, n: int) -> int:
        """Rows of memory that a block of n records takes."""
        return n if self.atoms is None else min(n, self.atoms)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What a schedule may know."""

    constants: Constants
    privacy: Guarantee
    failure_probability: float = 0.05
    samples_per_user: int = 0
    """0: a record is a sample."""

    @classmethod
    def of(
        cls, work: Workload, privacy: Guarantee, *, failure_probability: float = 0.05, samples_per_user: int = 0
    ) -> Problem:
        """What may be known of a workload, its constants, under a budget."""
        return cls(
            constants=work.constants,
            privacy=privacy,
            failure_probability=failure_probability,
            samples_per_user=samples_per_user,
        )


@dataclass(frozen=True, kw_only=True)
class BudgetRange:
    """The budgets (epsilon, delta) that an algorithm is calibrated for.

    Attributes:
        largest_epsilon: the largest; unless `attained`, only what is below it.
        delta_below: 0 < delta < delta_below; None where delta plays no part.
    """

    largest_epsilon: float = math.inf
    attained: bool = True
    delta_below: float | None = None

    def __contains__(self, privacy: Guarantee) -> bool:
        return (
            isinstance(privacy, ApproxDP)
            and privacy.epsilon <= self.at_most(privacy.epsilon)
            and (self.delta_below is None or 0 < privacy.delta < self.delta_below)
        )

    def __str__(self) -> str:
        needs = []
        if math.isfinite(self.largest_epsilon):
            needs.append(f"epsilon {'<=' if self.attained else '<'} {self.largest_epsilon:g}")
        if self.delta_below is not None:
            needs.append(f"0 < delta < {self.delta_below:g}")
        return " with ".join(filter(None, ("(epsilon, delta)-DP", " and ".join(needs))))

    def at_most(self, epsilon: float) -> float:
        """The largest epsilon of the range that is no larger than this one."""
        return min(epsilon, self.largest_epsilon if self.attained else math.nextafter(self.largest_epsilon, 0))


def require_budget(problem: Problem, label: str, within: BudgetRange | None = None) -> tuple[float, float]:
    """(epsilon, delta) of a problem; `within` defaults to every (epsilon, delta). Raises `Infeasible` for another."""
    privacy, within = problem.privacy, within or BudgetRange()
    if not isinstance(privacy, ApproxDP) or privacy not in within:
        raise Infeasible(label, str(within), str(privacy), advice="pass such an epsilon and delta")
    return privacy.epsilon, privacy.delta


class Workload(Protocol):
    """Loss x data law x domain, with the truth in closed form."""

    @property
    def constants(self) -> Constants: ...

    def loss(self, w: Array, z: Array) -> Array:
        """Elementwise in the leading axes: (..., d), (..., *record) -> (...)."""
        ...

    def gradient(self, w: Array, z: Array) -> Array:
        """The subgradient that the oracle returns, elementwise: (..., d), (..., *record) -> (..., d)."""
        ...

    def project(self, w: Array) -> Array:
        """Euclidean projection onto the domain: (..., d)."""
        ...

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        """n records a trial, in whatever form of `Sample` is cheapest."""
        ...

    def excess_risk(self, w: Array) -> Array:
        """Exact population excess risk: (trials, d) -> (trials,)."""
        ...
