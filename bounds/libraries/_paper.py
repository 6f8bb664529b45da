"""What the files of this folder share: where the statements come from, and how they are written.

A statement is what a library's own code reports of a mechanism: OpenDP's `measurement.map(d_in)`, the epsilon and
delta that a mechanism of diffprivlib is made with, or what an accountant says. The audits ask the library, so another
version is held to whatever it says itself.
"""

from dpcheck.claims import Claim, Paper

PAPER = Paper(
    key="libraries",
    title="What libraries report of their own mechanisms",
    authors="OpenDP, diffprivlib, dp-accounting, Opacus, SmartNoise and DataSynthesizer",
    reference="documentation and code of released packages, in the versions that the checks name",
)


def reported(label: str, title: str, statement: str, **fields: str) -> Claim:
    """One mechanism, with the guarantee that its library reports."""
    return PAPER.claim(label, title, statement, kind="proposition", origin="cited", quantity="privacy", **fields)
