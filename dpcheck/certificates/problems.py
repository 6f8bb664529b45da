"""The runs of which statements speak, as lines that `checker` reads; what each function returns is its theorem.

Names in the lines are parameters, given as rationals beside them. Points in any norm are `point()`, vectors of a
Euclidean space of any dimension `vector()`; `project` is the projection onto a closed convex set.
"""

from __future__ import annotations

from collections.abc import Sequence

Lines = list[str]


def regularised_minimisers() -> Lines:
    """In any norm and over any convex set: w and v minimise A + h/n and A + k/n, A lam-strongly convex, h and k
    L-Lipschitz: ‖w − v‖²."""
    return [
        "A = convex_any(mu=lam)",
        "h = convex_any(L=L)",
        "k = convex_any(L=L)",
        "w = point()",
        "v = point()",
        "Aw = subgradient(A, w, zero - gradient(h, w)/n)",
        "Av = subgradient(A, v, zero - gradient(k, v)/n)",
        "hv = value(h, v)",
        "kw = value(k, w)",
        "bound distance(w, v) @ distance(w, v)",
    ]


def approximate_minimisers() -> Lines:
    """In any norm and over any convex set: w and v minimise F = A + h/n and G = A + k/n, both lam-strongly convex, h
    and k L-Lipschitz; F is at most alpha above its least value at a, G at b: (‖w − v‖ + ‖w − a‖ + ‖v − b‖)² >= ‖a −
    b‖²."""
    return [
        *regularised_minimisers()[:-1],
        "F = convex_any(mu=lam)",
        "G = convex_any(mu=lam)",
        "a = point()",
        "b = point()",
        "Fw = subgradient(F, w, zero)",
        "Gv = subgradient(G, v, zero)",
        "assume value(F, a) - Fw <= alpha",
        "assume value(G, b) - Gv <= alpha",
        "length = distance(w, v) + distance(w, a) + distance(v, b)",
        "bound length @ length",
    ]


def extended_minimisers() -> Lines:
    """In any norm and over any convex set: w and v minimise A + h/n and A + k/n, A lam-strongly convex, h G-Lipschitz
    and k its C-Lipschitz extension: ‖w − v‖²."""
    return [
        "k = convex_any(L=C)" if line.startswith("k =") else line.replace("L=L", "L=G")
        for line in regularised_minimisers()
    ]


def first_block() -> Lines:
    """Phi >= F with the same least value: F at the first block of a point at which Phi is at most alpha above it."""
    return [
        *("Phi = number()", "F = number()", "least = number()"),
        *("assume F <= Phi", "assume Phi - least <= alpha", "bound F - least"),
    ]


def majority() -> Lines:
    """Two balls, each with more than half of the candidates, share one, c: it lies within 2R of the chosen point o and
    within R of v, in any norm: (‖o − c‖ + ‖c − v‖)² >= ‖o − v‖²."""
    return [
        *("o = point()", "c = point()", "v = point()"),
        *("a = distance(o, c)", "assume a @ a <= 4*R*R", "b = distance(c, v)", "assume b @ b <= R*R"),
        "bound (a + b) @ (a + b)",
    ]


def growth(excess: bool = False) -> Lines:
    """F − F* >= lam‖w − w*‖², F L-Lipschitz, in any norm: ‖w − w*‖², or F − F*."""
    return [
        "F = convex_any(L=L)",
        "minimiser = point()",
        "w = point()",
        "least = subgradient(F, minimiser, zero)",
        "s = distance(w, minimiser)",
        "assume lam*(s @ s) <= value(F, w) - least",
        "bound value(F, w) - least" if excess else "bound s @ s",
    ]


def growth_diameter() -> Lines:
    """F − F* >= lam‖w − w*‖² with one minimiser, F L-Lipschitz, in any norm: (‖u − w*‖ + ‖w − w*‖)² >= ‖u − w‖²."""
    return [
        *growth()[:-1],
        "u = point()",
        "r = distance(u, minimiser)",
        "assume lam*(r @ r) <= value(F, u) - least",
        "bound (r + s) @ (r + s)",
    ]


