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
from dpcheck.algorithms.user_level.minibatch import PRINTED
from dpcheck.algorithms.user_level.sampled import TestedMean
from dpcheck.algorithms.user_level.sizes import smallest_users
from dpcheck.algorithms.user_level.strongly_convex import Round
from dpcheck.algorithms.user_level.threshold import RedrawnThreshold
from dpcheck.checks import Context
from dpcheck.errors import DpcheckError, Infeasible
from dpcheck.harness.plans import Asked, answered, run_of, wrong_promises, wrong_sizes, wrongly_answered
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Array, Problem
from dpcheck.privacy import ApproxDP, PureDP, pure_to_zcdp
from dpcheck.verdicts import Verdict, combine, differs

from .cases import linear, plain, problem

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


def wrong_blocks(plan: Any, n: int) -> list[str]:
    """Phases that are not numbered from 1 on, do not begin where the one before ends, or end beyond n; and releases
    that read another block.
    """
    ends = np.cumsum([0, *(row.users for row in plan.phases)]).tolist()
    wrong = [] if [row.start for row in plan.phases] == ends[:-1] and ends[-1] <= n else [f"blocks end at {ends}"]
    numbers = [row.i for row in plan.phases]
    wrong += [] if numbers == [*range(1, len(numbers) + 1)] else [f"phases are numbered {numbers}"]
    blocks = {block for row in plan.phases for block in _blocks(row)}
    read = {(each.start, each.stop) for release in plan.releases for each in release.reads}
    return wrong + ([] if read == blocks else [f"{sorted(read ^ blocks)} are read, or are not"])


def _blocks(row: Any) -> list[tuple[int, int]]:
    """Of a phase; of a round, those of its phases."""
    inner = row.inner.phases if isinstance(row, Round) else ()
    first = row.start if inner else 0
    return [(first + each.start, first + each.start + each.users) for each in inner or (row,)]


def wrong_dials(make: Callable[..., Any], told: Problem, n: int, settings: Mapping[str, str]) -> list[str]:
    """Dials that do not multiply their setting of the first phase, up to what is rounded."""
    wrong = []
    for dial, name in settings.items():
        once, thrice = (
            getattr(make(**{dial: times * getattr(make(), dial)}).schedule(told, n).phases[0], name) for times in (1, 3)
        )
        if abs(thrice - 3 * once) > (3 if isinstance(once, int) else 1e-9 * thrice):
            wrong.append(f"{name} is {once} and {thrice} at thrice the {dial}")
    return wrong


def wrong_refusals(make: Callable[[], Any], n: int) -> list[str]:
    """What is not refused by its own name: budgets beyond the theorems' and of another kind, users without samples."""
    told, wrong = plain(2, 3), []
    for said, other in (
        ("epsilon = 11", plain(2, 3, 11.0)),
        ("a pure budget", replace(told, privacy=PureDP(1.0))),
        ("no samples", replace(told, samples_per_user=0)),
    ):
        for size in (0, n):
            try:
                make().schedule(other, size)
            except DpcheckError as error:
                wrong += [] if make().label in str(error) else [f"{said}: {error}"]
            else:
                wrong.append(f"{said} is planned")
    return wrong


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
    if not wrong:
        wrong += wrong_blocks(kind().schedule(told, n), n) + wrong_refusals(kind, n)
        settings = {"c_step": "eta", "c_radius": "tau", "c_noise": "sigma", "c_score": "test", "c_groups": "groups"}
        wrong += wrong_dials(kind, told, 8 * n, settings)
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
    return wrong + _wrong_searches()


