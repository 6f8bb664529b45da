"""What the page of a paper says of its mutants."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from dpcheck.engine.mutate import table
from dpcheck.engine.mutate.mutation import Trial


@dataclass(frozen=True)
class Mutants:
    """Of one paper.

    Attributes:
        trials: all that were tried.
        samples: of how many they are, by family.
        past: how many of them were tried before an edit of what they change, or of a check that notices it.
    """

    trials: tuple[Trial, ...] = ()
    samples: tuple[str, ...] = ()
    past: int = 0

    @classmethod
    def of(cls, paper: str, measured: table.Table, standing: table.Table) -> Mutants:
        """Of a table as it was measured, and what of it still stands."""
        trials = tuple(trial for trial in measured.all() if trial.paper == paper)
        samples = tuple(str(sample) for _, sample in sorted(measured.samples.items()) if sample.paper == paper)
        return cls(trials, samples, len(trials) - sum(trial.paper == paper for trial in standing.all()))

    @property
    def rows(self) -> tuple[list[str], list[list[str]]]:
        """What became of them: the table's head, and a row a family."""
        return table.rows(self.trials)

    @property
    def argued(self) -> list[tuple[str, str, int]]:
        """(place, reason, how many) of those that need not be noticed, as the source says."""
        argued = (trial for trial in self.trials if trial.fate == "argued")
        counts = Counter((f"{t.target} {t.said}" if t.family == "claim" else t.target, t.reason) for t in argued)
        return [(target, reason, number) for (target, reason), number in sorted(counts.items())]

    @property
    def blind(self) -> list[tuple[str, list[str]]]:
        """Checks that judge an answer, with the null algorithms that they saw and let pass."""
        by_check: dict[str, list[str]] = {}
        for trial in self.trials:
            for check in trial.blind:
                by_check.setdefault(check, []).append(f"{trial.target} {trial.said}")
        return sorted(by_check.items())


NO_MUTANTS = Mutants()
