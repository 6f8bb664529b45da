"""Exact compositions against closed forms and against quadrature; slack; verdicts; sampled losses."""

import itertools
import math

import numpy as np
import pytest
from harness_toys import (
    Halting,
    Mean,
    Nested,
    NoisyDescent,
    NoisyMean,
    Selection,
    Subsampled,
    Tree,
    UserMean,
    problem,
)
from scipy import integrate, stats

from dpcheck.errors import InvalidInput
from dpcheck.harness import privacy
from dpcheck.harness.losses import ComposedLoss, compose, of_replay, symmetric
from dpcheck.harness.replay import Case, replay
from dpcheck.interfaces import Read, Release, Schedule
from dpcheck.laws import AboveThreshold, Exponential, Gaussian, GeneralizedGaussian, IsotropicLaplace, Laplace, NoisyMin
from dpcheck.privacy import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP, gaussian_delta
from dpcheck.verdicts import Outcome


def schedule(*laws, count=1):
    releases = tuple(
        Release(name=f"r{i}", law=law, reads=(Read(start=0, stop=4, sensitivity=1.0),), count=count)
        for i, law in enumerate(laws)
    )
    return Schedule(phases=(), releases=releases, gradients=0, floats_per_trial=1, claimed=None)


def composed(*laws, distance=1.0, count=1):
    planned = schedule(*laws, count=count)
    return compose(planned, {release.name: distance for release in planned.releases})


def pair(n, place=0, old=-1.0, new=1.0, d=1, rest=0.3):
    data = np.full((1, n, d), rest)
    data[0, place] = old
    neighbour = data.copy()
    neighbour[0, place] = new
    return data, neighbour


# Composition ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
def test_gaussians_compose_in_closed_form(epsilon):
    low, high = composed(Gaussian(2.0), Gaussian(0.7), count=3).delta(epsilon)
    assert low == high == gaussian_delta(math.sqrt(3 / 4 + 3 / 0.49), epsilon)


def test_one_release_keeps_its_own_curve():
    law = Laplace(2.0)
    one = composed(law)
    assert one.delta(0.2) == (law.delta(0.2, 1.0),) * 2
    assert one.pure == (0.5, 0.5)
    assert one.delta(0.5) == (0.0, 0.0)
    assert one.epsilon(0.0) == (0.5, 0.5)


def laplace_loss_delta(shifts, epsilon):
    """delta of two independent Laplace shifts by quadrature over the first loss."""
    one, two = shifts
    law = Laplace(1.0)

    def loss(x):
        return abs(x - one) - abs(x)

    def inner(x):
        # E over the second of (1 - e^(eps - l1 - l2))_+ is its own hockey stick at eps - l1.
        return stats.laplace.pdf(x) * law.delta(epsilon - loss(x), two)

    cuts = [-40.0, 0.0, one, 40.0]
    kinks = [x for x in ((one - epsilon + two) / 2, (one - epsilon - two) / 2) if 0 < x < one]
    edges = sorted(cuts + kinks)
    return sum(integrate.quad(inner, a, b, epsabs=1e-13)[0] for a, b in itertools.pairwise(edges))


@pytest.mark.parametrize(("one", "two"), [(1.0, 1.0), (0.7, 0.2)])
@pytest.mark.parametrize("epsilon", [0.0, 0.25, 0.6])
def test_two_laplace_releases_match_quadrature(one, two, epsilon):
    parts = [symmetric(lambda e, t=t: Laplace(1.0).delta(e, t), t, True, (t, "")) for t in (one, two)]
    low, high = ComposedLoss(0.0, parts).delta(epsilon)
    exact = laplace_loss_delta((one, two), epsilon)
    assert low <= exact + 1e-12
    assert high >= exact - 1e-12
    assert high - low < 5e-4


