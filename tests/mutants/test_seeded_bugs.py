"""Every mutant of the catalogue falls at standard size, no look-alike is flagged, and the catalogue is complete."""

import pathlib

import pytest

from dpcheck.checks import Context
from dpcheck.engine import collect
from dpcheck.mutants import Kill, Mutant

FOLDER = pathlib.Path(__file__).parent / "catalogue"


def collected():
    return [bug for file in collect.files(FOLDER) for bug in collect.content_of(file, (Mutant,))]


MUTANTS = collected()


def test_size_of_the_catalogue():
    names = [m.name for m in MUTANTS]
    assert len(set(names)) == len(names)
    assert sum(not m.lookalike for m in MUTANTS) >= 40
    assert sum(m.lookalike for m in MUTANTS) >= 10


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_mutant(mutant):
    # At the failure probability of a check (2e-6), so that a flagged look-alike is no accident.
    result = mutant.kill(Context(mutant.about or "mutants/catalogue", mutant.name, {}, "standard"))
    assert isinstance(result, Kill)
    assert result.killed != mutant.lookalike, f"{mutant.name}: {result}"
    assert result.minimum is None or result.samples == 0 or result.minimum <= result.samples
