"""Instances, families whose rates are measured and wrong schedules, and what the checks of theorems do with them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.accounting import account
from dpcheck.algorithms.lp_spaces import (
    ApproximateObjectivePerturbation,
    BatchedMirrorDescent,
    ShuffledMirrorDescent,
    StronglyConvexObjectivePerturbation,
)
from dpcheck.algorithms.lp_spaces.objective import AlphaRule, Perturbation, PerturbedMinimiser
from dpcheck.algorithms.lp_spaces.regular import kappa as regularity
from dpcheck.algorithms.lp_spaces.truncated import TruncatedMirrorDescent, Truncation
from dpcheck.checks import Context
from dpcheck.claims import evaluate
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import explicit_of, unassumed
from dpcheck.geometry import Ball, Box, Domain, Interval, L1Ball, LpBall
from dpcheck.harness.data_free import told_apart
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.relations import judged
from dpcheck.harness.risk import excess_risks, expectation
from dpcheck.harness.scaling import (
    Axis,
    Drawn,
    Family,
    Instance,
    Series,
    Steps,
    Walk,
    geometric,
    rate,
)
from dpcheck.harness.scaling.engines import statistic
from dpcheck.harness.scaling.rows import Cell, Mutant
from dpcheck.harness.scaling.slopes import KEPT, MARGIN
from dpcheck.harness.symbolic import proved, where_proved
from dpcheck.interfaces import Algorithm, Array, Constants, Problem, Rng, Sample
from dpcheck.privacy import ApproxDP
from dpcheck.symbols import L, delta, epsilon
from dpcheck.verdicts import Verdict, consistent, refuted, undecided
from dpcheck.witnesses import verifier as verifier_of
from dpcheck.workloads import CoordinateHuber, HeavyCoordinates, LinearMean, signs_on
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.short_cone import ShortCone
from dpcheck.workloads.signs import CurvedMean

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
    by_name: dict[str, Any] = {}
    for each in claim(label).assumptions:
        edge, free = (each.lts, each.gts) if each.gts.is_Symbol else (each.gts, each.lts)
        value = edge.subs({symbol: at[symbol.name] for symbol in edge.free_symbols})
        by_name[free.name] = max(value, by_name.get(free.name, value))
    return by_name


def log_over(label: str, numerator: str) -> sp.Rational:
    """Just below log(numerator/delta) at the largest delta that a claim allows; at nearly `numerator` without any."""
    most = largest(label, delta, sp.Rational(numerator) * sp.Rational(999, 1000))
    return sp.Rational(math.floor(1000 * math.log(sp.Rational(numerator) / most)), 1000)


def huber(dimension: int, size: float = 0.3) -> CoordinateHuber:
    return CoordinateHuber(np.full(dimension, size))


def heavy(dimension: int, p: float = 1.5, smoothness: float = 0.05, radius: float = 1.0) -> HeavyCoordinates:
    centre = np.full(dimension, 0.5 * radius * dimension ** (-1 / p))
    return HeavyCoordinates(centre, radius=radius, s=p, smoothness=smoothness)


def certified(plan: Any, claim: ApproxDP, what: str) -> Verdict:
    """HOLDS when the accountant certifies the claim at the schedule's own sensitivities."""
    value = account(plan).epsilon(claim.delta)
    said = f"{what}: epsilon at delta = {claim.delta:g} is at most {value:.4g}, claimed {claim.epsilon:g}"
    numbers = {"epsilon": value, "claimed": claim.epsilon}
    return judged(value, "<=", claim.epsilon * (1 + 1e-9), said, "certificate", numbers=numbers, otherwise=undecided)


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


def told(work: CurvedMean, algorithm: PerturbedMinimiser, n: int, epsilon: float, delta: float) -> Instance:
    d, constants = work.domain.d, work.constants
    at = {
        "n": n, "d": d, "epsilon": epsilon, "delta": delta, "D": constants.diameter(2.0), "L": work.steepest,
        "omega": constants.extra["width"], "mu": work.modulus,
    }  # fmt: skip
    return Instance(algorithm, work, problem(work, epsilon, delta), n, {k: float(v) for k, v in at.items() if v})


