"""First-order access to the Lipschitz extension: the joint reformulation (10), and the conic oracle of Prop. D.6."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcheck.algorithms.pure_heavy_tails.projection import inexact_projection
from dpcheck.algorithms.pure_heavy_tails.subgradient import (
    LIMIT,
    adaptive_inexact_subgradient,
    biased_subgradient,
    constant_step,
    iteration_bound,
)
from dpcheck.errors import InvalidInput
from dpcheck.geometry import Domain
from dpcheck.geometry.norms import clip_norm
from dpcheck.interfaces import Array, Objective, Solution, procedure
from dpcheck.solvers import Task, trials_of
from dpcheck.solvers.conic import domain_constraints, require_cvxpy, run_solver
from dpcheck.solvers.extension import check_cap, extension_gradient
from dpcheck.workloads.base import Bounded, Extended
from dpcheck.workloads.ridge import RidgeWorkload


@dataclass(frozen=True)
class JointReformulation:
    """Phi(w, y_1..y_m) = mean [f(y_i, z_i) + C |w - y_i|] + weight/2 |w - centre|^2 on W^(m+1), or W_0 x W^m.

    Points are u = (w, y_1, …, y_m) side by side: (trials, (m + 1) d). Records with counts need one copy an atom.
    """

    objective: Objective

    label = "pure_heavy_tails/proc-joint-reform"

    def __post_init__(self) -> None:
        check_cap(self.objective.cap if self.objective.cap is not None else math.nan)
        if np.any(self.objective.linear):
            raise InvalidInput("the joint reformulation is for objectives without a linear term")

    @property
    def cap(self) -> float:
        return float(self.objective.cap or math.nan)

    @property
    def shares(self) -> Array:
        """Weight of each record in the mean, (trials or 1, m)."""
        weights = self.objective.sample.weights
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def split(self, u: Array) -> tuple[Array, Array]:
        """u -> w (trials, d) and y (trials, m, d)."""
        blocks = u.reshape(len(u), -1, self.objective.workload.constants.d)
        return blocks[:, 0], blocks[:, 1:]

    def joined(self, w: Array, y: Array) -> Array:
        """Inverse of `split`."""
        return np.concatenate([w[:, None], y], axis=1).reshape(len(w), -1)

    def start(self) -> Array:
        """A feasible point with every copy at w: the centre, or the centre of the ball."""
        at = self.objective.centre if self.objective.within is None else self.objective.within[0]
        m = self.objective.sample.values.shape[1]
        w = self.objective.workload.project(np.broadcast_to(at, (trials_of(self.objective), at.shape[1])))
        return self.joined(w, np.repeat(w[:, None], m, axis=1))

    def value(self, u: Array) -> Array:
        """Phi: (trials,)."""
        w, y = self.split(u)
        losses = self.objective.workload.loss(y, self.objective.sample.values)
        losses = losses + self.cap * np.linalg.norm(w[:, None] - y, axis=2)
        ridge = self.objective.weight / 2 * ((w - self.objective.centre) ** 2).sum(axis=1)
        return np.asarray((self.shares * losses).sum(axis=1) + ridge)

    def subgradient(self, u: Array) -> Array:
        """A subgradient of Phi, of norm at most `lipschitz`: (trials, (m + 1) d)."""
        w, y = self.split(u)
        away = w[:, None] - y
        length = np.linalg.norm(away, axis=2, keepdims=True)
        s = away / np.where(length > 0, length, math.inf)
        share = self.shares[..., None]
        slope_w = self.cap * (share * s).sum(axis=1) + self.objective.weight * (w - self.objective.centre)
        slope_y = share * (self.objective.workload.gradient(y, self.objective.sample.values) - self.cap * s)
        return self.joined(slope_w, slope_y)

    def project(self, u: Array, xi: Array) -> Array:
        """Onto K, exactly in the copies, within xi in w."""
        w, y = self.split(u)
        project = self.objective.workload.project
        if self.objective.within is None:
            return self.joined(project(w), project(y))
        ball, radius = self.objective.within
        return self.joined(inexact_projection(w, ball, radius, project, xi), project(y))

    def diameter(self) -> float:
        """Of K: D sqrt(m + 1), or sqrt(m D^2 + min(D, 2 r)^2) in the ball of radius r."""
        D, m = self.objective.workload.constants.diameter(2.0), self.objective.sample.values.shape[1]
        own = D if self.objective.within is None else min(D, 2 * float(np.max(self.objective.within[1])))
        return math.sqrt(m * D**2 + own**2)

    def lipschitz(self) -> float:
        """Eq. (14) before its last step: sqrt((C + weight D)^2 + sum of shares^2 (A_i + C)^2)."""
        work = self.objective.workload
        if not isinstance(work, Bounded):
            raise InvalidInput(f"{type(work).__name__} does not know its gradient norms; give it `amplitude`")
        copies = (self.shares**2 * (work.amplitude(self.objective.sample.values) + self.cap) ** 2).sum(axis=1)
        own = self.cap + self.objective.weight * work.constants.diameter(2.0)
        return float(np.sqrt(own**2 + copies.max()))


@dataclass(frozen=True)
class JointSubgradient:
    """A solver: Algorithm 3 on the joint reformulation, as printed. For toy instances: steps grow like 1/gap^2."""

    limit: int = LIMIT

    def __call__(self, objective: Objective) -> Solution:
        joint = JointReformulation(objective)
        halted = adaptive_inexact_subgradient(
            joint.subgradient, joint.project, joint.start(), _allowed(objective), joint.diameter(), limit=self.limit
        )
        return Solution(joint.split(halted.point)[0], halted.gap)

    def oracle_calls(self, m: int, gap: float, D: float, own: float, steepest: float, cap: float, weight: float) -> int:
        """m subgradients a step, at most; `own` is the diameter of w's set and `steepest` a bound on all A(z_i)."""
        L = steepest + 2 * cap + weight * D
        return m * iteration_bound(math.sqrt(m * D**2 + own**2), L, gap)


