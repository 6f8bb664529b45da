"""Laws of finite mechanisms, exact to rounding: what `exact_epsilon` compares without a sample.

Selections and threshold tests are one-dimensional integrals of products of smooth pieces; Gauss-Legendre nodes between
the kinks give them to about 1e-14.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpcheck.errors import InvalidInput

Array = NDArray[np.float64]
NoiseName = Literal["laplace", "gumbel", "exponential"]
_NODES = 48
_REACH = 45.0
"""Noise beyond this many scales has mass below 1e-19."""


@dataclass(frozen=True)
class FiniteLaw:
    """Probabilities of finitely many outputs; `outputs[i]` has `probabilities[i]`."""

    outputs: tuple[Any, ...]
    probabilities: Array

    def probability(self, output: Any) -> float:
        """Of one output; 0 when it is not among them."""
        return float(self.probabilities[self.outputs.index(output)]) if output in self.outputs else 0.0


def randomised_response(answer: int, choices: int, keep: float) -> FiniteLaw:
    """Keeps the true answer with probability `keep`, else one of the others uniformly (Warner 1965)."""
    if not (choices >= 2 and 0 <= answer < choices and 0 <= keep <= 1):
        raise InvalidInput(f"need 0 <= answer < choices >= 2 and keep in [0, 1], got {answer}, {choices}, {keep}")
    law = np.full(choices, (1 - keep) / (choices - 1))
    law[answer] = keep
    return FiniteLaw(tuple(range(choices)), law)


def exponential_mechanism(scores: ArrayLike, coefficient: float) -> FiniteLaw:
    """P(j) proportional to exp(-coefficient * score_j): scores are minimised (McSherry and Talwar 2007)."""
    s = _scores(scores)
    law = scipy.special.softmax(-coefficient * s)
    return FiniteLaw(tuple(range(len(s))), np.asarray(law))


def permute_and_flip(scores: ArrayLike, coefficient: float) -> FiniteLaw:
    """McKenna and Sheldon 2020: report-noisy-min with exponential noise of rate `coefficient` (scores minimised)."""
    return noisy_min(scores, 1 / coefficient, "exponential")


def geometric(value: int, ratio: float, radius: int = 0) -> FiniteLaw:
    """value plus two-sided geometric noise, P(k) proportional to ratio^|k|, lumped beyond `radius` of 0.

    Args:
        ratio: in (0, 1); e^-epsilon for sensitivity 1.
        radius: outputs -radius..radius; the ends hold the tails. 0: as far as the tails exceed 1e-18.
    """
    if not 0 < ratio < 1:
        raise InvalidInput(f"ratio must lie in (0, 1), got {ratio!r}")
    reach = radius or abs(value) + math.ceil(math.log(1e-18) / math.log(ratio))
    k = np.arange(-reach, reach + 1)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(k - value).astype(float)
    # P(noise >= m) = ratio^m / (1 + ratio) for m >= 1; by symmetry below.
    law[-1] = _geometric_tail(reach - value, ratio)
    law[0] = _geometric_tail(reach + value, ratio)
    return FiniteLaw(tuple(int(i) for i in k), law)


def _geometric_tail(at_least: int, ratio: float) -> float:
    if at_least >= 1:
        return ratio**at_least / (1 + ratio)
    return 1 - ratio ** (1 - at_least) / (1 + ratio)


def noisy_min(scores: ArrayLike, scale: float, noise: NoiseName = "laplace") -> FiniteLaw:
    """Index of the smallest score + noise, the noise of each score independent with this scale.

    "laplace": report-noisy-min; "gumbel": the exponential mechanism with coefficient 1/scale; "exponential":
    permute-and-flip.
    """
    s = _scores(scores)
    if not (math.isfinite(scale) and scale > 0):
        raise InvalidInput(f"scale must be a finite number > 0, got {scale!r}")
    density, survival = _NOISE[noise]
    x, weight = _nodes(s / scale)
    shifted = x[None, :] - (s / scale)[:, None]
    alive, here = survival(shifted), density(shifted)
    law = np.array([(weight * here[j] * np.prod(np.delete(alive, j, axis=0), axis=0)).sum() for j in range(len(s))])
    return FiniteLaw(tuple(range(len(s))), law)


def above_threshold(
    answers: ArrayLike,
    threshold: float,
    threshold_scale: float,
    query_scale: float,
    stop_after: int | None = 1,
) -> FiniteLaw:
    """Transcripts of the sparse vector technique: strings of "0" (below) and "1" (above), ending at the last "1".

    One Laplace noise on the threshold, drawn once, one on each answer (Dwork and Roth 2014, Algorithm 1; the variants
    of Lyu, Su and Li 2017 are other scales, and `stop_after=None`).

    Args:
        answers: (k,) true answers, asked in this order.
        threshold_scale, query_scale: of the two noises; 0: no noise on the answers.
        stop_after: how many "1" end the transcript; None: all k answers are told.
    """
    a = _scores(answers)
    if len(a) > 16:
        raise InvalidInput(f"transcripts are enumerated: at most 16 queries, got {len(a)}")
    if not threshold_scale > 0 or query_scale < 0:
        raise InvalidInput(f"scales must be > 0 (queries: >= 0), got {threshold_scale!r} and {query_scale!r}")
    t, weight = _nodes((a - threshold) / threshold_scale, extra=(0.0,), stretch=max(1.0, query_scale / threshold_scale))
    prior = weight * _laplace_density(t)
    gap = t[None, :] * threshold_scale + threshold - a[:, None]
    over = _laplace_survival(gap / query_scale) if query_scale > 0 else (gap <= 0).astype(float)
    stop = stop_after if stop_after is not None else len(a) + 1
    law = {pattern: float((prior * chance).sum()) for pattern, chance in _transcripts(over, stop)}
    return FiniteLaw(tuple(law), np.array(list(law.values())))


def _transcripts(over: Array, stop: int) -> list[tuple[str, Array]]:
    """Every transcript with its probability at each threshold node."""
    open_: list[tuple[str, Array]] = [("", np.ones(over.shape[1]))]
    done: list[tuple[str, Array]] = []
    for above in over:
        grown = []
        for pattern, chance in open_:
            grown.append((pattern + "0", chance * (1 - above)))
            one = (pattern + "1", chance * above)
            (done if one[0].count("1") >= stop else grown).append(one)
        open_ = grown
    return [*done, *open_]


def product(*laws: FiniteLaw) -> FiniteLaw:
    """Independent outputs together: tuples."""
    outputs = tuple(itertools.product(*(law.outputs for law in laws)))
    probabilities = np.ones(1)
    for law in laws:
        probabilities = np.multiply.outer(probabilities, law.probabilities).ravel()
    return FiniteLaw(outputs, probabilities)


def _scores(values: ArrayLike) -> Array:
    s = np.asarray(values, dtype=float)
    if s.ndim != 1 or len(s) == 0 or not np.isfinite(s).all():
        raise InvalidInput(f"scores must be a finite, non-empty vector, got shape {s.shape}")
    return s


def _nodes(kinks: Array, extra: Sequence[float] = (), stretch: float = 1.0) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights between the kinks and out to where no noise reaches."""
    inner = np.unique(np.concatenate([kinks, np.asarray(extra, dtype=float)]))
    ends = np.concatenate([[inner[0] - _REACH], inner, [inner[-1] + _REACH]])
    # No piece longer than two scales: 48 nodes then resolve any product of exponentials.
    cuts = [np.linspace(a, b, max(2, math.ceil((b - a) / 2) + 1)) for a, b in itertools.pairwise(ends)]
    edges = np.unique(np.concatenate(cuts))
    x, w = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(edges) / 2
    middle = (edges[1:] + edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()


def _laplace_density(x: Array) -> Array:
    return np.asarray(np.exp(-np.abs(x)) / 2)


def _laplace_survival(x: Array) -> Array:
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x > 0, tail, 1 - tail)


def _gumbel_density(x: Array) -> Array:
    # Of the minimum: minus a standard Gumbel.
    return np.asarray(np.exp(np.clip(x, -700, 700) - np.exp(np.clip(x, -700, 700))))


def _gumbel_survival(x: Array) -> Array:
    return np.asarray(np.exp(-np.exp(np.clip(x, -700, 700))))


def _exponential_density(x: Array) -> Array:
    # Scores minus exponential noise are minimised: the noise is on the left.
    return np.where(x <= 0, np.exp(np.minimum(x, 0.0)), 0.0)


def _exponential_survival(x: Array) -> Array:
    return np.where(x <= 0, -np.expm1(np.minimum(x, 0.0)), 0.0)


_NOISE: dict[NoiseName, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "laplace": (_laplace_density, _laplace_survival),
    "gumbel": (_gumbel_density, _gumbel_survival),
    "exponential": (_exponential_density, _exponential_survival),
}
