"""What the accountant certifies of the very run that is measured, and the least noise that it certifies.

Every figure of a run with reduced noise is shown beside `certified`; `calibrated` finds the noise that keeps a promise,
so that no dial has to be guessed; `judge_account` turns an account into a verdict. None of the three certifies anything
of a release whose sensitivity rests on a claim that is not proved (`Release.rests_on`).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, TypeVar

from dpcheck.accounting import Account, account, smallest_noise
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Algorithm, Problem, Schedule
from dpcheck.privacy import ApproxDP, Guarantee
from dpcheck.verdicts import Verdict, holds, undecided

A = TypeVar("A", bound=Algorithm[Any])
LARGEST = 4.0**20
"""Largest noise multiplier that is tried, and the inverse of the least."""


def certified(
    planned: Algorithm[Any] | Schedule[Any], problem: Problem, n: int, *, delta: float | None = None
) -> dict[str, float]:
    """What the accountant certifies of a run, to be merged into its row or `Verdict.numbers`.

    Args:
        planned: the algorithm, or the schedule that is run (a mutant's, say).
        n: number of records, to refuse reads beyond it.
        delta: where to read epsilon off; default: that of `problem.privacy`, and the account's own where it has none.

    Returns:
        "certified epsilon" (inf: nothing is certified) and "at delta"; the last is 0 for pure DP.
    """
    schedule = planned.schedule(problem, n) if isinstance(planned, Algorithm) else planned
    spent = account(schedule, n)
    if delta is None:
        promised = problem.privacy.delta if isinstance(problem.privacy, ApproxDP) else 0.0
        # Gaussian noise under a pure promise: nothing at delta = 0, and something at the delta of the tables.
        delta = promised if promised > 0 or math.isfinite(spent.epsilon(0.0)) else spent.reference_delta
    return {"certified epsilon": float(spent.epsilon(delta)), "at delta": float(delta)}


def calibrated(algorithm: A, dial: str, problem: Problem, n: int, promise: Guarantee | None = None) -> A:
    """The algorithm with the least noise that the accountant certifies for a promise, by bisection.

    >>> from dpcheck.harness.budget import calibrated, certified  # doctest: +SKIP
    >>> quiet = calibrated(NoisyMirrorDescent(), "c_sigma", problem, n)  # doctest: +SKIP
    >>> certified(quiet, problem, n)  # doctest: +SKIP
    {'certified epsilon': 1.0, 'at delta': 1e-05}

    Args:
        dial: name of a field that multiplies all noise, "c_sigma"; of an algorithm inside a field: "inner.c_sigma".
            More of it must never cost privacy.
        promise: default `problem.privacy`.

    Raises:
        Infeasible: the algorithm cannot be run at this size.
        InvalidInput: no such field, or no amount of noise is certified, because sensitivities are unproved, say.
    """
    wanted = problem.privacy if promise is None else promise

    def at(noise: float) -> A:
        return _with(algorithm, dial, noise)

    unproved = account(at(1.0).schedule(problem, n), n).unproved
    if unproved:
        raise InvalidInput(
            f"{algorithm.label}: no noise is certified, for its sensitivities rest on {', '.join(unproved)}, which is "
            "not proved for this instance; take a reading whose sensitivities are"
        )
    low = high = 1.0
    while not account(at(high).schedule(problem, n), n).within(wanted):
        low, high = high, 4 * high
        if high > LARGEST:
            raise InvalidInput(f"{algorithm.label}: {wanted} is not certified even with {dial} = {low:.3g}")
    while low > 1 / LARGEST and account(at(low).schedule(problem, n), n).within(wanted):
        low, high = low / 4, low
    return at(smallest_noise(lambda noise: at(noise).schedule(problem, n), wanted, low=low, high=high, tolerance=1e-6))


def _with(algorithm: A, dial: str, value: float) -> A:
    name, _, rest = dial.partition(".")
    if not dataclasses.is_dataclass(algorithm) or name not in {f.name for f in dataclasses.fields(algorithm)}:
        raise InvalidInput(f"{algorithm.label} has no field {name!r}")
    inner: Any = getattr(algorithm, name)
    return dataclasses.replace(algorithm, **{name: _with(inner, rest, value) if rest else value})


def judge_account(spent: Account, promise: Guarantee) -> Verdict:
    """HOLDS, as a certificate, when the account certifies the promise from proved sensitivities; else UNDECIDED.

    An accountant bounds from above, so it never refutes: that takes a pair (`dpcheck.harness.privacy.judge`).
    """
    delta = promise.delta if isinstance(promise, ApproxDP) else spent.reference_delta
    epsilon = float(spent.epsilon(delta))
    numbers: dict[str, float | int | str | bool] = {"certified epsilon": epsilon, "at delta": delta}
    if isinstance(promise, ApproxDP):
        numbers["allowed epsilon"] = promise.epsilon
    fields: dict[str, Any] = {"numbers": numbers}
    if isinstance(promise, ApproxDP):
        fields["severity"] = epsilon / promise.epsilon
    if spent.unproved:
        reason = f"nothing is certified: sensitivities rest on {', '.join(spent.unproved)}, not proved here"
        return undecided(reason, "certificate", **fields)
    said = f"ε at most {epsilon:.6g} at δ = {delta:g}"
    if not spent.within(promise):
        return undecided(f"{said} by the accountant, {promise} is not certified by it", "certificate", **fields)
    if spent.assumed:
        return undecided(f"{said} if {', '.join(spent.assumed)} is true, which is not proved", "certificate", **fields)
    return holds(f"{said}, {promise} is certified", "certificate", **fields)
