"""Exact privacy of independent releases: the law of their summed privacy loss, between two sure bounds.

Each release contributes a pair of output laws, known through its exact curve delta(epsilon). Gaussian releases merge
into one. The others are put on a common grid of losses and convolved, once from above (the chords of the convex curve:
Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022) and once from below (losses rounded down), so that every answer is
an interval that holds the truth, up to the rounding of float64 (about 1e-11 in delta).
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.harness.replay import Replay
from dpcheck.interfaces import Array, Law, Release, Schedule
from dpcheck.laws import Exponential, Gaussian, IsotropicLaplace, Laplace, NoisyMin
from dpcheck.numerics import edge
from dpcheck.privacy import gaussian_delta

POINTS = 2**14
"""Grid points on which curves are evaluated, all different parts together."""
LENGTH = 2**20
"""Grid points of the summed loss, at most: from below it is off by about one step a release in epsilon."""
DOTS = 2**11
"""Of these, how many at most a curve is evaluated at that takes an integral or a minimisation for each."""
NEGLIGIBLE = 1e-15
"""Mass that an unbounded loss may hide beyond the grid; it counts as an infinite loss from above."""

LARGEST = 600.0
"""Losses that float64 can still carry as e^loss."""

Profile = Callable[[float], float]
"""epsilon (any real) -> delta(epsilon)."""


@dataclass(frozen=True)
class LawPair:
    """One use of one release, as a pair of output laws (P, Q).

    Attributes:
        profiles: curve of P against Q and of Q against P, or upper bounds on them.
        tops: largest loss in the two directions, or bounds on it; inf when it is unbounded.
        attained: whether all these are those of one pair. If not, the release adds nothing from below.
        key: equal parts have equal keys.
        cheap: whether the curve costs microseconds.
    """

    profiles: tuple[Profile, Profile]
    tops: tuple[float, float]
    attained: bool
    key: tuple[object, ...]
    cheap: bool = True


def symmetric(profile: Profile, top: float, attained: bool, key: tuple[object, ...], cheap: bool = True) -> LawPair:
    """A part whose two directions are alike."""
    return LawPair((profile, profile), (top, top), attained, key, cheap)


class ComposedLoss:
    """Independent releases together, for one pair of neighbours and both directions of it.

    Args:
        mu: what all Gaussian releases together amount to.
        parts: the others.
    """

    def __init__(self, mu: float, parts: Sequence[LawPair]) -> None:
        self.mu, self.parts = mu, tuple(parts)
        alike = all(part.profiles[0] is part.profiles[1] for part in parts)
        self._directions = (0,) if alike else (0, 1)

    @property
    def pure(self) -> tuple[float, float]:
        """The epsilon of pure DP: (from below, from above)."""
        if self.mu > 0:
            return math.inf, math.inf
        low = max(math.fsum(p.tops[way] for p in self.parts if p.attained) for way in self._directions)
        return low, max(math.fsum(p.tops[way] for p in self.parts) for way in self._directions)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """delta(epsilon), the larger of both directions: (from below, from above); equal where a closed form exists."""
        pairs = [self._delta(epsilon, way) for way in self._directions]
        return max(low for low, _ in pairs), max(high for _, high in pairs)

    def _delta(self, epsilon: float, way: int) -> tuple[float, float]:
        floor = max(0.0, -math.expm1(epsilon))
        if not self.parts:
            delta = gaussian_delta(self.mu, epsilon)
            return delta, delta
        if epsilon >= math.fsum(part.tops[way] for part in self.parts) and self.mu == 0:
            return floor, floor
        if len(self.parts) == 1 and self.mu == 0:
            delta = self.parts[0].profiles[way](epsilon)
            return (delta if self.parts[0].attained else floor), delta
        low, high = (_hockey_stick(*law, epsilon) for law in self._laws[way])
        return min(low, high), high

    def epsilon(self, delta: float) -> tuple[float, float]:
        """Smallest epsilon >= 0 with delta(epsilon) <= delta: (from below, from above)."""
        if not 0 <= delta < 1:
            raise InvalidInput(f"delta must lie in [0, 1), got {delta!r}; 0 is pure DP")
        if delta == 0:
            return self.pure
        return self._invert(delta, 0), self._invert(delta, 1)

    def _invert(self, delta: float, side: int) -> float:
        if self.delta(0.0)[side] <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high)[side] > delta:
            low, high = high, 2 * high
            if high > 1e6:
                return math.inf
        return edge(lambda epsilon: self.delta(epsilon)[side] <= delta, low, high, halvings=60)[1]

    @functools.cached_property
    def _laws(self) -> tuple[tuple[_Law, _Law], ...]:
        """For both directions, the law of the summed loss: from below and from above."""
        parts = list(self.parts)
        if self.mu > 0:
            parts.append(symmetric(functools.partial(gaussian_delta, self.mu), math.inf, True, ("gaussian", self.mu)))
        counts = Counter(part.key for part in parts)
        unique = {part.key: part for part in parts}
        reaches = {key: _reach(part) for key, part in unique.items()}
        total = math.fsum(reaches[part.key] for part in parts)
        step = 2 * max(math.fsum(reaches.values()) / POINTS, total / LENGTH)
        return tuple(
            _convolved([(part, reaches[key], counts[key]) for key, part in unique.items()], step, way)
            for way in self._directions
        )


_Law = tuple[Array, Array, float]
"""Losses on a grid, their masses under P, and the mass of an infinite loss."""
_Piece = tuple[Array, float, float, int]
"""Masses on a grid, its first loss, the mass of an infinite loss, how often it is used."""


def _convolved(parts: Sequence[tuple[LawPair, float, int]], step: float, way: int) -> tuple[_Law, _Law]:
    below: list[_Piece] = []
    above: list[_Piece] = []
    for part, reach, uses in parts:
        stride = 1 if part.cheap else max(1, math.ceil(2 * reach / (step * DOTS)))
        half = math.ceil(reach / (step * stride))
        edges = step * stride * np.arange(-half, half + 1, dtype=float)
        curve = np.array([part.profiles[way](float(edge)) for edge in edges])
        if not part.attained:
            curve = _convex(np.exp(edges), curve)
        above.append((_spread(_chords(edges, curve), stride), float(edges[0]), max(0.0, float(curve[-1])), uses))
        if part.attained:
            bounded = math.isfinite(max(part.tops))
            below.append((_spread(_floors(edges, curve, bounded), stride), float(edges[0]), 0.0, uses))
    return _summed(below, step), _summed(above, step)


def _spread(masses: Array, stride: int) -> Array:
    """Masses of a coarse grid on one `stride` times as fine."""
    fine = np.zeros(stride * (len(masses) - 1) + 1)
    fine[::stride] = masses
    return fine


def _convex(x: Array, curve: Array) -> Array:
    """The greatest convex minorant of the dots, from (0, 1) on: still above the true curve, which is convex."""
    xs, ys = np.concatenate(([0.0], x)), np.concatenate(([1.0], curve))
    hull: list[int] = []
    for i in range(len(xs)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (ys[b] - ys[a]) * (xs[i] - xs[b]) <= (ys[i] - ys[b]) * (xs[b] - xs[a]):
                break
            hull.pop()
        hull.append(i)
    return np.asarray(np.interp(x, xs[hull], ys[hull]))


def _reach(part: LawPair) -> float:
    """Losses beyond it are impossible, or have a mass of at most `NEGLIGIBLE`."""
    if max(part.tops) <= LARGEST:
        return max(part.tops)
    high = 1.0
    while max(profile(high) for profile in part.profiles) > NEGLIGIBLE:
        high *= 1.25
        if high > LARGEST:
            raise InvalidInput(
                f"a release loses more than {LARGEST:g} with a probability that matters: it is not private"
            )
    return high


def _chords(edges: Array, curve: Array) -> Array:
    """Masses under P of the pair whose curve joins the dots (e^edge, delta(edge)): an upper bound of the curve."""
    x = np.concatenate(([0.0], np.exp(edges)))
    slopes = np.append(np.diff(np.concatenate(([1.0], curve))) / np.diff(x), 0.0)
    return np.asarray(x[1:] * np.diff(slopes))


def _floors(edges: Array, curve: Array, bounded: bool) -> Array:
    """Masses under P of a loss that lies stochastically below the true one, on the grid.

    What is missing to 1 counts as a loss of -inf, unless no loss lies below the first edge.
    """
    x = np.exp(edges)
    # The chord to the next dot is at most as steep as the curve here, whose slope is -Q[loss > edge].
    tail = np.clip(curve[:-1] - x[:-1] * np.diff(curve) / np.diff(x), 0.0, 1.0)
    at_least = np.minimum.accumulate(np.append(tail, max(0.0, float(curve[-1]))))
    if bounded:
        at_least[0] = 1.0
    return np.asarray(at_least - np.append(at_least[1:], 0.0))


def _summed(pieces: Sequence[_Piece], step: float) -> _Law:
    """Law of the sum of independent losses on grids of one step."""
    if not pieces:
        return np.zeros(1), np.ones(1), 0.0
    length = 1 + sum(uses * (len(masses) - 1) for masses, _, _, uses in pieces)
    size = scipy.fft.next_fast_len(length, real=True)
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    first, finite = 0.0, 1.0
    for masses, start, infinite, uses in pieces:
        spectrum = spectrum * scipy.fft.rfft(masses, size) ** uses
        first += uses * start
        finite *= (1 - infinite) ** uses
    total = scipy.fft.irfft(spectrum, size)[:length]
    return np.asarray(first + step * np.arange(length, dtype=float)), np.asarray(total), 1 - finite


def _hockey_stick(losses: Array, masses: Array, infinite: float, epsilon: float) -> float:
    some = losses > epsilon
    value = infinite + float(-(masses[some] * np.expm1(epsilon - losses[some])).sum())
    return min(1.0, max(0.0, -math.expm1(epsilon), value))


# ---------------------------------------------------------------------------------------------------------------------
# Where parts come from.


def compose(schedule: Schedule[Any], distances: Mapping[str, float | Sequence[float]]) -> ComposedLoss:
    """The worst pair whose cores lie that far apart.

    Args:
        distances: release name -> distance of its cores in its own norm, one for all `count` uses or one a use.
            Releases that are not named do not read the changed record.

    Raises:
        InvalidInput: a name that the schedule does not have.
    """
    releases = {release.name: release for release in schedule.releases}
    unknown = sorted(set(distances) - set(releases))
    if unknown:
        raise InvalidInput(f"the schedule has no release {unknown[0]!r}; it names {', '.join(list(releases)[:6])}")
    squares: list[float] = []
    parts: list[LawPair] = []
    for name, moved in distances.items():
        release = releases[name]
        uses = [float(moved)] * release.count if isinstance(moved, float | int) else [float(v) for v in moved]
        for apart in uses:
            if apart > 0:
                _sort(release.law, apart, release, squares, parts)
    return ComposedLoss(math.sqrt(math.fsum(squares)), _once(parts))


def _sort(law: Law, apart: float, release: Release, squares: list[float], parts: list[LawPair]) -> None:
    if isinstance(law, Gaussian):
        squares.append((apart / law.sigma) ** 2)
        return
    attained = isinstance(law, Laplace) or (isinstance(law, IsotropicLaplace) and law.d is not None)
    together = release.name if _free_repeats(law, apart) else ""
    curve = functools.partial(law.delta, sensitivity=apart)
    parts.append(symmetric(curve, law.pure(apart), attained, (law, apart, together), isinstance(law, Laplace)))


def _free_repeats(law: Law, apart: float) -> bool:
    """Laws like `AboveThreshold` charge all uses of one release together."""
    once = law.pure(apart)
    return 0 < once < math.inf and law.pure(apart, 2) == once


def _once(parts: Sequence[LawPair]) -> list[LawPair]:
    """Of uses that are charged together, the one that moves most, as the pair of randomised response."""
    kept = [part for part in parts if not part.key[-1]]
    groups: dict[object, list[LawPair]] = {}
    for part in parts:
        if part.key[-1]:
            groups.setdefault(part.key[-1], []).append(part)
    for name, uses in groups.items():
        worst = max(uses, key=lambda part: part.tops)
        if len(uses) > 1:
            top = worst.tops[0]
            worst = symmetric(functools.partial(_response, top), top, False, ("response", top, name))
        kept.append(worst)
    return kept


def _response(pure: float, epsilon: float) -> float:
    """delta(epsilon) of randomised response, which dominates every pure mechanism."""
    if epsilon >= pure:
        return 0.0
    if epsilon <= -pure:
        return -math.expm1(epsilon)
    return -math.expm1(epsilon - pure) / (1 + math.exp(-pure))


def of_replay(replay: Replay) -> ComposedLoss:
    """The pair that was replayed, exactly: shifts of Laplace noise coordinate by coordinate, selections by their pmf.

    Raises:
        InvalidInput: cores that depend on the history, or a returned point that leaks; see `privacy.losses` then.
    """
    if replay.schedule.releases and float(replay.leak.max()) > 0:
        raise InvalidInput("the returned point depends on the data outside of every release; its loss is infinite")
    if not replay.history_free():
        raise InvalidInput("cores depend on earlier outputs, so losses do not add up as shifts; use privacy.losses")
    squares: list[float] = []
    parts: list[LawPair] = []
    for movement in replay.movements:
        core, other, law = movement.core[0], movement.other[0], movement.release.law
        apart = float(movement.distance[0])
        if apart == 0:
            continue
        if isinstance(law, Gaussian):
            squares.append(float(((core - other) ** 2).sum()) / law.sigma**2)
        elif isinstance(law, Laplace):
            parts.extend(_laplace(float(shift), law.scale) for shift in np.abs(core - other).ravel() if shift > 0)
        elif isinstance(law, IsotropicLaplace):
            parts.extend(_isotropic(core, other, law.scale))
        elif isinstance(law, Exponential | NoisyMin):
            parts.append(_finite(law.log_probabilities(core[None])[0], law.log_probabilities(other[None])[0]))
        else:
            _sort(law, apart, movement.release, squares, parts)
    return ComposedLoss(math.sqrt(math.fsum(squares)), _once(parts))


def _laplace(shift: float, scale: float) -> LawPair:
    law = Laplace(scale)
    curve = functools.partial(law.delta, sensitivity=shift)
    return symmetric(curve, law.pure(shift), True, ("laplace", shift / scale, ""))


def _isotropic(core: Array, other: Array, scale: float) -> Iterator[LawPair]:
    k = core.shape[-1]
    law = IsotropicLaplace(scale, d=k)
    for shift in np.linalg.norm(core - other, axis=-1).ravel().tolist():
        if shift > 0:
            curve = functools.partial(law.delta, sensitivity=shift)
            yield symmetric(curve, law.pure(shift), True, ("isotropic", k, shift / scale, ""), cheap=False)


def _finite(log_p: Array, log_q: Array) -> LawPair:
    """A pair of finite laws, each direction with its own curve."""
    p, q = np.exp(log_p), np.exp(log_q)

    def stick(one: Array, other: Array, epsilon: float) -> float:
        return float(np.maximum(0.0, one - math.exp(epsilon) * other).sum())

    forth, back = functools.partial(stick, p, q), functools.partial(stick, q, p)
    tops = float(np.max(log_p - log_q)), float(np.max(log_q - log_p))
    return LawPair((forth, back), tops, True, ("finite", p.tobytes(), q.tobytes(), ""))
