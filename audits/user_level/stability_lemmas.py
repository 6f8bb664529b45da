"""Lemmas 2.3 and B.4 with and without the dimension: two SGD runs on independent samples from one law."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.algorithms.user_level.descent import sgd
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.geometry import Ball
from dpcheck.harness import accuracy, domain, rate
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array
from dpcheck.symbols import D, T, d, eta, sigma
from dpcheck.verdicts import Verdict, combine, consistent, differs
from dpcheck.workloads import LinearMean, SignHuber


def fair(dimension: int, reach: float) -> LinearMean:
    """Linear losses of fair signs, |z| = 1, on a ball that no run leaves."""
    size = np.full(dimension, 1 / math.sqrt(dimension))
    return LinearMean(size, np.zeros(dimension), Ball(dimension, reach), reach)


def distances(work: Any, context: Context, trials: int, steps: int, step_size: float, *key: Any) -> Array:
    """Distances of the two averages, in units of eta L sqrt T: (trials,)."""
    dimension, L = work.constants.d, work.constants.lipschitz(2.0)
    found = []
    for rng, many in context.chunks(trials, 2 * steps * dimension, *key):
        samples = work.rows(rng, many, 2 * steps).reshape(many, 2, steps, dimension)
        ends = sgd(work, samples, step_size, np.zeros((1, dimension)))
        found.append(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=-1) / (step_size * L * math.sqrt(steps)))
    return np.concatenate(found)


# Lemma 2.3 ------------------------------------------------------------------------------------------------------------


@check("user_level/lem-2-3@linear", kind="stability", grid={"d": (1, 10, 100)}, expect="consistent")
def second_moment_of_linear_runs(context: Context, *, d: int) -> Verdict:
    """The measured second moment of the library's SGD over the exact one, T = 100: within 6 standard errors of 1."""
    steps, step_size = 100, 0.1
    squares = distances(fair(d, 50.0), context, context.scale(2000, 20_000), steps, step_size) ** 2
    exact = stated("user_level/lem-2-3@linear", eta=step_size, L=1.0, T=steps) / (step_size**2 * steps)
    off = abs(float(squares.mean()) / exact - 1)
    allowed = 6 * float(squares.std()) / math.sqrt(len(squares)) / exact
    said = (
        f"the second moment measured is {squares.mean():.4f} eta^2 L^2 T, {off:.2g} off the exact one; {allowed:.2g} "
        "is 6 standard errors"
    )
    numbers = {"off": off, "6 standard errors": allowed, "trials": len(squares)}
    fields: dict[str, Any] = {"numbers": numbers, "failure_probability": context.failure_probability}
    if off > allowed:
        return differs(said, "sampled", **fields)
    seen = f"a second moment off by {2 * allowed:.2g} or more, relatively"
    return consistent(said, "sampled", notices=seen, severity=off / allowed, **fields)


TWO_RUNS = {
    "linear": lambda d: (fair(d, 50.0), 0.1),
    "huber": lambda d: (SignHuber(a=0.5, kappa=0.5, dimension=d), 0.5 * math.sqrt(d)),
}
"""Losses and steps: eta = 1/beta for the Huber loss, whose domain is a cube."""


@check(
    "user_level/lem-2-3@derived",
    kind="stability",
    grid={"loss": tuple(TWO_RUNS), "d": (1, 10, 100), "T": by_size((100,), (100, 400, 1600))},
)
def two_runs_without_the_dimension(context: Context, *, loss: str, d: int, T: int) -> Verdict:
    """P(|difference| <= eta L sqrt T (4 + 8 sqrt(2 log 20))) >= 0.95: the event of zeta = 1/20 for this loss."""
    work, step_size = TWO_RUNS[loss](d)
    found = distances(work, context, context.scale(400, 800), T, step_size)
    bound = stated("user_level/lem-2-3@derived", eta=1.0, L=1.0, T=1.0, H=1.0, zeta=0.05)
    return accuracy.probability(
        int((found <= bound).sum()),
        len(found),
        0.95,
        context.failure_probability,
        event=f"distance within {bound:.3g} eta L sqrt T (largest {found.max():.3g})",
    )


