"""Section 1: the setting, the rates before this paper, and the baseline of group privacy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import scipy
import sympy as sp

from dpcheck.accounting import account
from dpcheck.algorithms.user_level import GroupPrivacy
from dpcheck.algorithms.user_level.descent import sgd
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.auditing.finite_laws import product, randomised_response
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.executed import run_as_stated
from dpcheck.engine.settings import drawn, settings
from dpcheck.engine.statements import bound_of, order_of, stated
from dpcheck.geometry import Box
from dpcheck.harness import lower_bound, privacy, risk, runtime, sensitivity
from dpcheck.harness.budget import budget, sentence
from dpcheck.harness.data_free import told_apart
from dpcheck.harness.losses import compose
from dpcheck.harness.lower_bound import Fact
from dpcheck.harness.relations import judged
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Instance, powers, scaling
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.search import BallRecords, UserRecords
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array
from dpcheck.privacy import changed_records
from dpcheck.symbols import D, H, L, d, epsilon, m, n
from dpcheck.verdicts import Verdict, differs, refuted, undecided
from dpcheck.workloads import LinearMean, QuadraticMean, Users

from .cases import (
    BOWLS,
    DELTAS,
    IN_CLOSED_FORM,
    REDUCED_1,
    REDUCED_3,
    REDUCED_4,
    WORKLOADS,
    bowl,
    counted,
    huber,
    linear,
    plain,
    problem,
    quadratic,
    top,
    without_localisation,
    without_log,
    wrong_power,
)
from .lines import BESIDE, group_privacy, replayed, three_kinds
from .plans import passes

OF_THE_BASELINE = {
    "phases": "user_level/proc-group-privacy@phases",
    "users": "user_level/proc-group-privacy@users",
    "steps": "user_level/proc-group-privacy@steps",
    "eta": "user_level/proc-group-privacy@eta",
    "sigma": "user_level/proc-group-privacy@sigma",
    "moves": "user_level/proc-group-privacy@movement",
    "gradients": "user_level/proc-group-privacy@gradients",
}
LETTERS = {"users": "N", "steps": "T"}
settings_of_group_privacy = settings(
    "user_level/proc-group-privacy",
    OF_THE_BASELINE,
    symbols=LETTERS,
    beside=BESIDE,
    problems=drawn(users=(1, 3), n=(4, 2.0**8), d=(1, 3), epsilon=(4, 10)),  # 4/beta is the least at some of them
)

run_of_the_baseline = run_as_stated(
    "user_level/proc-group-privacy",
    {name: label for name, label in OF_THE_BASELINE.items() if name != "gradients"},  # of users, not of samples
    quadratic(3, 2), problem(quadratic(3, 2), 8.0), 40,
    noises={"sigma": "*"}, trials=4000, symbols=LETTERS,
)  # fmt: skip


@check("user_level/proc-group-privacy", kind="transcription")
def plans_and_promises_of_the_baseline(context: Context) -> Verdict:
    """What is planned, refused and promised."""
    # unbound: what is planned and promised, which no formula says
    return passes()


@check("user_level/asm-1-1", kind="symbolic", grid={"d": (2, 6)})
def diameter_and_lipschitz_constant_of_linear_losses(context: Context, *, d: int) -> Verdict:
    """All sign records and all pairs of vertices of a cube: |gradient| = L, the longest distance = R, for users too."""
    work = LinearMean(np.full(d, 1 / math.sqrt(d)), np.zeros(d), Box(-0.5, 0.5, d), math.sqrt(d) / 2)
    records = np.array(list(itertools.product((-1.0, 1.0), repeat=d))) / math.sqrt(d)
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=d)))
    users = Users(each=work, samples=2)
    pairs = np.stack([records[:, None] + 0 * records[None], records[None] + 0 * records[:, None]], axis=-2)
    own = np.linalg.norm(users.gradient(corners[0], pairs.reshape(-1, 2, d)), axis=-1)
    longest = np.linalg.norm(corners[:, None] - corners[None], axis=-1).max()
    values = [float(np.linalg.norm(records, axis=1).max()), float(longest), float(own.max())]
    said = [work.constants.lipschitz(2.0), work.constants.diameter(2.0), users.constants.lipschitz(2.0)]
    return agree(values, said, "L, R and the users' L by enumeration", tolerance=1e-12)


@check("user_level/asm-1-2", kind="symbolic", grid={"d": (2, 6)})
def smoothness_of_quadratics(context: Context, *, d: int) -> Verdict:
    """Gradients of |w - z|^2/2 move exactly as their point does: smoothness 1 for samples and for users."""
    work = QuadraticMean(np.full(d, 0.2), np.zeros(d), Box(-0.5, 0.5, d), math.sqrt(d) / 2)
    users, rng = Users(each=work, samples=3), context.rng()
    x, y = rng.uniform(-0.5, 0.5, size=(2, 500, d))
    z = work.rows(rng, 1, 1500)[0].reshape(500, 3, d)
    moved = np.linalg.norm(users.gradient(x, z) - users.gradient(y, z), axis=-1) / np.linalg.norm(x - y, axis=-1)
    return agree(moved, np.full(500, users.constants.smoothness(2.0)), "movement of a gradient over that of its point")


@check("user_level/def-1-3", kind="privacy", grid={"m": (1, 3, 5)})
def item_level_privacy_is_m_times_weaker_for_users(context: Context, *, m: int) -> Verdict:
    """m randomised responses of one user, each epsilon_0 = 0.3: exactly m epsilon_0 when all m samples may change."""
    keep = math.exp(0.3) / (1 + math.exp(0.3))
    laws = [product(*(randomised_response(bit, 2, keep) for _ in range(m))).probabilities for bit in (0, 1)]
    data = np.zeros((4, m))
    neighbour = data.copy()
    neighbour[2] = 1
    if changed_records(data, neighbour, "user-level") != (2,):
        return refuted("a replaced user is not recognised as a neighbour", "exact")
    return agree([exact_epsilon(*laws)], [0.3 * m], "epsilon of one user's answers")


def hard(v: Array, samples: int) -> LinearMean:
    """z_j = -+1/sqrt d with mean -v_j/sqrt(d N) on the cube of diameter 1; the loss is -<z, x>."""
    d = len(v)
    size = np.full(d, 1 / math.sqrt(d))
    return LinearMean(size, v / math.sqrt(d * samples), Box(-0.5 / math.sqrt(d), 0.5 / math.sqrt(d), d), 0.5)


def averaged_risks(context: Context, samples: int, d: int, who: str) -> Array:
    """Excess risks of an algorithm over fair v: (trials,)."""
    arrays, rng = [], context.rng(who)
    for _ in range(context.scale(100, 1000)):
        v = np.where(rng.random(d) < 0.5, -1.0, 1.0)
        work = hard(v, samples)
        if who == "sign rule":
            ups = work.draw(rng, 8, samples, means_only=True)
            mean = ups.values[:, 0] + 1e-9 * np.where(rng.random((8, d)) < 0.5, -1.0, 1.0)
            points = 0.5 / math.sqrt(d) * np.sign(mean)
        else:
            rows = work.rows(rng, 8, samples).reshape(8, 1, samples, d)
            points = sgd(work, rows, 1 / math.sqrt(samples), np.zeros((1, d)))[:, 0]
        arrays.append(work.excess_risk(points))
    return np.concatenate(arrays)


def direct_total_variation(samples: int) -> mpmath.mpf:
    """The same as half of the l1 distance, term by term, with 50 digits."""
    with mpmath.workdps(50):
        up = (1 + 1 / mpmath.sqrt(samples)) / 2
        total = mpmath.mpf(0)
        for k in range(samples + 1):
            choose = mpmath.binomial(samples, k)
            total += abs(choose * (up**k * (1 - up) ** (samples - k) - (1 - up) ** k * up ** (samples - k)))
        return total / 2


def total_variation(samples: int) -> float:
    """TV(Bin(N, (1 + a)/2), Bin(N, (1 - a)/2)), a = 1/sqrt N: 1 - 2 P(wrong side), ties split."""
    law = scipy.stats.binom(samples, (1 + 1 / math.sqrt(samples)) / 2)
    tie = float(law.pmf(samples // 2)) if samples % 2 == 0 else 0.0
    below = float(law.cdf((samples - 1) // 2)) if samples % 2 else float(law.cdf(samples // 2 - 1))
    return 1 - 2 * (below + tie / 2)


@check("user_level/fact-lower-bound", kind="lower-bound", grid={"d": (1, 20)})
def statistical_half_by_its_bayes_risk(context: Context, *, d: int) -> Verdict:
    """nm = 100: construction exactly; the sign rule (Bayes) and SGD averaged over fair v against the Bayes risk."""
    # unbound: held against the exact Bayes risk, of which the claim has the order
    samples = 100
    bayes = (1 - total_variation(samples)) / (2 * math.sqrt(samples))
    work = hard(np.ones(d), samples)
    mean, longest = np.asarray(work.mean), float(work.excess_risk(-0.5 / math.sqrt(d) * np.ones((1, d)))[0])
    facts = [
        Fact("L", work.constants.lipschitz(2.0), "=", 1.0, 1e-12),
        Fact("R", work.constants.diameter(2.0), "=", 1.0, 1e-12),
        Fact("|E z|", float(np.linalg.norm(mean)), "=", 1 / math.sqrt(samples), 1e-12),
        Fact("excess risk of the worst corner", longest, "=", 1 / math.sqrt(samples), 1e-12),
        Fact("TV of the two binomial laws", total_variation(samples), "=", direct_total_variation(samples), 1e-9),
    ]
    limit, share = 1 / math.sqrt(samples) + 1e-9, context.failure_probability / 2
    runs = [
        lower_bound.must_exceed_on_average(
            {"fair v": averaged_risks(context, samples, d, who)}, bayes * (1 - 1e-9), share, limit=limit, who=who
        )
        for who in ("sign rule", "SGD")
    ]
    return lower_bound.verdict(facts, runs)


@check("user_level/fact-lower-bound", kind="symbolic")
def optimal_risk_meets_the_lower_bound(context: Context) -> Verdict:
    """The optimal risk of Theorem 3.2 without its logarithm is the lower bound."""
    return proved(
        {
            "Theorem 3.2 - lower bound": without_log(order_of("user_level/thm-3-2"))
            - order_of("user_level/fact-lower-bound")
        }
    )


CONTENDERS: dict[str, Any] = {
    "group privacy": GroupPrivacy(),
    "alg-1": replace(REDUCED_1, p=0.5, phases=2),
    "alg-3": REDUCED_3,
    "smoothed": replace(REDUCED_4, r=0.3),
}


def bayes(n: int, m: int) -> float:
    """Exact: (1/(2 sqrt(nm)))(1 - TV) for one coordinate from all nm samples, L = R = 1."""
    N, a = n * m, 1 / math.sqrt(n * m)
    k = np.arange(N + 1)
    tv = 0.5 * np.abs(scipy.stats.binom.pmf(k, N, (1 + a) / 2) - scipy.stats.binom.pmf(k, N, (1 - a) / 2)).sum()
    return a / 2 * (1 - float(tv))


def hard_cube(d: int, n: int, m: int) -> Users:
    """Signs with P(+) = (1 + v_j/sqrt(nm))/2 on the cube of diameter 1, L = 1; by symmetry any v."""
    size = np.full(d, 1 / math.sqrt(d))
    cube = Box(-0.5 / math.sqrt(d), 0.5 / math.sqrt(d), d=d)
    return Users(LinearMean(size, size / math.sqrt(n * m), cube, radius=0.5), m)


@check("user_level/fact-lower-bound@derived", kind="lower-bound", grid={"which": tuple(CONTENDERS)})
def no_algorithm_beats_the_bayes_risk(context: Context, *, which: str) -> Verdict:
    """Mean excess risk over sign patterns against the exact Bayes risk; data and noise are fresh in every trial."""
    # unbound: held against the exact Bayes risk, of which the claim is the limit
    algorithm = CONTENDERS[which]
    d, n, m, trials = 3, 128, 4, context.scale(300, 2000)
    work = hard_cube(d, n, m)
    # Starts at the centre and treats coordinates and signs alike, so that one pattern stands for all.
    values = risk.excess_risks(algorithm, work, problem(work), n, trials, context.seed, "hard", which)
    least, most = bayes(n, m), top(work) / math.sqrt(n * m)
    wins = values.mean()
    # An excess risk is at most 1/sqrt(nm) here: Hoeffding's interval.
    spread = most * math.sqrt(-math.log(context.failure_probability) / (2 * trials))
    numbers: dict[str, Any] = {"mean": float(wins), "Bayes risk": least, "over it": float(wins / least)}
    said = f"mean excess risk {wins:.4g}, Bayes risk {least:.4g}, give or take {spread:.2g}"
    spent = budget(algorithm, problem(work), n)
    numbers, said = numbers | spent, f"{said}; {sentence(spent)}"
    fields: dict[str, Any] = {
        "failure_probability": context.failure_probability, "numbers": numbers, "severity": float(least / wins),
    }  # fmt: skip
    if wins + spread < least:
        return refuted(f"an algorithm beats the Bayes risk: {said}", "sampled", **fields)
    return judged(wins - spread, ">=", least, said, "sampled", **fields, otherwise=undecided)


@check("user_level/fact-lower-bound@derived", kind="lower-bound")
def bayes_risk_tends_to_its_limit(context: Context) -> Verdict:
    """nm (1 - TV)/2 over sqrt(nm): within 2/sqrt(nm) of the stated limit 0.1587, for nm up to 10^6."""
    facts = []
    for samples in (100, 101, 10_000, 10_001, 10**6):
        value = (1 - total_variation(samples)) / (2 * math.sqrt(samples))
        claimed = stated("user_level/fact-lower-bound@derived", n=samples, m=1.0, L=1.0, D=1.0)
        facts.append(Fact(f"Bayes risk at nm = {samples:,}", value, "=", claimed, 2 / math.sqrt(samples)))
    facts.append(
        Fact(
            "limit",
            stated("user_level/fact-lower-bound@derived", n=1.0, m=1.0, L=1.0, D=1.0),
            "=",
            scipy.stats.norm.sf(1.0),
            1e-9,
        )
    )
    return lower_bound.verdict(facts)


@check("user_level/fact-prior-rates", kind="symbolic")
def speed_ups_of_the_introduction(context: Context) -> Verdict:
    """At n = d, epsilon = 1, L = R = 1: the quotients of AL24's counts and the dominant terms, and n^7 >= m."""
    beta = H
    smooth, smaller = beta ** sp.Rational(1, 4) * (n * m) ** sp.Rational(9, 8), n ** sp.Rational(1, 4)
    other = smaller * m ** sp.Rational(5, 4)
    theirs = order_of("user_level/fact-prior-rates@al24-gradients")
    rough = n ** sp.Rational(11, 8) * m ** sp.Rational(5, 4)
    return proved(
        {
            "smooth speed-up": theirs / smooth - (n * m) ** sp.Rational(3, 8) * beta ** sp.Rational(3, 4),
            "rough speed-up": (n * m) ** 3 / rough - n ** sp.Rational(13, 8) * m ** sp.Rational(7, 4),
            "quotient of the two terms": ((n * m) ** sp.Rational(9, 8) / other) ** 8 - n**7 / m,
        }
    )


