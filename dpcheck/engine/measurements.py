"""Measurements of cells as text, and back: what a check concludes from is always what the store gives back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

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
    values = json.loads(text)
    if "verdict" in values:
        return Verdict.from_dict(values["verdict"])
    numbers: dict[str, Any] = _restored(values["numbers"])
    return numbers


def _plain(value: Any) -> Any:
    """Only what JSON can say; infinities and NaN as {"float": "inf"}."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise InvalidInput(f"a measurement has the key {wrong!r}; name results by strings")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise InvalidInput(f"a measurement holds {value!r} ({type(value).__name__}); results are numbers, strings, lists")


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        return float(value["float"]) if set(value) == {"float"} else {k: _restored(v) for k, v in value.items()}
    return [_restored(item) for item in value] if isinstance(value, list) else value
