"""Verifiers for Section 4 of `tsybakov`: clipped descent, Algorithm 3 and those that call it.

First, how far clipped descent moves, and what that does to privacy; lengths are in units of the first clip level C_1,
and losses have smoothness 1. Then, where Algorithms 3, 4 and 5 end with the step sizes and weights as printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from mpmath import matrix, mp, mpf, workdps

from dpcheck.witnesses import Violation
from dpcheck.witnesses.numbers import DIGITS, Rational, count, exact, gaussian_delta, real

__all__ = [
    "rem_2", "rem_2_privacy", "thm_1_in_order", "thm_1_reversed", "thm_1_risk", "thm_2_risk", "thm_3_risk",
    "thm_10_risk", "thm_11_risk",
]  # fmt: skip


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
        value, claimed = 2 * (length - error), 2 / (size * real(weight))
    return Violation(
        claimed=claimed,
        found=value,
        statement="replacing one record of n moves clipped descent by at most 2C/(n lambda)",
        violated=bool(value > claimed),
        label="tsybakov/rem-2",
        at={"eta": step, "H": 1},
    )


def rem_2_privacy(
    a: Rational, n: int, K: Rational, eta: Rational, lambda_: Rational, steps: int, epsilon: Rational, delta: Rational
) -> Violation:
    """tsybakov/rem-2: delta at epsilon of one phase, whose noise 8C sqrt(log(1/delta))/(n lambda epsilon) trusts it."""
    moved = rem_2(a, n, K, eta, lambda_, steps).found
    budget, failure = exact("epsilon", epsilon), exact("delta", delta, most="99/100")
    with workdps(DIGITS):
        sigma = 8 * mp.sqrt(mp.log(1 / real(failure))) / (n * real(Fraction(lambda_)) * real(budget))
        value, claimed = gaussian_delta(real(budget), moved / sigma), real(failure)
    return Violation(
        claimed=claimed,
        found=value,
        statement="a phase with noise for 2C/(n lambda) is (epsilon, delta)-DP",
        violated=bool(value > claimed),
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
    a: Rational, K_0: Rational, n: int, p: int, epsilon: Rational, delta: Rational, threshold: Rational | None = None
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
            value = gaussian_delta(real(budget), apart)
        else:
            cut, away = real(exact("threshold", threshold)), (plan.drift + error) / sigma
            hit, missed, other = mp.ncdf(apart - away - cut), mp.ncdf(-away - cut), mp.ncdf(away - cut)
            value = (hit + missed) / 2 - grown * other
        value, claimed = value - (1 + grown) * felt, real(failure)
    return Violation(
        claimed=claimed,
        found=value,
        statement="the output of Algorithm 3 is (epsilon, delta)-DP: its divergence at epsilon is at most delta",
        violated=bool(value > claimed),
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
        value, claimed = curve - (1 + mp.exp(real(budget))) * felt, real(failure)
    return Violation(
        claimed=claimed,
        found=value,
        statement="the output of Algorithm 3 is (epsilon, delta)-DP: its divergence at epsilon is at most delta",
        violated=bool(value > claimed),
        label="tsybakov/thm-1",
        at=plan.at,
    )


# Risk ---------------------------------------------------------------------------------------------------------------
#
# d = 1, W = [-1, 1], losses f = -zw with z = 1 or -1, P(z = 1) = 3/4: smooth with every constant, L_f = 1, every moment
# of every batch is 1, and F(w) - F* = (1 - w)/2. Outputs are projected on W, else the domain of phase 2 is empty. Phase
# 1 of Algorithm 3 ends somewhere in W and adds noise of deviation sigma_1: with probability Φ(-2/sigma_1) at least the
# projected output is -1, whatever the data. Phase i >= 2 moves by min(C_i, 1)/lambda_i at most, and its noise is longer
# than ten deviations with probability 2Φ(-10) at most.

WIDTH, SLOPE, DEVIATIONS = 2, mpf(1) / 2, 10


@dataclass(frozen=True)
class _Setting:
    """n records, p, k, budget, beta = 1/n, and what the O-form is multiplied by: factor · (log n)^logs."""

    n: int
    p: int
    k: int
    epsilon: Fraction
    delta: Fraction
    factor: mpf

    @property
    def logs(self) -> mpf:
        """log(1/delta)."""
        return mp.log(1 / real(self.delta))

    @property
    def average(self) -> mpf:
        """R_{2k,n}, from floor(log2 n) halvings."""
        return mp.sqrt(1 - mpf(2) ** (1 - self.n.bit_length()))

    def tau(self, more: mpf) -> mpf:
        """n^(-1/2) + (sqrt(log(1/delta) more)/(epsilon n))^((k-1)/k)."""
        private = mp.sqrt(self.logs * more) / (real(self.epsilon) * self.n)
        return 1 / mp.sqrt(self.n) + private ** (mpf(self.k - 1) / self.k)

    @property
    def tail(self) -> mpf:
        """sqrt(log(1/beta))/(2^(p+1) sqrt n)."""
        return mp.sqrt(mp.log(self.n)) / (2 ** (self.p + 1) * mp.sqrt(self.n))

    def at(self, eta: mpf, **more: Any) -> dict[str, Any]:
        """The symbols of the assumptions."""
        return {
            "n": self.n, "p": self.p, "k": self.k, "d": 1, "epsilon": self.epsilon, "delta": self.delta,
            "beta": Fraction(1, self.n), "L": 1, "H": 0, "D": WIDTH, "R_2k": self.average, "eta": eta, **more,
        }  # fmt: skip


def _setting(n: int, p: int, k: int, epsilon: Rational, delta: Rational, factor: Rational, logs: int) -> _Setting:
    granted = real(exact("factor", factor)) * mp.log(n) ** count("logs", logs, 0)
    budget, failure = exact("epsilon", epsilon), exact("delta", delta, most="99/100")
    return _Setting(n, count("p", p), count("k", k, 2), budget, failure, granted)


def _step(setting: _Setting, radius: mpf, records: int, inside: mpf) -> mpf:
    """The printed step: radius/m^(p/2) times the least of the three caps at m records; `inside` of the second root."""
    p, m = mpf(setting.p), mpf(records)
    private = (real(setting.epsilon) * m / mp.sqrt(inside)) ** (mpf(setting.k - 1) / setting.k)
    tail = mp.sqrt(mp.log(m) * mp.log(setting.n))
    caps = (mpf(1), private / (setting.average * m ** ((p + 1) / 2)), 1 / (m ** ((p - 1) / 2) * tail))
    return radius / m ** (p / 2) * min(caps)


def _call(setting: _Setting, eta: mpf, records: int, first: int = 2) -> tuple[mpf, mpf, mpf]:
    """Algorithm 3 on so many records, lambda_1 = 1/(eta_1 n_1^(first p)), from the start -1 if first = 1.

    Returns:
        (probability that phase 1 ends at -1, or 1, how far phases move after that, all together, probability that the
        noise of one of them is longer than that).
    """
    moved, chance = mpf(0), mpf(1)
    for i in range(1, records.bit_length()):
        m, step = mpf(records) / 2**i, eta / mpf(4) ** i
        inverse = step * m ** (first * setting.p if i == 1 else setting.p)  # 1/lambda_i
        share = real(setting.epsilon) * m / mp.sqrt(setting.logs * mp.log(records))
        level = share ** (mpf(1) / setting.k)
        sigma = 8 * level * mp.sqrt(setting.logs) * inverse / (m * real(setting.epsilon))
        if i == 1 and first == 2:
            chance = mp.ncdf(-WIDTH / sigma)
        else:
            moved += min(level, mpf(1)) * inverse + DEVIATIONS * sigma
    return chance, moved, 2 * (records.bit_length() - 1) * mp.ncdf(-mpf(DEVIATIONS))


def _violation(label: str, setting: _Setting, order: mpf, eta: mpf, value: mpf, chance: mpf, **more: Any) -> Violation:
    claimed, beta = setting.factor * order, mpf(1) / setting.n
    at: Mapping[str, Any] = setting.at(eta, **more)
    return Violation(
        claimed=claimed,
        found=value,
        statement=(
            f"but for a probability of 1/n the excess risk is at most {mp.nstr(setting.factor, 6).removesuffix('.0')} "
            f"times the stated order; it is beyond what is found with probability {mp.nstr(chance, 6)}"
        ),
        violated=bool(value > claimed and chance > beta),
        label=label,
        at=at,
    )


def _convex(label: str, log_n: int, first: int, more: bool, rest: tuple[Any, ...]) -> Violation:
    if count("first", first) > 2:
        raise ValueError(f"first must be 2, as printed, or 1, got {first}")
    with workdps(DIGITS):
        setting = _setting(2 ** count("log_n", log_n, 3), *rest)
        inside = setting.logs * mp.log(setting.n)
        eta = _step(setting, mpf(WIDTH), setting.n, inside)
        chance, moved, long = _call(setting, eta, setting.n, first)
        order = setting.average * WIDTH * setting.tau(mp.log(setting.n) if more else mpf(1)) + WIDTH * setting.tail
        return _violation(label, setting, order, eta, SLOPE * (WIDTH - moved), chance - long)


def thm_1_risk(
    log_n: int, p: int, k: int, epsilon: Rational, delta: Rational, factor: Rational, logs: int = 0, first: int = 2
) -> Violation:
    """tsybakov/thm-1, risk: Algorithm 3 with the printed step at n = 2^log_n, against factor (log n)^logs · order.

    The step is that of the proof of Theorem 10, the only one that the paper prints for Theorem 1.

    Args:
        first: 2 for lambda_1 = 1/(eta_1 n_1^(2p)) as printed; 1 for the exponent p of the other phases, with which the
            printed step does not lead away from the start -1.
    """
    return _convex("tsybakov/thm-1", log_n, first, False, (p, k, epsilon, delta, factor, logs))


def thm_10_risk(
    log_n: int, p: int, k: int, epsilon: Rational, delta: Rational, factor: Rational, logs: int = 0, first: int = 2
) -> Violation:
    """tsybakov/thm-10: the same against the order that keeps its logarithm."""
    return _convex("tsybakov/thm-10", log_n, first, True, (p, k, epsilon, delta, factor, logs))


def _grown(setting: _Setting, error: mpf, theta: int) -> tuple[mpf, mpf]:
    """lambda^(-1/(theta-1)) error^(theta/(theta-1)), and lambda: (1 - w)/2 >= lambda (1 - w)^theta on [-1, 1]."""
    weight = SLOPE * mpf(WIDTH) ** (1 - theta)
    return weight ** (-mpf(1) / (theta - 1)) * error ** (mpf(theta) / (theta - 1)), weight


def _halving(label: str, log_part: int, theta: int, more: bool, rest: tuple[Any, ...]) -> Violation:
    power, part = count("theta", theta, 2), 2 ** count("log_part", log_part, 3)
    with workdps(DIGITS):

        def epochs(n: int) -> int:
            return int(mp.floor(mp.log(2 * n / mp.log(n, 2), 2) / 2)) - 1

        calls = next((m for m in range(1, 200) if epochs(m * part) == m), None)
        if calls is None:
            raise ValueError(f"no n = 2^{log_part} m makes Algorithm 4 take m calls")
        setting = _setting(calls * part, *rest)
        eta = _step(setting, mpf(1), part, mp.log(setting.n))  # the second cap of Algorithm 4 has no log(1/delta)
        chance, moved, long = _call(setting, eta, part)
        # Calls 2, 3, ... are on balls of radius 1/2, 1/4, ...: together they move by less than 1.
        value, log_n = SLOPE * (WIDTH - moved - 1), mp.log(setting.n)
        tau = setting.tau(mpf(1))
        if more:
            private = mp.sqrt(setting.logs * log_n**3) / (real(setting.epsilon) * setting.n)
            tau = mp.sqrt(log_n / setting.n) + private ** (mpf(setting.k - 1) / setting.k)
        order, weight = _grown(setting, setting.average * tau + mp.sqrt(log_n) * setting.tail, power)
        return _violation(label, setting, order, eta, value, chance - long, theta=power, **{"lambda": weight})


def thm_2_risk(
    log_part: int, theta: int, p: int, k: int, epsilon: Rational, delta: Rational, factor: Rational, logs: int = 0
) -> Violation:
    """tsybakov/thm-2, risk: Algorithm 4 as printed from w = 0 with R_0 = 1, on m parts of 2^log_part records.

    With Φ(-2/sigma_1) its first call ends near -1, and the balls of all later calls have radii that add up to less than
    1: the output is at most 0 and a little.
    """
    return _halving("tsybakov/thm-2", log_part, theta, False, (p, k, epsilon, delta, factor, logs))


def thm_11_risk(
    log_part: int, theta: int, p: int, k: int, epsilon: Rational, delta: Rational, factor: Rational, logs: int = 0
) -> Violation:
    """tsybakov/thm-11: the same against the order with its logarithms."""
    return _halving("tsybakov/thm-11", log_part, theta, True, (p, k, epsilon, delta, factor, logs))


def thm_3_risk(
    log_log_n: int, theta: int, p: int, k: int, epsilon: Rational, delta: Rational, factor: Rational, logs: int = 0
) -> Violation:
    """tsybakov/thm-3, risk: the last call of Algorithm 5 as printed, n = 2^(2^log_log_n), theta_bar = 2, base-2 logs.

    Both readings of the exponent of log n are 1 there: l = log_log_n parts of 2^(i-1) n/log_2 n records, the last one
    of n/2, on all of W with R_{l-1} = 2^(2-l) in its step, R_0 = 2 the diameter.
    """
    power, parts = count("theta", theta, 2), count("log_log_n", log_log_n, 2)
    with workdps(DIGITS):
        setting = _setting(2 ** (2**parts), p, k, epsilon, delta, factor, logs)
        steps = [
            _step(setting, mpf(WIDTH) / 2 ** (t - 1), setting.n // 2 ** (parts - t + 1), mp.log(setting.n))
            for t in range(1, parts + 1)
        ]
        chance, moved, long = _call(setting, steps[-1], setting.n // 2)
        order, weight = _grown(setting, setting.average * setting.tau(mpf(1)) + setting.tail, power)
        more = {"theta": power, "theta_bar": 2, "lambda": weight}
        return _violation("tsybakov/thm-3", setting, order, max(steps), SLOPE * (WIDTH - moved), chance - long, **more)
