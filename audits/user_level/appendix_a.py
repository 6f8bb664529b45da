"""Appendix A.1: tools of differential privacy."""

from __future__ import annotations

import itertools
import math
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck.accounting import advanced_composition, optimal_delta
from dpcheck.algorithms.user_level import ThresholdTest
from dpcheck.algorithms.user_level.subsample import subsampled
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.executed import as_stated
from dpcheck.engine.settings import settings
from dpcheck.engine.statements import explicit_of, stated
from dpcheck.errors import InvalidInput
from dpcheck.harness import accuracy, domain, plans
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import advanced_composition_proved, agree, proved, where_proved
from dpcheck.interfaces import Array, Problem, Rng
from dpcheck.laws import AboveThreshold, Gaussian, Laplace
from dpcheck.privacy import PureDP, gaussian_delta
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Outcome, Verdict, combine, differs, refuted

from .cases import linear, plain
from .lemmas import joint_convexity, place_by_place, sampled_delta, tight_deviation

ALG_4 = {"threshold": "user_level/alg-4@threshold", "query": "user_level/alg-4@query"}
settings_of_alg_4 = settings(
    "user_level/alg-4",
    ALG_4,
    beside={"count": "the queries are handed to it", "level": "the threshold is handed to it"},
)


@check("user_level/alg-4", kind="transcription")
def fields_of_the_queries(context: Context) -> Verdict:
    """At least one query, of a positive sensitivity; others are refused."""
    # unbound: what is refused, which no formula says
    asked = [(f"{count} queries", partial(ThresholdTest, count=count), count >= 1) for count in (0, 1, 2)]
    asked += [(f"sensitivity {s}", partial(ThresholdTest, sensitivity=s), s > 0) for s in (0.0, 0.5, 2.0)]
    if wrong := plans.wrongly_answered(asked):
        return plans.answered(wrong, "")
    plan = ThresholdTest().schedule(Problem.of(plain(1, 1), PureDP(1.0)), 7)
    (read,) = plan.releases[0].reads
    if (read.start, read.stop, read.sensitivity) != (0, 7, 1.0):
        wrong.append(f"all of 7 records are read, and a query of sensitivity 1 is told of, not {read}")
    wrong += [f"{plan.gradients} gradients of no loss"] if plan.gradients else []
    for s in (0.5, 3.0):
        (one,) = ThresholdTest(sensitivity=s).schedule(Problem.of(plain(1, 1), PureDP(0.7)), 7).releases
        spent = one.law.pure(one.reads[0].sensitivity)
        wrong += [] if math.isclose(spent, 0.7) else [f"{spent} is spent for queries of sensitivity {s}"]
    return plans.answered(wrong, f"{len(asked)} fields are as they are to be")


@check("user_level/def-a1", kind="sensitivity", grid={"p": (1.0, 2.0)})
def sensitivity_of_a_mean_of_users(context: Context, *, p: float) -> Verdict:
    """Mean over n users of means over m samples in the unit square: replacing one user moves it by 2^(1/p)/n."""
    n, m = 5, 2
    samples = np.array(list(itertools.product((0.0, 1.0), repeat=2)))
    users = np.array([np.mean(some, axis=0) for some in itertools.product(samples, repeat=m)])
    moves = np.linalg.norm((users[:, None] - users[None]) / n, ord=p, axis=-1)
    return agree([float(moves.max())], [2 ** (1 / p) / n], f"l_{p:g} sensitivity, over all pairs of extreme users")


@check("user_level/def-a2", kind="accuracy", grid={"b": (0.5, 3.0)})
def laplace_density_integrates_to_one(context: Context, *, b: float) -> Verdict:
    """The density of Definition A.2 over both half-lines."""
    half, _ = scipy.integrate.quad(lambda t: stated("user_level/def-a2", t=t, b=b), 0, 50 * b)
    return agree([2 * half], [1.0], "mass", tolerance=1e-8)


@check("user_level/def-a3", kind="privacy", grid={"epsilon": (0.1, 1.0, 10.0)})
def scale_of_the_laplace_mechanism(context: Context, *, epsilon: float) -> Verdict:
    """Scale Delta/epsilon at Delta = 3: its pure epsilon."""
    return agree(
        [Laplace(stated("user_level/def-a3", Delta=3.0, epsilon=epsilon)).pure(3.0)], [epsilon], "pure epsilon"
    )