Oracle = Callable[[Objective, Array], Array]
"""(objective, points) -> a subgradient of its mean of f_C at each, up to a bias of a quarter of the gap."""


@dataclass(frozen=True)
class DirectSubgradient:
    """A solver: Lemma D.5 on the regularised extension itself, with L = 2 C + weight D whatever the records are.

    The oracle is the workload's own subgradient of f_C, or the conic one for polyhedral ridge losses.
    """

    limit: int = LIMIT

    def __call__(self, objective: Objective) -> Solution:
        cap, gap = float(objective.cap or math.nan), _allowed(objective)
        work = objective.workload
        D = work.constants.diameter(2.0)
        joint = JointReformulation(objective)
        start = joint.split(joint.start())[0]
        exact_oracle = isinstance(work, Extended) or work.constants.d == 1
        bias = 0.0 if exact_oracle else gap / 4

        def subgradient(w: Array) -> Array:
            mean = objective.sample.mean(_extension_slopes(objective, w, bias))
            return np.asarray(mean + objective.weight * (w - objective.centre))

        def project(w: Array, xi: Array) -> Array:
            if objective.within is None:
                return work.project(w)
            return inexact_projection(w, *objective.within, work.project, xi)

        halted = biased_subgradient(
            subgradient,
            project,
            start,
            gap,
            D,
            2 * cap + objective.weight * D,
            bias=bias,
            limit=self.limit,
        )
        return Solution(halted.point, halted.gap)

    def oracle_calls(self, m: int, gap: float, D: float, own: float, steepest: float, cap: float, weight: float) -> int:
        """m subgradients a step, exactly, whatever the records are."""
        return m * constant_step(D, 2 * cap + weight * D, gap)[0]


