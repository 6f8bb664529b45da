"""Risk with constants and probability claims: coverage on nulls (heavy tails too), power, and what the answers say."""

import json
import math

import numpy as np
import pytest
from harness_toys import Mean, NoisyDescent, NoisyMean, problem

from dpcheck.errors import InvalidInput
from dpcheck.harness import accuracy, risk
from dpcheck.verdicts import Outcome, Verdict, Witness, combine

HOLDS, REFUTED, UNDECIDED = Outcome.HOLDS, Outcome.REFUTED, Outcome.UNDECIDED

# name -> (sampler of (trials,) values with mean 1, variance or None)
LAWS = {
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "lognormal": (lambda rng, n: np.exp(1.5 * rng.standard_normal(n) - 1.125), math.exp(2.25) - 1),
    "pareto 2.1": (lambda rng, n: (rng.pareto(2.1, n) + 1) * 1.1 / 2.1, None),
    "pareto 1.5": (lambda rng, n: (rng.pareto(1.5, n) + 1) / 3, None),
}


def outcomes(name, bound, repeats, trials, alpha=0.05, **fields):
    draw, _ = LAWS[name]
    found = []
    for repeat in range(repeats):
        values = draw(np.random.default_rng([17, repeat]), trials)
        extra = {key: value(values) if callable(value) else value for key, value in fields.items()}
        found.append(risk.expectation(values, bound, alpha, seed=repeat, **extra).outcome)
    return found


# Expectations ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_a_true_bound_is_rarely_refuted(name):
    # At equality each of 200 runs may refute with probability 5 %; more than 22 of them: below 1e-4.
    assert outcomes(name, 1.0, 200, 400).count(REFUTED) <= 22


@pytest.mark.parametrize("name", LAWS)
def test_a_false_bound_is_refuted(name):
    # Mean 1.6 times the bound: measured power above 0.9 at 2,000 trials; below 70 % of 40 has probability under 1e-4.
    assert outcomes(name, 1 / 1.6, 40, 2000).count(REFUTED) >= 28


def test_the_refutation_is_not_idle_at_the_null():
    # Not absurdly below its level: the betting test errs in 1 to 5 % of runs at equality (measured 2.2 % here), so no
    # error in 400 runs has probability below 2e-2 for any rate above 1 %, and the seed is fixed.
    assert outcomes("exponential", 1.0, 400, 1000).count(REFUTED) >= 2


@pytest.mark.parametrize("name", ["exponential", "lognormal"])
def test_catoni_holds_rarely_on_false_bounds(name):
    # The bound lies 0.1 % below the mean: HOLDS is wrong, at most 5 % of the time.
    assert outcomes(name, 0.999, 200, 400, variance=LAWS[name][1]).count(HOLDS) <= 22
    assert outcomes(name, 2.5, 20, 2000, variance=LAWS[name][1]).count(HOLDS) == 20


def test_a_known_limit_holds_rarely_on_false_bounds():
    # R in {0, 4}, mean 1.
    rare = power = 0
    for repeat in range(300):
        rng = np.random.default_rng([18, repeat])
        values = 4.0 * (rng.random(500) < 0.25)
        rare += risk.expectation(values, 0.999, 0.05, limit=4.0).outcome is HOLDS
        power += risk.expectation(values, 1.4, 0.05, limit=4.0).outcome is HOLDS
    assert rare <= 30  # 5 % of 300 allowed; more than 30 has probability below 1e-4
    assert rare >= 1  # and it is not idle
    assert power > 250


@pytest.mark.parametrize("name", LAWS)
def test_data_alone_misses_as_often_as_its_page_says(name):
    # Nominal 5 % under the assumption that a block mean falls short at most 3 times in 4; measured 0 to 3 %.
    # 60 runs at 5 %: more than 10 has probability below 2e-4.
    assert outcomes(name, 0.999, 60, 2000).count(HOLDS) <= 10


