"""From how many users on the printed theorems say something: feasible sizes, and derived bounds below L R."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpcheck.algorithms.user_level import PhasedSGD
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import stated, unassumed
from dpcheck.harness import accuracy
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Point, Verdict, combine

from ._runs import linear, plain
from ._statements import log_ratio

SHAPES = {
    "m = d = 10, epsilon = 1": (10, 10, 1.0),
    "m = 10^6, d = 10, epsilon = 1": (10**6, 10, 1.0),
    "m = d = 10, epsilon = 10": (10, 10, 10.0),
    "m = 100, d = 10^4, epsilon = 1": (100, 10**4, 1.0),
}
"""m, d, epsilon; delta = 1/(nm), and beta R = L where the smoothness enters."""
DASHED = {"dashed": "LR, beyond which a bound is vacuous"}
J = 0.2


def best_q(users: float) -> float:
    return math.log2(1 + 1 / math.log2(users))


def phases(users: float, q: float) -> list[float]:
    """n_i for i = 1, ..., floor(log2 n)."""
    return [(1 - 2**-q) * users * 2 ** (-q * i) for i in range(1, math.floor(math.log2(users)) + 1)]


def linear_time_bound(users: float, m: float, d: float, eps: float, *, clipped: bool) -> float:
    """Theorem B.1 with its constants over L R, phase by phase before rounding; `clipped` with projected iterates."""
    dlt, q = 1 / (users * m), best_q(users)
    p = max(J, math.log(m) / math.log(users)) + 1.5
    log = log_ratio(20 * users * m, eps, dlt)
    groups, spread = 100 * log / eps, 1000 * math.log(users * d * m) * math.log(users / dlt) ** 2 / log
    sizes = phases(users, q)
    eta = [2.0 ** (-p * i) / math.sqrt(d * m * users * eps) for i in range(1, len(sizes) + 1)]
    steps = [size * m / groups for size in sizes]
    noise = [spread * step * math.sqrt(count) for step, count in zip(eta, steps, strict=True)]
    return stated(
        "user_level/thm-b1@summed",
        **{"eta[i]": eta, "T[i]": steps, "sigma[i]": noise, "l": len(sizes)},
        **{"L": 1.0, "D": 1.0, "R": 1.0 if clipped else math.inf, "d": d, "xi": 3 / (users * m)},
    )


def closed_linear_time_bound(users: float, m: float, d: float, eps: float) -> float:
    """The same from the claim."""
    p, q = max(J, math.log(m) / math.log(users)) + 1.5, best_q(users)
    sizes = {"n": users, "m": m, "d": d, "epsilon": eps, "delta": 1 / (users * m), "p": p, "q": q, "L": 1.0, "D": 1.0}
    return unassumed("user_level/thm-b1@derived", **sizes)


def accelerated_bound(users: float, m: float, d: float, eps: float) -> float:
    """The recursion of Theorem C.3 from the claim, over L R; tau = L log(ndm)/sqrt m."""
    q = best_q(users)
    p = 3 * q + 2.5 + math.log(m) / (2 * math.log(users))
    weight = 1 / math.sqrt(users * m) + math.sqrt(d) / (eps * users * math.sqrt(m))
    sizes = {"n": users, "m": m, "d": d, "epsilon": eps, "delta": 1 / (users * m), "p": p, "q": q, "L": 1.0, "D": 1.0}
    return unassumed(
        "user_level/thm-c3@derived", **sizes, tau=math.log(users * d * m) / math.sqrt(m), **{"lambda": weight}
    )


def group_bound(users: float, m: float, d: float, eps: float) -> float:
    """Footnote 3 without constants: 1/sqrt(nm) + sqrt(d log(m e^eps/delta))/(eps n)."""
    return unassumed(
        "user_level/proc-group-privacy", n=users, m=m, d=d, epsilon=eps, delta=1 / (users * m), L=1.0, D=1.0
    )


def last_phase(users: float, m: float, d: float, eps: float) -> float:
    """100 log(20nmd e^eps/delta)/eps over n_l: below 1 where Theorem 3.1's promise to its last phase holds."""
    return 100 * log_ratio(20 * users * m * d, eps, 1 / (users * m)) / eps / phases(users, best_q(users))[-1]


