"""Why the other statements on stability, sensitivity and accuracy have no certificate.

A certificate speaks of every function of a class along one path, or of what is linear in products of random vectors.
What it cannot say is a law, a probability, a count of steps until something happens, or a property of one function.
"""

from __future__ import annotations

_REASONS = {
    "it defines or assumes; there is nothing to bound": """
        l1_geometry/asm-geometry l1_geometry/def-2-1 l1_geometry/def-2-2 l1_geometry/def-2-3 l1_geometry/def-2-4
        lp_spaces/def-3 lp_spaces/def-4 lp_spaces/def-5 lp_spaces/def-6 lp_spaces/def-7 lp_spaces/def-8
        lp_spaces/def-9 lp_spaces/def-10 lp_spaces/def-11 lp_spaces/def-12 pure_heavy_tails/def-d-3
        tsybakov/asm-1 tsybakov/def-8 tsybakov/def-moments user_level/def-a1 user_level/def-a10 tsybakov/def-1
        user_level/def-a2""",
    "a law, a probability or an order, not a bound that products of vectors and their means give": """
        l1_geometry/lem-3-3 l1_geometry/lem-4-1 l1_geometry/lem-4-2 l1_geometry/lem-4-3 l1_geometry/lem-4-4
        l1_geometry/fact-gauss-max l1_geometry/fact-hoeffding-mgf l1_geometry/proc-report-noisy-max
        lp_spaces/claim-rem-1 lp_spaces/lem-4 lp_spaces/proc-gg lp_spaces/thm-1 lp_spaces/thm-2 lp_spaces/thm-4
        lp_spaces/thm-7 lp_spaces/thm-9 lp_spaces/thm-10 pure_heavy_tails/fact-clip-bias
        pure_heavy_tails/fact-em-utility pure_heavy_tails/fact-gamma-tail pure_heavy_tails/fact-gibbs
        pure_heavy_tails/lem-2-4 pure_heavy_tails/proc-iso-laplace
        pure_heavy_tails/prop-2-5 pure_heavy_tails/prop-3-2 pure_heavy_tails/prop-c-3 pure_heavy_tails/prop-e-4
        pure_heavy_tails/prop-f-5 tsybakov/fact-gauss-tail tsybakov/fact-moment-lipschitz tsybakov/lem-2
        tsybakov/thm-9 user_level/fact-dp-stability user_level/fact-eq-12 user_level/fact-eq-15
        user_level/lem-2-3 user_level/lem-3-5 user_level/lem-a9 user_level/lem-a12 user_level/lem-b2
        user_level/lem-b4 user_level/lem-c2 user_level/lem-c4 user_level/lem-c6 user_level/lem-d1
        user_level/proc-outlier-removal user_level/proc-randomized-smoothing user_level/thm-3-1
        user_level/thm-a11 tsybakov/lem-6 tsybakov/thm-2 tsybakov/thm-3 tsybakov/thm-6 tsybakov/thm-7
        user_level/thm-b1 tsybakov/proc-lb4-data
        user_level/proc-subsample l1_geometry/fact-fkt-5-1 lp_spaces/claim-app10-general-eps lp_spaces/thm-8
        pure_heavy_tails/thm-3-1 pure_heavy_tails/thm-e-2 pure_heavy_tails/thm-e-5 pure_heavy_tails/thm-f-6
        user_level/lem-d2 l1_geometry/thm-7 l1_geometry/thm-8
        l1_geometry/thm-9 user_level/thm-c3 user_level/thm-d3""",
    "of every linear function at every point of a polytope: products of unknown weights and unknown values": """
        l1_geometry/fact-vertex""",
    "of one function, norm or mirror map, not of a class": """
        l1_geometry/lem-a1 l1_geometry/alg-4 l1_geometry/proc-eg-step l1_geometry/fact-norm-ratio
        lp_spaces/proc-mirror-map lp_spaces/proc-lower-instance pure_heavy_tails/cor-d-7
        pure_heavy_tails/proc-socp-subgrad pure_heavy_tails/prop-d-6 tsybakov/ex-l4 tsybakov/ex-logistic
        tsybakov/fact-power-tnc tsybakov/fact-tnc-monotone lp_spaces/proc-heavy-euclid""",
    "an algorithm with noise or random batches; its deterministic steps are certified where they are stated": """
        l1_geometry/alg-1 l1_geometry/alg-2 l1_geometry/alg-3 l1_geometry/alg-5 l1_geometry/alg-6
        lp_spaces/alg-2 lp_spaces/alg-3 lp_spaces/alg-4 lp_spaces/proc-batched-md lp_spaces/proc-phased-sgd
        pure_heavy_tails/alg-4 pure_heavy_tails/alg-6 pure_heavy_tails/alg-7 pure_heavy_tails/lem-f-2
        pure_heavy_tails/proc-pgm pure_heavy_tails/proc-single-op pure_heavy_tails/proc-smoothed-em-pgm
        pure_heavy_tails/proc-structured-double-op tsybakov/alg-6 user_level/alg-1 user_level/alg-2
        user_level/alg-4 user_level/alg-3 lp_spaces/proc-exact-objpert pure_heavy_tails/alg-1
        pure_heavy_tails/proc-noisy-subgradient tsybakov/alg-4 tsybakov/alg-5 tsybakov/alg-7 tsybakov/proc-dpsgd
        l1_geometry/proc-strongly-convex-reduction user_level/proc-strongly-convex-meta
        pure_heavy_tails/proc-localized-double-op pure_heavy_tails/proc-logconcave-sampler
        pure_heavy_tails/proc-two-step user_level/proc-smoothed-alg-3
        tsybakov/proc-gaussian tsybakov/proc-ldp-gauss tsybakov/proc-zcdp-plugin""",
    "steps that the run decides, a count of calls until a stop, or an implementation held against an exact one": """
        lp_spaces/proc-optimizer pure_heavy_tails/alg-3 pure_heavy_tails/lem-2-8 pure_heavy_tails/lem-c-6
        pure_heavy_tails/proc-inexact-proj pure_heavy_tails/prop-2-9 pure_heavy_tails/prop-c-5
        pure_heavy_tails/thm-b-1 tsybakov/proc-dykstra tsybakov/proc-prox-exact""",
    "that an extension or reformulation is convex and equals the original: a construction, not an inequality": """
        pure_heavy_tails/lem-2-2 pure_heavy_tails/proc-joint-reform pure_heavy_tails/proc-lip-ext""",
    "clipping by norm is no monotone map; what holds of its steps nevertheless is certified as readings of `rem-2`": """
        tsybakov/alg-2 tsybakov/alg-3 tsybakov/rem-2 tsybakov/thm-1""",
    "a recursion of numbers with real powers, which products of vectors do not say; an audit has its closed form": """
        tsybakov/fact-thm3-recursion""",
    "of all private mechanisms and an unnamed constant: a game of one size says nothing of an order": """
        l1_geometry/lem-6-1""",
    "counts of pairs of points: combinatorial, exact by enumeration": """
        user_level/proc-concentration-score tsybakov/proc-gv-packing""",
}
UNREACHED: dict[str, str] = {label: reason for reason, labels in _REASONS.items() for label in labels.split()}
"""Label -> the reason. A reading of a statement that has none may well be certified."""
