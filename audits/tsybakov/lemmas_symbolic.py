"""Algebra of the proofs: step caps, sums, and the exponents of the bounds."""

from __future__ import annotations

import itertools
import math

import sympy as sp

from dpcheck import symbols
from dpcheck.checks import Context, check
from dpcheck.claims import evaluate
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import order_of
from dpcheck.harness.symbolic import proved
from dpcheck.symbols import D, L, T, d, epsilon, eta, k, lambda_, n, p, r_2, theta
from dpcheck.verdicts import Verdict, differs, holds

R = sp.Symbol("R_2k", positive=True)
LOG = sp.Symbol("ℒ", positive=True)
TAU_P = (sp.sqrt(d * LOG * sp.log(n)) / (epsilon * n)) ** ((k - 1) / k)


@check("tsybakov/alg-3@corrected", kind="symbolic")
def bias_of_the_corrected_step(context: Context) -> Verdict:
    """D^2/(eta n^p) at each cap of the corrected step: D L_f n^(-p/2), D R tau_p and D R n^(-1/2)."""
    caps = {
        "cap of L_f": (1 / L, D * L * n ** (-p / 2)),
        "cap of the noise": (1 / (R * n ** (p / 2) * TAU_P), D * R * TAU_P),
        "cap of the sample": (1 / (R * n ** ((p - 1) / 2)), D * R / sp.sqrt(n)),
    }
    return proved({name: D**2 / (D * n ** (-p / 2) * cap * n**p) / term - 1 for name, (cap, term) in caps.items()})


@check("tsybakov/alg-3@literal", kind="symbolic")
def first_noise_of_the_printed_step(context: Context) -> Verdict:
    """sqrt(d) sigma_1/D at the second printed cap, from the algorithm's own formulas with all moments alike."""
    n_1, eta_1 = n / 2, D * n ** (-p / 2) / (R * n ** ((p + 1) / 2) * TAU_P) / 4
    level = R * (epsilon * n_1 / sp.sqrt(d * LOG * sp.log(n))) ** (1 / k)
    sigma = 8 * level * sp.sqrt(LOG) * eta_1 * n_1 ** (2 * p) / (n_1 * epsilon)
    return proved({"first noise over D": sp.sqrt(d) * sigma / D / claim("tsybakov/alg-3@literal").bound - 1})


@check("tsybakov/thm-8@sharp", kind="symbolic")
def sum_of_the_recursion(context: Context) -> Verdict:
    """a' = (1 - eta lambda) a + c: its fixed point is the constant part of the bound; printed constants are larger."""
    b = sp.Symbol("bias", positive=True)
    added = eta * b**2 / lambda_ + 2 * eta**2 * (r_2**2 + lambda_**2 * D**2)
    rest = claim("tsybakov/thm-8@sharp").bound - sp.exp(-lambda_ * eta * T) * D**2
    printed = claim("tsybakov/thm-8").bound - sp.exp(-lambda_ * eta * T / 2) * D**2
    return proved(
        {"fixed point of the recursion": sp.expand(added / (eta * lambda_) - rest)},
        {"printed constants less these": sp.expand(printed - rest)},
    )


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


def exponents(label: str, power: float) -> Verdict:
    """Every local exponent of an O-form where one of its terms is alone, against those of the printed display.

    With epsilon tiny the private term is alone, with n huge the statistical one; `power` is theta/(theta - 1).
    """
    said, found, wanted = claim(label), [], []
    for order in (3.0, 6.0):
        base = {"R_2k": 2.0, "r_k": 2.0, "D": 3.0, "d": 5.0, "delta": 1e-5, "beta": 0.5, "p": 200.0, "lambda": 0.3}
        base |= {"k": order, "theta": power / (power - 1) if power > 1 else 2.0}
        needed = {s.name for s in said.bound.free_symbols}
        share = (order - 1) / order
        for n_at, eps, private in ((1e6, 1e-30, True), (1e60, 1e6, False)):
            at = {name: value for name, value in {**base, "n": n_at, "epsilon": eps}.items() if name in needed}
            printed = {"n": -share if private else -0.5, "epsilon": -share if private else 0.0}
            printed |= {"d": share / 2 if private else 0.0, "R_2k": 1.0, "r_k": 1.0}
            printed = {name: power * exponent for name, exponent in printed.items()}
            printed |= {"lambda": 1 - power, "D": 1.0}
            for name in sorted(needed & printed.keys()):
                found.append(said.local_exponent(name, at))
                wanted.append(printed[name])
    off = max(abs(a - b) for a, b in zip(found, wanted, strict=True))
    reason = f"{len(found)} local exponents of {said.title}, as printed and as written down: at most {off:.2g} apart"
    return (holds if off < 0.02 else differs)(reason, "exact", numbers={"largest difference": off})


@check("tsybakov/thm-1", kind="transcription")
def exponents_of_theorem_1(context: Context) -> Verdict:
    """(k-1)/k in the private regime, 1/2 in the statistical one, also in epsilon, d, R and D; not whether they hold."""
    return exponents("tsybakov/thm-1", 1.0)


@check("tsybakov/thm-2", kind="transcription")
def exponents_of_theorem_2(context: Context) -> Verdict:
    """The same times theta/(theta-1) = 4/3, and -1/(theta-1) in lambda."""
    return exponents("tsybakov/thm-2", 4 / 3)


@check("tsybakov/thm-3", kind="transcription")
def exponents_of_theorem_3(context: Context) -> Verdict:
    """The same times theta/(theta-1) = 2, and -1 in lambda."""
    return exponents("tsybakov/thm-3", 2.0)


