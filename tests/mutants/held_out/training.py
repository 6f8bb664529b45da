"""Noisy gradient steps: clipping, accumulation, batches, normalisation, momentum.

The pair is a batch of ten gradients of which one is far out, and the same with zero in its place; noise is standard
normal and the claim that of a record that moves the noisy sum by `MU`.
"""

import math

import numpy as np
from scipy import stats

from ._told import ONE, along, bug, gaussian, line, normal, revealed, sound, table

MU = 0.5
CLAIM = gaussian(MU)
SUMS = np.zeros(10), np.r_[np.zeros(9), 100.0]
PLANE = np.zeros((10, 2)), np.vstack([np.zeros((9, 2)), [100.0, 100.0]])


def clip(values, most):
    return np.clip(values, -most, most)


def norms_clipped(rows, most):
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1, most / np.maximum(norm, 1e-12))


def noisy(total, rng, trials):
    return total + rng.normal(size=(trials, *np.shape(total)))


def steps(*weights):
    """Two or more noisy gradients, the record entering with these multiples of `MU`."""
    return lambda data, rng, trials: noisy(MU * clip(data, 1).sum() * np.array(weights, float), rng, trials)


box_clip = bug(
    "held-clip-by-coordinate",
    "every coordinate is clipped to C, which leaves vectors of length C sqrt(2)",
    CLAIM,
    along(MU, MU),
    lambda data, rng, trials: noisy(clip(data, MU).sum(axis=0), rng, trials),
    PLANE,
)
bias_left_out = bug(
    "held-clip-norm-without-the-bias",
    "the norm for the clip leaves out the bias, which enters up to 2C",
    CLAIM,
    along(MU, 2 * MU),
    lambda data, rng, trials: noisy(MU * np.stack([clip(data[:, 0], 1), clip(data[:, 1], 2)], 1).sum(0), rng, trials),
    PLANE,
)
noise_split = bug(
    "held-accumulation-noise-divided-by-k",
    "each of 4 micro-steps has a quarter of the noise instead of half: together half of what is needed",
    CLAIM,
    normal(2 * MU, of=lambda y: 2 * y),
    lambda data, rng, trials: MU * clip(data, 1).sum() + rng.normal(scale=0.25, size=(trials, 4)).sum(axis=1),
    SUMS,
)
clip_level_forgotten = bug(
    "held-noise-not-times-the-clip-level",
    "the noise multiplier is not multiplied by the clip level 2",
    CLAIM,
    normal(2 * MU),
    lambda data, rng, trials: MU * clip(data, 2).sum() + rng.normal(size=trials),
    SUMS,
)
bare_momentum = bug(
    "held-momentum-of-bare-gradients",
    "the buffer of the momentum keeps gradients without noise, which is added to the step",
    gaussian(MU * math.sqrt(2)),
    along(MU, 1.9 * MU),
    steps(1.0, 1.9),
    SUMS,
)
bare_preconditioner = bug(
    "held-adaptive-step-from-bare-gradients",
    "the step is divided by the root of the squared gradient without noise: 1 against 2",
    gaussian(1.0),
    line(stats.norm(1, 1), stats.norm(1, 0.5), -7, 9),
    lambda data, rng, trials: (data.sum() + rng.normal(size=trials)) / np.abs(data.sum()),
    (ONE, 2 * ONE),
)
weight_after_clip = bug(
    "held-record-weight-after-the-clip",
    "a record's weight 3 multiplies its clipped gradient",
    CLAIM,
    normal(3 * MU),
    lambda data, rng, trials: (np.array([1] * 9 + [3]) * clip(data, MU)).sum() + rng.normal(size=trials),
    SUMS,
)
batch_statistics = bug(
    "held-batch-normalisation-before-the-clip",
    "gradients are centred by the mean of the batch before the clip: one record moves all",
    CLAIM,
    normal(8 * MU, of=lambda y: -y),
    lambda data, rng, trials: MU * clip(data - data.mean(), 1).sum() + rng.normal(size=trials),
    SUMS,
)
padded = bug(
    "held-last-batch-padded-with-its-record",
    "the last batch is filled up by repeating its record, which then enters twice",
    CLAIM,
    normal(2 * MU),
    lambda data, rng, trials: MU * clip(np.r_[data, data[-1]], 1).sum() + rng.normal(size=trials),
    SUMS,
)
layers = bug(
    "held-clip-by-layer-charged-once",
    "each of four layers is clipped to C, the noise is for C in all",
    CLAIM,
    along(MU, MU, MU, MU),
    steps(1, 1, 1, 1),
    SUMS,
)
rows_untouched = bug(
    "held-sparse-rows-without-noise",
    "noise is added to the rows of an embedding that the batch touches, and to no others",
    CLAIM,
    table([1, 0], [0, 1], lambda y: y != 0),
    lambda data, rng, trials: (data != 0).any() * (MU + rng.normal(size=trials)),
    SUMS,
)
noise_of_the_step_before = bug(
    "held-noise-kept-for-two-steps",
    "two steps have the same noise: their difference is the second gradient",
    CLAIM,
    revealed(lambda y: y[:, 1] - y[:, 0] > 0.5 * MU),
    lambda data, rng, trials: MU * clip(data, 1).sum() * np.array([0, 1]) + rng.normal(size=(trials, 1)),
    SUMS,
)
rate_from_loss = bug(
    "held-learning-rate-from-the-bare-loss",
    "the rate, and the noise with it, is halved where the true loss is large",
    gaussian(1.0),
    line(stats.norm(0, 1), stats.norm(MU / 2, 0.5), -7, 8),
    lambda data, rng, trials: (MU * clip(data, 1).sum() + rng.normal(size=trials)) / (2 if data.max() > 1 else 1),
    SUMS,
)
stopped_early = bug(
    "held-early-stopping-on-the-bare-loss",
    "training stops when the true loss is small; how many steps it took is told",
    CLAIM,
    table([1, 0], [0, 1], lambda y: y > 1),
    lambda data, rng, trials: np.full(trials, 1 if data.max() <= 1 else 5),
    SUMS,
)
overflow_skipped = bug(
    "held-overflowing-step-skipped",
    "a step whose gradient overflows in half precision is skipped, noise and all",
    CLAIM,
    revealed(lambda y: y == 0),
    lambda data, rng, trials: (np.abs(data).max() < np.finfo(np.float16).max) * (MU + rng.normal(size=trials)),
    (SUMS[0], np.r_[np.zeros(9), 1e5]),
)
augmented = bug(
    "held-augmentations-summed",
    "four views of a record are clipped one by one and summed",
    CLAIM,
    normal(4 * MU),
    lambda data, rng, trials: MU * clip(np.repeat(data, 4), 1).sum() + rng.normal(size=trials),
    SUMS,
)
clipped_together = bug(
    "held-mean-of-four-clipped",
    "gradients are summed in fours and the sums rescaled to C times four",
    CLAIM,
    normal(4 * MU),
    lambda data, rng, trials: (
        MU * clip(np.r_[data, 0.0, 0.0].reshape(3, 4).sum(axis=1), 4).sum() + rng.normal(size=trials)
    ),
    SUMS,
)
loss_scale = bug(
    "held-noise-divided-by-the-loss-scale",
    "noise is added before the scale of mixed precision, 8, is taken out of it only",
    CLAIM,
    normal(8 * MU, of=lambda y: 8 * y),
    lambda data, rng, trials: MU * clip(data, 1).sum() + rng.normal(size=trials) / 8,
    SUMS,
)
bare_loss = bug(
    "held-loss-logged-beside-the-step",
    "the mean loss is logged beside the noisy step, clipped but without noise",
    CLAIM,
    revealed(lambda y: y[:, 1] > 0),
    lambda data, rng, trials: np.stack(
        [MU * clip(data, 1).sum() + rng.normal(size=trials), np.full(trials, clip(data, 1).mean())], axis=1
    ),
    SUMS,
)
norms_normalised = bug(
    "held-gradient-normalised-and-doubled",
    "gradients are set to length C, and zero ones point the other way: a record moves by 2C",
    CLAIM,
    normal(2 * MU, of=lambda y: y + 10 * MU),
    lambda data, rng, trials: MU * np.where(data > 0, 1, -1).sum() + rng.normal(size=trials),
    SUMS,
)

