"""`<algorithm>::settings`: what a schedule fixes, against the claims of the parameters as printed and as corrected."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.checks import Check, Context, by_size, check
from dpcheck.claims import SEQUENCE, evaluate
from dpcheck.engine.algorithms import algorithm, algorithms
from dpcheck.engine.catalogue import claim
from dpcheck.engine.setting import known
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Constants, Family, Problem, Rng, Schedule
from dpcheck.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from dpcheck.symbols import index
from dpcheck.verdicts import Verdict, differs, holds, undecided

Stated = Mapping[str, str]
"""Setting -> label of the claim that states it. A setting is a field of the algorithm's phases, a symbol of its
`terms`, "phases" (how many there are) or "gradients"."""
PRINTED = "as printed"
DRAWS = by_size(40, 200, 1000)
LEAST = 10
"""Fewer drawn problems that the schedule can be planned for show little."""
PROBLEM = frozenset({"n", "d", "epsilon", "delta", "rho"})
"""What a formula means by these is the problem's, even where a field of the only phase has that name."""
CLOSE = 1e-9
"""Relative: both sides are a few operations on floats."""


def settings(
    label: str,
    stated: Stated | Mapping[str, Stated],
    *,
    symbols: Mapping[str, str] | None = None,
    powers: Mapping[str, int] | None = None,
    beside: Mapping[str, str] | None = None,
    problems: Callable[[Rng], tuple[Problem, int]] | None = None,
    fields: Mapping[str, Sequence[Any]] | None = None,
) -> Check:
    """The check that an algorithm is planned as its claims say, at problems that are drawn.

    Formulas may speak of all that is known of the problem and the algorithm, of i, the number of the phase, and of
    the fields of its phases: `eta[i]`, or `eta` where there is one phase.

    Args:
        label: of the algorithm.
        stated: setting -> label of its claim; or that of each reading of the algorithm, by the name that it has in
            `Algorithm.readings`, with "as printed" for the fields that it has by itself.
        symbols: setting -> name of its symbol in the claims, where that is another.
        powers: setting -> power of it that its claim states, such as 2 where that is a variance.
        beside: field of the phases that no claim states -> the reason.
        problems: draws a problem and n; default `drawn()`. What the schedule refuses is drawn again.
        fields: field of the algorithm -> values, one of which is drawn with each problem.
    """
    printed = all(isinstance(each, str) for each in stated.values())
    readings: Mapping[str, Any] = {PRINTED: stated} if printed else stated
    also = tuple(dict.fromkeys(name for of in readings.values() for name in of.values() if name != label))
    plans = _Plans(label, problems or drawn(), dict(fields or {}), dict(symbols or {}), dict(powers or {}))

    def settings(context: Context, reading: str) -> Verdict:
        """Every setting that the schedule fixes is what its claim says, at drawn problems."""
        planned = list(plans.draw(reading, DRAWS.at(context.size), context.rng()))
        return _compared(planned, readings[reading], frozenset(beside or {}), plans)

    return check(label, kind="transcription", grid={"reading": tuple(readings)}, also=also)(settings)


@dataclass(frozen=True)
class _Plans:
    """Schedules of an algorithm at drawn problems."""

    label: str
    problems: Callable[[Rng], tuple[Problem, int]]
    fields: Mapping[str, Sequence[Any]]
    symbols: Mapping[str, str]
    powers: Mapping[str, int]

    def draw(self, reading: str, tries: int, rng: Rng) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """Of each problem that can be planned: where, what its schedule fixes, and values of symbols."""
        own = {} if reading == PRINTED else dict(algorithms()[self.label].readings[reading])
        for _ in range(tries):
            chosen = algorithm(
                self.label,
                **own,
                **{name: values[int(rng.integers(len(values)))] for name, values in self.fields.items()},
            )
            problem, n = self.problems(rng)
            try:
                schedule = chosen.schedule(problem, n)
            except (Infeasible, InvalidInput):
                continue
            fixed = fixes(schedule)
            values = known(chosen, problem, n)
            for name, value in fixed.items():
                symbol = self.symbols.get(name, name)
                if np.ndim(value):
                    values[f"{symbol}{SEQUENCE}"] = value
                if np.size(value) == 1 and symbol not in PROBLEM:
                    values[symbol] = float(np.ravel(value)[0])
            yield f"n = {n:,}, d = {problem.constants.d} and {problem.privacy}", fixed, values


