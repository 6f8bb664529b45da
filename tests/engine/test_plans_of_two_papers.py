"""`dpcheck plan` for every algorithm and reading of l1_geometry and lp_spaces, and the smallest n that it names."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from dpcheck.engine.algorithms import algorithm, algorithms
from dpcheck.engine.planning import AlgorithmPlan, build, plan
from dpcheck.engine.setting import Setting
from dpcheck.errors import DpcheckError, Infeasible, InvalidInput
from dpcheck.workloads import HeavyMean

PAPERS = ("l1_geometry", "lp_spaces")
BARE = [label for label in algorithms() if label.partition("/")[0] in PAPERS]
LABELS = [label + tail for label in BARE for tail in ("", *(f"@{r}" for r in type(algorithm(label)).readings))]
NEVER = {"l1_geometry/alg-2@literal", "l1_geometry/alg-6@literal"}
"""As printed their last phases make no step, whatever n (S2)."""
WINDOWED = {"l1_geometry/alg-3@approximate", "l1_geometry/proc-strongly-convex-reduction@smooth"}
"""Theorem 7 promises nothing of a smoothness below its window."""
SMALL = Setting(n=1, d=10, epsilon=0.5, delta=1e-6, extra={"modulus": 0.25, "strong_convexity": 0.1})
STEEP = dataclasses.replace(SMALL, H=30.0, epsilon=0.9, delta=1e-3)
WIDE = dataclasses.replace(SMALL, D=4.0, epsilon=0.9, delta=1e-3)
TOP = 1200
DIFFERENT = [label for label in LABELS if not label.endswith(("@dialled", "@untruncated"))]
"""Those whose sizes are their own."""


def feasible(label: str, setting: Setting, n: int) -> bool:
    try:
        build(label, {}).schedule(setting.problem, n)
    except DpcheckError:
        return False
    return True


def test_every_algorithm_is_here() -> None:
    assert len(BARE) == 7 + 8


@pytest.mark.parametrize("label", [label for label in LABELS if label not in NEVER])
def test_a_plan(label: str) -> None:
    # Algorithm 4 of lp_spaces is for small epsilon only.
    setting = dataclasses.replace(SMALL, n=100_000, epsilon=0.05, delta=1e-9)
    if label in WINDOWED:
        assert plan(label, setting, {}).privacy.claimed is None
        setting = dataclasses.replace(SMALL, n=1_000_000, epsilon=0.9, H=100.0)
    found = plan(label, setting, {})
    assert isinstance(found, AlgorithmPlan)
    assert found.phases
    assert found.gradients > 0
    privacy = found.privacy
    if "dialled" not in label and "untruncated" not in label and found.releases:
        assert privacy.claimed is not None
    assert privacy.epsilon is None or privacy.epsilon > 0
    assert not (privacy.rests_on and privacy.certified)


@pytest.mark.parametrize("setting", [SMALL, STEEP, WIDE], ids=["small", "steep", "wide"])
@pytest.mark.parametrize("label", DIFFERENT)
def test_smallest_n(label: str, setting: Setting) -> None:
    """Where a size will not do, the next one that will is named: it is feasible, and none in between is."""
    chosen = build(label, {})
    last: int | None = None
    for n in (1, 5, 30, 100, TOP):
        try:
            chosen.schedule(setting.problem, n)
        except Infeasible as error:
            said = error.smallest_n
        except InvalidInput:
            continue
        else:
            continue
        if said is None:
            assert not any(feasible(label, setting, size) for size in range(n, 3 * TOP, 47))
            continue
        assert said > n
        assert feasible(label, setting, said)
        if said != last:
            between = range(n, said) if said < 200 else (n, (n + said) // 2, said - 2, said - 1)
            assert not any(feasible(label, setting, size) for size in between), (n, said)
        last = said


@pytest.mark.parametrize(
    ("label", "changes", "says"),
    [
        ("lp_spaces/alg-2", {"extra": {}}, "--constant modulus="),
        ("lp_spaces/alg-2", {"extra": {"modulus": 3.0}}, "at most L D/2 = 0.5"),
        ("lp_spaces/alg-3", {"epsilon": 1.0}, "epsilon < 1"),
        ("lp_spaces/alg-1", {"delta": 0.0}, "0 < delta < 1"),
        ("lp_spaces/alg-4", {"epsilon": 0.5}, "use lp_spaces/proc-batched-md"),
        ("l1_geometry/proc-strongly-convex-reduction", {"extra": {}}, "--constant strong_convexity="),
    ],
)
def test_what_to_pass(label: str, changes: dict[str, object], says: str) -> None:
    setting = dataclasses.replace(SMALL, n=100_000, **changes)  # type: ignore[arg-type]
    with pytest.raises((InvalidInput, Infeasible)) as caught:
        plan(label, setting, {})
    assert says in str(caught.value)


def test_a_delta_too_large_for_theorem_7() -> None:
    setting = dataclasses.replace(SMALL, n=5000, delta=1e-3)
    with pytest.raises(Infeasible, match="at most n = 1,000 at this delta"):
        plan("l1_geometry/alg-3@approximate", setting, {})


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"d": 0}, "d must be >= 1, got 0"),
        ({"D": 0.0}, "D must be > 0, got 0.0"),
        ({"H": math.nan}, "H must be > 0, got nan"),
        ({"beta": 1.0}, r"the failure probability must lie in \(0, 1\), got 1.0"),
        ({"m": -1}, "m, the samples of a user, must be >= 0, got -1"),
        ({"k": 1.0}, "k, the order of the moment bound, must be > 1, got 1"),
        ({"moments": {2.0: 0.0}}, "a moment bound needs an order >= 1 and a value > 0, got 2=0"),
        ({"family": "cubic"}, "the family of losses is one of .*, got 'cubic'"),
        ({"rho": 0.5}, "got two budgets, epsilon = 1 and rho = 0.5"),
        ({"epsilon": None, "delta": 1e-6}, "delta = 1e-06 needs its epsilon"),
        ({"epsilon": None}, "name the budget by epsilon"),
    ],
)
def test_a_setting_that_no_problem_has_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        Setting(**{"n": 10, "d": 2, "epsilon": 1.0, **wrong})


def test_a_setting_takes_the_constants_of_a_workload() -> None:
    work = HeavyMean(D=3.0)
    taken = dataclasses.replace(SMALL, k=3.0).on(work)
    c = work.constants
    assert (taken.d, taken.D, taken.L) == (c.d, c.diameter(2.0), c.lipschitz(2.0))
    assert taken.moments == {order: c.moment(order, 1) for order in (1.0, 2.0, 3.0)}
    assert taken.moment(2.0, 5) == c.moment(2.0, 5)
    assert taken.trivial == taken.D * c.moment(1, 1)
    assert taken.H > 0
    assert (taken.n, taken.privacy) == (SMALL.n, SMALL.privacy)
