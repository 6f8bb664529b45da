"""What the algorithms plan, promise and refuse: edges of theirs beside those of the claims, at constants that differ
from norm to norm, and conditions that are typed here."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpcheck.accounting.amplification import shuffle_epsilon
from dpcheck.algorithms.tsybakov import (
    IteratedAccelerated,
    IteratedLocalised,
    LocalisedClipped,
    PermutedAccelerated,
    StochasticApproximation,
)
from dpcheck.algorithms.tsybakov.accelerated import local_shuffled
from dpcheck.algorithms.tsybakov.clipped import clipped_descent
from dpcheck.algorithms.tsybakov.localised import Phase
from dpcheck.engine.statements import stated
from dpcheck.errors import Infeasible
from dpcheck.harness.plans import answered, planned, run_of, wrong_promises, wrong_sizes, wrongly_answered
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Algorithm, Constants, Family, Problem, Sample
from dpcheck.numerics import edge
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.verdicts import Verdict, differs
from dpcheck.workloads.linear import TwoPoint

from .cases import LINE, told
from .lines import FREELY, LOOSE, PHASES, refuses

WIDTH = 1.7
SIZES = range(70)


def moment(order: float, m: int) -> float:
    """Of `uneven` problems: it falls with the number of records like that of a mean."""
    return (2 - 1 / order) / math.sqrt(m)


def uneven(
    d: int = 1, privacy: ApproxDP | None = None, *, L: float = 1.0, H: float = 1.0, family: Family = ""
) -> Problem:
    """The diameter is `WIDTH`, the Lipschitz constant L and the smoothness H in l_2, and in no other norm."""
    off = 1 / 2

    def only(value: float) -> Callable[[float], float]:
        return lambda q: value * 3.0 ** (1 / q - off)

    constants = Constants(
        d=d, diameter=only(WIDTH), lipschitz=only(L), smoothness=only(H), moment=moment, family=family
    )
    return Problem(constants=constants, privacy=privacy or ApproxDP(0.7, 1e-5), failure_probability=0.05)


def reading(kind: Any, name: str, **fields: Any) -> Any:
    """An algorithm as one of its readings has it, whatever its losses' Lipschitz constant."""
    return kind(**{**kind.readings[name], **fields})


# -- Algorithm 3 -----------------------------------------------------------------------------------------------------


def promises_of_phases() -> Verdict:
    """Algorithm 3: powers of two are planned; where clipped steps may expand it is private as printed, by Theorem 1,
    and by noise on the steps or at their reach; more noise than planned is, and less is not.
    """
    freely, n = partial(reading, LocalisedClipped, lipschitz="ignored"), 16
    wrong = wrong_sizes(freely("every-loss"), uneven(), SIZES, lambda size: size >= 2 and size.bit_count() == 1)
    names = ("corrected", "private", "trivial", "smallest", "every-loss")
    for at, promised in (
        (uneven(2), [False, True, True, True, True]),
        (uneven(2, family="linear"), [True] * 5),
        (uneven(1), [True] * 5),
    ):
        wrong += wrong_promises([partial(freely, name) for name in names], at, n, promised)
    asked = uneven(2, LOOSE)
    repaired = {"first_exponent": "corrected", "step_caps": "corrected", "project": True}
    one_repair: list[dict[str, Any]] = [{name: value} for name, value in repaired.items()]
    literal = partial(LocalisedClipped, **FREELY, eta=0.01)
    makes = [literal, *(partial(literal, **fields) for fields in one_repair)]
    wrong += wrong_promises(makes, asked, n, [True, False, False, False])
    plain, loud = (freely("trivial", noise_dial=x).phases(uneven(2), n) for x in (1.0, 2.0))
    doubled = all(two.sigma == 2 * one.sigma for one, two in zip(plain, loud, strict=True))
    wrong += [] if doubled else ["a dial of 2 does not double the noise"]
    dials = (0.99, 1.0, 1.01)
    wrong += wrong_promises(
        [partial(freely, "trivial", noise_dial=x) for x in dials], uneven(2), n, [False, True, True]
    )
    return answered(wrong, f"{len(SIZES)} sizes, and who promises, are as they are to be")


