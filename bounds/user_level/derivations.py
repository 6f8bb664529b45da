"""How the user-level rates and gradient counts follow, and which printed steps do not; every line executed.

The arguments in words stand in `bounds/user_level.md` under the same labels. ℓ stands for log(1/δ) where orders are
compared; logarithms of n, m and d are dropped, as Õ does.
"""

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import D, H, L, T, d, delta, epsilon, eta, lambda_, m, mu, n, positive, q

from ._paper import (
    CONDITION,
    CONDITION_D,
    GRADIENTS_TIGHT,
    LOG,
    OMITTED,
    PRIVATE,
    SHARE,
    SMOOTHED,
    SMOOTHED_DERIVED,
    STATISTICAL,
    K,
    N,
    ell,
    r,
    s,
    u,
    x,
)  # fmt: skip

AT_LOG = {LOG: ell}
SIZES = [d >= 1, n >= 1, m >= 1]
FREE = Regime(base=None, others="free", where=SIZES)
LEGAL = Regime(base=None, others="free", where=[*SIZES, epsilon <= 1, ell >= 1])
WITH_LOG = sp.sqrt(d * ell) / (epsilon * n * sp.sqrt(m))


# Section 1 ----------------------------------------------------------------------------------------------------------


@derivation("user_level/fact-lower-bound@derived")
def statistical_half(proof: Proof) -> None:
    """Signs of bias 1/√(nm) on a cube of diameter R: every coordinate costs RL/(d√(nm)) when its sign is missed.

    The private half is quoted by the paper without proof, and stays without one here.
    """
    side, slope = D / sp.sqrt(d), L / sp.sqrt(d)
    missed = proof.equal(
        "a missed sign costs the side times the mean", lambda: side * slope * STATISTICAL, D * L * STATISTICAL / d
    )
    half = proof.argues(
        "its probability is (1 − TV)/2, and TV tends to 2Φ(1) − 1",
        "risk",
        ">=",
        d * missed * (1 - sp.erf(sp.sqrt(2) / 2)) / 2,
    )
    proof.concludes("user_level/fact-lower-bound@derived", half)


@derivation("user_level/fact-prior-rates")
def rate_of_group_privacy(proof: Proof) -> None:
    """An optimal item-level algorithm on nm records at ε/m is ε-private for groups of m, that is for users."""
    total, item = positive("M epsilon_1")
    rate = proof.argues(
        "the item-level rate for M records",
        "excess risk",
        "<=",
        D * L * (1 / sp.sqrt(total) + sp.sqrt(d) / (item * total)),
    )
    proof.concludes("user_level/fact-prior-rates", rate.subs({total: n * m, item: epsilon / m}), regime=FREE)


# Section 2: linear time ---------------------------------------------------------------------------------------------


def phased(proof: Proof) -> sp.Expr:
    """Risk of Algorithm 1 up to logarithms: T_1 = nmε records a group, iterates that are private within ηL√T."""
    bound = proof.master(
        "excess risk, without logarithms",
        {"start": D**2 / (eta * n * m * epsilon), "steps": eta * L**2, "noise of the phases": d * eta * L**2},
    )
    return proof.chooses(bound, {eta: D / (L * sp.sqrt(d * m * n * epsilon))})


@derivation("user_level/thm-2-1", LEGAL)
def one_pass(proof: Proof) -> None:
    """η balances the start against the noise of √d ηL√T a phase; ε/log of the records make up one group."""
    proof.concludes("user_level/thm-2-1", phased(proof), where=AT_LOG, looser=True)


@derivation("user_level/thm-b1", LEGAL, also=("user_level/thm-b1@tail-exact", "user_level/thm-b1@corrected"))
def one_pass_in_full(proof: Proof) -> None:
    """The risk is Theorem 2.1's; of the privacy proof one line is false at small δ, and another event repairs it."""
    users = 100 * CONDITION / epsilon
    proof.gap(
        "the printed hypothesis leaves C <= n_l users in the last phase, l = 19",
        users,
        SHARE * n / 2 ** (19 * q),
        {n: 10**6, m: 1000, epsilon: 10, delta: sp.Rational(1, 10**6), q: sp.Rational(1, 2)},
        stands="Theorem 3.1 has the right form",
    )
    tail = (delta / (20 * n * m * sp.exp(epsilon))) ** sp.Rational(2, 3)
    least = 20 * sp.exp(epsilon) / (m**2 * n**2)
    proof.equal(
        "2P(|Lap(20/ε)| > 2C/15) meets δ/(10e^ε) at this δ",
        lambda: (2 * tail).xreplace({delta: least}),
        least / (10 * sp.exp(epsilon)),
    )
    proof.concludes("user_level/thm-b1@tail-exact", least)
    proof.gap(
        "P(not both) <= δ/(10e^ε)",
        2 * tail - tail**2,
        delta / (10 * sp.exp(epsilon)),
        {n: 100, m: 10, epsilon: 1, delta: sp.Rational(1, 10**20)},
        stands="with the event |Lap(20/ε)| < C/5 the line holds, and nothing else changes",
    )
    wide = proof.equal("that event: e^{−Cε/100}", lambda: sp.exp(-CONDITION), delta / (20 * n * m * sp.exp(epsilon)))
    proof.concludes("user_level/thm-b1@corrected", 2 * wide)
    proof.concludes("user_level/thm-b1", phased(proof), where=AT_LOG, looser=True)


