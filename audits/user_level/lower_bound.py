"""The quoted lower bound: an exact Bayes risk for its statistical half, and algorithms run against it."""

from __future__ import annotations

import math

import mpmath
import numpy as np
from scipy import stats

from dpcheck.algorithms.user_level.descent import sgd
from dpcheck.checks import Context, check
from dpcheck.engine.statements import stated
from dpcheck.geometry import Box
from dpcheck.harness import lower_bound
from dpcheck.harness.lower_bound import Fact
from dpcheck.interfaces import Array
from dpcheck.verdicts import Verdict
from dpcheck.workloads import LinearMean


def total_variation(samples: int) -> float:
    """TV(Bin(N, (1 + a)/2), Bin(N, (1 - a)/2)), a = 1/sqrt N: 1 - 2 P(wrong side), ties split."""
    law = stats.binom(samples, (1 + 1 / math.sqrt(samples)) / 2)
    tie = float(law.pmf(samples // 2)) if samples % 2 == 0 else 0.0
    below = float(law.cdf((samples - 1) // 2)) if samples % 2 else float(law.cdf(samples // 2 - 1))
    return 1 - 2 * (below + tie / 2)


def direct_total_variation(samples: int) -> mpmath.mpf:
    """The same as half of the l1 distance, term by term, with 50 digits."""
    with mpmath.workdps(50):
        up = (1 + 1 / mpmath.sqrt(samples)) / 2
        total = mpmath.mpf(0)
        for k in range(samples + 1):
            choose = mpmath.binomial(samples, k)
            total += abs(choose * (up**k * (1 - up) ** (samples - k) - (1 - up) ** k * up ** (samples - k)))
        return total / 2


def hard(v: Array, samples: int) -> LinearMean:
    """z_j = -+1/sqrt d with mean -v_j/sqrt(d N) on the cube of diameter 1; the loss is -<z, x>."""
    d = len(v)
    size = np.full(d, 1 / math.sqrt(d))
    return LinearMean(size, v / math.sqrt(d * samples), Box(-0.5 / math.sqrt(d), 0.5 / math.sqrt(d), d), 0.5)


def averaged_risks(context: Context, samples: int, d: int, who: str) -> Array:
    """Excess risks of an algorithm over fair v: (trials,)."""
    found, rng = [], context.rng(who)
    for _ in range(context.scale(100, 1000)):
        v = np.where(rng.random(d) < 0.5, -1.0, 1.0)
        work = hard(v, samples)
        if who == "sign rule":
            ups = work.draw(rng, 8, samples, means_only=True)
            mean = ups.values[:, 0] + 1e-9 * np.where(rng.random((8, d)) < 0.5, -1.0, 1.0)
            points = 0.5 / math.sqrt(d) * np.sign(mean)
        else:
            rows = work.rows(rng, 8, samples).reshape(8, 1, samples, d)
            points = sgd(work, rows, 1 / math.sqrt(samples), np.zeros((1, d)))[:, 0]
        found.append(work.excess_risk(points))
    return np.concatenate(found)


@check("user_level/fact-lower-bound", kind="lower-bound", grid={"d": (1, 20)})
def statistical_half_by_its_bayes_risk(context: Context, *, d: int) -> Verdict:
    """nm = 100: construction exactly; the sign rule (Bayes) and SGD averaged over fair v against the Bayes risk."""
    samples = 100
    bayes = (1 - total_variation(samples)) / (2 * math.sqrt(samples))
    work = hard(np.ones(d), samples)
    mean, longest = np.asarray(work.mean), float(work.excess_risk(-0.5 / math.sqrt(d) * np.ones((1, d)))[0])
    facts = [
        Fact("L", work.constants.lipschitz(2.0), "=", 1.0, 1e-12),
        Fact("R", work.constants.diameter(2.0), "=", 1.0, 1e-12),
        Fact("|E z|", float(np.linalg.norm(mean)), "=", 1 / math.sqrt(samples), 1e-12),
        Fact("excess risk of the worst corner", longest, "=", 1 / math.sqrt(samples), 1e-12),
        Fact("TV of the two binomial laws", total_variation(samples), "=", direct_total_variation(samples), 1e-9),
    ]
    limit, share = 1 / math.sqrt(samples) + 1e-9, context.failure_probability / 2
    runs = [
        lower_bound.must_exceed_on_average(
            {"fair v": averaged_risks(context, samples, d, who)}, bayes * (1 - 1e-9), share, limit=limit, who=who
        )
        for who in ("sign rule", "SGD")
    ]
    return lower_bound.verdict(facts, runs)


@check("user_level/fact-lower-bound@derived", kind="lower-bound")
def bayes_risk_tends_to_its_limit(context: Context) -> Verdict:
    """nm (1 - TV)/2 over sqrt(nm): within 2/sqrt(nm) of the stated limit 0.1587, for nm up to 10^6."""
    facts = []
    for samples in (100, 101, 10_000, 10_001, 10**6):
        found = (1 - total_variation(samples)) / (2 * math.sqrt(samples))
        claimed = stated("user_level/fact-lower-bound@derived", n=samples, m=1.0, L=1.0, D=1.0)
        facts.append(Fact(f"Bayes risk at nm = {samples:,}", found, "=", claimed, 2 / math.sqrt(samples)))
    facts.append(
        Fact(
            "limit",
            stated("user_level/fact-lower-bound@derived", n=1.0, m=1.0, L=1.0, D=1.0),
            "=",
            stats.norm.sf(1.0),
            1e-9,
        )
    )
    return lower_bound.verdict(facts)
