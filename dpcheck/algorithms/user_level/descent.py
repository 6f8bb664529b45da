"""One-pass projected SGD, and what its average is worth: the steps of Algorithm 1 and of the baseline."""

from __future__ import annotations

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Workload, procedure


@procedure("user_level/proc-sgd")
def sgd(workload: Workload, samples: Array, eta: float, start: Array) -> Array:
    """x_{t+1} = Π(x_t - eta ∇f(x_t, z_t), each sample once: the mean of x_0, ..., x_{T-1}.

    Args:
        workload: of one sample.
        samples: (trials or 1, C, T, *record), C sequences in their order.
        start: (trials or 1, d).

    Returns:
        (trials, C, d); T gradients a sequence.
    """
    steps = samples.shape[2] if samples.ndim > 3 else 0
    if steps < 1 or not eta > 0:
        raise InvalidInput(f"SGD needs T >= 1 samples and eta > 0, got samples {samples.shape} and eta = {eta!r}")
    shape = (max(len(samples), len(start)), samples.shape[1], start.shape[-1])
    x = np.array(np.broadcast_to(start[:, None], shape))
    total = np.zeros(shape)
    for t in range(steps):
        total += x
        x = workload.project(x - eta * workload.gradient(x, samples[:, :, t]))
    return total / steps


def movement(eta: float, lipschitz: float, steps: int) -> float:
    """Distance between two averages of `steps` steps from one start: eta L (T - 1), each half of it from the start."""
    return eta * lipschitz * (steps - 1)
