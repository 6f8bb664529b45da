"""Appendix A.1: tools of differential privacy."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import underived
from dpcheck.symbols import T, b, delta, epsilon, gamma, positive, t

from ._paper import GAUSSIAN_VARIANCE, Delta, K, N, claim, setting

def_a1 = claim(
    "user_level/def-a1",
    "Definition A.1",
    "The ℓ_p sensitivity of a query is its largest change between user-level neighbours.",
    kind="definition",
    section="A.1",
    origin="cited",
)

def_a2 = claim(
    "user_level/def-a2",
    "Definition A.2",
    "The Laplace law with scale b has density exp(−|x|/b)/(2b).",
    kind="definition",
    section="A.1",
    origin="cited",
    quantity="density at |x| = t",
    relation="=",
    explicit=sp.exp(-t / b) / (2 * b),
)

(delta_prime,) = positive("delta_prime")
def_a3 = claim(
    "user_level/def-a3",
    "Definition A.3",
    "The Laplace mechanism adds Laplace noise of scale Δ_1/ε to every coordinate.",
    kind="definition",
    section="A.1",
    origin="cited",
    quantity="scale",
    relation="=",
    explicit=Delta / epsilon,
)

lem_a4 = claim(
    "user_level/lem-a4",
    "Lemma A.4",
    "The Laplace mechanism is ε-differentially private.",
    kind="lemma",
    section="A.1",
    origin="cited",
    quantity="ε that is spent",
    relation="<=",
    explicit=epsilon,
)
lem_a4_derived = lem_a4.as_read(
    "user_level/lem-a4@derived",
    "Exact curve of the Laplace mechanism",
    "δ(t) = 1 − exp((t − ε)/2) for 0 <= t <= ε, and 0 beyond.",
    origin="ours",
    quantity="δ at t",
    relation="=",
    explicit=sp.Max(0, 1 - sp.exp((t - epsilon) / 2)),
)

def_a5 = claim(
    "user_level/def-a5",
    "Definition A.5",
    "The Gaussian mechanism adds N(0, σ²I) with σ² = 2Δ_2² log(2/δ)/ε².",
    kind="definition",
    section="A.1",
    origin="cited",
    quantity="σ²",
    relation="=",
    explicit=GAUSSIAN_VARIANCE,
)

lem_a6 = claim(
    "user_level/lem-a6",
    "Lemma A.6",
    "The Gaussian mechanism of Definition A.5 is (ε, δ)-private.",
    kind="lemma",
    section="A.1",
    origin="cited",
    quantity="δ that is spent at ε",
    relation="<=",
    explicit=delta,
    assumptions=(sp.Le(epsilon, 1),),
    grade="slip",
    remark="Stated for every ε > 0; true for ε <= 1, and false from 7.91 on at δ = 0.01 (S14). The paper uses it at "
    "ε/4 <= 2.5.",
)
lem_a6_literal = lem_a6.as_read(
    "user_level/lem-a6@literal",
    "Lemma A.6 for every ε",
    "The same without a bound on ε.",
    explicit=delta,
    grade="slip",
    remark="At ε = 10, δ = 0.01 the true δ is 0.0245 (S14).",
    assumptions=(),
)
lem_a6_corrected = lem_a6.as_read(
    "user_level/lem-a6@corrected",
    "Lemma A.6 where the paper uses it",
    "The Gaussian mechanism of Definition A.5 is (ε, δ)-private for ε <= 5/2 and δ <= 1/2.",
    origin="ours",
    explicit=delta,
    assumptions=(sp.Le(epsilon, sp.Rational(5, 2)), sp.Le(delta, sp.Rational(1, 2))),
)
lem_a6_underived = underived("user_level/lem-a6", "cited; the audits hold it against the exact curve of Gaussian noise")

lem_a7 = claim(
    "user_level/lem-a7",
    "Lemma A.7",
    "T adaptive (ε, δ)-private steps are (√(2T log(1/δ'))ε + Tε(e^ε − 1), Tδ + δ')-private.",
    kind="lemma",
    section="A.1",
    origin="cited",
    quantity="ε of the composition",
    relation="<=",
    explicit=sp.sqrt(2 * T * sp.log(1 / delta_prime)) * epsilon + T * epsilon * (sp.exp(epsilon) - 1),
)
lem_a7_underived = underived("user_level/lem-a7", "cited; the audits hold it against exact composition")

lem_a8 = claim(
    "user_level/lem-a8",
    "Lemma A.8",
    "An (ε, δ)-private mechanism on a uniform random subset of M of N users is ((e^ε − 1)M/N, δM/N)-private.",
    kind="lemma",
    section="A.1",
    origin="cited",
    quantity="ε after subsampling, K of N",
    relation="<=",
    explicit=(sp.exp(epsilon) - 1) * K / N,
    about=("user_level/proc-subsample",),
)
lem_a8_derived = lem_a8.as_read(
    "user_level/lem-a8@derived",
    "Lemma A.8 in its sharp form",
    "The same with ε' = log(1 + (M/N)(e^ε − 1)).",
    origin="ours",
    explicit=sp.log(1 + (sp.exp(epsilon) - 1) * K / N),
)
lem_a8_literal = lem_a8.as_read(
    "user_level/lem-a8@literal",
    "Lemma A.8 for users drawn with replacement",
    "The same ε' and δM/N when the M users are drawn with replacement.",
    quantity="δ after subsampling, K of N",
    explicit=delta * K / N,
    grade="slip",
    remark="A Gaussian sum calibrated to (1/2, 10^{−6}) has δ' = 1.19·10^{−6} at M = N = 100 (S4).",
    origin="own",
    about=(),
)
lem_a8_corrected = lem_a8.as_read(
    "user_level/lem-a8@corrected",
    "Lemma A.8 with replacement, with its factor",
    "With replacement, changing the M places one by one gives ε' = M log(1 + (e^ε − 1)/N) <= (e^ε − 1)M/N and "
    "δ' = e^{ε'}δM/N.",
    origin="ours",
    quantity="δ after subsampling, K of N",
    explicit=sp.exp((sp.exp(epsilon) - 1) * K / N) * delta * K / N,
    about=(),
)
lem_a8_underived = underived(
    "user_level/lem-a8", "cited; the audits prove it by joint convexity, and hold it against exact mixtures"
)

subsample = claim(
    "user_level/proc-subsample",
    "Subsampled mechanism",
    "A uniformly random set of M distinct users, then the mechanism.",
    kind="procedure",
    section="A.1",
    origin="cited",
)

alg_4 = claim(
    "user_level/alg-4",
    "Algorithm 4 (AboveThreshold)",
    "Threshold noise Lap(2/ε), drawn once; each query with fresh Lap(4/ε); stops at the first answer above.",
    kind="algorithm",
    section="A.1",
    origin="cited",
    quantity="ε, queries of sensitivity 1",
    relation="<=",
    explicit=epsilon,
)

alg_4_threshold = setting(
    alg_4, "user_level/alg-4@threshold", "scale of the noise on the threshold", "Lap(2/ε).", 2 / epsilon, origin="cited"
)
alg_4_query = setting(
    alg_4, "user_level/alg-4@query", "scale of the noise on a query", "Lap(4/ε).", 4 / epsilon, origin="cited"
)
lem_a9 = claim(
    "user_level/lem-a9",
    "Lemma A.9",
    "AboveThreshold is ε-private; with probability 1 − γ every answer is right up to α = 8 log(2T/γ)/ε.",
    kind="lemma",
    section="A.1",
    origin="cited",
    quantity="α",
    relation="=",
    explicit=8 * sp.log(2 * T / gamma) / epsilon,
    about=("user_level/alg-4",),
    probability=1 - gamma,
)
lem_a9_derived = lem_a9.as_read(
    "user_level/lem-a9@derived",
    "Failure probability of AboveThreshold, with constants",
    "P(|threshold noise| > α/2) + T P(|query noise| > α/2) = (γ/(2T))² + γ/2 <= γ.",
    origin="ours",
    quantity="failure probability",
    relation="<=",
    explicit=gamma / 2 + (gamma / (2 * T)) ** 2,
    probability=None,
)
