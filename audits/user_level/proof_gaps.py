"""Steps of the proofs of Theorems C.1 and C.3 that do not follow as printed; the conclusions stand or are open."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from dpcheck.checks import Context, check
from dpcheck.engine.statements import stated, unassumed
from dpcheck.harness import accuracy
from dpcheck.harness.refutation import witnessed
from dpcheck.verdicts import Verdict

from ._statements import difference_of_laplace, log_ratio


@check("user_level/thm-c1@dimension", kind="privacy", expect="refuted")
def printed_minibatch_against_the_proof(context: Context) -> Verdict:
    """K_1 at n = 10^6, m = 1, d = 10^12, epsilon = 1, delta = 10^-9, q = 1/20, T = 10^30, against the proof's need."""
    users, dims, steps = 10**6, 10**12, 10**30
    first = (1 - 2**-0.05) * users * 2**-0.05
    found = 500 * log_ratio(first**2, 1.0, 1e-9) * (1 + first / math.sqrt(steps * math.log(1e9)))
    claimed = stated("user_level/thm-c1@dimension", n=users, m=1, d=dims, epsilon=1.0, delta=1e-9, q=0.05)
    at = {"n": users, "m": 1, "d": dims, "epsilon": 1, "delta": "1/1000000000", "q": "1/20", "T": steps}
    return accuracy.never_violated(
        claimed,
        found,
        statement="500 log(nmd e^epsilon/delta)/epsilon <= K_1",
        witness=lambda _: witnessed("user_level/thm-c1@dimension", "thm_c1_dimension", claimed, found, **at),
    )


@check("user_level/thm-c1@conditional", kind="privacy", grid={"epsilon": (1, 20)}, expect="refuted")
def sampled_users_given_the_bit(context: Context, *, epsilon: int) -> Verdict:
    """All 252 samples of 5 of 10 users, one of whom lies apart: P(it was sampled | the test passed) against 1/2."""
    passed = {True: 0.0, False: 0.0}
    for some in itertools.combinations(range(10), 5):
        score = 17 / 5 if 0 in some else 5.0
        tail = difference_of_laplace(abs(score - 4), 16 / epsilon, 8 / epsilon)
        passed[0 in some] += 1 - tail if score >= 4 else tail
    found, claimed = passed[True] / sum(passed.values()), stated("user_level/thm-c1@conditional", K=5, N=10)
    return accuracy.never_violated(
        claimed,
        found,
        statement="K/N <= P(sampled | the test passed)",
        witness=lambda _: witnessed(
            "user_level/thm-c1@conditional", "thm_c1_conditional", claimed, found, N=10, K=5, epsilon=epsilon
        ),
    )


@check("user_level/thm-c3@union", kind="risk", grid={"T": (100, 10**6)}, expect="refuted")
def union_over_the_steps(context: Context, *, T: int) -> Verdict:
    """T_1 delta at delta = 1/(2nm), n = 10^6, m = 100, against 1/(nm); the additive risk against 1/sqrt(nm)."""
    size = 10**8
    found, claimed = T * 0.5 / size, stated("user_level/thm-c3@union", n=1e6, m=100.0, epsilon=1.0, delta=0.5 / size)
    verdict = accuracy.never_violated(
        found,
        claimed,
        statement="T_1 delta <= 1/(nm)",
        witness=lambda _: witnessed(
            "user_level/thm-c3@union", "thm_c3_union", claimed, found, n=10**6, m=100, delta=f"1/{2 * size}", T=T
        ),
    )
    numbers = {**verdict.numbers, "additive risk over LR/sqrt(nm)": found * math.sqrt(size)}
    return replace(verdict, numbers=numbers)


@check("user_level/thm-c3@weight", kind="risk", expect="refuted")
def weight_of_the_first_phase(context: Context) -> Verdict:
    """2^p at n = 10^9, m = 10^600, epsilon = d = 1, delta = 1/(2nm), the best q; and at m = n."""
    q = math.log2(1 + 1 / math.log2(1e9))
    found, usual = (2 ** (3 * q + 2.5 + log_m / 18) for log_m in (600, 9))
    claimed = unassumed("user_level/thm-c3@weight")  # m is beyond float64; the verifier checks every hypothesis
    verdict = accuracy.never_violated(
        found,
        claimed,
        statement="2^p <= 64",
        witness=lambda _: witnessed("user_level/thm-c3@weight", "thm_c3_weight", claimed, found, n=10**9, m=10**600),
    )
    return replace(verdict, numbers={**verdict.numbers, "2^p at m = n": usual})
