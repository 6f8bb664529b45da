"""What the verdicts of a run may be wrong with, added up: the run promises 1e-3, and says when it does not keep it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import collected
from click.testing import CliRunner

from dpcheck.checks import FAILURE_PROBABILITY, RUN_FAILURE_PROBABILITY, Context, check
from dpcheck.cli import main
from dpcheck.engine import judge
from dpcheck.errors import CollectionError
from dpcheck.harness.accuracy import never_violated
from dpcheck.verdicts import Verdict, undecided

Make = Callable[..., Path]

HEAD = "from dpcheck.checks import check\nfrom dpcheck.verdicts import holds, undecided\n"
ONE = """
@check("toy/lem-2", kind="{kind}", failure_probability={declared}, expect=["holds", "undecided"])
def number_{i}(c):
    return {verdict}
"""
EXACT = 'holds("", "exact")'
SAMPLED = 'undecided("", "sampled", failure_probability={spent})'


def test_the_whole_catalogue_keeps_the_promise() -> None:
    """967 checks at 1e-6 and their 44 rates at 1e-5 could be wrong with 1.36e-3 together, and nothing added it up."""
    found = collected()
    assert math.fsum(each.may_spend for each in found.checks.values()) <= RUN_FAILURE_PROBABILITY


@pytest.mark.parametrize(
    ("checks", "code", "says"),
    [
        ([("risk", 4e-4, SAMPLED.format(spent=4e-4))] * 2, 0, ""),
        ([("risk", 4e-4, SAMPLED.format(spent=4e-4))] * 3, 7, "are wrong together with probability 0.0012"),
        ([("risk", 4e-4, SAMPLED.format(spent=1e-9))] * 3, 7, "may be wrong together with probability 0.0012"),
        ([("risk", 4e-4, EXACT)] * 3, 7, "may be wrong together with probability 0.0012"),
        ([("symbolic", 4e-4, EXACT)] * 3, 0, ""),
    ],
)
def test_a_run_promises_no_more_than_it_keeps(
    project: Make, checks: list[tuple[str, float, str]], code: int, says: str
) -> None:
    written = [ONE.format(i=i, kind=k, declared=p, verdict=v) for i, (k, p, v) in enumerate(checks)]
    root = project({"audits/toy.py": HEAD + "".join(written)})
    arguments = ["run", "--root", str(root), "--store", str(root / "s.db")]
    result = CliRunner().invoke(main, [*arguments, "--json"])
    assert result.exit_code == code, result.output
    assert says in " ".join(result.stderr.split())
    told = json.loads(result.stdout)
    assert told["exit_code"] == code
    assert told["most_failure_probability"] == pytest.approx(
        math.fsum(declared for kind, declared, _ in checks if kind != "symbolic")
    )
    assert told["failure_probability"] == math.fsum(r["verdict"]["failure_probability"] for r in told["records"])


def test_a_check_spends_what_it_declares_and_its_cells_share_it() -> None:
    """Six cells used to spend six times what the check declared."""

    @check("toy/lem-2", "accuracy", grid={"n": [1, 2, 3]})
    def drawn(context: Context, n: int) -> Verdict:
        return never_violated([0.0] * 1000, [1.0] * 1000)

    verdict = drawn.verdict([(cell, drawn.measure(cell, "smoke", 0)) for cell in drawn.cells("smoke")])
    assert verdict.failure_probability == pytest.approx(FAILURE_PROBABILITY)
    judge.enforce(drawn, verdict)
    with pytest.raises(judge.RuleBroken, match="declares 5e-07"):
        judge.enforce(drawn, undecided("", "sampled", failure_probability=6e-7))
    assert never_violated([0.0] * 1000, [1.0] * 1000).failure_probability == FAILURE_PROBABILITY


@pytest.mark.parametrize("declared", [0.0, -1e-6, 1.0, math.nan])
def test_a_check_declares_a_probability(declared: float) -> None:
    with pytest.raises(CollectionError, match=r"lies in \(0, 1\)"):
        check("toy/lem-2", "risk", failure_probability=declared)(lambda context: undecided("", "exact"))


def test_a_merge_of_some_shards_is_not_green(project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """It said "every verdict as expected" with exit code 0, though none was reached."""
    root = project()
    monkeypatch.chdir(root)
    monkeypatch.setenv("NO_COLOR", "1")
    invoke = CliRunner().invoke
    part = invoke(main, ["run", "--shard", "1/2", "--store", "1.db"])
    assert (part.exit_code, "no verdict yet" in part.stdout) == (0, True)
    assert invoke(main, ["run", "--shard", "2/2", "--store", "2.db"]).exit_code == 0
    one = invoke(main, ["merge", "1.db", "--store", "all.db"])
    assert one.exit_code == 6
    assert "every verdict as expected" not in one.stdout
    assert "2 checks with cells in other shards" in one.stdout
    both = invoke(main, ["merge", "1.db", "2.db", "--store", "all.db"])
    assert (both.exit_code, "every verdict as expected" in both.stdout) == (0, True)
