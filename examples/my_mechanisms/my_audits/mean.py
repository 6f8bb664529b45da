"""The claim of the documentation, and the check of it; `dpcheck run my_audits/` knows it as well."""

from my_mechanisms import private_mean

import dpcheck as dp
from dpcheck.checks import Context, check
from dpcheck.claims import Paper
from dpcheck.verdicts import Verdict

PAPER = Paper(key="my_mechanisms", title="My mechanisms", authors="Me", reference="0.1")
private = PAPER.claim("my_mechanisms/thm-mean", "Mean", "private_mean is ε-differentially private.", kind="theorem")


@check("my_mechanisms/thm-mean", "privacy", grid={"epsilon": [0.5, 2.0]})
def audited(context: Context, epsilon: float) -> Verdict:
    """On the pair of 20 records that it tells apart best."""
    data, neighbour = dp.testing.worst_pairs(n=20)
    mechanism = dp.vectorize(lambda records, rng: private_mean(records, epsilon, rng))
    return context.audit(mechanism, data, neighbour, dp.PureDP(epsilon), trials=context.scale(5_000, 50_000))
