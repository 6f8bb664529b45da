"""How audits of a session are run: one failure probability, profiles, last failures first, evidence that adds up."""

from __future__ import annotations

import json
import math

import numpy.fft  # noqa: F401 what loads C code does so once, not in every session of a test
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcheck as dp
import dpcheck.testing  # likewise
from dpcheck import profiles, sessions
from dpcheck.engine import run  # noqa: F401
from dpcheck.errors import InvalidInput
from dpcheck.pytest_plugin import project, reporting
from dpcheck.pytest_plugin.budget import BudgetSplit

pytest_plugins = ["pytester"]

MECHANISM = """
import numpy as np
import pytest
import dpcheck as dp

ZERO, ONE = np.zeros(1), np.ones(1)

def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)
"""
ONE_LEAK = """
def test_leak(dp_audit):
    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(0.6))
"""


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """What a session in this process registers, it registers for itself; and what it draws, it draws everywhere.

    Evidence that adds up is drawn from a seed that hangs on the versions of all packages that are installed.
    """
    monkeypatch.setattr(project, "_versions", lambda: [("p", "6")])
    monkeypatch.setattr(profiles, "_REGISTERED", dict(profiles._REGISTERED))
    monkeypatch.setattr(profiles, "_loaded", profiles.DEFAULT)


def session(pytester, text: str, *options: str, folder: str = "."):
    """(what pytest said, the JSON) of a session in this process."""
    (pytester.path / folder).mkdir(exist_ok=True)
    (pytester.path / folder / "test_mine.py").write_text(MECHANISM + text)
    pytester.makeini("[pytest]")
    ran = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--dpcheck-json=out.json", *options)
    path = pytester.path / "out.json"
    return ran, json.loads(path.read_text()) if path.exists() else None


# -- the failure probability -------------------------------------------------------------------------------------------


@given(
    asking=st.integers(0, 6),
    declared=st.floats(0, 9e-4),
    others=st.integers(0, 9),
    audits=st.lists(st.integers(1, 200), min_size=15, max_size=15),
)
def test_all_audits_together_spend_at_most_the_total(asking, declared, others, audits):
    tests = tuple(f"asks {i}" for i in range(asking))
    split = BudgetSplit(1e-3, declared, tests, ("check",), others)
    names = [*tests, *(f"other {i}" for i in range(others))]
    spent = [
        split.of_audit(n, k + 1, 1.02) * 1.02 for n, count in zip(names, audits, strict=False) for k in range(count)
    ]
    assert declared + math.fsum(spent) <= 1e-3
    assert not spent or min(spent) > 0
    assert BudgetSplit.received(json.loads(json.dumps(split.sent))) == split


def test_the_split_depends_on_what_is_chosen_and_is_kept(pytester):
    text = """
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0])
def test_it(dp_audit, epsilon):
    for claim in (epsilon, epsilon + 1):
        dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(claim), trials=300)

def test_chooses(dp_audit):
    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(1.0), trials=300, failure_probability=0.05)
"""
    ran, all_of_it = session(pytester, text)
    ran.assert_outcomes(passed=4)
    assert all_of_it["session"]["share"] == pytest.approx(1e-3 / 4)
    assert 0.48e-3 < all_of_it["session"]["spent"] <= 0.5e-3  # a half and a sixth of three shares
    assert 0.05 <= all_of_it["session"]["on_top"] <= 0.0511
    assert [row["failure_probability"] for row in all_of_it["audits"][:2]] == [1.2e-4, 4.0e-5]
    ran.stdout.fnmatch_lines(["*0.00025 for each of 4 that ask*; on top of it 0.051 that tests chose themselves"])
    ran, some = session(pytester, text, "-k", "test_it", "--dpcheck-failure-probability=0.03")
    assert some["session"]["share"] == pytest.approx(0.01)
    assert (some["session"]["asking"], some["session"]["on_top"]) == (3, 0)


def test_checks_that_declare_more_than_the_session_has_are_refused(pytester):
    pytester.makepyfile(
        mine="""
        from dpcheck.checks import check
        from dpcheck.claims import Paper
        PAPER = Paper(key="mine", title="Mine", authors="A. Author", reference="2026")
        private = PAPER.claim("mine/thm-1", "Theorem 1", "It is 1-DP.", kind="theorem")

        @check("mine/thm-1", "privacy", failure_probability=0.01)
        def audited(context):
            raise AssertionError
        """
    )
    for workers in ((), ("-n", "1")):
        ran = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--dpcheck-audits=mine.py", *workers)
        ran.assert_outcomes(failed=1)
        ran.stdout.fnmatch_lines(["*the 1 collected checks declare a failure probability of 0.01*so nothing is run*"])


