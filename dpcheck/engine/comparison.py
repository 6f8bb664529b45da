"""All algorithms at one size: which can run, at what cost, with what guarantee and risk, proved or measured."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpcheck.engine import planning
from dpcheck.engine.algorithms import algorithms
from dpcheck.engine.patience import within
from dpcheck.engine.setting import Setting
from dpcheck.errors import DpcheckError, Infeasible, InvalidInput

if TYPE_CHECKING:
    from dpcheck.claims import Claim
    from dpcheck.interfaces import Workload

LARGEST_N = 2**50
REPAIRED = ("corrected", "private")
NO_BOUND = "no bound on the excess risk with constants"
GRADIENTS = 1e9
"""Oracle calls, of all trials together, above which a measurement is refused."""
PATIENCE = 3.0
"""CPU seconds for the schedule of one algorithm, and for the size at which its bound says something."""


@dataclass(frozen=True)
class Measured:
    """Excess risk over trials on fresh data: mean, its standard error, the largest."""

    mean: float
    error: float
    largest: float
    trials: int


@dataclass(frozen=True, kw_only=True)
class ComparisonRow:
    """One algorithm.

    Attributes:
        status: "feasible", "infeasible" (see `smallest_n`), or "other" (made for another budget or other constants).
        why: the reason where it is not feasible; or why no bound or measurement is there.
        claimed: what is promised; certified: what the accountant certifies, `epsilon` its epsilon (None: zCDP, or no
            noise); refuted: statements that the promise rests on and that are false; rests_on: those not proved.
        private: whether the claim is certified.
        bound: proved excess risk, `source` the claim or algorithm; `vacuous`: a constant output does as well.
        useful_n: where the bound is vacuous, a power of two times n at which it is not.
    """

    label: str
    status: str
    why: str = ""
    smallest_n: int | None = None
    claimed: str = ""
    certified: str = ""
    refuted: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    private: bool = False
    epsilon: float | None = None
    gradients: int | None = None
    bound: float | None = None
    source: str = ""
    vacuous: bool = False
    useful_n: int | None = None
    measured: Measured | None = None

    @property
    def guarantee(self) -> str:
        """What is claimed, and how it stands."""
        if self.refuted:
            return f"{self.claimed or 'none'}, refuted ({self.refuted[0]})"
        if not self.claimed:
            return "none"
        if self.private:
            return self.claimed
        return f"{self.claimed} claimed, not certified" + (f" ({self.rests_on[0]})" if self.rests_on else "")


def compare(
    setting: Setting,
    claims: Sequence[Claim],
    *,
    workload: Workload | None = None,
    trials: int = 100,
    seed: int = 0,
    only: Iterable[str] | None = None,
) -> list[ComparisonRow]:
    """Every algorithm of the catalogue at one size: as printed, and its readings that repair something.

    Rows come feasible first, by proved risk, then by gradients.

    Args:
        workload: measure the risk on it as well; `setting` must carry its constants (`Setting.of`).
        only: labels to consider; default all.
    """
    known = algorithms()
    chosen = known if only is None else {label: known[label] for label in only}
    chosen = {label: kind for label, kind in chosen.items() if not kind.subroutine}
    labels = [f"{label}{reading}" for label, kind in chosen.items() for reading in _readings(kind)]
    rows = {label: _row(label, setting, claims, workload, trials, seed) for label in labels}
    for label in chosen:
        for reading in REPAIRED:
            # A reading that changes nothing here says nothing new.
            twin = rows.get(f"{label}@{reading}")
            if twin is not None and replace(twin, label=label) == rows[label]:
                del rows[twin.label]
    order = {"feasible": 0, "infeasible": 1, "other": 2}
    infinite = math.inf

    def place(row: ComparisonRow) -> tuple[Any, ...]:
        cost = row.gradients if row.gradients is not None else infinite
        return order[row.status], infinite if row.bound is None else row.bound, cost, row.label

    return sorted(rows.values(), key=place)


def _readings(kind: Any) -> list[str]:
    return ["", *(f"@{reading}" for reading in REPAIRED if reading in kind.readings)]


def _row(
    label: str, setting: Setting, claims: Sequence[Claim], workload: Workload | None, trials: int, seed: int
) -> ComparisonRow:
    budgets, note = algorithms()[label.partition("@")[0]].budgets, ""
    if setting.epsilon is not None and setting.epsilon > budgets.at_most(setting.epsilon):
        # What is private at a smaller epsilon is private at this one.
        note = f"run {'at' if budgets.attained else 'just below'} ε = {budgets.largest_epsilon:g}"
        setting = replace(setting, epsilon=budgets.at_most(setting.epsilon))
    if setting.privacy not in budgets:
        return ComparisonRow(label=label, status="other", why=f"needs {budgets}, got {setting.privacy}")
    try:
        with within(PATIENCE, label.partition("@")[0], setting.n):
            plan = planning.plan(label, setting, {}, claims)
    except Infeasible as error:
        return ComparisonRow(label=label, status="infeasible", why=f"needs {error.needs}", smallest_n=error.smallest_n)
    except (DpcheckError, ValueError, ArithmeticError) as error:
        return ComparisonRow(label=label, status="other", why=str(error).removeprefix(f"{label.partition('@')[0]} "))
    bounds = [b for b in plan.bounds if b.what == "risk" and b.value is not None]
    best = min(bounds, key=lambda b: float(b.value or 0.0), default=None)
    row = ComparisonRow(
        label=label,
        status="feasible",
        claimed="" if plan.privacy.claimed is None else str(plan.privacy.claimed),
        certified="" if plan.privacy.certified is None else str(plan.privacy.certified),
        refuted=plan.privacy.refuted,
        rests_on=plan.privacy.rests_on,
        private=plan.privacy.keeps,
        epsilon=plan.privacy.epsilon,
        gradients=plan.gradients,
        bound=None if best is None else best.value,
        source="" if best is None else best.source,
        vacuous=best is not None and best.value is not None and best.value >= setting.trivial,
        why="; ".join(filter(None, (note, "" if best is not None else NO_BOUND))),
    )
    if row.vacuous and plan.gradients:
        with contextlib.suppress(InvalidInput), within(PATIENCE, label, setting.n):
            row = replace(row, useful_n=_useful(label, setting, claims))
    return row if workload is None or not plan.gradients else _measure(row, setting, workload, trials, seed)


def _useful(label: str, setting: Setting, claims: Sequence[Claim]) -> int | None:
    """The first n, doubling, at which some bound beats a constant output."""
    n = setting.n
    while n < LARGEST_N:
        n *= 2
        try:
            bounds = planning.bounds(label, replace(setting, n=n), claims)
        except (DpcheckError, ValueError, ArithmeticError):
            continue
        if any(b.what == "risk" and b.value is not None and b.value < setting.trivial for b in bounds):
            return n
    return None


def _measure(row: ComparisonRow, setting: Setting, workload: Workload, trials: int, seed: int) -> ComparisonRow:
    from dpcheck.harness import risk

    algorithm = planning.build(row.label, {}, setting.k)
    key = ("compare-bounds", row.label)
    try:
        values = risk.excess_risks(
            algorithm, workload, setting.problem, setting.n, trials, seed, *key, gradients=GRADIENTS
        )
    except Exception as error:  # not every algorithm suits every domain; the others are still worth a number
        said = str(error) if isinstance(error, DpcheckError) else f"{type(error).__name__}: {error}"
        return replace(row, why="; ".join(filter(None, (row.why, f"not measured: {said}"))))
    spread = float(values.std(ddof=1) / math.sqrt(len(values)))
    return replace(row, measured=Measured(float(values.mean()), spread, float(values.max()), len(values)))


def advice(rows: Sequence[ComparisonRow], setting: Setting) -> str:
    """What to use here, in a sentence or two; nothing whose privacy is not certified."""
    private = [row for row in rows if row.status == "feasible" and row.private and row.gradients]
    proved = [row for row in private if row.bound is not None and not row.vacuous]
    if proved:
        best = min(proved, key=lambda row: (row.bound or 0.0, row.gradients or 0))
        assert best.bound is not None
        said = (
            f"Proved: {best.label}, excess risk at most {best.bound:.3g} ({best.bound / setting.trivial:.2g} of what a "
            f"constant output has at most), {best.gradients:,} gradients, {best.claimed}."
        )
    else:
        useful = [row for row in private if row.useful_n is not None]
        first = min(useful, key=lambda row: row.useful_n or 0, default=None)
        said = f"Proved: nothing beats a constant output (excess risk at most {setting.trivial:.3g}) at this size"
        said += f"; {first.label} does from about n = {first.useful_n:,}." if first is not None else "."
    measured = [row for row in private if row.measured is not None]
    if measured:
        winner = min(measured, key=lambda row: row.measured.mean if row.measured else math.inf)
        assert winner.measured is not None
        said += f" Measured: {winner.label} has the least excess risk, {winner.measured.mean:.3g} ± "
        said += f"{2 * winner.measured.error:.1g} (two standard errors)."
    return said


# -- workloads by name -------------------------------------------------------------------------------------------------


def _direction(d: int) -> Any:
    import numpy as np

    return tuple(np.full(d, 1 / math.sqrt(d)))


def _named() -> dict[str, Callable[[Setting], Workload]]:
    import numpy as np

    from dpcheck.geometry import Ball
    from dpcheck.workloads import HeavyMean, QuadraticMean, RareSpikes, SparseDirection, TwoPoint
    from dpcheck.workloads.crosspolytope import SignLinear

    def spikes(s: Setting) -> Workload:
        k = s.k or 2.0
        p = min(1.0, max(1, s.d) / (s.n * (s.epsilon or 1.0)))
        return RareSpikes(D=s.D, k=k, p=p) if s.d == 1 else SparseDirection(nu=_direction(s.d), D=s.D, k=k, p=p)

    def quadratic(s: Setting) -> Workload:
        size = np.full(s.d, 1 / math.sqrt(s.d))
        return QuadraticMean(size, 0.3 * size, Ball(radius=s.D / 2, d=s.d), s.D / 2, modulus=(s.D / 2) ** 2)

    return {
        "mean": lambda s: HeavyMean(D=s.D),
        "quadratic": quadratic,
        "l1-signs": lambda s: SignLinear(mu=(0.3, *(0.0 for _ in range(s.d - 1))), R=s.D / 2),
        "hard-heavy-tails": spikes,
        "two-point": lambda s: TwoPoint(D=s.D, dimension=s.d),
    }


def workload(name: str, setting: Setting) -> Workload:
    """A workload by name, of the setting's dimension and diameter where it has these as parameters.

    `mean`: Pareto mean estimation (d = 1); `quadratic`: the mean of sign vectors in a ball; `l1-signs`: linear losses
    with sign vectors on the cross-polytope; `two-point`: bounded linear losses in a ball; `hard-heavy-tails`: the
    instance behind the lower bound under heavy tails at this n and epsilon.

    Raises:
        InvalidInput: no such name, or not at this dimension.
    """
    known = _named()
    if name not in known:
        raise InvalidInput(f"no workload is called {name!r}; there are {', '.join(known)}")
    work = known[name](setting)
    if work.constants.d != setting.d:
        raise InvalidInput(f"the workload {name!r} has d = {work.constants.d}, the setting d = {setting.d}")
    return work
