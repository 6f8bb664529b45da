"""For users' own test suites: `assert_private`, worst-case pairs, Hypothesis strategies, and how mutants are killed."""

from __future__ import annotations

import math
import pathlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.auditing.audit import AuditResult, audit
from dpcheck.auditing.limits import fewest_of_any, fewest_samples
from dpcheck.checks import Context
from dpcheck.errors import InvalidInput, MissingExtra
from dpcheck.mutants import Kill
from dpcheck.privacy import ApproxDP, Guarantee
from dpcheck.verdicts import Outcome

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "AuditKill",
    "assert_private",
    "epsilons",
    "guarantees",
    "kill_by_attack",
    "kill_by_audit",
    "kill_by_number",
    "neighbouring_pairs",
    "worst_pairs",
]

Array = NDArray[np.float64]
TRIALS = 12_000
POWER = 0.95
"""With which seeded bugs are to be found."""
WITNESSES = ".dpcheck"
"""Folder, under the working directory, where refutations leave their witness."""


def assert_private(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    *,
    claim: Guarantee,
    trials: int = TRIALS,
    failure_probability: float = 1e-4,
    seed: int = 0,
    witnesses: pathlib.Path | str = WITNESSES,
    must_detect: float | None = None,
    **options: Any,
) -> AuditResult:
    """Audits a mechanism and raises `AssertionError` when its claim is refuted, or its trials are not independent.

    Args:
        mechanism: `mechanism(data, rng, trials)`; wrap a per-call function in `dp.vectorize`.
        data, neighbour: the pair, for example from `worst_pairs`.
        claim: such as `dp.PureDP(epsilon=1.0)`.
        trials: runs on each input.
        failure_probability: chance that a private mechanism fails the test; small, because suites run often.
        witnesses: folder for the witness of a refutation.
        must_detect: true epsilon that the audit has to be able to refute with 95 % power; one that could not fails.
            None: one that could have refuted nothing at all warns.
        options: further arguments of `dp.audit`.

    Returns:
        The `AuditResult`, which says what it could have found.

    Raises:
        AssertionError: the claim is refuted, and the message names the event, the pair and how to reproduce; or nothing
            can be concluded: trials depend on each other, or `must_detect` is out of reach.
        InvalidInput, MechanismError: as `dp.audit`.
    """
    __tracebackhide__ = True
    result = audit(
        mechanism, data, neighbour, claim, trials=trials, failure_probability=failure_probability, seed=seed, **options
    )
    if result.outcome is Outcome.REFUTED:
        raise AssertionError(explain(result, pathlib.Path(witnesses)))
    if result.dependence:
        raise AssertionError(f"nothing can be concluded: {result.reason()}")
    if must_detect is not None and not result.detectable_epsilon <= must_detect:
        raise AssertionError(
            f"nothing is shown at ε = {must_detect:g}: {result.reason()}; take more than trials={result.trials}"
        )
    if result.outcome is Outcome.UNDECIDED:
        warnings.warn(f"assert_private passed without power: {result.reason()}", stacklevel=2)
    return result


def explain(result: AuditResult, folder: pathlib.Path) -> str:
    """The message of a refutation; saves its witness in `folder`."""
    rows = result.rows()
    witness = result.witness
    if witness is not None:
        path = witness.save(folder / f"witness-{witness.digest[:8]}.json")
        rows.append(("reproduce", f"dpcheck verify {path}"))
    else:
        rows.append(("reproduce", f"dp.audit(…, trials={result.trials}, seed={result.seed})"))
    return "\n".join([f"{result.reason()}.", *(f"{name:<12} {text}" for name, text in rows)])


