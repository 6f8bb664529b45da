"""What a run does, against what claims state of its settings: their numbers in the printed lines, its calls, its noise.

`settings` compares two typings, the schedule's and the claim's. Here the claims are held against what was carried out.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import scipy.stats

from dpcheck.checks import Check, Context, check
from dpcheck.engine.algorithms import algorithm, algorithms
from dpcheck.engine.settings import CLOSE, COUNTS, PRINTED, Drawer, Inner, Stated, StatedPlan
from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import norm
from dpcheck.harness import runtime
from dpcheck.interfaces import Algorithm, Array, Law, Problem, Schedule
from dpcheck.laws import Gaussian, GeneralizedGaussian, IsotropicLaplace, Laplace, PerRecord
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Outcome, Verdict, consistent, differs, holds

P = TypeVar("P")


def as_stated(
    chosen: Algorithm[P],
    problem: Problem,
    n: int,
    stated: Stated,
    *,
    symbols: Mapping[str, str] | None = None,
    powers: Mapping[str, int] | None = None,
    inner: Inner | None = None,
    reading: str = PRINTED,
) -> Schedule[P]:
    """What an algorithm plans, with what claims state in place of what it fixes itself.

    Printed lines that are replayed at the numbers of these phases do what a run does only where the claims are right:
    the run, and no second typing, contradicts a wrong one. Fields that `stated` does not name stay as planned, and so
    do the releases; whole numbers are rounded; there are as many phases as `stated["phases"]` says, the last ones left
    out, all but the first one at most, or others planned like the last one, of which there are not many times as many.

    Args:
        stated: as of `settings`, without what a field of the algorithm dials.
        symbols, powers, inner: as of `settings`.
        reading: of which `inner.stated` is taken.
    """
    schedule = chosen.schedule(problem, n)
    drawer = Drawer(chosen.label, {}, {}, dict(symbols or {}), dict(powers or {}), inner)
    told = schedule
    for _ in range(2):  # formulas speak of other settings, which the first turn puts in their place
        own, *_ = drawer.plans(chosen, problem, n, told, stated, reading)
        told = _told(told, own)
        rows: list[Any] = list(told.phases)
        for i, plan in enumerate(drawer.calls(reading, chosen, problem, told)):
            rows[i] = replace(rows[i], inner=_told(rows[i].inner, plan))
        told = replace(told, phases=tuple(rows))
    own, *_ = drawer.plans(chosen, problem, n, told, stated, reading)
    return replace(told, gradients=round(float(own.stated_value("gradients")[0]))) if "gradients" in stated else told


def _told(schedule: Schedule[P], plan: StatedPlan) -> Schedule[P]:
    """A schedule with what a plan of it states."""
    for name in plan.stated.keys() - plan.fixed.keys():  # which the formulas of others use
        plan.values[name] = plan.stated_value(name)
    fields = {name: plan.stated_value(name) for name in plan.stated if name in plan.fixed}
    rows: list[Any] = list(schedule.phases)
    for i, row in enumerate(rows):
        numbers = {name: _like(getattr(row, name), each[i]) for name, each in fields.items() if name not in COUNTS}
        # What differs by rounding alone may take a formula with a ceiling to the next number.
        same = {name for name, value in numbers.items() if math.isclose(value, getattr(row, name), rel_tol=CLOSE)}
        rows[i] = replace(row, **{name: value for name, value in numbers.items() if name not in same})
    if "phases" in fields:
        # Twice as many contradict a run as a thousand times do, of which some have numbers that no float holds.
        count = max(1, min(round(fields["phases"][0]), 2 * len(rows)))
        rows = [rows[min(i, len(rows) - 1)] for i in range(count)]
    return replace(schedule, phases=tuple(rows))


def _like(planned: Any, stated: float) -> Any:
    """A number of the kind that is planned."""
    return round(stated) if isinstance(planned, int | np.integer) else float(stated)


def run_as_stated(
    label: str,
    stated: Stated | Mapping[str, Stated],
    work: Any,
    problem: Problem,
    n: int,
    *,
    noises: Mapping[str, str] | None = None,
    trials: int = 400,
    fields: Mapping[str, Any] | None = None,
    symbols: Mapping[str, str] | None = None,
    powers: Mapping[str, int] | None = None,
    inner: Inner | None = None,
) -> Check:
    """The check that a run asks for as many gradients, and adds as much noise, as claims state.

    Args:
        label, stated, symbols, powers, inner: as of `settings`.
        work, problem, n: what is run.
        noises: setting that is a scale of noise -> the releases that it is of, by a shell pattern; the k-th of them
            belongs to the k-th phase.
        trials: of the run whose noise is looked at.
        fields: of the algorithm, beside those of the reading.

    The residuals (output - core) of a phase, in units of the stated scale, sum up to a χ² variable: the squares of
    Gaussian ones, twice the absolute values of Laplace ones. Outside of its quantiles the claim differs from the run;
    all phases together fail by chance as rarely as the cell may.
    """
    readings = _by_reading(stated)
    if not noises and not all("gradients" in of for of in readings.values()):
        raise InvalidInput(f"neither gradients nor a scale of noise of {label} is to be compared; name one of them")
    parts = ("gradients", *(noises or {}))
    also = tuple(dict.fromkeys(of[name] for of in readings.values() for name in parts if of.get(name, label) != label))

    def run_as_stated(context: Context, reading: str) -> Verdict:
        """Gradients that are asked for, and noise that is added, in a run at the printed constants."""
        own = {} if reading == PRINTED else dict(algorithms()[label].readings[reading])
        chosen, of = algorithm(label, **{**own, **(fields or {})}), readings[reading]
        plan = as_stated(chosen, problem, n, of, symbols=symbols, powers=powers, inner=inner, reading=reading)
        told = []
        if "gradients" in of:
            told.append(_counted(context, chosen, work, problem, n, plan.gradients, of["gradients"]))
        if noises:
            told.append(_noise(context, _run(context, chosen, work, problem, n, trials), plan, of, noises))
        wrong = [each for each in told if each.outcome is Outcome.DIFFERS]
        return wrong[0] if wrong else replace(told[-1], reason="; ".join(each.reason for each in told))

    expect = ("consistent",) if noises else ("holds",)
    return check(label, kind="runtime", grid={"reading": tuple(readings)}, also=also, expect=expect)(run_as_stated)


def _by_reading(stated: Stated | Mapping[str, Stated]) -> Mapping[str, Stated]:
    readings: Mapping[str, Any] = stated
    return readings if all(isinstance(each, Mapping) for each in stated.values()) else {PRINTED: readings}


def _counted(
    context: Context, chosen: Algorithm[Any], work: Any, problem: Problem, n: int, wanted: int, label: str
) -> Verdict:
    counts = runtime.count(chosen, work, problem, n, 1, context.seed, "counted as stated", n)
    counted = int(counts.gradients.max())
    if counted != wanted:
        return differs(f"{counted:,} gradients counted, {label} says {wanted:,}", "counted")
    return holds(f"{counted:,} gradients counted, as {label} says", "counted")


def _run(context: Context, chosen: Algorithm[Any], work: Any, problem: Problem, n: int, trials: int) -> Run[Any]:
    run: Run[Any] = Run(chosen.schedule(problem, n), trials, context.rng("run"))
    start = work.project(np.zeros((1, work.constants.d)))
    chosen.execute(run, work, Fixed(work.rows(context.rng("data"), trials, n)), start)
    return run


def _noise(context: Context, run: Run[Any], plan: Schedule[Any], stated: Stated, noises: Mapping[str, str]) -> Verdict:
    laws = {release.name: release.law for release in run.schedule.releases}
    level = context.failure_probability / (2 * len(noises) * len(plan.phases))
    widest = off = 0.0
    for field, pattern in noises.items():
        releases = [name for name in laws if fnmatch.fnmatchcase(name, pattern)]
        if len(releases) != len(plan.phases):
            return differs(f"{len(releases)} releases are called {pattern}, and {len(plan.phases)} phases are stated")
        for name, row in zip(releases, plan.phases, strict=True):
            if not 0 < getattr(row, field) < math.inf:
                return differs(f"{stated[field]} says that the scale of {name} is {getattr(row, field)}", "exact")
            residuals = [entry.output - entry.core for entry in run.transcript.entries if entry.name == name]
            sums = [_chi_square(laws[name], each, float(getattr(row, field))) for each in residuals]
            total, freedom = (sum(column) for column in zip(*sums, strict=True))
            low, high = scipy.stats.chi2(freedom).interval(1 - 2 * level)
            if not low <= total <= high:
                said = f"the noise of {name} has {total / freedom:.4g} times the sum that {stated[field]} says"
                said = f"{said}, where at most {high / freedom:.4g} is by chance"
                return differs(said, "sampled", failure_probability=context.failure_probability)
            off, widest = max(off, abs(total / freedom - 1)), max(widest, high / low)
    labels, phases = ", ".join(stated[field] for field in noises), len(plan.phases)
    return consistent(
        f"the noise of {phases} phase{'s' if phases > 1 else ''} is as {labels} says, up to {off:.2g}",
        "sampled",
        notices=f"a sum of residuals that is off by a factor of {widest:.3g}",
        failure_probability=context.failure_probability,
    )


def _chi_square(law: Law, residual: Array, scale: float) -> tuple[float, int]:
    """A sum of the residuals (…, k) that is χ² distributed at this scale of the law, and its degrees of freedom."""
    kind = law.law if isinstance(law, PerRecord) else law
    size, k = residual.size, residual.shape[-1]
    match kind:
        case Gaussian():
            return float((residual**2).sum() / scale**2), size
        case GeneralizedGaussian():
            return float((norm(residual, kind.r) ** 2).sum() / scale**2), size
        case Laplace():
            return float(2 * np.abs(residual).sum() / scale), 2 * size
        case IsotropicLaplace():
            return float(2 * norm(residual, 2.0).sum() / scale), 2 * size
    raise InvalidInput(f"{type(kind).__name__} noise of {k} coordinates has no scale that is known here")
