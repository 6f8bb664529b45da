"""`pytest --dpcheck-audits my_audits/`: checks (`@check`) as tests, with the verdicts of `dpcheck run`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpcheck.checks import Check
from dpcheck.engine import catalogue, layout
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.run import RunResult, run
from dpcheck.engine.store import Store
from dpcheck.errors import DpcheckError
from dpcheck.pytest_plugin import reporting
from dpcheck.pytest_plugin.session import Plugin, fresh, told
from dpcheck.verdicts import Outcome


class NotAsExpected(Exception):
    """A check that says what nobody expected."""


class _File(pytest.File):
    """A file of checks; what is in it is told by the catalogue."""

    def collect(self) -> list[pytest.Item]:
        return []


class CheckItem(pytest.Item):
    """One check as a test: it fails where the verdict is not as expected."""

    def __init__(self, *, check: Check, collection: Catalogue, plugin: Plugin, **more: Any) -> None:
        super().__init__(**more)
        self._check, self._collection, self._plugin = check, collection, plugin
        self.may_spend = check.may_spend
        self.add_marker("dpcheck")

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self._check.id

    def runtest(self) -> None:
        sources = self._collection.fingerprint(self._check)
        size, seed, replayed = self._settled(sources)
        with Store(self._collection.layout.store) as store:
            result = run(self._collection, [self._check], store, size=size, seed=seed)
        self._tell(result, size, seed, replayed, sources)

    def _settled(self, sources: str) -> tuple[Any, int, str]:
        """Size, seed, and whether it is a replay: see `dpcheck.pytest_plugin.failures`."""
        profile = self._plugin.profile
        stored = self._plugin.failures.get(self.nodeid, 1)
        if stored is None or stored["kind"] != "check":
            return profile.size, profile.seed, ""
        if stored["identity"] == {"source": sources}:
            return stored["size"], stored["seed"], "again"
        size = max(profile.size, stored["size"], key=("smoke", "standard", "full").index)
        return size, fresh(profile.seed, stored), "anew"

    def _tell(self, result: RunResult, size: str, seed: int, replayed: str, sources: str) -> None:
        if result.failures:
            raise NotAsExpected(f"{self._check.id}: {result.failures[0].message}\n{result.failures[0].trace}")
        record = result.records[0]
        verdict, numbers = record.verdict, record.verdict.numbers
        weak = record.expected and reporting.wanting(numbers, self._plugin.profile.must_detect)
        saved = None
        if verdict.witness is not None:
            witness = verdict.witness
            saved = str(witness.save(self._plugin.folder / f"witness-{witness.digest[:8]}.json"))
        row = reporting.of_verdict(
            verdict,
            test=self.nodeid,
            number=1,
            kind="check",
            subject=self._check.id,
            claim=self._check.label,
            runs=numbers.get("trials", 0) if isinstance(numbers.get("trials", 0), int) else 0,
            size=size,
            seed=seed,
            witness=saved,
            replayed=replayed,
            identity={"source": sources},
            passed=record.expected and not weak,
            seconds=record.seconds,
        )
        told(self, row)
        if verdict.outcome is Outcome.SKIPPED:
            pytest.skip(verdict.reason)
        if weak:
            raise NotAsExpected(f"nothing is shown at ε = {self._plugin.profile.must_detect:g}: {verdict.reason}")
        if not record.expected:
            again = f"\nreproduce    dpcheck verify {saved}" if saved else ""
            wanted = " or ".join(sorted(outcome.value for outcome in self._check.expect))
            raise NotAsExpected(f"{verdict.outcome.value}, expected {wanted}: {verdict.reason}{again}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotAsExpected | DpcheckError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class Broken(pytest.Item):
    """Why something is not run, as a test that fails: it must not pass unseen."""

    reason = ""

    @classmethod
    def made(cls, session: pytest.Session, name: str, reason: str) -> Broken:
        item: Broken = cls.from_parent(session, name=name)
        item.reason = reason
        return item

    def runtest(self) -> None:
        raise NotAsExpected(self.reason)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value)


def collected(session: pytest.Session, paths: Sequence[str], plugin: Plugin) -> Iterator[pytest.Item]:
    """The checks in these files and folders, in the order of the catalogue."""
    try:
        places = [_existing(path) for path in paths]
        collection = _catalogue(places)
        checks = collection.select([str(place) for place in places])
        errors: list[DpcheckError] = list(collection.errors)
        if not checks and not errors:
            errors.append(DpcheckError(f"no check (`@check`) in {', '.join(paths)}"))
    except DpcheckError as error:
        checks, errors = [], [error]
    for number, broken in enumerate(errors):
        yield Broken.made(session, f"dpcheck-audits-{number}", str(broken))
    for check in checks:
        path = collection.files[check.id].path
        file = _File.from_parent(session, path=path)
        yield CheckItem.from_parent(
            file, name=f"{check.name}[{check.label}]", check=check, collection=collection, plugin=plugin
        )


def _existing(path: str) -> Path:
    if not Path(path).exists():
        raise DpcheckError(f"--dpcheck-audits {path}: no such file or folder")
    return Path(path).resolve()


def _catalogue(places: list[Path]) -> Catalogue:
    """What is known there: of the project's own content; of what dpcheck carries only where that is asked for."""
    here = layout.find()
    own = here if here.root == here.home else replace(here, content=())
    collection = catalogue.load_from(own, places)
    wanting = own is not here and any("unknown label" in str(error) for error in collection.errors)
    return catalogue.load_from(here, places) if wanting else collection