@check("user_level/lem-a4", kind="privacy", grid={"epsilon": (0.1, 1.0, 10.0)})
def log_ratio_of_two_laplace_laws(context: Context, *, epsilon: float) -> Verdict:
    """The log-density ratio of the worst pair: epsilon beyond both centres, never more by the triangle inequality."""
    x = np.linspace(-60, 60, 4001) / epsilon
    scale = stated("user_level/def-a3", Delta=1.0, epsilon=epsilon)
    ratio = scipy.stats.laplace.logpdf(x, 0, scale) - scipy.stats.laplace.logpdf(x, 1, scale)
    # The ratio is piecewise linear in x and constant beyond the centres 0 and 1.
    return agree([float(np.abs(ratio).max())], [stated("user_level/lem-a4", epsilon=epsilon)], "largest |log-ratio|")


@check("user_level/lem-a4@derived", kind="privacy", grid={"epsilon": (0.5, 2.0)})
def laplace_curve_by_quadrature(context: Context, *, epsilon: float) -> Verdict:
    """The hockey-stick divergence of the worst pair by quadrature against 1 - exp((t - epsilon)/2)."""
    scale = 1 / epsilon
    budgets = [share * epsilon for share in (0.0, 0.3, 0.7, 0.95)]

    def excess(x: float, budget: float) -> float:
        p, q = scipy.stats.laplace.pdf(x, 0, scale), scipy.stats.laplace.pdf(x, 1, scale)
        return float(max(0.0, p - math.exp(budget) * q))

    divergences = []
    for budget in budgets:
        turn = (1 - budget / epsilon) / 2  # where the ratio is e^budget
        divergences.append(
            sum(scipy.integrate.quad(excess, *ends, args=(budget,))[0] for ends in ((-80 * scale, 0), (0, turn)))
        )
    wanted = [stated("user_level/lem-a4@derived", t=budget, epsilon=epsilon) for budget in budgets]
    return agree(divergences, wanted, "delta", tolerance=1e-7)


@check("user_level/def-a5", kind="privacy", grid={"epsilon": (0.1, 1.0)})
def gaussian_mechanism_in_one_number(context: Context, *, epsilon: float) -> Verdict:
    """sigma of Definition A.5 at Delta = 2: mu = epsilon/sqrt(2 log(2/delta))."""
    sigma = math.sqrt(stated("user_level/def-a5", Delta=2.0, epsilon=epsilon, delta=1e-6))
    return agree([Gaussian(sigma).mu(2.0)], [epsilon / math.sqrt(2 * math.log(2e6))], "mu")


def gaussian_share(epsilon: float, delta: float, reading: str = "") -> float:
    """Exact delta(epsilon) of the noise of Definition A.5, over what Lemma A.6 allows."""
    deviation = math.sqrt(stated("user_level/def-a5", Delta=1.0, epsilon=epsilon, delta=delta))
    return gaussian_delta(1 / deviation, epsilon) / stated(f"user_level/lem-a6{reading}", epsilon=epsilon, delta=delta)


@check("user_level/lem-a6@literal", kind="privacy", grid={"delta": ("1/100", "1/10000")}, expect="refuted")
def gaussian_mechanism_at_epsilon_ten(context: Context, *, delta: str) -> Verdict:
    """The exact curve at epsilon = 10; the numbers hold the first epsilon that is violated."""
    chance = 1 / int(delta[2:])
    for reading in ("", "@corrected"):
        with suppress(InvalidInput):
            stated(f"user_level/lem-a6{reading}", epsilon=10.0, delta=chance)
            return differs(f"lem-a6{reading} speaks of epsilon = 10 as well, where it fails")
    allowed = stated("user_level/lem-a6@literal", delta=chance)
    value = gaussian_share(10.0, chance, "@literal") * allowed
    if not gaussian_share(5.0, chance, "@literal") <= 1 < gaussian_share(10.0, chance, "@literal"):
        return differs(f"the claim's {allowed:.4g} is not between delta(5) and delta(10) = {value:.4g}")
    first = float(scipy.optimize.brentq(lambda e: gaussian_share(e, chance, "@literal") - 1, 5.0, 10.0))
    return accuracy.never_violated(
        value,
        allowed,
        statement=f"delta(10) <= {delta} (violated from epsilon = {first:.4g} on)",
        witness=lambda _: witnessed("user_level/lem-a6@literal", "lem_a6", allowed, value, epsilon=10, delta=delta),
    )