def strong_growth() -> Lines:
    """F lam-strongly convex in any norm with minimiser w*, F(w) − F(w*) <= gap: ‖w − w*‖²."""
    return [
        "F = convex_any(mu=lam)",
        "minimiser = point()",
        "w = point()",
        "least = subgradient(F, minimiser, zero)",
        "assume value(F, w) - least <= gap",
        "bound distance(w, minimiser) @ distance(w, minimiser)",
    ]


def clipped_mean() -> Lines:
    """The mean of n vectors of length at most C, one of which is replaced: its squared movement."""
    return [
        "h = vector()",
        "k = vector()",
        "assume h @ h <= C*C",
        "assume k @ k <= C*C",
        "bound ((h - k)/n) @ ((h - k)/n)",
    ]


def gradient_mapping() -> Lines:
    """(w − Π(w − gamma g))/gamma over any closed convex set at one w, g a mean of n vectors of length at most C, one of
    which is replaced: the squared movement."""
    return [
        "K = region()",
        "w = inside(K, zero)",
        "rest = vector()",
        *clipped_mean()[:-1],
        "moved = project(K, w - gamma*(rest + h/n)) - project(K, w - gamma*(rest + k/n))",
        "bound (moved/gamma) @ (moved/gamma)",
    ]


def contraction(projected: bool) -> Lines:
    """One gradient step of size eta on a lam-strongly convex, H-smooth function from two points at distance 1: the
    squared distance afterwards."""
    return [
        "f = convex(mu=lam, s=1/H)",
        "K = region()",
        "w = inside(K, vector())" if projected else "w = vector()",
        "v = inside(K, zero)",
        "assume w @ w <= 1",
        *(f"{x}1 = {_stepped(f'{x} - eta*gradient(f, {x})', projected)}" for x in "wv"),
        "bound (w1 - v1) @ (w1 - v1)",
    ]


def error_bound() -> Lines:
    """F lam-strongly convex and H-smooth, G its gradient mapping of step 1/H over any closed convex set, ‖G(w)‖ <= 1:
    the squared distance from w to the minimiser."""
    return [
        "f = convex(mu=lam, s=1/H)",
        "K = region()",
        "minimiser = inside(K, zero, zero - gradient(f, zero))",
        "w = inside(K, vector())",
        "moved = H*(w - project(K, w - gradient(f, w)/H))",
        "assume moved @ moved <= 1",
        "bound w @ w",
    ]


def mapping_slope() -> Lines:
    """The gradient mapping of step 1/H of a lam-strongly convex, H-smooth function over any closed convex set, at two
    points at distance 1: the squared distance of its values."""
    return [
        *("f = convex(mu=lam, s=1/H)", "K = region()", "w = inside(K, vector())", "v = inside(K, zero)"),
        "assume w @ w <= 1",
        *(f"G{x} = H*({x} - project(K, {x} - gradient(f, {x})/H))" for x in "wv"),
        "bound (Gw - Gv) @ (Gw - Gv)",
    ]


def biased(T: int) -> Lines:
    """T projected steps along c_t + lam(w_t − w_0), ‖c_t‖ <= r and ‖c_t − f'(w_t)‖ <= B for a convex f, in a convex set
    of diameter D: the squared distance to the minimiser of f + (lam/2)‖· − w_0‖²."""
    lines = ["f = convex()", "K = region()", "start = vector()", "best = zero", "w0 = start"]
    lines += ["at_best = inside(K, best, lam*start - gradient(f, best))", "at_start = inside(K, start)"]
    for t in range(T):
        lines += [f"c{t} = vector()", f"b{t} = c{t} - gradient(f, w{t})", f"assume w{t} @ w{t} <= D*D"]
        lines += [f"assume (w{t} - start) @ (w{t} - start) <= D*D"] if t else []
        lines += [f"assume c{t} @ c{t} <= r*r", f"assume b{t} @ b{t} <= B*B"]
        lines.append(f"w{t + 1} = project(K, w{t} - eta*(c{t} + lam*(w{t} - start)))")
    return [*lines, f"bound w{T} @ w{T}"]


