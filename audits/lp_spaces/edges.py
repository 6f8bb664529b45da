"""The conditions of every algorithm, from both sides of each edge: problems that it is planned for, and is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.accounting import shuffle_epsilon
from dpcheck.algorithms.lp_spaces import (
    ApproximateObjectivePerturbation,
    BatchedMirrorDescent,
    EuclideanHeavyTails,
    FullBatchMirrorDescent,
    HalvingPhasedSGD,
    ShuffledMirrorDescent,
    StronglyConvexObjectivePerturbation,
)
from dpcheck.algorithms.lp_spaces.hard_instances import lower_instance
from dpcheck.algorithms.lp_spaces.objective import AlphaRule, exact_minimiser
from dpcheck.algorithms.lp_spaces.optimizer import ProjectedGradient, mapping_gap
from dpcheck.algorithms.lp_spaces.rates import constrained_rate
from dpcheck.algorithms.lp_spaces.regular import mirror_map
from dpcheck.algorithms.lp_spaces.truncated import TruncatedMirrorDescent
from dpcheck.errors import Infeasible
from dpcheck.geometry import Ball, Interval
from dpcheck.harness.plans import Asked, Edges, Plan, dialled
from dpcheck.interfaces import Algorithm, Constants, Problem
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.solvers import Task

from .cases import CORRECTED, DELTA, heavy, linear, problem
from .lemmas import quadratic

JUST = 1e-6
"""How far from an edge, relatively."""
D, L, H, EPSILON = 1.5, 0.1, 1.0, 0.5


def told(dimension: int = 4, epsilon: float = EPSILON, **constants: Any) -> Problem:
    """Constants that are these in l_2, and others in every other norm."""
    own: dict[str, Any] = {
        "d": dimension,
        "diameter": lambda p: D * 2 ** (1 / p - 1 / 2),
        "lipschitz": lambda p: L * 3 ** (1 / p - 1 / 2),
        "smoothness": lambda p: H * 5 ** (1 / p - 1 / 2),
        "moment": lambda k, m: L,
    }
    values = {
        name: (lambda p, value=value: value) if name in own and name != "d" else value
        for name, value in constants.items()
    }
    return Problem(constants=Constants(**{**own, **values}), privacy=ApproxDP(epsilon, DELTA))


def at_their_caps(rule: AlphaRule) -> list[float]:
    """alpha of Algorithms 1 and 2 for steep losses, two records and a narrow set; gradients of 7 flat losses; alpha of
    64 records of a set that is narrow only, in units of L D/n^(3/2); and R, which is told the bounds.
    """
    steep = told(lipschitz=100.0, diameter=1.0, hessian_rank=1, extra={"width": 1e-3, "modulus": 50.0})
    first = ApproximateObjectivePerturbation(alpha_rule=rule)
    flat = first.schedule(told(hessian_rank=0, smoothness=math.inf), 7)
    second = StronglyConvexObjectivePerturbation()
    rows = [algorithm.schedule(steep, 2).phases[0] for algorithm in (first, second)]
    narrow = told(hessian_rank=0, extra={"width": 1e-3, "modulus": L * D / 2})
    cap = first.schedule(narrow, 64).phases[0].alpha / (L * D / 64**1.5)
    radii = [algorithm.terms(narrow, 64)["R"] for algorithm in (first, second)]
    return [*(row.alpha for row in rows), flat.gradients, cap, *radii]


def _perturbed() -> Edges:
    """Algorithm 1: r = 2 of 4 dimensions; lambda >= r H/(epsilon n), by itself or with L/(D sqrt n) in its place."""
    of, curved = ApproximateObjectivePerturbation, told(hessian_rank=1)
    least = 2 * H / (EPSILON * 100)
    rule = round((2 * H * D / (EPSILON * L)) ** 2)
    flat = told(hessian_rank=0, smoothness=math.inf)

    def plans() -> Iterator[Plan]:
        yield "lambda at its least", of(lambda_=least), curved, 100, True
        yield "lambda below its least", of(lambda_=least * (1 - 1e-3)), curved, 100, False
        yield "lambda of Theorem 2 at its least", of(), curved, rule, True
        yield "lambda of Theorem 2 below its least", of(), curved, rule - 1, False
        yield "lambda > 0 for losses that are said to be flat", of(lambda_=1e-9), told(hessian_rank=0), 1, True
        yield "lambda > 0 for flat losses", of(lambda_=1e-9), flat, 1, True
        yield "lambda = 0 for flat losses", of(lambda_=0.0), flat, 1, False
        yield "no record", of(lambda_=1.0), flat, 0, False
        yield "curved losses of no smoothness", of(lambda_=1.0), told(hessian_rank=1, smoothness=math.inf), 100, False
        for steep in (0.0, math.inf):
            yield f"L = {steep}", of(lambda_=1.0), told(lipschitz=steep), 100, False
        for alpha, legal in ((0.0, True), (1.0, True), (-JUST, False), (1 + JUST, False)):
            yield f"alpha = {alpha}", of(lambda_=1.0, alpha=alpha), curved, 100, legal
        for dial, legal in ((JUST, True), (0.0, False), (math.inf, False)):
            yield f"noise times {dial}", of(lambda_=1.0, noise_dial=dial), curved, 100, legal
        for rule_of_alpha, legal in (("paper", True), ("fixed", True), ("exact", True), ("none", False)):
            yield f"alpha_rule {rule_of_alpha}", of(lambda_=1.0, alpha_rule=rule_of_alpha), curved, 100, legal  # type: ignore[arg-type]

    return plans(), _optimised()


def _optimised() -> Iterator[Asked]:
    """The optimiser: smooth losses, a ridge, a gap to reach; the certificate asks for strong convexity."""
    work = linear(Interval(-0.5, 0.5))
    task = Task(workload=work, sample=Fixed(np.ones((1, 3, 1))).read(), weight=1.0, centre=np.zeros((1, 1)), gap=0.1)
    for said, given, legal in (
        ("a ridge and a gap", task, True),
        ("no ridge", replace(task, weight=0.0), False),
        ("no gap", replace(task, gap=0.0), False),
        ("an endless gap", replace(task, gap=math.inf), False),
    ):
        yield f"the optimiser with {said}", lambda given=given: ProjectedGradient(limit=1000)(given), legal  # type: ignore[misc]
    yield "the optimiser in no step", lambda: ProjectedGradient(limit=0)(task), False
    stiff = replace(task, workload=quadratic(Ball(2, 0.5), 0.5), weight=0.9, centre=np.zeros((1, 2)), gap=1e-3)
    stiff = replace(stiff, sample=Fixed(np.full((1, 3, 2), 0.1)).read())
    # Of an objective that is as curved as it is smooth the first step ends at the minimum.
    yield "the optimiser of a round objective", lambda: ProjectedGradient(limit=2)(replace(stiff, gap=1e-12)), True
    yield "the closed form without a ridge", lambda: exact_minimiser(replace(stiff, weight=0.0)), True
    for curvature in (JUST, 0.0):
        yield f"a gap at curvature {curvature}", lambda c=curvature: mapping_gap(np.ones((1, 1)), c), curvature > 0  # type: ignore[misc]


def _strongly_convex() -> Edges:
    """Algorithm 2: two records, smooth losses, 0 < modulus <= L D/2; the hard instance of its lower bound."""
    of = StronglyConvexObjectivePerturbation

    def plans() -> Iterator[Plan]:
        most = L * D / 2
        for modulus, legal in ((most, True), (most * (1 + JUST), False), (most * JUST, True), (0.0, False)):
            yield f"modulus {modulus:g}", of(), told(extra={"modulus": modulus}), 100, legal
        usual = told(extra={"modulus": most})
        yield "two records", of(), usual, 2, True
        yield "one record", of(), usual, 1, False
        yield "so many that lambda = 0", of(), usual, 10**6, True
        yield "losses of no smoothness", of(), told(extra={"modulus": most}, smoothness=math.inf), 100, False
        yield "a modulus that nobody names", of(), told(lipschitz=100.0, diameter=1.0, extra={}), 100, False
        for rule, legal in (("paper", True), ("diam", True), ("fixed", True), ("none", False)):
            yield f"lambda_rule {rule}", of(lambda_rule=rule), usual, 100, legal  # type: ignore[arg-type]

    return plans(), _lower()


def _lower() -> Iterator[Asked]:
    for body in ("ball", "cube", "cross-polytope", "ellipsoid", "none"):
        for d, n in ((2, 1), (1, 1), (2, 0)):
            legal = body != "none" and d == 2 and n == 1
            said = f"the hard instance of {body} at d = {d}, n = {n}"
            yield said, lambda b=body, d=d, n=n: lower_instance(b, d, n, np.random.default_rng(0)), legal  # type: ignore[misc]


def _descent() -> Edges:
    """Algorithm 3: 1 < p < 2, smooth losses, 1 <= T <= n/2, an exponent that is finite."""
    of = FullBatchMirrorDescent

    def plans() -> Iterator[Plan]:
        for p, legal in ((1.0, False), (1.01, True), (1.99, True), (2.0, False)):
            yield f"p = {p}", of(p=p, **CORRECTED), told(), 10**6, legal
        for curved, legal in ((0.0, False), (JUST, True), (math.inf, False)):
            yield f"H = {curved}", of(), told(smoothness=curved), 10**6, legal
        yield "L infinite", of(), told(lipschitz=math.inf), 10**6, False
        yield "T = n/2", of(steps=10), told(), 20, True
        yield "half of the noise", of(steps=10, noise_dial=0.5), told(), 20, True
        yield "T above n/2", of(steps=10), told(), 19, False
        yield "T = 0", of(steps=0), told(), 20, False
        for horizon, legal in (("paper", True), ("balanced", True), ("best", True), ("none", False)):
            yield f"horizon {horizon}", of(horizon=horizon), told(), 10**6, legal  # type: ignore[arg-type]
            if legal:
                yield f"horizon {horizon} of few records", of(horizon=horizon), told(), 1, False  # type: ignore[arg-type]
        yield "the printed exponent on a line", of(), told(1), 10**6, False
        yield "the dual exponent on a line", of(**CORRECTED), told(1), 10**6, True
        yield "another exponent", of(exponent="none"), told(), 10**6, False  # type: ignore[arg-type]
        yield "another kappa", of(kappa_rule="none"), told(), 10**6, False  # type: ignore[arg-type]

    maps = (("paper", True), ("corrected", True), ("none", False))
    return plans(), iter([(f"mirror map {r}", lambda r=r: mirror_map(1.5, 4, r), legal) for r, legal in maps])  # type: ignore[misc]


def _phased() -> Edges:
    """Phased SGD: four records, and a first step eta/4 of at most 2/H."""

    def plans() -> Iterator[Plan]:
        for n, legal in ((4, True), (3, False)):
            yield "few records", HalvingPhasedSGD(), told(), n, legal
            yield "few records, half of the noise", HalvingPhasedSGD(noise_dial=0.5), told(), n, legal
        for scale in (0.0, -1.0, math.inf):
            yield f"scale {scale}", HalvingPhasedSGD(scale=scale), told(), 100, False
        for n in (16, 10**4):
            first = min(1 / math.sqrt(n), EPSILON / math.sqrt(4 * math.log(1 / DELTA))) / L
            for side in (1 - JUST, 1 + JUST):
                yield "the first step at 2/H", HalvingPhasedSGD(scale=8 / (H * first) * side), told(), n, side < 1

    def calls() -> Iterator[Asked]:
        usual: dict[str, Any] = {"n": 1, "d": 2, "p": 1.5, "M": 0.1, "epsilon": 0.1, "delta": 0.1}
        yield "the quoted rate", lambda: constrained_rate(**usual), True
        for name, value in (
            ("n", 0),
            ("d", 0),
            ("M", 0.0),
            ("epsilon", 0.0),
            ("delta", 0.0),
            ("delta", 1.0),
            ("p", 1.0),
        ):
            wrong = {**usual, name: value}
            yield f"the quoted rate at {name} = {value}", lambda given=wrong: constrained_rate(**given), False  # type: ignore[misc]
        yield "the quoted rate at p = 2 on a line", lambda: constrained_rate(**{**usual, "p": 2.0, "d": 1}), True

    return plans(), calls()


def _truncated(of: Callable[..., TruncatedMirrorDescent], p: float) -> Edges:
    """1 <= T <= n batches, sqrt T >= 2 beta and lambda >= beta M; for few enough epsilon where records are shuffled."""
    shuffled = of is ShuffledMirrorDescent
    n, epsilon = 4096, shuffle_epsilon(1.0, 4096, DELTA / 2)
    small = epsilon * (1 - JUST) if shuffled else EPSILON

    def at(**constants: Any) -> Problem:
        return told(epsilon=small, **{"smoothness": 2.0, "diameter": D, **constants})

    def chosen(**fields: Any) -> Algorithm[Any]:
        return of(**{"p": p, "steps": 16, "threshold": 2 * D, **CORRECTED, **fields})

    def edge_that_is_named() -> float:
        """The largest epsilon by the words of a refusal."""
        try:
            chosen().schedule(told(epsilon=2 * epsilon, smoothness=2.0, diameter=D), n)
        except Infeasible as error:
            return float(error.needs.split()[2])
        return math.inf

    def plans() -> Iterator[Plan]:
        yield "all at their edges", chosen(), at(), n, True
        yield "its own length and threshold", of(p=p, **CORRECTED), told(epsilon=0.01, smoothness=0.1), n, True
        yield "its own exponent", of(steps=16, threshold=2 * D, **CORRECTED), at(), n, True
        yield "every gradient kept", chosen(zero=False), at(), n, True
        yield "half of the noise", chosen(noise_dial=0.5), at(), n, True
        yield "beta above sqrt(T)/2", chosen(threshold=3 * D), at(smoothness=2 * (1 + JUST)), n, False
        yield "lambda below beta M", chosen(threshold=2 * D * (1 - JUST)), at(), n, False
        yield "T = n", chosen(steps=n), at(), n, True
        yield "T = n + 1", chosen(steps=n + 1), at(), n, False
        yield "T = 0", chosen(steps=0), at(), n, False
        for name, value in (("smoothness", math.inf), ("diameter", math.inf), ("diameter", 0.0)):
            yield f"{name} {value}", chosen(threshold=1e9), at(**{name: value}), n, False
        for q, legal in ((1.0, False), (1.01, True), (1.99, True), (2.0, p == 2), (2.1, False)):
            yield f"p = {q}", chosen(p=q), at(), n, legal
        if shuffled:
            yield (
                "epsilon above what shuffling gives",
                chosen(),
                told(epsilon=epsilon * (1 + JUST), smoothness=2.0, diameter=D),
                n,
                False,
            )
            for side in (1 - 1e-3, 1 + 1e-3):
                named = told(epsilon=edge_that_is_named() * side, smoothness=2.0, diameter=D)
                yield f"{side} of the epsilon that a refusal names", chosen(), named, n, side < 1

    def calls() -> Iterator[Asked]:
        own = chosen(steps=16, threshold=1.0)
        s = own.exponent_of_domain(3)  # type: ignore[attr-defined]
        for at_s, legal in ((s, True), (s + 0.1, False)):
            work = replace(heavy(3, p), s=at_s)
            plan, rows = own.schedule(problem(work, small, DELTA), n), work.rows(np.random.default_rng(0), 1, n)

            def run(work: Any = work, plan: Any = plan, rows: Any = rows) -> object:
                return own.execute(Run(plan, 1, np.random.default_rng(1)), work, Fixed(rows), np.zeros((1, 3)))

            yield f"a domain of exponent {at_s:g}", run, legal

    return plans(), calls()


def silent(algorithm: Any) -> bool:
    """Noise that is dialled, or gradients that are kept whole, promise nothing."""
    return dialled(algorithm) or not getattr(algorithm, "zero", True)


EDGES: dict[str, Callable[[], Edges]] = {
    "Algorithm 1": _perturbed,
    "Algorithm 2": _strongly_convex,
    "Algorithm 3": _descent,
    "phased SGD": _phased,
}
CUT: dict[str, Callable[[], Edges]] = {
    "Algorithm 4": lambda: _truncated(ShuffledMirrorDescent, 1.5),
    "batched": lambda: _truncated(BatchedMirrorDescent, 1.5),
    "Euclidean": lambda: _truncated(EuclideanHeavyTails, 2.0),
}
"""Algorithm -> plans and calls at its edges."""