@check("user_level/lem-a6@corrected", kind="privacy")
def gaussian_mechanism_where_the_paper_uses_it(context: Context) -> Verdict:
    """The exact curve on a grid of epsilon <= 5/2 and delta from 1e-15 to 1/2, and Mills' ratio at all others."""
    count = context.scale(20, 120)
    grid = itertools.product(np.linspace(0.01, 2.5, count), np.geomspace(1e-15, 0.5, count))
    values = [gaussian_share(float(e), float(dl), "@corrected") for e, dl in grid]
    return _on_a_grid_and_between(values, _gaussian_tail("user_level/lem-a6@corrected", *WHERE_USED))


def _on_a_grid_and_between(values: list[float], proof: Verdict) -> Verdict:
    covers = where_proved(proof, "a grid; Mills' ratio proves it between")
    said = "delta(epsilon)/delta <= 1"
    return accuracy.never_violated(values, 1.0, statement=said, drawn=False, covers=covers, evidence="certificate")


WHERE_USED = sp.Rational(5, 2), sp.Rational(1, 2), sp.Rational(497, 300)
UP_TO_ONE = sp.Integer(1), sp.Integer(1), sp.Rational(7, 6)
"""The largest epsilon and delta, and a number below sqrt(2 log(2/delta)) there."""


def _gaussian_tail(label: str, epsilon: sp.Rational, delta: sp.Rational, least: sp.Rational) -> Verdict:
    """Mills' ratio at t = c - e/(2c): P(N > t) <= exp(-t^2/2)/(t sqrt(2 pi)), with e <= epsilon and c >= least."""
    u, v = sp.symbols("u v", nonnegative=True)
    c, e = least + u, epsilon / (1 + v)
    t, low = c - e / (2 * c), least - epsilon / (2 * least)
    names = {s.name: s for s in explicit_of("user_level/def-a5").free_symbols}
    scale = explicit_of("user_level/def-a5") * names["epsilon"] ** 2 / names["Delta"] ** 2  # c^2
    # exp(-c^2/2) = delta/2, and exp(e/2 - e^2/(8 c^2)) <= exp(epsilon/2).
    share = sp.exp(epsilon / 2) / (2 * low * sp.sqrt(2 * sp.pi))
    return proved(
        {"exp(-c^2/2)": scale / 2 - sp.log(2 / names["delta"])},
        {
            "exponent": sp.expand(t**2 / 2 - (c**2 / 2 - e / 2)),
            "c at the largest delta": 2 * sp.log(2 / delta) - least**2,
            "t over its least value": sp.factor(t - low),
            "which is positive": low,
            "P(N > t) <= delta": explicit_of(label) / names["delta"] - share,
        },
    )


@check("user_level/lem-a6@corrected", kind="symbolic")
def tail_where_the_paper_uses_it(context: Context) -> Verdict:
    """The same for all epsilon <= 5/2 and delta <= 1/2."""
    return _gaussian_tail("user_level/lem-a6@corrected", *WHERE_USED)


@check("user_level/lem-a6", kind="privacy")
def gaussian_mechanism_up_to_epsilon_one(context: Context) -> Verdict:
    """The exact curve on a grid of epsilon <= 1 and delta from 1e-15 to 1/2, and Mills' ratio at all others."""
    count = context.scale(20, 120)
    grid = itertools.product(np.linspace(0.01, 1, count), np.geomspace(1e-15, 0.5, count))
    values = [gaussian_share(float(e), float(dl)) for e, dl in grid]
    return _on_a_grid_and_between(values, _gaussian_tail("user_level/lem-a6", *UP_TO_ONE))