# -- profiles ----------------------------------------------------------------------------------------------------------


def test_profiles_are_registered_loaded_and_chosen(pytester):
    pytester.makeconftest(
        """
        import dpcheck as dp
        dp.testing.register_profile("mine", parent="dev", trials=400, seed=5, failure_probability=0.01)
        dp.testing.register_profile("weak", trials=60, require_power=True)
        dp.testing.load_profile("mine")
        """
    )
    text = """
def test_it(dp_audit):
    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(3.0))

def test_own(dp_audit):
    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(3.0), trials=500, seed=7)
"""

    def taken(*options):
        ran, document = session(pytester, text, *options)
        head = {name: document["session"][name] for name in ("profile", "seed", "failure_probability")}
        return ran, tuple(head.values()), [(row["runs"], row["seed"]) for row in document["audits"]]

    assert taken()[1:] == (("mine", 5, 0.01), [(400, 5), (500, 7)])
    over = taken("--dpcheck-trials=300", "--dpcheck-seed=2", "--dpcheck-failure-probability=0.02")
    assert over[1:] == (("mine", 2, 0.02), [(300, 2), (500, 7)])
    weak, head, rows = taken("--dpcheck-profile=weak")
    assert (head, rows) == (("weak", 0, 1e-3), [(60, 0), (500, 7)])
    weak.stdout.fnmatch_lines(["E *nothing is shown at any ε*"])
    asked, _, _ = taken("--dpcheck-must-detect=3.01")
    asked.assert_outcomes(failed=2)
    asked.stdout.fnmatch_lines(["E *nothing is shown at ε = 3.01*"])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--dpcheck-profile=nosuch", "no profile 'nosuch' is registered; there are dev, ci, nightly"),
        ("--dpcheck-trials=3", "--dpcheck-trials must be an integer in [[]50, 2^63), got 3"),
        ("--dpcheck-failure-probability=1.5", "--dpcheck-failure-probability must be a number in (0, 1), got 1.5"),
        ("--dpcheck-seed=-1", "--dpcheck-seed must be an integer in [[]0, 2^63), got -1"),
        ("--dpcheck-profile=", "got nothing after --dpcheck-profile; set it, or leave it out"),
        ("--dpcheck-audits=", "got nothing after --dpcheck-audits; set it, or leave it out"),
        ("--dpcheck-must-detect=nan", "--dpcheck-must-detect must be a number in (0, inf), got nan"),
    ],
)
def test_bad_settings_are_refused_before_anything_runs(pytester, option, said):
    ran, document = session(pytester, ONE_LEAK, option)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines([f"*dpcheck: {said}*"])
    assert document is None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"trails": 3}, "no setting 'trails'; it has trials,"),
        ({"size": "huge"}, "size must be one of smoke, standard, full, got 'huge'"),
        ({"parent": "nosuch"}, "no profile 'nosuch'"),
        ({"accumulate": 1}, "accumulate must be True or False, got 1"),
    ],
)
def test_bad_profiles_are_refused(settings, said):
    with pytest.raises(InvalidInput, match=said):
        dp.testing.register_profile("mine", **settings)
    with pytest.raises(InvalidInput, match="no profile 'mine'"):
        dp.testing.load_profile("mine")


def test_without_a_session_the_defaults_stand():
    with sessions.within(sessions._Alone()):
        result = dp.testing.assert_private(lambda d, rng, t: rng.random(t), [0.0], [1.0], claim=dp.PureDP(1.0))
    assert (result.trials, result.failure_probability, result.seed) == (12_000, 1e-4, 0)


# -- failures ----------------------------------------------------------------------------------------------------------


