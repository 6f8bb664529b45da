"""Instances, families whose rates are measured and wrong schedules, and what the checks of theorems do with them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.accounting import account
from dpcheck.algorithms.lp_spaces import (
    BatchedMirrorDescent,
    NoisyMirrorDescent,
    PhasedSGD,
    ShuffledMirrorDescent,
    StronglyConvexObjectivePerturbation,
)
from dpcheck.algorithms.lp_spaces.objective import PerturbedMinimiser
from dpcheck.algorithms.lp_spaces.phased import Pass
from dpcheck.algorithms.lp_spaces.regular import kappa as regularity
from dpcheck.algorithms.lp_spaces.truncated import TruncatedMirrorDescent, Truncation
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import explicit_of, unassumed
from dpcheck.geometry import Ball, LpBall
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.relations import judged
from dpcheck.harness.scaling import Affine, Axis, Family, Instance, Pull, Steps, Walk, averaged_descent, geometric
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.symbolic import proved, where_proved
from dpcheck.interfaces import Algorithm, Array, Constants, Problem, Rng, Sample, Schedule
from dpcheck.privacy import ApproxDP
from dpcheck.symbols import L, delta, epsilon
from dpcheck.verdicts import Verdict, undecided
from dpcheck.witnesses import verifier as verifier_of
from dpcheck.workloads import CoordinateHuber, HeavyCoordinates
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.signs import SignRecords

DELTA = 1e-6


CORRECTED: dict[str, Any] = {"exponent": "corrected", "kappa_rule": "safe"}
"""Algorithms 3 and 4 with the dual exponent and the kappa of Definition 3."""


def problem(work: Any, epsilon: float, delta: float = DELTA) -> Problem:
    return Problem.of(work, ApproxDP(epsilon, delta))


def refuted_as_stated(
    label: str, verifier: str, *, given: Any = (), units: Mapping[str, float] = MappingProxyType({}), **parameters: Any
) -> Verdict:
    """`refuted_by`, where the bound that the witness breaks is the claim's formula times the hidden `constant`.

    Args:
        given: values of the claim's symbols that are in none of its hypotheses.
        units: symbol -> its value in other units of loss and length, in which a bound on a loss is `units["loss"]`
            times as large: a witness whose constants are 1 is as good as one whose are not.
    """
    at = {name: float(value) for name, value in verifier_of(f"lp_spaces.{verifier}")(**parameters).at.items()}
    at = {name: value * units.get(name, 1) for name, value in {**at, **dict(given)}.items()}
    bound = float(Fraction(parameters.get("constant", 1))) * unassumed(label, **at) / units.get("loss", 1)
    return refuted_by(label, verifier, stated=bound, **parameters)


def largest(label: str, symbol: sp.Symbol, otherwise: Any) -> sp.Rational:
    """The upper end of a symbol's range by the hypotheses of a claim; `otherwise` where these set none."""
    limits = [each.gts for each in claim(label).assumptions if each.lts == symbol and each.gts.is_number]
    return sp.Rational(min(limits, default=otherwise))


def limits(label: str, at: dict[str, Any]) -> dict[str, Any]:
    """Symbol -> the edge of its range by the hypotheses of a claim, at the values of the others; the largest of lower
    ones.
    """
    found: dict[str, Any] = {}
    for each in claim(label).assumptions:
        edge, free = (each.lts, each.gts) if each.gts.is_Symbol else (each.gts, each.lts)
        value = edge.subs({symbol: at[symbol.name] for symbol in edge.free_symbols})
        found[free.name] = max(value, found.get(free.name, value))
    return found


def log_over(label: str, numerator: str) -> sp.Rational:
    """Just below log(numerator/delta) at the largest delta that a claim allows; at nearly `numerator` without any."""
    most = largest(label, delta, sp.Rational(numerator) * sp.Rational(999, 1000))
    return sp.Rational(math.floor(1000 * math.log(sp.Rational(numerator) / most)), 1000)


def huber(dimension: int, size: float = 0.3) -> CoordinateHuber:
    return CoordinateHuber(np.full(dimension, size))


def heavy(dimension: int, p: float = 1.5, smoothness: float = 0.05) -> HeavyCoordinates:
    return HeavyCoordinates(np.full(dimension, 0.5 * dimension ** (-1 / p)), radius=1.0, s=p, smoothness=smoothness)


