"""Which plans are made, refused and promised, beside conditions that are typed here; and what a plan certifies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from dpcheck.algorithms.user_level import GroupPrivacy, MinibatchSGD, PhasedERM, PhasedSGD, SmoothedERM, StronglyConvex
from dpcheck.algorithms.user_level.concentration import certified_movement
from dpcheck.algorithms.user_level.minibatch import PRINTED
from dpcheck.algorithms.user_level.sampled import TestedMean
from dpcheck.algorithms.user_level.threshold import RedrawnThreshold
from dpcheck.checks import Context
from dpcheck.engine.statements import stated
from dpcheck.errors import Infeasible
from dpcheck.harness.plans import Asked, answered, planned, run_of, wrong_promises, wrong_sizes, wrongly_answered
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Array, Problem
from dpcheck.privacy import ApproxDP, pure_to_zcdp
from dpcheck.verdicts import Verdict, combine, differs

from .cases import difference_of_laplace, linear, plain, problem

Fields = Mapping[str, Any]
SMALL = tuple(range(2, 40))
"""Users at which plans of few users are asked for."""


def dials(make: Callable[..., Any], names: Iterable[str], **others: Any) -> list[Asked]:
    """Positive numbers only."""
    return [
        (f"{name} = {value}", partial(make, **{**others, name: value}), value > 0)
        for name in names
        for value in (0.0, 0.5, 2.0)
    ]


def below_print(make: Callable[..., Any], printed: Fields) -> tuple[list[Callable[[], Any]], list[bool]]:
    """Each constant a little below what is printed, which promises nothing, and a little above."""
    makes, legal = [make], [True]
    for name, value in printed.items():
        makes += [partial(make, **{name: 0.99 * value}), partial(make, **{name: 1.01 * value})]
        legal += [False, True]
    return makes, legal


def logarithm(told: Problem, product: float) -> float:
    """log(product e^epsilon/delta)."""
    promise = told.privacy
    assert isinstance(promise, ApproxDP)
    return math.log(product * math.exp(promise.epsilon) / promise.delta)


def last_phase(n: int) -> float:
    """Users of the last of floor(log2 n) phases, at the q that makes it largest."""
    logs = math.log2(n)
    q = math.log2(1 + 1 / logs)
    return (1 - 2**-q) * n / 2 ** (q * math.floor(logs))


FEW = partial(PhasedSGD, c_groups=0.1, c_radius=1.0, c_score=0.05)
"""Algorithm 1 in so few groups that few users do."""


def phased(n: int, told: Problem) -> Verdict:
    """Algorithm 1: its fields, its promise at n users, and runs."""
    kind, work = PhasedSGD, linear(2, 3)
    constants = {"c_groups": 100.0, "c_radius": 1000.0, "c_noise": 100.0, "c_score": 20.0}
    asked = dials(kind, (*constants, "p", "q", "eta", "c_step", "groups", "phases"))
    asked += [(f"order = {order}", partial(kind, order=order), order != "sorted") for order in ("sorted", "fixed")]
    asked += [(f"a run of {size}", run_of(FEW, work, problem(work), size), True) for size in (60, 64, 200)]
    makes, legal = below_print(kind, constants)
    groups = math.ceil(100 * logarithm(told, 20 * n * told.samples_per_user))
    makes += [partial(kind, groups=groups), partial(kind, groups=groups - 1)]
    wrong = [*wrongly_answered(asked), *wrong_promises(makes, told, n, [*legal, True, False])]
    return answered(wrong, f"{len(asked)} fields and runs, and {len(makes)} promises, are as they are to be")


def sizes_of_phases() -> Verdict:
    """From how many users on every group of the last phase has one, and steps are as short as smooth losses ask for."""
    wrong: list[str] = []

    def fits(size: int, steep: float, m: int, eta: float | None = None) -> bool:
        if size < 2:
            return False
        groups = max(2, math.ceil(0.1 * logarithm(plain(2, m), 20 * size * m)))
        step = eta or 1 / math.sqrt(2 * size * m)
        return last_phase(size) / groups >= 1 and steep * step / m ** (math.log(2) / math.log(size)) / 2**1.5 <= 1

    few = (0, 1, 2, 3, 7, 15, 16, 20, 31, 32, 40, 45, 64, 100, 300)
    for steep, m, eta, sizes in (
        (0.0, 3, None, few), (30.0, 3, None, few), (70.0, 1, None, few), (2.8, 1, 1.0, few), (2.9, 1, 1.0, (64, 100)),
    ):  # fmt: skip
        here, make = plain(2, m, smooth=steep), replace(FEW(), eta=eta)
        wrong += wrong_sizes(make, here, sizes, partial(fits, steep=steep, m=m, eta=eta))
    wrong += _edges_of_octaves()
    return answered(wrong, "users are enough, and steps short enough, where they are to be")


def _edges_of_octaves() -> list[str]:
    """One phase has a user for each group from a size on that lies on either side of a power of two, is far away, or
    beyond 2^62, where no size is named.
    """
    wrong = []
    for least in (7, 8, 9, 63, 64, 65, 2**40 - 1, 2**40, 2**40 + 1):
        groups = least // 5
        share = groups / (least - 0.5)  # (1 - x)x of the users at x = 2^-q
        q = -math.log2((1 + math.sqrt(1 - 4 * share)) / 2)
        one = FEW(groups=groups, phases=1, q=q)
        for n in (2, least - 1):
            try:
                one.schedule(plain(2, 3, smooth=0.0), n)
            except Infeasible as error:
                wrong += [] if error.smallest_n == least else [f"{error.smallest_n} users are named for {least}"]
            except Exception as error:  # of any kind: it is what the plan ends with
                wrong.append(f"n = {n} fails: {type(error).__name__}: {error}")
            else:
                wrong.append(f"n = {n} is planned, where {least} users are needed")
    try:
        FEW(groups=2**61, phases=1, q=1.0).schedule(plain(2, 3), 2)
    except Infeasible as error:
        wrong += [] if error.smallest_n is None else [f"{error.smallest_n} users are named, beyond 2^62"]
    return wrong


NAMES = tuple(PRINTED)


def accelerated(kind: type[MinibatchSGD] | type[PhasedERM], told: Problem, n: int, **own: Any) -> Verdict:
    """Algorithm 2 or 3: fields, promises at n users, and the users from which on it runs."""
    work, single = linear(2, 3), kind is MinibatchSGD
    asked = dials(kind, (*NAMES, "c_steps", *own))
    inside = {"amplified": "steps", "threshold": "inside"}
    asked += [
        (f"{fields}", partial(kind, **fields), good)
        for fields, good in (
            ({"sampling": "with-replacement"}, True), ({"sampling": "never"}, False),
            ({"threshold": "inside"}, True), ({"threshold": "never"}, False), ({"amplified": "never"}, False),
            ({"amplified": "steps"}, False), (inside, True), (inside | {"sampling": "with-replacement"}, False),
        )
    ]  # fmt: skip
    few = partial(kind, c_batch=0.05, c_users=0.02, c_noise=0.1, c_score=0.01, c_steps=0.3)
    asked += [
        (f"a run of {fields}", run_of(partial(few, **fields), work, problem(work), 90), True)
        for fields in (
            {},
            {"c_batch": 500.0},
            inside | {"c_users": 1e-5, "c_batch": 1e-3},
            {"sampling": "with-replacement"},
        )
    ]
    wrong = wrongly_answered(asked)
    if not wrong:
        makes, legal = below_print(kind, PRINTED)
        if single:
            makes += [partial(kind, K=10), partial(kind, tau_=5.0), partial(kind, steps=5), partial(kind, weight=0.5)]
            legal += [False, False, True, True]
        wrong = wrong_promises(makes, told, n, legal)
        wrong += _promised_where_steps_are_covered(partial(kind, **inside, c_users=100.0), n)
    if not wrong:
        wrong += _wrong_theorems(few, told, n)
        wrong += _sizes(few(), single)
        wrong += [] if single else _sizes_of_sampled_phases(partial(few, **inside))
        (*_, row) = (
            few(**inside, c_batch=1e9, **({} if single else {"c_users": 1e-5})).schedule(problem(work), 91).phases
        )
        wrong += [] if row.batch == row.users // 2 * 2 else [f"{row.batch} of {row.users} users at most in a step"]
    return answered(wrong, f"{len(asked)} fields and runs, promises and sizes are as they are to be")


def _wrong_theorems(make: Callable[..., Any], told: Problem, n: int) -> list[str]:
    """Readings that name others than the theorem, and what is false of the lines as they stand, as who promises."""
    wrong = []
    literal, replaced = ("user_level/alg-2@literal",), ("user_level/alg-2@replacement",)
    for threshold, sampling in itertools.product(("once", "inside"), ("without-replacement", "with-replacement")):
        false = literal * (threshold == "inside") + replaced * (sampling == "with-replacement")
        found = make(threshold=threshold, sampling=sampling).schedule(told, n).claimed_by
        wrong += [] if found == ("user_level/thm-3-1", *false) else [f"{found} is named for {threshold} and {sampling}"]
    sampled = make(amplified="steps", threshold="inside", c_users=1e-5).schedule(told, n).claimed_by
    return wrong + ([] if sampled == ("user_level/thm-3-1@sampled",) else [f"{sampled} is named for sampled steps"])


def _promised_where_steps_are_covered(make: Callable[[], Any], n: int) -> list[str]:
    """epsilon up to 2/3 log(2/delta), on both sides of it, at a delta that is no promise worth having."""
    wrong, delta = [], 0.4
    edge = 2 / 3 * math.log(2 / delta)
    for epsilon in (0.9 * edge, 0.999 * edge, 1.001 * edge, 1.2 * edge):
        wrong += wrong_promises([make], plain(2, 3, epsilon, delta), 10**6 * n, [epsilon <= edge])
    return wrong


def _sizes(algorithm: Any, single: bool) -> list[str]:
    """All users, or those of the last phase, are as many as the privacy proof asks for."""
    wrong = []
    for epsilon, d in ((0.5, 3), (5.0, 1)):
        told = plain(d, 2, epsilon)

        def fits(n: int) -> bool:
            if n < 2:
                return False
            needed = max(2.0, 0.02 * logarithm(told, 20 * n * 2 * d) / epsilon)  # noqa: B023
            return (n if single else last_phase(n)) >= needed

        wrong += wrong_sizes(algorithm, told, (0, 1, *SMALL), fits)
    return wrong


def _sizes_of_sampled_phases(make: Callable[..., Any]) -> list[str]:
    """Every phase has the users that make its tests sure: the first decides where losses are steep, else the last."""
    wrong = []
    for smooth, share in ((1e6, 2.5e-5), (3.0, 4e-4)):
        told, chosen = plain(2, 2, smooth=smooth), make(c_users=100 * share)
        sizes = range(40, 200, 3)
        fitting = [
            all(
                row.users >= share * 320 / 3 * math.sqrt(row.steps * math.log(2e6)) * math.log(8e6 * row.steps)
                for row in chosen.rows(told, n)
            )
            for n in sizes
        ]
        wrong += [] if any(fitting) and not all(fitting) else [f"{sum(fitting)} of {len(fitting)} sizes fit"]
        wrong += [
            f"n = {n} is {'refused' if fits else 'planned'}"
            for n, fits in zip(sizes, fitting, strict=True)
            if planned(chosen, told, n) != fits
        ]
    return wrong


def smoothed() -> Verdict:
    """Algorithm 3 on smoothed losses: radii that are positive, and no larger than the domain."""
    kind, work, n = SmoothedERM, linear(2, 3), 90
    few = partial(kind, c_batch=0.05, c_users=0.02, c_noise=0.1, c_score=0.01, c_steps=0.05)
    told = problem(work)
    asked = dials(kind, ("r", "p", "q", "distance"))
    asked += [(f"r = {r}", lambda r=r: few(r=r).schedule(told, n), r <= 1) for r in (0.3, 1.0, 1.1)]
    asked += [
        (f"r = {r} on a radius of 2", lambda r=r: few(r=r, distance=2.0).schedule(told, n), r <= 2) for r in (1.1, 2.1)
    ]
    asked += [(f"a run at r = {r}", run_of(partial(few, r=r), work, told, n), True) for r in (0.2, None)]
    return answered(wrongly_answered(asked), f"{len(asked)} radii and runs are as they are to be")


def rounds(inner: PhasedERM) -> Verdict:
    """Restarts: the first of the rounds, on n/(2 log2 n) users, runs; the modulus is given, or twice a growth of power
    two.
    """
    told, n = plain(2, 3), 4000
    make = partial(StronglyConvex, inner=inner)
    grown = {
        power: replace(told, constants=replace(told.constants, growth=(power, 0.25) if power else None))
        for power in (0.0, 1.5, 2.0)
    }
    asked = [(f"mu = {mu}", partial(make, mu=mu), mu > 0) for mu in (0.0, 0.5, 2.0)]
    asked += [
        (f"a growth of power {power}", lambda at=at: make().schedule(at, n), power == 2) for power, at in grown.items()
    ]
    work = linear(2, 3)
    asked += [("a run", run_of(partial(make, mu=0.5), work, problem(work), 600), True)]
    wrong = wrongly_answered(asked)
    if wrong:
        return answered(wrong, "")
    if make().modulus(grown[2.0]) != 0.5 or make(mu=0.3).modulus(told) != 0.3:
        wrong.append("a modulus is neither what is given nor twice the growth")

    def fits(size: int) -> bool:
        first = math.floor(size / (2 * math.log2(size))) if size >= 4 else 0
        needed = max(2.0, inner.c_users * logarithm(told, 20 * first * 3 * 2)) if first else math.inf
        return first >= 2 and last_phase(first) >= needed

    wrong += wrong_sizes(make(mu=0.5), told, range(60), fits)
    halved = replace(inner, **PRINTED)
    large = 10**9
    wrong += wrong_promises([partial(make, inner=halved), make], plain(2, 3), large, [True, False])
    return answered(wrong, f"{len(asked)} moduli and runs, and 60 sizes, are as they are to be")


def passes() -> Verdict:
    """The baseline: noise of at least the printed constant is promised, and steps that do not expand are run."""
    kind, told = GroupPrivacy, plain(2, 3)
    asked = dials(kind, ("c_noise", "eta"))
    asked += [
        (
            f"eta = {eta} at beta = {steep}",
            lambda eta=eta, at=at: kind(eta=eta).schedule(at, 8),
            (eta or 0) * steep <= 8,
        )
        for steep, at in ((s, plain(2, 3, smooth=s)) for s in (0.0, 0.5, 100.0))
        for eta in (None, 0.07, 15.9, 16.1)
    ]
    work = linear(2, 3)
    asked += [(f"a run of {n}", run_of(kind, work, problem(work), n), n >= 2) for n in (1, 2, 3, 9)]
    wrong = wrongly_answered(asked)
    wrong += wrong_promises([partial(kind, c_noise=c) for c in (0.99, 1.0, 1.01)], told, 8, [False, True, True])
    if not wrong:
        wrong += wrong_sizes(kind(), told, (0, 1, 2, 3, 4), lambda n: n >= 2)
    return answered(wrong, f"{len(asked)} fields, steps and runs are as they are to be")


def tested_mean(context: Context) -> Verdict:
    """The law of a bit and a mean at drawn cores: its density by the two laws that it is made of, its draws where the
    margin leaves no doubt, and how often the bit is 1 where it does.
    """
    rng, unit, test, sigma = context.rng(), 0.3, 1.7, 0.4
    law = TestedMean(RedrawnThreshold(threshold=test, query=2 * test), sigma, unit)
    one, other = rng.normal(scale=2.0, size=(2, 6, 3))
    tossed = np.concatenate([np.array([[1.0], [0.0]] * 3), rng.standard_normal((6, 2))], axis=1)
    tossed[1::2, 1:] = np.nan

    def density(core: Array) -> Array:
        passing = scipy.stats.laplace.logcdf(core[:, 0] / unit, scale=2 * test)
        failing = scipy.stats.laplace.logsf(core[:, 0] / unit, scale=2 * test)
        means = scipy.stats.norm.logpdf(tossed[:, 1:], core[:, 1:], sigma).sum(axis=1)
        return np.where(tossed[:, 0] == 1, passing + means, failing)

    size = context.scale(20_000, 200_000)
    sure = law.sample(np.array([[1e3, 5.0, -5.0], [-1e3, 5.0, -5.0]]), rng)
    drawn = law.sample(np.tile([0.5 * unit * test, 2.0, -1.0], (size, 1)), rng)
    told, moved = drawn[:, 0] == 1, 3.0
    share = float(scipy.stats.laplace.cdf(0.5 * test, scale=2 * test))
    off = (drawn[told, 1:] - [2.0, -1.0]).ravel() / sigma
    allowed = context.failure_probability / 2
    if sure[:, 0].tolist() != [1, 0] or not np.isnan(sure[1, 1:]).all() or np.isnan(drawn[told]).any():
        return differs("a mean is told where the bit is 0, or none where it is 1, or the bit is not that of the margin")
    # Hoeffding for the bits; the deviation of a chi-square by Laurent and Massart for the means.
    slack = math.sqrt(math.log(4 / allowed) / (2 * size))
    level = math.log(4 / allowed)
    wide = 2 * math.sqrt(level / len(off)) + 2 * level / len(off)
    if abs(told.mean() - share) > slack or abs(np.mean(off**2) - 1) > wide:
        said = f"bits are 1 in a share of {told.mean():.4g}, {share:.4g} is theirs; the noise is {np.mean(off**2):.4g}"
        return differs(said, "sampled", failure_probability=context.failure_probability)
    again = law.pure(0.0), law.pure(moved), law.zcdp(moved, 3)
    cost = 2.0 / (2 * test)  # of the bit, whose score moves by 2 and whose noise has the scale of a query
    rho = 3 * (pure_to_zcdp(cost) + moved**2 / (2 * sigma**2))
    if again[:2] != (0.0, math.inf):
        return differs(f"a mean with Gaussian noise costs {again[1]} without a delta, and none {again[0]}")
    same = agree(law.log_ratio(tossed, one, other), density(one) - density(other), "log-ratio of the densities", 1e-9)
    return combine([same, agree([again[2]], [rho], "rho of three steps")])


def movement_claimed(algorithm: PhasedSGD, told: Problem, n: int, chance: float) -> Verdict:
    """What the plan of Algorithm 1 says of the movement of its means, from the laws: of the coins B, the least count
    that is exceeded with that chance only, and the points that are kept but for that chance; of the test, what passes
    with a score below (4/5 - g) times the points, for the g, at most 0.29, at which that chance is as small.
    """
    left: list[float] = []
    right: list[float] = []
    users = 0
    for row in algorithm.schedule(told, n).phases[:3]:
        C = row.groups
        left.append(row.start)
        right.append(users)
        users += C * row.members
        g = min(0.29, float(scipy.stats.laplace.isf(chance, scale=row.test)) / C)
        below = float(scipy.stats.laplace.sf(g * C, scale=row.test))
        kept, changed = _kept_and_changed(C, 0.8 - g, chance)
        left += [row.moves, row.failure]
        right += [4 * row.tau * (2 + changed) / kept, below + 2 * chance]
    for C in range(12, 120, 3):
        movement = certified_movement(
            C, diameter=1.0, reach=5.0, shortfall=0.25, passing=0.01, chance=1e-3, doubled=True
        )  # fmt: skip
        kept, changed = _kept_and_changed(C, 0.55, 1e-3)
        left += [movement.sensitivity, movement.failure]
        right += [(2 + changed) / kept, 0.01 + 2e-3] if kept else [5.0, 0.0]
    return agree(left, right, "movements, and the chances that they are exceeded, of the laws of the coins")


def _kept_and_changed(C: int, core: float, chance: float) -> tuple[int, int]:
    others = scipy.stats.binom(C - 1, min(1.0, 6 / C)).sf(np.arange(C + 1))
    share = 6 * (core * C - 1) / C - 3
    chosen = scipy.stats.binom(math.ceil(core * C - 1e-9) - 1, min(1.0, max(0.0, share))).cdf(np.arange(C + 1))
    return int(np.argmax(chosen >= chance)), int(np.argmax(others <= chance))


MINIBATCHES: tuple[dict[str, Any], ...] = (
    {"K": 30, "steps": 40, "tau_": 0.3},
    {"K": 301, "steps": 7, "tau_": 0.02},
    {"K": 5_000, "steps": 5, "tau_": 0.02},
    {"K": 20_000, "steps": 300, "tau_": 1.0},
    {"K": 200_000, "steps": 2, "tau_": 0.1},
)
"""Of too few users for a certificate, of few for a sure test, and of many."""
STEPPED: tuple[dict[str, Any], ...] = (
    {"c_batch": 1.0, "steps": 9},
    {"c_batch": 500.0, "steps": 60},
    {"c_batch": 40.0, "steps": 2000},
)
"""The same where bit and mean are amplified together, which sets the minibatches."""


def movement_of_minibatches(n: int) -> Verdict:
    """What plans of Algorithm 2 say of the movement of their means, from the laws of coins and tests: a step passes
    with a score below (4/5 - g)K where the noise of a score exceeds that of the threshold by more than gK.
    """
    left: list[float] = []
    right: list[float] = []
    for epsilon, fields in itertools.product((0.01, 1.0, 6.0), MINIBATCHES):
        (row,) = MinibatchSGD(**fields).schedule(plain(3, 10, epsilon), n).phases
        missed = 1e-6 / (10 * row.steps)
        g, passing = _passing(row.batch, 2 * row.test, missed)
        kept, changed = _kept_on_average(row.batch, 0.8 - g, missed), _most_changed(row.batch, missed)
        left += [row.moves, row.failure]
        right += [4 * row.tau * (2 + changed) / kept, min(1.0, row.steps * (passing + 2 * missed))] if kept else [2, 0]
    for epsilon, fields in itertools.product((0.2, 1.0, 6.0), STEPPED):
        each = MinibatchSGD(amplified="steps", threshold="inside", tau_=0.02, **fields)
        (row,) = each.schedule(plain(3, 10, epsilon), n).phases
        share = row.batch / row.users
        g, passing = _passing(row.batch, 2 * row.test, 1e-6 / (4 * row.steps * share))
        sure = 1.6 - 2 * g > 1
        moved = stated("user_level/lem-c2@weighted", tau=row.tau, s=(0.8 - g) * row.batch, K=row.batch) if sure else 2
        left += [row.moves, row.failure]
        right += [min(2.0, moved), min(1.0, row.steps * share * passing)]
    return agree(left, right, "movements, and the chances that they are exceeded, of the laws of coins and tests")


def _passing(K: int, wide: float, chance: float) -> tuple[float, float]:
    """The share g, at most 0.29, beyond which the longer tail of the noise has that chance; and the chance of gK."""
    g = min(0.29, float(scipy.stats.expon.isf(1.5 * chance, scale=wide)) / K)
    return g, difference_of_laplace(g * K, wide, wide / 2)


def _most_changed(K: int, chance: float) -> int:
    """The least number of other coins that is exceeded with that chance only."""
    return int(np.argmax(scipy.stats.binom(K - 1, min(1.0, 6 / K)).sf(np.arange(min(K, 300) + 1)) <= chance))


def _kept_on_average(K: int, core: float, chance: float) -> int:
    """Points that are kept but for that chance, by Chernoff's tail or by Hoeffding's, where the mean count is `core` K,
    less the changed point and 6/K of each other.
    """
    mean = stated("user_level/lem-c2@derived", s=core * K, K=K) * K - 7
    if mean <= 0:
        return 0
    tails = (lambda t: t**2 / (2 * mean), lambda t: 2 * t**2 / K)
    falls = [scipy.optimize.brentq(lambda t, tail=tail: tail(t) + math.log(chance), 0, 10 * K) for tail in tails]
    return max(0, math.floor(mean - min(falls)))
