"""Runs that hold in expectation: vectors are random, and a product of two stands for its expectation.

What is linear in products and values holds of expectations as soon as it holds surely, and the Gram matrix of random
vectors is positive semidefinite as well, so that a proof of `checker` speaks of every law too. Noise that is centred
whatever came before has no product with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from dpcheck.certificates import problems
from dpcheck.certificates.runs import Numbers, StatementRun, run

Lines = list[str]


def _apart(new: str, before: Iterable[str]) -> Lines:
    """The expectation of a product of centred noise and what came before it."""
    return [line for old in before for line in (f"assume {new} @ {old} <= 0", f"assume 0 <= {new} @ {old}")]


def accelerated(T: int, projected: bool, noisy: bool = True, biased: bool = False, strongly: bool = False) -> Lines:
    """T AC-SA steps, alpha_t = 2/(t + 1), gamma_t = 4 gamma/(t(t + 1)), on a convex H-smooth f, from a distance of at
    most D to its minimiser y (or, for a lam-strongly convex f, from an excess of at most `gap`), where a gradient is
    hidden by noise that is centred given the past, E‖noise‖² <= V, and has a bias of at most B where it is said, in a
    convex set of diameter D then: E f(x_T) − f(y)."""
    lines = ["f = convex(mu=lam, s=1/H)" if strongly else "f = convex(s=1/H)", "K = region()", "y = zero"]
    if projected:
        lines += ["least = value(f, y)", "minimal = inside(K, y, zero - gradient(f, y))", "x0 = inside(K, vector())"]
    else:
        lines += ["least = subgradient(f, y, zero)", "x0 = vector()"]
    lines += ["assume value(f, x0) - least <= gap" if strongly else "assume x0 @ x0 <= D*D", "best0 = x0"]
    for t in range(1, T + 1):
        old = f"{t - 1}/{t + 1}*best{t - 1}"
        lines += [f"middle{t} = {old} + 2/{t + 1}*x{t - 1}", f"g{t} = gradient(f, middle{t})"]
        answer = f"g{t}"
        if biased:
            lines += [f"b{t} = vector()", f"assume b{t} @ b{t} <= B*B"]
            answer += f" + b{t}"
        if noisy:
            lines += [f"e{t} = vector()", f"assume e{t} @ e{t} <= V", f"assume 0 <= e{t} @ x{t - 1}"]
            lines += _apart(f"e{t}", [f"b{t}"]) if biased else []
            answer += f" + e{t}"
        step = f"x{t - 1} - {t}/(2*gamma)*({answer})"
        lines.append(f"x{t} = project(K, {step})" if projected else f"x{t} = {step}")
        lines += [f"assume x{t} @ x{t} <= D*D"] if biased else []
        lines.append(f"best{t} = {old} + 2/{t + 1}*x{t}")
    return [*lines, f"bound value(f, best{T}) - least"]


def accelerated_step(biased: bool) -> Lines:
    """Step t of AC-SA as it is there, on noisy gradients that are biased where it is said, in a convex set: what it
    adds to t(t + 1)/2 times the excess over any y of the set plus gamma‖x_t − y‖²."""
    bias = ["b = vector()", "assume b @ b <= B*B", "assume z @ z <= D*D", "assume e @ b <= 0", "assume 0 <= e @ b"]
    return [
        *("f = convex(s=1/H)", "K = region()", "y = inside(K, zero)", "x = inside(K, vector())", "best = vector()"),
        *("middle = (t - 1)/(t + 1)*best + 2/(t + 1)*x", "g = gradient(f, middle)", *bias[:biased]),
        *("e = vector()", "assume e @ e <= V", "assume 0 <= e @ x"),
        f"z = project(K, x - t/(2*gamma)*(g + e{' + b' if biased else ''}))",
        *(bias[1:] if biased else ()),
        "after = (t - 1)/(t + 1)*best + 2/(t + 1)*z",
        "grown = t*(t + 1)/2*(value(f, after) - value(f, y)) - (t - 1)*t/2*(value(f, best) - value(f, y))",
        "bound grown + gamma*(z @ z) - gamma*(x @ x)",
    ]


def mirror(steps: Sequence[str], weights: Sequence[int], strongly: bool = False) -> Lines:
    """Mirror steps over any convex set, the map h 1-strongly convex in any norm, D_h(y, x_0) <= R, along gradients of
    dual norm at most L plus noise that is centred given the past, E‖noise‖_*² <= V: the weighted mean of <g_t, x_t −
    y>, which E f(weighted mean) − f(y) is at most; of <g_t, x_t − y> − lam D_h(y, x_t) for an f that is lam-strongly
    convex relative to h."""
    lines = ["h = convex_any(mu=1)", "K = region()", "y = inside(K, point())", "x0 = inside(K, point())"]
    lines += ["h0 = value(h, x0)", "d0 = gradient(h, x0)", "hy = value(h, y)"]
    if not strongly:
        lines.append("assume hy - h0 - d0 @ (y - x0) <= R")
    terms, total = [], sum(weights)
    for t, (step, weight) in enumerate(zip(steps, weights, strict=True)):
        u = t + 1
        lines += [f"a{t} = vector()", f"b{t} = vector()", f"assume a{t} @ a{t} <= L*L", f"assume b{t} @ b{t} <= V"]
        lines += [f"g{t} = point()", f"q{u} = point()", f"x{u} = inside(K, point(), q{u})"]
        lines += [f"d{u} = d{t} - {step}*g{t} - q{u}", f"h{u} = subgradient(h, x{u}, d{u})"]
        lines.append(f"assume g{t} @ (x{t} - x{u}) <= (a{t} + b{t}) @ distance(x{t}, x{u})")
        relative = f" - lam*(hy - h{t} - d{t} @ (y - x{t}))" if strongly else ""
        terms.append(f"{weight}/{total}*(g{t} @ (x{t} - y){relative})")
    return [*lines, "bound " + " + ".join(terms)]


def mirror_step() -> Lines:
    """One mirror step of size eta over any convex set, the map 1-strongly convex in any norm, along a gradient of dual
    norm at most L plus centred noise, E‖noise‖_*² <= V: <g, x − y> less (D(y, x) − D(y, x⁺))/eta."""
    return [
        *("h = convex_any(mu=1)", "K = region()", "y = inside(K, point())", "x = inside(K, point())"),
        *("g = point()", "q = point()", "z = inside(K, point(), q)", "dz = gradient(h, x) - eta*g - q"),
        "Dz = value(h, y) - subgradient(h, z, dz) - dz @ (y - z)",
        *("a = vector()", "b = vector()", "assume a @ a <= L*L", "assume b @ b <= V"),
        "assume g @ (x - z) <= (a + b) @ distance(x, z)",
        "bound g @ (x - y) - (value(h, y) - value(h, x) - gradient(h, x) @ (y - x) - Dz)/eta",
    ]


def regularised_mirror(T: int, alone: bool = False) -> Lines:
    """T steps over any convex set to the minimiser of <g_t + Z_t, u> + alpha Phi(u) + H D(u, w_t), g_t the gradient of
    a convex G that is H-smooth relative to Phi, Phi 1-strongly convex in any norm, Z_t centred given the past,
    E‖Z_t‖_*² <= V, from D(y, w_0) <= C: the mean of F(w_t) − F(y), weighted by (1 + alpha/(2H))^t, for F = G + alpha
    Phi. Where a step stands `alone`: F(w_1) − F(y) less H D(y, w_0) − (alpha + H) D(y, w_1)."""
    lines = ["Phi = convex_any(mu=1)", "K = region()", "y = inside(K, point())", "w0 = inside(K, point())"]
    lines += ["Py = value(Phi, y)", "P0 = value(Phi, w0)", "d0 = gradient(Phi, w0)", "Gy = number()", "G0 = number()"]
    lines.append("D0 = Py - P0 - d0 @ (y - w0)")
    lines += [] if alone else ["assume D0 <= C"]
    excess, total = [], "1"
    for t in range(1, T + 1):
        o = t - 1
        lines += [f"g{o} = point()", f"Z{o} = point()", f"n{o} = vector()", f"assume n{o} @ n{o} <= V"]
        for x, noise in (("v", ""), ("w", f" - Z{o}")):  # v is the step without noise, on which the noise has no say
            lines += [f"q{x}{t} = point()", f"{x}{t} = inside(K, point(), q{x}{t})"]
            lines.append(f"s{x}{t} = (H*d{o} - g{o}{noise} - q{x}{t})/(alpha + H)")
            lines.append(f"P{x}{t} = subgradient(Phi, {x}{t}, s{x}{t})")
        lines += [f"d{t} = sw{t}", f"P{t} = Pw{t}", f"G{t} = number()"]
        lines += [f"assume G{o} + g{o} @ (y - w{o}) <= Gy"]
        lines.append(f"assume G{t} <= G{o} + g{o} @ (w{t} - w{o}) + H*(P{t} - P{o} - d{o} @ (w{t} - w{o}))")
        lines.append(f"assume 0 <= Z{o} @ (v{t} - y)")
        lines.append(f"assume Z{o} @ (v{t} - w{t}) <= n{o} @ distance(v{t}, w{t})")
        lines += [f"E{t} = G{t} + alpha*P{t} - Gy - alpha*Py", f"D{t} = Py - P{t} - d{t} @ (y - w{t})"]
        excess.append("*".join(["(1 + alpha/(2*H))"] * o + [f"E{t}"]))
        total += "" if t == 1 else " + " + "*".join(["(1 + alpha/(2*H))"] * o)
    if alone:
        return [*lines, "bound E1 - H*D0 + (alpha + H)*D1"]
    return [*lines, f"bound ({' + '.join(excess)})/({total})"]


def phases(steps: Sequence[int], projected: bool) -> Lines:
    """Phases of T_i subgradient steps of size eta_i on fresh answers, E‖g‖² <= L², each from the mean of the iterates
    of the phase before plus noise, E‖noise‖² <= s_i², projected onto any closed convex set where it is said, from a
    distance of at most D to y: E F(last mean plus noise) − F(y) for an L-Lipschitz F."""
    lines = ["K = region()", "m0 = inside(K, zero)", "F0 = number()"]
    for i, T in enumerate(steps, start=1):
        start = "vector()" if i == 1 else f"m{i - 1} + e{i - 1}"
        where = ("inside" if i == 1 else "project") if projected else ""
        lines.append(f"x{i}_0 = {where}(K, {start})" if where else f"x{i}_0 = {start}")
        lines += ["assume x1_0 @ x1_0 <= D*D"] if i == 1 else []
        for t in range(T):
            lines += [f"g{i}_{t} = vector()", f"assume g{i}_{t} @ g{i}_{t} <= L*L"]
            step = f"x{i}_{t} - eta{i}*g{i}_{t}"
            lines.append(f"x{i}_{t + 1} = project(K, {step})" if projected else f"x{i}_{t + 1} = {step}")
        mean = " + ".join(f"1/{T}*x{i}_{t}" for t in range(T))
        lines.append(f"m{i} = inside(K, {mean})" if projected else f"m{i} = {mean}")
        regret = " + ".join(f"g{i}_{t} @ (x{i}_{t} - m{i - 1})" for t in range(T))
        lines += [f"F{i} = number()", f"assume {T}*(F{i} - F{i - 1}) <= {regret}"]
        lines += [f"e{i} = vector()", f"assume e{i} @ e{i} <= s{i}*s{i}"]
    last = len(steps)
    lines += ["slope = vector()", "assume slope @ slope <= L*L"]
    return [*lines, f"bound F{last} + slope @ e{last} - F0"]


def generalisation(weighed: bool = False) -> Lines:
    """In any norm and over any convex set: w and v minimise the mean of n L-Lipschitz losses plus psi >= 0,
    lam-strongly convex, on samples that differ in one loss, h or k; y is any point, of which psi(y) <= lam D²/2 where
    it is said. As v does not depend on h, E[h(v) − h(w)] is how much w generalises, and with the empirical excess of w
    it is E F(w) − F(y), less psi(y) where nothing is said of it."""
    lines = [
        "f = convex_any()",
        "psi = convex_any(mu=lam)",
        "h = convex_any(L=L)",
        "k = convex_any(L=L)",
        "K = region()",
    ]
    lines += ["y = inside(K, point())"]
    for x, own in (("w", "h"), ("v", "k")):
        lines += [f"q{x} = point()", f"{x} = inside(K, point(), q{x})"]
        lines.append(f"psi{x} = subgradient(psi, {x}, zero - gradient(f, {x}) - gradient({own}, {x})/n - q{x})")
    lines += ["assume 0 <= psiw", *(["assume value(psi, y) <= lam*D*D/2"] if weighed else [])]
    lines.append("kw = value(k, w)")
    empirical = "value(f, w) + value(h, w)/n - value(f, y) - value(h, y)/n"
    less = "" if weighed else " - value(psi, y)"
    return [*lines, f"bound value(h, v) - value(h, w) + {empirical}{less}"]


def clip_bias(k: int) -> Lines:
    """A number A >= 0 with E A^k <= r^k, on the event E that A > C: D times E(A − C)_+. The vectors are 1, A and A² on
    that event; a clipped vector's bias is at most E(‖z‖ − C)_+."""
    lines = ["u = vector()", "a = vector()", "assume u @ u <= 1"]
    if k == 4:
        lines += ["b = vector()", "assume a @ a <= u @ b", "assume u @ b <= a @ a", "assume b @ b <= r*r*r*r"]
    else:
        lines.append("assume a @ a <= r*r")
    return [*lines, "bound D*(u @ a) - D*C*(u @ u)"]


