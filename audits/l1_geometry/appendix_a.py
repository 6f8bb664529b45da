"""Appendix A: one entropic mirror step expands distances; on linear losses the whole run is stable."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import sympy as sp

from dpcheck.algorithms.l1_geometry import MultiPassMirrorDescent
from dpcheck.algorithms.l1_geometry.entropic import eg_step
from dpcheck.checks import Context, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.executed import as_stated, run_as_stated
from dpcheck.engine.settings import NUMBERED, settings
from dpcheck.geometry import Entropy
from dpcheck.harness import accuracy
from dpcheck.harness.lines import Told
from dpcheck.harness.plans import answered, wrongly_answered
from dpcheck.harness.relations import judged
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import agree, proved
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Verdict

from .cases import linear, problem

OF_ALGORITHM_4 = {"steps": "l1_geometry/alg-4@steps", "gradients": "l1_geometry/alg-4@gradients"}
PASSES = {"phases": "R"}
settings_of_alg_4 = settings(
    "l1_geometry/alg-4",
    OF_ALGORITHM_4,
    symbols=PASSES,
    beside={"number": NUMBERED, "eta": "given"},
    fields={"passes": (1, 2, 5), "eta": (0.1, 0.5)},
)
ON_THE_SIMPLEX = linear(3, shape="simplex")
run_of_alg_4 = run_as_stated(
    "l1_geometry/alg-4", OF_ALGORITHM_4, ON_THE_SIMPLEX, problem(ON_THE_SIMPLEX), 25,
    fields={"passes": 3}, symbols=PASSES,
)  # fmt: skip


@check("l1_geometry/proc-eg-step", kind="accuracy")
def step_solves_the_mirror_problem(context: Context) -> Verdict:
    """At x+ the gradient of <g, x> + KL(x, x_k)/eta is constant over coordinates: the optimality condition on the
    simplex.
    """
    rng, size = context.rng(), context.scale(500, 5000)
    x, g, eta = rng.dirichlet(np.ones(5), size), rng.standard_normal((size, 5)), 0.7
    after = eg_step(x, g, eta)
    slope = g + (np.log(after) - np.log(x)) / eta
    return agree((slope - slope[:, :1] + 1).ravel(), np.ones(slope.size), "slopes, less the first, plus 1", 1e-9)


@check("l1_geometry/lem-a1", kind="stability")
def expansion_by_algebra(context: Context) -> Verdict:
    """Both ratios are e^eta/c, c = 1 + 3(e^eta - 1)/N = 1 + 3 eta/100, and (1 + eta + eta^2/2)/c is what is stated at
    least.
    """
    eta, N = sp.symbols("eta N", positive=True)
    E = sp.exp(eta)
    points = [(1 - 3 / N, 1 / N, 2 / N), (1 - 3 / N, 2 / N, 1 / N)]
    after = []
    for x in points:
        c = x[0] + E * (x[1] + x[2])
        after.append((x[0] / c, x[1] * E / c, x[2] * E / c))
    near, far = ([sp.simplify(a - b) for a, b in zip(*pair, strict=True)] for pair in (points, after))
    kl = [sum(a * sp.log(sp.simplify(a / b)) for a, b in zip(*pair, strict=True)) for pair in (points, after)]
    c = 1 + 3 * (E - 1) / N
    stated = claim("l1_geometry/lem-a1").explicit.subs(BY_NAME["eta"], eta)
    gap = sp.expand((1 + eta + eta**2 / 2) - stated * (1 + 3 * eta / 100))
    return proved(
        {
            "distance": sp.simplify(far[1] / near[1] - E / c),
            "divergence": sp.simplify(kl[1] / kl[0] - E / c),
        },
        {"growth, by e^eta >= 1 + eta + eta^2/2": gap},
    )


@check("l1_geometry/lem-a1", kind="stability", grid={"eta": (0.05, 0.5, 1.0)})
def expansion_in_numbers(context: Context, *, eta: float) -> Verdict:
    """The step itself, N = 100 (e^eta - 1)/eta: both ratios are e^eta/c, which is what is stated at least."""
    N = 100 * np.expm1(eta) / eta
    x, y = np.array([1 - 3 / N, 1 / N, 2 / N]), np.array([1 - 3 / N, 2 / N, 1 / N])
    g = np.array([0.0, -1.0, -1.0])
    u, v = eg_step(x, g, eta), eg_step(y, g, eta)
    ratios = [np.abs(u - v).sum() / np.abs(x - y).sum(), Entropy().bregman(u, v) / Entropy().bregman(x, y)]
    wanted = np.exp(eta) / (1 + 3 * np.expm1(eta) / N)
    stated = float(claim("l1_geometry/lem-a1").evaluate(eta=eta))
    verdict = agree(ratios, [wanted, wanted], "growth", 1e-10)
    if verdict.outcome != "holds":
        return verdict
    said = f"both ratios are {wanted:.6g}, {stated:.6g} is stated at least"
    return judged(float(wanted), ">=", stated, said, "exact", numbers=verdict.numbers, severity=stated / wanted)


def _runs(context: Context, trials: int, eta: float, passes: int) -> tuple[np.ndarray, np.ndarray]:
    """Symmetrised divergence and squared distance of the last iterates on neighbours, given the orders."""
    work = linear(3, shape="simplex")
    case = Case(MultiPassMirrorDescent(eta=eta, passes=passes, returned="last"), work, problem(work))
    rng = context.rng(eta, passes)
    data = rng.uniform(-1, 1, (trials, 6, 3))
    other = data.copy()
    other[:, 0] = rng.uniform(-1, 1, (trials, 3))
    data[0, :, :] = 0.0
    other[0, :, :] = 0.0
    data[0, 0], other[0, 0] = [1, -1, -1], [-1, 1, 1]
    seen = case.replay(data, other, trials, context.seed)
    assert seen.other is not None
    h = Entropy()
    both = h.bregman(seen.returned, seen.other) + h.bregman(seen.other, seen.returned)
    return both, np.abs(seen.returned - seen.other).sum(axis=1) ** 2


@check("l1_geometry/lem-a2", kind="stability")
def stability_by_algebra(context: Context) -> Verdict:
    """The tight pair: symmetrised divergence 4a tanh a and squared distance 4 tanh^2 a, a = eta L R, of which the bound
    is the limit for small a.
    """
    a = sp.Symbol("a", positive=True)
    x = [sp.exp(a) / (sp.exp(a) + sp.exp(-a)), sp.exp(-a) / (sp.exp(a) + sp.exp(-a))]
    y = x[::-1]
    both = sum((u - v) * sp.log(sp.simplify(u / v)) for u, v in zip(x, y, strict=True))
    square = (2 * (x[0] - x[1])) ** 2
    tanh = sp.tanh(a).rewrite(sp.exp)
    eta, L, R = (BY_NAME[name] for name in ("eta", "L", "R"))
    over = 4 * a * sp.tanh(a) / claim("l1_geometry/lem-a2").explicit
    return proved(
        {
            "divergence": sp.simplify(both - 4 * a * tanh),
            "distance": sp.simplify(square - 4 * tanh**2),
            "the bound for small eta": sp.limit(sp.simplify(over.subs(a, eta * L * R)), eta, 0) - 1,
        }
    )


@check("l1_geometry/lem-a2", kind="stability", grid={"eta": (0.1, 0.5), "passes": (1, 3)}, expect="consistent")
def stability_of_linear_runs(context: Context, *, eta: float, passes: int) -> Verdict:
    """Algorithm 4 on random neighbours: |x_T - y_T|_1^2 <= symmetrised KL <= 4 eta^2 L^2 R^2."""
    both, squared = _runs(context, context.scale(200, 3000), eta, passes)
    bound = float(claim("l1_geometry/lem-a2").evaluate(eta=eta, L=1.0, R=passes))
    return accuracy.never_violated(
        np.concatenate([squared, both]), np.concatenate([both + 1e-12, np.full(len(both), bound)]),
        statement="|x - y|^2 <= KL + KL <= 4 eta^2 L^2 R^2", failure_probability=context.failure_probability,
    )  # fmt: skip


@check("l1_geometry/alg-4", kind="accuracy")
def lines_of_the_passes(context: Context) -> Verdict:
    """The printed lines on linear losses, told the orders of two passes: the average of all iterates is returned."""
    work, start, algorithm = ON_THE_SIMPLEX, np.array([[0.2, 0.3, 0.5]]), MultiPassMirrorDescent(eta=0.3, passes=2)
    told = Told.of(context, algorithm, work, problem(work), 5, start)
    x, seen = told.start, []
    for row in as_stated(algorithm, problem(work), 5, OF_ALGORITHM_4, symbols=PASSES).phases:
        for record in np.moveaxis(told.lines.drawn(told.records), 1, 0)[: row.steps]:
            x = x * np.exp(-row.eta * work.gradient(x, record))
            x = x / x.sum(axis=1, keepdims=True)
            seen.append(x)
    return told.judged(np.asarray(np.mean(seen, axis=0)))


@check("l1_geometry/alg-4", kind="transcription")
def fields_of_the_passes(context: Context) -> Verdict:
    """Steps and passes of a positive number, and starts inside of the simplex, are run; others are not."""
    work, kind = linear(3, shape="simplex"), MultiPassMirrorDescent
    asked = [
        (f"{name} = {value}", partial(kind, **{name: value}), legal)
        for name, value, legal in (
            ("eta", 0.0, False), ("eta", 0.5, True), ("eta", 1.5, True), ("eta", math.inf, False),
            ("passes", 0, False), ("passes", 1, True), ("returned", "first", False), ("returned", "last", True),
        )
    ]  # fmt: skip
    for first, legal in ((0.0, False), (0.2, True)):
        start = np.array([[first, 0.3, 0.7 - first]])
        asked.append(
            (f"a start at {first}", lambda start=start: Told.of(context, kind(), work, problem(work), 3, start), legal)
        )
    return answered(wrongly_answered(asked), f"{len(asked)} fields and starts are as they are to be")


@check("l1_geometry/alg-4", kind="stability")
def order_does_not_matter_for_linear_losses(context: Context) -> Verdict:
    """The last iterate is softmax of -eta R times the sum of all records, whatever the orders."""
    work = linear(3, shape="simplex")
    algorithm, n = MultiPassMirrorDescent(eta=0.2, passes=2, returned="last"), 6
    from dpcheck.running import Fixed

    data = work.rows(context.rng("data"), 40, n)
    points = algorithm.fit(work, Fixed(data), problem(work), rng=context.rng("orders"), trials=40)
    wanted = Entropy().inverse(-0.2 * 2 * data.sum(axis=1))
    return agree(points.ravel(), wanted.ravel(), "last iterate", 1e-9)
