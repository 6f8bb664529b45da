"""The local and the shuffle model: reports of one user each, and what a shuffler makes of them."""

import math

import numpy as np
from scipy import stats

import dpcheck as dp

from ._draws import KEEP, flip
from ._told import PAIR, binomials, bug, exact_at, product, revealed, sound, table
from ._unnamed import Unnamed, Untold, coins

PURE = dp.PureDP(1.0)
KEEP_HALF = math.exp(0.5) / (1 + math.exp(0.5))
SLOPE = (math.e - 1) / (math.e + 1) / 2


def unary(one, zero):
    """Two bits, the user's and another: the first stays 1 with chance `one`, the second is 1 with chance `zero`."""

    def run(data, rng, trials):
        mine = int(data.sum())
        chances = np.where(np.arange(2) == mine, one, zero)
        return (rng.random((trials, 2)) < chances).astype(int)

    return run


def unary_laws(one, zero):
    first = np.outer([1 - one, one], [1 - zero, zero])
    return table(first.ravel(), first.T.ravel(), lambda y: 2 * y[:, 0] + y[:, 1])


def one_bit(data, rng, trials):
    """Duchi's bit for a mean, with the chance cut to [0, 1]."""
    return (rng.random(trials) < np.clip(0.5 + SLOPE * data.sum(), 0, 1)).astype(int)


def one_bit_laws(reach):
    return table(*([0.5 - SLOPE * x, 0.5 + SLOPE * x] for x in (-reach, reach)))


def reports(keep):
    """Every user's bit, by randomised response, in random order: how many are set."""
    return lambda data, rng, trials: flip(np.tile(data.astype(int), (trials, 1)), keep, rng).sum(axis=1)


def report_laws(users, keep):
    others = stats.binom.pmf(np.arange(users), users - 1, 1 - keep)
    return table(*(np.convolve(others, [1 - one, one]) for one in (1 - keep, keep)))


def blanket(users):
    """The user's bit among those of users who answer at random."""
    return lambda data, rng, trials: data.sum() + rng.binomial(users, 0.5, trials)


def subsets(rng, trials, chance, mine):
    """Two of four items in order: with this chance the user's item and then another, else two others."""
    others = np.array([item for item in range(4) if item != mine])
    drawn = others[np.argsort(rng.random((trials, 3)), axis=1)[:, :2]]
    kept = rng.random(trials) < chance
    return np.stack([np.where(kept, mine, drawn[:, 0]), np.where(kept, drawn[:, 0], drawn[:, 1])], axis=1)


def ordered_law(chance, mine):
    law = np.zeros((4, 4))
    for a in range(4):
        for b in set(range(4)) - {a, mine}:
            law[a, b] = chance / 3 if a == mine else (1 - chance) / 6
    return law.ravel()


def subset_law(chance, mine):
    law = ordered_law(chance, mine).reshape(4, 4)
    return np.where(np.tri(4, k=-1).T > 0, law + law.T, 0).ravel()


def pseudonyms(value):
    """The hashes of a value with each of 64 salts."""
    return np.random.default_rng([7, value]).random(64)


def with_a_pseudonym(chance):
    """A randomised bit for half of epsilon, and the hash of a salt with the user's value, so often, or with none."""

    def run(data, rng, trials):
        bit = flip(np.full(trials, int(data.sum())), KEEP_HALF, rng)
        of_value = rng.random(trials) < chance
        salt = rng.integers(64, size=trials)
        return np.c_[bit, np.where(of_value, pseudonyms(int(data.sum()))[salt], pseudonyms(2)[salt])]

    return run


def whose(names):
    """0 and 2: a hash of the value of the data or of the neighbour; 1: of none."""
    return 1 - np.isin(names, pseudonyms(0)) + np.isin(names, pseudonyms(1))


FIVE = np.zeros(5), np.r_[np.zeros(4), 1.0]
MANY = np.zeros(40), np.r_[np.zeros(39), 1.0]
AMPLIFIED = exact_at(report_laws(40, KEEP), 1e-2)

