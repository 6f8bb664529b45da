"""What notebooks show of a result, a claim, a plan and a verdict: HTML, made when one is shown and not before."""

from __future__ import annotations

import importlib


class Displayed:
    """A base of those of which `dpcheck.report.displays` writes HTML, for every front end that asks for it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        # By name: what is shown lies below what shows it, and loads nothing of that.
        return str(importlib.import_module("dpcheck.report.displays").shown(self))
