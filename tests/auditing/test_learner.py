"""What an anytime audit goes on learning: from earlier outputs only, the same when resumed, in bounded memory."""

from __future__ import annotations

import base64
import functools
import json
import re

import numpy as np
import pytest
from curtailed import at_most

import dpcheck as dp
from dpcheck.auditing import learner
from dpcheck.auditing.learner import Learner
from dpcheck.auditing.runner import Runner
from dpcheck.errors import InvalidInput

ZERO, ONE = np.zeros(1), np.ones(1)
MIXING = np.eye(5) + 0.3


def weak(data, rng, trials):
    """Five columns, each moved by 0.2 beside Laplace noise, and mixed: epsilon 1, of which no column shows a fifth."""
    return (0.2 * data.sum() + rng.laplace(size=(trials, 5))) @ MIXING


def tight(data, rng, trials):
    """Randomised response of one bit, at epsilon 1, among nine columns of noise."""
    told = np.where(rng.random(trials) < np.e / (1 + np.e), data.sum(), 1 - data.sum())
    return np.column_stack([rng.laplace(size=(trials, 9)), told])


def audited(mechanism=weak, claim=dp.PureDP(0.1), samples=8000, **options):  # noqa: B008
    return dp.audit(mechanism, ZERO, ONE, claim, mode="anytime", max_samples=samples, **options)


def stages(result):
    return result.state["stages"][0]


def test_a_score_is_taught_by_outputs_before_its_stage_and_by_all_of_them(monkeypatch):
    told = []
    draw, teach = Runner.both, Learner._teach

    def drawn(self, samples, *key, **options):
        told.append(("drawn", samples))
        return draw(self, samples, *key, **options)

    def taught(self, stage, taught_by, tried):
        told.append(("taught", sum(taught_by)))
        assert sum(map(len, self.rows[0])) + sum(map(len, self.rows[1])) == sum(taught_by)
        return teach(self, stage, taught_by, tried)

    monkeypatch.setattr(Runner, "both", drawn)
    monkeypatch.setattr(Learner, "_teach", taught)
    audited(chunk=500)
    learned = [place for place, (kind, _) in enumerate(told) if kind == "taught"]
    assert len(learned) >= 2
    for place in learned:
        assert told[place][1] == sum(size for kind, size in told[:place] if kind == "drawn")


def test_later_outputs_change_nothing_that_was_counted():
    """The stages of a short audit are the first ones of a long one, whose horizon is its double."""
    short, seen = audited(samples=8000), []

    def watch(look):
        seen.append(look.state())
        return look.samples >= 3600

    audited(samples=8000, until=watch)
    assert stages(short)[: len(seen[-1]["stages"][0])] == seen[-1]["stages"][0]
    assert len(seen[-1]["stages"][0]) >= 3


@pytest.fixture(scope="module")
def whole():
    """An audit that nobody stops."""
    return audited(samples=8000, chunk=100)


@pytest.mark.parametrize("stop", [900, 1800, 2500])
def test_resuming_finds_the_same_scores(whole, stop):
    """Stopped at a look, between two, before and after the score was learned anew."""
    kept = []

    def watch(look):
        kept[:] = [look.state()]
        return look.samples >= stop

    audited(samples=8000, chunk=100, until=watch)
    resumed = audited(samples=8000, chunk=100, resume=json.loads(json.dumps(kept[0])))
    assert stages(resumed) == stages(whole)
    assert resumed.epsilon_lower == whole.epsilon_lower
    assert resumed.counts == whole.counts
    assert resumed.curve.to_dict() == whole.curve.to_dict()
    assert resumed.state["learner"] == whole.state["learner"]


def test_what_is_learned_on_the_way_finds_what_the_first_outputs_do_not_teach(monkeypatch):
    def median(seeds):
        return np.median([audited(samples=20_000, seed=seed).epsilon_lower for seed in seeds])

    learned = median(range(5))
    monkeypatch.setattr(Learner, "due", lambda self, state: False)
    # Medians of 0.59 and 0.47 with these seeds.
    assert learned > 0.5
    assert learned > 1.15 * median(range(5))


