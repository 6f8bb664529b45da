"""`dp.audit`: what it certifies, what it refuses, what it says."""

import dataclasses
import json
import math
import re

import numpy as np
import pytest
from curtailed import at_least, at_most

import dpcheck as dp
from dpcheck.auditing import scores
from dpcheck.auditing.inputs import describe_pair
from dpcheck.errors import InvalidInput, MechanismError

ZERO, ONE = np.array([0.0]), np.array([1.0])


def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)


def gaussian(data, rng, trials):
    return data.sum() + rng.normal(size=trials)


def response(data, rng, trials):
    """Randomised response of one bit at epsilon = log 3."""
    return np.where(rng.random(trials) < 0.75, data[0], 1 - data[0])


def geometric(data, rng, trials):
    return data.sum() + rng.geometric(1 - math.exp(-1), trials) - rng.geometric(1 - math.exp(-1), trials)


def first_true(data, rng, trials):
    """A transcript that stops early, as strings: three bits, each flipped with probability 1/4, up to the first 1."""
    bits = np.where(rng.random((trials, 3)) < 0.75, data[0], 1 - data[0]).astype(int)
    rows = ["".join(map(str, row)) for row in bits]
    return np.array([row[: row.index("1") + 1] if "1" in row else row for row in rows])


def test_laplace_is_certified_close_to_its_epsilon():
    bounds = [dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=100_000, seed=s).epsilon_lower for s in range(5)]
    # Median of 20 seeds 0.988; a single run below 0.93 has probability about 1e-3.
    assert 0.975 < np.median(bounds) <= 1.0


def test_gaussian_with_delta():
    bounds = [
        dp.audit(gaussian, ZERO, ONE, dp.ApproxDP(4.38, 1e-5), trials=10_000, seed=s).epsilon_lower for s in range(7)
    ]
    assert 2.2 < np.median(bounds) < 4.3772


@pytest.mark.parametrize(
    ("mechanism", "exact"), [(laplace, 1.0), (response, math.log(3)), (geometric, 1.0), (first_true, 3 * math.log(3))]
)
def test_no_false_alarm_at_a_tight_claim_and_power_above_it(mechanism, exact):
    alarms, lowers = 0, []
    for seed in range(40):
        result = dp.audit(mechanism, ZERO, ONE, dp.PureDP(exact), trials=1000, seed=seed)
        alarms += result.outcome == dp.Outcome.REFUTED
        lowers.append(result.epsilon_lower)
    # At most binomial(40, 0.05): more than 7 has probability 1e-3.
    assert alarms <= 7
    assert np.median(lowers) > 0.6 * exact
    assert dp.audit(mechanism, ZERO, ONE, dp.PureDP(0.6 * exact), trials=4000).outcome == dp.Outcome.REFUTED


def test_identical_laws_are_never_far_from_zero():
    def blind(data, rng, trials):
        return rng.normal(size=trials)

    def positive(seed):
        return dp.audit(blind, ZERO, ONE, dp.PureDP(0.01), trials=500, seed=seed).epsilon_lower > 0

    # At most binomial(60, 0.05): more than 9 has probability 1e-3.
    assert at_most(9, 60, positive)


def test_a_curve_is_tested_as_a_curve():
    def less_noise(data, rng, trials):
        return data.sum() + 0.8 * rng.normal(size=trials)

    refuted = dp.audit(less_noise, ZERO, ONE, dp.GaussianDP(1.0), trials=10_000)
    assert refuted.outcome == dp.Outcome.REFUTED
    assert refuted.epsilon_lower > refuted.epsilon_claimed == dp.GaussianDP(1.0).epsilon_at(refuted.delta)
    # Whether more could have been refuted is another matter: of a curve it is known at one point only.
    assert dp.audit(gaussian, ZERO, ONE, dp.GaussianDP(1.0), trials=10_000).outcome in ("consistent", "undecided")
    assert dp.audit(gaussian, ZERO, ONE, dp.ZCDP(0.1), trials=10_000).outcome == dp.Outcome.REFUTED
    assert dp.audit(gaussian, ZERO, ONE, dp.RenyiDP(8.0, 4.0), trials=5_000).outcome in ("consistent", "undecided")


def test_vector_outputs_need_no_score():
    def vector(data, rng, trials):
        return data.sum() * np.array([1.0, -1.0, 0.5, 0.0]) + rng.normal(size=(trials, 4))

    result = dp.audit(vector, ZERO, ONE, dp.GaussianDP(0.9), trials=6000)
    assert result.outcome == dp.Outcome.REFUTED  # the true mu is 1.5


