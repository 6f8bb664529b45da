"""Section 4: Algorithms 4 and 5."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dpcheck.algorithms.tsybakov import IteratedLocalised, StochasticApproximation
from dpcheck.algorithms.tsybakov.epochs import Calls, doubling_parts, part_exponent
from dpcheck.checks import Check, Context, by_size, check
from dpcheck.claims import evaluate
from dpcheck.engine.executed import run_as_stated
from dpcheck.engine.settings import Stated, settings
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.harness import accuracy
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.relations import judged
from dpcheck.harness.symbolic import proved, where_proved
from dpcheck.privacy import ApproxDP
from dpcheck.symbols import index, positive
from dpcheck.verdicts import Verdict, combine, differs

from .cases import LINE, approximation, iterated, problem, told, well
from .lemmas import accounted, counted, searched
from .lines import FREELY, INSIDE, LETTERS, LOOSE, LOSSES, as_assumed, lines_of_calls, replayed, rough
from .plans import edges_as_assumed, promises_of_calls

CONTRACTS = "claims hold where clipped steps contract: d = 1, linear, isotropic, generalised linear losses"
ALWAYS = "claims of clipped means at one point, which hold for every loss"
COVERS = {"corrected": CONTRACTS, "private": ALWAYS, "every-loss": ALWAYS}


OF_CALLS_AND_PARTS = {"radius": "tsybakov/alg-4@radius", "gradients": "tsybakov/alg-4@gradients"}


def settings_of_calls(label: str, printed: Stated, corrected: Stated, **fields: Sequence[Any]) -> Check:
    """The settings of Algorithm 4 or 5, and those of the phases of its calls."""
    return settings(
        label,
        {"as printed": printed, "corrected": corrected, "private": corrected},
        symbols=LETTERS,
        beside={"start": "where its records begin"},
        problems=rough,
        fields={"p": (1.0, 2.0), "k": (2.0, 4.0), "project": (True,), "lipschitz": ("ignored",), **fields},
        inner=INSIDE,
    )


PARTS_OF_4 = {
    **OF_CALLS_AND_PARTS, "phases": "tsybakov/alg-4@calls", "records": "tsybakov/alg-4@records"
}  # fmt: skip
CORRECTED_4 = {**PARTS_OF_4, "step": "tsybakov/alg-4@corrected-gamma"}
settings_of_algorithm_4 = settings_of_calls(
    "tsybakov/alg-4", {**PARTS_OF_4, "step": "tsybakov/alg-4@gamma"}, CORRECTED_4
)

run_of_algorithm_4 = run_as_stated(
    "tsybakov/alg-4", {"corrected": CORRECTED_4, "private": CORRECTED_4}, LOSSES["plane"], told(LOSSES["plane"], LOOSE),
    256, fields=FREELY, symbols=LETTERS, inner=INSIDE,
)  # fmt: skip


@dataclass(frozen=True)
class Short(StochasticApproximation):
    """Algorithm 4 with two calls on 8 records, where two need 256 records: their steps can be walked through."""

    def parts(self, n: int) -> list[int]:
        return [8, 8]


@check(
    "tsybakov/alg-4", kind="accuracy",
    grid={"reading": ("literal", "corrected", "private", "every-loss"), "loss": tuple(LOSSES)},
)  # fmt: skip
@replayed
def lines_of_algorithm_4(context: Context, *, reading: str, loss: str) -> Verdict:
    """Each call on its own part and ball, or on the whole domain, from the output before it; as printed with little
    noise.
    """
    fields = {**FREELY, **StochasticApproximation.readings[reading], "noise_dial": 1e-3 if reading == "literal" else 1}
    settings = {"radius": "tsybakov/alg-4@radius"}  # calls and records are those of `Short`
    return lines_of_calls(context, Short(**fields), loss, 16, settings, reading, on_balls=reading != "every-loss")


@check("tsybakov/alg-4@corrected", kind="privacy", grid={"reading": tuple(COVERS), "n": (64, 1024)})
def account_of_algorithm_4(context: Context, *, reading: str, n: int) -> Verdict:
    """Calls on disjoint parts: what one of them spends is all."""
    promise = ApproxDP(1.0, 1e-5)
    algorithm = StochasticApproximation(**StochasticApproximation.readings[reading])
    return accounted(algorithm.schedule(told(LINE, promise), n), promise, COVERS[reading])


@check("tsybakov/alg-4@corrected", kind="sensitivity")
def releases_of_algorithm_4(context: Context) -> Verdict:
    """All phases of all calls, each on a ball around the previous output, replayed."""
    because = (
        "projections on the ball of a call are non-expansive, and quadratics with A = I have monotone clipped steps"
    )
    algorithm = StochasticApproximation(**StochasticApproximation.readings["corrected"])
    return searched(context, algorithm, 64, because)


@check("tsybakov/alg-4@corrected", kind="runtime", grid={"n": by_size((64,), (64, 256, 1024))})
def gradients_of_the_approximation(context: Context, *, n: int) -> Verdict:
    """Gradients of the corrected Algorithm 4 against its schedule."""
    fields = StochasticApproximation.readings["corrected"]
    return counted(context, StochasticApproximation(**fields), well(2.0, 4.0), n)


def planned_by_calls(label: str, algorithm: Calls, p: float) -> Verdict:
    """Whether planned gradients grow as an O-form at the records of each call, summed over the calls, from n = 2^30 to
    2^60. The O-form at all n records is larger, for its power is above 1.
    """
    ratios = []
    for size in (2**30, 2**60):
        plan = algorithm.schedule(problem(well(2.0, 4.0), 3.0), size)
        forms = [float(evaluate(order_of(label), {"n": float(call.records), "p": p})) for call in plan.phases]
        ratios.append(float(plan.gradients) / sum(forms))
    said = f"planned gradients are {ratios[0]:.4g} times the order of the calls at n = 2^30, {ratios[1]:.4g} at 2^60"
    moved = max(ratios) / min(ratios)
    return judged(moved, "<=", 1.2, said, "exact", numbers={"ratio of ratios": moved}, otherwise=differs)


OF_4 = ("tsybakov/alg-4", "tsybakov/alg-4@corrected")


@check("tsybakov/alg-4", kind="runtime", grid={"p": (1.0, 2.0), "label": OF_4}, also=OF_4[1:])
def gradients_of_calls_grow_as_a_power(context: Context, *, p: float, label: str) -> Verdict:
    """Planned gradients over n^(p+1) log n of the records of a call: the same within a fifth."""
    return planned_by_calls(label, approximation(2.0, p=p, lipschitz="ignored"), p)


UNDER_GROWTH = {"tsybakov/thm-2": {"epsilon": 4.0}, "tsybakov/thm-11": {}}
"""Theorems about the risk of Algorithm 4, and the budgets that they exclude."""


@check("tsybakov/alg-4", kind="transcription", grid={"label": tuple(UNDER_GROWTH)}, also=tuple(UNDER_GROWTH))
def plans_what_its_theorems_speak_of(context: Context, *, label: str) -> Verdict:
    """One hypothesis at a time is broken: the schedule refuses, and so does the theorem."""

    def made(at: Mapping[str, float]) -> StochasticApproximation:
        return StochasticApproximation(p=at["p"], k=at["k"], project=True, first_exponent="corrected")

    faults = {"p": 0.5, "k": 1.5, "L": 1e9, "H": 1e12, **UNDER_GROWTH[label]}
    return as_assumed(label, made, 2**12, faults, eta=1e-3)


@check("tsybakov/alg-5@literal", kind="runtime", expect="refuted")
def printed_parts_fit_into_the_data(context: Context) -> Verdict:
    """Records asked for at theta_bar = 4, n = 2^16, base-2 logarithms, as a share of n."""
    share = sum(doubling_parts(2**16, 4.0, part_exponent(4.0, "printed"))) / 2**16
    allowed = stated("tsybakov/alg-5@literal", n=float(2**16), theta_bar=4.0) / 2**16
    # At theta_bar = 2 the printed exponent is that of the proof, and nearly all records are asked for.
    asked = sum(doubling_parts(2**512, 2.0, part_exponent(2.0, "printed")))
    used = asked / stated("tsybakov/alg-5@literal", n=float(2**512), theta_bar=2.0)
    if not 0.9 <= used <= 1:
        return differs(f"at theta_bar = 2 the parts take {used:.4g} of what the claim allows")
    return accuracy.never_violated(
        share,
        allowed,
        statement="records asked for over n <= what the claim allows over n",
        witness=lambda _: witnessed("tsybakov/alg-5@literal", "alg_5_sizes", allowed, share, log_n=16, theta_bar=4),
    )


def _doubling() -> Verdict:
    """Whether the parts stay within the claim for every n and θ̄ = 2^(1/E), at y = log_2 log_2 n.

    Rounding takes records and calls away, and k parts that double are 2^k − 1 times the first.
    """
    y, E = positive("y E")
    at = {"n": sp.exp(2**y * sp.log(2)), "theta_bar": sp.exp(sp.log(2) / E)}

    def unrounded(reading: str) -> sp.Expr:
        explicit = explicit_of(f"tsybakov/alg-5@{reading}").replace(sp.floor, lambda x: x)
        return sp.simplify(explicit.subs({s: at[s.name] for s in explicit.free_symbols if s.name in at}))

    part, calls, most = (unrounded(reading) for reading in ("corrected-records", "calls", "corrected"))
    room = sp.simplify(most - part.subs(index, 1) * (2**calls - 1))
    return proved({"parts double": part.subs(index, index + 1) - 2 * part}, {"what is left": room})


@check("tsybakov/alg-5@corrected", kind="accuracy", grid={"theta_bar": (1.5, 2.0, 4.0)})
def parts_of_the_proof_fit_into_the_data(context: Context, *, theta_bar: float) -> Verdict:
    """Records of all parts with the exponent of the proof, against n; nearly all where log n is a power of θ̄. Parts
    that double prove it for every n and θ̄.
    """
    asked, most = [], []
    for calls in range(2, 13):
        n = 2 ** math.floor(min(600.0, theta_bar**calls))
        asked.append(float(sum(doubling_parts(n, theta_bar, part_exponent(theta_bar, "proof")))))
        most.append(stated("tsybakov/alg-5@corrected", n=float(n)))
    kept = accuracy.never_violated(
        asked, most, statement="records asked for <= n", drawn=False, evidence="certificate",
        covers=where_proved(_doubling(), "a grid; the sum of parts that double proves it for every n"),
    )  # fmt: skip
    used = max(a / b for a, b in zip(asked, most, strict=True))
    nearly = judged(used, ">", 0.5, f"at most {used:.4g} of n is asked for", "exact", otherwise=differs)
    return combine([kept, nearly])


PARTS_OF_5 = {**OF_CALLS_AND_PARTS, "phases": "tsybakov/alg-5@calls"}
PRINTED_5 = {**PARTS_OF_5, "records": "tsybakov/alg-5@records", "step": "tsybakov/alg-4@gamma"}
CORRECTED_5 = {**PARTS_OF_5, "records": "tsybakov/alg-5@corrected-records", "step": "tsybakov/alg-5@corrected-gamma"}
settings_of_algorithm_5 = settings_of_calls("tsybakov/alg-5", PRINTED_5, CORRECTED_5, theta_bar=(1.5, 2.0, 4.0))
run_of_algorithm_5 = run_as_stated(
    "tsybakov/alg-5", {"corrected": CORRECTED_5, "private": CORRECTED_5}, LOSSES["plane"], told(LOSSES["plane"], LOOSE),
    256, fields=FREELY, symbols=LETTERS, inner=INSIDE,
)  # fmt: skip


@check("tsybakov/alg-5", kind="accuracy", grid={"reading": ("literal", "corrected", "private"), "loss": tuple(LOSSES)})
@replayed
def lines_of_algorithm_5(context: Context, *, reading: str, loss: str) -> Verdict:
    """Each call on its own part, from the output before it, on the whole domain."""
    algorithm = IteratedLocalised(**FREELY, **IteratedLocalised.readings[reading])
    settings = PRINTED_5 if reading == "literal" else CORRECTED_5
    return lines_of_calls(context, algorithm, loss, 64, settings, reading, on_balls=False)


@check("tsybakov/alg-5@corrected", kind="privacy", grid={"reading": ("corrected", "private"), "theta_bar": (1.5, 2.0)})
def account_of_algorithm_5(context: Context, *, reading: str, theta_bar: float) -> Verdict:
    """Calls on disjoint parts of doubling size."""
    promise, n = ApproxDP(1.0, 1e-5), 1024
    algorithm = IteratedLocalised(theta_bar=theta_bar, **IteratedLocalised.readings[reading])
    return accounted(algorithm.schedule(told(LINE, promise), n), promise, COVERS[reading])


@check("tsybakov/alg-5@corrected", kind="sensitivity")
def releases_of_algorithm_5(context: Context) -> Verdict:
    """All phases of all calls, replayed."""
    algorithm = IteratedLocalised(theta_bar=2.0, **IteratedLocalised.readings["corrected"])
    return searched(context, algorithm, 64, "quadratics with A = I have monotone clipped steps")


@check("tsybakov/alg-5", kind="transcription", also=("tsybakov/thm-3",))
def plans_what_its_theorem_speaks_of(context: Context) -> Verdict:
    """One hypothesis at a time is broken: the schedule refuses, and so does the theorem."""

    def made(at: Mapping[str, float]) -> IteratedLocalised:
        fields = {name: at[name] for name in ("p", "k", "theta_bar")}
        return IteratedLocalised(**fields, project=True, first_exponent="corrected")  # type: ignore[arg-type]

    faults = {"p": 0.5, "k": 1.5, "epsilon": 30.0, "L": 1e9, "H": 1e12, "theta_bar": 0.9}
    return as_assumed("tsybakov/thm-3", made, 2**12, faults, eta=1e-3)


@check("tsybakov/alg-5", kind="runtime", grid={"p": (1.0, 2.0)})
def gradients_of_parts_grow_as_a_power(context: Context, *, p: float) -> Verdict:
    """Planned gradients over n^(p+1) log n of the records of each part: the same within a fifth."""
    return planned_by_calls("tsybakov/alg-5", iterated(2.0, p=p, lipschitz="ignored"), p)


@check("tsybakov/alg-5@corrected", kind="runtime", grid={"n": by_size((64,), (64, 256, 1024))})
def gradients_of_the_iteration(context: Context, *, n: int) -> Verdict:
    """Gradients of the corrected Algorithm 5 against its schedule."""
    return counted(context, IteratedLocalised(**IteratedLocalised.readings["corrected"]), well(2.0, 4.0), n)


OF_CALLS: Mapping[str, type[Calls]] = {
    "tsybakov/thm-2": StochasticApproximation, "tsybakov/thm-11": StochasticApproximation,
    "tsybakov/thm-3": IteratedLocalised,
}  # fmt: skip


@check("tsybakov/alg-4", kind="transcription", grid={"label": tuple(OF_CALLS)}, also=tuple(OF_CALLS))
def plans_end_where_their_theorems_do(context: Context, *, label: str) -> Verdict:
    """The largest Lipschitz constant and budget that are planned are the largest that the theorem speaks of."""
    beyond = {"L": 1e9} | ({"epsilon": 9.0} if label == "tsybakov/thm-2" else {})

    def made(at: Mapping[str, float]) -> Calls:
        return OF_CALLS[label](p=at["p"], k=at["k"], project=True, first_exponent="corrected")

    return edges_as_assumed(label, made, 2**12, beyond)


@check("tsybakov/alg-4", kind="accuracy", also=("tsybakov/alg-5", "tsybakov/thm-2", "tsybakov/thm-3"))
def promises_and_sizes_of_calls(context: Context) -> Verdict:
    """Who promises what where clipped steps may expand, first radii, and from which sizes on there is a call."""
    # unbound: what is planned and promised, which no bound says
    return promises_of_calls()
