"""Engines of rates that run one coordinate, or noisy selections alone, against the algorithms that they stand for."""

import math
from dataclasses import replace

import numpy as np
import pytest

from audits.l1_geometry import appendix_b, cases, section_3_2, section_5
from audits.lp_spaces import section_5_2 as spikes
from audits.lp_spaces.cases import WALK, spiked
from dpcheck.algorithms.l1_geometry import NoisyMirrorDescent
from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling import Equal, Simulated

PHASES = Simulated(section_3_2.phases, 400)


def test_steeper_losses_told_a_steeper_class_have_as_much_more_risk() -> None:
    at = {"n": section_3_2.MANY, "epsilon": section_3_2.FAINT}
    one = PHASES(cases.diagonal(section_3_2.ShortOnCubes(), 1e-5, **at), 0).value
    steep = PHASES(cases.diagonal(section_3_2.ShortOnCubes(), 16e-5, L=16.0, **at), 0).value
    assert steep == pytest.approx(16 * one, rel=1e-9)
    untold = PHASES(cases.taken_for_one(cases.diagonal(section_3_2.ShortOnCubes(), 16e-5, L=16.0, **at)), 0).value
    assert untold < 8 * one
    longer = PHASES(section_3_2.shorter(cases.diagonal(section_3_2.ShortOnCubes(), 16e-5, L=16.0, **at)), 0).value
    assert longer != pytest.approx(steep, rel=0.1)


def test_a_walk_of_the_average_knows_L_too() -> None:
    at = {"n": 10**15, "epsilon": 1e-8}
    one = appendix_b.AVERAGE["engine"](appendix_b.average(NoisyMirrorDescent(), 1e-3, **at), 0).value
    steep = appendix_b.AVERAGE["engine"](appendix_b.average(NoisyMirrorDescent(), 16e-3, L=16.0, **at), 0).value
    assert steep == pytest.approx(16 * one, rel=1e-6)


def test_noise_beyond_the_ball_of_a_phase_is_refused() -> None:
    with pytest.raises(InvalidInput, match="coordinates do not move apart"):
        PHASES(cases.diagonal(section_3_2.GeneralShort(p=2.0), 0.1, n=2**16, epsilon=1e-3, d=64, p=2.0), 0)
    with pytest.raises(InvalidInput, match=r"has p = 1\.5"):
        PHASES(cases.diagonal(section_3_2.GeneralShort(p=1.5), 0.1, n=2**40, epsilon=0.1, d=64, p=1.5), 0)


@pytest.mark.parametrize("d", [2, 3])
def test_without_noise_selections_are_the_lines_of_the_algorithm(d: int) -> None:
    one = section_5.restarted(1.0, n=2**30, epsilon=0.01, delta=1e-12, modulus=1 / 8, H=0.5, d=d)
    quiet = replace(section_5.INNER, T=4, noise_dial=1e-9)
    one = one.running(replace(one.algorithm, inner=quiet, bound_dial=0.05))
    assert one.algorithm.schedule(one.problem, one.n).phases[-1].distance < 0.5
    drawn = Equal(4)(one, 0, "lines").value
    assert Simulated(section_5.selections, 8)(one, 0).value == pytest.approx(drawn, rel=1e-5)
    louder = one.running(replace(one.algorithm, inner=replace(quiet, noise_dial=1.0)))
    assert Simulated(section_5.selections, 8)(louder, 0).value > 2 * drawn


def test_sizes_give_the_first_run_its_phases_without_rounding() -> None:
    for T, n in zip(section_5.SIZES, section_5.RECORDS, strict=True):
        one = section_5.beginning(1.0, n, section_5.FAINT)
        first = one.algorithm.schedule(one.problem, n).phases[0]
        assert len(first.inner.phases) == T
        _, argument = section_5.INNER.reach(one.problem, first.records)
        assert 2 / 3 * math.log2(argument) == pytest.approx(T, abs=1e-6)


def test_one_dimension_is_that_of_every_exponent() -> None:
    at = {"n": 10**6, "epsilon": 0.5, "delta": 1e-10, "chance": 1e-3}
    line, cube = WALK(spiked(**at), 0).value, spikes.ACROSS(spikes.diagonal(d=1, **at), 0).value
    assert cube == pytest.approx(line, rel=1e-6)
    steps = [spikes.coordinates(spikes.diagonal(d=d, **at)) for d in (1, 16)]
    longest = spikes.ACROSS(spikes.diagonal(d=16, **at), 0).value
    assert np.isfinite(longest)
    assert steps[1].count == pytest.approx(steps[0].count / 16 ** (1 / 3), rel=0.01)
