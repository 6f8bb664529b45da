"""Lines and settings of Algorithms 1, 2, 3, 5 and 6 as printed, and what they are compared by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpcheck.algorithms.l1_geometry import LocalizedMirrorDescent
from dpcheck.checks import Context
from dpcheck.engine.catalogue import claim
from dpcheck.engine.executed import as_stated
from dpcheck.engine.settings import FOLLOWING, NUMBERED, Stated
from dpcheck.engine.statements import bound_of, unassumed
from dpcheck.errors import Infeasible
from dpcheck.geometry.norms import dual_norm
from dpcheck.harness import risk, runtime
from dpcheck.harness.budget import with_budget
from dpcheck.harness.lines import Lines, Seen, Told
from dpcheck.harness.plans import answered, run_of, wrong_promises, wrong_sizes, wrongly_answered
from dpcheck.harness.relations import judged
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Array, Problem
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Verdict, combine, differs, holds, refuted, undecided
from dpcheck.workloads.crosspolytope import SignLasso

from .cases import APPROX, least_private, linear, planned_gradients, problem, without_bars


def slope(u: Array, p: float, scale: float) -> Array:
    """The gradient of scale/2 |u|_p^2; that of exponent q and scale 1/scale is its inverse."""
    size = np.linalg.norm(u, p, axis=-1, keepdims=True)
    safe = np.where(size > 0, size, 1.0)
    return np.asarray(scale * safe ** (2 - p) * np.abs(u) ** (p - 1) * np.sign(u))


def printed_descent(lines: Lines, row: Any, records: Array, x: Array, at_edge: list[Array]) -> Array:
    """Algorithms 1 and 5 on mean f + λh around x, in a ball around x, far from the edge of the domain."""
    centre, q, total = x, row.p / (row.p - 1), np.zeros_like(x)
    for k in range(1, row.T + 1):
        total = total + k * x
        noisy = lines.answer(lines.mean(x, lines.drawn(records)))
        if k < row.T:
            h = slope(x - centre, row.p, row.scale)
            u = slope(h - row.eta / (k + 1) * (noisy + row.weight * h), q, 1 / row.scale)
            length = np.linalg.norm(u, row.p, axis=-1, keepdims=True)
            at_edge.append(length > row.radius)
            x = centre + u * np.minimum(1.0, row.radius / length)
    return np.asarray(2 * total / (row.T * (row.T + 1)))


def printed_phases(lines: Lines, rows: Sequence[Any], records: Array, x: Array, at_edge: list[Array]) -> Array:
    """Algorithms 2 and 6: phase i on records that no phase before it read, from the output of phase i - 1."""
    first = 0
    for row in rows:
        x = printed_descent(lines, row, records[:, first : first + row.records], x, at_edge)
        first += row.records
    return x


def undialled(algorithm: Any, settings: Stated) -> Stated:
    """Those that hold at the reduced noise with which lines are replayed, and at another distance than the domain's."""
    dialled = {"sigma"} if algorithm.distance is None else {"sigma", "eta_i"}
    return {name: label for name, label in settings.items() if name not in dialled}


def lines_of_phases(context: Context, algorithm: Any, settings: Stated) -> Verdict:
    """Algorithm 2 or 6 on least squares: several phases, of whose steps some end at the edge of their ball, which may
    be too wide for that at the stated distance.
    """
    work, at_edge = SignLasso(x_star=(0.4, -0.2, 0.1), s=0.3), list[Array]()
    told = Told.of(context, algorithm, work, problem(work), 150)
    rows = as_stated(algorithm, problem(work), 150, undialled(algorithm, settings), symbols=SYMBOLS).phases
    verdict = told.judged(printed_phases(told.lines, rows, told.records, told.start, at_edge))
    share, phases = float(np.mean(np.concatenate(at_edge))), len(rows)
    if phases < 2 or (algorithm.distance is not None and not 0 < share < 1):
        return differs(f"{phases} phases with a share of {share:.3g} at the edge: more, and both kinds, are wanted")
    return replace(verdict, numbers={**verdict.numbers, "phases": phases, "share at the edge": share})


