"""What privacy for every loss costs in risk, what moments save as the Lipschitz constant grows, and gradient counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.tsybakov import (
    IteratedAccelerated,
    IteratedLocalised,
    LocalisedClipped,
    MinibatchSGD,
    PermutedAccelerated,
    StochasticApproximation,
)
from dpcheck.algorithms.tsybakov.clipped import clipped_descent
from dpcheck.algorithms.tsybakov.localised import corrected
from dpcheck.checks import Context, by_size, check
from dpcheck.harness import rate, risk, runtime
from dpcheck.interfaces import Algorithm, Array, Constants
from dpcheck.verdicts import Point, Verdict
from dpcheck.workloads.power_well import PowerWell, rare_spikes

from ._risk import ANY, SMALL, approximation, even_calls, order_at, problem, well

# Noise that is private for every loss -------------------------------------------------------------------------------


def _compared(context: Context, noise: str, n: int, trials: int) -> dict[str, float]:
    """Mean risk with another noise over mean risk with the printed one, at epsilon = 100, on a well of exponent 2.

    At smaller epsilon the noise fills the domain at sizes that can be run step by step, and all noises cost the same.
    """
    work = well(2.0, 4.0, chance=1.0)
    setting = problem(work, 100.0)
    found = {}
    for which in ("output", noise):
        algorithm = LocalisedClipped(
            **{**LocalisedClipped.readings["corrected"], "noise": which, "largest_epsilon": "proved"}
        )
        values = risk.excess_risks(
            algorithm, work, setting, n, trials, context.seed, context.label, context.name, n, which, gradients=ANY
        )
        found[which] = (float(values.mean()), float(values.std(ddof=1) / math.sqrt(trials)))
    (plain, error), (other, its) = found["output"], found[noise]
    ratio = other / plain
    return {"mean": ratio, "se": ratio * math.hypot(error / plain, its / other), "printed": plain, "other": other}


@check(
    "tsybakov/thm-1@corrected",
    kind="rate",
    grid={"n": by_size((64, 256, 1024), [2**j for j in range(5, 11)], [2**j for j in range(5, 14)])},
    conclude=rate.conclude("n", axis="risk over that with the printed noise", against="share of variance, 2 log(4n_1)"),
    expect=("consistent", "undecided"),
)
def private_noise_costs_a_logarithm(context: Context, *, n: int) -> dict[str, float]:
    """Risk with noise on each step over risk with the printed noise, against its share of variance, 2 log(4n_1)."""
    found = _compared(context, "steps", n, context.scale(200, 400, 2000))
    return {**found, "bound": 2 * math.log(2 * n)}


@check(
    "tsybakov/thm-1@trivial",
    kind="rate",
    grid={"n": by_size((64, 256, 1024), [2**j for j in range(5, 11)], [2**j for j in range(5, 14)])},
    conclude=rate.conclude("n", axis="risk over that with the printed noise", against="factor n_1² of its variance"),
    expect=("consistent", "undecided"),
)
def noise_at_the_trivial_movement_costs_more(context: Context, *, n: int) -> dict[str, float]:
    """Risk with output noise at 2C/λ over risk with the printed noise, against the factor n_1² of its variance."""
    found = _compared(context, "trivial", n, context.scale(200, 400, 2000))
    return {**found, "bound": (n / 2) ** 2}


# Moments against the Lipschitz constant -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Blunt(PowerWell):
    """The same problem, known by its Lipschitz constant alone: every moment is declared to be as large."""

    @property
    def constants(self) -> Constants:
        known = super().constants
        return replace(known, moment=lambda k, m: known.lipschitz(2.0))


def _advantage(rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], failure_probability: float) -> Verdict:
    """The moment-based risk against its order, which does not know L_f; the others' risks as further series."""
    own: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [
        ({}, {**found, "mean": found["moments"], "se": found["moments se"]}) for _, found in rows
    ]
    found = rate.conclude("L", axis="mean excess risk")(own, failure_probability)
    x = np.log([float(measured["L"]) for _, measured in rows])
    numbers = dict(found.numbers)
    points = [replace(p, series="Algorithm 4, clipped by its moments") for p in found.points]
    for name, series in (("Lipschitz", "Algorithm 4, clipped at L_f"), ("sgd", "accelerated SGD, clipped at L_f")):
        values = np.array([float(m[name]) for _, m in rows])
        gain = np.log(values / np.array([float(m["moments"]) for _, m in rows]))
        numbers[f"advantage over {series}, last"] = float(np.exp(gain[-1]))
        numbers[f"its exponent in L_f over {series}"] = float(np.polyfit(x, gain, 1)[0])
        for _, m in rows:
            v, e = float(m[name]), float(m[f"{name} se"])
            points.append(Point(x=float(m["L"]), value=v, lower=max(0.0, v - e), upper=v + e, series=series))
    said = "; ".join(
        f"{key}: {float(value):.3g}" for key, value in numbers.items() if "advantage" in key or "its" in key
    )
    return replace(
        found,
        reason=f"{found.reason}; {said}",
        numbers=numbers,
        points=points,
        axes=("L_f", "mean excess risk"),
        dashed="order of the moments, its constant set to 1",
    )