def drift(T: int, runs: int) -> Lines:
    """Projected steps w − eta(g + lam(w − w_0)) along any vectors ‖g‖ <= C, whatever the data: the squared distance of
    the end from w_0, or of the ends of two runs."""
    lines = ["K = region()", "w0 = inside(K, zero)", "v0 = w0"]
    for x in "wv"[:runs]:
        for t in range(T):
            lines += [f"g{x}{t} = vector()", f"assume g{x}{t} @ g{x}{t} <= C*C"]
            lines.append(f"{x}{t + 1} = project(K, (1 - eta*lam)*{x}{t} - eta*g{x}{t})")
    end = f"(w{T} - v{T})" if runs == 2 else f"w{T}"
    return [*lines, f"bound {end} @ {end}"]


def full_batch(T: int, projected: bool, smooth: bool = False, regularised: bool = False) -> Lines:
    """T subgradient steps of size eta from one start on the mean of n convex L-Lipschitz losses, of which one is
    replaced: ‖w_T − v_T‖². f is the mean of the others; where it is said, losses are H-smooth and (lam/2)‖· − w_0‖² is
    added."""
    kind = "convex(L=L, s=1/H)" if smooth else "convex(L=L)"
    lines = [f"f = {kind}", f"h = {kind}", f"k = {kind}", "K = region()", "w0 = inside(K, zero)", "v0 = w0"]
    for t in range(T):
        for x, own in (("w", "h"), ("v", "k")):
            kept = f"(1 - eta*lam)*{x}{t}" if regularised else f"{x}{t}"
            step = f"{kept} - eta*((n - 1)/n*gradient(f, {x}{t}) + gradient({own}, {x}{t})/n)"
            lines.append(f"{x}{t + 1} = {_stepped(step, projected)}")
    return [*lines, f"bound (w{T} - v{T}) @ (w{T} - v{T})"]


def one_pass(T: int, projected: bool, replaced: int = 1, smooth: bool = False, averaged: bool = False) -> Lines:
    """T subgradient steps of size eta from one start, each on a fresh convex L-Lipschitz loss (H-smooth where it is
    said), the first `replaced` of which are others in the second run: ‖w_T − v_T‖², or that of the means of the
    iterates."""
    kind = "convex(L=L, s=1/H)" if smooth else "convex(L=L)"
    lines = ["K = region()", "w0 = inside(K, zero)", "v0 = w0"]
    for t in range(T):
        lines.append(f"f{t} = {kind}")
        if t < replaced:
            lines.append(f"k{t} = {kind}")
        for x, own in (("w", "f"), ("v", "k" if t < replaced else "f")):
            lines.append(f"{x}{t + 1} = " + _stepped(f"{x}{t} - eta*gradient({own}{t}, {x}{t})", projected))
    if averaged:
        lines.append("moved = " + " + ".join(f"(w{t} - v{t})/{T}" for t in range(1, T + 1)))
    else:
        lines.append(f"moved = w{T} - v{T}")
    return [*lines, "bound moved @ moved"]


def descent(steps: Sequence[str], weights: Sequence[int], projected: bool, strongly: bool = False) -> Lines:
    """Subgradient steps on a convex (lam-strongly convex) f with answers of length at most L from a distance of at most
    D to its minimiser y: f(weighted mean of the iterates) − f(y)."""
    lines = ["f = convex(mu=lam)" if strongly else "f = convex()", "K = region()", "y = zero"]
    if projected:
        lines += ["least = value(f, y)", "minimal = inside(K, y, zero - gradient(f, y))", "x0 = inside(K, vector())"]
    else:
        lines += ["least = subgradient(f, y, zero)", "x0 = vector()"]
    if not strongly:
        lines.append("assume x0 @ x0 <= D*D")
    for t, step in enumerate(steps):
        lines.append(f"assume gradient(f, x{t}) @ gradient(f, x{t}) <= L*L")
        if t + 1 < len(steps):
            lines.append(f"x{t + 1} = " + _stepped(f"x{t} - {step}*gradient(f, x{t})", projected))
    total = sum(weights)
    lines.append("mean = " + " + ".join(f"{weight}/{total}*x{t}" for t, weight in enumerate(weights)))
    if projected:
        lines.append("there = inside(K, mean)")
    return [*lines, "bound value(f, mean) - least"]


