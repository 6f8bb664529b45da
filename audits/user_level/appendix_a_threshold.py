"""Appendix A: Algorithm 4, the threshold test."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.algorithms.user_level import ThresholdTest
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.executed import as_stated
from dpcheck.engine.statements import explicit_of, stated
from dpcheck.harness import accuracy
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array, Problem
from dpcheck.laws import AboveThreshold
from dpcheck.privacy import PureDP
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Verdict, combine, differs

from .appendix_a import ALG_4
from .cases import linear, plain


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