def test_a_failure_is_tried_first_again_and_then_anew(pytester):
    text = "def test_fine(dp_audit):\n    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(1.0))\n" + ONE_LEAK
    ran, night = session(pytester, text, "--dpcheck-trials=4000", "--dpcheck-seed=3")
    ran.assert_outcomes(passed=1, failed=1)
    (kept,) = (pytester.path / ".dpcheck" / "failures").iterdir()
    failed = night["audits"][1]
    assert {**json.loads(kept.read_text()), "seconds": 0} == {**failed, "seconds": 0}

    # The next day, with too few runs to see it: the same audit, first, to the last digit.
    ran, day = session(pytester, text, "--dpcheck-trials=60", "-W", "ignore", "-v")
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(["*::test_leak FAILED*", "*::test_fine PASSED*"], consecutive=True)
    ran.stdout.fnmatch_lines(["E * side; it failed before, and nothing it depends on *changed.", "REFUTED *unchanged]"])
    (again,) = (row for row in day["audits"] if row["test"].endswith("leak"))
    assert (again["replayed"], again["runs"], again["seed"]) == ("again", 4000, 3)
    assert again["numbers"] == failed["numbers"]
    assert again["witness"] == failed["witness"]
    assert day["session"]["spent"] < 0.6e-3  # of the other audit alone

    # Changed, and no better: as many runs, a seed of its own, and the share of this session.
    worse = text.replace("PureDP(0.6)", "PureDP(0.61)")
    ran, changed = session(pytester, worse, "--dpcheck-trials=60", "-W", "ignore")
    (anew,) = (row for row in changed["audits"] if row["test"].endswith("leak"))
    assert (anew["replayed"], anew["runs"], anew["outcome"]) == ("anew", 4000, "refuted")
    assert anew["seed"] not in (0, 3)

    # Mended: tried anew, and forgotten.
    mended = text.replace("PureDP(0.6)", "PureDP(1.0)")
    ran, last = session(pytester, mended, "--dpcheck-trials=60", "-W", "ignore")
    ran.assert_outcomes(passed=2)
    (anew,) = (row for row in last["audits"] if row["test"].endswith("leak"))
    assert (anew["replayed"], anew["runs"], anew["outcome"]) == ("anew", 4000, "consistent")
    assert not kept.exists()


def test_what_shows_nothing_is_no_reason_to_forget(pytester):
    session(pytester, ONE_LEAK, "--dpcheck-trials=4000")
    (kept,) = (pytester.path / ".dpcheck" / "failures").iterdir()
    vacuous = ONE_LEAK.replace("PureDP(0.6)", "PureDP(800.0)")
    ran, _ = session(pytester, vacuous, "-W", "ignore")
    ran.assert_outcomes(passed=1)
    assert kept.exists()


def test_a_refutation_that_a_test_expects_is_no_failure(pytester, monkeypatch):
    monkeypatch.setattr(reporting, "LINES", 2)
    text = """
def test_seeded_bug():
    for _ in range(3):
        with pytest.raises(AssertionError, match="is not 0.1-DP"):
            dp.testing.assert_private(laplace, ZERO, ONE, claim=dp.PureDP(0.1), trials=500)
"""
    ran, document = session(pytester, text)
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines(["REFUTED *(expected)", "… and 1 more that failed no test; *", "3 refuted; *"])
    assert {(row["outcome"], row["passed"]) for row in document["audits"]} == {("refuted", True)}
    assert not (pytester.path / ".dpcheck" / "failures").exists()


