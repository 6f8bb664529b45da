"""What the files of this folder share: the paper, and the expressions that recur.

Letters: D is the diameter that the paper writes R, H the smoothness β, ζ and γ failure probabilities, K the users of a
minibatch (or records of a pool), N the users of a group (or of a pool), C the number of groups. Logarithms are natural.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.claims import Claim, Paper
from dpcheck.derivations import Proof
from dpcheck.symbols import D, H, L, R, T, d, delta, epsilon, gamma, index, last, m, n, positive, q, sequences

PAPER = Paper(
    key="user_level",
    title="Faster Algorithms for User-Level Private Stochastic Convex Optimization",
    authors="Andrew Lowy, Daogao Liu, Hilal Asi",
    reference="NeurIPS 2024, as extracted from its HTML version",
)
claim = PAPER.claim
N, K, V, U, Delta, h, r, s, u, x, ell = positive("N K V U Delta h r s u x ell")
etas, Ts, sigmas, lambdas, ns, gaps = sequences("eta T sigma lambda n Delta")
Cs, Ks, Ns, radii, taus, bs = sequences("C K N R tau b")
"""Of the phases of a schedule: `etas[index]`."""
BEST_Q = sp.log(1 + 1 / sp.log(n, 2), 2)
"""The exponent of the phases' sizes that makes the last one largest (`claim-3-4@derived`)."""
LAST_PHASE = sp.floor(sp.log(n, 2))
"""l."""
LOG = sp.log(1 / delta)
CONDITION = sp.log(20 * n * m * sp.exp(epsilon) / delta)
"""log(20nme^ε/δ), which sets the number of groups."""
CONDITION_D = sp.log(20 * n * m * d * sp.exp(epsilon) / delta)
SHARE = 1 - 2**-q
"""n_i = (1 − 2^(−q)) n/2^(iq)."""
USERS = (SHARE * n / 2 ** (index * q)).subs(q, BEST_Q)
"""n_i at that exponent, before rounding."""
GAUSSIAN_VARIANCE = 2 * Delta**2 * sp.log(2 / delta) / epsilon**2
"""σ² of Definition A.5."""
HALT = (4 * sp.exp(-K * epsilon / 80) - sp.exp(-K * epsilon / 40)) / 6
"""P(Lap(8/ε) − Lap(16/ε) > K/5)."""
OWN_USER = sp.exp(epsilon) * gamma + delta
"""P(an (ε, δ)-private point is bad for one of its own users), γ for a fresh one."""
BALL_SMOOTHNESS = L * sp.sqrt(d) / r
"""Of a mean over the ball of radius r."""
GROUPS = 100 * CONDITION / epsilon
ENOUGH_USERS = sp.Gt(n ** (1 - q), 100 * CONDITION_D / (epsilon * SHARE))
STATISTICAL = 1 / sp.sqrt(n * m)
PRIVATE = sp.sqrt(d) / (epsilon * n * sp.sqrt(m))
LOWER = D * L * (STATISTICAL + PRIVATE)
OPTIMAL = D * L * (STATISTICAL + sp.sqrt(d * LOG) / (epsilon * n * sp.sqrt(m)))
LINEAR_TIME = D * L * (1 / sp.sqrt(n * m * epsilon) + sp.sqrt(d * LOG) / (epsilon * sp.sqrt(n * m)))
LINEAR_TIME_PROVED = D * L * sp.sqrt(d / (n * m * epsilon))
TRIVIAL = D * L * (STATISTICAL + sp.sqrt(d) / (epsilon * n))
BS23_SMOOTHNESS = L * epsilon**3 / D * sp.sqrt(n**3 / (m * d**3))
BS23_GRADIENTS = m * n ** sp.Rational(3, 2)
AL24_GRADIENTS = H * (n * m) ** sp.Rational(3, 2)
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
BUDGET = (sp.Le(epsilon, 10), sp.Lt(delta * m * n, 1))
AT_LOG = {LOG: ell}
SIZES = [d >= 1, n >= 1, m >= 1]
FREE = Regime(base=None, others="free", where=SIZES)
LEGAL = Regime(base=None, others="free", where=[*SIZES, epsilon <= 1, ell >= 1])
WITH_LOG = sp.sqrt(d * ell) / (epsilon * n * sp.sqrt(m))


def bounded(proof: Proof, *labels: str) -> None:
    """ε is at most a constant, as `LEGAL` has it."""
    for label in labels:
        proof.assumes(label, epsilon, 10)


