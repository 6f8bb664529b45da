"""Algorithms at printed constants on quadratic bowls, without records; wrong schedules of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpcheck.algorithms.user_level import GroupPrivacy, PhasedERM, SmoothedERM, StronglyConvex
from dpcheck.algorithms.user_level.minibatch import Batches
from dpcheck.algorithms.user_level.strongly_convex import Round
from dpcheck.engine.statements import stated
from dpcheck.harness.scaling import (
    Accelerating,
    Axis,
    Family,
    Instance,
    Wide,
)
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.workloads.sign_bowl import SignBowl

from .cases import _wide, bowl, phases, without_localisation


def accelerated(algorithm: PhasedERM, curvature: float, **at: Any) -> Instance:
    """Algorithm 3 where its private term leads: so many dimensions that √d/ε is far above √n."""
    one = bowl(algorithm, curvature=curvature, **{"n": 10**9, "m": 10**24, "d": 10**22, "epsilon": 10.0} | at)
    p, q = algorithm.exponents(one.problem, one.n)
    return replace(one, at={**one.at, "p": p, "q": q, "tau": phases(one)[0].tau})


def restarted(mu: float, steeper: float, **at: Any) -> Instance:
    """Restarts of it on losses of that strong convexity, and more."""
    one = accelerated(PATIENT, mu * steeper, **{"n": 10**12} | at).running(StronglyConvex(mu=mu, inner=PATIENT))
    last = phases(one)[-1].users
    users = {name: one.at[name] for name in ("m", "d", "epsilon", "delta", "L")}
    there = {name: float(value) for name, value in accelerated(PATIENT, mu, **users, n=last).at.items()}
    rho = stated("user_level/lem-d2@balanced", **there) / one.at["L"]
    return replace(one, at={**one.at, "mu": mu, "rho": rho})


def baseline(curvature: float, **at: Any) -> Instance:
    """Group privacy where its private term leads: users of many samples."""
    return bowl(GroupPrivacy(), curvature=curvature, **{"n": 2**40, "m": 2**44, "d": 100} | at)


def smoothed(curvature: float, **at: Any) -> Instance:
    """The smoothed Algorithm 3 where its private term leads, from the weight at which (17) gives noise a distance D."""
    algorithm = SmoothedERM(c_batch=ALL, phases=PHASES)
    one = bowl(algorithm, curvature=curvature, **{"n": 10**9, "m": 10**22, "d": 10**10, "epsilon": 0.01} | at)
    (first, *_), (p, q) = phases(one), algorithm.exponents(one.problem, one.n)
    left = stated("user_level/fact-eq-17@derived", V=math.sqrt(first.variance), T=float(first.steps), **{"lambda": 1.0})
    p += math.log2(math.sqrt(left) / one.at["D"] / first.weight)
    return replace(one, algorithm=replace(algorithm, p=p), at={**one.at, "q": q, "tau": first.tau})


def accelerating(one: Instance) -> list[Accelerating]:
    """The phases of Algorithm 3, of all rounds: whole batches or distinct users, no gradient is an outlier."""
    work: SignBowl = one.work.each
    found = []
    for phase in phases(one):
        for batches in phase.inner.phases if isinstance(phase, Round) else (phase,):
            assert isinstance(batches, Batches)
            plan, _ = batches.stages()
            each = work.deviation**2 / one.problem.samples_per_user
            sampling = each / batches.users
            # The mean of a minibatch lies so far from that of all users of the phase, anew in each step.
            drawn = (work.curvature**2) * each * (1 / batches.batch - 1 / batches.users)
            d, records = one.problem.constants.d, batches.users * one.problem.samples_per_user
            # A gradient takes each shift of the smoothing to its point.
            shifts = (work.curvature * batches.shift) ** 2 * d / (d + 2) / records
            noise = d * batches.sigma**2 + drawn + shifts
            found.append(Accelerating([(s.steps, s.upsilon) for s in plan], batches.weight, noise, sampling))
    return found


BY_MOMENTS = Wide(accelerating)
BY_COARSER_MOMENTS = Wide(accelerating, grain=1)
"""Where nearly no step is projected, so that longer blocks do."""
CONVEX = Family.of(mirrored=True, steeper=Axis((1.0, 4.0), closed=(True, False)))
"""Bowls of the least curvature that strong convexity allows, and steeper."""


PHASES = 20
"""Of the smoothed algorithm, whose weight is then 2^600 times that of the first: those left out could move no point."""
ALL = 1e30
"""K_i/n_i before it is capped at 1, at least, in all of these: no sampled phase is certified."""
PATIENT = PhasedERM(c_steps=4.0, c_batch=1e12)
"""Lemma D.2 leaves constants open: four times the steps, for one is too few for the stages of AC-SA, and all users in
every minibatch."""


SAMPLED = PhasedERM(c_steps=4.0, **PhasedERM.readings["sampled"])
"""The reading whose sampled phases are certified, with the same patience."""


def long_steps(one: Instance) -> Instance:
    """η is too long, and the noise follows."""
    assert isinstance(one.algorithm, GroupPrivacy)
    return one.running(replace(one.algorithm, eta=one.algorithm.step(one.problem, one.n) * _wide(one)))


WRONG_BASELINE: Mapping[str, Mutant] = {"no localisation": without_localisation, "η times (nm)^(1/8)": long_steps}


def heavy(one: Instance) -> Instance:
    """λ is too large, and no noise is felt."""
    assert isinstance(one.algorithm, PhasedERM)
    assert one.algorithm.p is not None
    return one.running(replace(one.algorithm, p=one.algorithm.p + math.log2(_wide(one))))


def impatient(one: Instance) -> Instance:
    """√T_i steps of phase 1, and so the share of the others."""
    assert isinstance(one.algorithm, PhasedERM)
    return one.running(replace(one.algorithm, c_steps=one.algorithm.c_steps * phases(one)[0].steps ** -0.5))


WRONG_SMOOTHED: Mapping[str, Mutant] = {"λ times (nm)^(1/8)": heavy, "√T_i steps": impatient}
