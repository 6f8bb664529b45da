"""Appendix D: randomised smoothing, and the accelerated algorithm on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck.algorithms.user_level import PhasedERM, SmoothedERM
from dpcheck.algorithms.user_level.sizes import smallest_users
from dpcheck.algorithms.user_level.smoothing import smoothed_gradients, uniform_ball
from dpcheck.asymptotics import Regime
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.harness import accuracy
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.scaling import Family, Instance, Wide, admitted, geometric, powers, scaling
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.symbolic import agree, at_most, proved, where_proved
from dpcheck.symbols import L, d, epsilon, m, n
from dpcheck.verdicts import Verdict, combine, differs, holds
from dpcheck.workloads import SignHuber

from .cases import (
    BY_MOMENTS,
    DELTAS,
    PATIENT,
    PLACES,
    REDUCED_3,
    REDUCED_FULL_3,
    REDUCED_FULL_4,
    WRONG,
    accelerated,
    accelerating,
    bowl,
    difference_of_laplace,
    gradients_refuted,
    huber,
    phases,
    plain,
    promised,
    rays,
    risk_verdict,
    stated_each,
    wrong_power,
)


@check("user_level/proc-randomized-smoothing", kind="accuracy", grid={"d": (1, 2, 10)})
def shifts_follow_their_law(context: Context, *, d: int) -> Verdict:
    """(|y|/r)^d is uniform on [0, 1], so that E|y| = r d/(d + 1): the Kolmogorov distance of many lengths."""
    size, r = context.scale(20_000, 200_000), 0.3
    length = np.linalg.norm(uniform_ball(context.rng(), (size, d), r), axis=1)
    test = scipy.stats.kstest((length / r) ** d, "uniform")
    mean = float(length.mean())
    numbers = {
        "mean length": mean,
        "r d/(d + 1)": stated("user_level/proc-randomized-smoothing", r=r, d=d),
        "p-value": test.pvalue,
    }
    said = f"Kolmogorov distance {test.statistic:.3g}, p-value {test.pvalue:.3g}, over {size:,} shifts"
    if test.pvalue < context.failure_probability:
        return differs(said, "sampled", failure_probability=context.failure_probability, numbers=numbers)
    # Dvoretzky, Kiefer and Wolfowitz: the distance of the law itself from the uniform one is below this, certainly.
    far = test.statistic + math.sqrt(-math.log(context.failure_probability / 2) / (2 * size))
    if abs(mean - numbers["r d/(d + 1)"]) > r * far:  # the mean of [0, r] moves by no more than r times that distance
        said = f"the mean length is {mean:.4g}, {numbers['r d/(d + 1)']:.4g} is stated"
        return differs(said, "sampled", failure_probability=context.failure_probability, numbers=numbers)
    said = f"the law is within {far:.3g} of the uniform one; {said}"
    return holds(said, "sampled", failure_probability=context.failure_probability, numbers={**numbers, "within": far})


@check("user_level/proc-randomized-smoothing", kind="risk", grid={"x": (-0.2, 0.1)})
def shifted_slopes_are_unbiased(context: Context, *, x: float) -> Verdict:
    """f = |x|, d = 1, r = 0.5: the slope at x + y is +1 with probability (x + r)/(2r), whose mean is f_r'(x) = x/r."""
    # unbound: the mean of a slope, where the claim is that of a length
    work, size, r = SignHuber(kappa=0.0), context.scale(20_000, 200_000), 0.5
    slopes = smoothed_gradients(work, np.array([1.0 + x]), np.array([1.0]), uniform_ball(context.rng(), (size, 1), r))
    wins, chance, share = int((slopes > 0).sum()), (x + r) / (2 * r), context.failure_probability / 2
    margin = 0.05
    return combine(
        [
            accuracy.probability(wins, size, chance - margin, share, relation=">=", event="slope +1"),
            accuracy.probability(wins, size, chance + margin, share, relation="<=", event="slope +1"),
        ]
    )


