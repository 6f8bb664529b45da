"""`import dpcheck as dp`: every name answers, whatever else has been imported."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import dpcheck as dp

SHADOWED = sorted({module.name for module in pkgutil.iter_modules(dp.__path__)} & set(dp._HOME_OF))


def said(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_which_names_are_also_those_of_modules() -> None:
    assert SHADOWED == ["algorithms", "claims"]


@pytest.mark.parametrize("first", ["", "import dpcheck.algorithms.tsybakov", "from dpcheck.algorithms import tsybakov"])
def test_algorithms(first: str) -> None:
    assert said(f"{first}\nimport dpcheck as dp\nprint('tsybakov/alg-3' in dp.algorithms())") == "True\n"


@pytest.mark.parametrize("first", ["import dpcheck.claims", "from dpcheck.claims import Claim"])
def test_claims(first: str) -> None:
    code = f"{first}\nimport dpcheck as dp\nprint(len(dp.claims('tsybakov', kind='theorem')) > 5)"
    assert said(code) == "True\n"


def test_the_modules_are_modules_still() -> None:
    code = """
import dpcheck as dp
dp.claims("tsybakov"), dp.algorithms()
import dpcheck.algorithms.tsybakov as one
import dpcheck.claims as two
from dpcheck import algorithms, claims
print(one.ALGORITHMS[0].label.partition("/")[0], two.Claim is claims.Claim is dp.Claim, algorithms.tsybakov is one)
"""
    assert said(code) == "tsybakov True True\n"


def test_every_name_is_there() -> None:
    assert all(getattr(dp, name) is not None for name in dp.__all__)


def test_functions_that_use_it_can_be_sent_to_other_processes() -> None:
    """As joblib and dask send what a script or a notebook defines, with the modules it names."""
    code = """
import dpcheck as dp, dpcheck.claims as shadowed
import cloudpickle
sent = cloudpickle.loads(cloudpickle.dumps(lambda: (dp.PureDP(0.5).epsilon, shadowed.Claim is dp.Claim)))
print(sent(), sent.__globals__["dp"] is dp)
"""
    assert said(code) == "(0.5, True) True\n"
