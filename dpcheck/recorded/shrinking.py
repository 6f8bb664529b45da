"""`dp.shrink`: a refutation on fewer records, plainer values and the plainest event, for a person to look at.

Every step is tried on runs of its own, which certify nothing. What is left at the end is certified by one event, fixed
on other runs, and counted on fresh ones; where these do not show it, the pair before has its turn, at half of the
failure probability that was left.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.auditing.audit import AuditResult
from dpcheck.auditing.inputs import check_failure_probability, check_flag, describe_pair, is_whole
from dpcheck.auditing.mechanisms import Mechanism
from dpcheck.auditing.result import percent
from dpcheck.errors import InvalidInput, MechanismError
from dpcheck.foreign import shortened
from dpcheck.privacy import Guarantee
from dpcheck.recorded import script
from dpcheck.recorded.files import record_outputs
from dpcheck.recorded.rows import Rows, both_rows
from dpcheck.recorded.samples import fewest_rows
from dpcheck.verdicts import Outcome

TRIES = 300
"""Most pairs that are tried."""
TURNS = 6
"""Most pairs, the smallest first, that are counted on fresh runs."""
LEVEL = 0.01
"""Failure probability of a step; a wrong one is found out at the end."""
FEWEST = 1000
"""Runs on each input that a step begins with."""
DIGITS = (0, 1, 2, 4)
"""Decimals, of the range of a column, to which its values are rounded."""

Inputs = tuple[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Shrunk:
    """A pair on which a claim is refuted by one event.

    Attributes:
        data, neighbour: the pair; pair: how it differs, in words; records: of the longer input, before and after.
        event: a NumPy expression in the outputs `z`; likelier: the input on which it is likelier.
        hits, other_hits: of `runs` outputs on that input and on the other.
        epsilon_lower: certified at `delta`, by two Clopper-Pearson bounds at half of `level` each.
        failure_probability: of the whole search; level: what of it is spent here.
        tried: pairs.
    """

    mechanism: str
    claim: Guarantee
    data: Any
    neighbour: Any
    pair: str
    records: tuple[int, int]
    event: str
    likelier: str
    hits: int
    other_hits: int
    runs: int
    delta: float
    epsilon_lower: float
    epsilon_claimed: float
    failure_probability: float
    level: float
    tried: int

    def __str__(self) -> str:
        at = f" at δ = {self.delta:.3g}" if self.delta else ""
        other = "neighbour" if self.likelier == "data" else "data"
        shown = [f"{name} = {_brief(values)}" for name, values in (("data", self.data), ("neighbour", self.neighbour))]
        return "\n".join(
            [
                f"SHRUNK  {self.mechanism} is not {self.claim}: certified ε ≥ {_down(self.epsilon_lower)}{at} "
                f"({percent(self.failure_probability)}), {self.records[0]} records before, {self.records[1]} now",
                *(f"  {'':<12} {text}" for text in shown),
                f"  {'event':<12} {self.event}",
                f"  {'seen':<12} {self.hits:,} of {self.runs:,} on `{self.likelier}`, "
                f"{self.other_hits:,} of {self.runs:,} on `{other}`",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able, but for inputs that JSON cannot say."""
        plain = {name: value for name, value in vars(self).items() if name not in ("claim", "data", "neighbour")}
        inputs = {name: _plain(getattr(self, name)) for name in ("data", "neighbour")}
        return {**plain, **inputs, "claim": str(self.claim), "records": list(self.records)}


def shrink(
    mechanism: Mechanism,
    result: AuditResult,
    *,
    trials: int | None = None,
    failure_probability: float | None = None,
    adjacency: str | None = "replace-one",
    halts: bool = False,
    fixed_size: bool = False,
    seed: int = 0,
) -> Shrunk:
    """The smallest refutation that is found, going from that of an audit: fewest records, plainest values, one event.

    Records that both inputs share are left out, many at once and then one by one; values become zero, fewer digits, or
    others that stand in their column, always within its range; and of the events of one column that show it clearly
    the shortest is taken. A claim that is only made for the size that was audited needs `fixed_size`.

    Args:
        mechanism, adjacency, halts: as in `dp.audit`.
        result: a refutation of it.
        trials: most runs on each input of a step, and runs that certify; None: as many as the audit had.
        failure_probability: that the shrunk refutation is wrong; None: that of the audit. The audit's own stands apart.
        fixed_size: no record is left out.

    Raises:
        InvalidInput: nothing was refuted; inputs that are no arrays or lists; outputs that are no numbers or words; or
            no event of one column shows the violation in so many runs.
    """
    if not isinstance(result, AuditResult):
        raise InvalidInput(f"shrink takes the result of dp.audit that refuted a claim, got {shortened(result)}")
    if result.outcome is not Outcome.REFUTED:
        raise InvalidInput(f"there is no counterexample to shrink: {result.mechanism} is {result.outcome.value}")
    check_flag("halts", halts)
    check_flag("fixed_size", fixed_size)
    if not (trials is None or is_whole(trials, fewest_rows())):
        raise InvalidInput(f"trials must be an integer >= {fewest_rows()} (runs on each input), got {trials!r}")
    alpha = result.failure_probability if failure_probability is None else failure_probability
    check_failure_probability(alpha)
    search = _Search(mechanism, result, trials or result.trials, adjacency, halts, seed)
    first = _taken(result.inputs.data), _taken(result.inputs.neighbour)
    inputs = search.descended(first, fixed_size)
    for turn, pair in enumerate([*inputs[::-1][: TURNS - 1], first][: len(inputs)]):
        level = alpha / 2 ** (turn + 1) if turn + 1 < min(TURNS, len(inputs)) else alpha / 2**turn
        if (certified := search.certified(pair, level)) is not None:
            event, hits, runs, bound = certified
            return Shrunk(
                mechanism=result.mechanism,
                claim=result.claim,
                data=pair[0],
                neighbour=pair[1],
                pair=str(describe_pair(*pair, adjacency)),
                records=(max(map(len, first)), max(map(len, pair))),
                event=event.text,
                likelier="neighbour" if event.swapped else "data",
                hits=hits[event.swapped],
                other_hits=hits[not event.swapped],
                runs=runs,
                delta=search.delta,
                epsilon_lower=bound,
                epsilon_claimed=search.claimed,
                failure_probability=alpha,
                level=level,
                tried=search.tried,
            )
    raise InvalidInput("no event of one column shows it on fresh runs; take more trials")