def fixes(schedule: Schedule[Any]) -> dict[str, Any]:
    """Every number that a schedule fixes: of its phases, one for each, by field; how many there are; its gradients."""
    names = [field.name for field in dataclasses.fields(schedule.phases[0])] if schedule.phases else []
    columns = {name: [getattr(phase, name) for phase in schedule.phases] for name in names}
    numbers = {name: values for name, values in columns.items() if all(_number(value) for value in values)}
    counts = {"phases": len(schedule.phases), "gradients": schedule.gradients}
    return {name: np.array(values, dtype=float) for name, values in numbers.items()} | counts


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _compared(
    planned: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]],
    stated: Stated,
    beside: frozenset[str],
    plans: _Plans,
) -> Verdict:
    for where, fixed, values in planned:
        missing = sorted(fixed.keys() - stated.keys() - beside - {"phases", "gradients"})
        if missing:
            return differs(f"the schedule fixes {', '.join(missing)}, which no claim states")
        for name, label in stated.items():
            value = fixed.get(name, values.get(name))
            if value is None:
                return differs(f"the schedule fixes no {name}, which {label} states")
            power = plans.powers.get(name, 1)
            wrong = _difference(name if power == 1 else f"{name}^{power}", label, np.power(value, power), values)
            if wrong:
                return differs(f"{wrong}, at {where}")
    names = ", ".join(plans.symbols.get(name, name) for name in stated)
    said = f"{names} {'is' if len(stated) == 1 else 'are'} as stated"
    if len(planned) < LEAST:
        return undecided(f"{said} at the {len(planned)} drawn problems that can be planned", "exact")
    return holds(f"{said} at {len(planned)} drawn problems", "exact", numbers={"problems": len(planned)})


def _difference(name: str, label: str, fixed: Any, values: Mapping[str, Any]) -> str:
    """What is wrong with one setting: "" where it agrees with its claim."""
    bound = claim(label).bound
    if bound is None:
        return f"{label} has no formula"
    ours = np.asarray(fixed, dtype=float)
    bound, terms = _unrolled(bound, values, ours.size)
    theirs = np.broadcast_to(evaluate(bound, {**values, **terms}, label=label), ours.shape)
    wrong = ~np.isclose(ours, theirs, rtol=CLOSE, atol=0.0)
    if not wrong.any():
        return ""
    first = tuple(np.argwhere(wrong)[0])
    phase = f" of phase {first[0] + 1}" if first and ours.size > 1 else ""
    return f"{name}{phase} is {float(ours[first]):.6g}, and {label} says {float(theirs[first]):.6g}"


def _unrolled(bound: sp.Expr, values: Mapping[str, Any], phases: int) -> tuple[sp.Expr, dict[str, Any]]:
    """The formula with `eta[i]` and `eta[i - 1]` as symbols of their own, and the values of these in all phases."""
    numbers = np.arange(1, phases + 1)
    found: dict[str, Any] = {index.name: numbers.astype(float)}
    for term in bound.atoms(sp.Indexed):
        shift = term.indices[0] - index
        name = f"{term.base.label}{SEQUENCE}"
        if shift.is_Integer and name in values:
            padded = np.full(phases, math.nan)
            inside = (numbers + int(shift) >= 1) & (numbers + int(shift) <= len(values[name]))
            padded[inside] = np.asarray(values[name])[(numbers + int(shift) - 1)[inside]]
            alone = sp.Symbol(f"{term.base.label}_{int(shift)}", positive=True)
            bound, found = bound.xreplace({term: alone}), found | {alone.name: padded}
    return bound, found


def drawn(
    *,
    budget: type[Guarantee] = ApproxDP,
    users: bool = False,
    n: tuple[float, float] = (2.0**6, 2.0**40),
    d: tuple[float, float] = (1, 1000),
    epsilon: tuple[float, float] = (1 / 64, 0.99),
    family: Family = "",
    smooth: bool = True,
    extra: Mapping[str, tuple[float, float]] | None = None,
) -> Callable[[Rng], tuple[Problem, int]]:
    """Problems with constants that differ from norm to norm and from moment to moment, so that none stands for another.

    Args:
        budget: kind of the promise; `epsilon` is rho for a zCDP.
        users: with samples a user, 1 to 2^20.
        n, d, epsilon, extra: the ranges from which each is drawn, evenly in its logarithm.
        smooth: with a finite smoothness.
    """
    ranges = {"n": n, "d": d, "epsilon": epsilon} | dict(extra or {})

    def problem(rng: Rng) -> tuple[Problem, int]:
        at = {name: math.exp(rng.uniform(math.log(low), math.log(high))) for name, (low, high) in ranges.items()}
        D, L, H, slope, spread = np.exp(rng.uniform(-2, 2, 5))
        delta = 10 ** rng.uniform(-12, -3)
        promise = {
            PureDP: PureDP(at["epsilon"]),
            ApproxDP: ApproxDP(at["epsilon"], delta),
            ZCDP: ZCDP(at["epsilon"]),
        }[budget]
        constants = Constants(
            d=int(at["d"]),
            diameter=lambda p: float(D * slope ** (1 / p)),
            lipschitz=lambda p: float(L * spread ** (1 / p)),
            smoothness=lambda p: float(H * spread ** (1 / p)) if smooth else math.inf,
            moment=lambda k, m: float(L * math.sqrt(spread) * (1 - 0.5**k) * (1 + 1 / m) / 2),
            growth=(float(rng.uniform(1.2, 4)), float(np.exp(rng.uniform(-1, 1)))),
            extra={name: at[name] for name in extra or {}},
            family=family,
        )
        chance = 10 ** rng.uniform(-4, -1)
        size = int(math.exp(rng.uniform(0, math.log(2.0**20)))) if users else 0
        return Problem(
            constants=constants, privacy=promise, failure_probability=float(chance), samples_per_user=size
        ), int(at["n"])

    return problem
