"""`dpcheck verify`: what it says of honest, forged, broken and greedy witnesses, and what it exits with."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import checkout
import mpmath
import numpy as np
import pytest
from checkout import verifiers_of
from click.testing import Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpcheck.cli.mechanisms import array_of
from dpcheck.errors import InvalidInput
from dpcheck.verdicts import Witness
from dpcheck.witnesses import sampled

Cli = Callable[..., Result]
FUZZ = settings(derandomize=True, max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
BOUNDS = """
from dpcheck.claims import Paper
from dpcheck.symbols import n

P = Paper(key="lp_spaces", title="T", authors="A", reference="R")
thm_5 = P.claim(
    "lp_spaces/thm-5@quantifiers", "Theorem 5", "So it is.", kind="theorem"
)
rate = P.claim("lp_spaces/thm-3", "Theorem 3", "A rate.", kind="theorem")
private = P.claim("lp_spaces/lem-2", "Lemma 2", "It is 1-DP.", kind="lemma")
"""
AUDITS = """
from dpcheck.checks import check, unchecked
from dpcheck.verdicts import undecided

raise RuntimeError("no audit is imported for this")

@check("lp_spaces/thm-3", kind="rate")
def slope(context):
    return undecided("", "exact")

@check("lp_spaces/lem-2", kind="privacy")
def audited(context):
    return undecided("", "exact")