def ranges_of_steps() -> Verdict:
    """Steps of Algorithm 3 are at most 1/α in its first phase, where the step is not its own; what takes too many of
    them to be run is taken where they lead, or refused.
    """
    wrong = []
    for H in (0.25, 40.0):
        at = uneven(2, H=H, family="linear")
        _, longest = edge(
            lambda x: planned(reading(LocalisedClipped, "corrected", lipschitz="ignored", eta=1 / x), at, 16),  # noqa: B023
            1e-9, 1e9, halvings=200,
        )  # fmt: skip
        wrong += [] if math.isclose(4 * longest, H, rel_tol=1e-6) else [f"1/eta >= {longest:g} at H = {H:g}"]
    steep = uneven(2, H=1e12)
    wrong += [] if planned(reading(LocalisedClipped, "every-loss"), steep, 16) else ["steps of their own are refused"]
    for solver, runs in (("descent", False), ("limit", True)):
        many = partial(reading, LocalisedClipped, "corrected", lipschitz="ignored", p=26.0, solver=solver)
        wrong += wrongly_answered([(f"10^9 steps by {solver}", run_of(many, LINE, told(LINE), 4), runs)])
    return answered(wrong, "steps are as short as they are to be, and not more are walked through than can be")


def first_noise_that_fits(d: int) -> Verdict:
    """The noise dial beyond which plans as printed are refused: there the first noise, of length √d sigma_1, is as
    long as the diameter and the radius of the second ball together, within which W_2 is not empty.
    """
    at = uneven(d, LOOSE, family="linear")
    wrong, found, wanted = [], [], []
    for width in (None, 0.6):
        make = partial(LocalisedClipped, **FREELY, diameter=width, eta=0.3)
        low, _ = edge(lambda x: not planned(make(noise_dial=x), at, 16), 1e-9, 1e9, halvings=200)  # noqa: B023
        first, second = make(noise_dial=low).phases(at, 16)[:2]
        found.append(math.sqrt(d) * first.sigma)
        wanted.append((width or WIDTH) + second.radius)
        for fields, n, legal in (
            ({"project": True}, 16, True), ({"noise": "steps"}, 16, True), ({}, 2, True), ({}, 4, False),
        ):  # fmt: skip
            loud = make(noise_dial=1e9, **fields)  # type: ignore[arg-type]
            wrong += [] if planned(loud, at, n) == legal else [f"{fields} at n = {n} with much noise: not {legal}"]
    if wrong:
        return answered(wrong, "")
    return agree(found, wanted, "length of the first noise at the edge, and diameter with the second radius", 1e-6)


def told_of_phases() -> Verdict:
    """What Algorithm 3 tells its bounds: the moment of all records by its sum, those of the batches, and the rows of
    its plan where they hold, on a line with projected outputs.
    """
    k, wrong, found, wanted = 3.0, [], [], []
    for d, fields, n in (
        (1, {}, 16), (1, {}, 2), (2, {}, 16), (1, {"project": False}, 16), (1, {"noise": "steps"}, 64),
    ):  # fmt: skip
        make, at = reading(LocalisedClipped, "corrected", **{"lipschitz": "ignored", "k": k, **fields}), uneven(d)
        terms, halvings = make.terms(at, n), n.bit_length() - 1
        whole = d == 1 and not fields
        if ("lambda[i]" in terms) != whole:
            wrong.append(f"rows are {'not ' if whole else ''}told at d = {d} with {fields}")
            continue
        # The squares of the batches' moments are those of one record over n/2^i, and count 2^-i.
        found += [terms["R_2k"], terms["l"], len(terms["r_2k[i]"]), *terms["r_2k[i]"]]
        wanted += [moment(2 * k, 1) * math.sqrt(halvings / n), halvings, halvings]
        wanted += [moment(2 * k, n >> i) for i in range(1, halvings + 1)]
        if whole:
            rows = make.phases(at, n)
            found += [terms["D"], terms["r_2k"], *terms["lambda[i]"], *terms["sigma[i]"], *terms["n[i]"]]
            wanted += [WIDTH, moment(2 * k, 1), *(row.weight for row in rows), *(row.sigma for row in rows)]
            wanted += [row.records for row in rows]
    return answered(wrong, "") if wrong else agree(found, wanted, "what bounds are told, and by hand", 1e-12)


# -- edges of theorems -----------------------------------------------------------------------------------------------


Made = Callable[[Mapping[str, float]], Algorithm[Any]]


