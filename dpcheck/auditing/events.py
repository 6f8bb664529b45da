"""From scores to an event: cells of a score with learned laws, and a rule that guesses the input from the cell.

Everything here sees the held-out part only, so that the counts on the rest are binomial given the rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.optimize import brentq, isotonic_regression

from dpcheck.privacy import Guarantee
from dpcheck.statistics.evalues import nearest_null

Array = NDArray[np.float64]
CELLS = 160
ATOM_PRIOR = 10.0
"""Information (in trials) that an atom needs to be believed half against the smooth model, or the average."""
FEW_CELLS = 8
"""Below this many cells a smooth model has nothing to borrow."""
BEYOND = 12
"""Cells beyond each end of the scores that cut the others."""
MOST_KINKS = 6
"""Of the smooth model of the log-ratio."""
CAUTION = 5.0
"""Standard errors of the teaching part that a candidate event is marked down by: against the winner's curse, which is
worst where a smooth model is extrapolated."""
CAUTION_FEW = 1.0
"""The same where scores take few values, so that no event can be fitted between them."""


@dataclass(frozen=True)
class Partition:
    """Cells of a score: intervals between edges, single atoms, and a last cell for halts (NaN).

    Attributes:
        edges: (cells - 2,) increasing; cell i is [edges[i-1], edges[i]).
        centres: (cells - 1,) mean score in each cell (NaN: none seen); atom: (cells - 1,) a single value that repeats.
        p, q: (cells,) learned laws on data and neighbour, positive, sum 1.
        learned: outputs a side that taught them; SURE when the log-ratio is the score itself.
        known: the score claims to be the log-ratio; believed unless the counts object.
        ordered: neighbouring cells are alike; else each one is learned by itself.
        few: scores take few values that can be trusted.
    """

    edges: Array
    centres: Array
    atom: NDArray[np.bool_]
    p: Array
    q: Array
    learned: int
    known: bool = False
    ordered: bool = True
    few: bool = False

    def index(self, scores: Array) -> NDArray[np.intp]:
        cell = np.searchsorted(self.edges, scores, side="right")
        cell[np.isnan(scores)] = len(self.edges) + 1
        return cell

    def count(self, scores: Array) -> NDArray[np.int64]:
        return np.bincount(self.index(scores), minlength=len(self.edges) + 2)

    @property
    def caution(self) -> float:
        """Standard errors of the teaching part that a candidate event is marked down by."""
        return CAUTION_FEW if self.few else CAUTION

    @property
    def log_ratio(self) -> Array:
        return np.log(self.p) - np.log(self.q)

    def taught(self, counts: NDArray[np.int64]) -> Partition:
        """The same cells, their laws learned from (cells, 2) counts."""
        told = special.expit(self.centres) if self.known else None
        if told is not None and not _objection(counts[:-1], told):
            halted = (counts[-1, 0] + 0.25) / (counts[-1].sum() + 0.5)
            p, q = _balanced(counts.sum(axis=1), np.append(told, halted))
            return replace(self, p=p, q=q, learned=SURE)
        p, q = _laws(counts, self.centres, self.atom) if self.ordered else _masses(counts, *_alone(counts[:-1]))
        return replace(self, p=p, q=q, learned=int(counts.sum(axis=0).min()))

    def weighed(self, total: NDArray[np.int64]) -> Partition:
        """The same cells and log-ratios, their masses learned from (cells,) counts of both inputs together."""
        p, q = _balanced(total, self.p / (self.p + self.q))
        return replace(self, p=p, q=q)


SURE = 10**12
"""Outputs that a known ratio is worth."""
OBJECTION = 10**5


def _objection(counts: NDArray[np.int64], posterior: Array) -> bool:
    """Whether counts contradict P(data | cell): a chi-squared that one in `OBJECTION` right ones exceeds."""
    total = counts.sum(axis=1).astype(float)
    share = counts[:, 0].sum() / max(1.0, total.sum())
    odds = np.where(total > 0, special.logit(np.clip(posterior, 1e-12, 1 - 1e-12)), 0.0) + special.logit(
        np.clip(share, 1e-12, 1 - 1e-12)
    )
    mean = special.expit(odds)
    information = total * mean * (1 - mean)
    seen = information > 2
    scatter = float(((counts[seen, 0] - total[seen] * mean[seen]) ** 2 / information[seen]).sum())
    return scatter > float(special.chdtri(max(1, int(seen.sum())), 1 / OBJECTION))


def learn_partition(
    data: Array,
    neighbour: Array,
    cells: int = CELLS,
    *,
    learned_score: bool = False,
    known_ratio: bool = False,
    ordered: bool = True,
    trusted: bool = True,
) -> Partition:
    """Cuts a score into cells and learns their laws: raw counts shrunk towards a smooth logistic model.

    Args:
        data, neighbour: (n,) and (m,) scores on the two inputs; NaN marks halts.
        learned_score: values of a classifier repeat because its trees are few; they are no atoms of the mechanism, and
            are smoothed like any others.
        known_ratio: the score is said to be the log-ratio of the two laws.
        ordered: whether neighbouring scores mean similar things.
        trusted: whether extreme scores are no accident of a flexible classifier.
    """
    pooled = np.concatenate([data, neighbour])
    pooled = np.sort(pooled[~np.isnan(pooled)])
    atoms, edges = _edges(pooled, cells, known_ratio)
    place = np.searchsorted(edges, pooled, side="right")
    total = np.bincount(place, minlength=len(edges) + 1)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        centres = np.bincount(place, weights=pooled, minlength=len(edges) + 1) / total
    if len(edges) > 1:
        # A cell that nothing fell into stands where it lies.
        middle = np.concatenate([edges[:1], (edges[1:] + edges[:-1]) / 2, edges[-1:]])
        centres = np.where(total > 0, centres, middle)
    first = pooled[:1] if len(atoms) == len(edges) + 1 else np.array([-math.inf])
    atom = np.isin(np.concatenate([first, edges]), atoms)
    if learned_score and len(edges) >= FEW_CELLS:
        atom[:] = False
    few = trusted and int((np.diff(pooled) > 0).sum()) < len(pooled) // 4
    uniform = np.full(len(edges) + 2, 1 / (len(edges) + 2))
    blank = Partition(edges, centres, atom, uniform, uniform, 0, known_ratio, ordered, few)
    return blank.taught(np.stack([blank.count(data), blank.count(neighbour)], axis=1))


def _laws(counts: NDArray[np.int64], centres: Array, atom: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Laws of the cells on data and neighbour from their counts; positive, sum 1."""
    hits, total = counts[:-1, 0].astype(float), counts[:-1].sum(axis=1).astype(float)
    share = hits.sum() / max(1.0, total.sum())
    return _masses(counts, _shrunk(hits, total, _smooth_share(hits, total, centres, share), atom), share)


