"""The documentation builds without a warning, and every block of its code does what the page says."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
import transcripts

import dpcheck

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(page for page in (*DOCS.glob("*.md"), ROOT / "README.md") if any(transcripts.blocks(page)))
TOLD = sorted(
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for file in (ROOT / "dpcheck").rglob("*.py")
    if "template" not in file.parts
    and any(">>> " in line and "+SKIP" not in line for line in file.read_text(encoding="utf-8").splitlines())
)


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A folder in which a page is followed; what it imports from there is forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    transcripts.commands(tmp_path / "bin")
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_does_what_the_page_says(page, reader):
    shell = transcripts.environment(reader / "bin", reader, ROOT)
    names: dict[str, object] = {"__name__": page.stem}
    for language, text, line in transcripts.blocks(page):
        if language == "console":
            for step in transcripts.steps(text):
                step.check(subprocess.run(step.command, shell=True, env=shell, capture_output=True, text=True))
        elif named := transcripts.FILE.match(text):
            (reader / named[1]).write_text(text.removeprefix(named[0]), encoding="utf-8")
        else:
            exec(compile("\n" * (line - 1) + text, str(page), "exec"), names)


@pytest.mark.parametrize("name", TOLD)
def test_examples_of_docstrings(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried
    assert not failed


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx", reason="Sphinx is not installed; pip install 'dpcheck[docs]'")
    pytest.importorskip("myst_parser", reason="MyST is not installed; pip install 'dpcheck[docs]'")
    pytest.importorskip("furo", reason="the theme is not installed; pip install 'dpcheck[docs]'")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-d",
        tmp_path / "kept",
        DOCS,
        tmp_path / "site",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=transcripts.environment(tmp_path, ROOT))
    assert done.returncode == 0, done.stderr
    reference = (tmp_path / "site" / "reference.html").read_text(encoding="utf-8")
    described = set(re.findall(r'id="dpcheck\.(?:[a-z_]+\.)*(\w+)"', reference))
    assert set(dpcheck.__all__) - {"attacks", "finite_laws", "scores", "testing"} <= described


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/my_mechanisms/README.md"])
def test_links_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert all(((ROOT / page).parent / target).exists() for target in targets)