def inexact(T: int) -> Lines:
    """T steps of size eta in a convex set of diameter D, each within xi of the projection, on answers ‖g_t‖ <= L with
    f(y) >= f(x_t) + <g_t, y − x_t> − B: the mean of <g_t, x_t − y> + B, so f(mean of the x_t) − f(y)."""
    lines = ["y = zero", "x0 = vector()"]
    for t in range(T):
        lines += [f"g{t} = vector()", f"e{t} = vector()", f"K{t} = region()", f"y{t} = inside(K{t}, y)"]
        lines += [f"assume x{t} @ x{t} <= D*D", f"assume g{t} @ g{t} <= L*L", f"assume e{t} @ e{t} <= xi*xi"]
        lines += [f"p{t} = project(K{t}, x{t} - eta*g{t})", f"assume p{t} @ p{t} <= D*D", f"x{t + 1} = p{t} + e{t}"]
    return [*lines, "bound " + " + ".join(f"g{t} @ x{t}/{T}" for t in range(T)) + " + B"]


def accelerated(T: int, projected: bool) -> Lines:
    """T AC-SA steps, alpha_t = 2/(t + 1), gamma_t = 4H/(t(t + 1)), exact gradients of a convex H-smooth f, from a
    distance of at most D to its minimiser y: f(x_T) − f(y)."""
    lines = ["f = convex(s=1/H)", "K = region()", "y = zero"]
    if projected:
        lines += ["least = value(f, y)", "minimal = inside(K, y, zero - gradient(f, y))", "x0 = inside(K, vector())"]
    else:
        lines += ["least = subgradient(f, y, zero)", "x0 = vector()"]
    lines += ["assume x0 @ x0 <= D*D", "best0 = x0"]
    for t in range(1, T + 1):
        old = f"{t - 1}/{t + 1}*best{t - 1}"
        lines.append(f"middle{t} = {old} + 2/{t + 1}*x{t - 1}")
        lines.append(f"x{t} = " + _stepped(f"x{t - 1} - {t}/(2*H)*gradient(f, middle{t})", projected))
        lines.append(f"best{t} = {old} + 2/{t + 1}*x{t}")
    return [*lines, f"bound value(f, best{T}) - least"]


def mirror(steps: Sequence[str], weights: Sequence[int], strongly: bool = False) -> Lines:
    """Mirror steps over any convex set, the map h 1-strongly convex in any norm, D_h(y, x_0) <= R, on any answers g_t
    of dual norm at most L: the weighted mean of <g_t, x_t − y>, which f(weighted mean) − f(y) is at most, in
    expectation for unbiased answers; of <g_t, x_t − y> − lam D_h(y, x_t) for an f that is lam-strongly convex relative
    to h."""
    lines = ["h = convex_any(mu=1)", "K = region()", "y = inside(K, point())", "x0 = inside(K, point())"]
    lines += ["h0 = value(h, x0)", "d0 = gradient(h, x0)", "hy = value(h, y)"]
    if not strongly:
        lines.append("assume hy - h0 - d0 @ (y - x0) <= R")
    terms, total = [], sum(weights)
    for t, (step, weight) in enumerate(zip(steps, weights, strict=True)):
        u = t + 1
        lines += [f"g{t} = point()", f"q{u} = point()", f"x{u} = inside(K, point(), q{u})"]
        lines += [f"d{u} = d{t} - {step}*g{t} - q{u}", f"h{u} = subgradient(h, x{u}, d{u})"]
        lines.append(f"assume g{t} @ (x{t} - x{u}) <= L*(unit @ distance(x{t}, x{u}))")
        relative = f" - lam*(hy - h{t} - d{t} @ (y - x{t}))" if strongly else ""
        terms.append(f"{weight}/{total}*(g{t} @ (x{t} - y){relative})")
    return [*lines, "bound " + " + ".join(terms)]


def mirror_step() -> Lines:
    """One mirror step from x to z on any answer g, the map h 1-strongly convex in any norm, f lam-strongly convex
    relative to it with subgradient d at x: f(x) − f(y) less what equation (2) allows it."""
    return [
        *("h = convex_any(mu=1)", "K = region()", "y = inside(K, point())", "x = inside(K, point())"),
        *("g = point()", "q = point()", "z = inside(K, point(), q)", "d = point()", "norm = vector()"),
        "Dx = value(h, y) - value(h, x) - gradient(h, x) @ (y - x)",
        "dz = gradient(h, x) - eta*g - q",
        "Dz = value(h, y) - subgradient(h, z, dz) - dz @ (y - z)",
        "fx = number()",
        "fy = number()",
        "assume fx + d @ (y - x) + lam*Dx <= fy",
        "assume g @ (x - z) <= norm @ distance(x, z)",
        "bound fx - fy - (eta/2*(norm @ norm) + (d - g) @ (x - y) + (Dx - Dz)/eta - lam*Dx)",
    ]


