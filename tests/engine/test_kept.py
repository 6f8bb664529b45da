"""What a command found out of the sources serves the next one, until a source is edited."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dpcheck.engine import catalogue, fetching, layout, memo
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.kept import Kept

Make = Callable[..., Path]
LABEL = "toy/thm-1"
BESIDE = """
from .toy import TOY

label = "toy/thm-1"
other = TOY.claim("toy/thm-" + "5", "Theorem 5", "A label that is put together may be any.", kind="theorem")
"""


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memo.FOLDER, str(tmp_path / "cache"))


def asked(root: Path) -> tuple[Catalogue, set[str]]:
    """A catalogue of which one statement was asked, and the files of bounds that were imported for that."""
    here = layout.find(root)
    found = fetching.lazily(here, kept=Kept(here))
    found.select([LABEL])
    found.fingerprints([check.id for check in found.checks_of(LABEL)])
    found.keep()
    return found, {path.name for name, (path, _) in found._places.items() if "::" not in name}


def test_the_next_command_imports_only_what_holds_the_label(project: Make) -> None:
    root = project({"bounds/zz.py": BESIDE})
    assert asked(root)[1] == {"toy.py", "zz.py"}
    found, files = asked(root)
    assert files == {"toy.py"}
    assert [claim.label for claim in found.readings(LABEL)] == ["toy/thm-1", "toy/thm-1@corrected"]


def test_everything_is_still_found(project: Make) -> None:
    root = project({"bounds/zz.py": BESIDE})
    asked(root)
    found = asked(root)[0]
    assert set(found.claims) == set(catalogue.load(root).claims)
    assert set(found.checks) == set(catalogue.load(root).checks)


def test_fingerprints_are_those_of_the_sources(project: Make) -> None:
    root = project()
    computed = catalogue.load(root).fingerprints()
    for _ in range(2):
        found = asked(root)[0]
        ids = [check.id for check in found.checks_of(LABEL)]
        assert ids
        assert found.fingerprints(ids) == {id: computed[id] for id in ids}


def test_what_conformed_is_looked_at_again_after_an_edit(project: Make) -> None:
    root = project()
    path = root / "audits" / "toy.py"
    more = '\n@check("toy/thm-1", "symbolic", also=("toy/thm-7",))\ndef lost(context):\n    raise NotImplementedError\n'
    for text in ("", more):
        path.write_text(path.read_text() + text)
        for _ in range(2):
            found = asked(root)[0]
            found.conform(found.select([LABEL]))
            found.keep()
            assert any("toy/thm-7" in str(error) for error in found.errors) == bool(text)


def test_an_edit_is_seen(project: Make) -> None:
    root = project()
    before = asked(root)[0].fingerprints([f"{LABEL}::within_the_bound"])
    path = root / "audits" / "toy.py"
    path.write_text(path.read_text() + "\nEDITED = True\n")
    assert asked(root)[0].fingerprints([f"{LABEL}::within_the_bound"]) != before
    moved = root / "bounds" / "aa.py"
    moved.write_text((root / "bounds" / "toy.py").read_text())
    (root / "bounds" / "toy.py").unlink()
    assert asked(root)[1] == {"aa.py"}


def test_what_was_edited_while_a_command_ran_is_not_kept(project: Make) -> None:
    root = project()
    kept = Kept(layout.find(root))
    kept.put("answer", 42)
    assert kept.get("answer") == 42
    path = root / "audits" / "toy.py"
    before = path.read_text()
    kept.write()
    assert Kept(layout.find(root)).get("answer") == 42
    kept.put("answer", 43)
    path.write_text(before + "\nEDITED = True\n")
    kept.write()
    path.write_text(before)
    assert Kept(layout.find(root)).get("answer") == 42


def test_files_with_errors_are_not_remembered(project: Make) -> None:
    root = project({"bounds/zz.py": BESIDE + "\n1 / 0\n"})
    for _ in range(2):
        found = asked(root)[0]
        assert ["ZeroDivisionError" in str(error) for error in found.errors] == [True]
