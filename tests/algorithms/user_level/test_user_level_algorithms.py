"""The user-level algorithms as a whole: plans, privacy by account, replay of a replaced user, halting, readings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpcheck.accounting import account
from dpcheck.algorithms.user_level import (
    ALGORITHMS,
    GroupPrivacy,
    MinibatchSGD,
    PhasedERM,
    PhasedSGD,
    SmoothedERM,
    StronglyConvex,
)
from dpcheck.algorithms.user_level.threshold import RedrawnThreshold
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry import Ball
from dpcheck.harness import risk
from dpcheck.harness.replay import Case
from dpcheck.harness.runtime import CountingWorkload
from dpcheck.interfaces import Constants, Problem
from dpcheck.laws import AboveThreshold, Laplace
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.running import Fixed, Fresh, Run
from dpcheck.workloads import LinearMean, QuadraticMean, SignHuber, Users, signs_on

D, M = 3, 4
BALL = Ball(D, 0.5)
SIZE, MEAN = signs_on(BALL, 1.0, 0.5)
LINEAR = Users(LinearMean(SIZE, MEAN, BALL, radius=0.5), M)
QUADRATIC = Users(QuadraticMean(SIZE / 2, MEAN / 4, BALL, radius=0.5), M)
HUBER = Users(SignHuber(a=0.5, kappa=0.5, dimension=D), M)
ABSOLUTE = Users(SignHuber(a=0.5, kappa=0.0, dimension=D), M)
DIALLED_1 = PhasedSGD(**PhasedSGD.readings["dialled"])
DIALLED_3 = PhasedERM(**PhasedERM.readings["dialled"])


def problem(work: Any = LINEAR, epsilon: float = 1.0, delta: float = 1e-6, m: int = M) -> Problem:
    return Problem.of(work, ApproxDP(epsilon, delta), samples_per_user=m)


def plain(d: int, m: int, epsilon: float = 1.0, delta: float = 1e-6, H: float = 1.0) -> Problem:
    constants = Constants(
        d=d,
        diameter=lambda p: 1.0,
        lipschitz=lambda p: 1.0,
        smoothness=lambda p: H,
        moment=lambda k, b: 1.0,
        growth=(2.0, 0.5),
    )
    return Problem(constants=constants, privacy=ApproxDP(epsilon, delta), samples_per_user=m)


# Plans ----------------------------------------------------------------------------------------------------------------


def test_algorithm_1_refuses_the_sizes_that_theorem_b1_allows() -> None:
    """Both sizes meet n^(1-q) >= 100 log(n/delta)/(eps (1 - 2^-q)), and leave less than a user to a last group."""
    n, q = 10**6, 0.5
    assert n ** (1 - q) >= 100 * math.log(n / 1e-6) / (10 * (1 - 2**-q))
    big = plain(10, 1000, epsilon=10.0)
    assert PhasedSGD(q=q).group_users(big, n)[-1] == pytest.approx(404.5 / 476, abs=1e-4)
    with pytest.raises(Infeasible, match=r"last phase, got 0\.85 "):
        PhasedSGD(q=q).schedule(big, n)
    small = plain(10, 10)
    assert PhasedSGD().group_users(small, 150_000)[-1] == pytest.approx(0.984, abs=1e-3)
    with pytest.raises(Infeasible) as caught:
        PhasedSGD().schedule(small, 150_000)
    least = caught.value.smallest_n
    assert least is not None
    assert 150_000 < least < 160_000
    assert PhasedSGD().feasible(small, least)
    assert not PhasedSGD().feasible(small, least - 1)


@pytest.mark.parametrize("kind", [PhasedSGD, PhasedERM, SmoothedERM, StronglyConvex])
def test_smallest_n_is_feasible_and_minimal(kind: Any) -> None:
    told = plain(10, 50)
    with pytest.raises(Infeasible) as caught:
        kind().schedule(told, 20_000)
    least = caught.value.smallest_n
    assert least is not None
    assert kind().feasible(told, least)
    assert not kind().feasible(told, least - 1)
    kind().schedule(told, least)


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_plans_need_no_data_and_say_what_they_miss(kind: Any) -> None:
    schedule = kind().schedule(plain(5, 20), 10_000_000)
    assert schedule.claimed is not None
    with pytest.raises(Infeasible, match="DP"):
        kind().schedule(replace(plain(5, 20), privacy=object()), 10_000_000)  # type: ignore[arg-type]
    if kind.label != "user_level/alg-4":
        with pytest.raises(InvalidInput, match="samples of each"):
            kind().schedule(plain(5, 0), 10_000_000)
        with pytest.raises(Infeasible, match="0 < delta < 1"):
            kind().schedule(replace(plain(5, 20), privacy=PureDP(1.0)), 10_000_000)
        with pytest.raises(Infeasible, match="epsilon <= 10"):
            kind().schedule(plain(5, 20, epsilon=11.0), 10_000_000)


def test_constants_of_algorithm_1_at_the_printed_size() -> None:
    n, m = 200_000, 10
    told = plain(10, m)
    schedule = PhasedSGD().schedule(told, n)
    first = schedule.phases[0]
    C = math.ceil(100 * math.log(20 * n * m * math.e / 1e-6))
    assert (first.groups, first.test, len(schedule.phases)) == (C, 20.0, 17)
    assert first.eta == pytest.approx(1 / math.sqrt(10 * m * n) * 2 ** -(1.5 + math.log(m) / math.log(n)))
    assert first.tau == pytest.approx(1000 * first.eta * math.sqrt(first.steps) * math.log(n * 10 * m))
    assert first.sigma == pytest.approx(100 * first.tau * math.log(n / 1e-6) ** 2 / C)
    users = sum(phase.users for phase in schedule.phases)
    assert users < n
    assert schedule.gradients == users * m
    assert schedule.releases[0].law == Laplace(20.0)


@pytest.mark.parametrize(
    ("n", "m", "epsilon", "delta"), [(200_000, 10, 1.0, 1e-6), (10**5, 10, 10.0, 1e-6), (4 * 10**6, 10, 0.1, 1e-8)]
)
@pytest.mark.parametrize("kind", [PhasedSGD, PhasedERM, SmoothedERM, GroupPrivacy])
def test_printed_constants_are_certified(kind: Any, n: int, m: int, epsilon: float, delta: float) -> None:
    """The account of certified movements, failures included, keeps the promise."""
    told = plain(10, m, epsilon, delta)
    schedule = kind().schedule(told, n)
    assert schedule.claimed == ApproxDP(epsilon, delta)
    assert account(schedule, n).epsilon(delta) < epsilon


def test_promises_end_with_the_first_dial() -> None:
    told = plain(10, 10)
    for name in ("c_groups", "c_radius", "c_noise", "c_score"):
        printed = getattr(PhasedSGD(), name)
        assert PhasedSGD(**{name: 0.9 * printed}).schedule(told, 400_000).claimed is None
    assert PhasedSGD(c_noise=200.0, c_step=0.5).schedule(told, 400_000).claimed is not None
    assert PhasedSGD(groups=50).schedule(told, 400_000).claimed is None
    for name in ("c_batch", "c_users", "c_noise", "c_radius", "c_score"):
        dials = {name: 0.9 * getattr(PhasedERM(), name)}
        assert PhasedERM(**dials).schedule(told, 400_000).claimed is None
        assert SmoothedERM(**dials).schedule(told, 400_000).claimed is None
        assert StronglyConvex(inner=PhasedERM(**dials)).schedule(told, 10**8).claimed is None
    assert GroupPrivacy(c_noise=0.9).schedule(told, 1000).claimed is None
    assert MinibatchSGD(K=100).schedule(told, 400_000).claimed is None


def test_smooth_losses_bound_the_step() -> None:
    steep = plain(10, 10, H=1e6)
    with pytest.raises(Infeasible, match="1/beta") as caught:
        PhasedSGD().schedule(steep, 400_000)
    assert caught.value.smallest_n is not None
    PhasedSGD().schedule(steep, caught.value.smallest_n)
    with pytest.raises(Infeasible, match="1/beta"):
        PhasedSGD().schedule(plain(10, 10, H=math.inf), 400_000)
    with pytest.raises(Infeasible, match="2/beta"):
        GroupPrivacy().schedule(plain(10, 10, H=math.inf), 400_000)
    eta = GroupPrivacy().step(steep, 400_000)
    assert eta == pytest.approx(4e-6)


def test_plan_of_algorithm_3() -> None:
    n, m, d = 400_000, 10, 10
    told = plain(d, m)
    algorithm = PhasedERM()
    p, q = algorithm.exponents(told, n)
    assert p == pytest.approx(3 * q + 2.5 + math.log(m) / (2 * math.log(n)))
    rows = algorithm.schedule(told, n).phases
    assert [row.weight / rows[0].weight for row in rows[:3]] == pytest.approx([1, 2**p, 4**p])
    for row in rows:
        assert row.steps == math.ceil((1 + math.sqrt(1 / row.weight)) * math.log(n * d * m))
        assert row.whole  # the printed K_i exceeds n_i in every phase, as at every practical size
        assert row.sigma == pytest.approx(
            1000 * row.tau * math.sqrt(row.steps) * (math.log(n * d) + 1 - math.log(1e-6)) / row.users
        )
        assert sum(s.steps for s in row.stages()[0]) == row.steps
    assert rows[-1].start + rows[-1].users <= n


def test_a_proper_minibatch_is_sampled_and_never_amplified() -> None:
    """Both releases of a step see one hidden sample, so that the account takes no credit for it."""
    schedule = MinibatchSGD(K=50, steps=20, c_users=1.0).schedule(plain(3, 4), 2000)
    bit, gradient = schedule.releases
    assert bit.reads[0].sampling == gradient.reads[0].sampling
    assert gradient.reads[0].sampling is not None
    full = MinibatchSGD(K=2000, steps=20, c_users=1.0).schedule(plain(3, 4), 2000)
    assert full.releases[0].reads[0].sampling is None


def test_readings_of_algorithm_2() -> None:
    told = plain(3, 4)
    literal = MinibatchSGD(**MinibatchSGD.readings["literal"]).schedule(told, 20_000)
    assert isinstance(literal.releases[0].law, RedrawnThreshold)
    assert account(literal).epsilon(1e-6) > 1.0  # a fresh threshold a step is not paid for
    intended = MinibatchSGD().schedule(told, 20_000)
    assert isinstance(intended.releases[0].law, AboveThreshold)
    assert account(intended).epsilon(1e-6) < 1.0
    again = MinibatchSGD(**MinibatchSGD.readings["replacement"]).schedule(told, 20_000)
    assert again.releases[1].reads[0].sampling is not None


def test_rounds_shrink_and_fit() -> None:
    schedule = StronglyConvex().schedule(plain(10, 50), 20_000_000)
    radii = [each.radius for each in schedule.phases]
    assert radii == sorted(radii, reverse=True)
    assert schedule.phases[-1].start + schedule.phases[-1].users <= 20_000_000
    assert account(schedule).epsilon(1e-6) < 1.0
    with pytest.raises(InvalidInput, match="growth"):
        StronglyConvex().schedule(problem(), 20_000_000)


# Runs -----------------------------------------------------------------------------------------------------------------


def neighbours(work: Any, n: int, place: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    data = work.rows(np.random.default_rng(seed), 1, n)
    other = data.copy()
    other[0, place] = -np.sign(other[0, place].mean(axis=0)) * np.abs(other[0, place])
    return data, other


@pytest.mark.parametrize("work", [LINEAR, QUADRATIC, HUBER])
@pytest.mark.parametrize(
    "algorithm",
    [
        DIALLED_1,
        replace(DIALLED_1, order="fixed"),
        DIALLED_3,
        replace(DIALLED_3, threshold="inside"),
        replace(DIALLED_3, sampling="with-replacement", phases=3),
        GroupPrivacy(),
        SmoothedERM(**SmoothedERM.readings["dialled"], phases=2, r=0.5),
    ],
    ids=["phased", "phased in order", "erm", "erm literal", "erm replacement", "group", "smoothed"],
)
def test_a_replaced_user_moves_his_own_phase_alone(algorithm: Any, work: Any) -> None:
    n = 330
    data, other = neighbours(work, n, 5)
    seen = Case(algorithm, work, problem(work)).replay(data, other, 6)
    assert float(seen.leak.max()) == 0.0
    for movement in seen.movements:
        mine = any(read.start <= 5 < read.stop for read in movement.release.reads)
        if not mine:
            assert movement.distance.max() <= 1e-12
        elif surely_bounded(algorithm, movement.release.name):
            assert movement.ratio.max() <= 1 + 1e-9


def surely_bounded(algorithm: Any, name: str) -> bool:
    """Kept means are bounded but for a failure; scores are, unless a user may be drawn twice."""
    twice = getattr(algorithm, "sampling", "") == "with-replacement"
    return isinstance(algorithm, GroupPrivacy) or (name.endswith(("score", "bit")) and not twice)


def test_group_privacy_sensitivity_is_attained() -> None:
    wide = Users(LinearMean(SIZE, MEAN, Ball(D, 50.0), radius=50.0), M)
    data = np.broadcast_to(SIZE, (1, 64, M, D)).copy()
    other = data.copy()
    other[0, 0] = -SIZE
    seen = Case(GroupPrivacy(eta=0.1), wide, problem(wide)).replay(data, other, 2)
    first = seen.movements[0]
    T = 32 * M
    # The samples of the first user weigh (T - 1 - t)/T, t < M.
    assert float(first.ratio[0]) == pytest.approx(1 - (M + 1) / (2 * T))


def test_halted_trials_return_the_start_and_release_no_more() -> None:
    far = replace(DIALLED_1, c_radius=1e-9, order="fixed")  # no two averages are near
    schedule = far.schedule(problem(), 600)
    run = Run(schedule, 8, np.random.default_rng(0))
    point = far.execute(run, LINEAR, Fresh(LINEAR, 8, 600, 1), np.full((1, D), 0.1))
    assert not run.active.any()
    assert point == pytest.approx(np.full((8, D), 0.1))
    assert np.isnan(run.transcript.entries[1].output).all()
    tight = replace(DIALLED_3, c_radius=1e-9)
    run3 = Run(tight.schedule(problem(), 600), 8, np.random.default_rng(0))
    point = tight.execute(run3, LINEAR, Fresh(LINEAR, 8, 600, 1), np.full((1, D), 0.1))
    assert not run3.active.any()
    assert point == pytest.approx(np.full((8, D), 0.1))


def test_threshold_is_drawn_once_a_phase_or_once_a_step() -> None:
    for threshold, per_step in (("once", 0), ("inside", 1)):
        algorithm = replace(DIALLED_3, threshold=threshold, c_batch=100.0, phases=2)
        run = Run(algorithm.schedule(problem(), 400), 2, np.random.default_rng(0))
        algorithm.execute(run, LINEAR, Fresh(LINEAR, 2, 400, 1), np.zeros((1, D)))
        scalars = sum(coin.shape == (2, 1) for coin in run.transcript.coins)
        steps = sum(row.steps for row in run.schedule.phases)
        assert scalars == (steps if per_step else 2)


@pytest.mark.parametrize("algorithm", [DIALLED_1, DIALLED_3, GroupPrivacy(), replace(DIALLED_3, phases=1)])
def test_gradients_are_counted_sample_by_sample(algorithm: Any) -> None:
    n = 400
    each = CountingWorkload(QUADRATIC.each)
    users = Users(each, M)  # type: ignore[arg-type]
    schedule = algorithm.schedule(problem(QUADRATIC), n)
    run = Run(schedule, 1, np.random.default_rng(0))
    algorithm.execute(run, users, Fresh(users, 1, n, 1), np.zeros((1, D)))
    assert run.active.all()
    assert each.gradients == schedule.gradients


@pytest.mark.parametrize(
    ("algorithm", "work", "least"),
    [
        (replace(DIALLED_1, c_step=8.0, groups=8, q=1.0, p=1.5, phases=3, c_noise=0.001), LINEAR, 0.05),
        (DIALLED_3, LINEAR, 0.02),
        (DIALLED_3, HUBER, 0.02),
        (GroupPrivacy(), QUADRATIC, 0.06),
        (SmoothedERM(**SmoothedERM.readings["dialled"], phases=2), ABSOLUTE, 0.03),
    ],
)
def test_risks_are_small_where_the_noise_is(algorithm: Any, work: Any, least: float) -> None:
    """Not a rate: 20 trials on 512 users end near the minimiser; the starts have a risk of 0.01 to 1."""
    found = risk.excess_risks(algorithm, work, problem(work), 512, 20, 3, algorithm.label)
    assert found.mean() < least


def test_strongly_convex_rounds_run() -> None:
    inner = replace(DIALLED_3, c_users=0.05)
    algorithm = StronglyConvex(mu=1.0, inner=inner)
    found = risk.excess_risks(algorithm, QUADRATIC, problem(QUADRATIC), 2000, 10, 1, "meta")
    assert found.mean() < 5e-3


def test_printed_order_permutes_given_data_only() -> None:
    data, _ = neighbours(LINEAR, 600, 5)
    schedule = DIALLED_1.schedule(problem(), 600)
    ends = []
    for seed in range(2):
        run = Run(schedule, 3, np.random.default_rng(seed))
        DIALLED_1.execute(run, LINEAR, Fixed(data), np.zeros((1, D)))
        ends.append(run.transcript.entries[1].core)
        assert len(run.transcript.coins) == 3 * len(schedule.phases)
    run = Run(schedule, 3, np.random.default_rng(0))
    DIALLED_1.execute(run, LINEAR, Fresh(LINEAR, 3, 600, 1), np.zeros((1, D)))
    assert len(run.transcript.coins) == len(schedule.phases)


def test_records_that_are_no_users_are_refused() -> None:
    run = Run(DIALLED_1.schedule(problem(), 600), 1, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="Users"):
        DIALLED_1.execute(run, LINEAR.each, Fresh(LINEAR.each, 1, 600, 1), np.zeros((1, D)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: PhasedSGD(c_noise=0.0),
        lambda: PhasedSGD(order="sorted"),  # type: ignore[arg-type]
        lambda: PhasedERM(c_batch=-1.0),
        lambda: PhasedERM(threshold="twice"),  # type: ignore[arg-type]
        lambda: PhasedERM(sampling="poisson"),  # type: ignore[arg-type]
        lambda: PhasedERM(p=0.0),
        lambda: SmoothedERM(r=0.0),
        lambda: GroupPrivacy(c_noise=0.0),
        lambda: StronglyConvex(mu=-1.0),
    ],
)
def test_senseless_fields_are_refused(make: Any) -> None:
    with pytest.raises(InvalidInput):
        make()
