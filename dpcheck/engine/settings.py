"""`<algorithm>::settings`: what a schedule fixes, against the claims of the parameters as printed and as corrected."""

from __future__ import annotations

import dataclasses
import functools
import itertools
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
from dpcheck.interfaces import Algorithm, Array, Constants, Family, Problem, Rng, Schedule
from dpcheck.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from dpcheck.symbols import index, last
from dpcheck.verdicts import Verdict, differs, holds, undecided

Stated = Mapping[str, str]
"""Setting -> label of the claim that states it. A setting is a field of the algorithm's phases, one of `COUNTS`, or a
symbol that has a value: "delta", where noise is fixed by what it spends."""
Problems = Callable[[Rng], tuple[Problem, int]]
COUNTS = ("gradients", "phases")
"""What a schedule fixes beside its phases; a claim may state it, and need not."""
PRINTED = "as printed"
PROBLEM = frozenset({"n", "d", "epsilon", "delta", "rho"})
"""What a formula means by these is the problem's, even where a field of the only phase has that name."""
DRAWS = by_size(40, 200, 1000)
LEAST = 10
"""Fewer drawn problems that the schedule can be planned for show little."""
OWN = "n of the phase"
NUMBERED = "the number of the phase, from 1 on"
FOLLOWING = "where the records end that earlier phases read"
"""Reasons why no claim states a field that every phase has all the same: it is held to them."""
CLOSE = 1e-9
"""Relative: both sides are a few operations on floats."""


@dataclass(frozen=True, kw_only=True)
class Inner:
    """What an algorithm calls in each of its phases, whose schedules stand in the field `inner` of these.

    Attributes:
        called: (algorithm, problem, phase) -> the algorithm that is called, with its problem and number of records.
        stated: as of `settings`, of the phases of a call; its formulas may also speak of the fields of the phase that
            it stands in.
    """

    called: Callable[[Any, Problem, Any], tuple[Algorithm[Any], Problem, int]]
    stated: Mapping[str, Stated]


def settings(
    label: str,
    stated: Stated | Mapping[str, Stated],
    *,
    symbols: Mapping[str, str] | None = None,
    beside: Mapping[str, str] | None = None,
    problems: Problems | Mapping[str, Problems] | None = None,
    fields: Mapping[str, Sequence[Any]] | None = None,
    powers: Mapping[str, int] | None = None,
    inner: Inner | None = None,
) -> Check:
    """The check that an algorithm is planned as its claims say, at problems that are drawn.

    Formulas may speak of all that is known of the problem and the algorithm, of i, the number of the phase, and of
    the fields of its phases: `eta` (where `symbols` names it, or nothing else is called so) is that of the phase at
    hand, `eta[i - 1]` that of the one before it, `eta[1]` of the first one. A field that has the name of a number
    handed to the algorithm repeats that number. n is the number of all records; but in a formula that has neither i
    nor a sequence, and so speaks of one phase, it is that of the records of the phase.

    Args:
        label: of the algorithm.
        stated: setting -> label of its claim; or that of each reading of the algorithm, by the name that it has in
            `Algorithm.readings`, with "as printed" for the fields that it has by itself.
        symbols: setting -> name of its symbol in the claims, where that is another.
        beside: field of the phases that no claim states -> the reason; `NUMBERED` and `FOLLOWING` are held to.
        problems: draws a problem and n; default `drawn()`. What the schedule refuses is drawn again. A reading that
            is planned as stated at some problems only has its own.
        fields: field of the algorithm -> values, one of which is drawn with each problem.
        powers: setting -> the power of it that its claims state: 2 for a deviation whose variance they have.
        inner: of what stands in the phases, where that is an algorithm in its turn.
    """
    printed = all(isinstance(each, str) for each in stated.values())
    readings: Mapping[str, Any] = {PRINTED: stated} if printed else stated
    also = tuple(dict.fromkeys(name for of in readings.values() for name in of.values() if name != label))
    at = problems if isinstance(problems, Mapping) else dict.fromkeys(readings, problems or drawn())
    drawer = Drawer(label, at, dict(fields or {}), dict(symbols or {}), dict(powers or {}), inner)

    def settings(context: Context, reading: str) -> Verdict:
        """Every setting that the schedule fixes is what its claim says, at drawn problems."""
        planned = list(drawer.draw(reading, readings[reading], DRAWS.at(context.size), context.rng()))
        return _compared(planned, readings[reading], beside or {})

    return check(label, kind="transcription", grid={"reading": tuple(readings)}, also=also)(settings)