@check(
    "user_level/lem-2-3",
    kind="rate",
    grid={"T": (16, 32, 64, 128, 256, 512, 1024), "loss": tuple(TWO_RUNS), "d": by_size((30,), (1, 30))},
    conclude=rate.conclude("T", axis="distance"),
    expect=("consistent", "undecided"),
)
def distance_grows_like_the_root_of_T(context: Context, *, T: int, loss: str, d: int) -> dict[str, float]:
    """Mean distance against eta L sqrt T, without the printed logarithm."""
    work, step_size = TWO_RUNS[loss](d)
    found = distances(work, context, context.scale(1000, 4000), T, step_size) * math.sqrt(T)
    se = float(found.std()) / math.sqrt(len(found))
    return {"mean": float(found.mean()), "se": se, "bound": _without_logarithm(T), "exponent": 0.5}


def _without_logarithm(steps: int) -> float:
    """The stated order at eta = L = 1 with 1 in the place of its logarithm."""
    order = order_of("user_level/lem-2-3")
    named = {s.name: s for s in order.free_symbols}
    (log,) = order.atoms(sp.log)
    return float(order.subs(log, 1).subs({named["eta"]: 1, named["L"]: 1, named["T"]: steps}))


@check(
    "user_level/lem-2-3",
    kind="accuracy",
    grid={"d": (1, 2, 5, 10, 20, 50, 100, 200), "loss": tuple(TWO_RUNS)},
    conclude=rate.conclude("d", axis="distance"),
    expect=("consistent", "undecided"),
)
def distance_does_not_grow_with_the_dimension(context: Context, *, d: int, loss: str) -> dict[str, float]:
    """Mean distance at T = 50 against eta L sqrt T: the dimension under the printed logarithm is not needed."""
    work, step_size = TWO_RUNS[loss](d)
    found = distances(work, context, context.scale(1000, 4000), 50, step_size)
    return {"mean": float(found.mean()), "se": float(found.std()) / math.sqrt(len(found)), "bound": 1.0}


@check("user_level/lem-2-3", kind="symbolic")
def derived_bound_is_of_the_stated_order(context: Context) -> Verdict:
    """4 + 8 sqrt(2x), x = log(1/zeta), is at most 20 sqrt(log(dT) + x): both squared."""
    root = sp.Symbol("root", positive=True)  # sqrt x, and d T >= 3
    left = (4 + 8 * sp.sqrt(2) * root) ** 2 - 400 * (sp.log(3) + root**2)
    return domain.never_positive(
        left, {"root": (0, 100)}, statement="derived bound <= 20 times the stated order, dT >= 3"
    )


# Lemma B.4 ------------------------------------------------------------------------------------------------------------


@check("user_level/lem-b4@literal", kind="stability", expect="refuted")
def difference_of_two_gradient_noises(context: Context) -> Verdict:
    """Huber |x| with probability 1 - 2p, +-x with p each, p = 1/1000; x = -10 and y = 10, samples +x and -x."""
    p = 1e-3
    slope = 1 - 2 * p  # of the population loss at 10, minus that at -10
    noise_here, noise_there = 1 - (-slope), -1 - slope
    found = (noise_here - noise_there) ** 2
    return accuracy.never_violated(
        found,
        stated("user_level/lem-b4@literal"),
        statement="|g - grad F(x) - g' + grad F(y)|^2 <= 4 L^2",
        witness=lambda _: witnessed("user_level/lem-b4@literal", "lem_b4", 4.0, found, p="1/1000"),
    )


