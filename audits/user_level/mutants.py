"""Mutants of the user-level algorithms: noise, thresholds, sampling, removal, phases, group size; one too noisy."""

import math
from dataclasses import replace
from unittest import mock

import numpy as np

from dpcheck.accounting import account
from dpcheck.algorithms.user_level import GroupPrivacy, MinibatchSGD, PhasedERM, PhasedSGD, ThresholdTest, phased
from dpcheck.algorithms.user_level.accelerated import ac_sa
from dpcheck.algorithms.user_level.concentration import concentration_score, neighbour_counts, outlier_removal
from dpcheck.algorithms.user_level.descent import sgd
from dpcheck.engine.statements import bound_of
from dpcheck.geometry import Ball
from dpcheck.harness import risk
from dpcheck.harness.replay import Case
from dpcheck.harness.runtime import CountingWorkload
from dpcheck.interfaces import Constants, Problem
from dpcheck.laws import AboveThreshold, Gaussian, Laplace
from dpcheck.mutants import Kill, Mutant
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.testing import kill_by_audit, kill_by_number
from dpcheck.verdicts import Outcome
from dpcheck.workloads import LinearMean, Users

M = 4
WIDE = Ball(1, 1e3)
LINEAR = Users(LinearMean(np.ones(1), np.zeros(1), WIDE, radius=1e3), M)


def problem(epsilon=1.0, delta=1e-6, work=LINEAR):
    return Problem.of(work, ApproxDP(epsilon, delta), samples_per_user=work.samples)


def plain(n_samples=10):
    constants = Constants(
        d=10, diameter=lambda p: 1.0, lipschitz=lambda p: 1.0, smoothness=lambda p: 1.0, moment=lambda k, m: 1.0
    )
    return Problem(constants=constants, privacy=ApproxDP(1.0, 1e-6), samples_per_user=n_samples)


# Algorithm 1 ----------------------------------------------------------------------------------------------------------


def score_of_a_pair(scale_of):
    """Exact epsilon of the released score for a moved point, two clusters at the worst split."""
    C = 100
    plan = PhasedSGD().schedule(plain(), 200_000)
    law = Laplace(scale_of(plan.phases[0].test))
    cloud = np.zeros((1, C, 1))
    moved = cloud.copy()
    moved[0, 0] = 9.0
    return law.pure(abs(float((concentration_score(cloud, 1.0) - concentration_score(moved, 1.0))[0])))


def counted_score(points, radius):
    """Each pair counted with multiplicity C in place of 1/C."""
    return concentration_score(points, radius) * points.shape[1]


def change_of_the_score(score):
    cloud = np.zeros((1, 50, 1))
    moved = cloud.copy()
    moved[0, 0] = 9.0
    return abs(float((score(cloud, 1.0) - score(moved, 1.0))[0]))


class HaltsWithTheScore(PhasedSGD):
    """Passes or halts by the score itself, which was not released."""

    def execute(self, run, workload, data, start):
        phase = run.schedule.phases[0]
        points = sgd(workload.each, self._split(run, data.part(0, phase.users), phase), phase.eta, start)
        near, _ = neighbour_counts(points, (phase.tau, 2 * phase.tau))
        run.halt(np.broadcast_to(near.mean(axis=1) < 0.8 * phase.groups, (run.trials,)))
        return super().execute(run, workload, data, start)


def leak(kind):
    """How far the returned point follows the data outside of the releases: two clusters on the edge of the test."""
    algorithm = kind(eta=0.1, p=1.0, q=1.0, groups=50, phases=1, c_radius=0.02, c_score=0.02, order="fixed")
    told = problem()
    schedule = algorithm.schedule(told, 200)
    phase = schedule.phases[0]
    side = 5
    data = np.zeros((1, 200, M, 1))
    data[0, :side] = 1.0
    other = data.copy()
    other[0, side] = 1.0
    assert phase.members == 1
    seen = Case(algorithm, LINEAR, told, schedule=schedule).replay(data, other, 4)
    return float(seen.leak.max())


def worst_sensitivity(remove):
    """Largest movement of the kept mean over the certified one in runs of Algorithm 1 that remove like this.

    All users alike, and one whose iterate goes as far as SGD can, more than 100 tau: removal must not let it in.
    """
    algorithm = PhasedSGD(eta=0.1, p=1.0, q=1.0, groups=300, phases=1, c_radius=1e-4, c_score=0.5, order="fixed")
    told = problem(1.0, 0.5)
    schedule = algorithm.schedule(told, 1200)
    data = np.zeros((1, schedule.phases[0].users, M, 1))
    other = data.copy()
    other[0, 0] = 1.0
    with mock.patch.object(phased, "outlier_removal", remove):
        seen = Case(algorithm, LINEAR, told, schedule=schedule).replay(data, other, 4)
    return float(seen.ratios()["phase 1/mean"].max())


