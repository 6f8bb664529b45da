"""Section 3: the accelerated algorithm with optimal risk, and its restarts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy as sp

from dpcheck.algorithms.user_level import PhasedERM, SmoothedERM, StronglyConvex
from dpcheck.algorithms.user_level.sizes import log_ratio, smallest_users
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.settings import PRINTED, Inner, drawn, settings
from dpcheck.engine.statements import explicit_of, order_of, stated, unassumed
from dpcheck.harness import accuracy, domain, risk
from dpcheck.harness.budget import REDUCED, with_budget
from dpcheck.harness.data_free import told_apart
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Instance, powers, scaling, unmeasured
from dpcheck.harness.scaling.slopes import MARGIN
from dpcheck.harness.symbolic import agree, proved
from dpcheck.symbols import D, H, L, d, epsilon, m, mu, n, rho
from dpcheck.verdicts import Verdict, combine, consistent, differs

from .cases import (
    ACCELERATED_SIZES,
    REDUCED_3,
    REDUCED_4,
    REDUCED_FULL_3,
    SCANNED,
    TINY_DELTA,
    WORKLOADS,
    WRONG,
    account_at,
    counted,
    first_feasible,
    huber,
    linear,
    map_of_feasible_sizes,
    plain,
    problem,
    promised,
    quadratic,
    risk_verdict,
    shapes,
)
from .lines import ALG_3, BESIDE, KEPT, MINIBATCHES, NAMES, algorithm_3, replayed, restarts, three_kinds
from .scaling import BY_MOMENTS, CONVEX, restarted

ALG_3_PRINTED = ALG_3 | {"tau": "user_level/alg-3@tau", "batch": "user_level/alg-3@minibatches"}
SAMPLED = {
    "batch": "user_level/alg-3@sampled-minibatches",
    "sigma": "user_level/alg-3@sampled-noise",
    "test": "user_level/alg-3@sampled-test",
}
REPLACED = {"variance": "user_level/proc-multistage-ac-sa@replacement-variance"}
MANY = drawn(users=True, n=(2.0**20, 2.0**50), epsilon=(0.05, 8))
settings_of_alg_3 = settings(
    "user_level/alg-3",
    {
        "as printed": ALG_3_PRINTED,
        "literal": ALG_3,
        "replacement": ALG_3 | REPLACED,
        "corrected": ALG_3,
        "sampled": ALG_3 | SAMPLED,
    },
    symbols=NAMES,
    beside=BESIDE | {"shift": "nothing is smoothed"},
    problems={
        # As printed only where the printed minibatches fit into their phases: small epsilon, more users than there are.
        "as printed": drawn(users=True, n=(2.0**50, 2.0**60), epsilon=(5e-5, 2e-4)),
        # So small an epsilon that the printed minibatches would miss users.
        "literal": drawn(users=True, n=(2.0**54, 2.0**60), epsilon=(1e-7, 1e-6)),
        "replacement": MANY,
        # So few records that the printed radius would not hold all users.
        "corrected": drawn(users=True, n=(2.0**14, 2.0**22), d=(1, 4), epsilon=(2, 8)),
        # So many records that every test is sure.
        "sampled": drawn(users=True, n=(2.0**40, 2.0**60), epsilon=(0.05, 8)),
    },
    fields={"distance": (None, 0.5, 2.0)},
)
settings_of_the_restarts = settings(
    "user_level/proc-strongly-convex-meta",
    {
        "phases": "user_level/proc-strongly-convex-meta@rounds",
        "users": "user_level/proc-strongly-convex-meta@users",
        "radius": "user_level/proc-strongly-convex-meta@distance",
    },
    symbols=NAMES | {"radius": "R"},
    beside=BESIDE | {"shift": "nothing is smoothed"},
    problems=drawn(users=True, n=(2.0**28, 2.0**50), epsilon=(0.05, 8)),
    fields={"mu": (0.01, 0.1, 1.0)},
    inner=Inner(
        called=lambda chosen, problem, each: (chosen.call(each.radius), problem, each.users), stated={PRINTED: ALG_3}
    ),
)


@check("user_level/alg-3", kind="privacy", grid={"size": tuple(ACCELERATED_SIZES)}, also=("user_level/lem-d2",))
def account_of_algorithm_3(context: Context, *, size: str) -> Verdict:
    """Full batches (the capped K_i): the accountant keeps (epsilon, delta), failures of the movement included."""
    return account_at(PhasedERM(), size)


@check("user_level/alg-3", kind="runtime", grid={"H": (1.0, 30.0), "n": by_size([200], [200, 800])})
def counted_gradients_of_algorithm_3(context: Context, *, H: float, n: int) -> Verdict:
    """Gradients of a run, sample by sample, are sum T_i K_i m (reduced noise)."""
    work = WORKLOADS["huber"](3, 4) if H == 1.0 else huber(3, 4, 1 / (H * math.sqrt(3)))
    found, planned = counted(REDUCED_3, work, problem(work), n, context.seed)
    rows = REDUCED_3.schedule(problem(work), n).phases
    verdict = agree([found, planned], [planned, sum(row.steps * row.batch * 4 for row in rows)], "gradients")
    return with_budget(verdict, REDUCED_3, problem(work), n)


@check("user_level/alg-3", kind="risk", grid={"bias": (0.2, 0.5)}, expect="undecided")
def risk_on_signs(context: Context, *, bias: float) -> Verdict:
    """Linear losses with a small and a large mean (reduced noise)."""
    return risk_verdict(context, REDUCED_FULL_3, linear(4, 8, bias), 200, context.scale(100, 300), f"mean {bias:g}")


APART = PhasedERM(
    c_batch=0.15, c_users=0.002, c_noise=0.2, c_score=0.7, c_radius=0.06, c_steps=0.5, phases=2, q=0.8, p=0.5
)
"""Algorithm 3 with reduced noise and radii so small that users can lie apart."""


SMOOTHED = SmoothedERM(
    c_batch=0.7, c_users=0.002, c_noise=3.0, c_score=0.7, c_radius=0.06, c_steps=0.06, phases=2, q=0.8, p=0.5, r=0.2
)
REPLAYED: dict[str, tuple[PhasedERM, Any]] = {"linear": (APART, linear), "quadratic, smoothed": (SMOOTHED, quadratic)}


@check("user_level/alg-3", kind="accuracy", grid={"losses": tuple(REPLAYED)}, also=("user_level/proc-smoothed-alg-3",))
def lines_of_algorithm_3(context: Context, *, losses: str) -> Verdict:
    """Two phases on minibatches replayed from coins, shifts among them, and releases (reduced noise)."""
    algorithm, family = REPLAYED[losses]
    work = family(2, 3)
    users = three_kinds(context.rng("users"), 200, 160, 3, middle=0.5)
    return replayed(context, algorithm, work, problem(work), users, algorithm_3, (*KEPT, MINIBATCHES))


@check("user_level/proc-strongly-convex-meta", kind="accuracy")
def lines_of_the_restarts(context: Context) -> Verdict:
    """Three rounds of one phase replayed from coins and releases, quadratics (reduced noise)."""
    work = quadratic(2, 3)
    algorithm = StronglyConvex(mu=1.0, inner=replace(APART, c_steps=0.15, c_score=0.2, phases=1))
    users = three_kinds(context.rng("users"), 200, 300, 3, middle=0.5)
    return replayed(context, algorithm, work, problem(work), users, restarts, (*KEPT, MINIBATCHES))


SUBSAMPLED = {
    "n = 1e8, H = 1e12": (10**8, 1e12),
    "n = 1e8, H = 1e20": (10**8, 1e20),
    "n = 1e10, H = 1e22": (10**10, 1e22),
}
"""Sizes with phases of proper minibatches, as the runtime theorem needs; m = d = 10, epsilon = 1, delta = 1e-12."""


@check(
    "user_level/thm-3-1",
    kind="privacy",
    grid={"size": tuple(SUBSAMPLED)},
    expect="undecided",
    also=("user_level/thm-c1", "user_level/lem-d2", "user_level/alg-3"),
)
def sampled_phases_are_not_certified(context: Context, *, size: str) -> Verdict:
    """Where K_i < n_i the account is far above the promise: amplification given the bits is not proved (S28).

    An upper bound of an accountant is no violation; but what is certified elsewhere is the algorithm of full batches.
    """
    n, H = SUBSAMPLED[size]
    return promised(PhasedERM(), plain(10, 10, 1.0, 1e-12, smooth=H), n)


@check(
    "user_level/thm-3-1",
    kind="privacy",
    grid={"epsilon": (0.2, 1.0, 5.0), "H": (1.0, 1e6)},
    also=("user_level/thm-c1",),
)
def theorem_3_1_at_its_border(context: Context, *, epsilon: float, H: float) -> Verdict:
    """Full batches, at the smallest n at which every phase has the users that the theorem asks for: with one user less
    the last phase has fewer.
    """
    told, algorithm = plain(10, 20, epsilon, 1e-8, smooth=H), PhasedERM()
    n = smallest_users(lambda size: algorithm.feasible(told, size))
    assert n is not None
    at = {"m": 20.0, "d": 10.0, "epsilon": epsilon, "delta": 1e-8}
    (below, least), (before, last) = (
        [f(size) for size in (n - 1, n)]
        for f in (lambda x: unassumed("user_level/thm-3-1", **at, n=float(x)), lambda x: algorithm.sizes(told, x)[-1])
    )
    also = unassumed("user_level/thm-c1", **at, n=float(n))
    border = accuracy.never_violated(
        [least, before], [last, below], statement="n_l is enough at the smallest n, and not one user below",
        evidence="exact", covers="this size",
    )  # fmt: skip
    return combine([promised(algorithm, told, n), border, agree([also], [least], "Theorem C.1 asks for as many users")])


@check("user_level/thm-3-1", kind="sensitivity", grid={"which": ("alg-3", "smoothed")}, expect="consistent")
def a_user_moves_one_phase(context: Context, *, which: str) -> Verdict:
    """Replayed (reduced noise): a user of phase 2 moves its bits by at most 2, and nothing of other phases."""
    work = huber(2, 4)
    algorithm = REDUCED_3 if which == "alg-3" else replace(REDUCED_4, phases=3, r=0.5)
    told, n = problem(work), 200
    place = algorithm.schedule(told, n).phases[1].start
    data = work.rows(context.rng("data"), 1, n)
    other = data.copy()
    other[0, place] = -other[0, place]
    seen = Case(algorithm, work, told).replay(data, other, context.scale(8, 60), context.seed)
    others = max(float(m.distance.max()) for m in seen.movements if not m.release.name.startswith("phase 2/"))
    bits = max(float(m.ratio.max()) for m in seen.movements if m.release.name == "phase 2/bit")
    kept = max(float(m.ratio.max()) for m in seen.movements if m.release.name == "phase 2/gradient")
    broken = others > 1e-12 or bits > 1 + 1e-9 or float(seen.leak.max()) > 0
    said = f"other phases move by {others:g}, bits by {bits:.3g} and gradients by {kept:.3g} of their claims"
    numbers: dict[str, Any] = {"others": others, "bits": bits, "gradients": kept}
    if broken:
        return differs(said, numbers=numbers, severity=max(others, bits))
    seen = "a bit moved beyond 2, another phase that moves, or an output that follows the data, at this pair"
    verdict = consistent(said, "exact", numbers=numbers, notices=seen, severity=bits)
    return with_budget(verdict, algorithm, told, n)


@check("user_level/thm-3-1", kind="symbolic")
def last_phase_under_theorem_3_1(context: Context) -> Verdict:
    """n_l against 100 log(20nmd e^epsilon/delta)/epsilon where the hypothesis just holds, at the best q."""
    left, right = [], []
    for eps, dims, dlt in itertools.product((0.1, 1.0, 10.0), (1, 10**6), (1e-6, 1e-30)):
        users = 2
        while True:
            power = math.log2(1 + 1 / math.log2(users))
            need = 100 * log_ratio(20.0 * users * 10 * dims, eps, dlt) / eps
            if users ** (1 - power) * (1 - 2**-power) > need:
                break
            users = math.ceil(users * 1.1)
        left.append(stated("user_level/thm-3-1", n=users, m=10, d=dims, epsilon=eps, delta=dlt, q=power))
        right.append((1 - 2**-power) * users * 2 ** (-power * (users.bit_length() - 1)))
    covers = "n_l >= (1 - 2^-q) n^(1-q) always, because 2^l <= n; these are the borders of the hypothesis"
    return accuracy.never_violated(left, right, statement="100 log(...)/epsilon <= n_l", covers=covers)


@check("user_level/thm-3-2", kind="risk", expect="undecided")
def risk_of_the_informal_theorem(context: Context) -> Verdict:
    """Strongly convex quadratics (reduced noise)."""
    return risk_verdict(context, REDUCED_FULL_3, quadratic(4, 16), 100, context.scale(100, 300), "quadratic")


PATIENT = PhasedERM(c_steps=16.0)
"""With 16 times the steps, a constant that T_i = Theta(...) leaves open; the privacy is the same."""


@check("user_level/thm-3-2", kind="symbolic")
def where_algorithm_3_beats_group_privacy(context: Context) -> Verdict:
    """The same for Algorithm 3 with patience: by orders alone it is never worse, and better for m > 1."""
    numbers, points = map_of_feasible_sizes(PATIENT, context)
    left, right = [], []
    for samples, dimension, eps in shapes(context):
        for users in (users for users in SCANNED if 1 / (samples * users) > TINY_DELTA):  # as the theorem assumes
            values = {
                "n": users,
                "m": float(samples),
                "d": dimension,
                "epsilon": eps,
                "D": 1.0,
                "L": 1.0,
                "delta": TINY_DELTA,
            }
            left.append(stated("user_level/thm-3-2", **values))
            right.append(stated("user_level/proc-group-privacy", **values))
    verdict = accuracy.never_violated(
        left, right, statement="Theorem 3.2 <= group privacy", covers="log(1/delta) <= log(m e^eps/delta)"
    )
    return replace(verdict, numbers={**verdict.numbers, **numbers}, points=points, axes=("m", "smallest n"))


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


SMALL = {"c_batch": 2e-3, "c_users": 1e-3}
"""K_i so small that it stays below n_i, as the stated complexity assumes; reduced noise."""


def _planned(label: str, variable: str, sizes: Sequence[int], at: Mapping[str, float], H: float) -> Verdict:
    """The exponent of the planned gradients over the stated ones, with logarithms, from the first size to the last."""
    ratios = []
    for size in sizes:
        values = {"d": 4, "epsilon": 1.0, "D": 1.0, "L": 1.0, "H": H, **at, variable: size}
        n, m = int(values["n"]), int(values["m"])
        logs = math.log(n * 4 * m) * math.log(n**2 * m**2 * math.e / 1e-30)
        planned = PhasedERM(**SMALL).schedule(plain(4, m, 1.0, 1e-30, smooth=H), n).gradients
        ratios.append(planned / (stated(label, **values) * logs))
    exponent = math.log(ratios[-1] / ratios[0]) / math.log(sizes[-1] / sizes[0])
    said = f"gradients over the stated ones go as {variable}^x, x <= {MARGIN:g}"
    return accuracy.never_violated(
        [exponent], [MARGIN], statement=said, covers="the plan fixes them, whatever the data", evidence="counted"
    )


@check("user_level/thm-3-2@gradients", kind="runtime", grid={"H": (1.0, 1e4)})
def planned_gradients_over_n(context: Context, *, H: float) -> Verdict:
    """Planned sum T_i K_i m, minibatches uncapped (reduced noise), over the stated complexity and its logs, m = 16."""
    return _planned("user_level/thm-3-2@gradients", "n", [4**k for k in range(7, 15)], {"m": 16}, H)


@check("user_level/thm-3-2@derived", kind="runtime", grid={"H": (1.0, 1e4)})
def planned_gradients_over_m(context: Context, *, H: float) -> Verdict:
    """The same over m at n = 2^20, against the tight form."""
    return _planned("user_level/thm-3-2@derived", "m", [4**k for k in range(8)], {"n": 2**20}, H)


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
    return combine([proved({"stationary": sp.simplify(slope)}), euler])


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
    found, planned = counted(META, work, problem(work), n, context.seed)
    rounds = META.schedule(problem(work), n).phases
    if rounds[-1].start + rounds[-1].users > n:
        return differs("the rounds want more users than there are", "counted")
    return with_budget(agree([found], [planned], "gradients"), META, problem(work), n)


@check("user_level/proc-strongly-convex-meta@derived", kind="accuracy")
def distances_follow_the_recursion(context: Context) -> Verdict:
    """The plan's distance guesses obey D_i^2 = (2L/mu) rho_i D_{i-1} until they stop shrinking."""
    told, algorithm = plain(10, 50), StronglyConvex()
    rounds = algorithm.schedule(told, 20_000_000).phases
    values, wanted = [], []
    for before, after in itertools.pairwise(rounds):
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
