"""Bounds at the numbers of a schedule, held against the closed forms that the papers' parameters give."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpcheck.algorithms.l1_geometry import TreeFrankWolfe
from dpcheck.algorithms.lp_spaces import StronglyConvexObjectivePerturbation
from dpcheck.algorithms.pure_heavy_tails import LocalizedOutputPert
from dpcheck.engine.setting import Setting
from dpcheck.engine.statements import bound_of, stated
from dpcheck.errors import InvalidInput

PRIVATE = Setting(n=10**6, d=4, epsilon=0.5, delta=1e-6, D=2.0, H=0.1, extra={"modulus": 0.5})


def test_one_phase_of_algorithm_3_without_noise_is_the_bound_of_a_phase() -> None:
    """Where the bias is that of the moments, and the first step may lead across the whole domain."""
    values = {"D": 2.0, "k": 2.0, "r_2": 0.5, "r_2k": 0.7}
    one = {"lambda[i]": [0.3], "n[i]": [1000], "C[i]": [4.0], "eta[i]": [0.0], "sigma[i]": [0.0], "D[i]": [2.0], "l": 1}
    found = stated("tsybakov/thm-1@summed", **values, **one, d=1, G_1=0.4)
    assert found == pytest.approx(stated("tsybakov/thm-1@phase", **values, n=1000, C=4.0, lambda_=0.3))
    # Noise of the last phase costs r_1 times its deviation, and never more than r_1 D.
    for sigma, far in ((0.25, 0.25), (50.0, 2.0)):
        noisy = stated("tsybakov/thm-1@summed", **values, **{**one, "sigma[i]": [sigma]}, d=1, G_1=0.4)
        assert noisy - found == pytest.approx(0.4 * far)


def test_theorem_4_at_its_own_accuracy_is_below_its_closed_form() -> None:
    chosen = StronglyConvexObjectivePerturbation(lambda_rule="diam")
    found = bound_of("lp_spaces/thm-4@any-accuracy", chosen, PRIVATE.problem, 10**6)
    closed = bound_of("lp_spaces/thm-4@derived", chosen, PRIVATE.problem, 10**6)
    assert closed / 2 < found < closed
    with pytest.raises(InvalidInput, match="needs a value for omega"):
        bound_of("lp_spaces/thm-4@any-accuracy", replace(chosen, noise_dial=0.5), PRIVATE.problem, 10**6)


def test_theorem_7_adds_the_regulariser_and_the_distance_to_its_optimisation_error() -> None:
    at = {"alpha": 0.1, "C": 2.0, "A": 5.0, "d": 4, "sigma": 1e-3, "H": 1.0}
    rest = stated("lp_spaces/thm-7@risk", **at, L=1e-12, n=10**6) - stated("lp_spaces/thm-7@derived", **at)
    assert rest == pytest.approx(0.1 * 2.0)


def test_theorem_2_1_phase_by_phase_is_below_its_closed_form() -> None:
    n = 10**9
    setting = Setting(n=n, d=4, epsilon=0.5, D=2.0, L=math.inf, k=2.0, moments={2: 1.0, 4: 1.0}, beta=0.05)
    chosen = LocalizedOutputPert(k=2.0)
    summed = bound_of("pure_heavy_tails/thm-2-1@summed", chosen, setting.problem, n)
    J = chosen.outer().repetitions(setting.problem, n)
    c_erm = chosen.outer().erm.c_erm(setting.problem, n // 2 // J)
    closed = bound_of("pure_heavy_tails/thm-2-1@derived", chosen, setting.problem, n, J=J, c_erm=c_erm)
    assert 0.5 * closed < summed < closed


def test_the_leaves_of_the_tree_are_below_theorem_6() -> None:
    setting = Setting(n=10**6, d=4, epsilon=1.0, D=2.0, H=1.0)
    chosen = TreeFrankWolfe(steps="consecutive", T=4, batch=4096)
    summed = bound_of("l1_geometry/thm-6@summed", chosen, setting.problem, 10**6)
    printed = bound_of("l1_geometry/thm-6", chosen, setting.problem, 10**6, T=4)
    assert 0.5 * printed < summed < printed