def clipped_variance(n: int) -> Lines:
    """The mean of n independent vectors with one mean m and second moments of at most r², plus independent centred
    noise of second moment d sigma²: its variance. Clipped vectors are no longer than they were."""
    lines = ["m = vector()"]
    for i in range(n):
        lines += [f"c{i} = vector()", f"assume (m + c{i}) @ (m + c{i}) <= r*r"]
        lines += _apart(f"c{i}", ["m", *(f"c{j}" for j in range(i))])
    lines += ["e = vector()", "assume e @ e <= d*sigma*sigma", *_apart("e", (f"c{i}" for i in range(n)))]
    moved = " + ".join(f"1/{n}*c{i}" for i in range(n)) + " + e"
    return [*lines, f"moved = {moved}", "bound moved @ moved"]


def subsets(N: int, K: int) -> Lines:
    """N vectors whose mean is zero and whose mean square is at most 1: the mean, over all sets of K of them, of ‖mean
    of the set‖²."""
    lines = [f"a{i} = vector()" for i in range(1, N)]
    lines.append("a0 = zero - (" + " + ".join(f"a{i}" for i in range(1, N)) + ")")
    lines.append("assume " + " + ".join(f"a{i} @ a{i}" for i in range(N)) + f" <= {N}")
    chosen = list(combinations(range(N), K))
    terms = []
    for n, subset in enumerate(chosen):
        lines.append(f"m{n} = " + " + ".join(f"1/{K}*a{i}" for i in subset))
        terms.append(f"1/{len(chosen)}*(m{n} @ m{n})")
    return [*lines, "bound " + " + ".join(terms)]


