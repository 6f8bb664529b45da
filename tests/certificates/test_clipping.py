"""Clipped steps: functions that come near what is certified of every one, and certificates that are asked for more."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from checkout import collected

from dpcheck.certificates import clipping, proofs
from dpcheck.errors import InvalidInput

Pair = tuple[Fraction, Fraction]


def claim(label: str):
    return collected().claims[label]


def product(a: Pair, b: Pair) -> Fraction:
    return a[0] * b[0] + a[1] * b[1]


def test_a_rational_loss_nearly_attains_one_step():
    """The larger of two affine functions with the gradients g at (3/4, 0) and k at 0; eta = C = 1, exactly."""
    t = Fraction(1, 10_000)
    c = (2 * t / (1 + t * t), (1 - t * t) / (1 + t * t))
    k = (Fraction(3, 5), Fraction(-4, 5))
    g = (10_000 * c[0], 10_000 * c[1])  # clipped at 1 it is c
    assert product(c, c) == product(k, k) == 1
    assert (g[0] - k[0]) * Fraction(3, 4) >= 0  # subgradients of one convex function
    after = (Fraction(3, 4) - c[0] + k[0], k[1] - c[1])
    exact = Fraction(str(claim("tsybakov/rem-2@one-step").evaluate(eta=1.0, C=1.0, R=0.75))) ** 2
    assert exact - Fraction(1, 1000) < product(after, after) <= exact == Fraction(81, 16)


def test_one_pass_attains_its_recursion():
    """A fresh loss a step, chosen against both runs: eta C + √(b² + eta²C²) from 2 eta C, of the order of eta C T."""
    w, v, bound = np.array([1.0, 0.0]), np.array([-1.0, 0.0]), 2.0
    for _ in range(200):
        apart = w - v
        r = float(np.linalg.norm(apart))
        along = apart / r
        across = np.array([-along[1], along[0]])
        small = 1e-9
        c, k = small * along + across, (r * along - across) / math.hypot(r, 1.0)
        assert c @ along > 0 < k @ along  # so that 1e12 c and k are subgradients of one convex loss
        w, v = w - c, v - k
        bound = claim("tsybakov/rem-2@one-step").evaluate(eta=1.0, C=1.0, R=bound)
    assert np.linalg.norm(w - v) == pytest.approx(bound, rel=1e-6)
    assert bound > 200 > 5 * 2 * math.sqrt(200) / 2  # unclipped steps part by 2 √T at most


@pytest.mark.parametrize("kappa", [0.1, 1.0, 2.0, 3.0])
def test_a_quadratic_attains_the_stretch_of_a_step(kappa):
    """½<v, w>² + G<u, w> with a huge clip at the level of its gradient, at two points close to each other."""
    cosine = (2 - kappa) / (4 - kappa)
    psi = math.acos(cosine)
    q = np.array([math.cos(math.pi / 2 + psi / 2), math.sin(math.pi / 2 + psi / 2)])
    across = np.array([math.cos(psi + math.pi / 2), math.sin(psi + math.pi / 2)])
    level, apart = 1e6, np.array([1.0, 0.0])

    def clipped(w: np.ndarray) -> np.ndarray:
        g = (q @ w) * q + level * across
        return g / max(1.0, float(np.linalg.norm(g)) / level)

    # From a point whose gradient is clipped by a little.
    start = -1e-3 * (1 if q @ across < 0 else -1) * q
    stepped = apart - kappa * (clipped(start + apart * 1e-4) - clipped(start)) / 1e-4
    exact = claim("tsybakov/rem-2@smooth-step").evaluate(eta=kappa, H=1.0)
    assert np.linalg.norm(stepped) <= exact * (1 + 1e-4)
    assert np.linalg.norm(stepped) >= exact * (1 - 1e-4)


@pytest.mark.parametrize("family", clipping.FAMILIES_CLIPPING, ids=lambda family: family.words[:30])
def test_less_than_is_proved_is_refused(family):
    proofs.proved(family, claim)
    with pytest.raises(InvalidInput):
        proofs.proved(dataclasses.replace(family, bound=f"({family.bound})*99/100"), claim)


@pytest.mark.parametrize(
    ("label", "worse"),
    [
        ("tsybakov/thm-1@every-loss", 0.98),
        ("tsybakov/rem-2@one-step", 0.99),
        ("tsybakov/rem-2@smooth-step", 0.99),
        ("tsybakov/rem-2@parted", 1.01),
        ("tsybakov/rem-2@smooth-pull", 0.99),
        ("tsybakov/rem-2@smooth", 0.99),
        ("tsybakov/rem-2@attained", 1.01),
        ("tsybakov/rem-2@between", 1.01),
        ("tsybakov/thm-8@noisy", 0.99),
        ("l1_geometry/thm-6@private", 0.99),
    ],
)
def test_derivations_notice_constants_that_are_too_good(label, worse):
    claims = dict(collected().claims)
    claims[label] = dataclasses.replace(claims[label], explicit=claims[label].explicit * Fraction(str(worse)))
    derived = {"tsybakov/rem-2@smooth": "tsybakov/rem-2@smooth-pull"}.get(label, label)
    found = collected().derivations[derived].run(claims)
    assert found.broken or label in found.missed
