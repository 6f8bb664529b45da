"""The claims of user_level: complete, consistent with their derivations, and the constants that these give."""

from __future__ import annotations

import itertools
import math
import pathlib
import re

import numpy as np
import pytest
import sympy as sp
from checkout import claims_of, collected, errors
from scipy import stats

from dpcheck.symbols import BY_NAME, D, L, d, delta, epsilon, m, n

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "user_level/"
CATALOGUE = collected()
CLAIMS = claims_of(PREFIX.rstrip("/"))
POINT = {
    "n": 1e7, "m": 10.0, "d": 4.0, "epsilon": 0.5, "delta": 1e-9, "q": 0.05, "p": 3.0, "L": 1.0, "D": 1.0, "H": 0.5,
    "T": 20.0, "K": 5.0, "N": 100.0, "C": 60.0, "B": 2.0, "zeta": 0.01, "gamma": 0.1, "eta": 0.5, "tau": 1.0,
    "lambda": 0.1, "mu": 0.1, "sigma": 0.2, "r": 0.3, "h": 40.0, "b": 1.0, "t": 0.2, "s": 4.0, "V": 1.0, "U": 3.0,
    "Delta": 1.0, "delta_prime": 1e-6, "rho": 0.1, "R": 1.0, "xi": 0.01, "l": 2, "i": 2,
}  # fmt: skip
REFUTED = {PREFIX + x for x in ("thm-4-1", "thm-d3", "claim-4-2")}


def explicit(item: str) -> sp.Expr:
    found = CLAIMS[PREFIX + item].explicit
    assert found is not None
    return found


def order(item: str) -> sp.Expr:
    found = CLAIMS[PREFIX + item].order
    assert found is not None
    return found


# Structure ---------------------------------------------------------------------------------------------------------


def test_the_folder_is_collected_without_errors() -> None:
    assert [error for error in errors() if "user_level" in error] == []
    assert {c.paper for c in CLAIMS.values()} == {CATALOGUE.papers["user_level"]}
    assert len({c.statement_label for c in CLAIMS.values()}) == 61


def test_every_reading_has_its_statement_and_every_about_its_algorithm() -> None:
    for claim in CLAIMS.values():
        assert claim.statement_label in CLAIMS
        assert set(claim.about) <= set(CLAIMS), claim.label


def test_every_heading_is_a_statement() -> None:
    headings = re.findall(r"^## (\S+)$", (ROOT / "bounds" / "user_level.md").read_text(), re.M)
    assert len(headings) == len(set(headings))
    assert {PREFIX + h for h in headings} <= set(CLAIMS)


def test_one_conclusion_is_refuted_and_grades_come_with_remarks() -> None:
    assert {c.label for c in CLAIMS.values() if c.grade == "refuted"} == REFUTED
    for claim in CLAIMS.values():
        assert claim.remark or not (claim.grade or claim.reading == "literal"), claim.label
        assert claim.grade == "slip" or claim.reading != "literal", claim.label
        assert not (claim.grade and claim.reading in ("corrected", "derived")), claim.label


def test_every_suspicion_is_in_the_errata() -> None:
    table = (ROOT / "bounds" / "user_level.md").read_text().partition("## fact-lower-bound")[0]
    named = set(map(int, re.findall(r"\bS(\d+)", table)))
    assert named == set(range(1, 37))


@pytest.mark.parametrize("label", sorted(label for label, c in CLAIMS.items() if c.bound is not None))
def test_every_bound_evaluates(label: str) -> None:
    claim = CLAIMS[label]
    assert claim.bound is not None
    at = {name: [1.0, 0.5] if "[" in name else POINT[name] for name in claim.needs}
    if label.endswith("thm-b1@literal"):
        at["q"] = 0.06
    value = float(claim.evaluate(**at))
    assert math.isfinite(value)
    assert value >= 0


# Algebra -----------------------------------------------------------------------------------------------------------


def test_tail_line_is_true_exactly_from_the_border_on() -> None:
    """2t against delta/(10 e^epsilon) on both sides of 20 e^epsilon/(nm)^2, in exact logarithms."""
    for users, eps in itertools.product((10**3, 10**6), (0.1, 1.0, 10.0)):
        border = float(explicit("thm-b1@tail-exact").subs({n: users, m: 10, epsilon: eps}))
        for share in (0.999, 1.001):
            dlt = share * border
            log_tail = -2 / 3 * (math.log(20 * users * 10) + eps - math.log(dlt))
            allowed = math.log(dlt) - math.log(10) - eps
            assert (math.log(2) + log_tail <= allowed) == (share > 1)