def test_data_alone_has_power_for_light_tails_and_needs_many_trials():
    assert outcomes("exponential", 1.5, 8, 4000).count(HOLDS) == 8
    values = LAWS["exponential"][0](np.random.default_rng(0), 500)
    answer = risk.expectation(values, 2.0, 0.05)
    assert answer.outcome is UNDECIDED
    assert "takes 2,000 trials" in answer.numbers["rule"]


def test_block_means_fall_short_as_often_as_assumed():
    # The assumption behind "data alone": P(block mean < mean) <= 3/4, at 43 values a block (2,000 trials, 46 blocks).
    for name, (draw, _) in LAWS.items():
        values = draw(np.random.default_rng(3), 43 * 20_000).reshape(-1, 43)
        # Three standard errors below the assumption, so that it holds beyond this sample.
        assert (values.mean(axis=1) < 1).mean() < risk.SHORT - 0.01, name


@pytest.mark.parametrize("bound", [1.0, 2.0])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_no_measurement_meets_a_vacuous_bound(bound, value):
    values = np.full(30_000, value)
    for answer in (
        risk.expectation(values, bound, 1e-6, limit=1.0),
        risk.high_probability(values, bound, 0.1, 1e-6, limit=1.0),
    ):
        assert answer.outcome is UNDECIDED
        assert answer.vacuous
        assert f"the bound {bound:.4g} is vacuous at this size: no excess risk exceeds 1" in answer.reason


def test_bounds_below_the_limit_hold_and_are_refuted():
    for judge in (
        lambda values: risk.expectation(values, 0.9, 1e-6, limit=1.0),
        lambda values: risk.high_probability(values, 0.9, 0.1, 1e-6, limit=1.0),
    ):
        assert judge(np.zeros(3000)).outcome is HOLDS
        assert judge(np.ones(3000)).outcome is REFUTED
        assert not judge(np.zeros(2)).vacuous  # too few trials are another matter


def test_vacuous_cells_do_not_count_beside_others():
    vacuous = risk.expectation(np.zeros(3000), 1.0, 1e-6, limit=1.0)
    telling = risk.expectation(np.zeros(3000), 0.5, 1e-6, limit=1.0)
    broken = risk.expectation(np.ones(3000), 0.5, 1e-6, limit=1.0)
    short = risk.expectation(np.zeros(2), 0.5, 1e-6, limit=1.0)
    found = combine([vacuous, telling, vacuous])
    assert found.outcome is HOLDS
    assert "1 of 1 cell; vacuous in the other 2" in found.reason
    assert combine([vacuous, broken, telling]).outcome is REFUTED
    assert combine([vacuous, short, telling]).outcome is UNDECIDED
    assert combine([vacuous, vacuous]).vacuous
    assert combine([combine([vacuous, vacuous]), telling]).outcome is HOLDS


def test_points_carry_the_bound():
    answer = risk.expectation(np.full(10, 0.5), 1.0, 0.01, limit=1.0, x=128.0, series="k = 2")
    (point,) = answer.points
    assert (point.x, point.value, point.bound, point.series) == (128.0, 0.5, 1.0, "k = 2")
    assert answer.axes == ("n", "excess risk")
    assert Verdict.from_dict(json.loads(json.dumps(answer.to_dict()))).reason == answer.reason


@pytest.mark.parametrize(
    ("values", "match"),
    [([[0.1]], "one-dimensional"), ([0.1], "at least 2"), ([0.1, math.inf], "finite"), ([0.1, -0.5], "negative")],
)
def test_bad_risks_are_refused(values, match):
    with pytest.raises(InvalidInput, match=match):
        risk.expectation(np.array(values), 1.0, 0.05)


def test_a_limit_that_is_none_is_an_error():
    with pytest.raises(InvalidInput, match="above the limit"):
        risk.expectation(np.array([0.1, 3.0]), 1.0, 0.05, limit=2.0)


# High probability -----------------------------------------------------------------------------------------------------


