"""What a test depends on, as far as it is the user's own: its module, and every module that this imports.

The identity of an audit (`dpcheck.auditing.identity`) knows a mechanism's function and what lies beside its file; a
test stands in one folder, and what it tests in another.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dpcheck

_INSTALLED = [Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
_FOREIGN = tuple(place.resolve() for place in (*_INSTALLED, Path(dpcheck.__file__).parent))


def sources_of(item: pytest.Item) -> str:
    """16 hexadecimal digits of the sources of a test: its module, the conftest files, and all that they import.

    Of installed packages the versions are in it; compiled code of one's own is not.
    """
    plugins: list[Any] = list(item.config.pluginmanager.get_plugins())
    queue = [each for each in (getattr(item, "module", None), *plugins) if isinstance(each, ModuleType)]
    seen: dict[str, Path] = {}
    while queue:
        module = queue.pop()
        path = _own(module)
        if path is not None and module.__name__ not in seen:
            seen[module.__name__] = path
            named = _imported(path, path.stat().st_mtime_ns, module.__name__, _package(module))
            queue.extend(sys.modules[name] for name in named if name in sys.modules)
    parts = [(name, hashlib.sha256(path.read_bytes()).hexdigest()) for name, path in sorted(seen.items())]
    return hashlib.sha256(repr((parts, _versions())).encode()).hexdigest()[:16]


@functools.cache
def _versions() -> list[tuple[str, str]]:
    """Of Python and of all packages that are installed."""
    installed = {(str(each.metadata["Name"]), each.version) for each in importlib.metadata.distributions()}
    return sorted({("python", sys.version), *installed})


def _own(module: ModuleType) -> Path | None:
    """The file of a module that is the user's; None for packages that are installed, and for compiled ones."""
    file = getattr(module, "__file__", None)
    path = Path(file).resolve() if isinstance(file, str) and file.endswith(".py") else None
    return None if path is None or any(path.is_relative_to(place) for place in _FOREIGN) else path


def _package(module: ModuleType) -> str:
    spec = getattr(module, "__spec__", None)
    return str(getattr(spec, "parent", None) or getattr(module, "__package__", None) or "")


@functools.lru_cache(maxsize=1024)
def _imported(path: Path, modified: int, name: str, package: str) -> frozenset[str]:
    """The modules that a file names in its imports, with the packages around them."""
    words: set[str] = {package}
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            words.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            words.update(_named(node, package))
    parts = [each.split(".") for each in words]
    return frozenset(".".join(each[:depth]) for each in parts for depth in range(1, len(each) + 1))


def _named(node: ast.ImportFrom, package: str) -> Iterator[str]:
    try:
        base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
    except ImportError:  # a relative import outside of any package
        return
    yield base
    yield from (f"{base}.{alias.name}" for alias in node.names)
