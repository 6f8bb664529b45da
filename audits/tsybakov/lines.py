"""Settings and printed lines of the algorithms: the lines replayed from what a run released and from its coins.

Nothing is shared with the implementations but the plan: gradients are clipped here, steps taken, points projected on
intersections of discs, and every core and the returned point are compared with those of the run.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dpcheck.checks import Context
from dpcheck.claims import evaluate
from dpcheck.engine.executed import as_stated
from dpcheck.engine.settings import Inner, Stated, drawn
from dpcheck.engine.statements import order_of, stated
from dpcheck.errors import DpcheckError, Infeasible, InvalidInput
from dpcheck.harness.lines import Seen
from dpcheck.harness.relations import judged
from dpcheck.interfaces import Algorithm, Array, Problem, Release, Rng, Schedule, Workload
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Verdict, differs, holds
from dpcheck.workloads.tilted_power import SparseTilt

from .cases import LINE, TILTED, problem, told
from .lemmas import called

LOOSE = ApproxDP(10.0, 0.5)
"""A budget at which clip levels exceed the Lipschitz constant, so that balls around the start are left, and noise is
of the size of the domain."""
FREELY: dict[str, Any] = {"lipschitz": "ignored", "largest_epsilon": "proved"}
"""Of Algorithms 3 to 5, at that budget."""
LOSSES = {
    "line": SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=4.0, reach=1.5),
    "plane": SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=4.0, reach=1.5),
}


class Released(NamedTuple):
    """A release as the lines have it: deviation of its noise, records that it reads, uses, what it may move."""

    name: str
    sigma: float
    start: int
    stop: int
    uses: int
    moved: float

    @classmethod
    def of(cls, release: Release) -> Released:
        (read,) = release.reads
        sigma = release.law.sigma if isinstance(release.law, Gaussian) else math.nan
        return cls(release.name, sigma, read.start, read.stop, release.count, read.sensitivity)


Discs = tuple[tuple[Array, float], ...]
"""Centres, (trials or 1, d), and radii."""


def nearest(w: Array, discs: Discs) -> Array:
    """The point of an intersection of discs, or intervals, that is nearest to w, (trials, d).

    It is w, or the projection on one disc, or a point where two circles meet; nan where the discs do not.
    """
    candidates = [w, *(centre + (w - centre) * _shrunk(w - centre, radius) for centre, radius in discs)]
    if w.shape[1] == 2:
        candidates += [point for one, other in itertools.combinations(discs, 2) for point in _crossings(*one, *other)]
    best, least = w, np.full(len(w), np.inf)
    for point in candidates:
        over = max_of([np.linalg.norm(point - centre, axis=1) / radius for centre, radius in discs])
        far = np.where(over <= 1 + 1e-12, np.linalg.norm(point - w, axis=1), np.inf)
        best, least = np.where((far < least)[:, None], point, best), np.minimum(far, least)
    return np.where(np.isfinite(least)[:, None], best, np.nan)


def max_of(values: Sequence[Array]) -> Array:
    return np.asarray(np.max(np.broadcast_arrays(*values), axis=0))


def _shrunk(v: Array, radius: float) -> Array:
    """min{1, radius/|v|}."""
    return np.minimum(1.0, radius / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-300))


def _crossings(centre: Array, radius: float, other: Array, its: float) -> list[Array]:
    """Where two circles of the plane meet; nan where they do not."""
    apart = np.linalg.norm(other - centre, axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        along = (apart**2 + radius**2 - its**2) / (2 * apart)
        up, across = (other - centre) / apart, np.sqrt(radius**2 - along**2)
    turned = np.stack([-up[:, 1], up[:, 0]], axis=1)
    return [centre + along * up + sign * across * turned for sign in (1.0, -1.0)]


@dataclass
class WatchedRun:
    """One run of an algorithm, whose lines are read beside its releases and coins.

    Attributes:
        rows: the records, (trials, n, d).
        compared: pairs of (a core or the returned point, what the lines make of it).
    """

    work: Workload
    plan: Schedule[Any]
    rows: Array
    start: Array
    run: Run[Any]
    returned: Array
    entries: Any = field(init=False)
    coins: Any = field(init=False)
    compared: list[tuple[Array, Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entries, self.coins = iter(self.run.transcript.entries), iter(self.run.transcript.coins)

    @property
    def domain(self) -> Discs:
        return ((np.zeros((1, self.rows.shape[-1])), self.work.constants.diameter(2.0) / 2),)

    def released(self, name: str, core: Array) -> Array:
        """What the run made of this core; nan where it released something else."""
        entry = next(self.entries, None)
        if entry is None or entry.name != name:
            self.compared.append((np.full_like(core, np.inf), core))
            return np.full_like(core, np.nan)
        self.compared.append((entry.core, core))
        return np.asarray(entry.output)

    def clipped(self, rows: Array, w: Array, level: float) -> Array:
        """The gradients at w, each cut at its length: (trials, n, d)."""
        gradients = self.work.gradient(w[:, None], rows)
        return np.asarray(gradients * _shrunk(gradients, level))

    def verdict(self, end: Array, released: Sequence[Released]) -> Verdict:
        """Whether every core, the returned point, and the releases, in this order, are those of the lines."""
        self.compared.append((self.returned, end))
        planned = [Released.of(release) for release in self.plan.releases]
        if planned != list(released) or next(self.entries, None) is not None:
            return differs(f"the plan releases {planned[:2]}, …, where the lines have {list(released)[:2]}, …", "exact")
        size = max(float(np.abs(wanted).max()) for _, wanted in self.compared)
        # Not the built-in maximum, which passes over what is nan.
        off = float(np.max([np.abs(value - wanted).max() for value, wanted in self.compared])) / size
        said = f"{len(self.compared)} cores and returned points, and the lines replayed: {off:.3g} apart at most"
        fields: dict[str, Any] = {"numbers": {"largest difference": off}}
        return holds(said, "exact", **fields) if off <= 1e-8 else differs(said, "exact", **fields)


def replayed(lines: Callable[..., Verdict]) -> Callable[..., Verdict]:
    """A check of lines that says so where the run breaks them: no coins left, or points of another shape."""

    @functools.wraps(lines)
    def watched(context: Context, **cell: Any) -> Verdict:
        try:
            return lines(context, **cell)
        except (StopIteration, ArithmeticError, ValueError, TypeError, IndexError) as error:
            return differs(f"the run cannot be replayed by its lines: {type(error).__name__}: {error}", "exact")

    return watched


def watch(
    context: Context, algorithm: Algorithm[Any], problem: Problem, work: Workload, n: int, trials: int = 3
) -> WatchedRun:
    """A run on records a tenth of which are far out, from a start off the centre."""
    d, rng = work.constants.d, context.rng("data")
    rows = rng.standard_normal((trials, n, d)) * np.where(rng.random((trials, n, 1)) < 0.1, 40.0, 1.0) + 0.5
    start = np.full((1, d), 0.3 * work.constants.diameter(2.0) / 2)
    plan = algorithm.schedule(problem, n)
    run: Run[Any] = Run(plan, trials, context.rng("run"))
    try:
        returned = algorithm.execute(run, work, Fixed(rows), start)
    except (DpcheckError, ArithmeticError, ValueError, TypeError, IndexError):  # it returns nothing, which no line does
        returned = np.full((trials, d), np.nan)
    return WatchedRun(work, plan, rows, np.broadcast_to(start, (trials, d)), run, returned)


def phases_of_algorithm_3(
    seen: WatchedRun, algorithm: Any, phases: Sequence[Any], rows: Array, w: Array, domain: Discs, prefix: str = ""
) -> Array:
    """Lines 3 to 9 of Algorithm 3 from w, each phase by Algorithm 2: the last output."""
    for phase in phases:
        name, batch, start = prefix + phase.name, rows[:, phase.start : phase.start + phase.records], w
        per_step = algorithm.noise == "steps"
        discs = domain if algorithm.project or per_step else (*domain, (start, phase.radius))
        for _ in range(phase.steps):
            g = seen.clipped(batch, w, phase.level).mean(axis=1)
            g = seen.released(name, g) if per_step else g
            w = nearest(w - phase.eta * (g + phase.weight * (w - start)), discs)
        if not per_step:
            w = seen.released(name, w)
            w = nearest(w, domain) if algorithm.project else w
    return w


def releases_of(phases: Sequence[Any], prefix: str = "", offset: int = 0) -> list[Released]:
    """What phases of Algorithm 3 release, the first record of which is that of number `offset`."""
    return [
        Released(
            prefix + phase.name,
            phase.sigma,
            offset + phase.start,
            offset + phase.start + phase.records,
            phase.steps if phase.per_step else 1,
            phase.sensitivity,
        )
        for phase in phases
    ]


def lines_of_calls(
    context: Context, algorithm: Any, loss: str, n: int, settings: Stated, reading: str, *, on_balls: bool
) -> Verdict:
    """The calls of Algorithm 4, each on the ball around the output before it, or of Algorithm 5."""
    work, reading = LOSSES[loss], "as printed" if reading == "literal" else reading
    seen = watch(context, algorithm, told(work, LOOSE), work, n)
    calls = as_stated(algorithm, told(work, LOOSE), n, settings, symbols=LETTERS, inner=INSIDE, reading=reading).phases
    w, released = seen.start, []
    for epoch in calls:
        rows = seen.rows[:, epoch.start : epoch.start + epoch.records]
        domain = (*seen.domain, (w, epoch.radius)) if on_balls else seen.domain
        w = phases_of_algorithm_3(seen, algorithm, epoch.inner.phases, rows, w, domain, f"{epoch.name}/")
    for epoch in seen.plan.phases:
        released += releases_of(epoch.inner.phases, f"{epoch.name}/", epoch.start)
    return seen.verdict(w, released)


def steps_of_algorithm_6(
    seen: WatchedRun, weights: str, row: Any, rows: Array, w: Array, domain: Discs, prefix: str = ""
) -> Array:
    """Lines 2 to 9 of Algorithm 6 from w on permuted batches; α_t is that of the claim `weights`."""
    permuted = np.take_along_axis(rows[:, : row.T * row.b], next(seen.coins)[..., None], axis=1)

    def mean(t: int, at: Array) -> Array:
        return np.asarray(seen.clipped(permuted[:, (t - 1) * row.b : t * row.b], at, row.level).mean(axis=1))

    return accelerated_steps(seen, weights, row, mean, w, domain, prefix)


def steps_of_places(
    seen: Seen, weights: str, row: Any, rows: Array, w: Array, domain: Discs, prefix: str = ""
) -> Array:
    """The same where each record has drawn one of 2T places, or none that is read."""
    drawn = next(seen.coins)
    seen.compared.append((drawn.sum(axis=2).astype(float), np.ones(drawn.shape[:2])))

    def mean(t: int, at: Array) -> Array:
        return np.asarray((drawn[:, :, t - 1, None] * seen.clipped(rows, at, row.level)).sum(axis=1) / row.b)

    return accelerated_steps(seen, weights, row, mean, w, domain, prefix)


def accelerated_steps(
    seen: Seen, weights: str, row: Any, mean: Callable[[int, Array], Array], w: Array, domain: Discs, prefix: str = ""
) -> Array:
    """The steps from w, `mean` being that of the clipped gradients of batch t at a point."""
    kept = w
    for t in range(1, row.T + 1):
        a, eta = stated(weights, i=t), stated("tsybakov/alg-6@prox", i=t, gamma=row.gamma)
        middle = (1 - a) * kept + a * w
        g = seen.released(f"{prefix}batch", mean(t, middle))
        w = nearest(w - a * g / eta, domain)  # line 7: the minimiser of a <g, w> + eta/2 |w - w_{t-1}|^2
        kept = a * w + (1 - a) * kept
    return kept


def batches_of(row: Any, prefix: str = "", offset: int = 0) -> Released:
    """What Algorithm 6 releases, the first record of which is that of number `offset`."""
    return Released(f"{prefix}batch", row.sigma, offset, offset + row.T * row.b, row.T, 2 * row.level / row.b)


def planned_as(label: str, algorithm: Algorithm[Any], p: float, slack: float) -> Verdict:
    """Whether the gradients that an algorithm plans grow as an O-form in n: their ratio over 30 doublings of n."""
    ratios = []
    for size in (2**30, 2**60):
        planned = float(algorithm.schedule(problem(TILTED, 3.0), size).gradients)
        ratios.append(planned / float(evaluate(order_of(label), {"n": float(size), "p": p})))
    moved = max(ratios) / min(ratios)
    said = f"planned gradients are {ratios[0]:.4g} times n^(p+1) log n at n = 2^30 and {ratios[1]:.4g} times at 2^60"
    return judged(moved, "<=", slack, said, "exact", numbers={"ratio of ratios": moved}, otherwise=differs)


def as_assumed(
    label: str, algorithm: Callable[..., Algorithm[Any]], n: int, faults: Mapping[str, float], eta: float
) -> Verdict:
    """Whether a theorem speaks of a problem that an algorithm plans, and of none of those that it refuses.

    Args:
        algorithm: makes it from the values of symbols.
        faults: symbol -> value at which its hypothesis fails, all others being as they were.
        eta: a legal step.
    """
    base = {"n": float(n), "p": 1.0, "k": 2.0, "epsilon": 1.0, "delta": 1e-5, "beta": 1e-9, "d": 1.0, "D": 2.0}
    base |= {"L": 1.0, "H": 1.0, "R_2k": 1.0, "theta": 2.0, "theta_bar": 2.0, "lambda": 0.5, "eta": eta}
    for name, value in {"n": float(n), **faults}.items():
        at = {**base, name: value}
        constants = replace(
            LINE.constants, diameter=lambda q: 2.0, lipschitz=lambda q, at=at: at["L"], moment=lambda order, m: 1.0,
            smoothness=lambda q, at=at: at["H"],
        )  # fmt: skip
        promise = ApproxDP(at["epsilon"], at["delta"])
        asked = Problem(constants=constants, privacy=promise, failure_probability=at["beta"])
        planned = not refuses(lambda at=at, asked=asked: algorithm(at).schedule(asked, n))
        spoken = not refuses(lambda at=at: stated(label, **at))
        if not planned == spoken == (name not in faults):
            words = [f"is {'' if each else 'not '}" for each in (spoken, planned)]
            return differs(f"a problem with {name} = {value:g} {words[0]}spoken of by {label}, and {words[1]}planned")
    return holds(f"{', '.join(faults)}: what the theorem excludes by each is refused, and nothing else is", "exact")


def refuses(asked: Callable[[], object]) -> bool:
    """Whether a schedule or a claim does not speak of what it is asked for."""
    try:
        asked()
    except (Infeasible, InvalidInput):
        return True
    return False


LETTERS = {"records": "n", "weight": "lambda", "steps": "T", "level": "C", "radius": "R", "step": "gamma"}
"""Fields of phases and calls -> their letters in the claims."""

CORRECTED = {
    "records": "tsybakov/alg-3@records",
    "eta": "tsybakov/alg-3@corrected-eta",
    "weight": "tsybakov/alg-3@corrected-lambda",
    "steps": "tsybakov/alg-3@steps",
    "radius": "tsybakov/alg-3@radius",
    "level": "tsybakov/alg-3@level",
    "gradients": "tsybakov/alg-3@gradients",
    "sensitivity": "tsybakov/rem-2@corrected",
    "sigma": "tsybakov/alg-3",
}

PHASES = {
    "as printed": {
        **CORRECTED, "eta": "tsybakov/alg-3@eta", "weight": "tsybakov/alg-3@lambda", "sensitivity": "tsybakov/rem-2"
    },
    "corrected": CORRECTED,
    "private": {**CORRECTED, "sensitivity": "tsybakov/fact-sens", "sigma": "tsybakov/thm-1@corrected"},
    "trivial": {
        **CORRECTED, "sensitivity": "tsybakov/alg-3@trivial-movement", "sigma": "tsybakov/alg-3@trivial-sigma"
    },
    "smallest": {**CORRECTED, "sensitivity": "tsybakov/rem-2@every-loss", "sigma": "tsybakov/thm-1@smallest"},
    "every-loss": {
        **CORRECTED, "sensitivity": "tsybakov/fact-sens", "sigma": "tsybakov/thm-1@corrected",
        "eta": "tsybakov/alg-3@every-loss-eta", "weight": "tsybakov/alg-3@every-loss-weight",
        "steps": "tsybakov/alg-3@every-loss-steps",
    },
}  # fmt: skip
"""Who states the settings of the phases of Algorithm 3, by reading."""

INSIDE = Inner(
    called=called,
    stated={
        **{name: {**PHASES[name], "eta": "tsybakov/alg-4@eta"} for name in ("as printed", "corrected", "private")},
        "every-loss": {},
    },
)
"""Who states those of the phases of a call of Algorithm 4 or 5; of steps for every loss, nobody does."""


def rough(rng: Rng) -> tuple[Problem, int]:
    """A drawn problem with constants so far apart that every cap of a step binds at times."""
    problem, n = drawn(n=(4.0, 2.0**14))(rng)
    c, (steep, curved, heavy) = problem.constants, 4.0 ** rng.uniform((-4, -4, -16), (1, 5, 0))
    apart = replace(
        c,
        lipschitz=lambda q: steep * c.lipschitz(q),
        smoothness=lambda q: curved * c.smoothness(q),
        moment=lambda order, m: heavy * c.moment(order, m),
    )
    return replace(problem, constants=apart), n