def edges_as_assumed(label: str, made: Made, n: int, beyond: Mapping[str, float], **others: float) -> Verdict:
    """Where a theorem ends by its own hypotheses, and where plans do: the same value of a symbol, found by halving.

    Args:
        made: the algorithm, from the values of symbols.
        beyond: symbol -> value at which both refuse.
        others: further symbols of the claim.
    """
    base = {"n": float(n), "p": 1.5, "k": 3.0, "epsilon": 0.6, "delta": 1e-5, "beta": 1e-9, "d": 3.0, "D": WIDTH}
    base |= {"L": 1e-3, "H": 1e-3, "eta": 1e-3, "theta": 2.0, "theta_bar": 2.0, "lambda": 0.5, **others}
    base["R_2k"] = moment(2 * base["k"], 1) * math.sqrt((n.bit_length() - 1) / n)
    found, wanted = [], []
    for name, far in beyond.items():

        def spoken(x: float, name: str = name) -> bool:
            return refuses(lambda: stated(label, **{**base, name: x}))

        def refused(x: float, name: str = name) -> bool:
            at = {**base, name: x}
            asked = uneven(3, ApproxDP(at["epsilon"], at["delta"]), L=at["L"], H=at["H"])
            asked = replace(asked, failure_probability=at["beta"])
            return refuses(lambda: made(at).schedule(asked, n))

        ends = [edge(each, base[name], far, tolerance=1e-12) for each in (refused, spoken)]
        if any(each(base[name]) or not each(far) for each in (refused, spoken)):
            return differs(f"{name} = {base[name]:g} is refused, or {far:g} is not, by {label} or by plans", "exact")
        found.append(ends[0][1])
        wanted.append(ends[1][1])
    return agree(found, wanted, f"edges of plans, and of {label}, in {', '.join(beyond)}", 1e-6)


# -- Algorithms 4 and 5 ----------------------------------------------------------------------------------------------


def promises_of_calls() -> Verdict:
    """Algorithms 4 and 5 promise what their calls do, by their own theorem and Theorem 1; the first radius is the
    diameter or what is given, and records are asked for as claims say.
    """
    wrong = []
    for kind, n, theorems in (
        (StochasticApproximation, 1024, ("tsybakov/thm-2", "tsybakov/thm-1")),
        (IteratedLocalised, 1024, ("tsybakov/thm-3", "tsybakov/thm-1")),
    ):
        make = partial(reading, kind, lipschitz="ignored")
        for at, promised in ((uneven(2), [False, True, True]), (uneven(1), [True, True, True])):
            names = ("corrected", "private", "every-loss")
            wrong += wrong_promises([partial(make, name) for name in names], at, n, promised)
        dials = [partial(make, "private", noise_dial=x) for x in (0.99, 1.01)]
        wrong += wrong_promises(dials, uneven(2), n, [False, True])
        for radius in (None, 0.6):
            plan = make("private", radius=radius).schedule(uneven(2), n)
            radii = [epoch.radius * 2**e for e, epoch in enumerate(plan.phases)]
            wrong += [] if set(radii) == {radius or WIDTH} else [f"radii of {kind.__name__}: {radii}"]
            terms = make("private", radius=radius).terms(uneven(2), n + 300)
            # The squares of the moments of batches are those of one record over n/2^i, and count 2^-i.
            halvings = [n.bit_length() - 1, *(size.bit_length() - 1 for size in make("private").parts(n + 300))]
            moments = [moment(4, 1) * math.sqrt(each / 2**each) for each in halvings]
            told = [terms["R_2k"], *terms["R_2k[i]"]]
            wrong += [] if np.allclose(told, moments, rtol=1e-9) else [f"moments {told[:2]} of {kind.__name__}"]
            wrong += [] if plan.claimed_by == theorems else [f"{plan.claimed_by} promises {kind.__name__}"]
    wrong += _wrong_names_of_budgets() + _wrong_sizes_of_parts()
    return answered(wrong, "promises, radii and sizes are as they are to be")


def _wrong_names_of_budgets() -> list[str]:
    """Who refuses a budget is the algorithm that was asked, and not one that it calls, at whatever size."""
    wrong = []
    kinds = (LocalisedClipped, StochasticApproximation, IteratedLocalised, PermutedAccelerated, IteratedAccelerated)
    for kind in kinds:
        for n in (1, 1024):
            try:
                kind().schedule(replace(uneven(2), privacy=PureDP(1.0)), n)
            except Infeasible as error:
                named = error.label == kind.label and error.got == str(PureDP(1.0))
                wrong += [] if named else [f"{error} is said of a budget for {kind.label}"]
            else:
                wrong.append(f"{kind.label} takes a budget without delta")
    return wrong


