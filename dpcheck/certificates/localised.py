"""Runs of localisation, of linear optimisation and of sensitivity in other norms; `problems` says how to read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from dpcheck.certificates import problems
from dpcheck.certificates.runs import StatementRun, displayed, run, simple

Lines = list[str]


def localisation(T: int) -> Lines:
    """T phases over any closed convex set: w_t within 3 Delta_t/lam_t of the minimiser of F + (lam_t/2)‖· − w_(t−1)‖²,
    F convex and G-Lipschitz, w_0 within D of y: F(w_T) − F(y)."""
    lines = ["F = convex(L=G)", "K = region()", "y = inside(K, zero)", "w0 = inside(K, vector())"]
    lines.append("assume w0 @ w0 <= D*D")
    for t in range(1, T + 1):
        lines += [f"q{t} = vector()", f"v{t} = inside(K, vector(), q{t})"]
        lines.append(f"F{t} = subgradient(F, v{t}, lam{t}*(w{t - 1} - v{t}) - q{t})")
        lines += [f"w{t} = inside(K, vector())", f"e{t} = w{t} - v{t}"]
        lines.append(f"assume e{t} @ e{t} <= (3*Delta{t}/lam{t})*(3*Delta{t}/lam{t})")
    return [*lines, f"bound value(F, w{T}) - value(F, y)"]


def proximal_step() -> Lines:
    """w minimises F + (lam/2)‖· − x‖² over any closed convex set, F convex: F(w) − F(y) for a y within r of x."""
    return [
        *("F = convex()", "K = region()", "y = inside(K, zero)", "x = inside(K, vector())", "assume x @ x <= r*r"),
        *("q = vector()", "w = inside(K, vector(), q)", "Fw = subgradient(F, w, lam*(x - w) - q)"),
        "bound Fw - value(F, y)",
    ]


def constant_output() -> Lines:
    """F G-Lipschitz in any norm, two points at most D apart: the difference of its values."""
    return [
        *("F = convex_any(L=G)", "w = point()", "y = point()", "assume unit @ distance(w, y) <= D"),
        "bound value(F, w) - value(F, y)",
    ]


def joint_subgradient(n: int) -> Lines:
    """(mean of the C u_i + lam(w − w_0), (g_i − C u_i)/n for each i), ‖u_i‖ <= 1, ‖g_i‖ <= A, ‖w − w_0‖ <= D: its
    squared length."""
    lines = ["w = vector()", "assume w @ w <= D*D"]
    for i in range(n):
        lines += [f"u{i} = vector()", f"g{i} = vector()", f"assume u{i} @ u{i} <= 1", f"assume g{i} @ g{i} <= A*A"]
        lines.append(f"p{i} = (g{i} - C*u{i})/n")
    lines.append("first = lam*w + " + " + ".join(f"C*u{i}/n" for i in range(n)))
    return [*lines, "bound first @ first + " + " + ".join(f"p{i} @ p{i}" for i in range(n))]


def mean_from_minimiser() -> Lines:
    """F(w) = <w, mu>, ‖mu‖ = m, on the ball of radius D/2; A = s v, ‖v‖ = 1, is at most `gap` above the minimum: the
    squared distance of −m v to mu."""
    return [
        *("mu = vector()", "v = vector()", "assume mu @ mu <= m*m", "assume m*m <= mu @ mu"),
        *("assume v @ v <= 1", "assume 1 <= v @ v", "assume s*(v @ mu) + m*D/2 <= gap", "far = m*v + mu"),
        "bound far @ far",
    ]


def approximate_loss() -> Lines:
    """The movement of approximate minimisers over the scale of the noise, squared, as in the run of `lem-c-2`: the
    privacy loss of isotropic Laplace noise of that scale."""
    return [*problems.approximate_minimisers()[:-1], "bound (length/scale) @ (length/scale)"]


def two_losses() -> Lines:
    """Approximate minimisers of two stages on neighbours, each over the scale of its own noise, added up, squared."""
    once = problems.approximate_minimisers()[:-1]
    names = {line.partition(" = ")[0] for line in once if " = " in line}
    lines = []
    for stage in "12":
        for line in once:
            tokens = _tokens(line)
            lines.append("".join(t + stage if t in names or t in ("alpha",) else t for t in tokens))
    return [*lines, "loss = length1/scale1 + length2/scale2", "bound loss @ loss"]


def _tokens(line: str) -> list[str]:
    return re.findall(r"[A-Za-z]\w*|[^A-Za-z]+", line)


def halved() -> Lines:
    """F − F* >= lam‖w − w*‖² in any norm, and w is at most R a above F*, as a call on a ball of radius R leaves it:
    ‖w − w*‖²."""
    return [
        *("gap = number()", "w = point()", "best = point()", "r = distance(w, best)"),
        *("assume lam*(r @ r) <= gap", "assume gap <= R*a", "bound r @ r"),
    ]


def coordinate_means(d: int) -> Lines:
    """The mean of b vectors of d coordinates, none larger than L, one of which is replaced: its squared Euclidean
    movement."""
    lines = []
    for i in range(d):
        lines += [f"h{i} = vector()", f"k{i} = vector()", f"assume h{i} @ h{i} <= L*L", f"assume k{i} @ k{i} <= L*L"]
        lines.append(f"m{i} = (h{i} - k{i})/b")
    return [*lines, "bound " + " + ".join(f"m{i} @ m{i}" for i in range(d))]


def four_norms(d: int, pair: bool = True) -> Lines:
    """Vectors of d coordinates of length at most L in the norm of exponent 4; the squares of the coordinates are
    unknowns of their own. The squared Euclidean movement of a mean of b of them, one of which is replaced; or the
    squared Euclidean length of one."""
    lines = []
    for x in "hk" if pair else "h":
        for i in range(d):
            lines += [f"{x}{i} = vector()", f"{x}s{i} = vector()", f"assume {x}{i} @ {x}{i} <= unit @ {x}s{i}"]
        lines.append("assume " + " + ".join(f"{x}s{i} @ {x}s{i}" for i in range(d)) + " <= L*L*L*L")
    if not pair:
        return [*lines, "bound " + " + ".join(f"h{i} @ h{i}" for i in range(d))]
    lines += [f"m{i} = (h{i} - k{i})/b" for i in range(d)]
    return [*lines, "bound " + " + ".join(f"m{i} @ m{i}" for i in range(d))]


def travelled(phases: int) -> Lines:
    """Phases that stay within 2 L eta_i n_i (p − 1) of their starts in any norm, eta_i n_i = eta n/32^i: the squared
    way from the first start to the last end."""
    lines = ["x0 = point()"]
    for i in range(1, phases + 1):
        lines += [f"x{i} = point()", f"r{i} = distance(x{i}, x{i - 1})"]
        lines.append(f"assume r{i} @ r{i} <= (2*L*eta*n*(p - 1)/{32**i})*(2*L*eta*n*(p - 1)/{32**i})")
    return [*lines, "way = " + " + ".join(f"r{i}" for i in range(1, phases + 1)), "bound way @ way"]


def frank_wolfe(steps: Sequence[str]) -> Lines:
    """Conditional gradient steps x⁺ = x + s(v − x) in any norm over a set of diameter D, F convex and H-smooth in that
    norm, v within `xi` of the best vertex for an estimate that is within `e` of the gradient in the dual norm, the
    first step of size 1: F(last) − F(y)."""
    lines = ["y = point()", "Fy = number()", "x0 = point()", "F0 = number()"]
    for t, s in enumerate(steps):
        lines += [f"v{t} = point()", f"g{t} = point()", f"c{t} = point()", f"r{t} = distance(v{t}, x{t})"]
        lines += [f"assume r{t} @ r{t} <= D*D", f"x{t + 1} = x{t} + {s}*(v{t} - x{t})", f"F{t + 1} = number()"]
        lines.append(f"assume F{t} + g{t} @ (y - x{t}) <= Fy")
        lines.append(f"assume F{t + 1} <= F{t} + {s}*(g{t} @ (v{t} - x{t})) + H/2*{s}*{s}*(r{t} @ r{t})")
        lines.append(f"assume c{t} @ v{t} <= c{t} @ y + xi")
        lines.append(f"assume (c{t} - g{t}) @ (y - v{t}) <= e*D")
    return [*lines, f"bound F{len(steps)} - Fy"]


def frank_wolfe_step() -> Lines:
    """One conditional gradient step of size s as there: F(x⁺) − F(y) less (1 − s)(F(x) − F(y))."""
    lines = frank_wolfe(["s"])[:-1]
    return [*lines, "bound F1 - Fy - (1 - s)*(F0 - Fy)"]


def mirror_run(steps: Sequence[str], weights: Sequence[int], strongly: bool = False) -> Lines:
    """Mirror steps over any convex set as `mirror` has them, in one run: of the map h, 1-strongly convex in any norm,
    only what consecutive points and y say of each other is used, of answers g_t only their dual norm, at most L, so
    that a long run has few unknowns. The weighted mean of <g_t, x_t − y>; of <g_t, x_t − y> − lam D_h(y, x_t) for an f
    that is lam-strongly convex relative to h."""
    lines = ["y = point()", "hy = number()", "x0 = point()", "h0 = number()", "d0 = point()"]
    if not strongly:
        lines.append("assume hy - h0 - d0 @ (y - x0) <= R")
    terms, total, last = [], sum(weights), len(steps)
    for t, (step, weight) in enumerate(zip(steps, weights, strict=True)):
        u = t + 1
        lines += [f"g{t} = point()", f"x{u} = point()", f"h{u} = number()", f"d{u} = point()"]
        lines += [f"r{u} = distance(x{t}, x{u})", f"assume g{t} @ (x{t} - x{u}) <= L*(unit @ r{u})"]
        lines.append(f"assume h{t} + d{t} @ (x{u} - x{t}) + 1/2*(r{u} @ r{u}) <= h{u}")
        lines.append(f"assume 0 <= ({step}*g{t} + d{u} - d{t}) @ (y - x{u})")
        relative = f" - lam*(hy - h{t} - d{t} @ (y - x{t}))" if strongly else ""
        lines.append(f"part{t} = {weight}/{total}*(g{t} @ (x{t} - y){relative})")
        terms.append(f"part{t}")
    lines.append(f"assume h{last} + d{last} @ (y - x{last}) <= hy")
    return [*lines, "bound " + " + ".join(terms)]


# -- which statements these are ----------------------------------------------------------------------------------------

LOCALISED: dict[str, tuple[StatementRun, ...]] = {
    "pure_heavy_tails/thm-2-1@summed": tuple(
        run(
            localisation,
            f"{T} phases, lam_t = 32^(t − 1)/4",
            {"T": T},
            {
                **{"D": 2, "G": 1},
                **{f"Delta{t}": f"1/{2**t}" for t in range(1, T + 1)},
                **{f"lam{t}": str(Fraction(32 ** (t - 1), 4)) for t in range(1, T + 1)},
            },
            at={
                **{"l": T, "D": 2, "G_1": 1},
                **{f"Delta[{t}]": f"1/{2**t}" for t in range(1, T + 1)},
                **{f"lambda[{t}]": str(Fraction(32 ** (t - 1), 4)) for t in range(1, T + 1)},
            },
        )
        for T in (1, 2, 3)
    ),
    "pure_heavy_tails/fact-trivial": simple(constant_output, {"G": 2, "D": 3}, {"G_1": 2, "D": 3}),
    "pure_heavy_tails/fact-eq-14": tuple(
        run(
            joint_subgradient,
            f"m = {n}",
            {"n": n},
            {"A": 3, "C": 2, "D": 1, "lam": "1/2", "n": n},
            at={"A_Z": 3, "C": 2, "D": 1, "lambda": "1/2"},
            squared=True,
            attained=n < 3,
        )
        for n in (1, 2, 4)
    ),
    "pure_heavy_tails/lem-g-1": tuple(
        run(
            mean_from_minimiser,
            f"‖A‖ = {s}, gap = {gap}, as the text has it",
            {},
            {"m": 2, "D": 3, "s": s, "gap": gap},
            display="8*m/D*gap",
        )
        for s, gap in (("3/2", 1), ("3/4", 2), ("0", 3))
    ),
    "pure_heavy_tails/lem-c-2@derived": tuple(
        run(
            approximate_loss,
            f"n = {n}, lam = {lam}",
            {},
            {
                **{"n": n, "lam": lam, "L": 1, "alpha": str(1 / (2 * Fraction(lam) * n**2))},
                "scale": str(6 / (Fraction(lam) * n * Fraction(3, 2))),
            },
            at={"epsilon": "3/2"},
            squared=True,
        )
        for n, lam in ((4, "1"), (10, "1/10"))
    ),
    "pure_heavy_tails/alg-4@derived": (
        run(
            two_losses,
            "m = 4, lam = 1",
            {},
            {
                **{"n": 4, "lam": 1, "L": 1, "alpha1": "1/32", "alpha2": "1/1152"},
                **{"scale1": "4", "scale2": "4"},
            },
            at={"epsilon": "3/4"},
            squared=True,
        ),
    ),
    "pure_heavy_tails/proc-biased-psgd": tuple(
        run(
            problems.inexact,
            f"T = (4DL/alpha)² = {root**2}, as the text has it",
            {"T": root**2},
            {
                **{"eta": f"1/{root}", "L": 1, "D": 1, "B": f"1/{root}", "alpha": f"4/{root}"},
                "xi": str(min(Fraction(1), Fraction(4, 6 * root**2))),
            },
            display="alpha",
        )
        for root in (1, 2, 3)
    ),
    "tsybakov/thm-8": tuple(
        run(
            problems.biased,
            f"T = {T}, (1 - eta lam/2)^T for e^(-eta lam T/2)",
            {"T": T},
            {"eta": "1/2", "lam": "1/2", "D": 2, "r": 1, "B": "1/4"},
            display=f"(1 - eta*lam/2)**{T}*D**2 + 8*eta*r**2/lam + 8*eta*lam*D**2 + 20*B**2/lam**2",
        )
        for T in (1, 2, 3)
    ),
    "tsybakov/lem-4": displayed(halved, {"R": 2, "a": "1/3", "lam": "2/3"}, "(R/2)**2"),
    **{
        f"l1_geometry/alg-{n}@sensitivity": tuple(
            run(coordinate_means, f"d = {d}", {"d": d}, {"L": 2, "b": 7}, at={"L": 2, batch: 7, "d": d}, squared=True)
            for d in (1, 3, 10)
        )
        for n, batch in ((1, "b"), (2, "b[i]"))
    },
    **{
        f"l1_geometry/alg-{n}@sensitivity": tuple(
            run(
                four_norms,
                f"d = {d}, q = 4",
                {"d": d},
                {"L": 2, "b": 7},
                at={"L": 2, batch: 7, "d": d, "q": 4},
                squared=True,
            )
            for d in (1, 4, 9)
        )
        for n, batch in ((5, "b"), (6, "b[i]"))
    },
    "l1_geometry/fact-l2-lq": tuple(
        run(four_norms, f"d = {d}, q = 4", {"d": d, "pair": False}, {"L": 1}, at={"d": d, "q": 4}, squared=True)
        for d in (1, 4, 9)
    ),
    "l1_geometry/alg-2@corrected": tuple(
        run(
            travelled,
            f"{k} phases",
            {"phases": k},
            {"L": 1, "eta": "1/3", "n": 100, "p": "3/2"},
            at={"L": 1, "eta": "1/3", "n": 100, "p": "3/2"},
            squared=True,
        )
        for k in (1, 2, 3)
    ),
    "l1_geometry/thm-6@summed": tuple(
        run(
            frank_wolfe,
            f"{l} leaves, steps 2/(t + 1), errors e and xi, as the text has it",
            {"steps": [f"2/{t + 1}" for t in range(1, l + 1)]},
            {"H": 1, "D": 2, "e": "1/5", "xi": "1/7"},
            display="D*e + H*D**2*("
            + " + ".join(f"{2 * t}/({l}*({l} + 1))*2/({t} + 1)" for t in range(1, l + 1))
            + ")/2 + xi",
        )
        for l in (1, 2, 5, 10, 100)  # noqa: E741
    ),
}
"""Label -> what is certified of it."""