@check("user_level/lem-d1", kind="accuracy")
def curvature_of_smoothed_kinks(context: Context) -> Verdict:
    """Second derivative at 0 of the smoothed |<u, x>|, r = 1: 2 V_(d-1)/V_d of ball volumes, against sqrt d; from d = 2
    on for every d by Wendel's inequality, Gamma(d/2 + 1) <= sqrt((d + 1)/2) Gamma((d + 1)/2).
    """
    dims = np.arange(1, context.scale(200, 2000))
    log_ball = scipy.special.gammaln(dims / 2 + 1) - scipy.special.gammaln((dims + 1) / 2) - math.log(math.pi) / 2
    value = 2 * np.exp(log_ball)
    bound = stated_each("user_level/lem-d1", L=1.0, d=dims.astype(float), r=1.0)
    stated_ = explicit_of("user_level/lem-d1")
    room = stated_.subs({s: 1 for s in stated_.free_symbols if s != d}) ** 2 - 4 / sp.pi * (d + 1) / 2
    at_two, slope = room.subs(d, 2), sp.diff(room, d)
    every = proved({"linear in d": room - at_two - slope * (d - 2)}, {"at d = 2": at_two, "slope": slope})
    return accuracy.never_violated(
        value, bound, statement="curvature of |<u, x>| <= L sqrt(d)/r", drawn=False,
        covers=where_proved(every, "closed forms; Wendel's inequality proves it for every d from 2 on"),
    )  # fmt: skip


@check("user_level/lem-d1", kind="symbolic")
def smoothness_on_the_line_is_exact(context: Context) -> Verdict:
    """f = |x|: f_r'' = 1/r inside, L sqrt(d)/r at d = 1; and its gradient x/r is the mean of sign(x + y)."""
    x, r = sp.symbols("x r", positive=True)
    y = sp.Symbol("y", real=True)
    smoothed = (x**2 + r**2) / (2 * r)
    on_the_line = explicit_of(context.label).subs({L: 1, d: 1})
    mean_sign = sp.integrate(1, (y, -x, r)) / (2 * r) - sp.integrate(1, (y, -r, -x)) / (2 * r)
    return proved({"curvature": sp.diff(smoothed, x, 2) - on_the_line, "gradient": sp.diff(smoothed, x) - mean_sign})


@check("user_level/lem-d1@literal", kind="accuracy", expect="refuted")
def smoothing_does_not_lower_a_convex_function(context: Context) -> Verdict:
    """f = |x|, r = 1 at 0: the mean of |y| over [-1, 1] by quadrature, against f(0) = 0."""
    value, claimed = scipy.integrate.quad(abs, -1, 1, points=[0])[0] / 2, stated("user_level/lem-d1@literal")
    return accuracy.never_violated(
        value,
        claimed,
        statement="f_r(0) <= f(0)",
        witness=lambda _: witnessed("user_level/lem-d1@literal", "lem_d1", claimed, value, r=1),
    )


@check("user_level/lem-d1@corrected", kind="symbolic")
def smoothing_on_the_line(context: Context) -> Verdict:
    """f = |x|: f_r - f = (r - |x|)^2/(2r) for |x| < r, between 0 and r/2; convex functions are mixtures of these."""
    x, rest = sp.Symbol("x", nonnegative=True), sp.Symbol("rest", positive=True)  # r = x + rest
    r = x + rest
    smoothed = (x**2 + r**2) / (2 * r)
    most = explicit_of(context.label).subs({L: 1, d: 1, sp.Symbol("r", positive=True): r})
    return proved(
        {"f_r - f": sp.simplify(smoothed - x - rest**2 / (2 * r))},
        {"f_r - f >= 0": rest**2 / (2 * r), "r/2 - (f_r - f)": sp.factor(most - rest**2 / (2 * r))},
    )


