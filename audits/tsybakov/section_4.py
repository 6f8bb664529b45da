"""Section 4: the examples, Algorithms 1 and 2, and how far clipped descent moves."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import scipy
import sympy as sp

from dpcheck.algorithms.tsybakov import LocalisedClipped
from dpcheck.algorithms.tsybakov.clipped import clipped_descent, clipped_mean, dykstra, regularised_minimiser
from dpcheck.algorithms.tsybakov.localised import Phase
from dpcheck.algorithms.tsybakov.settling import Settling, atoms, settled
from dpcheck.checks import Context, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import stated
from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball, Box
from dpcheck.geometry.norms import clip_norm
from dpcheck.harness import accuracy, losses, runtime, symbolic
from dpcheck.harness.refutation import refuted_by, witnessed
from dpcheck.harness.relations import judged
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import proved
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Sample, Schedule, Workload
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run
from dpcheck.symbols import D
from dpcheck.verdicts import Point, Verdict, differs, refuted
from dpcheck.workloads.regularised import RegularisedPopulation
from dpcheck.workloads.sheared import Sheared

from .cases import PRIVACY, number, told, well
from .lemmas import PLANE, QUARTIC
from .lines import LOSSES, Discs, nearest


def _l4_excess(delta: Array, s: float) -> float:
    """F(w° + delta) - F* by enumeration of all signs and both label errors."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(delta))))
    margins = signs @ delta
    risks = [((margins - e) ** 4).mean() for e in (-s, s)]
    return float(np.mean(risks) - s**4)


@check("tsybakov/ex-l4@derived", kind="accuracy", grid={"d": (1, 2, 5, 8)})
def fourth_powers_expand(context: Context, *, d: int) -> Verdict:
    """F - F* by enumeration of all sign vectors against 3|Δ|⁴ - 2|Δ|_4⁴ + 6s²|Δ|², to rounding."""
    rng, left, right = context.rng(), [], []
    for s in (0.0, 0.3, 1.0):
        for _ in range(context.scale(5, 30)):
            delta = rng.standard_normal(d)
            square = float(delta @ delta)
            left.append(_l4_excess(delta, s))
            right.append(3 * square**2 - 2 * float((delta**4).sum()) + 6 * s**2 * square)
    # Along an axis and without label noise the noise condition holds with equality.
    axis = 0.7 * np.eye(d)[0]
    left.append(_l4_excess(axis, 0.0))
    right.append(stated("tsybakov/ex-l4@derived") * float(axis @ axis) ** 2)
    return symbolic.agree(left, right, "excess by enumeration and by the formula", tolerance=1e-9)


@check("tsybakov/ex-l4", kind="accuracy", expect="consistent")
def l4_regression_grows_like_a_fourth_power(context: Context) -> Verdict:
    """|Δ|_2⁴ and 6s²|Δ|² against F - F* on the l_1 ball: (4, 1) at all s, with equality along an axis at s = 0."""
    rng, left, right = context.rng(), [], []
    for s, d in itertools.product((0.0, 0.5), (1, 3, 6)):
        for index in range(context.scale(20, 200)):
            delta = np.eye(d)[0] if index == 0 else rng.laplace(size=d)
            delta = 2 * delta / np.abs(delta).sum() * rng.uniform(0.05, 1)
            square = float(delta @ delta)
            left.append(max(square**2, 6 * s**2 * square))
            right.append(_l4_excess(delta, s))
    return accuracy.never_violated(
        left, right, statement="max{|Δ|⁴, 6s²|Δ|²} <= F - F*", failure_probability=context.failure_probability
    )