def minibatch(N: int, K: int) -> Lines:
    """N users' mean gradients of m independent records each, E‖record − mean‖² <= L²: E‖mean of K of them less the mean
    of all‖²."""
    lines = []
    for i in range(N):
        lines += [f"z{i} = vector()", f"assume z{i} @ z{i} <= L*L/m", *_apart(f"z{i}", (f"z{j}" for j in range(i)))]
    some, every = (" + ".join(f"z{i}/{size}" for i in range(size)) for size in (K, N))
    return [*lines, f"moved = {some} - ({every})", "bound moved @ moved"]


def linear_runs(T: int) -> Lines:
    """Two independent runs of T steps of size eta on linear losses, E‖z − Ez‖² <= L²: E‖mean of the iterates of one
    less that of the other‖²."""
    lines: Lines = []
    names: Lines = []
    terms: Lines = []
    for t in range(1, T):
        for x in "wv":
            name = f"{x}{t}"
            lines += [f"{name} = vector()", f"assume {name} @ {name} <= L*L", *_apart(name, names)]
            names.append(name)
        terms.append(f"{T - t}/{T}*eta*(w{t} - v{t})")
    return [*lines, "moved = " + " + ".join(terms), "bound moved @ moved"]


def linear_record() -> Lines:
    """A record that moves t of T iterates by eta times its deviation, at most L in the mean square: how far it moves
    their mean."""
    return ["z = vector()", "assume z @ z <= L*L", "moved = t/T*eta*z", "bound moved @ moved"]