@check("tsybakov/thm-7", kind="transcription")
def exponents_of_theorem_7(context: Context) -> Verdict:
    """The same times theta/(theta-1) = 3, and -2 in lambda."""
    return exponents("tsybakov/thm-7", 3.0)


@check("tsybakov/thm-11", kind="transcription")
def theorem_11_is_theorem_2_with_logarithms(context: Context) -> Verdict:
    """Their orders as written down: at n = 2^20 and 2^40 within (log^3 n)^(theta/(theta-1)) of each other."""
    ratios, caps = [], []
    for x, order, power, weight in itertools.product((20, 40), (2.0, 4.0), (2.0, 4.0), (0.01, 0.5)):
        at = {"R_2k": 1.0, "lambda": weight, "theta": power, "k": order, "d": 3.0, "delta": 1e-5, "epsilon": 1.0,
              "beta": 0.1, "p": 1.0, "n": 2.0**x}  # fmt: skip
        eleven, two = (float(evaluate(order_of(name), at)) for name in ("tsybakov/thm-11", "tsybakov/thm-2"))
        ratios.append(eleven / two)
        caps.append(math.log(2.0**x) ** (3 * power / (power - 1)))
    ok = all(1 - 1e-12 <= ratio <= cap for ratio, cap in zip(ratios, caps, strict=True))
    said = f"ratios between {min(ratios):.4g} and {max(ratios):.4g}, at most log^3 n to the power theta/(theta-1)"
    return (holds if ok else differs)(said, "exact", numbers={"smallest": min(ratios), "largest": max(ratios)})


@check("tsybakov/rem-2@derived", kind="symbolic")
def worst_direction_of_clipping(context: Context) -> Verdict:
    """|A n|/(n^T A n) over unit n is (1+a)/(2 sqrt a) at n_1^2 = a/(1+a), where it is stationary, and not more."""
    a, x = sp.symbols("a x", positive=True)
    ratio = sp.sqrt(x + (1 - x) * a**2) / (x + (1 - x) * a)  # x = n_1^2
    bound = claim("tsybakov/rem-2@derived").bound
    stated = bound.subs(next(iter(bound.free_symbols)), a)
    # Kantorovich: the difference of squares is a square.
    short = (stated**2 - ratio**2) * 4 * a * (x + (1 - x) * a) ** 2
    return proved(
        {
            "value at the worst direction": (ratio**2).subs(x, a / (1 + a)) - stated**2,
            "stationary there": sp.diff(ratio**2, x).subs(x, a / (1 + a)),
            "what is missing elsewhere is a square": sp.expand(sp.simplify(short)) - sp.expand(
                (1 - a) ** 2 * (x * (1 + a) - a) ** 2
            ),
        }
    )  # fmt: skip


@check("tsybakov/def-moments", kind="symbolic")
def weights_sum_to_one_less_a_share(context: Context) -> Verdict:
    """sum of 2^-i for i <= log2 n is 1 - 1/n."""
    i, halvings = sp.symbols("i l", positive=True, integer=True)
    total = sp.summation(2**-i, (i, 1, halvings))
    return proved({"sum of the weights": sp.simplify(total - (1 - 2**-halvings))})


@check("tsybakov/lem-2@derived", kind="symbolic")
def leave_one_out_means(context: Context) -> Verdict:
    """The mean over m + 1 records is the average of the m + 1 means without one of them, shown for m up to 5."""
    zero = {}
    for m in range(1, 6):
        g = sp.symbols(f"g0:{m + 1}")
        means = [(sum(g) - left) / m for left in g]
        zero[f"m = {m}"] = sp.expand(sum(means) / (m + 1) - sum(g) / (m + 1))
    return proved(zero)


@check("tsybakov/lem-6@derived", kind="symbolic")
def explicit_lemma_has_the_printed_order(context: Context) -> Verdict:
    """tanh(e/2) <= 1 - exp(-e), log(1 + x) <= x: 8 sqrt(log(4/delta)/log(1/delta)) times the order at most."""
    e = sp.Symbol("epsilon_0", positive=True)
    u = sp.Symbol("u", positive=True)  # exp(-e)
    share = (1 - u) / (1 + u)
    explicit = claim("tsybakov/lem-6@derived").bound
    inside = sp.exp(explicit) - 1
    e_0 = next(s for s in explicit.free_symbols if s.name == "epsilon_0")
    tanh = (sp.exp(e_0) - 1) / (sp.exp(e_0) + 1)
    spread = 8 * sp.sqrt(sp.exp(e_0) * sp.log(4 / symbols.delta) / symbols.n) + 8 * sp.exp(e_0) / symbols.n
    return proved(
        {
            "share of the sensitive bit": share.subs(u, sp.exp(-e)) - (sp.exp(e) - 1) / (sp.exp(e) + 1),
            "argument of the logarithm": sp.simplify(inside - tanh * spread),
            "what the order has more": sp.simplify((1 - u) - share - u * (1 - u) / (1 + u)),
        }
    )


@check("tsybakov/lem-5@corrected", kind="symbolic")
def distance_of_the_centroid(context: Context) -> Verdict:
    """N vertices e_i/sqrt 2 of a unit simplex: the centroid is at squared distance (N-1)/(2N) of each."""
    N = sp.Symbol("N", positive=True)
    side = (1 / sp.sqrt(2)) ** 2
    centroid = side * ((1 - 1 / N) ** 2 + (N - 1) / N**2)
    return proved({"centroid": sp.simplify(centroid - (N - 1) / (2 * N)), "two vertices": 2 * side - 1})
