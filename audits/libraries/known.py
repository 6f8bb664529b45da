"""Violations that others reported in released libraries, found again by the auditor, each with its witness.

The data are the smallest on which a promise fails; nothing of a library is changed. `make libraries` makes the
environments in which the versions named here run.
"""

from __future__ import annotations

import importlib
import importlib.util
import runpy
from pathlib import Path
from typing import Any

import numpy as np

from dpcheck.checks import Context, check
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.verdicts import Verdict

from ._subjects import Mechanism, judged, named

FEW = (200, 400, 1_000)
"""Runs a side of what shows in a few runs, and takes milliseconds each."""


def regression(name: str, answer: Any, **settings: Any) -> Mechanism:
    """A model of diffprivlib fitted to records of one feature and a target."""

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> Any:
        model = getattr(importlib.import_module("diffprivlib.models"), name)
        return np.array([fit(model, data, rng) for _ in range(trials)])

    def fit(model: Any, data: Any, rng: np.random.Generator) -> Any:
        seeded = np.random.RandomState(rng.integers(2**32))
        return answer(model(**settings, random_state=seeded).fit(data[:, :1], data[:, 1]))

    return named("diffprivlib", name, mechanism)


@check("libraries/known-diffprivlib-linear-regression", kind="privacy", expect="refuted", needs=("diffprivlib==0.6.6",))
def squares_without_noise(context: Context) -> Verdict:
    """Features in [0, 100]: one of ten records has a feature of 100 in the place of 0."""
    made = {"epsilon": 1.0, "bounds_X": (0, 100), "bounds_y": (0, 1), "fit_intercept": False}
    mechanism = regression("LinearRegression", lambda model: model.coef_[0], **made)
    data = np.zeros((10, 2))
    data[0] = 1.0
    neighbour = data.copy()
    neighbour[1, 0] = 100.0
    return judged(context, mechanism, data, neighbour, PureDP(1.0), trials=FEW)


@check(
    "libraries/known-diffprivlib-logistic-regression", kind="privacy", expect="refuted", needs=("diffprivlib==0.6.6",)
)
def classes_of_the_data(context: Context) -> Verdict:
    """Labels 0 and 1: one of ten records has the label 2. The output is the number of rows of the coefficients."""
    mechanism = regression("LogisticRegression", lambda model: len(model.coef_), epsilon=1.0, data_norm=1.0)
    data = np.column_stack([np.full(10, 0.1), np.repeat([0.0, 1.0], 5)])
    neighbour = data.copy()
    neighbour[0, 1] = 2.0
    return judged(context, mechanism, data, neighbour, PureDP(1.0), trials=FEW)


@check(
    "libraries/known-datasynthesizer-distribution", kind="privacy", expect="refuted", needs=("DataSynthesizer==0.1.4",)
)
def noise_of_frequencies_on_counts(context: Context) -> Verdict:
    """A hundred records of two bits: one record removed. The outputs are the four noisy counts."""
    frame = importlib.import_module("pandas").DataFrame
    noisy = importlib.import_module("DataSynthesizer.lib.PrivBayes").get_noisy_distribution_of_attributes

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> Any:
        np.random.seed(rng.integers(2**32))  # noqa: NPY002  (what the library draws from)
        bits = frame(data.astype(int), columns=["a", "b"])
        return np.array([noisy(["a", "b"], bits, 1.0)["count"].to_numpy() for _ in range(trials)])

    named("DataSynthesizer", "get_noisy_distribution_of_attributes", mechanism)
    data = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (25, 1))
    return judged(context, mechanism, data, data[1:], PureDP(1.0), trials=FEW)