def test_tuples_and_halts():
    def pair(data, rng, trials):
        noisy = data.sum() + rng.laplace(size=trials)
        return noisy, noisy > 3

    assert dp.audit(pair, ZERO, ONE, dp.PureDP(0.5), trials=6000).outcome == dp.Outcome.REFUTED

    def halting(data, rng, trials):
        out = rng.normal(size=trials)
        out[rng.random(trials) < 0.1 + 0.3 * data[0]] = np.nan
        return out

    with pytest.raises(MechanismError, match="halts=True"):
        dp.audit(halting, ZERO, ONE, dp.PureDP(1.0), trials=1000)
    found = dp.audit(halting, ZERO, ONE, dp.PureDP(1.0), trials=4000, halts=True)
    assert found.outcome == dp.Outcome.REFUTED
    assert "halted" in found.event


def test_a_mixture_of_an_atom_and_a_density():
    def clipped(data, rng, trials):
        return np.maximum(data.sum() + rng.laplace(size=trials), 1.0)

    result = dp.audit(clipped, ZERO, ONE, dp.PureDP(1.0), trials=20_000)
    assert 0.7 < result.epsilon_lower <= 1.0


def test_the_seed_decides_everything():
    first, second = (dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=2000, seed=3) for _ in range(2))
    assert first.counts == second.counts
    assert dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=2000, seed=4).counts != first.counts


@pytest.mark.parametrize(
    "score",
    [
        lambda outputs: -outputs,
        scores.Identity(),
        scores.Projection([-1.0]),
        scores.LikelihoodRatio(lambda y: -abs(y), lambda y: -abs(y - 1)),
        scores.Classifier("logistic"),
        [scores.Identity(), lambda outputs: np.sin(outputs)],
    ],
)
def test_scores_of_every_kind(score):
    result = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=10_000, score=score)
    assert 0.75 < result.epsilon_lower < 1.05


def test_result_says_what_it_means():
    result = dp.audit(laplace, ZERO, ONE, dp.PureDP(0.5), trials=12_000)
    assert str(result).startswith("REFUTED  laplace is not 0.5-DP: certified ε ≥ 0.")
    assert "record 0 changed from 0 to 1" in str(result)
    assert dp.verify(result.witness).violated
    quiet = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=12_000)
    assert "would have refuted a true ε ≥" in str(quiet)
    assert quiet.witness is None
    assert quiet.detectable_epsilon > 1.0 > quiet.epsilon_lower
    assert json.loads(json.dumps(result.to_dict()))["outcome"] == "refuted"
    assert result.verdict().evidence == "sampled"
    assert len(result.curve.fpr) > 5


def test_outputs_that_a_score_does_not_tell_apart():
    result = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=500, score=lambda y: np.zeros(len(y)))
    assert (result.outcome, result.detectable_epsilon) == ("undecided", math.inf)
    assert "no output told the inputs apart" in result.reason()
    assert "what the score does not see" in result.reason()


def test_what_a_curve_allows_at_its_delta_no_trials_refute():
    result = dp.audit(gaussian, ZERO, ONE, dp.GaussianDP(1.2), trials=500)
    assert "the claim itself allows ε = " in result.lacks(0.9 * result.epsilon_claimed)
    assert result.lacks(1.1 * result.epsilon_claimed) == "take more than trials=500"
    assert result.lacks(None) == ""


def test_a_bound_just_above_what_a_curve_allows_is_told_in_as_many_digits_as_show_it():
    result = dp.audit(gaussian, ZERO, ONE, dp.GaussianDP(1.2), trials=500)
    close = dataclasses.replace(result, outcome=dp.Outcome.REFUTED, epsilon_lower=2.34381, epsilon_claimed=2.34275)
    assert re.search(r"≥ 2\.343 at δ = \S+, where the claim allows 2\.343", close.reason()) is None
    assert re.search(r"≥ 2\.3438 at δ = \S+, where the claim allows 2\.3428", close.reason())


def test_detectable_epsilon_is_detected():
    quiet = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=12_000)
    wide = quiet.detectable_epsilon

    def leaky(data, rng, trials):
        return data.sum() + rng.laplace(size=trials) / wide

    def found(seed):
        return dp.audit(leaky, ZERO, ONE, dp.PureDP(1.0), trials=12_000, seed=seed).outcome == "refuted"

    # 95 % is promised for this event; fewer than 16 of 20 would have probability 3e-3.
    assert at_least(16, 20, found)


