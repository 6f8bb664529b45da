"""Steps along gradients that are clipped by norm, which no monotone map takes: what holds of them nevertheless.

Of two points and one convex loss, clipping keeps the signs of <g(w), w − v> and <g(v), w − v>, and so that the first is
not negative or the second not positive. Both cases are one by symmetry, so that the lines below assume the first.
"""

from __future__ import annotations

from fractions import Fraction

from dpcheck.certificates.proofs import Concluded, ProofFamily, family
from dpcheck.certificates.runs import StatementRun, both, run

Lines = list[str]


def clipped_step(projected: bool = True) -> Lines:
    """A step of size eta along the clipped subgradients c and k of one convex loss, at most C long, from w and v with
    ‖w − v‖² <= r2 and <c, w − v> >= 0: ‖w⁺ − v⁺‖²."""
    step = "project(K, {})" if projected else "{}"
    return [
        *("K = region()", "w = inside(K, vector())", "v = inside(K, zero)", "c = vector()", "k = vector()"),
        *("assume c @ c <= C*C", "assume k @ k <= C*C", "assume 0 <= c @ w", "assume w @ w <= r2"),
        *(f"{x}1 = " + step.format(f"{x} - eta*{own}") for x, own in (("w", "c"), ("v", "k"))),
        "bound (w1 - v1) @ (w1 - v1)",
    ]


def clipped_batch_step() -> Lines:
    """A projected step of size eta on n clipped convex losses plus (lam/2)‖·‖², one of which is replaced, from w and v
    at distance at most r; c and k are the means over the n − 1 common ones, h and g the other: ‖w⁺ − v⁺‖²."""
    return [
        *("K = region()", "w = inside(K, vector())", "v = inside(K, zero)"),
        *("c = vector()", "k = vector()", "h = vector()", "g = vector()"),
        *(f"assume {x} @ {x} <= C*C" for x in "ckhg"),
        *("assume 0 <= c @ w", "assume w @ w <= r*r"),
        *(
            f"{x}1 = project(K, (1 - eta*lam)*{x} - eta*((n - 1)/n*{own} + {other}/n))"
            for x, own, other in (("w", "c", "h"), ("v", "k", "g"))
        ),
        "bound (w1 - v1) @ (w1 - v1)",
    ]


def clipped_jacobian() -> Lines:
    """I − kappa P Q at a unit vector x, P the projection across a direction, 0 <= Q <= I; x has the parts d and b, Qx
    the parts p and a, across that direction and along it: ‖(I − kappa P Q)x‖²."""
    return [
        *("d = vector()", "b = vector()", "p = vector()", "a = vector()"),
        *("assume d @ d + b @ b <= 1", "assume p @ p + a @ a <= d @ p + b @ a"),
        "bound (d - kappa*p) @ (d - kappa*p) + b @ b",
    ]


def noisy_step() -> Lines:
    """A projected step w − eta(c + lam(w − start)) against the minimiser 0 of f + (lam/2)‖· − start‖², f convex, c
    within B of the subgradient at w, c and that at 0 at most r long: ‖w⁺‖² less (1 − eta lam)‖w‖²."""
    return [
        *("f = convex()", "K = region()", "start = vector()", "best = zero", "d = gradient(f, best)"),
        *("at_best = inside(K, best, lam*start - d)", "w = inside(K, vector())", "c = vector()"),
        "b = c - gradient(f, w)",
        *("assume c @ c <= r*r", "assume d @ d <= r*r", "assume b @ b <= B*B"),
        *("w1 = project(K, w - eta*(c + lam*(w - start)))", "bound w1 @ w1 - (1 - eta*lam)*(w @ w)"),
    ]


def noisy_run(T: int) -> Lines:
    """T such steps from the start itself: ‖w_T‖², the squared distance to the minimiser."""
    lines = ["f = convex()", "K = region()", "best = zero", "start = inside(K, vector())", "d = gradient(f, best)"]
    lines += ["at_best = inside(K, best, lam*start - d)", "assume d @ d <= r*r", "w0 = start"]
    for t in range(T):
        lines += [f"c{t} = vector()", f"b{t} = c{t} - gradient(f, w{t})"]
        lines += [f"assume c{t} @ c{t} <= r*r", f"assume b{t} @ b{t} <= B*B"]
        lines.append(f"w{t + 1} = project(K, w{t} - eta*(c{t} + lam*(w{t} - start)))")
    return [*lines, f"bound w{T} @ w{T}"]


_REACH = "2*C*(1 + x)/(lam*(1 + 2*x))"
_OVER = "2*(1 + x)**2/(2*x**2 + 2*x + 1)"
_STEP = "1/(lam*(1 + x))"
_SHARE = "m/(1 + m)"
_LEVELS = f"(2 + m)/(1 + m)*{_REACH}*{_STEP}/C"

