"""One change that ought to be noticed, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from types import CodeType
from typing import Any, Literal

Family = Literal["claim", "code", "null", "seeded"]
FAMILIES: tuple[Family, ...] = ("claim", "code", "null", "seeded")
Fate = Literal[
    "measured", "derived", "transcribed", "crashed", "refused", "timeout", "survived", "unread", "flagged",
    "argued", "unflagged",
]  # fmt: skip
"""measured: a run, an exact law or a certificate contradicts it; derived: an executed proof no longer closes;
transcribed: a second typing disagrees; crashed: a check raised what is no error of ours; refused: our own guards spoke;
survived: every check that reads it ends as before; unread: no check reads it; argued: the source says that it changes
nothing; of a correct look-alike, flagged: a measurement refutes it, and unflagged: none does."""
NOTICED: tuple[Fate, ...] = ("measured", "derived", "transcribed")
CORRECT: tuple[Fate, ...] = ("argued", "unflagged")
"""What need not be noticed."""
MISSED: tuple[Fate, ...] = ("crashed", "refused", "timeout", "survived", "unread", "flagged")
FATES: tuple[Fate, ...] = (*NOTICED, *MISSED, *CORRECT)
Lines = tuple[str, int, int]
"""A file, and the first and last line of a place in it."""


def lines_of(code: CodeType) -> Lines:
    """Of a function."""
    last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
    return code.co_filename, code.co_firstlineno, last


@dataclass(frozen=True)
class Mutation:
    """One change, made in a process of its own.

    Attributes:
        family: what is changed.
        target: label of the claim or algorithm, or `<module>:<function>`.
        operator: what was done, in the words of the table ("factor up", "term dropped", …).
        said: the change itself ("× 2", "+12:8 eta * 2": of the function's twelfth line).
        where: file and line as they are now, for code.
        owner: of code outside of dpcheck, the paper that it belongs to.
        apply: makes it, in this process, for good.
        reads: labels of claims of which a check must read a bound to notice it.
        lines: places of which a check must run a line to notice it.
        argued: why it changes nothing, where the source says so.
        lookalike: it is correct, and no check may refute it.
        state: on what it depends besides the sources of the checks: with another one it is another mutant.
    """

    family: Family
    target: str
    operator: str
    said: str
    apply: Callable[[], None] = field(repr=False, compare=False)
    reads: tuple[str, ...] = ()
    lines: tuple[Lines, ...] = ()
    argued: str = ""
    lookalike: bool = False
    state: str = ""
    where: str = ""
    owner: str = ""

    @property
    def key(self) -> str:
        return f"{self.family} {self.target} {self.operator}: {self.said}"

    @property
    def paper(self) -> str:
        """The paper it belongs to; "" for what all papers share."""
        if self.family != "code":
            return self.target.partition("/")[0]
        if self.owner:
            return self.owner
        parts = self.target.partition(":")[0].split(".")
        return parts[2] if parts[:2] == ["dpcheck", "algorithms"] and len(parts) > 3 else ""


@dataclass(frozen=True)
class Notice:
    """What one check made of one mutant: the fate it means, in which words, and whether it accuses the algorithm."""

    check: str
    fate: Fate
    reason: str
    refutes: bool = False


@dataclass(frozen=True)
class Trial:
    """What became of one mutant.

    Attributes:
        by: the check that noticed, or ended otherwise; "" where none did.
        blind: of a null algorithm, the checks of risk, rate and accuracy that saw another answer and vouch for it all
            the same.
        tried: checks that ran.
        seconds: CPU time.
    """

    key: str
    family: Family
    paper: str
    target: str
    operator: str
    said: str
    fate: Fate
    by: str = ""
    reason: str = ""
    blind: tuple[str, ...] = ()
    tried: int = 0
    seconds: float = 0.0
    where: str = field(default="", compare=False)

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Trial:
        return cls(**{**plain, "blind": tuple(plain.get("blind", ()))})

    @classmethod
    def of(cls, mutation: Mutation, fate: Fate, **fields: Any) -> Trial:
        same = {
            name: getattr(mutation, name) for name in ("key", "family", "paper", "target", "operator", "said", "where")
        }
        return cls(**same, fate=fate, **fields)