def steps_at_the_edge(context: Context, algorithm: Any, settings: Stated, p: float = 1.0) -> Verdict:
    """The steps of the phases after the first, around where the one before ended, with the minimiser next to the edge
    of the domain, or on it: inside of their ball they minimise over the domain.

    A point x of {|x|_p <= R} minimises <g + λ grad h(x_k), x> + D_h(x, x_k)/η iff <s, x> = -R |s|_q at the gradient s
    of all that.
    """
    work = SignLasso(x_star=(0.6, -0.25, 0.14), s=0.3) if p == 1 else linear(3, 0.2, shape="lp", p=p)
    seen = Seen(work)
    plan, trials, R = algorithm.schedule(problem(seen.work), 150), context.scale(20, 100), seen.work.R
    run: Run[Any] = Run(plan, trials, context.rng("run"))
    algorithm.execute(run, seen, Fixed(seen.work.rows(context.rng("data"), trials, 150)), np.zeros((1, 3)))  # type: ignore[arg-type]
    points, entries = iter(seen.points), iter(run.transcript.entries)
    slopes, edges, lengths, furthest = list[Array](), list[Array](), list[Array](), 0.0
    for row in as_stated(algorithm, problem(seen.work), 150, undialled(algorithm, settings), symbols=SYMBOLS).phases:
        x, k = np.stack([next(points) for _ in range(row.T)]), np.arange(1, row.T)[:, None, None]
        noisy, h = np.stack([next(entries).output for _ in range(row.T)])[:-1], slope(x - x[0], row.p, row.scale)
        s = noisy + row.weight * h[:-1] + np.diff(h, axis=0) * (k + 1) / row.eta
        away = np.linalg.norm(x - x[0], row.p, axis=-1) / row.radius
        inside = (away[1:] < 1 - 1e-9) & (row.i > 1)
        size = 1 + R * dual_norm(s, p)[inside]
        slopes.append(1 - (s * x[1:]).sum(axis=-1)[inside] / size)
        edges.append(2 - 1 / size)
        length = np.linalg.norm(x, p, axis=-1) / R
        lengths.append(length[1:][inside])
        furthest = max(furthest, float(length.max()), float(away.max()))
    share = float((np.concatenate(lengths) > 1 - 1e-9).mean())
    if (algorithm.distance is not None and not 0 < share < 1) or furthest > 1 + 1e-9:
        return differs(f"a share of {share:.3g} ends at the edge of the domain, the furthest {furthest:.6g} radii away")
    verdict = agree(np.concatenate(slopes), np.concatenate(edges), "optimality of the steps", 1e-9)
    return replace(verdict, numbers={**verdict.numbers, "share at the edge": share})


EDGES: Mapping[str, tuple[Any, float | None]] = {
    "of the balls": (lines_of_phases, 0.5),
    "of the domain": (steps_at_the_edge, 40.0),
    "at the stated distance": (steps_at_the_edge, None),
}
"""What ends there, and at which distance, which the radius of a phase goes with."""


def printed_tree(lines: Lines, rows: Sequence[Any], records: Array, corners: Array, x: Array) -> Array:
    """Algorithm 3 over the polytope of these corners, (trials, K, d), records in the order of the sets."""
    fresh = iter(np.moveaxis(records, 1, 0))

    def take(size: int) -> Array:
        return np.stack([next(fresh) for _ in range(size)], axis=1)

    def below(depth: int, point: Array, v: Array) -> None:
        nonlocal x, leaf
        if depth == row.t:
            chosen = lines.answer((corners * v[:, None]).sum(axis=-1))[:, 0].astype(int)
            eta = 2 / (row.offset + leaf + 1)
            x = (1 - eta) * point + eta * corners[np.arange(len(x)), chosen]
            leaf += 1
            return
        below(depth + 1, point, v)
        own, here = take(row.b >> (depth + 1)), x
        below(depth + 1, here, v + lines.mean(here, own) - lines.mean(point, own))

    for row in rows:
        leaf = 0
        below(0, x, lines.mean(x, take(row.b)))
    return x


