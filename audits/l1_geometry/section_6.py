"""Section 6: the lower bounds, and what algorithms do on their hard data.

The hard laws are those of TTZ15, which the text does not have: prescribed column means with random signs stand in for
the sign problem, fingerprinting columns with Hadamard rows for the LASSO. An algorithm that respects a bound proves
nothing of the others; one that beats it, with a true guarantee, would refute it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck.algorithms.l1_geometry import NoisyMirrorDescent, TreeFrankWolfe
from dpcheck.algorithms.l1_geometry.frank_wolfe import record_count
from dpcheck.algorithms.l1_geometry.reductions import bootstrap
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.harness import accuracy, lower_bound
from dpcheck.harness.budget import budget, certified, sentence
from dpcheck.harness.lower_bound import Fact
from dpcheck.harness.plans import answered, wrongly_answered
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array, Rng, Schedule
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Outcome, Point, Verdict, consistent, differs, refuted, undecided
from dpcheck.workloads import LassoPopulation

from .cases import CONSTANT, NO_CONSTANT, also_elsewhere, least_private, location, problem, sign_error


def _matching() -> Verdict:
    """Whether d sigma x Phi(-x) is above 0.3 of the bound at x = 1/A, A the ratio of d sigma to the bound.

    Where the bound is at most D, x d sigma is too. The share is Phi(-1/A), above 1/2 - 1/(A sqrt(2 pi)), and A grows.
    """
    n, d, e = (BY_NAME[x] for x in ("n", "d", "epsilon"))
    bound = claim("l1_geometry/lem-6-1").order / BY_NAME["D"]
    over = 2 * sp.sqrt(2 * d * sp.log(sp.Rational(5, 4) * n**2)) / (n * e) / bound  # delta = 1/n^2
    u, v = sp.symbols("u v", nonnegative=True)
    A = sp.expand_log(over.subs({n: 2 * sp.exp(u), d: 2 * sp.exp(v)}), force=True)
    least = sp.Rational(1, 2) - 1 / (A.subs({u: 0, v: 0}) * sp.sqrt(2 * sp.pi))
    grows = {f"slope in log {name}": sp.factor(sp.diff(A, x)) for name, x in (("n", u), ("d", v))}
    return proved({"epsilon drops out": sp.diff(A, e)}, {**grows, "at n = d = 2": least - sp.Rational(3, 10)})


@check("l1_geometry/lem-6-1", kind="lower-bound", expect="consistent")
def gaussian_signs_respect_the_bound(context: Context) -> Verdict:
    """The matching mechanism's exact worst error over sqrt d/(n eps log d) stays above a positive constant, for all n,
    d >= 2 and eps at which that is at most D; that other mechanisms do not beat the bound is not shown.
    """
    ratios, points = [], []
    for n, d, e in itertools.product((10**3, 10**5), (16, 256, 4096), (0.05, 0.5)):
        if n * e < math.sqrt(d) / math.log(d):
            continue
        bound = float(claim("l1_geometry/lem-6-1").evaluate(D=1, d=d, n=n, epsilon=e))
        error = sign_error(n, d, e, 1 / n**2)
        ratios.append(error / bound)
        points.append(Point(x=float(d), value=error, bound=bound, series=f"n = {n}, epsilon = {e:g}"))
    judged = accuracy.never_violated(
        np.full(len(ratios), 0.3), ratios, statement="0.3 <= worst error over sqrt d/(n eps log d)", drawn=False
    )
    if _matching().outcome is Outcome.HOLDS and judged.outcome is Outcome.CONSISTENT:
        said = "the matching mechanism errs by 0.3 of it at least, for all n, d >= 2 and epsilon where it is below D"
        seen = "this mechanism beating the bound; of the others it says nothing"
        judged = replace(judged, reason=f"{said}, least {min(ratios):.3g} at {len(ratios)} points", notices=seen)
    return replace(judged, points=points, axes=("d", "error of the signs"), dashed="lower bound, its constant set to 1")


@check("l1_geometry/lem-6-1@literal", kind="lower-bound", expect="refuted")
def random_signs_beat_the_uncapped_bound(context: Context) -> Verdict:
    """Random signs err by exactly half of sum |mean z_j| <= D, by enumerating all sign vectors on exact means; at
    n = 2, epsilon = 1/3 and d = 10^12 the bound with the constant 1/1000 exceeds that.
    """
    facts = []
    for means in ((1, 1, 1), (0, 1, 1), (1, 0, 0)):
        z = [Fraction(m, 3) for m in means]
        signs = list(itertools.product((-1, 1), repeat=3))
        error = sum(sum(abs(v) for v, s in zip(z, one, strict=True) if s == -1) for one in signs) / Fraction(8)
        facts.append(Fact("error of random signs", error, "=", sum(z) / Fraction(2)))
        facts.append(Fact("and at most D/2", error, "<=", Fraction(1, 2)))
    if not all(fact.holds for fact in facts):
        return differs(f"random signs: {next(fact for fact in facts if not fact.holds)}")
    at = {"n": 2, "d": 10**12, "epsilon": "1/3", "constant": "1/1000", "D": 5}
    return refuted_by("l1_geometry/lem-6-1@literal", "lem_6_1_range", by=claim("l1_geometry/lem-6-1@literal"), **at)


@check("l1_geometry/lem-6-1@corrected", kind="symbolic")
def error_at_which_the_records_run_out(context: Context) -> Verdict:
    """Proposition 1 solved for alpha; the cap binds at n eps = sqrt d/log d; the matching mechanism is log d above it.

    Its noise has d sigma = 2 sqrt(2 d log(1.25/delta))/(n eps), and its worst error is d sigma max x Phi(-x).
    """
    n, d, e, D, a = (BY_NAME[x] for x in ("n", "d", "epsilon", "D", "alpha"))
    free = claim("l1_geometry/lem-6-1").order / D
    needed = claim("l1_geometry/prop-1@corrected").order
    capped = claim("l1_geometry/lem-6-1@corrected").order / D
    log, ell, t = sp.symbols("w l t", positive=True)  # log(1.25/delta), log d
    sigma = 2 * sp.sqrt(2 * log) / (n * sp.sqrt(d) * e)
    inside = capped.subs(n, (1 + t) * sp.sqrt(d) / (e * sp.log(d)))
    return proved(
        {
            "Proposition 1 at this error": needed.subs(a, free) - n,
            "cap": free.subs(n, sp.sqrt(d) / (e * sp.log(d))) - 1,
            "with more records the cap is idle": inside - 1 / (1 + t),
            "matching mechanism over the bound": (d * sigma / free).subs(sp.log(d), ell) - 2 * sp.sqrt(2 * log) * ell,
        }
    )


@check("l1_geometry/thm-10", kind="lower-bound", expect="consistent")
def excess_is_at_least_the_sign_error(context: Context) -> Verdict:
    """Any point of the ball has excess at least L sum |z_bar_j| 1{wrong sign}: random data, points in and out of the
    box.
    """
    # unbound: an inequality inside of the proof, whatever the rate is
    work, rng = location(4), context.rng()
    size = context.scale(2000, 20_000)
    z = work.rows(rng, size, 7)
    x = work.project(rng.standard_normal((size, 4)) * 0.6)
    mean = z.mean(axis=1)
    best = work.a * np.sign(mean)
    excess = work.loss(x[:, None], z).mean(axis=1) - work.loss(best[:, None], z).mean(axis=1)
    wrong = (np.abs(mean) * (np.sign(x) != np.sign(mean))).sum(axis=1)
    return accuracy.never_violated(
        wrong, excess + 1e-12, statement="sign error <= excess", failure_probability=context.failure_probability
    )


@check("l1_geometry/thm-10", kind="symbolic")
def excess_of_one_coordinate(context: Context) -> Verdict:
    """Of mean p|x - a| + (1 - p)|x + a|, p = (1 + g)/2 >= 1/2: at least g a, which is |z_bar_j|, at every x <= 0, and
    at least 0 elsewhere; so the excess is L times the error of Lemma 6.1 at least, whose order is multiplied by L.
    """
    a, u, v, rest = sp.symbols("a u v r", nonnegative=True)
    g = 1 / (1 + rest)  # in (0, 1]

    def excess(right: sp.Expr, left: sp.Expr) -> sp.Expr:
        """At distances `right` from a and `left` from -a."""
        return (1 + g) / 2 * right + (1 - g) / 2 * left - (1 - g) * a

    inside = a / (1 + u)  # |x| <= a
    L, order = BY_NAME["L"], claim("l1_geometry/thm-10").order
    return proved(
        {"L times Lemma 6.1": order - L * claim("l1_geometry/lem-6-1").order},
        {
            "wrong sign, in the box": sp.simplify(excess(a + inside, a - inside) - g * a),
            "wrong sign, beyond it": sp.simplify(excess(2 * a + v, v) - g * a),
            "right sign, in the box": sp.factor(excess(a - inside, a + inside)),
            "right sign, beyond it": sp.simplify(excess(v, 2 * a + v)),
        },
    )


@check("l1_geometry/thm-10@literal", kind="lower-bound", expect="refuted")
def the_origin_beats_the_uncapped_bound(context: Context) -> Verdict:
    """x = 0 has excess at most LD on every data set."""
    at = {"n": 2, "d": 10**12, "epsilon": "1/3", "constant": "1/1000", "L": 3, "D": 5}
    return refuted_by("l1_geometry/thm-10@literal", "thm_10_range", by=claim("l1_geometry/thm-10@literal"), **at)


@check("l1_geometry/thm-10@derived", kind="lower-bound")
def excess_of_the_location_loss(context: Context) -> Verdict:
    """The empirical excess on the box equals L sum |z_bar_j| (1 - x_j sgn(z_bar_j) d/D), on random data and points."""
    work, rng = location(5), context.rng()
    size = context.scale(500, 5000)
    z = work.rows(rng, size, 7)
    x = rng.uniform(-work.a, work.a, (size, 5))
    mean = z.mean(axis=1)
    best = work.a * np.sign(mean)

    def empirical(w: Array) -> Array:
        return np.asarray(work.loss(w[:, None], z).mean(axis=1))

    left = empirical(x) - empirical(best) + 1.0
    right = (np.abs(mean) * (1 - x * np.sign(mean) / work.a)).sum(axis=1) + 1.0
    return agree(left, right, "excess, plus 1", 1e-12)


def _judged(said: str, private: bool, beats: bool, **fields: Any) -> Verdict:
    """What a private algorithm says of a lower bound: refuted where its means are certainly below, six errors included,
    CONSTANT times the bound; of one that is not certified private, nothing.
    """
    if beats:
        return refuted(said, "sampled", **fields)
    if not private:
        return undecided(f"{said}; not certified private, so it says nothing", "sampled", **fields)
    return consistent(said, "sampled", notices=f"means below {CONSTANT:g} of the bound with constant 1", **fields)


def with_means(tau: float, n: int, d: int, a: float, rng: Rng) -> Array:
    """(1, n, d) of +-a, column j holding ceil(n (1 + s_j tau)/2) entries +a, the signs s_j random."""
    ups = np.ceil(n * (1 + rng.choice([-1.0, 1.0], d) * tau) / 2)
    return np.where(np.arange(n)[:, None] < ups, a, -a)[None]


@check("l1_geometry/thm-10@corrected", kind="lower-bound", expect="consistent")
def descent_on_the_location_loss(context: Context) -> Verdict:
    """Algorithm 1 at the least constant that is certified, on column means swept over five sizes: its largest
    mean excess over the capped bound.
    """
    n, d, epsilon, trials = 1000, 16, 0.05, context.scale(12, 60)
    work = location(d)
    told = problem(work, ApproxDP(epsilon, 1 / n**2))
    algorithm = least_private(NoisyMirrorDescent(batch=100), told, n)
    plan = algorithm.schedule(told, n)
    spent = budget(plan, told, n)
    bound = float(claim("l1_geometry/thm-10@corrected").evaluate(L=1, D=1, d=d, n=n, epsilon=epsilon))
    means, points, tops = {}, [], []
    for tau in (0.02, 0.06, 0.2, 0.5, 1.0):
        data = with_means(tau, n, d, work.a, context.rng("data", tau))
        run: Run[Any] = Run(plan, trials, context.rng("noise", tau))
        x = algorithm.execute(run, work, Fixed(data), np.zeros((1, d)))
        best = work.a * np.sign(data[0].mean(axis=0))
        excess = work.loss(x[:, None], data).mean(axis=1) - float(work.loss(best, data[0]).mean())
        means[f"mean excess at tau = {tau:g}"] = float(excess.mean())
        tops.append(float(excess.mean() + 6 * excess.std(ddof=1) / math.sqrt(trials)))
        points.append(Point(x=tau, value=float(excess.mean()), bound=bound, series="Algorithm 1"))
    top = max(means.values())
    numbers = {**means, "bound, constant 1": bound, **spent}
    said = f"largest mean excess {top:.4g}, {top / bound:.3g} of L D min(1, sqrt d/(n eps log d)); {sentence(spent)}"
    private = float(spent["certified epsilon"]) <= epsilon * (1 + 1e-9)
    return _judged(
        said, private, private and max(tops) < CONSTANT * bound, numbers=numbers, points=points,
        failure_probability=context.failure_probability, axes=("size of the column means", "excess empirical loss"),
        dashed=NO_CONSTANT,
    )  # fmt: skip


def hard_lasso(n: int, d: int, rng: Rng, share: float = 0.5) -> LassoPopulation:
    """Rows with fingerprinting columns (P(+1) = (1 + sin theta_j)/2) and target 1, then Hadamard rows with target 0.

    The latter, a `share` of all rows, add a multiple of |x|_2^2 and force dense solutions.
    """
    chances = (1 + np.sin(rng.uniform(0, 2 * math.pi, d))) / 2
    marked = n - int(share * n) // d * d
    signs = np.where(rng.random((marked, d)) < chances, 1.0, -1.0)
    flat = np.tile(scipy.linalg.hadamard(d).astype(float), ((n - marked) // d, 1))
    target = np.concatenate([np.ones(marked), np.zeros(n - marked)])
    return LassoPopulation(np.concatenate([signs, flat]), target)


@check("l1_geometry/thm-11", kind="lower-bound", grid={"d": by_size([16], [16, 64])}, expect="consistent")
def tree_and_descent_on_a_hard_lasso(context: Context, *, d: int) -> Verdict:
    """Excess empirical loss of Algorithms 1 and 3 on the surrogate, over L D min(1, (n eps)^(-2/3), sqrt d/(n eps))."""
    T, b = 2, 512
    n, trials = record_count(b, T), context.scale(20, 100)
    work = hard_lasso(n, d, context.rng("rows"))
    data, order = Fixed(work.table[None]), context.rng("order")
    L, told = work.constants.lipschitz(1.0), problem(work, ApproxDP(1.0, 1 / n**2))
    bound = L * float(claim("l1_geometry/thm-11@corrected").evaluate(L=1, D=1, n=n, d=d, epsilon=1.0))
    kinds: dict[str, Any] = {
        "Algorithm 3": TreeFrankWolfe(T=T, batch=b, sensitivity="safe"),
        "Algorithm 1": least_private(NoisyMirrorDescent(batch=256), told, n),
    }
    means, tops, points = {}, {}, []
    for name, algorithm in kinds.items():
        run: Run[Any] = Run(algorithm.schedule(told, n), trials, order)
        excess = work.excess_risk(algorithm.execute(run, work, data, np.zeros((1, d))))
        means[name] = float(excess.mean())
        tops[name] = float(excess.mean() + 6 * excess.std(ddof=1) / math.sqrt(trials))
        points.append(Point(x=float(d), value=means[name], bound=bound, series=name))
    spent = {name: certified(algorithm, told, n)["certified epsilon"] for name, algorithm in kinds.items()}
    facts = [
        Fact("beta over L/D", work.constants.smoothness(1.0) / L, "<=", 1, 1e-12),
        Fact("rows", len(work.table), "=", n),
    ]
    verdict = lower_bound.verdict(facts)
    numbers = {**verdict.numbers, **means, "bound, constant 1": bound}
    numbers |= {f"certified epsilon of {name}": value for name, value in spent.items()}
    said = ", ".join(f"{name}: {value / bound:.3g}" for name, value in means.items())
    private = {name: value <= 1 + 1e-9 for name, value in spent.items()}
    if verdict.outcome != "holds":
        return differs(f"the surrogate is not in the class: {verdict.reason}", numbers=numbers)
    beaten = [name for name, value in tops.items() if private[name] and value < CONSTANT * bound]
    return _judged(
        f"mean excess over the bound without its constant, d = {d}, n = {n}: {said}", any(private.values()),
        bool(beaten), numbers=numbers, points=points, failure_probability=context.failure_probability,
        axes=("d", "excess loss"), dashed=NO_CONSTANT,
    )  # fmt: skip


@check("l1_geometry/thm-11", kind="symbolic")
def crossover_of_the_two_algorithms(context: Context) -> Verdict:
    """The two branches of the printed bound cross at d = (n eps)^(2/3), as the private terms of Theorems 4 and 7 do up
    to logarithms.

    With the logarithms of Theorems 1 and 2 the crossing lies lower: it is solved for at n eps = 10^4, 10^6 and 10^8.
    """
    d, n, e = (BY_NAME[name] for name in ("d", "n", "epsilon"))
    x = sp.Symbol("x", positive=True)
    found = [branch.subs(n, x / e) for each in claim("l1_geometry/thm-11").order.atoms(sp.Min) for branch in each.args]
    if len(found) != 2:
        return differs(f"the least of two branches is to be stated, and {found} are")
    first, second = found
    vector, tree = (first, second) if first.has(d) else (second, first)
    crossing = sp.solve(vector - tree, d)
    verdict = proved({"crossing": crossing[0] - x ** sp.Rational(2, 3)})
    numbers = dict(verdict.numbers)
    for size in (1e4, 1e6, 1e8):

        def gap(log_d: float, size: float = size) -> float:
            return 0.5 * log_d + 1.5 * math.log(log_d) - math.log(size) - 2 / 3 * (math.log(log_d) - math.log(size))

        low, high = math.log(2), math.log(size)
        numbers[f"d with logarithms at n eps = {size:g}"] = math.exp(scipy.optimize.brentq(gap, low, high))
        numbers[f"d without at n eps = {size:g}"] = size ** (2 / 3)
    return replace(verdict, numbers=numbers)


@check("l1_geometry/thm-11@literal", kind="lower-bound", expect="refuted")
def range_of_the_loss_below_the_bound(context: Context) -> Verdict:
    """At n = 2, epsilon = 10^-9 the bound with the constant 1/1000 exceeds the range 2LD of the loss; with the constant
    100 it does at n epsilon = 8 too, by both of its terms, that in d where d = 3.
    """
    of: dict[str, Any] = {"by": claim(context.label), "L": 3, "D": 5}
    mild = {"n": 40, "epsilon": "1/5", "constant": 100}
    others = [refuted_by(context.label, "thm_11_range", d=d, **mild, **of) for d in (3, 100)]
    at = {"n": 2, "d": 100, "epsilon": f"1/{10**9}", "constant": "1/1000"}
    return also_elsewhere(refuted_by(context.label, "thm_11_range", **at, **of), others)


@check("l1_geometry/thm-11@corrected", kind="transcription")
def cap_is_added_to_the_printed_bound(context: Context) -> Verdict:
    """The capped bound is LD min{1, printed/(LD)}."""
    L, D = (BY_NAME[x] for x in ("L", "D"))
    printed, capped = (claim(f"l1_geometry/thm-11{reading}").order for reading in ("", "@corrected"))
    return proved({"LD min{1, printed/(LD)}": capped / (L * D) - sp.Min(1, printed / (L * D))})


@check("l1_geometry/proc-bootstrap", kind="lower-bound")
def bootstrap_risk_is_empirical(context: Context) -> Verdict:
    """Averaged over all n^n draws, the loss of bootstrapped records is the empirical loss; a record occurs O(log n)
    times.
    """
    data = np.arange(3.0).reshape(1, 3, 1)
    draws = np.array(list(itertools.product(range(3), repeat=3)))

    class Listed:
        def integers(self, high: int, size: Any) -> Any:
            if (high, size) != (3, draws.shape):
                raise ValueError(f"{size} draws below {high}, where {draws.shape} below 3 are to be")
            return draws

    plan: Any = Schedule(phases=(), releases=(), gradients=0, floats_per_trial=1, claimed=None)
    run: Run[Any] = Run(plan, len(draws), Listed())  # type: ignore[arg-type]
    if wrong := wrongly_answered([("a draw of each record of each trial", partial(bootstrap, run, Fixed(data)), True)]):
        return answered(wrong, "")
    rows = bootstrap(run, Fixed(data)).read().values
    often = float(scipy.stats.binom.sf(20, 10**6, 1e-6) * 10**6)
    numbers = {"chance that one of 10^6 records occurs more than 20 times": often}
    verdict = agree([float(((rows - 0.5) ** 2).mean())], [float(((data - 0.5) ** 2).mean())], "mean loss")
    return replace(verdict, numbers={**verdict.numbers, **numbers})
