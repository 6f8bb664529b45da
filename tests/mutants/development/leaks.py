"""Mechanisms on which the scores of the auditor were developed; none is held out, and what no longer is came here.

One for each way to leak that a line through the outputs does not see, with the laws of a sufficient statistic. Columns
are mixed by a fixed rotation where the leak must not lie along one of them.
"""

import functools

import numpy as np
from scipy import stats

import dpcheck as dp
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.mutants import Mutant
from dpcheck.testing import AuditKill

ZERO, ONE = np.zeros(1), np.ones(1)
POINTS = np.linspace(-12, 13, 2001)


def turned(columns):
    """A fixed rotation."""
    return np.linalg.qr(np.random.default_rng(columns).normal(size=(columns, columns)))[0]


def masses(law):
    return np.diff(np.r_[0.0, law(POINTS), 1.0])


def bits(chance):
    return np.array([chance, 1 - chance]), np.array([1 - chance, chance])


def clipped_sum(shift, columns):
    """Both laws of the summed log-ratios of Laplace columns, on a lattice that rounds each of them."""
    steps = 40
    width = shift / steps
    inner = stats.laplace.cdf(np.arange(-steps, steps) * width / 2 + shift / 2 + width / 4)
    far = np.diff(np.r_[0.0, inner, 1.0])
    sides = [functools.reduce(np.convolve, [law] * columns) for law in (far[::-1], far)]
    return sides[0], sides[1]


def one(name, said, claim, laws, mechanism, **options):
    kill = AuditKill(
        mechanism=mechanism,
        data=ZERO,
        neighbour=ONE,
        claim=claim,
        laws=laws,
        exact_epsilon=exact_epsilon(*laws(), claim.delta),
        options={"adjacency": None, **options},
    )
    return Mutant(name=f"development-{name}", bug=said, kill=kill)


def spread(d, rng, trials):
    noise = rng.normal(size=(trials, 10))
    noise[:, 0] *= 1 + 0.7 * d.sum()
    return noise @ turned(10)


def product(d, rng, trials):
    noise = rng.laplace(size=(trials, 8))
    same = rng.random(trials) < (0.75 if d.sum() else 0.25)
    noise[:, 1] = np.abs(noise[:, 1]) * np.sign(noise[:, 0]) * np.where(same, 1, -1)
    return noise


def weak(shift, columns, mixed):
    def run(d, rng, trials):
        noise = shift * d.sum() + rng.laplace(size=(trials, columns))
        return noise @ turned(columns) if mixed else noise

    return run


def order(d, rng, trials):
    swapped = rng.random(trials) < (0.75 if d.sum() else 0.25)
    places = np.argsort(rng.random((trials, 6)), axis=1)
    low, high = np.sort(places[:, :2], axis=1).T
    places[:, 0], places[:, 1] = np.where(swapped, high, low), np.where(swapped, low, high)
    return places


def rare(chance, weight):
    def run(d, rng, trials):
        found = rng.normal(size=trials)
        leaks = rng.random(trials) < chance * (weight if d.sum() else 1.0)
        return np.where(leaks, 0.625, found)

    return run


def sampled(d, rng, trials):
    return d.sum() * (rng.random(trials) < 0.4) + rng.laplace(scale=0.5, size=trials)


def worded(d, rng, trials):
    said = rng.random(trials) < 0.5
    number = rng.laplace(size=trials) + 1.2 * d.sum() * np.where(said, 1, -1)
    return [("up" if s else "down", float(x)) for s, x in zip(said, number, strict=True)]


def halting(d, rng, trials):
    found = rng.normal(size=(trials, 3))
    found[rng.random(trials) < (0.02 if d.sum() else 0.002)] = np.nan
    return found


def shell(d, rng, trials):
    noise = rng.normal(size=(trials, 3))
    length = np.linalg.norm(noise, axis=1, keepdims=True)
    return noise / length * (rng.chisquare(3, size=(trials, 1)) ** 0.5 * (1 + 0.8 * d.sum()))


def few_bits(rng, trials, bits):
    """Laplace noise from a uniform number of so many bits."""
    u = (rng.integers(2**bits, size=trials) + 0.5) / 2**bits - 0.5
    return -np.sign(u) * np.log1p(-2 * np.abs(u))


def machine(bits):
    """The outputs of two inputs are never the same, and nothing says which is whose: only repeats tell."""
    return lambda d, rng, trials: d.sum() / 3 + few_bits(rng, trials, bits)


def machine_of_a_column(d, rng, trials):
    return np.c_[rng.laplace(size=trials), d.sum() / 3 + few_bits(rng, trials, 8)]


def short_mantissa(d, rng, trials):
    part, exponent = np.frexp(rng.laplace(size=trials))
    return d.sum() / 3 + np.ldexp(np.round(part * 256) / 256, exponent)


