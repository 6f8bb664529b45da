"""What an anytime audit goes on learning: before a stage, the score is taught anew by all outputs before it.

The score of a stage is a function of outputs that were seen before the stage began, and of nothing else: its p-value
holds given them, whatever was learned. Outputs teach as long as all of them can be kept, `MOST_KEPT` numbers; they are
part of the state, so that an audit that is resumed finds the same scores without running anything twice.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing import plans, words
from dpcheck.auditing.anytime import CHANGED, VERSION, State, whole_numbers
from dpcheck.auditing.mechanisms import Outputs
from dpcheck.auditing.plans import Plan
from dpcheck.auditing.premise import Premise
from dpcheck.auditing.runner import Runner, block_size
from dpcheck.errors import InvalidInput
from dpcheck.privacy import ApproxDP, Guarantee

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
MOST_KEPT = 2**21
"""Most numbers of counted outputs that are kept to teach later stages: sixteen megabytes, whatever the audit runs."""
GROWN = 1.5
"""Times as many outputs as taught the score before, without which none is learned anew."""
TELLING, DECIDING = 16_000, 40_000
"""Outputs, of both inputs together, without which no kind of score is given up, and more than half of them are not.
Given up from 4,000 on, the right kind was lost in one of two traced audits of ten correlated weak columns."""


@dataclass
class Learner:
    """The score and the cells of the stage under way, and the outputs that will teach the next one.

    Attributes:
        held: outputs that are counted nowhere; first: what they taught, which fixes the cells of the band and premise.
        plan: of the stage under way; stage: before which it was learned, 0 for the first one.
        taught_by: counted outputs on each input that taught it, the first ones of `rows`.
        tried: names of the scores that it was chosen from; None: of all that suit the outputs.
        rows: (k, columns) counted outputs on each input, batch by batch; open: whether more of them are kept.
        seen, settled: (cells, 2) counted trials in the cells of `first`, all and those up to the last look.
    """

    runner: Runner
    held: tuple[Outputs, Outputs]
    first: Plan
    score: Any
    claim: Guarantee
    alpha: float
    seed: int
    plan: Plan = field(init=False)
    open: bool = field(init=False)
    seen: Counts = field(init=False)
    settled: Counts = field(init=False)
    stage: int = 0
    taught_by: tuple[int, int] = (0, 0)
    tried: tuple[str, ...] | None = None
    rows: tuple[list[Array], list[Array]] = field(default_factory=lambda: ([], []))

    def __post_init__(self) -> None:
        self.plan = self.first
        rivals = self.first.rivals
        self.open = (
            isinstance(self.claim, ApproxDP)
            and any(rival.learned and rival.smooth for rival in rivals)
            and not any(rival.raw for rival in rivals)
        )
        self.seen = np.zeros_like(self.first.taught)
        self.settled = self.seen

    def draw(self, state: State, premise: Premise, size: int) -> Counts:
        """(cells, 2) counts, in the cells of the stage, of coin-flipped trials; the premise is told of them, too."""
        if state.tested == state.looked_at:
            self.settled = self.seen
        block = block_size(state.tested + size, self.runner.chunk)
        seen, fresh = np.zeros_like(self.seen), np.zeros_like(self.plan.taught)
        for side, drawn in enumerate(self.runner.both(size, "anytime", state.chunk_number, block=block)):
            if drawn is None:
                continue
            seen[:, side] = plans.observed(self.first, premise, side, drawn)
            if self.plan is not self.first:
                fresh[:, side] = self.plan.cells.count(self.plan.scorer(drawn.outputs))
            self._keep(side, drawn.outputs.matrix)
        self.seen = self.seen + seen
        return seen if self.plan is self.first else fresh

    def _keep(self, side: int, matrix: Array) -> None:
        if not self.open:
            return
        self.rows[side].append(matrix)
        self.open = sum(batch.size for batches in self.rows for batch in batches) <= MOST_KEPT
        if not self.open:
            for batches, taught in zip(self.rows, self.taught_by, strict=True):
                batches[:] = [np.concatenate(batches)[:taught]] if batches else []

    def due(self, state: State) -> bool:
        """Whether a stage begins that has a better score to learn."""
        begins = state.looks > self.stage and state.tested == state.looked_at
        return self.open and begins and 2 * len(self.held[0]) + state.tested >= GROWN * self._taught_by_all

    @property
    def _taught_by_all(self) -> int:
        """Outputs, of both inputs together and the held-out ones among them, that taught the score."""
        return 2 * len(self.held[0]) + sum(self.taught_by)

    def learn(self, state: State) -> None:
        """Chooses and teaches the score of the stage that begins, by all outputs before it."""
        tried = None if self._taught_by_all < TELLING else self.tried
        if self._taught_by_all >= DECIDING or (self._taught_by_all >= TELLING and tried is None):
            tried = tuple(str(rival) for rival in self.plan.rivals)
        one, two = (sum(map(len, batches)) for batches in self.rows)
        self._teach(state.looks, (one, two), tried)
        state.relearn(self.plan.taught)

    def _teach(self, stage: int, taught_by: tuple[int, int], tried: tuple[str, ...] | None) -> None:
        held = [side.matrix for side in self.held]
        counted = [np.concatenate([held[side][:0], *batches]) for side, batches in enumerate(self.rows)]
        sides = [np.concatenate([mine, more[:k]]) for mine, more, k in zip(held, counted, taught_by, strict=True)]
        before = Outputs(sides[0], sides[0]), Outputs(sides[1], sides[1])
        # The stage that begins is as long as all before it.
        samples = 2 * sum(map(len, sides))
        known = samples, self.claim, self.alpha, self.score
        usual = plans.learn_anew(self.runner, before, *known, tried, self.seed, stage)
        self.plan = plans.or_returning(usual, before, 2 * len(self.held[0]), *known, self.seed, stage)
        if self.plan.known:
            # The outputs of the held-out part are at hand as the mechanism returned them.
            self.plan = replace(self.plan, known=words.examples(self.held, self.plan.scorer))
        self.stage, self.taught_by, self.tried = stage, taught_by, tried

    def counted(self, state: State) -> Counts:
        """(cells, 2) of all trials in the cells of the stage under way."""
        counts = state.counts - self.plan.taught
        if self.plan is not self.first:
            for side, (batches, k) in enumerate(zip(self.rows, self.taught_by, strict=True)):
                matrix = np.concatenate(batches)[:k]
                counts[:, side] += self.plan.cells.count(self.plan.scorer(Outputs(matrix, matrix)))
        return counts

    def up_to_the_last_look(self, state: State) -> Counts:
        """(cells, 2) of the trials up to the last look, in the cells of the held-out part."""
        return self.seen if state.tested == state.looked_at else self.settled

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; `Learner.restore` takes it. Empty where the score is never learned anew."""
        if not (self.open or self.stage):
            return {}
        return {
            "stage": self.stage,
            "taught_by": list(self.taught_by),
            "tried": None if self.tried is None else list(self.tried),
            "open": self.open,
            "rows": [_packed(batches) for batches in self.rows],
            "seen": self.seen.tolist(),
            "settled": self.settled.tolist(),
        }

    def restore(self, values: Any) -> None:
        """What an earlier session of the same audit knew. Raises `InvalidInput` where `to_dict` did not tell it."""
        if not self.open:
            return
        try:
            width = self.held[0].matrix.shape[1]
            one, two = (_unpacked(text, width) for text in values["rows"])
            stage, *taught_by = whole_numbers([values["stage"], *values["taught_by"]], 1).tolist()
            tried = None if values["tried"] is None else tuple(map(str, values["tried"]))
            seen, settled = (whole_numbers(values[name], 2) for name in ("seen", "settled"))
            first, second = taught_by
            fits = seen.shape == settled.shape == self.seen.shape and (settled <= seen).all()
            if not (fits and first <= len(one) and second <= len(two) and (stage > 0) == (first + second > 0)):
                raise ValueError("numbers that do not fit together")
            self.rows, self.open = ([one], [two]), bool(values["open"])
            self.seen, self.settled = seen, settled
            if stage:
                self._teach(stage, (first, second), tried)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(
                f"not the state of an anytime audit: the outputs that taught its score are damaged ({error!r}); "
                "pass what `result.state` held"
            ) from error

    def fits(self, state: State) -> bool:
        """Whether what was restored belongs to this state."""
        kept = sum(len(batch) for batches in self.rows for batch in batches)
        return (
            int(self.seen.sum()) == state.tested
            and int(self.settled.sum()) <= state.looked_at
            and sum(self.taught_by) == state.settled
            and self.stage <= state.looks
            and kept == (state.tested if self.open else state.settled)
        )


def resumed(values: Mapping[str, Any], learner: Learner, claim: Guarantee, alpha: float, seed: int) -> State:
    """The state of an audit that goes on; its learner finds the same scores again. Raises `InvalidInput`."""
    learned = learner.open
    if values.get("version") == VERSION:
        # Other outputs may well fill as many cells: counts of events that were others would then be added up.
        if values.get("taught") != learner.first.taught.tolist():
            raise InvalidInput(CHANGED)
        learner.restore(values.get("learner"))
    state = State.from_dict(values, claim, learner.plan.taught, alpha, seed)
    if learned and not learner.fits(state):
        raise InvalidInput("not the state of an anytime audit: the outputs that it kept do not add up; start anew")
    return state


def _packed(batches: list[Array]) -> str:
    """Numbers as text: eight bytes each, of which JSON would make twenty."""
    joined = np.concatenate(batches) if batches else np.zeros(0)
    return base64.b64encode(joined.astype("<f8").tobytes()).decode()


def _unpacked(text: Any, width: int) -> Array:
    """(k, width) numbers. Raises `TypeError` or `ValueError` where the text holds no such rows."""
    rows = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(float).reshape(-1, width)
    if np.isinf(rows).any():
        raise ValueError("outputs that are infinite")
    return rows
