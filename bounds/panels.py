"""Which claims answer the same question, in common variables: what `dpcheck phase-diagram` draws.

Diameters, Lipschitz constants, smoothness, growth and moment constants are 1, failure probabilities are constant, δ is
1/n; so a constant output has risk of order 1.
"""

import sympy as sp

from dpcheck.panels import Contest, Panel, PanelClaim, Size
from dpcheck.symbols import L, beta, d, delta, epsilon, k, kappa, m, n, omega, rho, theta, zeta

a, b = sp.symbols("a b")
PLANE = {d: n**a, epsilon: n**-b}
RANGES = {"a": (0, 2), "b": (0, 1)}
SMALL = {delta: 1 / n}
MOMENTS = {k: 4}
CAP = n ** sp.Rational(-1, 4)
"""Theorem 7 of l1_geometry is private up to ε = n^{-1/4}; a larger budget is used up to there, as Theorem 2 does."""
CONSTANT = {sp.exp(epsilon): 2}
"""e^ε is of constant order for ε ≤ 1."""
CONCENTRATED = {rho: epsilon**2 / sp.log(1 / delta)}

pure = Panel(
    key="pure",
    title="Heavy tails under pure ε-DP: upper against lower bound",
    upper=(
        PanelClaim("pure_heavy_tails/thm-3-1", "double output perturbation"),
        PanelClaim("pure_heavy_tails/thm-e-2", "exponential mechanism", {sp.Symbol("lambda_max", positive=True): 1}),
    ),
    against=(PanelClaim("pure_heavy_tails/thm-g-6", "lower bound"),),
    axes=PLANE,
    ties=SMALL,
    ranges=RANGES,
    parameters=MOMENTS,
    shows="Wherever Theorem 3.1 says anything it meets Theorem G.6: the rate under pure DP is settled, up to log(1/δ).",
)

purity = Panel(
    key="pure-approximate",
    title="Pure against approximate DP, heavy tails",
    upper=(PanelClaim("pure_heavy_tails/thm-3-1", "pure ε-DP"),),
    against=(PanelClaim("tsybakov/thm-10", "approximate DP"),),
    versus="approximate DP",
    axes=PLANE,
    ties=SMALL,
    ranges=RANGES,
    parameters=MOMENTS,
    shows="Purity costs d for √d inside the power 1−1/k: nothing where the statistical term leads under both.",
)

lipschitz = Panel(
    key="lipschitz-heavy",
    title="Heavy tails against Lipschitz losses, approximate DP",
    upper=(
        PanelClaim("tsybakov/thm-10", "clipping, high probability"),
        PanelClaim("tsybakov/thm-6", "clipping and shuffling", where=(epsilon <= n ** sp.Rational(-1, 2),)),
    ),
    against=(PanelClaim("lp_spaces/claim-rem-2", "Lipschitz losses"),),
    versus="Lipschitz losses",
    axes=PLANE,
    ties=SMALL,
    ranges=RANGES,
    parameters=MOMENTS,
    shows="A fourth moment in place of a bound costs the power 3/4 on the private term, and nothing on the statistical "
    "one; Theorem 6, proved for ε ≤ n^{-1/2}, has no exponent that Theorem 10 does not have.",
)

geometry = Panel(
    key="l1-l2",
    title="ℓ1 ball, gradients bounded in ℓ∞: ℓ1 methods against Euclidean ones",
    upper=(
        PanelClaim("l1_geometry/thm-4", "mirror descent (ℓ1)"),
        PanelClaim("l1_geometry/thm-7", "Frank–Wolfe (ℓ1, smooth)", {m: d, epsilon: sp.Min(epsilon, CAP)}),
        PanelClaim("l1_geometry/thm-6", "Frank–Wolfe (ℓ1, smooth, pure)", {m: d}),
        PanelClaim(
            "lp_spaces/thm-2@corrected",
            "Euclidean, by Gaussian width",
            {sp.Symbol("L", positive=True): sp.sqrt(d), omega: sp.sqrt(sp.log(d))},
        ),
    ),
    against=(PanelClaim("l1_geometry/thm-11@corrected", "lower bound (smooth)"),),
    axes=PLANE,
    ties=SMALL,
    ranges=RANGES,
    versus="the lower bound on the private term",
    shows="The variance-reduced method wins once d exceeds (nε)^{2/3}, as long as ε < n^{-1/4}; a Euclidean analysis "
    "pays √d on the statistical term and is never ahead by a power.",
)