def test_a_score_that_is_learned_at_every_look_keeps_the_level():
    def refuted(seed):
        return audited(tight, dp.PureDP(1.0), samples=3000, seed=seed, until="refuted").outcome == dp.Outcome.REFUTED

    # At most binomial(20, 0.05): more than 5 has probability 3e-4.
    assert at_most(5, 20, refuted)


def test_no_more_outputs_are_kept_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(learner, "MOST_KEPT", 10_000)
    results = [audited(samples=samples) for samples in (4000, 8000, 16_000)]
    sizes = [len(json.dumps(result.state["learner"])) for result in results]
    # Eight bytes a number, four characters for three bytes, and room for the rest.
    assert max(sizes) < 10_000 * 8 * 4 / 3 + 20_000
    assert not results[-1].state["learner"]["open"]
    for result in results:
        assert result.counts["runs_data"] + result.counts["runs_neighbour"] == result.counts["tested"]
    resumed = audited(samples=24_000, resume=json.loads(json.dumps(results[-1].state)))
    assert stages(resumed)[: len(stages(results[-1]))] == stages(results[-1])


@functools.cache
def kept():
    return json.dumps(audited(samples=4000).state)


INFINITE = base64.b64encode(np.full((2000, 5), np.inf).astype("<f8").tobytes()).decode()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", ["", ""]),
        ("rows", ["AAAA", "AAAA"]),
        ("rows", [INFINITE, INFINITE]),
        ("rows", 3),
        ("taught_by", [1, 1]),
        ("taught_by", [float("nan"), 0]),
        ("taught_by", [10**9, 0]),
        ("stage", 0),
        ("stage", 99),
        ("seen", []),
        ("seen", [[1.5, 2]]),
        ("settled", [[-1, -1]]),
        ("tried", 5),
    ],
)
def test_outputs_that_somebody_edited_are_refused(name, value):
    state = json.loads(kept())
    assert state["learner"]["stage"] > 0
    state["learner"][name] = value
    with pytest.raises(InvalidInput, match=r"not the state|does not return what it returned"):
        audited(samples=6000, resume=state)
    with pytest.raises(InvalidInput, match="not the state"):
        audited(samples=6000, resume={**state, "learner": {}})


LINES = dp.scores.Projection(), dp.scores.Classifier("logistic")


def test_cells_of_a_stage_are_named_by_outputs_as_they_were_returned():
    """The parity of the sum tells, which no line sees: one of the lines is tried anew at each look, and cells win."""

    def parity(data, rng, trials):
        first = rng.integers(0, 6, trials)
        odd = rng.random(trials) < (0.8 if data.sum() else 0.2)
        return np.stack([first, 2 * rng.integers(0, 3, trials) + (first + odd) % 2], axis=1)

    result = audited(parity, samples=3000, score=[dp.scores.Cells(), *LINES])
    assert result.score == "cell"
    assert result.state["learner"]["stage"] > 0
    assert re.match(r"output = \[\d, \d\] or \[\d, \d\] or ", result.event)
    for parity_of_side, words in enumerate(result.event.split("back:")):
        sums = [int(first) + int(second) for first, second in re.findall(r"\[(\d), (\d)\]", words)]
        assert len(sums) >= 3
        assert {total % 2 for total in sums} == {parity_of_side}


def test_scores_that_read_the_outputs_themselves_and_claimed_curves_are_chosen_once():
    for options in ({"score": lambda y: y[:, 0]}, {"claim": dp.GaussianDP(1.0)}):
        assert audited(samples=4000, **options).state["learner"] == {}


def first_column(outputs):
    """Of what the mechanism returned, which is a pair."""
    assert isinstance(outputs, tuple)
    return outputs[0]


def test_a_score_that_reads_the_outputs_themselves_is_not_tried_on_those_that_are_kept():
    def pairs(data, rng, trials):
        return 0.01 * data.sum() + rng.normal(size=trials), data.sum() + rng.laplace(size=trials)

    result = audited(pairs, samples=4000, score=[first_column, dp.scores.Projection()])
    assert result.score == "projection"
    assert result.state["learner"]["stage"] > 0
