"""Where content lies: the root, its content folders, and where results of it are kept."""

from __future__ import annotations

import contextlib
import functools
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpcheck import carried
from dpcheck.engine import papers
from dpcheck.errors import CollectionError

CONTENT = ("bounds", "audits")
MUTANTS = ("tests/mutants",)


@dataclass(frozen=True)
class Layout:
    """The folders of one collection.

    Attributes:
        root: what paths are shown relative to.
        content: folders of claims and checks, in the order in which they are collected.
        mutants: folders of seeded bugs of no paper; those of papers stand beside their checks.
        home: where `.dpcheck/` and `reports/` live: the root of a project, the working directory for packaged content.
        papers: the root itself, where it is laid out as a paper and names no content folders.
        installed: (key, folder) of the installed papers of one's own; see `dpcheck.engine.papers`.
    """

    root: Path
    content: tuple[Path, ...]
    mutants: tuple[Path, ...]
    home: Path
    papers: tuple[Path, ...] = ()
    installed: tuple[tuple[str, Path], ...] = ()

    @property
    def reached(self) -> str:
        """What makes a command find this root in the working directory: "" or " --root <folder>"."""
        with contextlib.suppress(CollectionError):
            if find().root == self.root:
                return ""
        return f" --root {typed(self.root)}"

    @property
    def store(self) -> Path:
        return self.home / ".dpcheck" / "store.db"

    @property
    def certificates(self) -> Path:
        """Where the certificates of its statements are kept, beside the content."""
        return self.root / "reports"

    @property
    def committed(self) -> Path:
        return self.home / "reports" / "records.jsonl"

    @property
    def records(self) -> list[Path]:
        """The files of records that are committed: those at home, and those that came with the content."""
        return list(dict.fromkeys([self.committed, self.root / "reports" / "records.jsonl"]))

    @property
    def witnesses(self) -> list[Path]:
        """The witnesses that are committed beside the content, or came with it."""
        folders = dict.fromkeys([self.home, *(folder.parent for folder in self.content)])
        return [path for folder in folders for path in sorted((folder / "reports" / "witnesses").rglob("*.json"))]


def find(root: Path | str | None = None, content: Sequence[Path | str] | None = None) -> Layout:
    """The layout of `root`, else of the nearest parent with a `[tool.dpcheck]` table, else of the packaged content.

    Args:
        root: a folder with a `[tool.dpcheck]` table in its pyproject.toml, or laid out as a paper of one's own.
        content: folders to collect instead of those that the table names (relative to the root).

    Raises:
        CollectionError: the root is no folder, has nothing to collect, or its table is malformed.
    """
    here = Path.cwd()
    if root is not None:
        home = Path(root).resolve()
        if not home.is_dir():
            raise CollectionError(f"the root {root} is not a folder; --root takes one that holds a paper")
        layout = _of_root(home)
    else:
        parent = next((p for p in (here, *here.parents) if _table(p) is not None), None)
        layout = packaged(here) if parent is None else _of_root(parent)
    if content is not None:
        folders = tuple((layout.root / folder).resolve() for folder in content)
        layout = replace(layout, content=folders, papers=())
    return replace(layout, installed=tuple(papers.installed()))


def typed(path: Path, base: Path | None = None) -> str:
    """A path as one types it into a shell in `base` (None: the working directory), relative where it lies inside."""
    here = base or Path.cwd()
    return shlex.quote(str(path.relative_to(here)) if path.is_relative_to(here) else str(path))


def _table(folder: Path) -> dict[str, Any] | None:
    """The `[tool.dpcheck]` table of a folder's pyproject.toml."""
    try:
        table = _parsed((folder / "pyproject.toml").read_text(encoding="utf-8")).get("tool", {}).get("dpcheck")
    except OSError:
        return None
    except ValueError as error:
        raise CollectionError(f"{folder / 'pyproject.toml'} is not TOML: {error}") from error
    return table if isinstance(table, dict) else None


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> dict[str, Any]:
    """A file of TOML, which whoever asks for one claim after another reads each time; not to be changed."""
    import tomllib  # compiles expressions for fifty milliseconds, which an installed copy need not wait for

    return tomllib.loads(text)


def _of_root(root: Path) -> Layout:
    table = _table(root)
    if table is None:
        if not papers.is_paper(root):
            raise CollectionError(
                f"{root} has neither a [tool.dpcheck] table in pyproject.toml nor a folder algorithms, bounds or "
                "audits; add one, or begin a paper by `dpcheck new`"
            )
        table = {}
    if "content" not in table and papers.is_paper(root):
        table = {**table, "content": []}
    folders = {}
    for key, default in (("content", CONTENT), ("mutants", MUTANTS)):
        named = table.get(key, list(default))
        if not (isinstance(named, list) and all(isinstance(folder, str) for folder in named)):
            raise CollectionError(f"[tool.dpcheck] {key} in {root / 'pyproject.toml'} must list folders, got {named!r}")
        folders[key] = tuple((root / folder).resolve() for folder in named if key in table or (root / folder).is_dir())
    alone = papers.is_paper(root) and not folders["content"]
    return Layout(root, folders["content"], folders["mutants"], root, papers=(root,) if alone else ())


def packaged(home: Path) -> Layout:
    """Content of the installed wheel; of the checkout, when dpcheck is imported from one."""
    base = carried.folder()
    if base is None:
        raise CollectionError(
            "this installation of dpcheck carries no content; "
            'give --root, or a [tool.dpcheck] table with content = ["…"] in pyproject.toml'
        )
    if _table(base) is not None:
        return replace(_of_root(base), home=home)
    content, bugs = ([base / name for name in names if (base / name).is_dir()] for names in (CONTENT, ("mutants",)))
    return Layout(base, tuple(content), tuple(bugs), home)
