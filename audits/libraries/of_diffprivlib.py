"""diffprivlib's mechanisms, each against the epsilon and delta that it is made with."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcheck.checks import Context, by_size, check
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.verdicts import Verdict

from ._subjects import NOT_REFUTED, ONE, ZERO, Mechanism, diffprivlib, judged, last_bits, named

NEEDS = ("diffprivlib",)
EPSILONS = by_size((1.0,), (0.5, 1.0, 3.0))
DELTA = 0.01
"""Where a delta is asked for: large enough to be seen at these sizes."""
SLOW = (1_000, 10_000, 100_000)


def values(name: str, kind: type = float, **settings: Any) -> Mechanism:
    """A mechanism on one value, made anew with a generator of the audit's own."""

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> Any:
        made = getattr(diffprivlib(), name)(**settings, random_state=_state(rng))
        value = kind(data[0])
        return np.array([made.randomise(value) for _ in range(trials)], dtype=float)

    return named("diffprivlib", name, mechanism)


def choices(name: str, **settings: Any) -> Mechanism:
    """A selection by utilities: the data are the utilities of the candidates."""

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> Any:
        utility = [float(value) for value in data]
        made = getattr(diffprivlib(), name)(**settings, utility=utility, random_state=_state(rng))
        return np.array([made.randomise(None) for _ in range(trials)])

    return named("diffprivlib", name, mechanism)


def _state(rng: np.random.Generator) -> np.random.RandomState:
    return np.random.RandomState(rng.integers(2**32))


def pure(context: Context, name: str, epsilon: float, kind: type = float, **settings: Any) -> Verdict:
    """The values 0 and 1 at sensitivity 1."""
    mechanism = values(name, kind, epsilon=epsilon, sensitivity=1, **settings)
    return judged(context, mechanism, ZERO, ONE, PureDP(epsilon))


def approximate(context: Context, name: str, epsilon: float, kind: type = float) -> Verdict:
    """The values 0 and 1 at sensitivity 1 and delta = 0.01."""
    mechanism = values(name, kind, epsilon=epsilon, delta=DELTA, sensitivity=1)
    return judged(context, mechanism, ZERO, ONE, ApproxDP(epsilon, DELTA))


@check(
    "libraries/diffprivlib-laplace",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"epsilon": EPSILONS},
)
def laplace(context: Context, *, epsilon: float) -> Verdict:
    return pure(context, "Laplace", epsilon)


@check("libraries/diffprivlib-laplace-bits", kind="privacy", expect="refuted", needs=NEEDS)
def laplace_to_the_last_bit(context: Context) -> Verdict:
    """The precision attack: outputs finer than 2^-53 come from the value 0 only."""
    mechanism = values("Laplace", epsilon=1.0, sensitivity=1)
    return last_bits(context, mechanism, PureDP(1.0), trials=(2_000, 10_000))


@check(
    "libraries/diffprivlib-laplace-truncated",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"epsilon": EPSILONS},
)
def laplace_truncated(context: Context, *, epsilon: float) -> Verdict:
    """Cut to [0, 1]: both ends are atoms."""
    return pure(context, "LaplaceTruncated", epsilon, lower=0, upper=1)


@check(
    "libraries/diffprivlib-laplace-folded",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"epsilon": EPSILONS},
)
def laplace_folded(context: Context, *, epsilon: float) -> Verdict:
    """Folded into [0, 1]."""
    return pure(context, "LaplaceFolded", epsilon, lower=0, upper=1)


@check(
    "libraries/diffprivlib-laplace-bounded-domain",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"epsilon": EPSILONS},
)
def laplace_bounded_domain(context: Context, *, epsilon: float) -> Verdict:
    """Redrawn until within [0, 1]: the scale must make up for the normalisation."""
    mechanism = values("LaplaceBoundedDomain", epsilon=epsilon, delta=0.0, sensitivity=1, lower=0, upper=1)
    return judged(context, mechanism, ZERO, ONE, PureDP(epsilon), trials=SLOW)


