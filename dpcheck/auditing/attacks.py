"""Attacks on the implementation rather than the mathematics: bits, support, replays, summation, odd records, time.

Each returns a `Finding` with its grade: *critical* (privacy is gone for a user of the output), *theoretical* (a true
violation that needs the last bits or extreme inputs) or *negligible* (a side channel that says little).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpcheck import seeds
from dpcheck.auditing.audit import audit
from dpcheck.auditing.mechanisms import Encoder, Runner, mechanism_name
from dpcheck.auditing.scores import Cells, Function
from dpcheck.errors import DpcheckError, InvalidInput
from dpcheck.privacy import Guarantee

Array = NDArray[np.float64]
Grade = Literal["critical", "theoretical", "negligible"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one attack saw.

    Attributes:
        found: whether it broke something, at the stated failure probability (0: certain).
        grade: how much it matters if found.
        samples: mechanism runs used; epsilon_lower: certified, where the attack is an audit.
    """

    attack: str
    found: bool
    grade: Grade
    samples: int
    detail: str
    epsilon_lower: float = 0.0
    failure_probability: float = 0.0

    def __str__(self) -> str:
        return f"{self.attack}: {self.grade if self.found else 'nothing found'} ({self.samples:,} runs): {self.detail}"


def lowest_bit(values: ArrayLike) -> NDArray[np.int64]:
    """Exponent of the lowest set bit of each float64: 0.75 -> -2, 3.0 -> 0, 0.0 -> 1024."""
    x = np.asarray(values, dtype=float)
    mantissa, exponent = np.frexp(x)
    whole = np.ldexp(np.abs(mantissa), 53).astype(np.int64)
    bit = np.where(whole > 0, whole & -whole, 1)
    return np.where(whole > 0, exponent - 53 + np.log2(bit.astype(float)).astype(np.int64), 1024)


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
) -> Finding:
    """Do the last bits of the output tell the inputs apart? (Mironov 2012; Haney et al. 2022, precision attack.)

    The finest bit of the coordinates is the score of an ordinary audit, so the finding is certified.
    """

    def finest(outputs: Any) -> Array:
        flat = np.asarray(outputs, dtype=float).reshape(len(outputs), -1)
        return np.asarray(lowest_bit(np.nan_to_num(flat)).min(axis=1), dtype=float)

    result = audit(
        mechanism,
        data,
        neighbour,
        claim,
        trials=trials,
        failure_probability=failure_probability,
        seed=seed,
        score=Function(finest),
        **options,
    )
    return Finding(
        attack="granularity",
        found=result.outcome.value == "refuted",
        grade="theoretical",
        samples=2 * trials,
        detail=f"certified ε ≥ {result.epsilon_lower:.2f} from the lowest set bit",
        epsilon_lower=result.epsilon_lower,
        failure_probability=failure_probability,
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
) -> Finding:
    """Are there values that come back under one input and hardly under the other? (Atoms, clipped ends, lattices.)"""
    result = audit(
        mechanism,
        data,
        neighbour,
        claim,
        trials=trials,
        failure_probability=failure_probability,
        seed=seed,
        score=Cells(),
        **options,
    )
    return Finding(
        attack="support",
        found=result.outcome.value == "refuted",
        grade="critical",
        samples=2 * trials,
        detail=f"certified ε ≥ {result.epsilon_lower:.2f} from exact values",
        epsilon_lower=result.epsilon_lower,
        failure_probability=failure_probability,
    )


def replayed_noise(mechanism: Callable[..., Any], data: Any, *, trials: int = 64, seed: int = 0) -> Finding:
    """Is noise used twice: across calls, across trials, or across the coordinates of one output?

    Continuous noise repeats with probability below 1e-10 in so few runs; outputs on a lattice are not judged.
    """
    encoder = Encoder(mechanism_name(mechanism), halts=True)
    runner = Runner(mechanism, (data, data), seed, encoder, trials)
    first, second = (runner.outputs(0, trials, "replay", call).matrix for call in (0, 1))
    detail = _replay(first, second)
    return Finding(
        attack="replayed noise",
        found=bool(detail),
        grade="critical",
        samples=2 * trials,
        detail=detail or "no noise seen twice",
    )


def _replay(first: Array, second: Array) -> str:
    """What repeats, in words; "" when nothing does."""
    if _on_lattice(first):
        return ""
    if np.array_equal(first, second):
        return "two calls with different generators return the same outputs: the seed is fixed inside"
    if len(np.unique(first[:, 0])) < len(first) / 2 and len(np.unique(first, axis=0)) < len(first):
        return f"{len(first) - len(np.unique(first, axis=0))} of {len(first)} trials repeat an earlier output"
    pooled = np.concatenate([first, second])
    for i in range(pooled.shape[1]):
        for j in range(i):
            gap = pooled[:, i] - pooled[:, j]
            both = np.std(pooled[:, i]) > 0 and np.std(pooled[:, j]) > 0
            if both and np.std(gap) < 1e-9 * (np.std(pooled[:, i]) + np.abs(pooled).max() * 1e-6):
                return f"coordinates {j} and {i} carry the same noise: they differ by {float(gap[0]):.6g} in every run"
    still = [i for i in range(pooled.shape[1]) if np.ptp(pooled[:, i]) == 0]
    return f"coordinate {still[0]} carries no noise at all" if still else ""