UNITS = (L, D)


def unit(expression: Any, symbols: Sequence[sp.Symbol]) -> Any:
    """The expression with these symbols set to 1."""
    return sp.sympify(expression).subs(dict.fromkeys(symbols, 1))


@check("user_level/fact-prior-rates", kind="symbolic")
def linear_time_rates_against_group_privacy(context: Context) -> Verdict:
    """Private parts over that of group privacy: sqrt(n/m) as printed (so m > n), sqrt(epsilon n/m) as proved."""
    trivial = sp.sqrt(d) / (epsilon * n)
    printed = sp.sqrt(d) / (epsilon * sp.sqrt(n * m))
    derived = unit(order_of("user_level/thm-2-1@derived"), UNITS)
    private = unit(order_of("user_level/fact-prior-rates"), UNITS) - 1 / sp.sqrt(n * m)
    return proved(
        {
            "group privacy": private - trivial,
            "printed": printed / trivial - sp.sqrt(n / m),
            "proved": derived / trivial - sp.sqrt(epsilon * n / m),
        }
    )


@check("user_level/proc-group-privacy", kind="privacy", grid={"m": (1, 10, 1000), "epsilon": (0.1, 1.0, 10.0)})
def baseline_is_private(context: Context, *, m: int, epsilon: float) -> Verdict:
    """Exact curve of the worst user, who moves a phase by m times what a sample moves it: (epsilon, delta)-DP."""
    delta, n = 1e-7, 1000
    plan = GroupPrivacy().schedule(plain(5, m, epsilon, delta), n)
    composed = compose(plan, {plan.releases[0].name: plan.phases[0].moves})
    claimed = plan.claimed
    assert claimed is not None
    verdict = privacy.judge(composed, claimed, covers="non-expansive steps; every phase has the same quotient")
    return replace(verdict, numbers={**verdict.numbers, "by the accountant": account(plan, n).epsilon(delta)})


