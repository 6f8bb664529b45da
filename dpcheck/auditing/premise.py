"""The premise of every audit: trials are independent given the input. A check of it, with a level of its own.

Nothing here compares the two inputs with each other: each test asks whether the outputs on *one* input could have come
in any other order, so that a leak can neither set it off nor be hidden by it. Outputs are looked at as events (sets of
cells, fixed before). Under the premise

* the number of runs of an event (Wald and Wolfowitz 1940), and how often it occurs in one half of the calls, or in
  calls that came first in their block, are hypergeometric, given how often it occurs;
* so are its counts call by call, each given those before it: their randomised distribution functions are independent
  and uniform, and the squares of their normal scores add up to a chi-squared;
* the same holds of an event that all these outputs fix together, however they are ordered: that one lies above their
  median (`dpcheck.auditing.medians`). It sees what no other does, outputs that leave all cells that were fixed before;
* values that come back do so at any distance: that 20 of them first do at the same one has probability below
  N (N / (N - 20 c))^20 / 20!, c being the most often that any of them occurs among N.

All of it is exact for any law, and the failure probability is shared by Bonferroni.

That all randomness comes from the generator that is handed over is looked at apart (`Elsewhere`): outputs of a global
generator may well be independent, until other code of the process seeds or shares it.
"""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.auditing import medians
from dpcheck.auditing.cells import Partition
from dpcheck.auditing.orders import Test, hypergeometric, hypergeometric_parts, order_tests, two_sided
from dpcheck.errors import InvalidInput

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
PREMISE = "trials are independent given the input"
SHARE = 0.02
"""The check may fail with this share of an audit's failure probability: an audit of independent trials then says
UNDECIDED, and nothing false."""
CALLS = 64
"""Most calls on each input whose counts are remembered; beyond, neighbouring ones are taken together."""
ROWS, MATCHES = 4096, 20
"""Outputs on each input that are looked through for values that come back, and how many must do so alike."""
SCORE_CUTS, RATIO_CUTS = (0.05, 0.25, 0.5, 0.75, 0.95), (0.1, 0.5, 0.9)
CURE = (
    "draw all randomness from the generator that is handed over and keep nothing from one run to the next; "
    "`dpcheck attack --only state` (dp.attacks.state) looks for what is kept"
)


ELSEWHERE = "it draws from "
"""How what is said of randomness from elsewhere begins."""


def events(cells: Partition, taught: Integers) -> NDArray[np.bool_]:
    """(events, cells): outer parts of the scores and of the learned log-ratios, the middle half, and halts."""
    total = taught.sum(axis=1) + 1e-9
    count = len(total)
    arrays: list[NDArray[np.bool_]] = []
    for order, cuts in ((np.arange(count), SCORE_CUTS), (np.argsort(-cells.log_ratio, kind="stable"), RATIO_CUTS)):
        mass = np.cumsum(total[order]) / total.sum()
        for cut in cuts:
            inside = np.zeros(count, dtype=bool)
            inside[order[: int(np.searchsorted(mass, cut)) + 1]] = True
            arrays.append(inside)
    arrays += [arrays[3] & ~arrays[1], np.arange(count) == count - 1]
    # An event and its complement say the same.
    unlike = {(e ^ e[0]).tobytes(): e ^ e[0] for e in arrays}
    return np.array([e for e in unlike.values() if e.any()], dtype=bool).reshape(-1, count)


