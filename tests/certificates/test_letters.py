"""Letters to authors: their programs run and print what they say, and what they point at exists."""

from __future__ import annotations

import contextlib
import io
import re

import pytest
from checkout import ROOT, collected

LETTERS = sorted((ROOT / "reports" / "letters").glob("*.md"))
PRINTED = {
    "tsybakov": [43.00778, 0.8196833],
    "user_level": [0.4834864],
    "l1_geometry": [0.0288793, 0.1307370, 1.5100615],
}


@pytest.mark.parametrize("path", LETTERS, ids=lambda path: path.stem)
def test_programs_print_what_the_letters_say(path):
    text = path.read_text()
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(program.splitlines()) <= 15
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, path.name, "exec"), {})
    numbers = [float(word) for word in out.getvalue().split()]
    assert numbers == pytest.approx(PRINTED[path.stem], rel=1e-4)
    said = program.splitlines()[-1].partition("#")[2]
    for number in numbers:
        assert any(
            float(word) == pytest.approx(number, rel=0.005) for word in re.findall(r"\d+\.\d+(?:e-\d+)?", said)
        ), number


@pytest.mark.parametrize("path", LETTERS, ids=lambda path: path.stem)
def test_letters_are_a_page_and_point_at_what_exists(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 60
    claims = collected().claims
    for label in re.findall(r"`([a-z0-9_]+/[a-z0-9]+-[a-z0-9@-]+)`", text):
        assert label in claims, label
    for file in re.findall(r"`((?:reports|bounds)/[\w./-]+\.\w+)`", text):
        assert (ROOT / file).exists(), file
    for label in re.findall(r"witnesses? .{0,3}`([a-z0-9_]+/[a-z0-9@-]+)`", text):
        paper, _, item = label.partition("/")
        assert list((ROOT / "reports" / "witnesses" / paper).glob(f"{item.replace('@', '-')}-*.json")), label


def test_three_letters_are_written():
    assert {path.stem for path in LETTERS} == PRINTED.keys()
