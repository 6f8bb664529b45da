"""Certificates: bounds that are proved for every function of a class, in any dimension.

`problems` says which runs, `statements` which of the papers' statements are about them, `solving` finds the proofs and
`worst` the functions that show how good a bound is; `checker` stands alone and trusts none of them. `concluding` says
what the stored ones make of a statement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.certificates import checker
from dpcheck.errors import InvalidInput, UnknownLabel, WitnessRejected

if TYPE_CHECKING:
    from dpcheck.certificates.runs import StatementRun
    from dpcheck.claims import Claim

FORMAT = "dpcheck certificates 1"
FOLDER = "certificates"
SAME = Fraction(1, 10_000)
"""Relative differences up to this are of the solver: no reason to replace what is stored."""


@dataclass(frozen=True)
class Certified:
    """What one certificate shows of one run of a statement.

    Attributes:
        claimed: the paper's bound there; `bound`: what is proved, `attained`: what some function reaches.
    """

    label: str
    instance: str
    claimed: Fraction
    bound: Fraction | None
    attained: Fraction | None
    refutes: bool

    @property
    def ratio(self) -> float:
        """The exact worst case over the printed bound, as well as it is known; NaN where both are zero."""
        exact = self.attained if self.refutes or self.bound is None else self.bound
        return float(exact / self.claimed) if self.claimed and exact is not None else float("nan")


def instances(label: str) -> tuple[StatementRun, ...]:
    """The runs that are certified under a label. Raises `UnknownLabel` where there are none."""
    from dpcheck.certificates.statements import CERTIFIED

    if label not in CERTIFIED:
        raise UnknownLabel(label, CERTIFIED)
    return CERTIFIED[label]


def certify(claim: Claim, instance: StatementRun) -> dict[str, Any]:
    """One certificate, found and then checked as anybody else would.

    Raises:
        InvalidInput: none was found, or it does not show what is expected of the statement.
        MissingExtra: the extra 'certificates' is not installed.
    """
    from dpcheck.certificates import solving, worst

    claimed = instance.claimed(claim)
    by_name: dict[str, Any] = _described(claim, instance)
    refutes = instance.expected == "refuted"
    if not refutes:
        proof, _ = solving.prove(instance.problem, instance.rationals, target=claimed)
        by_name["bound"] = str(proof.bound)
        by_name["multipliers"] = {str(i): str(y) for i, y in enumerate(proof.multipliers) if y}
        by_name["pivots"] = [str(pivot) for pivot in proof.pivots]
    if instance.attained:
        size, vectors = worst.worst(instance.problem, instance.rationals, least=claimed if refutes else None)
        by_name["attained"] = str(size)
        by_name["vectors"] = {str(i): [str(v) for v in row] for i, row in sorted(vectors.items())}
    stated(claim, instance, by_name, proved(claim, instance, by_name))
    return by_name


def verify(document: Any, claim: Claim) -> Iterator[Certified]:
    """What the certificates of a document show of a claim, each checked exactly.

    Raises:
        WitnessRejected: one proves nothing, or something else than it says.
    """
    for instance, certificate in opened(document, claim):
        one = proved(claim, instance, certificate)
        stated(claim, instance, certificate, one)
        yield one


def opened(document: Any, claim: Claim) -> Iterator[tuple[StatementRun, dict[str, Any]]]:
    """The certificates of a document, each with the run of the claim that it is about. Raises `WitnessRejected`."""
    if not isinstance(document, dict) or document.keys() != {"format", "label", "certificates"}:
        raise WitnessRejected(f"not a document of certificates; it has format, label and certificates ({FORMAT!r})")
    if document["format"] != FORMAT or document["label"] != claim.label:
        raise WitnessRejected(
            f"certificates of {document['label']!r} in format {document['format']!r} are not {claim.label}'s"
        )
    known = {instance.name: instance for instance in instances(claim.label)}
    seen = set()
    if not isinstance(document["certificates"], list) or not document["certificates"]:
        raise WitnessRejected(
            f"{claim.label}: there is no certificate in the file; `dpcheck certify {claim.label}` finds them"
        )
    for certificate in document["certificates"]:
        name = certificate.get("instance") if isinstance(certificate, dict) else None
        if not isinstance(name, str) or name not in known or name in seen:
            raise WitnessRejected(f"{claim.label}: {str(name)[:60]!r} is no run of this statement, or given twice")
        seen.add(name)
        yield known[name], certificate


def _described(claim: Claim, instance: StatementRun) -> dict[str, Any]:
    """All of a certificate that follows from its label and the name of its run."""
    return {
        "instance": instance.name,
        "words": instance.words,
        "claim": instance.display or str(claim.explicit),
        "squared": "yes" if instance.squared else "no",
        "claimed": str(instance.claimed(claim)),
        "parameters": {name: str(value) for name, value in instance.rationals.items()},
        "problem": list(instance.problem),
    }


_OF_THE_CLAIM = ("claim", "claimed")
"""What a certificate says of the claim's own formula."""


