"""By how much a bound may be wrong: the least factor that some check sees, and second typings where no other does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy_mutants
from toy_mutants import Make, watched

from dpcheck.claims import Paper
from dpcheck.engine.mutate.mutation import Mutation, Trial
from dpcheck.engine.mutate.resolution import resolutions
from dpcheck.symbols import L


@pytest.fixture
def root(project: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield from toy_mutants.laid_out(project, tmp_path, monkeypatch)


def test_resolution(root: Path) -> None:
    trials = watched(root)
    trials.checks.pop("toy/lem-1::typed_again")
    trials.traces.pop("toy/lem-1::typed_again")
    (found,) = resolutions(trials, [trials.catalogue.claims["toy/lem-1"]])
    assert found.up == float("inf"), "a measurement below the bound cannot notice that it is larger"
    assert 2 / 1.9 <= found.down <= 1.1 * 2 / 1.9
    assert (found.down_by, found.down_how) == ("toy/lem-1::measured", "measured")
    assert str(found) == f"notices ÷ {found.down:.3g} (measured)"


def test_a_search_asks_the_check_that_noticed_and_all_of_them_before_it_ends(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = watched(root)
    real, asked, before = trials.run, list[str](), list[list[str]]()

    def run(
        mutants: list[Mutation], *, only: dict[str, str], earlier: dict[str, str], untyped: set[str]
    ) -> Iterator[Trial]:
        asked.extend(only.get(mutant.key, "all" if mutant.key in untyped else "typed") for mutant in mutants)
        before.append(list(earlier.values()))
        return real(mutants, only=only, untyped=untyped)

    monkeypatch.setattr(trials, "run", run)
    (found,) = resolutions(trials, [trials.catalogue.claims["toy/lem-1"]])
    assert (found.up, found.up_how, found.up_by) == (1.02, "transcribed", "toy/lem-1::typed_again"), (
        "nothing else sees it"
    )
    assert (found.down_how, found.down_by) == ("measured", "toy/lem-1::measured"), "though a second typing sees 1.02"
    assert 2 / 1.9 <= found.down <= 1.1 * 2 / 1.9
    assert asked[:5] == ["all", "all", "all", "all", "typed"], "1.02 and 1,000 both ways, and 1.02 by whoever sees it"
    assert set(asked[5:]) == {"toy/lem-1::measured"}, "a second typing is not asked where another check notices"
    known, before[:] = dataclasses.replace(found, up_by="one", down_by="two"), []
    resolutions(trials, [trials.catalogue.claims["toy/lem-1"]], earlier={"toy/lem-1": known})
    assert before[0] == ["one", "two"]


@pytest.mark.parametrize(
    "sees", [{"one": 300.0}, {"one": 300.0, "two": 4.0}, {"one": 1.0}, {"one": 1.5, "two": 2000.0}, {}]
)
def test_the_least_factor_that_any_check_sees_is_found(sees: dict[str, float]) -> None:
    """Of checks that are asked in this order, and notice all above a factor of their own."""
    paper = Paper(key="toy", title="", authors="", reference="")
    claim = paper.claim("toy/lem-1", "Lemma 1", "…", kind="lemma", relation="<=", explicit=L)

    class Told:
        calls = 0

        def run(self, mutants: list[Mutation], *, only: dict[str, str], **_: object) -> Iterator[Trial]:
            for mutant in mutants:
                self.calls += 1
                said = float(mutant.said.split()[1])
                factor = max(said, 1 / said)
                asked = [name for name in sees if only.get(mutant.key, name) == name]
                by = next((name for name in asked if factor >= sees[name] * (1 - 1e-4)), "")
                yield Trial.of(mutant, "measured" if by else "survived", by=by)

    told = Told()
    (found,) = resolutions(told, [claim])  # type: ignore[arg-type]
    least = min(sees.values(), default=2000.0)
    for factor in (found.up, found.down):
        assert (factor == float("inf")) if least > 1000 else (least * 0.999 <= factor <= max(1.02, 1.101 * least))
    assert told.calls <= 40
