"""Output and objective perturbation (Algorithms 1 and 2) for losses phi(<v, f>) of records v = y x, |v| <= 1."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Algorithm, Array, Constants, Data, Problem, Read, Release, Rng, Sample, Schedule
from dpcheck.laws import IsotropicLaplace
from dpcheck.laws.inside import Inside
from dpcheck.privacy import PureDP
from dpcheck.running import Run


@dataclass(frozen=True)
class Link:
    """phi by its value, slope, second derivative (to the right of a corner), and a bound on that."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    bend: Callable[[Array], Array]
    curvature: float


LOGISTIC = Link(
    lambda s: np.logaddexp(0.0, -s), lambda s: -0.5 + np.tanh(s / 2) / 2, lambda s: 0.25 - np.tanh(s / 2) ** 2 / 4, 0.25
)
LINEAR = Link(np.negative, lambda s: -np.ones_like(s), np.zeros_like, 0.0)
CORNER = 0.5
HUBER = Link(  # the hinge of width 1/2: 1 - s below the corner, 0 above 3/2
    lambda s: np.where(s < CORNER, 1 - s, np.maximum(1.5 - s, 0.0) ** 2 / 2),
    lambda s: np.clip(s - 1.5, -1.0, 0.0), lambda s: np.where((s >= CORNER) & (s < 1.5), 1.0, 0.0), 1.0,
)  # fmt: skip


@dataclass(frozen=True)
class Directions:
    """v = ±e_j, j uniform among d directions, + with probability p; logistic f* = logit(p) in every coordinate."""

    d: int = 1
    p: float = 0.9
    link: Link = LOGISTIC

    @property
    def constants(self) -> Constants:
        size = abs(math.log(self.p / (1 - self.p))) * math.sqrt(self.d)
        return Constants(
            d=self.d, diameter=lambda q: size, lipschitz=lambda q: 1.0, smoothness=lambda q: self.link.curvature,
            moment=lambda k, m: 1.0, hessian_rank=1, atoms=2 * self.d, family="generalised linear",
        )  # fmt: skip

    def loss(self, w: Array, z: Array) -> Array:
        return self.link.value((w * z).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return self.link.slope((w * z).sum(axis=-1))[..., None] * z

    def project(self, w: Array) -> Array:
        return w

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        chances = np.repeat([self.p / self.d, (1 - self.p) / self.d], self.d)
        atoms = np.concatenate([np.eye(self.d), -np.eye(self.d)])
        return Sample(atoms[None], rng.multinomial(n, chances, size=trials).astype(float))

    def excess_risk(self, w: Array) -> Array:
        """(trials, d) -> (trials,), for logistic losses."""
        f = np.append(w, np.full((1, w.shape[1]), math.log(self.p / (1 - self.p))), axis=0)
        risks = (self.p * self.link.value(f) + (1 - self.p) * self.link.value(-f)).mean(axis=1)
        return np.asarray(risks[:-1] - risks[-1])


@dataclass(frozen=True)
class Stage:
    """What both algorithms fix: λ, the weight of |f|^2/2 (Λ, or Λ + Δ), the scale of the noise, its share ε' of ε."""

    records: int
    weight: float
    scale: float
    epsilon: float


def minimiser(workload: Any, sample: Sample, weight: float, linear: Array) -> Array:
    """argmin mean phi(<v, f>) + <linear, f> + weight/2 |f|^2 over all f, (trials, d), by Newton steps s of length
    log(1 + |s|), which converge from anywhere where |phi'''| <= phi'' and |v| <= 1, as in logistic regression.
    """
    v, f = sample.values, np.zeros_like(linear)
    outer = (v[..., :, None] * v[..., None, :]).reshape(*v.shape[:2], -1)
    for _ in range(200):
        margin = (v * f[:, None, :]).sum(axis=2)
        slope = sample.mean(workload.link.slope(margin)[..., None] * v) + linear + weight * f
        if np.linalg.norm(slope, axis=1).max() < 1e-13 * (1 + weight + np.abs(linear).max()):
            return f
        bend = sample.mean(workload.link.bend(margin)[..., None] * outer).reshape(len(f), *[v.shape[2]] * 2)
        step = np.linalg.solve(bend + weight * np.eye(v.shape[2]), slope[..., None])[..., 0]
        size = np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-300)
        f = f - step * np.log1p(size) / size
    raise InvalidInput(f"no minimiser in 200 Newton steps at weight {weight:.3g}; the privacy proof needs an exact one")