@dataclass(frozen=True)
class Drawer:
    """Schedules of an algorithm at drawn problems; its fields are arguments of `settings`."""

    label: str
    problems: Mapping[str, Problems]
    fields: Mapping[str, Sequence[Any]]
    symbols: Mapping[str, str]
    powers: Mapping[str, int]
    inner: Inner | None

    def draw(self, reading: str, stated: Stated, tries: int, rng: Rng) -> Iterator[list[StatedPlan]]:
        """The schedule at each problem that can be planned, followed by those of its calls."""
        own = {} if reading == PRINTED else dict(algorithms()[self.label].readings[reading])
        for _ in range(tries):
            drawn_fields = {name: values[int(rng.integers(len(values)))] for name, values in self.fields.items()}
            chosen = algorithm(self.label, **{**own, **drawn_fields})
            problem, n = self.problems[reading](rng)
            try:
                schedule = chosen.schedule(problem, n)
            except (Infeasible, InvalidInput):
                continue
            yield self.plans(chosen, problem, n, schedule, stated, reading)

    def plans(
        self, chosen: Any, problem: Problem, n: int, schedule: Schedule[Any], stated: Stated, reading: str
    ) -> list[StatedPlan]:
        """Of an algorithm, followed by those of what it calls."""
        calls = {} if self.inner is None else {f"gradients{SEQUENCE}": _gradients_of_calls(schedule)}
        own = self._plan(chosen, problem, n, schedule, stated, calls)
        return [own, *self.calls(reading, chosen, problem, schedule)]

    def calls(self, reading: str, chosen: Any, problem: Problem, schedule: Schedule[Any]) -> Iterator[StatedPlan]:
        """Of what is called in the phases of a schedule."""
        for phase in schedule.phases if self.inner else ():
            assert self.inner is not None
            around = {self.symbols.get(name, name): value for name, value in vars(phase).items() if _number(value)}
            # What is called is handed on, not chosen anew: an order k of the caller is that of its calls.
            around |= {name.rstrip("_"): value for name, value in vars(chosen).items() if _number(value)}
            yield self._plan(
                *self.inner.called(chosen, problem, phase), phase.inner, self.inner.stated[reading], around
            )

    def _plan(
        self,
        chosen: Algorithm[Any],
        problem: Problem,
        n: int,
        schedule: Schedule[Any],
        stated: Stated,
        around: Mapping[str, Any],
    ) -> StatedPlan:
        handed = {name: value for name, value in vars(chosen).items() if _number(value)}
        # What the algorithm is handed is closer to its formulas than what a problem calls by the same letter.
        own_terms = {name.rstrip("_"): value for name, value in handed.items()} | dict(chosen.terms(problem, n))
        values = {name.rstrip("_"): value for name, value in known(chosen, problem, n).items()}
        values |= {**own_terms, **around}
        values["n"] = float(values["n"])  # a product of integers may outgrow 64 bits
        values.setdefault(last.name, len(schedule.phases))
        fixed = fixes(schedule)
        for name, value in fixed.items():
            symbol = self.symbols.get(name, name)
            if np.ndim(value):
                values[f"{symbol}{SEQUENCE}"] = value
                values |= {OWN: value} if symbol == "n" else {}
            hidden = symbol == "n" or (symbol in PROBLEM and name not in self.symbols)
            if not hidden and (name in self.symbols or np.size(value) == 1 or symbol not in values):
                values[symbol] = float(np.ravel(value)[0]) if np.size(value) == 1 else value
        where = f"n = {n:,}, d = {problem.constants.d} and {problem.privacy}"
        return StatedPlan(where, stated, fixed, values, handed, self.powers)


