"""Inequalities in one or two variables on a whole region, by subdivision in ball arithmetic.

A grid says nothing between its points. A ball contains every value that a formula takes on a box, rounding included;
where the ball of a margin is positive, so is the margin at every point of the box, and where it is not yet, the box is
halved along its longer side. What is proved of all boxes is proved of the region, open ends included, where a variable
is chosen that is finite there: w = 1/√log(1/δ) is 0 at δ = 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from dpcheck.claims import Claim
from dpcheck.errors import InvalidInput, MissingExtra

Claims = Callable[[str], Claim]
Margin = Callable[..., Any]
MOST = 20_000
"""Boxes of a region."""
EPSILON, W = sp.Symbol("epsilon", positive=True), sp.Symbol("w", positive=True)


@dataclass(frozen=True)
class Region:
    """Where an inequality is certified.

    Attributes:
        words: the inequality and the region.
        sides: from where to where each variable goes, as exact formulas.
        margin: claims -> a function of balls whose value is positive where the inequality holds.
    """

    label: str
    words: str
    sides: Mapping[str, tuple[str, str]]
    margin: Callable[[Claims], Margin]


@dataclass(frozen=True)
class Covered:
    """How many boxes cover a region, and below which number the margin is nowhere."""

    boxes: int
    least: Fraction

    def to_dict(self) -> dict[str, Any]:
        return {"boxes": self.boxes, "least": f"{float(self.least):.6g}"}


def arb(value: Any) -> Any:
    """A ball that contains a formula without symbols, or a rational."""
    flint = _flint()
    if isinstance(value, Fraction):
        return flint.arb(flint.fmpq(value.numerator, value.denominator))
    return evaluated(sp.sympify(value), {})


def hull(low: Any, high: Any) -> Any:
    """A ball that contains two balls and all between."""
    return low.union(high)


def evaluated(formula: Any, at: Mapping[str, Any]) -> Any:
    """A ball that contains all values of a formula, its symbols anywhere in theirs."""
    flint = _flint()
    if formula.is_Symbol:
        return at[formula.name]
    if formula.is_Rational:
        return flint.arb(flint.fmpq(int(formula.p), int(formula.q)))
    if formula is sp.pi:
        return flint.arb.pi()
    parts = [evaluated(part, at) for part in formula.args]
    if formula.is_Add or formula.is_Mul:
        total = parts[0]
        for part in parts[1:]:
            total = total + part if formula.is_Add else total * part
        return total
    if formula.is_Pow and formula.exp.is_Integer:
        return parts[0] ** int(formula.exp)
    if formula.is_Pow and (2 * formula.exp).is_Integer:
        return parts[0].sqrt() ** int(2 * formula.exp)
    if isinstance(formula, sp.exp | sp.log):
        return parts[0].exp() if isinstance(formula, sp.exp) else parts[0].log()
    raise InvalidInput(f"{formula} is not evaluated in balls; write it with +, *, integer powers, roots, exp and log")


def covered(region: Region, claims: Claims) -> Covered:
    """Boxes on which the margin is positive, all of the region.

    Raises:
        InvalidInput: the margin is negative on a box, or too many boxes leave it open; the message says where.
        MissingExtra: the extra 'certificates' is not installed.
    """
    margin = region.margin(claims)
    names = list(region.sides)
    edges = {name: (arb(sp.sympify(low)), arb(sp.sympify(high))) for name, (low, high) in region.sides.items()}
    waiting = [dict.fromkeys(names, (Fraction(0), Fraction(1)))]  # shares of the sides, exact
    boxes, least = 0, None
    while waiting:
        box = waiting.pop()
        boxes += 1
        balls = {name: _side(*edges[name], *box[name]) for name in names}
        value = margin(**balls)
        where = ", ".join(f"{name} in {balls[name].str(6, radius=True)}" for name in names)
        if value < 0:
            raise InvalidInput(f"{region.label}: {region.words} fails, everywhere at {where}")
        if value > 0:
            low = _rational(value)
            least = low if least is None else min(least, low)
            continue
        if boxes + len(waiting) > MOST:
            raise InvalidInput(f"{region.label}: {MOST} boxes leave it open at {where}; choose a smaller region")
        widest = max(names, key=lambda name: box[name][1] - box[name][0])
        low, high = box[widest]
        waiting += [{**box, widest: (low, (low + high) / 2)}, {**box, widest: ((low + high) / 2, high)}]
    if least is None:
        raise InvalidInput(f"{region.label}: there is no box; give a region with sides")
    return Covered(boxes, least)


def _side(start: Any, end: Any, low: Fraction, high: Fraction) -> Any:
    """The part of a side between two shares of it."""
    return hull(start + (end - start) * arb(low), start + (end - start) * arb(high))


def _rational(ball: Any) -> Fraction:
    """A rational below a ball."""
    mantissa, exponent = ball.lower().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _flint() -> Any:
    try:
        import flint
    except ImportError as error:
        raise MissingExtra("ball arithmetic", "certificates") from error
    return flint


# -- the Gaussian mechanism --------------------------------------------------------------------------------------------


def _mills(a: Any) -> Any:
    """Q(a)/φ(a) over a ball: it falls, so its values lie between those at the ends."""
    ends = []
    for end in (a.lower(), a.upper()):
        flint = _flint()
        ends.append((end**2 / 2).exp() * (end / flint.arb(2).sqrt()).erfc() * (flint.arb.pi() / 2).sqrt())
    return hull(*ends)


def gaussian(squared: Callable[[Claims], sp.Expr]) -> Callable[[Claims], Margin]:
    """1 less δ(ε)/δ of a Gaussian mechanism, from its μ² as a formula of ε and δ, at δ = exp(−1/w²).

    With a = ε/μ − μ/2 and b = a + μ, e^ε φ(b) = φ(a), so that δ(ε)/δ = φ(a)(R(a) − R(b))/δ with Mills' ratio R.
    Where a ball reaches w = 0, R(a) is at most 1/a = w/(w a), and w a is finite.
    """

    def made(claims: Claims) -> Margin:
        formula = squared(claims)
        known = {"epsilon": EPSILON, "delta": sp.exp(-1 / W**2)}
        formula = formula.subs({s: known[s.name] for s in formula.free_symbols})
        square = sp.cancel(sp.expand_log(formula, force=True))
        signal = sp.cancel(W**2 * EPSILON**2 / square)  # (w ε/μ)²
        exponent = sp.expand(sp.expand(1 / W**2 - signal / W**2 / 2) + EPSILON / 2)
        pole = exponent.coeff(W, -2)
        rest = sp.expand(exponent - pole / W**2) - square / 8
        if not bool(pole <= 0) or rest.has(1 / W):
            raise InvalidInput(f"{formula}: the noise does not grow fast enough with 1/delta")

        def margin(epsilon: Any, w: Any) -> Any:
            flint = _flint()
            at, nothing = {"epsilon": epsilon, "w": w}, flint.arb(0)
            m = evaluated(square, at)
            half = m.sqrt() / 2 if m > 0 else hull(nothing, m.upper().sqrt()) / 2
            scaled = evaluated(signal, at).sqrt() - w * half
            size = evaluated(rest, at).exp() / (2 * flint.arb.pi()).sqrt()
            if not w > 0:
                return 1 - size * hull(nothing, w.upper() / scaled.lower()) if scaled > 0 else nothing
            a = scaled / w
            ratio = _mills(a) - _mills(a + 2 * half) if a.upper() < 50 else hull(nothing, 1 / a.lower())
            return 1 - size * (evaluated(pole, at) / w**2).exp() * ratio

        return margin

    return made


def _of_variance(label: str, sensitivity: str) -> Callable[[Claims], sp.Expr]:
    """μ² = Δ²/σ², of the claim's own σ²."""

    def squared(claims: Claims) -> sp.Expr:
        explicit = claims(label).explicit
        if explicit is None:
            raise InvalidInput(f"{label} has no explicit variance; name the claim that has one")
        (size,) = (s for s in explicit.free_symbols if s.name == sensitivity)
        return size**2 / explicit

    return squared


