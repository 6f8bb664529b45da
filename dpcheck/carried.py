"""Where the content lies that dpcheck brings along, and where the verifiers of witnesses stand in content."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

PACKAGE = Path(__file__).parent
Verifiers: TypeAlias = Mapping[str, tuple[Path, ...]]
"""Key of a paper -> the files of its verifiers, which are the functions in their `__all__`."""


def folder() -> Path | None:
    """The folder of its `bounds/` and `audits/`: the checkout that it is imported from, or what its wheel carries."""
    return next((place.resolve() for place in _places() if place.is_dir()), None)


def _places() -> Iterator[Path]:
    with contextlib.suppress(OSError):
        if "[tool.dpcheck]" in (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"):
            yield PACKAGE.parent
    yield PACKAGE / "_content"
    import importlib.metadata

    # Some installers put forced content beside, not inside, the folder that `dpcheck` is imported from.
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        yield Path(str(importlib.metadata.distribution("dpcheck").locate_file("dpcheck/_content")))


@functools.cache
def verifiers() -> Verifiers:
    """Those that dpcheck brings along."""
    here = folder()
    return {} if here is None else verifiers_in(here / "audits")


def verifiers_in(audits: Path) -> Verifiers:
    """Those in a folder of checks: every `witnesses.py` and `witnesses_<section>.py`.

    They are of the paper whose key names the folder in which they stand; in the folder of checks itself, the folder
    above it: `audits/<key>/witnesses.py`, or `<key>/audits/witnesses.py` of a paper of one's own.
    """
    by_key: dict[str, tuple[Path, ...]] = {}
    for path in sorted(audits.rglob("witnesses*.py")):
        if path.stem.partition("_")[0] == "witnesses":
            key = (audits.parent if path.parent == audits else path.parent).name
            by_key[key] = (*by_key.get(key, ()), path)
    return by_key
