"""What the audits of lemmas share: privacy of subsamples, and coupled runs of outlier removal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from dpcheck.algorithms.user_level.concentration import inclusion, neighbour_counts
from dpcheck.engine.statements import explicit_of
from dpcheck.harness.symbolic import proved
from dpcheck.interfaces import Array, Rng
from dpcheck.symbols import positive
from dpcheck.verdicts import Verdict, combine

TAU = 1.0


@dataclass(frozen=True)
class Moves:
    """Coupled runs of outlier removal on neighbouring clouds whose scores are high enough.

    Attributes:
        distance: between the two kept means; others: B, the other points on which the coupling differs.
        sides: |S minus S'| and |S' minus S|; kept: |S| and |S'|.
    """

    distance: Array
    others: Array
    sides: tuple[Array, Array]
    kept: tuple[Array, Array]


def clouds(rng: Rng, trials: int, count: int, d: int) -> tuple[Array, Array]:
    """A core on [0, tau], a side cloud near 2 or 3 tau, and one point that moves anywhere: (trials, C, d) twice."""
    core = rng.uniform(0.6, 0.97, size=(trials, 1))
    inside = np.arange(count) < np.round(core * count)
    ends = np.where(rng.random((trials, count)) < 0.5, rng.random((trials, count)), rng.integers(0, 2, (trials, count)))
    place = rng.choice([1.5, 2.0, 2.3, 2.7, 3.0], size=(trials, 1)) * TAU + 0.05 * rng.standard_normal((trials, count))
    points = np.zeros((trials, count, d))
    points[..., 0] = np.where(inside, ends * TAU, place)
    points[..., 1:] = 0.1 * TAU * rng.standard_normal((trials, count, d - 1)) * rng.integers(0, 2, (trials, 1, 1))
    moved = points.copy()
    at = np.where(rng.random(trials) < 0.5, 0, rng.integers(0, count, trials))
    targets = rng.choice([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 50.0], size=(trials, 1)) + 0.2 * rng.standard_normal(
        (trials, d)
    )
    moved[np.arange(trials), at] = targets * TAU
    return points, moved


def coupled(points: Array, moved: Array, uniforms: Array, *, score: float, reach: float, least: float) -> Moves:
    """Both sides with the same uniforms; trials whose scores (at radius `score`) stay below `least` C are left out."""
    kept, scores = [], []
    for cloud in (points, moved):
        near, counts = neighbour_counts(cloud, (score, reach))
        scores.append(near.mean(axis=1))
        kept.append(uniforms < inclusion(counts))
    count = points.shape[1]
    some = (np.minimum(*scores) >= least * count) & (kept[0].sum(axis=1) > 0) & (kept[1].sum(axis=1) > 0)
    one, two = kept[0][some], kept[1][some]
    means = [(side[..., None] * cloud[some]).sum(axis=1) / side.sum(axis=1)[:, None] for side, cloud in
             ((one, points), (two, moved))]  # fmt: skip
    changed = (points[some] != moved[some]).any(axis=-1)
    return Moves(
        distance=np.linalg.norm(means[0] - means[1], axis=-1),
        others=((one != two) & ~changed).sum(axis=1),
        sides=((one & ~(two & ~changed)).sum(axis=1), (two & ~(one & ~changed)).sum(axis=1)),
        kept=(one.sum(axis=1), two.sum(axis=1)),
    )


def joint_convexity() -> Verdict:
    """Whether (ε', δq) is spent where a share q of the runs differs, each by an (ε, δ)-private step.

    a, b and c are the densities of the runs without the changed record and of those with it, before and after. By the
    identity P − e^{ε'}Q is q times b − e^ε((1 − β)a + βc), and b is (ε, δ)-close to a and to c: of no event it is more
    than q((1 − β)δ + βδ).
    """
    without, before, after, y, z = positive("a b c y z")
    sharp, printed = (explicit_of(f"user_level/lem-a8{reading}") for reading in ("@derived", ""))
    places = {s.name: s for s in sharp.free_symbols}
    at = {places["epsilon"]: sp.log(1 + y), places["K"]: 1, places["N"]: 1 + z}
    q, spent = 1 / (1 + z), sp.exp(sharp.subs(at))
    beta = spent / (1 + y)
    apart = (1 - q) * without + q * before - spent * ((1 - q) * without + q * after)
    return proved(
        {
            "P - e^eps' Q": sp.expand(apart - q * (before - (1 + y) * ((1 - beta) * without + beta * after))),
            "the printed form is the argument of the sharp one": sp.exp(sharp) - 1 - printed,
        },
        {"beta <= 1": sp.factor(1 - beta), "log(1 + z) <= z, an equality at 0": sp.factor(sp.diff(z - sp.log(1 + z)))},
    )


def place_by_place() -> Verdict:
    """Whether changes of M drawn places, one by one, each (log(1 + (e^ε − 1)/N), δ/N), spend what is stated.

    The δ of M of them is a sum of M terms, none above e^{Mε_1}δ/N.
    """
    said, sharp = (explicit_of(f"user_level/lem-a8{reading}") for reading in ("@corrected", "@derived"))
    at, t = {s.name: s for s in said.free_symbols}, positive("t")[0]
    most = at["K"] * sp.exp(at["K"] * sharp.subs(at["K"], 1)) * at["delta"] / at["N"]
    slack = sp.expand_log(sp.log(said / most), force=True).subs(at["epsilon"], sp.log(1 + at["N"] * t))
    steps = proved({"slack at ε = 0": slack.subs(t, 0)}, {"which grows": sp.factor(sp.diff(slack, t))})
    return combine([steps, joint_convexity()])
