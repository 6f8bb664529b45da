"""What the files of this folder share: the paper, and the expressions that recur.

Letters: D is the diameter that the paper writes R, H the smoothness β, ζ and γ failure probabilities, K the users of a
minibatch (or records of a pool), N the users of a group (or of a pool), C the number of groups. Logarithms are natural.
"""

import sympy as sp

from dpcheck.claims import Paper
from dpcheck.symbols import D, H, L, d, delta, epsilon, m, n, positive, q, sequences

PAPER = Paper(
    key="user_level",
    title="Faster Algorithms for User-Level Private Stochastic Convex Optimization",
    authors="Andrew Lowy, Daogao Liu, Hilal Asi",
    reference="NeurIPS 2024, as extracted from its HTML version",
)
claim = PAPER.claim

N, K, V, U, h, r, s, u, x, ell = positive("N K V U h r s u x ell")
etas, Ts, sigmas, lambdas, ns, gaps = sequences("eta T sigma lambda n Delta")
"""Of the phases of a schedule: `etas[index]`."""
LOG = sp.log(1 / delta)
CONDITION = sp.log(20 * n * m * sp.exp(epsilon) / delta)
"""log(20nme^ε/δ), which sets the number of groups."""
CONDITION_D = sp.log(20 * n * m * d * sp.exp(epsilon) / delta)
SHARE = 1 - 2**-q
"""n_i = (1 − 2^(−q)) n/2^(iq)."""
GROUPS = 100 * CONDITION / epsilon
ENOUGH_USERS = sp.Gt(n ** (1 - q), 100 * CONDITION_D / (epsilon * SHARE))

STATISTICAL = 1 / sp.sqrt(n * m)
PRIVATE = sp.sqrt(d) / (epsilon * n * sp.sqrt(m))
LOWER = D * L * (STATISTICAL + PRIVATE)
OPTIMAL = D * L * (STATISTICAL + sp.sqrt(d * LOG) / (epsilon * n * sp.sqrt(m)))
LINEAR_TIME = D * L * (1 / sp.sqrt(n * m * epsilon) + sp.sqrt(d * LOG) / (epsilon * sp.sqrt(n * m)))
LINEAR_TIME_PROVED = D * L * sp.sqrt(d / (n * m * epsilon))
TRIVIAL = D * L * (STATISTICAL + sp.sqrt(d) / (epsilon * n))

BOTH = sp.Min((m * n) ** sp.Rational(1, 8), (epsilon**2 * n**2 * m / d) ** sp.Rational(1, 8))
UNIT_SMOOTHNESS = H * D / L
LOGARITHMIC = (
    n ** sp.Rational(1, 4) * m ** sp.Rational(5, 4) / epsilon,
    n ** sp.Rational(1, 2) * m ** sp.Rational(5, 4) / (d ** sp.Rational(1, 4) * sp.sqrt(epsilon)),
)
"""What T_i steps cost at K_i ~ 1/ε, for the two parts of λ."""
GRADIENTS = m * n * (1 + epsilon * UNIT_SMOOTHNESS ** sp.Rational(1, 4) * BOTH) + sp.sqrt(UNIT_SMOOTHNESS) * sum(
    LOGARITHMIC
)
GRADIENTS_TIGHT = m * n * (1 + epsilon * UNIT_SMOOTHNESS ** sp.Rational(1, 4) * BOTH) + sp.sqrt(
    UNIT_SMOOTHNESS
) * sp.Min(*LOGARITHMIC)
SMOOTHED = m * n * (1 + n ** sp.Rational(3, 8) * m ** sp.Rational(1, 4) * epsilon ** sp.Rational(1, 4))
OMITTED = sp.Min(
    n ** sp.Rational(3, 4) * m ** sp.Rational(3, 2) / sp.sqrt(epsilon),
    n * m ** sp.Rational(3, 2) / d ** sp.Rational(1, 4),
)
"""T_i log(...)m/ε of the smoothed algorithm, T_i = √(β_r/λ), for the two parts of λ."""
SMOOTHED_DERIVED = m * n + n ** sp.Rational(11, 8) * m ** sp.Rational(5, 4) * epsilon ** sp.Rational(5, 4) + OMITTED

ETA = D / (L * sp.sqrt(d * m * n * epsilon))
LOG_RATIO = sp.log(n / delta) ** 2 / CONDITION
"""σ_i/τ_i of Algorithm 1."""
