"""Verifiers for `pure_heavy_tails`: each rebuilds a statement, or a step of a proof, and its violation from parameters.

Parameters are integers or strings of rationals ("1/3"); floats are refused, for they are seldom what was meant. The
algebra behind each verifier stands in `bounds/pure_heavy_tails.md` under the same item.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mpmath import mp, mpf, quad, workdps

from dpcheck.witnesses import Violation
from dpcheck.witnesses.numbers import DIGITS, Rational, count, exact, real

__all__ = [
    "alg_1_phases",
    "alg_7_diameter",
    "fact_gamma_tail",
    "lem_c_2_epsilon",
    "lem_g_1_display",
    "prop_3_2_budget",
    "prop_c_3",
    "prop_c_5_oracle",
    "prop_e_4",
    "prop_g_4_inequality",
    "thm_2_1_runtime",
    "thm_4_1_literal",
    "thm_b_1",
    "thm_e_1_identity",
]


def prop_c_3(
    spike: Rational,
    p: Rational,
    k: int,
    G_k: Rational,
    C: Rational,
    lambda_: Rational,
    epsilon: Rational,
    n: int,
    D: Rational,
    c1: Rational,
) -> Violation:
    """pure_heavy_tails/prop-c-3, first display: linear losses on an interval whose slope is `spike` with probability p.

    W = [-D/2, D/2], centre 0, f(w, z) = z w, z = spike with probability p and 0 otherwise. `found` is a distance from
    the regularised minimiser that *every* point of W_0 exceeds with probability at least 0.99, whatever the second
    stage does and wherever in its licence the solver of Algorithm 2 stops; `claimed` is the printed radius, which
    should hold with probability 0.8 - e^-3 = 0.75. The second stage of Algorithm 4 meets the hypothesis with c1 = 28
    when epsilon <= 1 and d = 1, so a smaller c1 is refused.
    """
    size, order = count("n", n), count("k", k, 2)
    a, chance = exact("spike", spike), exact("p", p, most=1)
    moment, clip, weight = exact("G_k", G_k), exact("C", C), exact("lambda_", lambda_)
    budget, width, constant = exact("epsilon", epsilon, most=1), exact("D", D), exact("c1", c1, above="2799/100")
    if chance * a**order > moment**order:
        raise ValueError(f"the moment condition fails: p spike^k = {chance * a**order} > G_k^k = {moment**order}")
    if a / weight > width / 2:
        raise ValueError(f"the minimiser may leave the interior: spike/lambda_ = {a / weight} > D/2 = {width / 2}")
    unit = clip / (weight * size * budget)
    with workdps(DIGITS):
        # Two tails of probability 1/200 each: Hoeffding for the number of spikes, exact for the Laplace noise.
        slack = mp.sqrt(mp.log(200) / (2 * size)) if chance < 1 else mpf(0)
        gap = real(max(a - clip, Fraction(0)) / weight) * max(mpf(0), real(chance) - slack)
        noise = 12 * real(unit) * mp.log(200)
        largest = max(mpf(0), gap - real(unit * budget) - noise - 600 * real(unit))
        squared = 60000 * moment**order / ((order - 1) * weight**2 * size * budget * clip ** (order - 2))
        claimed = real(constant * unit) + mp.sqrt(real(squared))
    return Violation(
        claimed=claimed,
        found=largest,
        statement="the distance to the regularised minimiser is at most the printed radius with probability 0.75",
        violated=bool(largest > claimed),
        label="pure_heavy_tails/prop-c-3",
        at={
            "k": order,
            "G_k": moment,
            "C": clip,
            "lambda": weight,
            "epsilon": budget,
            "n": size,
            "d": 1,
            "D": width,
            "c_1": constant,
        },
    )


def prop_3_2_budget(
    epsilon: Rational, m: int, D: Rational, lambda_: Rational, c_erm: Rational, slope: Rational = 1
) -> Violation:
    """pure_heavy_tails/prop-3-2@literal: the target (6) at a large epsilon, solvers at the edge of their licence.

    W = [-D/2, D/2], centre 0, f(w, z) = slope w for every z, k = 2, so that A = G_2 = G_k = slope and C = slope sqrt(m
    epsilon) >= slope: the extension is f, and its regularised risk is a parabola on W. The solver of the first stage
    stops at C/(lambda m) from the minimiser, which its gap C^2/(2 lambda m^2) allows. `found` is a distance that every
    point of W_0 exceeds with probability 0.995, whatever the second stage does; `claimed` is the radius (6), due with
    probability 0.7.
    """
    size, budget, constant = count("m", m), exact("epsilon", epsilon), exact("c_erm", c_erm)
    weight, width, steep = exact("lambda_", lambda_), exact("D", D), exact("slope", slope)
    if size * budget < 1:
        raise ValueError(f"the extension is the loss for sqrt(m epsilon) >= 1, got {size * budget}")
    with workdps(DIGITS):
        cap = real(steep) * mp.sqrt(real(size * budget))
        unit = cap / (real(weight) * size)
        # The noise of the first stage has scale 12 unit/epsilon, the ball a radius of 600 unit/epsilon.
        spread = (600 + 12 * mp.log(200)) * unit / real(budget)
        if real(steep / weight) + unit + spread > real(width) / 2:
            raise ValueError(f"W_0 may reach the end of W: D = {width} is too small for lambda_ = {weight}, m = {size}")
        largest = max(mpf(0), unit - spread)
        claimed = real(constant * steep / weight) * (1 / mp.sqrt(real(size * budget)) + 1 / mp.sqrt(size))
    return Violation(
        claimed=claimed,
        found=largest,
        statement="the distance to the regularised minimiser meets (6) with probability 0.7",
        violated=bool(largest > claimed),
        label="pure_heavy_tails/prop-3-2@literal",
        at={
            "k": 2,
            "epsilon": budget,
            "m": size,
            "d": 1,
            "D": width,
            "lambda": weight,
            "C": cap,
            "G_k": steep,
            "G_2": steep,
            "c_erm": constant,
        },
    )


def _log_pmf(points: Sequence[Fraction], gamma: mpf, weight: mpf, coefficient: mpf) -> list[mpf]:
    """Log-probabilities of EM-PGM on [-1/2, 1/2], centre 0, when every clipped gradient is 1: scores (19)."""
    half = mpf(1) / 2
    scores = []
    for point in points:
        w = real(point)
        step = w - gamma * (1 + weight * w)
        scores.append(abs(w - min(half, max(-half, step))) / gamma)
    best = min(scores)
    log_total = mp.log(mp.fsum(mp.exp(-coefficient * (s - best)) for s in scores))
    return [-coefficient * (s - best) - log_total for s in scores]


def prop_e_4(n: int, places: int, high: Rational, epsilon: Rational, lambda_: Rational, smoothness: str) -> Violation:
    """pure_heavy_tails/prop-e-4@literal: EM-PGM with gamma = 1/(lambda + H_Z) computed from the data.

    W = [-1/2, 1/2], tau = 1/sqrt(n), clip level 1. All slopes a_i are 1; in the neighbour the first one is `high` >= 1.
    Every clipped gradient is 1 under both, so gamma is all that differs; the net of `places` points is common.
    `smoothness` says which H: "bound" is the printed (d/tau) max L_i, with f = a |w + 5|; "exact" is the true constant
    mean(a_i)/tau of the smoothed f = a max(w, 3w - 4/5).
    """
    size, last = count("n", n), count("places", places, 2) - 1
    top = exact("high", high)
    if top < 1:
        raise ValueError(f"high must be at least the clip level 1, got {high}")
    if smoothness not in ("bound", "exact"):
        raise ValueError(f"smoothness must be 'bound' or 'exact', got {smoothness!r}")
    net = [Fraction(i, last) - Fraction(1, 2) for i in range(last + 1)]
    slopes = (Fraction(1), top if smoothness == "bound" else (top + size - 1) / size)
    with workdps(DIGITS):
        budget, weight = real(exact("epsilon", epsilon)), real(exact("lambda_", lambda_))
        steps = [1 / (weight + mp.sqrt(size) * real(slope)) for slope in slopes]
        # C = G_k (epsilon n/d)^(1/k) = 1 at k = 2 says which G_k is public; privacy asks nothing else of it.
        scale = 1 / mp.sqrt(budget * size)
        # epsilon/(2 Delta) with Delta = 2 C/n and C = 1.
        laws = [_log_pmf(net, gamma, weight, budget * size / 4) for gamma in steps]
        largest = max(abs(a - b) for a, b in zip(*laws, strict=True))
    return Violation(
        claimed=budget,
        found=largest,
        statement="the privacy loss of EM-PGM with the printed step size is at most epsilon",
        violated=bool(largest > budget),
        label="pure_heavy_tails/prop-e-4@literal",
        at={
            "k": 2,
            "G_k": scale,
            "C": 1,
            "epsilon": epsilon,
            "lambda": exact("lambda_", lambda_),
            "n": size,
            "d": 1,
            "D": 1,
        },
    )


def thm_4_1_literal(
    atoms: Sequence[Rational],
    weights: Sequence[Rational],
    k: int,
    n: int,
    D: Rational,
    epsilon: Rational,
    delta: Rational,
    constant: Rational,
) -> Violation:
    """pure_heavy_tails/thm-4-1@literal: one instance against every private algorithm, met by a constant one.

    f(w, z) = z w on [-D/2, D/2] with z on `atoms`; the algorithm returns -sgn(E z) D/2 and reads no data. `found` is
    its excess risk, surely; `claimed` is the printed bound with that constant, to be reached with probability delta.
    """
    values = [exact("atoms", a, above=None) for a in atoms]
    shares = [exact("weights", w) for w in weights]
    if len(values) != len(shares) or sum(shares) != 1:
        raise ValueError(f"weights must sum to 1, one for each of the {len(values)} atoms; they sum to {sum(shares)}")
    size, order = count("n", n), count("k", k, 2)
    width, share = exact("D", D), exact("constant", constant)
    budget, failure = exact("epsilon", epsilon, most=1), exact("delta", delta, most="199/1000")
    mean = sum((w * a for w, a in zip(shares, values, strict=True)), Fraction(0))
    point = -width / 2 if mean > 0 else width / 2
    excess = mean * point + abs(mean) * width / 2
    with workdps(DIGITS):
        moments = {
            j: mp.root(real(sum((w * abs(a) ** j for w, a in zip(shares, values, strict=True)), Fraction(0))), j)
            for j in (1, 2, order)
        }
        log = mp.log(1 / real(failure))
        private = moments[order] * ((1 + log) / (size * real(budget))) ** (1 - mpf(1) / order)
        claimed = real(share * width) * min(moments[1], moments[2] * mp.sqrt(log / size) + private)
        found = real(excess)
    return Violation(
        claimed=claimed,
        found=found,
        statement="the excess risk of every private algorithm on this instance is at least the bound",
        violated=bool(found < claimed),
        label="pure_heavy_tails/thm-4-1@literal",
        at={
            "k": order,
            "n": size,
            "d": 1,
            "D": width,
            "epsilon": budget,
            "beta": failure,
            "G_1": moments[1],
            "G_2": moments[2],
            "G_k": moments[order],
        },
    )


def fact_gamma_tail(d: int, t: Rational) -> Violation:
    """pure_heavy_tails/fact-gamma-tail@literal: Pr(||b|| > beta (d + t)) where ||b||/beta ~ Gamma(d), a finite sum."""
    dimension, excess = count("d", d), exact("t", t, above=None)
    if excess < 0:
        raise ValueError(f"t must be >= 0, got {t}")
    with workdps(DIGITS):
        x = real(dimension + excess)
        term = total = mpf(1)
        for j in range(1, dimension):
            term = term * x / j
            total += term
        value, claimed = mp.exp(-x) * total, mp.exp(-real(excess))
    return Violation(
        claimed=claimed,
        found=value,
        statement="the radius of isotropic Laplace noise exceeds beta (d + t) with probability at most e^-t",
        violated=bool(value > claimed),
        label="pure_heavy_tails/fact-gamma-tail@literal",
        at={"d": dimension, "t": excess},
    )


def lem_c_2_epsilon(epsilon: Rational, zeta: Rational) -> Violation:
    """pure_heavy_tails/lem-c-2@literal: containment at any epsilon, d = 1, with the solver at the edge of its licence.

    In units of C/(lambda n) the approximate minimiser lies at distance 1, the Laplace scale is 6/epsilon and the
    radius 100 zeta/epsilon; the minimiser is contained when |1 + b| is at most the radius.
    """
    budget, tail = exact("epsilon", epsilon), exact("zeta", zeta)
    if tail < 1:
        raise ValueError(f"Algorithm 2 takes zeta >= 1, got {zeta}")
    radius = 100 * tail / budget
    with workdps(DIGITS):
        near = mp.exp(-real(abs(radius - 1) * budget / 6)) / 2
        far = mp.exp(-real((radius + 1) * budget / 6)) / 2
        value = 1 - near - far if radius >= 1 else near - far
        claimed = 1 - mp.exp(-real(tail))
    return Violation(
        claimed=claimed,
        found=value,
        statement="the localised domain contains the minimiser with probability at least 1 - e^-zeta",
        violated=bool(value < claimed),
        label="pure_heavy_tails/lem-c-2@literal",
        at={"epsilon": budget, "zeta": tail, "d": 1},
    )


def lem_g_1_display(mean: Sequence[Rational], point: Sequence[Rational], D: Rational) -> Violation:
    """pure_heavy_tails/lem-g-1@literal: the proof's lower bound (Dm/2)(1 - <u, -A/||A||>) on the excess risk of A."""
    mu = [exact("mean", v, above=None) for v in mean]
    out = [exact("point", v, above=None) for v in point]
    width = exact("D", D)
    if len(mu) != len(out) or not any(mu) or not any(out) or sum(v * v for v in out) > width**2 / 4:
        raise ValueError(
            "mean and point must be non-zero vectors of one length, the point within the ball of radius D/2"
        )
    inner = sum((u * v for u, v in zip(mu, out, strict=True)), Fraction(0))
    with workdps(DIGITS):
        m, length = (mp.sqrt(real(sum((v * v for v in vector), Fraction(0)))) for vector in (mu, out))
        value = real(inner) + real(width) * m / 2
        claimed = real(width) / 2 * (m + real(inner) / length)
    return Violation(
        claimed=claimed,
        found=value,
        statement="the excess risk is at least (Dm/2)(1 - <u, -A/||A||>)",
        violated=bool(value < claimed),
        label="pure_heavy_tails/lem-g-1@literal",
        at={"D": width, "mu": m},
    )


