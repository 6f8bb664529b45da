"""Anytime audits that stop, are kept and go on; what makes two audits the same; memory; rare leaks."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import pathlib
import sys
import tracemalloc
import types

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.auditing import scores
from dpcheck.auditing.identity import fingerprint
from dpcheck.errors import InvalidInput, MechanismError

ZERO, ONE = np.array([0.0]), np.array([1.0])
SCALE = 1.0


def laplace(data, rng, trials):
    return data.sum() + SCALE * rng.laplace(size=trials)


def other(data, rng, trials):
    return data.sum() + 1.01 * rng.laplace(size=trials)


def stopped(mechanism=laplace, data=ZERO, neighbour=ONE, claim=dp.PureDP(1.0), samples=5000, **options):  # noqa: B008
    return dp.audit(mechanism, data, neighbour, claim, mode="anytime", max_samples=samples, **options)


@pytest.fixture(scope="module")
def kept():
    """The state of a short audit, as a store would bring it back."""
    return json.loads(json.dumps(stopped().state))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"claim": dp.PureDP(1.1)}, "the claim was 1-DP, now it is 1.1-DP"),
        ({"claim": dp.ApproxDP(1.0, 1e-6)}, r"the claim was 1-DP, now it is \(1, 1e-06\)-DP"),
        ({"seed": 3}, "the seed was 0, now it is 3"),
        ({"neighbour": np.array([0.5])}, "the pair has other values"),
        ({"data": np.zeros(1, dtype=np.float32)}, "the pair has other values"),
        ({"mechanism": other}, "the source of other was changed"),
        ({"score": scores.Identity()}, "the score was auto, now it is output"),
        ({"failure_probability": 0.01}, "the failure probability was 0.05, now it is 0.01"),
        ({"claim": dp.PureDP(2.0), "seed": 1}, "the claim was 1-DP, now it is 2-DP; the seed was 0, now it is 1"),
    ],
)
def test_a_state_goes_on_only_with_what_it_began_with(kept, change, says):
    with pytest.raises(InvalidInput, match=f"belongs to another audit: {says}; start anew"):
        stopped(resume=kept, **{"samples": 8000, **change})


def test_a_global_of_the_mechanism_is_part_of_it(kept, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 0.9)
    with pytest.raises(InvalidInput, match="the source of laplace was changed"):
        stopped(resume=kept, samples=8000)


def test_a_mechanism_with_noise_of_its_own_cannot_go_on():
    own = np.random.default_rng(0)

    def unseeded(data, rng, trials):
        return np.round(data.sum() + own.laplace(size=trials))

    state = stopped(unseeded).state
    with pytest.raises(InvalidInput, match=r"draws from something else|another audit"):
        stopped(unseeded, resume=state, samples=8000)


def test_other_outputs_are_not_added_up_even_where_they_fill_as_many_cells():
    """Coins have two cells whatever they show, and continuous noise happens to fill as many as it did."""
    own = np.random.default_rng(0)

    def unseeded(data, rng, trials):
        return (own.random(trials) < 0.4 + 0.1 * data.sum()).astype(float)

    state = stopped(unseeded).state
    with pytest.raises(InvalidInput, match="does not return what it returned when the state was stored"):
        stopped(unseeded, resume=state, samples=8000)


def test_a_state_of_an_older_version_is_refused_with_what_to_do(kept):
    old = {"epsilons": [0.1], "bold": {}, "tested": 5, "audit": kept["audit"]}
    with pytest.raises(InvalidInput, match=r"this version of dpcheck: .* start anew"):
        stopped(resume=old, samples=8000)


@pytest.mark.parametrize(
    "change",
    [
        {"right": 10**9},
        {"tested": 10},
        {"horizon": 77},
        {"horizon": float("nan")},
        {"halvings": 7},
        {"chunk_number": -1},
        {"counts": [[1, 2]]},
        {"fresh": "many"},
        {"stages": [[]]},
        {"stages": []},
    ],
)
def test_a_state_that_was_tampered_with_is_refused(kept, change):
    with pytest.raises(InvalidInput, match=r"not the state|draws from something else|looks need"):
        stopped(resume={**kept, **change}, samples=8000)


@pytest.mark.parametrize(
    "change", [{"right": [float("nan")]}, {"right": [10**6]}, {"delta": 0.5}, {"samples": 3}, {"guesses": [7]}]
)
def test_a_stage_that_was_tampered_with_is_refused(kept, change):
    forged = json.loads(json.dumps(kept))
    forged["stages"][0][-1].update(change)
    with pytest.raises(InvalidInput, match="not the state"):
        stopped(resume=forged, samples=8000)


def test_going_on_takes_the_runs_that_were_left(kept):
    once, twice = stopped(samples=9000), stopped(samples=9000, resume=kept)
    assert once.counts["tested"] == twice.counts["tested"] > 8000
    # Nothing is left to do: the result is that of the state.
    again = stopped(samples=5000, resume=kept)
    assert again.state["tested"] == kept["tested"]


def test_watching_and_stopping_by_hand():
    seen = []

    def watch(look):
        seen.append(look)
        return look.samples > 2000

    result = stopped(samples=50_000, until=watch, chunk=500)
    assert 2000 < result.counts["tested"] < 4000
    assert [look.samples for look in seen] == sorted(look.samples for look in seen)
    assert stopped(samples=6000, resume=seen[-1].state()).counts["tested"] > 4000
    with pytest.raises(InvalidInput, match="until must be"):
        stopped(until="bored")


def test_memory_does_not_grow_with_the_runs():
    def peak(samples):
        tracemalloc.start()
        stopped(samples=samples, chunk=500)
        try:
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10_000)  # imports and caches
    # Up to 100,000 outputs teach the next stage; beyond, none is kept. 160,000 alone would be 1.3 MB more.
    assert peak(320_000) < peak(160_000) + 600_000


def test_a_curator_that_leaks_once_in_a_billion_is_not_refuted_and_the_result_says_so():
    """It prints its data with probability 1e-9, else answers with private noise: 1e-9 is out of any sample's sight."""

    def curator(data, rng, trials):
        noisy = data.sum() + rng.laplace(size=trials)
        return np.where(rng.random(trials) < 1e-9, 1e6 + data.sum(), noisy)

    for mode in ("fixed", "anytime"):
        result = dp.audit(curator, ZERO, ONE, dp.PureDP(1.0), trials=20_000, mode=mode)
        assert result.outcome == "consistent"
        assert result.visible.smallest_probability == pytest.approx(3 / (result.counts["tested"] / 2))
        assert 1.4e-4 < result.visible.smallest_probability < 2.1e-4
        assert "events below probability 0.0002 were out of sight" in str(result)
        assert result.verdict().numbers["smallest_visible_probability"] == result.visible.smallest_probability


