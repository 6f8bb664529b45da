"""What the accountant certifies of the very run that is measured, and the least noise that it certifies.

`calibrated` finds the noise that keeps a promise, so that no noise has to be guessed. Where a run has less, because the
calibrated noise would make the experiment say nothing, `budget` is what its row says of it: what is certified, or why
nothing is, and how loose the accountant can be; `with_budget` says the same in the sentence, `tabulated` in a row a
cell, and `caption` beside the figure. `judge_account` turns an account into a verdict. None of them certifies anything
of a release whose sensitivity rests on a claim that is not proved (`Release.rests_on`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from dpcheck.accounting import Account, account, smallest_noise
from dpcheck.checks import Measurement
from dpcheck.errors import InvalidInput
from dpcheck.harness import worst_pair
from dpcheck.interfaces import Algorithm, Problem, Schedule
from dpcheck.privacy import ApproxDP, Guarantee
from dpcheck.verdicts import Verdict, holds, undecided

A = TypeVar("A", bound=Algorithm[Any])
LARGEST = 4.0**20
"""Largest noise multiplier that is tried, and the inverse of the least."""
CERTIFIED = "certified epsilon"
"""Of a run; of several in one cell, names that begin so: "certified epsilon of the descent"."""
ENOUGH, REDUCED = "enough noise", "reduced noise"
"""Of runs whose plan promises nothing: the accountant certifies what the problem asks for, or less."""
PAIR = "epsilon of a worst pair"
LOOSE = "certified over worst pair"
TOLD = ("noise", CERTIFIED, "at delta", "epsilon asked for", "no certificate", PAIR, LOOSE)
"""What `budget` says, by name."""


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
    spent = account(_schedule(planned, problem, n), n)
    at = _read_at(spent, problem, delta)
    return {CERTIFIED: float(spent.epsilon(at)), "at delta": at}


def _schedule(planned: Algorithm[Any] | Schedule[Any], problem: Problem, n: int) -> Schedule[Any]:
    return planned.schedule(problem, n) if isinstance(planned, Algorithm) else planned


def _read_at(spent: Account, problem: Problem, delta: float | None) -> float:
    if delta is not None:
        return float(delta)
    promised = problem.privacy.delta if isinstance(problem.privacy, ApproxDP) else 0.0
    # Gaussian noise under a pure promise: nothing at delta = 0, and something at the delta of the tables.
    return float(promised if promised > 0 or math.isfinite(spent.epsilon(0.0)) else spent.reference_delta)


def budget(
    planned: Algorithm[Any] | Schedule[Any], problem: Problem, n: int, *, delta: float | None = None
) -> dict[str, float | str]:
    """What the row of a run says of its privacy, to be merged into a measurement or `Verdict.numbers`.

    Args:
        planned: the algorithm, or the schedule that is run.
        n: number of records.
        delta: as for `certified`.

    Returns:
        "noise": as claimed (the plan makes a promise), enough (it makes none, and the accountant certifies the
        problem's), or reduced; what `certified` says; "epsilon asked for"; and "no certificate", the reason, where
        nothing is certified, or else "epsilon of a worst pair" and the factor by which the accountant can be loose at
        most, where a worst pair is known.
    """
    schedule = _schedule(planned, problem, n)
    spent = account(schedule, n)
    at = _read_at(spent, problem, delta)
    epsilon = float(spent.epsilon(at))
    told: dict[str, float | str] = {"noise": _noise(schedule, spent, epsilon, at, problem.privacy)}
    told |= {CERTIFIED: epsilon, "at delta": at}
    if isinstance(problem.privacy, ApproxDP):
        told["epsilon asked for"] = problem.privacy.epsilon
    if not math.isfinite(epsilon):
        return told | {"no certificate": _why(spent, at)}
    least = worst_pair.epsilon(spent, at)
    return told | ({PAIR: least, LOOSE: epsilon / least} if least > 0 else {})


def _noise(schedule: Schedule[Any], spent: Account, epsilon: float, delta: float, promise: Guarantee) -> str:
    if schedule.claimed is not None:
        return "noise as claimed"
    if isinstance(promise, ApproxDP) and delta <= promise.delta:
        return ENOUGH if epsilon <= promise.epsilon * (1 + 1e-9) else REDUCED
    return ENOUGH if spent.within(promise) else REDUCED


def _why(spent: Account, delta: float) -> str:
    if spent.unproved:
        return f"sensitivities rest on {', '.join(spent.unproved)}, not proved here"
    if not spent.releases:
        return "no noise hides what it returns"
    failure = max(stretch.failure for stretch in spent.stretches)
    if failure > delta:
        return f"sensitivities fail with probability {failure:.3g}, more than delta"
    return "some release has no finite epsilon at this delta"


def sentence(told: Mapping[str, Any]) -> str:
    """What `budget` found, in words."""
    noise, delta = str(told["noise"]), float(told["at delta"])
    if "no certificate" in told:
        return f"{noise}, no certificate at δ = {delta:g}: {told['no certificate']}"
    said = f"{noise}, certified (ε, δ) = ({told[CERTIFIED]:.4g}, {delta:g})"
    if "epsilon asked for" in told:
        said += f" where ε = {told['epsilon asked for']:g} is asked for"
    if LOOSE in told:
        said += f", loose by at most a factor {told[LOOSE]:.3g}"
    return said


def with_budget(judged: Verdict, planned: Algorithm[Any] | Schedule[Any], problem: Problem, n: int) -> Verdict:
    """The verdict with the budget of the very run, in its numbers and in its sentence."""
    told = budget(planned, problem, n)
    return dataclasses.replace(judged, reason=f"{judged.reason}; {sentence(told)}", numbers={**judged.numbers, **told})


def tabulated(verdict: Verdict, measured: Sequence[tuple[Mapping[str, Any], Measurement]]) -> Verdict:
    """The verdict of all cells, with a row a cell of what is certified of its run, and the range in its sentence.

    Args:
        measured: every cell and what it measured; cells without a budget have no row.
    """
    rows = []
    for cell, value in measured:
        numbers = value.numbers if isinstance(value, Verdict) else value
        own = {name: number for name, number in numbers.items() if name in TOLD or name.startswith((CERTIFIED, LOOSE))}
        if any(name.startswith(CERTIFIED) for name in own):
            plain = {k: v if isinstance(v, bool | int | float | str) else str(v) for k, v in cell.items()}
            rows.append({**plain, **own})
    if len(measured) < 2 or not rows:
        return verdict
    verdict = verdict if verdict.rows else dataclasses.replace(verdict, rows=tuple(rows))
    if any(name.startswith(CERTIFIED) for name in verdict.numbers):
        return verdict
    spans = _spans(rows)
    words = ", ".join(sorted({str(row["noise"]) for row in rows if "noise" in row}))
    said = f"{verdict.reason}; {f'{words}, ' if words else ''}certified {_said(spans)}"
    return dataclasses.replace(
        verdict,
        reason=said,
        numbers={**verdict.numbers, **{f"largest {name}": high for name, (_, high) in spans.items()}},
    )


def caption(verdict: Verdict) -> str:
    """What stands beside a figure of runs: what is certified of them, in a sentence; "" where no budget is known."""
    rows = [row for row in (verdict.rows or (verdict.numbers,)) if any(name.startswith(CERTIFIED) for name in row)]
    if not rows:
        return ""
    words = sorted({str(row["noise"]) for row in rows if "noise" in row})
    said = f"{' and '.join(words).capitalize()}; certified" if words else "Certified"
    why = sorted({str(row["no certificate"]) for row in rows if "no certificate" in row})
    deltas = sorted({float(row["at delta"]) for row in rows if "at delta" in row})
    at = f" at δ from {deltas[0]:g} to {deltas[-1]:g}" if deltas else ""
    at = f" at δ = {deltas[0]:g}" if len(deltas) == 1 else at
    because = f" (no certificate: {'; '.join(why)})" if why else ""
    return f"{said} of these runs: {_said(_spans(rows))}{at}{because}."


def _spans(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Name of a certified epsilon -> the least and the largest of the rows."""
    names = dict.fromkeys(name for row in rows for name in row if name.startswith(CERTIFIED))
    by_name = {name: [float(row[name]) for row in rows if name in row] for name in names}
    return {name: (min(values), max(values)) for name, values in by_name.items()}


def _said(spans: Mapping[str, tuple[float, float]]) -> str:
    texts = []
    for name, (low, high) in spans.items():
        span = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        texts.append(f"ε{name.removeprefix(CERTIFIED)} = {span}")
    return "; ".join(texts)


def calibrated(
    algorithm: A, dial: str, problem: Problem, n: int, promise: Guarantee | None = None, *, tolerance: float = 1e-6
) -> A:
    """The algorithm with the least noise that the accountant certifies for a promise, by bisection.

    What was found is remembered: plans of the same releases are calibrated once a process.

    >>> from dpcheck.harness.budget import calibrated, certified  # doctest: +SKIP
    >>> quiet = calibrated(NoisyMirrorDescent(), "c_sigma", problem, n)  # doctest: +SKIP
    >>> certified(quiet, problem, n)  # doctest: +SKIP
    {'certified epsilon': 1.0, 'at delta': 1e-05}

    Args:
        dial: name of a field that multiplies all noise, "c_sigma"; of an algorithm inside a field: "inner.c_sigma".
            More of it must never cost privacy.
        promise: default `problem.privacy`.
        tolerance: relative; the answer is certified, and at most so much above the least noise.

    Raises:
        Infeasible: the algorithm cannot be run at this size.
        InvalidInput: no such field, or no amount of noise is certified, because sensitivities are unproved, say.
    """
    wanted = problem.privacy if promise is None else promise

    def at(noise: float) -> A:
        return _with(algorithm, dial, noise)

    plan = at(1.0).schedule(problem, n)
    key = (type(algorithm), dial, wanted, n, plan.releases, tolerance)
    if key not in _KNOWN:
        unproved = account(plan, n).unproved
        if unproved:
            raise InvalidInput(
                f"{algorithm.label}: no noise is certified, for its sensitivities rest on {', '.join(unproved)}, which "
                "is not proved for this instance; take a reading whose sensitivities are"
            )
        _KNOWN[key] = _least(
            lambda noise: at(noise).schedule(problem, n), wanted, tolerance, f"{dial} of {algorithm.label}"
        )
    return at(_KNOWN[key])


_KNOWN: dict[Any, float] = {}
"""Plan at the noise 1, and what is promised -> the least noise."""


def _least(plan: Callable[[float], Schedule[Any]], wanted: Guarantee, tolerance: float, named: str) -> float:
    """The stretch of records that needs most noise decides; the others are only asked whether that is enough."""
    delta = wanted.delta if isinstance(wanted, ApproxDP) else None
    spent, noise = account(plan(1.0)), 0.0
    while noise == 0 or not spent.within(wanted):
        at = spent.reference_delta if delta is None else delta
        worst = spent.worst(at) if noise == 0 else max(spent.stretches, key=lambda stretch: stretch.epsilon(at))
        names = frozenset(worst.names) if worst else frozenset()
        value = _enough(lambda x, names=names: _only(plan(x), names), wanted, tolerance, named)  # type: ignore[misc]
        # Rounding of a tie between two stretches.
        noise = max(value, noise * (1 + tolerance))
        spent = account(plan(noise))
    return noise


def _only(plan: Schedule[Any], names: Collection[str]) -> Schedule[Any]:
    """The releases of these names, read by nobody else."""
    return dataclasses.replace(plan, releases=tuple(r for r in plan.releases if r.name in names))


def _enough(plan: Callable[[float], Schedule[Any]], wanted: Guarantee, tolerance: float, named: str) -> float:
    def enough(noise: float) -> bool:
        return account(plan(noise)).within(wanted)

    low = high = 1.0
    while not enough(high):
        low, high = high, 4 * high
        if high > LARGEST:
            raise InvalidInput(f"{wanted} is not certified even with {named} = {low:.3g}")
    while low == high and low > 1 / LARGEST:
        low = low / 4
        if enough(low):
            high = low
    return smallest_noise(plan, wanted, low=low, high=high, tolerance=tolerance)


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
