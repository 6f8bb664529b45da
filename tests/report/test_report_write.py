"""What a report consists of, that its bytes repeat, and that it touches no file of others."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from dataclasses import replace

import pytest
import report_example as example

from dpcheck import report
from dpcheck.checks import check
from dpcheck.engine import catalogue as real
from dpcheck.errors import InvalidInput
from dpcheck.report import tables
from dpcheck.verdicts import Witness, combine, holds, refuted


def written(root: pathlib.Path) -> dict[str, bytes]:
    return {f.relative_to(root).as_posix(): f.read_bytes() for f in sorted(root.rglob("*")) if f.is_file()}


@pytest.fixture
def out(tmp_path: pathlib.Path) -> pathlib.Path:
    report.write(example.lay_out(tmp_path), example.RECORDS, tmp_path / "reports", stale={example.risk_grows.id})
    return tmp_path / "reports"


def test_files_and_return_value(tmp_path):
    paths = report.write(example.lay_out(tmp_path), example.RECORDS, tmp_path / "reports")
    assert [p.relative_to(tmp_path / "reports").as_posix() for p in paths] == [
        "blank.md",
        "comparisons.md",
        "dpcheck.html",
        "example.md",
        "figures/comparisons/where.svg",
        "figures/example/thm-10-worst_pair.svg",
        "figures/example/thm-2-rate_many_series.svg",
        "figures/example/thm-2-risk_grows.svg",
        "index.md",
        "witnesses/example/thm-10-worst_pair.json",
    ]
    assert all(p.is_file() for p in paths)


def test_exponents_that_nothing_measures_are_listed_with_their_reasons(out):
    index, page = ((out / name).read_text() for name in ("index.md", "dpcheck.html"))
    assert "example/thm-2 | n | It would take" in index
    assert "0 have a row, 1 a reason why nothing measures them" in index
    assert "It would take &lt;10⁹&gt; records." in page


def test_bytes_repeat_in_other_processes_with_other_hash_seeds(tmp_path):
    outputs = []
    for seed, backend in (("1", "agg"), ("2", "pdf")):
        root = tmp_path / seed
        root.mkdir()
        (root / "matplotlibrc").write_text("lines.linewidth: 7\nfont.size: 20\n")
        environment = {**os.environ, "PYTHONHASHSEED": seed, "MPLBACKEND": backend, "TZ": f"UTC+{seed}"}
        script = str(pathlib.Path(example.__file__).resolve())
        subprocess.run([sys.executable, script, str(root)], check=True, env=environment, cwd=root)
        outputs.append(written(root / "reports"))
    assert outputs[0] == outputs[1]


def test_nothing_of_the_machine_or_the_clock(out):
    for name, content in written(out).items():
        text = content.decode()
        assert str(out.parent) not in text, name
        assert "today" not in text, "the time of creation"
        assert "3.2 s" not in text, "seconds"
        assert "matplotlib" not in text.lower(), name


def test_phase_diagrams_are_shown_or_say_why_not(out):
    index, page = (out / "index.md").read_text(), (out / "comparisons.md").read_text()
    assert "(comparisons.md#where): Vacuous where d \\> nε." in index
    assert "the phase diagram gone: unknown label" in index
    assert "![One bound" in page
    assert "| clipping | 3/4 a + 3/4 b - 3/4 |" in page
    assert "of the order of the lower bound everywhere" in page


def test_upper_against_lower_bounds(out):
    page = (out / "comparisons.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| A bound against itself |"))
    assert "nothing: the bounds meet" in row
    assert (
        row.rstrip(" |").endswith("below the upper bound: holds 1; above the lower bound: no check") or "holds" in row
    )


def test_real_sizes_say_what_is_vacuous_and_what_cannot_run(out):
    page = (out / "comparisons.md").read_text()
    assert "All algorithms: `dpcheck compare-bounds --n 10 --d 1 --epsilon 1`" in page
    assert "nothing beats a constant output" in page
    assert "| `pure_heavy_tails/fact-trivial` | 1, vacuous |" in page
    assert "| `pure_heavy_tails/proc-localized-double-op` | infeasible |" in page


def test_refutations_are_counted_by_what_they_refute(out):
    index, page = (out / "index.md").read_text(), (out / "dpcheck.html").read_text()
    for text in (index, page):
        assert "(refuted: 1 of printed statements, 1 of readings of them)" in text


def test_the_counts_come_first_then_what_is_refuted_then_the_exponents(out):
    """Both opened with a table of exponents that one has to scroll past."""
    index, page = (out / "index.md").read_text(), (out / "dpcheck.html").read_text()
    for text, parts in (
        (index, ("| Paper |", "## Refuted", "## Exponents")),
        (page, ("Papers and their verdicts", "<strong>Refuted: ", "<summary>Exponents, stated and measured")),
    ):
        places = [text.index(part) for part in parts]
        assert places == sorted(places)


def test_what_is_refuted_by_most_comes_first():
    verdict = example.RECORDS[0].verdict
    shown = Witness(label="example/thm-2", kind="example.says", parameters={}, claimed="1/2", found="2")
    bare = replace(verdict, witness=None)
    slight, far = (refuted("so", "exact", witness=shown, severity=by) for by in (1.5, 300.0))
    said = refuted("so", "exact", witness=shown)
    assert sorted([said, bare, far, slight], key=tables.excess) == [bare, slight, said, far]
    assert tables.excess(said) == 4


def test_what_a_folder_of_ones_own_states_is_counted_apart(tmp_path, monkeypatch):
    """It counted among the printed statements of papers."""
    found = example.lay_out(tmp_path)
    monkeypatch.setattr(type(found), "reached", lambda *_: " --also mine")
    report.write(found, example.RECORDS, tmp_path / "reports")
    assert "(refuted: 2 of statements in folders of your own)" in (tmp_path / "reports" / "index.md").read_text()


def test_a_check_of_several_labels_counts_once_and_transcriptions_apart(tmp_path):
    catalogue = example.lay_out(tmp_path)
    shared = check("example/thm-2", "risk", also=("example/lem-3",))(example.risk_grows.function)
    typed = check("example/thm-2", "transcription")(example.worst_pair.function)
    catalogue.checks = {c.id: c for c in (shared, typed)}
    records = [example.record(c, holds("fine", "exact")) for c in (shared, typed)]
    report.write(catalogue, records, tmp_path / "reports")
    index, page = (tmp_path / "reports" / name for name in ("index.md", "example.md"))
    assert "1 checks: refuted 0" not in index.read_text()
    assert "and 1 that compare our transcription with the printed line" in index.read_text()
    assert page.read_text().count("which bears on this reading as well") == 1
    assert page.read_text().count("#### Check `risk_grows`") == 1


def test_every_cell_of_a_refutation_has_a_row(tmp_path):
    cells = [refuted(f"delta {d}", "exact", numbers={"delta": d}, severity=d) for d in (0.1, 0.4)]
    told = combine(cells, [{"T": 1}, {"T": 2}])
    report.write(example.lay_out(tmp_path), [example.record(example.worst_pair, told)], tmp_path / "reports")
    page = (tmp_path / "reports" / "example.md").read_text()
    assert "δ 0.4 (so 2 of 2 cells, the worst of them at T = 2)" in page
    assert "| 1 | refuted | 0.1 |" in page
    assert "| 2 | refuted | 0.4 |" in page


def test_a_larger_record_of_other_sources_stands_beside_the_fresh_one(tmp_path):
    fresh = example.record(example.risk_grows, holds("so it was in 8 trials", "exact"))
    larger = replace(fresh, size="full", verdict=holds("so it was in 2,000 trials", "exact"))
    earlier = {fresh.check: larger}
    report.write(example.lay_out(tmp_path), [fresh], tmp_path / "reports", earlier=earlier)
    for name in ("example.md", "dpcheck.html"):
        text = (tmp_path / "reports" / name).read_text()
        assert "so it was in 8 trials" in text
        assert "An earlier record at size full, whose sources have changed since: holds: so it was in 2,000" in text


def test_a_rate_is_drawn_over_its_order_and_never_beside_a_line_called_bound(out):
    """The order has no constant: drawn as a line it lies below measurements that break nothing."""
    name = "thm-2-rate_many_series.svg"
    figure = (out / "figures" / "example" / name).read_text()
    assert "order: flat where the rate is met" in figure
    assert ">bound<" not in figure


def test_findings_stand_on_the_front_page(out):
    index = (out / "index.md").read_text()
    assert "It is \\<twice\\> as private as needed. [`example/thm-10`](example.md#thm-10): derived; " in index


def test_pages_say_what_they_must(out):
    index, page = (out / "index.md").read_text(), (out / "example.md").read_text()
    assert "| **All** | 2 | 0 | 1 | 0 | 2 | 0 | 1 | 6 | 0 | 7 | 3 |" in index
    assert "1 verdict came out unexpected" in index
    assert "is at most 3e-6" in index
    assert "[witness](witnesses/example/thm-10-worst_pair.json)" in index
    assert "audits/broken.py:3: does not import" in index
    assert "belongs to checks that no longer exist" in index
    assert "No check: cited; it states no constant." in page
    assert "Not run yet" in page
    assert "No derivation: it has no parameter to choose" in page
    assert "in words" in page
    assert "Two parts of \\<ε\\> each. (3 of 4 steps executed, the other in words.)" in page
    assert r"does not follow (3.000 \> 2.000 at ε = 1; there are two)" in page
    assert page.count("*Stale: the sources have changed since.*") == 1
    assert "**Not what was expected.**" in page
    assert "Not shown: 2 points that are infinite, not a number" in page
    assert "`dpcheck run example/thm-2::risk_grows --size smoke`" in page
    assert "The height is the constant that the order hides." in page
    assert "passed" not in (index + page + (out / "dpcheck.html").read_text()).lower()


def test_a_refutation_that_nobody_graded_is_named(tmp_path):
    catalogue = example.lay_out(tmp_path)
    label = "example/lem-3"
    for name in (label, f"{label}@literal"):
        catalogue.claims[name] = dataclasses.replace(catalogue.claims[name], grade="")
    report.write(catalogue, example.RECORDS, tmp_path / "reports")
    index = (tmp_path / "reports/index.md").read_text()
    section = index.partition("## Refuted, and not yet judged")[2].partition("\n## ")[0]
    assert "example/lem-3@literal" in section
    assert "n = 3 gives 4 against 3." in section


def test_witness_reads_back(out):
    assert Witness.load(out / "witnesses/example/thm-10-worst_pair.json") == example.WITNESS


def test_empty_catalogue(tmp_path):
    names = ("papers", "claims", "checks", "unchecked", "algorithms", "contests", "panels", "sizes", "findings")
    nothing: dict[str, dict] = {name: {} for name in names}
    catalogue = example.FakeCatalogue(tmp_path, **nothing)
    paths = report.write(catalogue, [], tmp_path / "reports")
    assert [p.name for p in paths] == ["dpcheck.html", "index.md"]
    assert "No check is collected" in paths[1].read_text()


def test_no_records(tmp_path):
    report.write(example.lay_out(tmp_path), [], tmp_path / "reports")
    index = (tmp_path / "reports/index.md").read_text()
    assert "No verdict is stored yet" in index
    assert "No verdict rests on sampling." in index


def test_earlier_files_go_and_others_stay(out):
    (out / "records.jsonl").write_text("{}\n")
    (out / "notes.md").write_text("# mine\n")
    (out / "figures/example/mine.txt").write_text("mine\n")
    (out / "gone.md").write_text(f"{tables.MARKER}\n# gone\n")
    before = written(out)
    report.write(example.lay_out(out.parent), example.RECORDS[:2], out)
    after = written(out)
    assert set(before) - set(after) == {
        "gone.md",
        "figures/example/thm-10-worst_pair.svg",
        "witnesses/example/thm-10-worst_pair.json",
    }
    assert not (out / "witnesses").exists()
    for name in ("records.jsonl", "notes.md", "figures/example/mine.txt"):
        assert after[name] == before[name]


def test_a_file_of_others_is_never_overwritten(tmp_path):
    out = tmp_path / "reports"
    out.mkdir()
    (out / "index.md").write_text("# mine\n")
    with pytest.raises(InvalidInput, match=r"index\.md is not of `dpcheck report`"):
        report.write(example.lay_out(tmp_path), example.RECORDS, out)
    assert written(out) == {"index.md": b"# mine\n"}


def test_two_records_of_one_check_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"2 records of example/thm-2::risk_grows"):
        report.write(example.lay_out(tmp_path), [*example.RECORDS, example.RECORDS[0]], tmp_path / "reports")


def test_report_outside_of_the_root_links_no_sources(tmp_path):
    (tmp_path / "root").mkdir()
    out = tmp_path / "elsewhere"
    report.write(example.lay_out(tmp_path / "root"), example.RECORDS, out)
    page = (out / "example.md").read_text()
    assert "bound `bounds/example.py:3`" in page
    assert "](../" not in page
    assert str(tmp_path) not in page + (out / "index.md").read_text()


def test_hundreds_of_figures_stay_within_ten_megabytes(tmp_path):
    """250 checks with a figure of three series each: more than the five papers have. Drawn once, counted often."""
    catalogue = example.lay_out(tmp_path)
    points = [p for k in (1, 2, 4) for p in example.curve(f"k = {k}", k)]
    verdict = dataclasses.replace(example.RECORDS[0].verdict, points=points)
    records = [dataclasses.replace(example.RECORDS[0], verdict=verdict)]
    report.write(catalogue, records, tmp_path / "reports")
    total = {name: len(content) for name, content in written(tmp_path / "reports").items()}
    figure = total["figures/example/thm-2-risk_grows.svg"]
    assert 250 * 2 * figure < 10_000_000, "once as a file, once inside of the HTML page"


BOUNDS = """
from dpcheck.claims import Paper
from dpcheck.symbols import d, epsilon, n

