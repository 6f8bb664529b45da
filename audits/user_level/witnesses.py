"""Verifiers for `user_level`: each rebuilds a statement and its violation from parameters, with 50 digits.

Parameters are integers or strings of rationals ("1/3"); floats are refused. The algebra behind each verifier stands in
`bounds/user_level.md` under the same item. The printed hypotheses are checked: parameters outside make no sense.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

from mpmath import findroot, mp, mpf, workdps

from dpcheck.witnesses import Value, Violation
from dpcheck.witnesses.numbers import DIGITS, Rational, count, exact, real

__all__ = [
    "alg_1",
    "alg_2_replacement",
    "alg_2_threshold",
    "claim_4_2",
    "eq_12",
    "lem_a6",
    "lem_a8",
    "lem_b4",
    "lem_c2",
    "lem_d1",
    "lem_d2",
    "thm_4_1",
    "thm_a11",
    "thm_b1_last_phase",
    "thm_b1_tail",
    "thm_c1",
    "thm_c1_conditional",
    "thm_c1_dimension",
    "thm_c3_minibatch",
    "thm_c3_passes",
    "thm_c3_union",
    "thm_c3_weight",
    "thm_d3",
    "thm_d3_lambda",
]


def _log(product: int, epsilon: Fraction, delta: Fraction) -> mpf:
    """log(product e^epsilon/delta)."""
    return mp.log(product) + real(epsilon) - mp.log(real(delta))


def _violation(
    label: str, statement: str, claimed: mpf, value: mpf, *, least: bool = False, at: Mapping[str, Value] | None = None
) -> Violation:
    """`least`: the statement is found >= claimed rather than found <= claimed; `at`: the symbols of its hypotheses."""
    room = mpf(10) ** -40 * max(abs(claimed), abs(value), mpf(1))
    worse = claimed - value if least else value - claimed
    return Violation(
        claimed=claimed,
        found=value,
        statement=statement,
        violated=bool(worse > room),
        label=f"user_level/{label}",
        at=at or {},
    )


def _at(n: int, epsilon: Fraction, delta: Fraction, q: mpf | Fraction, **more: Value) -> dict[str, Value]:
    """The symbols that the hypotheses of the theorems speak of."""
    return {"n": n, "epsilon": epsilon, "delta": delta, "q": q, **more}


# Theorem B.1 ----------------------------------------------------------------------------------------------------------


def _b1_hypothesis(users: int, eps: Fraction, dlt: Fraction, power: mpf) -> None:
    """Raises where n^(1-q) >= 100 log(n/delta)/(epsilon (1 - 2^-q)) fails."""
    share = 1 - mpf(2) ** -power
    if mpf(users) ** (1 - power) < 100 * (mp.log(users) - mp.log(real(dlt))) / (real(eps) * share):
        raise ValueError("the parameters violate the hypothesis of the theorem")


def thm_b1_tail(n: int, m: int, epsilon: Rational, delta: Rational, q: Rational) -> Violation:
    """user_level/thm-b1@tail: two independent tails of Lap(20/epsilon) at 2C/15 against delta/(10 e^epsilon).

    The losses do not enter: linear ones (beta = 0) on an interval of length 1 satisfy the theorem's condition on beta.
    """
    users, samples = count("n", n, 2), count("m", m)
    eps, dlt = exact("epsilon", epsilon, below="1001/100"), exact("delta", delta, below=1)
    power = exact("q", q, below=1)
    with workdps(DIGITS):
        _b1_hypothesis(users, eps, dlt, real(power))
        tail = mp.exp(-2 * _log(20 * users * samples, eps, dlt) / 3)
        claimed = real(dlt) / (10 * mp.exp(real(eps)))
        return _violation(
            "thm-b1@tail",
            "P(not both noises small) <= delta/(10 e^epsilon)",
            claimed,
            2 * tail - tail**2,
            at=_at(users, eps, dlt, power, m=samples, d=1, L=1, D=1, H=0),
        )


def _last_phase(users: int, q: mpf) -> mpf:
    """n_l = (1 - 2^-q) n/2^(lq), l = floor(log2 n)."""
    return (1 - mpf(2) ** -q) * users * mpf(2) ** (-q * (users.bit_length() - 1))


def thm_b1_last_phase(n: int, m: int, epsilon: Rational, delta: Rational, q: Rational) -> Violation:
    """user_level/thm-b1@literal: C/n_l <= 1 under the printed hypothesis, which is checked."""
    users, samples = count("n", n, 2), count("m", m)
    eps, dlt = exact("epsilon", epsilon, below="1001/100"), exact("delta", delta, below=1)
    with workdps(DIGITS):
        power = real(exact("q", q, below=1))
        _b1_hypothesis(users, eps, dlt, power)
        groups = 100 * _log(20 * users * samples, eps, dlt) / real(eps)
        at = _at(users, eps, dlt, power, m=samples, d=1, L=1, D=1, H=0)
        return _violation("thm-b1@literal", "C/n_l <= 1", mpf(1), groups / _last_phase(users, power), at=at)


def alg_1(n: int, m: int, d: int, epsilon: Rational, delta: Rational, q: Rational, J: Rational) -> Violation:
    """user_level/alg-1@literal: sqrt(d) sigma_1 over the diameter, Theorem B.1's p and eta."""
    users, samples, size = count("n", n, 2), count("m", m), count("d", d)
    eps, dlt = exact("epsilon", epsilon), exact("delta", delta, below=1)
    with workdps(DIGITS):
        power, p = real(exact("q", q, below=1)), real(exact("J", J) + Fraction(3, 2))
        if mp.log(samples) > (p - mpf(3) / 2) * mp.log(users):
            raise ValueError("the theorem needs m <= n^J")
        log = _log(20 * users * samples, eps, dlt)
        eta = mpf(2) ** -p / mp.sqrt(size * samples * users * real(eps))
        first = (1 - mpf(2) ** -power) * users * mpf(2) ** -power
        steps = first * samples * real(eps) / (100 * log)
        tau = 1000 * eta * mp.sqrt(steps) * mp.log(users * size * samples)
        sigma = tau * (mp.log(users) - mp.log(real(dlt))) ** 2 / log
        return _violation(
            "alg-1@literal", "the noise of phase 1 is at most a diameter long", mpf(1), mp.sqrt(size) * sigma
        )