def _wrong_sizes_of_parts() -> list[str]:
    """As many calls as claims have, the first of at least two records; those of Algorithm 4 on equal parts."""
    sizes = (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 20, 42, 43, 44, 45, 64)
    wrong = wrong_sizes(
        reading(StochasticApproximation, "private", lipschitz="ignored"), uneven(2), sizes,
        lambda n: n > 2 and stated("tsybakov/alg-4@calls", n=n) >= 1,
    )  # fmt: skip
    for theta_bar in (1.5, 2.0, 4.0):

        def fits(n: int, theta_bar: float = theta_bar) -> bool:
            at = {"n": float(n), "theta_bar": theta_bar}
            if n < 4 or stated("tsybakov/alg-5@calls", **at) < 1:
                return False
            return stated("tsybakov/alg-5@corrected-records", i=1, **at) >= 2

        make = partial(reading, IteratedLocalised, "private", lipschitz="ignored")
        wrong += wrong_sizes(make(theta_bar=theta_bar), uneven(2), sizes, fits)
    for n, legal in ((2**10, True), (2**16, False)):  # with the printed exponent parts outgrow the data at θ̄ = 4
        asked = [(f"the printed parts of {n}", partial(make(theta_bar=4.0, sizes="printed").parts, n), legal)]
        wrong += wrongly_answered(asked)
    return wrong


# -- Algorithms 6 and 7 ----------------------------------------------------------------------------------------------


SMALL = ApproxDP(0.01, 1e-5)
"""A budget at which records draw places in as many batches as these sizes have."""


def promises_of_batches() -> Verdict:
    """Algorithms 6 and 7: which theorem promises, how many batches there are, and from which sizes on they are planned;
    the best noise is the lesser of the two.
    """
    wrong = []
    for kind, theorem in ((PermutedAccelerated, "tsybakov/thm-6"), (IteratedAccelerated, "tsybakov/thm-7")):
        for calibration in ("plain", "best", "placed", "literal"):
            make = partial(kind, calibration=calibration)
            silent = calibration == "literal"
            makes = [make, *(partial(make, noise_dial=x) for x in (0.99, 1.01))]
            wrong += wrong_promises(makes, uneven(3, SMALL), 4096, [not silent, False, not silent])
            by = (f"{theorem}@corrected" if calibration == "placed" else theorem,)
            found = () if wrong else make().schedule(uneven(3, SMALL), 4096).claimed_by
            wrong += [] if wrong or found == by else [f"{found} promises {kind.__name__} with {calibration} noise"]
    wrong += _wrong_batches() + _wrong_sizes_of_batches()
    return answered(wrong, "promises, batches and sizes are as they are to be")


