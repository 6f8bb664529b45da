"""Sensitivity: how far one record moves the core of each release, against what the release's reads claim.

What may be said. REFUTED: a pair was found whose ratio exceeds 1, and it was confirmed in higher precision. HOLDS: a
certificate (closed form, convexity) bounds the ratio by 1 over *all* pairs, and the search found nothing that
contradicts it. Anything else is CONSISTENT or UNDECIDED, with the best ratio found: a search proves nothing.

A read whose sensitivity may fail over the coins (`Read.failure`) is no matter of one coin: the searches leave its
release out, and `failures` counts how often one pair breaks it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from dpcheck import witnesses
from dpcheck.errors import InvalidInput, WitnessRejected
from dpcheck.harness.accuracy import probability
from dpcheck.harness.replay import RETURNED, Case
from dpcheck.harness.search import Found, Measure, Pair, Records, Search, maximise
from dpcheck.interfaces import Array, Norm, Schedule
from dpcheck.verdicts import Verdict, Witness, consistent, holds, refuted, undecided

Confirm = Callable[[Found], "Witness | Fraction | mpmath.mpf | float"]
"""Recomputes a found pair in higher precision: a witness for `dpcheck.witnesses`, or the ratio itself."""
MARGIN = 1e-6
"""A float64 ratio above 1 by less than this is rounding until shown otherwise."""


@dataclass(frozen=True)
class Certificate:
    """A bound on the ratio of movement to claim that holds for every neighbouring pair, and why."""

    ratio: float
    because: str


def of_replay(case: Case) -> Measure:
    """The ratios of every release that may not fail, by replay: what `maximise` climbs."""

    def measure(data: Array, neighbour: Array) -> dict[str, Array]:
        seen = case.replay(data, neighbour, len(data))
        failing = {name for name, chance in _chances(seen.schedule).items() if chance > 0}
        ratios = {name: values for name, values in seen.ratios().items() if name not in failing}
        if seen.other is None:
            ratios[RETURNED] = np.where(np.arange(len(data)) == _culprit(case, data, neighbour), np.inf, 0.0)
        return ratios

    return measure


def _culprit(case: Case, data: Array, neighbour: Array) -> int:
    """Which of the pairs replayed together led the runs apart: halving, the other pairs held still."""
    low, high, rows = 0, len(data), np.arange(len(data)).reshape(-1, *[1] * (data.ndim - 1))
    while high - low > 1:
        middle = (low + high) // 2
        part = np.where((low <= rows) & (rows < middle), neighbour, data)
        low, high = (low, middle) if case.replay(data, part, len(data)).other is None else (middle, high)
    return low


def search(
    case: Case,
    space: Records,
    n: int,
    *,
    given: Sequence[Pair] = (),
    chains: int = 64,
    steps: int = 40,
    examples: int = 0,
    seed: int = 0,
) -> Search:
    """The worst neighbouring pair of each release: given worst pairs first, then local and directed search.

    The changed record visits the first and last record of every stretch that the schedule treats alike. See `maximise`
    for the arguments.
    """
    cuts = {cut for release in case.planned(n).releases for read in release.reads for cut in (read.start, read.stop)}
    edges = itertools.pairwise(sorted({0, n} | cuts))
    places = sorted({place for low, high in edges for place in (low, high - 1) if place < n})
    return maximise(
        of_replay(case),
        space,
        n,
        given=given,
        places=places,
        chains=chains,
        steps=steps,
        examples=examples,
        seed=seed,
    )


def _chances(schedule: Schedule[Any]) -> dict[str, float]:
    """Release name -> probability, over coins, that one of its sensitivities fails."""
    return {release.name: math.fsum(read.failure for read in release.reads) for release in schedule.releases}


def failures(
    case: Case, data: Array, neighbour: Array, trials: int, seed: int, failure_probability: float
) -> dict[str, Verdict]:
    """How often, over fresh coins, one pair breaks each sensitivity that is allowed to fail.

    HOLDS and REFUTED speak of this pair (an exact binomial bound against the declared `Read.failure`); the failure
    probability is shared by the releases.

    Args:
        data, neighbour: (1, n, *record).

    Raises:
        InvalidInput: no release of the schedule declares a failure.
    """
    chances = {name: chance for name, chance in _chances(case.planned(np.asarray(data).shape[1])).items() if chance > 0}
    if not chances:
        raise InvalidInput("no release declares a failure; `search` judges sensitivities that always hold")
    ratios = case.replay(data, neighbour, trials, seed).ratios()
    return {
        name: probability(
            int((ratios.get(name, np.zeros(trials)) > 1 + MARGIN).sum()),
            trials,
            chance,
            failure_probability / len(chances),
            relation="<=",
            event=f"{name!r} moves beyond its sensitivity",
        )
        for name, chance in chances.items()
    }


def distances(case: Case, searched: Search) -> dict[str, float]:
    """Release name -> largest distance of its cores that the search found, for the slack table.

    Each release has its own worst pair, so that composing these distances covers every pair that was measured.
    """
    moved: dict[str, float] = {}
    for name, worst in searched.best.items():
        if name != RETURNED:
            seen = case.replay(worst.data[None], worst.neighbour[None], worst.trials)
            mine = [float(m.distance[worst.trial]) for m in seen.movements if m.release.name == name]
            moved[name] = max(mine, default=0.0)
    return moved


def by_replay(case: Case) -> Confirm:
    """Confirms a pair by replaying it and measuring its two cores with 50 digits.

    It rules out rounding in the norm, the claim and the comparison; the cores themselves stay float64. That is enough
    for a mechanism of one's own. A printed statement deserves a witness, recomputed by code that shares nothing.
    """

    def confirm(pair: Found) -> mpmath.mpf:
        # All pairs of a batch are this one: the trial that found it keeps its own noise.
        seen = case.replay(pair.data[None], pair.neighbour[None], pair.trials)
        if pair.name == RETURNED:
            return mpmath.inf if seen.leak[pair.trial] > 0 else mpmath.mpf(0)
        worst = mpmath.mpf(0)
        for movement in seen.movements:
            if movement.release.name == pair.name and movement.distance[pair.trial] > 0:
                core, other = movement.core[pair.trial], movement.other[pair.trial]
                moved = exact_distance(core, other, movement.release.norm)
                claim = mpmath.mpf(float(movement.claimed[pair.trial]))
                worst = max(worst, moved / claim if claim > 0 else mpmath.inf)
        return worst

    return confirm


def exact_distance(core: Array, other: Array, norm: Norm) -> mpmath.mpf:
    """`replay.distance` of one trial's cores, with 50 digits from the exact values of the floats."""
    with mpmath.workdps(50):
        gaps = [abs(mpmath.mpf(float(a)) - mpmath.mpf(float(b))) for a, b in zip(core.flat, other.flat, strict=True)]
        if norm == "range" or norm == np.inf:
            return max(gaps)
        return mpmath.fsum(gap ** mpmath.mpf(norm) for gap in gaps) ** (1 / mpmath.mpf(norm))


