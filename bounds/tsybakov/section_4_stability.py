"""Section 4, Remark 2: how far clipped descent moves, by the conditioning of the losses, from both sides."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import C, H, R, b, eta, kappa, lambda_, n

from ._paper import a, claim, x

rem_2 = claim(
    "tsybakov/rem-2",
    "Remark 2",
    "The stability of clipped gradient descent depends on the clip level C alone, and not on the Lipschitz constant.",
    kind="proposition",
    section="4",
    quantity="movement of the last iterate",
    relation="<=",
    explicit=2 * C / (n * lambda_),
    assumptions=(sp.Le(eta * H, 1),),
    about=("tsybakov/alg-2",),
    grade="refuted",
    remark="For d >= 2 it also depends on the conditioning of the losses: 4.43, 9.15 and 14.7 times 2C/(nλ) on "
    "explicit instances with smoothness 1 (S1).",
)

rem_2_corrected = rem_2.as_read(
    "tsybakov/rem-2@corrected",
    "Remark 2 where clipped steps contract",
    "2C/(nλ) for d = 1, linear, isotropic quadratic and generalised linear losses, at steps η(α + 2λ) <= 2.",
    origin="ours",
    assumptions=(sp.Le(eta * (H + 2 * lambda_), 2),),
)

rem_2_derived = rem_2_corrected.as_read(
    "tsybakov/rem-2@derived",
    "How far clipping may stretch the movement",
    "For losses ½(w − c)ᵀ diag(1, a)(w − c) whose gradients are all clipped along ±u, the movement tends to "
    "(1+a)/(2√a) times 2C/(nλ) as λ → 0, for the worst u.",
    quantity="movement over 2C/(nλ)",
    explicit=(1 + a) / (2 * sp.sqrt(a)),
    assumptions=(sp.Le(a, 1),),
)

rem_2_one_step = rem_2_derived.as_read(
    "tsybakov/rem-2@one-step",
    "One clipped step, exactly",
    "A step x − ηc(x) along the clipped subgradient of one convex loss takes two points at distance r at most ηC + "
    "√(r² + η²C²) apart, in every dimension; for d >= 2 no smaller number will do.",
    quantity="distance after a step from distance R",
    explicit=eta * C + sp.sqrt(R**2 + eta**2 * C**2),
    assumptions=(),
    remark="An unclipped step has √(r² + 4η²L²). Over T fresh losses the recursion grows as ηCT, not as 2ηL√T.",
)

rem_2_smooth_step = rem_2_one_step.as_read(
    "tsybakov/rem-2@smooth-step",
    "One clipped step on a smooth loss, exactly",
    "A step of size η <= 3/α along the clipped gradient of one convex α-smooth loss stretches distances by at most "
    "2/√(4 − ηα), in every dimension and at every level; for d >= 2 no smaller factor will do.",
    quantity="largest stretch of a step",
    explicit=2 / sp.sqrt(4 - eta * H),
    assumptions=(sp.Le(eta * H, 3),),
    remark="Unclipped steps of size 2/α or less stretch nothing.",
)

rem_2_every_step = rem_2_one_step.as_read(
    "tsybakov/rem-2@every-loss",
    "How far Algorithm 2 moves for every convex loss",
    "On neighbouring batches of n convex losses, smooth or not, two runs are at most (1 + 1/n)C/(λ(1 − ηλ/2)) apart "
    "after every number of steps, for 0 < ηλ <= 1, over every closed convex set: half of what two reaches add up to.",
    quantity="movement of every iterate",
    explicit=(1 + 1 / n) * C / (lambda_ * (1 - eta * lambda_ / 2)),
    assumptions=(sp.Le(eta * lambda_, 1),),
)

STRETCH = 2 * (1 - eta * lambda_) ** sp.Rational(3, 2) / sp.sqrt(4 * (1 - eta * lambda_) - eta * H)
"""Of a regularised clipped step on a smooth loss."""
rem_2_conditioned = rem_2_one_step.as_read(
    "tsybakov/rem-2@conditioned",
    "How far Algorithm 2 moves on losses of small conditioning",
    "On convex α-smooth losses with ηα < 4ηλ(1 − ηλ)(2 − ηλ), about α < 8λ, a step contracts by q = 2(1 − "
    "ηλ)^{3/2}/√(4(1 − ηλ) − ηα), so that two runs are at most 2ηC/(n(1 − q)) apart, which tends to 2C/(n(λ − α/8)) as "
    "η → 0.",
    quantity="movement of every iterate",
    explicit=2 * eta * C / (n * (1 - STRETCH)),
    assumptions=(sp.Lt(eta * H, 4 * eta * lambda_ * (1 - eta * lambda_) * (2 - eta * lambda_)),),
)

rem_2_saddle = rem_2_one_step.as_read(
    "tsybakov/rem-2@saddle",
    "Clipped descent repels a minimiser",
    "Four losses ½α<v, w>² ± R<u, w>, with v = (½, √3/2), u = (√3/2, ½) and with their mirror images, have the mean "
    "gradient 0 at 0; clipped at C <= R, their mean gradient is −(αC/(8R))w_1e_1 + o(w_1) along the first axis.",
    quantity="slope of the mean clipped gradient at the minimiser",
    relation="=",
    explicit=-H * C / (8 * R),
    assumptions=(sp.Le(C, R),),
    remark="At R = C two runs part by a factor 1 + η(α/8 − λ) a step where α > 8λ, and where α < 8λ they rest "
    "2C/(n(λ − α/8)) apart: `@conditioned` is attained as η → 0 and n → ∞.",
)

rem_2_parted = rem_2_one_step.as_read(
    "tsybakov/rem-2@parted",
    "A movement that does not fall with n",
    "n − 1 = 4j losses of that kind with v = (5, 12)/13, u = (3, 4)/5 and R = αC/(26λ) >= 65C/16, and one loss ±C w_1: "
    "for η(α + λ) <= 1, ηλ <= 1/n and T >= (2/(ηλ)) log(4/(ηλ)) the outputs on both batches are at least C/(5λ) apart.",
    quantity="movement of the last iterate",
    relation=">=",
    explicit=C / (5 * lambda_),
    assumptions=(sp.Le(65 * C, 16 * R), sp.Le(eta * (H + lambda_), 1), sp.Le(eta * lambda_ * n, 1), sp.Ge(n, 5)),
    remark="It is n/10 times what Remark 2 allows, and a tenth of what two reaches add up to, 2C/λ. Other losses move "
    "farther at every α > 8λ, `@between`, and by nearly the C/λ of `@every-loss`: `@attained`.",
)


@derivation("tsybakov/rem-2@one-step", also=("tsybakov/rem-2@every-loss",))
def step_of_one_loss(proof: Proof) -> None:
    """Clipping keeps the sign of <g(x), δ>, so that one of the two steps alone leads no farther than √(r² + η²C²).

    <g(x) − g(y), δ> >= 0 at δ = x − y: where <g(x), δ> < 0, <g(y), δ> is negative too.
    """
    at_x, ratio = sp.symbols("s_x z", positive=True)
    reach = eta * C
    proof.argues("<c(x), δ> >= 0, or else <c(y), −δ> >= 0; let s_x >= 0 be that product")
    alone = proof.at_most(
        "‖δ − ηc(x)‖², or ‖δ + ηc(y)‖²", lambda: R**2 - 2 * eta * at_x + eta**2 * C**2, R**2 + eta**2 * C**2
    )
    after = proof.argues("the other step is no longer than ηC", "‖δ⁺‖", "<=", reach + sp.sqrt(alone))
    proof.concludes("tsybakov/rem-2@one-step", after)
    cosine, sine = R / sp.sqrt(alone), reach / sp.sqrt(alone)
    proof.equal(
        "attained in the limit: c(x) → (0, C), c(y) = (C cos φ, −C sin φ) with cot φ = r/(ηC), scaled by s → 0 at x",
        lambda: (R + reach * cosine) ** 2 + reach**2 * (1 + sine) ** 2, after**2,
    )  # fmt: skip
    product = {eta: 1 / ((1 + ratio) * lambda_)}
    common = C / (lambda_ * (1 - eta * lambda_ / 2))
    proof.assumes("tsybakov/rem-2@every-loss", eta * lambda_, sp.S.One)
    proof.equal(
        "C/(λ(1 − ηλ/2)) solves r = ηC + √((1 − ηλ)²r² + η²C²)",
        lambda: (common - reach) ** 2, (1 - eta * lambda_) ** 2 * common**2 + reach**2, product,
    )  # fmt: skip
    proof.at_most("so that there (1 − ηλ)r + ηC <= r", lambda: (1 - eta * lambda_) * common + reach, common, product)
    proof.argues("δ⁺ is the mean over n records of (1 − ηλ)δ − η(c(x) − c(y)); from r(1 + 1/n), r the distance above")
    proof.equal(
        "n − 1 common records leave ηC + (1 + 1/n)(r − ηC), the other one (1 + 1/n)(r − ηC) + 2ηC",
        lambda: (
            (1 - 1 / n) * (reach + (1 + 1 / n) * (common - reach)) + ((1 + 1 / n) * (common - reach) + 2 * reach) / n
        ),
        (1 + 1 / n) * common,
    )
    proof.concludes("tsybakov/rem-2@every-loss", (1 + 1 / n) * common)


@derivation("tsybakov/rem-2@smooth-step", also=("tsybakov/rem-2@conditioned",))
def step_of_one_smooth_loss(proof: Proof) -> None:
    """I − κPQ of a projection P and 0 <= Q <= I has the norm 2/√(4 − κ); where nothing is clipped it is I − ηαQ.

    The Jacobian of the clipped gradient is (C/‖g‖)(I − ûûᵀ)Hess f where ‖g‖ > C, so that κ <= ηα; a step stretches by
    at most what its Jacobian does on the segment. With v = Qδ, <v, δ> >= ‖v‖², split along û: v = p + αû, δ = q + βû.
    """
    proof.assumes("tsybakov/rem-2@smooth-step", eta * H, sp.Integer(3))
    below, along, beside = sp.symbols("z v_u delta_u", positive=True)
    inside, multiplier, factor = {kappa: 4 / (1 + below)}, 4 * kappa / (4 - kappa), 4 / (4 - kappa)
    proof.argues("‖δ − κp‖² = ‖q‖² + β² − 2κ<q, p> + κ²‖p‖², and <q, p> >= ‖p‖² + α² − αβ")
    proof.at_most("αβ − α²", lambda: along * beside - along**2, beside**2 / 4)
    proof.equal("so with the multiplier m = 4κ/(4 − κ) β² has 1 + m/4", lambda: 1 + multiplier / 4, factor, inside)
    proof.equal(
        "and the rest is a square: 4(θ − 1)(m − κ²) = (2κ − m)², θ = 4/(4 − κ)",
        lambda: 4 * (factor - 1) * (multiplier - kappa**2), (2 * kappa - multiplier) ** 2, inside,
    )  # fmt: skip
    proof.at_most("of the right sign, m >= κ²", lambda: kappa * (4 - kappa), 4)
    proof.at_most("unclipped, (1 − κ)² is no larger", lambda: (kappa - 1) ** 2 * (4 - kappa), 4)
    cosine = (2 - kappa) / (4 - kappa)
    proof.equal(
        "attained: Q projects on the angle 90° + ψ/2 and P on ψ, cos ψ = (2 − κ)/(4 − κ) >= −1 for κ <= 3",
        lambda: 1 + kappa * cosine * (1 - cosine) + kappa**2 * (1 - cosine) ** 2 / 4, factor, inside,
    )  # fmt: skip
    proof.concludes("tsybakov/rem-2@smooth-step", sp.sqrt(factor.subs(kappa, eta * H)))
    kept = 1 - eta * lambda_
    stretch = proof.equal(
        "with the regulariser, (1 − ηλ)I − ηc', the square", lambda: kept**2 * factor.subs(kappa, eta * H / kept),
        4 * kept**3 / (4 * kept - eta * H),
    )  # fmt: skip
    proof.equal(
        "it is 1 where ηα = 4ηλ(1 − ηλ)(2 − ηλ)",
        lambda: stretch.subs(H, 4 * lambda_ * kept * (1 + kept)), 1, {eta: 1 / ((1 + x) * lambda_)},
    )  # fmt: skip
    moved = proof.uses("tsybakov/fact-sens", 2 * C / n)
    proof.argues("a step adds η times that; the sum over steps is geometric")
    bound = eta * moved / (1 - STRETCH)
    proof.concludes("tsybakov/rem-2@conditioned", bound)


@derivation("tsybakov/rem-2@saddle")
def four_losses_that_repel(proof: Proof) -> None:
    """The first coordinate of g/‖g‖ for g = αv_1w_1v ± Ru, as a function of w_1; mirror images cancel the second."""
    proof.assumes("tsybakov/rem-2@saddle", C, R)
    v, u, w = (sp.S.Half, sp.sqrt(3) / 2), (sp.sqrt(3) / 2, sp.S.Half), sp.Symbol("w_1", real=True)
    plus, minus = ([H * v[0] * w * v[i] + sign * R * u[i] for i in range(2)] for sign in (1, -1))
    pulls = [C * g[0] / sp.sqrt(g[0] ** 2 + g[1] ** 2) for g in (plus, minus)]
    proof.equal("their mean at 0", lambda: pulls[0].subs(w, 0), -pulls[1].subs(w, 0))
    slopes = [sp.diff(pull, w).subs(w, 0) for pull in pulls]
    slope = proof.equal("their mean slope there", lambda: (slopes[0] + slopes[1]) / 2, -H * C / (8 * R))
    proof.concludes("tsybakov/rem-2@saddle", slope)


@derivation("tsybakov/rem-2@parted")
def drift_along_an_axis(proof: Proof) -> None:
    """Both runs stay on the first axis, opposite to each other; with y = 10λw_1/C the outward drift keeps its sign.

    ψ(y) is the outward pull of the four clipped gradients over C. A step takes y to y + ηλ(10(1 − 1/n)ψ(y) + 10/n − y),
    which does not fall in y for η(α + λ) <= 1: once past y = 1 it never comes back. That ψ(y) >= (9/50)y on [0, 1] is
    certified by subdivision.
    """
    proof.assumes("tsybakov/rem-2@parted", 65 * C, 16 * R)
    proof.assumes("tsybakov/rem-2@parted", eta * lambda_ * n, sp.S.One)
    proof.assumes("tsybakov/rem-2@parted", sp.Integer(5), n)
    proof.assumes("tsybakov/rem-2@parted", eta * (H + lambda_), sp.S.One)
    cosine = proof.equal(
        "<u, v>", lambda: sp.Rational(3, 5) * sp.Rational(5, 13) + sp.Rational(4, 5) * sp.Rational(12, 13),
        sp.Rational(63, 65),
    )  # fmt: skip
    proof.equal("no gradient is shorter than R√(1 − <u, v>²)", lambda: R * sp.sqrt(1 - cosine**2), 16 * R / 65)
    proof.equal("αv_1w_1 = Ry at R = αC/(26λ)", lambda: H * sp.Rational(5, 13) * (C / (10 * lambda_)),
                H * C / (26 * lambda_))  # fmt: skip
    y, zeta = sp.symbols("y z", positive=True)
    least = proof.argues("by subdivision on [0, 1]", "ψ(y)", ">=", sp.Rational(9, 50) * y)
    proof.at_most(
        "the drift in units of ηλ, for y <= 1",
        lambda: sp.Rational(4, 5) * y + sp.Rational(41, 5) / n, 10 * (1 - 1 / n) * least + 10 / n - y,
        {y: 1 / (1 + zeta)},
    )  # fmt: skip
    proof.argues("so y_T >= (41/(4n))((1 + 4ηλ/5)^T − 1), and log(1 + 4κ/5) >= (4κ/5)/(1 + 4κ/5) >= 20κ/29 at κ <= 1/5")
    proof.argues("(4/κ)^{40/29} >= (4n)^{40/29} >= 1 + 4n/41: y is past 1 by then, on either side", "y_T", ">=", 1)
    proof.concludes("tsybakov/rem-2@parted", 2 * C / (10 * lambda_))


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
    remark="As n → ∞ and η → 0 it is (C/λ)(1 − 2√(λ/α)); below α = 8λ `@conditioned` is smaller, and above it losses "
    "reach 0.18 of it at 9λ, 0.60 at 16λ, and 3/4 or more from 40λ on: `@between`, `@attained`.",
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


rem_2_between = rem_2_one_step.as_read(
    "tsybakov/rem-2@between",
    "A movement that does not fall with n, for every conditioning above 8",
    "Let b = 7(α − 8λ)/(10α + 28λ), v = (s, √(1 − s²)) and u = (√(1 − s²), s) with s = ½ − 5b/7. On n − 1 = 4j of the "
    "loss ½α<v, w>² + C<u + b(2 + b)v, w> and its mirror images in both coordinates, and one loss ±C w_1, the runs of "
    "Algorithm 2 from 0 with η(α + λ) <= 1, ηλ <= 1/n and T >= (21/(bηλ)) log n steps end at least bC/λ apart, "
    "whatever n is.",
    quantity="movement of the last iterate",
    relation=">=",
    explicit=C / lambda_ * 7 * (H - 8 * lambda_) / (10 * H + 28 * lambda_),
    assumptions=(sp.Lt(8 * lambda_, H), sp.Le(eta * (H + lambda_), 1), sp.Le(eta * lambda_ * n, 1), sp.Ge(n, 5)),
    remark="At α = 10, 16, 32, 64 and 128λ it is 0.11, 0.30, 0.48, 0.59 and 0.64 of C/λ, and `@smooth` tends to 0.37, "
    "0.50, 0.65, 0.75 and 0.82. Below 8λ the movement falls with n (`@conditioned`); above 514λ `@attained` is larger.",
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
    proof.assumes("tsybakov/rem-2@smooth", 4 * lambda_, H)
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


@derivation("tsybakov/rem-2@between")
def losses_on_the_brink_of_the_level(proof: Proof) -> None:
    """Both runs stay on the first axis, opposite to each other; y = 2λw_1/(bC), and at y = −1 the gradient is Cu.

    f(y) is the outward pull of the four over C. At y it is the first coordinate of g/‖g‖ with g = u + b(2 + b)(1 + y)v,
    at −y less at y. A step takes y to y + ηλ((2/b)((1 − 1/n)f(y) + 1/n) − y), which does not fall in y for η(α + λ) <=
    1: once past y = 1 it never comes back.
    """
    s, c, y, t, z, product = sp.symbols("s c y t z P", positive=True)
    label, sine = "tsybakov/rem-2@between", (7 - 10 * b) / 14
    proof.assumes(label, eta * lambda_ * n, sp.S.One)
    proof.assumes(label, eta * (H + lambda_), sp.S.One)
    conditioning = {H: 28 * (2 + b) * lambda_ / (7 - 10 * b)}
    proof.equal(
        "αv_1w_1 at w_1 = bC/(2λ), for the α of this b",
        lambda: H * sine * b * C / (2 * lambda_), C * b * (2 + b), conditioning,
    )  # fmt: skip
    # g = u + tv; at −y and y t is that of y = 0 times 1 − y and 1 + y.
    tilt, circle = 2 * s * c, {s: 2 * z / (1 + z**2), c: (1 - z**2) / (1 + z**2)}
    squared = proof.equal(
        "‖g‖², no less than 1: no gradient at −1 <= y is shorter than C",
        lambda: (c + t * s) ** 2 + (s + t * c) ** 2, 1 + 2 * tilt * t + t**2, circle,
    )  # fmt: skip
    near, far = t * (1 - y), t * (1 + y)
    proof.equal(
        "of g_1(−y)‖g(y)‖ and g_1(y)‖g(−y)‖ the difference of the squares",
        lambda: (c + near * s) ** 2 * squared.subs(t, far) - (c + far * s) ** 2 * squared.subs(t, near),
        2 * t * y * (c**2 - s**2) * (tilt + 2 * t + tilt * near * far), circle,
    )  # fmt: skip
    steep = 2 * (tilt + t)
    proof.equal(
        "‖g(−y)‖‖g(y)‖ is the length of what is affine in y², and no more than its chord on 0 <= y <= 1",
        lambda: squared.subs(t, near) * squared.subs(t, far),
        (t**2 * y**2 + squared - steep**2 / 2) ** 2 + steep**2 * (c**2 - s**2) ** 2, circle,
    )  # fmt: skip
    pull = proof.argues(
        "by subdivision on 0 <= b <= 7/10, for 0 <= y <= 1 at once", "f(y)", ">=", b * y / 2 * (1 + b / 20)
    )
    proof.at_most(
        "a step adds to y, in units of ηλ, for y <= 1",
        lambda: b * y / 20 + 5 / (4 * b * n), 2 / b * ((1 - 1 / n) * pull + 1 / n) - y,
        {y: 1 / (1 + z), b: sp.Rational(7, 10) / (1 + product)},
    )  # fmt: skip
    proof.argues("so y_t >= (25/(b²n))((1 + x)^t − 1), x = bηλ/20 <= 1/100, and log(1 + x) >= x/(1 + x) >= bηλ/21")
    proof.argues("(1 + x)^T >= n >= 1 + b²n/25: y is past 1 by then, on either side", "y_T", ">=", 1)
    proof.concludes(label, 2 * b * C / (2 * lambda_), where=conditioning)