def _wrong_batches() -> list[str]:
    """At least one, and a record in each; the best noise is the lesser of two, or the one that there is."""
    wrong = []
    for batches, n, legal in ((1, 5, 1), (4, 5, 4), (5, 5, 5), (9, 5, 5), (None, 5, 1)):
        row = PermutedAccelerated(calibration="plain", batches=batches).plan(uneven(H=1e-9), n)
        wrong += [] if (row.T, row.b) == (legal, 5 // legal) else [f"{row.T} batches of {row.b} for {batches} of {n}"]
    for at in OF_BATCHES:
        make, asked, known = _batches(at, 3.0, None, calibration="plain")
        T = stated("tsybakov/alg-6@steps", **known)
        wrong += [] if make.in_batches(asked, at["n"])[0] == T else [f"not {T:g} batches at {at}"]
    lesser = set()
    for epsilon, n, batches in ((0.003, 10**4, 10**4), (1.0, 10**4, 10), (1.0, 50, 10)):
        at, sigma = uneven(2, ApproxDP(epsilon, 1e-5)), {}
        for name in ("plain", "shuffle", "best"):
            one = PermutedAccelerated(calibration=name, batches=batches)  # type: ignore[arg-type]
            sigma[name] = one.plan(at, n).sigma if planned(one, at, n) else math.inf
        lesser.add(min(sigma, key=lambda name: sigma[name]))
        wrong += [] if sigma["best"] == min(sigma["plain"], sigma["shuffle"]) < math.inf else [f"{sigma} at n = {n}"]
    return wrong + ([] if lesser == {"plain", "shuffle"} else [f"only {lesser} is the lesser noise of these"])


def _wrong_sizes_of_batches() -> list[str]:
    """From the first call on, or from the number that is given; copies enough to be shuffled."""
    equal, at = reading(IteratedAccelerated, "placed"), uneven(2, SMALL)
    wrong = wrong_sizes(equal, at, range(60), lambda n: n > 1 and stated("tsybakov/alg-4@calls", n=n) >= 1)
    wrong += wrong_sizes(replace(equal, calls=9), at, range(20), lambda n: n >= 9)
    for epsilon in (0.2, 1.0):
        for n in (1, 50, 150):
            try:
                local_shuffled(epsilon, 1e-5, n, "")
            except Infeasible as error:
                least = error.smallest_n or 0
                tried = [refuses(partial(local_shuffled, epsilon, 1e-5, size, "")) for size in (least - 1, least)]
                wrong += [] if tried == [True, False] else [f"{least} copies are named for {n}: refused {tried}"]
            else:
                wrong.append(f"{n} copies are shuffled")
    for epsilon, n in ((1e-3, 4000), (0.01, 10**5), (0.3, 10**6)):
        local, half = local_shuffled(epsilon, 1e-5, n, "")[0], 1e-5 / 2
        spent = shuffle_epsilon(local, n, half)
        # As large as one half, or as large as the amplification lets it be.
        full = local == 0.5 if epsilon == 0.3 else math.isclose(spent, epsilon, rel_tol=1e-9) and local < 0.5
        wrong += [] if full and spent <= epsilon * (1 + 1e-9) else [f"{n} copies of {local:g} spend {spent:g}"]
    return wrong


# -- rows of Algorithm 3, one by one ---------------------------------------------------------------------------------


APART = (
    {"L": 40.0, "H": 1e-3, "p": 2.0, "epsilon": 0.6}, {"L": 1e-3, "H": 1e-3, "p": 2.0, "epsilon": 8.0},
    {"L": 1e-3, "H": 1e-3, "p": 1.5, "epsilon": 1e-4}, {"L": 1e-3, "H": 1e9, "p": 1.0, "epsilon": 0.6},
)  # fmt: skip
"""Constants at each of which another cap of the step is the least."""


def _walked(row: Phase, L: float) -> float:
    """How far the steps of a phase lead along a slope of length L that nothing cuts."""
    record = Sample(np.full((1, 1, 1), L), np.ones((1, 1)))
    fields: dict[str, Any] = {"level": 2 * L, "project": lambda w: w}
    line = TwoPoint(D=2.0, G=L, rho=1.0)
    end = clipped_descent(line, record, np.zeros((1, 1)), steps=row.steps, eta=row.eta, weight=row.weight, **fields)
    return float(np.abs(end[0, 0]))


def rows_of_phases(name: str) -> Verdict:
    """Rows of Algorithm 3 in a reading, at problems at which another cap of its step binds each, beside its claims.

    Steps are as few as bring e^(-eta lambda T) below (eta lambda/4)^2; a walk along gradients of length L that nothing
    cuts ends half a radius away; levels are where the bias of clipping is as large as the noise.
    """
    n, k, found, wanted = 16, 3.0, [], []
    for j, at in enumerate(APART[:3] if name == "literal" else APART):
        d, p, epsilon, delta, beta = (1, 3)[j % 2], at["p"], at["epsilon"], 1e-5, 0.05
        asked = uneven(d, ApproxDP(epsilon, delta), L=at["L"], H=at["H"], family="linear")
        make = LocalisedClipped(**{**LocalisedClipped.readings.get(name, {}), "p": p, "k": k, "lipschitz": "ignored"})
        R = moment(2 * k, 1) * math.sqrt((n.bit_length() - 1) / n)
        known = {
            "n": n,
            "p": p,
            "k": k,
            "d": d,
            "D": WIDTH,
            "R_2k": R,
            "epsilon": epsilon,
            "delta": delta,
            "beta": beta,
        }
        known |= {"L": at["L"], "H": at["H"]}
        for i, row in enumerate(make.phases(asked, n)[:-1], 1):  # of at least two records
            by = {**known, "C": row.level, "n": row.records, "lambda": row.weight, "eta": row.eta, "T": row.steps}
            labels = PHASES["as printed" if name == "literal" else name]
            noise = stated(labels["sigma"], **by)
            found += [row.records, row.sigma, row.sensitivity, (row.level / moment(2 * k, row.records)) ** k]
            wanted += [n / 2**i, noise, stated(labels["sensitivity"], **by)]
            wanted.append(epsilon * row.records / math.sqrt(d * math.log(1 / delta) * math.log(n)))
            share = row.eta * row.weight
            if row.steps < 100:
                found.append(row.radius * (1 - (1 - share) ** row.steps))
                wanted.append(2 * _walked(row, at["L"]))
            if name == "every-loss":
                found += [row.weight, 1 / share, row.steps]
                wanted += [stated(labels["weight"], **known, i=i), n, n * math.log2(n)]
            else:
                found += [row.eta, 1 / share, row.steps]
                wanted += [
                    stated(labels["eta"], **known, i=i),
                    row.records ** (2 * p if name == "literal" and i == 1 else p),
                    math.ceil(2 * math.log(4 / share) / share),
                ]
    return agree(found, wanted, "rows of phases, and their claims", 1e-9)


# -- rows of Algorithm 6 ---------------------------------------------------------------------------------------------


OF_BATCHES: tuple[dict[str, Any], ...] = (
    {"n": 4001, "epsilon": 0.2, "H": 40.0}, {"n": 4001, "epsilon": 1e-3, "H": 40.0},
    {"n": 4001, "epsilon": 0.2, "H": 1e-3},
    {"n": 6, "epsilon": 0.01, "H": 900.0},
)  # fmt: skip
"""Problems at which the number of batches is that of the noise, of the sample, one, and one a record."""


def _batches(
    at: Mapping[str, Any], k: float, width: float | None, **fields: Any
) -> tuple[Any, Problem, dict[str, Any]]:
    """Algorithm 6 at one of these, its problem, and what its claims may speak of."""
    epsilon, d, delta = at["epsilon"], 3, 1e-5
    asked = uneven(d, ApproxDP(epsilon, delta), H=at["H"])
    known = {"m": at["n"], "n": at["n"], "epsilon": epsilon, "delta": delta, "d": d, "k": k, "H": at["H"]}
    known |= {"D": width or WIDTH, "r_k": moment(k, 1)}
    return PermutedAccelerated(k=k, diameter=width, **fields), asked, known


def rows_of_batches(calibration: str) -> Verdict:
    """The row of Algorithm 6 in a reading, at problems at which another of its minima and maxima binds each, beside its
    claims; of noise that is searched for, what it spends.
    """
    found: list[float] = []
    wanted: list[float] = []
    placed = "placed-" if calibration == "placed" else ""
    for at, k, width in itertools.product(OF_BATCHES, (2.0, 3.0), (None, 0.3)):
        make, asked, known = _batches(at, k, width, calibration=calibration)
        if not planned(make, asked, at["n"]):
            continue
        (row,) = make.schedule(asked, at["n"]).phases
        by = {**known, "T": row.T, "b": row.b, "C": row.level, "sigma": row.sigma}
        by["n"] = at["n"] if placed else row.T * row.b
        if calibration == "shuffle":
            by["epsilon_0"] = local_shuffled(known["epsilon"], known["delta"], by["n"], "")[0]
        found += [row.T, row.b, row.level, row.gamma]
        labels = f"{placed}steps", f"{placed}batch", "level", "gamma"
        wanted += [stated(f"tsybakov/alg-6@{each}", **by) for each in labels]
        if calibration in ("literal", "placed"):
            found.append(row.sigma**2)
            wanted.append(stated(f"tsybakov/alg-6@{calibration}", **by))
        else:
            found.append(known["delta"])
            wanted.append(stated(f"tsybakov/alg-6@{calibration}-delta", **by))
        terms = make.terms(asked, at["n"])
        found += [terms[name] for name in terms if name in by]
        wanted += [by[name] for name in terms if name in by]
    if len(found) < 3 * 13:
        return differs(f"{len(found)} numbers are planned of {calibration} batches", "exact")
    return agree(found, wanted, f"rows of {calibration} batches, and their claims", 1e-6)
