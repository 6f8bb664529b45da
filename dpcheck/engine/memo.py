"""What was worked out before, kept under the hash of everything that it was worked out from.

One file an entry, in a folder of the user's own; what is not there may be among the entries that came with the package,
one line each. An entry answers the one question whose whole text is its key, so nothing in here can be older than the
sources that it speaks of. What is damaged, cut off or not ours counts as absent; a folder that cannot be written keeps
nothing. Nothing here raises.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dpcheck.carried import PACKAGE

FOLDER = "DPCHECK_CACHE_DIR"
"""Environment variable that names the folder; empty: nothing is kept, and nothing that came along is read."""
ALONG = PACKAGE / "_kept"
"""What came with the package: `<kind>.txt`, an entry a line (its name, the hash of its text, its text)."""
BYTES = 64 * 2**20
"""Most bytes of all entries together; beyond it the oldest go."""
PRINTING = ("sympy", "mpmath")
"""Packages on which the text of a formula depends."""
_taken: dict[tuple[str, ...], Any] | None = None


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
    """The value that was kept under this key, or came along under it, or None."""
    path, value = _path(kind, key), None
    if path is not None:
        value = _kept(path, kind, key)
        value = _came(path.stem, kind, key) if value is None else value
    _note(value, kind, key)
    return value


def _kept(path: Path, kind: str, key: tuple[str, ...]) -> Any:
    try:
        signature, _, body = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return _value(signature, body, kind, key)


def _came(name: str, kind: str, key: tuple[str, ...]) -> Any:
    begins = f"{name} ".encode()
    with contextlib.suppress(OSError), (ALONG / f"{kind}.txt").open("rb") as lines:
        for line in lines:
            if line.startswith(begins):
                signature, _, body = line.removeprefix(begins).rstrip(b"\r\n").partition(b" ")
                return _value(signature, body, kind, key)
    return None


def _value(signature: bytes, body: bytes, kind: str, key: tuple[str, ...]) -> Any:
    """The value in the text of an entry; None where its text is damaged, or answers another question."""
    try:
        if signature.decode("ascii") != hashlib.sha256(body).hexdigest():
            return None
        parsed = json.loads(body)
        return parsed["value"] if parsed["key"] == [kind, *key] else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


@contextlib.contextmanager
def taken() -> Iterator[dict[tuple[str, ...], Any]]:
    """(kind, key …) -> value of what is read or written meanwhile: what `bring` then lets come with the package."""
    global _taken
    _taken = {}
    try:
        yield _taken
    finally:
        _taken = None


def _note(value: Any, kind: str, key: tuple[str, ...]) -> None:
    if _taken is not None and value is not None:
        _taken[kind, *key] = value


def bring(entries: Mapping[tuple[str, ...], Any]) -> None:
    """Makes these what comes with the package, in the order of their names, in place of what did."""
    lines: dict[str, list[bytes]] = {}
    for (kind, *key), value in entries.items():
        signature, body = _signed(value, kind, tuple(key))
        lines.setdefault(kind, []).append(b" ".join([_name(kind, tuple(key)).encode(), signature, body]) + b"\n")
    ALONG.mkdir(exist_ok=True)
    for old in ALONG.glob("*.txt"):
        old.unlink()
    for kind, of_kind in lines.items():
        (ALONG / f"{kind}.txt").write_bytes(b"".join(sorted(of_kind)))


def _signed(value: Any, kind: str, key: tuple[str, ...]) -> tuple[bytes, bytes]:
    """The hash of an entry's text, and the text: one line."""
    body = json.dumps({"key": [kind, *key], "value": value}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return hashlib.sha256(body).hexdigest().encode(), body


def write(value: Any, kind: str, *key: str) -> None:
    """Keeps a value that JSON can say; of two processes that write at once, one wins, whole."""
    path = _path(kind, key)
    _note(value, kind, key)
    if path is None:
        return
    signature, body = _signed(value, kind, key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.parent / f"draft-{os.getpid()}-{os.urandom(4).hex()}"
        try:
            draft.write_bytes(signature + b"\n" + body)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        _tidy(path.parent)


@functools.cache
def versions(*packages: str) -> str:
    """Those of packages on which an answer depends, or of Python and all that compute: part of a key."""
    by_package = {} if packages else {"python": ".".join(platform.python_version_tuple()[:2])}
    wanted = packages or (*PRINTING, "numpy")
    for entry in sys.path:
        with contextlib.suppress(OSError):
            for name in os.listdir(entry or "."):
                package, _, rest = name.partition("-")
                if package in wanted and rest.endswith(".dist-info"):
                    by_package.setdefault(package, rest)
    return json.dumps(by_package, sort_keys=True)


def digest(paths: Iterable[Path], named: Callable[[Path], str] = str) -> str:
    """Hash of the names and bytes of files; of one that cannot be read, that it cannot.

    Args:
        named: the name of a file, where it is not to depend on the place of a folder; files then go by their names.
    """
    total = hashlib.sha256()
    by_name = [(named(path), path) for path in paths]
    for name, path in by_name if named is str else sorted(dict(by_name).items()):
        try:
            content = path.read_bytes()
        except OSError as error:
            content = repr(error.errno).encode()
        total.update(f"{name}\n{len(content)}\n".encode("utf-8", "surrogatepass"))
        total.update(content)
    return total.hexdigest()


def _path(kind: str, key: tuple[str, ...]) -> Path | None:
    base = folder()
    return None if base is None else base / f"{_name(kind, key)}.json"


def _name(kind: str, key: tuple[str, ...]) -> str:
    return f"{kind}-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]}"


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
