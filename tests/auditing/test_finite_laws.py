"""Exact laws: sums, closed forms, simulation, and their privacy to 1e-9."""

import math

import numpy as np
import pytest

from dpcheck.auditing import finite_laws
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.errors import InvalidInput

SCORES = np.array([0.0, 0.4, 1.0, 1.0, 2.5])


@pytest.mark.parametrize("noise", ["laplace", "gumbel", "exponential"])
def test_noisy_min_sums_to_one_and_matches_simulation(noise):
    law = finite_laws.noisy_min(SCORES, 1.3, noise)
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    rng = np.random.default_rng(0)
    draws = {
        "laplace": lambda: rng.laplace(scale=1.3, size=(100_000, 5)),
        "gumbel": lambda: -rng.gumbel(scale=1.3, size=(100_000, 5)),
        "exponential": lambda: -rng.exponential(1.3, size=(100_000, 5)),
    }[noise]()
    seen = np.bincount((SCORES + draws).argmin(axis=1), minlength=5) / 1e5
    # Five cells, each beyond 5 standard errors with probability below 1e-6.
    assert np.abs(seen - law.probabilities).max() < 5 * 0.5 / math.sqrt(1e5)


def test_gumbel_noise_is_the_exponential_mechanism():
    one = finite_laws.noisy_min(SCORES, 0.7, "gumbel").probabilities
    assert one == pytest.approx(finite_laws.exponential_mechanism(SCORES, 1 / 0.7).probabilities, abs=1e-12)


def test_two_candidates_in_closed_form():
    # P(X > gap) for the difference of two Laplace noises: (1/2 + gap/4) e^-gap.
    law = finite_laws.noisy_min([0.0, 1.0], 1.0)
    assert law.probabilities[1] == pytest.approx(0.75 * math.exp(-1), abs=1e-13)


def test_exact_epsilons_of_known_mechanisms():
    rr = [finite_laws.randomised_response(i, 2, 0.75).probabilities for i in (0, 1)]
    assert exact_epsilon(*rr) == pytest.approx(math.log(3), abs=1e-12)
    geometric = [finite_laws.geometric(i, math.exp(-0.8), 60).probabilities for i in (0, 1)]
    assert geometric[1].sum() == pytest.approx(1.0, abs=1e-12)
    assert exact_epsilon(*geometric) == pytest.approx(0.8, abs=1e-9)


def test_sparse_vector_with_its_stop_is_private_and_without_it_is_not():
    # Ten queries of sensitivity 1, half of them moved up and half down; scales 2 and 4: epsilon 1 as proved.
    low, high = np.repeat([0.0, 1.0], 5), np.repeat([1.0, 0.0], 5)
    stopped = [finite_laws.above_threshold(a, 0.5, 2.0, 4.0).probabilities for a in (low, high)]
    assert [p.sum() for p in stopped] == pytest.approx([1.0, 1.0], abs=1e-12)
    assert 0.4 < exact_epsilon(*stopped) <= 1.0
    told = [finite_laws.above_threshold(a, 0.5, 2.0, 4.0, None).probabilities for a in (low, high)]
    assert len(told[0]) == 1024
    assert exact_epsilon(*told) > 2.0


def test_sparse_vector_against_simulation():
    answers = np.array([0.3, -1.0, 2.0])
    law = finite_laws.above_threshold(answers, 1.0, 1.0, 2.0)
    rng = np.random.default_rng(1)
    over = answers + rng.laplace(scale=2.0, size=(200_000, 3)) >= 1.0 + rng.laplace(size=(200_000, 1))
    first = np.where(over.any(axis=1), over.argmax(axis=1), 3)
    for place, transcript in enumerate(("1", "01", "001", "000")):
        # 5 standard errors: failure below 1e-6 each.
        assert abs((first == place).mean() - law.probability(transcript)) < 5 * 0.5 / math.sqrt(2e5)


def test_no_query_noise_gives_impossible_transcripts():
    laws = [finite_laws.above_threshold(a, 0.0, 1.0, 0.0, None) for a in ([0.0, 1.0], [1.0, 0.0])]
    assert laws[0].probability("01") > 0.1
    assert exact_epsilon(laws[0].probabilities, laws[1].probabilities) > 30


def test_permute_and_flip_is_stochastically_better_than_the_exponential_mechanism():
    assert (
        finite_laws.permute_and_flip(SCORES, 1.0).probabilities[0]
        > (finite_laws.exponential_mechanism(SCORES, 1.0).probabilities[0])
    )


def test_products_add_epsilons():
    laws = [finite_laws.randomised_response(i, 2, 0.75) for i in (0, 1)]
    twice = [finite_laws.product(law, law).probabilities for law in laws]
    assert exact_epsilon(*twice) == pytest.approx(2 * math.log(3), abs=1e-12)


def test_refuses():
    with pytest.raises(InvalidInput, match="at most 16"):
        finite_laws.above_threshold(np.zeros(17), 0.0, 1.0, 1.0)
    with pytest.raises(InvalidInput, match="finite"):
        finite_laws.noisy_min([math.nan], 1.0)


@pytest.mark.parametrize(
    ("law", "says"),
    [
        (lambda: finite_laws.randomised_response(2, 2, 0.5), "need 0 <= answer < choices >= 2 and keep in"),
        (lambda: finite_laws.geometric(0, 1.0), r"ratio must lie in \(0, 1\), got 1.0"),
        (lambda: finite_laws.noisy_min([0.0, 1.0], math.inf), "scale must be a finite number > 0, got inf"),
        (lambda: finite_laws.above_threshold([0.0], 0.0, 0.0, 1.0), "scales must be > 0"),
    ],
)
def test_parameters_of_no_law_are_named(law, says):
    with pytest.raises(InvalidInput, match=says):
        law()


@pytest.mark.parametrize("value", [0, 5, -5])
def test_the_ends_of_geometric_noise_hold_its_tails(value):
    found = finite_laws.geometric(value, 0.5, radius=3).probabilities
    wide = finite_laws.geometric(value, 0.5, radius=60).probabilities
    assert found.sum() == pytest.approx(1.0, abs=1e-15)
    assert found[-1] == pytest.approx(wide[63:].sum(), rel=1e-12)
    assert found[0] == pytest.approx(wide[:58].sum(), rel=1e-12)
