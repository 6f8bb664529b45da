"""What the stored certificates of a statement make of it: the verdict of its check.

Each is checked with the arithmetic of `checker` and set beside the claim as it stands; the proofs with symbols, which
reach every number of steps, are executed. No optional package is needed for that.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcheck.certificates import Certified, checker, opened, proofs, proved, stated
from dpcheck.certificates.families import FAMILIES
from dpcheck.errors import InvalidInput
from dpcheck.verdicts import Verdict, holds, refuted, undecided

if TYPE_CHECKING:
    from dpcheck.certificates.runs import StatementRun
    from dpcheck.claims import Claim

Run = tuple["StatementRun", Certified]


def verdict(document: Any, claim: Claim) -> Verdict:
    """HOLDS where all certificates prove the claim at their numbers, REFUTED where a rational function exceeds it.

    UNDECIDED where the claim says less than they prove: it is not the one that they were found for. Runs that are
    beyond the hypotheses of a statement with others are no part of it.

    Raises:
        WitnessRejected: a certificate proves nothing, or something else than it says.
    """
    rows = [(instance, part, proved(claim, instance, part)) for instance, part in opened(document, claim)]
    runs = [(instance, one) for instance, _, one in rows if not one.refutes] or [(i, one) for i, _, one in rows]
    beyond = [(instance, one) for instance, _, one in rows if one.refutes]
    if broken := [run for run in runs if run[1].attained is not None and run[1].attained > run[1].claimed]:
        return _refuted(broken)
    if short := [run for run in runs if run[1].bound is None or run[1].bound > run[1].claimed]:
        return undecided(f"not proved of {_named(short[0])}: {_sides(short[0])}", "certified", numbers=_numbers(short))
    for instance, part, one in rows:
        stated(claim, instance, part, one)
    try:
        every = list(dict.fromkeys(_for_all(claim)))
    except InvalidInput as error:
        return undecided(f"the proof for all numbers does not reach the claim: {error}", "certified")
    return _holds(runs, beyond, every)


def function_of(certificate: dict[str, Any]) -> list[list[list[str]]]:
    """The function that attains the most: point, subgradient and value wherever it was asked."""
    run = checker.ExactRun(certificate["problem"], {k: Fraction(v) for k, v in certificate["parameters"].items()})
    given = {int(i): [Fraction(c) for c in row] for i, row in certificate["vectors"].items()}
    (function,) = run.classes
    size = max(map(len, given.values()))

    def row(form: checker.Form) -> list[str]:
        rows = [[a * c for c in given[i]] + [Fraction(0)] * (size - len(given[i])) for i, a in form.items()]
        return [str(sum(column)) for column in zip(*rows, strict=True)] or ["0"]

    return [[row(x), row(g), [str(value.at(given))]] for x, g, value in function.known]


def _for_all(claim: Claim) -> Iterator[str]:
    """Of which numbers the statement is proved at once."""
    for number, family in enumerate(FAMILIES):
        if claim.label in proofs.labels(family):
            _executed(number)
            for conclusion in family.concludes:
                if conclusion.label == claim.label:
                    proofs.conclude(family, conclusion, claim)
            yield family.every


@functools.cache
def _executed(number: int) -> None:
    """One family may conclude several statements."""
    proofs.execute(FAMILIES[number])


def _holds(runs: list[Run], beyond: list[Run], every: list[str]) -> Verdict:
    """In the words of the tightest run, of those one that a function attains, of those the last."""
    _, tightest = max(enumerate(runs), key=lambda each: (*_tightness(each[1]), each[0]))
    others = f"; so in {len(runs)} runs of {len(runs)}" if len(runs) > 1 else ""
    also = f"; for {' and '.join(every)} by a proof with symbols" if every else ""
    also += "".join(f"; not so at {_named(run)}, where some function attains {_sides(run)}" for run in beyond)
    instance, _ = tightest
    all_of_them = "every decoder that is private" if instance.lower else "all functions and vectors, in any dimension"
    reason = f"for {all_of_them}, {_named(tightest)}: {_sides(tightest)}{others}{also}. The run: {instance.words}"
    return holds(reason, "certified", numbers=_numbers(runs, tightest), severity=_share(tightest))


def _refuted(broken: list[Run]) -> Verdict:
    worst = max(broken, key=lambda run: run[1].ratio)
    others = f"; so in {len(broken)} runs" if len(broken) > 1 else ""
    reason = f"{_named(worst)}: a rational function attains {_sides(worst)}{others}. The run: {worst[0].words}"
    return refuted(reason, "certified", numbers=_numbers(broken, worst), severity=_share(worst))


def _tightness(run: Run) -> tuple[float, bool]:
    return round(_share(run) or 0.0, 6), run[1].attained is not None


def _named(run: Run) -> str:
    return run[0].name


def _sides(run: Run) -> str:
    """What is proved, what is claimed, and how near a function comes."""
    instance, one = run
    sign, relation = (-1, "at least") if instance.lower else (1, "at most")
    claimed = f"where {_short(one.claimed * sign)} is claimed"
    if one.bound is None:
        return f"{_short(one.attained)} {claimed}"
    said = f"{relation} {_short(one.bound * sign)} {claimed}"
    if one.attained is None:
        return said
    gap = one.bound - one.attained
    return f"{said}, attained{f' up to {float(gap):.1g}' if gap else ''}"


def _share(run: Run) -> float | None:
    """What is proved, or attained, over what is claimed; the other way round of a claim from below."""
    instance, one = run
    exact = one.attained if one.bound is None else one.bound
    if exact is None or not one.claimed or not exact:
        return None
    return float(one.claimed / exact if instance.lower else exact / one.claimed)


def _numbers(runs: list[Run], shown: Run | None = None) -> dict[str, float | int | str | bool]:
    instance, one = shown or runs[0]
    sign = -1 if instance.lower else 1
    sides = {"proved": one.bound, "claimed": one.claimed, "attained": one.attained}
    told = {name: float(value * sign) for name, value in sides.items() if value is not None}
    return {"certificates": len(runs), "run": instance.name, **told}


def _short(value: Fraction | None) -> str:
    return str(value) if len(str(value)) <= 12 else f"{float(value or 0):.8g}"