def _extension_slopes(objective: Objective, w: Array, bias: float) -> Array:
    """Subgradients of f_C of every record at w, (trials, m, d)."""
    work, z, cap = objective.workload, objective.sample.values, float(objective.cap or math.nan)
    try:
        return extension_gradient(work, w[:, None], z, cap)
    except InvalidInput:
        if not isinstance(work, RidgeWorkload) or work.link.pieces is None:
            raise
    trials = max(len(w), len(z))
    slopes = np.empty((trials, *z.shape[1:2], w.shape[1]))
    for t in range(trials):
        for i, record in enumerate(z[t if len(z) > 1 else 0]):
            slopes[t, i] = ridge_subgradient(work, w[t if len(w) > 1 else 0], record, cap, bias).vector
    return slopes


def _allowed(objective: Objective) -> float:
    if not isinstance(objective, Task) or not 0 < objective.gap < math.inf:
        raise InvalidInput("a subgradient solver needs a Task with a finite gap > 0 to aim at")
    return objective.gap


@dataclass(frozen=True)
class ConicSubgradient:
    """g with f_C(u) >= f_C(w) + <g, u - w> - bias on the domain and |g| <= C; `value` is f_C(w) up to `bias`, above."""

    vector: Array
    value: float
    bias: float


@procedure("pure_heavy_tails/proc-socp-subgrad")
def socp_subgradient(w: Array, slopes: Array, intercepts: Array, domain: Domain, cap: float) -> ConicSubgradient:
    """The multiplier of x + y = w in (16): min s + C t with |x| <= t, s >= a_j . y + b_j for all j, y in the domain.

    Args:
        w: (d,), a point of the domain.
        slopes, intercepts: a_j and b_j of f = max_j a_j . y + b_j: (J, d) and (J,).

    Returns:
        The multiplier, made dual feasible, and the bias that follows from the recomputed dual value.

    Raises:
        MissingExtra: without the extra 'solvers'.
    """
    check_cap(cap)
    cp = require_cvxpy()
    d = len(w)
    x, y, s, t = cp.Variable(d), cp.Variable(d), cp.Variable(), cp.Variable()
    unit = max(cap, float(np.linalg.norm(slopes, axis=1).max()))  # the same: a scale of the solver's
    split = x + y == w
    above = s >= (slopes @ y + intercepts) / unit
    constraints = [split, above, cp.norm(x) <= t, *domain_constraints(domain, y)]
    run_solver(cp.Problem(cp.Minimize(s + cap / unit * t), constraints))
    point = domain.project(np.asarray(y.value)[None])[0]
    upper = float((slopes @ point + intercepts).max() + cap * np.linalg.norm(w - point))
    shares = np.maximum(np.asarray(above.dual_value).reshape(-1), 0.0)
    shares = shares / shares.sum()  # the same: but for rounding their sum is 1
    # cvxpy's multiplier of x + y = w is -g; with the other sign the bias would be large.
    g = clip_norm(-unit * np.asarray(split.dual_value), cap)
    # f_C(u) >= <g, u> + <b, shares> - support(g - shares . a) for every u: weak duality.
    lower = float(g @ w + intercepts @ shares - domain.support(g - shares @ slopes))
    return ConicSubgradient(g, upper, abs(upper - lower))  # by rounding the lower bound may be above


def ridge_subgradient(work: RidgeWorkload, w: Array, record: Array, cap: float, bias: float) -> ConicSubgradient:
    """`socp_subgradient` for one record of a ridge loss with finitely many pieces.

    Raises:
        InvalidInput: the recomputed bias is larger than asked for.
    """
    if work.link.pieces is None:
        raise InvalidInput(f"the conic oracle is for piecewise affine losses; {type(work.link).__name__} is not")
    a, offset = work.features(record)
    pieces = np.asarray(work.link.pieces)
    subgradient = socp_subgradient(w, pieces[:, :1] * a, pieces[:, 1] - pieces[:, 0] * offset, work.domain, cap)
    if not subgradient.bias <= bias:
        raise InvalidInput(
            f"the conic oracle is certified to {subgradient.bias:.3g}, more than the bias {bias:.3g} allowed"
        )
    return subgradient
