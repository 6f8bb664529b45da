"""Mutants of a toy root: what is watched, what is remembered, and that no trial notices what it should not."""

from __future__ import annotations

import dataclasses
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import toy_mutants
from edits import edit
from toy_mutants import Make, of, watched

from dpcheck.engine import catalogue
from dpcheck.engine.mutate import bugs, claims, gate, rules
from dpcheck.engine.mutate import trials as trials_module
from dpcheck.engine.mutate.mutation import NOTICED, Family, Mutation
from dpcheck.engine.mutate.table import Table, Watched
from dpcheck.engine.mutate.traces import traced
from dpcheck.engine.mutate.trials import KeptLines, Trials
from dpcheck.mutants import seeded


@pytest.fixture
def root(project: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield from toy_mutants.laid_out(project, tmp_path, monkeypatch)


def test_who_notices_and_by_what(root: Path) -> None:
    trials = watched(root)
    found = of(trials, "toy/lem-1")
    assert (found["÷ 2"].fate, found["÷ 2"].by) == ("measured", "toy/lem-1::measured"), "a measurement goes first"
    assert (found["× 2"].fate, found["× 2"].by) == ("transcribed", "toy/lem-1::typed_again"), "it guards typing alone"
    assert found["L ^ +1/2"].fate == "survived", "L is 1 in every case"
    assert {trial.fate for trial in of(trials, "toy/lem-3").values()} == {"unread"}, "nor does what fails anyway"


def test_only_what_may_notice_is_watched(root: Path) -> None:
    trials = watched(root)
    trials.narrow(claims.of_claim(trials.catalogue.claims["toy/lem-2"]))
    assert {id.partition("::")[2] for id in trials.checks} == {"reads_and_ignores", "within_reach", "breaks"}


def test_a_crash_of_ours_is_no_evidence(root: Path) -> None:
    found = of(watched(root), "toy/lem-2")
    assert (found["× 2"].fate, found["× 2"].by) == ("crashed", "toy/lem-3::breaks")
    assert (found["÷ 2"].fate, found["÷ 2"].by) == ("measured", "toy/lem-1::within_reach"), "whoever crashes beside it"


def test_rules(root: Path) -> None:
    trials = watched(root)
    reads = {id: trace.reads for id, trace in trials.traces.items()}
    assert rules.unbound(trials.catalogue, reads) == ["toy/lem-3::never_asks"]
    assert rules.unread(trials.catalogue, reads) == []
    assert rules.unread(trials.catalogue, {"toy/lem-1::measured": ("toy/lem-1",)}) == ["toy/lem-2", "toy/lem-3"]
    idle = rules.idle(trials, list(trials.catalogue.claims.values()))
    assert idle == {"toy/lem-2::reads_and_ignores": ("toy/lem-2",)}


@pytest.mark.parametrize("family", ["claim", "seeded"])
def test_of_a_claim_and_of_a_bug_its_own_checks_are_tried_whatever_the_others_cost(root: Path, family: Family) -> None:
    trials = watched(root)
    trials.limit = 1e-9
    (mutation, *_) = claims.of_claim(trials.catalogue.claims["toy/lem-1"])
    its_own = trials.concerned(dataclasses.replace(mutation, family=family))
    assert {check.name for check in its_own} == {"measured", "typed_again"}
    assert len(trials.concerned(dataclasses.replace(mutation, family="null"))) == 1


def test_the_cheapest_is_asked_first_and_second_typings_last(root: Path) -> None:
    trials = watched(root)
    (mutation, *_) = claims.of_claim(trials.catalogue.claims["toy/lem-1"])
    kinds = {"toy/lem-1::measured": "symbolic", "toy/lem-1::within_reach": "risk"}
    trials.checks |= {id: dataclasses.replace(trials.checks[id], kind=kind) for id, kind in kinds.items()}
    for dearest in kinds:
        for id in (*kinds, "toy/lem-1::typed_again"):
            of = {"reads": ("toy/lem-1",), "expected": True, "seconds": 1.0 + (id == dearest)}
            trials.traces[id] = dataclasses.replace(trials.traces[id], **of)
        cheap, dear = sorted(kinds, key=lambda id: id == dearest)
        assert [c.id for c in trials.concerned(mutation)] == [cheap, dear, "toy/lem-1::typed_again"]


def test_what_was_traced_without_lines_is_untraced_once_lines_are_asked_for(root: Path) -> None:
    trials = watched(root)
    trials.watched = False
    trials.trace()
    assert trials.traces
    trials.watched, trials._kept = True, KeptLines(None)
    trials.trace(until=0.0)
    assert not trials.traces, "or a mutant of a line would count as one that no check runs"


def test_a_trial_that_changes_nothing_survives(root: Path) -> None:
    trials = watched(root)
    idle = Mutation("claim", "toy/lem-1", "nothing", "as it is", lambda: None, reads=("toy/lem-1",))
    assert [trial.fate for trial in trials.run([idle])] == ["survived"]


def test_what_cannot_be_applied_is_not_noticed(root: Path) -> None:
    def fails() -> None:
        raise RuntimeError("no such line")

    trials = watched(root)
    (trial,) = trials.run([Mutation("claim", "toy/lem-1", "nothing", "broken", fails, reads=("toy/lem-1",))])
    assert trial.fate == "crashed"
    assert "no such line" in trial.reason


@pytest.mark.parametrize(
    ("name", "old", "new", "again"),
    [
        ("root/audits/cases.py", "SIZE = 25", "SIZE = 36", {"measured", "typed_again", "within_reach"}),
        ("root/bounds/toy.py", "3 * L", "3.5 * L", {"reads_and_ignores", "within_reach", "breaks"}),
        ("root/audits/toy.py", "1.9", "1.8", {"measured"}),
        ("root/audits/toy.py", '"it is small"', '"it is tiny"', {"reads_and_ignores"}),
        ("algorithms/toy_of_a_test.py", "def value", "\n\ndef value", {"measured", "within_reach"}),
        ("root/audits/toy.py", "    # unbound: it speaks of the sign alone\n", "", set()),
    ],
)
def test_an_edit_voids_what_depends_on_it_and_nothing_else(
    root: Path, tmp_path: Path, name: str, old: str, new: str, again: set[str]
) -> None:
    watched(root)
    edit(tmp_path / name, old, new)
    sys.modules.pop("dpcheck.algorithms.toy_of_a_test", None)
    importlib.invalidate_caches()
    found = catalogue.load(root)
    trials = Trials(found, list(found.checks.values()), kept=root / "kept.jsonl", folders=[root.parent / "algorithms"])
    ran: list[str] = []
    trials.trace(ran.append)
    assert {id.partition("::")[2] for id in ran} == again


def test_nothing_is_tried_twice_and_an_edited_claim_is(root: Path) -> None:
    trials = watched(root)
    before = of(trials, "toy/lem-1")
    trials._try = lambda *_: pytest.fail("tried again")  # type: ignore[method-assign, assignment]
    assert of(trials, "toy/lem-1") == before
    edit(root / "bounds" / "toy.py", "explicit=2 * L", "explicit=3 * L")
    after = of(watched(root), "toy/lem-1")
    assert after["÷ 2"].reason != before["÷ 2"].reason


def test_seeded_bugs(root: Path) -> None:
    trials = watched(root)
    module = importlib.import_module("dpcheck.algorithms.toy_of_a_test")

    @seeded("toy/lem-1", module, "value")
    def doubled(original: Callable[[int], float], size: int) -> float:
        """The value is doubled."""
        return 2 * original(size)

    @seeded("toy/lem-1", module, "value", lookalike=True)
    def turned(original: Callable[[int], float], size: int) -> float:
        """The root is taken of the quotient."""
        return float((1 / size) ** 0.5)

    @seeded("toy/lem-1", module, "value", lookalike=True)
    def longer(original: Callable[[int], float], size: int) -> float:
        """Another value, and one within reach."""
        return 1.2 * original(size)

    @seeded("toy/lem-1", module, "value", lookalike=True)
    def farther(original: Callable[[int], float], size: int) -> float:
        """One that is beyond it."""
        return 1.6 * original(size)

    @seeded("toy/lem-1", module, "unused")
    def unseen(original: Callable[[int], float], size: int) -> float:
        """Nobody calls it."""
        return original(size)

    known = list(bugs.of_bugs(iter([doubled, turned, longer, farther, unseen])))
    fates = {trial.operator: trial.fate for trial in trials.run(known)}
    alike = {"turned": "unflagged", "longer": "unflagged", "farther": "flagged"}
    assert fates == {"doubled": "measured", "unseen": "unread", **alike}
    assert module.value(4) == 0.5, "nothing is changed here"


LEMMAS = ("toy/lem-1", "toy/lem-2", "toy/lem-3")


def made(root: Path) -> tuple[Trials, Table, list[Mutation]]:
    """The catalogue as it is now, what a table of it said, which is made when there is none, and all wrong claims."""
    sys.modules.pop("dpcheck.algorithms.toy_of_a_test", None)
    importlib.invalidate_caches()
    found = catalogue.load(root)
    trials = Trials(found, list(found.checks.values()), folders=[root.parent / "algorithms"])
    every = [wrong for label in LEMMAS for wrong in claims.of_claim(found.claims[label])]
    path = root / "table.jsonl"
    if not path.is_file():
        first, table = Trials(found, list(found.checks.values()), folders=[root.parent / "algorithms"]), Table()
        first.trace()
        table.add(first.run(every))
        table.states = {("claim", label): first.states.of("claim", label) for label in LEMMAS}
        table.watched = {i: Watched(t.reads, first.states.of_check(i), t.seconds) for i, t in first.traces.items()}
        path.write_text(table.text())
    return trials, Table.read(path), every


def test_the_gate_tries_what_was_noticed_on_the_check_that_noticed_it(root: Path) -> None:
    trials, table, every = made(root)
    result = gate.passed(trials, table, every, size=3, seed=1, until=None)
    assert (len(result.drawn), len(result.changed), len(result.trials)) == (3, 0, 3)
    assert set(trials.traces) == {trial.by for trial in result.trials.values()}, "and nothing else was run"
    assert result.faults({}) == []
    assert {m.key for m in gate.passed(*made(root), size=3, seed=1, until=None).drawn} == {m.key for m in result.drawn}


def test_the_check_that_noticed_earlier_is_asked_first_whatever_it_costs(root: Path) -> None:
    trials, table, every = made(root)
    trials.trace()
    halved = next(m for m in every if (m.target, m.said) == ("toy/lem-1", "÷ 2"))
    assert gate.noticing(table)[halved.key] == "toy/lem-1::measured"
    for by in ("toy/lem-1::measured", "toy/lem-1::typed_again"):  # second typings stay last, whatever they noticed
        trials._kept = KeptLines(None)
        assert [t.by for t in trials.run([halved], earlier={halved.key: by})] == ["toy/lem-1::measured"]
    trials.traces["toy/lem-1::measured"] = dataclasses.replace(trials.traces["toy/lem-1::measured"], seconds=50.0)
    trials.limit, null = 1.0, dataclasses.replace(halved, family="null")
    assert [check.name for check in trials.concerned(null)] == ["typed_again"]
    assert [check.name for check in trials.concerned(null, "toy/lem-1::measured")] == ["measured", "typed_again"]


def test_what_is_likely_noticed_is_tried_on_the_check_that_is_likely_to(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials, table, every = made(root)
    seen = [trial for trial in table.all() if trial.by == "toy/lem-1::measured" and trial.fate in NOTICED]
    new, old = (m for m in every if m.key in {seen[0].key, seen[1].key})
    alike = dataclasses.replace(new, operator="other", lookalike=True)
    argued = dataclasses.replace(new, operator="another", argued="it is the same")
    table.trials["claim", "toy/lem-1"] = [trial for trial in seen if trial.key != new.key]
    named = gate.likely(table, [new, old, alike, argued])
    assert {key: trial.by for key, trial in named.items()} == dict.fromkeys([new.key, old.key, argued.key], seen[0].by)
    found = list(trials.again([new, old, alike, argued], named))
    assert {trial.key for trial in found} == {new.key, old.key}, "of its own trial, it stays the mutant that it is"
    assert set(trials.traces) == {seen[0].by}

    def never(jobs: Iterator[object], workers: int = 1) -> Iterator[object]:
        assert not list(jobs), "what is known is not tried again"
        yield from ()

    monkeypatch.setattr(trials_module, "forked", never)
    trials.trace = lambda until=None: None  # type: ignore[method-assign, assignment, misc]
    assert {trial.key for trial in trials.again([new, old], named)} == {new.key, old.key}


def test_the_gate_needs_wrong_formulas_of_what_is_drawn_and_of_what_was_edited(root: Path) -> None:
    trials, table, every = made(root)
    drawn = gate.passed(trials, table, every, size=1, seed=1, until=None).drawn
    needed = gate.claims(table, trials.states, LEMMAS, size=1, seed=1)
    assert {each.target for each in drawn} <= needed < set(LEMMAS)
    (left, *_) = sorted(set(LEMMAS) - needed)
    del table.states["claim", left]
    assert left in gate.claims(table, trials.states, LEMMAS, size=1, seed=1)


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("root/audits/toy.py", "left <= right", "left <= 9 * right", "were noticed before and are not now: claim"),
        ("root/bounds/toy.py", "explicit=3 * L", "explicit=300 * L", "of what is new or was edited, toy claim: "),
    ],
)
def test_the_gate_shuts(root: Path, tmp_path: Path, name: str, old: str, new: str, fault: str) -> None:
    """A check that sees no more, and a claim of which nothing is noticed."""
    made(root)
    edit(tmp_path / name, old, new)
    result = gate.passed(*made(root), size=50, seed=1, until=None)
    assert any(fault in each for each in result.faults({"toy": {"claim": {"noticed": 0.9}}})), result.said()


