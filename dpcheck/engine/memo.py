"""What was worked out before, kept under the hash of everything that it was worked out from.

One file an entry, in a folder of the user's own. An entry answers the one question whose whole text is its key, so
nothing in here can be older than the sources that it speaks of. A file that is damaged, cut off or not ours counts as
absent; a folder that cannot be written keeps nothing. Nothing here raises.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dpcheck

FOLDER = "DPCHECK_CACHE_DIR"
"""Environment variable that names the folder; empty: nothing is kept."""
BYTES = 64 * 2**20
"""Most bytes of all entries together; beyond it the oldest go."""
_PACKAGES = ("dpcheck", "numpy", "sympy", "mpmath", "click")


def folder() -> Path | None:
    """Where entries lie: what the environment says, else the system's place for caches; None: nowhere."""
    named = os.environ.get(FOLDER)
    if named is not None:
        return Path(named) if named else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "dpcheck" if base and os.path.isabs(base) else None


def read(kind: str, *key: str) -> Any:
    """The value that was kept under this key, or None."""
    path = _path(kind, key)
    if path is None:
        return None
    try:
        signature, _, body = path.read_bytes().partition(b"\n")
        if signature.decode("ascii") != hashlib.sha256(body).hexdigest():
            return None
        parsed = json.loads(body)
        return parsed["value"] if parsed["key"] == [kind, *key] else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write(value: Any, kind: str, *key: str) -> None:
    """Keeps a value that JSON can say; of two processes that write at once, one wins, whole."""
    path = _path(kind, key)
    if path is None:
        return
    body = json.dumps({"key": [kind, *key], "value": value}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.parent / f"draft-{os.getpid()}-{os.urandom(4).hex()}"
        try:
            draft.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        _tidy(path.parent)


@functools.cache
def versions() -> str:
    """Python and the packages that an answer may depend on, with where they lie: part of a key."""
    by_package = {"python": platform.python_version()}
    for entry in sys.path:
        with contextlib.suppress(OSError):
            for name in os.listdir(entry or "."):
                package, _, rest = name.partition("-")
                if package in _PACKAGES and rest.endswith(".dist-info"):
                    by_package.setdefault(package, rest)
    return json.dumps([by_package, str(Path(dpcheck.__file__).parent)], sort_keys=True)


def digest(paths: Iterator[Path] | list[Path]) -> str:
    """Hash of the names and bytes of files; of one that cannot be read, that it cannot."""
    total = hashlib.sha256()
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError as error:
            content = repr(error.errno).encode()
        total.update(f"{path}\n{len(content)}\n".encode("utf-8", "surrogatepass"))
        total.update(content)
    return total.hexdigest()


def _path(kind: str, key: tuple[str, ...]) -> Path | None:
    base = folder()
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
    return None if base is None else base / f"{kind}-{name}.json"


def _tidy(place: Path) -> None:
    """Removes the oldest entries beyond `BYTES`, and drafts of processes that were killed."""
    entries = []
    for entry in os.scandir(place):
        if entry.name.startswith("draft-") or entry.name.endswith(".json"):
            with contextlib.suppress(OSError):  # another process was faster
                status = entry.stat()
                entries.append((status.st_mtime, status.st_size, entry.path))
    entries.sort(reverse=True)
    total = 0
    for _, size, path in entries:
        total += size
        if total > BYTES:
            with contextlib.suppress(OSError):
                os.unlink(path)
