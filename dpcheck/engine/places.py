"""Names of files that do not depend on where dpcheck and its content lie: a checkout's are those of its wheel."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpcheck import carried
from dpcheck.carried import PACKAGE
from dpcheck.engine.layout import Layout


@dataclass(frozen=True)
class FileNames:
    """Names for the files below some folders, and paths for those names; any other file is named by its path.

    Attributes:
        folders: (path, what stands for it), the innermost first.
    """

    folders: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, root: Path, mutants: Sequence[Path] = ()) -> FileNames:
        """Those of a root, of its folders of seeded bugs, which a wheel has elsewhere, and of the package."""
        folders = {str(PACKAGE): "package:", str(root): "root:"}
        folders |= {str(folder): f"mutants {number}:" for number, folder in enumerate(mutants)}
        return cls(tuple(sorted(folders.items(), key=lambda pair: -len(pair[0]))))

    @classmethod
    def within(cls, layout: Layout) -> FileNames:
        return cls.of(layout.root, layout.mutants)

    def name(self, path: Path | str) -> str:
        text = str(path)
        for folder, short in self.folders:
            if text.startswith(folder) and text[len(folder) : len(folder) + 1] in ("", os.sep):
                return short + text[len(folder) + 1 :].replace(os.sep, "/")
        return text

    def path(self, name: str) -> str:
        for folder, short in self.folders:
            if name.startswith(short):
                rest = name[len(short) :]
                return os.path.join(folder, *rest.split("/")) if rest else folder
        return name


@functools.cache
def carried_along() -> FileNames:
    """Of the content that dpcheck brings along."""
    return FileNames.of(carried.folder() or PACKAGE)
