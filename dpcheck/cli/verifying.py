"""`dpcheck verify`: witnesses of others, recomputed within bounds and held against the hypotheses of their claims."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcheck.cli.common import Exit, also_option, complain, echo_json, json_option, leave, root_option
from dpcheck.errors import CollectionError, InvalidInput, UnknownLabel, WitnessRejected
from dpcheck.foreign import plain, shortened, shown

if TYPE_CHECKING:
    from dpcheck.certificates import Certified
    from dpcheck.engine.hypotheses import Hypotheses
    from dpcheck.engine.layout import Layout
    from dpcheck.isolation import Isolated
    from dpcheck.verdicts import Witness


BESIDE = ("regions.json", "times.json", "seconds.json")
"""What reports keep beside witnesses and certificates: of a folder, these are passed over."""


@click.command("verify")
@click.argument("witnesses", nargs=-1, metavar="[FILE.json or FOLDER]…")
@click.option("--all", "every", is_flag=True, help="Every witness that came with dpcheck, or with the content.")
@click.option("--second", is_flag=True, help="Certificates by another checker too; needs dpcheck[second].")
@root_option
@also_option
@json_option
def verify_command(
    witnesses: tuple[str, ...], every: bool, second: bool, root: str | None, also: tuple[str, ...], as_json: bool
) -> None:
    """Recomputes witnesses from their parameters alone, in higher precision, and checks the claim's hypotheses there.

    Certificates are checked in exact rationals: that they are about the claim's own problem and prove the bound; with
    --second, by another checker too, which shares no line with the first.

    Of a folder, every .json file in it and below. A witness of sampled counts is attested, not verified: its counts are
    testimony. Each is recomputed in a process of its own, within bounds of time and memory. Exit 1 when one is
    rejected, 2 when a file is no witness.
    """
    from dpcheck.engine import layout, own
    from dpcheck.isolation import Isolated

    if bool(witnesses) == every:
        raise click.UsageError("give witnesses, FILE.json or FOLDER, or --all for every one that came with dpcheck")
    witnesses = tuple(file for path in witnesses for file in _files(path))
    if every:
        here = layout.find(root)
        witnesses = tuple(map(str, here.witnesses))
        if not witnesses:
            complain(f"no witness in {here.home / 'reports' / 'witnesses'}; `dpcheck report` writes them")
            leave(Exit.NOTHING)
    claims = _Claims(root, also)
    with own.in_force(claims.own), Isolated() as child:
        rows = []
        for path in witnesses:
            for row in _rows(path, child, claims, second):
                rows.append(row)
                if not as_json:
                    _say(row)
    if as_json:
        echo_json({"schema_version": 1, "witnesses": rows})
    outcomes = {row["outcome"] for row in rows}
    if "rejected" in outcomes:
        leave(Exit.UNEXPECTED)
    if "unreadable" in outcomes:
        leave(Exit.USAGE)


def _files(path: str) -> list[str]:
    """The file itself; of a folder, the witnesses and certificates in it."""
    if not Path(path).is_dir():
        return [path]
    files = sorted(str(file) for file in Path(path).rglob("*.json") if file.name not in BESIDE)
    if not files:
        raise click.UsageError(
            f"there is no .json file in {shown(path)}; `dpcheck run` names the witnesses that it writes"
        )
    return files


class _Claims:
    """The claims of the root and of papers of one's own, each loaded when a witness speaks of it.

    Attributes:
        own: those papers, as far as verifying goes.
    """

    def __init__(self, root: str | None, also: Sequence[str]) -> None:
        from dpcheck.engine import layout, own

        self._root = root
        self._layout: Layout | None = None
        self._known: dict[str, Hypotheses | None] = {}
        self._paths = [Path(path).resolve() for path in also]
        with contextlib.suppress(CollectionError):  # said with each witness
            self._layout = layout.find(root)
        self.own = own.Own.verifying(self._layout, self._paths)

    def of(self, label: str) -> tuple[Hypotheses | None, str]:
        """The claim of a label, or why there is none at hand."""
        from dpcheck.engine import hypotheses, layout

        try:
            project = self._layout = self._layout or layout.find(self._root)
            if label not in self._known:
                self._known[label] = hypotheses.of_label(project, label, list(self.own.folders), self._paths)
        except CollectionError as error:
            return None, str(error)
        return self._known[label], f"there is no claim {label} in {project.root}; --also names your own"


def _rows(path: str, child: Isolated, claims: _Claims, second: bool) -> list[dict[str, Any]]:
    """What became of one file: a witness, or certificates that are checked exactly by elimination in rationals."""
    from dpcheck import certificates

    document: Any = None
    with contextlib.suppress(InvalidInput, OSError, UnicodeDecodeError):
        document = certificates.load(Path(path))
    if not isinstance(document, dict) or "certificates" not in document:
        return [_row(path, child, claims)]
    try:
        label = document.get("label")
        held, missing = claims.of(label) if isinstance(label, str) else (None, "it names no statement")
        if held is None:
            raise InvalidInput(f"certificates are of a statement's claim; {missing}")
        _check_readable(document["certificates"])
        entries = list(certificates.verify(document, held.claim))
        notes = _confirmed(document, entries) if second else [""] * len(entries)
        return [_certified(path, one, note) for one, note in zip(entries, notes, strict=True)]
    except (WitnessRejected, UnknownLabel) as error:
        return [{"witness": path, "outcome": "rejected", "verified": False, "reason": str(error)}]
    except InvalidInput as error:
        return [{"witness": path, "outcome": "unreadable", "verified": False, "reason": str(error)}]


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _numbered(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(
        key.isascii() and key.isdigit() and holds(each) for key, each in value.items()
    )


_PARTS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("bound", "attained", "claimed"), (lambda value: isinstance(value, str), 'a rational as "9/4"')),
    "parameters": (lambda value: isinstance(value, dict) and _texts([*value.values()]), "a rational for each name"),
    "multipliers": (lambda value: _numbered(value, lambda each: isinstance(each, str)), "a rational for each number"),
    "vectors": (lambda value: _numbered(value, _texts), "a list of rationals for each number"),
    "pivots": (_texts, "a list of rationals"),
    "problem": (_texts, "a list of lines"),
}
"""Part of a certificate -> whether it can be read, and what it should be."""


def _check_readable(certificates: Any) -> None:
    """Raises `InvalidInput` of what is no document of certificates, whatever it would have claimed."""
    if not isinstance(certificates, list):
        raise InvalidInput(f"`certificates` should be a list of certificates, and is {shortened(certificates)}")
    for number, certificate in enumerate(certificates, 1):
        if not isinstance(certificate, dict):
            raise InvalidInput(f"certificate {number} should be an object, and is {shortened(certificate)}")
        if missing := {"instance", "problem", "parameters"} - certificate.keys():
            raise InvalidInput(f"certificate {number} has no {' and no '.join(sorted(missing))}")
        for part, (readable, should) in _PARTS.items():
            if part in certificate and not readable(certificate[part]):
                said = shortened(certificate[part])
                raise InvalidInput(f"certificate {number}: `{part}` should be {should}, and is {said}")


def _confirmed(document: Any, certified: Sequence[Certified]) -> list[str]:
    """Raises `WitnessRejected` where the second checker comes to something else."""
    from dpcheck.certificates.second import confirm

    pairs = zip(document["certificates"], certified, strict=True)
    return [confirm(certificate, one.bound, one.attained) for certificate, one in pairs]


def _certified(path: str, one: Certified, note: str) -> dict[str, Any]:
    """A certificate as a row of what was verified."""
    shown = (
        "some function of the class attains more"
        if one.refutes
        else "for every function of the class, in any dimension"
    )
    return {
        "witness": path,
        "outcome": "refuted" if one.refutes else "certified",
        "verified": True,
        "label": one.label,
        "statement": f"{one.instance}: {shown}",
        "claimed": str(one.claimed),
        "found": str(one.attained if one.refutes else one.bound),
        "kind": "certificate",
        "note": note,
        "testimony": "",
        "hypotheses": None,
        "checked": "",
    }


def _row(path: str, child: Isolated, claims: _Claims) -> dict[str, Any]:
    """What became of one file; never raises for what stands in it."""
    import mpmath

    from dpcheck.verdicts import Witness

    try:
        witness = Witness.load(path)
        held, missing = claims.of(witness.label)
        assumptions = () if held is None else held.claim.assumptions
        violation = child.verify(witness, assumptions=assumptions, private=held is None or held.private)
    except WitnessRejected as error:
        return {"witness": path, "outcome": "rejected", "verified": False, "reason": str(error)}
    except InvalidInput as error:
        return {"witness": path, "outcome": "unreadable", "verified": False, "reason": str(error)}
    claimed, measured = (mpmath.nstr(value, 12) for value in (violation.claimed, violation.found))
    return {
        "witness": path,
        "outcome": "attested" if violation.testimony else "verified",
        "verified": not violation.testimony,
        "label": violation.label,
        "statement": violation.statement,
        "claimed": claimed,
        "found": measured,
        "kind": witness.kind,
        "note": plain(witness.note),
        "testimony": violation.testimony,
        "hypotheses": None if held is None else len(assumptions),
        "checked": _NO_PAPER if _own(witness) else _checked(None if held is None else len(assumptions), missing),
        **_told_of_an_audit(witness),
    }


_NO_PAPER = "none to check: the claim is what somebody says of this mechanism, and stands in no paper"


def _own(witness: Witness) -> bool:
    """Whether it comes from an audit of somebody's mechanism, and is of no statement."""
    return witness.label.startswith("audit/")


