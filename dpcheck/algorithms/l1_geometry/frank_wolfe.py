"""Private variance-reduced Frank-Wolfe on binary trees (Algorithm 3), and the selection that it releases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dpcheck.algorithms.l1_geometry.descent import domain_of
from dpcheck.claims import evaluate
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry import Cornered
from dpcheck.interfaces import (
    Algorithm,
    Array,
    BudgetRange,
    Data,
    Problem,
    Read,
    Release,
    Rng,
    Sample,
    Schedule,
    Workload,
    procedure,
)
from dpcheck.laws import NoisyMin
from dpcheck.numerics import next_feasible
from dpcheck.running import Run


@procedure("l1_geometry/proc-report-noisy-max")
def report_noisy_min(scores: Array, scale: float, rng: Rng) -> Array:
    """Index of the least score after Laplace noise of that scale on each: (trials, K) -> (trials,) of floats."""
    return NoisyMin(scale).sample(scores, rng)[:, 0]


@procedure("l1_geometry/proc-shuffled-allocation")
def shuffled_allocation(rng: Rng, trials: int, n: int, p: int, r: int) -> NDArray[np.intp]:
    """A uniform allocation of records to p sets of r, given that the last record n - 1 is in one: (trials, p, r).

    All but the last place of each set are filled with other records; then p records, the last one of the data among
    them, are permuted over the p free places. This is what makes the p nodes of one depth shuffled local randomisers.
    """
    if not (p >= 1 and r >= 1 and p * r <= n):
        raise InvalidInput(f"{p} sets of {r} do not fit into {n} records")
    others = np.argsort(rng.random((trials, n - 1)), axis=1)[:, : p * r - 1]
    free = np.concatenate([others[:, p * (r - 1) :], np.full((trials, 1), n - 1)], axis=1)
    free = np.take_along_axis(free, np.argsort(rng.random((trials, p)), axis=1), axis=1)
    return np.concatenate([others[:, : p * (r - 1)].reshape(trials, p, r - 1), free[:, :, None]], axis=2)


EXACTLY = 1e-12  # the same: for rounding
CLAIMED_BY = {
    "pure": "l1_geometry/thm-6",
    "approximate": "l1_geometry/thm-7",
    "concentrated": "l1_geometry/thm-7@private",
}
"""By the noise."""


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Phase t: a binary tree of depth t.

    Attributes:
        first: index of its first record; records: b(1 + t/2).
        b: size of the root's batch.
        scale: of the Laplace noise at each of its 2^t leaves.
        offset: of the index k of its first leaf: the steps are 2/(offset + l(s) + 1).
    """

    t: int
    first: int
    records: int
    b: int
    scale: float
    offset: int

    @property
    def leaves(self) -> int:
        return 1 << self.t

    def step(self, leaf: int) -> float:
        """eta of a leaf, numbered from 0."""
        return 2 / (self.offset + leaf + 1)

    def way(self, node: str) -> float:
        """How far, in diameters, a right child's point lies from its parent's at most: the leaves to its left made it.

        What they leave of the parent's point is the product of 1 - eta; the rest is an average of vertices.
        """
        leaves = 1 << self.t - len(node)
        first = (int(node, 2) - 1) * leaves
        return 1 - math.prod(1 - self.step(leaf) for leaf in range(first, first + leaves))

    def sets(self) -> dict[str, tuple[int, int]]:
        """The records of the root "" and of every right child, in the order in which they are read."""
        by_node = {"": (self.first, self.first + self.b)}
        place = self.first + self.b
        for node in preorder(self.t):
            if node.endswith("1"):
                by_node[node] = (place, place + self.b // 2 ** len(node))
                place = by_node[node][1]
        return by_node


def preorder(depth: int, node: str = "") -> Iterator[str]:
    """Vertices below the root in depth-first order, left children first, as binary strings."""
    for child in ("0", "1"):
        if len(node) < depth:
            yield node + child
            yield from preorder(depth, node + child)


def record_count(b: int, T: int) -> int:
    """b(T + T(T+1)/4), what T phases read; b is even."""
    return b * T + b * T * (T + 1) // 4


@dataclass(frozen=True)
class TreeFrankWolfe(Algorithm[Tree]):
    """Algorithm 3 over the vertices of an l1 ball or a simplex.

    Attributes:
        noise: "pure" lambda = 2LD2^t/(b eps) (Theorem 6), "approximate" lambda = LD2^(T/2) log(n/delta)/(b eps)
            (Theorem 7, at the smaller of eps and its cap), or "concentrated" lambda = 8LD sqrt(kappa 2^T log(1/delta))
            /(b eps), kappa = max(1/4, beta D/L) (Theorem 7 without shuffling).
        sensitivity: "printed" charges a right child for one gradient; "safe" for the difference of two, with twice the
            noise under "pure"; "smooth" for no more than beta lets it be, from the parent's point to the child's.
        allocation: which records go to which node: "fixed", or a "random" order of all.
        steps: "printed" 2/(2^(t-1) + l(s) + 1), or "consecutive" 2/(2^t + l(s)).
        T, batch: None for the theorem's; the batch is rounded down to a multiple of 2^T.
        budget: "printed" b = n/log2(n)^2; "economical" uses all n records.
        noise_dial: multiplies all noise; anything but 1 makes no promise.
    """

    noise: Literal["pure", "approximate", "concentrated"] = "pure"
    sensitivity: Literal["printed", "safe", "smooth"] = "printed"
    allocation: Literal["fixed", "random"] = "random"
    steps: Literal["printed", "consecutive"] = "printed"
    T: int | None = None
    batch: int | None = None
    budget: Literal["printed", "economical"] = "printed"
    noise_dial: float = 1.0

    label = "l1_geometry/alg-3"
    budgets = BudgetRange(largest_epsilon=1.0)
    readings: ClassVar = {
        "literal": {"allocation": "fixed"},
        "corrected": {"sensitivity": "safe", "steps": "consecutive", "budget": "economical"},
        "approximate": {"noise": "approximate"},
        "concentrated": {"noise": "concentrated", "sensitivity": "smooth", "steps": "consecutive"},
        "dialled": {"noise_dial": 1e-9},
    }

    def __post_init__(self) -> None:
        choices = {
            "noise": ("pure", "approximate", "concentrated"),
            "sensitivity": ("printed", "safe", "smooth"),
            "allocation": ("fixed", "random"),
            "steps": ("printed", "consecutive"),
            "budget": ("printed", "economical"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InvalidInput(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        if (
            (self.T is not None and self.T < 1)
            or (self.batch is not None and self.batch < 2)
            or not self.noise_dial > 0
        ):
            raise InvalidInput(f"T >= 1, batch >= 2 and noise_dial > 0 are needed, got {self}")

    # Parameters of Theorems 6 and 7

    def vertices(self, problem: Problem) -> int:
        """m = 2d, of an l1 ball; an upper bound for a simplex."""
        return 2 * problem.constants.d

    def stiffness(self, problem: Problem) -> float:
        """kappa = max(1/4, beta D/L)."""
        return max(0.25, self._bend(problem))

    def budget_of(self, problem: Problem, n: int) -> tuple[float, float]:
        """(epsilon in force, logarithm of the noise): log(n/delta) and a cap on epsilon as Theorem 7 asks, or
        log(1/delta) under "concentrated".
        """
        epsilon, delta = self.privacy_budget(problem)
        if self.noise == "pure":
            return epsilon, 0.0  # the same: no noise of Theorem 6 has a logarithm
        if self.noise == "concentrated":
            if not delta > 0:
                raise Infeasible(self.label, "delta > 0", f"delta = {delta:g}", advice="pass one")
            return epsilon, -math.log(delta)
        if not 0 < delta <= 1 / n:
            most = f"at most n = {math.floor(1 / delta):,} at this delta" if delta else "pass a delta > 0"
            raise Infeasible(self.label, "0 < delta <= 1/n", f"delta = {delta:g} at n = {n}", advice=most)
        c, log_nd = problem.constants, math.log(n / delta)
        L, H, D = c.lipschitz(1.0), c.smoothness(1.0), c.diameter(1.0)
        if H == 0:
            return epsilon, log_nd
        m = math.log2(self.vertices(problem))
        cap = (L * log_nd * m) ** 0.25 * math.sqrt(math.log2(n)) / (n * H * D) ** 0.25
        return min(epsilon, cap), log_nd

    def reach(self, problem: Problem, n: int) -> tuple[float, float]:
        """(b before rounding, the argument of T's logarithm), which is below 1 where beta is below its window."""
        c = problem.constants
        L, H, D = c.lipschitz(1.0), c.smoothness(1.0), c.diameter(1.0)
        if not math.isfinite(H):
            raise Infeasible(self.label, "smooth losses", "smoothness = inf in l1")
        epsilon, log_nd = self.budget_of(problem, n)
        wanted = n / math.log2(max(n, 3)) ** 2 if self.batch is None else float(self.batch)
        ratio, m = wanted * epsilon * H * D / L, self.vertices(problem)
        if self.noise == "concentrated":
            return wanted, 0.3 * ratio / (math.sqrt(self.stiffness(problem) * log_nd) * (1 + math.log(m)))
        argument = ratio / math.log2(m)
        return wanted, argument / log_nd if self.noise == "approximate" else argument

    def promised(self, problem: Problem, n: int) -> bool:
        """Whether a theorem speaks of this plan: Theorem 7 says nothing of a beta below its window, Theorem 6 does; its
        repair wants the steps and sensitivities of its proof, and epsilon <= 2 log(1/delta).
        """
        if self.noise_dial != 1:
            return False
        if self.noise == "concentrated":
            epsilon, log = self.budget_of(problem, n)
            return self.sensitivity == "smooth" and self.steps == "consecutive" and epsilon <= 2 * log
        return self.noise == "pure" or self.T is not None or self.reach(problem, n)[1] >= 1

    def sizes(self, problem: Problem, n: int) -> tuple[int, int]:
        """(T, b), integers: b a multiple of 2^T."""
        wanted, argument = self.reach(problem, n)
        T = self.T
        if T is None:
            power = 0.5 if self.noise == "pure" else 2 / 3
            nearest = 0.5 if self.noise == "concentrated" else EXACTLY
            T = max(1, math.floor(power * math.log2(argument) + nearest)) if argument > 1 else 1
            if self.batch is None and argument <= 1:
                # The branch T = 1, b = n of Theorem 6, which reads 1.5 b records; Theorem 7 has none.
                wanted = n / 1.5
        if self.batch is None and self.budget == "economical":
            wanted = n / (T + T * (T + 1) / 4)
        return T, int(wanted) // 2**T * 2**T

    # Plan

    def phases(self, problem: Problem, n: int) -> Iterator[Tree]:
        """The rows of the schedule, which costs much more: it has a release for each leaf of each."""
        T, b = self.sizes(problem, n)
        if b < 2**T or record_count(b, T) > n:
            needed = next_feasible(lambda size: self._fits(problem, size), n)
            used = f"b = {b}, 2^T = {2**T}, {record_count(b, T)} records read of n = {n}"
            raise Infeasible(self.label, "2^T <= b and b(T + T(T+1)/4) <= n", used, needed)
        epsilon, log_nd = self.budget_of(problem, n)
        L, D = problem.constants.lipschitz(1.0), problem.constants.diameter(1.0)
        first = 0
        for t in range(1, T + 1):
            if self.noise == "pure":
                scale = (2.0 if self.sensitivity == "printed" else 4.0) * L * D * 2**t / (b * epsilon)
            elif self.noise == "approximate":
                scale = L * D * 2 ** (T / 2) * log_nd / (b * epsilon)
            else:
                scale = 8 * L * D * math.sqrt(self.stiffness(problem) * 2**T * log_nd) / (b * epsilon)
            records = b + b * t // 2
            offset = 2 ** (t - 1) if self.steps == "printed" else 2**t - 1
            yield Tree(t=t, first=first, records=records, b=b, scale=self.noise_dial * scale, offset=offset)
            first += records

    def schedule(self, problem: Problem, n: int) -> Schedule[Tree]:
        rows = tuple(self.phases(problem, n))
        T, b, used = len(rows), rows[0].b, sum(row.records for row in rows)
        rests_on = self.rests_on(used / n, self.budget_of(problem, n)[0])
        return Schedule(
            phases=rows,
            releases=tuple(release for row in rows for release in self._releases(row, problem, rests_on)),
            gradients=b * T * (T + 3) // 2,
            floats_per_trial=2 * problem.constants.rows(n) * (problem.constants.d + 1),
            claimed=problem.privacy if self.promised(problem, n) else None,
            claimed_by=(CLAIMED_BY[self.noise],),
        )

    def _fits(self, problem: Problem, n: int) -> bool:
        try:
            T, b = self.sizes(problem, n)
        except Infeasible:
            return False
        return b >= 2**T and record_count(b, T) <= n

    def rests_on(self, share: float, epsilon: float) -> tuple[str, ...]:
        """What the sensitivities rest on when a share of the records is read: "printed" ones are half of the truth.

        A random allocation that leaves enough records unread makes up for it, by `l1_geometry/thm-6@corrected`.
        """
        if self.sensitivity != "printed":
            return ()
        hidden = self.noise == "pure" and self.allocation == "random" and share * (1 + math.exp(epsilon)) <= 1
        return ("l1_geometry/thm-6@corrected",) if hidden else ("l1_geometry/lem-4-1",)

    def gradients_moved(self, row: Tree, node: str, problem: Problem) -> float:
        """Gradients of size L by which replacing a record of a node's set moves v, over two: 1 at the root.

        A right child's record enters by the difference of its gradients at two points, which "printed" charges as one;
        they are at most beta M apart, M the way from one point to the other.
        """
        if not node or self.sensitivity == "printed":
            return 1.0
        return 2.0 if self.sensitivity == "safe" else min(2.0, self._bend(problem) * row.way(node))

    def _bend(self, problem: Problem) -> float:
        c = problem.constants
        return c.smoothness(1.0) * c.diameter(1.0) / c.lipschitz(1.0)

    def _releases(self, row: Tree, problem: Problem, rests_on: tuple[str, ...]) -> Iterator[Release]:
        """One selection a leaf; it reads the root's set and those of the right children on its path.

        One record moves a score by at most R |change of v|_inf, R = D/2 the size of a vertex: D L/b at the root.
        """
        unit = problem.constants.lipschitz(1.0) * problem.constants.diameter(1.0) / row.b
        # One read a set, shared by all leaves below it: there are as many sets as leaves.
        own = {
            node: Read(
                start=start, stop=stop, sensitivity=self.gradients_moved(row, node, problem) * 2 ** len(node) * unit
            )
            for node, (start, stop) in row.sets().items()
        }
        law = NoisyMin(row.scale)
        for leaf in range(row.leaves):
            node = format(leaf, f"0{row.t}b")
            reads = [own[""], *(own[node[:j]] for j in range(1, row.t + 1) if node[j - 1] == "1")]
            yield Release(
                name=f"phase {row.t}/leaf {leaf}",
                law=law,
                reads=tuple(reads),
                norm="range",
                rests_on=rests_on,
            )

    def execute(self, run: Run[Tree], workload: Workload, data: Data, start: Array) -> Array:
        domain = domain_of(workload)
        if not isinstance(domain, Cornered):
            name = type(domain).__name__
            raise InvalidInput(f"{self.label} chooses among vertices, and {name} has none; use an L1Ball or a Simplex")
        if self.allocation == "random":
            data = run.shuffle(data)
        return self.walk(run, workload, data, domain.vertices, start)

    def walk(self, run: Run[Tree], workload: Workload, data: Data, corners: Array, start: Array) -> Array:
        """The phases over the polytope of these corners, (K, d) or one polytope a trial, (trials, K, d)."""
        x = np.broadcast_to(start, (run.trials, start.shape[-1])).astype(float)
        for row in run.schedule.phases:
            x = _walk(run, row, workload, data, corners, x)
        return x

    # Bounds

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `l1_geometry/thm-6@summed`; m counts vertices.

        The T of Theorems 6 and 7 is left out: their bounds are for the printed noise alone.
        """
        c = problem.constants
        rows = tuple(self.phases(problem, n))
        shares, steps, owners = zip(*weights(rows), strict=True)
        return {
            "m": self.vertices(problem),
            "D": c.diameter(1.0),
            "L": c.lipschitz(1.0),
            "H": c.smoothness(1.0),
            "b": rows[0].b,
            "w[i]": shares,
            "s[i]": steps,
            "lambda[i]": [row.scale for row in owners],
            "l": len(shares),
        }

    def proved(self, problem: Problem, n: int) -> float:
        """The bound `l1_geometry/thm-6@summed` on the excess risk, which restarts plan with."""
        from dpcheck.algorithms.l1_geometry.regret import LEAVES

        return float(evaluate(LEAVES, {"d": problem.constants.d, **self.terms(problem, n)}))


def weights(rows: tuple[Tree, ...]) -> list[tuple[float, float, Tree]]:
    """(weight, eta, phase) of every leaf in order: the last point is the sum of weight times vertex."""
    steps = [(row.step(leaf), row) for row in rows for leaf in range(row.leaves)]
    entries, left = [], 1.0
    for step, row in reversed(steps):
        entries.append((step * left, step, row))
        left *= 1 - step
    return entries[::-1]


def _walk(run: Run[Tree], row: Tree, workload: Workload, data: Data, corners: Array, x: Array) -> Array:
    """One phase from x: its leaves in order, each a step towards the selected vertex."""

    def mean(point: Array, sample: Sample) -> Array:
        return sample.mean(workload.gradient(point[:, None], sample.values))

    def block(node: str) -> Sample:
        return data.part(*sets[node]).read()

    sets = row.sets()
    points, estimates = {"": x}, {"": mean(x, block(""))}
    for node in preorder(row.t):
        parent = node[:-1]
        if node.endswith("0"):
            points[node], estimates[node] = points[parent], estimates[parent]
        else:
            sample = block(node)
            points[node] = x
            estimates[node] = estimates[parent] + mean(x, sample) - mean(points[parent], sample)
        if len(node) == row.t:
            leaf = int(node, 2)
            scores = (corners * estimates[node][:, None]).sum(axis=-1)
            chosen = run.release(f"phase {row.t}/leaf {leaf}", scores)[:, 0].astype(np.intp)
            corner = corners[chosen] if corners.ndim == 2 else corners[np.arange(run.trials), chosen]
            step = row.step(leaf)
            x = (1 - step) * points[node] + step * corner
    return x


__all__ = [
    "Tree",
    "TreeFrankWolfe",
    "preorder",
    "record_count",
    "report_noisy_min",
    "shuffled_allocation",
    "weights",
]
