"""Section 6: Theorems 6 and 7, as printed, and corrected with every constant."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpcheck.algorithms.tsybakov import IteratedAccelerated, PermutedAccelerated
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import algorithm, claim
from dpcheck.engine.setting import Setting
from dpcheck.engine.statements import bound_of
from dpcheck.harness import accuracy, lower_bound
from dpcheck.harness.odd_record import odd_record, shuffled_delta
from dpcheck.harness.relations import compared
from dpcheck.harness.scaling import Instance, Simulated, admitted, powers, scaling
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Point, Verdict, consistent, differs

from .cases import STEEPER, exponents, instance, instead, known_well, problem, told, well
from .lemmas import (
    BATCHES_IN_DIMENSIONS,
    BY_BATCHES,
    LITTLE,
    PLANE,
    RARE,
    SPARSE,
    STEEP,
    WRONG_LAST_LEVELS,
    WRONG_LEVELS,
    ends_of_batches,
    rounded,
    sparse,
    within,
)


@check("tsybakov/thm-6", kind="privacy", grid={"T": by_size((10, 100), (1, 10, 30, 100, 1000))})
def shuffled_batches_within_the_range_of_theorem_6(context: Context, *, T: int) -> Verdict:
    """The exact curve of the worst known pair under the printed noise at constant 64, for epsilon in its range."""
    n, delta = 10**4, 1e-5
    points = []
    for share in (0.25, 0.5, 1.0):
        epsilon = share * math.sqrt(math.log(n / delta) / n)
        plan = PermutedAccelerated(calibration="literal", batches=T).schedule(told(PLANE, ApproxDP(epsilon, delta)), n)
        exact = shuffled_delta(odd_record(plan), T, epsilon)
        points.append(Point(x=epsilon, value=exact, bound=delta, series=f"T = {T}"))
    worst = max(point.value for point in points)
    fields: dict[str, Any] = {"numbers": {"delta": worst}, "points": points, "axes": ("epsilon", "exact delta")}
    if worst > delta:
        # The constant of the printed noise is hidden, and 64 is ours.
        return differs(f"noise at constant 64 gives one odd record delta = {worst:.3g} at T = {T}", **fields)
    return consistent(
        f"delta of one odd record among zeros is {worst:.3g} of {delta:g} at T = {T}, constant 64; others are open",
        "exact",
        notices=f"a delta above {delta:g} of that pair, at three epsilons of the range with constant 1",
        severity=worst / delta,
        **fields,
    )


SHUFFLED = functools.partial(
    scaling, "tsybakov/thm-6", part="private", family=SPARSE, engine=BY_BATCHES, mutants=WRONG_LEVELS
)  # fmt: skip
"""Rows of Algorithm 6 with the noise of its proof, which the accountant certifies, inside the range of Theorem 6."""
LONG = 2**92
"""Records where n does not vary."""


SHORT = 2**84
"""The same, where the number of steps need not be large."""


def shuffled(k: float) -> PermutedAccelerated:
    return PermutedAccelerated(k=k, calibration="shuffle")


@SHUFFLED(
    variable="n", sizes=by_size(powers(2, range(76, 93, 8)), powers(2, range(76, 93, 4))),
    series={"k": by_size((2.0,), (2.0, 4.0))},
)  # fmt: skip
def accelerated_risk(*, n: int, p: float, k: float) -> Instance:
    """The mean excess risk of Algorithm 6, the worst over linear losses with spikes of every rarity: -1/2 and -3/4."""
    return sparse(shuffled(k), n, p, k, 2.0**-44)


@SHUFFLED(variable="epsilon", sizes=by_size(powers(2, range(-60, -43, 8)), powers(2, range(-60, -43, 4))))
def accelerated_risk_in_epsilon(*, epsilon: float, p: float) -> Instance:
    """The same at k = 2 in epsilon."""
    return sparse(shuffled(2.0), LONG, p, 2.0, epsilon)


@SHUFFLED(variable="d", sizes=(8, 16, 32, 64, 128), engine=BATCHES_IN_DIMENSIONS, since="standard")
def accelerated_risk_in_the_dimension(*, d: int, p: float) -> Instance:
    """The same in d dimensions: 1/4."""
    return sparse(shuffled(2.0), SHORT, p, 2.0, 2.0**-44, d=d)


@check("tsybakov/thm-6", kind="accuracy", grid={"p": (2.0**-6, 2.0**-10), "d": (1, 3)}, expect="consistent")
def batches_in_closed_form(context: Context, *, p: float, d: int) -> Verdict:
    """The batches that these rates rest on, against runs on drawn records, n = 2^52."""
    # unbound: an engine of rates against drawn runs, whatever the rate is
    one = sparse(shuffled(2.0), 2**52, p, 2.0, 2.0**-25, delta=1e-10, d=d)
    return admitted(replace(BY_BATCHES, trials=context.scale(20_000, 100_000)), one, context.scale(300, 3000), context)


LONG_PROMISES = by_size((1e-240, 1e-100, 1e-40), (1e-240, 1e-150, 1e-90, 1e-60, 1e-40))
"""At which log(n/delta) is not far from log(1/delta)."""


@scaling(
    "tsybakov/thm-6@shuffled", variable="delta", part="private", sizes=LONG_PROMISES, family=SPARSE,
    engine=Simulated(ends_of_batches, 3200), mutants=WRONG_LEVELS,
)  # fmt: skip
def accelerated_risk_in_delta(*, delta: float, p: float) -> Instance:
    """The same in the promised delta: nearly 3/4 in log(1/delta), for the proof adds log(n/delta) to the variance."""
    return sparse(shuffled(2.0), SHORT, p, 2.0, 2.0**-44, delta=delta)


@check(
    "tsybakov/thm-6@derived",
    kind="risk",
    grid={
        "calibration": ("plain", "literal"),
        "theta": (2.0, 4.0),
        "d": (1, 3),
        "n": by_size((2**28,), (2**28, 2**30, 2**32)),
    },
)
def accelerated_risk_within_constants(context: Context, *, calibration: str, theta: float, d: int, n: int) -> Verdict:
    """Algorithm 6 on power wells with spikes, from far off, at k = 2, against the bound with every constant."""
    work = well(theta, 2.0, chance=0.01, d=d, c=-1.0)
    algorithm = PermutedAccelerated(k=2.0, calibration=calibration)  # type: ignore[arg-type]
    return within(context, algorithm, work, n, bound_of("tsybakov/thm-6@derived", algorithm, problem(work, 1.0), n))


def placed(k: float = 2.0, batches: int | None = None) -> PermutedAccelerated:
    return PermutedAccelerated(k=k, calibration="placed", batches=batches)


@check("tsybakov/thm-6@placed", kind="accuracy", grid={"T": (1, 2, 3), "n": (1, 2, 4)})
def sizes_of_the_batches(context: Context, *, T: int, n: int) -> Verdict:
    """All assignments of n records to 2T places, in rationals: n times the mean square of E[N_t | past]/b − 1."""
    # unbound: sizes of batches, a fact inside of the proof, whatever the risk is
    worst, b = Fraction(0), Fraction(n, 2 * T)
    law = {0: Fraction(1)}  # records that are placed
    for t in range(1, T + 1):
        chance = Fraction(1, 2 * T - t + 1)
        worst = max(worst, n * sum(p * ((n - used) * chance / b - 1) ** 2 for used, p in law.items()))
        after = dict.fromkeys(range(n + 1), Fraction(0))
        for used, p in law.items():
            for more in range(n - used + 1):
                took = math.comb(n - used, more) * chance**more * (1 - chance) ** (n - used - more)
                after[used + more] += p * took
        law = after
    return accuracy.never_violated(
        float(worst), 1.0, statement="n E(E[N_t | past]/b − 1)² <= 1", evidence="certificate",
        covers="all assignments of the records",
    )  # fmt: skip


@check(
    "tsybakov/thm-6@corrected", kind="risk", also=("tsybakov/thm-6@placed",),
    grid={
        "label": ("tsybakov/thm-6@placed", "tsybakov/thm-6@corrected"), "theta": (2.0, 4.0), "d": (1, 3),
        "n": by_size((2**28,), (2**28, 2**32)),
    },
)  # fmt: skip
def placed_risk_within_constants(context: Context, *, label: str, theta: float, d: int, n: int) -> Verdict:
    """Records that draw their places, on power wells with spikes, from far off, at k = 2 and epsilon = 1/20."""
    work, algorithm = well(theta, 2.0, chance=0.01, d=d, c=-1.0), placed()
    asked = problem(work, 0.05)
    return within(context, algorithm, work, n, bound_of(label, algorithm, asked, n), asked=asked)


CORRECTED = functools.partial(
    scaling, "tsybakov/thm-6@corrected", part="private", family=SPARSE, engine=BY_BATCHES, mutants=WRONG_LEVELS
)  # fmt: skip


@CORRECTED(
    variable="n", sizes=by_size(powers(2, range(76, 93, 8)), powers(2, range(76, 93, 4))),
    series={"k": by_size((2.0,), (2.0, 4.0))},
)  # fmt: skip
def placed_risk(*, n: int, p: float, k: float) -> Instance:
    """The mean excess risk, the worst over linear losses with spikes of every rarity: -1/2 and -3/4."""
    return sparse(placed(k), n, p, k, 2.0**-44)


@CORRECTED(variable="epsilon", sizes=by_size(powers(2, range(-60, -43, 8)), powers(2, range(-60, -43, 4))))
def placed_risk_in_epsilon(*, epsilon: float, p: float) -> Instance:
    """The same at k = 2 in epsilon."""
    return sparse(placed(), LONG, p, 2.0, epsilon)


@CORRECTED(variable="d", sizes=(8, 16, 32, 64, 128), engine=BATCHES_IN_DIMENSIONS, since="standard")
def placed_risk_in_the_dimension(*, d: int, p: float) -> Instance:
    """The same in d dimensions: 1/4."""
    return sparse(placed(), SHORT, p, 2.0, 2.0**-44, d=d)


@CORRECTED(variable="delta", sizes=LONG_PROMISES, engine=Simulated(ends_of_batches, 3200))
def placed_risk_in_delta(*, delta: float, p: float) -> Instance:
    """The same in the promised delta: 1/4 in log(1/delta), where the noise of the proof has nearly 3/4."""
    return sparse(placed(), SHORT, p, 2.0, 2.0**-44, delta=delta)


@check("tsybakov/thm-6@corrected", kind="accuracy", grid={"p": (2.0**-6, 2.0**-10), "d": (1, 3)}, expect="consistent")
def placed_batches_in_closed_form(context: Context, *, p: float, d: int) -> Verdict:
    """The batches of drawn size that these rates rest on, against runs on drawn records, n = 2^52."""
    # unbound: an engine of rates against drawn runs, whatever the rate is
    one = sparse(placed(), 2**52, p, 2.0, 2.0**-25, delta=1e-10, d=d)
    return admitted(replace(BY_BATCHES, trials=context.scale(20_000, 100_000)), one, context.scale(300, 3000), context)


@check(
    "tsybakov/thm-7",
    kind="transcription",
    grid={"label": ("tsybakov/thm-7", "tsybakov/thm-7@phases")},
    also=("tsybakov/thm-7@phases",),
)
def exponents_of_theorem_7(context: Context, *, label: str) -> Verdict:
    """The same times theta/(theta-1) = 3, and -2 in lambda."""
    return exponents(label, 3.0, tail=False)


def iterated_sgd(k: float) -> IteratedAccelerated:
    return IteratedAccelerated(**{**IteratedAccelerated.readings["corrected"], "k": k, "calibration": "shuffle"})


PARTS = by_size(powers(2, range(76, 93, 8)), powers(2, range(76, 93, 4)))
"""Records that make 6 calls."""
ITERATED = functools.partial(
    scaling, "tsybakov/thm-7@convex", family=SPARSE, engine=BY_BATCHES, mutants=WRONG_LAST_LEVELS
)  # fmt: skip


@scaling(
    "tsybakov/thm-7@phases", variable="n", sizes=PARTS, family=STEEP, engine=Simulated(ends_of_batches, 800, rounds=1),
    mutants=WRONG_LAST_LEVELS, since="standard",
)  # fmt: skip
def iterated_accelerated_risk(*, n: int, steepness: float) -> Instance:
    """Algorithm 7 at k = theta = 2 on power wells, on the whole domain: -1/2, where the order has -1."""
    return rounded(iterated_sgd(2.0), n, steepness, LITTLE)


@scaling(
    "tsybakov/thm-7@phases", variable="lambda", family=STEEP, engine=Simulated(ends_of_batches, 1200, rounds=1),
    mutants=WRONG_LAST_LEVELS, sizes=powers(2, range(-26, -17, 2)), since="standard",
)  # fmt: skip
def iterated_accelerated_risk_in_the_growth(*, steepness: float, **growth: float) -> Instance:
    """The same in the growth constant, where the order has -1."""
    return rounded(iterated_sgd(2.0), LONG, steepness, growth["lambda"])


@ITERATED(variable="n", sizes=PARTS, series={"k": by_size((2.0,), (2.0, 4.0))})
def iterated_accelerated_risk_without_growth(*, n: int, p: float, k: float) -> Instance:
    """The same against the convex rate, over linear losses with spikes of every rarity: -1/2 and -3/4."""
    return sparse(iterated_sgd(k), n, p, k, 2.0**-44)


@ITERATED(variable="epsilon", sizes=by_size(powers(2, range(-60, -43, 8)), powers(2, range(-60, -43, 4))))
def iterated_accelerated_risk_in_epsilon(*, epsilon: float, p: float) -> Instance:
    """The same at k = 2 in epsilon."""
    return sparse(iterated_sgd(2.0), LONG, p, 2.0, epsilon)


@ITERATED(variable="d", sizes=(8, 16, 32, 64, 128), engine=BATCHES_IN_DIMENSIONS, since="standard")
def iterated_accelerated_risk_in_the_dimension(*, d: int, p: float) -> Instance:
    """The same in d dimensions: 1/4."""
    return sparse(iterated_sgd(2.0), SHORT, p, 2.0, 2.0**-44, d=d)


@ITERATED(variable="delta", sizes=LONG_PROMISES, engine=Simulated(ends_of_batches, 3200))
def iterated_accelerated_risk_in_delta(*, delta: float, p: float) -> Instance:
    """The same in the promised delta."""
    return sparse(iterated_sgd(2.0), SHORT, p, 2.0, 2.0**-44, delta=delta)


class FirstCall(IteratedAccelerated):
    """The first call alone, on its share of the records."""

    def parts(self, n: int) -> list[int]:
        return super().parts(n)[:1]


CLASS = 2.0**-8
"""The growth constant of the class: from 2^92 records on the corrected Theorem 7 speaks of it."""
CALLS = 42
"""The number m of the corrected theorem: as many as Algorithm 4 has at 2^92 records, whatever n is."""


def placed_calls(n: int, steepness: float, growth: float) -> Instance:
    """That many calls on halving balls, at k = theta = 2."""
    algorithm = IteratedAccelerated(**{**IteratedAccelerated.readings["placed"], "k": 2.0, "calls": CALLS})
    return instance(algorithm, known_well(2 * growth * steepness, 2.0, 1.0), n, 2.0, 2.0**-44, RARE, growth)


GROWING = functools.partial(
    scaling, "tsybakov/thm-7@corrected", family=STEEPER, engine=Simulated(ends_of_batches, 2400, rounds=1),
    mutants={**WRONG_LAST_LEVELS, "one call": instead(FirstCall)}, since="standard",
)  # fmt: skip


@GROWING(variable="n", sizes=powers(2, range(92, 101, 2)))
def placed_calls_risk(*, n: int, steepness: float) -> Instance:
    """The mean excess risk, the worst over power wells of the class: -1."""
    return placed_calls(n, steepness, CLASS)


@GROWING(variable="lambda", sizes=powers(2, range(-12, -5, 3)), engine=Simulated(ends_of_batches, 4800, rounds=1))
def placed_calls_risk_in_the_growth(*, steepness: float, **growth: float) -> Instance:
    """The same in the growth constant, at 2^100 records: -1."""
    return placed_calls(2**100, steepness, growth["lambda"])


@check("tsybakov/thm-6@range", kind="risk", grid={"n": by_size([2**14], [2**14, 2**18, 2**22]), "k": (2.0, 4.0, 16.0)})
def private_over_statistical(context: Context, *, n: int, k: float) -> Verdict:
    """At the largest ε of the theorem, d = 1, 10, 100, δ = 1/n, 1/n², n^{-8}: the ratio is at least the claimed one."""
    facts = []
    for d in (1, 10, 100):
        for delta in (1 / n, 1 / n**2, float(n) ** -8):
            epsilon = math.sqrt(math.log(n / delta) / n)
            ratio = (math.sqrt(d * math.log(1 / delta)) / (epsilon * n)) ** ((k - 1) / k) * math.sqrt(n)
            least = float(claim(context.label).evaluate(d=d, n=n, k=k, delta=delta, epsilon=epsilon))
            facts.append(lower_bound.Fact(f"the ratio at d = {d}, δ = {delta:.1g}", ratio, ">=", least, 1e-12))
    return lower_bound.verdict(facts)


@check("tsybakov/thm-6@range", kind="accuracy", grid={"n": by_size([2**14], [2**12, 2**16, 2**20])})
def noise_of_a_shuffled_batch(context: Context, *, n: int) -> Verdict:
    """Algorithm 6 as its schedule has it, d = 1, at the theorem's largest ε: noise exceeds sampling in every batch."""
    # unbound: two variances of one batch, where the claim has two terms of the risk
    delta = 1 / n**2
    setting = Setting(n=n, d=1, epsilon=math.sqrt(math.log(n / delta) / n), delta=delta, k=2.0)
    (row,) = algorithm("tsybakov/alg-6@shuffle", k=2.0).schedule(setting.problem, n).phases
    sampling = setting.moment(2) ** 2 / row.b
    sides = ("by sampling", "by noise")
    return compared("variance of a batch", sides, sampling, row.sigma**2, ("n", n), batch=row.b)