@check(
    "tsybakov/thm-2@phases",
    kind="rate",
    grid={"rarity": by_size((16, 28, 40), range(4, 45, 8), range(4, 45, 4))},
    conclude=_advantage,
    expect=("consistent", "undecided"),
)
def moments_beat_the_lipschitz_constant(context: Context, *, rarity: int) -> dict[str, float]:
    """Spikes of chance 2^-rarity and fixed fourth moment: risk by moments, and by L_f, which is 2^(rarity/4) and more.

    Algorithm 4 in its corrected form at k = 2 on a well of exponent 2, n about 2^38, epsilon = 1e-6; the same told
    only L_f, with exponent k = 10^6, which is DP-SCO for Lipschitz losses; accelerated SGD without clipping.
    """
    n, epsilon = even_calls(34), SMALL
    chance = 2.0**-rarity
    fields: dict[str, Any] = {
        "c": np.array([0.5]), "v": np.ones(1), "size": rare_spikes(chance, 4.0, 1.0), "chance": chance
    }  # fmt: skip
    work, blunt = PowerWell(**fields), Blunt(**fields)
    L = work.constants.lipschitz(2.0)
    tried: dict[str, tuple[Algorithm[Any], Any]] = {
        "moments": (approximation(2.0), work),
        "Lipschitz": (approximation(1e6, lipschitz="ignored"), blunt),
        "sgd": (PermutedAccelerated(level=L, calibration="plain"), work),
    }
    answer: dict[str, float] = {"L": L}
    for name, (algorithm, known) in tried.items():
        values = risk.excess_risks(
            algorithm, known, problem(known, epsilon), n, context.scale(100, 300, 2000), context.seed, context.label,
            context.name, rarity, name, gradients=ANY,
        )  # fmt: skip
        answer[name], answer[f"{name} se"] = float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
    return {**answer, "bound": order_at("tsybakov/thm-2@phases", work, n, 2.0, epsilon)["bound"]}


# Gradient counts ----------------------------------------------------------------------------------------------------


def counted(context: Context, algorithm: Algorithm[Any], work: Any, n: int, epsilon: float = 3.0) -> Verdict:
    found = runtime.count(algorithm, work, problem(work, epsilon), n, 1, context.seed, context.name, n)
    return runtime.verdict(found.gradients, found.claimed, x=n)


@check("tsybakov/alg-2", kind="runtime", grid={"T": (1, 7, 40)})
def descent_reads_every_record_each_step(context: Context, *, T: int) -> Verdict:
    """Gradients of T steps on 50 records against nT."""
    work = runtime.CountingWorkload(well(2.0, 4.0))
    batch = work.draw(context.rng(), 1, 50)
    start: Array = np.zeros((1, 1))
    clipped_descent(work, batch, start, steps=T, eta=0.5, level=1.0, weight=0.1)
    return runtime.verdict(float(work.gradients), 50 * T, x=T, variable="T")


@check("tsybakov/alg-3@corrected", kind="runtime", grid={"n": by_size((16, 64), (16, 64, 256, 1024))})
def gradients_of_localised_phases(context: Context, *, n: int) -> Verdict:
    """Gradients of the corrected Algorithm 3 against the sum of n_i T_i."""
    return counted(context, LocalisedClipped(**LocalisedClipped.readings["corrected"]), well(2.0, 4.0), n)


@check("tsybakov/proc-lnc-gm-fixed", kind="runtime", grid={"p": (1.0, 2.0), "n": by_size((16,), (16, 64))})
def gradients_grow_as_a_power(context: Context, *, p: float, n: int) -> Verdict:
    """The scheduled gradients against n^(p+1) log(n) with the constant 2(p+1)."""
    work = well(2.0, 4.0)
    schedule = corrected(p=p).schedule(problem(work, 3.0), n)
    bound = 2 * (p + 1) * n ** (p + 1) * math.log(n)
    return runtime.verdict(float(schedule.gradients), bound, what="planned gradients", x=n, series=f"p = {p:g}")


@check("tsybakov/alg-4@corrected", kind="runtime", grid={"n": by_size((64,), (64, 256, 1024))})
def gradients_of_the_approximation(context: Context, *, n: int) -> Verdict:
    """Gradients of the corrected Algorithm 4 against its schedule."""
    fields = StochasticApproximation.readings["corrected"]
    return counted(context, StochasticApproximation(**fields), well(2.0, 4.0), n)


@check("tsybakov/alg-5@corrected", kind="runtime", grid={"n": by_size((64,), (64, 256, 1024))})
def gradients_of_the_iteration(context: Context, *, n: int) -> Verdict:
    """Gradients of the corrected Algorithm 5 against its schedule."""
    return counted(context, IteratedLocalised(**IteratedLocalised.readings["corrected"]), well(2.0, 4.0), n)


@check("tsybakov/alg-6", kind="runtime", grid={"n": by_size((200,), (200, 1000, 10_000))})
def one_pass(context: Context, *, n: int) -> Verdict:
    """Gradients of Algorithm 6 against n."""
    found = counted(context, PermutedAccelerated(), well(2.0, 2.0), n)
    return runtime.verdict(float(found.numbers["calls"]), n, x=n)


@check("tsybakov/alg-7", kind="runtime", grid={"n": by_size((1024,), (1024, 8192))})
def one_pass_in_parts(context: Context, *, n: int) -> Verdict:
    """Gradients of Algorithm 7 against n."""
    found = counted(context, IteratedAccelerated(**IteratedAccelerated.readings["corrected"]), well(2.0, 2.0), n)
    return runtime.verdict(float(found.numbers["calls"]), n, x=n)


@check("tsybakov/proc-dpsgd", kind="runtime", grid={"b": (16, 64)})
def sampled_gradients(context: Context, *, b: int) -> Verdict:
    """Gradients of 40 steps of DP-SGD on 256 records against Tb and six deviations of the random batch sizes."""
    work = well(2.0, 4.0)
    found = runtime.count(MinibatchSGD(T=40, b=b), work, problem(work, 3.0), 256, 1, context.seed, context.name, b)
    return runtime.verdict(found.gradients, found.claimed + 6 * math.sqrt(found.claimed), x=b, variable="b")
