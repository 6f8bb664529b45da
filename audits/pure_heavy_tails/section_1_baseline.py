"""Section 1's remark on clipping: subgradient descent with a budget for each step, beside localisation."""

from __future__ import annotations

from dpcheck.algorithms.pure_heavy_tails.baseline import NoisyClippedSubgradient
from dpcheck.checks import Context, by_size, check, unchecked
from dpcheck.engine.statements import stated
from dpcheck.harness.controls import conclude
from dpcheck.harness.replay import Case
from dpcheck.verdicts import Verdict

from ._class import CONTROLS, coarse, worst_of
from ._instances import opposite_spikes, problem, shifts, slack_verdict, wide

LABEL = "pure_heavy_tails/proc-noisy-subgradient"


@check(LABEL, kind="privacy", grid={"n": by_size([4], [4, 64]), "epsilon": (0.5, 2.0)})
def steps_share_the_budget(context: Context, *, n: int, epsilon: float) -> Verdict:
    """Every step moves by 2C/n on opposite spikes, and T of them cost epsilon, all of it."""
    algorithm, work = NoisyClippedSubgradient(C=1.0), wide()
    case = Case(algorithm, work, problem(work, epsilon))
    data, neighbour = opposite_spikes(n, 1e6)
    schedule = algorithm.schedule(problem(work, epsilon), n)
    found = shifts(case, data, neighbour, 8)
    because = "clipped gradients lie in a ball of radius C"
    told = f"n = {n}, epsilon = {epsilon:g}"
    return slack_verdict(schedule, found, {"gradient": 2.0 / n}, epsilon, because, case=told)


@check(
    LABEL,
    kind="rate",
    grid={"k": by_size([2.0], [2.0, 4.0]), "n": by_size([2**j for j in (8, 10, 12)], [2**j for j in range(8, 15)])},
    conclude=conclude("n", CONTROLS, axis="0.9-quantile of the excess risk"),
    expect=("consistent", "undecided"),
)
def baseline_risk_in_n(context: Context, *, k: float, n: int) -> dict[str, float]:
    """The baseline's worst risk over the class of rare spikes falls at half of the exponent of localisation."""
    order = stated(LABEL, D=1.0, G_k=1.0, d=1, n=n, epsilon=1.0, k=k)
    return worst_of(context, NoisyClippedSubgradient(k=k), n, 1.0, k, order, context.scale(100, 300), family=coarse)


beside_localisation = unchecked(
    LABEL,
    "nothing is claimed of its risk beside that of localisation at one n, so that a comparison has no outcome: where "
    "the localised algorithms are told apart from their start (n from 2^16 on) its n epsilon full-batch steps are too "
    "many to run",
)
