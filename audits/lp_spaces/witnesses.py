"""Verifiers for `lp_spaces`: each rebuilds a statement and its violation from parameters, with 50 digits.

Parameters are integers or strings of rationals ("1/3"); floats are refused. The algebra behind each verifier stands in
`bounds/lp_spaces.md` under the same item.
"""

from __future__ import annotations

from fractions import Fraction

from mpmath import findroot, mp, mpf, workdps

from dpcheck.witnesses import Value, Violation
from dpcheck.witnesses.numbers import DIGITS, Rational, count, exact, gaussian_delta, real

__all__ = [
    "def_3",
    "def_4",
    "lem_2",
    "lem_3_large_epsilon",
    "mirror_map",
    "thm_2_cone",
    "thm_2_fixed_sample",
    "thm_2_uncentred",
    "thm_3_bump",
    "thm_3_wide",
    "thm_5_quantifiers",
    "thm_5_range",
    "thm_8",
    "thm_10",
]


def _between(low: mpf, high: mpf, deviation: mpf) -> mpf:
    """P(low <= G <= high) for G ~ N(0, deviation^2), both tails kept."""
    scale = deviation * mp.sqrt(2)
    return (mp.erfc(low / scale) - mp.erfc(high / scale)) / 2


def _first_noise(L: Fraction, epsilon: Fraction, delta: Fraction) -> mpf:
    return mp.sqrt(128 * mp.log(mpf(5) / (2 * real(delta)))) * real(L) / real(epsilon)


def def_3(d: int, p: Rational) -> Violation:
    """lp_spaces/def-3@literal at the ones: |x|_r^2 <= (kappa/kappa_+) |x|_q^2, kappa = min{1/(p-1), 2 log d}."""
    size, exponent = count("d", d, 2), exact("p", p, above=1, below=2)
    with workdps(DIGITS):
        q = real(exponent / (exponent - 1))
        r = min(q, 2 * mp.log(size) + 1)
        claimed = min(real(1 / (exponent - 1)), 2 * mp.log(size)) / (r - 1) * mpf(size) ** (2 / q)
        value = mpf(size) ** (2 / r)
    return Violation(
        claimed=claimed,
        found=value,
        statement="the squared smooth norm is at most kappa/kappa_+ times the squared dual norm",
        violated=bool(value > claimed * (1 + mpf(10) ** -40)),
        label="lp_spaces/def-3@literal",
        at={"p": exponent, "d": size},
    )


def def_4(r: Rational) -> Violation:
    """lp_spaces/def-4@literal in the plane: length of the unit circle of l_r against twice the area of its ball.

    r = 1 is the square of side sqrt 2; for 1 < r the curve y = (1 - x^r)^(1/r) is measured between its diagonals by
    symmetry, over which it is smooth.
    """
    exponent = exact("r", r, above="99/100")
    with workdps(DIGITS):
        power = real(exponent)
        claimed = 8 * mp.gamma(1 + 1 / power) ** 2 / mp.gamma(1 + 2 / power)
        if exponent == 1:
            value = 4 * mp.sqrt(2)
        else:
            corner = mpf(2) ** (-1 / power)
            value = 8 * mp.quad(
                lambda x: mp.sqrt(1 + (x**power / (1 - x**power)) ** (2 * (power - 1) / power)), [0, corner]
            )
    return Violation(
        claimed=claimed,
        found=value,
        statement="the length of the unit circle equals twice the area of its ball",
        violated=bool(abs(value - claimed) > claimed * mpf(10) ** -12),
        label="lp_spaces/def-4@literal",
        at={"q": exponent, "d": 2},
    )


