"""Section 3: the remarks on the accelerated algorithm, and its restarts."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import sympy as sp

from dpcheck.algorithms.user_level import PhasedERM, StronglyConvex
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.settings import PRINTED, Inner, drawn, settings
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.harness import accuracy, domain, risk
from dpcheck.harness.budget import REDUCED, with_budget
from dpcheck.harness.data_free import told_apart
from dpcheck.harness.scaling import Axis, Family, Instance, powers, scaling, unmeasured
from dpcheck.harness.symbolic import agree, proved
from dpcheck.symbols import L, epsilon, mu, n, rho
from dpcheck.verdicts import Verdict, combine, differs

from .cases import (
    APART,
    BY_MOMENTS,
    PATIENT,
    REDUCED_3,
    WRONG,
    accelerated,
    counted,
    phases,
    plain,
    problem,
    quadratic,
)
from .feasible import TINY_DELTA, first_feasible
from .lines import ALG_3, BESIDE, KEPT, MINIBATCHES, NAMES, replayed, restarts, three_kinds
from .plans import rounds

ROUNDS = {
    "phases": "user_level/proc-strongly-convex-meta@rounds",
    "users": "user_level/proc-strongly-convex-meta@users",
    "radius": "user_level/proc-strongly-convex-meta@distance",
}
CALLS = Inner(
    called=lambda chosen, problem, each: (chosen.call(each.radius), problem, each.users), stated={PRINTED: ALG_3}
)
settings_of_the_restarts = settings(
    "user_level/proc-strongly-convex-meta",
    ROUNDS,
    symbols=NAMES | {"radius": "R"},
    beside=BESIDE | {"shift": "nothing is smoothed"},
    problems=drawn(users=True, n=(2.0**22, 2.0**27), epsilon=(0.2, 8)),
    fields={"mu": (0.01, 0.1, 1.0)},
    inner=CALLS,
)


@check("user_level/proc-strongly-convex-meta", kind="transcription")
def plans_and_promises_of_the_restarts(context: Context) -> Verdict:
    """What is planned, refused and promised."""
    # unbound: what is planned and promised, which no formula says
    return rounds(replace(REDUCED_3, c_users=0.02, c_score=0.01))


@check("user_level/claim-3-4", kind="symbolic")
def users_needed_are_logarithmic(context: Context) -> Verdict:
    """100 e (1 + log2 n) log(...)/epsilon users suffice: at most 200 e/log 2 times the stated order, for n >= 2."""
    x = sp.Symbol("x", positive=True)  # log2 n
    log = sp.Symbol("ell", positive=True)  # log(20nmd e^epsilon/delta)
    order = order_of("user_level/claim-3-4")
    inner = {atom: log for atom in order.atoms(sp.log) if atom != sp.log(n)}
    order = order.subs(inner).subs(sp.log(n), x * sp.log(2))
    left = sp.simplify((100 * sp.E * (1 + x) * log / epsilon - 200 * sp.E / sp.log(2) * order) * epsilon / log)
    if left.free_symbols != {x}:
        return differs(f"of another order than the printed one: {left}", "symbolic")
    return domain.never_positive(left, {"x": (1, 10_000)}, statement="users that suffice <= 785 times the stated order")


@check("user_level/claim-3-4@derived", kind="runtime", grid={"epsilon": (0.1, 1.0), "m": (1, 100)})
def users_that_suffice(context: Context, *, epsilon: float, m: int) -> Verdict:
    """Just below the planner's smallest n of Algorithm 3, n/(e (1 + log_2 n)) is below what a phase needs."""
    told = plain(10, m, epsilon, TINY_DELTA)
    algorithm = PhasedERM()
    first = first_feasible(algorithm, told)
    assert first is not None
    needed = algorithm.enough(told, first)
    # One user below the smallest n the last phase is short, so that the closed form is below the need.
    below = stated("user_level/claim-3-4@derived", n=float(first - 1))
    return accuracy.never_violated(
        [below, 1.0], [needed, float(algorithm.feasible(told, first))],
        statement="n/(e (1 + log2 n)) <= 100 log(...)/eps just below", covers="this size", evidence="exact",
    )  # fmt: skip


