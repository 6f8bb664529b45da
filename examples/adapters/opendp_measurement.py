"""A bounded sum of OpenDP against what its own map claims, and against half of that.

pip install '../..[subjects]' && python opendp_measurement.py
"""

import numpy as np
import opendp.prelude as odp

import dpcheck as dp
from dpcheck.adapters import opendp

odp.enable_features("contrib")
SPACE = odp.vector_domain(odp.atom_domain(bounds=(0, 10))), odp.symmetric_distance()
SUM = SPACE >> odp.t.then_sum() >> odp.m.then_laplace(scale=10.0)
DATA, NEIGHBOUR = np.array([0, 5, 10]), np.array([0, 5])


def audited(claim: dp.Guarantee, trials: int = 2000) -> dp.AuditResult:
    mechanism = opendp.mechanism(SUM, name="OpenDP's bounded sum")
    return dp.audit(mechanism, DATA, NEIGHBOUR, claim, trials=trials, adjacency="add-remove")


if __name__ == "__main__":
    claim = opendp.claim(SUM, d_in=1)
    print(audited(claim))
    print(audited(dp.PureDP(claim.epsilon_at(0.0) / 2)))
