"""`dp.audit_samples`: outputs handed in instead of a mechanism, judged as `dp.audit` judges those that it draws.

An audit counts trials whose inputs are fair coins; recorded samples have sizes of their own. So coins are drawn, and
every trial takes the next row of the sample that its coin names. There are fewer trials than rows, so that the samples
last but with a chance of at most `SPILL` (Hoeffding 1963); where they do not, other coins are drawn. Coins look at no
output, so whoever is told that they lasted learns at most a factor 1 / (1 - SPILL) of any probability, and the audit is
run at a failure probability that is smaller by this factor.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.auditing.audit import AuditResult, audit
from dpcheck.auditing.handing import digest
from dpcheck.auditing.inputs import (
    FEWEST_TRIALS,
    Pair,
    check_claim,
    check_failure_probability,
    check_flag,
    check_seed,
    is_whole,
)
from dpcheck.auditing.premise import SHARE
from dpcheck.errors import InvalidInput, MechanismError
from dpcheck.foreign import shortened
from dpcheck.privacy import Guarantee
from dpcheck.recorded.rows import NUMBERS, Rows, both_rows
from dpcheck.verdicts import Outcome, Witness

MOST_AMONG = 10**9
"""Audits of the same outputs: what is left to each of them can still be counted."""
SPILL = 0.01
"""Most chance that coins ask for more rows than there are."""
PREMISE = "rows are runs of their own: independent, given the input"
CURE = (
    "record runs that share nothing, no seed and no state; if rows were sorted or grouped after they were made, their "
    "order says nothing of the runs: pass ordered=False"
)


@dataclass(frozen=True, kw_only=True)
class SamplesResult(AuditResult):
    """The answer of `dp.audit_samples`: an `AuditResult`, which also says which rows were used and what it rests on.

    Attributes:
        handed_in: rows of x and of y; ordered: whether their order was said to be that of the runs.
        among: audits of the same outputs that share `among * failure_probability`.
    """

    handed_in: tuple[int, int]
    ordered: bool
    among: int

    @property
    def confidence(self) -> str:
        """In four digits, rounded down: a share of the failure probability may have any number of them."""
        if self.among == 1 or self.failure_probability < 1e-3:
            return super().confidence
        return f"{math.floor(1e4 * (1 - self.failure_probability)) / 100:g} %"

    @property
    def premise(self) -> str:
        if self.dependence:
            return f"{PREMISE}: they are not"
        chance = f"failure probability {self.premise_failure:.2g}"
        if self.ordered:
            return f"{PREMISE}; a check of that ({chance}) found nothing, if rows stand in the order of the runs"
        return f"{PREMISE}; nothing but repeated values could be checked ({chance}): the order of rows is unknown"

    def reason(self) -> str:
        if self.dependence:
            return f"{self.mechanism}: rows are not independent: {self.dependence}; {CURE}"
        return super().reason()

    @property
    def witness(self) -> Witness | None:
        """As of any audit; at the failure probability that is left when coins are paid for."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(AuditResult)}
        plain["failure_probability"] = (1 - SPILL) * self.failure_probability
        return AuditResult(**plain).witness

    def rows(self) -> list[tuple[str, str]]:
        x, y = self.handed_in
        taken = self.counts["tested"]
        return [
            *super().rows(),
            (
                "rows",
                f"{x:,} on `data`, {y:,} on `neighbour`; fair coins took {taken:,} of them, others taught the event",
            ),
            ("family", self.family),
        ]

    @property
    def family(self) -> str:
        """How the failure probability is shared among the audits of the same outputs."""
        if self.among == 1:
            return "the only audit of these outputs; of k claims or scores each needs among=k, and has a k-th part"
        together = self.among * self.failure_probability
        return f"one of {self.among} audits of these outputs, wrong together with probability at most {together:.3g}"

    def to_dict(self) -> dict[str, Any]:
        x, y = self.handed_in
        return {**super().to_dict(), "rows": {"x": x, "y": y}, "ordered": self.ordered, "among": self.among}


