"""What is false as printed, each with a witness that is verified in higher precision; and the noise that is private."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.algorithms.tsybakov.epochs import doubling_parts, part_exponent
from dpcheck.algorithms.tsybakov.mechanisms import printed_gaussian
from dpcheck.checks import Context, check, unchecked
from dpcheck.engine.statements import stated
from dpcheck.harness import accuracy
from dpcheck.harness.refutation import witnessed
from dpcheck.verdicts import Verdict
from dpcheck.workloads.tilted_power import SparseTilt


@check("tsybakov/lem-5", kind="lower-bound", grid={"size": (3, 16, 64)}, expect="refuted")
def centroid_beats_private_fano(context: Context, *, size: int) -> Verdict:
    """Φ(t) = t^4 on the vertices of a unit simplex, equal laws: the centroid is 0-zCDP and has less than the bound."""
    vertices = np.eye(size) / math.sqrt(2)
    risk = float((np.linalg.norm(vertices - vertices.mean(axis=0), axis=1) ** 4).mean())
    bound = stated("tsybakov/lem-5", a=1, rho=0, n=1, p=0, N=size)
    return accuracy.never_violated(
        bound,
        risk,
        statement="half of Φ times Fano's factor <= average risk",
        witness=lambda _: witnessed("tsybakov/lem-5", "lem_5", bound, risk, size=size, theta=4),
    )


@check("tsybakov/lem-5@corrected", kind="lower-bound", grid={"size": (3, 16, 64)}, expect="consistent")
def centroid_respects_fano_at_half_the_distance(context: Context, *, size: int) -> Verdict:
    """The same centroid against Φ(1/2) = 1/16 times Fano's factor: three of all estimators, none near the bound."""
    risk = ((size - 1) / (2 * size)) ** 2
    bound = stated("tsybakov/lem-5@corrected", a=1 / 16, rho=0, n=1, p=0, N=size)
    return accuracy.never_violated(bound, risk, statement="Φ(1/2) times Fano's factor <= average risk", drawn=False)


@check("tsybakov/fact-power-tnc@literal", kind="accuracy", grid={"theta": (2, 4)}, expect="refuted")
def tilted_power_has_constant_one(context: Context, *, theta: int) -> Verdict:
    """Excess over distance^theta at w = -2w*, |w*| = 1."""
    work = SparseTilt(v=np.ones(1), size=1.0, chance=1.0, theta=float(theta), reach=2.0)
    ratio = float(work.excess_risk(np.array([[-2.0]]))[0]) / 3.0**theta
    return accuracy.never_violated(
        1.0,
        ratio,
        statement="1 <= excess/distance^theta",
        witness=lambda _: witnessed("tsybakov/fact-power-tnc@literal", "fact_power_tnc", 1.0, ratio, theta=theta, t=2),
    )


@check("tsybakov/fact-tnc-monotone@literal", kind="accuracy", expect="refuted")
def larger_exponents_on_every_domain(context: Context) -> Verdict:
    """F = w^2 on [-2, 2]: |w|^3 <= w^2 at its end."""
    return accuracy.never_violated(
        8.0,
        4.0,
        statement="|w|^3 <= w^2 at w = 2",
        witness=lambda _: witnessed("tsybakov/fact-tnc-monotone@literal", "fact_tnc_monotone", 8.0, 4.0, w=2, theta=3),
    )


@check("tsybakov/alg-5@literal", kind="runtime", expect="refuted")
def printed_parts_fit_into_the_data(context: Context) -> Verdict:
    """Records asked for at theta_bar = 4, n = 2^16, base-2 logarithms, as a share of n."""
    share = sum(doubling_parts(2**16, 4.0, part_exponent(4.0, "printed"))) / 2**16
    return accuracy.never_violated(
        share,
        1.0,
        statement="records asked for <= n",
        witness=lambda _: witnessed("tsybakov/alg-5@literal", "alg_5_sizes", 1.0, share, log_n=16, theta_bar=4),
    )


@check("tsybakov/def-3@literal", kind="privacy", expect="refuted")
def gaussian_mechanism_near_delta_one(context: Context) -> Verdict:
    """The exact curve at epsilon = 1, delta = 0.999."""
    found = printed_gaussian(1.0, 1.0, 0.999).delta(1.0, 1.0)
    return accuracy.never_violated(
        found,
        0.999,
        statement="exact delta <= delta",
        witness=lambda _: witnessed("tsybakov/def-3@literal", "def_3", 0.999, found, epsilon=1, delta="999/1000"),
    )


not_everywhere = unchecked(
    "tsybakov/fact-tnc-monotone",
    "true for distances up to 1 and false beyond; its literal and its corrected reading are checked",
)
printed_epochs = unchecked(
    "tsybakov/alg-4",
    "as printed each call is Algorithm 3 with the first weight that empties its domain; its risk with projected "
    "outputs is checked under Theorem 2",
)
printed_parts = unchecked(
    "tsybakov/alg-5",
    "as printed each call is Algorithm 3 with the first weight that empties its domain; its risk with projected "
    "outputs is checked under Theorem 3",
)
last_noise = unchecked(
    "tsybakov/thm-9",
    "an O-form of which the derived reading is a small part: nothing that is run comes near it; only its proof fails",
)
fano_is_vacuous = unchecked(
    "tsybakov/thm-4",
    "an Ω-form over all algorithms; with the printed p_a Fano's factor is below -0.44 whatever the packing, so that "
    "its proof gives no bound; its instance and its repaired form are checked as other readings",
)
