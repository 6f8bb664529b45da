"""Section 4, privacy: report noisy min, Lemmas 4.1, 4.4 and 4.5, Theorem 6 and 7, and the allocation of records."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
from scipy import stats

from dpcheck.accounting import account, advanced_composition, shuffle_epsilon, shuffle_limit
from dpcheck.algorithms.l1_geometry import StronglyConvexReduction, TreeFrankWolfe
from dpcheck.algorithms.l1_geometry.frank_wolfe import record_count, shuffled_allocation
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.harness import accuracy
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import agree, proved
from dpcheck.laws import NoisyMin
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.running import Fixed, Run
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Point, Verdict, combine, holds, inconclusive, refuted

from ._instances import LASSO, LinearSquare, problem, right_child_pair

# Report noisy min -----------------------------------------------------------------------------------------------------


@check("l1_geometry/proc-report-noisy-max", kind="privacy", expect="inconclusive")
def loss_of_a_selection(context: Context) -> Verdict:
    """Exact log-ratios of all winners over random scores and shifts, against D |v - v'|_inf/lambda."""
    rng, trials = context.rng(), context.scale(200, 4000)
    corners = LASSO.domain.vertices[[0, 1, 2, 8, 9, 10]][:, :3]
    v = rng.standard_normal((trials, 3)) * rng.exponential(1.0, (trials, 1))
    move = rng.uniform(-1, 1, (trials, 3)) * rng.exponential(0.5, (trials, 1))
    law = NoisyMin(0.5)
    log_p, log_q = (law.log_probabilities(x @ corners.T) for x in (v, v + move))
    left = np.abs(log_p - log_q).max(axis=1)
    right = 2 * np.abs(move).max(axis=1) / 0.5
    return accuracy.never_violated(
        left, right + 1e-9, statement="loss <= D |v - v'|_inf/lambda", failure_probability=context.failure_probability
    )


@check("l1_geometry/proc-report-noisy-max", kind="accuracy", expect="inconclusive")
def gap_of_a_selection(context: Context) -> Verdict:
    """The exact mean gap of the winner against lambda (1 + 1/2 + ... + 1/m)."""
    rng, trials, m = context.rng(), context.scale(200, 4000), 8
    scores = rng.standard_normal((trials, m)) * rng.exponential(2.0, (trials, 1))
    gap = (NoisyMin(1.0).probabilities(scores) * (scores - scores.min(axis=1, keepdims=True))).sum(axis=1)
    harmonic = sum(1 / i for i in range(1, m + 1))
    return accuracy.never_violated(
        gap, harmonic, statement="mean gap <= lambda H_m", failure_probability=context.failure_probability
    )


@check("l1_geometry/proc-report-noisy-max", kind="sensitivity", grid={"shape": ("l1 ball", "simplex", "shifted")})
def scores_move_by_the_diameter(context: Context, *, shape: str) -> Verdict:
    """max over i, j of <c_i - c_j, v - v'> is D at |v - v'|_inf = 1, by enumerating the vertices of the cube, on which
    that convex function is largest; wherever the polytope lies, the law charges D/lambda for it.
    """
    ball = np.concatenate([np.eye(4), -np.eye(4)])
    corners = {"l1 ball": ball, "simplex": np.eye(4), "shifted": 0.5 * ball + 7.0}[shape]
    scores = np.array(list(itertools.product((-1.0, 1.0), repeat=4))) @ corners.T
    apart = float((scores.max(axis=1) - scores.min(axis=1)).max())
    D = float(np.abs(corners[:, None] - corners[None]).sum(axis=-1).max())
    charged = NoisyMin(0.5).pure(apart / 2)  # a shift that all scores share does not move the selection
    return agree([apart, charged], [D, D / 0.5], "D, and the charge D/lambda")


