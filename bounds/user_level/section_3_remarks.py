"""Section 3: the remarks on the accelerated algorithm, and its restarts."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, H, L, d, epsilon, index, m, mu, n, rho

from ._paper import (
    AL24_GRADIENTS,
    AT_LOG,
    BS23_GRADIENTS,
    CONDITION_D,
    FREE,
    GRADIENTS_TIGHT,
    LOG,
    OPTIMAL,
    STATISTICAL,
    WITH_LOG,
    Ns,
    claim,
    radii,
    s,
    setting,
    u,
    x,
)

claim_3_3 = claim(
    "user_level/claim-3-3",
    "Remark 3.3",
    "The gradient complexity of Theorem 3.2 is below those of all near-optimal algorithms before it, on the ranges "
    "where these are legal: BS23 needs m < n and β < √(n/m).",
    kind="proposition",
    section="3",
    quantity="gradients, n = d, ε = 1, L = R = 1",
    relation="<=",
    order=sp.Min(BS23_GRADIENTS, AL24_GRADIENTS),
    about=("user_level/alg-3",),
    remark="Up to the floor nm: for β below 1/√(nm) AL24's formula β(nm)^{3/2} is below nm, which no algorithm "
    "that reads its data is.",
)

SQUARE = Regime(base=None, others="free", where=[n >= 1, m >= 1, H**2 * m * n >= 1])


@derivation("user_level/claim-3-3", SQUARE)
def fewer_gradients_than_before(proof: Proof) -> None:
    """At n = d, ε = 1, L = R = 1 the count of Theorem 3.2 against BS23's where that is legal, and against AL24's."""
    here = proof.uses("user_level/thm-3-2@derived", GRADIENTS_TIGHT).subs({d: n, epsilon: 1, D: 1, L: 1})
    legal = Regime(base=None, others="free", where=[n >= 1, m >= 1, H**2 * m * n >= 1, m <= n, H**2 * m <= n])
    proof.order_at_most("BS23, legal for m <= n and β <= √(n/m)", here, BS23_GRADIENTS, legal)
    proof.order_at_most("AL24, for β >= 1/√(nm): below that its formula is less than one pass", here, AL24_GRADIENTS)
    proof.concludes("user_level/claim-3-3", here, regime=legal, looser=True)


claim_3_4 = claim(
    "user_level/claim-3-4",
    "Remark 3.4",
    "Theorems 3.1 and 3.2 bound neither β nor, but for logarithms, the number of users from below.",
    kind="proposition",
    section="3",
    quantity="users needed for a last phase, at q = log_2(1 + 1/log_2 n)",
    relation="<=",
    order=sp.log(n) * CONDITION_D / epsilon,
    about=("user_level/alg-3",),
)
claim_3_4_derived = claim_3_4.as_read(
    "user_level/claim-3-4@derived",
    "How many users suffice",
    "q = log_2(1 + 1/log_2 n) is the best exponent, and (1 − 2^{−q})n^{−q} >= 1/(e(1 + log_2 n)) there: "
    "n > 100e(1 + log_2 n) log(20nmde^ε/δ)/ε suffices.",
    origin="ours",
    quantity="n^{1−q}(1 − 2^{−q})",
    relation=">=",
    explicit=n / (sp.E * (1 + sp.log(n, 2))),
    about=(),
)


@derivation("user_level/claim-3-4@derived")
def best_exponent(proof: Proof) -> None:
    """With x = log_2 n and u = 2^q, n^{−q}(1 − 2^{−q}) = u^{−x}(1 − 1/u) is largest at u = 1 + 1/x."""
    best = 1 + 1 / x
    slope = sp.diff(-x * sp.log(u) + sp.log(1 - 1 / u), u)
    proof.equal("stationary there", lambda: slope.xreplace({u: best}), 0)
    share = proof.equal("1 − 1/u", lambda: 1 - 1 / best, 1 / (1 + x))
    power = proof.argues("(1 + 1/x)^x <= e", "u^{−x}", ">=", sp.exp(-1))
    proof.concludes("user_level/claim-3-4@derived", n * power * share.subs(x, sp.log(n) / sp.log(2)))


claim_3_6 = claim(
    "user_level/claim-3-6",
    "Remark 3.6",
    "For μ-strongly convex losses a restart scheme around Algorithm 3 has risk Õ((L²/μ)(1/(nm) + d log(1/δ)/(ε²n²m))).",
    kind="proposition",
    section="3",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L**2 / mu * (1 / (n * m) + d * LOG / (epsilon**2 * n**2 * m)),
    about=("user_level/proc-strongly-convex-meta",),
)


@derivation("user_level/claim-3-6", FREE, also=("user_level/proc-strongly-convex-meta",))
def restarts(proof: Proof) -> None:
    """A risk DE on diameter D leaves the distance √(2DE/μ); the fixed point of restarts is D = 2E/μ."""
    per = L * (STATISTICAL + WITH_LOG)
    proof.argues(
        "strong convexity: a risk DE on diameter D leaves the distance √(2DE/μ)", "D", "<=", sp.sqrt(2 * D * s / mu)
    )
    rest = proof.equal("the fixed point", lambda: sp.sqrt(2 * (2 * s / mu) * s / mu), 2 * s / mu)
    for label in ("user_level/claim-3-6", "user_level/proc-strongly-convex-meta"):
        proof.concludes(label, (rest * s).subs(s, per), where=AT_LOG)


strongly_convex_meta = claim(
    "user_level/proc-strongly-convex-meta",
    "Restart scheme (Remark 3.6)",
    "⌈log_2 log_2 n⌉ rounds on fresh users, doubling in number, each from the last output: squared distances obey "
    "D_i² <= (2L/μ)ρ_iD_{i−1}.",
    kind="procedure",
    section="3",
    origin="cited",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L**2 / mu * (1 / (n * m) + d * LOG / (epsilon**2 * n**2 * m)),
    about=("user_level/alg-3",),
    remark="Reconstructed: the paper only cites it.",
)
strongly_convex_meta_derived = claim(
    "user_level/proc-strongly-convex-meta@derived",
    "The recursion of the restart scheme",
    "If a round has risk LρD_{i−1} from distance D_{i−1}, then D_i² <= (2L/μ)ρD_{i−1}; its fixed point is 2Lρ/μ, and "
    "the risk there 2L²ρ²/μ.",
    kind="procedure",
    section="3",
    origin="ours",
    quantity="excess risk at the fixed point",
    relation="=",
    order=strongly_convex_meta.order,
    explicit=2 * L**2 * rho**2 / mu,
)
before = radii[index - 1]
RATE = OPTIMAL.subs({n: Ns[index - 1], L: 1, D: 1})
strongly_convex_meta_rounds = setting(
    strongly_convex_meta,
    "user_level/proc-strongly-convex-meta@rounds",
    "rounds",
    "⌈log_2 log_2 n⌉ of them.",
    sp.ceiling(sp.log(sp.log(n, 2), 2)),
    origin="ours",
)
strongly_convex_meta_users = setting(
    strongly_convex_meta,
    "user_level/proc-strongly-convex-meta@users",
    "n_i",
    "n_i = 2^{i−2}n/log_2 n users, rounded down.",
    sp.floor(2 ** (index - 2) * n / sp.log(n, 2)),
    origin="ours",
)
strongly_convex_meta_distance = setting(
    strongly_convex_meta,
    "user_level/proc-strongly-convex-meta@distance",
    "D_i",
    "D_1 = R, D_{i+1} = min(D_i, √((2L/μ)ρ_iD_i)), ρ_i the rate of Theorem C.3 at n_i users and L = R = 1.",
    sp.Piecewise((D, index < 2), (sp.Min(before, sp.sqrt(2 * L / mu * RATE * before)), True)),
    origin="ours",
)