def lem_2(epsilon: Rational, delta: Rational) -> Violation:
    """lp_spaces/lem-2@literal: the exact delta of variance 2 log(1.25/delta)/epsilon^2 at sensitivity 1."""
    eps, dlt = exact("epsilon", epsilon), exact("delta", delta, below=1)
    with workdps(DIGITS):
        value = gaussian_delta(real(eps), real(eps) / mp.sqrt(2 * mp.log(mpf(5) / (4 * real(dlt)))))
    return Violation(
        claimed=real(dlt),
        found=value,
        statement="delta(epsilon) of the Gaussian mechanism is at most delta",
        violated=bool(value > real(dlt)),
        label="lp_spaces/lem-2@literal",
        at={"epsilon": eps, "delta": dlt},
    )


def lem_3_large_epsilon(epsilon: Rational, delta: Rational, kappa: Rational = 1) -> Violation:
    """lp_spaces/lem-3@large-epsilon for the Euclidean norm: Gaussian, variance 2 kappa log(1/delta)/epsilon^2.

    The norm is 1-regular, and so kappa-regular for every kappa >= 1.
    """
    eps, dlt, regular = exact("epsilon", epsilon), exact("delta", delta, below=1), exact("kappa", kappa)
    if regular < 1:
        raise ValueError(f"the norm is kappa-regular for kappa >= 1, got {regular}")
    with workdps(DIGITS):
        value = gaussian_delta(real(eps), real(eps) / mp.sqrt(2 * real(regular) * mp.log(1 / real(dlt))))
    return Violation(
        claimed=real(dlt),
        found=value,
        statement="delta(epsilon) of the mechanism is at most delta",
        violated=bool(value > real(dlt)),
        label="lp_spaces/lem-3@large-epsilon",
        at={"epsilon": eps, "delta": dlt, "kappa": regular},
    )


def mirror_map(p: Rational, d: int, t: Rational) -> Violation:
    """lp_spaces/proc-mirror-map@literal: D_Phi(y, x) against |y - x|_p^2/2 for the printed exponent.

    p > 3/2: x = e_1, y = e_1 + t e_2. p <= 3/2: x = (1, ..., 1), y = x + t (1, -1, 1, ...), d even.
    """
    exponent, size, step = exact("p", p, above=1, below=2), count("d", d, 2), exact("t", t)
    with workdps(2 * DIGITS):
        kappa = min(real(1 / (exponent - 1)), 2 * mp.log(size))
        a, move = kappa / (kappa - 1), real(step)
        power = real(exponent)
        if exponent > Fraction(3, 2):
            value = kappa / 2 * ((1 + move**a) ** (2 / a) - 1)
            claimed = move**2 / 2
        else:
            if size % 2 or step >= 1:
                raise ValueError("p <= 3/2 needs an even d and t < 1")
            total = mpf(size) / 2 * ((1 + move) ** a + (1 - move) ** a)
            value = kappa / 2 * (total ** (2 / a) - mpf(size) ** (2 / a))
            claimed = mpf(size) ** (2 / power) * move**2 / 2
    return Violation(
        claimed=claimed,
        found=value,
        statement="the Bregman divergence is at least half of the squared distance",
        violated=bool(value < claimed),
        label="lp_spaces/proc-mirror-map@literal",
        at={"p": exponent, "d": size},
    )


def _linear(n: int, d: int, epsilon: Fraction, delta: Fraction, *, diameter: mpf) -> dict[str, Value]:
    """Where linear losses of slope 1 stand in the hypotheses of Theorem 2: their Hessians have rank 0."""
    return {
        "n": n, "d": d, "epsilon": epsilon, "delta": delta, "D": diameter, "L": 1, "L_ell": 1, "H": 0, "H_ell": 0,
        "r": 0,
    }  # fmt: skip


