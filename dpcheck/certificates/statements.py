"""Which statements are certified: their runs and the numbers at which they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpcheck.certificates import localised, problems
from dpcheck.certificates.clipping import CLIPPED
from dpcheck.certificates.expected import EXPECTED
from dpcheck.certificates.games import GAMES
from dpcheck.certificates.localised import LOCALISED
from dpcheck.certificates.runs import StatementRun, both, displayed, run, simple


def _minimisers(loss: str, size: str, **others: Any) -> tuple[StatementRun, ...]:
    """Sensitivity of regularised minimisers, under the claim's own letters for the Lipschitz constant and n."""
    return tuple(
        run(
            problems.regularised_minimisers,
            f"n = {n}, lam = {lam}",
            {},
            {"n": n, "lam": lam, "L": L},
            at={size: n, "lambda": lam, loss: L, **others},
            squared=True,
        )
        for n, lam, L in ((2, 1, 1), (10, "1/10", 1), (100, "3/7", 5))
    )


def _localised() -> tuple[StatementRun, ...]:
    """The regulariser of a phase is 1/(eta n)-strongly convex in its norm."""
    return tuple(
        run(
            problems.regularised_minimisers,
            f"n_i = {n}, eta_i = {eta}",
            {},
            {"n": n, "lam": str(1 / Fraction(eta) / n), "L": 1},
            at={"L": 1, "eta_i": eta},
            squared=True,
        )
        for n, eta in ((5, "1/3"), (64, "1/16"))
    )


def _perturbed() -> tuple[StatementRun, ...]:
    """lam‖theta‖² is 2 lam-strongly convex."""
    runs = [
        run(
            problems.regularised_minimisers,
            f"n = {n}, lambda = {lam}",
            {},
            {"n": n, "lam": str(2 * Fraction(lam)), "L": 1},
            at={"L": 1, "lambda": lam, "n": n},
            squared=True,
        )
        for n, lam in ((7, "1/10"), (50, "2/3"))
    ]
    return tuple(runs)


def _approximate(gap: Any, size: str, label_at: Mapping[str, str]) -> tuple[StatementRun, ...]:
    """alpha-minimisers, at the accuracy that the algorithm is given."""
    runs = []
    for n, lam in ((4, 1), (10, "1/10")):
        alpha = str(gap(n, Fraction(lam)))
        runs.append(
            run(
                problems.approximate_minimisers,
                f"{size} = {n}, lam = {lam}, alpha = {alpha}",
                {},
                {"n": n, "lam": lam, "L": 1, "alpha": alpha},
                at={size: n, "lambda": lam, "C": 1, **label_at},
                squared=True,
            )
        )
    return tuple(runs)


def _contraction() -> tuple[StatementRun, ...]:
    H, lam = Fraction(2), Fraction(1, 3)
    numbers = {"lam": str(lam), "H": str(H + lam), "eta": str(1 / (H + lam))}
    at = {"H": str(H), "lambda": str(lam)}
    runs = [*both(problems.contraction, "the contraction", {}, numbers, at=at, squared=True, attained=True)]
    runs.append(
        run(problems.error_bound, "the distance at ‖G(w)‖ = 1", {}, {"lam": "1/3", "H": "7/3"}, display="1/lam**2")
    )
    return tuple(runs)


def _drift(runs: int, at: Mapping[str, Any]) -> tuple[StatementRun, ...]:
    return tuple(
        run(
            problems.drift,
            f"T = {T}, eta = {eta}, lam = {lam}",
            {"T": T, "runs": runs},
            {"C": 2, "eta": eta, "lam": lam},
            at={"C": 2, "lambda": lam, **{name: {"T": T, "eta": eta}[name] for name in at}},
            squared=True,
        )
        for T, eta, lam in ((1, "1/2", "1/3"), (2, "1/2", "1/3"), (3, "1/4", 1), (4, "1/2", "1/3"))
    )


def _monotone(at: Mapping[str, Any]) -> tuple[StatementRun, ...]:
    """Where clipped gradients are those of a convex, C-Lipschitz, H-smooth function, its Huber form: in d = 1,
    and of linear, isotropic quadratic and generalised linear losses."""
    runs: list[StatementRun] = []
    for T in (1, 2):
        numbers = {"n": 5, "eta": "1/2", "lam": "1/3", "L": 2, "H": 2}
        values = {"C": 2, "lambda": "1/3", "n": 5, **{name: {"T": T, "eta": "1/2"}[name] for name in at}}
        shape = {"T": T, "smooth": True, "regularised": True}
        runs += both(problems.full_batch, f"T = {T}, n = 5", shape, numbers, at=values, squared=True)
    return tuple(runs)


