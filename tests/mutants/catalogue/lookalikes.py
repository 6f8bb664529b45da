"""Correct mechanisms that look like mutants: none of them may be flagged."""

import math

import numpy as np

import dpcheck as dp
from dpcheck.auditing import attacks, finite_laws
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.mutants import Mutant
from dpcheck.testing import kill_by_attack, kill_by_audit, kill_by_number

N = 20
LOW, HIGH = np.zeros(N), np.r_[np.zeros(N - 1), 1.0]
FAR = np.r_[np.zeros(N - 1), 50.0]
PURE = dp.PureDP(1.0)


def sound(name, bug, kill):
    return Mutant(name=name, bug=bug, kill=kill, lookalike=True)


tight_laplace = sound(
    "tight-laplace",
    "noise of exactly the scale that the claim allows",
    kill_by_audit(
        lambda data, rng, trials: np.clip(data, 0, 1).mean() + rng.laplace(scale=1 / N, size=trials),
        LOW,
        FAR,
        PURE,
        exact_epsilon=1.0,
    ),
)
tight_gaussian = sound(
    "tight-gaussian",
    "Gaussian noise that meets its curve everywhere",
    kill_by_audit(
        lambda data, rng, trials: data.sum() + rng.normal(size=trials),
        LOW,
        HIGH,
        dp.GaussianDP(1.0),
        exact_epsilon=4.3772,
    ),
)
classic_at_eight = sound(
    "classic-gaussian-at-8",
    "the classic formula outside its theorem, and still enough",
    kill_by_number(
        "exact law",
        "(8, 1e-5)-DP",
        lambda: dp.GaussianDP(8 / math.sqrt(2 * math.log(1.25e5))).epsilon_at(1e-5),
        8.0,
    ),
)
sparse_vector = sound(
    "sparse-vector-with-its-cut-off",
    "threshold noise kept, query noise 4, one positive answer",
    kill_by_number(
        "exact law",
        "1-DP",
        lambda: exact_epsilon(
            *(
                finite_laws.above_threshold(a, 0.5, 2.0, 4.0).probabilities
                for a in (np.repeat([0.0, 1.0], 5), np.repeat([1.0, 0.0], 5))
            )
        ),
        1.0,
    ),
)
monotone_exponential = sound(
    "exponential-mechanism-monotone",
    "coefficient epsilon without the two, and monotone scores: no factor is lost",
    kill_by_number(
        "exact law",
        "1-DP",
        lambda: exact_epsilon(
            *(
                finite_laws.exponential_mechanism(s, 1.0).probabilities
                for s in (np.zeros(5), np.array([0, 1.0, 1, 1, 1]))
            )
        ),
        1.0,
    ),
)
permute_and_flip = sound(
    "permute-and-flip-as-pure",
    "permute-and-flip with its pure guarantee",
    kill_by_number(
        "exact law",
        "2-DP",
        lambda: exact_epsilon(
            *(finite_laws.permute_and_flip(s, 1.0).probabilities for s in (np.zeros(2), np.array([-1.0, 1.0])))
        ),
        2.0,
    ),
)
randomised_response = sound(
    "randomised-response-tight",
    "keeps the truth with probability e/(1 + e)",
    kill_by_audit(
        lambda data, rng, trials: np.where(rng.random(trials) < math.e / (1 + math.e), data[-1], 1 - data[-1]),
        LOW,
        HIGH,
        PURE,
        exact_epsilon=1.0,
    ),
)
geometric = sound(
    "geometric-with-ties",
    "two-sided geometric noise: discrete outputs with ties",
    kill_by_audit(
        lambda data, rng, trials: (
            data.sum() + rng.geometric(1 - math.exp(-1), trials) - rng.geometric(1 - math.exp(-1), trials)
        ),
        LOW,
        HIGH,
        PURE,
        exact_epsilon=1.0,
    ),
)
clipped_outside = sound(
    "output-clipped-to-public-range",
    "atoms at public ends are post-processing",
    kill_by_attack(
        lambda c: attacks.support(
            lambda data, rng, trials: np.clip(data.sum() + rng.laplace(size=trials), 0, 1),
            np.zeros(1),
            np.ones(1),
            PURE,
            failure_probability=c.failure_probability,
            seed=c.seed,
        ),
        "1-DP",
    ),
)
on_a_grid = sound(
    "laplace-on-a-grid",
    "outputs rounded to a public lattice: their bits tell nothing",
    kill_by_attack(
        lambda c: attacks.granularity(
            lambda data, rng, trials: np.round((data.sum() + rng.laplace(size=trials)) * 256) / 256,
            np.zeros(1),
            np.ones(1),
            PURE,
            failure_probability=c.failure_probability,
            seed=c.seed,
        ),
        "1-DP",
    ),
)
last_iterate = sound(
    "last-iterate-of-noisy-steps",
    "ten composed noisy steps, only the last iterate is told",
    kill_by_audit(
        lambda data, rng, trials: 10 * data.sum() + rng.normal(scale=math.sqrt(10) * math.sqrt(10), size=trials),
        LOW,
        HIGH,
        dp.GaussianDP(1.0),
        exact_epsilon=4.3772,
    ),
)
repeated_values = sound(
    "integer-outputs-repeat",
    "equal outputs of a count are no replayed noise",
    kill_by_attack(
        lambda c: attacks.replayed_noise(
            lambda data, rng, trials: rng.geometric(0.5, trials), np.zeros(1), seed=c.seed
        ),
        "fresh noise",
    ),
)
exact_sum = sound(
    "exactly-rounded-sum",
    "a clipped sum by math.fsum keeps its sensitivity at any scale",
    kill_by_attack(
        lambda c: attacks.summation_order(lambda x: math.fsum(np.clip(x, 0, 1)), 1.0, seed=c.seed), "sensitivity 1"
    ),
)