def thm_2_cone(n: int, d: int, radius: Rational, epsilon: Rational, delta: Rational, constant: Rational) -> Violation:
    """lp_spaces/thm-2@literal: ell = t on C = {(s, t, v): |s| <= 1/2, |v|_2 <= t <= radius}, v in R^d, d + 2 in all.

    The excess is t. theta_1 has t = 0 unless |G_v| > n + G_0, theta_2 = theta_1 is legal, and the projection of theta_2
    + H has t = radius when |H_v| + H_0 >= 2 radius: both by the concentration of the norm of a Gaussian vector.
    """
    size, dimension, reach = count("n", n), count("d", d), exact("radius", radius)
    eps, dlt = exact("epsilon", epsilon, below=1), exact("delta", delta, below=1)
    hidden = exact("constant", constant)
    with workdps(DIGITS):
        rho, root, log = real(reach), mp.sqrt(dimension), mp.log(1 / real(dlt))
        diameter = mp.sqrt(1 + 4 * rho**2)
        # E|xi|/2 + rho E(|xi_v| + xi_0)_+; a larger width makes alpha smaller and the bound larger.
        width = (1 + rho) / mp.sqrt(2 * mp.pi) + rho * root
        second = real(eps) ** 2 * diameter**3 / (width**2 * log * mpf(size) ** mpf("1.5"))
        alpha = min(mpf(1), diameter / mpf(size) ** mpf("1.5"), second)
        lam = 1 / (mp.sqrt(size) * diameter)
        sigma_1 = _first_noise(Fraction(1), eps, dlt)
        sigma_2 = 8 * mp.sqrt(alpha * mp.log(mpf(5) / (2 * real(dlt))) / lam) / real(eps)
        # |xi| <= sqrt d + sqrt(2x) and xi_0 >= -sqrt(2x), each but for e^-x; E|xi| >= d/sqrt(d + 1).
        room = size / sigma_1 - root, dimension / mp.sqrt(dimension + 1) - 2 * rho / sigma_2
        if min(room) <= 0:
            raise ValueError("needs sigma_1 sqrt d < n, so that theta_1 = 0, and a radius that the second noise passes")
        missed = sum(2 * mp.exp(-((each / 2) ** 2) / 2) for each in room)
        value = rho * max(mpf(0), 1 - missed)
        claimed = real(hidden) * (width * mp.sqrt(log) / (size * real(eps)) + diameter / mp.sqrt(size))
        farthest = mp.sqrt(mpf(1) / 4 + 2 * rho**2)
    return Violation(
        claimed=claimed,
        found=value,
        statement="the expected excess risk is at most the stated order times the constant",
        violated=bool(value > claimed),
        label="lp_spaces/thm-2@literal",
        at={**_linear(size, dimension + 2, eps, dlt, diameter=diameter), "R": farthest},
    )


def thm_2_uncentred(n: int, c: Rational, epsilon: Rational, delta: Rational, constant: Rational) -> Violation:
    """lp_spaces/thm-2@uncentred: ell = -theta on [c - 1/2, c + 1/2], too far from the origin.

    `constant` is the hidden constant; `found` is a lower bound on the expected excess, without the second noise.
    """
    size, place = count("n", n), exact("c", c, above="1/2")
    eps, dlt = exact("epsilon", epsilon, below=1), exact("delta", delta, below=1)
    hidden = exact("constant", constant)
    with workdps(DIGITS):
        sigma, root = _first_noise(Fraction(1), eps, dlt), mp.sqrt(size)
        # theta_1 = Proj((1 - G/n) sqrt n/2) is the left end iff G >= n (1 - 2 (c - 1/2)/sqrt n).
        need = size * (1 - 2 * real(place - Fraction(1, 2)) / root)
        value = mp.erfc(need / (sigma * mp.sqrt(2))) / 2
        width = 1 / mp.sqrt(2 * mp.pi)
        claimed = real(hidden) * (width * mp.sqrt(mp.log(1 / real(dlt))) / (size * real(eps)) + 1 / root)
    return Violation(
        claimed=claimed,
        found=value,
        statement="the expected excess risk is at most the stated order times the constant",
        violated=bool(value > claimed),
        label="lp_spaces/thm-2@uncentred",
        at=_linear(size, 1, eps, dlt, diameter=mpf(1)),
    )


