"""Seeded bugs of the l1 algorithms: noise, sampling, trees and steps, one too noisy; and correct look-alikes."""

import math
from dataclasses import replace

import numpy as np
import scipy

from dpcheck.algorithms.l1_geometry import (
    GeneralLocalizedMirrorDescent,
    GeneralNoisyMirrorDescent,
    LocalizedMirrorDescent,
    NoisyMirrorDescent,
    StronglyConvexReduction,
    TreeFrankWolfe,
    descent,
    entropic,
)
from dpcheck.algorithms.l1_geometry.frank_wolfe import Tree
from dpcheck.geometry.norms import norm
from dpcheck.mutants import seeded


def with_noise(plan, factor, name):
    """The plan with so many times its noise, which has that name in the rows and in the laws of the releases."""

    def louder(each):
        return replace(each, **{name: getattr(each, name) * factor})

    return replace(plan.edit("*", law=louder), phases=tuple(map(louder, plan.phases)))


def with_rows(original, self, run, change, *rest):
    """The run with changed rows."""
    rows = tuple(change(row) for row in run.schedule.phases)
    return original(self, run.inside("", replace(run.schedule, phases=rows)), *rest)


def one_after_the_other(original, self, run, *rest):
    """The run with blocks that begin where the block before ends."""
    ends = np.cumsum([row.records for row in run.schedule.phases])
    starts = iter(int(end) for end in ends - [row.records for row in run.schedule.phases])
    return with_rows(original, self, run, lambda row: replace(row, first=next(starts)), *rest)


@seeded("l1_geometry/alg-1", NoisyMirrorDescent, "schedule")
def averaged_noise(original, self, problem, n):
    """b draws of noise are averaged with the b gradients, where one draw stands outside of the average."""
    plan = original(self, problem, n)
    return with_noise(plan, 1 / math.sqrt(plan.phases[0].b), "sigma")


@seeded("l1_geometry/alg-2", LocalizedMirrorDescent, "execute")
def overlapping_phases(original, self, run, *rest):
    """Every phase sums over the records 1..n_i, so that a record enters all of them."""
    return with_rows(original, self, run, lambda row: replace(row, first=0), *rest)


@seeded("l1_geometry/alg-2", LocalizedMirrorDescent, "execute", lookalike=True)
def disjoint_phases(original, self, run, *rest):
    """None: the blocks are cut one after the other."""
    return one_after_the_other(original, self, run, *rest)


@seeded("l1_geometry/alg-3", TreeFrankWolfe, "phases")
def tree_half_noise(original, self, problem, n):
    """The noise that is right for the root at every leaf, though a right child subtracts two gradients."""
    factor = 1.0 if self.sensitivity == "printed" else 0.5
    return (replace(row, scale=factor * row.scale) for row in original(self, problem, n))


@seeded("l1_geometry/alg-3", Tree, "way")
def tree_half_way(original, self, node):
    """The way from a parent's point to its right child's is taken for that to the middle of it."""
    return original(self, node) / 2


@seeded("l1_geometry/alg-3", Tree, "sets")
def tree_root_read_again(original, self):
    """The last right child reads records of the root once more."""
    function = original(self)
    last = max(function, key=lambda node: (len(node), node))
    start, stop = function[last]
    return function | {last: (self.first, self.first + stop - start)}


@seeded("l1_geometry/alg-3", Tree, "step")
def tree_late_steps(original, self, leaf):
    """Steps 2/(k + 2): the first one keeps a part of the start, and weights do not add up to 1."""
    return original(self, leaf + 1)


@seeded("l1_geometry/alg-3", TreeFrankWolfe, "phases")
def tree_noise_times_eight(original, self, problem, n):
    """Eight times the noise that Theorem 6 states: private, and useless."""
    return (replace(row, scale=8 * row.scale) for row in original(self, problem, n))


@seeded("l1_geometry/alg-4", entropic, "eg_step")
def entropic_ascent(original, x, gradient, eta):
    """Exponentiated gradient with the wrong sign."""
    return original(x, -gradient, eta)


@seeded("l1_geometry/alg-4", entropic, "eg_step", lookalike=True)
def entropic_descent(original, x, gradient, eta):
    """None: the mirror step written as a softmax."""
    return scipy.special.softmax(np.log(x) - eta * gradient, axis=-1)


@seeded("l1_geometry/alg-5", GeneralNoisyMirrorDescent, "size")
def lp_euclidean_noise(original, self, problem):
    """The noise takes the l_q bound of a gradient for its Euclidean length: d^(1/2 - 1/q) is missing."""
    return problem.constants.lipschitz(self.norm())


@seeded("l1_geometry/alg-6", GeneralLocalizedMirrorDescent, "execute")
def lp_phases_without_balls(original, self, run, *rest):
    """The phases are not confined to their balls."""
    return with_rows(original, self, run, lambda row: replace(row, radius=50.0), *rest)


@seeded("l1_geometry/alg-6", descent, "minimiser", lookalike=True)
def lp_phases_in_balls(original, mirror, domain, centre, radius):
    """None: what lies in its ball is scaled into it once more."""
    best = original(mirror, domain, centre, radius)

    def again(theta):
        u = best(theta)
        return u * np.minimum(1.0, radius / np.maximum(norm(u, mirror.p), 1e-300))[..., None]

    return again


@seeded("l1_geometry/proc-strongly-convex-reduction", StronglyConvexReduction, "execute")
def restarts_on_the_same_records(original, self, run, *rest):
    """Every restart reads the records from the first on."""
    return with_rows(original, self, run, lambda row: replace(row, first=0), *rest)


@seeded("l1_geometry/proc-strongly-convex-reduction", StronglyConvexReduction, "execute", lookalike=True)
def restarts_on_fresh_records(original, self, run, *rest):
    """None: the blocks are cut one after the other."""
    return one_after_the_other(original, self, run, *rest)