# Algorithm 2 ----------------------------------------------------------------------------------------------------------


def alg_2_threshold(a: int, b: int, T: int, epsilon: Rational) -> Violation:
    """user_level/alg-2@literal: log-ratio of "never halts in T rounds" with a fresh threshold in each.

    K = a + b + 1 users with gradients at -1.5 tau (a of them) and 1.5 tau (b), and one far away, or at 0 instead.
    """
    left, right, rounds = count("a", a), count("b", b), count("T", T)
    eps = exact("epsilon", epsilon)
    K = left + right + 1
    apart = Fraction(left**2 + right**2 + 1, K)
    together = apart + Fraction(2 * (K - 1), K)
    with workdps(DIGITS):

        def goes_on(score: Fraction) -> mpf:
            # Lap(16/eps) - Lap(8/eps) <= x has the tail (4 e^(-x eps/16) - e^(-x eps/8))/6 beyond x >= 0.
            margin = real((score - Fraction(4 * K, 5)) * eps)
            tail = (4 * mp.exp(-abs(margin) / 16) - mp.exp(-abs(margin) / 8)) / 6
            return 1 - tail if margin >= 0 else tail

        value = rounds * (mp.log(goes_on(together)) - mp.log(goes_on(apart)))
        return _violation("alg-2@literal", "log-ratio of never halting <= epsilon/2", real(eps) / 2, value)


def alg_2_replacement(K: int, r: int) -> Violation:
    """user_level/alg-2@replacement: K draws, r of them the changed user, who leaves the point where all others are."""
    draws, copies = count("K", K, 2), count("r", r)
    if 2 * copies > draws:
        raise ValueError("r copies must be at most half of the draws")
    before, after = draws, Fraction((draws - copies) ** 2 + copies**2, draws)
    with workdps(DIGITS):
        return _violation("alg-2@replacement", "the score changes by at most 2", mpf(2), real(before - after))


# Theorems C.1, C.3, D.2 -----------------------------------------------------------------------------------------------


def thm_c1(epsilon: Rational) -> Violation:
    """user_level/thm-c1@literal: 4 T zeta (2 e^(eps/2) + 1) over delta at zeta = delta/(10 T e^eps)."""
    with workdps(DIGITS):
        eps = real(exact("epsilon", epsilon))
        value = mpf(4) / 10 * (2 * mp.exp(eps / 2) + 1) / mp.exp(eps)
        return _violation("thm-c1@literal", "the additive terms are at most delta", mpf(1), value, at={"epsilon": eps})


