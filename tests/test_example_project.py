"""The project under `examples/my_mechanisms/`, walked by its README: installed, then every command in its order."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import transcripts
from transcripts import Step

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "my_mechanisms"


def transcript() -> list[Step]:
    """All commands of the README."""
    found = transcripts.blocks(EXAMPLE / "README.md")
    return [step for language, text, _ in found if language == "console" for step in transcripts.steps(text)]


def test_the_readme_does_what_it_says(tmp_path):
    if shutil.which("sed") is None:
        pytest.skip("the README edits a file by sed")
    there = tmp_path / "project"
    rubbish = shutil.ignore_patterns("__pycache__", ".dpcheck", ".hypothesis", ".pytest_cache")
    shutil.copytree(EXAMPLE, there, ignore=rubbish)
    transcripts.commands(tmp_path / "bin")
    # Without the network: hatchling is here, and so are the packages that the project needs.
    offline = "-q --no-index --no-deps --no-build-isolation"
    pip = {
        "pip wheel": f'"{sys.executable}" -m pip wheel {offline} -w wheels "{ROOT}"',
        "pip install": f'"{sys.executable}" -m pip install {offline} --target "{tmp_path}/site" .',
    }
    # The copy stands before what was installed, as an editable installation would have it.
    environment = transcripts.environment(tmp_path / "bin", there, tmp_path / "site", ROOT)
    for step in transcript():
        run = pip.get(" ".join(step.command.split()[:2]), step.command)
        step.check(subprocess.run(run, shell=True, cwd=there, env=environment, capture_output=True, text=True))
    assert (tmp_path / "site" / "my_mechanisms" / "__init__.py").exists()
    assert [wheel.name.split("-")[0] for wheel in (there / "wheels").iterdir()] == ["dpcheck"]
    assert not list((there / ".dpcheck" / "failures").iterdir())


def test_its_workflow_runs_what_the_readme_says():
    text = (EXAMPLE / ".github" / "workflows" / "privacy.yml").read_text(encoding="utf-8")
    commands = re.findall(r"^\s*(?:- )?run: (.*)$", text, re.MULTILINE)
    assert len(commands) == 3
    assert set(commands) <= {step.command for step in transcript()}
