"""Content files: found by path, imported one by one, their claims and checks picked from the module level.

A content folder is imported as a package of a private name, made from its path; so two folders may hold files of the
same name, and a file reaches its neighbours by relative imports (`from ._shared import cube`), as in any package.
Files that start with `_` are helpers, `test_*.py` and `conftest.py` belong to pytest; neither is collected. Beside the
checks of a paper stand its seeded bugs (`mutants.py`) and the verifiers of its witnesses (`witnesses.py`), which are no
content; either may be several files (`witnesses_section_4.py`).
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from dpcheck.errors import CollectionError

PREFIX = "dpcheck_content_"
BUGS, VERIFIERS = "mutants", "witnesses"
_forgotten: Counter[Path] = Counter()


@dataclass(frozen=True)
class ContentFile:
    """One file of a content folder."""

    folder: Path
    path: Path

    @property
    def module(self) -> str:
        """The private name that it is imported under."""
        relative = self.path.relative_to(self.folder).with_suffix("")
        return ".".join((package_of(self.folder), *relative.parts))


def package_of(folder: Path) -> str:
    return PREFIX + hashlib.sha256(str(folder).encode()).hexdigest()[:12]


def files(folder: Path) -> Iterator[ContentFile]:
    """The files of a folder that may hold content, in the order of their paths."""
    yield from (file for file in _files(folder) if _kind(file.path) not in (BUGS, VERIFIERS))


def bugs(folder: Path) -> Iterator[ContentFile]:
    """The files of seeded bugs that stand beside the checks of a folder."""
    yield from (file for file in _files(folder) if _kind(file.path) == BUGS)


def is_verifier(path: Path) -> bool:
    """Whether a file holds verifiers of witnesses."""
    return _kind(path) == VERIFIERS


def _kind(path: Path) -> str:
    """The name of a file without its section."""
    return path.stem.partition("_")[0]


def _files(folder: Path) -> Iterator[ContentFile]:
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "__")) for part in inside[:-1])
        if not hidden and not path.name.startswith(("_", "test_")) and path.name != "conftest.py":
            yield ContentFile(folder, path)


def of_no_paper(folders: Sequence[Path]) -> Iterator[ContentFile]:
    """The files of folders of seeded bugs that hold mechanisms of no paper: those in `catalogue/`."""
    return _below(folders, "catalogue")


def held_out(folders: Sequence[Path]) -> Iterator[ContentFile]:
    """Those in `held_out/`, which were written after the auditor was fixed: no check of the auditor reads them."""
    return _below(folders, "held_out")


def _below(folders: Sequence[Path], name: str) -> Iterator[ContentFile]:
    for folder in folders:
        yield from (file for file in files(folder) if file.path.relative_to(folder).parts[0] == name)


def forget(folder: Path) -> None:
    """Drops a folder's modules, so that the next collection reads the files as they are now."""
    _forgotten[folder] += 1
    package = package_of(folder)
    for name in [name for name in sys.modules if name == package or name.startswith(package + ".")]:
        del sys.modules[name]
    importlib.invalidate_caches()


def generation(folders: Iterable[Path]) -> list[int]:
    """Changes whenever modules of these folders are dropped."""
    return [_forgotten[folder] for folder in folders]


def imported(file: ContentFile) -> ModuleType:
    """The module of a content file. Raises `CollectionError` with line and reason when it does not import."""
    package = package_of(file.folder)
    if package not in sys.modules:
        spec = ModuleSpec(package, None, is_package=True)
        spec.submodule_search_locations = [str(file.folder)]
        sys.modules[package] = importlib.util.module_from_spec(spec)
    try:
        return importlib.import_module(file.module)
    except (Exception, SystemExit) as error:
        raise CollectionError(_broken(file, error)) from error


def content_of(file: ContentFile, kinds: tuple[type, ...]) -> list[Any]:
    """Imports a file and returns the instances of `kinds` at its module level, each once. Raises as `imported` does."""
    module = imported(file)
    by_name: dict[int, Any] = {}
    for value in vars(module).values():
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, kinds):
                by_name[id(item)] = item
    return list(by_name.values())


def borrowed(file: ContentFile) -> set[int]:
    """Ids of what the module of an imported file has from neighbours that are content themselves."""
    module = imported(file)
    values = (getattr(module, name, None) for name in _borrowed(file.path, file.path.stat().st_mtime_ns))
    return {id(item) for value in values for item in (value if isinstance(value, list | tuple) else (value,))}


def _broken(file: ContentFile, error: BaseException) -> str:
    """Where and why an import failed, and the remedy for the commonest reason."""
    where, line = file.path, 1
    if isinstance(error, SyntaxError) and error.filename:
        where, line = Path(error.filename), error.lineno or 1
    else:
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename.startswith(str(file.folder)):
                where, line = Path(frame.filename), frame.lineno or 1
    text = f"{where}:{line}: does not import: {type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        name = error.name.partition(".")[0]
        if (file.path.parent / f"{name}.py").exists():
            text += f"; reach a neighbour by `from .{name} import …`"
    return text


@functools.lru_cache(maxsize=512)
def _tree(path: Path, modified: int) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=512)
def _borrowed(path: Path, modified: int) -> frozenset[str]:
    """The names that a Python file has from its neighbours."""
    near = (node for node in _tree(path, modified).body if isinstance(node, ast.ImportFrom) and node.level)
    # Files that begin with `_` are not collected: what they hold stands where it is imported.
    content = (node for node in near if not (node.module or "_").rpartition(".")[2].startswith("_"))
    return frozenset(alias.asname or alias.name for node in content for alias in node.names)


@functools.lru_cache(maxsize=512)
def _strings(path: Path, modified: int) -> tuple[tuple[str, int], ...]:
    nodes = (node for node in ast.walk(_tree(path, modified)) if isinstance(node, ast.Constant))
    literals = ((node.value, node.lineno) for node in nodes if isinstance(node.value, str))
    return tuple(sorted(literals, key=lambda pair: pair[1]))


def strings(path: Path) -> tuple[tuple[str, int], ...]:
    """Every string literal of a Python file with its line; none when the file does not parse."""
    try:
        return _strings(path, path.stat().st_mtime_ns)
    except (SyntaxError, OSError, ValueError):
        return ()


def line_of(path: Path, literal: str) -> int:
    """The first line on which a string literal stands; 1 when it is put together at run time."""
    return next((line for text, line in strings(path) if text == literal), 1)
