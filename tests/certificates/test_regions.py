"""Inequalities on whole regions: balls contain what floats find, and a region on which one fails is refused."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from checkout import ROOT, collected
from scipy.stats import norm

from dpcheck.certificates import regions
from dpcheck.certificates.regions import REGIONS
from dpcheck.errors import InvalidInput

flint = pytest.importorskip("flint", reason="python-flint comes with the extra 'certificates'")
NOISES = {
    "lp_spaces/lem-2@corrected": lambda epsilon, delta: epsilon / math.sqrt(2 * math.log(1.25 / delta)),
    "user_level/lem-a6@corrected": lambda epsilon, delta: epsilon / math.sqrt(2 * math.log(2 / delta)),
    "tsybakov/def-3@corrected": lambda epsilon, delta: epsilon / (4 * math.sqrt(math.log(1 / delta))),
}


def claims(label: str):
    return collected().claims[label]


def wider(region: regions.Region, **sides: tuple[str, str]) -> regions.Region:
    return dataclasses.replace(region, sides={**region.sides, **sides})


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.label)
def test_regions_are_covered_as_they_are_stored(region):
    found = regions.covered(region, claims).to_dict()
    stored = json.loads((ROOT / "reports" / "certificates" / "regions.json").read_text())
    assert found["boxes"] == stored[region.label]["boxes"]
    assert float(found["least"]) > 0


@pytest.mark.parametrize(
    "region", [region for region in REGIONS if region.label in NOISES], ids=lambda region: region.label
)
def test_margins_are_those_of_a_second_formula(region):
    """In floats, of the Gaussian curve as it is usually written, at drawn points."""
    margin = region.margin(claims)
    rng = np.random.default_rng(0)
    most = float(regions.arb(regions.sp.sympify(region.sides["epsilon"][1])))
    last = float(regions.arb(regions.sp.sympify(region.sides["w"][1])))
    for epsilon, w in zip(rng.uniform(0.05, most, 50), rng.uniform(0.25, last, 50), strict=True):
        delta = math.exp(-1 / w**2)
        mu = NOISES[region.label](epsilon, delta)
        exact = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        found = margin(epsilon=flint.arb(float(epsilon)), w=flint.arb(float(w)))
        assert float(found.mid()) == pytest.approx(1 - exact / delta, abs=1e-6)


def test_the_pull_of_four_clipped_losses_is_that_of_their_gradients():
    """In floats, from the losses themselves; and where it is asked for more, it is refused."""
    (region,) = (region for region in REGIONS if region.label == "tsybakov/rem-2@parted")
    margin = region.margin(claims)
    for y in (1e-3, 0.1, 0.5, 0.8, 1.0):
        pulls = []
        for side, sign in itertools.product((1, -1), (1, -1)):
            v, u = np.array([5, side * 12]) / 13, np.array([3, side * 4]) / 5
            gradient = y * v + sign * u
            pulls.append(gradient[0] / np.linalg.norm(gradient))
        assert float(margin(y=flint.arb(y)).mid()) == pytest.approx(-np.mean(pulls) / y - 9 / 50, abs=1e-9)
    with pytest.raises(InvalidInput, match="fails, everywhere at"):
        regions.covered(wider(region, y=("0", "3/2")), claims)


def test_the_share_of_four_bent_losses_is_that_of_their_gradients():
    """In floats, from the losses themselves; where they are less sharp, it is refused."""
    (region,) = (region for region in REGIONS if region.label == "tsybakov/rem-2@attained")
    margin = region.margin(claims)
    for y, s in itertools.product((1e-3, 0.3, 0.9, 1.0), (1e-3, 0.05, 0.2)):
        pulls = []
        for one in (1, -1):
            v = np.array([s, math.sqrt(1 - s**2)])
            gradient = np.array([1.0, 0.0]) + (1 + one * y) / (2 * s) * v
            pulls.append(one * gradient[0] / np.linalg.norm(gradient))
        found = margin(y=flint.arb(y), s=flint.arb(s))
        assert float(found.mid()) == pytest.approx(1 + s * y / np.mean(pulls), rel=1e-6)
    with pytest.raises(InvalidInput, match="fails, everywhere at"):
        regions.covered(wider(region, s=("0", "2/5")), claims)


def test_the_excess_of_four_losses_on_the_brink_is_that_of_their_gradients():
    """In floats: at the ends of [0, 1] as it is, between them no more; and where b is larger, it is refused."""
    (region,) = (region for region in REGIONS if region.label == "tsybakov/rem-2@between")
    margin = region.margin(claims)
    for b in (1e-3, 0.2, 0.45, 0.7):
        s = 0.5 - 5 * b / 7
        v, u = np.array([s, math.sqrt(1 - s**2)]), np.array([math.sqrt(1 - s**2), s])
        found = [float(one.mid()) for one in regions.bernstein(flint.arb(b))]
        assert float(margin(b=flint.arb(b)).mid()) == pytest.approx(min(found) / b, rel=1e-6)
        for y in (0.01, 0.3, 0.7, 1.0):
            near, far = (u + b * (2 + b) * (1 + sign * y) * v for sign in (-1, 1))
            lengths = np.linalg.norm(near), np.linalg.norm(far)
            twice = near[0] / lengths[0] - far[0] / lengths[1]
            number = (lengths[0] * lengths[1] * (near[0] * lengths[1] + far[0] * lengths[0])) ** 2
            exact = ((twice / (b * y)) ** 2 - (1 + b / 20) ** 2) * number
            bound = sum(math.comb(4, k) * y ** (2 * k) * (1 - y**2) ** (4 - k) * one for k, one in enumerate(found))
            assert bound <= exact * (1 + 1e-6)
            assert bound == pytest.approx(exact, rel=1e-3) or y in (0.3, 0.7)
    with pytest.raises(InvalidInput, match="fails, everywhere at"):
        regions.covered(wider(region, b=("1/2", "3/4")), claims)
    further = dataclasses.replace(claims(region.label), explicit=claims(region.label).explicit * 13 / 10)
    with pytest.raises(InvalidInput, match="is to be a movement of bC/lambda"):
        region.margin(lambda _: further)


def test_where_it_fails_it_is_refused():
    """Definition 3 fails as delta tends to 1, and Definition A.5 where epsilon has no bound."""
    (near_one,) = (region for region in REGIONS if region.label == "tsybakov/def-3@corrected")
    with pytest.raises(InvalidInput, match=r"fails, everywhere at|leave it open"):
        regions.covered(wider(near_one, w=("0", "1/sqrt(log(1000/999))")), claims)
    (large,) = (region for region in REGIONS if region.label == "user_level/lem-a6@corrected")
    with pytest.raises(InvalidInput, match=r"fails, everywhere at|leave it open"):
        regions.covered(wider(large, epsilon=("0", "20")), claims)


def test_a_ball_contains_what_it_should():
    x = regions.sp.Symbol("x", positive=True)
    formula = regions.sp.exp(-x) * (1 + x) ** 2 / regions.sp.sqrt(x) + regions.sp.log(x) - regions.sp.pi
    ball = regions.evaluated(formula, {"x": regions.hull(flint.arb(1), flint.arb(2))})
    for value in np.linspace(1, 2, 9):
        assert ball.contains(flint.arb(float(formula.subs(x, float(value)))))
    with pytest.raises(InvalidInput, match="not evaluated in balls"):
        regions.evaluated(regions.sp.sin(x), {"x": flint.arb(1)})
