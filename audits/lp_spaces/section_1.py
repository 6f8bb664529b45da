"""Section 1: the introduction and its tables restate the theorems."""

from __future__ import annotations

import sympy as sp

from dpcheck.checks import Context, check
from dpcheck.engine.statements import order_of
from dpcheck.harness.symbolic import proved
from dpcheck.symbols import BY_NAME, D, L, delta, epsilon, mu, n
from dpcheck.verdicts import Verdict

THETA, FAILS = BY_NAME["theta"], BY_NAME["beta"]
UNIT = {D: 1, L: 1, mu: 1}
ONE_LOG = sp.Symbol("log")
"""Stands in a list of values for log(1/delta) = 1: the tables leave logarithms out."""


@check("lp_spaces/claim-contrib-1", kind="transcription")
def strongly_convex_rate_without_epsilon(context: Context) -> Verdict:
    """Contribution 1 is the derived rate of Theorem 4; Theorem 4 as printed is larger by (1/epsilon - 1)/n."""
    printed, derived = order_of("lp_spaces/thm-4").subs(UNIT), order_of("lp_spaces/thm-4@derived").subs(UNIT)
    here = order_of("lp_spaces/claim-contrib-1")
    gap = sp.simplify(printed - here - (1 / epsilon - 1) / n)
    return proved({"Contribution 1 = derived Theorem 4": derived - here, "printed - Contribution 1": gap})


@check("lp_spaces/claim-contrib-2", kind="transcription")
def contribution_2_is_theorem_7(context: Context) -> Verdict:
    """Contribution 2, typed from its own page, restates Theorem 7."""
    return proved({"difference": order_of("lp_spaces/claim-contrib-2") - order_of("lp_spaces/thm-7")})


@check("lp_spaces/claim-table-1", kind="transcription")
def table_1_is_theorem_2(context: Context) -> Verdict:
    """Table 1's convex rate is Theorem 2 at unit constants, without its logarithm."""
    printed = order_of("lp_spaces/thm-2").subs(UNIT).subs(delta, sp.exp(-1))
    return proved({"difference": printed - order_of("lp_spaces/claim-table-1")})


ENTRIES = (
    ("claim-table-1@strongly-convex", "thm-4@derived", {**UNIT, ONE_LOG: 1}),
    ("claim-table-2", "thm-10", {D: 1, FAILS: sp.exp(-1), ONE_LOG: 1}),
    ("claim-table-2@unconstrained", "thm-7", {ONE_LOG: 1}),
    ("claim-table-2@all-epsilon", "claim-app10-general-eps", {ONE_LOG: 1}),
    ("claim-table-2@large-p", "thm-8", {THETA: 1, ONE_LOG: 1}),
    ("claim-contrib-1@convex", "thm-2", UNIT),
    ("claim-contrib-3@all-epsilon", "claim-app10-general-eps", {}),
)


@check("lp_spaces/claim-table-2", kind="transcription", grid={"entry": tuple(range(len(ENTRIES)))})
def entries_restate_the_theorems(context: Context, *, entry: int) -> Verdict:
    """The entries of both tables and the other halves of the contributions, each typed from its own page, against the
    theorems at unit constants; in the tables without logarithms.
    """
    here, there, at = ENTRIES[entry]
    whole = order_of(f"lp_spaces/{there}").subs({key: value for key, value in at.items() if key != ONE_LOG})
    stated = order_of(f"lp_spaces/{here}")
    if ONE_LOG in at:
        whole = whole.subs(delta, sp.exp(-1))
    return proved({f"{here} - {there}": stated - whole})


@check("lp_spaces/claim-contrib-3", kind="transcription")
def root_of_contribution_3(context: Context) -> Verdict:
    """Contribution 3 has the square root of what Theorem 10, at unit constants, has the fourth root of."""
    theorem = order_of("lp_spaces/thm-10").subs({D: 1, FAILS: sp.exp(-1)}) * sp.sqrt(n * epsilon)
    here = order_of("lp_spaces/claim-contrib-3") * sp.sqrt(n * epsilon)
    return proved({"square of the one - fourth power of the other": here**2 - theorem**4})
