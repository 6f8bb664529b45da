"""Exact privacy of schedules: what a pair of neighbours really costs, next to what was claimed.

* `slack` sets, release by release, the epsilon that its claimed sensitivity was charged next to the epsilon of the
  distance that its cores really have.
* `judge` compares an exact `Composition` (`dpcheck.harness.losses`) with a guarantee: REFUTED when the lower bound of
  a pair breaks it. HOLDS when the upper bound keeps it and the caller says why the distances cover all pairs; for one
  pair among many the answer is CONSISTENT.
* `losses` and `judge_losses` are for cores that depend on the history: the sum of log-ratios of a trial is its exact
  privacy loss given the coins. It refutes only without coins, and never proves: it is exact for the histories run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.errors import InvalidInput
from dpcheck.harness.losses import ComposedLoss
from dpcheck.harness.replay import Case
from dpcheck.interfaces import Array, Schedule
from dpcheck.numerics import edge
from dpcheck.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, RenyiDP
from dpcheck.statistics.means import refute_mean
from dpcheck.verdicts import Verdict, Witness, consistent, holds, refuted, undecided

ROUNDING = 1e-9
"""Relative, in epsilon; absolute in delta it is a thousandth of that."""
GRID = tuple(float(e) for e in np.concatenate(([0.0], np.geomspace(1e-3, 30.0, 120))))


@dataclass(frozen=True)
class Slack:
    """One release: what was charged, and what its cores cost.

    Attributes:
        uses: how many times it released.
        claimed, realised: sensitivity and largest distance of the cores, in the release's norm.
        epsilon_claimed, epsilon_realised: of pure DP, all uses together; inf for Gaussian noise.
        rho_claimed, rho_realised: of zCDP.
    """

    name: str
    uses: int
    claimed: float
    realised: float
    epsilon_claimed: float
    epsilon_realised: float
    rho_claimed: float
    rho_realised: float

    @property
    def ratio(self) -> float:
        """realised / claimed; inf for a release that moved though nothing was claimed."""
        return self.realised / self.claimed if self.claimed > 0 else (math.inf if self.realised > 0 else 0.0)


def slack(schedule: Schedule[Any], distances: Mapping[str, float | Sequence[float]]) -> tuple[Slack, ...]:
    """The slack table: every release of the schedule, in order.

    Args:
        distances: release name -> distance of its cores (one for all uses, or one a use); 0 where it is not named.
    """
    rows = []
    for release in schedule.releases:
        moved = distances.get(release.name, 0.0)
        uses = [float(moved)] * release.count if isinstance(moved, float | int) else [float(v) for v in moved]
        claimed = max((read.sensitivity for read in release.reads), default=0.0)
        law, realised = release.law, max(uses, default=0.0)
        together = law.pure(1.0, 2) == law.pure(1.0) < math.inf
        pure = [law.pure(apart) for apart in uses]
        rows.append(
            Slack(
                name=release.name,
                uses=len(uses),
                claimed=claimed,
                realised=realised,
                epsilon_claimed=law.pure(claimed, release.count),
                epsilon_realised=max(pure, default=0.0) if together else math.fsum(pure),
                rho_claimed=law.zcdp(claimed, release.count),
                rho_realised=law.zcdp(realised) if together else math.fsum(law.zcdp(apart) for apart in uses),
            )
        )
    return tuple(rows)


def judge(
    composition: ComposedLoss,
    claim: Guarantee,
    *,
    covers: str = "",
    rho: float | None = None,
    witness: Witness | None = None,
) -> Verdict:
    """Judges a guarantee by an exact composition.

    Args:
        covers: why this pair, or these distances, stand for every pair of neighbours ("distances are the certified
            sensitivities"). Empty: one pair among many, which never says HOLDS.
        rho: zCDP of the composition, where the claim is one of zCDP or Renyi DP.
        witness: attached to a refutation.
    """
    low, high, allowed, what = _compare(composition, claim, rho)
    numbers: dict[str, float | int | str | bool] = {"from below": low, "from above": high, "claimed": allowed}
    if math.isfinite(composition.pure[1]):
        numbers["pure epsilon"] = composition.pure[1]
    room = allowed * ROUNDING if what == "epsilon" else max(allowed * ROUNDING, 1e-3 * ROUNDING)
    if low > allowed + room:
        reason = f"{what} is at least {low:.6g}, {claim} allows {allowed:.6g}"
        return refuted(reason, "exact", numbers=numbers, witness=witness)
    if high <= allowed + room:
        if covers:
            return holds(
                f"{what} at most {high:.6g}, {claim} allows {allowed:.6g} ({covers})", "exact", numbers=numbers
            )
        reason = f"this pair keeps {claim} ({what} at most {high:.6g} of {allowed:.6g}); other pairs were not examined"
        return consistent(reason, "exact", numbers=numbers, notices=f"{what} above {allowed:.6g} on this pair")
    reason = f"{what} lies between {low:.6g} and {high:.6g}, {claim} allows {allowed:.6g}"
    return undecided(reason, "exact", numbers=numbers)


def _compare(composition: ComposedLoss, claim: Guarantee, rho: float | None) -> tuple[float, float, float, str]:
    """(from below, from above, allowed, of what): where the claim is closest to breaking."""
    if isinstance(claim, ApproxDP):
        if claim.delta == 0:
            return (*composition.pure, claim.epsilon, "epsilon")
        return (*composition.delta(claim.epsilon), claim.delta, f"delta at epsilon {claim.epsilon:g}")
    if isinstance(claim, GaussianDP) and not composition.parts:
        return composition.mu, composition.mu, claim.mu, "mu"
    low, allowed, at = -math.inf, 1.0, 0.0
    for epsilon in GRID:
        value, limit = composition.delta(epsilon)[0], claim.delta_at(epsilon)
        if value - limit > low - allowed:
            low, allowed, at = value, limit, epsilon
    if low > allowed:
        return low, math.inf, allowed, f"delta at epsilon {at:.4g}"
    if rho is not None and isinstance(claim, ZCDP):
        return 0.0, rho, claim.rho, "rho"
    if rho is not None and isinstance(claim, RenyiDP):
        return 0.0, claim.alpha * rho, claim.epsilon, "Renyi divergence"
    # No finite set of points proves a whole curve.
    return low, math.inf, allowed, f"delta at epsilon {at:.4g}"


# ---------------------------------------------------------------------------------------------------------------------
# Cores that depend on the history.


@dataclass(frozen=True)
class Losses:
    """Exact privacy losses of sampled transcripts given the coins, of D against D'.

    Attributes:
        values: (trials,), inf where something outside of the releases follows the data.
        coins: whether hidden randomness was replayed: then the losses bound those of the outputs from above.
        parted: how control flow followed the data, "" if it did not.
    """

    values: Array
    coins: bool
    parted: str

    def delta(self, epsilon: float) -> Array:
        """(1 - e^(epsilon - loss))_+ of every trial: its mean estimates delta(epsilon), given the coins."""
        return np.asarray(-np.expm1(np.minimum(0.0, epsilon - self.values)))

    def epsilon_hat(self, delta: float) -> float:
        """Smallest epsilon at which the trials' mean of `delta` is at most delta: an estimate, no bound."""
        if float(self.delta(0.0).mean()) <= delta:
            return 0.0
        high = float(self.values.max())
        if math.isinf(high):
            return math.inf
        return edge(lambda epsilon: float(self.delta(epsilon).mean()) <= delta, 0.0, high, halvings=60)[1]


def losses(case: Case, data: Array, neighbour: Array, trials: int, seed: int, *key: Any) -> Losses:
    """Runs D many times and evaluates the loss of each transcript against D'.

    Args:
        data, neighbour: (1, n, *record).
    """
    floats = case.planned(np.asarray(data).shape[1]).floats_per_trial
    by_chunk, coins, parted = [], False, ""
    for number, (_, size) in enumerate(seeds.chunks(seed, trials, 2 * floats, *key)):
        # A replay keys its stream by one integer: the chunk's own.
        seen = case.replay(data, neighbour, size, seeds.key_of([seed, *key, number]))
        by_chunk.append(seen.loss())
        coins, parted = coins or seen.has_coins, parted or seen.parted
    return Losses(np.concatenate(by_chunk), coins, parted)


def judge_losses(sampled: Sequence[Losses], claim: ApproxDP, failure_probability: float) -> Verdict:
    """Judges (epsilon, delta)-DP by exact losses of sampled transcripts. Never HOLDS.

    Args:
        sampled: one direction of the pair, or both; the failure probability is shared.

    Raises:
        InvalidInput: a claim of a whole curve; test its (epsilon, delta) points.
    """
    if not isinstance(claim, ApproxDP):
        raise InvalidInput(f"losses are compared with one (epsilon, delta), got {claim}; pass ApproxDP points of it")
    top = max(float(one.values.max()) for one in sampled)
    coins = any(one.coins for one in sampled)
    estimates = [float(one.delta(claim.epsilon).mean()) for one in sampled]
    numbers: dict[str, float | int | str | bool] = {
        "largest loss": top,
        "mean loss": max(float(one.values.mean()) for one in sampled),
        "99 % loss": max(float(np.quantile(one.values, 0.99, method="higher")) for one in sampled),
        "delta estimate": max(estimates),
        "epsilon estimate": max(one.epsilon_hat(claim.delta) for one in sampled),
        "trials": sum(len(one.values) for one in sampled),
        "given the coins": coins,
    }
    fields: dict[str, Any] = {"failure_probability": failure_probability, "numbers": numbers}
    parted = next((one.parted for one in sampled if one.parted), "")
    if parted or math.isinf(top):
        reason = parted or "something outside of every release follows the data"
        return refuted(f"not private: {reason}", "exact", numbers=numbers)
    given = "given the coins, " if coins else ""
    seen = f"{given}losses up to {top:.6g}, delta({claim.epsilon:g}) about {max(estimates):.3g}"
    if coins:
        reason = f"{seen}, an upper bound on that of the outputs; integrate the coins out, or audit the outputs"
        return undecided(reason, "sampled", **fields)
    if claim.delta == 0:
        if top > claim.epsilon * (1 + 1e-6):
            reason = f"a transcript is e^{top:.6g} times as likely, {claim} allows e^{claim.epsilon:g}"
            return refuted(reason, "exact", numbers=numbers)
        notices = f"a history among those run whose loss exceeds {claim.epsilon:g}"
        return consistent(f"{seen}; {claim} kept by every history run", "sampled", notices=notices, **fields)
    share = failure_probability / len(sampled)
    for one in sampled:
        if refute_mean(one.delta(claim.epsilon), claim.delta, share).crossed is not None:
            return refuted(f"{seen}, certainly above {claim.delta:g}", "sampled", **fields)
    return undecided(f"{seen}; {claim} not refuted", "sampled", **fields)
