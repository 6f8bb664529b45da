"""The geometry of Section 5: regularity constants, mirror maps, the noise, and the budget of one shuffled record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dpcheck.accounting import largest_local_epsilon
from dpcheck.errors import InvalidInput
from dpcheck.geometry import PowerMap
from dpcheck.geometry.norms import Regularity, dual_exponent, regularity
from dpcheck.interfaces import BudgetRange, Constants, procedure
from dpcheck.laws import GeneralizedGaussian

BUDGETS = BudgetRange(largest_epsilon=1.0, attained=False, delta_below=1.0)
KappaRule = Literal["paper", "safe"]
ExponentRule = Literal["paper", "corrected"]


def check_p(p: float, label: str, *, euclidean: bool = False) -> None:
    """Raises `InvalidInput` unless 1 < p < 2 (or p = 2 where the Euclidean case is allowed)."""
    if not (1 < p < 2 or (euclidean and p == 2)):
        raise InvalidInput(f"{label} needs an exponent 1 < p < 2, got {p!r}; p >= 2 is lp_spaces/proc-phased-sgd")


def dual_regularity(p: float, d: int) -> Regularity:
    """Regularity of the dual of l_p^d, 1 < p <= 2."""
    return regularity(dual_exponent(p), d)


def kappa(p: float, d: int, rule: KappaRule) -> float:
    """The regularity constant: as the paper uses it, min{1/(p-1), 2 log d}, or the smallest that is one."""
    if rule not in ("paper", "safe"):
        raise InvalidInput(f"the rule for kappa must be 'paper' or 'safe', got {rule!r}")
    regular = dual_regularity(p, d)
    return regular.kappa if rule == "safe" else regular.kappa_plus


@procedure("lp_spaces/proc-mirror-map")
def mirror_map(p: float, d: int, rule: ExponentRule = "corrected") -> PowerMap:
    """Phi = kappa/2 |.|_s^2, whose gradient and inverse are closed forms.

    Args:
        rule: "corrected" takes the exponent dual to the smooth norm and the regularity constant of Definition 3;
            "paper" the printed kappa/(kappa - 1), above 2 for p > 3/2: Phi is then strictly, not strongly convex.

    Raises:
        InvalidInput: the printed exponent is not finite, as kappa <= 1.
    """
    regular = dual_regularity(p, d)
    if rule == "corrected":
        return PowerMap(regular.s, regular.kappa)
    if rule != "paper":
        raise InvalidInput(f"the rule for the exponent must be 'paper' or 'corrected', got {rule!r}")
    printed = printed_exponent(p, d)
    if not printed < math.inf:
        raise InvalidInput(
            f"the printed exponent kappa/(kappa - 1) is not finite at p = {p:g}, d = {d}, where kappa <= 1; use the "
            "corrected exponent"
        )
    return PowerMap(printed, regular.kappa_plus)


def printed_exponent(p: float, d: int) -> float:
    """kappa/(kappa - 1), inf at kappa = 1."""
    printed = kappa(p, d, "paper")
    return printed / (printed - 1) if printed > 1 else math.inf


@procedure("lp_spaces/proc-gg")
def generalised_gaussian(sigma: float, p: float, d: int) -> GeneralizedGaussian:
    """Noise for gradients in the dual of l_p: density exp(-|z|_r^2/(2 sigma^2)), r the smooth exponent.

    The law carries the regularity constant that Definition 3 allows, whatever constant calibrated sigma: the accountant
    charges what the noise is worth.
    """
    regular = dual_regularity(p, d)
    return GeneralizedGaussian(sigma, regular.r, regular.kappa)


def steepness(constants: Constants, p: float, label: str) -> float:
    """L in l_p, finite. Raises `InvalidInput`."""
    L = constants.lipschitz(p)
    if not (math.isfinite(L) and L > 0):
        raise InvalidInput(f"{label} needs Lipschitz losses with a constant > 0 in l_{p:g}, got {L!r}")
    return L


@dataclass(frozen=True)
class Local:
    """What one shuffled record may spend: (epsilon, delta)-DP by itself."""

    epsilon: float
    delta: float


@procedure("lp_spaces/proc-shuffle")
def local_budget(epsilon: float, delta: float, n: int) -> Local | None:
    """The largest local budget, epsilon_0 <= 1, that shuffling n records amplifies to (epsilon, delta).

    Half of delta goes to the amplification theorem, half to the local delta_0. None when even epsilon_0 = 1 stays below
    epsilon: the low-privacy range is lp_spaces/proc-batched-md.
    """
    from dpcheck.accounting import shuffle_epsilon

    if shuffle_epsilon(1.0, n, delta / 2) < epsilon:
        return None
    local = largest_local_epsilon(epsilon, n, delta / 2, limit=1.0)  # the same: at 1 the budget is spent, or more
    return Local(local, delta / (2 * n * (math.exp(epsilon) + 1) * (1 + math.exp(-local) / 2)))