@check("user_level/claim-3-4@derived", kind="symbolic")
def best_exponent_of_the_phase_sizes(context: Context) -> Verdict:
    """(1 - u) u^x, u = 2^-q and x = log2 n, is stationary at 1/u = 1 + 1/x; and x log(1 + 1/x) <= 1."""
    x, u = sp.symbols("x u", positive=True)
    slope = sp.diff(sp.log(1 - u) + x * sp.log(u), u).subs(u, x / (x + 1))
    euler = domain.never_positive(x * sp.log(1 + 1 / x) - 1, {"x": (1, 1000)}, statement="(1 + 1/x)^x <= e")
    least = explicit_of(context.label).subs(sp.log(n), x * sp.log(2)) / n
    share = 1 / (sp.E * (x + 1))  # (1 - u) u^x at 1 - u = 1/(x + 1), where u^x >= 1/e
    return combine([proved({"stationary": sp.simplify(slope), "the share there": least / share - 1}), euler])


CONVEX = Family.of(mirrored=True, steeper=Axis((1.0, 4.0), closed=(True, False)))
"""Bowls of the least curvature that strong convexity allows, and steeper."""


def restarted(mu: float, steeper: float, **at: Any) -> Instance:
    """Restarts of it on losses of that strong convexity, and more."""
    one = accelerated(PATIENT, mu * steeper, **{"n": 10**12} | at).running(StronglyConvex(mu=mu, inner=PATIENT))
    last = phases(one)[-1].users
    users = {name: one.at[name] for name in ("m", "d", "epsilon", "delta", "L")}
    there = {name: float(value) for name, value in accelerated(PATIENT, mu, **users, n=last).at.items()}
    rho = stated("user_level/lem-d2@balanced", **there) / one.at["L"]
    return replace(one, at={**one.at, "mu": mu, "rho": rho})


META = StronglyConvex(mu=1.0, inner=replace(REDUCED_3, c_users=0.05))


MU = 2.0**-2


def of_the_restarts(variable: str, sizes: Any) -> Any:
    """A row of it."""
    return scaling(
        "user_level/proc-strongly-convex-meta@derived", variable=variable, sizes=sizes, against="explicit",
        family=CONVEX, engine=BY_MOMENTS, mutants=WRONG, also=("user_level/claim-3-6",), since="standard",
    )  # fmt: skip


@of_the_restarts("n", powers(10, range(11, 15)))
def slope_in_users(*, n: int, steeper: float) -> Instance:
    """Mean excess risk of the restarts over n, strong convexity 1/4, whole batches, private at printed constants."""
    return restarted(MU, steeper, n=n)


@of_the_restarts("m", powers(2, range(72, 89, 8)))
def slope_in_samples_of_a_user(*, m: int, steeper: float) -> Instance:
    """The same over m."""
    return restarted(MU, steeper, m=m)


@of_the_restarts("d", powers(2, range(62, 83, 10)))
def slope_in_the_dimension(*, d: int, steeper: float) -> Instance:
    """The same over d, n = 10^11."""
    return restarted(MU, steeper, d=d, n=10**11)


@of_the_restarts("mu", powers(2, range(-6, -1, 2)))
def slope_in_the_convexity(*, mu: float, steeper: float) -> Instance:
    """The same over mu, n = 10^11 and m = 10^28."""
    return restarted(mu, steeper, n=10**11, m=10**28)


unmeasured_of_the_restarts = unmeasured(
    "user_level/claim-3-6", "epsilon delta L",
    "The distances that the rounds are told have not settled by the last one, so that R/bound rises by a factor of 1.6 "
    "from epsilon = 10^-7 to 0.1 (n = 10^20); a size takes about a minute of CPU with its wrong schedules.",
)  # fmt: skip


@check("user_level/proc-strongly-convex-meta", kind="risk", grid={"n": by_size([1000], [1000, 2000])})
def risk_of_the_restarts(context: Context, *, n: int) -> Verdict:
    """Quadratics whose start does not keep the bound, mu = 1: mean excess risk against (L^2/mu)(1/(nm) +
    d log(1/delta)/(eps^2 n^2 m)) times log^2(ndm). Reduced noise: the private part is not what is spent.
    """
    work, m, d = quadratic(3, 8, 0.36), 8, 3
    told = problem(work)
    values = risk.excess_risks(META, work, told, n, context.scale(520, 1200), context.seed, context.label, n)
    bound = (
        stated("user_level/proc-strongly-convex-meta", L=1.0, mu=1.0, n=n, m=m, d=d, delta=1e-6, epsilon=1.0)
        * math.log(n * d * m) ** 2
    )
    verdict = risk.expectation(
        values, bound, context.failure_probability, limit=(0.5 + 0.18) ** 2 / 2, x=float(n), series=REDUCED
    )
    return with_budget(told_apart(verdict, work, bound), META, told, n)


