"""Section 4: Frank-Wolfe on trees, Algorithm 3."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.accounting import account
from dpcheck.algorithms.l1_geometry import TreeFrankWolfe
from dpcheck.algorithms.l1_geometry.frank_wolfe import preorder, record_count
from dpcheck.checks import Context, check, together
from dpcheck.engine.catalogue import claim
from dpcheck.engine.executed import as_stated
from dpcheck.engine.settings import FOLLOWING, NUMBERED, drawn, settings
from dpcheck.engine.statements import bound_of
from dpcheck.harness import risk, runtime
from dpcheck.harness.budget import judge_account
from dpcheck.harness.lines import Told
from dpcheck.harness.plans import answered, run_of, wrong_promises, wrong_sizes, wrongly_answered
from dpcheck.harness.relations import judged
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Problem
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Verdict, combine, differs
from dpcheck.workloads import diabetes, fair, randhie
from dpcheck.workloads.crosspolytope import LassoPopulation

from .cases import EITHER, LASSO, ends_of_the_window, linear, printed_noise, problem, risk_on_the_lasso
from .lines import printed_tree

TREE_PHASES = {
    "records": "l1_geometry/alg-3@records",
    "gradients": "l1_geometry/alg-3@derived",
    "phases": "l1_geometry/alg-3@depth",
}
READINGS_OF_ALGORITHM_3 = {
    "as printed": {
        **TREE_PHASES,
        "b": "l1_geometry/alg-3@batch",
        "scale": "l1_geometry/alg-3@noise",
        "offset": "l1_geometry/alg-3@offset",
    },
    "corrected": {
        **TREE_PHASES,
        "b": "l1_geometry/alg-3@corrected-batch",
        "scale": "l1_geometry/alg-3@corrected-noise",
        "offset": "l1_geometry/alg-3@corrected-offset",
    },
    "approximate": {
        **TREE_PHASES,
        "phases": "l1_geometry/alg-3@approximate-depth",
        "b": "l1_geometry/alg-3@approximate-batch",
        "scale": "l1_geometry/alg-3@approximate-noise",
        "offset": "l1_geometry/alg-3@offset",
    },
    "concentrated": {
        **TREE_PHASES,
        "phases": "l1_geometry/alg-3@concentrated-depth",
        "b": "l1_geometry/alg-3@concentrated-batch",
        "scale": "l1_geometry/alg-3@concentrated-noise",
        "offset": "l1_geometry/alg-3@corrected-offset",
    },
}
TREE = {"phases": "T", "scale": "lambda_ts"}
settings_of_alg_3 = settings(
    "l1_geometry/alg-3",
    READINGS_OF_ALGORITHM_3,
    symbols=TREE,
    beside={"t": NUMBERED, "first": FOLLOWING},
    problems=drawn(n=(2**10, 2**28)),  # beyond it the leaves of a plan take seconds
)


NOISE = {"none": "no noise", "printed": "printed noise", "safe": "twice that noise"}


@check(
    "l1_geometry/alg-3",
    kind="accuracy",
    grid={"noise": ("pure", "approximate"), "steps": ("printed", "consecutive"), "allocation": ("fixed", "random")},
)
def lines_of_the_tree(context: Context, *, noise: str, steps: str, allocation: str) -> Verdict:
    """The printed lines, told the order of the records and the vertices that a run of three phases selected: their
    scores, of estimates that right children correct, and the output are those of the run.
    """
    # unbound: the lines at the schedule's own numbers, which the settings compare with the claims
    algorithm = TreeFrankWolfe(T=3, batch=16, noise=noise, steps=steps, allocation=allocation)  # type: ignore[arg-type]
    n = record_count(16, 3) + 7
    told = Told.of(
        context, algorithm, LASSO, problem(LASSO, PureDP(1.0) if noise == "pure" else ApproxDP(1.0, 1e-5)), n
    )
    records = told.lines.drawn(told.records) if allocation == "random" else told.records
    corners = np.broadcast_to(LASSO.domain.vertices, (len(records), *LASSO.domain.vertices.shape))
    return told.judged(printed_tree(told.lines, told.plan.phases, records, corners, told.start))


PRINTED_SIZES = {
    "as printed": (PureDP(1.0), 2**14),
    "corrected": (PureDP(1.0), 2**14),
    "approximate": (ApproxDP(1.0, 1e-5), 512),
    "concentrated": (ApproxDP(1.0, 1e-5), 512),
}


@check("l1_geometry/alg-3", kind="accuracy", grid={"reading": tuple(PRINTED_SIZES)})
def lines_at_the_stated_sizes(context: Context, *, reading: str) -> Verdict:
    """The same with phases, batches and steps as the claims state them: no dial chooses their depth or size."""
    promise, n = PRINTED_SIZES[reading]
    algorithm = TreeFrankWolfe(**({} if reading == "as printed" else TreeFrankWolfe.readings[reading]))
    told = Told.of(context, algorithm, LASSO, problem(LASSO, promise), n)
    rows = as_stated(algorithm, problem(LASSO, promise), n, READINGS_OF_ALGORITHM_3[reading], symbols=TREE).phases
    corners = np.broadcast_to(LASSO.domain.vertices, (len(told.records), *LASSO.domain.vertices.shape))
    return told.judged(printed_tree(told.lines, rows, told.lines.drawn(told.records), corners, told.start))


@check("l1_geometry/alg-3", kind="sensitivity", grid={"T": (1, 2, 4), "sensitivity": ("printed", "safe")})
def reads_of_the_leaves(context: Context, *, T: int, sensitivity: str) -> Verdict:
    """Every leaf is one release, told that it reads the root's records and those of the right children on its path,
    which follow each other in the order of the walk, and that a record moves a score by D L/b, or by as much times 2^j,
    or twice that, at depth j.
    """
    # unbound: where records stand, and sensitivities that the lemmas on them hold against runs
    b, told = 2 ** (T + 1), problem(LASSO, PureDP(1.0))
    algorithm = TreeFrankWolfe(T=T, batch=b, sensitivity=sensitivity)  # type: ignore[arg-type]
    unit, each = LASSO.constants.lipschitz(1.0) * 2.0 / b, {"printed": 1, "safe": 2}[sensitivity]
    releases = [
        (release.name, sorted((read.start, read.stop, read.sensitivity) for read in release.reads))
        for release in algorithm.schedule(told, record_count(b, T)).releases
    ]
    wanted: list[tuple[str, list[tuple[int, int, float]]]] = []
    place = 0
    for t in range(1, T + 1):
        path = {0: (place, place + b, unit)}
        place += b
        for leaf in range(2**t):
            # A right child is entered at its first leaf: the one whose number ends in so many zeros after a one.
            for depth in range(1, t + 1):
                if leaf % 2 ** (t - depth) == 0:
                    path = {j: read for j, read in path.items() if j < depth}
                    if leaf >> (t - depth) & 1:
                        path[depth] = (place, place + b // 2**depth, each * 2**depth * unit)
                        place += b // 2**depth
            wanted.append((f"phase {t}/leaf {leaf}", sorted(path.values())))
    if [(name, [read[:2] for read in reads]) for name, reads in releases] != [
        (name, [read[:2] for read in reads]) for name, reads in wanted
    ]:
        return differs(f"{len(releases)} releases read {releases[:2]} …, and the lines {wanted[:2]} …", "exact")
    left, right = ([read[2] for _, reads in one for read in reads] for one in (releases, wanted))
    return agree(left, right, f"sensitivities of {len(left)} reads")


@check("l1_geometry/alg-3", kind="accuracy", grid={"T": (1, 2, 3), "steps": ("printed", "consecutive")})
def ways_to_the_right_children(context: Context, *, T: int, steps: str) -> Verdict:
    """How far a right child's point may lie from its parent's is how far it lies when the parent's is a vertex, and
    every leaf between the two moves towards the opposite one.
    """
    # unbound: the steps of the schedule, which the settings compare with the claims
    b = 2 ** (T + 1)
    algorithm = TreeFrankWolfe(T=T, batch=b, steps=steps)  # type: ignore[arg-type]
    (*_, row) = algorithm.schedule(problem(LASSO, PureDP(1.0)), record_count(b, T)).phases
    ways, wanted = [], []
    for node in (node for node in preorder(T) if node.endswith("1")):
        first, size = int(node[:-1] + "0", 2) << (T - len(node)), 2 ** (T - len(node))
        x = parent = 1.0
        for leaf in range(first, first + size):
            x += 2 / (row.offset + leaf + 1) * (-1.0 - x)
        ways.append(row.way(node))
        wanted.append((parent - x) / 2)
    return agree([len(ways), *ways], [2**T - 1, *wanted], "ways, in diameters")


ROOT_SIZES = {"as printed": "batch", "corrected": "corrected-batch", "approximate": "approximate-batch"}
DEPTHS = {"as printed": "depth", "corrected": "depth", "approximate": "approximate-depth"}


@check("l1_geometry/alg-3", kind="transcription", grid={"reading": tuple(ROOT_SIZES), "H": (1e-6, 0.5, 40.0)})
def sizes_of_the_tree(context: Context, *, reading: str, H: float) -> Verdict:
    """Planned where a batch of the stated size has a record a leaf and all that is read is there, at no other n; and
    the next larger n at which that is so is named, if there is one: Theorem 7 wants delta <= 1/n. Losses that are not
    smooth are refused.
    """
    deltas = (1e-5, 1 / 32) if reading == "approximate" else (0.0,)
    return combine([_sizes(reading, replace(LASSO_TOLD, privacy=ApproxDP(1.0, delta)), H) for delta in deltas])


LASSO_TOLD = problem(LASSO)


def _sizes(reading: str, told: Problem, H: float) -> Verdict:
    fields, delta = TreeFrankWolfe.readings.get(reading, {}), told.privacy.delta  # type: ignore[attr-defined]
    told = replace(told, constants=replace(told.constants, smoothness=lambda p: H))
    few = sp.Le(BY_NAME["delta"], 1 / BY_NAME["n"])
    if few not in claim("l1_geometry/thm-7").assumptions:
        return differs("Theorem 7 does not assume that delta is at most 1/n")
    c = told.constants
    depth, batch = (claim(f"l1_geometry/alg-3@{names[reading]}") for names in (DEPTHS, ROOT_SIZES))

    @functools.cache
    def fits(n: int) -> bool:
        if n * delta > 1:  # Theorem 7 assumes that it is not
            return False
        at = {"n": float(n), "d": c.d, "m": 2 * c.d, "L": c.lipschitz(1.0), "D": c.diameter(1.0), "H": H}
        at |= {"epsilon": 1.0, "delta": delta or 0.5}
        T = int(depth.evaluate(**at))
        b = int(batch.evaluate(**at, T=T))
        read = float(claim("l1_geometry/alg-3").evaluate(b=b, T=T))
        return b >= 2**T and read <= n

    wrong = wrong_sizes(TreeFrankWolfe(**fields), told, (*range(3, 30), 48, 100, 1000), fits)
    rough = replace(told, constants=replace(c, smoothness=lambda p: math.inf))
    wrong += wrongly_answered(
        [("a loss that is not smooth", partial(TreeFrankWolfe(**fields).schedule, rough, 1000), False)]
    )
    return answered(wrong, "30 sizes are planned or refused as they are to be")


@check("l1_geometry/alg-3", kind="transcription")
def fields_and_domains_of_the_tree(context: Context) -> Verdict:
    """Depths from one, batches from two, noise of a positive factor, and domains with vertices are run; others not."""
    # unbound: what is refused, which no formula says
    n, kind = 24, TreeFrankWolfe
    asked = [
        (f"{name} = {value}", partial(kind, **{name: value}), legal)
        for name, value, legal in (
            ("T", 0, False), ("T", 1, True), ("batch", 1, False), ("batch", 2, True), ("batch", 3, True),
            ("noise_dial", 0.0, False), ("noise_dial", 0.5, True), ("noise_dial", 1.5, True),
        )
    ]  # fmt: skip
    for shape, legal in (("l1", True), ("simplex", True), ("lp", False)):
        work = linear(3, shape=shape)
        asked.append(
            (f"a run on {shape}", run_of(partial(kind, T=1, batch=16), work, problem(work, PureDP(1.0)), n), legal)
        )
    low, none = ApproxDP(0.5, 1.0 / n), ApproxDP(0.5, 0.0)
    for noise in ("approximate", "concentrated"):
        tree = partial(kind, T=1, batch=16, noise=noise)
        asked += [
            (f"{noise} noise at {promise}", run_of(tree, LASSO, problem(LASSO, promise), n), legal)
            for promise, legal in ((low, True), (none, False), (ApproxDP(0.5, 1.1 / n), noise == "concentrated"))
        ]
    flat = linear(3)  # no smoothness: Theorem 7 caps nothing
    tree = partial(kind, T=1, batch=16, noise="approximate")
    asked.append(("approximate noise on linear losses", run_of(tree, flat, problem(flat, low), n), True))
    asked += [
        (
            f"epsilon = {epsilon}",
            partial(kind(T=1, batch=16).schedule, problem(LASSO, PureDP(epsilon)), n),
            epsilon <= 1,
        )
        for epsilon in (0.01, 1.0, 1.01)
    ]
    wrong = wrongly_answered(asked)
    for depth in (1, 2, 3, 5):
        if record_count(64, depth) != (read := claim("l1_geometry/alg-3").evaluate(b=64, T=depth)):
            wrong.append(f"{record_count(64, depth)} records are read at depth {depth}, {read} are stated")
    return answered(wrong, f"{len(asked)} fields, domains and budgets are as they are to be")


PURE, APPROXIMATE = PureDP(1.0), ApproxDP(0.5, 1e-4)
PROMISES: tuple[tuple[dict[str, Any], Any, bool], ...] = (
    ({}, PURE, True),
    ({"noise_dial": 0.5}, PURE, False),
    ({"noise": "approximate"}, APPROXIMATE, True),
    ({"noise": "approximate", "noise_dial": 2.0}, APPROXIMATE, False),
    ({"noise": "concentrated", "sensitivity": "smooth", "steps": "consecutive"}, APPROXIMATE, True),
    ({"noise": "concentrated", "sensitivity": "smooth"}, APPROXIMATE, False),
    ({"noise": "concentrated", "steps": "consecutive"}, APPROXIMATE, False),
)
"""Fields of Algorithm 3, what it is asked for, and whether one of Theorems 6 and 7 and its repair promises that."""


@check("l1_geometry/alg-3", kind="accuracy")
def promises_are_those_of_the_theorems(context: Context) -> Verdict:
    """The plan claims what it is asked for where a theorem speaks of it, and nothing where none does."""
    # unbound: what is promised, which no formula says
    wrong, n = list[str](), record_count(64, 2)
    for fields, asked, promised in PROMISES:
        make = partial(TreeFrankWolfe, T=2, batch=64, **fields)
        wrong += wrong_promises([make], problem(LASSO, asked), n, [promised])
    return answered(wrong, f"{len(PROMISES)} plans claim their promise where it is one, and nothing else")


@check("l1_geometry/alg-3", kind="transcription", also=("l1_geometry/thm-7@private",))
def promises_begin_where_the_theorems_do(context: Context) -> Verdict:
    """Beside the end of the window of beta below which Theorem 7 says nothing, whose logarithms have the base of T, and
    beside the largest epsilon of its repair, plans are promised on the one side alone; Theorem 6 promises on both.
    """
    n, m, low = BY_NAME["n"], BY_NAME["m"], ends_of_the_window(claim("l1_geometry/thm-9@literal")).get("low")
    ends = [a.rhs for a in claim("l1_geometry/thm-7@private").assumptions if a.lhs == BY_NAME["epsilon"]]
    if low is None or len(ends) != 1:
        return differs(f"beta begins at {low}, and epsilon is at most {ends}: one end each is to be stated")
    low, most = low.subs({sp.log(n): sp.log(n, 2), sp.log(m): sp.log(m, 2)}), ends[0]
    told, c, wrong = problem(LASSO), LASSO.constants, list[str]()
    near = ((1 - 1e-6, False), (1 + 1e-6, True))
    for size, epsilon in itertools.product((2**12, 10**5, 10**8), (0.05, 0.9)):
        promise = ApproxDP(epsilon, size**-1.5)
        at = {"n": size, "m": 2 * c.d, "epsilon": epsilon, "delta": promise.delta}
        at |= {"L": c.lipschitz(1.0), "D": c.diameter(1.0)}
        end = float(low.subs({BY_NAME[name]: value for name, value in at.items()}))
        for off, within in near:
            bent = replace(told, constants=replace(c, smoothness=lambda p, H=end * off: H))
            for noise, legal, asked in (("approximate", within, promise), ("pure", True, PureDP(epsilon))):
                makes = [partial(TreeFrankWolfe, noise=noise)]
                wrong += wrong_promises(makes, replace(bent, privacy=asked), size, [legal])
    for delta in (0.62, 0.7, 0.9):
        makes = [partial(TreeFrankWolfe, T=2, batch=64, **TreeFrankWolfe.readings["concentrated"])]
        for off, beyond in near:
            asked = ApproxDP(float(most.subs(BY_NAME["delta"], delta)) * off, delta)
            wrong += wrong_promises(makes, replace(told, privacy=asked), record_count(64, 2), [not beyond])
    return answered(wrong, "30 plans beside an end claim their promise on its one side")


@check("l1_geometry/alg-3", kind="runtime", grid={"T": (1, 2, 3, 4)})
def gradients_of_the_tree(context: Context, *, T: int) -> Verdict:
    """Counted gradients are b T (T + 3)/2 and the records read b(T + T(T+1)/4), as derived."""
    b = 2 ** (T + 1)
    n = record_count(b, T)
    counts = runtime.count(TreeFrankWolfe(T=T, batch=b), LASSO, problem(LASSO, PureDP(1.0)), n, 1, context.seed, T)
    stated = float(claim("l1_geometry/alg-3@derived").evaluate(b=b, T=T))
    records = float(claim("l1_geometry/alg-3").evaluate(b=b, T=T))
    if float(counts.gradients.max()) != stated or records != n:
        return differs(f"{counts.gradients.max()} gradients against {stated}, {n} records against {records}", "counted")
    return runtime.verdict(counts.gradients, stated, x=float(T), variable="T")


@check(
    "l1_geometry/alg-3",
    kind="risk",
    also=("l1_geometry/thm-6@summed",),
    grid={
        "case": together("T b", (1, 64), (2, 64), (3, 64), (3, 256), (4, 4096)),
        "noise": ("printed", "safe", "none"),
    },
)
def risk_of_the_tree(context: Context, *, case: Any, noise: str) -> Verdict:
    """Mean excess risk on the sign LASSO against the bound with the exact weights of all leaves; without noise it is no
    private run, and under the printed noise one that Lemma 4.1 does not cover.
    """
    T, b = case
    dial = 1e-9 if noise == "none" else 1.0
    kind = "safe" if noise == "safe" else "printed"
    algorithm = TreeFrankWolfe(T=T, batch=b, sensitivity=kind, noise_dial=dial)  # type: ignore[arg-type]
    return risk_on_the_lasso(context, algorithm, record_count(b, T), f"{NOISE[noise]}, T = {T}")


@check("l1_geometry/alg-3", kind="risk", grid={"table": ("diabetes", "randhie", "fair")}, expect=EITHER)
def lasso_on_real_records(context: Context, *, table: str) -> Verdict:
    """Rows of a real table as the population, n = 3584 draws: mean excess against the bound with its own L and beta."""
    # unbound: judged by l1_geometry/thm-6@summed; the formula of Algorithm 3 is how many records it reads
    work = LassoPopulation.of({"diabetes": diabetes, "randhie": randhie, "fair": fair}[table]())
    algorithm, told = TreeFrankWolfe(sensitivity="safe", T=2, batch=1024), problem(work, PureDP(1.0))
    n = record_count(1024, 2)
    values = risk.excess_risks(algorithm, work, told, n, context.scale(20, 200), context.seed, "real", table)
    bound = bound_of("l1_geometry/thm-6@summed", algorithm, told, n)
    top = float(work.excess_risk(work.domain.vertices).max())  # convex: largest at a vertex
    return risk.expectation(values, bound, context.failure_probability, limit=top, x=float(n), series=table)


@check("l1_geometry/alg-3@corrected", kind="privacy", grid={"T": (1, 3)})
def account_of_the_tree(context: Context, *, T: int) -> Verdict:
    """With twice the noise and certified sensitivities the worst stretch costs epsilon; the printed noise, under the
    same sensitivities, twice that.
    """
    algorithm, promise, n = TreeFrankWolfe(T=T, batch=64, sensitivity="safe"), PureDP(0.5), record_count(64, T)
    told = problem(LASSO, promise)
    verdict = judge_account(account(algorithm.schedule(told, n), n), promise)
    printed = account(printed_noise(algorithm, told, n), n).epsilon(0.0)
    reason = f"{verdict.reason}; under the printed noise {printed:.6g} is"
    return replace(verdict, reason=reason, numbers={**verdict.numbers, "certified for the printed noise": printed})


@check(
    "l1_geometry/alg-3@corrected",
    kind="sensitivity",
    grid={"noise": ("pure", "approximate")},
    also=("l1_geometry/lem-4-4@derived",),
)
def every_selection_moves_within_its_claim(context: Context, *, noise: str) -> Verdict:
    """Replayed on drawn LASSO records, each place of the tree replaced in turn: no score moves more than the certified
    sensitivities, two gradients a right child, claim.
    """
    T, b = 2, 16
    n, times = record_count(b, T), context.scale(4, 40)
    algorithm = TreeFrankWolfe(T=T, batch=b, noise=noise, sensitivity="safe", allocation="fixed")  # type: ignore[arg-type]
    told = problem(LASSO, PureDP(1.0) if noise == "pure" else ApproxDP(1.0, 1e-6))
    data = LASSO.rows(context.rng("data"), n * times, n)
    other = data.copy()
    place = np.tile(np.arange(n), times)
    other[np.arange(len(data)), place] = LASSO.rows(context.rng("other"), len(data), 1)[:, 0]
    seen = Case(algorithm, LASSO, told).replay(data, other, len(data), context.seed)
    ratios = {name: float(values.max()) for name, values in seen.ratios().items()}
    worst = max(ratios.values())
    sure = "a record enters v by one gradient at the root and by two at right children, all of sup-norm <= L"
    said = f"at most {worst:.4g} of the claim over {len(data)} pairs and {len(ratios)} selections ({sure})"
    numbers = {"largest ratio": worst, "pairs": len(data)}
    return judged(worst, "<=", 1 + 1e-9, said, "certificate", numbers=numbers, severity=worst)
