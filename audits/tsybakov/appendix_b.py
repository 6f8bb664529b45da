"""Appendix B: facts and lemmas behind Theorems 1 to 3."""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy
import sympy as sp

from dpcheck.accounting import account
from dpcheck.algorithms.tsybakov import StochasticApproximation
from dpcheck.algorithms.tsybakov.clipped import clipped_mean
from dpcheck.checks import Context, check
from dpcheck.claims import evaluate
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.geometry.norms import clip_norm
from dpcheck.harness import accuracy, losses, sensitivity, stability
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.search import BallRecords, maximise
from dpcheck.harness.symbolic import agree, norm_tail_proved, proved, where_proved
from dpcheck.interfaces import Array, Sample
from dpcheck.laws import Gaussian
from dpcheck.privacy import gaussian_delta
from dpcheck.symbols import BY_NAME, epsilon, positive, rho, theta
from dpcheck.verdicts import Verdict, combine
from dpcheck.workloads.power_well import PowerWell

from .cases import LINE, told


@check("tsybakov/fact-sens", kind="sensitivity")
def one_gradient_moves_by_its_share(context: Context) -> Verdict:
    """Clipped means of random and given neighbours, against 2C/n; ±C along one axis attains it."""
    n, C = 5, 2.0

    def mean(data: Array) -> Array:
        return clipped_mean(Sample(data, np.ones((1, n))), data, C)

    pair = (np.zeros((n, 2)), np.zeros((n, 2)))
    pair[0][0], pair[1][0] = [50.0, 0.0], [-50.0, 0.0]
    measure = stability.of_map(mean, stated("tsybakov/fact-sens", C=C, n=n))
    search = maximise(
        measure, BallRecords(50.0, 2), n, given=[pair], chains=32, steps=context.scale(10, 60), seed=context.seed
    )
    because = "each clipped record lies in a ball of radius C and has the weight 1/n; the regulariser is common"
    return sensitivity.judge(search, certificate=sensitivity.Certificate(1.0, because))


@check("tsybakov/fact-zcdp-conversion", kind="symbolic")
def order_of_the_conversion(context: Context) -> Verdict:
    """At order 1 + sqrt(ℒ/rho) Markov's inequality gives rho + 2 sqrt(rho ℒ): the printed noise does to 20.69ℒ."""
    logs = sp.symbols("ℒ", positive=True)
    alpha = 1 + sp.sqrt(logs / rho)
    at = rho * alpha + logs / (alpha - 1)
    printed = epsilon**2 / (32 * logs)
    limit = 32 * logs * (1 - 2 / sp.sqrt(32))
    converted = explicit_of(context.label).subs(sp.log(1 / BY_NAME["delta"]), logs)
    spent = converted.subs(rho, printed)
    return proved(
        {
            "rho alpha + ℒ/(alpha - 1)": at - converted,
            "the order is the best": sp.diff(rho * sp.Symbol("a") + logs / (sp.Symbol("a") - 1), sp.Symbol("a")).subs(
                sp.Symbol("a"), alpha
            ),
            "the printed noise spends epsilon at the limit": (spent - epsilon).subs(epsilon, limit),
            "and its excess is a multiple of epsilon - limit": sp.expand(
                (spent - epsilon) * 32 * logs - epsilon * (epsilon - limit)
            ),
        }
    )


@check("tsybakov/fact-zcdp-conversion", kind="privacy")
def conversion_against_the_exact_curve(context: Context) -> Verdict:
    """rho-zCDP of Gaussian noise, one use and four adaptive ones, converted, against the exact curve."""
    left, right = [], []
    for scale, count in itertools.product(np.geomspace(0.05, 20, context.scale(20, 100)), (1, 4)):
        law = Gaussian(float(scale))
        spent = law.zcdp(1.0, count)
        for d in (1e-9, 1e-5, 0.1):
            converted = stated("tsybakov/fact-zcdp-conversion", rho=spent, delta=d)
            left.append(gaussian_delta(math.sqrt(count) / float(scale), converted))
            right.append(d)
    # epsilon/mu - mu/2 = sqrt(2 log(1/delta)) at mu = sqrt(2 rho): P(g > that) is at least delta(epsilon).
    converted = claim("tsybakov/fact-zcdp-conversion").explicit
    log, mu = sp.Symbol("l", positive=True), sp.sqrt(2 * rho)
    place = converted.subs(BY_NAME["delta"], sp.exp(-log)) / mu - mu / 2
    every = proved({"exp(-place^2/2) = delta": place**2 / 2 - log})
    return accuracy.never_violated(
        left, right, statement="exact delta at the converted epsilon <= delta", drawn=False, evidence="certificate",
        covers=where_proved(every, "a grid; the Gaussian tail proves it for every rho and delta"),
    )  # fmt: skip


