"""Is the noise that a run adds there, and fresh? Looks at residuals (output - core) of the additive releases.

Noise that is missing, or shared between uses, trials or coordinates, leaves every sensitivity intact: replay does not
see it. Equal continuous draws do not happen by chance, so finding them is no matter of statistics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.interfaces import Array, Schedule
from dpcheck.laws import Gaussian, GeneralizedGaussian, IsotropicLaplace, Laplace, PerRecord
from dpcheck.running import Transcript
from dpcheck.verdicts import Verdict, consistent, refuted

ADDITIVE = (Gaussian, GeneralizedGaussian, IsotropicLaplace, Laplace, PerRecord)
EQUAL = 1e-11
"""Draws this close, relative to the core and the noise, count as equal."""


@dataclass(frozen=True)
class _Draw:
    """Noise of one use in units of its scale, (trials, k), and what rounding may have done to it."""

    name: str
    use: int
    noise: Array
    rounding: float


def reused(schedule: Schedule[Any], transcript: Transcript) -> list[str]:
    """What is wrong with the noise, in words; empty when every draw is there and new.

    Noise counts as reused when it is equal in units of its scale: a stream restarted at every call is found even where
    the scales differ.
    """
    draws = list(_draws(schedule, transcript))
    lines = [f"{_place(draw)} is released without noise" for draw in draws if np.all(np.nan_to_num(draw.noise) == 0)]
    noisy = [draw for draw in draws if np.any(np.nan_to_num(draw.noise) != 0)]
    for draw in noisy:
        rows = draw.noise
        if len(rows) > 1 and _equal(rows[:-1], rows[1:], draw.rounding):
            lines.append(f"{_place(draw)} has the same noise in every trial")
        if rows.shape[1] > 1 and _equal(rows[:, :-1], rows[:, 1:], draw.rounding):
            lines.append(f"{_place(draw)} has the same noise in every coordinate")
    for i, draw in enumerate(noisy):
        for other in noisy[:i]:
            width = min(draw.noise.shape[1], other.noise.shape[1])
            both = draw.noise[:, :width], other.noise[:, :width]
            if _equal(*both, max(draw.rounding, other.rounding)):
                lines.append(f"{_place(draw)} has the noise of {_place(other)}")
                break
    return lines


def verdict(schedule: Schedule[Any], transcript: Transcript) -> Verdict:
    """REFUTED where noise is missing or reused; CONSISTENT otherwise, since one run shows only what it shows."""
    words = reused(schedule, transcript)
    uses = sum(1 for _ in _draws(schedule, transcript))
    numbers: dict[str, float | int | str | bool] = {"uses": uses, "findings": len(words)}
    if words:
        more = f" (and {len(words) - 1} more)" if len(words) > 1 else ""
        return refuted(f"{words[0]}{more}", "exact", numbers=numbers)
    reason = f"the noise of {uses} uses is there and new in every trial examined"
    return consistent(reason, "exact", numbers=numbers, notices="noise that is missing or reused in a trial examined")


def _draws(schedule: Schedule[Any], transcript: Transcript) -> Iterator[_Draw]:
    laws = {release.name: release.law for release in schedule.releases}
    uses: dict[str, int] = {}
    for entry in transcript.entries:
        law, use = laws[entry.name], uses.get(entry.name, 0)
        uses[entry.name] = use + 1
        if not isinstance(law, ADDITIVE):
            continue
        rows = entry.output.reshape(len(entry.output), -1)
        live = np.asarray(~np.isnan(rows).any(axis=1))
        if live.any():
            core = entry.core.reshape(len(entry.core), -1)
            noise = np.where(live[:, None], (rows - core) / law.noise, np.nan)
            size = max(1.0, float(np.abs(core[live]).max()) / law.noise)
            yield _Draw(entry.name, use, noise, EQUAL * size)


def _equal(first: Array, second: Array, rounding: float) -> bool:
    """Equal up to rounding in at least two numbers and in most of those that both have."""
    both = np.asarray(np.isfinite(first) & np.isfinite(second))
    if not both.any():
        return False
    one, other = np.asarray(first[both]), np.asarray(second[both])
    close = np.asarray(np.abs(one - other) <= rounding * np.maximum(1.0, np.abs(one)))
    return bool(close.sum() >= min(2, close.size) and close.mean() > 0.5)


def _place(draw: _Draw) -> str:
    return f"use {draw.use + 1} of {draw.name!r}"
