"""OpenDP's measurements, each against the guarantee that its own privacy map reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcheck.checks import Context, by_size, check
from dpcheck.privacy import ZCDP, ApproxDP, PureDP
from dpcheck.verdicts import Verdict

from ._subjects import NOT_REFUTED, ONE, ZERO, Mechanism, judged, last_bits, named, one_by_one, opendp

NEEDS = ("opendp",)
SLOW = (500, 10_000, 50_000)
"""Runs a side of measurements that take one call of 0.1 ms each."""


def noise(measurement: Any, name: str, kind: type = float) -> Mechanism:
    """A measurement of vectors as one of values: n copies of a value get n independent draws."""
    return named(
        "opendp",
        name,
        lambda data, rng, trials: np.array(measurement([kind(data[0])] * trials), dtype=float),
    )


def calls(measurement: Any, name: str, kind: Any = None) -> Mechanism:
    """One call of a measurement after the other, on all the data."""

    def prepared(data: Any) -> Any:
        return data if kind is None else [kind(value) for value in data]

    return named("opendp", name, one_by_one(lambda data: lambda: measurement(prepared(data))))


def vectors(dp: Any, kind: type, metric: Any, **options: Any) -> tuple[Any, Any]:
    atom = dp.atom_domain(T=kind, nan=False) if kind is float else dp.atom_domain(T=kind)
    return dp.vector_domain(atom), metric(T=kind, **options)


@check(
    "libraries/opendp-laplace",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"scale": by_size((1.0,), (0.5, 1.0, 3.0)), "k": by_size(("finest",), ("finest", "-20"))},
)
def laplace_on_floats(context: Context, *, scale: float, k: str) -> Verdict:
    """The values 0 and 1; noise of the finest granularity and of 2^-20."""
    dp = opendp()
    if k == "finest":
        m = dp.m.make_laplace(*vectors(dp, float, dp.l1_distance), scale=scale)
        return judged(context, noise(m, "make_laplace"), ZERO, ONE, PureDP(m.map(1.0)))
    m = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=scale, k=int(k))
    mechanism = named("opendp", f"make_laplace (k={k})", one_by_one(lambda data: lambda: m(float(data[0]))))
    return judged(context, mechanism, ZERO, ONE, PureDP(m.map(1.0)), trials=SLOW)


@check("libraries/opendp-laplace-bits", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def laplace_to_the_last_bit(context: Context) -> Verdict:
    """The precision attack: the lowest set bit of the outputs at 0 and at 1."""
    dp = opendp()
    m = dp.m.make_laplace(*vectors(dp, float, dp.l1_distance), scale=1.0)
    return last_bits(context, noise(m, "make_laplace"), PureDP(m.map(1.0)), trials=(1_000, 20_000))


@check(
    "libraries/opendp-gaussian",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"scale": by_size((1.0,), (0.5, 1.0, 3.0))},
)
def gaussian_on_floats(context: Context, *, scale: float) -> Verdict:
    """The values 0 and 1 against the whole zCDP curve."""
    dp = opendp()
    m = dp.m.make_gaussian(*vectors(dp, float, dp.l2_distance), scale=scale)
    return judged(context, noise(m, "make_gaussian"), ZERO, ONE, ZCDP(m.map(1.0)))


@check("libraries/opendp-gaussian-bits", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def gaussian_to_the_last_bit(context: Context) -> Verdict:
    """The precision attack, against the privacy profile at δ = 0.01."""
    dp = opendp()
    m = dp.m.make_gaussian(*vectors(dp, float, dp.l2_distance), scale=1.0)
    epsilon = dp.c.make_zCDP_to_approxDP(m).map(1.0).epsilon(0.01)
    return last_bits(context, noise(m, "make_gaussian"), ApproxDP(epsilon, 0.01), trials=(1_000, 20_000))


@check(
    "libraries/opendp-discrete-laplace",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"scale": by_size((1.0,), (0.5, 1.0, 3.0))},
)
def laplace_on_integers(context: Context, *, scale: float) -> Verdict:
    """The counts 0 and 1."""
    dp = opendp()
    m = dp.m.make_laplace(*vectors(dp, int, dp.l1_distance), scale=scale)
    return judged(context, noise(m, "make_laplace", int), ZERO, ONE, PureDP(m.map(1)))


@check("libraries/opendp-geometric-bounds", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def geometric_within_bounds(context: Context) -> Verdict:
    """The counts 0 and 1 with bounds [0, 3]: the ends are atoms."""
    dp = opendp()
    m = dp.m.make_geometric(*vectors(dp, int, dp.l1_distance), scale=1.0, bounds=(0, 3))
    return judged(context, noise(m, "make_geometric", int), ZERO, ONE, PureDP(m.map(1)))


@check(
    "libraries/opendp-discrete-gaussian",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"scale": by_size((1.0,), (0.5, 1.0, 3.0))},
)
def gaussian_on_integers(context: Context, *, scale: float) -> Verdict:
    """The counts 0 and 1 against the whole zCDP curve."""
    dp = opendp()
    m = dp.m.make_gaussian(*vectors(dp, int, dp.l2_distance), scale=scale)
    return judged(context, noise(m, "make_gaussian", int), ZERO, ONE, ZCDP(m.map(1)))


@check("libraries/opendp-canonical-noise", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def canonical_noise(context: Context) -> Verdict:
    """The values 0 and 1 at (1, 0.05), where the noise is tight."""
    dp = opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    m = dp.m.make_canonical_noise(*space, d_in=1.0, d_out=(1.0, 0.05))
    mechanism = named("opendp", "make_canonical_noise", one_by_one(lambda data: lambda: m(float(data[0]))))
    return judged(context, mechanism, ZERO, ONE, ApproxDP(*m.map(1.0)), trials=SLOW)


UP = np.array([-1.0, 1.0, 1.0, 1.0, 1.0])
"""Beside five scores of zero: each moved by 1, one of them down."""


@check(
    "libraries/opendp-noisy-max",
    kind="privacy",
    expect=NOT_REFUTED,
    needs=NEEDS,
    grid={"monotonic": by_size((False,), (False, True))},
)
def noisy_max(context: Context, *, monotonic: bool) -> Verdict:
    """Five equal scores; one falls and four rise, or (monotonic) one of them alone rises."""
    dp = opendp()
    space = vectors(dp, float, dp.linf_distance, monotonic=monotonic)
    m = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=1.0)
    moved = np.array([0.0, 0.0, 0.0, 0.0, 1.0]) if monotonic else UP
    mechanism = calls(m, "make_noisy_max", float)
    return judged(context, mechanism, np.zeros(5), moved, PureDP(m.map(1.0)), trials=SLOW)


@check("libraries/opendp-noisy-max-zcdp", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def noisy_max_under_zcdp(context: Context) -> Verdict:
    """Two equal scores that part, where permute-and-flip would exceed ε²/8; against the whole curve."""
    dp = opendp()
    m = dp.m.make_noisy_max(*vectors(dp, float, dp.linf_distance), dp.zero_concentrated_divergence(), scale=1.0)
    mechanism = calls(m, "make_noisy_max", float)
    return judged(context, mechanism, np.zeros(2), np.array([1.0, -1.0]), ZCDP(m.map(1.0)), trials=SLOW)


@check("libraries/opendp-noisy-top-k", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def noisy_top_two(context: Context) -> Verdict:
    """The two largest of five scores, in order: 20 outputs."""
    dp = opendp()
    m = dp.m.make_noisy_top_k(*vectors(dp, float, dp.linf_distance), dp.max_divergence(), k=2, scale=2.0)

    def pairs(data: Any, rng: np.random.Generator, trials: int) -> Any:
        top_two = [m([float(value) for value in data]) for _ in range(trials)]
        return np.array([5 * first + second for first, second in top_two])

    mechanism = named("opendp", "make_noisy_top_k", pairs)
    return judged(context, mechanism, np.zeros(5), UP, PureDP(m.map(1.0)), trials=SLOW)


@check("libraries/opendp-private-quantile", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def private_quantile(context: Context) -> Verdict:
    """A median among four candidates, one record added at an end."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    m = dp.m.make_private_quantile(*space, dp.max_divergence(), candidates=[0, 1, 2, 3], alpha=0.5, scale=1.0)
    mechanism = calls(m, "make_private_quantile", int)
    return judged(context, mechanism, np.array([0, 3]), np.array([0, 3, 3]), PureDP(m.map(1)), trials=SLOW)


