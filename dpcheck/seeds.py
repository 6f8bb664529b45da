"""Where every random stream comes from: a root seed and a key of names, never the number of workers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

CHUNK = 8192
"""Trials drawn together: measured fastest and flat in memory for most schedules."""
MEMORY = 256 * 2**20
"""Bytes that one chunk of trials may take."""


def key_of(part: Any) -> int:
    """A 64-bit word that names `part` (a string, a number, or a JSON-able mapping) for ever."""
    text = part if isinstance(part, str) else json.dumps(part, sort_keys=True, default=str)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def words(*key: Any) -> tuple[int, ...]:
    """The 32-bit words of a key, two a part: those of a longer key begin with them."""
    return tuple(word for part in key for word in divmod(key_of(part), 2**32))


def stream(seed: int, *key: Any, after: tuple[int, ...] = ()) -> np.random.Generator:
    """The generator of (seed, key). Equal arguments give equal streams on every machine of one NumPy version.

    Args:
        after: `words` of the parts that come before, where many streams share them.

    >>> float(stream(0, "a", 1).random()) == float(stream(0, 1, after=words("a")).random())
    True
    """
    spawn_key = after + words(*key)
    return np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(seed, spawn_key=spawn_key)))


def chunk_size(floats_per_trial: int = 1) -> int:
    """How many trials to draw at once when one takes `floats_per_trial` float64 numbers at its peak."""
    return max(1, min(CHUNK, MEMORY // (8 * max(1, floats_per_trial))))


def chunks(seed: int, trials: int, floats_per_trial: int = 1, *key: Any) -> Iterator[tuple[np.random.Generator, int]]:
    """Splits `trials` into chunks, each with its own stream keyed by its number."""
    size = chunk_size(floats_per_trial)
    for number, start in enumerate(range(0, trials, size)):
        yield stream(seed, *key, number), min(size, trials - start)