def moves_its_phase_alone(context: Context, algorithm: Any, work: Any) -> Verdict:
    """The record of phase 2 changes from +L everywhere to -L: a step moves by the claim of one draw times the draws."""
    told, n, d = problem(work), 128, work.constants.d
    one, second, *_ = algorithm.phases(told, n)
    data = np.ones((1, n, d))
    neighbour = data.copy()
    neighbour[0, second.first] = -1.0
    seen = Case(algorithm, work, told).replay(data, neighbour, context.scale(8, 64), context.seed)
    claims = np.stack([m.distance / m.claimed for m in seen.movements if m.release.name == "phase 2/gradient"])
    drawn = np.stack([(chosen == 0).sum(axis=1) for chosen in seen.history.coins[one.T : one.T + second.T]])
    if drawn.shape != claims.shape:
        return differs(f"{len(claims)} steps on {len(drawn)} draws of a batch")
    others = max(float(m.distance.max()) for m in seen.movements if m.release.name != "phase 2/gradient")
    off, draws = float(np.abs(claims - drawn).max()), float(claims.max())
    broken = others > 0 or off > 1e-9 or float(seen.leak.max()) > 0
    said = f"other phases move by {others:g}, its own by up to {draws:g} claims (times drawn)"
    return (refuted if broken else holds)(said, "certificate", numbers={"others": others, "most draws": draws})


def counted_phases(context: Context, algorithm: Any, n: int, label: str) -> Verdict:
    work = linear(4)
    counts = runtime.count(algorithm, work, problem(work), n, 1, context.seed, "count", n)
    if float(counts.gradients.max()) != counts.claimed:
        return differs(f"{counts.gradients.max()} counted, the schedule says {counts.claimed}", "counted")
    return runtime.verdict(counts.gradients, float(claim(label).evaluate(n=n, d=4, epsilon=1.0)), x=float(n))


SAME = 1.1
"""Whole batches and steps move what is planned by less; half a power of anything stated, by more."""


def grows_as_planned(label: str) -> Verdict:
    """Whether a stated count of Algorithm 6, an order, is log n times what is planned with batches of sqrt(d)/eps_i, up
    to one constant where records are many, and one where the budget is small.
    """
    many = [(2**24, 16, 1.0), (2**40, 16, 1.0), (2**40, 2**10, 1.0), (2**40, 16, 0.25)]
    scarce = [(2**30, 2**6, 2.0**-14), (2**34, 2**6, 2.0**-16), (2**34, 2**10, 2.0**-14), (2**32, 2**8, 2.0**-15)]
    verdicts = []
    for side, cells in {"many records": many, "a small budget": scarce}.items():
        shares = []
        for n, d, epsilon in cells:
            stated = float(unassumed(label, n=float(n), d=d, epsilon=epsilon))
            shares.append(planned_gradients("gradients", 2.0, d, epsilon, n) * math.log(n) / stated)
        apart = max(shares) / min(shares)
        said = f"{min(shares):.4g} to {max(shares):.4g} of {label}, with {side}, at {len(cells)} sizes"
        verdicts.append(judged(apart, "<=", SAME, said, "exact", severity=apart, otherwise=differs))
    return combine(verdicts)


