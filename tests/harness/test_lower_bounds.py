"""Lower bounds: exact packings and moments, optimal tests against closed forms, verdicts with coverage and power."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import optimize, sparse, stats

from dpcheck.errors import InvalidInput
from dpcheck.harness import lower_bound
from dpcheck.harness.hard_instances import RationalLaw, closest_pair
from dpcheck.harness.lower_bound import Fact
from dpcheck.harness.optimal_tests import (
    coupling_error,
    decoding_error,
    packing_error,
    two_point_error,
)
from dpcheck.verdicts import Outcome

# Packings and laws ----------------------------------------------------------------------------------------------------


def private_two_point_error(n: int, p: float, q: float, epsilon: float, delta: float = 0.0) -> float:
    """Average error of the best (epsilon, delta)-DP test of the same: a linear programme over the number of ones.

    Restricting a test to that number loses nothing: averaging it over permutations keeps privacy and error, and
    replacing a record moves the number by at most one. Accuracy about 1e-9; n up to some thousands.
    """
    count = np.arange(n + 1)
    gain = stats.binom.pmf(count, n, q) - stats.binom.pmf(count, n, p)
    shrink = math.exp(-epsilon)
    here, there = sparse.eye(n, n + 1, 0), sparse.eye(n, n + 1, 1)
    # a_k is the probability of answering q at k ones: a_k <= e^eps a_(k+1) + delta both ways, and the same for 1 - a.
    # Divided by e^eps, which keeps the coefficients within [0, 1].
    rows = sparse.vstack([shrink * here - there, shrink * there - here])
    rows = sparse.vstack([rows, -rows]).tocsr()
    limits = np.concatenate([np.full(2 * n, shrink * delta), np.full(2 * n, 1 - shrink + shrink * delta)])
    found = optimize.linprog(-gain, A_ub=rows, b_ub=limits, bounds=(0, 1), method="highs")
    assert found.status == 0, found.message
    return float((1 + found.fun) / 2)


def test_closest_pairs_are_exact():
    points = [("1/3", 0), ("1/3", "1/7"), (1, 1)]
    assert closest_pair(points) == (Fraction(1, 49), 0, 1)
    assert closest_pair(points, "l1") == (Fraction(1, 7), 0, 1)
    assert closest_pair(points, "max") == (Fraction(1, 7), 0, 1)
    assert closest_pair(np.array([[1, 1, -1], [1, -1, 1], [-1, -1, -1]]), "hamming")[0] == 2
    with pytest.raises(InvalidInput, match="at least 2 points"):
        closest_pair([(1, 2)])


def test_closest_pairs_agree_with_brute_force():
    points = np.random.default_rng(0).normal(size=(40, 3))
    brute = min(
        sum((Fraction(x) - Fraction(y)) ** 2 for x, y in zip(a, b, strict=True))
        for a, b in itertools.combinations(points, 2)
    )
    assert closest_pair(points)[0] == brute


def test_moments_of_the_rare_spike():
    # (1 - p) at 0, p at a nu with a = p^(-1/k): the k-th moment is 1 exactly, the mean p^(1 - 1/k).
    with mpmath.workdps(50):
        k, p = 4, Fraction(1, 10**6)
        a = (mpmath.mpf(1) / 10**6) ** (-mpmath.mpf(1) / k)
        law = RationalLaw(((0, 0), (a * mpmath.mpf(3) / 5, a * mpmath.mpf(4) / 5)), (1 - p, p))
        assert abs(law.moment(k) - 1) < mpmath.mpf(10) ** -45
        assert abs(law.mean()[0] - mpmath.mpf(3) / 5 * mpmath.mpf(10) ** (-4.5)) < 1e-20


def test_rational_laws_stay_rational():
    one = RationalLaw(((1,), (-1,)), (Fraction(2, 3), Fraction(1, 3)))
    two = RationalLaw(((-1,), (1,)), (Fraction(2, 3), Fraction(1, 3)))
    assert one.mean() == (Fraction(1, 3),)
    assert one.total_variation(two) == Fraction(1, 3)
    assert float(one.kl(two)) == pytest.approx(math.log(2) / 3)
    assert one.kl(RationalLaw(((1,),), (1,))) == mpmath.inf
    assert one.moment(2, size=lambda z: abs(z[0]) + Fraction(1, 2)) == Fraction(9, 4)
    with pytest.raises(InvalidInput, match="add up to 1"):
        RationalLaw(((1,), (2,)), (Fraction(1, 3), Fraction(1, 3)))
    with pytest.raises(InvalidInput, match="masses"):
        RationalLaw(((1,), (2,)), (Fraction(1),))


# Optimal tests --------------------------------------------------------------------------------------------------------


def test_the_best_test_of_two_coins():
    assert two_point_error(1, 0.3, 0.7) == pytest.approx(0.3)
    assert two_point_error(9, 0.5, 0.5) == pytest.approx(0.5)
    n, p = 11, 0.4
    assert two_point_error(n, p, 1 - p) == pytest.approx(stats.binom.sf(n // 2, n, p))


def test_privacy_makes_tests_worse_and_no_privacy_gives_the_best_test():
    n, p, q = 12, 0.3, 0.6
    errors = [private_two_point_error(n, p, q, epsilon) for epsilon in (0.0, 0.05, 0.2, 1.0, 30.0)]
    assert errors[0] == pytest.approx(0.5)
    assert errors[-1] == pytest.approx(two_point_error(n, p, q))
    assert all(a > b for a, b in itertools.pairwise(errors))
    assert private_two_point_error(n, p, q, 0.2, delta=0.1) < errors[2]
    # One record, randomised response: error 1 / (1 + e^eps) between the constants 0 and 1.
    assert private_two_point_error(1, 0.0, 1.0, 0.7) == pytest.approx(1 / (1 + math.exp(0.7)))


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
@pytest.mark.parametrize(("n", "gap"), [(5, 0.1), (40, 0.05), (200, 0.01)])
def test_proven_lower_bounds_stay_below_the_best_private_test(n, gap, epsilon):
    # Bernoulli(0) and Bernoulli(gap): TV = gap.
    best = private_two_point_error(n, 0.0, gap, epsilon)
    assert float(coupling_error(n, gap, epsilon)) <= best + 1e-9
    # A bound with half of the exponent's budget is not one: the check can fail.
    if n * gap * epsilon > 0.5:
        assert float(coupling_error(n, gap, epsilon / 4)) > best


def test_packing_bounds():
    assert float(packing_error(2, 0, 5)) == pytest.approx(0.25)
    assert float(packing_error(9, 0.1, 10)) == pytest.approx(8 / math.e / (2 * (1 + 8 / math.e)))
    # Two data sets K records apart: no eps-DP test errs less than 1 / (1 + e^(K eps)); the packing bound stays below.
    for size, epsilon, changed in ((2, 0.3, 4), (2, 1.0, 1)):
        assert float(packing_error(size, epsilon, changed)) <= 1 / (1 + math.exp(epsilon * changed))


def test_nearest_neighbour_decoding():
    points = np.array([[0.0], [1.0], [2.0]])
    assert decoding_error(np.array([[0.2], [1.4], [0.5]]), np.array([0, 2, 1]), points) == (2, 3)


# Verdicts -------------------------------------------------------------------------------------------------------------


def facts(separation=Fraction(1, 4)):
    points = [(Fraction(3, 5), Fraction(4, 5)), (Fraction(-3, 5), Fraction(4, 5)), (0, -1)]
    return [
        Fact("squared separation", closest_pair(points)[0], ">=", separation),
        Fact("points", 3, ">", 2),
        Fact("largest norm", max(x * x + y * y for x, y in points), "=", 1),
    ]


def test_a_construction_that_comes_out_holds():
    answer = lower_bound.verdict(facts())
    assert answer.outcome is Outcome.HOLDS
    assert answer.evidence == "exact"
    assert answer.numbers["squared separation"] == pytest.approx(36 / 25)


def test_a_construction_that_fails_is_refuted():
    answer = lower_bound.verdict(facts(separation=Fraction(145, 100)))
    assert answer.outcome is Outcome.REFUTED
    assert "squared separation is 1.44, needed >= 1.45" in answer.reason
    with pytest.raises(InvalidInput, match="nothing was verified"):
        lower_bound.verdict([])


def test_float_constructions_need_a_stated_tolerance():
    point = np.array([1.0, 1.0]) / math.sqrt(2)
    norm = Fraction(point[0]) ** 2 + Fraction(point[1]) ** 2
    assert not Fact("norm", norm, "=", 1).holds
    assert Fact("norm", norm, "=", 1, tolerance=2**-50).holds


def run_tests(error, repeats, trials=400, alpha=0.05):
    """Three instances with these error probabilities, "some instance errs with probability >= 0.25" claimed."""
    rng = np.random.default_rng(40)
    return [
        lower_bound.must_exceed(
            {f"P{i}": (int(rng.binomial(trials, p)), trials) for i, p in enumerate(error)}, 0.25, alpha
        )
        for _ in range(repeats)
    ]


def test_a_true_lower_bound_is_rarely_refuted():
    # One instance at equality, the others easy: the refutation must miss that one, at most 5 % of the time.
    wrong = sum(v.outcome is Outcome.REFUTED for v in run_tests((0.25, 0.02, 0.02), 400))
    assert 2 <= wrong <= 37  # outside has probability below 1e-3 at 3 to 5 %


def test_an_algorithm_that_beats_the_bound_everywhere_refutes_it():
    answers = run_tests((0.17, 0.15, 0.1), 50)
    assert sum(v.outcome is Outcome.REFUTED for v in answers) >= 45
    beaten = next(v for v in answers if v.outcome is Outcome.REFUTED)
    whole = lower_bound.verdict(facts(), [beaten])
    assert whole.outcome is Outcome.REFUTED
    assert whole.failure_probability == pytest.approx(0.05)
    assert "beats the bound" in whole.reason


def test_respecting_the_bound_proves_nothing_alone_but_lets_the_construction_hold():
    (answer,) = run_tests((0.5, 0.1, 0.1), 1)
    assert answer.outcome is Outcome.CONSISTENT
    assert "respects the bound" in answer.reason
    assert lower_bound.verdict(facts(), [answer]).outcome is Outcome.HOLDS
    (unsure,) = run_tests((0.25,), 1, trials=20)
    assert "not enough trials" in unsure.reason


def test_the_non_private_decoder_beats_a_private_bound_and_the_private_one_does_not():
    """Power control: constants 0 and 1 among n records, K of them informative."""
    n, gap, epsilon, trials = 60, 0.05, 0.1, 4000
    needed = float(coupling_error(n, gap, epsilon))
    rng = np.random.default_rng(41)
    ones = rng.binomial(n, gap, size=trials)
    # Reads the answer off any nonzero record: errs on P1 with probability (1 - gap)^n only.
    open_errors = {"P0": (0, trials), "P1": (int((ones == 0).sum()), trials)}
    assert lower_bound.must_exceed(open_errors, needed, 1e-6).outcome is Outcome.REFUTED
    noise = rng.laplace(scale=1 / epsilon, size=(2, trials))
    level = n * gap / 2
    errors = {"P0": (int((noise[0] > level).sum()), trials), "P1": (int((ones + noise[1] <= level).sum()), trials)}
    assert lower_bound.must_exceed(errors, needed, 1e-6).outcome is Outcome.CONSISTENT


def test_bounds_on_expectations():
    rng = np.random.default_rng(42)
    wrong = 0
    for _ in range(300):
        risks = {"P0": rng.binomial(1, 0.2, 300).astype(float), "P1": rng.binomial(1, 0.05, 300).astype(float)}
        wrong += lower_bound.must_exceed_on_average(risks, 0.2, 0.05, limit=1.0).outcome is Outcome.REFUTED
    assert wrong <= 30  # at most 5 % of 300; more than 30 has probability below 1e-4
    assert wrong >= 1
    low = {"P0": rng.random(3000) * 0.2, "P1": rng.random(3000) * 0.1}
    assert lower_bound.must_exceed_on_average(low, 0.2, 1e-6, limit=1.0).outcome is Outcome.REFUTED
    with pytest.raises(InvalidInput, match="bound < limit"):
        lower_bound.must_exceed_on_average(low, 2.0, 1e-6, limit=1.0)
