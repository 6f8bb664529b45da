"""Stored certificates as checks: the engine makes `<label>::certificate` of each, the same at every size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpcheck import witnesses
from dpcheck.carried import PACKAGE
from dpcheck.checks import Check, Context
from dpcheck.claims import Claim
from dpcheck.errors import WitnessRejected
from dpcheck.labels import split_label
from dpcheck.verdicts import Outcome, Verdict, Witness

NAME = "certificate"
CODE = PACKAGE / "certificates" / "concluding.py"
"""What a verdict depends on, besides the claim and the file."""


def is_certificate(id: str) -> bool:
    """Whether the engine made a check of that id of a certificate."""
    return id.endswith(f"::{NAME}")


def check_of(label: str, path: Path, claims: Callable[[str], Claim]) -> Check:
    """The check that the certificates in a file prove their statement, or refute it where they hold no proof."""

    def execute(context: Context) -> Verdict:
        """The stored certificates, checked anew in exact rationals, against the claim."""
        # unbound: some prove what the text of the statement says beside its formula
        from dpcheck import certificates
        from dpcheck.certificates import concluding

        document, claim = certificates.load(path), claims(context.label)
        verdict = concluding.verdict(document, claim)
        if verdict.outcome is not Outcome.REFUTED:
            return verdict
        name = verdict.numbers["run"]
        (certificate,) = (each for each in document["certificates"] if each["instance"] == name)
        return replace(verdict, witness=_witness(label, certificate))

    execute.__name__ = NAME
    outcome = Outcome.HOLDS if b'"bound"' in path.read_bytes() else Outcome.REFUTED
    return Check(label, "symbolic", execute, expect=frozenset({outcome}))


def _witness(label: str, certificate: dict[str, Any]) -> Witness | None:
    """The function for whoever verifies refutations of the statement by functions; None where nobody does."""
    from dpcheck.certificates import concluding

    paper, item, _ = split_label(label)
    kind = f"{paper}.{item.replace('-', '_')}_function"
    try:
        witnesses.verifier(kind)
    except WitnessRejected:
        return None
    given = {**certificate["parameters"], "points": concluding.function_of(certificate)}
    sides = {"claimed": certificate["claimed"], "found": certificate["attained"]}
    return Witness(label=label, kind=kind, parameters=given, **sides)
