"""Section 5.2: heavy tails, by shuffled and by batched truncated mirror descent."""

from __future__ import annotations

import math

import numpy as np
import sympy as sp
from scipy import stats

from dpcheck.accounting import shuffle_epsilon
from dpcheck.algorithms.lp_spaces import (
    BatchedMirrorDescent,
    EuclideanHeavyTails,
    ShuffledMirrorDescent,
)
from dpcheck.algorithms.lp_spaces.regular import kappa as regularity
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import bound_of, explicit_of, order_of
from dpcheck.geometry.norms import dual_exponent, dual_norm
from dpcheck.harness import accuracy, risk, runtime
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array
from dpcheck.privacy import ApproxDP
from dpcheck.symbols import BY_NAME, D, H, delta, epsilon, kappa, n
from dpcheck.verdicts import Verdict, differs, holds

from ._instances import CORRECTED, DELTA, certified, heavy, problem, replayed

p_, q_, b_, A_, sigma_, theta_ = (
    BY_NAME.get(name, sp.Symbol(name, positive=True)) for name in ("p", "q", "b", "A", "sigma", "theta")
)
LOG = sp.log(1 / delta)


# Heavy tails --------------------------------------------------------------------------------------------------------

SMALL = ApproxDP(0.05, 1e-3)


def shuffled_case(steps: int = 8, level: float = 3.0) -> ShuffledMirrorDescent:
    return ShuffledMirrorDescent(steps=steps, threshold=level, **CORRECTED)


def antipodal(size: int, dimension: int, level: float) -> tuple[Array, Array]:
    """Gradients just below the threshold, of opposite sign."""
    data = np.zeros((1, size, dimension))
    data[0, 0, 0] = 0.95 * level
    neighbour = data.copy()
    neighbour[0, 0, 0] = -0.95 * level
    return data, neighbour


@check("lp_spaces/alg-4", kind="sensitivity")
def truncated_gradients_move_as_claimed(context: Context) -> Verdict:
    """Two gradients below the threshold differ by twice the threshold at most; one far above it counts as 0."""
    work = heavy(3)
    case = Case(shuffled_case(), work, problem(work, SMALL.epsilon, SMALL.delta))
    level = case.planned(4096).phases[0].level
    return replayed(case, *antipodal(4096, 3, level), "truncation at the level, in the dual norm")


@check("lp_spaces/alg-4", kind="runtime")
def one_pass(context: Context) -> Verdict:
    """One gradient a record."""
    work = heavy(3)
    setting = problem(work, SMALL.epsilon, SMALL.delta)
    found = runtime.count(shuffled_case(), work, setting, 4096, 1, context.seed, context.name)
    return runtime.verdict(found.gradients, min(found.claimed, 4096))


@check("lp_spaces/alg-4", kind="accuracy")
def range_of_epsilon(context: Context) -> Verdict:
    """The largest epsilon of a local budget of 1 is below 7 sqrt(log(n/delta)/n): the range of the algorithm."""
    sizes = [10.0**j for j in range(4, 10)]
    left = [shuffle_epsilon(1.0, int(m), 1e-6) for m in sizes]
    right = [7 * math.sqrt(math.log(m * 1e6) / m) for m in sizes]
    return accuracy.never_violated(
        left, right, statement="FMT(1, n, delta) <= 7 sqrt(log(n/delta)/n)", covers="powers of ten up to 10^9"
    )


@check("lp_spaces/thm-9", kind="privacy", grid={"n": by_size([4096], [4096, 65_536])})
def shuffled_form_is_certified(context: Context, *, n: int) -> Verdict:
    """Shuffling theorem for (epsilon_0, delta_0) randomisers, at the schedule's own noise."""
    work, claim = heavy(3), ApproxDP(0.05 if n < 10**4 else 0.02, 1e-3)
    return certified(shuffled_case().schedule(problem(work, claim.epsilon, claim.delta), n), claim, f"n = {n}")


