"""Exact accounting: composition over a schedule, conversions, amplification, calibration."""

from dpcheck.accounting.account import Account, ReleaseCost, Stretch, account
from dpcheck.accounting.amplification import (
    largest_local_epsilon,
    shuffle_delta,
    shuffle_epsilon,
    shuffle_epsilon_exact,
    shuffle_limit,
    shuffled,
    subsampled_epsilon,
)
from dpcheck.accounting.calibration import (
    classic_gaussian_sigma,
    gaussian_mu,
    gaussian_sigma,
    laplace_scale,
    smallest_noise,
)
from dpcheck.accounting.composition import Composition, advanced_composition, optimal_delta, optimal_epsilon
from dpcheck.accounting.conversion import (
    group,
    pure_renyi,
    pure_to_zcdp,
    renyi_to_delta,
    renyi_to_epsilon,
    zcdp_for,
    zcdp_to_delta,
    zcdp_to_epsilon,
    zcdp_to_epsilon_simple,
)

__all__ = [
    "Account",
    "Composition",
    "ReleaseCost",
    "Stretch",
    "account",
    "advanced_composition",
    "classic_gaussian_sigma",
    "gaussian_mu",
    "gaussian_sigma",
    "group",
    "laplace_scale",
    "largest_local_epsilon",
    "optimal_delta",
    "optimal_epsilon",
    "pure_renyi",
    "pure_to_zcdp",
    "renyi_to_delta",
    "renyi_to_epsilon",
    "shuffle_delta",
    "shuffle_epsilon",
    "shuffle_epsilon_exact",
    "shuffle_limit",
    "shuffled",
    "smallest_noise",
    "subsampled_epsilon",
    "zcdp_for",
    "zcdp_to_delta",
    "zcdp_to_epsilon",
    "zcdp_to_epsilon_simple",
]
