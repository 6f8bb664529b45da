"""`dpcheck certify`: proofs for every function of a class, found, stored beside the witnesses and checked exactly."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcheck.cli import completion
from dpcheck.cli.common import (
    Exit,
    also_option,
    complain,
    echo_json,
    json_option,
    lazily,
    leave,
    root_option,
    table,
)
from dpcheck.errors import DpcheckError, InvalidInput, MissingExtra

if TYPE_CHECKING:
    from dpcheck.certificates import Certified
    from dpcheck.engine.catalogue import Catalogue


@click.command("certify")
@click.argument("labels", nargs=-1, metavar="[LABEL|PAPER]…", shell_complete=completion.labels)
@click.option("--stored", is_flag=True, help="Only verify what is stored; no optional package is needed.")
@click.option("--out", metavar="DIR", help="Default: reports/ under the root.")
@root_option
@also_option
@json_option
def certify_command(
    labels: tuple[str, ...], stored: bool, out: str | None, root: str | None, also: tuple[str, ...], as_json: bool
) -> None:
    """Finds certificates of statements: bounds for every function of the class, in any dimension, in exact rationals.

    Each is written to reports/certificates/<paper>/<item>.json and checked as a stranger would: `python
    dpcheck/certificates/checker.py FILE` needs neither dpcheck nor any other package. Without labels all that can be
    certified are. What is stored stays where it still proves its statement and what was found shows no more: a solver
    finds other digits on another machine. The ratio is the exact worst case over the printed bound; above 1 the bound
    is refuted. Seconds are of CPU, kept in times.json beside the certificates that were written anew.
    """
    catalogue = lazily(root, also)
    usual = catalogue.layout.certificates if stored else catalogue.layout.home / "reports"
    folder = Path(out) if out else usual
    rows: list[dict[str, Any]] = []
    failed: list[str] = []
    for label in _wanted(labels, catalogue):
        try:
            rows += _stored(label, catalogue, folder) if stored else _found(label, catalogue, folder)
        except MissingExtra:
            raise
        except DpcheckError as error:
            failed.append(str(error) if str(error).startswith(label) else f"{label}: {error}")
    if not stored and not labels and not failed:
        _write_page(folder, catalogue)
    if stored and not _solver():
        complain(
            "what is stored was checked, which needs no optional package; finding certificates anew, without --stored, "
            "needs the extra 'certificates': pip install 'dpcheck[certificates]'"
        )
    if as_json:
        echo_json({"schema_version": 1, "certificates": rows, "failed": failed})
    else:
        columns = ("label", "run", "outcome", "bound", "claimed", "ratio", "seconds")
        table([tuple(str(row[column]) for column in columns) for row in rows], columns, right=(5, 6))
    for text in failed:
        complain(text)
    if failed:
        leave(Exit.UNEXPECTED)


def _wanted(names: tuple[str, ...], catalogue: Catalogue) -> list[str]:
    """Labels, of papers those of all statements that can be certified."""
    from dpcheck.certificates import instances
    from dpcheck.certificates.statements import CERTIFIED

    if not names:
        return sorted(CERTIFIED)
    wanted: list[str] = []
    for name in names:
        of_paper = sorted(label for label in CERTIFIED if label.startswith(f"{name}/"))
        if not of_paper and any(name in (label, label.partition("/")[0]) for label in _own(catalogue)):
            raise InvalidInput(
                f"no run of {name} is written down, and so there is nothing to certify: a run is written in "
                'dpcheck/certificates/problems.py and named in statements.py, as CONTRIBUTING.md says under "Certify a '
                'statement"; what needs no solver is a derivation, which `dpcheck run` executes'
            )
        if not of_paper and name not in CERTIFIED and name in catalogue.claims:
            others = sorted(label for label in CERTIFIED if label.partition("@")[0] == name.partition("@")[0])
            instead = f"{', '.join(others)} can be certified" if others else "`dpcheck run` runs its checks"
            raise InvalidInput(f"no run of {name} is written down to be certified; {instead}")
        if not of_paper:
            instances(name)
        wanted += of_paper or [name]
    return list(dict.fromkeys(wanted))


def _own(catalogue: Catalogue) -> list[str]:
    """The labels of papers of one's own, where some were named or installed."""
    papers = {key for keys in catalogue.own.folders.values() for key in keys}
    return [label for label in catalogue.claims if label.partition("/")[0] in papers] if papers else []


