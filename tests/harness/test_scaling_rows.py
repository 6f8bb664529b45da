"""Rate rows on algorithms of known exponent: what decides, and every way in which a row must refuse to."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
import sympy as sp

from dpcheck.checks import Check, Context, by_size, together
from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling import (
    AffinePhases,
    Axis,
    Drawn,
    Family,
    Instance,
    Line,
    Move,
    Pull,
    Risk,
    Row,
    admitted,
    averaged_descent,
    clipped_mean,
    geometric,
    powers,
    scaling,
)
from dpcheck.harness.scaling.families import named
from dpcheck.harness.scaling.line import law
from dpcheck.harness.scaling.terms import leading
from dpcheck.interfaces import Algorithm, Problem, Read, Release, Schedule
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.report import scaling as scaling_report
from dpcheck.symbols import D, d, epsilon, n
from dpcheck.verdicts import Outcome
from dpcheck.workloads.linear import TwoPoint

SIZES = powers(2, range(20, 41, 4))
ORDER = D / sp.sqrt(n) + D * sp.sqrt(d) / (epsilon * n)


@dataclass(frozen=True)
class Noisy(Algorithm[None]):
    """The clipped mean of linear losses, a step of 1/weight against it, and noise: of known risk.

    Attributes:
        power: the weight is n^-power; 1/2 is right.
        factor: multiplies the noise; less than 1 is not private.
    """

    power: float = 0.5
    factor: float = 1.0
    label = "toy/alg-1"

    def deviation(self, problem: Problem, n: int) -> float:
        return self.factor / (problem.privacy.epsilon * n)

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        reads = (Read(start=0, stop=n, sensitivity=2 / n),)
        noise = Gaussian(10 * self.deviation(problem, n))
        return Schedule(
            phases=(None,), releases=(Release(name="mean", law=noise, reads=reads),), gradients=n, floats_per_trial=4,
            claimed=None,
        )  # fmt: skip

    def execute(self, run, workload, data, start):
        mean = data.read().mean(data.read().values)
        released = run.release("mean", mean)
        return workload.project(start - released * data.n**self.power)


def moves(one: Instance) -> list[Move]:
    chosen, size = one.algorithm, float(one.n)
    mean, deviation = clipped_mean(one.work, 1.0)
    noise = 10 * chosen.deviation(one.problem, one.n)
    spread = np.hypot(deviation / np.sqrt(size), noise)
    return [Move(-mean * size**chosen.power, spread * size**chosen.power, 0.0)]


def made(*, n, tilt, epsilon=1.0, algorithm=None):
    work = TwoPoint(D=2.0, G=1.0, rho=tilt)
    told = Problem.of(work, ApproxDP(epsilon, 1e-6))
    at = {"n": n, "D": 2.0, "epsilon": epsilon, "d": 1}
    return Instance(algorithm or Noisy(), work, told, int(n), at)


FAMILY = Family.of(mirrored=True, tilt=geometric(1.0, 1 / 4, 16))
RIGHT = Row(
    made, ORDER, "n", "statistical", FAMILY, Line(moves), {"no step": lambda one: one.running(Noisy(power=0.25))}
)


def judged(row: Row, sizes=SIZES, size="smoke", **cell):
    context = Context("toy/thm-1", "row", {}, size)
    cells = [{**cell, row.variable: x} for x in sizes]
    return row([(each, row.measure(context, each)) for each in cells], 1e-5)


def test_a_right_row_is_met_and_tells_all_controls_apart():
    found = judged(RIGHT)
    assert found.outcome is Outcome.CONSISTENT
    (table,) = found.rows
    assert table["word"] == "met"
    assert table["stated exponent"] == -0.5
    assert table["measured exponent"] == pytest.approx(-0.5, abs=1e-3)
    assert table["not told apart"] == ""
    assert "no step" in table["told apart by exponent"]
    assert (table["where"], table["trials"]) == ("d = 1, epsilon = 1", 0)
    assert 0 < table["certified epsilon"] < 1
    assert found.evidence == "exact"
    assert {point.series for point in found.points} >= {"the algorithm", "the start", "no step"}


def test_a_control_that_equals_the_algorithm_makes_the_row_blind():
    """Seeded bug: a mutant that changes nothing."""
    found = judged(replace(RIGHT, mutants={"nothing": lambda one: one}))
    assert found.outcome is Outcome.UNDECIDED
    assert found.rows[0]["word"] == "blind"
    assert "nothing" in found.rows[0]["not told apart"]


def test_an_algorithm_that_returns_its_start_is_blind():
    def start(one):
        return one.running(Noisy(power=-9.0))

    row = replace(RIGHT, make=lambda **given: start(made(**given)), mutants={})
    found = judged(row)
    assert found.rows[0]["word"] == "blind"
    assert "the start" in found.rows[0]["not told apart"]


def test_a_class_of_one_side_is_passed_by_a_constant():
    """Without its mirror images every member is solved by the same end of the interval."""
    row = replace(RIGHT, family=Family.of(tilt=geometric(1.0, 1 / 4, 16)))
    with pytest.raises(InvalidInput, match="risks > 0"):
        judged(row)


def test_a_wrong_exponent_is_shallower_and_needs_a_witness():
    row = replace(RIGHT, make=lambda **given: made(**given, algorithm=Noisy(power=0.4)), mutants={})
    found = judged(row)
    assert found.outcome is Outcome.UNDECIDED
    assert found.rows[0]["word"] == "shallower"
    assert found.rows[0]["measured exponent"] == pytest.approx(-0.4, abs=0.01)


def test_a_constant_that_is_off_by_two_is_told_by_its_level():
    loud = {"noise of twice the sampling": lambda one: one.running(Noisy(factor=0.4 * one.n**0.5))}
    table = judged(replace(RIGHT, mutants=loud)).rows[0]
    assert table["told apart by level"] == "noise of twice the sampling"


def test_a_size_that_the_schedule_rounds_is_refused():
    row = replace(RIGHT, whole=lambda n: [np.log2(n), n**0.3])
    with pytest.raises(InvalidInput, match="rounds"):
        judged(row, sizes=(2**20, 2**21, 2**22))
    assert judged(replace(RIGHT, whole=lambda n: [np.log2(n)])).rows[0]["word"] == "met"


def test_a_supremum_at_the_end_of_the_grid_is_void():
    found = judged(replace(RIGHT, family=Family.of(mirrored=True, tilt=geometric(1.0, 1 / 4, 5))))
    assert found.outcome is Outcome.UNDECIDED
    assert found.rows[0]["word"] == "void"
    assert "reach further" in found.reason
    closed = Family.of(mirrored=True, tilt=Axis((1e-9, 1e-12, 1e-15), closed=(True, True)))
    assert judged(replace(RIGHT, family=closed)).rows[0]["word"] != "void"


def test_a_term_that_does_not_lead_is_refused():
    with pytest.raises(InvalidInput, match="does not lead"):
        judged(replace(RIGHT, part="private"))
    with pytest.raises(InvalidInput, match="no private term"):
        judged(replace(RIGHT, order=D / sp.sqrt(n), part="private"))
    term = leading(ORDER, "private", "epsilon", {"n": 1e6, "D": 2.0, "epsilon": 1e-6, "d": 1})
    assert (term.exponent, str(term.expression)) == (-1.0, "D*sqrt(d)/(epsilon*n)")


def test_drawn_records_agree_with_the_law_on_the_line():
    instance = made(n=4096, tilt=1 / 64)
    assert admitted(Line(moves), instance, 2000, Context("toy/thm-1", "law", {})).outcome is Outcome.CONSISTENT
    assert admitted(
        Line(lambda one: [*moves(one), Move(0.05, 0.0, 0.0)]), instance, 2000, Context("toy/thm-1", "law", {})
    )

    def off(one):
        (move,) = moves(one)
        return [replace(move, spread=2 * move.spread)]

    assert admitted(Line(off), instance, 2000, Context("toy/thm-1", "law", {})).outcome is Outcome.UNDECIDED


def test_drawn_rows_decide_too():
    row = replace(RIGHT, engine=Drawn(600, pilots=200), mutants={})
    found = judged(row, sizes=powers(2, range(20, 41, 5)))
    assert found.evidence == "sampled"
    assert found.rows[0]["word"] == "met"
    assert found.rows[0]["trials"] == 600
    said = scaling_report.caption(found)
    assert "at d = 1, epsilon = 1, 600 trials a size. Certified" in said
    assert found.rows[0]["half-width"] < 0.05


def test_the_law_keeps_the_mean_and_the_mass():
    points = np.linspace(-1, 1, 257)
    for drift, spread, noise in itertools.product((0.1, 1e-5), (0.0, 1e-3, 0.3), (0.0, 1e-4, 0.05)):
        mass = law([Move(drift, spread / 5, noise / 5)], points, 0.0)
        assert mass.sum() == pytest.approx(1)
        assert mass @ points == pytest.approx(drift, rel=1e-6)
    ends = law([Move(0.0, 1e6, 0.0)], points, 0.0)
    assert ends[[0, -1]] == pytest.approx([0.5, 0.5], rel=1e-3)


@pytest.mark.parametrize(("rate", "steps"), [(0.3, 7), (1e-7, 50), (2e-3, 400), (1.0, 5), (1e-12, 10)])
def test_averaged_descent_in_closed_form(rate, steps):
    decay = (1 - rate) ** np.arange(steps)
    left = [(1 - (1 - rate) ** i) / steps for i in range(steps)]
    assert averaged_descent(rate, steps) == pytest.approx((decay.mean(), np.sum(np.square(left))), rel=2e-3)


def test_affine_phases_draw_the_same_noise_for_all_members():
    engine = AffinePhases(lambda one: [Pull(0.5, np.array([-1.0]), 0.1), Pull(0.1, np.array([-1.0]), 0.01)], 4000)
    one, other = (engine(made(n=64, tilt=tilt), 0, tilt) for tilt in (0.5, 0.25))
    assert one.value / other.value == pytest.approx(2)
    assert one.value == pytest.approx(0.5 * 0.05, rel=0.05)


def test_a_grid_that_is_too_coarse_is_refused():
    fine = made(n=2**40, tilt=1.0)
    with pytest.raises(InvalidInput, match="does not carry the law"):
        Line(lambda one: [Move(-5.0, 0.0, 1e-4), Move(-5e-4, 0.0, 0.0)] * 3)(fine, 0)


def test_members_that_cannot_be_worse_are_not_run():
    ran = []

    @dataclass(frozen=True)
    class Counting:
        quantile: None = None

        def __call__(self, instance, seed, *key, pilot=False):
            ran.append(instance.work.rho)
            return Line(moves)(instance, seed, *key, pilot=pilot)

    judged(replace(RIGHT, engine=Counting(), mutants={}), sizes=SIZES[:3])
    assert len(ran) < 3 * 16


def test_the_decorator_makes_a_check_with_a_cell_a_size():
    @scaling(
        "toy/thm-1", variable="n", part="statistical", sizes=SIZES, family=FAMILY, engine=Line(moves),
        series={"case": together("part epsilon", ("statistical", 1.0), ("private", 1e-9))},
    )  # fmt: skip
    def rate_of_the_mean(*, n, tilt, epsilon):
        """The rate."""
        return made(n=n, tilt=tilt, epsilon=epsilon)

    assert isinstance(rate_of_the_mean, Check)
    assert isinstance(rate_of_the_mean.conclude, Row)
    assert rate_of_the_mean.id == "toy/thm-1::rate_of_the_mean"
    assert rate_of_the_mean.doc == "The rate."
    assert len(rate_of_the_mean.cells("smoke")) == 2 * len(SIZES)
    row = replace(rate_of_the_mean.conclude, order=ORDER)
    found = judged(row, case=together("part epsilon", ("private", 1e-9))[0])
    assert found.rows[0]["stated exponent"] == -1


def test_names_of_members():
    assert named({"p": 0.25, "word": "l1 ball", "n": 2**40}) == "p = 0.25, l1 ball, n = 1099511627776"
    assert Risk(1.0).error == 0


def test_a_dear_row_begins_at_a_larger_size() -> None:
    def make(*, n: int, p: float) -> Instance:
        raise AssertionError

    given = {"variable": "n", "family": FAMILY, "engine": Drawn(2)}
    dear = scaling("toy/thm-1", sizes=SIZES, since="standard", **given)(make)
    assert (dear.cells("smoke"), len(dear.cells("standard"))) == ([], len(SIZES))
    dearer = scaling("toy/thm-1", sizes=by_size((1, 2), (1, 2, 3), SIZES), since="full", **given)(make)
    assert [len(dearer.cells(size)) for size in ("smoke", "standard", "full")] == [0, 0, len(SIZES)]