growth = Panel(
    key="convex-tnc",
    title="Convex against growth θ, heavy tails",
    upper=(
        PanelClaim("tsybakov/thm-10", "convex"),
        PanelClaim("tsybakov/thm-11", "growth θ"),
        PanelClaim("tsybakov/thm-7", "growth θ, shuffled", where=(epsilon <= n ** sp.Rational(-1, 2),)),
    ),
    against=(
        PanelClaim("tsybakov/thm-4@corrected", "lower bound (private)", CONCENTRATED),
        PanelClaim("tsybakov/thm-5@corrected", "lower bound (statistical)"),
    ),
    axes=PLANE,
    ties=SMALL,
    ranges=RANGES,
    parameters={**MOMENTS, theta: 2},
    shows="Growth turns the exponent x of the convex rate into xθ/(θ−1) wherever that rate says anything, and the "
    "lower bounds of Theorems 4 and 5 meet it.",
)

unconstrained = Panel(
    key="lp",
    title="ℓp losses, 1 < p < 2: unconstrained against constrained",
    upper=(
        PanelClaim("lp_spaces/thm-7", "unconstrained (Theorem 7)", {kappa: 1}),
        PanelClaim("lp_spaces/thm-10", "heavy tails, shuffled", {kappa: 1}, (epsilon <= n ** sp.Rational(-1, 2),)),
        PanelClaim("lp_spaces/claim-app10-general-eps", "heavy tails, batched", {kappa: 1}),
    ),
    against=(PanelClaim("lp_spaces/claim-rem-3", "constrained, Lipschitz", {kappa: 1}),),
    versus="the constrained rate",
    axes=PLANE,
    ties=SMALL,
    ranges=RANGES,
    shows="Neither reaches the constrained rate where both say something; the shuffled bound for heavy tails leads the "
    "batched one wherever it is proved.",
)

users = Panel(
    key="user-level",
    title="User-level privacy, m samples a user: what there is",
    upper=(
        PanelClaim("user_level/thm-3-2", "optimal, superlinear time"),
        PanelClaim("user_level/thm-2-1", "linear time (Theorem 2.1)"),
        PanelClaim("user_level/proc-group-privacy", "group privacy, linear time", CONSTANT),
    ),
    against=(PanelClaim("user_level/fact-lower-bound", "lower bound"),),
    axes={m: n**a, epsilon: n**-b},
    ties={d: 1, delta: 1 / n},
    ranges=RANGES,
    shows="Theorem 3.2 meets the lower bound.",
)

linear = Panel(
    key="user-level-linear",
    title="User-level privacy in linear time",
    upper=(
        PanelClaim("user_level/thm-2-1", "linear time (Theorem 2.1)"),
        PanelClaim("user_level/proc-group-privacy", "group privacy", CONSTANT),
    ),
    against=(PanelClaim("user_level/fact-lower-bound", "lower bound"),),
    axes={m: n**a, epsilon: n**-b},
    ties={d: 1, delta: 1 / n},
    ranges=RANGES,
    shows="Theorem 2.1 is ahead of group privacy only for m > n: a user must have more samples than there are users.",
)

items = Panel(
    key="user-item",
    title="User-level against item-level privacy, N = nm samples",
    upper=(PanelClaim("user_level/thm-3-2", "user-level (Theorem 3.2)"),),
    against=(PanelClaim("lp_spaces/claim-rem-2", "item-level", {n: n * m}),),
    versus="item-level privacy",
    axes={m: n**a, epsilon: n**-b},
    ties={d: n, delta: 1 / n},
    ranges=RANGES,
    shows="Protecting all of a user's samples costs √m on the private term alone: nothing where the other one leads.",
)


# Upper against lower bounds ------------------------------------------------------------------------------------------

heavy_tails = Contest(
    key="pure",
    title="Heavy tails, pure ε-DP",
    upper=PanelClaim("pure_heavy_tails/thm-3-1", "Theorem 3.1"),
    lower=(PanelClaim("pure_heavy_tails/thm-g-6", "Theorem G.6", {zeta: beta}),),
    parameters=MOMENTS,
    upper_checks=("pure_heavy_tails/thm-3-1@derived::excess_risk_within_constants",),
    lower_checks=(
        "pure_heavy_tails/thm-g-6@derived::algorithms_on_packings",
        "pure_heavy_tails/thm-g-6@corrected::algorithms_on_a_line",
    ),
)

