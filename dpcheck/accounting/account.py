"""The privacy of a schedule: every stretch of records composes the releases that read it, and the worst one counts."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby, pairwise, repeat
from typing import Any, Literal

import numpy as np

from dpcheck.accounting.composition import Composition, smallest_epsilon
from dpcheck.accounting.conversion import Array, check_delta, curve_to_delta, curve_to_epsilon
from dpcheck.accounting.parts import INTEGER_ORDERS, Part, Places, Plain, Sampled, Shuffled, Unbounded, Unproved
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Read, Release, Scaled, Schedule
from dpcheck.numerics import edge
from dpcheck.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP

DELTA = 1e-6
"""delta of the epsilons that a table shows when the claim names none."""
BARE = "the output, which no noise hides"
"""Stands for the releases of a schedule that has none and reads records all the same."""
ROUNDING = 1e-9
"""Relative slack with which a claim may be met: rounding of the schedule's own arithmetic."""


_ORDERS_OF_SAMPLES = np.unique(
    np.concatenate(
        [
            np.array([1.05, 1.1, 1.2, 1.35, 1.5, 1.75]),
            np.arange(2.0, 65.0),
            np.round(np.geomspace(64.0, INTEGER_ORDERS, 64)),
            np.geomspace(600.0, 200_000.0, 40),
        ]
    )
)
"""Whole up to `INTEGER_ORDERS`, where a release of which no dominating pair is known has more than joint convexity;
without those beyond no epsilon below log(1/delta)/(INTEGER_ORDERS - 1) would be certified, however much the noise."""


