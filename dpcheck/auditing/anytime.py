"""Audits that may stop at any time: staged tests with a look after every stage, in nearly constant memory.

A first part of the runs chooses the score and its cells. The trials after it come in stages that end at looks fixed
beforehand (`dpcheck.auditing.spending`), each twice as far as the one before. The rule of a stage is learned from all
trials before it, and so is a score that is taught by outputs, as long as these are kept (`dpcheck.auditing.learner`).
The rule is fitted to where the stage's outputs fell, as in a fixed audit; the p-value of a stage holds given the past.
The combined scores of the stages are then at most a Gaussian walk (`dpcheck.statistics.stages`), whose boundaries spend
a little of the failure probability at every look, most of it at the horizon, and something at each look beyond.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpcheck.auditing import rules, spending
from dpcheck.auditing.cells import Partition
from dpcheck.auditing.curve import Curve, measure_curve
from dpcheck.auditing.plans import fitted, ruled
from dpcheck.auditing.spending import Looks
from dpcheck.auditing.stages import Stage
from dpcheck.errors import InvalidInput
from dpcheck.privacy import ApproxDP, Guarantee
from dpcheck.statistics.binomial import largest_rejected
from dpcheck.statistics.stages import normal_score

Array = NDArray[np.float64]
CURVE_DELTA = 1e-5
"""Where a lower bound on epsilon is reported when a whole curve is claimed."""


@dataclass
class StagedTest:
    """One staged test, with a look after every stage.

    Attributes:
        claim: what its rules are chosen against: an (epsilon, delta) claim, or a curve, each stage of which stands at a
            point of its own.
        level: its share of the failure probability.
        seed: of the audit: the coins of the stages come from it.
        stages: those that are over.
    """

    claim: Guarantee
    level: float
    schedule: Looks
    seed: int
    stages: list[Stage] = field(default_factory=list)
    _scores: dict[tuple[int, float], float] = field(default_factory=dict, repr=False)
    _aims: dict[int, int] = field(default_factory=dict, repr=False)

    def rule(self, known: Partition) -> rules.Rule:
        """Of the stage that begins, from the trials before it."""
        if isinstance(self.claim, ApproxDP):
            return ruled(known, self._aim(known, self.claim), self.claim.delta, 0.5 * self.level)
        samples = self.schedule.at(len(self.stages))
        return rules.choose_rule_on_curve(known, samples, self.claim, 0.5 * self.level)

    def _aim(self, known: Partition, claim: ApproxDP) -> int:
        """Trials for whose bound the rule of the stage under way is chosen: those by which the claim is likely to fall,
        if any before the horizon, else those at the horizon, or at its own look beyond it.

        A rule that suits what fewer trials certify speaks for a claim of which more trials say that it is false, and
        each stage counts at all later looks. With rules that aim at their own look, 20,000 trials of a sparse vector
        algorithm certified what the best test needs 14 % of them for; with these 29 %, as with one look.
        """
        now, last = len(self.stages), self.schedule.halvings
        if now not in self._aims:
            spent = self.level * self.schedule.spent(last + 1)

            def promise(look: int) -> float:
                return rules.promised(known, self.schedule.at(look), claim.delta, float(spent[look]))

            fallen = now >= last or self.margin() >= 0
            look = last if fallen else now + bisect.bisect(range(now, last), claim.epsilon, key=promise)
            self._aims[now] = self.schedule.at(max(look, now))
        return self._aims[now]

    def end(self, known: Partition, rule: rules.Rule, fresh: NDArray[np.int64]) -> rules.Rule:
        """A stage with these (cells, 2) counts is over: a look. Returns the rule fitted to it."""
        if isinstance(self.claim, ApproxDP):
            rule = fitted(rule, known, fresh.sum(axis=1), self._aim(known, self.claim), 0.5 * self.level)
        stage = Stage.of(rule, fresh, Stage.coin_of(self.seed, len(self.stages)))
        # Of the rule only what its p-value needs is kept: a sign for each input that it guesses.
        signs = np.array(sorted(rule.guessed), dtype=np.int8)
        self.stages.append(replace(stage, rule=replace(rule, level=signs)))
        return rule

    def margin(self, epsilon: float | None = None) -> float:
        """How far the combined score exceeds its boundary, at the best look; a rejection where it is 0 or more.

        Args:
            epsilon: the null; None: the claim, a curve at each stage's own point.
        """
        if not self.stages:
            return -np.inf
        sizes = np.array([stage.samples for stage in self.stages], dtype=float)
        scores = np.array([self._score(number, epsilon) for number in range(len(sizes))])
        combined = np.cumsum(np.sqrt(sizes) * scores) / np.sqrt(np.cumsum(sizes))
        return float((combined - spending.critical(self.schedule, self.level, len(sizes))).max())

    def _score(self, number: int, epsilon: float | None) -> float:
        stage = self.stages[number]
        at = self.claim.epsilon_at(stage.rule.delta) if epsilon is None else epsilon
        if (number, at) not in self._scores:
            # A stage's p-value spends on numbers of leaks, or on a nuisance, in proportion to what its look spends.
            level = self.level * float(self.schedule.steps(number + 1)[-1])
            self._scores[number, at] = float(normal_score(stage.randomised_p_value(at, stage.rule.delta, level)))
        return self._scores[number, at]

    def to_dict(self) -> list[dict[str, Any]]:
        """The stages, JSON-able."""
        return [_told(stage) for stage in self.stages]

    def recall(self, stages: Any) -> None:
        """Takes stages that `to_dict` told; raises `InvalidInput` where they are none."""
        self.stages = [
            replace(_recalled(stage), coin=Stage.coin_of(self.seed, number)) for number, stage in enumerate(stages)
        ]
        ends = np.cumsum([stage.samples for stage in self.stages])
        if any(end != self.schedule.at(k) for k, end in enumerate(ends.tolist())):
            raise InvalidInput("not the state of an anytime audit: its stages do not end at its looks; start anew")
        if isinstance(self.claim, ApproxDP) and any(s.rule.delta != self.claim.delta for s in self.stages):
            raise InvalidInput("not the state of an anytime audit: its stages stand at another delta; start anew")


def _told(stage: Stage) -> dict[str, Any]:
    rule, most = stage.rule, 1 + max(np.flatnonzero(stage.right + stage.wrong), default=0)
    return {
        "guesses": rule.level.tolist(),
        "delta": rule.delta,
        "small_leak": rule.small_leak,
        "leak_worth": rule.leak_worth,
        "right": stage.right[:most].tolist(),
        "wrong": stage.wrong[:most].tolist(),
        "levels": len(stage.right),
        "samples": stage.samples,
    }


def _recalled(values: Mapping[str, Any]) -> Stage:
    right, wrong = (whole_numbers(values[name], 1) for name in ("right", "wrong"))
    levels, samples = int(values["levels"]), int(values["samples"])
    delta, worth = float(values["delta"]), float(values["leak_worth"])
    signs = np.array(values["guesses"], dtype=np.int8)
    sound = len(right) == len(wrong) <= levels <= rules.LEVELS[-1] and right.sum() + wrong.sum() <= samples
    if not (sound and 0 <= delta < 1 and 0 <= worth < np.inf and set(signs.tolist()) <= {-1, 1}):
        raise InvalidInput("not the state of an anytime audit: a stage holds impossible counts; start anew")
    rule = rules.Rule(signs, delta, 0.0, bool(values["small_leak"]), worth)
    pad = (0, levels - len(right))
    return Stage(rule, np.pad(right, pad), np.pad(wrong, pad), samples)


def whole_numbers(values: Any, dimensions: int) -> NDArray[np.int64]:
    """Whole numbers of no less than 0 and below 2^53. Raises `ValueError`."""
    numbers = np.array(values, dtype=float)
    # `rint` of an infinite number is quiet; NaN fails the first comparison.
    if numbers.ndim != dimensions or not ((numbers >= 0) & (numbers < 2**53) & (np.rint(numbers) == numbers)).all():
        raise ValueError("counts must be whole numbers of at least 0")
    return numbers.astype(np.int64)


WRONG = 2.0
"""Wrong guesses that the claim must leave to be expected up to the first look: fewer make a useless p-value."""


def earliest_look(cells: Partition, rule: rules.Rule, epsilon: float) -> float:
    """Trials that a first look needs by the held-out part: guesses, as if of the highest level, that may be wrong."""
    level = np.abs(rule.level.astype(float))
    share = float(level @ (cells.p + cells.q)) / (2 * max(1.0, float(level.max())))
    # A held-out part that found nothing to guess says nothing.
    return WRONG / max(1e-12, share * float(scipy.special.expit(-epsilon))) if share > 0 else 0.0


@dataclass
class State:
    """All that an anytime audit remembers; it grows by one stage a look, with the logarithm of the trials.

    Attributes:
        claim: audited; schedule: of the looks.
        bound: the test of (epsilon, delta) nulls that the lower bound comes from; curve: of a claimed curve, or None.
        counts: (cells, 2) outputs so far in the cells of the stage under way, the teaching ones included; fresh: those
            since the last look; settled: trials counted before these cells were learned.
        right, wrong: guesses of all trials up to the last look. Each was made by a rule that was fixed before its stage
            or, where delta is 0, before it was known which input any trial of the stage came from.
        rule: of the stage before the last look; known, rules_now: cells and rules of the stage under way.
        chunk_number: next chunk to draw.
    """

    claim: Guarantee
    schedule: Looks
    bound: StagedTest
    curve: StagedTest | None
    counts: NDArray[np.int64]
    fresh: NDArray[np.int64]
    right: int = 0
    wrong: int = 0
    chunk_number: int = 0
    settled: int = 0
    rule: rules.Rule | None = field(default=None, repr=False)
    known: Partition | None = field(default=None, repr=False)
    rules_now: tuple[rules.Rule, ...] = field(default=(), repr=False)
    _lower: tuple[int, float] = field(default=(0, 0.0), repr=False)

    @classmethod
    def begun(
        cls, claim: Guarantee, taught: NDArray[np.int64], schedule: Looks, failure_probability: float, seed: int
    ) -> State:
        shares = {name: part * failure_probability for name, part in spending.split(claim, "anytime").items()}
        bound = claim if isinstance(claim, ApproxDP) else ApproxDP(claim.epsilon_at(CURVE_DELTA), CURVE_DELTA)
        sooner = replace(schedule, early=spending.EARLY_ON_A_CURVE)
        curve = StagedTest(claim, shares["curve"], sooner, seed) if "curve" in shares else None
        counts = taught.astype(np.int64)
        test = StagedTest(bound, shares["bound"], schedule, seed)
        return cls(claim, schedule, test, curve, counts, np.zeros_like(counts))

    @property
    def tests(self) -> tuple[StagedTest, ...]:
        return (self.bound,) if self.curve is None else (self.bound, self.curve)

    @property
    def looks(self) -> int:
        """Looks so far."""
        return len(self.bound.stages)

    @property
    def next_look(self) -> int:
        """Trials at the next one."""
        return self.schedule.at(self.looks)

    @property
    def looked_at(self) -> int:
        """Trials at the last one."""
        return self.schedule.at(self.looks - 1) if self.looks else 0

    @property
    def tested(self) -> int:
        """Coin-flipped trials so far."""
        return self.looked_at + int(self.fresh.sum())

    def relearn(self, taught: NDArray[np.int64]) -> None:
        """Goes on in other cells, that the outputs before the stage that begins have taught: (cells, 2) counts."""
        self.counts, self.fresh = taught.astype(np.int64), np.zeros_like(taught, dtype=np.int64)
        self.settled, self.rule, self.rules_now = self.looked_at, None, ()

    def learn(self, cells: Partition) -> None:
        """Chooses the rules of the stage under way, from the trials before it."""
        self.known = cells.taught(self.counts - self.fresh)
        self.rules_now = tuple(test.rule(self.known) for test in self.tests)

    def observe(self, cells: Partition, counts: NDArray[np.int64]) -> None:
        """Takes the (cells, 2) counts of coin-flipped trials, not beyond the next look."""
        if not self.rules_now:
            self.learn(cells)
        self.fresh = self.fresh + counts
        self.counts = self.counts + counts
        self.chunk_number += 1
        if self.tested < self.next_look:
            return
        assert self.known is not None
        ended = [test.end(self.known, rule, self.fresh) for test, rule in zip(self.tests, self.rules_now, strict=True)]
        self.rule = ended[0] if ended[0].delta == 0 else self.rules_now[0]
        right, wrong = self.rule.tally(self.fresh)
        self.right, self.wrong = self.right + int(right.sum()), self.wrong + int(wrong.sum())
        self.fresh, self.rules_now = np.zeros_like(self.fresh), ()

    def epsilon_lower(self) -> float:
        """Largest null that some look rejected (fixed sequence upwards); 0 when none was."""
        if self._lower[0] != self.looks:
            claimed = self.bound.claim.epsilon_at(self.bound.stages[-1].rule.delta)
            refuted = self.bound.margin() >= 0
            low = claimed if refuted else 0.0
            self._lower = self.looks, max(low, largest_rejected(self.bound.margin, guess=max(0.1, 0.9 * claimed)))
        return self._lower[1]

    def level_of_the_last_look(self) -> float:
        """Level of a single test that needs as high a score as the bound's at the last look; 0 before the first one."""
        if not self.looks:
            return 0.0
        return float(scipy.special.ndtr(-spending.critical(self.schedule, self.bound.level, self.looks)[-1]))

    def refutes(self) -> bool:
        """Whether some look rejected the claim."""
        return any(test.margin() >= 0 for test in self.tests)

    def band(self, cells: Partition, counted: NDArray[np.int64], failure_probability: float) -> Curve | None:
        """The trade-off curve with its band as of the last look; None before the first one.

        Args:
            cells: of the held-out part; counted: (cells, 2) of the trials up to the last look.
        """
        if not self.looks:
            return None
        share = spending.split(self.claim, "anytime")["band"] * failure_probability
        return measure_curve(cells, counted, share, float(self.schedule.steps(self.looks)[-1]))

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; `State.from_dict` brings it back."""
        return {
            "version": VERSION,
            "horizon": self.schedule.horizon,
            "halvings": self.schedule.halvings,
            "tested": self.tested,
            "chunk_number": self.chunk_number,
            "right": self.right,
            "wrong": self.wrong,
            "counts": self.counts.tolist(),
            "fresh": self.fresh.tolist(),
            "settled": self.settled,
            "stages": [test.to_dict() for test in self.tests],
        }

    @classmethod
    def from_dict(
        cls,
        values: Mapping[str, Any],
        claim: Guarantee,
        taught: NDArray[np.int64],
        failure_probability: float,
        seed: int,
    ) -> State:
        """The state that `to_dict` told, of an audit of this claim. Raises `InvalidInput`.

        Args:
            taught: (cells, 2) counts of what taught the cells of the stage under way.
        """
        if values.get("version") != VERSION:
            raise InvalidInput(
                "not the state of an anytime audit of this version of dpcheck: pass what its `result.state` held, or "
                "start anew"
            )
        try:
            schedule = Looks(*whole_numbers([values["horizon"], min(values["halvings"], 60)], 1).tolist())
            state = cls.begun(claim, taught, schedule, failure_probability, seed)
            for test, stages in zip(state.tests, values["stages"], strict=True):
                test.recall(stages)
            state.counts, state.fresh = (whole_numbers(values[name], 2) for name in ("counts", "fresh"))
            names = ("right", "wrong", "chunk_number", "settled", "tested")
            numbers = whole_numbers([values[name] for name in names], 1).tolist()
            state.right, state.wrong, state.chunk_number, state.settled, tested = numbers
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(
                f"not the state of an anytime audit: {error!r}; pass what `result.state` held, or start anew"
            ) from error
        state.check(taught, tested)
        return state

    def check(self, taught: NDArray[np.int64], tested: int) -> None:
        """Raises `InvalidInput` where the parts of a state that was read do not fit each other."""
        if self.counts.shape != taught.shape or self.fresh.shape != taught.shape:
            raise InvalidInput(CHANGED)
        seen = self.counts - taught
        counted = self.settled + int(seen.sum())
        fits = self.tested == tested == counted and (seen >= self.fresh).all() and tested < self.next_look
        same = all(len(test.stages) == self.looks for test in self.tests)
        if not (fits and same and self.right + self.wrong <= tested):
            raise InvalidInput("not the state of an anytime audit: its counts do not add up; start anew")


VERSION = 5
CHANGED = (
    "the mechanism does not return what it returned when the state was stored, on the same pair and seed: "
    "it draws from something else than its generator, or a package was changed; start anew"
)


def proceed(
    state: State,
    cells: Partition,
    draw: Callable[[int, int], NDArray[np.int64]],
    samples: int,
    chunk: int,
    stop: Callable[[State], bool],
    learn: Callable[[State], Partition] | None = None,
) -> None:
    """Draws and observes chunks until `samples` trials are tested or `stop` says so.

    Args:
        draw: (chunk number, trials) -> (cells, 2) counts of coin-flipped trials.
        learn: asked before each chunk for the cells of the stage under way; None: they stay what they are.
    """
    while state.tested < samples and not stop(state):
        cells = cells if learn is None else learn(state)
        size = min(chunk, samples - state.tested, state.next_look - state.tested)
        state.observe(cells, draw(state.chunk_number, size))
