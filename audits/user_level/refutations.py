"""The refuted conclusion: gradients of the smoothed algorithm along m = n^k, and the speed-up that rests on them."""

from __future__ import annotations

import math
from typing import Any

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.checks import Context, check
from dpcheck.engine.statements import order_of, stated
from dpcheck.harness import accuracy
from dpcheck.harness.refutation import witnessed
from dpcheck.symbols import epsilon, m, n
from dpcheck.verdicts import Point, Verdict, holds, inconclusive

from ._statements import at_most, log_ratio

USERS = 10**12
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


def fewest_gradients(users: int, samples: int, dlt: float) -> float:
    """T_1 K_1 m at epsilon = 1, d = 1: T_1 = (1 + sqrt(beta_r/lambda_1)) log(ndm), K_1 = log(nmd e^eps/delta) alone."""
    steps, _ = first_steps(users, samples, 1.0)
    return (1 + steps) * math.log(users * samples) * log_ratio(float(users * samples), 1.0, dlt) * samples


def without_logs(users: float, samples: float) -> float:
    """The count of phase 1 over the stated one at epsilon = 1, all logarithms dropped."""
    steps, _ = first_steps(users, samples, 1.0)
    count = users * samples + steps * samples * (users / math.sqrt(steps) + 1)
    return count / (users * samples * (1 + users**0.375 * samples**0.25))


def rays() -> tuple[Point, ...]:
    """The quotient along m = n^k for several k."""
    return tuple(
        Point(x=10.0**e, value=without_logs(10.0**e, 10.0 ** (k * e)), series=f"m = n^{k:g}", bound=1.0)
        for k in CURVES
        for e in range(6, 37, 3)
    )


def growth(k: float) -> float:
    """Exponent of n in the missing term over the stated count along m = n^k, epsilon = 1."""
    missing = sp.Rational(3, 4) + sp.Rational(3, 2) * sp.Rational(k)
    return float(missing - max(1 + sp.Rational(k), sp.Rational(11, 8) + sp.Rational(5, 4) * sp.Rational(k)))


HIDDEN = {4: (1000, 2), 10: (10**6, 4)}
"""k -> (constant, power of log(nmd e^epsilon/delta)) that an upper bound might hide."""


def gradients_refuted(label: str, verifier: str, k: int) -> Verdict:
    """Phase 1 alone against the stated count times a constant and a power of the logarithm, n = 10^12, m = n^k."""
    constant, power = HIDDEN[k]
    samples = USERS**k
    dlt = 0.5 / (USERS * samples)
    claimed = constant * log_ratio(float(USERS * samples), 1.0, dlt) ** power
    claimed *= stated(
        label, n=float(USERS), m=float(samples), d=1.0, epsilon=1.0, delta=dlt, q=first_steps(USERS, samples, 1.0)[1]
    )
    found = fewest_gradients(USERS, samples, dlt)
    parameters: dict[str, Any] = {"n": USERS, "m": samples, "d": 1, "epsilon": 1, "delta": f"1/{2 * USERS * samples}"}
    verdict = accuracy.never_violated(
        found,
        claimed,
        statement=f"gradients <= {constant:,} log^{power} times the stated order at n = 10^12, m = n^{k}",
        witness=lambda _: witnessed(label, verifier, claimed, found, **parameters, constant=constant, power=power),
    )
    numbers = {**verdict.numbers, "growth exponent of the quotient": growth(k)}
    return Verdict(
        **{
            **verdict.__dict__,
            "numbers": numbers,
            "points": rays(),
            "axes": ("n", "count over the stated one, no logs"),
        }
    )


@check("user_level/thm-d3", kind="runtime", grid={"k": (4, 10)}, expect="refuted")
def gradients_of_the_smoothed_algorithm(context: Context, *, k: int) -> Verdict:
    """T_1 K_1 m of phase 1 alone, inside every hypothesis, against the stated count with a constant and logarithms."""
    return gradients_refuted("user_level/thm-d3", "thm_d3", k)


@check("user_level/thm-4-1", kind="runtime", grid={"k": (4, 10)}, expect="refuted")
def gradients_of_the_informal_statement(context: Context, *, k: int) -> Verdict:
    """As for Theorem D.3."""
    return gradients_refuted("user_level/thm-4-1", "thm_4_1", k)


@check("user_level/claim-4-2", kind="runtime", expect="refuted")
def speed_up_over_al24(context: Context) -> Verdict:
    """AL24's count over that of phase 1, times 10^6 log^2, against n^(13/8) m^(7/4): n = 10^12, m = n^7, d = 1."""
    samples, constant, power = USERS**7, 10**6, 2
    dlt = 0.5 / (USERS * samples)
    theirs = (float(USERS) * samples) ** 3 + (float(USERS) * samples) ** 2
    hidden = constant * log_ratio(float(USERS * samples), 1.0, dlt) ** power
    found = hidden * theirs / fewest_gradients(USERS, samples, dlt)
    claimed = stated("user_level/claim-4-2", n=float(USERS), m=float(samples))
    parameters: dict[str, Any] = {"n": USERS, "m": samples, "d": 1, "delta": f"1/{2 * USERS * samples}"}
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
    """n^(3/4) m^(3/2) eps^(-1/2) over the printed count along m = n^a: larger for all a > 5/2, not larger before."""
    a = sp.Symbol("a", real=True)
    missing = n ** sp.Rational(3, 4) * m ** sp.Rational(3, 2) / sp.sqrt(epsilon)
    half = sp.Rational(5, 2)
    beyond = at_most(missing, order_of("user_level/thm-d3"), Regime(ties={m: n**a, epsilon: 1}, where=[a > half]))
    within = at_most(
        missing, order_of("user_level/thm-d3"), Regime(ties={m: n**a, epsilon: 1}, where=[a >= 0, a <= half])
    )
    said = (
        f"the missing term is {beyond.relation} for a > 5/2 (everywhere: {beyond.everywhere}), {within.relation} before"
    )
    good = beyond.relation == "larger" and beyond.everywhere and within.relation in ("smaller", "same order")
    return (holds if good else inconclusive)(said, "symbolic", points=rays(), axes=("n", "count over the stated one"))
