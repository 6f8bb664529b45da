"""Section 5.2, Appendix 10: heavy tails in batches, for every epsilon, and p >= 2 by the Euclidean reduction."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.algorithms.lp_spaces import BatchedMirrorDescent, EuclideanHeavyTails, ShuffledMirrorDescent
from dpcheck.algorithms.lp_spaces.regular import dual_regularity, mirror_map
from dpcheck.algorithms.lp_spaces.regular import kappa as regularity
from dpcheck.algorithms.lp_spaces.truncated import Truncation
from dpcheck.checks import Context, by_size, check, together
from dpcheck.claims import evaluate
from dpcheck.engine.catalogue import claim
from dpcheck.engine.executed import run_as_stated
from dpcheck.engine.settings import drawn, settings
from dpcheck.engine.statements import bound_of, explicit_of, order_of
from dpcheck.errors import Infeasible
from dpcheck.geometry.norms import dual_norm
from dpcheck.harness import accuracy, risk
from dpcheck.harness.data_free import told_apart
from dpcheck.harness.plans import answered, planned_within, wrongly_answered
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Instance, Risk, admitted, powers, scaling, unmeasured
from dpcheck.harness.scaling.engines import statistic
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array, Data, Problem, Workload
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.symbols import BY_NAME, D, H, L, b, epsilon, n
from dpcheck.verdicts import Verdict, differs, holds
from dpcheck.workloads import HeavyCoordinates

from .cases import DELTA, LONGER, SPIKES, WALK, LikeTheOrder, Spikes, certified, heavy, problem, spiked
from .edges import CUT, silent
from .lemmas import UNSEEN, antipodal, audited, replayed, steep
from .section_5_2 import A_, ACROSS, AS_LETTERS, NEXT_TO_TWO, OF_TRUNCATIONS, TRUNCATED, diagonal, truncated_lines

OF_BATCHES = {
    **TRUNCATED,
    "steps": "lp_spaces/proc-batched-md@steps",
    "level": "lp_spaces/proc-batched-md@threshold",
    "sigma": "lp_spaces/proc-batched-md",
}
WITH_KAPPA = {**OF_BATCHES, "kappa": "lp_spaces/alg-3@corrected-kappa"}
settings_of_batched_descent = settings(
    "lp_spaces/proc-batched-md",
    WITH_KAPPA,
    problems=drawn(n=(2.0**14, 2.0**20), d=(2, 60)),
    fields={"p": (1.1, 1.5, 1.8)},
    **OF_TRUNCATIONS,
)
settings_of_the_euclidean_reduction = settings(
    "lp_spaces/proc-heavy-euclid", OF_BATCHES, problems=drawn(n=(2.0**14, 2.0**20), d=(2, 60)), **OF_TRUNCATIONS
)
run_of_batched_descent = run_as_stated(
    "lp_spaces/proc-batched-md", WITH_KAPPA, heavy(4), problem(heavy(4), 0.5), 256, **AS_LETTERS
)


@check(
    "lp_spaces/proc-batched-md", kind="accuracy", also=("lp_spaces/proc-heavy-euclid",),
    grid={"p": (1.2, 1.8, 2.0), "level": (0.2, 3.0)},
)  # fmt: skip
def lines_of_batched_descent(context: Context, *, p: float, level: float) -> Verdict:
    """As those of Algorithm 4, without shuffling and with one noise vector for the mean of a batch; the last records,
    which fill no batch, are not read. p = 2 is the Euclidean reduction.
    """
    # unbound: the lines at the schedule's own numbers, which the settings compare with the claims
    kind = EuclideanHeavyTails if p == 2 else BatchedMirrorDescent
    return truncated_lines(context, p, level, "corrected", kind(p=p, steps=16, threshold=level))


@check("lp_spaces/proc-batched-md", kind="accuracy", grid={"p": (1.2, 1.8)})
def gradients_at_its_own_threshold(context: Context, *, p: float) -> Verdict:
    """The same where nothing is given: gradients are cut above the threshold that is stated of it, and not below."""
    return truncated_lines(context, p, OF_BATCHES["level"], "corrected", BatchedMirrorDescent(p=p))


@check(
    "lp_spaces/proc-batched-md", kind="transcription", grid={"algorithm": tuple(CUT)},
    also=("lp_spaces/alg-4", "lp_spaces/proc-heavy-euclid"),
)  # fmt: skip
def planned_inside_of_its_conditions(context: Context, *, algorithm: str) -> Verdict:
    """Truncated descent runs up to the edge of each of its conditions and not beyond."""
    # unbound: which problems are taken, whatever is stated of their solution
    return planned_within(CUT[algorithm], silent)


@check("lp_spaces/proc-batched-md", kind="accuracy", grid={"p": (1.2, 1.8)})
def gradients_are_cut_or_kept(context: Context, *, p: float) -> Verdict:
    """Above the level in the dual norm a gradient is zero, up to it itself, and untruncated always; with one point for
    many records too, and many for one.
    """
    # unbound: gradients at a level of this check's own
    work, trials, level = heavy(3, p), context.scale(20, 200), 1.0
    rows, w = work.rows(context.rng("data"), trials, 5), 0.3 * context.rng("points").standard_normal((trials, 3))
    truncated, wanted = [], []
    for at, of in ((w, rows), (w[:1], rows), (w, rows[:1])):
        for keeping in ({}, BatchedMirrorDescent.readings["untruncated"]):
            algorithm = BatchedMirrorDescent(p=p, steps=16, threshold=level, **keeping)
            if (algorithm.schedule(problem(work, 0.9), 4096).claimed is None) != bool(keeping):
                return differs("truncated gradients are promised to be private, and no others")
            ask = partial(algorithm.truncated, work, at, of, level)
            if wrong := wrongly_answered([(f"{len(at)} points and {len(of)} samples", ask, True)]):
                return answered(wrong, "")
            ours = ask()
            whole = np.stack([work.gradient(at[i % len(at)], of[i % len(of)]) for i in range(trials)])
            size = (np.abs(whole) ** (p / (p - 1))).sum(axis=2) ** (1 - 1 / p)
            truncated.append(ours.ravel())
            wanted.append((whole if keeping else whole * (size <= level)[..., None]).ravel())
    return agree(np.concatenate(truncated) + 1, np.concatenate(wanted) + 1, "1 + gradients")


@check("lp_spaces/proc-batched-md", kind="privacy", expect=UNSEEN)
def outputs_of_batched_descent(context: Context) -> Verdict:
    """800 records in space, one gradient just below the threshold turned round; only the average is seen."""
    return audited(context, "batched")


@check(
    "lp_spaces/proc-batched-md", kind="accuracy", also=("lp_spaces/thm-10@derived",), grid={"p": (1.1, 1.5, 1.8)}
)  # fmt: skip
def noise_that_the_bound_is_told(context: Context, *, p: float) -> Verdict:
    """The C of the bound is the mean square of the noise in its own norm, Lemma 4 at m = 2, at the schedule's sigma;
    its theta is the root of 2 Phi/kappa at a point of the minimiser's norm. Of another number of steps than is stated,
    A is the root over kappa.
    """
    # unbound: the symbols of the bound, whatever it is
    extra = {"minimiser_norm": (0.1, 10.0), "deviation": (0.1, 10.0)}
    told, size = drawn(n=(2.0**16, 2.0**20), d=(2, 60), extra=extra)(context.rng())
    flat = replace(told, constants=replace(told.constants, smoothness=lambda _: 0.01))
    algorithm = BatchedMirrorDescent(p=p)
    symbols, (row,) = algorithm.terms(flat, size), algorithm.schedule(flat, size).phases
    if not {"C", "theta"} <= symbols.keys():
        return differs("the bound for the corrected map is told nothing of its noise and its start", "exact")
    mirror, d = mirror_map(p, told.constants.d), told.constants.d
    point = context.rng("point").standard_normal(d)
    point *= told.constants.extra["minimiser_norm"] / (np.abs(point) ** mirror.p).sum() ** (1 / mirror.p)
    theta = math.sqrt(2 * float(mirror.value(point)) / symbols["kappa"])
    square = float(claim("lp_spaces/lem-4").evaluate(m=2, d=d, sigma=row.sigma))
    A = BatchedMirrorDescent(p=p, steps=2 * row.steps).terms(flat, size)["A"] * symbols["kappa"]
    found, wanted = [symbols["C"], symbols["theta"], A], [square, theta, math.sqrt(2 * row.steps)]
    return agree(found, wanted, "mean square of the noise, theta, and A kappa")


SMALL = ((BatchedMirrorDescent(), 0.5, 0.05, 3), (EuclideanHeavyTails(), 0.5, 0.05, 3))
"""Algorithm, epsilon, smoothness and a size at which it is refused."""
SHUFFLED = tuple(
    (ShuffledMirrorDescent(), epsilon, H, 8) for epsilon, H in ((0.01, 0.5), (0.05, 8.0), (0.2, 8.0), (0.05, 20.0))
)
"""At the last two no size would do: what is long enough is too long for an amplification to epsilon."""


@check(
    "lp_spaces/proc-batched-md", kind="accuracy", also=("lp_spaces/proc-heavy-euclid", "lp_spaces/alg-4"),
)  # fmt: skip
def refusals_name_the_least_size(context: Context) -> Verdict:
    """The size that a refusal names can be planned, the one before it cannot; where none is named, eight larger ones
    cannot.
    """
    # unbound: where the schedule refuses, which the settings do not see
    wrong, named = [], 0
    for algorithm, budget, curved, size in (*SMALL, *SHUFFLED):
        told = problem(heavy(3, smoothness=curved), budget)
        least = _refused(algorithm, told, size)
        sizes = [(4**j * size, True) for j in range(8)] if least is None else [(least - 1, True), (least, False)]
        named += least is not None
        for each, refused in sizes:
            if (_refused(algorithm, told, each) != 0) != refused:
                wrong.append(f"{algorithm.label} at epsilon = {budget:g}, H = {curved:g}: n = {each:,}, {least} named")
    if wrong or named != 4:
        return differs(f"{len(wrong)} sizes are planned, or refused, against what was named: {'; '.join(wrong[:2])}")
    return holds("4 refusals name the least size, and 2 that none would do", "exact", numbers={"named": named})


def _refused(algorithm: Any, told: Problem, n: int) -> int | None:
    """The size that a refusal at n names; 0 where n is planned."""
    try:
        algorithm.schedule(told, n)
    except Infeasible as error:
        return error.smallest_n
    return 0


@check("lp_spaces/proc-batched-md", kind="sensitivity")
def batch_means_move_as_claimed(context: Context) -> Verdict:
    """The mean of a batch of truncated gradients moves by 2 (beta M + lambda)/b."""
    work = heavy(3)
    case = Case(BatchedMirrorDescent(), work, problem(work, 0.9))
    level = case.planned(800).phases[0].level
    return replayed(case, *antipodal(800, 3, level), "truncation at the level, in the dual norm")


@check("lp_spaces/proc-batched-md", kind="privacy", grid={"epsilon": (0.1, 0.95), "delta": (1e-3, 1e-9)})
def batches_are_certified(context: Context, *, epsilon: float, delta: float) -> Verdict:
    """Disjoint batches, one generalised Gaussian vector each."""
    plan = BatchedMirrorDescent().schedule(problem(heavy(4), epsilon, delta), 20_000)
    return certified(plan, ApproxDP(epsilon, delta), "batched mirror descent")


CURVED = together("p n", (1.8, 13 * 10**4), (1.5, 23 * 10**4))


@check(
    "lp_spaces/proc-batched-md", kind="risk", also=("lp_spaces/thm-10@derived",),
    grid={"case": by_size(CURVED[:1], CURVED)},
)  # fmt: skip
def heavy_tailed_risk(context: Context, *, case: tuple[float, int]) -> Verdict:
    """Mean excess under Student t gradients, no third moment, against the derived bound with its three lines; the
    minimiser is at the edge, and the loss so curved that the start breaks the bound.
    """
    p, size = case
    work = HeavyCoordinates(np.array([1.0, 0.0]), radius=1.0, s=dual_regularity(p, 2).s, smoothness=8.0)
    algorithm, setting = BatchedMirrorDescent(p=p), problem(work, 0.9)
    bound = bound_of("lp_spaces/thm-10@derived", algorithm, setting, size)
    values = risk.excess_risks(algorithm, work, setting, size, context.scale(120, 140), context.seed, context.name, p)
    limit = work.smoothness / 2 * 2**2  # |w - c|_2 <= |w|_s + |c|_2 for s <= 2
    verdict = risk.expectation(values, bound, context.failure_probability, limit=limit, x=size, series=f"p = {p:g}")
    return told_apart(verdict, work, bound)


@check("lp_spaces/claim-app10-general-eps", kind="symbolic")
def batched_privacy(context: Context) -> Verdict:
    """The variance of a batch is Lemma 3's at the sensitivity 2 (beta M + lambda)/b."""
    # unbound: the variance of lp_spaces/proc-batched-md, whatever the rate is
    calibrated = explicit_of("lp_spaces/lem-3").subs(L, 2 * (H * D + A_) / b)
    return proved({"variance": calibrated - explicit_of("lp_spaces/proc-batched-md")})


