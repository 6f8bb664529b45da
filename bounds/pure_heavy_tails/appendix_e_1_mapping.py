"""Appendix E.1 of arXiv 2604.06492: the projected gradient mapping."""

from __future__ import annotations

from ._paper import claim

proc_pgm = claim(
    "pure_heavy_tails/proc-pgm",
    "Projected gradient mappings (17)-(19)",
    "G(w) = (w − Π_W(w − γ∇F̂_λ(w)))/γ, and its clipped version with clip_C of every gradient; the score is the "
    "norm of the latter.",
    kind="procedure",
    section="E.1",
)
