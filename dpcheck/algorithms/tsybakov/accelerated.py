"""Algorithms 6 and 7: one pass of clipped noisy accelerated SGD over a permuted sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpcheck.accounting.amplification import largest_local_epsilon, shuffle_limit
from dpcheck.accounting.calibration import gaussian_sigma
from dpcheck.algorithms.tsybakov.clipped import Restricted, clipped_gradient
from dpcheck.algorithms.tsybakov.epochs import Epoch, IteratedLocalised, equal_parts, whole_parts
from dpcheck.algorithms.tsybakov.localised import BUDGETS, LocalisedClipped
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Read, Release, Sample, Sampling, Schedule, Workload
from dpcheck.laws import Gaussian
from dpcheck.numerics import next_feasible, smallest_n
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run


@dataclass(frozen=True, kw_only=True)
class ClippedBatches:
    """T batches of b records each, in the mean where records draw their places, clipped at `level`, with noise of
    deviation sigma; gamma scales the prox weights."""

    T: int
    b: float
    level: float
    sigma: float
    gamma: float


def local_shuffled(epsilon: float, delta: float, n: int, label: str) -> tuple[float, float]:
    """(epsilon_0, delta_0) of a record: largest epsilon_0 <= 1/2 whose n shuffled copies stay within (epsilon, delta).

    Raises:
        Infeasible: the amplification lemma asks for epsilon_0 <= log(n/(16 log(4/delta))).
    """
    local = largest_local_epsilon(epsilon, n, delta / 2, 0.5)
    if local > shuffle_limit(n, delta / 2):
        needed = smallest_n(lambda size: local <= shuffle_limit(size, delta / 2))
        got = f"log(n/(16 log(4/delta))) = {shuffle_limit(n, delta / 2):.3g} at n = {n:,}"
        raise Infeasible(label, f"epsilon_0 = {local:.3g} <= log(n/(16 log(4/delta)))", got, needed)
    return local, delta / (2 * (math.exp(epsilon) + 1) * (1 + math.exp(-local) / 2) * n)


Clipped = Callable[[int, Array], Array]
"""(t, w) -> the clipped mean gradient of batch t at w, (trials, d)."""


def permuted_batches(run: Run[ClippedBatches], workload: Workload, data: Data, plan: ClippedBatches) -> Clipped:
    """Batch t is block t of a permutation."""
    b = int(plan.b)
    # What does not fill a batch is left out before the permutation, so that the reads say what can be read.
    shuffled = run.shuffle(data.part(0, plan.T * b))
    return lambda t, w: clipped_gradient(workload, shuffled.part((t - 1) * b, t * b).read(), w, plan.level)


def placed_batches(run: Run[ClippedBatches], workload: Workload, data: Data, plan: ClippedBatches) -> Clipped:
    """Each record is in batch t with chance 1/(2T), and in none with chance 1/2; sums are over b, whatever the size."""
    whole = data.read()
    chances = [
        *([1 / (2 * plan.T)] * plan.T),
        0.5,  # the same: `multinomial` takes what the others leave
    ]
    counts = np.broadcast_to(whole.weights, (run.trials, whole.weights.shape[1])).astype(np.int64)
    places = run.coins(lambda rng: rng.multinomial(counts, chances))

    def clipped(t: int, w: Array) -> Array:
        there = places[..., t - 1].astype(float)
        size = there.sum(axis=1, keepdims=True)
        # An empty batch has the sum 0: its records get some weight, so that the mean is a number.
        sample = Sample(whole.values, np.maximum(there, size == 0))
        return np.asarray(clipped_gradient(workload, sample, w, plan.level) * size / plan.b)

    return clipped


@dataclass(frozen=True)
class PermutedAccelerated(Algorithm[ClippedBatches]):
    """Algorithm 6: T steps of accelerated SGD, batch t = block t of a permutation.

    Attributes:
        k: order of the moment that sets clip level and number of batches.
        calibration: "plain" (parallel composition, exact Gaussian), "shuffle" (amplification of noise per record, as in
            the proof), "best" of the two, "literal" (variance constant·C²T log(1/δ)/(n²ε²), not proven private), or
            "placed": that variance at constant 16, and every record draws one of 2T places, of which T are batches.
        constant: of the literal variance; 64 is Definition 3 at T = 1.
        weights: a_t = 2/(t+1), or the 2/(t+2) printed in Algorithm 7.
        batches: T in place of its formula.
        diameter: D; None for the domain's.
        level: C in place of its formula; the Lipschitz constant turns clipping off.
        noise_dial: multiplies the noise; less than 1 is not private.
    """

    k: float = LocalisedClipped.k
    calibration: Literal["plain", "shuffle", "best", "literal", "placed"] = "best"
    constant: float = 64.0
    weights: Literal["corrected", "printed"] = "corrected"
    batches: int | None = None
    diameter: float | None = None
    level: float | None = None
    noise_dial: float = 1.0

    label = "tsybakov/alg-6"
    budgets = BUDGETS
    readings: ClassVar = {
        "literal": {"calibration": "literal"},
        "plain": {"calibration": "plain"},
        "shuffle": {"calibration": "shuffle"},
        "corrected": {},
        "placed": {"calibration": "placed"},
        "dialled": {"noise_dial": 0.05},
    }

    def __post_init__(self) -> None:
        if not (self.k >= 2 and self.constant > 0 and self.noise_dial > 0):
            raise InvalidInput(
                f"needs k >= 2, constant > 0 and noise_dial > 0, got {self.k}, {self.constant}, {self.noise_dial}"
            )
        if self.calibration not in ("plain", "shuffle", "best", "literal", "placed"):
            raise InvalidInput(f"calibration must be plain, shuffle, best, literal or placed, got {self.calibration!r}")

    def width(self, problem: Problem) -> float:
        """D."""
        return problem.constants.diameter(2.0) if self.diameter is None else self.diameter

    def sigma(self, problem: Problem, level: float, T: int, b: float) -> float:
        """Deviation of the noise on a batch mean. Raises `Infeasible`."""
        epsilon, delta = self.privacy_budget(problem)
        if self.calibration == "placed":
            return self.sigma_of_places(level, T, 2 * T * b, epsilon, delta)
        n = round(T * b)
        if self.calibration == "literal":
            return math.sqrt(self.constant * T * math.log(1 / delta)) * level / (n * epsilon)
        values = []
        if self.calibration in ("plain", "best"):
            values.append(gaussian_sigma(2 * level / b, epsilon, delta))
        if self.calibration in ("shuffle", "best"):
            try:
                local = local_shuffled(epsilon, delta, n, self.label)
                values.append(gaussian_sigma(2 * level, *local) / math.sqrt(b))
            except Infeasible:
                if self.calibration == "shuffle":
                    raise
        return min(values)

    def sigma_of_places(self, level: float, T: int, n: float, epsilon: float, delta: float) -> float:
        """4C√(T log(1/δ))/(nε). Raises `Infeasible` outside the range in which that is private."""
        spent = math.log(1 / delta)
        if not (epsilon <= 1 / 4 and T * epsilon <= spent and T * epsilon**2 <= 2 and spent >= 1):
            needed = "epsilon <= 1/4, T epsilon <= log(1/delta), T epsilon^2 <= 2 and delta <= 1/e"
            got = f"epsilon = {epsilon:g}, T = {T:,}, delta = {delta:g}"
            raise Infeasible(
                self.label, needed, got, advice="T grows with n: choose a smaller epsilon, or fewer batches"
            )
        return 4 * level * math.sqrt(T * spent) / (n * epsilon)

    def in_batches(self, problem: Problem, n: int) -> tuple[int, float]:
        """T and b."""
        r, ratio = problem.constants.moment(self.k, 1), self._ratio(problem, n)
        scale = math.sqrt(problem.constants.smoothness(2.0) * self.width(problem) / r)
        wanted = scale * min(ratio ** ((self.k - 1) / (2 * self.k)), n**0.25) if self.batches is None else self.batches
        T = max(1, math.ceil(wanted))
        if self.calibration == "placed":
            return T, n / (2 * T)
        T = min(n, T)
        return T, n // T

    def _ratio(self, problem: Problem, n: int) -> float:
        """εn/√(d log(1/δ))."""
        epsilon, delta = self.privacy_budget(problem)
        return epsilon * n / math.sqrt(problem.constants.d * math.log(1 / delta))

    def _next_shuffled(self, problem: Problem, n: int) -> int | None:
        """The least larger size whose whole batches are records enough to be shuffled."""

        def enough(size: int) -> bool:
            T, b = self.in_batches(problem, size)
            try:
                local_shuffled(*self.privacy_budget(problem), round(T * b), self.label)
            except Infeasible:
                return False
            return True

        return next_feasible(enough, n)

    def plan(self, problem: Problem, n: int) -> ClippedBatches:
        """T, b, C, σ and γ."""
        c, D = problem.constants, self.width(problem)
        smooth, r = c.smoothness(2.0), c.moment(self.k, 1)
        T, b = self.in_batches(problem, n)
        level = r * self._ratio(problem, n) ** (1 / self.k) if self.level is None else self.level
        try:
            sigma = self.noise_dial * self.sigma(problem, level, T, b)
        except Infeasible as error:
            if self.calibration != "shuffle":
                raise
            raise Infeasible(self.label, error.needs, error.got, self._next_shuffled(problem, n)) from None
        noise = math.sqrt(c.d * sigma**2 + r**2 / b)
        gamma = max(2 * smooth, noise / D * math.sqrt(T * (T + 1) * (2 * T + 1) / 12))
        return ClippedBatches(T=T, b=b, level=level, sigma=sigma, gamma=gamma)

    def schedule(self, problem: Problem, n: int) -> Schedule[ClippedBatches]:
        epsilon, delta = self.privacy_budget(problem)
        if n < 1:
            raise Infeasible(self.label, "at least one record", f"n = {n}", 1)
        plan = self.plan(problem, n)
        placed = self.calibration == "placed"
        sampling = Sampling("places", 2 * plan.T) if placed else Sampling("shuffled", int(plan.b))
        used = n if placed else int(plan.T * plan.b)
        read = Read(start=0, stop=used, sensitivity=2 * plan.level / plan.b, sampling=sampling)
        proven = self.noise_dial >= 1 and self.calibration != "literal"
        return Schedule(
            phases=(plan,),
            releases=(Release(name="batch", law=Gaussian(plan.sigma), reads=(read,), count=plan.T),),
            gradients=used,
            floats_per_trial=(problem.constants.rows(n) + 6) * (problem.constants.d + (plan.T if placed else 0)),
            claimed=ApproxDP(epsilon, delta) if proven else None,
            claimed_by=("tsybakov/thm-6@corrected",) if placed else ("tsybakov/thm-6",),
        )

    def execute(self, run: Run[ClippedBatches], workload: Workload, data: Data, start: Array) -> Array:
        (plan,) = run.schedule.phases
        batches = placed_batches if self.calibration == "placed" else permuted_batches
        clipped = batches(run, workload, data, plan)
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        kept = w
        for t in range(1, plan.T + 1):
            a = 2 / (t + 1) if self.weights == "corrected" else 2 / (t + 2)
            eta = 4 * plan.gamma / (t * (t + 1))
            middle = (1 - a) * kept + a * w
            g = run.release("batch", clipped(t, middle))
            w = workload.project(w - a / eta * g)
            kept = a * w + (1 - a) * kept
        return kept

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `tsybakov/thm-6@derived` and of the settings; n is what its whole batches read, or all that draw
        places."""
        plan, c = self.plan(problem, n), problem.constants
        epsilon, delta = self.privacy_budget(problem)
        shuffled, placed = self.calibration == "shuffle", self.calibration == "placed"
        local = local_shuffled(epsilon, delta, round(plan.T * plan.b), self.label)[0] if shuffled else math.nan
        return {
            "epsilon_0": local,
            "n": n if placed else plan.T * plan.b,
            "T": plan.T,
            "C": plan.level,
            "sigma": plan.sigma,
            "D": self.width(problem),
            "H": c.smoothness(2.0),
            "k": self.k,
            "r_k": c.moment(self.k, 1),
        }


