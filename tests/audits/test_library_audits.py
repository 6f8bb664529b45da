"""Audits of other libraries: skipped with a reason without them; with them, what they find is found again."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checkout import collected, errors

from dpcheck.checks import Context
from dpcheck.engine import judge, run
from dpcheck.engine.store import Store
from dpcheck.errors import MissingExtra
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.verdicts import Verdict, combine
from dpcheck.witnesses import verify

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = collected()
CHECKS = {id: check for id, check in CATALOGUE.checks.items() if id.startswith("libraries/")}
WITH_OPENDP = importlib.util.find_spec("opendp") is not None
try:
    import diffprivlib  # noqa: F401

    WITH_DIFFPRIVLIB = True
except ImportError:
    WITH_DIFFPRIVLIB = False


def subjects() -> dict[str, Any]:
    """The names of the module that puts libraries under audit."""
    found: dict[str, Any] = CHECKS["libraries/diffprivlib-laplace::laplace"].function.__globals__
    names: dict[str, Any] = found["judged"].__globals__
    return names


def measured(id: str) -> Verdict:
    check = CHECKS[id]
    return combine([check.measure(cell, "smoke", 0) for cell in check.cells("smoke")])


def test_every_claim_has_its_audit_and_every_audit_its_need() -> None:
    assert [error for error in errors() if "libraries" in error] == []
    claims = {label for label in CATALOGUE.claims if label.startswith("libraries/")}
    assert claims == {check.label for check in CHECKS.values()}
    assert all(check.needs for check in CHECKS.values())
    known = {name for id, check in CHECKS.items() if id.startswith("libraries/known-") for name in check.needs}
    assert all(re.fullmatch(r"[A-Za-z-]+==[0-9.]+", name) for name in known - {"dp-accounting"})
    wanted = "".join(file.read_text() for file in (ROOT / "audits" / "libraries" / "environments").glob("*.txt"))
    assert [name for name in known - {"dp-accounting"} if name not in wanted] == []
    graded = {label for label in claims if CATALOGUE.claims[label].grade}
    assert graded == {check.label for check in CHECKS.values() if check.expect == {"refuted"}}


@pytest.mark.skipif(WITH_OPENDP, reason="OpenDP is installed")
def test_without_the_library_the_check_is_skipped_with_a_reason(tmp_path: pathlib.Path) -> None:
    check = CHECKS["libraries/opendp-laplace::laplace_on_floats"]
    with Store(tmp_path / "store.db") as store:
        result = run.run(CATALOGUE, [check], store, size="smoke")
    (record,) = result.records
    assert record.verdict.outcome == "skipped"
    assert record.verdict.reason == "needs opendp, which is not installed"


def test_another_version_than_the_one_that_is_named_is_a_reason_as_well() -> None:
    (check,) = (check for id, check in CHECKS.items() if id.startswith("libraries/known-opacus"))
    assert judge.missing(replace(check, needs=("numpy==0.1", f"numpy=={np.__version__}"))) == ["numpy==0.1"]


@pytest.mark.skipif(importlib.util.find_spec("dp_accounting") is None, reason="needs dp-accounting")
def test_the_account_of_a_replaced_value_is_refuted_and_the_right_one_is_not() -> None:
    """Missed with probability below 1e-6; an alarm against the account of twice the norm has probability 5e-7."""
    (id,) = (id for id in CHECKS if id.startswith("libraries/known-dp-accounting"))
    assert measured(id).outcome == "refuted"

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> Any:
        return data.sum() + rng.normal(scale=2.0, size=trials)

    context = Context("libraries/known-dp-accounting-replace-one", "control", {}, failure_probability=5e-7)
    claim = ApproxDP(2.3178, 0.01)
    found = subjects()["judged"](context, mechanism, np.array([1.0]), np.array([-1.0]), claim)
    assert found.outcome != "refuted"


def test_a_library_that_does_not_import_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "diffprivlib", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(MissingExtra, match=r"scikit-learn < 1.7.*dpcheck\[subjects\]"):
        subjects()["diffprivlib"]()
    with pytest.raises(MissingExtra, match=r"dpcheck\[subjects\]"):
        subjects()["opendp"]()


def test_a_leak_is_refuted_with_a_witness_of_the_statement() -> None:
    """Epsilon 3 against 1 in 1,000 runs a side: missed with probability below 1e-9."""

    def leaky(data: Any, rng: np.random.Generator, trials: int) -> Any:
        return data[0] + rng.laplace(size=trials) / 3

    names = subjects()
    context = Context("libraries/opendp-laplace", "control", {}, failure_probability=1e-6)
    found = names["judged"](context, leaky, names["ZERO"], names["ONE"], PureDP(1.0))
    assert found.outcome == "refuted"
    assert found.witness is not None
    assert verify(found.witness).label == "libraries/opendp-laplace"
    assert names["last_bits"](context, leaky, PureDP(1.0), trials=(2_000, 2_000)).outcome == "refuted"


@pytest.mark.skipif(not WITH_OPENDP, reason="needs opendp")
@pytest.mark.parametrize(
    "id",
    [
        "libraries/opendp-laplace::laplace_on_floats",
        "libraries/opendp-noisy-max::noisy_max",
        "libraries/opendp-select-private-candidate::private_candidate",
        "libraries/opendp-laplace-threshold::laplace_threshold_on_counts",
    ],
)
def test_opendp(id: str) -> None:
    """Failure probability 1e-6 each where nothing is expected to be refuted; the refuted one: less than 1e-4."""
    assert measured(id).outcome in CHECKS[id].expect


@pytest.mark.skipif(not WITH_DIFFPRIVLIB, reason="needs diffprivlib beside scikit-learn < 1.7")
@pytest.mark.parametrize("id", [id for id in CHECKS if id.startswith("libraries/diffprivlib")])
def test_diffprivlib(id: str) -> None:
    """Fixed seeds: the audits repeat."""
    assert measured(id).outcome in CHECKS[id].expect
