"""The conditions of every algorithm, from both sides of each edge: problems that it is planned for, and is not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpcheck.algorithms.pure_heavy_tails import (
    EMPGM,
    DoubleOutputPert,
    LocalizedApproxEM,
    LocalizedOutputPert,
    NoisyClippedSubgradient,
    OutputPertLocalize,
    PopLocalize,
    SingleOutputPert,
    SmoothedEMPGM,
    StructuredDoubleOutputPert,
)
from dpcheck.algorithms.pure_heavy_tails.exponential import net, net_size, smoothed_gradient
from dpcheck.algorithms.pure_heavy_tails.hard_instances import bounded_pair, packed_laws, packing, spike_probability
from dpcheck.algorithms.pure_heavy_tails.projection import inexact_projection
from dpcheck.algorithms.pure_heavy_tails.reformulation import DirectSubgradient, JointReformulation, JointSubgradient
from dpcheck.algorithms.pure_heavy_tails.sampling import ApproxLocalPotential, cells, gibbs_linear
from dpcheck.algorithms.pure_heavy_tails.subgradient import adaptive_inexact_subgradient, biased_subgradient, exact
from dpcheck.errors import Infeasible
from dpcheck.harness.plans import Asked, Edges, Plan, dialled, planned, run_of
from dpcheck.interfaces import Array, Constants, Problem
from dpcheck.privacy import PureDP
from dpcheck.running import Fixed
from dpcheck.solvers import Task
from dpcheck.workloads.linear import RareSpikes, SparseDirection
from dpcheck.workloads.radial import RadialHeavyTail

from .cases import DELTA, problem

JUST = 1e-6
"""How far from an edge, relatively."""
D, H, EPSILON = 2.0, 1.0, 0.5


def told(dimension: int = 2, epsilon: float = EPSILON, chance: float = DELTA, **given: Any) -> Problem:
    """Constants of an own choice: moments that grow with their order, a smoothness, a diameter that is this in l_2."""
    own = {"smoothness": H, "diameter": D, **given}
    constants = Constants(
        d=dimension,
        diameter=lambda p: own["diameter"] * 3 ** (1 / p - 1 / 2),
        lipschitz=lambda p: math.inf,
        smoothness=lambda p: own["smoothness"],
        moment=given.get("moment", lambda k, m: (2 - 1 / k) / m),
    )
    return Problem(constants=constants, privacy=PureDP(epsilon), failure_probability=chance)


NUMBERS = ((JUST, True), (0.0, False), (-1.0, False), (math.inf, False))
"""What a positive finite number may be, and may not."""


def _solver(of: Callable[..., Any], most: float, d: int = 2) -> Edges:
    """A solver of regularised risks: k >= 2, its numbers positive, a record, moments in order, `most` as a budget."""

    def plans() -> Iterator[Plan]:
        yield "k = 2", of(), told(d), 50, True
        yield "half of the noise", of(noise_dial=0.5), told(d), 50, True
        yield "no record", of(C=1.0), told(d, float(d)), 0, False
        yield "G_k = G_2", of(k=3.0), told(d, moment=lambda k, m: 1 / m), 50, True
        yield "G_k < G_2", of(k=3.0), told(d, moment=lambda k, m: 1 / k / m), 50, False
        yield "G_1 = G_k < G_2", of(k=3.0), told(d, moment=lambda k, m: (1 + (k == 2)) / m), 50, False
        yield "no moment", of(), told(d, moment=lambda k, m: math.inf), 50, False
        yield "a moment of 0", of(), told(d, moment=lambda k, m: 0.0), 50, False
        if most < math.inf:
            yield "the largest epsilon", of(), told(d, most), 50, True
            yield "above the largest epsilon", of(), told(d, most * (1 + JUST)), 50, False

    def calls() -> Iterator[Asked]:
        yield "k = 2", lambda: of(k=2.0), True
        yield "k < 2", lambda: of(k=2 - JUST), False
        for name in ("lambda_", "C", "noise_dial"):
            for value, legal in NUMBERS:
                yield f"{name} = {value}", partial(of, **{name: value}), legal

    return plans(), calls()


def _runs(*makes: Callable[[], Any]) -> list[Asked]:
    """A run of each on a line: whatever it returns, it ends."""
    work = RareSpikes(D=D)
    return [(f"a run of {make}", run_of(make, work, problem(work, EPSILON), 20), True) for make in makes]


def _beside(edges: Edges, plans: list[Plan], calls: list[Asked] = []) -> Edges:  # noqa: B006
    return iter([*edges[0], *plans]), iter([*edges[1], *calls])


def _first(algorithm: Any, at: Problem, n: int) -> Asked:
    """Whether the refusal of n records names the first larger number of them that has a plan."""

    def ask() -> None:
        least = next(size for size in range(n + 1, 2 * n + 1000) if planned(algorithm, at, size))
        try:
            algorithm.schedule(at, n)
        except Infeasible as error:
            if error.smallest_n == least:
                return
            raise ValueError(f"{error.smallest_n} records are named for {least}") from error
        raise ValueError(f"{n} records have a plan")

    return f"the first n beyond {n} of {algorithm.label}", ask, True


def _localiser() -> Edges:
    of = OutputPertLocalize
    at = [("zeta = 1", of(), told(), 50, True), ("zeta < 1", of(zeta=1 - JUST), told(), 50, False)]
    return _beside(_solver(of, 2.0), at, _runs(of))


def _single() -> Edges:
    rules = (("tight", True), ("paper", True), ("none", False))
    at = [(f"calibration {rule}", SingleOutputPert(calibration=rule), told(), 50, legal) for rule, legal in rules]  # type: ignore[arg-type]
    return _beside(_solver(SingleOutputPert, math.inf), at, _runs(SingleOutputPert))


def _selection(of: type[EMPGM]) -> Edges:
    """EM-PGM: epsilon n >= d, a smooth loss, a net within the domain and the memory."""
    smoothed = of is SmoothedEMPGM
    work = SparseDirection(nu=(0.6, 0.8), D=D)
    at = told(epsilon=0.02)
    size = net_size(D, 0.1, 2)
    plans: list[Plan] = [
        ("epsilon n = d", of(eta=0.5), at, 100, True),
        ("epsilon n below d", of(eta=0.5), at, 99, False),
        ("no record, and epsilon n = d far off", of(eta=0.5), at, 0, False),
        ("eta = D", of(eta=D), told(), 50, True),
        ("eta above D", of(eta=D * (1 + JUST)), told(), 50, False),
        ("eta = 0", of(eta=0.0), told(), 50, False),
        ("gamma = 0", of(eta=0.5, gamma=0.0), told(), 50, False),
        ("gamma > 0", of(eta=0.5, gamma=JUST), told(), 50, True),
        ("a net as large as allowed", of(eta=0.1, largest_net=size), told(), 50, True),
        ("a net larger than allowed", of(eta=0.1, largest_net=size - 1), told(), 50, False),
        ("losses of no smoothness", of(eta=0.5), told(smoothness=math.inf), 50, smoothed),
    ]
    if smoothed:
        for name, values in (
            ("tau", ((JUST, True), (0.0, False))),
            ("rho", ((JUST, True), (0.2 - JUST, True), (0.2, False), (0.0, False))),
        ):
            plans += [(f"{name} = {v}", of(eta=0.5, **{name: v}), told(), 50, legal) for v, legal in values]  # type: ignore[arg-type]
        for rule, legal in (("data", True), ("public", True), ("none", False)):
            plans.append((f"gamma_rule {rule}", SmoothedEMPGM(eta=0.5, gamma_rule=rule), told(), 50, legal))  # type: ignore[arg-type]
        plans += [(f"d = {d}", of(eta=1.0), told(d), 50, d <= 2) for d in (1, 2, 3)]
    else:
        plans += [("the first net within D", of(C=1.0, lambda_=1e-9), told(epsilon=0.02), 100, True)]
        for n, width in itertools.product((0, 100), (0.9, 0.5)):  # at 100 it is the net that is too coarse
            plans += [("a net beyond D", of(C=1.0, lambda_=1e-9), told(epsilon=0.02, diameter=width), n, False)]
    w, z = np.zeros((1, 2)), np.ones((1, 1))
    calls: list[Asked] = [
        ("a net", partial(net, work, 0.5), True),
        ("a net of radius 0", partial(net, work, 0.0), False),
        ("a net of too many points", partial(net, work, 1e-4), False),
        ("the smoothed gradient in the plane", partial(smoothed_gradient, work, w, z, 0.1), True),
        (
            "the smoothed gradient in space",
            partial(smoothed_gradient, SparseDirection(nu=(1.0, 0.0, 0.0)), np.zeros((1, 3)), z, 0.1),
            False,
        ),
    ]
    calls += [_first(of(eta=0.5), at, n) for n in (0, 99)]
    runs = _runs(partial(of, eta=0.5), partial(of, eta=0.5, gamma=0.1))
    return _beside(_solver(partial(of, eta=0.5), math.inf), plans, [*calls, *runs])


def _gibbs() -> Edges:
    """Algorithm 7: delta in (0, 1/10), d <= 2 for cells; and what it is made of."""
    of = partial(LocalizedApproxEM, count=16)
    plans: list[Plan] = [
        (f"delta = {v}", of(delta=v), told(), 50, legal)
        for v, legal in ((JUST, True), (0.1 - JUST, True), (0.0, False), (0.1, False))
    ]
    for name, values in (("evaluator", ("exact", "alg-6", "none")), ("sampler", ("cells", "hit-and-run", "none"))):
        plans += [(f"{name} {v}", of(**{name: v}), told(1), 50, v != "none") for v in values]  # type: ignore[arg-type]
    plans += [(f"{v} cells", of(count=v), told(), 50, v >= 1) for v in (1, 0)]
    plans += [("cells in space", of(), told(3), 50, False)]
    plans += [("chords in space", of(sampler="hit-and-run"), told(3), 50, True)]
    calls: list[Asked] = []
    for d in (1, 2, 3):
        work = SparseDirection(nu=tuple(np.eye(d)[0]))
        calls.append((f"cells, d = {d}", partial(cells, work, (np.zeros((1, d)), 0.3), 64), d <= 2))
    for name, wrong in (("weight", 0.0), ("coefficient", 0.0), ("low", 1.0)):
        usual = {"slope": 1.0, "weight": 1.0, "centre": 0.0, "coefficient": 1.0, "low": 0.0, "high": 1.0}
        calls += [(f"a Gibbs law, {name}", partial(gibbs_linear, **usual), True)]
        calls += [(f"a Gibbs law, {name} = {wrong}", partial(gibbs_linear, **{**usual, name: wrong}), False)]
    work_, sample = RareSpikes(), Fixed(np.ones((1, 2, 1))).read()
    for value in (JUST, 0.0):
        made = partial(
            ApproxLocalPotential, work_, sample, np.zeros((1, 1)), np.zeros((1, 1)), 1.0, 1.0, alpha_in=value
        )
        calls.append((f"Algorithm 6, alpha_in = {value}", made, value > 0))
    runs = _runs(of, partial(of, sampler="hit-and-run", count=2))
    return _beside(_solver(of, 12.0), plans, [*calls, *runs])


def _as_one_stage(n: int) -> None:
    """Raises where Algorithm 1 around Algorithm 2 is not what it is around one stage with the noise of Algorithm 2."""
    plans = [
        PopLocalize(erm=erm).schedule(told(), n).phases
        for erm in (OutputPertLocalize(), SingleOutputPert(calibration="paper"))
    ]
    one, other = ([(row.records, row.blocks, row.lambda_, row.noise, row.reach) for row in rows] for rows in plans)
    if one != other:
        raise ValueError(f"{one} and {other} differ")


def _localised() -> Edges:
    """Algorithm 1: delta < 1/2, a record in every block of the phases that it has."""
    of, single = PopLocalize, SingleOutputPert()
    plans: list[Plan] = [
        ("a record in every block", of(erm=single, blocks=5), told(), 10, True),
        ("half of the noise", of(erm=replace(single, noise_dial=0.5), blocks=5), told(), 10, True),
        ("an empty block", of(erm=single, blocks=5), told(), 9, False),
        *((f"proved blocks of {n} records", of(erm=single), told(), n, False) for n in (0, 1, 10)),
        ("all printed phases, one block", of(erm=single, blocks=1, phase_count="printed"), told(), 64, True),
        ("a printed phase with an empty block", of(erm=single, blocks=2, phase_count="printed"), told(), 64, False),
        ("printed phases, n no power of 2", of(erm=single, blocks=1, phase_count="printed"), told(), 65, False),
        ("solver none", LocalizedOutputPert(blocks=5, solver="none"), told(), 100, False),  # type: ignore[arg-type]
    ]
    for chance, legal in ((JUST, True), (0.5 - JUST, True), (0.5, False), (0.0, False)):
        plans.append((f"delta = {chance}", of(erm=single, blocks=5), told(chance=chance), 100, legal))
    for solver in ("single", "double", "structured"):
        plans.append((f"solver {solver}", LocalizedOutputPert(blocks=5, solver=solver), told(1), 100, True))  # type: ignore[arg-type]
    calls: list[Asked] = [
        ("half a block", partial(of, blocks=2.5), False),
        ("phases none", partial(of, phase_count="none"), False),
    ]
    for name in ("blocks", "lambda_1", "c_erm", "resolution"):
        for value, legal in ((1, True), *NUMBERS[1:]):
            calls.append((f"{name} = {value}", partial(of, **{name: value}), legal))
    calls += [_first(of(erm=single, blocks=5), told(), 9), _first(of(erm=single), told(), 10)]
    calls += [(f"Algorithm 2 for one stage, n = {n}", partial(_as_one_stage, n), True) for n in (1000, 30_000)]
    runs = _runs(*(partial(LocalizedOutputPert, blocks=5, solver=each) for each in ("single", "double")))  # type: ignore[arg-type]
    return iter(plans), iter([*calls, *runs])


def _baseline() -> Edges:
    of = NoisyClippedSubgradient
    plans: list[Plan] = [
        ("one record", of(), told(), 1, True),
        ("half of the noise", of(noise_dial=0.5), told(), 1, True),
    ]
    plans += [("no record", of(C=1.0), told(), 0, False)]
    plans += [("no moment", of(), told(moment=lambda k, m: math.inf), 50, False)]
    calls: list[Asked] = [("k = 2", partial(of, k=2.0), True), ("k < 2", partial(of, k=2 - JUST), False)]
    for name in ("T", "C", "noise_dial"):
        for value, legal in NUMBERS:
            calls.append((f"{name} = {value}", partial(of, **{name: value}), legal))
    return iter(plans), iter([*calls, *_runs(of)])


def _subgradients() -> Edges:
    """Algorithm 3, Lemma D.5, inexact projections and the joint reformulation: what they are given."""
    near = exact(lambda x: np.clip(x, -1, 1))

    def slope(x: Array) -> Array:
        return np.sign(x - 0.3)

    calls: list[Asked] = []
    adaptive = partial(adaptive_inexact_subgradient, slope, near)
    biased = partial(biased_subgradient, slope, near, np.array([[0.0], [0.3]]), bias=0.0)
    for at, legal in ((1.0, True), (1.001, False)):
        calls.append((f"Algorithm 3 from {at} of [-1, 1]", partial(adaptive, np.full((1, 1), at), 0.5, 2.0), legal))
    tiny = exact(lambda x: np.clip(x, -1e-4, 1e-4))
    for at, legal in ((1e-4, True), (1.01e-4, False)):
        start = partial(adaptive_inexact_subgradient, np.sign, tiny, np.full((1, 1), at), 1e-4, 2e-4)
        calls.append((f"Algorithm 3 from {at} of 1e-4 [-1, 1]", start, legal))
    for alpha, far in ((0.0, 2.0), (0.5, 0.0)):
        calls.append((f"Algorithm 3 at {alpha}, {far}", partial(adaptive, np.zeros((1, 1)), alpha, far), False))
        calls.append((f"Lemma D.5 at {alpha}, {far}", partial(biased, alpha, far, 1.0), False))
    taken = int(adaptive(np.zeros((1, 1)), 0.5, 2.0).steps[0])
    for limit in (taken, taken - 1, 1):
        ask = partial(adaptive, np.zeros((1, 1)), 0.5, 2.0, limit=limit)
        calls.append((f"Algorithm 3 in {limit} of {taken} steps", ask, limit == taken))
    calls.append(("Algorithm 3 on a short interval", partial(adaptive, np.full((1, 1), 0.4), 0.5, 0.5), True))
    calls.append(
        (
            "Lemma D.5 on a short interval, gentle slopes",
            partial(biased_subgradient, lambda x: np.sign(x) / 4, near, np.full((1, 1), 0.4), 0.5, 0.5, 0.5, bias=0.0),
            True,
        )
    )
    steps = (4 * 2 * 1 * 2) ** 2
    for said, given, legal in (
        ("L as long as its slopes", {}, True),
        ("L = 0", {"L": 0.0}, False),
        ("L shorter than its slopes", {"L": 1 - JUST}, False),
        ("the largest bias", {"bias": 0.125}, True),
        ("a larger bias", {"bias": 0.125 + JUST}, False),
        ("a bias below 0", {"bias": -JUST}, False),
        ("as many steps as allowed", {"limit": steps}, True),
        ("more steps than allowed", {"limit": steps - 1}, False),
    ):
        calls.append((f"Lemma D.5 with {said}", partial(biased, **{"alpha": 0.5, "D": 2.0, "L": 1.0, **given}), legal))  # type: ignore[arg-type]
    onto = partial(inexact_projection, np.ones((1, 1)), project=lambda w: np.clip(w, -1, 1))
    for centre, radius, xi in ((0.0, 0.5, 0.1), (0.0, 0.0, 0.1), (0.0, 0.5, 0.0), (1.01, 0.5, 0.1)):
        given = {"centre": np.full((1, 1), centre), "radius": radius, "xi": xi}
        legal = radius > 0 and xi > 0 and centre <= 1
        calls.append((f"a projection at {centre}, {radius}, {xi}", partial(onto, **given), legal))  # type: ignore[arg-type]
    sample = Fixed(np.ones((1, 2, 1))).read()
    task = Task(workload=RareSpikes(D=D), sample=sample, weight=1.0, centre=np.zeros((1, 1)), cap=0.5, gap=0.5)
    for said, wrong in (
        ("no cap", {"cap": None}),
        ("a cap of 0", {"cap": 0.0}),
        ("a tilt", {"linear": np.ones((1, 1))}),
    ):
        calls.append((f"a joint reformulation with {said}", partial(JointReformulation, replace(task, **wrong)), False))  # type: ignore[arg-type]
    for solver in (JointSubgradient(), DirectSubgradient()):
        for gap, legal in ((0.5, True), (0.0, False), (math.inf, False)):
            calls.append((f"{type(solver).__name__} to {gap}", partial(solver, replace(task, gap=gap)), legal))
    bare = replace(task, workload=RadialHeavyTail(b=(0.2, 0.1), D=D), centre=np.zeros((1, 2)))
    calls.append(("the slope of a joint reformulation", lambda: JointReformulation(bare).lipschitz(), True))
    return iter(()), iter(calls)


def _lower() -> Edges:
    """The hard classes: zeta in (0, 1/4], epsilon in (0, 1], a packing of the sphere that is large enough."""
    calls: list[Asked] = []
    for zeta, legal in ((0.25, True), (0.25 + JUST, False), (0.0, False)):
        calls.append((f"bounded losses, zeta = {zeta}", partial(bounded_pair, 10, zeta), legal))
        calls.append((f"spikes, zeta = {zeta}", partial(spike_probability, 8, 100, 1.0, zeta), legal))
    calls += [(f"bounded losses, n = {n}", partial(bounded_pair, n, 0.1), n >= 1) for n in (1, 0)]
    for epsilon, legal in ((1.0, True), (1 + JUST, False), (0.0, False)):
        calls.append((f"spikes, epsilon = {epsilon}", partial(spike_probability, 8, 100, epsilon, 0.1), legal))
    edge = 2 / (4 * math.e)
    calls += [
        (f"three points, zeta = {z}", partial(spike_probability, 3, 10, 1.0, z), z < edge)
        for z in (edge * (1 - JUST), edge * (1 + JUST))
    ]
    rng = np.random.default_rng
    for d, size, legal in ((1, 2, True), (1, 3, False), (0, 1, False), (2, 4, True), (2, 8, True), (6, 64, True)):
        calls.append((f"{size} points of a packing, d = {d}", lambda d=d, size=size: packing(d, rng(0), size), legal))  # type: ignore[misc]
    calls.append(("a packing of 2^d points", lambda: packing(3, rng(0)), True))
    calls.append(("laws of what was packed", lambda: packed_laws(packing(2, rng(0), 8), 100, 1.0, 0.1), True))
    angle = 2 * math.asin(1 / 4)  # of two points of the circle at distance 1/2

    def circle(turn: float) -> Array:
        turns = turn * np.arange(8.0)
        return np.stack([np.cos(turns), np.sin(turns)], axis=1)

    for turn, length, legal in ((angle * 1.01, 1.0, True), (angle * 0.99, 1.0, False), (angle * 1.01, 1.001, False)):
        V = circle(turn)
        V[-1] *= length
        calls.append((f"packed at {turn:.4g}, {length}", partial(packed_laws, V, 100, 1.0, 0.1), legal))
        calls.append((f"two of them, {turn:.4g}, {length}", partial(packed_laws, V[-2:], 100, 1.0, 0.05), legal))
    return iter(()), iter(calls)


def silent(algorithm: Any) -> bool:
    """Noise that is dialled, or a walk whose law nobody has bounded, promises nothing."""
    return dialled(algorithm) or getattr(algorithm, "sampler", "") == "hit-and-run"


EDGES: dict[str, Callable[[], Edges]] = {
    "Algorithm 2": _localiser,
    "Algorithm 4": lambda: _beside(_solver(DoubleOutputPert, 12.0), [], _runs(DoubleOutputPert)),
    "one stage": _single,
    "structured": lambda: _solver(StructuredDoubleOutputPert, 12.0),
    "Algorithm 5": lambda: _selection(EMPGM),
    "smoothed": lambda: _selection(SmoothedEMPGM),
    "Algorithm 7": _gibbs,
    "baseline": _baseline,
}
BESIDE: dict[str, Callable[[], Edges]] = {
    "Algorithm 1": _localised,
    "Algorithm 3": _subgradients,
    "lower bounds": _lower,
}
"""Algorithm -> plans and calls at its edges."""
