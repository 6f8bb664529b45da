"""Section 2: what Theorem 2.1 promises of Algorithm 1."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import sympy as sp

from dpcheck.algorithms.user_level import PhasedSGD
from dpcheck.algorithms.user_level.sizes import smallest_users
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import algorithm, claim
from dpcheck.engine.setting import Setting
from dpcheck.engine.statements import bound_of, order_of, stated
from dpcheck.errors import Infeasible
from dpcheck.harness import accuracy, domain, runtime
from dpcheck.harness.budget import REDUCED, with_budget
from dpcheck.harness.relations import compared
from dpcheck.harness.symbolic import agree, proved
from dpcheck.symbols import D, L, epsilon, m, n
from dpcheck.verdicts import Verdict, combine

from .cases import (
    counted,
    linear,
    plain,
    problem,
    promised,
    without_log,
)
from .feasible import SCANNED, map_of_feasible_sizes, shapes
from .section_2 import ALG_1, LETTERS


@check("user_level/thm-2-1", kind="symbolic")
def where_algorithm_1_beats_group_privacy(context: Context) -> Verdict:
    """Smallest feasible n over (m, d, epsilon), and a scanned n at which its explicit bound is below the baseline's.

    Orders alone: the proved rate is below the private part of the baseline exactly where m > eps n (S13).
    """
    numbers, points = map_of_feasible_sizes(PhasedSGD(), context)
    agreed = []
    for samples, dimension, eps in shapes(context):
        for users in SCANNED:
            proved = stated(
                "user_level/thm-2-1@derived", n=users, m=float(samples), d=dimension, epsilon=eps, D=1.0, L=1.0
            )
            private = math.sqrt(dimension) / (eps * users)
            agreed.append(float((proved < private) == (samples > eps * users)))
    verdict = accuracy.never_violated(
        np.ones(len(agreed)), agreed, statement="better exactly where m > eps n", covers="the quotient is sqrt(eps n/m)"
    )
    return replace(verdict, numbers={**verdict.numbers, **numbers}, points=points, axes=("m", "smallest n"))


@check("user_level/thm-2-1", kind="privacy", grid={"epsilon": (0.5, 2.0)})
def theorem_2_1_is_certified(context: Context, *, epsilon: float) -> Verdict:
    """The same for the informal theorem, at the smallest feasible n of m = 20, d = 5."""
    told = plain(5, 20, epsilon, 1e-7)
    n = smallest_users(lambda size: PhasedSGD().feasible(told, size), 1)
    assert n is not None
    return promised(PhasedSGD(), told, n)


@check("user_level/thm-2-1", kind="runtime")
def one_pass_at_most(context: Context) -> Verdict:
    """Counted in a run of all floor(log2 n) phases (reduced noise)."""
    work = linear(3, 4)
    algorithm = PhasedSGD(**PhasedSGD.readings["dialled"])
    gradients, *_ = counted(algorithm, work, problem(work), 600, context.seed, ALG_1["gradients"], symbols=LETTERS)
    return with_budget(runtime.verdict(gradients, 600.0 * 4, series=REDUCED), algorithm, problem(work), 600)


@check("user_level/thm-2-1@derived", kind="symbolic")
def proved_rate_against_the_printed_one(context: Context) -> Verdict:
    """It is sqrt(epsilon) times the printed second term without its logarithm: at most sqrt 10 of it."""
    second = without_log(order_of("user_level/thm-2-1")) - D * L / sp.sqrt(n * m * epsilon)
    quotient = order_of("user_level/thm-2-1@derived") / second - sp.sqrt(epsilon)
    room = domain.never_positive(sp.sqrt(epsilon) - sp.sqrt(10), {"epsilon": (0, 10)}, statement="quotient <= sqrt 10")
    return combine([proved({"quotient": sp.simplify(quotient)}), room])


@check("user_level/claim-2-2", kind="symbolic", also=("user_level/fact-prior-rates@bs23-smoothness",))
def smoothness_at_which_algorithm_1_is_planned(context: Context) -> Verdict:
    """The largest beta at which Algorithm 1 can be planned, by bisection, over BS23's; p -> 0, so that eta_1 = eta."""
    algorithm, values, wanted = PhasedSGD(p=1e-9), [], []
    for users, samples, dimension, eps in ((10**6, 10, 10, 1.0), (10**7, 1000, 3, 0.5), (10**6, 2, 10**4, 4.0)):
        low, high = 1e-6, 1e18
        while high > low * (1 + 1e-9):
            middle = math.sqrt(low * high)
            told = plain(dimension, samples, eps, 1e-9, smooth=middle)
            told = replace(told, constants=replace(told.constants, lipschitz=lambda p: 3.0, diameter=lambda p: 0.2))
            try:
                algorithm.schedule(told, users)
                low = middle
            except Infeasible:
                high = middle
        sizes = {"n": users, "m": samples, "d": dimension, "epsilon": eps}
        values.append(low / stated("user_level/fact-prior-rates@bs23-smoothness", **sizes, L=3.0, D=0.2))
        wanted.append(stated("user_level/claim-2-2", **sizes))
    return agree(values, wanted, "quotient of the two largest smoothness parameters", tolerance=1e-7)


@check(
    "user_level/thm-2-1@dominated",
    kind="risk",
    grid={"n": by_size([2**20], [2**20, 2**22, 2**24]), "m": by_size([1, 256], [1, 16, 256]), "epsilon": (0.5, 1.0)},
)
def proved_risk_in_linear_time(context: Context, *, n: int, m: int, epsilon: float) -> Verdict:
    """The bounds with constants that both algorithms have, d = 10, δ = 1/n²: group privacy's is never larger."""
    setting = Setting(n=n, d=10, epsilon=epsilon, delta=1 / n**2, m=m, H=1e-3)
    baseline, linear = algorithm("user_level/proc-group-privacy"), algorithm("user_level/alg-1")
    values = [
        bound_of("user_level/proc-group-privacy@summed", baseline, setting.problem, n),
        bound_of("user_level/thm-b1@summed", linear, setting.problem, n),
    ]
    ratio = float(claim(context.label).evaluate(n=n, m=m))
    series = f"m = {m}, epsilon = {epsilon:g}"
    sides = ("by group privacy", "by Algorithm 1")
    return compared("proved excess risk", sides, *values, ("n", n), series, **{"ratio of the private terms": ratio})