def test_laplace_with_gaussian_matches_quadrature():
    parts = [symmetric(lambda e: Laplace(1.0).delta(e, 0.8), 0.8, True, ("laplace", ""))]
    mixed = ComposedLoss(0.5, parts)

    def inner(x):
        # Integrate over the Gaussian's loss, N(mu^2/2, mu^2).
        return stats.norm.pdf(x) * Laplace(1.0).delta(0.7 - (0.125 + 0.5 * x), 0.8)

    exact = sum(integrate.quad(inner, a, b, epsabs=1e-13)[0] for a, b in ((-12, -0.45), (-0.45, 2.75), (2.75, 12)))
    low, high = mixed.delta(0.7)
    assert low <= exact + 1e-12
    assert high >= exact - 1e-12
    assert high - low < 1e-3
    assert mixed.pure == (math.inf, math.inf)


def test_many_releases_stay_between_their_bounds_and_agree_with_gaussian_limits():
    # 200 Laplace releases at t = 0.05: close to GDP with mu^2 = 200 t^2; both bounds must bracket one truth.
    low, high = composed(Laplace(20.0), count=200).epsilon(1e-5)
    assert low < high < 10.0
    assert high - low < 0.05
    rough = GaussianDP(math.sqrt(200) * 0.05).epsilon_at(1e-5)
    assert abs(high - rough) < 0.25


def test_a_published_composition():
    # 100 uses of Laplace noise at epsilon 0.1, delta 1e-5: 4.2204 by an independent accountant's loss distribution.
    low, high = composed(Laplace(10.0), count=100).epsilon(1e-5)
    assert low < high == pytest.approx(4.2204, abs=2e-3)
    assert high - low < 5e-3


def test_isotropic_noise_uses_its_dimension():
    flat = replay(UserMean(), Mean(d=3), problem(d=3), *users_pair(3), 4, 0)
    exact = of_replay(flat)
    law = IsotropicLaplace(scale=2 * math.sqrt(3) / 6, d=3)
    assert exact.delta(0.4)[1] == pytest.approx(law.delta(0.4, 2 * math.sqrt(3) / 6), abs=1e-9)
    assert exact.delta(0.4)[1] < Laplace(1.0).delta(0.4, 1.0)
    twice = ComposedLoss(0.0, [*exact.parts, *exact.parts])
    low, high = twice.delta(0.5)
    assert 0 < low < high < low + 2e-3
    assert high < 2 * law.delta(0.25, 2 * math.sqrt(3) / 6)


def users_pair(d):
    data = np.full((1, 6, 2, d), 0.1)
    data[0, 2] = -1.0
    neighbour = data.copy()
    neighbour[0, 2] = 1.0
    return data, neighbour


def test_selections_compose_by_their_pmf():
    seen = replay(Selection(), Mean(), problem(), *pair(6), 3, 0)
    exact = of_replay(seen)
    law = seen.movements[0].release.law
    p, q = (law.probabilities(core[:1])[0] for core in (seen.movements[0].core, seen.movements[0].other))
    forth = max(float(np.maximum(0, a - math.exp(0.3) * b).sum()) for a, b in ((p, q), (q, p)))
    assert exact.delta(0.3) == pytest.approx((forth, forth))
    assert exact.pure[1] == pytest.approx(float(np.abs(np.log(p / q)).max()))
    twice = ComposedLoss(0.0, [*exact.parts, *exact.parts])
    pp, qq = np.outer(p, p).ravel(), np.outer(q, q).ravel()
    truth = max(float(np.maximum(0, a - math.exp(0.5) * b).sum()) for a, b in ((pp, qq), (qq, pp)))
    low, high = twice.delta(0.5)
    assert low <= truth + 1e-12
    assert truth - 1e-12 <= high < low + 1e-3


def test_upper_bounds_stay_upper_bounds_without_an_attained_pair():
    # Generalised Gaussian (through zCDP, not convex) and noisy min (randomised response) add nothing from below.
    for law in (GeneralizedGaussian(3.0, r=4.0), NoisyMin(8.0), Exponential(0.1), IsotropicLaplace(4.0)):
        low, high = composed(law, Laplace(3.0)).delta(0.2)
        alone = Laplace(3.0).delta(0.2, 1.0)
        assert low == pytest.approx(alone, abs=1e-3)
        assert high > alone


def test_a_threshold_test_is_charged_once_for_all_its_queries():
    law = AboveThreshold(threshold=4.0, query=8.0)
    assert composed(law, count=50).pure[1] == pytest.approx(law.pure(1.0))
    several = compose(schedule(law, count=3), {"r0": [0.5, 1.0, 0.0]})
    assert several.pure[1] == pytest.approx(law.pure(1.0))