def certified(plan: Any, claim: ApproxDP, what: str) -> Verdict:
    """HOLDS when the accountant certifies the claim at the schedule's own sensitivities."""
    found = account(plan).epsilon(claim.delta)
    said = f"{what}: epsilon at delta = {claim.delta:g} is at most {found:.4g}, claimed {claim.epsilon:g}"
    numbers = {"epsilon": found, "claimed": claim.epsilon}
    return judged(found, "<=", claim.epsilon * (1 + 1e-9), said, "certificate", numbers=numbers, otherwise=undecided)


def every_bump(share: sp.Rational) -> str:
    """Why no bump breaks (epsilon, delta) at all, whatever its place, width, area, slopes, epsilon and delta < 1.

    The event of D' is carried onto that of D by an affine map x -> y that moves points by 2L at most and stretches by
    1 + (1 - share) epsilon. So P - e^epsilon Q, an integral of (dy/dx) phi(y) - e^epsilon phi(x), gains only where
    x^2 - y^2 > 2 share epsilon sigma_1^2, that is |y| > z sigma_1, z = share epsilon sigma_1/(2L) - L/sigma_1; the
    chance of that is at most exp(-z^2/2), and delta is at least exp(-v) at log(2.5/delta) = log 2.5 + v.
    """
    v, w = sp.symbols("v w", nonnegative=True)
    log, spent = log_over("lp_spaces/thm-1", "5/2") + v, sp.Symbol("e", positive=True)
    variance = explicit_of("lp_spaces/alg-1").subs({L: 1, epsilon: spent, delta: sp.Rational(5, 2) * sp.exp(-log)})
    variance = sp.simplify(sp.expand_log(variance, force=True))
    z = share * spent * sp.sqrt(variance) / 2 - 1 / sp.sqrt(variance)
    room = sp.expand(sp.expand(z**2 / 2) - 1 / (2 * variance) - v).subs(spent, 1 - w)  # epsilon < 1
    start = sp.cancel(share * spent**2 * variance / 2) - 1  # of z, times what is positive
    proof = proved({}, {"exp(-z^2/2) <= delta": sp.expand(room), "z": sp.expand(start)})
    return where_proved(proof, "a grid; a tail bound proves every other bump, epsilon and delta")


READINGS = {"paper": {"exponent": "paper", "kappa_rule": "paper"}, "corrected": CORRECTED}

RARE = 1e-40
"""The delta of a promise for up to 1e18 records."""
STRONG = Family.of(
    mirrored=True, lean=Axis((1.0, 0.5, 0.0), (True, True)), stretch=geometric(1.0, math.sqrt(2), 4)
)  # fmt: skip
"""Bowls with 1, √2, … of the least curvature of their class; the minimiser is so far towards the boundary. No slope is
strongly convex."""


@dataclass(frozen=True, eq=False)
class Bowl(SignRecords):
    """f(w, x) = c |w|^2/2 - <x, w>; `steepest` is the L of the class."""

    curvature: float = 0.0
    steepest: float = 1.0

    @property
    def constants(self) -> Constants:
        d = self.domain.d
        return Constants(
            d=d, diameter=self.domain.diameter, lipschitz=lambda p: self.steepest, smoothness=lambda p: self.curvature,
            moment=lambda k, m: self.steepest, hessian_rank=d if self.curvature else 0,
            family="isotropic quadratic" if self.curvature else "linear", extra=self._extra,
        )  # fmt: skip

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature / 2 * (w**2).sum(axis=-1) - (w * z).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature * w - z)

    def tilted_minimiser(self, sample: Sample, linear: Array, weight: float) -> Array:
        """argmin over the domain of the mean loss + <linear, w> + weight/2 |w|^2."""
        return self._lowest(sample.mean(sample.values) - linear, self.curvature + weight)

    def _lowest(self, slope: Array, curvature: float) -> Array:
        return self.domain.support_point(slope) if curvature == 0 else self.domain.project(slope / curvature)

    def excess_risk(self, w: Array) -> Array:
        mean = np.asarray(self.mean)
        best = self._lowest(mean, self.curvature)
        # (c best - mean) (w - best) >= 0 at the minimiser, and nothing is lost to cancellation.
        slack = np.maximum(0.0, (w - best) @ (self.curvature * best - mean))
        return np.asarray(self.curvature / 2 * ((w - best) ** 2).sum(axis=-1) + slack)