vectors = sound(
    "held-clip-by-norm",
    "vectors are clipped to length C",
    CLAIM,
    along(MU / math.sqrt(2), MU / math.sqrt(2)),
    lambda data, rng, trials: noisy(norms_clipped(data, MU).sum(axis=0), rng, trials),
    PLANE,
)
noisy_momentum = sound(
    "held-momentum-of-noisy-gradients",
    "the buffer keeps noisy gradients: whoever knows the steps knows those, and no more",
    gaussian(MU * math.sqrt(2)),
    normal(MU * math.sqrt(2), of=lambda y: (y[:, 0] + y[:, 1] - 0.9 * y[:, 0]) / math.sqrt(2)),
    lambda data, rng, trials: noisy(MU * clip(data, 1).sum() * np.ones(2), rng, trials) @ np.array([[1, 0.9], [0, 1]]),
    SUMS,
)
smooth_clip = sound(
    "held-clip-with-a-small-number",
    "C/(|g| + 1e-6) instead of min(1, C/|g|): every gradient is shorter than C",
    CLAIM,
    normal(100 / (100 + 1e-6) * MU),
    lambda data, rng, trials: MU * (data / (np.abs(data) + 1e-6)).sum() + rng.normal(size=trials),
    SUMS,
)
micro_steps = sound(
    "held-accumulation-noise-divided-by-root-k",
    "each of 4 micro-steps has half of the noise",
    CLAIM,
    normal(MU),
    lambda data, rng, trials: MU * clip(data, 1).sum() + rng.normal(scale=0.5, size=(trials, 4)).sum(axis=1),
    SUMS,
)
layers_charged = sound(
    "held-clip-by-layer-charged-for-four",
    "each of four layers is clipped to C, and 2C is charged",
    gaussian(2 * MU),
    along(MU, MU, MU, MU),
    steps(1, 1, 1, 1),
    SUMS,
)
publicly_centred = sound(
    "held-expected-batch-size",
    "the noisy sum is divided by the public expected size of the batch",
    CLAIM,
    normal(MU, of=lambda y: 8 * y),
    lambda data, rng, trials: (MU * clip(data, 1).sum() + rng.normal(size=trials)) / 8,
    SUMS,
)
