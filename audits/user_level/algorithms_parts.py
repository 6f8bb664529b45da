"""The parts that the algorithms are made of: SGD, scores, removal, AC-SA, minimisers, smoothing, subsampling."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from scipy import stats

from dpcheck.algorithms.user_level.accelerated import ac_sa, multistage_ac_sa, stage, stages
from dpcheck.algorithms.user_level.concentration import (
    concentration_score,
    inclusion,
    neighbour_counts,
    outlier_removal,
)
from dpcheck.algorithms.user_level.descent import sgd
from dpcheck.algorithms.user_level.erm import regularised_erm
from dpcheck.algorithms.user_level.smoothing import smoothed_gradients, uniform_ball
from dpcheck.algorithms.user_level.subsample import subsampled
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import stated
from dpcheck.harness import accuracy, risk, runtime, stability
from dpcheck.harness.runtime import CountingWorkload
from dpcheck.harness.search import BallRecords, UserRecords
from dpcheck.harness.sensitivity import Certificate
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Array, Sample
from dpcheck.verdicts import Verdict, combine, differs, holds
from dpcheck.workloads import SignHuber

from ._runs import WORKLOADS, linear, quadratic, top

# SGD ------------------------------------------------------------------------------------------------------------------


@check("user_level/proc-sgd", kind="runtime", grid={"T": (1, 7, 64)})
def one_gradient_a_sample(context: Context, *, T: int) -> Verdict:
    """T gradients for each of three groups, counted."""
    work = linear(3, 1)
    each: Any = CountingWorkload(work.each)
    sgd(each, work.each.rows(context.rng(), 1, 3 * T).reshape(1, 3, T, 3), 0.1, np.zeros((1, 3)))
    return agree([each.gradients], [3 * stated("user_level/proc-sgd", T=T)], "gradients of three groups")


@check("user_level/proc-sgd", kind="stability", grid={"loss": ("linear", "quadratic", "huber")})
def a_replaced_sample_moves_the_average(context: Context, *, loss: str) -> Verdict:
    """One of T samples replaced: steps of at most 2/beta do not expand, the mean moves by 2 L eta (T-1)/T at most."""
    d, T, eta = 2, 8, 0.2
    work = WORKLOADS[loss](d, 1)
    L = work.constants.lipschitz(2.0)
    radius = {"linear": 1.0, "quadratic": 0.5, "huber": math.sqrt(d)}[loss]

    def average(data: Array) -> Array:
        return sgd(work.each, data[:, None], eta, np.zeros((1, d)))[:, 0]

    measure = stability.of_map(average, 2 * L * eta * (T - 1) / T)
    found = stability.search(
        measure, BallRecords(radius, d), T, chains=32, steps=context.scale(15, 60), seed=context.seed
    )
    return stability.verdict(
        found, certificate=Certificate(1.0, "non-expansive steps, the first sample weighs (T-1)/T")
    )


@check(
    "user_level/lem-b3@derived",
    kind="risk",
    grid={"loss": ("linear", "quadratic", "huber", "absolute"), "eta": (0.02, 0.1)},
)
def regret_of_the_average(context: Context, *, loss: str, eta: float) -> Verdict:
    """Mean excess risk of x~ after T = 100 steps from the origin, against D^2/(2 eta T) + eta L^2/2 at D = |x*|."""
    return regret(context, loss, eta, "user_level/lem-b3@derived")


@check("user_level/lem-b3", kind="risk", grid={"loss": ("linear", "huber"), "eta": (0.1,)})
def regret_of_the_average_as_printed(context: Context, *, loss: str, eta: float) -> Verdict:
    """The printed bound, twice as large."""
    return regret(context, loss, eta, "user_level/lem-b3")


@check("user_level/proc-sgd", kind="risk", grid={"eta": (0.02, 0.1)})
def risk_of_the_average(context: Context, *, eta: float) -> Verdict:
    """The average of x_0, ..., x_{T-1} keeps the regret bound on the absolute loss, which is not smooth."""
    return regret(context, "absolute", eta, "user_level/lem-b3@derived")


def regret(context: Context, loss: str, eta: float, label: str) -> Verdict:
    d, T, trials = 3, 100, context.scale(8_000, 20_000)
    work = (WORKLOADS["huber"](d, 1, 0.0) if loss == "absolute" else WORKLOADS[loss](d, 1)).each
    x = {"linear": np.full(d, 0.5 / math.sqrt(d)), "quadratic": 0.25 * 0.5 / math.sqrt(d)}.get(loss)
    best = np.broadcast_to(work.best_coordinate if isinstance(work, SignHuber) else x, (d,))
    samples = work.rows(context.rng(), trials, T)[:, None]
    values = work.excess_risk(sgd(work, samples, eta, np.zeros((1, d)))[:, 0])
    L, beta = work.constants.lipschitz(2.0), work.constants.smoothness(2.0)
    if beta * eta > 1 and label == "user_level/lem-b3":
        raise ValueError("the printed lemma assumes eta <= 1/beta")
    extra = {"H": beta} if label == "user_level/lem-b3" else {}
    bound = stated(label, D=float(np.linalg.norm(best)), eta=eta, T=T, L=L, **extra)
    limit = L * work.constants.diameter(2.0)
    return risk.expectation(values, bound, context.failure_probability, limit=limit, x=eta, variable="eta", series=loss)


# Scores and removal ---------------------------------------------------------------------------------------------------


def _clouds(C: int) -> Array:
    """Every placement of C points on the sites 0, 0.9, 1.8 and 9: near is not transitive. (4^C, C, 1)."""
    return np.array([0.0, 0.9, 1.8, 9.0])[np.array(list(itertools.product(range(4), repeat=C)))][..., None]


@check("user_level/proc-concentration-score@derived", kind="sensitivity", grid={"C": by_size([4, 5], [4, 5, 6])})
def score_of_replaced_points(context: Context, *, C: int) -> Verdict:
    """r points of C moved together, all placements on four sites: at most 2 r (C - r)/C, and attained."""
    points = _clouds(C)
    before, found, wanted = concentration_score(points, 1.0), [], []
    for r in range(1, C // 2 + 1):
        alike = (points[:, :r] == points[:, :1]).all(axis=(1, 2))
        worst = 0.0
        for site in (0.0, 0.9, 1.8, 9.0):
            moved = points.copy()
            moved[:, :r] = site
            worst = max(worst, float(np.abs(concentration_score(moved, 1.0) - before)[alike].max()))
        found.append(worst)
        wanted.append(stated("user_level/proc-concentration-score@derived", r=r, K=C))
    return agree(found, wanted, f"largest change of the score, r = 1..{C // 2} equal points of {C}")


@check("user_level/proc-concentration-score", kind="sensitivity", grid={"C": by_size([4, 5], [4, 5, 6])})
def score_moves_by_less_than_two(context: Context, *, C: int) -> Verdict:
    """One point of C replaced, on four sites: the score changes by 2/C for each pair that it wins or loses."""
    points, worst = _clouds(C), 0.0
    before = concentration_score(points, 1.0)
    for site in (0.0, 0.9, 1.8, 9.0):
        moved = points.copy()
        moved[:, 0] = site
        worst = max(worst, float(np.abs(concentration_score(moved, 1.0) - before).max()))
    return accuracy.never_violated(
        [worst], [stated("user_level/proc-concentration-score")], statement="|s - s'| <= 2", evidence="certificate",
        covers="a point has at most C - 1 pairs with the others, each counted twice",
    )  # fmt: skip


@check("user_level/proc-concentration-score", kind="accuracy")
def score_lies_between_one_and_all(context: Context) -> Verdict:
    """1 <= s <= C, and s is what a double loop over pairs counts, on all placements of five points on four sites."""
    points = _clouds(5)
    looped = sum((np.abs(points[:, i] - points[:, j]) <= 1.0)[:, 0] for i in range(5) for j in range(5)) / 5
    found = concentration_score(points, 1.0)
    if not (found.min() >= 1 and found.max() <= 5):
        return differs(f"scores from {found.min():g} to {found.max():g}")
    return agree(found, looped, "scores against a double loop")


@check("user_level/proc-outlier-removal@derived", kind="sensitivity", grid={"C": by_size([5], [5, 6])})
def inclusions_of_the_others(context: Context, *, C: int) -> Verdict:
    """One point replaced: the probabilities of all others change by at most 6/C, which is attained."""
    points, worst = _clouds(C), 0.0
    (before,) = neighbour_counts(points, (1.0,))
    for site in (0.0, 0.9, 1.8, 9.0):
        moved = points.copy()
        moved[:, 0] = site
        (after,) = neighbour_counts(moved, (1.0,))
        worst = max(worst, float(np.abs(inclusion(after) - inclusion(before))[:, 1:].max()))
    return accuracy.never_violated(
        [worst], [min(1.0, stated("user_level/proc-outlier-removal@derived", C=C))], statement="|p_j - p_j'| <= 6/C",
        evidence="certificate", covers="h_j changes by at most 1, and p_j has slope 6/C in it",
    )  # fmt: skip


@check("user_level/proc-outlier-removal", kind="accuracy")
def inclusion_probabilities(context: Context) -> Verdict:
    """A point is kept exactly where its uniform lies below p(h), for all h of 12 points."""
    h = np.arange(1, 13, dtype=float)[None]
    wanted = [stated("user_level/proc-outlier-removal", h=x, C=12) for x in h[0]]
    points, found = np.eye(12)[None], []
    for j in range(12):
        p, kept = wanted[j], []
        for shift in (-1e-9, 1e-9):
            u = np.full((1, 12), 2.0)
            u[0, j] = p + shift
            kept.append(outlier_removal(points, h, u, np.full((1, 12), -1.0))[0, j] == 1.0)
        found.append(p if kept == [True, False] else math.inf)
    return agree(np.minimum(found, 9.0), wanted, "keeping probabilities")


@check("user_level/proc-outlier-removal", kind="sensitivity")
def an_empty_set_returns_the_fallback(context: Context) -> Verdict:
    """Two far halves: every p is 0, nothing is kept, and the mean is the given point, on both neighbours."""
    points = np.repeat([0.0, 9.0], 6)[None, :, None]
    moved = points.copy()
    moved[0, 0] = 4.5
    values = []
    for cloud in (points, moved):
        (counts,) = neighbour_counts(cloud, (1.0,))
        # Moving one point out leaves 5 of 12: still below C/2.
        values.append(float(outlier_removal(cloud, counts, np.zeros((1, 12)), np.full((1, 1), 0.25))[0, 0]))
    said = f"means {values} of nothing"
    return (differs if values[0] != 0.25 else holds)(said, "exact", numbers={"mean": values[0], "other": values[1]})


# AC-SA ----------------------------------------------------------------------------------------------------------------


@check("user_level/proc-ac-sa", kind="risk", grid={"T": (1, 5, 40, 200)}, expect="consistent")
def exact_gradients_on_quadratics(context: Context, *, T: int) -> Verdict:
    """One stage at upsilon = beta, mu -> 0, on every eigenvalue up to beta (quadratics decompose into them)."""
    eigen = np.linspace(0.0, 1.0, 4001)
    end = ac_sa(lambda x: eigen * x, np.ones((1, len(eigen))), mu=1e-13, steps=T, upsilon=1.0, project=lambda x: x)
    return accuracy.never_violated(
        eigen / 2 * end[0] ** 2,
        stated("user_level/proc-ac-sa", H=1.0, D=1.0, T=T),
        statement="excess <= 2 beta D^2/(T (T + 1)) on quadratics",
        drawn=False,
    )


@check("user_level/proc-ac-sa@derived", kind="risk", grid={"T": (10, 60), "V": (0.1, 2.0)})
def noisy_gradients_on_quadratics(context: Context, *, T: int, V: float) -> Verdict:
    """Mean excess at upsilon = 2 beta with noise of variance V^2, 4 beta D^2/(T(T+1)) + V^2 (2T+1)/(12 beta) stated."""
    eigen, trials, rng = np.geomspace(1e-3, 1.0, 10), context.scale(2500, 6000), context.rng()
    start = np.full((trials, 10), 1 / math.sqrt(10))

    def oracle(x: Array) -> Array:
        return eigen * x + V / math.sqrt(10) * rng.standard_normal(x.shape)

    end = ac_sa(oracle, start, mu=1e-13, steps=T, upsilon=2.0, project=lambda x: x)
    values = (eigen / 2 * end**2).sum(axis=1)
    bound = stated("user_level/proc-ac-sa@derived", H=1.0, D=1.0, T=T, V=V)
    return risk.expectation(
        values, bound, context.failure_probability, seed=context.seed, x=float(T), variable="T",
        series=f"V = {V:g}",
    )  # fmt: skip


@check("user_level/proc-multistage-ac-sa", kind="runtime", grid={"condition": (1.0, 1e2, 1e4)})
def steps_of_a_stage(context: Context, *, condition: float) -> Verdict:
    """Without noise every stage takes ceil(4 sqrt(2 kappa)) steps, at most 1 + 4 sqrt(2 kappa)."""
    steps = [stage(k, gap=1.0, variance=0.0, mu=1 / condition, smooth=1.0).steps for k in range(1, 30)]
    allowed = stated("user_level/proc-multistage-ac-sa", H=1.0, lambda_=1 / condition)
    taken, what = np.array(steps, dtype=float), "steps of a stage"
    return runtime.verdict(taken, allowed, what=what, x=condition, variable="condition number")


@check("user_level/lem-c4@derived", kind="runtime", grid={"condition": (1e2, 1e4), "V": (0.0, 0.01, 1.0)})
def steps_of_all_stages(context: Context, *, condition: float, V: float) -> Verdict:
    """U stages take at most U (1 + 4 sqrt(2 kappa)) + 171 V^2 2^U/(mu Delta_0) steps, U up to 30."""
    mu, steps, verdicts = 1 / condition, 0, []
    series = f"V = {V:g}, condition number {condition:g}"
    for U in range(1, 31):
        steps += stage(U, gap=1.0, variance=V**2, mu=mu, smooth=1.0).steps
        bound = stated("user_level/lem-c4@derived", U=U, H=1.0, lambda_=mu, V=V, L=1.0, D=1.0)
        found = runtime.verdict(float(steps), bound, what="steps", x=float(U), variable="stages", series=series)
        verdicts.append(found)
    return combine(verdicts)


def _ill_conditioned(context: Context, condition: float, V: float, halvings: int) -> tuple[Array, float, int]:
    """Excess of every trial on a quadratic with eigenvalues from 1/condition to 1, its gap, and the halvings proved."""
    mu, rng, trials = 1 / condition, context.rng("noise", V), context.scale(2000, 4000)
    eigen = np.geomspace(mu, 1.0, 12)
    gap = float(eigen.sum() / 2)
    budget = sum(stage(k, gap=gap, variance=V**2, mu=mu, smooth=1.0).steps for k in range(1, halvings + 1))
    plan, proved = stages(budget, gap=gap, variance=V**2, mu=mu, smooth=1.0)

    def oracle(x: Array) -> Array:
        return eigen * x + V / math.sqrt(12) * rng.standard_normal(x.shape)

    end = multistage_ac_sa(oracle, np.ones((trials, 12)), mu=mu, stages=plan, project=lambda x: x)
    return np.asarray((eigen / 2 * end**2).sum(axis=1)), gap, proved


@check("user_level/lem-c4@derived", kind="risk", grid={"V": (0.01, 0.05), "halvings": by_size([3, 5], [3, 5, 6])})
def error_halves_stage_by_stage(context: Context, *, V: float, halvings: int) -> Verdict:
    """Mean excess after U stages against Delta_0 2^-U, condition number 200, 12 dimensions."""
    values, gap, proved = _ill_conditioned(context, 200.0, V, halvings)
    if proved != halvings:
        return differs(f"{halvings} stages were budgeted, {proved} fit", "exact")
    return risk.expectation(
        values, gap * 2.0**-halvings, context.failure_probability, seed=context.seed, x=float(halvings),
        variable="stages", series=f"V = {V:g}", quantity="excess",
    )  # fmt: skip


@check("user_level/proc-multistage-ac-sa", kind="risk")
def error_of_four_stages(context: Context) -> Verdict:
    """The same at condition number 1000 and little noise: most of the budget goes into the sqrt of the condition."""
    values, gap, proved = _ill_conditioned(context, 1000.0, 0.02, 4)
    return risk.expectation(
        values, gap * 2.0**-proved, context.failure_probability, seed=context.seed, quantity="excess"
    )


@check("user_level/lem-c4@derived", kind="accuracy")
def exponent_of_the_stages(context: Context) -> Verdict:
    """T noiseless steps prove an exponent of T sqrt(lambda/beta) log 2/(4 sqrt 2), 0.12 of the printed one (S18)."""
    found = []
    for condition in (1e4, 1e6, 1e8):
        T = 50 * math.ceil(4 * math.sqrt(2 * condition))
        _, proved = stages(T, gap=1.0, variance=0.0, mu=1 / condition, smooth=1.0)
        found.append(proved * math.log(2) / (T / math.sqrt(condition)))
    # Stages are rounded up to whole steps: at most one in 566.
    return agree(found, [math.log(2) / (4 * math.sqrt(2))] * 3, "exponent over T sqrt(lambda/beta)", 2e-3)


# Minimisers, smoothing, subsamples -----------------------------------------------------------------------------------


@check("user_level/proc-rerm", kind="stability")
def minimiser_moves_by_its_bound(context: Context) -> Verdict:
    """One of N = 6 samples replaced, linear losses far from the edge: argmin moves by at most 2L/(lambda N)."""
    work, N, weight = linear(2, 1, D=100.0), 6, 0.5

    def argmin(data: Array) -> Array:
        return regularised_erm(work, Sample(data, np.ones((1, N))), np.zeros((1, 2)), weight)

    bound = stated("user_level/proc-rerm", L=1.0, lambda_=weight, N=N)
    found = stability.search(
        stability.of_map(argmin, bound), UserRecords(BallRecords(1.0, 2), 1), N, chains=16,
        steps=context.scale(10, 40), seed=context.seed,
    )  # fmt: skip
    # The gap allowed, 1e-10 L R, is a distance of up to sqrt(2e-8/weight) at R = 100.
    return stability.verdict(found, certificate=Certificate(1.0, "strong convexity: 2L/(lambda N)"))


@check("user_level/proc-rerm", kind="risk")
def minimiser_is_the_closed_form(context: Context) -> Verdict:
    """Quadratic losses: argmin = projection of (mean z + lambda centre)/(1 + lambda), to the certified gap."""
    work, trials, weight = quadratic(3, 4), 50, 0.7
    values = work.rows(context.rng("data"), trials, 5)
    centre = 0.5 * context.rng("centre").standard_normal((trials, 3))
    found = regularised_erm(work, Sample(values, np.ones((1, 5))), centre, weight)
    wanted = work.project((values.mean(axis=(1, 2)) + weight * centre) / (1 + weight))
    gap = (1 + weight) / 2 * ((found - wanted) ** 2).sum(axis=1)
    return accuracy.never_violated(
        gap, 1e-10 * top(work), statement="gap <= 1e-10 L R", tolerance=1e-3,
        covers="strong convexity bounds the squared distance to the closed form by the gap",
    )  # fmt: skip


@check("user_level/fact-eq-15@derived", kind="risk", grid={"loss": ("linear", "quadratic"), "weight": (0.2, 2.0)})
def excess_of_the_regularised_minimiser(context: Context, *, loss: str, weight: float) -> Verdict:
    """Mean of F(x_i*) - F* for 4 users of 3 samples from the origin, against 2L^2/(lambda N m) + lambda |x*|^2/2."""
    d, trials = 3, context.scale(400, 2000)
    work = WORKLOADS[loss](d, 3)
    values = work.rows(context.rng("data"), trials, 4)
    point = regularised_erm(work, Sample(values, np.ones((1, 4))), np.zeros((1, d)), weight)
    near = 0.5 if loss == "linear" else 0.125
    bound = stated("user_level/fact-eq-15@derived", L=1.0, lambda_=weight, N=4, m=3, D=near)
    return risk.expectation(
        work.excess_risk(point), bound, context.failure_probability, limit=top(work), x=weight, variable="lambda",
        series=loss,
    )  # fmt: skip


@check("user_level/fact-eq-15@derived", kind="stability")
def shift_of_the_regularised_minimiser(context: Context) -> Verdict:
    """The stability behind (15): a sample of N m = 12 shifts it by 2L/(lambda N m), exactly for opposite samples."""
    work = linear(2, 1, D=100.0)
    data = np.tile([[1.0, 0.0]], (12, 1))[None, :, None]
    other = data.copy()
    other[0, 0] = [-1.0, 0.0]
    ends = [regularised_erm(work, Sample(z, np.ones((1, 12))), np.zeros((1, 2)), 0.5) for z in (data, other)]
    moved, wanted = float(np.linalg.norm(ends[0] - ends[1])), stated("user_level/proc-rerm", L=1.0, lambda_=0.5, N=12)
    return agree([moved], [wanted], "shift", 1e-4)  # the gap that is certified leaves 1e-4 of it open


@check("user_level/proc-randomized-smoothing", kind="accuracy", grid={"d": (1, 2, 10)})
def shifts_follow_their_law(context: Context, *, d: int) -> Verdict:
    """(|y|/r)^d is uniform on [0, 1], so that E|y| = r d/(d + 1): the Kolmogorov distance of many lengths."""
    size, r = context.scale(20_000, 200_000), 0.3
    length = np.linalg.norm(uniform_ball(context.rng(), (size, d), r), axis=1)
    test = stats.kstest((length / r) ** d, "uniform")
    mean = float(length.mean())
    numbers = {
        "mean length": mean,
        "r d/(d + 1)": stated("user_level/proc-randomized-smoothing", r=r, d=d),
        "p-value": test.pvalue,
    }
    said = f"Kolmogorov distance {test.statistic:.3g}, p-value {test.pvalue:.3g}, over {size:,} shifts"
    if test.pvalue < context.failure_probability:
        return differs(said, "sampled", failure_probability=context.failure_probability, numbers=numbers)
    # Dvoretzky, Kiefer and Wolfowitz: the distance of the law itself from the uniform one is below this, certainly.
    far = test.statistic + math.sqrt(-math.log(context.failure_probability / 2) / (2 * size))
    said = f"the law is within {far:.3g} of the uniform one; {said}"
    return holds(said, "sampled", failure_probability=context.failure_probability, numbers={**numbers, "within": far})


@check("user_level/proc-randomized-smoothing", kind="risk", grid={"x": (-0.2, 0.1)})
def shifted_slopes_are_unbiased(context: Context, *, x: float) -> Verdict:
    """f = |x|, d = 1, r = 0.5: the slope at x + y is +1 with probability (x + r)/(2r), whose mean is f_r'(x) = x/r."""
    work, size, r = SignHuber(kappa=0.0), context.scale(20_000, 200_000), 0.5
    slopes = smoothed_gradients(work, np.array([1.0 + x]), np.array([1.0]), uniform_ball(context.rng(), (size, 1), r))
    wins, chance, share = int((slopes > 0).sum()), (x + r) / (2 * r), context.failure_probability / 2
    margin = 0.05
    return combine(
        [
            accuracy.probability(wins, size, chance - margin, share, relation=">=", event="slope +1"),
            accuracy.probability(wins, size, chance + margin, share, relation="<=", event="slope +1"),
        ]
    )


