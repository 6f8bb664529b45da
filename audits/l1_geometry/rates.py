"""Rates of mirror descent, Algorithms 1, 2, 5 and 6, at their printed constants: Theorems 1, 3, 4, 5, 12 and 13.

The private term leads where nε is large and ε is tiny, at sizes that only equal records reach.
"""

from __future__ import annotations

from dpcheck.algorithms.l1_geometry import (
    GeneralLocalizedMirrorDescent,
    GeneralNoisyMirrorDescent,
    LocalizedMirrorDescent,
    NoisyMirrorDescent,
)
from dpcheck.harness.scaling import Instance, scaling

from .scaling import AVERAGED, DELTAS, LOCALISED, TINY, tilted


@scaling("l1_geometry/thm-3", variable="n", sizes=[2**k * 10**8 for k in (16, 18, 20)], **AVERAGED)
def plain_average_in_n(*, n: int, slope: float) -> Instance:
    """Algorithm 1 at its printed constants on its worst linear loss, over n."""
    return tilted(NoisyMirrorDescent(), slope, n=n, epsilon=TINY)


@scaling("l1_geometry/thm-3", variable="epsilon", sizes=[2.0**k / 10**14 for k in (16, 18, 20)], **AVERAGED)
def plain_average_in_epsilon(*, epsilon: float, slope: float) -> Instance:
    """The same over epsilon."""
    return tilted(NoisyMirrorDescent(), slope, n=10**14, epsilon=epsilon)


@scaling("l1_geometry/thm-3", variable="delta", sizes=DELTAS, **AVERAGED)
def plain_average_in_delta(*, delta: float, slope: float) -> Instance:
    """The same over delta."""
    return tilted(NoisyMirrorDescent(), slope, n=2**16 * 10**8, epsilon=TINY, delta=delta)


@scaling("l1_geometry/thm-3", variable="d", sizes=(4, 16, 64), **AVERAGED)
def plain_average_in_d(*, d: int, slope: float) -> Instance:
    """The same over d."""
    return tilted(NoisyMirrorDescent(), slope, n=2**18 * 10**8, epsilon=TINY, d=d)


@scaling("l1_geometry/thm-12", variable="n", sizes=[2**k * 10**8 for k in (16, 18, 20)], **AVERAGED)
def plain_average_of_algorithm_5_in_n(*, n: int, slope: float) -> Instance:
    """Algorithm 5 in l_1.5 at its printed constants on its worst linear loss, over n."""
    return tilted(GeneralNoisyMirrorDescent(p=1.5), slope, n=n, epsilon=TINY)


@scaling("l1_geometry/thm-12", variable="epsilon", sizes=[2.0**k / 10**14 for k in (16, 18, 20)], **AVERAGED)
def plain_average_of_algorithm_5_in_epsilon(*, epsilon: float, slope: float) -> Instance:
    """The same over epsilon."""
    return tilted(GeneralNoisyMirrorDescent(p=1.5), slope, n=10**14, epsilon=epsilon)


@scaling("l1_geometry/thm-12", variable="delta", sizes=DELTAS, **AVERAGED)
def plain_average_of_algorithm_5_in_delta(*, delta: float, slope: float) -> Instance:
    """The same over delta."""
    return tilted(GeneralNoisyMirrorDescent(p=1.5), slope, n=2**16 * 10**8, epsilon=TINY, delta=delta)


@scaling("l1_geometry/thm-12", variable="d", sizes=(4, 16, 64), **AVERAGED)
def plain_average_of_algorithm_5_in_d(*, d: int, slope: float) -> Instance:
    """The same over d."""
    return tilted(GeneralNoisyMirrorDescent(p=1.5), slope, n=2**18 * 10**8, epsilon=TINY, d=d)


@scaling(
    "l1_geometry/thm-4",
    variable="n",
    sizes=[2**k * 10**8 for k in (20, 23, 26)],
    also=("l1_geometry/thm-1",),
    **LOCALISED,
)
def localised_descent_in_n(*, n: int, slope: float) -> Instance:
    """Algorithm 2 at its printed constants on its worst linear loss, over n."""
    return tilted(LocalizedMirrorDescent(), slope, n=n, epsilon=TINY, d=4)


@scaling(
    "l1_geometry/thm-4",
    variable="epsilon",
    sizes=[2.0**k / 10**14 for k in (20, 23, 26)],
    also=("l1_geometry/thm-1",),
    **LOCALISED,
)
def localised_descent_in_epsilon(*, epsilon: float, slope: float) -> Instance:
    """The same over epsilon."""
    return tilted(LocalizedMirrorDescent(), slope, n=10**14, epsilon=epsilon, d=4)


@scaling("l1_geometry/thm-4", variable="delta", sizes=DELTAS, **LOCALISED)
def localised_descent_in_delta(*, delta: float, slope: float) -> Instance:
    """The same over delta."""
    return tilted(LocalizedMirrorDescent(), slope, n=2**22 * 10**8, epsilon=TINY, delta=delta, d=4)


@scaling("l1_geometry/thm-4", variable="d", sizes=(4, 8, 16), also=("l1_geometry/thm-1",), **LOCALISED)
def localised_descent_in_d(*, d: int, slope: float) -> Instance:
    """The same over d."""
    return tilted(LocalizedMirrorDescent(), slope, n=2**22 * 10**8, epsilon=TINY, d=d)


@scaling(
    "l1_geometry/thm-5",
    variable="n",
    sizes=[2**k * 10**8 for k in (20, 23, 26)],
    also=("l1_geometry/thm-13",),
    **LOCALISED,
)
def localised_descent_of_algorithm_6_in_n(*, n: int, slope: float) -> Instance:
    """Algorithm 6 in l_2 at its printed constants on its worst linear loss, over n."""
    return tilted(GeneralLocalizedMirrorDescent(p=2.0), slope, n=n, epsilon=TINY, p=2.0)


@scaling(
    "l1_geometry/thm-5",
    variable="epsilon",
    sizes=[2.0**k / 10**14 for k in (20, 23, 26)],
    also=("l1_geometry/thm-13",),
    **LOCALISED,
)
def localised_descent_of_algorithm_6_in_epsilon(*, epsilon: float, slope: float) -> Instance:
    """The same over epsilon."""
    return tilted(GeneralLocalizedMirrorDescent(p=2.0), slope, n=10**14, epsilon=epsilon, p=2.0)


@scaling("l1_geometry/thm-5", variable="delta", sizes=DELTAS, also=("l1_geometry/thm-13",), **LOCALISED)
def localised_descent_of_algorithm_6_in_delta(*, delta: float, slope: float) -> Instance:
    """The same over delta."""
    return tilted(GeneralLocalizedMirrorDescent(p=2.0), slope, n=2**22 * 10**8, epsilon=TINY, delta=delta, p=2.0)


@scaling("l1_geometry/thm-5", variable="d", sizes=(4, 16, 64), also=("l1_geometry/thm-13",), **LOCALISED)
def localised_descent_of_algorithm_6_in_d(*, d: int, slope: float) -> Instance:
    """The same over d."""
    return tilted(GeneralLocalizedMirrorDescent(p=2.0), slope, n=2**22 * 10**8, epsilon=TINY, d=d, p=2.0)