@check("l1_geometry/fact-vertex", kind="accuracy")
def minimum_at_a_vertex(context: Context) -> Verdict:
    """Points of the cross-polytope as convex combinations: <v, x> is the same mean of vertex values, so not below
    all.
    """
    rng, size = context.rng(), context.scale(2000, 20_000)
    corners = LASSO.domain.vertices
    share, v = rng.dirichlet(np.ones(len(corners)) * 0.2, size), rng.standard_normal((size, corners.shape[1]))
    inside = ((share @ corners) * v).sum(axis=1)
    return accuracy.never_violated(
        (v @ corners.T).min(axis=1), inside + 1e-9, statement="least vertex value <= <v, x>",
        covers="a value inside is a mean of vertex values, with weights >= 0", evidence="certificate",
    )  # fmt: skip


# Lemma 4.1 -----------------------------------------------------------------------------------------------------------


def _case(b: int, sensitivity: str) -> Case:
    work = LinearSquare()
    algorithm = TreeFrankWolfe(T=1, batch=b, allocation="fixed", sensitivity=sensitivity)  # type: ignore[arg-type]
    return Case(algorithm, work, problem(work, PureDP(1.0)), start=np.array([[-1.0, 0.0]]))


def _exact_loss(b: int, sensitivity: str, trials: int) -> tuple[float, float]:
    """Largest exact loss of a transcript, and largest movement over claim, on the pair of the proof; both
    directions.
    """
    data, neighbour, _ = right_child_pair(b)
    loss, ratio = 0.0, 0.0
    for left, right in ((data, neighbour), (neighbour, data)):
        seen = _case(b, sensitivity).replay(left, right, trials)
        loss = max(loss, float(seen.loss().max()))
        ratio = max(ratio, *(float(r.max()) for r in seen.ratios().values()))
    return loss, ratio


@check("l1_geometry/lem-4-1", kind="privacy", expect="refuted")
def fixed_allocation_loses_more_than_epsilon(context: Context) -> Verdict:
    """The algorithm itself on the pair of S_{1,1}: exact log-ratio 1.510 at epsilon = 1, tending to 2 epsilon with
    b.
    """
    numbers, points = {}, []
    for b in context.scale((40, 400), (40, 80, 400, 4000)):
        loss, ratio = _exact_loss(b, "printed", 400)
        numbers |= {f"loss at b = {b}": loss, f"movement over claim at b = {b}": ratio}
        points.append(Point(x=float(b), value=loss, bound=1.0, series="fixed allocation"))
    found = refuted_by(
        "l1_geometry/lem-4-1", "lem_4_1_fixed", numbers=numbers, points=points, b=40, epsilon=1, tilt="1/10"
    )
    return replace(found, axes=("b", "privacy loss"))


@check("l1_geometry/lem-4-1", kind="privacy", expect="refuted")
def random_allocation_loses_more_than_epsilon(context: Context) -> Verdict:
    """n = 1.5b records in a uniformly random order, one of them different: exact log-ratio 1.024 at b = 100."""
    return refuted_by("l1_geometry/lem-4-1", "lem_4_1_random", b=100, epsilon=1)


@check("l1_geometry/lem-4-1", kind="sensitivity", expect="refuted")
def right_child_moves_twice_its_claim(context: Context) -> Verdict:
    """Replayed, the record of S_{1,1} moves the score of its leaf by more than the printed sensitivity."""
    ratios = {b: _exact_loss(b, "printed", 64)[1] for b in (40, 400)}
    found = refuted_by("l1_geometry/lem-4-1", "lem_4_1_fixed", b=400, epsilon=1, tilt="1/10")
    numbers = {**found.numbers, **{f"movement over claim at b = {b}": r for b, r in ratios.items()}}
    return replace(found, numbers=numbers, reason=f"{found.reason}; a score moves by {ratios[400]:.4g} claims")


@check("l1_geometry/lem-4-1@corrected", kind="sensitivity")
def corrected_claim_covers_the_difference(context: Context) -> Verdict:
    """With the doubled claim the same record moves a score by its claim exactly; no record can do more."""
    loss, ratio = _exact_loss(40, "safe", 400)
    said = f"movement {ratio:.9g} of the claim, loss {loss:.6g} of epsilon = 1"
    numbers = {"movement over claim": ratio, "largest loss": loss}
    sure = "a record enters v by two gradients of sup-norm <= L over 2^-j b, and |c_i|_1 <= D/2"
    broken = ratio > 1 + 1e-9 or loss > 1
    return (refuted if broken else holds)(f"{said} ({sure})", "certificate", numbers=numbers)


