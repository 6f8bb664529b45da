"""Section 4.1: Theorem 6, pure differential privacy. T is the number of phases, m that of vertices."""

from __future__ import annotations

import sympy as sp

from dpcheck.algorithms.l1_geometry.regret import ESTIMATE, LEAVES
from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import D, H, L, T, b, d, epsilon, index, last, m, n, sequences

from ._paper import H_M, LARGE, LN, LOG2_M, LOG2_N, NAMED, SIZES, X, claim, log_d, log_m, log_n, p_0

thm_6 = claim(
    "l1_geometry/thm-6",
    "Theorem 6",
    "For β in its window, b = n/log²n, λ_{t,s} = 2LD2^t/(bε) and T = ½ log(bεβD/(L log m)), Algorithm 3 is ε-DP, "
    "queries n gradients and has excess risk O(D(L+βD)√log d log n/√n + √(βLD³ log d) log n/√(nε)); for smaller β "
    "T = 1, b = n give DL·O(√(log d/n) + log d/(nε)) + O(βD²).",
    kind="theorem",
    section="4.1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=D * (L + H * D) * sp.sqrt(sp.log(d)) * LN / sp.sqrt(n)
    + sp.sqrt(H * L * D**3 * sp.log(d)) * LN / sp.sqrt(n * epsilon),
    explicit=ESTIMATE + sp.Rational(6, 5) * H * D**2 / 2**T + 2 * L * D * 2**T / (b * epsilon) * H_M,
    assumptions=(sp.Ge(T, 1), sp.Le(2**T, b), sp.Ge(n, b * (T + T * (T + 1) / 4))),
    about=("l1_geometry/alg-3",),
    grade="proof gap",
    remark="Rests on Lemma 4.1. With a fixed allocation of records it is not ε-DP (@literal, loss 1.777 at ε = 1); a "
    "uniformly random one saves it, because most records are not used (@corrected). Slips in the product (S7), the "
    "index (S6) and the sample count of T = 1, b = n (S8) are harmless.",
)


thm_6_literal = thm_6.as_read(
    "l1_geometry/thm-6@literal",
    "Theorem 6 with a fixed allocation of records",
    "With the records of every set fixed in advance, Algorithm 3 with the parameters of Theorem 6 is ε-DP.",
    quantity="ε that is spent",
    explicit=epsilon,
    assumptions=(
        sp.Le(m, 2 * d),
        sp.Le(2**T, b),
        sp.Le(L * LOG2_M * LOG2_N**2 / (n * epsilon * D), H),
        sp.Le(H, n * L * LOG2_M / (epsilon * D * LOG2_N**2)),
    ),
    grade="proof gap",
    remark="False: log-ratio 1.777 > 1 at n = 65536, b = 256, T = 4, L = β = ε = 1, D = 2, d = 2 (S5).",
    measures="",
)


thm_6_derived = thm_6.as_read(
    "l1_geometry/thm-6@derived",
    "Theorem 6, second branch, with constants",
    "For β below the window, T = 1 and b = 2n/3 (1.5b records are read, so not b = n; n a multiple of 3), Algorithm 3 "
    "is ε·max(1, min(2, βD/L))-DP for every allocation, that is ε once nε ≥ log m log²n, and has excess risk at most "
    "D√(3 log(2d)(L² + 16β²D²)/n) + 0.6βD² + 6LD(1 + log m)/(nε).",
    origin="ours",
    quantity="excess risk of the second branch, under the printed noise",
    order=D * L * (sp.sqrt(sp.log(d) / n) + sp.log(d) / (n * epsilon)) + H * D**2,
    explicit=D * sp.sqrt(3 * sp.log(2 * d) * (L**2 + 16 * H**2 * D**2) / n)
    + sp.Rational(3, 5) * H * D**2
    + 6 * L * D * H_M / (n * epsilon),
    assumptions=(sp.Ge(n, 3), sp.Le(epsilon, 1), sp.Le(H, L * LOG2_M * LOG2_N**2 / (n * epsilon * D))),
    measures="",
)


