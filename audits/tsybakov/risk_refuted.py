"""Risk of Algorithms 3, 4 and 5 with the step sizes and weights as printed, outputs projected: it does not fall.

Linear losses -zw on [-1, 1], z = 1 with probability 3/4 and -1 otherwise: L_f = 1, smooth with every constant, every
moment is 1. delta = 1e-5, beta = 1/n, p = 1. Each cell asks for the order times `factor` (and times (log n)^logs), and
finds the excess at least `found` with a probability near 1/2 where 1/n is allowed; runs of the algorithm, phases taken
to where their steps lead, have to agree.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from scipy import stats

from dpcheck.algorithms.tsybakov import IteratedLocalised, LocalisedClipped, StochasticApproximation
from dpcheck.algorithms.tsybakov.localised import Phase
from dpcheck.checks import Context, by_size, check, together
from dpcheck.claims import evaluate
from dpcheck.engine.statements import order_of
from dpcheck.harness import rate, risk
from dpcheck.harness.refutation import refuted_by
from dpcheck.interfaces import Algorithm, Problem
from dpcheck.privacy import ApproxDP
from dpcheck.statistics.binomial import clopper_pearson
from dpcheck.verdicts import Point, Verdict, differs
from dpcheck.workloads.linear import TwoPoint

from ._risk import ANY, even_calls

TILTED = TwoPoint(D=2.0, G=1.0, rho=0.5)
DRAWN = 2**56
"""Larger samples are planned, and not drawn."""


def asked(n: int) -> Problem:
    return Problem(constants=TILTED.constants, privacy=ApproxDP(1.0, 1e-5), failure_probability=1 / n)


def reach(phases: tuple[Phase, ...]) -> float:
    """How far these phases move while no noise is longer than ten deviations; the mean gradient is at most 1."""
    return math.fsum(min(phase.level, 1.0) / phase.weight + 10 * phase.sigma for phase in phases)


def judged(
    context: Context, algorithm: Algorithm[Any], n: int, noisy: Phase, left: float, verifier: str, **parameters: Any
) -> Verdict:
    """The witness, which the algorithm's own plan has to give as well; then runs of it, and the mean beside the order.

    Args:
        noisy: the phase whose noise sends the output to the wrong end.
        left: how far from the minimiser the output is then.
    """
    label = f"tsybakov/{verifier.removesuffix('_risk').replace('_', '-')}"
    bound = order_beside(label, n, **parameters)
    numbers: dict[str, float] = {
        "n": float(n),
        "noise of phase 1 over the diameter": noisy.sigma / 2,
        "excess over the order": left / 2 / bound,
    }
    points: list[Point] = []
    series = rate.named({"": "as printed, projected", **{k: v for k, v in parameters.items() if k == "theta"}}, "n")
    if n <= DRAWN:
        trials = context.scale(200, 2000)
        values = risk.excess_risks(
            algorithm, TILTED, asked(n), n, trials, context.seed, context.label, context.name, n, gradients=ANY
        )
        chance, beyond = float(stats.norm.sf(2 / noisy.sigma)), int((values >= left / 2 * (1 - 1e-9)).sum())
        error = float(values.std(ddof=1)) / math.sqrt(trials)
        numbers |= {"mean excess": float(values.mean()), "runs that bad": beyond / trials, "at least expected": chance}
        points.append(
            Point(
                x=float(n), value=float(values.mean()), lower=float(values.mean()) - 2 * error,
                upper=float(values.mean()) + 2 * error, bound=bound, series=series,
            )
        )  # fmt: skip
        if clopper_pearson(beyond, trials, context.failure_probability, "upper")[1] < chance - 1e-9:
            said = f"{beyond} of {trials} runs have an excess of {left / 2:.4g}, expected in a share {chance:.4g}"
            return differs(said, "sampled", failure_probability=context.failure_probability, numbers=numbers)
    found = refuted_by(
        label, verifier, measured=left / 2, agreement=1e-9, numbers=numbers, points=points,
        axes=("n", "mean excess risk"), dashed="order, its constant set to 1", bars="of two standard errors",
        **parameters, p=1, epsilon=1, delta="1/100000",
    )  # fmt: skip
    return replace(found, severity=left / 2 / bound)


def order_beside(label: str, n: int, *, k: int, theta: int = 2, **rest: Any) -> float:
    """The O-form at constant 1; (1 - w)/2 >= 2^-theta (1 - w)^theta."""
    at = {
        "n": float(n), "k": float(k), "d": 1.0, "D": 2.0, "R_2k": 1.0, "theta": float(theta), "lambda": 2.0**-theta,
        "epsilon": 1.0, "delta": 1e-5, "beta": 1 / n, "p": 1.0,
    }  # fmt: skip
    return float(evaluate(order_of(label), at))


NAMES = "log2_n factor logs"
FACTORS = together(NAMES, (8, 2, 0), (12, 8, 0), (16, 30, 0), (20, 100, 0), (40, 100_000, 0))
KEPT = together(NAMES, (21, 100, 0), (34, 10_000, 0), (60, 1000, 3))
LARGE = together(NAMES, (33, 10_000, 0), (60, 1000, 3), (100, 10**8, 3))
"""(log2 n, factor, logs): the order times factor (log n)^logs is exceeded at n."""


def convex(context: Context, verifier: str, instance: tuple[int, int, int], first: int) -> Verdict:
    log_n, factor, logs = instance
    n, exponent = 2**log_n, {2: "printed", 1: "corrected"}[first]
    algorithm = LocalisedClipped(project=True, solver="limit", first_exponent=exponent)  # type: ignore[arg-type]
    phases = algorithm.phases(asked(n), n)
    # With the exponent p the printed step does not lead away from a start at the wrong end; runs start at 0.
    if first == 1:
        return refuted_by(
            f"tsybakov/{verifier.removesuffix('_risk').replace('_', '-')}", verifier, agreement=1e-9,
            measured=(2 - reach(phases)) / 2, k=2, log_n=log_n, factor=factor, logs=logs, first=1, p=1, epsilon=1,
            delta="1/100000",
        )  # fmt: skip
    left = 2 - reach(phases[1:])
    return judged(context, algorithm, n, phases[0], left, verifier, k=2, log_n=log_n, factor=factor, logs=logs, first=2)


@check("tsybakov/thm-1", kind="risk", grid={"instance": by_size(FACTORS, FACTORS + LARGE)}, expect="refuted")
def printed_step_ends_at_the_wrong_end(context: Context, *, instance: tuple[int, int, int]) -> Verdict:
    """Algorithm 3 as printed, projected, at the step of its proof: excess near 1 with probability near 1/2, for all n.

    More than 100 times the order at n = 2^20, 10,000 times at 2^33, and 1,000 (log n)^3 times at 2^60.
    """
    return convex(context, "thm_1_risk", instance, 2)


@check(
    "tsybakov/thm-10",
    kind="risk",
    grid={"instance": by_size(KEPT[:2], KEPT)},
    expect="refuted",
)
def printed_step_misses_the_order_with_its_logarithm(context: Context, *, instance: tuple[int, int, int]) -> Verdict:
    """The same against the order of Theorem 10, which keeps log n: 100 times at n = 2^21, 10,000 times at 2^34."""
    return convex(context, "thm_10_risk", instance, 2)


@check("tsybakov/thm-10", kind="risk", grid={"instance": KEPT[:2]}, expect="refuted")
def printed_step_stays_at_its_start_with_one_exponent(context: Context, *, instance: tuple[int, int, int]) -> Verdict:
    """Should the 2p of phase 1 be a misprint for p: the printed step then hardly leaves a start at the wrong end."""
    return convex(context, "thm_10_risk", instance, 1)


def halving(context: Context, verifier: str, theta: int, instance: tuple[int, int, int]) -> Verdict:
    """Algorithm 4 from 0 with R_0 = 1: the first call ends at the wrong end, the later balls lead back to 0 at most."""
    log_part, factor, logs = instance
    n = even_calls(log_part)
    algorithm = StochasticApproximation(project=True, solver="limit", radius=1.0)
    phases = algorithm.schedule(asked(n), n).phases[0].inner.phases
    left = 1 - reach(phases[1:])
    return judged(
        context, algorithm, n, phases[0], left, verifier, k=2, log_part=log_part, theta=theta, factor=factor, logs=logs
    )


PRINTED_CALLS = together(NAMES, (12, 20, 0), (16, 100, 0), (40, 10**4, 3))
PRINTED_LOGS = together(NAMES, (16, 100, 0), (24, 10_000, 0), (40, 10**4, 3))
LAST_CALLS = together("log2_log2_n factor logs", (4, 100, 0), (5, 10**5, 0), (6, 10**4, 3))


@check(
    "tsybakov/thm-2",
    kind="risk",
    grid={
        "theta": (2, 3),
        "instance": by_size(PRINTED_CALLS[:2], PRINTED_CALLS),
    },
    expect="refuted",
)
def printed_calls_do_not_come_back(context: Context, *, theta: int, instance: tuple[int, int, int]) -> Verdict:
    """Algorithm 4 as printed, projected: excess near 1/2 with probability near 1/2, for all n; 100 times at 2^18."""
    return halving(context, "thm_2_risk", theta, instance)


@check(
    "tsybakov/thm-11",
    kind="risk",
    grid={"instance": by_size(PRINTED_LOGS[:1], PRINTED_LOGS)},
    expect="refuted",
)
def printed_calls_miss_the_order_with_logarithms(context: Context, *, instance: tuple[int, int, int]) -> Verdict:
    """The same against the order of Theorem 11 at theta = 2."""
    return halving(context, "thm_11_risk", 2, instance)


@check(
    "tsybakov/thm-3",
    kind="risk",
    grid={
        "theta": (2, 3),
        "instance": by_size(LAST_CALLS[:2], LAST_CALLS),
    },
    expect="refuted",
)
def last_printed_call_ends_at_the_wrong_end(context: Context, *, theta: int, instance: tuple[int, int, int]) -> Verdict:
    """Algorithm 5 as printed, projected, theta_bar = 2 and n = 2^16, 2^32, 2^64: the noise of its last call will do."""
    log_log_n, factor, logs = instance
    n = 2 ** (2**log_log_n)
    algorithm = IteratedLocalised(project=True, solver="limit", theta_bar=2.0)
    phases = algorithm.schedule(asked(n), n).phases[-1].inner.phases
    left = 2 - reach(phases[1:])
    return judged(
        context, algorithm, n, phases[0], left, "thm_3_risk", k=2, log_log_n=log_log_n, theta=theta, factor=factor,
        logs=logs,
    )  # fmt: skip
