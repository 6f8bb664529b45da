"""Appendices F.1 and F.2: scores of the Lipschitz extension, and their evaluation (Algorithm 6)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.algorithms.pure_heavy_tails import LocalizedApproxEM
from dpcheck.algorithms.pure_heavy_tails.sampling import (
    ApproxLocalPotential,
    LocalPotential,
)
from dpcheck.algorithms.pure_heavy_tails.subgradient import adaptive_inexact_subgradient, exact
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.executed import as_stated
from dpcheck.engine.statements import stated
from dpcheck.errors import InvalidInput
from dpcheck.harness import runtime
from dpcheck.harness.plans import answered, wrongly_answered
from dpcheck.harness.relations import judged
from dpcheck.interfaces import Array, Sample
from dpcheck.laws import Exponential
from dpcheck.verdicts import Verdict, combine, differs, holds, refuted, undecided
from dpcheck.workloads.amplitudes import Pareto
from dpcheck.workloads.linear import RareSpikes
from dpcheck.workloads.mean import HeavyMean
from dpcheck.workloads.median import WeightedMedian

from . import plans
from .cases import opposite_spikes, problem
from .lemmas import STAGE, as_printed, potential, small, told, wide

# Lemma F.1 -------------------------------------------------------------------------------------------------------


@check("pure_heavy_tails/lem-f-1", kind="privacy")
def centring_changes_nothing(context: Context) -> Verdict:
    """The exponential mechanism has the same law whatever the anchor: exact probabilities on 400 points."""
    work, m = HeavyMean(), 25
    sample = work.draw(context.rng("data"), context.scale(5, 50), m)
    w = np.linspace(-1, 1, 400)[None, :, None]
    law = Exponential(3.0)
    reference, worst = None, 0.0
    for anchor in (-1.0, -0.2, 0.0, 0.9):
        values = law.probabilities(potential(work, sample, 0.3, np.full((1, 1), anchor), 1.0, 0.5)(w))
        reference = values if reference is None else reference
        worst = max(worst, float(np.abs(values / reference - 1).max()))
    numbers = {"largest relative difference": worst, "anchors": 4}
    said = f"probabilities under four anchors differ by {worst:.2g} of themselves; a constant cancels in the normaliser"
    return judged(worst, "<", 1e-9, said, "certificate", numbers=numbers)


def _moved_scores(context: Context, anchor: float) -> tuple[Array, Array]:
    """q_Z - q_Z' at 201 points of U = [-1, 1], centred at `anchor`, on drawn neighbours and the worst: (pairs, 201)."""
    m, cap, rows = 12, 0.7, []
    rng, u = context.rng("pairs"), np.full((1, 1), anchor)
    w = np.linspace(-1, 1, 201)[None, :, None]
    for work, size in ((HeavyMean(), 1e3), (wide(2.0), 1e3), (RareSpikes(D=2.0), 1.0)):
        data = work.rows(rng, context.scale(20, 200), m)
        other = data.copy()
        other[:, 0] = size * rng.choice([-1.0, 1.0], size=other[:, 0].shape)
        steep = opposite_spikes(m, size)
        for a, b in ((data, other), steep):
            ones = np.ones((1, m))
            first, second = (potential(work, Sample(z, ones), 0.0, u, cap, 0.5)(w) for z in (a, b))
            rows.append(first - second)
    return np.concatenate(rows), w[0, :, 0]


@check("pure_heavy_tails/lem-f-1", kind="sensitivity")
def centred_sensitivity(context: Context) -> Verdict:
    """A centred score moves by at most 2 C D_U/m for any anchor; opposite linear losses attain it at the far end."""
    bound = stated("pure_heavy_tails/lem-f-1", C=0.7, D=2.0, m=12)
    worst = max(float(np.abs(_moved_scores(context, anchor)[0]).max()) for anchor in (-1.0, 0.0, 1.0))
    numbers = {"largest change": worst, "bound": bound}
    said = f"largest change of a score {worst:.6g}, 2 C D_U/m = {bound:.6g}"
    if worst > bound * (1 + 1e-9):
        return refuted(said, "exact", numbers=numbers)
    if worst < bound * (1 - 1e-9):
        return undecided(f"{said}: not attained", "exact", numbers=numbers)
    return holds(f"{said}, attained; by hand, f_C(w) - f_C(u_0) is at most C |w - u_0|", "certificate", numbers=numbers)


