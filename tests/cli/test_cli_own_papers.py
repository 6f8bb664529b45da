"""A paper of one's own through the command line, from another directory, with every printed line typed as it stands."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from dpcheck.engine.mutate.mutation import Trial
from dpcheck.engine.mutate.trials import Trials

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "chaudhuri_2011" / "chaudhuri_2011"
Cli = Callable[..., Result]


@pytest.fixture
def noisy(cli: Cli, root: Path, tmp_path: Path) -> Path:
    """What `dpcheck new` writes, beside a tiny root in which the commands are typed; its folder has a blank."""
    parent = tmp_path / "my papers"
    said = cli("new", "noisy", "--in", str(parent)).stdout
    assert f"dpcheck run {shlex.quote(str(parent / 'noisy'))}" in said
    return parent / "noisy"


def typed(cli: Cli, line: str, code: int = 0) -> Result:
    """A printed command, typed."""
    name, *arguments = shlex.split(line)
    assert name == "dpcheck"
    return cli(*arguments, code=code)


class TestNew:
    def test_it_runs_green_and_its_rerun_line_works(self, cli: Cli, noisy: Path) -> None:
        said = cli("run", str(noisy)).stdout
        assert "every verdict as expected" in said
        assert cli("run", str(noisy), "--also", str(noisy)).stdout.count("--also") == 1
        typed(cli, re.search(r"next: (dpcheck report .*)", said)[1])  # type: ignore[index]
        shown = cli("show", "noisy/thm-2", "--also", str(noisy)).stdout
        for part in ("bounds", "algorithms", "audits"):
            assert f"/{part}/noisy.py:" in shown
        rerun = json.loads(cli("show", "noisy/thm-2", "--also", str(noisy), "--json").stdout)["rerun"]
        assert shlex.quote(str(noisy)) in rerun
        assert "within_the_bound" in typed(cli, rerun.replace("standard", "smoke")).stdout

    def test_a_label_of_no_statement_names_the_command_for_it(self, cli: Cli, noisy: Path) -> None:
        for label, command in (("noisy", "list"), ("noisy/alg-1", "plan")):
            told = cli("show", label, "--also", str(noisy), code=2).stderr
            named = re.search(r"`(dpcheck .*?)`", " ".join(told.split()))
            assert named is not None
            assert named[1].startswith(f"dpcheck {command} ")
            typed(cli, named[1])

    def test_what_its_schedule_raises_is_no_bug_of_dpcheck(self, cli: Cli, noisy: Path) -> None:
        code = noisy / "noisy" / "algorithms" / "noisy.py"
        code.write_text(code.read_text().replace("sensitivity = ", "sensitivity = 0 * (1 / 0) + ", 1))
        told = cli("plan", "noisy/alg-2", "--n", "9", "--also", str(noisy), code=2).stderr
        assert "no algorithm has the label 'noisy/alg-2'; did you mean noisy/alg-1?" in told  # before the budget
        told = cli("plan", "noisy/alg-1", "--n", "9", "--epsilon", "1", "--also", str(noisy), code=2).stderr
        assert "the schedule of noisy/alg-1 raised ZeroDivisionError: " in told
        assert "(noisy.py:" in told

    def test_mutants_say_which_label_is_unknown_and_what_crashed(self, cli: Cli, noisy: Path) -> None:
        mutate = ("mutate", "--family", "seeded", "--also", str(noisy))
        assert "unknown label 'noisy/thm-9'" in cli(*mutate, "noisy/thm-9", code=2).stderr
        bugs = noisy / "noisy" / "audits" / "mutants.py"
        bugs.write_text(bugs.read_text().replace("law.scale", "law.breadth"))
        said = cli(*mutate, "noisy").stdout
        assert re.search(r"^crashed .*\n +noisy/thm-\S+: AttributeError: .* no attribute 'breadth'$", said, re.M)

    def test_every_command_knows_it(self, cli: Cli, noisy: Path) -> None:
        also = ("--also", str(noisy))
        size = ("--n", "100", "--epsilon", "1", "--D", "2")
        plan = json.loads(cli("plan", "noisy/alg-1", *size, *also, "--json").stdout)
        assert plan["privacy"]["certified"] == "1-DP"
        bounds = {row["source"]: row["value"] for row in plan["bounds"]}
        assert bounds["noisy/thm-2"] == pytest.approx(4 / 800 + 4 / 100**2)
        rows = json.loads(cli("compare-bounds", *size, "--only", "noisy/alg-1", *also, "--json").stdout)
        assert rows["algorithms"][0]["source"] == "noisy/thm-2"
        assert "dpcheck mutate noisy --family seeded" in cli("mutants", "noisy", *also, code=2).stderr
        tried = json.loads(cli("mutate", "noisy", "--family", "seeded", *also, "--json").stdout)["trials"]
        assert [(trial["operator"], trial["fate"]) for trial in tried] == [("half-noise", "measured")]
        assert "noisy/thm-1" in cli("list", "--paper", "noisy", *also).stdout

    def test_what_its_checks_notice(self, cli: Cli, noisy: Path, root: Path) -> None:
        command = ("mutate", "noisy", "--also", str(noisy))
        shut = ("--changed", "--sample", "3", "--seed", "1")
        assert "nothing is kept in" in cli(*command, *shut, code=1).stderr, "and so the gate is shut"
        assert "no mutant was tried" in cli(*command, "--budget", "1e-9", code=1).stderr
        rates = ("--rates", str(root / "rates.json"))
        tried = cli(*command, "--family", "claim", "--family", "null", "--save", *rates, "--json")
        fates = {(trial["family"], trial["fate"]) for trial in json.loads(tried.stdout)["trials"]}
        assert ("null", "measured") in fates
        (root / ".dpcheck" / "mutants.jsonl").unlink()
        within = cli(*command, "--family", "null", "--budget", "60s")
        assert "100 %" in within.stdout, "by the checks that the table names"
        assert fates & {("claim", "measured"), ("claim", "derived")}, "whichever is cheaper on this machine"
        assert json.loads((root / "rates.json").read_text())["noisy"]["null"]["noticed"] > 0
        resolved = json.loads(cli(*command, "--resolution", "--save", "--json").stdout)["resolutions"]
        assert any(1 < (each["up"] or each["down"] or 0) <= 1000 for each in resolved)
        again = cli(*command, *shut, *rates, "--json")
        assert "3 of 3 tried that were noticed before, 0 of 0 of what is new or was edited" in again.stderr
        assert len(json.loads(again.stdout)["trials"]) == 3
        assert "no rates in" in cli(*command, "--changed", "--rates", "nowhere.json", code=2).stderr
        assert "--rates goes with --save" in cli(*command, "--rates", "nowhere.json", code=2).stderr
        cli("run", "noisy", "--also", str(noisy))
        cli("report", "--only", "noisy", "--also", str(noisy))
        page = (root / ".dpcheck" / "reports" / "noisy" / "noisy.md").read_text()
        assert "wrong formulas noticed" in page
        assert "| noisy | null |" in page

    def test_a_report_of_it_alone(self, cli: Cli, noisy: Path, root: Path) -> None:
        cli("run", "noisy/thm-1::exactly", "--also", str(noisy))
        cli("report", "--only", "noisy", "--also", str(noisy))
        folder = root / ".dpcheck" / "reports" / "noisy"
        assert sorted(page.name for page in folder.glob("*.md")) == ["index.md", "noisy.md"]
        text = (folder / "noisy.md").read_text()
        assert "toy/" not in (folder / "records.jsonl").read_text()
        line = re.search(r"`(dpcheck run noisy/thm-1::exactly .*?)`", text)
        assert line is not None
        typed(cli, line[1])
        assert not (root / "reports").exists()
        whole = (root / ".dpcheck" / "reports" / "noisy" / "dpcheck.html").read_text()
        assert "<span>audit <code>audits/noisy.py:" in whole, "which of its files of one name it is"

    def test_unknown_without_its_folder(self, cli: Cli, noisy: Path) -> None:
        for arguments in (("show", "noisy/thm-1"), ("plan", "noisy/alg-1", "--n", "9", "--epsilon", "1")):
            assert "--also" in cli(*arguments, code=2).stderr
        assert "no paper has the key 'nobody'; there are " in cli("report", "--only", "nobody", code=2).stderr

    def test_a_line_of_ones_own_that_is_wrong(self, cli: Cli, noisy: Path) -> None:
        """The shape that came and the one that was expected; and whose fault it is, nobody knows."""
        file = noisy / "noisy" / "algorithms" / "noisy.py"
        text = file.read_text()
        answer = 'workload.project(run.release("mean", sample.mean(sample.values)))'
        assert answer in text
        file.write_text(text.replace(answer, "start"))
        ran = cli("run", str(noisy), code=3)
        (line,) = [line for line in ran.stdout.splitlines() if line.startswith("error")]
        assert "`execute` of noisy/alg-1 (noisy.py:" in line
        assert "returned shape (1, 1), expected (2000, 1): a point for each of trials=2000" in line
        (told,) = [line for line in ran.stdout.splitlines() if line.startswith("differs")]
        assert "the code, formula or check differs from what is printed" in told
        assert "ours" not in told

    def test_an_interrupted_look_says_what_it_found(
        self, cli: Cli, noisy: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original = Trials.run

        def stopped(self: Trials, *some: Any, **more: Any) -> Iterator[Trial]:
            yield next(original(self, *some, **more))
            raise KeyboardInterrupt

        command = ("mutate", "noisy", "--family", "claim", "--sample", "3", "--also", str(noisy))
        monkeypatch.setattr(Trials, "run", stopped)
        told = cli(*command, code=130)
        assert "1 of 3 tried" in told.stderr
        assert "the same command goes on" in told.stderr
        assert re.search(r"^noisy +claim +1 ", told.stdout, re.M)
        monkeypatch.undo()
        assert re.search(r"^noisy +claim +3 ", cli(*command).stdout, re.M)

    def test_what_its_folder_does_not_bring_is_said_with_where_to_add_it(self, cli: Cli, noisy: Path) -> None:
        also = ("--also", str(noisy))
        for name in ("noisy", "noisy/thm-1"):
            assert f"no run of {name} is written down" in cli("certify", name, *also, code=2).stderr
        assert "unknown label 'noisy'" in cli("certify", "noisy", code=2).stderr
        assert "section 'Add an audit'" in cli("scaling", "noisy/thm-1", *also, code=5).stderr
        said = cli("mutate", "noisy", "--family", "code", *also).stdout
        assert "survived" in said
        assert "dpcheck_content_" not in said

    def test_as_a_root(self, cli: Cli, noisy: Path) -> None:
        shown = json.loads(cli("show", "noisy/thm-1", "--root", str(noisy / "noisy"), "--json").stdout)
        assert f"--root {shlex.quote(str(noisy / 'noisy'))}" in shown["rerun"]
        assert "exactly" in typed(cli, shown["rerun"].replace("standard", "smoke")).stdout

    @pytest.mark.parametrize(("key", "said"), [("My-Paper", "key"), ("l1_geometry", "key"), ("", "got nothing")])
    def test_a_key_that_will_not_do(self, cli: Cli, root: Path, key: str, said: str) -> None:
        assert said in cli("new", key, code=2).stderr
        assert not list(root.glob("*/*/algorithms"))

    def test_nothing_is_overwritten(self, cli: Cli, root: Path) -> None:
        cli("new", "fresh")
        assert "fresh exists already" in cli("new", "fresh", code=2).stderr


def test_the_file_in_contributing_runs_as_printed(cli: Cli, root: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    (whole,) = [block for block in blocks if "dpcheck run mine.py" in block]
    (root / "mine.py").write_text(whole)
    assert "consistent 1" in cli("run", "mine.py").stdout
    (root / "mine.py").write_text(whole.replace("scale=1 / len(data)", "scale=0.5 / len(data)"))
    found = json.loads(cli("run", "mine.py", "--json", code=1).stdout)["records"][0]["verdict"]
    line = re.search(r"verify +(dpcheck verify \S+ --also \S+)", cli("show", "mine/thm-1", "--also", "mine.py").stdout)
    assert line is not None
    assert "hypotheses the claim states none as a formula" in typed(cli, line[1]).stdout
    assert "there is no claim mine/thm-1 in" in typed(cli, line[1].partition(" --also")[0]).stdout
    assert found["outcome"] == "refuted"
    assert found["witness"]["label"] == "mine/thm-1"


class TestSixthPaper:
    """`examples/chaudhuri_2011` as an outsider has it: a copy, in a folder that knows nothing of this repository."""

    @pytest.fixture
    def copy(self, tmp_path: Path) -> Path:
        for file in EXAMPLE.rglob("*"):
            if file.is_file() and file.suffix != ".pyc":
                place = tmp_path / "sixth" / "chaudhuri_2011" / file.relative_to(EXAMPLE)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(file.read_bytes())
        return tmp_path / "sixth" / "chaudhuri_2011"

    def test_it_is_small(self) -> None:
        files = [file for file in EXAMPLE.parent.rglob("*") if file.suffix in (".py", ".md", ".toml")]
        assert sum(len(file.read_text().splitlines()) for file in files) <= 500

    def test_from_the_first_check_to_its_report(self, cli: Cli, root: Path, copy: Path) -> None:
        also = ("--also", str(copy))
        said = cli("run", "chaudhuri_2011", *also).stdout
        assert "every verdict as expected" in said
        (witness,) = (root / ".dpcheck").glob("witness-*.json")
        assert "verified: chaudhuri_2011/rem-any-rank" in cli("verify", str(witness), *also).stdout
        tried = json.loads(cli("mutate", "chaudhuri_2011", "--family", "seeded", *also, "--json").stdout)["trials"]
        fates = {trial["operator"]: trial["fate"] for trial in tried}
        assert fates == {"half-noise": "measured", "no-jacobian": "measured", "one-logarithm": "unflagged"}
        cli("report", "--only", "chaudhuri_2011", *also)
        report = root / ".dpcheck" / "reports" / "chaudhuri_2011"
        assert (report / "witnesses" / "chaudhuri_2011" / "rem-any-rank-full_rank_breaks_it.json").is_file()
        line = re.search(r"`(dpcheck verify .*?)`", (report / "chaudhuri_2011.md").read_text())
        assert line is not None
        typed(cli, line[1])

    def test_where_hessians_have_full_rank_no_guarantee_stands(self, cli: Cli, root: Path, copy: Path) -> None:
        sizes = ("--n", "1000", "--d", "5", "--epsilon", "1", "--also", str(copy))
        plan = json.loads(cli("plan", "chaudhuri_2011/alg-2", *sizes, "--json", code=8).stdout)
        assert plan["privacy"]["refuted"] == ["chaudhuri_2011/rem-any-rank"]
        assert plan["private_readings"] == [{"label": "chaudhuri_2011/alg-2@corrected", "certified": "1-DP"}]
        assert not [row for row in plan["bounds"] if row["what"] == "spent"]
        cli("plan", "chaudhuri_2011/alg-2", *sizes, "--hessian-rank", "1")

    EDITS = (
        ("bounds", "2 * L / (n * lambda_), 2 * L /", "L / (n * lambda_), 2 * L /", "cor-8"),
        ("bounds", "explicit=epsilon_1 + step,", "explicit=epsilon_1,", "thm-9"),
        ("bounds", "(1 + d * (d + 1) / (n", "(d * (d + 1) / (n", "prop-output-risk::derivation"),
        ("algorithms", "2 * L / (n * weight * epsilon)", "L / (n * weight * epsilon)", "thm-6"),
        ("algorithms", "2 * L / left", "L / left", "thm-9@derived::objective_perturbation_exactly"),
        ("algorithms", "b / stage.records", "b / 2 / stage.records", "thm-9@derived::outputs_have_that_density"),
        ("algorithms", "stage.weight, still))", "1e9, still))", "cor-8"),
    )

    @pytest.mark.parametrize(("part", "right", "wrong", "notices"), EDITS)
    def test_an_edited_line_is_noticed(
        self, cli: Cli, root: Path, copy: Path, part: str, right: str, wrong: str, notices: str
    ) -> None:
        file = copy / part / "chaudhuri_2011.py"
        assert file.read_text().count(right) == 1
        file.write_text(file.read_text().replace(right, wrong))
        cli("run", f"chaudhuri_2011/{notices}", "--root", str(copy), code=1)
