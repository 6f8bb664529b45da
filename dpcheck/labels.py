"""Labels of statements, and what a verdict under one is about."""

from __future__ import annotations

import re
from typing import Any, Literal, Protocol

from dpcheck.errors import CollectionError, InvalidInput

Standing = Literal["printed", "reading", "ours"]
"""What a verdict is about: a statement as printed, a reading of one, or a statement that the paper does not contain."""

LABEL = re.compile(r"[a-z0-9_]+/[a-z]+(-[a-z0-9]+)+(@[a-z][a-z0-9-]*)?")


class Stated(Protocol):
    """What `standing` asks of a claim."""

    @property
    def origin(self) -> str: ...


def split_label(label: str) -> tuple[str, str, str]:
    """`"paper/thm-4@corrected"` -> `("paper", "thm-4", "corrected")`; the reading is "" when none is named."""
    if not LABEL.fullmatch(label):
        raise CollectionError(f"malformed label {label!r}; labels look like 'l1_geometry/thm-4' or '…/thm-4@corrected'")
    statement, _, reading = label.partition("@")
    paper, item = statement.split("/")
    return paper, item, reading


def named(label: Any) -> str:
    """What names a statement or a paper. Raises `InvalidInput` where it is no text."""
    if not isinstance(label, str):
        raise InvalidInput(f"a label is text such as 'l1_geometry/thm-4', got {label!r}; `dpcheck list` shows all")
    return label


def standing(label: str, claim: Stated | None) -> Standing:
    """Refutations of these three are never added up: only the first accuses a paper of its printed word."""
    if claim is not None and claim.origin == "ours":
        return "ours"
    return "reading" if split_label(label)[2] else "printed"