@check("libraries/diffprivlib-laplace-bounded-noise", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def laplace_bounded_noise(context: Context) -> Verdict:
    """Outputs beyond the reach of one of the inputs have probability delta."""
    return approximate(context, "LaplaceBoundedNoise", 1.0)


@check("libraries/diffprivlib-snapping", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def snapping(context: Context) -> Verdict:
    """Bounds [-10, 10]: a lattice of multiples of 2."""
    mechanism = values("Snapping", epsilon=1.0, sensitivity=1, lower=-10, upper=10)
    return judged(context, mechanism, ZERO, ONE, PureDP(1.0), trials=SLOW)


@check("libraries/diffprivlib-snapping-bits", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def snapping_to_the_last_bit(context: Context) -> Verdict:
    """The precision attack."""
    mechanism = values("Snapping", epsilon=1.0, sensitivity=1, lower=-10, upper=10)
    return last_bits(context, mechanism, PureDP(1.0), trials=(1_000, 10_000))


@check(
    "libraries/diffprivlib-gaussian",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"epsilon": by_size((1.0,), (0.3, 1.0))},
)
def gaussian(context: Context, *, epsilon: float) -> Verdict:
    return approximate(context, "Gaussian", epsilon)


@check(
    "libraries/diffprivlib-gaussian-analytic",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"epsilon": EPSILONS},
)
def gaussian_analytic(context: Context, *, epsilon: float) -> Verdict:
    return approximate(context, "GaussianAnalytic", epsilon)


@check("libraries/diffprivlib-gaussian-bits", kind="privacy", expect="refuted", needs=NEEDS)
def gaussian_to_the_last_bit(context: Context) -> Verdict:
    """The precision attack, at (1, 0.01): outputs finer than 2^-53 come from the value 0 only."""
    mechanism = values("GaussianAnalytic", epsilon=1.0, delta=DELTA, sensitivity=1)
    return last_bits(context, mechanism, ApproxDP(1.0, DELTA), trials=(10_000, 20_000))


@check(
    "libraries/diffprivlib-gaussian-discrete",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"epsilon": EPSILONS},
)
def gaussian_discrete(context: Context, *, epsilon: float) -> Verdict:
    return approximate(context, "GaussianDiscrete", epsilon, int)


@check(
    "libraries/diffprivlib-geometric",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"epsilon": EPSILONS},
)
def geometric(context: Context, *, epsilon: float) -> Verdict:
    return pure(context, "Geometric", epsilon, int)


@check("libraries/diffprivlib-geometric-truncated", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def geometric_truncated(context: Context) -> Verdict:
    """Cut to [0, 3]."""
    return pure(context, "GeometricTruncated", 1.0, int, lower=0, upper=3)


@check("libraries/diffprivlib-geometric-folded", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def geometric_folded(context: Context) -> Verdict:
    """Folded into [0, 3]."""
    return pure(context, "GeometricFolded", 1.0, int, lower=0, upper=3)


UP = np.array([-1.0, 1.0, 1.0, 1.0, 1.0])
"""Beside five utilities of zero: each moved by the sensitivity, one of them down."""
ONE_UP = np.array([0.0, 0.0, 0.0, 0.0, 1.0])


@check(
    "libraries/diffprivlib-exponential",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"monotonic": (False, True), "epsilon": EPSILONS},
)
def exponential(context: Context, *, monotonic: bool, epsilon: float) -> Verdict:
    """Five equal utilities; one falls and four rise, or (monotonic) one of them alone rises."""
    mechanism = choices("Exponential", epsilon=epsilon, sensitivity=1.0, monotonic=monotonic)
    return judged(context, mechanism, np.zeros(5), ONE_UP if monotonic else UP, PureDP(epsilon), trials=SLOW)


@check(
    "libraries/diffprivlib-permute-and-flip",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"monotonic": (False, True), "epsilon": EPSILONS},
)
def permute_and_flip(context: Context, *, monotonic: bool, epsilon: float) -> Verdict:
    """Two equal utilities that part, or (monotonic) one of five alone that rises."""
    mechanism = choices("PermuteAndFlip", epsilon=epsilon, sensitivity=1.0, monotonic=monotonic)
    pair = (np.zeros(5), ONE_UP) if monotonic else (np.zeros(2), np.array([1.0, -1.0]))
    return judged(context, mechanism, *pair, PureDP(epsilon), trials=SLOW)


@check("libraries/diffprivlib-exponential-categorical", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def exponential_categorical(context: Context) -> Verdict:
    """Three categories at unequal distances."""
    distances = [("a", "b", 1.0), ("a", "c", 2.0), ("b", "c", 2.0)]

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> Any:
        made = diffprivlib().ExponentialCategorical(epsilon=1.0, utility_list=distances, random_state=_state(rng))
        return np.array([made.randomise(str(data[0])) for _ in range(trials)])

    named("diffprivlib", "ExponentialCategorical", mechanism)
    return judged(context, mechanism, np.array(["a"]), np.array(["c"]), PureDP(1.0), trials=SLOW)


@check(
    "libraries/diffprivlib-binary",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"epsilon": EPSILONS},
)
def binary(context: Context, *, epsilon: float) -> Verdict:
    """Yes and no."""

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> Any:
        made = diffprivlib().Binary(epsilon=epsilon, value0="no", value1="yes", random_state=_state(rng))
        return np.array([made.randomise(str(data[0])) for _ in range(trials)])

    named("diffprivlib", "Binary", mechanism)
    return judged(context, mechanism, np.array(["no"]), np.array(["yes"]), PureDP(epsilon))


@check(
    "libraries/diffprivlib-staircase",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"epsilon": EPSILONS},
)
def staircase(context: Context, *, epsilon: float) -> Verdict:
    return pure(context, "Staircase", epsilon)


@check("libraries/diffprivlib-uniform", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def uniform(context: Context) -> Verdict:
    """delta = 0.1 and epsilon = 0, audited just above it."""
    mechanism = values("Uniform", delta=0.1, sensitivity=1)
    return judged(context, mechanism, ZERO, ONE, ApproxDP(1e-3, 0.1))
