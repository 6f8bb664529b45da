"""Rates that the paper compares with, as numbers: for plots and comparisons, hidden constants taken as 1."""

from __future__ import annotations

import math

from dpcheck.algorithms.lp_spaces.regular import check_p, kappa
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import procedure


@procedure("lp_spaces/proc-bassily21")
def constrained_rate(n: int, d: int, p: float, M: float, epsilon: float, delta: float) -> float:
    """Excess risk of constrained l_p optimisation for Lipschitz losses (Bassily, Guzmán, Nandi 2021), without logs.

    (M + M^2)(sqrt(kappa/n) + kappa x) for 1 < p < 2, M d^(1/2 - 1/p)(1/sqrt n + x) for p >= 2, x =
    sqrt(d log(1/delta))/(n epsilon).
    """
    if not (n >= 1 and d >= 1 and M > 0 and epsilon > 0 and 0 < delta < 1):
        raise InvalidInput(f"needs n, d >= 1, M, epsilon > 0 and 0 < delta < 1, got {n}, {d}, {M}, {epsilon}, {delta}")
    x = math.sqrt(d * math.log(1 / delta)) / (n * epsilon)
    if p >= 2:
        return float(M * d ** (1 / 2 - 1 / p) * (1 / math.sqrt(n) + x))
    check_p(p, "lp_spaces/proc-bassily21")
    regular = kappa(p, d, "safe")
    return (M + M**2) * (math.sqrt(regular / n) + regular * x)
