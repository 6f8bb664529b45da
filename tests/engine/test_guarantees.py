"""What plans say of the privacy of the papers' own algorithms, and which bounds they take for which."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any

import pytest
from checkout import collected

from dpcheck.accounting import Account, account
from dpcheck.engine import guarantees, planning
from dpcheck.engine.algorithms import algorithms
from dpcheck.engine.setting import Setting, values
from dpcheck.engine.statements import bound_of
from dpcheck.errors import DpcheckError, InvalidInput
from dpcheck.interfaces import Constants
from dpcheck.privacy import Guarantee

CLAIMS = list(collected().claims.values())
FIVE = Setting(n=16_384, d=5, epsilon=1.0, delta=1e-5)
TREE = Setting(n=60, d=2, D=2.0, epsilon=1.0)
ONE_BATCH = {"T": 1, "batch": 40}


def privacy(label: str, setting: Setting, **settings: Any) -> guarantees.Privacy:
    chosen = planning.build(label, settings, setting.k)
    return guarantees.judge(chosen.schedule(setting.problem, setting.n), CLAIMS)


# -- the plans of the reviews; every one of these fails at f95bebe -----------------------------------------------------


@pytest.mark.parametrize("number", [3, 4, 5])
def test_clipped_descent_in_five_dimensions_is_not_certified(number: int) -> None:
    """(0.2443, 1e-05)-DP at f95bebe, where a phase costs 4.81."""
    found = privacy(f"tsybakov/alg-{number}@corrected", FIVE)
    assert (found.claimed, found.certified, found.rests_on) == (None, None, ("tsybakov/rem-2",))
    assert "tsybakov/rem-2" in found.refuted
    assert not found.stands


def test_the_promise_of_theorem_1_is_shown_as_refuted() -> None:
    found = privacy("tsybakov/alg-3", replace(FIVE, epsilon=3.0), eta=1e-9, lipschitz="ignored")
    assert str(found.claimed) == "(3, 1e-05)-DP"
    assert found.claimed_by == ("tsybakov/thm-1",)
    assert found.refuted == ("tsybakov/thm-1", "tsybakov/rem-2")
    assert found.warning().startswith("No guarantee stands: (3, 1e-05)-DP is claimed, and tsybakov/thm-1")


@pytest.mark.parametrize(
    ("label", "setting"),
    [
        ("l1_geometry/alg-2", Setting(n=20_000, d=10, epsilon=1.0, delta=1e-6)),  # quick bounds tell apart
        ("tsybakov/alg-7", Setting(n=65_536, d=10, epsilon=1.0, delta=1e-6)),
        ("tsybakov/alg-3@private", FIVE),
        ("tsybakov/alg-3@corrected", FIVE),
    ],
)
def test_what_is_certified_is_the_epsilon_of_the_whole_account(label: str, setting: Setting) -> None:
    chosen = planning.build(label, {}, setting.k)
    schedule = chosen.schedule(setting.problem, setting.n)
    judged, spent = guarantees.judge(schedule, CLAIMS), account(schedule)
    assert judged.epsilon == spent.epsilon(spent.reference_delta)
    assert judged.keeps == (schedule.claimed is not None and spent.within(schedule.claimed))
    assert guarantees.stands(schedule, CLAIMS) == judged.stands


@pytest.mark.parametrize("number", [3, 4, 5])
@pytest.mark.parametrize(
    ("reading", "changes"),
    [
        ("corrected", {"d": 1}),
        ("corrected", {"family": "linear"}),
        ("corrected", {"family": "generalised linear"}),
        ("corrected", {"family": "isotropic quadratic"}),
        ("private", {}),
    ],
)
def test_clipped_descent_is_certified_where_clipping_is_monotone_or_noise_is_in_each_step(
    number: int, reading: str, changes: dict[str, Any]
) -> None:
    found = privacy(f"tsybakov/alg-{number}@{reading}", replace(FIVE, **changes))
    assert found.keeps
    assert found.stands
    assert found.epsilon == pytest.approx(0.2442506, rel=1e-4)


def test_readings_that_are_private_are_proposed() -> None:
    proposed = dict(planning.private_readings("tsybakov/alg-3@corrected", FIVE, {}))
    private = ("private", "trivial", "smallest", "every-loss")
    assert set(proposed) == {f"tsybakov/alg-3@{reading}" for reading in private}
    assert set(dict(planning.private_readings("l1_geometry/alg-3", TREE, {**ONE_BATCH, "allocation": "fixed"}))) == {
        "l1_geometry/alg-3@corrected"
    }


@pytest.mark.parametrize("allocation", ["fixed", "random"])
def test_the_tree_at_its_counterexample(allocation: str) -> None:
    """'1-DP claimed, 1-DP by the accountant' at f95bebe; the true loss is 1.51."""
    found = privacy("l1_geometry/alg-3", TREE, **ONE_BATCH, allocation=allocation)
    assert (str(found.claimed), found.certified) == ("1-DP", None)
    assert found.refuted == ("l1_geometry/lem-4-1",)
    assert not found.stands
    assert privacy("l1_geometry/alg-3@corrected", TREE, **ONE_BATCH, allocation=allocation).keeps


def test_a_random_allocation_that_hides_enough_rests_on_another_claim() -> None:
    wide = replace(TREE, n=10_000)
    hidden = privacy("l1_geometry/alg-3", wide)
    assert hidden.rests_on == ("l1_geometry/thm-6@corrected",)
    assert (hidden.certified, hidden.refuted, hidden.stands) == (None, (), True)
    assert privacy("l1_geometry/alg-3", wide, allocation="fixed").rests_on == ("l1_geometry/lem-4-1",)


def test_user_level_plans_with_sampled_phases_carry_no_certificate() -> None:
    """'(1, 1e-12)-DP claimed' without a word at f95bebe."""
    setting = Setting(n=10**8, d=10, m=10, H=1e12, epsilon=1.0, delta=1e-12)
    found = privacy("user_level/alg-3", setting)
    assert not found.keeps
    assert found.epsilon is not None
    assert found.epsilon > 1e8
    assert "the claim itself is not certified" in found.said()["certified"]
    assert privacy("user_level/alg-3", replace(setting, H=1.0)).keeps


@pytest.mark.parametrize(
    ("reading", "label"), [("literal", "user_level/alg-2@literal"), ("replacement", "user_level/alg-2@replacement")]
)
def test_readings_of_user_level_that_are_refuted(reading: str, label: str) -> None:
    setting = Setting(n=10**6, d=5, m=10, epsilon=0.9, delta=1e-7)
    found = privacy(f"user_level/alg-3@{reading}", setting)
    assert label in found.refuted
    assert not found.stands


def test_objective_perturbation_is_certified_for_constant_shifts_only() -> None:
    setting = Setting(n=10**6, d=3, epsilon=0.5, delta=1e-6)
    assert privacy("lp_spaces/alg-1", setting).rests_on == ("lp_spaces/thm-1",)
    assert privacy("lp_spaces/alg-1", replace(setting, family="generalised linear")).certified is None
    assert privacy("lp_spaces/alg-1", replace(setting, family="isotropic quadratic")).keeps


def test_theorem_3_of_lp_spaces_is_not_certified_on_a_wide_set() -> None:
    """False from a diameter of 2 on; the accountant charges the printed rule what it costs."""
    wide: dict[str, Any] = {"n": 2000, "d": 1, "D": 20.0, "L": 11.0, "H": 1000.0, "family": "isotropic quadratic"}
    setting = Setting(**wide, epsilon=0.5, delta=1e-6, extra={"modulus": 1.0, "width": 8.0})
    found = privacy("lp_spaces/alg-2", setting)
    assert found.claimed_by == ("lp_spaces/thm-3",)
    assert not found.keeps
    assert privacy("lp_spaces/alg-2@corrected", setting).keeps


@pytest.mark.parametrize(
    ("label", "setting", "on"),
    [
        (
            "lp_spaces/proc-batched-md@untruncated",
            Setting(n=16_384, d=5, H=1e-3, epsilon=0.9, delta=1e-6),
            "lp_spaces/alg-4",
        ),
        ("pure_heavy_tails/alg-7@any-dimension", Setting(n=3325, d=5, epsilon=1.0), "pure_heavy_tails/prop-f-5"),
        (
            "pure_heavy_tails/proc-smoothed-em-pgm",
            Setting(n=400, d=1, epsilon=1.0),
            "pure_heavy_tails/prop-e-4@literal",
        ),
    ],
)
def test_readings_known_not_to_be_private_get_no_certificate(label: str, setting: Setting, on: str) -> None:
    """All three were certified at f95bebe, from sensitivities of something else."""
    found = privacy(label, setting)
    assert found.certified is None
    assert on in found.rests_on


def test_what_reads_records_without_noise_is_not_certified() -> None:
    found = privacy("l1_geometry/alg-4", FIVE)
    assert (found.claimed, found.certified, found.stands) == (None, None, False)
    trivial = privacy("pure_heavy_tails/fact-trivial", FIVE)
    assert trivial.keeps
    assert trivial.epsilon == 0.0


# -- over all algorithms -----------------------------------------------------------------------------------------------

EVERY = [label + tail for label, kind in algorithms().items() for tail in ("", *(f"@{r}" for r in kind.readings))]
SIZES = (
    Setting(n=4096, d=1, epsilon=0.9, delta=1e-6, m=10, extra={"modulus": 0.1, "strong_convexity": 0.1}),
    Setting(n=10**6, d=5, epsilon=0.05, delta=1e-9, m=10, extra={"modulus": 0.1, "strong_convexity": 0.1}),
    Setting(n=16_384, d=2, epsilon=1.0, m=10),
)


@functools.cache
def within(spent: Account, claimed: Guarantee) -> bool:
    """Readings that differ in what they print, and not in what they release, have equal accounts."""
    return spent.within(claimed)


@pytest.mark.parametrize("label", EVERY)
def test_certificates_claims_and_refutations_never_contradict_each_other(label: str) -> None:
    for setting in SIZES:
        try:
            schedule = planning.build(label, {}).schedule(setting.problem, setting.n)
        except (DpcheckError, ValueError, ArithmeticError):
            continue
        found = guarantees.judge(schedule, CLAIMS)
        spent = account(schedule)
        known = {claim.label for claim in CLAIMS}
        assert set(schedule.claimed_by) | set(found.rests_on) <= known
        if found.rests_on:
            assert found.certified is None
            assert math.isinf(spent.epsilon(1e-6))
        if found.keeps:
            assert not found.refuted
            assert schedule.claimed is not None
            assert not schedule.releases or within(spent, schedule.claimed)
        if found.refuted:
            assert found.warning()
            assert not found.stands
        if "dialled" in label:
            assert found.claimed is None
            assert not found.keeps


# -- bounds ------------------------------------------------------------------------------------------------------------

MIRROR = Setting(n=10**6, d=10, epsilon=0.5, delta=1e-6)
SYMBOLS = {"A": 2.0, "C": 1.0, "alpha": 0.5692, "sigma": 0.0008154}


def test_suboptimality_is_no_risk() -> None:
    """risk <= 0.2846 at f95bebe."""
    found = planning.plan("lp_spaces/alg-3", replace(MIRROR, extra=SYMBOLS), {"exponent": "corrected"}, CLAIMS)
    risks = [row for row in found.bounds if row.what == "risk"]
    assert [(row.source, row.value) for row in risks] == [("lp_spaces/thm-7@risk", None)]
    assert "--constant minimiser_norm=…" in risks[0].note
    told = planning.plan("lp_spaces/alg-3", MIRROR.given({"minimiser_norm": 0.5}), {"exponent": "corrected"}, CLAIMS)
    values = {(row.what, row.source): row.value for row in told.bounds}
    assert set(values) == {("risk", "lp_spaces/thm-7@risk"), ("suboptimality", "lp_spaces/thm-7@derived")}
    assert values["suboptimality", "lp_spaces/thm-7@derived"] == pytest.approx(4.237e-6, rel=1e-3)


@pytest.mark.parametrize(
    ("label", "settings", "setting", "claim"),
    [
        (
            "lp_spaces/proc-batched-md",
            {},
            replace(MIRROR, H=0.1, extra={"deviation": 1.0, "minimiser_norm": 0.5}),
            "lp_spaces/thm-10@derived",
        ),
        (
            "lp_spaces/proc-phased-sgd",
            {},
            replace(MIRROR, extra={"minimiser_norm": 0.5}),
            "lp_spaces/thm-8@corrected",
        ),
        ("lp_spaces/alg-1", {}, MIRROR, "lp_spaces/thm-2@derived"),
        ("lp_spaces/alg-2@corrected", {}, replace(MIRROR, extra={"modulus": 0.1}), "lp_spaces/thm-4@any-accuracy"),
        (
            "l1_geometry/proc-strongly-convex-reduction",
            {},
            MIRROR.given({"strong_convexity": 0.5}),
            "l1_geometry/thm-8@summed",
        ),
        ("tsybakov/alg-6", {}, replace(MIRROR, k=2.0), "tsybakov/thm-6@derived"),
        ("user_level/alg-1", {}, replace(MIRROR, n=10**9, m=10, H=1e-3), "user_level/thm-b1@summed"),
    ],
)
def test_a_plan_shows_the_claim_at_the_terms_of_the_schedule(
    label: str, settings: dict[str, Any], setting: Setting, claim: str
) -> None:
    found = planning.plan(label, setting, settings, CLAIMS)
    values = {row.source: row.value for row in found.bounds if row.what == "risk"}
    chosen = planning.build(label, settings, setting.k)
    assert values[claim] == bound_of(claim, chosen, setting.problem, setting.n) > 0


def test_the_field_of_an_algorithm_goes_before_the_order_of_the_setting() -> None:
    """A plan at --k 2 of an algorithm with --set k=4 took r_2 for r_4 in the claims about it."""
    setting = Setting(n=10**6, d=2, epsilon=0.5, delta=1e-6, k=2.0, L=math.inf, moments={2: 1.0, 4: 3.0, 8: 9.0})
    (row,) = (
        row
        for row in planning.plan("tsybakov/alg-6", setting, {"k": 4.0}, CLAIMS).bounds
        if row.source == "tsybakov/thm-6@derived"
    )
    assert row.value == bound_of(row.source, planning.build("tsybakov/alg-6", {"k": 4.0}), setting.problem, 10**6)


def test_the_exponent_of_growth_is_not_the_norm_of_the_minimiser() -> None:
    """θ is both: at f95bebe a Tsybakov exponent of 2 went into Theorem 8 of lp_spaces as |θ*| = 2."""
    found = planning.plan("lp_spaces/proc-phased-sgd", replace(MIRROR, growth=(2.0, 0.5)), {}, CLAIMS)
    assert all(row.value is None for row in found.bounds if row.what == "risk")


def test_bounds_of_refuted_readings_are_none() -> None:
    setting = MIRROR.given({"omega": 1.0, "R": 1.0})
    sources = {row.source for row in planning.plan("lp_spaces/alg-1", setting, {}, CLAIMS).bounds if row.value}
    assert not sources & {"lp_spaces/thm-2@uncentred", "lp_spaces/thm-2@fixed-sample"}
    assert "lp_spaces/thm-2@corrected" not in sources
    assert "lp_spaces/thm-2@corrected" in {
        row.source for row in planning.plan("lp_spaces/alg-1@corrected", setting, {}, CLAIMS).bounds if row.value
    }


# -- settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"epsilon": 1.0, "rho": 1.0}, "got two budgets, epsilon = 1 and rho = 1"),
        ({"delta": 1e-5}, "delta = 1e-05 needs its epsilon"),
        ({}, "by epsilon (and delta), or by rho"),
        ({"epsilon": -1.0}, "epsilon must be"),
        ({"epsilon": 1.0, "k": 1.0}, "k, the order of the moment bound, must be > 1, got 1"),
        ({"epsilon": 1.0, "beta": 1.0}, "the failure probability must lie in (0, 1), got 1.0"),
        ({"epsilon": 1.0, "m": -2}, "m, the samples of a user, must be >= 0, got -2"),
        ({"epsilon": 1.0, "family": "convex"}, "the family of losses is one of"),
    ],
)
def test_settings_say_what_is_wrong(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Setting(n=10, d=1, **fields)
    assert says in str(caught.value)


def test_constants_know_what_follows_from_the_family() -> None:
    plain: dict[str, Any] = dict.fromkeys(("diameter", "lipschitz", "smoothness", "moment"), lambda *_: 1.0)
    assert Constants(d=1, **plain).clips_monotonically
    assert not Constants(d=2, **plain).clips_monotonically
    assert not Constants(d=1, **plain).shifts_constantly
    assert Constants(d=2, family="generalised linear", **plain).clips_monotonically
    assert Constants(d=2, family="isotropic quadratic", **plain).shifts_constantly
    assert Constants(d=2, hessian_rank=0, **plain).shifts_constantly


@pytest.mark.parametrize("budget", [{"rho": 0.5}, {"epsilon": 2.0, "delta": 1e-6}], ids=" ".join)
def test_bounds_know_the_budget_by_its_own_symbols(budget: dict[str, float]) -> None:
    found = values(Setting(n=10, d=1, **budget).problem, 10)  # type: ignore[arg-type]
    assert {name: found[name] for name in ("epsilon", "delta", "rho") if name in found} == budget
