"""What algorithms, workloads and checks know of each other: protocols and plain data, no behaviour to speak of."""

from __future__ import annotations

import abc
import fnmatch
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.privacy import ApproxDP, Guarantee

if TYPE_CHECKING:
    from dpcheck.running import Run

Array = NDArray[np.float64]
Rng = np.random.Generator
Norm = float | Literal["range"]
Family = Literal["", "linear", "generalised linear", "isotropic quadratic"]
P = TypeVar("P")


class Law(Protocol):
    """How a core (trials, ..., k) becomes an output; sees no data. k = 1 for a scalar, never absent."""

    def sample(self, core: Array, rng: Rng) -> Array:
        """A fresh output for every row: (trials, ..., k), or (trials, 1) holding an index for a selection."""
        ...

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """log p(output | core) - log p(output | other), summed over all axes but the first: (trials,)."""
        ...

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """epsilon of `count` adaptive uses, or inf."""
        ...

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """rho of `count` adaptive uses, or inf."""
        ...

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Exact hockey-stick divergence of the worst pair at that distance, one use."""
        ...


# What a law may offer beyond that.


@runtime_checkable
class Scaled(Protocol):
    """A law with one scale, which tables show."""

    @property
    def noise(self) -> float: ...


@runtime_checkable
class GaussianPrivate(Protocol):
    """A law that is Gaussian DP."""

    def mu(self, sensitivity: float, count: int = 1) -> float:
        """The mu of `count` adaptive uses."""
        ...


@runtime_checkable
class RenyiPrivate(Protocol):
    """A law that knows its Rényi divergences better than its pure and zCDP guarantees imply them."""

    def renyi(self, alpha: float, sensitivity: float) -> float:
        """The divergence of order alpha of one use."""
        ...


@runtime_checkable
class BelowLaplace(Protocol):
    """A pure law whose privacy loss is dominated by that of Laplace noise with the same epsilon."""

    below_laplace: ClassVar[bool]


@runtime_checkable
class OfRecords(Protocol):
    """A law that hides each row of a core, one record, by itself: a local randomiser."""

    per_record: ClassVar[bool]


@dataclass(frozen=True)
class Sampling:
    """Random rows of a block, hidden from the output."""

    kind: Literal["with-replacement", "without-replacement", "poisson", "shuffled"]
    size: int


@dataclass(frozen=True, kw_only=True)
class Read:
    """A block [start, stop) that a release depends on, and how far one record of it may move the core."""

    start: int
    stop: int
    sensitivity: float
    """Claimed, under replace-one, in the release's norm."""
    sampling: Sampling | None = None
    failure: float = 0.0
    """Probability, over coins, that the sensitivity fails: it goes into delta."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """One named output ("phase 2/block 7/centre"): what it reads and the law that hides it."""

    name: str
    law: Law
    reads: tuple[Read, ...]
    norm: Norm = 2.0
    count: int = 1
    """Adaptive uses with fresh noise: T steps are one entry."""
    rests_on: tuple[str, ...] = ()
    """Claims that its sensitivities follow from and that are not proved for this instance, by label; () where they are
    elementary or proved. The accountant certifies nothing of such a release, unless told which claims to assume."""


@dataclass(frozen=True, kw_only=True)
class Schedule(Generic[P]):
    """All that will be done at (problem, n); arithmetic only.

    Attributes:
        phases: the algorithm's own phase dataclass, one for each row of `dpcheck plan`.
        gradients: claimed number of oracle calls.
        floats_per_trial: peak working set of one trial in float64 numbers; it sets the chunk of trials.
        claimed: what is promised of it; None where nobody promises anything (dialled constants, a reading that is known
            to break the paper's promise).
        claimed_by: labels of the statements that promise it, for these fields of the algorithm.
    """

    phases: tuple[P, ...]
    releases: tuple[Release, ...]
    gradients: int
    floats_per_trial: int
    claimed: Guarantee | None
    claimed_by: tuple[str, ...] = ()

    def edit(self, pattern: str, **changes: Any) -> Schedule[P]:
        """The same schedule with some releases changed: a mutant.

        Args:
            pattern: a release's name, or a shell pattern ("phase */noise").
            changes: new fields; a callable gets the old value (`law=lambda law: …`).
        """
        touched = 0
        releases = []
        for release in self.releases:
            if fnmatch.fnmatchcase(release.name, pattern):
                touched += 1
                new = {name: v(getattr(release, name)) if callable(v) else v for name, v in changes.items()}
                release = replace(release, **new)
            releases.append(release)
        if not touched:
            raise InvalidInput(
                f"no release matches {pattern!r}; there are {', '.join(r.name for r in self.releases[:6])}"
            )
        return replace(self, releases=tuple(releases))

    def placed(self, prefix: str, offset: int) -> tuple[Release, ...]:
        """Its releases as they stand inside an outer algorithm whose block starts at record `offset`."""
        return tuple(
            replace(
                release,
                name=f"{prefix}{release.name}",
                reads=tuple(replace(r, start=r.start + offset, stop=r.stop + offset) for r in release.reads),
            )
            for release in self.releases
        )


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
    extra: Mapping[str, float] = field(default_factory=dict)
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


@dataclass(frozen=True, kw_only=True)
class Objective:
    """mean f, or its `cap`-Lipschitz extension, + <linear, w> + weight/2 |w - centre|^2 on the domain.

    Attributes:
        centre: (trials or 1, d).
        cap: C of the Lipschitz extension f_C (infimum over the whole domain), or None for f itself.
        within: (points (trials, d), radii (trials,) or float): minimise over domain ∩ ball only.
    """

    workload: Workload
    sample: Sample
    weight: float
    centre: Array
    linear: Array | float = 0.0
    cap: float | None = None
    within: tuple[Array, Array | float] | None = None


@dataclass(frozen=True)
class Solution:
    """Points (trials, d) and a sure bound on their gap in objective value."""

    point: Array
    gap: float


Solver = Callable[[Objective], Solution]
"""A field of an algorithm: exact, generic with a certificate, or the adversarial legal one."""


class Algorithm(abc.ABC, Generic[P]):
    """One printed algorithm: a frozen dataclass; hyper-parameters, readings and dials are its fields."""

    label: ClassVar[str]
    readings: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    subroutine: ClassVar[bool] = False
    """It only serves others: never an alternative to them."""
    wants: ClassVar[Mapping[str, str]] = {}
    """Constants of a problem (`Constants.extra`) that bounds on it need, and what they are."""
    budgets: ClassVar[BudgetRange] = BudgetRange()
    """What it is calibrated for; `privacy_budget` refuses the rest."""

    @abc.abstractmethod
    def schedule(self, problem: Problem, n: int) -> Schedule[P]:
        """What will be done, before any data is seen. Raises `Infeasible`."""

    @abc.abstractmethod
    def execute(self, run: Run[P], workload: Workload, data: Data, start: Array) -> Array:
        """The printed lines: (trials, d)."""

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """What its schedule fixes, by the names of symbols in the claims about it: all that it knows of its bounds.

        A sequence over phases, steps or leaves is named "sigma[i]"; what no claim may use here has no name, or is nan.
        """
        return {}

    def privacy_budget(self, problem: Problem) -> tuple[float, float]:
        """(epsilon, delta) of the problem. Raises `Infeasible` for a budget that it is not calibrated for."""
        return require_budget(problem, self.label, self.budgets)

    def fit(self, workload: Workload, data: Data, problem: Problem, *, rng: Rng, trials: int) -> Array:
        """Plans and runs from the projection of the origin; the release of every trial, (trials, d)."""
        from dpcheck.running import Run

        schedule = self.schedule(problem, data.n)
        start = workload.project(np.zeros((1, problem.constants.d)))
        return self.execute(Run(schedule, trials, rng), workload, data, start)


def smallest_n(feasible: Callable[[int], bool], limit: int = 2**62) -> int | None:
    """Smallest n with `feasible(n)`, for a condition that stays true once it is; None above `limit`."""
    high = 1
    while not feasible(high):
        high *= 2
        if high > limit:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return high


F = TypeVar("F", bound=Callable[..., Any])


def procedure(label: str) -> Callable[[F], F]:
    """Marks a function as one of a paper's procedures: `@procedure("paper/proc-x")` sets `function.label`."""

    def decorate(function: F) -> F:
        function.label = label  # type: ignore[attr-defined]
        return function

    return decorate
