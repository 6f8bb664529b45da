"""Witnesses that somebody wrote by hand: nothing that is not finite, bounded and recomputed is believed."""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import json
import math
import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import pytest
import sympy as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpcheck as dp
from dpcheck.errors import DpcheckError, InvalidInput, Unreadable, WitnessRejected
from dpcheck.isolation import Isolated
from dpcheck.verdicts import Witness
from dpcheck.witnesses import Violation, require, sampled, verify

COUNTS: dict[str, Any] = {
    "right": 300, "wrong": 30, "samples": 600, "epsilon": "1.0", "delta": "0", "failure_probability": "0.05",
    "label": "audit/m",
}  # fmt: skip
FOUND = mpmath.nstr(sampled.event_counts(**COUNTS).found, 15)
FUZZ = settings(derandomize=True, max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def counted(found: str = FOUND, claimed: str = "1.0", **changes: Any) -> Witness:
    parameters = {**COUNTS, **changes}
    return Witness(
        label=str(parameters["label"]), kind="sampled.event_counts", parameters=parameters, claimed=claimed, found=found
    )


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Witness]:
    """A verifier `toy.says` that recomputes whatever the test hands it."""

    def install(answer: Callable[..., Any], claimed: str = "1", found: str = "2") -> Witness:
        spec = importlib.machinery.ModuleSpec("dpcheck.witnesses.toy", None)
        module = importlib.util.module_from_spec(spec)
        module.says = answer  # type: ignore[attr-defined]
        module.__all__ = ["says"]  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "dpcheck.witnesses.toy", module)
        return Witness(label="toy/thm-1", kind="toy.says", parameters={}, claimed=claimed, found=found)

    return install


def violation(claimed: Any = 1, found: Any = 2, **fields: Any) -> Violation:
    return Violation(mpmath.mpf(claimed), mpmath.mpf(found), "at most", True, "toy/thm-1", **fields)


def test_the_honest_one_is_taken(toy: Callable[..., Witness]) -> None:
    assert verify(toy(violation)).violated
    assert verify(counted()).testimony


@pytest.mark.parametrize("said", ["nan", "inf", "-inf", "1/0", "abc", "", "1e1000000", "1" * 5000, "2.1", "0x2", "٢"])
def test_a_number_that_is_none_agrees_with_nothing(toy: Callable[..., Witness], said: str) -> None:
    """NaN was "verified" for every kind."""
    for field in ("claimed", "found"):
        with pytest.raises((WitnessRejected, InvalidInput)):
            verify(replace(toy(violation), **{field: said}))


def test_a_verifier_that_finds_no_number_proves_nothing(toy: Callable[..., Witness]) -> None:
    for found in ("nan", "inf"):
        with pytest.raises(WitnessRejected, match="no finite number"):
            verify(toy(lambda found=found: violation(found=found)))


@pytest.mark.parametrize(
    "raised", [OverflowError, MemoryError, RecursionError, AttributeError, KeyError, sp.SympifyError]
)
def test_whatever_a_verifier_raises_is_a_rejection(toy: Callable[..., Witness], raised: Any) -> None:
    def fails() -> Violation:
        raise raised("x")

    with pytest.raises(WitnessRejected, match="make no sense"):
        verify(toy(fails))


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": "-1", "right": 0, "wrong": 0, "samples": 0, "found": "0", "claimed": "-1"},
        {"epsilon": "-1", "right": 3, "wrong": 0, "samples": 3, "found": "0", "claimed": "-1"},
        {"failure_probability": "999999/1000000", "right": 3, "wrong": 0, "samples": 3, "found": "13.8"},
        {"right": 0, "wrong": 0, "samples": 600, "found": "0"},
        {"right": 700},
        {"right": True, "wrong": 0, "samples": 1},
        {"right": 1e9},
        {"samples": 10**13},
        {"epsilon": "1e100000000"},
        {"epsilon": "1e-10000000"},
        {"epsilon": "nan"},
        {"delta": "-1/10"},
        {"delta": "1"},
        {"directions": 3},
        {"right": [1] * 10},
        {"epsilon": None},
    ],
)
def test_counts_written_by_hand(changes: dict[str, Any]) -> None:
    """Epsilon -1, no guesses and a failure probability of almost 1 "refuted" any label."""
    begun = time.perf_counter()
    with pytest.raises((WitnessRejected, InvalidInput)):
        verify(counted(**changes))
    assert time.perf_counter() - begun < 5


def test_counts_speak_of_privacy_only() -> None:
    with pytest.raises(WitnessRejected, match="no statement of privacy"):
        verify(counted(), private=False)
    assert "is the word of whoever wrote the witness" in verify(counted()).testimony