@check("lp_spaces/proc-heavy-euclid", kind="symbolic")
def euclidean_reduction(context: Context) -> Verdict:
    """Dual norms only shrink and the diameter grows by d^(1/2 - 1/p) for p >= 2; its schedule is certified."""
    rng, p = context.rng(), 3.0
    v = rng.standard_normal((500, 6))
    from dpcheck.geometry.norms import norm

    v[0] = 1.0  # where the stated diameter is reached
    most = norm(v, p) / 2 * claim("lp_spaces/proc-heavy-euclid").evaluate(d=6, p=p, D=2.0)
    grown = accuracy.never_violated(norm(v), most, statement="|v|_2", covers="Hoelder's inequality")
    reached = agree(norm(v[:1]), most[:1], "|v|_2 and its bound at the ones")
    shrunk = accuracy.never_violated(norm(v), dual_norm(v, p), statement="|g|_2 <= |g|_q", covers="monotone norms")
    work = heavy(4, 2.0)
    plan = certified(EuclideanHeavyTails().schedule(problem(work, 0.9), 5000), ApproxDP(0.9, DELTA), "Euclidean")
    return next((v for v in (grown, reached, shrunk, plan) if v.outcome != "holds"), plan)


@check(
    "lp_spaces/claim-app10-general-eps", kind="risk", grid={"inverse": (2, 4, 8, 16, 32)},
    conclude=LikeTheOrder("inverse"), expect=("consistent", "undecided"),
)  # fmt: skip
def quantiles_over_the_data(context: Context, *, inverse: int) -> dict[str, float]:
    """The (1 - delta')-quantile over data sets of the noise-averaged excess grows no faster than log(1/delta').

    Of the batched form, not of Algorithm 4; n = 1000, d = 3, delta' = 1/`inverse`; each data set is run five times with
    fresh noise.
    """
    level = 1 - 1 / inverse
    sets, times, n = context.scale(400, 1200), 5, 1000
    work, algorithm = steep(3), BatchedMirrorDescent()
    plan = algorithm.schedule(problem(work, 0.9), n)
    rows = work.rows(context.rng("data", "shared"), sets, n)
    values = []
    for part in range(0, sets, 40):
        repeated = np.repeat(rows[part : part + 40], times, axis=0)
        run: Run[Any] = Run(plan, len(repeated), context.rng("noise", part))
        point = algorithm.execute(run, work, Fixed(repeated), np.zeros((1, 3)))
        values.append(work.excess_risk(point).reshape(-1, times).mean(axis=1))
    stated = order_of("lp_spaces/claim-app10-general-eps")
    at = {"n": float(n), "d": 3.0, "epsilon": 0.9, "delta": DELTA, "kappa": regularity(1.5, 3, "safe")}
    bound = float(evaluate(stated, at)) * math.log(inverse)
    quantile = statistic(np.concatenate(values), level)
    return {"risk": quantile.value, "error": quantile.error, "degrees": quantile.degrees, "bound": bound}


