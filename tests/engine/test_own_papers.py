"""Papers of one's own: which folders are papers, what is collected of them, and what stands in the way."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import dpcheck as dp
from dpcheck.checks import Context
from dpcheck.engine import catalogue, fetching, hypotheses, layout, own, papers
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.judge import RuleBroken, conclude
from dpcheck.engine.mutate import choice
from dpcheck.engine.mutate.mutation import Trial
from dpcheck.engine.mutate.states import States
from dpcheck.errors import UnknownLabel, WitnessRejected
from dpcheck.isolation import Isolated
from dpcheck.verdicts import Outcome, Verdict, Witness

Make = Callable[..., Path]
TARGETS = {"claim": "mine/thm-1", "null": "mine/alg-1"}
BOUNDS = """
from dpcheck.claims import Paper

MINE = Paper(key="mine", title="My paper", authors="M. E.", reference="2026")
private = MINE.claim("mine/thm-1", "Theorem 1", "It is private.", kind="theorem", about=("mine/alg-1",))
"""
ALGORITHM = """
from dataclasses import dataclass
from dpcheck.interfaces import Algorithm, Schedule

@dataclass(frozen=True)
class Still(Algorithm):
    label = "mine/alg-1"

    def schedule(self, problem, n):
        return Schedule(phases=({"n": n},), releases=(), gradients=0, floats_per_trial=1, claimed=problem.privacy)

    def execute(self, run, workload, data, start):
        return start
"""
AUDITS = """
import dpcheck as dp
from dpcheck.checks import check
from dpcheck.verdicts import holds
from ..algorithms.still import Still

@check("mine/thm-1", "symbolic")
def known(context):
    assert dp.algorithm("mine/alg-1") == Still()
    return holds("the algorithm is known by its label and by its module", "exact")
"""
MUTANT = """
from dpcheck.mutants import Kill, Mutant

bug = Mutant(name="mine-bug", about="mine/alg-1", bug="It moves.",
             kill=lambda context: Kill(killed=True, by="hand", samples=0, claim="1-DP"))
"""
VERIFIER = """
import mpmath
from dpcheck.witnesses import Violation

__all__ = ["twice"]

def twice(*, x):
    return Violation(mpmath.mpf(1), mpmath.mpf(2 * x), "at most 1", 2 * x > 1, "mine/thm-1")