@derivation("user_level/claim-2-2")
def smoothness_allowed(proof: Proof) -> None:
    """The quotient of the two largest smoothness parameters."""
    own = L / D * sp.sqrt(d * m * n * epsilon)
    theirs = proof.argues("BS23's linear time needs", "β", "<=", L * epsilon**3 / D * sp.sqrt(n**3 / (m * d**3)))
    proof.concludes("user_level/claim-2-2", own / theirs)


@derivation("user_level/lem-2-3@linear")
def independent_runs(proof: Proof) -> None:
    """Linear losses without projection show that √T is needed; the upper bound is a martingale argument in words."""
    j, steps = sp.Symbol("j", integer=True, positive=True), sp.Symbol("T", integer=True, positive=True)
    series = sp.Sum((j / steps) ** 2, (j, 1, steps - 1))
    proof.equal("step j weighs j/T in the average", series, (steps - 1) * (2 * steps - 1) / (6 * steps))
    proof.argues("two independent runs: twice the variance of one, steps of ηL that add up", "", "=", 2 * eta**2 * L**2)
    proof.concludes("user_level/lem-2-3@linear", 2 * eta**2 * L**2 * (T - 1) * (2 * T - 1) / (6 * T))


# Section 3: optimal risk --------------------------------------------------------------------------------------------


@derivation("user_level/thm-3-1")
def users_of_the_last_phase(proof: Proof) -> None:
    """n_l >= (1 − 2^{−q})n^{1−q}, and the hypothesis bounds that from below; the rest of the proof is in words."""
    hypothesis = 100 * CONDITION_D / (epsilon * SHARE)
    proof.assumes("user_level/thm-3-1", hypothesis, n ** (1 - q))
    proof.argues("the last phase has at least (1 − 2^{−q})n^{1−q} users", "n_l", ">=", SHARE * n ** (1 - q))
    proof.concludes("user_level/thm-3-1", SHARE * hypothesis)


def regularised(proof: Proof) -> sp.Expr:
    """Risk of Algorithm 3 up to logarithms of n, m, d; returns it at the λ that also balances log(1/δ)."""
    bound = proof.master(
        "excess risk",
        {
            "regulariser": lambda_ * D**2,
            "sampling": L**2 / (lambda_ * n * m),
            "noise": L**2 * d * ell / (lambda_ * epsilon**2 * n**2 * m),
        },
    )
    better = {lambda_: L / D * (STATISTICAL + WITH_LOG)}
    proof.chooses(bound, {lambda_: L / D * (STATISTICAL + PRIVATE)}, better=better, regime=LEGAL)
    return bound.subs(better)


@derivation("user_level/thm-3-2", LEGAL, also=("user_level/thm-3-2@derived", "user_level/thm-3-2@gradients"))
def regularised_phases(proof: Proof) -> None:
    """λ balances bias against sampling and noise; T = √(β/λ) steps of K = 1/ε + nε/√T + n/T users give the count."""
    proof.concludes("user_level/thm-3-2", regularised(proof), where=AT_LOG)
    ratio = H * D / L
    steps = sp.sqrt(ratio) * sp.Min((n * m) ** sp.Rational(1, 4), (epsilon**2 * n**2 * m / d) ** sp.Rational(1, 4))
    counted = proof.argues(
        "TKm gradients a phase; λ is at least each of its parts",
        "gradients",
        "<=",
        m * n + m * n * epsilon * sp.sqrt(steps) + m * steps / epsilon,
    )
    proof.concludes("user_level/thm-3-2@derived", counted, regime=FREE)
    proof.concludes("user_level/thm-3-2@gradients", counted, regime=FREE, looser=True)


