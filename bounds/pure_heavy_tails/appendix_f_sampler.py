"""Appendix F.3 of arXiv 2604.06492: sampling from scores that are nearly right."""

from __future__ import annotations

from dpcheck.symbols import epsilon, rho, xi, zeta

from ._paper import claim

lem_f_3 = claim(
    "pure_heavy_tails/lem-f-3",
    "Lemma F.3 ([LL25, Theorem 3.9])",
    "With an evaluator of a convex L-Lipschitz potential that errs by at most ζ the sampler's law has D_∞ at most "
    "2ζ + ξ from the Gibbs law, in time polynomial in e^{12ζ}, d, L, diam(K), 1/ξ.",
    kind="lemma",
    section="F.3",
    origin="cited",
    quantity="two-sided max-divergence",
    relation="<=",
    explicit=2 * zeta + xi,
    about=("pure_heavy_tails/proc-logconcave-sampler",),
)

lem_f_3_derived = lem_f_3.as_read(
    "pure_heavy_tails/lem-f-3@derived",
    "Lemma F.3, elementary half",
    "Potentials within ζ of each other have Gibbs laws at most 2ζ apart in two-sided max-divergence.",
    origin="ours",
    quantity="two-sided max-divergence of the Gibbs laws",
    explicit=2 * zeta,
)

proc_logconcave_sampler = claim(
    "pure_heavy_tails/proc-logconcave-sampler",
    "Inexact log-concave sampler [LL25, Theorem 3.9]",
    "A black box that samples from exp(−Ψ) on a convex body through an approximate evaluator.",
    kind="procedure",
    section="F.3",
    origin="cited",
)

lem_f_4 = claim(
    "pure_heavy_tails/lem-f-4",
    "Lemma F.4",
    "If μ is ε_0-DP and D_∞(μ̃_Z, μ_Z) ≤ ρ for every Z, then μ̃ is (ε_0 + 2ρ)-DP. (In the formula ε stands for ε_0.)",
    kind="lemma",
    section="F.3",
    origin="cited",
    quantity="privacy of the approximate mechanism",
    relation="<=",
    explicit=epsilon + 2 * rho,
    remark="D_∞ must be the two-sided max-divergence, which the text does not say (S18).",
)
