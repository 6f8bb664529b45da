"""Section 4: Theorem 3."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping

from dpcheck.algorithms.tsybakov import IteratedLocalised, StochasticApproximation
from dpcheck.checks import Context, by_size, check, together
from dpcheck.engine.statements import order_of
from dpcheck.harness import accuracy
from dpcheck.harness.relations import judged
from dpcheck.harness.scaling import Family, Instance, Simulated, geometric, powers, scaling
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.scaling.turned_back import noisy_phases
from dpcheck.verdicts import Point, Verdict

from .cases import (
    BETA,
    BY_PHASES,
    FAILING,
    IN_DIMENSIONS,
    SHORT_CALLS,
    STEEPER,
    ShortCalls,
    WideCalls,
    asked,
    exponents,
    grown,
    instead,
    iterated,
    reach,
    refuted_by_plan,
)


@check(
    "tsybakov/thm-3",
    kind="transcription",
    grid={"label": ("tsybakov/thm-3", "tsybakov/thm-3@phases")},
    also=("tsybakov/thm-3@phases",),
)
def exponents_of_theorem_3(context: Context, *, label: str) -> Verdict:
    """The same times theta/(theta-1) = 2, and -1 in lambda."""
    return exponents(label, 2.0)


LAST_CALLS = together("log2_log2_n factor logs", (4, 100, 0), (5, 10**5, 0), (6, 10**4, 3))


@check(
    "tsybakov/thm-3",
    kind="risk",
    grid={"theta": (2, 3), "instance": by_size(LAST_CALLS[:2], LAST_CALLS)},
    expect="refuted",
)
def last_printed_call_ends_at_the_wrong_end(context: Context, *, theta: int, instance: tuple[int, int, int]) -> Verdict:
    """Algorithm 5 as printed, projected, theta_bar = 2 and n = 2^16, 2^32, 2^64: the noise of its last call will do.

    What it makes of zeros for records is as bad, and passes: that noise, and not the data, decides is what is shown.
    """
    log_log_n, factor, logs = instance
    n = 2 ** (2**log_log_n)
    algorithm = IteratedLocalised(project=True, solver="limit", theta_bar=2.0)
    phases = algorithm.schedule(asked(n), n).phases[-1].inner.phases
    left = 2 - reach(phases[1:])
    return refuted_by_plan(
        context, algorithm, n, phases[0], left, "thm_3_risk", k=2, log_log_n=log_log_n, theta=theta, factor=factor,
        logs=logs,
    )  # fmt: skip


def even_parts(j: int) -> int:
    """The size that Algorithm 5 splits, at theta_bar = 2, into a first part of 2^j records and doublings of it."""
    n = 2.0**j
    for _ in range(100):
        n = 2.0**j * math.log2(n)
    return math.ceil(n)


@check("tsybakov/thm-3@derived", kind="accuracy", grid={"theta_bar": (1.5, 2.0)})
def exponent_of_the_iterated_guarantee(context: Context, *, theta_bar: float) -> Verdict:
    """theta = 2, lambda = 1/2: local slopes of the guarantee in n, which tend to the derived order's, not to -1."""
    logs = [10.0, 16.0, 24.0, 40.0, 60.0, 128.0, 512.0]
    values = [iterated_guarantee(x, theta_bar) for x in logs]
    slopes = [math.log2(b / a) / (y - x) for (x, a), (y, b) in itertools.pairwise(zip(logs, values, strict=True))]
    points = [Point(x=x, value=s, bound=-1.0, series=f"theta_bar = {theta_bar:g}") for x, s in zip(logs, slopes)]  # noqa: B905
    numbers = {f"slope from 2^{x:g}": s for x, s in zip(logs, slopes)}  # noqa: B905
    floors = []
    for x, value in zip(logs, values, strict=True):
        calls = math.floor(math.log(2, theta_bar) * math.log2(x))
        floors.append(2.0 ** -(calls - 1) * (2.0 ** (calls - 1 + x) / x ** math.log(2, theta_bar)) ** -0.5 / 2 / value)
    verdict = accuracy.never_violated(
        floors, 1.0, statement="R_{l-1} E/2 <= the guarantee", evidence="certificate", tolerance=1e-9,
        covers="(D^2/R + R) E/2 >= R E/2 in the last call",
    )  # fmt: skip
    if verdict.outcome != "holds":
        return verdict
    (slope,) = set(order_of(context.label).as_powers_dict().values())
    said = f"slopes {', '.join(f'{s:.2f}' for s in slopes)} from 2^10 to 2^512: {slope} in the end, where -1 is claimed"
    return judged(
        abs(slopes[-1] - float(slope)), "<", 0.05, said, "certificate", numbers=numbers, points=points,
        axes=("log2 n", "local slope"), dashed="claimed slope",
    )  # fmt: skip


def iterated_guarantee(log_n: float, theta_bar: float) -> float:
    """Excess that (D^2/R + R) n_i^(-1/2)/2 allows after the last call: D the true distance, R halving from 1."""
    calls = math.floor(math.log(2, theta_bar) * math.log2(log_n))
    D, R, excess = 1.0, 1.0, math.inf
    for i in range(1, calls + 1):
        size = 2.0 ** (i - 1 + log_n) / log_n ** math.log(2, theta_bar)
        excess = (D**2 / R + R) * size**-0.5 / 2
        D, R = (2 * excess) ** 0.5, R / 2
    return excess