def _told_of_an_audit(witness: Witness) -> dict[str, str]:
    """What the file says of the audit that it comes from, for a reader who has nothing else; all of it is testimony."""
    if not witness.kind.startswith("sampled."):
        return {}

    def said(name: str) -> str:
        return plain(str(witness.parameters.get(name, "")))[:400]

    asked = f"trials={said('trials')} and seed={said('seed')}"
    again = f"whoever has the mechanism counts as much by `dp.audit` on the same pair with {asked}"
    if said("pair").startswith("recorded outputs"):
        again = f"whoever has the recorded outputs counts as much by `dp.audit_samples` with seed={said('seed')}"
    told = {"event": said("event"), "pair": said("pair"), "again": again if said("trials") else ""}
    if _own(witness):
        told["audited"] = f"that {said('label').removeprefix('audit/')!r} is {said('claim')}"
    return {name: text for name, text in told.items() if text}


def _checked(hypotheses: int | None, missing: str) -> str:
    """How much of the claim's hypotheses was checked."""
    if hypotheses is None:
        return f"not checked: {missing}"
    if not hypotheses:
        return "the claim states none as a formula"
    return f"{hypotheses} of the claim checked, {'it holds' if hypotheses == 1 else 'all hold'} at this witness"


def _say(row: dict[str, Any]) -> None:
    path = plain(row["witness"])
    if row["outcome"] in ("rejected", "unreadable"):
        complain(f"{path}: {row['outcome']}: {row['reason']}")
        return
    if row["kind"] == "certificate":
        click.echo(f"{path}: {row['outcome']}: {row['label']}")
    elif row["verified"]:
        click.echo(f"{path}: verified: {row['label']} is violated")
    else:
        what = f"the claim {row['audited']}" if "audited" in row else row["label"]
        click.echo(f"{path}: attested, not verified: {what} is violated if the counts in the file are true")
    for name, text in (
        ("statement", row["statement"]),
        ("event", row.get("event")),
        ("pair", row.get("pair")),
        ("allowed", row["claimed"]),
        ("found", row["found"]),
        ("testimony", row["testimony"]),
        ("again", row.get("again")),
        ("hypotheses", row["checked"]),
        ("note", row["note"]),
    ):
        if text:
            click.echo(f"  {name:<10} {plain(text)}")


COMMANDS = (verify_command,)
