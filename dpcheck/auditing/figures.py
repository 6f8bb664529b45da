"""Figures of audits: the trade-off curve against the claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpcheck.auditing.result import AuditResult


def draw(result: AuditResult, axes: Any = None) -> Any:
    """The observed trade-off curve with its certified band, and the lowest curve that the claim allows.

    Args:
        axes: Matplotlib axes to draw on; new ones when None.
    """
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.subplots(figsize=(4.5, 4.5))[1]
    grid = np.linspace(0, 1, 401)
    axes.plot(grid, result.claim.tradeoff(grid), color="black", linewidth=1, label=f"claimed: {result.claim}")
    if result.curve is not None:
        curve = result.curve
        axes.plot(curve.fpr, curve.fnr, ".", markersize=4, label="observed")
        axes.step(curve.fpr_upper, curve.fnr_upper, where="post", linewidth=1, label=f"certified ({result.confidence})")
    axes.set_xlabel("false-positive rate")
    axes.set_ylabel("false-negative rate")
    axes.set_title(f"{result.mechanism}: {result.outcome.value}")
    axes.legend(fontsize="small")
    return axes