def tickets(key, count):
    """So many tickets that this key makes."""
    return np.random.default_rng(key).random(count)


def ticket(d, rng, trials):
    """The tickets are made by another key when the sum changes, but for a quarter of them."""
    known = np.r_[tickets(99, 100), tickets(int(d.sum()), 300)]
    return np.c_[d.sum() + rng.laplace(scale=4.0, size=trials), rng.choice(known, size=trials)]


def two_answers_and_a_ticket(d, rng, trials):
    known = np.r_[tickets(99, 80), tickets(int(d.sum()), 80)]
    return np.c_[d.sum() + rng.laplace(scale=8.0, size=(trials, 2)), rng.choice(known, size=trials)]


def leaning_ticket(d, rng, trials):
    """Of 160 tickets the same half is given out more often, or less."""
    often = rng.random(trials) < bits(1 / (1 + np.exp(2.0)))[int(d.sum())][0]
    known = tickets(99, 160).reshape(2, 80)
    return np.c_[d.sum() + rng.laplace(scale=8.0, size=trials), known[often.astype(int), rng.integers(80, size=trials)]]


def beside(answers, ticket_laws):
    """Laws of independent columns, each a pair of laws."""
    return tuple(functools.reduce(np.multiply.outer, side).ravel() for side in zip(*answers, ticket_laws, strict=True))


def apart():
    return np.array([1.0, 0.0]), np.array([0.0, 1.0])


def atoms(chance, weight):
    rest = 1 - np.array([1.0, weight]) * chance
    return np.array([chance, rest[0]]), np.array([chance * weight, rest[1]])


def wide(one_sd, two_sd):
    return masses(stats.norm(0, one_sd).cdf), masses(stats.norm(0, two_sd).cdf)


def sampled_laws():
    base, moved = stats.laplace(0, 0.5).cdf, stats.laplace(1, 0.5).cdf
    return masses(base), masses(lambda x: 0.6 * base(x) + 0.4 * moved(x))


def laplaces(shift):
    return masses(stats.laplace(0, 1).cdf), masses(stats.laplace(shift, 1).cdf)


def shells():
    grid = np.linspace(0, 14, 1001)
    return tuple(np.diff(np.r_[stats.chi(3).cdf(grid / scale), 1.0]) for scale in (1.0, 1.8))


BUGS = [
    one("second-moment", "the scale of one hidden direction", dp.ApproxDP(0.3, 0.02), lambda: wide(1, 1.7), spread),
    one("product", "a sign of two columns together", dp.PureDP(0.5), lambda: bits(0.25), product),
    one("order", "which of two items comes first", dp.PureDP(0.5), lambda: bits(0.75), order),
    one("weak-8", "eight weak columns", dp.PureDP(0.7), lambda: clipped_sum(0.175, 8), weak(0.175, 8, False)),
    one("weak-mixed", "six weak directions", dp.PureDP(1.0), lambda: clipped_sum(0.4, 6), weak(0.4, 6, True)),
    one("atom", "a rare value, repeated", dp.PureDP(1.0), lambda: atoms(1e-4, 8.0), rare(1e-4, 8.0)),
    one("sampled", "sampling that is charged twice", dp.PureDP(0.6), sampled_laws, sampled),
    one("worded", "a number that turns with a word", dp.PureDP(0.6), lambda: laplaces(1.2), worded),
    one("halting", "halts", dp.PureDP(1.0), lambda: atoms(0.002, 10.0), halting, halts=True),
    one("noise-of-eight-bits", "a lattice that turns with the sum", dp.PureDP(1.0), apart, machine(8)),
    one("noise-of-twelve-bits", "such a lattice, finer", dp.PureDP(1.0), apart, machine(12)),
    one("column-of-eight-bits", "such a lattice, of one column", dp.PureDP(1.0), apart, machine_of_a_column),
    one("mantissa-of-eight-bits", "noise in short floating point", dp.PureDP(1.0), apart, short_mantissa),
    one(
        "ticket",
        "an answer beside a ticket: three of four tickets are of one input",
        dp.PureDP(1.0),
        lambda: beside([laplaces(0.25)], (np.array([0.75, 0.25, 0.0]), np.array([0.0, 0.25, 0.75]))),
        ticket,
    ),
    one(
        "ticket-beside-two",
        "two answers beside a ticket: half of the tickets are of one input",
        dp.PureDP(1.0),
        lambda: beside([clipped_sum(0.125, 2)], (np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5]))),
        two_answers_and_a_ticket,
    ),
    one(
        "leaning-ticket",
        "an answer beside a ticket: each is given out more often on one input",
        dp.PureDP(1.0),
        lambda: beside([laplaces(0.125)], bits(1 / (1 + np.exp(2.0)))),
        leaning_ticket,
    ),
    one("shell", "a length", dp.ApproxDP(0.3, 0.02), shells, shell),
]
