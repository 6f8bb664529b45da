"""What will be released: named outputs, what each reads, and the law that hides it."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, runtime_checkable

from dpcheck.displayed import Displayed
from dpcheck.errors import InvalidInput
from dpcheck.privacy import Guarantee
from dpcheck.problems import Array, Rng

Norm = float | Literal["range"]
P = TypeVar("P")


class Law(Protocol):
    """How a core (trials, ..., k) becomes an output; sees no data. k = 1 for a scalar, never absent."""

    def sample(self, core: Array, rng: Rng) -> Array:
        """A fresh output for every row: (trials, ..., k), or (trials, 1) holding an index for a selection."""
        ...

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """log p(output | core) - log p(output | other), summed over all axes but the first: (trials,)."""
        ...

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """epsilon of `count` adaptive uses, or inf."""
        ...

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """rho of `count` adaptive uses, or inf."""
        ...

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Exact hockey-stick divergence of the worst pair at that distance, one use."""
        ...


# What a law may offer beyond that.


@runtime_checkable
class Scaled(Protocol):
    """A law with one scale, which tables show."""

    @property
    def noise(self) -> float: ...


@runtime_checkable
class GaussianPrivate(Protocol):
    """A law that is Gaussian DP."""

    def mu(self, sensitivity: float, count: int = 1) -> float:
        """The mu of `count` adaptive uses."""
        ...


@runtime_checkable
class RenyiPrivate(Protocol):
    """A law that knows its Rényi divergences better than its pure and zCDP guarantees imply them."""

    def renyi(self, alpha: float, sensitivity: float) -> float:
        """The divergence of order alpha of one use."""
        ...


@runtime_checkable
class PairPrivate(Protocol):
    """A law dominated by randomised responses beside a Gaussian, where that is more than its `pure` and `mu` say."""

    def pair(self, sensitivity: float) -> tuple[tuple[float, ...], float]:
        """Their epsilons, and the Gaussian's mu, of one use."""
        ...


@runtime_checkable
class BelowLaplace(Protocol):
    """A pure law whose privacy loss is dominated by that of Laplace noise with the same epsilon."""

    below_laplace: ClassVar[bool]


@runtime_checkable
class OfRecords(Protocol):
    """A law that hides each row of a core, one record, by itself: a local randomiser."""

    per_record: ClassVar[bool]


@dataclass(frozen=True)
class Sampling:
    """Random rows of a block, hidden from the output.

    Attributes:
        kind: "places": each record draws one of `size` places once, the k-th use reads the k-th of them, and a record
            moves the core of the place where it is by at most half of the claimed sensitivity.
        size: how many rows; of "places" how many there are, at least the release's `count`.
    """

    kind: Literal["with-replacement", "without-replacement", "poisson", "shuffled", "places"]
    size: int


@dataclass(frozen=True, kw_only=True)
class Read:
    """A block [start, stop) that a release depends on, and how far one record of it may move the core."""

    start: int
    stop: int
    sensitivity: float
    """Claimed, under replace-one, in the release's norm."""
    sampling: Sampling | None = None
    failure: float = 0.0
    """Probability, over coins, that the sensitivity fails: it goes into delta."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """One named output ("phase 2/block 7/centre"): what it reads and the law that hides it."""

    name: str
    law: Law
    reads: tuple[Read, ...]
    norm: Norm = 2.0
    count: int = 1
    """Adaptive uses with fresh noise: T steps are one entry."""
    rests_on: tuple[str, ...] = ()
    """Claims that its sensitivities follow from and that are not proved for this instance, by label; () where they are
    elementary or proved. The accountant certifies nothing of such a release, unless told which claims to assume."""


@dataclass(frozen=True, kw_only=True)
class Schedule(Displayed, Generic[P]):
    """All that will be done at (problem, n); arithmetic only.

    Attributes:
        phases: the algorithm's own phase dataclass, one for each row of `dpcheck plan`.
        gradients: claimed number of oracle calls.
        floats_per_trial: peak working set of one trial in float64 numbers; it sets the chunk of trials.
        claimed: what is promised of it; None where nobody promises anything (dialled constants, a reading that is known
            to break the paper's promise).
        claimed_by: labels of the statements that promise it, for these fields of the algorithm.
    """

    phases: tuple[P, ...]
    releases: tuple[Release, ...]
    gradients: int
    floats_per_trial: int
    claimed: Guarantee | None
    claimed_by: tuple[str, ...] = ()

    def edit(self, pattern: str, **changes: Any) -> Schedule[P]:
        """The same schedule with some releases changed: a mutant.

        Args:
            pattern: a release's name, or a shell pattern ("phase */noise").
            changes: new fields; a callable gets the old value (`law=lambda law: …`).
        """
        touched = 0
        releases = []
        for release in self.releases:
            if fnmatch.fnmatchcase(release.name, pattern):
                touched += 1
                new = {name: v(getattr(release, name)) if callable(v) else v for name, v in changes.items()}
                release = replace(release, **new)
            releases.append(release)
        if not touched:
            raise InvalidInput(
                f"no release matches {pattern!r}; there are {', '.join(r.name for r in self.releases[:6])}"
            )
        return replace(self, releases=tuple(releases))

    def placed(self, prefix: str, offset: int) -> tuple[Release, ...]:
        """Its releases as they stand inside an outer algorithm whose block starts at record `offset`."""
        return tuple(
            replace(
                release,
                name=f"{prefix}{release.name}",
                reads=tuple(replace(r, start=r.start + offset, stop=r.stop + offset) for r in release.reads),
            )
            for release in self.releases
        )