@check("tsybakov/ex-logistic", kind="accuracy", grid={"ridge": (0.01, 0.3)})
def ridge_logistic_regression_grows_quadratically(context: Context, *, ridge: float) -> Verdict:
    """(ridge/2)|w - w*|² against F - F* of logistic regression on the unit ball, exact risks and a certified w*."""
    rng, left, right = context.rng(), [], []
    for d in (1, 3):
        # The first feature is 0 in all records: along it there is the ridge alone, and equality.
        x = rng.standard_normal((200, d)) * (np.arange(d) > 0)
        y = (x.sum(axis=1) + rng.logistic(size=200) > 0).astype(float)
        work = RegularisedPopulation(x, y, "logistic", ridge)
        w = work.project(rng.standard_normal((context.scale(200, 2000), d)) * rng.uniform(0, 3))
        w[0] = work.population_minimiser + 0.5 * np.eye(d)[0]
        left.append(stated("tsybakov/ex-logistic", lambda_=ridge) * ((w - work.population_minimiser) ** 2).sum(axis=1))
        right.append(work.excess_risk(w) + work.constants.extra["risk_tolerance"])
    worst = max(float((a / b).max()) for a, b in zip(left, right, strict=True))
    reason = f"(ridge/2)|w - w*|² is at most {worst:.4g} of F - F*: nothing but the ridge along a missing feature"
    numbers = {"largest ratio": worst, "diameter": float(D.subs(D, 2))}
    if worst < 0.999:
        return differs(reason, "certificate", numbers=numbers)
    return judged(worst, "<=", 1.0, reason, "certificate", numbers=numbers)


@check("tsybakov/alg-1", kind="sensitivity", grid={"d": (1, 3), "n": (1, 7)})
def clipped_mean_moves_by_its_share(context: Context, *, d: int, n: int) -> Verdict:
    """Algorithm 1 on random neighbours of every length up to a thousand times the level."""
    rng, pairs, C = context.rng(), context.scale(2000, 50_000), 1.5
    data = rng.standard_normal((pairs, n, d)) * rng.exponential(3.0, (pairs, n, 1)) ** 2
    other = data.copy()
    other[:, 0] = rng.standard_normal((pairs, d)) * 1500
    one = np.ones((1, n))
    moved = np.linalg.norm(
        clipped_mean(Sample(data, one), data, C) - clipped_mean(Sample(other, one), other, C), axis=1
    )
    return accuracy.never_violated(
        moved, stated("tsybakov/alg-1", C=C, n=n), statement="movement <= 2C/n", evidence="certificate",
        covers="projections on a ball of radius C are at most 2C apart",
    )  # fmt: skip


@check("tsybakov/alg-1", kind="accuracy")
def clipped_mean_has_norm_at_most_its_level(context: Context) -> Verdict:
    """|v| <= C on random data, and v is the plain mean where nothing is longer than C."""
    rng, trials = context.rng(), context.scale(2000, 50_000)
    data = rng.standard_normal((trials, 6, 2)) * rng.exponential(1.0, (trials, 6, 1)) ** 2
    v = clipped_mean(Sample(data, np.ones((1, 6))), data, 1.0)
    short = np.linalg.norm(data, axis=2).max(axis=1) <= 1
    off = np.abs(v[short] - data[short].mean(axis=1)).max()
    verdict = accuracy.never_violated(
        np.linalg.norm(v, axis=1), 1.0, statement="|v| <= C", evidence="certificate",
        covers="a mean of points of a ball",
    )  # fmt: skip
    return verdict if off < 1e-14 else refuted(f"unclipped means differ by {off:.3g}", "exact")


@check("tsybakov/alg-2@derived", kind="accuracy")
def reach_of_clipped_descent(context: Context) -> Verdict:
    """|w_T - w_0| against (1 - (1 - eta lambda)^T) C/lambda on random runs, one of them with one constant gradient."""
    rng, left, right = context.rng(), [], []
    work = Sheared(0.01, 1.0)
    for _ in range(context.scale(40, 400)):
        steps, weight, level = int(rng.integers(1, 60)), float(rng.uniform(0.05, 1.0)), float(rng.uniform(0.2, 3))
        eta = float(rng.uniform(0.05, min(1.0, 1 / weight)))
        z = rng.standard_normal((1, 5, 4)) * 5
        if rng.random() < 0.25:
            z[..., :2], z[..., 2:] = 0.0, [9.0, 0.0]
        start = rng.standard_normal((1, 2))
        end = clipped_descent(work, Sample(z, np.ones((1, 5))), start, steps=steps, eta=eta, level=level, weight=weight)
        left.append(float(np.linalg.norm(end - start)))
        right.append(stated("tsybakov/alg-2@derived", eta=eta, lambda_=weight, T=steps, C=level))
    return accuracy.never_violated(
        left, right, statement="distance from the start <= (1 - (1 - eta lambda)^T) C/lambda", tolerance=1e-9,
        evidence="certificate", covers="each step shrinks the distance by 1 - eta lambda and adds at most eta C",
    )  # fmt: skip


