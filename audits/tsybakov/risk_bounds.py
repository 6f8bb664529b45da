"""Bounds with constants: accelerated SGD, the reduction of Theorem 2, the minimisers of Lemma 3, and the examples."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from dpcheck.algorithms.tsybakov import LocalisedClipped, PermutedAccelerated
from dpcheck.algorithms.tsybakov.clipped import clipped_descent, limit_point
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import bound_of, stated
from dpcheck.harness import accuracy, rate, risk, symbolic
from dpcheck.harness.budget import with_budget
from dpcheck.interfaces import Array
from dpcheck.symbols import D
from dpcheck.verdicts import Verdict, holds, refuted
from dpcheck.workloads.linear import TwoPoint
from dpcheck.workloads.power_well import PowerWell
from dpcheck.workloads.regularised import RegularisedPopulation
from dpcheck.workloads.tilted_power import SparseTilt

from ._risk import ANY, localised, problem, well

# Algorithm 3 with its constants ------------------------------------------------------------------------------------


@check(
    "tsybakov/thm-1@phase",
    kind="risk",
    grid={"theta": (2.0, 4.0), "weight": (0.05, 0.3), "level": (4.0, 10.0), "n": by_size((1024,), (256, 4096))},
)
def one_phase_within_constants(context: Context, *, theta: float, weight: float, level: float, n: int) -> Verdict:
    """The limit of a phase on wells with rare spikes, k = 2, from the start 0, against the bound at u = w*."""
    work, values = well(theta, 4.0, chance=1 / 64), []
    for rng, size in context.chunks(context.scale(4000, 10_000, 100_000), 8):
        sample = work.draw(rng, size, n)
        gap = 1e-3 * level / (n * weight)
        ends = limit_point(work, sample, np.zeros((1, 1)), level=level, weight=weight, gap=gap)
        values.append(work.excess_risk(ends))
    c = work.constants
    bound = claim("tsybakov/thm-1@phase").evaluate(
        lambda_=weight, D=2.0, n=n, k=2.0, C=level, r_2=c.moment(2.0, 1), r_2k=c.moment(4.0, 1)
    )
    return risk.expectation(
        np.concatenate(values), float(bound), context.failure_probability, limit=work.worst, x=n,
        series=f"theta = {theta:g}, lambda = {weight:g}, C = {level:g}",
    )  # fmt: skip


@check(
    "tsybakov/alg-3@corrected",
    kind="risk",
    also=("tsybakov/thm-1@summed",),
    grid={"theta": (2.0, 4.0), "k": (2.0, 4.0), "n": by_size((2**20,), (2**16, 2**20, 2**24, 2**28))},
)
def localised_risk_within_constants(context: Context, *, theta: float, k: float, n: int) -> Verdict:
    """The corrected Algorithm 3 on power wells at epsilon = 1 against its bound with every constant."""
    # The bound does not need the Lipschitz condition of Theorem 1.
    algorithm, work = localised(k, lipschitz="ignored"), well(theta, 2 * k)
    return within(context, algorithm, work, n, bound_of("tsybakov/thm-1@summed", algorithm, problem(work, 1.0), n))


# Algorithm 6 with its constants ------------------------------------------------------------------------------------


def within(
    context: Context,
    algorithm: PermutedAccelerated | LocalisedClipped,
    work: PowerWell,
    n: int,
    bound: float,
    variable: str = "n",
) -> Verdict:
    """Mean excess risk at epsilon = 1 against a bound; over n, or that axis."""
    # Betting below the largest risk takes about log(1/failure probability) times its ratio to the bound.
    trials = min(60_000, max(context.scale(4000, 6000, 40_000), math.ceil(30 * work.worst / bound)))
    values = risk.excess_risks(
        algorithm, work, problem(work, 1.0), n, trials, context.seed, context.label,
        context.name, dict(context.cell), gradients=ANY,
    )  # fmt: skip
    series = rate.named(context.cell, variable)
    return risk.expectation(
        values, bound, context.failure_probability, limit=work.worst, x=float(context.cell[variable]),
        variable=variable, series=series,
    )  # fmt: skip


@check(
    "tsybakov/thm-6@derived",
    kind="risk",
    grid={
        "calibration": ("plain", "literal"),
        "theta": (2.0, 4.0),
        "d": (1, 3),
        "n": by_size((2**16, 2**24), (2**16, 2**20, 2**24, 2**28)),
    },
)
def accelerated_risk_within_constants(context: Context, *, calibration: str, theta: float, d: int, n: int) -> Verdict:
    """Algorithm 6 on power wells with spikes, at k = 2, against the bound with every constant."""
    work = well(theta, 2.0, chance=0.01, d=d)
    algorithm = PermutedAccelerated(k=2.0, calibration=calibration)  # type: ignore[arg-type]
    return within(context, algorithm, work, n, bound_of("tsybakov/thm-6@derived", algorithm, problem(work, 1.0), n))


@check(
    "tsybakov/fact-acsa@derived",
    kind="risk",
    grid={"T": by_size((16, 32), (16, 32, 64, 128, 256)), "theta": (2.0, 4.0)},
)
def unbiased_acceleration_within_constants(context: Context, *, T: int, theta: float) -> Verdict:
    """Accelerated SGD without clipping on power wells, batches of 4096 records: 4HD²/(T(T+1)) + the noise term."""
    work, n = well(theta, 2.0), 4096 * T
    algorithm = PermutedAccelerated(level=work.constants.lipschitz(2.0), batches=T, calibration="plain")
    plan, c, width = algorithm.plan(problem(work, 1.0), n), work.constants, work.constants.diameter(2.0)
    noise = math.sqrt(plan.sigma**2 + c.moment(2.0, 1) ** 2 / plan.b)
    bound = stated("tsybakov/fact-acsa@derived", H=c.smoothness(2.0), D=width, T=plan.T, Sigma=noise)
    return within(context, algorithm, work, n, bound, variable="T")


@check(
    "tsybakov/fact-acsa",
    kind="rate",
    grid={"theta": (2.0, 4.0), "T": by_size((16, 64, 256), [2**j for j in range(3, 11)], [2**j for j in range(3, 14)])},
    conclude=rate.conclude("T", axis="mean excess risk"),
    expect=("consistent", "undecided"),
)
def acceleration_in_the_number_of_steps(context: Context, *, theta: float, T: int) -> dict[str, float]:
    """Accelerated SGD without clipping, batches of 64 records, against HD²/T² + DΣ/√T: the noise dominates, -1/2."""
    work, n = well(theta, 2.0), 64 * T
    algorithm = PermutedAccelerated(level=work.constants.lipschitz(2.0), batches=T, calibration="plain")
    plan, c, width = algorithm.plan(problem(work, 3.0), n), work.constants, work.constants.diameter(2.0)
    noise = math.sqrt(plan.sigma**2 + c.moment(2.0, 1) ** 2 / plan.b)
    values = risk.excess_risks(
        algorithm, work, problem(work, 3.0), n, context.scale(200, 400, 2000), context.seed, context.label,
        context.name, dict(context.cell), gradients=ANY,
    )  # fmt: skip
    smooth, noisy = c.smoothness(2.0) * width**2 / T**2, width * noise / math.sqrt(T)
    return {**risk.summary(values, smooth + noisy), "exponent": (-2 * smooth - noisy / 2) / (smooth + noisy)}


@check("tsybakov/alg-7@literal", kind="accuracy", grid={"T": (1, 5)}, expect="refuted")
def printed_weights_start_below_one(context: Context, *, T: int) -> Verdict:
    """What the start 0 weighs in the output when all later points are at the end -1: 2/((T+1)(T+2)), and not 0.

    Runs of our Algorithm 6 with the weights of Algorithm 7, hardly any noise, steps longer than the domain.
    """
    line = TwoPoint(D=2.0, G=1.0, rho=1.0)
    algorithm, told, n = (
        PermutedAccelerated(weights="printed", batches=T, noise_dial=1e-12),
        problem(line, 1.0),
        10**6 * T,
    )
    excess = risk.excess_risks(algorithm, line, told, n, 1, context.seed, context.name, T, gradients=ANY)
    left = float(excess[0])
    found = accuracy.never_violated(left, 0.0, statement="weight of the start <= 0")
    found = replace(found, severity=left, numbers={**found.numbers, "2/((T+1)(T+2))": 2 / ((T + 1) * (T + 2))})
    return with_budget(found, algorithm, told, n)


# Theorem 2's reduction ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Adversary:
    """Any legal answer of a call on [low, high]: excess at most `allowed` over the best point there; the worst one."""

    work: PowerWell
    worst: bool = True

    def __call__(self, low: float, high: float, allowed: float, rng: np.random.Generator) -> float:
        c = float(self.work.c[0])
        near = min(max(c, low), high)
        room = (self.work.theta / self.work.weight * (self._value(near) + allowed)) ** (1 / self.work.theta)
        ends = [max(low, c - room), min(high, c + room)]
        if not self.worst:
            return float(rng.uniform(*sorted(ends)))
        return max(ends, key=lambda w: abs(w - c))

    def _value(self, w: float) -> float:
        return float(self.work.excess_risk(np.array([[w]]))[0])


@check("tsybakov/thm-2@derived", kind="accuracy", grid={"theta": (2.0, 3.0, 4.0)}, expect="consistent")
def shrinking_balls_against_an_adversary(context: Context, *, theta: float) -> Verdict:
    """Algorithm 4 with the worst legal answers in one dimension: final excess against 4(2a)^(θ/(θ-1)) λ^(-1/(θ-1))."""
    rng, left, right = context.rng(), [], []
    for trial in range(context.scale(300, 3000, 30_000)):
        c, weight = float(rng.uniform(-1, 1)), float(np.exp(rng.uniform(-2, 2)))
        work = PowerWell(c=np.array([c]), v=np.ones(1), theta=theta, weight=weight)
        growth, m, R_0 = weight / theta, int(rng.integers(1, 12)), 2.0
        # lambda between mu_0 and mu_m.
        a = growth / (2 * R_0 ** (1 - theta)) * 2 ** (-(theta - 1) * rng.uniform(0, m))
        answer, w, radius = Adversary(work, worst=trial % 3 > 0), float(rng.uniform(-1, 1)), R_0
        for _ in range(m):
            w = answer(max(-1.0, w - radius), min(1.0, w + radius), radius * a, rng)
            radius /= 2
        left.append(float(work.excess_risk(np.array([[w]]))[0]))
        right.append(stated("tsybakov/thm-2@derived", a=a, theta=theta, lambda_=growth))
    return accuracy.never_violated(
        left, right, statement="final excess <= the bound", failure_probability=context.failure_probability
    )


# Lemma 3 ------------------------------------------------------------------------------------------------------------


@check("tsybakov/lem-3", kind="risk", grid={"spread": (0.5, 1.0, 3.0)}, expect="consistent")
def empirical_minimiser_at_hidden_constant_one(context: Context, *, spread: float) -> Verdict:
    """λ/2 |w - c|² - <w, x>, x a fair sign: the exact (1 - 1/n)-quantile of the minimiser's excess, constant 1."""
    left, right = [], []
    for j, weight in itertools.product(range(3, context.scale(14, 20, 26)), (0.1, 1.0, 10.0)):
        n = 2**j
        work = PowerWell(c=np.array([0.5]), v=np.ones(1), size=spread, chance=1.0, weight=weight)
        # |mean| beyond its quantile at 1 - 1/n, moved as far as the domain lets it.
        high = float(stats.binom.ppf(1 - 1 / (2 * n), n, 0.5))
        moved = spread * (2 * high / n - 1) / weight
        far = max(abs(min(0.5 + moved, 1.0) - 0.5), abs(max(0.5 - moved, -1.0) - 0.5))
        left.append(weight / 2 * far**2)
        given = {"n": n, "beta": 1 / n, "L": work.constants.lipschitz(2.0), "D": 2.0, "lambda": weight}
        right.append(claim("tsybakov/lem-3").evaluate(**given))
    return accuracy.never_violated(
        left,
        right,
        statement="quantile of the excess <= the order with constant 1",
        drawn=False,
    )


