"""Section 4: losses that are not smooth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.algorithms.user_level import SmoothedERM
from dpcheck.algorithms.user_level.sizes import log_ratio, smallest_users
from dpcheck.asymptotics import Regime
from dpcheck.checks import Context, check
from dpcheck.engine.settings import drawn, settings
from dpcheck.engine.statements import order_of, stated
from dpcheck.harness import accuracy
from dpcheck.harness.budget import with_budget
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import agree, no_larger
from dpcheck.symbols import d, epsilon, m, n
from dpcheck.verdicts import Verdict

from .cases import (
    ACCELERATED_SIZES,
    MANY_USERS,
    PLACES,
    REDUCED_4,
    REDUCED_FULL_4,
    account_at,
    counted,
    fewest_gradients,
    first_steps,
    gradients_refuted,
    huber,
    plain,
    problem,
    promised,
    quadratic,
    risk_verdict,
)
from .few_phases import labels_of, two_phases
from .lines import BESIDE, MINIBATCHES, NAMES, STAGES, algorithm_3, replayed, three_kinds
from .plans import smoothed

PRINTED = {
    "phases": "user_level/alg-3@phases",
    "users": "user_level/alg-3@users",
    "weight": "user_level/alg-3@weight",
    "steps": "user_level/proc-smoothed-alg-3@steps",
    "tau": "user_level/alg-3@corrected-tau",
    "batch": "user_level/proc-smoothed-alg-3@minibatches",
    "sigma": "user_level/alg-2",
    "test": "user_level/alg-2@test",
    **STAGES,
    "smooth": "user_level/proc-multistage-ac-sa@smoothed-smoothness",
    "shift": "user_level/proc-smoothed-alg-3@radius",
    "gradients": "user_level/alg-3@gradients",
}
CORRECTED = PRINTED | {"batch": "user_level/proc-smoothed-alg-3@corrected-minibatches"}
REPLACED = {"variance": "user_level/proc-multistage-ac-sa@replacement-variance"}
STATED = {"as printed": CORRECTED, "literal": PRINTED, "replacement": CORRECTED | REPLACED, "corrected": CORRECTED}
DRAWN = drawn(users=True, n=(2.0**20, 2.0**30), epsilon=(0.05, 8))
settings_of_the_smoothed_algorithm = settings(
    "user_level/proc-smoothed-alg-3",
    STATED,
    symbols=NAMES,
    beside=BESIDE,
    problems=DRAWN,
    fields={"distance": (None, 0.5, 2.0)},
)


@check(
    "user_level/proc-smoothed-alg-3", kind="transcription", grid={"reading": tuple(STATED)}, also=labels_of(STATED)
)  # fmt: skip
def settings_of_two_smoothed_phases(context: Context, *, reading: str) -> Verdict:
    """The same of plans of two phases."""
    # unbound: the gradients, of which the label has an order, are among the settings that its parameters state
    return two_phases(context, SmoothedERM, STATED[reading], DRAWN, **SmoothedERM.readings.get(reading, {}))


@check("user_level/proc-smoothed-alg-3", kind="transcription")
def radii_of_the_smoothing(context: Context) -> Verdict:
    """Which radii are smoothed over."""
    # unbound: what is planned, which no formula says
    return smoothed()


LONG: dict[str, Any] = {"phases": 3, "c_users": 1e-6, "c_score": 1e-3}
"""Dials of a run that can be carried out: phases of hundreds of steps, few users, and hardly a trial that halts."""
REPLAYED = {"corrected": CORRECTED, "literal": PRINTED}


@check("user_level/proc-smoothed-alg-3", kind="accuracy", grid={"reading": tuple(REPLAYED)})
def lines_of_the_smoothed_algorithm(context: Context, *, reading: str) -> Verdict:
    """Three phases replayed from coins, shifts among them, and releases, at the minibatches, the steps, the radii and
    the noise that the claims say; of the literal reading some users are drawn for a step.
    """
    algorithm, work = SmoothedERM(**LONG, **SmoothedERM.readings[reading]), quadratic(2, 2)
    users = three_kinds(context.rng("users"), 8, 256, 2, middle=0.5)
    settings = {name: label for name, label in REPLAYED[reading].items() if name not in ("phases", "test")}
    told, devices = problem(work, 4.0, 1e-3), ("projections", *((MINIBATCHES,) if reading == "literal" else ()))
    return replayed(context, algorithm, work, told, users, algorithm_3, devices, settings, symbols=NAMES)


@check("user_level/thm-4-1", kind="runtime", grid={"place": tuple(PLACES)}, expect="refuted")
def gradients_of_the_informal_statement(context: Context, *, place: str) -> Verdict:
    """As for Theorem D.3."""
    return gradients_refuted("user_level/thm-4-1", "thm_4_1", place)


@check("user_level/thm-4-1@risk", kind="privacy")
def theorem_4_1_is_certified(context: Context) -> Verdict:
    """The same for the informal theorem at epsilon = 4."""
    told = plain(20, 50, 4.0, 1e-9)
    n = smallest_users(lambda size: SmoothedERM().feasible(told, size), 1)
    assert n is not None
    return promised(SmoothedERM(), told, n)


@check("user_level/thm-4-1@risk", kind="risk", expect="undecided")
def risk_without_smoothness(context: Context) -> Verdict:
    """The same in five dimensions with a wider smoothing (reduced noise)."""
    # unbound: held against thm-d3@summed, which has the constants
    return risk_verdict(context, replace(REDUCED_FULL_4, r=0.2), huber(5, 4, 0.0), 100, context.scale(80, 200), "d = 5")


@check("user_level/claim-4-2", kind="runtime", expect="refuted")
def speed_up_over_al24(context: Context) -> Verdict:
    """AL24's count over that of phase 1, times 10^6 log^2, against n^(13/8) m^(7/4): n = 10^12, m = n^7, d = 1."""
    samples, constant, power = MANY_USERS**7, 10**6, 2
    dlt = 0.5 / (MANY_USERS * samples)
    theirs = (float(MANY_USERS) * samples) ** 3 + (float(MANY_USERS) * samples) ** 2
    hidden = constant * log_ratio(float(MANY_USERS * samples), 1.0, dlt) ** power
    value = hidden * theirs / fewest_gradients(MANY_USERS, samples, 1.0, dlt)
    q = first_steps(MANY_USERS, samples, 1.0)[1]
    claimed = stated("user_level/claim-4-2", n=float(MANY_USERS), m=float(samples), d=1.0, delta=dlt, q=q)
    parameters: dict[str, Any] = {"n": MANY_USERS, "m": samples, "d": 1, "delta": f"1/{2 * MANY_USERS * samples}"}
    return accuracy.never_violated(
        claimed,
        value,
        statement="n^(13/8) m^(7/4) <= speed-up, up to 10^6 log^2",
        witness=lambda _: witnessed(
            "user_level/claim-4-2", "claim_4_2", claimed, value, **parameters, constant=constant, power=power
        ),
    )


