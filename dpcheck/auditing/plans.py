"""What the held-out part of a fixed audit decides, and how the rest of it is counted in stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.auditing import rules, scores, words
from dpcheck.auditing.cells import SURE, Partition, learn_partition
from dpcheck.auditing.mechanisms import Outputs, join
from dpcheck.auditing.premise import Premise
from dpcheck.auditing.runner import Runner, block_size
from dpcheck.auditing.stages import Stage
from dpcheck.errors import InvalidInput
from dpcheck.privacy import ApproxDP, Guarantee

Array = NDArray[np.float64]
FEWEST_LEARNED = 20
FEW_LEARNED, COLUMNS_LEARNED = (0.2, 150), (0.36, 800)
"""Share of the trials, and most of them, that are held out at least; the latter where several columns are learned."""
STAGES, STAGES_FEW = 4, 2
"""Stages of equal size, the rule of each learned anew; fewer where scores take few values: there is less to learn, and
every stage wastes half a step of its discrete p-value."""


def known(score: Any) -> bool:
    return isinstance(score, scores.Score) and score.known


def _learns(score: Any) -> bool:
    if isinstance(score, str) or not isinstance(score, Sequence):
        return score == "auto" or (isinstance(score, scores.Score) and score.learned)
    return any(_learns(one) for one in score)


@dataclass(frozen=True)
class Plan:
    """What the held-out part decided: a score, its cells, and a rule on them.

    Attributes:
        taught: (cells, 2) counts of it; known: outputs of a discrete mechanism by name.
    """

    score: scores.Score
    scorer: scores.Scorer
    cells: Partition
    rule: rules.Rule
    taught: NDArray[np.int64]
    known: tuple[words.Example, ...] = ()


def hold_out(runner: Runner, trials: int, share: float | None, score: Any, claim: Guarantee) -> tuple[Outputs, Outputs]:
    """Held-out outputs on both inputs."""
    few = columns = 0.0
    if share is None:
        share = 0.01 if known(score) else 0.1 if isinstance(claim, ApproxDP) else 0.2
        few, columns = (min(part * trials, most) for part, most in (FEW_LEARNED, COLUMNS_LEARNED))
    first = max(FEWEST_LEARNED, round(share * trials), 0 if known(score) else round(few))
    p, q = draw(runner, first)
    more = round(columns) - first if _learns(score) else 0
    if more <= 0 or p.matrix.shape[1] == 1:
        return p, q
    p_more, q_more = draw(runner, more, "held out, too")
    return join([p, p_more]), join([q, q_more])


def draw(runner: Runner, trials: int, part: str = "held out") -> tuple[Outputs, Outputs]:
    """Outputs on both inputs, in chunks."""
    sizes = [min(runner.chunk, trials - start) for start in range(0, trials, runner.chunk)]
    pair: tuple[list[Outputs], list[Outputs]] = ([], [])
    for number, size in enumerate(sizes):
        first = runner.first(part, number)
        for side in (first, 1 - first):
            pair[side].append(runner.outputs(side, size, part, number))
    p, q = map(join, pair)
    if p.matrix.shape[1] != q.matrix.shape[1]:
        raise InvalidInput(
            f"{runner.encoder.name} returns {p.matrix.shape[1]} numbers on data and {q.matrix.shape[1]} on neighbour; "
            "outputs need one width"
        )
    return p, q


def _part(outputs: Outputs, rows: slice) -> Outputs:
    raw = outputs.raw
    cut = tuple(np.asarray(r)[rows] for r in raw) if isinstance(raw, tuple) else raw[rows]
    return Outputs(cut, outputs.matrix[rows])


def learn(
    runner: Runner,
    held: tuple[Outputs, Outputs],
    samples: int,
    claim: Guarantee,
    failure_probability: float,
    score: Any,
    seed: int,
) -> Plan:
    p, q = held
    rng = seeds.stream(seed, "audit", "learn")
    look = min(len(p), 4096)
    sample = _part(p, slice(0, look))
    distinct = scores.distinct_rows(np.concatenate([p.matrix[:look], q.matrix[:look]]))
    best: Plan | None = None
    for candidate in scores.choose(score, sample, distinct, runner.encoder.categorical):
        plan = _try(candidate, p, q, samples, claim, failure_probability, rng)
        if best is None or plan.rule.predicted > best.rule.predicted:
            best = plan
    assert best is not None
    if isinstance(best.score, scores.Cells | scores.Outcomes):
        best = replace(best, known=words.examples([sample, _part(q, slice(0, look))], best.scorer))
    return best


def _try(
    score: scores.Score, p: Outputs, q: Outputs, samples: int, claim: Guarantee, alpha: float, rng: np.random.Generator
) -> Plan:
    scorer, s_p, s_q = _fit(score, p, q, rng)
    with np.errstate(over="ignore"):  # outputs near the largest float: cells beyond it are empty
        cells = learn_partition(
            s_p,
            s_q,
            learned_score=score.learned,
            known_ratio=score.known,
            ordered=score.ordered,
            trusted=score.linear or not score.learned,
        )
    if isinstance(claim, ApproxDP):
        rule = rules.choose_rule(cells, samples, claim.delta, alpha)
    else:
        rule = rules.choose_rule_on_curve(cells, samples, claim, alpha)
    return Plan(score, scorer, cells, rule, np.stack([cells.count(s_p), cells.count(s_q)], axis=1))


CROSSED = 1_000
"""Most held-out outputs on each input of which either half teaches a score that the other one meets."""


def _fit(score: scores.Score, p: Outputs, q: Outputs, rng: np.random.Generator) -> tuple[scores.Scorer, Array, Array]:
    """The scorer, and scores on both inputs: of a learned one, of outputs that it was not taught by."""
    if not score.learned:
        scorer = score.fit(p, q, rng)
        return scorer, scorer(p), scorer(q)
    half = len(p) // 2
    (p1, q1), (p2, q2) = ((_part(p, rows), _part(q, rows)) for rows in (slice(0, half), slice(half, None)))
    first = score.fit(p1, q1, rng)
    if len(p) > CROSSED or not score.smooth:
        return first, first(p2), first(q2)
    # Few outputs: both halves teach, and the average of both scorers is used.
    second = score.fit(p2, q2, rng)
    s_p, s_q = np.concatenate([second(p1), first(p2)]), np.concatenate([second(q1), first(q2)])
    return lambda outputs: (first(outputs) + second(outputs)) / 2, s_p, s_q


def count(
    runner: Runner, plan: Plan, samples: int, claim: Guarantee, alpha: float, premise: Premise, seed: int
) -> tuple[Plan, list[Stage], NDArray[np.int64]]:
    """The stages, the plan of the last one, and the (cells, 2) coin-flipped outputs of all of them.

    A claimed curve has one stage: its rule stands at one point of the curve.
    """
    counts, block = np.zeros_like(plan.taught), block_size(samples, runner.chunk)
    relearned = isinstance(claim, ApproxDP) and plan.cells.learned < SURE
    sizes = _sizes(samples, (STAGES_FEW if plan.cells.few else STAGES) if relearned else 1)
    stages: list[Stage] = []
    number = 0
    for stage, size in enumerate(sizes):
        if stage:
            cells = plan.cells.taught(plan.taught + counts)
            plan = replace(plan, cells=cells, rule=ruled(cells, samples, plan.rule.delta, alpha))
        fresh = np.zeros_like(counts)
        for start in range(0, size, runner.chunk):
            fresh += tally(runner, plan, premise, min(runner.chunk, size - start), block, "counted", number)
            number += 1
        plan = replace(plan, rule=fitted(plan.rule, plan.cells, fresh.sum(axis=1), samples, alpha))
        stages.append(Stage.of(plan.rule, fresh, Stage.coin_of(seed, stage)))
        counts += fresh
    return plan, stages, counts


def tally(runner: Runner, plan: Plan, premise: Premise, trials: int, block: int, *key: Any) -> NDArray[np.int64]:
    """(cells, 2) counts of coin-flipped trials, of which the premise is told as well."""
    counts = np.zeros_like(plan.taught)
    for side, drawn in enumerate(runner.both(trials, *key, block=block)):
        if drawn is not None:
            index = plan.cells.index(plan.scorer(drawn.outputs))
            counts[:, side] = np.bincount(index, minlength=len(counts))
            premise.observe(side, index, drawn.outputs.matrix, drawn.sizes, drawn.second)
    return counts


def ruled(cells: Partition, samples: int, delta: float, alpha: float) -> rules.Rule:
    """The rule before a stage. Where delta is 0 the one that will be fitted to it replaces it altogether."""
    if delta == 0:
        return rules.Rule(np.zeros(len(cells.p), dtype=np.int8), 0.0, 0.0, True)
    return rules.choose_rule(cells, samples, delta, alpha)


def fitted(rule: rules.Rule, cells: Partition, total: NDArray[np.int64], samples: int, alpha: float) -> rules.Rule:
    """The rule for a stage's outputs, of which all is known but the inputs they came from.

    A test that is valid given where the outputs fell lets the rule depend on that (not so the unconditional one). The
    inputs that it guesses are chosen before: outputs may show on which side more leaked.
    """
    if rule.delta > 0 and not rule.small_leak:
        return rule
    told = rules.choose_rule(cells.weighed(total), samples, rule.delta, alpha)
    if rule.delta > 0 and told.guessed != rule.guessed:
        return rule
    return replace(told, small_leak=True, leak_worth=rule.leak_worth)


def _sizes(samples: int, stages: int) -> list[int]:
    ends = [round(samples * (k + 1) / stages) for k in range(stages)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]