@derivation("user_level/thm-c3", LEGAL)
def regularised_phases_in_full(proof: Proof) -> None:
    """The balance of Theorem 3.2; that K_i <= n_i does not follow from the printed constants."""
    proof.gap(
        "K_1 <= n_1, from 500 log(n²m²e^ε/δ)/ε alone",
        500 * sp.log(n**2 * m**2 * sp.exp(epsilon) / delta) / epsilon,
        n / 2,
        {n: 10**4, m: 100, epsilon: 1, delta: sp.Rational(1, 10**9)},
        stands="with K_i = min(n_i, …) a full batch needs no amplification",
    )
    proof.concludes("user_level/thm-c3", regularised(proof), where=AT_LOG)


@derivation("user_level/lem-d2", LEGAL)
def general_batches(proof: Proof) -> None:
    """The same balance for any K_i and T_i that cover the sample and converge."""
    proof.concludes("user_level/lem-d2", regularised(proof), where=AT_LOG)


SQUARE = Regime(base=None, others="free", where=[n >= 1, m >= 1, H**2 * m * n >= 1])


@derivation("user_level/claim-3-3", SQUARE)
def fewer_gradients_than_before(proof: Proof) -> None:
    """At n = d, ε = 1, L = R = 1 the count of Theorem 3.2 against BS23's where that is legal, and against AL24's."""
    here = proof.uses("user_level/thm-3-2@derived", GRADIENTS_TIGHT).subs({d: n, epsilon: 1, D: 1, L: 1})
    legal = Regime(base=None, others="free", where=[n >= 1, m >= 1, H**2 * m * n >= 1, m <= n, H**2 * m <= n])
    proof.order_at_most("BS23, legal for m <= n and β <= √(n/m)", here, m * n ** sp.Rational(3, 2), legal)
    proof.order_at_most(
        "AL24, for β >= 1/√(nm): below that its formula is less than one pass", here, H * (n * m) ** sp.Rational(3, 2)
    )
    proof.concludes("user_level/claim-3-3", here, regime=legal, looser=True)


@derivation("user_level/claim-3-4@derived")
def best_exponent(proof: Proof) -> None:
    """With x = log_2 n and u = 2^q, n^{−q}(1 − 2^{−q}) = u^{−x}(1 − 1/u) is largest at u = 1 + 1/x."""
    best = 1 + 1 / x
    slope = sp.diff(-x * sp.log(u) + sp.log(1 - 1 / u), u)
    proof.equal("stationary there", lambda: slope.xreplace({u: best}), 0)
    share = proof.equal("1 − 1/u", lambda: 1 - 1 / best, 1 / (1 + x))
    power = proof.argues("(1 + 1/x)^x <= e", "u^{−x}", ">=", sp.exp(-1))
    proof.concludes("user_level/claim-3-4@derived", n * power * share.subs(x, sp.log(n) / sp.log(2)))


@derivation("user_level/lem-3-5", also=("user_level/lem-3-5@derived",))
def minibatch_variance(proof: Proof) -> None:
    """K distinct users of N against all N: the covariance is that of the N, so the variances subtract."""
    proof.argues("the mean of K users has covariance v/(Nm) with that of all N", "covariance", "=", L**2 / (N * m))
    rest = proof.equal("v/(Km) − v/(Nm)", lambda: L**2 / (K * m) - L**2 / (N * m), L**2 * (1 - K / N) / (K * m))
    proof.concludes("user_level/lem-3-5@derived", rest)
    logarithm = sp.Symbol("nu", positive=True)
    proof.concludes(
        "user_level/lem-3-5",
        L**2 / (K * m),
        where={sp.log(d * m * n): logarithm},
        regime=Regime(base=None, others="free", where=[logarithm >= 1]),
        looser=True,
    )


@derivation("user_level/claim-3-6", FREE)
def restarts(proof: Proof) -> None:
    """A risk DE on diameter D leaves the distance √(2DE/μ); the fixed point of restarts is D = 2E/μ."""
    per = L * (STATISTICAL + WITH_LOG)
    proof.argues(
        "strong convexity: a risk DE on diameter D leaves the distance √(2DE/μ)", "D", "<=", sp.sqrt(2 * D * s / mu)
    )
    rest = proof.equal("the fixed point", lambda: sp.sqrt(2 * (2 * s / mu) * s / mu), 2 * s / mu)
    proof.concludes("user_level/claim-3-6", (rest * s).subs(s, per), where=AT_LOG)


# Section 4: without smoothness --------------------------------------------------------------------------------------