def radius(users: float, m: float, d: float, eps: float) -> float:
    """Smoothing radius over R."""
    return math.sqrt(d) / (eps * users * math.sqrt(m))


def crossing(bound: Callable[[float], float]) -> float:
    """Smallest n (to 1 %) from which the bound stays below 1 on a grid of half octaves; inf beyond 10^36."""
    grid = [2.0 ** (k / 2) for k in range(2, 240)]
    above = [x for x in grid if bound(x) >= 1]
    if not above:
        return grid[0]
    if above[-1] == grid[-1]:
        return math.inf
    low, high = above[-1], above[-1] * 2**0.5
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if bound(middle) >= 1 else (low, middle)
    return high


def said_from(name: str, bound: Callable[[float], float], crosses: float, reference: float = 0.0) -> Verdict:
    """The bound is below 1 at the crossing and above it before; `reference`: a number of the derivation to be met."""
    sides = accuracy.never_violated(
        [bound(crosses), 1.0],
        [1.0, bound(crosses / 1.02) if crosses > 2.5 else 1.0],
        statement=f"{name}: below 1 at n = {crosses:.3g} and not before",
        covers="both sides of the crossing",
        evidence="certificate",
        tolerance=0.0,
    )
    if not reference:
        return sides
    return combine(
        [
            sides,
            accuracy.never_violated(
                abs(crosses / reference - 1),
                0.05,
                statement=f"{crosses:.4g} is {reference:.2g}",
                covers="the number in the derivation",
            ),
        ]
    )


@check("user_level/thm-b1@derived", kind="risk", grid={"setting": tuple(SHAPES)})
def smallest_n_of_theorem_b1(context: Context, *, setting: str) -> Verdict:
    """First n at which the bound, as printed and with projected iterates, is below L R, q best, J = 1/5."""
    m, d, eps = SHAPES[setting]
    first = setting == "m = d = 10, epsilon = 1"
    verdicts, numbers = [], {}
    for clipped, reference in ((False, 2.5e27), (True, 1.2e20)):
        name = "with projection" if clipped else "as printed"

        def bound(x: float, clipped: bool = clipped) -> float:
            return linear_time_bound(x, m, d, eps, clipped=clipped)

        numbers[f"smallest n {name}"] = crosses = crossing(bound)
        verdicts.append(said_from(name, bound, crosses, reference if first else 0.0))
    found = combine(verdicts)
    points = tuple(
        Point(x=10.0**k, value=linear_time_bound(10.0**k, m, d, eps, clipped=c), series=f"{setting}, {name}", bound=1.0)
        for c, name in ((False, "as printed"), (True, "with projection"))
        for k in range(6, 34, 3)
    )
    return replace(found, numbers=numbers, points=points, axes=("n", "bound over LR"), **DASHED)


@check("user_level/thm-b1@derived", kind="accuracy", grid={"setting": tuple(SHAPES)})
def closed_form_is_above_the_recursion(context: Context, *, setting: str) -> Verdict:
    """The recursion summed phase by phase against the closed form of the claim, n from 10^6 to 10^36."""
    m, d, eps = SHAPES[setting]
    sizes = [10.0**k for k in range(6, 37, 2)]
    left = [linear_time_bound(x, m, d, eps, clipped=False) for x in sizes]
    right = [closed_linear_time_bound(x, m, d, eps) for x in sizes]
    loose = max(b / a for a, b in zip(left, right, strict=True))
    covers = f"sums of geometric series, at these sizes; at most {loose:.3g} times too large"
    return accuracy.never_violated(left, right, statement="recursion <= closed form", covers=covers)


@check("user_level/thm-c3@derived", kind="risk", grid={"setting": tuple(SHAPES)})
def smallest_n_of_theorem_c3(context: Context, *, setting: str) -> Verdict:
    """First n at which the derived bound of Theorem C.3 is below L R, with the printed constants."""
    m, d, eps = SHAPES[setting]

    def bound(x: float) -> float:
        return accelerated_bound(x, m, d, eps)

    crosses = crossing(bound)
    found = said_from("Theorem C.3", bound, crosses)
    points = tuple(Point(x=10.0**k, value=bound(10.0**k), series=setting, bound=1.0) for k in range(4, 28, 2))
    axes = ("n", "bound over LR")
    return replace(found, numbers={"smallest n": crosses}, points=points, axes=axes, **DASHED)