@check("tsybakov/alg-2", kind="accuracy", grid={"loss": tuple(LOSSES), "noisy": (False, True)})
def lines_of_algorithm_2(context: Context, *, loss: str, noisy: bool) -> Verdict:
    """T steps from w_0, counted as in Theorem 8: clipped mean, pull to w_0, projection; records with counts."""
    work, rng, arrays, wanted = LOSSES[loss], context.rng(), [], []
    domain: Discs = ((np.zeros((1, work.constants.d)), work.constants.diameter(2.0) / 2),)
    for steps, eta, level, weight in ((1, 0.3, 0.7, 0.2), (4, 0.7, 2.5, 1.3), (9, 0.2, 6.0, 0.4)):
        values = rng.standard_normal((2, 5, work.constants.d)) * 5 + 1
        counts, start = (
            rng.integers(1, 4, (2, 5)).astype(float),
            work.project(rng.standard_normal((2, work.constants.d))),
        )
        noise = rng.standard_normal((steps, 2, work.constants.d)) * noisy
        seen = iter(noise)
        arrays.append(
            clipped_descent(
                work, Sample(values, counts), start, steps=steps, eta=eta, level=level, weight=weight,
                answer=(lambda g, seen=seen: g + next(seen)) if noisy else None,
            )
        )  # fmt: skip
        w = start
        for shift in noise:
            gradients = work.gradient(w[:, None], values)
            cut = gradients * np.minimum(1.0, level / np.linalg.norm(gradients, axis=2, keepdims=True))
            g = (counts[..., None] * cut).sum(axis=1) / counts.sum(axis=1, keepdims=True) + shift
            w = nearest(w - eta * (g + weight * (w - start)), domain)
        wanted.append(w)
    # Shifted by more than the domain, so that no coordinate is near 0.
    far = 2 * work.constants.diameter(2.0)
    return symbolic.agree(np.concatenate(arrays) + far, np.concatenate(wanted) + far, "last iterates")


@check("tsybakov/alg-2", kind="runtime", grid={"T": (1, 7, 40)})
def descent_reads_every_record_each_step(context: Context, *, T: int) -> Verdict:
    """Gradients of T steps on 50 records against nT."""
    work = runtime.CountingWorkload(well(2.0, 4.0))
    batch = work.draw(context.rng(), 1, 50)
    start: Array = np.zeros((1, 1))
    clipped_descent(work, batch, start, steps=T, eta=0.5, level=1.0, weight=0.1)
    allowed = stated("tsybakov/alg-2", n=50, T=T)
    if work.gradients < allowed:
        return differs(f"{work.gradients:,} gradients where T steps on n records read {allowed:,.0f}", "counted")
    return runtime.verdict(float(work.gradients), allowed, x=T, variable="T")


@check("tsybakov/proc-prox-exact", kind="accuracy")
def exact_minimiser_of_quadratics(context: Context) -> Verdict:
    """Against the closed form (mean + weight centre)/(1 + weight), projected, and against a general solver."""
    rng, left = context.rng(), []
    for _ in range(context.scale(20, 200)):
        x, centre, weight = rng.normal(size=(1, 7, 2)), QUARTIC.project(rng.normal(size=(1, 2))), rng.uniform(0.05, 4)
        sample = Sample(x, np.ones((1, 7)))
        values = regularised_minimiser(PLANE, sample, centre, weight, gap=1e-11)
        wanted = PLANE.project((x.mean(axis=1) + weight * centre) / (1 + weight))
        left.append(float(np.abs(values - wanted).max()))
        four = regularised_minimiser(QUARTIC, sample, centre, weight, gap=1e-10)

        def objective(v: Array, x: Array = x, centre: Array = centre, weight: float = weight) -> float:
            w = QUARTIC.project(v[None])
            return float(QUARTIC.loss(w[:, None], x).mean() + weight / 2 * ((w - centre) ** 2).sum())

        best = scipy.optimize.minimize(
            objective, four[0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}
        )
        left.append(max(0.0, objective(four[0]) - float(best.fun)))
    return accuracy.never_violated(
        left, 1e-9, statement="distance to the closed form, and gap to a simplex search <= 1e-9",
        evidence="certificate", covers="a step of length m of a map that contracts by 1 - q certifies the distance m/q",
    )  # fmt: skip


