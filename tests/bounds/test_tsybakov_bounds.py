"""The claims of tsybakov: complete, consistent with their derivations, and the constants that these give."""

from __future__ import annotations

import math
import pathlib
import re

import numpy as np
import pytest
import sympy as sp
from checkout import claims_of, collected, errors
from scipy import stats

from dpcheck.errors import InvalidInput
from dpcheck.symbols import C, D, L, T, d, delta, epsilon, eta, k, lambda_, n, p, theta

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "tsybakov/"
CATALOGUE = collected()
CLAIMS = claims_of(PREFIX.rstrip("/"))


def explicit(item: str) -> sp.Expr:
    found = CLAIMS[PREFIX + item].explicit
    assert found is not None
    return found


def gaussian_delta(eps: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """The exact privacy curve of Gaussian noise."""
    return np.asarray(stats.norm.cdf(mu / 2 - eps / mu) - np.exp(eps) * stats.norm.cdf(-mu / 2 - eps / mu))


# Structure ---------------------------------------------------------------------------------------------------------


def test_the_folder_is_collected_without_errors() -> None:
    assert [error for error in errors() if "tsybakov" in error] == []
    assert {c.paper for c in CLAIMS.values()} == {CATALOGUE.papers["tsybakov"]}
    assert len({c.statement_label for c in CLAIMS.values()}) == 66  # and the words of Section 7 on its figures, twice


def test_every_reading_has_its_statement_and_every_about_its_algorithm() -> None:
    for claim in CLAIMS.values():
        assert claim.statement_label in CLAIMS
        assert set(claim.about) <= set(CLAIMS), claim.label


def test_every_heading_is_a_statement() -> None:
    headings = re.findall(r"^## (\S+)$", (ROOT / "bounds" / "tsybakov.md").read_text(), re.M)
    assert len(headings) == len(set(headings))
    assert {PREFIX + h for h in headings} <= set(CLAIMS)


def test_grades_come_with_a_remark_and_literal_readings_with_one() -> None:
    for claim in CLAIMS.values():
        assert claim.remark or not (claim.grade or claim.reading == "literal"), claim.label
        assert not (claim.grade and claim.reading in ("corrected", "derived")), claim.label
    assert {c.label for c in CLAIMS.values() if c.grade == "refuted"} == {
        PREFIX + x for x in ("thm-1", "thm-2", "thm-3", "thm-10", "thm-11", "rem-2", "lem-5")
    }


def test_bounds_evaluate_at_a_legal_point() -> None:
    point = {
        "k": 3.0,
        "beta": 1e-6,
        "epsilon": 0.01,
        "delta": 1e-5,
        "d": 2.0,
        "n": 1e4,
        "theta": 3.0,
        "p": 1.5,
        "c": 0.01,
    }
    point |= {"p": 1.5, "eta": 0.5, "lambda": 0.5, "T": 20.0, "a": 0.5, "N": 64.0, "rho": 0.1, "e": 2.0, "L": 2.0}
    point |= {"theta_bar": 1.5, "epsilon_0": 0.4, "i": 2, "n[i]": [4.0, 2.0], "R_0": 4.0, "m": 2.0}
    for claim in CLAIMS.values():
        if claim.bound is None:
            continue
        at = {name: point.get(name, [1.0, 0.5] if "[" in name else 1.0) for name in claim.needs}
        at |= {"l": 2} if "l" in at else {}
        if claim.label.endswith("thm-5@corrected"):
            at["d"] = 100.0
        if claim.label.endswith("thm-9@derived"):
            at["eta"] = 1e-4
        if claim.label.endswith("thm-4@literal"):
            at["p"] = 0.5  # a probability there
        if claim.label.endswith("rem-2@parted"):
            at |= {"C": 0.2, "eta": 1e-5}
        if claim.label.endswith(("rem-2@smooth", "rem-2@attained", "rem-2@between")):
            at |= {"H": 1.0, "lambda": 1e-3, "eta": 1e-5}
        assert math.isfinite(float(claim.evaluate(**at))), claim.label


@pytest.mark.parametrize(
    ("item", "at"),
    [
        ("thm-2@derived", {"a": 0.1, "theta": 2.0, "lambda": 0.09, "R_0": 2.0, "m": 3}),  # below 2 a/R_0 = 0.1
        ("thm-2@derived", {"a": 0.1, "theta": 2.0, "lambda": 0.9, "R_0": 2.0, "m": 3}),  # above 2^m times that
        ("thm-9@derived", {"eta": 0.02, "L": 1.0, "D": 1.0, "n": 100.0, "p": 2.0}),  # above D n^(-p/2)/L = 0.01
    ],
)
def test_what_a_sentence_asks_for_is_an_assumption(item: str, at: dict[str, float]) -> None:
    """Windows that stood in the words of a statement alone: its bound was evaluated outside of them."""
    claim = CLAIMS[f"tsybakov/{item}"]
    rest = {name: 0.5 for name in claim.needs if name in ("beta", "delta", "epsilon")}
    with pytest.raises(InvalidInput, match="assumes"):
        claim.evaluate(**dict.fromkeys(claim.needs, 2.0) | rest | at)


# Algebra -----------------------------------------------------------------------------------------------------------


def test_phase_1_noise_over_the_diameter() -> None:
    """alg-3@literal from the printed constants, at the second cap of the step and equal moments."""
    log_n, l_delta = sp.log(n), sp.log(1 / delta)
    tau_p = (sp.sqrt(d * l_delta * log_n) / (epsilon * n)) ** ((k - 1) / k)
    first, step = n / 2, D * n ** (-p / 2) / (n ** ((p + 1) / 2) * tau_p) / 4
    level = (epsilon * first / sp.sqrt(d * l_delta * log_n)) ** (1 / k)
    sigma = 8 * level * sp.sqrt(l_delta) * step * first ** (2 * p) / (first * epsilon)
    ratio = sp.sqrt(d) * sigma / D / explicit("alg-3@literal")
    for at in (
        {n: 4096, d: 5, epsilon: 1, delta: 1e-5, p: 1, k: 2},
        {n: 300, d: 2, epsilon: 0.3, delta: 1e-3, p: 2, k: 4},
    ):
        assert float(ratio.subs(at)) == pytest.approx(1, rel=1e-12)
    assert float(explicit("alg-3@literal").subs({n: 2**16, p: 1, k: 2})) == pytest.approx(54.36, abs=0.01)


def test_the_last_term_of_theorem_10_does_not_vanish() -> None:
    from dpcheck.symbols import beta

    step = D * n ** (-p / 2) / (n ** ((p - 1) / 2) * L**2 * sp.sqrt(sp.log(n) * sp.log(1 / beta)))
    term = L**2 * step * n ** (p - sp.Rational(1, 2)) * sp.sqrt(sp.log(1 / beta)) * 2 ** (-p - sp.Rational(3, 2))
    ratio = sp.simplify((term / explicit("thm-10@derived")).subs(sp.log(beta), -sp.Symbol("b", positive=True)))
    assert float(ratio.subs({n: 77, p: 2, L: 3, D: 5, beta: 0.01, sp.Symbol("b", positive=True): -math.log(0.01)})) == (
        pytest.approx(1)
    )


def test_noise_of_all_steps_is_definition_3() -> None:
    """thm-1@corrected: T Gaussian steps have the μ of def-3."""
    mu = sp.sqrt(T) * (2 * C / n) / explicit("thm-1@corrected")
    assert sp.simplify(mu - explicit("def-3")) == 0


def test_cost_of_private_noise_is_a_logarithm() -> None:
    from dpcheck.symbols import sigma

    steps = 2 / (lambda_ * eta) * sp.log(4 / (lambda_ * eta))
    added = explicit("thm-1@derived").subs(sigma, explicit("thm-1@corrected").subs(T, steps))
    printed = d * explicit("alg-3") ** 2
    assert sp.simplify(added / printed - 2 * sp.log(4 / (lambda_ * eta))) == 0


def test_reduction_of_theorem_2() -> None:
    """The worst λ for its epoch: λ = 2^(θ−1) μ_e turns 4·2^(−e) R_0 a into the stated bound."""
    e, R_0, a = sp.symbols("e R_0 a", positive=True)
    final = 2 * explicit("lem-4").subs(
        {s: {"e": e, "R_0": R_0, "a": a}[s.name] for s in explicit("lem-4").free_symbols}
    )
    largest = 2 ** ((theta - 1) * (e + 1)) * 2 * R_0 ** (1 - theta) * a
    stated = explicit("thm-2@derived")
    stated = stated.subs({s: a for s in stated.free_symbols if s.name == "a"}).subs(lambda_, largest)
    assert float((final / stated).subs({e: 3, R_0: 2, a: 0.1, theta: 3})) == pytest.approx(1)


def test_constant_of_the_recursion() -> None:
    bound = explicit("fact-thm3-recursion")
    value = bound.subs({s: {"theta": 2, "a": 1}[s.name] for s in bound.free_symbols})
    assert float(value) == pytest.approx(2**18)


@pytest.mark.parametrize(("base", "exponent", "used"), [(4.0, 0.25, 1.5), (4.0, 0.5, 0.75), (2.0, 0.5, 3.75)])
def test_part_sizes_of_algorithm_5(base: float, exponent: float, used: float) -> None:
    parts = math.floor(math.log(2, base) * math.log2(16) + 1e-12)
    assert (2**parts - 1) / 16**exponent == pytest.approx(used)


def test_accelerated_constants_follow_from_the_step() -> None:
    H, Sigma = sp.symbols("H Sigma", positive=True)
    gamma = Sigma / D * sp.sqrt(T * (T + 1) * (2 * T + 1) / 12)
    noisy = 2 * gamma * D**2 / (T * (T + 1)) + Sigma**2 * (2 * T + 1) / (6 * gamma)
    stated = explicit("fact-acsa@derived")
    stated = stated.subs({s: {"H": H, "Sigma": Sigma}.get(s.name, s) for s in stated.free_symbols}).subs(H, 0)
    assert float((noisy / stated).subs({T: 7, D: 3, Sigma: 2})) == pytest.approx(1)


# Numbers -----------------------------------------------------------------------------------------------------------


def test_definition_3_below_and_near_one() -> None:
    deltas = np.concatenate([np.geomspace(1e-15, 1e-2, 60), np.linspace(0.01, 0.99, 200)])
    eps = np.linspace(0.01, 1, 100)[:, None]
    assert np.all(gaussian_delta(eps, eps / (4 * np.sqrt(-np.log(deltas)))) <= deltas)
    assert gaussian_delta(np.array(1.0), np.array(1 / (4 * math.sqrt(-math.log(0.999))))) > 0.9998


def test_gaussian_tail() -> None:
    u = np.linspace(1e-3, 60, 3000)
    for dimension in (1, 2, 5, 20, 100):
        assert np.all(stats.chi2.sf(dimension * u, dimension) <= 2 * np.exp(-u / 16))


def test_noise_constant_of_the_tilted_power() -> None:
    for exponent, unrestricted in ((2.0, 0.5), (2.5, 0.30721), (3.0, 0.19526), (4.0, 1 / 12), (6.0, 0.016882)):
        t = np.concatenate([np.linspace(-6, 0.99, 200_001), np.linspace(1.01, 6, 20_001)])
        ratio = ((np.abs(t) ** exponent - 1) / exponent - (t - 1)) / np.abs(t - 1) ** exponent
        assert ratio.min() == pytest.approx(unrestricted, rel=1e-3)
        within = ratio[np.abs(t) <= 1]
        assert within.min() >= 2 ** (1 - exponent) * (1 - 1e-12)
        assert ratio[np.argmin(np.abs(t + 1))] == pytest.approx(2 ** (1 - exponent), rel=1e-3)


def test_fano_for_every_nondecreasing_function_fails_at_the_centroid() -> None:
    for size in (3, 16, 64):
        risk = ((size - 1) / (2 * size)) ** 2
        assert risk < (1 - math.log(2) / math.log(size)) / 2
        assert risk > (1 - math.log(2) / math.log(size)) / 16  # the corrected constant Φ(1/2) = 1/16


def test_guarantee_of_the_iterated_algorithm_has_slope_a_half() -> None:
    """thm-3@derived: iterating (D²/R + R)E/2 with halving R, θ = 2, λ = 1/2; not the claimed slope −1."""

    def end(log_n: int, base: float) -> float:
        exponent = math.log(2, base)
        radius, distance, excess = 1.0, 1.0, 1.0
        for i in range(1, math.floor(exponent * math.log2(log_n)) + 1):
            error = (2.0 ** (i - 1) * 2.0**log_n / log_n**exponent) ** -0.5
            excess = (distance**2 / radius + radius) * error / 2
            distance, radius = math.sqrt(excess / 0.5), radius / 2
        return excess

    for base in (1.5, 2.0):
        slope = (math.log2(end(512, base)) - math.log2(end(256, base))) / 256
        assert slope == pytest.approx(-0.5, abs=0.02)


def test_moments_of_the_lower_bound_instances() -> None:
    chance = np.linspace(1e-4, 1, 500)
    for order in (2, 3, 4, 8):
        literal = 1 + (1 / chance - 1) * 2.0**-order
        assert np.all(literal >= 1)
        assert literal.max() > 10
        repaired = ((1 + chance) / 2) ** order + (1 - chance) * chance ** (order - 1) * 2.0**-order
        assert np.all(repaired <= 1 + 1e-12)
    factor = CLAIMS[PREFIX + "thm-4@corrected"]
    at = {"theta": 2.0, "k": 2.0, "r_k": 2.0, "rho": 0.1, "n": 1e4, "d": 100.0}
    assert factor.evaluate(c=0.1, **at) > 0 > factor.evaluate(c=1.0, **at)
