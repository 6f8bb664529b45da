"""Cells with given log-ratios: masses of largest empirical likelihood; when a known ratio is doubted."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from dpcheck.auditing import cells, rules
from dpcheck.auditing.mechanisms import Outputs
from dpcheck.auditing.scores import Projection
from dpcheck.auditing.teaching import fit


def naive_masses(total, lean):
    """Largest sum of total * log(mass) with mass summing to 1 and mass @ lean = 0, by a general solver."""
    k = len(total)
    found = optimize.minimize(
        lambda m: -(total @ np.log(m)) / total.sum(),
        np.full(k, 1 / k),
        jac=lambda m: -total / m / total.sum(),
        bounds=[(1e-9, 1)] * k,
        constraints=[
            {"type": "eq", "fun": lambda m: m.sum() - 1, "jac": lambda m: np.ones(k)},
            {"type": "eq", "fun": lambda m: m @ lean, "jac": lambda m: lean},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    return found.x


@pytest.mark.parametrize("seed", range(4))
def test_masses_are_those_of_largest_empirical_likelihood(seed):
    rng = np.random.default_rng(seed)
    total, posterior = rng.integers(5, 400, 6), rng.uniform(0.05, 0.95, 6)
    posterior[:2] = 0.2, 0.9
    p, q = cells._balanced(total, posterior)
    assert p.sum() == pytest.approx(1)
    assert q.sum() == pytest.approx(1)
    assert p / (p + q) == pytest.approx(posterior, abs=1e-6)
    assert (p + q) / 2 == pytest.approx(naive_masses(total + 0.5, 2 * posterior - 1), abs=1e-5)


@pytest.mark.parametrize("posterior", [[0.5, 0.5, 0.5], [0.7, 0.9, 0.6], [0.1, 0.5, 0.4]])
def test_no_balance_where_all_cells_lean_to_one_side(posterior):
    p, q = cells._balanced(np.array([10, 0, 7]), np.array(posterior))
    assert p.sum() == pytest.approx(1)
    assert q.sum() == pytest.approx(1)
    assert (p > 0).all()
    assert (q > 0).all()


def test_a_true_ratio_is_hardly_ever_doubted_and_a_wrong_one_is():
    rng = np.random.default_rng(3)
    posterior = rng.uniform(0.1, 0.9, 30)

    def doubted(given):
        total = rng.poisson(60, 30)
        hits = rng.binomial(total, posterior)
        return cells._objection(np.stack([hits, total - hits], axis=1), given)

    # The level is 1e-5 up to the error of the chi-squared approximation: one in 500 has probability 5e-3.
    assert sum(doubted(posterior) for _ in range(500)) <= 1
    wrong = stats.norm.cdf(stats.norm.ppf(posterior) + 0.5)
    assert all(doubted(wrong) for _ in range(50))


@pytest.mark.parametrize("outputs", [200, 3000])
def test_learned_scores_meet_outputs_that_did_not_teach_them(outputs):
    # In fifty columns of nothing a direction is always found, and what it separates is what it was taught by.
    rng = np.random.default_rng(0)
    p, q = (Outputs(matrix, matrix) for matrix in rng.normal(size=(2, outputs, 50)))
    scorer, s_p, s_q = fit(Projection(), p, q, rng)
    assert scorer(p).shape == (outputs,)
    assert len(s_p) == len(s_q) == outputs
    # Two means of fresh scores differ by no more than chance: five standard errors of the larger sample.
    far = (s_p.mean() - s_q.mean()) / math.sqrt((s_p.var() + s_q.var()) / len(s_p))
    assert abs(far) < 5
    taught = Projection().fit(p, q, rng)
    assert taught(p).mean() - taught(q).mean() == pytest.approx(1.0)


def test_laws_that_end_make_the_ratio_jump():
    rng = np.random.default_rng(8)
    flat = jumps = 0
    for _ in range(40):
        learned = cells.learn_partition(rng.uniform(0, 5, 600), rng.uniform(1, 6, 600))
        ratio, centres = learned.log_ratio[:-1], learned.centres
        flat += np.abs(ratio[np.abs(centres - 3) < 1.7]).max() < 0.5
        jumps += ratio[centres < 0.8].min() > 3 and ratio[centres > 5.2].max() < -3
    # 40 and 36 of 40 on this seed; lines and kinks alone never reach 3, with 1.9 at most.
    assert flat >= 34
    assert jumps >= 30


@pytest.mark.parametrize(("learned", "guessed"), [(500, {1, -1}), (cells.SURE, {1})])
def test_the_side_that_looks_better_is_guessed_alone_only_where_it_is_known_to_be(learned, guessed):
    # Log-ratios 1.06, -0.06 and -0.96: after 500 outputs on each input, nothing speaks against two sides alike.
    told = special.expit([1.12, 0.0, -0.9])
    p, q = (np.append(law / law.sum(), 1e-9) for law in ([0.35, 0.3, 0.35] * told, [0.35, 0.3, 0.35] * (1 - told)))
    sides = cells.Partition(np.array([0.0, 1.0]), np.array([-1.0, 0.5, 2.0]), np.zeros(3, dtype=bool), p, q, learned)
    assert rules.choose_rule(sides, 18_000, 0.0, 0.05).guessed == guessed