@check("user_level/proc-subsample", kind="privacy", grid={"M": (1, 3, 8)})
def subsampled_laplace_sum(context: Context, *, M: int) -> Verdict:
    """Sum of M of N = 10 users, Laplace noise at epsilon 1: exactly log(1 + (M/N)(e - 1)), which is below A.8's."""
    N, w = 10, M / 10
    plain = lambda x: -abs(x) - math.log(2)  # noqa: E731

    def mixed(x: float) -> float:
        return float(np.logaddexp(math.log1p(-w) if w < 1 else -math.inf, math.log(w) + abs(x) - abs(x - 1))) + plain(x)

    found = exact_epsilon(mixed, plain, breakpoints=(0.0, 1.0))
    sharp, printed = (
        stated(label, K=M, N=N, epsilon=1.0) for label in ("user_level/lem-a8@derived", "user_level/lem-a8")
    )
    if found > printed:
        return differs(f"epsilon {found:.6g} after subsampling, {printed:.6g} stated", "exact")
    return agree([found], [sharp], "epsilon after subsampling", 1e-6)


@check("user_level/proc-subsample", kind="accuracy")
def subsets_are_uniform_and_distinct(context: Context) -> Verdict:
    """Every pair of 5 records equally often among subsets of 2, by chi-square."""
    trials = context.scale(20_000, 100_000)
    seen: list[Array] = []

    def mechanism(rows: Array, rng: Any, count: int) -> Array:
        seen.append(rows[..., 0])
        return rows

    subsampled(mechanism, 2)(np.arange(5.0)[:, None], context.rng(), trials)
    low, high = np.sort(seen[0], axis=1).T.astype(int)
    if (low == high).any():
        return differs("a record was drawn twice", "exact")
    counts = np.bincount(low * 5 + high, minlength=25)
    counts = counts[counts > 0]
    test = stats.chisquare(counts)
    said = f"{len(counts)} of 10 pairs seen, chi-square p-value {test.pvalue:.3g} over {trials:,} subsets"
    fields: dict[str, Any] = {
        "failure_probability": context.failure_probability,
        "numbers": {"p-value": float(test.pvalue)},
    }
    if len(counts) < 10 or test.pvalue < context.failure_probability:
        return differs(said, "sampled", **fields)
    share = context.failure_probability / 20
    return combine(
        accuracy.probability(int(c), trials, bound, share, relation=way, event="a pair")  # type: ignore[arg-type]
        for c in counts
        for bound, way in ((0.08, ">="), (0.12, "<="))
    )
