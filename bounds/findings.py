"""What the order calculus finds in the papers and the papers do not say: claims of our own, each derived and checked.

The arguments stand in `bounds/<paper>.md` under the statement, by reading. `log` names a logarithm where orders are
compared.
"""

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation, finding
from dpcheck.symbols import G_2, C, D, G_k, H, L, T, d, delta, epsilon, k, kappa, lambda_, m, n

from .lp_spaces._paper import NOISE, SMOOTH
from .lp_spaces._paper import claim as lp_spaces
from .pure_heavy_tails._paper import claim as pure_heavy_tails
from .tsybakov._paper import claim as tsybakov
from .user_level._paper import LINEAR_TIME
from .user_level._paper import claim as user_level

LOG, HALF = sp.log(1 / delta), sp.Rational(1, 2)
log, x, t = sp.symbols("log x t", positive=True)

# A dominated theorem -------------------------------------------------------------------------------------------------

linear_time = user_level(
    "user_level/thm-2-1@dominated",
    "Theorem 2.1 against group privacy",
    "For m ≤ n and ε ≤ 1 the rate of Theorem 2.1 is nowhere below that of group privacy on a linear-time item-level "
    "algorithm (footnote 3): its private term is √(n/m) times as large. So is all that [BS23] cover, m ≤ d/ε² ≤ n. "
    "With the rate that its proof gives, √(d/(nmε)), the border is m = εn.",
    kind="theorem",
    section="1, 2",
    origin="ours",
    quantity="private term over that of group privacy",
    relation="=",
    explicit=sp.sqrt(n / m),
    about=("user_level/alg-1", "user_level/proc-group-privacy"),
)
linear_time_found = finding(
    "user_level/thm-2-1@dominated",
    "The linear-time algorithm with 'state-of-the-art excess risk' is dominated by group privacy, which is as fast, "
    "whenever there are no more samples a user than users (m ≤ n; m ≤ εn by the rate that its proof gives).",
)


@derivation(
    "user_level/thm-2-1@dominated",
    Regime(base=None, others="free", where=[m <= n, epsilon <= 1, d >= 1, m >= 1, delta <= 1 / n]),
)
def group_privacy_is_ahead(proof: Proof) -> None:
    """Both terms of group privacy are below those of Theorem 2.1 once m ≤ n."""
    printed = proof.uses("user_level/thm-2-1", LINEAR_TIME)
    trivial = D * L * (1 / sp.sqrt(n * m) + sp.sqrt(d * LOG) / (epsilon * n))
    proof.uses("user_level/proc-group-privacy", trivial, {sp.exp(epsilon): 1, sp.log(m / delta): LOG}, as_order=True)
    proof.order_at_most("for m ≤ n", trivial, printed)
    private = D * L * sp.sqrt(d * LOG)
    ratio = proof.equal(
        "the private terms", lambda: private / (epsilon * sp.sqrt(n * m)) / (private / (epsilon * n)), sp.sqrt(n / m)
    )
    proved = proof.uses("user_level/thm-2-1@derived", D * L * sp.sqrt(d / (n * m * epsilon)), as_order=True)
    less = Regime(base=None, others="free", where=[m <= epsilon * n, epsilon <= 1, d >= 1, m >= 1, delta <= 1 / n])
    proof.order_at_most("what the proof gives, for m ≤ εn, without logs", trivial.subs(LOG, 1), proved, less)
    proof.concludes("user_level/thm-2-1@dominated", ratio)


# A stated advantage that is never there ------------------------------------------------------------------------------

