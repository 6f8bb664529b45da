"""Where clipped descent leads, and how soon that is found: limits beside long runs of the steps, on several data sets
at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dpcheck.algorithms.tsybakov import LocalisedClipped
from dpcheck.algorithms.tsybakov.clipped import (
    Restricted,
    between_ends,
    clipped_descent,
    clipped_gradient,
    dykstra,
    limit_point,
    regularised_minimiser,
)
from dpcheck.algorithms.tsybakov.settling import Settling
from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.geometry.norms import clip_norm
from dpcheck.harness.plans import wrongly_answered
from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.workloads.regularised import RegularisedPopulation
from dpcheck.workloads.sheared import Sheared
from dpcheck.workloads.tilted_power import SparseTilt

from .cases import told
from .lines import nearest

TRIALS = 6
LOSSES = {
    "quadratic line": SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=2.0, reach=8.0),
    "quartic line": SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=4.0, reach=2.0),
    "plane": SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=2.0, reach=8.0),
}


@dataclass
class Patient:
    """Losses that answer so many times, and whose constants in other norms than l_2 are far off.

    Attributes:
        most: points at which gradients are given; beyond, asking is in vain.
    """

    work: Any
    most: float = math.inf
    asked: int = field(default=0, init=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.work, name)

    @property
    def constants(self) -> Constants:
        c = self.work.constants
        return replace(
            c,
            smoothness=lambda q: c.smoothness(2.0) * (1.0 if q == 2 else 1e3),
            diameter=lambda q: c.diameter(2.0) * (1.0 if q == 2 else 1e-3),
        )

    def gradient(self, w: Array, z: Array) -> Array:
        self.asked += 1
        if self.asked > self.most:
            raise InvalidInput(f"more than {self.most:g} points were asked for")
        return np.asarray(self.work.gradient(w, z))


class Limit(NamedTuple):
    """A limit that was found beside the end of a long run, (trials, d), and how far apart they may be."""

    what: str
    found: Array
    end: Array
    gap: float


def drawn(work: Any, rng: Rng, level: float) -> tuple[Sample, Array]:
    """Data sets of seven records, some far out, in the last two all to one side; and starts of which no two agree."""
    d, r = work.constants.d, work.constants.diameter(2.0) / 2
    rows = rng.standard_normal((TRIALS, 7, d)) * np.where(rng.random((TRIALS, 7, 1)) < 0.3, 40.0, 1.0)
    rows[-2:] = 100 * level * np.array([1.0, -1.0])[:, None, None] + rng.standard_normal((2, 7, d))
    start = rng.uniform(-0.5, 0.5, (TRIALS, d)) * r
    start[:2] = r / math.sqrt(d) * np.array([[1.0], [-1.0]])
    return Sample(rows, rng.integers(1, 4, (TRIALS, 7)).astype(float)), start


def limits(loss: str, rng: Rng) -> Iterator[Limit]:
    """Limits at rough and fine gaps, clipped and not, on the domain and on balls.

    So many points are asked for as a contraction needs, or a bracket that is halved at every third of them; where
    nothing is clipped and the losses are quadratic, a secant and the probe beside it close the bracket.
    """
    work = LOSSES[loss]
    H, width, d = work.constants.smoothness(2.0), work.constants.diameter(2.0), work.constants.d
    for level, weight, ball in itertools.product((1.0, 1e3), (0.2, 1.5), (None, 0.4)):
        sample, start = drawn(work, rng, level)
        project = work.project if ball is None else Restricted(work, start, ball).project
        eta = 1 / (H + weight)
        steps = math.ceil(math.log(1e14) / -math.log1p(-eta * weight))
        fields: dict[str, Any] = {"level": level, "weight": weight, "project": project}
        end = clipped_descent(work, sample, start, steps=steps, eta=eta, **fields)
        for gap in (0.03, 1e-6, 0.0) if d == 1 else (0.03, 1e-6, 1e-10):
            if d > 1:
                most = 2 + math.log(width / (gap * eta * weight)) / -math.log1p(-eta * weight)
            elif level > 1 and loss == "quadratic line":
                most = 5
            else:
                most = 2 + 3 * math.log2(width / max(gap, 1e-16))
            losses: Any = Patient(work, most)
            found = limit_point(losses, sample, start, gap=gap, **fields)
            yield Limit(f"level {level:g}, weight {weight:g}, gap {gap:g}", found, end, gap + 1e-9)
        if d > 1 and level > 1 and ball is None:
            end = clipped_descent(work, sample, start, steps=steps, eta=eta, level=1e9, weight=weight)
            losses = Patient(work, most)
            found = regularised_minimiser(losses, sample, start, weight, gap=gap)
            yield Limit(f"the minimiser of weight {weight:g}", found, end, gap + 1e-9)


def ends_off(loss: str, rng: Rng) -> tuple[float, str]:
    """The largest distance of a limit from the end of a long run, over what is allowed, and where that is."""
    worst, where = 0.0, ""
    for one in limits(loss, rng):
        off = float(np.linalg.norm(one.found - one.end, axis=1).max()) / one.gap
        worst, where = max((worst, where), (off, one.what))
    return worst, where


def wrong_shapes(rng: Rng) -> list[str]:
    """Runs of several data sets from one start that are not those from as many, or of no step that are not starts."""
    wrong: list[str] = []
    for loss, work in LOSSES.items():
        sample, _ = drawn(work, rng, 1.0)
        alone, all_alike = np.full((1, work.constants.d), 0.1), np.full((TRIALS, work.constants.d), 0.1)
        settings: dict[str, Any] = {"level": 1.0, "weight": 0.5}
        runs: dict[str, Callable[[Array], Array]] = {
            "no step": partial(clipped_descent, work, sample, steps=0, eta=0.1, **settings),  # type: ignore[dict-item]
            "three steps": partial(clipped_descent, work, sample, steps=3, eta=0.1, **settings),  # type: ignore[dict-item]
            "a limit": partial(limit_point, work, sample, gap=1e-9, **settings),  # type: ignore[dict-item]
        }
        for what, run in runs.items():
            one, many = run(alone), run(all_alike)
            wrong += [] if one.shape == many.shape and np.allclose(one, many, rtol=1e-9) else [f"{what} on the {loss}"]
            wrong += [f"{what} moves on the {loss}"] if what == "no step" and not (one == alone).all() else []
    return wrong


def wrong_sums(rng: Rng) -> list[str]:
    """Clipped means that are added without a gradient for each record, on balls as well, and those of the records."""
    x, y = rng.standard_normal((30, 3)), rng.choice([0.0, 1.0], 30)
    work = RegularisedPopulation(x, y, "logistic", 0.1)
    sample, w = work.draw(rng, 4, 50), 0.3 * rng.standard_normal((4, 3))
    wanted = sample.mean(clip_norm(work.gradient(w[:, None], sample.values), 0.4))
    found = (clipped_gradient(each, sample, w, 0.4) for each in (work, Restricted(work, w, 0.5)))
    return [f"clipped means {each[0]} for {wanted[0]}" for each in found if not np.allclose(each, wanted, rtol=1e-9)]


def phases_off(rng: Rng) -> float:
    """How far a phase of Algorithm 3 that is taken to its limit ends from its steps, over a thousandth of what it
    claims to move and what its steps leave.
    """
    walked = LocalisedClipped(**{**LocalisedClipped.readings["corrected"], "lipschitz": "ignored"})
    work, worst = LOSSES["quartic line"], 0.0
    for phase in walked.phases(told(work), 16)[:3]:
        sample, start = drawn(work, rng, phase.level)
        end, led = (
            each.descend(phase, work, sample, start, work.project, None)
            for each in (walked, replace(walked, solver="limit"))
        )
        left = (phase.eta * phase.weight / 4) ** 2 * phase.radius
        allowed = 1e-3 * phase.sensitivity / 2 + left
        worst = max(worst, float(np.abs(end - led).max()) / allowed)
    return worst


def wrong_projections() -> list[str]:
    """Points that Dykstra's method finds for two discs of any size, by symmetry, and where it gives up."""
    wrong = []
    for size in (1e-9, 1.0, 1e9):
        one, other = (Ball(2, size, [x * size, 0.0]) for x in (-0.6, 0.6))
        far = np.array([[0.0, 5.0], [0.0, 0.1], [-9.0, 0.0], [0.0, 0.0]]) * size
        corner, side = (0.0, 0.8), (-0.4, 0.0)  # where the circles meet, and the rim of the other disc
        try:
            found = np.concatenate([dykstra(one.project, other.project, w[None], limit=1000) for w in far]) / size
        except InvalidInput as error:
            wrong.append(f"discs of radius {size:g}: {error}")
            continue
        off = float(np.abs(found - [corner, (0.0, 0.1), side, (0.0, 0.0)]).max())
        wrong += [f"discs of radius {size:g}: {off:.3g} away"] if off > 1e-6 else []
    if wrong:
        return wrong  # what does not settle here is waited for below
    rng = np.random.default_rng(0)
    for d, work in ((1, LOSSES["quartic line"]), (2, LOSSES["plane"])):
        reach, points = work.constants.diameter(2.0) / 2, rng.standard_normal((40, d)) * 3
        centres, radius = work.project(rng.standard_normal((40, d)) * 2), 0.6 * reach
        points[:10] = 1.2 * reach * np.eye(d)[0]  # outside of the domain, and inside of a ball around its rim
        centres[:10] = 0.9 * reach * np.eye(d)[0]
        wanted = nearest(points, ((np.zeros((1, d)), reach), (centres, radius)))
        for losses, allowed in ((work, 1e-12), (Patient(work), 1e-8)):
            off = float(np.abs(Restricted(losses, centres, radius).project(points) - wanted).max())  # type: ignore[arg-type]
            wrong += [] if off <= allowed * reach else [f"{off:.3g} away from the nearest point in {d} dimensions"]
    line = np.linspace(-9.0, 9.0, 7)[:, None]
    for what, onto in {
        "an interval": lambda w: np.clip(w, -1.0, 2.0),
        "a half-line": lambda w: np.maximum(w, -1.0),
        "another half-line": lambda w: np.minimum(w, 1.0),
    }.items():
        if not np.array_equal(between_ends(onto, np.zeros((1, 1)), 3.0)(line), onto(line)):
            wrong.append(f"points that are not those nearest on {what}")
    apart = [Ball(2, 1.0, [x, 0.0]).project for x in (-2.0, 2.0)]
    return wrong + wrongly_answered([("two discs apart", lambda: dykstra(*apart, np.zeros((1, 2)), limit=50), False)])


