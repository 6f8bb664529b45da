"""Rates of mirror descent, Algorithms 1, 2, 5 and 6, at their printed constants: Theorems 1, 3, 4, 5, 12 and 13.

The private term leads where nε is large and ε is tiny, at sizes that only equal records reach.
"""

from __future__ import annotations

from dpcheck.algorithms.l1_geometry import (
    GeneralNoisyMirrorDescent,
    NoisyMirrorDescent,
)
from dpcheck.checks import Context, check
from dpcheck.harness.scaling import Equal, Instance, admitted, scaling, unmeasured
from dpcheck.verdicts import Verdict

from .scaling import (
    AVERAGED,
    DELTAS,
    EUCLIDEAN,
    LOCALISED,
    PRECISE,
    TINY,
    Coarse,
    GeneralCoarse,
    averaged,
    in_few_steps,
    tilted,
)


@check("l1_geometry/alg-1", kind="accuracy", also=("l1_geometry/alg-5",))
def average_in_few_steps(context: Context) -> Verdict:
    """A plan of 64 steps in place of 1,024 has the risk of drawn runs, where noise is as large as the domain."""
    one = tilted(NoisyMirrorDescent(c_sigma=30.0), 1.0, n=2**10, d=4, epsilon=0.5, delta=0.1)
    few = Equal(1000, plan=lambda one: in_few_steps(one, 64))
    return admitted(few, one, context.scale(40, 200), context)


@scaling("l1_geometry/thm-3", variable="n", sizes=[2**k * 10**8 for k in (15, 17, 19)], **AVERAGED)
def plain_average_in_n(*, n: int, slope: float) -> Instance:
    """Algorithm 1 at its printed constants on its worst linear loss, over n."""
    return averaged(NoisyMirrorDescent(), slope, n=n, epsilon=TINY)


@scaling("l1_geometry/thm-3", variable="epsilon", sizes=[2.0**k / 10**14 for k in (15, 17, 19)], **AVERAGED)
def plain_average_in_epsilon(*, epsilon: float, slope: float) -> Instance:
    """The same over epsilon."""
    return averaged(NoisyMirrorDescent(), slope, n=10**14, epsilon=epsilon)


@scaling("l1_geometry/thm-3", variable="delta", sizes=DELTAS, **AVERAGED)
def plain_average_in_delta(*, delta: float, slope: float) -> Instance:
    """The same over delta."""
    return averaged(NoisyMirrorDescent(), slope, n=2**16 * 10**8, epsilon=TINY, delta=delta)


@scaling("l1_geometry/thm-3", variable="d", sizes=(4, 16, 64), **AVERAGED)
def plain_average_in_d(*, d: int, slope: float) -> Instance:
    """The same over d."""
    return averaged(NoisyMirrorDescent(), slope, n=2**18 * 10**8, epsilon=TINY, d=d)


@scaling("l1_geometry/thm-12", variable="n", sizes=[2**k * 10**8 for k in (15, 17, 19)], **AVERAGED)
def plain_average_of_algorithm_5_in_n(*, n: int, slope: float) -> Instance:
    """Algorithm 5 in l_1.5 at its printed constants on its worst linear loss, over n."""
    return averaged(GeneralNoisyMirrorDescent(p=1.5), slope, n=n, epsilon=TINY)


@scaling("l1_geometry/thm-12", variable="epsilon", sizes=[2.0**k / 10**14 for k in (15, 17, 19)], **AVERAGED)
def plain_average_of_algorithm_5_in_epsilon(*, epsilon: float, slope: float) -> Instance:
    """The same over epsilon."""
    return averaged(GeneralNoisyMirrorDescent(p=1.5), slope, n=10**14, epsilon=epsilon)


@scaling("l1_geometry/thm-12", variable="delta", sizes=DELTAS, **AVERAGED)
def plain_average_of_algorithm_5_in_delta(*, delta: float, slope: float) -> Instance:
    """The same over delta."""
    return averaged(GeneralNoisyMirrorDescent(p=1.5), slope, n=2**16 * 10**8, epsilon=TINY, delta=delta)


