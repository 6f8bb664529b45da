"""Mirror descent as one run of a hundred steps: what its certificate assumes, actual runs have."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from checkout import ROOT, collected

from dpcheck import certificates
from dpcheck.certificates import checker
from dpcheck.certificates.localised import mirror_run
from dpcheck.certificates.runs import StatementRun
from dpcheck.certificates.statements import CERTIFIED

LABELS = ("l1_geometry/lem-3-1", "l1_geometry/lem-3-2@corrected")


def long_run(label: str) -> StatementRun:
    (found,) = [run for run in CERTIFIED[label] if run.name.endswith("one run")]
    return found


def lived(eta: float, T: int, simplex: bool, seed: int) -> dict[str, np.ndarray]:
    """Entropic steps on the simplex in the l1 norm, or Euclidean steps on the unit ball, on answers of dual norm 1."""
    rng = np.random.default_rng(seed)
    d = 3

    def h(x: np.ndarray) -> float:
        return float(x @ np.log(x)) if simplex else float(x @ x) / 2

    def slope(x: np.ndarray) -> np.ndarray:
        return np.log(x) + 1 if simplex else x

    size = {True: lambda v: np.abs(v).sum(), False: np.linalg.norm}[simplex]
    x = np.full(d, 1 / d) if simplex else np.zeros(d)
    y = np.array([0.7, 0.2, 0.1]) if simplex else np.array([0.6, 0.0, 0.8])
    found = {"y": y, "hy": np.array([h(y)])}
    for t in range(T + 1):
        found |= {f"x{t}": x, f"h{t}": np.array([h(x)]), f"d{t}": slope(x)}
        if t == T:
            return found
        g = rng.normal(size=d) + 1.0
        g /= np.abs(g).max() if simplex else np.linalg.norm(g)
        if simplex:
            z = x * np.exp(-eta * g)
            z /= z.sum()
        else:
            z = x - eta * g
            z /= max(1.0, float(np.linalg.norm(z)))
        found |= {f"g{t}": g, f"r{t + 1}": np.array([size(x - z)])}
        x = z
    raise AssertionError


@pytest.mark.parametrize("simplex", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_actual_runs_satisfy_every_line(simplex, seed):
    T, eta = 20, Fraction(1, 10)
    run = checker.ExactRun(mirror_run(["eta"] * T, [1] * T), {"eta": eta, "L": Fraction(1), "R": Fraction(2)})
    values = lived(float(eta), T, simplex, seed)
    given = {}
    for name, form in run.names.items():
        if name in values:
            ((key, one),) = form.items()
            assert one == 1
            given[key[1] if isinstance(key, tuple) else key] = list(map(float, values[name]))
    assert {*given} == {*range(1, run.size)}
    assert max(float(row.at(given)) for row in run.rows) <= 1e-12
    assert float(run.quantity.at(given)) <= 2 / (0.1 * T) + 0.05


@pytest.mark.parametrize("label", LABELS)
def test_it_is_small_and_no_line_of_it_is_spare(label):
    """Without the convexity of the map, the size of the answers, or optimality, the same multipliers prove nothing."""
    path = certificates.path_of(label, ROOT / "reports")
    assert path.stat().st_size < 2**20
    one = long_run(label)
    (stored,) = [c for c in certificates.load(path)["certificates"] if c["instance"] == one.name]
    bound, _ = checker.check(stored)
    assert bound == Fraction(stored["bound"]) <= one.claimed(collected().claims[label])
    for number in list(stored["multipliers"])[::37]:
        fewer = {k: v for k, v in stored["multipliers"].items() if k != number}
        with pytest.raises(ValueError, match=r"semidefinite|cancel"):
            checker.check({**stored, "multipliers": fewer})


@pytest.mark.parametrize("wrong", ["1/4*(r", "2*eta*g"])
def test_wrong_lines_are_not_proved(wrong):
    """A map that bends half as much, or steps twice as long: the stored multipliers do not prove the bound."""
    label = LABELS[0]
    one = long_run(label)
    (stored,) = [
        c
        for c in certificates.load(certificates.path_of(label, ROOT / "reports"))["certificates"]
        if c["instance"] == one.name
    ]
    old = {"1/4*(r": "1/2*(r", "2*eta*g": "eta*g"}[wrong]
    with pytest.raises(ValueError, match=r"semidefinite|cancel"):
        checker.check({**stored, "problem": [line.replace(old, wrong) for line in stored["problem"]]})
