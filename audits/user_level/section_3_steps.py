"""Section 3: one phase of the accelerated algorithm, on minibatches of users."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck.accounting import account
from dpcheck.algorithms.user_level import MinibatchSGD, PhasedERM
from dpcheck.algorithms.user_level.minibatch import Batches
from dpcheck.auditing.exact import hockey_stick
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.setting import known
from dpcheck.engine.settings import drawn, settings
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.harness import accuracy, risk, sensitivity
from dpcheck.harness.budget import judge_account, with_budget
from dpcheck.harness.refutation import refuted_by, witnessed
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array
from dpcheck.laws import AboveThreshold
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Outcome, Verdict, combine, differs, undecided

from .cases import REDUCED_DIALS, WORKLOADS, counted, difference_of_laplace, linear, plain, problem, quadratic
from .lines import BESIDE, EMPTY, KEPT, MINIBATCHES, NAMES, STAGES, one_phase, replayed, three_kinds
from .movements import movement_of_minibatches
from .plans import accelerated, tested_mean


def _clusters(score_share: float, K: int, tau: float) -> tuple[Array, Array]:
    """Gradients of K users at +-1.5 tau, and one of them far away (data) or at 0, near to both (neighbour)."""
    k = round(score_share * K)
    data = np.concatenate([np.full(k, 1.5 * tau), np.full(K - k, -1.5 * tau)])
    other = data.copy()
    data[0], other[0] = 10 * tau, 0.0
    return data, other


def _users(gradients: Array, m: int, d: int) -> Array:
    """Users of W1 whose gradient -z is `gradients` (K,) times e_1 everywhere: (1, K, m, d)."""
    values = np.zeros((1, len(gradients), m, d))
    values[0, :, :, 0] = -gradients[:, None]
    return values


ALG_2 = {
    "sigma": "user_level/alg-2",
    "test": "user_level/alg-2@test",
    **STAGES,
    "gradients": "user_level/alg-2@gradients",
}
REPLACED = {"variance": "user_level/proc-multistage-ac-sa@replacement-variance"}
settings_of_alg_2 = settings(
    "user_level/alg-2",
    {"as printed": ALG_2, "literal": ALG_2, "replacement": ALG_2 | REPLACED, "corrected": ALG_2},
    symbols=NAMES,
    beside=BESIDE
    | {
        "users": "all of them",
        "batch": "K_i is handed to it",
        "steps": "T_i is handed to it",
        "weight": "lambda_i is handed to it",
        "tau": "handed to it",
        "shift": "nothing is smoothed",
    },
    problems=drawn(users=True, n=(2.0**20, 2.0**50), epsilon=(0.05, 8)),
    fields={"K": (30, 1000, 10**9), "steps": (3, 70), "tau_": (0.1, 2.0), "weight": (0.3, 5.0)},
)


@check("user_level/alg-2", kind="transcription", grid={"phases": ("one", "all")})
def plans_and_promises_of_algorithms_2_and_3(context: Context, *, phases: str) -> Verdict:
    """What is planned, refused and promised at the printed constants, by itself and in the phases that call it."""
    # unbound: what is planned and promised, which no formula says
    if phases == "one":
        return accelerated(MinibatchSGD, plain(10, 10), 100_000)
    return accelerated(PhasedERM, plain(10, 10, 1.0, 1e-7), 300_000, p=None, q=None, phases=None, distance=None)


SET_BY_ALGORITHM_3 = {
    "weight": "user_level/alg-3@weight",
    "steps": "user_level/alg-3@steps",
    "tau": "user_level/alg-3@corrected-tau",
    "batch": "user_level/alg-3@corrected-minibatches",
}


@check("user_level/alg-2", kind="transcription", also=tuple(SET_BY_ALGORITHM_3.values()))
def what_is_not_handed_to_algorithm_2(context: Context) -> Verdict:
    """By itself, it takes what Algorithm 3 would hand to it in a single phase, at its weight before the first."""
    # unbound: what its plan falls back upon, which the claims of its parameters leave open
    rng, problems = context.rng(), drawn(users=True, n=(2.0**14, 2.0**22), d=(1, 4), epsilon=(2, 8))
    left, right = list[float](), list[float]()
    for _ in range(10):
        told, n = problems(rng)
        algorithm = MinibatchSGD()
        (row,) = algorithm.schedule(told, n).phases
        at = {**known(algorithm, told, n), "n": float(n), "N": float(n), "T": row.steps, "l": 1.0}
        at |= {"lambda[i]": [row.weight], "T[i]": [row.steps]}
        left += [float(getattr(row, name)) for name in SET_BY_ALGORITHM_3]
        right += [
            float(claim(label).at({**at, "i": 0 if name == "weight" else 1}))
            for name, label in SET_BY_ALGORITHM_3.items()
        ]
    return agree(left, right, f"{', '.join(SET_BY_ALGORITHM_3)} of one phase")


@check("user_level/alg-2", kind="transcription", also=("user_level/lem-c2@weighted", "user_level/lem-c2@derived"))
def movement_that_algorithm_2_claims(context: Context) -> Verdict:
    """The movement of its means, and the chance that it is exceeded, where tests are sure and where they are not."""
    # unbound: laws of coins and of noise; the settings compare tau and the noise with the claims
    return movement_of_minibatches(10**8)


@check("user_level/alg-2", kind="accuracy")
def law_of_a_tested_mean(context: Context) -> Verdict:
    """What a step of the sampled reading releases is what its two laws say, and is charged for both."""
    # unbound: the laws of one release, at scales that the settings compare with the claims
    return tested_mean(context)


@check("user_level/alg-2", kind="sensitivity", grid={"K": by_size([100], [100, 1000])})
def bits_of_two_clusters(context: Context, *, K: int) -> Verdict:
    """Two clusters 3 tau apart, a user moved between them (reduced noise): the score moves by nearly 2."""
    tau, work = 0.05, linear(1, 2)
    algorithm = MinibatchSGD(steps=3, K=K, tau_=tau, **REDUCED_DIALS)
    data, other = (_users(values, 2, 1) for values in _clusters(0.887, K, tau))
    seen = Case(algorithm, work, problem(work)).replay(data, other, context.scale(20, 200), context.seed)
    worst = max(float(m.ratio.max()) for m in seen.movements if m.release.name == "bit")
    verdict = accuracy.never_violated(
        [worst], [1.0], statement="change of the score over 2", evidence="certificate",
        covers="one user has K - 1 pairs with the others, each counted twice: 2(K - 1)/K",
    )  # fmt: skip
    broken = float(seen.leak.max()) > 0
    numbers = {**verdict.numbers, "change of the score": 2 * worst, "leak": broken}
    if broken:
        return differs("the returned point follows the data", numbers=numbers)
    return with_budget(replace(verdict, numbers=numbers), algorithm, problem(work), K)


def _halted(algorithm: MinibatchSGD, gradients: Array, trials: int, context: Context) -> Array:
    """At which step each trial halted, T where none did: (trials,)."""
    work = linear(1, 1)
    told = problem(work)
    schedule = algorithm.schedule(told, len(gradients))
    steps = schedule.phases[0].steps
    halts = []
    for number, start in enumerate(range(0, trials, 5000)):
        size = min(5000, trials - start)
        run: Run[Any] = Run(schedule, size, context.rng(number))
        algorithm.execute(run, work, Fixed(_users(gradients, 1, 1)), np.zeros((1, 1)))
        bits = np.concatenate([e.output for e in run.transcript.entries if e.name == "bit"], axis=1)
        ended = (bits == 0).any(axis=1)
        halts.append(np.where(ended, (bits == 0).argmax(axis=1), steps))
    return np.concatenate(halts)


def near_frequency(wins: int, trials: int, chance: float, margin: float, share: float, event: str) -> Verdict:
    """The frequency of an event whose exact probability is known: certainly within `margin` of it."""
    return combine(
        [
            accuracy.probability(wins, trials, max(0.0, chance - margin), share / 2, relation=">=", event=event),
            accuracy.probability(wins, trials, min(1.0, chance + margin), share / 2, relation="<=", event=event),
        ]
    )


@check("user_level/alg-2", kind="accuracy", grid={"K": (40, 80, 160)})
def halts_at_full_score(context: Context, *, K: int) -> Verdict:
    """One step, all K users alike (K and its noise reduced): P(halt) = (4 e^(-K/80) - e^(-K/40))/6."""
    # unbound: held against thm-c1@halt, the chance that it samples
    trials = context.scale(20_000, 200_000)
    algorithm = MinibatchSGD(steps=1, K=K, tau_=1.0, c_users=0.1)
    halted = _halted(algorithm, np.zeros(K), trials, context)
    chance = stated("user_level/thm-c1@halt", K=K, epsilon=1.0)
    margin = 0.03 if context.size == "smoke" else 0.01
    verdict = near_frequency(int((halted < 1).sum()), trials, chance, margin, context.failure_probability, "a halt")
    return with_budget(verdict, algorithm, problem(linear(1, 1)), K)


@check("user_level/alg-2", kind="transcription", grid={"n": (5_000, 50_000), "epsilon": (0.5, 2.0), "d": (3, 300)})
def noise_of_the_plan(context: Context, *, n: int, epsilon: float, d: int) -> Verdict:
    """sigma/tau of a planned Algorithm 2 against the printed 1000 sqrt(T) log(nde^eps/delta)/(eps n_i)."""
    (row,) = MinibatchSGD().schedule(plain(d, 10, epsilon, 1e-7), n * 4).phases
    printed = stated("user_level/alg-2", T=row.steps, n=n * 4, d=d, epsilon=epsilon, delta=1e-7, N=row.users, tau=1)
    return agree([row.sigma / row.tau], [printed], "sigma over tau")


@check("user_level/alg-2", kind="privacy", grid={"n": (5_000, 50_000), "epsilon": (0.5, 2.0)})
def account_of_algorithm_2(context: Context, *, n: int, epsilon: float) -> Verdict:
    """At printed constants the bits cost epsilon/2 exactly and the gradients much less than epsilon/2: full batches."""
    plan = MinibatchSGD().schedule(plain(10, 10, epsilon, 1e-7), 4 * n)
    bit, gradient = plan.releases
    verdict = judge_account(account(plan, 4 * n), ApproxDP(epsilon, 1e-7))
    bits = bit.law.pure(2.0, bit.count)
    noise = account(replace(plan, releases=(gradient,)), 4 * n).epsilon(1e-7)
    numbers = {**verdict.numbers, "bits": bits, "gradients": noise, "steps": bit.count}
    if abs(bits - epsilon / 2) > 1e-12:
        return differs(f"the bits cost {bits:.6g}, not {epsilon / 2:g}", numbers=numbers)
    said = f"{verdict.reason}: bits {bits:.4g}, gradients {noise:.4g}, full batches"
    return replace(verdict, reason=said, numbers=numbers)


@check("user_level/alg-2", kind="sensitivity", grid={"kind": ("outlier", "edge")})
def movement_of_planted_gradients(context: Context, *, kind: str) -> Verdict:
    """Gradients planted where removal is active (reduced noise): how often the mean exceeds its certificate.

    delta = 0.5, so that the declared failure can be seen.
    """
    # An outlier as far as gradients go, 2 L/tau = 400 times beyond what is kept at that tau.
    K, tau, work = 300, 0.05 if kind == "edge" else 0.0025, linear(1, 1)
    told = problem(work, 1.0, 0.5)
    algorithm = MinibatchSGD(steps=1, K=K, tau_=tau, c_users=0.1, c_score=0.2)
    gradients = np.zeros(K)
    if kind == "edge":
        side = K // 10
        gradients[: K - side] = np.linspace(2 * tau, 0.0, K - side)
        gradients[K - side :] = 2.9 * tau  # sees 0.55 of the core, and itself: kept with probability about 0.57
    moved = gradients.copy()
    moved[0] = 0.0 if kind == "edge" else 1.0
    data, other = (_users(values, 1, 1) for values in (gradients, moved))
    case = Case(algorithm, work, told)
    verdict = sensitivity.failures(
        case, data, other, context.scale(400, 3000), context.seed, context.failure_probability
    )["gradient"]
    worst = float(case.replay(data, other, 400, context.seed).ratios()["gradient"].max())
    numbers = {**verdict.numbers, "largest movement over its certificate": worst}
    return with_budget(replace(verdict, numbers=numbers), algorithm, told, K)


@check("user_level/alg-2", kind="runtime", grid={"K": (20, 100)})
def counted_gradients_of_algorithm_2(context: Context, *, K: int) -> Verdict:
    """T K m gradients, sample by sample (reduced noise)."""
    work = linear(3, 4)
    algorithm = MinibatchSGD(steps=9, K=K, tau_=2.0, **REDUCED_DIALS)
    label = ALG_2["gradients"]
    gradients, *expected = counted(algorithm, work, problem(work), 100, context.seed, label, symbols=NAMES)
    return with_budget(agree([gradients] * 2, expected, "gradients of a run"), algorithm, problem(work), 100)


CLUSTERS = (17746, 2253)
"""20,000 users; the score of these clusters is within 1 of 4K/5."""


def cluster_scores(a: int, b: int) -> tuple[float, float]:
    """Margins of a + b + 1 gradients in two clusters 3 tau apart, one user far away, and in between instead."""
    K = a + b + 1
    apart = (a * a + b * b + 1) / K
    return apart - 0.8 * K, apart + 2 * (K - 1) / K - 0.8 * K


def first_T(low: float, high: float, most: float) -> int:
    """Rounds from which the log-ratio exceeds the most that is stated."""
    return math.floor(most / math.log(high / low)) + 1


def goes_on(margin: float, eps: float) -> float:
    """P(one step goes on) with a fresh threshold, `margin` = score - 4K/5."""
    tail = difference_of_laplace(abs(margin), 16 / eps, 8 / eps)
    return 1 - tail if margin >= 0 else tail


def halting_delta(low: float, high: float, T: int, budget: float) -> float:
    """Exact delta of the halting time in T independent rounds that go on with probability `low` or `high`."""
    t = np.arange(T)
    one, two = (np.append(q**t * (1 - q), q**T) for q in (low, high))
    return max(hockey_stick(one, two, budget), hockey_stick(two, one, budget))


@check("user_level/alg-2@literal", kind="privacy", grid={"T": (10, 20, 100)}, expect="refuted")
def fresh_thresholds_are_not_private(context: Context, *, T: int) -> Verdict:
    """Exact log-ratio of "never halts" for planted gradients, a fresh threshold in each of T rounds, epsilon = 1 and
    5/4.
    """
    one, more = (_never_halts(context.label, T, epsilon) for epsilon in ("1", "5/4"))
    return one if more.outcome is Outcome.REFUTED else more


def _never_halts(label: str, T: int, epsilon: str) -> Verdict:
    eps = float(Fraction(epsilon))
    low, high = (goes_on(margin, eps) for margin in cluster_scores(*CLUSTERS))
    allowed = stated(label, epsilon=eps)
    numbers = {
        "true delta at epsilon/2, these data": halting_delta(low, high, T, allowed),
        "true epsilon over all data": T * 2 * eps / 16,
        "first T that fails": first_T(low, high, eps / 2),
    }
    return refuted_by(
        label, "alg_2_threshold", stated=allowed, measured=T * math.log(high / low), agreement=1e-9, numbers=numbers,
        a=CLUSTERS[0], b=CLUSTERS[1], T=T, epsilon=epsilon,
    )  # fmt: skip


@check("user_level/alg-2@replacement", kind="sensitivity", expect="refuted")
def score_of_a_user_drawn_twice(context: Context) -> Verdict:
    """30 draws, the changed user drawn twice: its gradient leaves the point where all others are."""
    near, far = np.ones((30, 30)), np.ones((30, 30))
    far[:2, 2:] = far[2:, :2] = 0
    value, claimed = float(near.sum() - far.sum()) / 30, stated("user_level/alg-2@replacement")
    verdict = accuracy.never_violated(
        value,
        claimed,
        statement="the score changes by at most 2",
        witness=lambda _: witnessed("user_level/alg-2@replacement", "alg_2_replacement", claimed, value, K=30, r=2),
    )
    numbers = {
        **verdict.numbers,
        "epsilon of the bits when drawn twice, epsilon = 1": AboveThreshold(8.0, 16.0).pure(value),
        "P(drawn twice or more), K = N = 30": float(scipy.stats.binom.sf(1, 30, 1 / 30)),
    }
    return replace(verdict, numbers=numbers)


@check("user_level/alg-2@corrected", kind="accuracy", grid={"threshold": ("once", "inside")})
def runs_follow_the_law_of_their_threshold(context: Context, *, threshold: str) -> Verdict:
    """Ten steps at full score, K and its noise reduced: P(never halts) is that of one threshold, or of ten, exactly.

    The two laws differ by far more than the margin, so that this tells the readings apart.
    """
    # unbound: the law of halting, where the claim bounds its privacy
    K, T, trials = 80, 10, context.scale(20_000, 100_000)
    algorithm = MinibatchSGD(steps=T, K=K, tau_=1.0, c_users=0.1, threshold=threshold)  # type: ignore[arg-type]
    halted = _halted(algorithm, np.zeros(K), trials, context)
    law = AboveThreshold(threshold=8.0, query=16.0)
    margins = np.full((1, T), 0.2 * K)
    once = float(law.halting(margins, halt_on=0)[0, -1])
    one = 1 - float(law.halting(margins[:, :1], halt_on=0)[0, 0])
    chance, other = (once, one**T) if threshold == "once" else (one**T, once)
    margin = 0.02
    if abs(chance - other) < 2 * margin:
        return undecided(f"the two laws give {once:.4g} and {one**T:.4g}: too near to tell", "exact")
    verdict = near_frequency(int((halted == T).sum()), trials, chance, margin, context.failure_probability, "no halt")
    return with_budget(verdict, algorithm, problem(linear(1, 1)), K)


@check("user_level/alg-2@corrected", kind="privacy", grid={"T": (1, 10, 40), "epsilon": (0.5, 1.0)})
def one_threshold_keeps_its_promise(context: Context, *, T: int, epsilon: float) -> Verdict:
    """Exact laws of the halting time for the same clusters and drawn scores, one threshold draw."""
    labels = "user_level/alg-2@test", "user_level/alg-2@corrected"
    scale, claimed = (stated(label, epsilon=epsilon) for label in labels)
    law, rng = AboveThreshold(scale, 2 * scale), context.rng()
    apart, together = cluster_scores(*CLUSTERS)
    base = rng.normal(scale=30, size=(context.scale(10, 100), T))
    moved = base + rng.uniform(-2, 2, size=base.shape)
    base[0], moved[0] = apart, together
    gap = np.abs(np.log(law.halting(base, halt_on=0)) - np.log(law.halting(moved, halt_on=0)))
    verdict = accuracy.never_violated(
        gap.max(axis=1),
        claimed,
        statement="|log-ratio of the halting time| <= epsilon/2",
        covers="moving the threshold's noise by 2 and that of the query that halts by 4 costs 2/8 + 4/16",
        evidence="certificate",
    )
    return combine([verdict, agree([law.pure(2.0, T)], [claimed], "2/8 + 4/16")])


@check("user_level/alg-2", kind="accuracy", grid={"reading": ("corrected", "literal")})
def lines_of_algorithm_2(context: Context, *, reading: str) -> Verdict:
    """Replayed from coins and releases (reduced noise). Corrected: three stages on minibatches of distinct users,
    linear losses; literal, for quadratics: thresholds drawn inside the loop, all users with replacement.
    """
    if reading == "corrected":
        work = linear(2, 3)
        algorithm = MinibatchSGD(steps=20, K=24, tau_=0.25, weight=0.3, c_score=0.5, c_users=0.02, c_noise=0.03)
        devices = (*KEPT, MINIBATCHES)
    else:
        work, devices = quadratic(2, 3), (*KEPT, EMPTY, MINIBATCHES)
        algorithm = MinibatchSGD(
            steps=5, K=60, tau_=0.25, weight=0.7, c_score=12.0, c_users=0.02, c_noise=2.0,
            threshold="inside", sampling="with-replacement",
        )  # fmt: skip
    users = three_kinds(context.rng("users"), 400, 60, 3, middle=0.5)
    settings = STAGES if reading == "corrected" else STAGES | REPLACED
    return replayed(context, algorithm, work, problem(work), users, one_phase, devices, settings, symbols=NAMES)


@check("user_level/lem-3-5", kind="accuracy", grid={"loss": tuple(WORKLOADS)}, also=("user_level/lem-c6",))
def variance_along_the_trajectory(context: Context, *, loss: str) -> Verdict:
    """Squared deviation of minibatch gradients in a run (reduced noise) against L^2 log(ndm)/(K m).

    One logarithm is enough where the proof of Lemma C.6 ends with two (S20).
    """
    n, m, d, K, T = 64, 8, 3, 16, 12
    work, trials = WORKLOADS[loss](d, m), context.scale(1400, 3000)
    told = problem(work)
    values = work.rows(context.rng("data"), trials, n)
    seen: list[Array] = []

    class WatchedGradients(MinibatchSGD):
        """Records how far each minibatch's mean gradient is from that of all users."""

        def gradients(self, run: Run[Batches], row: Batches, workload: Any, point: Array, users: Array) -> Array:
            q = super().gradients(run, row, workload, point, users)
            whole = workload.gradient(point[:, None], values).mean(axis=1)
            seen.append(((q.mean(axis=1) - whole) ** 2).sum(axis=1))
            return q

    algorithm = WatchedGradients(steps=T, K=K, tau_=4.0, **REDUCED_DIALS)
    run: Run[Any] = Run(algorithm.schedule(told, n), trials, context.rng("runs"))
    algorithm.execute(run, work, Fixed(values), np.zeros((1, d)))
    L = work.constants.lipschitz(2.0)
    bound = min(stated(label, L=L, n=n, d=d, m=m, K=K) for label in ("user_level/lem-3-5", "user_level/lem-c6"))
    verdict = risk.expectation(
        np.mean(seen, axis=0), bound, context.failure_probability, limit=(2 * (1 - K / n) * L) ** 2, quantity="variance"
    )
    numbers = {**verdict.numbers, "over L^2/(K m)": float(np.mean(seen)) * K * m / L**2}
    return with_budget(replace(verdict, numbers=numbers), algorithm, told, n)