def _of_rate(label: str) -> Callable[[Claims], sp.Expr]:
    return lambda claims: sp.sympify(claims(label).explicit) ** 2


# -- four clipped losses -----------------------------------------------------------------------------------------------


def outward_pull() -> sp.Expr:
    """ψ(y)/y of the losses of `tsybakov/rem-2@parted`, with its factor y cancelled, so that balls resolve it at 0.

    ψ(y) = ((u_1 − v_1 y)/N₋ − (u_1 + v_1 y)/N₊)/2 with N±² = 1 + y² ± 2cy and c = <u, v>.
    """
    y, v, u = sp.Symbol("y"), (sp.Rational(5, 13), sp.Rational(12, 13)), (sp.Rational(3, 5), sp.Rational(4, 5))
    c = u[0] * v[0] + u[1] * v[1]
    plus, minus = (sp.sqrt(1 + sign * 2 * c * y + y**2) for sign in (1, -1))
    above = 2 * (c * (u[0] ** 2 + v[0] ** 2 * y**2) - u[0] * v[0] * (1 + y**2))
    return sp.sympify(above / (plus * minus * ((u[0] - v[0] * y) * plus + (u[0] + v[0] * y) * minus)))


def _drifts(claims: Claims) -> Margin:
    """The pull less the 9/50 of y that the derivation of the claim rests on."""
    if claims("tsybakov/rem-2@parted").relation != ">=":
        raise InvalidInput("tsybakov/rem-2@parted is to be a movement from below")
    pull = outward_pull()
    return lambda y: evaluated(pull, {"y": y}) - arb(Fraction(9, 50))


