"""What notebooks show of a result, a claim, a plan and a verdict: HTML, made when one is shown and not before."""

from __future__ import annotations

import importlib
from typing import Any

SHOWN = {
    ("dpcheck.auditing.result", "AuditResult"): "audit",
    ("dpcheck.claims", "Claim"): "claim",
    ("dpcheck.schedules", "Schedule"): "plan",
    ("dpcheck.verdicts", "Verdict"): "verdict",
}
"""(module, class) -> the function of `dpcheck.report.displays` that writes it."""


def register(formatter: Any) -> None:
    """Tells IPython's formatter of text/html how to show them; by name, so that none of their modules is loaded."""
    for (module, name), shown in SHOWN.items():
        formatter.for_type_by_name(module, name, _display(shown))


def _display(shown: str) -> Any:
    return lambda thing: getattr(importlib.import_module("dpcheck.report.displays"), shown)(thing)
