"""Counterexamples are shrunk: to the record and the value that matter, and certified on runs that chose nothing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.errors import InvalidInput
from dpcheck.recorded import script, shrinking

CLAIM = dp.PureDP(1.0)


def short(data, rng, trials):
    """A mean with a third of its noise."""
    return data.mean() + rng.laplace(scale=0.3 / len(data), size=trials)


def pair(n=20, seed=0):
    one = np.random.default_rng(seed).random(n)
    two = one.copy()
    one[7], two[7] = 0.0123, 0.98765
    one[3] = two[3] = 0.004
    return one, two


def refuted(mechanism, one, two, claim=CLAIM, **options):
    result = dp.audit(mechanism, one, two, claim, trials=4000, **options)
    assert result.outcome.value == "refuted"
    return result


def test_one_record_is_left_and_its_value_is_plain():
    found = dp.shrink(short, refuted(short, *pair()))
    assert found.records == (20, 1)
    assert len(found.data) == len(found.neighbour) == 1
    assert sorted([found.data[0], found.neighbour[0]]) != [0.0123, 0.98765]
    low, high = min(map(min, pair())), max(map(max, pair()))
    assert all(low <= value <= high for value in (*found.data, *found.neighbour))
    assert found.epsilon_lower > 1
    assert "1 now" in str(found)
    assert found.to_dict()["data"] == found.data.tolist()


def test_what_the_leak_needs_stays():
    def needs(data, rng, trials):  # the sum of large records, doubled where a certain other one is there
        factor = 1.0 if (data == 0.125).any() else 0.3
        return factor * data.sum() + rng.laplace(scale=0.5, size=trials)

    one = np.linspace(0.2, 0.9, 16)
    one[11] = 0.125
    two = one.copy()
    one[2], two[2] = 0.0, 1.0
    found = dp.shrink(needs, refuted(needs, one, two))
    assert found.records[1] == 2
    assert (found.data == 0.125).any()
    assert (found.neighbour == 0.125).any()


def test_a_claim_for_one_size_keeps_it():
    found = dp.shrink(short, refuted(short, *pair()), fixed_size=True)
    assert len(found.data) == 20
    assert len(np.unique(found.data)) < 20


def test_a_mechanism_that_refuses_few_records_keeps_as_many_as_it_needs():
    def at_least_five(data, rng, trials):
        if len(data) < 5:
            raise ValueError("too few")
        return short(data, rng, trials)

    assert dp.shrink(at_least_five, refuted(at_least_five, *pair())).records[1] == 5


def test_labels_stay_labels_and_columns_in_their_range():
    def weighted(data, rng, trials):
        assert set(np.unique(data[:, 1])) <= {-1.0, 1.0}
        assert (data[:, 0] >= 2).all()
        return (data[:, 0] * data[:, 1]).sum() + rng.laplace(scale=1.0, size=trials)

    rng = np.random.default_rng(4)
    one = np.stack([2 + rng.random(8), np.where(rng.random(8) < 0.5, -1.0, 1.0)], axis=1)
    two = one.copy()
    two[5] = [2.9, -one[5, 1]]
    found = dp.shrink(weighted, refuted(weighted, one, two))
    assert found.records[1] == 1


def test_lists_words_and_a_record_more():
    def votes(data, rng, trials):
        return np.where(rng.random(trials) < 0.9 if "yes" in data else rng.random(trials) < 0.2, "yes", "no")

    found = dp.shrink(votes, refuted(votes, ["no", "yes", "no"], ["no", "no", "no"]))
    assert (found.data, found.neighbour) == (["yes"], ["no"])
    assert found.event in ("z == 'yes'", "z == 'no'")

    def counted(data, rng, trials):
        return len(data) + rng.laplace(scale=0.2, size=trials)

    one = np.arange(6.0)
    found = dp.shrink(counted, refuted(counted, one, one[:5], adjacency="add-remove"), adjacency="add-remove")
    assert found.records[1] <= 2
    assert abs(len(found.data) - len(found.neighbour)) == 1


def test_at_delta():
    def shifted(data, rng, trials):
        return data.sum() + rng.normal(scale=0.4, size=trials)

    claim = dp.ApproxDP(1.0, 1e-3)
    found = dp.shrink(shifted, refuted(shifted, np.array([0.0, 0.5, 0.5]), np.array([1.0, 0.5, 0.5]), claim))
    assert found.delta == 1e-3
    assert claim.epsilon < found.epsilon_lower < dp.GaussianDP(2.5).epsilon_at(1e-3)


def test_the_bound_is_that_of_its_counts_and_of_runs_that_chose_nothing():
    result = refuted(short, *pair())
    found = dp.shrink(short, result)
    assert found.epsilon_lower == script.bound(found.hits, found.runs, found.other_hits, found.runs, 0.0, found.level)
    assert found.level <= found.failure_probability == result.failure_probability


def test_what_is_private_is_hardly_ever_certified(monkeypatch):
    """Every step is taken for shown, so that only the last count, on fresh runs, stands between a null and a lie."""

    def tight(data, rng, trials):
        return data.sum() + rng.laplace(size=trials)

    monkeypatch.setattr(
        shrinking._Search, "shows", lambda self, pair: setattr(self, "tried", self.tried + 1) or self.tried < 8
    )
    result = refuted(tight, np.array([0.0, 0.3, 0.3]), np.array([1.0, 0.3, 0.3]), dp.PureDP(0.5))
    result = type(result)(**{**{f: getattr(result, f) for f in result.__dataclass_fields__}, "claim": CLAIM})
    wrong = 0
    for seed in range(60):
        try:
            dp.shrink(tight, result, trials=500, failure_probability=0.2, fixed_size=True, seed=seed)
        except InvalidInput:
            continue
        wrong += 1
    assert wrong <= 23  # at most 12 in the mean; more than 23 of 60 at rate .2 has probability 5e-4


def test_no_runs_are_used_twice(monkeypatch):
    """Those that choose an event do not count it."""
    used, record = [], shrinking.record_outputs
    monkeypatch.setattr(
        shrinking, "record_outputs", lambda *run, seed, **rest: used.append(seed) or record(*run, seed=seed, **rest)
    )
    dp.shrink(short, refuted(short, *pair()))
    assert len(used) > 4
    assert len(set(used)) == len(used)


def test_levels_of_all_turns_together_are_the_failure_probability(monkeypatch):
    spent = []
    monkeypatch.setattr(shrinking._Search, "certified", lambda self, pair, level: spent.append(level))
    result = refuted(short, *pair())
    with pytest.raises(InvalidInput, match="shows it on fresh runs"):
        dp.shrink(short, result)
    assert 1 < len(spent) <= shrinking.TURNS
    assert sum(spent) == pytest.approx(result.failure_probability)


@pytest.mark.usefixtures("modules_known")
def test_the_same_seed_the_same_pair_whatever_runs_it():
    result = refuted(short, *pair())
    found = [dp.shrink(short, result, seed=3) for _ in range(2)]
    assert str(found[0]) == str(found[1])
    with dp.in_workers(short, 1) as one, dp.in_workers(short, 2) as two:
        assert str(dp.shrink(one, result, trials=500)) == str(dp.shrink(two, result, trials=500))


def test_what_cannot_be_shrunk_is_said():
    with pytest.raises(InvalidInput, match=r"no counterexample to shrink: short is (consistent|undecided)"):
        dp.shrink(short, dp.audit(short, *pair(), dp.PureDP(5.0), trials=1000))

    def keyed(data, rng, trials):
        return data["x"] + rng.laplace(size=trials)

    found = refuted(keyed, {"x": 0.0}, {"x": 5.0})
    with pytest.raises(InvalidInput, match="arrays or lists of records, not a dict"):
        dp.shrink(keyed, found)

    def transcripts(data, rng, trials):
        return [["a"] * int(1 + data[0] + rng.integers(2)) for _ in range(trials)]

    with pytest.raises(InvalidInput, match="real numbers or words"):
        dp.shrink(transcripts, refuted(transcripts, np.zeros(1), np.ones(1)))


def test_the_shortest_event_that_is_clear():
    rng = np.random.default_rng(0)
    x, y = rng.laplace(size=4000), 2.1234 + rng.laplace(size=4000)
    best, plain = (script.simplest_event(x, y, 0.0, 0.05, above) for above in (None, 1.0))
    assert len(plain.text) <= len(best.text)
    assert 1.0 < plain.bound <= best.bound
    assert plain.bound >= (best.bound + 1.0) / 2


def test_the_script_holds_the_shrunk_pair(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from dpcheck.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mech.py").write_text(
        "def leaky(data, rng, trials):\n    return data.mean() + rng.laplace(scale=0.3 / len(data), size=trials)\n"
    )
    for name, values in zip("ab", pair(), strict=True):
        np.save(f"{name}.npy", values)
    asked = ["audit", "mech.py:leaky", "--data", "a.npy", "--neighbour", "b.npy", "--epsilon", "1", "--trials", "4000"]
    done = CliRunner().invoke(main, [*asked, "--shrink", "--script", "show.py"])
    assert done.exit_code == 1, done.output
    assert "SHRUNK  leaky is not 1-DP" in done.output
    assert "20 records before, 1 now" in done.output
    for name in "ab":
        (tmp_path / f"{name}.npy").unlink()
    text = (tmp_path / "show.py").read_text()
    assert "dpcheck" not in text
    assert len(text.splitlines()) <= 14
    ran = subprocess.run([sys.executable, "show.py"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout.split("epsilon >= ")[1].split(",")[0]) > 1