def setting(of: Claim, label: str, title: str, statement: str, value: sp.Expr, **changes: Any) -> Claim:
    """What the algorithm of a claim sets one of its parameters to."""
    given = {"quantity": title, "measures": "", "relation": "=", "explicit": value, "about": (of.label,)}
    return of.as_read(label, f"{of.title.partition(' (')[0]}: {title}", statement, **given | changes)


def steps(smoothness: sp.Expr) -> sp.Expr:
    """T_i."""
    return sp.ceiling((1 + sp.sqrt(smoothness / lambdas[index])) * sp.log(n * d * m))


def that_fit(batch: sp.Expr) -> sp.Expr:
    """K_i, rounded up, at most the N users of the phase, and at least N/T of them."""
    return sp.Min(N, sp.Max(sp.ceiling(batch), sp.ceiling(N / T)))


def least_sum(proof: Proof, falling: sp.Expr, rising: sp.Expr) -> sp.Expr:
    """The least value of falling/x + rising x over x > 0, which moves a parameter away from the printed one."""
    first, second = positive("a_1 a_2")
    least = sp.sqrt(first / second)
    proof.equal("stationary there", lambda: sp.diff(first / x + second * x, x).subs(x, least), 0)
    value = proof.equal("the sum there", lambda: first / least + second * least, 2 * sp.sqrt(first * second))
    return sp.sympify(value.subs({first: falling, second: rising}, simultaneous=True))


def capped(most: sp.Expr, bound: sp.Expr) -> sp.Expr:
    """The smaller of both, as written: SymPy would take long to find that it cannot compare them."""
    return sp.Min(most, bound, evaluate=False)


def _noise(i: sp.Expr) -> sp.Expr:
    """How far the output of phase i lies from its average: √d σ_i, at most R where outputs are projected."""
    return sp.Min(R, sp.sqrt(d) * sigmas[i])


def _leg(i: sp.Expr, start: sp.Expr) -> sp.Expr:
    """Regret of phase i of SGD, whose start is so far from the comparator."""
    return start**2 / (2 * etas[i] * Ts[i]) + etas[i] * L**2 / 2


def _left(i: sp.Expr) -> sp.Expr:
    """A_i: squared distance of the output of a regularised phase from its minimiser."""
    return sp.Min(D**2, 2 / lambdas[i] * gaps[i])


def _phase(i: sp.Expr, squared: sp.Expr) -> sp.Expr:
    """Stability and regulariser of phase i."""
    return 2 * L**2 / (lambdas[i] * ns[i] * m) + lambdas[i] / 2 * squared


LEGS = _leg(1, D) + sp.Sum(_leg(index, _noise(index - 1)), (index, 2, last)) + L * _noise(last)
ACCELERATED = _phase(1, R**2) + sp.Sum(_phase(index, _left(index - 1)), (index, 2, last)) + L * sp.sqrt(_left(last))

# Scores and thresholds are noised by Laplace variables of scale b_i, which is 20/ε and 8/ε in print.
APART = (taus[index] / (etas[index] * L * sp.sqrt(Ts[index])) - 4) / 8
"""√(2 log(1/ζ)) of Lemma 2.3 without dimension, at the distance τ_i."""
PAIRS = Cs[index] * (Cs[index] - 1) / 2 * sp.exp(-(sp.Max(0, APART) ** 2) / 2)
REMOVED_ITERATE = sp.Piecewise((0, etas[index] * L * (Ts[index] - 1) <= taus[index]), (PAIRS, True))
_BAD_PHASE = sp.exp(-Cs[index] / (5 * bs[index])) / 2 + REMOVED_ITERATE
BAD_PHASES = capped(sp.S.One, sp.Sum(_BAD_PHASE, (index, 1, last)))
"""ξ of Algorithm 1: a full score halts by the tail of its noise; all pairs of averages are within τ_i by Lemma 2.3."""
FAR = 2 * sp.exp(-m * taus[index] ** 2 / (8 * L**2))
"""P(a user is farther than τ_i/2 from the mean gradient at a point that does not depend on him), by Pinelis."""
REMOVED_GRADIENT = sp.Piecewise((0, taus[index] >= L), (Ks[index] * OWN_USER.subs(gamma, FAR), True))
HALTED = HALT.subs({epsilon: 8 / bs[index], K: Ks[index]}, simultaneous=True)
BAD_STEPS = capped(sp.S.One, sp.Sum(Ts[index] * (REMOVED_GRADIENT + HALTED), (index, 1, last)))
"""ξ of Algorithm 3: all pairs are within 2τ when all users are within τ of the mean."""
