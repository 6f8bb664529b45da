"""Verifiers for `tsybakov`: each rebuilds a statement, or a step of a proof, and its violation from parameters.

Parameters are integers or strings of rationals ("1/100"); floats are refused. The algebra behind each verifier stands
in `bounds/tsybakov.md` under the same item.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

from mpmath import matrix, mp, mpf, workdps

from dpcheck.witnesses import Violation

__all__ = [
    "alg_5_sizes",
    "alg_6_shuffled",
    "def_3",
    "fact_power_tnc",
    "fact_tnc_monotone",
    "lem_5",
    "lem_7",
    "rem_2",
    "rem_2_privacy",
    "thm_1_in_order",
    "thm_1_reversed",
    "thm_4_moment",
]

Rational = int | str
DIGITS = 50


def _exact(name: str, value: Rational, *, most: Rational | None = None) -> Fraction:
    """The parameter as a fraction in (0, most]."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(f"{name} must be an integer or a string such as '1/3', got {value!r}")
    number = Fraction(value)
    if number <= 0 or (most is not None and number > Fraction(most)):
        raise ValueError(f"{name} must lie in (0, {'inf' if most is None else most}], got {value}")
    return number


def _count(name: str, value: int, least: int = 1) -> int:
    """The parameter as an integer that is not below `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
    return value


def _real(value: Fraction | int) -> mpf:
    return mpf(value.numerator) / value.denominator


def gaussian_delta(epsilon: mpf, mu: mpf) -> mpf:
    """Exact privacy curve of Gaussian noise at sensitivity over deviation `mu`."""
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def _descended(a: mpf, n: int, K: mpf, weight: mpf, eta: mpf, steps: int) -> tuple[mpf, mpf]:
    """Length of the last iterate of clipped descent on a batch, and a bound on its error; C = 1, start 0, no domain.

    The batch: (n-2)/2 records each with gradient Aw + Ku and Aw - Ku, A = diag(1, a), one zero record, and one with the
    constant gradient e, |e| = 1. The batch with -e ends at the opposite point, by symmetry. In the coordinates A^(1/2)w
    the clipped gradients are gradients of convex functions, so steps contract there by 1 - eta weight.
    """
    if eta * (1 + 2 * weight) > 2:
        raise ValueError("the step must satisfy eta (1 + 2 lambda) <= 2")
    across = mp.sqrt(a / (1 + a))
    u = (mp.sqrt(1 - across**2), across)
    share = mpf(n - 2) / n
    # J = share/K (I - u u^T) A is the Jacobian of the clipped mean at 0, for K >= 1.
    jacobian = matrix(
        [
            [share / K * (1 - u[0] ** 2), -share / K * u[0] * u[1] * a],
            [-share / K * u[0] * u[1], share / K * (1 - u[1] ** 2) * a],
        ]
    )
    inverse = (weight * mp.eye(2) + jacobian) ** -1
    gram = inverse.T * inverse
    half = (gram[0, 0] - gram[1, 1]) / 2
    top = (gram[0, 0] + gram[1, 1]) / 2 + mp.sqrt(half**2 + gram[0, 1] ** 2)
    e = (gram[0, 1], top - gram[0, 0])
    size = mp.sqrt(e[0] ** 2 + e[1] ** 2)
    e = (e[0] / size, e[1] / size)

    def residual(x: mpf, y: mpf) -> list[mpf]:
        total = [weight * x + e[0] / n, weight * y + e[1] / n]
        for sign in (1, -1):
            g = (x + sign * K * u[0], a * y + sign * K * u[1])
            cut = share / 2 * min(mpf(1), 1 / mp.sqrt(g[0] ** 2 + g[1] ** 2))
            total = [total[0] + cut * g[0], total[1] + cut * g[1]]
        return total

    guess = -inverse * matrix([e[0] / n, e[1] / n])
    x, y = mp.findroot(residual, (guess[0], guess[1]), tol=mpf(10) ** (-60))
    left = residual(x, y)
    length = mp.sqrt(x**2 + y**2)
    # The fixed point is as near as the residual says, by the strong monotonicity in the norm above.
    error = (mp.sqrt(left[0] ** 2 + left[1] ** 2) / weight + (1 - eta * weight) ** steps * length) / mp.sqrt(a)
    return length, error


def rem_2(a: Rational, n: int, K: Rational, eta: Rational, lambda_: Rational, steps: int) -> Violation:
    """tsybakov/rem-2: the movement of clipped descent, against 2C/(n lambda), C = 1, losses of smoothness 1."""
    conditioning, size, pull = _exact("a", a, most=1), _count("n", n, 4), _exact("K", K)
    if pull < 1 or size % 2:
        raise ValueError(f"needs K >= 1, so that gradients at 0 are clipped, and an even n, got {K}, {n}")
    weight, count = _exact("lambda_", lambda_), _count("steps", steps)
    with workdps(DIGITS):
        length, error = _descended(
            _real(conditioning), size, _real(pull), _real(weight), _real(_exact("eta", eta, most=1)), count
        )
        found, claimed = 2 * (length - error), 2 / (size * _real(weight))
    return Violation(
        claimed=claimed,
        found=found,
        statement="replacing one record of n moves clipped descent by at most 2C/(n lambda)",
        violated=bool(found > claimed),
        label="tsybakov/rem-2",
    )


def rem_2_privacy(
    a: Rational,
    n: int,
    K: Rational,
    eta: Rational,
    lambda_: Rational,
    steps: int,
    epsilon: Rational,
    delta: Rational,
) -> Violation:
    """tsybakov/rem-2: delta at epsilon of one phase, whose noise 8C sqrt(log(1/delta))/(n lambda epsilon) trusts it."""
    moved = rem_2(a, n, K, eta, lambda_, steps).found
    budget, failure = _exact("epsilon", epsilon), _exact("delta", delta, most="99/100")
    with workdps(DIGITS):
        sigma = 8 * mp.sqrt(mp.log(1 / _real(failure))) / (n * _real(Fraction(lambda_)) * _real(budget))
        found, claimed = gaussian_delta(_real(budget), moved / sigma), _real(failure)
    return Violation(
        claimed=claimed,
        found=found,
        statement="a phase with noise for 2C/(n lambda) is (epsilon, delta)-DP",
        violated=bool(found > claimed),
        label="tsybakov/rem-2",
    )


def _phases(n: int, epsilon: mpf, delta: mpf) -> tuple[mpf, mpf]:
    """Variance of all noise of Algorithm 3, and how far phases 2, 3, ... move together at most: C_j/lambda_j each.

    p = 1, k = 2, eta = 4, C_j = 2^(-(j-1)/2): noise 8 C_j sqrt(log(1/delta))/(n_j lambda_j epsilon), 1/lambda_j =
    eta_j n_j, and eta_1 n_1^2 in the first phase.
    """
    variance, drift = mpf(0), mpf(0)
    for j in range(1, n.bit_length()):
        records, eta, level = mpf(n) / 2**j, mpf(4) / 4**j, mpf(2) ** (-mpf(j - 1) / 2)
        inverse = eta * records ** (2 if j == 1 else 1)
        variance += (8 * level * mp.sqrt(mp.log(1 / delta)) * inverse / (records * epsilon)) ** 2
        drift += 0 if j == 1 else level * inverse
    return variance, drift


def _turning_point(a: float, first: int, K: float, odd: float) -> tuple[float, float]:
    """Two angles around that of the clipped gradient of f where phase 1 comes to rest; doubles locate it well enough.

    The step is 0 at one point only; at other zeros of the cross product the gradient points the other way.
    """
    across, scale = math.sqrt(a / (1 + a)), float(first) ** 2
    u = (math.sqrt(1 - across**2), across)

    def products(angle: float) -> tuple[float, float]:
        c, s, far = math.cos(angle), math.sin(angle), (1 - 1 / first + odd) * scale
        x, y = far * u[0] - (1 - odd) * scale * c, far * u[1] - (1 - odd) * scale * s
        g = (x + K * u[0], a * y + K * u[1])
        return g[1] * c - g[0] * s, g[0] * c + g[1] * s

    # The gradient turns over angles of the order of K/n_1^2, K >= 1.
    fine = 16 * first
    angles = (math.atan2(u[1], u[0]) + i / fine for i in range(-fine // 2, fine // 2 + 1))
    for low, high in pairwise(angles):
        if products(low)[0] * products(high)[0] <= 0 and products(low)[1] > 0:
            return low, high
    raise ValueError("no point was found at which the first phase comes to rest; take a larger a or K_0")


def _reversed_pair(a: mpf, first: int, K: mpf) -> tuple[matrix, matrix, mpf]:
    """Where phase 1 of `thm_1_reversed` ends without and with the reversed record, and a bound on the errors."""
    across = mp.sqrt(a / (1 + a))
    u, weight, curve = matrix([mp.sqrt(1 - across**2), across]), mpf(1) / mpf(first) ** 2, mp.diag([1, a])
    start = (1 - mpf(1) / first) / weight * u
    # eta = 1, so a step contracts by 1 - lambda, and T = ceil(2 n_1^2 log(4 n_1^2)).
    shrunk = (1 - weight) ** int(mp.ceil(2 / weight * mp.log(4 / weight)))
    ends, worst = [], mpf(0)
    for odd in (mpf(0), mpf(1) / first):

        def end_at(angle: mpf, odd: mpf = odd) -> matrix:
            """Where the step is 0, if the clipped gradient of f has that angle."""
            return start - ((1 - odd) * matrix([mp.cos(angle), mp.sin(angle)]) - odd * u) / weight

        def across_it(angle: mpf, end_at: Callable[[mpf], matrix] = end_at) -> mpf:
            g = curve * end_at(angle) + K * u
            return g[1] * mp.cos(angle) - g[0] * mp.sin(angle)

        near = _turning_point(float(a), first, float(K), float(odd))
        end = end_at(mp.findroot(across_it, near, solver="illinois", maxsteps=500))
        g = curve * end + K * u
        left = (1 - odd) * g * min(mpf(1), 1 / mp.norm(g)) - odd * u + weight * (end - start)
        # As in `_descended`: steps contract by 1 - eta lambda in the norm |A^(1/2) w|.
        worst = max(worst, (mp.norm(left) / weight + shrunk * mp.norm(start - end)) / mp.sqrt(a))
        ends.append(end)
    return ends[0], ends[1], worst


def thm_1_reversed(
    a: Rational, K_0: Rational, n: int, epsilon: Rational, delta: Rational, threshold: Rational | None = None
) -> Violation:
    """tsybakov/thm-1, privacy: the output of all of Algorithm 3 when one record's gradient is turned around.

    The numbers of the run are those of `thm_1_in_order`, but the start is w_0 = (1 - 1/n_1) n_1^2 u and W a ball of
    radius 3 n_1^2 + 300 n_1 around 0. All losses are f = w^T A w/2 + K <u, w>, A = diag(1, a), K = K_0 n_1, u as in
    `rem_2`; one record, in the neighbour, is -<u, w>.

    Args:
        threshold: None: records in order, the odd one first, and all losses after the first batch 0: the exact curve
            of the Gaussian output. Else records in random order: the odd one is in the first batch with probability
            1/2, and the outputs beyond that many deviations of the noise, in the direction in which phase 1 moves,
            are the event; phases after the first move them by their reach at most.
    """
    conditioning, size, constant = _exact("a", a, most=1), _count("n", n, 8), _exact("K_0", K_0)
    if size & (size - 1):
        raise ValueError(f"n must be a power of two, got {n}")
    budget, failure = _exact("epsilon", epsilon), _exact("delta", delta, most="99/100")
    first = size // 2
    if constant * first < 1:
        raise ValueError("K_0 n/2 must be at least 1")
    with workdps(DIGITS):
        if _real(budget) > mp.sqrt(mp.log(1 / _real(failure))):
            raise ValueError("Theorem 1 speaks of epsilon <= sqrt(log(1/delta)) only")
        plain, turned, error = _reversed_pair(_real(conditioning), first, _real(constant * first))
        variance, drift = _phases(size, _real(budget), _real(failure))
        sigma, grown = mp.sqrt(variance), mp.exp(_real(budget))
        # Phase 1 stays within C_1/lambda_1 = n_1^2 of w_0; beyond the drift, noise has to be that long to be stopped.
        room = mpf(first) ** 2 + 300 * first - drift
        felt = (size.bit_length() - 1) * mp.exp(-(room**2) / (2 * variance))
        apart = (mp.norm(turned - plain) - 2 * error) / sigma
        if threshold is None:
            found = gaussian_delta(_real(budget), apart)
        else:
            cut, away = _real(_exact("threshold", threshold)), (drift + error) / sigma
            hit, missed, other = mp.ncdf(apart - away - cut), mp.ncdf(-away - cut), mp.ncdf(away - cut)
            found = (hit + missed) / 2 - grown * other
        found, claimed = found - (1 + grown) * felt, _real(failure)
    return Violation(
        claimed=claimed,
        found=found,
        statement="the output of Algorithm 3 is (epsilon, delta)-DP: its divergence at epsilon is at most delta",
        violated=bool(found > claimed),
        label="tsybakov/thm-1",
    )


def alg_6_shuffled(T: int, constant: Rational, epsilon: Rational, delta: Rational, threshold: Rational) -> Violation:
    """tsybakov/alg-6@literal: all gradients 0 but one ±C, T shuffled batches, noise variance constant C² T log/(nε)².

    In deviations of the noise the batch of the odd record has the mean ±h, h = epsilon sqrt(T/(constant log(1/delta))),
    and the event is that the largest batch mean exceeds the threshold.
    """
    batches, factor = _count("T", T), _exact("constant", constant)
    budget, failure = _exact("epsilon", epsilon), _exact("delta", delta, most="99/100")
    with workdps(DIGITS):
        h = _real(budget) * mp.sqrt(batches / (_real(factor) * mp.log(1 / _real(failure))))
        cut = _real(_exact("threshold", threshold))
        others = mp.ncdf(cut) ** (batches - 1)
        found = (1 - mp.ncdf(cut - h) * others) - mp.exp(_real(budget)) * (1 - mp.ncdf(cut + h) * others)
        claimed = _real(failure)
    return Violation(
        claimed=claimed,
        found=found,
        statement="shuffled batches with that noise are (epsilon, delta)-DP",
        violated=bool(found > claimed),
        label="tsybakov/alg-6@literal",
    )


def thm_1_in_order(a: Rational, K_0: Rational, n: int, epsilon: Rational, delta: Rational) -> Violation:
    """tsybakov/thm-1, privacy: the output of all of Algorithm 3, records in order; delta at epsilon.

    p = 1, k = 2, eta = 4 (so eta_1 = 1 = 1/smoothness), lambda_1 = n_1^-2, T_1 = ceil(2 n_1^2 log(4 n_1^2)), C_j =
    2^(-(j-1)/2), W the ball of radius 300 n_1 around the start 0; the first batch as in `rem_2` with K = K_0 n_1, all
    later losses 0. `found` is the exact curve of the Gaussian output less the probability that a projection is felt.
    """
    conditioning, size, constant = _exact("a", a, most=1), _count("n", n, 8), _exact("K_0", K_0)
    if size & (size - 1):
        raise ValueError(f"n must be a power of two, got {n}")
    budget, failure = _exact("epsilon", epsilon), _exact("delta", delta, most="99/100")
    first = size // 2
    if constant * first < 1:
        raise ValueError("K_0 n/2 must be at least 1")
    with workdps(DIGITS):
        logs = mp.log(1 / _real(failure))
        if _real(budget) > mp.sqrt(logs):
            raise ValueError("Theorem 1 speaks of epsilon <= sqrt(log(1/delta)) only")
        weight = 1 / mpf(first) ** 2
        steps = int(mp.ceil(2 * mpf(first) ** 2 * mp.log(4 * mpf(first) ** 2)))
        length, error = _descended(_real(conditioning), first, _real(constant * first), weight, mpf(1), steps)
        if length * (1 + 1 / mp.sqrt(_real(conditioning))) >= 300 * first:
            raise ValueError("the first phase might leave the ball of radius 300 n_1")
        variance, phases = _phases(size, _real(budget), _real(failure))[0], size.bit_length() - 1
        # Steps and outputs stay inside the ball unless a two-dimensional Gaussian is that long.
        felt = phases * mp.exp(-((300 * first - length - error) ** 2) / (2 * variance))
        curve = gaussian_delta(_real(budget), 2 * (length - error) / mp.sqrt(variance))
        found, claimed = curve - (1 + mp.exp(_real(budget))) * felt, _real(failure)
    return Violation(
        claimed=claimed,
        found=found,
        statement="the output of Algorithm 3 is (epsilon, delta)-DP: its divergence at epsilon is at most delta",
        violated=bool(found > claimed),
        label="tsybakov/thm-1",
    )


def lem_5(size: int, theta: int) -> Violation:
    """tsybakov/lem-5: Φ(t) = t^theta, vertices of a unit simplex, equal laws, and the centroid as the answer."""
    vertices, power = _count("size", size, 3), _count("theta", theta, 1)
    with workdps(DIGITS):
        found = mp.power(mpf(vertices - 1) / (2 * vertices), mpf(power) / 2)
        claimed = (1 - mp.log(2) / mp.log(vertices)) / 2
    return Violation(
        claimed=claimed,
        found=found,
        statement="the average risk is at least half of Φ at the least distance, times Fano's factor",
        violated=bool(found < claimed),
        label="tsybakov/lem-5",
    )


def thm_4_moment(k: int, p: Rational) -> Violation:
    """tsybakov/thm-4@literal: E sup |gradient|^k over r_k^k on the printed ball, atoms of probability p."""
    order, chance = _count("k", k, 2), _exact("p", p, most=1)
    # At an atom the supremum is 2|x|, at 0 it is the steepness of the power, |x|.
    ratio = chance * (1 / chance) + (1 - chance) * (1 / chance) / 2**order
    found, claimed = _real(ratio), mpf(1)
    return Violation(
        claimed=claimed,
        found=found,
        statement="the instance satisfies the moment bound of Assumption 1",
        violated=bool(ratio > 1),
        label="tsybakov/thm-4@literal",
    )


def fact_power_tnc(theta: int, t: Rational) -> Violation:
    """tsybakov/fact-power-tnc@literal: excess over distance^theta at w = -t w*, |w*| = 1."""
    power, place = _count("theta", theta, 2), _exact("t", t)
    ratio = ((place**power - 1) / power + place + 1) / (place + 1) ** power
    return Violation(
        claimed=mpf(1),
        found=_real(ratio),
        statement="the excess of the tilted power is at least the distance to the power theta",
        violated=ratio < 1,
        label="tsybakov/fact-power-tnc@literal",
    )


def fact_tnc_monotone(w: Rational, theta: int) -> Violation:
    """tsybakov/fact-tnc-monotone@literal: F = w^2, a (2, 1) condition, against |w|^theta."""
    place, power = _exact("w", w), _count("theta", theta, 3)
    return Violation(
        claimed=_real(place**power),
        found=_real(place**2),
        statement="the (2, 1) condition implies the (theta, 1) condition",
        violated=place**2 < place**power,
        label="tsybakov/fact-tnc-monotone@literal",
    )


def lem_7(s: int, C: Rational, k: int) -> Violation:
    """tsybakov/lem-7@literal: E|clipped mean - mean| of s fair signs, clipped at C, against 1/((k-1) C^(k-1))."""
    size, level, order = _count("s", s), _exact("C", C), _count("k", k, 2)
    total, term = Fraction(0), Fraction(1, 2**size)
    for ups in range(size + 1):
        total += term * abs(Fraction(2 * ups, size) - 1)
        term = term * (size - ups) / (ups + 1)
    found, claimed = total * min(level, Fraction(1)), 1 / ((order - 1) * level ** (order - 1))
    return Violation(
        claimed=_real(claimed),
        found=_real(found),
        statement="E|clipped mean - mean| is at most r^(k)/((k-1) C^(k-1))",
        violated=found > claimed,
        label="tsybakov/lem-7@literal",
    )


def alg_5_sizes(log_n: int, theta_bar: int) -> Violation:
    """tsybakov/alg-5@literal: records asked for at n = 2^log_n, as a share of n; base-2 logarithms."""
    logs, base = _count("log_n", log_n, 2), _count("theta_bar", theta_bar, 2)
    with workdps(DIGITS):
        exponent = mp.log(2) / mp.log(base)
        parts = int(mp.floor(exponent * mp.log(logs) / mp.log(2) + mpf(10) ** (-40)))
        found = (mpf(2) ** parts - 1) / mpf(logs) ** (exponent**2)
    return Violation(
        claimed=mpf(1),
        found=found,
        statement="the parts have at most n records together",
        violated=bool(found > 1),
        label="tsybakov/alg-5@literal",
    )


def def_3(epsilon: Rational, delta: Rational) -> Violation:
    """tsybakov/def-3@literal: the exact curve of the Gaussian mechanism at the printed noise."""
    budget, failure = _exact("epsilon", epsilon, most=1), _exact("delta", delta)
    if failure >= 1:
        raise ValueError(f"delta must be below 1, got {delta}")
    with workdps(DIGITS):
        mu = _real(budget) / (4 * mp.sqrt(mp.log(1 / _real(failure))))
        found, claimed = gaussian_delta(_real(budget), mu), _real(failure)
    return Violation(
        claimed=claimed,
        found=found,
        statement="Gaussian noise of deviation 4Δ sqrt(log(1/delta))/epsilon is (epsilon, delta)-DP",
        violated=bool(found > claimed),
        label="tsybakov/def-3@literal",
    )
