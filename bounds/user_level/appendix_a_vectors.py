"""Appendix A.2: random vectors with light tails."""

from __future__ import annotations

import sympy as sp

from dpcheck.symbols import b, d, gamma, n, t, zeta

from ._paper import claim

def_a10 = claim(
    "user_level/def-a10",
    "Definition A.10",
    "X is SG(ζ) when E exp(<v, X − EX>) <= exp(‖v‖²ζ²/2), and nSG(ζ) when P(‖X − EX‖ >= t) <= 2 exp(−t²/(2ζ²)).",
    kind="definition",
    section="A.2",
    origin="cited",
    quantity="P(‖X − EX‖ >= t)",
    relation="<=",
    explicit=2 * sp.exp(-(t**2) / (2 * zeta**2)),
)
def_a10_derived = def_a10.as_read(
    "user_level/def-a10@derived",
    "Bounded vectors",
    "‖X − EX‖ <= b is nSG(b/√(2 log 2)), and in one dimension SG(b).",
    origin="ours",
    quantity="ζ",
    relation="=",
    explicit=b / sp.sqrt(2 * sp.log(2)),
)

thm_a11 = claim(
    "user_level/thm-a11",
    "Theorem A.11",
    "For a martingale of nSG(ζ_i) differences, P(‖Σ X_i‖ >= c√(log(d/γ) Σ ζ_i²)) <= γ for an absolute constant c.",
    kind="theorem",
    section="A.2",
    origin="cited",
    quantity="‖Σ X_i‖, n equal terms",
    relation="<=",
    order=sp.sqrt(sp.log(2 * d / gamma) * n) * zeta,
    probability=1 - gamma,
    grade="slip",
    remark="With log(d/γ) false at d = 1 as γ → 1 for any c; log(2d/γ) is right (S17).",
)
thm_a11_literal = thm_a11.as_read(
    "user_level/thm-a11@literal",
    "Theorem A.11 with log(d/γ)",
    "The same with log(d/γ), for c = 10, at d = 1 and every γ < 1.",
    quantity="P(‖X‖ >= 10ζ√log(1/γ))",
    explicit=gamma,
    grade="slip",
    remark="A fair sign exceeds it with probability 1 for γ > 0.9863 (S17).",
    probability=None,
)
thm_a11_corrected = thm_a11.as_read(
    "user_level/thm-a11@corrected",
    "A sum of bounded martingale differences in any dimension",
    "‖X_i‖ <= b: P(‖Σ_{i<=n} X_i‖ >= b√(2n log(2/γ))) <= γ in every dimension (Pinelis).",
    origin="ours",
    quantity="‖Σ X_i‖",
    explicit=b * sp.sqrt(2 * n * sp.log(2 / gamma)),
)

lem_a12 = claim(
    "user_level/lem-a12",
    "Lemma A.12",
    "<v, X> is nSG(cζ) for a unit vector v and an nSG(ζ) vector X.",
    kind="lemma",
    section="A.2",
    origin="cited",
    quantity="ζ of the projection",
    relation="<=",
    explicit=zeta,
    remark="c = 1 suffices: |<v, X − EX>| <= ‖X − EX‖.",
)