thm_6_corrected = thm_6.as_read(
    "l1_geometry/thm-6@corrected",
    "Theorem 6 with a uniformly random allocation",
    "If the records of all sets are a uniformly random subset of a fraction p of all, Algorithm 3 with the "
    "printed λ is "
    "log(1 + p(e^{2ε} − 1))-DP, at most ε once p ≤ 1/(1 + e^ε).",
    origin="ours",
    quantity="ε that is spent",
    explicit=sp.log(1 + p_0 * (sp.exp(2 * epsilon) - 1)),
    measures="",
    assumptions=(),
)


VARIANCE = sp.sqrt(2) * D * sp.sqrt(16 * D**2 * H**2 + L**2) * sp.sqrt(sp.log(2 * d)) / sp.sqrt(b)
PHASES_BEST = sp.sqrt(3 * b * epsilon * H * D / (10 * L * H_M))
"""2^T at which curvature and selections cost the same under twice the noise."""
thm_6_private = thm_6.as_read(
    "l1_geometry/thm-6@private",
    "Theorem 6 corrected, for every allocation",
    "With λ_{t,s} = 4LD2^t/(bε), for every allocation of the records and every ε > 0, Algorithm 3 is ε-DP, and with "
    "2^T within a factor √2 of √(3bεβD/(10L(1 + log m))), in [2, b], its excess risk is at most D√(2 log(2d)(L² + "
    "16β²D²)/b) + √(108βLD³(1 + log m)/(5bε)), from b(T + T(T+1)/4) records.",
    origin="ours",
    order=thm_6.order,
    explicit=ESTIMATE + sp.sqrt(sp.Rational(108, 5) * H * L * D**3 * H_M / (b * epsilon)),
    assumptions=(sp.Ge(T, 1), sp.Le(2**T, b)),
    quantity="excess risk, as corrected",
    measures="",
)


@derivation("l1_geometry/thm-6@private")
def twice_the_noise_at_the_best_depth(proof: Proof) -> None:
    """The bound of Theorem 6 with λ doubled, at the power of two next to the depth that balances its last two terms."""
    proof.assumes("l1_geometry/thm-6@private", 2**T, b)
    proof.uses("l1_geometry/alg-3@corrected", epsilon)
    noise = proof.uses("l1_geometry/alg-3@corrected-noise", 4 * L * D * 2**T / (b * epsilon), {index: T})
    gap = proof.argues("the winner's gap is at most λ(1 + log m)", "gap", "<=", noise * H_M)
    curvature = proof.argues(
        "the squared steps add up to less than 1.2/2^T", "curvature", "<=", sp.Rational(6, 5) * H * D**2 / 2**T
    )
    variance = proof.uses("l1_geometry/lem-4-2", VARIANCE / D)
    deep = (gap + curvature).subs(2**T, X)
    balanced = proof.equal(
        "both are equal at 2^T = √(3bεβD/(10L(1 + log m)))", lambda: gap.subs(2**T, PHASES_BEST),
        curvature.subs(2**T, PHASES_BEST),
    )  # fmt: skip
    for off in (sp.sqrt(2), 1 / sp.sqrt(2)):
        most = proof.equal(
            "and a factor √2 away", lambda off=off: deep.subs(X, off * PHASES_BEST), sp.Rational(3, 2) * sp.sqrt(2)
            * balanced,
        )  # fmt: skip
    proof.argues("the sum is convex in 2^T, so it is no larger in between")
    proof.concludes("l1_geometry/thm-6@private", D * variance + most)


thm_6_summed = thm_6.as_read(
    "l1_geometry/thm-6@summed",
    "Risk of Algorithm 3, leaf by leaf",
    "D times the error of Lemma 4.2, βD²Σw_is_i/2 and Σw_iλ_i(1 + 1/2 + … + 1/m), w_i the exact weight of leaf i in "
    "the output, s_i its step and λ_i its noise, whatever that is.",
    origin="ours",
    explicit=LEAVES,
    assumptions=(),
)


