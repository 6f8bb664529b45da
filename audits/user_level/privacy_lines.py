"""Printed lines of the privacy proofs, exactly: Laplace tails, hypotheses, final displays, and what survives them."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import sympy as sp
from scipy import integrate, stats

from dpcheck.auditing.exact import hockey_stick
from dpcheck.checks import Context, check
from dpcheck.engine.statements import explicit_of, stated
from dpcheck.harness import accuracy, domain
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import agree
from dpcheck.laws import AboveThreshold
from dpcheck.privacy import gaussian_delta
from dpcheck.verdicts import Point, Verdict

from ._statements import difference_of_laplace, log_ratio, rational

# Theorem B.1 ----------------------------------------------------------------------------------------------------------


def both_small_fails(users: int, samples: int, eps: float, dlt: float) -> float:
    """P(not both noises below 2C/15): 2t - t^2 with t = exp(-(2C/15) eps/20), C = 100 log(20nm e^eps/delta)/eps."""
    groups = 100 * log_ratio(20 * users * samples, eps, dlt) / eps
    tail = math.exp(-(2 * groups / 15) * eps / 20)
    return 2 * tail - tail**2


@check("user_level/thm-b1@tail", kind="privacy", grid={"log_10_delta": (14, 16, 20)}, expect="refuted")
def tail_line_at_small_delta(context: Context, *, log_10_delta: int) -> Verdict:
    """The exact probability against delta/(10 e^epsilon), n = 10^6 users with m = 10, epsilon = 1, q = 7/100.

    Inside every hypothesis of Theorem B.1 and of Theorem 3.1, for losses without curvature; 10^-14 is 1/(nm)^2.
    """
    dlt, users, samples = 10.0**-log_10_delta, 10**6, 10
    at = {"n": users, "m": samples, "d": 1, "q": 0.07, "L": 1.0, "D": 1.0, "H": 0.0}
    found = both_small_fails(users, samples, 1.0, dlt)
    allowed = stated("user_level/thm-b1@tail", delta=dlt, epsilon=1.0, **at)
    return accuracy.never_violated(
        found,
        allowed,
        statement="P(not both noises small) <= delta/(10 e^epsilon)",
        witness=lambda _: witnessed(
            "user_level/thm-b1@tail",
            "thm_b1_tail",
            allowed,
            found,
            n=users,
            m=samples,
            epsilon=1,
            delta=f"1/{10**log_10_delta}",
            q="7/100",
        ),
    )


@check("user_level/thm-b1@tail-exact", kind="privacy")
def tail_line_on_both_sides_of_its_border(context: Context) -> Verdict:
    """2t over delta/(10 e^epsilon) on both sides of the border: below and above 1, over sizes and epsilon."""
    points, wrong = [], 0
    for size, eps in itertools.product((10**4, 10**6, 10**9), (0.1, 1.0, 10.0)):
        border = stated("user_level/thm-b1@tail-exact", n=size, m=1.0, epsilon=eps)
        for share in (0.01, 0.1, 0.99, 1.01, 10.0, 100.0):
            dlt = share * border
            tail = math.exp(-2 / 3 * log_ratio(20 * size, eps, dlt))
            ratio = 2 * tail / (dlt / (10 * math.exp(eps)))
            wrong += (ratio <= 1) != (share > 1)
            points.append((share, ratio))
    verdict = agree([1.0 + wrong], [1.0], f"one plus the points on the wrong side of the border, of {len(points)}")
    # The quotient depends on delta over the border alone: one curve for all sizes.
    marks = {f"{share:g}": Point(x=share, value=ratio, series="all sizes", bound=1.0) for share, ratio in points}
    axes = ("delta over the border", "2t over the right side (true up to 1)")
    return replace(verdict, points=tuple(marks.values()), axes=axes, dashed="the border")


def repaired_share(users: int, samples: int, eps: float, dlt: float) -> tuple[float, float]:
    """Noise that Definition A.5 asks for at (eps/4, delta/n) over the printed sigma_i; the exact delta over delta/n.

    Event |Lap(20/eps)| < C/5: s >= 3C/5 on both sides, 3C/5 points of p >= 3/5 (one point and one neighbour fewer after
    the change); |S| and the number B of other inclusions by binomial quantiles at delta/(10 e^eps) each.
    """
    groups = 100 * log_ratio(20 * users * samples, eps, dlt) / eps
    C, chance = math.ceil(groups), dlt / (10 * math.exp(eps))
    core = math.ceil(3 * C / 5) - 1
    kept = float(stats.binom.ppf(chance, core, 6 * (core / C) - 3))
    other = int(np.argmax(stats.binom.sf(np.arange(min(C, 2000)), C - 1, 6 / C) <= chance))
    moved = 4 * (2 + other) / kept  # in units of tau
    printed = 100 * math.log(users / dlt) ** 2 / (eps * groups)
    needed = moved * math.sqrt(2 * math.log(2 * users / dlt)) / (eps / 4)
    return needed / printed, gaussian_delta(moved / printed, eps / 4) / (dlt / users)


SURVIVAL = {
    "n = 200000, m = 10, epsilon = 1, delta = 1e-6": (200_000, 10, 1.0, 1e-6),
    "n = 100000, m = 10, epsilon = 10, delta = 1e-6": (100_000, 10, 10.0, 1e-6),
    "n = 1000000, m = 10, epsilon = 0.1, delta = 1e-8": (1_000_000, 10, 0.1, 1e-8),
    "n = 1000000, m = 1000, epsilon = 1, delta = 1e-20": (1_000_000, 1000, 1.0, 1e-20),
}


@check("user_level/thm-b1@corrected", kind="privacy", grid={"point": tuple(SURVIVAL)})
def privacy_survives_with_another_event(context: Context, *, point: str) -> Verdict:
    """The printed noise against what Definition A.5 asks for, on the event |Laplace noise| < C/5."""
    noise, exact = repaired_share(*SURVIVAL[point])
    users, samples, eps, dlt = SURVIVAL[point]
    tail = math.exp(-log_ratio(20 * users * samples, eps, dlt))
    allowed = stated("user_level/thm-b1@corrected", n=users, m=samples, delta=dlt, epsilon=eps)
    found = accuracy.never_violated(
        [noise, exact, (2 * tail - tail**2) / allowed],
        1.0,
        statement="noise asked for over printed, exact delta over delta/n, P(not both small) over its bound, <= 1",
        covers=f"all that the argument needs at {point}",
        evidence="certificate",
    )
    numbers = {"noise asked for over printed": noise, "exact delta over delta/n": exact}
    return replace(found, numbers=numbers)


@check("user_level/thm-b1@corrected", kind="privacy", expect="consistent")
def privacy_survives_over_the_legal_range(context: Context) -> Verdict:
    """The same over n from 10^5 to 10^14, m up to 10^6, epsilon from 0.1 to 10 and delta from 10^-4 to 10^-60."""
    shares = []
    for log_n, log_m, eps, log_delta in itertools.product((5, 7, 10, 14), (0, 3, 6), (0.1, 1.0, 10.0), (4, 12, 60)):
        users, samples, dlt = 10**log_n, 10**log_m, 10.0**-log_delta
        if math.e * (1 + math.log2(users)) * 100 * log_ratio(20 * users * samples, eps, dlt) / eps <= users:
            shares.append(repaired_share(users, samples, eps, dlt)[0])
    return accuracy.never_violated(
        shares, 1.0, statement="noise that Definition A.5 asks for over the printed one <= 1", drawn=False
    )


PHASES = {"epsilon = 10, m = 1000": (10**6, 1000, 10, "1/2"), "epsilon = 1, m = 10": (150_000, 10, 1, "51/625")}


@check("user_level/thm-b1@literal", kind="privacy", grid={"point": tuple(PHASES)}, expect="refuted")
def printed_hypothesis_leaves_an_empty_phase(context: Context, *, point: str) -> Verdict:
    """C over the users of the last phase, inside the printed hypothesis, delta = 1e-6."""
    users, samples, eps, q = PHASES[point]
    power = rational(q)
    last = (1 - 2**-power) * users * 2 ** (-power * (users.bit_length() - 1))
    found = 100 * log_ratio(20 * users * samples, eps, 1e-6) / eps / last
    # Evaluating the claim enforces the hypothesis.
    at = {"n": users, "m": samples, "d": 1, "q": power, "L": 1.0, "D": 1.0, "H": 0.0}
    allowed = stated("user_level/thm-b1@literal", epsilon=float(eps), delta=1e-6, **at)
    return accuracy.never_violated(
        found,
        allowed,
        statement="C/n_l <= 1",
        witness=lambda _: witnessed(
            "user_level/thm-b1@literal",
            "thm_b1_last_phase",
            allowed,
            found,
            n=users,
            m=samples,
            epsilon=eps,
            delta="1/1000000",
            q=q,
        ),
    )


@check("user_level/thm-b1@enough-users", kind="symbolic")
def last_phase_under_the_repaired_hypothesis(context: Context) -> Verdict:
    """n_l over (1 - 2^-q) n^(1-q) is (n/2^l)^q >= 1, as n/2^l lies in [1, 2)."""
    x, power = sp.symbols("x q", positive=True)
    return domain.never_positive(-power * sp.log(x), {"x": (1, 2), "q": (0, 1)}, statement="(n/2^l)^(-q) <= 1, in logs")


@check("user_level/thm-3-1", kind="symbolic")
def last_phase_under_theorem_3_1(context: Context) -> Verdict:
    """n_l against 100 log(20nmd e^epsilon/delta)/epsilon where the hypothesis just holds, at the best q."""
    left, right = [], []
    for eps, dims, dlt in itertools.product((0.1, 1.0, 10.0), (1, 10**6), (1e-6, 1e-30)):
        users = 2
        while True:
            power = math.log2(1 + 1 / math.log2(users))
            need = 100 * log_ratio(20.0 * users * 10 * dims, eps, dlt) / eps
            if users ** (1 - power) * (1 - 2**-power) > need:
                break
            users = math.ceil(users * 1.1)
        left.append(stated("user_level/thm-3-1", n=users, m=10, d=dims, epsilon=eps, delta=dlt, q=power))
        right.append((1 - 2**-power) * users * 2 ** (-power * (users.bit_length() - 1)))
    covers = "n_l >= (1 - 2^-q) n^(1-q) always, because 2^l <= n; these are the borders of the hypothesis"
    return accuracy.never_violated(left, right, statement="100 log(...)/epsilon <= n_l", covers=covers)


RATIONALS = {"n": 10**6, "m": 10, "d": 10, "epsilon": 1, "delta": "1/10000000", "q": "7/100", "J": "1/5"}


@check("user_level/alg-1@literal", kind="privacy", expect="refuted")
def noise_of_the_first_phase_against_the_diameter(context: Context) -> Verdict:
    """sqrt(d) sigma_1 over the diameter at n = 10^6, m = d = 10, epsilon = 1, delta = 1/(nm), printed constants."""
    users, samples, dims, dlt, power, p = 10**6, 10, 10, 1e-7, 0.07, 1.7
    log = log_ratio(20 * users * samples, 1.0, dlt)
    steps = (1 - 2**-power) * users * 2**-power * samples / (100 * log)
    eta = 2**-p / math.sqrt(dims * samples * users)
    tau = 1000 * eta * math.sqrt(steps) * math.log(users * dims * samples)
    found = math.sqrt(dims) * tau * math.log(users / dlt) ** 2 / log
    return accuracy.never_violated(
        found,
        stated("user_level/alg-1@literal"),
        statement="sqrt(d) sigma_1 <= R",
        witness=lambda _: witnessed("user_level/alg-1@literal", "alg_1", 1.0, found, **RATIONALS),
    )


# Algorithm 2 ----------------------------------------------------------------------------------------------------------


def goes_on(margin: float, eps: float) -> float:
    """P(one step goes on) with a fresh threshold, `margin` = score - 4K/5."""
    tail = difference_of_laplace(abs(margin), 16 / eps, 8 / eps)
    return 1 - tail if margin >= 0 else tail


def cluster_scores(a: int, b: int) -> tuple[float, float]:
    """Margins of a + b + 1 gradients in two clusters 3 tau apart, one user far away, and in between instead."""
    K = a + b + 1
    apart = (a * a + b * b + 1) / K
    return apart - 0.8 * K, apart + 2 * (K - 1) / K - 0.8 * K


CLUSTERS = (17746, 2253)
"""20,000 users; the score of these clusters is within 1 of 4K/5."""


@check("user_level/alg-2@literal", kind="privacy", grid={"T": (10, 20, 100)}, expect="refuted")
def fresh_thresholds_are_not_private(context: Context, *, T: int) -> Verdict:
    """Exact log-ratio of "never halts" for planted gradients, a fresh threshold in each of T rounds, epsilon = 1."""
    apart, together = cluster_scores(*CLUSTERS)
    low, high = goes_on(apart, 1.0), goes_on(together, 1.0)
    found, allowed = T * math.log(high / low), stated("user_level/alg-2@literal", epsilon=1.0)
    verdict = accuracy.never_violated(
        found,
        allowed,
        statement="log-ratio of never halting <= epsilon/2",
        witness=lambda _: witnessed(
            "user_level/alg-2@literal", "alg_2_threshold", allowed, found, a=CLUSTERS[0], b=CLUSTERS[1], T=T, epsilon=1
        ),
    )
    numbers = {
        **verdict.numbers,
        "true delta at epsilon/2, these data": halting_delta(low, high, T, allowed),
        "true epsilon over all data": T * 2 / 16,
        "first T that fails": first_T(low, high),
    }
    return replace(verdict, numbers=numbers)


def halting_delta(low: float, high: float, T: int, budget: float) -> float:
    """Exact delta of the halting time in T independent rounds that go on with probability `low` or `high`."""
    t = np.arange(T)
    one, two = (np.append(q**t * (1 - q), q**T) for q in (low, high))
    return max(hockey_stick(one, two, budget), hockey_stick(two, one, budget))


def first_T(low: float, high: float) -> int:
    """Rounds from which the log-ratio exceeds 1/2."""
    return math.floor(0.5 / math.log(high / low)) + 1


@check("user_level/alg-2@corrected", kind="privacy", grid={"T": (1, 10, 40)})
def one_threshold_keeps_its_promise(context: Context, *, T: int) -> Verdict:
    """Exact laws of the halting time for the same clusters and drawn scores, one threshold draw, epsilon = 1."""
    law, rng = AboveThreshold(8.0, 16.0), context.rng()
    apart, together = cluster_scores(*CLUSTERS)
    base = rng.normal(scale=30, size=(context.scale(10, 100), T))
    moved = base + rng.uniform(-2, 2, size=base.shape)
    base[0], moved[0] = apart, together
    gap = np.abs(np.log(law.halting(base, halt_on=0)) - np.log(law.halting(moved, halt_on=0)))
    return accuracy.never_violated(
        gap.max(axis=1),
        stated("user_level/alg-2@corrected", epsilon=1.0),
        statement="|log-ratio of the halting time| <= epsilon/2",
        covers="moving the threshold's noise by 2 and that of the query that halts by 4 costs 2/8 + 4/16",
        evidence="certificate",
    )


@check("user_level/alg-2@replacement", kind="sensitivity", expect="refuted")
def score_of_a_user_drawn_twice(context: Context) -> Verdict:
    """30 draws, the changed user drawn twice: its gradient leaves the point where all others are."""
    near, far = np.ones((30, 30)), np.ones((30, 30))
    far[:2, 2:] = far[2:, :2] = 0
    found = float(near.sum() - far.sum()) / 30
    verdict = accuracy.never_violated(
        found,
        stated("user_level/alg-2@replacement"),
        statement="the score changes by at most 2",
        witness=lambda _: witnessed("user_level/alg-2@replacement", "alg_2_replacement", 2.0, found, K=30, r=2),
    )
    numbers = {
        **verdict.numbers,
        "epsilon of the bits when drawn twice, epsilon = 1": AboveThreshold(8.0, 16.0).pure(found),
        "P(drawn twice or more), K = N = 30": float(stats.binom.sf(1, 30, 1 / 30)),
    }
    return replace(verdict, numbers=numbers)


# Theorem C.1 ----------------------------------------------------------------------------------------------------------


@check("user_level/thm-c1", kind="privacy", grid={"epsilon_": (0.1, 1.0, 10.0)})
def half_of_the_budget_for_the_bits(context: Context, *, epsilon_: float) -> Verdict:
    """Lap(8/epsilon) once and Lap(16/epsilon) on scores of sensitivity 2: epsilon/2 for any number of rounds."""
    law = AboveThreshold(8 / epsilon_, 16 / epsilon_)
    return agree([law.pure(2.0, count) for count in (1, 10**6)], [epsilon_ / 2] * 2, "epsilon of the bits")


@check("user_level/thm-c1@tail", kind="privacy")
def tail_of_the_query_noise(context: Context) -> Verdict:
    """P(|Lap(16/epsilon)| > K/20) at K = 500 log(n_i^2 m^2 e^epsilon/delta)/epsilon, in logarithms."""
    found, wanted = [], []
    for users, samples, eps, dlt in itertools.product((1e3, 1e6), (1, 1e3), (0.1, 1.0, 10.0), (1e-6, 1e-20)):
        K = 500 * log_ratio(users**2 * samples**2, eps, dlt) / eps
        found.append(math.log(2) + float(stats.laplace.logsf(K / 20, scale=16 / eps)))
        wanted.append(math.log(stated("user_level/thm-c1@tail", N=users, m=samples, epsilon=eps, delta=dlt)))
    return agree(found, wanted, "log-probability")


@check("user_level/thm-c1@halt", kind="privacy", grid={"K": (20.0, 200.0, 2000.0)})
def probability_of_a_false_halt(context: Context, *, K: float) -> Verdict:
    """P(Lap(8) - Lap(16) > K/5) by quadrature over the threshold noise, epsilon = 1."""

    def joint(x: float) -> float:
        return float(stats.laplace.pdf(x, scale=8) * stats.laplace.cdf(x - K / 5, scale=16))

    found = sum(integrate.quad(joint, *ends, epsabs=0, epsrel=1e-11, limit=200)[0] for ends in ((-400, 0), (0, K / 5)))
    found += integrate.quad(joint, K / 5, K / 5 + 400, epsabs=0, epsrel=1e-11, limit=200)[0]
    return agree([found], [stated("user_level/thm-c1@halt", K=K, epsilon=1.0)], "P(halt)", tolerance=1e-7)


@check("user_level/thm-c1@literal", kind="privacy", expect="refuted")
def printed_display_at_small_epsilon(context: Context) -> Verdict:
    """The additive terms over delta at epsilon = 0.01."""
    found = 0.4 * (2 * math.exp(0.005) + 1) * math.exp(-0.01)
    return accuracy.never_violated(
        found,
        stated("user_level/thm-c1@literal", epsilon=0.01),
        statement="4 T zeta (2 e^(epsilon/2) + 1) <= delta",
        witness=lambda _: witnessed("user_level/thm-c1@literal", "thm_c1", 1.0, found, epsilon="1/100"),
    )


@check("user_level/thm-c1@corrected", kind="privacy")
def recomputed_display_is_half_of_delta(context: Context) -> Verdict:
    """The recomputed additive part is at most delta/2 for every epsilon >= 0 and T >= 1; it is largest at 0 and 1."""
    e, u = sp.symbols("e u", positive=True)
    named = {s.name: s for s in explicit_of("user_level/thm-c1@corrected").free_symbols}
    # u = 1/T in (0, 1].
    left = explicit_of("user_level/thm-c1@corrected").subs({named["epsilon"]: e, named["T"]: 1 / u}) - sp.Rational(1, 2)
    return domain.never_positive(left, {"e": (0, 700), "u": (0, 1)}, statement="additive part <= delta/2")


# Theorems C.3 and D.3, Lemma D.2 --------------------------------------------------------------------------------------

MINIBATCHES = {"n = 10^6": (10**6, 100, 100, 9, 100), "n = 10^8": (10**8, 100, 100, 11, 10**4)}


def printed_minibatch(users: float, samples: int, eps: float, dlt: float, steps: int) -> float:
    return (
        500 * log_ratio(users**2 * samples**2, eps, dlt) * (1 / eps + users * eps / math.sqrt(-steps * math.log(dlt)))
    )


def first_phase(users: int, q: float) -> float:
    return (1 - 2**-q) * users * 2**-q


@check("user_level/thm-c3@literal", kind="privacy", grid={"point": tuple(MINIBATCHES)}, expect="refuted")
def printed_minibatches_exceed_their_phase(context: Context, *, point: str) -> Verdict:
    """K_1/n_1 inside the hypotheses of Theorems 3.1 and C.3, q = 1/20, epsilon = 1."""
    users, samples, dims, digits, steps = MINIBATCHES[point]
    first, dlt = first_phase(users, 0.05), 10.0**-digits
    found = printed_minibatch(first, samples, 1.0, dlt, steps) / first
    at = {"n": users, "m": samples, "d": dims, "epsilon": 1.0, "delta": dlt, "q": 0.05}
    return accuracy.never_violated(
        found,
        stated("user_level/thm-c3@literal", **at),
        statement="K_1 <= n_1",
        witness=lambda _: witnessed(
            "user_level/thm-c3@literal",
            "thm_c3_minibatch",
            1.0,
            found,
            n=users,
            m=samples,
            d=dims,
            epsilon=1,
            delta=f"1/{10**digits}",
            q="1/20",
            T=steps,
        ),
    )


@check("user_level/thm-c3@passes", kind="privacy", expect="refuted")
def printed_minibatches_miss_some_users(context: Context) -> Verdict:
    """K_1 T_1/n_1 at n = 10^16, m = d = 1, epsilon = 10^-7, delta = 1/(2n), T = 40."""
    users = 10**16
    first = first_phase(users, 0.05)
    found = printed_minibatch(first, 1, 1e-7, 0.5 / users, 40) * 40 / first
    parameters = {"n": users, "m": 1, "d": 1, "epsilon": "1/10000000", "delta": f"1/{2 * users}", "q": "1/20", "T": 40}
    at = {"n": users, "m": 1, "d": 1, "epsilon": 1e-7, "delta": 0.5 / users, "q": 0.05}
    return accuracy.never_violated(
        stated("user_level/thm-c3@passes", **at),
        found,
        statement="1 <= K_1 T_1/n_1",
        witness=lambda _: witnessed("user_level/thm-c3@passes", "thm_c3_passes", 1.0, found, **parameters),
    )


@check("user_level/lem-d2@literal", kind="privacy", expect="refuted")
def minibatch_with_constant_one_halts(context: Context) -> Verdict:
    """P(halt) of one step at full score with K = log(nmd e^epsilon/delta)/epsilon, the logarithm being 40."""
    found = difference_of_laplace(40 / 5, 16.0, 8.0)
    return accuracy.never_violated(
        found,
        stated("user_level/lem-d2@literal", delta=1e-6),
        statement="P(halt at one step) <= delta",
        witness=lambda _: witnessed("user_level/lem-d2@literal", "lem_d2", 1e-6, found, log=40, delta="1/1000000"),
    )


@check("user_level/thm-d3@literal", kind="risk", grid={"d": (10**7, 10**8)}, expect="refuted")
def lambda_without_its_private_part(context: Context, *, d: int) -> Verdict:
    """The private part of (18) over its stated value at n = 10^6, m = 10, epsilon = 1, delta = 10^-8, inside D.3.

    With lambda = 1/sqrt(nm) alone.
    """
    users, samples, dlt = 10**6, 10, 1e-8
    part = d / (users**2 * samples) / (1 / math.sqrt(users * samples))
    found = part / (math.sqrt(d) / (users * math.sqrt(samples)))
    return accuracy.never_violated(
        found,
        stated(
            "user_level/thm-d3@literal", n=users, m=samples, d=d, epsilon=1.0, delta=dlt,
            q=math.log2(1 + 1 / math.log2(users)),
        ),
        statement="the private part of (18) <= its stated value",
        witness=lambda _: witnessed(
            "user_level/thm-d3@literal", "thm_d3_lambda", 1.0, found, n=users, m=samples, d=d, epsilon=1,
            delta="1/100000000",
        ),
    )  # fmt: skip
