"""Appendix B: accelerated steps, the noise of a batch, and amplification by shuffling."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import sympy as sp

from dpcheck import symbols
from dpcheck.accounting import shuffle_epsilon, shuffle_limit
from dpcheck.accounting.calibration import classical_noise, gaussian_sigma
from dpcheck.algorithms.tsybakov import PermutedAccelerated
from dpcheck.algorithms.tsybakov.accelerated import local_shuffled
from dpcheck.algorithms.tsybakov.mechanisms import local_law, local_randomiser
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import order_of, stated
from dpcheck.geometry.norms import clip_norm
from dpcheck.harness import accuracy, shuffling
from dpcheck.harness.scaling import Instance, powers, scaling
from dpcheck.harness.symbolic import agree, proved
from dpcheck.laws import Gaussian, PerRecord
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Point, Verdict, consistent, differs, undecided

from .cases import BOWLS, known_well, problem, told, well
from .lemmas import BY_BATCHES, PLANE, QUARTIC, SHORT_PROX, stepped, throughout, within


@scaling(
    "tsybakov/fact-acsa", variable="T", family=BOWLS, engine=BY_BATCHES, mutants={"γ times T^(1/2)": SHORT_PROX},
    sizes=by_size(powers(2, range(8, 13, 2)), powers(2, range(8, 13))),
)  # fmt: skip
def acceleration_in_the_number_of_steps(*, T: int, curvature: float) -> Instance:
    """Accelerated SGD without clipping and with hardly any noise, the worst over bowls of every curvature: -2.

    Where the noise leads, the rows of Theorem 6 measure the other term.
    """
    return stepped(known_well(curvature, 2.0, 1.0), T, 2**80, 2.0**-27)


@check(
    "tsybakov/fact-acsa@derived",
    kind="risk",
    grid={"T": by_size((64, 256), (64, 128, 256, 512)), "theta": (2.0, 4.0)},
)
def unbiased_acceleration_within_constants(context: Context, *, T: int, theta: float) -> Verdict:
    """Accelerated SGD without clipping on power wells, batches of 4096 records: 4HD²/(T(T+1)) + the noise term."""
    work, n = well(theta, 2.0, c=-1.0), 4096 * T
    algorithm = PermutedAccelerated(level=work.constants.lipschitz(2.0), batches=T, calibration="plain")
    plan, c, width = algorithm.plan(problem(work, 1.0), n), work.constants, work.constants.diameter(2.0)
    noise = math.sqrt(plan.sigma**2 + c.moment(2.0, 1) ** 2 / plan.b)
    bound = stated("tsybakov/fact-acsa@derived", H=c.smoothness(2.0), D=width, T=plan.T, Sigma=noise)
    return within(context, algorithm, work, n, bound, variable="T")


@check("tsybakov/claim-noise", kind="accuracy", grid={"T": (1, 4, 16)})
def noise_of_a_batch(context: Context, *, T: int) -> Verdict:
    """Exact E|N_t|^2 of batches at points of the ball, sigma of Algorithm 6's own plan, against d sigma^2 + r^2 T/n."""
    n, work = 512, QUARTIC
    (row,) = PermutedAccelerated(calibration="plain", batches=T).schedule(told(work), n).phases
    rng = context.rng()
    points = work.project(rng.standard_normal((context.scale(50, 500), 2)) * 2)
    bound = stated("tsybakov/claim-noise", d=2, sigma=row.sigma, r_k=work.constants.moment(2.0, 1), T=T, n=n)
    records = np.stack([work.size * np.asarray(work.v), np.zeros(2)])
    cut = clip_norm(work.gradient(points[:, None], records[None]), row.level)
    chances = np.array([work.chance, 1 - work.chance])
    mean = np.einsum("r,trd->td", chances, cut)
    spread = np.einsum("r,trd->t", chances, (cut - mean[:, None]) ** 2)
    return accuracy.never_violated(
        spread / row.b + 2 * row.sigma**2, bound, statement="E|N_t|^2 <= d sigma^2 + r^2 T/n", evidence="certificate",
        covers="given the past a batch is i.i.d., and clipping does not increase E|z - z'|^2 <= 2 r^2",
    )  # fmt: skip


SIZES = {10**4: 0.096, 10**6: 0.00998}
"""n -> largest epsilon that the explicit amplification lemma reaches with epsilon_0 = 1/2 at delta = 1e-6."""


