"""What an audit accepts: data, pair, claim, numbers. Every refusal is one sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.privacy import Guarantee, changed_records
from dpcheck.statistics.binomial import check_probability

MODES = ("fixed", "anytime")
FEWEST_TRIALS = 50


def check_settings(
    mechanism: Any, claim: Any, trials: int, failure_probability: float, mode: str, held_out: float
) -> None:
    if not callable(mechanism):
        raise InvalidInput(
            f"mechanism must be callable as mechanism(data, rng, trials), got {type(mechanism).__name__}"
        )
    if not isinstance(claim, Guarantee):
        raise InvalidInput(f"claim must be a guarantee such as dp.PureDP(epsilon=1.0), got {claim!r}")
    if isinstance(trials, bool) or not isinstance(trials, (int, np.integer)) or trials < FEWEST_TRIALS:
        raise InvalidInput(f"trials must be an integer >= {FEWEST_TRIALS} (runs on each input), got {trials!r}")
    check_probability(failure_probability)
    if mode not in MODES:
        raise InvalidInput(f"unknown mode {mode!r}; choose one of {', '.join(MODES)}")
    if not 0.02 <= held_out <= 0.8:
        raise InvalidInput(f"held_out is the share of trials that chooses the event, in [0.02, 0.8], got {held_out!r}")


def describe_pair(data: Any, neighbour: Any, adjacency: str | None) -> str:
    """Checks the pair and says how it differs ("20 records, record 3 changed from 0 to 1").

    Raises:
        InvalidInput: not neighbours, identical, empty, or not finite.
    """
    if adjacency is None:
        _check_finite(data, neighbour)
        return "any pair (adjacency not checked)"
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
        return f"{max(len(one), len(two))} {what}s in {longer}, {what} {at} missing in the other"
    return f"{len(one)} {what}s{_span(one, two)}, {what} {at} changed{_change(one[at], two[at])}"


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
        found = _as_records(values)
        if found is None or found.dtype.kind != "f":
            if isinstance(values, float) and not math.isfinite(values):
                raise InvalidInput(f"{name} is {values}; it must be finite")
            continue
        if found.size == 0:
            raise InvalidInput(f"{name} is empty (shape {found.shape})")
        if not np.isfinite(found).all():
            raise InvalidInput(f"{name} holds {found[~np.isfinite(found)][0]}; its values must be finite")


def _span(one: Any, two: Any) -> str:
    if one.dtype.kind not in "iuf":
        return ""
    return f" in [{min(one.min(), two.min()):g}, {max(one.max(), two.max()):g}]"


def _change(before: Any, after: Any) -> str:
    return f" from {before:g} to {after:g}" if np.ndim(before) == 0 and np.asarray(before).dtype.kind in "iuf" else ""
