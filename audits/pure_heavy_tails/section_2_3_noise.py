"""Section 2.3: isotropic Laplace noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from dpcheck.algorithms.pure_heavy_tails.erm import isotropic_laplace
from dpcheck.checks import Context, check
from dpcheck.harness import accuracy
from dpcheck.verdicts import Verdict, consistent, refuted


@check("pure_heavy_tails/proc-iso-laplace", kind="privacy", grid={"d": (1, 2, 10)})
def noise_loss_is_the_shift(context: Context, *, d: int) -> Verdict:
    """The log-density ratio at two cores is at most their distance over the scale, attained along the line."""
    rng, size, scale = context.rng(), context.scale(20_000, 200_000), 0.7
    law = isotropic_laplace(scale)
    core, other = rng.standard_normal((2, size, d)) * np.exp(rng.uniform(-3, 3, (1, size, 1)))
    output = law.sample(core, rng)
    shift = np.linalg.norm(core - other, axis=1)
    beyond = core + (core - other) * rng.exponential(1.0, (size, 1))
    left = np.concatenate([law.log_ratio(output, core, other), law.log_ratio(beyond, core, other)])
    covers = "the triangle inequality for the two distances; equality on the line through the cores"
    verdict = accuracy.never_violated(
        np.abs(left),
        np.tile(shift / scale, 2),
        statement="privacy loss <= shift/scale",
        covers=covers,
        evidence="certificate",
    )
    attained = float((law.log_ratio(beyond, core, other) / (shift / scale)).min())
    if attained < 1 - 1e-6:
        return refuted(
            f"the loss along the line is only {attained:.6g} of shift/scale", "exact", numbers=verdict.numbers
        )
    return replace(verdict, numbers={**verdict.numbers, "least ratio along the line": attained})


@check("pure_heavy_tails/proc-iso-laplace", kind="accuracy", grid={"d": (1, 2, 10, 50)}, expect="consistent")
def noise_has_gamma_radius(context: Context, *, d: int) -> Verdict:
    """The radius of the noise is Gamma(d) in units of the scale, and its direction has no preference."""
    rng, size, scale = context.rng(), context.scale(20_000, 200_000), 3.0
    noise = isotropic_laplace(scale).sample(np.zeros((size, d)), rng)
    radius = np.linalg.norm(noise, axis=1) / scale
    tests = {"radius": scipy.stats.kstest(radius, scipy.stats.gamma(d).cdf).pvalue}
    # A coordinate of a uniform direction squared is Beta(1/2, (d-1)/2).
    if d > 1:
        tests["direction"] = scipy.stats.kstest(
            (noise[:, 0] / scale / radius) ** 2, scipy.stats.beta(0.5, (d - 1) / 2).cdf
        ).pvalue
    tests["sign"] = scipy.stats.binomtest(int((noise[:, 0] > 0).sum()), size).pvalue
    worst = min(tests, key=lambda name: tests[name])
    numbers = {
        **{f"p-value of the {name}": float(p) for name, p in tests.items()},
        "mean radius/d": float(radius.mean() / d),
    }
    share = context.failure_probability / len(tests)
    fields: dict[str, Any] = {"failure_probability": context.failure_probability, "numbers": numbers}
    said = f"Kolmogorov-Smirnov over {size:,} draws: smallest p-value {tests[worst]:.3g} (of the {worst})"
    if tests[worst] < share:
        return refuted(said, "sampled", **fields)
    # The critical distance of the one-sample test at that level: what the sample would have shown.
    seen = f"a law of the radius {scipy.stats.kstwo(size).isf(share):.3g} away from Gamma(d) in Kolmogorov's distance"
    return consistent(said, "sampled", notices=seen, **fields)
