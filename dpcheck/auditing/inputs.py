"""What an audit accepts: data, pair, claim, numbers. Every refusal is one sentence."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import InvalidInput
from dpcheck.foreign import shortened
from dpcheck.privacy import ApproxDP, Guarantee, changed_records
from dpcheck.statistics.binomial import check_probability

MODES = ("fixed", "anytime")
FEWEST_TRIALS, MOST_TRIALS = 50, 10**9
MOST_SAMPLES = 10**15
"""Of an anytime audit, on both inputs together: far more than any takes, and counted without rounding."""


def is_number(value: Any) -> bool:
    """Whether it is one real number: no text, no array, no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: Any, least: int) -> bool:
    """Whether it is an integer from `least` on."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least


def is_integral(value: Any) -> bool:
    """Whether it is a number without a fraction, of any type."""
    return is_number(value) and (isinstance(value, int | np.integer) or float(value).is_integer())


def check_flag(name: str, value: Any) -> None:
    """Raises `InvalidInput` for anything but a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} must be True or False, got {shortened(value)}")


def check_count(name: str, value: Any, least: int, most: int = MOST_TRIALS) -> int:
    """An integer in a range. Raises `InvalidInput`."""
    if not (is_integral(value) and least <= value <= most):
        raise InvalidInput(f"{name} must be an integer from {least:,} to {most:,}, got {shortened(value)}")
    return int(value)


def check_positive(name: str, value: Any) -> None:
    """Raises `InvalidInput` for anything but a finite number > 0."""
    if not (is_number(value) and 0 < value <= sys.float_info.max):
        raise InvalidInput(f"{name} must be a finite number > 0, got {shortened(value)}")


def number_array(name: str, values: Any) -> NDArray[np.float64]:
    """A new array of at least one axis. Raises `InvalidInput` for what are no numbers."""
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(())
    if not array.ndim:
        raise InvalidInput(f"{name} must be an array of numbers, got {shortened(values)}")
    return array


def check_claim(claim: Any) -> None:
    """Raises `InvalidInput` for anything but a guarantee."""
    if not isinstance(claim, Guarantee):
        raise InvalidInput(f"claim must be a guarantee such as dp.PureDP(epsilon=1.0), got {shortened(claim)}")


def check_failure_probability(value: Any) -> None:
    """Raises `InvalidInput` for anything but a number in (0, 1)."""
    if not is_number(value):
        raise InvalidInput(f"failure_probability must be a number in (0, 1), such as 0.05, got {shortened(value)}")
    check_probability(value)


def check_mechanism(mechanism: Any) -> None:
    """Raises `InvalidInput` of what cannot be called."""
    if not callable(mechanism):
        raise InvalidInput(
            f"mechanism must be callable as mechanism(data, rng, trials), got {type(mechanism).__name__}"
        )


