"""Measurements of cells as text, and back: what a check concludes from is always what the store gives back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcheck import foreign
from dpcheck.checks import Measurement
from dpcheck.errors import InvalidInput
from dpcheck.verdicts import Verdict


def encode(measured: Measurement) -> str:
    """JSON of one cell's result; NumPy scalars and arrays become numbers and lists, tuples become lists.

    Raises:
        InvalidInput: the result is neither a verdict nor JSON-able.
    """
    if isinstance(measured, Verdict):
        values: dict[str, Any] = {"verdict": measured.to_dict()}
    elif isinstance(measured, Mapping):
        values = {"numbers": dict(measured)}
    else:
        raise InvalidInput(
            f"a check returned {measured!r} ({type(measured).__name__}); return a Verdict or a mapping of numbers"
        )
    return json.dumps(_plain(values), sort_keys=False, ensure_ascii=False, allow_nan=False)


def decode(text: str) -> Measurement:
    """Raises `InvalidInput` for text that `encode` did not write."""
    values = foreign.parsed(text)
    if not isinstance(values, dict) or len(values) != 1 or not isinstance(next(iter(values.values())), dict):
        raise InvalidInput(f"{foreign.shortened(values)} is no measurement")
    if "verdict" in values:
        return Verdict.from_dict(values["verdict"])
    numbers: dict[str, Any] = _restored(values.get("numbers"))
    return numbers


def _plain(value: Any) -> Any:
    """Only what JSON can say; infinities and NaN as {"float": "inf"}."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, str):
        return foreign.encodable(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise InvalidInput(f"a measurement has the key {wrong!r}; name results by strings")
        return {foreign.encodable(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise InvalidInput(f"a measurement holds {value!r} ({type(value).__name__}); results are numbers, strings, lists")


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"float"} and isinstance(value["float"], str):
            return foreign.number(value)
        return {k: _restored(v) for k, v in value.items()}
    return [_restored(item) for item in value] if isinstance(value, list) else value