@check("user_level/lem-a6", kind="symbolic")
def tail_of_the_gaussian_mechanism(context: Context) -> Verdict:
    """delta(epsilon) <= P(N > c - epsilon/(2c)) <= delta at c = sqrt(2 log(2/delta)), all epsilon <= 1, delta < 1."""
    return _gaussian_tail("user_level/lem-a6", *UP_TO_ONE)


@check("user_level/lem-a7", kind="symbolic")
def advanced_composition_by_azuma(context: Context) -> Verdict:
    """Losses of T steps exceed T eps(e^eps - 1) by more than the root with probability delta' at most."""
    total = explicit_of("user_level/lem-a7")
    names = {s.name: s for s in total.free_symbols}
    return advanced_composition_proved(total, names["T"], names["epsilon"], names["delta_prime"])


@check("user_level/lem-a7", kind="privacy")
def advanced_composition_is_above_the_optimal_one(context: Context) -> Verdict:
    """The exact delta of T-fold composition at the stated epsilon is at most T delta + delta'."""
    left, right = [], []
    sizes = (1, 10, 100, context.scale(300, 3000))
    for e, T, slack, dl in itertools.product((0.01, 0.1, 0.5, 1.0), sizes, (1e-2, 1e-5), (0.0, 1e-7)):
        total, spent = advanced_composition(e, dl, T, slack)
        if not math.isclose(total, stated("user_level/lem-a7", T=T, epsilon=e, delta_prime=slack), rel_tol=1e-12):
            return refuted(f"the library and the claim differ at epsilon = {e}, T = {T}", "exact")
        left.append(optimal_delta(e, dl, T, total))
        right.append(spent)
    covers = "the optimal composition dominates every (epsilon, delta)-DP sequence; for each point of the grid"
    return accuracy.never_violated(left, right, statement="exact delta <= T delta + delta'", covers=covers)


@check("user_level/lem-a8@derived", kind="privacy")
def sharp_amplification_is_attained(context: Context) -> Verdict:
    """Gaussian noise on a sum over M of N distinct users meets epsilon', delta M/N of the sharp form with equality."""
    values, wanted = [], []
    for e, dl, share in itertools.product((0.1, 0.5, 1.0, 3.0), (1e-2, 1e-6), (0.01, 0.1, 0.5, 0.9)):
        weights = np.array([1 - share, share])
        budget = stated("user_level/lem-a8@derived", epsilon=e, K=share, N=1.0)
        values.append(sampled_delta(weights, tight_deviation(e, dl), budget))
        wanted.append(dl * share)
    return agree(values, wanted, "delta after subsampling", tolerance=1e-5)


DRAWS = {"M = N = 100": (100, 100), "M = 50, N = 100": (50, 100), "M = N = 1000": (1000, 1000)}


def with_replacement(M: int, N: int) -> float:
    """Exact delta at the printed epsilon' when M of N users are drawn with replacement; base (1/2, 1e-6)."""
    weights = scipy.stats.binom.pmf(np.arange(min(M, 60) + 1), M, 1 / N)
    return sampled_delta(weights, tight_deviation(0.5, 1e-6), math.expm1(0.5) * M / N)


@check("user_level/lem-a8@literal", kind="privacy", grid={"draws": tuple(DRAWS)}, expect="refuted")
def amplification_with_replacement(context: Context, *, draws: str) -> Verdict:
    """A user may be drawn more than once: the exact mixture at the printed epsilon', base mechanism (1/2, 1e-6)."""
    M, N = DRAWS[draws]
    allowed, value = stated("user_level/lem-a8@literal", delta=1e-6, K=M, N=N), with_replacement(M, N)
    return accuracy.never_violated(
        value,
        allowed,
        statement="delta after subsampling <= delta M/N",
        witness=lambda _: witnessed(
            "user_level/lem-a8@literal", "lem_a8", allowed, value, N=N, M=M, epsilon="1/2", delta="1/1000000"
        ),
    )


