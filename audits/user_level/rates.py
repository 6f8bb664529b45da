"""Rates and gradient counts by algebra: what follows from what, and in which regime which of them is smaller."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.checks import Context, check
from dpcheck.engine.statements import explicit_of, order_of
from dpcheck.harness import domain
from dpcheck.harness.symbolic import agree, no_larger, proved
from dpcheck.symbols import BY_NAME, D, H, L, d, delta, epsilon, m, mu, n, rho
from dpcheck.verdicts import Verdict, combine, differs

from ._statements import unit

LOG = sp.Symbol("ell", positive=True)
UNITS = (L, D)


def without_log(expression: object) -> sp.Expr:
    """Without the logarithm of 1/delta."""
    return sp.sympify(expression).subs(sp.log(1 / delta), 1).subs(delta, sp.exp(-1))


# Section 1 ------------------------------------------------------------------------------------------------------------


@check("user_level/fact-lower-bound", kind="symbolic")
def optimal_risk_meets_the_lower_bound(context: Context) -> Verdict:
    """The optimal risk of Theorem 3.2 without its logarithm is the lower bound."""
    return proved(
        {
            "Theorem 3.2 - lower bound": without_log(order_of("user_level/thm-3-2"))
            - order_of("user_level/fact-lower-bound")
        }
    )


@check("user_level/fact-prior-rates", kind="symbolic")
def speed_ups_of_the_introduction(context: Context) -> Verdict:
    """At n = d, epsilon = 1, L = R = 1: the quotients of AL24's counts and the dominant terms, and n^7 >= m."""
    beta = H
    smooth, smaller = beta ** sp.Rational(1, 4) * (n * m) ** sp.Rational(9, 8), n ** sp.Rational(1, 4)
    other = smaller * m ** sp.Rational(5, 4)
    theirs = beta * (n * m) ** sp.Rational(3, 2)
    rough = n ** sp.Rational(11, 8) * m ** sp.Rational(5, 4)
    return proved(
        {
            "smooth speed-up": theirs / smooth - (n * m) ** sp.Rational(3, 8) * beta ** sp.Rational(3, 4),
            "rough speed-up": (n * m) ** 3 / rough - n ** sp.Rational(13, 8) * m ** sp.Rational(7, 4),
            "quotient of the two terms": ((n * m) ** sp.Rational(9, 8) / other) ** 8 - n**7 / m,
        }
    )


@check("user_level/fact-prior-rates", kind="symbolic")
def linear_time_rates_against_group_privacy(context: Context) -> Verdict:
    """Private parts over that of group privacy: sqrt(n/m) as printed (so m > n), sqrt(epsilon n/m) as proved."""
    trivial = sp.sqrt(d) / (epsilon * n)
    printed = sp.sqrt(d) / (epsilon * sp.sqrt(n * m))
    derived = unit(order_of("user_level/thm-2-1@derived"), UNITS)
    private = unit(order_of("user_level/fact-prior-rates"), UNITS) - 1 / sp.sqrt(n * m)
    return proved(
        {
            "group privacy": private - trivial,
            "printed": printed / trivial - sp.sqrt(n / m),
            "proved": derived / trivial - sp.sqrt(epsilon * n / m),
        }
    )


# Section 2 ------------------------------------------------------------------------------------------------------------


@check("user_level/thm-2-1@derived", kind="symbolic")
def proved_rate_against_the_printed_one(context: Context) -> Verdict:
    """It is sqrt(epsilon) times the printed second term without its logarithm: at most sqrt 10 of it."""
    second = without_log(order_of("user_level/thm-2-1")) - D * L / sp.sqrt(n * m * epsilon)
    quotient = order_of("user_level/thm-2-1@derived") / second - sp.sqrt(epsilon)
    room = domain.never_positive(sp.sqrt(epsilon) - sp.sqrt(10), {"epsilon": (0, 10)}, statement="quotient <= sqrt 10")
    return combine([proved({"quotient": sp.simplify(quotient)}), room])


