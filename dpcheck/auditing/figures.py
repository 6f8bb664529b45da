"""Figures of audits: the trade-off curve against the claim, and the sandwich: epsilon over delta between its bounds."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.curve import Curve
from dpcheck.privacy import ApproxDP, Guarantee

Array = NDArray[np.float64]
DELTAS = np.geomspace(1e-6, 0.3, 61)


class Drawable(Protocol):
    """What a figure reads of an audit's result."""

    @property
    def claim(self) -> Guarantee: ...
    @property
    def curve(self) -> Curve | None: ...
    @property
    def delta(self) -> float: ...
    @property
    def epsilon_lower(self) -> float: ...
    @property
    def confidence(self) -> str: ...
    @property
    def headline(self) -> str: ...


def draw(
    result: Drawable, axes: Any = None, *, exact: Guarantee | None = None, accountant: Guarantee | None = None
) -> Any:
    """The observed trade-off curve with its certified band, and the lowest curve that the claim allows.

    Args:
        axes: Matplotlib axes to draw on; new ones when None.
        exact: the mechanism's true guarantee, where it is known; accountant: what an accountant upper-bounds it by.
    """
    axes = _axes(axes, (4.5, 4.5))
    grid = np.linspace(0, 1, 401)
    axes.plot(grid, result.claim.tradeoff(grid), color="black", linewidth=1, label=f"claimed: {result.claim}")
    for guarantee, name, style in ((accountant, "accountant", ":"), (exact, "exact", "--")):
        if guarantee is not None:
            axes.plot(grid, guarantee.tradeoff(grid), style, linewidth=1, label=f"{name}: {guarantee}")
    if result.curve is not None:
        curve = result.curve
        axes.plot(curve.fpr, curve.fnr, ".", markersize=4, label="observed")
        axes.step(curve.fpr_upper, curve.fnr_upper, where="post", linewidth=1, label=f"certified ({result.confidence})")
    axes.set_xlabel("false-positive rate")
    axes.set_ylabel("false-negative rate")
    return _finished(axes, result)


def sandwich(
    result: Drawable, axes: Any = None, *, exact: Guarantee | None = None, accountant: Guarantee | None = None
) -> Any:
    """Epsilon over delta: certified lower bound, estimate, exact value, and the upper curves of accountant and claim.

    The lower bound holds at all deltas together (it is read off the certified band of the trade-off curve); a dot marks
    the sharper one that the audit certifies at its own delta.

    Args:
        axes, exact, accountant: as for `draw`.
    """
    axes = _axes(axes, (5.5, 4.0))
    for guarantee, name, style in (
        (result.claim, "claimed", "-"),
        (accountant, "accountant", ":"),
        (exact, "exact", "--"),
    ):
        if guarantee is not None:
            at = np.array([guarantee.epsilon_at(float(d)) for d in DELTAS])
            colour = {"color": "black"} if name == "claimed" else {}
            axes.plot(DELTAS, at, style, linewidth=1, label=f"{name}: {guarantee}", **colour)
    if result.curve is not None:
        lower, seen = epsilons(result.curve, DELTAS)
        axes.plot(DELTAS, seen, ".", markersize=3, label="estimate")
        axes.fill_between(DELTAS, 0, lower, alpha=0.25, label=f"ruled out ({result.confidence})")
    if result.delta > 0:
        axes.plot([result.delta], [result.epsilon_lower], "o", markersize=5, label="certified here")
    elif isinstance(result.claim, ApproxDP):
        axes.axhline(result.epsilon_lower, linewidth=0.8, alpha=0.6, label="certified at delta = 0")
    axes.set_xscale("log")
    axes.set_xlabel("delta")
    axes.set_ylabel("epsilon")
    axes.set_ylim(bottom=0)
    return _finished(axes, result)


def epsilons(curve: Curve, deltas: Array) -> tuple[Array, Array]:
    """(certified lower bound, estimate) of epsilon at each delta, from the band and from the observed points.

    A test with rates (x, y) forces 1 - y <= e^epsilon x + delta and, guessing the other way round, 1 - x <= e^epsilon y
    + delta; the largest epsilon over the band's tests holds at all deltas together. Estimates count half an error where
    none was seen.
    """
    lower = _forced(curve.fpr_upper, curve.fnr_upper, deltas)
    tiny = 0.5 * min(curve.fpr_upper.min(initial=1.0), curve.fnr_upper.min(initial=1.0))
    return lower, _forced(np.maximum(curve.fpr, tiny), np.maximum(curve.fnr, tiny), deltas)


def _forced(x: Array, y: Array, deltas: Array) -> Array:
    d = deltas[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        there = np.log(np.maximum(0.0, 1 - y - d) / x)
        back = np.log(np.maximum(0.0, 1 - x - d) / y)
    both = np.maximum(np.nan_to_num(there, nan=0.0), np.nan_to_num(back, nan=0.0))
    return np.asarray(np.maximum(0.0, both.max(axis=1, initial=0.0)))


def _axes(axes: Any, size: tuple[float, float]) -> Any:
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size)[1]


def _finished(axes: Any, result: Drawable) -> Any:
    axes.set_title(result.headline)
    axes.legend(fontsize="small")
    return axes