def told(work: Bowl, algorithm: PerturbedMinimiser, n: int, epsilon: float, delta: float) -> Instance:
    d, constants = work.domain.d, work.constants
    at = {
        "n": n, "d": d, "epsilon": epsilon, "delta": delta, "D": constants.diameter(2.0), "L": work.steepest,
        "omega": constants.extra["width"], "mu": work.modulus,
    }  # fmt: skip
    return Instance(algorithm, work, problem(work, epsilon, delta), n, {k: float(v) for k, v in at.items() if v})


def strong(
    *, lean: float, stretch: float, n: int, epsilon: float, delta: float = RARE, d: int = 4, L: float = 1.0,
    mu: float = 1e-3,
) -> Instance:  # fmt: skip
    """Algorithm 2 with its curvature in units of the domain, on a ball of diameter 1."""
    size, curvature = np.full(d, 1 / (2 * math.sqrt(d))), 4 * stretch * mu
    mean = np.full(d, lean * curvature / (2 * math.sqrt(d)))
    work = Bowl(size, mean, Ball(d, 0.5), 0.5, modulus=mu, curvature=curvature, steepest=L)
    return told(work, StronglyConvexObjectivePerturbation(lambda_rule="diam"), n, epsilon, delta)


FUNNELS = Family.of(mirrored=True, curvature=geometric(1 / 16, 1 / 16, 20, closed=False))
"""Curvatures 1/16, 1/256, …: the flattest are slopes over any distance that is run here."""


STEEP = Family.of(mirrored=True, curvature=geometric(1.0, 1 / 4, 8))
"""Curvatures from that of the class on, for runs of up to a few hundred steps."""


@dataclass(frozen=True)
class Funnel(BaseWorkload):
    """Huber's loss of |w - z|, of curvature c up to 1/c and slope 1 beyond, on all of R^d; z = e_1 ± e_1/(2c).

    Slope and curvature are at most 1 in every l_p norm; `steepest` is the L that the algorithm is told.
    """

    curvature: float
    d: int = 1
    steepest: float = 1.0

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.d,)

    @property
    def domain(self) -> None:  # type: ignore[override]
        """None: the whole space."""
        return None

    @property
    def constants(self) -> Constants:
        """No diameter bounds the domain; random points are drawn up to twice as far as the minimiser."""
        return Constants(
            d=self.d, diameter=lambda p: 4.0, lipschitz=lambda p: self.steepest, smoothness=lambda p: 1.0,
            moment=lambda k, m: 1.0, atoms=2, extra={"minimiser_norm": 1.0},
        )  # fmt: skip

    @property
    def best(self) -> Array:
        return np.eye(self.d)[0]

    @property
    def aside(self) -> Array:
        return np.asarray(self.best / (2 * self.curvature))

    def project(self, w: Array) -> Array:
        return np.asarray(w)

    def loss(self, w: Array, z: Array) -> Array:
        r, c = np.linalg.norm(w - z, axis=-1), self.curvature
        return np.asarray(np.where(c * r <= 1, c * r**2 / 2, r - 1 / (2 * c)))

    def gradient(self, w: Array, z: Array) -> Array:
        pull = self.curvature * (w - z)
        return np.asarray(pull / np.maximum(1.0, np.linalg.norm(pull, axis=-1, keepdims=True)))

    def excess_risk(self, w: Array) -> Array:
        """A bowl where both records are within 1/c."""
        gap, c = w - self.best, self.curvature
        far = (self.loss(gap, self.aside) + self.loss(gap, -self.aside)) / 2 - 1 / (8 * c)
        near = c * (np.linalg.norm(gap, axis=-1) + 1 / (2 * c)) <= 1
        return np.asarray(np.where(near, c / 2 * (gap**2).sum(axis=-1), far))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return self.best + np.where(rng.random((trials, n, 1)) < 0.5, self.aside, -self.aside)

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        """Counts of the two records."""
        ups = rng.binomial(n, 0.5, size=(trials, 1)).astype(float)
        return Sample(np.stack([self.best + self.aside, self.best - self.aside])[None], np.hstack([ups, n - ups]))


def funnel(algorithm: Algorithm[Any], work: Funnel, n: int, epsilon: float, delta: float, **known: float) -> Instance:
    at = {"n": n, "d": work.d, "epsilon": epsilon, "delta": delta, "L": work.steepest, **known}
    return Instance(algorithm, work, problem(work, epsilon, delta), n, {name: float(v) for name, v in at.items()})