@check("user_level/thm-b1@derived", kind="symbolic")
def exponents_of_the_explicit_bound(context: Context) -> Verdict:
    """With its logarithms held fixed the bound goes as (nm)^(-1/2) epsilon^(-1/2) d^(1/2), q fixed and p = 2."""
    bound = explicit_of("user_level/thm-b1@derived")
    logs = {node: sp.Symbol(f"log_{i}", positive=True) for i, node in enumerate(sorted(bound.atoms(sp.log), key=str))}
    flat = bound.subs(logs)
    values = {**dict.fromkeys(logs.values(), 50), L: 1, D: 1, BY_NAME["p"]: 2, BY_NAME["q"]: sp.Rational(1, 10)}
    flat = sp.sympify(flat.subs(values))
    at = {n: 10**40, m: 10, d: 10, epsilon: 1}
    found = [float((sp.diff(flat, s) * s / flat).subs(at).evalf(30)) for s in (n, m, epsilon, d)]
    return agree(found, [-0.5, -0.5, -0.5, 0.5], "exponents in n, m, epsilon, d at n = 10^40", tolerance=1e-6)


# Section 3 ------------------------------------------------------------------------------------------------------------


@check("user_level/thm-3-2", kind="symbolic")
def simplification_after_theorem_3_2(context: Context) -> Verdict:
    """n = d, epsilon = 1, beta R = L: mn + (mn)^(9/8) + n^(1/4) m^(5/4), the sum printed, and its minimum form."""
    at = {d: n, epsilon: 1, H: L / D}
    short = m * n + (m * n) ** sp.Rational(9, 8) + n ** sp.Rational(1, 4) * m ** sp.Rational(5, 4)
    tight = sp.simplify(order_of("user_level/thm-3-2@derived").subs(at) - short)
    printed = sp.simplify(
        order_of("user_level/thm-3-2@gradients").subs(at) - short - n ** sp.Rational(1, 4) * m ** sp.Rational(5, 4)
    )
    return proved({"minimum": tight, "sum": printed})


@check("user_level/thm-3-2@derived", kind="symbolic")
def gradients_from_steps_and_minibatches(context: Context) -> Verdict:
    """T K m with T = sqrt(beta/lambda), K = n eps/sqrt T + 1/eps at either part of lambda: the terms of the count."""
    ratio = H * D / L
    parts = {
        "statistical part": (1 / sp.sqrt(n * m), (m * n) ** sp.Rational(1, 8), 1 / epsilon),
        "private part": (
            sp.sqrt(d) / (epsilon * n * sp.sqrt(m)),
            (epsilon**2 * n**2 * m / d) ** sp.Rational(1, 8),
            1 / epsilon,
        ),
    }
    cost = {
        "statistical part": n ** sp.Rational(1, 4) * m ** sp.Rational(5, 4) / epsilon,
        "private part": sp.sqrt(n) * m ** sp.Rational(5, 4) / (d ** sp.Rational(1, 4) * sp.sqrt(epsilon)),
    }
    zero = {}
    for name, (weight, eighth, users) in parts.items():
        T = sp.sqrt(ratio / weight)
        sampled, few = n * epsilon * sp.sqrt(T) * m, T * m * users
        zero[f"{name}, n eps/sqrt T"] = sp.simplify(
            sampled / (m * n * epsilon * ratio ** sp.Rational(1, 4) * eighth) - 1
        )
        zero[f"{name}, 1/eps"] = sp.simplify(few / (sp.sqrt(ratio) * cost[name]) - 1)
    return proved(zero)


@check("user_level/thm-c3", kind="symbolic")
def summands_of_the_recursion_are_optimal(context: Context) -> Verdict:
    """tau = L/sqrt m and either part of lambda dominant: each summand of the derived bound, without logarithms."""
    a, b, c = sp.symbols("a b c", real=True)
    rate = 1 / sp.sqrt(n * m) + sp.sqrt(d) / (epsilon * n * sp.sqrt(m))
    free = {m: n**a, epsilon: n**-b}
    ties = {**free, d: n**c}
    inside = [a >= 0, b >= 0, b <= 1, c >= 0]
    rows = {}
    for name, weight, where in (
        ("statistical", 1 / sp.sqrt(n * m), [c <= 1 - 2 * b]),
        ("private", sp.sqrt(d) / (epsilon * n * sp.sqrt(m)), [c >= 1 - 2 * b]),
    ):
        regime = Regime(ties=ties, where=[*inside, *where])
        summands = {
            "stability": 1 / (weight * n * m),
            "weight": weight,
            "noise": d / (m * weight * epsilon**2 * n**2),
            "minibatch": 1 / (m * weight * n),
            # tau/lambda (2/n)^p at p = 5/2 + log_n sqrt m, q -> 0.
            "last distance, noise": sp.sqrt(d) / (sp.sqrt(m) * weight * sp.sqrt(n**5 * m) * epsilon * n),
            "last distance, minibatch": 1 / (sp.sqrt(m) * weight * sp.sqrt(n**5 * m) * sp.sqrt(n)),
        }
        rows |= {f"{name}: {what}": (term, rate, regime) for what, term in summands.items()}
    return no_larger(rows)


