"""What the wheel carries, and what a bare import costs."""

from __future__ import annotations

import email.parser
import importlib.util
import os
import pathlib
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.xdist_group("packaging")  # one worker builds, unpacks and installs for all of them


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed; pip install 'dpcheck[dev]'")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_wheel_carries_the_content(wheel):
    names = set(wheel.namelist())
    for folder in ("bounds", "audits"):
        content = [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".md") and "__pycache__" not in p.parts]
        for file in content:
            assert f"dpcheck/_content/{file.relative_to(ROOT).as_posix()}" in names
        assert any(name.startswith(f"dpcheck/_content/{folder}/") for name in names)


def test_wheel_carries_the_seeded_bugs_that_the_auditor_is_checked_with(wheel):
    names = set(wheel.namelist())
    for file in (ROOT / "tests/mutants").glob("*/*.py"):
        assert f"dpcheck/_content/mutants/{file.parent.name}/{file.name}" in names


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> pathlib.Path:
    """The wheel, unpacked where no checkout is."""
    folder = tmp_path_factory.mktemp("site")
    wheel.extractall(folder)
    return folder


def run(installed: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`dpcheck` from the wheel, in a folder of its own."""
    return python(installed, "-m", "dpcheck", *arguments)


def python(installed: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    there = installed / "elsewhere"
    there.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(installed), "DPCHECK_CACHE_DIR": str(there / "cache")}
    return subprocess.run([sys.executable, *arguments], cwd=there, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("paper", ["l1_geometry", "lp_spaces", "pure_heavy_tails", "tsybakov", "user_level"])
def test_wheel_verifies_the_witnesses_of_its_papers(installed, paper):
    witness = sorted((ROOT / "reports" / "witnesses" / paper).glob("*.json"))[0]
    done = run(installed, "verify", str(witness))
    assert done.returncode == 0, done.stderr
    assert f": {paper}/" in done.stdout
    assert "not checked" not in done.stdout  # its claim was found, in the wheel
    forged = installed / "elsewhere" / "forged.json"
    forged.write_text(witness.read_text().replace('"found": "', '"found": "1'))
    assert run(installed, "verify", str(forged)).returncode == 1


def test_wheel_shows_the_stored_results_of_its_papers(installed):
    """Records and certificates come with it: nothing has been run in this folder."""
    done = run(installed, "show", "lp_spaces/thm-3")
    assert "not run" not in done.stdout
    assert "rerun" in done.stdout
    done = run(installed, "certify", "user_level/proc-sgd", "--stored")
    assert done.returncode == 0, done.stderr
    assert "certified" in done.stdout


def test_wheel_knows_the_seeded_bugs_of_its_papers(installed):
    told = "from dpcheck.engine import catalogue; print(*catalogue.load(with_mutants=True).seeded)"
    done = python(installed, "-c", told)
    bugs = done.stdout.split()
    for paper in ("l1_geometry", "lp_spaces", "pure_heavy_tails", "tsybakov", "user_level"):
        assert any(bug.startswith(f"{paper}/") for bug in bugs), done.stderr


def test_wheel_carries_typing_and_templates(wheel):
    names = set(wheel.namelist())
    assert "dpcheck/py.typed" in names
    assert "dpcheck/pytest_plugin/report.schema.json" in names
    for template in (ROOT / "dpcheck/report/templates").iterdir():
        assert f"dpcheck/report/templates/{template.name}" in names


def test_wheel_carries_what_dpcheck_new_writes(wheel):
    names = set(wheel.namelist())
    template = ROOT / "dpcheck" / "template"
    files = [file for file in template.rglob("*") if file.suffix in (".py", ".md", ".toml")]
    assert {file.parent.name for file in files} >= {"template", "algorithms", "bounds", "audits"}
    for file in files:
        assert file.relative_to(ROOT).as_posix() in names


def test_wheel_has_one_import_package_and_no_rubbish(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"dpcheck"}
    assert not [name for name in wheel.namelist() if "__pycache__" in name or name.endswith((".pyc", ".db"))]


def test_wheel_declares_command_and_plugin(wheel):
    (entry,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    text = wheel.read(entry).decode()
    assert "dpcheck = dpcheck.cli:main" in text
    assert "dpcheck = dpcheck.pytest_plugin" in text
    (metadata,) = [name for name in wheel.namelist() if name.endswith("METADATA")]
    fields = email.parser.Parser().parsestr(wheel.read(metadata).decode())
    assert fields["Requires-Python"] == ">=3.11"
    heavy = ("cvxpy", "dp-accounting", "clarabel", "python-flint", "pytest", "hypothesis", "opendp", "diffprivlib")
    heavy += ("scikit-learn<1.7", "sphinx", "furo", "myst-parser", "nbclient", "ipykernel", "playwright", "pyarrow")
    heavy += ("distributed",)
    for requirement in fields.get_all("Requires-Dist", []):
        if requirement.startswith(heavy):
            assert "extra ==" in requirement, f"{requirement} must stay behind an extra"


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> pathlib.Path:
    """A new virtual environment with the wheel; what it depends on is where the tests have it."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder / "venv")
    python = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    subprocess.run(
        [*pip, "-q", "--disable-pip-version-check", "--no-deps", "--no-index", wheel.filename], check=True, cwd=folder
    )
    there = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True
    )
    # Of a folder named like this only the modules count: no other dpcheck, which may be installed from a checkout.
    pathlib.Path(there.stdout.strip(), "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(("verify", "--all"), "verified", marks=pytest.mark.nightly),
        (("list",), "tsybakov/thm-1"),
        (("show", "lp_spaces/thm-3"), "lp_spaces/thm-3"),
        (("run", "l1_geometry/lem-3-2", "--size", "smoke"), "every verdict as expected"),
    ],
    ids=["verify --all", "list", "show", "run"],
)
def test_a_new_environment_runs_from_any_folder(environment, tmp_path, arguments, says):
    command = [str(environment / "venv" / "bin" / "dpcheck"), *arguments]
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DPCHECK_CACHE_DIR")}
    clean["DPCHECK_CACHE_DIR"] = str(environment / "cache")  # new as the environment is
    done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
    assert "Traceback" not in done.stderr


def test_constraints_pin_every_requirement():
    packaging = pytest.importorskip("packaging.requirements", reason="packaging comes with pytest")
    import tomllib

    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.partition("==")[0]: line for line in lines if line and not line.startswith("#")}
    assert all(line.count("==") == 1 and "/" not in line and "@" not in line for line in pinned.values())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    # `subjects` needs an older scikit-learn than the others are tested with: it lives in an environment of its own.
    extras = [extra for name, extra in project["optional-dependencies"].items() if name != "subjects"]
    wanted = [*project["dependencies"], *(r for extra in extras for r in extra)]
    for requirement in map(packaging.Requirement, wanted):
        if requirement.name != "dpcheck":
            version = pinned[requirement.name.lower()].partition("==")[2]
            assert requirement.specifier.contains(version), f"{requirement} against {version}"


def test_bare_import_is_light():
    code = """
import sys, dpcheck
heavy = {"scipy", "matplotlib", "sympy", "sklearn", "statsmodels", "numpy", "cvxpy", "dp_accounting", "jinja2"}
print(sorted(heavy & set(sys.modules)), dpcheck.__version__, "audit" in dir(dpcheck))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[] "), f"loaded at import: {done.stdout}"
    assert done.stdout.strip().endswith("True")
