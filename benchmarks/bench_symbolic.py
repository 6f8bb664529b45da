"""What the symbolic layer costs. Run with `make bench`. Wanted: all claims in 2 s after SymPy, all panels in 10 s."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from dpcheck.engine.catalogue import load

LOADING = """
import time
import sympy
start = time.process_time()
from dpcheck.engine.catalogue import load
imported = time.process_time()
catalogue = load(content=["bounds"])
print(time.process_time() - imported, imported - start, len(catalogue.claims))
"""


@pytest.mark.benchmark(group="symbolic")
def test_loading_all_claims(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """In a new process, SymPy imported already."""

    def measured() -> list[float]:
        found = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True)
        return [float(x) for x in found.stdout.split()]

    loading, importing, claims = benchmark.pedantic(measured, rounds=3)
    with capsys.disabled():
        print(f"\n{claims:.0f} claims: {loading:.2f} s of processor time to load, {importing:.2f} s to import dpcheck")


@pytest.mark.benchmark(group="symbolic")
def test_every_phase_diagram(benchmark: Any) -> None:
    """All panels of the catalogue, exact polygons and gaps."""
    catalogue = load(content=["bounds"])
    benchmark.pedantic(lambda: [p.diagram(catalogue.claims) for p in catalogue.panels.values()], rounds=3)


@pytest.mark.benchmark(group="symbolic")
def test_upper_against_lower_bounds(benchmark: Any) -> None:
    """What the ratio of every pair of bounds depends on."""
    catalogue = load(content=["bounds"])
    benchmark.pedantic(lambda: [c.depends(catalogue.claims) for c in catalogue.contests.values()], rounds=3)


@pytest.mark.benchmark(group="symbolic")
def test_every_derivation(benchmark: Any) -> None:
    """All steps of all derivations, executed."""
    catalogue = load(content=["bounds"])
    benchmark.pedantic(lambda: [d.run(catalogue.claims) for d in catalogue.derivations.values()], rounds=1)