def linear_mirror() -> Lines:
    """Mirror descent on linear losses of dual norm at most L, one of which is replaced, R passes of step eta, a map
    that is 1-strongly convex in any norm: the symmetrised divergence of the ends, <∇h(x) − ∇h(z), x − z>."""
    return [
        *("h = convex_any(mu=1)", "x = point()", "z = point()", "moved = gradient(h, x) - gradient(h, z)"),
        "both = value(h, x) + value(h, z)",
        "assume moved @ (x - z) <= 2*eta*L*R*(unit @ distance(x, z))",
        "bound moved @ (x - z)",
    ]


def extension_bias() -> Lines:
    """f A-Lipschitz in any norm on a set of diameter D; y attains f_C(w) = inf f(y) + C‖w − y‖, C <= A: f(w) −
    f_C(w)."""
    return [
        *("f = convex_any(L=A)", "w = point()", "y = point()"),
        "assume unit @ distance(w, y) <= D",
        "bound value(f, w) - value(f, y) - C*(unit @ distance(w, y))",
    ]


def centred_score() -> Lines:
    """The mean of m C-Lipschitz losses at u less that at u_0, ‖u − u_0‖ <= R in any norm; one loss is replaced:
    movement."""
    return [
        *("h = convex_any(L=C)", "k = convex_any(L=C)", "u = point()", "u0 = point()"),
        "assume unit @ distance(u, u0) <= R",
        "bound (value(h, u) - value(h, u0) - value(k, u) + value(k, u0))/m",
    ]


def excess_by_extension() -> Lines:
    """F and its extension G <= F; v minimises F and u minimises G: F(w) − F(v) less [F(w) − G(w)] + [G(w) − G(u)]."""
    return [
        *("Fw = number()", "Fv = number()", "Gw = number()", "Gv = number()", "Gu = number()"),
        "assume Gv <= Fv",
        "assume Gu <= Gv",
        "bound Fw - Fv - (Fw - Gw) - (Gw - Gu)",
    ]


def _stepped(step: str, projected: bool) -> str:
    return f"project(K, {step})" if projected else step


# -- one step, from which every number of steps follows ----------------------------------------------------------------


def apart_step() -> Lines:
    """A projected subgradient step of size eta on one convex loss, answers at most L long, from two points of the set:
    by how much the squared distance grows."""
    return [
        *("f = convex(L=L)", "K = region()", "w = inside(K, vector())", "v = inside(K, vector())"),
        *(f"{x}1 = project(K, {x} - eta*gradient(f, {x}))" for x in "wv"),
        "bound (w1 - v1) @ (w1 - v1) - (w - v) @ (w - v)",
    ]


def contraction_step() -> Lines:
    """A projected gradient step of size eta on f + (lam/2)‖·‖², f convex and H-smooth, from points at distance at most
    r: the squared distance afterwards."""
    return [
        *("f = convex(s=1/H)", "K = region()", "w = inside(K, vector())", "v = inside(K, zero)"),
        "assume (w - v) @ (w - v) <= r*r",
        *(f"{x}1 = project(K, (1 - eta*lam)*{x} - eta*gradient(f, {x}))" for x in "wv"),
        "bound (w1 - v1) @ (w1 - v1)",
    ]


def regularised_step() -> Lines:
    """A projected step of size eta on the mean of n convex H-smooth, L-Lipschitz losses plus (lam/2)‖·‖², one loss of
    which is replaced, from points at distance at most r: the squared distance afterwards."""
    return [
        *("f = convex(s=1/H)", "K = region()", "w = inside(K, vector())", "v = inside(K, zero)"),
        *("h = vector()", "k = vector()", "assume h @ h <= L*L", "assume k @ k <= L*L"),
        "assume (w - v) @ (w - v) <= r*r",
        *(
            f"{x}1 = project(K, (1 - eta*lam)*{x} - eta*((n - 1)/n*gradient(f, {x}) + {own}/n))"
            for x, own in (("w", "h"), ("v", "k"))
        ),
        "bound (w1 - v1) @ (w1 - v1)",
    ]


