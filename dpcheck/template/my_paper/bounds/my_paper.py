"""The statements, with their constants, and how they follow."""

from __future__ import annotations

from dpcheck.claims import Paper
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, epsilon, n

PAPER = Paper(key="my_paper", title="The title of the paper", authors="A. Author", reference="Where it appeared, 2026")

private = PAPER.claim(
    "my_paper/thm-1",
    "Theorem 1",
    "Algorithm 1 is ε-differentially private for numbers in an interval of length D.",
    kind="theorem",
    relation="<=",
    quantity="privacy loss",
    measures="epsilon spent",
    explicit=epsilon,
    about=("my_paper/alg-1",),
)
risk = PAPER.claim(
    "my_paper/thm-2",
    "Theorem 2",
    "The expected excess risk of Algorithm 1, for squared distances, is at most D²/(8n) + D²/(nε)².",
    kind="theorem",
    relation="<=",
    quantity="excess risk",
    measures="excess risk",
    order=D**2 / n + D**2 / (n * epsilon) ** 2,
    explicit=D**2 / (8 * n) + D**2 / (n * epsilon) ** 2,
    about=("my_paper/alg-1",),
)


@derivation("my_paper/thm-1")
def distance_over_scale(proof: Proof) -> None:
    """Laplace noise of scale s loses the distance over s."""
    moved = proof.argues("one number of n changes by at most D", "|mean - mean'|", "<=", D / n)
    proof.concludes("my_paper/thm-1", moved / (D / (n * epsilon)))


@derivation("my_paper/thm-2")
def two_variances(proof: Proof) -> None:
    """Half of the variance of a mean, and of the noise; projection onto the interval only helps."""
    scale = D / (n * epsilon)
    parts = {"sampling": (D / 2) ** 2 / n / 2, "noise": 2 * scale**2 / 2}
    proof.concludes("my_paper/thm-2", proof.master("excess risk", parts))
