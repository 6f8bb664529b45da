"""Executable tests of claims: `@check(label, kind, grid)` over a function that measures one cell of the grid."""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from dpcheck import seeds
from dpcheck.errors import CollectionError, InvalidInput
from dpcheck.labels import named, split_label
from dpcheck.verdicts import Outcome, Verdict, combine

if TYPE_CHECKING:
    from dpcheck.interfaces import Problem, Workload
    from dpcheck.privacy import Guarantee

Size = Literal["smoke", "standard", "full"]
SIZES: tuple[str, ...] = get_args(Size)
CheckKind = Literal[
    "privacy",
    "sensitivity",
    "stability",
    "accuracy",
    "risk",
    "rate",
    "runtime",
    "symbolic",
    "lower-bound",
    "transcription",
]
"""transcription: what dpcheck wrote down (a bound, a setting, a line of code) against the printed line; no more."""
FAILURE_PROBABILITY = 5e-7
"""Of one check, all its cells together."""
RATE_FAILURE_PROBABILITY = 1e-5
"""Of a rate, whose interval has few degrees of freedom."""
RUN_FAILURE_PROBABILITY = 1e-3
"""Of all verdicts of a run together; the engine adds them up and promises no more than it keeps."""
_SHARE: ContextVar[float] = ContextVar("failure probability of the cell under way", default=FAILURE_PROBABILITY)
NEVER_SAMPLED: tuple[CheckKind, ...] = ("symbolic", "transcription")
"""Kinds that spend none of it: a verdict of theirs that was sampled breaks a rule."""


def share() -> float:
    """The failure probability of the cell under way; that of a whole check where none is."""
    return _SHARE.get()


@dataclass(frozen=True)
class BySize:
    """A value that depends on the size of the run."""

    smoke: Any
    standard: Any
    full: Any

    def at(self, size: Size) -> Any:
        return getattr(self, size)


def by_size(smoke: Any, standard: Any, full: Any = None) -> BySize:
    """`by_size(200, 2_000, 20_000)`; `full` defaults to the standard value."""
    return BySize(smoke, standard, standard if full is None else full)


class Together(tuple[Any, ...]):
    """Values of a grid that go together, a tuple in every respect but that sentence and table name each of them."""

    names: tuple[str, ...]

    def __new__(cls, names: Sequence[str], values: Iterable[Any]) -> Together:
        one = super().__new__(cls, tuple(values))
        one.names = tuple(names)
        if len(one) != len(one.names):
            raise InvalidInput(f"{len(one.names)} names ({', '.join(one.names)}) for {len(one)} values, {tuple(one)}")
        return one

    def __reduce__(self) -> tuple[Any, ...]:
        return Together, (self.names, tuple(self))

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self.names, self, strict=True))


def together(names: str, *rows: Iterable[Any]) -> tuple[Together, ...]:
    """An axis of values that go together: `grid={"case": together("T b", (1, 64), (2, 64))}`."""
    return tuple(Together(names.split(), row) for row in rows)


