"""Adapters: canaries in any loop, and the examples of every library that is installed, each in its own environment."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.adapters import diffprivlib, opendp
from dpcheck.adapters.canaries import Canaries, GradientCanaries
from dpcheck.errors import InvalidInput, MissingExtra

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "adapters"


def example(name):
    spec = importlib.util.spec_from_file_location(f"adapters_{name}", EXAMPLES / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_white_box_canaries_refute_a_quarter_of_the_noise_and_leave_the_honest_loop():
    loop = example("numpy_training")
    honest = [loop.white_box(loop.NOISE, seed).audit(loop.CLAIM, failure_probability=0.01) for seed in range(4)]
    assert not any(result.outcome.value == "refuted" for result in honest)
    assert all(result.right > 0.6 * result.guesses for result in honest)  # they do see something
    broken = [loop.white_box(loop.NOISE / 4, seed).audit(loop.CLAIM) for seed in range(4)]
    assert all(result.outcome.value == "refuted" for result in broken)


def test_black_box_canaries():
    loop = example("numpy_training")
    assert loop.memorised().audit(dp.PureDP(3.0), guesses=150).outcome.value == "refuted"
    blind = Canaries(200)
    blind.score(np.random.default_rng(0).random(200))
    assert blind.audit(dp.PureDP(0.5), failure_probability=0.001).outcome.value == "undecided"


def test_the_score_of_a_gradient_canary_is_its_clip_times_its_batches():
    canaries = GradientCanaries(40, size=100, clip=2.0, rate=0.5, seed=3)
    assert len(set(canaries.places)) == 40
    for _ in range(400):
        total = np.zeros((10, 10))
        total.reshape(-1)[canaries.drawn()] += 2.0
        canaries.observe(total + 7.0, known=np.full((10, 10), 7.0))
    assert (canaries.scores[~canaries.included] == 0).all()
    assert canaries.scores[canaries.included] == pytest.approx(400, abs=80)  # 2 * 200, eight standard deviations
    other = GradientCanaries(40, size=100, clip=2.0, rate=0.5, seed=4)
    assert (other.included != canaries.included).any()


def test_coins_are_fair_and_records_are_those_that_are_in():
    shares = [Canaries(1000, seed).included.mean() for seed in range(20)]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.02)
    canaries = Canaries(6, 1)
    rows = np.arange(12).reshape(6, 2)
    assert (canaries.records(rows) == rows[canaries.included]).all()
    with pytest.raises(InvalidInput, match="6 canaries, got 2 records"):
        canaries.records(rows[:2])


def test_what_makes_no_sense_is_refused():
    for number in (1, True, 2.0):
        with pytest.raises(InvalidInput, match="at least 2 canaries"):
            Canaries(number)
    with pytest.raises(InvalidInput, match="as many coordinates"):
        GradientCanaries(11, size=10, clip=1.0)
    for clip, rate in ((0.0, 1.0), (1.0, 0.0), (1.0, 1.5)):
        with pytest.raises(InvalidInput, match="clip must be positive"):
            GradientCanaries(5, size=10, clip=clip, rate=rate)
    with pytest.raises(InvalidInput, match="can be called"):
        opendp.mechanism(3)
    with pytest.raises(InvalidInput, match="random state"):
        diffprivlib.mechanism(3)


def test_opacus_is_named_where_it_is_missing():
    if importlib.util.find_spec("opacus") is not None:
        pytest.skip("it is installed")
    from dpcheck.adapters import opacus

    with pytest.raises(MissingExtra, match=r"dpcheck\[torch\]"):
        opacus.attach(None, number=2, rate=1.0)


class Randomised:
    """Stands for a mechanism of diffprivlib."""

    def __init__(self, state):
        self._state = state

    def randomise(self, value):
        return value + self._state.laplace()


def test_adapters_give_mechanisms_that_repeat_and_can_be_sent():
    run = diffprivlib.mechanism(Randomised)
    one, two = (run(np.ones(1), np.random.default_rng(5), 30) for _ in range(2))
    assert (one == two).all()
    with dp.in_workers(run, 1) as spread:
        assert spread(np.ones(1), np.random.default_rng(5), 30).shape == (30,)
    result = dp.audit(run, np.zeros(1), np.ones(1), dp.PureDP(0.2), trials=2000)
    assert result.outcome.value == "refuted"
    assert result.mechanism == "Randomised"


def test_claims_are_those_of_the_map():
    class Measurement:
        def __init__(self, measure, said):
            self.output_measure, self._said = measure, said

        def map(self, d_in):
            return self._said

    assert opendp.claim(Measurement("MaxDivergence", 0.5), 1) == dp.PureDP(0.5)
    assert opendp.claim(Measurement("ZeroConcentratedDivergence", 0.5), 1) == dp.ZCDP(0.5)
    assert opendp.claim(Measurement("Approximate(MaxDivergence)", (1.0, 1e-6)), 1) == dp.ApproxDP(1.0, 1e-6)
    with pytest.raises(InvalidInput, match="give the claim yourself"):
        opendp.claim(Measurement("RenyiDivergence", None), 1)


# -- the libraries themselves ------------------------------------------------------------------------------------------


def test_opendp_keeps_what_its_map_says():
    pytest.importorskip("opendp", reason="needs dpcheck[subjects]")
    module = example("opendp_measurement")
    claim = opendp.claim(module.SUM, 1)
    assert isinstance(claim, dp.PureDP)
    assert claim.epsilon == pytest.approx(1.0, abs=1e-6)
    assert module.audited(claim).outcome.value != "refuted"
    assert module.audited(dp.PureDP(0.3)).outcome.value == "refuted"


def test_diffprivlib_keeps_its_epsilon():
    pytest.importorskip("diffprivlib", reason="needs dpcheck[subjects]")
    module = example("diffprivlib_model")
    assert module.audited(module.LAPLACE, trials=2000).outcome.value == "consistent"
    assert module.audited(module.BOUNDED, trials=200).outcome.value != "refuted"


def test_opacus_with_canaries():
    pytest.importorskip("opacus", reason="needs dpcheck[torch]")
    module = example("opacus_training")
    claim = dp.GaussianDP(module.EPOCHS**0.5 / module.NOISE)
    assert module.trained(module.NOISE).audit(claim, failure_probability=1e-3).outcome.value == "undecided"
    assert module.trained(module.NOISE / 4).audit(claim).outcome.value == "refuted"
    sampled = module.trained(0.05, rate=0.5, number=300)
    found = sampled.audit(dp.PureDP(1.0), guesses=200)
    assert found.epsilon_lower > 1  # almost no noise: who was never drawn is hardly told apart, the others are


def test_a_jax_loop_with_canaries():
    pytest.importorskip("jax", reason="needs dpcheck[jax]")
    module = example("jax_training")
    claim = dp.GaussianDP(module.STEPS**0.5 / module.NOISE)
    assert module.trained(module.NOISE).audit(claim, failure_probability=1e-3).outcome.value == "undecided"
    assert module.trained(module.NOISE / 4).audit(claim).outcome.value == "refuted"