def _parts(claims: Claims) -> Margin:
    """1 less sy/f(y) of the losses of `tsybakov/rem-2@attained`, with the factor y cancelled.

    f(y) = (s/2)((3 − y)/N₋ − (3 + y)/N₊) with N±² = 4s²(2 ± y) + (1 ± y)²; the difference of the squares of (3 − y)N₊
    and (3 + y)N₋ is 8y(3 − y²)(1 − s²).
    """
    if claims("tsybakov/rem-2@attained").relation != ">=":
        raise InvalidInput("tsybakov/rem-2@attained is to be a movement from below")

    def length(square: Any) -> Any:
        return square.sqrt() if square > 0 else hull(_flint().arb(0), square.upper().sqrt())

    def margin(y: Any, s: Any) -> Any:
        plus, minus = (length(4 * s**2 * (2 + sign * y) + (1 + sign * y) ** 2) for sign in (1, -1))
        return 1 - plus * minus * ((3 - y) * plus + (3 + y) * minus) / (4 * (3 - y**2) * (1 - s**2))

    return margin


def _polynomial(*factors: tuple[Any, ...]) -> list[Any]:
    """The product of polynomials in one variable, by their coefficients."""
    product: list[Any] = [1]
    for factor in factors:
        terms: list[Any] = [0] * (len(product) + len(factor) - 1)
        for (i, left), (j, right) in itertools.product(enumerate(product), enumerate(factor)):
            terms[i + j] += left * right
        product = terms
    return product


def _sine(b: Any) -> Any:
    """Of the angle at which the losses of `tsybakov/rem-2@between` lean."""
    return (7 - 10 * b) / 14