def replaced_step() -> Lines:
    """A projected step of size eta along any vectors of length at most L from points at distance at most r: the squared
    distance afterwards."""
    return [
        *("K = region()", "w = inside(K, vector())", "v = inside(K, zero)", "h = vector()", "k = vector()"),
        *("assume h @ h <= L*L", "assume k @ k <= L*L", "assume (w - v) @ (w - v) <= r*r"),
        *(f"{x}1 = project(K, {x} - eta*{own})" for x, own in (("w", "h"), ("v", "k"))),
        "bound (w1 - v1) @ (w1 - v1)",
    ]


def biased_step() -> Lines:
    """One such step of `biased` from w: ‖w⁺ − ŵ‖² less (1 − eta lam)‖w − ŵ‖²."""
    return [
        *("f = convex()", "K = region()", "best = zero", "start = vector()"),
        "at_best = inside(K, best, lam*start - gradient(f, best))",
        *("w = inside(K, vector())", "c = vector()", "b = c - gradient(f, w)"),
        *(
            "assume w @ w <= D*D",
            "assume (w - start) @ (w - start) <= D*D",
            "assume c @ c <= r*r",
            "assume b @ b <= B*B",
        ),
        "v = project(K, w - eta*(c + lam*(w - start)))",
        "bound v @ v - (1 - eta*lam)*(w @ w)",
    ]


def drift_step() -> Lines:
    """A projected step x − eta(g + lam(x − x_0)) along any ‖g‖ <= C from ‖x − x_0‖ <= r: ‖x⁺ − x_0‖²."""
    return [
        *("K = region()", "x0 = inside(K, zero)", "x = inside(K, vector())", "g = vector()"),
        *("assume g @ g <= C*C", "assume x @ x <= r*r", "x1 = project(K, (1 - eta*lam)*x - eta*g)", "bound x1 @ x1"),
    ]


def regret_step() -> Lines:
    """One mirror step over any convex set, the map 1-strongly convex in any norm, on any answer of dual norm at most L:
    <g, x − y> less (D(y, x) − D(y, x⁺))/eta."""
    return [
        *("h = convex_any(mu=1)", "K = region()", "y = inside(K, point())", "x = inside(K, point())"),
        *("g = point()", "q = point()", "z = inside(K, point(), q)", "dz = gradient(h, x) - eta*g - q"),
        "Dz = value(h, y) - subgradient(h, z, dz) - dz @ (y - z)",
        "assume g @ (x - z) <= L*(unit @ distance(x, z))",
        "bound g @ (x - y) - (value(h, y) - value(h, x) - gradient(h, x) @ (y - x) - Dz)/eta",
    ]


def smoothed(near: int) -> Lines:
    """The mean of a convex L-Lipschitz loss over some points, each within tau of x, less the loss at x: what averaging
    over a ball adds is no more, as that is so of any number of points."""
    lines = ["f = convex(L=L)", "x = vector()", "at_x = value(f, x)"]
    for i in range(near):
        lines += [f"u{i} = vector()", f"assume u{i} @ u{i} <= tau*tau", f"f{i} = value(f, x + u{i})"]
    return [*lines, f"bound ({' + '.join(f'f{i}' for i in range(near))})/{near} - at_x"]


def inexact_step() -> Lines:
    """A step of size eta in a convex set of diameter D, within xi of the projection, on any answer of length at most L:
    <g, x − y> less (‖x − y‖² − ‖x⁺ − y‖²)/(2 eta)."""
    return [
        *("K = region()", "y = inside(K, zero)", "x = inside(K, vector())", "g = vector()", "e = vector()"),
        *("assume g @ g <= L*L", "assume e @ e <= xi*xi", "p = project(K, x - eta*g)", "assume p @ p <= D*D"),
        *("z = p + e", "bound g @ x - (x @ x - z @ z)/(2*eta)"),
    ]
