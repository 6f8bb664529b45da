"""Attacks that need no audit: rounding of the core, records that are no numbers, and the time that a call takes."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpcheck import seeds
from dpcheck.auditing.findings import AttackFinding, Grade, not_run
from dpcheck.auditing.handing import handed, maker, writes
from dpcheck.auditing.inputs import (
    check_count,
    check_failure_probability,
    check_flag,
    check_mechanism,
    check_positive,
    check_seed,
    is_number,
    number_array,
)
from dpcheck.auditing.mechanisms import as_array, leaves, mechanism_name
from dpcheck.auditing.runner import failed
from dpcheck.errors import DpcheckError, InvalidInput
from dpcheck.foreign import shortened

Array = NDArray[np.float64]


def called(mechanism: Callable[..., Any], values: Any, rng: np.random.Generator, trials: int) -> Any:
    """One call, on an input that it cannot change. Raises `MechanismError` when it tries."""
    try:
        return mechanism(handed(values), rng, trials)
    except ValueError as error:
        if writes(error):
            raise failed(mechanism, mechanism_name(mechanism), f"an input with trials={trials}", error) from error
        raise


def numbers(raw: Any, trials: int) -> Array | None:
    """The numeric entries of outputs as one matrix (trials, k), 0 where a transcript had ended; None without any."""
    parts: list[Any] = list(raw.values()) if isinstance(raw, Mapping) else [raw]
    parts = list(raw) if isinstance(raw, tuple) else parts
    arrays = [_numeric(part, trials) for part in parts]
    return np.concatenate(arrays, axis=1) if sum(matrix.shape[1] for matrix in arrays) else None


def _transcripts(raw: Any) -> bool:
    """Whether an output is a list of entries, which may stop at any of them."""
    parts = [as_array(part) for part in (raw if isinstance(raw, tuple) else [raw])]
    return any(isinstance(row, list) for part in parts if part.dtype.kind == "O" for row in part.tolist())


def _numeric(part: Any, trials: int) -> Array:
    values = as_array(part)
    if values.dtype.kind in "biuf":
        return np.asarray(values.reshape(trials, -1), dtype=float)
    rows = [leaves(value) for value in values.tolist()]
    matrix = np.zeros((trials, max(map(len, rows))))
    words = np.zeros(matrix.shape[1], dtype=bool)
    for i, row in enumerate(rows):
        for k, leaf in enumerate(row):
            if isinstance(leaf, bool | int | float | np.number):
                matrix[i, k] = leaf
            elif leaf is not None:
                words[k] = True
    used = ~words & np.array([any(k < len(row) and row[k] is not None for row in rows) for k in range(len(words))])
    return matrix[:, used]


def summation_order(
    core: Callable[[Array], ArrayLike], sensitivity: float, *, n: int = 64, scale: float = 2.0**50, seed: int = 0
) -> AttackFinding:
    """Can rounding move a core further than its sensitivity? Neighbours at 2^50-scale inputs, records reordered.

    Args:
        core: records (n,) -> the value before noise.
        sensitivity: claimed for records that differ by at most 1 in one place.
    """
    check_positive("sensitivity", sensitivity)
    check_positive("scale", scale)
    n, seed = check_count("n", n, 1), check_seed(seed)
    rng = seeds.stream(seed, "summation order")
    pairs = []
    for _ in range(50):
        data = rng.choice([scale, -scale, 0.5, 1.0], size=n)
        small = np.flatnonzero(np.abs(data) <= 1)
        if len(small):
            neighbour = data.copy()
            neighbour[small[0]] = 1.5 - data[small[0]]
            pairs.append((data, neighbour))
    worst, calls = _largest_move(lambda records: _numbers_of(core, records), pairs, rng)
    return _moved(worst, calls, "a record moved by 1/2 moves the core", sensitivity)


def summation_order_of(
    mechanism: Callable[..., Any], data: Any, neighbour: Any, sensitivity: float, *, seed: int = 0
) -> AttackFinding:
    """`summation_order` without the core: the same generator on both inputs, so that additive noise cancels.

    The changed record moves as it does in the pair; of the others as many are huge as are hugely negative (so that the
    true sum is small, and rounding the output itself hides nothing), in three orders.

    Args:
        data, neighbour: replace-one neighbours of at least 4 records, floating-point.
    """
    check_mechanism(mechanism)
    check_positive("sensitivity", sensitivity)
    seed = check_seed(seed)

    def skip(why: str) -> AttackFinding:
        return not_run("summation order", "theoretical", why)

    one, two = np.asarray(data), np.asarray(neighbour)
    if one.dtype.kind != "f" or one.shape != two.shape or one.size == 0 or one.ndim == 0 or len(one) < 4:
        return skip("needs replace-one neighbours of at least 4 floating-point records")
    changed = np.flatnonzero((one != two).reshape(len(one), -1).any(axis=1))
    if len(changed) != 1:
        return skip(f"the pair differs in {len(changed)} records, not in one")
    rng, at = seeds.stream(seed, "summation order"), int(changed[0])

    def core(records: Array) -> Array:
        values = numbers(called(mechanism, records, seeds.stream(seed, "summation order", "noise"), 1), 1)
        return np.zeros(0) if values is None else np.ravel(values)

    if _transcripts(called(mechanism, one, seeds.stream(seed, "summation order", "noise"), 4)):
        return skip("outputs are transcripts: their noise does not cancel")
    first, again = core(one), core(one)
    if not len(first):
        return skip("the outputs hold no numbers")
    if not np.array_equal(first, again, equal_nan=True):
        return skip("the noise does not come from the generator that it is given, so it does not cancel")
    plain, calls = _largest_move(core, [(one, two)], rng)
    if plain > sensitivity * (1 + 1e-9):
        finding = _moved(plain, calls + 2, f"record {at}, changed as in the pair, moves the output", sensitivity)
        return replace(finding, grade="critical", detail=f"{finding.detail}; no rounding is needed")
    try:
        worst, more = _largest_move(core, _balanced(one, two, at, rng), rng)
    except Exception as error:  # a mechanism may refuse such records as it likes
        return skip(f"huge records are refused ({type(error).__name__}: {error})")
    what = f"record {at}, changed as in the pair, moves the output beside records of ±2^50 and more"
    return _moved(worst, calls + more + 2, what, sensitivity)


def _balanced(one: Array, two: Array, at: int, rng: np.random.Generator) -> list[tuple[Array, Array]]:
    """Backgrounds of as many records at +scale as at -scale, and small ones, with the changed record among them."""
    pairs, others = [], len(one) - 1
    change = 2.0 ** math.ceil(math.log2(float(np.abs(two[at] - one[at]).max())))
    for scale in (2.0**50, 2.0**52 * change, 2.0**53 * change):
        for _ in range(10):
            half = int(rng.integers(1, max(2, others // 2 + 1)))
            signs = np.repeat([1.0, -1.0, 0.0], [half, half, others - 2 * half])
            heights = np.insert(rng.permutation(signs) * scale, at, 0.0).reshape(-1, *[1] * (one.ndim - 1))
            base = np.where(heights == 0, rng.choice([0.5, 1.0], size=heights.shape), heights) * np.ones(one.shape)
            data, neighbour = base.copy(), base.copy()
            data[at], neighbour[at] = one[at], two[at]
            pairs.append((data, neighbour))
    return pairs


def _largest_move(
    core: Callable[[Array], ArrayLike], pairs: Sequence[tuple[Array, Array]], rng: np.random.Generator
) -> tuple[float, int]:
    """Largest l2 movement of the core over the pairs, in three orders each; number of calls."""
    worst, calls = 0.0, 0
    for data, neighbour in pairs:
        key = data.reshape(len(data), -1)[:, 0]
        for order in (np.arange(len(data)), rng.permutation(len(data)), np.argsort(key, kind="stable")):
            gap = np.ravel(np.asarray(core(data[order]), float) - np.asarray(core(neighbour[order]), float))
            worst, calls = max(worst, float(np.linalg.norm(gap))), calls + 2
    return worst, calls


def _moved(worst: float, calls: int, what: str, sensitivity: float) -> AttackFinding:
    return AttackFinding(
        attack="summation order",
        found=worst > sensitivity * (1 + 1e-9),
        grade="theoretical",
        samples=calls,
        detail=f"{what} by {worst:.6g}, claimed sensitivity {sensitivity:.6g}",
    )


def _numbers_of(function: Callable[..., ArrayLike], *given: Any) -> Array:
    """What a function of the user's returns, in numbers. Raises `MechanismError`."""
    try:
        return np.asarray(function(*given), dtype=float)
    except DpcheckError:
        raise
    except Exception as error:
        raise failed(function, mechanism_name(function), "a call", error) from error