@scaling("l1_geometry/thm-12", variable="d", sizes=(4, 16, 64), **AVERAGED)
def plain_average_of_algorithm_5_in_d(*, d: int, slope: float) -> Instance:
    """The same over d."""
    return averaged(GeneralNoisyMirrorDescent(p=1.5), slope, n=2**18 * 10**8, epsilon=TINY, d=d)


@scaling(
    "l1_geometry/thm-4",
    variable="n",
    sizes=[2**k * 10**8 for k in (17, 22, 27)],
    also=("l1_geometry/thm-1",),
    **LOCALISED,
)
def localised_descent_in_n(*, n: int, slope: float) -> Instance:
    """Algorithm 2, sixteen steps a phase, at its printed constants on its worst linear loss, over n."""
    return tilted(Coarse(), slope, n=n, epsilon=TINY, d=4)


@scaling(
    "l1_geometry/thm-4",
    variable="epsilon",
    sizes=[2.0**k / 10**17 for k in (17, 22, 27)],
    also=("l1_geometry/thm-1",),
    **LOCALISED,
)
def localised_descent_in_epsilon(*, epsilon: float, slope: float) -> Instance:
    """The same over epsilon."""
    return tilted(Coarse(), slope, n=10**17, epsilon=epsilon, d=4)


@scaling("l1_geometry/thm-4", variable="delta", sizes=DELTAS, **PRECISE)
def localised_descent_in_delta(*, delta: float, slope: float) -> Instance:
    """The same over delta."""
    return tilted(Coarse(), slope, n=2**22 * 10**8, epsilon=TINY, delta=delta, d=4)


@scaling("l1_geometry/thm-4", variable="d", sizes=(4, 8, 16), also=("l1_geometry/thm-1",), **LOCALISED)
def localised_descent_in_d(*, d: int, slope: float) -> Instance:
    """The same over d."""
    return tilted(Coarse(), slope, n=2**22 * 10**8, epsilon=TINY, d=d)


@scaling(
    "l1_geometry/thm-5",
    variable="n",
    sizes=[2**k * 10**8 for k in (17, 22, 27)],
    also=("l1_geometry/thm-13",),
    **EUCLIDEAN,
)
def localised_descent_of_algorithm_6_in_n(*, n: int, slope: float) -> Instance:
    """Algorithm 6 in l_2, sixteen steps a phase, at its printed constants on its worst linear loss."""
    return tilted(GeneralCoarse(p=2.0), slope, n=n, epsilon=TINY, p=2.0)


@scaling(
    "l1_geometry/thm-5",
    variable="epsilon",
    sizes=[2.0**k / 10**17 for k in (17, 22, 27)],
    also=("l1_geometry/thm-13",),
    **EUCLIDEAN,
)
def localised_descent_of_algorithm_6_in_epsilon(*, epsilon: float, slope: float) -> Instance:
    """The same over epsilon."""
    return tilted(GeneralCoarse(p=2.0), slope, n=10**17, epsilon=epsilon, p=2.0)


@scaling("l1_geometry/thm-5", variable="delta", sizes=DELTAS, also=("l1_geometry/thm-13",), **EUCLIDEAN)
def localised_descent_of_algorithm_6_in_delta(*, delta: float, slope: float) -> Instance:
    """The same over delta."""
    return tilted(GeneralCoarse(p=2.0), slope, n=2**22 * 10**8, epsilon=TINY, delta=delta, p=2.0)


HOMOGENEOUS = (
    "Every risk on a class of Lipschitz losses is L times that of L = 1, of any output, so that it says nothing."
)
homogeneous = [
    unmeasured(f"l1_geometry/{theorem}", "L", HOMOGENEOUS)
    for theorem in ("thm-3", "thm-4", "thm-5", "thm-12", "thm-13")
]
in_the_euclidean_norm = [
    unmeasured(
        f"l1_geometry/thm-{number}",
        "d",
        "The one domain with exact mirror steps around a moving centre is the l1 ball, where Gaussian noise costs a "
        "logarithm of d, not its root; an l_p ball would need an intersection of two of them at every step.",
    )
    for number in (5, 13)
]