def test_nested_and_tree_schedules_compose_by_distance():
    nested = replay(Nested(), Mean(), problem(), *pair(8, place=5), 3, 0)
    assert of_replay(nested).pure == pytest.approx((1.0, 1.0))
    tree = replay(Tree(), Mean(), problem(), *pair(8, place=5), 3, 0)
    assert of_replay(tree).pure == pytest.approx((1.5, 1.5))


def test_history_and_leaks_are_refused():
    history = replay(NoisyDescent(clip=0.5), Mean(), problem(), *pair(8, old=0.0), 6, 0)
    with pytest.raises(InvalidInput, match=r"privacy\.losses"):
        of_replay(history)
    with pytest.raises(InvalidInput, match="infinite"):
        of_replay(replay(NoisyMean(bare=True), Mean(), problem(), *pair(8), 4, 0))
    with pytest.raises(InvalidInput, match="no release 'x'"):
        compose(schedule(Laplace(1.0)), {"x": 1.0})
    with pytest.raises(InvalidInput, match="delta must lie"):
        composed(Laplace(1.0)).epsilon(1.5)


# Slack and verdicts -------------------------------------------------------------------------------------------------


def test_the_slack_table_sets_claimed_next_to_realised():
    planned = NoisyMean(claim=6.0).schedule(problem(), 8)
    (row,) = privacy.slack(planned, replay(NoisyMean(claim=6.0), Mean(), problem(), *pair(8), 2, 0).distances())
    assert (row.epsilon_claimed, row.epsilon_realised) == pytest.approx((1.0, 1 / 3))
    assert row.ratio == pytest.approx(1 / 3)
    descent = privacy.slack(NoisyDescent(steps=4).schedule(problem(), 8), {"gradient": 0.1})
    assert descent[0].epsilon_realised == math.inf
    assert descent[0].rho_realised == pytest.approx(4 * 0.01 / (2 * 0.01))
    halting = privacy.slack(Halting().schedule(problem(), 9), {"bits": [0.0, 2 / 3, 0.0]})
    assert halting[0].epsilon_realised == pytest.approx(halting[0].epsilon_claimed) == pytest.approx(0.5)
    assert halting[1].ratio == 0


def test_pure_claims():
    exact = of_replay(replay(NoisyMean(), Mean(), problem(), *pair(8), 2, 0))
    assert privacy.judge(exact, PureDP(1.0), covers="worst pair of the clipped mean").outcome is Outcome.HOLDS
    assert privacy.judge(exact, PureDP(1.0)).outcome is Outcome.CONSISTENT
    assert "other pairs" in privacy.judge(exact, PureDP(1.0)).reason
    assert privacy.judge(exact, PureDP(0.99)).outcome is Outcome.REFUTED


def test_approximate_claims_and_straddling_gaps():
    both = composed(Laplace(1.0), Laplace(1.0))
    low, high = both.delta(1.0)
    covers = {"covers": "distances are sensitivities"}
    assert privacy.judge(both, ApproxDP(1.0, high * 1.01), **covers).outcome is Outcome.HOLDS
    assert privacy.judge(both, ApproxDP(1.0, low * 0.99), **covers).outcome is Outcome.REFUTED
    assert privacy.judge(both, ApproxDP(1.0, (low + high) / 2), **covers).outcome is Outcome.UNDECIDED


def test_curve_claims():
    gaussian = composed(Gaussian(2.0))
    covers = {"covers": "distances are sensitivities"}
    assert privacy.judge(gaussian, GaussianDP(0.5), **covers).outcome is Outcome.HOLDS
    assert privacy.judge(gaussian, GaussianDP(0.49), **covers).outcome is Outcome.REFUTED
    assert privacy.judge(gaussian, ZCDP(0.125), rho=0.125, **covers).outcome is Outcome.HOLDS
    assert privacy.judge(gaussian, ZCDP(0.125), **covers).outcome is Outcome.UNDECIDED
    assert privacy.judge(gaussian, ZCDP(0.005), rho=0.125, **covers).outcome is Outcome.REFUTED
    assert privacy.judge(gaussian, RenyiDP(4.0, 0.5), rho=0.125, **covers).outcome is Outcome.HOLDS
    laplace = composed(Laplace(1.0))
    assert privacy.judge(laplace, GaussianDP(3.0), **covers).outcome is Outcome.UNDECIDED
    assert privacy.judge(laplace, GaussianDP(0.5), **covers).outcome is Outcome.REFUTED


