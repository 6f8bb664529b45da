"""`dpcheck scaling` and the scaling table of the report, for a paper of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]

RATES = """
import math
from dpcheck.harness.scaling import Family, Instance, Line, Move, geometric, powers, scaling
from dpcheck.interfaces import Algorithm, Problem, Read, Release, Schedule
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.workloads.linear import TwoPoint


class Mean(Algorithm[None]):
    label = "toy/alg-1"

    def schedule(self, problem, n):
        reads = (Read(start=0, stop=n, sensitivity=2 / n),)
        noise = Release(name="mean", law=Gaussian(20 / n), reads=reads)
        return Schedule(phases=(), releases=(noise,), gradients=n, floats_per_trial=1, claimed=None)

    def execute(self, run, workload, data, start):
        raise NotImplementedError


def moves(one, power=0.5):
    mean, weight = -one.work.rho, one.n**-power
    return [Move(mean / weight, math.hypot(one.n**-0.5, 20 / one.n) / weight, 0.0)]


TILTS = Family.of(mirrored=True, tilt=geometric(1.0, 1 / 4, 16))

@scaling("toy/thm-1", variable="n", sizes=powers(2, range(20, 41, 5)), family=TILTS, engine=Line(moves))
def in_records(*, n, tilt):
    \"\"\"The mean of n signs.\"\"\"
    work = TwoPoint(D=2.0, G=1.0, rho=tilt)
    return Instance(Mean(), work, Problem.of(work, ApproxDP(1.0, 1e-6)), n, {"n": n, "D": 2.0, "L": 1.0})


@scaling("toy/thm-1@corrected", variable="epsilon", sizes=powers(2, range(-9, 0, 4)), family=TILTS, engine=Line(moves))
def in_epsilon(*, epsilon, tilt):
    \"\"\"A bound that has no epsilon.\"\"\"
    return in_records.conclude.make(n=2**20, tilt=tilt)
"""


@pytest.fixture
def root(project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    found = project({"audits/rates.py": RATES})
    monkeypatch.chdir(found)
    return found


def test_an_exponent_is_measured_and_shown(root: Path, cli: Cli) -> None:
    result = cli("scaling", "toy/thm-1", "--variable", "n")
    assert "−0.5 ± 0.0" in result.stdout
    assert "met" in result.stdout
    assert "1 of 1 row decided" in result.stdout
    assert "[1/5 sizes, about" in result.stderr
    again = cli("scaling", "toy/thm-1", "--variable", "n", "--json")
    assert "5 in the store already" in again.stderr
    (row,) = json.loads(again.stdout)["rows"]
    assert (row["check"], row["word"], row["not told apart"]) == ("toy/thm-1::in_records", "met", "")
    assert row["stated exponent"] == pytest.approx(-0.5)
    assert row["certified epsilon"] > 0


def test_a_row_that_is_too_long_for_the_size_is_not_left_out_silently(
    project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.chdir(project({"audits/rates.py": RATES.replace('variable="n",', 'variable="n", since="standard",')}))
    said = cli("scaling", "toy/thm-1", "--variable", "n").stdout
    assert "0 of 0 rows decided" in said
    assert "1 check skipped" in said
    assert "--size standard" in said
    told = json.loads(cli("scaling", "toy/thm-1", "--variable", "n", "--json").stdout)
    assert (told["rows"], told["skipped"]) == ([], ["toy/thm-1::in_records"])


def test_what_measures_no_exponent_says_so(root: Path, cli: Cli) -> None:
    assert "no exponent in d is measured of toy/thm-1" in cli("scaling", "toy/thm-1", "--variable", "d", code=5).stderr
    assert "no exponent is measured of toy/lem-2" in cli("scaling", "toy/lem-2", code=5).stderr


def test_a_row_whose_bound_has_no_order_is_an_error(root: Path, cli: Cli) -> None:
    assert "has no O-form" in cli("scaling", "toy/thm-1@corrected", "--variable", "epsilon", code=3).stderr


def test_the_report_opens_with_the_table_and_draws_the_statement(root: Path, cli: Cli) -> None:
    cli("scaling", "toy/thm-1", "--variable", "n")
    cli("report")
    index = (root / "reports" / "index.md").read_text()
    assert "## Exponents, stated and measured" in index
    assert "1 of 1 rows are decided" in index
    assert "| −0.5 | −0.5 ± 0.0" in index
    figure = (root / "reports" / "figures" / "toy" / "thm-1-in_records.svg").read_text()
    assert "stated −0.5" in figure
    assert "the start" in figure
    page = (root / "reports" / "toy.md").read_text()
    assert "Dashed: the start, which reads no data." in page
    assert "Certified ε" in (root / "reports" / "dpcheck.html").read_text()