@check("user_level/proc-group-privacy", kind="sensitivity", grid={"loss": tuple(WORKLOADS)})
def baseline_moves_by_its_claim(context: Context, *, loss: str) -> Verdict:
    """A user of m samples moves the average of a phase by at most 2 L eta m: search, and a proof."""
    d, m, n = 2, 3, 16
    work = WORKLOADS[loss](d, m)
    radius = {"linear": 1.0, "quadratic": 0.5, "huber": math.sqrt(d)}[loss]
    case = Case(GroupPrivacy(eta=0.2), work, problem(work))
    search = sensitivity.search(
        case, UserRecords(BallRecords(radius, d), m), n, chains=16, steps=context.scale(8, 40), seed=context.seed
    )
    proof = sensitivity.Certificate(1.0, "steps of at most 2/beta do not expand; m samples, one after the other")
    return sensitivity.judge(search, certificate=proof)


@check("user_level/proc-group-privacy", kind="accuracy", grid={"printed": (True, False)})
def lines_of_the_baseline(context: Context, *, printed: bool) -> Verdict:
    """All passes replayed from their releases: the printed steps, and longer ones that leave the domain."""
    work = (quadratic if printed else linear)(2, 3)
    users = three_kinds(context.rng("users"), 10, 21, 3, middle=0.5)
    told = problem(work, 8.0)
    algorithm, devices = GroupPrivacy(eta=None if printed else 2.0), () if printed else ("projections",)
    settings = {name: label for name, label in OF_THE_BASELINE.items() if printed or name != "eta"}
    return replayed(context, algorithm, work, told, users, group_privacy, devices, settings, symbols=LETTERS)