@dataclass(frozen=True)
class Perturbation(Algorithm[Stage]):
    """What both share. lambda_: Λ, None for the one that balances the bound on the risk."""

    lambda_: float | None = None

    def terms(self, problem: Problem, n: int) -> Mapping[str, float]:
        (stage,) = self.schedule(problem, n).phases
        return {"lambda": stage.weight, "epsilon_1": stage.epsilon, "r": self.rank(problem)}

    def rank(self, problem: Problem) -> int:
        """The largest rank of a record's Hessian."""
        rank, d = problem.constants.hessian_rank, problem.constants.d
        return 1 if problem.constants.family == "generalised linear" else d if rank is None else min(rank, d)

    def given(self, problem: Problem) -> tuple[float, float, float, int]:
        """ε, L, R and d. Raises `InvalidInput` where there is no pure ε or no positive Λ."""
        constants, budget = problem.constants, problem.privacy
        if not isinstance(budget, PureDP) or not (self.lambda_ is None or self.lambda_ > 0):
            raise InvalidInput(f"{self.label} needs a pure ε and lambda_ > 0, got {budget} and {self.lambda_}")
        return budget.epsilon, constants.lipschitz(2.0), constants.diameter(2.0), constants.d

    def planned(self, problem: Problem, stage: Stage, law: Any, proved: str) -> Schedule[Stage]:
        n, constants = stage.records, problem.constants
        read = Read(start=0, stop=n, sensitivity=2 * constants.lipschitz(2.0) / (n * stage.weight))
        return Schedule(
            phases=(stage,), releases=(Release(name="minimiser", law=law, reads=(read,)),), gradients=30 * n,
            floats_per_trial=constants.rows(n) * constants.d**2, claimed=problem.privacy,
            claimed_by=(f"chaudhuri_2011/{proved}",),
        )  # fmt: skip


@dataclass(frozen=True)
class OutputPerturbation(Perturbation):
    """Algorithm 1: f = argmin J + b, density of b proportional to exp(-nΛε|b|/(2L))."""

    label = "chaudhuri_2011/alg-1"

    def plan(self, problem: Problem, n: int) -> Stage:
        epsilon, L, R, d = self.given(problem)
        weight = self.lambda_ or 2 * L / R * math.sqrt((1 + d / epsilon) / n)
        return Stage(n, weight, 2 * L / (n * weight * epsilon), epsilon)

    def schedule(self, problem: Problem, n: int) -> Schedule[Stage]:
        stage = self.plan(problem, n)
        return self.planned(problem, stage, IsotropicLaplace(stage.scale, problem.constants.d), "thm-6")

    def execute(self, run: Run[Stage], workload: Any, data: Data, start: Array) -> Array:
        (stage,), still = run.schedule.phases, np.zeros((run.trials, start.shape[1]))
        return run.release("minimiser", minimiser(workload, data.read(), stage.weight, still))


@dataclass(frozen=True)
class ObjectivePerturbation(Perturbation):
    """Algorithm 2: f = argmin J + <b, f>/n + Δ/2 |f|^2, density of b proportional to exp(-ε'|b|/(2L)).

    jacobian: which power of 1 + H/(nΛ) is taken off e^ε; None for the rank of the Hessian of a record.
    """

    jacobian: int | None = 2

    label = "chaudhuri_2011/alg-2"
    readings: ClassVar = {"corrected": {"jacobian": None}}

    def plan(self, problem: Problem, n: int) -> Stage:
        (epsilon, L, R, d), H = self.given(problem), problem.constants.smoothness(2.0)
        r = self.rank(problem) if self.jacobian is None else self.jacobian
        half = H / (n * math.expm1(epsilon / (2 * max(r, 1))))  # λ at which half of ε is left to the noise
        weight = self.lambda_ or max(half, 2 * L / R * math.sqrt(1 / n + d * (d + 1) * (2 / (n * epsilon)) ** 2))
        left = epsilon - r * math.log1p(H / (n * weight))
        if left <= 0:
            weight, left = half, epsilon / 2
        return Stage(n, weight, 2 * L / left, left)

    def schedule(self, problem: Problem, n: int) -> Schedule[Stage]:
        stage, needed = self.plan(problem, n), self.rank(problem)
        r = needed if self.jacobian is None else self.jacobian
        spent = stage.epsilon + needed * math.log1p(problem.constants.smoothness(2.0) / (n * stage.weight))
        proved = "thm-9" if r == 2 and needed == 1 else "thm-9@corrected" if r >= needed else "rem-any-rank"
        return self.planned(problem, stage, Inside(spent, stage.scale), proved)

    def execute(self, run: Run[Stage], workload: Any, data: Data, start: Array) -> Array:
        (stage,), shape = run.schedule.phases, (run.trials, start.shape[1])
        b = run.coins(lambda rng: IsotropicLaplace(stage.scale).sample(np.zeros(shape), rng))
        return run.release("minimiser", minimiser(workload, data.read(), stage.weight, b / stage.records))
