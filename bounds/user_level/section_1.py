"""Section 1: the setting, the rates before this paper, and the baseline of group privacy."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import D, H, L, R, d, delta, epsilon, index, last, m, n, positive

from ._paper import (
    AL24_GRADIENTS,
    BS23_GRADIENTS,
    BS23_SMOOTHNESS,
    FREE,
    GAUSSIAN_VARIANCE,
    LAST_PHASE,
    LEGS,
    LOG,
    LOWER,
    STATISTICAL,
    TRIVIAL,
    Delta,
    N,
    Ts,
    claim,
    etas,
    setting,
)

asm_1_1 = claim(
    "user_level/asm-1-1",
    "Assumption 1.1",
    "The domain is convex and compact, of diameter R; f(·, z) is convex and L-Lipschitz on it for every z.",
    kind="assumption",
    section="1.2",
)
asm_1_1_underived = underived("user_level/asm-1-1", "an assumption")

asm_1_2 = claim(
    "user_level/asm-1-2",
    "Assumption 1.2",
    "f(·, z) is β-smooth for every z (in all sections but 4).",
    kind="assumption",
    section="1.2",
)
asm_1_2_underived = underived("user_level/asm-1-2", "an assumption")

def_1_3 = claim(
    "user_level/def-1-3",
    "Definition 1.3",
    "(ε, δ)-user-level differential privacy: neighbours differ in one user's whole set of m samples, which may change "
    "to any values.",
    kind="definition",
    section="1.2",
)

lower_bound = claim(
    "user_level/fact-lower-bound",
    "Lower bound of LSA+21",
    "The excess risk of every (ε, δ)-user-level private algorithm is Ω(LR(1/√(nm) + √d/(εn√m))).",
    kind="proposition",
    section="1",
    origin="cited",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    order=LOWER,
    remark="Quoted without proof. Checked here: an exact Bayes risk for its statistical half; for the private half "
    "only an indicative instance.",
)
lower_bound_derived = lower_bound.as_read(
    "user_level/fact-lower-bound@derived",
    "Statistical half, by an exact Bayes risk",
    "On linear losses with z_j = ±L/√d, P(+) = (1 + v_j/√(nm))/2 and v uniform over signs, on the cube of diameter R, "
    "every algorithm has an average excess of at least (R L/(2√(nm)))(1 − TV(Bin(nm, +), Bin(nm, −))).",
    origin="ours",
    quantity="average excess risk, as nm → ∞",
    explicit=D * L * STATISTICAL / 2 * (1 - sp.erf(1 / sp.sqrt(2))),
    remark="The total variation tends to 2Φ(1) − 1 = 0.683, so the constant tends to 0.1587.",
    measures="",
)


@derivation("user_level/fact-lower-bound@derived")
def statistical_half(proof: Proof) -> None:
    """Signs of bias 1/√(nm) on a cube of diameter R: every coordinate costs RL/(d√(nm)) when its sign is missed.

    The private half is quoted by the paper without proof, and stays without one here.
    """
    side, slope = D / sp.sqrt(d), L / sp.sqrt(d)
    missed = proof.equal(
        "a missed sign costs the side times the mean", lambda: side * slope * STATISTICAL, D * L * STATISTICAL / d
    )
    half = proof.argues(
        "its probability is (1 − TV)/2, and TV tends to 2Φ(1) − 1",
        "risk",
        ">=",
        d * missed * (1 - sp.erf(sp.sqrt(2) / 2)) / 2,
    )
    proof.concludes("user_level/fact-lower-bound@derived", half)


prior_rates = claim(
    "user_level/fact-prior-rates",
    "Prior rates and runtimes (Section 1, footnotes 2 and 3)",
    "BS23: rate 1/√(nmε) + √d/(√(nm)ε) in linear time for β < (Lε³/R)√(n³/(md³)); optimal risk in mn^{3/2} gradients "
    "for m <= max(√d, nε²/√d). AL24: optimal risk in β(nm)^{3/2} gradients, or (nm)³ + (mn)²√d without smoothness. "
    "Group privacy: 1/√(nm) + √d/(εn). At ε = 1, n = d the new algorithms are (nm)^{3/8}β^{3/4} times faster than AL24 "
    "where n^7 >= m, and n^{13/8}m^{7/4} times without smoothness.",
    kind="proposition",
    section="1",
    origin="cited",
    quantity="excess risk of group privacy",
    measures="excess risk",
    relation="<=",
    order=TRIVIAL,
    remark="The speed-up n^{13/8}m^{7/4} rests on the gradient count of Theorem 4.1 and fails for m > n^{5/2} (S6).",
)
bs23_smoothness = prior_rates.as_read(
    "user_level/fact-prior-rates@bs23-smoothness",
    "Smoothness that BS23's linear time allows",
    "β < (Lε³/R)√(n³/(md³)), and m <= d/ε² <= n.",
    quantity="β",
    measures="",
    explicit=BS23_SMOOTHNESS,
)
bs23_gradients = prior_rates.as_read(
    "user_level/fact-prior-rates@bs23-gradients",
    "Gradients of BS23",
    "Optimal risk in mn^{3/2} gradients.",
    quantity="gradients",
    measures="gradients",
    order=BS23_GRADIENTS,
)
al24_gradients = prior_rates.as_read(
    "user_level/fact-prior-rates@al24-gradients",
    "Gradients of AL24",
    "Optimal risk in β(nm)^{3/2} gradients, L = R = 1.",
    quantity="gradients",
    measures="gradients",
    order=AL24_GRADIENTS,
)


@derivation("user_level/fact-prior-rates")
def rate_of_group_privacy(proof: Proof) -> None:
    """An optimal item-level algorithm on nm records at ε/m is ε-private for groups of m, that is for users."""
    total, item = positive("M epsilon_1")
    rate = proof.argues(
        "the item-level rate for M records",
        "excess risk",
        "<=",
        D * L * (1 / sp.sqrt(total) + sp.sqrt(d) / (item * total)),
    )
    proof.concludes("user_level/fact-prior-rates", rate.subs({total: n * m, item: epsilon / m}), regime=FREE)


group_privacy = claim(
    "user_level/proc-group-privacy",
    "Group-privacy baseline (footnote 3)",
    "An optimal item-level algorithm at (ε/m, δ/(me^ε)) is (ε, δ)-user-level private, with risk "
    "Õ(LR(1/√(nm) + √d/(εn))) in linear time.",
    kind="procedure",
    section="1",
    origin="cited",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=D * L * (STATISTICAL + sp.sqrt(d * sp.log(m * sp.exp(epsilon) / delta)) / (epsilon * n)),
)
group_privacy_derived = group_privacy.as_read(
    "user_level/proc-group-privacy@derived",
    "Group privacy of size m",
    "m replacements at (ε/m, δ_0) each are (ε, δ_0 (e^ε − 1)/(e^{ε/m} − 1))-close, at most (ε, m e^ε δ_0).",
    origin="ours",
    quantity="δ over δ_0",
    explicit=(sp.exp(epsilon) - 1) / (sp.exp(epsilon / m) - 1),
    measures="",
)
ITEM = {epsilon: epsilon / m, delta: delta / (m * sp.exp(epsilon))}
"""The budget of one sample."""
QUIET = epsilon / (2 * sp.sqrt(d * LOG))
MOVED = 2 * L * etas[index]
"""How far one sample moves the average of a phase."""
group_privacy_phases = setting(
    group_privacy, "user_level/proc-group-privacy@phases", "l", "l = ⌊log_2 n⌋ phases.", LAST_PHASE
)
group_privacy_users = setting(
    group_privacy, "user_level/proc-group-privacy@users", "n_i", "n_i = ⌊n/2^i⌋ users.", sp.floor(n / 2**index)
)
group_privacy_steps = setting(
    group_privacy, "user_level/proc-group-privacy@steps", "T_i", "T_i = n_im steps: one pass.", N * m
)
group_privacy_eta = setting(
    group_privacy,
    "user_level/proc-group-privacy@eta",
    "η_i",
    "η_i = η/4^i, η = min((R/L) min(4/√(nm), ε_0/(2√(d log(1/δ_0)))), 4/β) at (ε_0, δ_0) = (ε/m, δ/(me^ε)).",
    sp.Min(D / L * 4 * STATISTICAL, D / L * QUIET.subs(ITEM, simultaneous=True), 4 / H) / 4**index,
)
group_privacy_sigma = setting(
    group_privacy,
    "user_level/proc-group-privacy@sigma",
    "σ_i",
    "Definition A.5's at sensitivity 2Lη_i and (ε_0, δ_0).",
    sp.sqrt(GAUSSIAN_VARIANCE.subs(ITEM, simultaneous=True).subs(Delta, MOVED)),
)
group_privacy_movement = setting(
    group_privacy,
    "user_level/proc-group-privacy@movement",
    "movement by one user",
    "m samples, 2Lη_i each: 2mLη_i.",
    m * MOVED,
)
group_privacy_gradients = setting(
    group_privacy,
    "user_level/proc-group-privacy@gradients",
    "gradients",
    "One a sample: Σ_i T_i.",
    sp.Sum(Ts[index], (index, 1, last)),
    measures="gradients",
)
group_privacy_summed = group_privacy.as_read(
    "user_level/proc-group-privacy@summed",
    "Risk of the group-privacy baseline, phase by phase",
    "As `thm-b1@summed` with projected outputs; nothing can halt.",
    origin="ours",
    explicit=sp.Min(L * R, LEGS),
    about=("user_level/proc-group-privacy",),
)