def test_a_check_that_fails_anyway_notices_nothing(root: Path) -> None:
    made(root)
    edit(root / "audits" / "toy.py", "* 1.9", "* 2.9")
    tried = gate.passed(*made(root), size=50, seed=1, until=None).trials
    assert {trial.by for trial in tried.values() if trial.target == "toy/lem-1"} == {"toy/lem-1::typed_again"}


def test_a_gate_that_tried_nothing_is_shut(root: Path) -> None:
    result = gate.passed(*made(root), size=5, seed=1, until=time.monotonic())
    assert "5 of 5 drawn did not come to an end" in result.faults({})[0]
    trials, _, every = made(root)
    empty = gate.passed(trials, Table(), every, size=5, seed=1, until=time.monotonic())
    assert "none was drawn" in empty.faults({})[0]
    assert f"none of {len(every)} mutants of what was edited was tried" in empty.faults({})[1]


@pytest.mark.parametrize(("left", "shut"), [(0, False), (1, False), (2, True)])
def test_a_slow_machine_may_leave_a_tenth(root: Path, left: int, shut: bool) -> None:
    trials, table, every = made(root)
    whole = gate.passed(trials, table, every, size=1, seed=1, until=None)
    (drawn,) = whole.drawn
    ten = [dataclasses.replace(drawn, said=f"{drawn.said} {i}") for i in range(10)]
    tried = {each.key: whole.trials[drawn.key] for each in ten[left:]}
    assert bool(gate.Passed(ten, (), tried).faults({})) == shut
    tried |= {each.key: dataclasses.replace(whole.trials[drawn.key], fate="timeout") for each in ten[:left]}
    assert bool(gate.Passed(ten, (), tried).faults({})) == shut, "whose check was stopped by the clock counts as left"