@check("tsybakov/fact-parallel", kind="privacy")
def disjoint_batches_cost_what_one_costs(context: Context) -> Verdict:
    """Algorithm 3's phases with unequal noise: the account is that of the noisiest claim, whatever the others are."""
    plan = StochasticApproximation(**StochasticApproximation.readings["corrected"]).schedule(told(LINE), 1024)
    scales = context.rng().uniform(0.2, 3.0, len(plan.releases))
    for release, scale in zip(plan.releases, scales, strict=True):
        plan = plan.edit(release.name, law=Gaussian(release.law.sigma * float(scale)))  # type: ignore[attr-defined]
    single = [
        losses.compose(plan, {release.name: release.reads[0].sensitivity}).delta(1.0)[1] for release in plan.releases
    ]
    return agree(
        [account(plan).delta(1.0)],
        [max(single)],
        f"account of {len(single)} releases on disjoint records, and the largest of the exact curves of one",
        tolerance=1e-6,
    )


def _every_length() -> Verdict:
    u = sp.Symbol("u", positive=True)
    tail = claim("tsybakov/fact-gauss-tail").bound
    return norm_tail_proved(tail.subs(BY_NAME["t"], BY_NAME["sigma"] * sp.sqrt(u)), u)


@check("tsybakov/fact-gauss-tail", kind="accuracy", grid={"d": (1, 2, 10, 100)})
def gaussian_noise_is_rarely_long(context: Context, *, d: int) -> Verdict:
    """The chi-square tail against 2 exp(-t^2/(16 sigma^2)) on a grid of t, and Chernoff's bound for every t and d."""
    u = np.linspace(1e-3, 200, context.scale(2000, 20_000))
    return accuracy.never_violated(
        scipy.stats.chi2.sf(d * u, d),
        [stated("tsybakov/fact-gauss-tail", t=math.sqrt(x), sigma=1.0) for x in u],
        statement="P(|xi| >= t sqrt d) <= 2 exp(-t^2/(16 sigma^2))",
        drawn=False,
        covers=where_proved(_every_length(), "a grid; Chernoff's bound proves it for every t and d"),
    )


@check("tsybakov/fact-gauss-tail", kind="symbolic")
def chi_square_bound_implies_the_tail(context: Context) -> Verdict:
    """u = t^2/sigma^2 >= 16 log 2: (u - 1 - log u)/2 - u/16 is positive and increases; below, the bound is >= 1."""
    level = sp.Symbol("x", positive=True)
    high = claim("tsybakov/fact-gauss-tail").bound.subs(BY_NAME["t"], 4 * BY_NAME["sigma"] * level)
    return combine(
        [
            _every_length(),
            proved({"t = 4 sigma log(4/beta) gives 2 exp(-log^2(4/beta))": sp.log(high / 2) + level**2}),
        ]
    )


