"""Claims, checks and derivations as text: all that a screen shows of them, without SymPy and without their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.verdicts import Outcome

if TYPE_CHECKING:
    from dpcheck.checks import Check
    from dpcheck.claims import Claim
    from dpcheck.derivations import ExecutedDerivation, Formula

DRAWING = (Path(__file__), Path(__file__).with_name("drawn.py"))
"""Files of the engine on which the text of a card depends."""


@dataclass(frozen=True)
class Printed:
    """An expression: drawn in lines of Unicode, in one such line, and as Python writes it."""

    lines: tuple[str, ...]
    inline: str
    text: str

    @classmethod
    def of(cls, expression: Any) -> Printed | None:
        from dpcheck.engine.drawn import inline, pretty

        if expression is None:
            return None
        return cls(tuple(pretty(expression)), inline(expression), str(expression))

    @classmethod
    def read(cls, plain: Mapping[str, Any] | None) -> Printed | None:
        return None if plain is None else cls(tuple(plain["lines"]), plain["inline"], plain["text"])


@dataclass(frozen=True)
class PaperCard:
    """A paper, in the words in which claims are shown."""

    key: str
    title: str
    reference: str


@dataclass(frozen=True, kw_only=True)
class ClaimCard:
    """A `Claim` in print; fields of its name say what they say there.

    Attributes:
        symbols: those of its bounds.
        digest: fingerprint of what it asserts.
    """

    paper: PaperCard
    label: str
    title: str
    statement: str
    kind: str
    section: str
    origin: str
    quantity: str
    relation: str
    about: tuple[str, ...]
    grade: str
    remark: str
    order: Printed | None
    explicit: Printed | None
    probability: Printed | None
    assumptions: tuple[Printed, ...]
    symbols: tuple[str, ...]
    latex: str
    digest: str

    @property
    def statement_label(self) -> str:
        return self.label.partition("@")[0]

    @property
    def reading(self) -> str:
        return self.label.partition("@")[2] or "as-printed"

    @classmethod
    def of(cls, claim: Claim) -> ClaimCard:
        from dpcheck.engine.drawn import inline
        from dpcheck.engine.sources import digest
        from dpcheck.printing import subscripted

        bounds = (claim.order, claim.explicit)
        symbols = set().union(*(subscripted(e, "i").free_symbols for e in bounds if e is not None))
        same = ("label", "title", "statement", "kind", "section", "origin", "quantity", "relation", "grade", "remark")
        return cls(
            **{name: getattr(claim, name) for name in same},
            paper=PaperCard(claim.paper.key, claim.paper.title, claim.paper.reference),
            about=tuple(claim.about),
            order=Printed.of(claim.order),
            explicit=Printed.of(claim.explicit),
            probability=Printed.of(claim.probability),
            assumptions=tuple(each for a in claim.assumptions if (each := Printed.of(a)) is not None),
            symbols=tuple(sorted((inline(s) for s in symbols), key=lambda name: (name.casefold(), name))),
            latex=claim.latex(),
            digest=digest(claim),
        )

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> ClaimCard:
        """What `asdict` wrote and JSON kept."""
        printed = {name: Printed.read(plain[name]) for name in ("order", "explicit", "probability")}
        assumptions = tuple(each for a in plain["assumptions"] if (each := Printed.read(a)) is not None)
        lists = {name: tuple(plain[name]) for name in ("about", "symbols")}
        paper = PaperCard(**plain["paper"])
        return cls(**{**plain, **printed, **lists, "assumptions": assumptions, "paper": paper})


@dataclass(frozen=True, kw_only=True)
class CheckCard:
    """A `Check` without its function."""

    id: str
    label: str
    kind: str
    name: str
    doc: str
    expect: frozenset[Outcome]
    failure_probability: float
    also: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return (self.label, *self.also)

    @classmethod
    def of(cls, check: Check) -> CheckCard:
        same = ("id", "label", "kind", "name", "doc", "expect", "failure_probability", "also")
        return cls(**{name: getattr(check, name) for name in same})

    def plain(self) -> dict[str, Any]:
        return {**asdict(self), "expect": sorted(self.expect)}

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> CheckCard:
        expect = frozenset(Outcome(each) for each in plain["expect"])
        return cls(**{**plain, "expect": expect, "also": tuple(plain["also"])})


@dataclass(frozen=True)
class FormulaCard:
    """A line of a derivation: in one line of Unicode, as Python writes it, in LaTeX for Markdown, and as `<math>`."""

    inline: str
    text: str
    latex: str
    mathml: str

    @classmethod
    def of(cls, formula: Formula) -> FormulaCard:
        from dpcheck.engine.drawn import inline
        from dpcheck.printing import stated

        left = formula.left if isinstance(formula.left, str) else inline(formula.left)
        line = f"{left} {formula.unicode_sign} {inline(formula.right)}".strip()
        signs = (formula.latex_sign, formula.unicode_sign)
        return cls(line, str(formula), *stated(formula.left, signs, formula.right))


@dataclass(frozen=True)
class StepCard:
    """A step of a derivation."""

    text: str
    standing: str
    formulas: tuple[FormulaCard, ...]
    detail: str


@dataclass(frozen=True)
class TranscriptCard:
    """An executed derivation; `complete`: nothing fails or is left open, and what it is of is reached."""

    label: str
    about: str
    counted: str
    complete: bool
    steps: tuple[StepCard, ...]

    @classmethod
    def of(cls, transcript: ExecutedDerivation) -> TranscriptCard:
        steps = (
            StepCard(step.text, step.standing, tuple(map(FormulaCard.of, step.formulas)), step.detail)
            for step in transcript.steps
        )
        return cls(transcript.label, transcript.about, transcript.counted, transcript.complete, tuple(steps))

    @classmethod
    def read(cls, plain: Any) -> TranscriptCard | None:
        """What `asdict` made of one; None for anything else."""
        try:
            steps = (
                {**step, "formulas": tuple(FormulaCard(**one) for one in step["formulas"])} for step in plain["steps"]
            )
            return cls(**{**plain, "steps": tuple(StepCard(**step) for step in steps)})
        except (TypeError, KeyError):
            return None
