"""`dpcheck new`: a small complete paper of one's own to begin from."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from pathlib import Path

import click

from dpcheck.errors import InvalidInput

TEMPLATE = Path(__file__).parents[1] / "template"
KEY = "my_paper"
"""What the template calls itself, in names of files and in their text."""


@click.command("new")
@click.argument("paper")
@click.option("--in", "parent", metavar="DIR", default=".", help="Folder in which it is made.  [default: here]")
def new_command(paper: str, parent: str) -> None:
    """Writes a small complete paper of your own, PAPER its key: algorithm, claims, derivations, checks, a seeded bug.

    Everything in it runs as it stands; replace it piece by piece.
    """
    from dpcheck.engine.shipped import modules

    if not re.fullmatch("[a-z][a-z0-9_]*", paper):
        raise InvalidInput(f"a paper's key is of small letters, digits and underscores, such as {KEY}; got {paper!r}")
    if f"dpcheck.algorithms.{paper}" in modules():
        raise InvalidInput(f"{paper} is the key of a paper of dpcheck; take another one")
    if taken := _taken(paper):
        raise InvalidInput(f"{paper!r} is {taken}, and the paper's package is to have that name; take another key")
    folder = Path(parent) / paper
    if folder.exists():
        raise InvalidInput(f"{folder} exists already; `dpcheck new` writes to a new folder only")
    try:
        for file in sorted(each for each in TEMPLATE.rglob("*") if each.is_file() and each.suffix != ".pyc"):
            place = folder / file.relative_to(TEMPLATE).as_posix().replace(KEY, paper)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(file.read_text(encoding="utf-8").replace(KEY, paper), encoding="utf-8", newline="\n")
    except OSError as error:
        raise InvalidInput(f"cannot write {folder}: {error.strerror or error}") from error
    click.echo(f"{folder} holds a paper that runs as it stands:")
    for command in _next(paper, folder):
        click.echo(f"  {command}")


def _taken(name: str) -> str:
    """What else has the name in Python, "" if nothing: its package could not be imported, or would hide another one."""
    from dpcheck.engine import papers

    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        return "a word of Python"
    if name in sys.stdlib_module_names or name in sys.builtin_module_names:
        return "a module of Python"
    if name in (*papers.CONTENT, papers.CODE):
        return "what a paper's own folders are called"
    spec = importlib.util.find_spec(name)
    # A folder of no package, such as a paper of the same key somewhere else, hides nothing.
    return "" if spec is None or spec.origin is None else f"a module that is installed here ({spec.origin})"


def _next(paper: str, folder: Path) -> list[str]:
    """What to try, as typed here."""
    from dpcheck.engine.layout import typed

    where = typed(folder.resolve())
    return [
        f"dpcheck run {where}",
        f"dpcheck plan {paper}/alg-1 --n 1000 --epsilon 1 --also {where}",
        f"dpcheck mutate {paper} --also {where}",
        f"dpcheck report --only {paper} --also {where}",
        f"pip install -e {where}    # and no command needs --also any more",
    ]


COMMANDS = (new_command,)