@dataclass
class Side:
    """What was seen on one input; its size does not grow with the trials.

    Attributes:
        hits: (calls, events), sizes: (calls,) of the calls in order; the last axis is events in what follows.
        runs, last: runs of each event so far, and the kind of the last output.
        placed, placed_sizes: (2, events) and (2,) hits in calls that came first and second in their block.
        rows: fingerprints of the first outputs; merged: calls that each remembered one stands for.
        thin: (outputs, medians.COLUMNS) numbers of every `stride`-th output; seen: outputs so far.
    """

    hits: Integers
    sizes: Integers
    runs: Integers
    placed: Integers
    placed_sizes: Integers
    rows: NDArray[np.uint64]
    thin: Array
    last: int = -1
    merged: int = 1
    loose: int = 0
    """Calls that the last remembered one stands for, where it is not yet full."""
    stride: int = 1
    seen: int = 0

    @classmethod
    def fresh(cls, count: int) -> Side:
        none, integers = np.zeros(count, dtype=np.int64), np.zeros((0, count), dtype=np.int64)
        placed, sizes = np.zeros((2, count), dtype=np.int64), np.zeros(2, dtype=np.int64)
        rows, thin = np.zeros(0, dtype=np.uint64), medians.blank()
        return cls(integers, none[:0].copy(), none, placed, sizes, rows, thin)

    def observe(
        self, kind: NDArray[np.intp], member: NDArray[np.bool_], sizes: Integers, second: NDArray[np.bool_]
    ) -> None:
        """Takes the outputs of some calls, of `sizes`, that were the second of their block or not.

        Args:
            kind: (trials,) numbers of kinds of outputs; member: (events, kinds).
        """
        kinds, calls = member.shape[1], len(sizes)
        call = np.repeat(np.arange(calls) * kinds, sizes)
        hits = np.bincount(call + kind, minlength=calls * kinds).reshape(calls, kinds) @ member.T.astype(np.int64)
        steps = np.bincount(kind[:-1] * kinds + kind[1:], minlength=kinds**2).reshape(kinds, kinds)
        if self.last >= 0:
            steps[self.last, kind[0]] += 1
        begun = member[:, kind[0]] if self.last < 0 else 0
        # A run begins where an output is in the event and the one before it was not.
        self.runs = self.runs + begun + np.einsum("ea,ab,eb->e", (~member).astype(np.int64), steps, member)
        self.last = int(kind[-1])
        for place in (0, 1):
            self.placed[place] += hits[second == place].sum(axis=0)
            self.placed_sizes[place] += sizes[second == place].sum()
        for row, size in zip(hits, sizes, strict=True):
            self._remember(row, int(size))

    def _remember(self, hits: Integers, size: int) -> None:
        if self.loose:
            self.hits[-1] += hits
            self.sizes[-1] += size
        else:
            self.hits, self.sizes = np.vstack([self.hits, hits]), np.append(self.sizes, size)
        self.loose = (self.loose + 1) % self.merged
        if len(self.sizes) == 2 * CALLS and not self.loose:
            self.hits, self.sizes = self.hits[::2] + self.hits[1::2], self.sizes[::2] + self.sizes[1::2]
            self.merged *= 2

    def look(self, matrix: Array) -> None:
        """Takes the outputs themselves: the first fingerprints, and a thin record of all."""
        if (room := ROWS - len(self.rows)) > 0:
            self.rows = np.concatenate([self.rows, _keys(matrix[:room])])
        self.thin, self.stride = medians.thinned(self.thin, self.stride, self.seen, matrix)
        self.seen += len(matrix)

    def halves(self) -> tuple[Integers, int]:
        """Hits in the first half of the calls, and its size."""
        middle = len(self.sizes) // 2
        return self.hits[:middle].sum(axis=0), int(self.sizes[:middle].sum())


