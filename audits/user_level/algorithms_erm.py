"""Algorithm 3, its smoothed version and its restarts: privacy of the account, gradients, risk and rates."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.accounting import account
from dpcheck.algorithms.user_level import PhasedERM, SmoothedERM, StronglyConvex
from dpcheck.algorithms.user_level.sizes import smallest_users
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import bound_of, stated
from dpcheck.harness import accuracy, rate, risk
from dpcheck.harness.budget import REDUCED, budget, with_budget
from dpcheck.harness.controls import conclude, row, told_apart
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import agree
from dpcheck.verdicts import Verdict, combine, consistent, differs, undecided

from ._runs import (
    REDUCED_3,
    REDUCED_4,
    REDUCED_FULL_3,
    REDUCED_FULL_4,
    WORKLOADS,
    counted,
    huber,
    linear,
    plain,
    problem,
    promised,
    quadratic,
    risk_verdict,
    tilted,
    top,
    with_certified_noise,
)

ACCELERATED_SIZES = {
    "n = 3e5, m = d = 10, epsilon = 1": (300_000, 10, 10, 1.0, 1e-7),
    "n = 1e5, m = 100, d = 5, epsilon = 8": (100_000, 100, 5, 8.0, 1e-8),
    "n = 4e6, m = 10, d = 100, epsilon = 0.1": (4_000_000, 10, 100, 0.1, 1e-9),
}


# Privacy --------------------------------------------------------------------------------------------------------------


@check("user_level/alg-3", kind="privacy", grid={"size": tuple(ACCELERATED_SIZES)}, also=("user_level/lem-d2",))
def account_of_algorithm_3(context: Context, *, size: str) -> Verdict:
    """Full batches (the capped K_i): the accountant keeps (epsilon, delta), failures of the movement included."""
    return account_at(PhasedERM(), size)


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


@check("user_level/thm-3-1", kind="privacy", grid={"epsilon": (0.2, 1.0, 5.0), "H": (1.0, 1e6)})
def theorem_3_1_at_its_border(context: Context, *, epsilon: float, H: float) -> Verdict:
    """Full batches, at the smallest n at which every phase has the users that the theorem asks for."""
    return _at_the_border(epsilon, H)


@check("user_level/thm-c1", kind="privacy", grid={"epsilon": (1.0,)})
def bits_and_means_each_keep_their_half(context: Context, *, epsilon: float) -> Verdict:
    """The bits of a phase cost epsilon/2 exactly, whatever T_i, and its means at most epsilon/2 at delta."""
    n, m, d, _, delta = ACCELERATED_SIZES["n = 3e5, m = d = 10, epsilon = 1"]
    plan = PhasedERM().schedule(plain(d, m, epsilon, delta), n)
    verdicts = []
    for bit, mean in zip(plan.releases[::2], plan.releases[1::2], strict=True):
        spent = account(replace(plan, releases=(mean,)), n).epsilon(delta)
        left = [bit.law.pure(2.0, bit.count), spent]
        verdicts.append(
            accuracy.never_violated(
                left, [epsilon / 2, epsilon / 2], statement="epsilon <= eps/2", covers="this phase, a full batch",
                evidence="certificate",
            )
        )  # fmt: skip
    return combine(verdicts)


@check("user_level/proc-smoothed-alg-3", kind="privacy", grid={"size": tuple(ACCELERATED_SIZES)})
def account_of_the_smoothed_algorithm(context: Context, *, size: str) -> Verdict:
    """The smoothed version at printed constants, with the 500 of Algorithm 3 in K_i."""
    return account_at(SmoothedERM(), size)


@check("user_level/thm-d3@risk", kind="privacy")
def theorem_d3_is_certified(context: Context) -> Verdict:
    """The privacy of Theorem D.3 at its smallest n, m = 5, d = 3."""
    told = plain(3, 5, 1.0, 1e-8)
    n = smallest_users(lambda size: SmoothedERM().feasible(told, size))
    assert n is not None
    return promised(SmoothedERM(), told, n)


@check("user_level/thm-4-1@risk", kind="privacy")
def theorem_4_1_is_certified(context: Context) -> Verdict:
    """The same for the informal theorem at epsilon = 4."""
    told = plain(20, 50, 4.0, 1e-9)
    n = smallest_users(lambda size: SmoothedERM().feasible(told, size))
    assert n is not None
    return promised(SmoothedERM(), told, n)


def account_at(algorithm: PhasedERM, size: str) -> Verdict:
    n, m, d, epsilon, delta = ACCELERATED_SIZES[size]
    return promised(algorithm, plain(d, m, epsilon, delta), n)


def _at_the_border(epsilon: float, H: float) -> Verdict:
    told = plain(10, 20, epsilon, 1e-8, smooth=H)
    n = smallest_users(lambda size: PhasedERM().feasible(told, size))
    assert n is not None
    return promised(PhasedERM(), told, n)


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


# Gradients ------------------------------------------------------------------------------------------------------------


@check("user_level/alg-3", kind="runtime", grid={"H": (1.0, 30.0), "n": by_size([200], [200, 800])})
def counted_gradients_of_algorithm_3(context: Context, *, H: float, n: int) -> Verdict:
    """Gradients of a run, sample by sample, are sum T_i K_i m (reduced noise)."""
    work = WORKLOADS["huber"](3, 4) if H == 1.0 else huber(3, 4, 1 / (H * math.sqrt(3)))
    found, planned = counted(REDUCED_3, work, problem(work), n, context.seed)
    rows = REDUCED_3.schedule(problem(work), n).phases
    verdict = agree([found, planned], [planned, sum(row.steps * row.batch * 4 for row in rows)], "gradients")
    return with_budget(verdict, REDUCED_3, problem(work), n)


@check("user_level/proc-smoothed-alg-3", kind="runtime")
def counted_gradients_of_the_smoothed_algorithm(context: Context) -> Verdict:
    """The same for the smoothed version on the absolute loss (reduced noise)."""
    work = huber(2, 4, 0.0)
    found, planned = counted(REDUCED_4, work, problem(work), 100, context.seed)
    return with_budget(agree([found], [planned], "gradients"), REDUCED_4, problem(work), 100)


SMALL = {"c_batch": 2e-3, "c_users": 1e-3}
"""K_i so small that it stays below n_i, as the stated complexity assumes; reduced noise."""


def _planned(algorithm: PhasedERM, label: str, n: int, m: int, H: float) -> dict[str, Any]:
    told = plain(4, m, 1.0, 1e-30, smooth=H)
    plan = algorithm.schedule(told, n)
    capped = sum(row.batch == row.users for row in plan.phases[:3])
    logs = math.log(n * 4 * m) * math.log(n**2 * m**2 * math.e / 1e-30)
    values = {"n": n, "m": m, "d": 4, "epsilon": 1.0, "D": 1.0, "L": 1.0}
    bound = stated(label, **values, **({"H": H} if label.startswith("user_level/thm-3") else {})) * logs
    return {"mean": float(plan.gradients), "se": 0.0, "bound": bound, "capped among the first three": capped}


@check(
    "user_level/thm-3-2@gradients",
    kind="rate",
    grid={"n": tuple(4**k for k in range(7, 15)), "H": (1.0, 1e4)},
    conclude=rate.conclude("n", axis="gradients"),
    expect=("consistent", "undecided"),
)
def planned_gradients_over_n(context: Context, *, n: int, H: float) -> Any:
    """Planned sum T_i K_i m, minibatches uncapped (reduced noise), over the stated complexity and its logs."""
    return _planned(PhasedERM(**SMALL), "user_level/thm-3-2@gradients", n, 16, H)


@check(
    "user_level/thm-3-2@derived",
    kind="rate",
    grid={"m": tuple(4**k for k in range(0, 8)), "H": (1.0, 1e4)},
    conclude=rate.conclude("m", axis="gradients"),
)
def planned_gradients_over_m(context: Context, *, m: int, H: float) -> Any:
    """The same over m at n = 2^20, against the tight form."""
    return _planned(PhasedERM(**SMALL), "user_level/thm-3-2@derived", 2**20, m, H)


# Risk -----------------------------------------------------------------------------------------------------------------


SCHEDULES = {"one phase": (REDUCED_FULL_3, 200), "several phases": (REDUCED_3, 400)}
"""With the users they run on. The recursion says something (is below LR) for a single phase only."""


@check(
    "user_level/thm-c3", kind="risk", grid={"loss": tuple(WORKLOADS), "schedule": tuple(SCHEDULES)}, expect="undecided"
)
def risk_of_algorithm_3(context: Context, *, loss: str, schedule: str) -> Verdict:
    """Mean excess risk at reduced noise against the recursion of Theorem C.3."""
    algorithm, n = SCHEDULES[schedule]
    return risk_verdict(context, algorithm, WORKLOADS[loss](3, 8), n, context.scale(100, 300), f"{loss}, {schedule}")


@check("user_level/thm-c3@derived", kind="risk", also=("user_level/thm-c3@summed",))
def recursion_where_it_says_something(context: Context) -> Verdict:
    """One phase of 400 users, little noise, 20 times the steps: the recursion is below LR (reduced noise).

    Linear losses of a mean so large that neither the start nor a random point keeps it.
    """
    algorithm = PhasedERM(
        c_batch=50.0, c_users=0.1, c_noise=1e-4, c_score=1e-3, c_radius=2.0, c_steps=20.0, phases=1, q=1.0, p=0.5
    )
    work = linear(2, 8, 0.9)
    bound, most = bound_of("user_level/thm-c3@summed", algorithm, problem(work), 800), top(work)
    if not bound < most:
        return undecided(f"the recursion gives {bound:.3g}, LR is {most:.3g}", "exact")
    found = risk_verdict(context, algorithm, work, 800, context.scale(100, 150), "linear, large mean")
    return with_certified_noise(found, context, algorithm, work, 800)


@check("user_level/alg-3", kind="risk", grid={"bias": (0.2, 0.5)}, expect="undecided")
def risk_on_signs(context: Context, *, bias: float) -> Verdict:
    """Linear losses with a small and a large mean (reduced noise)."""
    return risk_verdict(context, REDUCED_FULL_3, linear(4, 8, bias), 200, context.scale(100, 300), f"mean {bias:g}")


@check("user_level/lem-d2", kind="risk", expect="undecided")
def risk_of_larger_minibatches(context: Context) -> Verdict:
    """T_i K_i >= n_i with full batches (reduced noise)."""
    return risk_verdict(context, REDUCED_FULL_3, huber(3, 8), 100, context.scale(100, 300), "full")


@check("user_level/thm-3-2", kind="risk", expect="undecided")
def risk_of_the_informal_theorem(context: Context) -> Verdict:
    """Strongly convex quadratics (reduced noise)."""
    return risk_verdict(context, REDUCED_FULL_3, quadratic(4, 16), 100, context.scale(100, 300), "quadratic")


@check(
    "user_level/thm-d3@risk", kind="risk", also=("user_level/thm-d3@summed",), grid={"m": (2, 8)}, expect="undecided"
)
def risk_on_the_absolute_loss(context: Context, *, m: int) -> Verdict:
    """The smoothed algorithm on the absolute loss (reduced noise), bias of the smoothing included."""
    return risk_verdict(
        context, replace(REDUCED_FULL_4, r=0.1), huber(2, m, 0.0), 100, context.scale(80, 200), f"m = {m}"
    )


@check("user_level/thm-4-1@risk", kind="risk", expect="undecided")
def risk_without_smoothness(context: Context) -> Verdict:
    """The same in five dimensions with a wider smoothing (reduced noise)."""
    return risk_verdict(context, replace(REDUCED_FULL_4, r=0.2), huber(5, 4, 0.0), 100, context.scale(80, 200), "d = 5")


@check("user_level/proc-smoothed-alg-3", kind="risk")
def bias_of_the_smoothing(context: Context) -> Verdict:
    """F_r - F of the absolute loss on the whole interval by quadrature: between 0 and L r/2, largest at the kinks."""
    r, x = 0.3, np.linspace(-1.0, 1.0, 2001)
    work = huber(1, 1, 0.0).each
    y, weights = np.polynomial.legendre.leggauss(400)
    smoothed = (weights[:, None] / 2 * work.excess_risk((x + r * y[:, None])[..., None])).sum(axis=0)
    gap = smoothed - work.excess_risk(x[:, None])
    # Across a kink the quadrature is off by about the square of a node's spacing, 1e-5.
    return accuracy.never_violated(
        np.concatenate([gap, -gap]), np.concatenate([np.full(len(x), r / 2), np.full(len(x), 1e-5)]),
        statement="0 <= F_r - F <= L r/2", covers="a fine grid; F_r - F is Lipschitz in x", evidence="exact",
    )  # fmt: skip


@check("user_level/thm-d3@derived", kind="symbolic")
def radius_smoothness_and_bias(context: Context) -> Verdict:
    """The plan's smoothing radius and smoothness: L r = LR sqrt(d)/(eps n sqrt m), beta_r = (L/R) eps n sqrt m."""
    found, wanted = [], []
    for n, m, d, epsilon in ((10**6, 9, 16, 1.0), (10**7, 100, 2, 0.25)):
        told, algorithm = plain(d, m, epsilon), SmoothedERM()
        values = {"n": n, "m": m, "d": d, "epsilon": epsilon, "L": 1.0, "D": 1.0}
        found += [algorithm.smoothing_radius(told, n), algorithm.smoothness(told, n)]
        smooth = stated("user_level/proc-smoothed-alg-3", **{k: v for k, v in values.items() if k != "d"})
        wanted += [stated("user_level/thm-d3@derived", **values), smooth]
    return agree(found, wanted, "L r and beta_r")


