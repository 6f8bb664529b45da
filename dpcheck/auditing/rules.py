"""Rules that guess the input from the cell of an output, chosen for the bound on epsilon that they promise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from dpcheck.auditing.cells import CAUTION_FEW, SURE, Partition
from dpcheck.privacy import Guarantee
from dpcheck.statistics.evalues import nearest_null

Array = NDArray[np.float64]
LEVELS = np.array([0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64], dtype=np.int8)
"""Weights of guesses: close together where they are small, since most outputs tell little."""


@dataclass(frozen=True)
class Rule:
    """Guesses the input from the cell; tested at `delta`.

    Attributes:
        level: (cells,) signed weight of the guess: > 0 data, < 0 neighbour, 0 abstains.
        small_leak: delta is small beside the chance of a right guess, so that charging it whole costs little.
        predicted: certified bound on epsilon (or test score, for a curve) to be expected.
        leak_worth: normal score that one leaked trial is expected to add, times the root of the number of trials.
    """

    level: NDArray[np.int8]
    delta: float
    predicted: float
    small_leak: bool = False
    leak_worth: float = 0.0

    @property
    def guessed(self) -> frozenset[int]:
        """The inputs that it ever guesses: 1 for data, -1 for neighbour."""
        return frozenset(np.sign(self.level[self.level != 0]).tolist())

    @property
    def directions(self) -> int:
        """Of the promise that it tests: a rule that only ever guesses one input tests one."""
        return len(self.guessed)

    def tally(self, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(right, wrong) guesses of level 1..K from (cells, 2) counts on data and neighbour."""
        levels = range(1, max(1, int(np.abs(self.level).max())) + 1)
        there = np.array([counts[self.level == k].sum(axis=0) for k in levels])
        back = np.array([counts[self.level == -k].sum(axis=0) for k in levels])
        return there[:, 0] + back[:, 1], there[:, 1] + back[:, 0]


def nothing(cells: Partition) -> Rule:
    """The rule that guesses nothing."""
    return Rule(np.zeros(len(cells.p), dtype=np.int8), 0.0, 0.0)


def choose_rule(cells: Partition, samples: int, delta: float, failure_probability: float) -> Rule:
    """The rule with the best predicted lower bound on epsilon at `delta` from `samples` coin-flipped trials."""
    order, right, wrong, shape = _candidates(cells)
    bound = _promises(right, wrong, samples, delta, _margin(cells, samples, failure_probability, cells.caution))
    place = int(np.argmax(bound))
    small = 20 * delta < float(right.flat[place])
    rule = Rule(_guess(order, *np.unravel_index(place, shape)), delta, float(bound.flat[place]), small)
    if not small or not rule.level.any():
        return rule
    weighted = _weighted_rules(cells, samples, delta, failure_probability, rule.predicted)
    # Ratios may level off where the smooth model goes on: of learned log-ratios, and at delta > 0, they seldom do.
    bounded = (delta == 0 and not cells.log_odds) or (cells.few and cells.ordered)
    z = _margin(cells, samples, failure_probability, CAUTION_WEIGHTED if bounded else 0.0)
    bounds = [_weighted_bound(r.level, cells, samples, delta, z) for r in (rule, *weighted)]
    best = int(np.argmax(bounds))
    chosen = (rule, *weighted)[best]
    return replace(chosen, leak_worth=_leak_worth(chosen.level, cells, bounds[best]))


def _promises(right: Array, wrong: Array, samples: int, delta: float, z: float) -> Array:
    """The bound that each candidate promises where z standard errors are taken from it."""
    return _predicted_bound(right * samples, wrong * samples, samples * delta * _leaks(right.shape), z)


def promised(cells: Partition, samples: int, delta: float, failure_probability: float) -> float:
    """The best bound that unweighted guesses promise; no event is chosen by it, and so little caution is enough.

    With that of a chosen event, an anytime audit of 1.5 that is 4.4 in truth took three times the trials (11 seeds).
    """
    _, right, wrong, _ = _candidates(cells)
    z = _margin(cells, samples, failure_probability, CAUTION_FEW)
    return float(_promises(right, wrong, samples, delta, z).max())


CAUTION_WEIGHTED = 1.0
"""Standard errors of the teaching part that weighted guesses are marked down by: else those win whose chance it made
too high, say on one side of two that are alike, or at values that it hardly ever saw."""


