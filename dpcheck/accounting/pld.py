"""Privacy loss distributions, through the optional package dp-accounting (extra `[accounting]`).

Every law is handed over at its true neighbour distance, as a noise multiplier sigma / sensitivity under add-or-remove;
replace-one is never asked for, because the package's Rényi accountant does not double the sensitivity for it.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy  # `scipy.stats` takes a second: loaded on first use

from dpcheck.accounting.account import Account, Stretch
from dpcheck.accounting.amplification import copies
from dpcheck.accounting.parts import Part, Plain
from dpcheck.errors import InvalidInput, MissingExtra
from dpcheck.interfaces import BelowLaplace, GaussianPrivate, Law

STEP = 1e-4
"""Width of a cell of privacy loss; epsilons are rounded up by at most about this much a release."""


def _package() -> Any:
    try:
        return importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError as error:
        raise MissingExtra("privacy loss distributions", "accounting") from error


def of_law(law: Law, sensitivity: float, count: int = 1, step: float = STEP) -> Any:
    """The distribution of `count` uses of a law at its worst, rounded so that epsilons are upper bounds.

    Gaussian laws (those with a `mu`) exactly, laws that are `below_laplace` as Laplace noise, other pure laws as
    randomised response.

    Raises:
        InvalidInput: the law is neither pure nor Gaussian.
        MissingExtra: dp-accounting is not installed.
    """
    package = _package()
    pure = law.pure(sensitivity)
    if isinstance(law, GaussianPrivate):
        made = package.from_gaussian_mechanism(1 / law.mu(sensitivity, 1), value_discretization_interval=step)
    elif not math.isfinite(pure):
        raise InvalidInput(f"{law!r} is neither pure nor Gaussian DP; no privacy loss distribution is known for it")
    elif isinstance(law, BelowLaplace):
        made = package.from_laplace_mechanism(1 / pure, value_discretization_interval=step)
    else:
        made = package.from_privacy_parameters(
            importlib.import_module("dp_accounting.pld.common").DifferentialPrivacyParameters(pure, 0.0),
            value_discretization_interval=step,
        )
    return made.self_compose(count) if count > 1 else made


def copies_pair(sigma: float, size: int, rows: int, step: float = STEP) -> Any:
    """One noisy mean of `size` draws with replacement, a record +1 against -1 among zeros, in units of one draw.

    The pair is K + sigma N against -K + sigma N with K ~ Bin(size, 1 / rows); its loss grows with the output, so its
    distribution follows from tail probabilities.
    """
    if not (math.isfinite(sigma) and sigma > 0):
        raise InvalidInput(f"sigma must be a finite number > 0, got {sigma!r}")
    package = _package()
    chances, _ = copies(size, rows)
    k = np.arange(len(chances))
    log_chances = np.log(np.maximum(chances, 1e-320))

    def loss(x: float) -> float:
        shift = log_chances - k * k / (2 * sigma * sigma)
        up, down = shift + k * (x / sigma**2), shift - k * (x / sigma**2)
        return float(np.logaddexp.reduce(up) - np.logaddexp.reduce(down))

    reach = float(k[-1]) + 45 * sigma

    def cdf(value: float) -> float:
        if value >= loss(reach):
            return 1.0
        if value <= loss(-reach):
            return 0.0
        x = scipy.optimize.brentq(lambda y: loss(y) - value, -reach, reach, xtol=1e-14 * reach)
        return float(chances @ scipy.stats.norm.cdf((x - k) / sigma))

    return package.create_from_cdf(cdf, value_discretization_interval=step)


def of_stretch(stretch: Stretch, step: float = STEP) -> Any:
    """The distribution of everything that one stretch of records is charged for; no amplification.

    Raises:
        InvalidInput: some part is sampled, or neither pure nor Gaussian.
    """
    made = [_of_part(part, step) for part in stretch.parts]
    total = made[0]
    for other in made[1:]:
        total = total.compose(other)
    return total


def _of_part(part: Part, step: float) -> Any:
    if not isinstance(part, Plain):
        raise InvalidInput(f"a privacy loss distribution of {type(part).__name__} releases is not supported")
    (_, times), total = part.uses()[0], part.law.pure(part.sensitivity, part.count)
    # A law that charges all its uses together is one mechanism of that epsilon.
    count = part.count if math.isinf(total) or times == part.count else 1
    return of_law(part.law, part.sensitivity, count, step)


def epsilon(spent: Account, delta: float, step: float = STEP) -> float:
    """Epsilon at `delta` of an account, over its worst stretch, by privacy loss distributions.

    Often below `Account.epsilon`, which composes pure laws as randomised response.
    """
    values: Sequence[float] = [
        math.inf if delta < s.failure else float(of_stretch(s, step).get_epsilon_for_delta(delta - s.failure))
        for s in spent.stretches
    ]
    return max(values, default=0.0)


def delta(spent: Account, epsilon: float, step: float = STEP) -> float:
    """delta at `epsilon` of an account, over its worst stretch, by privacy loss distributions."""
    values = [min(1.0, s.failure + float(of_stretch(s, step).get_delta_for_epsilon(epsilon))) for s in spent.stretches]
    return max(values, default=0.0)