def _fair_signs() -> Verdict:
    """Whether the order at beta = 1/n, constant 1, D = 0 is above the excess of the mean of n fair signs of one size.

    By Hoeffding's inequality that is (spread t)^2/(2 lambda) at most, 2 exp(-n t^2/2) = 1/n; y = log n is above 2.
    """
    u, v, spread, y = positive("u v s y")
    order = order_of("tsybakov/lem-3")
    far = sp.sqrt(2 * (sp.log(2) + y) * sp.exp(-y))
    at = {"n": sp.exp(y), "beta": sp.exp(-y), "L": spread * (1 + v), "D": 0}
    stated_ = sp.expand_log(order.subs({s: at[s.name] for s in order.free_symbols if s.name in at}), force=True)
    (weight,) = stated_.free_symbols - {y, spread, v}
    room = sp.expand((stated_ - (spread * far) ** 2 / (2 * weight)) * weight * sp.exp(y) / spread**2).subs(y, 2 + u)
    least = room.subs({u: 0, v: 0})
    return proved(
        {"chance": sp.log(2) - sp.exp(y) * far**2 / 2 + y},
        {"n = 8": sp.log(8) - 2, "room there, L the size": least, "more room beyond": sp.expand(room - least)},
    )


@check("tsybakov/lem-3", kind="risk", grid={"spread": (0.5, 1.0, 3.0)}, expect="consistent")
def empirical_minimiser_at_hidden_constant_one(context: Context, *, spread: float) -> Verdict:
    """λ/2 |w - c|² - <w, x>, x a fair sign: the exact (1 - 1/n)-quantile of the minimiser's excess, constant 1; by
    Hoeffding's inequality, for this loss, at every n from 8 on, size of the signs and λ.
    """
    left, right = [], []
    for j, weight in itertools.product(range(3, context.scale(14, 20, 26)), (0.1, 1.0, 10.0)):
        n = 2**j
        work = PowerWell(c=np.array([0.5]), v=np.ones(1), size=spread, chance=1.0, weight=weight)
        # |mean| beyond its quantile at 1 - 1/n, moved as far as the domain lets it.
        high = float(scipy.stats.binom.ppf(1 - 1 / (2 * n), n, 0.5))
        moved = spread * (2 * high / n - 1) / weight
        far = max(abs(min(0.5 + moved, 1.0) - 0.5), abs(max(0.5 - moved, -1.0) - 0.5))
        left.append(weight / 2 * far**2)
        given = {"n": n, "beta": 1 / n, "L": work.constants.lipschitz(2.0), "D": 2.0, "lambda": weight}
        right.append(claim("tsybakov/lem-3").evaluate(**given))
    return accuracy.never_violated(
        left,
        right,
        statement="quantile of the excess <= the order with constant 1"
        + where_proved(_fair_signs(), " (proved of this loss at every n from 8 on and λ by Hoeffding's inequality)"),
        evidence="certificate",
        drawn=False,
    )


UNITS = {"D": (0, 1), "L": (1, -1), "H": (1, -2), "b": (1, -1), "Sigma": (1, -1), "r_k": (1, -1), "r_2k": (1, -1),
         "R_2k": (1, -1), "C": (1, -1)}  # fmt: skip
"""Of symbols, as powers of the unit of losses and of that of lengths; numbers have none."""
CURVED, TSYBAKOV = (1, -2), (1, -2.5)
"""Of λ: that of a curvature, and of the noise condition at θ = 5/2."""
LOSSES = {"lem-3": CURVED, "fact-acsa": CURVED, "thm-6": CURVED, "thm-7": TSYBAKOV, "thm-9": CURVED, "alg-6": CURVED}
"""O-forms -> the unit of λ in them: excess risks, and a variance of gradients."""


@check(
    "tsybakov/lem-3",
    kind="symbolic",
    grid={"name": tuple(LOSSES)},
    also=tuple(f"tsybakov/{name}" for name in LOSSES if name != "lem-3"),
)
def orders_have_the_unit_of_what_they_bound(context: Context, *, name: str) -> Verdict:
    """With losses in units 3 and lengths in units 1/7 the order is 3 times as large; a squared gradient 441 times."""
    order, rng = order_of(f"tsybakov/{name}"), context.rng()
    at = {symbol.name: float(rng.uniform(0.2, 0.9)) for symbol in order.free_symbols}
    at |= {"n": 1e6, "theta": 2.5, "k": 3.0}
    units = {**UNITS, "lambda": LOSSES[name]}
    scaled = {
        symbol: value * 3 ** units.get(symbol, (0, 0))[0] / 7 ** units.get(symbol, (0, 0))[1]
        for symbol, value in at.items()
    }
    grown = float(evaluate(order, scaled)) / float(evaluate(order, at))
    return agree([grown], [441.0 if name == "alg-6" else 3.0], "what the order grows by when units change")


