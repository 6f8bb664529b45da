"""Appendix D: subgradient oracles of the Lipschitz extension, and descent with biased subgradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.algorithms.pure_heavy_tails import StructuredDoubleOutputPert
from dpcheck.algorithms.pure_heavy_tails.reformulation import (
    DirectSubgradient,
    ridge_subgradient,
    socp_subgradient,
)
from dpcheck.algorithms.pure_heavy_tails.subgradient import biased_subgradient, constant_step
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import explicit_of, stated
from dpcheck.geometry import Ball, Box, Domain, Ellipsoid
from dpcheck.harness import accuracy, runtime
from dpcheck.harness.plans import answered, wrongly_answered
from dpcheck.harness.symbolic import proved
from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.solvers import Task
from dpcheck.solvers.extension import extension_gradient, lipschitz_extension, searched_extension
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Point, Verdict, differs, holds, refuted
from dpcheck.workloads.linear import RareSpikes
from dpcheck.workloads.links import Hinge
from dpcheck.workloads.mean import HeavyMean
from dpcheck.workloads.median import WeightedMedian
from dpcheck.workloads.ridge import BallRidge, RidgeWorkload

from .cases import problem
from .lemmas import as_printed, norms_apart

# Oracles for the extension ------------------------------------------------------------------------------------------

LINE: dict[str, Any] = {
    "spikes": RareSpikes(D=2.0, p=0.4),
    "median": WeightedMedian(D=2.0),
    "mean": HeavyMean(D=4.0, tail=2.5),
}


@check("pure_heavy_tails/def-d-3", kind="accuracy", grid={"loss": tuple(LINE)})
def clipped_slope_is_an_oracle(context: Context, *, loss: str) -> Verdict:
    """On a line the clipped derivative is an exact oracle: B = 0, norm at most C, for random points and records."""
    work, rng, size, C = LINE[loss], context.rng(), context.scale(4000, 100_000), 0.8
    z = work.rows(rng, 1, size)[0]
    w, u = (work.project(work.D * (rng.random((size, 1)) - 0.5)) for _ in range(2))
    g = extension_gradient(work, w, z, C)
    at_w, at_u = (lipschitz_extension(work, x, z, C) for x in (w, u))
    left = np.concatenate([at_w + (g * (u - w))[:, 0], np.abs(g[:, 0])])
    right = np.concatenate([at_u + 1e-9 * (1 + np.abs(at_u)), np.full(size, stated(context.label, C=C))])
    return accuracy.never_violated(
        left,
        right,
        statement="f_C(w) + <g, u - w> <= f_C(u), |g| <= 2C",
        covers="on a line the derivative of f_C is clip(derivative of f), and f_C is convex",
        evidence="certificate",
    )


@check("pure_heavy_tails/def-d-3", kind="transcription", grid={"C": (0.7, 2.0)})
def steps_for_the_longest_answers(context: Context, *, C: float) -> Verdict:
    """Theorem D.4 plans as many steps as Lemma D.5 takes with answers as long as the definition allows, the regulariser
    added.
    """
    m, lam, work = 6, 1.5, WeightedMedian(D=2.0)
    plan = StructuredDoubleOutputPert(C=C, lambda_=lam).schedule(problem(work, 1.0), m)
    longest = stated(context.label, C=C) + lam * work.D
    stages = [stated("pure_heavy_tails/proc-biased-psgd", D=work.D, L=longest, alpha=s.gap) for s in plan.phases]
    said = f"{plan.gradients:,} gradients are planned, {m * sum(stages):,.0f} with answers of length {longest:g}"
    make = holds if plan.gradients == m * sum(stages) else differs
    return make(said, "counted", numbers={"planned": plan.gradients, "taken": m * sum(stages)})


@dataclass(frozen=True)
class _Piecewise:
    """max_j (a_j . w + b_j) on a set in the plane; a record is ignored."""

    slopes: Array
    intercepts: Array
    domain: Domain

    @property
    def constants(self) -> Constants:
        steep = float(np.linalg.norm(self.slopes, axis=1).max())
        return Constants(
            d=2,
            diameter=self.domain.diameter,
            lipschitz=lambda p: steep,
            smoothness=lambda p: 0.0,
            moment=lambda k, m: steep,
        )

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray((w @ self.slopes.T + self.intercepts).max(axis=-1))

    def project(self, w: Array) -> Array:
        return self.domain.project(w)


PLANE: dict[str, Domain] = {
    "ball": Ball(d=2, radius=1.0),
    "box": Box(np.array([-1.0, -0.5]), np.array([0.5, 1.0])),
    "ellipsoid": Ellipsoid([1.0, 0.5]),
}

LOSSES: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "hinge": lambda a: (np.array([0 * a, -a]), np.array([0.0, 1.0])),
    "absolute": lambda a: (np.array([a, -a]), np.array([-0.3, 0.3])),
    "affine": lambda a: (np.array([a]), np.array([0.2])),
}


def conic_oracle(context: Context, loss: str, place: str, cases: int, label: str) -> Verdict:
    """The multiplier of (16) against the definition: inequality at random points, and a claim on its norm."""
    rng, K, C, sides, bias = context.rng(), PLANE[place], 0.8, [], 0.0
    for _ in range(cases):
        a = rng.standard_normal(2) * rng.uniform(0.3, 3.0)
        slopes, intercepts = LOSSES[loss](a)
        work: Any = _Piecewise(slopes, intercepts, K)
        w = K.project(rng.uniform(-1, 1, (1, 2)))[0]
        subgradient = socp_subgradient(w, slopes, intercepts, K, C)
        u = K.project(rng.uniform(-1, 1, (3, 2)))
        *at_u, at_w = searched_extension(work, np.concatenate([u, w[None]]), np.zeros((4, 1)), C)
        sides.append((subgradient.value - subgradient.bias + (u - w) @ subgradient.vector, np.array(at_u) + 1e-7))
        sides.append((np.array([at_w - 1e-5]), np.array([subgradient.value])))  # from above
        sides.append((np.array([np.linalg.norm(subgradient.vector)]), np.array([stated(label, C=C) * (1 + 1e-9)])))
        bias = max(bias, subgradient.bias)
    left, right = (np.concatenate([side[i] for side in sides]) for i in (0, 1))
    answer = accuracy.never_violated(
        left,
        right,
        statement="f_C(w) + <g, u - w> - B <= f_C(u), norm",
        failure_probability=context.failure_probability,
    )
    numbers = {**answer.numbers, "largest recomputed bias B": bias}
    if bias > 1e-5:
        return refuted(f"the multipliers are certified only to B = {bias:.2g}", "exact", numbers=numbers)
    return replace(answer, numbers=numbers)


@check(
    "pure_heavy_tails/prop-d-6",
    kind="accuracy",
    grid={"loss": tuple(LOSSES)},
    expect=("consistent", "undecided"),
    needs=("cvxpy", "clarabel"),
)
def multiplier_is_a_subgradient(context: Context, *, loss: str) -> Verdict:
    """On the disc the multiplier is a B-approximate subgradient of norm at most C, B from the recomputed dual value."""
    return conic_oracle(context, loss, "ball", context.scale(2, 12), "pure_heavy_tails/prop-d-6")


@check(
    "pure_heavy_tails/proc-socp-subgrad",
    kind="accuracy",
    grid={"place": ("ball", "box")},
    expect=("consistent", "undecided"),
    needs=("cvxpy", "clarabel"),
)
def conic_oracle_meets_its_promise(context: Context, *, place: str) -> Verdict:
    """The oracle (16) for the hinge loss, on a ball and on a box."""
    return conic_oracle(context, "hinge", place, context.scale(2, 12), "pure_heavy_tails/prop-d-6")


@check(
    "pure_heavy_tails/cor-d-7",
    kind="accuracy",
    grid={"loss": tuple(LOSSES), "place": by_size(["ellipsoid"], tuple(PLANE))},
    expect=("consistent", "undecided"),
    needs=("cvxpy", "clarabel"),
)
def structured_losses_have_an_oracle(context: Context, *, loss: str, place: str) -> Verdict:
    """Affine, hinge and absolute losses on a ball, a box and an ellipsoid meet Definition D.3, norm 2C."""
    return conic_oracle(context, loss, place, context.scale(2, 5), "pure_heavy_tails/def-d-3")


CONIC: dict[str, Any] = {"kind": "accuracy", "needs": ("cvxpy", "clarabel")}


@check("pure_heavy_tails/proc-socp-subgrad", also=("pure_heavy_tails/prop-d-6",), **CONIC)
def conic_oracle_by_hand(context: Context) -> Verdict:
    """One piece on the disc, at points of its axis: its own slope where that is at most C, else C towards the far end.
    Three pieces on an interval: the clipped slope of the steepest; the least of f(y) + C |w - y| is at a crossing.
    """
    # unbound: the extension and its slope themselves, which the statement only bounds
    found: list[Any] = []
    values, slopes = [], []

    def ask(w: Array, pieces: Array, intercepts: Array, domain: Domain, C: float) -> None:
        found.append(socp_subgradient(w, pieces, intercepts, domain, C))

    a, b, steep = np.array([0.9, 1.2]), 0.2, 1.5
    cases: list[tuple[Array, Array, Array, Domain, float]] = []
    for C, at in ((0.8, -0.5), (0.8, 0.3), (2.0, 0.3)):
        cases.append((at * a / steep, a[None], np.array([b]), Ball(d=2, radius=1.0), C))
        values.append(b - steep + C * (1 + at) if steep > C else b + steep * at)
        slopes += list(min(1.0, C / steep) * a)
    pieces, intercepts, C = np.array([-2.0, 0.5, 3.0]), np.array([0.0, 0.1, -0.9]), 0.8
    y = np.array([-1.0, -0.04, 0.4, 0.7])  # the ends of the interval, and where two pieces cross
    for at in (-0.5, 0.1, 0.6):
        cases.append((np.array([at]), pieces[:, None], intercepts, Box(np.array([-1.0]), np.array([0.7])), C))
        at_y = np.append(y, at)
        values.append(float(((at_y[:, None] * pieces + intercepts).max(axis=1) + C * np.abs(at - at_y)).min()))
        slopes.append(float(np.clip(pieces[(at * pieces + intercepts).argmax()], -C, C)))
    asked = [(f"a subgradient at {case[0]}", partial(ask, *case), True) for case in cases]
    if wrong := wrongly_answered([*asked, ("a cap of 0", partial(ask, *cases[-1][:-1], 0.0), False)]):
        return answered(wrong, "")
    lines = {
        "the extension": (np.array([each.value for each in found]), np.array(values)),
        "its slope": (np.concatenate([each.vector for each in found]), np.array(slopes)),
    }
    biases = [each.bias for each in found]
    if not 0 <= min(biases) <= max(biases) <= 1e-9:
        return differs(f"exact answers are said to be off by {min(biases):.3g} to {max(biases):.3g}", "exact")
    return as_printed(lines, within=1e-7)


class _Ridge(RidgeWorkload):
    """max(0, 1 - <a, w> + t) on a disc, a record is (a, t); what its extension is, it does not know."""

    record_shape = (3,)
    link = Hinge()
    domain = Ball(d=2, radius=0.7)
    constants = Constants(
        d=2, diameter=lambda p: 1.4 * 3 ** (1 / p - 1 / 2), lipschitz=lambda p: np.inf, smoothness=lambda p: np.inf,
        moment=lambda k, m: 1.0,
    )  # fmt: skip

    def features(self, z: Array) -> tuple[Array, Array]:
        return z[..., :2], z[..., 2]

    def project(self, w: Array) -> Array:
        return self.domain.project(w)

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        """Every other one is steep."""
        sizes = np.where(np.arange(n) % 2, 3.0, 0.2)
        return rng.standard_normal((trials, n, 3)) * sizes[:, None] + np.array([1.5, -2.0, 0.4])

    def excess_risk(self, w: Array) -> Array:
        raise NotImplementedError


class _BallRidge(_Ridge, BallRidge):
    """The same with its extension found on one line."""


def _steps_by_hand(task: Task, slopes: Callable[[Array], Array], bias: float) -> tuple[Array, float]:
    """The average of Lemma D.5 in a plain loop, from the centre, by the slopes of single records at (trials, d), and
    the gap that it promises."""
    D, C = task.workload.constants.diameter(2.0), float(task.cap or 0.0)
    L = 2 * C + task.weight * D
    T = math.ceil((4 * D * L / task.gap) ** 2)
    eta = D / (L * math.sqrt(T))
    trials = max(len(task.centre), len(task.sample.values))
    x, visited = np.broadcast_to(task.centre, (trials, task.centre.shape[1])), []
    for _ in range(T):
        visited.append(x)
        x = task.workload.project(x - eta * (slopes(x).mean(axis=1) + task.weight * (x - task.centre)))
    xi = min(D, task.gap * eta / (6 * D))
    at = {"D": D, "eta": eta, "T": T, "L": L, "B": bias, "xi": xi}
    return np.mean(visited, axis=0), float(stated("pure_heavy_tails/lem-d-5", **at))


def _as_by_hand(runs: Iterable[tuple[Task, Callable[[Array], Array], float]], within: float) -> Verdict:
    """What the direct solver returns and promises of each task, and the same in plain loops."""
    found: list[Any] = []
    wanted = []
    for task, slopes, bias in runs:
        asked = [("a run of the solver", lambda task=task: found.append(DirectSubgradient()(task)), True)]
        if wrong := wrongly_answered(asked):  # type: ignore[arg-type]
            return answered(wrong, "")
        wanted.append(_steps_by_hand(task, slopes, bias))
    points = tuple(np.concatenate([each.ravel() for each in some]) for some in (
        [one.point for one in found], [point for point, _ in wanted]
    ))  # fmt: skip
    gaps = np.array([one.gap for one in found]), np.array([gap for _, gap in wanted])
    return as_printed({"points after all steps": points, "gaps that are promised": gaps}, within=within)


@check("pure_heavy_tails/lem-d-5", kind="accuracy", also=("pure_heavy_tails/proc-structured-double-op",))
def direct_steps_by_hand(context: Context) -> Verdict:
    """The solver of Theorem D.4 with an exact oracle, on a line and in the plane, and in the plane by the gradients of
    records that are gentle, where a bias of a quarter of the gap is set aside. On the line steps leave the domain.
    """
    rng, C, gap = context.rng("records"), 0.3, 2.5
    line, plane, bare = norms_apart(RareSpikes(D=1.6)), _BallRidge(), _Ridge()
    rows = bare.rows(rng, 2, 3)
    gentle, up = rows * 0.02, np.abs(rows[..., :1])
    runs: list[tuple[Task, Callable[[Array], Array], float]] = []
    for work, z, slopes, bias, centre in (
        (line, up, lambda x: np.minimum(up, C), 0.0, np.full((1, 1), -0.7)),
        (plane, rows, lambda x: plane.extension_gradient(x[:, None], rows, C), 0.0, np.array([[-0.1, -0.3]])),
        (bare, gentle, lambda x: bare.gradient(x[:, None], gentle), gap / 4, np.array([[0.1, -0.3]])),
    ):
        sample = Sample(z, np.ones((1, 3)))
        runs.append((Task(workload=work, sample=sample, weight=0.2, centre=centre, cap=C, gap=gap), slopes, bias))
    return _as_by_hand(runs, 1e-9)


@check("pure_heavy_tails/proc-socp-subgrad", also=("pure_heavy_tails/cor-d-7", "pure_heavy_tails/lem-d-5"), **CONIC)
def conic_steps_by_hand(context: Context) -> Verdict:
    """Two steps of it by the conic oracle, and those of an oracle that knows the extension of hinges: records of every
    trial or of all, steep and flat, from one centre or many. They stay off the boundary, where there is more than one
    subgradient.
    """
    # unbound: the steps of one solver by another oracle
    rng, C, gap = context.rng("records"), 0.3, 13.5
    record, bare, known = np.array([1.5, -2.0, 0.4]), _Ridge(), _BallRidge()
    if wrong := wrongly_answered(
        (f"the extension to {bias}", partial(ridge_subgradient, bare, np.zeros(2), record, C, bias), bias >= 0)
        for bias in (1e-9, -1e-9)
    ):
        return answered(wrong, "")
    runs: list[tuple[Task, Callable[[Array], Array], float]] = []
    for trials, centres in ((2, 1), (1, 2)):
        rows = bare.rows(rng, trials, 2)
        centre = bare.project(rng.uniform(-0.2, 0.2, (centres, 2)))
        task = Task(workload=bare, sample=Sample(rows, np.ones((1, 2))), weight=2.0, centre=centre, cap=C, gap=gap)
        runs.append((task, lambda x, rows=rows: known.extension_gradient(x[:, None], rows, C), gap / 4))  # type: ignore[misc]
    return _as_by_hand(runs, 1e-6)


# Lemma D.5 ----------------------------------------------------------------------------------------------------------


def biased_run(context: Context, alpha: float, bias: float) -> tuple[Array, Array, float, float]:
    """Gaps and steps of Lemma D.5 on a weighted l1 norm, all errors as large as allowed; L, and D = 2."""
    rng, trials, K, D = context.rng(), context.scale(8, 32), Ball(d=2, radius=1.0), 2.0
    a = np.array([1.0, 2.0])
    b = K.project(rng.uniform(-0.6, 0.6, (trials, 2)))
    push = rng.standard_normal((trials, 2))
    push *= bias / D / np.linalg.norm(push, axis=1, keepdims=True)  # <push, u - x> <= bias on K
    L = float(np.linalg.norm(a)) + bias / D

    def sloppy(x: Array, xi: Array) -> Array:
        away = rng.standard_normal(x.shape)
        return K.project(K.project(x) + xi[:, None] * away / np.linalg.norm(away, axis=1, keepdims=True))

    halted = biased_subgradient(
        lambda x: a * np.where(x >= b, 1.0, -1.0) + push,
        sloppy,
        K.project(-np.ones((trials, 2))),
        alpha,
        D,
        L,
        bias=bias,
    )
    return np.abs(halted.point - b) @ a, np.asarray(halted.steps, dtype=float), L, D


ALPHAS = by_size([0.4], [0.4, 0.2])


@check(
    "pure_heavy_tails/lem-d-5",
    kind="accuracy",
    grid={"alpha": ALPHAS, "share": (0.0, 1.0)},
    expect=("consistent", "undecided"),
    also=("pure_heavy_tails/proc-biased-psgd",),
)
def biased_gap(context: Context, *, alpha: float, share: float) -> Verdict:
    """The gap of the average against the bound with every term, at the largest bias or none."""
    gaps, _, L, D = biased_run(context, alpha, share * alpha / 4)
    T, eta, xi = constant_step(D, L, alpha)
    bound = stated(context.label, D=D, eta=eta, T=T, L=L, B=share * alpha / 4, xi=xi)
    verdict = accuracy.never_violated(
        gaps,
        min(bound, alpha),
        statement="gap <= the sum of all terms <= alpha",
        failure_probability=context.failure_probability,
    )
    return replace(
        verdict,
        points=[Point(x=1 / alpha, value=float(gaps.max()), bound=bound, series=f"B = {share:g} alpha/4")],
        axes=("1/alpha", "largest gap"),
    )


@check("pure_heavy_tails/lem-d-5@derived", kind="accuracy", grid={"alpha": ALPHAS}, expect=("consistent", "undecided"))
def biased_gap_three_quarters(context: Context, *, alpha: float) -> Verdict:
    """Under the last conditions the gap is at most 3 alpha/4."""
    gaps = biased_run(context, alpha, alpha / 4)[0]
    return accuracy.never_violated(
        gaps,
        stated(context.label, alpha=alpha),
        statement="gap <= 3 alpha/4",
        failure_probability=context.failure_probability,
    )


@check("pure_heavy_tails/lem-d-5@derived", kind="symbolic")
def three_quarters_of_the_lemma(context: Context) -> Verdict:
    """DL/sqrt(T) <= alpha/4, B <= alpha/4, and D xi/eta + xi^2/(2 eta) <= alpha/6 + alpha/12 for xi <= D."""
    D, L, alpha, eta = (BY_NAME[name] for name in ("D", "L", "alpha", "eta"))
    T = (4 * D * L / alpha) ** 2
    step, xi = D / (L * sp.sqrt(T)), alpha * eta / (6 * D)
    shrink = sp.Symbol("s", nonnegative=True)  # xi = D/(1+s) at most
    return proved(
        {
            "D^2/(2 eta T) + eta L^2/2 = alpha/4": D**2 / (2 * step * T) + step * L**2 / 2 - alpha / 4,
            "D xi/eta = alpha/6": D * xi / eta - alpha / 6,
            "alpha/4 + alpha/4 + alpha/6 + alpha/12": alpha / 2 + alpha / 6 + alpha / 12 - explicit_of(context.label),
        },
        {"xi^2/(2 eta) <= D xi/(2 eta)": D / 2 - D / (1 + shrink) / 2},
    )


@check("pure_heavy_tails/proc-biased-psgd", kind="accuracy")
def lines_of_lemma_d_5(context: Context) -> Verdict:
    """x_{t+1} = P(x_t - eta g_t) with one eta, and the average of x_1, ..., x_T, in a plain loop."""
    alpha, D, L, K, a = 0.5, 2.0, 1.5, Ball(d=2, radius=1.0), np.array([0.9, 1.2])
    b = K.project(context.rng("instance").uniform(-0.6, 0.6, (context.scale(8, 32), 2)))
    start = K.project(-np.ones((len(b), 2)))
    asked: list[Array] = []

    def slope(x: Array) -> Array:
        return a * np.where(x >= b, 1.0, -1.0)

    def project(x: Array, xi: Array) -> Array:
        asked.append(xi)
        return K.project(x)

    halted = biased_subgradient(slope, project, start, alpha, D, L, bias=alpha / 8)
    T = stated("pure_heavy_tails/proc-biased-psgd", D=D, L=L, alpha=alpha)
    x, visited, eta = start, [], D / (L * math.sqrt(T))
    for _ in range(round(T)):
        visited.append(x)
        x = K.project(x - eta * slope(x))
    claimed = stated("pure_heavy_tails/lem-d-5", D=D, eta=eta, T=T, L=L, B=alpha / 8, xi=asked[0][0])
    return as_printed(
        {
            "the average of x_1, ..., x_T": (halted.point, np.mean(visited, axis=0)),
            "T": (halted.steps.astype(float), np.full(len(b), T)),
            "accuracy asked of projections": (np.array(asked), np.full((round(T), len(b)), alpha * eta / (6 * D))),
            "the gap that is certified": (np.array([halted.gap]), np.array([claimed])),
        }
    )


def _biased_steps(context: Context, alpha: float) -> Verdict:
    _, steps, L, D = biased_run(context, alpha, alpha / 4)
    verdict = runtime.verdict(
        steps, stated("pure_heavy_tails/proc-biased-psgd", D=D, L=L, alpha=alpha), what="steps", x=1 / alpha
    )
    return replace(verdict, axes=("1/alpha", "steps"))


@check("pure_heavy_tails/lem-d-5", kind="runtime", grid={"alpha": ALPHAS}, also=("pure_heavy_tails/proc-biased-psgd",))
def biased_steps(context: Context, *, alpha: float) -> Verdict:
    """T = ceil((4DL/alpha)^2) steps."""
    return _biased_steps(context, alpha)
