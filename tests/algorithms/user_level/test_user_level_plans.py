"""What `dpcheck plan` says of the user-level algorithms."""

from __future__ import annotations

import pytest
from checkout import claims_of

from dpcheck.algorithms.user_level import PhasedERM
from dpcheck.engine import planning
from dpcheck.engine.setting import Setting
from dpcheck.errors import Infeasible, InvalidInput


def setting(n: int, **others: float) -> Setting:
    return Setting(n=n, d=10, m=50, epsilon=1.0, delta=1e-6, **others)  # type: ignore[arg-type]


def test_an_infeasible_size_names_what_would_do() -> None:
    with pytest.raises(Infeasible, match=r"at least one user per group in its last phase, got 0\.16") as caught:
        planning.plan("user_level/alg-1", setting(20_000), {})
    assert caught.value.smallest_n == 160_359
    claims = list(claims_of("user_level").values())
    others = dict(planning.alternatives("user_level/alg-1", setting(20_000), lambda names: claims))
    assert others["user_level/alg-3"].startswith("feasible from n = ")
    assert others["user_level/proc-group-privacy"].startswith("feasible, risk ≤ 0.017")
    # Steps of the others are no alternatives to an algorithm; the restarts need to know a strong convexity.
    assert not {"user_level/alg-2", "user_level/alg-4", "user_level/proc-strongly-convex-meta"} & set(others)


@pytest.mark.parametrize("label", ["alg-1", "alg-2", "alg-3", "alg-4", "proc-group-privacy", "proc-smoothed-alg-3"])
def test_every_algorithm_has_a_plan_within_its_promise(label: str) -> None:
    found = planning.plan(f"user_level/{label}", setting(300_000), {})
    assert found.privacy.claimed is not None
    assert found.privacy.epsilon is not None
    assert found.privacy.epsilon <= 1.0


def test_dials_end_the_promise() -> None:
    for label in ("alg-1", "alg-3", "proc-smoothed-alg-3", "proc-group-privacy"):
        dialled = planning.build(f"user_level/{label}@dialled", {})
        assert dialled.schedule(setting(300_000).problem, 300_000).claimed is None


def test_rounds_are_shown_without_their_inner_schedules() -> None:
    found = planning.plan("user_level/proc-strongly-convex-meta", setting(10_000_000, growth=(2.0, 0.5)), {})
    assert list(found.phases[0]) == ["i", "start", "users", "radius"]
    assert [phase["i"] for phase in found.phases] == [1, 2, 3, 4, 5]
    assert found.privacy.epsilon is not None
    assert found.privacy.epsilon <= 1.0


def test_sampled_phases_are_certified_and_cheap() -> None:
    found = planning.plan("user_level/alg-3@sampled", setting(20_000_000), {})
    full = planning.plan("user_level/alg-3", setting(20_000_000), {})
    assert found.privacy.claimed is not None
    assert found.privacy.epsilon is not None
    assert found.privacy.epsilon <= 0.3
    assert all(phase["batch"] < phase["users"] for phase in found.phases)
    assert found.gradients < 0.03 * full.gradients
    with pytest.raises(Infeasible, match=r"320/3 sqrt\(T_i log\(2/delta\)\)"):
        planning.plan("user_level/alg-3@sampled", setting(300_000), {})


def test_sampled_phases_need_a_threshold_each_and_distinct_users() -> None:
    for more in ({"threshold": "once"}, {"sampling": "with-replacement"}, {"amplified": "bits"}):
        with pytest.raises(InvalidInput, match="amplified"):
            PhasedERM(**{"amplified": "steps", "threshold": "inside", **more})  # type: ignore[arg-type]


def test_a_budget_that_the_proof_does_not_cover_is_not_promised() -> None:
    large = Setting(n=10**8, d=10, m=50, epsilon=9.0, delta=1e-4)
    assert planning.build("user_level/alg-3@sampled", {}).schedule(large.problem, large.n).claimed is None
