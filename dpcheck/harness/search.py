"""Search for the neighbouring pair that moves a core, a map or a score the most.

Records live in a declared space and are searched as codes in [-1, 1]^width, so that every proposal is legal. Pairs
that a proof names come first; then many chains climb side by side (restarts at corners, multiplicative steps); then,
where asked for, Hypothesis aims at the ratio with `hypothesis.target`. All of it is deterministic in the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck import seeds
from dpcheck.errors import InvalidInput, MechanismError, MissingExtra
from dpcheck.interfaces import Array, Rng

Measure = Callable[[Array, Array], Mapping[str, Array]]
"""Pairs (pairs, n, *record), twice -> name -> (pairs,): how much of its claim each of them uses up."""
Pair = tuple[Array, Array]
BITS = 8
"""Bits of one coordinate in the directed search."""


class Records(Protocol):
    """A space of records, reached from codes in [-1, 1]^width; corners of the cube reach its extreme points."""

    @property
    def width(self) -> int: ...

    def decode(self, codes: Array) -> Array:
        """(..., width) -> (..., *record)."""
        ...


@dataclass(frozen=True)
class BoxRecords:
    """All arrays between `low` and `high`, elementwise."""

    low: Array
    high: Array

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        bounds = np.broadcast_arrays(np.atleast_1d(np.asarray(low, float)), np.asarray(high, float))
        if not (bounds[0] <= bounds[1]).all():
            raise InvalidInput(f"a box needs low <= high, got {low!r} and {high!r}")
        object.__setattr__(self, "low", bounds[0])
        object.__setattr__(self, "high", bounds[1])

    @property
    def width(self) -> int:
        return int(self.low.size)

    def decode(self, codes: Array) -> Array:
        codes = codes.reshape(*codes.shape[:-1], *self.low.shape)
        # Exact at the corners: low + (high - low) need not be high in floating point.
        near, middle = np.where(codes < 0, self.low, self.high), self.low / 2 + self.high / 2
        return np.asarray(near * np.abs(codes) + middle * (1 - np.abs(codes)))


@dataclass(frozen=True)
class BallRecords:
    """The l_p ball of this radius around the origin of R^d; codes outside of it are drawn back along their ray."""

    radius: float
    d: int
    p: float = 2.0

    @property
    def width(self) -> int:
        return self.d

    def decode(self, codes: Array) -> Array:
        size = np.linalg.norm(codes, ord=self.p, axis=-1, keepdims=True)
        return np.asarray(self.radius * codes / np.maximum(1.0, size))


@dataclass(frozen=True)
class UserRecords:
    """A record is a user: m samples of `samples`, (m, *sample)."""

    samples: Records
    m: int

    @property
    def width(self) -> int:
        return self.m * self.samples.width

    def decode(self, codes: Array) -> Array:
        return self.samples.decode(codes.reshape(*codes.shape[:-1], self.m, self.samples.width))


@dataclass(frozen=True)
class Found:
    """The worst pair for one name.

    Attributes:
        ratio: what it uses up of its claim: above 1 it breaks it.
        data, neighbour: (n, *record).
        origin: "given", "local search" or "directed".
        trial, trials: which of how many pairs measured together it was: with the seed, that reproduces its noise.
    """

    name: str
    ratio: float
    data: Array
    neighbour: Array
    origin: str
    trial: int
    trials: int

    @property
    def changed(self) -> int:
        """Index of the record that differs, or -1."""
        differs = (self.data != self.neighbour).reshape(len(self.data), -1).any(axis=1)
        return int(differs.argmax()) if differs.any() else -1


@dataclass
class Search:
    """What a search has seen so far.

    Attributes:
        best: name -> worst pair.
        pairs: number of pairs that were measured.
    """

    best: dict[str, Found] = field(default_factory=dict)
    pairs: int = 0

    @property
    def worst(self) -> Found:
        """The pair of the largest ratio of all names."""
        if not self.best:
            raise InvalidInput("the search measured nothing: the schedule releases nothing, or steps and chains are 0")
        return max(self.best.values(), key=lambda found: found.ratio)

    def offer(self, data: Array, neighbour: Array, ratios: Mapping[str, Array], origin: str) -> None:
        """Keeps the worst of these pairs, name by name."""
        self.pairs += len(data)
        for name, values in ratios.items():
            trial = int(np.argmax(values))
            ratio = float(values[trial])
            if name not in self.best or ratio > self.best[name].ratio:
                pair = np.array(data[trial]), np.array(neighbour[trial])
                self.best[name] = Found(name, ratio, *pair, origin, trial, len(data))


def maximise(
    measure: Measure,
    space: Records,
    n: int,
    *,
    given: Sequence[Pair] = (),
    places: Sequence[int] = (),
    chains: int = 64,
    steps: int = 40,
    examples: int = 0,
    seed: int = 0,
) -> Search:
    """The largest ratios over neighbouring pairs of n records of `space`.

    Args:
        measure: names the ratios; called on many pairs at once, and on single ones by the directed search.
        given: pairs (n, *record) that a proof, or an earlier search, names: they are measured first.
        places: indices that the changed record may take (default: all).
        chains, steps: local searches side by side, and proposals of each; 0 of either skips them.
        examples: pairs for the search directed by `hypothesis.target`; needs the extra 'testing' when not 0.
    """
    if n < 1:
        raise InvalidInput(f"an empty data set: n = {n}; n must be >= 1")
    chosen = np.asarray(places if len(places) else np.arange(n), dtype=np.intp)
    if chosen.min() < 0 or chosen.max() >= n:
        raise InvalidInput(f"places must be indices of the {n} records, got {int(chosen.min())}..{int(chosen.max())}")
    search = Search()
    for data, neighbour in given:
        pair = np.asarray(data, dtype=float)[None], np.asarray(neighbour, dtype=float)[None]
        search.offer(*pair, _measured(measure, *pair), "given")
    if chains and steps:
        _climb(measure, space, n, chosen, chains, steps, seeds.stream(seed, "pair search"), search)
    if examples:
        _directed(measure, space, n, chosen, examples, search)
    return search


def _measured(measure: Measure, data: Array, neighbour: Array) -> Mapping[str, Array]:
    ratios = measure(data, neighbour)
    for name, values in ratios.items():
        if np.isnan(values).any():
            raise MechanismError(f"the ratio of {name!r} is NaN on a pair of legal data sets")
    return ratios


@dataclass
class _Chains:
    """Pairs as codes: data (chains, n, width), the changed index, and what it is changed to (chains, width)."""

    codes: Array
    place: NDArray[np.intp]
    other: Array

    def decode(self, space: Records) -> Pair:
        data = space.decode(self.codes)
        neighbour = np.array(data)
        neighbour[np.arange(len(data)), self.place] = space.decode(self.other)
        return np.asarray(data), neighbour


def _starts(space: Records, n: int, places: NDArray[np.intp], chains: int, rng: Rng) -> _Chains:
    """Four kinds in turn: all records in one corner, all at the centre, all in random corners, all anywhere."""
    corners = rng.choice([-1.0, 1.0], size=(chains, n, space.width))
    kind = np.arange(chains) % 4
    corners[kind == 0] = corners[kind == 0][:, :1]
    codes = np.where((kind == 1)[:, None, None], 0.0, corners)
    codes[kind == 3] = rng.uniform(-1, 1, size=codes[kind == 3].shape)
    place = places[(np.arange(chains) // 4) % len(places)]
    rows = np.arange(chains)
    codes[rows, place] = np.where((kind < 3)[:, None], corners[rows, place], codes[rows, place])
    return _Chains(codes, place, -codes[rows, place])


def _propose(state: _Chains, places: NDArray[np.intp], step: Array, rng: Rng) -> _Chains:
    """One move a chain: a nudge of either changed record, of another one or of all, a copy, a corner, a new place."""
    chains, n, width = state.codes.shape
    rows, move = np.arange(chains), rng.integers(8, size=chains)
    codes, place, other = np.array(state.codes), np.array(state.place), np.array(state.other)
    nudge = step[:, None] * rng.standard_normal((chains, width)) * (rng.random((chains, width)) < 0.5)
    other[move == 0] += nudge[move == 0]
    codes[rows[move == 1], place[move == 1]] += nudge[move == 1]
    some: NDArray[np.intp] = np.asarray(rng.integers(n, size=chains))
    codes[rows[move == 2], some[move == 2]] += nudge[move == 2]
    codes[move == 3] += step[move == 3, None, None] * rng.standard_normal((int((move == 3).sum()), n, width))
    copy = move == 4
    codes[copy] = codes[rows[copy], some[copy]][:, None]
    corner = np.sign(rng.standard_normal((chains, width)))
    other[move == 5] = corner[move == 5]
    codes[rows[move == 6], some[move == 6]] = corner[move == 6]
    moved = move == 7
    place[moved] = rng.choice(places, size=int(moved.sum()))
    return _Chains(np.clip(codes, -1, 1), place, np.clip(other, -1, 1))


def _climb(
    measure: Measure,
    space: Records,
    n: int,
    places: NDArray[np.intp],
    chains: int,
    steps: int,
    rng: Rng,
    search: Search,
) -> None:
    state = _starts(space, n, places, chains, rng)
    pair = state.decode(space)
    ratios = _measured(measure, *pair)
    search.offer(*pair, ratios, "local search")
    names = list(ratios)
    if not names:
        return
    targets = _targets(np.array([ratios[name] for name in names]))
    rows, step = np.arange(chains), np.full(chains, 0.5)
    value = np.array([ratios[name] for name in names])[targets, rows]
    for _ in range(steps):
        proposal = _propose(state, places, step, rng)
        pair = proposal.decode(space)
        ratios = _measured(measure, *pair)
        search.offer(*pair, ratios, "local search")
        new = np.array([ratios[name] for name in names])[targets, rows]
        accept = new >= value
        step = np.clip(step * np.where(new > value, 1.5, 0.9), 1e-4, 1.0)
        value = np.where(accept, new, value)
        state.codes[accept] = proposal.codes[accept]
        state.place[accept] = proposal.place[accept]
        state.other[accept] = proposal.other[accept]


def _targets(ratios: Array) -> NDArray[np.intp]:
    """Which name each chain climbs, (names, chains) -> (chains,): in turn among those that move at its start."""
    chosen = np.zeros(ratios.shape[1], dtype=np.intp)
    for chain in range(ratios.shape[1]):
        moving = np.flatnonzero(ratios[:, chain] > 0)
        chosen[chain] = moving[chain % len(moving)] if len(moving) else chain % len(ratios)
    return chosen


def _directed(
    measure: Measure, space: Records, n: int, places: NDArray[np.intp], examples: int, search: Search
) -> None:
    """`hypothesis.target` on the ratios: one data set of few distinct records, one record changed."""
    try:
        import hypothesis
        from hypothesis import strategies as st
    except ImportError as error:
        raise MissingExtra("the directed pair search", "testing") from error
    distinct = min(n, 3)
    rows = distinct + 2
    # Bits only: Hypothesis mixes constants of whatever modules happen to be loaded into its floats and integers, and
    # the search must not depend on these.
    size = BITS * (rows * space.width + 1)
    bits = st.lists(st.booleans(), min_size=size, max_size=size)

    @hypothesis.settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.target),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(bits)
    def aim(drawn: list[bool]) -> None:
        numbers = _gray(np.array(drawn).reshape(-1, BITS))
        codes = (2 * numbers[1:] / (2**BITS - 1) - 1).reshape(rows, space.width)
        place = places[int(numbers[0]) % len(places)]
        data = codes[np.arange(n) % distinct]
        data[place] = codes[-2]
        pair = _Chains(data[None], np.array([place]), codes[-1:]).decode(space)
        ratios = _measured(measure, *pair)
        search.offer(*pair, ratios, "directed")
        for name, values in ratios.items():
            # A single infinite score would end the climb of every other name.
            hypothesis.target(min(float(values[0]), 1e6), label=name)

    aim()


def _gray(bits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Numbers below 2^BITS whose neighbours differ in one bit: (count, BITS) -> (count,)."""
    binary = np.bitwise_xor.accumulate(bits.astype(np.int64), axis=1)
    return np.asarray(binary @ (1 << np.arange(BITS - 1, -1, -1)), dtype=np.int64)


def rationals(values: ArrayLike) -> Any:
    """A float array as nested lists of exact rational strings ("1/3"), as witnesses want them."""
    values = np.asarray(values, dtype=float)
    if values.ndim:
        return [rationals(part) for part in values]
    numerator, denominator = float(values).as_integer_ratio()
    return f"{numerator}/{denominator}"