FAMILIES_CLIPPING: tuple[ProofFamily, ...] = (
    family(
        clipped_step,
        "eta C",
        {
            **{2: "eta**2*(2*eta*C + z)/(eta*C + z)", 3: "eta*(2*eta*C + z)/C", 5: "(2*eta*C + z)/(eta*C + z)"},
            **{4: "2*eta*(2*eta*C + z)/(eta*C + z)", 14: "2", 15: "2"},
        },
        "(2*eta*C + z)**2",
        words="a projected step on one clipped convex loss, r² = (eta C + z)² − (eta C)²: at most 2 eta C + z apart",
        displays=("tsybakov/rem-2@one-step",),
        r2="2*eta*C*z + z**2",
    ),
    family(
        clipped_batch_step,
        "lam C",
        {
            **{2: f"{_SHARE}*({_STEP})**2*{_OVER}", 3: f"{_SHARE}*{_LEVELS}"},
            **dict.fromkeys((4, 5), f"{_LEVELS}/(1 + m)"),
            **{6: f"2*{_STEP}*x/(1 + x)*{_SHARE}*{_OVER}", 7: f"(x/(1 + x))**2*{_OVER}", 16: "2", 17: "2"},
        },
        f"((2 + m)/(1 + m)*{_REACH})**2",
        Concluded("tsybakov/rem-2@every-loss", {"eta": _STEP, "lambda": "lam", "C": "C", "n": "1 + m"}, squared=True),
        eta=_STEP,
        n="1 + m",
        r=f"(2 + m)/(1 + m)*{_REACH}",
        follows=(("runs start together, and no step leaves the distance", f"(2 + m)/(1 + m)*{_REACH}"),),
    ),
    family(
        clipped_jacobian,
        "",
        {0: "(2 + x)/(1 + x)", 1: "4/(1 + x)"},
        "(2 + x)/(1 + x)",
        Concluded("tsybakov/rem-2@smooth-step", {"eta": "4/((2 + x)*H)", "H": "H"}, squared=True),
        kappa="4/(2 + x)",
        where="eta alpha < 2",
    ),
    family(
        noisy_step,
        "lam r B",
        {
            **dict.fromkeys((2, 3), "2*x/(lam*(1 + x)**2)"),
            **dict.fromkeys((4, 5), f"2*({_STEP})**2"),
            **{6: "x/(lam**2*(1 + x)**2)", 7: "2", 8: f"2*{_STEP}"},
        },
        f"4*({_STEP})**2*r**2 + x/(lam**2*(1 + x)**2)*B**2",
        eta=_STEP,
        follows=(
            (
                "(1 − eta lam) times a distance plus this and eta² d sigma² stays below the fixed point",
                "eta*lam*(eta*(4*r**2 + d*s**2)/lam + B**2/lam**2) - eta**2*(4*r**2 + d*s**2) - eta*B**2/lam",
            ),
        ),
        displays=("tsybakov/thm-8@noisy",),
    ),
)


def _noisy() -> tuple[StatementRun, ...]:
    """Without noise, which is centred and adds its second moment."""
    numbers = {"eta": "1/2", "lam": "1/2", "r": 1, "B": "1/4"}
    at = {"eta": "1/2", "lambda": "1/2", "r_2": 1, "bias": "1/4", "d": 1, "sigma": 0}
    return tuple(run(noisy_run, f"T = {T}, sigma = 0", {"T": T}, numbers, at={**at, "T": T}) for T in (1, 2, 3))


def _batch() -> tuple[StatementRun, ...]:
    """At the distance that the claim names, which no step leaves."""
    runs = []
    for n, eta, lam in ((1, 1, "1/2"), (7, "1/2", "1/3"), (100, "1/10", 1)):
        at = {"eta": eta, "lambda": lam, "C": 1, "n": n}
        reach = (1 + Fraction(1, n)) / (Fraction(lam) * (1 - Fraction(eta) * Fraction(lam) / 2))
        numbers = {"eta": eta, "lam": lam, "C": 1, "n": n, "r": str(reach)}
        runs.append(run(clipped_batch_step, f"n = {n}, eta = {eta}, lam = {lam}", {}, numbers, at=at, squared=True))
    return tuple(runs)


CLIPPED: dict[str, tuple[StatementRun, ...]] = {
    "tsybakov/rem-2@one-step": tuple(
        one
        for eta, R in ((1, "3/4"), ("5/12", 1), (1, "12/35"))
        for one in both(
            clipped_step, f"eta = {eta}, r = {R}", {}, {"eta": eta, "C": 1, "r2": str(Fraction(R) ** 2)},
            at={"eta": eta, "C": 1, "R": R}, squared=True,
        )
    ),
    "tsybakov/rem-2@smooth-step": tuple(
        run(clipped_jacobian, f"eta alpha = {kappa}", {}, {"kappa": kappa}, at={"eta": kappa, "H": 1}, squared=True,
            attained=True)
        for kappa in ("1/10", 1, "3/2", 2, "5/2", 3)
    ),
    "tsybakov/rem-2@every-loss": _batch(),
    "tsybakov/thm-8@noisy": _noisy(),
}  # fmt: skip
"""Label -> what is certified of it."""