@dataclass(frozen=True)
class Context:
    """What one cell of a check may know: its label, its size, its budget and its randomness."""

    label: str
    name: str
    cell: Mapping[str, Any]
    size: Size = "smoke"
    seed: int = 0
    failure_probability: float = FAILURE_PROBABILITY

    def rng(self, *key: Any) -> np.random.Generator:
        """This cell's stream, or one of its named sub-streams."""
        return seeds.stream(self.seed, f"{self.label}::{self.name}", dict(self.cell), *key)

    def chunks(self, trials: int, floats_per_trial: int = 1, *key: Any) -> Iterator[tuple[np.random.Generator, int]]:
        """Splits `trials` into memory-sized chunks: (generator, number of trials) each."""
        named = (f"{self.label}::{self.name}", dict(self.cell), *key)
        return seeds.chunks(self.seed, trials, floats_per_trial, *named)

    def scale(self, smoke: Any, standard: Any, full: Any = None) -> Any:
        """The value for the size of this run."""
        return by_size(smoke, standard, full).at(self.size)

    # What a check of one's own mechanism asks for. The modules are named, not imported: a check depends on the auditor
    # only where it calls it.

    def audit(
        self,
        mechanism: Callable[..., Any],
        data: Any,
        neighbour: Any,
        claim: Guarantee,
        *,
        must_detect: float | None = None,
        **options: Any,
    ) -> Verdict:
        """`dp.audit` of a mechanism as this check's verdict: refuted with a witness of its label, never HOLDS.

        Args:
            mechanism: `mechanism(data, rng, trials)` -> one output a trial; see `dp.vectorize`.
            data, neighbour: the pair.
            claim: the guarantee, such as `dp.PureDP(1.0)`.
            must_detect: true epsilon, above the claimed one, that the audit has to be able to refute with 95 % power;
                else it is undecided.
            options: further arguments of `dp.audit`, in place of what the check gives: its label, a seed of its cell,
                the failure probability of its cell, and 20,000, 100,000 or 1,000,000 trials by size.

        Raises:
            InvalidInput, MechanismError: as `dp.audit`.
        """
        given = {
            "label": self.label,
            "seed": int(self.rng("audit").integers(2**63)),
            "failure_probability": self.failure_probability,
            "trials": self.scale(20_000, 100_000, 1_000_000),
        }
        importlib.import_module("dpcheck.auditing.inputs").check_must_detect(must_detect, claim)
        audit = importlib.import_module("dpcheck.auditing.audit").audit
        result = audit(mechanism, data, neighbour, claim, **given | options)
        verdict: Verdict = result.verdict()
        if verdict.outcome is Outcome.CONSISTENT and (lacks := result.lacks(must_detect)):
            reason = f"nothing is shown at ε = {must_detect:g}: {verdict.reason}; {lacks}"
            return replace(verdict, outcome=Outcome.UNDECIDED, reason=reason)
        return verdict

    def problem(
        self, workload: Workload, privacy: Guarantee, *, failure_probability: float = 0.05, samples_per_user: int = 0
    ) -> Problem:
        """What an algorithm may know of a workload: its constants, and the budget. See `dpcheck.interfaces.Problem`."""
        make = importlib.import_module("dpcheck.interfaces").Problem
        problem: Problem = make(
            constants=workload.constants,
            privacy=privacy,
            failure_probability=failure_probability,
            samples_per_user=samples_per_user,
        )
        return problem


Measurement = Verdict | Mapping[str, Any]
"""What a cell returns: a verdict of its own, or JSON-able numbers for the check's `conclude`."""
Conclude = Callable[[Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], float], Verdict]
"""(cell, measurement) of every cell and the check's failure probability -> verdict."""


@dataclass(frozen=True)
class Check:
    """One executable test of one reading of one claim; `id` is `<label>::<function name>`.

    `also` names further readings that the same computation bears on: it is shown under each, run and counted once.
    """

    label: str
    kind: CheckKind
    function: Callable[..., Measurement]
    grid: Mapping[str, Sequence[Any] | BySize] = field(default_factory=dict, hash=False)
    conclude: Conclude | None = None
    expect: frozenset[Outcome] = frozenset({Outcome.HOLDS})
    failure_probability: float = FAILURE_PROBABILITY
    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def id(self) -> str:
        return f"{self.label}::{self.name}"

    @property
    def may_spend(self) -> float:
        """The most that this check may add to the failure probability of a run."""
        return 0.0 if self.kind in NEVER_SAMPLED else self.failure_probability

    @property
    def labels(self) -> tuple[str, ...]:
        """Its own label and those that it bears on as well."""
        return (self.label, *self.also)

    @property
    def doc(self) -> str:
        """First sentence of the docstring: what is checked."""
        return (inspect.getdoc(self.function) or "").partition("\n\n")[0].replace("\n", " ")

    def cells(self, size: Size) -> list[dict[str, Any]]:
        """Every cell of the grid, in order; one empty cell when there is no grid."""
        axes = {name: axis.at(size) if isinstance(axis, BySize) else axis for name, axis in self.grid.items()}
        return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]

    def measure(self, cell: Mapping[str, Any], size: Size, seed: int) -> Measurement:
        """Runs one cell; the failure probability is shared evenly over the cells."""
        share = self.failure_probability / max(1, len(self.cells(size)))
        context = Context(self.label, self.name, cell, size, seed, share)
        outside = _SHARE.set(share)
        try:
            return self.function(context, **cell)
        finally:
            _SHARE.reset(outside)

    def verdict(self, measured: Sequence[tuple[Mapping[str, Any], Measurement]]) -> Verdict:
        """The check's one answer from all its cells."""
        if self.conclude is not None:
            rows = [(cell, value) for cell, value in measured if not isinstance(value, Verdict)]
            return self.conclude(rows, self.failure_probability)
        verdicts = [value for _, value in measured if isinstance(value, Verdict)]
        if len(verdicts) < len(measured):
            raise CollectionError(f"{self.id} returns measurements; give the check a `conclude` that judges them")
        return combine(verdicts, [cell for cell, _ in measured])