@check("tsybakov/proc-dykstra", kind="accuracy")
def projection_on_an_intersection(context: Context) -> Verdict:
    """<w - p, q - p> <= 0 for all q of a fine grid of the box and the ball, p the point of Dykstra's method."""
    rng = context.rng()
    box, ball = Box([-0.5, -2.0], [1.0, 0.7]), Ball(2, 1.0, [0.4, 0.1])
    w = rng.normal(size=(context.scale(50, 500), 2)) * 3
    p = dykstra(box.project, ball.project, w)
    grid = np.stack(np.meshgrid(np.linspace(-0.5, 1, 120), np.linspace(-2, 0.7, 120)), axis=-1).reshape(-1, 2)
    inside = grid[np.linalg.norm(grid - [0.4, 0.1], axis=1) <= 1]
    outside = max(float(np.abs(box.project(p) - p).max()), float((np.linalg.norm(p - [0.4, 0.1], axis=1) - 1).max()))
    slack = np.einsum("td,tqd->tq", w - p, inside[None] - p[:, None]).max(axis=1)
    verdict = accuracy.never_violated(
        np.append(slack, outside), 1e-7, statement="<w - p, q - p> <= 0 and p in both sets", evidence="certificate",
        covers="the variational inequality characterises the projection; the grid has mesh 0.02",
    )  # fmt: skip
    once = ball.project(box.project(w))
    return replace(verdict, numbers={**verdict.numbers, "plain alternation is off by": float(np.abs(once - p).max())})


@dataclass(frozen=True)
class PhaseAlone(Algorithm[Phase]):
    """One phase of Algorithm 3 by itself, which its proof says is (epsilon, delta)-DP from whatever start.

    Attributes:
        parent: Algorithm 3; the phase is its `place`-th at `total` records.
    """

    parent: LocalisedClipped
    total: int
    place: int

    label = "tsybakov/alg-3"

    def schedule(self, problem: Problem, n: int) -> Schedule[Phase]:
        whole = self.parent.schedule(problem, self.total)
        phase = whole.phases[self.place]
        if phase.records != n:
            raise InvalidInput(f"phase {self.place + 1} of {self.total} records reads {phase.records}, not {n}")
        release = whole.releases[self.place]
        (read,) = release.reads
        moved = Schedule(
            phases=(phase,),
            releases=(release,),
            gradients=phase.records * phase.steps,
            floats_per_trial=whole.floats_per_trial,
            claimed=whole.claimed,
        )
        return moved.edit(release.name, reads=(replace(read, start=0, stop=n),))

    def execute(self, run: Run[Phase], workload: Workload, data: Data, start: Array) -> Array:
        (phase,) = run.schedule.phases
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        core = self.parent.descend(phase, workload, data.read(), w, workload.project, None)
        return run.release(phase.name, core)


def unit_level(n: int, d: int, privacy: ApproxDP, records: int) -> float:
    """The moment (k = 2) at which the clip level of a phase with that many of n records is 1."""
    return (privacy.epsilon * records / math.sqrt(d * math.log(1 / privacy.delta) * math.log(n))) ** -0.5


def walked(work: Sheared, rows: Array, *, steps: int, eta: float, weight: float) -> Array:
    """Algorithm 2 from 0 at clip level 1, step by step: (1, 2)."""
    sample = atoms(Sample(rows[None], np.ones((1, len(rows)))))
    return clipped_descent(work, sample, np.zeros((1, 2)), steps=steps, eta=eta, level=1.0, weight=weight)


INSTANCES = {
    "a = 1/100": ("1/100", 1024, "3"),
    "a = 1/400": ("1/400", 4096, "2"),
    "a = 1/1000": ("1/1000", 16384, "5/2"),
}


