"""Every mutant of the catalogue falls at standard size, no look-alike is flagged, and the catalogue is complete."""

import pathlib

import numpy as np
import pytest

from dpcheck.auditing.exact import exact_epsilon
from dpcheck.checks import Context
from dpcheck.engine import collect
from dpcheck.mutants import Kill, Mutant
from dpcheck.testing import AuditKill

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


def known_laws():
    kills = {m.name: m.kill for m in MUTANTS if isinstance(m.kill, AuditKill)}
    return {name: kill for name, kill in kills.items() if kill.laws is not None}


LAWS = known_laws()


@pytest.mark.parametrize("name", LAWS)
def test_laws_give_the_exact_epsilon(name):
    kill = LAWS[name]
    p, q = (np.asarray(law) / np.sum(law) for law in kill.laws())
    assert [float(np.sum(law)) for law in kill.laws()] == pytest.approx([1.0, 1.0], abs=1e-6)
    found = exact_epsilon(p, q, kill.claim.delta)
    assert found > kill.claim.epsilon
    if kill.exact_epsilon is not None and np.isfinite(found):
        assert found == pytest.approx(kill.exact_epsilon, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("laplace-bounds-from-data", lambda y: np.searchsorted(np.linspace(-700, 800, 30_001), 20 * y)),
        ("laplace-clipped-to-data-range", lambda y: (y > 0.5).astype(int)),
        ("geometric-without-zero", lambda y: np.clip(y + 40, 0, 80)),
        ("stopping-on-the-bare-objective", lambda y: np.searchsorted(np.linspace(-20, 21, 4101), y)),
        ("divided-by-realised-batch-size", lambda y: np.searchsorted(np.linspace(2, 18, 2001), y)),
        ("sampling-rate-off-by-ten", lambda y: np.searchsorted(np.linspace(-4, 5, 2001), y)),
        ("sparse-vector-threshold-redrawn", lambda y: y @ 2 ** np.arange(9, -1, -1)),
        (
            "sparse-vector-answer-released",
            lambda y: 600 * y[:, 0] + np.clip(np.floor((y[:, 1] + 60) / 0.2), 0, 599),
        ),
        ("noisy-max-value-released", lambda y: np.searchsorted(np.linspace(-12, 40, 5201), y[:, 1])),
    ],
)
def test_laws_are_those_of_the_mechanisms(name, cell):
    kill, runs = LAWS[name], 100_000
    for data, law in zip((kill.data, kill.neighbour), kill.laws(), strict=True):
        expected = runs * np.asarray(law)
        place = np.asarray(cell(kill.mechanism(data, np.random.default_rng(3), runs))).astype(int)
        seen = np.bincount(place, minlength=len(expected))
        often = expected > 20
        squares = float(((seen - expected)[often] ** 2 / expected[often]).sum())
        freedom = int(often.sum())
        # Five standard deviations of chi-squared: probability below 1e-5; what is rare is checked together.
        assert squares < freedom + 5 * np.sqrt(2 * freedom) + 5
        assert abs(seen[~often].sum() - expected[~often].sum()) <= 5 * np.sqrt(expected[~often].sum() + 1) + 5