def special_records(
    mechanism: Callable[..., Any],
    data: ArrayLike,
    *,
    values: Sequence[float] = (math.nan, math.inf),
    seed: int = 0,
    halts: bool = False,
    trials: int = 16,
) -> AttackFinding:
    """Does a NaN or infinite record, or having no records, show in the output, so that one run tells it apart?

    Refusing such data with an error is as it should be. That there is no record at all is hidden only under add-remove,
    from one record: theoretical.

    Args:
        halts: NaN outputs are legal; then only an input on which every run halts is found, when not all do otherwise.
    """
    check_mechanism(mechanism)
    check_flag("halts", halts)
    seed, trials = check_seed(seed), check_count("trials", trials, 1)
    clean, odd = number_array("data", data), number_array("values", values)
    if not len(clean):
        raise InvalidInput("data must hold at least one record, on axis 0, got none")
    cases: list[tuple[str, Array]] = []
    for value in odd.ravel().tolist():
        dirty = clean.copy()
        dirty[0] = value
        cases.append((f"a record of {value}", dirty))
    cases.append(("no record", clean[:0]))
    said: list[str] = []
    grade: Grade = "theoretical"
    runs = trials
    usual = _unusable(mechanism, clean, seeds.stream(seed, "special", "clean"), trials)
    for name, dirty in cases:
        try:
            with np.errstate(all="ignore"):
                bad = _unusable(mechanism, dirty, seeds.stream(seed, "special", name), trials)
        except Exception:  # whatever it raises, it gave no output
            continue
        runs += trials
        if len(bad) and (bad.all() and not usual.all() if halts else bad.any() and not usual.any()):
            said.append(f"{name} makes the output NaN or infinite")
            grade = grade if name == "no record" else "critical"
    return AttackFinding(
        attack="special records",
        found=bool(said),
        grade=grade,
        samples=runs,
        detail="; ".join(said) or "NaN, infinite and missing records are refused or absorbed",
    )