@check("user_level/claim-3-4@derived", kind="symbolic")
def best_exponent_of_the_phase_sizes(context: Context) -> Verdict:
    """(1 - u) u^x, u = 2^-q and x = log2 n, is stationary at 1/u = 1 + 1/x; and x log(1 + 1/x) <= 1."""
    x, u = sp.symbols("x u", positive=True)
    slope = sp.diff(sp.log(1 - u) + x * sp.log(u), u).subs(u, x / (x + 1))
    euler = domain.never_positive(x * sp.log(1 + 1 / x) - 1, {"x": (1, 1000)}, statement="(1 + 1/x)^x <= e")
    return combine([proved({"stationary": sp.simplify(slope)}), euler])


@check("user_level/claim-3-4", kind="symbolic")
def users_needed_are_logarithmic(context: Context) -> Verdict:
    """100 e (1 + log2 n) log(...)/epsilon users suffice: at most 200 e/log 2 times the stated order, for n >= 2."""
    x = sp.Symbol("x", positive=True)  # log2 n
    log = sp.Symbol("ell", positive=True)  # log(20nmd e^epsilon/delta)
    order = order_of("user_level/claim-3-4")
    (inner,) = [found for found in order.atoms(sp.log) if found != sp.log(n)]
    order = order.subs(inner, log).subs(sp.log(n), x * sp.log(2))
    left = sp.simplify((100 * sp.E * (1 + x) * log / epsilon - 200 * sp.E / sp.log(2) * order) * epsilon / log)
    if left.free_symbols != {x}:
        return differs(f"of another order than the printed one: {left}", "symbolic")
    return domain.never_positive(left, {"x": (1, 10_000)}, statement="users that suffice <= 785 times the stated order")


@check("user_level/proc-strongly-convex-meta@derived", kind="symbolic")
def fixed_point_of_the_restarts(context: Context) -> Verdict:
    """x = 2 L rho/mu solves (mu/2) x^2 = L rho x, and the risk L rho x there is the stated one."""
    x = 2 * L * rho / mu
    return proved(
        {
            "fixed point": mu / 2 * x**2 - L * rho * x,
            "risk": L * rho * x - explicit_of("user_level/proc-strongly-convex-meta@derived"),
        }
    )


# Section 4 ------------------------------------------------------------------------------------------------------------


@check("user_level/claim-4-2@corrected", kind="symbolic")
def true_speed_up(context: Context) -> Verdict:
    """(nm)^3 over the corrected count, eps = 1, d <= n: as printed for m <= n^(5/2), n^(9/4) m^(3/2) beyond."""
    a, c = sp.symbols("a c", real=True)
    count = order_of("user_level/thm-d3@corrected").subs(epsilon, 1) - m * n
    few = Regime(ties={m: n**a, d: n**c}, where=[a >= 0, c >= 0, c <= 1, a <= sp.Rational(5, 2)])
    many = Regime(ties={m: n**a, d: n**c}, where=[c >= 0, c <= 1, a >= sp.Rational(5, 2)])
    rows = {
        "count for m <= n^(5/2)": (count, (n * m) ** 3 / order_of("user_level/claim-4-2"), few),
        "count beyond": (count, (n * m) ** 3 / (n ** sp.Rational(9, 4) * m ** sp.Rational(3, 2)), many),
    }
    return no_larger(rows)


@check("user_level/lem-d2", kind="symbolic")
def hypotheses_of_lemma_d2_give_the_counts(context: Context) -> Verdict:
    """K = n eps/sqrt T + log/eps makes T K >= n exactly when eps sqrt T + T log/(eps n) >= 1: its own hypothesis."""
    T = sp.Symbol("T", positive=True)
    users = n * epsilon / sp.sqrt(T) + LOG / epsilon
    return proved({"T K/n": sp.simplify(T * users / n - epsilon * sp.sqrt(T) - T * LOG / (epsilon * n))})
