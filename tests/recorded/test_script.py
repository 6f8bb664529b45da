"""Scripts that show a violation without dpcheck: run as anyone would, and held against counts of our own."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy

import dpcheck as dp
from dpcheck.recorded import script
from dpcheck.recorded.rows import both_rows

SIZE = 4000


def run(text, folder, **files):
    for name, values in files.items():
        np.save(folder / f"{name}.npy", values)
    (folder / "show.py").write_text(text, encoding="utf-8")
    assert "dpcheck" not in text
    done = subprocess.run([sys.executable, "show.py"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(x, y, claim, folder):
    """The script of an audit of two samples, and what it says."""
    found = dp.audit_samples(x, y, claim, name="mine")
    assert found.outcome.value == "refuted"
    text = script.of(found, both_rows(x, y, halts=True), script.loaded("x.npy", "y.npy", ordered=True))
    return text, run(text, folder, x=x, y=y)


def test_ten_lines_that_count(tmp_path):
    rng = np.random.default_rng(1)
    x, y = rng.laplace(size=SIZE), 2 + rng.laplace(size=SIZE + 1)
    text, said = shown(x, y, dp.PureDP(1.0), tmp_path)
    assert len(text.splitlines()) <= 12
    event = script.simplest_event(x[: SIZE // 2], y[: SIZE // 2], 0.0, 0.05)
    hits = [int(event.holds(rows[len(rows) // 2 :]).sum()) for rows in (x, y)]
    runs = [len(rows) - len(rows) // 2 for rows in (x, y)]
    if event.swapped:
        hits, runs = hits[::-1], runs[::-1]
    assert said.startswith(f"{hits[0]} of {runs[0]}, {hits[1]} of {runs[1]}: epsilon >= ")
    found = float(said.split(">= ")[1].split(",")[0])
    assert found == pytest.approx(script.bound(hits[0], runs[0], hits[1], runs[1], 0.0, 0.05), abs=1e-4)
    assert 1 < found < 2  # true epsilon 2


def test_other_outputs(tmp_path):
    rng = np.random.default_rng(2)
    bits = rng.random((2, SIZE)) < np.array([[0.2], [0.7]])
    words = np.where(bits, 'it\'s\n"up"; import os', "down")
    text, said = shown(words[0], words[1], dp.PureDP(0.5), tmp_path)
    assert "epsilon >= 1." in said or "epsilon >= 0.9" in said
    columns = [np.stack([rng.normal(size=SIZE), rng.normal(size=SIZE) + 3 * shift], axis=1) for shift in (0, 1)]
    text, said = shown(columns[0], columns[1], dp.ApproxDP(0.5, 1e-3), tmp_path)
    assert "z.reshape(len(z), -1)[:, 1]" in text
    halts = [np.where(b, np.nan, rng.normal(size=SIZE)) for b in bits]
    event = script.simplest_event(*halts, 0.0, 0.05)
    assert (event.text, event.swapped) == ("np.isnan(z)", True)


def test_the_bound_errs_rarely():
    """True epsilon 1 by one event, 400 scripts: at most 5 % above it, as many as are seen with probability >= 0.001."""
    rng = np.random.default_rng(3)
    above = sum(
        script.bound(rng.binomial(200, 0.5), 200, rng.binomial(200, 0.5 / np.e), 200, 0.0, 0.05) > 1 for _ in range(400)
    )
    assert scipy.stats.binom.sf(above - 1, 400, 0.05) > 0.001


def test_where_no_event_of_one_column_shows_it():
    """The product of the columns leaks, neither column does."""
    rng = np.random.default_rng(4)
    x, y = rng.choice([-1.0, 1.0], size=(2, SIZE, 2))
    y[:, 1] = y[:, 0]
    found = dp.audit_samples(x, y, dp.PureDP(0.5))
    assert found.outcome.value == "refuted"
    with pytest.raises(dp.InvalidInput, match="no half-line or value of one column shows it"):
        script.of(found, (x, y), [])
    with pytest.raises(dp.InvalidInput, match="rows of another kind"):
        script.of(found, both_rows([["a", 1]] * 99, [["b", 1]] * 99, halts=False), [])


def test_files_that_numpy_does_not_read(tmp_path):
    with pytest.raises(dp.InvalidInput, match=r"two \.npy files or one \.npz file"):
        script.loaded("both.jsonl", ordered=True)
    np.savez(tmp_path / "it's.npz", x=np.zeros(3), y=np.ones(3))
    lines = script.loaded(str(tmp_path / "it's.npz"), ordered=False)
    names: dict[str, object] = {"np": np}
    exec("\n".join(lines), names)
    assert (names["x"].tolist(), names["y"].tolist()) == ([0.0, 0.0], [1.0, 1.0])
