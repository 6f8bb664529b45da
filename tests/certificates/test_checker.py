"""The checker that stands alone: what it believes, and what it cannot be made to believe."""

from __future__ import annotations

import ast
import contextlib
import copy
import json
import resource
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkout import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lived import Lived

from dpcheck.certificates import checker, problems

SOURCE = Path(checker.__file__)
STORED = sorted((ROOT / "reports" / "certificates").glob("*/*.json"))
FUZZ = settings(derandomize=True, max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def stored() -> list[dict[str, Any]]:
    return [certificate for path in STORED for certificate in json.loads(path.read_text())["certificates"]]


def proof(
    problem: list[str], multipliers: dict[str, str], bound: str, pivots: list[str], **parameters: str
) -> dict[str, Any]:
    return {"problem": problem, "parameters": parameters, "multipliers": multipliers, "bound": bound, "pivots": pivots}


SENSITIVITY = proof(problems.clipped_mean(), {"0": "1/2", "1": "1/2"}, "1", ["1/4", "0", "0"], n="2", C="1")


def test_it_stands_alone_in_two_hundred_lines():
    text = SOURCE.read_text()
    assert len(text.splitlines()) <= 200
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None)])
        if isinstance(node, ast.Import | ast.ImportFrom) and name
    }
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_is_committed_is_checked_by_a_stranger(path, tmp_path):
    assert path.stat().st_size < 2**20
    start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([sys.executable, "-I", "-S", SOURCE, path], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("proved") == len(json.loads(path.read_text())["certificates"])
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start < 5


def test_a_proof_by_hand():
    assert checker.check(SENSITIVITY) == (1, None)


def combined(certificate: dict[str, Any]) -> Any:
    """What must be positive semidefinite, but for the bound: the proof reads a parameter if this depends on it."""
    parameters = {name: Fraction(text) for name, text in certificate["parameters"].items()}
    run = checker.ExactRun(certificate["problem"], parameters)
    form = run.quantity * -1
    for number, y in certificate.get("multipliers", {}).items():
        form += run.rows[int(number)] * Fraction(y)
    return form


def test_every_number_counts(stored):
    """Of a proof no number can be another; of vectors that attain a size, only so far as they still do."""

    @FUZZ
    @given(st.data())
    def tampered(data: st.DataObject) -> None:
        certificate = copy.deepcopy(data.draw(st.sampled_from(stored)))
        part = data.draw(
            st.sampled_from(
                [p for p in ("multipliers", "pivots", "bound", "attained", "parameters") if certificate.get(p)]
            )
        )
        whole = certificate[part]
        key = (
            part
            if isinstance(whole, str)
            else data.draw(st.sampled_from(list(whole) if isinstance(whole, dict) else range(len(whole))))
        )
        inside = certificate if isinstance(whole, str) else whole
        before = combined(certificate)
        old = Fraction(inside[key])
        inside[key] = str(old + data.draw(st.fractions().filter(bool)))
        with contextlib.suppress(ValueError, ZeroDivisionError):
            if part == "parameters" and ("multipliers" not in certificate or combined(certificate) == before):
                return
        with pytest.raises((ValueError, ZeroDivisionError)):
            checker.check(certificate)

    tampered()


def test_no_multiplier_can_be_left_out(stored):
    for certificate in stored:
        numbers = list(certificate.get("multipliers", ()))
        for number in numbers if len(numbers) < 12 else numbers[:1]:
            fewer = {k: v for k, v in certificate["multipliers"].items() if k != number}
            with pytest.raises(ValueError, match=r"semidefinite|cancel|pivots"):
                checker.check({**certificate, "multipliers": fewer})


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("bound", "0.5"),
        ("bound", "2/4"),
        ("bound", "1e3"),
        ("bound", 1),
        ("bound", True),
        ("bound", None),
        ("bound", float("nan")),
        ("bound", "nan"),
        ("bound", "9" * 5000),
        ("bound", "1/0"),
        ("bound", " 1"),
        ("bound", "+1"),
        ("multipliers", {"0": "-1/2", "1": "1/2"}),
        ("multipliers", {"0": "0", "1": "1/2"}),
        ("multipliers", {"2": "1"}),
        ("multipliers", {"-1": "1/2", "0": "1/2"}),
        ("multipliers", {"00": "1/2", "1": "1/2"}),
        ("multipliers", {"True": "1"}),
        ("multipliers", ["1/2", "1/2"]),
        ("pivots", []),
        ("pivots", ["1/4", "0"]),
        ("parameters", {"n": True, "C": "1"}),
        ("parameters", {"n": "2"}),
        ("parameters", {"n": "0", "C": "1"}),
        ("problem", []),
        ("problem", "bound unit"),
    ],
)
def test_malformed_certificates_prove_nothing(part, value, tmp_path, capsys):
    path = tmp_path / "file.json"
    path.write_text(json.dumps({"certificates": [{**SENSITIVITY, part: value}]}))
    assert checker.main([str(path)]) == 1
    assert "REJECTED" in capsys.readouterr().out