def gradient_noises() -> Lines:
    """Two gradients and two mean gradients, none longer than L: ‖g − ∇F(x) − g' + ∇F(y)‖²."""
    lines = [line for v in "gGpP" for line in (f"{v} = vector()", f"assume {v} @ {v} <= L*L")]
    return [*lines, "moved = g - G - p + P", "bound moved @ moved"]


def rare_losses() -> Lines:
    """n equally likely convex L-Lipschitz losses, g and p two of them and f the mean of the others, F their mean:
    ‖∇g(x) − ∇F(x) − ∇p(y) + ∇F(y)‖²."""
    lines = ["f = convex(L=L)", "g = convex(L=L)", "p = convex(L=L)", "x = vector()", "y = vector()"]
    for at in "xy":
        mean = f"(n - 2)/n*gradient(f, {at}) + gradient(g, {at})/n + gradient(p, {at})/n"
        lines.append(f"mean{at} = {mean}")
    return [*lines, "moved = gradient(g, x) - meanx - gradient(p, y) + meany", "bound moved @ moved"]


# -- which statements these are ----------------------------------------------------------------------------------------

_SUMMED: Numbers = {"l": 2, "eta[1]": "1/2", "eta[2]": "1/3", "T[1]": 2, "T[2]": 3, "L": 1, "D": 2, "R": 10, "d": 4}


