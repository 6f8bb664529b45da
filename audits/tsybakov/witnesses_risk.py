"""Verifiers of `tsybakov` about risk: where Algorithms 3, 4 and 5 end with the step sizes and weights as printed.

d = 1, W = [-1, 1], losses f = -zw with z = 1 or -1, P(z = 1) = 3/4: smooth with every constant, L_f = 1, every moment
of every batch is 1, and F(w) - F* = (1 - w)/2. Outputs are projected on W, else the domain of phase 2 is empty. Phase 1
of Algorithm 3 ends somewhere in W and adds noise of deviation sigma_1: with probability Φ(-2/sigma_1) at least the
projected output is -1, whatever the data. Phase i >= 2 moves by min(C_i, 1)/lambda_i at most, and its noise is longer
than ten deviations with probability 2Φ(-10) at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mpmath import mp, mpf, workdps

from dpcheck.witnesses import Violation
from dpcheck.witnesses._tsybakov_descent import DIGITS, Rational, count, exact, real

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


def _violation(label: str, setting: _Setting, order: mpf, eta: mpf, found: mpf, chance: mpf, **more: Any) -> Violation:
    claimed, beta = setting.factor * order, mpf(1) / setting.n
    at: Mapping[str, Any] = setting.at(eta, **more)
    return Violation(
        claimed=claimed,
        found=found,
        statement=(
            f"but for a probability of 1/n the excess risk is at most {mp.nstr(setting.factor, 6).removesuffix('.0')} "
            f"times the stated order; it is beyond what is found with probability {mp.nstr(chance, 6)}"
        ),
        violated=bool(found > claimed and chance > beta),
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
        found, log_n = SLOPE * (WIDTH - moved - 1), mp.log(setting.n)
        tau = setting.tau(mpf(1))
        if more:
            private = mp.sqrt(setting.logs * log_n**3) / (real(setting.epsilon) * setting.n)
            tau = mp.sqrt(log_n / setting.n) + private ** (mpf(setting.k - 1) / setting.k)
        order, weight = _grown(setting, setting.average * tau + mp.sqrt(log_n) * setting.tail, power)
        return _violation(label, setting, order, eta, found, chance - long, theta=power, **{"lambda": weight})


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
