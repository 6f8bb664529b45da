"""What is false as printed, each with a witness that is verified in higher precision; and the noise that is private."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from scipy import optimize

from dpcheck.accounting import account
from dpcheck.algorithms.clipping import clip_norm
from dpcheck.algorithms.tsybakov.clipped import clipped_descent
from dpcheck.algorithms.tsybakov.epochs import doubling_parts, part_exponent
from dpcheck.algorithms.tsybakov.localised import corrected
from dpcheck.algorithms.tsybakov.mechanisms import printed_gaussian
from dpcheck.checks import Context, by_size, check
from dpcheck.harness import accuracy
from dpcheck.interfaces import Array, Problem
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Verdict
from dpcheck.workloads.tilted_power import SparseTilt

from ._instances import Sheared, witnessed

INSTANCES = {"a = 1/100": ("1/100", 1024, 3.0), "a = 1/400": ("1/400", 4096, 2.0)}


@check(
    "tsybakov/rem-2",
    kind="stability",
    grid={"instance": by_size(("a = 1/100",), tuple(INSTANCES))},
    expect="refuted",
)
def clipped_descent_moves_by_its_clip_level(context: Context, *, instance: str) -> Verdict:
    """Two runs of Algorithm 2 on neighbouring batches against 2C/(n lambda): smoothness 1, C = 1, eta = 1, d = 2."""
    text, n, K = INSTANCES[instance]
    work, weight, steps = Sheared(1 / int(text[2:]), K), 1 / n, math.ceil(2 * n * math.log(4 * n))
    ends = [
        clipped_descent(
            cast(Any, work),
            work.batch(n, weight, sign),
            np.zeros((1, 2)),
            steps=steps,
            eta=1.0,
            level=1.0,
            weight=weight,
        )
        for sign in (1.0, -1.0)
    ]
    moved, claimed = float(np.linalg.norm(ends[0] - ends[1])), 2 / (n * weight)
    return accuracy.never_violated(
        moved,
        claimed,
        statement="movement <= 2C/(n lambda)",
        witness=lambda _: witnessed(
            "tsybakov/rem-2", "rem_2", claimed, moved, a=text, n=n, K=int(K), eta=1, lambda_=f"1/{n}", steps=steps
        ),
    )


@check("tsybakov/thm-1", kind="privacy", grid={"a": ("1/100", "1/400")}, expect="refuted")
def whole_algorithm_with_records_in_order(context: Context, *, a: str) -> Verdict:
    """Algorithm 3 at epsilon = 1, delta = 1e-5, n = 1024, later losses 0: its Gaussian output has a larger delta(1)."""
    n, K_0, logs = 1024, {"1/100": 3, "1/400": 2}[a], math.log(1e5)
    first = n // 2
    weight = first**-2.0
    work = Sheared(1 / int(a[2:]), float(K_0 * first))

    def fixed_point(sign: float) -> Array:
        batch = work.batch(first, weight, sign)

        def residual(w: Array) -> Array:
            return np.asarray(batch.mean(clip_norm(work.gradient(w[None, None], batch.values), 1.0))[0] + weight * w)

        start = -sign * work.worst(first, weight) / (first * weight)
        found = optimize.root(lambda w: residual(w) / weight, start, tol=1e-13)
        return np.asarray(found.x)

    moved = float(np.linalg.norm(fixed_point(1.0) - fixed_point(-1.0)))
    variance = 0.0
    for j in range(1, 11):
        records, eta = n / 2**j, 4.0 / 4**j
        scale = eta * records ** (2 if j == 1 else 1)
        variance += (8 * 2 ** (-(j - 1) / 2) * math.sqrt(logs) * scale / records) ** 2
    delta = Gaussian(math.sqrt(variance)).delta(1.0, moved)
    return accuracy.never_violated(
        delta,
        1e-5,
        statement="delta(1) of the output <= 1e-5",
        witness=lambda _: witnessed(
            "tsybakov/thm-1", "thm_1_in_order", 1e-5, delta, a=a, K_0=K_0, n=n, epsilon=1, delta="1/100000"
        ),
    )


@check("tsybakov/thm-1@corrected", kind="privacy", grid={"epsilon": (0.1, 1.0, 3.0), "n": (16, 64)})
def noise_per_step_is_private_for_every_loss(context: Context, *, epsilon: float, n: int) -> Verdict:
    """The exact account of all noisy steps, which uses nothing of the loss but the clip level."""
    work = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=4.0, reach=2.0)
    problem = Problem(constants=work.constants, privacy=ApproxDP(epsilon, 1e-5))
    schedule = corrected(noise="steps").schedule(problem, n)
    spent = account(schedule).delta(epsilon)
    return accuracy.never_violated(
        spent,
        1e-5,
        statement="delta(epsilon) <= delta",
        covers="Gaussian steps of sensitivity 2C/n, whatever the loss, compose exactly",
        evidence="certificate",
    )


@check("tsybakov/lem-5", kind="lower-bound", grid={"size": (3, 16, 64)}, expect="refuted")
def centroid_beats_private_fano(context: Context, *, size: int) -> Verdict:
    """Φ(t) = t^4 on the vertices of a unit simplex, equal laws: the centroid is 0-zCDP and has less than the bound."""
    vertices = np.eye(size) / math.sqrt(2)
    risk = float((np.linalg.norm(vertices - vertices.mean(axis=0), axis=1) ** 4).mean())
    bound = (1 - math.log(2) / math.log(size)) / 2
    return accuracy.never_violated(
        bound,
        risk,
        statement="half of Φ times Fano's factor <= average risk",
        witness=lambda _: witnessed("tsybakov/lem-5", "lem_5", bound, risk, size=size, theta=4),
    )


@check("tsybakov/lem-5@corrected", kind="lower-bound", grid={"size": (3, 16, 64)}, expect="inconclusive")
def centroid_respects_fano_at_half_the_distance(context: Context, *, size: int) -> Verdict:
    """The same centroid against Φ(1/2) = 1/16 times Fano's factor."""
    risk, bound = ((size - 1) / (2 * size)) ** 2, (1 - math.log(2) / math.log(size)) / 16
    return accuracy.never_violated(bound, risk, statement="Φ(1/2) times Fano's factor <= average risk")