# Noise on every step ------------------------------------------------------------------------------------------------


@check(
    "tsybakov/thm-1@derived",
    kind="risk",
    grid={"weight": (0.1, 1.0), "level": (0.5, 5.0), "d": (1, 3)},
)
def noisy_steps_add_their_share(context: Context, *, weight: float, level: float, d: int) -> Verdict:
    """E|w_T - w_T without noise|² of one phase on an isotropic quadratic, clipped or not, against ηds²/λ."""
    work = SparseTilt(v=np.eye(d)[0], size=2.0, chance=0.25, theta=2.0, reach=4.0)
    rng, eta, s = context.rng(), 0.5, 0.3
    batch = work.draw(rng, 1, 64)
    steps = math.ceil(2 / (weight * eta) * math.log(4 / (weight * eta)))
    start, settings = np.zeros((1, d)), {"steps": steps, "eta": eta, "level": level, "weight": weight}
    calm = clipped_descent(work, batch, start, **settings)  # type: ignore[arg-type]
    trials = context.scale(400, 4000, 40_000)

    def noisy(g: Array) -> Array:
        return g + s * rng.standard_normal((trials, d))

    shaken = clipped_descent(work, batch, np.repeat(start, trials, axis=0), answer=noisy, **settings)  # type: ignore[arg-type]
    moved = ((shaken - calm) ** 2).sum(axis=1)
    # |x|⁴ of x = (1 - ηλ)x' + ηξ at the fixed point of its recursion; clipped steps contract at least as much.
    rho = 1 - eta * weight
    fourth = (4 + 2 * d) * (eta * s * rho) ** 2 * eta * d * s**2 / weight + (eta * s) ** 4 * d * (d + 2)
    fourth /= 1 - rho**4
    found = risk.expectation(
        moved,
        stated("tsybakov/thm-1@derived", eta=eta, d=d, lambda_=weight, sigma=s),
        context.failure_probability,
        variance=fourth,
        quantity="squared distance",
    )
    printed = 2 * math.log(4 / (weight * eta))
    return replace(found, numbers={**found.numbers, "over the printed noise": printed})


