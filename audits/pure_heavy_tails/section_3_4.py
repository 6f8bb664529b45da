"""Sections 3 and 4: localized double output perturbation against its rate and its constants, over a whole class."""

from __future__ import annotations

from dpcheck.algorithms.pure_heavy_tails.localize import LocalizedOutputPert
from dpcheck.checks import Context, by_size, check
from dpcheck.claims import evaluate, local_exponent
from dpcheck.engine.statements import order_of
from dpcheck.harness.controls import conclude
from dpcheck.verdicts import Verdict

from ._class import CONTROLS, within_constants, worst_of
from ._instances import DELTA, practical

RECORDS = 2**36
"""Records at which the risk is measured in epsilon."""


def order_at(label: str, n: float, epsilon: float, k: float) -> dict[str, float]:
    """The printed order at G_k = G_2 = D = d = 1, which bounds the whole class, and its local exponents."""
    order = order_of(label)
    at = {"n": n, "epsilon": epsilon, "k": k, "G_k": 1.0, "G_2": 1.0, "D": 1.0, "d": 1.0, "beta": DELTA}
    return {
        "bound": float(evaluate(order, at)),
        "exponent": local_exponent(order, "n", at),
        "exponent in epsilon": local_exponent(order, "epsilon", at),
    }


@check(
    "pure_heavy_tails/thm-3-1",
    kind="rate",
    grid={
        "solver": ("single", "double"),
        "k": by_size([2.0], [2.0, 4.0]),
        "n": by_size([2**j for j in (16, 20, 24)], [2**j for j in range(12, 41, 4)]),
    },
    conclude=conclude("n", CONTROLS),
    expect=("consistent", "undecided"),
)
def excess_risk_in_n(context: Context, *, solver: str, k: float, n: int) -> dict[str, float]:
    """The worst 0.9-quantile of the excess risk over all rare spikes with G_k = 1 falls in n like the rate."""
    expected = order_at(context.label, n, 1.0, k)
    found = worst_of(context, practical(k, solver), n, 1.0, k, expected["bound"], context.scale(110, 600))
    return {**found, "exponent": expected["exponent"]}


@check(
    "pure_heavy_tails/thm-3-1",
    kind="rate",
    grid={
        "solver": by_size(["single"], ["single", "double"]),
        "k": by_size([2.0], [2.0, 4.0]),
        "epsilon": by_size([2.0**j for j in (-24, -20, -16)], [2.0**j for j in range(-28, -15, 2)]),
    },
    conclude=conclude("epsilon", CONTROLS),
    expect=("consistent", "undecided"),
)
def excess_risk_in_epsilon(context: Context, *, solver: str, k: float, epsilon: float) -> dict[str, float]:
    """The same in epsilon at n = 2^36, where the private term of the rate leads."""
    expected = order_at(context.label, RECORDS, epsilon, k)
    found = worst_of(context, practical(k, solver), RECORDS, epsilon, k, expected["bound"], context.scale(110, 600))
    return {**found, "exponent": expected["exponent in epsilon"]}


@check(
    "pure_heavy_tails/thm-3-1@derived",
    kind="risk",
    also=("pure_heavy_tails/thm-2-1@summed",),
    grid={
        "solver": by_size(["single"], ["single", "double"]),
        "k": by_size([2.0], [2.0, 4.0]),
        "n": by_size([2**36], [2**28, 2**36, 2**44]),
    },
)
def excess_risk_within_constants(context: Context, *, solver: str, k: float, n: int) -> Verdict:
    """With the proved number of blocks the excess risk keeps the bound with every constant, on all rare spikes."""
    algorithm = LocalizedOutputPert(k=k, solver=solver)  # type: ignore[arg-type]
    return within_constants(context, algorithm, n, 1.0, k, context.scale(180, 400), series=f"{solver}, k = {k:g}")
