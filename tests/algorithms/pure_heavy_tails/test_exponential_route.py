"""Appendix E: nets, scores, exact privacy of the exponential mechanism, and the data-dependent step that breaks it."""

import math

import numpy as np
import pytest
from scipy import special

from dpcheck.accounting import account
from dpcheck.algorithms.pure_heavy_tails import EMPGM, SmoothedEMPGM
from dpcheck.algorithms.pure_heavy_tails.exponential import gradient_mapping, net, net_size, smoothed_gradient
from dpcheck.engine.statements import bound_of
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry.norms import clip_norm
from dpcheck.harness.replay import replay
from dpcheck.interfaces import Problem, Sample
from dpcheck.privacy import PureDP
from dpcheck.running import Fixed, Fresh, Run
from dpcheck.solvers import Task, certified
from dpcheck.workloads import HeavyHinge, HeavyMean, RadialHeavyTail, RareSpikes, SparseDirection, WeightedMedian


def problem(work, epsilon=1.0):
    return Problem.of(work, PureDP(epsilon))


@pytest.mark.parametrize(("work", "eta"), [(WeightedMedian(D=2.0), 0.013), (HeavyHinge(), 0.07), (HeavyHinge(), 1.2)])
def test_nets_cover_and_stay_inside(work, eta):
    points = net(work, eta)
    d = work.constants.d
    assert np.allclose(work.project(points), points, atol=1e-12)
    everywhere = work.project(np.random.default_rng(0).normal(size=(3000, d)))
    gaps = np.linalg.norm(everywhere[:, None] - points[None], axis=2).min(axis=1)
    assert gaps.max() <= eta * (1 + 1e-9)
    assert len(points) <= net_size(work.constants.diameter(2.0), eta, d)
    if eta <= work.constants.diameter(2.0) / 2:
        assert len(points) <= (3 * work.constants.diameter(2.0) / eta) ** d


def test_clipping_by_norm():
    v = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert np.allclose(clip_norm(v, 1.0), [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]])
    assert np.allclose(clip_norm(v, np.array([10.0, 0.1, 1.0])), [[3.0, 4.0], [0.06, 0.08], [0.0, 0.0]])


def test_gradient_mapping_vanishes_at_constrained_minimisers_and_bounds_the_distance():
    work = HeavyMean(D=3.0, theta=0.6)
    sample = work.draw(np.random.default_rng(1), 40, 15)
    weight, centre = 0.3, np.array([[-1.0]])
    best = certified(Task(workload=work, sample=sample, weight=weight, centre=centre)).point
    step = 1 / (weight + 1)

    def mapping(w):
        slope = sample.mean(work.gradient(w[:, None], sample.values)) + weight * (w - centre)
        return gradient_mapping(w, slope, step, work)

    assert np.abs(mapping(best)).max() <= 1e-12
    for w in np.linspace(-1.5, 1.5, 13):
        at = np.full((40, 1), w)
        assert np.all(np.abs(at - best) <= np.abs(mapping(at)) / weight + 1e-12)  # (24)
        # T = id - step G contracts by 1 - step weight.
        moved, fixed = at - step * mapping(at), best - step * mapping(best)
        assert np.all(np.abs(moved - fixed) <= (1 - step * weight) * np.abs(at - best) + 1e-12)


def test_score_is_the_formula_on_the_net():
    work = HeavyMean(D=3.0)
    data = work.rows(np.random.default_rng(2), 1, 40)
    algorithm = EMPGM(lambda_=0.5)
    schedule = algorithm.schedule(problem(work), 40)
    run = Run(schedule, 200, np.random.default_rng(3))
    start = np.array([[0.2]])
    out = algorithm.execute(run, work, Fixed(data), start)
    (stage,), (entry,) = schedule.phases, run.transcript.entries
    points = net(work, stage.radius)
    slopes = np.clip(points[:, 0, None] - data[0, :, 0], -stage.C, stage.C).mean(axis=1) + 0.5 * (points[:, 0] - 0.2)
    direct = np.abs(points[:, 0] - np.clip(points[:, 0] - stage.step * slopes, -1.5, 1.5)) / stage.step
    assert np.allclose(entry.core[0], direct, atol=1e-12)
    # The law itself, in log space, and every output on the net.
    law = schedule.releases[0].law
    weights = -1.0 * 40 / (4 * stage.C) * direct
    assert np.allclose(law.log_probabilities(entry.core)[0], weights - special.logsumexp(weights), atol=1e-12)
    assert np.isin(out, points).all()


