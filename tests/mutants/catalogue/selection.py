"""Mutants of threshold tests and selections: their laws are finite, so most need no sample at all."""

import math

import numpy as np
from scipy import integrate, stats

import dpcheck as dp
from dpcheck.auditing import finite_laws
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.mutants import Mutant
from dpcheck.testing import kill_by_audit, kill_by_number

from ._laws import between

QUERIES = 10
LOW, HIGH = np.repeat([0.0, 1.0], 5), np.repeat([1.0, 0.0], 5)
PURE = dp.PureDP(1.0)


def sparse_vector_laws(threshold_scale, query_scale, stop_after):
    """Transcripts on `LOW` and on `HIGH`."""
    return tuple(
        finite_laws.above_threshold(a, 0.5, threshold_scale, query_scale, stop_after).probabilities for a in (LOW, HIGH)
    )


def sparse_vector_epsilon(threshold_scale, query_scale, stop_after):
    return exact_epsilon(*sparse_vector_laws(threshold_scale, query_scale, stop_after))


def redrawn_laws():
    """Independent bits: answer plus Laplace noise above 0.5 plus Laplace noise, both of scale 1."""

    def transcript(answers):
        gap = 0.5 - answers
        tail = (0.5 + np.abs(gap) / 4) * np.exp(-np.abs(gap))
        above = np.where(gap >= 0, tail, 1 - tail)
        law = np.ones(1)
        for chance in above:
            law = np.outer(law, [1 - chance, chance]).ravel()
        return law

    return transcript(LOW), transcript(HIGH)


def released_laws(threshold_scale=4.0, query_scale=0.5):
    """The first answer above the threshold and its noisy value; the last answer and its value when none is."""
    t = np.linspace(-60, 60, 24_001)
    density = stats.laplace.pdf(t, 0.5, threshold_scale)

    def law(answers):
        below = np.cumprod([np.ones(len(t)), *(stats.laplace.cdf(t, a, query_scale) for a in answers[:-1])], axis=0)
        reached = [integrate.cumulative_trapezoid(density * first, t, initial=0.0) for first in below]
        values = [stats.laplace.pdf(t, a, query_scale) * r for a, r in zip(answers, reached, strict=True)]
        values[-1] += stats.laplace.pdf(t, answers[-1], query_scale) * (
            np.trapezoid(density * below[-1], t) - reached[-1]
        )
        masses = np.concatenate([v.reshape(-1, 40).sum(axis=1) for v in np.array(values)[:, :-1]])
        return masses / masses.sum()

    return law(LOW), law(HIGH)


def sparse_vector(threshold_scale, query_scale, stop=True, redraw=False, values=False):
    """Transcripts as bits (trials, 10), NaN after the stop, or the released answer of the first "above"."""

    def run(data, rng, trials):
        draws = QUERIES if redraw else 1
        level = 0.5 + rng.laplace(scale=threshold_scale, size=(trials, draws))
        noisy = data + (rng.laplace(scale=query_scale, size=(trials, QUERIES)) if query_scale else 0.0)
        above = noisy >= level
        if values:
            first = np.where(above.any(axis=1), above.argmax(axis=1), QUERIES - 1)
            return np.stack([first, noisy[np.arange(trials), first]], axis=1)
        bits = above.astype(float)
        if stop:
            after = np.cumsum(above, axis=1) - above > 0
            bits[after] = np.nan
        return bits

    return run


no_stop = Mutant(
    name="sparse-vector-no-cut-off",
    bug="every answer is told, noise as for one positive answer",
    kill=kill_by_number("exact law", "0.4-DP", lambda: sparse_vector_epsilon(2.0, 4.0, None), 0.4),
)
no_stop_sampled = Mutant(
    name="sparse-vector-no-cut-off-small-noise",
    bug="every answer is told, query noise of scale 1 where the number of answers counts",
    kill=kill_by_audit(
        sparse_vector(2.0, 1.0, stop=False),
        LOW,
        HIGH,
        PURE,
        adjacency=None,
        exact_epsilon=sparse_vector_epsilon(2.0, 1.0, None),
        laws=lambda: sparse_vector_laws(2.0, 1.0, None),
    ),
)
no_query_noise = Mutant(
    name="sparse-vector-no-query-noise",
    bug="noise on the threshold only (Lyu, Su and Li 2017, Algorithm 5)",
    kill=kill_by_audit(
        sparse_vector(1.0, 0.0, stop=False),
        LOW,
        HIGH,
        PURE,
        adjacency=None,
        exact_epsilon=math.inf,
        laws=lambda: sparse_vector_laws(1.0, 0.0, None),
    ),
)
small_query_noise = Mutant(
    name="sparse-vector-query-scale",
    bug="noise of one positive answer (scale 1) though five may be told",
    kill=kill_by_number("exact law", "1-DP", lambda: sparse_vector_epsilon(2.0, 1.0, 5), 1.0),
)
threshold_redrawn = Mutant(
    name="sparse-vector-threshold-redrawn",
    bug="the threshold's noise is drawn for every query: small noise per query composes over all of them",
    kill=kill_by_audit(
        sparse_vector(1.0, 1.0, stop=False, redraw=True),
        LOW,
        HIGH,
        PURE,
        adjacency=None,
        exact_epsilon=exact_epsilon(*redrawn_laws()),
        laws=redrawn_laws,
    ),
)
answer_released = Mutant(
    name="sparse-vector-answer-released",
    bug="the noisy answer that passed the threshold is released with its index (Roth 2011 lecture notes)",
    kill=kill_by_audit(
        sparse_vector(4.0, 0.5, values=True),
        LOW,
        HIGH,
        PURE,
        adjacency=None,
        laws=released_laws,
        smoke=10_000,
        standard=40_000,
    ),
)
SCORES, MOVED = np.zeros(5), np.array([-1.0, 1.0, 1.0, 1.0, 1.0])