@check("user_level/proc-group-privacy", kind="runtime", grid={"n": (64, 200)})
def baseline_takes_linear_time(context: Context, *, n: int) -> Verdict:
    """Gradients of a run, sample by sample, at most nm."""
    work = quadratic(2, 5)
    label = OF_THE_BASELINE["gradients"]
    value, *expected = counted(GroupPrivacy(), work, problem(work), n, context.seed, label, symbols=LETTERS)
    if {value} != {*expected}:
        return differs(f"{value:g} counted, {expected} planned and stated", "counted")
    return runtime.verdict(value, float(n * 5), x=float(n))


@check(
    "user_level/proc-group-privacy",
    kind="risk",
    also=("user_level/proc-group-privacy@summed",),
    grid={"loss": ("linear", "huber"), "n": by_size([512], [512, 1024])},
)
def risk_of_the_baseline(context: Context, *, loss: str, n: int) -> Verdict:
    """Mean excess risk at printed constants (this one is private) against its explicit bound, epsilon = 4.

    Quadratics are left out: their start keeps the bound at every mean.
    """
    work = linear(2, 4, -0.5) if loss == "linear" else huber(2, 4)
    told = problem(work, 4.0)
    values = risk.excess_risks(GroupPrivacy(), work, told, n, context.scale(300, 1500), context.seed, loss, n)
    bound, most = bound_of("user_level/proc-group-privacy@summed", GroupPrivacy(), told, n), top(work)
    verdict = risk.expectation(values, bound, context.failure_probability, limit=most, x=float(n), series=loss)
    return told_apart(verdict, work, bound)