PARTS = by_size(*([even_parts(j) for j in js] for js in ((34, 44, 54), range(34, 55, 5))))
"""Sizes that leave no record over: the roundings of the parts to powers of two would scatter the slopes."""
FAR_STEEPER = Family.of(mirrored=True, steepness=geometric(1.0, 4.0, 12))
LITTLE = 2.0**-24
"""The growth constant of a class that holds these."""
AT = {"growth": LITTLE, "epsilon": 2.0**-20}


class ShortIteration(ShortCalls, IteratedLocalised):
    """Algorithm 5 so."""


WRONG_PARTS: Mapping[str, Mutant] = {SHORT_CALLS: instead(ShortIteration)}


ITERATED = functools.partial(scaling, family=FAR_STEEPER, engine=BY_PHASES, mutants=WRONG_PARTS)
BEHIND, CONVEX = "tsybakov/thm-3@phases", "tsybakov/thm-3@convex"


@ITERATED(BEHIND, variable="n", sizes=PARTS)
def iterated_risk_under_growth(*, n: int, steepness: float) -> Instance:
    """Algorithm 5 with corrected phases at k = theta = 2: its domain does not shrink, and its risk is behind the order.

    There are 5 calls from n = 2^32 to 2^63, and what a call makes of a well of exponent 2 tends to τ^((4 + 2/k)/3),
    n^(-5/6), where the order has n^-1; the worst well of the class, a steeper one, has the τ of the convex case.
    """
    return grown(iterated(2.0), n, steepness, **AT)


@ITERATED(BEHIND, variable="lambda", sizes=by_size(powers(2, range(-36, -23, 6)), powers(2, range(-36, -23, 3))))
def iterated_risk_in_the_growth(*, steepness: float, **growth: float) -> Instance:
    """The same in the growth constant, where the order has -1."""
    return grown(iterated(2.0), even_parts(54), steepness, growth=growth["lambda"], epsilon=2.0**-20)


CASES = ((2.0, 2.0**-20), (4.0, 2.0**-26))


@ITERATED(
    CONVEX, variable="n", sizes=PARTS,
    series={"case": by_size(together("k epsilon", *CASES[:1]), together("k epsilon", *CASES))},
)  # fmt: skip
def iterated_risk(*, n: int, steepness: float, k: float, epsilon: float) -> Instance:
    """The same against the convex rate: -1/2 and -3/4."""
    return grown(iterated(k), n, steepness, k=k, growth=LITTLE, epsilon=epsilon)


@ITERATED(CONVEX, variable="epsilon", sizes=by_size(powers(2, range(-34, -17, 8)), powers(2, range(-34, -17, 4))))
def iterated_risk_in_epsilon(*, epsilon: float, steepness: float) -> Instance:
    """The same at k = 2 in epsilon."""
    return grown(iterated(2.0), even_parts(54), steepness, epsilon=epsilon, growth=LITTLE)


@ITERATED(CONVEX, variable="delta", sizes=FAILING)
def iterated_risk_in_delta(*, delta: float, steepness: float) -> Instance:
    """The same in the promised delta: 1/4 in log(1/delta)."""
    return grown(iterated(2.0), even_parts(54), steepness, delta=delta, **AT)


@ITERATED(CONVEX, variable="d", sizes=by_size((4, 16, 64), (4, 8, 16, 32, 64)), engine=IN_DIMENSIONS)
def iterated_risk_in_the_dimension(*, d: int, steepness: float) -> Instance:
    """The same in d dimensions: 1/4."""
    return grown(iterated(2.0), even_parts(54), steepness, d=d, **AT)


# Theorem 3 corrected for every loss is a bound on a quantile of what the calls of Theorem 2 corrected do.

EQUAL = [m << j for j, m in ((70, 33), (90, 43), (110, 53))]
"""Sizes of m calls on 2^j records each, none left over."""


def noisy_calls(n: int, steepness: float, **at: float) -> Instance:
    """The calls of Theorem 2 corrected on a well of exponent 2."""
    return grown(StochasticApproximation(**StochasticApproximation.readings["every-loss"]), n, steepness, **at)  # type: ignore[arg-type]


WITH_CONFIDENCE = functools.partial(
    scaling,
    "tsybakov/thm-3@every-loss",
    engine=Simulated(noisy_phases, 2400, quantile=1 - BETA, rounds=1),
    family=STEEPER,
    mutants={"C times n^(1/8)": instead(WideCalls)},
    since="standard",
)


@WITH_CONFIDENCE(variable="n", sizes=EQUAL)
def quantile_of_noisy_calls(*, n: int, steepness: float) -> Instance:
    """The 0.95-quantile of the excess risk on wells of exponent 2, at k = 2: -1."""
    return noisy_calls(n, steepness)


@WITH_CONFIDENCE(variable="epsilon", sizes=powers(2, range(-38, -13, 8)))
def quantile_of_noisy_calls_in_epsilon(*, epsilon: float, steepness: float) -> Instance:
    """The same in epsilon."""
    return noisy_calls(EQUAL[1], steepness, epsilon=epsilon)


@WITH_CONFIDENCE(variable="lambda", sizes=powers(2, range(-18, -5, 6)))
def quantile_of_noisy_calls_in_the_growth(*, steepness: float, **growth: float) -> Instance:
    """The same in the growth constant: -1."""
    return noisy_calls(EQUAL[1], steepness, growth=growth["lambda"])