@check("pure_heavy_tails/lem-f-1@derived", kind="sensitivity")
def centred_by_radius(context: Context) -> Verdict:
    """Centred in the middle of U a score moves by at most 2CR/m, and the range of the change is at most 2 C D_U/m."""
    return combine(_centred(context, radius) for radius in (0.5, 1.0))


def _centred(context: Context, R: float) -> Verdict:
    """The part of U within R of its middle as a domain of its own."""
    bound = stated("pure_heavy_tails/lem-f-1@derived", C=0.7, R=R, m=12)
    moved, places = _moved_scores(context, 0.0)
    moved = moved[:, np.abs(places) <= R]
    size, spread = float(np.abs(moved).max()), float(np.ptp(moved, axis=1).max())
    law = Exponential(0.5 / (2 * 2 * bound))  # epsilon/(2 Delta_U) with epsilon = 1/2, Delta_U = 2 C D_U/m
    numbers = {
        "largest change": size,
        "2CR/m": bound,
        "largest range": spread,
        "epsilon by range": law.coefficient * spread,
    }
    said = f"largest change {size:.6g} of {bound:.6g}, largest range {spread:.6g} of {2 * bound:.6g}"
    if size > bound * (1 + 1e-9) or spread > 2 * bound * (1 + 1e-9):
        return refuted(said, "exact", numbers=numbers)
    if size < bound * (1 - 1e-9):
        return undecided(f"{said}: not attained", "exact", numbers=numbers)
    return holds(f"{said}; by hand, the change is (2C/m)-Lipschitz and 0 at the anchor", "certificate", numbers=numbers)


@check("pure_heavy_tails/lem-f-1@derived", kind="privacy")
def half_by_range(context: Context) -> Verdict:
    """With coefficient epsilon/(2 Delta_U) the exact loss is at most epsilon/2; linear losses approach it."""
    eps, cap, m, width = 1.0, 0.7, 12, 2.0
    law = Exponential(eps / (2 * 2 * cap * width / m))
    w = np.linspace(-1, 1, 4001)[None, :, None]
    worst = 0.0
    for slope in (0.0, cap, 1e3):
        a, b = opposite_spikes(m, 1e3)
        a[0, 1:], b[0, 1:] = slope, slope
        for weight in (1e-3, 50.0):
            ones = np.ones((1, m))
            scores = [potential(wide(2.0), Sample(z, ones), 1.0, np.zeros((1, 1)), cap, weight)(w) for z in (a, b)]
            worst = max(worst, exact_epsilon(*(law.probabilities(s)[0] for s in scores)))
    numbers = {"realised": worst, "epsilon/2": eps / 2}
    said = f"exact epsilon {worst:.6g} over six pairs, {eps / 2} by range"
    if worst > eps / 2 * (1 + 1e-9):
        return refuted(said, "exact", numbers=numbers)
    return holds(f"{said}; by hand, a law changes by e^(coefficient range) at most", "certificate", numbers=numbers)


# Algorithm 6, Lemma F.2 --------------------------------------------------------------------------------------------


def _evaluated(context: Context, alpha_in: float, m: int) -> tuple[Array, Array, Any]:
    """Potentials of Algorithm 6 and exact ones at six points, and the workload that counted the inner steps."""
    work, cap = WeightedMedian(D=1.0), 0.8
    rng = context.rng("data", m)
    z = np.stack([rng.uniform(0.2, 2.0, (2, m)), rng.uniform(-0.5, 0.5, (2, m))], axis=-1)
    counting = runtime.CountingWorkload(work)
    given = (Sample(z, np.ones((1, m))), np.zeros((1, 1)), np.full((2, 1), 0.1), cap, 0.5)
    w = np.broadcast_to(np.linspace(-0.4, 0.5, 6)[None, :, None], (2, 6, 1))
    return ApproxLocalPotential(counting, *given, alpha_in=alpha_in)(w), LocalPotential(work, *given)(w), counting


