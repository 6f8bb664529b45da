"""Canaries of one training run, put in by fair coins and scored: in the gradients (white-box) or by losses (black-box).

White-box: a canary is a gradient of the clipping norm along a coordinate of its own, added to the clipped sum of every
batch that it is drawn into; its score is what the noisy sums hold there. Of the mechanism that is the noise and the
accounting of steps and batches; clipping is not looked at. Black-box: a canary is a record, and its score the loss of
the final model, or how far it fell: that looks at all of it, and sees much less.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck import seeds
from dpcheck.errors import InvalidInput
from dpcheck.privacy import Guarantee
from dpcheck.recorded.canaries import CanaryResult, audit_canary_scores

Array = NDArray[np.float64]


class Canaries:
    """Canaries of one run: who is in, and the scores so far.

    Args:
        number: of them; as many as you like, and the more the tighter.
        seed: of the coins, which nobody who computes a score may look at.

    Attributes:
        included: (number,) whether each is in the data.
        scores: (number,) larger where a canary looks more like a part of the data.
    """

    def __init__(self, number: int, seed: int = 0) -> None:
        if isinstance(number, bool) or not isinstance(number, int) or number < 2:
            raise InvalidInput(f"a run needs at least 2 canaries, got {number!r}")
        self.included: NDArray[np.bool_] = seeds.stream(seed, "canaries", "coins").random(number) < 0.5
        self.scores: Array = np.zeros(number)

    def __len__(self) -> int:
        return len(self.included)

    def records(self, candidates: ArrayLike) -> NDArray[Any]:
        """Of (number, ...) candidate records those that go into the training data."""
        rows = np.asarray(candidates)
        if len(rows) != len(self):
            raise InvalidInput(f"there are {len(self)} canaries, got {len(rows)} records")
        return rows[self.included]

    def score(self, values: ArrayLike) -> None:
        """Takes (number,) scores of all canaries, those that are not in as well: minus the loss on each, say."""
        self.scores = self.scores + np.asarray(values, dtype=float)

    def audit(self, claim: Guarantee, *, name: str = "the training run", **options: Any) -> CanaryResult:
        """`dp.audit_canary_scores` of what was scored; for adding or removing one record."""
        inside, outside = self.scores[self.included], self.scores[~self.included]
        return audit_canary_scores(inside, outside, claim, name=name, **options)


class GradientCanaries(Canaries):
    """White-box canaries: each has a coordinate of the flat gradient.

    Args:
        number: at most as many as the gradient has coordinates.
        size: coordinates of the gradient of all parameters; clip: the norm to which gradients of records are clipped.
        rate: probability with which every record, and so every canary, is drawn into a batch.
    """

    def __init__(self, number: int, *, size: int, clip: float, rate: float = 1.0, seed: int = 0) -> None:
        super().__init__(number, seed)
        if number > size:
            raise InvalidInput(f"{number} gradient canaries need as many coordinates, and the gradient has {size}")
        if not clip > 0 or not 0 < rate <= 1:
            raise InvalidInput(f"clip must be positive and rate lie in (0, 1], got {clip!r} and {rate!r}")
        self.clip, self.rate = clip, rate
        self.places: NDArray[np.int64] = seeds.stream(seed, "canaries", "places").permutation(size)[:number]
        self._batches = seeds.stream(seed, "canaries", "batches")

    def drawn(self) -> NDArray[np.int64]:
        """Coordinates to which this step's clipped sum gets `clip` added: of the canaries in its batch."""
        batch = self.included & (self._batches.random(len(self)) < self.rate)
        return self.places[batch]

    def observe(self, noisy_sum: ArrayLike, known: ArrayLike | float = 0.0) -> None:
        """Takes the flat noisy sum of clipped gradients of a step, as it is released.

        Args:
            known: the part of the other records, which an adversary who has these works out from the same weights.
        """
        left = np.asarray(noisy_sum, dtype=float) - np.asarray(known, dtype=float)
        self.score(left.ravel()[self.places])
