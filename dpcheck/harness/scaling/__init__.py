"""Rates that decide: a stated exponent measured over a window, and every control told apart. See `rows`.

* `terms`: which term of a claim's order leads, and with which exponent.
* `families`: the class as an immutable grid; `controls`: outputs that read no data, on the same members.
* `engines`: drawn records and counts; `line`: the law of an iterate in one dimension without records; `affine`: phases
  of averaged descent on quadratics, in closed form but for the noise, and `axial` in any dimension; `wide`: accelerated
  descent on them, by second moments alone; `equal`: equal records, where only noise is drawn; `simulated`: steps in
  closed form, noise drawn, `turned_back` on an interval; `walk`: the average of a clipped walk of any length
  on an interval.
* `slopes`: slope, interval and word; `rows`: the decorator `scaling` and the judge.
* `pairs`: every statement and variable, with its rows or the reason why there are none.
"""

from __future__ import annotations

from dpcheck.harness.scaling.affine import AffinePhases, Pull, averaged_descent
from dpcheck.harness.scaling.axial import Axial, AxialPull
from dpcheck.harness.scaling.engines import Drawn, Engine, Instance, Risk, admitted
from dpcheck.harness.scaling.equal import Equal
from dpcheck.harness.scaling.families import Axis, Family, geometric, powers
from dpcheck.harness.scaling.line import Line, Move, clipped_mean
from dpcheck.harness.scaling.pairs import RatePair, pairs
from dpcheck.harness.scaling.rows import Row, scaling
from dpcheck.harness.scaling.simulated import Simulated, one_by_one
from dpcheck.harness.scaling.slopes import Rate, Series, Word, rate
from dpcheck.harness.scaling.walk import Steps, Walk
from dpcheck.harness.scaling.wide import Accelerating, Wide
from dpcheck.unmeasured import unmeasured

__all__ = [
    "Accelerating",
    "AffinePhases",
    "Axial",
    "AxialPull",
    "Axis",
    "Drawn",
    "Engine",
    "Equal",
    "Family",
    "Instance",
    "Line",
    "Move",
    "Pull",
    "Rate",
    "RatePair",
    "Risk",
    "Row",
    "Series",
    "Simulated",
    "Steps",
    "Walk",
    "Wide",
    "Word",
    "admitted",
    "averaged_descent",
    "clipped_mean",
    "geometric",
    "one_by_one",
    "pairs",
    "powers",
    "rate",
    "scaling",
    "unmeasured",
]
