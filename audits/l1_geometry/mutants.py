"""Mutants of the l1 algorithms: noise, sampling, trees and steps, one of them too noisy."""

import math
from dataclasses import replace

import numpy as np

from dpcheck.accounting import account
from dpcheck.algorithms.l1_geometry import (
    GeneralLocalizedMirrorDescent,
    GeneralNoisyMirrorDescent,
    LocalizedMirrorDescent,
    NoisyMirrorDescent,
    StronglyConvexReduction,
    TreeFrankWolfe,
)
from dpcheck.algorithms.l1_geometry.descent import descend
from dpcheck.algorithms.l1_geometry.frank_wolfe import record_count, weights
from dpcheck.geometry import Entropy
from dpcheck.geometry.norms import norm
from dpcheck.harness.replay import Case
from dpcheck.interfaces import Problem
from dpcheck.laws import Gaussian
from dpcheck.mutants import Mutant
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.running import Fixed
from dpcheck.testing import kill_by_number
from dpcheck.workloads.crosspolytope import SignLasso, SignLinear

WIDE = SignLinear(mu=(0.5, 0.0, 0.0), R=50.0)
LASSO = SignLasso(x_star=(0.6, -0.2, 0.0))
APPROX, PURE = ApproxDP(1.0, 1e-5), PureDP(1.0)


def problem(work, privacy):
    return Problem.of(work, privacy)


def swapped(n, place, d=3):
    data = np.ones((1, n, d))
    other = data.copy()
    other[0, place] = -1.0
    return data, other


def averaged_noise():
    """Accounted epsilon when b draws of noise are averaged: standard deviation sigma/sqrt b at b = n."""
    n = 10_000
    plan = NoisyMirrorDescent(batch=n).schedule(problem(WIDE, APPROX), n)
    plan = plan.edit("gradient", law=lambda law: Gaussian(law.sigma / math.sqrt(n)), reads=lambda reads: tuple(
        replace(read, sampling=None) for read in reads
    ))  # fmt: skip
    return account(plan, n).epsilon(1e-5)


class Overlapping(LocalizedMirrorDescent):
    """Every phase reads the records from the first on, as the printed sum does."""

    def execute(self, run, workload, data, start):
        x = start
        for row in run.schedule.phases:
            x = descend(run.inside(f"phase {row.i}/", run.schedule), row, workload, data.part(0, row.records), x)
        return x


def moved_elsewhere(kind):
    """Largest movement over claim when a record of the first phase changes: inf where a later phase moves too."""
    algorithm = kind(distance=1.0)
    seen = Case(algorithm, WIDE, problem(WIDE, APPROX)).replay(*swapped(64, 0), 8)
    return max(float(np.max(m.ratio)) for m in seen.movements if m.release.name != "phase 1/gradient")


def half_noise():
    """Worst stretch of the tree at half of the safe noise, under certified sensitivities."""
    plan = TreeFrankWolfe(T=3, batch=64, sensitivity="safe").schedule(problem(LASSO, PURE), record_count(64, 3))
    plan = plan.edit("phase *", law=lambda law: type(law)(law.scale / 2))
    return account(plan).epsilon(0.0)


def step_weights(kind):
    """How far the weights of the leaves are from adding up to 1."""
    rows = TreeFrankWolfe(T=3, batch=64).schedule(problem(LASSO, PURE), record_count(64, 3)).phases
    rows = tuple(replace(row, offset=row.offset + kind) for row in rows)
    return abs(math.fsum(weight for weight, _, _ in weights(rows)) - 1)


def noise_over_stated(factor):
    """Selection noise of the last phase over 2LD2^t/(b eps)."""
    plan = TreeFrankWolfe(T=2, batch=64, noise_dial=factor).schedule(problem(LASSO, PURE), record_count(64, 2))
    stated = 2 * LASSO.constants.lipschitz(1.0) * 2 * 4 / 64
    return plan.phases[-1].scale / stated


def slope_spread(sign):
    """Spread of <g, x> + KL/eta's gradient at the step: 0 for the mirror step."""
    x, g = np.array([[0.2, 0.3, 0.5]]), np.array([[1.0, -1.0, 0.5]])
    after = Entropy().step(x, sign * g, 0.5)
    slope = g + (np.log(after) - np.log(x)) / 0.5
    return float(np.ptp(slope))


def euclidean_noise():
    """Accounted epsilon of Algorithm 5 at p = 1.01, d = 40,000 with the noise of p = 2: d^(1/2 - 1/q) is missing."""
    d, n = 40_000, 100
    work = SignLinear(mu=(0.5, *[0.0] * (d - 1)), shape="lp", p=1.01)
    plan = GeneralNoisyMirrorDescent(p=1.01, batch=10).schedule(problem(work, APPROX), n)
    honest = plan.phases[0].sigma
    size = plan.phases[0].sensitivity * plan.phases[0].b / 2 / work.constants.lipschitz(1.01)
    plan = plan.edit("gradient", law=Gaussian(honest / size))
    return account(plan, n).epsilon(1e-5)


class Unbounded(GeneralLocalizedMirrorDescent):
    """Phases without their balls."""

    def execute(self, run, workload, data, start):
        rows = tuple(replace(row, radius=50.0) for row in run.schedule.phases)
        return super().execute(run.inside("", replace(run.schedule, phases=rows)), workload, data, start)


