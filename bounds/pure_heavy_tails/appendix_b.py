"""Appendix B of arXiv 2604.06492: what no local algorithm can compute."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import underived
from dpcheck.symbols import C, G_k, T, d

from ._paper import claim

thm_b_1 = claim(
    "pure_heavy_tails/thm-b-1",
    "Theorem B.1",
    "For 0 < C < G_k and T ≥ 1, every deterministic algorithm with at most T local queries has two convex C^∞ "
    "functions on a unit ball of dimension d ≥ T + 1, with gradients at most G_k, that answer all its queries alike "
    "and whose extensions differ at 0.",
    kind="theorem",
    section="B",
    quantity="difference of the two extensions at 0",
    # the same (061ddd): without d >= T + 1: it holds in every dimension, thm-b-1@corrected
    assumptions=(sp.Lt(C, G_k), sp.Ge(d, T + 1)),
    about=("pure_heavy_tails/proc-lip-ext",),
    grade="proof gap",
    remark="True, in every dimension, by a resisting oracle. The printed pair does not show it for adaptive "
    "queries: the answers reveal the hidden direction v, and two queries tell f_0 and f_1 apart (S9).",
)

thm_b_1_literal = thm_b_1.as_read(
    "pure_heavy_tails/thm-b-1@literal",
    "Theorem B.1, step 3 of the proof",
    "The printed f_0, f_1 with v orthogonal to the query points give identical transcripts for every deterministic "
    "algorithm with two queries.",
    quantity="difference of the answers at the second query",
    relation="=",
    explicit=sp.Integer(0),
    grade="proof gap",
    remark="The gradient at the first query is −a v; the algorithm that then queries v/2 sees values that differ.",
)

thm_b_1_corrected = thm_b_1.as_read(
    "pure_heavy_tails/thm-b-1@corrected",
    "Theorem B.1 by a resisting oracle",
    "For 0 < C < G_k, every d ≥ 1 and every deterministic algorithm with finitely many local queries on the unit "
    "ball there are two convex C^∞ functions f(y) = g(⟨e_1,y⟩) with gradients below G_k, equal near every query, "
    "whose extensions differ at 0.",
    origin="ours",
    quantity="",
    assumptions=(),
)

thm_b_1_underived = underived(
    "pure_heavy_tails/thm-b-1",
    "an impossibility by an adversary for the oracle: nothing is chosen, and no bound is computed; argued in the notes",
)
