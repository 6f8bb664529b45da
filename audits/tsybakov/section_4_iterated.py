"""Section 4: Algorithm 5 and Theorem 3."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

from dpcheck.algorithms.tsybakov import IteratedLocalised
from dpcheck.algorithms.tsybakov.epochs import doubling_parts, part_exponent
from dpcheck.checks import Context, by_size, check, together
from dpcheck.engine.statements import stated
from dpcheck.harness import accuracy
from dpcheck.harness.refutation import witnessed
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Point, Verdict, holds, refuted

from .cases import (
    LINE,
    accounted,
    as_assumed,
    asked,
    counted,
    exponents,
    planned_as,
    priced,
    reach,
    refuted_by_plan,
    searched,
    told,
    well,
)
from .lines import FREELY, LOSSES, lines_of_calls
from .section_4_calls import COVERS, on_a_well, settings_of_calls


@check("tsybakov/alg-5@literal", kind="runtime", expect="refuted")
def printed_parts_fit_into_the_data(context: Context) -> Verdict:
    """Records asked for at theta_bar = 4, n = 2^16, base-2 logarithms, as a share of n."""
    share = sum(doubling_parts(2**16, 4.0, part_exponent(4.0, "printed"))) / 2**16
    return accuracy.never_violated(
        share,
        1.0,
        statement="records asked for <= n",
        witness=lambda _: witnessed("tsybakov/alg-5@literal", "alg_5_sizes", 1.0, share, log_n=16, theta_bar=4),
    )


@check("tsybakov/alg-5@corrected", kind="accuracy", grid={"theta_bar": (1.5, 2.0, 4.0)}, expect="consistent")
def parts_of_the_proof_fit_into_the_data(context: Context, *, theta_bar: float) -> Verdict:
    """Records of all parts with the exponent of the proof, against n; nearly all where log n is a power of θ̄."""
    asked, most = [], []
    for calls in range(2, 13):
        n = 2 ** math.floor(min(1000.0, theta_bar**calls))
        asked.append(float(sum(doubling_parts(n, theta_bar, part_exponent(theta_bar, "proof")))))
        most.append(stated("tsybakov/alg-5@corrected", n=float(n)))
    return accuracy.never_violated(asked, most, statement="records asked for <= n", drawn=False)


settings_of_algorithm_5 = settings_of_calls(
    "tsybakov/alg-5",
    {"phases": "tsybakov/alg-5@calls", "records": "tsybakov/alg-5@records", "step": "tsybakov/alg-4@gamma"},
    {
        "phases": "tsybakov/alg-5@calls",
        "records": "tsybakov/alg-5@corrected-records",
        "step": "tsybakov/alg-5@corrected-gamma",
    },
    theta_bar=(1.5, 2.0, 4.0),
)


@check("tsybakov/alg-5", kind="accuracy", grid={"reading": ("literal", "corrected", "private"), "loss": tuple(LOSSES)})
def lines_of_algorithm_5(context: Context, *, reading: str, loss: str) -> Verdict:
    """Each call on its own part, from the output before it, on the whole domain."""
    return lines_of_calls(context, IteratedLocalised(**FREELY, **IteratedLocalised.readings[reading]), loss, 64)


@check("tsybakov/alg-5@corrected", kind="privacy", grid={"reading": ("corrected", "private"), "theta_bar": (1.5, 2.0)})
def account_of_algorithm_5(context: Context, *, reading: str, theta_bar: float) -> Verdict:
    """Calls on disjoint parts of doubling size."""
    promise, n = ApproxDP(1.0, 1e-5), 1024
    algorithm = IteratedLocalised(theta_bar=theta_bar, **IteratedLocalised.readings[reading])
    return accounted(algorithm.schedule(told(LINE, promise), n), promise, COVERS[reading])


@check("tsybakov/alg-5@corrected", kind="sensitivity")
def releases_of_algorithm_5(context: Context) -> Verdict:
    """All phases of all calls, replayed."""
    algorithm = IteratedLocalised(theta_bar=2.0, **IteratedLocalised.readings["corrected"])
    return searched(context, algorithm, 64, "quadratics with A = I have monotone clipped steps")


@check("tsybakov/alg-5", kind="transcription", also=("tsybakov/thm-3",))
def plans_what_its_theorem_speaks_of(context: Context) -> Verdict:
    """One hypothesis at a time is broken: the schedule refuses, and so does the theorem."""

    def made(at: Mapping[str, float]) -> IteratedLocalised:
        fields = {name: at[name] for name in ("p", "k", "theta_bar")}
        return IteratedLocalised(**fields, project=True, first_exponent="corrected")  # type: ignore[arg-type]

    faults = {"p": 0.5, "k": 1.5, "epsilon": 30.0, "L": 1e9, "H": 1e12, "theta_bar": 0.9}
    return as_assumed("tsybakov/thm-3", made, 2**12, faults, eta=1e-3)


@check("tsybakov/alg-5", kind="runtime", grid={"p": (1.0, 2.0)})
def gradients_of_parts_grow_as_a_power(context: Context, *, p: float) -> Verdict:
    """Planned gradients over n^(p+1) log n, n = 2^30 and 2^60; parts are rounded to powers of two."""
    return planned_as("tsybakov/alg-5", iterated(2.0, p=p, lipschitz="ignored"), p, 3.0)


@check("tsybakov/alg-5@corrected", kind="runtime", grid={"n": by_size((64,), (64, 256, 1024))})
def gradients_of_the_iteration(context: Context, *, n: int) -> Verdict:
    """Gradients of the corrected Algorithm 5 against its schedule."""
    return counted(context, IteratedLocalised(**IteratedLocalised.readings["corrected"]), well(2.0, 4.0), n)


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
    """Algorithm 5 as printed, projected, theta_bar = 2 and n = 2^16, 2^32, 2^64: the noise of its last call will do."""
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


def iterated(k: float, **fields: Any) -> IteratedLocalised:
    """The corrected Algorithm 5, its phases taken to where they lead."""
    return IteratedLocalised(**{**IteratedLocalised.readings["corrected"], "k": k, "solver": "limit", **fields})


@check("tsybakov/thm-3@derived", kind="accuracy", grid={"theta_bar": (1.5, 2.0)})
def exponent_of_the_iterated_guarantee(context: Context, *, theta_bar: float) -> Verdict:
    """theta = 2, lambda = 1/2: local slopes of the guarantee in n, which tend to -1/2 and not to the claimed -1."""
    logs = [10.0, 16.0, 24.0, 40.0, 60.0, 128.0, 512.0]
    values = [iterated_guarantee(x, theta_bar) for x in logs]
    slopes = [math.log2(b / a) / (y - x) for (x, a), (y, b) in itertools.pairwise(zip(logs, values, strict=True))]
    points = [Point(x=x, value=s, bound=-1.0, series=f"theta_bar = {theta_bar:g}") for x, s in zip(logs, slopes)]  # noqa: B905
    numbers = {f"slope from 2^{x:g}": s for x, s in zip(logs, slopes)}  # noqa: B905
    floors = []
    for x, value in zip(logs, values, strict=True):
        calls = math.floor(math.log(2, theta_bar) * math.log2(x))
        floors.append(2.0 ** -(calls - 1) * (2.0 ** (calls - 1 + x) / x ** math.log(2, theta_bar)) ** -0.5 / 2 / value)
    found = accuracy.never_violated(
        floors, 1.0, statement="R_{l-1} E/2 <= the guarantee", evidence="certificate", tolerance=1e-9,
        covers="(D^2/R + R) E/2 >= R E/2 in the last call",
    )  # fmt: skip
    make = holds if found.outcome == "holds" and abs(slopes[-1] + 0.5) < 0.05 else refuted
    said = f"slopes {', '.join(f'{s:.2f}' for s in slopes)} from 2^10 to 2^512: -1/2 in the end, where -1 is claimed"
    axes = ("log2 n", "local slope")
    return make(said, "certificate", numbers=numbers, points=points, axes=axes, dashed="claimed slope")


def iterated_guarantee(log_n: float, theta_bar: float) -> float:
    """Excess that (D^2/R + R) n_i^(-1/2)/2 allows after the last call: D the true distance, R halving from 1."""
    calls = math.floor(math.log(2, theta_bar) * math.log2(log_n))
    D, R, excess = 1.0, 1.0, math.inf
    for i in range(1, calls + 1):
        size = 2.0 ** (i - 1 + log_n) / log_n ** math.log(2, theta_bar)
        excess = (D**2 / R + R) * size**-0.5 / 2
        D, R = (2 * excess) ** 0.5, R / 2
    return excess


PARTS = by_size(*([even_parts(j) for j in js] for js in ((34, 42, 50), range(28, 53, 2), range(28, 53))))
"""Sizes that leave no record over: the roundings of the parts to powers of two would scatter the slopes."""


@check(
    "tsybakov/thm-3@phases",
    kind="rate",
    grid={"theta": (2.0, 4.0), "k": (2.0, 4.0), "n": PARTS},
    conclude=priced("n", axis="mean excess risk"),
    expect=("refuted", "consistent", "undecided"),
)
def iterated_risk_under_growth(context: Context, *, theta: float, k: float, n: int) -> dict[str, float]:
    """Algorithm 5 with corrected phases on power wells: its domain does not shrink, and its risk is behind the order.

    There are 5 calls from n = 2^32 to 2^63, and what a call makes of a well of exponent 2 tends to τ^((4 + 2/k)/3):
    n^(-5/6) and n^(-9/8) at k = 2, 4, where the order has n^-1 and n^(-3/2).
    """
    return on_a_well(context, "tsybakov/thm-3@phases", iterated(k), theta, k, n)