# Strongly convex losses -----------------------------------------------------------------------------------------------

META = StronglyConvex(mu=1.0, inner=replace(REDUCED_3, c_users=0.05))


@check(
    "user_level/proc-strongly-convex-meta", kind="risk", grid={"n": by_size([1000], [1000, 2000])}, expect="undecided"
)
def risk_of_the_restarts(context: Context, *, n: int) -> Verdict:
    """Quadratics, mu = 1: mean excess risk against (L^2/mu)(1/(nm) + d log(1/delta)/(eps^2 n^2 m)) times log^2(ndm).

    Reduced noise: the private part of the bound is not what is spent.
    """
    work, m, d = quadratic(3, 8), 8, 3
    told = problem(work)
    values = risk.excess_risks(META, work, told, n, context.scale(400, 1200), context.seed, context.label, n)
    bound = (
        stated("user_level/claim-3-6", L=1.0, mu=1.0, n=n, m=m, d=d, delta=1e-6, epsilon=1.0) * math.log(n * d * m) ** 2
    )
    found = risk.expectation(
        values, bound, context.failure_probability, limit=(0.5 + 0.125) ** 2 / 2, x=float(n), series=REDUCED
    )
    return with_budget(told_apart(found, work, bound), META, told, n)


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
    found, wanted = [], []
    for before, after in itertools.pairwise(rounds):
        found.append(after.radius**2)
        wanted.append(min(before.radius**2, 2.0 * algorithm.rate(told, before.users) * before.radius))
    return agree(found, wanted, "squared distances")


