"""What the files of this folder share: where the statements come from, and how they are written.

A statement is what a library's own code reports of a mechanism: OpenDP's `measurement.map(d_in)`, or the epsilon and
delta that a mechanism of diffprivlib is made with. The audits ask the library, so another version is held to whatever
it says itself.
"""

from dpcheck.claims import Claim, Paper

PAPER = Paper(
    key="libraries",
    title="What libraries report of their own mechanisms",
    authors="OpenDP (0.16) and diffprivlib (0.6)",
    reference="documentation and code of the installed packages (extra: subjects)",
)


def reported(label: str, title: str, statement: str, **fields: str) -> Claim:
    """One mechanism, with the guarantee that its library reports."""
    return PAPER.claim(label, title, statement, kind="proposition", origin="cited", quantity="privacy", **fields)