def regret(context: Context, algorithm: LocalizedMirrorDescent, n: int, trials: int) -> Verdict:
    slope, work = 0.95, linear(2, 0.95, R=50.0)
    told = problem(work, ApproxDP(1.0, 0.4))
    algorithm = least_private(algorithm, told, n)
    first, reach = next(iter(algorithm.phases(told, n))), slope * algorithm.movement(told, n)
    at_once = first.eta_i * first.records * (first.p - 1)
    away = slope * at_once / 2  # maximises slope s - s^2/at_once
    bound = bound_of("l1_geometry/thm-4@summed", algorithm, told, n, D_1=away)
    rows = work.rows(context.rng("data"), trials, n)
    point = algorithm.fit(work, Fixed(rows), told, rng=context.rng("runs"), trials=trials)
    # Regret plus reach - slope away is F(x_k) - F(x_0) + reach, which lies in [0, 2 reach] surely.
    raised, limit = bound - slope * away + reach, 2 * reach
    if raised >= limit:
        said = f"the bound {bound - slope * away:.4g} on E F(x_k) - F(x_0) is vacuous: {reach:.4g} is never exceeded"
        return undecided(said, "exact", numbers={"bound": bound, "reach": reach}, vacuous=True)
    verdict = risk.expectation(
        np.maximum(0.0, slope * point[:, 0] + reach), raised, context.failure_probability, limit=limit * (1 + 1e-9),
        quantity="F(x_k) - F(x_0), raised by what the phases can move,", x=float(n),
    )  # fmt: skip
    verdict = replace(verdict, numbers={**verdict.numbers, "regret bound": bound, "|y - x_0|": away, "reach": reach})
    return with_budget(without_bars(verdict), algorithm, told, n)


EACH_SIDE = ((99.9, False), (100.0, True), (101.0, True))
"""Constants of the noise on both sides of the printed one, and whether a theorem speaks of them."""


def phases_that_run(kind: type[Any], work: Any, **fields: Any) -> Verdict:
    """Algorithm 2 or 6: planned from the size on at which the first phase makes two steps; promised at the printed
    constant; refused as printed at the first phase whose records are no whole number, or that makes no step; and with
    the noise of Algorithm 1 on F_i, which is 5L-Lipschitz, where that is asked for.
    """
    told, n = problem(work), 256
    d, epsilon = told.constants.d, APPROX.epsilon
    dials = [partial(kind, c_sigma=c, **fields) for c, _ in EACH_SIDE]
    wrong = wrong_promises(dials, told, n, [legal for _, legal in EACH_SIDE])
    wrong += wrongly_answered(
        [(f"a run of {size} records", run_of(dials[1], linear(d), problem(linear(d)), size), True) for size in (64, 67)]
    )
    wrong += wrongly_answered(
        [
            (f"{name} {value}", partial(kind, **{name: value}), value == 2.0)
            for name, values in {"c_sigma": (0.0, 2.0, math.inf), "batch_rule": ("other",), "noise": ("other",)}.items()
            for value in values
        ]
    )
    if "p" in fields:
        wrong += wrongly_answered([(f"p = {p}", partial(kind, p=p), 1 < p <= 2) for p in (1.0, 1.01, 2.0, 2.1)])
    wrong += wrongly_answered([("the plan of its own fields", lambda: kind().schedule(told, n), True)])
    for rule in ("printed", "gradients", "balanced"):
        wrong += wrongly_answered([(rule, lambda rule=rule: kind(batch_rule=rule, **fields).schedule(told, n), True)])
    if wrong:
        return answered(wrong, "")

    def batch(records: float, part: float) -> float:
        return math.sqrt(max(records / math.log2(d), d / part))

    def fits(size: int) -> bool:
        records = size // 2
        b = min(records, math.ceil(batch(size / 2, epsilon / 2)))
        return records > 0 and records**2 // b**2 >= 2

    def one_step_less(size: int) -> int:
        return next(i for i in range(1, 60) if size % 2**i or size / 2**i < batch(size / 2**i, epsilon / 2**i))

    wrong += wrong_sizes(kind(**fields), told, (2, 3, 4, 5, 9, 20, 21, 22, 40, 64), fits)
    for size in (96, 256, 2**12):
        try:
            kind(rounding="printed", **fields).schedule(told, size)
            wrong.append(f"n = {size} is planned as printed")
        except Infeasible as error:
            if not error.needs.endswith(f"phase {one_step_less(size)}"):
                wrong.append(f"n = {size} as printed needs {error.needs}")
    plain, steeper = (kind(noise=noise, **fields).schedule(told, n).phases for noise in ("gradient", "objective"))
    stated = claim(f"{kind.label.partition('/')[0]}/{'alg-5' if 'p' in fields else 'alg-1'}")
    norm = fields.get("p", 1.0)
    at = {"L": 5 * told.constants.lipschitz(norm), "d": d, "delta": APPROX.delta}
    at |= {"q": norm / (norm - 1)} if norm > 1 else {}
    for one, other in zip(plain, steeper, strict=True):
        wanted = float(stated.evaluate(**at, b=one.b, epsilon=epsilon / 2**one.i))
        if not math.isclose(other.sigma, wanted) or other.sensitivity != one.sensitivity:
            wrong.append(f"the noise of phase {one.i} on F_i is {other.sigma:.6g}, that of Algorithm 1 {wanted:.6g}")
    return combine(
        [
            answered(wrong, f"10 sizes, 3 constants, 3 sizes as printed and {len(plain)} phases are as they are to be"),
            _terms_of_phases(kind(**fields), told, n, norm),
        ]
    )