paper = Paper(key="demo", title="A demonstration", authors="A. Author", reference="2020")
risk = paper.claim("demo/thm-1", "Theorem 1", "The risk is at most d/(nε).", kind="theorem", relation="<=",
                   quantity="excess risk", explicit=d / (n * epsilon))
"""
AUDITS = '''
from dpcheck.checks import Context, check
from dpcheck.verdicts import Verdict, holds

@check("demo/thm-1", "risk")
def sizes(context: Context) -> Verdict:
    """Two sizes."""
    return holds("0.1 against 0.2.", "exact")
'''


def test_with_a_real_catalogue(tmp_path):
    for name, text in {
        "pyproject.toml": '[tool.dpcheck]\ncontent = ["bounds", "audits"]\n',
        "bounds/demo.py": BOUNDS,
        "bounds/demo.md": "# Demonstration\n\n## thm-1: by hand\n\nAlgebra.\n",
        "audits/demo.py": AUDITS,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    catalogue = real.load(tmp_path)
    assert not catalogue.errors
    (check,) = catalogue.checks.values()
    record = example.record(check, check.verdict([({}, check.measure({}, "smoke", 0))]))
    report.write(catalogue, [record], tmp_path / "reports")
    page = (tmp_path / "reports/demo.md").read_text()
    assert "✓ **holds**: 0.1 against 0.2. (exact)" in page
    assert "[bound `bounds/demo.py:6`](../bounds/demo.py#L6)" in page
    assert "[derivation `bounds/demo.md:3`](../bounds/demo.md#thm-1-by-hand)" in page
    assert "[audit `audits/demo.py:5`](../audits/demo.py#L5)" in page
    assert json.dumps("demo/thm-1") in (tmp_path / "reports/dpcheck.html").read_text()
