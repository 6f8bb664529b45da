"""Audits of every kind of output and claim, told in full; run as a script it prints the fingerprints of some.

python audited.py anytime numbers words
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections.abc import Sequence

import numpy as np

import dpcheck as dp
from dpcheck.auditing import scores

ZERO, ONE = np.array([0.0]), np.array([1.0])


def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)


def words(data, rng, trials):
    """Categories: what is most easily ordered by a hash."""
    scored = rng.gumbel(size=(trials, 6)) + data.sum() * np.arange(6) / 3
    return np.array(["ash", "birch", "cedar", "elm", "fir", "oak"])[scored.argmax(axis=1)]


def transcripts(data, rng, trials):
    return [["yes" if bit else "no" for bit in rng.random(1 + i % 4) < 0.3 + 0.3 * data.sum()] for i in range(trials)]


def vectors(data, rng, trials):
    return data.sum() * np.array([1.0, -1.0, 0.5]) + rng.normal(size=(trials, 3))


def mixed(data, rng, trials):
    noisy = data.sum() + rng.laplace(size=trials)
    return noisy, np.where(noisy > 1, "up", "down")


AUDITS = {
    "numbers": (laplace, dp.PureDP(1.0), {}),
    "numbers, refuted": (laplace, dp.PureDP(0.2), {}),
    "numbers, delta": (laplace, dp.ApproxDP(0.5, 1e-3), {}),
    "numbers, curve": (laplace, dp.GaussianDP(1.0), {}),
    "words": (words, dp.PureDP(1.0), {}),
    "transcripts": (transcripts, dp.PureDP(0.8), {}),
    "vectors": (vectors, dp.GaussianDP(1.2), {}),
    "vectors, boosting": (vectors, dp.PureDP(1.0), {"score": scores.Classifier("boosting")}),
    "a tuple": (mixed, dp.PureDP(1.0), {"score": [scores.Cells(), scores.Classifier("logistic")]}),
}


def told(result: dp.AuditResult) -> str:
    """Every field but the times, arrays in full, and the witness."""
    fields = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
    del fields["seconds"], fields["mechanism_seconds"]
    fields["witness"] = None if result.witness is None else result.witness.to_dict()

    def plain(value: object) -> object:
        if isinstance(value, np.ndarray):
            return [str(value.dtype), value.tolist()]
        if dataclasses.is_dataclass(value):
            return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return repr(value)

    # Not sorted: the order of what is told is part of it.
    return json.dumps(fields, default=plain)


def digests(mode: str, only: Sequence[str]) -> dict[str, str]:
    """Audit -> fingerprint of all that its result says."""
    found = {}
    for name in only:
        mechanism, claim, options = AUDITS[name]
        result = dp.audit(mechanism, ZERO, ONE, claim, trials=900, mode=mode, seed=11, chunk=500, **options)
        found[name] = hashlib.sha256(told(result).encode()).hexdigest()
    return found


if __name__ == "__main__":
    print(json.dumps(digests(sys.argv[1], sys.argv[2:])))