def thm_2_fixed_sample(n: int, mean: Rational, epsilon: Rational, delta: Rational, constant: Rational) -> Violation:
    """lp_spaces/thm-2@fixed-sample: ell = -x theta on [-1/2, 1/2], n records x = -1 though E x = mean > 0."""
    size, average = count("n", n), exact("mean", mean, below=1)
    eps, dlt = exact("epsilon", epsilon, below=1), exact("delta", delta, below=1)
    hidden = exact("constant", constant)
    with workdps(DIGITS):
        sigma, root = _first_noise(Fraction(1), eps, dlt), mp.sqrt(size)
        # theta_1 = Proj((-1 - G/n) sqrt n/2) is -1/2 iff G >= n (1/sqrt n - 1).
        probability = mp.erfc(size * (1 / root - 1) / (sigma * mp.sqrt(2))) / 2
        value = real(average) * probability
        width = 1 / mp.sqrt(2 * mp.pi)
        claimed = real(hidden) * (width * mp.sqrt(mp.log(1 / real(dlt))) / (size * real(eps)) + 1 / root)
    return Violation(
        claimed=claimed,
        found=value,
        statement="on this data set the expected excess risk is at most the stated order times the constant",
        violated=bool(value > claimed),
        label="lp_spaces/thm-2@fixed-sample",
        at={**_linear(size, 1, eps, dlt, diameter=mpf(1)), "R": Fraction(1, 2)},
    )


def thm_3_wide(n: int, R: Rational, epsilon: Rational, delta: Rational, ramp: Rational) -> Violation:
    """lp_spaces/thm-3 on C = [-R, R], Delta = 1: one record with a bump of curvature at 0, lambda = 0, alpha = 0.

    The bump is a trapezoid of height H - 1/R^2, H = epsilon n, area A = 1/R, whose two ramps are the share `ramp` of
    its flat part each; the event is its support. `found` is P - e^epsilon Q, exactly.
    """
    size, radius = count("n", n, 2), exact("R", R)
    eps, dlt, share = exact("epsilon", epsilon, below=1), exact("delta", delta, below=1), exact("ramp", ramp)
    curvature, smoothness, area = 1 / radius**2, eps * size, 1 / radius
    if smoothness <= 2 * curvature:
        raise ValueError("the bump needs epsilon n > 2/R^2")
    half = area / (smoothness - curvature) / (1 + share) * (1 + 2 * share) / 2
    if half >= radius:
        raise ValueError("the bump must lie inside C")
    with workdps(DIGITS):
        # |gradients| <= 1/R + A/2 <= L = 2/R.
        sigma = _first_noise(2 / radius, eps, dlt)
        base = real(size * curvature * half)
        inside = _between(-base - real(area) / 2, base + real(area) / 2, sigma)
        outside = _between(-base, base, sigma)
        value = inside - mp.exp(real(eps)) * outside
    steepest, loss = 1 / radius + area / 2, {"L": 2 / radius, "H": smoothness, "H_ell": smoothness}
    return _thm_3(dlt, value, {"n": size, "epsilon": eps, "L_ell": steepest, "mu_ell": curvature * radius**2, **loss})


