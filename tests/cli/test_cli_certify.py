"""`dpcheck certify`, and what `dpcheck verify` says of certificates."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import ROOT
from click.testing import CliRunner, Result

from dpcheck.cli import main

STORED = ROOT / "reports" / "certificates"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(ROOT)

    def called(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(main, list(arguments), prog_name="dpcheck")
        assert result.exit_code == code, result.output
        return result

    return called


def test_certify_writes_what_verify_accepts(call, tmp_path):
    pytest.importorskip("clarabel", reason="clarabel comes with the extra 'certificates'")
    found = json.loads(call("certify", "tsybakov/fact-sens", "--out", str(tmp_path), "--json").stdout)
    assert [row["ratio"] for row in found["certificates"]] == ["1.0000"]
    path = tmp_path / "certificates" / "tsybakov" / "fact-sens.json"
    assert path.read_text() == (STORED / "tsybakov" / "fact-sens.json").read_text()
    assert "certified: tsybakov/fact-sens" in call("verify", str(path)).stdout
    times = path.parents[1] / "times.json"
    times.write_text('{"tsybakov/fact-sens": {"printed": 1.5}}')
    call("certify", "tsybakov/fact-sens", "--out", str(tmp_path))
    assert "1.5" in times.read_text(), "what is as it was is not timed anew"


def test_certify_replaces_what_proves_less_and_keeps_what_proves_as_much(call, tmp_path):
    """Stored: what it is, a broken one, and one too few."""
    pytest.importorskip("clarabel", reason="clarabel comes with the extra 'certificates'")
    honest = json.loads((STORED / "tsybakov" / "alg-2-derived.json").read_text())
    path = tmp_path / "certificates" / "tsybakov" / "alg-2-derived.json"
    path.parent.mkdir(parents=True)

    def certified(change) -> bool:
        """Whether what is stored has been left alone."""
        document = json.loads(json.dumps(honest))
        change(document["certificates"])
        path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")
        before = path.read_text()
        call("certify", "tsybakov/alg-2@derived", "--out", str(tmp_path))
        call("certify", "tsybakov/alg-2@derived", "--out", str(tmp_path), "--stored")
        return path.read_text() == before

    assert certified(lambda rows: None)
    assert not certified(lambda rows: rows[0].update(bound="0"))
    assert not certified(lambda rows: rows.pop())


def test_stored_certificates_are_verified_without_a_solver(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    monkeypatch.setattr("dpcheck.cli.certifying._solver", lambda: False)
    result = call("certify", "l1_geometry", "--stored")
    assert "needs the extra 'certificates': pip install 'dpcheck[certificates]'" in result.stderr
    assert "nan" not in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()]
    assert any(row[0] == "l1_geometry/lem-3-2" and "refuted" in row for row in rows)
    assert "optional extra 'certificates'" in call("certify", "tsybakov/fact-sens", code=2).stderr


def test_certify_says_what_it_does_not_know(call, tmp_path):
    assert "unknown label 'tsybakov/fact-nothing'" in call("certify", "tsybakov/fact-nothing", code=2).stderr
    result = call("certify", "tsybakov/fact-sens", "--stored", "--out", str(tmp_path), code=1)
    assert "is missing; `dpcheck certify tsybakov/fact-sens` writes it" in result.stderr


def test_verify_rejects_what_was_tampered_with(call, tmp_path):
    path: Path = tmp_path / "forged.json"
    text = (STORED / "l1_geometry" / "lem-3-1.json").read_text()
    for old, new in (('"bound": "9/4"', '"bound": "2"'), ('"eta": "1/2"', '"eta": "1/3"'), ("lem-3-1", "lem-3-2")):
        assert old in text
        path.write_text(text.replace(old, new, 1))
        assert "rejected" in call("verify", str(path), code=1).stderr
    document = json.loads(text)
    for label in ("l1_geometry/thm-3", "nowhere/thm-1", 3, None):
        path.write_text(json.dumps({**document, "label": label}))
        result = call("verify", str(path), code=1 if label == "l1_geometry/thm-3" else 2)
        assert "rejected" in result.stderr or "unreadable" in result.stderr


def test_verify_says_what_a_refutation_is(call):
    result = call("verify", str(STORED / "l1_geometry" / "lem-3-2.json"))
    assert "refuted: l1_geometry/lem-3-2" in result.stdout
    assert "some function of the class attains more" in result.stdout


def test_a_second_checker_is_asked_for(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    result = call("verify", "--second", str(STORED / "tsybakov" / "fact-sens.json"), code=2)
    assert "pip install 'dpcheck[second]'" in result.stderr