def _evaluator_error(context: Context) -> Verdict:
    """The error of Algorithm 6 against the claimed bound, of which an inner solver that errs by all that it may uses
    up a quarter, whatever the numbers."""
    alpha_in, size = 0.4, context.scale(3, 8)
    approx, exact, _ = _evaluated(context, alpha_in, size)
    given = {"epsilon": 1.0, "C": 0.8, "lambda_": 0.5, "m": size, "d": 1}
    coefficient = 1.0 / (8 * stated("pure_heavy_tails/alg-7", **given))
    error, allowed = np.abs(approx - exact) * coefficient, _allowed(alpha_in, **given)
    shares = [_adversary(inner, **drawn) / _allowed(inner, **drawn) for inner, drawn in _drawn(context)]
    worst = float(error.max())
    numbers = {"measured": worst, "claimed": allowed, "share of the worst legal solver": max(shares)}
    said = f"errors up to {worst:.4g}, {allowed:.4g} claimed; {max(shares):.4g} of it with the worst solver"
    if worst > allowed or max(shares) > 1 + 1e-9:
        return refuted(said, "exact", numbers=numbers)
    if max(abs(share - 0.25) for share in shares) > 1e-9:
        return differs(f"{said}, {min(shares):.4g} elsewhere: a quarter of the bound is true as well, and no less")
    return holds(f"{said}; by hand, both averages err by [0, alpha_in/4]", "certificate", numbers=numbers)


def _allowed(alpha_in: float, **given: float) -> float:
    return float(stated("pure_heavy_tails/lem-f-2", alpha=alpha_in, **given))


def _adversary(alpha_in: float, **given: float) -> float:
    """alpha_in/4 in every point and nothing at the anchor, with the coefficient of the score."""
    return alpha_in / 4 * given["epsilon"] / (8 * float(stated("pure_heavy_tails/alg-7", **given)))


def _drawn(context: Context) -> list[tuple[float, dict[str, float]]]:
    """Numbers of which none is 1, and no two are the same."""
    rng = context.rng("numbers")
    names = ("epsilon", "C", "lambda_", "alpha")
    rows = np.exp(rng.uniform(-2.5, 2.5, (context.scale(8, 40), len(names))))
    sizes = rng.integers(2, 400, (len(rows), 2))
    return [
        (float(row[3]), {**dict(zip(names[:3], map(float, row), strict=False)), "m": float(m), "d": float(d)})
        for row, (m, d) in zip(rows, sizes, strict=True)
    ]


@check("pure_heavy_tails/alg-6", kind="accuracy", also=("pure_heavy_tails/lem-f-2",))
def evaluator_error(context: Context) -> Verdict:
    """Algorithm 6 with inner gaps alpha_in/4 is within alpha_in/4 of the potential, before its coefficient."""
    return _evaluator_error(context)


def _evaluator_steps(context: Context, alpha_in: float) -> Verdict:
    _, _, counting = _evaluated(context, alpha_in, 3)
    bound = math.ceil((12 * 1.0 * (2.0 + 0.8) / alpha_in) ** 2)
    # One batch for the points, one for the anchor: each asks for as many subgradients as its slowest member.
    return replace(
        runtime.verdict(counting.gradients / 2, bound, what="inner steps", x=1 / alpha_in),
        axes=("1/alpha_in", "inner steps"),
    )


class _Patient(runtime.CountingWorkload):
    """A workload that refuses more than so many gradients."""

    def __init__(self, workload: Any, most: int) -> None:
        super().__init__(workload)
        self.most = most

    def gradient(self, w: Array, z: Array) -> Array:
        if self.gradients >= self.most:
            raise InvalidInput(f"more than {self.most:,} gradients are asked for")
        return super().gradient(w, z)


