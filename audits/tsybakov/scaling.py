"""Instances of Algorithm 3 on the line, and wrong schedules of it, whose rates are measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace

from dpcheck.algorithms.tsybakov import LocalisedClipped
from dpcheck.algorithms.tsybakov.localised import Phase, averaged_moment
from dpcheck.harness.scaling import Family, Instance, Line, Move, clipped_mean, geometric
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.interfaces import Problem
from dpcheck.workloads.linear import TwoPoint

from .cases import localised, problem

DELTA = 1e-40
"""Of the promise: far below every epsilon of a window."""
TILTS = Family.of(mirrored=True, tilt=geometric(1.0, 1 / 4, 30))
"""Linear losses ±w with mean gradient 1, 1/4, 1/16, …: neither n nor the algorithm enters."""


def tilted(n: int, tilt: float, k: float, epsilon: float) -> Instance:
    """The corrected Algorithm 3, its phases taken to where they lead, on a linear loss over [-1, 1]."""
    work, algorithm = TwoPoint(D=2.0, G=1.0, rho=tilt), localised(k)
    told = problem(work, epsilon, DELTA)
    at = {
        "n": float(n), "k": k, "d": 1.0, "D": work.D, "R_2k": averaged_moment(work.constants, 2 * k, n),
        "p": algorithm.p, "epsilon": epsilon, "delta": DELTA, "beta": told.failure_probability,
    }  # fmt: skip
    return Instance(algorithm, work, told, n, at)


def moves(one: Instance) -> list[Move]:
    """The phases of its own schedule, each a step of -ḡ/λ_i and then the noise on the output."""
    found = []
    for phase in one.algorithm.schedule(one.problem, one.n).phases:
        mean, deviation = clipped_mean(one.work, phase.level)
        found.append(Move(-mean / phase.weight, deviation / (math.sqrt(phase.records) * phase.weight), phase.sigma))
    return found


ON_THE_LINE = Line(moves)


class FirstPhase(LocalisedClipped):
    """The first phase alone: no localisation."""

    def phases(self, problem: Problem, n: int) -> tuple[Phase, ...]:
        return super().phases(problem, n)[:1]


def without_localisation(one: Instance) -> Instance:
    chosen = one.algorithm
    return one.running(FirstPhase(**{field.name: getattr(chosen, field.name) for field in fields(chosen)}))


def shorter_steps(one: Instance) -> Instance:
    """η too small by n^(1/8)."""
    chosen = one.algorithm
    assert isinstance(chosen, LocalisedClipped)
    return one.running(replace(chosen, eta=chosen.step(one.problem, one.n) * one.n**-0.125))


WRONG: Mapping[str, Mutant] = {"no localisation": without_localisation, "η times n^(-1/8)": shorter_steps}