@check("tsybakov/rem-2", kind="stability", grid={"instance": tuple(INSTANCES)}, expect="refuted")
def clipped_descent_moves_by_its_clip_level(context: Context, *, instance: str) -> Verdict:
    """Two runs of Algorithm 2 on neighbours against 2C/(n lambda): 4.43, 9.15 and 14.7 times; C = 1, curvature 1.

    The shortest run is walked through step by step, the others are taken where they come to rest.
    """
    text, n, K = INSTANCES[instance]
    work, weight, steps = Sheared(number(text), number(K)), 1 / n, math.ceil(2 * n * math.log(4 * n))

    def end(sign: float) -> Array:
        rows = work.balanced(n, weight, sign)
        if steps < 20_000:
            return walked(work, rows, steps=steps, eta=1.0, weight=weight)
        sample = atoms(Sample(rows[None], np.ones((1, n))))
        return settled(work, sample, np.zeros((1, 2)), steps=steps, eta=1.0, level=1.0, weight=weight)

    moved = float(np.linalg.norm(end(1.0) - end(-1.0)))
    claimed = stated("tsybakov/rem-2", C=1.0, n=n, lambda_=weight, eta=1.0, H=1.0)
    return accuracy.never_violated(
        moved,
        claimed,
        statement="movement <= 2C/(n lambda)",
        witness=lambda _: witnessed(
            "tsybakov/rem-2", "rem_2", claimed, moved, a=text, n=n, K=K, eta=1, lambda_=f"1/{n}", steps=steps
        ),
    )


@check("tsybakov/rem-2", kind="privacy", grid={"instance": tuple(INSTANCES)}, expect="refuted")
def one_phase_with_the_printed_noise(context: Context, *, instance: str) -> Verdict:
    """Phase 2 of Algorithm 3, replayed: epsilon 1.24, 2.79 and 4.81 at delta = 1e-5, for 1 claimed.

    eta = 4, so eta_2 = 1/4 and lambda_2 = 4/n_2: the instances of Remark 2 with four times the records.
    """
    text, n, K = INSTANCES[instance]
    records, total, weight = 4 * n, 16 * n, 1 / n
    work = Sheared(number(text), number(K), moment=unit_level(total, 2, PRIVACY, records))
    algorithm = PhaseAlone(Settling(eta=4.0, lipschitz="ignored"), total, 1)
    rows, other = (work.balanced(records, weight, sign) for sign in (1.0, -1.0))
    case = Case(algorithm, work, told(work))
    (phase,) = case.planned(records).phases
    seen = case.replay(rows[None], other[None], 2)
    found = losses.of_replay(seen)
    return refuted_by(
        "tsybakov/rem-2",
        "rem_2_privacy",
        measured=found.delta(1.0)[0],
        numbers={"epsilon at 1e-5": found.epsilon(1e-5)[0], "movement over claim": float(seen.movements[0].ratio[0])},
        points=[Point(x=work.a, value=found.epsilon(1e-5)[0], bound=1.0, series="epsilon of a phase")],
        axes=("a", "epsilon at delta = 1e-5"),
        a=text, n=records, K=K, eta="1/4", lambda_=f"1/{n}", steps=phase.steps, epsilon=1, delta="1/100000",
    )  # fmt: skip


@check("tsybakov/rem-2@derived", kind="symbolic")
def worst_direction_of_clipping(context: Context) -> Verdict:
    """|A n|/(n^T A n) over unit n is (1+a)/(2 sqrt a) at n_1^2 = a/(1+a), where it is stationary, and not more."""
    a, x = sp.symbols("a x", positive=True)
    ratio = sp.sqrt(x + (1 - x) * a**2) / (x + (1 - x) * a)  # x = n_1^2
    bound = claim("tsybakov/rem-2@derived").bound
    stated = bound.subs(next(iter(bound.free_symbols)), a)
    # Kantorovich: the difference of squares is a square.
    short = (stated**2 - ratio**2) * 4 * a * (x + (1 - x) * a) ** 2
    return proved(
        {
            "value at the worst direction": (ratio**2).subs(x, a / (1 + a)) - stated**2,
            "stationary there": sp.diff(ratio**2, x).subs(x, a / (1 + a)),
            "what is missing elsewhere is a square": sp.expand(sp.simplify(short)) - sp.expand(
                (1 - a) ** 2 * (x * (1 + a) - a) ** 2
            ),
        }
    )  # fmt: skip