def smoothed(proof: Proof) -> None:
    """The count of Theorem 3.2 at the smoothness of f_r; it reaches the corrected count, not the printed one."""
    width = D * sp.sqrt(d) / (epsilon * n * sp.sqrt(m))
    smoothness = proof.uses("user_level/lem-d1", L * sp.sqrt(d) / width, {r: width})
    counted = proof.uses("user_level/thm-3-2@derived", GRADIENTS_TIGHT.subs(H, smoothness), {H: smoothness})
    proof.gap(
        "the count is at most mn(1 + n^{3/8}m^{1/4}ε^{1/4})",
        OMITTED,
        SMOOTHED,
        {n: 10**14, m: 10**20, d: 1, epsilon: sp.Rational(1, 10**7)},
        stands="min{n^{3/4}m^{3/2}ε^{−1/2}, nm^{3/2}d^{−1/4}} is missing, of T_iK_im with K_i ~ 1/ε",
    )
    larger = Regime(base=None, others="free", where=[*SIZES, epsilon <= 1])
    proof.order_at_most("with the omitted term", counted, SMOOTHED_DERIVED, larger)


@derivation("user_level/thm-4-1@corrected", LEGAL, also=("user_level/thm-4-1@risk",))
def without_smoothness(proof: Proof) -> None:
    """Theorem 3.2 on f_r with r = R√d/(εn√m); the risk stands, the printed count misses a term."""
    smoothed(proof)
    proof.concludes("user_level/thm-4-1@corrected", SMOOTHED_DERIVED)
    proof.concludes("user_level/thm-4-1@risk", regularised(proof), where=AT_LOG)


@derivation("user_level/thm-d3@derived", LEGAL, also=("user_level/thm-d3@corrected", "user_level/thm-d3@risk"))
def without_smoothness_in_full(proof: Proof) -> None:
    """As Theorem 4.1; and λ needs its private part, which the proof leaves out."""
    width = D * sp.sqrt(d) / (epsilon * n * sp.sqrt(m))
    proof.concludes("user_level/thm-d3@derived", L * width)
    proof.gap(
        "with λ = 1/√(nm) alone the noise costs at most √d/(εn√m)",
        d / (epsilon**2 * n**2 * m) * sp.sqrt(n * m),
        PRIVATE,
        {n: 10, m: 10, d: 1000, epsilon: 1},
        stands="with the λ of Theorem C.3 it does",
    )
    smoothed(proof)
    proof.concludes("user_level/thm-d3@corrected", SMOOTHED_DERIVED)
    proof.concludes("user_level/thm-d3@risk", regularised(proof), where=AT_LOG)


@derivation("user_level/claim-4-2@corrected")
def speed_up(proof: Proof) -> None:
    """(nm)³ gradients of AL24 over the corrected count; beyond m = n^{5/2} it is less than printed."""
    largest = n ** sp.Rational(11, 8) * m ** sp.Rational(5, 4) + OMITTED.subs(epsilon, 1)
    proof.gap(
        "the speed-up is at least n^{13/8}m^{7/4}",
        n ** sp.Rational(13, 8) * m ** sp.Rational(7, 4),
        (n * m) ** 3 / largest,
        {n: 10**12, m: 10**48, d: 1},
        stands="it is n^{9/4}m^{3/2} there",
    )
    proof.argues("AL24 take (nm)³ gradients", "gradients", "=", (n * m) ** 3)
    proof.concludes("user_level/claim-4-2@corrected", (n * m) ** 3 / largest)


@derivation("user_level/lem-d1@corrected")
def mean_of_the_ball(proof: Proof) -> None:
    """|f_r − f| is at most L times the mean length of a point of the ball of radius r."""
    mean = sp.Integral(s * d * s ** (d - 1) / r**d, (s, 0, r))
    length = proof.equal("the radius has density d s^{d−1}/r^d", mean, r * d / (d + 1))
    moved = proof.argues("f is L-Lipschitz, so f_r is within L times it", "f_r − f", "<=", L * length)
    proof.concludes("user_level/lem-d1@corrected", moved)


asm_1_1_underived = underived("user_level/asm-1-1", "an assumption")
asm_1_2_underived = underived("user_level/asm-1-2", "an assumption")
lem_a6_underived = underived("user_level/lem-a6", "cited; the audits hold it against the exact curve of Gaussian noise")
lem_a7_underived = underived("user_level/lem-a7", "cited; the audits hold it against exact composition")
lem_a8_underived = underived(
    "user_level/lem-a8", "cited; the audits hold it against exact mixtures, with and without replacement"
)
