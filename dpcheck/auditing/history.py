"""Does what a mechanism answers depend on what it was asked before? The attack "state"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.cells import learn_partition
from dpcheck.auditing.findings import AttackFinding
from dpcheck.auditing.inputs import check_count, check_failure_probability
from dpcheck.auditing.mechanisms import Encoder, mechanism_name
from dpcheck.auditing.premise import Premise, events
from dpcheck.auditing.runner import Runner

Array = NDArray[np.float64]
BLOCKS = 64


def state(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    *,
    trials: int = 64,
    failure_probability: float = 1e-3,
    seed: int = 0,
    halts: bool = False,
) -> AttackFinding:
    """Is something kept from call to call: the last input, noise, a count of the calls, a level that drifts?

    The same question, with the same generator, is asked after a call on `data` and after one on `neighbour`, twice
    each. Where that shows nothing, the order of many outputs is tested as in every audit (`dpcheck.auditing.premise`);
    only that test may err, with the failure probability.

    Args:
        trials: of a call, at least 32.

    Returns:
        A finding: *critical* where an answer tells an earlier input or repeats noise, *theoretical* where answers
        depend on the calls before, but were not seen to tell what these held, or are drawn from a global generator.
    """
    trials = check_count("trials", trials, 32)
    check_failure_probability(failure_probability)
    runner = Runner(mechanism, (data, neighbour), seed, Encoder(mechanism_name(mechanism), halts=halts), trials)
    cold = runner.outputs(0, trials, "state", "asked").matrix
    answers = []
    for before in (0, 1, 0, 1):
        runner.outputs(before, trials, "state", "before")
        answers.append(runner.outputs(0, trials, "state", "asked").matrix)
    other = runner.outputs(0, trials, "state", "asked with another generator").matrix
    blank = AttackFinding(
        attack="state",
        found=False,
        grade="theoretical",
        samples=10 * trials,
        detail="the same question gets the same answer whatever was asked before",
    )
    pair = _of_history(cold, answers, other)
    if pair:
        grade, detail = pair
        return replace(blank, found=True, grade="critical" if grade else "theoretical", detail=detail)
    detail = runner.elsewhere()
    if detail:
        return replace(blank, found=True, detail=detail)
    detail = blank.detail
    if not _same(answers[0], answers[1]):
        detail = "it draws from something else than its generator, so that no question can be asked twice"
    quiet = f"{detail}; {BLOCKS} calls in a drawn order agree"
    broken = _order(runner, trials, seed, failure_probability)
    runner.check_inputs()
    return replace(
        blank,
        found=bool(broken),
        samples=blank.samples + (BLOCKS + 4) * trials,
        detail=f"trials are not independent: {broken}" if broken else quiet,
        failure_probability=failure_probability,
    )


def _of_history(cold: Array, answers: list[Array], other: Array) -> tuple[bool, str] | None:
    """(whether critical, in words) of answers to one question: first, then after data, neighbour, data, neighbour.

    None when they say nothing.
    """
    after_data, after_neighbour, data_again, neighbour_again = answers
    if _same(after_data, other) and len(np.unique(other, axis=0)) > len(other) // 2:
        return True, "calls with different generators give the same answers: noise is kept, or its seed is fixed"
    first, second = _same(after_data, data_again), _same(after_neighbour, neighbour_again)
    if first and second and not _same(after_data, after_neighbour):
        return True, "the answer to the same question, with the same noise, tells what the call before was asked of"
    if second and _same(after_neighbour, data_again) and not (first and _same(cold, after_data)):
        return False, "the first calls answer otherwise than later ones, with the same input and generator"
    return None


def _same(one: Array, two: Array) -> bool:
    return np.array_equal(one, two, equal_nan=True)


def _order(runner: Runner, trials: int, seed: int, failure_probability: float) -> str:
    """What the order of the outputs of many calls says against independence, of their first column that varies."""
    held = [runner.outputs(side, 2 * trials, "state", "held out").matrix for side in (0, 1)]
    pooled = np.nan_to_num(np.concatenate(held))
    varied = np.flatnonzero(np.ptp(pooled, axis=0) > 0)
    column = int(varied[0]) if len(varied) else 0
    cells = learn_partition(held[0][:, column], held[1][:, column])
    taught = np.stack([cells.count(matrix[:, column]) for matrix in held], axis=1)
    premise = Premise(events(cells, taught), seed, failure_probability)
    for side, drawn in enumerate(runner.both(BLOCKS * trials, "state", "order", block=trials)):
        if drawn is not None:
            index = cells.index(drawn.outputs.matrix[:, column])
            premise.observe(side, index, drawn.outputs.matrix, drawn.sizes, drawn.second)
    return premise.check()
