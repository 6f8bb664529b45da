"""Proofs that checks rest on: privacy of subsamples, and where the printed noise of Algorithm 1 is enough.

The second speak of a whole range of n, m, ε and δ, and not of points of it. All depends on x = log(n/δ), ℓ = log(1/δ)
and ε alone, for C and τ cancel.
"""

from __future__ import annotations

import sympy as sp

from dpcheck.engine.statements import explicit_of
from dpcheck.harness import domain
from dpcheck.harness.symbolic import proved
from dpcheck.symbols import B, C, delta, epsilon, m, n, positive, tau, zeta
from dpcheck.verdicts import Verdict, combine

x, ell, v, a, u = positive("x l v a u")
FAILURE = delta / (10 * sp.exp(epsilon))
"""What each event of the privacy proof may miss."""
MOST_EPSILON, LEAST_X = 10, 16
FEWEST_USERS, MOST_DELTA = 10**3, sp.Rational(1, 10**4)


def covered(moved: sp.Expr, kept: sp.Expr = sp.S.One) -> Verdict:
    """Whether σ_i covers, at (ε/4, δ/n), a mean of `kept` C points that moves by moved/kept, with B at its tail of
    δ/(10e^ε): for all n >= 10^3, δ <= 10^-4 and ε <= 10, where x >= 16 and v = 1/x.

    The square of what is asked over what is printed grows with ε + ℓ: ε = 10 and ℓ = x − log 10^3 decide.
    """
    asked, tail = explicit_of("user_level/def-a5"), explicit_of("user_level/lem-b2@tail")
    (width,) = (s for s in asked.free_symbols if s.name == "Delta")
    asked = asked.subs({width: moved, epsilon: epsilon / 4, delta: delta / n}, simultaneous=True)
    over = (asked / explicit_of("user_level/alg-1@sigma") ** 2).subs(B, tail).subs(zeta, FAILURE)
    over = sp.expand_log(over.subs({n: sp.exp(x - ell), delta: sp.exp(-ell)}), force=True)
    slope = sp.diff(over, epsilon)
    grows = proved(
        {"ε and ℓ by their sum alone": slope - sp.diff(over, ell)},
        {
            "slope at ε = ℓ = 0": sp.factor(slope.subs({epsilon: 0, ell: 0})),
            "which grows": sp.factor(sp.diff(slope, epsilon)),
            "x": sp.log(FEWEST_USERS / MOST_DELTA) - LEAST_X,
        },
    )
    most = over.subs({epsilon: MOST_EPSILON, ell: x - sp.log(FEWEST_USERS)}).subs(x, 1 / v)
    left = sp.cancel(sp.expand_log(most, force=True)) / kept**2 - 1
    said = "noise asked for over the printed one <= 1 for n >= 10^3, delta <= 10^-4, epsilon <= 10"
    return combine([domain.never_positive(left, {"v": (0, sp.Rational(1, LEAST_X))}, statement=said), grows])


def covered_on_another_event() -> Verdict:
    """`covered` for points that stay with p_j >= 3/5 − 6/C each, 3C/5 − 1 of them: |S| by Hoeffding's inequality.

    It misses the mean by √(3C y/10) at most, y = log(10e^ε/δ); C >= 10x and C >= 10y leave a share in v alone.
    """
    groups = explicit_of("user_level/alg-1@groups").args[0]  # before it is rounded up
    most = {n: sp.exp(a), m: 1 + ell, delta: sp.exp(a - x), epsilon: MOST_EPSILON / (1 + u)}
    least, y = (sp.expand_log(size.subs(most), force=True, factor=True) for size in (groups, -sp.log(FAILURE)))
    enough = proved({}, {f"C >= 10 {name}": sp.expand(least - 10 * size) for name, size in (("x", x), ("y", y))})
    core = (sp.Rational(3, 5) - v / 10) * (sp.Rational(3, 5) - 6 * v / 10)
    return combine([covered(4 * tau * (2 + B) / C, core - sp.sqrt(sp.Rational(3, 100))), enough])


def joint_convexity() -> Verdict:
    """Whether (ε', δq) is spent where a share q of the runs differs, each by an (ε, δ)-private step.

    a, b and c are the densities of the runs without the changed record and of those with it, before and after. By the
    identity P − e^{ε'}Q is q times b − e^ε((1 − β)a + βc), and b is (ε, δ)-close to a and to c: of no event it is more
    than q((1 − β)δ + βδ).
    """
    without, before, after, y, z = positive("a b c y z")
    sharp, printed = (explicit_of(f"user_level/lem-a8{reading}") for reading in ("@derived", ""))
    places = {s.name: s for s in sharp.free_symbols}
    at = {places["epsilon"]: sp.log(1 + y), places["K"]: 1, places["N"]: 1 + z}
    q, spent = 1 / (1 + z), sp.exp(sharp.subs(at))
    beta = spent / (1 + y)
    apart = (1 - q) * without + q * before - spent * ((1 - q) * without + q * after)
    return proved(
        {
            "P - e^eps' Q": sp.expand(apart - q * (before - (1 + y) * ((1 - beta) * without + beta * after))),
            "the printed form is the argument of the sharp one": sp.exp(sharp) - 1 - printed,
        },
        {"beta <= 1": sp.factor(1 - beta), "log(1 + z) <= z, an equality at 0": sp.factor(sp.diff(z - sp.log(1 + z)))},
    )


def place_by_place() -> Verdict:
    """Whether changes of M drawn places, one by one, each (log(1 + (e^ε − 1)/N), δ/N), spend what is stated.

    The δ of M of them is a sum of M terms, none above e^{Mε_1}δ/N.
    """
    said, sharp = (explicit_of(f"user_level/lem-a8{reading}") for reading in ("@corrected", "@derived"))
    at, t = {s.name: s for s in said.free_symbols}, positive("t")[0]
    most = at["K"] * sp.exp(at["K"] * sharp.subs(at["K"], 1)) * at["delta"] / at["N"]
    slack = sp.expand_log(sp.log(said / most), force=True).subs(at["epsilon"], sp.log(1 + at["N"] * t))
    steps = proved({"slack at ε = 0": slack.subs(t, 0)}, {"which grows": sp.factor(sp.diff(slack, t))})
    return combine([steps, joint_convexity()])
