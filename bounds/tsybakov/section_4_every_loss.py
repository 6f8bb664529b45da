"""Section 4: Theorem 1 corrected, for every convex loss, with noise on each step."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import C, D, T, d, epsilon, eta, k, kappa, lambda_, n, r_2, r_2k, sigma, tau

from ._paper import LOG, R_2k, bias, x
from ._paper import tau as rate
from .section_4_phases import PER_RECORD
from .section_4_theorem_1 import thm_1

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
