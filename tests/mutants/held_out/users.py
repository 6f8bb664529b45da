"""Users with several records, and noise that many of them make together."""

import math

import numpy as np
from scipy import stats

import dpcheck as dp

from ._told import along, bug, gaussian, laplace, line, normal, product, sound, table

PURE = dp.PureDP(1.0)
DAYS = np.zeros((4, 3)), np.vstack([np.zeros((3, 3)), np.ones(3)])
"""Three records of each of four users."""


def total(data, rng, trials, most, scale):
    """The sum over users of their records, each user's clipped."""
    return np.clip(data.sum(axis=1), 0, most).sum() + rng.laplace(scale=scale, size=trials)


record_noise = bug(
    "held-user-noise-for-a-record",
    "noise for one record where a user has three",
    PURE,
    laplace(3.0, cells=48),
    lambda data, rng, trials: total(data, rng, trials, 3.0, 1.0),
    DAYS,
)
days_bounded = bug(
    "held-user-bounded-by-day",
    "what a user may add is bounded in each of two tables, not in both together",
    PURE,
    product(laplace(cells=16), laplace(cells=16)),
    lambda data, rng, trials: np.clip(data[:, :2], 0, 1).sum(axis=0) + rng.laplace(size=(trials, 2)),
    DAYS,
)
bound_from_data = bug(
    "held-user-bound-from-the-data",
    "the bound on a user's records, and the noise with it, is the largest number that one has",
    dp.ApproxDP(1.0, 1e-2),
    line(stats.laplace(1, 1), stats.laplace(3, 3), -25, 35),
    lambda data, rng, trials: data.sum() + rng.laplace(scale=data.sum(axis=1).max(), size=trials),
    (np.array([[1.0, 0, 0]]), np.ones((1, 3))),
)
mean_over_records = bug(
    "held-user-mean-over-records",
    "the mean over ten records, of which one user has nine, with noise for a tenth",
    PURE,
    laplace(9.0, cells=144, of=lambda y: 10 * y),
    lambda data, rng, trials: data.mean() + rng.laplace(scale=0.1, size=trials),
    (np.zeros(10), np.r_[0.0, np.ones(9)]),
)
delta_for_groups = bug(
    "held-group-delta-not-multiplied",
    "epsilon is multiplied by the size 3 of the group, delta is not",
    dp.ApproxDP(0.3, 0.05),
    table([0.5 * 0.95**3, 0.5 * 0.95**3, 1 - 0.95**3, 0], [0.5 * 0.95**3, 0.5 * 0.95**3, 0, 1 - 0.95**3]),
    lambda data, rng, trials: np.where(
        (rng.random((trials, 3)) < 0.05).any(axis=1), 2 + int(data.max()), rng.integers(2, size=trials)
    ),
    DAYS,
)
drop_outs = bug(
    "held-distributed-noise-after-drop-outs",
    "16 users add a sixteenth of the noise's variance each, and 4 of them are left",
    gaussian(0.5),
    normal(1.0, of=lambda y: 2 * y),
    lambda data, rng, trials: 0.5 * data.sum() + rng.normal(scale=0.25, size=(trials, 4)).sum(axis=1),
)
household = bug(
    "held-household-charged-as-a-person",
    "a household of two shares an account, charged as a person in both Gaussian columns",
    gaussian(0.5 * math.sqrt(2)),
    along(1.0, 1.0),
    lambda data, rng, trials: 0.5 * data.sum() + rng.normal(size=(trials, 2)),
    (np.zeros(2), np.ones(2)),
)
two_accounts = bug(
    "held-user-with-two-accounts",
    "contributions are bounded for each account, and a user has two",
    PURE,
    laplace(2.0, cells=32),
    lambda data, rng, trials: np.clip(data, 0, 1).sum() + rng.laplace(size=trials),
    (np.zeros(2), np.full(2, 5.0)),
)

clipped_users = sound(
    "held-user-clipped",
    "what a user adds is clipped to 2, and so is the noise chosen",
    PURE,
    laplace(2.0, scale=2.0, cells=32),
    lambda data, rng, trials: total(data, rng, trials, 2.0, 2.0),
    DAYS,
)
enough_users = sound(
    "held-distributed-noise",
    "noise of 16 users, of whom all are left",
    gaussian(0.5),
    normal(0.5),
    lambda data, rng, trials: 0.5 * data.sum() + rng.normal(scale=0.25, size=(trials, 16)).sum(axis=1),
)
group_delta = sound(
    "held-group-delta-multiplied",
    "three records, three times delta",
    dp.ApproxDP(0.3, 0.15),
    table([0.5 * 0.95**3, 0.5 * 0.95**3, 1 - 0.95**3, 0], [0.5 * 0.95**3, 0.5 * 0.95**3, 0, 1 - 0.95**3]),
    lambda data, rng, trials: np.where(
        (rng.random((trials, 3)) < 0.05).any(axis=1), 2 + int(data.max()), rng.integers(2, size=trials)
    ),
    DAYS,
)
