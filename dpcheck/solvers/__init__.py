"""Minimisers of regularised empirical risks that certify their gap, and the Lipschitz extensions that they minimise."""

from dpcheck.solvers.certified import Pushed, certified
from dpcheck.solvers.minimisers import (
    HALVINGS,
    Mask,
    Task,
    acceleration_limit,
    multiplier_search,
    solve,
    subgradient,
    trials_of,
    value,
)

__all__ = [
    "HALVINGS",
    "Mask",
    "Pushed",
    "Task",
    "acceleration_limit",
    "certified",
    "multiplier_search",
    "solve",
    "subgradient",
    "trials_of",
    "value",
]
