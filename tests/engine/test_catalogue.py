"""Collection by path: what is found, what is an error and where, and where a label stands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sympy as sp
from edits import edit

from dpcheck import carried
from dpcheck.engine import algorithms, catalogue, homes, layout, statements
from dpcheck.engine.narrowing import narrowed
from dpcheck.errors import CollectionError, InvalidInput, UnknownLabel
from dpcheck.symbols import D, L, n

Make = Callable[..., Path]


def messages(root: Path, **options: object) -> list[str]:
    return [str(error) for error in catalogue.load(root, **options).errors]


def test_a_root_is_collected(project: Make) -> None:
    root = project()
    found = catalogue.load(root)
    assert found.errors == []
    assert list(found.papers) == ["toy"]
    assert list(found.claims) == ["toy/thm-1", "toy/thm-1@corrected", "toy/lem-2"]
    assert set(found.checks) == {"toy/thm-1::within_the_bound", "toy/lem-2::sampled"}
    assert len(set(found.checks.values())) == 2, "a check is hashable, whatever its grid"
    assert [c.label for c in found.readings("toy/thm-1@corrected")] == ["toy/thm-1", "toy/thm-1@corrected"]


def test_lists_helpers_and_neighbours(project: Make) -> None:
    """Lists are opened; `_` files are helpers; relative imports work in nested folders of equal file names."""
    check = """
        from dpcheck.checks import check, unchecked
        from dpcheck.verdicts import holds
        from ._shared import VALUE

        @check("toy/lem-2", kind="symbolic")
        def {name}(context):
            return holds(VALUE, "exact")

        reasons = [unchecked("toy/thm-1", "no time")]
    """
    root = project(
        {
            "audits/one/_shared.py": "VALUE = 'one'",
            "audits/one/section.py": check.format(name="first"),
            "audits/two/_shared.py": "VALUE = 'two'",
            "audits/two/section.py": check.format(name="second").replace("toy/thm-1", "toy/thm-1@corrected"),
            "audits/two/test_section.py": "raise RuntimeError('belongs to pytest')",
        }
    )
    found = catalogue.load(root)
    assert found.errors == []
    reasons = {id: found.checks[id].measure({}, "smoke", 0).reason for id in ("toy/lem-2::first", "toy/lem-2::second")}
    assert reasons == {"toy/lem-2::first": "one", "toy/lem-2::second": "two"}
    assert set(found.unchecked) == {"toy/thm-1", "toy/thm-1@corrected"}


def test_an_object_seen_from_two_files_is_one(project: Make) -> None:
    root = project({"audits/again.py": "from .toy import sampled, within_the_bound"})
    assert messages(root) == []


def test_a_broken_file_leaves_the_others(project: Make) -> None:
    root = project({"audits/broken.py": "import math\n\n\nmath.no_such_name\n", "audits/syntax.py": "x = 1\ny = = 2\n"})
    found = catalogue.load(root)
    first, second = map(str, found.errors)
    assert f"{root}/audits/broken.py:4: does not import: AttributeError" in first
    assert f"{root}/audits/syntax.py:2: does not import: SyntaxError" in second
    assert len(found.checks) == 2


def test_an_absolute_sibling_import_names_the_remedy(project: Make) -> None:
    root = project({"audits/_shared.py": "x = 1", "audits/broken.py": "from _shared import x"})
    assert "from ._shared import" in messages(root)[0]


def test_duplicates_name_both_places(project: Make) -> None:
    again = 'from .toy import TOY\n\n\nother = TOY.claim("toy/lem-2", "Lemma 2", "Otherwise.", kind="lemma")\n'
    root = project({"bounds/zz.py": again})
    (message,) = messages(root)
    assert "toy/lem-2 is defined twice: bounds/toy.py:15 and bounds/zz.py:4" in message


def test_duplicate_checks_name_both_places(project: Make) -> None:
    root = project()
    (root / "audits" / "zz.py").write_text((root / "audits" / "toy.py").read_text())
    first, second = messages(root)
    assert "toy/thm-1::within_the_bound is defined twice: audits/toy.py:5 and audits/zz.py:5" in first
    assert "toy/lem-2::sampled" in second


def test_a_check_of_an_unknown_claim_names_near_misses(project: Make) -> None:
    root = project()
    edit(root / "audits" / "toy.py", 'check("toy/lem-2"', 'check("toy/lem-22"')
    (message,) = messages(root)
    assert message.startswith("audits/toy.py:15: unknown label 'toy/lem-22'; did you mean toy/lem-2")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ('kind="lemma", relation="<=", explicit=2 * L', "an explicit bound"),
        ('kind="lemma", grade="slip", remark="…"', "the grade 'slip'"),
    ],
)
def test_a_constant_without_derivation_is_an_error(project: Make, fields: str, why: str) -> None:
    root = project(
        {"bounds/more.py": f'from .toy import L, TOY\nlemma = TOY.claim("toy/lem-3", "Lemma 3", "…", {fields})\n'}
    )
    (message,) = messages(root)
    assert message.startswith(f"bounds/more.py:2: toy/lem-3 has {why} but no section in toy.md")
    with (root / "bounds/toy.md").open("a") as file:
        file.write("\n### lem-30 is another one\n")
    assert len(messages(root)) == 1
    with (root / "bounds/toy.md").open("a") as file:
        file.write("\n### Lemma 3 (lem-3)\n")
    assert messages(root) == []


def test_a_corrected_reading_needs_its_section(project: Make) -> None:
    root = project({"bounds/toy.md": "# Toy\n```\n## thm-1\n```\n"})
    assert any("toy/thm-1@corrected has the reading 'corrected'" in message for message in messages(root))


def test_grids_are_checked(project: Make) -> None:
    text = """
        from dpcheck.checks import by_size, check
        from dpcheck.verdicts import holds

        @check("toy/lem-2", kind="privacy", grid={"law": [object()]})
        def nameless(context, law): ...

        @check("toy/lem-2", kind="privacy", grid={"n": by_size([1], [2, 2])})
        def twice(context, n): ...

        @check("toy/lem-2", kind="privacy", grid={"n": []})
        def empty(context, n): ...

        @check("toy/lem-2", kind="privacy", grid={"n": by_size([1], [], [1])})
        def gap(context, n): ...
    """
    root = project({"audits/grids.py": text})
    empty, gap, nameless, twice = sorted(messages(root))
    assert "audits/grids.py:5" in nameless
    assert "holds an object" in nameless
    assert '{"n": 2} twice at size standard' in twice
    assert "empty is empty at size full" in empty
    assert "gap is empty at size standard" in gap


def test_homes(project: Make) -> None:
    mutant = 'ABOUT = "toy/thm-1"\n'
    root = project({"tests/mutants/halves.py": mutant})
    found = catalogue.load(root)
    homes = [(home.kind, str(home)) for home in found.homes("toy/thm-1")]
    assert homes == [
        ("bound", "bounds/toy.py:8"),
        ("derivation", "bounds/toy.md:7"),
        ("audit", "audits/toy.py:5"),
        ("mutant", "tests/mutants/halves.py:1"),
    ]
    corrected = [(home.kind, home.line) for home in found.homes("toy/thm-1@corrected")]
    assert corrected == [("bound", 12), ("derivation", 7), ("mutant", 1)]
    with pytest.raises(UnknownLabel, match="toy/thm-1"):
        found.homes("toy/thm-11")


def test_select(project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project()
    monkeypatch.chdir(root)
    found = catalogue.load()

    def ids(*wanted: str) -> list[str]:
        return [check.id for check in found.select(wanted)]

    everything = ["toy/thm-1::within_the_bound", "toy/lem-2::sampled"]
    assert ids() == ids("toy") == ids("audits") == ids("audits/toy.py") == ids(".") == sorted(everything)[::-1]
    assert ids("toy/lem-2") == ids("toy/lem-2::sampled") == ["toy/lem-2::sampled"]
    assert ids("toy/thm-1") == ["toy/thm-1::within_the_bound"]
    assert ids("toy/thm-1@corrected") == ids("bounds") == []
    with pytest.raises(UnknownLabel, match="did you mean"):
        ids("toy/lem2")


def test_a_users_own_folder(project: Make, tmp_path: Path) -> None:
    root = project()
    own = """
        from dpcheck.checks import check
        from dpcheck.verdicts import holds
        @check("toy/lem-2", kind="symbolic")
        def mine(context):
            return holds("so it is", "exact")
    """
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "own.py").write_text("\n".join(line[8:] for line in own.splitlines()))
    found = catalogue.load(root, paths=[tmp_path / "mine", root / "audits"])
    assert found.errors == []
    assert [check.id for check in found.select([str(tmp_path / "mine")])] == ["toy/lem-2::mine"]
    alone = catalogue.load(root, paths=[tmp_path / "mine" / "own.py"])
    assert "toy/lem-2::mine" in alone.checks
    only = catalogue.load(root, content=["bounds"])
    assert only.claims
    assert not only.checks


def test_a_claim_stands_where_it_is_made_not_where_it_is_imported(project: Make) -> None:
    """Files are collected in the order of their names: one that imports a claim may come before its own."""
    root = project({"bounds/aa.py": "from .toy import risk\n\nlabel = risk.label\n"})
    found = catalogue.load(root)
    assert not found.errors
    assert next(iter(found._order)).name == "aa.py"
    assert found.home("toy/thm-1").path == "bounds/toy.py"


def test_edited_content_is_read_again(project: Make) -> None:
    root = project()
    catalogue.load(root)
    edit(root / "audits" / "toy.py", "def sampled", "def measured_anew")
    assert "toy/lem-2::measured_anew" in catalogue.load(root).checks


def test_content_may_ask_for_earlier_claims(project: Make) -> None:
    """`dp.claim` at module level, and inside a check, answers from the root under collection."""
    text = """
        import dpcheck as dp
        BOUND = dp.claim("toy/thm-1@corrected").explicit
        @dp.check("toy/thm-1@corrected", kind="symbolic")
        def doubled(context):
            ratio = BOUND / dp.claim("toy/thm-1").order
            return dp.Verdict(outcome=dp.Outcome.HOLDS, reason=str(ratio), evidence="symbolic")
    """
    root = project({"audits/asks.py": text})
    found = catalogue.load(root)
    assert found.errors == []
    with catalogue.in_force(found):
        assert found.checks["toy/thm-1@corrected::doubled"].measure({}, "smoke", 0).reason == "2"


def test_front_door(project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project()
    (root / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(root / "deep" / "down")
    assert str(catalogue.claim("toy/thm-1").order) == "D*L/sqrt(n)"
    assert [c.label for c in catalogue.claims("toy", about="toy/alg-1", reading="corrected")] == ["toy/thm-1@corrected"]
    assert [c.label for c in catalogue.claims(kind="lemma")] == ["toy/lem-2"]
    with pytest.raises(UnknownLabel, match="did you mean toy/thm-1"):
        catalogue.claim("toy/thm-2")
    with pytest.raises(UnknownLabel):
        catalogue.claims("tow")


class TestLayout:
    def test_a_root_without_a_table(self, project: Make, tmp_path: Path) -> None:
        root = project()
        (root / "pyproject.toml").unlink()
        assert layout.find(root).papers == (root,)
        assert set(catalogue.load(root).claims) == {"toy/thm-1", "toy/thm-1@corrected", "toy/lem-2"}
        (tmp_path / "empty").mkdir()
        with pytest.raises(CollectionError, match="neither"):
            layout.find(tmp_path / "empty")
        with pytest.raises(CollectionError, match="not a folder"):
            layout.find(tmp_path / "nowhere")

    def test_a_missing_content_folder(self, project: Make) -> None:
        root = project({"pyproject.toml": '[tool.dpcheck]\ncontent = ["bounds", "gone"]\n'})
        assert "gone does not exist" in messages(root)[0]

    @pytest.mark.parametrize("table", ['[tool.dpcheck]\ncontent = "bounds"\n', "[tool.dpcheck\n"])
    def test_a_malformed_table(self, project: Make, table: str) -> None:
        with pytest.raises(CollectionError, match=r"pyproject\.toml"):
            layout.find(project({"pyproject.toml": table}))

    def test_packaged_content(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Away from any project: the wheel's content, results kept in the working directory."""
        package = tmp_path / "site-packages" / "dpcheck"
        for folder in ("bounds", "audits"):
            (package / "_content" / folder).mkdir(parents=True)
        (tmp_path / "work").mkdir()
        monkeypatch.chdir(tmp_path / "work")
        monkeypatch.setattr(carried, "PACKAGE", package)
        found = layout.find()
        assert found.content == (package / "_content" / "bounds", package / "_content" / "audits")
        assert found.store == tmp_path / "work" / ".dpcheck" / "store.db"

    def test_a_checkout_beats_its_packaged_snapshot(self, project: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        """An editable install leaves a copy of the content in site-packages; the checkout itself is what counts."""
        root = project()
        elsewhere = root.parent / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)
        monkeypatch.setattr(carried, "PACKAGE", root / "dpcheck")
        found = layout.find()
        assert found.content == (root / "bounds", root / "audits")
        assert found.home == elsewhere

    def test_content_beside_the_package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The package imported from one place, its content installed in another (a namespace portion)."""
        import importlib.metadata

        class Installed:
            def locate_file(self, path: str) -> Path:
                return tmp_path / "site" / path

        (tmp_path / "site" / "dpcheck" / "_content" / "bounds").mkdir(parents=True)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(carried, "PACKAGE", tmp_path / "source" / "dpcheck")
        monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed())
        assert layout.find().content == (tmp_path / "site" / "dpcheck" / "_content" / "bounds",)


def test_collecting_imports_nothing_heavy(project: Make) -> None:
    root = project()
    code = (
        "import sys; from dpcheck.engine.catalogue import load; load().fingerprints(); "
        "print([m for m in ('scipy.stats', 'matplotlib', 'cvxpy', 'joblib', 'sklearn', 'statsmodels', 'rich')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert done.stdout.strip() == "[]"


def test_homes_in_code(project: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """String literals before mentions in backticks; a claim leads to the code of what it is about."""
    package = tmp_path / "site" / "dpcheck"
    (package / "algorithms" / "toy").mkdir(parents=True)
    (package / "geometry").mkdir()
    (package / "harness").mkdir()
    (package / "algorithms" / "toy" / "one.py").write_text('class One:\n    label = "toy/alg-1"\n')
    (package / "geometry" / "sets.py").write_text('"""As `toy/thm-1` has it."""\n\nCODE = "toy/thm-1@corrected"\n')
    (package / "harness" / "risk.py").write_text('"toy/thm-1"\n')
    monkeypatch.setattr(homes, "PACKAGE", package)
    found = catalogue.load(project())
    places = [str(home) for home in found.homes("toy/thm-1") if home.kind == "algorithm"]
    assert places == ["dpcheck/geometry/sets.py:3", "dpcheck/geometry/sets.py:1", "dpcheck/algorithms/toy/one.py:2"]
    assert [str(home) for home in found.homes("toy/alg-1")] == ["dpcheck/algorithms/toy/one.py:2"]


def test_an_installation_without_content_says_how_to_give_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried, "folder", lambda: None)
    with pytest.raises(CollectionError, match="this installation of dpcheck carries no content; give --root"):
        layout.packaged(tmp_path)


def test_a_statement_in_words_has_no_bound_to_hold_anything_against(project: Make) -> None:
    more = 'from .toy import TOY\nwords = TOY.claim("toy/lem-7", "Lemma 7", "So it is.", kind="lemma")\n'
    found = catalogue.load(project({"bounds/more.py": more}))
    with catalogue.in_force(found):
        with pytest.raises(InvalidInput, match="toy/lem-7 has no symbolic bound; see `dpcheck show toy/lem-7`"):
            statements.unassumed("toy/lem-7", n=1)
        with pytest.raises(InvalidInput, match="toy/lem-7 has no bound with constants"):
            statements.explicit_of("toy/lem-7")
        with pytest.raises(InvalidInput, match="toy/lem-7 has no O-form to measure; give its claim `order=`"):
            statements.order_of("toy/lem-7")


def test_measurements_are_held_against_the_bound_and_the_order_that_a_claim_has(project: Make) -> None:
    more = """
        import sympy as sp
        from dpcheck.symbols import n
        from .toy import TOY
        large = TOY.claim(
            "toy/lem-7", "Lemma 7", "…", kind="lemma", relation="<=", explicit=3 / n, assumptions=(sp.Ge(n, 9),)
        )
    """
    found = catalogue.load(project({"bounds/more.py": more}))
    with catalogue.in_force(found):
        assert statements.stated("toy/thm-1@corrected", L=3.0, D=2.0, n=16) == 3.0
        assert (statements.order_of("toy/thm-1") - L * D / sp.sqrt(n)).expand() == 0
        assert (statements.explicit_of("toy/thm-1@corrected") - 2 * L * D / sp.sqrt(n)).expand() == 0
        assert statements.unassumed("toy/lem-7", n=6) == 0.5
        with pytest.raises(InvalidInput, match="toy/lem-7 assumes n >= 9"):
            statements.stated("toy/lem-7", n=6)


@pytest.mark.parametrize(
    ("label", "fields", "says"),
    [
        ("lp_spaces/alg-1@guess", {}, r"lp_spaces/alg-1 has no reading 'guess'; it has as-printed"),
        ("lp_spaces/alg-1", {"colour": 1}, r"lp_spaces/alg-1 has no field 'colour'; its fields are "),
    ],
)
def test_an_algorithm_has_the_readings_and_fields_that_it_says(label: str, fields: dict[str, int], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        algorithms.algorithm(label, **fields)


@pytest.mark.parametrize("label", [3, None, ["lp_spaces/alg-1"], b"lp_spaces/alg-1"], ids=repr)
@pytest.mark.parametrize("asked", [catalogue.claim, catalogue.derived, catalogue.algorithm])
def test_what_is_no_text_is_no_label(asked: Callable[[object], object], label: object) -> None:
    with pytest.raises(InvalidInput, match=r"a label is text such as 'l1_geometry/thm-4', got "):
        asked(label)


def test_an_unknown_kind_of_statement_is_told(project: Make) -> None:
    with catalogue.in_force(catalogue.load(project())):
        assert {claim.statement_label for claim in catalogue.claims(kind="theorem")} == {"toy/thm-1"}
        with pytest.raises(InvalidInput, match="no statement is a 'theorems'; kinds are assumption, definition, "):
            catalogue.claims(kind="theorems")


def test_a_catalogue_is_narrowed_to_some_of_its_papers(project: Make) -> None:
    other = """
        from dpcheck.claims import Paper
        OTHER = Paper(key="other", title="Another", authors="B. Author", reference="Proc. 2025")
        said = OTHER.claim("other/lem-1", "Lemma 1", "So it is.", kind="lemma")
    """
    found = catalogue.load(project({"bounds/other.py": other}))
    assert narrowed(found, {"toy", "other", "more"}) is found
    few = narrowed(found, {"toy"})
    assert set(few.papers) == {"toy"}
    assert set(few.claims) == set(found.claims) - {"other/lem-1"}
    assert set(few.checks) == {id for id in found.checks if id.startswith("toy/")}
    assert set(narrowed(found, {"other"}).claims) == {"other/lem-1"}
    assert not narrowed(found, {"other"}).checks
