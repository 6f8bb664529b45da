"""Verifiers of `tsybakov` about clipped descent: how far it moves, and what that does to the privacy of Algorithm 3.

All lengths below are in units of the first clip level C_1, and losses have smoothness 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from mpmath import matrix, mp, mpf, workdps

from dpcheck.witnesses import Violation

Rational = int | str
DIGITS = 50


def exact(name: str, value: Rational, *, most: Rational | None = None) -> Fraction:
    """The parameter as a fraction in (0, most]."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(f"{name} must be an integer or a string such as '1/3', got {value!r}")
    number = Fraction(value)
    if number <= 0 or (most is not None and number > Fraction(most)):
        raise ValueError(f"{name} must lie in (0, {'inf' if most is None else most}], got {value}")
    return number


def count(name: str, value: int, least: int = 1) -> int:
    """The parameter as an integer that is not below `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}")
    return value


def real(value: Fraction | int) -> mpf:
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
    conditioning, size, pull = exact("a", a, most=1), count("n", n, 4), exact("K", K)
    if pull < 1 or size % 2:
        raise ValueError(f"needs K >= 1, so that gradients at 0 are clipped, and an even n, got {K}, {n}")
    weight, step, number = exact("lambda_", lambda_), exact("eta", eta, most=1), count("steps", steps)
    with workdps(DIGITS):
        length, error = _descended(real(conditioning), size, real(pull), real(weight), real(step), number)
        found, claimed = 2 * (length - error), 2 / (size * real(weight))
    return Violation(
        claimed=claimed,
        found=found,
        statement="replacing one record of n moves clipped descent by at most 2C/(n lambda)",
        violated=bool(found > claimed),
        label="tsybakov/rem-2",
        at={"eta": step, "H": 1},
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
    budget, failure = exact("epsilon", epsilon), exact("delta", delta, most="99/100")
    with workdps(DIGITS):
        sigma = 8 * mp.sqrt(mp.log(1 / real(failure))) / (n * real(Fraction(lambda_)) * real(budget))
        found, claimed = gaussian_delta(real(budget), moved / sigma), real(failure)
    return Violation(
        claimed=claimed,
        found=found,
        statement="a phase with noise for 2C/(n lambda) is (epsilon, delta)-DP",
        violated=bool(found > claimed),
        label="tsybakov/rem-2",
        at={"eta": exact("eta", eta, most=1), "H": 1},
    )


@dataclass(frozen=True)
class _Plan:
    """Algorithm 3 as printed, k = 2, d = 2, every moment of every batch 1; lengths in units of C_1.

    The unit of length of an instance is as large as the Lipschitz condition of Theorem 1 allows: L_f is at most 19/20
    of its right side. λ_1 = C_1/(n_1 unit), which the step η_1 = 1/(λ_1 n_1^(2p)) gives.

    Attributes:
        weight: λ_1; `pull`: K; `unit`: in units of C_1; `steps`: T_1.
        variance: of all noise together; `drift`: how far phases 2, 3, ... move together at most, C_j/λ_j each.
        at: the symbols of Theorem 1's assumptions.
    """

    first: int
    weight: mpf
    pull: mpf
    unit: mpf
    steps: int
    variance: mpf
    drift: mpf
    at: dict[str, Any]


def _planned(n: int, p: int, K_0: Fraction, far: mpf, epsilon: Fraction, delta: Fraction) -> _Plan:
    """The plan on a ball of radius `far` units, with K = K_0 units.

    Raises:
        ValueError: a hypothesis of Theorem 1 fails.
    """
    size, power = count("n", n, 8), count("p", p)
    if size & (size - 1):
        raise ValueError(f"n must be a power of two, got {n}")
    first, eps, logs = size // 2, real(epsilon), mp.log(1 / real(delta))
    if eps > mp.sqrt(logs):
        raise ValueError("Theorem 1 speaks of epsilon <= sqrt(log(1/delta)) only")
    share, average = eps * size / mp.sqrt(2 * logs * mp.log(size)), mp.sqrt(1 - mpf(1) / size)
    level, most = mp.sqrt(share / 2), mpf(size) ** (mpf(power) / 2) * average * (1 / mp.sqrt(size) + 1 / mp.sqrt(share))
    unit = mpf(19) / 20 * most / (far + real(K_0) + 1) / level
    weight, inverse = 1 / (first * unit), mpf(first) ** (2 * power)
    eta, pull = 1 / (weight * inverse), real(K_0) * unit
    steepest = (far * unit + pull + 1) * level
    if steepest > most or pull < 1 or eta > 1:
        raise ValueError(
            f"needs L_f <= {mp.nstr(most, 6)}, K >= C_1 and eta_1 <= 1, got {mp.nstr(steepest, 6)}, "
            f"{mp.nstr(pull, 6)} C_1 and {mp.nstr(eta, 6)}; take a larger p"
        )
    variance, drift = mpf(0), mpf(0)
    for j in range(1, size.bit_length()):
        records, clip = mpf(size) / 2**j, mpf(2) ** (-mpf(j - 1) / 2)
        reach = clip * eta * mpf(4) ** (1 - j) * records ** (2 * power if j == 1 else power)
        variance += (8 * mp.sqrt(logs) * reach / (records * eps)) ** 2
        drift += 0 if j == 1 else reach
    at = {
        "n": size, "p": power, "k": 2, "d": 2, "epsilon": epsilon, "delta": delta, "beta": Fraction(1, size),
        "L": steepest, "R_2k": average, "eta": 4 * eta, "H": 1, "D": 2 * far * unit * level,
    }  # fmt: skip
    return _Plan(first, weight, pull, unit, int(mp.ceil(2 * inverse * mp.log(4 * inverse))), variance, drift, at)


def _turning_point(plan: _Plan, a: float, odd: float) -> tuple[float, float]:
    """Two angles around that of the clipped gradient of f where phase 1 comes to rest; doubles locate it well enough.

    The step is 0 at one point only; at other zeros of the cross product the gradient points the other way.
    """
    across, scale, K = math.sqrt(a / (1 + a)), float(1 / plan.weight), float(plan.pull)
    u = (math.sqrt(1 - across**2), across)

    def products(angle: float) -> tuple[float, float]:
        c, s, far = math.cos(angle), math.sin(angle), (1 - 1 / plan.first + odd) * scale
        x, y = far * u[0] - (1 - odd) * scale * c, far * u[1] - (1 - odd) * scale * s
        g = (x + K * u[0], a * y + K * u[1])
        return g[1] * c - g[0] * s, g[0] * c + g[1] * s

    # The gradient turns over angles of the order of λ_1K = K_0/n_1.
    fine = 16 * plan.first
    angles = (math.atan2(u[1], u[0]) + i / fine for i in range(-fine // 2, fine // 2 + 1))
    for low, high in pairwise(angles):
        if products(low)[0] * products(high)[0] <= 0 and products(low)[1] > 0:
            return low, high
    raise ValueError("no point was found at which the first phase comes to rest; take a larger a or K_0")


def _reversed_pair(plan: _Plan, a: mpf) -> tuple[matrix, matrix, mpf]:
    """Where phase 1 of `thm_1_reversed` ends without and with the reversed record, and a bound on the errors."""
    across, weight, K = mp.sqrt(a / (1 + a)), plan.weight, plan.pull
    u, curve = matrix([mp.sqrt(1 - across**2), across]), mp.diag([1, a])
    start = (1 - mpf(1) / plan.first) / weight * u
    shrunk = (1 - mpf(1) / (plan.at["n"] / 2) ** (2 * plan.at["p"])) ** plan.steps  # a step contracts by 1 - η_1λ_1
    ends, worst = [], mpf(0)
    for odd in (mpf(0), mpf(1) / plan.first):

        def end_at(angle: mpf, odd: mpf = odd) -> matrix:
            """Where the step is 0, if the clipped gradient of f has that angle."""
            return start - ((1 - odd) * matrix([mp.cos(angle), mp.sin(angle)]) - odd * u) / weight

        def across_it(angle: mpf, end_at: Callable[[mpf], matrix] = end_at) -> mpf:
            g = curve * end_at(angle) + K * u
            return g[1] * mp.cos(angle) - g[0] * mp.sin(angle)

        near = _turning_point(plan, float(a), float(odd))
        end = end_at(mp.findroot(across_it, near, solver="illinois", maxsteps=500))
        g = curve * end + K * u
        left = (1 - odd) * g * min(mpf(1), 1 / mp.norm(g)) - odd * u + weight * (end - start)
        # As in `_descended`: steps contract by 1 - ηλ in the norm |A^(1/2) w|.
        worst = max(worst, (mp.norm(left) / weight + shrunk * mp.norm(start - end)) / mp.sqrt(a))
        ends.append(end)
    return ends[0], ends[1], worst


def thm_1_reversed(
    a: Rational,
    K_0: Rational,
    n: int,
    p: int,
    epsilon: Rational,
    delta: Rational,
    threshold: Rational | None = None,
) -> Violation:
    """tsybakov/thm-1, privacy: the output of all of Algorithm 3 when one record's gradient is turned around.

    The start is w_0 = (1 - 1/n_1) n_1 u, in units of length (`_Plan`), and W a ball of radius 3 n_1 + 300 around 0. All
    losses are f = w^T A w/2 + K_0 <u, w>, A = diag(1, a), u as in `rem_2`; one record, in the neighbour, is -C_1 <u,
    w>.

    Args:
        threshold: None: records in order, the odd one first, and all losses after the first batch 0: the exact curve
            of the Gaussian output. Else records in random order: the odd one is in the first batch with probability
            1/2, and the outputs beyond that many deviations of the noise, in the direction in which phase 1 moves,
            are the event; phases after the first move them by their reach at most.
    """
    conditioning, constant = exact("a", a, most=1), exact("K_0", K_0)
    budget, failure = exact("epsilon", epsilon), exact("delta", delta, most="99/100")
    with workdps(DIGITS):
        room = 3 * mpf(count("n", n, 8)) / 2 + 300
        plan = _planned(n, p, constant, room, budget, failure)
        plain, turned, error = _reversed_pair(plan, real(conditioning))
        sigma, grown = mp.sqrt(plan.variance), mp.exp(real(budget))
        # Phase 1 stays within C_1/λ_1, n_1 units, of w_0; beyond the drift, noise has to be that long to be stopped.
        left = room * plan.unit - 2 / plan.weight - plan.drift
        felt = (n.bit_length() - 1) * mp.exp(-(left**2) / (2 * plan.variance))
        apart = (mp.norm(turned - plain) - 2 * error) / sigma
        if threshold is None:
            found = gaussian_delta(real(budget), apart)
        else:
            cut, away = real(exact("threshold", threshold)), (plan.drift + error) / sigma
            hit, missed, other = mp.ncdf(apart - away - cut), mp.ncdf(-away - cut), mp.ncdf(away - cut)
            found = (hit + missed) / 2 - grown * other
        found, claimed = found - (1 + grown) * felt, real(failure)
    return Violation(
        claimed=claimed,
        found=found,
        statement="the output of Algorithm 3 is (epsilon, delta)-DP: its divergence at epsilon is at most delta",
        violated=bool(found > claimed),
        label="tsybakov/thm-1",
        at=plan.at,
    )


def thm_1_in_order(
    a: Rational, K_0: Rational, n: int, p: int, far: int, epsilon: Rational, delta: Rational
) -> Violation:
    """tsybakov/thm-1, privacy: the output of all of Algorithm 3, records in order; delta at epsilon.

    W is the ball of radius `far` units of length (`_Plan`) around the start 0; the first batch is that of `rem_2` with
    K = K_0 units and a linear loss of slope C_1, all later losses are 0. `found` is the exact curve of the Gaussian
    output less the probability that a projection is felt.
    """
    conditioning, constant = exact("a", a, most=1), exact("K_0", K_0)
    budget, failure = exact("epsilon", epsilon), exact("delta", delta, most="99/100")
    with workdps(DIGITS):
        plan = _planned(n, p, constant, mpf(count("far", far)), budget, failure)
        length, error = _descended(
            real(conditioning), plan.first, plan.pull, plan.weight, plan.at["eta"] / 4, plan.steps
        )
        radius = far * plan.unit
        if length * (1 + 1 / mp.sqrt(real(conditioning))) >= radius:
            raise ValueError(f"the first phase might leave the ball of radius {far} units")
        # Steps and outputs stay inside the ball unless a two-dimensional Gaussian is that long.
        felt = (n.bit_length() - 1) * mp.exp(-((radius - length - error) ** 2) / (2 * plan.variance))
        curve = gaussian_delta(real(budget), 2 * (length - error) / mp.sqrt(plan.variance))
        found, claimed = curve - (1 + mp.exp(real(budget))) * felt, real(failure)
    return Violation(
        claimed=claimed,
        found=found,
        statement="the output of Algorithm 3 is (epsilon, delta)-DP: its divergence at epsilon is at most delta",
        violated=bool(found > claimed),
        label="tsybakov/thm-1",
        at=plan.at,
    )