def _wrong_searches() -> list[str]:
    """What does up to some size, or from another one on, and is asked for beyond the first."""
    wrong = []
    pairs = [
        (above, least)
        for least in (*range(1, 140), *(2**61 + k for k in (-1, 0, 1)))
        for above in range(min(least, 140))
    ]
    for above, least in [*pairs, (0, 2**62 - 1), (0, 2**62), (2**62, 2**62 + 1)]:
        named = smallest_users(lambda n: n <= above or n >= least, above)  # noqa: B023
        wanted = least if least < 2**62 else None
        wrong += [] if named == wanted else [f"{named} users are named for {wanted}, beyond {above}"]
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
        wrong += wrong_blocks(few().schedule(told, n), n) + wrong_refusals(few, n)
        settings = {"c_steps": "steps", "c_radius": "tau", "c_noise": "sigma", "c_score": "test", "c_batch": "batch"}
        wrong += wrong_dials(few, told, n, settings)
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
    for smooth, share, epsilon in ((1e6, 2.5e-5, 1.0), (3.0, 4e-4, 1.0), (3.0, 1.5e-4, 0.4), (3.0, 1e-9, 1.0)):
        told, chosen = plain(2, 2, epsilon, smooth=smooth), make(c_users=100 * share)
        sizes = range(2, 200, 3)

        def needed(steps: int) -> float:
            sure = 320 / 3 * math.sqrt(steps * math.log(2e6)) * math.log(8e6 * steps) / epsilon  # noqa: B023
            return max(2.0, share * sure)  # noqa: B023

        fitting = [all(row >= needed(steps) for row, steps in chosen.lengths(told, n)) for n in sizes]
        wrong += [] if any(fitting) and not all(fitting) else [f"{sum(fitting)} of {len(fitting)} sizes fit"]
        wrong += wrongly_answered(
            (f"a plan of n = {n}", partial(chosen.schedule, told, n), fits)
            for n, fits in zip(sizes, fitting, strict=True)
        )
        if wrong:
            return wrong
        wrong += [
            f"other phases than those of its plan decide on n = {n}"
            for n, fits in zip(sizes, fitting, strict=True)
            if fits and chosen.lengths(told, n) != [(row.users, row.steps) for row in chosen.schedule(told, n).phases]
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
    # At 0.104 a round of 31 users does, and one of 32, which has a phase more, does not.
    for c_users, sizes in ((inner.c_users, range(60)), (0.104, (0, 300, 546))):
        wrong += wrong_sizes(make(mu=0.5, inner=replace(inner, c_users=c_users)), told, sizes, _first_round(c_users))
    for size in range(2, 300):
        count = next(k for k in range(9) if 2**2**k >= size)
        wrong += [] if len(StronglyConvex.sizes(size)) == count else [f"n = {size} has not {count} rounds"]
    wrong += wrong_blocks(make(mu=0.5).schedule(told, n), n) + wrong_refusals(partial(make, mu=0.5), n)
    halved = replace(inner, **PRINTED)
    large = 10**9
    wrong += wrong_promises([partial(make, inner=halved), make], plain(2, 3), large, [True, False])
    return answered(wrong, f"{len(asked)} moduli and runs, and 60 sizes, are as they are to be")


def _first_round(c_users: float) -> Callable[[int], bool]:
    """Whether the first of the rounds is large enough, for m = 3 and d = 2."""
    told = plain(2, 3)

    def fits(size: int) -> bool:
        first = math.floor(size / (2 * math.log2(size))) if size >= 2 else 0
        needed = max(2.0, c_users * logarithm(told, 20 * first * 3 * 2)) if first else math.inf
        return first >= 2 and last_phase(first) >= needed

    return fits


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
        wrong += wrong_blocks(kind().schedule(told, 90), 90) + wrong_refusals(kind, 90)
        wrong += wrong_dials(kind, told, 90, {"c_noise": "sigma"})
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
    told, moved = drawn[:, 0] == 1, 0.6
    share = float(scipy.stats.laplace.cdf(0.5 * test, scale=2 * test))
    noise = (drawn[told, 1:] - [2.0, -1.0]) / sigma
    allowed = context.failure_probability / 3
    hidden = np.isnan(sure[1, 1:]).all() and np.isnan(drawn[~told, 1:]).all()
    if sure[:, 0].tolist() != [1, 0] or not hidden or np.isnan(drawn[told]).any():
        return differs("a mean is told where the bit is 0, or none where it is 1, or the bit is not that of the margin")
    # Hoeffding for the bits; the deviation of a chi-square by Laurent and Massart for the means.
    slack = math.sqrt(math.log(4 / allowed) / (2 * size))
    level = math.log(4 / allowed)

    def is_normal(off: Array) -> bool:
        return bool(abs(np.mean(off**2) - 1) <= 2 * math.sqrt(level / len(off)) + 2 * level / len(off))

    together = noise.sum(axis=1) / math.sqrt(2)  # of as large a deviation, if they are independent
    if abs(told.mean() - share) > slack or not (is_normal(noise.ravel()) and is_normal(together)):
        squares = f"{np.mean(noise**2):.4g}, that of two coordinates together {np.mean(together**2):.4g}"
        said = f"bits are 1 in a share of {told.mean():.4g}, {share:.4g} is theirs; the squared noise is {squares}"
        return differs(said, "sampled", failure_probability=context.failure_probability)
    again = law.pure(0.0), law.pure(moved), law.zcdp(moved, 3)
    cost = 2.0 / (2 * test)  # of the bit, whose score moves by 2 and whose noise has the scale of a query
    rho = 3 * (pure_to_zcdp(cost) + moved**2 / (2 * sigma**2))
    if again[:2] != (0.0, math.inf):
        return differs(f"a mean with Gaussian noise costs {again[1]} without a delta, and none {again[0]}")
    same = agree(law.log_ratio(tossed, one, other), density(one) - density(other), "log-ratio of the densities", 1e-9)
    return combine([same, agree([again[2]], [rho], "rho of three steps"), _curves_of_a_pair(law, moved, cost)])


def _curves_of_a_pair(law: TestedMean, moved: float, cost: float) -> Verdict:
    """Renyi divergences and hockey sticks of a bit whose chances are so far apart, and a normal mean, by quadrature."""
    mean = moved / law.sigma
    chances = 1 / (1 + np.exp([-cost, cost]))  # of randomised response
    bits = list(zip(chances, chances[::-1], strict=True))
    x = np.linspace(-12.0, 20.0, 100_001)
    density = [scipy.stats.norm.pdf(x, centre) for centre in (mean, 0.0)]
    law_of_both = [(p * density[0], q * density[1]) for p, q in bits]
    left, right = [*law.pair(moved)[0], law.pair(moved)[1]], [cost, mean]
    for alpha in (1.5, 4.0):
        powers = sum(np.trapezoid(p**alpha * q ** (1 - alpha), x) for p, q in law_of_both)
        left.append(law.renyi(alpha, moved))
        right.append(math.log(powers) / (alpha - 1))
    for epsilon in (0.0, 1.0, 4.0):
        left.append(law.delta(epsilon, moved))
        right.append(sum(np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0.0), x) for p, q in law_of_both))
    return agree(left, right, "the pair, its Renyi divergences, and its hockey sticks", tolerance=1e-6)