def test_failures_of_checks_are_tried_at_the_size_at_which_they_failed(pytester):
    pytester.makeconftest("import dpcheck as dp\ndp.testing.register_profile('night', size='standard', seed=4)\n")
    mine = """
import dpcheck as dp
from dpcheck.checks import check
from dpcheck.claims import Paper
PAPER = Paper(key="mine", title="Mine", authors="A. Author", reference="2026")
private = PAPER.claim("mine/thm-1", "Theorem 1", "It is 1-DP.", kind="theorem")

@check("mine/thm-1", "privacy")
def audited(context):
    data, neighbour = dp.testing.worst_pairs(n=5)
    run = lambda data, rng, trials: data.sum() + rng.laplace(scale=SCALE, size=trials)
    return context.audit(run, data, neighbour, dp.PureDP(1.0), trials=context.scale(60, 3000))
"""
    audits = pytester.mkdir("my_audits") / "mine.py"

    def ran(scale, *options):
        audits.write_text(mine.replace("SCALE", scale))
        return session(pytester, "", "--dpcheck-audits=my_audits", *options)

    night, document = ran("0.5", "--dpcheck-profile=night")
    night.assert_outcomes(failed=1)
    night.stdout.fnmatch_lines(["refuted, expected consistent or holds: *", "reproduce * dpcheck verify *"])
    assert [(row["size"], row["seed"], row["runs"]) for row in document["audits"]] == [("standard", 4, 3000)]
    day, document = ran("0.5")
    day.assert_outcomes(failed=1)
    assert [(r["size"], r["seed"], r["replayed"]) for r in document["audits"]] == [("standard", 4, "again")]
    mended, document = ran("1.00")  # of another length: Python tells sources of one second apart by that alone
    mended.assert_outcomes(passed=1)
    (row,) = document["audits"]
    assert (row["size"], row["replayed"]) == ("standard", "anew")
    assert row["seed"] not in (0, 4)
    _, document = ran("1.00")
    assert [(r["size"], r["seed"], r["replayed"]) for r in document["audits"]] == [("smoke", 0, "")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[]", "a list where an object should be"),
        ('{"test": "x"}', "the field 'number' is None"),
        ('{"seed": -1}', "out of range"),
        ('{"runs": 99999999999}', "out of range"),
        ('{"failure_probability": "nan"}', "is not a number"),
        ('{"failure_probability": 1.5}', "is not a probability"),
        ('{"kind": "check", "size": "huge"}', "the field 'size' is 'huge'"),
    ],
)
def test_a_failure_that_is_none_is_named_and_left_alone(pytester, text, said):
    whole = {
        "test": "test_mine.py::test_it", "number": 1, "kind": "audit", "seed": 0, "runs": 400, "mode": "fixed",
        "identity": {}, "failure_probability": 1e-4,
    }  # fmt: skip
    patch = json.loads(text) if text not in ("{", "[]", '{"test": "x"}') else None
    file = pytester.mkdir(".dpcheck") / "failures" / "0.json"
    file.parent.mkdir()
    file.write_text(text if patch is None else json.dumps(whole | patch))
    before = file.read_text()
    ran, document = session(pytester, "def test_it():\n    pass\n")
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines([f"*0.json is no failure that can be tried again: *{said}*"])
    assert (file.read_text(), document["audits"]) == (before, [])


# -- evidence that adds up ---------------------------------------------------------------------------------------------

NIGHTLY = "import dpcheck as dp\ndp.testing.register_profile('night', parent='nightly', trials=1500)\n"


def test_evidence_adds_up_over_sessions_until_the_source_changes(pytester):
    pytester.makeconftest(NIGHTLY)
    fine = """
def counted(data, rng, trials):
    with open("runs.txt", "a") as file:
        file.write(f"{trials}\\n")
    return laplace(data, rng, trials)

def test_fine(dp_audit):
    dp_audit(counted, ZERO, ONE, claim=dp.PureDP(1.2))
"""
    nights, drawn = [], []
    for _ in range(3):
        nights.append(session(pytester, fine, "--dpcheck-profile=night")[1]["audits"][0])
        drawn.append(sum(map(int, (pytester.path / "runs.txt").read_text().split())) - sum(drawn))
    assert max(drawn) < 1.2 * min(drawn)  # nothing is drawn twice
    assert [row["runs"] for row in nights] == [1500, 3000, 4500]
    assert {row["failure_probability"] for row in nights} == {2.0**-11}  # below half of 1e-3
    assert nights[0]["numbers"]["detectable_epsilon"] > nights[2]["numbers"]["detectable_epsilon"]

    # One more test that asks has the share of this one fall, and starts it anew only below the next power of two.
    _, more = session(pytester, fine + fine.replace("test_fine", "test_more"), "--dpcheck-profile=night")
    assert [(row["failure_probability"], row["runs"]) for row in more["audits"]] == [(2.0**-13, 1500)] * 2
    edited = fine.replace("PureDP(1.2)", "PureDP(1.3)")
    assert session(pytester, edited, "--dpcheck-profile=night")[1]["audits"][0]["runs"] == 1500


def test_a_leak_that_one_night_cannot_see_falls_with_the_nights(pytester):
    pytester.makeconftest(NIGHTLY.replace("trials=1500", "trials=900"))
    leak = "def test_leak(dp_audit):\n    dp_audit(laplace, ZERO, ONE, claim=dp.PureDP(0.8))\n"
    outcomes = []
    for _ in range(8):
        _, document = session(pytester, leak, "--dpcheck-profile=night")
        outcomes.append(document["audits"][0]["outcome"])
        if outcomes[-1] == "refuted":
            break
    assert outcomes[0] != "refuted"
    assert outcomes[-1] == "refuted"
    # It stays refuted, in any profile, for nothing was changed.
    _, document = session(pytester, leak, "--dpcheck-trials=60")
    (row,) = document["audits"]
    assert (row["outcome"], row["mode"]) == ("refuted", "anytime")


