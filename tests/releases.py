"""Schedules of nothing but releases, for tests of what they cost."""

from __future__ import annotations

from typing import Any

from dpcheck.interfaces import Law, Read, Release, Schedule
from dpcheck.privacy import Guarantee


def plan(*releases: Release, claimed: Guarantee | None = None) -> Schedule[Any]:
    return Schedule(phases=(), releases=releases, gradients=0, floats_per_trial=1, claimed=claimed)


def release(name: str, law: Law, start: int, stop: int, sensitivity: float = 1.0, count: int = 1, **read) -> Release:
    return Release(
        name=name, law=law, count=count, reads=(Read(start=start, stop=stop, sensitivity=sensitivity, **read),)
    )
