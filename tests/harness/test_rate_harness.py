"""Rates: the interval covers, wrong rates are refuted, logs are not mistaken for exponents, HOLDS is never said."""

import numpy as np
import pytest

from dpcheck.checks import check
from dpcheck.errors import InvalidInput
from dpcheck.harness import rate, risk
from dpcheck.verdicts import Outcome

SIZES = 2.0 ** np.arange(7, 15)


def rows(rng, law, bound, trials=400, sizes=SIZES, **cell):
    found = []
    for n in sizes:
        values = law(n) * rng.exponential(size=trials)
        found.append(({"n": n, **cell}, risk.summary(values, bound(n))))
    return found


def word(answer):
    return answer.numbers["word"]


def judge(members, alpha=0.05, **options):
    return rate.conclude("n", **options)(members, alpha)


def test_the_true_rate_is_rarely_called_shallower():
    wrong = missed = 0
    for repeat in range(200):
        answer = judge(rows(np.random.default_rng([30, repeat]), lambda n: n**-0.5, lambda n: 3 * n**-0.5), margin=1e-9)
        assert answer.outcome is not Outcome.HOLDS
        wrong += answer.outcome is Outcome.REFUTED
        missed += not answer.numbers["lower"] <= 0 <= answer.numbers["upper"]
    # Two-sided 95 % interval: more than 22 misses of 200 has probability below 1e-4; none at all, below 1e-4 too.
    assert 1 <= missed <= 22
    assert wrong <= 14  # one side of it, 2.5 %: more than 14 has probability below 1e-3


def test_a_shallower_rate_is_refuted_and_a_loose_bound_is_steeper():
    rng = np.random.default_rng(31)
    shallow = judge(rows(rng, lambda n: n**-0.35, lambda n: n**-0.5, trials=4000), alpha=1e-4)
    assert shallow.outcome is Outcome.REFUTED
    assert word(shallow) == "shallower"
    assert shallow.evidence == "sampled"
    steep = judge(rows(rng, lambda n: n**-0.75, lambda n: n**-0.5))
    assert steep.outcome is Outcome.CONSISTENT
    assert word(steep) == "steeper"


def test_a_logarithm_in_the_bound_is_divided_out():
    answer = judge(
        rows(np.random.default_rng(32), lambda n: np.log(n) * n**-0.5, lambda n: 4 * np.log(n) * n**-0.5, 4000)
    )
    assert word(answer) == "consistent"
    assert answer.numbers["largest R/bound"] == pytest.approx(0.25, rel=0.1)
    raw = judge(rows(np.random.default_rng(32), lambda n: np.log(n) * n**-0.5, lambda n: n**-0.5, 4000))
    assert word(raw) == "shallower"


def test_a_wide_interval_is_undecided_and_a_useless_one_is_not_printed():
    answer = judge(rows(np.random.default_rng(33), lambda n: n**-0.5, lambda n: n**-0.5, trials=20))
    assert (answer.outcome, word(answer)) == (Outcome.UNDECIDED, "undecided")
    assert "more sizes would narrow it" in answer.reason
    three = rows(np.random.default_rng(33), lambda n: n**-0.5, lambda n: n**-0.5, trials=20)[:3]
    assert "no slope to speak of" in judge(three, alpha=1e-6).reason


def test_a_rate_that_is_met_is_consistent_and_says_what_would_have_shown():
    answer = judge(rows(np.random.default_rng(35), lambda n: n**-0.5, lambda n: n**-0.5, 4000))
    assert answer.outcome is Outcome.CONSISTENT
    assert answer.notices == "R/bound growing faster than n^0.05"


def test_series_share_the_failure_probability_and_the_worst_is_reported():
    rng = np.random.default_rng(34)
    members = rows(rng, lambda n: n**-0.5, lambda n: n**-0.5, 4000, k=2)
    members += rows(rng, lambda n: n**-0.3, lambda n: n**-0.5, 4000, k=4)
    answer = judge(members, alpha=1e-3)
    assert answer.outcome is Outcome.REFUTED
    assert "(k = 4)" in answer.reason
    assert answer.numbers["series"] == 2
    assert len(answer.points) == 16
    assert {point.series for point in answer.points} == {"k = 2", "k = 4"}
    assert answer.axes == ("n", "excess risk")


def test_the_local_exponent_is_reported():
    members = [
        (cell, {**found, "exponent": -0.5})
        for cell, found in rows(np.random.default_rng(35), lambda n: n**-0.6, lambda n: n**-0.5, 4000)
    ]
    answer = judge(members)
    assert answer.numbers["exponent"] == pytest.approx(-0.6, abs=0.03)
    assert "measured exponent -0.6" in answer.reason


def test_exact_measurements_have_an_interval_too():
    members = [({"n": n}, {"mean": n**-0.5, "se": 0.0, "bound": 2 * n**-0.5}) for n in SIZES]
    assert word(judge(members, alpha=1e-6)) == "consistent"
    members = [({"n": n}, {"mean": n**-0.4, "se": 0.0, "bound": 2 * n**-0.5}) for n in SIZES]
    assert judge(members, alpha=1e-6).outcome is Outcome.REFUTED


def test_zero_risk_says_nothing_of_a_rate():
    members = [({"n": n}, {"mean": 0.0, "se": 0.0, "bound": 1.0}) for n in SIZES]
    answer = judge(members)
    assert answer.outcome is Outcome.UNDECIDED
    assert "fewer than 3 sizes" in answer.reason


def test_another_variable_and_bad_cells():
    members = [({"d": d}, {"epsilon": 1 / d, "mean": d, "se": 0.0, "bound": d}) for d in (1.0, 2.0, 4.0, 8.0)]
    assert word(rate.conclude("d")(members, 0.05)) == "consistent"
    inverse = [({}, found) for _, found in members]
    assert rate.conclude("epsilon")(inverse, 0.05).axes[0] == "epsilon"
    with pytest.raises(InvalidInput, match="does not name 'm'"):
        rate.conclude("m")(members, 0.05)
    with pytest.raises(InvalidInput, match="bounds > 0"):
        rate.conclude("d")([({"d": d}, {"mean": d, "se": 0.0, "bound": 0.0}) for d in (1.0, 2.0, 4.0)], 0.05)


def test_it_concludes_a_check():
    @check("toy/thm-1", kind="rate", grid={"n": [64, 128, 256, 512]}, conclude=rate.conclude("n"), expect="undecided")
    def risk_rate(context, n):
        """Falls as 1 / n."""
        return risk.summary(context.rng().exponential(size=2000) / n, 1 / n)

    cells = risk_rate.cells("smoke")
    answer = risk_rate.verdict([(cell, risk_rate.measure(cell, "smoke", 0)) for cell in cells])
    assert answer.outcome in risk_rate.expect
    assert answer.failure_probability == risk_rate.failure_probability
