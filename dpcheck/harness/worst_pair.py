"""How loose an account can be: epsilon of one record that attains every claimed sensitivity at once, from below.

The accountant bounds epsilon from above for every record; this is what one record costs that moves each release by all
that the plan claims. The truth for the class lies between the two, so their quotient is the most that the accountant
can be loose by. Known for Gaussian and Laplace noise, and for Gaussian noise on hidden samples: a record that is +1 on
one side and -1 on the other, among zeros. Every other law adds nothing, which keeps the answer a lower bound.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpcheck.accounting import Account
from dpcheck.accounting.account import Stretch
from dpcheck.accounting.amplification import copies
from dpcheck.accounting.parts import Plain, Sampled
from dpcheck.interfaces import Array
from dpcheck.laws import Gaussian
from dpcheck.privacy import GaussianDP

CELLS = 2**19
"""Of the grid of summed losses."""
OUTPUTS = 40_000
"""Cells of the output of one sampled release."""


def epsilon(spent: Account, delta: float) -> float:
    """Epsilon at `delta` of the worst record that attains every claimed sensitivity, from below; 0 when unknown."""
    return max((_of_stretch(stretch, delta) for stretch in spent.stretches), default=0.0)


def _of_stretch(stretch: Stretch, delta: float) -> float:
    square, best = 0.0, 0.0
    for part in stretch.parts:
        if isinstance(part, Plain) and isinstance(part.law, Gaussian):
            square += part.count * (part.sensitivity / part.law.sigma) ** 2
        elif isinstance(part, Sampled) and isinstance(part.law, Gaussian):
            chances = drawn(part)
            units = 2 * part.law.sigma / part.sensitivity
            best = max(best, sampled_epsilon(chances, units, part.count, delta)[0])
    if square > 0 and delta > 0:
        best = max(best, _gaussian(math.sqrt(square), delta))
    return best


def _gaussian(mu: float, delta: float) -> float:
    """Epsilon of mu-Gaussian DP; where float64 ends, one less than the loss that is exceeded with chance 2 delta."""
    if mu < 30:
        return GaussianDP(mu).epsilon_at(delta)
    return max(0.0, mu * mu / 2 + mu * float(scipy.special.ndtri(1 - 2 * delta)) - 1) if delta < 0.5 else 0.0


def drawn(part: Sampled) -> Array:
    """Probabilities that one use draws the record 0, 1, 2, ... times."""
    if part.sampling.kind == "with-replacement":
        return copies(part.sampling.size, part.rows)[0]
    rate = min(1.0, part.sampling.size / part.rows)
    return np.array([1 - rate, rate])


def sampled_epsilon(chances: Array, sigma: float, count: int, delta: float) -> tuple[float, float]:
    """Epsilon of `count` uses of K + sigma N against -K + sigma N, P(K = k) = chances[k]: from below and from above.

    The loss grows with the output, so its law follows from tail probabilities; rounded down or up to a grid it is
    composed by fast Fourier transform. The two sides are apart by at most `count` cells of that grid.

    Args:
        sigma: in units of half of what one draw moves.
    """
    k = np.arange(len(chances))
    log_p = np.log(np.maximum(chances, 1e-300)) - k**2 / (2 * sigma * sigma)
    x = np.linspace(-12 * sigma - float(k[-1]), 12 * sigma + float(k[-1]), OUTPUTS + 1)
    shift = k * x[:, None] / (sigma * sigma)
    loss = scipy.special.logsumexp(log_p + shift, axis=1) - scipy.special.logsumexp(log_p - shift, axis=1)
    mass = np.diff((chances * scipy.special.ndtr((x[:, None] - k) / sigma)).sum(axis=1))
    # The grid wraps around, so that it has to hold all sums that are not vanishingly rare.
    mean = float(mass @ loss[1:])
    reach = count * abs(mean) + 20 * math.sqrt(count * float(mass @ (loss[1:] - mean) ** 2))
    step = 2 * (reach + 4 * float(np.abs(loss).max())) / CELLS
    low = _composed(np.floor(loss[:-1] / step), mass, count, step, delta)
    return low, _composed(np.ceil(loss[1:] / step), mass, count, step, delta)


def _composed(cells: Array, mass: Array, count: int, step: float, delta: float) -> float:
    """Epsilon at `delta` of the sum of `count` losses of this law."""
    single = np.bincount(cells.astype(np.intp) % CELLS, weights=mass, minlength=CELLS)
    total = np.maximum(scipy.fft.irfft(scipy.fft.rfft(single) ** count, CELLS), 0.0)
    losses = step * (((np.arange(CELLS) + CELLS // 2) % CELLS) - CELLS // 2)
    keep = losses > 0
    losses, total = losses[keep], total[keep]

    def excess(e: float) -> float:
        return float((total * -np.expm1(np.minimum(0.0, e - losses))).sum()) - delta

    return 0.0 if excess(0.0) <= 0 else float(scipy.optimize.brentq(excess, 0.0, float(losses[-1])))
