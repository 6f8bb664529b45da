"""Fingerprints: what a result depends on changes them, what it does not leaves them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from edits import edit

import dpcheck
from dpcheck.engine import catalogue, sources

Make = Callable[..., Path]

ASKING = """
    import dpcheck as dp
    from ._shared import VALUE

    @dp.check("toy/lem-2", kind="symbolic")
    def asks(context):
        bound = dp.claim("toy/thm-1").order
        return dp.Verdict(outcome=dp.Outcome.HOLDS, reason=f"{bound} {VALUE}", evidence="symbolic")
"""


def edited(root: Path, path: str, old: str, new: str) -> set[str]:
    """The checks whose fingerprint changes with an edit."""
    before = catalogue.load(root).fingerprints()
    edit(root / path, old, new)
    after = catalogue.load(root).fingerprints()
    return {id for id in before if before[id] != after[id]}


@pytest.fixture
def root(project: Make) -> Path:
    return project({"audits/asks.py": ASKING, "audits/_shared.py": "VALUE = 1\n"})


def test_own_file(root: Path) -> None:
    changed = edited(root, "audits/toy.py", "rng.random(trials) < 0.5", "rng.random(trials) < 0.6")
    assert changed == {"toy/thm-1::within_the_bound", "toy/lem-2::sampled"}


def test_helper(root: Path) -> None:
    assert edited(root, "audits/_shared.py", "VALUE = 1", "VALUE = 2") == {"toy/lem-2::asks"}


def test_prose_keeps_results(root: Path) -> None:
    assert not edited(root, "audits/toy.py", "The mean of n uniforms is small.", "Otherwise put.\n    On two lines.")
    assert not edited(root, "audits/toy.py", "    hits = 0\n", "    # why\n\n    hits = 0  # a comment\n")
    assert not edited(root, "bounds/toy.py", "The excess risk is at most LD/√n.", "At most LD/√n.")


def test_a_bound_invalidates_those_who_name_the_claim(root: Path) -> None:
    changed = edited(root, "bounds/toy.py", "order=L * D / sp.sqrt(n)", "order=L * D / n")
    assert changed == {"toy/thm-1::within_the_bound", "toy/lem-2::asks"}


def test_a_derivation_invalidates_those_who_execute_it(project: Make) -> None:
    derivation = """
        from dpcheck.derivations import derivation
        from dpcheck.symbols import n

        @derivation("toy/thm-1")
        def steps(proof):
            \"\"\"One step.\"\"\"
            proof.equal("true", n, n)
    """
    check = """
        from dpcheck.checks import check
        from dpcheck.engine.catalogue import derived

        @check("toy/thm-1@corrected", kind="symbolic")
        def executes(context):
            return derived(context.label).verdict()
    """
    root = project({"bounds/steps.py": derivation, "audits/executes.py": check})
    assert edited(root, "bounds/steps.py", 'proof.equal("true", n, n)', 'proof.equal("true", n, n * 1)') == {
        "toy/thm-1@corrected::executes",
        "toy/thm-1::derivation",
    }
    assert not edited(root, "bounds/steps.py", "One step.", "A single step.")


def test_the_folder_does_not_matter(project: Make) -> None:
    first, second = (catalogue.load(project(name=name)).fingerprints() for name in ("one", "two"))
    assert first == second


@pytest.mark.parametrize(
    ("text", "expected", "absent"),
    [
        (
            "from dpcheck.running import Run",
            {"running", "schedules", "problems", "privacy", "seeds", "errors"},
            {"claims"},
        ),
        ("import dpcheck.interfaces", {"running", "interfaces"}, set()),
        ("import dpcheck as dp\ndp.PureDP(1.0)", {"privacy", "errors"}, {"claims", "checks", "verdicts"}),
        ("from dpcheck import PureDP", {"privacy"}, {"claims"}),
        ("def late():\n    from dpcheck import symbols", {"symbols"}, {"privacy"}),
        ("import dpcheck as dp\ndp.claim('toy/thm-1')", set(), {"engine/catalogue", "engine/sources"}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dpcheck import claims", set(), {"claims"}),
    ],
)
def test_reach(tmp_path: Path, text: str, expected: set[str], absent: set[str]) -> None:
    """Which dpcheck modules a file drags in."""
    path = tmp_path / "file.py"
    path.write_text(text)
    reached = sources.Snapshot().closure(path)
    base = Path(dpcheck.__file__).parent
    names = {file.relative_to(base).with_suffix("").as_posix() for file in reached if file.is_relative_to(base)}
    assert expected <= names
    assert not absent & names


def test_algorithms_asked_for_by_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "dpcheck"
    (package / "algorithms" / "toy").mkdir(parents=True)
    (package / "algorithms" / "__init__.py").write_text("")
    (package / "algorithms" / "toy" / "__init__.py").write_text("from dpcheck.algorithms.toy.first import A\n")
    (package / "algorithms" / "toy" / "first.py").write_text("A = 1\n")
    monkeypatch.setattr(sources, "PACKAGE", package)
    file = tmp_path / "audit.py"
    file.write_text("import dpcheck as dp\nLABEL = 'toy/alg-1@corrected'\ndp.algorithm(LABEL)\n")
    first = sources.fingerprint(file, {})
    (package / "algorithms" / "toy" / "first.py").write_text("A = 22\n")
    assert sources.fingerprint(file, {}) != first
    (tmp_path / "_shared.py").write_text("from dpcheck import algorithm\n")
    file.write_text("from ._shared import algorithm\nalgorithm('toy/alg-1')\n")
    asked_through_a_helper = sources.fingerprint(file, {})
    (package / "algorithms" / "toy" / "first.py").write_text("A = 4444\n")
    assert sources.fingerprint(file, {}) != asked_through_a_helper
    file.write_text("LABEL = 'toy/alg-1@corrected'\n")
    unasked = sources.fingerprint(file, {})
    (package / "algorithms" / "toy" / "first.py").write_text("A = 333\n")
    assert sources.fingerprint(file, {}) == unasked


def test_seeded_bugs_asked_for(tmp_path: Path) -> None:
    bug, helper, file = (tmp_path / name for name in ("bug.py", "_laws.py", "audit.py"))
    bug.write_text("from ._laws import A\n")
    helper.write_text("A = 1\n")
    file.write_text("from dpcheck.engine.catalogue import seeded_bugs\n")
    asked = sources.fingerprint(file, {}, bugs=[bug])
    assert sources.fingerprint(file, {}) != asked
    helper.write_text("A = 22\n")
    assert sources.fingerprint(file, {}, bugs=[bug]) != asked
    file.write_text("from dpcheck.engine.catalogue import claim\n")
    assert sources.fingerprint(file, {}, bugs=[bug]) == sources.fingerprint(file, {})


def test_packaged_content_has_the_same_fingerprint(
    project: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Content that a wheel carries inside the package counts as content, with the fingerprint of the checkout."""
    before = catalogue.load(project()).fingerprints()
    package = tmp_path / "site" / "dpcheck"
    shutil.copytree(Path(dpcheck.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("bounds", "audits"):
        shutil.copytree(project() / folder, package / "_content" / folder)
    monkeypatch.setattr(sources, "PACKAGE", package)
    assert catalogue.load(package / "_content").fingerprints() == before
