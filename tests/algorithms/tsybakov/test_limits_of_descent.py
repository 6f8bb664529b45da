"""The limit of Algorithm 2 against its printed steps, and intersections of a domain with a ball."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.algorithms.tsybakov import LocalisedClipped, PoissonSGD, StochasticApproximation
from dpcheck.algorithms.tsybakov.clipped import Restricted, clipped_descent, clipped_gradient, limit_point
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Problem, Sample
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fresh
from dpcheck.workloads.power_well import PowerWell
from dpcheck.workloads.regularised import RegularisedPopulation

LINE = PowerWell(c=np.array([0.5]), v=np.ones(1), theta=4.0, size=3.0, chance=0.5)
PLANE = PowerWell(c=np.array([0.3, 0.4]), v=np.array([0.0, 1.0]), theta=2.0, size=2.0, chance=0.5)


@pytest.mark.parametrize("work", [LINE, PLANE], ids=["d = 1", "d = 2"])
@pytest.mark.parametrize(("level", "weight"), [(0.4, 0.05), (2.0, 1.0), (50.0, 20.0)])
def test_limit_is_where_the_steps_lead(work: PowerWell, level: float, weight: float) -> None:
    rng = np.random.default_rng(0)
    sample, start = work.draw(rng, 30, 16), work.project(rng.standard_normal((30, len(work.c))))
    eta = 1 / (work.constants.smoothness(2.0) + weight)
    steps = round(30 / (eta * weight))
    far = clipped_descent(work, sample, start, steps=steps, eta=eta, level=level, weight=weight)
    found = limit_point(work, sample, start, level=level, weight=weight, gap=1e-11)
    assert found == pytest.approx(far, abs=1e-9)


def test_limit_in_one_dimension_at_the_ends_of_the_domain() -> None:
    sample = Sample(np.array([[[100.0]], [[-100.0]], [[0.0]]]), np.ones((3, 1)))
    found = limit_point(LINE, sample, np.zeros((1, 1)), level=1e3, weight=0.1, gap=1e-12)
    assert found[:2, 0].tolist() == [1.0, -1.0]
    g = clipped_gradient(LINE, sample, found, 1e3) + 0.1 * found
    assert abs(g[2, 0]) < 1e-10


def test_both_solvers_have_the_same_risk_up_to_noise() -> None:
    """The same noise on points that differ by less than a thousandth of it."""
    problem = Problem.of(LINE, ApproxDP(3.0, 1e-5))
    outputs = {}
    for solver in ("descent", "limit"):
        method = LocalisedClipped(**{**LocalisedClipped.readings["corrected"], "solver": solver})
        outputs[solver] = method.fit(LINE, Fresh(LINE, 50, 128, 3), problem, rng=np.random.default_rng(4), trials=50)
    assert np.abs(outputs["descent"] - outputs["limit"]).max() < 1e-2


def test_fields_reach_the_calls_and_are_checked() -> None:
    with pytest.raises(InvalidInput, match="each step needs the steps"):
        LocalisedClipped(noise="steps", solver="limit")
    with pytest.raises(InvalidInput, match="solver"):
        LocalisedClipped(solver="newton")  # type: ignore[arg-type]
    problem = Problem.of(LINE, ApproxDP(8.0, 1e-5))
    fields = {**StochasticApproximation.readings["corrected"], "solver": "limit"}
    with pytest.raises(Infeasible, match="sqrt"):
        StochasticApproximation(**fields).schedule(problem, 256)
    proved = StochasticApproximation(**fields, largest_epsilon="proved")
    assert proved.schedule(problem, 256).claimed == ApproxDP(8.0, 1e-5)
    assert proved.call(1.0).solver == "limit"
    far = Problem.of(LINE, ApproxDP(300.0, 1e-5))
    with pytest.raises(Infeasible, match=r"20\.69"):
        proved.call(1.0).schedule(far, 256)


@pytest.mark.parametrize("work", [LINE, PLANE], ids=["d = 1", "d = 2"])
def test_restriction_projects_on_both_sets(work: PowerWell) -> None:
    rng, d = np.random.default_rng(5), len(work.c)
    centres = work.project(rng.standard_normal((40, d)))
    both = Restricted(work, centres, 0.3)
    w = 2 * rng.standard_normal((40, d))
    found = both.project(w)
    assert np.linalg.norm(found, axis=1).max() <= 1 + 1e-9
    assert np.linalg.norm(found - centres, axis=1).max() <= 0.3 + 1e-9
    # No drawn point of the intersection is nearer.
    for v in both.project(centres + 0.4 * rng.standard_normal((200, 40, d))):
        assert (np.linalg.norm(found - w, axis=1) <= np.linalg.norm(v - w, axis=1) + 1e-9).all()


def test_dp_sgd_reads_clipped_sums_like_single_gradients() -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((80, 2))
    work = RegularisedPopulation(x, (x[:, 0] > 0).astype(float))

    class Plain:
        """The same population without its clipped sums."""

        constants, loss, gradient = work.constants, staticmethod(work.loss), staticmethod(work.gradient)
        project, draw = staticmethod(work.project), staticmethod(work.draw)
        excess_risk = staticmethod(work.excess_risk)

    problem = Problem.of(work, ApproxDP(2.0, 1e-3))
    method = PoissonSGD(T=5, b=16, level=0.3, eta=0.5)
    ends = [
        method.fit(known, Fresh(work, 3, 64, 7), problem, rng=np.random.default_rng(8), trials=3)
        for known in (work, Plain())
    ]
    assert ends[0] == pytest.approx(ends[1], abs=1e-12)