@check("user_level/thm-2-1", kind="risk")
def table_of_smallest_n(context: Context) -> Verdict:
    """For every theorem: first n at which its hypothesis can hold, and at which its derived bound is below L R."""
    numbers: dict[str, float] = {}
    verdicts = []
    for setting, (m, d, eps) in SHAPES.items():
        rows = {
            "Theorem 3.1 feasible": lambda x: last_phase(x, m, d, eps),  # noqa: B023
            "Theorem B.1 feasible": lambda x: last_phase(x, m, 1, eps),  # noqa: B023
            "Theorem B.1 below LR": lambda x: linear_time_bound(x, m, d, eps, clipped=False),  # noqa: B023
            "Theorem B.1 projected below LR": lambda x: linear_time_bound(x, m, d, eps, clipped=True),  # noqa: B023
            "Theorem C.3 below LR": lambda x: accelerated_bound(x, m, d, eps),  # noqa: B023
            "Theorem D.3 radius below R": lambda x: radius(x, m, d, eps),  # noqa: B023
            "group privacy below LR": lambda x: group_bound(x, m, d, eps),  # noqa: B023
        }
        for name, bound in rows.items():
            numbers[f"{setting}: {name}"] = crosses = crossing(bound)
            verdicts.append(said_from(f"{setting}: {name}", bound, crosses))
    found = combine(verdicts)
    return replace(found, numbers=numbers)


@check("user_level/thm-b1@travel", kind="risk", grid={"log_n": by_size([18], [18, 20])})
def printed_algorithm_1_on_two_opposite_data_sets(context: Context, *, log_n: int) -> Verdict:
    """Two runs with the same noise, all samples u in one and -u in the other, printed constants (private), m = d = 10.

    The mean of the two excess risks is at least LR/2 - L s in every trial; the bound is above 0 up to 2^36.
    """
    users, m, d, trials = 2**log_n, 10, 10, context.scale(4, 20)
    told, algorithm = plain(d, m, 1.0, 1 / (m * users)), PhasedSGD(order="fixed")
    plan, u = algorithm.schedule(told, users), np.full(d, 1 / math.sqrt(d))
    both = []
    for sign in (1.0, -1.0):
        run = Run(plan, trials, context.rng("noise"))
        data = Fixed(np.broadcast_to(sign * u, (1, users, m, d)))
        both.append(0.5 - algorithm.execute(run, linear(d, m), data, np.zeros((1, d))) @ (sign * u))
    least = stated("user_level/thm-b1@travel", L=1.0, D=1.0, s=travel(log_n, m, d))
    covers = "the runs share their noise, projection does not expand, and a step moves by eta L at most"
    found = accuracy.never_violated(
        least, (both[0] + both[1]) / 2, statement="LR/2 - L s <= mean excess of the two", covers=covers,
        evidence="certificate",
    )  # fmt: skip
    rows = {f"least excess at n = 2^{k}": 0.5 - travel(k, m, d) for k in (20, 24, 30, 36)}
    over = {f"the same over the order, n = 2^{k}": (0.5 - travel(k, m, d)) / _order(k, m, d) for k in (20, 24, 30, 36)}
    return replace(found, numbers={**found.numbers, **rows, **over})


def travel(log_n: int, m: int, d: int) -> float:
    """s: how far the averages of SGD can go from their starts in all phases together, epsilon = 1, L = R = 1."""
    phases_ = PhasedSGD().schedule(plain(d, m, 1.0, 1 / (m * 2**log_n)), 2**log_n).phases
    return sum(phase.eta * (phase.steps - 1) / 2 for phase in phases_)


def _order(log_n: int, m: int, d: int) -> float:
    at = {"n": 2.0**log_n, "m": m, "d": d, "epsilon": 1.0, "delta": 1 / (m * 2**log_n), "L": 1.0, "D": 1.0}
    return unassumed("user_level/thm-b1", **at)