@check("user_level/lem-3-5@derived", kind="accuracy", grid={"N": (3, 4), "m": (1, 2)})
def variance_of_a_minibatch_by_enumeration(context: Context, *, N: int, m: int) -> Verdict:
    """All data sets of fair signs and all subsets of K of N users: mean square deviation (1 - K/N) L^2/(K m)."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=N * m))).reshape(-1, N, m).mean(axis=2)
    values, wanted = [], []
    for K in range(1, N + 1):
        subsets = list(itertools.combinations(range(N), K))
        deviations = [(signs[:, list(s)].mean(axis=1) - signs.mean(axis=1)) ** 2 for s in subsets]
        values.append(float(np.mean(deviations)) + 1.0)
        wanted.append(stated("user_level/lem-3-5@derived", K=K, N=N, L=1.0, m=m) + 1.0)
    return agree(values, wanted, "one plus the variance")


@check("user_level/lem-3-5@derived", kind="symbolic", also=("user_level/lem-3-5", "user_level/lem-c6"))
def variance_by_inclusion_probabilities(context: Context) -> Verdict:
    """A user is in the minibatch with probability K/N, so its mean has variance v/(Km) and covariance v/(Nm) with the
    whole; the difference is (1 - K/N)v/(Km), below L^2 log(ndm)/(Km) by L^2 (log(ndm) - 1 + K/N)/(Km).
    """
    exact = explicit_of("user_level/lem-3-5@derived")
    printed = {f"below the order of {name}": order_of(f"user_level/{name}") for name in ("lem-3-5", "lem-c6")}
    names = {s.name: s for s in exact.free_symbols}
    K, N, L, m = (names[x] for x in "KNLm")
    each = L**2 / m  # variance of one user's mean gradient
    more = sp.Symbol("t", nonnegative=True)  # log(ndm) = 1 + t
    subset, whole, both = N * (K / N) * each / K**2, each / N, N * (K / N) * each / (K * N)
    return proved(
        {"variance of the difference": subset - 2 * both + whole - exact},
        {said: sp.simplify(order.replace(sp.log, lambda _: 1 + more) - exact) for said, order in printed.items()},
    )