@dataclass
class Premise:
    """The check: told of outputs in the order in which they came, and asked when something is to be concluded.

    Attributes:
        events: (events, cells); failure_probability: of all checks at all looks together.
        broken: what was found, "" until then. It stays: no later runs make good what was not independent.
        told: times that it was told of outputs: a look at each of them shares 1 / (told (told + 1)), where there may be
            any number.
        checked, refuted: trials, and whether the claim had fallen, when a check was last due.
    """

    events: NDArray[np.bool_]
    seed: int
    failure_probability: float
    sides: tuple[Side, Side] = field(default=None)  # type: ignore[assignment]
    broken: str = ""
    told: int = 0
    checked: int = 0
    refuted: bool = False

    def __post_init__(self) -> None:
        # Cells that belong to the same events are of one kind.
        self._member, kind = np.unique(self.events, axis=1, return_inverse=True)
        self._kind: NDArray[np.intp] = kind.ravel()
        if self.sides is None:
            self.sides = (Side.fresh(len(self.events)), Side.fresh(len(self.events)))

    def observe(
        self, side: int, index: NDArray[np.intp], matrix: Array, sizes: Sequence[int], second: Sequence[bool]
    ) -> None:
        """Takes the outputs of some calls on one input.

        Args:
            index: (trials,) their cells; matrix: (trials, k); sizes: of the calls; second: which came second.
        """
        seen = self.sides[side]
        self.told += 1
        kept = np.asarray(sizes) > 0
        if not kept.any():
            return
        if len(self.events):
            shown = np.asarray(sizes, dtype=np.int64)[kept], np.asarray(second, dtype=bool)[kept]
            seen.observe(self._kind[index], self._member, *shown)
        seen.look(matrix)

    def due(self, tested: int, refuted: bool) -> bool:
        """Whether an anytime audit should check now: once the claim has fallen, and as its trials grow."""
        if tested < 1.5 * max(1, self.checked) and not (refuted and not self.refuted):
            return False
        self.checked, self.refuted = tested, refuted
        return True

    def check(self, anytime: bool = False) -> str:
        """What speaks against independence, in words, or ""; once, or at any number of looks."""
        if self.broken or not self.told:
            return self.broken
        alpha = self.failure_probability / (self.told * (self.told + 1) if anytime else 1)
        evidence: list[Test] = []
        if len(self.events):
            # What says most about the cause comes first: it is told where several are beyond doubt.
            evidence.append(_between(self.sides, seeds.stream(self.seed, "audit", "premise", self.told)))
        evidence += [_rows(seen.rows) for seen in self.sides]
        evidence += [test for seen in self.sides for test in medians.about_the_median(seen.thin)]
        if len(self.events):
            evidence += [test for seen in self.sides for test in _within(seen)]
        tests = sum(len(p) for p, _ in evidence)
        p, said = min(((float(np.min(p)), text) for p, text in evidence), key=lambda one: one[0])
        if p * tests <= alpha:
            self.broken = f"{said} (p = {max(p * tests, 1e-300):.1g} under independence)"
        return self.broken

    @property
    def constant(self) -> bool:
        """Whether all outputs that were looked through, on both inputs, are the same one."""
        rows = np.concatenate([seen.rows for seen in self.sides])
        return len(rows) > 0 and bool((rows == rows[0]).all())

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; `Premise.restore` takes it."""
        sides = [{k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(s).items()} for s in self.sides]
        return {"sides": sides, **{name: getattr(self, name) for name in ("broken", "told", "checked", "refuted")}}

    def restore(self, values: Any) -> None:
        """What an earlier session saw, of the same events."""
        try:
            self.broken = str(values["broken"])
            if self.broken:
                return
            sides = tuple(_side(one, len(self.events)) for one in values["sides"])
            first, second = sides
            self.sides = first, second
            self.told = int(values["told"])
            self.checked, self.refuted = int(values["checked"]), bool(values["refuted"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(
                f"not the state of an anytime audit: its record of the order of outputs is damaged ({error!r}); "
                "pass what `result.state` held"
            ) from error


def _side(values: Mapping[str, Any], count: int) -> Side:
    """A side that was stored. Raises `ValueError` when its numbers cannot be counts."""
    blank = Side.fresh(count)
    arrays: dict[str, Any] = {}
    for name, empty in vars(blank).items():
        if isinstance(empty, np.ndarray):
            arrays[name] = np.array(values[name], dtype=empty.dtype).reshape(-1, *empty.shape[1:])
        else:
            arrays[name] = int(values[name])
    side = Side(**arrays)
    total = side.hits.sum(axis=0)
    sound = (
        side.hits.min(initial=0) >= 0
        and len(side.hits) == len(side.sizes) <= 2 * CALLS
        and (side.hits <= side.sizes[:, None]).all()
        and side.runs.shape == (count,)
        and side.placed.shape == (2, count)
        and (side.placed.sum(axis=0) == total).all()
        and side.placed_sizes.sum() == side.sizes.sum()
        and ((side.runs >= 0) & (side.runs <= total)).all()
        and side.merged >= 1
        and 0 <= side.loose < side.merged
        and len(side.rows) <= ROWS
        and medians.sound(side.thin, side.stride, side.seen)
    )
    if not sound:
        raise ValueError("counts that do not fit together")
    return side


# -- the tests -------------------------------------------------------------------------------------------------------


def _within(seen: Side) -> list[Test]:
    """Runs, halves, and places in the block, of one input: one p-value an event."""
    total, size = seen.hits.sum(axis=0), int(seen.sizes.sum())
    if size == 0:
        return []
    # An event that always or never occurs has no order.
    some = (total > 0) & (total < size)
    if not some.any():
        return []
    total, placed = total[some], seen.placed[:, some]
    early, count = seen.halves()
    tests = order_tests(seen.runs[some], early[some], count, total, size)
    if seen.placed_sizes.min() > 0:
        places = two_sided(*hypergeometric(placed[0], size, total, int(seen.placed_sizes[0])))
        tests.append((places, "on the same input the first call of two and the second one differ"))
    return tests


def _between(sides: tuple[Side, Side], rng: np.random.Generator) -> Test:
    """Calls on the same input against each other, both inputs together: too unlike, or too much alike."""
    squares, freedom = np.zeros(len(sides[0].runs)), np.zeros(len(sides[0].runs))
    for seen in sides:
        scores, total = _call_scores(seen, rng), seen.hits.sum(axis=0)
        # An event that always or never occurs says nothing.
        told = (total > 0) & (total < seen.sizes.sum())
        squares, freedom = squares + told * (scores**2).sum(axis=0), freedom + told * len(scores)
    squares, freedom = squares[freedom > 0], freedom[freedom > 0]
    if not len(freedom):
        return np.ones(1), ""
    unlike, alike = (np.asarray(tail(squares, freedom)) for tail in (scipy.stats.chi2.sf, scipy.stats.chi2.cdf))
    words = "unlike each other" if unlike.min() <= alike.min() else "more alike than independent ones would be"
    return two_sided(unlike, alike), f"calls on the same input are {words}"


def _call_scores(seen: Side, rng: np.random.Generator) -> Array:
    """(calls - 1, events) normal scores of each call's hits given those of the calls before it and of all."""
    calls = len(seen.sizes)
    if calls < 2:
        return np.zeros((0, len(seen.runs)))
    left = seen.sizes[::-1].cumsum()[::-1]
    hits = seen.hits[::-1].cumsum(axis=0)[::-1]
    lower, upper, here = hypergeometric_parts(seen.hits[:-1], left[:-1, None], hits[:-1], seen.sizes[:-1, None])
    coin = rng.random(here.shape)
    below, above = lower + coin * here, upper + (1 - coin) * here
    low = scipy.special.ndtri(np.clip(below, 1e-300, 0.5))
    high = -scipy.special.ndtri(np.clip(above, 1e-300, 0.5))
    return np.asarray(np.where(below < above, low, high))


