"""Attacks on the implementation, not the mathematics: bits, support, replays, summation, odd records, time, state.

Each returns an `AttackFinding` with its grade: *critical* (privacy is gone for a user of the output), *theoretical* (a
true violation that needs the last bits or extreme inputs) or *negligible* (a side channel that says little).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.auditing.audit import audit
from dpcheck.auditing.findings import AttackFinding, not_run
from dpcheck.auditing.history import state
from dpcheck.auditing.inputs import FEWEST_TRIALS, check_count, check_failure_probability, check_positive
from dpcheck.auditing.machine import called, numbers, special_records, summation_order, summation_order_of, timing
from dpcheck.auditing.mechanisms import Encoder, Outputs, mechanism_name
from dpcheck.auditing.runner import Runner
from dpcheck.auditing.scores import Cells, Score, Scorer
from dpcheck.errors import InvalidInput
from dpcheck.foreign import shortened
from dpcheck.privacy import Guarantee

__all__ = [
    "NAMES",
    "AttackFinding",
    "FinestBit",
    "attack",
    "granularity",
    "lowest_bit",
    "replayed_noise",
    "special_records",
    "state",
    "summation_order",
    "summation_order_of",
    "support",
    "timing",
]

Array = NDArray[np.float64]


# -- certified by audits ---------------------------------------------------------------------------------------------


def lowest_bit(values: ArrayLike) -> NDArray[np.int64]:
    """Exponent of the lowest set bit of each float64: 0.75 -> -2, 3.0 -> 0, 0.0 -> 1024."""
    x = np.asarray(values, dtype=float)
    mantissa, exponent = np.frexp(x)
    whole = np.ldexp(np.abs(mantissa), 53).astype(np.int64)
    bit = np.where(whole > 0, whole & -whole, 1)
    return np.where(whole > 0, exponent - 53 + np.log2(bit.astype(float)).astype(np.int64), 1024)


FINE = 30
"""Bits between the spread of an output and where its granularity begins."""


@dataclass(frozen=True)
class FinestBit(Score):
    """The finest bit of all coordinates of an output, as far as it is finer than 2^-30 of what they vary by.

    Coarser bits are part of the law of the output: whether a count is even is no matter of granularity.
    """

    name = "lowest set bit"

    def fit(self, data: Outputs, neighbour: Outputs, rng: np.random.Generator) -> Scorer:
        both = np.nan_to_num(np.concatenate([data.matrix, neighbour.matrix]))
        coarse = np.floor(np.log2(np.maximum(np.std(both, axis=0), 1e-300))) - FINE

        def score(outputs: Outputs) -> Array:
            bits = lowest_bit(np.nan_to_num(outputs.matrix))
            return np.asarray(np.minimum(bits, coarse).min(axis=1), dtype=float)

        return score


def granularity(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    claim: Guarantee,
    *,
    trials: int = 1000,
    failure_probability: float = 0.05,
    seed: int = 0,
    **options: Any,
) -> AttackFinding:
    """Do the last bits of the output tell the inputs apart? (Mironov 2012; Haney et al. 2022, precision attack.)

    The finest bit of the coordinates is the score of an ordinary audit, so the finding is certified.
    """
    trials = check_count("trials", trials, FEWEST_TRIALS)
    return _certified(
        AttackFinding(
            attack="granularity",
            found=False,
            grade="theoretical",
            samples=2 * trials,
            detail="the lowest set bit",
            failure_probability=failure_probability,
        ),
        FinestBit(),
        (mechanism, data, neighbour, claim),
        trials=trials,
        seed=seed,
        **options,
    )


def support(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    claim: Guarantee,
    *,
    trials: int = 2000,
    failure_probability: float = 0.05,
    seed: int = 0,
    **options: Any,
) -> AttackFinding:
    """Are there values that come back under one input and hardly under the other? (Atoms, clipped ends, lattices.)"""
    trials = check_count("trials", trials, FEWEST_TRIALS)
    return _certified(
        AttackFinding(
            attack="support",
            found=False,
            grade="critical",
            samples=2 * trials,
            detail="values that come back",
            failure_probability=failure_probability,
        ),
        Cells(),
        (mechanism, data, neighbour, claim),
        trials=trials,
        seed=seed,
        **options,
    )


def _certified(
    blank: AttackFinding, score: Score, what: tuple[Any, Any, Any, Guarantee], **options: Any
) -> AttackFinding:
    result = audit(*what, score=score, failure_probability=blank.failure_probability, **options)
    if result.dependence:
        return replace(blank, detail=f"nothing certified, for trials are not independent: {result.dependence}")
    refuted = result.outcome.value == "refuted"
    bound = f"certified ε ≥ {math.floor(100 * result.epsilon_lower) / 100:.2f} from {blank.detail}"
    where = f" at δ = {result.delta:.3g}" if result.delta else ""
    seen = f"; {result.event}" if refuted else ""
    return replace(
        blank,
        found=refuted,
        detail=f"{bound}{where}{seen}",
        epsilon_lower=result.epsilon_lower,
        witness=result.witness,
    )


# -- certain, or nearly so -------------------------------------------------------------------------------------------


def replayed_noise(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any = None,
    *,
    trials: int = 64,
    seed: int = 0,
    halts: bool = True,
) -> AttackFinding:
    """Is noise used twice: across calls, across trials, or across the coordinates of one output?

    Continuous noise repeats with probability below 1e-10 in so few runs; columns on a lattice are not judged, nor are
    values that come back in another call (atoms).

    Args:
        neighbour: None, or the other input: two coordinates with the same noise, or one without any, are then found
            only where they tell the inputs apart; others may be one release, post-processed.
    """
    trials = check_count("trials", trials, 2)
    encoder = Encoder(mechanism_name(mechanism), halts=halts)
    runner = Runner(mechanism, (data, data if neighbour is None else neighbour), seed, encoder, trials)
    first, second = (runner.outputs(0, trials, "replay", call).matrix for call in (0, 1))
    other = None if neighbour is None else runner.outputs(1, trials, "replay", 2).matrix
    blank = AttackFinding(
        attack="replayed noise",
        found=False,
        grade="critical",
        samples=(2 if other is None else 3) * trials,
        detail="no noise seen twice",
    )
    if first.shape[1] != second.shape[1] or (other is not None and other.shape[1] != first.shape[1]):
        return replace(blank, skipped="outputs have another width from call to call")
    pooled = np.concatenate([first, second])
    columns = [int(i) for i in np.flatnonzero(np.ptp(pooled, axis=0) != 0) if not _on_lattice(pooled[:, i])]
    detail = _still(pooled, other)
    if columns:
        detail = detail or _repeats(first[:, columns], second[:, columns]) or _shared(pooled, other, columns)
    if not detail and not columns:
        return replace(blank, skipped="outputs are discrete: that they repeat says nothing")
    return replace(blank, found=bool(detail), detail=detail or blank.detail)


def _repeats(first: Array, second: Array) -> str:
    """What repeats from call to call or from trial to trial, in words; "" when nothing does."""
    if np.array_equal(first, second, equal_nan=True):
        return "two calls with different generators return the same outputs: the seed is fixed inside"
    again = {row.tobytes() for row in second}
    fresh = [row.tobytes() for row in first if row.tobytes() not in again and not np.isnan(row).all()]
    twice = len(fresh) - len(set(fresh))
    return f"{twice} of {len(fresh)} trials repeat an earlier output" if twice > len(fresh) / 8 else ""


def _shared(values: Array, other: Array | None, columns: Sequence[int]) -> str:
    """Two coordinates with the same noise."""
    size = np.nan_to_num(np.abs(values)).max(axis=0)
    for place, i in enumerate(columns):
        for j in columns[:place]:
            gap = values[:, i] - values[:, j]
            small = 1e-9 * float(np.nanstd(values[:, i]) + 1e-6 * max(size[i], size[j]))
            if np.nanstd(gap) < small and (other is None or _apart(other[:, i] - other[:, j], gap, 10 * small)):
                return f"coordinates {j} and {i} carry the same noise: they differ by {float(gap[0]):.6g} in every run"
    return ""


def _still(values: Array, other: Array | None) -> str:
    """A coordinate without noise; one that is a public constant is the same under both inputs."""
    for i in np.flatnonzero(np.ptp(values, axis=0) == 0):
        if _apart(other[:, i], values[:, i], 0.0) if other is not None else not _on_lattice(values[:, i]):
            return f"coordinate {i} carries no noise at all: it is {float(values[0, i]):.6g} in every run"
    return ""


def _apart(other: Array, values: Array, small: float) -> bool:
    """Whether the other input gives another constant."""
    return bool(np.any(np.abs(other - values[0]) > small))


def _on_lattice(values: Array) -> bool:
    """Integers: repetition says nothing there."""
    seen = values[~np.isnan(values)]
    return bool(np.all(seen == np.round(seen)))


# -- all of them -----------------------------------------------------------------------------------------------------

NAMES = ("granularity", "support", "replayed noise", "summation order", "special records", "timing", "state")


def attack(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    claim: Guarantee,
    *,
    failure_probability: float = 0.05,
    seed: int = 0,
    sensitivity: float | None = None,
    halts: bool = False,
    only: Sequence[str] = NAMES,
    **options: Any,
) -> list[AttackFinding]:
    """Every attack of `NAMES`; the four with a chance of a false alarm share the failure probability evenly.

    Args:
        mechanism, data, neighbour, claim, options: as for `dp.audit`.
        sensitivity: claimed for the value before (additive) noise, in l2; without it the summation order is not tried.
        only: which attacks to run.
    """
    check_failure_probability(failure_probability)
    if sensitivity is not None:
        check_positive("sensitivity", sensitivity)
    wanted = list(only) if isinstance(only, Sequence) and not isinstance(only, str | bytes) else [only]
    unknown = [name for name in wanted if not (isinstance(name, str) and name in NAMES)]
    if unknown:
        raise InvalidInput(f"unknown attack {shortened(unknown[0])}; choose from {', '.join(NAMES)}")
    probe = Encoder(mechanism_name(mechanism), halts=halts)
    seen = Runner(mechanism, (data, neighbour), seed, probe, 4).outputs(0, 4, "probe")
    numeric = numbers(seen.raw, 4) is not None
    share = failure_probability / 4
    shared = {"failure_probability": share, "seed": seed, "halts": halts, **options}

    def bits() -> AttackFinding:
        if not numeric:
            return not_run("granularity", "theoretical", "outputs are categories, not floating-point numbers")
        return granularity(mechanism, data, neighbour, claim, **shared)

    def order() -> AttackFinding:
        if sensitivity is None:
            return not_run("summation order", "theoretical", "needs the sensitivity of the value before noise")
        return summation_order_of(mechanism, data, neighbour, sensitivity, seed=seed)

    def special() -> AttackFinding:
        if not (isinstance(data, np.ndarray) and data.dtype.kind == "f" and data.size):
            return not_run("special records", "critical", "the data are no floating-point array: no NaN, no infinity")
        return special_records(mechanism, data, seed=seed, halts=halts)

    def pace() -> AttackFinding:
        if not numeric:
            return not_run("timing", "negligible", "outputs are categories: no size of noise to compare with")
        limit = min(1e-4, share)

        def once(records: Any, rng: np.random.Generator) -> Array:
            values = numbers(called(mechanism, records, rng, 1), 1)
            return np.zeros(0) if values is None else np.ravel(np.nan_to_num(values))

        return timing(once, data, failure_probability=limit, seed=seed)

    runs: tuple[Callable[[], AttackFinding], ...] = (
        bits,
        lambda: support(mechanism, data, neighbour, claim, **shared),
        lambda: replayed_noise(mechanism, data, neighbour, seed=seed),
        order,
        special,
        pace,
        lambda: state(mechanism, data, neighbour, failure_probability=share, seed=seed, halts=halts),
    )
    return [run() for name, run in zip(NAMES, runs, strict=True) if name in wanted]
