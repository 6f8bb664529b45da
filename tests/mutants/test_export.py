"""Mechanisms are written out as plain NumPy that draws what the originals draw, with what is true of them."""

import hashlib
import json
import math
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import dpcheck as dp
from dpcheck import exporting
from dpcheck.engine import collect
from dpcheck.errors import InvalidInput
from dpcheck.mutants import Mutant
from dpcheck.testing import kill_by_audit

FOLDER = pathlib.Path(__file__).parent
OF = {"held": collect.held_out, "catalogue": collect.of_no_paper}
MUTANTS = {name: [bug for f in of([FOLDER]) for bug in collect.content_of(f, (Mutant,))] for name, of in OF.items()}
DIGEST = """
import hashlib, json, sys
import numpy as np

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("dpcheck", "scipy"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
sys.path.insert(0, sys.argv[1])
import plain

def digest(module):
    drawn = (module.mechanism(side, np.random.default_rng(3), 40) for side in (module.data, module.neighbour))
    return hashlib.sha256(b"".join(np.asarray(outputs).tobytes() for outputs in drawn)).hexdigest()

print(json.dumps({row["name"]: digest(plain.load(row["name"])) for row in plain.TABLE}))
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "plain"
    held = {bug.name for bug in MUTANTS["held"]}
    exporting.export([*MUTANTS["catalogue"], *MUTANTS["held"]], held, folder)
    return folder


def digest(kill):
    drawn = (kill.mechanism(side, np.random.default_rng(3), 40) for side in (kill.data, kill.neighbour))
    return hashlib.sha256(b"".join(np.asarray(outputs).tobytes() for outputs in drawn)).hexdigest()


def test_the_package_draws_what_the_mechanisms_draw_without_dpcheck(exported):
    command = [sys.executable, "-I", "-c", DIGEST, str(exported.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    known = {bug.name: bug.kill for bugs in MUTANTS.values() for bug in bugs}
    assert found == {name: digest(known[name]) for name in found}


def test_the_table_has_what_is_claimed_and_what_is_true(exported):
    rows = {row["name"]: row for row in json.loads((exported / "table.json").read_text(encoding="utf-8"))}
    broken = [row for row in rows.values() if not row["private"]]
    assert len(broken) >= 120
    assert len(rows) - len(broken) >= 40
    assert sum(row["held_out"] for row in broken) >= 40
    assert all(row["fewest"] >= 2 and row["exact"] for row in broken)
    assert not any(row["fewest"] for row in rows.values() if row["private"])
    for row in rows.values():
        if row["claim"]["kind"] == "epsilon-delta":
            at = dict(map(tuple, row["exact"]))[row["claim"]["delta"]]
            within = at is not None and at <= row["claim"]["epsilon"] * (1 + 1e-9) + 1e-12
            assert within is row["private"], row["name"]
    half = rows["laplace-half-sensitivity"]
    assert dict(map(tuple, half["exact"]))[0.0] == pytest.approx(2.0, abs=1e-6)
    assert (half["module"], half["held_out"]) == ("laplace_half_sensitivity", False)


def mutant(mechanism, name="one"):
    kill = kill_by_audit(mechanism, np.zeros(1), np.ones(1), dp.PureDP(1.0), laws=lambda: ([0.2, 0.8], [0.8, 0.2]))
    return Mutant(name=name, bug="Nothing.", kill=kill)


def scaled(scale):
    def run(data, rng, trials):
        return data.sum() + rng.laplace(scale=scale, size=trials)

    return run


def test_two_lambdas_in_one_line_and_closures():
    first, second = (lambda d, r, t: r.random(t)), (lambda d, r, t: d.sum() + r.random(t))
    assert "mechanism = lambda d, r, t: r.random(t)" in exporting.plain(mutant(first))
    assert "mechanism = lambda d, r, t: d.sum() + r.random(t)" in exporting.plain(mutant(second))
    text = exporting.plain(mutant(scaled(math.inf)))
    assert "scale = float('inf')\n" in text
    assert text.index("scale = ") < text.index("def mechanism(")


def test_what_cannot_be_written_out(tmp_path, exported):
    with pytest.raises(InvalidInput, match="it needs dpcheck; use NumPy alone"):
        exporting.plain(mutant(lambda d, r, t: dp.PureDP(1.0)))
    law = object()
    with pytest.raises(InvalidInput, match="no number, array or function"):
        exporting.plain(mutant(lambda d, r, t: law))
    scale, inner = 2.0, scaled(1.0)
    with pytest.raises(InvalidInput, match="scale means two things"):
        exporting.plain(mutant(lambda d, r, t: scale * inner(d, r, t)))
    with pytest.raises(InvalidInput, match="no source of"):
        exporting.plain(mutant(eval("lambda d, r, t: r.random(t)")))
    with pytest.raises(InvalidInput, match="is there already"):
        exporting.export([], set(), exported)
    with pytest.raises(InvalidInput, match="no name of a package"):
        exporting.export([], set(), tmp_path / "my-mechanisms")
    assert not (tmp_path / "my-mechanisms").exists()