"""
PAPER = {
    "bounds/mine.py": BOUNDS,
    "algorithms/still.py": ALGORITHM,
    "audits/mine.py": AUDITS,
    "audits/mutants.py": MUTANT,
    "audits/witnesses.py": VERIFIER,
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return folder


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return write(tmp_path / "project" / "mine", PAPER)


def messages(found: Catalogue) -> list[str]:
    return [str(error) for error in found.errors]


class TestWhichFolders:
    def test_a_paper_is_named_by_itself_its_parts_and_what_holds_it(self, mine: Path, tmp_path: Path) -> None:
        for path in (
            mine,
            mine / "audits",
            mine / "audits" / "mine.py",
            mine / "audits" / "mutants.py",
            mine.parent,
            tmp_path,
        ):
            assert papers.at(path) == [mine]
        assert papers.at(tmp_path / "nothing") == []

    @pytest.mark.parametrize("part", ["algorithms", "bounds", "audits"])
    def test_one_part_will_do(self, tmp_path: Path, part: str) -> None:
        (tmp_path / part).mkdir()
        assert papers.is_paper(tmp_path)

    def test_mutants_alone_are_no_paper(self, tmp_path: Path) -> None:
        write(tmp_path, {"mutants.py": MUTANT})
        assert not papers.is_paper(tmp_path)
        assert papers.at(tmp_path / "mutants.py") == []


class TestCollection:
    def test_everything_of_it(self, project: Make, mine: Path) -> None:
        found = catalogue.load(project(), paths=[mine], with_mutants=True)
        assert not found.errors
        assert "mine/thm-1" in found.claims
        assert "mine/alg-1" in found.algorithms
        assert "mine-bug" in found.mutants
        assert found.own.verifiers == {"mine": (mine / "audits" / "witnesses.py",)}
        assert {home.kind for home in found.homes("mine/thm-1")} == {"algorithm", "bound", "audit"}
        assert {home.kind for home in found.homes("mine/alg-1")} == {"algorithm", "mutant"}

    def test_a_part_of_it_brings_the_rest(self, project: Make, mine: Path) -> None:
        found = catalogue.load(project(), paths=[mine / "audits" / "mine.py"])
        assert not found.errors
        assert "mine/alg-1" in found.own.algorithms

    def test_bounds_only_and_algorithms_only(self, project: Make, tmp_path: Path) -> None:
        bounds = write(tmp_path / "one", {"bounds/mine.py": BOUNDS})
        code = write(tmp_path / "two", {"algorithms/still.py": ALGORITHM})
        found = catalogue.load(project(), paths=[bounds, code])
        assert not found.errors
        assert found.claims["mine/thm-1"].paper.title == "My paper"
        assert list(found.own.algorithms) == ["mine/alg-1"]

    def test_its_code_is_its_own_helpers_included(self, project: Make, mine: Path) -> None:
        """What is changed in it counts for the paper, and not for what all papers share."""
        write(mine, {"algorithms/_sums.py": "def half(x):\n    return x / 2\n"})
        found = catalogue.load(project(), paths=[mine])
        made = choice.mutations(found, ["mine"], ["code"])
        assert {(mutation.paper, mutation.where.partition(":")[0]) for mutation in made} == {
            ("mine", "still.py"),
            ("mine", "_sums.py"),
        }

    def test_what_is_mutated_of_it_and_by_which_checks(self, project: Make, mine: Path) -> None:
        found = catalogue.load(project(), paths=[mine])
        every = choice.mutations(found, ["mine/thm-1"], ["claim", "code", "null"])
        nulls = [mutation for mutation in every if mutation.family == "null"]
        assert {mutation.target for mutation in nulls} == {"mine/alg-1"}  # of which the statement speaks
        assert choice.sample(every, 0, seed=3) == nulls
        mixed = choice.shuffled(every, 3)
        assert mixed == choice.shuffled(every, 3) != every
        assert sorted(each.key for each in mixed) == sorted(each.key for each in every)
        assert {check.id for check in choice.checks_for(found, ["mine/thm-1"])} == {"mine/thm-1::known"}
        assert choice.checks_for(found, ()) == list(found.checks.values())
        assert choice.folders(found) == [mine]
        tried = [Trial("key", "null", "mine", "mine/alg-1", "the start", "", "survived")]
        (sampled,) = choice.samples(every, tried, ["mine"], 3, "smoke")
        assert (sampled.family, sampled.drawn, sampled.of, sampled.seed) == ("null", 1, len(nulls), None)
        assert choice.mutations(found, ["mine/alg-1"], ["null"])
        for name in ("mine/thm-9", "mine/thm-1@guess", "mime"):
            with pytest.raises(UnknownLabel, match=name):
                choice.mutations(found, [name])

    def test_a_state_changes_with_what_is_mutated_and_with_nothing_else(self, project: Make, mine: Path) -> None:
        def states() -> dict[str, str]:
            now = States(catalogue.load(project(), paths=[mine]))
            return {family: now.of(family, target) for family, target in TARGETS.items()}

        before = states()
        assert all(state.startswith("#") for state in before.values())
        gone = States(catalogue.load(project(), paths=[mine]))
        assert {gone.of("claim", "mine/thm-9"), gone.of("null", "mine/alg-9"), gone.of_check("mine/thm-9::x")} == {""}
        assert {gone.of("seeded", "mine/thm-1"), gone.of("code", "no_such_module_here:f")} == {""}
        write(mine, {"algorithms/still.py": ALGORITHM.replace("return start", "return 2 * start")})
        after = states()
        assert {family for family in TARGETS if before[family] != after[family]} == {"null"}

    def test_as_a_root(self, mine: Path) -> None:
        found = catalogue.load(mine, with_mutants=True)
        assert not found.errors
        assert set(found.papers) == {"mine"}
        assert "mine-bug" in found.mutants

    def test_lazily_it_is_there_at_once_and_the_rest_when_it_is_asked_for(self, project: Make, mine: Path) -> None:
        root, broken = project({"bounds/broken.py": "x = 1 / 0\n"}), "broken.py:1: does not import"
        lazy = fetching.lazily(layout.find(root), [mine])
        assert lazy.claim("mine/thm-1").paper.title == "My paper"
        assert [check.id for check in lazy.select(["mine/thm-1"])] == ["mine/thm-1::known"]
        assert "mine/alg-1" in lazy.own.algorithms
        assert lazy.claim("toy/thm-1").paper.key == "toy"
        assert messages(lazy) == []
        whole = catalogue.load(root, paths=[mine])
        for table in ("papers", "claims", "checks"):
            assert list(getattr(lazy, table)) == list(getattr(whole, table))
        assert [broken in said for said in messages(lazy)] == [True]
        assert messages(lazy) == messages(whole)
        assert lazy.fingerprints() == whole.fingerprints()

    def test_lazily_what_is_amiss_with_it_is_said_from_first_to_last(self, project: Make, mine: Path) -> None:
        write(mine, {"algorithms/broken.py": "x = 1\ny = 1 / 0\n"})
        lazy = fetching.lazily(layout.find(project()), [mine])
        (first,) = messages(lazy)
        assert "broken.py:2: does not import: ZeroDivisionError" in first
        assert len(lazy.claims) > 1
        assert messages(lazy) == [first]

    def test_lazily_it_survives_another_load(self, project: Make, mine: Path) -> None:
        root = project()
        lazy = fetching.lazily(layout.find(root), [mine])
        lazy.claim("toy/thm-1")
        catalogue.load(root)
        assert {check.id for check in lazy.checks_of("toy/lem-2")} == {"toy/lem-2::sampled"}
        assert lazy.claim("mine/thm-1").paper.title == "My paper"
        assert messages(lazy) == []

    def test_a_broken_file_is_named_and_the_rest_is_usable(self, project: Make, mine: Path) -> None:
        write(mine, {"algorithms/broken.py": "x = 1\ny = 1 / 0\n", "bounds/worse.py": "def\n"})
        found = catalogue.load(project(), paths=[mine])
        said = sorted(messages(found))
        assert len(said) == 2
        assert "broken.py:2: does not import: ZeroDivisionError" in said[0]
        assert "worse.py:1: does not import: SyntaxError" in said[1]
        assert "mine/alg-1" in found.own.algorithms
        assert "mine/thm-1" in found.claims

    def test_two_papers_of_one_key(self, project: Make, mine: Path, tmp_path: Path) -> None:
        other = write(
            tmp_path / "other", {"bounds/b.py": BOUNDS.replace("My paper", "Another"), "audits/a.py": "x = 1"}
        )
        found = catalogue.load(project(), paths=[mine, other])
        (said,) = messages(found)
        assert "the key 'mine', as 'My paper' has already" in said
        assert str(other) in said

    def test_the_key_of_a_paper_of_the_root(self, project: Make, tmp_path: Path) -> None:
        taken = write(tmp_path / "own", {"bounds/b.py": BOUNDS.replace("mine", "toy")})
        found = catalogue.load(project(), paths=[taken])
        assert "the key 'toy', as 'A toy paper' has already" in messages(found)[0]
        assert found.papers["toy"].title == "A toy paper"

        lazy = fetching.lazily(layout.find(project()), [taken])
        assert "the key 'toy', as 'A toy paper' has already" in messages(lazy)[0]

    def test_the_label_of_an_algorithm_of_dpcheck(self, project: Make, tmp_path: Path) -> None:
        taken = write(tmp_path / "own", {"algorithms/a.py": ALGORITHM.replace("mine/alg-1", "lp_spaces/alg-1")})
        found = catalogue.load(project(), paths=[taken])
        assert "lp_spaces/alg-1 is an algorithm of dpcheck.algorithms.lp_spaces" in messages(found)[0]
        assert found.own.algorithms == {}

    def test_a_malformed_label(self, project: Make, tmp_path: Path) -> None:
        wrong = write(tmp_path / "own", {"algorithms/a.py": ALGORITHM.replace("mine/alg-1", "Alg 1")})
        assert "malformed label 'Alg 1'" in messages(catalogue.load(project(), paths=[wrong]))[0]

    def test_verifiers_of_a_name_of_dpcheck(self, project: Make, mine: Path) -> None:
        write(mine, {"audits/sampled/witnesses.py": VERIFIER})
        assert "verifiers of sampled stand elsewhere already" in messages(catalogue.load(project(), paths=[mine]))[0]

    def test_outside_of_a_catalogue_its_algorithms_are_unknown(self, project: Make, mine: Path) -> None:
        catalogue.load(project(), paths=[mine])
        with pytest.raises(UnknownLabel):
            dp.algorithm("mine/alg-1")

    def test_in_its_own_root_they_are_known(self, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(mine, {"pyproject.toml": "[tool.dpcheck]\n"})
        monkeypatch.chdir(mine)
        assert dp.algorithm("mine/alg-1").label == "mine/alg-1"
        assert "mine/alg-1" in catalogue.algorithms()


class TestFreshness:
    @pytest.mark.parametrize("part", ["algorithms/still.py", "audits/mine.py"])
    def test_an_edited_part_makes_results_stale(self, project: Make, mine: Path, part: str) -> None:
        root = project()
        before = catalogue.load(root, paths=[mine]).fingerprints()["mine/thm-1::known"]
        path = mine / part
        path.write_text(path.read_text() + "\nnothing = 0\n")
        assert catalogue.load(root, paths=[mine]).fingerprints()["mine/thm-1::known"] != before

    def test_an_algorithm_asked_for_by_its_label_counts(self, project: Make, mine: Path) -> None:
        audit = AUDITS.replace("from ..algorithms.still import Still\n", "").replace(" == Still()", "")
        root, path = project(), mine / "algorithms" / "still.py"
        write(mine, {"audits/mine.py": audit})
        before = catalogue.load(root, paths=[mine]).fingerprints()["mine/thm-1::known"]
        path.write_text(path.read_text() + "\nnothing = 0\n")
        assert catalogue.load(root, paths=[mine]).fingerprints()["mine/thm-1::known"] != before


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """`installed("mine")` lays the paper out as an installer does: a package and its entry point, on the path."""

    def make(key: str = "mine", module: str = "mine", files: dict[str, str] = PAPER) -> Path:
        site = tmp_path / f"site-{key}"
        folder = write(site / "mine", files)
        info = {"METADATA": f"Name: {key}\nVersion: 1\n", "entry_points.txt": f"[dpcheck.papers]\n{key} = {module}\n"}
        write(site / f"{key}-1.dist-info", info)
        monkeypatch.syspath_prepend(str(site))
        return folder

    return make


class TestInstalled:
    def test_is_known_and_neither_run_nor_reported_unless_named(
        self, project: Make, installed: Callable[..., Path]
    ) -> None:
        folder = installed()
        found = catalogue.load(project())
        assert not found.errors
        assert found.layout.installed == (("mine", folder),)
        assert found.guests == {"mine"}
        assert not [check for check in found.select(()) if check.label.startswith("mine/")]
        assert [check.id for check in found.select(["mine"])] == ["mine/thm-1::known"]
        assert found.reached("mine/thm-1") == found.layout.reached

    def test_a_folder_that_is_named_takes_its_place(
        self, project: Make, installed: Callable[..., Path], mine: Path
    ) -> None:
        installed()
        found = catalogue.load(project(), paths=[mine])
        assert not found.errors
        assert list(found.own.folders) == [mine]
        assert not found.guests

    def test_a_name_that_is_not_its_key(self, project: Make, installed: Callable[..., Path]) -> None:
        installed("yours")
        (said,) = messages(catalogue.load(project()))
        assert "the installed paper 'yours' is not in" in said
        assert "it holds mine" in said

    def test_a_package_that_is_gone(self, project: Make, installed: Callable[..., Path]) -> None:
        installed("mine", "nowhere_to_be_found")
        assert not catalogue.load(project()).errors

    def test_the_key_of_a_paper_of_the_root(self, project: Make, installed: Callable[..., Path]) -> None:
        installed("toy", files={"bounds/b.py": BOUNDS.replace("mine", "toy")})
        found = catalogue.load(project())
        assert "the key 'toy', as 'A toy paper' has already" in messages(found)[0]
        assert "toy" not in found.guests

    def test_its_algorithms_are_known_anywhere(
        self, installed: Callable[..., Path], project: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        installed()
        monkeypatch.chdir(project())
        assert dp.algorithm("mine/alg-1").label == "mine/alg-1"


class TestWitnesses:
    WITNESS = Witness(label="mine/thm-1", kind="mine.twice", parameters={"x": 3}, claimed="1", found="6")

    def test_verified_here_and_in_a_process_of_its_own(self, project: Make, mine: Path) -> None:
        found = catalogue.load(project(), paths=[mine])
        with own.in_force(found.own), Isolated() as child:
            assert dp.verify(self.WITNESS).violated
            assert child.verify(self.WITNESS).violated
            with pytest.raises(WitnessRejected, match="no violation"):
                dp.verify(Witness(label="mine/thm-1", kind="mine.twice", parameters={"x": 0}, claimed="1", found="0"))

    def test_unknown_elsewhere(self) -> None:
        with pytest.raises(WitnessRejected, match="does --also have to name the folder"):
            dp.verify(self.WITNESS)

    def test_only_what_the_file_exports(self, mine: Path, project: Make) -> None:
        found = catalogue.load(project(), paths=[mine])
        kind = Witness(label="mine/thm-1", kind="mine.Violation", parameters={}, claimed="1", found="6")
        with own.in_force(found.own), pytest.raises(WitnessRejected, match="no verifier"):
            dp.verify(kind)

    def test_a_file_that_does_not_import(self, mine: Path, project: Make) -> None:
        write(mine, {"audits/witnesses.py": "1 / 0"})
        found = catalogue.load(project(), paths=[mine])
        with own.in_force(found.own), pytest.raises(WitnessRejected, match="does not import: ZeroDivisionError"):
            dp.verify(self.WITNESS)

    def test_its_claim_is_found(self, mine: Path, project: Make) -> None:
        held = hypotheses.of_label(layout.find(project()), "mine/thm-1", [mine])
        assert held is not None
        assert held.claim.title == "Theorem 1"
        assert not held.private


LEAK = """
import dpcheck as dp
from dpcheck.checks import check
from dpcheck.claims import Paper