def test_what_is_tested_stands_in_another_folder(pytester):
    """A change there ends an accumulated audit, and is a change to a failure, though the test's own file stays."""
    pytester.makeconftest(NIGHTLY)
    home = pytester.mkdir("src")
    pytester.syspathinsert(home)
    package = home / "mechanisms_elsewhere"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("from .inner import noise\nnoisy = noise.noisy\n")
    (package / "inner" / "__init__.py").write_text("")

    def night(scale, *options):
        source = f"def noisy(d, rng, t):\n    return d.sum() + rng.laplace(scale={scale}, size=t)\n"
        (package / "inner" / "noise.py").write_text(source)
        text = "from mechanisms_elsewhere import noisy\n\ndef test_it(dp_audit):\n"
        text += "    run = lambda d, rng, t: noisy(d, rng, t)\n    dp_audit(run, ZERO, ONE, claim=dp.PureDP(1.2))\n"
        (row,) = session(pytester, text, "--dpcheck-profile=night", *options, folder="tests")[1]["audits"]
        return row["runs"], row["outcome"], row["replayed"]

    assert night("1.0") == (1500, "consistent", "")
    assert night("1.0") == (3000, "consistent", "")
    assert night("0.20")[1:] == ("refuted", "")
    assert night("0.20", "--dpcheck-trials=60")[1:] == ("refuted", "again")
    assert night("1.00")[1:] == ("consistent", "anew")


def test_noise_from_elsewhere_adds_nothing_up_and_breaks_nothing(pytester):
    """Not what the generator gives: no audit of it can go on where the last one stopped."""
    pytester.makeconftest(NIGHTLY)
    text = """
OWN = np.random.default_rng()

def own_noise(data, rng, trials):
    return data.sum() + OWN.laplace(scale=2, size=trials)

def test_it(dp_audit):
    dp_audit(own_noise, ZERO, ONE, claim=dp.PureDP(2.0))
"""
    for _ in range(2):
        ran, document = session(pytester, text, "--dpcheck-profile=night")
        ran.assert_outcomes(passed=1)
        assert [row["runs"] for row in document["audits"]] == [1500]


def test_evidence_adds_up_over_versions_that_no_single_one_decides(pytester):
    """Every commit changes a source, so that its audit starts anew; the leak that stays is seen by all together."""
    pytester.makeconftest(NIGHTLY.replace("trials=1500", "trials=850"))

    def commit(number, claim, *options, scale=1.0):
        text = f"VERSION = {number}\n\ndef test_it(dp_audit):\n"
        text += f"    noisy = lambda d, rng, t: laplace(d * {1 / scale}, rng, t)\n"
        text += f"    dp_audit(noisy, ZERO, ONE, claim=dp.PureDP({claim}))\n"
        ran, document = session(pytester, text, "--dpcheck-profile=night", *options)
        return ran, document["audits"][0]

    rows = [commit(number, 0.8)[1] for number in range(6)]
    assert {row["outcome"] for row in rows} == {"consistent"}
    assert len({row["seed"] for row in rows}) == 6
    assert [row["account"]["versions"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert rows[0]["account"]["product"] == rows[0]["account"]["e_value"] < 20
    assert rows[-1]["account"]["product"] > 100

    # The same version goes on: nothing counts twice. Another claim or root seed begins an account of its own.
    ran, again = commit(5, 0.8)
    assert again["account"]["versions"] == 6
    assert again["runs"] == 2 * rows[-1]["runs"]
    ran.stdout.fnmatch_lines(
        ["EVIDENCE    test_mine.py::test_it: e-value * against 0.8-DP from 6 versions; while all *"]
    )
    assert commit(6, 1.2)[1]["account"]["versions"] == 1
    assert commit(6, 0.8, "--dpcheck-seed=1")[1]["account"]["versions"] == 1
    # A refutation is told by itself: what comes after it begins anew.
    assert commit(7, 0.8, scale=0.3)[1]["outcome"] == "refuted"
    assert commit(8, 0.8, scale=2.0)[1]["account"]["versions"] == 1


def test_only_audits_that_add_up_have_evidence(pytester):
    _, document = session(pytester, ONE_LEAK, "--dpcheck-trials=60", "-W", "ignore")
    assert document["audits"][0]["account"] is document["session"]["e_value"] is None