def _averaged(steps: tuple[int, ...], at: Any) -> tuple[StatementRun, ...]:
    runs: list[StatementRun] = []
    for T in steps:
        numbers = {"eta": "1/2", "L": 1, "D": 1}
        shape = {"steps": ["eta"] * T, "weights": [1] * T}
        values = {"T": T, **numbers, **at}
        runs += both(problems.descent, f"T = {T}, eta = 1/2", shape, numbers, at=values, attained=T <= 3)
    return tuple(runs)


def _strongly(T: int) -> dict[str, Any]:
    return {"steps": [f"2/(lam*{t + 2})" for t in range(T)], "weights": list(range(1, T + 1)), "strongly": True}


def _weighted() -> tuple[StatementRun, ...]:
    numbers = {"lam": "1/2", "L": 1}
    at = {"L": 1, "lambda": "1/2"}
    runs = [
        run(problems.mirror, f"T = {T}, any norm", _strongly(T), numbers, at={"T": T, **at}) for T in (1, 2, 3, 5, 8)
    ]
    runs.append(run(localised.mirror_run, "T = 100, any norm, one run", _strongly(100), numbers, at={"T": 100, **at}))
    for T in (1, 2, 3, 4, 6):
        runs += both(problems.descent, f"T = {T}, Euclidean", _strongly(T), numbers, at={"T": T, **at}, attained=True)
    return tuple(runs)


def _weighted_refuted() -> tuple[StatementRun, ...]:
    return tuple(
        run(
            problems.descent,
            f"T = {T}, Euclidean",
            {**_strongly(T), "projected": False},
            {"lam": 1, "L": 1},
            at={"T": T, "L": 1, "lambda": 1},
            attained=True,
            expected="refuted",
        )
        for T in (4, 6)
    )


def _regret() -> tuple[StatementRun, ...]:
    short = (
        run(
            problems.mirror,
            f"T = {T}, eta = {eta}, any norm",
            {"steps": ["eta"] * T, "weights": [1] * T},
            {"eta": eta, "L": L, "R": R},
            at={"T": T, "eta": eta, "L": L, "D_h": R},
        )
        for T, eta, L, R in ((1, "1/2", 1, 1), (2, "1/3", 2, 1), (4, "1/2", 1, 3), (8, "1/5", 2, "7/2"))
    )
    long = run(
        localised.mirror_run,
        "T = 100, eta = 1/10, any norm, one run",
        {"steps": ["eta"] * 100, "weights": [1] * 100},
        {"eta": "1/10", "L": 1, "R": 2},
        at={"T": 100, "eta": "1/10", "L": 1, "D_h": 2},
    )
    return (*short, long)


def _inexact() -> tuple[StatementRun, ...]:
    numbers = {"eta": "1/2", "L": 1, "D": 1, "xi": "1/10", "B": "1/5"}
    return tuple(run(problems.inexact, f"T = {T}", {"T": T}, numbers, at={"T": T, **numbers}) for T in (1, 2, 3, 5, 8))


def _inexact_accuracy() -> tuple[StatementRun, ...]:
    """T = (4DL/alpha)², eta = D/(L√T), B = alpha/4, xi = min(D, alpha eta/(6D)), at D = L = 1 and alpha = 4/√T."""
    runs = []
    for root in (1, 2, 3):
        alpha, eta = Fraction(4, root), Fraction(1, root)
        xi = min(Fraction(1), alpha * eta / 6)
        numbers = {"eta": str(eta), "L": 1, "D": 1, "xi": str(xi), "B": str(alpha / 4)}
        runs.append(run(problems.inexact, f"T = {root**2}", {"T": root**2}, numbers, at={"alpha": str(alpha)}))
    return tuple(runs)


def _accelerated() -> tuple[StatementRun, ...]:
    runs: list[StatementRun] = []
    for T in (1, 2, 3, 4, 6):
        numbers = {"H": 1, "D": 1}
        runs += both(problems.accelerated, f"T = {T}", {"T": T}, numbers, at={"T": T, **numbers}, attained=T < 4)
    return tuple(runs)