@dataclass(frozen=True)
class StatedPlan:
    """One schedule: where it was drawn, who states what, what it fixes, values of symbols, numbers handed over."""

    where: str
    stated: Stated
    fixed: Mapping[str, Any]
    values: dict[str, Any]
    handed: Mapping[str, float]
    powers: Mapping[str, int]

    def wrong(self, beside: Mapping[str, str]) -> str:
        """What is not as stated: "" where all of it is."""
        stated = self.stated
        missing = sorted(self.fixed.keys() - stated.keys() - beside.keys() - self.handed.keys() - set(COUNTS))
        if missing:
            return f"the schedule fixes {', '.join(missing)}, which no claim states"
        for name in sorted(self.fixed.keys() & beside.keys()):
            if misplaced := _misplaced(name, beside[name], self.fixed):
                return f"{misplaced}, at {self.where}"
        for name in sorted((self.fixed.keys() & self.handed.keys()) - stated.keys() - beside.keys()):
            if np.any(self.fixed[name] != self.handed[name]):
                return f"{name} is {np.max(self.fixed[name]):.6g}, and {self.handed[name]:.6g} was handed over"
        for name, label in stated.items():
            value = self.fixed.get(name, self.values.get(name))
            if value is None:
                return f"the schedule fixes no {name}, which {label} states"
            if claim(label).bound is None:
                return f"{label} has no formula"
            power = self.powers.get(name, 1)
            what = name if power == 1 else f"{name}^{power}"
            ours, theirs = np.asarray(value**power, dtype=float), self._formula(label, value)
            if difference := _difference(what, label, ours, theirs):
                return f"{difference}, at {self.where}"
        return ""

    def stated_value(self, name: str) -> Array:
        """What the claim of a setting says, one number a phase of its fields; itself where the claim states a power."""
        fixed = name in self.fixed
        powered = self._formula(self.stated[name], self.fixed[name] if fixed else self.values[name])
        powered = powered ** (1 / self.powers.get(name, 1))
        return np.atleast_1d(powered) if fixed else powered

    def _formula(self, label: str, value: Any) -> Array:
        """The value of a claim's formula, in the shape of what is planned."""
        bound = claim(label).bound
        if bound is None:
            raise InvalidInput(f"{label} states a setting, but has no formula")
        # A formula of one phase may call the records of that phase n; how many they are is said in terms of all.
        own = {} if value is self.values.get(OWN) else {"n": self.values.get(OWN)}
        values, size, shape = dict(self.values), np.size(value), np.shape(value)
        if shape and not _speaks_of_i(bound) and not bound.atoms(sp.Indexed):
            values |= {name: value for name, value in own.items() if value is not None}
        bound, terms = _unrolled(bound, values, size)
        return np.broadcast_to(np.asarray(evaluate(bound, {**values, **terms}, label=label), dtype=float), shape)


def fixes(schedule: Schedule[Any]) -> dict[str, Any]:
    """Every number that a schedule fixes: of its phases, one for each, by field; the gradients, and how many phases."""
    names = [field.name for field in dataclasses.fields(schedule.phases[0])] if schedule.phases else []
    columns = {name: [getattr(phase, name) for phase in schedule.phases] for name in names}
    numbers = {name: values for name, values in columns.items() if all(_number(value) for value in values)}
    counted = {"gradients": schedule.gradients, "phases": len(schedule.phases)}
    return {name: np.array(values, dtype=float) for name, values in numbers.items()} | counted


def _misplaced(name: str, reason: str, fixed: Mapping[str, Any]) -> str:
    """The first phase whose number, or whose first record, is not its own; "" for none, or another reason."""
    phases = len(fixed[name])
    if reason == NUMBERED:
        wanted = np.arange(1.0, phases + 1)
    elif reason == FOLLOWING:
        wanted = np.concatenate([[0.0], np.cumsum(fixed["records"])[:-1]])
    else:
        return ""
    wrong = np.flatnonzero(fixed[name] != wanted)
    return f"{name} of phase {wrong[0] + 1} is {fixed[name][wrong[0]]:g}, not {reason}" if wrong.size else ""


