"""O-forms that follow from derived constants, and corrected readings as the schedules carry them out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import sympy as sp
from scipy import integrate

from dpcheck.algorithms.user_level import PhasedERM, PhasedSGD
from dpcheck.algorithms.user_level.accelerated import multistage_ac_sa, stages
from dpcheck.checks import Context, by_size, check, unchecked
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.harness import accuracy, rate
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array
from dpcheck.symbols import D, L, d, lambda_, m, n, sigma
from dpcheck.verdicts import Verdict

from ._runs import plain

claim_c5 = unchecked(
    "user_level/claim-c5", "a remark on which version is called; what runs here is the multi-stage version"
)


@check("user_level/def-a2", kind="accuracy", grid={"b": (0.5, 3.0)})
def laplace_density_integrates_to_one(context: Context, *, b: float) -> Verdict:
    """The density of Definition A.2 over both half-lines."""
    total = 2 * integrate.quad(lambda t: stated("user_level/def-a2", t=t, b=b) if t > 0 else 1 / (2 * b), 0, 50 * b)[0]
    return agree([total], [1.0], "mass", tolerance=1e-8)


@check("user_level/alg-1@corrected", kind="privacy", grid={"epsilon": (1.0, 10.0), "d": (1, 100)})
def planned_noise_over_the_radius(context: Context, *, epsilon: float, d: int) -> Verdict:
    """sqrt(d) sigma_i/tau_i of every planned phase, up to the rounding of C: at most 1/C below the stated quotient."""
    users, samples, dlt = 400_000, 10, 1e-6
    rows = PhasedSGD().schedule(plain(d, samples, epsilon, dlt), users).phases
    wanted = stated("user_level/alg-1@corrected", n=users, m=samples, d=d, epsilon=epsilon, delta=dlt)
    found = [math.sqrt(d) * row.sigma / row.tau / wanted for row in rows]
    return agree(found, np.ones(len(found)), "sqrt(d) sigma_i/tau_i over the claim", tolerance=1 / rows[0].groups)


@check("user_level/thm-c3@corrected", kind="runtime", also=("user_level/thm-c3",))
def capped_minibatches_fit_and_pass(context: Context) -> Verdict:
    """The batch of Algorithm 3 for all N, T <= 40 and constants that make the printed K from 1 to far above N.

    Gradients of a phase over N m against the claim, K T/N >= 1, and K <= N.
    """
    left, right, told = [], [], plain(3, 4, 1.0, 1e-6)
    least = stated("user_level/thm-c3@corrected")
    for users, steps, c_batch in itertools.product(range(2, 41), range(1, 41), (1e-6, 1e-3, 0.03, 0.3, 500.0)):
        batch = PhasedERM(c_batch=c_batch).batch(told, users, steps, 1000)
        left += [batch / users, least]
        right += [1.0, batch * steps / users]
    covers = "the cap gives the first, and ceil(N/T) T >= N or a full batch the second; all N, T up to 40"
    return accuracy.never_violated(left, right, statement="K <= N and N <= K T", covers=covers)


@check("user_level/thm-c3@corrected", kind="runtime", grid={"m": (10, 10**4)})
def planned_minibatches_fit_and_pass(context: Context, *, m: int) -> Verdict:
    """Every phase of a planned Algorithm 3 with the printed constants: K_i <= n_i <= K_i T_i."""
    rows = PhasedERM().schedule(plain(10, m, 1.0, 1e-9), 400_000).phases
    left = [value for row in rows for value in (row.batch, row.users)]
    right = [value for row in rows for value in (row.users, row.batch * row.steps)]
    covers = f"all {len(rows)} phases of this plan"
    return accuracy.never_violated(left, right, statement="K_i <= n_i and n_i <= K_i T_i", covers=covers)


@check("user_level/fact-eq-15", kind="risk")
def equation_15_is_twice_the_derived_bound_at_most(context: Context) -> Verdict:
    """2 (L^2/(lambda N m) + lambda D^2) minus the derived bound is 3/2 lambda D^2 >= 0."""
    gap = sp.expand(2 * order_of("user_level/fact-eq-15") - explicit_of("user_level/fact-eq-15@derived"))
    return proved({"gap": gap - 3 * lambda_ * D**2 / 2}, {"gap >= 0": gap})


@check("user_level/fact-eq-17", kind="risk")
def equation_17_with_its_variance(context: Context) -> Verdict:
    """The derived 684 V^2/(lambda^2 T) at V^2 = d sigma^2 + L^2 log(ndm)/(Km) is 684 times the printed right side."""
    K = sp.Symbol("K", positive=True, seq=True)
    derived, printed = explicit_of("user_level/fact-eq-17@derived"), order_of("user_level/fact-eq-17")
    V = next(s for s in derived.free_symbols if s.name == "V")
    printed = printed.subs({s: K for s in printed.free_symbols if s.name == "K"})
    variance = d * sigma**2 + L**2 * sp.log(n * d * m) / (K * m)
    return proved({"quotient": sp.simplify(derived.subs(V, sp.sqrt(variance)) / printed - 684)})


@check(
    "user_level/lem-c4",
    kind="rate",
    grid={"T": by_size((200, 283, 400, 566, 800, 1131, 1600, 2263), (200, 400, 800, 1600, 3200, 6400, 12_800))},
    conclude=rate.conclude("T", axis="excess"),
    expect=("consistent", "undecided"),
)
def noise_floor_of_multistage_ac_sa(context: Context, *, T: int) -> dict[str, float]:
    """Mean excess over V^2/(lambda T) on a quadratic of condition number 10, V = 1, d = 5, after T steps."""
    curvatures, V, trials = np.geomspace(0.1, 1.0, 5), 1.0, context.scale(400, 2000)
    rng = context.rng()

    def oracle(x: Array) -> Array:
        return np.asarray(curvatures * x + V / math.sqrt(5) * rng.standard_normal(x.shape))

    start = np.ones((trials, 5))
    gap = float((curvatures / 2).sum())
    plan, _ = stages(T, gap=gap, variance=V**2, mu=0.1, smooth=1.0)
    end = multistage_ac_sa(oracle, start, mu=0.1, stages=plan, project=lambda x: x)
    excess = (curvatures * end**2).sum(axis=1) / 2
    bound = float(
        sp.N(
            order_of("user_level/lem-c4").subs(
                {
                    s: {"L": gap, "D": 1, "T": T, "lambda": 0.1, "H": 1, "V": V}[s.name]
                    for s in order_of("user_level/lem-c4").free_symbols
                }
            )
        )
    )
    return {"mean": float(excess.mean()), "se": float(excess.std()) / math.sqrt(trials), "bound": bound}