def phased(
    *, n: int, epsilon: float, curvature: float, delta: float = RARE, d: int = 4, L: float = 1.0
) -> Instance:  # fmt: skip
    """Phased SGD at c = 1, so at a scale of L."""
    return funnel(PhasedSGD(scale=L), Funnel(curvature, d, L), n, epsilon, delta, theta=1.0, p=2.0)


def passes(one: Instance) -> list[Pull]:
    """Each phase of its own schedule: the average of a pass, exact within the bowl, and the noise."""
    work: Funnel = one.work
    found = []
    for phase in one.algorithm.schedule(one.problem, one.n).phases:
        keep, variance = averaged_descent(phase.eta * work.curvature, phase.records)
        found.append(Pull(keep, work.best, np.hypot(work.aside * math.sqrt(variance), phase.sigma)))
    return found


PASSES = Affine(passes, 4_000)


class FirstPass(PhasedSGD):
    """The first phase alone: no localisation."""

    def schedule(self, problem: Problem, n: int) -> Schedule[Pass]:
        whole = super().schedule(problem, n)
        return replace(whole, phases=whole.phases[:1], releases=whole.releases[:1])


def once(one: Instance) -> Instance:
    assert isinstance(one.algorithm, PhasedSGD)
    return one.running(FirstPass(scale=one.algorithm.scale))


def striding(one: Instance, power: float) -> Instance:
    """Steps too long by n^power."""
    assert isinstance(one.algorithm, PhasedSGD)
    return one.running(PhasedSGD(scale=one.algorithm.scale * one.n**power))


STRIDES: Mapping[str, Mutant] = {
    "no localisation": once,
    "η times n^(1/8)": functools.partial(striding, power=0.125),
    "η times n^(-1/8)": functools.partial(striding, power=-0.125),
}


def regularised(
    *, n: int, epsilon: float, curvature: float, delta: float = RARE, d: int = 1
) -> Instance:  # fmt: skip
    """Algorithm 3 with the dual exponent at p = 3/2."""
    algorithm = NoisyMirrorDescent(**CORRECTED)
    kappa = regularity(algorithm.p, d, "safe")
    return funnel(algorithm, Funnel(curvature, d), n, epsilon, delta, kappa=kappa)


def on_the_line(one: Instance) -> list[Pull]:
    """In one dimension the mirror map is the identity: an average of steps towards c z/(c + α), with weights a^t.

    A step keeps q = 1 - u of its start and the weights fall by r = 1 - v backwards; noise of s steps ago has the weight
    (q^(s+1) - r^(s+1))/(q - r) of W, the sum of the weights.
    """
    work: Funnel = one.work
    (row,) = one.algorithm.schedule(one.problem, one.n).phases
    total, T, c = row.distance + row.alpha, row.steps, work.curvature
    u, v = (c + row.alpha) / total, row.alpha / (row.distance + total)  # a - 1 itself is lost to rounding
    u *= 1 + 1e-5 * (abs(u - v) < 1e-5 * v)  # a removable singularity

    def left(x: float) -> float:
        return math.exp(T * math.log1p(-x)) if x < 1 else 0.0

    def power_sum(x: float) -> float:
        """Of (1 - x)^s, 1 <= s <= T."""
        return (1 - x) * (1 - left(x)) / x

    weights = power_sum(v) / (1 - v)
    keep = (1 - u) * (left(u) - left(v)) / ((v - u) * weights)
    squares = power_sum(u * (2 - u)) - 2 * power_sum(u + v - u * v) + power_sum(v * (2 - v))
    noise = row.sigma * math.sqrt(max(0.0, squares)) / (abs(v - u) * weights * total)
    towards = c / (c + row.alpha)
    spread = towards * (1 - keep) * work.aside / math.sqrt(one.n)
    return [Pull(keep, towards * work.best, np.hypot(spread, noise))]


ON_THE_LINE = Affine(on_the_line, 1_000)


def with_steps(one: Instance, change: Callable[[int], float]) -> Instance:
    chosen = one.algorithm
    assert isinstance(chosen, NoisyMirrorDescent)
    (row,) = chosen.schedule(one.problem, one.n).phases
    return one.running(replace(chosen, steps=round(change(row.steps))))


HORIZONS: Mapping[str, Mutant] = {
    "T^(2/3)": functools.partial(with_steps, change=lambda T: T ** (2 / 3)),
    "T/8": functools.partial(with_steps, change=lambda T: T / 8),
}
"""Longer runs and the last iterate are not told apart: the weight of Φ decides here, not the noise."""