@check("user_level/lem-a8@corrected", kind="privacy")
def amplification_with_replacement_and_its_factor(context: Context) -> Verdict:
    """The same mixtures, and M/N = 1/10 and 2, against e^epsilon' delta M/N; every other mechanism, M, N and epsilon by
    the sharp lemma for one place at a time, and M steps of it.
    """
    pairs = [*DRAWS.values(), (10, 100), (200, 100)]
    exact = [with_replacement(M, N) for M, N in pairs]
    wanted = [stated("user_level/lem-a8@corrected", epsilon=0.5, delta=1e-6, K=M, N=N) for M, N in pairs]
    proof = place_by_place()
    kept = accuracy.never_violated(
        exact, wanted, statement="delta after subsampling <= e^epsilon' delta M/N", drawn=False, evidence="certificate",
        covers=where_proved(proof, "five mixtures; places changed one by one prove it for all others"),
    )  # fmt: skip
    return kept if proof.outcome is Outcome.HOLDS else proof


@check("user_level/proc-subsample", kind="privacy", grid={"M": (1, 3, 8)})
def subsampled_laplace_sum(context: Context, *, M: int) -> Verdict:
    """Sum of M of N = 10 users, Laplace noise at epsilon 1: exactly log(1 + (M/N)(e - 1)), which is below A.8's."""
    N, w = 10, M / 10
    plain = lambda x: -abs(x) - math.log(2)  # noqa: E731

    def mixed(x: float) -> float:
        return float(np.logaddexp(math.log1p(-w) if w < 1 else -math.inf, math.log(w) + abs(x) - abs(x - 1))) + plain(x)

    value = exact_epsilon(mixed, plain, breakpoints=(0.0, 1.0))
    sharp, printed = (
        stated(label, K=M, N=N, epsilon=1.0) for label in ("user_level/lem-a8@derived", "user_level/lem-a8")
    )
    if value > printed:
        return differs(f"epsilon {value:.6g} after subsampling, {printed:.6g} stated", "exact")
    return agree([value], [sharp], "epsilon after subsampling", 1e-6)


def _subset(size: int, again: bool, rng: Rng) -> Array:
    return subsampled(lambda rows, *_: rows, size, replacement=again)(np.zeros((5, 1)), rng, 3)


@check("user_level/proc-subsample", kind="transcription")
def sizes_of_subsets(context: Context) -> Verdict:
    """A subset has one record at least, and as many as there are at most, unless they are drawn with replacement."""
    # unbound: what is refused, which no formula says
    asked = [
        (
            f"{size} of 5, again {again}",
            partial(_subset, size, again, context.rng()),
            size >= 1 and (again or size <= 5),
        )
        for size, again in itertools.product((0, 1, 5, 6), (False, True))
    ]
    return plans.answered(plans.wrongly_answered(asked), "subsets of 5 records are drawn and refused as they should be")


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
    test = scipy.stats.chisquare(counts)
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


@check("user_level/lem-a8", kind="symbolic")
def printed_amplification_is_above_the_sharp_one(context: Context) -> Verdict:
    """log(1 + x) <= x at x = (e^epsilon - 1) M/N, up to e^10."""
    x = sp.Symbol("x", positive=True)
    printed, sharp = explicit_of("user_level/lem-a8"), explicit_of("user_level/lem-a8@derived")
    room = domain.never_positive(sp.log(1 + x) - x, {"x": (0, 22026)}, statement="log(1 + x) <= x")
    return combine([proved({"the sharp form is log(1 + x)": sp.simplify(sp.exp(sharp) - 1 - printed)}), room])


@check("user_level/lem-a8", kind="privacy")
def amplification_of_gaussian_noise(context: Context) -> Verdict:
    """Exact delta of Gaussian noise on a sum over M of N distinct users, at both forms of epsilon'; every other
    mechanism by joint convexity.
    """
    left, right = [], []
    for e, dl, share in itertools.product((0.1, 0.5, 1.0, 3.0), (1e-2, 1e-6), (0.01, 0.1, 0.5, 0.9)):
        deviation, weights = tight_deviation(e, dl), np.array([1 - share, share])
        for label in ("user_level/lem-a8", "user_level/lem-a8@derived"):
            left.append(sampled_delta(weights, deviation, stated(label, epsilon=e, K=share, N=1.0)))
            right.append(dl * share)
    return accuracy.never_violated(
        left, right, statement="delta after subsampling <= delta M/N", drawn=False, evidence="certificate",
        covers=where_proved(joint_convexity(), "a grid; joint convexity proves it for every mechanism and share"),
    )  # fmt: skip