@check("lp_spaces/thm-9", kind="sensitivity")
def zeroing_is_tight(context: Context) -> Verdict:
    """The largest distance of two truncated gradients is twice the threshold, at opposite points."""
    work, algorithm = heavy(3), BatchedMirrorDescent()
    level = 2.0
    rows = np.array([[[level, 0, 0], [-level, 0, 0], [2 * level, 0, 0]]]) - work.gradient(np.zeros(3), np.zeros(3))
    kept = algorithm.truncated(work, np.zeros((1, 3)), rows, level * (1 + 1e-12))
    apart = float(np.abs(kept[0, 0] - kept[0, 1]).max())
    return agree(
        [apart, 1 + float(np.abs(kept[0, 2]).max())], [2 * level, 1.0], "distance, and what is left of a large one"
    )


@check("lp_spaces/thm-10@literal", kind="risk", expect="refuted")
def linear_loss_above_the_threshold(context: Context) -> Verdict:
    """A deterministic linear loss steeper than the threshold is never seen."""
    return refuted_by(
        context.label,
        "thm_10",
        n=10**12,
        d=10,
        kappa=2,
        epsilon="1/1000000",
        delta="1/1000000",
        beta="1/10",
        constant=100,
    )


@check("lp_spaces/thm-10", kind="accuracy", grid={"p": (1.3, 1.8), "lambda_": (1.0, 10.0, 100.0)})
def bias_of_the_truncation(context: Context, *, p: float, lambda_: float) -> Verdict:
    """The mean of a truncated gradient is off by sigma^2/lambda + beta M sigma^2/lambda^2 at most in the dual norm: in
    closed form under Student t, at points of the domain; for every law as X 1{X > l} <= X^2/l and 1{X > l} <= X^2/l^2.
    """
    x, t = sp.symbols("x t", positive=True)  # X = l + t
    markov = proved(
        {}, {"X 1{X > l}": sp.factor((x + t) ** 2 / x - (x + t)), "1{X > l}": sp.factor((x + t) ** 2 / x**2 - 1)}
    )
    work = heavy(4, p)
    c, away, q = work.constants, work.constants.smoothness(p) * 2 * work.radius, dual_exponent(p)
    law = stats.t(work.nu)

    def beyond(a: Array) -> Array:
        """E xi 1{xi > a}."""
        return np.asarray((work.nu + a**2) / (work.nu - 1) * law.pdf(a))

    w = np.concatenate([work.radius * np.eye(4), -work.radius * np.eye(4), work.centre[None], np.zeros((1, 4))])
    slope = work.smoothness * (w - work.centre)
    # With xi in coordinate j the norm exceeds the level where |slope_j + xi| exceeds what the others leave.
    others = (np.abs(slope) ** q).sum(axis=1, keepdims=True) - np.abs(slope) ** q
    left_over = ((away + lambda_) ** q - others) ** (1 / q)
    chance = law.sf(left_over - slope) + law.sf(left_over + slope)
    gone = slope * chance.sum(axis=1, keepdims=True) + beyond(left_over - slope) - beyond(left_over + slope)
    left = dual_norm(gone / 4, p)
    sigma = c.extra["deviation"]
    bound = sigma**2 / lambda_ + away * sigma**2 / lambda_**2
    found = accuracy.never_violated(
        left, bound, statement="bias <= sigma^2/lambda + beta M sigma^2/lambda^2",
        covers="these points; Markov's inequality for every other law", evidence="certificate",
    )  # fmt: skip
    return found if markov.outcome == "holds" else markov