def shuffle_against_plain(n: int, epsilon: float, delta: float) -> tuple[float, float, int]:
    """(deviation over C sqrt(T) by shuffling, deviation over C T plainly, T of Algorithm 6 on `PLANE`)."""
    local = local_shuffled(epsilon, delta, n, "tsybakov/alg-6")
    by_record = gaussian_sigma(2.0, *local) / math.sqrt(n)
    plan = PermutedAccelerated(calibration="plain").plan(told(PLANE, ApproxDP(epsilon, delta)), n)
    return by_record, gaussian_sigma(2.0, epsilon, delta) / n, plan.T


@check("tsybakov/lem-6@derived", kind="accuracy", expect="consistent")
def crossover_below_which_shuffling_does_not_pay(context: Context) -> Verdict:
    """T from which noise per record is smaller than noise per batch, next to the T that Algorithm 6 takes.

    The accountant of the first is the explicit amplification lemma; a sharper one moves the crossover.
    """
    points, said, below = [], [], True
    for n, epsilon in SIZES.items():
        by_record, plainly, T = shuffle_against_plain(n, epsilon, 1e-6)
        local, _ = local_shuffled(epsilon, 1e-6, n, "tsybakov/alg-6")
        spent = stated("tsybakov/lem-6@derived", epsilon_0=local, n=n, delta=1e-6 / 2)
        if not 0.99 * epsilon <= spent <= epsilon:
            return differs(f"a record's ε_0 = {local:.6g} spends {spent:.6g} by the lemma, and {epsilon:g} is planned")
        crossover = math.ceil((by_record / plainly) ** 2)
        below &= crossover > T
        said.append(f"from T = {crossover:,} at n = {n:,}, epsilon = {epsilon:g}, where Algorithm 6 takes T = {T}")
        for batches in (1, 10, 100, 1000, 10_000):
            ratio = by_record / (plainly * math.sqrt(batches))
            points.append(Point(x=float(batches), value=ratio, bound=1.0, series=f"n = {n:,}"))
    reason = "by this lemma shuffling needs less noise than disjoint batches " + "; ".join(said)
    axes = ("T", "deviation by shuffling over deviation by batch")
    if not below:
        return undecided(reason, "exact", points=points, axes=axes, dashed="equal deviations")
    seen = "a crossover at or below the T that Algorithm 6 takes, at these two sizes"
    return consistent(reason, "exact", points=points, axes=axes, dashed="equal deviations", notices=seen)


@check("tsybakov/lem-6@derived", kind="privacy", grid={"n": (10**4, 10**6), "T": (1, 100, 5000)})
def noise_of_the_shuffle_calibration(context: Context, *, n: int, T: int) -> Verdict:
    """Each step of the proof with constants: the record's exact curve, the lemma, the sum of deltas, the average."""
    epsilon, delta = SIZES[n], 1e-6
    algorithm = PermutedAccelerated(calibration="shuffle", batches=T)
    (row,) = algorithm.schedule(told(PLANE, ApproxDP(epsilon, delta)), n).phases
    records = row.T * row.b
    local, local_delta = local_shuffled(epsilon, delta, records, "tsybakov/alg-6")
    law = PerRecord(Gaussian(row.sigma * math.sqrt(row.b)))
    grown = (math.exp(epsilon) + 1) * (1 + math.exp(-local) / 2)
    left = {
        "delta of one record at epsilon_0": law.delta(local, 2 * row.level) / local_delta,
        "epsilon_0 within the lemma": local / shuffle_limit(records, delta / 2),
        "epsilon of the lemma": shuffle_epsilon(local, records, delta / 2) / epsilon,
        "delta in all": (delta / 2 + grown * records * local_delta) / delta,
    }
    verdict = accuracy.never_violated(
        list(left.values()), 1.0, statement="every step keeps its share", evidence="certificate",
        covers="the mean of b noises of deviation sigma sqrt(b) is one of deviation sigma: post-processing of records",
    )  # fmt: skip
    return replace(verdict, numbers={**verdict.numbers, **left})