def test_numbers_of_the_laplace_tail() -> None:
    for size, dlt, found, allowed in (
        (1e4, 1e-6, 3.002e-8, 3.679e-8),
        (1e4, 1e-8, 1.394e-9, 3.679e-10),
        (1e6, 1e-20, 6.469e-19, 3.679e-22),
    ):
        tail = (dlt / (20 * size * math.e)) ** (2 / 3)
        assert 2 * tail - tail**2 == pytest.approx(found, rel=1e-3)
        assert float(explicit("thm-b1@tail").subs({delta: dlt, epsilon: 1})) == pytest.approx(allowed, rel=1e-3)


def test_explicit_bound_of_theorem_b1_is_the_recursion() -> None:
    """Phase by phase, without the last floor: the geometric sums of the claim are not smaller and hardly larger."""
    users, samples, dims, eps, dlt, q, p = 2.0**40, 10.0, 10.0, 1.0, 1e-14, 0.035, 1.7
    log = math.log(20 * users * samples) + eps - math.log(dlt)
    groups, spread = 100 * log / eps, 1000 * math.log(users * dims * samples) * math.log(users / dlt) ** 2 / log
    total, before = 3 / (users * samples), 1.0
    for i in range(1, 41):
        eta = 2.0 ** (-p * i) / math.sqrt(dims * samples * users * eps)
        steps = (1 - 2**-q) * users * 2 ** (-q * i) * samples / groups
        total += before / (2 * eta * steps) + eta / 2
        before = dims * (spread * eta * math.sqrt(steps)) ** 2
    total += math.sqrt(before)
    at = {"n": users, "m": samples, "d": dims, "epsilon": eps, "delta": dlt, "q": q, "p": p, "L": 1.0, "D": 1.0}
    closed = float(CLAIMS[PREFIX + "thm-b1@derived"].evaluate(**at, H=0.0))
    assert total <= closed * (1 + 1e-12)
    assert closed <= 1.01 * total


def test_explicit_bound_of_theorem_c3_is_above_its_recursion() -> None:
    users, samples, dims, eps, dlt, q = 2.0**30, 10.0, 10.0, 1.0, 1e-12, 0.05
    p, tau = 3 * q + 2.5 + math.log(samples) / (2 * math.log(users)), 0.5
    weight = 1 / math.sqrt(users * samples) + math.sqrt(dims) / (eps * users * math.sqrt(samples))
    log = math.log(users * dims) + eps - math.log(dlt)
    total, before = 0.0, 0.0
    for i in range(1, 31):
        size, lam = (1 - 2**-q) * users * 2 ** (-q * i), weight * 2 ** (p * i)
        total += 2 / (lam * size * samples) + (lam / 2 if i == 1 else lam * before / 2)
        # V^2/T with K T = n_i: the fewest passes.
        before = 684 / lam**2 * (1e6 * dims * tau**2 * log**2 / (eps * size) ** 2 + tau**2 / size)
    total += math.sqrt(before)
    at = {"n": users, "m": samples, "d": dims, "epsilon": eps, "delta": dlt, "q": q, "p": p, "L": 1.0, "D": 1.0}
    closed = float(CLAIMS[PREFIX + "thm-c3@derived"].evaluate(**at, tau=tau, lambda_=weight))
    assert total <= closed * (1 + 1e-12)
    assert closed <= 3 * total


def test_smoothed_count_and_the_omitted_term() -> None:
    beta, weight = epsilon * n * sp.sqrt(m), 1 / sp.sqrt(n * m)
    T = sp.sqrt(beta / weight)
    few = sp.simplify(T * m / epsilon / (n ** sp.Rational(3, 4) * m ** sp.Rational(3, 2) / sp.sqrt(epsilon)))
    assert few == 1
    many = sp.simplify(n * epsilon * sp.sqrt(T) * m)
    rest = sp.simplify(order("thm-d3@corrected").subs(d, 1).subs(epsilon, n ** -sp.Rational(1, 4)) - m * n)
    rest = rest - (many + T * m / epsilon).subs(epsilon, n ** -sp.Rational(1, 4))
    for users in (10**6, 10**12):  # at d = 1 and eps >= 1/sqrt n the statistical part of lambda is the larger one
        assert abs(float(rest.subs({n: users, m: 10**9}))) < 1e-6 * users


def test_the_private_part_of_lambda_moves_the_border() -> None:
    """n = 10^14, eps = 10^-7, m = 10^20: 10^6 times n^(5/2) eps^3, and inside the stated count at d = 10^6."""
    at = {n: 10**14, m: 10**20, epsilon: sp.Rational(1, 10**7)}
    printed, corrected = order("thm-d3"), order("thm-d3@corrected")
    assert float((corrected / printed).subs({**at, d: 10**6})) < 2
    assert float((corrected / printed).subs({**at, d: 1})) > 10


