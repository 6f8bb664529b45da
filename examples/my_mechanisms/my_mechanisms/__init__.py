"""Two differentially private mechanisms."""

from __future__ import annotations

import numpy as np


def clipped_mean(records: np.ndarray, low: float, high: float) -> float:
    """The mean of records clipped to [low, high]: it moves by at most (high - low) / n when one is replaced."""
    return float(np.clip(records, low, high).mean())


def private_mean(records: np.ndarray, epsilon: float, rng: np.random.Generator) -> float:
    """epsilon-DP mean of records in [0, 1], when one of them is replaced."""
    sensitivity = 1.0 / len(records)
    return clipped_mean(records, 0.0, 1.0) + rng.laplace(scale=sensitivity / epsilon)


def private_answers(answers: np.ndarray, epsilon: float, rng: np.random.Generator, trials: int) -> np.ndarray:
    """How many of the answers are yes, by randomised response: each is told truly with odds e^epsilon; (trials,)."""
    truth = answers.astype(bool)
    lies = rng.random((trials, len(truth))) < 1 / (1 + np.exp(epsilon))
    return (truth ^ lies).sum(axis=1)