@check("user_level/lem-d1@corrected", kind="accuracy", grid={"d": (1, 2, 10, 50)})
def mean_length_of_the_shift(context: Context, *, d: int) -> Verdict:
    """f = |x| at 0 attains the bound: E|y| = r d/(d + 1), by the density d rho^(d - 1) of the radius."""
    mean = scipy.integrate.quad(lambda rho: d * rho**d, 0, 1)[0]
    return agree([mean], [stated("user_level/lem-d1@corrected", L=1.0, r=1.0, d=d)], "E|y|, r = 1")


@check("user_level/lem-d2", kind="risk", expect="undecided")
def risk_of_larger_minibatches(context: Context) -> Verdict:
    """T_i K_i >= n_i with full batches (reduced noise)."""
    # unbound: held against thm-c3@summed, which has the constants
    return risk_verdict(context, REDUCED_FULL_3, huber(3, 8), 100, context.scale(100, 300), "full")


LOG = sp.Symbol("ell", positive=True)


@check("user_level/lem-d2", kind="symbolic")
def hypotheses_of_lemma_d2_give_the_counts(context: Context) -> Verdict:
    """K = n eps/sqrt T + log/eps makes T K >= n exactly when eps sqrt T + T log/(eps n) >= 1: its own hypothesis."""
    # unbound: a hypothesis of the lemma against its counts, where the claim bounds a risk
    T = sp.Symbol("T", positive=True)
    users = n * epsilon / sp.sqrt(T) + LOG / epsilon
    return proved({"T K/n": sp.simplify(T * users / n - epsilon * sp.sqrt(T) - T * LOG / (epsilon * n))})


@check("user_level/lem-d2@literal", kind="privacy", expect="refuted")
def minibatch_with_constant_one_halts(context: Context) -> Verdict:
    """P(halt) of one step at full score with K = log(nmd e^epsilon/delta)/epsilon, the logarithm being 40."""
    value, claimed = difference_of_laplace(40 / 5, 16.0, 8.0), stated("user_level/lem-d2@literal", delta=1e-6)
    return accuracy.never_violated(
        value,
        claimed,
        statement="P(halt at one step) <= delta",
        witness=lambda _: witnessed("user_level/lem-d2@literal", "lem_d2", claimed, value, log=40, delta="1/1000000"),
    )


@check("user_level/thm-d3", kind="runtime", grid={"place": tuple(PLACES)}, expect="refuted")
def gradients_of_the_smoothed_algorithm(context: Context, *, place: str) -> Verdict:
    """T_1 K_1 m of phase 1 alone, inside every hypothesis, against the stated count with a constant and logarithms."""
    return gradients_refuted("user_level/thm-d3", "thm_d3", place)


@check("user_level/thm-d3@risk", kind="privacy")
def theorem_d3_is_certified(context: Context) -> Verdict:
    """The privacy of Theorem D.3 at its smallest n, m = 5, d = 3."""
    told = plain(3, 5, 1.0, 1e-8)
    n = smallest_users(lambda size: SmoothedERM().feasible(told, size), 1)
    assert n is not None
    return promised(SmoothedERM(), told, n)


@check(
    "user_level/thm-d3@risk", kind="risk", also=("user_level/thm-d3@summed",), grid={"m": (2, 8)}, expect="undecided"
)
def risk_on_the_absolute_loss(context: Context, *, m: int) -> Verdict:
    """The smoothed algorithm on the absolute loss (reduced noise), bias of the smoothing included."""
    return risk_verdict(
        context, replace(REDUCED_FULL_4, r=0.1), huber(2, m, 0.0), 100, context.scale(80, 200), f"m = {m}"
    )


