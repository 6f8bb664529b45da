"""`dp.plan_audit`: simulated audits have the promised power, with half the runs not; its event against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from curtailed import at_least, at_most

import dpcheck as dp
from dpcheck.recorded import planning

ZERO, ONE = np.zeros(1), np.ones(1)
ALPHA = 0.05


def response(epsilon):
    right = 1 / (1 + math.exp(-epsilon))
    return lambda data, rng, trials: np.where(rng.random(trials) < right, data.sum(), 1 - data.sum())


def laplace(epsilon):
    return lambda data, rng, trials: data.sum() + rng.laplace(scale=1 / epsilon, size=trials)


def gaussian(epsilon, delta):
    mu = planning._gaussian_mu(epsilon, delta)
    return lambda data, rng, trials: mu * data.sum() + rng.normal(size=trials)


def refuted(mechanism, claim, trials):
    """Whether the audit with a seed refutes the claim."""
    runs = math.ceil(trials)
    return lambda seed: dp.audit(mechanism, ZERO, ONE, claim, trials=runs, seed=seed).outcome.value == "refuted"


CASES = [
    (dp.PureDP(1.0), 2.0, laplace(2.0), 1),
    (dp.PureDP(1.0), 1.3, laplace(1.3), 1),
    (dp.PureDP(0.2), 0.5, laplace(0.5), 1),
    (dp.PureDP(1.0), 1.3, response(1.3), 0),
    (dp.ApproxDP(0.5, 1e-3), 1.2, gaussian(1.2, 1e-3), 1),
    (dp.ApproxDP(1.0, 1e-5), 1.5, response(1.5), 0),
]


NAMES = ["laplace-2", "laplace-1.3", "laplace-0.5", "response-1.3", "gaussian-1.2", "response-1.5"]


def uneven(epsilon):
    """Noise of half the slope below 0: one output in five tells epsilon, and only of one input."""

    def run(data, rng, trials):
        above = rng.random(trials) < 1 / 3
        return data.sum() + np.where(above, rng.exponential(1 / epsilon, trials), -rng.exponential(2 / epsilon, trials))

    return run


@pytest.mark.parametrize(("claim", "epsilon", "mechanism", "law"), CASES, ids=NAMES)
def test_within_a_factor_two(claim, epsilon, mechanism, law):
    """With as many runs 95 % are refuted: of 30 fewer than 25 have probability 3e-3. With a quarter not all of 30."""
    needed = dp.plan_audit(claim, epsilon).needed[law].trials
    assert at_least(25, 30, refuted(mechanism, claim, needed))
    assert at_most(29, 30, refuted(mechanism, claim, max(50, needed / 4)))


def test_the_promised_power_is_reached_by_laplace_noise():
    """At 95 % fewer than 110 of 120 have probability 0.04; at the 83 % of half the runs more than 113 have 2e-4."""
    claim, epsilon = dp.PureDP(1.0), 1.5
    needed = dp.plan_audit(claim, epsilon).needed[1].trials
    assert at_least(110, 120, refuted(laplace(epsilon), claim, needed))
    assert at_most(113, 120, refuted(laplace(epsilon), claim, needed / 2))


def test_the_promised_power_is_reached_by_what_a_pilot_saw():
    """Of an uneven mechanism, on a private version of it: known events take a third as many as an audit that learns."""
    claim, epsilon = dp.PureDP(1.0), 1.5
    needed = dp.plan_audit(claim, epsilon, pilot=(uneven(1.0), ZERO, ONE)).needed[-1]
    assert needed.guessed < 0.3
    assert at_least(110, 120, refuted(uneven(epsilon), claim, needed.trials))
    assert at_most(99, 120, refuted(uneven(epsilon), claim, needed.alone))


@pytest.mark.parametrize(("claim", "epsilon", "mechanism", "law"), CASES[1:2], ids=NAMES[1:2])
def test_must_detect_holds_with_as_many_trials(claim, epsilon, mechanism, law):
    """What the audit of a private mechanism says that it would have detected, with as many runs and a tenth."""
    trials = dp.plan_audit(claim, epsilon).needed[law].trials
    private = laplace(claim.epsilon)
    reach = {
        factor: np.median(
            [
                dp.audit(private, ZERO, ONE, claim, trials=math.ceil(factor * trials), seed=s).detectable_epsilon
                for s in range(8)
            ]
        )
        for factor in (0.1, 1)
    }
    assert reach[1] <= epsilon < reach[0.1]


def test_the_number_for_a_known_event_is_exact():
    """Randomised response: power of the exact binomial test at that number of trials, and not at 5 % fewer."""
    claim, epsilon = dp.PureDP(1.0), 1.3
    trials = 2 * dp.plan_audit(claim, epsilon).needed[0].alone
    level, null, truth = 0.98 * ALPHA, 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-epsilon))

    def power(n):
        critical = scipy.stats.binom.isf(level, n, null) + 1
        return scipy.stats.binom.sf(critical - 1, n, truth)

    assert power(trials) >= 0.945
    assert power(round(0.95 * trials)) < 0.95


def test_laws_have_the_privacy_that_they_are_said_to_have():
    for epsilon, delta in ((0.5, 1e-3), (1.5, 1e-5)):
        assert dp.GaussianDP(planning._gaussian_mu(epsilon, delta)).delta_at(epsilon) == pytest.approx(delta, rel=1e-6)
    for _, right, wrong in planning._laws(1.3, 0.0)["Laplace noise"]:
        assert right <= math.exp(1.3) * wrong * (1 + 1e-12)
    for law in planning._laws(1.3, 1e-4).values():
        assert all(right <= math.exp(1.3) * wrong + 1e-4 * (1 + 1e-6) for _, right, wrong in law)


def test_more_is_needed_for_less():
    trials = [dp.plan_audit(dp.PureDP(1.0), epsilon).trials for epsilon in (1.1, 1.3, 2.0)]
    assert trials == sorted(trials, reverse=True)
    plan = dp.plan_audit(dp.PureDP(1.0), 1.3)
    assert plan.fewest <= min(one.alone for one in plan.needed)
    assert plan.trials == max(one.trials for one in plan.needed)
    assert dp.plan_audit(dp.PureDP(1.0), 1.3, failure_probability=1e-3).trials > plan.trials


def test_a_pilot_says_how_long_it_takes():
    plan = dp.plan_audit(dp.PureDP(1.0), 1.3, pilot=(laplace(1.0), ZERO, ONE))
    assert plan.needed[-1].law.startswith("pilot of ")
    assert 0.4 < plan.needed[-1].guessed <= 1
    assert plan.seconds > 0
    assert "by the pilot" in str(plan)
    assert plan.to_dict()["claim"] == "1-DP"


@pytest.mark.parametrize(
    ("claim", "epsilon", "options", "says"),
    [
        (dp.PureDP(1.0), 0.9, {}, "must_detect must be a true epsilon above the claimed 1, got 0.9"),
        (dp.PureDP(1.0), math.inf, {}, "must_detect must be a true epsilon above the claimed 1, got inf"),
        (dp.PureDP(1.0), math.nan, {}, "must_detect must be a true epsilon above the claimed 1, got nan"),
        (dp.PureDP(1.0), 1.00001, {}, "no number of runs up to 1,000,000,000 on each input refutes 1-DP"),
        (dp.GaussianDP(1.0), 2.0, {}, "a plan is for one point of the claim"),
        (dp.PureDP(1.0), 1.3, {"power": 0.01}, "power must lie between the failure probability and 1"),
        (dp.PureDP(1.0), 1.3, {"failure_probability": 0}, "failure_probability must lie in (0, 1)"),
    ],
)
def test_refusals(claim, epsilon, options, says):
    with pytest.raises(dp.InvalidInput) as caught:
        dp.plan_audit(claim, epsilon, **options)
    assert says in str(caught.value)
