"""Instances that several checks of this paper share."""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.pure_heavy_tails.localize import LocalizedOutputPert
from dpcheck.interfaces import Array, Problem
from dpcheck.privacy import PureDP
from dpcheck.workloads.linear import RareSpikes

BLOCKS = 9
"""J for experiments: as private as the proved J, without a certified risk."""
DELTA = 0.1
"""Failure probability of the accuracy statements (the paper's delta)."""


def practical(k: float, solver: str) -> LocalizedOutputPert:
    """Localised output perturbation with few blocks and the scaling of lambda_1 without its constant."""
    return LocalizedOutputPert(k=k, solver=solver, blocks=BLOCKS, c_erm=1.0)  # type: ignore[arg-type]


def problem(workload: RareSpikes, epsilon: float, delta: float = DELTA) -> Problem:
    return Problem(constants=workload.constants, privacy=PureDP(epsilon), failure_probability=delta)


def opposite_spikes(m: int, spike: float) -> tuple[Array, Array]:
    """The closed-form worst pair for linear losses on an interval: one record switched from +spike to -spike.

    Returns:
        data, neighbour: (1, m, 1).
    """
    data = np.zeros((1, m, 1))
    data[0, 0] = spike
    neighbour = data.copy()
    neighbour[0, 0] = -spike
    return data, neighbour
