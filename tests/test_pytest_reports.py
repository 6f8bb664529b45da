"""What a session of pytest tells of its audits: the same of all three kinds, with workers and without."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest
from schema import breaches

import dpcheck.testing  # noqa: F401 - what loads C code does so once, not in every session of a test
from dpcheck.engine import run  # noqa: F401
from dpcheck.pytest_plugin import reporting

pytest_plugins = ["pytester"]

MECHANISM = """
import numpy as np
import pytest
import dpcheck as dp

ZERO, ONE = np.zeros(1), np.ones(1)

def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)
"""
SUITE = (
    MECHANISM
    + """
def test_fine(dp_audit):
    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(1.0))

def test_leak():
    dp.testing.assert_private(laplace, ZERO, ONE, claim=dp.PureDP(0.2))

@pytest.mark.filterwarnings("ignore:assert_private passed without power")
def test_two(dp_audit):
    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(2.0))
    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(800.0))

@pytest.mark.dpcheck
def test_silent():
    pytest.skip("not today")

def unseen():
    dp.testing.assert_private(laplace, ZERO, ONE, claim=dp.PureDP(1.5))

def test_unannounced():
    unseen()

@pytest.mark.parametrize("number", range(4))
def test_plain(number):
    pass
"""
)
CHECKS = """
import numpy as np
import dpcheck as dp
from dpcheck.checks import check
from dpcheck.claims import Paper

PAPER = Paper(key="mine", title="Mine", authors="A. Author", reference="2026")
private = PAPER.claim("mine/thm-1", "Theorem 1", "It is 1-DP.", kind="theorem")
DATA, NEIGHBOUR = dp.testing.worst_pairs(n=20)

def noisy(scale):
    return lambda data, rng, trials: data.mean() + rng.laplace(scale=scale / len(data), size=trials)

@check("mine/thm-1", "privacy")
def audited(context):
    \"\"\"It keeps its promise.\"\"\"
    return context.audit(noisy(1), DATA, NEIGHBOUR, dp.PureDP(1.0), trials=context.scale(600, 900))

@check("mine/thm-1", "privacy")
def halved(context):
    \"\"\"It does not.\"\"\"
    return context.audit(noisy(0.2), DATA, NEIGHBOUR, dp.PureDP(1.0), trials=context.scale(600, 900))

@check("mine/thm-1", "privacy", expect="refuted")
def known(context):
    \"\"\"Everybody knows that it does not.\"\"\"
    return halved.function(context)
