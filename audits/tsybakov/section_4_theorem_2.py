"""Section 4: Theorem 2, and Theorem 11, which is 2 with its logarithms."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.tsybakov import LocalisedClipped, StochasticApproximation
from dpcheck.algorithms.tsybakov.epochs import LocalisedCall
from dpcheck.algorithms.tsybakov.localised import Phase
from dpcheck.checks import Context, by_size, check, together
from dpcheck.claims import evaluate
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import order_of, stated
from dpcheck.harness import accuracy
from dpcheck.harness.scaling import Instance, Simulated, admitted, powers, scaling
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.scaling.turned_back import noisy_phases
from dpcheck.interfaces import Problem, Schedule
from dpcheck.verdicts import Verdict, differs
from dpcheck.workloads.power_well import PowerWell

from .cases import (
    BY_CALLS,
    CALLS_IN_DIMENSIONS,
    FAILING,
    NAMES,
    SHORT_CALLS,
    STEEPER,
    ShortCalls,
    WideCalls,
    approximation,
    asked,
    exponents,
    grown,
    instead,
    reach,
    refuted_by_plan,
    transcribed,
)

GROWING = ("tsybakov/thm-2", "tsybakov/thm-2@phases", "tsybakov/thm-11", "tsybakov/thm-11@phases", "tsybakov/rem-3")


@check("tsybakov/thm-2", kind="transcription", grid={"label": GROWING}, also=GROWING[1:])
def exponents_of_theorem_2(context: Context, *, label: str) -> Verdict:
    """The same times theta/(theta-1) = 4/3, and -1/(theta-1) in lambda."""
    return exponents(label, 4 / 3)


PRINTED_CALLS = together(NAMES, (12, 20, 0), (16, 100, 0), (40, 10**4, 3))


def even_calls(j: int) -> int:
    """A size that Algorithm 4 splits into calls of 2^j records each, none left over."""
    return next(m << j for m in range(1, 64) if StochasticApproximation.epochs(m << j) == m)


class OneRadius(StochasticApproximation):
    """Every call at the radius of the first one."""

    def schedule(self, problem: Problem, n: int) -> Schedule[LocalisedCall]:
        plan = super().schedule(problem, n)
        first = plan.phases[0]
        return replace(plan, phases=tuple(replace(e, radius=first.radius, inner=first.inner) for e in plan.phases))


class OneCall(StochasticApproximation):
    """The first call alone."""

    def parts(self, n: int) -> list[int]:
        return super().parts(n)[:1]


class ShortApproximation(ShortCalls, StochasticApproximation):
    """Algorithm 4 so."""


WRONG_CALLS: Mapping[str, Mutant] = {
    "one call": instead(OneCall),
    "one radius for all calls": instead(OneRadius),
    SHORT_CALLS: instead(ShortApproximation),
}


def halving(context: Context, verifier: str, theta: int, instance: tuple[int, int, int]) -> Verdict:
    """Algorithm 4 from 0 with R_0 = 1: the first call ends at the wrong end, the later balls lead back to 0 at most."""
    log_part, factor, logs = instance
    n = even_calls(log_part)
    algorithm = StochasticApproximation(project=True, solver="limit", radius=1.0)
    phases = algorithm.schedule(asked(n), n).phases[0].inner.phases
    left = 1 - reach(phases[1:])
    return refuted_by_plan(
        context, algorithm, n, phases[0], left, verifier, k=2, log_part=log_part, theta=theta, factor=factor, logs=logs
    )


@check(
    "tsybakov/thm-2",
    kind="risk",
    grid={"theta": (2, 3), "instance": by_size(PRINTED_CALLS[:2], PRINTED_CALLS)},
    expect="refuted",
)
def printed_calls_do_not_come_back(context: Context, *, theta: int, instance: tuple[int, int, int]) -> Verdict:
    """Algorithm 4 as printed, projected: excess near 1/2 with probability near 1/2, for all n; 100 times at 2^18.

    What it makes of zeros for records is as bad, and passes: that noise, and not the data, decides is what is shown.
    """
    return halving(context, "thm_2_risk", theta, instance)


@dataclass(frozen=True)
class Adversary:
    """Any legal answer of a call on [low, high]: excess at most `allowed` over the best point there; the worst one."""

    work: PowerWell
    worst: bool = True

    def __call__(self, low: float, high: float, allowed: float, rng: np.random.Generator) -> float:
        c = float(self.work.c[0])
        near = min(max(c, low), high)
        room = (self.work.theta / self.work.weight * (self._value(near) + allowed)) ** (1 / self.work.theta)
        ends = [max(low, c - room), min(high, c + room)]
        if not self.worst:
            return float(rng.uniform(*sorted(ends)))
        return max(ends, key=lambda w: abs(w - c))

    def _value(self, w: float) -> float:
        return float(self.work.excess_risk(np.array([[w]]))[0])


@check("tsybakov/thm-2@derived", kind="accuracy", grid={"theta": (2.0, 3.0, 4.0)}, expect="consistent")
def shrinking_balls_against_an_adversary(context: Context, *, theta: float) -> Verdict:
    """Algorithm 4 with the worst legal answers in one dimension: final excess against 4(2a)^(θ/(θ-1)) λ^(-1/(θ-1))."""
    rng, left, right = context.rng(), [], []
    for trial in range(context.scale(300, 3000, 30_000)):
        c, weight = float(rng.uniform(-1, 1)), float(np.exp(rng.uniform(-2, 2)))
        work = PowerWell(c=np.array([c]), v=np.ones(1), theta=theta, weight=weight)
        growth, m, R_0 = weight / theta, int(rng.integers(1, 12)), 2.0
        # lambda between mu_0 and mu_m.
        a = growth / (2 * R_0 ** (1 - theta)) * 2 ** (-(theta - 1) * rng.uniform(0, m))
        answer, w, radius = Adversary(work, worst=trial % 3 > 0), float(rng.uniform(-1, 1)), R_0
        for _ in range(m):
            w = answer(max(-1.0, w - radius), min(1.0, w + radius), radius * a, rng)
            radius /= 2
        left.append(float(work.excess_risk(np.array([[w]]))[0]))
        right.append(stated("tsybakov/thm-2@derived", a=a, theta=theta, lambda_=growth, R_0=R_0, m=m))
    return accuracy.never_violated(
        left, right, statement="final excess <= the bound", failure_probability=context.failure_probability
    )


CALLS = by_size(*([even_calls(j) for j in js] for js in (range(70, 111, 20), range(70, 111, 10))))
CASES = [together("theta k epsilon", *cases) for cases in (
    [(2.0, 2.0, 2.0**-40)], [(2.0, 2.0, 2.0**-40), (2.0, 4.0, 2.0**-44), (4.0, 2.0, 2.0**-40)]
)]  # fmt: skip
RECORDS = even_calls(90)
"""Records where n does not vary."""
HALVED = functools.partial(scaling, "tsybakov/thm-2@phases", family=STEEPER, engine=BY_CALLS, mutants=WRONG_CALLS)
"""Rows of Algorithm 4 at a fixed n, where the order of Theorem 11 is a multiple of that of Theorem 2."""
ALSO = ("tsybakov/rem-3", "tsybakov/thm-11@phases")


@HALVED(
    variable="n", sizes=CALLS, also=ALSO[:1], series={"case": by_size(*CASES)},
)  # fmt: skip
def approximation_risk_under_growth(*, n: int, steepness: float, theta: float, k: float, epsilon: float) -> Instance:
    """The corrected Algorithm 4 on power wells against its order: -1, -3/2 (theta = 2) and -2/3 (theta = 4)."""
    return grown(approximation(k), n, steepness, theta=theta, k=k, epsilon=epsilon)


@HALVED(variable="epsilon", sizes=by_size(powers(2, range(-44, -11, 16)), powers(2, range(-44, -11, 8))), also=ALSO)
def approximation_risk_in_epsilon(*, epsilon: float, steepness: float) -> Instance:
    """The same at k = theta = 2 in epsilon."""
    return grown(approximation(2.0), RECORDS, steepness, epsilon=epsilon)


@HALVED(
    variable="d", sizes=(8, 16, 32, 64, 128), also=ALSO, engine=CALLS_IN_DIMENSIONS, since="standard"
)  # fmt: skip
def approximation_risk_in_the_dimension(*, d: int, steepness: float) -> Instance:
    """The same in d dimensions: 1/2."""
    return grown(approximation(2.0), even_calls(40), steepness, d=d, epsilon=2.0**-12)


@HALVED(variable="delta", sizes=FAILING, also=ALSO)
def approximation_risk_in_delta(*, delta: float, steepness: float) -> Instance:
    """The same in the promised delta: 1/2 in log(1/delta)."""
    return grown(approximation(2.0), RECORDS, steepness, delta=delta)


@HALVED(variable="lambda", sizes=by_size(powers(2, range(-20, -5, 7)), powers(2, range(-22, -5, 4))), also=ALSO)
def approximation_risk_in_the_growth(*, steepness: float, **growth: float) -> Instance:
    """The same in the growth constant: -1."""
    return grown(approximation(2.0), RECORDS, steepness, growth=growth["lambda"])


@HALVED(variable="R_2k", sizes=by_size(powers(2, range(0, 15, 7)), powers(2, range(0, 17, 4))), also=ALSO)
def approximation_risk_in_the_moment(*, R_2k: float, steepness: float) -> Instance:
    """The same in the moment: 2."""
    return grown(approximation(2.0), RECORDS, steepness, R=R_2k)


@HALVED(
    variable="D", sizes=by_size(powers(2, range(1, 12, 5)), powers(2, range(1, 14, 3))), also=ALSO,
    mutants={name: WRONG_CALLS[name] for name in ("one call", "one radius for all calls")},
)  # fmt: skip
def approximation_risk_in_the_diameter(*, D: float, steepness: float) -> Instance:
    """The same on wider domains: 0."""
    return grown(approximation(2.0), RECORDS, steepness, growth=2.0**-20, radius=D / 2)


@check("tsybakov/thm-2@phases", kind="accuracy", grid={"theta": (2.0, 4.0)}, expect="consistent")
def calls_in_closed_form(context: Context, *, theta: float) -> Verdict:
    """The calls that these rates rest on, against runs on drawn records, n about 2^44."""
    # unbound: an engine of rates against drawn runs, whatever the rate is
    one = grown(approximation(2.0), even_calls(40), theta=theta, epsilon=2.0**-16)
    return admitted(replace(BY_CALLS, trials=context.scale(20_000, 100_000)), one, context.scale(200, 2000), context)


# Theorem 2 corrected for every loss: calls on the whole domain, with noise on each step.


class WideClipsInD(LocalisedClipped):
    """Levels too large by d^(1/4), and so the noise."""

    def phases(self, problem: Problem, n: int) -> tuple[Phase, ...]:
        factor = problem.constants.d ** (1 / 4)
        return tuple(
            replace(row, level=row.level * factor, sigma=row.sigma * factor) for row in super().phases(problem, n)
        )


class WideCallsInD(StochasticApproximation):
    """Calls of it."""

    def call(self, radius: float) -> LocalisedClipped:
        return WideClipsInD(**vars(super().call(radius)))


WRONG_NOISY_CALLS: Mapping[str, Mutant] = {
    "one call": instead(OneCall),
    "one radius for all calls": instead(OneRadius),
    "C times n^(1/8)": instead(WideCalls),
}
CALLED_NOISY = Simulated(noisy_phases, 600, rounds=1)
CALLED_NOISY_CASES = together("k epsilon", (2.0, 2.0**-32), (4.0, 2.0**-38))
EVERY_LOSS: Mapping[str, Any] = {"family": STEEPER, "mutants": WRONG_NOISY_CALLS, "since": "standard"}


def noisy_calls(n: int, steepness: float, k: float = 2.0, epsilon: float = 2.0**-32, **rest: Any) -> Instance:
    """Calls of Algorithm 3 with noise on each step, on a well of exponent 2 in the class."""
    algorithm = StochasticApproximation(**StochasticApproximation.readings["every-loss"])
    one = grown(algorithm, n, steepness, k=k, epsilon=epsilon, **rest)
    return replace(one, at={**one.at, "m": float(len(algorithm.parts(n)))})


NOISY_CALLS = functools.partial(
    scaling, "tsybakov/thm-2@every-loss", engine=CALLED_NOISY, against="explicit", **EVERY_LOSS
)


@NOISY_CALLS(
    variable="n", sizes=CALLS.standard, series={"case": together("k epsilon", (2.0, 2.0**-32), (4.0, 2.0**-38))}
)
def noisy_calls_risk(*, n: int, steepness: float, k: float, epsilon: float) -> Instance:
    """The mean excess risk of the corrected theorem's calls on wells of exponent 2: -1 and -3/2."""
    return noisy_calls(n, steepness, k, epsilon)