def bernstein(b: Any) -> list[Any]:
    """How far (2f/(by))² exceeds (1 + b/20)², times a positive number, for the losses of `tsybakov/rem-2@between`.

    It is a polynomial in y², on [0, 1] nowhere less than the least of these coefficients of it: 4(h/b)²cos²2θ(sin 2θ +
    2h + h²(1 − y²) sin 2θ)² less (1 + b/20)²(NM)²(NA(y) + MA(−y))², with h = b(2 + b), sin θ = s, A(y) = cos θ + h(1 +
    y) sin θ, M = ‖g(y)‖, N = ‖g(−y)‖. In the last square NM is replaced by its chord.

    Args:
        b: a ball, or a series in one.
    """
    s = _sine(b)
    c, h, sine = (1 - s * s).sqrt(), b * (2 + b), 2 * s * (1 - s * s).sqrt()
    first, middle = c + h * s, 1 + 2 * h * sine + h * h
    numerator = (sine + 2 * h + h * h * sine, -h * h * sine)
    lengths = _polynomial((middle, h * h), (middle, h * h))
    lengths[1] -= 4 * h * h * (sine + h) * (sine + h)
    sums = _polynomial((first * first, h * h * s * s), (middle, h * h))
    sums[1] -= 4 * h * h * s * first * (sine + h)
    chord = (middle, (1 + 4 * h * (sine + h)).sqrt() - middle)
    crossed = _polynomial((first * first, -h * h * s * s), chord)
    sums = [2 * (one + other) for one, other in zip(sums, crossed, strict=True)]
    above = _polynomial((4 * (2 + b) * (2 + b) * (1 - 2 * s * s) * (1 - 2 * s * s),), numerator, numerator)
    below = _polynomial(((1 + b / 20) * (1 + b / 20),), tuple(lengths), tuple(sums))
    terms = [one - other for one, other in itertools.zip_longest(above, below, fillvalue=0)]
    return [
        sum(math.comb(i, k) * terms[k] / math.comb(4, k) for k in range(i + 1))  # of y^2k, k = 0, ..., 4
        for i in range(5)
    ]


def _rests(claims: Claims) -> Margin:
    """The least of `bernstein` over b; it is 0 at b = 0, and there the least of its slopes.

    The claim is bC/λ at α = 2(2 + b)λ/sin θ, or there is nothing to certify.
    """
    label, b = "tsybakov/rem-2@between", sp.Symbol("b", positive=True)
    claim = claims(label)
    known = {"C": 1, "lambda": 1, "H": 2 * (2 + b) / _sine(b)}
    distance = sp.sympify(claim.explicit)
    distance = distance.subs({s: known[s.name] for s in distance.free_symbols})
    if claim.relation != ">=" or sp.simplify(distance - b):
        raise InvalidInput(f"{label} is to be a movement of bC/lambda from below")

    def margin(b: Any) -> Any:
        if b > 0:
            return min(bernstein(b), key=lambda ball: ball.lower()) / b
        slopes = (term[1] for term in bernstein(_flint().arb_series([b, 1], prec=2)))
        return min(slopes, key=lambda ball: ball.lower())

    return margin


REGIONS: tuple[Region, ...] = (
    Region(
        "lp_spaces/lem-2@corrected",
        "delta(eps) <= delta for 0 < eps <= 1, 0 < delta <= 1/2",
        {"epsilon": ("0", "1"), "w": ("0", "1/sqrt(log(2))")},
        gaussian(_of_variance("lp_spaces/lem-2@corrected", "L")),
    ),
    Region(
        "user_level/lem-a6@corrected",
        "delta(eps) <= delta for 0 < eps <= 5/2, 0 < delta <= 1/2",
        {"epsilon": ("0", "5/2"), "w": ("0", "1/sqrt(log(2))")},
        gaussian(_of_variance("user_level/def-a5", "Delta")),
    ),
    Region(
        "tsybakov/def-3@corrected",
        "delta(eps) <= delta for 0 < eps <= 1, 0 < delta <= 0.99",
        {"epsilon": ("0", "1"), "w": ("0", "1/sqrt(log(100/99))")},
        gaussian(_of_rate("tsybakov/def-3")),
    ),
    Region(
        "tsybakov/rem-2@parted",
        "psi(y) >= 9y/50 for 0 <= y <= 1",
        {"y": ("0", "1")},
        _drifts,
    ),
    Region(
        "tsybakov/rem-2@attained",
        "f(y) >= s y for 0 <= y <= 1, 0 <= s <= 1/5",
        {"y": ("0", "1"), "s": ("0", "1/5")},
        _parts,
    ),
    Region(
        "tsybakov/rem-2@between",
        "2 f(y) >= (1 + b/20) b y for 0 <= y <= 1, 0 <= b <= 7/10",
        {"b": ("0", "7/10")},
        _rests,
    ),
)
"""What is certified on a region."""
