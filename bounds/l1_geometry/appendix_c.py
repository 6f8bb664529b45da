"""Appendix C: the one-step inequality of mirror descent."""

from __future__ import annotations

from ._paper import claim

fact_one_step = claim(
    "l1_geometry/fact-one-step",
    "Equation (2)",
    "f(x_k) − f* ≤ (η_k/2)‖g_k‖_∞² + ⟨∇f(x_k) − g_k, x_k − x*⟩ + (D_h(x*,x_k) − D_h(x*,x_{k+1}))/η_k − λD_h(x*,x_k), "
    "for every g_k.",
    kind="lemma",
    section="C.1",
    quantity="excess loss of one iterate",
)
