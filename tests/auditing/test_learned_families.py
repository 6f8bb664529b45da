"""Learned scores beyond lines: each sees its kind of leak on fresh outputs, and none stumbles over odd columns."""

from __future__ import annotations

import numpy as np
import pytest
from curtailed import at_most

import dpcheck as dp
from dpcheck.auditing import plans, scores
from dpcheck.auditing.cells import learn_partition
from dpcheck.auditing.choosing import choose
from dpcheck.auditing.families import Additive, Flexible, Pairs, Quadratic, Shifts, _law_of
from dpcheck.auditing.mechanisms import Outputs

EVERY = [
    Quadratic(),
    Additive(),
    Additive(components=True),
    Shifts(),
    Shifts(components=True),
    Pairs(),
    Flexible("kernel"),
    Flexible("neighbours"),
    Flexible("network"),
]


def outputs(matrix):
    return Outputs(matrix, np.asarray(matrix, dtype=float))


def scales(leak, rng, trials):
    noise = rng.normal(size=(trials, 4))
    noise[:, 0] *= 1 + 0.8 * leak
    turned = np.linalg.qr(np.arange(16.0).reshape(4, 4) + np.eye(4))[0]
    return noise @ turned


def many_weak(leak, rng, trials):
    return rng.laplace(size=(trials, 8)) + 0.3 * leak


def product(leak, rng, trials):
    noise = rng.laplace(size=(trials, 6))
    agree = np.where(rng.random(trials) < 0.25 + 0.5 * leak, 1, -1)
    noise[:, 3] = np.abs(noise[:, 3]) * np.sign(noise[:, 1]) * agree
    return noise


