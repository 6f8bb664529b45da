"""A mechanism and a model of diffprivlib, with and without the bounds that the model needs.

pip install '../..[subjects]' && python diffprivlib_model.py
"""

import warnings

import numpy as np
from diffprivlib.mechanisms import Laplace
from diffprivlib.models import GaussianNB

import dpcheck as dp
from dpcheck.adapters import diffprivlib

LAPLACE = diffprivlib.mechanism(lambda state: Laplace(epsilon=1.0, sensitivity=1.0, random_state=state))
BOUNDED = diffprivlib.model(
    lambda state: GaussianNB(epsilon=1.0, bounds=(0.0, 1.0), random_state=state),
    lambda model: model.theta_.ravel(),
    name="GaussianNB",
)
FROM_THE_DATA = diffprivlib.model(
    lambda state: GaussianNB(epsilon=1.0, random_state=state),
    lambda model: model.theta_.ravel(),
    name="GaussianNB without bounds",
)
DATA = np.array([[x / 10, x % 2] for x in range(10)])
NEIGHBOUR = DATA.copy()
NEIGHBOUR[4, 0] = 1.0


def audited(mechanism, trials: int = 600) -> dp.AuditResult:
    pair = (np.zeros(1), np.ones(1)) if mechanism is LAPLACE else (DATA, NEIGHBOUR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dp.audit(mechanism, *pair, dp.PureDP(1.0), trials=trials)


if __name__ == "__main__":
    for mechanism in (LAPLACE, BOUNDED):
        print(audited(mechanism))
