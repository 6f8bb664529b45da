"""Section 4: Frank-Wolfe on trees, Algorithm 3. T is the number of phases, b the batch of a root."""

from __future__ import annotations

import sympy as sp

from dpcheck.symbols import T, b, epsilon

from ._paper import claim

alg_3 = claim(
    "l1_geometry/alg-3",
    "Algorithm 3 (private variance-reduced Frank–Wolfe)",
    "Phase t walks a binary tree of depth t: the root averages b fresh gradients, a right child at depth j adds the "
    "mean of 2^{-j}b fresh gradient differences, a leaf moves by η = 2/(2^{t−1} + ℓ(s) + 1) towards the vertex with "
    "the least ⟨c_i, v⟩ + Lap(λ_{t,s}).",
    kind="algorithm",
    section="4",
    quantity="records read",
    relation="=",
    explicit=b * (T + T * (T + 1) / 4),
    remark="Steps of consecutive phases overlap in index (S6): consecutive ones have η = 2/(2^t + ℓ(s)). 'T = "
    "1, b = n' "
    "reads 1.5n records (S8).",
)


alg_3_corrected = claim(
    "l1_geometry/alg-3@corrected",
    "Algorithm 3 with noise for differences of gradients",
    "With λ_{t,s} = 4LD2^t/(bε), twice that of Theorem 6, Algorithm 3 is ε-DP for every allocation of its records.",
    kind="algorithm",
    section="4",
    origin="ours",
    quantity="ε that is spent",
    relation="<=",
    explicit=epsilon,
    assumptions=(sp.Le(2**T, b),),
)


alg_3_derived = claim(
    "l1_geometry/alg-3@derived",
    "Gradients of Algorithm 3",
    "A right child evaluates two gradients a record: bT(T+3)/2 in all.",
    kind="algorithm",
    section="4",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="=",
    explicit=b * T * (T + 3) / 2,
)