@check("pure_heavy_tails/alg-6", kind="accuracy", also=("pure_heavy_tails/alg-7",))
def scores_of_the_printed_evaluator(context: Context) -> Verdict:
    """What Algorithm 7 releases with Algorithm 6 inside is its evaluation to the printed alpha_in at the middles of the
    cells; lambda is so small that Algorithm 3 takes few steps, and not one.
    """
    m, C, weight, epsilon, count, trials = 4, 1.0, 7e-3, 0.9, 8, context.scale(6, 60)
    work, rows, start = small(context, 1, trials, m)
    rng = context.rng("answers")
    answers = rng.uniform(-1, 1, (trials, 1)), rng.integers(0, count, (trials, 1)).astype(float)
    algorithm, setting = LocalizedApproxEM(C=C, lambda_=weight, count=count, evaluator="alg-6"), problem(work, epsilon)
    settings = {"gap": "pure_heavy_tails/alg-7@inner-gap"}
    # Scores err by half of alpha_in.
    planned, alpha_in = (
        2 * phases[-1].gap
        for phases in (
            algorithm.schedule(setting, m).phases,
            as_stated(algorithm, setting, m, settings, symbols=STAGE, reading="printed-evaluator").phases,
        )
    )
    if not alpha_in / 4 < planned < 4 * alpha_in:  # what is run takes steps without end for a small one
        return differs(f"alpha_in = {planned:.6g} is planned, {alpha_in:.6g} is stated", "exact")
    most = 2 * math.ceil((12 * 2.0 * (np.abs(rows).max() + C) / alpha_in) ** 2)
    replayed: list[Any] = []

    def replay() -> None:
        replayed.extend(told(algorithm, _Patient(work, most), setting, rows, start, answers))

    if wrong := wrongly_answered([(f"a replay in {most:,} steps", replay, True)]):
        return answered(wrong, "")
    _, (_, point), _ = replayed
    middles = np.broadcast_to(np.linspace(-1, 1, 2 * count + 1)[1::2], (trials, count))
    fine, coarse = (_scores_by_hand(rows, middles, answers[0], start, C, weight, part * alpha_in) for part in (1, 2))
    if np.allclose(fine, coarse):
        return undecided("twice the alpha_in gives the same scores here", "exact")
    return as_printed({"scores of the cells": (point.core, fine)})


def _scores_by_hand(
    rows: Array, w: Array, anchor: Array, centre: Array, C: float, weight: float, alpha_in: float
) -> Array:
    """Potentials of linear losses at w, (trials, K), less those at the anchor, every f_C by Algorithm 3 from the point
    itself to alpha_in/4, one record of one trial at a time.
    """

    def extension(at: Array, z: float) -> Array:
        def slope(y: Array) -> Array:
            return z + C * np.sign(y - at)

        onto = exact(lambda y: np.clip(y, -1, 1))
        y = adaptive_inexact_subgradient(slope, onto, at, alpha_in / 4, 2.0).point
        return (z * y + C * np.abs(at - y))[:, 0]

    def potentials(trial: int) -> Array:
        at = np.append(w[trial], anchor[trial])[:, None]
        losses = [extension(at, float(z)) for z in rows[trial, :, 0]]
        values = np.mean(losses, axis=0) + weight / 2 * (at[:, 0] - float(centre[0, 0])) ** 2
        return np.asarray(values[:-1] - values[-1])

    return np.array([potentials(trial) for trial in range(len(rows))])


@check("pure_heavy_tails/alg-6", kind="transcription", also=("pure_heavy_tails/alg-7",))
def calls_of_both_evaluators(context: Context) -> Verdict:
    """What Algorithm 7 plans to ask for, and what it says of its releases, by evaluator, sampler and dimension."""
    return as_printed(plans.lines_of_sampling())


@check("pure_heavy_tails/alg-6", kind="runtime", grid={"alpha_in": by_size([1.0, 0.5], [1.0, 0.5, 0.25])})
def evaluator_steps(context: Context, *, alpha_in: float) -> Verdict:
    """Algorithm 3 inside Algorithm 6 halts within ceil((12 D (Gamma + C)/alpha_in)^2) steps, Gamma = max A_i."""
    return _evaluator_steps(context, alpha_in)


@check("pure_heavy_tails/lem-f-2", kind="runtime", grid={"alpha_in": by_size([1.0], [1.0, 0.35])})
def polynomial_on_the_event(context: Context, *, alpha_in: float) -> Verdict:
    """The same steps on E_Gamma, and Pr(E_Gamma) >= 1 - delta for Pareto records, exactly."""
    weight, missed = Pareto(3.0), []
    for size in (1, 30, 10**5):
        for failure in (0.5, 0.1, 1e-3):
            level = weight.moment(2.0) ** 0.5 * (size / failure) ** 0.5
            missed.append(-math.expm1(size * math.log1p(-min(1.0, level**-3.0))) / failure)
    if max(missed) > 1:
        return refuted(f"E_Gamma fails with {max(missed):.4g} delta", "exact")
    steps = _evaluator_steps(context, alpha_in)
    return replace(steps, numbers={**steps.numbers, "largest Pr(not E_Gamma)/delta": max(missed)})