def test_witness_cannot_be_edited():
    witness = dp.audit(laplace, ZERO, ONE, dp.PureDP(0.5), trials=12_000).witness
    for change in ({"right": witness.parameters["right"] + 500}, {"epsilon": "0.1"}, {"label": "audit/other"}):
        edited = dp.Witness(
            label=witness.label,
            kind=witness.kind,
            parameters={**witness.parameters, **change},
            claimed=witness.claimed,
            found=witness.found,
        )
        with pytest.raises(dp.DpcheckError):
            dp.verify(edited)


def raising(data, rng, trials):
    raise KeyError("weights")


def long_winded(data, rng, trials):
    raise ValueError(list(range(10**5)))


def infinite(data, rng, trials):
    return np.where(np.arange(trials) == 3, np.inf, 0.0)


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (raising, "raising raised KeyError on (data|neighbour)"),
        (long_winded, r"raised ValueError on \w+ with trials=\d+: \[0, 1, .*…687,490 characters left out…"),
        (infinite, "inf in trial 3"),
        (lambda d, r, t: np.zeros(t + 1), "axis 0 must count trials"),
        (lambda d, r, t: 1.0, "axis 0 must count trials"),
        (lambda d, r, t: None, "returned None"),
        (lambda d, r, t: np.zeros((t, 0)), "empty outputs"),
    ],
)
def test_broken_mechanisms(mechanism, message):
    with pytest.raises(MechanismError, match=message):
        dp.audit(mechanism, ZERO, ONE, dp.PureDP(1.0), trials=1000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": np.array([np.nan])}, "nan at index"),
        ({"neighbour": np.array([np.inf])}, "inf at index"),
        ({"data": np.array([])}, "empty"),
        ({"data": np.array([0.0, 1.0])}, "equally many"),
        ({"data": np.array([0.0, 0.0]), "neighbour": np.array([1.0, 1.0])}, "differ in 2 records"),
        ({"neighbour": ZERO}, "identical"),
        ({"adjacency": "swap"}, "unknown adjacency"),
        ({"claim": 1.0}, "claim must be"),
        ({"trials": 10}, "trials must be"),
        ({"trials": 1e5 + 0.5}, "trials must be"),
        ({"trials": "many"}, "trials must be"),
        ({"failure_probability": 0.0}, "failure_probability"),
        ({"score": "best"}, "unknown score"),
        ({"score": 3}, "score must be"),
        ({"mode": "forever"}, "unknown mode"),
        ({"held_out": 1.0}, "held_out"),
        ({"mechanism": 7}, "callable"),
    ],
)
def test_bad_input_gets_one_sentence(change, message):
    arguments = {"mechanism": laplace, "data": ZERO, "neighbour": ONE, "claim": dp.PureDP(1.0), "trials": 1000} | change
    with pytest.raises(InvalidInput, match=message):
        dp.audit(**arguments)


def test_claims_refuse_impossible_parameters():
    for bad in (lambda: dp.PureDP(0.0), lambda: dp.ApproxDP(1.0, 1.0), lambda: dp.ApproxDP(1.0, -0.1)):
        with pytest.raises(InvalidInput):
            bad()


def test_any_pair_and_opaque_objects():
    def answers(data, rng, trials):
        return data["count"] + rng.laplace(size=trials)

    result = dp.audit(answers, {"count": 0}, {"count": 1}, dp.PureDP(0.5), trials=8000)
    assert "not checked" in result.pair
    assert result.outcome == dp.Outcome.REFUTED
    far = dp.audit(laplace, np.zeros(2), np.ones(2), dp.PureDP(1.0), trials=8000, adjacency=None)
    assert far.outcome == dp.Outcome.REFUTED


# -- what used to end in a traceback, or in nothing ------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
def test_a_claim_that_no_sample_can_refute(mode):
    for claim in (dp.PureDP(800.0), dp.ApproxDP(1e5, 1e-6)):
        result = dp.audit(laplace, ZERO, ONE, claim, trials=1000, mode=mode)
        assert result.outcome == "undecided"
        assert "nothing decided" in result.reason()


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
@pytest.mark.filterwarnings("error")
def test_vectors_near_the_largest_float(mode, capfd):
    def huge(data, rng, trials):
        return 1e307 * (data.sum() + rng.normal(size=(trials, 3)))

    assert dp.audit(huge, ZERO, ONE, dp.PureDP(1.0), trials=2000, mode=mode).outcome == "refuted"
    assert capfd.readouterr().err == ""


def broken(outputs):
    return 1 / 0


