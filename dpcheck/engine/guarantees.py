"""What a schedule's privacy rests on: what is claimed, what the accountant certifies, what is refuted; kept apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcheck.accounting import account
from dpcheck.accounting.account import ROUNDING
from dpcheck.privacy import ZCDP, ApproxDP, Guarantee, PureDP

if TYPE_CHECKING:
    from dpcheck.accounting import Account
    from dpcheck.accounting.account import Stretch
    from dpcheck.claims import Claim
    from dpcheck.interfaces import Schedule


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """The privacy of one schedule.

    Attributes:
        claimed: what is promised, by the statements `claimed_by`; None where nobody promises anything.
        certified: what the accountant certifies from proved sensitivities alone, at the claimed delta; None: nothing.
        keeps: whether that is at least the claim.
        rests_on: claims, not proved for this instance, that sensitivities follow from: why nothing is certified.
        refuted: those among `claimed_by` and `rests_on` that are false, where the claim is not certified after all.
        epsilon, delta: of `certified`; inf where nothing is. None for zCDP.
    """

    claimed: Guarantee | None
    claimed_by: tuple[str, ...]
    certified: Guarantee | None
    keeps: bool
    rests_on: tuple[str, ...]
    refuted: tuple[str, ...]
    epsilon: float | None
    delta: float | None

    @property
    def stands(self) -> bool:
        """Whether some guarantee may be relied on: certified, or claimed by statements that nobody refuted."""
        return not self.refuted and (self.claimed is not None or self.certified is not None)

    def said(self) -> dict[str, str]:
        """The three lines of a plan: what is claimed, refuted (where something is) and certified."""
        by = f", by {', '.join(self.claimed_by)}" if self.claimed_by else ""
        numbers = {"claimed": "nothing" if self.claimed is None else f"{self.claimed}{by}"}
        if self.refuted:
            numbers["refuted"] = ", ".join(self.refuted)
        numbers["certified"] = self._certified()
        return numbers

    def _certified(self) -> str:
        if self.rests_on:
            return f"nothing: the sensitivities rest on {', '.join(self.rests_on)}, not proved for this instance"
        if self.certified is None:
            return "nothing: no record is protected by noise" if self.epsilon is None else "nothing: no finite ε"
        less = "" if self.keeps or self.claimed is None else ": the claim itself is not certified"
        return f"{self.certified} by the accountant{less}"

    def warning(self) -> str:
        """What has to be said first, "" where a guarantee stands."""
        if self.stands:
            return ""
        are = f"{', '.join(self.refuted)} {'is' if len(self.refuted) == 1 else 'are'} refuted"
        if self.claimed is None:
            on = f", for its sensitivities rest on {', '.join(self.rests_on)}" if self.rests_on else ""
            false = f", and {are}" if self.refuted else ""
            return f"No guarantee stands: nothing is promised, and nothing is certified{on}{false}."
        return f"No guarantee stands: {self.claimed} is claimed, and {are}."

    def to_dict(self) -> dict[str, Any]:
        return {
            "claimed": None if self.claimed is None else str(self.claimed),
            "claimed_by": list(self.claimed_by),
            "certified": None if self.certified is None else str(self.certified),
            "certified_epsilon": self.epsilon,
            "certified_delta": self.delta,
            "certifies_the_claim": self.keeps,
            "rests_on": list(self.rests_on),
            "refuted": list(self.refuted),
            "stands": self.stands,
        }


def is_false(claim: Claim) -> bool:
    """Whether nothing may rest on it: refuted, or a reading that is wrong where the statement is not."""
    return claim.grade == "refuted" or (claim.grade != "" and claim.reading != "as-printed")


def judge(schedule: Schedule[Any], claims: Iterable[Claim] = ()) -> Privacy:
    """The privacy of a schedule, as far as these claims and the accountant know."""
    known: Mapping[str, Claim] = {claim.label: claim for claim in claims}
    spent = account(schedule)
    claimed = schedule.claimed
    certified, epsilon, delta = _certified(schedule, spent)
    keeps = certified is not None and claimed is not None and (_implies(certified, claimed) or spent.within(claimed))
    names = dict.fromkeys([*schedule.claimed_by, *spent.unproved])
    false = () if keeps or (claimed is None and certified is not None) else tuple(names)
    return Privacy(
        claimed=claimed,
        claimed_by=schedule.claimed_by if claimed is not None else (),
        certified=certified,
        keeps=keeps,
        rests_on=spent.unproved,
        refuted=tuple(label for label in false if label in known and is_false(known[label])),
        epsilon=epsilon,
        delta=delta,
    )


def stands(schedule: Schedule[Any], claims: Iterable[Claim] = ()) -> bool:
    """`judge(schedule, claims).stands`; nothing is composed where nobody refuted what the claim may rest on."""
    false = {claim.label for claim in claims if is_false(claim)}
    rests_on = {label for release in schedule.releases for label in release.rests_on}
    if schedule.claimed is not None and not false & {*schedule.claimed_by, *rests_on}:
        return True
    return judge(schedule, claims).stands


def _implies(certified: Guarantee, claimed: Guarantee) -> bool:
    """Whether the claim follows from what is certified at its own delta: then no delta is sought at its epsilon.

    With the slack of `Account.within`: noise that was set by the claim costs it up to rounding.
    """
    return (
        isinstance(certified, ApproxDP)
        and isinstance(claimed, ApproxDP)
        and certified.delta <= claimed.delta
        and certified.epsilon <= claimed.epsilon * (1 + ROUNDING)
    )


def _certified(schedule: Schedule[Any], spent: Account) -> tuple[Guarantee | None, float | None, float | None]:
    """The certified guarantee, its epsilon and its delta."""
    if not schedule.releases:
        # Without noise only what reads no record is private, and that is perfectly so.
        return (None, None, None) if spent.stretches else (schedule.claimed, 0.0, 0.0)
    if isinstance(schedule.claimed, ZCDP) and not spent.unproved:
        rho = max(stretch.rho for stretch in spent.stretches)
        return (ZCDP(rho) if 0 < rho < math.inf else None), None, None
    delta = schedule.claimed.delta if isinstance(schedule.claimed, ApproxDP) else spent.reference_delta
    epsilon = _worst_epsilon(spent, delta)
    if not math.isfinite(epsilon):
        return None, math.inf, delta
    return (ApproxDP(max(epsilon, 5e-324), delta) if delta else PureDP(max(epsilon, 5e-324))), epsilon, delta


def _worst_epsilon(spent: Account, delta: float) -> float:
    """`spent.epsilon(delta)`; stretches that a quick bound puts below another one's epsilon need no curve."""
    worst = 0.0
    for quick, stretch in sorted(((_quickly(s, delta), s) for s in spent.stretches), key=lambda pair: -pair[0]):
        if quick > worst:
            worst = max(worst, float(stretch.epsilon(delta)))
    return worst


def _quickly(stretch: Stretch, delta: float) -> float:
    """At least `stretch.epsilon(delta)`, and inf where only a curve of orders could tell."""
    left = delta - stretch.failure
    if left <= 0 or stretch.unproved or len(stretch.parts) != 1:
        return math.inf
    return min(stretch.pure, stretch.parts[0].certified(left))
