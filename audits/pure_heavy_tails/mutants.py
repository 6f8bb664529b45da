"""Seeded bugs of `pure_heavy_tails`: broken solvers of regularised empirical risks, and look-alikes that are right.

Whatever can be decided without sampling is: by the account of the schedule, by cores replayed on the closed-form worst
pair (linear losses, one record switched from +M to -M), or by the exact law of a selection.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.accounting import account
from dpcheck.algorithms.pure_heavy_tails import (
    EMPGM,
    DoubleOutputPert,
    LocalizedApproxEM,
    OutputPertLocalize,
    PopLocalize,
    SingleOutputPert,
    SmoothedEMPGM,
)
from dpcheck.algorithms.pure_heavy_tails.erm import Stage
from dpcheck.algorithms.pure_heavy_tails.sampling import LocalPotential, cells
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.auditing.limits import fewest_of_any
from dpcheck.checks import FAILURE_PROBABILITY, Context
from dpcheck.harness import accuracy, privacy, risk, sensitivity
from dpcheck.harness.losses import compose
from dpcheck.harness.replay import Case
from dpcheck.harness.search import BoxRecords
from dpcheck.interfaces import Algorithm, Array, Data, Objective, Problem, Sample, Schedule, Solution, Workload
from dpcheck.laws import Exponential, IsotropicLaplace
from dpcheck.mutants import Kill, Mutant
from dpcheck.privacy import PureDP
from dpcheck.running import Fixed, Run
from dpcheck.solvers import Pushed, certified
from dpcheck.verdicts import Outcome
from dpcheck.workloads.amplitudes import Spike
from dpcheck.workloads.linear import RareSpikes
from dpcheck.workloads.mean import HeavyMean
from dpcheck.workloads.radial import RadialHeavyTail

EPSILON = 1.0
RECORDS = 200
FAR = 1e6
WORK = RareSpikes(D=1e7, G=1.0, p=0.5, theta=0.0)
"""Linear losses on an interval so long that no projection shortens a shift."""
CLAIM = f"{EPSILON:g}-DP"


def _problem(work: Any = WORK, epsilon: float = EPSILON) -> Problem:
    return Problem.of(work, PureDP(epsilon), failure_probability=0.1)


def _switched(n: int, place: int = 0) -> tuple[Array, Array]:
    data = np.zeros((1, n, 1))
    data[0, place] = FAR
    neighbour = data.copy()
    neighbour[0, place] = -FAR
    return data, neighbour


def _fewest(exact: float | None) -> int | None:
    """Runs that any sampled test of the claim would need, at the failure probability of a check."""
    return None if exact is None else fewest_of_any(exact, EPSILON, 0.0, FAILURE_PROBABILITY, 0.95)


# The checks that kill ------------------------------------------------------------------------------------------------


def _exactly(case: Case, n: int = RECORDS, place: int = 0) -> Kill:
    """The exact cost of the worst pair, from the cores of a replay, against the claimed epsilon."""
    seen = case.replay(*_switched(n, place), 16)
    moved = {name: max(uses) for name, uses in seen.distances().items()}
    # On a line the shift is attained, which the law says only of a known dimension.
    plan = case.planned(n).edit("*", law=lambda law: replace(law, d=1) if isinstance(law, IsotropicLaplace) else law)
    found = compose(plan, {name: far for name, far in moved.items() if far > 0})
    verdict = privacy.judge(found, PureDP(EPSILON))
    cost = found.pure[0]
    killed = verdict.outcome is Outcome.REFUTED
    return Kill(killed=killed, by="exact law", samples=0, claim=CLAIM, exact_epsilon=cost, minimum=_fewest(cost))


def _by_sensitivity(case: Case, n: int = RECORDS) -> Kill:
    """Cores replayed on the worst pair against what the reads claim, confirmed with 50 digits."""
    pair = _switched(n)
    given = [(pair[0][0], pair[1][0])]
    found = sensitivity.search(case, BoxRecords([-FAR], [FAR]), n, given=given, chains=0, steps=0)
    verdict = sensitivity.judge(found, confirm=sensitivity.by_replay(case))
    cost = _exactly(case, n).exact_epsilon
    killed = verdict.outcome is Outcome.REFUTED
    return Kill(killed=killed, by="sensitivity", samples=0, claim=CLAIM, exact_epsilon=cost, minimum=_fewest(cost))


def _by_account(case: Case, n: int = RECORDS, exact: float | None = None) -> Kill:
    """The account of the schedule, at the sensitivities that it claims itself."""
    spent = account(case.planned(n), n)
    cost = _exactly(case, n).exact_epsilon if exact is None else exact
    killed = not spent.within(PureDP(EPSILON))
    return Kill(killed=killed, by="accountant", samples=0, claim=CLAIM, exact_epsilon=cost, minimum=_fewest(cost))


def _selection(case: Case, pairs: list[tuple[Array, Array]]) -> Kill:
    """The exact law of a selection on D and on D', from the scores that the implementation releases."""
    worst = 0.0
    for data, neighbour in pairs:
        (movement,) = case.replay(data, neighbour, 1).movements
        law = movement.release.law
        assert isinstance(law, Exponential)
        worst = max(worst, exact_epsilon(law.probabilities(movement.core)[0], law.probabilities(movement.other)[0]))
    killed = worst > EPSILON * (1 + 1e-9)
    return Kill(killed=killed, by="exact law", samples=0, claim=CLAIM, exact_epsilon=worst, minimum=_fewest(worst))


