"""What comes with the package: found wherever it lies, while its sources are as they were, and by nobody else."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from edits import edit

from dpcheck.carried import PACKAGE
from dpcheck.cli import main
from dpcheck.engine import index, kept, layout, memo, sources
from dpcheck.engine.places import FileNames

Make = Callable[..., Path]
NAMES = ("facts", "index", "verified", "transcript", "kept", "algorithms")


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memo.FOLDER, str(tmp_path / "cache"))
    monkeypatch.setattr(memo, "ALONG", tmp_path / "along")
    monkeypatch.setenv("NO_COLOR", "1")


def brought(root: Path) -> None:
    """What a full load finds out of a root comes along, and nothing else is kept."""
    with memo.taken() as entries:
        assert index.whole(layout.find(root)).errors == []
    memo.bring(entries)
    shutil.rmtree(memo.folder() or "")


def listed(root: Path) -> str:
    result = CliRunner().invoke(main, ["list", "--root", str(root)], prog_name="dpcheck")
    assert result.exit_code == 0, result.output
    return result.output


def no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index.Index, "of", lambda *given: pytest.fail("everything is loaded"))


def test_it_answers_wherever_the_content_lies(project: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project()
    before = listed(root)
    brought(root)
    elsewhere = shutil.move(root, tmp_path / "elsewhere")
    no_load(monkeypatch)
    assert listed(elsewhere) == before
    known = index.whole(layout.find(elsewhere))
    assert {path.is_relative_to(elsewhere) and path.is_file() for path, _ in known._places.values()} == {True}
    assert known.folders == [elsewhere / "bounds", elsewhere / "audits"]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (
            "bounds/toy.py",
            '"Theorem 1", "The excess risk is at most LD',
            '"Theorem 1b", "The excess risk is at most LD',
        ),
        ("audits/toy.py", "The mean of n", "The means of n"),
        ("bounds/toy.md", "Twice.", "Thrice."),
    ],
)
def test_an_edit_makes_it_no_answer(project: Make, path: str, old: str, new: str) -> None:
    root = project()
    brought(root)
    edit(root / path, old, new)
    assert memo.read("index", *kept.state(layout.find(root))) is None
    assert ("Theorem 1b" in listed(root)) == ("1b" in new)


def test_a_new_file_and_one_that_is_gone_make_it_no_answer(project: Make) -> None:
    root = project({"bounds/more.py": ""})
    brought(root)
    here = layout.find(root)
    assert memo.read("index", *kept.state(here)) is not None
    for change in ((root / "bounds" / "more.py").unlink, (root / "audits" / "more.py").touch):
        change()
        assert memo.read("index", *kept.state(here)) is None
        (root / "bounds" / "more.py").touch()
    (root / "audits" / "more.py").unlink()
    assert memo.read("index", *kept.state(here)) is not None


def test_a_change_of_it_makes_it_no_answer(project: Make) -> None:
    root = project()
    brought(root)
    (file,) = memo.ALONG.glob("index.txt")
    text = file.read_text()
    for harm in (text.replace("Theorem 1", "Theorem 9"), text[: len(text) // 2], "", "index-0 0 {}\n"):
        file.write_text(harm)
        assert memo.read("index", *kept.state(layout.find(root))) is None
    file.unlink()
    assert "Theorem 1" in listed(root) or "toy/thm-1" in listed(root)


def test_where_nothing_is_kept_it_is_not_read_either(project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project()
    brought(root)
    monkeypatch.setenv(memo.FOLDER, "")
    assert memo.read("index", *kept.state(layout.find(root))) is None


def test_errors_are_those_of_the_root_that_is_asked(project: Make, tmp_path: Path) -> None:
    """They name files, so the same content in another place has others."""
    root = project({"audits/broken.py": "import no_such_module\n"})
    first = index.whole(layout.find(root))
    elsewhere = shutil.copytree(root, tmp_path / "elsewhere")
    second = index.whole(layout.find(elsewhere))
    assert [str(elsewhere) in str(error) for error in second.errors] == [True]
    assert [str(root) in str(error) for error in first.errors] == [True]


def test_names_of_files_lead_back(tmp_path: Path) -> None:
    bugs = tmp_path / "tests" / "mutants"
    here = FileNames.of(tmp_path, [bugs])
    for path, name in {
        tmp_path / "bounds" / "toy.py": "root:bounds/toy.py",
        bugs / "catalogue" / "a.py": "mutants 0:catalogue/a.py",
        PACKAGE / "claims.py": "package:claims.py",
        tmp_path: "root:",
        tmp_path.parent / f"{tmp_path.name}-beside" / "a.py": str(tmp_path.parent / f"{tmp_path.name}-beside" / "a.py"),
    }.items():
        assert here.name(path) == name
        assert here.path(name) == str(path)


def test_a_wheel_names_seeded_bugs_as_the_checkout_does(tmp_path: Path) -> None:
    """Else what checks of the auditor have found would be stale in every wheel."""
    here, there = PACKAGE.parent, PACKAGE / "_content"
    for paper in ("audits", "audits/paper"):
        ours = sources._name(here / "tests" / "mutants" / "catalogue" / "a.py", here / paper)
        theirs = sources._name(there / "mutants" / "catalogue" / "a.py", there / paper)
        assert ours == theirs == f"{'../' * (1 + paper.count('/'))}tests/mutants/catalogue/a.py"


def test_what_the_command_line_does_is_no_part_of_an_answer() -> None:
    here = layout.find(PACKAGE.parent)
    named = {file.relative_to(PACKAGE).parts[0] for file in kept.content(here) if file.is_relative_to(PACKAGE)}
    assert {"engine", "claims.py", "printing.py", "algorithms"} <= named
    assert not {"cli", "report"} & named
    assert not [file for file in kept.content(here) if file.parent.name == "mutants" and file.name[:5] == "test_"]


def test_what_comes_along_is_whole() -> None:
    """Every line is an entry under its name, and names no place of the machine that it was made on."""
    along = PACKAGE / "_kept"
    assert {file.stem for file in along.iterdir()} == set(NAMES)
    for file in along.iterdir():
        for line in file.read_bytes().splitlines():
            name, signature, body = line.split(b" ", 2)
            assert name.decode().rpartition("-")[0] == file.stem
            assert signature.decode() == hashlib.sha256(body).hexdigest()
            assert str(PACKAGE.parent).encode() not in body