@check("tsybakov/fact-power-tnc@literal", kind="accuracy", grid={"theta": (2, 4)}, expect="refuted")
def tilted_power_has_constant_one(context: Context, *, theta: int) -> Verdict:
    """Excess over distance^theta at w = -2w*, |w*| = 1."""
    work = SparseTilt(v=np.ones(1), size=1.0, chance=1.0, theta=float(theta), reach=2.0)
    ratio = float(work.excess_risk(np.array([[-2.0]]))[0]) / 3.0**theta
    return accuracy.never_violated(
        1.0,
        ratio,
        statement="1 <= excess/distance^theta",
        witness=lambda _: witnessed("tsybakov/fact-power-tnc@literal", "fact_power_tnc", 1.0, ratio, theta=theta, t=2),
    )


@check("tsybakov/fact-tnc-monotone@literal", kind="accuracy", expect="refuted")
def larger_exponents_on_every_domain(context: Context) -> Verdict:
    """F = w^2 on [-2, 2]: |w|^3 <= w^2 at its end."""
    return accuracy.never_violated(
        8.0,
        4.0,
        statement="|w|^3 <= w^2 at w = 2",
        witness=lambda _: witnessed("tsybakov/fact-tnc-monotone@literal", "fact_tnc_monotone", 8.0, 4.0, w=2, theta=3),
    )


@check("tsybakov/alg-5@literal", kind="runtime", expect="refuted")
def printed_parts_fit_into_the_data(context: Context) -> Verdict:
    """Records asked for at theta_bar = 4, n = 2^16, base-2 logarithms, as a share of n."""
    share = sum(doubling_parts(2**16, 4.0, part_exponent(4.0, "printed"))) / 2**16
    return accuracy.never_violated(
        share,
        1.0,
        statement="records asked for <= n",
        witness=lambda _: witnessed("tsybakov/alg-5@literal", "alg_5_sizes", 1.0, share, log_n=16, theta_bar=4),
    )


@check("tsybakov/def-3@literal", kind="privacy", expect="refuted")
def gaussian_mechanism_near_delta_one(context: Context) -> Verdict:
    """The exact curve at epsilon = 1, delta = 0.999."""
    found = printed_gaussian(1.0, 1.0, 0.999).delta(1.0, 1.0)
    return accuracy.never_violated(
        found,
        0.999,
        statement="exact delta <= delta",
        witness=lambda _: witnessed("tsybakov/def-3@literal", "def_3", 0.999, found, epsilon=1, delta="999/1000"),
    )


@check("tsybakov/def-3@corrected", kind="privacy", expect="inconclusive")
def gaussian_mechanism_below_delta_099(context: Context) -> Verdict:
    """The exact curve on a grid of epsilon in (0, 1] and delta in [1e-15, 0.99]."""
    count = context.scale(40, 200)
    pairs = [(e, d) for e in np.linspace(0.02, 1, count) for d in np.geomspace(1e-15, 0.99, count)]
    found = [printed_gaussian(1.0, float(e), float(d)).delta(float(e), 1.0) for e, d in pairs]
    return accuracy.never_violated(found, [d for _, d in pairs], statement="exact delta <= delta")
