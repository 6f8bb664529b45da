"""Gaussian releases among which every record has one random place: delta for every adaptive use, in closed form.

Let P and Q be the laws of all outputs with a record and with its replacement, R that without either, the places of the
others being given: dP/dR = 1 + q Σ_t X_t, X_t = e^{y_t} − 1, y_t = h<a_t, z_t> − h²|a_t|²/2, where q is the chance of a
place, z_t the noise over its deviation, and a_t, |a_t| <= 1, depends on earlier outputs alone. So a density ratio is a
martingale in t. `bounds/tsybakov.md`, alg-6, has the algebra.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpcheck.accounting.conversion import check_nonnegative
from dpcheck.errors import InvalidInput

BENT = math.e - 2
"""e^y − 1 <= y + BENT y² for y <= 1, and min(e^y, e) − 1 for all y."""
RATES = np.geomspace(1e-2, 1e2, 401)
"""Multiples of the rate at which the exponential moment of a Gaussian is least."""


def placing_delta(epsilon: float, shift: float, T: int, chance: float) -> float:
    """A delta at `epsilon` of T adaptive Gaussian releases, of which each record moves one drawn at random.

    With L and L' the two density ratios, (L − e^ε L')_+ is at most V_+ + q Σ (X_t − e + 1)_+, V being L − e^ε L' with
    each X_t of L cut at e − 1. E V_+ <= E e^{gV}/(eg) for every g > 0, a moment of Gaussian quadratics, step by step.

    Args:
        shift: what one record adds to a core, over the deviation of the noise; its replacement adds as much elsewhere.
        chance: of each of the T places, drawn once for each record, at most 1/T; else it is read nowhere.

    Raises:
        InvalidInput: an argument is out of range.
    """
    check_nonnegative("epsilon", epsilon)
    if not (shift > 0 and T >= 1 and 0 < chance * T <= 1 + 1e-12):
        raise InvalidInput(f"needs shift > 0 and T >= 1 places of chance at most 1/T, got {shift}, {T}, {chance}")
    if BENT * shift**2 > 1:
        return 1.0
    epsilon = min(epsilon, 300.0)  # no delta is larger at a larger epsilon
    grown, square = math.exp(epsilon), shift**2
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        rate = RATES * math.expm1(epsilon) / (T * chance**2 * square * (1 + grown) ** 2)
        step = rate * chance
        narrow = 1 - 2 * BENT * step * square
        drift = grown / 2 + np.maximum(BENT / narrow - 0.5 + BENT * square / 4, 0.0)
        spread = step * (1 + grown) ** 2 / (2 * narrow)
        moment = -rate * math.expm1(epsilon) + T * step * square * (drift + spread)
        cut = np.where(narrow > 0, np.exp(np.minimum(moment, 700.0)) / (math.e * rate), np.inf)
    rare = T * chance * float(scipy.special.ndtr(shift / 2 - 1 / shift))
    return min(1.0, float(cut.min()) + rare)
