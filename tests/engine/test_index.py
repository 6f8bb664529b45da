"""The index: what is shown is what the sources say now, whatever was kept before and whatever became of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import collected
from click.testing import CliRunner
from edits import edit

from dpcheck.cli import main
from dpcheck.engine import catalogue, fetching, index, layout, memo
from dpcheck.errors import UnknownLabel

Make = Callable[..., Path]

STEPS = '''
    import sympy as sp
    from dpcheck.derivations import derivation
    from dpcheck.symbols import D, L, n

    @derivation("toy/thm-1")
    def steps(proof):
        """One step."""
        half = L * D / sp.sqrt(n) / 2
        proof.concludes("toy/thm-1", proof.equal("true", lambda: half + half, 2 * half))
'''
OTHER = """
    from dpcheck.claims import Paper
    from dpcheck.checks import check
    from dpcheck.verdicts import holds

    PAPER = Paper(key="other", title="Another", authors="B. Author", reference="2025")
    lemma = PAPER.claim("other/lem-1", "Lemma 1", "It is so.", kind="lemma")

    @check("other/lem-1", kind="symbolic")
    def so_it_is(context):
        return holds("so it is", "exact")
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of what is kept."""
    monkeypatch.setenv(memo.FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def root(project: Make, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NO_COLOR", "1")
    found = project({"bounds/steps.py": STEPS})
    monkeypatch.chdir(found)
    return found


def said(*arguments: str, code: int = 0) -> str:
    """What a command prints, but for what it says on a slow machine while it is at work."""
    result = CliRunner().invoke(main, list(arguments), prog_name="dpcheck")
    assert result.exit_code == code, result.output
    return "".join(line for line in result.output.splitlines(True) if not line.endswith("Ctrl-C stops it\n"))


@pytest.mark.usefixtures("root")
def test_what_is_kept_says_the_same(cache: Path) -> None:
    """The index of one label, of everything, and either of them when it was kept."""
    shows = []
    for name in ("page", "index"):
        shows += [said("show", "toy/thm-1"), said("show", "toy/thm-1")]
        assert any(path.name.startswith(name) for path in cache.iterdir())
        said("list")
    assert len(set(shows)) == 1
    assert "1  true" in shows[0]
    assert said("list") == said("list")


@pytest.mark.usefixtures("root")
def test_what_is_kept_needs_no_symbolic_algebra() -> None:
    """Nor any file of the content, nor SciPy: it is what makes `show` and `list` answer at once."""
    code = (
        "import sys; from dpcheck.cli import main; main(sys.argv[1:], standalone_mode=False); "
        "print('loaded', [m for m in sys.modules if m in ('sympy', 'scipy') or m.startswith('dpcheck_content')])"
    )
    for arguments in (("show", "toy/thm-1"), ("list",)):
        said(*arguments)
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
        assert done.stdout.splitlines()[-1] == "loaded []", done.stdout + done.stderr


@pytest.mark.parametrize(
    ("path", "old", "new", "shown"),
    [
        ("bounds/toy.py", "The excess risk is at most LD/√n.", "Otherwise put.", "Otherwise put."),
        ("bounds/toy.py", "order=L * D / sp.sqrt(n)", "order=L * D / n", "D⋅L\n      ───\n       n"),
        ("bounds/toy.md", "## thm-1\n\nTwice", "Words.\n\n## thm-1\n\nTwice", "bounds/toy.md:9"),
        ("bounds/steps.py", '"true", lambda', '"as true", lambda', "1  as true"),
        ("bounds/steps.py", "One step.", "A single step.", "A single step."),
        ("audits/toy.py", "The mean of n uniforms is small.", "The mean is small.", "not run   The mean is small."),
        ("audits/toy.py", "\nfrom dpcheck.checks import check", "\n\n\nfrom dpcheck.checks import check", "toy.py:7"),
    ],
)
def test_an_edit_is_seen(root: Path, path: str, old: str, new: str, shown: str) -> None:
    assert shown not in said("show", "toy/thm-1")
    said("list")
    edit(root / path, old, new)
    assert shown in said("show", "toy/thm-1")
    said("list")
    assert shown in said("show", "toy/thm-1")
    edit(root / path, new, old)
    assert shown not in said("show", "toy/thm-1")


def test_an_edit_of_the_same_length_and_time_is_seen(root: Path) -> None:
    path = root / "bounds" / "toy.py"
    said("list")
    before = path.stat()
    edit(path, "at most LD/√n", "at most DL/√n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert "at most DL/√n" in said("show", "toy/thm-1")


def test_a_record_is_stale_after_an_edit(root: Path) -> None:
    said("run", "toy/thm-1")
    assert "stale" not in said("show", "toy/thm-1")
    edit(root / "audits" / "toy.py", "float(context.rng()", "0.5 * float(context.rng()")
    assert "stale" in said("show", "toy/thm-1")
    said("run", "toy/thm-1")
    assert "stale" not in said("show", "toy/thm-1")


def test_a_new_paper_and_a_removed_one(root: Path) -> None:
    said("list")
    assert "unknown label" in said("show", "other/lem-1", code=2)
    path = root / "audits" / "other" / "all.py"
    path.parent.mkdir()
    path.write_text("\n".join(line[4:] for line in OTHER.splitlines()))
    assert "It is so." in said("show", "other/lem-1")
    assert "holds 1" in said("run", "other/lem-1")
    assert "other/lem-1" in said("list")
    path.unlink()
    assert "unknown label" in said("show", "other/lem-1", code=2)
    assert "unknown label" in said("run", "other/lem-1", code=2)


@pytest.mark.parametrize("harm", ["empty", "cut off", "foreign", "another", "folder"])
@pytest.mark.usefixtures("root")
def test_damage_goes_unnoticed(cache: Path, harm: str) -> None:
    before = said("list"), said("show", "toy/thm-1")
    for path in cache.iterdir():
        content = path.read_bytes()
        signature, _, body = content.partition(b"\n")
        if harm == "folder":
            path.unlink()
            path.mkdir()
            continue
        altered = body.replace(b"toy/thm-1", b"toy/thm-9")
        path.write_bytes(
            {
                "empty": b"",
                "cut off": content[: len(content) // 2],
                "foreign": b"SQLite format 3\0" + os.urandom(64),
                "another": signature + b"\n" + altered,
            }[harm]
        )
    assert (said("list"), said("show", "toy/thm-1")) == before


def test_what_is_kept_under_another_question_is_no_answer(cache: Path) -> None:
    memo.write({"a": 1}, "index", "one")
    (path,) = cache.iterdir()
    path.rename(memo._path("index", ("two",)) or path)
    assert memo.read("index", "two") is None
    assert memo.read("index", "one") is None


def test_nowhere_to_keep_it(root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = said("show", "toy/thm-1")
    cache_is_a_file = root / "file"
    cache_is_a_file.write_text("")
    for place in (str(cache_is_a_file / "in"), ""):
        monkeypatch.setenv(memo.FOLDER, place)
        assert said("show", "toy/thm-1") == before
        assert said("list") == said("list")


def test_a_write_that_is_cut_off_leaves_the_last_entry(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memo.write(1, "index", "key")

    def full(*names: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        memo.write(2, "index", "key")
    assert memo.read("index", "key") == 1
    assert len(list(cache.iterdir())) == 1
    (cache / "draft-1-killed").write_bytes(b"half of an ent")
    memo.write(3, "index", "key")
    assert memo.read("index", "key") == 3


def test_the_oldest_entries_go(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "BYTES", 1000)
    for number in range(10):
        memo.write("x" * 100, "index", str(number))
        os.utime(memo._path("index", (str(number),)) or "", (number, number))
    memo.write("x" * 100, "index", "last")
    assert memo.read("index", "last") is not None
    assert memo.read("index", "0") is None
    assert sum(path.stat().st_size for path in cache.iterdir()) <= 1000


@pytest.mark.usefixtures("root")
def test_processes_at_once() -> None:
    command = [sys.executable, "-m", "dpcheck"]
    work = (["list"], ["show", "toy/thm-1"], ["list"], ["show", "toy/lem-2"])
    together = [subprocess.Popen([*command, *each], stdout=subprocess.PIPE, text=True) for each in work]
    answers = [process.communicate()[0] for process in together]  # stderr says that it is at work, where that is slow
    assert [process.returncode for process in together] == [0] * len(work)
    assert answers == [said(*each) for each in work]


def test_an_index_is_whole_in_json(root: Path) -> None:
    made = index.Index.of(catalogue.load(root))
    again = index.Index.read(made.layout, json.loads(json.dumps(made.plain())))
    assert again == made


class TestLazily:
    def test_only_what_is_asked_for_is_imported(self, root: Path) -> None:
        (root / "audits" / "broken.py").write_text("import no_such_module\n")
        found = fetching.lazily(layout.find(root))
        assert [check.id for check in found.select(["toy/lem-2"])] == ["toy/lem-2::sampled"]
        assert found.errors == []
        assert len(found.checks) == 3
        assert ["no_such_module" in str(error) for error in found.errors] == [True]

    def test_it_ends_as_a_full_load(self, root: Path) -> None:
        text = (root / "audits" / "toy.py").read_text()
        (root / "audits" / "zz.py").write_text(text)  # every check twice
        found, full = fetching.lazily(layout.find(root)), catalogue.load(root)
        found.checks_of("toy/lem-2")
        assert list(found.checks) == list(full.checks)
        assert list(found.claims) == list(full.claims)
        assert list(map(str, found.errors)) == list(map(str, full.errors)) != []
        assert found.fingerprints() == full.fingerprints()

    def test_it_survives_another_load(self, root: Path) -> None:
        found = fetching.lazily(layout.find(root))
        first = found.claim("toy/thm-1")
        (root / "audits" / "again.py").write_text("from .toy import sampled\n")
        catalogue.load(root)
        assert found.claim("toy/thm-1@corrected").order == first.order or found.errors == []
        assert {check.id for check in found.checks_of("toy/lem-2")} == {"toy/lem-2::sampled"}
        assert found.errors == []

    @pytest.mark.parametrize(
        "text",
        [
            'name = "lem-2"\nmine = check(f"toy/{name}", "symbolic")(so)',
            'for name in ("toy/lem-2",):\n    mine = check(name, "symbolic")(so)',
            'mine = check("toy/" + "lem-2", "symbolic")(so)',
            'SAME = ("toy/lem-2",)\nmine = check("toy/thm-1", "symbolic", also=SAME)(so)',
            'SAME, MOST = ("toy/lem-2", "toy/thm-1"), 2\nmine = check("toy/thm-1", "symbolic", also=SAME[:1])(so)',
            'SAME = ()\nSAME += ("toy/lem-2",)\nmine = check("toy/thm-1", "symbolic", also=SAME)(so)',
            'SAME = []\nSAME.append("toy/lem-2")\nmine = check("toy/thm-1", "symbolic", also=tuple(SAME))(so)',
            'ROWS = {"toy/thm-1": "toy/lem-2"}\nmine = check(ROWS["toy/thm-1"], "symbolic")(so)',
            'def of(label):\n    return check(label, "symbolic")(so)\nlabel = "toy/thm-1"\nmine = of("toy/lem-2")',
            'mine = check("toy/thm-1", "symbolic", also=tuple(f"toy/{name}" for name in ["lem-2"]))(so)',
            'from functools import partial\nmake = partial(check, "toy/lem-2")\nmine = make("symbolic")(so)',
            'mine = check("toy/thm-1", "symbolic", also=["toy/lem-2"])(so)',
            'LABEL = "toy/lem-2"\nmine = check(LABEL, "symbolic")(so)',
            "from ._shared import mine",
        ],
    )
    def test_labels_put_together_at_run_time(self, project: Make, cache: Path, text: str) -> None:
        head = "from dpcheck.checks import check\nfrom dpcheck.verdicts import holds\n"
        so = 'def so(context):\n    return holds("so", "exact")\n'
        shared = f'{head}{so}mine = check("toy/lem-2", "symbolic")(so)\n'
        root = project({"audits/computed.py": f"{head}{so}{text}\n", "audits/_shared.py": shared})
        found = fetching.lazily(layout.find(root))
        assert "so" in {check.name for check in found.checks_of("toy/lem-2")}

    def test_a_file_whose_labels_are_known_is_not_imported_for_another(self, project: Callable[..., Path]) -> None:
        """A tuple of labels is read; what the claims of one paper make is of that paper."""
        paper = 'from dpcheck.claims import Paper\nTOY = Paper(key="toy", title="T", authors="A", reference="R")\n'
        more = f'{paper}def more(name):\n    return TOY.claim(name, "T", "S", kind="lemma")\n'
        head = "from dpcheck.checks import check\nfrom dpcheck.verdicts import holds\nSAME = ('toy/thm-1',)\n"
        text = f'{head}@check("toy/thm-1", "symbolic", also=SAME)\ndef so(context):\n    return holds("so", "exact")\n'
        root = project({"bounds/more.py": more, "audits/apart.py": text})
        fetch = fetching.Fetch(fetching.lazily(layout.find(root)))
        files = {f"{file.path.parent.name}/{file.path.name}": file for file in fetch.files}
        apart, bounds = files["audits/apart.py"], files["bounds/more.py"]
        assert [fetch.may_hold(apart, "checks", label) for label in ("toy/thm-1", "toy/lem-2")] == [True, False]
        assert [fetch.may_hold(bounds, "states", label) for label in ("toy/lem-2", "other/lem-2")] == [True, False]

    @pytest.mark.parametrize("label", ["toy/thm-2", "toy/wrong", "nobody/thm-1", "nosuch"])
    def test_a_wrong_label_is_told_without_importing_anything_for_it(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, label: str
    ) -> None:
        """What is near is read off the texts: a full load takes many times as long."""
        monkeypatch.setattr(fetching.Fetch, "_all", lambda self: pytest.fail("everything is imported"))
        monkeypatch.setattr(catalogue, "load_from", lambda *_, **__: pytest.fail("everything is imported"))
        for name in ("run", "show", "scaling", "mutate"):
            told = said(name, label, code=2)
            assert f"unknown label {label!r}" in told
            assert "did you mean toy/thm-1" in told or label != "toy/thm-2"

    def test_what_may_name_a_paper_a_check_or_a_file_is_left_to_whoever_imports_it(self, root: Path) -> None:
        lazy = fetching.lazily(layout.find(root))
        check = next(iter(fetching.lazily(layout.find(root)).checks.values()))
        for name in ("toy", "toy/thm-1", check.id, check.name, str(root), "a/b/c", "mine.py"):
            fetching.refuse_unnamed(lazy, name)
        fetching.refuse_unnamed(lazy, "toy/alg-9", ["toy/alg-9"])
        with pytest.raises(UnknownLabel, match="did you mean toy"):
            fetching.refuse_unnamed(lazy, "toyy")

    def test_unknown_labels_name_near_misses(self, root: Path) -> None:
        with pytest.raises(UnknownLabel, match="did you mean toy/thm-1"):
            fetching.lazily(layout.find(root)).claim("toy/thm-2")
        with pytest.raises(UnknownLabel, match="did you mean"):
            fetching.lazily(layout.find(root)).select(["toy/lem-3"])

    def test_every_label_of_the_checkout_is_found(self) -> None:
        """Whatever a file of the content holds, its text says that it may."""
        found = collected()
        fetch = fetching.Fetch(catalogue.Catalogue(found.layout))
        files = {file.path: file for file in fetch.files}
        held = [(id, files[found.files[id].path], "checks", check.labels) for id, check in found.checks.items()]
        for table in (found.claims, found.derivations, found.underived):
            prefix = {id(found.derivations): "derivation ", id(found.underived): "underived "}.get(id(table), "")
            places = ((key, found._places[prefix + key][0]) for key in table)
            held += [(key, files[path], "states", (key,)) for key, path in places if path in files]
        assert len(held) > 1500
        missed = [
            (name, label)
            for name, file, kind, labels in held
            for label in labels
            if not fetch.may_hold(file, kind, label.partition("@")[0])
        ]
        assert missed == []


@pytest.mark.parametrize(
    ("platform", "named", "where"),
    [
        ("linux", {}, "{home}/.cache/dpcheck"),
        ("linux", {"XDG_CACHE_HOME": "/var/kept"}, "/var/kept/dpcheck"),
        ("linux", {"XDG_CACHE_HOME": "kept"}, None),
        ("darwin", {}, "{home}/Library/Caches/dpcheck"),
        ("win32", {"LOCALAPPDATA": "/c/local"}, "/c/local/dpcheck"),
        ("win32", {}, None),
        ("linux", {"DPCHECK_CACHE_DIR": "mine"}, "mine"),
        ("linux", {"DPCHECK_CACHE_DIR": ""}, None),
    ],
)
def test_where_things_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, named: dict[str, str], where: str | None
) -> None:
    for name in ("DPCHECK_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path), **named}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert memo.folder() == (None if where is None else Path(where.format(home=tmp_path)))