@check("l1_geometry/lem-4-1@corrected", kind="privacy", grid={"T": (1, 2, 4), "epsilon": (0.1, 1.0)})
def corrected_noise_is_enough(context: Context, *, T: int, epsilon: float) -> Verdict:
    """The worst stretch of records costs exactly epsilon under certified sensitivities and twice the noise."""
    b = 16 * 2**T
    algorithm = TreeFrankWolfe(T=T, batch=b, sensitivity="safe")
    plan = algorithm.schedule(problem(LASSO, PureDP(epsilon)), record_count(b, T))
    spent = account(plan).epsilon(0.0)
    said = f"epsilon {spent:.9g} of {epsilon:g} over {len(plan.releases)} leaves"
    return (holds if spent <= epsilon * (1 + 1e-9) else refuted)(said, "certificate", numbers={"epsilon": spent})


@check("l1_geometry/lem-4-1@derived", kind="accuracy", grid={"t": (1, 3)})
def utility_of_the_printed_noise(context: Context, *, t: int) -> Verdict:
    """lambda (1 + log m) is the explicit gap, and bounds lambda H_m."""
    b, m = 64, 16
    plan = TreeFrankWolfe(T=t, batch=b).schedule(problem(LASSO, PureDP(1.0)), record_count(b, t))
    scale = plan.phases[-1].scale
    stated = float(
        claim("l1_geometry/lem-4-1@derived").evaluate(L=LASSO.constants.lipschitz(1.0), D=2.0, t=t, b=b, epsilon=1, m=m)
    )
    harmonic = scale * sum(1 / i for i in range(1, m + 1))
    fits = math.isclose(scale * (1 + math.log(m)), stated, rel_tol=1e-12) and harmonic <= stated
    return (holds if fits else refuted)(f"lambda H_m = {harmonic:.6g}, stated {stated:.6g}", "exact")


# Theorem 6 ------------------------------------------------------------------------------------------------------------


@check("l1_geometry/thm-6@literal", kind="privacy", expect="refuted")
def its_own_parameters_under_a_fixed_allocation(context: Context) -> Verdict:
    """n = 65536: b = 256, T = 4, one record fixed in S_{1,1}: exact log-ratio 1.777 at epsilon = 1."""
    work = LinearSquare()
    row = TreeFrankWolfe().schedule(problem(work, PureDP(1.0)), 65536).phases
    numbers = {"T of the schedule": len(row), "b of the schedule": row[0].b}
    return refuted_by("l1_geometry/thm-6@literal", "thm_6_fixed", numbers=numbers, n=65536, tilt="1/10")


@check("l1_geometry/thm-6@corrected", kind="privacy")
def unused_records_hide_the_loss(context: Context) -> Verdict:
    """With a uniform allocation and the theorem's own b and T, at most the fraction 1/(1 + e) of records is used."""
    work, points, worst = LinearSquare(), [], 0.0
    for n in [2**k for k in range(12, context.scale(24, 40))]:
        plan = TreeFrankWolfe().schedule(problem(work, PureDP(1.0)), n)
        used = sum(row.records for row in plan.phases) / n
        spent = account(plan).epsilon(0.0)  # of the printed claims; the truth is at most twice that
        amplified = float(claim("l1_geometry/thm-6@corrected").evaluate(p_0=used, epsilon=spent))
        worst = max(worst, amplified)
        points.append(Point(x=float(n), value=amplified, bound=1.0, series="uniform allocation"))
    said = f"epsilon at most {worst:.6g} of 1 at every size"
    make = holds if worst <= 1 else refuted
    return make(said, "certificate", numbers={"epsilon": worst}, points=points, axes=("n", "epsilon"))


@check("l1_geometry/thm-6", kind="privacy", grid={"n": by_size([4096, 65536], [4096, 65536, 2**20])})
def theorem_6_under_the_random_allocation(context: Context, *, n: int) -> Verdict:
    """The default reading allocates at random: 2 epsilon given the place, epsilon after amplification."""
    plan = TreeFrankWolfe().schedule(problem(LinearSquare(), PureDP(1.0)), n)
    used = sum(row.records for row in plan.phases) / n
    safe = 2 * account(plan).epsilon(0.0)
    found = math.log1p(used * math.expm1(safe))
    said = f"fraction {used:.4g} of the records used, loss {safe:.4g} given the place, epsilon {found:.4g}"
    return (holds if found <= 1 else inconclusive)(said, "certificate", numbers={"epsilon": found, "used": used})


