"""The refuted conclusion: gradients of the smoothed algorithm along m = n^k, and the speed-up that rests on them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.checks import Context, check
from dpcheck.engine.statements import order_of, stated
from dpcheck.harness import accuracy
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import at_most
from dpcheck.symbols import d, epsilon, m, n
from dpcheck.verdicts import Point, Verdict, differs, holds

from ._statements import log_ratio

MANY_USERS = 10**12
CURVES = (2.0, 2.5, 3.0, 4.0, 6.0)


def first_steps(users: float, samples: float, eps: float) -> tuple[float, float]:
    """sqrt(beta_r/lambda_1) of phase 1 at d = 1, and q = log2(1 + 1/log2 n).

    beta_r = eps n sqrt m, lambda_1 = 2^p (1/sqrt(nm) + 1/(eps n sqrt m)), the larger lambda of Theorem C.3, with the
    least p = 3q + 5/2 + log_n sqrt m that it allows; in units of L and R.
    """
    q = math.log2(1 + 1 / math.log2(users))
    p = 3 * q + 2.5 + math.log(samples) / (2 * math.log(users))
    weight = 2**p * (1 / math.sqrt(users * samples) + 1 / (eps * users * math.sqrt(samples)))
    return math.sqrt(eps * users * math.sqrt(samples) / weight), q


def fewest_gradients(users: int, samples: int, eps: float, dlt: float) -> float:
    """T_1 K_1 m at d = 1: T_1 = (1 + sqrt(beta_r/lambda_1)) log(ndm), K_1 = log(nmd e^eps/delta)/eps alone."""
    steps, _ = first_steps(users, samples, eps)
    return (1 + steps) * math.log(users * samples) * log_ratio(float(users * samples), eps, dlt) / eps * samples


def gradients_without_logs(users: float, samples: float) -> float:
    """The count of phase 1 over the stated one at epsilon = 1, all logarithms dropped."""
    steps, _ = first_steps(users, samples, 1.0)
    count = users * samples + steps * samples * (users / math.sqrt(steps) + 1)
    return count / (users * samples * (1 + users**0.375 * samples**0.25))


def rays() -> tuple[Point, ...]:
    """The quotient along m = n^k for several k."""
    return tuple(
        Point(x=10.0**e, value=gradients_without_logs(10.0**e, 10.0 ** (k * e)), series=f"m = n^{k:g}", bound=1.0)
        for k in CURVES
        for e in range(6, 37, 3)
    )


def growth(k: float) -> float:
    """Exponent of n in the missing term over the stated count along m = n^k, epsilon = 1."""
    missing = sp.Rational(3, 4) + sp.Rational(3, 2) * sp.Rational(k)
    return float(missing - max(1 + sp.Rational(k), sp.Rational(11, 8) + sp.Rational(5, 4) * sp.Rational(k)))


PLACES: dict[str, tuple[int, int, int, int, int]] = {
    "n = 10^14, m = 10^20, epsilon = 10^-7": (10**14, 10**20, 10**7, 1, 2),
    "n = 10^12, m = n^4, epsilon = 1": (MANY_USERS, MANY_USERS**4, 1, 1000, 2),
    "n = 10^12, m = n^10, epsilon = 1": (MANY_USERS, MANY_USERS**10, 1, 10**6, 4),
}
"""n, m, 1/epsilon, and the constant and the power of log(nmd e^epsilon/delta) that an upper bound might hide.

