"""Instances of this paper's algorithms whose rates are measured, engines for many dimensions, and wrong schedules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy

from dpcheck import seeds
from dpcheck.algorithms.pure_heavy_tails import PopLocalize
from dpcheck.algorithms.pure_heavy_tails.baseline import NoisyClippedSubgradient
from dpcheck.algorithms.pure_heavy_tails.erm import PrivateErm
from dpcheck.algorithms.pure_heavy_tails.exponential import net_size
from dpcheck.algorithms.pure_heavy_tails.localize import LocalizedOutputPert, geometric_aggregation
from dpcheck.checks import by_size, together
from dpcheck.harness.scaling import Axis, Family, Instance, Risk, geometric
from dpcheck.harness.scaling.engines import statistic
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.interfaces import Array, Constants, Problem, Rng
from dpcheck.workloads.amplitudes import Spike
from dpcheck.workloads.linear import RareSpikes, SparseDirection
from dpcheck.workloads.radial import RadialHeavyTail

from .cases import BLOCKS, DELTA, practical, problem

LITTLE = together("k epsilon", (2.0, 2.0**-16), (4.0, 2.0**-30))
"""Budgets at which privacy costs most, by far, from n = 2^52 on."""
SPIKES = Family.of(mirrored=True, p=geometric(0.999, 1 / 16, 13), theta=geometric(1.0, 1 / 16, 8))
"""Rare spikes with G_k = 1, their chance and their imbalance: neither n nor the algorithm enters."""
FEW = Family.of(mirrored=True, p=geometric(0.999, 1 / 256, 7), theta=geometric(1.0, 1 / 16, 8))
"""Fewer of them, for many blocks."""
FREQUENT = Family.of(mirrored=True, p=geometric(0.999, 1 / 16, 4), theta=geometric(1.0, 1 / 4, 16))
"""The same with fewer chances and more imbalances, for the term that privacy has no part in."""
AWAY = Axis((*(0.5 / 4**i for i in range(6)), 1e-9), closed=(True, True))
"""From the boundary to the start itself: both are ends of the class."""
CONES = Family.of(mirrored=True, p=geometric(0.999, 1 / 64, 7), distance=AWAY)
"""Weights with G_k = 1 on the distance to a point, by their chance and by how far from the start it lies."""


def spikes(*, n: int, epsilon: float, p: float, theta: float, k: float, solver: str) -> Instance:
    """The localised algorithm on one member, and the symbols of the bound on all of the class, where G_2 <= G_k."""
    work = RareSpikes(D=1.0, k=k, G=1.0, p=p, theta=theta)
    return Instance(practical(k, solver), work, problem(work, epsilon), n, symbols(n, epsilon, k, 1))


def symbols(n: int, epsilon: float, k: float, d: int) -> dict[str, float]:
    """Of the order of the risk, on a class with D = G_k = 1."""
    return {"n": n, "epsilon": epsilon, "k": k, "G_k": 1.0, "G_2": 1.0, "D": 1.0, "d": d, "beta": DELTA}


def as_proved(*, n: int, epsilon: float, p: float, theta: float, k: float) -> Instance:
    """The printed algorithm with every constant that is proved, on a member."""
    work = RareSpikes(D=1.0, k=k, G=1.0, p=p, theta=theta)
    algorithm, told = LocalizedOutputPert(k=k), problem(work, epsilon)
    blocks = algorithm.outer().repetitions(told, n)
    return Instance(algorithm, work, told, n, {**symbols(n, epsilon, k, 1), "G_1": 1.0, "J": blocks})


@dataclass(frozen=True)
class Cone(RadialHeavyTail):
    """z |w - b|, b = distance e_1, with one positive weight z: samples are counts of two atoms, whatever n is."""

    @property
    def constants(self) -> Constants:
        return replace(super().constants, atoms=2)

    @classmethod
    def of(cls, d: int, k: float, p: float, distance: float) -> Cone:
        return cls(b=tuple(distance * np.eye(d)[0]), D=1.0, weights=Spike.of_moment(1.0, k, p))


def cones(*, n: int, d: int, epsilon: float, p: float, distance: float, k: float) -> Instance:
    """The localised algorithm on a cone."""
    work = Cone.of(int(d), k, p, distance)
    return Instance(practical(k, "double"), work, problem(work, epsilon), n, symbols(n, epsilon, k, int(d)))


@dataclass(frozen=True)
class Axial:
    """The risk of localised output perturbation on a `Cone` in d dimensions, from as many as it has blocks and two.

    All but the noise lies in the plane of b and the centre, and isotropic noise looks alike from every side: of J
    normal vectors in the d - 2 other dimensions only the triangle of their coordinates along each other matters, whose
    diagonal is chi. The second stage of Algorithm 4 is run over W: its ball W_0 has a radius of 50 d scales of the
    noise, which two lengths of law Gamma(d) exceed with a probability far below any that is measured.
    """

    trials: int
    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        work: Cone = instance.work
        trials, d = max(100, self.trials // 8) if pilot else self.trials, work.constants.d
        rng = seeds.stream(seed, "axial", *key, pilot)
        distance, radius = float(np.linalg.norm(work.b)), work.D / 2
        w = np.zeros((trials, 2))  # along b, and across
        for stage in instance.algorithm.schedule(instance.problem, instance.n).phases:
            if stage.stage != "point":
                continue
            J = stage.blocks
            seen = rng.binomial(stage.records, work.weights.p, size=(trials, J, 1)) / stage.records
            away = w - (distance, 0.0)
            length = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-300)
            kept = np.maximum(0.0, 1 - seen * min(work.weights.size, stage.C) / (stage.lambda_ * length[:, None]))
            points = stage.noise * isotropic(rng, trials, J, d)
            points[..., :2] += (distance, 0.0) + kept * away[:, None]
            points /= np.maximum(1.0, np.linalg.norm(points, axis=-1, keepdims=True) / radius)
            chosen = geometric_aggregation(points)
            w = np.stack([chosen[:, 0], np.linalg.norm(chosen[:, 1:], axis=1)], axis=1)
        return statistic(work.weights.moment(1) * np.linalg.norm(w - (distance, 0.0), axis=1), self.quantile)


def isotropic(rng: Rng, trials: int, J: int, d: int) -> Array:
    """J vectors of a uniform direction and a Gamma(d) length in d >= J + 2 dimensions, turned into the first J + 2."""
    triangle = np.tril(rng.standard_normal((trials, J, J)), -1)
    triangle[:, range(J), range(J)] = np.sqrt(rng.chisquare(d - 2 - np.arange(J), size=(trials, J)))
    vectors = np.concatenate([rng.standard_normal((trials, J, 2)), triangle], axis=2)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    return np.asarray(vectors * rng.gamma(d, size=(trials, J, 1)))


def first_phase(one: Instance) -> Instance:
    """Without localisation."""
    return one.running(replace(outer(one), resolution=1e12))


def quarter_power(one: Instance) -> Instance:
    """A cap with a quarter of the printed exponent."""
    G_k = one.at["G_k"]
    return recapped(one, lambda cap: G_k * (cap / G_k) ** 0.25)


def no_dimension(one: Instance) -> Instance:
    """A cap that does not fall in d."""
    return recapped(one, lambda cap: cap * one.at["d"] ** (1 / one.at["k"]))


def recapped(one: Instance, rule: Callable[[float], float]) -> Instance:
    chosen = outer(one)
    erm = chosen if isinstance(chosen, PrivateErm) else chosen.erm

    class Recapped(type(erm)):  # type: ignore[misc]
        def cap(self, problem: Problem, m: int) -> float:
            return rule(super().cap(problem, m))

    changed = Recapped(**{each.name: getattr(erm, each.name) for each in fields(erm)})
    return one.running(changed if erm is chosen else replace(chosen, erm=changed))


def heavy_weights(one: Instance) -> Instance:
    """λ_1 too large by n^(1/8)."""
    return reweighted(one, one.n**0.125)


def heavy_in_d(one: Instance) -> Instance:
    """λ_1 too large by d^(1/4). One that is too small is not told apart: localisation repairs it."""
    return reweighted(one, one.at["d"] ** 0.25)


def heavy_in_budget(one: Instance) -> Instance:
    """λ_1 too large by (nε)^(1/4)."""
    return reweighted(one, (one.n * one.at["epsilon"]) ** 0.25)


def reweighted(one: Instance, factor: float) -> Instance:
    chosen = outer(one)
    records = one.n // 2 // chosen.repetitions(one.problem, one.n)
    return one.running(replace(chosen, lambda_1=chosen.first_weight(one.problem, records) * factor))


def outer(one: Instance) -> Any:
    """Algorithm 1 of an instance."""
    return one.algorithm.outer() if isinstance(one.algorithm, LocalizedOutputPert) else one.algorithm


WRONG: Mapping[str, Mutant] = {
    "the first phase alone": first_phase,
    "a cap of a quarter of the exponent": quarter_power,
}
WRONG_IN_D: Mapping[str, Mutant] = {
    "the first phase alone": first_phase,
    "a cap without d": no_dimension,
    "λ_1 times d^(1/4)": heavy_in_d,
}


# The baseline --------------------------------------------------------------------------------------------------------

SLOPES = Family.of(mirrored=True, p=geometric(0.999, 1 / 16, 6))
"""Linear losses, one spike in one direction with G_k = 1: steep ones are frequent."""


def slopes(*, n: int, d: int, epsilon: float, p: float, k: float) -> Instance:
    """Noisy clipped subgradient descent on one of them."""
    work = SparseDirection(nu=tuple(np.eye(int(d))[0]), D=1.0, k=k, G=1.0, p=p)
    return Instance(
        NoisyClippedSubgradient(k=k), work, problem(work, epsilon), int(n), symbols(int(n), epsilon, k, int(d))
    )


@dataclass(frozen=True)
class Straight:
    """The risk of noisy descent on `slopes`: all that it depends on is how far w is along them, and how far across."""

    trials: int
    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        work, trials = instance.work, max(100, self.trials // 8) if pilot else self.trials
        rng, d = seeds.stream(seed, "straight", *key, pilot), work.constants.d
        (steps,) = instance.algorithm.schedule(instance.problem, instance.n).phases
        spikes = rng.binomial(instance.n, work.p, size=trials) / instance.n
        drift = steps.eta * spikes * min(steps.C, float(work.atoms.max()))
        along, across, total = np.zeros(trials), np.zeros(trials), np.zeros(trials)
        for _ in range(0, steps.T, AT_ONCE):
            for one, other, rest in zip(*_noise(rng, (min(AT_ONCE, steps.T), trials), d, steps), strict=True):
                along += one - drift
                across = np.sqrt((across + other) ** 2 + rest)
                shrink = np.maximum(1.0, np.sqrt(along**2 + across**2) / (work.D / 2))
                along /= shrink
                across /= shrink
                total += along
        return statistic(np.linalg.norm(work.mean) * (total / steps.T + work.D / 2), self.quantile)


AT_ONCE = 256
"""Steps whose noise is drawn together; numbers of steps are multiples of it, or smaller."""


def _noise(rng: Rng, shape: tuple[int, int], d: int, steps: Any) -> tuple[Array, Array, Array]:
    """Of steps in d dimensions: along the slope, along what is across, and the square of the rest."""
    if d == 1:
        zero = np.zeros(shape)
        return steps.eta * rng.laplace(scale=steps.noise, size=shape), zero, zero
    one, other, rest = rng.standard_normal(shape), rng.standard_normal(shape), rng.chisquare(max(d - 2, 1e-9), shape)
    length = steps.eta * steps.noise * rng.gamma(d, size=shape) / np.sqrt(one**2 + other**2 + rest)
    return one * length, other * length, rest * length**2


def steep_cap(one: Instance) -> Instance:
    """The cap of Theorem 3.1, with the exponent 1/k."""
    return one.running(replace(one.algorithm, C=_share(one) ** (1 / one.at["k"])))  # type: ignore[type-var]


def few_steps(one: Instance) -> Instance:
    """√T steps."""
    return one.running(replace(one.algorithm, T=round(_share(one) ** 0.5)))  # type: ignore[type-var]


def _share(one: Instance) -> float:
    return one.n * one.at["epsilon"] / one.at["d"]


WRONG_DESCENT: Mapping[str, Mutant] = {"C with the exponent 1/k": steep_cap, "√T steps": few_steps}


# Solvers on a line


@dataclass(frozen=True)
class OnTheLine:
    """The risk of Algorithm 1 on rare spikes, by the law of a solver's answer to the slope of a block's clipped losses.

    Attributes:
        answer: (stages of the block, slopes, their centre, generator) -> points, (trials, J).
    """

    answer: Callable[[Sequence[Any], Array, Array, Rng], Array]
    trials: int
    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        work, trials = instance.work, max(100, self.trials // 8) if pilot else self.trials
        rng = seeds.stream(seed, "on the line", *key, pilot)
        w = np.zeros((trials, 1))
        rows = instance.algorithm.schedule(instance.problem, instance.n).phases
        for _, stages in itertools.groupby(rows, key=lambda row: row.t):
            (*_, last) = found = list(stages)
            counts = rng.multinomial(last.records, work.probabilities, size=(trials, last.blocks))
            slope = counts @ np.clip(work.atoms[:, 0], -last.C, last.C) / last.records
            w = aggregated(self.answer(found, slope, w, rng))[:, None]
        return statistic(np.asarray(work.excess_risk(w)), self.quantile)


def aggregated(points: Array) -> Array:
    """`geometric_aggregation` of (trials, J) numbers, by windows of a majority of them in order."""
    order, half = points.argsort(axis=1), points.shape[1] // 2
    x = np.take_along_axis(points, order, axis=1)
    radius, starts = np.full_like(x, np.inf), x.shape[1] - half
    for place in range(half + 1):
        centre = slice(place, place + starts)
        reach = np.maximum(x[:, centre] - x[:, :starts], x[:, half:] - x[:, centre])
        radius[:, centre] = np.minimum(radius[:, centre], reach)
    first = np.where(radius == radius.min(axis=1, keepdims=True), order, order.shape[1]).min(axis=1)  # often two tie
    return np.asarray(points[np.arange(len(points)), first])


def perturbed(stages: Sequence[Any], slope: Array, centre: Array, rng: Rng) -> Array:
    """Output perturbation on [-1/2, 1/2], in one stage or in the two of Algorithm 4."""
    (*first, last) = stages
    best, low, high = np.clip(centre - slope / last.lambda_, -0.5, 0.5), np.full_like(slope, -0.5), 0.5
    for stage in first:
        middle = np.clip(best + rng.laplace(scale=stage.noise, size=slope.shape), -0.5, 0.5)
        low, high = np.maximum(middle - stage.radius, -0.5), np.minimum(middle + stage.radius, 0.5)
    noisy = np.clip(best, low, high) + rng.laplace(scale=last.noise, size=slope.shape)
    return np.asarray(np.clip(noisy, low, high))


PERTURBED = by_size(OnTheLine(perturbed, 3000, 1 - DELTA), OnTheLine(perturbed, 5000, 1 - DELTA))


def on_a_net(stages: Sequence[Any], slope: Array, centre: Array, rng: Rng) -> Array:
    """EM-PGM on [-1/2, 1/2], smoothed or not, by geometric laws.

    The score is λ times the distance to the minimiser of the linear loss and its ridge, also where that lies beyond an
    end; but next to that end, where the gradient step leaves the interval, it is the distance to the end over γ.
    """
    (stage,) = stages
    count = net_size(1.0, stage.radius, 1)
    step = 1 / (count - 1)
    far = centre - slope / stage.lambda_
    side, slow, fast = (
        np.where(far > 0, -1.0, 1.0),
        stage.lambda_ * step / stage.noise,
        step / (stage.step * stage.noise),
    )
    place = (side * far + 0.5) / step  # of the minimiser, in steps from the end that it is nearer to
    below = np.maximum(np.floor(place), -1.0)
    beyond = np.maximum(-place, 0.0)
    # Points 0 to `below` fall off to the end; without them there are points next to the end, and then the rest.
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.clip(np.ceil(beyond * slow / np.maximum(fast - slow, 0.0)), 1.0, count)
    first = np.where(place >= 0, below + 1, near)
    inner = np.exp(np.where(place >= 0, -slow * (place - below), 0.0)) * _sum(np.where(place >= 0, slow, fast), first)
    outer = np.exp(-slow * (first - place)) * _sum(slow, count - first)
    inside = rng.random(place.shape) * (inner + outer) < inner
    jump = _geometric(rng, np.where(inside & (place < 0), fast, slow), np.where(inside, first, count - first))
    chosen = np.where(inside, np.where(place >= 0, below - jump, jump), first + jump)
    return np.asarray(side * (chosen * step - 0.5))


def _sum(rate: Array | float, terms: Array) -> Array:
    """The sum of e^(-rate j) over so many j from 0 on."""
    return np.asarray(np.expm1(-rate * terms) / np.expm1(-rate))


def _geometric(rng: Rng, rate: Array, terms: Array) -> Array:
    """One of so many j from 0 on, each of weight e^(-rate j)."""
    return np.asarray(np.floor(-np.log1p(rng.random(terms.shape) * np.expm1(-rate * terms)) / rate))


def in_a_ball(stages: Sequence[Any], slope: Array, centre: Array, rng: Rng) -> Array:
    """Algorithm 7 on [-1/2, 1/2]: the noise of Algorithm 2, then a normal law cut off at the ends of its ball."""
    first, second = stages
    noisy = np.clip(centre - slope / first.lambda_, -0.5, 0.5) + rng.laplace(scale=first.noise, size=slope.shape)
    middle = np.clip(noisy, -0.5, 0.5)
    low, high = np.maximum(middle - first.radius, -0.5), np.minimum(middle + first.radius, 0.5)
    best, deviation = centre - slope / second.lambda_, np.sqrt(second.noise / second.lambda_)
    a, b = (low - best) / deviation, (high - best) / deviation
    turned = a + b < 0  # so that what is left of the law lies in its upper tail
    a, b = np.where(turned, -b, a), np.where(turned, -a, b)
    share = rng.random(slope.shape)
    tail = np.logaddexp(np.log(share) + scipy.special.log_ndtr(-a), np.log1p(-share) + scipy.special.log_ndtr(-b))
    normal = -scipy.special.ndtri_exp(tail)
    return np.asarray(np.clip(best + deviation * np.where(turned, -normal, normal), low, high))


def selections(
    *, n: int, epsilon: float, p: float, theta: float, k: float, erm: PrivateErm, resolution: float
) -> Instance:
    """Algorithm 1 around such a solver on rare spikes; linear losses have the smoothness H = 0."""
    work = RareSpikes(D=1.0, k=k, G=1.0, p=p, theta=theta)
    algorithm = PopLocalize(erm=erm, blocks=BLOCKS, c_erm=1.0, resolution=resolution)
    told = problem(work, epsilon)
    weights = [weight for _, _, _, weight, _ in algorithm.phases(told, n)]
    at = {**symbols(n, epsilon, k, 1), "H": 0.0, "lambda_max": weights[-1], "tau": work.D / n**0.5}
    return Instance(algorithm, work, told, n, at)


NETS = by_size(OnTheLine(on_a_net, 1200, 1 - DELTA), OnTheLine(on_a_net, 4000, 1 - DELTA))
WRONG_WEIGHTS: Mapping[str, Mutant] = {"the first phase alone": first_phase, "λ_1 times (nε)^(1/4)": heavy_in_budget}