@check("lp_spaces/claim-rem-4", kind="transcription", also=("lp_spaces/alg-4",))
def noise_of_one_gradient(context: Context) -> Verdict:
    """The deviation in the code over Remark 4's, and over the root of the variance that Algorithm 4 prints: the first
    grows no faster than log(n/delta), the second stays within a factor of 2, from n = 10^4 to 10^9.
    """
    level, dim, variance, noise = 3.0, 3, [], []
    for j in range(4, 10):
        m = 10**j
        told = ApproxDP(shuffle_epsilon(1.0, m, DELTA / 2) / 2, DELTA)
        work = heavy(dim)
        algorithm = ShuffledMirrorDescent(steps=16, threshold=level, **CORRECTED)
        row = algorithm.schedule(problem(work, told.epsilon, told.delta), m).phases[0]
        at = {
            n: m, epsilon: told.epsilon, delta: DELTA, kappa: regularity(1.5, dim, "safe"), A_: level,
            H: work.constants.smoothness(1.5), D: work.constants.diameter(1.5),
        }  # fmt: skip
        variance.append(row.sigma**2 / float(order_of("lp_spaces/alg-4").subs(at)))
        noise.append(row.sigma / float(order_of("lp_spaces/claim-rem-4").subs(at)) / math.log(m / DELTA))
    spread = math.sqrt(max(variance) / min(variance))
    numbers = {"variance over the printed order, at most": max(variance), "spread of the deviation": spread}
    said = (
        f"sigma_1^2 is {min(variance):.4g} to {max(variance):.4g} times the printed order, and sigma_1/log(n/delta) "
        f"{min(noise):.3g} to {max(noise):.3g} times Remark 4's"
    )
    ok = spread <= 2 and noise == sorted(noise, reverse=True)
    return (holds if ok else differs)(said, "exact", numbers=numbers)


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


def batched_risk(context: Context, p: float, n: int, label: str) -> Verdict:
    work = heavy(4, p, smoothness=2.0)  # so curved that the largest risk exceeds the bound
    algorithm, setting = BatchedMirrorDescent(p=p), problem(work, 0.9)
    bound = bound_of("lp_spaces/thm-10@derived", algorithm, setting, n)
    values = risk.excess_risks(algorithm, work, setting, n, context.scale(40, 60), context.seed, label, p, n)
    # |w - c|_2 <= |w|_s + |c|_2 for s <= 2.
    limit = work.smoothness / 2 * (work.radius + float(np.linalg.norm(work.centre))) ** 2
    return risk.expectation(values, bound, context.failure_probability, limit=limit, x=n, series=f"p = {p:g}")


@check(
    "lp_spaces/proc-batched-md", kind="risk", grid={"p": (1.5, 1.8), "n": by_size([2 * 10**5], [2 * 10**4, 2 * 10**5])}
)
def heavy_tailed_risk(context: Context, *, p: float, n: int) -> Verdict:
    """Mean excess under Student t gradients, no third moment, against the derived bound."""
    return batched_risk(context, p, n, context.name)


@check("lp_spaces/thm-10@derived", kind="risk", grid={"p": (1.6,), "n": by_size([2 * 10**5], [2 * 10**4, 2 * 10**5])})
def derived_bound_of_theorem_10(context: Context, *, p: float, n: int) -> Verdict:
    """The three-line bound with one noise vector a batch."""
    return batched_risk(context, p, n, context.name)


@check("lp_spaces/claim-app10-general-eps", kind="symbolic")
def batched_privacy(context: Context) -> Verdict:
    """2 kappa log(1/delta) s^2/epsilon^2 at s = 2 (beta M + lambda)/b: rho = epsilon^2/(4 log(1/delta))."""
    s2 = (2 * (H * D + A_) / b_) ** 2
    found = explicit_of("lp_spaces/proc-batched-md").subs(sp.Symbol("A", positive=True), A_)
    return proved({"rho": kappa * s2 / (2 * found) - epsilon**2 / (4 * LOG)})


@check("lp_spaces/proc-heavy-euclid", kind="symbolic")
def euclidean_reduction(context: Context) -> Verdict:
    """Dual norms only shrink and the diameter grows by d^(1/2 - 1/p) for p >= 2; its schedule is certified."""
    rng, p = context.rng(), 3.0
    v = rng.standard_normal((500, 6))
    from dpcheck.geometry.norms import dual_norm, norm

    grown = accuracy.never_violated(
        norm(v), 6 ** (1 / 2 - 1 / p) * norm(v, p), statement="|v|_2", covers="Hoelder's inequality"
    )
    shrunk = accuracy.never_violated(norm(v), dual_norm(v, p), statement="|g|_2 <= |g|_q", covers="monotone norms")
    work = heavy(4, 2.0)
    plan = certified(EuclideanHeavyTails().schedule(problem(work, 0.9), 5000), ApproxDP(0.9, DELTA), "Euclidean")
    return next((v for v in (grown, shrunk, plan) if v.outcome != "holds"), plan)