@pytest.mark.parametrize(
    ("score", "says"),
    [
        (broken, "the score 'broken' raised ZeroDivisionError on"),
        (lambda y: ["high"] * len(y), "must return numbers, got .'high'"),
        (lambda y: [None] * len(y), "must return numbers, got .None"),
        (scores.LikelihoodRatio(broken, abs), "raised ZeroDivisionError"),
    ],
)
def test_scores_that_fail(score, says):
    with pytest.raises(MechanismError, match=says):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=1000, score=score)


def interrupted(*arguments):
    raise KeyboardInterrupt


@pytest.mark.parametrize("what", [{"mechanism": interrupted}, {"score": interrupted}])
def test_ctrl_c_is_no_failure_of_the_mechanism_or_of_the_score(what):
    with pytest.raises(KeyboardInterrupt):
        dp.audit(**{"mechanism": laplace, "data": ZERO, "neighbour": ONE, "claim": dp.PureDP(1.0), **what})


def test_what_dpcheck_itself_says_inside_of_a_mechanism_is_said_as_it_is():
    def doubled(data, rng, trials):
        raise MechanismError("the inner one returned nothing")

    with pytest.raises(MechanismError, match=r"doubled on \w+ with trials=\d+: the inner one returned nothing$"):
        dp.audit(doubled, ZERO, ONE, dp.PureDP(1.0), trials=500)


def test_a_type_error_of_a_function_of_two_arguments_is_not_put_down_to_their_number():
    def mixed(data, rng):
        return "1" + rng.laplace()

    with pytest.raises(MechanismError, match=r"raised TypeError .*; nothing was concluded$"):
        dp.audit(dp.vectorize(mixed), ZERO, ONE, dp.PureDP(1.0), trials=500)


def test_a_total_leak_against_a_large_delta():
    """36,000 right guesses of 36,000 have probability 1e-6 under (0.5, 0.999)-DP."""
    result = dp.audit(lambda d, r, t: np.full(t, d[0]), ZERO, ONE, dp.ApproxDP(0.5, 0.999), trials=20_000)
    assert result.outcome == "refuted"


def test_a_mechanism_that_wants_to_end_the_program():
    for end in (SystemExit(7), GeneratorExit()):
        with pytest.raises(MechanismError, match=f"raised {type(end).__name__} on"):
            dp.audit(lambda d, r, t, e=end: (_ for _ in ()).throw(e), ZERO, ONE, dp.PureDP(1.0), trials=1000)


def test_confidence_is_never_rounded_to_certainty():
    assert (
        "(1 − 1e-12)" in dp.audit(laplace, ZERO, ONE, dp.PureDP(0.2), trials=4000, failure_probability=1e-12).reason()
    )
    assert "(99.9999 %)" in dp.audit(laplace, ZERO, ONE, dp.PureDP(0.2), trials=4000, failure_probability=1e-6).reason()


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (lambda: dp.PureDP("1"), "epsilon must be a number, got '1'"),
        (lambda: dp.ApproxDP(1, "a"), "delta must be a number, got 'a'"),
        (lambda: dp.PureDP(None), "epsilon must be a number, got None"),
        (lambda: dp.testing.worst_pairs(n=2.5), "n must be an integer >= 1, got 2.5"),
        (lambda: dp.testing.worst_pairs(n=3, d=0), "d must be an integer >= 1, got 0"),
        (lambda: dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=1e14), "trials must be at most 1,000,000,000"),
    ],
)
def test_bad_values_are_named(bad, says):
    with pytest.raises(InvalidInput, match=says):
        bad()


def test_integral_floats_are_trials():
    assert dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=1e3).trials == 1000


def test_the_likely_cause_lists_all_that_fit():
    def words(data, rng, trials):
        keep = np.e / (1 + np.e)
        return np.where((rng.random(trials) < keep) == (data[0] > 0), "yes", "no")

    said = dp.audit(words, ZERO, ONE, dp.PureDP(0.5), trials=100_000).likely
    assert "a factor 2" in said
    assert "a budget used twice" in said
    assert "sensitivity" not in said
    assert "noise" not in said
    halved = dp.audit(lambda d, r, t: d.sum() + r.laplace(size=t) / 2, ZERO, ONE, dp.PureDP(1.0), trials=100_000).likely
    assert "sensitivity" in halved
    assert "a budget used twice" in halved


def test_failures_hide_what_lies_between():
    from dpcheck import testing

    for function in (testing.assert_private, dp.audit):
        assert "__tracebackhide__" in function.__code__.co_varnames


