"""Seeded bugs whose laws, and so the fewest runs of any test, are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import scipy

from dpcheck.auditing.scores import LikelihoodRatio
from dpcheck.engine.catalogue import seeded_bugs
from dpcheck.testing import AuditKill


def _densities(law: Any, data: float, neighbour: float, scale: float) -> LikelihoodRatio:
    return LikelihoodRatio(lambda y: law.logpdf(y, data, scale), lambda y: law.logpdf(y, neighbour, scale))


def known_densities() -> dict[str, AuditKill]:
    """Seeded bugs that are told both densities of their output."""
    told = {
        "laplace-half-sensitivity": _densities(scipy.stats.laplace, -1.0, -0.9, 0.05),
        "laplace-one-end-of-the-range": _densities(scipy.stats.laplace, 0.0, 0.2, 0.05),
        "laplace-scale-a-fifth-too-small": _densities(scipy.stats.laplace, 0.0, 1.0, 0.8),
        "gaussian-half-the-deviation-at-a-point": _densities(scipy.stats.norm, 0.0, 1.0, 0.5),
    }
    bugs = audited_bugs()
    return {name: replace(bugs[name], options={**bugs[name].options, "score": ratio}) for name, ratio in told.items()}


def audited_bugs() -> dict[str, AuditKill]:
    """Seeded bugs that an audit must find and whose fewest runs are known."""
    kills = {name: bug.kill for name, bug in seeded_bugs().items() if not bug.lookalike}
    return {name: kill for name, kill in kills.items() if isinstance(kill, AuditKill) and kill.computable}
