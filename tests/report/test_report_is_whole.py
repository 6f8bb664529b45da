"""A report that cannot be written leaves the old one whole, and does not stand in the way of the next."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import report_example as example

from dpcheck import report
from dpcheck.errors import InvalidInput, StoreError


def written(root: Path) -> dict[str, bytes]:
    return {f.relative_to(root).as_posix(): f.read_bytes() for f in sorted(root.rglob("*")) if f.is_file()}


@pytest.fixture
def before(tmp_path: Path) -> dict[str, bytes]:
    report.write(example.lay_out(tmp_path), example.RECORDS, tmp_path / "reports", last={"records.jsonl": "{}\n"})
    return written(tmp_path / "reports")


@pytest.mark.parametrize("after", range(6))
def test_a_full_disk(tmp_path: Path, before: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """It cut a page to nothing, was called a bug of dpcheck, and every later report refused to overwrite the page."""
    left = [after]

    def full(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "reports"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="No space left on device; what was there is whole"):
            report.write(example.lay_out(tmp_path), [], out, last={"records.jsonl": ""})
    assert written(out) == before
    report.write(example.lay_out(tmp_path), [], out, last={"records.jsonl": ""})
    assert (out / "records.jsonl").read_bytes() == b""
    assert not list(out.glob(".new-*"))


def test_a_report_that_was_killed(tmp_path: Path, before: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between two files: every page is an old or a new one, and what was left over goes with the next report."""
    real, done = Path.replace, []

    def killed(self: Path, target: Path) -> Path:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(target)
        return real(self, target)

    out = tmp_path / "reports"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            report.write(example.lay_out(tmp_path), [], out, last={"records.jsonl": ""})
    assert all(written(out).values())
    assert (out / "records.jsonl").read_bytes() == before["records.jsonl"]
    (out / ".new-dead").mkdir()
    (out / ".new-dead" / "index.md").write_text("half")
    report.write(example.lay_out(tmp_path), example.RECORDS, out, last={"records.jsonl": "{}\n"})
    assert written(out) == before


def test_a_page_that_an_older_dpcheck_left_empty_is_no_obstacle(tmp_path: Path, before: dict[str, bytes]) -> None:
    out = tmp_path / "reports"
    (out / "dpcheck.html").write_bytes(b"")
    report.write(example.lay_out(tmp_path), example.RECORDS, out, last={"records.jsonl": "{}\n"})
    assert written(out) == before


def test_a_link_is_replaced_and_never_written_through(tmp_path: Path, before: dict[str, bytes]) -> None:
    out, mine = tmp_path / "reports", tmp_path / "mine.md"
    mine.write_text("my own words")
    (out / "index.md").unlink()
    (out / "index.md").symlink_to(mine)
    with pytest.raises(InvalidInput, match=r"index\.md is not of `dpcheck report`"):
        report.write(example.lay_out(tmp_path), example.RECORDS, out)
    mine.write_bytes(before["index.md"])
    report.write(example.lay_out(tmp_path), [], out)
    assert mine.read_bytes() == before["index.md"]
    assert not (out / "index.md").is_symlink()


def test_a_folder_that_may_not_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write the report to"):
        report.write(example.lay_out(tmp_path), [], tmp_path / "file" / "reports")
