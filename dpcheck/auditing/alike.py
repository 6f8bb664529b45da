"""Outputs of one value, two by two: did both come from one input? Nothing has to be known of which values are of which.

Given where the outputs fell, the inputs that they came from are independent, and one of value v came from `data` with a
chance r_v that ε-DP keeps within 1/(1 + e^ε) and e^ε/(1 + e^ε), in both directions, where delta is 0. So two outputs of
one value came from one input with chance r_v² + (1 - r_v)² <= (1 + e^2ε)/(1 + e^ε)², whose log-odds are log cosh ε.
Pairs without a common output are independent: how many of them are of one input is at most binomial, whatever the
values and their number, and nothing was learned for it.

Outputs of one call may share what is no secret, a table that the call drew or a pool of its noise, and a call is of one
input. So no pair is of one block of calls: which block an output is of says nothing of its input.

Who guesses by the input that a value came from before is right with chance up to e^ε/(1 + e^ε), and no less can be
granted to a guess of one output, as the value may be known to be of that input. Of values that are seen twice or thrice
that is far too much: at ε = 1 a pair is of one input with chance 0.61, and a guess is right with 0.73.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dpcheck.auditing.mechanisms import Outputs
from dpcheck.auditing.rules import Rule
from dpcheck.auditing.scores import Returning, row_keys
from dpcheck.auditing.stages import Stage

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Alike(Returning):
    """Names the values that were judged two by two, in a plan; no audit is asked for it."""

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"pairs of equal {self.where}"


@dataclass(frozen=True)
class StageOfPairs(Stage):
    """A stage whose right guesses are pairs of one input; its p-value holds where delta is 0."""

    def p_value(self, epsilon: float, delta: float, failure_probability: float) -> float:
        return super().p_value(self.log_odds(epsilon), delta, failure_probability)

    def log_odds(self, epsilon: float) -> float:
        """Of a pair to be of one input, at most."""
        return epsilon + math.log1p(math.exp(-2 * epsilon)) - math.log(2)

    def epsilon_of(self, log_odds: float) -> float:
        if log_odds <= 0:
            return 0.0
        # arccosh, without the overflow of cosh.
        return log_odds + math.log1p(math.sqrt(-math.expm1(-2 * log_odds))) if log_odds < math.inf else math.inf


def pairs(
    sides: Sequence[Array], rng: np.random.Generator, blocks: Sequence[Integers] | None = None
) -> tuple[int, int]:
    """How many pairs are of one input, and how many of both; three outputs of one value are one pair.

    Args:
        sides: (k, columns) outputs on either input, of trials whose inputs were drawn by coins.
        blocks: (k,) numbers of their blocks, of which no pair is; None: each of a block of its own.
    """
    keys = np.unique(row_keys(np.concatenate(sides) + 0.0), return_inverse=True)[1].ravel()
    side = np.repeat([0, 1], [len(rows) for rows in sides])
    # Which outputs of a value make a pair must not depend on their inputs.
    order = rng.permutation(len(keys))
    block = np.arange(len(keys)) if blocks is None else np.concatenate(blocks)[order]
    along = np.lexsort((block, keys[order]))
    keys, side, block = keys[order][along], side[order][along], block[along]
    times = np.bincount(keys)
    place = np.arange(len(keys)) - np.repeat(np.cumsum(times) - times, times)
    # The early half of a value's outputs with its late half, as they are in order of their blocks.
    first = np.flatnonzero(place < times[keys] // 2)
    second = first + (times - times // 2)[keys[first]]
    apart = block[first] != block[second]
    same = int((side[first] == side[second])[apart].sum())
    return same, int(apart.sum()) - same


def best(
    places: Sequence[Returning], held: Sequence[Outputs], samples: int, alpha: float, rng: np.random.Generator
) -> tuple[Alike, float]:
    """The values whose pairs promise most, and the bound that they do: what held-out outputs say of counted ones."""
    grown = samples / sum(map(len, held))
    found = [(promised(*pairs(one.of(*held), rng), grown**2, alpha), one.column) for one in places]
    promise, column = max(found, key=lambda each: each[0])
    return Alike(column=column), promise


def promised(same: int, cross: int, grown: float, alpha: float) -> float:
    """The bound to be expected of `grown` times as many pairs, less a standard error of those that were seen."""
    share, seen = (same + 0.5) / (same + cross + 1), same + cross + 1
    z = float(scipy.special.ndtri(1 - alpha))
    return epsilon_of_share(share - math.sqrt(share * (1 - share) / seen) * (1 + z / math.sqrt(grown)))


def epsilon_of_share(share: float) -> float:
    """The epsilon at which a pair is of one input with this chance, at most."""
    root = math.sqrt(max(0.0, 2 * share - 1))
    return math.log1p(root) - math.log1p(-root) if root < 1 else math.inf


def stage(
    sides: Sequence[Array], coin: float, rng: np.random.Generator, blocks: Sequence[Integers] | None = None
) -> StageOfPairs:
    """Of fresh outputs on either input, and the blocks of calls that they are of."""
    same, cross = pairs(sides, rng, blocks)
    return StageOfPairs(
        Rule(np.zeros(0, dtype=np.int8), 0.0, 0.0), np.array([same]), np.array([cross]), sum(map(len, sides)), coin
    )
