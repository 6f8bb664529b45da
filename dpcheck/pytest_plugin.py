"""pytest plugin: the fixture `dp_audit`, the marker `dpcheck`, and a summary of what was audited.

Nothing of dpcheck but this file is imported until a test asks for the fixture.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dpcheck.auditing.audit import AuditResult

_RESULTS = pytest.StashKey[list[tuple[str, Any]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dpcheck", "audits of differential privacy")
    group.addoption("--dpcheck-seed", type=int, default=0, metavar="N", help="root seed of dp_audit (default 0)")
    group.addoption("--dpcheck-trials", type=int, default=None, metavar="N", help="runs on each input of dp_audit")
    group.addoption("--dpcheck-json", default=None, metavar="FILE", help="write the results of dp_audit to FILE")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "dpcheck: audits a privacy claim by sampling")


@pytest.fixture
def dp_audit(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Callable[..., AuditResult]:
    """`assert_private` with the session's seed and trials; its numbers go into the JUnit report and the summary."""
    from dpcheck.testing import TRIALS, assert_private

    config = request.config

    def run(mechanism: Any, data: Any, neighbour: Any, **options: Any) -> AuditResult:
        __tracebackhide__ = True
        options.setdefault("seed", config.getoption("--dpcheck-seed"))
        options.setdefault("trials", config.getoption("--dpcheck-trials") or TRIALS)
        found = config.stash.setdefault(_RESULTS, [])
        try:
            result = assert_private(mechanism, data, neighbour, **options)
        except AssertionError as error:
            found.append((request.node.nodeid, str(error).partition("\n")[0]))
            raise
        record_property("dpcheck_epsilon_lower", result.epsilon_lower)
        record_property("dpcheck_detectable_epsilon", result.detectable_epsilon)
        found.append((request.node.nodeid, result))
        return result

    return run


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    results = config.stash.get(_RESULTS, [])
    if results:
        terminalreporter.section("dpcheck")
        for name, result in results:
            said = result if isinstance(result, str) else result.reason()
            terminalreporter.write_line(f"{name}: {said}")
    path = config.getoption("--dpcheck-json", None)
    if path and results:
        rows = [{"test": n, **({"refuted": r} if isinstance(r, str) else r.to_dict())} for n, r in results]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1, ensure_ascii=False)
