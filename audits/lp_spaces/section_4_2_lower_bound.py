"""Section 4.2: the lower bound of Theorem 5 and its hard instance."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import scipy

from dpcheck.algorithms.lp_spaces.hard_instances import lower_instance
from dpcheck.checks import Context, check
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.geometry import Ball
from dpcheck.harness.lower_bound import Fact
from dpcheck.harness.lower_bound import verdict as lower_bound_verdict
from dpcheck.harness.plans import answered, wrongly_answered
from dpcheck.harness.symbolic import proved
from dpcheck.symbols import L, epsilon, mu, n, omega
from dpcheck.verdicts import Verdict, consistent, differs

from .cases import (
    refuted_as_stated,
)
from .lemmas import (
    geometry_of,
)


@check("lp_spaces/thm-5@literal", kind="lower-bound", expect="refuted")
def bound_above_the_largest_risk(context: Context) -> Verdict:
    """Within the printed range of n, at d = 10^9, the bound exceeds what any output in C can lose."""
    at = {"d": 10**9, "n": 10, "epsilon": 1, "power": "3/2", "constant": "1/4"}
    return refuted_as_stated(context.label, "thm_5_range", given={"omega": math.sqrt(10**9 - 1) / 2}, **at)


@check("lp_spaces/thm-5@quantifiers", kind="lower-bound", expect="refuted")
def constant_algorithm(context: Context) -> Verdict:
    """A data set fixed before the algorithm is solved by the algorithm that returns its minimiser."""
    width = Ball(100, 0.5).gaussian_width()
    at = {"d": 100, "n": 10, "epsilon": 1, "power": "3/2"}
    return refuted_as_stated(context.label, "thm_5_quantifiers", given={"omega": width}, **at)


@check("lp_spaces/thm-5", kind="lower-bound")
def statistical_term_by_its_bayes_risk(context: Context) -> Verdict:
    """Signs of arcsine chances, as of the hard instance on ball and cube: no output, private or not, has less excess
    than the posterior mean, and that is 1/32 to 1/16 of the second term.
    """
    facts = []
    for size in (1, 10, 100, 1000, 10_000):
        seen = np.arange(size + 1)
        left = scipy.stats.beta(0.5 + seen, 0.5 + size - seen).var() @ scipy.stats.betabinom(size, 0.5, 0.5).pmf(seen)
        second = float(order_of(context.label).subs({omega: 0, n: size}))
        facts += [
            Fact(f"second term at n = {size}", second, r, c * left / 2, 1e-9) for r, c in (("<=", 32), (">=", 16))
        ]
    return lower_bound_verdict(facts)


@check("lp_spaces/thm-5", kind="transcription")
def range_of_theorem_5(context: Context) -> Verdict:
    """It speaks of n up to sqrt(d log(1/delta))/epsilon, of epsilon up to 1, and of delta from 2^-n up to 1/n alone."""
    at = {"n": 10, "d": 100, "epsilon": 0.5, "delta": 1e-2, "omega": 1.0}
    sides: dict[bool, tuple[dict[str, float], ...]] = {
        True: ({"n": 42}, {"epsilon": 1.0}, {"delta": 1.01 * 2.0**-10}, {"delta": 0.099}),
        False: ({"n": 43}, {"epsilon": 1.01}, {"delta": 0.99 * 2.0**-10}, {"delta": 0.1}),
    }
    asked = [
        (str(one), partial(stated, context.label, **{**at, **one}), legal) for legal in sides for one in sides[legal]
    ]
    return answered(wrongly_answered(asked), "it speaks of these on one side of each edge, and of none on the other")


BODIES = ("ball", "cube", "cross-polytope", "ellipsoid")


@check("lp_spaces/proc-lower-instance", kind="lower-bound", grid={"body": BODIES, "d": (9, 16)})
def facts_of_the_instance(context: Context, *, body: str, d: int) -> Verdict:
    """Records on the boundary of the body with their signs, diameter 1, gradients of norm at most 1, and the stated
    distance of 0 to the boundary: the geometry that Theorem 5 asks for. Of its bound, which speaks of every algorithm,
    it says nothing.
    """
    return lower_bound_verdict(geometry_of(lower_instance(body, d, 40, context.rng()), body, context.rng("directions")))  # type: ignore[arg-type]


@check("lp_spaces/proc-lower-instance", kind="accuracy", grid={"body": BODIES}, expect="consistent")
def signs_of_the_hard_instance(context: Context, *, body: str) -> Verdict:
    """Hidden chances follow the arcsine law (Massart), and signs of records their chances, independent of each other
    where a record has several (Hoeffding).
    """
    instances = [lower_instance(body, 60, 2000, context.rng(i)) for i in range(60)]  # type: ignore[arg-type]
    chances = np.concatenate([each.probabilities for each in instances])
    signs = np.concatenate([np.sign(each.records) for each in instances], axis=1)[:, np.isfinite(chances)]
    chances = chances[np.isfinite(chances)]
    law, level = np.sort(2 / np.pi * np.arcsin(np.sqrt(chances))), context.failure_probability / 3
    off = float(np.abs(law - (np.arange(len(law)) + 0.5) / len(law)).max())
    allowed = math.sqrt(math.log(2 / level) / (2 * len(law))) + 0.5 / len(law)
    counts = np.abs(signs).sum(axis=0)
    slack = np.sqrt(2 * math.log(2 * len(law) / level) / counts)
    worst = float((np.abs(signs.sum(axis=0) / counts - (2 * chances - 1)) / slack).max())
    apart = np.where(signs == 0, 0.0, signs - (2 * chances - 1))  # of mean 0, and at most 2
    apart = apart.reshape(len(signs), len(instances), -1)
    pairs = (apart[..., :-1] * apart[..., 1:]).mean(axis=2)  # of each record, which are independent
    shared = float(abs(pairs.mean()) / (8 * math.sqrt(math.log(2 / level) / (2 * pairs.size))))
    said = f"chances {off:.3g} off the arcsine law, {allowed:.3g} allowed; signs {worst:.3g} of what is allowed, "
    said += f"products of two {shared:.3g}"
    fields: dict[str, Any] = {"failure_probability": 3 * level, "severity": max(off / allowed, worst, shared)}
    if off > allowed or max(worst, shared) > 1:
        return differs(said, "sampled", **fields)
    return consistent(said, "sampled", notices=f"a law that is {2 * allowed:.3g} off, and fair signs", **fields)


@check("lp_spaces/claim-after-thm-5", kind="symbolic")
def private_terms_of_both_bounds(context: Context) -> Verdict:
    """The private term of Theorem 4, as derived, over that of Theorem 5, at L = 1 and curvature C_min²."""
    here = explicit_of("lp_spaces/claim-after-thm-5")
    (curvature,) = (symbol for symbol in here.free_symbols if symbol.name == "C_min")
    upper = order_of("lp_spaces/thm-4@derived").subs({L: 1, mu: curvature**2})
    bounds = (upper, order_of("lp_spaces/thm-5"))
    (private,), (least,) = ([term for term in bound.args if term.has(epsilon)] for bound in bounds)
    alone = order_of("lp_spaces/thm-5@literal")
    return proved({"ratio - claim": private / least - here, "the same term alone": private / alone - here})
