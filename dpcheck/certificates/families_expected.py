"""What is proved for all parameters of the runs in expectation and of localisation."""

from __future__ import annotations

from dpcheck.certificates import expected, localised, problems
from dpcheck.certificates.proofs import Concluded, ProofFamily, family

_T, _GAMMA = "(1 + m)", "(2*H + x)"
_LEVEL = "sqrt(12/(T*(T + 1)*(2*T + 1)))"
_POTENTIAL = (
    ("the excess has the weight t(t + 1)/2, without a rest", "t*(t + 1)/2 - (t - 1)*t/2 - t"),
    (
        "V t²/(2 gamma) over all steps",
        "V**2*T*(T + 1)*(2*T + 1)/(12*H) - Sum(V**2*t**2/(2*H), (t, 1, T))",
    ),
    ("a bias of B costs B D, as the weights t add up", "B*D*T*(T + 1)/2 - Sum(B*D*t, (t, 1, T))"),
)
_WEIGHTED = (
    ("the divergence before step t cancels that after step t − 1", "(t - 1)*lam*t/2 - t*(lam*(t + 1)/2 - lam)"),
    ("a weighted step adds at most 2(L² + V)/lam", "2*(L**2 + V)/lam - t*2/(lam*(t + 1))*(L**2 + V)"),
    ("the weights add up", "T*(T + 1)/2 - Sum(t, (t, 1, T))"),
)
_HALF = dict.fromkeys((4, 5, 7, 8, 9, 10), "n/2")
_MOVED = "(lam*n*c)**2/(36*L**2)"


def _acceleration(biased: bool, *concludes: Concluded, displays: tuple[str, ...] = ()) -> ProofFamily:
    smooth, start, kept = (13, 14, 18) if biased else (9, 10, 14)
    return family(
        lambda: expected.accelerated_step(biased),
        "H",
        {
            **{2: f"{_T}**2/(2*{_GAMMA})", 3: _T, 4: f"2*{_GAMMA}"},
            **({8: f"{_T}*D/(2*B)", 9: f"{_T}*B/(2*D)"} if biased else {}),
            **{smooth: f"{_T}*({_T} + 1)/2", kept: f"{_T}*m/2", start: _T},
        },
        f"V**2*{_T}**2/(2*{_GAMMA})" + (f" + {_T}*B*D" if biased else ""),
        *concludes,
        words="step t = 1 + m of AC-SA on noisy" + (" and biased" if biased else "") + " gradients, gamma >= 2H",
        follows=_POTENTIAL,
        displays=displays,
        t=_T,
        gamma=_GAMMA,
        V="V**2",
        **({"B": "B", "D": "D"} if biased else {}),
    )


def _bias(k: int, D: str, *concludes: Concluded) -> ProofFamily:
    multipliers = {1: f"{D}/(4*C)"} if k == 2 else {1: f"3*{D}/(8*C)", 3: f"27*{D}/(256*C**3)"}
    bound = f"{D}*r**2/(4*C)" if k == 2 else f"27*{D}*r**4/(256*C**3)"
    return family(lambda: expected.clip_bias(k), "C r", multipliers, bound, *concludes, where="k = 2 and 4", D=D)


_RADII = {"C": "C", "r_k": "r"}