SPIKES = Family.of(mirrored=True, chance=geometric(1.0, 1 / 4, 40))
"""Linear losses of second moment 1 whose records are not 0 with a chance of 1, 1/4, 1/16, …; a smooth loss would only
raise the threshold.
"""


@dataclass(frozen=True)
class Spikes(BaseWorkload):
    """f(w, z) = -z w_1 on the l_s ball of diameter 1, z = p^(-1/2) with chance p, else 0."""

    chance: float
    d: int = 1

    @functools.cached_property
    def domain(self) -> LpBall:
        return LpBall(self.d, 0.5, BatchedMirrorDescent().exponent_of_domain(self.d))

    @property
    def constants(self) -> Constants:
        return Constants(
            d=self.d, diameter=lambda p: 1.0, lipschitz=lambda p: math.inf, smoothness=lambda p: 0.0,
            moment=lambda k, m: 1.0, atoms=2, family="linear", extra={"deviation": 1.0, "minimiser_norm": 0.5},
        )  # fmt: skip

    @property
    def size(self) -> float:
        return self.chance**-0.5

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(-w[..., 0] * z[..., 0])

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(-z * np.eye(self.d)[0] + 0 * w)

    def excess_risk(self, w: Array) -> Array:
        return np.asarray((0.5 - w[..., 0]) * self.chance * self.size)

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return np.where(rng.random((trials, n, 1)) < self.chance, self.size, 0.0)

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        """Counts of the two records."""
        spikes = rng.binomial(n, self.chance, size=(trials, 1)).astype(float)
        return Sample(np.array([[[self.size], [0.0]]]), np.hstack([spikes, n - spikes]))


@functools.lru_cache(maxsize=64)
def truncation(algorithm: TruncatedMirrorDescent, n: int, epsilon: float, delta: float, d: int) -> Truncation:
    """The same for all spikes; a plan has a release for every batch."""
    return algorithm.schedule(problem(Spikes(1.0, d), epsilon, delta), n).phases[0]


def spiked(
    *, n: int, epsilon: float, chance: float, delta: float = RARE, d: int = 1, shuffled: bool = False
) -> Instance:  # fmt: skip
    """Truncated mirror descent at p = 3/2 and its own noise, in batches or shuffled."""
    work = Spikes(chance, d)
    algorithm: TruncatedMirrorDescent = ShuffledMirrorDescent(**CORRECTED) if shuffled else BatchedMirrorDescent()
    row = truncation(algorithm, n, epsilon, delta, d)
    noise = d * row.sigma**2 / (row.batch if shuffled else 1)
    at = {
        "n": n, "d": d, "epsilon": epsilon, "delta": delta, "D": 1.0, "kappa": regularity(1.5, d, "safe"), "H": 0.0,
        "T": row.steps, "b": row.batch, "A": row.level, "C": noise, "sigma": 1.0, "theta": 0.5,
    }  # fmt: skip
    return Instance(algorithm, work, problem(work, epsilon, delta), n, {name: float(v) for name, v in at.items()})


def walk(one: Instance) -> Steps:
    """On the line the dual is the point itself; what is zeroed has no drift."""
    work: Spikes = one.work
    assert isinstance(one.algorithm, TruncatedMirrorDescent)
    row = truncation(one.algorithm, one.n, one.at["epsilon"], one.at["delta"], work.d)
    seen = work.chance if work.size <= row.level else 0.0
    noise = row.sigma / math.sqrt(row.batch if isinstance(one.algorithm, ShuffledMirrorDescent) else 1)
    spread = math.hypot(noise, work.size * math.sqrt(seen * (1 - seen) / row.batch))
    return Steps(seen * work.size / row.gamma, spread / row.gamma, row.steps)


WALK = Walk(walk)


def truncated(one: Instance, steps: float, threshold: float) -> Instance:
    """T and λ times powers of n."""
    chosen = one.algorithm
    assert isinstance(chosen, TruncatedMirrorDescent)
    T, level = chosen.parameters(one.problem, one.n)
    return one.running(replace(chosen, steps=round(T * one.n**steps), threshold=level * one.n**threshold))


WIDER: Mapping[str, Mutant] = {"λ times n^(1/8)": functools.partial(truncated, steps=0.0, threshold=0.125)}
LONGER = {**WIDER, "T times n^(1/8)": functools.partial(truncated, steps=0.125, threshold=0.0)}
SHORTER = {**WIDER, "T times n^(-1/16)": functools.partial(truncated, steps=-0.0625, threshold=0.0)}
