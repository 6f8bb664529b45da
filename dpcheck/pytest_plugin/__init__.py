"""pytest plugin: audits of privacy in a test suite, by `assert_private`, the fixture `dp_audit`, and collected checks.

All three are told the same settings and report alike, under pytest-xdist too: a result travels to the controller with
the report of its test. Nothing of dpcheck but this package is imported until a test audits something.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

from dpcheck import profiles, sessions
from dpcheck.errors import InvalidInput
from dpcheck.pytest_plugin import reporting
from dpcheck.pytest_plugin.budget import BudgetSplit
from dpcheck.pytest_plugin.failures import Failures
from dpcheck.pytest_plugin.session import ItemSession, Plugin, rows_of

if TYPE_CHECKING:
    from dpcheck.auditing.audit import AuditResult

_PLUGIN = pytest.StashKey[Plugin]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dpcheck", "audits of differential privacy")

    def add(name: str, **more: Any) -> None:
        group.addoption(f"--dpcheck-{name}", default=None, **more)

    add("profile", metavar="NAME", help="settings of audits: dev, ci (default), nightly, or one that is registered")
    add("seed", type=int, metavar="N", help="root of all randomness (default 0)")
    add("trials", type=int, metavar="N", help="runs on each input of an audit")
    add("failure-probability", type=float, metavar="P", help="of all verdicts of the session (default 1e-3)")
    add("must-detect", type=float, metavar="ε", help="an audit that could not have refuted a true ε, fails")
    add("audits", action="append", metavar="PATH", help="collect the checks (`@check`) of a file or folder as tests")
    add("json", metavar="FILE", help="write the results to FILE")
    group.addoption("--dpcheck-schema", action="store_true", help="print the JSON Schema of that file, and exit")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "dpcheck: audits a privacy claim, and has a share of the failure probability")
    given = {
        name: value
        for name in ("seed", "trials", "failure_probability", "must_detect")
        if (value := config.getoption(f"dpcheck_{name}")) is not None
    }
    for option in ("profile", "audits", "json"):
        said = config.getoption(f"dpcheck_{option}")
        if "" in (said if isinstance(said, list) else [said]):
            raise pytest.UsageError(f"dpcheck: got nothing after --dpcheck-{option}; set it, or leave it out")
    if path := config.getoption("dpcheck_json"):
        reporting.check_path(path)
    name = config.getoption("dpcheck_profile") or profiles.loaded()
    try:
        profile = profiles.derived(name, **given)
    except InvalidInput as error:
        text = str(error)
        for field in given:
            text = text.replace(f"{field} must", f"--dpcheck-{field.replace('_', '-')} must")
        raise pytest.UsageError(f"dpcheck: {text}") from error
    failures = Failures(config.rootpath / ".dpcheck" / "failures")
    sent = getattr(config, "workerinput", {}).get("dpcheck_failures")
    failures.read() if sent is None else failures.receive(sent)
    plugin = Plugin(name=name, profile=profile, failures=failures, folder=config.rootpath / ".dpcheck")
    config.stash[_PLUGIN] = plugin
    if sent is None:
        config.pluginmanager.register(_Controller(plugin), "dpcheck-controller")


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not config.getoption("dpcheck_schema"):
        return None
    print(reporting.schema_text(), end="")
    return 0


# -- before the run ----------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Adds the checks, before `-k` and `-m` choose."""
    paths = config.getoption("dpcheck_audits")
    if paths:
        from dpcheck.pytest_plugin.collecting import collected

        items.extend(collected(session, paths, config.stash[_PLUGIN]))


@pytest.hookimpl(tryfirst=True)  # before a worker says in which order it runs them
def pytest_collection_finish(session: pytest.Session) -> None:
    """What is left is what will run: it is split, and what failed last comes first."""
    plugin = session.config.stash[_PLUGIN]
    plugin.split = BudgetSplit.of(session.items, plugin.profile.failure_probability)
    if plugin.split.exceeded:
        from dpcheck.pytest_plugin.collecting import Broken

        # An error would end a worker, and be told as a crash; a test that fails is told alike with workers and without.
        session.items[:] = [Broken.made(session, "dpcheck-failure-probability", plugin.split.exceeded)]
    failed = plugin.failures.tests
    session.items.sort(key=lambda item: item.nodeid not in failed)


# -- while it runs -----------------------------------------------------------------------------------------------------


@pytest.fixture
def dp_audit() -> Callable[..., AuditResult]:
    """`assert_private`; a test that takes it is known beforehand to ask for a share of the failure probability."""
    from dpcheck.testing import assert_private

    return assert_private


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    with sessions.within(ItemSession(item, item.config.stash[_PLUGIN])):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # An attribute of a report travels with it to the controller. A test that passes expected what it got.
    vars(report)["dpcheck"] = [row | {"passed": row["passed"] or not report.failed} for row in rows_of(item)]
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells how it was split; what became of its tests the controller knows already."""
    plugin, told = session.config.stash[_PLUGIN], getattr(session.config, "workeroutput", None)
    if told is not None and plugin.split is not None:
        told["dpcheck_split"] = plugin.split.sent


# -- on the controller -------------------------------------------------------------------------------------------------


class _Controller:
    """Hooks of the process that hears of every test, and writes; under pytest-xdist no worker does."""

    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for row in getattr(report, "dpcheck", ()):
            self._plugin.results[row["test"], row["number"]] = row
            self._plugin.failures.take(row)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["dpcheck_failures"] = self._plugin.failures.sent

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        split = getattr(node, "workeroutput", {}).get("dpcheck_split")
        self._plugin.split = self._plugin.split or (split and BudgetSplit.received(split))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        path = session.config.getoption("dpcheck_json")
        if path:
            reporting.write(path, self._plugin)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        reporting.summary(terminalreporter, self._plugin)
