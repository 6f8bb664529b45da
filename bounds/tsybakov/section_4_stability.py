"""Section 4: how far clipped descent moves on smooth losses, as a function of their conditioning, from both sides."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import C, H, R, eta, lambda_, n

from ._paper import x
from .section_4 import rem_2_one_step

CONDITIONING = sp.sqrt(H / lambda_)
"""√(α/λ)."""


def _pull(z: sp.Expr) -> sp.Expr:
    """Over C, at αr/C = z."""
    return (sp.sqrt(1 + z) - 1) / (sp.sqrt(1 + z) + 1)


rem_2_smooth_pull = rem_2_one_step.as_read(
    "tsybakov/rem-2@smooth-pull",
    "How hard a clipped smooth loss may push two points apart",
    "For the clipped gradient c of one convex α-smooth loss and x, y at distance r, −<c(x) − c(y), x − y> <= "
    "C((q − 1)/(q + 1))r with q = √(1 + αr/C), in every dimension and at every level.",
    quantity="speed at which descent parts two points at distance R",
    explicit=C * _pull(H * R / C),
    remark="Unclipped gradients never push apart. It tends to C as αr grows.",
)

rem_2_smooth = rem_2_one_step.as_read(
    "tsybakov/rem-2@smooth",
    "How far Algorithm 2 moves on smooth losses",
    "On neighbouring batches of n convex α-smooth losses, α > 4λ, two runs are at most (C/λ)(1 − 2/s + ((s − 1)/(s − "
    "2))(2/n + 3ηλs/(s − 2))) apart after every number of steps, s = √(α/λ), over every closed convex set.",
    quantity="movement of every iterate",
    explicit=C
    / lambda_
    * (
        1
        - 2 / CONDITIONING
        + (CONDITIONING - 1) / (CONDITIONING - 2) * (2 / n + 3 * eta * lambda_ * CONDITIONING / (CONDITIONING - 2))
    ),
    assumptions=(sp.Lt(4 * lambda_, H), sp.Le(eta * lambda_, 1)),
    remark="As n → ∞ and η → 0 it is (C/λ)(1 − 2√(λ/α)); below α = 8λ `@conditioned` is smaller.",
)

rem_2_attained = rem_2_one_step.as_read(
    "tsybakov/rem-2@attained",
    "A movement that tends to the largest there is",
    "Let α = 2λ/s³, s <= 1/5, v = (s, √(1 − s²)) and h'(t) = (C/(2s))(1 + clip(2sαt/C, −1, 1)). The loss C w_1 + h(<v, "
    "w>) is convex and α-smooth. On n − 1 = 4j of it and its mirror images in both coordinates, and one loss ±C w_1, "
    "the runs of Algorithm 2 from 0 with ηλ <= 1/n and T >= (2/(ηλ)) log(4/(ηλ)) steps end at least (C/λ)(1 − "
    "2(2λ/α)^{1/3}) apart, whatever n is.",
    quantity="movement of the last iterate",
    relation=">=",
    explicit=C / lambda_ * (1 - 2 * (2 * lambda_ / H) ** sp.Rational(1, 3)),
    assumptions=(sp.Le(250 * lambda_, H), sp.Le(eta * lambda_ * n, 1), sp.Ge(n, 5)),
    remark="So `@every-loss` and `@smooth` are attained in the limit: 3/5 of C/λ at α = 250λ, all of it as α/λ grows.",
)


@derivation("tsybakov/rem-2@smooth-pull", also=("tsybakov/rem-2@smooth",))
def two_clipped_gradients(proof: Proof) -> None:
    """Of g = g(x) and k = g(y), over C, <g − k, e> >= ‖g − k‖²/z at e = (x − y)/r, z = αr/C.

    A = <c(y), e>, B = <c(x), e>; t is the length of g less one, k being the shorter one.
    """
    t, q, Q = sp.symbols("t q Q", positive=True)
    proof.argues("if A > B they have one sign; were it negative, x and y change places; ‖g‖ > ‖k‖ and g is clipped")
    proof.argues("‖g‖B >= max(1, ‖k‖)A + (‖g‖ − ‖k‖)²/z, A <= min(1, ‖k‖), so ‖g‖(A − B) is most where ‖k‖ = 1 = A")
    most = proof.argues("A − B with ‖g‖ = 1 + t and z = q² − 1", "", "<=", (t - t**2 / (q**2 - 1)) / (1 + t))
    best = (q - 1) / (q + 1)
    proof.equal(
        "it falls short by a square, 0 at t = q − 1",
        lambda: (best - most) * (q**2 - 1) * (1 + t),
        (t - (q - 1)) ** 2,
    )
    proof.concludes("tsybakov/rem-2@smooth-pull", C * best.subs(q, sp.sqrt(1 + H * R / C)))
    # A step, in units of C/λ: ρ its distance, κ = α/λ, s = √κ, ηλ = x.
    s, rho = sp.symbols("s rho", positive=True)
    proof.assumes("tsybakov/rem-2@smooth", eta * lambda_, sp.S.One)
    proof.argues(
        "‖δ⁺‖² <= (1 − ηλ)²‖δ‖² − 2η(1 − ηλ)<m, δ> + η²‖m‖², m the mean of c_i(x) − c_i(y) over n records, ‖m‖ <= 2C"
    )
    rest, slope = 1 - 2 / s, 1 / (Q * (Q + 1) ** 2)
    proof.equal(
        "the pull at z lies below its tangent at Q² − 1, z = q² − 1, by a square",
        lambda: ((Q - 1) / (Q + 1) - best + slope * (q**2 - Q**2)) * Q * (Q + 1) ** 2 * (q + 1),
        (q - Q) ** 2 * (q + 2 * Q + 1),
    )
    proof.equal("at Q = s − 1, where κρ = Q² − 1, the pull is ρ", lambda: ((Q - 1) / (Q + 1)).subs(Q, s - 1), rest)
    proof.equal("there the speeds agree: ρκ", lambda: rest * s**2, ((s - 1) ** 2 - 1))
    proof.equal("and its slope in ρ", lambda: s**2 * slope.subs(Q, s - 1), 1 / (s - 1))
    needed = 2 / n + 3 * x / rest
    more = needed * (s - 1) / (s - 2)
    proof.equal(
        "so at ρ = 1 − 2/s + more the tangent leaves",
        lambda: (rest + more) - (rest + more / (s - 1)),
        needed,
        {s: 2 + Q},
    )
    proof.argues("which is 2/n for the other record, and for ρ <= 2 more than 2ηλ/ρ + ηλρ/2; beyond 2 two reaches end")
    room = rho - 2 * x / rho - x * rho / 2
    proof.equal(
        "ρ² less the square after a step whose pull and 2/n are that room, which is no less than they and so positive",
        lambda: rho**2 - (1 - x) ** 2 * rho**2 - 2 * x * (1 - x) * rho * room - 4 * x**2,
        2 * x**2 * rho * room,
    )
    proof.concludes(
        "tsybakov/rem-2@smooth",
        (C / lambda_ * (rest + more)).subs({s: CONDITIONING, x: eta * lambda_}),
        where={H: lambda_ * (2 + Q) ** 2},
    )


@derivation("tsybakov/rem-2@attained")
def losses_that_part_from_the_start(proof: Proof) -> None:
    """Both runs stay on the first axis, opposite to each other; y = 2αs²w_1/C, and every gradient is at least C long.

    f(y) is the outward pull of the four over C. That f(y) >= sy for 0 <= y <= 1 and s <= 1/5 is certified by
    subdivision; from y = 1 on the pull is constant, and the runs tend to where it equals that of the regulariser.
    """
    s, y, product, z = sp.symbols("s y P z", positive=True)
    label = "tsybakov/rem-2@attained"
    proof.assumes(label, 250 * lambda_, H)
    proof.assumes(label, eta * lambda_ * n, sp.S.One)
    first, squared = (3 + y) / 2, 1 + (1 + y) + (1 + y) ** 2 / (4 * s**2)
    across = 1 - s**2
    proof.equal(
        "the gradient over C at y, e_1 + ((1 + y)/(2s))v: its square",
        lambda: first**2 + ((1 + y) / (2 * s)) ** 2 * across,
        squared,
    )
    proof.equal(
        "C/(the y of one w_1) at α = 2λ/s³, in units of λ",
        lambda: 2 * H * s**2 / lambda_,
        4 / s,
        {H: 2 * lambda_ / s**3},
    )
    pull = proof.argues("by subdivision on [0, 1] × [0, 1/5]", "f(y)", ">=", s * y)
    proof.at_most(
        "a step adds to y, in units of ηλ, at n >= 5",
        lambda: sp.Rational(11, 5) * y + 20 / n,
        4 / s * ((1 - 1 / n) * pull + 1 / n) - y,
        {n: 5 + z, s: 1 / (5 + product)},
    )
    proof.argues("so y_t >= (9/n)((1 + 11P/5)^t − 1), P = ηλ <= 1/5, and log(1 + 11P/5) >= (11P/5)/(1 + 11P/5) >= 3P/2")
    proof.argues("at t >= T/2 − 1 >= log(4/P)/P − 1 it is past 1, (4n)^{3/2}/(36/25) >= 4n + 1", "y_t", ">=", 1)
    last = 4 * s / sp.sqrt(12 * s**2 + 4)
    proof.equal(
        "from there on the four pull by", lambda: (first * s * 2 / sp.sqrt(4 * s**2 * squared)).subs(y, 1), last
    )
    proof.at_most("which is no more than 2s: the squares", lambda: last**2, 4 * s**2)
    proof.argues("(1 − P)^{T/2} <= P/4 <= 1/(4n) is left of the way to the fixed point, (C/λ)(F + (1 − F)/n)")
    fixed = sp.Symbol("F", positive=True)
    proof.at_most(
        "and with F = (1 − 2s)/2 <= 1/2 that is no less than F",
        lambda: fixed,
        (fixed + (1 - fixed) / n) * (1 - 1 / (4 * n)),
        {fixed: 1 / (2 + z), n: 5 + product},
    )
    apart = 2 * C / lambda_ * (1 - 2 * s) / 2
    proof.concludes(label, apart.subs(s, (2 * lambda_ / H) ** sp.Rational(1, 3)))