def test_an_edit_is_no_part_of_what_stands(root: Path) -> None:
    trials, table, _ = made(root)
    assert set(table.standing(trials.states).trials) == {("claim", label) for label in LEMMAS}
    edit(root / "bounds" / "toy.py", "explicit=5 * L", "explicit=6 * L")
    edit(root / "audits" / "toy.py", '"it is small"', '"it is tiny"')
    trials, table, _ = made(root)
    assert set(table.standing(trials.states).trials) == {("claim", "toy/lem-1")}, "lem-2 is read by an edited check"


def test_lines_are_of_their_function_and_nulls_of_their_module(root: Path) -> None:
    def states() -> list[str]:
        trials, _, _ = made(root)
        name = "dpcheck.algorithms.toy_of_a_test"
        return [trials.states.of("code", f"{name}:{function}") for function in ("value", "unused")]

    before, file = states(), root.parent / "algorithms" / "toy_of_a_test.py"
    edit(file, "def value", "# a comment\n\ndef value")
    assert states() == before, "a comment changes nothing"
    edit(file, "size + 1", "size + 2")
    assert [a == b for a, b in zip(states(), before, strict=True)] == [True, False]
    assert made(root)[0].states.of("code", "dpcheck.algorithms.nowhere:f") == ""


def test_a_check_that_takes_too_long_is_stopped_and_noted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Clocks of two kinds: it may seem to have been stopped a little before its limit.
    monkeypatch.setattr(trials_module, "traced", lambda *a, **k: dataclasses.replace(traced(*a, **k), seconds=0.9))
    endless = (
        "    while SIZE:\n        dp.claim('toy/lem-2').evaluate(L=1.0)\n    return holds('it is small', 'exact')\n"
    )
    edit(root / "audits" / "toy.py", '    return holds("it is small", "exact")\n', endless)
    found = catalogue.load(root)

    def begun() -> Trials:
        folders, kept = [root.parent / "algorithms"], root / "mutants.jsonl"
        return Trials(found, list(found.checks.values()), folders=folders, limit=1.0, kept=kept)

    trials = begun()
    trials.trace()
    dear = [id for id, trace in trials.traces.items() if trace.dear]
    assert dear == ["toy/lem-2::reads_and_ignores"]
    assert trials.traces[dear[0]].reads == ("toy/lem-2",)
    assert dear[0] not in [
        check.id for check in trials.concerned(claims.scaled(trials.catalogue.claims["toy/lem-2"], 2))
    ]
    ran: list[str] = []
    begun().trace(ran.append)
    assert ran == [], "what is known to take longer is not stopped a second time"
