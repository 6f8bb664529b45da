"""Equal records: only the noise is drawn, the same for all members of a family, which are run in one batch.

With all records equal a sample of any size has the mean of the block, so that n costs nothing and what is left of the
risk is that of optimisation and of privacy. The algorithm's own lines run, on its own schedule, or on one of fewer
steps whose noise adds up to the same law, where a row names one (`Equal.plan`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.errors import InvalidInput
from dpcheck.geometry import Domain
from dpcheck.harness.scaling.engines import Instance, Risk, statistic
from dpcheck.interfaces import Array, Constants, Release, Rng, Sample, Schedule
from dpcheck.running import Fresh, Run
from dpcheck.workloads.base import BaseWorkload


@dataclass(frozen=True)
class Equal:
    """The mean, or a quantile, of the excess risk over the noise.

    Attributes:
        trials: draws of all noise, a quarter as many for a pilot.
        plan: the schedule that is run; None for the algorithm's own.
    """

    trials: int
    quantile: float | None = None
    rounds: int = 1
    plan: Callable[[Instance], Schedule[Any]] | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        return self.together([instance], seed, *key, pilot=pilot)[0]

    def together(self, instances: Sequence[Instance], seed: int, *key: Any, pilot: bool = False) -> list[Risk]:
        """The risks of instances of one problem, under the same noise; the last word of the key says which noise."""
        one, trials = instances[0], self.trials // 4 if pilot else self.trials
        if any((each.algorithm, each.n) != (one.algorithm, one.n) for each in instances):
            raise InvalidInput("only members that one algorithm meets at one size are run in a batch")
        plan = one.algorithm.schedule(one.problem, one.n) if self.plan is None else self.plan(one)
        works = Works(tuple(each.work for each in instances))
        rng = seeds.stream(seed, "equal", "pilot" if pilot else key[-1:])
        run = Noise(plan, trials, len(works.each), rng)
        start = works.project(np.zeros((1, works.constants.d)))
        point = one.algorithm.execute(run, works, Fresh(works, run.trials, one.n, seed), start)
        risks = works.excess_risk(np.broadcast_to(point, (run.trials, works.constants.d)))
        return [statistic(each, self.quantile) for each in np.split(risks, len(works.each))]


@dataclass(frozen=True)
class Works(BaseWorkload):
    """Workloads of one domain, one after the other along the trials, each with its one record."""

    each: tuple[Any, ...]

    @property
    def domain(self) -> Domain:
        shared: Domain = self.each[0].domain
        return shared

    @property
    def constants(self) -> Constants:
        shared: Constants = self.each[0].constants
        return shared

    def _parts(self, *arrays: Array) -> Iterator[tuple[Any, ...]]:
        trials = max(map(len, arrays))
        whole = (np.broadcast_to(each, (trials, *each.shape[1:])) for each in arrays)
        return zip(self.each, *(np.split(each, len(self.each)) for each in whole), strict=True)

    def loss(self, w: Array, z: Array) -> Array:
        return np.concatenate([work.loss(own, record[:1]) for work, own, record in self._parts(w, z)])

    def gradient(self, w: Array, z: Array) -> Array:
        pairs = [(work.gradient(own, record[:1]), own.shape) for work, own, record in self._parts(w, z)]
        return np.concatenate([np.broadcast_to(each, shape) for each, shape in pairs])

    def excess_risk(self, w: Array) -> Array:
        return np.concatenate([work.excess_risk(own) for work, own in self._parts(w)])

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        """One record a trial stands for all."""
        records = [work.rows(rng, 1, 2) for work in self.each]
        if any((pair[0, 0] != pair[0, 1]).any() for pair in records):
            raise InvalidInput("two records of a member differ; the engine for equal records cannot run it")
        return np.concatenate([np.repeat(pair[:, :1], trials // len(self.each), axis=0) for pair in records])

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        return Sample(self.rows(rng, trials, n), np.full((1, 1), float(n)))


class Noise(Run[Any]):
    """Trials of several members, one after the other: every member meets the same noise, and a sample is its block."""

    def __init__(self, schedule: Schedule[Any], trials: int, members: int, rng: Rng) -> None:
        super().__init__(schedule, trials * members, rng)
        self._members = members

    def _draw(self, release: Release, core: Array) -> Array:
        self._outer.transcript.entries.clear()  # nobody replays it
        state, draws = self._source().bit_generator.state, []
        for own in np.split(core, self._members):
            self._source().bit_generator.state = state
            draws.append(super()._draw(release, own))
        return np.concatenate(draws)

    def subsample(self, name: str, block: Sample) -> Sample:
        return block
