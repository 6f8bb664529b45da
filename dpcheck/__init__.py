"""dpcheck: what holds, what is refuted, and what nobody can tell yet, in differentially private optimisation.

The front door. Every name loads on first use, so `import dpcheck` costs nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcheck import testing
    from dpcheck.auditing import attacks, finite_laws, scores
    from dpcheck.auditing.audit import AuditResult, audit
    from dpcheck.auditing.exact import exact_epsilon
    from dpcheck.auditing.mechanisms import vectorize
    from dpcheck.auditing.one_run import audit_one_run
    from dpcheck.auditing.pairs import search_pair
    from dpcheck.auditing.workers import in_workers
    from dpcheck.checks import Check, Context, by_size, check, unchecked
    from dpcheck.claims import Claim, Paper
    from dpcheck.engine.catalogue import algorithm, algorithms, claim, claims
    from dpcheck.errors import DpcheckError, Infeasible, InvalidInput
    from dpcheck.isolation import verify
    from dpcheck.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, TradeOff
    from dpcheck.recorded.canaries import audit_canary_scores
    from dpcheck.recorded.files import keep_outputs, read_outputs, record_outputs
    from dpcheck.recorded.planning import plan_audit
    from dpcheck.recorded.samples import audit_samples
    from dpcheck.recorded.shrinking import shrink
    from dpcheck.verdicts import Outcome, Verdict, Witness

__version__ = "0.1.0"

_HOMES = {
    "dpcheck.auditing.audit": ("AuditResult", "audit"),
    "dpcheck.auditing.exact": ("exact_epsilon",),
    "dpcheck.auditing.mechanisms": ("vectorize",),
    "dpcheck.auditing.one_run": ("audit_one_run",),
    "dpcheck.auditing.pairs": ("search_pair",),
    "dpcheck.auditing.workers": ("in_workers",),
    "dpcheck.checks": ("Check", "Context", "by_size", "check", "unchecked"),
    "dpcheck.claims": ("Claim", "Paper"),
    "dpcheck.engine.catalogue": ("algorithm", "algorithms", "claim", "claims"),
    "dpcheck.errors": ("DpcheckError", "Infeasible", "InvalidInput"),
    "dpcheck.isolation": ("verify",),
    "dpcheck.privacy": ("ApproxDP", "GaussianDP", "Guarantee", "PureDP", "RenyiDP", "TradeOff", "ZCDP"),
    "dpcheck.recorded.canaries": ("audit_canary_scores",),
    "dpcheck.recorded.files": ("keep_outputs", "read_outputs", "record_outputs"),
    "dpcheck.recorded.planning": ("plan_audit",),
    "dpcheck.recorded.samples": ("audit_samples",),
    "dpcheck.recorded.shrinking": ("shrink",),
    "dpcheck.verdicts": ("Outcome", "Verdict", "Witness"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = {
    "attacks": "dpcheck.auditing.attacks",
    "finite_laws": "dpcheck.auditing.finite_laws",
    "scores": "dpcheck.auditing.scores",
    "testing": "dpcheck.testing",
}

__all__ = [
    "ZCDP",
    "ApproxDP",
    "AuditResult",
    "Check",
    "Claim",
    "Context",
    "DpcheckError",
    "GaussianDP",
    "Guarantee",
    "Infeasible",
    "InvalidInput",
    "Outcome",
    "Paper",
    "PureDP",
    "RenyiDP",
    "TradeOff",
    "Verdict",
    "Witness",
    "algorithm",
    "algorithms",
    "attacks",
    "audit",
    "audit_canary_scores",
    "audit_one_run",
    "audit_samples",
    "by_size",
    "check",
    "claim",
    "claims",
    "exact_epsilon",
    "finite_laws",
    "in_workers",
    "keep_outputs",
    "plan_audit",
    "read_outputs",
    "record_outputs",
    "scores",
    "search_pair",
    "shrink",
    "testing",
    "unchecked",
    "vectorize",
    "verify",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'dpcheck' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


class _Imported(ModuleType):
    """A module of a class of its own, pickled by name, as plain ones are where functions are sent to processes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.__name__,)


class _Callable(_Imported):
    """A submodule of the name of a function of the front door; called, it is that function."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return __getattr__(self.__name__.rpartition(".")[2])(*arguments, **options)


class _FrontDoor(_Imported):
    """This package: to import `dpcheck.claims` binds its name, and `dp.claims()` still answers."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOME_OF and type(value) is ModuleType:
            value.__class__ = _Callable
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor
