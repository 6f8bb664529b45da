"""Composition: what several answers about one record cost together."""

import math

import numpy as np
from scipy import stats

import dpcheck as dp

from ._draws import KEEP, flip
from ._told import Told, along, binomials, bug, gaussian, laplace, normal, product, sound, table

PURE = dp.PureDP(1.0)


def answers(count, scale=1.0):
    """So many noisy answers about the record."""
    return lambda data, rng, trials: data.sum() + rng.laplace(scale=scale, size=(trials, count))


def answer_laws(count, scale=1.0):
    return product(*[laplace(scale=scale, cells=8)] * count)


def bit_then_value(small, large):
    """A randomised bit, then a noisy value whose scale is the small one where the bit was 1."""

    def run(data, rng, trials):
        bit = flip(np.full(trials, int(data.sum())), KEEP, rng)
        return np.stack([bit, data.sum() + rng.laplace(size=trials) * np.where(bit, small, large)], axis=1)

    return run


def bit_then_value_laws(small, large):
    def laws():
        found = []
        for side, one in ((0, 1 - KEEP), (1, KEEP)):
            tolds = (laplace(scale=scale, cells=16).laws()[side] for scale in (large, small))
            found.append(np.concatenate([chance * told for chance, told in zip((1 - one, one), tolds, strict=True)]))
        return tuple(found)

    value = laplace(cells=16, of=lambda y: y[:, 1])
    return Told(laws, lambda y: 18 * y[:, 0].astype(int) + value.cell(y))


def until_yes(data, rng, trials):
    """How many noes before the first yes of three randomised answers."""
    yes = flip(np.full((trials, 3), int(data.sum())), KEEP, rng)
    return np.where(yes.any(axis=1), yes.argmax(axis=1), 3)


def until_yes_law(yes):
    return np.array([yes, (1 - yes) * yes, (1 - yes) ** 2 * yes, (1 - yes) ** 3])


def leaky(delta):
    """Tells its record with chance delta, else flips a coin: the worst (0, delta)-DP mechanism."""

    def run(data, rng, trials):
        bits = rng.integers(2, size=(trials, 4))
        told = (rng.random((trials, 4)) < delta).any(axis=1)
        return np.where(told, 2 + int(data.sum()), bits[:, 0])

    return run


def leaky_laws(delta):
    return table([(1 - delta) / 2, (1 - delta) / 2, delta, 0], [(1 - delta) / 2, (1 - delta) / 2, 0, delta])


root_of_four = bug(
    "held-root-composition-without-delta",
    "four answers charged sqrt(4) times one, and no delta",
    dp.PureDP(2.0),
    answer_laws(4),
    answers(4),
)
age_and_region = bug(
    "held-parallel-composition-of-two-tables",
    "a record lies in the table of ages and in that of regions, charged as disjoint",
    PURE,
    answer_laws(2),
    answers(2),
)
over_budget = bug(
    "held-budget-checked-after-the-answer",
    "the filter of a budget of 1 looks after the answer: the third of 1/2 each is told",
    PURE,
    answer_laws(3, 2.0),
    answers(3, 2.0),
)
noes_free = bug(
    "held-noes-refunded",
    "the budget is given back where the answer is no, and the question asked again",
    PURE,
    table(until_yes_law(1 - KEEP), until_yes_law(KEEP)),
    until_yes,
)
average_charged = bug(
    "held-adaptive-scale-charged-on-average",
    "the second answer has epsilon 1/2 or 3, by what the first was; the mean is charged",
    dp.PureDP(2.75),
    bit_then_value_laws(1 / 3, 2.0),
    bit_then_value(1 / 3, 2.0),
)
asked_again = bug(
    "held-mean-of-sixteen-fresh-answers",
    "the same question has a fresh answer each time: the mean of 16 is told",
    gaussian(1.0),
    normal(4.0, of=lambda y: 4 * y),
    lambda data, rng, trials: data.sum() + rng.normal(size=(trials, 16)).mean(axis=1),
)
delta_of_one = bug(
    "held-deltas-not-added",
    "four mechanisms that leak with chance delta, sold at one delta",
    dp.ApproxDP(0.1, 0.05),
    leaky_laws(1 - 0.95**4),
    leaky(0.05),
)
two_gaussians = bug(
    "held-gaussian-answers-charged-as-one",
    "two Gaussian answers at the price of the dearer one",
    gaussian(0.5),
    along(0.5, 0.5),
    lambda data, rng, trials: 0.5 * data.sum() + rng.normal(size=(trials, 2)),
)
unequal = bug(
    "held-concentrated-budgets-averaged",
    "rho of two steps is averaged, not added: shifts 1/2 and 1",
    gaussian(math.sqrt((0.25 + 1) / 2)),
    along(0.5, 1.0),
    lambda data, rng, trials: data.sum() * np.array([0.5, 1.0]) + rng.normal(size=(trials, 2)),
)
majority = bug(
    "held-majority-of-five-answers",
    "the majority of five randomised answers, charged as one of them",
    PURE,
    table(*([1 - up, up] for up in (stats.binom.sf(2, 5, 1 - KEEP), stats.binom.sf(2, 5, KEEP)))),
    lambda data, rng, trials: (flip(np.full((trials, 5), int(data.sum())), KEEP, rng).sum(axis=1) > 2).astype(int),
)

quarters = sound(
    "held-four-answers-of-a-quarter",
    "four answers, each with a quarter of epsilon",
    PURE,
    answer_laws(4, 4.0),
    answers(4, 4.0),
)
disjoint = sound(
    "held-parallel-composition",
    "two tables of different records: one of them moves",
    PURE,
    product(laplace(cells=16), table([1.0], [1.0], lambda y: 0 * y)),
    lambda data, rng, trials: data + rng.laplace(size=(trials, 2)),
    (np.zeros(2), np.array([1.0, 0.0])),
)
adaptive_charged = sound(
    "held-adaptive-scale-charged-for-the-larger",
    "the second answer has epsilon 1/2 or 3 by the first, and 4 in all is charged",
    dp.PureDP(4.0),
    bit_then_value_laws(1 / 3, 2.0),
    bit_then_value(1 / 3, 2.0),
)
concentrated = sound(
    "held-gaussian-answers-added-in-squares",
    "two Gaussian answers, their squared shifts added",
    gaussian(math.sqrt(0.5)),
    along(0.5, 0.5),
    lambda data, rng, trials: 0.5 * data.sum() + rng.normal(size=(trials, 2)),
)
copies = sound(
    "held-three-answers-yes-counted",
    "the count of three randomised answers at three times the price of one",
    dp.PureDP(3.0),
    binomials(3, 1 - KEEP, KEEP),
    lambda data, rng, trials: flip(np.full((trials, 3), int(data.sum())), KEEP, rng).sum(axis=1),
)