@pytest.mark.parametrize(
    ("pair", "adjacency", "says"),
    [
        ((math.nan, 1.0), None, "data is nan; it must be finite"),
        ((np.zeros(0), np.ones(1)), None, r"data is empty \(shape \(0,\)\)"),
        ((np.ones(1, dtype=int), np.zeros(0, dtype=int)), None, r"neighbour is empty \(shape \(0,\)\)"),
        ((np.zeros(2), np.array([0.0, math.inf])), None, "neighbour holds inf; its values must be finite"),
        (({"a": 0}, {"a": 1}), "neighbours", "unknown adjacency 'neighbours'; choose one of replace-one"),
    ],
)
def test_a_pair_that_is_none_is_named(pair, adjacency, says):
    with pytest.raises(InvalidInput, match=says):
        dp.audit(lambda d, r, t: r.laplace(size=t), *pair, dp.PureDP(1.0), trials=500, adjacency=adjacency)


def test_lists_of_several_lengths_are_objects():
    pair = [[0.0], [0.0, 1.0]], [[0.0], [1.0, 1.0]]

    def total(data, rng, trials):
        return sum(map(sum, data)) + rng.laplace(size=trials)

    result = dp.audit(total, *pair, dp.PureDP(0.2), trials=4000, adjacency="replace-one")
    assert result.outcome is dp.Outcome.REFUTED
    assert result.pair == "list objects (adjacency not checked)"


def plane(data, rng, trials):
    return data.sum() + rng.laplace(size=(trials, 2))


@pytest.mark.parametrize(
    ("mechanism", "score", "error", "says"),
    [
        (plane, scores.Identity(), InvalidInput, "scores.Identity needs scalar outputs, got 2 columns"),
        (
            plane,
            scores.Projection([1.0, 0.0, 0.0]),
            InvalidInput,
            "the direction has 3 entries, the outputs have 2 col",
        ),
        (laplace, lambda y: np.zeros((len(y), 2)), InvalidInput, "must return shape .*, got "),
        (laplace, lambda y: np.where(y > 0, np.nan, y), MechanismError, "is NaN in trial "),
    ],
)
def test_scores_that_do_not_fit_their_outputs(mechanism, score, error, says):
    with pytest.raises(error, match=says):
        dp.audit(mechanism, ZERO, ONE, dp.PureDP(1.0), trials=500, score=score)


def test_outputs_of_another_width_on_the_neighbour():
    def leaky(data, rng, trials):
        return rng.laplace(size=(trials, 2 + int(data.sum())))

    with pytest.raises(dp.DpcheckError, match="returns 2 numbers on data and 3 on neighbour"):
        dp.audit(leaky, ZERO, ONE, dp.PureDP(1.0), trials=500)


def test_pairs_that_are_not_checked_are_told_in_brief():
    def text(data, neighbour, adjacency=None):
        return str(describe_pair(data, neighbour, adjacency))

    assert text(np.arange(3), [1.0]) == "[0, 1, 2] against [1.0] (adjacency not checked)"
    assert text(np.zeros((3, 3)), {"a": 1}) == "ndarray of shape (3, 3) against dict (adjacency not checked)"
    assert text(7, "seven") == "int against str (adjacency not checked)"
    words = np.array(["ash", "elm"]), np.array(["ash", "oak"])
    assert text(*words, "replace-one").startswith("2 records, record 1 changed")
    assert text(np.arange(2), np.array([0, 5]), "replace-one").startswith("2 records in [0, 5], record 1 changed")


def test_the_held_out_share_is_what_is_asked_for():
    for share in (0.1, 0.5):
        counts = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=2000, held_out=share).counts
        assert counts["tested"] == round((1 - share) * 4000) == counts["runs_data"] + counts["runs_neighbour"]


@pytest.mark.parametrize("options", [{"trials": 60}, {"mode": "anytime", "max_samples": 2000}])
def test_chunks_of_few_trials_that_all_fall_on_one_input_lose_none(options):
    result = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), chunk=2, seed=1, **options)
    held = 40 if "trials" in options else 800
    assert result.counts["tested"] == options.get("max_samples", 120) - held
    assert result.counts["runs_data"] + result.counts["runs_neighbour"] == result.counts["tested"]
    assert not result.dependence


def test_infinite_numbers_of_a_result_are_words_in_json():
    result = dp.audit(laplace, ZERO, ONE, dp.PureDP(800.0), trials=500)
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert told["visible"]["detectable"] == str(result.visible.detectable) == "inf"
