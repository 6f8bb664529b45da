"""Every pair of a statement about risk and a variable of its order: rows that measure it, or why none can.

A pair with neither is listed as such by `dpcheck scaling --pairs` and in the report: nothing is left out silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dpcheck.checks import BySize, Check
from dpcheck.claims import Claim
from dpcheck.harness.scaling.rows import Row
from dpcheck.unmeasured import Unmeasured
from dpcheck.verdicts import unfolded

VARIABLES = ("n", "m", "d", "epsilon", "rho", "delta", "k", "L", "lambda", "mu", "T")
"""In which exponents are asked for: sizes, privacy, moments, Lipschitz constants, convexity, steps."""
OF_RISK = ("excess risk", "empirical suboptimality")


@dataclass(frozen=True)
class RatePair:
    """A statement and a variable of its order.

    Attributes:
        checks: ids of the rate rows that measure it.
        reason: why there are none; "" where there are, or where nobody says.
    """

    statement: str
    variable: str
    checks: tuple[str, ...] = ()
    reason: str = ""


def pairs(claims: Iterable[Claim], checks: Iterable[Check], reasons: Iterable[Unmeasured]) -> list[RatePair]:
    """All pairs of the upper bounds on a risk that a paper proves and gives an order for.

    A row of any reading stands for its statement.
    """
    said = {(one.label.partition("@")[0], name): one.reason for one in reasons for name in one.variables}
    rows: dict[tuple[str, str], list[str]] = {}
    for check in checks:
        if isinstance(check.conclude, Row):
            for statement in {label.partition("@")[0] for label in check.labels}:
                for name in _varied(check, check.conclude):
                    rows.setdefault((statement, name), []).append(check.id)
    rate_pairs = []
    for statement, names in _orders(claims).items():
        for name in (name for name in VARIABLES if name in names):
            key = statement, name
            rate_pairs.append(RatePair(*key, tuple(rows.get(key, ())), "" if key in rows else said.get(key, "")))
    return rate_pairs


def _orders(claims: Iterable[Claim]) -> Mapping[str, set[str]]:
    """Statement -> names of the symbols in the orders of its readings."""
    by_statement_label: dict[str, set[str]] = {}
    for claim in claims:
        own = claim.origin != "cited" and claim.relation != ">="
        if own and claim.order is not None and claim.measures in OF_RISK:
            by_statement_label.setdefault(claim.statement_label, set()).update(s.name for s in claim.order.free_symbols)
    return by_statement_label


def _varied(check: Check, row: Row) -> set[str]:
    """The variable of a row, and what takes several values among its series."""
    variables = {row.variable}
    for axis, given in check.grid.items():
        values = given.at("standard") if isinstance(given, BySize) else given
        named = [unfolded({axis: value}) for value in values]
        variables |= {name for name in named[0] if len({str(each[name]) for each in named}) > 1}
    return variables