def test_what_is_proved_is_told_and_nothing_else(tmp_path, capsys):
    path = tmp_path / "file.json"
    path.write_text(json.dumps({"certificates": [SENSITIVITY]}))
    assert checker.main([str(path)]) == 0
    assert capsys.readouterr().out.endswith("\n  what is to be bounded is at most 1 for every function\n")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"certificates": 3}', "[" * 10**5, " " * (2**20 + 2), "1" * 10**5])
def test_files_that_hold_no_certificates(text, tmp_path, capsys):
    path = tmp_path / "file.json"
    path.write_text(text)
    assert checker.main([str(path)]) == 1
    assert "REJECTED" in capsys.readouterr().out


REFUSALS = (ValueError, SyntaxError, KeyError, TypeError, ZeroDivisionError, RecursionError, AttributeError)


@pytest.mark.parametrize(
    "line",
    [
        "x = __import__('os')",
        "x = (1).real",
        "x = 'text'",
        "x = 1.5",
        "x = True",
        "n = 3",
        "h = vector()",
        "x = lambda: 1",
        "x = vector(*[1])",
        "x = open(n)",
        "x = h[0]",
        "x = h * k",
        "x = h + n",
        "assume h <= k",
        "assume h @ h",
        "x = convex(L=1, mu=-1)",
        "x = convex(s=-1)",
        "x = convex(mu=2, s=1)",
        "x = convex_any(s=1)",
        "x: int = 3",
        "import os",
        "x = 1; y = 2",
        "bound h @ h\nassume 0 <= 0",
        "bound h @ h",
        "x = " + "1+" * 10**4 + "1",
        "x = (h @ h) @ k",
        "unit = vector()",
        "x = (h @ h) * (k @ k)",
        "x = 1/(n - n)",
    ],
)
def test_lines_that_are_no_lines_of_a_problem(line):
    lines = [*problems.clipped_mean()[:-1], line, problems.clipped_mean()[-1]]
    with pytest.raises(REFUSALS):
        checker.ExactRun(lines, {"n": Fraction(2), "C": Fraction(1)})


def test_a_negative_multiplier_would_prove_too_much():
    """x @ x has no bound, but 1 - x @ x <= 0 taken -1 times would give one, with an impeccable matrix."""
    forged = proof(["x = vector()", "assume 1 <= x @ x", "bound x @ x"], {"0": "-1"}, "1", ["0", "0"])
    with pytest.raises(ValueError, match="not a positive multiplier"):
        checker.check(forged)
    honest = proof(["x = vector()", "assume x @ x <= 1", "bound x @ x"], {"0": "1"}, "1", ["0", "0"])
    assert checker.check(honest) == (1, None)


def attaining(problem: list[str], attained: str, vectors: dict[str, list[str]]) -> dict[str, Any]:
    return {"problem": problem, "parameters": {"n": "2", "C": "1"}, "attained": attained, "vectors": vectors}


def test_vectors_attain_what_they_do_within_the_hypotheses():
    assert checker.check(attaining(problems.clipped_mean(), "1", {"1": ["1"], "2": ["-1"]})) == (None, 1)
    for size, vectors in (("25/16", {"1": ["5/4"], "2": ["-5/4"]}), ("2", {"1": ["1"], "2": ["-1"]})):
        with pytest.raises(ValueError, match=r"break an inequality|attain another number"):
            checker.check(attaining(problems.clipped_mean(), size, vectors))
    for vectors in ({"1": ["1"]}, {"1": ["1"], "2": ["-1"], "3": ["0"]}):
        with pytest.raises(ValueError, match="an unknown is not given"):
            checker.check(attaining(problems.clipped_mean(), "1", vectors))