@NOISY_CALLS(variable="epsilon", sizes=powers(2, range(-38, -13, 8)))
def noisy_calls_risk_in_epsilon(*, epsilon: float, steepness: float) -> Instance:
    """The same at k = 2 in epsilon."""
    return noisy_calls(RECORDS, steepness, epsilon=epsilon)


@NOISY_CALLS(variable="delta", sizes=FAILING.smoke, engine=Simulated(noisy_phases, 3600, rounds=1))
def noisy_calls_risk_in_delta(*, delta: float, steepness: float) -> Instance:
    """The same in the promised delta: 1/2 in log(1/delta)."""
    return noisy_calls(RECORDS, steepness, delta=delta)


@NOISY_CALLS(
    variable="d", sizes=(16, 64, 256), engine=Simulated(noisy_phases, 500, rounds=1),
    mutants={
        "one call": instead(OneCall), "one radius for all calls": instead(OneRadius),
        "C times d^(1/4)": instead(WideCallsInD),
    },
)  # fmt: skip
def noisy_calls_risk_in_the_dimension(*, d: int, steepness: float) -> Instance:
    """The same in d dimensions: 1/2."""
    return noisy_calls(RECORDS, steepness, d=d)


@NOISY_CALLS(variable="lambda", sizes=powers(2, range(-18, -5, 6)), engine=Simulated(noisy_phases, 1800, rounds=1))
def noisy_calls_risk_in_the_growth(*, steepness: float, **growth: float) -> Instance:
    """The same in the growth constant: -1."""
    return noisy_calls(RECORDS, steepness, growth=growth["lambda"])