EVERY = ("lp_spaces/claim-contrib-3@all-epsilon", "lp_spaces/claim-table-2@all-epsilon")


@scaling(
    "lp_spaces/claim-app10-general-eps", variable="n", part="private", family=SPIKES, engine=WALK, mutants=LONGER,
    sizes=by_size((10**6, 10**7, 3 * 10**7), (10**6, 3 * 10**6, 10**7, 3 * 10**7)), also=EVERY,
)  # fmt: skip
def risk_in_n(*, n: int, chance: float) -> Instance:
    """Mean excess risk in batches with their own noise, epsilon = 0.5, d = 1, the worst over spikes of every chance."""
    return spiked(n=n, epsilon=0.5, delta=1e-10, chance=chance)


@scaling(
    "lp_spaces/claim-app10-general-eps", variable="epsilon", part="private", family=SPIKES, engine=WALK, mutants=LONGER,
    sizes=(0.03, 0.1, 0.3, 0.9), since="standard", also=EVERY,
)  # fmt: skip
def risk_in_epsilon(*, epsilon: float, chance: float) -> Instance:
    """The same in epsilon at n = 3e7."""
    return spiked(n=3 * 10**7, epsilon=epsilon, delta=1e-10, chance=chance)


@scaling(
    "lp_spaces/claim-app10-general-eps", variable="delta", part="private", family=SPIKES, engine=WALK, mutants=LONGER,
    sizes=by_size(powers(10, (-300, -40, -6)), powers(10, (-300, -120, -50, -20, -8))), also=EVERY[:1],
)  # fmt: skip
def risk_in_delta(*, delta: float, chance: float) -> Instance:
    """The same in log(1/delta) at n = 1e6."""
    return spiked(n=10**6, epsilon=0.5, delta=delta, chance=chance)