def test_exceedances_cover_and_have_power():
    # True exceedance 10 %. Claim 10.1 %: true; claim 9.9 %: false; 15 %: far; each wrong at most 5 %.
    wrong_refutation = wrong_hold = power_hold = power_refute = 0
    for repeat in range(400):
        values = np.random.default_rng([19, repeat]).random(1000)
        wrong_refutation += risk.high_probability(values, 0.9, 0.101, 0.05).outcome is REFUTED
        wrong_hold += risk.high_probability(values, 0.9, 0.0999, 0.05).outcome is HOLDS
        power_hold += risk.high_probability(values, 0.9, 0.15, 0.05).outcome is HOLDS
        power_refute += risk.high_probability(values, 0.9, 0.05, 0.05).outcome is REFUTED
    assert 4 <= wrong_hold <= 37  # 5 % of 400 is 20; outside of [4, 37] has probability below 1e-3
    assert wrong_refutation <= 37
    assert power_hold > 390
    assert power_refute > 390


def test_too_few_trials_say_so():
    answer = risk.high_probability(np.zeros(20), 1.0, 0.05, 1e-6)
    assert answer.outcome is UNDECIDED
    assert "at least 270 trials" in answer.reason
    assert risk.high_probability(np.zeros(270), 1.0, 0.05, 1e-6).outcome is HOLDS


def test_infinite_risk_is_an_exceedance():
    assert risk.high_probability(np.array([np.inf] * 50), 1.0, 0.05, 1e-6).outcome is REFUTED
    with pytest.raises(InvalidInput, match="beta"):
        risk.high_probability(np.zeros(5), 1.0, 1.0, 0.05)


# Runs -----------------------------------------------------------------------------------------------------------------


def test_excess_risks_are_those_of_the_mechanism():
    # w = clip(mean + Laplace(2 / n)) with n = 50: E |w - mean|^2 / 2 is close to (1 / n + 8 / n^2) / 2.
    n, trials = 50, 20_000
    values = risk.excess_risks(NoisyMean(), Mean(mean=0.2), problem(), n, trials, 0, "toy")
    expected = ((1 - 0.04) / n + 8 / n**2) / 2
    assert abs(values.mean() - expected) < 6 * values.std() / math.sqrt(trials)  # fails with probability 2e-9
    again = risk.excess_risks(NoisyMean(), Mean(mean=0.2), problem(), n, trials, 0, "toy")
    np.testing.assert_array_equal(values, again)
    assert risk.expectation(values, 1.4 * expected, 1e-6, limit=2.0).outcome is HOLDS
    assert risk.expectation(values, 0.8 * expected, 1e-6, limit=2.0).outcome is REFUTED


def test_over_noising_is_caught_by_risk_not_by_privacy():
    planned = NoisyMean().schedule(problem(), 50)
    noisy = planned.edit("mean", law=lambda law: type(law)(scale=10 * law.scale))
    values = risk.excess_risks(NoisyMean(), Mean(), problem(), 50, 2000, 0, schedule=noisy)
    assert risk.expectation(values, 1.5 * (1 / 50 + 8 / 2500) / 2, 1e-6, limit=2.0).outcome is REFUTED


def test_a_run_that_is_too_long_is_refused():
    with pytest.raises(InvalidInput, match=r"take 4e\+11 gradients"):
        risk.excess_risks(NoisyDescent(steps=4), Mean(), problem(), 10**6, 10**5, 0)


def test_summaries():
    values = np.random.default_rng(0).exponential(size=4000)
    found = risk.summary(values, 2.0)
    assert found["se"] == pytest.approx(values.std(ddof=1) / math.sqrt(4000))
    quantile = risk.quantile_summary(values, 0.9, 2.0)
    # The standard error of the 0.9-quantile of Exp(1) is sqrt(0.09 / 4000) / 0.1 = 0.047.
    assert quantile["se"] == pytest.approx(0.047, rel=0.3)
    assert abs(quantile["mean"] - math.log(10)) < 0.25
    with pytest.raises(InvalidInput, match="too few"):
        risk.quantile_summary(values[:15], 0.99, 2.0)


