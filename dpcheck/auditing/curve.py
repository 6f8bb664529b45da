"""The trade-off curve of a pair of inputs, with a certified band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.cells import Partition
from dpcheck.statistics.binomial import clopper_pearson

Array = NDArray[np.float64]
POINTS = 24


@dataclass(frozen=True)
class Curve:
    """Tests of "which input?" at growing strictness: false-positive and false-negative rates.

    Attributes:
        fpr, fnr: (points,) observed rates of taking `neighbour` for `data`, and of missing `data`.
        fpr_upper, fnr_upper: (points,) bounds that hold at all points together, and at all looks of an audit together,
            at the stated failure probability: every claimed trade-off curve must pass above none of these corners.
    """

    fpr: Array
    fnr: Array
    fpr_upper: Array
    fnr_upper: Array
    failure_probability: float

    def to_dict(self) -> dict[str, Any]:
        names = ("fpr", "fnr", "fpr_upper", "fnr_upper")
        return {
            **{n: [float(v) for v in getattr(self, n)] for n in names},
            "failure_probability": self.failure_probability,
        }


def measure_curve(
    cells: Partition, counts: NDArray[np.int64], failure_probability: float, spent_now: float = 1.0
) -> Curve:
    """Curve and band from fresh counts: Clopper-Pearson limits (1934) for both rates of every test, by Bonferroni.

    The number of trials must not depend on their outputs. Where there are several looks, each at a number fixed
    beforehand, their bands hold together if the parts that they spend sum to at most 1.

    Args:
        cells: learned on held-out outputs: their order fixes the tests beforehand.
        counts: (cells, 2) outputs in each cell on data and on neighbour.
        failure_probability: of the bands of all looks together; spent_now: part of it for this look.
    """
    order = np.argsort(-cells.log_ratio, kind="stable")
    mass = np.cumsum((cells.p + cells.q)[order]) / 2
    cuts = np.unique(np.searchsorted(mass, np.linspace(0, 1, POINTS + 2)[1:-1]))
    taken = np.cumsum(counts[order], axis=0)[cuts]
    runs = counts.sum(axis=0)
    missed = runs[0] - taken[:, 0]
    share = spent_now * failure_probability / (2 * len(cuts))
    safe = np.maximum(runs, 1)
    _, fpr_upper = clopper_pearson(taken[:, 1], safe[1], share, "upper")
    _, fnr_upper = clopper_pearson(missed, safe[0], share, "upper")
    # Without runs on an input nothing is known of its rate.
    fpr_upper, fnr_upper = np.where(runs[1], fpr_upper, 1.0), np.where(runs[0], fnr_upper, 1.0)
    return Curve(taken[:, 1] / safe[1], missed / safe[0], fpr_upper, fnr_upper, failure_probability)