@dataclass(frozen=True)
class Stretch:
    """Records [start, stop) that the same releases read, and those releases.

    Attributes:
        names: releases that depend on these records.
        failure: probability that some claimed sensitivity fails.
        alike: how many stretches compose in exactly this way.
    """

    start: int
    stop: int
    names: tuple[str, ...]
    parts: tuple[Part, ...]
    failure: float = 0.0
    alike: int = 1

    @cached_property
    def unproved(self) -> tuple[str, ...]:
        """Claims that stand between these releases and a certificate, by label."""
        return _labels(part.rests_on for part in self.parts if isinstance(part, Unproved))

    @cached_property
    def pure(self) -> float:
        """Sum of the pure epsilons, or inf; the failure probability is not in it."""
        return math.fsum(part.pure() for part in self.parts)

    @cached_property
    def mu(self) -> float:
        """All of it is mu-Gaussian DP; inf when some part is not."""
        return math.sqrt(math.fsum(part.mu() * part.mu() for part in self.parts))

    @cached_property
    def rho(self) -> float:
        """All of it is rho-zCDP; sampling does not lower it."""
        return math.fsum(part.zcdp() for part in self.parts)

    def renyi(self, alpha: float) -> float:
        """Rényi divergence of order alpha: the sum over the parts."""
        if alpha not in self._divergences:
            each = (repeat(part.renyi(alpha), number) for part, number in self._counted)
            self._divergences[alpha] = math.fsum(chain.from_iterable(each))
        return self._divergences[alpha]

    @cached_property
    def _counted(self) -> tuple[tuple[Part, int], ...]:
        """Every part once, and how often it is there; equal ones are one object where `account` made them."""
        return tuple((next(same), 1 + sum(1 for _ in same)) for _, same in groupby(sorted(self.parts, key=id), key=id))

    @cached_property
    def _divergences(self) -> dict[float, float]:
        """Those computed so far: a budget and an epsilon are looked up on the same orders."""
        return {}

    @cached_property
    def _orders(self) -> Array | None:
        return _ORDERS_OF_SAMPLES if any(part.integer_orders for part in self.parts) else None

    @cached_property
    def _composition(self) -> Composition | None:
        """Randomised responses and one Gaussian, when every part is dominated by one or the other."""
        pure: list[tuple[float, int]] = []
        square = 0.0
        for part in self.parts:
            mu = part.mu()
            if math.isfinite(mu):
                square += mu * mu
            elif math.isfinite(part.pure()):
                pure.extend(part.uses())
            else:
                return None
        return Composition(pure, math.sqrt(square)) if Composition.enumerable(pure) else None

    def delta(self, epsilon: float) -> float:
        """Smallest delta certified at `epsilon`."""
        if not epsilon >= 0:
            raise InvalidInput(f"epsilon must be >= 0, got {epsilon!r}")
        if not self.parts or self.pure <= epsilon:
            return min(1.0, self.failure)
        if self.unproved:
            return 1.0
        bounds = [1.0, curve_to_delta(self.renyi, epsilon, self._orders)]
        if len(self.parts) == 1:
            exact = self.parts[0].profile(epsilon)
            bounds.append(1.0 if exact is None else exact)
            bounds.append(self._certified_delta(epsilon))
        if self._composition is not None:
            bounds.append(self._composition.delta(epsilon))
        return min(1.0, self.failure + min(bounds))

    def _certified_delta(self, epsilon: float) -> float:
        """Inverts `certified` of a single part: the smallest delta whose epsilon is low enough."""
        part = self.parts[0]
        if part.certified(0.5) > epsilon:
            return 1.0
        _, exponent = edge(lambda x: part.certified(10**x) <= epsilon, -300.0, math.log10(0.5), halvings=40)
        return float(10**exponent)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon certified at `delta`; inf when there is none."""
        check_delta(delta)
        left = delta - self.failure
        if left < 0 or self.unproved:
            return math.inf
        bounds = [self.pure]
        if left > 0 and self.parts:
            bounds.append(curve_to_epsilon(self.renyi, left, self._orders))
            if self._composition is not None:
                bounds.append(self._composition.epsilon(left))
            if len(self.parts) == 1:
                part = self.parts[0]
                bounds.append(part.certified(left))
                if part.profile(1.0) is not None:
                    bounds.append(smallest_epsilon(lambda e: part.profile(e) or 0.0, left))
        return min(bounds)


@dataclass(frozen=True)
class ReleaseCost:
    """One release of the plan, by itself, without amplification.

    Attributes:
        sensitivity: the largest claimed by its reads, in the release's norm (or the exact one, for `realised`).
        noise: scale of its law.
        epsilon: at `delta`; 0 means pure DP.
        rho: zCDP.
        failure: probability that the sensitivity fails, which the epsilon leaves out.
    """

    name: str
    sensitivity: float
    noise: float
    count: int
    epsilon: float
    delta: float
    rho: float
    reads: tuple[Read, ...]
    failure: float = 0.0


@dataclass(frozen=True)
class Account:
    """What a schedule costs in privacy, under replace-one neighbours.

    Attributes:
        assumed: claims that the caller let pass and that some sensitivity rests on; with any, nothing is a certificate.
    """

    releases: tuple[Release, ...]
    stretches: tuple[Stretch, ...]
    claimed: Guarantee | None = None
    assumed: tuple[str, ...] = ()
    _cache: dict[float, float] = field(default_factory=dict, compare=False, repr=False)

    @property
    def unproved(self) -> tuple[str, ...]:
        """Claims that sensitivities rest on and that nobody assumed: while there is one, no epsilon is finite."""
        return _labels(stretch.unproved for stretch in self.stretches)

    @property
    def reference_delta(self) -> float:
        """delta of the tables: the claimed one, 0 when everything is pure, else `DELTA`."""
        if isinstance(self.claimed, ApproxDP) and self.claimed.delta > 0:
            return self.claimed.delta
        return 0.0 if all(s.pure < math.inf and s.failure == 0 for s in self.stretches) else DELTA

    def epsilon(self, delta: float) -> float:
        """Smallest certified epsilon at `delta`, over the worst stretch; 0 when no release reads a record."""
        if delta not in self._cache:
            check_delta(delta)
            self._cache[delta] = max((s.epsilon(delta) for s in self.stretches), default=0.0)
        return self._cache[delta]

    def delta(self, epsilon: float) -> float:
        """Smallest certified delta at `epsilon`, over the worst stretch."""
        return max((s.delta(epsilon) for s in self.stretches), default=0.0)

    def worst(self, delta: float) -> Stretch | None:
        """The stretch with the largest epsilon at `delta`; None when no release reads a record."""
        return max(self.stretches, key=lambda s: s.epsilon(delta), default=None)

    @property
    def worst_stretch(self) -> Stretch | None:
        """The stretch that decides `epsilon(reference_delta)`."""
        return self.worst(self.reference_delta)

    @property
    def guarantee(self) -> Guarantee | None:
        """The strongest single guarantee: pure, Gaussian, or (epsilon, delta) at the reference delta.

        None when nothing released depends on the data.

        Raises:
            InvalidInput: no finite epsilon is certified.
        """
        failing = any(s.failure > 0 for s in self.stretches)
        pure = max((s.pure for s in self.stretches), default=0.0)
        mu = max((s.mu for s in self.stretches), default=0.0)
        if pure == 0 and not failing:
            return None
        if math.isfinite(pure) and not failing and self.reference_delta == 0:
            return PureDP(pure)
        if math.isfinite(mu) and mu > 0 and not failing:
            return GaussianDP(mu)
        delta = self.reference_delta
        epsilon = self.epsilon(delta)
        if self.unproved:
            raise InvalidInput(f"nothing is certified: sensitivities rest on {', '.join(self.unproved)}, not proved")
        if not math.isfinite(epsilon):
            worst = self.worst(delta)
            names = ", ".join(worst.names[:3]) if worst else ""
            raise InvalidInput(f"no finite epsilon at delta = {delta:g}: look at {names}, or ask for a larger delta")
        return ApproxDP(max(epsilon, 5e-324), delta)

    def within(self, claimed: Guarantee) -> bool:
        """Whether the account certifies `claimed`; False means 'not certified', never 'refuted'."""
        if isinstance(claimed, ApproxDP):
            allowed = claimed.epsilon * (1 + ROUNDING)
            if claimed.delta == 0:
                return all(s.failure == 0 and s.pure <= allowed for s in self.stretches)
            return self.delta(allowed) <= claimed.delta * (1 + ROUNDING)
        if any(s.failure > 0 for s in self.stretches):
            return False
        if isinstance(claimed, GaussianDP):
            return all(s.mu <= claimed.mu * (1 + ROUNDING) for s in self.stretches)
        if isinstance(claimed, RenyiDP):
            return all(s.renyi(claimed.alpha) <= claimed.epsilon * (1 + ROUNDING) for s in self.stretches)
        if isinstance(claimed, ZCDP):
            return all(s.rho <= claimed.rho * (1 + ROUNDING) for s in self.stretches)
        raise InvalidInput(f"cannot decide a claim of type {type(claimed).__name__}")

    @cached_property
    def per_release(self) -> tuple[ReleaseCost, ...]:
        """One row for each release, in order, at its claimed sensitivity."""
        return tuple(self._row(r, max((read.sensitivity for read in r.reads), default=0.0)) for r in self.releases)

    def realised(self, name: str, sensitivity: float) -> ReleaseCost:
        """The row of one release at a given exact sensitivity, beside the claimed one in `per_release`."""
        chosen_releases = [release for release in self.releases if release.name == name]
        if not chosen_releases:
            raise InvalidInput(f"no release {name!r}; there are {', '.join(r.name for r in self.releases[:6])}")
        return self._row(chosen_releases[0], sensitivity)

    def _row(self, release: Release, sensitivity: float) -> ReleaseCost:
        kinds = {read.sampling.kind for read in release.reads if read.sampling is not None}
        part = Plain(release.law, sensitivity, 1 if kinds & {"shuffled", "places"} else release.count)
        alone = Stretch(0, 1, (release.name,), (part,))
        delta = 0.0 if math.isfinite(part.pure()) and self.reference_delta == 0 else self.reference_delta
        return ReleaseCost(
            name=release.name,
            sensitivity=sensitivity,
            noise=float(release.law.noise) if isinstance(release.law, Scaled) else math.nan,
            count=release.count,
            epsilon=alone.epsilon(delta),
            delta=delta,
            rho=release.law.zcdp(sensitivity, part.count),
            reads=release.reads,
            failure=math.fsum(read.failure for read in release.reads),
        )


def _labels(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """All labels of the groups, each once, in order."""
    return tuple(dict.fromkeys(label for group in groups for label in group))


def account(
    schedule: Schedule[Any], records: int | None = None, *, assuming: Collection[str] | Literal["all"] = ()
) -> Account:
    """Composes every release of a schedule, record by record.

    The records are cut at every start and stop of a read; each stretch composes the releases that read it, and the
    worst stretch counts. Parallel, sequential and tree composition are this one rule. `Read.failure` counts once for
    all `count` uses of its release. Hidden sampling amplifies only when no other sampled release touches the stretch.

    A schedule that reads gradients and releases nothing hands its output out as it is: no epsilon of it is finite.
    A release that rests on a claim (`Release.rests_on`) costs infinitely much unless that claim is assumed: then the
    account is what follows *if* the claim is true, no certificate (`Account.assumed` says so).

    Args:
        schedule: what will be done.
        records: number of records, to refuse reads beyond it.
        assuming: labels of claims to let pass for the sake of the argument, or "all".

    Raises:
        InvalidInput: two releases of one name, an empty read, or one beyond `records`.
    """
    _check(schedule.releases, records)
    if schedule.gradients > 0 and not schedule.releases:
        bare = Stretch(0, records or 1, (BARE,), (Unbounded(),))
        return Account((), (bare,), schedule.claimed)
    wanted = _labels(release.rests_on for release in schedule.releases)
    assumed = tuple(label for label in wanted if assuming == "all" or label in assuming)
    known: dict[Part, Part] = {}
    unique: dict[object, int] = {}
    distinct: list[Stretch] = []
    alike: list[int] = []
    for start, stop, active in _stretches(schedule.releases):
        parts = tuple(known.setdefault(part, part) for part in _parts(active, assumed))
        missed = [part.missed for part in parts if isinstance(part, Sampled)]
        failure = math.fsum([*(read.failure for _, read in active), *missed])
        if not parts and failure == 0:
            continue
        # Equal parts are one object by now, so that runs of one are told without looking into them.
        runs = tuple((part, sum(1 for _ in same)) for part, same in groupby(map(id, parts)))
        place = unique.setdefault((runs, failure), len(distinct))
        if place == len(distinct):
            names = tuple(dict.fromkeys(release.name for release, _ in active))
            distinct.append(Stretch(start, stop, names, parts, failure))
            alike.append(0)
        alike[place] += 1
    stretches = tuple(replace(stretch, alike=number) for stretch, number in zip(distinct, alike, strict=True))
    return Account(tuple(schedule.releases), stretches, schedule.claimed, assumed)


def _check(releases: Iterable[Release], records: int | None) -> None:
    seen: set[str] = set()
    for release in releases:
        if release.name in seen:
            raise InvalidInput(f"two releases are named {release.name!r}; names must differ")
        seen.add(release.name)
        if release.count < 1:
            raise InvalidInput(f"release {release.name!r} has count {release.count!r}; it must be >= 1")
        for read in release.reads:
            if not 0 <= read.start < read.stop or (records is not None and read.stop > records):
                limit = "" if records is None else f" of {records} records"
                raise InvalidInput(f"release {release.name!r} reads [{read.start}, {read.stop}), no block{limit}")
            if not read.sensitivity >= 0 or not 0 <= read.failure <= 1:
                raise InvalidInput(
                    f"release {release.name!r} claims sensitivity {read.sensitivity!r} and failure {read.failure!r}; "
                    "they must be >= 0 and in [0, 1]"
                )
            if read.sampling is not None and read.sampling.kind == "places" and read.sampling.size < release.count:
                raise InvalidInput(
                    f"release {release.name!r} is used {release.count} times and has {read.sampling.size} places; "
                    "every use needs a place of its own"
                )


Active = list[tuple[Release, Read]]


def _stretches(releases: Iterable[Release]) -> Iterator[tuple[int, int, Active]]:
    """Every maximal stretch with at least one reader: (start, stop, readers in the schedule's order)."""
    reads = [(release, read) for release in releases for read in release.reads]
    opening: dict[int, list[int]] = {}
    closing: dict[int, list[int]] = {}
    for i, (_, read) in enumerate(reads):
        opening.setdefault(read.start, []).append(i)
        closing.setdefault(read.stop, []).append(i)
    cuts = sorted(opening.keys() | closing.keys())
    active: set[int] = set()
    for start, stop in pairwise(cuts):
        active.difference_update(closing.get(start, ()))
        active.update(opening.get(start, ()))
        if active:
            yield start, stop, [reads[i] for i in sorted(active)]


def _parts(active: Active, assumed: Collection[str]) -> list[Part]:
    """The parts of one stretch: overlapping reads of one release add up, shuffled batches form one part."""
    missing = _labels(release.rests_on for release, read in active if read.sensitivity > 0)
    missing = tuple(label for label in missing if label not in assumed)
    if missing:
        return [Unproved(missing)]
    hidden = [read.sampling for _, read in active if read.sampling is not None]
    blocks: dict[tuple[int, int], Active] = {}
    parts: list[Part] = []
    plain: dict[str, tuple[Release, float]] = {}
    for release, read in active:
        if read.sampling is None:
            total = plain[release.name][1] if release.name in plain else 0.0
            plain[release.name] = (release, total + read.sensitivity)
        elif read.sampling.kind == "shuffled":
            blocks.setdefault((read.start, read.stop), []).append((release, read))
        elif read.sampling.kind == "places":
            if read.sensitivity > 0:
                parts.append(Places(release.law, read.sensitivity, release.count, read.sampling.size))
        elif read.sensitivity > 0:
            rows, alone = read.stop - read.start, len(hidden) == 1
            parts.append(Sampled(release.law, read.sensitivity, release.count, read.sampling, rows, alone))
    parts.extend(Plain(r.law, sensitivity, r.count) for r, sensitivity in plain.values() if sensitivity > 0)
    for (start, stop), batches in blocks.items():
        parts.extend(_shuffled_parts(batches, stop - start))
    return parts


def _shuffled_parts(batches: Active, rows: int) -> list[Part]:
    """One part when the batches fit into the block side by side; sequential composition otherwise."""
    used = sum(release.count * read.sampling.size for release, read in batches if read.sampling is not None)
    members = [(Plain(r.law, read.sensitivity), r.count) for r, read in batches if read.sensitivity > 0]
    if not members:
        return []
    if used <= rows:
        unique = tuple(dict.fromkeys(member for member, _ in members))
        return [Shuffled(unique, sum(count for _, count in members), used)]
    return [replace(member, count=count) for member, count in members]
