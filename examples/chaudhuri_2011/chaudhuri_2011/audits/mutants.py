"""Two seeded bugs, and a variant that looks like the second and is private."""

from __future__ import annotations

from collections.abc import Callable

from dpcheck.checks import Context
from dpcheck.harness.losses import compose
from dpcheck.mutants import Mutant
from dpcheck.privacy import PureDP
from dpcheck.testing import kill_by_number

from ..algorithms.chaudhuri_2011 import HUBER, Directions, ObjectivePerturbation, OutputPerturbation
from .chaudhuri_2011 import largest_loss


def halved() -> float:
    """ε at the distance of Corollary 8."""
    schedule = OutputPerturbation(0.3).schedule(Context("", "", {}).problem(Directions(2), PureDP(1.0)), 50)
    broken = schedule.edit("minimiser", law=lambda law: type(law)(law.scale / 2, law.d))
    return compose(broken, {"minimiser": schedule.releases[0].reads[0].sensitivity}).pure[0]


def counted(jacobian: int) -> float:
    """ε of Algorithm 2 with so many logarithms taken off."""
    work = Directions(1, link=HUBER)
    (stage,) = ObjectivePerturbation(0.8, jacobian).schedule(Context("", "", {}).problem(work, PureDP(1.0)), 2).phases
    return largest_loss(work.link, stage, 1)


def bug(name: str, algorithm: int, found: Callable[[], float], said: str, lookalike: bool = False) -> Mutant:
    kill = kill_by_number("exact law", "1-DP", found, 1.0)
    return Mutant(name=name, about=f"chaudhuri_2011/alg-{algorithm}", bug=said, kill=kill, lookalike=lookalike)


BUGS = [
    bug("chaudhuri-output-half-noise", 1, halved, "Noise of scale L/(nΛε): one record moves one gradient."),
    bug("chaudhuri-objective-no-jacobian", 2, lambda: counted(0), "ε' = ε: the determinants are forgotten."),
    bug(
        "chaudhuri-objective-one-step", 2, lambda: counted(1), "One logarithm taken off: rank one needs no more.", True
    ),
]