def _margin(cells: Partition, samples: int, failure_probability: float, caution: float) -> float:
    """Standard errors of the tested part that a candidate is marked down by, for the level and for what taught it."""
    level = float(scipy.special.ndtri(1 - failure_probability))
    return min(MOST_MARGIN, level + caution * math.sqrt(samples / (2 * max(1, cells.learned))))


MOST_MARGIN = 37.0
"""Standard errors whose normal tail is still a positive double: from none of them a candidate could be told."""
WEIGHED, WEIGHED_KNOWN = (1.5, 5.0), (1.0, 1.5)
"""Weights are those against the nearest null at the epsilon that one over this of the runs would certify."""
DEARER = 1.3
"""A leak is taken to be worth so much more than by this estimate: too little costs more power than too much."""


def _weighted_rules(
    cells: Partition, samples: int, delta: float, failure_probability: float, predicted: float
) -> list[Rule]:
    """Log-likelihood-ratio weights against nearest nulls."""
    seen = (cells.p + cells.q) * samples > 1
    grid = np.linspace(0.0, float(np.abs(cells.log_ratio[seen]).max(initial=0.1)), 25)[:-1]
    growth = nearest_null(cells.p, cells.q, grid, delta, rounds=2).growth
    runs = samples / np.array(WEIGHED_KNOWN if cells.learned == SURE else WEIGHED)
    targets = np.interp(-(scipy.special.ndtri(1 - failure_probability) ** 2) / runs, -growth, grid)
    null = nearest_null(cells.p, cells.q, targets, delta)
    # Given where an output fell, what speaks against a null is how far the ratio there exceeds it, and nothing else:
    # where the two inputs differ in one tail only, the nearest null leaves a weight everywhere.
    excess = np.sign(cells.log_ratio) * np.maximum(0.0, np.abs(cells.log_ratio) - targets[:, None])
    weight = np.concatenate([np.log(null.pay_p) - np.log(null.pay_q), excess])
    # Cells that hardly ever occur must not set the scale.
    most = np.abs(weight[:, seen]).max(axis=1, initial=1e-300)[:, None]
    nearest = np.searchsorted((LEVELS[1:] + LEVELS[:-1]) / 2, LEVELS[-1] * np.abs(weight) / most)
    levels = np.sign(weight).astype(np.int8) * LEVELS[nearest]
    return [Rule(level, delta, predicted, True) for level in levels if level.any()]


def _weighted_bound(level: NDArray[np.int8], cells: Partition, samples: int, delta: float, z: float) -> float:
    """The certified bound to be expected of weighted guesses: logit of Wilson's lower limit (1927) of their score."""
    weight = np.abs(level.astype(float))
    trials = samples * (cells.p + cells.q) / 2
    right = samples * np.where(level > 0, cells.p, cells.q) / 2
    total = float(weight @ trials)
    share = float(weight @ right) / total
    share -= (1 - share) * samples * delta * float(weight.max()) / total
    x = z * z * float(weight**2 @ trials) / total**2
    low = (share + x / 2 - math.sqrt(max(0.0, x * (share * (1 - share) + x / 4)))) / (1 + x)
    return float(scipy.special.logit(np.clip(low, 1e-12, 1 - 1e-12)))


def _leak_worth(level: NDArray[np.int8], cells: Partition, epsilon: float) -> float:
    """Standard deviations that a sure right guess at the highest level adds, at this epsilon, to one trial's score."""
    weight = np.abs(level.astype(float))
    spread = math.sqrt(float(weight**2 @ (cells.p + cells.q)) / 2)
    return DEARER * float(weight.max()) * math.exp(-epsilon / 2) / spread


def choose_rule_on_curve(cells: Partition, samples: int, claim: Guarantee, failure_probability: float) -> Rule:
    """The rule and the point of a claimed curve at which the claim would fall most surely."""
    order, right, wrong, shape = _candidates(cells)
    slack = cells.caution / 4 * math.sqrt(samples / (2 * max(1, cells.learned)))
    leaks = _leaks(shape)
    best: tuple[float, int, float] = (-math.inf, 0, 0.0)
    for epsilon in np.concatenate([[0.0], np.geomspace(0.05, 12.0, 24)]):
        delta = claim.delta_at(float(epsilon))
        # Points that no feasible number of runs could tell from pure DP say nothing more, and read badly.
        if delta >= 1 or (delta < 1e-9 and epsilon > 0):
            continue
        e = math.exp(epsilon)
        gap = right - e * wrong - delta * leaks
        spread = np.sqrt((right + e * e * wrong - (right - e * wrong) ** 2 + (1 + e * e) / samples) / samples)
        score = gap / spread - slack
        place = int(np.argmax(score))
        if score.flat[place] > best[0]:
            best = (float(score.flat[place]), place, delta)
    return Rule(_guess(order, *np.unravel_index(best[1], shape)), best[2], best[0])