def traced(lam: float, theta: float, a: float, calls: int, rng: np.random.Generator) -> tuple[list[float], list[float]]:
    """(7), (8), (9) along calls of an oracle that is as bad as it may be on F = lam |w|^theta over [-R_0, R_0]."""
    R_0 = 1.0
    mu = [2 ** ((theta - 1) * e) * 2 * R_0 ** (1 - theta) * a for e in range(calls + 1)]
    star = max(e for e in range(calls + 1) if mu[e] <= lam)
    w, left, right, at_star = float(rng.uniform(-R_0, R_0)), [], [], 0.0
    for e in range(1, calls + 1):
        R = 2.0 ** -(e - 1) * R_0
        if e <= star:
            left.append(abs(w))
            right.append(R)
        low, high = max(-R_0, w - R), min(R_0, w + R)
        best = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        # Excess at most R a against every point of the domain of the call: the farthest such point, on either side.
        reach = ((lam * best**theta + R * a) / lam) ** (1 / theta)
        ends = [x for x in (max(low, -reach), min(high, reach)) if abs(x) <= reach + 1e-15]
        w = max(ends, key=abs) if rng.random() < 0.7 else float(rng.choice(ends))
        excess = lam * abs(w) ** theta
        if e <= star:
            left.append(excess)
            right.append(stated("tsybakov/lem-4", e=e, R_0=R_0, a=a))
            at_star = excess
        else:
            left.append(excess - at_star)
            right.append(stated("tsybakov/lem-4", e=star, R_0=R_0, a=a))
    return left, right


@check("tsybakov/lem-4", kind="accuracy", grid={"theta": (2.0, 3.0, 4.0)})
def worst_legal_calls_stay_in_halving_balls(context: Context, *, theta: float) -> Verdict:
    """(7), (8) and (9) for calls that return the worst point that their guarantee allows."""
    rng, left, right = context.rng(), [], []
    for _ in range(context.scale(200, 1000)):
        a, calls = float(10 ** rng.uniform(-5, -1.5)), int(rng.integers(2, 9))
        low, high = 2 * a, 2 ** ((theta - 1) * calls) * 2 * a
        lam = math.exp(rng.uniform(math.log(low), math.log(high)))
        one, two = traced(lam, theta, a, calls, rng)
        left += one
        right += two
    return accuracy.never_violated(
        left, right, statement="distances and excess of Lemma 4", evidence="certificate",
        covers="R_{e-1}a = mu_e R_e^theta, so that lambda |w - w*|^theta <= mu_e R_e^theta <= lambda R_e^theta while "
        "mu_e <= lambda; after that the excesses form a geometric series",
    )  # fmt: skip


@check("tsybakov/lem-4", kind="symbolic")
def radii_and_thresholds(context: Context) -> Verdict:
    """R_{e-1} a = mu_e R_e^theta, and the sum of the excesses after e* is 2 R_{e*} a."""
    R_0, a, e, j = sp.symbols("R_0 a e j", positive=True)
    mu = 2 ** ((theta - 1) * e) * 2 * R_0 ** (1 - theta) * a
    drift = sp.summation(2 ** (-(e + j)) * R_0 * a, (j, 0, sp.oo))
    stated = claim("tsybakov/lem-4").bound.subs({s: v for s in claim("tsybakov/lem-4").bound.free_symbols
                                            for v in (R_0, a, e) if s.name == v.name})  # fmt: skip
    return proved(
        {
            "R_{e-1} a = mu_e R_e^theta": sp.log(mu * (R_0 * 2**-e) ** theta) - sp.log(2 ** (1 - e) * R_0 * a),
            "mu_e R_e^theta is the bound of the lemma": sp.log(2 ** (1 - e) * R_0 * a) - sp.log(stated),
            "drift after e*": drift / (2 * 2**-e * R_0 * a) - 1,
        }
    )