def _rows(keys: NDArray[np.uint64]) -> Test:
    """Values that come back at one distance, of those that are rare enough to say something."""
    count = len(keys)
    most = count // (4 * MATCHES)
    none = np.ones(1), ""
    if most < 2:
        return none
    order = np.argsort(keys, kind="stable")
    values = keys[order]
    start = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    times = np.diff(np.append(start, count))
    some = start[(times >= 2) & (times <= most)]
    if len(some) < MATCHES:
        return none
    distances, alike = np.unique(order[some + 1] - order[some], return_counts=True)
    best = int(np.argmax(alike))
    if alike[best] < MATCHES:
        return none
    log_p = math.log(count) + MATCHES * math.log(count / (count - MATCHES * most)) - scipy.special.gammaln(MATCHES + 1)
    said = f"{int(alike[best])} outputs come back unchanged {int(distances[best])} runs later: noise is used again"
    return np.array([math.exp(min(0.0, log_p))]), said


def _keys(matrix: Array) -> NDArray[np.uint64]:
    """A fingerprint of each row of a matrix; NaN equals NaN, and -0 equals 0."""
    bits = np.ascontiguousarray(np.where(np.isnan(matrix), np.nan, matrix) + 0.0).view(np.uint64)
    weights = seeds.stream(0, "fingerprints of rows").integers(1, 2**63, bits.shape[1], dtype=np.uint64) * 2 + 1
    return np.asarray((bits * weights).sum(axis=1, dtype=np.uint64))


# -- randomness from elsewhere ---------------------------------------------------------------------------------------

SAME_QUESTION = 64
"""Runs of which the same generator is asked twice."""


def _numpys() -> Any:
    return np.random.get_state(legacy=False)  # noqa: NPY002 - this is what nobody should draw from


_GLOBALS: Mapping[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[int], Any]]] = {
    "np.random": (_numpys, np.random.set_state, np.random.seed),
    "Python's module random": (random.getstate, random.setstate, random.seed),
}
"""Name -> what reads its state, sets it, and seeds it."""


class Elsewhere:
    """Whether calls of a mechanism draw from a global generator.

    A state that has moved is no more than a suspicion, as a mechanism may have seeded it by the generator that it was
    handed. So the same question is then put twice, with the same generator and two states of the global one.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._moved: set[str] = set()

    def before(self) -> dict[str, bytes] | None:
        """The states before a call; None of a call that is not watched, as are ever more of many."""
        self._calls += 1
        return None if self._calls > 32 and self._calls & (self._calls - 1) else _states()

    def after(self, before: dict[str, bytes] | None) -> None:
        if before is not None:
            now = _states()
            self._moved |= {name for name in now if now[name] != before[name]}

    def found(self, ask: Callable[[int], Array]) -> str:
        """In words, "" where every call drew from its own generator.

        Args:
            ask: outputs of so many runs, (runs, k), always with the same generator.
        """
        guilty = [name for name in _GLOBALS if name in self._moved and _depends(name, ask)]
        if not guilty:
            return ""
        return (
            f"{ELSEWHERE}{' and '.join(guilty)}, whose state all code of the process shares, and not from its "
            "generator; draw from the `rng` argument, rng.laplace(…) in place of np.random.laplace(…)"
        )


def _states() -> dict[str, bytes]:
    return {name: pickle.dumps(state()) for name, (state, _, _) in _GLOBALS.items()}


def _depends(name: str, ask: Callable[[int], Array]) -> bool:
    """Whether the answers to one question, with one generator, depend on the state of a global one."""
    state, restore, seed = _GLOBALS[name]
    kept = state()
    try:
        seed(1)
        answer = ask(SAME_QUESTION)
        seed(2)
        return not np.array_equal(answer, ask(SAME_QUESTION), equal_nan=True)
    finally:
        restore(kept)
