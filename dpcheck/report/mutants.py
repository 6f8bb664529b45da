"""What the page of a paper says of its mutants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from dpcheck.claims import Claim
from dpcheck.engine.mutate import table
from dpcheck.engine.mutate.mutation import Trial
from dpcheck.engine.mutate.resolution import Resolution


@dataclass(frozen=True)
class Mutants:
    """Of one paper.

    Attributes:
        trials: all that were tried.
        samples: of how many they are, by family.
        past: how many of them were tried before an edit of what they change, or of a check that notices it.
        resolutions: by how much each explicit formula may be wrong, and whether it is a setting of an algorithm.
    """

    trials: tuple[Trial, ...] = ()
    samples: tuple[str, ...] = ()
    past: int = 0
    resolutions: tuple[tuple[Resolution, bool], ...] = ()

    @classmethod
    def of(cls, paper: str, measured: table.Table, standing: table.Table, claims: Mapping[str, Claim]) -> Mutants:
        """Of a table as it was measured, and what of it still stands."""
        trials = tuple(trial for trial in measured.all() if trial.paper == paper)
        samples = tuple(str(sample) for _, sample in sorted(measured.samples.items()) if sample.paper == paper)
        own = [(each, claims[label]) for label, each in sorted(standing.resolutions.items()) if label in claims]
        resolutions = tuple((each, is_setting(claim)) for each, claim in own if claim.paper.key == paper)
        past = len(trials) - sum(trial.paper == paper for trial in standing.all())
        return cls(trials, samples, past, resolutions)

    @property
    def rows(self) -> tuple[list[str], list[list[str]]]:
        """What became of them: the table's head, and a row a family."""
        return table.rows(self.trials)

    @property
    def strengths(self) -> list[list[str]]:
        """Rows of what notices that an explicit formula is wrong by a factor of up to 1,000: bounds, then settings."""
        lines = []
        for name, wanted in (("bounds", False), ("settings of algorithms", True)):
            own = [each for each, setting in self.resolutions if setting == wanted]
            counts = Counter(each.strength for each in own)
            if own:
                better = counts["measured"] + counts["derived"]
                counted = [f"{counts[how]:,}" for how in ("measured", "derived", "transcribed", "")]
                lines.append([name, f"{len(own):,}", *counted, f"{100 * better / len(own):.0f} %"])
        return lines

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


def is_setting(claim: Claim) -> bool:
    """A number that an algorithm fixes, rather than a bound on what it does: no paper proves it."""
    return claim.kind in ("algorithm", "procedure") and claim.relation == "="


NO_MUTANTS = Mutants()