def thm_3_bump(
    n: int, R: Rational, M: Rational, area: Rational, k: Rational, epsilon: Rational, delta: Rational, ramp: Rational
) -> Violation:
    """lp_spaces/thm-3 on C = [-R, R], Delta = 1, H = epsilon n, lambda = 0, alpha = 0.

    Write b(theta) = theta^2/(2 R^2); n - 1 records are b. The changed one is b + M theta in D', and in D b -
    (M - A/2) theta plus a trapezoidal bump of area A and height H - 1/R^2 around k sigma_1 R^2/n; L = M + 1/R. The
    event is the bump; `found` is P - e^epsilon Q of it.
    """
    size, radius, slope, bump = count("n", n, 2), exact("R", R), exact("M", M), exact("area", area)
    eps, dlt, share = exact("epsilon", epsilon, below=1), exact("delta", delta, below=1), exact("ramp", ramp)
    place = exact("k", k, above=-10)
    smoothness, curvature = eps * size, 1 / radius**2
    if bump > 2 * slope or smoothness <= 2 * curvature:
        raise ValueError("the bump needs area <= 2 M and epsilon n > 2/R^2")
    half = bump / (smoothness - curvature) / (1 + share) * (1 + 2 * share) / 2
    with workdps(DIGITS + len(str(dlt.denominator))):
        sigma = _first_noise(slope + 1 / radius, eps, dlt)
        centre = real(place) * sigma / real(size * curvature)
        if abs(centre) + real(half) >= real(radius):
            raise ValueError("the bump must lie inside C")
        low, high = real(size * curvature) * (centre - real(half)), real(size * curvature) * (centre + real(half))
        tilt = -real(slope - bump / 2)
        inside = _between(low + tilt - real(bump) / 2, high + tilt + real(bump) / 2, sigma)
        outside = _between(low + real(slope), high + real(slope), sigma)
        value = inside - mp.exp(real(eps)) * outside
    # |b'| <= 1/R; the bump takes the slope -(M - A/2) from -M to -(M - A).
    steepest = max(slope, abs(slope - bump)) + 1 / radius
    sizes: dict[str, Value] = {"n": size, "epsilon": eps, "L": slope + 1 / radius, "L_ell": steepest, "H": smoothness}
    return _thm_3(dlt, value, {**sizes, "H_ell": smoothness, "mu_ell": curvature * radius**2})


def _thm_3(delta: Fraction, value: mpf, at: dict[str, Value]) -> Violation:
    """`at`: of the pair; mu_ell is its modulus in the norm of C = [-R, R], where |v|_C = |v|/R."""
    return Violation(
        claimed=real(delta),
        found=value,
        statement="P(E) - e^epsilon Q(E) is at most delta",
        violated=bool(value > real(delta)),
        label="lp_spaces/thm-3",
        at={**at, "delta": delta, "mu": 1},
    )


def thm_5_range(d: int, n: int, epsilon: Rational, power: Rational, constant: Rational) -> Violation:
    """lp_spaces/thm-5@literal: C = B_2/2, delta = n^-power; the printed bound times `constant` against the diameter 1.

    G_C = E|xi|/2 >= sqrt(d - 1)/2. `found` is the largest excess risk that any output in C can have.
    """
    dimension, size = count("d", d, 2), count("n", n, 2)
    eps, rate, hidden = exact("epsilon", epsilon), exact("power", power, above=1), exact("constant", constant)
    with workdps(DIGITS):
        log = real(rate) * mp.log(size)
        if size > mp.sqrt(dimension * log) / real(eps):
            raise ValueError("n lies outside the range of the statement")
        width = mpf(dimension - 1) / 4
        allowed = 1 / mpf(size) ** real(rate)
        claimed = real(hidden) * width * log / (mp.log(2 * dimension) ** 4 * (real(eps) * size) ** 2)
    return Violation(
        claimed=claimed,
        found=mpf(1),
        statement="the excess risk of a 1-Lipschitz loss on a set of diameter 1 is at least the printed bound",
        violated=bool(claimed > 1),
        label="lp_spaces/thm-5@literal",
        at={"n": size, "d": dimension, "epsilon": eps, "delta": allowed},
    )


