"""Small versions of audits/auditor: false alarms in every mode, power, sameness of bytes, what leaks are halved."""

import importlib.util
import json
import pathlib
import sys

import numpy as np
import pytest
from curtailed import at_least, at_most

import dpcheck as dp
from dpcheck.auditing.cells import Partition
from dpcheck.auditing.limits import fewest_of_any, fewest_on_gaussian_curve
from dpcheck.auditing.plans import fitted
from dpcheck.auditing.rules import Rule
from dpcheck.auditing.scores import Cells, Classifier
from dpcheck.auditing.stages import Stage, epsilon_lower


def content(name):
    """A file of audits/auditor as a module."""
    file = pathlib.Path(__file__).parents[2] / "audits/auditor" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"auditor{name}", file)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cases, bugs = content("_cases"), content("_bugs")
NULLS, BUGS, KNOWN = cases.nulls(), bugs.audited_bugs(), bugs.known_densities()


def alarm(null, **options):
    """Whether the audit with a seed is one."""

    def raised(seed):
        result = dp.audit(null.mechanism, *null.pair, null.claim, seed=seed, **{**dict(null.options), **options})
        return result.epsilon_lower > 0 if null.identical else result.outcome == dp.Outcome.REFUTED

    return raised


@pytest.mark.parametrize("name", NULLS)
def test_fixed_audits_keep_their_level(name):
    # At most binomial(40, 0.05): more than 7 has probability 1e-3.
    assert at_most(7, 40, alarm(NULLS[name], trials=400))


@pytest.mark.parametrize("name", ["tight Laplace", "categories with ties"])
def test_learned_scores_keep_the_level(name):
    score = Cells() if name == "categories with ties" else Classifier("logistic")
    # At most binomial(30, 0.05): more than 6 has probability 6e-4.
    assert at_most(6, 30, alarm(NULLS[name], trials=400, score=score))


@pytest.mark.parametrize("name", ["tight Laplace", "randomised response"])
def test_a_hundred_looks_keep_the_level(name):
    options = {"mode": "anytime", "until": "refuted", "max_samples": 5000, "chunk": 40}
    # At most binomial(10, 0.05): more than 4 has probability 6e-5.
    assert at_most(4, 10, alarm(NULLS[name], trials=2500, **options))


def leaky(delta):
    """Laplace noise that tells its input with probability delta: tight at (1, delta)."""

    def run(data, rng, trials):
        return np.where(rng.random(trials) < delta, 50 * (2 * data[0] - 1), data[0] + rng.laplace(size=trials))

    return run


@pytest.mark.parametrize("delta", [0.0, 2e-3])
def test_rules_fitted_to_where_outputs_fell_keep_the_level(delta):
    score = dp.scores.LikelihoodRatio(lambda y: -np.abs(y), lambda y: -np.abs(y - 1))
    claim = dp.ApproxDP(1.0, delta) if delta else dp.PureDP(1.0)
    # At most binomial(80, 0.05): more than 11 has probability 1e-3.
    assert at_most(11, 80, alarm(cases.Null(leaky(delta), claim), trials=1000, score=score))


def test_where_outputs_fell_does_not_choose_the_inputs_that_are_guessed():
    # Cells 0 and 3 are leaks of one input each: whichever is seen more often must not be guessed alone, at half a leak.
    p, q = (law / law.sum() for law in (np.array([2e-3, 0.73, 0.27, 1e-9]), np.array([1e-9, 0.27, 0.73, 2e-3])))
    cells = Partition(np.array([-1.0, 1.0]), np.array([-2.0, 0.0, 2.0]), np.ones(3, dtype=bool), p, q, 2000, few=True)
    both, one = (Rule(np.array(level, dtype=np.int8), 1e-5, 0.0, True) for level in ([1, 1, -1, -1], [1, 0, 0, 0]))
    rng = np.random.default_rng(0)
    for rule in (both, one):
        totals = [np.array([leaks, a, 2000 - a, 40 - leaks]) for leaks in (0, 3, 40) for a in (0, 500, 2000)]
        totals += [rng.integers(0, 400, 4) for _ in range(20)]
        told = [fitted(rule, cells, total, 2000, 0.05) for total in totals]
        assert all(new.guessed == rule.guessed for new in told)
        assert any((new.level != rule.level).any() for new in told) == (rule is both)