def _contracted() -> Verdict:
    """Whether log2 C is enough for every theta = 1 + u, c and n, from Delta_0 <= 1 and E_0 >= c^theta 2^(theta l)/N.

    With x_i = Delta_i/(K E_i^q), K and q of `one_step_of_the_recursion`, x_l <= max(1, x_0)^(theta^-l); theta^-l is at
    most 1, and theta/log2 n after the l steps. N is n^(theta/2), z is |log2 c_1|.
    """
    u, z, steps, logs = positive("u z l y")  # y = log2 n
    explicit, power = explicit_of("tsybakov/fact-thm3-recursion"), theta / (theta - 1)
    ((c,), (size,)) = explicit.free_symbols - {theta}, explicit.atoms(sp.Abs)
    start = c**theta * 2 ** (theta * steps) / 2 ** (logs * theta / 2)
    log_K = theta / (theta - 1) ** 2
    x_0 = logs * power / 2 - steps * power - size.args[0]
    enough = sp.expand_log(sp.log(explicit.subs(size, z), 2), force=True) - log_K - z - theta / logs * logs * power / 2
    return proved(
        {"log2 x_0": x_0 + log_K + sp.log(start, 2) / (theta - 1)},
        {"log2 C": sp.factor(enough.subs(theta, 1 + u)), "what l takes away": power.subs(theta, 1 + u)},
    )


@check("tsybakov/fact-thm3-recursion", kind="accuracy", grid={"theta": (1.5, 2.0, 4.0)})
def worst_recursion_against_its_constant(context: Context, *, theta: float) -> Verdict:
    """Equality in every step, E_{i-1} = 2^theta E_i, l = log_theta(2) log2 log2 n steps: Delta_l/E_l^(1/(theta-1)); in
    closed form for every theta, c and n.
    """
    left, right = [], []
    for c, n in itertools.product((0.5, 1.0, 3.0), (2.0**10, 2.0**20, 2.0**40)):
        # The first Delta is bounded through Lemma 1: Delta_0 <= (L^theta/lambda)^(1/(theta-1)), E_l >= n^(-theta/2).
        steps = math.floor(math.log(2) / math.log(theta) * math.log2(math.log2(n)))
        E = [c**theta * (2.0 ** (theta * (steps - i))) * n ** (-theta / 2) for i in range(steps + 1)]
        delta = 1.0
        for i in range(1, steps + 1):
            delta = (delta * E[i]) ** (1 / theta)
        left.append(delta / E[-1] ** (1 / (theta - 1)))
        right.append(stated("tsybakov/fact-thm3-recursion", theta=theta, a=c))
    return accuracy.never_violated(
        left, right, statement="Delta_l <= C E_l^(1/(theta-1))", drawn=False, evidence="certificate",
        covers=where_proved(_contracted(), "a grid; the closed form of the recursion proves it for every theta, c, n"),
    )  # fmt: skip


@check("tsybakov/fact-thm3-recursion", kind="symbolic")
def one_step_of_the_recursion(context: Context) -> Verdict:
    """(Delta E)^(1/theta)/(K E^q) = (Delta/(K (2^theta E)^q))^(1/theta), q = 1/(theta-1), K = 2^(theta/(theta-1)^2)."""
    gap, E = sp.symbols("Delta E", positive=True)
    K = 2 ** (theta / (theta - 1) ** 2)
    left = (gap * E) ** (1 / theta) / (K * E ** (1 / (theta - 1)))
    right = (gap / (K * (2**theta * E) ** (1 / (theta - 1)))) ** (1 / theta)
    difference = sp.simplify(sp.expand_log(sp.log(left), force=True) - sp.expand_log(sp.log(right), force=True))
    at_two = claim("tsybakov/fact-thm3-recursion").bound.subs(theta, 2)
    constant = at_two.subs(next(iter(at_two.free_symbols)), 1) / 2**18
    return proved({"one step": difference, "C = 2^18 at theta = 2, c = 1": constant - 1})


