"""What the audits of two sections share: users, problems, dials, runs, and bounds phase by phase."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import sympy as sp

from dpcheck import seeds, symbols
from dpcheck.accounting import account
from dpcheck.algorithms.user_level import GroupPrivacy, PhasedERM, PhasedSGD, SmoothedERM, StronglyConvex
from dpcheck.algorithms.user_level.group_privacy import GroupPass
from dpcheck.algorithms.user_level.minibatch import Batches
from dpcheck.algorithms.user_level.phased import GroupedPhase
from dpcheck.algorithms.user_level.sizes import best_q, log_ratio
from dpcheck.algorithms.user_level.strongly_convex import Round
from dpcheck.checks import Context
from dpcheck.engine.catalogue import claim
from dpcheck.engine.executed import as_stated
from dpcheck.engine.statements import bound_of, explicit_of, stated
from dpcheck.geometry import Ball
from dpcheck.harness import accuracy, domain, risk
from dpcheck.harness.budget import REDUCED, calibrated, judge_account, with_budget
from dpcheck.harness.data_free import told_apart
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.runtime import CountingWorkload
from dpcheck.harness.scaling import Accelerating, Axial, AxialPull, Family, Instance, Wide, averaged_descent, geometric
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.symbolic import proved
from dpcheck.interfaces import Algorithm, Array, Constants, Problem
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fresh, Run
from dpcheck.symbols import delta
from dpcheck.verdicts import Point, Verdict, combine
from dpcheck.workloads import LinearMean, QuadraticMean, SignHuber, Users
from dpcheck.workloads.sign_bowl import SignBowl

REDUCED_1 = PhasedSGD(c_step=8.0, groups=8, q=1.0, p=1.5, phases=3, c_radius=8.0, c_noise=2.5e-4, c_score=0.02)
"""Algorithm 1 with reduced noise, so little that its rate can be seen: 3 phases, 8 groups."""
REDUCED_3 = PhasedERM(**PhasedERM.readings["dialled"])
REDUCED_4 = SmoothedERM(**SmoothedERM.readings["dialled"], phases=2)
_FULL: dict[str, Any] = {
    "c_batch": 50.0, "c_users": 0.1, "c_noise": 1e-4, "c_score": 1e-3, "c_radius": 2.0, "c_steps": 10.0,
    "phases": 1, "q": 1.0, "p": 0.5,
}  # fmt: skip
REDUCED_FULL_3, REDUCED_FULL_4 = PhasedERM(**_FULL), SmoothedERM(**_FULL)
"""One phase, full batches, ten times the steps: the recursion is below LR from about 100 users on. Reduced noise."""


APART = PhasedERM(
    c_batch=0.15, c_users=0.002, c_noise=0.2, c_score=0.7, c_radius=0.06, c_steps=0.5, phases=2, q=0.8, p=0.5
)
"""Algorithm 3 with reduced noise and radii so small that users can lie apart."""


def linear(d: int, m: int, bias: float = 0.5, D: float = 1.0) -> Users:
    """W1: <z, x> with fair or biased signs, |z| = L = 1, on a ball of diameter D."""
    size = np.full(d, 1 / math.sqrt(d))
    return Users(LinearMean(size, bias * size, Ball(d, D / 2), radius=D / 2), m)


def quadratic(d: int, m: int, bias: float = 0.25) -> Users:
    """W2: |x - z|^2/2 with |z| = 1/2 on a ball of radius 1/2: L = 1, beta = mu = 1."""
    size = np.full(d, 0.5 / math.sqrt(d))
    return Users(QuadraticMean(size, bias * size, Ball(d, 0.5), radius=0.5), m)


def huber(d: int, m: int, kappa: float = 0.5) -> Users:
    """W3, and W4 at kappa = 0."""
    return Users(SignHuber(a=0.5, kappa=kappa, dimension=d), m)


WORKLOADS = {"linear": linear, "quadratic": quadratic, "huber": huber}


def problem(work: Any, epsilon: float = 1.0, delta: float = 1e-6) -> Problem:
    return Problem.of(work, ApproxDP(epsilon, delta), samples_per_user=work.samples)


def plain(d: int, m: int, epsilon: float = 1.0, delta: float = 1e-6, smooth: float = 1.0) -> Problem:
    """L = R = 1 in l2, and other numbers in other norms: a problem of which only constants are known."""
    constants = Constants(
        d=d,
        diameter=lambda p: 2 ** (2 - p),
        lipschitz=lambda p: 3 ** (2 - p),
        smoothness=lambda p: smooth * 5 ** (2 - p),
        moment=lambda k, b: 1.0,
        growth=(2.0, 0.5),
    )
    return Problem(constants=constants, privacy=ApproxDP(epsilon, delta), samples_per_user=m)


def top(work: Any) -> float:
    """LR, which no excess risk exceeds."""
    return float(work.constants.lipschitz(2.0) * work.constants.diameter(2.0))


def counted(
    algorithm: Any, work: Any, told: Problem, n: int, seed: int, label: str, **names: Any
) -> tuple[float, int, int]:
    """Gradients of single samples in one run that did not halt, what its schedule has, and what a claim states.

    Args:
        label: of the claim; "" where none states it.
        names: `symbols`, as of `as_stated`.
    """
    each: Any = CountingWorkload(work.each)
    users = Users(each, work.samples)
    schedule = algorithm.schedule(told, n)
    run: Run[Any] = Run(schedule, 1, seeds.stream(seed, "counted", n))
    algorithm.execute(run, users, Fresh(users, 1, n, seed), np.zeros((1, told.constants.d)))
    stated = as_stated(algorithm, told, n, {"gradients": label} if label else {}, **names).gradients
    return (float(each.gradients) if run.active.all() else math.nan), int(schedule.gradients), stated


def promised(algorithm: Any, told: Problem, n: int, **numbers: Any) -> Verdict:
    """The account of a plan against the promise; says how much of the plan is sampled, which is what decides it."""
    plan = algorithm.schedule(told, n)
    verdict = judge_account(account(plan, n), told.privacy)
    batched = [phase for phase in plan.phases if isinstance(phase, Batches)]
    sampled, count = sum(not phase.whole for phase in batched), len(plan.phases)
    said = f"{sampled} of {count} phases are sampled" if sampled else f"full batches only, in all {count} phases"
    said = said if batched else f"{count} phases"
    more = {"phases": count, "sampled phases": sampled, "n": n, **numbers}
    return replace(verdict, reason=f"{verdict.reason} ({said})", numbers={**verdict.numbers, **more})


SUMMED = {
    "user_level/alg-1": "user_level/thm-b1@summed",
    "user_level/alg-3": "user_level/thm-c3@summed",
    "user_level/proc-smoothed-alg-3": "user_level/thm-d3@summed",
}
"""The claim that bounds an algorithm's risk at its own schedule, by the algorithm's label."""


def risk_verdict(context: Context, algorithm: Any, work: Any, n: int, trials: int, series: str) -> Verdict:
    """Mean excess risk of runs with reduced noise against the algorithm's explicit bound at the same dials.

    UNDECIDED where an output that reads no data keeps the bound as well.
    """
    told = problem(work)
    values = risk.excess_risks(algorithm, work, told, n, trials, context.seed, context.label, series, n)
    bound, most = bound_of(SUMMED[algorithm.label], algorithm, told, n), top(work)
    verdict = risk.expectation(
        values, bound, context.failure_probability, limit=most, x=float(n), series=f"{series}, {REDUCED}"
    )
    assert algorithm.schedule(told, n).claimed is None, "a run whose noise is called reduced has a promise"
    verdict = told_apart(verdict, work, bound)
    return with_budget(replace(verdict, numbers={**verdict.numbers, "LR": most}), algorithm, told, n)


def with_certified_noise(verdict: Verdict, context: Context, algorithm: Any, work: Any, n: int) -> Verdict:
    """Why the noise is reduced: the same run at the least noise that is certified, against the start, which reads no
    data. The test's noise is raised to where its bits leave a part of the budget to the gradients or iterates.
    """
    told, start = problem(work), float(work.excess_risk(np.zeros((1, work.constants.d)))[0])
    private = calibrated(replace(algorithm, c_score=4.0), "c_noise", told, n, tolerance=0.01)
    values = risk.excess_risks(private, work, told, n, 60, context.seed, context.label, "certified noise", n)
    left = float(values.mean()) / start
    said = f"at the least noise that is certified, c_noise = {private.c_noise:.3g}, it is {left:.3g} of the start's"
    numbers = {"c_noise that is certified": private.c_noise, "mean over the start's at that noise": left}
    return replace(verdict, reason=f"{verdict.reason}; {said}", numbers={**verdict.numbers, **numbers})


def stated_each(label: str, **values: Any) -> Array:
    """The bound at arrays of values, which broadcast."""
    return np.asarray(claim(label).evaluate(**values), dtype=float)


def stated_by_phases(label: str, rows: Mapping[str, Sequence[float]], **values: Any) -> float:
    """The bound at settings that differ from phase to phase."""
    return stated(label, **{f"{name}[i]": row for name, row in rows.items()}, **values)


def difference_of_laplace(t: float, wide: float, narrow: float) -> float:
    """P(Lap(wide) - Lap(narrow) > t), t >= 0."""
    top = wide**2 * math.exp(-t / wide) - narrow**2 * math.exp(-t / narrow)
    return top / (2 * (wide**2 - narrow**2))


ACCELERATED_SIZES = {
    "n = 3e5, m = d = 10, epsilon = 1": (300_000, 10, 10, 1.0, 1e-7),
    "n = 1e5, m = 100, d = 5, epsilon = 8": (100_000, 100, 5, 8.0, 1e-8),
    "n = 4e6, m = 10, d = 100, epsilon = 0.1": (4_000_000, 10, 100, 0.1, 1e-9),
}


def account_at(algorithm: PhasedERM, size: str) -> Verdict:
    n, m, d, epsilon, delta = ACCELERATED_SIZES[size]
    return promised(algorithm, plain(d, m, epsilon, delta), n)


PHASED_SIZES = {
    "n = 2e5, m = 10, epsilon = 1": (200_000, 10, 1.0, 1e-6),
    "n = 1e5, m = 10, epsilon = 10": (100_000, 10, 10.0, 1e-6),
    "n = 4e6, m = 10, epsilon = 0.1": (4_000_000, 10, 0.1, 1e-8),
    "n = 1e6, m = 1000, epsilon = 1": (1_000_000, 1000, 1.0, 1e-12),
}


REDUCED_DIALS: Any = {"c_users": 0.1, "c_batch": 1.0, "c_noise": 0.02, "c_score": 0.02}


X, ELL, V = symbols.positive("x l v")
"""log(n/δ), log(1/δ), and 1/x."""
FAILURE = delta / (10 * sp.exp(symbols.epsilon))
"""What each event of the privacy proof of Algorithm 1 may miss."""
MOST_EPSILON, LEAST_X, FEWEST_USERS, MOST_DELTA = 10, 16, 10**3, sp.Rational(1, 10**4)


def covered(moved: sp.Expr, kept: sp.Expr = sp.S.One) -> Verdict:
    """Whether σ_i covers, at (ε/4, δ/n), a mean of `kept` C points that moves by moved/kept, with B at its tail of
    δ/(10e^ε): for all n >= 10^3, δ <= 10^-4 and ε <= 10, where x = log(n/δ) is at least 16 and v = 1/x.

    The square of what is asked over what is printed grows with ε + ℓ: ε = 10 and ℓ = x − log 10^3 decide.
    """
    users, budget = symbols.n, symbols.epsilon
    asked, tail = explicit_of("user_level/def-a5"), explicit_of("user_level/lem-b2@tail")
    (width,) = (s for s in asked.free_symbols if s.name == "Delta")
    asked = asked.subs({width: moved, budget: budget / 4, delta: delta / users}, simultaneous=True)
    over = asked.subs(symbols.B, tail).subs(symbols.zeta, FAILURE) / explicit_of("user_level/alg-1@sigma") ** 2
    over = sp.expand_log(over.subs({users: sp.exp(X - ELL), delta: sp.exp(-ELL)}), force=True)
    slope = sp.diff(over, budget)
    signs = {
        "slope at ε = ℓ = 0": sp.factor(slope.subs({budget: 0, ELL: 0})),
        "which grows": sp.factor(sp.diff(slope, budget)),
        "x": sp.log(FEWEST_USERS / MOST_DELTA) - LEAST_X,
    }
    grows = proved({"ε and ℓ by their sum alone": slope - sp.diff(over, ELL)}, signs)
    most = over.subs({budget: MOST_EPSILON, ELL: X - sp.log(FEWEST_USERS)}).subs(X, 1 / V)
    left = sp.cancel(sp.expand_log(most, force=True)) / kept**2 - 1
    said = "noise asked for over the printed one <= 1 for n >= 10^3, delta <= 10^-4, epsilon <= 10"
    return combine([domain.never_positive(left, {"v": (0, sp.Rational(1, LEAST_X))}, statement=said), grows])


def without_log(expression: object) -> sp.Expr:
    """Without the logarithm of 1/delta."""
    return sp.sympify(expression).subs(sp.log(1 / delta), 1).subs(delta, sp.exp(-1))


MANY_USERS = 10**12
CURVES = (2.0, 2.5, 3.0, 4.0, 6.0)


def first_steps(users: float, samples: float, eps: float) -> tuple[float, float]:
    """sqrt(beta_r/lambda_1) of phase 1 at d = 1, and q = log2(1 + 1/log2 n).

    beta_r = eps n sqrt m, lambda_1 = 2^p (1/sqrt(nm) + 1/(eps n sqrt m)), the larger lambda of Theorem C.3, with the
    least p = 3q + 5/2 + log_n sqrt m that it allows; in units of L and R.
    """
    q = math.log2(1 + 1 / math.log2(users))
    p = 3 * q + 2.5 + math.log(samples) / (2 * math.log(users))
    weight = 2**p * (1 / math.sqrt(users * samples) + 1 / (eps * users * math.sqrt(samples)))
    return math.sqrt(eps * users * math.sqrt(samples) / weight), q


def fewest_gradients(users: int, samples: int, eps: float, dlt: float) -> float:
    """T_1 K_1 m at d = 1: T_1 = (1 + sqrt(beta_r/lambda_1)) log(ndm), K_1 = log(nmd e^eps/delta)/eps alone."""
    steps, _ = first_steps(users, samples, eps)
    return (1 + steps) * math.log(users * samples) * log_ratio(float(users * samples), eps, dlt) / eps * samples


def gradients_without_logs(users: float, samples: float) -> float:
    """The count of phase 1 over the stated one at epsilon = 1, all logarithms dropped."""
    steps, _ = first_steps(users, samples, 1.0)
    count = users * samples + steps * samples * (users / math.sqrt(steps) + 1)
    return count / (users * samples * (1 + users**0.375 * samples**0.25))


def rays() -> tuple[Point, ...]:
    """The quotient along m = n^k for several k."""
    return tuple(
        Point(x=10.0**e, value=gradients_without_logs(10.0**e, 10.0 ** (k * e)), series=f"m = n^{k:g}", bound=1.0)
        for k in CURVES
        for e in range(6, 37, 3)
    )


def growth(k: float) -> float:
    """Exponent of n in the missing term over the stated count along m = n^k, epsilon = 1."""
    missing = sp.Rational(3, 4) + sp.Rational(3, 2) * sp.Rational(k)
    return float(missing - max(1 + sp.Rational(k), sp.Rational(11, 8) + sp.Rational(5, 4) * sp.Rational(k)))


PLACES: dict[str, tuple[int, int, int, int, int]] = {
    "n = 10^14, m = 10^20, epsilon = 10^-7": (10**14, 10**20, 10**7, 1, 2),
    "n = 10^12, m = n^4, epsilon = 1": (MANY_USERS, MANY_USERS**4, 1, 1000, 2),
    "n = 10^12, m = n^10, epsilon = 1": (MANY_USERS, MANY_USERS**10, 1, 10**6, 4),
}
"""n, m, 1/epsilon, and the constant and the power of log(nmd e^epsilon/delta) that an upper bound might hide.