def thm_b_1(C: Rational, a: Rational, G_k: Rational, beta0: Rational, beta1: Rational) -> Violation:
    """pure_heavy_tails/thm-b-1@literal: two adaptive queries tell the printed pair f_0, f_1 apart, whatever v is.

    The first query is 0, where the gradient is -a v; the second is v/2, read off it. `found` is the difference of the
    two function values there, (beta1 - beta0) phi(1/2); the proof says that it is 0.
    """
    cap, slope, moment = exact("C", C), exact("a", a), exact("G_k", G_k)
    low, high = exact("beta0", beta0), exact("beta1", beta1)
    with workdps(DIGITS):
        top = mp.exp(-1) - mp.sqrt(mp.pi) * mp.erfc(1)
        if not (cap < slope and low < high and real(slope) + real(high) * top <= real(moment)):
            raise ValueError("the construction needs C < a, beta0 < beta1 and a + beta1 M <= G_k with M = 0.08907")
        half, queries = mpf(1) / 2, 2
        phi = quad(lambda r: (half - r) * mp.exp(-1 / r**2) if r else mpf(0), [0, half / 4, half / 2, half])
        value = real(high - low) * phi
    return Violation(
        claimed=mpf(0),
        found=value,
        statement="the two functions answer every query of the algorithm alike",
        violated=bool(value > 0),
        label="pure_heavy_tails/thm-b-1@literal",
        at={"C": cap, "G_k": moment, "T": queries, "d": queries + 1},
    )


