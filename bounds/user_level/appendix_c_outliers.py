"""Appendix C: Lemma C.2, of the gradients that are kept."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import tau, zeta

from ._paper import K, claim, s

lem_c2 = claim(
    "user_level/lem-c2",
    "Lemma C.2",
    "Given equal score bits and small Laplace noise, a coupling keeps the kept gradient means of neighbours within "
    "τ log(1/ζ)/K of each other with probability 1 − ζ.",
    kind="lemma",
    section="C",
    origin="cited",
    quantity="distance of the kept means",
    relation="<=",
    order=tau * sp.log(1 / zeta) / K,
    about=("user_level/alg-2", "user_level/proc-outlier-removal"),
    probability=1 - zeta,
    grade="slip",
    remark="The bits are defined with 4K_i/5 instead of the noisy threshold (S11). Its radii are equal, Algorithm 1's "
    "are not: at equal radii a high score does not give a core, so fewer points are kept (S10).",
)
lem_c2_literal = claim(
    "user_level/lem-c2@literal",
    "Lemma B.2's argument at equal radii",
    "If s >= 2K/3 at radius 2τ and h is counted at radius 2τ too, then at least 2K/3 points are kept on average.",
    kind="lemma",
    section="C",
    quantity="mean share of kept points",
    relation=">=",
    explicit=sp.Rational(2, 3),
    about=("user_level/proc-outlier-removal",),
    grade="slip",
    remark="A third at the centre and four clusters of a sixth at distance 2τ: s = 2K/3, and 1/3 is kept (S10).",
)
lem_c2_derived = lem_c2.as_read(
    "user_level/lem-c2@derived",
    "Lemma C.2 with constants",
    "K distinct users with s >= 7K/10: ‖h − h'‖ <= 8τ(1 + B)/max(|S|, |S'|), where E|S| >= (2s/K − 1)K >= 0.4K and "
    "|S| >= 0.4K − √(K log(1/ζ)/2) with probability 1 − ζ.",
    origin="ours",
    quantity="mean share of kept points at mean degree s of K",
    relation=">=",
    explicit=2 * s / K - 1,
    about=("user_level/proc-outlier-removal",),
    probability=None,
)
lem_c2_weighted = claim(
    "user_level/lem-c2@weighted",
    "Lemma C.2 with weights in place of coins",
    "With w_j = clip(6h_j/K − 3, 0, 1) as the weight of gradient j, K even, replacing one gradient moves the weighted "
    "mean by at most 32τ/(2s − K), s the larger of the two scores at radius 2τ: 80τ/K at s = 7K/10, for certain.",
    kind="lemma",
    section="C",
    origin="ours",
    quantity="distance of the weighted means",
    relation="<=",
    explicit=32 * tau / (2 * s - K),
    about=("user_level/alg-2", "user_level/proc-outlier-removal"),
)


@derivation("user_level/lem-c2@weighted")
def weights_move_little(proof: Proof) -> None:
    """W(u − u') is a sum over the gradients whose weight changed, from a point near to all of them."""
    weight = sp.Symbol("W", positive=True)
    change = proof.uses("user_level/proc-outlier-removal@derived", 6 / K, {sp.Symbol("C", positive=True): K})
    all_changes = proof.at_most("K − 1 common weights, and both ends", lambda: (K - 1) * change + 2, sp.Integer(8))
    moved = proof.argues(
        "K even: two gradients with a weight, on either side, see one common gradient, hence lie within 4τ",
        "‖u − u'‖", "<=", 4 * tau * all_changes / weight,
    )  # fmt: skip
    kept = proof.uses("user_level/lem-c2@derived", 2 * s / K - 1)
    proof.concludes("user_level/lem-c2@weighted", moved.subs(weight, proof.equal("W", lambda: kept * K, 2 * s - K)))