def _candidates(cells: Partition) -> tuple[NDArray[np.intp], Array, Array, tuple[int, int]]:
    """Guess `data` on the i most telling cells and `neighbour` on the j least: chances of a right and a wrong guess."""
    order = np.argsort(-cells.log_ratio, kind="stable")
    k = len(order)
    p_top, q_top = (np.concatenate([[0.0], np.cumsum(law[order])]) / 2 for law in (cells.p, cells.q))
    p_bottom, q_bottom = (np.concatenate([[0.0], np.cumsum(law[order[::-1]])]) / 2 for law in (cells.p, cells.q))
    right = p_top[:, None] + q_bottom[None, :]
    wrong = q_top[:, None] + p_bottom[None, :]
    i, j = np.arange(k + 1)[:, None], np.arange(k + 1)[None, :]
    overlap = i + j > k
    right = np.where(overlap, 0.0, right)
    wrong = np.where(overlap, 1.0, wrong)
    return order, right, wrong, (k + 1, k + 1)


def _leaks(shape: tuple[int, ...]) -> Array:
    """Share of delta that each candidate is charged: half when it guesses one input only."""
    i, j = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
    return np.where((i == 0) | (j == 0), 0.5, 1.0)


def _guess(order: NDArray[np.intp], top: np.intp, bottom: np.intp) -> NDArray[np.int8]:
    guess = np.zeros(len(order), dtype=np.int8)
    guess[order[:top]] = 1
    guess[order[len(order) - int(bottom) :]] = -1
    return guess


def _predicted_bound(right: Array, wrong: Array, leak: Array, z: float) -> Array:
    """The certified bound to be expected: log-ratio, less what z standard errors of both counts take from it.

    The upper limit of the wrong guesses is that of a Poisson count: events with next to none are not overcharged.
    """
    excess = right - leak
    usable = excess > 0.5
    safe = np.where(usable, excess, 1.0)
    # Its excess over the wrong guesses is smooth in their number: many candidates, one table.
    at = np.log(np.maximum(wrong, 0.05))
    table = np.linspace(float(at.min()), float(at.max()), 200)
    over = np.interp(at, table, np.log(scipy.special.gammainccinv(np.exp(table) + 1, scipy.special.ndtr(-z))) - table)
    margin = np.hypot(over, z * np.sqrt(right) / safe)
    return np.where(usable, np.log(safe) - at - margin, -math.inf)


def describe(cells: Partition, rule: Rule, name: str, value: int) -> str:
    """The part of the rule that guesses `value`, as intervals of the score: "output > 0.0713"."""
    inside = np.sign(rule.level[:-1]) == value
    parts = []
    starts = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
    stops = np.flatnonzero(inside & ~np.concatenate([inside[1:], [False]]))
    for start, stop in zip(starts, stops, strict=True):
        low = None if start == 0 else cells.edges[start - 1]
        high = None if stop == len(cells.edges) else cells.edges[stop]
        parts.append(_interval(name, low, high))
    if halts_seen(cells) and np.sign(rule.level[-1]) == value and len(parts) < len(inside):
        parts.append("halted")
    if not parts:
        return "never"
    shown = parts if len(parts) <= 3 else [*parts[:2], f"{len(parts) - 2} more intervals"]
    return " or ".join(shown)


def halts_seen(cells: Partition) -> bool:
    """Whether some held-out output was a halt."""
    return bool(cells.p[-1] + cells.q[-1] > 1e-7)


def _interval(name: str, low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return f"any {name}"
    if high is None:
        return f"{name} ≥ {low:.4g}"
    if low is None:
        return f"{name} < {high:.4g}"
    return f"{name} = {low:.6g}" if high <= np.nextafter(low, np.inf) else f"{low:.4g} ≤ {name} < {high:.4g}"
