"""The projection onto the cone over a cross-polytope, which the checks of Theorem 2 use: a solver is referee."""

from __future__ import annotations

import importlib.util
import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

from dpcheck.seeds import stream

FOLDER = Path(__file__).resolve().parents[2] / "audits" / "lp_spaces"


def instances() -> types.ModuleType:
    package = types.ModuleType("audits_lp_spaces_cone")
    package.__path__ = [str(FOLDER)]
    sys.modules[package.__name__] = package
    spec = importlib.util.spec_from_file_location(f"{package.__name__}._instances", FOLDER / "_instances.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_against_a_solver(scale: float) -> None:
    """{(t, v): |v|_2 <= t <= 1, |v|_1 <= 1} with v = a - b, a, b >= 0, which makes every constraint smooth."""
    project = instances().project_cone
    for h in scale * stream(0, "cone over the cross-polytope", scale).standard_normal((8, 5)):
        found = optimize.minimize(
            lambda x, h=h: (x[0] - h[0]) ** 2 + ((x[1:5] - x[5:] - h[1:]) ** 2).sum(),
            np.concatenate([[0.5], np.full(8, 0.01)]),
            bounds=[(0, 1)] + [(0, None)] * 8,
            constraints=[
                {"type": "ineq", "fun": lambda x: 1 - x[1:].sum()},
                {"type": "ineq", "fun": lambda x: x[0] - math.sqrt(((x[1:5] - x[5:]) ** 2).sum() + 1e-18)},
            ],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert float(project(h)) == pytest.approx(float(found.x[0]), abs=2e-3)
