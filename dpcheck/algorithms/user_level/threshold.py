"""Algorithm 4, AboveThreshold, and what a threshold drawn anew for each query costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Read, Release, Schedule, Workload
from dpcheck.laws import AboveThreshold
from dpcheck.privacy import PureDP, pure_to_zcdp
from dpcheck.running import Run


@dataclass(frozen=True)
class RedrawnThreshold(AboveThreshold):
    """The test with a fresh coin for each query: bits of the same score are independent, and no query is free."""

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """count sensitivity/max(threshold, query): the noise of a query is a sum of two Laplace variables."""
        return count * sensitivity / max(self.threshold, self.query)

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """What pure DP of one query implies, `count` times."""
        return count * pure_to_zcdp(self.pure(sensitivity))


@dataclass(frozen=True, kw_only=True)
class Queries:
    """`count` queries against `level`: Laplace noise of scale `threshold` once and of scale `query` each time."""

    count: int
    level: float
    threshold: float
    query: float


@dataclass(frozen=True)
class ThresholdTest(Algorithm[Queries]):
    """Algorithm 4 on queries of sensitivity 1: records lie in [0, 1]^T, query t is the sum of their t-th entries.

    Attributes:
        level: the threshold Delta; count: T, the number of queries.
        sensitivity: of the queries; the noise grows with it.
    """

    level: float = 0.0  # the same: no statement names a default
    count: int = 10  # the same: no statement names a default
    sensitivity: float = 1.0

    label = "user_level/alg-4"
    subroutine: ClassVar[bool] = True
    readings: ClassVar = {}

    def __post_init__(self) -> None:
        if self.count < 1 or not self.sensitivity > 0:
            raise InvalidInput(f"needs count >= 1 and sensitivity > 0, got {self.count} and {self.sensitivity!r}")

    def schedule(self, problem: Problem, n: int) -> Schedule[Queries]:
        epsilon, _ = self.privacy_budget(problem)
        row = Queries(
            count=self.count,
            level=self.level,
            threshold=2 * self.sensitivity / epsilon,
            query=4 * self.sensitivity / epsilon,
        )
        law = AboveThreshold(threshold=row.threshold, query=row.query)
        read = Read(start=0, stop=n, sensitivity=self.sensitivity)
        return Schedule(
            phases=(row,),
            releases=(Release(name="bit", law=law, reads=(read,), count=self.count),),
            gradients=0,
            floats_per_trial=n * self.count,
            claimed=PureDP(epsilon),
        )

    def execute(self, run: Run[Queries], workload: Workload, data: Data, start: Array) -> Array:
        """Bits (trials, T): 1 where the noisy query reached the noisy level, NaN from the query after that on."""
        (row,) = run.schedule.phases
        sample = data.read()
        values = np.clip(sample.values, 0.0, 1.0)
        totals = np.einsum("tr,trq->tq", np.broadcast_to(sample.weights, values.shape[:2]), values)
        coin = run.coins(lambda rng: rng.laplace(scale=row.threshold, size=(run.trials, 1)))
        bits = []
        for t in range(row.count):
            bit = run.release("bit", totals[:, t : t + 1] - row.level - coin)
            bits.append(bit)
            run.halt(bit[:, 0] == 1)
        return np.concatenate(bits, axis=1)
