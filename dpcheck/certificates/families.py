"""What is proved for all parameters, and what of it for every number of steps."""

from __future__ import annotations

from dpcheck.certificates import problems
from dpcheck.certificates.clipping import FAMILIES_CLIPPING
from dpcheck.certificates.families_expected import FAMILIES_EXPECTED
from dpcheck.certificates.proofs import Concluded, ProofFamily, family

_TWICE = {1: "2/lam", 2: "2/lam", 4: "2/(lam*n)", 10: "2/(lam*n)"}
_LENGTHS = {16: "(4 + 4/c)/lam", 18: "(4 + 4/c)/lam", 20: "(4 + 4/c)/lam", 22: "(4 + 4/c)/lam"}
_PAIRS = {"lambda": "lam", "C": "L", "L": "L"}
_ETA = "2/(H + 2*lam + z)"
_SHRUNK = "(H + z)/(H + 2*lam + z)"

FAMILIES: tuple[ProofFamily, ...] = (
    family(
        problems.regularised_minimisers,
        "lam n L",
        _TWICE,
        "(2*L/(lam*n))**2",
        Concluded("l1_geometry/fact-sssss", {**_PAIRS, "n": "n"}, squared=True),
        Concluded("pure_heavy_tails/fact-erm-sensitivity", {**_PAIRS, "n": "n"}, squared=True),
        Concluded("user_level/proc-rerm", {**_PAIRS, "N": "n"}, squared=True),
        Concluded("l1_geometry/lem-3-4@derived", {"L": "L", "eta_i": "1/(lam*n)"}, squared=True),
        Concluded("lp_spaces/alg-1@derived", {"L": "L", "lambda": "lam/2", "n": "n"}, squared=True),
    ),
    family(
        problems.extended_minimisers,
        "lam n G C",
        _TWICE,
        "((G + C)/(lam*n))**2",
        displays=("pure_heavy_tails/prop-2-5@corrected",),
    ),
    family(
        problems.first_block,
        "alpha",
        {0: "1", 1: "1"},
        "alpha",
        Concluded("pure_heavy_tails/lem-2-7", {"alpha": "alpha"}),
        Concluded("pure_heavy_tails/lem-c-4", {"alpha": "alpha"}),
    ),
    family(
        problems.majority,
        "R",
        {1: "3/2", 3: "3"},
        "9*R**2",
        Concluded("pure_heavy_tails/proc-geom-agg@derived", {"R": "R"}, squared=True),
    ),
    family(
        problems.approximate_minimisers,
        "lam n L",
        {1: "(2 + 2*c)/lam", 2: "(2 + 2*c)/lam", 4: "(2 + 2*c)/(lam*n)", 10: "(2 + 2*c)/(lam*n)", **_LENGTHS},
        "((2 + 2*c)*L/(lam*n))**2",
        alpha="c**2*L**2/(2*lam*n**2)",
        words="approximate minimisers, at every accuracy c²L²/(2 lam n²)",
    ),
    family(
        problems.approximate_minimisers,
        "lam n L",
        {1: "4/lam", 2: "4/lam", 4: "4/(lam*n)", 10: "4/(lam*n)", 16: "8/lam", 18: "8/lam", 20: "8/lam", 22: "8/lam"},
        "(4*L/(lam*n))**2",
        Concluded("pure_heavy_tails/alg-2@derived", {**_PAIRS, "n": "n"}, squared=True),
        displays=("pure_heavy_tails/lem-c-2",),
        alpha="L**2/(2*lam*n**2)",
    ),
    family(
        problems.approximate_minimisers,
        "lam n L",
        {
            1: "7/(3*lam)",
            2: "7/(3*lam)",
            4: "7/(3*lam*n)",
            10: "7/(3*lam*n)",
            16: "28/lam",
            18: "28/lam",
            20: "28/lam",
            22: "28/lam",
        },
        "(7*L/(3*lam*n))**2",
        Concluded("pure_heavy_tails/prop-d-1", {**_PAIRS, "m": "n"}, squared=True),
        alpha="L**2/(72*lam*n**2)",
    ),
    family(
        lambda: problems.growth(True),
        "lam L",
        {4: "2", 6: "2", 7: "1"},
        "L**2/lam",
        Concluded("tsybakov/lem-1", {"lambda": "lam", "L": "L", "theta": "2"}),
        where="theta = 2",
        words="growth of order theta = 2 and a Lipschitz constant bound the excess, in any norm",
    ),
    family(
        problems.growth_diameter,
        "lam L",
        dict.fromkeys((4, 6, 7, 12, 14, 22), "4/lam"),
        "4*L**2/lam**2",
        Concluded("tsybakov/rem-3@derived", {"lambda": "lam", "L": "L", "theta": "2"}, squared=True),
        where="theta = 2",
    ),
    family(
        problems.strong_growth, "lam gap", {1: "2/lam", 3: "2/lam"}, "2*gap/lam", displays=("tsybakov/fact-sc-tnc",)
    ),
    family(
        problems.clipped_mean,
        "n C",
        {0: "2/n**2", 1: "2/n**2"},
        "4*C**2/n**2",
        Concluded("tsybakov/alg-1", {"n": "n", "C": "C"}, squared=True),
        Concluded("tsybakov/fact-sens", {"n": "n", "C": "C"}, squared=True),
    ),
    family(
        problems.gradient_mapping,
        "n C gamma",
        {0: "2/n**2", 1: "2/n**2", 6: "2/gamma**2", 7: "2/gamma**2"},
        "4*C**2/n**2",
        Concluded("pure_heavy_tails/alg-5", {"n": "n", "C": "C"}, squared=True),
    ),
    family(
        problems.linear_mirror,
        "eta L R",
        {1: "1", 2: "1", 3: "2"},
        "(2*eta*L*R)**2",
        Concluded("l1_geometry/lem-a2", {"eta": "eta", "L": "L", "R": "R"}),
    ),
    family(
        problems.centred_score,
        "m C R",
        {1: "2*C/m", 2: "1/m", 4: "1/m", 11: "1/m", 13: "1/m"},
        "2*C*R/m",
        Concluded("pure_heavy_tails/lem-f-1@derived", {"m": "m", "C": "C", "R": "R"}),
        Concluded("pure_heavy_tails/lem-f-1", {"m": "m", "C": "C", "D": "R"}),
    ),
    family(
        problems.mirror_step,
        "eta lam",
        {2: "1/eta", 13: "1/eta", 15: "1", 16: "1"},
        "0",
        displays=("l1_geometry/fact-one-step",),
    ),
    family(
        problems.extension_bias,
        "C D",
        {1: "x", 2: "1", 4: "1"},
        "D*x",
        A="C + x",
        displays=("pure_heavy_tails/lem-c-1", "pure_heavy_tails/lem-2-3"),
    ),
    family(problems.excess_by_extension, "", {0: "1", 1: "1"}, "0", displays=("pure_heavy_tails/fact-eq-7",)),
    family(
        problems.contraction_step,
        "lam H",
        {2: "(H/(H + lam))**2", 7: "2*H/(H + lam)**2", 8: "2*H/(H + lam)**2", 13: "2", 14: "2"},
        "(H/(H + lam))**2",
        Concluded("pure_heavy_tails/fact-pgm-error-bound", {"H": "H", "lambda": "lam"}, squared=True),
        eta="1/(H + lam)",
        r="1",
    ),
    family(
        problems.apart_step,
        "eta L",
        {2: "2*eta**2", 7: "2*eta**2", 8: "2*eta", 9: "2*eta", 14: "2", 15: "2"},
        "4*eta**2*L**2",
        words="one pass of projected subgradient descent from one start on neighbours: ‖w_T − v_T‖² grows by at most "
        "4 eta²L² at a common loss, smooth or not, and is at most 4 eta²L²T where the first record is replaced",
        follows=(
            ("a replaced first loss moves the squared distance from 0 to at most this", "4*eta**2*L**2 - (2*eta*L)**2"),
            ("T steps add up", "4*eta**2*L**2*T - Sum(4*eta**2*L**2, (t, 1, T))"),
        ),
        displays=("user_level/proc-sgd",),
    ),
    family(
        problems.regret_step,
        "eta L",
        {2: "1/eta", 10: "1/eta", 15: "1"},
        "eta*L**2/2",
        Concluded("l1_geometry/lem-3-1", {"T": "T", "eta": "eta", "L": "L", "D_h": "R"}, "R/(eta*T) + eta*L**2/2"),
        Concluded("user_level/lem-b3@derived", {n: n for n in ("T", "eta", "L", "D")}, "D**2/2/(eta*T) + eta*L**2/2"),
        Concluded("user_level/lem-b3", {n: n for n in ("T", "eta", "L", "D")}, "D**2/2/(eta*T) + eta*L**2/2"),
        words="the average of mirror descent; D is half of the squared distance for Euclidean steps",
        follows=(
            ("the divergences telescope from R, the rest adds up", "(R/eta + T*eta*L**2/2)/T - R/(eta*T) - eta*L**2/2"),
        ),
    ),
    family(
        problems.regret_step,
        "eta L",
        {2: "1/eta", 10: "1/eta", 15: "1"},
        "eta*L**2/2",
        Concluded("l1_geometry/lem-3-2@corrected", {"T": "T", "lambda": "lam", "L": "L"}, "T*L**2/lam/(T*(T + 1)/2)"),
        words="the average, weighted by t, of mirror descent with steps 2/(lam(t + 1)), f lam-strongly convex to h",
        follows=(
            ("the divergence before step t cancels that after step t − 1", "(t - 1)*lam*t/2 - t*(lam*(t + 1)/2 - lam)"),
            ("a weighted step adds at most L²/lam", "L**2/lam - t*2/(lam*(t + 1))*L**2/2"),
            ("the weights add up", "T*(T + 1)/2 - Sum(t, (t, 1, T))"),
        ),
    ),
    family(
        problems.inexact_step,
        "eta L D xi",
        {2: "eta/2", 3: "(xi + D)/(2*eta*xi)", 4: "1/eta", 8: "xi/(2*eta*D)"},
        "eta*L**2/2 + D*xi/eta + xi**2/(2*eta)",
        Concluded(
            "pure_heavy_tails/lem-d-5",
            {n: n for n in ("T", "eta", "L", "D", "xi", "B")},
            "(D**2/(2*eta) + T*(eta*L**2/2 + D*xi/eta + xi**2/(2*eta)))/T + B",
        ),
        Concluded("pure_heavy_tails/lem-d-5@derived", {"alpha": "alpha"}, "alpha/4 + alpha/4 + alpha/6 + alpha/12"),
        displays=("pure_heavy_tails/proc-biased-psgd",),
        follows=(
            (
                "the start and the steps at T = (4DL/alpha)², eta = alpha/(4L²)",
                "alpha/4 - D**2/(2*alpha/(4*L**2)*(4*D*L/alpha)**2) - alpha/(4*L**2)*L**2/2",
            ),
            ("the last term at xi = alpha eta/(6D) <= D", "alpha/12 - alpha**2*(6*D**2/(alpha*(1 + x)))/(72*D**2)"),
        ),
    ),
    family(
        problems.biased_step,
        "lam r D B",
        {
            **dict.fromkeys((1, 2, 3), "2/(lam + x)"),
            5: "2*lam**2/(lam + x)**2",
            6: "2/(lam + x)**2",
            7: "1/(lam*(lam + x))",
            8: "2",
        },
        "(2*r**2 + 2*lam**2*D**2)/(lam + x)**2 + B**2/(lam*(lam + x))",
        follows=(
            (
                "(1 − eta lam) times a distance plus this has the fixed point 2 eta r²/lam + 2 eta lam D² + B²/lam²",
                "eta*lam*(2*eta*r**2/lam + 2*eta*lam*D**2 + B**2/lam**2)"
                " - eta**2*(2*r**2 + 2*lam**2*D**2) - eta*B**2/lam",
            ),
        ),
        displays=("tsybakov/thm-8@sharp", "tsybakov/thm-8"),
        eta="1/(lam + x)",
    ),
    family(
        problems.drift_step,
        "lam C r",
        {2: "(1/(lam + x))*(C/(lam + x) + x/(lam + x)*r)/C", 3: "x/(lam + x)*(x/(lam + x)*r + C/(lam + x))/r", 4: "2"},
        "(x/(lam + x)*r + C/(lam + x))**2",
        Concluded(
            "tsybakov/alg-2@derived", {"eta": "(1 - a)/lam", "lambda": "lam", "C": "C", "T": "T"}, "C*(1 - a**T)/lam"
        ),
        Concluded(
            "tsybakov/thm-1@trivial", {"eta": "(1 - a)/lam", "lambda": "lam", "C": "C", "T": "T"}, "2*C*(1 - a**T)/lam"
        ),
        Concluded("tsybakov/alg-3@trivial-movement", {"lambda": "lam", "C": "C"}, "2*C*(1 - a**T)/lam"),
        eta="1/(lam + x)",
        follows=(
            (
                "C(1 − a^T)/lam solves r ↦ a r + eta C from 0, a = 1 − eta lam; two runs are twice that apart",
                "C*(1 - a**(T + 1))/lam - a*C*(1 - a**T)/lam - (1 - a)/lam*C",
            ),
        ),
    ),
    family(
        problems.regularised_step,
        "lam H L r",
        {
            **dict.fromkeys((2, 3), f"{_ETA}*({_SHRUNK}*r + 2*{_ETA}*L/(1 + m))/((1 + m)*L)"),
            4: f"{_SHRUNK}*({_SHRUNK}*r + 2*{_ETA}*L/(1 + m))/r",
            **dict.fromkeys((9, 10), f"2*{_ETA}*m/(1 + m)*({_SHRUNK}*r + 2*{_ETA}*L/(1 + m))/r"),
            **dict.fromkeys((15, 16), "2"),
        },
        f"({_SHRUNK}*r + 2*{_ETA}*L/(1 + m))**2",
        Concluded(
            "tsybakov/thm-1@glm",
            {"eta": "(1 - a)/lam", "lambda": "lam", "C": "C", "T": "T", "n": "n"},
            "2*C*(1 - a**T)/(lam*n)",
        ),
        Concluded("tsybakov/rem-2@corrected", {"lambda": "lam", "C": "C", "n": "n"}, "2*C*(1 - a**T)/(lam*n)"),
        eta=_ETA,
        n="1 + m",
        words="regularised full-batch projected descent on neighbours, smooth convex losses, eta(H + 2 lam) <= 2",
        follows=(
            (
                "2C(1 − a^T)/(lam n) solves r ↦ a r + 2 eta C/n from 0, a = 1 − eta lam",
                "2*C*(1 - a**(T + 1))/(lam*n) - a*2*C*(1 - a**T)/(lam*n) - 2*(1 - a)/lam*C/n",
            ),
        ),
    ),
    family(
        problems.contraction_step,
        "H r",
        {2: "1", 7: "4/(H + z)", 8: "4/(H + z)", 13: "2", 14: "2"},
        "r**2",
        lam="0",
        eta="2/(H + z)",
        words="a projected step eta <= 2/H on a convex H-smooth loss moves no two points apart",
    ),
    family(
        problems.replaced_step,
        "eta L r",
        {2: "eta*(r + 2*eta*L)/L", 3: "eta*(r + 2*eta*L)/L", 4: "(r + 2*eta*L)/r", 13: "2", 14: "2"},
        "(r + 2*eta*L)**2",
        Concluded("user_level/proc-group-privacy@movement", {"L": "L", "m": "m", "eta[i]": "eta"}, "2*eta*L*m"),
        words="m replaced records move the iterates, and so their average, by at most 2 eta L each, common ones do not",
        follows=(("m steps add up", "2*eta*L*m - Sum(2*eta*L, (t, 1, m))"),),
    ),
    *FAMILIES_EXPECTED,
    *FAMILIES_CLIPPING,
)
