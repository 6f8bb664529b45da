"""A seeded bug that a check must find: `dpcheck mutants`."""

from __future__ import annotations

from dpcheck.accounting import account
from dpcheck.checks import Context
from dpcheck.mutants import Mutant
from dpcheck.privacy import PureDP
from dpcheck.testing import kill_by_number

from ..algorithms.my_paper import NoisyMean
from .my_paper import WORK


def halved() -> float:
    """ε of the schedule with half of the noise."""
    problem = Context("mutants", "halved", {}).problem(WORK, PureDP(1.0))
    return float(account(NoisyMean(noise_dial=0.5).schedule(problem, 100)).epsilon(0.0))


HALF = Mutant(
    name="my_paper-half-noise",
    about="my_paper/alg-1",
    bug="The noise is scaled to the change of one number by D/2.",
    kill=kill_by_number("accountant", "1-DP of Algorithm 1", halved, 1.0),
)