def _group() -> tuple[StatementRun, ...]:
    """m records of one user come first; steps eta <= 2/H."""
    runs: list[StatementRun] = []
    for m, T in ((1, 2), (2, 3), (2, 4)):
        shape = {"T": T, "replaced": m, "smooth": True, "averaged": True}
        numbers = {"eta": "1/2", "L": 1, "H": 4}
        at = {"L": 1, "m": m, "eta[i]": "1/2"}
        runs += both(problems.one_pass, f"m = {m}, T = {T}", shape, numbers, at=at, squared=True)
    return tuple(runs)


def _passes() -> tuple[StatementRun, ...]:
    """Stability of subgradient descent on neighbours, on which the analysis of localisation rests."""
    runs: list[StatementRun] = []
    for T in (1, 2, 3, 4, 5):
        one = {"eta": "1/3", "L": 2}
        runs += both(
            problems.one_pass, f"one pass, T = {T}", {"T": T}, one, display=f"4*eta**2*L**2*{T}", attained=T in (2, 3)
        )
    for T, n in ((2, 10), (5, 10), (2, 100)):
        numbers = {"eta": 1, "L": 1, "n": n}
        general = f"(2*eta*L*sqrt({T - 1}) + 4*eta*L*{T}/n)**2"
        if T == 2:
            runs += both(
                problems.full_batch, f"full batch, T = {T}, n = {n}", {"T": T}, numbers, display=general, attained=True
            )
        else:
            shape = {"T": T, "projected": False}
            runs.append(
                run(
                    problems.full_batch, f"full batch, T = {T}, n = {n}", shape, numbers, display=general, attained=True
                )
            )
    for T in (1, 2, 4):
        numbers = {"eta": 2, "L": 1, "H": 1, "n": 10}
        runs.append(
            run(
                problems.full_batch,
                f"full batch, smooth, eta = 2/H, T = {T}, n = 10",
                {"T": T, "projected": False, "smooth": True},
                numbers,
                display=f"(2*eta*L*{T}/n)**2",
                attained=True,
            )
        )
    runs.append(
        run(
            problems.full_batch,
            "full batch, smooth, eta = 2.5/H, T = 4, n = 10: beyond 2/H",
            {"T": 4, "projected": False, "smooth": True},
            {"eta": "5/2", "L": 1, "H": 1, "n": 10},
            display="(2*eta*L*4/n)**2",
            attained=True,
            expected="refuted",
        )
    )
    known = " The paper prints no bound: this is the one known in general (Bassily, Feldman, Guzmán and Talwar, 2020)."
    return tuple(replace(one, words=one.words + known) for one in runs)


MINIMISERS = {
    "l1_geometry/fact-sssss": _minimisers("L", "n"),
    "pure_heavy_tails/fact-erm-sensitivity": _minimisers("C", "n"),
    "user_level/proc-rerm": _minimisers("L", "N"),
    "l1_geometry/lem-3-4@derived": _localised(),
    "lp_spaces/alg-1@derived": _perturbed(),
    "pure_heavy_tails/alg-2@derived": _approximate(lambda n, lam: 1 / (2 * lam * n**2), "n", {}),
    "pure_heavy_tails/prop-d-1": _approximate(lambda m, lam: 1 / (72 * lam * m**2), "m", {}),
}


def _biased() -> tuple[StatementRun, ...]:
    """With (1 − eta lam)^T, which is at most the printed e^(−eta lam T)."""
    kept = "(1 - eta*lam)**{0}*D**2 + (1 - (1 - eta*lam)**{0})*(2*eta*r**2/lam + 2*eta*lam*D**2 + B**2/lam**2)"
    numbers = {"eta": "1/2", "lam": "1/2", "D": 2, "r": 1, "B": "1/4"}
    return tuple(
        run(problems.biased, f"T = {T}, (1 - eta lam)^T for e^(-eta lam T)", {"T": T}, numbers, display=kept.format(T))
        for T in (1, 2, 3)
    )