def _first_phase(n: int, m: int, d: int, eps: Fraction, dlt: Fraction, power: mpf) -> mpf:
    """n_1, once the hypotheses of Theorems 3.1 and C.3 are checked."""
    if dlt * m * n >= 1 or eps > 10:
        raise ValueError("the theorem needs delta < 1/(mn) and epsilon <= 10")
    share = 1 - mpf(2) ** -power
    if mpf(n) ** (1 - power) <= 100 * _log(20 * n * m * d, eps, dlt) / (real(eps) * share):
        raise ValueError("the parameters violate n^(1-q) > 100 log(20nmd e^epsilon/delta)/(epsilon (1 - 2^-q))")
    return share * n * mpf(2) ** -power


def _printed_minibatch(first: mpf, m: int, eps: Fraction, dlt: Fraction, steps: int) -> mpf:
    log = 2 * mp.log(first * m) + real(eps) - mp.log(real(dlt))
    return mp.ceil(500 * log * (1 / real(eps) + first * real(eps) / mp.sqrt(-steps * mp.log(real(dlt)))))


def thm_c3_minibatch(n: int, m: int, d: int, epsilon: Rational, delta: Rational, q: Rational, T: int) -> Violation:
    """user_level/thm-c3@literal: K_1/n_1 <= 1, inside the hypotheses of Theorems 3.1 and C.3."""
    eps, dlt, steps = exact("epsilon", epsilon), exact("delta", delta, below=1), count("T", T)
    with workdps(DIGITS):
        power = real(exact("q", q, below=1))
        first = _first_phase(count("n", n, 2), count("m", m), count("d", d), eps, dlt, power)
        at = _at(n, eps, dlt, power, m=m, d=d)
        value = _printed_minibatch(first, m, eps, dlt, steps) / first
        return _violation("thm-c3@literal", "K_1 <= n_1", mpf(1), value, at=at)


def thm_c3_passes(n: int, m: int, d: int, epsilon: Rational, delta: Rational, q: Rational, T: int) -> Violation:
    """user_level/thm-c3@passes: K_1 T_1/n_1 >= 1, inside the hypotheses of Theorems 3.1 and C.3."""
    eps, dlt, steps = exact("epsilon", epsilon), exact("delta", delta, below=1), count("T", T)
    with workdps(DIGITS):
        power = real(exact("q", q, below=1))
        first = _first_phase(count("n", n, 2), count("m", m), count("d", d), eps, dlt, power)
        at = _at(n, eps, dlt, power, m=m, d=d)
        value = _printed_minibatch(first, m, eps, dlt, steps) * steps / first
        return _violation("thm-c3@passes", "K_1 T_1 >= n_1", mpf(1), value, least=True, at=at)


def thm_c1_dimension(n: int, m: int, d: int, epsilon: Rational, delta: Rational, q: Rational, T: int) -> Violation:
    """user_level/thm-c1@dimension: the printed K_1 >= 500 log(nmd e^eps/delta)/eps, inside the hypotheses."""
    eps, dlt, steps = exact("epsilon", epsilon), exact("delta", delta, below=1), count("T", T)
    users, samples, size = count("n", n, 2), count("m", m), count("d", d)
    with workdps(DIGITS):
        power = real(exact("q", q, below=1))
        first = _first_phase(users, samples, size, eps, dlt, power)
        at = _at(users, eps, dlt, power, m=samples, d=size)
        claimed = 500 * _log(users * samples * size, eps, dlt) / real(eps)
        value = _printed_minibatch(first, samples, eps, dlt, steps)
        said = "K_1 >= 500 log(nmd e^eps/delta)/eps"
        return _violation("thm-c1@dimension", said, claimed, value, least=True, at=at)


def thm_c1_conditional(N: int, K: int, epsilon: Rational) -> Violation:
    """user_level/thm-c1@conditional: N - 1 equal gradients and one apart, K distinct users, one threshold test."""
    users, size, eps = count("N", N, 2), count("K", K), exact("epsilon", epsilon)
    if size >= users:
        raise ValueError("needs K < N")
    with workdps(DIGITS):

        def passes(score: Fraction) -> mpf:
            margin = real((score - Fraction(4 * size, 5)) * eps)
            tail = (4 * mp.exp(-abs(margin) / 16) - mp.exp(-abs(margin) / 8)) / 6
            return 1 - tail if margin >= 0 else tail

        within = size * passes(Fraction((size - 1) ** 2 + 1, size))
        value = within / (within + (users - size) * passes(Fraction(size)))
        claimed = mpf(size) / users
        said = "given that the test passed, every user is in the sample with probability K/N"
        return _violation("thm-c1@conditional", said, claimed, value, least=True)