Small epsilon needs far fewer samples a user: the first has the border m = max(n^(5/2) eps^3, n^(3/2) eps) = 10^14.
"""


def gradients_refuted(label: str, verifier: str, place: str) -> Verdict:
    """Phase 1 alone against the stated count times a constant and a power of the logarithm, delta = 1/(2nm), d = 1."""
    users, samples, inverse, constant, power = PLACES[place]
    eps, dlt = 1 / inverse, 0.5 / (users * samples)
    at = {"n": float(users), "m": float(samples), "d": 1.0, "epsilon": eps, "delta": dlt}
    claimed = constant * log_ratio(float(users * samples), eps, dlt) ** power
    claimed *= stated(label, **at, q=first_steps(users, samples, eps)[1])
    value = fewest_gradients(users, samples, eps, dlt)
    parameters: dict[str, Any] = {
        "n": users, "m": samples, "d": 1, "epsilon": f"1/{inverse}", "delta": f"1/{2 * users * samples}",
        "constant": constant, "power": power,
    }  # fmt: skip
    verdict = accuracy.never_violated(
        value,
        claimed,
        statement=f"gradients <= {constant:,} log^{power} times the stated order at {place}",
        witness=lambda _: witnessed(label, verifier, claimed, value, **parameters),
    )
    numbers = {**verdict.numbers, **{f"growth exponent of the quotient along m = n^{k}": growth(k) for k in (4, 10)}}
    return replace(
        verdict,
        numbers=numbers,
        points=rays(),
        axes=("n", "count over the stated one, without logarithms"),
        dashed="the stated count",
    )


SHAPES = {
    "m = d = 10, epsilon = 1": (10, 10, 1.0),
    "m = 10^6, d = 10, epsilon = 1": (10**6, 10, 1.0),
    "m = d = 10, epsilon = 10": (10, 10, 10.0),
    "m = 100, d = 10^4, epsilon = 1": (100, 10**4, 1.0),
}
"""m, d, epsilon; delta = 1/(nm), and beta R = L where the smoothness enters."""
DASHED = {"dashed": "LR, beyond which a bound is vacuous"}
J = 0.2


def linear_time_bound(users: float, m: int, d: int, eps: float, *, clipped: bool) -> float:
    """Theorem B.1 over L R where nothing halts, at its own schedule; `clipped` with projected iterates."""
    n = math.floor(users)
    algorithm, told = (
        PhasedSGD(p=max(J, math.log(m) / math.log(n)) + 1.5, project=clipped),
        plain(d, m, eps, 1 / (n * m)),
    )
    if not algorithm.feasible(told, n):
        return math.inf
    return bound_of("user_level/thm-b1@on-the-event", algorithm, told, n)


BOWLS = Family.of(mirrored=True, curvature=geometric(1.0, 1 / 16, 24))
"""|w - z|² on a ball with curvatures 1, 1/16, …: a class of smoothness 1 that knows neither n nor the algorithm."""


DELTA = 1e-60
"""Of the promise: there are up to 1e48 users."""


DELTAS = (1e-8, 1e-16, 1e-32, 1e-64, 1e-128, 1e-256)
"""Over so many octaves of log(1/δ)."""


def bowl(
    algorithm: Algorithm[Any], n: int, m: int, d: int, curvature: float, *, epsilon: float = 1.0, delta: float = DELTA,
    D: float = 1.0, L: float = 1.0, drawn: bool = False,
) -> Instance:  # fmt: skip
    """A bowl in d dimensions, told to have smoothness 1; unless records are drawn, a plane section of it is enough."""
    d, n, m = int(d), int(n), int(m)
    work = Users(SignBowl(curvature, d if drawn else min(d, 2), D, L), m)
    constants = replace(work.constants, d=d, smoothness=lambda p: 1.0)
    told = Problem(constants=constants, privacy=ApproxDP(epsilon, delta), samples_per_user=m)
    at = {"n": n, "m": m, "d": d, "epsilon": epsilon, "delta": delta, "D": D, "L": L}
    return Instance(algorithm, work, told, n, at)


def phased(curvature: float, **at: Any) -> Instance:
    """Algorithm 1 as printed, with what its derived bound asks for."""
    one = bowl(PhasedSGD(), curvature=curvature, **{"n": 10**32, "m": 10, "d": 4} | at)
    more = {"p": PhasedSGD().exponent(one.problem, one.n), "q": best_q(one.n)}
    return replace(one, at={**one.at, **more})


def phases(one: Instance) -> tuple[Any, ...]:
    """Of its own schedule, which is the same for every curvature."""
    return _phases(one.algorithm, tuple((name, one.at[name]) for name in ("n", "m", "d", "epsilon", "delta", "D", "L")))


@functools.lru_cache(maxsize=64)
def _phases(algorithm: Algorithm[Any], at: tuple[tuple[str, Any], ...]) -> tuple[Any, ...]:
    example = bowl(algorithm, curvature=1.0, **dict(at))
    return algorithm.schedule(example.problem, example.n).phases


def pulls(one: Instance) -> list[AxialPull]:
    """The phases of Algorithm 1: the mean of C averages of T steps, and the noise; no point is an outlier. The baseline
    of group privacy has a single average.
    """
    work: SignBowl = one.work.each
    axial_pulls = []
    for phase in phases(one):
        keep, variance = averaged_descent(phase.eta * work.curvature, float(phase.steps))
        drawn = work.deviation * math.sqrt(variance / (phase.groups if isinstance(phase, GroupedPhase) else 1))
        axial_pulls.append(AxialPull(keep, work.best, math.hypot(drawn, phase.sigma), phase.sigma))
    return axial_pulls


IN_CLOSED_FORM = Axial(pulls, 4_000)


PATIENT = PhasedERM(c_steps=4.0, c_batch=1e12)
"""Lemma D.2 leaves constants open: four times the steps, for one is too few for the stages of AC-SA, and all users in
every minibatch."""


SAMPLED = PhasedERM(c_steps=4.0, **PhasedERM.readings["sampled"])
"""The reading whose sampled phases are certified, with the same patience."""


def accelerated(algorithm: PhasedERM, curvature: float, **at: Any) -> Instance:
    """Algorithm 3 where its private term leads: so many dimensions that √d/ε is far above √n."""
    one = bowl(algorithm, curvature=curvature, **{"n": 10**9, "m": 10**24, "d": 10**22, "epsilon": 10.0} | at)
    p, q = algorithm.exponents(one.problem, one.n)
    return replace(one, at={**one.at, "p": p, "q": q, "tau": phases(one)[0].tau})


def accelerating(one: Instance) -> list[Accelerating]:
    """The phases of Algorithm 3, of all rounds: whole batches or distinct users, no gradient is an outlier."""
    work: SignBowl = one.work.each
    stretches = []
    for phase in phases(one):
        for batches in phase.inner.phases if isinstance(phase, Round) else (phase,):
            assert isinstance(batches, Batches)
            plan, _ = batches.stages()
            each = work.deviation**2 / one.problem.samples_per_user
            sampling = each / batches.users
            # The mean of a minibatch lies so far from that of all users of the phase, anew in each step.
            drawn = (work.curvature**2) * each * (1 / batches.batch - 1 / batches.users)
            d, records = one.problem.constants.d, batches.users * one.problem.samples_per_user
            # A gradient takes each shift of the smoothing to its point.
            shifts = (work.curvature * batches.shift) ** 2 * d / (d + 2) / records
            noise = d * batches.sigma**2 + drawn + shifts
            stretches.append(Accelerating([(s.steps, s.upsilon) for s in plan], batches.weight, noise, sampling))
    return stretches


BY_MOMENTS = Wide(accelerating)


class OnePhase(PhasedSGD):
    """The first phase alone: no localisation."""

    def _phases(self, problem: Problem, n: int) -> tuple[GroupedPhase, ...]:
        return super()._phases(problem, n)[:1]


class OnePass(GroupPrivacy):
    """The same of the baseline."""

    def rows(self, problem: Problem, n: int) -> tuple[GroupPass, ...]:
        return super().rows(problem, n)[:1]


class OneSolve(PhasedERM):
    """The same of Algorithm 3."""

    def rows(self, problem: Problem, n: int) -> tuple[Batches, ...]:
        return super().rows(problem, n)[:1]


ALONE = {PhasedSGD: OnePhase, GroupPrivacy: OnePass, PhasedERM: OneSolve}


def _changed(one: Instance, change: Callable[[Any], Any]) -> Instance:
    """The instance under another algorithm, or under restarts of another one."""
    chosen = one.algorithm
    inner = isinstance(chosen, StronglyConvex)
    return one.running(replace(chosen, inner=change(chosen.inner)) if inner else change(chosen))


def without_localisation(one: Instance) -> Instance:
    return _changed(one, lambda it: ALONE[type(it)](**{field.name: getattr(it, field.name) for field in fields(it)}))


def wrong_power(one: Instance) -> float:
    """(nm)^(1/8): a wrong power."""
    return float((one.n * one.problem.samples_per_user) ** 0.125)


def wide_radius(one: Instance) -> Instance:
    """τ is too wide, as by a wrong power of T, and the noise follows."""
    return _changed(one, lambda it: replace(it, c_radius=it.c_radius * wrong_power(one)))


# η of Algorithm 1 and λ of Algorithm 3 are not told apart by any power: the first phases are noise, and localisation
# goes on from there. Nor is T_i/8 of Algorithm 3, whose noise follows √T_i.
WRONG: Mapping[str, Mutant] = {"no localisation": without_localisation, "τ times (nm)^(1/8)": wide_radius}