Small epsilon needs far fewer samples a user: the first has the border m = max(n^(5/2) eps^3, n^(3/2) eps) = 10^14.
"""


def gradients_refuted(label: str, verifier: str, place: str) -> Verdict:
    """Phase 1 alone against the stated count times a constant and a power of the logarithm, delta = 1/(2nm), d = 1."""
    users, samples, inverse, constant, power = PLACES[place]
    eps, dlt = 1 / inverse, 0.5 / (users * samples)
    at = {"n": float(users), "m": float(samples), "d": 1.0, "epsilon": eps, "delta": dlt}
    claimed = constant * log_ratio(float(users * samples), eps, dlt) ** power
    claimed *= stated(label, **at, q=first_steps(users, samples, eps)[1])
    found = fewest_gradients(users, samples, eps, dlt)
    parameters: dict[str, Any] = {
        "n": users, "m": samples, "d": 1, "epsilon": f"1/{inverse}", "delta": f"1/{2 * users * samples}",
        "constant": constant, "power": power,
    }  # fmt: skip
    verdict = accuracy.never_violated(
        found,
        claimed,
        statement=f"gradients <= {constant:,} log^{power} times the stated order at {place}",
        witness=lambda _: witnessed(label, verifier, claimed, found, **parameters),
    )
    numbers = {**verdict.numbers, **{f"growth exponent of the quotient along m = n^{k}": growth(k) for k in (4, 10)}}
    return replace(
        verdict,
        numbers=numbers,
        points=rays(),
        axes=("n", "count over the stated one, without logarithms"),
        dashed="the stated count",
    )


@check("user_level/thm-d3", kind="runtime", grid={"place": tuple(PLACES)}, expect="refuted")
def gradients_of_the_smoothed_algorithm(context: Context, *, place: str) -> Verdict:
    """T_1 K_1 m of phase 1 alone, inside every hypothesis, against the stated count with a constant and logarithms."""
    return gradients_refuted("user_level/thm-d3", "thm_d3", place)


@check("user_level/thm-4-1", kind="runtime", grid={"place": tuple(PLACES)}, expect="refuted")
def gradients_of_the_informal_statement(context: Context, *, place: str) -> Verdict:
    """As for Theorem D.3."""
    return gradients_refuted("user_level/thm-4-1", "thm_4_1", place)


@check("user_level/claim-4-2", kind="runtime", expect="refuted")
def speed_up_over_al24(context: Context) -> Verdict:
    """AL24's count over that of phase 1, times 10^6 log^2, against n^(13/8) m^(7/4): n = 10^12, m = n^7, d = 1."""
    samples, constant, power = MANY_USERS**7, 10**6, 2
    dlt = 0.5 / (MANY_USERS * samples)
    theirs = (float(MANY_USERS) * samples) ** 3 + (float(MANY_USERS) * samples) ** 2
    hidden = constant * log_ratio(float(MANY_USERS * samples), 1.0, dlt) ** power
    found = hidden * theirs / fewest_gradients(MANY_USERS, samples, 1.0, dlt)
    q = first_steps(MANY_USERS, samples, 1.0)[1]
    claimed = stated("user_level/claim-4-2", n=float(MANY_USERS), m=float(samples), d=1.0, delta=dlt, q=q)
    parameters: dict[str, Any] = {"n": MANY_USERS, "m": samples, "d": 1, "delta": f"1/{2 * MANY_USERS * samples}"}
    return accuracy.never_violated(
        claimed,
        found,
        statement="n^(13/8) m^(7/4) <= speed-up, up to 10^6 log^2",
        witness=lambda _: witnessed(
            "user_level/claim-4-2", "claim_4_2", claimed, found, **parameters, constant=constant, power=power
        ),
    )


@check("user_level/thm-d3@corrected", kind="runtime")
def missing_term_dominates_beyond_five_halves(context: Context) -> Verdict:
    """The missing term over the printed count along m = n^a, eps = n^-b, d = n^c: larger just beyond the border.

    T K m/eps at T = sqrt(beta_r/lambda) is min(n^(3/4) m^(3/2) eps^(-1/2), n m^(3/2) d^(-1/4)); the border is
    m = max(n^(5/2) eps^3, d n^(3/2) eps), where the larger of the two exponents is the one that has to be passed.
    """
    a, b, c = sp.symbols("a b c", real=True)
    printed, missing = order_of("user_level/thm-d3"), order_of("user_level/thm-d3@corrected")
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
    good = good and all(found.relation in ("smaller", "same order") for found in within)
    fields: dict[str, Any] = {"points": rays(), "axes": ("n", "count over the stated one, without logarithms")}
    fields["dashed"] = "the stated count"
    return (holds if good else differs)(said, "symbolic", **fields)
