"""What a hostile file is drawn from, and how often: more under `make search`, which draws afresh."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from dpcheck.engine.mutate.mutation import Trial
from dpcheck.engine.mutate.resolution import Resolution
from dpcheck.engine.mutate.table import SampleOfMutants, Table, Watched

MARKUP = "<script>alert(1)</script>"
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["NaN", "1/0", "1e100000000", "\x1b[2J", MARKUP, "\udc80", "{}"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)

TRIAL = Trial("claim toy/thm-1 sign: x", "claim", "toy", "toy/thm-1", "sign", "x", "measured", by="toy/thm-1::a")
TABLE = Table(
    trials={("claim", "toy/thm-1"): [TRIAL]},
    resolutions={"toy/thm-1": Resolution("toy/thm-1", "<=", 1.5, float("inf"), "toy/thm-1::a")},
    watched={"toy/thm-1::a": Watched(("toy/thm-1",), "def", 0.5)},
    idle={"toy/thm-1::a": ("toy/thm-1",)},
    states={("claim", "toy/thm-1"): "abc"},
    samples={("toy", "claim"): SampleOfMutants("toy", "claim", 1, 20, 1, "smoke")},
)
FAILED = {
    "test": "tests/test_it.py::test", "number": 1, "kind": "audit", "seed": 3, "runs": 1000, "mode": "fixed",
    "identity": {"source": "abc"}, "failure_probability": 1e-4,
}  # fmt: skip


def often(examples: int) -> settings:
    """So many examples in CI, always the same ones; twenty times as many fresh ones under the profile `search`."""
    return settings(
        max_examples=examples if settings().derandomize else 20 * examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def edited(draw: Any, value: Any) -> Any:
    """A copy of what JSON can say, with one place of it replaced or left out."""
    found = json.loads(json.dumps(value))
    place, key = found, None
    while isinstance(place, dict | list) and place:
        above, key = place, draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        place = above[key]
        if draw(st.booleans()):
            break
    if key is not None:
        if isinstance(above, dict) and draw(st.integers(0, 3)) == 0:
            del above[key]
        else:
            above[key] = draw(junk)
    return found


def noisy(draw: Any, content: bytes) -> bytes:
    """Bytes of which some are others, or gone."""
    at = draw(st.integers(0, len(content)))
    gone = draw(st.sampled_from([0, 0, 1, 4, 10**6]))
    return content[:at] + draw(st.binary(max_size=6)) + content[at + gone :]
