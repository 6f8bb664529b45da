"""Theorem 1, privacy: how far clipped descent moves, what that does to Algorithm 3, and where its claim holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpcheck.accounting import account
from dpcheck.algorithms.tsybakov import LocalisedClipped
from dpcheck.algorithms.tsybakov.clipped import clipped_descent, clipped_mean
from dpcheck.algorithms.tsybakov.localised import corrected
from dpcheck.checks import Context, check
from dpcheck.engine.statements import stated
from dpcheck.harness import accuracy, losses, sensitivity, stability
from dpcheck.harness.replay import Case
from dpcheck.harness.search import BallRecords, BoxRecords, Records, maximise
from dpcheck.interfaces import Array, Constants, Sample
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Verdict, refuted
from dpcheck.workloads.sheared import Sheared
from dpcheck.workloads.tilted_power import SparseTilt

from ._instances import everywhere, told, transcribed

# One batch ------------------------------------------------------------------------------------------------------------


@check("tsybakov/fact-sens", kind="sensitivity")
def one_gradient_moves_by_its_share(context: Context) -> Verdict:
    """Clipped means of random and given neighbours, against 2C/n; ±C along one axis attains it."""
    n, C = 5, 2.0

    def mean(data: Array) -> Array:
        return clipped_mean(Sample(data, np.ones((1, n))), data, C)

    pair = (np.zeros((n, 2)), np.zeros((n, 2)))
    pair[0][0], pair[1][0] = [50.0, 0.0], [-50.0, 0.0]
    measure = stability.of_map(mean, stated("tsybakov/fact-sens", C=C, n=n))
    found = maximise(
        measure, BallRecords(50.0, 2), n, given=[pair], chains=32, steps=context.scale(10, 60), seed=context.seed
    )
    because = "each clipped record lies in a ball of radius C and has the weight 1/n; the regulariser is common"
    return sensitivity.judge(found, certificate=sensitivity.Certificate(1.0, because))


@check("tsybakov/alg-1", kind="sensitivity", grid={"d": (1, 3), "n": (1, 7)})
def clipped_mean_moves_by_its_share(context: Context, *, d: int, n: int) -> Verdict:
    """Algorithm 1 on random neighbours of every length up to a thousand times the level."""
    rng, pairs, C = context.rng(), context.scale(2000, 50_000), 1.5
    data = rng.standard_normal((pairs, n, d)) * rng.exponential(3.0, (pairs, n, 1)) ** 2
    other = data.copy()
    other[:, 0] = rng.standard_normal((pairs, d)) * 1500
    one = np.ones((1, n))
    moved = np.linalg.norm(
        clipped_mean(Sample(data, one), data, C) - clipped_mean(Sample(other, one), other, C), axis=1
    )
    return accuracy.never_violated(
        moved, stated("tsybakov/alg-1", C=C, n=n), statement="movement <= 2C/n", evidence="certificate",
        covers="projections on a ball of radius C are at most 2C apart",
    )  # fmt: skip


@check("tsybakov/alg-1", kind="accuracy")
def clipped_mean_has_norm_at_most_its_level(context: Context) -> Verdict:
    """|v| <= C on random data, and v is the plain mean where nothing is longer than C."""
    rng, trials = context.rng(), context.scale(2000, 50_000)
    data = rng.standard_normal((trials, 6, 2)) * rng.exponential(1.0, (trials, 6, 1)) ** 2
    v = clipped_mean(Sample(data, np.ones((1, 6))), data, 1.0)
    short = np.linalg.norm(data, axis=2).max(axis=1) <= 1
    off = np.abs(v[short] - data[short].mean(axis=1)).max()
    found = accuracy.never_violated(
        np.linalg.norm(v, axis=1), 1.0, statement="|v| <= C", evidence="certificate",
        covers="a mean of points of a ball",
    )  # fmt: skip
    return found if off < 1e-14 else refuted(f"unclipped means differ by {off:.3g}", "exact")


@check("tsybakov/alg-2@derived", kind="accuracy")
def reach_of_clipped_descent(context: Context) -> Verdict:
    """|w_T - w_0| against (1 - (1 - eta lambda)^T) C/lambda on random runs, one of them with one constant gradient."""
    rng, left, right = context.rng(), [], []
    work = Sheared(0.01, 1.0)
    for _ in range(context.scale(40, 400)):
        steps, weight, level = int(rng.integers(1, 60)), float(rng.uniform(0.05, 1.0)), float(rng.uniform(0.2, 3))
        eta = float(rng.uniform(0.05, min(1.0, 1 / weight)))
        z = rng.standard_normal((1, 5, 4)) * 5
        if rng.random() < 0.25:
            z[..., :2], z[..., 2:] = 0.0, [9.0, 0.0]
        start = rng.standard_normal((1, 2))
        end = clipped_descent(work, Sample(z, np.ones((1, 5))), start, steps=steps, eta=eta, level=level, weight=weight)
        left.append(float(np.linalg.norm(end - start)))
        right.append(stated("tsybakov/alg-2@derived", eta=eta, lambda_=weight, T=steps, C=level))
    return accuracy.never_violated(
        left, right, statement="distance from the start <= (1 - (1 - eta lambda)^T) C/lambda", tolerance=1e-9,
        evidence="certificate", covers="each step shrinks the distance by 1 - eta lambda and adds at most eta C",
    )  # fmt: skip


# Where clipped steps contract -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """Losses on the plane, or the line: gradient (..., d), (..., record) -> (..., d); curvature at most 1."""

    d: int
    gradient: Callable[[Array, Array], Array]
    records: Records

    def project(self, w: Array) -> Array:
        return w

    @property
    def constants(self) -> Constants:
        return told(Sheared(1.0, 1.0)).constants


def _logistic(w: Array, z: Array) -> Array:
    """-t x h(-t <x, w>), x in the unit ball."""
    margin = z[..., 2] * (w * z[..., :2]).sum(axis=-1)
    return np.asarray(-(z[..., 2] / (1 + np.exp(margin)))[..., None] * z[..., :2])


def _flat_middle(w: Array, z: Array) -> Array:
    """Derivative of a convex function of w - x that is flat on [-1, 1] and affine beyond 2; its slope is at most 1."""
    u = np.clip(w - z, -2.0, 2.0)
    return np.asarray(u * np.maximum(u**2 - 1, 0) / 12)


def _least_squares(w: Array, z: Array) -> Array:
    """(<x, w> - y) x with x in the unit ball."""
    return np.asarray(((w * z[..., :2]).sum(axis=-1) - z[..., 2])[..., None] * z[..., :2])


FAMILIES: dict[str, Family] = {
    "d = 1": Family(1, _flat_middle, BoxRecords([-8.0], [8.0])),
    "linear": Family(2, lambda w, z: np.broadcast_arrays(z, w)[0], BallRecords(20.0, 2)),
    "isotropic": Family(2, lambda w, z: w - z, BallRecords(20.0, 2)),
    "least squares": Family(2, _least_squares, BoxRecords([-0.7, -0.7, -30.0], [0.7, 0.7, 30.0])),
    "logistic": Family(2, _logistic, BoxRecords([-0.7, -0.7, -1.0], [0.7, 0.7, 1.0])),
}
BECAUSE = "clipped gradients are again gradients of convex functions of curvature at most 1, so steps are non-expansive"


@check(
    "tsybakov/thm-1@glm",
    kind="stability",
    grid={"family": tuple(FAMILIES)},
    also=("tsybakov/rem-2@corrected",),
)
def descent_moves_as_claimed(context: Context, *, family: str) -> Verdict:
    """The worst pair that a search finds for losses whose clipped gradients are monotone, against the claim.

    The bound of Remark 2, 2C/(n lambda), is this one without its share of the last steps, which is larger.
    """
    work, n, C = FAMILIES[family], 4, 0.5
    weight, steps = 0.02, context.scale(120, 400)
    eta = 2 / (1 + 2 * weight)
    bound = stated("tsybakov/thm-1@glm", eta=eta, lambda_=weight, T=steps, C=C, n=n, H=1.0)

    def end(data: Array) -> Array:
        return clipped_descent(
            work, Sample(data, np.ones((1, n))), np.zeros((1, work.d)), steps=steps, eta=eta, level=C, weight=weight  # type: ignore[arg-type]
        )  # fmt: skip

    found = maximise(
        stability.of_map(end, bound), work.records, n, chains=16, steps=context.scale(6, 40), seed=context.seed
    )
    return sensitivity.judge(found, certificate=sensitivity.Certificate(1.0, BECAUSE), what="stability")


@check("tsybakov/alg-3@corrected", kind="stability", grid={"place": (0, 2)})
def phases_are_as_stable_as_they_claim(context: Context, *, place: int) -> Verdict:
    """A phase of the corrected plan as a map of its batch, on quartic losses of one parameter, against its claim."""
    work = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=4.0, reach=2.0)
    algorithm = corrected()
    phase = algorithm.schedule(told(work), 16).phases[place]

    def end(data: Array) -> Array:
        sample = Sample(data, np.ones((1, phase.records)))
        return algorithm.descend(phase, work, sample, np.zeros((1, 1)), work.project, None)

    found = maximise(
        stability.of_map(end, phase.sensitivity), BoxRecords(-60.0, 60.0), phase.records, chains=32,
        steps=context.scale(4, 40), seed=context.seed,
    )  # fmt: skip
    return sensitivity.judge(found, certificate=sensitivity.Certificate(1.0, BECAUSE), what="stability")


@check("tsybakov/thm-1@glm", kind="privacy", grid={"epsilon": (0.1, 1.0, 3.0), "n": (64, 1024)})
def algorithm_3_on_one_record_turned_around(context: Context, *, epsilon: float, n: int) -> Verdict:
    """Linear losses, all 0 but one ±C: the exact curve of every release for the worst pair, records anywhere."""
    work = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=2.0, reach=2.0)
    plan = corrected().schedule(told(work, ApproxDP(epsilon, 1e-5)), n)
    worst = 0.0
    for phase, release in zip(plan.phases, plan.releases, strict=True):
        moved = stated(
            "tsybakov/thm-1@glm",
            eta=phase.eta,
            lambda_=phase.weight,
            T=phase.steps,
            C=phase.level,
            n=phase.records,
            H=0.0,
        )
        worst = max(worst, losses.compose(plan, {release.name: moved}).delta(epsilon)[1])
    said = f"delta({epsilon:g}) is at most {worst:.3g} of 1e-5, whatever phase reads the record"
    found = accuracy.never_violated(
        worst, 1e-5, statement="delta(epsilon) <= delta", evidence="certificate",
        covers="a record is read by one phase, which moves by (1 - (1 - eta lambda)^T) 2C/(n lambda) at most",
    )  # fmt: skip
    return replace(found, reason=said) if found.outcome == "holds" else found


@check("tsybakov/alg-3", kind="transcription", grid={"p": (1.0, 2.0), "n": (16, 256)})
def noise_of_every_phase_is_the_printed_one(context: Context, *, p: float, n: int) -> Verdict:
    """sigma_i of our Algorithm 3 against 8C_i sqrt(log(1/delta))/(n_i lambda_i epsilon); not whether it is enough."""
    work = SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=2.0, reach=2.0)
    phases = LocalisedClipped(p=p).phases(told(work), n)
    printed = [
        stated("tsybakov/alg-3", C=ph.level, n=ph.records, lambda_=ph.weight, delta=1e-5, epsilon=1) for ph in phases
    ]
    return transcribed([phase.sigma for phase in phases], printed, "sigma_i of our plan, and as printed")


@check(
    "tsybakov/proc-lnc-gm-fixed",
    kind="privacy",
    grid={"noise": ("output", "steps", "trivial"), "theta": (2.0, 4.0), "n": (64, 1024)},
    also=("tsybakov/alg-3@corrected",),
)
def account_of_the_corrected_procedure(context: Context, *, noise: str, theta: float, n: int) -> Verdict:
    """delta(1) of the corrected Algorithm 3 on the line with each of its noises, under their claimed sensitivities."""
    work = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=theta, reach=2.0)
    spent = account(corrected(noise=noise).schedule(told(work), n))  # type: ignore[arg-type]
    rests = "claims of monotone clipped gradients" if noise == "output" else "claims that hold for every loss"
    return accuracy.never_violated(
        spent.delta(1.0), 1e-5, statement="delta(1) <= 1e-5", evidence="certificate", covers=rests
    )


@check("tsybakov/alg-3@corrected", kind="sensitivity")
def corrected_algorithm_on_the_line(context: Context) -> Verdict:
    """Every phase replayed on one-dimensional losses: no release moves by more than it claims."""
    work, n = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=2.0, reach=2.0), 16
    case = Case(corrected(), work, told(work))
    found = sensitivity.search(
        case, BoxRecords(-30.0, 30.0), n, chains=everywhere(case, n), steps=context.scale(3, 30), seed=context.seed
    )
    return sensitivity.judge(found, certificate=sensitivity.Certificate(1.0, BECAUSE))
