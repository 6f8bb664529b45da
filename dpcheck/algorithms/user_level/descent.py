"""One-pass projected SGD, and what its average is worth: the steps of Algorithm 1 and of the baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Leg:
    """One phase: step size, steps, and the deviation of the noise on its output."""

    eta: float
    steps: int
    sigma: float


def phased_bound(legs: Sequence[Leg], *, lipschitz: float, distance: float, d: int, projected: bool) -> float:
    """Expected excess risk of phases that start where the noisy output before lies: Lemma B.3 in its sharp form.

    The first phase pays R^2/(2 eta T), every later one the squared noise before it over 2 eta T, all of them eta L^2/2,
    and the last output L times its noise. A projection does not move a point of the domain away, nor beyond R.
    """
    cap = distance if projected else math.inf
    noise = [min(cap, math.sqrt(d) * leg.sigma) for leg in legs]
    before = [distance, *noise[:-1]]
    terms = [
        gap * gap / (2 * leg.eta * leg.steps) + leg.eta * lipschitz**2 / 2
        for leg, gap in zip(legs, before, strict=True)
    ]
    return math.fsum(terms) + lipschitz * noise[-1]