def worst_pairs(n: int, low: float = 0.0, high: float = 1.0, d: int | None = None) -> tuple[Array, Array]:
    """A pair at which bounded mechanisms leak most: all records at `low`, and one of them moved to `high`.

    Args:
        n: records; low, high: ends of their range; d: length of a record, None for scalars.

    Returns:
        (data, neighbour) of shape (n,) or (n, d), one record apart.

    >>> worst_pairs(3)[1]
    array([0., 1., 0.])
    """
    for name, value in (("n", n), ("d", d)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
            raise InvalidInput(f"{name} must be an integer >= 1, got {value!r}")
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InvalidInput(f"low and high must be finite with low < high, got {low!r} and {high!r}")
    data = np.full((n,) if d is None else (n, d), float(low))
    neighbour = data.copy()
    neighbour[n // 2] = high
    return data, neighbour


def _strategies() -> Any:
    try:
        from hypothesis import strategies
    except ImportError as error:
        raise MissingExtra("Hypothesis strategies", "testing") from error
    return strategies


def neighbouring_pairs(
    min_records: int = 1,
    max_records: int = 20,
    low: float = 0.0,
    high: float = 1.0,
    d: int | None = None,
    adjacency: str = "replace-one",
) -> SearchStrategy[tuple[Array, Array]]:
    """Pairs of data sets one record apart, records in [low, high] (in [low, high]^d), corners included.

    For deterministic properties (sensitivities, clipping, accountants); a sampled audit wants one fixed pair.

    Raises:
        MissingExtra: Hypothesis is not installed.
    """
    st = _strategies()
    if adjacency not in ("replace-one", "add-remove"):
        raise InvalidInput(f"adjacency must be 'replace-one' or 'add-remove', got {adjacency!r}")
    value = st.one_of(st.sampled_from([float(low), float(high)]), st.floats(low, high, allow_nan=False))
    record = value if d is None else st.lists(value, min_size=d, max_size=d)

    def build(rows: list[Any], place: int, other: Any) -> tuple[Array, Array]:
        data = np.array(rows, dtype=float)
        at = place % len(rows)
        if adjacency == "add-remove":
            return data, np.delete(data, at, axis=0)
        neighbour = data.copy()
        neighbour[at] = other
        return data, neighbour

    rows = st.lists(record, min_size=min_records, max_size=max_records)
    pairs: SearchStrategy[tuple[Array, Array]] = st.builds(build, rows, st.integers(0, max_records - 1), record)
    return pairs


def epsilons(low: float = 0.01, high: float = 10.0) -> SearchStrategy[float]:
    """Privacy parameters, small and large."""
    strategy: SearchStrategy[float] = _strategies().floats(low, high, allow_nan=False, exclude_min=False)
    return strategy


def guarantees() -> SearchStrategy[Guarantee]:
    """Any guarantee of the front door."""
    from dpcheck.privacy import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP

    st = _strategies()
    eps = epsilons()
    strategy: SearchStrategy[Guarantee] = st.one_of(
        st.builds(PureDP, eps),
        st.builds(ApproxDP, eps, st.floats(1e-9, 0.5)),
        st.builds(ZCDP, eps),
        st.builds(GaussianDP, eps),
        st.builds(RenyiDP, st.floats(1.1, 64.0), eps),
    )
    return strategy


Laws = tuple[ArrayLike, ArrayLike]
Fewest = Callable[[float, float], int | None]


@dataclass(frozen=True, kw_only=True)
class AuditKill:
    """A kill by `dp.audit` in fixed mode; `kill_by_audit` makes it, and says what the attributes are."""

    mechanism: Callable[..., Any]
    data: Any
    neighbour: Any
    claim: Guarantee
    exact_epsilon: float | None = None
    laws: Callable[[], Laws] | None = None
    minimum: Fewest | None = None
    smoke: int = 5_000
    standard: int = 30_000
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.laws is not None and not isinstance(self.claim, ApproxDP):
            raise InvalidInput(f"laws say what an (epsilon, delta) claim takes; give the minimum of {self.claim}")

    @property
    def computable(self) -> bool:
        """Whether `fewest` knows what the best test of this very pair needs."""
        return self.laws is not None or self.minimum is not None

    def fewest(self, failure_probability: float, power: float = POWER) -> int | None:
        """Runs, both inputs together, of the best test of all with this power; None: not computable, or no bug."""
        if self.laws is None:
            return None if self.minimum is None else self.minimum(failure_probability, power)
        assert isinstance(self.claim, ApproxDP)
        p, q = self.laws()
        return fewest_samples(p, q, self.claim.epsilon, self.claim.delta, failure_probability, power)

    def audit(self, trials: int, failure_probability: float, seed: int) -> AuditResult:
        """The audit, with any number of runs on each input."""
        return audit(
            self.mechanism,
            self.data,
            self.neighbour,
            self.claim,
            trials=trials,
            failure_probability=failure_probability,
            seed=seed,
            **self.options,
        )

    def __call__(self, context: Context) -> Kill:
        alpha = context.failure_probability
        least = self.fewest(alpha)
        trials = max(int(context.scale(self.smoke, self.standard)), 2 * (least or 0))
        if not self.computable and self.exact_epsilon is not None and isinstance(self.claim, ApproxDP):
            least = fewest_of_any(self.exact_epsilon, self.claim.epsilon, self.claim.delta, alpha, POWER)
        return Kill(
            killed=self.audit(trials, alpha, context.seed).outcome is Outcome.REFUTED,
            by="audit",
            samples=2 * trials,
            minimum=least,
            exact_epsilon=self.exact_epsilon,
            claim=str(self.claim),
        )


def kill_by_audit(
    mechanism: Callable[..., Any],
    data: Any,
    neighbour: Any,
    claim: Guarantee,
    *,
    exact_epsilon: float | None = None,
    laws: Callable[[], Laws] | None = None,
    minimum: Fewest | None = None,
    smoke: int = 5_000,
    standard: int = 30_000,
    **options: Any,
) -> AuditKill:
    """A kill by `dp.audit` in fixed mode.

    Args:
        exact_epsilon: privacy of the mechanism on this pair, at the delta of an (epsilon, delta) claim.
        laws: () -> both laws of the output on cells fine enough, for an (epsilon, delta) claim: what the fewest samples
            of any test of this pair follow from.
        minimum: the same of another claim: (failure probability, power) -> fewest samples. Without either, what is
            known from `exact_epsilon` alone, if that is given for an (epsilon, delta) claim.
        smoke, standard: runs on each input at those sizes; more when four times the minimum for power 0.95 is.
        options: further arguments of `dp.audit`.
    """
    return AuditKill(
        mechanism=mechanism,
        data=data,
        neighbour=neighbour,
        claim=claim,
        exact_epsilon=exact_epsilon,
        laws=laws,
        minimum=minimum,
        smoke=smoke,
        standard=standard,
        options=options,
    )


def kill_by_number(
    by: str, claim: str, found: Callable[[], float], allowed: float, *, exact_epsilon: float | None = None
) -> Callable[[Context], Kill]:
    """A kill by arithmetic, without a sample: `found()` exceeds what is allowed (beyond rounding)."""

    def kill(_: Context) -> Kill:
        value = found()
        return Kill(
            killed=value > allowed * (1 + 1e-9) + 1e-12,
            by=by,
            samples=0,
            minimum=0,
            exact_epsilon=value if exact_epsilon is None and by == "exact law" else exact_epsilon,
            claim=claim,
        )

    return kill


def kill_by_attack(run: Callable[[Context], Any], claim: str) -> Callable[[Context], Kill]:
    """A kill by one of `dpcheck.auditing.attacks`: `run(context)` returns its `Finding`."""

    def kill(context: Context) -> Kill:
        finding = run(context)
        return Kill(
            killed=bool(finding.found),
            by=f"{finding.attack} attack",
            samples=int(finding.samples),
            exact_epsilon=math.inf if finding.found else None,
            claim=claim,
        )

    return kill
