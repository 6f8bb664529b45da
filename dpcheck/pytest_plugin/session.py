"""What the audits of one test are told, and what becomes of their results."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpcheck.profiles import Profile
from dpcheck.pytest_plugin import reporting
from dpcheck.pytest_plugin.budget import BudgetSplit
from dpcheck.pytest_plugin.failures import Failures, Key
from dpcheck.pytest_plugin.project import sources_of
from dpcheck.sessions import Identity, Settings

if TYPE_CHECKING:
    from dpcheck.auditing.audit import AuditResult

_ROWS = pytest.StashKey[list[dict[str, Any]]]()
PROJECT = "project"
"""The part of an identity that stands for all sources of the test."""
ACCUMULATED = 801
"""Fewest runs on each input with which an anytime audit has something to look at."""


@dataclass
class Plugin:
    """One session of pytest, or of one of its workers.

    Attributes:
        name: of the profile; profile: with what the command line changed.
        failures: of the last session; folder: where they and the store lie.
        split: of the failure probability; None before anything is collected.
        results: test and number of an audit -> its row; of all workers, on the controller.
    """

    name: str
    profile: Profile
    failures: Failures
    folder: Path
    split: BudgetSplit | None = None
    results: dict[Key, dict[str, Any]] = field(default_factory=dict)

    @property
    def store(self) -> Path:
        return self.folder / "store.db"


class ItemSession:
    """One test: a `dpcheck.sessions.Session`."""

    def __init__(self, item: pytest.Item, plugin: Plugin) -> None:
        self._item, self._plugin = item, plugin
        self._asked = 0
        self._own: set[int] = set()
        self._roots: dict[int, int] = {}

    def settle(
        self, given: Mapping[str, Any], identity: Callable[[float, int], Identity], *, own_mode: bool
    ) -> Settings:
        """As `dpcheck.sessions.Session` says."""
        from dpcheck.auditing.premise import SHARE

        self._asked += 1
        identity = functools.partial(self._whole, identity)
        test, profile, split = self._item.nodeid, self._plugin.profile, self._plugin.split
        assert split is not None
        if "failure_probability" in given:
            self._own.add(self._asked)
        settings = Settings(
            trials=profile.trials,
            # The check of the premise may err too, with a part of what the audit itself spends.
            failure_probability=split.of_audit(test, self._asked, 1 + SHARE),
            seed=profile.seed,
            must_detect=profile.must_detect,
            require_power=profile.require_power,
            number=self._asked,
        )
        settings = replace(settings, **given)
        seed = settings.seed
        stored = self._plugin.failures.get(test, self._asked)
        if stored is not None and stored["kind"] == "audit":
            settings = replayed(settings, stored, identity)
        going_on = profile.accumulate or (stored is not None and stored["mode"] == "anytime")
        if going_on and not own_mode and settings.trials >= ACCUMULATED and settings.replayed != "again":
            settings = self._resumed(replace(settings, seed=seed), identity)
        return settings

    def _resumed(self, settings: Settings, identity: Callable[[float, int], Identity]) -> Settings:
        """An anytime audit that goes on with the kept one of the same sources, pair, claim and failure probability.

        What it says holds at all looks together, so evidence adds up over sessions at the price of one. The failure
        probability is a power of two, so that a test more or less in the suite seldom starts it anew.
        """
        from dpcheck.auditing.audit import ANYTIME_LEARNED

        level, root = settings.failure_probability, settings.seed
        if settings.number not in self._own:
            level = 2.0 ** math.floor(math.log2(level))
        # It keeps its seed: what it says holds however many runs were asked for, and why. Other sources have another.
        seed = derived(f"{root} at {level} of {sources_of(self._item)}")
        now = identity(level, seed)
        known = {part: said for part, said in now.items() if part != PROJECT}
        kept = [state for state in self._kept(settings) if known and state.get("audit") == known]
        tested = kept[0].get("tested", 0) if kept else 0
        most = 2 * settings.trials + 2 * ANYTIME_LEARNED + (tested if isinstance(tested, int) else 0)
        more = {"mode": "anytime", "until": "refuted", "max_samples": most, "resume": kept[0] if kept else None}
        before = "again" if settings.replayed and kept else settings.replayed
        self._roots[settings.number] = root
        return replace(settings, failure_probability=level, seed=seed, more=more, replayed=before)

    def _kept(self, settings: Settings) -> list[dict[str, Any]]:
        from dpcheck.engine.store import Store

        with Store(self._plugin.store) as store:
            return store.audits(f"{self._item.nodeid} #{settings.number}")

    def hear(self, settings: Settings, result: AuditResult, message: str, witness: str, identity: Identity) -> None:
        """As `dpcheck.sessions.Session` says."""
        identity = self._with_sources(identity)
        account = None
        if settings.number in self._roots and result.state is not None:
            account = self._account(settings, result)
        row = reporting.of_audit(self._item.nodeid, settings, result, witness, identity, passed=not message)
        told(self._item, {**row, "on_top": settings.number in self._own, "account": account})

    def _account(self, settings: Settings, result: AuditResult) -> dict[str, Any]:
        """Keeps where an anytime audit stands; and what all versions say that were audited as it was.

        As it was: on the same pair, by the same score, against the same claim, and from the same root seed. An account
        begins after the last version that was refuted, whose verdict was told.
        """
        from dpcheck.engine.store import Store
        from dpcheck.pytest_plugin.evidence import together

        assert result.state is not None
        state = {**result.state, "root": self._roots[settings.number], "outcome": result.outcome.value}
        resumed = settings.more.get("resume")
        # One that could not go on was drawn anew: it may not take the place of what was counted.
        if resumed is None or _goes_on(resumed, state):
            with Store(self._plugin.store) as store:
                store.keep_audit(f"{self._item.nodeid} #{settings.number}", state)
        alike = [each for each in self._kept(settings) if _alike(each, state)]
        this = [each for each in alike if each["audit"] == state["audit"]]
        others = [each for each in alike if each["audit"] != state["audit"]]
        refuted = (place for place, each in enumerate(others) if each.get("outcome") == "refuted")
        counted = this + others[: next(refuted, len(others))]
        return {
            "e_value": together(this, result.claim),
            "product": together(counted, result.claim),
            "versions": len(counted),
        }

    def _whole(self, identity: Callable[[float, int], Identity], failure_probability: float, seed: int) -> Identity:
        return self._with_sources(identity(failure_probability, seed))

    def _with_sources(self, identity: Identity) -> Identity:
        return {**identity, PROJECT: sources_of(self._item)} if identity else {}


def replayed(settings: Settings, stored: Mapping[str, Any], identity: Callable[[float, int], Identity]) -> Settings:
    """The settings of an audit that failed last."""
    now = dict(identity(settings.failure_probability, settings.seed))
    if stored["mode"] == "fixed" and now and same(now, stored["identity"]):
        return replace(
            settings,
            trials=stored["runs"],
            seed=stored["seed"],
            failure_probability=stored["failure_probability"],
            replayed="again",
        )
    trials = max(settings.trials, stored["runs"])
    return replace(settings, trials=trials, seed=fresh(settings.seed, stored), replayed="anew")


def same(now: Mapping[str, str], stored: Mapping[str, Any]) -> bool:
    """Whether the sources, the pair, the claim and the score are those of the failure."""
    return set(now) == set(stored) and all(
        stored[part] == now[part] for part in now if part not in ("seed", "failure probability")
    )


def fresh(seed: int, stored: Mapping[str, Any]) -> int:
    """A seed that has nothing to do with the one that failed."""
    return derived(f"{seed} anew after {stored['seed']} {sorted(stored['identity'].items())}")


def derived(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def told(item: pytest.Item, row: dict[str, Any]) -> None:
    """A row for the next report of its test, and its numbers as JUnit properties."""
    item.stash.setdefault(_ROWS, []).append(row)
    suffix = "" if row["number"] == 1 else f"_{row['number']}"
    numbers = {name: row["numbers"].get(name) for name in ("epsilon_lower", "detectable_epsilon")}
    said = {name: row[name] for name in ("outcome", "failure_probability", "witness")} | numbers
    item.user_properties.extend((f"dpcheck_{k}{suffix}", v) for k, v in said.items() if v is not None)


def rows_of(item: pytest.Item) -> list[dict[str, Any]]:
    """What was told since the last report."""
    rows = item.stash.get(_ROWS, [])
    item.stash[_ROWS] = []
    return rows


def _goes_on(resumed: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """Whether a state is of the audit that was resumed: its stages begin with those of that one."""
    before, now = resumed.get("stages"), state["stages"]
    pairs = zip(before, now, strict=False) if isinstance(before, list) else ()
    return bool(before) and all(isinstance(b, list) and b == n[: len(b)] for b, n in pairs)


def _alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two states are of versions of one audit."""
    first, second = one.get("audit"), other["audit"]
    same_audit = isinstance(first, dict) and all(first.get(part) == second[part] for part in ("pair", "claim", "score"))
    return same_audit and one.get("root") == other["root"]