def ring(leak, rng, trials):
    angle = rng.random(trials) * 2 * np.pi
    return (1 + 0.5 * leak + 0.2 * rng.normal(size=trials))[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def area(score, mechanism, *, taught=500, seed=0):
    """Chance that a fresh output on data scores higher than one on the neighbour."""
    rng = np.random.default_rng(seed)
    scorer = score.fit(outputs(mechanism(1, rng, taught)), outputs(mechanism(0, rng, taught)), rng)
    one, two = (scorer(outputs(mechanism(leak, rng, 1000))) for leak in (1, 0))
    return float((one[:, None] > two).mean())


@pytest.mark.parametrize(
    ("score", "mechanism", "least"),
    [
        (Quadratic(), scales, 0.62),
        (Additive(), many_weak, 0.66),
        (Additive(components=True), many_weak, 0.62),
        (Shifts(), many_weak, 0.68),
        (Shifts(components=True), many_weak, 0.66),
        (Pairs(), product, 0.70),
        (Flexible("kernel"), ring, 0.85),
        (Flexible("neighbours"), ring, 0.85),
        (Flexible("network"), ring, 0.80),
    ],
)
def test_each_sees_its_kind_of_leak(score, mechanism, least):
    assert area(score, mechanism) > least
    # A linear discriminant sees none of the others.
    if mechanism is not many_weak:
        assert area(dp.scores.Projection(), mechanism) < 0.56


@pytest.mark.parametrize(("mixing", "components"), [(np.eye(10), False), (np.eye(10) + 0.3, True)])
def test_many_weak_shifts_of_one_law_score_as_the_true_log_ratio(mixing, components):
    """Laplace noise that is moved by a tenth of its scale in each of ten columns, which are mixed or not."""
    rng = np.random.default_rng(3)
    one, two, *fresh = (rng.laplace(size=(5000, 10)) + 0.1 * leak for leak in (1, 0, 1, 0))
    scorer = Shifts(components=components).fit(outputs(one @ mixing), outputs(two @ mixing), rng)
    noise = np.concatenate(fresh)
    truth = (np.abs(noise) - np.abs(noise - 0.1)).sum(axis=1)
    assert np.corrcoef(scorer(outputs(noise @ mixing)), truth)[0, 1] > 0.9
    # Splines of their own for every column drown in parameters.
    splines = Additive(components=components).fit(outputs(one @ mixing), outputs(two @ mixing), rng)
    assert np.corrcoef(splines(outputs(noise @ mixing)), truth)[0, 1] < 0.9


def test_the_law_of_a_few_values_is_no_accident():
    """Values that are all the same, or few of them, or of two kinds, make a finite log-density."""
    for values in (np.zeros(50), np.array([0.0, 1.0]), np.repeat([-1.0, 1.0], 200), np.arange(5.0)):
        assert np.isfinite(_law_of(values)(np.linspace(-20, 20, 101))).all()


@pytest.mark.parametrize("score", EVERY, ids=str)
def test_odd_columns(score):
    rng = np.random.default_rng(1)

    def drawn():
        found = rng.normal(size=(80, 4))
        found[:, 0] = 7.0
        found[:, 1] *= 1e200
        found[rng.random(80) < 0.2, 2] = np.nan
        return outputs(found)

    scorer = score.fit(drawn(), drawn(), rng)
    assert np.isfinite(scorer(drawn())).all()
    # One input leaves columns constant, and two are the same.
    steps = np.repeat(np.arange(40.0)[:, None], 3, axis=1)
    scorer = score.fit(outputs(np.ones((40, 3))), outputs(steps), rng)
    assert np.isfinite(scorer(outputs(steps))).all()
    same = outputs(np.ones((40, 3)))
    assert (score.fit(same, same, rng)(same) == 0).all()


def test_three_repeats_make_an_atom_of_continuous_outputs_and_of_rounded_ones_they_do_not():
    rng = np.random.default_rng(2)
    found = [rng.normal(size=20_000) for _ in range(2)]
    plain = learn_partition(*found)
    assert not plain.atom.any()
    found[0][:3] = 0.625
    seen = learn_partition(*found)
    assert seen.atom.sum() == 1
    assert seen.atom[seen.index(np.array([0.625]))[0]]
    rounded = learn_partition(*(np.round(side, 5) for side in found))
    assert not rounded.atom.any()


def ordered(data, rng, trials):
    places = np.argsort(rng.random((trials, 6)), axis=1).astype(float)
    swap = rng.random(trials) < (0.8 if data.sum() else 0.2)
    places[:, :2] = np.where(swap[:, None], -np.sort(-places[:, :2], axis=1), np.sort(places[:, :2], axis=1))
    return places


def test_the_score_of_few_outputs_is_learned_anew_by_the_counted_ones():
    """400 runs of permutations in which two items tell: exact epsilon is log 4, and most is found."""
    pair = np.zeros(1), np.ones(1)
    results = [dp.audit(ordered, *pair, dp.PureDP(0.5), trials=400, seed=seed) for seed in range(3)]
    assert sorted(result.epsilon_lower for result in results)[1] > 0.6
    for result in results:
        assert result.epsilon_lower < np.log(4) + 0.3
        assert result.counts["runs_data"] + result.counts["runs_neighbour"] == result.counts["tested"]
    again = dp.audit(ordered, *pair, dp.PureDP(0.5), trials=400, seed=0, workers=None)
    assert again.epsilon_lower == results[0].epsilon_lower


def tight(data, rng, trials):
    """Randomised response of one bit, at epsilon 1, among three columns of noise."""
    told = np.where(rng.random(trials) < np.e / (1 + np.e), data.sum(), 1 - data.sum())
    return np.concatenate([rng.laplace(size=(trials, 3)) + 0.0, told[:, None] * np.ones((trials, 1))], axis=1)


def test_a_score_that_is_chosen_and_learned_anew_keeps_the_level():
    def refuted(seed):
        return dp.audit(tight, np.zeros(1), np.ones(1), dp.PureDP(1.0), trials=120, seed=seed).outcome == "refuted"

    # At 5 %, 8 or more of 40 have probability 7e-4.
    assert at_most(7, 40, refuted)


def test_of_many_outputs_the_best_scores_on_few_are_taught_by_all(monkeypatch):
    """The second column tells; of the four scores two are left after 200 outputs, and the right one at the end."""
    monkeypatch.setattr(plans, "TRIED", 200)
    tried = []
    original = plans._best

    def best(rivals, held, *rest):
        tried.append((len(rivals), len(held[0])))
        return original(rivals, held, *rest)

    def second(data, rng, trials):
        return rng.normal(size=(trials, 2)) + np.array([0.0, 2.0]) * data.sum()

    monkeypatch.setattr(plans, "_best", best)
    rivals = [scores.Projection(along) for along in ([1.0, 0.0], [1.0, -0.2], [0.0, 1.0], [0.0, -1.0])]
    result = dp.audit(second, np.zeros(1), np.ones(1), dp.ApproxDP(1.0, 1e-5), trials=2000, held_out=0.25, score=rivals)
    assert tried == [(4, 200), (2, 500)]
    assert result.score in ("output[1]", "projection")
    assert result.outcome is dp.Outcome.REFUTED


@pytest.mark.parametrize("kind", ["logistic", "boosting"])
def test_columns_that_never_vary_teach_a_classifier_nothing(kind):
    result = dp.audit(
        lambda d, r, t: np.zeros((t, 2)),
        np.zeros(1),
        np.ones(1),
        dp.PureDP(1.0),
        trials=500,
        score=scores.Classifier(kind),
    )
    assert (result.outcome, result.epsilon_lower) == (dp.Outcome.UNDECIDED, 0.0)
    assert "every run on either input gave the same output" in result.reason()


def test_pairs_of_columns_are_looked_at_where_there_are_few():
    def names(width):
        matrix = np.random.default_rng(0).normal(size=(400, width))
        return {str(one) for one in choose("auto", scores.Outputs(matrix, matrix), 800, False)}

    assert names(12) - names(13) == {"pairs of columns"}
