"""Hypothesis strategies: neighbouring data, domains, workloads, budgets.

A range that makes no sense is refused at once, with its value; what they draw by default, `dp.audit` accepts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import InvalidInput, MissingExtra
from dpcheck.privacy import ADJACENCIES, ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from dpcheck.geometry.sets import Domain
    from dpcheck.interfaces import Workload

Array = NDArray[np.float64]
MOST = 10**6


def hypothesis() -> Any:
    """The package. Raises `MissingExtra`."""
    try:
        import hypothesis as package
    except ImportError as error:
        raise MissingExtra("Hypothesis strategies", "testing") from error
    return package


def _strategies() -> Any:
    return hypothesis().strategies


def count(name: str, value: Any, least: int = 1) -> int:
    """A whole number in [least, 10^6]. Raises `InvalidInput`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= MOST:
        raise InvalidInput(f"{name} must be an integer in [{least}, {MOST:,}], got {value!r}")
    return int(value)


def _span(names: str, low: Any, high: Any, above: float = -math.inf, below: float = math.inf) -> tuple[float, float]:
    """The ends of a range within (above, below). Raises `InvalidInput`."""
    number = all(isinstance(each, int | float | np.number) and not isinstance(each, bool) for each in (low, high))
    if not (number and math.isfinite(low) and math.isfinite(high) and above < low < high < below):
        within = "" if above == -math.inf else f" in ({above:g}, {below:g})"
        raise InvalidInput(f"{names} must be finite numbers{within}, the first below the second, got {low!r}, {high!r}")
    return float(low), float(high)


def neighbouring_pairs(
    min_records: int = 1,
    max_records: int = 20,
    low: float = 0.0,
    high: float = 1.0,
    d: int | None = None,
    adjacency: str = "replace-one",
    per_user: int = 2,
) -> SearchStrategy[tuple[Array, Array]]:
    """Pairs of data sets exactly one record, or user, apart, records in [low, high] (in [low, high]^d), ends included.

    For deterministic properties (sensitivities, clipping, accountants); a sampled audit wants one fixed pair.

    Args:
        min_records, max_records: of either data set; users under "user-level". With min_records=0 the smaller one of an
            add-remove pair may be empty, which not every mechanism takes.
        adjacency: "replace-one"; "add-remove", either one the longer; "user-level": (users, per_user) or
            (users, per_user, d), all records of one user changed at will.

    Raises:
        InvalidInput: a range or number that makes no sense.
        MissingExtra: Hypothesis is not installed.
    """
    st = _strategies()
    if not isinstance(adjacency, str) or adjacency not in ADJACENCIES:
        raise InvalidInput(f"adjacency must be one of {', '.join(ADJACENCIES)}, got {adjacency!r}")
    added = adjacency == "add-remove"
    least, most = count("min_records", min_records, 0 if added else 1), count("max_records", max_records)
    if not least + added <= most:
        apart = ", one above it, for one record is added" if added else ""
        raise InvalidInput(f"max_records must be at least min_records{apart}, got {min_records} and {max_records}")
    low, high = _span("low and high", low, high)
    value = st.one_of(st.sampled_from([low, high]), st.floats(low, high))
    record = value if d is None else st.lists(value, min_size=count("d", d), max_size=d)
    if adjacency == "user-level":
        record = st.lists(record, min_size=count("per_user", per_user), max_size=per_user)

    def draw_pair(draw: Any) -> tuple[Array, Array]:
        rows = draw(st.lists(record, min_size=least + added, max_size=most))
        at = draw(st.integers(0, len(rows) - 1))
        data = np.array(rows, dtype=float)
        if added:
            fewer = np.delete(data, at, axis=0)
            return (data, fewer) if draw(st.booleans()) else (fewer, data)
        neighbour = data.copy()
        neighbour[at] = draw(record.filter(lambda other: np.any(np.asarray(other) != data[at])))
        return data, neighbour

    pairs: SearchStrategy[tuple[Array, Array]] = st.composite(draw_pair)()
    return pairs


