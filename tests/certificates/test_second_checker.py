"""The second checker: it accepts and refuses what the first one does, by other arithmetic and no line of its."""

from __future__ import annotations

import ast
import copy
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpcheck.certificates import checker, second
from dpcheck.errors import WitnessRejected

pytest.importorskip("flint", reason="python-flint comes with the extras 'certificates' and 'second'")

FUZZ = settings(derandomize=True, max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
PARTS = ("multipliers", "pivots", "bound", "attained", "vectors", "parameters")


@pytest.fixture(scope="module")
def stored() -> list[dict[str, Any]]:
    files = sorted((ROOT / "reports" / "certificates").glob("*/*.json"))
    return [certificate for path in files for certificate in json.loads(path.read_text())["certificates"]]


def concluded(check: Any, certificate: dict[str, Any]) -> Any:
    try:
        return check(certificate)
    except Exception:
        return "refused"


def test_it_knows_nothing_of_the_first() -> None:
    tree = ast.parse(Path(second.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if str(module).startswith("dpcheck")} == {"dpcheck.errors"}


def test_both_accept_what_is_stored(stored) -> None:
    assert len(stored) > 250
    for certificate in stored:
        assert second.check(certificate) == checker.check(certificate)


def test_both_refuse_the_same_of_what_was_tampered_with(stored) -> None:
    refused = []

    @FUZZ
    @given(st.data())
    def tampered(data: st.DataObject) -> None:
        certificate = copy.deepcopy(data.draw(st.sampled_from(stored)))
        part = data.draw(st.sampled_from([name for name in PARTS if certificate.get(name)]))
        inside, key = certificate, part
        while not isinstance(inside[key], str):
            inside = inside[key]
            key = data.draw(st.sampled_from(list(inside) if isinstance(inside, dict) else range(len(inside))))
        inside[key] = str(Fraction(inside[key]) + data.draw(st.fractions(max_denominator=100).filter(bool)))
        found = concluded(checker.check, certificate)
        assert concluded(second.check, certificate) == found
        refused.append(found == "refused")

    tampered()
    assert sum(refused) > 0.8 * len(refused)


def test_both_refuse_the_same_of_lines_that_were_changed(stored) -> None:
    """A character of a line: another class, step, sign or hypothesis."""

    @FUZZ
    @given(st.data())
    def changed(data: st.DataObject) -> None:
        certificate = copy.deepcopy(data.draw(st.sampled_from(stored)))
        lines = certificate["problem"]
        number = data.draw(st.integers(0, len(lines) - 1))
        at = data.draw(st.integers(0, len(lines[number]) - 1))
        lines[number] = lines[number][:at] + data.draw(st.sampled_from("01x+-*@/() ")) + lines[number][at + 1 :]
        assert concluded(second.check, certificate) == concluded(checker.check, certificate)

    changed()


def test_the_simplex_method_leaves_no_more_than_is_proved(stored) -> None:
    pytest.importorskip("ppl", reason="pplpy comes with the extra 'second'")
    proofs = [certificate for certificate in stored if 0 < len(certificate.get("multipliers", ())) <= 8]
    found = [(second.greatest(certificate), Fraction(certificate["bound"])) for certificate in proofs]
    assert all(most <= bound for most, bound in found)
    assert sum(most == bound for most, bound in found) > 0.8 * len(found) > 100


def test_the_simplex_method_misses_an_inequality(stored) -> None:
    pytest.importorskip("ppl", reason="pplpy comes with the extra 'second'")
    (certificate,) = (c for c in stored if c["instance"] == "n = 100, C = 1/2")
    (first, *_) = certificate["multipliers"]
    fewer = {number: y for number, y in certificate["multipliers"].items() if number != first}
    with pytest.raises(WitnessRejected, match="no greatest quantity"):
        second.greatest({**certificate, "multipliers": fewer})
    scaled = {number: str(Fraction(y) * 9 / 10) for number, y in certificate["multipliers"].items()}
    assert second.greatest({**certificate, "multipliers": scaled}) >= Fraction(certificate["bound"])  # it is attained
    with pytest.raises(WitnessRejected, match="second checker refuses it"):
        second.confirm({**certificate, "bound": "1/20000"}, Fraction(1, 20000), None)
    with pytest.raises(WitnessRejected, match="the second"):
        second.confirm(certificate, Fraction(1, 20000), None)
    second.confirm(certificate, Fraction(certificate["bound"]), None)