@pytest.mark.parametrize("seed", range(4))
def test_exact_epsilon_of_em_pgm_on_neighbours(seed):
    rng = np.random.default_rng(seed)
    work, n = HeavyMean(D=3.0), 25
    data = work.rows(rng, 1, n)
    other = data.copy()
    other[0, 0] = [1e6, -1e6, 0.0, 3.0][seed]
    data[0, 0] = [-1e6, 1e6, 1e6, -3.0][seed]
    algorithm = EMPGM(lambda_=0.4)
    found = replay(algorithm, work, problem(work), data, other, 50, seed)
    (movement,) = found.movements
    law = movement.release.law
    realised = np.abs(law.log_probabilities(movement.core[:1]) - law.log_probabilities(movement.other[:1])).max()
    assert realised <= 1.0
    assert movement.ratio.max() <= 1 + 1e-12
    if seed < 2:
        assert movement.ratio.max() == pytest.approx(1.0, rel=1e-9)  # 2C/n is attained in the interior
        assert realised > 0.3
    assert found.leak.max() == 0


def test_accountant_and_the_explicit_distance_bound():
    work = HeavyMean(D=3.0)
    algorithm, given = EMPGM(lambda_=2.0), problem(work)
    schedule = algorithm.schedule(given, 400)
    assert account(schedule).epsilon(0.0) == pytest.approx(1.0, rel=1e-12)
    data = Fresh(work, 300, 400, 4)
    out = algorithm.execute(Run(schedule, 300, np.random.default_rng(5)), work, data, np.zeros((1, 1)))
    exact = certified(Task(workload=work, sample=data.read(), weight=2.0, centre=np.zeros((1, 1)))).point
    # Promised with probability 0.7; a true 0.95 falls below 0.7 in 300 trials with probability < 1e-40.
    assert (
        np.mean(np.abs(out - exact)[:, 0] <= bound_of("pure_heavy_tails/thm-2-1@solver", algorithm, given, 400)) >= 0.7
    )
    with pytest.raises(InvalidInput, match="needs a value for c_erm"):
        bound_of("pure_heavy_tails/thm-2-1@solver", EMPGM(gamma=0.1), given, 400)


@pytest.mark.parametrize(("n", "epsilon", "gap"), [(20, 2.84, 0.948), (100, 21.49, 0.945), (400, 93.54, 0.940)])
def test_a_step_that_depends_on_the_data_is_not_private(n, epsilon, gap):
    """Finding S3: one record of slope 10^6 instead of 1 moves the printed step, and with it every score."""
    work = WeightedMedian(D=1.0)
    data = np.ones((1, n, 2))
    data[..., 1] = -5.0
    other = data.copy()
    other[0, 0, 0] = 1e6
    fields = {"lambda_": 0.1, "C": 1.0, "eta": 1 / 4000}
    for rule in ("data", "public"):
        found = replay(SmoothedEMPGM(gamma_rule=rule, **fields), work, problem(work), data, other, 2, 6)
        (movement,) = found.movements
        law = movement.release.law
        realised = np.abs(law.log_probabilities(movement.core[:1]) - law.log_probabilities(movement.other[:1])).max()
        assert movement.core.shape[1] == 2001
        if rule == "data":
            assert realised == pytest.approx(epsilon, abs=0.01)
            assert movement.distance.max() == pytest.approx(gap, abs=0.001)
            assert movement.ratio.max() > 9
        else:
            assert realised <= 1e-9


def test_public_step_keeps_the_promise():
    work, n = WeightedMedian(D=1.0), 40
    rng = np.random.default_rng(7)
    algorithm = SmoothedEMPGM(gamma_rule="public", lambda_=0.1, C=1.0, eta=1 / 400)
    for _ in range(5):
        data = work.rows(rng, 1, n)
        other = data.copy()
        other[0, 0] = [10 ** rng.uniform(-1, 6), rng.uniform(-0.5, 0.5)]
        found = replay(algorithm, work, problem(work), data, other, 2, 8)
        assert max(ratio.max() for ratio in found.ratios().values()) <= 1 + 1e-12