"""


def counted(label: str, **changes: Any) -> Witness:
    values: dict[str, Any] = {
        "right": 300, "wrong": 30, "samples": 600, "epsilon": "1.0", "delta": "0", "failure_probability": "1e-7",
        "label": label,
    }  # fmt: skip
    found = mpmath.nstr(sampled.event_counts(**values).found, 15)
    return Witness(
        label=label, kind="sampled.event_counts", parameters={**values, **changes}, claimed="1.0", found=found, note=""
    )


def proved() -> Witness:
    parameters = {"d": 100, "n": 10, "epsilon": 1, "power": "3/2"}
    found = verifiers_of("lp_spaces").thm_5_quantifiers(**parameters)
    told = [mpmath.nstr(value, 15) for value in (found.claimed, found.found)]
    return Witness(
        label="lp_spaces/thm-5@quantifiers", kind="lp_spaces.thm_5_quantifiers", parameters=parameters,
        claimed=told[0], found=told[1], note="by hand",
    )  # fmt: skip


@pytest.fixture
def papers(project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    root = project({"bounds/lp_spaces.py": BOUNDS, "audits/lp_spaces/section.py": AUDITS})
    monkeypatch.chdir(root)
    return root


@pytest.mark.usefixtures("papers")
def test_counts_are_attested_and_only_of_privacy(cli: Cli) -> None:
    """1000 of 1000 right guesses, written by hand, "refuted" any label: a rate, a lemma."""
    counted("lp_spaces/lem-2").save("lemma.json")
    counted("lp_spaces/thm-3").save("rate.json")
    counted("nobody/thm-1").save("own.json")
    said = cli("verify", "lemma.json").stdout
    assert "attested, not verified: lp_spaces/lem-2 is violated if the counts in the file are true" in said
    assert "the word of whoever wrote the witness" in said
    assert "no statement of privacy" in cli("verify", "rate.json", code=1).stderr
    assert "hypotheses not checked: there is no claim nobody/thm-1" in cli("verify", "own.json").stdout


@pytest.mark.parametrize(
    ("assumptions", "code", "says"),
    [
        ("", 0, "hypotheses the claim states none as a formula"),
        ("sp.Le(1, 2, evaluate=False),", 0, "hypotheses 1 of the claim checked, it holds at this witness"),
        ("sp.Le(1, 2, evaluate=False), sp.Lt(1, 2, evaluate=False),", 0, "2 of the claim checked, all hold"),
        ("sp.Le(1, 2, evaluate=False), sp.Lt(2, 1, evaluate=False),", 1, "which fails at this witness"),
        ("n >= 10,", 1, "assumes n >= 10, and the verifier does not say what n is"),
    ],
)
def test_the_hypotheses_of_the_claim_are_evaluated(
    papers: Path, cli: Cli, tmp_path: Path, assumptions: str, code: int, says: str
) -> None:
    """Claims are read from the files of the one paper: the audits of this root would raise."""
    path = str(counted("lp_spaces/lem-2").save(tmp_path / "w.json"))
    bounds = papers / "bounds" / "lp_spaces.py"
    lemma = f'kind="lemma", assumptions=({assumptions})'
    bounds.write_text("import sympy as sp\n" + BOUNDS.replace('kind="lemma"', lemma))
    result = cli("verify", path, code=code)
    assert says in result.stdout + result.stderr
    (papers / "elsewhere").mkdir()
    assert "neither a [tool.dpcheck] table" in cli("verify", path, "--root", str(papers / "elsewhere")).stdout


@pytest.mark.usefixtures("papers")
def test_every_file_is_looked_at_and_told_apart(cli: Cli) -> None:
    """One witness that raised ended the command, and the others were never looked at."""
    counted("lp_spaces/lem-2").save("good.json")
    counted("lp_spaces/lem-2", right=301).save("forged.json")
    replace(counted("lp_spaces/lem-2"), claimed="nan", found="nan").save("nan.json")
    counted("lp_spaces/lem-2", epsilon="1e100000000").save("slow.json")
    Path("broken.json").write_text("[" * 100_000)
    Path("text.json").write_text("hello")
    names = ["broken.json", "nan.json", "gone.json", "forged.json", "slow.json", "text.json", "good.json"]
    told = json.loads(cli("verify", *names, "--json", code=1).stdout)
    assert told["schema_version"] == 1
    outcomes = {row["witness"].removesuffix(".json"): row["outcome"] for row in told["witnesses"]}
    assert outcomes == {
        "broken": "unreadable", "nan": "rejected", "gone": "unreadable", "forged": "rejected", "slow": "unreadable",
        "text": "unreadable", "good": "attested",
    }  # fmt: skip
    assert "broken.json: unreadable" in cli("verify", "broken.json", "good.json", code=2).stderr
    assert cli("verify", "good.json").exit_code == 0


@pytest.mark.usefixtures("papers")
def test_foreign_text_stays_in_its_line(cli: Cli) -> None:
    """It moved the cursor, set the title of the terminal, and forged lines."""
    evil = "\x1b[2J\x1b]0;owned\x07\n  found      42\u202e\x9b1m"
    replace(counted("lp_spaces/lem-2"), note=evil).save("evil.json")
    Path("evil\x1b[2J.json").write_text(json.dumps({**proved().to_dict(), "digest": evil}))
    for result in (cli("verify", "evil.json"), cli("verify", "evil\x1b[2J.json", code=1)):
        text = result.stdout + result.stderr
        assert not set(text) & set("\x1b\x07\x9b\u202e")
        assert r"\x1b[2J" in text
        assert not any(line.strip() == "found      42" for line in text.splitlines())


# -- arrays -----------------------------------------------------------------------------------------------------------


@FUZZ
@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=8))
def test_no_npy_file_does_more_than_be_refused(tmp_path_factory: Any, place: int, noise: bytes) -> None:
    """NumPy's header parser raises TokenError, OverflowError, TypeError, …"""
    path = tmp_path_factory.mktemp("fuzz") / "x.npy"
    np.save(path, np.arange(6.0).reshape(2, 3))
    content = bytearray(path.read_bytes())
    at = place % 128
    content[at : at + len(noise)] = noise
    path.write_bytes(bytes(content))
    with contextlib.suppress(InvalidInput):
        assert isinstance(array_of("--data", str(path)), np.ndarray)


def test_objects_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}]))
    with pytest.raises(InvalidInput, match="holds Python objects; save numbers or strings"):
        array_of("--data", str(tmp_path / "x.npy"))


def test_what_lies_beside_certificates_is_no_witness_amiss(cli: Cli, tmp_path: Path) -> None:
    """`dpcheck verify reports/certificates`: the times and regions of a report stand in the same folder."""
    stored = checkout.ROOT / "reports" / "certificates"
    shutil.copy(stored / "tsybakov" / "fact-sens.json", tmp_path)
    for name in ("times.json", "regions.json"):
        shutil.copy(stored / name, tmp_path)
    assert "fact-sens.json: certified" in cli("verify", str(tmp_path)).stdout
