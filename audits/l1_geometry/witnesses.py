"""Verifiers for `l1_geometry`: each rebuilds a statement, or a step of a proof, and its violation from parameters.

Parameters are integers or strings of rationals ("1/3"); floats are refused. The algebra behind each verifier stands in
`bounds/l1_geometry.md` under the same item. Everything is recomputed with 50 digits, or in integers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction

from mpmath import mp, mpf, quad, workdps

from dpcheck.witnesses import Violation
from dpcheck.witnesses.numbers import DIGITS, Rational, count, exact, real

__all__ = [
    "alg_2_steps",
    "fact_gauss_max",
    "lem_3_2",
    "lem_3_2_function",
    "lem_4_1_fixed",
    "lem_4_1_random",
    "thm_4_gradients",
    "thm_6_fixed",
    "thm_8_rate",
    "thm_9_rate",
    "thm_12_step",
]

SCALE = 2**200
"""One, for probabilities that are kept as integers."""


def _root(value: Fraction) -> mpf:
    """The square root with more digits than hypotheses are compared with."""
    with workdps(DIGITS + 30):
        return mp.sqrt(real(value))


# Section 3 ----------------------------------------------------------------------------------------------------------


def lem_3_2(m: Rational, R: Rational, T: int, grid: int, lam: Rational = 1) -> Violation:
    """l1_geometry/lem-3-2 on the half-line: f = lam x^2/2 + m x on [0, R], h = x^2/2, gradients f' +- 1, x_1 = 0.

    Lower bound on the excess: the recursion is monotone in x, so every state may be rounded down to a grid; halved
    probabilities are integers rounded down, what is lost counting as x = 0. E f(avg) >= f(E avg) by Jensen.
    """
    slope, width, modulus = exact("m", m), exact("R", R), exact("lam", lam)
    steps, cells = count("T", T), count("grid", grid, 2)
    # x = i width/cells. One step: i -> floor(((k-1) i - 2 (m +- 1) cells/(lam width))/(k+1)), clipped to [0, cells].
    moves = [2 * (slope + sign) * cells / (modulus * width) for sign in (1, -1)]
    mass = [0] * (cells + 1)
    mass[0] = SCALE
    average, low, high = Fraction(0), 0, 0
    for k in range(1, steps + 1):
        mean = sum(i * mass[i] for i in range(low, high + 1))
        average += Fraction(2 * k * mean, steps * (steps + 1) * SCALE)
        after = [0] * (cells + 1)
        new_low, new_high = cells, 0
        jumps = [(move.numerator, move.denominator) for move in moves]
        for i in range(low, high + 1):
            half = mass[i] // 2
            if not half:
                continue
            for top, bottom in jumps:
                j = min(cells, max(0, ((k - 1) * i * bottom - top) // ((k + 1) * bottom)))
                after[j] += half
                new_low, new_high = min(new_low, j), max(new_high, j)
        mass, low, high = after, new_low, new_high
    point = average * width / cells
    value = modulus * point**2 / 2 + slope * point
    squared = (modulus * width + slope) ** 2 + 1
    claimed = squared / (modulus * (steps + 1))
    with workdps(DIGITS):
        return Violation(
            claimed=real(claimed),
            found=real(value),
            statement="E f(average weighted by k) - f* <= L^2/(lambda (T + 1))",
            violated=value > claimed,
            label="l1_geometry/lem-3-2",
            # E g^2 = (lam x + m)^2 + 1 is convex: largest at an end of [0, R].
            at={
                "T": steps, "lambda": modulus, "L": _root(squared),
                "g_2": max((modulus * x + slope) ** 2 for x in (0, width)) + 1,
            },
        )  # fmt: skip


def lem_3_2_function(L: Rational, lam: Rational, points: list[list[list[Rational]]]) -> Violation:
    """l1_geometry/lem-3-2 on R^d, h = |x|_2^2/2, exact gradients: points, slopes and values at the minimiser, at the
    iterates and at their mean. By interpolation some convex function has these, of modulus lam.
    """
    steps, slope, modulus = count("T", len(points) - 2), exact("L", L), exact("lam", lam)
    rows = [[tuple(exact("a coordinate", c, above=None) for c in part) for part in point] for point in points]
    size = max(len(part) for point in rows for part in point)
    x, g, values = zip(*((_padded(x, size), _padded(g, size), f) for x, g, (f,) in rows), strict=True)
    if any(g[0]):
        raise ValueError("the first point is the minimiser, whose slope is 0")
    for i, j in itertools.permutations(range(steps + 2), 2):
        way = [a - b for a, b in zip(x[j], x[i], strict=True)]
        if values[j] < values[i] + _product(g[i], way) + modulus / 2 * _product(way, way):
            raise ValueError(f"no function of that modulus has the points {i} and {j}")
    for k in range(1, steps):
        step = Fraction(2) / (modulus * (k + 1))
        if any(b != a - step * c for a, b, c in zip(x[k], x[k + 1], g[k], strict=True)):
            raise ValueError(f"iterate {k} is not followed by its step")
    weights = [Fraction(2 * k, steps * (steps + 1)) for k in range(1, steps + 1)]
    if any(_product(weights, list(column)) != last for *column, last in zip(*x[1:], strict=True)):
        raise ValueError("the last point is not the mean weighted by k")
    claimed = slope**2 / (modulus * (steps + 1))
    with workdps(DIGITS):
        return Violation(
            claimed=real(claimed),
            found=real(values[-1] - values[0]),
            statement="f(average weighted by k) - f* <= L^2/(lambda (T + 1))",
            violated=values[-1] - values[0] > claimed,
            label="l1_geometry/lem-3-2",
            at={"T": steps, "g_2": max(_product(each, each) for each in g[1:-1]), "L": slope},
        )


def _padded(row: tuple[Fraction, ...], size: int) -> tuple[Fraction, ...]:
    return row + (Fraction(0),) * (size - len(row))


def _product(left: Iterable[Fraction], right: Iterable[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def fact_gauss_max(d: int, sigma: Rational = 1) -> Violation:
    """l1_geometry/fact-gauss-max@literal: E max zeta_j^2 against 2 sigma^2 log d (natural)."""
    size, squared = count("d", d), exact("sigma", sigma) ** 2
    with workdps(DIGITS):
        value = quad(lambda u: 1 - (1 - mp.erfc(mp.sqrt(u / 2))) ** size, [0, 1, 4, 16, 64, 256]) * real(squared)
        claimed = 2 * real(squared) * mp.log(size)
        return Violation(
            claimed=claimed,
            found=value,
            statement="E max zeta_j^2 <= 2 sigma^2 log d",
            violated=bool(value > claimed),
            label="l1_geometry/fact-gauss-max@literal",
            at={"d": size, "sigma": exact("sigma", sigma)},
        )


def alg_2_steps(n: int, d: int, epsilon: Rational) -> Violation:
    """l1_geometry/alg-2@literal: steps of the last of the ceil(log2 n) phases."""
    size, dimension, budget = count("n", n, 2), count("d", d, 2), exact("epsilon", epsilon, most=1)
    last = (size - 1).bit_length()
    with workdps(DIGITS):
        records = mpf(size) / 2**last
        squared = max(records / mp.log(dimension, 2), dimension * 2**last / real(budget))
        value = records**2 / squared
        return Violation(
            claimed=mpf(1),
            found=value,
            statement="every phase makes at least one step",
            violated=bool(value < 1),
            label="l1_geometry/alg-2@literal",
            at={"n": size, "d": dimension, "epsilon": budget},
        )


def thm_4_gradients(n: int, d: int, epsilon: Rational, constant: Rational) -> Violation:
    """l1_geometry/thm-4@literal with a given hidden constant and base-2 logarithms, which make it larger: the first
    phase alone makes T_1 = n_1^2/b_1^2 steps of b_1 gradients, n_1 = n/2, b_1^2 = max(n_1/log d, 2d/eps).
    """
    size, dimension = count("n", n, 2), count("d", d, 2)
    budget, factor = exact("epsilon", epsilon, most=1), exact("constant", constant)
    with workdps(DIGITS):
        log_d, records = mp.log(dimension, 2), mpf(size) / 2
        batch = mp.sqrt(max(records / log_d, 2 * dimension / real(budget)))
        value = records**2 / batch
        least = min(mpf(size) ** mpf("1.5") * mp.sqrt(log_d), mpf(size) ** 2 * real(budget) / mp.sqrt(dimension))
        claimed = real(factor) * mp.log(size, 2) * least
        return Violation(
            claimed=claimed,
            found=value,
            statement="gradients <= constant log n min(n^(3/2) sqrt(log d), n^2 epsilon/sqrt d)",
            violated=bool(value > claimed),
            label="l1_geometry/thm-4@literal",
            at={"n": size, "d": dimension, "epsilon": budget, "n_1": records, "b_1": batch},
        )


# Section 4 ----------------------------------------------------------------------------------------------------------


def _wins(scores: list[mpf], place: int, scale: mpf) -> mpf:
    """Probability that the score at `place` is the least after Laplace noise of that scale on each."""
    points = [s / scale for s in scores]
    mine = points[place]
    others = [s for i, s in enumerate(points) if i != place]

    def survival(y: mpf) -> mpf:
        return mp.exp(-y) / 2 if y > 0 else 1 - mp.exp(y) / 2

    def density(x: mpf) -> mpf:
        value = mp.exp(-abs(x - mine)) / 2
        for s in others:
            value *= survival(x - s)
        return value

    edges = sorted(set(points))
    pieces: list[mpf] = [edges[0] - 80, edges[0] - 10]
    for left, right in itertools.pairwise(edges):
        parts = max(1, int((right - left) / 6) + 1)
        pieces += [left + (right - left) * i / parts for i in range(parts)]
    return quad(density, [*pieces, edges[-1], edges[-1] + 10, edges[-1] + 80])


def _cross(v: tuple[mpf, mpf]) -> list[mpf]:
    """Scores <c, v> of the vertices e_1, e_2, -e_1, -e_2."""
    return [v[0], v[1], -v[0], -v[1]]


def _second_leaf(b: int, scale: mpf, tilt: Fraction) -> mpf:
    """log-ratio of 'w_1 = e_2' between the two records of S_{1,1}, given w_0 = e_1: v = (0, tilt), (0, tilt + 8/b)."""
    low, high = mpf(0), real(tilt)
    near = _wins(_cross((low, high)), 1, scale)
    far = _wins(_cross((low, high + mpf(8) / b)), 1, scale)
    return mp.log(near / far)


def _of_plane_losses(tilt: Fraction) -> dict[str, Fraction]:
    """Largest |grad f|_inf and smoothness of <(-1, tilt), x> and (x_1 +- x_2)^2/2 on the unit cross-polytope, and its
    width: maxima of convex functions, so over its vertices.
    """
    corners = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    slopes = [Fraction(1), tilt, *(Fraction(abs(x + sign * y)) for x, y in corners for sign in (1, -1))]
    curves = [Fraction(abs(v * w)) for sign in (1, -1) for v, w in itertools.product((1, sign), repeat=2)]
    apart = [abs(x[0] - y[0]) + abs(x[1] - y[1]) for x in corners for y in corners]
    return {"g_inf": max(slopes), "H_f": max(curves), "width": Fraction(max(apart))}


def lem_4_1_fixed(b: int, epsilon: Rational, tilt: Rational) -> Violation:
    """l1_geometry/lem-4-1 with records allocated in advance: T = 1, d = 2, L = beta = 1, D = 2, lambda = 8/(b eps).

    The root set holds b linear losses <(-1, tilt), x>; S_{1,1} b/4 linear ones, b/8 times (x_1 + x_2)^2/2, b/8 - 1
    times (x_1 - x_2)^2/2, and the record, either of the two: all 1-Lipschitz and 1-smooth on X. Both data sets
    share everything but the law of w_1, where w_0 = e_1.
    """
    size, budget, slope = count("b", b, 8), exact("epsilon", epsilon, most=1), exact("tilt", tilt, most=1)
    if size % 8:
        raise ValueError(f"b must be a multiple of 8, got {b}")
    with workdps(DIGITS):
        value = _second_leaf(size, 8 / (size * real(budget)), slope)
        return Violation(
            claimed=real(budget),
            found=value,
            statement="the log-ratio of the output (1/3) e_1 + (2/3) e_2 is at most epsilon",
            violated=bool(value > real(budget)),
            label="l1_geometry/lem-4-1",
            at={"b": size, "epsilon": budget, "T": 1, "L": 1, "H": 1, "D": 2, **_of_plane_losses(slope)},
        )


def lem_4_1_random(b: int, epsilon: Rational) -> Violation:
    """l1_geometry/lem-4-1 with a uniformly random allocation of all n = 1.5 b records: T = 1, d = 2, L = 1, D = 2.

    f_F(x) = x_2 + psi(-0.7 x_1 - 2 x_2), psi'(u) = clip((u/0.7 + 1)/2, 0, 1), and f_G(x_1, x_2) = f_F(x_1, -x_2), from
    x_0 = (-1, 0). S' is n copies of F, S has one G. Event: w_0 = e_1, then w_1 = e_2.
    """
    size, budget = count("b", b, 2), exact("epsilon", epsilon, most=1)
    if size % 2:
        raise ValueError(f"b must be even, got {b}")
    with workdps(DIGITS):
        scale, root, step = 8 / (size * real(budget)), mpf(-7) / 10, mpf(2) / size

        def event(first: mpf, second: mpf) -> mpf:
            return _wins(_cross((root, first)), 0, scale) * _wins(_cross((mpf(0), second)), 1, scale)

        # grad f_F = (-0.7 s, 1 - 2 s) with s = psi' in [0, 1], and psi'' <= 1/1.4.
        largest = max(abs(part) for s in (0, 1) for part in (Fraction(-7, 10) * s, Fraction(1 - 2 * s)))
        curve = max(u * v for u in (Fraction(7, 10), Fraction(2)) for v in (Fraction(7, 10), Fraction(2))) / Fraction(
            14, 10
        )
        at = {"b": size, "epsilon": budget, "T": 1, "L": 1, "H": Fraction(20, 7), "D": 2, "width": 2}
        at |= {"g_inf": largest, "H_f": curve}
        plain = event(mpf(-1), mpf(1))
        mixed = (2 * event(-1 + step, 1 + step) + event(mpf(-1), 1 - 4 * step)) / 3
        logarithm = mp.log(mixed / plain)
        return Violation(
            claimed=real(budget),
            found=abs(logarithm),
            statement="the log-ratio of 'w_0 = e_1, w_1 = e_2' is at most epsilon",
            violated=bool(abs(logarithm) > real(budget)),
            label="l1_geometry/lem-4-1",
            at=at,
        )


def thm_6_fixed(n: int, tilt: Rational, epsilon: Rational = 1) -> Violation:
    """l1_geometry/thm-6@literal: its own parameters, record fixed in S_{1,1}; L = 1, beta = 1/epsilon, D = 2, d = 2.

    The losses are 1-smooth, and so beta-smooth. Base-2 logarithms, m = 4; n must make b = n/log(n)^2 and T = log(b)/2
    whole numbers. The event is x_K = (1 - w, w), w the weight of the second leaf; it is decoded uniquely, which is
    checked.
    """
    size, slope, budget = count("n", n, 4), exact("tilt", tilt, most=1), exact("epsilon", epsilon, most=1)
    log_n = size.bit_length() - 1
    if size != 2**log_n or size % log_n**2:
        raise ValueError(f"n must be a power of two and a multiple of log2(n)^2, got {n}")
    b = size // log_n**2
    T = (b.bit_length() - 1) // 2
    # bεβD/(L log2 m) = b, so that T = log2(b)/2.
    if b != 4**T or b % 8:
        raise ValueError(f"b = {b} is no power of four above 8")
    steps = [Fraction(2, 2 ** (t - 1) + leaf + 1) for t in range(1, T + 1) for leaf in range(2**t)]
    left, weights = Fraction(1), []
    for step in reversed(steps):
        weights.append(step * left)
        left *= 1 - step
    weights.reverse()
    second = weights[1]
    if not (weights[0] == second / 2 and min(weights[2:]) > second):
        raise ValueError("the second leaf is not decoded uniquely from the output")
    with workdps(DIGITS):
        value = _second_leaf(b, 8 / (b * real(budget)), slope)
        return Violation(
            claimed=real(budget),
            found=value,
            statement=f"the log-ratio of the output (1 - w, w) is at most epsilon = {budget}",
            violated=bool(value > real(budget)),
            label="l1_geometry/thm-6@literal",
            at={"n": size, "b": b, "T": T, "m": 4, "d": 2, "epsilon": budget, "L": 1, "H": 1 / budget, "D": 2},
        )


# Section 5 ----------------------------------------------------------------------------------------------------------


def _two_point(n: int) -> tuple[mpf, dict[str, mpf]]:
    """Least worst excess of any algorithm on the two-point family with R = L' = 1, lambda = 1/(8 sqrt n), and what the
    family is: its largest gradient entry, modulus and smoothness in l1, and the width of the unit cross-polytope.
    """
    size, gamma = mpf(n), 1 / (2 * mp.sqrt(n))
    weight = gamma / 4
    variation = mp.sqrt(size * gamma * mp.log((1 + gamma) / (1 - gamma)) / 2)
    # |z e_1 + 2 weight x|_inf is largest at a vertex; weight |v|_2^2 >= (weight/2) |v|_1^2 in the plane.
    steepest = max(abs(z + 2 * weight * x) for z in (1, -1) for x in (1, 0, -1))
    of = {"g_inf": steepest, "L": steepest, "modulus": weight, "lambda": weight, "H_f": 2 * weight, "H": 2 * weight}
    return (1 - variation) * (gamma - weight), {**of, "width": mpf(2), "D": mpf(2)}


def thm_8_rate(n: int, epsilon: Rational, delta: Rational, constant: Rational) -> Violation:
    """l1_geometry/thm-8@literal at d = 2 with a given hidden constant, against every algorithm on a two-point family.

    f = z x_1 + lambda |x|_2^2 on {|x|_1 <= 1}, z = +-1 with probability (1 +- gamma)/2, gamma = 1/(2 sqrt n), lambda =
    gamma/4. `found` bounds the worst of both excess risks from below, by Pinsker's inequality.
    """
    size, budget, leak = count("n", n, 4), exact("epsilon", epsilon, most=1), exact("delta", delta, most="1/2")
    factor = exact("constant", constant)
    with workdps(DIGITS):
        value, of = _two_point(size)
        log_d = mp.log(2)
        private = 2 * log_d**3 * mp.log(1 / real(leak)) / (size * real(budget)) ** 2
        claimed = real(factor) * of["L"] * of["D"] * (log_d / size + private)
        return Violation(
            claimed=claimed,
            found=value,
            statement="excess risk <= constant L D (log d/n + d log(d)^3 log(1/delta)/(n epsilon)^2)",
            violated=bool(value > claimed),
            label="l1_geometry/thm-8@literal",
            at={"n": size, "d": 2, "epsilon": budget, "delta": leak, **of},
        )


def thm_9_rate(n: int, epsilon: Rational, delta: Rational, constant: Rational) -> Violation:
    """l1_geometry/thm-9@literal on the same family, m = 4, beta = 2 lambda."""
    size, budget, leak = count("n", n, 4), exact("epsilon", epsilon, most=1), exact("delta", delta)
    factor = exact("constant", constant)
    with workdps(DIGITS):
        value, of = _two_point(size)
        log_n, log_m = mp.log(size), mp.log(4)
        private = (mp.log(1 / real(leak)) * log_m * log_n**2 / (size * real(budget))) ** (mpf(4) / 3)
        claimed = real(factor) * of["L"] * of["D"] * (mp.log(2) * log_n**2 / size + private)
        return Violation(
            claimed=claimed,
            found=value,
            statement="excess risk <= constant L D (log d log(n)^2/n + (log(1/delta) log m log(n)^2/(n eps))^(4/3))",
            violated=bool(value > claimed),
            label="l1_geometry/thm-9@literal",
            at={"n": size, "d": 2, "m": 4, "epsilon": budget, "delta": leak, **of},
        )


# Appendix B ---------------------------------------------------------------------------------------------------------


def thm_12_step(n: int, b: int, d: int, epsilon: Rational, delta: Rational, constant: Rational) -> Violation:
    """l1_geometry/thm-12@literal, p = 2: all records the loss g x_1 on the unit ball, h = |x|^2/2, x_0 = 0, L = 1.

    D^2 = D_h(x*, x_0) = 1/2, s^2 = L^2 + 4 d sigma^2 log d, eta = D/(s sqrt T), g = s/(D sqrt T). A projection onto the
    ball shrinks: by Minkowski's inequality the root of E <x_{k+1}, e_1>^2 is at most k eta g + sqrt(k) eta sigma.
    Averaged over the iterates, `found` bounds the excess g (1 + E <x_bar, e_1>) from below.
    """
    size, batch, dimension = count("n", n), count("b", b), count("d", d, 2)
    budget, leak = exact("epsilon", epsilon, most=1), exact("delta", delta, most="1/2")
    factor = exact("constant", constant)
    if size % batch:
        raise ValueError(f"b must divide n, got b = {b}, n = {n}")
    with workdps(DIGITS):
        root, reach = mpf(size) / batch, 1 / mp.sqrt(2)  # sqrt T, D
        logs = mp.log(1 / real(leak))
        sigma = 100 * mp.sqrt(logs) / (batch * real(budget))  # d^(1 - 2/q) = 1
        s = mp.sqrt(1 + 4 * dimension * sigma**2 * mp.log(dimension))
        eta, slope = reach / (s * root), s / (reach * root)
        moved = eta * slope * (root**2 - 1) / 2 + mpf(2) / 3 * root * eta * sigma
        value = slope * (1 - moved)
        rate = mpf(batch) / size + mp.sqrt(dimension * logs) / (size * real(budget))
        claimed = real(factor) * reach * rate
        at = {"n": size, "b": batch, "d": dimension, "epsilon": budget, "delta": leak, "L": 1, "g_q": slope}
        return Violation(
            claimed=claimed,
            found=value,
            statement="excess <= constant L D (b/n + sqrt(d log(1/delta))/(n epsilon)) at p = 2",
            violated=bool(value > claimed),
            label="l1_geometry/thm-12@literal",
            at={**at, "D": reach, "D_h": mpf(1) / 2},
        )