def test_smoothed_gradients():
    median, tau = WeightedMedian(D=2.0), 0.2
    rng = np.random.default_rng(9)
    z, w = median.rows(rng, 1, 50)[0], rng.uniform(-1, 1, size=(50, 1))
    closed = z[:, :1] * np.clip((w - z[:, 1:]) / tau, -1, 1)
    assert np.allclose(smoothed_gradient(median, w, z, tau), closed, atol=1e-12)
    # In the plane: the gradient of a linear loss is itself, and that of a radial loss is d A/τ-Lipschitz.
    linear = SparseDirection(nu=(0.6, 0.8))
    z = np.broadcast_to(linear.atoms[0], (5, 2))
    w = linear.project(rng.normal(size=(5, 2)))
    assert np.allclose(smoothed_gradient(linear, w, z, 0.1), z, atol=1e-9)
    radial = RadialHeavyTail(b=(0.1, 0.0))
    w, v = (radial.project(rng.normal(size=(200, 2))) * 0.5 for _ in range(2))
    z = np.full((200, 1), 2.0)
    change = smoothed_gradient(radial, w, z, 0.2, 512) - smoothed_gradient(radial, v, z, 0.2, 512)
    assert np.all(np.linalg.norm(change, axis=1) <= 2 * 2.0 / 0.2 * np.linalg.norm(w - v, axis=1) + 1e-6)


def test_smoothed_runs_and_reports_its_reading():
    work = WeightedMedian(D=1.0)
    algorithm = SmoothedEMPGM(**SmoothedEMPGM.readings["corrected"], lambda_=5.0, eta=0.01)
    out = algorithm.fit(work, Fresh(work, 30, 50, 10), problem(work), rng=np.random.default_rng(11), trials=30)
    assert np.all(np.abs(out) <= 0.5)
    assert "c_erm" not in algorithm.terms(problem(work), 50)
    assert SmoothedEMPGM().gamma_rule == "data"
    plane = HeavyHinge()
    small = SmoothedEMPGM(gamma_rule="public", eta=0.3, lambda_=3.0, nodes=16)
    out = small.fit(plane, Fresh(plane, 4, 20, 12), problem(plane), rng=np.random.default_rng(13), trials=4)
    assert np.linalg.norm(out, axis=1).max() <= 1 + 1e-12


def test_legality():
    smooth, rough = HeavyMean(D=3.0), WeightedMedian()
    with pytest.raises(Infeasible, match="smooth"):
        EMPGM().schedule(problem(rough), 100)
    with pytest.raises(Infeasible, match="epsilon n >= d") as caught:
        EMPGM().schedule(problem(smooth, 0.01), 50)
    assert caught.value.smallest_n == 100
    with pytest.raises(Infeasible, match="net of radius"):
        EMPGM(eta=10.0).schedule(problem(smooth), 50)
    with pytest.raises(Infeasible, match="net of radius") as caught:
        EMPGM(lambda_=1e-6, k=2.0).schedule(problem(HeavyMean(D=0.4, theta=0.0)), 5)
    EMPGM(lambda_=1e-6, k=2.0).schedule(problem(HeavyMean(D=0.4, theta=0.0)), caught.value.smallest_n)
    with pytest.raises(Infeasible, match="points"):
        EMPGM(eta=1e-7).schedule(problem(smooth), 50)
    with pytest.raises(InvalidInput):
        SmoothedEMPGM(gamma_rule="guess").schedule(problem(rough), 50)
    with pytest.raises(InvalidInput):
        SmoothedEMPGM(tau=-1.0).schedule(problem(rough), 50)
    with pytest.raises(InvalidInput):
        net(rough, 0.0)


def test_dialled_noise_is_not_claimed():
    schedule = EMPGM(noise_dial=0.1).schedule(problem(HeavyMean(D=3.0)), 50)
    assert schedule.claimed is None
    assert account(schedule).epsilon(0.0) == pytest.approx(10.0)


def test_atoms_and_rows_give_one_score():
    work = RareSpikes(D=2.0, p=0.2)
    rows = work.rows(np.random.default_rng(14), 1, 30)
    values, counts = np.unique(rows[0, :, 0], return_counts=True)
    atoms = Sample(values[None, :, None], counts[None].astype(float))
    algorithm = EMPGM(eta=0.05, gamma=1.0)
    (stage,) = algorithm.schedule(problem(work), 30).phases
    args = (work, np.zeros((1, 1)), stage, np.ones((1, 1, 1)))
    points = net(work, 0.05)
    first = algorithm.mapping(points, args[0], Sample(rows, np.ones((1, 30))), *args[1:])
    assert np.allclose(first, algorithm.mapping(points, args[0], atoms, *args[1:]), atol=1e-12)
    assert math.isclose(counts.sum(), 30)