def _accelerated_noise() -> Iterator[StatementRun]:
    """E excess at upsilon = 2H."""
    for T, V, projected in ((1, 1, False), (1, 1, True), (2, "1/4", False), (3, 2, False)):
        numbers = {"H": 1, "D": 1, "V": str(Fraction(V) ** 2), "gamma": 2}
        at = {"T": T, "H": 1, "D": 1, "V": V}
        name = f"T = {T}, V = {V}" + (", projected" if projected else "")
        yield run(accelerated, name, {"T": T, "projected": projected}, numbers, at=at)


def _accelerated_weights() -> Iterator[StatementRun]:
    """gamma = max{2H, (Sigma/D)√(T(T + 1)(2T + 1)/12)}, at values where both are rational, and where 2H is larger."""
    for T, square, root, H in ((1, "1/2", "1/2", "1/8"), (2, "5/2", "5/2", 1), (3, "7/4", "7/2", 2)):
        gamma = max(2 * Fraction(H), Fraction(root))
        numbers = {"H": H, "D": 1, "V": square, "gamma": str(gamma)}
        at = {"T": T, "H": H, "D": 1, "Sigma": f"sqrt({square})"}
        yield run(accelerated, f"T = {T}, Sigma² = {square}", {"T": T, "projected": False}, numbers, at=at)


def _accelerated_clipped() -> Iterator[StatementRun]:
    """At gamma = 2H, Sigma² = d sigma² + T r²/n and a bias of r²/C, in a set of diameter D."""
    for T, d, r in ((1, 1, 1), (2, 2, 2)):
        square = Fraction(d, 4) + Fraction(T * r * r, 4)
        numbers = {"H": 2, "D": 1, "V": str(square), "gamma": 4, "B": str(Fraction(r * r, 4))}
        at = {"T": T, "H": 2, "D": 1, "d": d, "sigma": "1/2", "r_k": r, "k": 2, "n": 4, "C": 4}
        yield run(accelerated, f"T = {T}, k = 2", {"T": T, "projected": False, "biased": True}, numbers, at=at)


