"""Search for the pair of neighbouring inputs at which a mechanism leaks most, on a budget of its own.

Candidates first (corners, all-same records, values that saturate a clip), then local moves around the best; each stage
keeps the better ones and gives them more runs. The winner must be audited on fresh runs: `audit(…, seed=other)`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck import seeds
from dpcheck.auditing.anytime import CURVE_DELTA
from dpcheck.auditing.audit import audit
from dpcheck.auditing.handing import handed
from dpcheck.auditing.inputs import (
    FEWEST_TRIALS,
    MOST_TRIALS,
    check_claim,
    check_count,
    check_seed,
    is_number,
)
from dpcheck.errors import InvalidInput
from dpcheck.foreign import shortened
from dpcheck.privacy import ADJACENCIES, ApproxDP, Guarantee

Array = NDArray[np.float64]
Pair = tuple[Array, Array]
LARGEST = sys.float_info.max
MOST = 10**7
"""Numbers that one of a pair may hold, and moves of a round."""


@dataclass(frozen=True)
class FoundPair:
    """The best pair seen.

    Attributes:
        data, neighbour: the pair; epsilon: the bound that its last search audit certified (a ranking, not a result:
            it is the best of `tried`). samples: runs spent.
    """

    data: Array
    neighbour: Array
    epsilon: float
    tried: int
    samples: int
    why: str


def search_pair(
    mechanism: Callable[..., Any],
    n: int,
    claim: Guarantee,
    *,
    low: float = 0.0,
    high: float = 1.0,
    d: int | None = None,
    adjacency: str | None = "replace-one",
    trials: int = 500,
    rounds: int = 3,
    moves: int = 12,
    seed: int = 0,
    **options: Any,
) -> FoundPair:
    """Looks for the worst pair of n records in [low, high] (in [low, high]^d).

    Args:
        mechanism, claim, options: as for `dp.audit`.
        trials: runs a side of a candidate's first audit; four times more in each later round.
        rounds: of halving and local moves; moves: new candidates a round.
        seed: of the search; audit the winner with another one.
    """
    seed = check_seed(seed)
    check_claim(claim)
    _check_search(n, d, low, high, adjacency, trials, rounds, moves)
    rng = seeds.stream(seed, "search pair")
    spent = 0

    def weigh(pair: Pair, runs: int, number: int) -> float:
        nonlocal spent
        spent += 2 * runs
        audited = audit(mechanism, *pair, claim, trials=runs, seed=seed + 1 + number, adjacency=adjacency, **options)
        return audited.epsilon_lower - audited.epsilon_claimed

    pool = [(why, pair) for why, pair in _candidates(n, low, high, d, adjacency)]
    tried = len(pool)
    ranked = _ranked(pool, weigh, trials)
    for number in range(1, rounds):
        kept = [entry for _, entry in ranked[: max(2, len(ranked) // 4)]]
        new = [("local move", _move(kept[i % len(kept)][1], rng, low, high, adjacency)) for i in range(moves)]
        tried += len(new)
        ranked = _ranked([*kept, *new], weigh, trials * 4**number)
    excess, (why, (data, neighbour)) = ranked[0]
    at = claim.epsilon_at(claim.delta if isinstance(claim, ApproxDP) else CURVE_DELTA)
    return FoundPair(data, neighbour, max(0.0, excess + at), tried, spent, why)


def _check_search(n: Any, d: Any, low: Any, high: Any, adjacency: Any, trials: Any, rounds: Any, moves: Any) -> None:
    """Raises `InvalidInput` of a search that cannot be made, before anything is run."""
    check_count("n", n, 1, MOST)
    check_count("d", 1 if d is None else d, 1, MOST)
    check_count("trials", trials, FEWEST_TRIALS)
    check_count("rounds", rounds, 1, 20)
    check_count("moves", moves, 0, MOST)
    if d is not None and n * d > MOST:
        raise InvalidInput(f"a pair may hold at most {MOST:,} numbers, got n = {n:,} records of d = {d:,}")
    if (last := trials * 4 ** (rounds - 1)) > MOST_TRIALS:
        raise InvalidInput(
            f"the last of {rounds} rounds would take {last:,} trials, four times more in each round; at most "
            f"{MOST_TRIALS:,} can be taken, so ask for fewer rounds or trials"
        )
    if not (is_number(low) and is_number(high) and -LARGEST <= low < high <= LARGEST):
        raise InvalidInput(f"low and high must be numbers with low < high, got {shortened(low)} and {shortened(high)}")
    if not (adjacency is None or isinstance(adjacency, str)):
        raise InvalidInput(f"adjacency must be one of {', '.join(ADJACENCIES)}, or None, got {shortened(adjacency)}")


def _ranked(
    pool: Sequence[tuple[str, Pair]], weigh: Callable[[Pair, int, int], float], runs: int
) -> list[tuple[float, tuple[str, Pair]]]:
    scored = [(weigh(pair, runs, place), (why, pair)) for place, (why, pair) in enumerate(pool)]
    return sorted(scored, key=lambda entry: -entry[0])


def _candidates(n: int, low: float, high: float, d: int | None, adjacency: str | None) -> Iterator[tuple[str, Pair]]:
    """All-same backgrounds with one record moved to each extreme; the first, middle and last record."""
    shape: tuple[int, ...] = () if d is None else (d,)
    middle = (low + high) / 2
    extremes: list[tuple[str, Array]] = [("low", np.full(shape, low)), ("high", np.full(shape, high))]
    if d is not None and d > 1:
        spike = np.full(shape, middle)
        spike[0] = high
        signs = np.where(np.arange(d) % 2 == 0, low, high)
        extremes += [("one coordinate high", spike), ("alternating", signs.astype(float))]
    backgrounds = [*extremes, ("middle", np.full(shape, middle))]
    for place in sorted({0, n // 2, n - 1}):
        for back, record in backgrounds:
            for moved, value in extremes:
                if np.array_equal(record, value):
                    continue
                data = np.broadcast_to(record, (n, *shape)).copy()
                neighbour = data.copy()
                neighbour[place] = value
                if adjacency == "add-remove":
                    data = np.delete(neighbour, place, axis=0)
                yield f"all {back}, record {place} {moved}", (data, neighbour)


def _move(pair: Pair, rng: np.random.Generator, low: float, high: float, adjacency: str | None) -> Pair:
    """A neighbour of a pair: some common records moved, or the changed record of one side."""
    data, neighbour = pair[0].copy(), pair[1].copy()
    if adjacency == "add-remove":
        base = neighbour if len(neighbour) > len(data) else data
        base[rng.integers(len(base))] = _fresh(base.shape[1:], rng, low, high)
        return np.delete(base, rng.integers(len(base)), axis=0), base
    changed = int(np.flatnonzero((data != neighbour).reshape(len(data), -1).any(axis=1))[0])
    if rng.random() < 0.5 or len(data) == 1:
        neighbour[changed] = _fresh(data.shape[1:], rng, low, high)
        if np.array_equal(neighbour[changed], data[changed]):
            neighbour[changed] = low if np.all(data[changed] == high) else high
    else:
        others = np.delete(np.arange(len(data)), changed)
        moved = rng.choice(others, size=max(1, len(others) // 2), replace=False)
        values = _fresh(data.shape[1:], rng, low, high)
        data[moved] = neighbour[moved] = values
    return data, neighbour


def _fresh(shape: tuple[int, ...], rng: np.random.Generator, low: float, high: float) -> Array:
    """A record: a corner, or uniform."""
    if rng.random() < 0.5:
        return np.where(rng.random(shape) < 0.5, low, high)
    return np.asarray(rng.uniform(low, high, shape))


def worst_sensitivity(
    core: Callable[[Array], ArrayLike], pairs: Sequence[Pair], norm: float = 2.0
) -> tuple[float, Pair]:
    """Largest |core(data) - core(neighbour)| over given pairs, of a deterministic core; exact for what it tried."""
    if not pairs:
        raise InvalidInput("no pairs to search; give at least one")
    moves = [np.asarray(core(handed(a)), float) - np.asarray(core(handed(b)), float) for a, b in pairs]
    distances = [float(np.linalg.norm(np.ravel(move), ord=norm)) for move in moves]
    best = int(np.argmax(distances))
    return distances[best], pairs[best]
