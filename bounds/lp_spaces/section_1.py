"""Section 1: the contributions, and Tables 1 and 2."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, L, beta, d, epsilon, kappa, mu, n, omega, p

from ._paper import CONSTANT_DELTA, CONVEX, HEAVY, LOG, SMOOTH, STRONG_WITHOUT_EPSILON, claim

contrib_1 = claim(
    "lp_spaces/claim-contrib-1",
    "Introduction, contribution 1",
    "Excess risk Õ(G_C/(nε) + 1/√n) for convex losses and Õ(G_C²/(n²ε²) + 1/n) for losses that are strongly convex "
    "with respect to ‖·‖_C, with a lower bound of the second form that is close up to logarithms.",
    kind="proposition",
    section="1",
    quantity="excess risk, strongly convex",
    measures="excess risk",
    relation="<=",
    order=omega**2 * LOG / (n * epsilon) ** 2 + 1 / n,
    about=("lp_spaces/alg-1", "lp_spaces/alg-2"),
    grade="slip",
    remark="Theorem 4 prints 1/(nε) where this, Table 1 and Theorem 5 have 1/n. The derivation gives 1/n: the weaker "
    "statement is Theorem 4's (S5). 'Optimal up to poly(log d)' in the abstract is a factor C_min^(-2) in the text, "
    "which is 4d for the cross-polytope (S11).",
)


contrib_1_convex = contrib_1.as_read(
    "lp_spaces/claim-contrib-1@convex",
    "Introduction, contribution 1, convex losses",
    "The first of the two rates, with the logarithm of Theorem 2.",
    quantity="excess risk, convex",
    order=omega * sp.sqrt(LOG) / (n * epsilon) + 1 / sp.sqrt(n),
    about=("lp_spaces/alg-1",),
    measures="",
)


@derivation("lp_spaces/claim-contrib-1")
def first_contribution(proof: Proof) -> None:
    """Theorem 4 at L = D = Δ = 1, in the form without 1/ε that its proof gives."""
    proof.uses("lp_spaces/thm-4@derived", STRONG_WITHOUT_EPSILON, as_order=True)
    proof.concludes("lp_spaces/claim-contrib-1", STRONG_WITHOUT_EPSILON.subs({L: 1, D: 1, mu: 1}))


contrib_2 = claim(
    "lp_spaces/claim-contrib-2",
    "Introduction, contribution 2",
    "For 1 < p < 2 on the whole space, excess risk Õ(κ^{4/5} (√(d log(1/δ))/(nε))^{2/5}).",
    kind="proposition",
    section="1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=kappa ** sp.Rational(4, 5) * (sp.sqrt(d * LOG) / (n * epsilon)) ** sp.Rational(2, 5),
    about=("lp_spaces/alg-3",),
)


@derivation("lp_spaces/claim-contrib-2")
def second_contribution(proof: Proof) -> None:
    """It restates Theorem 7."""
    proof.concludes("lp_spaces/claim-contrib-2", proof.uses("lp_spaces/thm-7", SMOOTH))


contrib_3 = claim(
    "lp_spaces/claim-contrib-3",
    "Introduction, contribution 3",
    "For heavy tails and 1 < p < 2: Õ(√(κ² d log(1/δ))/√(nε)) for small ε, and Õ(κ^{2/3}(d log(1/δ))^{1/6}/(nε)^{1/3}) "
    "for all ε < 1.",
    kind="proposition",
    section="1",
    quantity="excess risk, small ε",
    measures="excess risk",
    relation="<=",
    order=sp.sqrt(kappa**2 * d * LOG) / sp.sqrt(n * epsilon),
    about=("lp_spaces/alg-4", "lp_spaces/proc-batched-md"),
    remark="Theorem 10 and Table 2 have the fourth root of κ² d log(1/δ); the index may have been lost in the text at "
    "hand, so nothing is said against the page as printed (S17).",
)


contrib_3_all = contrib_3.as_read(
    "lp_spaces/claim-contrib-3@all-epsilon",
    "Introduction, contribution 3, all ε < 1",
    "The second of the two rates.",
    quantity="excess risk, all ε",
    order=kappa ** sp.Rational(2, 3) * (d * LOG) ** sp.Rational(1, 6) / (n * epsilon) ** sp.Rational(1, 3),
    about=("lp_spaces/proc-batched-md",),
    measures="",
)


@derivation("lp_spaces/claim-contrib-3", Regime(base=None, others="free", where=[d >= 1, kappa >= 1]))
def third_contribution(proof: Proof) -> None:
    """Theorem 10 at M = 1 is its square root in κ²d, so that the printed form is weaker than the theorem."""
    proof.concludes(
        "lp_spaces/claim-contrib-3",
        proof.uses("lp_spaces/thm-10", HEAVY.subs(D, 1), {D: 1, beta: sp.exp(-1)}),
        looser=True,
    )


table_1 = claim(
    "lp_spaces/claim-table-1",
    "Table 1",
    "Rates with the Gaussian width: G_C/(nε) and G_C²/(n²ε²) for empirical risk, √G_C/√(nε) for generalised linear "
    "models, and this paper's population rates.",
    kind="proposition",
    section="3",
    origin="cited",
    quantity="excess risk, convex",
    measures="excess risk",
    relation="<=",
    order=omega / (n * epsilon) + 1 / sp.sqrt(n),
    remark="The row of Amid et al. is ambiguous in the text at hand and is left out (S17).",
)


table_1_strong = table_1.as_read(
    "lp_spaces/claim-table-1@strongly-convex",
    "Table 1, strongly convex losses, this paper",
    "The second entry of its last row: without 1/ε beside 1/n.",
    quantity="excess risk, strongly convex",
    order=omega**2 / (n * epsilon) ** 2 + 1 / n,
    origin="own",
    measures="",
)


@derivation("lp_spaces/claim-table-1", CONSTANT_DELTA)
def first_table(proof: Proof) -> None:
    """Theorem 2 at L = D = 1 and constant δ."""
    proof.concludes("lp_spaces/claim-table-1", proof.uses("lp_spaces/thm-2", CONVEX.subs({L: 1, D: 1}), {L: 1, D: 1}))


table_2 = claim(
    "lp_spaces/claim-table-2",
    "Table 2",
    "Rates in ℓ_p^d: for 1 < p < 2 those of Theorems 7 and 10 next to the constrained rate; for p >= 2 that of "
    "Theorem 8 and a heavy-tail rate.",
    kind="proposition",
    section="3",
    quantity="excess risk, heavy tails, M = 1",
    measures="excess risk",
    relation="<=",
    order=(kappa**2 * d) ** sp.Rational(1, 4) / sp.sqrt(n * epsilon),
    remark="The first summands of the p >= 2 column lack 1/√n, which the text after Theorem 8 has (S17).",
)


table_2_unconstrained = table_2.as_read(
    "lp_spaces/claim-table-2@unconstrained",
    "Table 2, unconstrained, 1 < p < 2",
    "The entry of Theorem 7.",
    quantity="excess risk",
    order=kappa ** sp.Rational(4, 5) * (sp.sqrt(d) / (n * epsilon)) ** sp.Rational(2, 5),
)


table_2_all = table_2.as_read(
    "lp_spaces/claim-table-2@all-epsilon",
    "Table 2, heavy tails, all ε < 1",
    "The entry of Appendix 10.",
    quantity="excess risk, all ε",
    order=kappa ** sp.Rational(2, 3) * d ** sp.Rational(1, 6) / (n * epsilon) ** sp.Rational(1, 3),
    measures="",
)


table_2_large_p = table_2.as_read(
    "lp_spaces/claim-table-2@large-p",
    "Table 2, unconstrained, p >= 2",
    "The entry of Theorem 8, at ‖θ*‖ = 1.",
    quantity="excess risk",
    order=d ** (1 - 2 / p) * (1 / sp.sqrt(n) + sp.sqrt(d) / (epsilon * n)),
)


@derivation("lp_spaces/claim-table-2", CONSTANT_DELTA)
def second_table(proof: Proof) -> None:
    """Theorem 10 at M = 1 and constant δ."""
    proof.concludes(
        "lp_spaces/claim-table-2", proof.uses("lp_spaces/thm-10", HEAVY.subs(D, 1), {D: 1, beta: sp.exp(-1)})
    )