def proved(claim: Claim, instance: StatementRun, certificate: dict[str, Any]) -> Certified:
    """What a certificate of this run proves, beside what the claim says there now. Raises `WitnessRejected`."""
    said = f"{claim.label}, {instance.name}"
    refutes = instance.expected == "refuted"
    proof = set() if refutes else {"bound", "multipliers", "pivots"}
    shown = {"attained", "vectors"} if instance.attained else set()
    expected = _described(claim, instance)
    for name, value in expected.items():
        if name not in _OF_THE_CLAIM and certificate.get(name) != value:
            raise WitnessRejected(f"{said}: {name} is not that of the statement, which is {str(value)[:80]}")
    if certificate.keys() != expected.keys() | proof | shown:
        raise WitnessRejected(f"{said}: it has the parts {', '.join(sorted(certificate))}, and others are needed")
    try:
        bound, attained = checker.check(certificate)
    except Exception as error:
        raise WitnessRejected(f"{said}: {error}") from error
    return Certified(claim.label, instance.name, instance.claimed(claim), bound, attained, refutes)


def stated(claim: Claim, instance: StatementRun, certificate: dict[str, Any], one: Certified) -> None:
    """The certificate is of the claim as it stands, and shows what is expected of it. Raises `WitnessRejected`."""
    said = f"{claim.label}, {instance.name}"
    expected = _described(claim, instance)
    for name in _OF_THE_CLAIM:
        if certificate[name] != expected[name]:
            raise WitnessRejected(f"{said}: {name} is not that of the statement, which is {str(expected[name])[:80]}")
    if one.refutes and not (one.attained is not None and one.attained > one.claimed):
        raise WitnessRejected(f"{said}: {one.attained} does not exceed {one.claimed}")
    if not one.refutes and not (one.bound is not None and one.bound <= one.claimed):
        raise WitnessRejected(f"{said}: the bound {one.bound} that is proved is not below the claimed {one.claimed}")


def valid(path: Path, claim: Claim) -> dict[str, dict[str, Any]]:
    """Run -> its certificate in a file of a claim, those that show what is expected; none where there is no such file.

    Whatever is amiss with the others is no matter: they are found anew.
    """
    try:
        runs = list(opened(load(path), claim)) if path.is_file() else []
    except (InvalidInput, WitnessRejected):
        return {}
    kept = {}
    for instance, certificate in runs:
        try:
            stated(claim, instance, certificate, proved(claim, instance, certificate))
        except WitnessRejected:
            continue
        kept[instance.name] = certificate
    return kept


def better(found: dict[str, Any], stored: dict[str, Any] | None) -> dict[str, Any]:
    """The one of two certificates of a run that shows more; the stored one where they differ by digits of a solver."""
    if stored is None or found.keys() != stored.keys():
        return found
    gained = [
        sign * (Fraction(stored[name]) - Fraction(found[name])) > SAME * abs(Fraction(stored[name]))
        for name, sign in (("bound", 1), ("attained", -1))
        if name in stored
    ]
    return found if any(gained) else stored


def path_of(label: str, root: Path) -> Path:
    """Where the certificates of a statement are kept, under the folder of reports."""
    paper, _, item = label.partition("/")
    return root / FOLDER / paper / f"{item.replace('@', '-')}.json"


def written(label: str, certificates: list[dict[str, Any]]) -> str:
    """A document as it is kept: one line a part, so that a diff shows what changed."""
    document = {"format": FORMAT, "label": label, "certificates": certificates}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def times(root: Path) -> dict[str, dict[str, float]]:
    """Label -> run -> CPU seconds that it took to find its certificate, where they were kept."""
    path = root / FOLDER / "times.json"
    return dict(load(path)) if path.is_file() else {}


def load(path: Path) -> Any:
    """What stands in a file, of bounded size. Raises `InvalidInput` where it is no JSON."""
    with path.open("rb") as file:
        content = file.read(2**20 + 1)
    if len(content) > 2**20:
        raise InvalidInput(f"{path} is larger than a megabyte, which no document of certificates is")
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is no JSON: {error}") from error
