"""The printed lines, replayed: from the coins and releases of a run, what every other core and the answer must be."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.algorithms.user_level.minibatch import Batches
from dpcheck.algorithms.user_level.sampled import TestedMean
from dpcheck.checks import Context
from dpcheck.engine.executed import as_stated
from dpcheck.engine.settings import Stated
from dpcheck.engine.statements import stated
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Algorithm, Array, Problem, Rng
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Verdict, differs, undecided

from .cases import stated_each

PASS = 0.8
"""4C/5 and 4K/5: the score that passes."""


KEPT = ("halts", "projections", "outliers removed for certain", "points removed by a coin")
EMPTY = "empty sets"
MINIBATCHES = "minibatches"
WEIGHTED = "points of a weight below one"
"""Devices of `Tape.met`."""


class OtherLine(Exception):
    """A run tossed or released something else than the printed line does."""


class Tape:
    """What a run tossed and released, in order, and what the lines say that it should have released.

    Attributes:
        live: (trials,) those that have not halted.
        met: how often each device of the lines acted.
        uniform: coins by what they decide, and the middles of how many places they are (0: no places), turned into
            numbers that are uniform on [0, 1] under the printed law.
    """

    def __init__(self, run: Run[Any]) -> None:
        self._run = run
        self._coins, self._entries = list(run.transcript.coins), list(run.transcript.entries)
        self._pairs: list[tuple[Array, Array]] = []
        self.live = np.ones(run.trials, dtype=bool)
        self.met: Counter[str] = Counter()
        self.uniform: dict[tuple[str, int], list[Array]] = {}

    def coin(self) -> Any:
        if not self._coins:
            raise OtherLine("the lines toss more coins than the run")
        return self._coins.pop(0)

    def law(self, name: str, values: Array, places: int = 0) -> None:
        """Notes independent coins, turned into uniform numbers, or into one of so many places."""
        self.uniform.setdefault((name, places), []).append(
            np.ravel(values + 0.5) / places if places else np.ravel(values)
        )

    def laplace(self, scale: float) -> Array:
        """A coin for each trial, of the Laplace law."""
        coin = np.asarray(self.coin())
        self.law("noise of a threshold", 0.5 + np.sign(coin) * -np.expm1(-np.abs(coin) / scale) / 2)
        return coin

    def order(self, sequences: tuple[int, ...], size: int) -> Array:
        """A permutation of so many things for each sequence."""
        order = np.asarray(self.coin())
        if order.shape != (*sequences, size) or (np.sort(order, axis=-1) != np.arange(size)).any():
            raise OtherLine(f"no permutation of {size} for each of {sequences}: {order.shape}")
        self.law(f"first of {size}", order[..., 0], size)
        return order

    def in_a_ball(self, shape: tuple[int, ...], radius: float) -> Array:
        """Points of their own, uniform on a ball of the plane."""
        shifts = np.asarray(self.coin())
        if shifts.shape != shape:
            raise OtherLine(f"shifts of the shape {shifts.shape}, where {shape} are drawn")
        self.law("lengths of shifts", (np.linalg.norm(shifts, axis=-1) / radius) ** shape[-1])
        self.law("directions of shifts", 0.5 + np.arctan2(shifts[..., 0], shifts[..., 1]) / (2 * math.pi))
        return shifts

    def released(self, name: str, core: Array, noise: float, moved: float) -> Array:
        """What came out; `core` is what the line releases, under a law of this scale, and `moved` what a user moves."""
        if not self._entries or self._entries[0].name != name:
            raise OtherLine(
                f"the lines release {name!r}, the run {self._entries[0].name if self._entries else 'nothing'!r}"
            )
        entry, release = self._entries.pop(0), self._run.find(name)
        law, told = release.law, release.reads[0].sensitivity
        if not math.isclose(told, moved, rel_tol=1e-12):
            raise OtherLine(f"a user is said to move {name!r} by {told:.6g}, and moves it by {moved:.6g}")
        if not math.isclose(law.noise, noise, rel_tol=1e-12):
            raise OtherLine(f"the noise of {name!r} has the scale {law.noise:.6g}, the line's {noise:.6g}")
        if entry.core.shape != core.shape:
            raise OtherLine(f"the core of {name!r} has the shape {entry.core.shape}, the line's {core.shape}")
        self._pairs.append((entry.core[self.live], core[self.live]))
        return entry.output

    def queried(self, name: str, noise: float) -> None:
        """The noise on the score, of a release that holds a bit and a mean."""
        law = self._run.find(name).law
        if not isinstance(law, TestedMean) or not math.isclose(law.test.query, noise, rel_tol=1e-12):
            raise OtherLine(f"the score of {name!r} has not the noise of the line, {noise:.6g}: {law}")

    def passes(self, where: Array) -> None:
        """Trials that fail halt here."""
        self.met["halts"] += int((self.live & ~where).sum())
        self.live = self.live & where

    def projected(self, work: Any, point: Array) -> Array:
        values = np.asarray(work.project(point))
        self.met["projections"] += int((np.abs(values - point).max(axis=-1) > 1e-9).sum())
        return values

    def kept_mean(self, points: Array, near: Array, fallback: Array) -> Array:
        """Each point with the printed probability of its h_j, by a coin of its own: (trials, C, d) -> (trials, d)."""
        chance = stated_each("user_level/proc-outlier-removal", h=near.sum(axis=2), C=points.shape[1])
        coins = np.asarray(self.coin())
        if coins.shape != chance.shape:
            raise OtherLine(f"coins of the shape {coins.shape} for points of the shape {chance.shape}")
        self.law("coins of the points", coins)
        keep = coins < chance
        self.met["outliers removed for certain"] += int((chance[self.live] == 0).sum())
        self.met["points removed by a coin"] += int((~keep & (chance > 0))[self.live].sum())
        self.met[EMPTY] += int((~keep.any(axis=1))[self.live].sum())
        return np.stack([p[k].mean(axis=0) if k.any() else f for p, k, f in zip(points, keep, fallback, strict=True)])

    def judged(self, values: Array, answer: Array, devices: tuple[str, ...], failure_probability: float) -> Verdict:
        """Every core of a live trial and every answer against the lines, on a run in which all these devices acted, and
        the coins against their laws."""
        idle = [name for name in devices if not self.met[name]]
        if idle or self._coins or self._entries:
            left = f"{len(self._coins)} coins and {len(self._entries)} releases more than the lines have"
            return undecided(f"no {', no '.join(idle)} in this run", "exact") if idle else differs(left, "exact")
        pairs = [*self._pairs, (values, answer)]
        left, right = (np.concatenate([np.ravel(pair[side]) for pair in pairs]) for side in (0, 1))
        if not np.isfinite(left - right).all():
            return differs("a core or an answer of a live trial is not a number", "exact")
        off = (left - right) / (1 + np.abs(right))
        same = agree(1 + off, np.ones(len(off)), "every core and the answer over the line's", tolerance=1e-9)
        return self._strange(failure_probability) or same

    def _strange(self, failure_probability: float) -> Verdict | None:
        """What is wrong with a law of coins, by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart."""
        for (name, places), parts in self.uniform.items():
            values = np.sort(np.concatenate(parts))
            if not places and (equal := int((np.diff(values) == 0).sum())) > len(values) / 100:
                return differs(f"{name}: {equal} of {len(values)} coins are no coins of their own", "exact")
            steps = np.arange(len(values) + 1) / len(values)
            off = max(float((steps[1:] - values).max()), float((values - steps[:-1]).max()))
            allowed = math.sqrt(math.log(2 * len(self.uniform) / failure_probability) / (2 * len(values)))
            allowed += 0.5 / places if places else 0.0
            if off > allowed:
                said = (
                    f"{name}: {len(values)} coins are {off:.3g} off their law in distribution, {allowed:.3g} is allowed"
                )
                return differs(said, "sampled", failure_probability=failure_probability)
        return None


Lines = Callable[[Tape, Any, Any, Array, Array], Array]
"""(tape, workload, schedule, data, start) -> the answer of the lines."""


def replayed(
    context: Context, algorithm: Algorithm[Any], work: Any, told: Problem, values: Array, lines: Lines,
    devices: tuple[str, ...] = (), settings: Stated | None = None, **names: Any,
) -> Verdict:  # fmt: skip
    """Runs an algorithm on data (trials, n, *record), from a start that is not the centre, and replays it.

    At the numbers that the claims of `settings` state; `names` as of `as_stated`.
    """
    trials, n = values.shape[:2]
    start = work.project(np.broadcast_to(0.3 / np.arange(1, told.constants.d + 1), (1, told.constants.d)))
    plan = algorithm.schedule(told, n)
    run: Run[Any] = Run(plan, trials, context.rng("run"))
    entries = np.asarray(algorithm.execute(run, work, Fixed(values), start))
    if settings and "phases" in settings:
        phases = len({entry.name.partition("/")[0] for entry in run.transcript.entries})
        wanted = len(as_stated(algorithm, told, n, {"phases": settings["phases"]}).phases)
        if phases != wanted:
            return differs(f"{phases} phases released something, {settings['phases']} says {wanted}", "counted")
    tape = Tape(run)
    try:
        stated = as_stated(algorithm, told, n, settings, **names) if settings else plan
        answer = lines(tape, work, stated, values, np.broadcast_to(start, (trials, start.shape[1])))
    except OtherLine as error:
        return differs(str(error), "exact")
    if entries.shape != answer.shape:
        return differs(f"the answer has the shape {entries.shape}, that of the lines {answer.shape}", "exact")
    return tape.judged(entries, answer, devices, context.failure_probability)


def three_kinds(rng: Rng, trials: int, n: int, m: int, middle: float) -> Array:
    """Users near 1/10, some who see a part of them, and some far away, more of these from trial to trial.

    (trials, n, m, 2); in the last quarter of the trials there are two halves, so that nothing is sure to be kept.
    """
    own, other = rng.standard_normal((2, trials, n, m, 2))
    share = np.linspace(0, 0.2, trials)
    share[-trials // 4 :] = 1.0
    kind = rng.random((trials, n))
    shift = np.where(kind < share[:, None] / 2, middle, 0.0) + np.where(kind > 1 - share[:, None] / 2, 3.0, 0.0)
    return 0.1 + 0.1 * (own[:, :, :1] + other) + shift[:, :, None, None] * np.array([1.0, -0.5])


def distances(points: Array) -> Array:
    """Of all ordered pairs: (trials, C, d) -> (trials, C, C)."""
    return np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)


def taken(values: Array, order: Array) -> Array:
    """Rows by their numbers, of each leading index apart."""
    return np.take_along_axis(values, order.reshape(*order.shape, *[1] * (values.ndim - order.ndim)), order.ndim - 1)


def passed(users: Array, groups: int, steps: int) -> Array:
    """The first samples of each group of users, one a step: (trials, users, m, d) -> (trials, groups, steps, d)."""
    if groups < 1 or users.shape[1] % groups:
        raise OtherLine(f"{users.shape[1]} users are not {groups} groups of as many each")
    samples = users.reshape(len(users), groups, -1, users.shape[-1])
    if not 1 <= steps <= samples.shape[2]:
        raise OtherLine(f"{steps} steps, where a group has {samples.shape[2]} samples")
    return samples[:, :, :steps]


def averaged_sgd(tape: Tape, work: Any, samples: Array, eta: float, start: Array) -> Array:
    """x_0 + ... + x_{T-1} over T, of C sequences: (trials, C, T, d) -> (trials, C, d)."""
    iterates = [np.broadcast_to(start[:, None], samples[:, :, 0].shape)]
    for t in range(samples.shape[2] - 1):
        iterates.append(tape.projected(work, iterates[-1] - eta * work.gradient(iterates[-1], samples[:, :, t])))
    return np.mean(iterates, axis=0)


def algorithm_1(shuffled: bool, projects: bool) -> Lines:
    """Split users, run SGD in groups, test the score, keep the mean of those near most others."""

    def lines(tape: Tape, work: Any, plan: Any, values: Array, start: Array) -> Array:
        x = start
        for row in plan.phases:
            users = values[:, row.start : row.start + row.groups * row.members]
            users = taken(users, tape.order((len(users),), users.shape[1])) if shuffled else users
            samples = passed(users, row.groups, row.steps)
            samples = taken(samples, tape.order(samples.shape[:2], row.steps)) if shuffled else samples
            points = averaged_sgd(tape, work.each, samples, row.eta, x)
            apart = distances(points)
            score = (apart <= row.tau).sum(axis=(1, 2))[:, None] / row.groups
            moved = stated("user_level/proc-concentration-score@derived", r=1, K=row.groups)
            noisy = tape.released(f"phase {row.i}/score", score, row.test, moved)
            tape.passes(noisy[:, 0] >= PASS * row.groups)
            mean = tape.kept_mean(points, apart <= 2 * row.tau, x)
            point = tape.released(f"phase {row.i}/mean", mean, row.sigma, row.moves)
            x = np.where(tape.live[:, None], tape.projected(work, point) if projects else point, x)
        return np.where(tape.live[:, None], x, start)

    return lines


def algorithm_2(tape: Tape, work: Any, row: Batches, name: str, values: Array, centre: Array) -> Array:
    """AC-SA as Ghadimi and Lan print it, on private gradients of users near most others: the last x of the stages."""
    x, mu = centre, row.weight
    if min(row.steps, row.batch, row.users) < 1:
        raise OtherLine(f"{name}{row.steps} steps on {row.batch} of {row.users} users")
    coin = tape.laplace(row.test) if row.threshold == "once" else 0.0
    if (planned := sum(stage.steps for stage in row.stages()[0])) != row.steps:
        raise OtherLine(f"the stages have {planned} steps, the line has {row.steps}")
    for stage in row.stages()[0]:
        w = x
        for t in range(1, stage.steps + 1):
            a, gamma = 2 / (t + 1), 4 * stage.upsilon / (t * (t + 1))
            weights = (1 - a) * (mu + gamma), a * ((1 - a) * mu + gamma)
            middle = (weights[0] * x + weights[1] * w) / (gamma + (1 - a**2) * mu)
            coin = tape.laplace(row.test) if row.threshold == "inside" else coin
            g = _private_gradient(tape, work, row, name, values, middle, coin)
            slope = np.where(tape.live[:, None], g, 0.0) + mu * (middle - centre)
            # argmin a (<slope, w> + mu/2 |w - middle|^2) + ((1 - a) mu + gamma)/2 |w - w_{t-1}|^2 over the domain
            step = (a * mu * middle + ((1 - a) * mu + gamma) * w - a * slope) / (mu + gamma)
            w = tape.projected(work, step)
            x = a * w + (1 - a) * x
    return np.asarray(x)


def _private_gradient(tape: Tape, work: Any, row: Batches, name: str, values: Array, middle: Array, coin: Any) -> Array:
    users = values
    if not row.whole:
        chosen = tape.coin()
        if not np.issubdtype(np.asarray(chosen).dtype, np.integer):
            raise OtherLine("a step tosses another coin where it has to draw a minibatch")
        if chosen.shape != (len(values), row.batch):
            raise OtherLine(f"minibatches of the shape {chosen.shape}, where {row.batch} users are drawn")
        if row.sampling == "without-replacement" and (np.diff(np.sort(chosen, axis=1)) == 0).any():
            raise OtherLine("a minibatch of distinct users holds one of them twice")
        tape.law(f"first of {row.users}", chosen[:, 0], row.users)
        users = taken(values, chosen)
        tape.met[MINIBATCHES] += 1
    points = np.broadcast_to(middle[:, None, None], users.shape)
    if row.shift:
        shifts = tape.in_a_ball((*users.shape[:3], middle.shape[1]), row.shift)
        points = points + shifts
    gradients = np.mean([work.each.gradient(points[:, :, j], users[:, :, j]) for j in range(users.shape[2])], axis=0)
    near = distances(gradients) <= 2 * row.tau
    score = near.sum(axis=(1, 2))[:, None] / row.batch
    if row.amplified == "steps":
        return _tested_mean(tape, row, name, gradients, near, score - PASS * row.batch - coin)
    moved = stated("user_level/proc-concentration-score")
    bit = tape.released(f"{name}bit", score - PASS * row.batch - coin, 2 * row.test, moved)
    tape.passes(bit[:, 0] == 1)
    mean = tape.kept_mean(gradients, near, np.zeros_like(middle))
    return tape.released(f"{name}gradient", mean, row.sigma, row.moves)


def _tested_mean(tape: Tape, row: Batches, name: str, gradients: Array, near: Array, margin: Array) -> Array:
    """The margin, in the units that the law has, and the mean with the keeping probabilities as weights."""
    weight = stated_each("user_level/proc-outlier-removal", h=near.sum(axis=2), C=row.batch)[..., None]
    mean = (weight * gradients).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-300)
    tape.met["outliers removed for certain"] += int((weight[tape.live] == 0).sum())
    tape.met[WEIGHTED] += int(((weight > 0) & (weight < 1))[tape.live].sum())
    tape.queried(f"{name}step", 2 * row.test)
    moved = math.hypot(row.moves, row.unit * stated("user_level/proc-concentration-score"))
    out = tape.released(f"{name}step", np.concatenate([row.unit * margin, mean], axis=1), row.sigma, moved)
    tape.passes(out[:, 0] == 1)
    return out[:, 1:]


def one_phase(tape: Tape, work: Any, plan: Any, values: Array, start: Array) -> Array:
    """Algorithm 2 by itself."""
    entries = algorithm_2(tape, work, plan.phases[0], "", values, start)
    return np.where(tape.live[:, None], entries, start)


def algorithm_3(tape: Tape, work: Any, plan: Any, values: Array, start: Array, prefix: str = "") -> Array:
    """Algorithm 2 on fresh users, regularised around the point before."""
    x = start
    for row in plan.phases:
        x = algorithm_2(tape, work, row, f"{prefix}phase {row.i}/", values[:, row.start : row.start + row.users], x)
    return np.where(tape.live[:, None], x, start)


def restarts(tape: Tape, work: Any, plan: Any, values: Array, start: Array) -> Array:
    """Algorithm 3 round after round; a halted trial stays where its round began."""
    x = start
    for each in plan.phases:
        users = values[:, each.start : each.start + each.users]
        x = algorithm_3(tape, work, each.inner, users, x, f"round {each.i}/")
    return x


def group_privacy(tape: Tape, work: Any, plan: Any, values: Array, start: Array) -> Array:
    """Passes of SGD, sample by sample, and the projected noisy average of each."""
    x = start
    for row in plan.phases:
        samples = passed(values[:, row.start : row.start + row.users], 1, row.steps)
        mean = averaged_sgd(tape, work.each, samples, row.eta, x)[:, 0]
        x = tape.projected(work, tape.released(f"phase {row.i}/point", mean, row.sigma, row.moves))
    return x


BESIDE = {
    "i": "the number of the phase",
    "start": "where its users begin",
    "moves": "the certified movement, held against brute force under lem-b2 and lem-c2",
    "failure": "the chance that this certificate fails",
}
"""What a schedule fixes and the paper does not set."""


NAMES = {"users": "N", "batch": "K", "steps": "T", "weight": "lambda", "shift": "r"}
"""Field of a phase of Algorithms 2 and 3 -> its letter."""


STAGES = {
    "gap": "user_level/proc-multistage-ac-sa@gap",
    "variance": "user_level/proc-multistage-ac-sa@variance",
    "smooth": "user_level/proc-multistage-ac-sa@smoothness",
}
"""What multi-stage AC-SA is told in each phase."""


ALG_3 = {
    "phases": "user_level/alg-3@phases",
    "users": "user_level/alg-3@users",
    "weight": "user_level/alg-3@weight",
    "steps": "user_level/alg-3@steps",
    "tau": "user_level/alg-3@corrected-tau",
    "batch": "user_level/alg-3@corrected-minibatches",
    "sigma": "user_level/alg-2",
    "test": "user_level/alg-2@test",
    **STAGES,
    "gradients": "user_level/alg-3@gradients",
}