def thm_c3_union(n: int, m: int, delta: Rational, T: int) -> Violation:
    """user_level/thm-c3@union: T_1 delta <= 1/(nm) for delta < 1/(mn)."""
    size, steps = count("n", n, 2) * count("m", m), count("T", T)
    dlt = exact("delta", delta, below=str(Fraction(1, size)))
    with workdps(DIGITS):
        at: dict[str, Value] = {"n": n, "m": m, "delta": dlt, "epsilon": 1}  # any epsilon <= 10
        return _violation("thm-c3@union", "T_1 delta <= 1/(nm)", mpf(1) / size, steps * real(dlt), at=at)


def thm_c3_weight(n: int, m: int) -> Violation:
    """user_level/thm-c3@weight: 2^p <= 64, with the best q, at epsilon = d = 1 and delta = 1/(2nm)."""
    users, samples = count("n", n, 2), count("m", m)
    with workdps(DIGITS):
        power = _best_power(users)
        dlt = Fraction(1, 2 * users * samples)
        _first_phase(users, samples, 1, Fraction(1), dlt, power)
        p = 3 * power + mpf(5) / 2 + mp.log(samples) / (2 * mp.log(users))
        at = _at(users, Fraction(1), dlt, power, m=samples, d=1)
        return _violation("thm-c3@weight", "2^p <= 64", mpf(64), mpf(2) ** p, at=at)