def test_every_hypothesis_holds_or_the_witness_goes() -> None:
    n, p = sp.symbols("n p")
    held = violation(at={"n": 8, "p": "1/3"})
    require([n >= 8, p < 1], held)
    for assumption in (n > 8, p * n > 3, sp.log(-n) > 0, sp.sqrt(-p) < 1, p / (n - 8) < 1):
        with pytest.raises(WitnessRejected, match="fails at this witness"):
            require([assumption], held)
    with pytest.raises(WitnessRejected, match="does not say what"):
        require([sp.Symbol("k") > 1], held)
    for value in ("nan", mpmath.mpf("inf"), mpmath.nan, "1e999999999", None):
        with pytest.raises(WitnessRejected):
            require([n > 8], violation(at={"n": value}))  # type: ignore[dict-item]


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_path_a_dict_and_a_witness(tmp_path: Path) -> None:
    path = counted().save(tmp_path / "w.json")
    for given_ in (path, str(path), json.loads(path.read_text()), Witness.load(path)):
        found = dp.verify(given_)
        assert found.violated
        assert found.label == "audit/m"
        assert float(found.found) == pytest.approx(float(FOUND), rel=1e-6)
    for nonsense in ({}, {"kind": 3}, tmp_path / "gone.json", tmp_path):
        with pytest.raises(Unreadable):
            dp.verify(nonsense)


@pytest.mark.parametrize("nonsense", [3, None, [], b"w.json", 1.5], ids=repr)
def test_what_is_neither_says_what_to_give(nonsense: Any) -> None:
    with pytest.raises(Unreadable, match=rf"can be read from {re.escape(repr(nonsense))}; give one, a file of one"):
        dp.verify(nonsense)


def test_a_changed_file_is_rejected_and_a_broken_one_unreadable(tmp_path: Path) -> None:
    path = counted().save(tmp_path / "w.json")
    good = path.read_text()
    path.write_text(good.replace('"right": 300', '"right": 301'))
    with pytest.raises(WitnessRejected, match="changed after"):
        Witness.load(path)
    broken = [
        good[:-9], "[" * 100_000, "NaN", "[]", '{"label": NaN}', good.replace('"right": 300', '"right": 1e999'),
        good.replace('"right": 300', '"right": ' + "9" * 5000), '{"a": 1, "a": 2}', good.replace('"1.0"', "1.0", 1),
    ]  # fmt: skip
    for text in broken:
        path.write_text(text)
        with pytest.raises(Unreadable):
            Witness.load(path)
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(Unreadable, match="not JSON"):
        Witness.load(path)
    path.write_text(" " * (5 * 2**20))
    with pytest.raises(Unreadable, match="larger than"):
        Witness.load(path)


def test_time_and_memory_are_bounded() -> None:
    """Each of these ran for minutes, or asked for all memory; the process that does so ends, and the next one works."""
    greedy = Witness(
        label="l1_geometry/lem-3-2", kind="l1_geometry.lem_3_2", parameters={"T": 10**6, "grid": 10**6}, claimed="1",
        found="2",
    )  # fmt: skip
    with Isolated(seconds=1) as child:
        for witness in (greedy, counted(right=5 * 10**8, wrong=4 * 10**8, samples=10**9, found="0.2", claimed="1.0")):
            begun = time.perf_counter()
            with pytest.raises(WitnessRejected):
                child.verify(witness)
            assert time.perf_counter() - begun < 60
            assert child.verify(counted()).label == "audit/m"


def test_hypotheses_are_checked_in_the_other_process() -> None:
    with Isolated() as child, pytest.raises(WitnessRejected, match="does not say what n is"):
        child.verify(counted(), assumptions=(sp.Symbol("n", positive=True) > 1,))


# -- fuzz ------------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["1/0", "1e99999", "nan", "-1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@FUZZ
@given(st.data())
def test_no_file_does_more_than_be_refused(data: st.DataObject) -> None:
    """One field of a sound witness changed, with a digest that fits where it can: refused, or as sound as before."""
    values = counted().to_dict()
    place = data.draw(st.sampled_from([values, values["parameters"]]))
    name = data.draw(st.sampled_from(sorted(place)))
    place[name] = data.draw(JSON)
    with contextlib.suppress(DpcheckError, TypeError, ValueError):
        values["digest"] = Witness(**{k: v for k, v in values.items() if k not in ("digest", "schema_version")}).digest
    try:
        found = verify(Witness.from_dict(json.loads(json.dumps(values))))
    except (WitnessRejected, InvalidInput):
        return
    assert math.isfinite(found.found)
    assert found.found > found.claimed >= 0
    assert found.testimony


@FUZZ
@given(st.binary(max_size=200), st.integers(0, 10**6))
def test_no_bytes_do_more_than_be_refused(tmp_path_factory: Any, noise: bytes, place: int) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "w.json"
    text = counted().save(path).read_bytes()
    at = place % len(text)
    path.write_bytes(text[:at] + noise + text[at + len(noise) :])
    with contextlib.suppress(WitnessRejected, InvalidInput):
        assert Witness.load(path) == counted()


@pytest.mark.parametrize("schema", [0, 2, 99, "1", True, 1.0, None])
def test_witnesses_of_another_schema_are_unreadable(schema: Any) -> None:
    """The fingerprint does not cover it; what the fields mean depends on it."""
    with pytest.raises(Unreadable, match="schema_version"):
        Witness.from_dict({**counted().to_dict(), "schema_version": schema})
    assert Witness.from_dict(counted().to_dict()) == counted()