@check("user_level/proc-strongly-convex-meta", kind="runtime")
def counted_gradients_of_the_restarts(context: Context) -> Verdict:
    """Gradients of all rounds, sample by sample, on at most n users (reduced noise)."""
    work, n = quadratic(3, 4), 1000
    gradients, planned, _ = counted(META, work, problem(work), n, context.seed, "", symbols=NAMES)
    rounds = META.schedule(problem(work), n).phases
    if rounds[-1].start + rounds[-1].users > n:
        return differs("the rounds want more users than there are", "counted")
    return with_budget(agree([gradients], [planned], "gradients"), META, problem(work), n)


@check("user_level/proc-strongly-convex-meta@derived", kind="accuracy")
def distances_follow_the_recursion(context: Context) -> Verdict:
    """The plan's distance guesses obey D_i^2 = (2L/mu) rho_i D_{i-1} until they stop shrinking."""
    # unbound: how the distances shrink, where the claim is the excess at which they stop
    told, algorithm = plain(10, 50), StronglyConvex()
    values, wanted = [], []
    for before, after in itertools.pairwise(algorithm.schedule(told, 20_000_000).phases):
        values.append(after.radius**2)
        wanted.append(min(before.radius**2, 2.0 * algorithm.rate(told, before.users) * before.radius))
    return agree(values, wanted, "squared distances")


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


LEGAL_CORNERS = ((0, -0.5), (0, 0.5), (1, -1), (1, 0))
"""b, c of m = n^b, beta = n^c: of the range m <= n, 1/sqrt(nm) <= beta <= sqrt(n/m)."""
FAR_CORNERS = ((0, -0.5), (4, -2.5), (0, 4), (4, 4))
"""Of AL24's range, which ends at its floor 1/sqrt(nm) alone."""
MEETING = ((3, 0), (0, -0.5), (1, -1))
"""Where the remark lets the counts meet: BS23's at m = n^3, AL24's at its floor."""


@check(
    "user_level/claim-3-3",
    kind="runtime",
    also=(
        "user_level/fact-prior-rates@bs23-gradients",
        "user_level/fact-prior-rates@al24-gradients",
        "user_level/alg-3",
    ),
)
def counts_at_the_corners_of_their_ranges(context: Context) -> Verdict:
    """The printed count is at most four times the others, having four terms, and no smaller where it meets them."""

    def quotient(label: str, users: float, b: float, c: float) -> float:
        sizes = {"n": users, "m": users**b, "H": users**c}
        count = stated("user_level/alg-3", **sizes, d=users, epsilon=1.0, L=1.0, D=1.0)
        return count / stated(label, **sizes)

    most, least = [], []
    for users in (1e4, 1e8, 1e16):
        for label in ("user_level/claim-3-3", "user_level/fact-prior-rates@bs23-gradients"):
            most += [quotient(label, users, *at) for at in LEGAL_CORNERS]
        most += [quotient("user_level/fact-prior-rates@al24-gradients", users, *at) for at in FAR_CORNERS]
        meeting = [quotient("user_level/claim-3-3", users, *at) for at in MEETING]
        meeting.append(quotient("user_level/fact-prior-rates@bs23-gradients", users, *MEETING[0]))
        most, least = most + meeting, least + meeting
    return accuracy.never_violated(
        [*most, *[4 / x for x in least]],
        4.0,
        statement="quotient of the counts <= 4, and >= 1 where they meet",
        covers="the corners, between which every term is monotone in log m and log beta, and is a power of n",
        evidence="certificate",
    )


@check("user_level/proc-strongly-convex-meta", kind="accuracy")
def lines_of_the_restarts(context: Context) -> Verdict:
    """Four rounds of one phase replayed from coins and releases, quadratics (reduced noise), which are regularised by
    the distances that the claims say.
    """
    work = quadratic(2, 3)
    algorithm = StronglyConvex(
        mu=1.0, inner=replace(APART, c_steps=0.15, c_noise=20.0, c_score=0.2, phases=1, p=None, q=None)
    )
    users = three_kinds(context.rng("users"), 40, 3000, 3, middle=0.5)
    inner, devices = replace(CALLS, stated={PRINTED: {"weight": ALG_3["weight"]}}), (*KEPT, MINIBATCHES)
    names: dict[str, Any] = {"symbols": NAMES | {"radius": "R"}, "inner": inner}
    return replayed(context, algorithm, work, problem(work), users, restarts, devices, ROUNDS, **names)