@check(
    "user_level/thm-d3@corrected", kind="runtime", also=("user_level/thm-4-1",), grid={"name": ("thm-d3", "thm-4-1")}
)
def missing_term_dominates_beyond_five_halves(context: Context, *, name: str) -> Verdict:
    """The missing term over the printed count along m = n^a, eps = n^-b, d = n^c: larger just beyond the border.

    T K m/eps at T = sqrt(beta_r/lambda) is min(n^(3/4) m^(3/2) eps^(-1/2), n m^(3/2) d^(-1/4)); the border is
    m = max(n^(5/2) eps^3, d n^(3/2) eps), where the larger of the two exponents is the one that has to be passed.
    """
    a, b, c = sp.symbols("a b c", real=True)
    printed, missing = order_of(f"user_level/{name}"), order_of("user_level/thm-d3@corrected")
    first, second = sp.Rational(5, 2) - 3 * b, sp.Rational(3, 2) - b + c
    ties = {m: n**a, epsilon: n**-b, d: n**c}
    legal = [a >= 0, b >= 0, b <= 1, c >= 0]
    # Beyond the border every one of the four terms that the printed count is made of is passed, mn included.
    beyond = at_most(missing, printed, Regime(ties=ties, where=[*legal, a > first, a > second]))
    within = [at_most(missing, printed, Regime(ties=ties, where=[*legal, a <= border])) for border in (first, second)]
    where = "all of" if beyond.everywhere else "parts of"
    said = (
        f"with the missing term the count is {beyond.relation} beyond {where} the border, "
        f"and {within[0].relation} and {within[1].relation} before it"
    )
    good = beyond.relation == "larger" and beyond.everywhere
    good = good and all(comparison.relation in ("smaller", "same order") for comparison in within)
    fields: dict[str, Any] = {"points": rays(), "axes": ("n", "count over the stated one, without logarithms")}
    fields["dashed"] = "the stated count"
    return (holds if good else differs)(said, "symbolic", **fields)


@check("user_level/thm-d3@literal", kind="risk", grid={"d": (10**7, 10**8)}, expect="refuted")
def lambda_without_its_private_part(context: Context, *, d: int) -> Verdict:
    """The private part of (18) over its stated value at n = 10^6, m = 10, epsilon = 1, delta = 10^-8, inside D.3.

    With lambda = 1/sqrt(nm) alone.
    """
    users, samples, dlt = 10**6, 10, 1e-8
    part = d / (users**2 * samples) / (1 / math.sqrt(users * samples))
    value = part / (math.sqrt(d) / (users * math.sqrt(samples)))
    at = {"n": users, "m": samples, "d": d, "epsilon": 1.0, "delta": dlt, "q": math.log2(1 + 1 / math.log2(users))}
    claimed = stated("user_level/thm-d3@literal", **at)
    return accuracy.never_violated(
        value,
        claimed,
        statement="the private part of (18) <= its stated value",
        witness=lambda _: witnessed(
            "user_level/thm-d3@literal", "thm_d3_lambda", claimed, value, n=users, m=samples, d=d, epsilon=1,
            delta="1/100000000",
        ),
    )  # fmt: skip


@check("user_level/thm-d3@derived", kind="symbolic")
def radius_smoothness_and_bias(context: Context) -> Verdict:
    """The plan's smoothing radius and smoothness: L r = LR sqrt(d)/(eps n sqrt m), beta_r = (L/R) eps n sqrt m."""
    planned, wanted = [], []
    for users, samples, dimension, eps in ((10**6, 9, 16, 1.0), (10**7, 100, 2, 0.25)):
        told, algorithm = plain(dimension, samples, eps), SmoothedERM()
        told = replace(told, constants=replace(told.constants, lipschitz=lambda p: 2.0, diameter=lambda p: 3.0))
        values = {"n": users, "m": samples, "d": dimension, "epsilon": eps, "L": 2.0, "D": 3.0}
        planned += [values["L"] * algorithm.smoothing_radius(told, users), algorithm.smoothness(told, users)]
        smooth = stated("user_level/proc-smoothed-alg-3", **{k: v for k, v in values.items() if k != "d"})
        wanted += [stated("user_level/thm-d3@derived", **values), smooth]
    return agree(planned, wanted, "L r and beta_r")


AS_GENERAL = ("user_level/lem-d2", "user_level/thm-3-2", "user_level/thm-c3", "user_level/thm-c3@derived")
"""The same algorithm; the lemma leaves the constants of T_i and K_i open, and balances the derived bound."""
FINER_BOWLS = Family.of(mirrored=True, curvature=geometric(1.0, 1 / 2, 64))
"""The class `BOWLS`, closer together."""