@dataclass(frozen=True)
class IteratedAccelerated(Algorithm[Epoch]):
    """Algorithm 7: Algorithm 6 on parts of doubling size.

    Attributes:
        theta_bar: the known lower bound on theta.
        sizes: exponent of log2 n in the part sizes; "equal" for equal parts.
        calls: number of equal parts; None for floor(log2(2n/log2 n)/2) - 1.
        shrink: run call t on W ∩ B(w_{t-1}, R_{t-1}) with D = 2R_{t-1}, R_t = R_{t-1}/2; as printed, on W.
        k, calibration, weights, noise_dial: of Algorithm 6.
    """

    theta_bar: float = IteratedLocalised.theta_bar
    sizes: Literal["printed", "proof", "equal"] = "printed"
    shrink: bool = False
    k: float = PermutedAccelerated.k
    calibration: Literal["plain", "shuffle", "best", "literal", "placed"] = "best"
    weights: Literal["corrected", "printed"] = "printed"
    noise_dial: float = PermutedAccelerated.noise_dial
    calls: int | None = None

    label = "tsybakov/alg-7"
    budgets = BUDGETS
    readings: ClassVar = {
        "literal": {},
        "corrected": {"sizes": "proof", "weights": "corrected"},
        "shrinking": {"sizes": "proof", "weights": "corrected", "shrink": True},
        "placed": {"sizes": "equal", "weights": "corrected", "shrink": True, "calibration": "placed"},
        "dialled": {"sizes": "proof", "weights": "corrected", "noise_dial": 0.05},
    }

    def parts(self, n: int) -> list[int]:
        """Records of each call. Raises `Infeasible`."""
        if self.sizes == "equal":
            return equal_parts(self.label, n, self.calls)
        return whole_parts(self.label, n, self.theta_bar, self.sizes)

    def call(self, radius: float | None) -> PermutedAccelerated:
        """Algorithm 6, on a ball of that radius when shrinking."""
        return PermutedAccelerated(
            k=self.k,
            calibration=self.calibration,
            weights=self.weights,
            diameter=None if radius is None or not self.shrink else 2 * radius,
            noise_dial=self.noise_dial,
        )

    def schedule(self, problem: Problem, n: int) -> Schedule[Epoch]:
        epsilon, delta = self.privacy_budget(problem)
        radius, start, epochs = problem.constants.diameter(2.0), 0, []
        for t, size in enumerate(self.parts(n), 1):
            inner: Schedule[Any] = self.call(radius).schedule(problem, size)
            epochs.append(Epoch(name=f"epoch {t}", start=start, records=size, radius=radius, inner=inner))
            start, radius = start + size, radius / 2
        proven = self.noise_dial >= 1 and self.calibration != "literal"
        return Schedule(
            phases=tuple(epochs),
            releases=tuple(r for e in epochs for r in e.inner.placed(f"{e.name}/", e.start)),
            gradients=sum(e.inner.gradients for e in epochs),
            floats_per_trial=max(e.inner.floats_per_trial for e in epochs),
            claimed=ApproxDP(epsilon, delta) if proven else None,
            claimed_by=("tsybakov/thm-7@corrected",) if self.calibration == "placed" else ("tsybakov/thm-7",),
        )

    def execute(self, run: Run[Epoch], workload: Workload, data: Data, start: Array) -> Array:
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        for epoch in run.schedule.phases:
            block = data.part(epoch.start, epoch.start + epoch.records)
            inner: Run[ClippedBatches] = run.inside(f"{epoch.name}/", epoch.inner)
            domain = Restricted(workload, w, epoch.radius) if self.shrink else workload
            w = self.call(epoch.radius).execute(inner, domain, block, w)
        return w