def judge(
    searched_pairs: Search,
    *,
    certificate: Certificate | None = None,
    confirm: Confirm | None = None,
    margin: float = MARGIN,
    what: str = "sensitivity",
) -> Verdict:
    """What a search, and a certificate where there is one, allow to conclude.

    Args:
        certificate: a bound over all pairs; without it the answer is never HOLDS.
        confirm: recomputes the worst pair in higher precision; without it the answer is never REFUTED.
        margin: ratios up to 1 + margin count as 1.
        what: what is claimed, in a word or two.

    Raises:
        InvalidInput: the search exceeds the certificate's bound, though both stay below 1: the certificate is wrong.
    """
    worst = searched_pairs.worst
    numbers: dict[str, float | int | str | bool] = {
        "best ratio": worst.ratio,
        "release": worst.name,
        "origin": worst.origin,
        "pairs": searched_pairs.pairs,
        **{
            f"ratio of {name}": pair.ratio
            for name, pair in list(searched_pairs.best.items())[:16]
            if len(searched_pairs.best) > 1
        },
    }
    if certificate is not None:
        numbers["certificate"] = certificate.ratio
    seen = f"{worst.ratio:.6g} of the claimed {what} of {worst.name!r}"
    if worst.ratio > 1 + margin:
        return _exceeded(worst, seen, confirm, margin, numbers)
    if certificate is None:
        reason = f"largest movement found is {seen}, over {searched_pairs.pairs:,} pairs; a search proves no bound"
        searched = f"a pair among the {searched_pairs.pairs:,} searched that moves more than the claim"
        return consistent(reason, "exact", numbers=numbers, notices=searched, severity=worst.ratio)
    if worst.ratio > certificate.ratio * (1 + margin):
        raise InvalidInput(
            f"the certificate bounds the ratio by {certificate.ratio:.9g} ({certificate.because}), but a pair reaches "
            f"{worst.ratio:.9g}; correct the certificate"
        )
    if certificate.ratio <= 1 + margin:
        bound = f"at most {certificate.ratio:.6g} of the claimed {what} ({certificate.because})"
        reason = f"{bound}; found {worst.ratio:.6g}"
        return holds(reason, "certificate", numbers=numbers, severity=worst.ratio)
    reason = f"the certificate only gives {certificate.ratio:.6g} times the claim; found {seen}"
    return undecided(reason, "certificate", numbers=numbers, severity=worst.ratio)


def _exceeded(
    worst: Found, seen: str, confirm: Confirm | None, margin: float, numbers: dict[str, float | int | str | bool]
) -> Verdict:
    if confirm is None:
        reason = f"a pair moves {seen}, but nothing recomputed it in higher precision; pass `confirm`"
        return undecided(reason, "exact", numbers=numbers, severity=worst.ratio)
    witness = None
    try:
        answer = confirm(worst)
        if isinstance(answer, Witness):
            witness = answer
            violation = witnesses.verify(witness)
            confirmed, limit = violation.found, violation.claimed
        else:
            confirmed, limit = mpmath.mpf(_number(answer)), mpmath.mpf(1 + margin)
    except WitnessRejected as error:
        return undecided(f"a pair seems to move {seen}, but its witness fails: {error}", "exact", numbers=numbers)
    if confirmed <= limit:
        reason = f"float64 gives {seen}, higher precision {mpmath.nstr(confirmed, 10)}: rounding, not a violation"
        return undecided(reason, "exact", numbers=numbers)
    numbers["confirmed"] = float(confirmed)
    reason = f"a pair of neighbours moves {seen}, confirmed in higher precision"
    if np.isinf(worst.ratio):
        which = "follows the data outside of every release" if worst.name == RETURNED else "moves, and should not"
        reason = f"{worst.name!r} {which} for a pair of neighbours"
    return refuted(reason, "exact", numbers=numbers, witness=witness, severity=worst.ratio)


def _number(answer: Any) -> Any:
    return mpmath.mpf(answer.numerator) / answer.denominator if isinstance(answer, Fraction) else answer