FAMILIES_EXPECTED: tuple[ProofFamily, ...] = (
    family(
        lambda: expected.accelerated_step(False),
        "H",
        {2: f"{_T}**2*({_T} + 1)/(4*H)", 3: _T, 4: "2*H", 9: f"{_T}*({_T} + 1)/2", 10: _T, 14: f"{_T}*m/2"},
        "0",
        Concluded("user_level/proc-ac-sa", {n: n for n in "HDT"}, "H*D**2/(T*(T + 1)/2)"),
        words="step t = 1 + m of AC-SA on exact gradients, gamma = H",
        follows=_POTENTIAL[:1],
        t=_T,
        gamma="H",
        V="0",
    ),
    _acceleration(
        False,
        Concluded(
            "user_level/proc-ac-sa@derived",
            {n: n for n in "HDTV"},
            "(2*H*D**2 + V**2*T*(T + 1)*(2*T + 1)/(24*H))/(T*(T + 1)/2)",
        ),
        Concluded(
            "tsybakov/fact-acsa@derived",
            {"H": "H", "D": "D", "T": "T", "Sigma": f"D*(2*H + x)*{_LEVEL}"},
            "((2*H + x)*D**2 + (2*H + x)*D**2)/(T*(T + 1)/2)",
        ),
        Concluded(
            "tsybakov/fact-acsa@derived",
            {"H": "H", "D": "D", "T": "T", "Sigma": f"D*2*H/(1 + x)*{_LEVEL}"},
            "(2*H*D**2 + 2*H*D**2/(1 + x)**2)/(T*(T + 1)/2)",
        ),
    ),
    _acceleration(True, displays=("tsybakov/thm-6@derived", "tsybakov/thm-6@placed")),
    family(
        expected.mirror_step,
        "eta L V",
        {2: "1/eta", 10: "1/eta", 15: "eta", 16: "eta", 17: "1"},
        "eta*(L**2 + V)",
        Concluded("l1_geometry/thm-3@summed", {"D_1": "D", "L": "L", "V": "A**2 - L**2", "T": "t**2"}, "2*D*A/t"),
        Concluded(
            "l1_geometry/thm-3@weighted",
            {"L": "L", "V": "V", "lambda": "lam", "T": "T"},
            "T*2*(L**2 + V)/lam/(T*(T + 1)/2)",
        ),
        follows=(
            (
                "T = t² steps of eta = D/(t A), A² = L² + V",
                "2*D*A/t - (D**2/(D/(t*A)) + t**2*(D/(t*A))*A**2)/t**2",
            ),
            *_WEIGHTED,
        ),
    ),
    family(
        lambda: expected.regularised_mirror(1, alone=True),
        "H alpha d",
        {5: "1/(H + alpha)", 29: "H + alpha", 30: "H + alpha", 34: "2", **dict.fromkeys((16, 20, 21, 31, 32, 33), "1")},
        "d*s**2/(H + alpha)",
        Concluded(
            "lp_spaces/thm-7@derived",
            {"H": "H", "alpha": "alpha", "C": "C", "d": "d", "sigma": "s", "A": "1 + x"},
            "H*C*(alpha/(2*H))/x + d*s**2/(H + alpha)",
        ),
        words="a noisy mirror step on G + alpha Phi, G smooth relative to Phi",
        follows=(
            ("weights a^t, a = 1 + alpha/(2H), telescope", "alpha + H - H*(1 + alpha/(2*H))"),
            ("they add up to (a^T − 1)/(a − 1)", "(a**(T + 1) - 1) - (a**T - 1) - a**T*(a - 1)"),
        ),
        V="d*s**2",
    ),
    family(
        problems.regret_step,
        "eta L",
        {2: "1/eta", 10: "1/eta", 15: "1"},
        "eta*L**2/2",
        Concluded(
            "user_level/fact-eq-7",
            {"d": "d", "sigma": "s", "eta": "eta", "T": "T", "L": "L"},
            "d*s**2/2/(eta*T) + eta*L**2/2",
        ),
        words="a phase of descent from a point that noise of second moment d s² has moved away from y",
        follows=(("the divergences telescope from d s²/2", "(d*s**2/2/eta)/T - d*s**2/2/(eta*T)"),),
        displays=("user_level/fact-eq-7@derived",),
    ),
    family(
        expected.generalisation,
        "lam n L",
        {0: "1", **_HALF, 11: "1", 13: "1/2", 19: "1/2", 21: "1", 23: "1", 25: "1", 32: "1/n", 42: "1"},
        "2*L**2/(lam*n)",
        Concluded("l1_geometry/lem-3-4", {"L": "L", "eta_i": "1/(lam*n)"}),
    ),
    family(
        lambda: expected.generalisation(weighed=True),
        "lam n L D",
        {
            **{0: "1", **_HALF, 11: "1", 13: "1", 18: "1", 20: "1/2", 26: "1/2"},
            **{28: "1", 30: "1", 31: "1", 37: "1/n"},
        },
        "2*L**2/(lam*n) + lam*D**2/2",
        Concluded("user_level/fact-eq-15@derived", {"L": "L", "lambda": "lam", "N": "n/m", "m": "m", "D": "D"}),
        words="the excess risk of a regularised minimiser over y, psi(y) <= lam D²/2",
    ),
    *(
        _bias(k, "D", Concluded("pure_heavy_tails/lem-c-1@derived", {"C": "C", "D": "D", "G_k": "r", "k": str(k)}))
        for k in (2, 4)
    ),
    *(
        _bias(
            k,
            "1",
            *(
                Concluded(f"tsybakov/{item}", {**_RADII, "k": str(k)})
                for item in ("lem-7", "lem-7@corrected", "thm-8@derived")
            ),
        )
        for k in (2, 4)
    ),
    family(
        lambda: expected.clipped_variance(1),
        "r d",
        {0: "1", 2: "2", 3: "1", 4: "2"},
        "d*s**2 + r**2",
        Concluded("tsybakov/lem-7@variance", {"d": "d", "sigma": "s", "r_2": "r", "n": "n"}, "d*s**2 + r**2/n"),
        Concluded(
            "tsybakov/claim-noise", {"d": "d", "sigma": "s", "r_k": "r", "n": "n", "T": "T"}, "d*s**2 + T*r**2/n"
        ),
        words="the variance of a clipped mean of n records, or of n/T, with noise",
        follows=(("n independent records of a mean add up", "r**2/n - Sum((r/n)**2, (t, 1, n))"),),
        sigma="s",
    ),
    family(
        expected.linear_record,
        "eta L t T",
        {0: "(t/T*eta)**2"},
        "(t/T*eta*L)**2",
        Concluded(
            "user_level/lem-2-3@linear",
            {"eta": "eta", "L": "L", "T": "T"},
            "eta**2*L**2*(T - 1)*(2*T - 1)/(3*T)",
        ),
        follows=(
            (
                "independent records of two runs add up",
                "eta**2*L**2*(T - 1)*(2*T - 1)/(3*T) - 2*Sum((t/T*eta*L)**2, (t, 1, T - 1))",
            ),
        ),
    ),
    family(
        expected.gradient_noises,
        "L",
        dict.fromkeys(range(4), "4"),
        "16*L**2",
        Concluded("user_level/lem-b4@corrected", {"L": "L"}),
    ),
    family(
        localised.proximal_step,
        "lam r",
        {2: "lam/2", 3: "1", 7: "1"},
        "lam*r**2/2",
        follows=(
            ("a phase from within 3Δ/lam of the last minimiser, with 32 lam", "144*D**2/lam - 32*lam/2*(3*D/lam)**2"),
        ),
        displays=("pure_heavy_tails/thm-2-1@summed",),
    ),
    family(
        localised.frank_wolfe_step,
        "s H D L r",
        {1: "H*s**2/2", 2: "s", 3: "1", 4: "s", 5: "s"},
        "s*(L*D + r) + H*s**2*D**2/2",
        words="a conditional gradient step of size s, in any norm, with an estimate and a choice that are inexact",
        follows=(("steps 2/(t + 1) have the weights 2t/(T(T + 1))", "t*(t + 1)/2*(1 - 2/(t + 1)) - (t - 1)*t/2"),),
        displays=("l1_geometry/thm-6@summed",),
        e="L",
        xi="r",
    ),
    family(
        localised.halved,
        "R a",
        {1: "1/(4*a/R + x)", 2: "1/(4*a/R + x)"},
        "R**2/4",
        Concluded("tsybakov/lem-4", {"e": "m", "R_0": "R", "a": "a"}, "R*a/2**(m - 1)"),
        words="growth of order 2 after a call on a ball of radius R leaves the minimiser within R/2",
        where="theta = 2",
        follows=(("balls halve", "R/2**m - 2*(R/2**(m + 1))"),),
        lam="4*a/R + x",
    ),
    family(
        localised.constant_output,
        "G D",
        {1: "G", 2: "1", 4: "1"},
        "G*D",
        Concluded("pure_heavy_tails/fact-trivial", {"G_1": "G", "D": "D"}),
    ),
    family(
        localised.approximate_loss,
        "lam n L",
        {
            **dict.fromkeys((1, 2), f"4/lam*{_MOVED}"),
            **dict.fromkeys((4, 10), f"4/(lam*n)*{_MOVED}"),
            **dict.fromkeys((16, 18, 20, 22), f"8/lam*{_MOVED}"),
        },
        "(2*c/3)**2",
        Concluded("pure_heavy_tails/lem-c-2@derived", {"epsilon": "c"}, squared=True),
        alpha="L**2/(2*lam*n**2)",
        scale="6*L/(lam*n*c)",
    ),
    family(
        localised.mean_from_minimiser,
        "m D gap",
        {0: "2", 2: "2*m**2", 4: "8*m/D"},
        "8*m*gap/D",
        displays=("pure_heavy_tails/lem-g-1",),
        s="D/(2*(1 + x))",
    ),
    *(
        family(
            lambda: localised.coordinate_means(1),
            "L b",
            {0: "2/b**2", 1: "2/b**2"},
            "4*L**2/b**2",
            Concluded(
                f"l1_geometry/alg-{n}@sensitivity", {"L": "L", batch: "b", "d": "d"}, "4*L**2/b**2*d", squared=True
            ),
            words="one of d coordinates of a mean of b vectors, of which one is replaced",
            follows=(("d coordinates add up", "4*L**2/b**2*d - Sum(4*L**2/b**2, (t, 1, d))"),),
        )
        for n, batch in ((1, "b"), (2, "b[i]"))
    ),
)