@check("tsybakov/lem-6@derived", kind="privacy")
def shuffled_randomised_response(context: Context) -> Verdict:
    """The exact curve of shuffled randomised responses at the explicit lemma's epsilon, against delta; that of clones,
    for every local randomiser, at all epsilon_0 from 1/100 to 1, delta from 10^-12 to 10^-2, and n between the sizes.
    """

    def lemma(local: float, n: int, delta: float) -> float:
        return stated("tsybakov/lem-6@derived", epsilon_0=local, n=n, delta=delta)

    return shuffling.everywhere(lemma, [500 * 2**i for i in range(context.scale(3, 7))])


@check("tsybakov/lem-6@derived", kind="symbolic", also=("tsybakov/lem-6",))
def explicit_lemma_has_the_printed_order(context: Context) -> Verdict:
    """tanh(e/2) <= 1 - exp(-e), log(1 + x) <= x: 8 sqrt(log(4/delta)/log(1/delta)) times the order at most."""
    e = sp.Symbol("epsilon_0", positive=True)
    u = sp.Symbol("u", positive=True)  # exp(-e)
    share = (1 - u) / (1 + u)
    explicit = claim("tsybakov/lem-6@derived").bound
    inside = sp.exp(explicit) - 1
    e_0 = next(s for s in explicit.free_symbols if s.name == "epsilon_0")
    tanh = (sp.exp(e_0) - 1) / (sp.exp(e_0) + 1)
    spread = 8 * sp.sqrt(sp.exp(e_0) * sp.log(4 / symbols.delta) / symbols.n) + 8 * sp.exp(e_0) / symbols.n
    # log(1/delta) = x, and log(4/delta) = (1 + v)^2 x.
    x, grown = sp.Symbol("x", positive=True), sp.Symbol("E", positive=True)
    v = sp.Symbol("v", nonnegative=True)
    logs = {sp.log(1 / symbols.delta): x, sp.log(4 / symbols.delta): (1 + v) ** 2 * x}
    printed = order_of("tsybakov/lem-6") / (1 - sp.exp(-e_0))
    room = (8 * (1 + v) * printed - spread).subs(logs).subs(e_0, sp.log(grown))
    return proved(
        {
            "share of the sensitive bit": share.subs(u, sp.exp(-e)) - (sp.exp(e) - 1) / (sp.exp(e) + 1),
            "argument of the logarithm": sp.simplify(inside - tanh * spread),
            "what the order has more": sp.simplify((1 - u) - share - u * (1 - u) / (1 + u)),
        },
        {"8 sqrt(log(4/delta)/log(1/delta)) of the order": sp.factor(sp.expand(sp.simplify(room)))},
    )


@check("tsybakov/proc-ldp-gauss", kind="privacy")
def local_randomiser_up_to_one_half(context: Context) -> Verdict:
    """Variance 8C^2 log(1/delta_0)/epsilon_0^2 at sensitivity 2C, for all epsilon_0 <= 1/2 and delta_0 <= 0.99."""
    factor = 0.4 / (3.0 / local_law(1.5, 0.4, 1e-7).sigma) / math.sqrt(math.log(1e7))
    variance = stated("tsybakov/proc-ldp-gauss", C=1.5, epsilon_0=0.4, delta=1e-7)
    if not math.isclose(local_law(1.5, 0.4, 1e-7).sigma ** 2, variance, rel_tol=1e-12):
        return differs(f"the variance of our randomiser is not {variance:.9g}, that of the claim")
    if not math.isclose(factor, math.sqrt(2), rel_tol=1e-12):
        return differs(f"epsilon/mu is {factor:.9g} sqrt(log(1/delta)), and not sqrt(2) of it")
    return throughout(classical_noise(math.sqrt(2), 0.5, 0.99), "epsilon_0 <= 1/2, delta_0 <= 0.99")


@check("tsybakov/proc-ldp-gauss", kind="accuracy")
def lines_of_the_local_randomiser(context: Context) -> Verdict:
    """What it gives less the noise that it drew: a row that is short, and one as long as C in place of a longer one."""
    # unbound: what is clipped, whatever the noise is
    level, rows = 1.5, context.rng("rows").standard_normal((200, 3))
    given = local_randomiser(rows, level, 0.4, 1e-7, context.rng("noise"))
    noise = local_law(level, 0.4, 1e-7).sample(np.zeros_like(rows), context.rng("noise"))
    wanted = rows * np.minimum(1.0, level / np.linalg.norm(rows, axis=1, keepdims=True))
    return agree((given - noise).ravel(), wanted.ravel(), "rows without their noise", tolerance=1e-9)