def _patterns(T: int) -> Array:
    """All changes of T queries by -1, 0 or 1."""
    return np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=T)))


@check("user_level/alg-4", kind="privacy", grid={"level": (-3.0, 0.0, 3.0), "epsilon": (0.5, 2.0)})
def threshold_test_over_all_patterns(context: Context, *, level: float, epsilon: float) -> Verdict:
    """Exact law of the halting time for T = 4 queries, all 81 changes by at most 1, against epsilon."""
    algorithm = ThresholdTest(level=level, count=4)
    law = algorithm.schedule(replace(plain(1, 1), privacy=PureDP(epsilon)), 4).releases[0].law
    assert isinstance(law, AboveThreshold)
    before = law.halting(np.zeros((1, 4)) - level)
    after = law.halting(_patterns(4) - level)
    worst = float(np.abs(np.log(after) - np.log(before)).max())
    claimed = stated("user_level/alg-4", epsilon=epsilon)
    verdict = accuracy.never_violated(
        worst, claimed, statement="log-ratio of the halting time <= epsilon",
        evidence="certificate", covers="1/threshold + 2/query is epsilon for any number of queries",
    )  # fmt: skip
    verdict = combine([verdict, agree([law.pure(1.0, 4)], [claimed], "1/threshold + 2/query")])
    return replace(verdict, numbers={**verdict.numbers, "worst of these patterns": worst})


@check("user_level/alg-4", kind="accuracy", grid={"above": ("all", "none", "the last")})
def answers_of_the_threshold_test(context: Context, *, above: str) -> Verdict:
    """Queries alpha above or below the level: with probability 1 - gamma 0 before the first above, 1 of it, no more."""
    # unbound: held against lem-a9, which says how accurate the answers are
    T, gamma, epsilon, trials = 5, 0.1, 1.0, context.scale(4000, 40_000)
    alpha = stated("user_level/lem-a9", T=T, gamma=gamma, epsilon=epsilon)
    n = math.ceil(2 * alpha)
    high = {"all": np.ones(T), "none": np.zeros(T), "the last": np.eye(T)[-1]}[above]
    algorithm, told = ThresholdTest(level=alpha, count=T), Problem.of(plain(1, 1), PureDP(epsilon))
    run: Run[Any] = Run(algorithm.schedule(told, n), trials, context.rng())
    bits = algorithm.execute(run, linear(1, 1), Fixed(np.tile(high, (1, n, 1))), np.zeros((1, 1)))
    wanted = np.where(np.cumsum(high) > 1, np.nan, high)
    right = np.isclose(np.broadcast_to(bits, (trials, T)), wanted, equal_nan=True).all(axis=1)
    return accuracy.probability(
        int(right.sum()), trials, 1 - gamma, context.failure_probability, event=f"all answers right, {above} above"
    )


@check("user_level/alg-4", kind="accuracy", grid={"sensitivity": (1.0, 1.5)})
def lines_of_algorithm_4(context: Context, *, sensitivity: float) -> Verdict:
    """Bits and queries replayed: entries are cut to [0, 1] and added up, one coin for all, the first 1 ends it; under
    the stated noise, of which queries that a user moves by up to 3/2 get 3/2 as much.
    """
    n, T, trials = 3, 6, 200
    algorithm = ThresholdTest(level=2.0, count=T, sensitivity=sensitivity)
    told, data = Problem.of(plain(1, 1), PureDP(2.0)), context.rng("data").uniform(-0.5, 1.5, size=(trials, n, T))
    run: Run[Any] = Run(algorithm.schedule(told, n), trials, context.rng("run"))
    bits = algorithm.execute(run, linear(1, 1), Fixed(data), np.zeros((1, 1)))
    law, (row,) = run.find("bit").law, as_stated(replace(algorithm, sensitivity=1.0), told, n, ALG_4).phases
    scales = np.array([law.threshold, law.query]) / sensitivity  # type: ignore[attr-defined]
    if not np.allclose(scales, (row.threshold, row.query), rtol=1e-12):
        return differs(f"the law of the bits is {law}, the settings are {row}")
    if len(run.transcript.coins) != 1:
        return differs(f"{len(run.transcript.coins)} coins are tossed for the threshold, which has one")
    (coin,), live = run.transcript.coins, np.ones(trials, dtype=bool)
    left, right = [], []
    for t, entry in enumerate(run.transcript.entries):
        query = np.minimum(np.maximum(data[:, :, t], 0.0), 1.0).sum(axis=1) - algorithm.level - coin[:, 0]
        wanted = np.where(live, np.nan_to_num(entry.output[:, 0], nan=-2.0), -1.0)  # a live trial is answered
        left += [entry.core[live, 0], np.nan_to_num(bits[:, t], nan=-1.0)]
        right += [query[live], wanted]
        live &= wanted != 1.0
    if len(run.transcript.entries) != T or live.all() or not live.any():
        return differs(f"{len(run.transcript.entries)} queries, {int(live.sum())} of {trials} without an answer 1")
    return agree(np.concatenate(left) + 9, np.concatenate(right) + 9, "nine plus queries and bits", tolerance=1e-12)