class _Search:
    """Runs pairs, and says on which of them one event shows the violation."""

    def __init__(
        self, mechanism: Mechanism, result: AuditResult, trials: int, adjacency: str | None, halts: bool, seed: int
    ) -> None:
        self._mechanism, self._trials, self._adjacency, self._halts = mechanism, trials, adjacency, halts
        self._seed, self.tried = seed, 0
        self._runs = min(FEWEST, trials)
        self.delta = result.rule_delta
        self.claimed = result.claim.epsilon_at(self.delta)

    def _drawn(self, pair: Inputs, trials: int, *key: Any) -> tuple[Rows, Rows]:
        seed = seeds.key_of(["shrink", self._seed, self.tried, *key])
        outputs = record_outputs(
            self._mechanism, *pair, trials=trials, seed=seed, adjacency=self._adjacency, halts=self._halts
        )
        return both_rows(*outputs, halts=self._halts)

    def shows(self, pair: Inputs) -> bool:
        """Whether an event that half of some runs choose shows the violation in the other half."""
        self.tried += 1
        try:
            x, y = self._drawn(pair, self._runs, "step")
        except (InvalidInput, MechanismError):  # no neighbours any more, or nothing that it can run on
            return False
        (x, later_x), (y, later_y) = ((rows[: len(rows) // 2], rows[len(rows) // 2 :]) for rows in (x, y))
        event = script.simplest_event(x, y, self.delta, LEVEL)
        return _counted(event, later_x, later_y, self.delta, LEVEL)[1] > self.claimed

    def descended(self, first: Inputs, fixed_size: bool) -> list[Inputs]:
        """Pairs that show it, each smaller than the one before.

        Raises:
            InvalidInput: the first one does not.
        """
        while not self.shows(first):
            if self._runs >= self._trials:
                raise InvalidInput(
                    f"no half-line or value of one column shows it by itself in {self._trials:,} runs; the witness does"
                )
            self._runs = min(2 * self._runs, self._trials)
        # A pair that shows it by a hair would be refused by chance.
        self._runs = min(2 * self._runs, self._trials)
        pairs = [first]
        plainer = functools.partial(_plainer, list(_plain_values(first)))
        smaller: list[Callable[[Inputs], Iterator[Inputs]]] = [plainer] if fixed_size else [_fewer, plainer]
        again = True
        while again:
            again = False
            for step in smaller:
                while (pair := self._next(step, pairs[-1])) is not None:
                    pairs.append(pair)
                    again = True
        return pairs

    def _next(self, step: Callable[[Inputs], Iterator[Inputs]], pair: Inputs) -> Inputs | None:
        for smaller in step(pair):
            if self.tried >= TRIES:
                return None
            if self.shows(smaller):
                return smaller
        return None

    def certified(self, pair: Inputs, level: float) -> tuple[script.Event, tuple[int, int], int, float] | None:
        """The plainest event, how often it was seen in fresh runs, and its bound; None where it shows nothing."""
        chosen = script.simplest_event(*self._drawn(pair, self._trials, "choose"), self.delta, level, self.claimed)
        x, y = self._drawn(pair, self._trials, "count")
        hits, bound = _counted(chosen, x, y, self.delta, level)
        return (chosen, hits, len(x), bound) if bound > self.claimed else None


def _counted(event: script.Event, x: Rows, y: Rows, delta: float, level: float) -> tuple[tuple[int, int], float]:
    hits = int(event.holds(x).sum()), int(event.holds(y).sum())
    (one, of_one), (two, of_two) = ((hits[0], len(x)), (hits[1], len(y)))[:: -1 if event.swapped else 1]
    return hits, script.bound(one, of_one, two, of_two, delta, level)


# -- smaller pairs ---------------------------------------------------------------------------------------------------


def _taken(values: Any) -> Any:
    """An input as records. Raises `InvalidInput`."""
    if isinstance(values, np.ndarray) and values.ndim and values.dtype.kind in "biufUS":
        return values
    if isinstance(values, list | tuple) and len(values):
        return values
    raise InvalidInput(f"inputs are shrunk that are arrays or lists of records, not a {type(values).__name__}")


def _same(one: Any, two: Any) -> bool:
    return bool(np.array_equal(one, two))


def _split(pair: Inputs) -> tuple[int, int]:
    """How many records both inputs begin with, and how many they end with, in common."""
    one, two = pair
    few = min(len(one), len(two))
    front = next((k for k in range(few) if not _same(one[k], two[k])), few)
    back = next((k for k in range(few - front) if not _same(one[-1 - k], two[-1 - k])), few - front)
    return front, back


def _fewer(pair: Inputs) -> Iterator[Inputs]:
    """Without some of the records in common: all of them, halves, quarters, single ones."""
    front, back = _split(pair)
    size = front + back
    while size:
        for start in range(0, front + back, size):
            kept = [k for k in range(front + back) if not start <= k < start + size]
            if smaller := _with(pair, kept, front, back):
                yield smaller
        size = size // 2


def _with(pair: Inputs, kept: Sequence[int], front: int, back: int) -> Inputs | None:
    """The pair with these of its common records; None where an input would be empty."""
    inputs = []
    for values in pair:
        places = [*range(front), *range(len(values) - back, len(values))]
        middle = range(front, len(values) - back)
        order = sorted([*(places[k] for k in kept), *middle])
        if not order:
            return None
        inputs.append(values[order] if isinstance(values, np.ndarray) else type(values)(values[k] for k in order))
    return inputs[0], inputs[1]


Plain = Callable[[NDArray[Any]], NDArray[Any]]
"""Rows -> rows that are no harder to read, within the range of every column."""


def _plainer(ways: Sequence[Plain], pair: Inputs) -> Iterator[Inputs]:
    """With plainer numbers: in all common records at once, in one of them, or where the two differ."""
    front, back = _split(pair)
    common = [*range(front), *(-1 - k for k in range(back))]
    rows = [common, *([k] for k in common)] if common else []
    for plain in ways:
        for places in rows:
            yield from _changed(pair, [(side, k) for k in places for side in (0, 1)], plain)
        for side, values in enumerate(pair):
            yield from _changed(pair, [(side, k) for k in range(front, len(values) - back)], plain)


def _plain_values(pair: Inputs) -> Iterator[Plain]:
    """What may be done to the numbers of a pair: none where its records are no arrays of numbers."""
    if any(not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf" for values in pair):
        return
    both = np.concatenate([values.reshape(len(values), -1) for values in pair])
    low, high = both.min(axis=0), both.max(axis=0)
    # Of a column of whole numbers, labels perhaps, only what stands in it is known to be legal.
    whole = (both == np.round(both)).all(axis=0)
    zero = np.where(whole, (both == 0).any(axis=0), (low <= 0) & (high >= 0))
    yield lambda rows: np.where(zero, 0, rows)
    yield lambda rows: np.broadcast_to(low, rows.shape)
    for digits in DIGITS:
        yield functools.partial(_rounded, digits, whole, low, high)


def _rounded(
    digits: int, whole: NDArray[np.bool_], low: NDArray[Any], high: NDArray[Any], rows: NDArray[Any]
) -> NDArray[Any]:
    return np.where(whole, rows, np.clip(np.round(rows, digits), low, high))


def _changed(pair: Inputs, places: Sequence[tuple[int, int]], plain: Plain) -> Iterator[Inputs]:
    """The pair with these records made plain, if that makes any difference, and they are plainer."""
    copies = [values.copy() for values in pair]
    for side, k in places:
        row = copies[side][k].reshape(1, -1)
        plainer = plain(row).astype(copies[side].dtype)
        if _length(plainer) < _length(row):
            copies[side][k] = plainer.reshape(copies[side][k].shape)
    if not all(map(_same, copies, pair)) and not _same(*copies):
        yield copies[0], copies[1]


def _length(rows: NDArray[Any]) -> tuple[int, float]:
    """How long a row is to read: its digits, and then its size."""
    return sum(len(f"{value:g}" if value == float(f"{value:g}") else repr(value)) for value in rows.ravel().tolist()), (
        float(np.abs(rows.astype(float)).sum())
    )


def _brief(values: Any) -> str:
    text = str(_plain(values))
    return text if len(text) <= 200 else f"{text[:180]} … ({len(values)} records)"


def _plain(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ndarray) else values


def _down(value: float) -> str:
    return f"{np.floor(100 * value) / 100:.2f}"