@check("tsybakov/rem-2@one-step", kind="stability", grid={"d": (2, 3), "eta": (0.1, 1.0, 4.0)})
def one_clipped_step_between_two_points(context: Context, *, d: int, eta: float) -> Verdict:
    """Steps along clipped subgradients of random convex losses, and of those that come near the bound."""
    rng, count, C = context.rng(), context.scale(2000, 50_000), 1.0
    apart = rng.exponential(1.0, count)
    # At the distance r e_1 any two vectors with <g - h, e_1> >= 0 are subgradients of one convex loss.
    g, h = rng.standard_normal((2, count, d)) * 10.0 ** rng.uniform(-2, 4, (2, count, 1))
    swapped = g[:, 0] < h[:, 0]
    g[swapped], h[swapped] = h[swapped], g[swapped].copy()
    g[0], h[0] = 0.0, 0.0
    g[0, :2], h[0, :2] = [1.0, 1e6], np.array([apart[0], -eta * C]) / math.hypot(apart[0], eta * C) * C
    after = apart[:, None] * np.eye(d)[0] - eta * (clip_norm(g, C) - clip_norm(h, C))
    bound = [stated("tsybakov/rem-2@one-step", eta=eta, C=C, R=float(r)) for r in apart]
    length = np.linalg.norm(after, axis=1)
    if not length[0] > 0.999 * bound[0]:
        return differs(f"the loss that should attain the bound leaves {length[0]:.6g} of {bound[0]:.6g}")
    return accuracy.never_violated(
        length, bound, statement="distance after one step <= eta C + √(r² + eta²C²)", evidence="certificate",
        covers="clipping keeps the sign of <g, x - y>, so one step alone leads no farther than the root",
    )  # fmt: skip


def four_that_repel(w: Array, pull: float, smoothness: float, level: float) -> Array:
    """First coordinate of the mean clipped gradient of the four losses of `rem-2@parted` at (w, 0)."""
    total = np.zeros_like(w)
    for side, sign in itertools.product((1, -1), (1, -1)):
        v, u = np.array([5.0, side * 12.0]) / 13, np.array([3.0, side * 4.0]) / 5
        gradient = smoothness * v[0] * w[..., None] * v + sign * pull * u
        total += clip_norm(gradient, level)[..., 0] / 4
    return total


@check("tsybakov/rem-2@parted", kind="stability", grid={"n": (5, 41, 401, 4001)})
def two_runs_part_whatever_the_size(context: Context, *, n: int) -> Verdict:
    """Both runs with the printed number of steps, on their axis; the distance over C/lambda hardly depends on n."""
    C, smoothness = 1.0, 1.0
    weight = smoothness / 106
    eta = min(1 / (n * weight), 1 / (smoothness + weight))
    steps = math.ceil(2 / (eta * weight) * math.log(4 / (eta * weight)))
    w = np.zeros(2)
    for _ in range(steps):
        pull = (1 - 1 / n) * four_that_repel(w, smoothness * C / (26 * weight), smoothness, C)
        w = w - eta * (pull + np.array([C, -C]) / n + weight * w)
    moved = abs(float(w[0] - w[1]))
    claimed = stated(
        "tsybakov/rem-2@parted", C=C, lambda_=weight, R=smoothness * C / (26 * weight), eta=eta, H=smoothness, n=n
    )
    printed = stated("tsybakov/rem-2", C=C, n=n, lambda_=weight, eta=eta, H=smoothness)
    verdict = accuracy.never_violated(
        claimed, moved, statement="C/(5 lambda) <= movement", evidence="certificate",
        covers="the drift does not change its sign on either side",
    )  # fmt: skip
    return replace(verdict, numbers={**verdict.numbers, "over 2C/(n lambda)": moved / printed, "steps": steps})
