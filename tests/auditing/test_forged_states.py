"""States of anytime audits that somebody edited: refused, or as harmless as the audit that they came from."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpcheck as dp
from dpcheck.errors import InvalidInput
from dpcheck.verdicts import Outcome

FUZZ = settings(derandomize=True, max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
ZERO, ONE = np.array([0.0]), np.array([1.0])


def laplace(data: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
    return np.asarray(data.sum() + rng.laplace(size=trials))


def audited(state: Any = None, samples: int = 3000) -> Any:
    """An audit of a mechanism that is exactly as private as claimed."""
    return dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=samples, resume=state)


KEPT = json.dumps(audited().state)


def leaves(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every number of a state."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path for key, item in inner for path in leaves(item, (*above, key))]
    return found or ([above] if isinstance(value, int | float) and not isinstance(value, bool) else [])


PLACES = leaves(json.loads(KEPT))


def changed(path: tuple[Any, ...], value: Any) -> Any:
    state = json.loads(KEPT)
    place = state
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.loads(json.dumps(state))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -1, "x", None, [], 1e300])
def test_one_number_that_is_none(value: Any) -> None:
    """One NaN in the wealth resumed to REFUTED, epsilon >= 20."""
    names = {path[0] for path in PLACES}
    for name in sorted(names):
        path = next(path for path in PLACES if path[0] == name)
        try:
            result = audited(changed(path, value))
        except InvalidInput:
            continue
        assert result.outcome is not Outcome.REFUTED


@FUZZ
@given(
    st.sampled_from(PLACES),
    st.sampled_from([float("nan"), float("inf"), -1, 0, 1, 2, 10**6, 10**30, -0.5, 100.0, "1", None, [], {}, True]),
)
def test_no_state_does_more_than_be_refused(path: tuple[Any, ...], value: Any) -> None:
    """One number anywhere in it; an edit of counts that add up still says no more than such counts do."""
    try:
        result = audited(changed(path, value))
    except InvalidInput:
        return
    assert result.outcome is not Outcome.REFUTED


@pytest.mark.parametrize("state", [{}, {"audit": {}}, [], "state", 3])
def test_what_is_no_state(state: Any) -> None:
    with pytest.raises((InvalidInput, AttributeError) if not isinstance(state, dict) else InvalidInput):
        audited(state)
