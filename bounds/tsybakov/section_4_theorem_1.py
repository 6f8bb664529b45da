"""Section 4: Theorem 1, its privacy and its risk, and the same corrected for every convex loss."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import (
    G_1,
    C,
    D,
    H,
    T,
    beta,
    d,
    epsilon,
    eta,
    index,
    k,
    kappa,
    lambda_,
    last,
    n,
    r_2,
    r_2k,
    r_k,
    sequences,
    sigma,
    tau,
)

from ._paper import (
    ALL_STEPS,
    CONFIDENCE,
    CONVEX,
    FREE,
    LIPSCHITZ_CONDITION,
    LOG,
    LOGS,
    ORDERS,
    PHASES_STEP,
    R_2k,
    bias,
    claim,
    ell,
    x,
)
from ._paper import tau as rate
from .section_4_phases import PER_RECORD

_n, _lambda, _C, _eta, _sigma, _D = sequences("n lambda C eta sigma D")


def _bias(level: sp.Expr) -> sp.Expr:
    """What clipping at a level does to a mean gradient, by the moment of order 2k."""
    return (2 * k - 1) ** (2 * k - 1) / (2 * k) ** (2 * k) * r_2k ** (2 * k) / level ** (2 * k - 1)


def _left(i: sp.Expr) -> sp.Expr:
    """s_i: squared distance of the output of phase i from the limit of its steps."""
    steps = (_eta[i] * _lambda[i] / 4) ** 2 * sp.Min(_D[i], D)
    return sp.Min(d * _sigma[i] ** 2 + steps**2, D**2)


def _phase(i: sp.Expr, squared: sp.Expr) -> sp.Expr:
    """Risk of the limit of phase i over a point at that squared distance from its start."""
    bias = sp.Min(G_1, _bias(_C[i])) * sp.Min(D, sp.sqrt(squared) + _C[i] / _lambda[i])
    return _lambda[i] / 2 * squared + bias + 2 * r_2**2 / (_n[i] * _lambda[i])


thm_1 = claim(
    "tsybakov/thm-1",
    "Theorem 1",
    "For smooth L_f-Lipschitz losses, Algorithm 3 is (ε, δ)-DP for 0 < ε <= √log(1/δ), and its excess risk is "
    "Õ(R̃_{2k,n}D(1/√n + (√(d log(1/δ))/(εn))^{(k−1)/k}) + D√log(1/β)/(2^{p+1}√n)) with probability 1 − β.",
    kind="theorem",
    section="4",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=CONVEX,
    assumptions=(LIPSCHITZ_CONDITION, sp.Le(epsilon, sp.sqrt(LOG)), *ORDERS, CONFIDENCE, PHASES_STEP),
    about=("tsybakov/alg-3",),
    probability=1 - beta,
    grade="refuted",
    remark="Privacy fails for d >= 2: clipping by norm is not monotone, and two runs of clipped descent may end "
    "(1+a)/(2√a) times 2C/(nλ) apart, a the conditioning of the loss (S1); a fixed and a random order of the records "
    "have explicit violations of the whole algorithm. It holds for d = 1 and where clipped steps contract (`@glm`). "
    "The risk fails at the step size of its proof, the only one that is printed, also with projected outputs (S2b): on "
    "a linear loss in d = 1 the excess is nearly the largest there is with a probability near 1/2, while the order at "
    "k = 2 falls like n^{−1/2} up to logarithms. Theorem 1 leaves η free; at the step of `alg-3@corrected` its phases "
    "have the bound of `@phase` in d = 1.",
)

thm_1_glm = thm_1.as_read(
    "tsybakov/thm-1@glm",
    "Privacy of Algorithm 3 where clipped steps contract",
    "If d = 1, or the losses are linear, isotropic quadratics or generalised linear, and η_i(α + 2λ_i) <= 2, then each "
    "phase moves by at most 2C_i/(n_iλ_i) and Algorithm 3 is (ε, δ)-DP.",
    origin="ours",
    quantity="movement of a phase",
    explicit=ALL_STEPS * 2 * C / (n * lambda_),
    assumptions=(sp.Le(eta * (H + 2 * lambda_), 2),),
    measures="",
    probability=None,
)

thm_1_corrected = thm_1_glm.as_read(
    "tsybakov/thm-1@corrected",
    "Noise that is private for every loss",
    "With noise of deviation 8C√(T log(1/δ))/(nε) on each of the T clipped means and none on the output, a phase is "
    "ε²/(32 log(1/δ))-zCDP for every loss, convex or not, in every dimension.",
    quantity="noise deviation of a step",
    relation="=",
    explicit=8 * C * sp.sqrt(T * LOG) / (n * epsilon),
    about=("tsybakov/alg-3",),
    assumptions=(),
)

thm_1_derived = thm_1_glm.as_read(
    "tsybakov/thm-1@derived",
    "What the private noise costs",
    "With T = ⌈(2/(λη)) log(4/(λη))⌉ noisy steps the noise adds ηds²/λ to the bound of Theorem 8 on E‖w_T − "
    "ŵ‖², which is 2 log(4/(λη)) times the dσ² of the printed noise, up to the rounding of T.",
    quantity="added squared distance",
    explicit=eta * d / lambda_ * sigma**2,
    assumptions=(sp.Le(eta * lambda_, 1),),
    about=("tsybakov/alg-3",),
)

thm_1_trivial = thm_1_glm.as_read(
    "tsybakov/thm-1@trivial",
    "Noise on the output that is private for every loss",
    "The outputs of one phase on any two batches are at most 2C/λ apart, so output noise of deviation "
    "8C√log(1/δ)/(λε), n_i times the printed one, is private for every loss.",
    explicit=ALL_STEPS * 2 * C / lambda_,
    about=("tsybakov/alg-3",),
    assumptions=(),
)

thm_1_phase = thm_1_glm.as_read(
    "tsybakov/thm-1@phase",
    "Risk of a phase with constants",
    "Where clipped gradients are gradients of convex functions, the limit ŵ of a phase from w_0 has E[F(ŵ) − F(u)] <= "
    "(λ/2)E‖u − w_0‖² + 2r̃_2²/(nλ) + DB for every u in W that its batch does not see, B = ((2k−1)^{2k−1}/(2k)^{2k}) "
    "r̃_{2k}^{2k}/C^{2k−1}.",
    quantity="excess risk of a phase over u",
    explicit=lambda_ * D**2 / 2 + 2 * r_2**2 / (n * lambda_) + D * _bias(C),
    remark="Added up over the phases, with the noise of each in the place of u − w_0, it bounds the risk of the "
    "corrected Algorithm 3 with every constant.",
    assumptions=(),
)

thm_1_summed = thm_1_trivial.as_read(
    "tsybakov/thm-1@summed",
    "Risk of the corrected Algorithm 3 with constants",
    "`thm-1@phase` added up over phases of n_i records from outputs projected onto W, each with the noise before it: "
    "E‖w_i − ŵ_i‖² <= s_i = min(dσ_i² + ((η_iλ_i/4)² min(D_i, D))⁴, D²), no step leads further than C_i/λ_i from the "
    "start, and a bias is never above r̃_1. One dimension.",
    quantity="excess risk",
    measures="excess risk",
    explicit=_phase(1, D**2) + sp.Sum(_phase(index, _left(index - 1)), (index, 2, last)) + G_1 * sp.sqrt(_left(last)),
    remark="Needs projected outputs, noise on outputs alone, and d = 1: elsewhere clipped gradients need not be those "
    "of convex functions.",
)

thm_1_phases = thm_1.as_read(
    "tsybakov/thm-1@phases",
    "The rate of Theorem 1 asked of the corrected Algorithm 3",
    "`alg-3@corrected` has the excess risk of Theorem 1.",
    origin="ours",
    assumptions=(),
)

thm_1_smallest = thm_1_trivial.as_read(
    "tsybakov/thm-1@smallest",
    "The smallest noise on the output that is private for every convex loss",
    "Noise of deviation 4(1 + 1/n)C√log(1/δ)/(λε(1 − ηλ/2)) on the output of a phase is that of Definition 3 for all "
    "convex losses of every smoothness and dimension. On the neighbours of `rem-2@attained`, d >= 2, Definition 3 asks "
    "for 1 − 2(2λ/α)^{1/3} of 4C√log(1/δ)/(λε) at least, whatever n is; for α-smooth losses that of `rem-2@smooth` is "
    "enough, 1 − 2√(λ/α) as n → ∞ and η → 0.",
    quantity="noise deviation on the output",
    relation="=",
    explicit=4 * (1 + 1 / n) * C * sp.sqrt(LOG) / (lambda_ * epsilon * (1 - eta * lambda_ / 2)),
    assumptions=(sp.Le(eta * lambda_, 1),),
)


@derivation("tsybakov/thm-1@smallest")
def noise_for_what_every_loss_moves(proof: Proof) -> None:
    """Definition 3 at the movement of `rem-2@every-loss`; the one of `rem-2@attained` tends to it from below."""
    mu = proof.uses("tsybakov/def-3", epsilon / (4 * sp.sqrt(LOG)))
    moved = proof.uses("tsybakov/rem-2@every-loss", (1 + 1 / n) * C / (lambda_ * (1 - eta * lambda_ / 2)))
    proof.concludes("tsybakov/thm-1@smallest", moved / mu)
    share = 2 * (2 * lambda_ / H) ** sp.Rational(1, 3)
    apart = proof.uses("tsybakov/rem-2@attained", C / lambda_ * (1 - share))
    both = moved.subs(eta, 0) * n / (n + 1)
    proof.equal("as ηλ → 0 and n → ∞ there is this between them", lambda: both - apart, both * share)
    enough = proof.uses("tsybakov/rem-2@smooth", C / lambda_ * (1 - 2 * sp.sqrt(lambda_ / H)), {eta: 0, n: sp.oo})
    proof.at_most("and on α-smooth losses less", lambda: enough, both)


@derivation("tsybakov/thm-1@phases", FREE, also=("tsybakov/thm-1@corrected",))
def error_per_unit_of_diameter(proof: Proof) -> None:
    """Noise of C√(d log(1/δ))/(εn) a unit of diameter against the bias R̃ᵏ/C^{k−1} of clipping; C balances them.

    Theorem 1 itself is refuted (S1, S2b). This is the order of a phase whose weight λ_1 is of the order of error/D, as
    the corrected step has it, and the noise that is private for every loss; the term D√log(1/β)/(2^{p+1}√n) of the
    claim is not needed.
    """
    bound = proof.master(
        "excess risk per unit of diameter",
        {"sampling": R_2k / sp.sqrt(n), "noise": C * sp.sqrt(d * ell) / (epsilon * n), "bias": R_2k**k / C ** (k - 1)},
    )
    error = proof.chooses(bound, {C: R_2k * (epsilon * n / sp.sqrt(d * ell)) ** (1 / k)})
    proof.concludes("tsybakov/thm-1@phases", D * error, where=LOGS, looser=True)
    noise = 8 * C * sp.sqrt(T * LOG) / (n * epsilon)
    spent = proof.equal(
        "T clipped means of sensitivity 2C/n, each with noise of that deviation, spend this zCDP",
        lambda: T * (2 * C / n) ** 2 / (2 * noise**2),
        epsilon**2 / (32 * LOG),
    )
    proof.concludes("tsybakov/thm-1@corrected", sp.sqrt(T * (2 * C / n) ** 2 / (2 * spent)))


@derivation("tsybakov/thm-1@phase", also=("tsybakov/thm-1@summed",))
def regulariser_stability_and_bias(proof: Proof) -> None:
    """The limit ŵ of a phase beats every u on its own batch; a fresh record sees what ŵ moves, and clipping its bias.

    Of later phases u is the noiseless output before: the square of the distance is that of noise and unfinished steps.
    """
    regulariser = proof.argues("ŵ minimises its batch's clipped loss and regulariser", "", "<=", lambda_ * D**2 / 2)
    moved = proof.uses("tsybakov/rem-2@corrected", 2 * r_2 / (n * lambda_), {C: r_2})
    fresh = proof.argues("a record costs r̃_2 times what replacing it moves", "", "<=", r_2 * moved)
    clipped = (2 * k - 1) ** (2 * k - 1) / (2 * k) ** (2 * k) * r_2k ** (2 * k) / C ** (2 * k - 1)
    bias = proof.uses("tsybakov/thm-8@derived", clipped, {k: 2 * k, r_k: r_2k})
    proof.concludes("tsybakov/thm-1@phase", regulariser + fresh + D * bias)
    product = eta * lambda_
    rest = proof.equal(
        "what T = (2/(λη)) log(4/(λη)) steps leave of a distance, e^{−ληT}",
        lambda: sp.exp(-product * (2 / product) * sp.log(4 / product)),
        (product / 4) ** 2,
    )

    def of_phase(i: sp.Expr, squared: sp.Expr) -> sp.Expr:
        there = {lambda_: _lambda[i], n: _n[i], C: _C[i]}
        most = sp.Min(D, sp.sqrt(squared) + _C[i] / _lambda[i])
        near = (regulariser / D**2).subs(there) * squared
        return near + fresh.subs(there) + sp.Min(G_1, bias.subs(there)) * most

    def left(i: sp.Expr) -> sp.Expr:
        unfinished = rest.subs({eta: _eta[i], lambda_: _lambda[i]}) * sp.Min(_D[i], D)
        return sp.Min(d * _sigma[i] ** 2 + unfinished**2, D**2)

    later = sp.Sum(of_phase(index, left(index - 1)), (index, 2, last))
    proof.argues("no step leads further than C_i/λ_i from the start, no distance is above D and no bias above r̃_1")
    proof.argues("the last noise and unfinished steps cost r̃_1 times their length")
    proof.concludes("tsybakov/thm-1@summed", of_phase(sp.S.One, D**2) + later + G_1 * sp.sqrt(left(last)))


thm_1_every_loss = thm_1.as_read(
    "tsybakov/thm-1@every-loss",
    "Theorem 1 corrected, for every convex loss and dimension",
    "On n = 2^l records let phase i <= l take T = n log_2 n steps over W of size 1/(nλ_i) on its n/2^i records, at the "
    "printed level C_i and with weight λ_i = 8^i (R̃/D)(1/√n + 10τ_p), with noise of deviation 8C_i√(T log(1/δ))/(n_iε) "
    "on each clipped mean and none on the output. It is ε²/(32 log(1/δ))-zCDP, takes n² log_2 n gradients at most, and "
    "E F(w_l) − F(u) <= R̃D(11/√n + 77τ_p) for every u in W within D of the start, whatever the losses' Lipschitz "
    "constant and smoothness, in every dimension, on bounded and unbounded W.",
    origin="ours",
    order=R_2k * D * rate(sp.log(n)),
    explicit=R_2k * D * (11 / sp.sqrt(n) + 77 * PER_RECORD ** ((k - 1) / k)),
    quantity="excess risk, as corrected",
    measures="",
    assumptions=(sp.Ge(n, 2), sp.Ge(k, 2)),
    probability=None,
)


u, per, log_2, z, h = sp.symbols("u P log_2 z h", positive=True)
"""2^i = n/n_i >= 2 of phase i, τ_p^{k/(k−1)}, log_2 n, a number to substitute, and n^{−1/2}."""
HALVES, AT_LEAST_TWO = {u: 2 + 2 * z}, {k: 2 + x}


def _squared_noise_and_bias(proof: Proof) -> sp.Expr:
    """E B̂² + dσ²/n of a phase, at its level C_i = r(1/(uP))^{1/k}, is at most (185/2) r²(uP)^{2(k−1)/k}."""
    level, share = r_2k * (1 / (u * per)) ** (1 / k), (u * per) ** (2 * (k - 1) / k)
    proof.at_most("(y − C)_+ <= y²/(4C)", lambda: x - C, x**2 / (4 * C))
    proof.at_most(
        "y² <= y^k/C^{k−2} where y = C(1 + z) is clipped", lambda: (C * (1 + z)) ** 2,
        (C * (1 + z)) ** k / C ** (k - 2), AT_LEAST_TWO,
    )  # fmt: skip
    proof.argues("so B̂ is at most the mean of ‖∇f‖^k over 4C^{k−1}, and by Jensen's inequality", "E B̂²", "<=",
                 r_2k ** (2 * k) / (16 * C ** (2 * k - 2)))  # fmt: skip
    squared_bias = proof.equal(
        "at the level of the phase", lambda: r_2k ** (2 * k) / (16 * level ** (2 * k - 2)), r_2k**2 * share / 16
    )
    deviation = proof.uses("tsybakov/thm-1@corrected", 8 * C * sp.sqrt(T * LOG) / (n * epsilon))
    spent = proof.equal(
        "dσ_i²/n at T = n log_2 n on n/u records",
        lambda: d * deviation.subs({T: n * log_2, n: n / u}, simultaneous=True) ** 2 / n,
        64 * C**2 * log_2 * d * LOG * u**2 / (n * epsilon) ** 2,
    )
    noise = proof.equal(
        "with √(dℒ) = Pεn/√log n and log_2 n = log n/log 2",
        lambda: spent.subs({C: level, d: (per * epsilon * n) ** 2 / (LOG * sp.log(2) * log_2)}),
        64 / sp.log(2) * r_2k**2 * share,
    )
    return proof.at_most("both together", lambda: squared_bias + noise, sp.Rational(185, 2) * r_2k**2 * share)


@derivation("tsybakov/thm-1@every-loss")
def phases_of_noisy_steps(proof: Proof) -> None:
    """A phase beats the minimiser ŵ_{i−1} of the phase before, which its start is near; the sums are geometric.

    F(w_l) − F(u) = [F(ŵ_1) − F(u)] + Σ [F(ŵ_i) − F(ŵ_{i−1})] + [F(w_l) − F(ŵ_l)], ŵ_i the minimiser over W of the batch
    mean of the *unclipped* losses plus (λ_i/2)‖w − w_{i−1}‖². So nothing is asked of clipped gradients but their bias.
    In the formulas u is 2^i, r the moment r̃_{2k} of n_i records, and Σ 2^{−i}r² = R̃².
    """
    proof.assumes("tsybakov/thm-1@every-loss", sp.Integer(2), k)
    proof.assumes("tsybakov/thm-1@every-loss", sp.Integer(2), n)
    noisy = _squared_noise_and_bias(proof)
    weight = lambda_ * u**3
    proof.argues("(1 − 1/n)^T <= e^{−log_2 n} <= 1/n")
    near = proof.uses(
        "tsybakov/thm-8@noisy",
        (1 - kappa) ** T * r_2**2 / weight**2 + kappa * (4 * r_2**2 + d * sigma**2) / weight**2 + bias**2 / weight**2,
        {eta: kappa / weight, lambda_: weight},
    )
    calm = near.subs({bias: 0, sigma: 0, r_2: r_2k}).subs((1 - kappa) ** T, kappa).subs(kappa, 1 / n)

    start = proof.argues("ŵ_1 beats u on its batch", "", "<=", 8 * lambda_ * D**2 / 2)
    moved = proof.argues("replacing a record moves ŵ_i by its two gradients over n_iλ_i, and costs its gradient times "
                         "that", "", "<=", 2 * r_2k**2 / (weight * n / u))  # fmt: skip
    fresh = proof.at_most("a share 1/u of each r²: sampling", lambda: moved, r_2k**2 / (n * lambda_ * u), HALVES)
    proof.argues("ŵ_i beats ŵ_{i−1} but for 8λ_{i−1}/2 times the squared distance above")
    unfinished = proof.at_most(
        "steps", lambda: 4 * weight * calm, 5 * r_2k**2 / (n * lambda_ * u), HALVES
    )  # fmt: skip
    private = proof.at_most(
        "noise and bias, as u^{−1−2/k} <= 1/u", lambda: 4 * noisy / weight,
        370 * r_2k**2 * per ** (2 * (k - 1) / k) / (lambda_ * u), {**HALVES, **AT_LEAST_TWO},
    )  # fmt: skip
    phases = proof.equal(
        "all phases, with Σr²/u = R̃² and P = τ_p^{k/(k−1)}",
        lambda: ((fresh + unfinished + private) * u * R_2k**2 / r_2k**2).subs(per, tau ** (k / (k - 1))),
        R_2k**2 * (6 / n + 370 * tau**2) / lambda_, AT_LEAST_TWO,
    )  # fmt: skip
    steps, noise = sp.Rational(9, 4), sp.Rational(77, 8)
    proof.at_most("5 is below a square", 5, steps**2)
    proof.at_most("and so is 185/2", sp.Rational(185, 2), noise**2)
    last_root = proof.argues(
        "F(w_l) − F(ŵ_l) <= r̃_1‖w_l − ŵ_l‖ at u = n, where r² <= nR̃², and √(a + b) <= √a + √b",
        "", "<=", n * R_2k**2 / (lambda_ * n**3) * (steps / sp.sqrt(n) + noise * n * tau),
    )  # fmt: skip
    total = (start + phases + last_root).subs(n, h**-2).subs(lambda_, R_2k / D * (h + 10 * tau))
    proof.at_most(
        "all of it at λ = (R̃/D)(h + 10τ_p), h = n^{−1/2} <= 5/7, in units of R̃D/(h + 10τ_p)",
        sp.expand(sp.simplify(total * (h + 10 * tau) / (R_2k * D))),
        (11 * h + 77 * tau) * (h + 10 * tau),
        {h: sp.Rational(5, 7) / (1 + z)},
    )
    bound = R_2k * D * (11 * h + 77 * tau)
    proof.concludes("tsybakov/thm-1@every-loss", bound.subs({h: 1 / sp.sqrt(n), tau: PER_RECORD ** ((k - 1) / k)}))