@check("l1_geometry/alg-3", kind="privacy", grid={"reading": ("printed", "safe")})
def account_of_the_tree(context: Context, *, reading: str) -> Verdict:
    """Under the sensitivities that its reading claims, the worst stretch of Algorithm 3 costs epsilon."""
    algorithm = TreeFrankWolfe(T=3, batch=64, sensitivity=reading)  # type: ignore[arg-type]
    plan = algorithm.schedule(problem(LASSO, PureDP(0.5)), record_count(64, 3))
    spent = account(plan).epsilon(0.0)
    place = "the claims of right children are half of the truth" if reading == "printed" else "claims are certified"
    said = f"epsilon {spent:.6g} of 0.5 by its claims; {place}"
    return (holds if spent <= 0.5 * (1 + 1e-9) else refuted)(said, "certificate", numbers={"epsilon": spent})


@check(
    "l1_geometry/proc-strongly-convex-reduction", kind="privacy", grid={"inner": ("tree", "descent")}
)  # fmt: skip
def restarts_on_disjoint_records_are_private(context: Context, *, inner: str) -> Verdict:
    """Every restart reads records of its own: the worst record costs what its run costs, with certified claims."""
    n = 4096 if inner == "tree" else 1024
    if inner == "tree":
        privacy: ApproxDP = PureDP(1.0)
        algorithm = StronglyConvexReduction(inner=TreeFrankWolfe(sensitivity="safe", T=1, budget="economical"))
    else:
        privacy, algorithm = ApproxDP(1.0, 1e-5), StronglyConvexReduction()
    plan = algorithm.schedule(problem(LASSO, privacy), n)
    spent = account(plan, n).epsilon(privacy.delta)
    said = f"epsilon at most {spent:.4g} of 1 over {len(plan.phases)} runs, {len(plan.releases)} releases"
    fits = spent <= 1 + 1e-9
    return (holds if fits else inconclusive)(said, "certificate", numbers={"epsilon": spent, "runs": len(plan.phases)})


@check("l1_geometry/alg-3", kind="sensitivity", grid={"noise": ("pure", "approximate")})
def every_selection_moves_within_its_claim(context: Context, *, noise: str) -> Verdict:
    """Replayed on drawn LASSO records, each place of the tree replaced in turn: no score moves more than it claims."""
    T, b = 2, 16
    n, times = record_count(b, T), context.scale(4, 40)
    algorithm = TreeFrankWolfe(T=T, batch=b, noise=noise, sensitivity="safe", allocation="fixed")  # type: ignore[arg-type]
    told = problem(LASSO, PureDP(1.0) if noise == "pure" else ApproxDP(1.0, 1e-6))
    data = LASSO.rows(context.rng("data"), n * times, n)
    other = data.copy()
    place = np.tile(np.arange(n), times)
    other[np.arange(len(data)), place] = LASSO.rows(context.rng("other"), len(data), 1)[:, 0]
    seen = Case(algorithm, LASSO, told).replay(data, other, len(data), context.seed)
    ratios = {name: float(found.max()) for name, found in seen.ratios().items()}
    worst = max(ratios.values())
    sure = "a record enters v by one gradient at the root and by two at right children, all of sup-norm <= L"
    said = f"at most {worst:.4g} of the claim over {len(data)} pairs and {len(ratios)} selections ({sure})"
    fields: dict[str, Any] = {"numbers": {"largest ratio": worst, "pairs": len(data)}}
    return (holds if worst <= 1 + 1e-9 else refuted)(said, "certificate", **fields)