def _share(kind: CheckKind) -> float:
    return RATE_FAILURE_PROBABILITY if kind == "rate" else FAILURE_PROBABILITY


def check(
    label: str,
    kind: CheckKind,
    *,
    grid: Mapping[str, Sequence[Any] | BySize] | None = None,
    conclude: Conclude | None = None,
    expect: Outcome | str | Sequence[Outcome | str] | None = None,
    failure_probability: float | None = None,
    needs: Sequence[str] = (),
    also: Sequence[str] = (),
) -> Callable[[Callable[..., Measurement]], Check]:
    """Makes a function the check of a claim.

    The function takes the `Context` and the values of its cell by keyword, and returns a `Verdict`, or a mapping of
    JSON-able numbers that `conclude` judges over all cells together.

    Args:
        label: the claim, with its reading where it is not the printed one.
        kind: what is checked; decides who may say HOLDS (a sampled privacy audit never does).
        grid: axis -> values, or `by_size(smoke, standard, full)` of values; every combination is one cell.
        expect: the outcome, or outcomes, that are not news. Where sampling may not say HOLDS (privacy, rates), the
            default is that it holds or is consistent.
        failure_probability: of all cells together; the default is that of its kind.
        needs: optional packages, as "opendp" or "opendp==0.15.1", without which the check is skipped, with that reason.
        also: further labels that the same computation bears on; it is run and counted once.
    """
    if isinstance(also, str) or not isinstance(also, Sequence):
        raise CollectionError(f"{label}: also is a list of labels, got {also!r}")
    for each in (label, *also):
        split_label(named(each))
    if not isinstance(kind, str) or kind not in get_args(CheckKind):
        raise CollectionError(f"{label}: unknown kind {kind!r}; choose one of {', '.join(get_args(CheckKind))}")
    share = _share(kind) if failure_probability is None else failure_probability
    if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 < share < 1:
        raise CollectionError(f"{label}: the failure probability of a check lies in (0, 1), got {share!r}")
    usual = (Outcome.HOLDS, Outcome.CONSISTENT) if kind in ("privacy", "rate") else (Outcome.HOLDS,)
    expected = usual if expect is None else [expect] if isinstance(expect, str) else list(expect)

    def decorate(function: Callable[..., Measurement]) -> Check:
        return Check(
            label=label,
            kind=kind,
            function=function,
            grid=dict(grid or {}),
            conclude=conclude,
            expect=frozenset(Outcome(each) for each in expected),
            failure_probability=share,
            needs=tuple(needs),
            also=tuple(also),
        )

    return decorate


@dataclass(frozen=True)
class Unchecked:
    """A statement with something to check that has no check, and the reason."""

    label: str
    reason: str


def unchecked(label: str, reason: str) -> Unchecked:
    """States why a claim has no check: `no_time = unchecked("paper/lem-1", "cited; no constant is stated")`."""
    split_label(named(label))
    return Unchecked(label, reason)
