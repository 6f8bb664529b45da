"""What a notebook shows: whole HTML in which no stranger's text is markup, and the notebook that is committed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import report_example as example

import dpcheck as dp
from dpcheck.geometry import Ball
from dpcheck.interfaces import Problem
from dpcheck.report import displays
from dpcheck.verdicts import holds
from dpcheck.workloads import QuadraticMean

ROOT = Path(__file__).resolve().parents[2]
EVIL = '<script>alert("x")</script> & `<b>` ε^{2}'


def parsed(html: str) -> ET.Element:
    """Well-formed, with every heading of a table said to be one of a row or a column."""
    tree = ET.fromstring(html.replace("&#160;", " ").replace("&#8290;", ""))
    assert all(head.get("scope") in ("row", "col") for head in tree.iter("th"))
    assert all(table[0].tag == "caption" for table in tree.iter("table"))
    assert not list(tree.iter("script"))
    return tree


def test_an_audit():
    def answer(data, rng, trials):
        return rng.laplace(data.mean(), size=trials)

    answer.__name__ = "<script>"
    pair = dp.testing.worst_pairs(n=2, low=0.0, high=1.0)
    result = dp.audit(answer, *pair, dp.PureDP(0.5), trials=500)
    words = " ".join(parsed(result._repr_html_()).itertext())
    assert result.reason().split(":")[0] in words
    assert result.event in words
    assert "trials are independent" in words


def test_a_verdict_and_a_claim():
    tree = parsed(holds(EVIL, "exact", numbers={"largest ratio": 0.123456789, EVIL: 3})._repr_html_())
    assert "holds alert" not in displays.verdict(holds(EVIL, "exact"))
    assert "0.12346" in " ".join(tree.itertext())
    assert [node.text for node in tree.iter("sup")] == ["2"]
    stated = next(claim for claim in example.CLAIMS if claim.label == "example/thm-2")
    tree = parsed(replace(stated, statement=EVIL, remark=EVIL, grade="slip")._repr_html_())
    assert len([node for node in tree.iter("math") if node.get("display") == "block"]) == 2
    assert "Slip" in " ".join(tree.itertext())


def test_a_plan():
    work = QuadraticMean(np.ones(2), np.full(2, 0.1), Ball(2, 1.0), 1.0)
    problem = Problem(constants=work.constants, privacy=dp.ApproxDP(1.0, 1e-6))
    schedule = dp.algorithm("l1_geometry/alg-1").schedule(problem, 400)
    words = " ".join(parsed(schedule._repr_html_()).itertext())
    assert "claimed (1, 1e-06)-DP, by l1_geometry/thm-3" in words
    assert "Gaussian" in words
    assert f"{schedule.gradients:,} gradients" in words
    assert "nothing is claimed of it" in displays.plan(replace(schedule, claimed=None, phases=(), releases=()))


def test_nothing_is_loaded_for_it_before_one_is_shown():
    code = """
import sys
from dpcheck.verdicts import holds
print({"numpy", "sympy", "jinja2"} & set(sys.modules))
print(holds("sure", "exact")._repr_html_())
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.startswith("set()\n")
    assert "<strong>✓ holds</strong> sure" in said


def test_the_notebook_runs_and_shows_what_is_committed():
    nbformat = pytest.importorskip("nbformat", reason="no nbformat; pip install 'dpcheck[docs]'")
    client = pytest.importorskip("nbclient", reason="no nbclient; pip install 'dpcheck[docs]'")
    pytest.importorskip("ipykernel", reason="no kernel for notebooks; pip install 'dpcheck[docs]'")
    committed = nbformat.read(ROOT / "examples" / "notebook.ipynb", as_version=4)
    fresh = nbformat.read(ROOT / "examples" / "notebook.ipynb", as_version=4)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    client.NotebookClient(fresh, timeout=300, record_timing=False, kernel_name="python3").execute(env=environment)

    def shown(notebook: object) -> list[str]:
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]  # type: ignore[attr-defined]
        return [output.get("data", {}).get("text/html", "") for cell in cells for output in cell.outputs]

    assert shown(fresh) == shown(committed)
    assert sum(map(bool, shown(committed))) == 4
    assert any("image/png" in output.get("data", {}) for cell in committed.cells for output in cell.get("outputs", []))
    assert not re.search(r"/(home|root|tmp|work)/", nbformat.writes(committed))