def _accelerated_placed() -> Iterator[StatementRun]:
    """At gamma = 2H, Sigma² = d sigma² + 2T r²/n and a bias of r²/C + r/√n, in a set of diameter D."""
    for T, d, r in ((1, 6, 1), (2, 6, 1), (3, 4, 2)):
        square = Fraction(d, 4) + Fraction(2 * T * r * r, 4)
        numbers = {"H": 4, "D": 1, "V": str(square), "gamma": 8, "B": str(Fraction(r * r, 4) + Fraction(r, 2))}
        at = {"T": T, "H": 4, "D": 1, "d": d, "sigma": "1/2", "r_k": r, "k": 2, "n": 4, "C": 4}
        yield run(accelerated, f"T = {T}, k = 2", {"T": T, "projected": False, "biased": True}, numbers, at=at)


def _noisy_mirror() -> Iterator[StatementRun]:
    for T, root, L, V, D in ((1, 1, 3, 16, 1), (4, 2, 4, 9, 2), (9, 3, 3, 16, 1)):
        eta = str(Fraction(D, root * 5))
        shape = {"steps": ["eta"] * T, "weights": [1] * T}
        at = {"T": T, "L": L, "V": V, "D_1": D}
        yield run(mirror, f"T = {T}, V = {V}", shape, {"eta": eta, "L": L, "V": V, "R": D * D}, at=at)


def _noisy_weighted() -> Iterator[StatementRun]:
    for T in (1, 2, 4):
        shape = {"steps": [f"2/(lam*{t + 2})" for t in range(T)], "weights": list(range(1, T + 1)), "strongly": True}
        at = {"T": T, "L": 1, "V": 2, "lambda": "1/2"}
        yield run(mirror, f"T = {T}, V = 2", shape, {"lam": "1/2", "L": 1, "V": 2}, at=at)


def _shifted(name: str, D: Any) -> Iterator[StatementRun]:
    """Half of the squared distance is the divergence; the distance is that of the noise, or at most D."""
    for T, eta, d, sigma in ((1, "1/2", 2, 1), (3, "1/4", 1, "3/2")):
        most = min(Fraction(d) * Fraction(sigma) ** 2, Fraction(D) ** 2)
        shape = {"steps": ["eta"] * T, "weights": [1] * T}
        at = {"T": T, "eta": eta, "L": 1, "d": d, "sigma": sigma, "D": D}
        yield run(problems.mirror, f"T = {T}, {name}", shape, {"eta": eta, "L": 1, "R": str(most / 2)}, at=at)


def _legs(projected: bool) -> Iterator[StatementRun]:
    for first, second in (("1/2", "1/4"), ("1", "1/8")):
        noises = {"s1": str(2 * Fraction(first)), "s2": str(2 * Fraction(second))}
        numbers = {"eta1": "1/2", "eta2": "1/3", "L": 1, "D": 2, **noises}
        at = {**_SUMMED, "sigma[1]": first, "sigma[2]": second}
        name = f"two phases, sigma = {first}, {second}"
        yield run(phases, name, {"steps": (2, 3), "projected": projected}, numbers, at=at)


def _generalising(at: Any, weighed: bool) -> Iterator[StatementRun]:
    for n, lam in ((2, "1"), (10, "1/10"), (100, "3/7")):
        yield run(
            generalisation,
            f"n = {n}, lam = {lam}",
            {"weighed": weighed},
            {"n": n, "lam": lam, "L": 1, **({"D": 2} if weighed else {})},
            at=at(n, Fraction(lam)),
        )


def _biases(moment: str, **at: Any) -> tuple[StatementRun, ...]:
    """For the second and the fourth moment."""
    return tuple(
        run(
            clip_bias,
            f"k = {k}",
            {"k": k},
            {"r": 2, "C": 3, "D": at.get("D", 1)},
            at={**at, "k": k, "C": 3, moment: 2},
        )
        for k in (2, 4)
    )


def _variance(T: int, moment: str) -> tuple[StatementRun, ...]:
    return tuple(
        run(
            clipped_variance,
            f"{n} records" + (f" a batch, T = {T}" if T > 1 else ""),
            {"n": n},
            {"r": 3, "d": 5, "sigma": "1/2"},
            at={"n": n * T, moment: 3, "d": 5, "sigma": "1/2", "T": T},
        )
        for n in (1, 3, 6)
    )


