"""Checks of constants, symbols, shares and refusals can fail: each is run with one that is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from checkout import ChecksOf, collected

from dpcheck.algorithms.l1_geometry import TreeFrankWolfe
from dpcheck.algorithms.lp_spaces import (
    BatchedMirrorDescent,
    FullBatchMirrorDescent,
    HalvingPhasedSGD,
    ShuffledMirrorDescent,
)
from dpcheck.algorithms.pure_heavy_tails import DoubleOutputPert, LocalizedApproxEM

CHECKS = {paper: ChecksOf(paper) for paper in ("pure_heavy_tails", "lp_spaces", "l1_geometry")}


def scaled(kind: Any, name: str, symbol: str = "") -> Any:
    """The method, whose value, or one symbol of whose values, is twice what it was."""
    original = getattr(kind, name)

    def method(self: Any, *given: Any) -> Any:
        value = original(self, *given)
        return {**value, symbol: 2 * np.asarray(value[symbol])} if symbol else 2 * value

    return method


@pytest.mark.parametrize(
    ("paper", "item", "name", "kind", "method", "symbol"),
    [
        ("pure_heavy_tails", "prop-3-2@derived", "constant_of_the_double_solver", DoubleOutputPert, "c_erm", ""),
        ("pure_heavy_tails", "prop-f-5@derived", "constant_of_the_gibbs_solver", LocalizedApproxEM, "c_erm", ""),
        ("lp_spaces", "thm-7@derived", "potential_that_the_bound_is_told", FullBatchMirrorDescent, "terms", "C"),
        ("lp_spaces", "thm-8@corrected", "unit_that_the_bound_is_told", HalvingPhasedSGD, "terms", "c"),
        ("lp_spaces", "proc-batched-md", "noise_that_the_bound_is_told", BatchedMirrorDescent, "terms", "C"),
        ("l1_geometry", "thm-6@summed", "constants_that_the_bound_is_told", TreeFrankWolfe, "terms", "L"),
    ],
)
def test_a_value_twice_as_large_is_seen(
    monkeypatch: pytest.MonkeyPatch, paper: str, item: str, name: str, kind: Any, method: str, symbol: str
) -> None:
    assert CHECKS[paper].run(item, name).outcome == "holds"
    monkeypatch.setattr(kind, method, scaled(kind, method, symbol))
    assert CHECKS[paper].run(item, name).outcome in ("differs", "refuted")


def test_a_promise_of_dialled_noise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TreeFrankWolfe, "promised", lambda self, problem, n: True)
    found = CHECKS["l1_geometry"].run("alg-3", "promises_are_those_of_the_theorems")
    assert found.outcome == "differs"
    assert found.reason.startswith(("3 answers are wrong", "4 answers are wrong"))


def test_twice_the_share_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    original = TreeFrankWolfe.rests_on
    monkeypatch.setattr(TreeFrankWolfe, "rests_on", lambda self, share, e: original(self, share / 2, e))
    assert CHECKS["l1_geometry"].run("thm-6@corrected", "shares_at_which_records_hide").outcome == "differs"


def test_a_size_that_is_named_and_cannot_be_planned_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShuffledMirrorDescent, "_fits", lambda self, problem, n: self._legal(problem, n))
    found = CHECKS["lp_spaces"].run("proc-batched-md", "refusals_name_the_least_size")
    assert found.outcome == "differs"


def test_the_decoding_bound_is_derived_with_its_half() -> None:
    catalogue = collected()
    claims, label = dict(catalogue.claims), "pure_heavy_tails/fact-bd14"
    derivation = catalogue.derivations[label]
    assert derivation.run(claims).complete
    wrong = claims[label].as_read(f"{label}@half", "", "", explicit=claims[label].explicit / 2)
    assert not derivation.run({**claims, label: wrong}).complete