def _scaled(algorithm: Algorithm[Any], factor: float, n: int = RECORDS, pattern: str = "*") -> Schedule[Any]:
    """The schedule with the noise of its releases multiplied."""
    plan = algorithm.schedule(_problem(), n)

    def louder(law: IsotropicLaplace) -> IsotropicLaplace:
        return IsotropicLaplace(law.scale * factor)

    return plan.edit(pattern, law=louder)


# Output perturbation -------------------------------------------------------------------------------------------------

SINGLE = SingleOutputPert(C=1.0)


def _half_noise_single(context: Context) -> Kill:
    return _exactly(Case(SINGLE, WORK, _problem(), schedule=_scaled(SINGLE, 0.5)))


def _half_noise_double(context: Context) -> Kill:
    """With the exact solver the slack of the paper hides it: the worst legal solver does not."""
    algorithm = DoubleOutputPert(C=1.0, minimiser=Pushed())
    return _exactly(Case(algorithm, WORK, _problem(), schedule=_scaled(algorithm, 0.5)))


@dataclass(frozen=True)
class FullTwice(DoubleOutputPert):
    """Both stages get the whole of epsilon."""

    def schedule(self, problem: Problem, n: int) -> Schedule[Stage]:
        assert isinstance(problem.privacy, PureDP)
        plan = super().schedule(replace(problem, privacy=PureDP(2 * problem.privacy.epsilon)), n)
        return replace(plan, claimed=problem.privacy)


def _full_twice(context: Context) -> Kill:
    return _by_account(Case(FullTwice(C=1.0, minimiser=Pushed()), WORK, _problem()))


def _quarter_sensitivity(context: Context) -> Kill:
    algorithm = OutputPertLocalize(C=1.0)
    plan = algorithm.schedule(_problem(), RECORDS)
    unit = 1.0 / RECORDS  # C/(lambda n)
    plan = plan.edit(
        "point", law=IsotropicLaplace(unit / EPSILON), reads=lambda reads: (replace(reads[0], sensitivity=unit),)
    )
    return _by_sensitivity(Case(algorithm, WORK, _problem(), schedule=plan))


def _unclipped(objective: Objective) -> Solution:
    """Minimises the losses themselves and certifies the gap of that."""
    return certified(replace(objective, cap=None))


def _no_extension(context: Context) -> Kill:
    return _by_sensitivity(Case(OutputPertLocalize(C=1.0, minimiser=_unclipped), WORK, _problem()))


def _stopped_early(context: Context) -> Kill:
    return _by_sensitivity(Case(OutputPertLocalize(C=1.0, minimiser=Pushed(excess=9.0)), WORK, _problem()))


def _stopped_a_little_early(context: Context) -> Kill:
    return _exactly(Case(OutputPertLocalize(C=1.0, minimiser=Pushed(excess=4.0)), WORK, _problem()))


def _tight_calibration(context: Context) -> Kill:
    return _exactly(Case(SingleOutputPert(C=1.0, minimiser=Pushed()), WORK, _problem()))


