"""The same seed gives the same bytes: in this process, in another one, under any hash seed, with any workers."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import sqlite3
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("audited.py")
spec = importlib.util.spec_from_file_location("audited", SCRIPT)
audited = importlib.util.module_from_spec(spec)
sys.modules["audited"] = audited
spec.loader.exec_module(audited)

CHECKS = """
import numpy as np

import dpcheck as dp
from dpcheck.checks import check

WORDS = np.array(["ash", "birch", "cedar", "elm", "fir", "oak"])

def words(data, rng, trials):
    return WORDS[(rng.gumbel(size=(trials, 6)) + data.sum() * np.arange(6) / 3).argmax(axis=1)]

def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)

@check(
    "toy/lem-2",
    kind="privacy",
    grid={"mechanism": ["words", "laplace"], "mode": ["fixed", "anytime"], "epsilon": [1.0, 4.0]},
    expect="undecided",
)
def audited(context, mechanism, mode, epsilon):
    run = {"words": words, "laplace": laplace}[mechanism]
    options = {"mode": mode, "seed": context.seed, "trials": 900, "failure_probability": context.failure_probability}
    return dp.audit(run, np.zeros(1), np.ones(1), dp.PureDP(epsilon), **options).verdict()
"""


def python(*arguments, hash_seed):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


ALL, SOME = tuple(audited.AUDITS), ("numbers", "numbers, refuted", "numbers, curve", "words", "transcripts")


@pytest.mark.parametrize(("mode", "names", "hash_seeds"), [("fixed", ALL, (1, 2)), ("anytime", SOME, (3,))])
def test_an_audit_says_the_same_in_this_process_and_in_others(mode, names, hash_seeds):
    here = audited.digests(mode, names)
    assert audited.digests(mode, only=["numbers", "words"]).items() <= here.items()
    assert len(set(here.values())) == len(here)
    for hash_seed in hash_seeds:
        assert json.loads(python(SCRIPT, mode, *names, hash_seed=hash_seed)) == here


def test_another_seed_says_something_else():
    results = [
        audited.dp.audit(audited.words, audited.ZERO, audited.ONE, audited.dp.PureDP(1.0), trials=1200, seed=seed)
        for seed in (11, 12)
    ]
    assert audited.told(results[0]) != audited.told(results[1])


def stored(path):
    """Cells and records of a store in the order of their keys, without times."""
    with sqlite3.connect(path) as store:
        cells = store.execute(
            "SELECT check_id, cell, size, seed, sources, measured FROM cells ORDER BY check_id, cell, sources"
        ).fetchall()
        records = [json.loads(text) for (text,) in store.execute("SELECT record FROM records ORDER BY check_id")]
    for record in records:
        del record["created"], record["seconds"]
    return cells, records


def test_a_run_stores_the_same_with_one_worker_and_with_two(project, tmp_path):
    root = project({"audits/toy.py": CHECKS})
    stores = []
    for workers, hash_seed in ((1, 1), (2, 2)):
        path = tmp_path / f"{workers}-{hash_seed}.db"
        options = ("--root", root, "--store", path, "--workers", workers, "--size", "smoke", "--seed", 5)
        python("-m", "dpcheck", "run", "toy/lem-2", *options, hash_seed=hash_seed)
        stores.append(stored(path))
    cells, records = stores[0]
    assert len(cells) == 8
    assert len(records) == 1
    assert stores[1] == stores[0]
