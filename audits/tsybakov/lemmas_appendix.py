"""Appendix B: clipped descent against the exact minimiser, its noise and bias, and the inductions over calls."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
from scipy import optimize, stats

from dpcheck.algorithms.clipping import clip_norm
from dpcheck.algorithms.tsybakov import LocalisedClipped, PermutedAccelerated
from dpcheck.algorithms.tsybakov.clipped import clipped_descent, clipped_gradient, dykstra, regularised_minimiser
from dpcheck.algorithms.tsybakov.localised import averaged_moment, corrected
from dpcheck.checks import Context, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import stated
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry import Ball, Box
from dpcheck.harness import accuracy
from dpcheck.interfaces import Array, Problem, Sample
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Point, Verdict, differs, holds, refuted
from dpcheck.workloads.tilted_power import ProductTilt, SparseTilt

from ._instances import told
from .privacy_calls import PLANE

QUARTIC = SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=4.0, reach=2.0)

# Theorem 8 ------------------------------------------------------------------------------------------------------------


def descents(context: Context, draws: int, most: float) -> list[dict[str, float]]:
    """Random clipped descents on heavy-tailed data: distances to the exact minimiser step by step, moments and bias.

    Args:
        most: of eta lambda.
    """
    rng, rows = context.rng(), []
    for number in range(draws):
        work = (PLANE, QUARTIC)[number % 2]
        n, D, smooth = int(rng.integers(1, 25)), work.constants.diameter(2.0), work.constants.smoothness(2.0)
        x = 2 * rng.standard_t(3, size=(1, n, 2))
        weight = math.exp(rng.uniform(math.log(0.05), math.log(3)))
        eta, steps = float(rng.uniform(0.02, min(1 / smooth, most / weight))), int(rng.integers(5, 60))
        level = float(rng.uniform(0.3, 6))
        sample, start = Sample(x, np.ones((1, n))), work.project(rng.normal(size=(1, 2)))
        exact = regularised_minimiser(work, sample, start, weight, gap=1e-9)
        w, apart, bias, second, excess = start, [float(((start - exact) ** 2).sum())], 0.0, 0.0, -math.inf
        for _ in range(steps):
            raw = work.gradient(w[:, None], x)
            b = clipped_gradient(work, sample, w, level) - raw.mean(axis=1)
            bias, second = max(bias, float(np.linalg.norm(b))), max(second, float((raw**2).sum(axis=2).mean()))
            # One step of Algorithm 2 whose centre is the start, not the point it is at.
            w = work.project(w - eta * (raw.mean(axis=1) + b + weight * (w - start)))
            far = float(((w - exact) ** 2).sum())
            step = (1 - eta * weight) * apart[-1] + eta * float((b**2).sum()) / weight
            excess = max(excess, far - step - 2 * eta**2 * (float((raw**2).sum(axis=2).mean()) + weight**2 * D**2))
            apart.append(far)
        walked = clipped_descent(work, sample, start, steps=steps, eta=eta, level=level, weight=weight)
        if float(np.abs(walked - w).max()) > 1e-9 * (1 + float(np.abs(w).max())):
            raise InvalidInput("the steps of this audit are not those of Algorithm 2")
        rows.append(
            {
                "eta": eta, "lambda_": weight, "T": float(steps), "D": D, "bias": bias, "r_2": math.sqrt(second),
                "start": apart[0], "end": apart[-1], "excess of a step": excess,
            }
        )  # fmt: skip
    return rows


def bound_of_theorem_8(row: dict[str, float], label: str) -> float:
    """The claim's bound, its transient with the realised distance of the start in the place of D^2."""
    names = ("eta", "lambda_", "T", "D", "bias", "r_2")
    rate = 1.0 if label.endswith("sharp") else 0.5
    transient = math.exp(-rate * row["lambda_"] * row["eta"] * row["T"])
    return stated(label, **{name: row[name] for name in names}) + transient * (row["start"] - row["D"] ** 2)