@check(
    "lp_spaces/claim-app10-general-eps", kind="accuracy", grid={"chance": (1.0, 0.1, 1e-6)}, expect="consistent"
)  # fmt: skip
def walk_on_the_line(context: Context, *, chance: float) -> Verdict:
    """What these rates rest on, against runs of the algorithm on drawn records, n = 4000: spikes seen and zeroed."""
    # unbound: the engine of these rates against drawn runs, whatever the rate is
    return admitted(WALK, spiked(n=4000, epsilon=0.9, delta=DELTA, chance=chance), context.scale(1000, 10_000), context)


@scaling(
    "lp_spaces/claim-app10-general-eps", variable="d", part="private", family=SPIKES, engine=ACROSS,
    mutants=LONGER, sizes=by_size((4, 64, 1024), (4, 32, 256, 2048)), also=EVERY,
)  # fmt: skip
def risk_in_dimension(*, d: int, chance: float) -> Instance:
    """The same in d at n = 3e7, with p next to 2 and on a cube, whose coordinates move apart from each other."""
    return diagonal(n=3 * 10**7, d=d, epsilon=0.5, delta=1e-10, chance=chance)


@dataclass(frozen=True)
class DiagonalSpikes(Spikes):
    """The loss in all its coordinates: f(w, z) = -z <1, w>/√d."""

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(-w.sum(axis=-1) / math.sqrt(self.d) * z[..., 0])

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(-z / math.sqrt(self.d) + 0 * w)

    def excess_risk(self, w: Array) -> Array:
        return super().excess_risk(w.sum(axis=-1, keepdims=True) / math.sqrt(self.d))