# Examples -----------------------------------------------------------------------------------------------------------


@check("tsybakov/fact-power-tnc@corrected", kind="accuracy", grid={"theta": (2.0, 2.5, 3.0, 4.0, 6.0)})
def growth_on_the_smaller_ball(context: Context, *, theta: float) -> Verdict:
    """2^(1-θ) against excess over |w - w*|^θ on |w| <= |w*|, on a grid of lengths and angles, -w* among them."""
    r, angle = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, math.pi, 201))
    w = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1).reshape(-1, 2)
    work = SparseTilt(v=np.array([1.0, 0.0]), size=1.0, chance=1.0, theta=theta, reach=1.0)
    apart = np.linalg.norm(w - work.best, axis=1)
    w, apart = w[apart > 1e-3], apart[apart > 1e-3]
    ratio = work.excess_risk(w) / apart**theta
    found = accuracy.never_violated(
        stated("tsybakov/fact-power-tnc@corrected", theta=theta),
        ratio,
        statement="2^(1-θ) <= excess/distance^θ",
        covers="the excess is at least half the squared distance, as its radial part falls to 0, and distances are at "
        "most 2; both are equalities at -w*",
        evidence="certificate",
    )
    return replace(found, numbers={**found.numbers, "least ratio times 2^(θ-1)": float(ratio.min()) * 2 ** (theta - 1)})


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
        x = rng.standard_normal((200, d))
        y = (x.sum(axis=1) + rng.logistic(size=200) > 0).astype(float)
        work = RegularisedPopulation(x, y, "logistic", ridge)
        w = work.project(rng.standard_normal((context.scale(200, 2000), d)) * rng.uniform(0, 3))
        left.append(stated("tsybakov/ex-logistic", lambda_=ridge) * ((w - work.population_minimiser) ** 2).sum(axis=1))
        right.append(work.excess_risk(w) + work.constants.extra["risk_tolerance"])
    worst = max(float((a / b).max()) for a, b in zip(left, right, strict=True))
    make: Any = holds if worst <= 1 else refuted
    reason = (
        f"(ridge/2)|w - w*|² is at most {worst:.4g} of F - F*: the logistic part is convex, the ridge gives the rest"
    )
    return make(reason, "certificate", numbers={"largest ratio": worst, "diameter": float(D.subs(D, 2))})
