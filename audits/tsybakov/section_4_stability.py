"""Section 4, Remark 2: how far clipped descent moves: what no loss exceeds, and losses that come near."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import sympy as sp

from dpcheck.algorithms.tsybakov import LocalisedClipped
from dpcheck.algorithms.tsybakov.clipped import clipped_descent
from dpcheck.algorithms.tsybakov.localised import Phase
from dpcheck.algorithms.tsybakov.settling import Settling, atoms, settled
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import stated
from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import clip_norm
from dpcheck.harness import accuracy, losses
from dpcheck.harness.refutation import refuted_by, witnessed
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import proved
from dpcheck.interfaces import Algorithm, Array, Constants, Data, Problem, Sample, Schedule, Workload
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run
from dpcheck.verdicts import Point, Verdict, differs
from dpcheck.workloads.sheared import Sheared

from .cases import PRIVACY, number, told


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
    loss = losses.of_replay(seen)
    return refuted_by(
        "tsybakov/rem-2",
        "rem_2_privacy",
        measured=loss.delta(1.0)[0],
        numbers={"epsilon at 1e-5": loss.epsilon(1e-5)[0], "movement over claim": float(seen.movements[0].ratio[0])},
        points=[Point(x=work.a, value=loss.epsilon(1e-5)[0], bound=1.0, series="epsilon of a phase")],
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


@check("tsybakov/rem-2@smooth-pull", kind="stability", grid={"d": (2, 3), "z": (0.1, 1.0, 10.0, 1000.0)})
def two_gradients_of_one_smooth_loss(context: Context, *, d: int, z: float) -> Verdict:
    """Gradients that one convex loss of smoothness z/r may have at the distance r: drawn pairs, and the worst."""
    rng, count = context.rng(), context.scale(5_000, 100_000)
    direction = rng.standard_normal((count, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    apart = z * direction[:, :1] * direction * rng.uniform(0, 1, (count, 1)) ** 0.1  # <D, e> z >= |D|²
    near = rng.standard_normal((count, d)) * 10.0 ** rng.uniform(-1, 1, (count, 1))
    # In a plane, on the sphere of such differences: a unit vector at the angle a, and a difference at the angle b.
    a, b = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 1.5, 300), math.pi / 2 - np.geomspace(1e-4, 1.5, 300)))
    worst = np.zeros((2, a.size, d))
    worst[0, :, 0], worst[0, :, 1] = np.cos(a), np.sin(a)
    worst[1, :, 0], worst[1, :, 1] = z * np.cos(b) ** 2, z * np.cos(b) * np.sin(b)
    apart, near = np.vstack([apart, worst[1]]), np.vstack([near, worst[0]])
    pull = (clip_norm(near, 1.0) - clip_norm(near + apart, 1.0))[:, 0]
    bound = stated("tsybakov/rem-2@smooth-pull", C=1.0, H=z, R=1.0)
    verdict = accuracy.never_violated(
        pull, bound, statement="outward speed <= C(q − 1)/(q + 1)", evidence="certificate",
        covers="two gradients of a convex smooth loss differ as these do, and a square is left over",
    )  # fmt: skip
    return replace(verdict, numbers={**verdict.numbers, "over bound": float(pull.max()) / bound})


class Leaning(Protocol):
    """A loss in the plane, one a trial, of which its mirror images are records as well; `slope` is its gradient."""

    def slope(self, w: Array) -> Array: ...


@dataclass(frozen=True)
class Mirrored:
    """What Algorithm 2 asks of losses on the plane; a record is two signs and 1, or the slope of a line and 0."""

    loss: Leaning

    @property
    def constants(self) -> Constants:
        """Of the plane, and of no more than is known of any loss."""
        return Constants(
            d=2, diameter=lambda p: math.inf, lipschitz=lambda p: math.inf, smoothness=lambda p: math.inf,
            moment=lambda k, m: math.inf,
        )  # fmt: skip

    def gradient(self, w: Array, z: Array) -> Array:
        return np.where(z[..., 2:] > 0, z[..., :2] * self.loss.slope(z[..., :2] * w), z[..., :2])

    def project(self, w: Array) -> Array:
        return w


MIRRORS = [[*signs, 1.0] for signs in itertools.product((1.0, -1.0), (1.0, -1.0))]
NEIGHBOURS = np.array([[*MIRRORS, [-1.0, 0.0, 0.0]], [*MIRRORS, [1.0, 0.0, 0.0]]])
"""Two datasets: as many of each mirror image, and a last record that is linear, with opposite slopes."""


def apart(loss: Leaning, n: int, *, pairs: int, steps: int, eta: float, weight: float) -> Array:
    """Distance of two runs of Algorithm 2 from 0 at clip level 1 whose n-th records differ: (pairs,).

    The trials of the loss are pairs of runs, one beside the other.
    """
    sample = Sample(np.tile(NEIGHBOURS, (pairs, 1, 1)), np.array([[(n - 1) / 4] * 4 + [1.0]]))
    work: Any = Mirrored(loss)
    ends = clipped_descent(work, sample, np.zeros((1, 2)), steps=steps, eta=eta, level=1.0, weight=weight)
    return np.asarray(np.linalg.norm(ends[::2] - ends[1::2], axis=-1))


@dataclass(frozen=True)
class Bent:
    """The losses C w_1 + h(<v, w>) of `rem-2@attained` with C = 1, a sharpness s for each pair of runs."""

    sharpness: Array
    weight: float

    @property
    def smoothness(self) -> Array:
        return np.asarray(2 * self.weight / self.sharpness**3)

    def slope(self, w: Array) -> Array:
        s, H = (np.repeat(each, 2)[:, None] for each in (self.sharpness, self.smoothness))
        v = np.stack([s, np.sqrt(1 - s**2)], axis=-1)
        along = (v * w).sum(axis=-1)
        slope = (1 + np.clip(2 * s * H * along, -1, 1)) / (2 * s)
        return np.asarray(np.array([1.0, 0.0]) + slope[..., None] * v)


def _run(losses: Bent, n: int) -> tuple[Array, float, int]:
    """Distance of the two runs from 0, with the printed number of steps of size 1/(n lambda)."""
    eta, steps = 1 / (n * losses.weight), math.ceil(2 * n * math.log(4 * n))
    moved = apart(losses, n, pairs=len(losses.sharpness), steps=steps, eta=eta, weight=losses.weight)
    return moved, eta, steps


SHARPNESS = np.array([0.199, 0.1, 0.01, 0.001])


@check("tsybakov/rem-2@attained", kind="stability", grid={"n": by_size((5, 41), (5, 41, 401, 4001))})
def two_runs_nearly_as_far_apart_as_any(context: Context, *, n: int) -> Verdict:
    """Both runs in the plane, over conditionings of 250 to 2·10^9, against what the losses promise."""
    losses = Bent(SHARPNESS, 1 / 106)
    moved, eta, steps = _run(losses, n)
    promised = [
        stated("tsybakov/rem-2@attained", C=1.0, lambda_=losses.weight, H=float(H), eta=eta, n=n)
        for H in losses.smoothness
    ]
    most = stated("tsybakov/rem-2@every-loss", C=1.0, lambda_=losses.weight, n=n, eta=eta)
    verdict = accuracy.never_violated(
        promised, moved, statement="(C/lambda)(1 − 2(2 lambda/alpha)^(1/3)) <= movement", evidence="certificate",
        covers="the drift does not change its sign on either side", drawn=False,
    )  # fmt: skip
    return replace(verdict, numbers={**verdict.numbers, "over rem-2@every-loss": moved.max() / most, "steps": steps})


@check("tsybakov/rem-2@smooth", kind="stability", grid={"n": by_size((5, 41), (5, 41, 401))})
def no_two_runs_farther_apart(context: Context, *, n: int) -> Verdict:
    """The runs of `rem-2@attained`, also where they are less conditioned, against the bound for their smoothness."""
    losses = Bent(np.array([0.7, 0.5, 0.3, *SHARPNESS]), 1 / 106)
    moved, eta, _ = _run(losses, n)
    bound = [
        stated("tsybakov/rem-2@smooth", C=1.0, lambda_=losses.weight, H=float(H), eta=eta, n=n)
        for H in losses.smoothness
    ]
    return accuracy.never_violated(
        moved, bound, statement="movement <= (C/lambda)(1 − 2/s + …)", evidence="certificate",
        covers="a step from there leads no farther, by `rem-2@smooth-pull`", drawn=False,
    )  # fmt: skip


@dataclass(frozen=True)
class OnTheBrink:
    """The loss of `rem-2@between` with C = lambda = 1, of one smoothness and its b."""

    smoothness: float
    b: float

    def slope(self, w: Array) -> Array:
        s = 0.5 - 5 * self.b / 7
        v = np.array([s, math.sqrt(1 - s**2)])
        return np.asarray(self.smoothness * (w @ v)[..., None] * v + v[::-1] + self.b * (2 + self.b) * v)


CONDITIONINGS = np.array([9.0, 10.0, 16.0, 32.0, 64.0, 128.0, 249.0])


@check("tsybakov/rem-2@between", kind="stability", grid={"n": (5, 41)})
def two_runs_apart_at_every_conditioning(context: Context, *, n: int) -> Verdict:
    """Both runs in the plane, over conditionings of 9 to 249, with the printed steps; what no smooth loss exceeds."""
    eta = np.minimum(1 / n, 1 / (CONDITIONINGS + 1))
    promised, most = (
        np.array([stated(label, C=1.0, lambda_=1.0, H=H, eta=size, n=records) for H, size in sizes])
        for label, records, sizes in (
            ("tsybakov/rem-2@between", n, zip(CONDITIONINGS.tolist(), eta.tolist(), strict=True)),
            ("tsybakov/rem-2@smooth", 1e12, ((H, 1e-12) for H in CONDITIONINGS.tolist())),
        )
    )
    steps = np.ceil(21 / (promised * eta) * math.log(n)).astype(int).tolist()
    moved = np.concatenate([
        apart(OnTheBrink(H, b), n, pairs=1, steps=T, eta=size, weight=1.0)
        for H, b, T, size in zip(CONDITIONINGS.tolist(), promised.tolist(), steps, eta.tolist(), strict=True)
    ])  # fmt: skip
    verdict = accuracy.never_violated(
        promised, moved, statement="7(alpha − 8 lambda)C/((10 alpha + 28 lambda) lambda) <= movement", drawn=False,
        evidence="certificate", covers="the drift does not change its sign on either side",
    )  # fmt: skip
    seen = {
        f"{name} at alpha = {H:g} lambda": float(ratio)
        for name, ratios in (("rem-2@smooth over it", most / promised), ("movement over it", moved / promised))
        for H, ratio in zip(CONDITIONINGS, ratios, strict=True)
    }
    return replace(verdict, numbers={**verdict.numbers, **seen, "steps": max(steps)})
