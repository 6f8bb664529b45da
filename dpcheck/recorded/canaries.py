"""One-run audits of recorded scores: a training run made elsewhere, its canaries in or out by fair coins."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.auditing import one_run
from dpcheck.auditing.inputs import check_claim, check_failure_probability, check_seed
from dpcheck.auditing.one_run import OneRunResult
from dpcheck.errors import InvalidInput
from dpcheck.privacy import ApproxDP, Guarantee

Array = NDArray[np.float64]
UNFAIR = 1e-9
"""Chance below which the number of canaries that were in is not that of fair coins."""
ASSUMPTIONS = (
    "each canary was in the data with probability 1/2, by a coin of its own; canaries drawn as a fixed half are not",
    "the scores are of one run, and were computed without the coins",
    "which scores and how many guesses was settled before the coins were looked at",
    "the claim is for adding or removing one canary, whatever the other records are",
)


@dataclass(frozen=True, kw_only=True)
class CanaryResult(OneRunResult):
    """The answer of `dp.audit_canary_scores`, with what it rests on."""

    method: str
    assumptions: tuple[str, ...] = ASSUMPTIONS

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**plain, "outcome": self.outcome.value, "claim": str(self.claim), "assumptions": list(self.assumptions)}

    def __str__(self) -> str:
        lines = [super().__str__(), f"  {'method':<12} {self.method}"]
        return "\n".join([*lines, *(f"  {'assumes':<12} {text}" for text in self.assumptions)])


def audit_canary_scores(
    inside: Any,
    outside: Any,
    claim: Guarantee,
    *,
    guesses: int | None = None,
    failure_probability: float = 0.05,
    seed: int = 0,
    name: str = "the recorded run",
) -> CanaryResult:
    """Audits one training run by the scores of its canaries, as `dp.audit_one_run` does a run that it makes itself.

    The highest scores are guessed to be of canaries that were in, the lowest of those that were not. Scores of many
    independent runs, of one canary each, are two samples: `dp.audit_samples`.

    Args:
        inside, outside: scores of the canaries that were in the data, and of those that were not, larger where a canary
            looks more like a part of the data. Coins decide their numbers.
        claim: under add-remove adjacency, and tested as by `dp.audit_one_run`.
        guesses: how many canaries to guess, the most and the least likely half each, fixed beforehand; None: all.
        seed: of the coins that break ties.

    Raises:
        InvalidInput: no numbers, too few, or as many canaries in that the coins were not fair.
    """
    check_failure_probability(failure_probability)
    seed = check_seed(seed)
    check_claim(claim)
    one, two = _scores("inside", inside), _scores("outside", outside)
    scores, included = np.concatenate([one, two]), np.repeat([True, False], [len(one), len(two)])
    canaries = len(scores)
    if canaries < 2:
        raise InvalidInput(f"a one-run audit needs the scores of at least 2 canaries, got {canaries}")
    if scipy.stats.binomtest(len(one), canaries).pvalue < UNFAIR:
        raise InvalidInput(
            f"{len(one):,} of {canaries:,} canaries were in the data: not by fair coins, as a one-run audit needs"
        )
    told = canaries if guesses is None else guesses
    if isinstance(told, bool) or not isinstance(told, int) or not 2 <= told <= canaries:
        raise InvalidInput(f"guesses must lie between 2 and the {canaries} canaries, got {guesses!r}")
    # Ties are broken by a coin of their own: scores come sorted by the answer.
    order = np.lexsort((seeds.stream(seed, "one-run", "ties").random(canaries), scores))
    low, high = order[: told // 2], order[canaries - (told - told // 2) :]
    right = int((~included[low]).sum() + included[high].sum())
    concluded = one_run._conclude(claim, right, told, canaries, failure_probability, name, seed)
    method = "Mahloujifar, Melis and Chaudhuri 2024, Algorithm 3"
    if isinstance(claim, ApproxDP):
        method = f"the sharper of Steinke, Nasr and Jagielski 2023, Theorem 5.2, and {method}"
    return CanaryResult(**{f.name: getattr(concluded, f.name) for f in dataclasses.fields(OneRunResult)}, method=method)


def _scores(name: str, values: Any) -> Array:
    try:
        scores = np.asarray(values)
    except ValueError:
        scores = np.array(["ragged"])
    if scores.ndim != 1 or scores.dtype.kind not in "biuf" or (scores.dtype.kind == "f" and np.isnan(scores).any()):
        raise InvalidInput(f"{name} must hold one score a canary, numbers that are not NaN, got shape {scores.shape}")
    return scores.astype(float)
