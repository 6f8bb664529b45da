"""Section 2: the linear-time algorithm."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck.algorithms.user_level import PhasedSGD
from dpcheck.algorithms.user_level.concentration import concentration_score, inclusion, neighbour_counts
from dpcheck.algorithms.user_level.descent import movement
from dpcheck.algorithms.user_level.sizes import best_q, log_ratio, smallest_users
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import algorithm, claim
from dpcheck.engine.executed import run_as_stated
from dpcheck.engine.setting import Setting
from dpcheck.engine.settings import drawn, settings
from dpcheck.engine.statements import bound_of, order_of, stated
from dpcheck.errors import Infeasible
from dpcheck.harness import accuracy, domain, runtime, sensitivity
from dpcheck.harness.budget import REDUCED, with_budget
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.relations import compared
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array
from dpcheck.laws import Laplace
from dpcheck.symbols import D, L, epsilon, m, n
from dpcheck.verdicts import Verdict, combine, consistent, differs

from .cases import (
    PHASED_SIZES,
    REDUCED_1,
    WORKLOADS,
    counted,
    linear,
    plain,
    problem,
    promised,
    quadratic,
    risk_verdict,
    without_log,
)
from .feasible import SCANNED, map_of_feasible_sizes, shapes
from .lines import BESIDE, EMPTY, KEPT, algorithm_1, replayed, three_kinds
from .movements import movement_claimed
from .plans import phased, sizes_of_phases

ALG_1 = {
    "phases": "user_level/alg-1@phases",
    "groups": "user_level/alg-1@groups",
    "members": "user_level/alg-1@users",
    "steps": "user_level/alg-1@steps",
    "eta": "user_level/alg-1@eta",
    "tau": "user_level/alg-1@tau",
    "test": "user_level/alg-1@test",
    "sigma": "user_level/alg-1@sigma",
    "gradients": "user_level/alg-1@gradients",
}
LETTERS = {"groups": "C", "members": "N", "steps": "T"}
settings_of_alg_1 = settings(
    "user_level/alg-1",
    {"as printed": ALG_1, "literal": ALG_1, "corrected": ALG_1},
    symbols=LETTERS,
    beside=BESIDE,
    problems=drawn(users=True, n=(2.0**20, 2.0**50), epsilon=(0.05, 8)),
)

run_of_algorithm_1 = run_as_stated(  # as private as it is printed: 14 phases of at least one user a group
    "user_level/alg-1",
    {name: label for name, label in ALG_1.items() if name != "gradients"},  # of users, not of samples
    linear(1, 1), problem(linear(1, 1), 10.0, 0.01), 16_000,
    noises={"test": "*/score", "sigma": "*/mean"}, trials=60, symbols=LETTERS,
)  # fmt: skip


def _certified(size: str) -> Verdict:
    n, m, epsilon, delta = PHASED_SIZES[size]
    plan = PhasedSGD().schedule(plain(10, m, epsilon, delta), n)
    left = {
        "users over n": sum(p.users for p in plan.phases) / n,
        "gradients over nm": plan.gradients / (n * m),
    }
    return promised(PhasedSGD(), plain(10, m, epsilon, delta), n, **left)


@check("user_level/alg-1", kind="transcription", grid={"samples": (1, 10)})
def plans_and_promises_of_algorithm_1(context: Context, *, samples: int) -> Verdict:
    """What is planned, refused and promised at the printed constants."""
    # unbound: what is planned and promised, which no formula says
    return phased(200_000, plain(10, samples))


@check("user_level/alg-1", kind="transcription", grid={"part": ("sizes", "movement")})
def sizes_and_movement_of_algorithm_1(context: Context, *, part: str) -> Verdict:
    """From how many users on there is a plan, and the movement of its means that it claims."""
    # unbound: what is planned, and laws of coins; the settings compare tau and the noise with the claims
    if part == "sizes":
        return sizes_of_phases()
    # A test as sure as it can be, one with too few groups for that, and one with too few to keep any for sure.
    each = (PhasedSGD(), PhasedSGD(groups=1000), PhasedSGD(groups=3))
    return combine([movement_claimed(algorithm, plain(10, 10), 200_000, 1e-7) for algorithm in each])


@check("user_level/alg-1", kind="privacy", grid={"size": tuple(PHASED_SIZES)}, also=("user_level/thm-b1",))
def account_of_the_printed_constants(context: Context, *, size: str) -> Verdict:
    """The accountant, with the certified movement of Lemma B.2 and all its failures, keeps (epsilon, delta).

    At sizes where no phase of Theorem B.1 is empty.
    """
    return _certified(size)


@check("user_level/alg-1", kind="sensitivity", grid={"loss": tuple(WORKLOADS)}, expect="consistent")
def a_user_moves_his_phase_alone(context: Context, *, loss: str) -> Verdict:
    """Replayed (reduced noise): a user of phase 2 moves its score by 2(C - 1)/C at most, and no other phase."""
    work = WORKLOADS[loss](3, 4)
    algorithm, told, n = replace(REDUCED_1, order="random"), problem(work), 256
    second = algorithm.schedule(told, n).phases[1]
    data = work.rows(context.rng("data"), 1, n)
    other = data.copy()
    other[0, second.start] = -other[0, second.start]
    seen = Case(algorithm, work, told).replay(data, other, context.scale(16, 100), context.seed)
    others = max(float(m.distance.max()) for m in seen.movements if not m.release.name.startswith("phase 2"))
    score = max(float(m.ratio.max()) for m in seen.movements if m.release.name == "phase 2/score")
    mean = max(float(m.ratio.max()) for m in seen.movements if m.release.name == "phase 2/mean")
    numbers: dict[str, Any] = {"others": others, "score over its claim": score, "mean over its claim": mean}
    broken = others > 1e-12 or score > 1 + 1e-9 or float(seen.leak.max()) > 0
    said = f"other phases move by {others:g}, the score by {score:.3g} and the mean by {mean:.3g} of their claims"
    if broken:
        return differs(said, numbers=numbers, severity=max(score, others))
    seen = "a score moved beyond its claim, another phase that moves, or an output that follows the data, at this pair"
    verdict = consistent(said, "exact", numbers=numbers, notices=seen, severity=score)
    return with_budget(verdict, algorithm, told, n)


def _planted_positions(kind: str, C: int, tau: float, reach: float) -> tuple[Array, Array]:
    """Positions (C,) of the averages, and the same with the first one moved, for an outlier as far as `reach`."""
    positions = np.zeros(C)
    if kind == "outlier":
        moved = positions.copy()
        moved[0] = reach
        return positions, moved
    # A side cluster that sees a part of the core only: each of its points is kept with a probability between 0 and 1,
    # and loses 6/C of it when a core point that it sees moves out of its sight.
    side = C // 10
    positions[: C - side] = np.linspace(tau, 0.0, C - side)
    positions[C - side :] = 2.45 * tau
    moved = positions.copy()
    moved[0] = 0.0
    return positions, moved


def planted(positions: Array, schedule: Any, d: int, phases: int = 1) -> Array:
    """Users of linear losses <z, x> that put the averages of the first phase at `positions` (C,) times e_1.

    All samples of a group are alike: x~ = -eta (T - 1)/2 z. Users of later phases are 0.
    """
    first = schedule.phases[0]
    reach = first.eta * (first.steps - 1) / 2
    if np.abs(positions).max() > reach:
        raise ValueError(f"positions reach {np.abs(positions).max():.3g}, SGD only {reach:.3g}")
    last = schedule.phases[phases - 1]
    n, m = last.start + last.users, first.steps // first.members
    data = np.zeros((1, n, m, d))
    data[0, : first.users, :, 0] = np.repeat(positions / reach, first.members)[:, None]
    return data


def wide(groups: int) -> PhasedSGD:
    """One phase of Algorithm 1 whose radius is so small that users can be planted beyond it; reduced noise."""
    return PhasedSGD(eta=0.1, p=1.0, q=1.0, groups=groups, phases=1, c_radius=0.02, c_score=0.5, order="fixed")


@check("user_level/alg-1", kind="sensitivity", grid={"kind": ("outlier", "edge")})
def movement_of_planted_iterates(context: Context, *, kind: str) -> Verdict:
    """Iterates planted where removal is active (reduced noise): how often the mean exceeds its certificate.

    delta = 0.5, so that the declared failure (0.1 for the coins, and the tail of the test) can be seen.
    """
    C = 300
    work = linear(2, 8, D=1e4)
    algorithm, told = wide(C), problem(work, 1.0, 0.5)
    if kind == "outlier":
        algorithm = replace(algorithm, c_radius=1e-4)  # so small that the moved iterate lands far beyond what is kept
    schedule = algorithm.schedule(told, 4 * C)
    if schedule.phases[0].members != 1:
        raise ValueError("a group must be one user, so that a user moves its iterate all the way")
    first = schedule.phases[0]
    reach = first.eta * (first.steps - 1) / 2
    positions = _planted_positions(kind, C, first.tau, reach)
    data, other = (planted(values, schedule, 2) for values in positions)
    fields = sensitivity.failures(
        Case(algorithm, work, told, schedule=schedule), data, other, context.scale(400, 3000), context.seed,
        context.failure_probability,
    )  # fmt: skip
    verdict = fields["phase 1/mean"]
    worst = (
        Case(algorithm, work, told, schedule=schedule).replay(data, other, 400, context.seed).ratios()["phase 1/mean"]
    )
    numbers = {"largest movement over its certificate": float(worst.max()), "reach over tau": reach / first.tau}
    return with_budget(replace(verdict, numbers={**verdict.numbers, **numbers}), schedule, told, 4 * C)


@check("user_level/alg-1", kind="privacy", grid={"C": (20, 101)})
def halting_bit_of_two_clusters(context: Context, *, C: int) -> Verdict:
    """Two far clusters of k and C - k, one point moved: the exact epsilon of the halting bit, over all k."""
    epsilon, worst, at = 1.0, 0.0, 0
    noise = Laplace(20 / epsilon)

    def passes(score: float) -> float:
        return float(scipy.stats.laplace.sf((0.8 * C - score) / noise.scale))

    for k in range(1, C):
        cloud, moved = np.zeros((1, C, 1)), np.zeros((1, C, 1))
        cloud[0, k:] = moved[0, k - 1 :] = 9.0
        p, q = (passes(float(concentration_score(points, 1.0)[0])) for points in (cloud, moved))
        value = exact_epsilon([p, 1 - p], [q, 1 - q])
        worst, at = (value, k) if value > worst else (worst, at)
    claimed = noise.pure(2 * (C - 1) / C)
    verdict = accuracy.never_violated(
        [worst, claimed], [claimed, epsilon / 4], statement="epsilon of the bit <= 2(C - 1)/C eps/20 <= eps/4",
        evidence="certificate", covers="the bit is post-processing of a Laplace mechanism; two clusters, all k",
    )  # fmt: skip
    return replace(verdict, numbers={**verdict.numbers, "worst bit": worst, "k": at, "score released": claimed})


@check("user_level/alg-1", kind="privacy", grid={"epsilon": (0.5, 1.0, 5.0)})
def pass_of_an_empty_set(context: Context, *, epsilon: float) -> Verdict:
    """Two halves far apart: moving a point changes the mean altogether, and all rests on P(pass) <= delta.

    The score is C/2 and P(pass) = exp(-0.3 C eps/20)/2 = (delta/(20 n m e^eps))^1.5/2, exactly.
    """
    n, m, delta = 200_000, 10, 1e-6
    C = PhasedSGD().group_count(plain(10, m, epsilon, delta), n)
    half = C // 2
    points = np.repeat([0.0, 9.0], [half, C - half])[None, :, None]
    score = float(concentration_score(points, 1.0)[0])
    chance = float(scipy.stats.laplace.sf((0.8 * C - score) / (20 / epsilon)))
    formula = 0.5 * (delta / (20 * n * m * math.exp(epsilon))) ** 1.5
    return accuracy.never_violated(
        [chance, chance], [delta / 10, formula], statement="P(pass at two halves) <= delta/10",
        evidence="exact", covers="C is rounded up, so the formula is an upper bound",
        tolerance=0.02,
    )  # fmt: skip


def _mixture(positions: Array, sigma: float) -> tuple[Any, list[tuple[float, float]]]:
    """Log-density of the noisy kept mean of points whose uncertain inclusions all lie at one position."""
    (counts,) = neighbour_counts(positions[None, :, None], (2.0,))
    p = inclusion(counts)[0]
    sure, unsure = positions[p >= 1], positions[(p > 0) & (p < 1)]
    chances = p[(p > 0) & (p < 1)]
    parts = [(1.0, float(sure.mean()))]
    if len(unsure):
        if np.ptp(unsure) > 1e-9 or np.ptp(chances) > 1e-9:
            raise ValueError("the uncertain points differ; enumerate them")
        k = np.arange(len(unsure) + 1)
        weights = scipy.stats.binom.pmf(k, len(unsure), chances[0])
        means = (sure.sum() + k * unsure[0]) / (len(sure) + k)
        parts = [(float(w), float(c)) for w, c in zip(weights, means, strict=True) if w > 1e-18]
    logs = np.log([w for w, _ in parts])
    centres = np.array([c for _, c in parts])

    def density(x: float) -> float:
        terms = logs - (x - centres) ** 2 / (2 * sigma**2)
        return float(np.logaddexp.reduce(terms) - math.log(sigma * math.sqrt(2 * math.pi)))

    return density, parts


@check("user_level/alg-1", kind="privacy", grid={"pair": ("shift", "fraction")}, expect="consistent")
def exact_epsilon_of_planted_pairs(context: Context, *, pair: str) -> Verdict:
    """The law of the noisy mean of planted iterates is a mixture over binomial inclusions: exact epsilon at delta/2.

    "shift": all at 0, one moved to 2 tau; "fraction": side clusters that the move makes less likely to be kept. The
    noise is that of printed constants over tau, which any tau shares.
    """
    C, epsilon, n, m, delta = 400, 1.0, 200_000, 10, 1e-6
    printed = PhasedSGD().schedule(plain(10, m, epsilon, delta), n).phases[0]
    # The noise of the printed C, rescaled to a movement of 1/400 in place of 1/C.
    sigma = printed.sigma / printed.tau * printed.groups / C
    positions, moved = _planted_positions("outlier" if pair == "shift" else "edge", C, 1.0, 2.0 * (1 - 1e-9))
    first, second = (_mixture(values, sigma) for values in (positions, moved))
    centre = sorted({round(c, 6) for _, c in (*first[1], *second[1])})
    ends = (centre[0] - 12 * sigma, centre[-1] + 12 * sigma)
    value = exact_epsilon(first[0], second[0], delta / 2, support=ends, breakpoints=())
    share = epsilon / 4
    verdict = accuracy.never_violated(
        [value], [share], statement="epsilon of the mean <= eps/4 at delta/2", covers="this pair", evidence="exact"
    )
    numbers = {
        **verdict.numbers,
        "epsilon": value,
        "components": len(first[1]) + len(second[1]),
        "noise over tau": sigma,
    }
    said = f"epsilon {value:.4g} of {share:g} for this pair; other pairs rest on the certificate"
    if verdict.outcome == "holds":
        seen = f"an epsilon of the noisy mean above {share:g} at this pair"
        return consistent(said, "exact", numbers=numbers, notices=seen, severity=value / share)
    return replace(verdict, numbers=numbers)


@check("user_level/alg-1", kind="runtime", grid={"n": by_size([256], [256, 1024])})
def counted_gradients_of_phased_sgd(context: Context, *, n: int) -> Verdict:
    """Gradients of a run, sample by sample: as the schedule says, and at most nm (reduced noise)."""
    work = linear(3, 4)
    label = ALG_1["gradients"]
    value, *expected = counted(REDUCED_1, work, problem(work), n, context.seed, label, symbols=LETTERS)
    if {value} != {*expected}:
        return differs(f"{value:g} gradients counted, {expected} planned and stated", "counted")
    verdict = runtime.verdict(value, stated("user_level/alg-1", n=n, m=4), x=float(n), series=REDUCED)
    return with_budget(verdict, REDUCED_1, problem(work), n)


@check("user_level/alg-1", kind="risk", grid={"loss": ("linear", "huber")}, expect="undecided")
def risk_with_all_phases(context: Context, *, loss: str) -> Verdict:
    """All floor(log2 n) phases at the step of the theorem times 8, 8 groups (reduced noise)."""
    # unbound: held against thm-b1@summed, where the claim counts gradients
    algorithm, work = replace(REDUCED_1, phases=None, q=0.2), WORKLOADS[loss](2, 16)
    return risk_verdict(context, algorithm, work, 2048, context.scale(200, 600), f"{loss}, all phases")


@check("user_level/alg-1@derived", kind="sensitivity")
def removal_never_acts_at_printed_constants(context: Context) -> Verdict:
    """Two averages are within eta L (T - 1) of each other, below tau = 1000 eta L sqrt T log(ndm) for T <= 10^6 log^2.

    So the score is C and everything is kept, for every data set, at every size of the table: the noise then hides a
    movement of eta L (T - 1)/C, a small part of what it is made for.
    """
    left, right, numbers = [], [], {}
    for name, (users, samples, eps, dlt) in PHASED_SIZES.items():
        for phase in PhasedSGD().schedule(plain(10, samples, eps, dlt), users).phases:
            reach = movement(phase.eta, 1.0, phase.steps)
            left.append(reach)
            right.append(phase.tau)
            if phase.i == 1:
                numbers[f"movement over the certified one, {name}"] = reach / phase.groups / phase.moves
    verdict = accuracy.never_violated(
        left, right, statement="eta L (T - 1) <= tau", evidence="certificate",
        covers="every phase of four sizes; Lipschitz losses cannot move farther",
    )  # fmt: skip
    return replace(verdict, numbers={**verdict.numbers, **numbers})


@check("user_level/alg-1@derived", kind="runtime", also=("user_level/alg-1",))
def nearly_every_sample_once(context: Context) -> Verdict:
    """Many phases of two groups: the gradients come within a hundredth of 2^-q nm, and of nm itself at q = 1/100."""
    told, n, m, values, wanted = plain(3, 7), 10**10, 7, [], []
    for q, phases in ((1.0, 12), (0.3, 40), (0.01, 1000)):
        values.append(PhasedSGD(q=q, p=0.1, groups=2, phases=phases).schedule(told, n).gradients / (n * m))
        wanted.append(stated("user_level/alg-1@derived", q=q))
    values.append(values[-1] * n * m)
    wanted.append(stated("user_level/alg-1", n=n, m=m))
    return agree(values, wanted, "gradients over nm, and over 1", tolerance=0.01)


@check("user_level/alg-1@derived", kind="runtime", grid={"size": tuple(PHASED_SIZES)})
def planned_gradients_of_phased_sgd(context: Context, *, size: str) -> Verdict:
    """Gradients over nm at printed constants: at most 2^-q, less by the users that rounding leaves out."""
    n, m, epsilon, delta = PHASED_SIZES[size]
    plan = PhasedSGD().schedule(plain(10, m, epsilon, delta), n)
    return accuracy.never_violated(
        [plan.gradients / (n * m)],
        [stated("user_level/alg-1@derived", q=best_q(n))],
        statement="gradients over nm <= 2^-q",
        covers="the plan fixes the gradients, whatever the data",
        evidence="counted",
    )


@check("user_level/alg-1", kind="accuracy", grid={"loss": ("linear", "quadratic")})
def lines_of_algorithm_1(context: Context, *, loss: str) -> Verdict:
    """All phases replayed from their coins and releases: linear losses of shuffled users, with projected iterates;
    quadratics in the given order, without. Users lie apart, trials halt, and points leave the domain.
    """
    shuffled = loss == "linear"
    work = (linear if shuffled else quadratic)(2, 3)
    algorithm = PhasedSGD(
        groups=20, c_radius=0.025, c_noise=0.0006, c_score=0.14,
        order="random" if shuffled else "fixed", **PhasedSGD.readings["corrected" if shuffled else "literal"],
    )  # fmt: skip
    users = three_kinds(context.rng("users"), 600, 900, 3, middle=0.5)
    devices = KEPT if shuffled else (*KEPT, EMPTY)
    settings = {name: ALG_1[name] for name in ("phases", "members", "steps", "eta")}
    lines, told = algorithm_1(shuffled, shuffled), problem(work, 0.01)  # so little that the printed steps are long
    return replayed(context, algorithm, work, told, users, lines, devices, settings, symbols=LETTERS)


RATIONALS = {"n": 10**6, "m": 10, "d": 10, "epsilon": 1, "delta": "1/10000000", "q": "7/100", "J": "1/5"}


@check("user_level/alg-1@literal", kind="privacy", expect="refuted")
def noise_of_the_first_phase_against_the_diameter(context: Context) -> Verdict:
    """sqrt(d) sigma_1 over the diameter at n = 10^6, m = d = 10, epsilon = 1, delta = 1/(nm), printed constants."""
    users, samples, dims, dlt, power, p = 10**6, 10, 10, 1e-7, 0.07, 1.7
    log = log_ratio(20 * users * samples, 1.0, dlt)
    steps = (1 - 2**-power) * users * 2**-power * samples / (100 * log)
    eta = 2**-p / math.sqrt(dims * samples * users)
    tau = 1000 * eta * math.sqrt(steps) * math.log(users * dims * samples)
    value = math.sqrt(dims) * tau * math.log(users / dlt) ** 2 / log
    claimed = stated("user_level/alg-1@literal")
    return accuracy.never_violated(
        value,
        claimed,
        statement="sqrt(d) sigma_1 <= R",
        witness=lambda _: witnessed("user_level/alg-1@literal", "alg_1", claimed, value, **RATIONALS),
    )


@check("user_level/alg-1@corrected", kind="privacy", grid={"epsilon": (1.0, 10.0), "d": (1, 100)})
def planned_noise_over_the_radius(context: Context, *, epsilon: float, d: int) -> Verdict:
    """sqrt(d) sigma_i/tau_i of every planned phase, up to the rounding of C: at most 1/C below the stated quotient."""
    users, samples, dlt = 400_000, 10, 1e-6
    rows = PhasedSGD().schedule(plain(d, samples, epsilon, dlt), users).phases
    wanted = stated("user_level/alg-1@corrected", n=users, m=samples, d=d, epsilon=epsilon, delta=dlt)
    values = [math.sqrt(d) * row.sigma / row.tau / wanted for row in rows]
    return agree(values, np.ones(len(values)), "sqrt(d) sigma_i/tau_i over the claim", tolerance=1 / rows[0].groups)


@check("user_level/thm-2-1", kind="symbolic")
def where_algorithm_1_beats_group_privacy(context: Context) -> Verdict:
    """Smallest feasible n over (m, d, epsilon), and a scanned n at which its explicit bound is below the baseline's.

    Orders alone: the proved rate is below the private part of the baseline exactly where m > eps n (S13).
    """
    numbers, points = map_of_feasible_sizes(PhasedSGD(), context)
    agreed = []
    for samples, dimension, eps in shapes(context):
        for users in SCANNED:
            proved = stated(
                "user_level/thm-2-1@derived", n=users, m=float(samples), d=dimension, epsilon=eps, D=1.0, L=1.0
            )
            private = math.sqrt(dimension) / (eps * users)
            agreed.append(float((proved < private) == (samples > eps * users)))
    verdict = accuracy.never_violated(
        np.ones(len(agreed)), agreed, statement="better exactly where m > eps n", covers="the quotient is sqrt(eps n/m)"
    )
    return replace(verdict, numbers={**verdict.numbers, **numbers}, points=points, axes=("m", "smallest n"))


@check("user_level/thm-2-1", kind="privacy", grid={"epsilon": (0.5, 2.0)})
def theorem_2_1_is_certified(context: Context, *, epsilon: float) -> Verdict:
    """The same for the informal theorem, at the smallest feasible n of m = 20, d = 5."""
    told = plain(5, 20, epsilon, 1e-7)
    n = smallest_users(lambda size: PhasedSGD().feasible(told, size), 1)
    assert n is not None
    return promised(PhasedSGD(), told, n)


@check("user_level/thm-2-1", kind="runtime")
def one_pass_at_most(context: Context) -> Verdict:
    """Counted in a run of all floor(log2 n) phases (reduced noise)."""
    work = linear(3, 4)
    algorithm = PhasedSGD(**PhasedSGD.readings["dialled"])
    gradients, *_ = counted(algorithm, work, problem(work), 600, context.seed, ALG_1["gradients"], symbols=LETTERS)
    return with_budget(runtime.verdict(gradients, 600.0 * 4, series=REDUCED), algorithm, problem(work), 600)


@check("user_level/thm-2-1@derived", kind="symbolic")
def proved_rate_against_the_printed_one(context: Context) -> Verdict:
    """It is sqrt(epsilon) times the printed second term without its logarithm: at most sqrt 10 of it."""
    second = without_log(order_of("user_level/thm-2-1")) - D * L / sp.sqrt(n * m * epsilon)
    quotient = order_of("user_level/thm-2-1@derived") / second - sp.sqrt(epsilon)
    room = domain.never_positive(sp.sqrt(epsilon) - sp.sqrt(10), {"epsilon": (0, 10)}, statement="quotient <= sqrt 10")
    return combine([proved({"quotient": sp.simplify(quotient)}), room])


@check("user_level/claim-2-2", kind="symbolic", also=("user_level/fact-prior-rates@bs23-smoothness",))
def smoothness_at_which_algorithm_1_is_planned(context: Context) -> Verdict:
    """The largest beta at which Algorithm 1 can be planned, by bisection, over BS23's; p -> 0, so that eta_1 = eta."""
    algorithm, values, wanted = PhasedSGD(p=1e-9), [], []
    for users, samples, dimension, eps in ((10**6, 10, 10, 1.0), (10**7, 1000, 3, 0.5), (10**6, 2, 10**4, 4.0)):
        low, high = 1e-6, 1e18
        while high > low * (1 + 1e-9):
            middle = math.sqrt(low * high)
            told = plain(dimension, samples, eps, 1e-9, smooth=middle)
            told = replace(told, constants=replace(told.constants, lipschitz=lambda p: 3.0, diameter=lambda p: 0.2))
            try:
                algorithm.schedule(told, users)
                low = middle
            except Infeasible:
                high = middle
        sizes = {"n": users, "m": samples, "d": dimension, "epsilon": eps}
        values.append(low / stated("user_level/fact-prior-rates@bs23-smoothness", **sizes, L=3.0, D=0.2))
        wanted.append(stated("user_level/claim-2-2", **sizes))
    return agree(values, wanted, "quotient of the two largest smoothness parameters", tolerance=1e-7)


@check(
    "user_level/thm-2-1@dominated",
    kind="risk",
    grid={"n": by_size([2**20], [2**20, 2**22, 2**24]), "m": by_size([1, 256], [1, 16, 256]), "epsilon": (0.5, 1.0)},
)
def proved_risk_in_linear_time(context: Context, *, n: int, m: int, epsilon: float) -> Verdict:
    """The bounds with constants that both algorithms have, d = 10, δ = 1/n²: group privacy's is never larger."""
    setting = Setting(n=n, d=10, epsilon=epsilon, delta=1 / n**2, m=m, H=1e-3)
    baseline, linear = algorithm("user_level/proc-group-privacy"), algorithm("user_level/alg-1")
    values = [
        bound_of("user_level/proc-group-privacy@summed", baseline, setting.problem, n),
        bound_of("user_level/thm-b1@summed", linear, setting.problem, n),
    ]
    ratio = float(claim(context.label).evaluate(n=n, m=m))
    series = f"m = {m}, epsilon = {epsilon:g}"
    sides = ("by group privacy", "by Algorithm 1")
    return compared("proved excess risk", sides, *values, ("n", n), series, **{"ratio of the private terms": ratio})