def check_path(name: str, path: Any) -> Path:
    """The path of a file or a folder. Raises `InvalidInput` for what names neither."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InvalidInput(f"{name} must be a path, as text or a pathlib.Path, got {shortened(path)}")
    return Path(path)


def check_settings(
    mechanism: Any,
    claim: Any,
    trials: Any,
    failure_probability: Any,
    mode: Any,
    held_out: Any,
    chunk: Any,
    max_samples: Any,
    resume: Any,
) -> int:
    """The trials as an integer. Raises `InvalidInput`."""
    check_mechanism(mechanism)
    check_claim(claim)
    if not is_integral(trials) or trials < FEWEST_TRIALS:
        said = f"trials must be an integer >= {FEWEST_TRIALS} (runs on each input)"
        raise InvalidInput(f"{said}, got {shortened(trials)}")
    check_failure_probability(failure_probability)
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidInput(f"unknown mode {mode!r}; choose one of {', '.join(MODES)}")
    if held_out is not None and not (is_number(held_out) and 0.005 <= held_out <= 0.8):
        raise InvalidInput(f"held_out is the share of trials that chooses the event, in [0.005, 0.8], got {held_out!r}")
    if mode == "fixed" and trials > MOST_TRIALS:
        raise InvalidInput(
            f"trials must be at most {MOST_TRIALS:,}, got {shortened(int(trials))}: a fixed audit keeps a tenth of its "
            'outputs; mode="anytime" keeps none'
        )
    if not is_whole(chunk, 1):
        raise InvalidInput(f"chunk must be an integer >= 1, the most trials of one call, got {chunk!r}")
    most = 2 * int(trials) if max_samples is None else max_samples
    if not (is_integral(most) and 1 <= most <= MOST_SAMPLES):
        named, side = ("trials", "each input") if max_samples is None else ("max_samples", "both inputs together")
        raise InvalidInput(
            f"{named} must be an integer >= 1, runs on {side}, and at most {MOST_SAMPLES:.0e} on both, got "
            f"{shortened(trials if max_samples is None else max_samples)}"
        )
    if resume is not None and not isinstance(resume, Mapping):
        raise InvalidInput(f"resume takes `result.state` of an earlier anytime audit, got {shortened(resume)}")
    return int(trials)


def check_seed(seed: Any) -> int:
    """The seed as an integer. Raises `InvalidInput`."""
    if not is_whole(seed, 0):
        raise InvalidInput(f"seed must be an integer >= 0, from which all randomness of the call comes; got {seed!r}")
    return int(seed)


def check_must_detect(must_detect: float | None, claim: Guarantee) -> None:
    """Raises `InvalidInput` of a true epsilon that keeps the claim: no number of trials refutes what holds.

    Of a claimed curve it is known only once its delta is: see `AuditResult.lacks`.
    """
    if must_detect is None:
        return
    if not isinstance(claim, ApproxDP):
        if not (isinstance(must_detect, int | float | np.number) and 0 < must_detect < math.inf):
            raise InvalidInput(f"must_detect must be a true epsilon, a finite number > 0, got {must_detect!r}")
        return
    if not (isinstance(must_detect, int | float | np.number) and claim.epsilon < must_detect < math.inf):
        raise InvalidInput(
            f"must_detect must be a true epsilon above the claimed {claim.epsilon:g}, got {must_detect!r}: no number "
            "of trials refutes a claim that holds"
        )


@dataclass(frozen=True)
class Pair:
    """The two inputs of an audit: how they differ, in words, and their values."""

    text: str
    data: Any
    neighbour: Any

    def __str__(self) -> str:
        return self.text

    def packed(self) -> dict[str, Any]:
        """Both inputs as JSON, for witnesses; see `pack`."""
        return {"data": pack(self.data), "neighbour": pack(self.neighbour)}


MOST_NUMBERS = 1024
"""Longer arrays are packed as compressed bytes."""
MOST_BYTES = 2**20
"""Of a packed array; of a longer one a witness holds the fingerprint only."""


def pack(values: Any) -> dict[str, Any]:
    """An input as JSON, exactly: the numbers of an array, or its bytes, compressed; `unpack` brings them back."""
    array = values if isinstance(values, np.ndarray) else None
    if array is None:
        try:
            return {"json": json.loads(json.dumps(values, allow_nan=False))}
        except (TypeError, ValueError):
            return {"type": type(values).__name__, "repr": repr(values)[:1000]}
    if array.dtype.kind == "O":
        return {"type": "array of objects", "repr": repr(array)[:1000]}
    shape = {"dtype": array.dtype.str, "shape": list(array.shape)}
    if array.size <= MOST_NUMBERS and array.dtype.kind in "biufU":
        return {**shape, "values": array.tolist()}
    content = np.ascontiguousarray(array).tobytes()
    text = base64.b64encode(zlib.compress(content, 9)).decode()
    if len(text) > MOST_BYTES:
        return {**shape, "sha256": hashlib.sha256(content).hexdigest()}
    return {**shape, "zlib": text}


def unpack(packed: Any) -> Any:
    """The input that a witness holds. Raises `InvalidInput` when it holds a description or a fingerprint only."""
    if "json" in packed:
        return packed["json"]
    if "values" in packed:
        return np.array(packed["values"], dtype=packed["dtype"]).reshape(packed["shape"])
    if "zlib" in packed:
        content = zlib.decompress(base64.b64decode(packed["zlib"]))
        return np.frombuffer(content, dtype=packed["dtype"]).reshape(packed["shape"]).copy()
    raise InvalidInput(f"the witness does not hold the values of this input, only {sorted(packed)}")


def describe_pair(data: Any, neighbour: Any, adjacency: str | None) -> Pair:
    """Checks the pair and says how it differs ("20 records, record 3 changed from 0 to 1").

    Raises:
        InvalidInput: not neighbours, identical, empty, or not finite.
    """
    return Pair(_how_it_differs(data, neighbour, adjacency), data, neighbour)


def _how_it_differs(data: Any, neighbour: Any, adjacency: str | None) -> str:
    if not (adjacency is None or isinstance(adjacency, str)):
        changed_records(np.zeros(1), np.zeros(1), str(adjacency))  # which refuses it
    if adjacency is None:
        _check_finite(data, neighbour)
        return f"{_brief(data)} against {_brief(neighbour)} (adjacency not checked)"
    one, two = _as_records(data), _as_records(neighbour)
    if one is None or two is None:
        if adjacency not in ("replace-one", "add-remove", "user-level"):
            changed_records(np.zeros(1), np.zeros(1), adjacency)
        return f"{type(data).__name__} objects (adjacency not checked)"
    changed = changed_records(one, two, adjacency)
    if not changed:
        raise InvalidInput("data and neighbour are identical: no mechanism can leak a difference; change one record")
    at = changed[0]
    what = "user" if adjacency == "user-level" else "record"
    if len(one) != len(two):
        longer = "data" if len(one) > len(two) else "neighbour"
        most = max(len(one), len(two))
        return f"{most} {what if most == 1 else f'{what}s'} in {longer}, {what} {at} missing in the other"
    many = what if len(one) == 1 else f"{what}s"
    return f"{len(one)} {many}{_span(one, two)}, {what} {at} changed{_change(one[at], two[at])}"


def _brief(values: Any) -> str:
    array = _as_records(values)
    if array is None or array.size > 8:
        return f"{type(values).__name__}" + ("" if array is None else f" of shape {array.shape}")
    return str(array.tolist())


def _as_records(values: Any) -> Any:
    if isinstance(values, (list, tuple)):
        try:
            values = np.asarray(values)
        except ValueError:
            return None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biufUS":
        return None
    return values


def _check_finite(*pair: Any) -> None:
    for name, values in zip(("data", "neighbour"), pair, strict=True):
        records = _as_records(values)
        if isinstance(values, float) and not math.isfinite(values):
            raise InvalidInput(f"{name} is {values}; it must be finite")
        if records is not None and records.size == 0:
            raise InvalidInput(f"{name} is empty (shape {records.shape})")
        if records is None or records.dtype.kind != "f":
            continue
        if not np.isfinite(records).all():
            raise InvalidInput(f"{name} holds {records[~np.isfinite(records)][0]}; its values must be finite")


def _span(one: Any, two: Any) -> str:
    if one.dtype.kind not in "iuf":
        return ""
    return f" in [{min(one.min(), two.min()):g}, {max(one.max(), two.max()):g}]"


def _change(before: Any, after: Any) -> str:
    return f" from {before:g} to {after:g}" if np.ndim(before) == 0 and np.asarray(before).dtype.kind in "iuf" else ""
