"""What the files of this folder share: the paper, its own symbols, and the expressions that recur."""

import sympy as sp

from dpcheck.claims import Paper
from dpcheck.symbols import G_2, D, G_k, J, beta, d, epsilon, index, k, lambda_, m, n

PAPER = Paper(
    key="pure_heavy_tails",
    title="Optimal Rates for Pure ε-Differentially Private Stochastic Convex Optimization with Heavy Tails",
    authors="Andrew Lowy",
    reference="arXiv:2604.06492v1",
)
claim = PAPER.claim

c_1, c_erm = sp.symbols("c_1 c_erm", positive=True)
m_1 = sp.floor(n / (2 * J))
"""Records in a block of the first phase."""

FIRST_STAGE = sp.Eq(sp.Mod(index, 2), 1)
"""Stages are numbered by i; inside Algorithm 1 those of its phases follow each other."""

RATE = G_k * D * (d * sp.log(1 / beta) / (n * epsilon)) ** (1 - 1 / k) + G_2 * D * sp.sqrt(sp.log(1 / beta) / n)
"""The upper bound on the excess risk, as Theorems 2.1, 3.1, D.4 and F.6 print it; β is the paper's δ."""

TARGET = (G_k * (d / (m * epsilon)) ** (1 - 1 / k) + G_2 / sp.sqrt(m)) / lambda_
"""The distance (6) that a solver must reach, without its constant."""