def _unusable(mechanism: Callable[..., Any], data: Array, rng: np.random.Generator, trials: int) -> NDArray[np.bool_]:
    """(trials,) whether an output holds a number that is not finite; empty when outputs are no numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raw = called(mechanism, data, rng, trials)
    values = numbers(raw, trials)
    if values is None:
        return np.zeros(0, dtype=bool)
    return np.asarray(~np.isfinite(values).all(axis=1))


def timing(
    function: Callable[[Any, np.random.Generator], Any],
    data: Any,
    *,
    calls: int = 2000,
    failure_probability: float = 1e-4,
    seed: int = 0,
    seconds: float = 20.0,
) -> AttackFinding:
    """Does the time of a call grow with its noise? Spearman correlation (1904) of time and |output - median|.

    The attack is that of Jin, McMurtry, Rubinstein and Ohrimenko 2022.

    Args:
        function: (data, rng) -> one output, of numbers.
        seconds: after which no further call is made.
    """
    check_failure_probability(failure_probability)
    if not (is_number(seconds) and seconds >= 0):
        raise InvalidInput(f"seconds must be a number >= 0, after which no call is made, got {shortened(seconds)}")
    calls, rng = check_count("calls", calls, 1), seeds.stream(check_seed(seed), "timing")
    outputs, taken = [], []
    given = maker(data)()
    begun = time.perf_counter()
    for _ in range(calls):
        start = time.perf_counter_ns()
        value = _numbers_of(function, given, rng)
        taken.append(time.perf_counter_ns() - start)
        outputs.append(np.ravel(value))
        if time.perf_counter() - begun > seconds:
            break
    if len({len(output) for output in outputs}) > 1:
        return not_run("timing", "negligible", "outputs have several lengths: no size of noise to compare with")
    if len(outputs) < 50:
        return not_run("timing", "negligible", f"a call takes so long that only {len(outputs)} were made")
    values = np.array(outputs)
    noise = np.linalg.norm(values - np.median(values, axis=0), axis=1)
    if np.ptp(noise) == 0:
        return not_run("timing", "negligible", "all outputs are equally far from their median")
    test = scipy.stats.spearmanr(noise, taken, alternative="greater")
    return AttackFinding(
        attack="timing",
        found=bool(test.pvalue < failure_probability and test.statistic > 0.1),
        grade="negligible",
        samples=len(taken),
        detail=f"rank correlation {float(test.statistic):.2f} of time with |noise|",
        failure_probability=failure_probability,
    )
