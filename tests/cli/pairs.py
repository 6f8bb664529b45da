"""The pair of most tests of `dpcheck audit`, as files and as arguments: ten zeros, and one of them changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

FILES = ("--data", "a.npy", "--neighbour", "b.npy")
PAIR = (*FILES, "--epsilon", "1")


def save_pair(folder: Path) -> None:
    """`a.npy` and `b.npy` of `FILES`."""
    np.save(folder / "a.npy", np.zeros(10))
    np.save(folder / "b.npy", np.eye(10)[3])