@pytest.mark.parametrize("kind", ["convex_any(L=1)", "convex(L=1, mu=1)"])
def test_inequalities_that_make_no_function_attain_nothing(kind):
    lines = [f"f = {kind}", "x = vector()", "assume x @ x <= 1", "bound x @ x"]
    with pytest.raises(ValueError, match="do not make a function"):
        checker.check(attaining(lines, "1", {"1": ["1"]}))


@pytest.mark.parametrize("text", ["2/4", "1/1", "-0", "01", "0/3", "1/-2", "1.0", "", "½", "1_000"])
def test_a_number_is_written_in_one_way(text):
    with pytest.raises(ValueError, match="not a rational in lowest terms"):
        checker.rational(text)


def test_a_tiny_negative_eigenvalue_is_seen():
    tiny = Fraction(1, 10**30)
    good = checker.Form({(1, 1): Fraction(1), (1, 2): Fraction(2), (2, 2): Fraction(1)})
    assert good.pivots([1, 2]) == [1, 0]
    with pytest.raises(ValueError, match="semidefinite"):
        checker.Form({**good, (2, 2): 1 - tiny}).pivots([1, 2])
    with pytest.raises(ValueError, match="semidefinite"):
        checker.Form({(1, 2): tiny}).pivots([1, 2])


@settings(FUZZ, max_examples=100)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=4, max_size=4), st.integers(-2, 2))
def test_elimination_agrees_with_eigenvalues(rows, shift):
    matrix = np.array(rows)
    matrix = matrix @ matrix.T + shift * np.eye(4, dtype=int)
    form = {
        (i, j): Fraction(int(matrix[i, j] * (1 if i == j else 2)))
        for i in range(4)
        for j in range(i, 4)
        if matrix[i, j]
    }
    least = np.linalg.eigvalsh(matrix.astype(float))[0]
    if abs(least) < 1e-6:
        return
    try:
        found = checker.Form(form).pivots([0, 1, 2, 3])
    except ValueError:
        assert least < 0
    else:
        assert least > 0
        assert np.isclose(float(np.prod(found)), np.linalg.det(matrix), rtol=1e-6)


RUNS = {
    "full batch": (problems.full_batch(4, False), {"n": "5", "eta": "1/2", "L": "1"}, 1.0, False),
    "full batch, projected": (problems.full_batch(4, True), {"n": "5", "eta": "3/2", "L": "1"}, 1.0, False),
    "smooth, regularised": (
        problems.full_batch(3, True, smooth=True, regularised=True),
        {"n": "5", "eta": "1/2", "L": "1", "H": "2", "lam": "1/3"},
        1.0,
        False,
    ),
    "one pass": (problems.one_pass(4, True, replaced=2), {"eta": "2/3", "L": "1"}, 1.0, False),
    "one pass, smooth": (problems.one_pass(4, True, 1, True, True), {"eta": "1/2", "L": "1", "H": "4"}, 1.0, False),
    "average": (problems.descent(["eta"] * 4, [1] * 4, True), {"eta": "1/2", "L": "1", "D": "1"}, 0.9, True),
    "average, unprojected": (
        problems.descent(["eta"] * 4, [1] * 4, False),
        {"eta": "1/2", "L": "1", "D": "1"},
        0.9,
        True,
    ),
    "accelerated": (problems.accelerated(4, True), {"H": "1", "D": "1"}, 0.9, True),
    "drift": (problems.drift(3, 2), {"eta": "1/2", "C": "1", "lam": "1/3"}, 1.0, False),
    "inexact": (problems.inexact(3), {"eta": "1/2", "L": "1", "D": "2", "xi": "1", "B": "0"}, 1.0, False),
    "mapping": (problems.gradient_mapping(), {"n": "3", "C": "1", "gamma": "1/2"}, 1.0, False),
    "contraction": (problems.contraction_step(), {"lam": "1/3", "H": "1", "eta": "1/2", "r": "1"}, 0.9, False),
    "error bound of smooth functions": (problems.apart_step(), {"eta": "1/2", "L": "1"}, 0.9, False),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("d", [1, 3])
def test_inequalities_hold_of_actual_runs(name, d):
    """Each inequality is true of what real functions and projections do."""
    lines, parameters, length, centred = RUNS[name]
    numbers = {key: Fraction(value) for key, value in parameters.items()}
    for seed in range(10):
        run = Lived(lines, numbers, np.random.default_rng(seed), d=d, length=length, centred=centred)
        _, rows = run.sizes()
        assert max(rows) < 1e-9, (seed, int(np.argmax(rows)))