def wrong_walks(rng: Rng) -> list[str]:
    """Short phases of `Settling` are its own steps, on one data set and on two; long ones, on balls as well, end where
    they come to rest.
    """
    wrong = []
    work = Sheared(0.25, 3.0)
    make = Settling(eta=0.1, lipschitz="ignored")
    rows = np.concatenate([np.ones((2, 6, 1)), rng.choice([-1.0, 1.0], (2, 6, 1)), rng.normal(0, 2, (2, 6, 2))], axis=2)
    rows[:, 1] = rows[:, 0]
    for sets in (1, 2):
        sample, start = Sample(rows[:sets], np.array([[1.0, 2.0, 1.0, 1.0, 3.0, 1.0]])), np.array([[0.5, -0.3]])
        phase = replace(make.phases(told(work), 16)[1], steps=7, eta=0.2, level=1.0, weight=0.1)
        ends = make.descend(phase, work, sample, start, work.project, None)
        wanted = clipped_descent(work, sample, start, steps=7, eta=0.2, level=1.0, weight=0.1, project=work.project)
        wrong += [] if np.allclose(ends, wanted, rtol=1e-12) else [f"seven steps on {sets} data sets end elsewhere"]
    long = replace(phase, steps=20_000, radius=50.0)
    first = Sample(rows[:1], np.ones((1, 6)))
    walk = clipped_descent(work, first, start, steps=2000, eta=0.2, level=1.0, weight=0.1)
    for domain in (work, Restricted(work, start, 50.0)):
        end = make.descend(long, domain, first, start, domain.project, None)
        wrong += (
            [] if np.allclose(end, walk, atol=1e-6) else [f"a long phase on {type(domain).__name__} ends elsewhere"]
        )
    return wrong