PRINTED_LOGS = together(NAMES, (16, 100, 0), (24, 10_000, 0), (40, 10**4, 3))


@check("tsybakov/thm-11", kind="risk", grid={"instance": by_size(PRINTED_LOGS[:1], PRINTED_LOGS)}, expect="refuted")
def printed_calls_miss_the_order_with_logarithms(context: Context, *, instance: tuple[int, int, int]) -> Verdict:
    """The same against the order of Theorem 11 at theta = 2.

    What it makes of zeros for records is as bad, and passes: that noise, and not the data, decides is what is shown.
    """
    return halving(context, "thm_11_risk", 2, instance)


@scaling(
    "tsybakov/thm-11@phases", variable="n", sizes=CALLS, family=STEEPER, engine=BY_CALLS, mutants=WRONG_CALLS,
    series={"case": by_size(*CASES)},
)  # fmt: skip
def approximation_risk_with_its_logarithms(
    *, n: int, steepness: float, theta: float, k: float, epsilon: float
) -> Instance:
    """The same against the order with the logarithms of Theorem 11."""
    return grown(approximation(k), n, steepness, theta=theta, k=k, epsilon=epsilon)


@check("tsybakov/rem-3", kind="transcription")
def bound_without_the_domain(context: Context) -> Verdict:
    """The bound of Theorem 2 at drawn values, without D, the smoothness or L_f."""
    said, rng, of_remark, wanted = claim("tsybakov/rem-3"), context.rng(), [], []
    there = sorted({"D", "H", "L", "R"} & set(said.needs))
    if there:
        return differs(f"the bound of {said.title} has {', '.join(there)}, of which it is to be independent")
    for _ in range(100):
        at = {name: float(np.exp(rng.uniform(-3, 3))) for name in said.needs}
        at |= {"theta": 2 + at["theta"], "k": 2 + at["k"], "n": 2 + at["n"] * 1e6, "delta": 1e-6, "beta": 1e-3}
        of_remark.append(evaluate(order_of("tsybakov/rem-3"), at))
        wanted.append(evaluate(order_of("tsybakov/thm-2"), at))
    return transcribed(of_remark, wanted, "the bound of Remark 3, and that of Theorem 2")


@check("tsybakov/rem-3@derived", kind="accuracy", grid={"theta": (1.5, 2.0, 4.0)})
def cones_attain_the_diameter(context: Context, *, theta: float) -> Verdict:
    """The cone L|w| on a ball: its growth constant on the whole domain, and the diameter, which is the bound."""
    rng, values, wanted = context.rng(), [], []
    for slope, radius in np.exp(rng.uniform(-3, 3, (context.scale(20, 200), 2))):
        w = radius * np.linspace(0, 1, 1001)[1:]
        grows = float((slope * w / w**theta).min())
        values.append(2 * radius)
        wanted.append(stated("tsybakov/rem-3@derived", L=slope, lambda_=grows, theta=theta))
    return transcribed(values, wanted, "diameter of the ball, and the largest one")