@check("libraries/known-smartnoise-covariance", kind="privacy", expect="refuted", needs=("smartnoise-synth==1.0.5",))
def covariances_of_what_was_not_clipped(context: Context) -> Verdict:
    """Two columns within [0, 1]: one of a hundred records is (1000, 1000) in the place of (1, 1)."""
    frame = importlib.import_module("pandas").DataFrame
    package = importlib.util.find_spec("snsynth")
    assert package is not None
    assert package.origin is not None
    # The file by itself: one beside it asks for a scikit-learn of long ago.
    covariances = runpy.run_path(str(Path(package.origin).parent / "models" / "dp_covariance.py"))["DPcovariance"]
    columns = ["a", "b"]

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> Any:
        np.random.seed(rng.integers(2**32))  # noqa: NPY002  (what the library draws from)
        made = covariances(len(data), columns, frame([[0.0, 0.0], [1.0, 1.0]]), 1.0)
        return np.array([made.release(frame(data, columns=columns)) for _ in range(trials)])

    named("smartnoise-synth", "DPcovariance", mechanism)
    data = np.tile([[0.0, 0.0], [1.0, 1.0]], (50, 1))
    neighbour = data.copy()
    neighbour[-1] = 1_000.0
    return judged(context, mechanism, data, neighbour, PureDP(1.0), trials=FEW)


MULTIPLIER, DELTA = 2.0, 0.01


@check("libraries/known-dp-accounting-replace-one", kind="privacy", expect="refuted", needs=("dp-accounting",))
def a_replaced_value_moves_a_sum_twice(context: Context) -> Verdict:
    """One value 1 replaced by -1, with Gaussian noise of twice the norm."""
    accounting = importlib.import_module("dp_accounting")
    orders = importlib.import_module("dp_accounting.rdp").RdpAccountant
    account = orders(neighboring_relation=accounting.NeighboringRelation.REPLACE_ONE)
    account.compose(accounting.GaussianDpEvent(noise_multiplier=MULTIPLIER))

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> Any:
        return data.sum() + rng.normal(scale=MULTIPLIER, size=trials)

    named("dp-accounting", "GaussianDpEvent", mechanism)
    claim = ApproxDP(account.get_epsilon(DELTA), DELTA)
    return judged(context, mechanism, np.array([1.0]), np.array([-1.0]), claim, trials=(20_000, 100_000, 500_000))


@check("libraries/known-opacus-batch-size", kind="privacy", expect="refuted", needs=("opacus==1.5.4",))
def noise_tells_the_number_of_records(context: Context) -> Verdict:
    """Four records or three, batches of three, a thousand parameters: the size of a step, all gradients being zero."""
    torch, opacus = importlib.import_module("torch"), importlib.import_module("opacus")
    data = torch.utils.data

    def engine(records: int) -> Any:
        zeros = data.TensorDataset(torch.zeros(records, 1_000), torch.zeros(records, 1))
        model = torch.nn.Linear(1_000, 1, bias=False)
        torch.nn.init.zeros_(model.weight)
        private = opacus.PrivacyEngine()
        parts = private.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=data.DataLoader(zeros, batch_size=3),
            noise_multiplier=2.0,
            max_grad_norm=1.0,
        )
        return private, *parts

    def step(records: int) -> float:
        """The root of the mean square of the parameters after the first batch that is not empty; 0 where all are."""
        _, model, optimizer, loader = engine(records)
        features, targets = next((batch for batch in loader if len(batch[0])), (None, None))
        if features is None:
            return 0.0
        torch.nn.functional.mse_loss(model(features), targets).backward()
        optimizer.step()
        return float(torch.cat([p.flatten() for p in model.parameters()]).square().mean().sqrt())

    def mechanism(records: Any, rng: np.random.Generator, trials: int) -> Any:
        torch.manual_seed(int(rng.integers(2**31)))
        return np.array([step(len(records)) for _ in range(trials)])

    named("opacus", "PrivacyEngine", mechanism)
    return judged(context, mechanism, np.zeros(4), np.zeros(3), _one_epoch(engine), trials=FEW)


def _one_epoch(engine: Any) -> ApproxDP:
    """What the engine's accountant says of a whole pass over four records, which is more than one step."""
    private, model, optimizer, loader = engine(4)
    loss = importlib.import_module("torch").nn.functional.mse_loss
    for features, targets in loader:
        optimizer.zero_grad()
        if len(features):
            loss(model(features), targets).backward()
            optimizer.step()
    return ApproxDP(private.get_epsilon(DELTA), DELTA)