def two_point_biases(k: int, sharp: bool) -> tuple[list[float], list[float]]:
    """Exact bias of clipping z = 0, or h with chance p, on a grid of h/C and p, and the lemma's bound on it."""
    label = "tsybakov/lem-7@corrected" if sharp else "tsybakov/lem-7"
    left, right = [], []
    for height, chance in itertools.product([0.5, 1.0, 1.2, k / (k - 1), 3.0, 20.0], [1.0, 0.3, 0.01]):
        left.append(chance * max(0.0, height - 1))
        right.append(stated(label, k=k, r_k=(chance * height**k) ** (1 / k), C=1.0))
    return left, right


@check("tsybakov/lem-7", kind="accuracy", grid={"k": (2, 3, 4)})
def bias_of_the_clipped_mean(context: Context, *, k: int) -> Verdict:
    """The bias part of the lemma on exact two-point laws."""
    left, right = two_point_biases(k, sharp=False)
    return accuracy.never_violated(
        left, right, statement="|E clipped mean - mean| <= r^(k)/((k-1) C^(k-1))", evidence="certificate",
        covers="the sharp constant (k-1)^(k-1)/k^k is below 1/(k-1)",
    )  # fmt: skip


@check("tsybakov/lem-7@literal", kind="accuracy", grid={"k": (3, 5)}, expect="refuted")
def clipped_mean_is_near_the_mean_in_expectation(context: Context, *, k: int) -> Verdict:
    """E|mean of ten fair signs of size 2|, nothing being clipped at C = 100, against r^(k)/((k-1) C^(k-1))."""
    ups = np.arange(11)
    value = float(scipy.stats.binom.pmf(ups, 10, 0.5) @ np.abs(2 * ups / 10 - 1)) * 2
    claimed = stated("tsybakov/lem-7@literal", k=k, r_k=2.0, C=100.0)
    return accuracy.never_violated(
        value,
        claimed,
        statement="E|clipped mean - mean| <= r^(k)/((k-1) C^(k-1))",
        witness=lambda _: witnessed("tsybakov/lem-7@literal", "lem_7", claimed, value, s=10, C=100, k=k, r=2),
    )


@check("tsybakov/lem-7@corrected", kind="accuracy", grid={"k": (2, 3, 4)})
def sharp_bias_of_the_clipped_mean(context: Context, *, k: int) -> Verdict:
    """The sharp constant, attained by z = kC/(k - 1)."""
    left, right = two_point_biases(k, sharp=True)
    return accuracy.never_violated(
        left, right, statement="bias <= ((k-1)^(k-1)/k^k) r^(k)/C^(k-1)", evidence="certificate", tolerance=1e-9,
        covers="the bias is at most E(|z| - C)_+, to which the sharp inequality applies for each length",
    )  # fmt: skip


@check("tsybakov/lem-7@variance", kind="accuracy", grid={"s": (1, 4)})
def variance_of_the_clipped_mean(context: Context, *, s: int) -> Verdict:
    """Exact second moment of the noisy clipped mean of s records with three values, against d sigma^2 + r^(2)/s."""
    left, right = [], []
    rng = context.rng()
    for _ in range(context.scale(100, 1000)):
        atoms, chances = rng.standard_normal((3, 2)) * 4, rng.dirichlet(np.ones(3))
        level, sigma = float(rng.uniform(0.1, 6)), float(rng.uniform(0, 2))
        cut = clip_norm(atoms, level)
        mean = chances @ cut
        variance = float(chances @ ((cut - mean) ** 2).sum(axis=1)) / s + 2 * sigma**2
        left.append(variance)
        second = math.sqrt(float(chances @ (atoms**2).sum(axis=1)))
        right.append(stated("tsybakov/lem-7@variance", d=2, sigma=sigma, r_2=second, n=s))
    return accuracy.never_violated(
        left, right, statement="E|noisy clipped mean - its mean|^2 <= d sigma^2 + r^(2)/s", evidence="certificate",
        covers="projecting on a ball brings two records no further apart",
    )  # fmt: skip
