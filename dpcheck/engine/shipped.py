"""The algorithms that come with dpcheck: `dpcheck.algorithms.<paper>.ALGORITHMS`."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from dpcheck.errors import CollectionError

if TYPE_CHECKING:
    from dpcheck.interfaces import Algorithm


def ours(paper: str) -> dict[str, type[Algorithm[Any]]]:
    """Label -> class of one paper of this package; nothing for another. Raises as `classes` does."""
    home = f"dpcheck.algorithms.{paper}"
    return classes(home) if home in modules() else {}


def modules() -> list[str]:
    """Names of the modules that may hold algorithms; none of them is imported."""
    try:
        package = importlib.import_module("dpcheck.algorithms")
    except ModuleNotFoundError:
        return []
    return [f"dpcheck.algorithms.{m.name}" for m in pkgutil.iter_modules(package.__path__)]


def classes(module: str) -> dict[str, type[Algorithm[Any]]]:
    """Label -> class of one module; nothing when it has no `ALGORITHMS`.

    Raises:
        CollectionError: it does not import.
    """
    try:
        ability = getattr(importlib.import_module(module), "ALGORITHMS", ())
    except Exception as error:
        raise CollectionError(f"{module} does not import: {type(error).__name__}: {error}") from error
    return {kind.label: kind for kind in ability}
