"""What the algorithms and procedures take and what they refuse: values on either side of every condition of theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dpcheck.algorithms.tsybakov import IteratedAccelerated, IteratedLocalised, LocalisedClipped, PermutedAccelerated
from dpcheck.algorithms.tsybakov.baseline import PoissonSGD
from dpcheck.algorithms.tsybakov.clipped import Restricted, clipped_descent, clipped_mean, regularised_minimiser
from dpcheck.algorithms.tsybakov.hard_instances import plug_in, private_instance, sign_packing
from dpcheck.algorithms.tsybakov.mechanisms import local_law, printed_gaussian
from dpcheck.algorithms.tsybakov.settling import settled
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Problem, Sample
from dpcheck.workloads.sheared import Sheared

from .cases import approximation, iterated, told
from .lemmas import PLANE

ORIGIN = np.zeros((1, 2))
DATA = Sample(np.ones((1, 3, 2)), np.ones((1, 3)))
RNG = np.random.default_rng


def stepped(steps: int = 2, eta: float = 0.25, weight: float = 0.25) -> object:
    """Algorithm 2 on three records."""
    return clipped_descent(PLANE, DATA, ORIGIN, steps=steps, eta=eta, level=0.25, weight=weight)


def rested(eta: float) -> object:
    """Where Algorithm 2 comes to rest on four linear losses: its steps contract up to eta (1 + 2 weight) = 2."""
    sample = Sample(np.tile([0.0, 0.0, 1.0, 0.0], (1, 4, 1)), np.ones((1, 4)))
    return settled(Sheared(1.0, 3.0), sample, ORIGIN, steps=200, eta=eta, level=1.0, weight=0.5)


def suggested(n: int = 1, level: float = 0.25, rho: float = 0.25) -> object:
    """The plug-in estimator at one mean."""
    return plug_in(PLANE, 0.1 * np.ones((1, 2)), n, level, rho, RNG(0))


def instance(chance: float = 0.25, k: float = 2.0) -> object:
    """A law of Theorem 4."""
    return private_instance(np.ones(2), chance, k=k, theta=2.0, r_k=1.0, ball="corrected")


def attempted(made: Callable[[], object]) -> str:
    """ "taken", "refused", or the error that an honest caller would get to see."""
    try:
        made()
    except (Infeasible, InvalidInput):
        return "refused"
    except (ArithmeticError, ValueError, TypeError, IndexError) as error:
        return f"broken by {type(error).__name__}: {error}"
    return "taken"


class Edge(NamedTuple):
    """A parameter, with values that are legal and as near to illegal ones as they may be, and illegal ones."""

    made: Callable[[Any], object]
    legal: tuple[Any, ...]
    illegal: tuple[Any, ...]


def positive(made: Callable[[Any], object]) -> Edge:
    """Of what has to be above 0."""
    return Edge(made, (0.25,), (0.0, -0.25))


def budget(made: Callable[[float, float], object]) -> dict[str, Edge]:
    """Of what takes every epsilon > 0 and every delta in (0, 1)."""
    return {
        "epsilon": positive(lambda x: made(x, 0.25)),
        "delta": Edge(lambda x: made(0.25, x), (0.25, 0.75), (0.0, 1.0)),
    }


EDGES: Mapping[str, Mapping[str, Edge]] = {
    "tsybakov/alg-1": {"level": positive(lambda x: clipped_mean(DATA, DATA.values, x))},
    "tsybakov/alg-2": {
        "steps": Edge(lambda x: stepped(steps=x), (0, 1), (-1,)),
        "eta": positive(lambda x: stepped(eta=x)),
        "weight": Edge(lambda x: stepped(weight=x), (0.0, 0.25), (-0.25,)),
        "eta of long phases": Edge(rested, (1.0,), (1.125,)),
    },
    "tsybakov/alg-3": {
        "p": Edge(lambda x: LocalisedClipped(p=x), (1.0,), (0.5,)),
        "k": Edge(lambda x: LocalisedClipped(k=x), (2.0,), (1.5,)),
        "noise_dial": positive(lambda x: LocalisedClipped(noise_dial=x)),
    },
    "tsybakov/alg-4": {"radius of a ball": positive(lambda x: Restricted(PLANE, ORIGIN, x))},
    "tsybakov/alg-5": {"theta_bar": Edge(lambda x: IteratedLocalised(theta_bar=x), (1.25,), (1.0, 0.75))},
    "tsybakov/alg-6": {
        "k": Edge(lambda x: PermutedAccelerated(k=x), (2.0,), (1.5,)),
        "constant": positive(lambda x: PermutedAccelerated(constant=x)),
        "noise_dial": positive(lambda x: PermutedAccelerated(noise_dial=x)),
    },
    "tsybakov/proc-prox-exact": {"weight": positive(lambda x: regularised_minimiser(PLANE, DATA, ORIGIN, x, gap=1e-9))},
    "tsybakov/proc-gaussian": budget(lambda e, d: printed_gaussian(1.0, e, d)),
    "tsybakov/proc-ldp-gauss": budget(lambda e, d: local_law(1.0, e, d)),
    "tsybakov/proc-dpsgd": {
        "T": Edge(lambda x: PoissonSGD(T=x), (1,), (0,)),
        "b": Edge(lambda x: PoissonSGD(b=x), (1,), (0,)),
        "level": positive(lambda x: PoissonSGD(level=x)),
        "eta": positive(lambda x: PoissonSGD(eta=x)),
    },
    "tsybakov/proc-gv-packing": {"d": Edge(lambda x: sign_packing(x, RNG(0), 1), (1,), (0,))},
    "tsybakov/proc-lb4-data": {
        "chance": Edge(lambda x: instance(chance=x), (0.25, 1.0), (0.0, 1.25)),
        "k": Edge(lambda x: instance(k=x), (2.0,), (1.5,)),
    },
    "tsybakov/proc-zcdp-plugin": {
        "n": Edge(lambda x: suggested(n=x), (1,), (0,)),
        "level": positive(lambda x: suggested(level=x)),
        "rho": positive(lambda x: suggested(rho=x)),
    },
}
"""Label -> parameter -> its edge."""

SIZED: Mapping[str, tuple[Algorithm[Any], tuple[int, ...]]] = {
    "tsybakov/alg-3": (LocalisedClipped(**LocalisedClipped.readings["every-loss"]), (0, 1, 3, 5, 1000)),
    "tsybakov/alg-4": (approximation(2.0, lipschitz="ignored"), (1, 2, 20)),
    "tsybakov/alg-5": (iterated(2.0, lipschitz="ignored", theta_bar=4.0), (1, 3, 7)),
    "tsybakov/alg-6": (PermutedAccelerated(calibration="shuffle"), (1, 20)),
    "tsybakov/alg-7": (
        IteratedAccelerated(**{**IteratedAccelerated.readings["corrected"], "theta_bar": 1.25}), (1, 3, 7)
    ),
    "tsybakov/proc-dpsgd": (PoissonSGD(T=2, b=8), (1, 7)),
}  # fmt: skip
"""Label -> an algorithm, and sizes that it refuses with the smallest one that would do, or the next one."""


def smallest_named(algorithm: Algorithm[Any], size: int, problem: Problem | None = None) -> int | None:
    """The size that a refusal of another one names; None where that one is planned, nothing is named, or it breaks."""
    try:
        algorithm.schedule(problem or told(PLANE), size)
    except Infeasible as error:
        return error.smallest_n
    except (ArithmeticError, ValueError, TypeError, IndexError):
        return None
    return None
