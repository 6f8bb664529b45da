"""That `make fuzz` would see what it is for."""

from __future__ import annotations

import time

import fuzz
import pytest

from dpcheck.errors import InvalidInput


def test_a_few_inputs_for_every_reader(tmp_path):
    said: list[str] = []
    assert fuzz.fuzz(300, 1, tmp_path / "kept", said.append) == 0, said
    assert len(said) == 11
    assert not (tmp_path / "kept").exists()


def test_a_busy_machine_is_no_failure(tmp_path, monkeypatch):
    """Of what takes long the processor's time counts, not that of others."""
    monkeypatch.setattr(fuzz, "LIMIT", 0.01)
    monkeypatch.setattr(fuzz.foreign, "fraction", lambda text: time.sleep(0.02))
    monkeypatch.setattr(fuzz.Readers, "__init__", only_numbers)
    assert fuzz.fuzz(20, 1, tmp_path, [].append) == 0


@pytest.mark.parametrize("way", ["crashes", "hangs", "computes"])
def test_what_crashes_or_hangs_is_counted_and_kept(tmp_path, monkeypatch, way):
    def broken(text):
        if "1" not in text:
            raise InvalidInput("refused")
        if way == "hangs":
            time.sleep(5)
        while way == "computes":
            pass
        raise ZeroDivisionError

    monkeypatch.setattr(fuzz, "LIMIT", 0.01)
    monkeypatch.setattr(fuzz.foreign, "fraction", broken)
    monkeypatch.setattr(fuzz.Readers, "__init__", only_numbers)
    said: list[str] = []
    found = fuzz.fuzz(20, 1, tmp_path, said.append)
    kept = sorted(tmp_path.iterdir())
    assert 0 < found < 20
    assert len(kept) == found
    assert all("1" in path.read_text() for path in kept)
    assert ("ZeroDivisionError" if way == "crashes" else "Hang") in said[0]


def only_numbers(self: fuzz.Readers, folder: object) -> None:
    self.all = {"number": self._number}
