"""Section 4.2: Theorem 7, approximate differential privacy, and shuffling."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.accounting import account, shuffle_epsilon
from dpcheck.algorithms.l1_geometry import TreeFrankWolfe
from dpcheck.algorithms.l1_geometry.frank_wolfe import record_count, shuffled_allocation
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import bound_of
from dpcheck.harness import accuracy, runtime, shuffling
from dpcheck.harness.budget import calibrated, judge_account
from dpcheck.harness.plans import answered, wrongly_answered
from dpcheck.harness.relations import judged
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Instance, scaling, unmeasured
from dpcheck.harness.selection import enumerate_selections
from dpcheck.harness.symbolic import agree, proved
from dpcheck.laws import NoisyMin
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.running import Fixed, Run
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Point, Verdict, combine, consistent, differs, holds, refuted

from .cases import (
    EITHER,
    LASSO,
    SLOPES,
    WRONG_TREES,
    LinearSquare,
    Selections,
    ends_of_the_window,
    leaves,
    problem,
    records,
    right_child_pair,
    risk_on_the_lasso,
    steps_at_the_upper_end,
    tree_case,
    walk,
)
from .chain import MOST, ends_of_the_chain, over_the_stated


@check("l1_geometry/thm-7", kind="risk", grid={"T": (1, 2, 3), "b": by_size([256], [256, 16384])}, expect=EITHER)
def risk_with_approximate_noise(context: Context, *, T: int, b: int) -> Verdict:
    """Free T and b at small n: mean excess risk below the bound leaf by leaf, under the noise of Theorem 7."""
    # unbound: judged by l1_geometry/thm-6@summed, whose noise is the schedule's, pure or approximate
    n = record_count(b, T)
    algorithm = TreeFrankWolfe(noise="approximate", T=T, batch=b)
    return risk_on_the_lasso(context, algorithm, n, f"T = {T}", ApproxDP(1.0, 1 / n**1.5))


BUDGET = 1e-16
"""So small that privacy costs most, by far."""
RECORDS = records("approximate", 8, d=1024, epsilon=BUDGET)
"""At which Theorem 7 has eight phases."""
HALVED = 2**1.5
"""What halves 2^T."""


@scaling(
    "l1_geometry/thm-7", variable="n", part="private", family=SLOPES, engine=Selections(), mutants=WRONG_TREES,
    whole=lambda n: leaves("approximate", n=n, d=1024, epsilon=1e-12), also=("l1_geometry/thm-2",),
    sizes=[records("approximate", T, d=1024, epsilon=1e-12) for T in (2, 4, 6, 8)],
)  # fmt: skip
def exact_risk_in_n(*, n: int, slope: float) -> Instance:
    """Algorithm 3 on its worst linear loss under the printed noise, where its rule gives T without rounding."""
    return walk("approximate", slope, n=n, d=1024, epsilon=1e-12)


@scaling(
    "l1_geometry/thm-7", variable="epsilon", part="private", family=SLOPES, engine=Selections(), mutants=WRONG_TREES,
    whole=lambda epsilon: leaves("approximate", n=RECORDS, d=1024, epsilon=epsilon), also=("l1_geometry/thm-2",),
    sizes=[BUDGET / HALVED**k for k in (6, 4, 2, 0)],
)  # fmt: skip
def exact_risk_in_epsilon(*, epsilon: float, slope: float) -> Instance:
    """The same over epsilon: T falls from eight to two."""
    return walk("approximate", slope, n=RECORDS, d=1024, epsilon=epsilon)


@scaling(
    "l1_geometry/thm-7", variable="L", part="private", family=SLOPES, engine=Selections(), mutants=WRONG_TREES,
    whole=lambda L: leaves("approximate", n=RECORDS, d=1024, epsilon=BUDGET, L=L),
    sizes=[HALVED**k for k in (0, 2, 4, 6)],
)  # fmt: skip
def exact_risk_in_L(*, L: float, slope: float) -> Instance:
    """The same over L."""
    return walk("approximate", slope, n=RECORDS, d=1024, epsilon=BUDGET, L=L)


@scaling(
    "l1_geometry/thm-7", variable="m", part="private", family=SLOPES, engine=Selections(), mutants=WRONG_TREES,
    since="standard",
    sizes=[2**k for k in (9, 11, 13, 15)],
)  # fmt: skip
def exact_risk_in_m(*, m: int, slope: float) -> Instance:
    """The same over the number of vertices, with beta as log m, so that T stays: a logarithm, of the stated power."""
    return walk("approximate", slope, n=RECORDS, d=m // 2, epsilon=BUDGET, H=math.log2(m) / 11)


FEW = 10**13
"""Records of the row over delta: the fewer, the further below 1/n a float reaches."""
UNLIKELY = [61 * HALVED**k for k in range(3)]
"""log(n/delta), at whose last delta is 1e-199; 2^T falls by half from each to the next."""
SPENT = 2.5635e-4
"""epsilon at which the first of them has eight phases."""


@scaling(
    "l1_geometry/thm-7@whole", variable="delta", part="private", family=SLOPES, engine=Selections(),
    mutants=WRONG_TREES, against="explicit",
    whole=lambda delta: leaves("approximate", n=FEW, d=1024, epsilon=SPENT, delta=delta),
    sizes=[FEW * math.exp(-x) for x in UNLIKELY],
)  # fmt: skip
def exact_risk_in_delta(*, delta: float, slope: float) -> Instance:
    """The same over delta, against the bound at the T of the size, which has the log(n/delta) of the noise."""
    return walk("approximate", slope, n=FEW, d=1024, epsilon=SPENT, delta=delta)


CONCENTRATED = TreeFrankWolfe(**TreeFrankWolfe.readings["concentrated"])
DEEP = (4, 6, 8, 10)
SHALLOW = records("concentrated", DEEP[-1], d=1024, epsilon=BUDGET)
"""At which Theorem 7 without shuffling has ten phases."""


@scaling(
    "l1_geometry/thm-7@private", variable="n", part="private", family=SLOPES, engine=Selections(), mutants=WRONG_TREES,
    whole=lambda n: leaves("concentrated", n=n, d=1024, epsilon=1e-12),
    since="standard",
    sizes=[records("concentrated", T, d=1024, epsilon=1e-12) for T in DEEP],
)  # fmt: skip
def exact_risk_without_shuffling_in_n(*, n: int, slope: float) -> Instance:
    """Algorithm 3 on its worst linear loss under the noise of the accountant, where its rule gives T unrounded."""
    return walk("concentrated", slope, n=n, d=1024, epsilon=1e-12)


@scaling(
    "l1_geometry/thm-7@private", variable="epsilon", part="private", family=SLOPES, engine=Selections(),
    mutants=WRONG_TREES, whole=lambda epsilon: leaves("concentrated", n=SHALLOW, d=1024, epsilon=epsilon),
    since="standard", sizes=[BUDGET / HALVED**k for k in (6, 4, 2, 0)],
)  # fmt: skip
def exact_risk_without_shuffling_in_epsilon(*, epsilon: float, slope: float) -> Instance:
    """The same over epsilon: T falls from ten to four."""
    return walk("concentrated", slope, n=SHALLOW, d=1024, epsilon=epsilon)


BUSHES = records("concentrated", 6, d=1024, epsilon=BUDGET)
"""At which it has six."""


@scaling(
    "l1_geometry/thm-7@private", variable="m", part="private", family=SLOPES, engine=Selections(), mutants=WRONG_TREES,
    since="standard", sizes=[2**k for k in (13, 15, 17, 19)],
)  # fmt: skip
def exact_risk_without_shuffling_in_m(*, m: int, slope: float) -> Instance:
    """The same over the number of vertices, with beta as 1 + log m, so that T stays: a logarithm, of its power."""
    return walk("concentrated", slope, n=BUSHES, d=m // 2, epsilon=BUDGET, H=(1 + math.log(m)) / (1 + math.log(2048)))


@check("l1_geometry/thm-7@concentrated", kind="sensitivity", grid={"T": (1, 2, 3), "beta": (0.25, 1.0)})
def scores_of_bent_losses(context: Context, *, T: int, beta: float) -> Verdict:
    """A record of each set of the last phase is replaced under told selections: every score moves by at most its claim,
    which knows how far apart the two points can be; the root's and the first child's by all of it.
    """
    b, work, ratios = 2 ** (T + 1), LinearSquare(), []
    told = problem(work, ApproxDP(1.0, 1e-6))
    told = replace(told, constants=replace(told.constants, smoothness=lambda p: beta))
    algorithm = replace(CONCENTRATED, T=T, batch=b, allocation="fixed")
    n, last = record_count(b, T), algorithm.schedule(told, record_count(b, T)).phases[-1]
    plus, minus = (math.sqrt(beta) * np.array([0.0, 0.0, 1.0, sign]) for sign in (1.0, -1.0))
    for node, (start, _) in last.sets().items():
        data = np.tile(plus, (1, n, 1))
        other = data.copy()
        other[0, start] = minus
        if not node:
            data[0, start], other[0, start] = (1.0, 1.0, 0.0, 0.0), (-1.0, -1.0, 0.0, 0.0)
        seen = Case(algorithm, work, told, start=np.array([[-1.0, 0.0]])).replay(data, other, 400, context.seed)
        ratios.append(max(float(m.ratio.max()) for m in seen.movements))
    if T <= 2 and min(ratios) < 1 - 1e-9:
        return differs(f"scores move by {min(ratios):.4g} of their claims at most, which are too large")
    said = f"scores move by at most {max(ratios):.4g} of their claims, by {min(ratios):.3g} at the laziest set"
    return judged(max(ratios), "<=", 1 + 1e-9, said, "exact", numbers={"over the claim": max(ratios)})


@check(
    "l1_geometry/thm-7@private", kind="privacy", also=("l1_geometry/thm-7@concentrated",),
    grid={"T": by_size((1, 4), (1, 2, 4, 6)), "beta": (0.05, 1.0, 50.0), "epsilon": by_size((1.0,), (0.1, 1.0))},
)  # fmt: skip
def account_without_shuffling(context: Context, *, T: int, beta: float, epsilon: float) -> Verdict:
    """Every set of every phase, with the sensitivities of bent losses: rho is at most the stated one and the promise is
    certified; by how much the noise could be smaller still is what calibration says.
    """
    delta, b = 1e-6, 2 ** (T + 3)
    told = problem(LASSO, ApproxDP(epsilon, delta))
    told = replace(told, constants=replace(told.constants, smoothness=lambda p: beta))
    algorithm, n = replace(CONCENTRATED, T=T, batch=b, allocation="fixed"), record_count(b, T)
    plan = algorithm.schedule(told, n)
    spent, c = account(plan, n), told.constants
    at = {"L": c.lipschitz(1.0), "D": c.diameter(1.0), "H": beta, "T": T, "b": b, "lambda_ts": plan.phases[-1].scale}
    stated = float(claim("l1_geometry/thm-7@concentrated").at(at))
    rho = max(stretch.rho for stretch in spent.stretches)
    least = calibrated(algorithm, "noise_dial", told, n, tolerance=0.01).noise_dial
    numbers = {"rho": rho, "stated rho": stated, "least noise over the stated": least}
    if plan.claimed != told.privacy:
        return differs(f"the plan promises {plan.claimed}, the theorem {told.privacy}", numbers=numbers)
    zcdp = judged(rho, "<=", stated * (1 + 1e-9), f"rho {rho:.4g} of {stated:.4g}", "certificate", numbers=numbers)
    verdict = judge_account(spent, told.privacy)
    verdict = replace(verdict, reason=f"{verdict.reason}; least noise {least:.3g} of the stated", numbers=numbers)
    return combine([zcdp, verdict])


@check("l1_geometry/thm-7@private", kind="risk", also=("l1_geometry/thm-6@summed",), grid={"T": (1, 2, 4, 6)})
def bound_at_the_nearest_depth(context: Context, *, T: int) -> Verdict:
    """Leaf by leaf, at the b that T is next to: what the schedule's own weights and noise add up to is at most the
    theorem, over b from the least to the most that a factor root two allows.
    """
    left, right = [], []
    told = problem(LASSO, ApproxDP(0.5, 1e-6))
    c = told.constants
    for off in (0.5**0.49, 1.0, 2**0.49):
        unit = 0.3 * c.smoothness(1.0) * c.diameter(1.0) / c.lipschitz(1.0) * 0.5
        unit /= math.sqrt(CONCENTRATED.stiffness(told) * math.log(1e6)) * (1 + math.log(2 * c.d))
        b = 2**T * math.ceil((off * 2**T) ** 1.5 / unit / 2**T)
        algorithm, n = replace(CONCENTRATED, T=T, batch=b), record_count(b, T)
        left.append(bound_of("l1_geometry/thm-6@summed", algorithm, told, n))
        at = {"L": c.lipschitz(1.0), "D": c.diameter(1.0), "H": c.smoothness(1.0), "T": T, "b": b, "d": c.d}
        at |= {"m": 2 * c.d, "epsilon": 0.5, "delta": 1e-6}
        right.append(float(claim("l1_geometry/thm-7@private").evaluate(**at)))
    return accuracy.never_violated(
        left, right, statement="the bound leaf by leaf <= the theorem", evidence="exact", covers="these depths",
        drawn=False,
    )  # fmt: skip


@check("l1_geometry/thm-7@private", kind="risk", grid={"T": (1, 2, 3)}, expect=EITHER)
def risk_without_shuffling(context: Context, *, T: int) -> Verdict:
    """Mean excess risk on the sign LASSO under the certified noise, against the bound leaf by leaf."""
    # unbound: judged by l1_geometry/thm-6@summed, which the check above holds against the theorem
    n = record_count(4096, T)
    algorithm = replace(CONCENTRATED, T=T, batch=4096)
    return risk_on_the_lasso(context, algorithm, n, f"T = {T}", ApproxDP(1.0, 1e-6))


@check("l1_geometry/lem-4-4", kind="privacy")
def hidden_constant_of_the_chain(context: Context) -> Verdict:
    """At the least n that admits T, delta = n^(-3/2) and epsilon = 2^(-T/2), the chain with the right sensitivities
    costs at most 26.1 times epsilon up to T = 60, and less and less from T = 24 on; at far smaller epsilon it costs as
    much less as is stated.
    """
    depths = (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 50, 60)
    by_name = {T: over_the_stated(T, 2 ** (-T / 2)) for T in depths}
    falls = [over_the_stated(24, 2.0**-k) for k in (20, 30)]
    if not 0.5 < falls[0] / falls[1] < 2:
        return differs(f"the chain costs {falls} times the stated order at epsilon = 2^-20 and 2^-30", "certificate")
    points = [Point(x=float(T), value=c, series="epsilon over the stated one") for T, c in by_name.items()]
    numbers = {f"T = {T}": c for T, c in by_name.items()}
    last = [by_name[T] for T in depths if T >= 24]
    if last[-1] < last[0] / 2:
        return differs(f"the chain falls from {last[0]:.4g} to {last[-1]:.4g} times what is stated", "certificate")
    worst, grows = max(by_name.values()), any(b >= a for a, b in itertools.pairwise(last))
    said = f"at most {worst:.4g} times epsilon for T = 2 to {depths[-1]}, {last[-1]:.4g} at the last"
    fields: dict[str, Any] = {"numbers": numbers, "points": points, "axes": ("T", "epsilon_total/epsilon")}
    if worst > MOST or grows:
        return refuted(f"{said}: no bounded constant is in sight", "certificate", severity=worst, **fields)
    seen = f"a constant above {MOST:g}, or one that still grows, at one of these T"
    return consistent(f"{said}; a list of T proves no O(epsilon)", "certificate", notices=seen, **fields)


@check("l1_geometry/lem-4-4", kind="accuracy")
def where_the_chain_ends(context: Context) -> Verdict:
    """Trees with less than a record a leaf and deltas above 1/n have no plan, and at epsilon = 1 a deep chain costs far
    more than epsilon; none of these is among what is assumed, and what lies just inside is.
    """
    return ends_of_the_chain(claim(context.label))


@check("l1_geometry/lem-4-4", kind="sensitivity", grid={"b": (40, 400, 4000)}, also=("l1_geometry/lem-4-4@derived",))
def scores_under_the_approximate_noise(context: Context, *, b: int) -> Verdict:
    """The record of S_{1,1} moves its score by 2 D L 2^j/b, twice what the chain has, and over all outcomes the loss is
    at most 4 2^(j - T/2) epsilon/log(n/delta): a factor that O(epsilon) hides.
    """
    data, neighbour, _ = right_child_pair(b)
    printed, safe = (tree_case(b, reading, "approximate") for reading in ("printed", "safe"))
    by_name = {reading: enumerate_selections(case, data, neighbour) for reading, case in (("p", printed), ("s", safe))}
    epsilon, _ = safe.algorithm.budget_of(safe.problem, data.shape[1])  # type: ignore[attr-defined]
    n, delta, loss = data.shape[1], float(safe.problem.privacy.delta), by_name["s"].loss  # type: ignore[attr-defined]
    stated = float(claim("l1_geometry/lem-4-4@derived").evaluate(T=1, epsilon=epsilon, n=n, delta=delta))
    said = f"{by_name['p'].moved:.4g} of the printed claim, {by_name['s'].moved:.4g} of the certified one; "
    said += f"loss {loss:.4g} of {stated:.4g}"
    numbers = {"over the certified claim": by_name["s"].moved, "over the printed claim": by_name["p"].moved}
    fits = by_name["s"].moved <= 1 + 1e-9 and by_name["p"].moved <= 2 + 1e-9 and loss <= stated * (1 + 1e-9)
    return (holds if fits else refuted)(
        said, "certificate", numbers={**numbers, "loss": loss, "stated": stated}, severity=loss / stated
    )


@check("l1_geometry/lem-4-4", kind="accuracy", grid={"T": (1, 2, 4)})
def gap_under_the_approximate_noise(context: Context, *, T: int) -> Verdict:
    """Exact mean gaps of the selections, over the scores that runs of Algorithm 3 meet and over one score below all
    others, against lambda (1 + log m), what grows with 1/epsilon in the bound of Theorem 7.
    """
    # unbound: judged by the part of l1_geometry/thm-7 that this lemma gives under the approximate noise
    b, times = 64, context.scale(20, 200)
    n = record_count(b, T)
    told = problem(LASSO, ApproxDP(1.0, 1 / n**2))
    algorithm = TreeFrankWolfe(T=T, batch=b, noise="approximate")
    plan, (epsilon, _) = algorithm.schedule(told, n), algorithm.budget_of(told, n)
    c, m = LASSO.constants, len(LASSO.domain.vertices)
    at = {"L": c.lipschitz(1.0), "D": c.diameter(1.0), "H": 1.0, "T": T, "b": b, "d": c.d, "m": m, "n": n}
    of = [claim("l1_geometry/thm-7").evaluate(delta=1 / n**2, epsilon=e, **at) for e in (epsilon, 2 * epsilon)]
    stated, scale = 2 * float(of[0] - of[1]), plan.phases[-1].scale
    run = Run[Any](plan, times, context.rng("noise"))
    algorithm.execute(run, LASSO, Fixed(LASSO.rows(context.rng("data"), times, n)), np.zeros((1, c.d)))
    met = [(plan.releases[i].law, entry.core) for i, entry in enumerate(run.transcript.entries)]
    below = np.geomspace(0.1, 20, 200)[:, None] * scale * (np.arange(m) > 0)
    gaps = []
    for law, scores in [*met, (plan.releases[-1].law, below)]:
        assert isinstance(law, NoisyMin)
        gaps.append((law.probabilities(scores) * (scores - scores.min(axis=1, keepdims=True))).sum(axis=1))
    return accuracy.never_violated(
        np.concatenate(gaps), stated, statement="mean gap <= lambda (1 + log m)",
        covers="the gap is at most the largest of m Laplace draws, of mean lambda H_m", evidence="certificate",
    )  # fmt: skip


@check("l1_geometry/lem-4-4@derived", kind="privacy", grid={"T": (1, 2, 4), "n": (10**4, 10**6)})
def pure_bound_of_the_approximate_noise(context: Context, *, T: int, n: int) -> Verdict:
    """Composing the leaves below a node with certified sensitivities stays below 4 2^(T/2) epsilon/log(n/delta)."""
    delta, epsilon, b = 1 / n**1.5, 2 ** (-T / 2), 64
    algorithm = TreeFrankWolfe(T=T, batch=b, noise="approximate", sensitivity="safe")
    told = problem(LASSO, ApproxDP(epsilon, delta))
    plan = algorithm.schedule(told, n)
    in_force = algorithm.budget_of(told, n)[0]
    spent = account(plan, n).epsilon(0.0)
    stated = float(claim("l1_geometry/lem-4-4@derived").evaluate(T=T, epsilon=in_force, n=n, delta=delta))
    said = f"epsilon {spent:.5g}, stated {stated:.5g}, promised {in_force:.4g}"
    return judged(
        spent, "<=", stated * (1 + 1e-9), said, "certificate", numbers={"epsilon": spent}, severity=spent / stated
    )


@check("l1_geometry/thm-7", kind="privacy", grid={"n": by_size([10**5], [10**5, 10**6, 10**7])})
def theorem_7_is_pure_for_shallow_trees(context: Context, *, n: int) -> Verdict:
    """At these sizes its own T satisfies 4 2^(T/2) <= log(n/delta), so that it is epsilon-DP without shuffling."""
    told = problem(LASSO, ApproxDP(1.0, 1 / n**1.5))
    algorithm = TreeFrankWolfe(noise="approximate", sensitivity="safe")
    plan, (in_force, log_nd) = algorithm.schedule(told, n), algorithm.budget_of(told, n)
    T = len(plan.phases)
    verdict = judge_account(account(plan, n), PureDP(in_force))
    numbers = {**verdict.numbers, "T": T, "4 2^(T/2)": 4 * 2 ** (T / 2), "log(n/delta)": log_nd}
    return replace(verdict, reason=f"T = {T}: {verdict.reason}", numbers=numbers)


@check("l1_geometry/thm-7", kind="runtime", grid={"n": by_size([10**6], [10**6, 10**8, 10**10])})
def gradients_of_theorem_7(context: Context, *, n: int) -> Verdict:
    """At its own b and T, the schedule plans at most n gradients (runs count what schedules plan: alg-3)."""
    algorithm = TreeFrankWolfe(noise="approximate")
    plan = algorithm.schedule(problem(LASSO, ApproxDP(1.0, 1 / n**1.5)), n)
    return runtime.verdict(float(plan.gradients), float(n), what="planned gradients", x=float(n))


@check("l1_geometry/lem-4-5", kind="privacy")
def shuffled_randomised_response(context: Context) -> Verdict:
    """The exact hockey-stick of shuffled randomised responses at the closed form's epsilon is at most delta; that of
    clones, for every local randomiser, at all epsilon_0 and delta of a box and n between the sizes.
    """
    return shuffling.everywhere(shuffle_epsilon, [500 * 2**i for i in range(context.scale(3, 7))])


@check("l1_geometry/lem-4-5", kind="symbolic")
def closed_form_has_the_stated_order(context: Context) -> Verdict:
    """For eps_0 <= 1 and delta <= 1/2 the accountant's form is at most 25 eps_0 sqrt(log(1/delta)/n), and spends
    20 n delta_0 at most: by tanh(x/2) <= x/2, log(1 + x) <= x, 1/n <= 1/sqrt n; and it grows as the order does.
    """
    x, v = sp.symbols("x v", positive=True)  # x = eps_0, v = 1/log(1/delta)
    over = 4 * (sp.exp(x / 2) * sp.sqrt(1 + sp.log(4) * v) + sp.exp(x) * sp.sqrt(v))
    tanh = x * (sp.exp(x) + 1) - 2 * (sp.exp(x) - 1)  # >= 0: convex, with value and slope 0 at 0
    order = proved(
        {"tanh at 0": tanh.subs(x, 0), "its slope at 0": sp.diff(tanh, x).subs(x, 0)},
        {
            "tanh is convex": sp.diff(tanh, x, 2),
            "grows in eps_0": sp.diff(over, x),
            "grows in v": sp.diff(over, v),
            "at eps_0 = 1, delta = 1/2": 25 - over.subs({x: 1, v: 1 / sp.log(2)}),
            "delta of the local parts": 20 - (sp.E + 1) * sp.Rational(3, 2),
        },
    )
    grid = [(e, n, delta) for e in (0.05, 0.4, 1.0) for n in (10**4, 10**7) for delta in (1e-3, 1e-12)]
    forms = [
        math.tanh(e / 2) * (8 * math.sqrt(math.exp(e) * math.log(4 / t) / n) + 8 * math.exp(e) / n) for e, n, t in grid
    ]
    spent = [shuffle_epsilon(*at) for at in grid]
    same = agree([math.expm1(epsilon) for epsilon in spent], forms, "e^eps - 1 of the accountant")
    stated = claim("l1_geometry/lem-4-5")
    orders = [stated.at({"epsilon_0": e, "n": n, "delta": delta}) for e, n, delta in grid]
    largest = float(np.divide(spent, orders).max())
    said = f"the accountant's epsilon is at most {largest:.4g} times the stated order, 25 times allowed"
    far = [(e, n, delta) for e in (1e-3, 1e-1) for n in (10**9, 10**15) for delta in (1e-4, 1e-100)]
    shares = [shuffle_epsilon(e, n, t) / float(stated.at({"epsilon_0": e, "n": n, "delta": t})) for e, n, t in far]
    apart = f"from {min(shares):.4g} to {max(shares):.4g} times it at {len(far)} points far apart"
    level = judged(max(shares) / min(shares), "<=", 1.5, apart, "exact", otherwise=differs)
    return combine([order, same, judged(largest, "<=", 25.0, said, "exact"), level])


class _Listed:
    """A generator whose `random` hands out listed permutations, as numbers in their order."""

    def __init__(self, orders: list[np.ndarray]) -> None:
        self.orders, self.asked = orders, [each.shape for each in orders]
        self.drawn: list[Any] = []

    def random(self, shape: Any) -> np.ndarray:
        self.drawn.append(tuple(shape))
        return np.argsort(self.orders.pop(0), axis=1).astype(float)


@check("l1_geometry/proc-shuffled-allocation", kind="privacy")
def allocation_is_uniform(context: Context) -> Verdict:
    """Over all permutations that the procedure may draw, the last record and every assignment come out equally
    often.
    """
    n, p, r = 4, 2, 2
    fitting = [
        (f"{p} sets of {r}", partial(shuffled_allocation, context.rng(), 1, n, p, r), 0 < p * r <= n)
        for p, r in ((0, 1), (1, 0), (1, 1), (2, 2), (1, 4), (2, 3))
    ]
    if wrong := wrongly_answered(fitting):
        return answered(wrong, "")
    first = np.array(list(itertools.permutations(range(n - 1))))
    second = np.array(list(itertools.permutations(range(p))))
    pairs = [(a, b) for a in first for b in second]
    listed = _Listed([np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])])
    array = shuffled_allocation(listed, len(pairs), n, p, r)  # type: ignore[arg-type]
    if listed.drawn != listed.asked:
        return differs(f"orders of {listed.drawn} numbers are drawn, {listed.asked} are to be", "exact")
    sets = [tuple(tuple(sorted(s)) for s in one) for one in array.tolist()]
    counts = [sets.count(kind) for kind in set(sets)]
    wanted = math.comb(n, r)
    spread = f"{len(set(sets))} of {wanted} allocations, each {min(counts)} to {max(counts)} times"
    even = len(set(sets)) == wanted and min(counts) == max(counts) and all({*a, *b} == {*range(n)} for a, b in sets)
    return (holds if even else refuted)(spread, "exact")


@check("l1_geometry/asm-thm7", kind="symbolic", also=("l1_geometry/thm-9@literal",))
def windows_of_theorem_7(context: Context) -> Verdict:
    """Ends of the window of beta: argument 1 and 2^T = b; the cap on epsilon is 2^(-T/2)."""
    n, e, D, L, H, m, delta = (BY_NAME[x] for x in ("n", "epsilon", "D", "L", "H", "m", "delta"))
    ends, b, two_thirds = ends_of_the_window(claim("l1_geometry/thm-9@literal")), n / sp.log(n) ** 2, sp.Rational(2, 3)
    argument = b * e * H * D / (L * sp.log(n / delta) * sp.log(m))
    if missing := {"low", "high", "cap"} - ends.keys():
        return differs(f"Theorem 9 assumes no {', '.join(sorted(missing))} that depends on n", "symbolic")
    # log(n/delta), log n and log m are positive numbers of their own here.
    names = {sp.log(n / delta): sp.Symbol("k", positive=True), sp.log(m): sp.Symbol("l", positive=True)}
    names |= {sp.log(n): sp.Symbol("w", positive=True)}
    argument, b = argument.subs(names), b.subs(names)
    low, high, cap = (ends[name].subs(names) for name in ("low", "high", "cap"))
    proof = proved(
        {
            "lower end": argument.subs(H, low) - 1,
            "upper end": argument.subs(H, high) ** two_thirds / b - 1,
            "cap": argument.subs(e, cap) ** (-two_thirds / 2) / cap - 1,
        }
    )
    return combine([proof, steps_at_the_upper_end("approximate")])


under_a_root = unmeasured(
    "l1_geometry/thm-7@private",
    "delta L",
    "The third root of log(1/delta) is a slope that none tells from a constant; L also sets the depth and the factor "
    "kappa, and the row of Theorem 7 over L says what the walk makes of it.",
)
in_the_estimates_without_shuffling = unmeasured(
    "l1_geometry/thm-7@private",
    "d",
    "As for Theorem 7: it stands in the statistical term alone, which equal records do not have.",
)
in_the_estimates = unmeasured(
    "l1_geometry/thm-7",
    "d",
    "It stands under a root of a logarithm in the statistical term alone, which equal records do not have; trees on "
    "drawn records end at n of about 10^7, where the depth is one or two, and privacy costs as much.",
)
depth_moves_with_d = unmeasured(
    "l1_geometry/thm-2",
    "d",
    "At a fixed smoothness d moves T by a logarithm of a logarithm, so that T is whole at two sizes below 10^9; the "
    "row of Theorem 7 over m, where the smoothness follows, says what the private term does.",
)
