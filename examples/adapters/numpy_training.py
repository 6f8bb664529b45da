"""A training loop in NumPy with canaries in its gradients: honest, and with a quarter of its noise.

python numpy_training.py
"""

import numpy as np

import dpcheck as dp
from dpcheck.adapters.canaries import Canaries, GradientCanaries

CLIP, NOISE, STEPS = 1.0, 4.0, 20
SIZE = 500
CLAIM = dp.GaussianDP(STEPS**0.5 / NOISE)  # every record is in every batch, neighbours have one record more


def train(noise: float, canaries: GradientCanaries, seed: int) -> None:
    """Logistic regression by noisy gradient descent."""
    rng = np.random.default_rng(seed)
    features, labels = rng.normal(size=(200, SIZE)), rng.integers(2, size=200)
    weights = np.zeros(SIZE)
    for _ in range(STEPS):
        gradients = (1 / (1 + np.exp(-features @ weights)) - labels)[:, None] * features
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = (gradients * np.minimum(1, CLIP / norms)).sum(axis=0)
        noisy = total + rng.normal(scale=noise * CLIP, size=SIZE)
        noisy[canaries.drawn()] += CLIP
        canaries.observe(noisy, known=total)
        weights -= 0.1 * noisy / len(features)


def memorised(seed: int = 0) -> Canaries:
    """Black-box: a table of means without any noise, canaries by their distance to the nearest row."""
    rng = np.random.default_rng(seed)
    canaries, records = Canaries(200, seed), rng.normal(size=(200, 10))
    model = np.concatenate([rng.normal(size=(50, 10)), canaries.records(records)])
    canaries.score(-np.linalg.norm(records[:, None] - model[None], axis=2).min(axis=1))
    return canaries


def white_box(noise: float, seed: int = 0) -> GradientCanaries:
    canaries = GradientCanaries(400, size=SIZE, clip=CLIP, seed=seed)
    train(noise, canaries, seed)
    return canaries


if __name__ == "__main__":
    print(white_box(NOISE).audit(CLAIM, name="honest"))
    print(white_box(NOISE / 4).audit(CLAIM, name="a quarter of the noise"))
    print(memorised().audit(dp.PureDP(3.0), name="a table of its records", guesses=150))