SHARE = (k - 1) / k
shuffled = tsybakov(
    "tsybakov/thm-6@range",
    "Theorem 6 in its own range of ε",
    "Theorem 6 is private for ε ≤ √(ln(n/δ)/n). There, for δ ≤ 1/n, its private term is at least (d/2)^{(k−1)/(2k)} "
    "n^{1/(2k)} times its statistical term 1/√n: for no finite k does it, or Theorem 7, reach the non-private rate.",
    kind="theorem",
    section="6",
    origin="ours",
    quantity="private over statistical term",
    relation=">=",
    explicit=(d / 2) ** (SHARE / 2) * n ** (1 / (2 * k)),
    assumptions=(sp.Le(delta, 1 / n), sp.Le(epsilon, sp.sqrt(sp.log(n / delta) / n)), sp.Ge(k, 2)),
    about=("tsybakov/alg-6",),
)
shuffled_found = finding(
    "tsybakov/thm-6@range",
    "Shuffling is proved private for ε ≤ √(ln(n/δ)/n) only, and there the private term exceeds the statistical one by "
    "n^{1/(2k)}: 'without a Lipschitz condition' never means at the non-private rate.",
)


@derivation("tsybakov/thm-6@range")
def statistical_term_is_never_seen(proof: Proof) -> None:
    """The private term at the largest ε, over 1/√n."""
    private = (sp.sqrt(d * LOG) / (epsilon * n)) ** SHARE
    largest = sp.sqrt(log / n)
    proof.at_most(
        "the private term falls in ε, so it is least at the largest one",
        private.subs(epsilon, largest),
        private,
        {epsilon: largest / (1 + t), k: 1 + x},
    )
    least = proof.equal(
        "at ε = √(log/n), log = ln(n/δ), times √n",
        lambda: sp.sqrt(n) * private.xreplace({epsilon: largest}),
        (d * LOG / log) ** (SHARE / 2) * n ** (1 / (2 * k)),
    )
    proof.assumes("tsybakov/thm-6@range", delta, 1 / n)
    proof.at_most("ln(n/δ) ≤ 2 ln(1/δ) for δ ≤ 1/n", sp.log(n / delta), 2 * LOG, {delta: 1 / (n * (1 + t))})
    worst = least.subs(log, 2 * LOG)
    proof.at_most("so the ratio is least where log is largest", worst, least, {log: 2 * LOG / (1 + t), k: 1 + x})
    proof.concludes("tsybakov/thm-6@range", worst)


# Choices that are not optimal ----------------------------------------------------------------------------------------

horizon = lp_spaces(
    "lp_spaces/thm-7@horizon",
    "Theorem 7 with another number of steps",
    "T = κ^{1/4}(nε/√(d log(1/δ)))^{1/2} in place of (nεκ/√(d log(1/δ)))^{2/5} gives the excess risk "
    "Õ(κ^{3/4}(√(d log(1/δ))/(nε))^{1/2}), smaller by (√κ√(d log(1/δ))/(nε))^{1/10} up to a power 1/20 of κ.",
    kind="theorem",
    section="5.1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=kappa ** sp.Rational(3, 4) * sp.sqrt(NOISE),
    about=("lp_spaces/alg-3",),
)
horizon_found = finding(
    "lp_spaces/thm-7@horizon",
    "The unconstrained rate (√d/(nε))^{2/5} is a choice, not a limit: with T ∝ (nε/√d)^{1/2} steps the derivation "
    "at hand, not the authors', gives (√d/(nε))^{1/2}.",
)


@derivation(
    "lp_spaces/thm-7@horizon",
    Regime(base=None, others="free", where=[n >= 1, d >= 1, kappa >= 1, epsilon <= 1, sp.sqrt(kappa) * x <= 1]),
)
def better_horizon(proof: Proof) -> None:
    """κ/T against √κ T x: they balance at T = κ^{1/4}x^{−1/2}."""
    bound = proof.master("excess risk, without logs", {"regulariser": kappa / T, "noise": sp.sqrt(kappa) * T * x})
    value = proof.chooses(bound, {T: kappa ** sp.Rational(1, 4) / sp.sqrt(x)}, limits=[1 / T])
    printed = kappa ** sp.Rational(4, 5) * x ** sp.Rational(2, 5)
    proof.order_at_most("it is within the stated rate", value, printed)
    proof.uses("lp_spaces/thm-7", SMOOTH)
    proof.concludes("lp_spaces/thm-7@horizon", value.subs(x, NOISE))