@check(
    "user_level/claim-3-6",
    kind="rate",
    grid={"n": by_size([500, 1000, 2000, 4000], [500, 707, 1000, 1414, 2000, 2828, 4000, 5657, 8000])},
    conclude=conclude("n"),
    expect=("consistent", "undecided"),
)
def slope_of_the_restarts(context: Context, *, n: int) -> Any:
    """Mean excess risk over n with reduced noise against 1/(nm)."""
    work = quadratic(3, 8)
    told = problem(work)
    values = risk.excess_risks(META, work, told, n, context.scale(20, 100), context.seed, "meta", n)
    # The order of the claim without its private part: constants of order 1 are left out.
    bound = stated("user_level/claim-3-6", L=1.0, mu=1.0, n=n, m=8, d=3, delta=1 - 1e-12, epsilon=1.0)
    return {**row(values, bound, work), **budget(META, told, n)}


# Rates ----------------------------------------------------------------------------------------------------------------


def rate_of_algorithm_3(context: Context, label: str, n: int, m: int, trials: int) -> Any:
    d = 2
    work = tilted(n, m, d)
    told = problem(work)
    values = risk.excess_risks(REDUCED_3, work, told, n, trials, context.seed, "rate", n, m)
    bound = stated(label, n=n, m=m, d=d, epsilon=1.0, delta=1e-6, D=1.0, L=1.0)
    return {**row(values, bound, work), **budget(REDUCED_3, told, n)}


@check(
    "user_level/thm-3-2",
    kind="rate",
    grid={"n": by_size([128, 256, 512, 1024], [128, 181, 256, 362, 512, 724, 1024, 1448, 2048])},
    conclude=conclude("n"),
    expect=("consistent", "undecided"),
)
def slope_in_users(context: Context, *, n: int) -> Any:
    """Mean excess risk over n at m = 8 (reduced noise) against the optimal rate."""
    return rate_of_algorithm_3(context, "user_level/thm-3-2", n, 8, context.scale(60, 200))


@check(
    "user_level/thm-c3",
    kind="rate",
    grid={"m": by_size([2, 4, 8, 16], [2, 3, 4, 6, 8, 12, 16, 24, 32])},
    conclude=conclude("m"),
    expect=("consistent", "undecided"),
)
def slope_in_samples_of_a_user(context: Context, *, m: int) -> Any:
    """The same over m at n = 256 users (reduced noise)."""
    return rate_of_algorithm_3(context, "user_level/thm-3-2", 256, m, context.scale(60, 200))