def _terms_of_phases(algorithm: Any, told: Problem, n: int, norm: float) -> Verdict:
    """What the bound of the phases is told of norms and noise: V bounds E|zeta|^2 in the dual norm, d sigma^2 at 2."""
    rows, terms, d = list(algorithm.phases(told, n)), algorithm.terms(told, n), told.constants.d
    largest = 2 * math.log(d) if d > 2 else 2 * (1 + math.log(d))
    dual = d if norm == 2 else d ** (2 - 2 / norm) * largest
    given = [terms[name] for name in ("L", "D", "D_1", "kappa", "l")]
    wanted = [told.constants.lipschitz(norm), *[told.constants.diameter(norm)] * 2, 2 if norm == 1 else 1, len(rows)]
    return agree([*given, *terms["V[i]"]], [*wanted, *(dual * row.sigma**2 for row in rows)], "what the bound is told")


DESCENT = {
    "T": "l1_geometry/alg-1@steps",
    "b": "l1_geometry/alg-1@batch",
    "gradients": "l1_geometry/alg-1@gradients",
}


GIVEN = {
    "weight": "given, 0 without a regulariser",
    "epsilon": "the budget itself",
    "first": "the block is all of the data",
    "records": "the block is all of the data",
    "radius": "no ball is drawn around the start",
}


PHASES = {
    "epsilon": "l1_geometry/alg-2@epsilon",
    "records": "l1_geometry/alg-2@records",
    "b": "l1_geometry/alg-2@batch",
    "phases": "l1_geometry/alg-2@phases",
    "T": "l1_geometry/alg-2@steps",
    "eta": "l1_geometry/alg-2@step",
    "radius": "l1_geometry/alg-2",
    "gradients": "l1_geometry/alg-2@gradients",
}


OF_ALGORITHM_2 = {
    **PHASES,
    "eta_i": "l1_geometry/alg-2@eta",
    "sigma": "l1_geometry/alg-2@sigma",
    "sensitivity": "l1_geometry/alg-2@sensitivity",
    "weight": "l1_geometry/alg-2@lambda",
    "p": "l1_geometry/alg-1@exponent",
    "scale": "l1_geometry/alg-2@scale",
}
READINGS_OF_ALGORITHM_2 = {
    "as printed": OF_ALGORITHM_2,
    "corrected": {
        **OF_ALGORITHM_2,
        "b": "l1_geometry/alg-2@corrected-batch",
        "phases": "l1_geometry/alg-2@corrected-phases",
    },
}


PLACES = {"i": NUMBERED, "first": FOLLOWING}


SYMBOLS = {"eta": "s", "eta_i": "eta", "records": "n", "radius": "R", "scale": "h", "weight": "lambda"}