def _alone(counts: NDArray[np.int64]) -> tuple[Array, float]:
    """(P(data | cell), share of data), each cell shrunk towards the share by `ATOM_PRIOR` trials."""
    total = counts.sum(axis=1).astype(float)
    share = float(np.clip(counts[:, 0].sum() / max(1.0, total.sum()), 1e-9, 1 - 1e-9))
    return (counts[:, 0] + ATOM_PRIOR * share) / (total + ATOM_PRIOR), share


def _masses(counts: NDArray[np.int64], posterior: Array, share: float) -> tuple[Array, Array]:
    """Laws from P(data | cell) among outputs of which a share came from data; halts by their own counts."""
    runs = np.maximum(counts.sum(axis=0), 1)
    total = counts[:-1].sum(axis=1).astype(float)
    # Half a trial for all empty cells together: many of them lie beyond what was ever seen.
    prior = np.where(total > 0, 0.5, 0.5 / max(1, int((total == 0).sum())))
    mass = (total + prior) / (total + prior).sum()
    posterior = np.where(np.isfinite(posterior), posterior, share)
    halts = (counts[-1] + 0.25) / runs if counts[-1].any() else np.zeros(2)
    p = np.append(posterior * mass / max(share, 1e-12), halts[0])
    q = np.append((1 - posterior) * mass / max(1 - share, 1e-12), halts[1])
    floor = 1e-9
    p, q = p / p.sum(), q / q.sum()
    return (p + floor) / (p + floor).sum(), (q + floor) / (q + floor).sum()


