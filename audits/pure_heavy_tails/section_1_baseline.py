"""Section 1's remark on clipping: subgradient descent with a budget for each step, beside localisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.algorithms.pure_heavy_tails.baseline import NoisyClippedSubgradient
from dpcheck.algorithms.pure_heavy_tails.localize import LocalizedOutputPert
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import stated
from dpcheck.harness import rate, risk
from dpcheck.harness.replay import Case
from dpcheck.verdicts import Point, Verdict, inconclusive
from dpcheck.workloads.linear import RareSpikes

from ._instances import BLOCKS, opposite_spikes, practical, problem, shifts, slack_verdict, wide

LABEL = "pure_heavy_tails/proc-noisy-subgradient"
COUNTS = 1e18
"""Records of these workloads are counts of three atoms: their number costs nothing."""


def _spikes(n: int, k: float) -> RareSpikes:
    """Spikes whose steps just cross the domain: p of the order of the baseline's own resolution (nε)^(-1/2)."""
    return RareSpikes(D=1.0, k=k, G=1.0, p=min(1.0, 4 * n**-0.5), theta=0.6)


@check(LABEL, kind="privacy", grid={"n": by_size([4], [4, 64]), "epsilon": (0.5, 2.0)})
def steps_share_the_budget(context: Context, *, n: int, epsilon: float) -> Verdict:
    """Every step moves by 2C/n on opposite spikes, and T of them cost epsilon, all of it."""
    algorithm, work = NoisyClippedSubgradient(C=1.0), wide()
    case = Case(algorithm, work, problem(work, epsilon))
    data, neighbour = opposite_spikes(n, 1e6)
    schedule = algorithm.schedule(problem(work, epsilon), n)
    found = shifts(case, data, neighbour, 8)
    return slack_verdict(schedule, found, {"gradient": 2.0 / n}, epsilon, "clipped gradients lie in a ball of radius C")


@check(
    LABEL,
    kind="rate",
    grid={"k": (2.0, 4.0), "n": by_size([2**j for j in (8, 10, 12)], [2**j for j in range(8, 15)])},
    conclude=rate.conclude("n", axis="mean excess risk"),
    expect="inconclusive",
)
def baseline_risk_in_n(context: Context, *, k: float, n: int) -> dict[str, float]:
    """Where its steps just cross the domain the baseline's mean risk falls at half of the exponent of localisation."""
    work = _spikes(n, k)
    values = risk.excess_risks(
        NoisyClippedSubgradient(k=k), work, problem(work, 1.0), n, context.scale(100, 400), context.seed,
        context.name, dict(context.cell), gradients=COUNTS,
    )  # fmt: skip
    return risk.summary(values, stated(LABEL, D=1.0, G_k=1.0, d=1, n=n, epsilon=1.0, k=k))


@check(
    LABEL,
    kind="risk",
    grid={"k": (2.0, 4.0), "n": by_size([2**10, 2**12], [2**8, 2**10, 2**12, 2**14])},
    expect="inconclusive",
)
def baseline_beside_localisation(context: Context, *, k: float, n: int) -> Verdict:
    """Mean excess risk at epsilon = 1 where the baseline just begins to move: four algorithms side by side.

    At these sizes the baseline is ahead: the weight 20 Delta_1/D of localisation hardly lets it leave its start.
    """
    work = _spikes(n, k)
    algorithms: dict[str, Any] = {
        "noisy clipped subgradient": NoisyClippedSubgradient(k=k),
        "localised, single": practical(k, "single"),
        "localised, double": practical(k, "double"),
        "localised, no noise (not private)": LocalizedOutputPert(
            k=k, solver="single", blocks=BLOCKS, c_erm=1.0, noise_dial=1e-9
        ),
    }
    points, numbers = [], {"risk of the start": float(work.excess_risk(np.zeros((1, 1)))[0])}
    for name, algorithm in algorithms.items():
        values = risk.excess_risks(
            algorithm, work, problem(work, 1.0), n, context.scale(100, 1000), context.seed, context.name, name,
            dict(context.cell), gradients=COUNTS,
        )  # fmt: skip
        mean, error = float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)
        numbers[name] = mean
        points.append(Point(x=float(n), value=mean, series=name, lower=max(0.0, mean - error), upper=mean + error))
    said = ", ".join(f"{name} {value:.3g}" for name, value in numbers.items())
    return inconclusive(
        f"mean excess risk at n = {n:,}, k = {k:g}: {said}; a comparison, not a test",
        "sampled",
        failure_probability=context.failure_probability,
        numbers=numbers,
        points=tuple(points),
        axes=("n", "mean excess risk"),
    )