def keep_all(points, counts, uniforms, fallback):
    return points.mean(axis=1)


QUIET = PhasedSGD(c_step=8.0, groups=8, q=1.0, p=1.5, phases=3, c_radius=8.0, c_noise=2.5e-4, c_score=0.02)
"""Dialled, not private: so little noise that its explicit bound says something."""
HARD = Users(LinearMean(np.full(3, 3**-0.5), np.full(3, 0.95 * 3**-0.5), Ball(3, 0.5), radius=0.5), 16)


def kill_by_risk(factor):
    """Mean excess risk with `factor` times the noise, against the explicit bound at the planned noise."""

    def kill(context):
        told, n, trials = problem(work=HARD), 2048, context.scale(150, 300)
        plan = QUIET.schedule(told, n).edit("phase */mean", law=lambda law: Gaussian(law.sigma * factor))
        values = risk.excess_risks(QUIET, HARD, told, n, trials, context.seed, "over-noising", factor, schedule=plan)
        found = risk.expectation(
            values,
            bound_of("user_level/thm-b1@summed", QUIET, told, n),
            context.failure_probability,
            limit=1.0,
            seed=context.seed,
        )
        killed = found.outcome is Outcome.REFUTED
        return Kill(killed=killed, by="risk check", samples=trials, claim="the recursion of Theorem B.1")

    return kill


class OnePool(PhasedSGD):
    """Every phase reads the users from the first on."""

    def _phases(self, problem, n):
        return tuple(replace(phase, start=0) for phase in super()._phases(problem, n))


def parallel_phases(kind):
    plan = kind().schedule(plain(), 200_000)
    return account(plan, 200_000).epsilon(1e-6)


# Algorithms 2 and 3 ---------------------------------------------------------------------------------------------------


def never_halts(threshold):
    """Exact log-ratio of 'never halts' for scores 2 apart at the threshold over 20 steps, printed noise."""
    law = AboveThreshold(threshold=8.0, query=16.0)
    chances = []
    for margin in (0.0, 2.0):
        margins = np.full((1, 20), margin)
        if threshold == "once":
            chances.append(float(law.halting(margins, halt_on=0)[0, -1]))
        else:
            chances.append((1 - float(law.halting(margins[:, :1], halt_on=0)[0, 0])) ** 20)
    return math.log(chances[1] / chances[0])


def twice_drawn(sampling):
    """Largest change of a bit's score over its claim when users are drawn as they are in this reading."""
    algorithm = MinibatchSGD(steps=20, K=30, tau_=0.05, c_users=0.1, c_noise=0.02, c_score=0.02, sampling=sampling)
    data = np.zeros((1, 30, M, 1))
    other = data.copy()
    other[0, 0] = 1.0
    seen = Case(algorithm, LINEAR, problem()).replay(data, other, 50, 3)
    return max(float(m.ratio.max()) for m in seen.movements if m.release.name == "bit")


def minibatch_epsilon(change):
    """Accounted epsilon of the gradients of one phase."""
    plan = MinibatchSGD().schedule(plain(), 20_000)
    plan = replace(plan, releases=(plan.releases[1],)).edit("gradient", law=change(plan.phases[0].steps))
    return account(plan, 20_000).epsilon(1e-6)


def as_planned(steps):
    return lambda law: law


def not_composed(steps):
    """sigma without its sqrt(T): calibrated for one step."""
    return lambda law: Gaussian(law.sigma / math.sqrt(steps))


def first_order_error(swap):
    """Error of AC-SA after 30 exact steps over 2 beta D^2/(T (T + 1)), with the right or a stale gradient."""
    eigen, T = np.geomspace(1e-2, 1.0, 30), 30
    seen = []

    def oracle(x):
        seen.append(x)
        return eigen * (seen[max(0, len(seen) - 8)] if swap else x)

    end = ac_sa(oracle, np.full((1, 30), 30**-0.5), mu=1e-12, steps=T, upsilon=1.0, project=lambda x: x)
    return float((eigen / 2 * end**2).sum()) / (2 / (T * (T + 1)))


