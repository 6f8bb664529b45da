"""What a shell proposes for a label: papers first, then their statements, then a statement's checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from dpcheck.errors import DpcheckError
from dpcheck.labels import split_label

if TYPE_CHECKING:
    from dpcheck.engine.shelves import Shelves


def labels(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Papers, labels of a paper once it is told, and ids of checks after "::"; nothing where no content is found."""
    return _beginning(incomplete, algorithms=False, root=context.params.get("root"))


def algorithms(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The same for labels of algorithms and procedures."""
    return _beginning(incomplete, algorithms=True, root=context.params.get("root"))


def papers(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Keys of papers."""
    return [
        paper for paper in _beginning(incomplete, algorithms=True, root=context.params.get("root")) if "/" not in paper
    ]


def _beginning(incomplete: str, *, algorithms: bool, root: str | None) -> list[str]:
    from dpcheck.cli.common import index_of

    try:
        index = index_of(root, ())
    except DpcheckError:  # a shell shows no message
        return []
    papers = [paper for paper in sorted(index.papers) if paper.startswith(incomplete)]
    if not incomplete or len(papers) > 1:
        return papers
    checks = index.checks if "::" in incomplete else _kept(index, algorithms=algorithms)
    return sorted({*papers, *(label for label in checks if label.startswith(incomplete))})


def _kept(index: Shelves[Any, Any], *, algorithms: bool) -> Iterable[str]:
    if not algorithms:
        return index.claims
    return (label for label in index.claims if split_label(label)[1].startswith(("alg-", "proc-")))
