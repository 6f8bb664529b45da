"""Anytime audits: false alarms under optional stopping, power, resuming, constant memory."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from curtailed import at_most
from scipy import stats

import dpcheck as dp
from dpcheck.auditing import spending
from dpcheck.auditing.anytime import StagedTest, State, proceed
from dpcheck.auditing.cells import Partition, learn_partition
from dpcheck.auditing.curve import measure_curve
from dpcheck.auditing.finite_laws import above_threshold
from dpcheck.auditing.rules import Rule
from dpcheck.auditing.spending import Looks
from dpcheck.auditing.stages import LUCK, Stage
from dpcheck.errors import InvalidInput

ZERO, ONE = np.array([0.0]), np.array([1.0])


def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)


def gaussian(data, rng, trials):
    return data.sum() + rng.normal(size=trials)


@pytest.mark.parametrize(("mechanism", "claim"), [(laplace, dp.PureDP(1.0)), (gaussian, dp.ApproxDP(4.3772, 1e-5))])
def test_stopping_whenever_it_looks_good_keeps_the_level(mechanism, claim):
    def alarm(seed):
        options = {"mode": "anytime", "until": "refuted", "seed": seed}
        return dp.audit(mechanism, ZERO, ONE, claim, trials=1000, **options).outcome == "refuted"

    # At most binomial(16, 0.05): more than 4 has probability 9e-4.
    assert at_most(4, 16, alarm)


def test_bound_is_close_and_below():
    result = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), trials=50_000, mode="anytime")
    assert 0.9 < result.epsilon_lower <= 1.0
    assert result.visible.looks == 9
    assert result.mode == "anytime"


def test_a_leak_stops_early():
    result = dp.audit(laplace, ZERO, ONE, dp.PureDP(0.4), trials=50_000, mode="anytime", until="refuted")
    assert result.outcome == dp.Outcome.REFUTED
    assert result.counts["samples"] < 5000
    assert result.epsilon_lower >= 0.4


def test_a_claimed_curve_falls_within_12000_samples():
    def less_noise(data, rng, trials):
        return data.sum() + 0.9 * rng.normal(size=trials)

    taken = []
    for seed in range(5):
        result = dp.audit(
            less_noise, ZERO, ONE, dp.GaussianDP(1.0), trials=30_000, mode="anytime", until="refuted", seed=seed
        )
        assert result.outcome == dp.Outcome.REFUTED
        taken.append(result.counts["samples"])
    assert np.median(taken) < 12_000


def audited_at_every_look(cells, laws, truth, claim, seed, horizon, samples):
    """Words that are wrong at some look of one simulated audit of cell laws: "bound", "refuted", "band"."""
    rng = np.random.default_rng(seed)
    taught = np.stack([rng.multinomial(400, law) for law in laws], axis=1)
    state = State.begun(claim, taught, Looks.of(horizon, 0), 0.05, seed)
    at_delta = truth.epsilon_at(state.bound.claim.delta)
    wrong = set()

    def look(now):
        if now.tested != now.looked_at or not now.looks:
            return False
        curve = now.band(cells, now.counts - taught - now.fresh, 0.05)
        true = measure_curve(cells, np.rint(1e12 * np.stack(laws, axis=1)), 0.5)
        crossed = (true.fpr > curve.fpr_upper + 1e-9).any() or (true.fnr > curve.fnr_upper + 1e-9).any()
        wrong.update({"bound"} if now.bound.margin(at_delta) >= 0 else ())
        wrong.update({"refuted"} if now.refutes() else ())
        wrong.update({"band"} if crossed else ())
        return False

    def draw(number, size):
        heads = rng.binomial(size, 0.5)
        return np.stack([rng.multinomial(n, law) for n, law in zip((heads, size - heads), laws, strict=True)], axis=1)

    proceed(state, cells, draw, samples, 10**9, look)
    look(state)
    assert state.looks > 7
    return wrong


def cells_and_laws(law):
    rng = np.random.default_rng(20)
    cells = learn_partition(law.rvs(size=3000, random_state=rng), 1 + law.rvs(size=3000, random_state=rng))
    laws = [np.append(np.diff(np.r_[0, law.cdf(cells.edges - at), 1]), 0.0) for at in (0.0, 1.0)]
    return cells, [one / one.sum() for one in laws]


@pytest.mark.parametrize(
    ("law", "truth", "claim", "audits"),
    [
        (stats.laplace, dp.PureDP(1.0), dp.PureDP(1.0), 40),
        (stats.norm, dp.GaussianDP(1.0), dp.GaussianDP(1.0), 12),
        (stats.norm, dp.GaussianDP(1.0), dp.ApproxDP(dp.GaussianDP(1.0).epsilon_at(0.01), 0.01), 12),
    ],
)
def test_whatever_is_printed_at_any_look_holds_at_all_looks(law, truth, claim, audits):
    """Bound, refutation, curve and band of an audit that is watched at every look and goes on beyond its horizon."""
    cells, laws = cells_and_laws(law)
    # More than this many have probability below 1e-3 under binomial(audits, 0.05).
    most = int(stats.binom.isf(1e-3, audits, 0.05))
    assert at_most(most, audits, lambda s: audited_at_every_look(cells, laws, truth, claim, s, 8000, 32_000))


def test_bounds_keep_their_level_where_inputs_leak_and_stages_are_randomised():
    """Laplace noise that tells its input with probability delta, tight at (1, delta), watched at every look."""
    cells, laws = cells_and_laws(stats.laplace)
    leaks = [np.zeros(len(law)) for law in laws]
    leaks[0][0] = leaks[1][-2] = 1.0
    laws = [0.998 * law + 0.002 * leak for law, leak in zip(laws, leaks, strict=True)]
    claim = dp.ApproxDP(1.0, 2e-3)
    # At most binomial(12, 0.05): more than 4 has probability 2e-4.
    assert at_most(4, 12, lambda seed: audited_at_every_look(cells, laws, claim, claim, seed, 8000, 16_000))


def chance_of_at_most(level, samples, epsilon, delta, p_value):
    """P(p-value <= level) of leaky randomised response: leaks are guesses of level 2, the others of level 1."""
    rule = Rule(np.array([1, -1], dtype=np.int8), delta, 0.0, True, leak_worth=2.0)
    chance = 0.0
    for leaked in range(6):
        few = stats.binom.pmf(leaked, samples, delta)
        for right in range(samples - leaked + 1):
            mass = few * stats.binom.pmf(right, samples - leaked, 1 / (1 + np.exp(-epsilon)))
            if mass > 1e-7:
                stage = Stage(rule, np.array([right, leaked]), np.array([samples - leaked - right, 0]), samples)
                chance += mass * share_of_coins(stage, lambda now: p_value(now, epsilon, delta) <= level)
    return chance


def share_of_coins(stage, rejects):
    """Coins below which it rejects, to a thousandth; they are the smaller ones."""
    low, high = 0.0, 1.0
    if rejects(replace(stage, coin=1.0)) or not rejects(replace(stage, coin=0.0)):
        return float(rejects(replace(stage, coin=1.0)))
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if rejects(replace(stage, coin=middle)) else (low, middle)
    return low


def test_a_randomised_stage_uses_the_level_up_and_no_more():
    """By enumeration of all that leaky randomised response may do, the worst case of the null."""

    def plain(stage, epsilon, delta):
        return stage.p_value(epsilon, delta, 0.05)

    def randomised(stage, epsilon, delta):
        return stage.randomised_p_value(epsilon, delta, 0.05)

    for level, gaps in ((0.05, 0.9), (0.3, 0.6)):
        used = [chance_of_at_most(level, 40, 2.0, 0.004, one) for one in (plain, randomised)]
        assert used[0] < gaps * level
        assert max(used[0], 0.85 * level) < used[1] <= level


def test_luck_alone_refutes_nothing():
    rule = Rule(np.array([1, -1], dtype=np.int8), 0.0, 0.0, True)
    for delta in (0.0, 1e-5):
        never = Stage(replace(rule, delta=delta), np.zeros(2, dtype=int), np.zeros(2, dtype=int), 100, coin=1e-9)
        assert never.randomised_p_value(1.0, delta, 0.05) == LUCK
        always = replace(never, right=np.array([3, 0]))
        known = replace(always, coin=1.0).randomised_p_value(1.0, delta, 0.05)
        assert 0.99 * LUCK * known < always.randomised_p_value(1.0, delta, 0.05) <= known


@pytest.mark.parametrize(("delta", "share"), [(1e-3, 0.01), (0.01, 0.02)])
def test_no_guesses_are_no_luck_where_the_test_is_not_given_their_number(delta, share):
    """Exact, on the boundary of the null: P(p <= u) <= u. With luck for no guesses it was 0.60 and 0.73 at some u."""
    samples, coins = 64, (np.arange(100) + 0.5) / 100
    rule = Rule(np.array([1, -1], dtype=np.int8), delta, 0.0)
    right = (share * math.e + delta) / (1 + math.e) / share
    found = []
    for made in range(12):
        chance = stats.binom.pmf(made, samples, share)
        for hits in range(made + 1):
            part = chance * stats.binom.pmf(hits, made, right)
            for coin in coins if made == 0 else [0.5]:
                stage = Stage(rule, np.array([hits]), np.array([made - hits]), samples, coin)
                found.append((stage.randomised_p_value(1.0, delta, 0.05), part / (len(coins) if made == 0 else 1)))
    p, chances = np.array(found).T
    assert all(chances[p <= u].sum() <= u + 1e-9 for u in np.unique(p))


def certified(cells, laws, claim, horizon, halvings, seed):
    """The bound at the horizon of one simulated audit of cell laws."""
    rng = np.random.default_rng(seed)
    taught = np.stack([rng.multinomial(400, law) for law in laws], axis=1)
    state = State.begun(claim, taught, Looks(horizon, halvings), 0.05, seed)

    def draw(number, size):
        heads = rng.binomial(size, 0.5)
        return np.stack([rng.multinomial(n, law) for n, law in zip((heads, size - heads), laws, strict=True)], axis=1)

    proceed(state, cells, draw, horizon, 10**9, lambda now: False)
    return state.epsilon_lower()


def test_stages_that_aim_at_the_horizon_certify_more_of_a_sparse_vector_algorithm():
    low, high = np.repeat([0.0, 1.0], 5), np.repeat([1.0, 0.0], 5)
    laws = [np.append(above_threshold(data, 0.5, 2.0, 4.0, 1).probabilities, 0.0) for data in (low, high)]
    k = len(laws[0])
    blank = np.full(k, 1 / k)
    cells = Partition(
        np.arange(k - 2) + 0.5, np.arange(k - 1.0), np.ones(k - 1, dtype=bool), blank, blank, 0, ordered=False, few=True
    )
    bounds = [certified(cells, laws, dp.PureDP(1.0), 19_200, 7, seed) for seed in range(12)]
    # Rules that aimed at their own look: 0.544 on these seeds, with a standard error of 0.02.
    assert np.mean(bounds) > 0.6


def test_rules_aim_at_where_the_claim_is_likely_to_fall():
    cells, laws = cells_and_laws(stats.norm)
    known = cells.taught(np.rint(3000 * np.stack(laws, axis=1)).astype(int))
    schedule = Looks(200_000, 8)
    aims = [StagedTest(claim := dp.ApproxDP(e, 1e-5), 0.05, schedule, 0)._aim(known, claim) for e in (0.5, 1.5, 4.3772)]
    assert schedule.at(0) <= aims[0] < aims[1] < aims[2] == 200_000
    beyond = StagedTest(claim, 0.05, Looks(200_000, 0), 0)
    assert beyond._aim(known, claim) == 200_000


def test_a_band_holds_at_all_looks_and_would_not_at_the_full_level_at_each():
    """Each look once had the whole failure probability: the band was wrong at some look of 30 % of the audits."""
    cells, laws = cells_and_laws(stats.norm)
    schedule = Looks.of(20_000, 0)
    truth = measure_curve(cells, np.rint(1e12 * np.stack(laws, axis=1)), 0.5)
    rng = np.random.default_rng(23)
    looks, audits = 12, 200
    ends = [schedule.at(k) for k in range(looks)]
    wrong = {"split": 0, "full": 0}
    for _ in range(audits):
        failed, counts = set(), np.zeros((len(cells.p), 2), dtype=int)
        for look, fresh in enumerate(np.diff(ends, prepend=0)):
            heads = rng.binomial(fresh, 0.5)
            sides = zip((heads, fresh - heads), laws, strict=True)
            counts = counts + np.stack([rng.multinomial(n, law) for n, law in sides], axis=1)
            for name, now in (("split", float(schedule.steps(looks)[look])), ("full", 1.0)):
                curve = measure_curve(cells, counts, 0.05, now)
                if (truth.fpr > curve.fpr_upper + 1e-9).any() or (truth.fnr > curve.fnr_upper + 1e-9).any():
                    failed.add(name)
        for name in failed:
            wrong[name] += 1
    # At most binomial(200, 0.05): more than 20 has probability 1e-3.
    assert wrong["split"] <= 20
    assert wrong["full"] > 20


def test_going_on_moves_the_bound_and_the_result_says_when():
    def gone_on(samples, seed, **options):
        return dp.audit(
            laplace, ZERO, ONE, dp.PureDP(2.0), mode="anytime", max_samples=samples, seed=seed, **options
        )  # fmt: skip

    short = short_of_it = 0.0
    for seed in range(4, 9):
        start = gone_on(10_000, seed)
        assert f"at {start.next_look:,} runs in all" in str(start)
        state = json.loads(json.dumps(start.state))
        assert gone_on(start.next_look - 1, seed, resume=state).epsilon_lower == start.epsilon_lower
        further = gone_on(2 * start.next_look, seed, resume=state)
        assert further.next_look > 2 * start.next_look
        assert further.curve.fpr_upper.sum() < start.curve.fpr_upper.sum()
        short, short_of_it = short + 1 - start.epsilon_lower, short_of_it + 1 - further.epsilon_lower
    # Four times the runs: the bounds are nearer by a quarter of their distance at least (fixed seeds).
    assert short_of_it < 0.75 * short


def test_the_failure_probability_is_split_and_said():
    for claim, mode in ((dp.PureDP(1.0), "anytime"), (dp.GaussianDP(1.0), "anytime"), (dp.GaussianDP(1.0), "fixed")):
        assert sum(spending.split(claim, mode).values()) == pytest.approx(1.0)
    result = dp.audit(gaussian, ZERO, ONE, dp.GaussianDP(1.0), mode="anytime", max_samples=5000)
    assert "(0.0415 refutation of the curve, 0.0075 bound, 0.001 band)" in str(result)
    assert result.to_dict()["split"] == spending.split(dp.GaussianDP(1.0), "anytime")
    schedule = Looks.of(10_000, 100)
    assert schedule.spent(30)[-1] < 1
    assert (schedule.steps(30) > 0).all()


def test_before_the_first_look_nothing_is_said():
    result = dp.audit(
        laplace, ZERO, ONE, dp.PureDP(0.1), mode="anytime", max_samples=50_000, until=lambda look: True, chunk=50
    )
    assert (result.epsilon_lower, result.curve, result.outcome) == (0.0, None, dp.Outcome.UNDECIDED)


def test_resuming_is_the_same_as_never_stopping():
    whole = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=20_000)
    start = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=6000)
    kept = json.loads(json.dumps(start.state))
    resumed = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=20_000, resume=kept)
    assert resumed.counts["tested"] == whole.counts["tested"]
    # Same trials, looked at at other times: those of the first session's horizon.
    assert abs(resumed.epsilon_lower - whole.epsilon_lower) < 0.2
    with pytest.raises(InvalidInput, match="another audit"):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(2.0), mode="anytime", max_samples=20_000, resume=kept)
    with pytest.raises(InvalidInput, match="not the state"):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=20_000, resume={})


def test_state_does_not_grow():
    sizes = [
        len(json.dumps(dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=m).state))
        for m in (20_000, 320_000)
    ]
    # Both hold all the fingerprints of outputs that are ever kept, and as many outputs of 16 times the distance; a look
    # more is a stage more.
    assert sizes[1] < 1.1 * sizes[0]


def test_options_belong_to_their_mode():
    with pytest.raises(InvalidInput, match="anytime"):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), until="refuted")
    with pytest.raises(InvalidInput, match="max_samples"):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", max_samples=100)
    with pytest.raises(InvalidInput, match="until"):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), mode="anytime", until="tired")