def baseline(curvature: float, **at: Any) -> Instance:
    """Group privacy where its private term leads: users of many samples."""
    return bowl(GroupPrivacy(), curvature=curvature, **{"n": 2**40, "m": 2**44, "d": 100} | at)


def long_steps(one: Instance) -> Instance:
    """η is too long, and the noise follows."""
    assert isinstance(one.algorithm, GroupPrivacy)
    return one.running(replace(one.algorithm, eta=one.algorithm.step(one.problem, one.n) * wrong_power(one)))


WRONG_BASELINE: Mapping[str, Mutant] = {"no localisation": without_localisation, "η times (nm)^(1/8)": long_steps}


PRIOR = ("user_level/fact-prior-rates",)
"""The same rate of the same algorithm, without its logarithm."""


def of_the_baseline(variable: str, sizes: Any) -> Any:
    """A row of it."""
    return scaling(
        "user_level/proc-group-privacy", variable=variable, sizes=sizes, family=BOWLS,
        engine=IN_CLOSED_FORM, mutants=WRONG_BASELINE, also=PRIOR,
    )  # fmt: skip


@of_the_baseline("n", by_size(powers(2, range(20, 41, 10)), powers(2, range(20, 41, 5))))
def slope_in_users(*, n: int, curvature: float) -> Instance:
    """Mean excess risk of the baseline over n, the worst over bowls of every curvature: private, as printed."""
    return baseline(curvature, n=n)