clip = pure_heavy_tails(
    "pure_heavy_tails/thm-e-1@clip",
    "Theorem E.1 with another clip level",
    "With ℓ the logarithm of the bound, C = G_k(εn/(dℓ))^{1/k} in place of G_k(εn/d)^{1/k} leaves ℓ^{1−1/k}: "
    "‖ŵ − ŵ_λ‖ ≲ (G_k/λ)(dℓ/(εn))^{1−1/k}. Privacy does not depend on C. Theorems E.2 and E.5 gain the same.",
    kind="theorem",
    section="E.1",
    origin="ours",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    relation="<=",
    order=G_k / lambda_ * (d * sp.log(D * epsilon * n * (H + lambda_) / (G_k * d)) / (epsilon * n)) ** (1 - 1 / k),
    about=("pure_heavy_tails/alg-5",),
)
clip_found = finding(
    "pure_heavy_tails/thm-e-1@clip",
    "The logarithm that separates the polynomial-time sampler of Appendix E from the optimal rate comes from a clip "
    "level that ignores it: C smaller by ℓ^{1/k} leaves ℓ^{1−1/k}, half a logarithm at k = 2.",
)


@derivation(
    "pure_heavy_tails/thm-e-1@clip", Regime(base=None, others="free", where=[log >= 1, d >= 1, n >= 1, epsilon <= d])
)
def better_clip(proof: Proof) -> None:
    """The score's noise carries the logarithm, the clipping bias does not: C should know of it."""
    bias = proof.uses("pure_heavy_tails/fact-clip-bias@derived", 5 * G_k**k / ((k - 1) * C ** (k - 1)))
    terms = {"bias, twice": 2 * bias, "net": 2 * C * d / (epsilon * n), "noise": 4 * C * d / (epsilon * n) * log}
    bound = proof.master("λ‖ŵ − ŵ_λ‖ (thm-e-1)", terms)
    value = proof.chooses(bound, {C: G_k * (epsilon * n / (d * log)) ** (1 / k)})
    stated = sp.log(D * epsilon * n * (H + lambda_) / (G_k * d))
    proof.concludes("pure_heavy_tails/thm-e-1@clip", value / lambda_, where={stated: log})


moment = pure_heavy_tails(
    "pure_heavy_tails/thm-3-1@second-moment",
    "Theorem 3.1 run with k = 2",
    "For k > 2 the same algorithm with k = 2 and G_2 in place of G_k has the smaller private term as soon as d/(nε) "
    "exceeds (G_2/G_k)^{2k/(k−2)}: higher moments help with large samples only.",
    kind="theorem",
    section="3",
    origin="ours",
    quantity="d/(nε) at which the private terms are equal",
    relation="=",
    explicit=(G_2 / G_k) ** (2 * k / (k - 2)),
    assumptions=(sp.Gt(k, 2),),
    about=("pure_heavy_tails/proc-localized-double-op",),
)
moment_found = finding(
    "pure_heavy_tails/thm-3-1@second-moment",
    "'Optimal' holds for the class that bounds the k-th moment alone: with G_2 < G_k the same algorithm run with k = 2 "
    "is better for nε/d < (G_k/G_2)^{2k/(k−2)}.",
)


@derivation("pure_heavy_tails/thm-3-1@second-moment")
def where_moments_cross(proof: Proof) -> None:
    """The private terms G_2 x^{1/2} and G_k x^{1−1/k} of x = d/(nε) cross once."""
    crossing = (G_2 / G_k) ** (2 * k / (k - 2))
    higher = {k: 2 + t}
    proof.equal(
        "the two terms there",
        lambda: (G_2 * sp.sqrt(x)).xreplace({x: crossing}),
        (G_k * x ** (1 - 1 / k)).subs(x, crossing),
        higher,
    )
    slope = proof.equal("their ratio goes with the power", lambda: 1 - 1 / k - HALF, (k - 2) / (2 * k))
    proof.assumes("pure_heavy_tails/thm-3-1@second-moment", 2, k)
    proof.at_most("which is positive for k > 2", 0, slope, higher)
    proof.concludes("pure_heavy_tails/thm-3-1@second-moment", crossing)