def _subsets(**fields: Any) -> tuple[StatementRun, ...]:
    return tuple(
        run(subsets, f"K = {K} of N = {N}", {"N": N, "K": K}, {}, at={"N": N, "K": K}, attained=True, **fields)
        for N, K in ((3, 1), (4, 2), (5, 3))
    )


EXPECTED: dict[str, tuple[StatementRun, ...]] = {
    "user_level/proc-ac-sa@derived": tuple(_accelerated_noise()),
    "tsybakov/fact-acsa@derived": tuple(_accelerated_weights()),
    "tsybakov/thm-6@derived": tuple(_accelerated_clipped()),
    "tsybakov/thm-6@placed": tuple(_accelerated_placed()),
    "user_level/proc-multistage-ac-sa": (
        run(
            accelerated,
            "T = 7 <= 1 + 4√(2H/lam), no noise",
            {"T": 7, "projected": False, "noisy": False, "strongly": True},
            {"H": 9, "lam": 8, "gamma": 18, "gap": 1},
            display="gap/2",
        ),
    ),
    "lp_spaces/thm-7@derived": tuple(
        run(
            regularised_mirror,
            f"T = {T}",
            {"T": T},
            {"H": 1, "alpha": "1/2", "C": 2, "V": "3/4"},
            at={"H": 1, "alpha": "1/2", "C": 2, "d": 3, "sigma": "1/2", "A": str(Fraction(5, 4) ** T)},
        )
        for T in (1, 2, 3)
    ),
    "user_level/fact-eq-7": tuple(_shifted("E‖noise‖² = d sigma²", 100)),
    "user_level/fact-eq-7@derived": (
        *_shifted("E‖noise‖² = d sigma²", 100),
        *_shifted("projected, D = 1", 1),
    ),
    "user_level/thm-b1@on-the-event": tuple(_legs(projected=False)),
    "user_level/proc-group-privacy@summed": tuple(_legs(projected=True)),
    "l1_geometry/thm-3@summed": tuple(_noisy_mirror()),
    "l1_geometry/thm-3@weighted": tuple(_noisy_weighted()),
    "l1_geometry/lem-3-4": tuple(
        _generalising(lambda n, lam: {"L": 1, "eta_i": str(1 / (n * lam))}, weighed=False),
    ),
    "user_level/fact-eq-15@derived": tuple(
        _generalising(lambda n, lam: {"L": 1, "lambda": str(lam), "N": n, "m": 1, "D": 2}, weighed=True),
    ),
    "pure_heavy_tails/lem-c-1@derived": _biases("G_k", D=3),
    "tsybakov/lem-7": _biases("r_k"),
    "tsybakov/lem-7@corrected": _biases("r_k"),
    "tsybakov/thm-8@derived": _biases("r_k"),
    "tsybakov/lem-7@variance": _variance(1, "r_2"),
    "tsybakov/claim-noise": _variance(4, "r_k"),
    "user_level/fact-eq-12@derived": _subsets(),
    "user_level/fact-eq-12@literal": _subsets(expected="refuted")[:2],
    "user_level/lem-3-5@derived": tuple(
        run(
            minibatch,
            f"K = {K} of N = {N}",
            {"N": N, "K": K},
            {"L": 2, "m": 3},
            at={"N": N, "K": K, "L": 2, "m": 3},
        )
        for N, K in ((2, 1), (4, 3), (6, 2))
    ),
    "user_level/lem-2-3@linear": tuple(
        run(linear_runs, f"T = {T}", {"T": T}, {"eta": "1/2", "L": 3}, at={"T": T, "eta": "1/2", "L": 3})
        for T in (2, 3, 6)
    ),
    "user_level/lem-b4@corrected": (run(gradient_noises, "L = 3", {}, {"L": 3}, at={"L": 3}, attained=True),),
    "user_level/lem-b4@literal": (
        run(rare_losses, "n = 10, L = 1", {}, {"n": 10, "L": 1}, attained=True, expected="refuted"),
    ),
}
"""Label -> what is certified of it in expectation."""