# Accuracy of lemmas ---------------------------------------------------------------------------------------------------


def test_drawn_instances_never_prove():
    x = np.random.default_rng(0).random(10_000)
    answer = accuracy.never_violated(x**2, x, statement="x^2 <= x on [0, 1]")
    assert answer.outcome is Outcome.CONSISTENT
    assert "10,000 instances" in answer.reason
    assert answer.numbers["visible frequency"] == pytest.approx(1.45e-3, rel=0.01)  # 1 - (5e-7)^(1/10,000)


def test_enumerations_prove():
    signs = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1).T
    answer = accuracy.never_violated(
        np.linalg.norm(signs, axis=1), signs.shape[1], statement="|s| <= 6", covers="all 2^6 sign patterns"
    )
    assert answer.outcome is HOLDS
    assert answer.evidence == "exact"
    assert "all 64 instances" in answer.reason


def test_one_violation_refutes_and_rounding_does_not():
    left = np.array([1.0, 2.0, 3.0])
    assert accuracy.never_violated(left, [1.0, 1.9, 3.0]).outcome is REFUTED
    assert accuracy.never_violated(left, left * (1 - 1e-9), covers="all three").outcome is HOLDS
    assert accuracy.never_violated([1.0], [math.inf], covers="one").outcome is HOLDS
    assert accuracy.never_violated([0.0, -2.0], [0.0, -1.0], covers="two").outcome is HOLDS
    assert accuracy.never_violated([-1.0], [-2.0], covers="one").outcome is REFUTED
    with pytest.raises(InvalidInput, match="NaN"):
        accuracy.never_violated([np.nan], [1.0])


def test_a_witness_must_verify():
    fake = Witness(label="toy/lem-1", kind="no.such", parameters={}, claimed="1", found="2")
    answer = accuracy.never_violated([2.0], [1.0], witness=lambda index: fake)
    assert answer.outcome is Outcome.DIFFERS
    assert "its witness fails" in answer.reason


def test_the_power_of_drawn_instances_is_as_stated():
    # Violations of twice the visible frequency show with probability 1 - (1e-2)^2 and more.
    visible = accuracy.never_violated(np.zeros(500), 1.0, failure_probability=0.01).numbers["visible frequency"]
    shown = 0
    for repeat in range(300):
        left = 2.0 * (np.random.default_rng([20, repeat]).random(500) < visible)
        shown += accuracy.never_violated(left, 1.0, failure_probability=0.01).outcome is REFUTED
    # 99 % expected; below 288 of 300 has probability below 1e-4.
    assert shown >= 288


@pytest.mark.parametrize(("relation", "true", "false"), [(">=", 0.299, 0.301), ("<=", 0.301, 0.299)])
def test_probability_claims_cover_and_have_power(relation, true, false):
    wrong_refutation = wrong_hold = 0
    rng = np.random.default_rng(21)
    for successes in rng.binomial(500, 0.3, size=400).tolist():
        wrong_refutation += accuracy.probability(successes, 500, true, 0.05, relation=relation).outcome is REFUTED
        wrong_hold += accuracy.probability(successes, 500, false, 0.05, relation=relation).outcome is HOLDS
    assert 2 <= wrong_refutation <= 37
    assert 2 <= wrong_hold <= 37
    far = 0.2 if relation == ">=" else 0.4
    assert accuracy.probability(150, 500, far, 1e-4, relation=relation).outcome is HOLDS
    assert accuracy.probability(150, 500, 0.6 - far, 1e-4, relation=relation).outcome is REFUTED
    assert accuracy.probability(150, 500, 0.3, 1e-4, relation=relation).outcome is UNDECIDED


def test_probabilities_need_trials():
    with pytest.raises(InvalidInput, match="at least one trial"):
        accuracy.probability(0, 0, 0.5, 0.05)
    with pytest.raises(InvalidInput, match="claimed probability"):
        accuracy.probability(1, 2, 1.5, 0.05)