"""
OPTIONS = ("-p", "no:cacheprovider", "--dpcheck-trials=600", "--dpcheck-audits=my_audits", "--dpcheck-json=out.json")


def written(pytester, *options: str) -> dict:
    document = json.loads((pytester.path / "out.json").read_text())
    for row in document["audits"]:
        assert row.pop("seconds") >= 0
    return document


def project(pytester) -> None:
    pytester.makeini("[pytest]")
    pytester.makepyfile(test_mine=SUITE)
    (pytester.path / "my_audits").mkdir()
    (pytester.path / "my_audits" / "mine.py").write_text(CHECKS)


def properties(path) -> dict[str, dict[str, str]]:
    cases = ElementTree.parse(path).iter("testcase")
    return {case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")} for case in cases}


def test_all_kinds_report_alike_with_workers_and_without(pytester):
    project(pytester)
    alone = pytester.runpytest_inprocess(*OPTIONS, "--junitxml=one.xml")
    alone.assert_outcomes(passed=9, failed=2, skipped=1)
    one = json.loads((pytester.path / "out.json").read_text())
    assert breaches(one, json.loads(reporting.schema_text())) == []
    rows = {(row["subject"], row["claim"]): row for row in one["audits"]}
    assert len(rows) == len(one["audits"]) == 8
    assert len({tuple(sorted(row)) for row in rows.values()}) == 1  # one shape
    refuted, checked = rows["laplace", "0.2-DP"], rows["mine/thm-1::halved", "mine/thm-1"]
    for row in (refuted, checked):
        assert (row["outcome"], row["passed"]) == ("refuted", False)
        assert row["numbers"]["right"] > row["numbers"]["wrong"] > 0
        assert row["numbers"]["epsilon_lower"] > row["numbers"]["epsilon_claimed"]
        assert (pytester.path / row["witness"]).exists()
    assert rows["laplace", "800-DP"]["numbers"]["detectable_epsilon"] is None
    assert rows["mine/thm-1::known", "mine/thm-1"]["passed"]
    assert one["session"]["unanswered"] == ["test_mine.py::test_silent"]

    for path in (pytester.path / ".dpcheck").rglob("*.json"):
        path.unlink()
    workers = pytester.runpytest_subprocess(*OPTIONS, "-n", "2", "--junitxml=two.xml")
    workers.assert_outcomes(passed=9, failed=2, skipped=1)
    two = written(pytester)
    for row in one["audits"]:
        row.pop("seconds")
    assert two == one
    for ran in (alone, workers):
        ran.stdout.fnmatch_lines(
            [
                "*= dpcheck =*",
                "REFUTED     test_mine.py::test_leak: laplace is not 0.2-DP*",
                "*reproduce: dpcheck verify *",
                "REFUTED     my_audits/mine.py::halved*",
                "CONSISTENT  test_mine.py::test_fine: laplace is consistent with 1-DP*",
                "no result from test_mine.py::test_silent",
                "3 refuted · 1 undecided · 4 consistent;*",
                "profile ci, seed 0; all wrong together with probability at most 0.001: 0.0002 for each of 4 *",
            ]
        )
    first, second = properties(pytester.path / "one.xml"), properties(pytester.path / "two.xml")
    assert first == second
    assert first["test_leak"]["dpcheck_outcome"] == "refuted"
    assert float(first["test_leak"]["dpcheck_epsilon_lower"]) == refuted["numbers"]["epsilon_lower"]
    assert first["test_leak"]["dpcheck_witness"] == refuted["witness"]
    assert first["test_two"]["dpcheck_outcome_2"] == "undecided"
    assert first["halved[mine/thm-1]"]["dpcheck_outcome"] == "refuted"


def test_a_worker_that_dies_takes_nothing_but_its_own_test(pytester):
    pytester.makepyfile(
        MECHANISM
        + """
import os

def test_fine(dp_audit):
    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(1.0), trials=200)

def test_other(dp_audit):
    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(2.0), trials=200)

def test_dies(dp_audit):
    os._exit(3)
"""
    )
    ran = pytester.runpytest_subprocess("-n", "2", "-p", "no:cacheprovider", "--dpcheck-json=out.json")
    ran.assert_outcomes(passed=2, failed=1)
    document = written(pytester)
    assert [row["claim"] for row in document["audits"]] == ["1-DP", "2-DP"]
    (lost,) = document["session"]["unanswered"]
    assert lost.endswith("::test_dies")


def test_no_frame_of_dpcheck_stands_between_a_test_and_its_failure(pytester):
    pytester.makepyfile(
        MECHANISM
        + """
def broken(data, rng, trials):
    raise ZeroDivisionError("mine")

def test_leak():
    dp.testing.assert_private(laplace, ZERO, ONE, claim=dp.PureDP(0.2), trials=600)

def test_leak_by_the_fixture(dp_audit):
    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(0.2), trials=600)

def test_same_pair():
    dp.testing.assert_private(laplace, ZERO, ZERO, claim=dp.PureDP(0.2))

def test_weak(dp_audit):
    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(1.0), trials=600, must_detect=1.01)

def test_moves():
    dp.testing.assert_sensitivity(np.mean, 0.2, dp.testing.neighbouring_pairs(min_records=4))
