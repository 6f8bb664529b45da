"""Cells of a score, with their laws learned: what a rule that guesses the input is made from.

Laws come from outputs that no later test counts, but for `Partition.weighed`: it sees where counted outputs fell, and
not which input they came from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]
CELLS, FEWEST_CELLS, OUTPUTS_A_CELL = 160, 16, 6
"""Most cells of a score, and fewer where few outputs cut them: nothing shows where a smooth model fails otherwise."""
ATOM_PRIOR = 10.0
"""Information (in trials) that an atom needs to be believed half against the smooth model, or the average."""
FEW_CELLS = 8
"""Below this many cells there is no shape to borrow from the others."""
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
        log_odds: the score was learned to be a log-ratio, so that a smooth model of it is near a line.
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
    log_odds: bool = False

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
        told = scipy.special.expit(self.centres) if self.known else None
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
    odds = np.where(total > 0, scipy.special.logit(np.clip(posterior, 1e-12, 1 - 1e-12)), 0.0) + scipy.special.logit(
        np.clip(share, 1e-12, 1 - 1e-12)
    )
    mean = scipy.special.expit(odds)
    information = total * mean * (1 - mean)
    seen = information > 2
    scatter = float(((counts[seen, 0] - total[seen] * mean[seen]) ** 2 / information[seen]).sum())
    return scatter > float(scipy.special.chdtri(max(1, int(seen.sum())), 1 / OBJECTION))


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
    if not known_ratio:
        cells = min(cells, max(FEWEST_CELLS, len(pooled) // OUTPUTS_A_CELL))
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
    blank = Partition(edges, centres, atom, uniform, uniform, 0, known_ratio, ordered, few, learned_score)
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
        tilt = scipy.optimize.brentq(lambda t: float((mass * lean / (1 + t * lean)).sum()), *ends)
        mass = mass / (1 + tilt * lean)
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
    odds = (1 - share) * scipy.special.logit(model) + share * scipy.special.logit(own)
    return np.asarray(scipy.special.expit(_monotone(odds, hits, total)))


def _monotone(odds: Array, hits: Array, total: Array) -> Array:
    """The log-odds made monotone in the score, if the counts do not object (likelihood loss below a knot's price).

    Almost every additive noise has a monotone ratio, and half-lines are far harder to overfit than unions of intervals.
    """
    if len(odds) < FEW_CELLS:
        return odds
    rising = float(np.cov(np.arange(len(odds)), odds, aweights=total + 1e-9)[0, 1]) >= 0
    ordered = scipy.optimize.isotonic_regression(odds, weights=total + 1e-9, increasing=rising).x

    def likelihood(o: Array) -> float:
        return float(hits @ o - total @ np.logaddexp(0.0, o))

    loss = likelihood(odds) - likelihood(ordered)
    return np.asarray(ordered) if loss < math.log(max(2.0, total.sum())) else odds


REPEATS = 3
"""How often a value must come back among continuous ones to be an atom: no density does that."""


def _continuous(counts: NDArray[np.int64]) -> bool:
    """Whether values hardly ever come back, but for those that do so often: on a grid most that do come back twice."""
    twice = int((counts == 2).sum())
    return 2 * len(counts) > int(counts.sum()) and twice <= max(2, len(counts) // 1000)


def each_a_cell(values: int, scores: int, cells: int = CELLS) -> bool:
    """Whether so many different values among so many scores are few enough for each to be a cell."""
    return values <= 4 * cells and scores >= 4 * values


def _edges(pooled: Array, cells: int, even: bool = False) -> tuple[Array, Array]:
    """Atoms (values that repeat), and edges: quantiles, geometric in both tails, and both sides of each atom.

    Args:
        even: cells of one width, half as far again as the scores reach.
    """
    if len(pooled) == 0:
        return np.zeros(0), np.zeros(0)
    values, counts = np.unique(pooled, return_counts=True)
    if each_a_cell(len(values), len(pooled), cells):
        return values, values[1:]
    often = counts >= (REPEATS if _continuous(counts) else max(8, len(pooled) // 2000))
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
    BIC. Gaussian noise is a line; Laplace noise two kinks with flat tails; noise of bounded support may jump where
    one of the laws ends.
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
    hinges = [np.maximum(0.0, side * (z - k)) for side in (1, -1) for k in knots]
    terms = np.column_stack([z, *hinges, *_one_sided(y, n)])
    price = math.log(n.sum())
    line = np.column_stack([np.ones_like(z), z])
    weights, likelihood = _logistic(line, y, n)
    best = (likelihood - price / 2, line @ weights)
    design = np.ones((len(z), 1))
    weights, likelihood = _logistic(design, y, n)
    for kinks in range(1, MOST_KINKS + 1):
        mean = scipy.special.expit(design @ weights)
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
    flat[usable] = scipy.special.expit(np.clip(best[1], -30, 30))
    return flat


def _one_sided(hits: Array, total: Array) -> list[Array]:
    """Indicators of the cells at either end in which only one input was ever seen: where a law may have ended."""
    mixed = np.flatnonzero((hits > 0) & (hits < total))
    if len(mixed) == 0:
        return []
    place = np.arange(len(total))
    return [ends.astype(float) for ends in (place < mixed[0], place > mixed[-1]) if ends.any()]


def _logistic(design: Array, hits: Array, total: Array) -> tuple[Array, float]:
    """Binomial logistic regression by Newton's method with a trace of ridge: coefficients and log-likelihood."""
    weights = np.zeros(design.shape[1])
    share = hits.sum() / total.sum()
    weights[0] = scipy.special.logit(np.clip(share, 1e-9, 1 - 1e-9))
    ridge = 0.1 * np.eye(len(weights))
    ridge[0, 0] = 1e-9

    def objective(w: Array) -> float:
        odds = design @ w
        return float(hits @ odds - total @ np.logaddexp(0.0, odds) - w @ ridge @ w / 2)

    value = objective(weights)
    for _ in range(40):
        mean = scipy.special.expit(design @ weights)
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
