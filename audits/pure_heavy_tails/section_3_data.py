"""Section 3 on real records: localised output perturbation, once and twice, on finite populations.

Doctor visits (heavy-tailed counts, 20,190 person-years) and disease progression (442 patients): absolute-loss and Huber
regression on all covariates in a ball; the mean of the visits, whose gradients under the squared loss inherit their
tail; and a single slope, where a certified minimiser is a bisection.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import unassumed
from dpcheck.harness import risk
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Point, Verdict, holds, undecided
from dpcheck.workloads.population import FinitePopulation, diabetes, randhie

from ._instances import BLOCKS, DELTA, practical, problem

BMI = 3
"""Column of the body-mass index in `diabetes`, the intercept counted."""
DATA = {
    "visits, squared, mean": (randhie, "squared", (0,)),
    "visits, absolute": (randhie, "absolute", None),
    "visits, Huber": (randhie, "huber", None),
    "progression, absolute, slope": (diabetes, "absolute", (BMI,)),
    "progression, absolute": (diabetes, "absolute", None),
    "progression, Huber": (diabetes, "huber", None),
}
"""Name -> source, loss, and the columns of the covariates; None for all of them and an intercept."""


SHORT = {name: name.replace("progression", "diab.").replace("absolute", "abs.") for name in DATA}
"""Names that fit over a panel."""


@functools.lru_cache(maxsize=4)
def population(name: str) -> FinitePopulation:
    """Real records as the population: regression on all covariates in a ball, or one parameter."""
    source, loss, columns = DATA[name]
    full = source(loss)
    if columns is None:
        return full
    table = full.features_table[:, list(columns)]
    return FinitePopulation(table / np.sqrt(np.mean(table**2)), full.target, full.radius, full.link)


@check(
    "pure_heavy_tails/proc-localized-double-op",
    kind="risk",
    grid={
        "data": by_size(
            ["visits, squared, mean", "visits, absolute", "visits, Huber", "progression, absolute, slope"], list(DATA)
        ),
        "solver": ("single", "double"),
        "n": by_size([2**10], [2**9, 2**11, 2**13]),
    },
    expect=("holds", "undecided"),
)
def risk_on_real_records(context: Context, *, data: str, solver: str, n: int) -> Verdict:
    """0.9-quantile of the excess risk on real records, drawn with replacement, beside the risk of the start."""
    work: Any = population(data)
    epsilon, k = 1.0, 2.0
    D, moments = work.constants.diameter(2.0), {j: work.constants.moment(j, 1) for j in (1.0, 2.0)}
    # A polyhedral loss in several parameters is minimised by one conic program a trial and block.
    conic = work.constants.d > 1 and work.link.pieces is not None
    trials = context.scale(6, 12) if conic else context.scale(40, 120)
    values = risk.excess_risks(
        practical(k, solver),
        work,
        problem(work, epsilon),
        n,
        trials,
        context.seed,
        context.name,
        dict(context.cell),
        gradients=1e18,
    )
    at = {
        "n": n,
        "J": BLOCKS,
        "d": work.constants.d,
        "epsilon": epsilon,
        "k": k,
        "D": D,
        "G_1": moments[1.0],
        "G_2": moments[2.0],
    }
    constant = {"single": 27.1, "double": 48.0}[solver]
    explicit = unassumed("pure_heavy_tails/thm-2-1@derived", **at, G_k=moments[2.0], c_erm=constant)
    found = risk.high_probability(values, explicit, DELTA, context.failure_probability, limit=D * moments[1.0], x=n)
    start = float(work.excess_risk(np.zeros((1, work.constants.d)))[0])
    numbers = {
        **found.numbers,
        "excess risk of the start": start,
        "median": float(np.median(values)),
        "certified": False,
    }
    typical = float(found.numbers["quantile"])
    against = "above" if typical > start else "below"
    reason = f"the 0.9-quantile {typical:.4g} is {against} the risk of the start, {start:.4g}; {found.reason}"
    reason += f"; J = {BLOCKS} is a practical choice that certifies nothing"
    # Beside the start, not beside a bound four decades above both.
    name = f"{SHORT[data]}, {solver}"
    points = [Point(x=n, value=typical, series=name), Point(x=n, value=start, series=f"{SHORT[data]}, start")]
    axes = ("n", "0.9-quantile of the excess risk")
    return replace(found, reason=reason, numbers=numbers, points=points, axes=axes)


@check("pure_heavy_tails/thm-3-1", kind="runtime", grid={"k": (2, 4)})
def degree_of_the_step_bound(context: Context, *, k: int) -> Verdict:
    """The step bound of the last phase, at lambda_t = (n/J)^5 lambda_1, has a finite degree in n, d and 1/epsilon."""
    n, d, e, D, G, J, rho = (BY_NAME[x] for x in ("n", "d", "epsilon", "D", "G_k", "J", "rho"))
    shape = sp.Rational(k - 1, k)
    # Everything at its largest: blocks of n records, weights of the last phase, steepest records of all blocks; and C,
    # which divides, at its smallest, a block of one record.
    first = 20 * (48 * G * (d * 4 * J / (n * e)) ** shape + sp.sqrt(20) * G * sp.sqrt(4 * J / n)) / D
    last = first * (n / J) ** 5
    cap, smallest = G * (n * e / d) ** (1 - shape), G * (e / d) ** (1 - shape)
    steepest = G * (2 * n * J * n / rho) ** (1 - shape)
    steps = (3 * D * sp.sqrt(n + 1) * (steepest + 2 * cap + last * D) * 72 * last * n**2 / smallest**2) ** 2
    degrees = {}
    for name, variable, scale in (("n", n, n), ("d", d, d), ("1/epsilon", e, 1 / e), ("1/rho", rho, 1 / rho)):
        x = sp.Symbol("x", positive=True)
        others = {s: 3 for s in steps.free_symbols if s != variable}
        at = sp.log(steps.subs(others).subs(variable, sp.exp(x) if scale == variable else sp.exp(-x)))
        # The sum of monomials is within a constant of its largest one: the slope far out is its degree.
        far = [float(at.subs(x, value).evalf(40)) for value in (2000, 4000)]
        degrees[name] = (far[1] - far[0]) / 2000
    numbers = {f"degree in {name}": round(degree, 6) for name, degree in degrees.items()}
    said = ", ".join(f"{degree:.3g} in {name}" for name, degree in degrees.items())
    finite = all(np.isfinite(degree) and degree < 60 for degree in degrees.values())
    make = holds if finite else undecided
    return make(f"the step bound of every phase is polynomial: degree {said}", "symbolic", numbers=numbers)