# Algorithm 4 and the baseline -----------------------------------------------------------------------------------------


class ForgetsToHalt(ThresholdTest):
    """Goes on after the first answer above, with the same threshold."""

    def execute(self, run, workload, data, start):
        (row,) = run.schedule.phases
        totals = data.read().values.sum(axis=1)
        coin = run.coins(lambda rng: rng.laplace(scale=row.threshold, size=(run.trials, 1)))
        bits = [run.release("bit", totals[:, t : t + 1] - row.level - coin) for t in range(row.count)]
        return np.concatenate(bits, axis=1)


def transcript(algorithm):
    told = Problem.of(plain(), ApproxDP(0.4, 0.0))
    work = LINEAR

    def mechanism(data, rng, trials):
        run = Run(algorithm.schedule(told, data.shape[0]), trials, rng)
        bits = algorithm.execute(run, work, Fixed(data[None]), np.zeros((1, 1)))
        return np.nan_to_num(bits, nan=-1.0)

    return mechanism


def difference(bits):
    """More answers above in one half of the queries than in the other: the shared threshold cancels."""
    half = bits.shape[1] // 2
    return bits[:, :half].sum(axis=1) - bits[:, half:].sum(axis=1)


QUERIES = 400
STOPS = ThresholdTest(level=0.0, count=QUERIES)
LOW, HIGH = np.zeros((2, QUERIES)), np.zeros((2, QUERIES))
LOW[0, QUERIES // 2 :] = HIGH[0, : QUERIES // 2] = 1.0
"""One record: it raises the first half of the queries, or the second."""


def group_epsilon(factor):
    """Accounted epsilon when the noise is made for `factor` times the movement of a user."""
    plan = GroupPrivacy().schedule(plain(20), 1000)
    plan = plan.edit("phase */point", law=lambda law: Gaussian(law.sigma * factor))
    return account(plan, 1000).epsilon(1e-6)


class Twice(PhasedERM):
    """Computes every gradient twice."""

    def gradients(self, run, row, workload, point, users):
        super().gradients(run, row, workload, point, users)
        return super().gradients(run, row, workload, point, users)


def counted_over_planned(kind):
    """Gradients of single samples over those of the schedule."""
    each = CountingWorkload(LINEAR.each)
    users, told, algorithm = Users(each, M), problem(), kind(**PhasedERM.readings["dialled"])
    schedule = algorithm.schedule(told, 300)
    run = Run(schedule, 1, np.random.default_rng(0))
    algorithm.execute(run, users, Fixed(users.rows(np.random.default_rng(1), 1, 300)), np.zeros((1, 1)))
    return each.gradients / schedule.gradients


score_noise = Mutant(
    name="user-score-noise-inverted",
    about="user_level/alg-1",
    bug="noise Lap(eps/20) on the score where Lap(20/eps) is printed",
    kill=kill_by_number("exact law", "eps/10 for the score", lambda: score_of_a_pair(lambda b: 1 / b), 0.1),
)
not_averaged = Mutant(
    name="user-score-not-averaged",
    about="user_level/alg-1",
    bug="the score counts pairs without the division by C, so that a user moves it by 2(C - 1)",
    kill=kill_by_number("enumeration", "|s - s'| <= 2", lambda: change_of_the_score(counted_score), 2.0),
)
private_halt = Mutant(
    name="user-halts-with-the-score",
    about="user_level/alg-1",
    bug="halts by the score itself, and releases the noisy one for show",
    kill=kill_by_number("replay", "what is returned follows the releases", lambda: leak(HaltsWithTheScore), 0.0),
)
all_kept = Mutant(
    name="user-no-removal",
    about="user_level/alg-1",
    bug="averages all iterates, outliers included",
    kill=kill_by_number("replay", "kept mean within its certificate", lambda: worst_sensitivity(keep_all), 1.0),
)
one_pool = Mutant(
    name="user-phases-share-users",
    about="user_level/alg-1",
    bug="every phase reads the first users again, which spends the budget in every phase",
    kill=kill_by_number("accountant", "(1, 1e-6)-DP", lambda: parallel_phases(OnePool), 1.0),
)
too_noisy = Mutant(
    name="user-noise-times-thousand",
    about="user_level/alg-1",
    bug="a thousand times the planned noise: private, and useless",
    kill=kill_by_risk(1000.0),
)
redrawn = Mutant(
    name="user-threshold-redrawn",
    about="user_level/alg-2",
    bug="the noisy threshold is drawn in every step, where the line is printed",
    kill=kill_by_number("exact law", "eps/2 for all bits", lambda: never_halts("inside"), 0.5),
)
replacement = Mutant(
    name="user-drawn-twice",
    about="user_level/alg-2",
    bug="users are drawn with replacement, and a copy of a user moves the score again",
    kill=kill_by_number("replay", "a user moves a score by 2", lambda: twice_drawn("with-replacement"), 1.0),
)
composed = Mutant(
    name="user-all-steps-noise",
    about="user_level/alg-2",
    bug="none: noise for T steps",
    kill=kill_by_number("accountant", "eps/2 for all gradients", lambda: minibatch_epsilon(as_planned), 0.5),
    lookalike=True,
)
uncomposed = Mutant(
    name="user-one-step-noise",
    about="user_level/alg-2",
    bug="the noise of the gradients lacks sqrt(T), as if there were one step",
    kill=kill_by_number("accountant", "eps/2 for all gradients", lambda: minibatch_epsilon(not_composed), 0.5),
)
stale = Mutant(
    name="user-stale-gradient",
    about="user_level/alg-2",
    bug="AC-SA is handed the gradient of eight steps ago",
    kill=kill_by_number("exact error", "2 beta D^2/(T (T + 1))", lambda: first_order_error(True), 1.0),
)
passes = Mutant(
    name="user-gradients-twice",
    about="user_level/alg-3",
    bug="every gradient is computed twice, once for the score and once for the mean",
    kill=kill_by_number("oracle counter", "sum T_i K_i m", lambda: counted_over_planned(Twice), 1.0),
)
endless = Mutant(
    name="user-threshold-test-goes-on",
    about="user_level/alg-4",
    bug="does not stop at the first answer above",
    kill=kill_by_audit(
        transcript(ForgetsToHalt(level=0.0, count=QUERIES)), LOW, HIGH, ApproxDP(0.4, 0.0), score=difference
    ),
)
sample_level = Mutant(
    name="user-item-level-noise",
    about="user_level/proc-group-privacy",
    bug="noise for one sample at the whole budget: a user has twenty",
    kill=kill_by_number("accountant", "(1, 1e-6)-DP", lambda: group_epsilon(1 / 20), 1.0),
)
# Look-alikes.
planned = Mutant(
    name="user-noise-as-planned",
    about="user_level/alg-1",
    bug="none: the planned noise",
    kill=kill_by_risk(1.0),
    lookalike=True,
)
score_kept = Mutant(
    name="user-score-averaged",
    about="user_level/alg-1",
    bug="none: the score as printed",
    kill=kill_by_number("enumeration", "|s - s'| <= 2", lambda: change_of_the_score(concentration_score), 2.0),
    lookalike=True,
)
noisy_halt = Mutant(
    name="user-halts-with-the-noise",
    about="user_level/alg-1",
    bug="none: halts by what was released",
    kill=kill_by_number("replay", "what is returned follows the releases", lambda: leak(PhasedSGD), 0.0),
    lookalike=True,
)
inliers = Mutant(
    name="user-removal",
    about="user_level/alg-1",
    bug="none: outliers are removed",
    kill=kill_by_number("replay", "kept mean within its certificate", lambda: worst_sensitivity(outlier_removal), 1.0),
    lookalike=True,
)
once = Mutant(
    name="user-threshold-once",
    about="user_level/alg-2",
    bug="none: one threshold for all steps",
    kill=kill_by_number("exact law", "eps/2 for all bits", lambda: never_halts("once"), 0.5),
    lookalike=True,
)
distinct = Mutant(
    name="user-drawn-once",
    about="user_level/alg-2",
    bug="none: distinct users",
    kill=kill_by_number("replay", "a user moves a score by 2", lambda: twice_drawn("without-replacement"), 1.0),
    lookalike=True,
)
stopping = Mutant(
    name="user-threshold-test-stops",
    about="user_level/alg-4",
    bug="none: stops at the first answer above",
    kill=kill_by_audit(transcript(STOPS), LOW, HIGH, ApproxDP(0.4, 0.0), score=difference),
    lookalike=True,
)
group = Mutant(
    name="user-group-noise",
    about="user_level/proc-group-privacy",
    bug="none: eps/m for a sample",
    kill=kill_by_number("accountant", "(1, 1e-6)-DP", lambda: group_epsilon(1.0), 1.0),
    lookalike=True,
)