# -- fingerprints ----------------------------------------------------------------------------------------------------


def written(folder: pathlib.Path, text: str, helper: str = "SCALE = 1\n") -> types.ModuleType:
    (folder / "user_helper.py").write_text(helper)
    (folder / "user_mechanisms.py").write_text(text)
    for name in ("user_helper", "user_mechanisms"):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


SOURCE = """
import numpy as np
import user_helper
B = 2.0
def scale(): return B * user_helper.SCALE
def mechanism(data, rng, trials, factor=1.0): return data.sum() + factor * scale() * rng.laplace(size=trials)
class Curator:
    def __init__(self, scale): self.scale = scale
    def __call__(self, data, rng, trials): return data.sum() + self.scale * rng.laplace(size=trials)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("B = 2.0", "B = 2.5"),
        ("return B * user", "return 1 + user"),
        ("factor=1.0", "factor=1.1"),
        ("+ factor", "- factor"),
    ],
)
def test_fingerprint_follows_what_a_function_uses(tmp_path, old, new):
    before = fingerprint(written(tmp_path, SOURCE).mechanism)
    assert fingerprint(written(tmp_path, SOURCE).mechanism) == before
    assert fingerprint(written(tmp_path, "# a comment elsewhere\n" + SOURCE).mechanism) == before
    assert fingerprint(written(tmp_path, SOURCE.replace(old, new)).mechanism) != before
    assert fingerprint(written(tmp_path, SOURCE, "SCALE = 3\n").mechanism) != before


def test_fingerprint_follows_code_in_another_folder_of_the_project(tmp_path, monkeypatch):
    (tmp_path / "noise").mkdir()
    (tmp_path / "app").mkdir()
    noise, app = tmp_path / "noise" / "distant_noise.py", tmp_path / "app" / "distant_app.py"
    noise.write_text("def draw(rng, trials):\n    return rng.laplace(size=trials)\n")
    app.write_text(
        "from distant_noise import draw\ndef mechanism(data, rng, trials):\n    return data.sum() + draw(rng, trials)\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "noise")
    monkeypatch.syspath_prepend(tmp_path / "app")
    mechanism = importlib.import_module("distant_app").mechanism
    before = fingerprint(mechanism)
    assert before == fingerprint(mechanism)
    noise.write_text(noise.read_text().replace("laplace(", "laplace(scale=2.0, "))
    assert fingerprint(mechanism) != before


def test_fingerprint_of_objects_partials_and_closures(tmp_path):
    module = written(tmp_path, SOURCE)
    assert fingerprint(module.Curator(1.0)) == fingerprint(module.Curator(1.0)) != fingerprint(module.Curator(2.0))
    partial = functools.partial(module.mechanism, factor=2.0)
    assert fingerprint(partial) == fingerprint(functools.partial(module.mechanism, factor=2.0))
    assert fingerprint(partial) != fingerprint(functools.partial(module.mechanism, factor=3.0))

    def made(scale):
        return dp.vectorize(lambda data, rng: scale * rng.laplace())

    assert fingerprint(made(1.0)) == fingerprint(made(1.0)) != fingerprint(made(np.array([1.0])))
    assert fingerprint(module.Curator(1.0).__call__) != fingerprint(module.Curator(2.0).__call__)
    loop: list = []
    loop.append(loop)
    assert fingerprint(loop) == fingerprint(loop)
    assert fingerprint({"b": 1, "a": {2, 1}}) == fingerprint({"a": {1, 2}, "b": 1})


def test_errors_of_the_mechanism_pass_through_a_watch():
    def fails(data, rng, trials):
        raise OSError("disk")

    with pytest.raises(MechanismError, match="raised OSError"):
        stopped(fails, until=lambda look: False)