def _exact_solver(context: Context) -> Kill:
    def exact(objective: Objective) -> Solution:
        return Solution(certified(objective).point, 0.0)

    return _by_sensitivity(Case(DoubleOutputPert(C=1.0, minimiser=exact), WORK, _problem()))


# Localisation --------------------------------------------------------------------------------------------------------


class _SamePhases(PopLocalize):
    """Every phase starts at the first record: blocks of different phases share records."""

    def phases(self, problem: Problem, n: int) -> Iterator[tuple[int, int, int, float, float]]:
        for t, _, records, weight, gap in super().phases(problem, n):
            yield t, 0, records, weight, gap


class _ShiftedBlocks(PopLocalize):
    """The schedule promises disjoint blocks, the loop reads overlapping ones."""

    def execute(self, run: Run[Any], workload: Workload, data: Data, start: Array) -> Array:
        return super().execute(run, workload, _Overlapping(data), start)


class _Overlapping:
    """Data whose blocks begin half a block too early."""

    def __init__(self, data: Data) -> None:
        self._data = data

    @property
    def n(self) -> int:
        return self._data.n

    def part(self, start: int, stop: int) -> Data:
        back = min(start, (stop - start) // 2)
        return self._data.part(start - back, stop - back)

    def read(self, *, means_only: bool = False) -> Sample:
        return self._data.read(means_only=means_only)


LOCALISED: dict[str, Any] = {"erm": SingleOutputPert(), "blocks": 3, "c_erm": 1.0}


def _shared_records(context: Context) -> Kill:
    case = Case(_SamePhases(**LOCALISED), WORK, _problem())
    return _by_account(case)


def _overlapping_blocks(context: Context) -> Kill:
    """A record of the second block moves a release that does not read it: the replay shows a ratio of inf."""
    case = Case(_ShiftedBlocks(**LOCALISED), WORK, _problem())
    plan = case.planned(RECORDS)
    second = plan.releases[1].reads[0]
    place = second.start + (second.stop - second.start) // 4  # of block 1 by schedule; read by block 2 never
    worst = 0.0
    for at in (place, second.stop - 1):
        ratios = case.replay(*_switched(RECORDS, at), 8).ratios()
        worst = max(worst, *(float(values.max()) for values in ratios.values()))
    return Kill(killed=worst > 1 + 1e-6, by="sensitivity", samples=0, claim=CLAIM, exact_epsilon=None)


def _contained(context: Context, radius: Callable[[float, float], float], epsilon: float, zeta: float) -> Kill:
    """Frequency with which W_0 holds the regularised minimiser, against 1 - e^-zeta."""
    algorithm = OutputPertLocalize(C=1.0, zeta=zeta)
    plan = algorithm.schedule(_problem(epsilon=epsilon), RECORDS)
    (stage,) = plan.phases
    plan = replace(plan, phases=(replace(stage, radius=radius(stage.radius, epsilon)),))
    trials = context.scale(2000, 20_000)
    data = np.zeros((1, RECORDS, 1))
    data[0, : RECORDS // 2] = 0.7
    centre = algorithm.execute(Run(plan, trials, context.rng("noise")), WORK, Fixed(data), np.zeros((1, 1)))
    inside = np.abs(centre[:, 0] + 0.35) <= plan.phases[0].radius  # w_C = -mean(z)/lambda
    wanted = 1 - math.exp(-zeta)
    found = accuracy.probability(int(inside.sum()), trials, wanted, context.failure_probability, event="containment")
    claim = f"W_0 holds the minimiser with probability {wanted:.4g}"
    return Kill(
        killed=found.outcome is Outcome.REFUTED,
        by="containment",
        samples=trials,
        claim=claim,
        exact_epsilon=epsilon / 3,
    )


def _radius_without_budget(context: Context) -> Kill:
    return _contained(context, lambda radius, epsilon: radius * epsilon, 0.05, 3.0)


def _radius_of_whole_budget(context: Context) -> Kill:
    return _contained(context, lambda radius, epsilon: radius / 2, 0.5, 3.0)


def _too_noisy(context: Context, dial: float) -> Kill:
    """Proposition 3.2 with constants: 48 units with probability 0.75, on rare spikes at a distance, d = 1."""
    m = 400
    work = RadialHeavyTail(b=(400.0,), D=1000.0, weights=Spike.of_moment(1.0, 2.0, 1 / m))
    algorithm = DoubleOutputPert(noise_dial=dial)
    setting = _problem(work)
    plan, trials = algorithm.schedule(setting, m), context.scale(200_000, 400_000)
    sample = work.draw(context.rng("data"), trials, m)
    start = np.zeros((1, 1))
    best = certified(Objective(workload=work, sample=sample, weight=1.0, centre=start)).point
    point = algorithm.execute(Run(plan, trials, context.rng("noise")), work, _Drawn(sample), start)
    unit = m**-0.5
    found = risk.high_probability(
        np.abs(point - best)[:, 0], 48 * unit, 0.2 + math.exp(-3), context.failure_probability
    )
    claim = "within 48 units of the regularised minimiser with probability 0.75"
    cost = EPSILON / 3 / dial
    return Kill(killed=found.outcome is Outcome.REFUTED, by="risk", samples=trials, claim=claim, exact_epsilon=cost)


class _Drawn(Fixed):
    """A drawn sample of counts as the data of a run."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    @property
    def n(self) -> int:
        return self._sample.size

    def read(self, *, means_only: bool = False) -> Sample:
        return self._sample


# Exponential mechanisms ----------------------------------------------------------------------------------------------


def _smoothed(rule: str) -> Case:
    work = RareSpikes(D=1.0, G=1.0, p=1.0, theta=1.0)
    algorithm = SmoothedEMPGM(C=1.0, eta=1 / 4000, lambda_=0.1, gamma_rule=rule)  # type: ignore[arg-type]
    return Case(algorithm, work, _problem(work))


def _steeper(n: int) -> tuple[Array, Array]:
    data = np.ones((1, n, 1))
    neighbour = data.copy()
    neighbour[0, 0] = FAR
    return data, neighbour


def _data_step(context: Context) -> Kill:
    return _selection(_smoothed("data"), [_steeper(100)])


def _balanced(n: int) -> list[tuple[Array, Array]]:
    pairs = []
    for share in (0.25, 0.4, 0.5, 0.6, 0.75):
        data = np.full((1, n, 1), -FAR)
        data[0, : round(share * n)] = FAR
        neighbour = data.copy()
        neighbour[0, 0] = -FAR
        pairs.append((data, neighbour))
    return pairs


def _public_step(context: Context) -> Kill:
    return _selection(_smoothed("public"), [_steeper(100), *_balanced(100)])


def _sharp_selection(context: Context) -> Kill:
    work, algorithm = HeavyMean(), EMPGM(C=1.0, eta=0.02)
    plan = algorithm.schedule(_problem(work), RECORDS).edit("point", law=lambda law: Exponential(2 * law.coefficient))
    return _selection(Case(algorithm, work, _problem(work), schedule=plan), _balanced(RECORDS))


def _gibbs(context: Context, factor: float) -> Kill:
    """Both stages of Algorithm 7 on the worst pairs: a shift of 2C/(lambda m), and the law on the largest W_0."""
    m, algorithm = 10**4, LocalizedApproxEM(C=1.0, count=4096)
    plan = algorithm.schedule(_problem(), m)
    law = plan.releases[1].law
    assert isinstance(law, Exponential)
    law = Exponential(factor * law.coefficient)
    w_loc = np.zeros((1, 1))
    points, _ = cells(WORK, (w_loc, plan.phases[0].radius), 4096)
    laws = []
    for last in (1.0, -1.0):
        sample = Sample(np.array([[[1.0], [last]]]), np.array([[m - 1.0, 1.0]]))
        laws.append(law.log_probabilities(LocalPotential(WORK, sample, w_loc, w_loc, 1.0, 1.0)(points)))
    cost = EPSILON / 6 + float(np.abs(laws[0] - laws[1]).max())
    killed = cost > EPSILON
    return Kill(killed=killed, by="exact law", samples=0, claim=CLAIM, exact_epsilon=cost, minimum=_fewest(cost))


def _gibbs_sharper(context: Context) -> Kill:
    return _gibbs(context, 4.0)


def _gibbs_twice(context: Context) -> Kill:
    return _gibbs(context, 2.0)


def _mutant(name: str, item: str, bug: str, kill: Callable[[Context], Kill], lookalike: bool = False) -> Mutant:
    return Mutant(name=f"pht-{name}", about=item, bug=bug, kill=kill, lookalike=lookalike)


MUTANTS = (
    _mutant(
        "single-half-noise", "pure_heavy_tails/proc-single-op",
        "The noise of single output perturbation has half of its scale.", _half_noise_single,
    ),
    _mutant(
        "double-half-noise", "pure_heavy_tails/alg-4",
        "Both noises have half of their scale; slack hides it unless the solver is at its worst.",
        _half_noise_double,
    ),
    _mutant(
        "full-budget-twice", "pure_heavy_tails/alg-4", "Both stages are calibrated to the whole epsilon.", _full_twice
    ),
    _mutant(
        "sensitivity-without-four", "pure_heavy_tails/alg-2",
        "Sensitivity C/(lambda n) in place of 4C/(lambda n), in the schedule and in the noise.", _quarter_sensitivity,
    ),
    _mutant(
        "no-extension", "pure_heavy_tails/alg-2", "The losses are minimised, not their Lipschitz extensions.",
        _no_extension,
    ),
    _mutant(
        "solver-stopped-early", "pure_heavy_tails/alg-2", "The inner solver stops at nine times the gap it certifies.",
        _stopped_early,
    ),
    _mutant(
        "phases-share-records", "pure_heavy_tails/alg-1", "Every phase starts at the first record.", _shared_records
    ),
    _mutant(
        "overlapping-blocks", "pure_heavy_tails/alg-1",
        "Blocks are read half a block too early, while the schedule says that they are disjoint.", _overlapping_blocks,
    ),
    _mutant(
        "radius-without-budget", "pure_heavy_tails/alg-2", "The radius of W_0 is computed as if epsilon were 1.",
        _radius_without_budget,
    ),
    _mutant(
        "over-noised", "pure_heavy_tails/alg-4", "Three times the noise: more private than promised, less accurate.",
        lambda context: _too_noisy(context, 3.0),
    ),
    _mutant(
        "step-size-from-data", "pure_heavy_tails/proc-smoothed-em-pgm",
        "The step size as printed, 1/(lambda + (d/tau) max L_i), follows the steepest record.", _data_step,
    ),
    _mutant(
        "selection-twice-as-sharp", "pure_heavy_tails/alg-5",
        "The exponential mechanism with epsilon/Delta in place of epsilon/(2 Delta).", _sharp_selection,
    ),
    _mutant(
        "gibbs-quarter-sensitivity", "pure_heavy_tails/alg-7", "A quarter of Delta_0 in the Gibbs law's coefficient.",
        _gibbs_sharper,
    ),
    _mutant(
        "tight-calibration", "pure_heavy_tails/proc-single-op",
        "Noise for 3C/(lambda m): half of the paper's, and still above the sensitivity 7C/(3 lambda m) of the worst "
        "legal solver.", _tight_calibration, lookalike=True,
    ),
    _mutant(
        "exact-solver", "pure_heavy_tails/alg-4", "An exact minimiser: less than the allowed gap is no bug.",
        _exact_solver, lookalike=True,
    ),
    _mutant(
        "solver-at-four-gaps", "pure_heavy_tails/alg-2",
        "The inner solver stops at four times its gap: the shift is 6C/(lambda n), which is what the noise is for.",
        _stopped_a_little_early, lookalike=True,
    ),
    _mutant(
        "radius-of-whole-budget", "pure_heavy_tails/alg-2",
        "The radius of W_0 from epsilon in place of epsilon/2: 50 zeta is still many times the noise.",
        _radius_of_whole_budget, lookalike=True,
    ),
    _mutant(
        "usual-noise", "pure_heavy_tails/alg-4", "The printed noise, through the risk check that finds the triple.",
        lambda context: _too_noisy(context, 1.0), lookalike=True,
    ),
    _mutant(
        "public-step-size", "pure_heavy_tails/proc-smoothed-em-pgm",
        "The step size 1/(lambda + d G_2 sqrt(n/rho)/tau): larger than the data would allow, but public.", _public_step,
        lookalike=True,
    ),
    _mutant(
        "gibbs-half-sensitivity", "pure_heavy_tails/alg-7",
        "Half of Delta_0: the law then costs epsilon/2, with epsilon/6 of stage 1 below epsilon for an exact solver.",
        _gibbs_twice, lookalike=True,
    ),
)  # fmt: skip