FUNNELS = Family.of(mirrored=True, curvature=geometric(1 / 16, 1 / 16, 20, closed=False))
"""Curvatures 1/16, 1/256, …: the flattest are slopes over any distance that is run here."""


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


def body(name: str, d: int) -> Domain:
    """A symmetric body of diameter 1."""
    if name == "l1 ball":
        return L1Ball(d, 0.5)
    return Ball(d, 0.5) if name == "l2 ball" else Box(-0.5 / math.sqrt(d), 0.5 / math.sqrt(d), d)


def linear(domain: Domain, shift: float = 0.5) -> LinearMean:
    """Linear losses with |x|_2 = 1 on a set of diameter 1."""
    return LinearMean(*signs_on(domain, 1.0, shift), domain, 0.5)


def enough(context: Context, limit: float, bound: float, d: int) -> int:
    """Trials that a bet below `limit` takes to certify `bound` when the risk is far below it, within 2e7 numbers."""
    wanted = 3 * math.log(1 / context.failure_probability) * limit / bound
    return max(100, min(math.ceil(wanted), 20_000_000 // d))


HALVED_AND_TRIPLED = {"loss": 0.5, "L": 1 / 6, "D": 3.0, "R": 3.0, "omega": 3.0}
"""Losses halved on domains three times as large."""


FREE = 1e18
"""Gradients of these workloads are read as one mean: their number costs nothing."""


def at_size(n: int, epsilon: float, delta: float) -> ShortCone:
    """Tail 30 sqrt n and the radius that the second noise of the printed accuracy passes with ease.

    The radius solves 2 radius = 0.8 sigma_2 sqrt(tail), the width being a function of the radius.
    """
    tail = math.ceil(30 * math.sqrt(n))
    ratio = math.sqrt(math.log(2.5 / delta) / math.log(1 / delta))
    radius = 0.1
    for _ in range(60):
        D = math.sqrt(1 + 4 * radius**2)
        reached = 0.4 * 8 * D**2 * ratio * math.sqrt(tail) / (ShortCone(tail, radius).width * math.sqrt(n))
        radius = math.sqrt(radius * min(1.0, reached))
    return ShortCone(tail, radius)


SLOPES = Family.of(mirrored=True, lean=geometric(1.0, 1 / 4, 28))
"""Linear losses whose mean gradient is 1, 1/4, 1/16, … of the largest: neither n nor the algorithm."""


CURVATURES = Axis((*(32.0**-j for j in range(5)), 0.0), (True, True))


BOWLS = Family.of(mirrored=True, lean=geometric(1.0, 1 / 4, 12), curvature=CURVATURES)
"""The same on bowls of curvature L/D, L/(32 D), …, and without curvature."""


MEANS = Drawn(4_000)
"""A run reads the mean of its records, so that their number costs nothing."""


def leaning(
    *, lean: float, n: int, epsilon: float, curvature: float = 0.0, delta: float = RARE, d: int = 4, L: float = 1.0,
    alpha_rule: AlphaRule = "fixed",
) -> Instance:  # fmt: skip
    """Algorithm 1 on a ball of diameter 1; the mean is along a diagonal.

    Losses are 1-Lipschitz, and so in the class of every L >= 1: a unit of loss would scale all outputs alike.
    """
    size = np.full(d, 1 / (2 * math.sqrt(d)))
    work = CurvedMean(size, lean * size, Ball(d, 0.5), 0.5, curvature=curvature, steepest=L)
    return told(work, ApproximateObjectivePerturbation(alpha_rule=alpha_rule), n, epsilon, delta)


@dataclass(frozen=True)
class Pulled(StronglyConvexObjectivePerturbation):
    """Algorithm 2 with another λ."""

    pull: float = 0.0

    def plan(self, problem: Problem, n: int) -> tuple[Perturbation, float]:
        row, jacobian = super().plan(problem, n)
        return replace(row, lambda_=self.pull), jacobian


def louder(one: Instance) -> Instance:
    """Both noises too large by n^(1/8)."""
    assert isinstance(one.algorithm, PerturbedMinimiser)
    return one.running(replace(one.algorithm, noise_dial=one.n**0.125))


def pulled(one: Instance, power: float) -> Instance:
    """λ = L/(D n^power)."""
    lambda_ = one.at["L"] / (one.at["D"] * one.n**power)
    if isinstance(one.algorithm, StronglyConvexObjectivePerturbation):
        return one.running(Pulled(lambda_rule="diam", pull=lambda_))
    assert isinstance(one.algorithm, ApproximateObjectivePerturbation)
    return one.running(replace(one.algorithm, lambda_=lambda_))


def printed_accuracy(one: Instance) -> Instance:
    """α with the printed exponents, the second noise with it."""
    assert isinstance(one.algorithm, ApproximateObjectivePerturbation)
    return one.running(replace(one.algorithm, alpha_rule="paper"))


WHERE_NOISE_LEADS: Mapping[str, Mutant] = {
    "noise times n^(1/8)": louder,
    "λ that does not fall": functools.partial(pulled, power=0.0),
}
"""λ times n^(1/8) and the printed α are not told apart there: both stay below the noise."""


WHERE_RECORDS_LEAD: Mapping[str, Mutant] = {
    "λ times n^(1/8)": functools.partial(pulled, power=0.375),
    "the printed α": printed_accuracy,
}


def largest_excess(work: Any) -> float:
    """Of mean estimation: what no point of a set of diameter 1 around 0 exceeds."""
    return (0.5 + float(np.linalg.norm(work.mean))) ** 2 / 2


def below(
    context: Context, algorithm: Algorithm[Any], work: Any, n: int, bound: float, limit: float, trials: int,
    *, told: Problem, series: str = "",
) -> Verdict:  # fmt: skip
    """Mean excess of drawn runs against a bound, which the start has to break."""
    key = (context.seed, context.name, dict(context.cell))
    values = excess_risks(algorithm, work, told, n, trials, *key, gradients=FREE)
    verdict = expectation(values, bound, context.failure_probability, limit=limit, x=n, series=series)
    return told_apart(verdict, work, bound)


def on_the_cone(context: Context, n: int, order: sp.Expr) -> dict[str, float]:
    """Algorithm 1 as printed on the cone for that n, with an exact minimiser for its optimiser."""
    work, algorithm = at_size(n, 0.9, DELTA), ApproximateObjectivePerturbation()
    key = (context.seed, context.name, n)
    values = excess_risks(algorithm, work, problem(work, 0.9), n, context.scale(8, 20), *key, gradients=FREE)
    at = {"L": 1.0, "D": work.constants.diameter(2.0), "omega": work.width, "n": n, "epsilon": 0.9, "delta": DELTA}
    risk = statistic(values, None)
    return {"risk": risk.value, "error": risk.error, "degrees": risk.degrees, "bound": float(evaluate(order, at))}


@dataclass(frozen=True)
class LikeTheOrder:
    """A `conclude`: refuted where R over the order rises in a variable."""

    variable: str

    def __call__(self, rows: Sequence[tuple[Cell, Mapping[str, float]]], failure_probability: float) -> Verdict:
        columns = (np.array([each[name] for _, each in rows]) for name in ("risk", "error", "degrees", "bound"))
        at = np.array([float(cell[self.variable]) for cell, _ in rows])
        fitted = rate(Series(self.variable, at, *columns), failure_probability)
        slope = f"{self.variable}^({fitted.slope:.3f} ± {fitted.half:.3f})"
        said = f"{fitted.word}: R over the order goes as {slope}, and is {fitted.ratios[-1]:.3g} at the end"
        fields: dict[str, Any] = {
            "failure_probability": failure_probability,
            "numbers": {"slope": fitted.slope, "half-width": fitted.half},
            "severity": fitted.slope,
        }
        if fitted.word in KEPT:
            notices = f"a ratio rising faster than {self.variable}^{MARGIN:g}"
            return consistent(said, "sampled", notices=notices, **fields)
        return (refuted if fitted.word == "shallower" else undecided)(said, "sampled", **fields)


def interval(width: float = 200.0) -> object:
    return linear(Interval(-width / 2, width / 2))