def of_algorithm_3(variable: str, sizes: Any) -> Any:
    """A row of it."""
    return scaling(
        "user_level/lem-d2@balanced", variable=variable, sizes=sizes, against="explicit", family=FINER_BOWLS,
        engine=BY_MOMENTS, mutants=WRONG, also=AS_GENERAL,
    )  # fmt: skip


@of_algorithm_3("n", by_size(powers(10, range(9, 14, 2)), powers(10, range(9, 14, 1))))
def slope_in_users(*, n: int, curvature: float) -> Instance:
    """Mean excess risk over n, the worst over bowls of every curvature: whole batches, private at printed constants."""
    return accelerated(PATIENT, curvature, n=n)


@of_algorithm_3("m", by_size(powers(2, range(72, 93, 10)), powers(2, range(72, 93, 5))))
def slope_in_samples_of_a_user(*, m: int, curvature: float) -> Instance:
    """The same over m."""
    return accelerated(PATIENT, curvature, m=m)


@of_algorithm_3("d", by_size(powers(2, range(72, 85, 6)), powers(2, range(64, 85, 4))))
def slope_in_the_dimension(*, d: int, curvature: float) -> Instance:
    """The same over d, up to where the risk is that of the start."""
    return accelerated(PATIENT, curvature, d=d)


@of_algorithm_3("epsilon", by_size((0.01, 0.3, 10.0), (0.01, 0.05, 0.3, 1.6, 10.0)))
def slope_in_epsilon(*, epsilon: float, curvature: float) -> Instance:
    """The same over epsilon."""
    return accelerated(PATIENT, curvature, epsilon=epsilon, m=10**28)


@of_algorithm_3("L", by_size(powers(2, range(0, 7, 3)), powers(4, range(4))))
def slope_in_the_lipschitz_constant(*, L: float, curvature: float) -> Instance:
    """The same over L, of bowls that are no steeper for it."""
    return accelerated(PATIENT, curvature, L=L, m=10**30)


@of_algorithm_3("delta", DELTAS)
def slope_in_delta(*, delta: float, curvature: float) -> Instance:
    """The same over log(1/delta)."""
    return accelerated(PATIENT, curvature, delta=delta)


@check("user_level/lem-d2", kind="accuracy", grid={"noise": (1e-7, 3e-3)}, expect="consistent")
def phases_by_their_moments(context: Context, *, noise: float) -> Verdict:
    """The moments that these rates rest on, against runs on drawn users, n = 64 and m = 4: in the larger noise nearly
    every step is projected.
    """
    algorithm = replace(REDUCED_3, c_noise=noise, c_batch=1e6, phases=2, q=1.0, p=1.0)
    instance = bowl(algorithm, 64, 4, 64, 0.5, epsilon=1.0, delta=1e-6, drawn=True)
    return admitted(BY_MOMENTS, instance, context.scale(100, 400), context)


PHASES = 20
"""Of the smoothed algorithm, whose weight is then 2^600 times that of the first: those left out could move no point."""
ALL = 1e30
"""K_i/n_i before it is capped at 1, at least, in all of these: no sampled phase is certified."""


def smoothed(curvature: float, **at: Any) -> Instance:
    """The smoothed Algorithm 3 where its private term leads, from the weight at which (17) gives noise a distance D."""
    algorithm = SmoothedERM(c_batch=ALL, phases=PHASES)
    one = bowl(algorithm, curvature=curvature, **{"n": 10**9, "m": 10**22, "d": 10**10, "epsilon": 0.01} | at)
    (first, *_), (p, q) = phases(one), algorithm.exponents(one.problem, one.n)
    left = stated("user_level/fact-eq-17@derived", V=math.sqrt(first.variance), T=float(first.steps), **{"lambda": 1.0})
    p += math.log2(math.sqrt(left) / one.at["D"] / first.weight)
    return replace(one, algorithm=replace(algorithm, p=p), at={**one.at, "q": q, "tau": first.tau})