def lem_c2(K: int) -> Violation:
    """user_level/lem-c2@literal: K/3 points at 0 and K/6 at each of +-2 e_1, +-2 e_2, radius 2: the share kept."""
    size = count("K", K, 6)
    if size % 6:
        raise ValueError("K must be a multiple of 6")
    places = {(0, 0): size // 3, (2, 0): size // 6, (-2, 0): size // 6, (0, 2): size // 6, (0, -2): size // 6}
    seen = {x: sum(many for y, many in places.items() if (x[0] - y[0]) ** 2 + (x[1] - y[1]) ** 2 <= 4) for x in places}
    score = Fraction(sum(many * seen[x] for x, many in places.items()), size)
    if score < Fraction(2 * size, 3):
        raise ValueError("the score is below 2K/3")
    kept = sum(many * min(Fraction(1), max(Fraction(0), Fraction(6 * seen[x], size) - 3)) for x, many in places.items())
    with workdps(DIGITS):
        claimed, value = real(Fraction(2, 3)), real(Fraction(kept, size))
        return _violation("lem-c2@literal", "at least 2K/3 points are kept on average", claimed, value, least=True)


def lem_d2(log: Rational, delta: Rational) -> Violation:
    """user_level/lem-d2@literal: P(halt at one step) at full score, K = log/epsilon."""
    with workdps(DIGITS):
        size, dlt = real(exact("log", log)), real(exact("delta", delta, below=1))
        value = (4 * mp.exp(-size / 80) - mp.exp(-size / 40)) / 6
        return _violation("lem-d2@literal", "P(halt at one step) <= delta", dlt, value)


def eq_12(values: Sequence[Rational], K: int) -> Violation:
    """user_level/fact-eq-12@literal: variance of the mean of K < N values without replacement, over all subsets."""
    population = [exact("values", value, above=-(10**9)) for value in values]
    if not 1 <= count("K", K) < len(population) <= 16:
        raise ValueError("needs K below the size of the population, 16 at most")
    mean = sum(population, Fraction(0)) / len(population)
    spread = sum(((x - mean) ** 2 for x in population), Fraction(0)) / len(population)
    means = [sum(some, Fraction(0)) / K for some in itertools.combinations(population, K)]
    variance = sum(((x - mean) ** 2 for x in means), Fraction(0)) / len(means)
    with workdps(DIGITS):
        return _violation(
            "fact-eq-12@literal",
            "the variance is at most 1(K = n)/K times the spread",
            mpf(0),
            real(variance / spread),
        )


# Theorem D.3 and what rests on it -------------------------------------------------------------------------------------


def _best_power(n: int) -> mpf:
    """q = log2(1 + 1/log2 n), which makes the last phase largest."""
    return mp.log(1 + 1 / mp.log(n, 2), 2)


def _smoothed_count(n: int, m: int, d: int, eps: Fraction, dlt: Fraction) -> mpf:
    """T_1 K_1 m with K_1 = log(nmd e^eps/delta)/eps alone and the larger lambda of Theorem C.3, q = log2(1 + 1/log2 n).

    p = 3q + 5/2 + log_n sqrt m, the least that Theorem C.3 allows; lambda_1 = 2^p lambda.
    """
    power = _best_power(n)
    first = _first_phase(n, m, d, eps, dlt, power)
    p = 3 * power + mpf(5) / 2 + mp.log(m) / (2 * mp.log(n))
    private = mp.sqrt(d) / (real(eps) * n * mp.sqrt(m))
    if private > 1:
        raise ValueError("the smoothing radius exceeds the diameter")
    weight = mpf(2) ** p * (1 / mp.sqrt(mpf(n) * m) + private)
    steps = (1 + mp.sqrt(real(eps) * n * mp.sqrt(m) / weight)) * mp.log(n * d * m)
    users = _log(n * m * d, eps, dlt) / real(eps)
    if users > first:
        raise ValueError("the minibatch exceeds the users of the first phase")
    return steps * users * m


def _printed_count(n: int, m: int, eps: Fraction) -> mpf:
    return mpf(m) * n * (1 + mpf(n) ** (mpf(3) / 8) * (mpf(m) * real(eps)) ** (mpf(1) / 4))


def _smoothed(
    label: str, n: int, m: int, d: int, epsilon: Rational, delta: Rational, constant: Rational, power: int
) -> Violation:
    users, samples, size = count("n", n, 2), count("m", m), count("d", d)
    eps, dlt = exact("epsilon", epsilon), exact("delta", delta, below=1)
    with workdps(DIGITS):
        hidden = real(exact("constant", constant)) * _log(users * samples * size, eps, dlt) ** count("power", power, 0)
        claimed = hidden * _printed_count(users, samples, eps)
        value = _smoothed_count(users, samples, size, eps, dlt)
        at = _at(users, eps, dlt, _best_power(users), m=samples, d=size)
        said = "the gradients are at most the stated order times the hidden factor"
        return _violation(label, said, claimed, value, at=at)


def thm_d3(n: int, m: int, d: int, epsilon: Rational, delta: Rational, constant: Rational, power: int) -> Violation:
    """user_level/thm-d3: the first phase's gradients against constant log(nmd e^eps/delta)^power times the order."""
    return _smoothed("thm-d3", n, m, d, epsilon, delta, constant, power)


def thm_4_1(n: int, m: int, d: int, epsilon: Rational, delta: Rational, constant: Rational, power: int) -> Violation:
    """user_level/thm-4-1: as `thm_d3`."""
    return _smoothed("thm-4-1", n, m, d, epsilon, delta, constant, power)


def claim_4_2(n: int, m: int, d: int, delta: Rational, constant: Rational, power: int) -> Violation:
    """user_level/claim-4-2 at epsilon = 1: AL24's count over that of the first phase, times the hidden factor."""
    users, samples, size, dlt = count("n", n, 2), count("m", m), count("d", d), exact("delta", delta, below=1)
    with workdps(DIGITS):
        hidden = real(exact("constant", constant)) * _log(users * samples * size, Fraction(1), dlt) ** count(
            "power", power, 0
        )
        theirs = (mpf(users) * samples) ** 3 + (mpf(users) * samples) ** 2 * mp.sqrt(size)
        value = hidden * theirs / _smoothed_count(users, samples, size, Fraction(1), dlt)
        claimed = mpf(users) ** (mpf(13) / 8) * mpf(samples) ** (mpf(7) / 4)
        at = _at(users, Fraction(1), dlt, _best_power(users), m=samples, d=size)
        return _violation("claim-4-2", "the speed-up is at least n^(13/8) m^(7/4)", claimed, value, least=True, at=at)


def thm_d3_lambda(n: int, m: int, d: int, epsilon: Rational, delta: Rational) -> Violation:
    """user_level/thm-d3@literal: the private part of (18) over its stated value, with lambda = 1/sqrt(nm)."""
    users, samples, size = count("n", n, 2), count("m", m), count("d", d)
    eps, dlt = exact("epsilon", epsilon), exact("delta", delta, below=1)
    with workdps(DIGITS):
        power = _best_power(users)
        _first_phase(users, samples, size, eps, dlt, power)
        part = mpf(size) / (real(eps) ** 2 * mpf(users) ** 2 * samples) * mp.sqrt(mpf(users) * samples)
        value = part / (mp.sqrt(size) / (real(eps) * users * mp.sqrt(samples)))
        said, at = "d/(eps^2 n^2 m lambda) <= sqrt(d)/(eps n sqrt m)", _at(users, eps, dlt, power, m=samples, d=size)
        return _violation("thm-d3@literal", said, mpf(1), value, at=at)


# Cited tools ----------------------------------------------------------------------------------------------------------


def _above(threshold: mpf, deviation: mpf) -> mpf:
    """P(N(0, deviation^2) > threshold)."""
    return mp.erfc(threshold / (deviation * mp.sqrt(2))) / 2


def _gaussian_delta(deviation: mpf, eps: mpf) -> mpf:
    """Exact delta(eps) of Gaussian noise on a query of sensitivity 1."""
    place = eps * deviation**2 + mpf(1) / 2
    return _above(place - 1, deviation) - mp.exp(eps) * _above(place, deviation)


def lem_a6(epsilon: Rational, delta: Rational) -> Violation:
    """user_level/lem-a6@literal: the exact delta of the printed Gaussian noise."""
    with workdps(DIGITS):
        eps, dlt = real(exact("epsilon", epsilon)), real(exact("delta", delta, below=1))
        value = _gaussian_delta(mp.sqrt(2 * mp.log(2 / dlt)) / eps, eps)
        return _violation("lem-a6@literal", "delta(epsilon) <= delta", dlt, value)


def lem_a8(N: int, M: int, epsilon: Rational, delta: Rational) -> Violation:
    """user_level/lem-a8@literal: M draws with replacement of N users, Gaussian noise exactly (epsilon, delta)-private.

    The changed user moves the sum by its number of draws; the event is a half-line beyond the ratio e^epsilon'.
    """
    users, draws = count("N", N, 2), count("M", M)
    with workdps(DIGITS):
        eps, dlt = real(exact("epsilon", epsilon)), real(exact("delta", delta, below=1))
        deviation = findroot(
            lambda s: mp.log(_gaussian_delta(s, eps)) - mp.log(dlt), (mpf(1) / eps, 40 / eps), solver="anderson"
        )
        once = mpf(1) / users
        chance = [mp.binomial(draws, k) * once**k * (1 - once) ** (draws - k) for k in range(min(draws, 60) + 1)]
        amplified = (mp.exp(eps) - 1) * draws / users

        def log_ratio(x: mpf) -> mpf:
            total = sum(w * mp.exp((2 * x * k - k * k) / (2 * deviation**2)) for k, w in enumerate(chance))
            return mp.log(total) - amplified

        place = findroot(log_ratio, (mpf(0), 60 * deviation), solver="anderson")
        attained = sum(w * _above(place - k, deviation) for k, w in enumerate(chance))
        attained -= mp.exp(amplified) * _above(place, deviation)
        return _violation("lem-a8@literal", "delta after subsampling <= delta M/N", dlt * draws / users, attained)


def thm_a11(c: Rational, gamma: Rational) -> Violation:
    """user_level/thm-a11@literal: X a fair sign, d = 1, one term, zeta = 1/sqrt(2 log 2)."""
    with workdps(DIGITS):
        factor, fails = real(exact("c", c)), real(exact("gamma", gamma, below=1))
        threshold = factor * mp.sqrt(mp.log(1 / fails) / (2 * mp.log(2)))
        probability = mpf(1) if threshold <= 1 else mpf(0)
        return _violation("thm-a11@literal", "P(|X| >= c zeta sqrt(log(1/gamma))) <= gamma", fails, probability)


def lem_b4(p: Rational) -> Violation:
    """user_level/lem-b4@literal: squared difference of the noises, rare slopes +-1 of probability p each, L = 1."""
    rare = exact("p", p, below="1/2")
    slope = 1 - 2 * rare  # of F far to the right; minus that far to the left
    with workdps(DIGITS):
        value = real(((1 + slope) - (-1 - slope)) ** 2)
        return _violation("lem-b4@literal", "the squared difference of the noises is at most 4", mpf(4), value)


def lem_d1(r: Rational) -> Violation:
    """user_level/lem-d1@literal: f = |x| on the line at 0; f_r(0) = E|y|, y uniform on [-r, r]."""
    with workdps(DIGITS):
        value = real(exact("r", r) / 2)
        return _violation("lem-d1@literal", "f_r(0) <= f(0)", mpf(0), value)