@dataclass(frozen=True)
class OnACube(BatchedMirrorDescent):
    """The batched form on the cube of Euclidean diameter 1: its truncation and its releases, each step clipped."""

    p: float = NEXT_TO_TWO

    def execute(self, run: Run[Truncation], workload: Workload, data: Data, start: Array) -> Array:
        (row,), d = run.schedule.phases, workload.constants.d
        w, half = np.broadcast_to(start, (run.trials, d)), 1 / (2 * math.sqrt(d))
        average = np.zeros_like(w)
        for t in range(row.steps):
            sample = data.part(t * row.batch, (t + 1) * row.batch).read()
            noisy = self.answer(run, t, sample, self.truncated(workload, w, sample.values, row.level))
            w = np.clip(w - noisy / row.gamma, -half, half)
            average = average + (w - average) / (t + 1)
        return average


@dataclass(frozen=True)
class Section:
    """The walk on the diagonal of such a loss. Attributes are those of every engine."""

    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        return ACROSS(replace(instance, work=Spikes(instance.work.chance)), seed, *key, pilot=pilot)


def in_full(*, n: int, d: int, epsilon: float, chance: float, delta: float) -> Instance:
    """The loss in all its coordinates, and the algorithm on the cube."""
    one, work = diagonal(n=n, d=d, epsilon=epsilon, chance=chance, delta=delta), DiagonalSpikes(chance, d)
    return replace(one, algorithm=OnACube(), work=work, problem=problem(work, epsilon, delta))


