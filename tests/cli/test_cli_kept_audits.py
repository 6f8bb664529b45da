"""Anytime audits that are kept: a smaller one never takes the place of a larger one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from dpcheck.engine.store import Store

Cli = Callable[..., Result]


def test_a_smaller_audit_never_replaces_a_larger_one(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command without --resume replaced yesterday's audit, without a word."""
    monkeypatch.chdir(tmp_path)
    Path("mech.py").write_text("def mean(data, rng, trials):\n    return data.sum() + rng.laplace(size=trials)\n")
    np.save("a.npy", np.zeros(1))
    np.save("b.npy", np.ones(1))
    run = ("audit", "mech.py:mean", "--data", "a.npy", "--neighbour", "b.npy", "--epsilon", "1", "--mode", "anytime")
    cli(*run, "--max-samples", "9000", "--adjacency", "none")
    small = cli(*run, "--max-samples", "3000", "--adjacency", "none")
    assert "a larger audit of mech.py:mean is kept in .dpcheck/store.db and stays there" in " ".join(
        small.stderr.split()
    )
    with Store(".dpcheck/store.db") as store:
        (state,) = store.audits("mech.py:mean")
        assert state["tested"] > 5000
        # One in the form of another version cannot go on, so it gives way.
        assert store.keep_audit("mech.py:mean", {**state, "version": 99, "tested": 7})
        assert [each["tested"] for each in store.audits("mech.py:mean")] == [7]
