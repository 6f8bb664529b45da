"""Section 5.2: heavy tails, by shuffled and by batched truncated mirror descent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck.accounting import shuffle_delta, shuffle_epsilon
from dpcheck.algorithms.lp_spaces import BatchedMirrorDescent, ShuffledMirrorDescent
from dpcheck.algorithms.lp_spaces.regular import dual_regularity, local_budget
from dpcheck.algorithms.lp_spaces.regular import kappa as regularity
from dpcheck.algorithms.lp_spaces.truncated import TruncatedMirrorDescent
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.executed import as_stated, run_as_stated
from dpcheck.engine.settings import drawn, settings
from dpcheck.engine.statements import order_of, stated, unassumed
from dpcheck.geometry.norms import dual_exponent, dual_norm
from dpcheck.harness import accuracy, domain, risk, runtime
from dpcheck.harness.budget import with_budget
from dpcheck.harness.relations import judged
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Instance, Steps, Walk, powers, scaling
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array, Problem, Rng
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.statistics.means import refute_mean
from dpcheck.symbols import D, H, delta, epsilon, kappa, n
from dpcheck.verdicts import Point, Verdict, combine, differs, holds, undecided
from dpcheck.workloads import HeavyCoordinates

from .cases import (
    CORRECTED,
    DELTA,
    RARE,
    READINGS,
    SHORTER,
    SPIKES,
    WALK,
    Spikes,
    certified,
    heavy,
    limits,
    problem,
    refuted_as_stated,
    spiked,
    truncation,
)
from .lemmas import LOW, UNSEEN, antipodal, audited, inverse_map, replayed, steep

A_ = sp.Symbol("A", positive=True)

TRUNCATED = {
    "batch": "lp_spaces/alg-4@batch",
    "gamma": "lp_spaces/alg-4@gamma",
    "gradients": "lp_spaces/alg-4@gradients",
}
AS_LETTERS: dict[str, Any] = {"symbols": {"steps": "T", "batch": "b"}, "powers": {"sigma": 2}}
OF_TRUNCATIONS: dict[str, Any] = {
    **AS_LETTERS,
    "beside": {"radius": "the domain's, in the norm of the mirror map"},
}


SHUFFLED = {
    **TRUNCATED,
    "steps": "lp_spaces/alg-4@steps",
    "level": "lp_spaces/alg-4@threshold",
    "sigma": "lp_spaces/alg-4@noise",
}


def within_its_range(rng: Rng) -> tuple[Problem, int]:
    """A problem of many records, little curvature and an epsilon that a local budget of at most 1 amplifies to."""
    told, n = drawn(n=(2.0**32, 2.0**44), d=(2, 60))(rng)
    delta_, constants = told.privacy.delta, told.constants  # type: ignore[attr-defined]
    promise = ApproxDP(float(rng.uniform(0.1, 0.8)) * shuffle_epsilon(1.0, n, delta_ / 2), delta_)
    flat = replace(constants, smoothness=lambda p: constants.smoothness(p) / 100)
    return replace(told, constants=flat, privacy=promise), n


READINGS_OF_ALGORITHM_4 = {
    "as printed": {**SHUFFLED, "kappa": "lp_spaces/def-3@literal"},
    "corrected": {**SHUFFLED, "kappa": "lp_spaces/alg-3@corrected-kappa"},
}
settings_of_alg_4 = settings(
    "lp_spaces/alg-4",
    READINGS_OF_ALGORITHM_4,
    problems=within_its_range,
    fields={"p": (1.1, 1.5, 1.8)},
    **OF_TRUNCATIONS,
)
IN_SPACE = replace(heavy(3), s=2.0)  # the ball of the printed exponent at p = 3/2
run_of_alg_4 = run_as_stated(
    "lp_spaces/alg-4", READINGS_OF_ALGORITHM_4["as printed"], IN_SPACE, problem(IN_SPACE, LOW.epsilon, LOW.delta), 4096,
    noises={"sigma": "gradients"}, trials=20, **AS_LETTERS,
)  # fmt: skip


def shuffled_case(
    steps: int = 8, level: float = 3.0, p: float = 1.5, reading: str = "corrected"
) -> ShuffledMirrorDescent:
    return ShuffledMirrorDescent(p=p, steps=steps, threshold=level, **READINGS[reading])


@check("lp_spaces/alg-4", kind="sensitivity")
def truncated_gradients_move_as_claimed(context: Context) -> Verdict:
    """Two gradients below the threshold differ by twice the threshold at most; one far above it counts as 0."""
    work = heavy(3)
    case = Case(shuffled_case(), work, problem(work, LOW.epsilon, LOW.delta))
    level = case.planned(4096).phases[0].level
    return replayed(case, *antipodal(4096, 3, level), "truncation at the level, in the dual norm")


@check("lp_spaces/alg-4", kind="runtime")
def one_pass(context: Context) -> Verdict:
    """One gradient a record."""
    work, setting = heavy(3), problem(heavy(3), LOW.epsilon, LOW.delta)
    counts = runtime.count(shuffled_case(), work, setting, 4096, 1, context.seed, context.name)
    return runtime.verdict(counts.gradients, min(counts.claimed, 4096))


@check("lp_spaces/alg-4", kind="accuracy", also=("lp_spaces/thm-9",))
def range_of_epsilon(context: Context) -> Verdict:
    """The largest epsilon of a local budget of 1 is 2 to 7 times Theorem 9's for n from 10^4 to 10^12 and delta from
    10^-12 to 10^-3: the range of the algorithm. Where delta stays and n grows on, it is of a lower order.
    """
    sizes, chances = np.meshgrid([10**j for j in range(4, 13)], [1e-3, 1e-6, 1e-12])
    s, log = sp.symbols("s l", positive=True)  # 1/sqrt(n), log(1/delta)
    order = order_of("lp_spaces/thm-9").subs({n: s**-2, delta: sp.exp(-log)})
    order = sp.simplify(sp.expand_log(order / s, force=True))
    y = 8 * (sp.E - 1) / (sp.E + 1) * (sp.sqrt(sp.E * (log + sp.log(4))) + sp.E * s)  # FMT is log(1 + y s)
    here = sp.lambdify((s, log), [sp.log(1 + y * s), order * s], "numpy")(1 / np.sqrt(sizes), -np.log(chances))
    box = {"s": ("1/1000000", "1/100"), "l": ("69/10", "277/10")}
    typed = combine(
        [
            agree(np.vectorize(shuffle_epsilon)(1.0, sizes, chances), here[0], "FMT(1, n, delta)"),
            agree(claim("lp_spaces/thm-9").evaluate(n=sizes, delta=chances), here[1], "the order"),
        ]
    )
    within = combine(
        [
            domain.never_positive(y - 7 * order, box, statement="FMT(1, n, delta) <= 7 times the order"),
            domain.never_positive(2 * order - y + y**2 * s / 2, box, statement="FMT(1, n, delta) >= 2 times the order"),
        ]
    )
    return within if typed.outcome == "holds" else typed


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
    rows = np.array([[[level, 0, 0], [-level, 0, 0]]]) - work.gradient(np.zeros(3), np.zeros(3))
    kept = algorithm.truncated(work, np.zeros((1, 3)), rows, level * (1 + 1e-12))
    return agree([float(np.abs(kept[0, 0] - kept[0, 1]).max())], [2 * level], "distance of opposite gradients")


@check("lp_spaces/thm-10@literal", kind="risk", expect="refuted")
def linear_loss_above_the_threshold(context: Context) -> Verdict:
    """A deterministic linear loss steeper than the threshold is never seen."""
    at = {"n": 10**12, "d": 10, "kappa": 2, "epsilon": "1/1000000", "delta": "1/1000000", "beta": "1/10"}
    return refuted_as_stated(context.label, "thm_10", constant=100, **at)


@check("lp_spaces/thm-10", kind="accuracy", grid={"p": (1.3, 1.8), "lambda_": (1.0, 10.0, 100.0)})
def bias_of_the_truncation(context: Context, *, p: float, lambda_: float) -> Verdict:
    """The mean of a truncated gradient is off by sigma^2/lambda + beta M sigma^2/lambda^2 at most in the dual norm: in
    closed form under Student t, at points of the domain; for every law as X 1{X > l} <= X^2/l and 1{X > l} <= X^2/l^2.
    """
    # unbound: an inequality inside of the proof, whatever the rate is
    x, t = sp.symbols("x t", positive=True)  # X = l + t
    markov = proved(
        {}, {"X 1{X > l}": sp.factor((x + t) ** 2 / x - (x + t)), "1{X > l}": sp.factor((x + t) ** 2 / x**2 - 1)}
    )
    work = heavy(4, p)
    c, away, q = work.constants, work.constants.smoothness(p) * 2 * work.radius, dual_exponent(p)
    law = scipy.stats.t(work.nu)

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
    verdict = accuracy.never_violated(
        left, bound, statement="bias <= sigma^2/lambda + beta M sigma^2/lambda^2",
        covers="these points; Markov's inequality for every other law", evidence="certificate",
    )  # fmt: skip
    return verdict if markov.outcome == "holds" else markov


@check("lp_spaces/claim-rem-4", kind="transcription", also=("lp_spaces/alg-4", "lp_spaces/alg-4@corrected"))
def noise_of_one_gradient(context: Context) -> Verdict:
    """The deviation in the code over Remark 4's times log(n/delta) stays within a factor of 3, and over the root of the
    variance that Algorithm 4 prints within 1.5, over n, delta, d, p, threshold, curvature and diameter.
    """
    variance, noise = [], []
    spaces, losses = ((1.1, 3), (1.1, 3000), (1.8, 3)), ((0.05, 1.0), (5.0, 1.0), (200.0, 0.03))
    for (reading, label), j, log_delta, (p, dim), level, (H_, radius) in itertools.product(
        LABELS.items(), range(6, 10), (3, 12), spaces, (12.0, 3000.0), losses
    ):
        m, work, delta_ = 10**j, heavy(dim, p, H_, radius), 10.0**-log_delta
        told = ApproxDP(shuffle_epsilon(1.0, m, delta_ / 2) / 2, delta_)
        steps = max(16, math.ceil(4 * H_**2))  # the least of which the theorem speaks
        algorithm = ShuffledMirrorDescent(p=p, steps=steps, threshold=level, **READINGS[reading])
        row = algorithm.schedule(problem(work, told.epsilon, told.delta), m).phases[0]
        at = {
            n: m, epsilon: told.epsilon, delta: delta_, A_: level,
            kappa: regularity(p, dim, algorithm.kappa_rule), H: work.constants.smoothness(p),
            D: work.constants.diameter(p),
        }  # fmt: skip
        variance.append(row.sigma**2 / float(order_of(label).subs(at)))
        if dim == 3:  # the remark leaves the root of kappa <= 2 log d to its logarithms
            noise.append(row.sigma / float(order_of("lp_spaces/claim-rem-4").subs(at)) / math.log(m / delta_))
    spread = math.sqrt(max(variance) / min(variance))
    numbers = {"variance over the printed order, at most": max(variance), "spread of the deviation": spread}
    said = (
        f"sigma_1^2 is {min(variance):.4g} to {max(variance):.4g} times the printed order, and sigma_1/log(n/delta) "
        f"{min(noise):.3g} to {max(noise):.3g} times Remark 4's"
    )
    ok = spread <= 1.5 and max(noise) <= 3 * min(noise)
    return (holds if ok else differs)(said, "exact", numbers=numbers)


LABELS = {"paper": "lp_spaces/alg-4", "corrected": "lp_spaces/alg-4@corrected"}


@check("lp_spaces/alg-4", kind="accuracy", grid={"p": (1.5, 1.8), "level": (0.2, 3.0)})
def lines_of_algorithm_4(context: Context, *, p: float, level: float) -> Verdict:
    """As printed, on the ball of the norm of the printed exponent kappa/(kappa - 1): 2 for p = 3/2, 5 for p = 9/5."""
    # unbound: the lines at the schedule's own numbers, which the settings compare with the claims
    return truncated_lines(context, p, level, "paper", shuffled_case(16, level, p, "paper"))


@check("lp_spaces/alg-4@corrected", kind="accuracy", grid={"p": (1.2, 1.8), "level": (0.2, 3.0)})
def truncated_lines_with_the_dual_exponent(context: Context, *, p: float, level: float) -> Verdict:
    """The same with the exponent (kappa + 1)/kappa and the kappa of Definition 3."""
    # unbound: the lines at the schedule's own numbers, which the settings compare with the claims
    return truncated_lines(context, p, level, "corrected", shuffled_case(16, level, p))


def truncated_lines(
    context: Context, p: float, level: float | str, reading: str, chosen: TruncatedMirrorDescent
) -> Verdict:
    """Gradients above beta M + lambda are zero, the others whole; every step minimises <g, w> + gamma D_Phi(w, w_t)
    over the ball; the output is the plain average. Five records fill no batch, and are not shuffled either. `level` is
    the lambda that is given, or the label of the threshold that the algorithm has of its own.

    w minimises over {|w|_s <= rho} iff <s, w> = -rho |s|_* at s = g + gamma (grad Phi(w) - grad Phi(w_t)).
    """
    trials, size = context.scale(12, 20), 4096 + 5
    dual, space = min(1 / (p - 1), 2 * math.log(3)), dual_regularity(p, 3)
    r, s_exponent = (dual, dual / (dual - 1)) if reading == "paper" else (space.r, space.s)
    work = replace(heavy(3, p), s=s_exponent)
    shuffled = isinstance(chosen, ShuffledMirrorDescent)
    dial = 1.0 if isinstance(level, str) else (0.3 if shuffled else 3) / level
    algorithm = replace(chosen, noise_dial=dial)
    told = problem(work, LOW.epsilon, LOW.delta)
    plan = algorithm.schedule(told, size)
    settings = {name: TRUNCATED[name] for name in ("batch", "gamma")}
    if isinstance(level, str):
        settings["level"] = level
    (row,) = as_stated(algorithm, told, size, settings, **AS_LETTERS).phases
    rows = work.rows(context.rng("data"), trials, size)
    run = Run[Any](plan, trials, context.rng("run"))
    out = algorithm.execute(run, work, Fixed(rows), np.zeros((1, 3)))
    if shuffled:
        rows = np.take_along_axis(rows, run.transcript.coins[0][:, :, None], axis=1)
        if rows.shape[1] != 4096:
            return differs(f"{rows.shape[1]} records are shuffled, of which 4096 fill batches", "exact")
    steps = row.steps
    blocks = rows[:, : steps * row.batch].reshape(trials, steps, row.batch, 3)
    smooth = work.constants.diameter(p) * work.constants.smoothness(p)  # beta M
    bound = row.level if isinstance(level, str) else smooth + level
    w, total = np.zeros((trials, 3)), np.zeros((trials, 3))
    wanted: list[Array] = []
    slack: list[Array] = []
    cut: list[float] = []
    ends: list[float] = []
    slope = np.zeros((trials, 3))
    for t, entry in enumerate(run.transcript.entries):
        gradients = work.gradient(w[:, None], blocks[:, t])
        keep = dual_norm(gradients, p) <= bound
        whole = np.where(keep[..., None], gradients, 0.0)
        wanted.append(whole if shuffled else whole.mean(axis=1))
        cut.append(1 - keep.mean())
        noisy = entry.output.mean(axis=1) if shuffled else entry.output
        after = inverse_map(slope - noisy / row.gamma, p, reading)
        length = (np.abs(after) ** s_exponent).sum(axis=1, keepdims=True) ** (1 / s_exponent)
        w, before = after * np.minimum(1.0, work.radius / length), slope
        slope = (slope - noisy / row.gamma) * np.minimum(1.0, work.radius / length)  # of degree 1
        s = noisy + row.gamma * (slope - before)
        edge = work.radius * (np.abs(s) ** r).sum(axis=1) ** (1 / r)
        slack.append(((s * w).sum(axis=1) + edge) / (1 + edge))
        ends.append((length > work.radius).mean())
        total = total + w / steps
    released = np.stack([entry.core for entry in run.transcript.entries])
    shares = float(np.mean(cut)), float(np.mean(ends))
    if not all(0 < share < 1 for share in shares):
        return differs(f"shares of {shares} of gradients are cut and of steps end at the edge: all kinds wanted")
    verdict = combine(
        [
            *([] if isinstance(level, str) else [agree([row.level], [bound], "threshold")]),
            agree(released.ravel() + 1, np.stack(wanted).ravel() + 1, "1 + truncated gradients", 1e-8),
            agree(1 + np.stack(slack).ravel(), np.ones(np.size(slack)), "1 + slack of the optimality", 1e-8),
            agree(out.ravel() + 1, total.ravel() + 1, "1 + average", 1e-8),
        ]
    )
    return with_budget(verdict, plan, told, size)


@check("lp_spaces/alg-4@corrected", kind="privacy", expect=UNSEEN)
def outputs_of_algorithm_4(context: Context) -> Verdict:
    """4,096 records in space, one gradient just below the threshold turned round, 8 batches."""
    return audited(context, "Algorithm 4")


@check("lp_spaces/proc-shuffle", kind="privacy", grid={"n": by_size([10_000], [10_000, 10**6])})
def amplification_against_the_exact_pair(context: Context, *, n: int) -> Verdict:
    """The closed form lies above the exact dominating pair of randomised responses, at budgets that are used."""
    worst = 0.0
    for epsilon0, delta_ in itertools.product((0.2, 0.6, 1.0), (1e-3, 1e-6)):
        stated = shuffle_epsilon(epsilon0, n, delta_)
        worst = max(worst, shuffle_delta(stated, epsilon0, n) / delta_)
    said = f"delta of the exact pair is at most {worst:.3g} of the stated one at n = {n:,}"
    return judged(worst, "<=", 1, said, "certificate", numbers={"largest ratio": worst})


@check("lp_spaces/proc-shuffle", kind="privacy")
def local_budgets_add_up(context: Context) -> Verdict:
    """The local budget, which Algorithm 4 tells, returns epsilon after amplification; delta_0 spends half of delta."""
    budgets, wanted = [], []
    for n_, e in ((10**4, 0.1), (10**6, 0.01)):
        local = local_budget(e, 1e-6, n_)
        assert local is not None
        spent = (math.exp(e) + 1) * (1 + math.exp(-local.epsilon) / 2) * n_ * local.delta
        said = ShuffledMirrorDescent(steps=16, threshold=9.0).terms(problem(heavy(3), e, 1e-6), n_)
        budgets += [shuffle_epsilon(local.epsilon, n_, 5e-7), spent, said.get("epsilon_0", 0), said.get("delta_0", 0)]
        wanted += [e, 5e-7, local.epsilon, local.delta]
    return agree(budgets, wanted, "epsilon after shuffling, and the delta of the local parts", tolerance=1e-6)


OWN_NOISE = ShuffledMirrorDescent(**CORRECTED)
SPIKED: Mapping[str, Any] = {"part": "private", "family": SPIKES, "mutants": SHORTER}
SHORT_FORMS = ("lp_spaces/claim-contrib-3", "lp_spaces/claim-table-2")


@scaling(
    "lp_spaces/thm-10@derived", variable="n", engine=WALK, also=SHORT_FORMS, **SPIKED,
    sizes=by_size(powers(10, (30, 33, 36)), powers(10, range(30, 37, 2))),
)  # fmt: skip
def risk_in_n(*, n: int, chance: float) -> Instance:
    """Mean excess risk of Algorithm 4 with its own noise, epsilon = 1e-18, d = 1, the worst over spikes.

    From n = 1e25 on the noise no longer holds it at its start.
    """
    return spiked(n=n, epsilon=1e-18, chance=chance, shuffled=True)


@scaling(
    "lp_spaces/thm-10@derived", variable="epsilon", engine=WALK, also=SHORT_FORMS, **SPIKED,
    sizes=by_size(powers(10, (-18, -17, -15)), powers(10, range(-18, -14))),
)  # fmt: skip
def risk_in_epsilon(*, epsilon: float, chance: float) -> Instance:
    """The same in epsilon at n = 1e30."""
    return spiked(n=10**30, epsilon=epsilon, chance=chance, shuffled=True)


@scaling(
    "lp_spaces/thm-10@derived", variable="delta", against="explicit", engine=WALK, **SPIKED,
    sizes=by_size(powers(10, (-250, -110, -40)), powers(10, (-250, -160, -100, -65, -40))),
)  # fmt: skip
def risk_in_delta(*, delta: float, chance: float) -> Instance:
    """The same in log(1/delta) at n = 1e33, against the bound that has the logarithms of the noise of one gradient."""
    return spiked(n=10**33, epsilon=1e-18, delta=delta, chance=chance, shuffled=True)


# Over the dimension: records on the diagonal of a cube, an instance that diagonal, the walk one coordinate times √d.

NEXT_TO_TWO = 2 - 1e-9
"""p, below 2 as the theorems ask."""


def diagonal(*, n: int, d: int, epsilon: float, chance: float, delta: float = RARE, shuffled: bool = False) -> Instance:
    """Truncated mirror descent with its own noise, in batches or shuffled, on spikes along the diagonal."""
    work = Spikes(chance)
    algorithm: TruncatedMirrorDescent = (
        replace(OWN_NOISE, p=NEXT_TO_TWO) if shuffled else BatchedMirrorDescent(p=NEXT_TO_TWO)
    )
    told = problem(work, epsilon, delta)
    told = replace(told, constants=replace(told.constants, d=d))
    kappa = regularity(NEXT_TO_TWO, d, "safe")
    at = {"n": n, "d": d, "epsilon": epsilon, "delta": delta, "D": 1.0, "kappa": kappa}
    return Instance(algorithm, work, told, n, {name: float(v) for name, v in at.items()})


def coordinates(one: Instance) -> Steps:
    """Those of one coordinate, in units of the diagonal: the noise of d coordinates, the spikes of one record."""
    work, d = one.work, one.problem.constants.d
    assert isinstance(one.algorithm, TruncatedMirrorDescent)
    row = truncation(one.algorithm, one.n, one.at["epsilon"], one.at["delta"], d)
    seen = work.chance if work.size <= row.level else 0.0
    noise = row.sigma * math.sqrt(d / (row.batch if isinstance(one.algorithm, ShuffledMirrorDescent) else 1))
    spread = math.hypot(noise, work.size * math.sqrt(seen * (1 - seen) / row.batch))
    return Steps(seen * work.size / row.gamma, spread / row.gamma, row.steps)


ACROSS = Walk(coordinates)


@scaling(
    "lp_spaces/thm-10@derived", variable="d", engine=ACROSS, sizes=by_size((1, 64, 4096), (1, 16, 256, 4096)), **SPIKED
)
def risk_in_dimension(*, d: int, chance: float) -> Instance:
    """The same in d at n = 1e36, with p next to 2 and on a cube, whose coordinates move apart from each other."""
    return diagonal(n=10**36, d=d, epsilon=1e-18, chance=chance, shuffled=True)


@check("lp_spaces/thm-10", kind="accuracy", also=("lp_spaces/alg-4@threshold",))
def range_of_n_reaches_the_threshold(context: Context) -> Verdict:
    """From the least n of the theorem on the printed lambda is at least max{beta, 1} M, of which Algorithm 4 needs
    beta M: there it is just that.
    """
    there, wanted = [], []
    for smooth in (0.5, 3.0):
        known = {"H": smooth, "D": 1.5, "d": 5, "kappa": 2.5, "epsilon": 0.01, "delta": 1e-6}
        least = limits("lp_spaces/thm-10", known).get("n", 0)
        there.append(stated("lp_spaces/alg-4@threshold", n=float(least), **known) - smooth * 1.5)
        wanted.append(max(smooth, 1.0) * 1.5)
    return agree(there, wanted, "lambda at the least n")


def largest_epsilon(n: int) -> float:
    """Nine tenths of what shuffling n records turns a local budget of 1 into."""
    return min(0.9, 0.9 * shuffle_epsilon(1.0, n, DELTA / 2))


@check("lp_spaces/alg-4@own-noise", kind="risk", grid={"n": by_size([2048], [2048, 16_384])})
def output_stays_at_the_start(context: Context, *, n: int) -> Verdict:
    """At the largest epsilon: the mean excess is that at the start, by bets against half of it and four times it."""
    work, told = steep(3), problem(steep(3), largest_epsilon(n))
    values = risk.excess_risks(OWN_NOISE, work, told, n, context.scale(60, 120), context.seed, context.name, n)
    row, start = OWN_NOISE.schedule(told, n).phases[0], float(work.excess_risk(np.zeros((1, 3)))[0])
    # |w - c|_2 <= |w|_s + |c|_2 for s <= 2: the excess never exceeds the limit.
    limit = work.smoothness / 2 * (work.radius + float(np.linalg.norm(work.centre))) ** 2
    mean, fails = stated(context.label) * start, context.failure_probability / 2
    less = refute_mean(values, mean / 2, fails).crossed is not None
    more = limit <= 4 * mean or refute_mean(limit - values, limit - 4 * mean, fails).crossed is not None
    numbers = {"mean": float(values.mean()), "start": start, "largest": limit, "noise": row.sigma}
    said = f"mean excess {values.mean():.4g} over {len(values)} trials, {start:.4g} at the start"
    fields: dict[str, Any] = {"failure_probability": context.failure_probability, "numbers": numbers}
    return (holds if less and more else undecided)(said, "sampled", **fields)


@check("lp_spaces/alg-4@own-noise", kind="accuracy")
def size_from_which_it_would_leave(context: Context) -> Verdict:
    """The derived bound with the algorithm's own noise, at the largest epsilon of each n: below the excess at the start
    at n = 10^25, not at 10^24; the printed rate with constant 1 is below it at n = 10^5.
    """
    # unbound: judged by lp_spaces/thm-10@derived; the formula of this label is its noise
    work = steep(3)
    start = float(work.excess_risk(np.zeros((1, 3)))[0])
    sizes = [10**j for j in range(5, 26)]
    bounds = np.array([own_noise_bound(work, n) for n in sizes])
    first = sizes[int(np.argmax(bounds < start))] if (bounds < start).any() else math.inf
    at = {"d": 3.0, "epsilon": largest_epsilon(sizes[0]), "delta": DELTA, "D": 2.0, "kappa": 2.0, "beta": math.exp(-1)}
    rate_there = unassumed("lp_spaces/thm-10", n=float(sizes[0]), **at)
    said = (
        f"the derived bound is {bounds[0]:.4g} at n = 1e5 and {bounds[-2]:.5g} at 1e24, and first below {start:.4g}, "
        f"the excess at the start, at n = {first:.0e}; the printed rate, constant 1, is {rate_there:.3g} at 1e5"
    )
    numbers = {"start": start, "first n": float(first), "bound over the rate at 1e5": float(bounds[0]) / rate_there}
    points = [
        Point(x=float(n), value=float(b), series="derived bound", bound=start)
        for n, b in zip(sizes, bounds, strict=True)
    ]
    ok = first == 10**25 and rate_there < start
    make, axes = holds if ok else differs, ("n", "excess risk")
    return make(said, "exact", numbers=numbers, points=points, axes=axes, dashed="excess at the start")


def own_noise_bound(work: HeavyCoordinates, n: int) -> float:
    """`lp_spaces/thm-10@derived` at the schedule of Algorithm 4, E|mean Z|^2 <= kappa_+ d sigma_1^2/b (type 2)."""
    row, constants = OWN_NOISE.schedule(problem(work, largest_epsilon(n)), n).phases[0], work.constants
    space, H, M = dual_regularity(1.5, work.d), constants.smoothness(1.5), constants.diameter(1.5)
    noise = space.kappa_plus * work.d * row.sigma**2 / row.batch
    values = {
        "kappa": space.kappa, "theta": constants.extra["minimiser_norm"], "T": float(row.steps), "D": M, "H": H,
        "sigma": constants.extra["deviation"], "A": row.level - H * M, "b": float(row.batch), "C": noise,
    }  # fmt: skip
    return float(claim("lp_spaces/thm-10@derived").evaluate(**values))
