"""The report: Markdown pages, figures, witnesses, and one HTML file; the same verdicts give the same bytes."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from dpcheck.engine.records import Record
from dpcheck.errors import InvalidInput, StoreError
from dpcheck.report import tables

if TYPE_CHECKING:
    from dpcheck.engine.catalogue import Catalogue
    from dpcheck.engine.mutate.table import Table

__all__ = ["write"]


def write(
    catalogue: Catalogue,
    records: Sequence[Record],
    out: pathlib.Path,
    *,
    stale: Collection[str] = frozenset(),
    earlier: Mapping[str, Record] | None = None,
    last: Mapping[str, str] | None = None,
    mutants: Table | None = None,
) -> list[pathlib.Path]:
    """Writes the whole report and removes what an earlier one left behind; no other file is touched.

    Everything is written beside the report first and put in its place file by file, so that a full disk, or an end at
    any moment, leaves every page whole.

    Args:
        catalogue: claims and checks, and where they stand in the tree.
        records: at most one a check.
        out: the report's folder, created when missing.
        stale: ids of checks whose sources have changed since their record was made.
        earlier: check id -> a stale record of a larger size, to stand beside the fresh one.
        last: name -> text of further files, put in their place after all others (`records.jsonl`).
        mutants: which wrong formulas and algorithms are noticed, and by how much a bound may be wrong.

    Returns:
        Every file written, sorted.

    Raises:
        InvalidInput: two records of one check, or a file in the way that no report wrote. Nothing is written then.
        StoreError: the folder is full or may not be written to; what was there stands.
    """
    # SymPy's printers, Matplotlib and Jinja load here, not at every `dpcheck list`.
    from dpcheck.report import drawing, gathering, html, pages

    counts = Counter(record.check for record in records)
    if twice := [check for check, count in sorted(counts.items()) if count > 1]:
        raise InvalidInput(f"{counts[twice[0]]} records of {twice[0]}; the report takes one a check")
    report = gathering.build(catalogue, records, out, stale, earlier, mutants)
    with drawing.beside([*(each for each in report.results if each.drawable), *report.panels]) as drawn:
        files = pages.render(report)
        drawn()
    files["dpcheck.html"] = html.render(report)
    for result in report.results:
        if result.figure:
            files[result.figure] = result.svg
        if result.witness_file:
            files[result.witness_file] = result.witness_text
    files |= {view.figure: view.svg for view in report.panels}
    old = _written_before(out)
    for name in sorted(set(files) - old):
        if (out / name).exists():
            raise InvalidInput(f"{out / name} is not of `dpcheck report`; move it, or report to another folder")
    everything = files | dict(last or {})
    try:
        _put(out, everything)
        _remove(out, old - set(everything))
    except OSError as error:
        raise StoreError(
            f"cannot write the report to {out}: {error.strerror or error}; what was there is whole, and the same "
            "command writes the rest"
        ) from error
    return sorted(out / name for name in everything)


DRAFT = ".new-"
"""Beginning of the name of the folder in which a report is written before it is put in its place."""


def _put(out: pathlib.Path, files: Mapping[str, str]) -> None:
    """Writes every file, and only then puts them in their places, in this order; a place never holds half a file."""
    out.mkdir(parents=True, exist_ok=True)
    for left in out.glob(f"{DRAFT}*"):  # of a report that was killed
        shutil.rmtree(left, ignore_errors=True)
    draft = pathlib.Path(tempfile.mkdtemp(prefix=DRAFT, dir=out))
    try:
        for name, text in files.items():
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            with (draft / name).open("w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        for name in files:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (draft / name).replace(out / name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _written_before(out: pathlib.Path) -> set[str]:
    """What an earlier report wrote here: pages that carry its marker, and its two folders."""
    pages = [*out.glob("*.md"), *out.glob("dpcheck.html")]
    own = [page for page in pages if _own(page)]
    own += [*out.glob("figures/*/*.svg"), *out.glob("witnesses/*/*.json")]
    return {file.relative_to(out).as_posix() for file in own}


def _own(page: pathlib.Path) -> bool:
    """Whether a report wrote this page: its marker says so, or it is one that a full disk left empty."""
    if not page.is_file():
        return page.is_symlink()  # it leads nowhere, and is replaced, never written through
    return page.stat().st_size == 0 or tables.MARKER in page.read_text(encoding="utf-8", errors="replace")[:200]


def _remove(out: pathlib.Path, names: set[str]) -> None:
    """Deletes these files, and the folders that this leaves empty."""
    for name in sorted(names):
        file = out / name
        file.unlink()
        for folder in (file.parent, file.parent.parent):
            if folder != out and not any(folder.iterdir()):
                folder.rmdir()
