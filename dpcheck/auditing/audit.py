"""`dp.audit`: does a mechanism keep its promise on one pair of inputs?

Fixed mode: a held-out part of the runs chooses a score, and a rule that guesses the input from it; the other runs, each
on an input chosen by a fair coin, are counted in stages, the rule of each learned from those before as well, and
fitted to where the stage's outputs fell, whichever input they came from. Right and wrong guesses are one exact test of
both directions of the promise (`dpcheck.auditing.stages`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.auditing import plans, rules, spending, words
from dpcheck.auditing.alike import Alike
from dpcheck.auditing.anytime import CURVE_DELTA, State, earliest_look, proceed
from dpcheck.auditing.cells import Partition
from dpcheck.auditing.curve import Curve, measure_curve
from dpcheck.auditing.diagnosis import likely_cause
from dpcheck.auditing.identity import check_same, identity
from dpcheck.auditing.inputs import Pair, check_settings, describe_pair
from dpcheck.auditing.learner import Learner, resumed
from dpcheck.auditing.mechanisms import Encoder, Mechanism, mechanism_name
from dpcheck.auditing.premise import SHARE, Premise, events
from dpcheck.auditing.result import ALIKE, CONSTANT, HALTED, AuditResult
from dpcheck.auditing.runner import Runner
from dpcheck.auditing.stages import Stage, epsilon_lower
from dpcheck.auditing.visible import what_was_visible
from dpcheck.auditing.workers import spread
from dpcheck.errors import InvalidInput
from dpcheck.foreign import shortened
from dpcheck.privacy import ApproxDP, Guarantee
from dpcheck.verdicts import Outcome

__all__ = ["AuditResult", "audit"]

Array = NDArray[np.float64]


def audit(
    mechanism: Mechanism,
    data: Any,
    neighbour: Any,
    claim: Guarantee,
    *,
    trials: int = 100_000,
    failure_probability: float = 0.05,
    score: Any = "auto",
    seed: int = 0,
    adjacency: str | None = "replace-one",
    mode: str = "fixed",
    held_out: float | None = None,
    halts: bool = False,
    chunk: int = seeds.CHUNK,
    label: str = "",
    until: str | Callable[[Look], bool] | None = None,
    max_samples: int | None = None,
    resume: Mapping[str, Any] | None = None,
    workers: int | None = None,
) -> AuditResult:
    """Runs a mechanism on two neighbouring inputs and says what its outputs prove against a claim.

    The premise of every bound is that trials are independent given the input: all randomness comes from the generator,
    and nothing is kept from one run to the next. It is checked (`dpcheck.auditing.premise`), and the input that is run
    first is drawn, block by block (of a function under `dp.vectorize` the input of every run), so that what depends on
    the calls before does not pass for a leak. Inputs cannot be changed: arrays are read-only, other objects are copies.

    Outputs that compare equal in Python count as one output: 1, 1.0 and True; 0.0 and -0.0; dicts in another order.
    So do a list and a tuple of the same entries. Numbers are compared in float64; integers beyond 2^53 by how far they
    are from the first one.

    Args:
        mechanism: `mechanism(data, rng, trials)` -> one output for each trial (axis 0); see `dp.vectorize`.
        data, neighbour: the pair. Arrays (axis 0: records) must be neighbours under `adjacency`; other objects pass
            through unchecked.
        claim: `PureDP`, `ApproxDP`, or a whole curve: `ZCDP`, `RenyiDP`, `GaussianDP`, any `Guarantee`.
        trials: runs on each input, on average: sides of the counted runs are fair coins.
        failure_probability: chance that anything the result certifies is false: that `epsilon_lower` exceeds the
            truth, a true claim is refuted, or the band of the curve is crossed, at any look. 0.98 of it is for the
            bound, which refutes; 0.02 for the band. For a claimed curve in anytime mode the refutation of the curve has
            0.83, the bound at delta = 1e-5 0.15. See `dpcheck.auditing.spending`. Apart from it, the check of the
            premise calls independent trials dependent with probability at most a fiftieth of it.
        score: "auto", a callable on outputs, one of `dp.scores`, or a list from which the held-out part chooses.
        adjacency: "replace-one", "add-remove", "user-level", or None for any pair.
        mode: "fixed": one look, the most power for `trials`. "anytime": may stop and resume whenever; its looks, at
            which alone its words change, are at the horizon (`max_samples` of the first session), its halves and its
            doubles; what it says holds at all of them together. Memory grows by a few numbers a look.
            For a claimed curve its `epsilon_lower` is at delta = 1e-5.
        held_out: share of the trials that chooses the score and the first event; None: a tenth, a fifth for a claimed
            curve, more of few trials, 1 % when the score is a `LikelihoodRatio`.
        halts: NaN outputs mean "stopped without an output".
        chunk: most trials of one call of the mechanism.
        label: of the statement audited, for the witness.
        until: "refuted" stops an anytime audit at the first look that refutes the claim; a function is called with
            a `Look` after every chunk of runs and stops it by returning True.
        max_samples: runs, both inputs together, that an anytime audit may take; None: 2 * trials.
        resume: `result.state` of an earlier anytime audit. It must have had the same source of the mechanism, values
            of the pair, claim, score, seed and failure probability.
        workers: processes that run the mechanism, as in `dp.in_workers`: the result is the same for any number of
            them. None: this process, with streams of its own.

    Returns:
        An `AuditResult`: REFUTED, CONSISTENT, or UNDECIDED where nothing could have been refuted, or trials are not
        independent (`dependence` says how that shows); never HOLDS.

    Raises:
        InvalidInput: arguments that make no sense, or a pair that is not neighbouring.
        MechanismError: the mechanism raised, wrote into its input, or returned a wrong shape or a value that is not
            finite; or the score failed.
    """
    __tracebackhide__ = True
    trials = check_settings(mechanism, claim, trials, failure_probability, mode, held_out, chunk, max_samples, resume)
    pair = describe_pair(data, neighbour, adjacency)
    encoder = Encoder(mechanism_name(mechanism), halts=halts)
    start = time.perf_counter()
    if mode != "anytime" and (until is not None or max_samples is not None or resume is not None):
        raise InvalidInput('until, max_samples and resume belong to mode="anytime"; a fixed audit looks once')
    with spread(mechanism, workers) as inside:
        runner = Runner(inside, (data, neighbour), seed, encoder, chunk)
        if mode == "anytime":
            return _anytime(
                runner,
                claim,
                failure_probability,
                score,
                samples=2 * trials if max_samples is None else max_samples,
                until=until,
                resume=resume,
                pair=pair,
                trials=trials,
                seed=seed,
                label=label,
                start=start,
            )
        held = plans.hold_out(runner, trials, held_out, score, claim)
        samples = 2 * trials - sum(len(outputs) for outputs in held)
        shares = {name: share * failure_probability for name, share in spending.split(claim, mode).items()}
        plan = plans.learn(runner, held, samples, claim, shares["bound"], score, seed)
        premise = _premise(plan, seed, failure_probability)
        counted = plans.count(runner, held, plan, samples, claim, shares["bound"], premise, score, seed)
        premise.check()
        premise.broken = premise.broken or runner.elsewhere()
        return _conclude(
            runner,
            counted.plan,
            counted.stages,
            counted.counts,
            # Its tests were fixed before anything was counted.
            measure_curve(plan.cells, counted.first, shares["band"]),
            claim,
            failure_probability,
            premise=premise,
            pair=pair,
            trials=trials,
            seed=seed,
            label=label,
            start=start,
        )


def _premise(plan: plans.Plan, seed: int, failure_probability: float) -> Premise:
    return Premise(events(plan.cells, plan.taught), seed, SHARE * failure_probability)


@dataclass(frozen=True)
class Look:
    """What an anytime audit knows at one of the times at which it may stop.

    Attributes:
        samples: coin-flipped runs so far; epsilon_lower: certified; refuted: whether the claim has fallen.
        state: makes what `audit(…, resume=…)` takes.
    """

    samples: int
    epsilon_lower: float
    refuted: bool
    state: Callable[[], dict[str, Any]]


def _conclude(
    runner: Runner,
    plan: plans.Plan,
    stages: Sequence[Stage],
    counts: NDArray[np.int64],
    curve: Curve | None,
    claim: Guarantee,
    alpha: float,
    *,
    premise: Premise,
    pair: Pair,
    trials: int,
    seed: int,
    label: str,
    start: float,
    state: State | None = None,
    kept: Mapping[str, Any] | None = None,
) -> AuditResult:
    runner.check_inputs()
    rule, delta = plan.rule, plan.rule.delta
    if state is not None and not isinstance(claim, ApproxDP):
        delta = CURVE_DELTA
    hits, back = counts[rule.level > 0].sum(axis=0), counts[rule.level < 0].sum(axis=0)
    last = stages[-1]
    right, wrong, samples = int(last.right.sum()), int(last.wrong.sum()), last.samples
    tested = int(counts.sum())
    level = alpha * spending.split(claim, "fixed" if state is None else "anytime")["bound"]
    lower = epsilon_lower(stages, delta, level) if state is None else state.epsilon_lower()
    estimate = last.epsilon_of(plug_in_epsilon(right, wrong, samples, delta))
    claimed = claim.epsilon_at(delta)
    refuted = lower > claimed if state is None else state.refutes()
    by_pairs = isinstance(plan.score, Alike)
    names, numbers = scores_in_words(plan, runner), not runner.encoder.categorical
    # Pairs and guesses do not add up: where the last stage has pairs, the reach is that of it alone.
    seen = stages[-1:] if by_pairs else stages
    reach, judged = (level, seen) if state is None else (state.level_of_the_last_look(), state.bound.stages)
    guesses = round(sum(stage.worth() for stage in judged))
    reach_of = what_was_visible(
        guesses, tested, last.log_odds(claimed), delta, reach, alpha, looks=state.looks if state else 1
    )
    visible = replace(
        reach_of,
        detectable=last.epsilon_of(reach_of.detectable),
        detectable_half=last.epsilon_of(reach_of.detectable_half),
        ceiling=last.epsilon_of(reach_of.ceiling),
    )
    constant = premise.constant and np.count_nonzero(counts.sum(axis=1)) == 1
    if constant or names == ALIKE:  # what is guessed whatever comes out could refute nothing, however often
        visible = replace(visible, detectable=math.inf, detectable_half=math.inf)
        halted = {text for text, _ in plan.known} in ({"None"}, {"nan"})
        names = (HALTED if halted else CONSTANT) if constant else names
    unrefuted = Outcome.CONSISTENT if math.isfinite(visible.detectable) else Outcome.UNDECIDED
    if premise.broken:
        # Nothing is certified of runs that are not independent.
        lower, refuted, unrefuted = 0.0, False, Outcome.UNDECIDED
    return AuditResult(
        outcome=Outcome.REFUTED if refuted else unrefuted,
        claim=claim,
        epsilon_lower=lower,
        epsilon_estimate=estimate,
        epsilon_claimed=claimed,
        delta=delta,
        event=names,
        counts={
            "right": right,
            "wrong": wrong,
            "samples": samples,
            "tested": tested,
            "directions": rule.directions if state is None and not by_pairs else 2,
            "fitted": int(rule.small_leak),
            **({"pairs": 1} if by_pairs else {}),
            "runs_data": int(counts[:, 0].sum()),
            "runs_neighbour": int(counts[:, 1].sum()),
            "hits_data": int(hits[0]),
            "hits_neighbour": int(hits[1]),
            "back_data": int(back[0]),
            "back_neighbour": int(back[1]),
        },
        curve=None if premise.broken else curve,
        visible=visible,
        premise_failure=premise.failure_probability,
        dependence=premise.broken,
        mechanism=runner.encoder.name,
        score=str(plan.score),
        inputs=pair,
        likely=likely_cause(estimate, lower, claimed, delta, numbers=numbers) if refuted else "",
        trials=trials,
        seed=seed,
        rule_delta=rule.delta,
        mode="fixed" if state is None else "anytime",
        failure_probability=alpha,
        seconds=time.perf_counter() - start - runner.seconds,
        mechanism_seconds=runner.seconds,
        label=label,
        state=None if state is None else {**state.to_dict(), **(kept or {})},
        next_look=0 if state is None else state.next_look + 2 * ANYTIME_LEARNED,
    )


def _anytime(
    runner: Runner,
    claim: Guarantee,
    alpha: float,
    score: Any,
    *,
    samples: int,
    until: str | Callable[[Look], bool] | None,
    resume: Mapping[str, Any] | None,
    pair: Pair,
    trials: int,
    seed: int,
    label: str,
    start: float,
) -> AuditResult:
    if not (until is None or callable(until) or (isinstance(until, str) and until == "refuted")):
        raise InvalidInput(f"until must be 'refuted', a function of a Look, or None, got {shortened(until)}")
    whose = identity(runner.mechanism, runner.pair, claim, score, seed, alpha)
    if resume is not None:
        check_same(resume.get("audit"), whose, runner.encoder.name)
    # The teaching part depends on nothing that may change between sessions: a resumed audit finds the same cells.
    learned = ANYTIME_LEARNED
    if samples <= 4 * learned:
        raise InvalidInput(f"an anytime audit needs max_samples > {4 * learned}, got {samples}")
    held = plans.draw(runner, learned)
    # Every output goes through the first score, for the band and the premise, whatever score its stage has.
    first = plans.learn(runner, held, 20 * learned, claim, alpha, score, seed, quick=True)
    first = plans.or_returning(first, held, 2 * learned, 20 * learned, claim, alpha, score, seed, 0)
    learner = Learner(runner, held, first, score, claim, alpha, seed)
    premise = _premise(first, seed, alpha)
    if resume is None:
        # Every stage of a claimed curve stands at a point of its own.
        earliest = earliest_look(first.cells, first.rule, claim.epsilon) if isinstance(claim, ApproxDP) else 0.0
        state = State.begun(claim, first.taught, spending.Looks.of(samples - 2 * learned, earliest), alpha, seed)
    else:
        state = resumed(resume, learner, claim, alpha, seed)
        premise.restore(resume.get("premise"))

    def kept() -> dict[str, Any]:
        taught = first.taught.tolist()
        return {"audit": whose, "taught": taught, "premise": premise.to_dict(), "learner": learner.to_dict()}

    def cells(now: State) -> Partition:
        if learner.due(now):
            learner.learn(now)
        return learner.plan.cells

    def stop(now: State) -> bool:
        refuted = now.refutes()
        if premise.due(now.tested, refuted):
            premise.check(anytime=True)
        if premise.broken:
            return True
        if callable(until):
            told = Look(now.tested, now.epsilon_lower(), refuted, lambda: {**now.to_dict(), **kept()})
            return bool(until(told))
        return until == "refuted" and refuted

    proceed(
        state,
        first.cells,
        lambda _, size: learner.draw(state, premise, size),
        samples - 2 * learned,
        runner.chunk,
        stop,
        cells,
    )
    premise.check(anytime=True)
    premise.broken = premise.broken or runner.elsewhere()
    plan, counts = learner.plan, learner.counted(state)
    if isinstance(claim, ApproxDP):
        # No rule saw the inputs of the trials that it guessed: that is what a witness may rest on.
        rule = state.rule or rules.choose_rule(plan.cells.taught(state.counts), state.next_look, claim.delta, alpha)
        plan = replace(plan, rule=replace(rule, predicted=plan.rule.predicted))
        stage = Stage(plan.rule, np.array([state.right]), np.array([state.wrong]), state.looked_at)
    else:
        stage = Stage.of(plan.rule, counts)
    return _conclude(
        runner,
        plan,
        [stage],
        counts,
        state.band(first.cells, learner.up_to_the_last_look(state), alpha),
        claim,
        alpha,
        premise=premise,
        pair=pair,
        trials=trials,
        seed=seed,
        label=label,
        start=start,
        state=state,
        kept=kept(),
    )


ANYTIME_LEARNED = 400


def scores_in_words(plan: plans.Plan, runner: Runner) -> str:
    """The rule in words: "guess data if output < -0.1, neighbour if output ≥ 1.2"."""
    name = runner.encoder.shifted(plan.score.name)
    if isinstance(plan.score, Alike):
        return f"{name} are of one input"
    there, back = (
        words.describe(plan.known, plan.cells, plan.rule, sign)
        if plan.known
        else rules.describe(plan.cells, plan.rule, name, sign)
        for sign in (1, -1)
    )
    if not rules.halts_seen(plan.cells) and {there, back} == {"never", f"any {name}"}:
        return ALIKE
    if back == "never":
        return there
    return f"back: {back}" if there == "never" else f"{there}; back: {back}"


def plug_in_epsilon(right: int, wrong: int, samples: int, delta: float) -> float:
    """log((right - samples delta) / wrong): what the counts say on their face."""
    excess = right - samples * delta
    if excess <= 0:
        return 0.0
    return max(0.0, math.log(excess / wrong)) if wrong else math.inf