CERTIFIED: dict[str, tuple[StatementRun, ...]] = {
    **MINIMISERS,
    **EXPECTED,
    **LOCALISED,
    **GAMES,
    **CLIPPED,
    "pure_heavy_tails/lem-c-2": displayed(
        problems.approximate_minimisers, {"n": 10, "lam": "1/10", "L": 1, "alpha": "1/20"}, "(4*L/(lam*n))**2"
    ),
    "pure_heavy_tails/prop-2-5@corrected": displayed(
        problems.extended_minimisers, {"n": 10, "lam": "1/10", "G": 3, "C": 1}, "((G + C)/(lam*n))**2"
    ),
    "pure_heavy_tails/fact-smoothing": tuple(
        run(
            problems.smoothed,
            f"{near} points, L = 3, tau = 1/4: the bias alone, as the text has it",
            {"near": near},
            {"L": 3, "tau": "1/4"},
            display="tau*L",
            attained=True,
        )
        for near in (1, 2, 4)
    ),
    "pure_heavy_tails/lem-2-7": simple(problems.first_block, {"alpha": "1/3"}, {"alpha": "1/3"}),
    "pure_heavy_tails/lem-c-4": simple(problems.first_block, {"alpha": "1/3"}, {"alpha": "1/3"}),
    "pure_heavy_tails/proc-geom-agg@derived": simple(problems.majority, {"R": 2}, {"R": 2}, squared=True),
    "pure_heavy_tails/thm-e-1": displayed(problems.mapping_slope, {"lam": "1/3", "H": 2}, "(2*H)**2"),
    "tsybakov/thm-8@sharp": _biased(),
    "l1_geometry/lem-3-1": _regret(),
    "l1_geometry/lem-3-2": _weighted_refuted(),
    "l1_geometry/lem-3-2@corrected": _weighted(),
    "l1_geometry/fact-one-step": displayed(problems.mirror_step, {"eta": "1/2", "lam": "1/3"}, "0"),
    "l1_geometry/lem-a2": simple(
        problems.linear_mirror, {"eta": "1/2", "L": 1, "R": 3}, {"eta": "1/2", "L": 1, "R": 3}
    ),
    "pure_heavy_tails/alg-5": simple(
        problems.gradient_mapping, {"n": 7, "C": 2, "gamma": "1/3"}, {"n": 7, "C": 2}, squared=True
    ),
    "pure_heavy_tails/fact-eq-7": displayed(problems.excess_by_extension, {}, "0"),
    "pure_heavy_tails/fact-pgm-error-bound": _contraction(),
    "pure_heavy_tails/lem-2-3": displayed(problems.extension_bias, {"A": "5/2", "C": 2, "D": 1}, "D*(A - C)"),
    "pure_heavy_tails/lem-c-1": displayed(problems.extension_bias, {"A": 3, "C": 1, "D": 2}, "D*(A - C)"),
    "pure_heavy_tails/lem-d-5": _inexact(),
    "pure_heavy_tails/lem-d-5@derived": _inexact_accuracy(),
    "pure_heavy_tails/lem-f-1@derived": simple(
        problems.centred_score, {"m": 5, "C": 2, "R": 3}, {"m": 5, "C": 2, "R": 3}
    ),
    "pure_heavy_tails/lem-f-1": simple(problems.centred_score, {"m": 5, "C": 2, "R": 3}, {"m": 5, "C": 2, "D": 3}),
    "tsybakov/alg-1": simple(problems.clipped_mean, {"n": 7, "C": 2}, {"n": 7, "C": 2}, squared=True),
    "tsybakov/fact-sens": simple(problems.clipped_mean, {"n": 100, "C": "1/2"}, {"n": 100, "C": "1/2"}, squared=True),
    "tsybakov/fact-sc-tnc": displayed(problems.strong_growth, {"lam": "1/3", "gap": 2}, "2*gap/lam"),
    "tsybakov/lem-1": (
        *simple(problems.growth, {"lam": "1/3", "L": 2}, {"lambda": "1/3", "L": 2, "theta": 2}, excess=True),
        *displayed(problems.growth, {"lam": "1/3", "L": 2}, "(L/lam)**2"),
    ),
    "tsybakov/rem-3@derived": simple(
        problems.growth_diameter, {"lam": "1/3", "L": 2}, {"lambda": "1/3", "L": 2, "theta": 2}, squared=True
    ),
    "tsybakov/alg-2@derived": _drift(1, {"T": 1, "eta": 1}),
    "tsybakov/thm-1@trivial": _drift(2, {"T": 1, "eta": 1}),
    "tsybakov/alg-3@trivial-movement": _drift(2, {}),
    "tsybakov/thm-1@glm": _monotone({"T": 1, "eta": 1}),
    "tsybakov/rem-2@corrected": _monotone({}),
    "user_level/lem-b3": _averaged((1, 2, 4, 9), {}),
    "user_level/lem-b3@derived": _averaged((1, 2, 4, 9), {}),
    "user_level/proc-ac-sa": _accelerated(),
    "user_level/proc-group-privacy@movement": _group(),
    "user_level/proc-sgd": _passes(),
}
"""Label -> what is certified of it."""