@of_the_baseline("d", by_size(powers(2, range(6, 27, 10)), powers(2, range(6, 27, 5))))
def slope_in_the_dimension(*, d: int, curvature: float) -> Instance:
    """The same over d."""
    return baseline(curvature, d=d)


@of_the_baseline("epsilon", by_size(powers(2, range(-12, 1, 6)), powers(2, range(-12, 1, 3))))
def slope_in_epsilon(*, epsilon: float, curvature: float) -> Instance:
    """The same over epsilon."""
    return baseline(curvature, epsilon=epsilon)


# In the statistical term, for the private one holds no power of m; there one pass needs no localisation.
@scaling(
    "user_level/proc-group-privacy", variable="m", part="all", family=BOWLS, engine=IN_CLOSED_FORM,
    mutants={"η times (nm)^(1/8)": long_steps}, sizes=by_size(powers(2, range(0, 17, 8)), powers(2, range(0, 17, 4))),
    also=PRIOR,
)  # fmt: skip
def slope_in_samples_of_a_user(*, m: int, curvature: float) -> Instance:
    """The same over m at n = 10^24 and d = 1, where the statistical term leads."""
    return baseline(curvature, m=m, n=10**24, d=1)


@of_the_baseline("L", by_size(powers(2, range(0, 13, 6)), powers(2, range(0, 13, 3))))
def slope_in_the_lipschitz_constant(*, L: float, curvature: float) -> Instance:
    """The same over L, of bowls that are no steeper for it."""
    return baseline(curvature, L=L)


@of_the_baseline("D", by_size(powers(2, range(-12, 1, 6)), powers(2, range(-12, 1, 3))))
def slope_in_the_diameter(*, D: float, curvature: float) -> Instance:
    """The same over the diameter."""
    return baseline(curvature, D=D)


@of_the_baseline("delta", DELTAS)
def slope_in_delta(*, delta: float, curvature: float) -> Instance:
    """The same over log(1/delta)."""
    return baseline(curvature, delta=delta)


@check("user_level/proc-group-privacy@derived", kind="privacy")
def group_privacy_by_composition(context: Context) -> Verdict:
    """m replacements at (eps/m, delta_0): randomised response shows (e^eps - 1)/(e^(eps/m) - 1) delta_0 is needed.

    The chain P_0, ..., P_m with P_j = e^(eps/m) P_{j+1} + delta_0 on an event attains the geometric sum.
    """
    values, wanted = [], []
    for samples, eps in ((2, 1.0), (10, 0.5), (100, 3.0)):
        delta_0, p = 1e-9, 0.0
        for _ in range(samples):  # from the last neighbour, on which the event has probability 0
            p = math.exp(eps / samples) * p + delta_0
        values.append(p / delta_0)
        wanted.append(stated("user_level/proc-group-privacy@derived", epsilon=eps, m=samples))
    return agree(values, wanted, "delta over delta_0")
