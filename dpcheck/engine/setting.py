"""Sizes, budget and constants of a problem, as somebody who plans knows them."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from dpcheck.engine.algorithms import fields_of
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Algorithm, Constants, Family, Problem
from dpcheck.privacy import ZCDP, ApproxDP, Guarantee, PureDP

if TYPE_CHECKING:
    from dpcheck.interfaces import Workload


class Sought(dict[str, float]):
    """Named constants that know which names somebody looked for; merged into others they are looked for by nobody."""

    def __init__(self, named: Mapping[str, float]) -> None:
        super().__init__(named)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> float:
        self.names.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a practitioner knows: sizes, budget, and constants of his problem; one constant serves every norm.

    Attributes:
        n, d: records (users when m > 0) and dimension of the parameter; m: samples a user, 0 when a record is one.
        epsilon, delta, rho: the budget: (epsilon, delta)-DP, or rho-zCDP.
        k: order of the moment bound, handed to algorithms that have such a field.
        D, L, H: diameter of the domain, Lipschitz constant and smoothness of the losses; inf where there is none.
        moments: order -> G_k; another order gets the bound of the next order above, which is never too small.
        growth: (theta, lambda) of the Tsybakov noise condition.
        beta: failure probability of high-probability statements.
        family: of the losses, where it is known; see `Constants`.
        extra: further named constants that a paper's schedule asks for.
        constants: those of a workload, in every norm, in place of all of the above; see `Setting.on`.
    """

    n: int
    d: int
    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    m: int = 0
    k: float | None = None
    D: float = 1.0
    L: float = 1.0
    H: float = 1.0
    moments: Mapping[float, float] = field(default_factory=dict)
    growth: tuple[float, float] | None = None
    beta: float = 0.05
    hessian_rank: int | None = None
    family: Family = ""
    extra: Mapping[str, float] = field(default_factory=dict)
    constants: Constants | None = None

    def __post_init__(self) -> None:
        for name in ("n", "d"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} must be >= 1, got {getattr(self, name)}")
        for name in ("D", "L", "H"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"{name} must be > 0, got {getattr(self, name)}")
        if not 0 < self.beta < 1:
            raise InvalidInput(f"the failure probability must lie in (0, 1), got {self.beta}")
        self._check_budget()
        if self.m < 0:
            raise InvalidInput(f"m, the samples of a user, must be >= 0, got {self.m}")
        for order, value in self.moments.items():
            if not (order >= 1 and value > 0):
                raise InvalidInput(f"a moment bound needs an order >= 1 and a value > 0, got {order:g}={value:g}")
        if self.k is not None and not self.k > 1:
            raise InvalidInput(f"k, the order of the moment bound, must be > 1, got {self.k:g}")
        if self.family not in get_args(Family):
            raise InvalidInput(f"the family of losses is one of {get_args(Family)}, got {self.family!r}")
        _ = self.privacy  # refuses a budget out of range

    def _check_budget(self) -> None:
        if self.epsilon is not None and self.rho is not None:
            raise InvalidInput(
                f"got two budgets, epsilon = {self.epsilon:g} and rho = {self.rho:g}; name the budget by epsilon (and "
                "delta), or by rho"
            )
        if self.epsilon is None and self.delta:
            raise InvalidInput(f"delta = {self.delta:g} needs its epsilon; a budget in rho has no delta")
        if self.epsilon is None and self.rho is None:
            raise InvalidInput("name the budget by epsilon (and delta), or by rho")

    @property
    def privacy(self) -> Guarantee:
        if self.rho is not None:
            return ZCDP(self.rho)
        assert self.epsilon is not None
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def on(self, workload: Workload) -> Setting:
        """The same sizes and budget with the constants of a workload, in every norm that an algorithm asks for."""
        c = workload.constants
        orders = {1.0, 2.0, *([] if self.k is None else [self.k])}
        return dataclasses.replace(
            self,
            d=c.d,
            D=c.diameter(2.0),
            L=c.lipschitz(2.0),
            H=max(c.smoothness(2.0), sys.float_info.min),  # linear losses
            moments={order: c.moment(order, 1) for order in orders},
            growth=c.growth,
            hessian_rank=c.hessian_rank,
            family=c.family,
            extra=dict(c.extra),
            constants=c,
        )

    def given(self, extra: Mapping[str, float]) -> Setting:
        """The same with further named constants."""
        merged = {**self.extra, **extra}
        constants = self.constants and dataclasses.replace(self.constants, extra={**self.constants.extra, **extra})
        return dataclasses.replace(self, extra=merged, constants=constants)

    @property
    def trivial(self) -> float:
        """What the excess risk of a constant output is at most: D G_1."""
        return self.D * self.moment(1)

    def moment(self, k: float, m: int = 1) -> float:
        """G_k; by Minkowski's inequality it bounds the moment of a mean of m gradients as well."""
        if self.constants is not None:
            return self.constants.moment(k, m)
        above = [order for order in self.moments if order >= k]
        return min(self.moments[min(above)] if above else math.inf, self.L)

    @property
    def problem(self) -> Problem:
        constants = self.constants or Constants(
            d=self.d,
            diameter=lambda p: self.D,
            lipschitz=lambda p: self.L,
            smoothness=lambda p: self.H,
            moment=self.moment,
            growth=self.growth,
            hessian_rank=self.hessian_rank,
            family=self.family,
            extra=self.extra,
        )
        return Problem(
            constants=constants, privacy=self.privacy, failure_probability=self.beta, samples_per_user=self.m
        )


def values(problem: Problem, n: int, k: float | None = None) -> dict[str, float]:
    """Symbol name -> value, for the bounds of claims: what a problem and its size fix; only what is finite."""
    c = problem.constants
    known: dict[str, float] = {"n": n, "d": c.d, "D": c.diameter(2.0), "R": c.diameter(2.0)}
    known |= {"beta": problem.failure_probability, "zeta": problem.failure_probability}
    known |= {"L": c.lipschitz(2.0), "H": c.smoothness(2.0)}
    match problem.privacy:
        case ZCDP(rho=rho):
            known["rho"] = rho
        case ApproxDP(epsilon=epsilon, delta=delta):
            known |= {"epsilon": epsilon, "delta": delta}
    if problem.samples_per_user:
        known["m"] = problem.samples_per_user
    if c.growth is not None:
        known |= {"theta": c.growth[0], "lambda": c.growth[1]}
    if k is not None:
        known |= {"k": k, "G_k": c.moment(k, 1), "r_k": c.moment(k, 1), "r_2k": c.moment(2 * k, 1)}
    known |= {"G": c.moment(1, 1), "G_1": c.moment(1, 1), "G_2": c.moment(2, 1), "r_2": c.moment(2, 1)}
    return {name: value for name, value in (known | dict(c.extra)).items() if math.isfinite(value)}


def known(chosen: Algorithm[Any], problem: Problem, n: int, k: float | None = None) -> dict[str, Any]:
    """Symbol name -> value, for claims about an algorithm: of the problem, of its fields, and what its schedule fixes.

    Args:
        k: order of the moment bound, where the algorithm has no such field.
    """
    fields = {name: getattr(chosen, name) for name in fields_of(type(chosen))}
    numbers = {name: value for name, value in fields.items() if isinstance(value, int | float)}
    # An ERM solver is handed a block of m records: all n, when it is planned by itself.
    measured = {"m": n} | numbers | values(problem, n, numbers.get("k", k)) | dict(chosen.terms(problem, n))
    return {name: value for name, value in measured.items() if not (isinstance(value, float) and math.isnan(value))}
