"""reports/certificates/index.md: what is certified, how much the printed bounds give away, and what cannot be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from dpcheck.certificates import Certified, path_of
from dpcheck.certificates.families import FAMILIES
from dpcheck.certificates.proofs import labels
from dpcheck.certificates.unreached import UNREACHED

INTRODUCTION = """# Certificates

Each bound below is proved for *every* function of its class, in any dimension, in exact rational arithmetic:
multipliers of the inequalities of a run, and a positive semidefinite matrix. `python dpcheck/certificates/checker.py
FILE` checks a file with Python's standard library alone; it builds the inequalities itself, from the lines of the
problem. `dpcheck verify FILE` checks as well that the problem and the claimed number are those of the statement.

*Over claimed* is what is proved over what is printed, of the squares where a distance is squared. The true worst case
lies between *at least*, which a rational function attains, and *proved*; where none is shown, a ratio of 1 does not yet
say that the printed constant cannot be improved. *For all* says that a proof with symbols
covers every number of steps, or all parameters, so that the certificate is an instance of it.
"""


def page(shown: Iterable[Certified]) -> str:
    """The page as Markdown."""
    every = {label: family.every for family in FAMILIES for label in labels(family)}
    lines = [
        INTRODUCTION,
        "| Statement | Run | Outcome | Proved | Claimed | Over claimed | At least | For all |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for one in shown:
        file = "/".join(path_of(one.label, Path()).parts[-2:])
        worst = "–" if one.bound is None else _number(one.bound)
        ratio = "" if one.ratio != one.ratio else f"{one.ratio:.4f}"
        lines.append(
            f"| [{one.label}]({file}) | {one.instance} | {'refuted' if one.refutes else 'certified'} | {worst} "
            f"| {_number(one.claimed)} | {ratio} | {_number(one.attained)} | {every.get(one.label, '')} |"
        )
    lines += ["", "## Out of reach", "", "| Why | Statements |", "| --- | --- |"]
    for reason in dict.fromkeys(UNREACHED.values()):
        without = ", ".join(label for label, why in UNREACHED.items() if why == reason)
        lines.append(f"| {reason} ({Counter(UNREACHED.values())[reason]}) | {without} |")
    return "\n".join(lines) + "\n"


def _number(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= 12 else f"{float(value):.8g}"  # type: ignore[arg-type]
