"""Section 4: Theorem 2, and Theorem 11, which is 2 with its logarithms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.tsybakov import PermutedAccelerated, StochasticApproximation
from dpcheck.checks import Context, by_size, check, together
from dpcheck.claims import evaluate
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import order_of, stated
from dpcheck.harness import accuracy, rate, risk
from dpcheck.interfaces import Algorithm, Constants
from dpcheck.verdicts import Point, Verdict, differs
from dpcheck.workloads.power_well import PowerWell, rare_spikes

from .cases import (
    ANY,
    NAMES,
    SMALL,
    approximation,
    asked,
    even_calls,
    exponents,
    measured,
    on_a_well,
    order_at,
    priced,
    problem,
    reach,
    refuted_by_plan,
    transcribed,
    well,
)

GROWING = ("tsybakov/thm-2", "tsybakov/thm-2@phases", "tsybakov/thm-11", "tsybakov/thm-11@phases", "tsybakov/rem-3")


@check("tsybakov/thm-2", kind="transcription", grid={"label": GROWING}, also=GROWING[1:])
def exponents_of_theorem_2(context: Context, *, label: str) -> Verdict:
    """The same times theta/(theta-1) = 4/3, and -1/(theta-1) in lambda."""
    return exponents(label, 4 / 3)


PRINTED_CALLS = together(NAMES, (12, 20, 0), (16, 100, 0), (40, 10**4, 3))


def halving(context: Context, verifier: str, theta: int, instance: tuple[int, int, int]) -> Verdict:
    """Algorithm 4 from 0 with R_0 = 1: the first call ends at the wrong end, the later balls lead back to 0 at most."""
    log_part, factor, logs = instance
    n = even_calls(log_part)
    algorithm = StochasticApproximation(project=True, solver="limit", radius=1.0)
    phases = algorithm.schedule(asked(n), n).phases[0].inner.phases
    left = 1 - reach(phases[1:])
    return refuted_by_plan(
        context, algorithm, n, phases[0], left, verifier, k=2, log_part=log_part, theta=theta, factor=factor, logs=logs
    )


@check(
    "tsybakov/thm-2",
    kind="risk",
    grid={"theta": (2, 3), "instance": by_size(PRINTED_CALLS[:2], PRINTED_CALLS)},
    expect="refuted",
)
def printed_calls_do_not_come_back(context: Context, *, theta: int, instance: tuple[int, int, int]) -> Verdict:
    """Algorithm 4 as printed, projected: excess near 1/2 with probability near 1/2, for all n; 100 times at 2^18."""
    return halving(context, "thm_2_risk", theta, instance)


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


CALLS = by_size(*([even_calls(j) for j in js] for js in ((34, 42, 50), range(30, 51, 4), range(28, 53, 2))))


@check(
    "tsybakov/thm-2@phases",
    kind="rate",
    grid={"d": by_size((1, 4, 16), (1, 2, 4, 8, 16, 32), (1, 2, 4, 8, 16, 32, 64))},
    conclude=priced("d", axis="mean excess risk"),
    expect=("consistent", "undecided"),
)
def approximation_risk_in_the_dimension(context: Context, *, d: int) -> dict[str, float]:
    """The corrected Algorithm 4 on wells of exponent 2 in d dimensions, k = 2, n about 2^44: 1/2 in d."""
    work, n = well(2.0, 4.0, d=d), even_calls(40)
    found = measured(context, approximation(2.0), work, n, SMALL, context.scale(50, 100, 400))
    return {**found, **order_at("tsybakov/thm-2@phases", work, n, 2.0, SMALL, variable="d")}


@check(
    "tsybakov/thm-2@phases",
    kind="rate",
    grid={"theta": (2.0, 4.0), "k": (2.0, 4.0), "n": CALLS},
    conclude=priced("n", axis="mean excess risk"),
    expect=("consistent", "undecided"),
)
def approximation_risk_under_growth(context: Context, *, theta: float, k: float, n: int) -> dict[str, float]:
    """The corrected Algorithm 4 on power wells against its order: -1, -3/2 (theta = 2) and -2/3, -1 (theta = 4)."""
    return on_a_well(context, "tsybakov/thm-2@phases", approximation(k), theta, k, n)


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


PRINTED_LOGS = together(NAMES, (16, 100, 0), (24, 10_000, 0), (40, 10**4, 3))


@check("tsybakov/thm-11", kind="risk", grid={"instance": by_size(PRINTED_LOGS[:1], PRINTED_LOGS)}, expect="refuted")
def printed_calls_miss_the_order_with_logarithms(context: Context, *, instance: tuple[int, int, int]) -> Verdict:
    """The same against the order of Theorem 11 at theta = 2."""
    return halving(context, "thm_11_risk", 2, instance)


@check(
    "tsybakov/thm-11@phases",
    kind="rate",
    grid={"theta": (2.0, 4.0), "n": CALLS},
    conclude=priced("n", axis="mean excess risk"),
    expect=("consistent", "undecided"),
)
def approximation_risk_with_its_logarithms(context: Context, *, theta: float, n: int) -> dict[str, float]:
    """The same at k = 2 against the order with the logarithms of Theorem 11."""
    return on_a_well(context, "tsybakov/thm-11@phases", approximation(2.0), theta, 2.0, n)


@check("tsybakov/rem-3", kind="transcription")
def bound_without_the_domain(context: Context) -> Verdict:
    """The bound of Theorem 2 at drawn values, without D, the smoothness or L_f."""
    said, rng, found, wanted = claim("tsybakov/rem-3"), context.rng(), [], []
    there = sorted({"D", "H", "L", "R"} & set(said.needs))
    if there:
        return differs(f"the bound of {said.title} has {', '.join(there)}, of which it is to be independent")
    for _ in range(100):
        at = {name: float(np.exp(rng.uniform(-3, 3))) for name in said.needs}
        at |= {"theta": 2 + at["theta"], "k": 2 + at["k"], "n": 2 + at["n"] * 1e6, "delta": 1e-6, "beta": 1e-3}
        found.append(evaluate(order_of("tsybakov/rem-3"), at))
        wanted.append(evaluate(order_of("tsybakov/thm-2"), at))
    return transcribed(found, wanted, "the bound of Remark 3, and that of Theorem 2")


@check("tsybakov/rem-3@derived", kind="accuracy", grid={"theta": (1.5, 2.0, 4.0)})
def cones_attain_the_diameter(context: Context, *, theta: float) -> Verdict:
    """The cone L|w| on a ball: its growth constant on the whole domain, and the diameter, which is the bound."""
    rng, found, wanted = context.rng(), [], []
    for slope, radius in np.exp(rng.uniform(-3, 3, (context.scale(20, 200), 2))):
        w = radius * np.linspace(0, 1, 1001)[1:]
        grows = float((slope * w / w**theta).min())
        found.append(2 * radius)
        wanted.append(stated("tsybakov/rem-3@derived", L=slope, lambda_=grows, theta=theta))
    return transcribed(found, wanted, "diameter of the ball, and the largest one")
