"""`--workers` of `dpcheck audit` and `attack`: slow mechanisms from the shell."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairs import PAIR

from dpcheck import processes
from dpcheck.cli import slow

Cli = Callable[..., Any]
MECHANISMS = """
import os, pathlib
def leaky(data, rng):
    return data.mean() + rng.laplace(scale=0.4 / len(data))
def fast(data, rng, trials):
    return data.mean() + rng.laplace(scale=1 / len(data), size=trials)
def dies_later(data, rng, trials):
    calls = pathlib.Path("calls")
    calls.write_text(str(int(calls.read_text()) + trials if calls.exists() else trials))
    if int(calls.read_text()) > 4000:
        os._exit(9)
    return rng.random(trials)
"""


@pytest.fixture
def here(beside_pair: Path) -> Path:
    (beside_pair / "slow.py").write_text(MECHANISMS)
    return beside_pair


def test_the_same_words_with_one_and_with_two(cli: Cli, here: Path) -> None:
    said = []
    for workers in ("1", "2"):
        done = cli(
            "audit", "slow.py:leaky", *PAIR, "--per-call", "--trials", "800", "--workers", workers, "--json", code=1
        )
        plain = json.loads(done.stdout)
        said.append({name: value for name, value in plain.items() if "seconds" not in name})
        assert "runs a second" in done.stderr
        assert "1,600 runs take about" in done.stderr
        assert "at the end a true ε of 1." in done.stderr
    assert said[0] == said[1]


def test_many_runs_are_told_or_refused_beforehand_without_workers_too(
    cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("audit", "slow.py:leaky", *PAIR, "--per-call")
    with monkeypatch.context() as small:
        small.setattr(processes, "physical_memory", lambda: 2**30)
        told = cli(*asked, "--trials", "999999999", code=2)
    assert told.stdout == ""
    assert "GiB where this machine has 1: take fewer trials" in told.stderr
    asked = (*asked, "--trials", "800", "--json")
    plain = cli(*asked, code=1)
    monkeypatch.setattr(slow, "MANY", 1600)
    done = cli(*asked, code=1)
    assert "1,600 runs take about" in done.stderr
    assert plain.stderr == ""
    one, two = (
        {name: value for name, value in json.loads(each.stdout).items() if "seconds" not in name}
        for each in (plain, done)
    )
    assert one == two


def test_kept_outputs_are_the_same_too(cli: Cli, here: Path) -> None:
    for workers in ("1", "2"):
        run = ("--per-call", "--trials", "800", "--workers", workers, "--keep", f"{workers}.npz")
        cli("audit", "slow.py:leaky", *PAIR, *run, code=1)
    one, two = (np.load(f"{workers}.npz") for workers in ("1", "2"))
    assert all((one[name] == two[name]).all() for name in ("data", "neighbour"))


@pytest.mark.parametrize("more", [(), ("--workers", "2")])
def test_what_no_machine_can_run_is_refused_in_a_sentence(cli: Cli, here: Path, more: tuple[str, ...]) -> None:
    asked = ("--mode", "anytime", "--max-samples", str(10**14))
    done = cli("audit", "slow.py:fast", *PAIR, *asked, *more, code=2)
    assert "100,000,000,000,000 runs of fast would take" in done.stderr
    assert "or more workers" in done.stderr
    assert "Traceback" not in done.output


def test_a_worker_that_dies_loses_nothing_of_an_anytime_audit(cli: Cli, here: Path) -> None:
    asked = ("--mode", "anytime", "--trials", "20000", "--workers", "1")
    done = cli("audit", "slow.py:dies_later", *PAIR, *asked, code=2)
    assert "ended, twice: exit code 9" in done.stderr
    assert "runs of slow.py:dies_later are kept; --resume goes on" in done.stderr


def test_workers_run_what_audits_and_nothing_else(cli: Cli, here: Path) -> None:
    done = cli("attack", "slow.py:fast", *PAIR, "--workers", "2", "--only", "support", "--only", "replayed-noise")
    assert done.stdout.index("support") < done.stdout.index("replayed noise")
    assert "2 attacks on 1-DP" in done.stdout
    np.save("x.npy", np.zeros(100))
    done = cli("audit", "--outputs", "x.npy", "x.npy", "--epsilon", "1", "--workers", "2", code=2)
    assert "--workers does not go with --outputs" in done.stderr
