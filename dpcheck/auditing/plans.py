"""What the held-out part of a fixed audit decides, and how the rest of it is counted in stages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.auditing import alike, rules, scores, words
from dpcheck.auditing.cells import SURE, Partition, learn_partition
from dpcheck.auditing.choosing import choose, is_known, learns, returning
from dpcheck.auditing.mechanisms import Outputs, join
from dpcheck.auditing.premise import Premise
from dpcheck.auditing.runner import DrawnOutputs, Runner, block_size
from dpcheck.auditing.stages import Stage, sizes_of_stages
from dpcheck.auditing.teaching import fit, part
from dpcheck.errors import InvalidInput
from dpcheck.privacy import ApproxDP, Guarantee
from dpcheck.statistics.evalues import nearest_null

Array = NDArray[np.float64]
FEWEST_LEARNED = 20
FEW_LEARNED, COLUMNS_LEARNED = (0.2, 150), (0.36, 800)
"""Share of the trials, and most of them, that are held out at least; the latter where several columns are learned."""


@dataclass(frozen=True)
class Plan:
    """What the held-out part, or all before a stage, decided: a score, its cells, and a rule on them.

    Attributes:
        taught: (cells, 2) counts of it; known: outputs of a discrete mechanism by name.
        promise: for which the score was chosen; rivals: it and others, from which the next one is.
    """

    score: scores.Score
    scorer: scores.Scorer
    cells: Partition
    rule: rules.Rule
    taught: NDArray[np.int64]
    known: tuple[words.Example, ...] = ()
    rivals: tuple[scores.Score, ...] = ()
    promise: float = 0.0


def hold_out(runner: Runner, trials: int, share: float | None, score: Any, claim: Guarantee) -> tuple[Outputs, Outputs]:
    """Held-out outputs on both inputs."""
    few = columns = 0.0
    if share is None:
        share = 0.01 if is_known(score) else 0.1 if isinstance(claim, ApproxDP) else 0.2
        few, columns = (min(part * trials, most) for part, most in (FEW_LEARNED, COLUMNS_LEARNED))
    first = max(FEWEST_LEARNED, round(share * trials), 0 if is_known(score) else round(few))
    p, q = draw(runner, first)
    more = round(columns) - first if learns(score) else 0
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


def learn(
    runner: Runner,
    held: tuple[Outputs, Outputs],
    samples: int,
    claim: Guarantee,
    failure_probability: float,
    score: Any,
    seed: int,
    *,
    quick: bool = False,
) -> Plan:
    """What outputs on both inputs teach: of the candidate scores the one that promises most.

    Args:
        quick: none that is slow, where there is another.
    """
    p, q = held
    rivals: Sequence[scores.Score] = candidates(runner, held, score)
    rivals = [rival for rival in rivals if not (quick and rival.slow)] or rivals
    rng = seeds.stream(seed, "audit", "learn")
    if len(p) > TRIED:
        few = part(p, slice(0, TRIED)), part(q, slice(0, TRIED))
        while len(rivals) > FINALISTS:
            rivals = _best(rivals, few, samples, claim, failure_probability, rng).rivals
    return _best(rivals, held, samples, claim, failure_probability, rng)


LOOKED_AT = 4096
"""Outputs on each input that tell which scores suit them."""


def candidates(runner: Runner, held: tuple[Outputs, Outputs], score: Any) -> list[scores.Score]:
    """The scores that suit these outputs on both inputs."""
    p, q = held
    look = min(len(p), LOOKED_AT)
    distinct = scores.distinct_rows(np.concatenate([p.matrix[:look], q.matrix[:look]]))
    return choose(score, part(p, slice(0, look)), distinct, runner.encoder.categorical)


def learn_anew(
    runner: Runner,
    before: tuple[Outputs, Outputs],
    samples: int,
    claim: Guarantee,
    failure_probability: float,
    score: Any,
    tried: tuple[str, ...] | None,
    seed: int,
    stage: int,
) -> Plan:
    """What all outputs before a stage teach, of the scores with these names; None: of all that suit so many outputs."""
    rng = seeds.stream(seed, "audit", "learn", stage)
    # Of outputs that are kept there is only the matrix.
    rivals = [rival for rival in candidates(runner, before, score) if not rival.raw]
    named = [rival for rival in rivals if tried is None or str(rival) in tried]
    return _best(named or rivals, before, samples, claim, failure_probability, rng)


SURER = 2.0
"""Times the promise of the usual score that one of single values must make: on a fine lattice they come back, too."""


def or_returning(
    plan: Plan,
    before: tuple[Outputs, Outputs],
    held: int,
    samples: int,
    claim: Guarantee,
    alpha: float,
    score: Any,
    seed: int,
    stage: int,
) -> Plan:
    """The plan of a stage, or one that goes by how often values came `before` it, where that promises far more.

    `held` outputs cut the cells of the plan.
    """
    p, q = before
    growing = returning(score, np.concatenate([side.matrix[:LOOKED_AT] for side in before]), held)
    if not growing:
        return plan
    rng = seeds.stream(seed, "audit", "returning", stage)
    known = plan.promise != 0 and plan.score.renewed
    usual = plan if known else _try(plan.score, p, q, samples, claim, alpha, rng, alone=False)
    others = (_try(one, p, q, samples, claim, alpha, rng, alone=False) for one in growing)
    best = max(others, key=lambda other: other.promise)
    # What one bit tells of a log-ratio, each time it is seen, has variance 4.
    error = 2 / math.sqrt(len(p) + len(q))
    return replace(best, rivals=plan.rivals) if best.promise > SURER * max(error, usual.promise) else plan


TRIED, FINALISTS = 10_000, 2
"""Held-out outputs on each input from which, where there are more, scores are chosen that are taught by all."""


def _best(
    rivals: Sequence[scores.Score],
    held: tuple[Outputs, Outputs],
    samples: int,
    claim: Guarantee,
    alpha: float,
    rng: np.random.Generator,
) -> Plan:
    """The plan of the score that promises most, the first of equals."""
    p, q = held
    tried = [_try(rival, p, q, samples, claim, alpha, rng, alone=len(rivals) == 1) for rival in rivals]
    tried.sort(key=lambda plan: -plan.promise)
    # Successive halving (Jamieson and Talwalkar 2016): the better half is tried again on more outputs.
    best = replace(tried[0], rivals=tuple(plan.score for plan in tried[: (len(tried) + 1) // 2]))
    if isinstance(best.score, scores.Cells | scores.Outcomes):
        look = slice(0, min(len(p), LOOKED_AT))
        best = replace(best, known=words.examples([part(p, look), part(q, look)], best.scorer))
    return best


def _try(
    score: scores.Score,
    p: Outputs,
    q: Outputs,
    samples: int,
    claim: Guarantee,
    alpha: float,
    rng: np.random.Generator,
    *,
    alone: bool,
) -> Plan:
    scorer, s_p, s_q = fit(score, p, q, rng)
    cells = _cells(score, s_p, s_q)
    taught = np.stack([cells.count(s_p), cells.count(s_q)], axis=1)
    if not isinstance(claim, ApproxDP):
        rule = rules.choose_rule_on_curve(cells, samples, claim, alpha)
        return Plan(score, scorer, cells, rule, taught, promise=rule.predicted)
    rule = rules.choose_rule(cells, samples, claim.delta, alpha)
    promise = 0.0 if alone else _promise(score, s_p, s_q, samples, claim.delta, alpha)
    return Plan(score, scorer, cells, rule, taught, promise=promise)


def _cells(score: scores.Score, s_p: Array, s_q: Array) -> Partition:
    with np.errstate(over="ignore"):  # outputs near the largest float: cells beyond it are empty
        return learn_partition(
            s_p,
            s_q,
            learned_score=score.learned,
            known_ratio=score.known,
            ordered=score.ordered,
            trusted=score.linear or not score.learned,
        )


NULLS = 25
"""Values of epsilon at which the wealth of a score is looked at."""


def _promise(score: scores.Score, s_p: Array, s_q: Array, samples: int, delta: float, alpha: float) -> float:
    """The bound on epsilon that bets on a score would certify from `samples` trials; below 0 how far it is off.

    It is read off the wealth that each half of the scores gains by bets that the other half taught, against the nearest
    null: nothing is promised for a fit to the outputs that are bet on.
    """
    halves = [(s_p[place::2], s_q[place::2]) for place in (0, 1)]
    laws = [_cells(score, *half) for half in halves]
    most = max(float(np.abs(cells.log_ratio[cells.p + cells.q > 1e-6]).max(initial=0.1)) for cells in laws)
    grid = np.linspace(0.0, most, NULLS)
    growth = np.zeros(NULLS)
    for cells, (ours, theirs) in zip(laws, reversed(halves), strict=True):
        null = nearest_null(cells.p, cells.q, grid, delta, rounds=2)
        for pay, seen in ((null.pay_p, ours), (null.pay_q, theirs)):
            growth += np.log(pay) @ cells.count(seen) / (2 * max(1, len(seen)))
    enough = float(scipy.special.ndtri(1 - alpha)) ** 2 / samples
    short = np.flatnonzero(growth < enough)
    if len(short) == 0:
        return most
    first = int(short[0])
    if first == 0:
        return float(growth[0] - enough)
    return float(np.interp(-enough, -growth[first - 1 : first + 1], grid[first - 1 : first + 1]))


RELEARNED = 100_000
"""Most outputs, of both inputs together, of which all that were counted so far teach the score of the next stage."""
CHOSEN_ANEW = 20_000
"""Most outputs from which a score is chosen anew; of more, the one chosen first is taught anew."""


@dataclass
class CountedStages:
    """What `count` says of the counted trials.

    Attributes:
        plan: of the last stage; counts: (cells, 2) of all trials in its cells.
        first: (cells, 2) counts of all trials in the cells of the held-out part.
    """

    plan: Plan
    stages: list[Stage]
    counts: NDArray[np.int64]
    first: NDArray[np.int64]


def count(
    runner: Runner,
    held: tuple[Outputs, Outputs],
    plan: Plan,
    samples: int,
    claim: Guarantee,
    alpha: float,
    premise: Premise,
    score: Any,
    seed: int,
) -> CountedStages:
    """The stages. A claimed curve has one: its rule stands at one point of the curve.

    What a stage counts teaches the next one: its cells' laws and, of few outputs, its score.
    """
    block = block_size(samples, runner.chunk)
    relearned = isinstance(claim, ApproxDP) and plan.cells.learned < SURE
    past = _Past(runner, held, plan, samples, claim, alpha, score, seed, relearned)
    left = sizes_of_stages(samples, few=plan.cells.few, delta=plan.rule.delta) if relearned else [samples]
    whole, first = plan, np.zeros_like(plan.taught)
    stages: list[Stage] = []
    number = 0
    while left:
        paired = past.paired(sum(left), len(stages))
        size, left = (sum(left), []) if paired else (left[0], left[1:])
        plan = past.teaches(len(stages))
        fresh = np.zeros_like(plan.taught)
        for start in range(0, size, runner.chunk):
            for side, drawn in enumerate(runner.both(min(runner.chunk, size - start), "counted", number, block=block)):
                if drawn is not None:
                    scored = plan.scorer(drawn.outputs)
                    same = plan.scorer is whole.scorer
                    first[:, side] += observed(whole, premise, side, drawn, scored if same else None)
                    fresh[:, side] += plan.cells.count(scored)
                    past.keep(side, drawn, number)
            number += 1
        coin = Stage.coin_of(seed, len(stages))
        if paired:
            stages.append(past.by_pairs(paired, coin))
            plan = replace(plan, score=paired, rule=rules.nothing(plan.cells))
        else:
            plan = replace(plan, rule=fitted(plan.rule, plan.cells, fresh.sum(axis=1), samples, alpha))
            stages.append(Stage.of(plan.rule, fresh, coin))
        past.end(fresh)
    return CountedStages(plan, stages, past.counts(plan), first)


@dataclass
class _Past:
    """All before a stage of a fixed audit.

    Attributes:
        usual: the plan that it teaches, but for scores of values one by one, which may take its place for a stage.
        outputs: on both inputs, the held-out ones first, as far as they are kept.
        blocks: of calls that each of the counted ones is of, batch by batch.
        counted: (cells, 2) in the cells of the stages so far, all the same where outputs are not kept.
        ended: batches of either input, the held-out one among them, of the stages so far.
    """

    runner: Runner
    held: tuple[Outputs, Outputs]
    usual: Plan
    samples: int
    claim: Guarantee
    alpha: float
    score: Any
    seed: int
    relearned: bool
    anew: bool = field(init=False)
    kept: bool = field(init=False)
    outputs: tuple[list[Outputs], list[Outputs]] = field(init=False)
    blocks: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] = field(default_factory=lambda: ([], []))
    counted: NDArray[np.int64] | None = None
    ended: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        few = self.relearned and self.samples + 2 * len(self.held[0]) <= RELEARNED
        self.anew = few and any(rival.renewed for rival in self.usual.rivals)
        self.kept = few and (self.anew or learns(self.score))
        self.outputs = [self.held[0]], [self.held[1]]

    def teaches(self, stage: int) -> Plan:
        """The plan of this stage."""
        known, before = (self.samples, self.claim, self.alpha), (join(self.outputs[0]), join(self.outputs[1]))
        if stage and self.anew:
            rivals = self.usual.rivals if len(before[0]) + len(before[1]) <= CHOSEN_ANEW else (self.usual.score,)
            self.usual = _best(rivals, before, *known, seeds.stream(self.seed, "audit", "learn", stage))
        elif stage:
            cells = self.usual.cells.taught(self.usual.taught + self.counts(self.usual))
            self.usual = replace(self.usual, cells=cells)
        if stage:
            ruling = ruled(self.usual.cells, self.samples, self.usual.rule.delta, self.alpha)
            self.usual = replace(self.usual, rule=ruling)
            if not self.kept:
                return self.usual
        plan = or_returning(self.usual, before, 2 * len(self.held[0]), *known, self.score, self.seed, stage)
        self.usual = self.usual if self.kept else plan
        return plan

    def paired(self, left: int, stage: int) -> alike.Alike | None:
        """Whose equal values are judged two by two in all trials that are left, if outputs so far promise far more."""
        if not self.kept or getattr(self.claim, "delta", 1.0) > 0:
            return None
        before = join(self.outputs[0]), join(self.outputs[1])
        look = np.concatenate([side.matrix[:LOOKED_AT] for side in before])
        places = returning(self.score, look, 2 * len(self.held[0]))
        if not places:
            return None
        rng = seeds.stream(self.seed, "audit", "pairs promised", stage)
        usual = _try(self.usual.score, *before, self.samples, self.claim, self.alpha, rng, alone=False)
        score, promise = alike.best(places, before, left, self.alpha, rng)
        error = 2 / math.sqrt(sum(map(len, before)))
        return score if promise > SURER * max(error, usual.promise) else None

    def by_pairs(self, score: alike.Alike, coin: float) -> alike.StageOfPairs:
        """The stage that is over with these outputs."""
        fresh = (join(batches[ended:]) for batches, ended in zip(self.outputs, self.ended, strict=True))
        blocks = [np.concatenate(batches[ended - 1 :]) for batches, ended in zip(self.blocks, self.ended, strict=True)]
        return alike.stage(score.of(*fresh), coin, seeds.stream(self.seed, "audit", "pairs"), blocks)

    def keep(self, side: int, drawn: DrawnOutputs, chunk: int) -> None:
        """Takes the counted outputs of a chunk on one input."""
        if self.kept:
            self.outputs[side].append(drawn.outputs)
            self.blocks[side].append(chunk * self.samples + np.repeat(drawn.blocks, drawn.sizes))

    def end(self, fresh: NDArray[np.int64]) -> None:
        """A stage is over, with these (cells, 2) counts."""
        self.ended = len(self.outputs[0]), len(self.outputs[1])
        if not self.kept:
            self.counted = fresh if self.counted is None else self.counted + fresh

    def counts(self, plan: Plan) -> NDArray[np.int64]:
        """(cells, 2) counts of all stages in the cells of a plan."""
        if self.counted is not None:
            return self.counted
        counts = np.zeros_like(plan.taught)
        for side, batches in enumerate(self.outputs):
            for outputs in batches[1:]:
                counts[:, side] += plan.cells.count(plan.scorer(outputs))
        return counts


def observed(
    plan: Plan, premise: Premise, side: int, drawn: DrawnOutputs, scored: Array | None = None
) -> NDArray[np.int64]:
    """(cells,) counts of outputs on one input, of which the premise is told as well.

    Args:
        scored: the outputs by the score of the plan, where they have been scored.
    """
    index = plan.cells.index(plan.scorer(drawn.outputs) if scored is None else scored)
    premise.observe(side, index, drawn.outputs.matrix, drawn.sizes, drawn.second)
    return np.bincount(index, minlength=len(plan.taught))


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