def _gradients_of_calls(schedule: Schedule[Any]) -> list[float]:
    return [float(phase.inner.gradients) for phase in schedule.phases]


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _compared(planned: Sequence[list[StatedPlan]], stated: Stated, beside: Mapping[str, str]) -> Verdict:
    for plan in itertools.chain.from_iterable(planned):
        wrong = plan.wrong(beside)
        if wrong:
            return differs(wrong)
    said = f"{', '.join(stated)} {'is' if len(stated) == 1 else 'are'} as stated"
    if len(planned) < LEAST:
        return undecided(f"{said} at the {len(planned)} drawn problems that can be planned", "exact")
    return holds(f"{said} at {len(planned)} drawn problems", "exact", numbers={"problems": len(planned)})


def _difference(name: str, label: str, ours: Array, theirs: Array) -> str:
    """What is wrong with one setting: "" where it agrees with its claim."""
    wrong = ~np.isclose(ours, theirs, rtol=CLOSE, atol=0.0)
    if not wrong.any():
        return ""
    first = tuple(np.argwhere(wrong)[0])
    phase = f" of phase {first[0] + 1}" if first and ours.size > 1 else ""
    return f"{name}{phase} is {float(ours[first]):.6g}, and {label} says {float(theirs[first]):.6g}"


def _unrolled(bound: sp.Expr, values: Mapping[str, Any], phases: int) -> tuple[sp.Expr, dict[str, Any]]:
    """The formula with `eta[i]` and `eta[i - 1]` as symbols of their own, and the values of these in all phases.

    The i of a sum over the phases is no phase by itself.
    """
    if not _speaks_of_i(bound):
        return bound, {}
    numbers = np.arange(1, phases + 1)
    by_name: dict[str, Any] = {index.name: numbers.astype(float)}
    bound, terms = _apart(bound, frozenset(name for name in values if name.endswith(SEQUENCE)))
    for alone, (name, shift) in terms.items():
        padded = np.full(phases, math.nan)
        inside = (numbers + shift >= 1) & (numbers + shift <= len(values[name]))
        padded[inside] = np.asarray(values[name])[(numbers + shift - 1)[inside]]
        by_name[alone] = padded
    return bound, by_name


@functools.lru_cache(maxsize=256)
def _speaks_of_i(bound: sp.Expr) -> bool:
    """Whether the formula is one of phase i: SymPy takes milliseconds to find out what is free in a sum."""
    return index in bound.free_symbols


@functools.lru_cache(maxsize=256)
def _apart(bound: sp.Expr, known: frozenset[str]) -> tuple[sp.Expr, dict[str, tuple[str, int]]]:
    """The formula with symbols in place of members of known sequences; by symbol, of which sequence, how far from i."""
    alone, terms = dict[sp.Expr, sp.Symbol](), dict[str, tuple[str, int]]()
    for term in bound.atoms(sp.Indexed):
        shift = term.indices[0] - index
        name = f"{term.base.label}{SEQUENCE}"
        if shift.is_Integer and name in known:
            alone[term] = sp.Symbol(f"{term.base.label}_{int(shift)}", positive=True)
            terms[alone[term].name] = name, int(shift)
    return bound.xreplace(alone), terms


def drawn(
    *,
    budget: type[Guarantee] = ApproxDP,
    users: bool | tuple[float, float] = False,
    n: tuple[float, float] = (2.0**6, 2.0**40),
    d: tuple[float, float] = (1, 1000),
    epsilon: tuple[float, float] = (1 / 64, 0.99),
    family: Family = "",
    smooth: bool = True,
    extra: Mapping[str, tuple[float, float]] | None = None,
) -> Problems:
    """Problems with constants that differ from norm to norm and from moment to moment, so that none stands for another.

    Args:
        budget: kind of the promise; `epsilon` is rho for a zCDP.
        users: with samples a user, 1 to 2^20, or in this range.
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
        low, high = users if isinstance(users, tuple) else (1, 2.0**20)
        size = int(math.exp(rng.uniform(math.log(low), math.log(high)))) if users else 0
        return Problem(
            constants=constants, privacy=promise, failure_probability=float(chance), samples_per_user=size
        ), int(at["n"])

    return problem
