"""An edit of a source that a test has imported, or is about to."""

from __future__ import annotations

from pathlib import Path


def edit(path: Path, old: str, new: str) -> None:
    """Replaces every `old` of a file, of which there must be one.

    Python takes a compiled file for current by its second and length: two edits of one second would be one.
    """
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()