def alg_1_phases(n: int, J: int) -> Violation:
    """pure_heavy_tails/alg-1@literal: T = ceil(log2 n) phases; the last block holds floor(floor(n/2^T)/J) records."""
    size, blocks = count("n", n), count("J", J)
    phases = (size - 1).bit_length()
    value = mpf(size // 2**phases // blocks)
    return Violation(
        claimed=mpf(1),
        found=value,
        statement="every block of every phase holds at least one record",
        violated=bool(value < 1),
        label="pure_heavy_tails/alg-1@literal",
        at={"n": size, "J": blocks},
    )


def alg_7_diameter(C: Rational, lambda_: Rational, epsilon: Rational, m: int, d: int, D: Rational) -> Violation:
    """pure_heavy_tails/alg-7@literal: D_0 = 600 C d/(lambda epsilon m) against the diameter of W_0 about the centre."""
    cap, weight, budget = exact("C", C), exact("lambda_", lambda_), exact("epsilon", epsilon)
    size, dimension, width = count("m", m), count("d", d), exact("D", D)
    unit = cap * dimension / (weight * budget * size)
    # Algorithm 2 with budget epsilon/2 and zeta = 3: radius 100 zeta C d/(lambda m (epsilon/2)).
    radius = 100 * 3 * unit * 2
    with workdps(DIGITS):
        claimed, value = real(600 * unit), real(min(width, 2 * radius))
    return Violation(
        claimed=claimed,
        found=value,
        statement="the diameter of the localised domain is at most D_0",
        violated=bool(value > claimed),
        label="pure_heavy_tails/alg-7@literal",
        at={
            "C": cap,
            "lambda": weight,
            "epsilon": budget,
            "m": size,
            "d": dimension,
            "D": width,
        },
    )


def prop_c_5_oracle(first: Rational, alpha: Rational, L: Rational = 1, D: Rational = 1) -> Violation:
    """pure_heavy_tails/prop-c-5@literal: a subgradient relative to K may be long where the function is 1-Lipschitz.

    K = [0, D], Phi(x) = L x, x_1 = 0; every g <= L is a subgradient at 0 relative to K, and the oracle returns -`first`
    there. Then S_t >= first^2, so that 3 D sqrt(S_t) <= alpha t needs t >= 3 first/alpha; no subgradient is 0.
    """
    length, target, slope, width = exact("first", first), exact("alpha", alpha), exact("L", L), exact("D", D)
    value, claimed = -(-3 * width * length // target), -(-((3 * width * slope) ** 2) // target**2)
    return Violation(
        claimed=mpf(int(claimed)),
        found=mpf(int(value)),
        statement="Algorithm 3 halts after at most ceil((3 D L/alpha)^2) steps",
        violated=bool(value > claimed),
        label="pure_heavy_tails/prop-c-5@literal",
        at={"D": width, "L": slope, "alpha": target},
    )


def thm_2_1_runtime(n: int, J: int, power: int) -> Violation:
    """pure_heavy_tails/thm-2-1@literal: total time over Time(n, lambda_1) for a solver with Time = lambda^2 m^5.

    That is how the step bound of Algorithm 4 depends on lambda and m. `claimed` is (log2 n)^power, the reading of the
    printed O~ with that power; phases end before blocks are empty.
    """
    size, blocks, exponent = count("n", n, 2), count("J", J), count("power", power, 0)
    ratio, t = Fraction(0), 1
    while size // 2**t // blocks:
        ratio += blocks * 32 ** (2 * (t - 1)) * Fraction(size // 2**t // blocks, size) ** 5
        t += 1
    with workdps(DIGITS):
        value, claimed = real(ratio), mp.log(size, 2) ** exponent
    return Violation(
        claimed=claimed,
        found=value,
        statement="the total time is at most (log2 n)^power times the time of one call at n and lambda_1",
        violated=bool(value > claimed),
        label="pure_heavy_tails/thm-2-1@literal",
        at={"n": size, "J": blocks},
    )


def thm_e_1_identity(w: Rational, gradient: Rational, gamma: Rational, D: Rational) -> Violation:
    """pure_heavy_tails/thm-e-1@literal: (w - P(T w))/gamma against (T w - P(T w))/gamma on W = [-D/2, D/2].

    T w = w - gamma g, with g the clipped mean gradient plus lambda (w - w_0). The instance: linear losses of that
    slope, which are H-smooth for every H, C no smaller than it, centre w_0 = w, and lambda = H = 1/(2 gamma), so that
    gamma is the theorem's 1/(lambda + H).
    """
    half = exact("D", D) / 2
    point, step = exact("w", w, above=None), exact("gamma", gamma)
    if abs(point) > half:
        raise ValueError(f"w must lie in W = [-{half}, {half}], got {w}")
    moved = point - step * exact("gradient", gradient, above=None)
    projected = min(half, max(-half, moved))
    with workdps(DIGITS):
        claimed, value = real((moved - projected) / step), real((point - projected) / step)
    return Violation(
        claimed=claimed,
        found=value,
        statement="the projected gradient mapping equals (I - P)(T w)/gamma",
        violated=bool(value != claimed),
        label="pure_heavy_tails/thm-e-1@literal",
        at={"gamma": step, "lambda": 1 / (2 * step), "H": 1 / (2 * step), "D": 2 * half},
    )


def prop_g_4_inequality(size: int, d: int, zeta: Rational) -> Violation:
    """pure_heavy_tails/prop-g-4@literal: log((|V|-1)/(4 e zeta)) >= c (d + log(1/zeta)) > 0 for every |V| >= 2^d."""
    dimension = count("d", d)
    packing, tail = count("size", size, 2**dimension), exact("zeta", zeta, most="1/4")
    with workdps(DIGITS):
        logarithm = mp.log((packing - 1) / (4 * mp.e * real(tail)))
    return Violation(
        claimed=mpf(0),
        found=logarithm,
        statement="log((|V|-1)/(4 e zeta)) is positive whenever |V| >= 2^d and zeta <= 1/4",
        violated=bool(logarithm <= 0),
        label="pure_heavy_tails/prop-g-4@literal",
        at={"V": packing, "d": dimension, "zeta": tail},
    )
