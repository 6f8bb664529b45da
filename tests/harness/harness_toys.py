"""Small workloads and algorithms, right and broken, that exercise every part of the interfaces.

All privacy figures are worked out next to them, so that the harnesses can be held against known answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.interfaces import (
    Algorithm,
    Array,
    Constants,
    Data,
    Problem,
    Read,
    Release,
    Rng,
    Sample,
    Sampling,
    Schedule,
    Workload,
)
from dpcheck.laws import AboveThreshold, Exponential, Gaussian, IsotropicLaplace, Laplace
from dpcheck.privacy import PureDP
from dpcheck.running import Run


@dataclass(frozen=True)
class Mean:
    """1/2 |w - z|^2 on the cube [-1, 1]^d, z uniform on {-1, 1}^d with mean `mean`; excess risk |w - mean|^2 / 2.

    A user's record (m, d) counts through its average.
    """

    d: int = 1
    mean: float = 0.0
    atoms: bool = False
    samples_per_user: int = 0

    @property
    def constants(self) -> Constants:
        return Constants(
            d=self.d,
            diameter=lambda p: 2 * self.d ** (1 / p),
            lipschitz=lambda p: 2 * math.sqrt(self.d),
            smoothness=lambda p: 1.0,
            moment=lambda k, m: 2 * math.sqrt(self.d),
        )

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(((w - z) ** 2).sum(axis=-1) / 2)

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(w - z)

    def project(self, w: Array) -> Array:
        return np.asarray(np.clip(w, -1, 1))

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        if self.atoms:
            ones = rng.binomial(n, (1 + self.mean) / 2, size=trials)
            weights = np.stack([ones, n - ones], axis=1).astype(float)
            return Sample(np.array([[[1.0] * self.d, [-1.0] * self.d]]), weights)
        shape = (n, self.samples_per_user) if self.samples_per_user else (n,)
        rows = np.where(rng.random((trials, *shape, self.d)) < (1 + self.mean) / 2, 1.0, -1.0)
        return Sample(rows, np.ones((1, n)))

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(((w - self.mean) ** 2).sum(axis=-1) / 2)


def problem(d: int = 1, epsilon: float = 1.0, samples_per_user: int = 0) -> Problem:
    return Problem.of(
        Mean(d=d, samples_per_user=samples_per_user),
        PureDP(epsilon),
        samples_per_user=samples_per_user,
    )


PLAIN = problem()


def epsilon_of(problem: Problem) -> float:
    assert isinstance(problem.privacy, PureDP)
    return problem.privacy.epsilon


@dataclass(frozen=True)
class Toy(Algorithm[None]):
    """What the toys share: one way to write a schedule."""

    label: ClassVar[str] = "toy/alg-0"
    readings: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def plan(self, problem: Problem, n: int, *releases: Release, gradients: int = 0) -> Schedule[None]:
        return Schedule(
            phases=(),
            releases=releases,
            gradients=gradients or n,
            floats_per_trial=2 * n * problem.constants.d * max(1, problem.samples_per_user),
            claimed=problem.privacy,
        )


@dataclass(frozen=True)
class NoisyMean(Toy):
    """Mean of records clipped to the cube, plus Laplace noise: sensitivity 2 d / n in l1, tight, exactly epsilon-DP.

    `clip` None forgets the clipping; `count` "half" claims d / n; `bare` returns the core; `mask` sets the answer to 0
    when the first record is negative; `stop` releases only if the first record is positive.
    """

    clip: float | None = 1.0
    claim: float = 2.0
    bare: bool = False
    mask: bool = False
    stop: bool = False

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        sensitivity = self.claim * problem.constants.d / n
        law = Laplace(scale=sensitivity / epsilon_of(problem))
        read = Read(start=0, stop=n, sensitivity=sensitivity)
        return self.plan(problem, n, Release(name="mean", law=law, reads=(read,), norm=1.0))

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        sample = data.read()
        rows = sample.values if self.clip is None else np.clip(sample.values, -self.clip, self.clip)
        core = sample.mean(rows)
        if self.stop and float(sample.values.flat[0]) < 0:
            return np.zeros((run.trials, core.shape[-1]))
        out = run.release("mean", core)
        if self.bare:
            return np.asarray(np.broadcast_to(core, out.shape))
        if self.mask:
            return np.where(sample.values[:, 0] < 0, 0.0, out)
        return workload.project(out)


@dataclass(frozen=True)
class NoisyDescent(Toy):
    """Full-batch gradient steps with Gaussian noise, one entry of count T.

    With `clip` None gradients are linear in the data and shifts do not depend on the history; each step is then
    sensitive to 2 sqrt(d) / n in l2, and T steps are exactly GDP with mu = sqrt(T) 2 sqrt(d) / (n sigma). With `clip`
    the per-record gradients are clipped in norm, sensitive to 2 clip / n, and cores depend on the history. `last_bare`
    forgets to release the last gradient.
    """

    steps: int = 4
    sigma: float = 0.1
    eta: float = 0.5
    clip: float | None = None
    last_bare: bool = False

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        reach = math.sqrt(problem.constants.d) if self.clip is None else self.clip
        read = Read(start=0, stop=n, sensitivity=2 * reach / n)
        entry = Release(name="gradient", law=Gaussian(sigma=self.sigma), reads=(read,), count=self.steps)
        return self.plan(problem, n, entry, gradients=self.steps * n)

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        sample, w = data.read(), start
        for step in range(self.steps):
            per_record = workload.gradient(w[:, None, :], sample.values)
            if self.clip is not None:
                size = np.linalg.norm(per_record, axis=-1, keepdims=True)
                per_record = per_record * np.minimum(1.0, self.clip / np.maximum(size, 1e-300))
            core = sample.mean(per_record)
            bare = self.last_bare and step == self.steps - 1
            w = w - self.eta * (core if bare else run.release("gradient", core))
        return np.asarray(w)


@dataclass(frozen=True)
class UserMean(Toy):
    """User-level: the mean over users of their average, records (m, d), isotropic Laplace: 2 sqrt(d) / n in l2."""

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        sensitivity = 2 * math.sqrt(problem.constants.d) / n
        law = IsotropicLaplace(scale=sensitivity / epsilon_of(problem))
        return self.plan(
            problem, n, Release(name="users", law=law, reads=(Read(start=0, stop=n, sensitivity=sensitivity),))
        )

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        sample = data.read()  # (trials, n, m, d)
        return workload.project(run.release("users", sample.mean(sample.values.mean(axis=2))))


@dataclass(frozen=True)
class Tree(Toy):
    """Sums of both halves and of the whole: three releases; the root reads its halves with weights 1 and 1/2.

    The root's core is mean(left) + mean(right) / 2 over n / 2 records each: sensitivity 4/n and 2/n in l1 (d = 1).
    """

    claims: tuple[float, float] = (4.0, 2.0)

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        half, law = n // 2, Laplace(scale=4 / n)
        left, right = self.claims[0] / n, self.claims[1] / n
        return self.plan(
            problem,
            n,
            Release(name="left", law=law, reads=(Read(start=0, stop=half, sensitivity=4 / n),), norm=1.0),
            Release(name="right", law=law, reads=(Read(start=half, stop=n, sensitivity=4 / n),), norm=1.0),
            Release(
                name="root",
                law=law,
                reads=(
                    Read(start=0, stop=half, sensitivity=left),
                    Read(start=half, stop=n, sensitivity=right),
                ),
                norm=1.0,
            ),
        )

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        half = data.n // 2
        left, right = data.part(0, half).read(), data.part(half, data.n).read()
        one, two = left.mean(left.values), right.mean(right.values)
        outputs = [run.release("left", one), run.release("right", two), run.release("root", one + two / 2)]
        return np.asarray(outputs[0] + outputs[1] + outputs[2])


@dataclass(frozen=True)
class Nested(Toy):
    """`NoisyMean` on each half of the records, the second one halved towards the first: parallel composition.

    `overlap` reads one record of the first half again.
    """

    overlap: int = 0

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        half = n // 2
        inner = NoisyMean().schedule(problem, half)
        releases = (*inner.placed("phase 1/", 0), *inner.placed("phase 2/", half))
        return self.plan(problem, n, *releases)

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        half, inner = data.n // 2, NoisyMean()
        w = start
        for phase, at in ((1, 0), (2, half - self.overlap)):
            schedule: Schedule[None] = inner.schedule(PLAIN, half)
            block = data.part(at, at + half)
            w = (w + inner.execute(run.inside(f"phase {phase}/", schedule), workload, block, w)) / 2
        return np.asarray(w)


@dataclass(frozen=True)
class Halting(Toy):
    """Users' scores against a threshold, one query a block; the first block above it halts, else a mean is released.

    Query t is the mean of block t, sensitivity 2 / (n / blocks) in l1 (d = 1); epsilon is halved between test and mean.
    """

    blocks: int = 3
    level: float = 0.0
    follow_data: bool = False

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        size, epsilon = n // self.blocks, epsilon_of(problem)
        sensitivity = 2 / size
        test = AboveThreshold(threshold=2 * sensitivity / (epsilon / 2), query=4 * sensitivity / (epsilon / 2))
        reads = tuple(Read(start=t * size, stop=(t + 1) * size, sensitivity=sensitivity) for t in range(self.blocks))
        mean = Laplace(scale=2 / n / (epsilon / 2))
        return self.plan(
            problem,
            n,
            Release(name="bits", law=test, reads=reads, norm=1.0, count=self.blocks),
            Release(name="mean", law=mean, reads=(Read(start=0, stop=n, sensitivity=2 / n),), norm=1.0),
        )

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        values = data.read().values  # raw rows: this toy is run on Fixed data
        size = data.n // self.blocks
        law = run.find("bits").law
        assert isinstance(law, AboveThreshold)
        coin = run.coins(lambda rng: rng.laplace(scale=law.threshold, size=(run.trials, 1)))
        for t in range(self.blocks):
            score = values[:, t * size : (t + 1) * size].mean(axis=1)
            bit = run.release("bits", score - self.level - coin)
            halts = bit[:, 0] == 1 if not self.follow_data else np.broadcast_to(score[:, 0] > 0, (run.trials,))
            run.halt(halts)
        return run.release("mean", values.mean(axis=1))


@dataclass(frozen=True)
class Subsampled(Toy):
    """Mean of b of n rows without replacement, Laplace noise: sensitivity 2 / b in l1 whenever the record is drawn."""

    b: int = 3

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        read = Read(start=0, stop=n, sensitivity=2 / self.b, sampling=Sampling("without-replacement", self.b))
        law = Laplace(scale=2 / self.b / epsilon_of(problem))
        return self.plan(problem, n, Release(name="batch", law=law, reads=(read,), norm=1.0), gradients=self.b)

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        batch = run.subsample("batch", data.read())
        return run.release("batch", batch.mean(-workload.gradient(np.zeros((1, 1, 1)), batch.values)))


@dataclass(frozen=True)
class Included(Toy):
    """Mean of values kept by hidden coins with probability p: the record moves it by 2 / n if kept, else by 0 (d = 1).

    A sensitivity of 1 / n is claimed, with failure probability `failure`: true when that is p.
    """

    p: float = 0.1
    failure: float = 0.1

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        read = Read(start=0, stop=n, sensitivity=1 / n, failure=self.failure)
        law = Laplace(scale=1 / n / epsilon_of(problem))
        return self.plan(problem, n, Release(name="kept", law=law, reads=(read,), norm=1.0))

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        values = np.clip(data.read().values, -1, 1)
        keep = run.coins(lambda rng: rng.random((run.trials, data.n))) < self.p
        return run.release("kept", (values * keep[:, :, None]).mean(axis=1))


@dataclass(frozen=True)
class Selection(Toy):
    """The exponential mechanism for a median on three candidates: score mean |c - z|, sensitivity 2 / n."""

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        law = Exponential(coefficient=epsilon_of(problem) * n / 4)
        read = Read(start=0, stop=n, sensitivity=2 / n)
        return self.plan(problem, n, Release(name="pick", law=law, reads=(read,), norm="range"))

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        values = np.clip(data.read().values[..., 0], -1, 1)
        net = np.array([-1.0, 0.0, 1.0])
        scores = np.abs(values[:, :, None] - net).mean(axis=1)
        return net[run.release("pick", scores)[:, 0].astype(int)][:, None]


@dataclass(frozen=True)
class OnePass(Toy):
    """Non-private: one pass of gradient steps over a random order, which is all coins; uniformly stable.

    With f 1-smooth and 1-strongly convex and eta <= 1, a changed step moves the iterate by at most 2 eta (d = 1), and
    later steps contract by 1 - eta: at most 2 eta for the last iterate, attained when the last record is changed.
    """

    eta: float = 0.1

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        return Schedule(phases=(), releases=(), gradients=n, floats_per_trial=2 * n, claimed=None)

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        rows = run.shuffle(data).read().values
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        for t in range(data.n):
            w = workload.project(w - self.eta * workload.gradient(w, rows[:, t]))
        return np.asarray(w)


class NoiseReused(Run[Any]):
    """Every use draws from a stream restarted at each call."""

    def _draw(self, release: Release, core: Array) -> Array:
        return release.law.sample(core, np.random.default_rng(0))


class NoiseOfOneTrial(Run[Any]):
    """All trials share their noise."""

    def _draw(self, release: Release, core: Array) -> Array:
        noise = release.law.sample(np.zeros((1, *core.shape[1:])), self._source())
        return core + noise


class NoiseOfOneCoordinate(Run[Any]):
    """All coordinates share their noise."""

    def _draw(self, release: Release, core: Array) -> Array:
        noise = release.law.sample(np.zeros((len(core), 1)), self._source())
        return core + noise


class Bare(Run[Any]):
    """The last use of a release is not noised."""

    def _draw(self, release: Release, core: Array) -> Array:
        uses = sum(entry.name == release.name for entry in self.transcript.entries)
        return core if uses == release.count - 1 else super()._draw(release, core)