both_bits = bug(
    "held-unary-encoding-charged-for-one-bit",
    "a user's value moves two bits of its unary code, each flipped as if it were alone",
    PURE,
    unary_laws(KEEP, 1 - KEEP),
    unary(KEEP, 1 - KEEP),
)
index_from_value = bug(
    "held-hadamard-index-from-the-value",
    "the index of the coefficient is the user's value instead of a random one",
    PURE,
    revealed(lambda y: y[:, 0] > 0),
    lambda data, rng, trials: np.stack([np.full(trials, data.sum()), flip(np.ones(trials), KEEP, rng)], axis=1),
)
asked_thrice = bug(
    "held-local-answer-drawn-anew-each-day",
    "an answer that should be kept is drawn anew on each of three days",
    PURE,
    binomials(3, 1 - KEEP, KEEP, lambda y: y.sum(axis=1)),
    lambda data, rng, trials: flip(np.full((trials, 3), int(data.sum())), KEEP, rng),
)
values_out_of_range = bug(
    "held-one-bit-mean-of-larger-values",
    "the one-bit report of a mean over [-1, 1], of values up to 3/2",
    PURE,
    one_bit_laws(1.5),
    one_bit,
    (np.full(1, -1.5), np.full(1, 1.5)),
)
true_item_first = bug(
    "held-subset-true-item-first",
    "a random subset with the true item in it is sent in the order in which it was made",
    PURE,
    table(*(ordered_law(KEEP, mine) for mine in (0, 1)), lambda y: 4 * y[:, 0] + y[:, 1]),
    lambda data, rng, trials: subsets(rng, trials, KEEP, int(data.sum())),
)
few_users = bug(
    "held-shuffle-amplified-for-more-users",
    "the amplification of 40 users claimed for 5",
    AMPLIFIED,
    report_laws(5, KEEP),
    reports(KEEP),
    FIVE,
)
not_shuffled = bug(
    "held-shuffler-keeps-the-order",
    "the shuffler passes reports on in their order: the last one is its user's",
    AMPLIFIED,
    table([KEEP, 1 - KEEP], [1 - KEEP, KEEP], lambda y: y[:, -1]),
    lambda data, rng, trials: flip(np.tile(data.astype(int), (trials, 1)), KEEP, rng),
    FIVE,
)
thin_blanket = bug(
    "held-shuffle-blanket-of-four",
    "a true bit among four random ones",
    dp.ApproxDP(1.0, 0.05),
    table(*(np.convolve(stats.binom.pmf(np.arange(5), 4, 0.5), bit) for bit in ([1, 0], [0, 1]))),
    blanket(4),
)
second_question = bug(
    "held-local-second-question-if-yes",
    "whoever truly says yes is asked again, and that he was asked is seen",
    PURE,
    revealed(lambda y: y[:, 1] >= 0),
    lambda data, rng, trials: np.stack(
        [
            flip(np.full(trials, int(data.sum())), KEEP, rng),
            flip(np.ones(trials), KEEP, rng) if data.sum() else np.full(trials, -1.0),
        ],
        axis=1,
    ),
)
named_by_value = bug(
    "held-pseudonym-of-the-value",
    "half of the reports come with a pseudonym that is a hash of the value, with one of 64 salts",
    PURE,
    product(table([KEEP_HALF, 1 - KEEP_HALF], [1 - KEEP_HALF, KEEP_HALF]), table([0.5, 0.5, 0], [0, 0.5, 0.5], whose)),
    with_a_pseudonym(0.5),
    # The bit is as private in both.
    untold=Untold(Unnamed(((64, 1 / 128, 0), (64, 0, 1 / 128), (64, 1 / 128, 1 / 128))), coins(150, 0.5)),
)
asymmetric_bits = bug(
    "held-unary-encoding-noise-on-ones-only",
    "a one stays with chance 1/2, a zero becomes one with 1/20 where 1/(1 + e) is needed",
    PURE,
    unary_laws(0.5, 0.05),
    unary(0.5, 0.05),
)

half_each = sound(
    "held-unary-encoding-halves",
    "each of the two bits has half of epsilon",
    PURE,
    unary_laws(KEEP_HALF, 1 - KEEP_HALF),
    unary(KEEP_HALF, 1 - KEEP_HALF),
)
optimal_unary = sound(
    "held-unary-encoding-optimal",
    "a one stays with chance 1/2, a zero becomes one with chance 1/(1 + e)",
    PURE,
    unary_laws(0.5, 1 - KEEP),
    unary(0.5, 1 - KEEP),
)
one_bit_in_range = sound(
    "held-one-bit-mean",
    "the one-bit report of values in [-1, 1]",
    PURE,
    one_bit_laws(1.0),
    one_bit,
    (np.full(1, -1.0), np.full(1, 1.0)),
)
unordered_subset = sound(
    "held-subset-in-order-of-items",
    "the same subsets, sorted before they are sent",
    PURE,
    table(*(subset_law(KEEP, mine) for mine in (0, 1)), lambda y: 4 * y[:, 0] + y[:, 1]),
    lambda data, rng, trials: np.sort(subsets(rng, trials, KEEP, int(data.sum())), axis=1),
)
shuffled = sound(
    "held-shuffle-of-forty",
    "40 randomised bits in random order, at their exact price",
    AMPLIFIED,
    report_laws(40, KEEP),
    reports(KEEP),
    MANY,
)
kept_answer = sound(
    "held-local-answer-kept",
    "one answer, kept and told on three days",
    PURE,
    table([KEEP, 1 - KEEP], [1 - KEEP, KEEP], lambda y: y[:, 0]),
    lambda data, rng, trials: np.tile(flip(np.full((trials, 1), int(data.sum())), KEEP, rng), (1, 3)),
    PAIR,
)
named_by_salt = sound(
    "held-pseudonym-of-the-salt",
    "the pseudonym is a hash of one of 64 salts, and of no value",
    PURE,
    table([KEEP_HALF, 1 - KEEP_HALF], [1 - KEEP_HALF, KEEP_HALF], lambda y: y[:, 0]),
    with_a_pseudonym(0.0),
)
