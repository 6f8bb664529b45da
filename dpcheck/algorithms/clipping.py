"""Clipping by Euclidean norm."""

from __future__ import annotations

import numpy as np

from dpcheck.interfaces import Array


def clip_norm(v: Array, level: float | Array) -> Array:
    """v min(1, level/|v|) over the last axis, (..., d); a level array broadcasts against the leading axes."""
    length = np.linalg.norm(v, axis=-1)
    shrink = np.minimum(1.0, level / np.where(length > 0, length, 1.0))
    return np.asarray(v * np.where(length > 0, shrink, 1.0)[..., None])
