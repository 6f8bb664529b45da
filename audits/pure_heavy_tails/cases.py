"""Instances, families whose rates are measured and wrong schedules, and what the checks of theorems do with them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy

from dpcheck import seeds
from dpcheck.accounting import account
from dpcheck.algorithms.pure_heavy_tails import EMPGM, PopLocalize, SmoothedEMPGM
from dpcheck.algorithms.pure_heavy_tails.baseline import NoisyClippedSubgradient
from dpcheck.algorithms.pure_heavy_tails.erm import PrivateErm
from dpcheck.algorithms.pure_heavy_tails.exponential import net_size
from dpcheck.algorithms.pure_heavy_tails.localize import LocalizedOutputPert
from dpcheck.checks import Context, by_size, together
from dpcheck.engine.statements import bound_of
from dpcheck.harness import risk
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Family, Instance, Risk, geometric
from dpcheck.harness.scaling.engines import statistic
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.selection import Pair
from dpcheck.interfaces import Algorithm, Array, Problem, Rng
from dpcheck.privacy import PureDP
from dpcheck.solvers import Pushed, certified
from dpcheck.verdicts import Outcome, Verdict, combine, holds, refuted, undecided
from dpcheck.workloads.linear import RareSpikes, SparseDirection

BLOCKS = 9
"""J for experiments: as private as the proved J, without a certified risk."""

DELTA = 0.1
"""Failure probability of the accuracy statements (the paper's delta)."""

SOLVERS: dict[str, Any] = {"exact": certified, "worst legal": Pushed()}
"""The exact minimiser, and the legal one that is farthest from it."""


SPIKED = RareSpikes(D=2.0)
"""What runs are counted on."""


def largest(work: Any) -> float:
    """A number that no excess risk exceeds: on an interval the larger one of its ends, by convexity; else D G_1."""
    D = work.constants.diameter(2.0)
    if work.constants.d > 1:
        return float(D * work.constants.moment(1.0, 1))
    ends = work.project(np.array([[-D], [D]]))
    return float(work.excess_risk(ends).max())


def practical(k: float, solver: str) -> LocalizedOutputPert:
    """Localised output perturbation with few blocks and the scaling of lambda_1 without its constant."""
    return LocalizedOutputPert(k=k, solver=solver, blocks=BLOCKS, c_erm=1.0)  # type: ignore[arg-type]


def problem(workload: Any, epsilon: float, delta: float = DELTA) -> Problem:
    return Problem.of(workload, PureDP(epsilon), failure_probability=delta)


def opposite_spikes(m: int, spike: float, place: int = 0) -> tuple[Array, Array]:
    """The closed-form worst pair for linear losses on an interval, (1, m, 1): a record goes from +spike to -spike."""
    data = np.zeros((1, m, 1))
    data[0, place] = spike
    neighbour = data.copy()
    neighbour[0, place] = -spike
    return data, neighbour


COUNTS = 1e30
"""Records of these workloads are counts of three atoms: their number costs nothing."""

ROUNDING = 1e-9
"""Relative rounding that a measured risk may have above the largest of its member."""

Members = Callable[[int, float], Iterable[RareSpikes]]


def coarse(n: int, k: float) -> list[RareSpikes]:
    """Nine members, p = 0.999, 1/256, 2^-16 and theta = 1, 1/16, 1/256: for what takes hundreds of blocks a phase."""
    return [RareSpikes(k=k, p=0.999 / 256**i, theta=1 / 16**j) for i in range(3) for j in range(3)]


CONTROLS: dict[str, Callable[[RareSpikes], float]] = {
    "the start": lambda work: float(work.excess_risk(np.zeros((1, 1)))[0]),
    # The excess is linear in w: the 0.9-quantile of a uniform point is at nine tenths of the way to the wrong end.
    "a random point": lambda work: (1 - DELTA) * largest(work),
    "the wrong end": largest,
}
"""Outputs that read no data -> (1 - DELTA)-quantile of their excess risk, exactly."""


def risks_on(
    context: Context, algorithm: Algorithm[Any], work: RareSpikes, n: int, epsilon: float, trials: int
) -> Array:
    """Excess risks of `trials` runs on one member, (trials,), from a stream of its own."""
    return risk.excess_risks(
        algorithm, work, problem(work, epsilon), n, trials, context.seed, context.name, n, epsilon, work.p,
        work.theta, gradients=COUNTS,
    )  # fmt: skip


def within_constants(
    context: Context,
    algorithm: Any,
    n: int,
    epsilon: float,
    k: float,
    trials: int,
    *,
    series: str = "",
    family: Members = coarse,
    bound: Callable[[RareSpikes, int], float] | None = None,
) -> Verdict:
    """The bound with its constants, member by member: R at most the bound nine times in ten, and what else would be.

    A member counts where the start, which reads no data, exceeds the bound: elsewhere anything passes. HOLDS says
    beside it how much smaller a bound would have been passed as well.
    """
    every = list(family(n, k))
    allowed = [_allowed(algorithm, work, n, epsilon, bound) for work in every]
    starts = [CONTROLS["the start"](work) for work in every]
    tops = [largest(work) / most for work, most in zip(every, allowed, strict=True)]
    share = context.failure_probability / len(every)
    by_place: dict[int, Verdict] = {}
    ratio = 0.0
    for place in sorted(range(len(every)), key=lambda i: -tops[i]):
        if tops[place] * (1 + ROUNDING) < min(1.0, ratio):
            break  # no point of the domain breaks the bound here, nor comes as close to it as one did elsewhere
        work, most = every[place], allowed[place]
        values = risks_on(context, algorithm, work, n, epsilon, trials)
        ratio = max(ratio, float(np.quantile(values, 1 - DELTA)) / most)
        one = risk.high_probability(values, most, DELTA, share, limit=largest(work), x=n, series=series)
        by_start_too = one.outcome is Outcome.HOLDS and starts[place] <= most
        if not by_start_too and not one.vacuous:
            by_place[place] = one
    verdicts = [by_place[place] for place in sorted(by_place)]
    closest = min(most / start for most, start in zip(allowed, starts, strict=True))
    numbers: dict[str, float | int | str | bool] = {
        "members": len(every), "members that decide": len(verdicts), "largest quantile/bound": ratio,
        "least bound/risk of the start": closest,
    }  # fmt: skip
    if not verdicts:
        said = (
            f"nothing is decided at n = {n:,}: on all {len(every)} members of the class the start, which reads no "
            f"data, keeps the bound as well (it is at least {closest:.3g} times the risk of the start); the largest "
            f"0.9-quantile is {ratio:.3g} of the bound"
        )
        return undecided(
            said, "sampled", failure_probability=context.failure_probability, numbers=numbers, vacuous=True
        )
    answer = combine(verdicts)
    said = (
        f"{answer.reason}; over all {len(every)} members the largest 0.9-quantile is {ratio:.3g} of the bound, so that "
        f"one {1 / ratio:.3g} times smaller would pass as well; the start exceeds it on {len(verdicts)} members"
    )
    return replace(
        answer, reason=said, numbers={**answer.numbers, **numbers}, failure_probability=context.failure_probability,
        severity=ratio, axes=("n", "0.9-quantile of the excess risk"),
    )  # fmt: skip


def _allowed(
    algorithm: Any, work: RareSpikes, n: int, epsilon: float, bound: Callable[[RareSpikes, int], float] | None
) -> float:
    """The bound that is judged on this member: Theorem 2.1's phase by phase, unless another one is given."""
    if bound is not None:
        return float(bound(work, n))
    return bound_of("pure_heavy_tails/thm-2-1@summed", algorithm, problem(work, epsilon), n)


FAR = 1e6
"""A record so large that every clip level is below it."""


def balanced(n: int, shares: Iterable[float], size: float = FAR) -> list[Pair]:
    """Pairs with a share of the records at +size, the others at -size, and one switched from the one to the other."""
    pairs = []
    for share in shares:
        data = np.full((1, n, 1), -size)
        data[0, : max(1, round(share * n))] = size
        neighbour = data.copy()
        neighbour[0, 0] = -size
        pairs.append((data, neighbour))
    return pairs


NONEXPANSIVE = (
    "by hand: one clipped gradient moves the mean by 2C/n at most, the projection is nonexpansive, gamma is public"
)

SHARES = (0.02, 0.25, 0.4, 0.5, 0.6, 0.75, 1.0)


def accounted(smoothed: bool, size: int, budget: float) -> Verdict:
    """The account of Algorithm 1 around EM-PGM, and one record replayed in its first block."""
    work = RareSpikes(p=0.3, theta=0.4)
    erm = SmoothedEMPGM(eta=0.01, gamma_rule="public") if smoothed else EMPGM(eta=0.01)
    algorithm = PopLocalize(erm=erm, blocks=BLOCKS, c_erm=1.0)
    plan = algorithm.schedule(problem(work, budget), size)
    spent = account(plan, size).epsilon(0.0)
    data = work.rows(seeds.stream(0, "accounted"), 1, size)
    other = data.copy()
    other[0, 0] = -FAR
    seen = Case(algorithm, work, problem(work, budget)).replay(data, other, 4)
    moved = max(float(values.max()) for values in seen.ratios().values())
    numbers = {"accounted": spent, "claimed": budget, "worst replayed ratio": moved, "releases": len(plan.releases)}
    said = f"{len(plan.releases)} selections cost {spent:.6g} of {budget:g}; a record moves {moved:.4g} of its claim"
    if spent > budget * (1 + 1e-9) or moved > 1 + 1e-6:
        return refuted(said, "exact", numbers=numbers)
    return holds(f"{said}; blocks are disjoint ({NONEXPANSIVE})", "certificate", numbers=numbers)


LITTLE = together("k epsilon", (2.0, 2.0**-16), (4.0, 2.0**-30))
"""Budgets at which privacy costs most, by far, from n = 2^52 on."""
SPIKES = Family.of(mirrored=True, p=geometric(0.999, 1 / 16, 13), theta=geometric(1.0, 1 / 16, 8))
"""Rare spikes with G_k = 1, their chance and their imbalance: neither n nor the algorithm enters."""


def spikes(*, n: int, epsilon: float, p: float, theta: float, k: float, solver: str) -> Instance:
    """The localised algorithm on one member, and the symbols of the bound on all of the class, where G_2 <= G_k."""
    work = RareSpikes(D=1.0, k=k, G=1.0, p=p, theta=theta)
    return Instance(practical(k, solver), work, problem(work, epsilon), n, symbols(n, epsilon, k, 1))


def symbols(n: int, epsilon: float, k: float, d: int) -> dict[str, float]:
    """Of the order of the risk, on a class with D = G_k = 1."""
    return {"n": n, "epsilon": epsilon, "k": k, "G_k": 1.0, "G_2": 1.0, "D": 1.0, "d": d, "beta": DELTA}


def first_phase(one: Instance) -> Instance:
    """Without localisation."""
    return one.running(replace(outer(one), resolution=1e12))


def quarter_power(one: Instance) -> Instance:
    """A cap with a quarter of the printed exponent."""
    G_k = one.at["G_k"]
    return recapped(one, lambda cap: G_k * (cap / G_k) ** 0.25)


def recapped(one: Instance, rule: Callable[[float], float]) -> Instance:
    chosen = outer(one)
    erm = chosen if isinstance(chosen, PrivateErm) else chosen.erm

    class Recapped(type(erm)):  # type: ignore[misc]
        def cap(self, problem: Problem, m: int) -> float:
            return rule(super().cap(problem, m))

    changed = Recapped(**{each.name: getattr(erm, each.name) for each in fields(erm)})
    return one.running(changed if erm is chosen else replace(chosen, erm=changed))


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
            (*_, last) = entries = list(stages)
            counts = rng.multinomial(last.records, work.probabilities, size=(trials, last.blocks))
            slope = counts @ np.clip(work.atoms[:, 0], -last.C, last.C) / last.records
            w = aggregated(self.answer(entries, slope, w, rng))[:, None]
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