@check("user_level/lem-a9", kind="accuracy", grid={"T": by_size((5, 40), (5, 40, 200))})
def threshold_test_is_accurate(context: Context, *, T: int) -> Verdict:
    """Queries alpha below and alpha above the threshold, the worst allowed: exact error probability against gamma."""
    gamma, law, left = 0.05, AboveThreshold(2.0, 4.0), []
    alpha = stated("user_level/lem-a9", T=T, gamma=gamma, epsilon=1.0)
    for above in range(T):
        margins = np.full((1, above + 1), -alpha)
        margins[0, above] = alpha
        halts = law.halting(margins)[0]
        left.append(1 - float(halts[above]))  # right is: no answer before, a halt at the first query above
    margins = np.full((1, T), -alpha)
    left.append(1 - float(law.halting(margins)[0][-1]))
    covers = f"queries further from the threshold err less; the first query above may be any of the {T}, or none"
    return accuracy.never_violated(left, gamma, statement="P(a wrong answer) <= gamma", covers=covers)


@check("user_level/lem-a9", kind="privacy", grid={"T": (1, 5, 20)})
def threshold_test_is_private(context: Context, *, T: int) -> Verdict:
    """Log-ratios of the halting time between neighbours, queries moving by 1 either way, epsilon = 1."""
    rng, law = context.rng(), AboveThreshold(2.0, 4.0)
    base = rng.normal(scale=4, size=(context.scale(20, 200), T))
    base[0] = 0.0
    moves = np.where(rng.random(base.shape) < 0.5, -1.0, 1.0)
    moves[0] = np.append(np.ones(T - 1), -1.0)
    one, two = law.halting(base), law.halting(base + moves)
    return accuracy.never_violated(
        np.abs(np.log(one) - np.log(two)).max(axis=1),
        law.pure(1.0),
        statement="|log-ratio of the halting time| <= epsilon",
        covers="moving the threshold's noise by 1 and that of the query that halts by 2 costs 1/2 + 2/4",
        evidence="certificate",
    )


@check("user_level/lem-a9@derived", kind="symbolic")
def failure_probability_of_the_threshold_test(context: Context) -> Verdict:
    """exp(-alpha eps/4) + T exp(-alpha eps/8) at the printed alpha is gamma/2 + (gamma/(2T))^2, and at most gamma."""
    T, gamma, e, u = sp.symbols("T gamma epsilon u", positive=True)
    ratio = sp.log(2 * T / gamma)
    tails = sp.exp(-2 * ratio) + T * sp.exp(-ratio)
    named = {"T": T, "gamma": gamma, "epsilon": e}
    said, alpha = (
        form.subs({s: named[s.name] for s in form.free_symbols})
        for form in map(explicit_of, ("user_level/lem-a9@derived", "user_level/lem-a9"))
    )
    # gamma = 1/(1 + u) and T >= 1: gamma - gamma/2 - gamma^2/(4 T^2) >= gamma/2 - gamma^2/4.
    room = (1 / (1 + u)) / 2 - (1 / (1 + u)) ** 2 / 4
    return proved(
        {"tails": tails - said, "alpha eps/8": alpha * e / 8 - ratio}, {"gamma - failure at T = 1": sp.together(room)}
    )