tsybakov = Contest(
    key="convex-tnc",
    title="Heavy tails with growth θ = 2, (ε, δ)-DP against zCDP",
    upper=PanelClaim("tsybakov/thm-11", "Theorem 11"),
    lower=(
        PanelClaim("tsybakov/thm-4@corrected", "Theorem 4", {rho: epsilon**2 / sp.log(1 / delta)}),
        PanelClaim("tsybakov/thm-5@corrected", "Theorem 5"),
    ),
    parameters={**MOMENTS, theta: 2},
    upper_checks=("tsybakov/thm-1@phase::one_phase_within_constants",),
    lower_checks=(
        "tsybakov/thm-4@corrected::repaired_instance_carries_its_bound",
        "tsybakov/thm-5@corrected::statistical_instance_carries_its_bound",
    ),
)

cross_polytope = Contest(
    key="l1-nonsmooth",
    title="ℓ1 ball, nonsmooth (the lower bound is empirical, on the private term)",
    upper=PanelClaim("l1_geometry/thm-4", "Theorem 4"),
    lower=(PanelClaim("l1_geometry/thm-10@corrected", "Theorem 10"),),
    upper_checks=("l1_geometry/thm-4::risk_of_localised_descent",),
    lower_checks=("l1_geometry/thm-10@corrected::descent_on_the_location_loss",),
)

smooth_cross_polytope = Contest(
    key="l1-smooth",
    title="ℓ1 ball, smooth (the lower bound is empirical, on the private term)",
    upper=PanelClaim("l1_geometry/thm-7", "Theorem 7", {m: d}),
    lower=(PanelClaim("l1_geometry/thm-11@corrected", "Theorem 11"),),
    upper_checks=("l1_geometry/thm-7::risk_with_approximate_noise",),
    lower_checks=("l1_geometry/thm-11::tree_and_descent_on_a_hard_lasso",),
)

gaussian_width = Contest(
    key="gaussian-width",
    title="Strongly convex in ‖·‖_C, by Gaussian width",
    upper=PanelClaim("lp_spaces/thm-4@derived", "Theorem 4", {L: 1}),
    lower=(PanelClaim("lp_spaces/thm-5", "Theorem 5"),),
    upper_checks=("lp_spaces/thm-4@derived::strongly_convex_risk",),
)

users_contest = Contest(
    key="user-level",
    title="User-level privacy, smooth losses",
    upper=PanelClaim("user_level/thm-3-2", "Theorem 3.2"),
    lower=(PanelClaim("user_level/fact-lower-bound", "lower bound of [LSA+21]"),),
    upper_checks=("user_level/thm-c3::risk_of_algorithm_3",),
    lower_checks=("user_level/fact-lower-bound@derived::no_algorithm_beats_the_bayes_risk",),
)


# Real sizes ----------------------------------------------------------------------------------------------------------

ITEMS = (
    "tsybakov/alg-6",
    "l1_geometry/alg-3",
    "lp_spaces/alg-1",
    "lp_spaces/proc-exact-objpert",
    "pure_heavy_tails/proc-localized-double-op",
    "pure_heavy_tails/fact-trivial",
)

fifty_parameters = Size(
    key="fifty",
    title="A hundred thousand records, fifty parameters",
    values={"n": 100_000, "d": 50, "epsilon": 1.0, "delta": 1e-6, "k": 4.0},
    only=ITEMS,
)
ten_million = Size(
    key="ten-million",
    title="Ten million records, five parameters, pure ε-DP",
    values={"n": 10_000_000, "d": 5, "epsilon": 1.0, "k": 4.0},
    only=ITEMS,
)
million_users = Size(
    key="users",
    title="A million users of ten samples each",
    values={"n": 1_000_000, "m": 10, "d": 10, "epsilon": 1.0, "delta": 1e-8, "H": 0.001},
    only=("user_level/alg-1", "user_level/alg-3", "user_level/proc-group-privacy", "pure_heavy_tails/fact-trivial"),
)