def selection_epsilon(law):
    return exact_epsilon(law(SCORES).probabilities, law(MOVED).probabilities)


exponential_without_two = Mutant(
    name="exponential-mechanism-without-the-two",
    bug="exponential mechanism with coefficient epsilon instead of epsilon/2, scores not monotone",
    kill=kill_by_number(
        "exact law", "1-DP", lambda: selection_epsilon(lambda s: finite_laws.exponential_mechanism(s, 1.0)), 1.0
    ),
)
noisy_min_half_scale = Mutant(
    name="noisy-min-scale-without-the-two",
    bug="report-noisy-min with scale 1/epsilon instead of 2/epsilon, scores not monotone",
    kill=kill_by_number("exact law", "1-DP", lambda: selection_epsilon(lambda s: finite_laws.noisy_min(s, 1.0)), 1.0),
)


def renyi_over_order(law, alpha):
    """D_alpha(P|Q) / alpha: at most rho for a rho-zCDP mechanism."""
    p, q = law(np.array([0.0, 0.0])).probabilities, law(np.array([-1.0, 1.0])).probabilities
    return max(math.log(float((a**alpha * b ** (1 - alpha)).sum())) / (alpha - 1) / alpha for a, b in ((p, q), (q, p)))


permute_and_flip_as_exponential = Mutant(
    name="permute-and-flip-as-exponential",
    bug="permute-and-flip charged rho = epsilon^2/8, which only bounded-range mechanisms have",
    kill=kill_by_number(
        "Renyi divergence",
        "0.5-zCDP (epsilon = 2)",
        lambda: max(renyi_over_order(lambda s: finite_laws.permute_and_flip(s, 1.0), a) for a in (1.2, 1.5, 2.0, 4.0)),
        0.5,
    ),
)
value_released = Mutant(
    name="noisy-max-value-released",
    bug="the winning noisy score is released with the index, from the same noise",
    kill=kill_by_audit(
        lambda data, rng, trials: _winner(data + rng.laplace(scale=2.0, size=(trials, len(data)))),
        np.zeros(5),
        np.full(5, 1.0),
        dp.PureDP(0.5),
        adjacency=None,
        exact_epsilon=2.5,
        # All scores move together: the index tells nothing, the value is the largest of five.
        laws=lambda: between(
            np.linspace(-12, 40, 5201), *(lambda x, a=a: stats.laplace.cdf(x, a, 2.0) ** 5 for a in (0.0, 1.0))
        ),
    ),
)


def _winner(noisy):
    best = noisy.argmax(axis=1)
    return np.stack([best, noisy[np.arange(len(noisy)), best]], axis=1)


gumbel_values = Mutant(
    name="argmax-of-bare-scores",
    bug="ties are broken by noise, the argmax itself is exact",
    kill=kill_by_audit(
        lambda data, rng, trials: np.argmax(data + 1e-6 * rng.normal(size=(trials, len(data))), axis=1),
        np.zeros(3),
        np.eye(3)[1],
        PURE,
        adjacency=None,
        exact_epsilon=math.inf,
        laws=lambda: (np.full(3, 1 / 3), np.eye(3)[1]),
    ),
)
wrong_categories = Mutant(
    name="randomised-response-over-k",
    bug="k = 4 answers, the noise of two: kept with probability e/(1+e)",
    kill=kill_by_number(
        "exact law",
        "1-DP",
        lambda: exact_epsilon(
            *(finite_laws.randomised_response(i, 4, math.e / (1 + math.e)).probabilities for i in (0, 1))
        ),
        1.0,
    ),
)