def thm_5_quantifiers(d: int, n: int, epsilon: Rational, power: Rational) -> Violation:
    """lp_spaces/thm-5@quantifiers: a constant algorithm has excess 0 on a fixed data set; the bound is >= 1/n.

    delta = n^-power; a constant output is (0, 0)-DP.
    """
    dimension, size = count("d", d), count("n", n, 2)
    eps, rate = exact("epsilon", epsilon), exact("power", power, above=1)
    with workdps(DIGITS):
        return Violation(
            claimed=mpf(1) / size,
            found=mpf(0),
            statement="on that data set every private algorithm has an excess of order 1/n at least",
            violated=True,
            label="lp_spaces/thm-5@quantifiers",
            at={"n": size, "d": dimension, "epsilon": eps, "delta": 1 / mpf(size) ** real(rate)},
        )


def thm_8(n: int, m: Rational, epsilon: Rational, delta: Rational, constant: Rational) -> Violation:
    """lp_spaces/thm-8@literal: ell = sqrt(1 + (theta - x)^2) - 1 on the line, x = +-1, E x = m.

    At m = 0 the bound is 0 and forces the output 0 on every data set; `found` is the excess of 0 at this m.
    """
    size, mean = count("n", n), exact("m", m, below=1)
    eps, dlt = exact("epsilon", epsilon, below=1), exact("delta", delta, below=1)
    hidden = exact("constant", constant)
    with workdps(DIGITS):
        up, down = (1 + real(mean)) / 2, (1 - real(mean)) / 2

        def risk(theta: mpf) -> mpf:
            return up * mp.sqrt(1 + (theta - 1) ** 2) + down * mp.sqrt(1 + (theta + 1) ** 2)

        def slope(theta: mpf) -> mpf:
            left, right = theta - 1, theta + 1
            return up * left / mp.sqrt(1 + left**2) + down * right / mp.sqrt(1 + right**2)

        best = findroot(slope, (mpf(0), mpf(1)), solver="anderson", tol=mpf(10) ** -80)
        value = risk(mpf(0)) - risk(best)
        spread = 1 / mp.sqrt(size) + mp.sqrt(mp.log(1 / real(dlt))) / (size * real(eps))
        claimed = real(hidden) * best**2 * spread
    return Violation(
        claimed=claimed,
        found=value,
        statement="the excess risk is at most the constant times |theta*|^2 times the rate",
        violated=bool(value > claimed),
        label="lp_spaces/thm-8@literal",
        # |l'| < 1 and 0 < l'' <= 1; on a line every |.|_p is the absolute value.
        at={"epsilon": eps, "delta": dlt, "p": 2, "L": 1, "L_ell": 1, "H": 1, "H_ell": 1},
    )


def thm_10(
    n: int, d: int, kappa: Rational, epsilon: Rational, delta: Rational, beta: Rational, constant: Rational
) -> Violation:
    """lp_spaces/thm-10@literal: ell = <v, w>, |v|_q = 2 lambda, smoothness 0, M = 1: every gradient is zeroed.

    The output is symmetric about 0, so the expected excess is |v|_q M/2 = lambda.
    """
    size, dimension, regular = count("n", n), count("d", d), exact("kappa", kappa, above="99/100")
    eps, dlt, fails = (
        exact("epsilon", epsilon, below=1), exact("delta", delta, below=1), exact("beta", beta, below=1),
    )  # fmt: skip
    hidden = exact("constant", constant)
    with workdps(DIGITS):
        root = (real(regular) ** 2 * dimension * mp.log(1 / real(dlt))) ** mpf("0.25")
        value = mp.sqrt(size * real(eps)) / root
        claimed = real(hidden) * root * mp.log(1 / real(fails)) / mp.sqrt(size * real(eps))
    return Violation(
        claimed=claimed,
        found=value,
        statement="the excess risk is at most the constant times the printed rate",
        violated=bool(value > claimed),
        label="lp_spaces/thm-10@literal",
        at={
            "n": size,
            "d": dimension,
            "kappa": regular,
            "epsilon": eps,
            "delta": dlt,
            "beta": fails,
            "D": 1,
            "H": 0,
            "H_ell": 0,
            "sigma": 1,
            "sigma_ell": 0,
        },
    )