@check("libraries/opendp-randomized-response", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def randomized_response(context: Context) -> Verdict:
    """Three categories, the truth kept with probability 0.6."""
    dp = opendp()
    m = dp.m.make_randomized_response(["a", "b", "c"], 0.6)
    mechanism = named("opendp", "make_randomized_response", one_by_one(lambda data: lambda: m(str(data[0]))))
    return judged(context, mechanism, np.array(["a"]), np.array(["b"]), PureDP(m.map(1)), trials=SLOW)


@check("libraries/opendp-select-private-candidate", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def private_candidate(context: Context) -> Verdict:
    """The first noisy score above 2, stopping with probability 0.3 after each that is not: a transcript that halts."""
    dp = opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    score = dp.m.make_laplace(*space, scale=2.0)
    scored = space >> dp.m.then_user_measurement(
        dp.max_divergence(), lambda x: (score(x), 0), lambda d: score.map(d), TO="(f64, ExtrinsicObject)"
    )
    m = dp.c.make_select_private_candidate(scored, threshold=2.0, stop_probability=0.3)

    def first(data: Any) -> Any:
        def call() -> float:
            released = m(float(data[0]))
            return math.nan if released is None else float(released[0])

        return call

    mechanism = named("opendp", "make_select_private_candidate", one_by_one(first))
    return judged(context, mechanism, ZERO, ONE, PureDP(m.map(1.0)), trials=SLOW, halts=True)


def table(measurement: Any, name: str, kind: type) -> Mechanism:
    """The released value of the only key that may appear, 0 for none; n such keys in a table get independent noise."""

    def mechanism(data: Sequence[float], rng: np.random.Generator, trials: int) -> Any:
        by_name = measurement({str(i): kind(data[0]) for i in range(trials)}) if data[0] else {}
        return np.array([by_name.get(str(i), 0) for i in range(trials)], dtype=float)

    return named("opendp", name, mechanism)


def histogram(dp: Any, kind: type, metric: Any) -> tuple[Any, Any]:
    atom = dp.atom_domain(T=float, nan=False) if kind is float else dp.atom_domain(T=kind)
    return dp.map_domain(dp.atom_domain(T=str), atom), metric(dp.absolute_distance(T=kind))


@check("libraries/opendp-laplace-threshold", kind="privacy", expect="refuted", needs=NEEDS)
def laplace_threshold_on_counts(context: Context) -> Verdict:
    """A key of one record against none: whether it appears at all, with scale 0.7 and threshold 3."""
    dp = opendp()
    m = dp.m.make_laplace_threshold(*histogram(dp, int, dp.l01inf_distance), scale=0.7, threshold=3)
    mechanism = table(m, "make_laplace_threshold", int)
    claim = ApproxDP(*m.map((1, 1, 1)))
    return judged(context, mechanism, ONE, ZERO, claim, trials=(20_000, 50_000, 200_000), score=np.sign)


@check("libraries/opendp-laplace-threshold-floats", kind="privacy", expect=NOT_REFUTED, needs=NEEDS)
def laplace_threshold_on_floats(context: Context) -> Verdict:
    """As on counts, where no value is equal to the threshold."""
    dp = opendp()
    m = dp.m.make_laplace_threshold(*histogram(dp, float, dp.l01inf_distance), scale=1.0, threshold=3.0)
    claim = ApproxDP(*m.map((1, 1.0, 1.0)))
    mechanism = table(m, "make_laplace_threshold", float)
    return judged(context, mechanism, ONE, ZERO, claim, trials=(20_000, 50_000, 200_000), score=np.sign)


@check("libraries/opendp-gaussian-threshold", kind="privacy", expect="refuted", needs=NEEDS)
def gaussian_threshold_on_counts(context: Context) -> Verdict:
    """A key of one record against none, with scale 1 and threshold 3; (ρ, δ) read as (4, δ + δ_ρ(4))-DP."""
    dp = opendp()
    m = dp.m.make_gaussian_threshold(*histogram(dp, int, dp.l02inf_distance), scale=1.0, threshold=3)
    rho, delta = m.map((1, 1, 1))
    claim = ApproxDP(4.0, delta + ZCDP(rho).delta_at(4.0))
    mechanism = table(m, "make_gaussian_threshold", int)
    return judged(context, mechanism, ONE, ZERO, claim, trials=(160_000, 300_000, 1_000_000), score=np.sign)
