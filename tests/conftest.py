"""Tiny projects in a temporary folder: claims, derivations and checks written by the test itself."""

from __future__ import annotations

import os
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run and on every machine: a verdict of `make test` is the same twice. `make search` draws
# afresh, and what it finds becomes an `@example`.
settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile(
    "search", derandomize=False, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile("ci")

# What the tests work out before is kept apart from what the user's own commands do.
os.environ.setdefault("DPCHECK_CACHE_DIR", str(Path(__file__).resolve().parents[1] / ".dpcheck" / "tests"))

SLOW = Path(__file__).with_name("slow.txt")
"""What the fast ring leaves out: test functions, each with the seconds of all its cases; first the least of these."""
RING = 50.0
"""Seconds of all tests of the fast ring: by two workers, with what they take to collect the tests, a minute."""


def _slow() -> tuple[float, dict[str, float]]:
    """From how many seconds on a function is slow, and those that are."""
    least, *rows = SLOW.read_text(encoding="utf-8").splitlines()
    return float(least.split()[0]), {name: float(seconds) for seconds, name in (row.split(" ", 1) for row in rows)}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--measure", choices=["all", "more"], help="rewrite tests/slow.txt: all of it, or the rows of what runs"
    )
    parser.addoption("--nightly", action="store_true", help="also run what takes minutes; see `make nightly`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _, slow = _slow()
    for item in items:
        if item.get_closest_marker("nightly") and not config.getoption("--nightly"):
            item.add_marker(pytest.mark.skip(reason="takes minutes; --nightly runs it"))
        if _function(item.nodeid) in slow:
            item.add_marker(pytest.mark.slow)


_took: defaultdict[str, float] = defaultdict(float)


def _function(nodeid: str) -> str:
    """Without its case, and without the group that --dist loadgroup writes behind it."""
    return nodeid.partition("[")[0].partition("@")[0]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _took[_function(report.nodeid)] += report.duration  # setup, call and teardown


def pytest_sessionfinish(session: pytest.Session) -> None:
    measured = session.config.getoption("--measure")
    if measured and not hasattr(session.config, "workerinput"):
        least, slow = _slow()
        if measured == "all":
            least, slow = _least(sorted(_took.values())), {}
        slow |= _took
        rows = (f"{slow[name]:.2f} {name}\n" for name in sorted(slow) if slow[name] >= least)
        SLOW.write_text(f"{least:.3f} seconds or more\n" + "".join(rows), encoding="utf-8")
    if hasattr(session.config, "workerinput"):
        _keep_coverage()


def _keep_coverage() -> None:
    """Now: pytest-xdist ends a worker ten seconds after its last test, written or not."""
    measuring = sys.modules.get("coverage")
    current = measuring.Coverage.current() if measuring else None
    if current is not None:
        current.stop()
        current.save()


def _least(seconds: list[float]) -> float:
    """From how many seconds on a function is slow, if the shorter ones together are to take no more than `RING`."""
    within = int(np.searchsorted(np.cumsum(seconds), RING, side="right"))
    return seconds[within] if within < len(seconds) else float("inf")


BOUNDS = """
import sympy as sp
from dpcheck.claims import Paper
from dpcheck.symbols import D, L, n

TOY = Paper(key="toy", title="A toy paper", authors="A. Author", reference="Proc. 2024")
risk = TOY.claim(
    "toy/thm-1", "Theorem 1", "The excess risk is at most LD/√n.", kind="theorem", quantity="excess risk",
    relation="<=", order=L * D / sp.sqrt(n), about=("toy/alg-1",),
)
fixed = TOY.claim(
    "toy/thm-1@corrected", "Theorem 1", "The excess risk is at most 2LD/√n.", kind="theorem", quantity="excess risk",
    measures="excess risk", relation="<=", explicit=2 * L * D / sp.sqrt(n), about=("toy/alg-1",),
)
private = TOY.claim("toy/lem-2", "Lemma 2", "The output is ε-DP.", kind="lemma")
"""
DERIVATIONS = "# Toy\n\n```python\n# thm-1 in a code block is no heading\n```\n\n## thm-1\n\nTwice.\n"
AUDITS = """
from dpcheck.checks import check
from dpcheck.verdicts import holds, undecided

@check("toy/thm-1", kind="risk", grid={"n": [4, 16, 64]})
def within_the_bound(context, n):
    \"\"\"The mean of n uniforms is small.\"\"\"
    value = float(context.rng().random(n).mean())
    return holds(f"mean {value:.4f}", "exact", numbers={"mean": value})

def judged(rows, failure_probability):
    total = sum(row["hits"] for _, row in rows)
    return undecided(f"{total} hits", "sampled", failure_probability=failure_probability, numbers={"hits": total})

@check("toy/lem-2", kind="privacy", grid={"epsilon": [0.5, 1.0]}, conclude=judged, expect="undecided")
def sampled(context, epsilon):
    hits = 0
    for rng, trials in context.chunks(10_000):
        hits += int((rng.random(trials) < 0.5).sum())
    return {"hits": hits, "epsilon": epsilon, "limit": float("inf")}
"""

Make = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path) -> Make:
    """`project({"audits/toy.py": text, …})` writes a root with those files over the standard ones."""

    def make(files: dict[str, str | None] | None = None, *, name: str = "root") -> Path:
        root = tmp_path / name
        standard = {
            "pyproject.toml": '[tool.dpcheck]\ncontent = ["bounds", "audits"]\n',
            "bounds/toy.py": BOUNDS,
            "bounds/toy.md": DERIVATIONS,
            "audits/toy.py": AUDITS,
        }
        for path, text in {**standard, **(files or {})}.items():
            if text is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(textwrap.dedent(text), encoding="utf-8")
        return root

    return make
