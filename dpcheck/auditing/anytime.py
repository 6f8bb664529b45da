"""Audits that may stop at any time: e-processes against many nulls at once, in constant memory.

A first part of the runs chooses the score and its cells. Two kinds of bettors then share the wealth, each of them a
supermartingale under every null, so that by Ville's inequality the sum reaches 1/alpha with probability at most alpha,
whenever one looks. The patient ones are paid the nearest-null e-value of each trial's cell
(`dpcheck.statistics.evalues`), with cell laws learned from the trials before. The bold one (`dpcheck.auditing.bold`)
stakes all on a staged test at a horizon; when it is over, the patient ones fund the next, four times as far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpcheck.auditing.bold import Bold
from dpcheck.auditing.cells import Partition
from dpcheck.errors import InvalidInput
from dpcheck.privacy import ApproxDP, Guarantee
from dpcheck.statistics.evalues import nearest_null

Array = NDArray[np.float64]
GROWTH = 1.4
"""Cell laws are learned anew when the trials have grown by this factor."""
BETTORS = ((0.5, 1.0, 1.0), (0.2, 1.0, 0.05), (0.3, math.inf, 1.0))
"""(weight, cap, share of the horizon) of each bettor; see `_bets`."""
BOLD = 0.7
"""Share of the wealth that the bold bettor is given for each horizon."""
SHARED = 0.05
"""Share of every smaller null's wealth that follows the claim's."""
WINDOW = 48
"""Most nulls that are bet against at a time."""
CURVE_DELTA = 1e-5
"""Where a lower bound on epsilon is reported when a whole curve is claimed."""


def epsilon_grid(claimed: float) -> Array:
    """Nulls for the lower bound: a few per cent apart, denser towards the claim, which is one of them."""
    wide = np.geomspace(max(0.02, claimed / 20), max(20.0, 2 * claimed), 120)
    gaps = np.geomspace(5e-4, 0.2, 24)
    near = np.linspace(0.5, 1.0, 101) * claimed
    kept = np.concatenate([wide, near, claimed * (1 + gaps), claimed * (1 - gaps)])
    return np.unique(np.round(kept, 12))


def curve_points(claim: Guarantee) -> tuple[Array, Array]:
    """Points (epsilon, delta) of a claimed curve, over which e-values are averaged."""
    epsilons = np.concatenate([[0.0], np.geomspace(0.1, 10.0, 11)])
    deltas = np.array([claim.delta_at(float(e)) for e in epsilons])
    kept = (deltas < 0.95) & (deltas > 1e-9)
    return epsilons[kept], deltas[kept]


@dataclass
class State:
    """All that an anytime audit remembers; its size does not grow with the trials.

    Attributes:
        epsilons, deltas: (nulls,) of the lower bound, with one delta and growing epsilon, then the points of a curve.
        bounds: how many of them are for the lower bound (the claim is number `claimed_at`); the average wealth of the
            others refutes a claimed curve.
        horizon: trials for which the bets are tuned (any other number is valid, and a little less powerful).
        log_wealth: (bettors, nulls) of the patient ones, now; bold: the bold one (bounds only).
        log_peak: (bounds,) largest wealth of all bettors so far.
        curve_peak: largest log average wealth over the curve.
        counts: (cells, 2) outputs so far, the teaching ones included; tested: coin-flipped trials so far.
        chunk_number: next chunk to draw; looks: times at which the audit could have stopped.
    """

    epsilons: Array
    deltas: Array
    bounds: int
    claimed_at: int
    horizon: int
    log_wealth: Array
    log_peak: Array
    curve_peak: float
    counts: NDArray[np.int64]
    bold: Bold
    tested: int = 0
    chunk_number: int = 0
    looks: int = 0
    taught_at: int = 0
    window_end: int = 0
    pay: tuple[Array, Array] | None = field(default=None, repr=False)

    @classmethod
    def fresh(cls, claim: Guarantee, taught: NDArray[np.int64], horizon: int, failure_probability: float) -> State:
        delta = claim.delta if isinstance(claim, ApproxDP) else CURVE_DELTA
        grid = epsilon_grid(claim.epsilon_at(delta))
        curve = np.zeros((2, 0)) if isinstance(claim, ApproxDP) else np.stack(curve_points(claim))
        nulls = len(grid) + curve.shape[1]
        return cls(
            epsilons=np.concatenate([grid, curve[0]]),
            deltas=np.concatenate([np.full(len(grid), delta), curve[1]]),
            bounds=len(grid),
            claimed_at=int(np.argmin(np.abs(grid - claim.epsilon_at(delta)))),
            horizon=horizon,
            log_wealth=np.zeros((len(BETTORS), nulls)),
            log_peak=np.zeros(len(grid)),
            curve_peak=0.0,
            counts=taught.astype(np.int64),
            # A win must still reach one over the failure probability when a share of it follows the claim.
            bold=Bold.unfunded(grid, delta, 0.999 * (1 - SHARED) * failure_probability, horizon, len(taught)),
        )

    def learn(self, cells: Partition, failure_probability: float) -> None:
        """Sets the payments of the coming trials from the past ones, when these have grown enough."""
        if self.bold.tested == 0 or self.bold.over:
            self._embolden(cells.taught(self.counts))
        alive = np.flatnonzero(self.log_peak < -math.log(failure_probability))
        first = int(alive[0]) if len(alive) else self.bounds
        moved = first >= self.window_end - WINDOW // 2 and first < self.bounds and self.tested > 1.1 * self.taught_at
        if self.pay is not None and self.tested < GROWTH * self.taught_at and not moved:
            return
        known = cells.taught(self.counts)
        # Bets are placed on the first nulls that still stand; those further up earn nothing yet.
        standing = alive[:WINDOW]
        self.window_end = int(standing[-1]) + 1 if len(standing) == WINDOW else self.bounds + WINDOW
        beyond = np.arange(self.bounds, len(self.epsilons))
        active = np.unique(np.concatenate([standing, [self.claimed_at], beyond])).astype(int)
        if not len(beyond):
            active = active[self.epsilons[active] < float(np.abs(known.log_ratio).max()) + 1]
        shape = (len(BETTORS), len(self.epsilons), len(known.p))
        pay_p, pay_q = np.ones(shape), np.ones(shape)
        needed = -math.log(failure_probability) + 0.7
        for bettor, (_, stretch, share) in enumerate(BETTORS):
            laws = _bets(known, self.epsilons[active], needed, share * self.horizon / 2, stretch)
            null = nearest_null(*laws, self.epsilons[active], self.deltas[active], rounds=2)
            pay_p[bettor, active], pay_q[bettor, active] = null.pay_p, null.pay_q
        self.pay = np.log(pay_p), np.log(pay_q)
        self.taught_at = max(self.tested, int(self.counts.sum()) // 2)

    def _embolden(self, known: Partition) -> None:
        """A stage of the bold bettor begins; after a horizon, the patient ones fund the next."""
        if self.bold.over:
            patient = self.log_wealth[:, : self.bounds]
            self.bold.fund(math.log(BOLD) + _average(patient), self.tested)
            self.log_wealth[:, : self.bounds] = patient + math.log1p(-BOLD)
        self.bold.choose(known)

    def observe(self, fresh: NDArray[np.int64]) -> None:
        """Takes the (cells, 2) counts of new coin-flipped trials at the payments set before."""
        assert self.pay is not None
        self.log_wealth = self.log_wealth + self.pay[0] @ fresh[:, 0] + self.pay[1] @ fresh[:, 1]
        self.bold.observe(fresh)
        average = _average(self.log_wealth)
        points = len(average) - self.bounds
        bound = np.logaddexp(average[: self.bounds], self.bold.log_wealth)
        # What refutes the claim refutes every smaller null: these follow it with a share of their wealth.
        following = np.logaddexp(math.log1p(-SHARED) + bound, math.log(SHARED) + bound[self.claimed_at])
        bound[: self.claimed_at] = following[: self.claimed_at]
        self.log_peak = np.maximum(self.log_peak, bound)
        if points:
            self.curve_peak = max(self.curve_peak, float(special.logsumexp(average[self.bounds :]) - math.log(points)))
        self.counts = self.counts + fresh
        self.tested += int(fresh.sum())
        self.chunk_number += 1
        self.looks += 1

    def epsilon_lower(self, failure_probability: float) -> float:
        """Largest null below which every null has been rejected (fixed sequence upwards); 0 when the first stands."""
        standing = np.flatnonzero(self.log_peak < -math.log(failure_probability))
        if len(standing) == 0:
            return float(self.epsilons[self.bounds - 1])
        return float(self.epsilons[standing[0] - 1]) if standing[0] else 0.0

    def refutes(self, claim: Guarantee, failure_probability: float) -> bool:
        """Whether the claim has been rejected: an (epsilon, delta) claim with every smaller null, a curve by itself."""
        needed = -math.log(failure_probability)
        if not isinstance(claim, ApproxDP):
            return self.curve_peak >= needed
        return bool(self.epsilon_lower(failure_probability) >= self.epsilons[self.claimed_at])

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; `State.from_dict` brings it back."""
        arrays = {name: getattr(self, name).tolist() for name in (*_FLOATS, "counts")}
        numbers = {name: getattr(self, name) for name in (*_INTEGERS, "curve_peak")}
        return {**arrays, **numbers, "bold": self.bold.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> State:
        try:
            fields: dict[str, Any] = {name: np.asarray(values[name], dtype=float) for name in _FLOATS}
            fields.update({name: int(values[name]) for name in _INTEGERS})
            fields["counts"] = np.asarray(values["counts"], dtype=np.int64)
            fields["curve_peak"] = float(values["curve_peak"])
            fields["bold"] = Bold.from_dict(values["bold"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(
                f"not the state of an anytime audit: {error!r}; pass what `result.state` held"
            ) from error
        return cls(**fields)


def _average(log_wealth: Array) -> Array:
    """Of the patient bettors: (bettors, nulls) -> (nulls,)."""
    prior = np.array([[weight] for weight, *_ in BETTORS])
    return np.asarray(special.logsumexp(log_wealth, axis=0, b=prior))


_FLOATS = ("epsilons", "deltas", "log_wealth", "log_peak")
_INTEGERS = ("bounds", "claimed_at", "horizon", "tested", "chunk_number", "looks")


def _bets(cells: Partition, epsilons: Array, needed: float, pairs: float, stretch: float) -> tuple[Array, Array]:
    """Laws to bet on, one for each null: the learned log-ratio, capped a little above the null.

    Betting on the learned ratio itself costs as many nats as it has parameters; near the truth that is more than there
    is to win. What matters there is only *where* the ratio exceeds the null, and by about how much a bet on `pairs`
    trials a side would have to win: `needed` nats.

    Args:
        stretch: cap in units of that excess; inf bets on the learned ratio.
    """
    ratio = np.broadcast_to(cells.log_ratio, (len(epsilons), len(cells.p)))
    if math.isinf(stretch):
        return np.broadcast_to(cells.p, ratio.shape), np.broadcast_to(cells.q, ratio.shape)
    mass = (cells.p + cells.q) / 2
    null = epsilons[:, None]
    told = np.maximum(1e-9, ((np.abs(ratio) >= null) * 2 * mass).sum(axis=1, keepdims=True))
    spread = special.expit(null) * special.expit(-null)
    excess = stretch * np.sqrt(2 * needed / (pairs * told * spread))
    # A ratio just below the null may be above it in truth: bet on it too, or nothing is ever learned there.
    lifted = np.where(
        np.abs(ratio) >= null - excess / 2,
        np.minimum(np.maximum(np.abs(ratio), null) + excess, null + excess),
        np.abs(ratio),
    )
    signed = np.sign(ratio) * lifted
    return 2 * mass * special.expit(signed) + 1e-12, 2 * mass * special.expit(-signed) + 1e-12


def proceed(
    state: State,
    cells: Partition,
    draw: Callable[[int, int], NDArray[np.int64]],
    samples: int,
    chunk: int,
    stop: Callable[[State], bool],
    failure_probability: float,
) -> None:
    """Draws and observes chunks until `samples` trials are tested or `stop` says so.

    Args:
        draw: (chunk number, trials) -> (cells, 2) counts of coin-flipped trials.
    """
    while state.tested < samples and not stop(state):
        state.learn(cells, failure_probability)
        # Small steps at first, so that an early stop is possible and learning is prompt.
        size = min(chunk, max(64, state.tested // 8), samples - state.tested, state.bold.left)
        state.observe(draw(state.chunk_number, size))