BY_COARSER_MOMENTS = Wide(accelerating, grain=1)
"""Where nearly no step is projected, so that longer blocks do."""


def heavy(one: Instance) -> Instance:
    """λ is too large, and no noise is felt."""
    assert isinstance(one.algorithm, PhasedERM)
    assert one.algorithm.p is not None
    return one.running(replace(one.algorithm, p=one.algorithm.p + math.log2(wrong_power(one))))


def impatient(one: Instance) -> Instance:
    """√T_i steps of phase 1, and so the share of the others."""
    assert isinstance(one.algorithm, PhasedERM)
    return one.running(replace(one.algorithm, c_steps=one.algorithm.c_steps * phases(one)[0].steps ** -0.5))


WRONG_SMOOTHED: Mapping[str, Mutant] = {"λ times (nm)^(1/8)": heavy, "√T_i steps": impatient}


def of_the_smoothed_algorithm(variable: str, sizes: Any) -> Any:
    """A row of it."""
    return scaling(
        "user_level/thm-d3@balanced", variable=variable, sizes=sizes, against="explicit", family=FINER_BOWLS,
        engine=BY_COARSER_MOMENTS, mutants=WRONG_SMOOTHED, also=("user_level/thm-d3@risk", "user_level/thm-4-1@risk"),
        since="standard",
    )  # fmt: skip


@of_the_smoothed_algorithm("n", powers(10, range(9, 14)))
def smoothed_slope_in_users(*, n: int, curvature: float) -> Instance:
    """Mean excess risk of the smoothed algorithm over n, the worst over bowls, which smoothing shifts by a constant:
    whole batches, private at printed constants, at the p at which phase 1 is balanced.
    """
    return smoothed(curvature, n=n)


@of_the_smoothed_algorithm("m", powers(2, range(72, 93, 5)))
def smoothed_slope_in_samples_of_a_user(*, m: int, curvature: float) -> Instance:
    """The same over m."""
    return smoothed(curvature, m=m)


@of_the_smoothed_algorithm("d", powers(2, range(30, 47, 4)))
def smoothed_slope_in_the_dimension(*, d: int, curvature: float) -> Instance:
    """The same over d."""
    return smoothed(curvature, d=d)


@of_the_smoothed_algorithm("epsilon", powers(10, range(-2, 2)))
def smoothed_slope_in_epsilon(*, epsilon: float, curvature: float) -> Instance:
    """The same over epsilon, in many dimensions."""
    return smoothed(curvature, epsilon=epsilon, d=10**14)


@of_the_smoothed_algorithm("L", powers(4, range(0, 7, 2)))
def smoothed_slope_in_the_lipschitz_constant(*, L: float, curvature: float) -> Instance:
    """The same over L, of bowls that are no steeper for it."""
    return smoothed(curvature, L=L, m=10**30)


@of_the_smoothed_algorithm("delta", (1e-40, 1e-74, 1e-138, 1e-256))
def smoothed_slope_in_delta(*, delta: float, curvature: float) -> Instance:
    """The same over log(1/delta)."""
    return smoothed(curvature, delta=delta)


@check("user_level/thm-d3@risk", kind="accuracy", grid={"noise": (1e-6, 1e-4)}, expect="consistent")
def smoothed_phases_by_their_moments(context: Context, *, noise: float) -> Verdict:
    """The moments that these rates rest on, against runs on drawn users and drawn shifts, n = 32 and m = 2."""
    algorithm = replace(REDUCED_FULL_4, c_noise=noise, c_batch=1e6, phases=2, q=1.0, p=1.0, r=0.5)
    instance = bowl(algorithm, 32, 2, 32, 0.5, epsilon=1.0, delta=1e-6, drawn=True)
    return admitted(BY_COARSER_MOMENTS, instance, context.scale(100, 1000), context)