@check("tsybakov/thm-8", kind="accuracy")
def clipped_descent_ends_near_the_exact_minimiser(context: Context) -> Verdict:
    """|w_T - w^|^2 against the printed bound with the realised moment and largest bias, eta lambda <= 2."""
    rows = descents(context, context.scale(40, 400), 2.0)
    return accuracy.never_violated(
        [row["end"] for row in rows],
        [bound_of_theorem_8(row, "tsybakov/thm-8") for row in rows],
        statement="|w_T - w^|^2 <= the printed bound",
        evidence="certificate",
        covers="the recursion of every step, summed; for eta lambda > 1 a step forgets its past",
    )


@check("tsybakov/thm-8", kind="accuracy")
def recursion_of_theorem_8(context: Context) -> Verdict:
    """Every step: a' <= (1 - eta lambda) a + eta |b|^2/lambda + 2 eta^2 (r^(2) + lambda^2 D^2), no violation."""
    rows = descents(context, context.scale(40, 400), 1.0)
    worst = [row["excess of a step"] for row in rows]
    found = accuracy.never_violated(
        worst, 1e-12, statement="excess of a step over the recursion <= 0", evidence="certificate",
        covers="projections are non-expansive, <grad, w - w^> >= lambda a, 2|b| sqrt(a) <= lambda a + |b|^2/lambda, "
        "|G|^2 <= 2r^(2) + 2 lambda^2 D^2",
    )  # fmt: skip
    return replace(found, numbers={**found.numbers, "steps": int(sum(row["T"] for row in rows))})


@check("tsybakov/thm-8@sharp", kind="accuracy")
def smaller_constants_of_theorem_8(context: Context) -> Verdict:
    """The bound with constants 2, 2 and 1 for eta lambda <= 1."""
    rows = descents(context, context.scale(40, 400), 1.0)
    return accuracy.never_violated(
        [row["end"] for row in rows],
        [bound_of_theorem_8(row, "tsybakov/thm-8@sharp") for row in rows],
        statement="|w_T - w^|^2 <= the bound with smaller constants",
        evidence="certificate",
        covers="the recursion of every step, summed as a geometric series",
    )


@check("tsybakov/thm-8@derived", kind="accuracy", grid={"k": (2, 3, 4, 8)})
def sharp_bias_of_clipping(context: Context, *, k: int) -> Verdict:
    """(a - C)_+ against the constant times a^k/C^(k-1) for all lengths a, met at a = kC/(k - 1)."""
    C = 1.3
    a = np.append(np.geomspace(1e-3, 1e3, 4000), k * C / (k - 1)) * C
    a[-1] = k * C / (k - 1)
    bound = np.asarray(claim("tsybakov/thm-8@derived").evaluate(k=k, r_k=a, C=C))
    found = accuracy.never_violated(
        np.maximum(0.0, a - C), bound, statement="(a - C)_+ <= ((k-1)^(k-1)/k^k) a^k/C^(k-1)", evidence="certificate",
        tolerance=1e-9, covers="(a - C)/a^k has its one maximum at kC/(k - 1); a bias is a mean of such vectors",
    )  # fmt: skip
    attained = math.isclose(a[-1] - C, bound[-1], rel_tol=1e-12)
    return found if attained else refuted(f"at kC/(k - 1) the two sides are {a[-1] - C} and {bound[-1]}", "exact")