@check("user_level/lem-b4@corrected", kind="stability")
def four_vectors_of_length_L(context: Context) -> Verdict:
    """The largest |a - b - c + e|^2 over unit vectors, at the ends of one direction: 16; two variances add up to 2."""
    ends = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1)
    largest = float(((ends[0] - ends[1] - ends[2] + ends[3]) ** 2).max())
    # E|xi|^2 = Var(g) + Var(g'), each at most E|g|^2 <= 1, attained by fair signs.
    signs = np.array([-1.0, 1.0])
    second = float(((signs[:, None] - signs[None]) ** 2).mean())
    return agree(
        [largest, second], [stated("user_level/lem-b4@corrected", L=1.0), 2.0], "pointwise and mean square, L = 1"
    )


@check("user_level/lem-b4@derived", kind="stability")
def stopping_radius_solves_its_inequality(context: Context) -> Verdict:
    """With s = sqrt(2 log(1/zeta)), b = 4 + 8s satisfies b^2 >= 16 + 8 b s, in units of eta L sqrt T."""
    s = sp.Symbol("s", positive=True)
    b = 4 + 8 * s
    said = explicit_of("user_level/lem-b4@derived") - explicit_of("user_level/lem-2-3@derived")
    return proved({"the two lemmas agree": said}, {"b^2 - 16 - 8 b s": sp.expand(b**2 - 16 - 8 * b * s)})


@check("user_level/lem-b4", kind="stability")
def gradient_steps_contract_up_to_two_over_beta(context: Context) -> Verdict:
    """1 - eta h of a quadratic of curvature h <= beta has modulus at most 1 up to eta = 2/beta, and more beyond."""
    x, more = sp.symbols("x more", positive=True)  # eta h, and eta h - 2
    inside = domain.never_positive((1 - x) ** 2 - 1, {"x": (0, 2)}, statement="|1 - eta h| <= 1 for eta beta <= 2")
    beyond = proved({}, {"|1 - eta h|^2 - 1 beyond 2/beta": sp.expand((1 - (2 + more)) ** 2 - 1)})
    return combine([inside, beyond])


@check("user_level/lem-b4", kind="accuracy", grid={"T": (200,), "d": (1, 10)}, expect="consistent")
def printed_bound_with_constant_twenty(context: Context, *, T: int, d: int) -> Verdict:
    """Largest distance of 400 pairs of Huber runs against 20 eta L sqrt(T log(dT/zeta)) at zeta = 1/400."""
    work, step_size = TWO_RUNS["huber"](d)
    found = distances(work, context, 400, T, step_size)
    bound = (
        20
        * float(
            order_of("user_level/lem-b4").subs(
                {
                    s: {"eta": 1, "L": 1, "T": T, "d": d, "zeta": 1 / 400}[s.name]
                    for s in order_of("user_level/lem-b4").free_symbols
                }
            )
        )
        / math.sqrt(T)
    )
    return accuracy.never_violated(
        found,
        bound,
        statement="distance <= 20 eta L sqrt(T log(dT/zeta))",
        failure_probability=context.failure_probability,
    )


# Equation (7) ---------------------------------------------------------------------------------------------------------


@check("user_level/fact-eq-7", kind="risk")
def equation_7_from_lemma_b3(context: Context) -> Verdict:
    """Lemma B.3 with |y - x_0|^2 = d sigma^2; its sharp form is half, and at most the printed one when clipped."""
    printed = explicit_of("user_level/lem-b3").subs(D, sp.sqrt(d) * sigma)
    sharp = explicit_of("user_level/lem-b3@derived").subs(D, sp.sqrt(d) * sigma)
    return proved(
        {
            "(7)": printed - explicit_of("user_level/fact-eq-7"),
            "twice the sharp form": 2 * sharp - explicit_of("user_level/fact-eq-7"),
        }
    )


@check("user_level/fact-eq-7@derived", kind="risk")
def clipped_equation_7(context: Context) -> Verdict:
    """min(R^2, d sigma^2) through both branches: each is the sharp Lemma B.3 at that distance."""
    clipped = explicit_of("user_level/fact-eq-7@derived")
    near = sp.Min(D**2, d * sigma**2)
    rest = clipped - near / (2 * eta * T) - explicit_of("user_level/lem-b3@derived") + D**2 / (2 * eta * T)
    return proved({"all but the distance": rest})
