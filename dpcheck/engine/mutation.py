"""Runs the seeded bugs: which of them some check finds, and whether a correct look-alike is flagged."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpcheck.checks import Context, Size
from dpcheck.engine import catalogue as catalogues
from dpcheck.engine import collect
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.layout import Layout
from dpcheck.errors import DpcheckError
from dpcheck.mutants import Kill, Mutant

POWER = 0.95
"""Share of repetitions in which a bug must be found."""


@dataclass(frozen=True)
class SeededTrial:
    """What became of one mutant: its last kill and how often it was killed, or the error that its check raised."""

    mutant: str
    kill: Kill | None
    message: str = ""
    trace: str = ""
    times: int = 1
    killed: int = 0

    def fault(self, mutant: Mutant) -> str:
        """ "survived", "flagged" (a look-alike), "error", or "" when it went as it should.

        Of several repetitions a bug must be found in a share of `POWER`, a look-alike flagged in none.
        """
        if self.kill is None:
            return "error"
        if mutant.lookalike:
            return "flagged" if self.killed else ""
        return "" if self.killed >= POWER * self.times else "survived"


def run(
    catalogue: Catalogue,
    mutants: Sequence[Mutant],
    *,
    size: Size = "standard",
    seed: int = 0,
    workers: int = 1,
    repeat: int = 1,
) -> Iterator[SeededTrial]:
    """One trial for each mutant, in the order in which they finish; results do not depend on `workers`.

    Args:
        catalogue: loaded with its mutants.
        repeat: how often each is run, with the seeds from `seed` on; what samples nothing is run once.
    """
    if workers == 1 or len(mutants) < 2:
        yield from (_try(catalogue, mutant.name, size, seed, repeat) for mutant in mutants)
        return
    import joblib

    jobs = [(catalogue.layout, catalogue.paths, mutant.name, size, seed, repeat) for mutant in mutants]
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        pool = joblib.Parallel(n_jobs=min(workers, len(jobs)), batch_size=1, return_as="generator_unordered")
        yield from pool(joblib.delayed(try_named)(*job) for job in jobs)


def held_out(catalogue: Catalogue) -> set[str]:
    """Names of the mechanisms that were written after the auditor was fixed, and serve as its test set."""
    files = collect.held_out(catalogue.layout.mutants)
    return {mutant.name for file in files for mutant in collect.content_of(file, (Mutant,))}


def try_named(layout: Layout, paths: tuple[Path, ...], name: str, size: Size, seed: int, repeat: int) -> SeededTrial:
    """What a worker does: it is sent names, and loads the catalogue itself."""
    return _try(_loaded(layout, paths), name, size, seed, repeat)


@functools.lru_cache(maxsize=1)
def _loaded(layout: Layout, paths: tuple[Path, ...]) -> Catalogue:
    return catalogues.load_from(layout, paths, with_mutants=True)


def _try(catalogue: Catalogue, name: str, size: Size, seed: int, repeat: int) -> SeededTrial:
    import threadpoolctl  # type: ignore[import-untyped]

    killed = times = 0
    try:
        with catalogues.in_force(catalogue), threadpoolctl.threadpool_limits(limits=1):
            for times in range(1, repeat + 1):
                kill = catalogue.mutants[name].kill(Context("mutants", name, {}, size, seed + times - 1))
                if not isinstance(kill, Kill):
                    raise DpcheckError(f"the mutant {name} returned {kill!r}; `kill` returns a Kill")
                killed += kill.killed
                if not kill.samples:
                    break
        return SeededTrial(name, kill, times=times, killed=killed)
    except Exception as error:
        return SeededTrial(name, None, f"{type(error).__name__}: {error}", traceback.format_exc())