@check("user_level/claim-4-2@corrected", kind="symbolic")
def true_speed_up(context: Context) -> Verdict:
    """(nm)^3 over the corrected count, eps = 1, d <= n: as printed for m <= n^(5/2), n^(9/4) m^(3/2) beyond."""
    a, c = sp.symbols("a c", real=True)
    count = order_of("user_level/thm-d3@corrected").subs(epsilon, 1) - m * n
    few = Regime(ties={m: n**a, d: n**c}, where=[a >= 0, c >= 0, c <= 1, a <= sp.Rational(5, 2)])
    many = Regime(ties={m: n**a, d: n**c}, where=[c >= 0, c <= 1, a >= sp.Rational(5, 2)])
    rows = {
        "count for m <= n^(5/2)": (count, (n * m) ** 3 / order_of("user_level/claim-4-2"), few),
        "count beyond": (count, (n * m) ** 3 / (n ** sp.Rational(9, 4) * m ** sp.Rational(3, 2)), many),
    }
    return no_larger(rows)


@check("user_level/proc-smoothed-alg-3", kind="privacy", grid={"size": tuple(ACCELERATED_SIZES)})
def account_of_the_smoothed_algorithm(context: Context, *, size: str) -> Verdict:
    """The smoothed version at printed constants, with the 500 of Algorithm 3 in K_i."""
    return account_at(SmoothedERM(), size)


@check("user_level/proc-smoothed-alg-3", kind="runtime")
def counted_gradients_of_the_smoothed_algorithm(context: Context) -> Verdict:
    """The same for the smoothed version on the absolute loss (reduced noise)."""
    work = huber(2, 4, 0.0)
    label = PRINTED["gradients"]
    gradients, *expected = counted(REDUCED_4, work, problem(work), 100, context.seed, label, symbols=NAMES)
    return with_budget(agree([gradients] * 2, expected, "gradients"), REDUCED_4, problem(work), 100)


@check("user_level/proc-smoothed-alg-3", kind="risk")
def bias_of_the_smoothing(context: Context) -> Verdict:
    """F_r - F of the absolute loss on the whole interval by quadrature: between 0 and L r/2, largest at the kinks."""
    # unbound: held against lem-d1@corrected, the bias alone
    r, x = 0.3, np.linspace(-1.0, 1.0, 2001)
    work = huber(1, 1, 0.0).each
    y, weights = np.polynomial.legendre.leggauss(400)
    smoothed = (weights[:, None] / 2 * work.excess_risk((x + r * y[:, None])[..., None])).sum(axis=0)
    gap, most = smoothed - work.excess_risk(x[:, None]), stated("user_level/lem-d1@corrected", L=1.0, d=1, r=r)
    # Across a kink the quadrature is off by about the square of a node's spacing, 1e-5.
    return accuracy.never_violated(
        np.concatenate([gap, -gap]), np.concatenate([np.full(len(x), most), np.full(len(x), 1e-5)]),
        statement="0 <= F_r - F <= L r/2", covers="a fine grid; F_r - F is Lipschitz in x", evidence="exact",
    )  # fmt: skip