"""
    )
    ran = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    ran.assert_outcomes(failed=5)
    text = ran.stdout.str()
    for file in ("asserting.py:", "session.py:", "audit.py:", "inputs.py:", "properties.py:", "__init__.py:"):
        assert file not in "\n".join(line for line in text.splitlines() if not line.startswith("E")), file
    ran.stdout.fnmatch_lines(
        ["E *InvalidInput: data and neighbour are identical*", "E *nothing is shown at ε = 1.01:*"]
    )
    ran.stdout.fnmatch_lines(["NO POWER *test_weak: laplace *; not enough for what the test must detect"])
    ran.stdout.fnmatch_lines(["2 refuted · 1 consistent (1 without the power that was asked for); seconds *"])


def test_checks_that_cannot_be_collected_or_raise_fail(pytester):
    project(pytester)
    (pytester.path / "my_audits" / "mine.py").write_text(
        CHECKS.replace("return halved.function(context)", "return 1/0")
    )
    (pytester.path / "my_audits" / "worse.py").write_text("import nowhere_to_be_found\n")
    ran = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "--dpcheck-audits=my_audits", "-k", "known or dpcheck-audits"
    )
    ran.assert_outcomes(failed=2, deselected=11)
    ran.stdout.fnmatch_lines_random(["*worse.py:1: does not import*", "*ZeroDivisionError: division by zero*"])
    for path, said in (("nowhere", "no such file or folder"), ("test_mine.py", "no check (`@check`) in test_mine.py")):
        ran = pytester.runpytest_inprocess("-p", "no:cacheprovider", f"--dpcheck-audits={path}", "-k", "dpcheck-audits")
        ran.assert_outcomes(failed=1, deselected=9)
        ran.stdout.fnmatch_lines([f"*{said.replace('[', '[[]')}*"])


def test_a_place_where_no_results_can_be_written_is_told_before_a_test_runs(pytester):
    pytester.makepyfile(test_mine=MECHANISM + "\ndef test_runs():\n    open('ran', 'w').close()\n")
    pytester.mkdir("folder")
    pytester.makefile(".txt", file="in the way")
    for place, says in (
        ("folder", "--dpcheck-json folder is a folder; name a file"),
        ("", "got nothing after --dpcheck-json; set it, or leave it out"),
        ("file.txt/audits.json", "cannot write --dpcheck-json file.txt/audits.json: *"),
    ):
        ran = pytester.runpytest_inprocess(f"--dpcheck-json={place}")
        assert ran.ret == pytest.ExitCode.USAGE_ERROR
        ran.stderr.fnmatch_lines([f"ERROR: dpcheck: {says}"])
    assert not (pytester.path / "ran").exists()
    assert pytester.runpytest_inprocess("--dpcheck-json=new/folder/audits.json").ret == 0
    assert (pytester.path / "new" / "folder" / "audits.json").is_file()


def test_schema_is_shown(pytester):
    ran = pytester.runpytest_inprocess("--dpcheck-schema")
    assert ran.ret == 0
    schema = json.loads(ran.stdout.str())
    assert schema["properties"]["schema_version"] == {"const": 2}
    assert schema["$id"] == "urn:dpcheck:pytest-report:2"


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"schema_version": 1}, "is 1, not 2"),
        ({"audits": [{}]}, "lacks test"),
        ({"session": {"seed": float("inf")}}, "is inf, not integer"),
        ({"extra": 0}, "which the schema does not know"),
    ],
)
def test_the_schema_refuses(broken, said):
    assert any(said in breach for breach in breaches(broken, json.loads(reporting.schema_text())))


def test_plugin_costs_nothing_unused(pytester):
    heavy = "('dpcheck.auditing', 'dpcheck.testing', 'dpcheck.engine', 'numpy')"
    pytester.makepyfile(f"import sys\ndef test_it(): assert not any(m.startswith({heavy}) for m in sys.modules)")
    pytester.runpytest_subprocess("-p", "no:hypothesispytest").assert_outcomes(passed=1)