# Sampled losses of cores that depend on the history -------------------------------------------------------------------


CLIPPED = {"sigma": 0.25, "clip": 0.5, "steps": 4}


def sampled(trials=4000, **fields):
    case = Case(NoisyDescent(**(CLIPPED | fields)), Mean(), problem())
    data, neighbour = pair(8, old=0.0)
    return [privacy.losses(case, *both, trials, 7) for both in ((data, neighbour), (neighbour, data))]


def test_losses_estimate_the_exact_delta():
    # Unclipped: GDP with mu = sqrt(4) (1 / 8) / 0.25 = 1; (old, new) = (0, 1) moves the mean by 1/8.
    exact = gaussian_delta(1.0, 0.5)
    for one in sampled(20_000, clip=None):
        values = one.delta(0.5)
        # Five standard errors: fails with probability below 1e-6 each.
        assert abs(values.mean() - exact) < 5 * values.std() / math.sqrt(len(values))
        assert abs(one.epsilon_hat(exact) - 0.5) < 0.1
        assert not one.coins


def test_true_claims_survive_and_false_ones_fall():
    losses = sampled()
    # The clipped steps are at most mu = sqrt(4) (2 0.5 / 8) / 0.25 = 1 GDP whatever the history.
    assert privacy.judge_losses(losses, ApproxDP(0.5, gaussian_delta(1.0, 0.5)), 1e-6).outcome is Outcome.UNDECIDED
    answer = privacy.judge_losses(losses, ApproxDP(0.5, 1e-3), 1e-6)
    assert answer.outcome is Outcome.REFUTED
    assert answer.evidence == "sampled"
    pure = privacy.judge_losses(losses, PureDP(2.0), 1e-6)
    assert pure.outcome is Outcome.REFUTED
    assert pure.evidence == "exact"
    with pytest.raises(InvalidInput, match="with one"):
        privacy.judge_losses(losses, GaussianDP(1.0), 1e-6)


def test_the_refutation_of_a_tight_claim_errs_as_rarely_as_it_says():
    # At equality the betting test may refute with probability at most 5 %: of 200 independent looks, more than 22 have
    # probability below 1e-4 then. It is not idle either: see the power test above.
    case = Case(NoisyDescent(**(CLIPPED | {"clip": None})), Mean(), problem())
    exact = ApproxDP(0.5, gaussian_delta(1.0, 0.5))
    data, neighbour = pair(8, old=0.0)
    false = 0
    for look in range(200):
        one = privacy.losses(case, data, neighbour, 500, 7, look)
        false += privacy.judge_losses([one], exact, 0.05).outcome is Outcome.REFUTED
    assert false <= 22


def test_coins_make_losses_an_upper_bound():
    case = Case(Subsampled(), Mean(), problem())
    one = privacy.losses(case, *pair(12), 500, 0)
    assert one.coins
    # Given the coins the record is in the batch: epsilon = 1 at most, though the mechanism is more private than that.
    answer = privacy.judge_losses([one], PureDP(0.5), 1e-6)
    assert answer.outcome is Outcome.UNDECIDED
    assert answer.numbers["largest loss"] == pytest.approx(1.0)
    assert "given the coins" in answer.reason


def test_leaks_have_infinite_loss():
    case = Case(NoisyDescent(last_bare=True), Mean(), problem())
    answer = privacy.judge_losses([privacy.losses(case, *pair(8), 10, 0)], ApproxDP(1.0, 0.1), 1e-6)
    assert answer.outcome is Outcome.REFUTED
    assert answer.evidence == "exact"
    stopped = Case(NoisyMean(stop=True), Mean(), problem())
    answer = privacy.judge_losses([privacy.losses(stopped, *pair(8, old=0.5, new=-0.5), 10, 0)], PureDP(1.0), 1e-6)
    assert "decided when to stop" in answer.reason