@pytest.mark.parametrize(
    ("bug", "times"),
    [
        (BUGS["laplace-half-sensitivity"], 4),
        (BUGS["gaussian-half-the-deviation"], 4),
        (KNOWN["laplace-half-sensitivity"], 3),
    ],
)
def test_bugs_fall_at_a_multiple_of_the_fewest(bug, times):
    trials = times * bug.fewest(1e-6) // 2
    # With power 0.95 fewer than 16 of 20 has probability 3e-3.
    assert at_least(16, 20, lambda seed: bug.audit(trials, 1e-6, seed).outcome == dp.Outcome.REFUTED)


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
def test_same_seed_same_bytes(mode):
    def dump():
        result = dp.audit(cases.laplace, np.zeros(1), np.ones(1), dp.PureDP(1.0), trials=2000, mode=mode, seed=5)
        plain = result.to_dict()
        plain.pop("seconds"), plain.pop("mechanism_seconds")
        return json.dumps(plain, sort_keys=True)

    assert dump() == dump()


def test_a_rule_that_guesses_one_input_meets_half_of_the_leak():
    one_sided = Stage(Rule(np.array([1, 0], dtype=np.int8), 0.02, 0.0), np.array([100]), np.array([20]), 2000)
    both = Stage(Rule(np.array([1, -1], dtype=np.int8), 0.02, 0.0), np.array([100]), np.array([20]), 2000)
    assert epsilon_lower([one_sided], 0.02, 0.05) > epsilon_lower([both], 0.02, 0.05) + 0.2
    assert epsilon_lower([one_sided], 0.02, 0.05) == pytest.approx(epsilon_lower([both], 0.01, 0.05), abs=1e-4)


def test_a_fixed_audit_is_randomised_within_its_lattice(monkeypatch):
    """Four stages would each lose half a step of their p-values: at a tight null that was a third of the level."""

    def bound(coin):
        monkeypatch.setattr(Stage, "coin_of", staticmethod(lambda seed, number: coin))
        return dp.audit(cases.laplace, np.zeros(1), np.ones(1), dp.PureDP(0.2), trials=400, seed=5).epsilon_lower

    assert bound(0.0) > bound(0.5) > bound(1.0) > 0


def test_no_test_needs_fewer():
    # Randomised response of epsilon 2 against a claim of 1: exact tail of the binomial test at 4 times the bound.
    assert fewest_of_any(2.0, 1.0, 0.0, 1e-6, 0.95) < BUGS["laplace-half-sensitivity"].fewest(1e-6)
    assert fewest_of_any(0.5, 1.0, 0.0, 1e-6, 0.95) is None
    # Everything told, claim 1: log(1e-6) / log(0.731) = 44 right guesses in a row are needed.
    assert 20 <= fewest_of_any(np.inf, 1.0, 0.0, 1e-6, 0.95) <= 44
    assert fewest_on_gaussian_curve(1 / 0.9, 1.0, 0.05, 0.95) == pytest.approx(3507, abs=2)
    assert fewest_on_gaussian_curve(0.9, 1.0, 0.05) is None


def test_sandwich_is_in_order_and_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from dpcheck.auditing import figures

    result = dp.audit(
        lambda d, r, t: d.sum() + r.normal(size=t), np.zeros(1), np.ones(1), dp.GaussianDP(1.1), trials=20_000
    )
    lower, seen = figures.epsilons(result.curve, figures.DELTAS)
    exact = np.array([dp.GaussianDP(1.0).epsilon_at(float(d)) for d in figures.DELTAS])
    # The band fails with probability 0.05; the seed is fixed.
    assert (lower <= exact + 1e-9).all()
    assert (lower <= seen + 1e-9).all()
    assert lower.max() > 0.5
    for kind in ("tradeoff", "epsilon"):
        axes = result.plot(kind=kind, exact=dp.GaussianDP(1.0), accountant=dp.ZCDP(0.5))
        words = " ".join(text.get_text() for text in axes.get_legend().get_texts())
        assert all(name in words for name in ("claimed", "exact", "accountant"))
        matplotlib.pyplot.close(axes.figure)
    with pytest.raises(dp.DpcheckError, match="kind"):
        result.plot(kind="pie")


@pytest.mark.parametrize(("delta", "said"), [(0.0, "certified at delta = 0"), (0.01, "certified here")])
def test_what_is_certified_at_its_delta_is_drawn_on_axes_that_are_given(delta, said):
    pytest.importorskip("matplotlib").use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    result = dp.audit(
        lambda d, r, t: d.sum() + r.laplace(size=t), np.zeros(1), np.ones(1), dp.ApproxDP(1.0, delta), trials=1000
    )
    given = pyplot.subplots()[1]
    assert result.plot(given, kind="epsilon") is given
    words = [text.get_text() for text in given.get_legend().get_texts()]
    assert said in words
    assert not any("exact" in word for word in words)
    pyplot.close(given.figure)