def _found(label: str, catalogue: Catalogue, folder: Path) -> list[dict[str, Any]]:
    from dpcheck import certificates

    claim, path = catalogue.claims[label], certificates.path_of(label, folder)
    earlier = certificates.valid(path, claim)
    documents, seconds = [], []
    for instance in certificates.instances(label):
        start = time.process_time()
        document = certificates.certify(claim, instance)
        seconds.append(time.process_time() - start)
        documents.append(certificates.better(document, earlier.get(instance.name)))
    path.parent.mkdir(parents=True, exist_ok=True)
    text = certificates.written(label, documents)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        spent = {one["instance"]: round(took, 2) for one, took in zip(documents, seconds, strict=True)}
        _keep_times(folder, label, spent)
    shown = certificates.verify(certificates.load(path), claim)
    return [_row(one, spent) for one, spent in zip(shown, seconds, strict=True)]


def _keep_times(folder: Path, label: str, spent: dict[str, float]) -> None:
    """The CPU seconds that it took to find each certificate of a statement, beside those of the others."""
    from dpcheck.certificates import times

    kept = {**times(folder), label: spent}
    text = json.dumps(dict(sorted(kept.items())), ensure_ascii=False, indent=1) + "\n"
    (folder / "certificates" / "times.json").write_text(text, encoding="utf-8")


def _stored(label: str, catalogue: Catalogue, folder: Path) -> list[dict[str, Any]]:
    from dpcheck import certificates

    path = certificates.path_of(label, folder)
    if not path.is_file():
        raise InvalidInput(f"{path} is missing; `dpcheck certify {label}` writes it")
    rows, start = [], time.process_time()
    for one in certificates.verify(certificates.load(path), catalogue.claims[label]):
        rows.append(_row(one, time.process_time() - start))
        start = time.process_time()
    return rows


def _write_page(folder: Path, catalogue: Catalogue) -> None:
    from dpcheck import certificates
    from dpcheck.report.certificates import page

    files = [(label, certificates.load(certificates.path_of(label, folder))) for label in _wanted((), catalogue)]
    shown = [one for label, document in files for one in certificates.verify(document, catalogue.claims[label])]
    regions = _regions(folder / certificates.FOLDER / "regions.json", catalogue)
    (folder / certificates.FOLDER / "index.md").write_text(
        page(shown, regions, certificates.times(folder)), encoding="utf-8"
    )


def _regions(path: Path, catalogue: Catalogue) -> dict[str, Any]:
    """What is certified on regions: anew where the ball arithmetic is installed, else as it was stored."""
    from dpcheck.certificates import load
    from dpcheck.certificates.regions import REGIONS, covered

    try:
        by_name = {one.label: covered(one, lambda label: catalogue.claims[label]).to_dict() for one in REGIONS}
    except MissingExtra:
        return dict(load(path))
    path.write_text(json.dumps(by_name, indent=1) + "\n", encoding="utf-8")
    return by_name


def _row(one: Certified, seconds: float) -> dict[str, Any]:
    exact = one.attained if one.refutes else one.bound
    return {
        "label": one.label,
        "run": one.instance,
        "outcome": "refuted" if one.refutes else "certified",
        "bound": _short(exact),
        "claimed": _short(one.claimed),
        "ratio": f"{one.ratio:.4f}" if math.isfinite(one.ratio) else "∞, above 0" if exact else "none, both 0",
        "seconds": round(seconds, 2),
    }


def _short(value: Any) -> str:
    return "none" if value is None else str(value) if len(str(value)) <= 12 else f"{float(value):.8g}"


def _solver() -> bool:
    import importlib.util

    return importlib.util.find_spec("clarabel") is not None


COMMANDS = (certify_command,)