def largest_movement(kind):
    """Distance of the output from the start over the sum of the radii, in runs with a lot of noise."""
    algorithm, told, n = kind(p=1.5, c_sigma=100.0, distance=0.1), problem(WIDE, APPROX), 64
    rng = np.random.default_rng(0)
    out = algorithm.fit(WIDE, Fixed(WIDE.rows(rng, 1, n)), told, rng=rng, trials=50)
    return float(norm(out, 1.5).max()) / algorithm.movement(told, n)


class SameRecords(StronglyConvexReduction):
    """Every restart reads the records from the first on."""

    def execute(self, run, workload, data, start):
        rows = tuple(replace(row, first=0) for row in run.schedule.phases)
        return super().execute(run.inside("", replace(run.schedule, phases=rows)), workload, data, start)


def restarts_moved(kind):
    """Largest movement over claim of a later restart when a record of the first one changes."""
    algorithm = kind(inner=TreeFrankWolfe(sensitivity="safe", allocation="fixed", T=1, budget="economical"))
    rng, n = np.random.default_rng(0), 512
    data = LASSO.rows(rng, 1, n)
    other = data.copy()
    other[0, 0, :-1] *= -1
    seen = Case(algorithm, LASSO, problem(LASSO, PURE)).replay(data, other, 8)
    return max(float(np.max(m.ratio)) for m in seen.movements if not m.release.name.startswith("run 1/"))


averaged = Mutant(
    name="l1-averaged-noise",
    about="l1_geometry/alg-1",
    bug="b draws of noise are averaged with the b gradients, where one draw stands outside of the average",
    kill=kill_by_number("accountant", "(1, 1e-5)-DP", averaged_noise, 1.0),
)
overlapping = Mutant(
    name="l1-overlapping-phases",
    about="l1_geometry/alg-2",
    bug="every phase sums over the records 1..n_i, so that a record enters all of them",
    kill=kill_by_number("replay", "a record moves its own phase alone", lambda: moved_elsewhere(Overlapping), 0.0),
)
halved = Mutant(
    name="l1-tree-half-noise",
    about="l1_geometry/alg-3",
    bug="the noise that is right for the root at every leaf, though a right child subtracts two gradients",
    kill=kill_by_number("accountant", "1-DP", half_noise, 1.0),
)
late = Mutant(
    name="l1-tree-late-steps",
    about="l1_geometry/alg-3",
    bug="steps 2/(k + 2): the first one keeps a part of the start, and weights do not add up to 1",
    kill=kill_by_number("leaf weights", "leaf weights add up to 1", lambda: step_weights(1), 0.0),
)
noisy = Mutant(
    name="l1-tree-noise-times-eight",
    about="l1_geometry/alg-3",
    bug="eight times the noise that Theorem 6 states: private, and useless",
    kill=kill_by_number("stated scale", "lambda = 2LD2^t/(b eps)", lambda: noise_over_stated(8.0), 1.0),
)
ascent = Mutant(
    name="l1-entropic-ascent",
    about="l1_geometry/alg-4",
    bug="exponentiated gradient with the wrong sign",
    kill=kill_by_number("optimality condition", "x+ solves the mirror problem", lambda: slope_spread(-1), 0.0),
)
disjoint = Mutant(
    name="l1-disjoint-phases",
    about="l1_geometry/alg-2",
    bug="none: the phases of Algorithm 2 on disjoint blocks",
    kill=kill_by_number(
        "replay", "a record moves its own phase alone", lambda: moved_elsewhere(LocalizedMirrorDescent), 0.0
    ),
    lookalike=True,
)
descent = Mutant(
    name="l1-entropic-descent",
    about="l1_geometry/alg-4",
    bug="none: the mirror step written as a softmax",
    kill=kill_by_number("optimality condition", "x+ solves the mirror problem", lambda: slope_spread(1), 1e-12),
    lookalike=True,
)
euclidean = Mutant(
    name="l1-lp-euclidean-noise",
    about="l1_geometry/alg-5",
    bug="the noise takes the l_q bound of a gradient for its Euclidean length: d^(1/2 - 1/q) is missing",
    kill=kill_by_number("accountant", "(1, 1e-5)-DP", euclidean_noise, 1.0),
)
unbounded = Mutant(
    name="l1-lp-phases-without-balls",
    about="l1_geometry/alg-6",
    bug="the phases are not confined to their balls",
    kill=kill_by_number("movement", "|x_k - x_0|_p <= sum of the radii", lambda: largest_movement(Unbounded), 1.0),
)
confined = Mutant(
    name="l1-lp-phases-in-balls",
    about="l1_geometry/alg-6",
    bug="none: Algorithm 6 under much noise",
    kill=kill_by_number(
        "movement", "|x_k - x_0|_p <= sum of the radii",
        lambda: largest_movement(GeneralLocalizedMirrorDescent), 1.0,
    ),
    lookalike=True,
)  # fmt: skip
same_records = Mutant(
    name="l1-restarts-on-the-same-records",
    about="l1_geometry/proc-strongly-convex-reduction",
    bug="every restart reads the records from the first on",
    kill=kill_by_number("replay", "a record moves its own run alone", lambda: restarts_moved(SameRecords), 0.0),
)
own_records = Mutant(
    name="l1-restarts-on-fresh-records",
    about="l1_geometry/proc-strongly-convex-reduction",
    bug="none: the restarts on disjoint records",
    kill=kill_by_number(
        "replay", "a record moves its own run alone", lambda: restarts_moved(StronglyConvexReduction), 0.0
    ),
    lookalike=True,
)