@check(
    "lp_spaces/claim-app10-general-eps", kind="accuracy", grid={"d": (2, 5), "chance": (1.0, 0.1)}, expect="consistent"
)  # fmt: skip
def walk_on_the_diagonal(context: Context, *, d: int, chance: float) -> Verdict:
    """What rates over d rest on, against runs in all coordinates on drawn records, under the algorithm's own noise."""
    # unbound: the engine of these rates against drawn runs, whatever the rate is
    one = in_full(n=4000, d=d, epsilon=0.9, chance=chance, delta=DELTA)
    return admitted(Section(), one, context.scale(1000, 10_000), context)


OF_TWO_NORMS = unmeasured(
    "lp_spaces/claim-app10-p-ge-2",
    "n d epsilon",
    "The algorithm is in an appendix that is not at hand; the batched one, which stands for it here, has the weaker "
    "rate of all epsilon, and says nothing of this one.",
)


@check("lp_spaces/claim-app10-p-ge-2", kind="symbolic")
def diameter_of_the_embedding(context: Context) -> Verdict:
    """From p = 2 on the statistical term grows by the Euclidean diameter of the embedded domain, the private one by its
    root; n and ε enter the private one as in Theorem 10, and n does not enter the quotient of both.
    """
    stated = order_of("lp_spaces/claim-app10-p-ge-2")
    diameter = explicit_of("lp_spaces/proc-heavy-euclid").subs(D, 1)
    (private,) = (term for term in stated.args if term.has(epsilon))
    statistical, p = stated - private, BY_NAME["p"]
    beside = private / order_of("lp_spaces/thm-10")
    return proved(
        {
            "statistical": statistical / statistical.subs(p, 2) - diameter,
            "private": private / private.subs(p, 2) - sp.sqrt(diameter),
            "ε as in Theorem 10": sp.diff(beside, epsilon),
            "n as in Theorem 10": sp.diff(beside, n),
            "n in the quotient": sp.diff(statistical / private, n),
        }
    )