def audit_samples(
    x: Any,
    y: Any,
    claim: Guarantee,
    *,
    failure_probability: float = 0.05,
    among: int = 1,
    score: Any = "auto",
    held_out: float | None = None,
    halts: bool = False,
    ordered: bool = True,
    seed: int = 0,
    name: str = "the recorded mechanism",
    label: str = "",
) -> SamplesResult:
    """Audits outputs that were recorded elsewhere: one sample on an input, one on its neighbour.

    Every row must be a run of its own: a fresh run of the mechanism, a training run begun anew. Scores of many canaries
    in one training run are no such rows; `dp.audit_canary_scores` is for those. That the two inputs are neighbours is
    the caller's word.

    Args:
        x, y: outputs on the two inputs, axis 0 counting runs: arrays of numbers or words, or lists of anything that a
            mechanism may return (numbers, words, tuples that mix them, lists of several lengths). The samples may have
            several sizes; of the larger one as many rows are used as of the smaller one.
        claim: `PureDP`, `ApproxDP`, or a whole curve. A bound at one delta decides every epsilon at this delta.
        failure_probability: of everything said by the `among` audits of these outputs together.
        among: how many audits of the same outputs there will be, of other claims or scores; fixed before the first.
            Each has an equal part. A list of scores from which the held-out rows choose is one audit.
        score, held_out, halts, label: as in `dp.audit`.
        ordered: rows stand in the order of the runs, and row i of x shares nothing with row i of y: dependence is
            looked for in it. False: their order means nothing; it is shuffled, and dependence cannot be seen.
        seed: of coins and learning.
        name: what the result calls the mechanism.

    Returns:
        A `SamplesResult`: REFUTED, CONSISTENT or UNDECIDED, never HOLDS.

    Raises:
        InvalidInput: samples that are too small, empty, not finite, of different kinds, or the same one twice.
        MechanismError: outputs that cannot be compared, or the score failed.
    """
    __tracebackhide__ = True
    check_failure_probability(failure_probability)
    check_seed(seed)
    check_claim(claim)
    check_flag("halts", halts)
    check_flag("ordered", ordered)
    if not (is_whole(among, 1) and among <= MOST_AMONG):
        raise InvalidInput(
            f"among must be the number of audits of these outputs, 1 to {MOST_AMONG:,}, got {shortened(among)}"
        )
    if not isinstance(name, str):
        raise InvalidInput(f"name must be text, what the result calls the mechanism, got {shortened(name)}")
    samples = both_rows(x, y, halts=halts)
    sizes = (len(samples[0]), len(samples[1]))
    trials = most_trials(min(sizes))
    if trials < FEWEST_TRIALS:
        raise InvalidInput(f"x and y must hold at least {fewest_rows()} outputs each, got {sizes[0]} and {sizes[1]}")
    alpha = failure_probability / among
    together = _pairing(*samples, SHARE * alpha / 2) if ordered else ""
    shown = samples if ordered else _shuffled(samples, seed)
    audit_result = _replayed(
        shown,
        claim,
        seed,
        name,
        trials=trials,
        failure_probability=(1 - SPILL) * alpha,
        score=score,
        held_out=held_out,
        halts=halts,
        label=label,
    )
    said: dict[str, Any] = {field.name: getattr(audit_result, field.name) for field in dataclasses.fields(AuditResult)}
    said |= {"failure_probability": alpha, "premise_failure": SHARE * alpha * (1.5 if ordered else 1), "seed": seed}
    if together and not audit_result.dependence:
        said |= {
            "dependence": together,
            "outcome": Outcome.UNDECIDED,
            "epsilon_lower": 0.0,
            "curve": None,
            "likely": "",
        }
    one, two = ({"rows": len(rows), "digest": digest(rows)} for rows in samples)
    text = "recorded outputs; that their inputs are neighbours is the word of whoever recorded them"
    said["inputs"] = Pair(text, one, two)
    return SamplesResult(**said, handed_in=sizes, ordered=ordered, among=among)


def most_trials(rows: int) -> int:
    """Trials on each input, on average, that so many rows on each last for, but with a chance of at most `SPILL`.

    With h rows held out, the coins of 2 (T - h) trials ask one sample for more than the R - h rows that are left with
    probability at most exp(-(R - T)^2 / (T - h)), and T <= R.
    """
    return rows - math.ceil(math.sqrt(rows * math.log(2 / SPILL)))


def fewest_rows() -> int:
    return next(rows for rows in range(FEWEST_TRIALS, 10 * FEWEST_TRIALS) if most_trials(rows) >= FEWEST_TRIALS)


class _RanOut(Exception):
    """Coins that ask for more rows than there are."""


class _Replay:
    """A mechanism that answers with the next rows of a sample; its input is the number of the sample."""

    def __init__(self, samples: tuple[Rows, Rows], name: str) -> None:
        self._samples, self._next = samples, [0, 0]
        self.__name__ = name

    def __call__(self, side: int, rng: np.random.Generator, trials: int) -> Rows:
        start = self._next[side]
        self._next[side] = end = start + trials
        if end > len(self._samples[side]):
            raise _RanOut
        return self._samples[side][start:end]


def _replayed(samples: tuple[Rows, Rows], claim: Guarantee, seed: int, name: str, **options: Any) -> AuditResult:
    """The audit under the first coins for which the samples last."""
    few = min(map(len, samples))
    samples = samples[0][:few], samples[1][:few]
    while True:
        try:
            return audit(_Replay(samples, name), 0, 1, claim, seed=seed, adjacency=None, **options)
        except MechanismError as error:
            if not isinstance(error.__cause__, _RanOut):
                raise
            seed = seeds.key_of(["coins after", seed])


def _shuffled(samples: tuple[Rows, Rows], seed: int) -> tuple[Rows, Rows]:
    one, two = (
        rows[seeds.stream(seed, "recorded", "order", side).permutation(len(rows))] for side, rows in enumerate(samples)
    )
    return one, two


COLUMNS = 16
"""Columns of which each is looked at for a likeness of row i on both inputs."""


def _pairing(x: Rows, y: Rows, failure_probability: float) -> str:
    """Whether row i of x resembles row i of y, as runs that share a seed do; in words, "" if not.

    If the samples are independent of each other, and rows of one sample too, row i of y might as well be any other one:
    how often both exceed the medians of their columns is hypergeometric (Fisher 1922), given how often each does.
    """
    if x.dtype.kind not in NUMBERS or "c" in (x.dtype.kind, y.dtype.kind):
        return ""
    few = min(len(x), len(y))
    one, two = (np.nan_to_num(np.ma.filled(rows[:few].reshape(few, -1), 0).astype(float)) for rows in (x, y))
    columns = min(COLUMNS, one.shape[1])
    chances = [_likeness(_above(one[:, k]), _above(two[:, k])) for k in range(columns)]
    least = min(1.0, columns * min(chances))
    if least > failure_probability:
        return ""
    return (
        f"row i on the one input and row i on the other go together (p = {max(least, 1e-300):.1g} under independence)"
    )


def _above(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray(values > np.median(values))


def _likeness(one: NDArray[np.bool_], two: NDArray[np.bool_]) -> float:
    """Two-sided p-value of the number of rows in which both are true."""
    seen, law = int((one & two).sum()), scipy.stats.hypergeom(len(one), int(one.sum()), int(two.sum()))
    return float(min(1.0, 2 * min(law.cdf(seen), law.sf(seen - 1))))