@check("l1_geometry/thm-7", kind="runtime", grid={"n": by_size([10**6], [10**6, 10**8, 10**10])})
def gradients_of_theorem_7(context: Context, *, n: int) -> Verdict:
    """At its own b and T, the schedule asks for at most n gradients where T >= 2; counted by arithmetic."""
    algorithm = TreeFrankWolfe(noise="approximate")
    T, b = algorithm.sizes(problem(LASSO, ApproxDP(1.0, 1 / n**1.5)), n)
    spent = b * T * (T + 3) // 2
    said = f"T = {T}, b = {b:,}: {spent:,} gradients of n = {n:,}"
    if T == 1 and spent > n:
        return inconclusive(f"{said}; T = 1 evaluates 2 b", "counted", numbers={"T": T, "gradients": spent})
    return (holds if spent <= n else refuted)(said, "counted", numbers={"T": T, "gradients": spent})


# Lemmas 4.4 and 4.5, Theorem 7 ---------------------------------------------------------------------------------------


def hidden_constant(n: int, delta: float, T: int, epsilon: float) -> float:
    """epsilon of Lemma 4.4's chain over epsilon, with the true sensitivities: Lemma 2.2 a subtree, then shuffling."""
    worst = 0.0
    log_nd = math.log(n / delta)
    for t, j in [(depth, node) for depth in range(1, T + 1) for node in range(depth + 1)]:
        leaf = (2 if j == 0 else 4) * 2 ** (j - T / 2) * epsilon / log_nd
        count, p = 2 ** (t - j), max(1, 2 ** (j - 1))
        local = min(count * leaf, advanced_composition(leaf, 0.0, count, delta / n)[0])
        worst = max(worst, shuffle_epsilon(local, p, delta) if local <= shuffle_limit(p, delta) else local)
    return worst / epsilon


@check("l1_geometry/lem-4-4", kind="privacy", expect="inconclusive")
def hidden_constant_of_the_chain(context: Context) -> Verdict:
    """At n = 10^6, delta = 10^-9, epsilon = 2^(-T/2) the chain with the right sensitivities costs a bounded
    multiple.
    """
    found = {T: hidden_constant(10**6, 1e-9, T, 2 ** (-T / 2)) for T in (1, 2, 4, 6, 8, 10, 18)}
    points = [Point(x=float(T), value=c, series="epsilon over the stated one") for T, c in found.items()]
    numbers = {f"T = {T}": c for T, c in found.items()}
    said = f"between {min(found.values()):.3g} and {max(found.values()):.3g} times epsilon for T = 1 to 18"
    said += "; no finite list of T proves an O(epsilon)"
    return inconclusive(said, "certificate", numbers=numbers, points=points, axes=("T", "epsilon_total/epsilon"))


@check("l1_geometry/lem-4-4", kind="sensitivity", grid={"b": (40, 400, 4000)})
def scores_under_the_approximate_noise(context: Context, *, b: int) -> Verdict:
    """Replayed, the record of S_{1,1} moves its score by at most 2 D L 2^j/b, twice what the chain has, and its leaf
    loses 4 2^(j - T/2) epsilon/log(n/delta) at most: a factor that O(epsilon) hides.
    """
    data, neighbour, start = right_child_pair(b)
    work, n = LinearSquare(), data.shape[1]
    told, ratios, losses = problem(work, ApproxDP(1.0, 1 / n**2)), {}, []
    for reading in ("printed", "safe"):
        algorithm = TreeFrankWolfe(T=1, batch=b, noise="approximate", sensitivity=reading, allocation="fixed")  # type: ignore[arg-type]
        seen = Case(algorithm, work, told, start=start).replay(data, neighbour, 200, context.seed)
        ratios[reading] = max(float(r.max()) for r in seen.ratios().values())
        losses.append(float(np.abs(seen.loss()).max()))
    epsilon, log_nd = TreeFrankWolfe(T=1, batch=b, noise="approximate").budget_of(told, n)
    stated = 4 * 2 ** (1 - 0.5) * epsilon / log_nd
    numbers = {"over the certified claim": ratios["safe"], "over the printed claim": ratios["printed"]}
    said = f"{ratios['printed']:.4g} of the printed claim, {ratios['safe']:.4g} of the certified one; "
    said += f"loss {max(losses):.4g} of {stated:.4g}"
    fits = ratios["safe"] <= 1 + 1e-9 and ratios["printed"] <= 2 + 1e-9 and max(losses) <= stated * (1 + 1e-9)
    return (holds if fits else refuted)(said, "certificate", numbers={**numbers, "loss": max(losses), "stated": stated})