def _balanced(total: NDArray[np.int64], posterior: Array) -> tuple[Array, Array]:
    """Laws with P(data | cell) as given, from counts of both inputs together, as many of the one as of the other.

    Both laws sum to 1 only for the right masses: those of largest empirical likelihood (Owen 1988) among them.
    """
    seen = total > 0
    mass = total + np.where(seen, 0.5, 0.5 / max(1, int((~seen).sum())))
    mass = mass / mass.sum()
    lean = 2 * np.where(np.isfinite(posterior), np.clip(posterior, 1e-9, 1 - 1e-9), 0.5) - 1
    if lean.min() < 0 < lean.max():
        ends = np.array([-1 / lean.max(), -1 / lean.min()]) * (1 - 1e-12)
        mass = mass / (1 + brentq(lambda tilt: float((mass * lean / (1 + tilt * lean)).sum()), *ends) * lean)
    p, q = (mass * (1 + sign * lean) + 1e-9 for sign in (1, -1))
    return p / p.sum(), q / q.sum()


def _shrunk(hits: Array, total: Array, model: Array, atom: NDArray[np.bool_]) -> Array:
    """P(data | cell): the smooth model plus as much of each cell's deviation as the scatter of all cells warrants.

    Empirical Bayes on the log-odds scale (DerSimonian and Laird 1986, random effects). Atoms keep
    theirs once they have been seen often.
    """
    model = np.clip(model, 1e-9, 1 - 1e-9)
    information = total * model * (1 - model)
    informed = (information > 2) & ~atom
    residual = (hits - total * model) / np.maximum(information, 1e-12)
    weight, freedom = information[informed], max(1, int(informed.sum()) - 7)
    scatter = float((weight * residual[informed] ** 2).sum())
    # A model that fits leaves a chi-squared of about `freedom`; four standard deviations more are evidence.
    surplus = max(0.0, scatter - freedom - 4 * math.sqrt(2 * freedom))
    spread = surplus / max(1e-12, float(weight.sum() - (weight**2).sum() / max(1e-12, weight.sum())))
    own = np.clip((hits + model) / (total + 1), 1e-9, 1 - 1e-9)
    share = spread / (spread + 1 / np.maximum(information, 1e-12))
    share = np.where(atom, np.maximum(share, information / (information + ATOM_PRIOR)), share)
    odds = (1 - share) * special.logit(model) + share * special.logit(own)
    return np.asarray(special.expit(_monotone(odds, hits, total)))


def _monotone(odds: Array, hits: Array, total: Array) -> Array:
    """The log-odds made monotone in the score, if the counts do not object (likelihood loss below a knot's price).

    Almost every additive noise has a monotone ratio, and half-lines are far harder to overfit than unions of intervals.
    """
    if len(odds) < 3:
        return odds
    rising = float(np.cov(np.arange(len(odds)), odds, aweights=total + 1e-9)[0, 1]) >= 0
    ordered = isotonic_regression(odds, weights=total + 1e-9, increasing=rising).x

    def likelihood(o: Array) -> float:
        return float(hits @ o - total @ np.logaddexp(0.0, o))

    loss = likelihood(odds) - likelihood(ordered)
    return np.asarray(ordered) if loss < math.log(max(2.0, total.sum())) else odds