def _on_lattice(values: Array) -> bool:
    """Integers, or few distinct values everywhere: repetition says nothing there."""
    return bool(np.all(values == np.round(values)))


def summation_order(
    core: Callable[[Array], ArrayLike], sensitivity: float, *, n: int = 64, scale: float = 2.0**50, seed: int = 0
) -> Finding:
    """Can rounding move a core further than its sensitivity? Neighbours at 2^50-scale inputs, records reordered.

    Args:
        core: records (n,) -> the value before noise.
        sensitivity: claimed for records that differ by at most 1 in one place.
    """
    if not sensitivity > 0:
        raise InvalidInput(f"sensitivity must be > 0, got {sensitivity!r}")
    rng = seeds.stream(seed, "summation order")
    worst, calls = 0.0, 0
    for _ in range(50):
        data = rng.choice([scale, -scale, 0.5, 1.0], size=n)
        neighbour = data.copy()
        small = np.flatnonzero(np.abs(data) <= 1)
        if len(small) == 0:
            continue
        neighbour[small[0]] = 1.5 - data[small[0]]
        for order in (np.arange(n), rng.permutation(n), np.argsort(data, kind="stable")):
            gap = np.ravel(np.asarray(core(data[order]), float) - np.asarray(core(neighbour[order]), float))
            worst, calls = max(worst, float(np.linalg.norm(gap))), calls + 2
    return Finding(
        attack="summation order",
        found=worst > sensitivity * (1 + 1e-9),
        grade="theoretical",
        samples=calls,
        detail=f"a record moved by 1/2 moves the core by {worst:.6g}, claimed sensitivity {sensitivity:.6g}",
    )


def special_records(
    mechanism: Callable[..., Any], data: ArrayLike, *, values: Sequence[float] = (math.nan, math.inf), seed: int = 0
) -> Finding:
    """Does one NaN or infinite record survive to the output, where it tells itself apart in one run?

    Refusing such data with an error is as it should be.
    """
    clean = np.asarray(data, dtype=float)
    said = []
    for value in values:
        dirty = clean.copy()
        dirty[0] = value
        try:
            with np.errstate(all="ignore"):
                raw = mechanism(dirty, seeds.stream(seed, "special", repr(value)), 4)
            output = np.asarray(raw, dtype=float)
        except (DpcheckError, ValueError, ArithmeticError):
            continue
        if not np.isfinite(output).all():
            said.append(f"a record of {value} makes the output {output.ravel()[~np.isfinite(output.ravel())][0]}")
    return Finding(
        attack="special records",
        found=bool(said),
        grade="critical",
        samples=4 * len(values),
        detail="; ".join(said) or "NaN and infinite records are refused or absorbed",
    )


def timing(
    function: Callable[[Any, np.random.Generator], Any],
    data: Any,
    *,
    calls: int = 2000,
    failure_probability: float = 1e-4,
    seed: int = 0,
) -> Finding:
    """Does the time of a call grow with its noise? Spearman correlation of time and |output - median|."""
    rng = seeds.stream(seed, "timing")
    outputs, seconds = np.empty(calls), np.empty(calls)
    for i in range(calls):
        start = time.perf_counter_ns()
        value = function(data, rng)
        seconds[i] = time.perf_counter_ns() - start
        outputs[i] = float(np.ravel(value)[0])
    test = stats.spearmanr(np.abs(outputs - np.median(outputs)), seconds, alternative="greater")
    return Finding(
        attack="timing",
        found=bool(test.pvalue < failure_probability and test.statistic > 0.1),
        grade="negligible",
        samples=calls,
        detail=f"rank correlation {float(test.statistic):.2f} of time with |noise|",
        failure_probability=failure_probability,
    )


def attack(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    claim: Guarantee,
    *,
    failure_probability: float = 0.05,
    seed: int = 0,
    **options: Any,
) -> list[Finding]:
    """The attacks that need nothing but the mechanism; sampled ones share the failure probability evenly."""
    share = failure_probability / 2
    found = [
        granularity(mechanism, data, neighbour, claim, failure_probability=share, seed=seed, **options),
        support(mechanism, data, neighbour, claim, failure_probability=share, seed=seed, **options),
        replayed_noise(mechanism, data, seed=seed),
    ]
    if isinstance(data, np.ndarray) and data.dtype.kind == "f" and data.size:
        found.append(special_records(mechanism, data, seed=seed))
    return found
