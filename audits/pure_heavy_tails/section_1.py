"""Section 1: neighbours, and what clipping costs beside localisation."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dpcheck.algorithms.pure_heavy_tails.baseline import NoisyClippedSubgradient
from dpcheck.checks import Context, by_size, check, unchecked
from dpcheck.engine.executed import as_stated, run_as_stated
from dpcheck.engine.settings import settings
from dpcheck.errors import InvalidInput
from dpcheck.harness.replay import Case, changed_record
from dpcheck.harness.scaling import Instance, admitted, powers, scaling
from dpcheck.privacy import PureDP
from dpcheck.verdicts import Verdict, differs, holds, refuted

from .cases import DELTA, SLOPES, SPIKED, WRONG_DESCENT, Straight, opposite_spikes, problem, slopes
from .lemmas import PLANNED, as_printed, audited, far_answers, onto_ball, shifts, slack_verdict, small, told, wide

# Section 1.2 --------------------------------------------------------------------------------------------------------


@check("pure_heavy_tails/def-1-2", kind="privacy")
def neighbours_differ_in_one_record(context: Context) -> Verdict:
    """The validator of neighbours accepts exactly the pairs of equal size that differ in at most one record."""
    wrong, pairs = 0, 0
    for size, other in itertools.product(range(1, 5), repeat=2):
        for left, right in itertools.product(
            itertools.product((0.0, 1.0), repeat=size), itertools.product((0.0, 1.0), repeat=other)
        ):
            legal = size == other and sum(a != b for a, b in zip(left, right, strict=False)) <= 1
            try:
                changed_record(np.array(left).reshape(1, -1, 1), np.array(right).reshape(1, -1, 1), 1)
                accepted = True
            except InvalidInput:
                accepted = False
            wrong, pairs = wrong + (accepted != legal), pairs + 1
    pure = max(PureDP(epsilon).delta_at(epsilon) for epsilon in (0.01, 0.3, 1.0, 7.0))
    numbers = {"pairs": pairs, "misjudged": wrong, "delta of pure DP at its epsilon": pure}
    said = f"{wrong} of {pairs:,} pairs of data sets of at most four bits misjudged; pure DP has delta {pure:g}"
    return (refuted if wrong or pure else holds)(said, "exact", numbers=numbers)


LABEL = "pure_heavy_tails/proc-noisy-subgradient"


@check(LABEL, kind="privacy", grid={"n": by_size([4], [4, 64]), "epsilon": (0.5, 2.0)})
def steps_share_the_budget(context: Context, *, n: int, epsilon: float) -> Verdict:
    """Every step moves by 2C/n on opposite spikes, and T of them cost epsilon, all of it."""
    algorithm, work = NoisyClippedSubgradient(C=1.0), wide()
    case = Case(algorithm, work, problem(work, epsilon))
    data, neighbour = opposite_spikes(n, 1e6)
    schedule = algorithm.schedule(problem(work, epsilon), n)
    moves = shifts(case, data, neighbour, 8)
    because = "clipped gradients lie in a ball of radius C"
    told = f"n = {n}, epsilon = {epsilon:g}"
    return slack_verdict(schedule, moves, {"gradient": 2.0 / n}, epsilon, because, case=told)


RUNS: dict[str, Any] = {
    "family": SLOPES,
    "mutants": WRONG_DESCENT,
    "engine": Straight(800, 1 - DELTA),
    "since": "standard",
}


@scaling(
    LABEL, variable="n", series={"k": (3.0, 4.0)}, sizes=powers(2, range(37, 42)), **RUNS
)  # fmt: skip
def baseline_risk_in_n(*, n: int, p: float, k: float) -> Instance:
    """The baseline's worst risk over linear losses falls at half of the exponent of localisation; epsilon = 2^-20.

    In 256 dimensions, where few trials tell much; T is 2^9 to 2^13.
    """
    return slopes(n=n, d=256, epsilon=2.0**-20, p=p, k=k)


@scaling(
    LABEL, variable="epsilon", sizes=powers(2, range(-24, -19)), **RUNS
)  # fmt: skip
def baseline_risk_in_epsilon(*, epsilon: float, p: float) -> Instance:
    """The same in epsilon, at n = 2^41 and k = 4."""
    return slopes(n=2**41, d=256, epsilon=epsilon, p=p, k=4.0)


@scaling(
    LABEL, variable="d", sizes=powers(2, range(6, 10)), **RUNS
)  # fmt: skip
def baseline_risk_in_d(*, d: int, p: float) -> Instance:
    """It grows in d so, too; n epsilon = 2^20 and k = 4."""
    return slopes(n=2**40, d=d, epsilon=2.0**-20, p=p, k=4.0)


@check(LABEL, kind="accuracy", grid={"dimension": (1, 3)}, expect="consistent")
def descent_along_and_across(context: Context, *, dimension: int) -> Verdict:
    """What measures the risk of the baseline agrees with drawn records and noise."""
    one = slopes(n=2**8 * dimension, d=dimension, epsilon=1.0, p=0.25, k=2.0)
    return admitted(Straight(40_000, 1 - DELTA), one, context.scale(1000, 4000), context)


SETTINGS = {
    "T": "pure_heavy_tails/proc-noisy-subgradient@steps",
    "C": "pure_heavy_tails/proc-noisy-subgradient@cap",
    "noise": "pure_heavy_tails/proc-noisy-subgradient@noise",
    "eta": "pure_heavy_tails/proc-noisy-subgradient@eta",
    "gradients": "pure_heavy_tails/proc-noisy-subgradient@gradients",
}
settings_of_the_baseline = settings(LABEL, SETTINGS, problems=PLANNED, fields={"k": (2.0, 3.0, 4.0)})
run_of_the_baseline = run_as_stated(
    LABEL, SETTINGS, SPIKED, problem(SPIKED, 0.9), 30, noises={"noise": "*"}, trials=2000
)


@check(LABEL, kind="accuracy", grid={"d": (1, 3)})
def lines_of_the_baseline(context: Context, *, d: int) -> Verdict:
    """Clipped mean gradients at projected iterates, T of them; the mean of the iterates after the steps is returned."""
    trials = context.scale(20, 200)
    work, rows, start = small(context, d, trials, 12)
    algorithm = NoisyClippedSubgradient()
    (steps,) = as_stated(algorithm, problem(work, 0.7), 12, SETTINGS).phases
    answers = far_answers(context, trials, d)
    _, entries, returned = told(algorithm, work, problem(work, 0.7), rows, start, answers)
    if len(entries) != steps.T:
        return differs(f"{len(entries)} steps are made, {steps.T} are stated", "exact")
    lines, w, visited = {}, np.broadcast_to(start, (trials, d)), []
    for number, entry in enumerate(entries):
        away = np.ones((1, 1)) if d == 1 else w - np.asarray(work.b)
        toward = np.clip(rows, -steps.C, steps.C).mean(axis=1) * away / np.linalg.norm(away, axis=1, keepdims=True)
        lines[f"mean clipped gradient {number + 1}"] = entry.core, toward
        w = onto_ball(w - steps.eta * entry.output)
        visited.append(w)
    return as_printed({**lines, "the mean iterate": (returned, np.mean(visited, axis=0))})


@check(LABEL, kind="privacy", grid={"steps": (1, 2)}, expect=("consistent", "undecided"))
def outputs_of_the_baseline(context: Context, *, steps: int) -> Verdict:
    """One record far out on both sides and an interval that is too long to matter: of one step all of epsilon is seen,
    of two what their mean tells; half of the noise would cost more than 1.33.
    """
    work = wide()
    case = Case(NoisyClippedSubgradient(T=steps, C=1.0), work, problem(work, 1.0), start=np.zeros((1, 1)))
    return audited(context, case, opposite_spikes(10, 1e6), halved=1.33)


beside_localisation = unchecked(
    LABEL,
    "nothing is claimed of its risk beside that of localisation at one n, so that a comparison has no outcome: where "
    "the localised algorithms are told apart from their start (n from 2^16 on) its n epsilon full-batch steps are too "
    "many to run",
)