def _edges(pooled: Array, cells: int, even: bool = False) -> tuple[Array, Array]:
    """Atoms (values that repeat), and edges: quantiles, geometric in both tails, and both sides of each atom.

    Args:
        even: cells of one width, half as far again as the scores reach.
    """
    if len(pooled) == 0:
        return np.zeros(0), np.zeros(0)
    values, counts = np.unique(pooled, return_counts=True)
    if len(values) <= 4 * cells and len(pooled) >= 4 * len(values):
        return values, values[1:]
    often = counts >= max(8, len(pooled) // 2000)
    atoms = values[often][np.argsort(-counts[often], kind="stable")][:cells]
    if even:
        reach = 1.5 * float(np.abs(pooled[[0, -1]]).max())
        grid = np.linspace(-reach, reach, 2 * cells)
        return atoms, np.unique(np.concatenate([grid, atoms, np.nextafter(atoms, np.inf)]))
    third = cells // 4
    tail = np.geomspace(1, len(pooled) // 8, third)
    ranks = np.concatenate(
        [tail, np.linspace(len(pooled) // 8, len(pooled) - len(pooled) // 8, 2 * third), len(pooled) - tail]
    )
    cuts = pooled[np.unique(np.clip(ranks.astype(int), 1, len(pooled) - 1))]
    # Later trials reach further than those that cut the cells: the outermost eighths, once more beyond each end.
    eighth = len(pooled) // 8
    beyond = np.linspace(0, 1, BEYOND + 1)[1:]
    below = pooled[0] - (pooled[eighth] - pooled[0]) * beyond
    above = pooled[-1] + (pooled[-1] - pooled[-1 - eighth]) * beyond
    return atoms, np.unique(np.concatenate([below, cuts, above, atoms, np.nextafter(atoms, np.inf)]))


def _smooth_share(hits: Array, total: Array, centres: Array, share: float) -> Array:
    """P(data | score in cell) of a sparse piecewise-linear model of the log-odds, linear beyond its outer kinks.

    A line, unless a model whose kinks are found by forward selection (as in multivariate adaptive regression splines,
    Friedman 1991: one at a time by the score test, while the likelihood gains more than a kink costs) has the better
    BIC. Gaussian noise is a line; Laplace noise two kinks with flat tails.
    """
    flat = np.full(len(total), share)
    usable = np.isfinite(centres)
    if (usable & (total > 0)).sum() < 4 or not 0 < share < 1:
        return flat
    x, y, n = centres[usable], hits[usable], total[usable]
    rank = np.cumsum(n) / n.sum()
    low, high = (float(np.interp(level, rank, x)) for level in (0.1, 0.9))
    z = np.clip((x - low) / ((high - low) or 1.0), -1e3, 1e3)
    knots = z[np.unique(np.searchsorted(rank, np.linspace(0.02, 0.98, 49)).clip(0, len(z) - 1))]
    terms = np.column_stack([z, *[np.maximum(0.0, z - k) for k in knots], *[np.maximum(0.0, k - z) for k in knots]])
    price = math.log(n.sum())
    line = np.column_stack([np.ones_like(z), z])
    weights, likelihood = _logistic(line, y, n)
    best = (likelihood - price / 2, line @ weights)
    design = np.ones((len(z), 1))
    weights, likelihood = _logistic(design, y, n)
    for kinks in range(1, MOST_KINKS + 1):
        mean = special.expit(design @ weights)
        root = np.sqrt(n * mean * (1 - mean) + 1e-12)[:, None]
        # What each further term adds to those in the model.
        basis = np.linalg.qr(design * root)[0]
        fresh = terms * root - basis @ (basis.T @ (terms * root))
        size = (fresh**2).sum(axis=0)
        least = 1e-9 * float((root**2).sum())
        gain = (fresh.T @ ((y - n * mean)[:, None] / root)).ravel() ** 2 / np.maximum(size, least)
        design = np.column_stack([design, terms[:, int(np.argmax(gain))]])
        weights, likelihood = _logistic(design, y, n)
        if likelihood - price * kinks > best[0]:
            best = (likelihood - price * kinks, design @ weights)
        elif kinks > 2:
            break
    flat[usable] = special.expit(np.clip(best[1], -30, 30))
    return flat


def _logistic(design: Array, hits: Array, total: Array) -> tuple[Array, float]:
    """Binomial logistic regression by Newton's method with a trace of ridge: coefficients and log-likelihood."""
    weights = np.zeros(design.shape[1])
    share = hits.sum() / total.sum()
    weights[0] = special.logit(np.clip(share, 1e-9, 1 - 1e-9))
    ridge = 0.1 * np.eye(len(weights))
    ridge[0, 0] = 1e-9

    def objective(w: Array) -> float:
        odds = design @ w
        return float(hits @ odds - total @ np.logaddexp(0.0, odds) - w @ ridge @ w / 2)

    value = objective(weights)
    for _ in range(40):
        mean = special.expit(design @ weights)
        gradient = design.T @ (hits - total * mean) - ridge @ weights
        hessian = (design * (total * mean * (1 - mean))[:, None]).T @ design + ridge
        step = np.linalg.solve(hessian, gradient)
        while (tried := objective(weights + step)) < value - 1e-9 and float(np.abs(step).max()) > 1e-10:
            step = step / 2
        weights = weights + step
        if tried - value < 1e-8:
            break
        value = tried
    return weights, objective(weights)


LEVELS = 16
"""Weights of guesses run from 1 to this."""


@dataclass(frozen=True)
class Rule:
    """Guesses the input from the cell; tested at `delta`.

    Attributes:
        level: (cells,) signed weight of the guess: > 0 data, < 0 neighbour, 0 abstains.
        small_leak: delta is small beside the chance of a right guess, so that charging it whole costs little.
        predicted: certified bound on epsilon (or test score, for a curve) to be expected.
    """

    level: NDArray[np.int8]
    delta: float
    predicted: float
    small_leak: bool = False

    @property
    def directions(self) -> int:
        """Of the promise that it tests: a rule that only ever guesses one input tests one."""
        return len(np.unique(np.sign(self.level[self.level != 0])))

    def tally(self, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(right, wrong) guesses of level 1..K from (cells, 2) counts on data and neighbour."""
        levels = range(1, max(1, int(np.abs(self.level).max())) + 1)
        there = np.array([counts[self.level == k].sum(axis=0) for k in levels])
        back = np.array([counts[self.level == -k].sum(axis=0) for k in levels])
        return there[:, 0] + back[:, 1], there[:, 1] + back[:, 0]


def choose_rule(cells: Partition, samples: int, delta: float, failure_probability: float) -> Rule:
    """The rule with the best predicted lower bound on epsilon at `delta` from `samples` coin-flipped trials."""
    order, right, wrong, shape = _candidates(cells)
    z = special.ndtri(1 - failure_probability) + cells.caution * math.sqrt(samples / (2 * max(1, cells.learned)))
    bound = _predicted_bound(right * samples, wrong * samples, samples * delta * _leaks(shape), z)
    best = int(np.argmax(bound))
    small = 20 * delta < float(right.flat[best])
    rule = Rule(_guess(order, *np.unravel_index(best, shape)), delta, float(bound.flat[best]), small)
    if not small or failure_probability <= 1e-9 or not rule.level.any():
        return rule
    weighted = _weighted_rules(cells, samples, delta, failure_probability, rule.predicted)
    z = special.ndtri(1 - failure_probability)
    if cells.few and cells.ordered:
        # Integers: weights would follow the smooth model to values that were hardly ever seen.
        z += CAUTION_FEW * math.sqrt(samples / (2 * max(1, cells.learned)))
    return max([rule, *weighted], key=lambda r: _weighted_bound(r.level, cells, samples, delta, float(z)))


WEIGHED = (1.5, 5.0)
"""Weights are those against the nearest null at the epsilon that one over this of the runs would certify."""


def _weighted_rules(
    cells: Partition, samples: int, delta: float, failure_probability: float, predicted: float
) -> list[Rule]:
    """Log-likelihood-ratio weights against nearest nulls."""
    seen = (cells.p + cells.q) * samples > 1
    grid = np.linspace(0.0, float(np.abs(cells.log_ratio[seen]).max(initial=0.1)), 60)[:-1]
    growth = nearest_null(cells.p, cells.q, grid, delta, rounds=2).growth
    needed = special.ndtri(1 - failure_probability) ** 2 / samples * np.array(WEIGHED)
    targets = np.interp(-needed, -growth, grid)
    null = nearest_null(cells.p, cells.q, targets, delta)
    weight = np.log(null.pay_p) - np.log(null.pay_q)
    # Cells that hardly ever occur must not set the scale.
    most = np.abs(weight[:, seen]).max(axis=1, initial=1e-300)[:, None]
    levels = np.clip(np.rint(LEVELS * weight / most), -LEVELS, LEVELS).astype(np.int8)
    return [Rule(level, delta, predicted, True) for level in levels if level.any()]


def _weighted_bound(level: NDArray[np.int8], cells: Partition, samples: int, delta: float, z: float) -> float:
    """The certified bound to be expected of weighted guesses: logit of Wilson's lower limit (1927) of their score."""
    weight = np.abs(level.astype(float))
    trials = samples * (cells.p + cells.q) / 2
    right = samples * np.where(level > 0, cells.p, cells.q) / 2
    total = float(weight @ trials)
    share = float(weight @ right) / total
    share -= (1 - share) * samples * delta * float(weight.max()) / total
    x = z * z * float(weight**2 @ trials) / total**2
    low = (share + x / 2 - math.sqrt(max(0.0, x * (share * (1 - share) + x / 4)))) / (1 + x)
    return float(special.logit(np.clip(low, 1e-12, 1 - 1e-12)))


def choose_rule_on_curve(cells: Partition, samples: int, claim: Guarantee, failure_probability: float) -> Rule:
    """The rule and the point of a claimed curve at which the claim would fall most surely."""
    order, right, wrong, shape = _candidates(cells)
    slack = cells.caution / 4 * math.sqrt(samples / (2 * max(1, cells.learned)))
    leaks = _leaks(shape)
    best: tuple[float, int, float] = (-math.inf, 0, 0.0)
    for epsilon in np.concatenate([[0.0], np.geomspace(0.05, 12.0, 24)]):
        delta = claim.delta_at(float(epsilon))
        # Points that no feasible number of runs could tell from pure DP say nothing more, and read badly.
        if delta >= 1 or (delta < 1e-9 and epsilon > 0):
            continue
        e = math.exp(epsilon)
        gap = right - e * wrong - delta * leaks
        spread = np.sqrt((right + e * e * wrong - (right - e * wrong) ** 2 + (1 + e * e) / samples) / samples)
        score = gap / spread - slack
        place = int(np.argmax(score))
        if score.flat[place] > best[0]:
            best = (float(score.flat[place]), place, delta)
    return Rule(_guess(order, *np.unravel_index(best[1], shape)), best[2], best[0])


def _candidates(cells: Partition) -> tuple[NDArray[np.intp], Array, Array, tuple[int, int]]:
    """Guess `data` on the i most telling cells and `neighbour` on the j least: chances of a right and a wrong guess."""
    order = np.argsort(-cells.log_ratio, kind="stable")
    k = len(order)
    p_top, q_top = (np.concatenate([[0.0], np.cumsum(law[order])]) / 2 for law in (cells.p, cells.q))
    p_bottom, q_bottom = (np.concatenate([[0.0], np.cumsum(law[order[::-1]])]) / 2 for law in (cells.p, cells.q))
    right = p_top[:, None] + q_bottom[None, :]
    wrong = q_top[:, None] + p_bottom[None, :]
    i, j = np.arange(k + 1)[:, None], np.arange(k + 1)[None, :]
    overlap = i + j > k
    right = np.where(overlap, 0.0, right)
    wrong = np.where(overlap, 1.0, wrong)
    return order, right, wrong, (k + 1, k + 1)


def _leaks(shape: tuple[int, int]) -> Array:
    """Share of delta that each candidate is charged: half when it guesses one input only."""
    i, j = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
    return np.where((i == 0) | (j == 0), 0.5, 1.0)


def _guess(order: NDArray[np.intp], top: np.intp, bottom: np.intp) -> NDArray[np.int8]:
    guess = np.zeros(len(order), dtype=np.int8)
    guess[order[:top]] = 1
    guess[order[len(order) - int(bottom) :]] = -1
    return guess


def _predicted_bound(right: Array, wrong: Array, leak: Array, z: float) -> Array:
    """The certified bound to be expected: log-ratio, less what z standard errors of both counts take from it.

    The upper limit of the wrong guesses is that of a Poisson count: events with next to none are not overcharged.
    """
    excess = right - leak
    usable = excess > 0.5
    safe = np.where(usable, excess, 1.0)
    # Its excess over the wrong guesses is smooth in their number: many candidates, one table.
    at = np.log(np.maximum(wrong, 0.05))
    table = np.linspace(float(at.min()), float(at.max()), 200)
    over = np.interp(at, table, np.log(special.gammainccinv(np.exp(table) + 1, special.ndtr(-z))) - table)
    margin = np.hypot(over, z * np.sqrt(right) / safe)
    return np.where(usable, np.log(safe) - at - margin, -math.inf)


def describe(cells: Partition, rule: Rule, name: str, value: int) -> str:
    """The part of the rule that guesses `value`, as intervals of the score: "output > 0.0713"."""
    inside = np.sign(rule.level[:-1]) == value
    parts = []
    starts = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
    stops = np.flatnonzero(inside & ~np.concatenate([inside[1:], [False]]))
    for start, stop in zip(starts, stops, strict=True):
        low = None if start == 0 else cells.edges[start - 1]
        high = None if stop == len(cells.edges) else cells.edges[stop]
        parts.append(_interval(name, low, high))
    seen = cells.p[-1] + cells.q[-1] > 1e-7
    if seen and np.sign(rule.level[-1]) == value and len(parts) < len(inside):
        parts.append("halted")
    if not parts:
        return "never"
    shown = parts if len(parts) <= 3 else [*parts[:2], f"{len(parts) - 2} more intervals"]
    return " or ".join(shown)


def _interval(name: str, low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return f"any {name}"
    if high is None:
        return f"{name} ≥ {low:.4g}"
    if low is None:
        return f"{name} < {high:.4g}"
    return f"{name} = {low:.6g}" if high <= np.nextafter(low, np.inf) else f"{low:.4g} ≤ {name} < {high:.4g}"
