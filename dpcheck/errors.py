"""What dpcheck raises: each error says what is wrong, with the value in it, and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DpcheckError(Exception):
    """Base of every error that dpcheck raises on purpose."""


class InvalidInput(DpcheckError, ValueError):
    """An argument that makes no sense: the message holds the value and the legal range."""


class MechanismError(DpcheckError):
    """The audited mechanism raised, or returned something of the wrong shape or not finite."""


class ReplayDiverged(InvalidInput):
    """A replayed run left the path of its history: the data, not the releases, decided what was done next."""


class CollectionError(DpcheckError):
    """A content folder (`bounds/`, `audits/`) that cannot be used as it stands."""


class Unreadable(InvalidInput):
    """A file, or one row of it, that is not what it should be; says nothing of what it might have claimed."""


class Outdated(Unreadable):
    """A result in words that dpcheck no longer uses: it has to be computed again."""


class StoreError(DpcheckError):
    """A store that cannot be read or written; what it held is untouched."""


class WitnessRejected(DpcheckError):
    """A witness that does not show what it says: tampered with, or no violation."""


class MissingExtra(DpcheckError, ImportError):
    """An optional package is needed; the message names the extra that brings it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the optional extra '{extra}'; install it with: pip install 'dpcheck[{extra}]'")


class UnknownLabel(DpcheckError, LookupError):
    """No statement, algorithm or check has this label; near misses are named."""

    def __init__(self, label: str, known: Iterable[str]) -> None:
        known = list(dict.fromkeys(known))
        # "thm-7" without its paper, or the name of a check alone.
        ending = [name for name in known if name.endswith((f"/{label}", f"::{label}"))]
        near = ending[:4] or difflib.get_close_matches(label, known, n=4, cutoff=0.6)
        hint = f"did you mean {', '.join(near)}?" if near else "`dpcheck list` shows every label"
        if "/" in label and label.partition("/")[0] not in {name.partition("/")[0] for name in known}:
            hint += "; --also FOLDER names a paper of your own"
        super().__init__(f"unknown label {label!r}; {hint}")
        self.label, self.near = label, tuple(near)


class Infeasible(DpcheckError):
    """An algorithm cannot be run at this size: the condition, its value, and the smallest n that would do.

    Attributes:
        label: the algorithm.
        smallest_n: the smallest feasible number of records, or None when no larger n would do.
    """

    def __init__(
        self,
        label: str,
        needs: str,
        got: str,
        smallest_n: int | None = None,
        advice: str = "no n would do at these parameters",
    ) -> None:
        advice = f"smallest n: {smallest_n:,}" if smallest_n is not None else advice
        super().__init__(f"{label} needs {needs}, got {got}; {advice}")
        self.label, self.needs, self.got, self.smallest_n, self.advice = label, needs, got, smallest_n, advice