def epsilons(low: float = 0.01, high: float = 10.0) -> SearchStrategy[float]:
    """Privacy parameters, small and large. Raises `InvalidInput` unless 0 < low < high."""
    strategy: SearchStrategy[float] = _strategies().floats(*_span("low and high", low, high, above=0.0))
    return strategy


def budgets(
    low: float = 0.01, high: float = 10.0, deltas: tuple[float, float] | None = (1e-9, 1e-2)
) -> SearchStrategy[ApproxDP]:
    """What an algorithm may be given to spend: `PureDP`, and `ApproxDP` with its delta in a range, none with None."""
    st = _strategies()
    eps = epsilons(low, high)
    pure = st.builds(PureDP, eps)
    if deltas is None:
        strategy: SearchStrategy[ApproxDP] = pure
        return strategy
    if not (isinstance(deltas, tuple) and len(deltas) == 2):
        raise InvalidInput(f"deltas must be a pair (lowest, highest) or None, got {deltas!r}")
    strategy = st.one_of(pure, st.builds(ApproxDP, eps, st.floats(*_span("deltas", *deltas, above=0.0, below=1.0))))
    return strategy


def guarantees(low: float = 0.01, high: float = 10.0) -> SearchStrategy[Guarantee]:
    """Any guarantee of the front door, its parameter in a range."""
    st = _strategies()
    eps = epsilons(low, high)
    strategy: SearchStrategy[Guarantee] = st.one_of(
        st.builds(PureDP, eps),
        st.builds(ApproxDP, eps, st.floats(1e-9, 0.5)),
        st.builds(ZCDP, eps),
        st.builds(GaussianDP, eps),
        st.builds(RenyiDP, st.floats(1.1, 64.0), eps),
    )
    return strategy


def domains(max_d: int = 5, radius: tuple[float, float] = (0.1, 10.0)) -> SearchStrategy[Domain]:
    """Convex sets of `dpcheck.geometry`: boxes, balls of l_1, l_2 and l_p around any centre, simplices."""
    from dpcheck.geometry import sets

    st = _strategies()
    count("max_d", max_d)
    if not (isinstance(radius, tuple) and len(radius) == 2):
        raise InvalidInput(f"radius must be a pair (smallest, largest), got {radius!r}")
    size = st.floats(*_span("the ends of radius", *radius, above=0.0))

    def of(d: int) -> Any:
        centre = st.lists(st.floats(-1, 1), min_size=d, max_size=d).map(np.array)
        kinds = [st.builds(sets.Simplex, st.just(d), size)] if d > 1 else []  # that of one dimension is a point
        return st.one_of(
            *kinds,
            st.builds(sets.Ball, st.just(d), size, centre),
            st.builds(sets.L1Ball, st.just(d), size, centre),
            st.builds(sets.LpBall, st.just(d), size, st.sampled_from([1.5, 3.0, math.inf]), centre),
            st.builds(lambda at, r: sets.Box(at - r, at + r), centre, size),
        )

    strategy: SearchStrategy[Domain] = st.integers(1, max_d).flatmap(of)
    return strategy


def workloads(max_d: int = 5) -> SearchStrategy[Workload]:
    """Small workloads with their truth in closed form: linear losses of two points, and heavy-tailed means."""
    from dpcheck.workloads import HeavyMean, TwoPoint

    st = _strategies()
    count("max_d", max_d)
    width = st.floats(0.5, 4.0)
    strategy: SearchStrategy[Workload] = st.one_of(
        st.builds(TwoPoint, D=width, G=width, rho=st.floats(-1, 1), dimension=st.integers(1, max_d)),
        st.builds(HeavyMean, D=st.floats(4.0, 8.0), tail=st.floats(2.0, 6.0), theta=st.floats(-1, 1)),
    )
    return strategy
