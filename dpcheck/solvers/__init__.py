"""Minimisers of regularised empirical risks that certify their gap, and the Lipschitz extensions that they minimise."""

from dpcheck.solvers.certified import Pushed, certified
from dpcheck.solvers.minimisers import (
    HALVINGS,
    Mask,
    Task,
    accelerated,
    acceleration_limit,
    bisected,
    closed_form,
    multiplier_search,
    solve,
    strong_gap,
    subgradient,
    trials_of,
    value,
)

__all__ = [
    "HALVINGS",
    "Mask",
    "Pushed",
    "Task",
    "accelerated",
    "acceleration_limit",
    "bisected",
    "certified",
    "closed_form",
    "multiplier_search",
    "solve",
    "strong_gap",
    "subgradient",
    "trials_of",
    "value",
]