@check("tsybakov/proc-prox-exact", kind="accuracy")
def exact_minimiser_of_quadratics(context: Context) -> Verdict:
    """Against the closed form (mean + weight centre)/(1 + weight), projected, and against a general solver."""
    rng, left = context.rng(), []
    for _ in range(context.scale(20, 200)):
        x, centre, weight = rng.normal(size=(1, 7, 2)), QUARTIC.project(rng.normal(size=(1, 2))), rng.uniform(0.05, 4)
        sample = Sample(x, np.ones((1, 7)))
        found = regularised_minimiser(PLANE, sample, centre, weight, gap=1e-11)
        wanted = PLANE.project((x.mean(axis=1) + weight * centre) / (1 + weight))
        left.append(float(np.abs(found - wanted).max()))
        four = regularised_minimiser(QUARTIC, sample, centre, weight, gap=1e-10)

        def objective(v: Array, x: Array = x, centre: Array = centre, weight: float = weight) -> float:
            w = QUARTIC.project(v[None])
            return float(QUARTIC.loss(w[:, None], x).mean() + weight / 2 * ((w - centre) ** 2).sum())

        best = optimize.minimize(objective, four[0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
        left.append(max(0.0, objective(four[0]) - float(best.fun)))
    return accuracy.never_violated(
        left, 1e-9, statement="distance to the closed form, and gap to a simplex search <= 1e-9",
        evidence="certificate", covers="a step of length m of a map that contracts by 1 - q certifies the distance m/q",
    )  # fmt: skip


@check("tsybakov/proc-dykstra", kind="accuracy")
def projection_on_an_intersection(context: Context) -> Verdict:
    """<w - p, q - p> <= 0 for all q of a fine grid of the box and the ball, p the point of Dykstra's method."""
    rng = context.rng()
    box, ball = Box([-0.5, -2.0], [1.0, 0.7]), Ball(2, 1.0, [0.4, 0.1])
    w = rng.normal(size=(context.scale(50, 500), 2)) * 3
    p = dykstra(box.project, ball.project, w)
    grid = np.stack(np.meshgrid(np.linspace(-0.5, 1, 120), np.linspace(-2, 0.7, 120)), axis=-1).reshape(-1, 2)
    inside = grid[np.linalg.norm(grid - [0.4, 0.1], axis=1) <= 1]
    outside = max(float(np.abs(box.project(p) - p).max()), float((np.linalg.norm(p - [0.4, 0.1], axis=1) - 1).max()))
    slack = np.einsum("td,tqd->tq", w - p, inside[None] - p[:, None]).max(axis=1)
    found = accuracy.never_violated(
        np.append(slack, outside), 1e-7, statement="<w - p, q - p> <= 0 and p in both sets", evidence="certificate",
        covers="the variational inequality characterises the projection; the grid has mesh 0.02",
    )  # fmt: skip
    once = ball.project(box.project(w))
    return replace(found, numbers={**found.numbers, "plain alternation is off by": float(np.abs(once - p).max())})


# Bias, variance, noise ------------------------------------------------------------------------------------------------


def two_point_biases(k: int, sharp: bool) -> tuple[list[float], list[float]]:
    """Exact bias of clipping z = 0, or h with chance p, on a grid of h/C and p, and the lemma's bound on it."""
    label = "tsybakov/lem-7@corrected" if sharp else "tsybakov/lem-7"
    left, right = [], []
    for height, chance in itertools.product([0.5, 1.0, 1.2, k / (k - 1), 3.0, 20.0], [1.0, 0.3, 0.01]):
        left.append(chance * max(0.0, height - 1))
        right.append(stated(label, k=k, r_k=(chance * height**k) ** (1 / k), C=1.0))
    return left, right


@check("tsybakov/lem-7", kind="accuracy", grid={"k": (2, 3, 4)})
def bias_of_the_clipped_mean(context: Context, *, k: int) -> Verdict:
    """The bias part of the lemma on exact two-point laws."""
    left, right = two_point_biases(k, sharp=False)
    return accuracy.never_violated(
        left, right, statement="|E clipped mean - mean| <= r^(k)/((k-1) C^(k-1))", evidence="certificate",
        covers="the sharp constant (k-1)^(k-1)/k^k is below 1/(k-1)",
    )  # fmt: skip


@check("tsybakov/lem-7@corrected", kind="accuracy", grid={"k": (2, 3, 4)})
def sharp_bias_of_the_clipped_mean(context: Context, *, k: int) -> Verdict:
    """The sharp constant, attained by z = kC/(k - 1)."""
    left, right = two_point_biases(k, sharp=True)
    return accuracy.never_violated(
        left, right, statement="bias <= ((k-1)^(k-1)/k^k) r^(k)/C^(k-1)", evidence="certificate", tolerance=1e-9,
        covers="the bias is at most E(|z| - C)_+, to which the sharp inequality applies for each length",
    )  # fmt: skip


@check("tsybakov/lem-7@variance", kind="accuracy", grid={"s": (1, 4)})
def variance_of_the_clipped_mean(context: Context, *, s: int) -> Verdict:
    """Exact second moment of the noisy clipped mean of s records with three values, against d sigma^2 + r^(2)/s."""
    left, right = [], []
    rng = context.rng()
    for _ in range(context.scale(100, 1000)):
        atoms, chances = rng.standard_normal((3, 2)) * 4, rng.dirichlet(np.ones(3))
        level, sigma = float(rng.uniform(0.1, 6)), float(rng.uniform(0, 2))
        cut = clip_norm(atoms, level)
        mean = chances @ cut
        variance = float(chances @ ((cut - mean) ** 2).sum(axis=1)) / s + 2 * sigma**2
        left.append(variance)
        second = math.sqrt(float(chances @ (atoms**2).sum(axis=1)))
        right.append(stated("tsybakov/lem-7@variance", d=2, sigma=sigma, r_2=second, n=s))
    return accuracy.never_violated(
        left, right, statement="E|noisy clipped mean - its mean|^2 <= d sigma^2 + r^(2)/s", evidence="certificate",
        covers="projecting on a ball brings two records no further apart",
    )  # fmt: skip


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


# The first noise of Algorithm 3 ---------------------------------------------------------------------------------------


@check("tsybakov/alg-3@literal", kind="accuracy", expect="refuted")
def first_noise_against_the_diameter(context: Context) -> Verdict:
    """sqrt(d) sigma_1/D = 4.80, 15.7, 54.4 at n = 2^8, 2^12, 2^16: the chance that W_2 is empty, exactly from below.

    All records of one length, so all moments are alike; d = 5, epsilon = 1, delta = 1e-5, p = 1, k = 2, beta = 1/n.
    """
    points, numbers, least = [], {}, 1.0
    for size in (2**8, 2**12, 2**16):
        work = ProductTilt(v=np.ones(5), size=1 / (2 * math.sqrt(5)), bias=1.0, theta=2.0)
        problem = Problem(constants=work.constants, privacy=ApproxDP(1.0, 1e-5), failure_probability=1 / size)
        algorithm = LocalisedClipped()
        first, second = algorithm.phases(problem, size)[:2]
        D = algorithm.width(problem)
        ratio = math.sqrt(5) * first.sigma / D
        # w_1 = w^_1 + noise with w^_1 in W: beyond D + D_2 from it no point of W is within D_2 of w_1.
        empty = float(stats.chi.sf((D + second.radius) / first.sigma, 5))
        try:
            algorithm.schedule(problem, size)
            return differs(f"the schedule accepts n = {size:,} though sqrt(d) sigma_1/D = {ratio:.3g}")
        except Infeasible:
            least = min(least, empty)
        numbers |= {
            f"sqrt(d) sigma_1/D at {size}": ratio,
            f"D_2/D at {size}": second.radius / D,
            f"P(empty) at {size}": empty,
        }
        stated_ratio = stated("tsybakov/alg-3@literal", k=2, p=1, n=size) / math.sqrt(1 - 1 / size)
        if not math.isclose(ratio, stated_ratio, rel_tol=1e-9):
            return differs(f"{ratio:.9g} from the schedule, {stated_ratio:.9g} from the claim")
        points.append(Point(x=float(size), value=ratio, bound=1.0, series="sqrt(d) sigma_1/D"))
    said = f"W_2 is empty with probability at least {least:.6g} at n = 2^8, and more beyond; the plan refuses to run"
    return refuted(
        said, "exact", numbers=numbers, points=points, dashed="the diameter",
        axes=("n", "deviation of the first noise over the diameter"),
    )  # fmt: skip


@check("tsybakov/alg-3@corrected", kind="accuracy", grid={"n": (2**8, 2**12, 2**16)})
def corrected_first_noise_fits(context: Context, *, n: int) -> Verdict:
    """With exponent p the deviation of every phase falls by 4 or more, and that of the first is of the order of D."""
    work = ProductTilt(v=np.ones(5), size=1 / (2 * math.sqrt(5)), bias=1.0, theta=2.0)
    phases = corrected().schedule(told(work), n).phases
    sigma = np.array([phase.sigma for phase in phases])
    ratio = math.sqrt(5) * sigma[0] / work.constants.diameter(2.0)
    found = accuracy.never_violated(
        sigma[1:], sigma[:-1] / 4, statement="sigma_{i+1} <= sigma_i/4",
        covers="all phases of this plan", evidence="exact", tolerance=1e-9,
    )  # fmt: skip
    return replace(found, numbers={**found.numbers, "sqrt(d) sigma_1/D": ratio})


@check("tsybakov/thm-9@derived", kind="accuracy", grid={"n": (2**8, 2**12), "d": (1, 4)})
def cost_of_the_last_noise(context: Context, *, n: int, d: int) -> Verdict:
    """4 L_f sqrt(d) sigma_l log(4/beta) of the corrected plan, against the explicit bound."""
    work = ProductTilt(v=np.ones(d), size=1 / (2 * math.sqrt(d)), bias=1.0, theta=2.0)
    c, beta = work.constants, 0.01
    last = corrected().schedule(told(work), n).phases[-1]
    L, D = c.lipschitz(2.0), c.diameter(2.0)
    cost = 4 * L * math.sqrt(d) * last.sigma * math.log(4 / beta)
    derived = stated(
        "tsybakov/thm-9@derived", D=D, r_2k=c.moment(4.0, 1), beta=beta, n=n, p=1, d=d, delta=1e-5, epsilon=1, k=2
    )
    order = stated("tsybakov/thm-9", k=2, p=1, r_2k=c.moment(4.0, 1), R_2k=averaged_moment(c, 4.0, n), D=D, L=L, n=n)
    found = accuracy.never_violated(
        cost, derived, statement="cost of the last noise <= the explicit bound", covers="eta <= D n^(-p/2)/L_f",
        evidence="certificate", tolerance=1e-9,
    )  # fmt: skip
    return replace(found, numbers={**found.numbers, "explicit bound over the printed order": derived / order})


# Inductions over calls ------------------------------------------------------------------------------------------------


def traced(lam: float, theta: float, a: float, calls: int, rng: np.random.Generator) -> tuple[list[float], list[float]]:
    """(7), (8), (9) along calls of an oracle that is as bad as it may be on F = lam |w|^theta over [-R_0, R_0]."""
    R_0 = 1.0
    mu = [2 ** ((theta - 1) * e) * 2 * R_0 ** (1 - theta) * a for e in range(calls + 1)]
    star = max(e for e in range(calls + 1) if mu[e] <= lam)
    w, left, right, at_star = float(rng.uniform(-R_0, R_0)), [], [], 0.0
    for e in range(1, calls + 1):
        R = 2.0 ** -(e - 1) * R_0
        if e <= star:
            left.append(abs(w))
            right.append(R)
        low, high = max(-R_0, w - R), min(R_0, w + R)
        best = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        # Excess at most R a against every point of the domain of the call: the farthest such point, on either side.
        reach = ((lam * best**theta + R * a) / lam) ** (1 / theta)
        ends = [x for x in (max(low, -reach), min(high, reach)) if abs(x) <= reach + 1e-15]
        w = max(ends, key=abs) if rng.random() < 0.7 else float(rng.choice(ends))
        excess = lam * abs(w) ** theta
        if e <= star:
            left.append(excess)
            right.append(stated("tsybakov/lem-4", e=e, R_0=R_0, a=a))
            at_star = excess
        else:
            left.append(excess - at_star)
            right.append(stated("tsybakov/lem-4", e=star, R_0=R_0, a=a))
    return left, right


@check("tsybakov/lem-4", kind="accuracy", grid={"theta": (2.0, 3.0, 4.0)})
def worst_legal_calls_stay_in_halving_balls(context: Context, *, theta: float) -> Verdict:
    """(7), (8) and (9) for calls that return the worst point that their guarantee allows."""
    rng, left, right = context.rng(), [], []
    for _ in range(context.scale(200, 1000)):
        a, calls = float(10 ** rng.uniform(-5, -1.5)), int(rng.integers(2, 9))
        low, high = 2 * a, 2 ** ((theta - 1) * calls) * 2 * a
        lam = math.exp(rng.uniform(math.log(low), math.log(high)))
        one, two = traced(lam, theta, a, calls, rng)
        left += one
        right += two
    return accuracy.never_violated(
        left, right, statement="distances and excess of Lemma 4", evidence="certificate",
        covers="R_{e-1}a = mu_e R_e^theta, so that lambda |w - w*|^theta <= mu_e R_e^theta <= lambda R_e^theta while "
        "mu_e <= lambda; after that the excesses form a geometric series",
    )  # fmt: skip


@check("tsybakov/fact-thm3-recursion", kind="accuracy", grid={"theta": (1.5, 2.0, 4.0)}, expect="consistent")
def worst_recursion_against_its_constant(context: Context, *, theta: float) -> Verdict:
    """Equality in every step, E_{i-1} = 2^theta E_i, l = log_theta(2) log2 log2 n steps: Delta_l/E_l^(1/(theta-1))."""
    left, right = [], []
    for c, n in itertools.product((0.5, 1.0, 3.0), (2.0**10, 2.0**20, 2.0**40)):
        # The first Delta is bounded through Lemma 1: Delta_0 <= (L^theta/lambda)^(1/(theta-1)), E_l >= n^(-theta/2).
        steps = math.floor(math.log(2) / math.log(theta) * math.log2(math.log2(n)))
        E = [c**theta * (2.0 ** (theta * (steps - i))) * n ** (-theta / 2) for i in range(steps + 1)]
        delta = 1.0
        for i in range(1, steps + 1):
            delta = (delta * E[i]) ** (1 / theta)
        left.append(delta / E[-1] ** (1 / (theta - 1)))
        right.append(stated("tsybakov/fact-thm3-recursion", theta=theta, a=c))
    return accuracy.never_violated(left, right, statement="Delta_l <= C E_l^(1/(theta-1))", drawn=False)


@check("tsybakov/thm-3@derived", kind="accuracy", grid={"theta_bar": (1.5, 2.0)})
def exponent_of_the_iterated_guarantee(context: Context, *, theta_bar: float) -> Verdict:
    """theta = 2, lambda = 1/2: local slopes of the guarantee in n, which tend to -1/2 and not to the claimed -1."""
    logs = [10.0, 16.0, 24.0, 40.0, 60.0, 128.0, 512.0]
    values = [iterated_guarantee(x, theta_bar) for x in logs]
    slopes = [math.log2(b / a) / (y - x) for (x, a), (y, b) in itertools.pairwise(zip(logs, values, strict=True))]
    points = [Point(x=x, value=s, bound=-1.0, series=f"theta_bar = {theta_bar:g}") for x, s in zip(logs, slopes)]  # noqa: B905
    numbers = {f"slope from 2^{x:g}": s for x, s in zip(logs, slopes)}  # noqa: B905
    floors = []
    for x, value in zip(logs, values, strict=True):
        calls = math.floor(math.log(2, theta_bar) * math.log2(x))
        floors.append(2.0 ** -(calls - 1) * (2.0 ** (calls - 1 + x) / x ** math.log(2, theta_bar)) ** -0.5 / 2 / value)
    found = accuracy.never_violated(
        floors, 1.0, statement="R_{l-1} E/2 <= the guarantee", evidence="certificate", tolerance=1e-9,
        covers="(D^2/R + R) E/2 >= R E/2 in the last call",
    )  # fmt: skip
    make = holds if found.outcome == "holds" and abs(slopes[-1] + 0.5) < 0.05 else refuted
    said = f"slopes {', '.join(f'{s:.2f}' for s in slopes)} from 2^10 to 2^512: -1/2 in the end, where -1 is claimed"
    axes = ("log2 n", "local slope")
    return make(said, "certificate", numbers=numbers, points=points, axes=axes, dashed="claimed slope")


def iterated_guarantee(log_n: float, theta_bar: float) -> float:
    """Excess that (D^2/R + R) n_i^(-1/2)/2 allows after the last call: D the true distance, R halving from 1."""
    calls = math.floor(math.log(2, theta_bar) * math.log2(log_n))
    D, R, excess = 1.0, 1.0, math.inf
    for i in range(1, calls + 1):
        size = 2.0 ** (i - 1 + log_n) / log_n ** math.log(2, theta_bar)
        excess = (D**2 / R + R) * size**-0.5 / 2
        D, R = (2 * excess) ** 0.5, R / 2
    return excess
