"""The certified band of the trade-off curve: its formula, coverage at all points together, and that it is close."""

import numpy as np
import pytest
from scipy import stats

from dpcheck.auditing.cells import learn_partition
from dpcheck.auditing.curve import measure_curve


def cells_and_laws(mu=1.0):
    rng = np.random.default_rng(20)
    cells = learn_partition(rng.normal(size=3000), mu + rng.normal(size=3000))
    laws = [np.append(np.diff(np.r_[0, stats.norm.cdf(cells.edges - at), 1]), 0.0) for at in (0.0, mu)]
    return cells, laws


def drawn(rng, laws, runs):
    return np.stack([rng.multinomial(runs, law / law.sum()) for law in laws], axis=1)


def test_limits_are_those_of_scipy_at_a_share_of_the_level():
    cells, laws = cells_and_laws()
    counts = drawn(np.random.default_rng(21), laws, 2000)
    curve = measure_curve(cells, counts, 0.05)
    share = 0.05 / (2 * len(curve.fpr))
    for place in (0, len(curve.fpr) // 2, len(curve.fpr) - 1):
        hits = round(curve.fpr[place] * 2000)
        twin = stats.binomtest(hits, 2000, alternative="less").proportion_ci(1 - share, "exact").high
        assert curve.fpr_upper[place] == pytest.approx(twin, abs=1e-12)


def test_band_covers_all_points_together_and_is_close():
    cells, laws = cells_and_laws()
    order = np.argsort(-cells.log_ratio, kind="stable")
    mass = np.cumsum((cells.p + cells.q)[order]) / 2
    rng = np.random.default_rng(22)
    missed, widths = 0, []
    for _ in range(200):
        curve = measure_curve(cells, drawn(rng, laws, 2000), 0.05)
        cuts = np.unique(np.searchsorted(mass, np.linspace(0, 1, 26)[1:-1]))
        fpr, fnr = np.cumsum(laws[1][order])[cuts], 1 - np.cumsum(laws[0][order])[cuts]
        missed += bool((fpr > curve.fpr_upper).any() or (fnr > curve.fnr_upper).any())
        widths.append(float((curve.fpr_upper - fpr).max()))
    # At most binomial(200, 0.05): more than 20 has probability 1e-3.
    assert missed <= 20
    assert np.median(widths) < 0.07