def test_the_printed_count_is_exceeded_by_a_power() -> None:
    T = sp.sqrt(epsilon * n * sp.sqrt(m) * sp.sqrt(n * m))
    for k, grows in ((2, False), (3, True), (10, True)):
        quotient = (T * m / epsilon / order("thm-d3")).subs(epsilon, 1).subs(m, n**k)
        assert (float(quotient.subs(n, 10**12)) > float(quotient.subs(n, 10**6))) is grows


def test_gradients_of_theorem_3_2_at_the_smoothed_losses_hold_the_omitted_term() -> None:
    beta = BY_NAME["H"]
    general = order("thm-3-2@gradients").subs({L: 1, D: 1, d: 1}).subs(beta, epsilon * n * sp.sqrt(m))
    at = {n: 10**6, m: 10**30, epsilon: 1, d: 1}
    assert float(general.subs(at)) >= float(order("thm-d3@corrected").subs(at)) / 2
    assert float(general.subs(at)) >= 100 * float(order("thm-d3").subs(at))


def test_score_sensitivity_by_counting() -> None:
    """r equal points leave K - r equal ones."""
    for K, r in ((30, 2), (30, 15), (7, 1)):
        near = np.ones((K, K))
        near[:r, r:] = near[r:, :r] = 0
        change = float((K * K - near.sum()) / K)
        assert change == pytest.approx(
            float(CLAIMS[PREFIX + "proc-concentration-score@derived"].evaluate(K=K, r=r)), rel=1e-12
        )


def test_drift_radius_satisfies_its_inequality() -> None:
    for zeta in (0.5, 0.1, 1e-6):
        s = math.sqrt(2 * math.log(1 / zeta))
        b = CLAIMS[PREFIX + "lem-2-3@derived"].evaluate(eta=1.0, L=1.0, T=1.0, zeta=zeta, H=1.0)
        assert b == pytest.approx(4 + 8 * s)
        assert b * b >= 16 + 8 * b * s


# Numbers -----------------------------------------------------------------------------------------------------------


def test_gaussian_noise_of_definition_a5() -> None:
    def share(eps: float, dlt: float) -> float:
        mu = eps / math.sqrt(2 * math.log(2 / dlt))
        found = stats.norm.cdf(mu / 2 - eps / mu) - math.exp(eps) * stats.norm.cdf(-mu / 2 - eps / mu)
        return float(found) / dlt

    assert share(10.0, 0.01) == pytest.approx(2.4527, rel=1e-3)
    for dlt, first in ((1e-2, 7.91), (1e-4, 8.99), (1e-6, 9.73), (1e-8, 10.30)):
        assert share(first - 0.02, dlt) < 1 < share(first + 0.02, dlt)


def test_bayes_constant_of_the_lower_bound() -> None:
    value = float(CLAIMS[PREFIX + "fact-lower-bound@derived"].evaluate(n=1.0, m=1.0, L=1.0, D=1.0))
    assert value == pytest.approx(float(stats.norm.sf(1.0)), rel=1e-12)


def test_false_halt_by_simulation() -> None:
    """2 10^6 draws of Lap(8) - Lap(16) beyond K/5 at K = 60: five standard errors."""
    rng = np.random.default_rng(3)
    noise = rng.laplace(scale=8, size=2 * 10**6) - rng.laplace(scale=16, size=2 * 10**6)
    exact = float(CLAIMS[PREFIX + "thm-c1@halt"].evaluate(K=60.0, epsilon=1.0))
    assert float((noise > 12).mean()) == pytest.approx(exact, abs=5 * math.sqrt(exact / (2 * 10**6)))


def test_display_of_theorem_c1_crosses_delta_at_02766() -> None:
    def printed(eps: float) -> float:
        return 0.4 * (2 * math.exp(-eps / 2) + math.exp(-eps))

    assert printed(0.01) == pytest.approx(1.192, abs=1e-3)
    assert printed(0.2766) > 1 > printed(0.2767)
    assert float(explicit("thm-c1@corrected").subs({epsilon: 0, BY_NAME["T"]: 1})) == pytest.approx(0.5)


def test_accelerated_noise_sum() -> None:
    """proc-ac-sa@derived: Gamma_T sum of (alpha^2/Gamma) V^2/(2 (gamma - beta alpha^2)) at upsilon = 2 beta."""
    beta, V, T = 0.7, 1.3, 25
    total = 0.0
    for t in range(1, T + 1):
        alpha, gamma, Gamma = 2 / (t + 1), 4 * 2 * beta / (t * (t + 1)), 2 / (t * (t + 1))
        total += alpha**2 / Gamma * V**2 / (2 * (gamma - beta * alpha**2))
    total *= 2 / (T * (T + 1))
    claim = CLAIMS[PREFIX + "proc-ac-sa@derived"]
    noise = float(claim.evaluate(H=beta, D=0.0, V=V, T=T))
    assert total <= noise * (1 + 1e-12)
    assert noise <= 2 * total