MINE = Paper(key="leak", title="A leak", authors="M. E.", reference="2026")
private = MINE.claim("leak/thm-1", "Theorem 1", "It is 1-DP.", kind="theorem")
DATA, NEIGHBOUR = dp.testing.worst_pairs(n=20, low=0.0, high=1.0)

def mechanism(data, rng, trials):
    return data.mean() + rng.laplace(scale=0.5 / len(data), size=trials)

@check("leak/thm-1", "privacy", grid={"cell": [1, 2]})
def by_context(context, cell):
    return context.audit(mechanism, DATA, NEIGHBOUR, dp.PureDP(1.0), trials=4_000)

@check("leak/thm-1", "privacy", expect="undecided")
def too_weak(context):
    private = lambda data, rng, trials: data.mean() + rng.laplace(scale=1 / len(data), size=trials)
    return context.audit(private, DATA, NEIGHBOUR, dp.PureDP(1.0), trials=400, must_detect=1.1)

@check("leak/thm-1", "privacy")
def by_hand(context):
    return dp.audit(mechanism, DATA, NEIGHBOUR, dp.PureDP(1.0), trials=4_000, failure_probability=1e-7).verdict()
"""


class TestAuditsOfOnesOwn:
    @pytest.fixture
    def found(self, project: Make, tmp_path: Path) -> Catalogue:
        return catalogue.load(project(), paths=[write(tmp_path / "own", {"audits/leak.py": LEAK})])

    def test_an_audit_that_could_not_have_detected_what_was_asked_is_undecided(self, found: Catalogue) -> None:
        verdict = found.checks["leak/thm-1::too_weak"].measure({}, "smoke", 0)
        assert isinstance(verdict, Verdict)
        assert verdict.outcome is Outcome.UNDECIDED
        assert verdict.reason.startswith("nothing is shown at ε = 1.1: ")

    def test_a_leak_ends_in_refuted_with_its_witness(self, found: Catalogue) -> None:
        check = found.checks["leak/thm-1::by_context"]
        cells = [(cell, check.measure(cell, "smoke", 0)) for cell in check.cells("smoke")]
        verdict = conclude(check, cells, found.claims["leak/thm-1"])
        assert verdict.outcome is Outcome.REFUTED
        assert verdict.witness is not None
        assert verdict.witness.label == "leak/thm-1"
        assert verdict.failure_probability <= check.failure_probability
        seeds = {measured.witness.parameters["seed"] for _, measured in cells}  # type: ignore[union-attr]
        assert len(seeds) == 2

    def test_dp_audit_in_its_place_is_told_the_cure(self, found: Catalogue) -> None:
        check = found.checks["leak/thm-1::by_hand"]
        with pytest.raises(RuleBroken, match=r"audit/mechanism.*audit by `context\.audit`, which names it"):
            conclude(check, [({}, check.measure({}, "smoke", 0))], found.claims["leak/thm-1"])

    def test_such_a_check_depends_on_the_auditor(self, found: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
        from dpcheck.engine import sources

        reached: list[Path] = []
        whole = sources.Snapshot.parts

        def noting(self: sources.Snapshot, files: frozenset[Path], folder: Path) -> list[tuple[str, str]]:
            reached.extend(files)
            return whole(self, files, folder)

        monkeypatch.setattr(sources.Snapshot, "parts", noting)
        found.fingerprint(found.checks["leak/thm-1::by_context"])
        assert any(path.match("dpcheck/auditing/audit.py") for path in reached)

    def test_a_problem_of_a_workload(self) -> None:
        from dpcheck.workloads import HeavyMean

        work = HeavyMean()
        problem = Context("leak/thm-1", "x", {}).problem(work, dp.PureDP(0.5), failure_probability=0.1)
        assert problem.constants.d == 1
        assert (problem.privacy, problem.failure_probability) == (dp.PureDP(0.5), 0.1)