@check("l1_geometry/lem-4-4", kind="accuracy", grid={"T": (1, 2, 4)})
def gap_under_the_approximate_noise(context: Context, *, T: int) -> Verdict:
    """Exact mean gaps of the selections, over the scores that runs of Algorithm 3 meet and over one score below all
    others, against lambda (1 + log m), lambda = L D 2^(T/2) log(n/delta)/(b epsilon).
    """
    b, times = 64, context.scale(20, 200)
    n = record_count(b, T)
    told = problem(LASSO, ApproxDP(1.0, 1 / n**2))
    algorithm = TreeFrankWolfe(T=T, batch=b, noise="approximate")
    plan, (epsilon, log_nd) = algorithm.schedule(told, n), algorithm.budget_of(told, n)
    c, m = LASSO.constants, len(LASSO.domain.vertices)
    scale = c.lipschitz(1.0) * c.diameter(1.0) * 2 ** (T / 2) * log_nd / (b * epsilon)
    run = Run[Any](plan, times, context.rng("noise"))
    algorithm.execute(run, LASSO, Fixed(LASSO.rows(context.rng("data"), times, n)), np.zeros((1, c.d)))
    met = [(plan.releases[i].law, entry.core) for i, entry in enumerate(run.transcript.entries)]
    below = np.geomspace(0.1, 20, 200)[:, None] * scale * (np.arange(m) > 0)
    gaps = []
    for law, scores in [*met, (plan.releases[-1].law, below)]:
        assert isinstance(law, NoisyMin)
        gaps.append((law.probabilities(scores) * (scores - scores.min(axis=1, keepdims=True))).sum(axis=1))
    return accuracy.never_violated(
        np.concatenate(gaps), scale * (1 + math.log(m)), statement="mean gap <= lambda (1 + log m)",
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
    spent = account(plan).epsilon(0.0)
    stated = float(claim("l1_geometry/lem-4-4@derived").evaluate(T=T, epsilon=in_force, n=n, delta=delta))
    said = f"epsilon {spent:.5g}, stated {stated:.5g}, promised {in_force:.4g}"
    return (holds if spent <= stated * (1 + 1e-9) else refuted)(said, "certificate", numbers={"epsilon": spent})


@check("l1_geometry/thm-7", kind="privacy", grid={"n": by_size([10**5], [10**5, 10**6, 10**7])})
def theorem_7_is_pure_for_shallow_trees(context: Context, *, n: int) -> Verdict:
    """Its own T satisfies 4 2^(T/2) <= log(n/delta), so that it is epsilon-DP without shuffling."""
    told = problem(LASSO, ApproxDP(1.0, 1 / n**1.5))
    algorithm = TreeFrankWolfe(noise="approximate", sensitivity="safe")
    plan, (in_force, log_nd) = algorithm.schedule(told, n), algorithm.budget_of(told, n)
    spent, T = account(plan).epsilon(0.0), len(plan.phases)
    numbers = {"epsilon": spent, "in force": in_force, "T": T, "4 2^(T/2)": 4 * 2 ** (T / 2), "log(n/delta)": log_nd}
    said = f"T = {T}: epsilon {spent:.4g} of {in_force:.4g}, delta 0"
    return (holds if spent <= in_force else inconclusive)(said, "certificate", numbers=numbers)


@check("l1_geometry/lem-4-5", kind="privacy", expect="inconclusive")
def shuffled_randomised_response(context: Context) -> Verdict:
    """The exact hockey-stick of n shuffled randomised responses at the closed form's epsilon is at most delta."""
    left, right = [], []
    for e, n, delta in itertools.product((0.1, 0.5, 1.0), (500, context.scale(2000, 20_000)), (1e-4, 1e-6)):
        if e > shuffle_limit(n, delta):
            continue
        p = 1 / (1 + math.exp(e))
        k = np.arange(n)
        others = stats.binom.pmf(k, n - 1, p)  # the others hold 0 and flip with probability p
        P, Q = (np.convolve(others, [1 - q, q]) for q in (1 - p, p))
        left.append(float(np.maximum(0.0, P - math.exp(shuffle_epsilon(e, n, delta)) * Q).sum()))
        right.append(delta)
    return accuracy.never_violated(
        left, right, statement="exact delta <= delta", failure_probability=context.failure_probability
    )


@check("l1_geometry/lem-4-5", kind="symbolic")
def closed_form_has_the_stated_order(context: Context) -> Verdict:
    """For eps_0 <= 1 and delta <= 1/2 the accountant's form is at most 25 eps_0 sqrt(log(1/delta)/n), and spends
    20 n delta_0 at most: by tanh(x/2) <= x/2, log(1 + x) <= x, 1/n <= 1/sqrt n.
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
    same = agree([math.expm1(shuffle_epsilon(*at)) for at in grid], forms, "e^eps - 1 of the accountant")
    return combine([order, same])


class _Listed:
    """A generator whose `random` hands out listed permutations, as numbers in their order."""

    def __init__(self, orders: list[np.ndarray]) -> None:
        self.orders = orders

    def random(self, shape: Any) -> np.ndarray:
        return np.argsort(self.orders.pop(0), axis=1).astype(float)


@check("l1_geometry/proc-shuffled-allocation", kind="privacy")
def allocation_is_uniform(context: Context) -> Verdict:
    """Over all permutations that the procedure may draw, the last record and every assignment come out equally
    often.
    """
    n, p, r = 4, 2, 2
    first = np.array(list(itertools.permutations(range(n - 1))))
    second = np.array(list(itertools.permutations(range(p))))
    pairs = [(a, b) for a in first for b in second]
    listed = _Listed([np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])])
    found = shuffled_allocation(listed, len(pairs), n, p, r)  # type: ignore[arg-type]
    sets = [tuple(tuple(sorted(s)) for s in one) for one in found.tolist()]
    counts = [sets.count(kind) for kind in set(sets)]
    wanted = math.comb(n, r)
    spread = f"{len(set(sets))} of {wanted} allocations, each {min(counts)} to {max(counts)} times"
    even = len(set(sets)) == wanted and min(counts) == max(counts)
    return (holds if even else refuted)(spread, "exact")


# The windows ----------------------------------------------------------------------------------------------------------


@check("l1_geometry/asm-thm6", kind="symbolic")
def window_of_theorem_6(context: Context) -> Verdict:
    """The ends of the window are: argument of the logarithm 1, and 2^T = b, with b = n/w^2."""
    n, e, D, L, H = (BY_NAME[x] for x in ("n", "epsilon", "D", "L", "H"))
    w, lm = sp.symbols("w l", positive=True)
    b = n / w**2
    argument = b * e * H * D / (L * lm)
    low, high = L * lm * w**2 / (n * e * D), n * L * lm / (e * D * w**2)
    return proved(
        {"lower end": argument.subs(H, low) - 1, "upper end: 2^T = sqrt(argument) = b": argument.subs(H, high) - b**2}
    )


@check("l1_geometry/asm-thm7", kind="symbolic")
def windows_of_theorem_7(context: Context) -> Verdict:
    """Ends of the window of beta: argument 1 and 2^T = b; the cap on epsilon is 2^(-T/2)."""
    n, e, D, L, H = (BY_NAME[x] for x in ("n", "epsilon", "D", "L", "H"))
    w, lm, ln = sp.symbols("w l k", positive=True)
    b, two_thirds = n / w**2, sp.Rational(2, 3)
    argument = b * e * H * D / (L * ln * lm)
    low, high = L * ln * lm * w**2 / (n * e * D), sp.sqrt(n) * L * ln * lm / (e * D * w)
    cap = (L * ln * lm) ** sp.Rational(1, 4) * sp.sqrt(w) / (n * H * D) ** sp.Rational(1, 4)
    return proved(
        {
            "lower end": argument.subs(H, low) - 1,
            "upper end": argument.subs(H, high) ** two_thirds - b,
            "cap": (argument.subs(e, cap) ** -(two_thirds / 2)) / cap - 1,
        }
    )