@derivation("l1_geometry/thm-6@summed")
def leaf_by_leaf(proof: Proof) -> None:
    """A leaf's step η costs η times (D‖v − ∇F‖_∞, its gap and ηβD²/2); the output weighs what leaves cost."""
    weight_at, step_at, noise_at = sequences("w s lambda")
    error = proof.uses("l1_geometry/lem-4-2", sp.sqrt(2 * sp.log(2 * d) * (L**2 + 16 * H**2 * D**2) / b))
    harmonic = sp.Sum(1 / index, (index, 1, m))
    terms = {
        "estimates": D * error,
        "curvature": H * D**2 / 2 * sp.Sum(weight_at[index] * step_at[index], (index, 1, last)),
        "selections": harmonic * sp.Sum(weight_at[index] * noise_at[index], (index, 1, last)),
    }
    proof.concludes("l1_geometry/thm-6@summed", proof.master("excess risk", terms))


def tree(
    proof: Proof, label: str, gap: sp.Expr, gap_in_order: sp.Expr, choice: sp.Expr, said: str, *, looser: bool = False
) -> None:
    """Curvature 1.2βD²/2^T against the selection's gap, which grows with 2^T; then b = n/log²n."""
    variance = proof.uses("l1_geometry/lem-4-2", VARIANCE / D)
    curvature = proof.argues(
        "the squared steps add up to less than 1.2/2^T", "curvature", "<=", sp.Rational(6, 5) * H * D**2 / 2**T
    )
    bound = proof.master("excess risk", {"variance": D * variance, "curvature": curvature, "selection": gap})
    proof.concludes(label, bound)
    order = proof.master(
        "up to constants, X = 2^T", {"curvature": H * D**2 / X, "selection": gap_in_order}, "the two that T moves"
    )
    value = proof.chooses(order, {X: choice}, text=said)
    rest = D * (L + H * D) * sp.sqrt(log_d) / sp.sqrt(b)
    proof.concludes(label, (value + rest).subs(b, n / log_n**2), where=NAMED, as_order=True, looser=looser)


@derivation("l1_geometry/thm-6", Regime(base=None, others="free", where=[*SIZES, log_m <= log_d]))
def pure_frank_wolfe(proof: Proof) -> None:
    """Curvature against the gap of report-noisy-min, 2LD2^T(1 + log m)/(bε)."""
    proof.assumes("l1_geometry/thm-6", 2**T, b)
    proof.assumes("l1_geometry/thm-6", b * (T * (T + 1) / 4 + T), n)
    gap = proof.uses(
        "l1_geometry/lem-4-1@derived", 2 * L * D * 2**T / (b * epsilon) * H_M, {sp.Symbol("t", positive=True): T}
    )
    choice = sp.sqrt(b * epsilon * H * D / (L * log_m))
    order, said = L * D * X * log_m / (b * epsilon), "choose 2^T = √(bεβD/(L log m))"
    tree(proof, "l1_geometry/thm-6", gap, order, choice, said, looser=True)  # log d is printed for log m


@derivation("l1_geometry/thm-6@derived", LARGE)
def second_branch(proof: Proof) -> None:
    """The bound of the first branch at T = 1, where 1.5b records are read."""
    read = proof.uses("l1_geometry/alg-3", b * sp.Rational(3, 2), {T: 1})
    batch = sp.solve(read - n, b)[0]
    bound = ESTIMATE + sp.Rational(6, 5) * H * D**2 / 2**T + 2 * L * D * 2**T / (b * epsilon) * H_M
    reached = proof.uses("l1_geometry/thm-6", bound).subs({T: 1, b: batch})
    proof.concludes("l1_geometry/thm-6@derived", reached)


asm_thm6 = claim(
    "l1_geometry/asm-thm6",
    "β window of Theorem 6",
    "L log m log²n/(nεD) ≤ β ≤ nL log m/(εD log²n).",
    kind="assumption",
    section="4.1",
    remark="The ends say that the logarithm's argument is at least 1 and that 2^T ≤ b. T ≥ 1 takes an argument of 4, "
    "so T is rounded to at least 1 (S9).",
)


window_6 = underived(
    "l1_geometry/asm-thm6", "a range of β, not a bound; that its ends are T ≥ 0 and 2^T ≤ b is checked"
)
