"""What an attack on an implementation found, and how much it matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dpcheck.verdicts import Witness

Grade = Literal["critical", "theoretical", "negligible"]
GRADES: tuple[Grade, ...] = ("critical", "theoretical", "negligible")


@dataclass(frozen=True, kw_only=True)
class AttackFinding:
    """What one attack saw.

    Attributes:
        found: whether it broke something, at the stated failure probability (0: certain).
        grade: how much it matters if found.
        samples: mechanism runs used; epsilon_lower: certified, where the attack is an audit.
        skipped: why the attack could not be run, or "".
        witness: of a certified violation, where the attack is an audit.
    """

    attack: str
    found: bool
    grade: Grade
    samples: int
    detail: str
    epsilon_lower: float = 0.0
    failure_probability: float = 0.0
    skipped: str = ""
    witness: Witness | None = None

    @property
    def said(self) -> str:
        """The grade of what was found, "nothing found" or "not run"."""
        return self.grade if self.found else "not run" if self.skipped else "nothing found"

    def __str__(self) -> str:
        return f"{self.attack}: {self.said} ({self.samples:,} runs): {self.skipped or self.detail}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "attack": self.attack,
            "found": self.found,
            "grade": self.grade if self.found else None,
            "samples": self.samples,
            "detail": self.detail,
            "epsilon_lower": self.epsilon_lower,
            "failure_probability": self.failure_probability,
            "skipped": self.skipped,
        }


def not_run(attack: str, grade: Grade, why: str) -> AttackFinding:
    return AttackFinding(attack=attack, found=False, grade=grade, samples=0, detail="", skipped=why)
